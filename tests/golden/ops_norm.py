"""Golden rows of normalizations, and of the ops behind their gradient rules."""
from ops_golden import *


def layer_norms():
    for shape in ((4,), (2, 3), (2, 3, 5), (7, 130)):
        x, gamma, beta = Pattern(f32, shape, 1), Pattern(f32, shape[-1:], 2), Pattern(f32, shape[-1:], 3)
        for label, last in (("", beta), (", no beta", None)):
            y = F.layer_norm(t64(x), shape[-1:], t64(gamma), t64(last) if last else None, 1e-5)
            case("layer_norm", f"{shape}{label}", [x, gamma, last], Digest(n(y)) if shape[0] == 7 else n(y), (1e-5,),
                 (1e-5, 1e-2 if shape[0] == 7 else 1e-5))


def layer_norm_gradients():
    for dtype, shape in ((f32, (4,)), (f32, (2, 3)), (f64, (2, 3, 5)), (f32, (3, 1)), (f32, (7, 130)), (f32, (300, 33)),
                         (f32, (2, 2, 1100))):
        grad, x, gamma = Pattern(dtype, shape, 5), Pattern(dtype, shape, 1), Pattern(dtype, shape[-1:], 2)
        back = gradients_of(lambda x, gamma, beta: F.layer_norm(x, shape[-1:], gamma, beta, 1e-3),
                            [x, gamma, np.zeros(shape[-1:])], grad)
        # Sums of many rows that cancel: their bound grows with the rows.
        bound = F64_NEAR if dtype == f64 else (1e-5, 2e-4 if np.prod(shape) > 500 else 2e-5)
        big_case("layer_norm_backward", f"{name_of(dtype)} {shape}", [grad, x, gamma], [n(g, dtype) for g in back], (1e-3,),
                 bound)
    empty, none = np.zeros((0, 3), f32), np.zeros(3, f32)
    case("layer_norm_backward", "no rows", [empty, empty, none + 1], [empty, none, none], (1e-5,))


def batch_norms():
    for shape in ((2, 3), (2, 3, 4), (1, 3, 2, 2), (2, 3, 2, 1, 2)):
        for dtype in (f32, f64):
            x = Pattern(dtype, shape, 1)
            gamma, beta, mean = (Pattern(dtype, (3,), k) for k in (2, 3, 4))
            var = np.abs(Pattern(dtype, (3,), 5).array)
            y = F.batch_norm(t64(x), t64(mean), t64(var), t64(gamma), t64(beta), False, 0, 1e-3)
            case("batch_norm", f"{NAMES[np.dtype(dtype).name]} {shape}", [x, gamma, beta, mean, var], n(y, dtype), (1e-3,),
                 (1e-5, 1e-5) if dtype == f32 else (1e-12, 1e-12))


def normalized(x, gamma, beta, epsilon):
    """PyTorch's y, and the statistics, whose variance is that of the population."""
    axes = [i for i in range(x.ndim) if i != 1]
    y = F.batch_norm(x, None, None, gamma, beta, True, 0, epsilon)
    return y, x.mean(axes), x.var(axes, unbiased=False)


def batch_norms_in_training():
    for dtype, shape in ((f32, (4, 2)), (f32, (2, 3, 4)), (f64, (2, 3, 2, 5)), (f32, (5, 3, 1, 1, 2)), (f32, (3, 37, 50)),
                         (f32, (300, 33)), (f32, (2, 2, 37, 41))):
        x, grad = Pattern(dtype, shape, 1), Pattern(dtype, shape, 5)
        gamma, beta = Pattern(dtype, shape[1:2], 2), Pattern(dtype, shape[1:2], 3)
        many = np.prod(shape) > 500
        bound = F64_NEAR if dtype == f64 else (1e-5, 3e-4 if many else 2e-5)
        y, mean, var = normalized(t64(x), t64(gamma), t64(beta), 1e-3)
        big_case("batch_norm_train", f"{name_of(dtype)} {shape}", [x, gamma, beta], [n(v, dtype) for v in (y, mean, var)],
                 (1e-3,), bound)
        back = gradients_of(lambda *leaves: normalized(*leaves, 1e-3)[0], [x, gamma, beta], grad)
        big_case("batch_norm_train_backward", f"{name_of(dtype)} {shape}", [grad, x, gamma, n(mean, dtype), n(var, dtype)],
                 [n(g, dtype) for g in back], (1e-3,), bound)
    x, gamma, beta, mean, var = (Pattern(f32, shape, k) for k, shape in enumerate(((3, 37, 50), (37,), (37,), (37,), (37,))))
    y = F.batch_norm(t64(x), t64(mean), t64(var).abs(), t64(gamma), t64(beta), False, 0, 1e-3)
    case("batch_norm", "f32 many", [x, gamma, beta, mean, np.abs(var.array)], Digest(n(y)), (1e-3,), (1e-5, 0.05))
    far = array([[10001, 3], [10003, 5], [10005, 7], [10007, 9]])
    ones, zeros = np.ones(2, f32), np.zeros(2, f32)
    case("batch_norm_train", "far from 0", [far, ones, zeros], [n(v) for v in normalized(t64(far), t64(ones), t64(zeros), 1e-5)],
         (1e-5,), (1e-6, 1e-6))
    none, nothing = np.zeros((0, 2, 3), f32), np.full(2, nan, f32)
    case("batch_norm_train", "no items", [none, ones, zeros], [none, nothing, nothing], (1e-5,))


def norm():
    layer_norms()
    layer_norm_gradients()
    batch_norms()
    batch_norms_in_training()
    write("norm")
