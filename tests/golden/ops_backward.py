"""Golden rows of the ops behind gradient rules of activations, norms and losses, and of batch_norm_train."""
from ops_golden import *

F64_NEAR = (1e-12, 1e-13)


def gradients_of(function, inputs, *grads):
    """What PyTorch hands back for each input from the gradients of the results."""
    leaves = [t64(x).requires_grad_() for x in inputs]
    results = function(*leaves)
    torch.autograd.backward(results if len(grads) > 1 else [results], [t64(grad) for grad in grads])
    return [leaf.grad for leaf in leaves]


def name_of(dtype):
    return NAMES[np.dtype(dtype).name]


def activations():
    x = array([-0.0, 0, 1, -1, 0.5, -0.5, 3, -3, 4, -4, 0.01, 20]).reshape(3, 4)
    for dtype, bound in ((f32, (3e-6, 1e-6)), (f64, F64_NEAR)):
        point, grad = x.astype(dtype), Pattern(dtype, (3, 4), 2)
        case("gelu_backward", name_of(dtype), [grad, point], n(gradients_of(F.gelu, [point], grad)[0], dtype), tolerance=bound)
    grad, x = Pattern(f32, (37, 130), 1), Pattern(f32, (37, 130), 2)
    case("gelu_backward", "f32 many", [grad, x], Digest(n(gradients_of(F.gelu, [x], grad)[0])), tolerance=(1e-5, 1e-3))
    far = array([[100, -100, nan, 40]])
    case("gelu_backward", "far out", [np.ones((1, 4), f32), far], array([[1, 0, nan, 1]]), tolerance=(1e-6, 1e-30))


def softmaxes():
    table = {"softmax_backward": (torch.softmax, torch._softmax_backward_data),
             "log_softmax_backward": (torch.log_softmax, torch._log_softmax_backward_data)}
    for op, (function, backward) in table.items():
        for shape, dtype in (((2, 3, 4), f32), ((2, 5), f64), ((1, 1), f32), ((5,), f32)):
            grad = Pattern(dtype, shape, 4)
            for dim in range(len(shape)):
                output = function(t64(Pattern(dtype, shape, 3)), dim)
                case(op, f"{name_of(dtype)} {shape} dim {dim}", [grad, n(output, dtype)],
                     n(backward(t64(grad), t(n(output, dtype)).double(), dim, torch.float64), dtype), (dim,),
                     (3e-6, 3e-6) if dtype == f32 else F64_NEAR)
        # The formula holds for any output, so that patterns stand for long ones.
        for shape in ((33, 100), (100, 33), (4, 1030), (3, 2, 530), (2, 70, 3)):
            grad, output = Pattern(f32, shape, 1), Pattern(f32, shape, 6)
            for dim in range(len(shape)):
                expected = backward(t64(grad), t64(output), dim, torch.float64)
                case(op, f"f32 {shape} dim {dim}", [grad, output], Digest(n(expected)), (dim,), (1e-5, 0.5))
        empty = np.zeros((2, 0), f32)
        case(op, "empty axis", [empty, empty], empty, (1,))
        case(op, "no rows", [empty.T.copy(), empty.T.copy()], empty.T.copy(), (1,))


def layer_norms():
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


def linears():
    for dtype, shape, width in ((f32, (3, 4), 2), (f64, (2, 3, 4), 5), (f32, (4,), 3), (f32, (1, 5), 2), (f32, (70, 33), 17),
                                (f32, (3, 11, 40), 33)):
        x, weight, grad = Pattern(dtype, shape, 1), Pattern(dtype, (shape[-1], width), 2), Pattern(dtype, (*shape[:-1], width), 3)
        back = gradients_of(lambda x, weight, bias: x @ weight + bias, [x, weight, np.zeros(width)], grad)
        bound = F64_NEAR if dtype == f64 else (1e-5, 2e-4 if np.prod(shape) > 500 else 2e-5)
        results = [n(g, dtype) for g in back]
        big_case("linear_backward", f"{name_of(dtype)} {shape}", [grad, x, weight], results, (), bound)
        results[0] = np.zeros(1, dtype)
        big_case("linear_backward", f"{name_of(dtype)} {shape}, no weight", [grad, x, None], results, (), bound)
    empty = np.zeros((0, 3), f32)
    case("linear_backward", "no rows", [np.zeros((0, 2), f32), empty, np.ones((3, 2), f32)],
         [empty, np.zeros((3, 2), f32), np.zeros(2, f32)])


