"""Golden rows of variances, medians, samples, covariance and cross products."""
from ops_golden import *


def variances():
    inputs = {"f32": Pattern(f32, (2, 3, 4), 7), "f64": Pattern(f64, (3, 2, 5), 9)}
    for name, x in inputs.items():
        v, dtype = t64(x), arr(x).dtype.type
        for dim in (0, 1, -1):
            axis = f"{name} dim {dim}"
            if name == "f64" and dim == 1:
                continue
            case("var", axis, x, n(v.var(dim, unbiased=True, keepdim=True), dtype), (dim,), (1e-5, 1e-6))
            case("var_bias", axis, x, n(v.var(dim, unbiased=False, keepdim=True), dtype), (dim,), (1e-5, 1e-6))
    one = array([[3.0], [4.0]])
    case("var", "one element: 0 / 0", one, array([[nan], [nan]]), (1,))
    case("var", "no element: 0 / 0", np.zeros((0, 2), f32), array([[nan, nan]]), (0,))
    case("var_bias", "one element", one, array([[0.0], [0.0]]), (1,), (1e-9, 0))


def others():
    for dtype in (f32, f64):
        name, bound = NAMES[np.dtype(dtype).name], (1e-5, 1e-6) if dtype == f32 else (1e-12, 1e-13)
        x = Pattern(dtype, (2, 3, 4), 7)
        for dim in (0, 1, -1):
            for op, unbiased in (("var_mean", True), ("var_mean_bias", False)):
                y = torch.var_mean(t64(x), dim, unbiased=unbiased, keepdim=True)
                case(op, f"{name} dim {dim}", x, [n(y[0], dtype), n(y[1], dtype)], (dim,), bound)
        x = Pattern(dtype, (6, 4), 3)
        for dim, correction in ((0, 1), (1, 1), (-1, 0), (0, 2)):
            y = torch.cov(t64(x).t() if dim == 0 else t64(x), correction=correction)
            case("cov", f"{name} dim {dim} correction {correction}", x, n(y, dtype), (dim, correction), bound)
        a, b = Pattern(dtype, (2, 3, 3), 1), Pattern(dtype, (2, 3, 3), 6)
        for dim in (1, -1):
            case("cross", f"{name} dim {dim}", [a, b], n(torch.cross(t64(a), t64(b), dim), dtype), (dim,), bound)
        x = Pattern(dtype, (2, 3, 4), 7)
        for dim in (0, 1, -1):  # distinct along every axis, so the place is unique
            y = torch.median(t64(x), dim, keepdim=True)
            case("median", f"{name} dim {dim}", x, n(y.values, dtype), (dim,))
            case("median_with_indices", f"{name} dim {dim}", x, [n(y.values, dtype), y.indices.numpy()], (dim,))
    x = array([[3, 1, 3, 1], [2, 2, 2, 2], [inf, -inf, 0, -0.0], [nan, 1, 5, 3], [nan, nan, nan, 2]])
    case("median_with_indices", "ties, infinities, NaN last", x, [array([[1], [2], [-0.0], [3], [nan]]),
                                                                  array([[3], [1], [3], [3], [0]], i64)], (1,))
    case("median", "one element", array([[3], [4]]), array([[3], [4]]), (1,))
    case("median", "no rows", np.zeros((0, 3), f32), np.zeros((0, 1), f32), (1,))
    # Where one category has all the weight there is nothing random.
    for dtype in (f32, f64):
        sure = array([[0, 3, 0], [0, 0, 1e-3], [5e5, 0, 0]], dtype)
        case("categorical", f"{NAMES[np.dtype(dtype).name]} sure", sure, np.repeat(array([[1], [2], [0]], i64), 7, 1), (7,))
    case("categorical", "vector", array([0, 0, 2, 0]), array([2, 2], i64), (2,))
    case("categorical", "rank 3", array([[[0, 1]], [[1, 0]]]), array([[[1] * 3], [[0] * 3]], i64), (3,))
    case("categorical", "no rows", np.zeros((0, 2), f32), np.zeros((0, 3), i64), (3,))
    case("var_mean", "one element", array([[3.0]]), [array([[nan]]), array([[3.0]])], (1,))
    # Burn divides by observations - correction as it is.
    case("cov", "no observation", np.zeros((0, 2), f32), np.full((2, 2), -0.0, f32), (0, 1))
    case("cov", "less than no freedom", array([[1.0], [3.0]]), array([[-2.0]]), (0, 3))
    for dtype, bound in ((f32, (1e-5, 1e-6)), (f64, (1e-12, 1e-13))):
        for dim in (0, 1, 2):  # a batch: the matrices of the last two axes, once dim and axis 0 are swapped
            x = Pattern(dtype, (4, 2, 4), 5)
            centred = np.swapaxes(arr(x).astype(f64) - arr(x).astype(f64).mean(dim, keepdims=True), dim, 0)
            y = np.swapaxes(centred, -1, -2) @ centred / (x.array.shape[dim] - 1)
            case("cov", f"{NAMES[np.dtype(dtype).name]} rank 3 dim {dim}", x, y.astype(dtype), (dim, 1), bound)
    case("cov", "one observation", array([[3.0, 1.0]]), np.full((2, 2), nan, f32), (0, 1))
    case("cross", "broadcast", [array([[1, 0, 0]]), array([[0, 1, 0], [0, 0, 1]])], array([[0, 0, 1], [0, -1, 0]]), (1,),
         (1e-9, 0))
    case("cross", "i64", [array([1, 2, 3], i64), array([4, 5, 6], i64)], array([-3, 6, -3], i64), (0,))


def statistics():
    variances()
    others()
    write("statistics")