def squares():
    for dtype, shape in ((f32, (1,)), (f32, (2, 3)), (f64, (2, 3, 5)), (f32, (3, 2049))):
        x, target, grad = Pattern(dtype, shape, 1), Pattern(dtype, shape, 2), array([-1.5], dtype)
        bound = (3e-6, 1e-6) if dtype == f32 else F64_NEAR
        case("mse", f"{name_of(dtype)} {shape}", [x, target], n(F.mse_loss(t64(x), t64(target)).reshape(1), dtype), tolerance=bound)
        back = gradients_of(lambda x, target: F.mse_loss(x, target).reshape(1), [x, target], grad)[0]
        big_case("mse_backward", f"{name_of(dtype)} {shape}", [grad, x, target], [n(back, dtype)], (), bound)
    empty = np.zeros((0, 3), f32)
    case("mse", "nothing", [empty, empty], array([nan]))
    case("mse_backward", "nothing", [array([1]), empty, empty], empty)


def losses():
    for dtype in (f32, f64):
        for shape in ((1, 2), (4, 5), (3, 1)):
            x, grad = Pattern(dtype, shape, 1), array([-1.5], dtype)
            targets = (np.arange(shape[0]) * 7 + 1) % shape[1]
            back = gradients_of(lambda x: F.cross_entropy(x, torch.from_numpy(targets)).reshape(1), [x], grad)[0]
            case("cross_entropy_backward", f"{name_of(dtype)} {shape}", [grad, x, targets.astype(i64)], n(back, dtype),
                 tolerance=(3e-6, 1e-6) if dtype == f32 else F64_NEAR)
    x, targets = Pattern(f32, (9, 1030), 3), np.arange(9) * 37
    back = gradients_of(lambda x: F.cross_entropy(x, torch.from_numpy(targets)).reshape(1), [x], array([2.0]))[0]
    case("cross_entropy_backward", "f32 many classes", [array([2.0]), x, targets.astype(i32)], Digest(n(back)),
         tolerance=(1e-5, 1e-3))
    case("cross_entropy_backward", "large logits", [array([4.0]), array([[1000, 0], [-1000, 1000]]), array([1, 1], i64)],
         array([[2, -2], [0, 0]]), tolerance=(1e-6, 1e-30))
    case("cross_entropy_backward", "no items", [array([1.0]), np.zeros((0, 3), f32), np.zeros(0, i64)], np.zeros((0, 3), f32))
    for rows, classes in ((33, 100), (300, 7), (5, 9000)):
        x, targets = Pattern(f32, (rows, classes), 5), np.arange(rows) * 31 % classes
        case("cross_entropy", f"f32 {rows}x{classes}", [x, targets.astype(i64)],
             n(F.cross_entropy(t64(x), torch.from_numpy(targets)).reshape(1)), tolerance=(2e-6, 1e-6))
    case("cross_entropy", "infinite", [array([[0, -inf], [0, 1]]), array([1, 0], i64)], array([inf]))
    case("cross_entropy", "NaN", [array([[0, nan], [0, 1]]), array([0, 0], i64)], array([nan]))


def normalized(x, gamma, beta, epsilon):
    """PyTorch's y, and the statistics, whose variance is that of the population."""
    axes = [i for i in range(x.ndim) if i != 1]
    y = F.batch_norm(x, None, None, gamma, beta, True, 0, epsilon)
    return y, x.mean(axes), x.var(axes, unbiased=False)


def batch_norms():
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


def backward():
    activations()
    softmaxes()
    layer_norms()
    linears()
    squares()
    losses()
    batch_norms()
    write("backward")
