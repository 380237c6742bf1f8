"""Golden rows of reductions of whole tensors, along an axis and along several."""
from ops_golden import *


def int_mean(total, count):
    return np.array([0 if count == 0 else abs(int(v)) // count * (1 if v >= 0 else -1)
                     for v in total.reshape(-1)]).reshape(total.shape)


def first_index(x, dim, largest):
    """Lowest index of the largest or smallest; NaN wins."""
    work = x.astype(f64) if np.issubdtype(x.dtype, np.floating) else x
    if np.issubdtype(x.dtype, np.floating):
        work = np.where(np.isnan(work), inf if largest else -inf, work)
        has = np.isnan(x).any(axis=dim, keepdims=True)
        work = np.where(has, np.where(np.isnan(x), 1.0, 0.0), work if largest else -work)
        return np.expand_dims(np.argmax(work, axis=dim), dim).astype(i64)
    return np.expand_dims(np.argmax(work, axis=dim) if largest else np.argmin(work, axis=dim), dim).astype(i64)


def reduce_floats():
    special = array([[[nan, 1, 2, 3], [4, inf, -inf, 5], [2, 7, 7, -1]],
                     [[0.0, -0.0, 0.0, -0.0], [-inf, -inf, 1, 1], [inf, 3, inf, 3]]])
    inputs = {"f32": Pattern(f32, (2, 3, 4), 7), "f64": Pattern(f64, (3, 2, 5), 9), "f32 special": special}
    for name, x in inputs.items():
        dtype = arr(x).dtype.type
        bound = (2e-6, 1e-6) if dtype == f32 else (1e-14, 1e-14)
        v = t64(x)
        case("sum", name, x, n(v.sum().reshape(1), dtype), tolerance=bound)
        case("mean", name, x, n(v.mean().reshape(1), dtype), tolerance=bound)
        case("prod", name, x, n(v.prod().reshape(1), dtype), tolerance=(1e-5, 1e-6) if dtype == f32 else bound)
        case("max", name, x, n(v.max().reshape(1), dtype))
        case("min", name, x, n(v.min().reshape(1), dtype))
        case("any", name, x, np.array([arr(x).astype(bool).any()]))
        case("all", name, x, np.array([arr(x).astype(bool).all()]))
        for dim in (0, 1, -1):
            axis = f"{name} dim {dim}"
            case("sum_dim", axis, x, n(v.sum(dim, keepdim=True), dtype), (dim,), bound)
            case("mean_dim", axis, x, n(v.mean(dim, keepdim=True), dtype), (dim,), bound)
            case("prod_dim", axis, x, n(v.prod(dim, keepdim=True), dtype), (dim,), bound)
            case("max_dim", axis, x, n(torch.amax(v, dim, keepdim=True), dtype), (dim,))
            case("min_dim", axis, x, n(torch.amin(v, dim, keepdim=True), dtype), (dim,))
            if name == "f64" and dim == 1:
                continue
            case("any_dim", axis, x, arr(x).astype(bool).any(axis=dim, keepdims=True), (dim,))
            case("all_dim", axis, x, arr(x).astype(bool).all(axis=dim, keepdims=True), (dim,))
            case("argmax", axis, x, first_index(arr(x), dim, True), (dim,))
            case("argmin", axis, x, first_index(arr(x), dim, False), (dim,))
            for op, largest in (("max_dim_with_indices", True), ("min_dim_with_indices", False)):
                where = first_index(arr(x), dim, largest)
                case(op, axis, x, [np.take_along_axis(arr(x), where, dim), where], (dim,))


def reduce_many():
    for shape in ((9, 1031), (1031, 9), (5, 67, 11), (3, 40000)):
        x = Pattern(f32, shape, 5)
        v = t64(x)
        name = "f32 " + "x".join(map(str, shape))
        case("sum", name, x, n(v.sum().reshape(1)), tolerance=(1e-5, 2e-3))
        case("mean", name, x, n(v.mean().reshape(1)), tolerance=(1e-5, 1e-6))
        case("max", name, x, n(v.max().reshape(1)))
        case("min", name, x, n(v.min().reshape(1)))
        case("all", name, x, np.array([x.array.astype(bool).all()]))
        for dim in range(len(shape)):
            case("sum_dim", f"{name} dim {dim}", x, Digest(n(v.sum(dim, keepdim=True))), (dim,), (1e-5, 1e-2))
            case("mean_dim", f"{name} dim {dim}", x, Digest(n(v.mean(dim, keepdim=True))), (dim,), (1e-5, 1e-3))
            case("max_dim", f"{name} dim {dim}", x, Digest(n(torch.amax(v, dim, keepdim=True))), (dim,), (1e-6, 1e-4))
            case("argmin", f"{name} dim {dim}", x, Digest(first_index(x.array, dim, False)), (dim,), (1e-12, 1e-6))
            case("argmax", f"{name} dim {dim}", x, Digest(first_index(x.array, dim, True)), (dim,), (1e-12, 1e-6))


def reduce_ints():
    values = {"i32": array([[2147483647, 1, -7], [-2147483648, -1, 2]], i32), "u8": array([[200, 100, 3], [7, 7, 0]], u8),
              "i64": array([[9007199254740993, 1, -7], [-5, -5, 2]], i64), "bool": array([[1, 0, 1], [1, 1, 1]], b8)}
    for name, x in values.items():
        case("any", name, x, np.array([x.any()]))
        case("all", name, x, np.array([x.all()]))
        for dim in (0, 1, -1):
            case("any_dim", f"{name} dim {dim}", x, x.any(axis=dim, keepdims=True), (dim,))
            case("all_dim", f"{name} dim {dim}", x, x.all(axis=dim, keepdims=True), (dim,))
        if name == "bool":
            continue
        case("sum", f"{name} wraps", x, x.sum(dtype=x.dtype).reshape(1))
        case("prod", f"{name} wraps", x, x.prod(dtype=x.dtype).reshape(1))
        case("max", name, x, x.max().reshape(1))
        case("min", name, x, x.min().reshape(1))
        for dim in (0, 1, -1):
            case("sum_dim", f"{name} dim {dim}", x, x.sum(axis=dim, keepdims=True, dtype=x.dtype), (dim,))
            case("prod_dim", f"{name} dim {dim}", x, x.prod(axis=dim, keepdims=True, dtype=x.dtype), (dim,))
            case("max_dim", f"{name} dim {dim}", x, x.max(axis=dim, keepdims=True), (dim,))
            case("min_dim", f"{name} dim {dim}", x, x.min(axis=dim, keepdims=True), (dim,))
            case("argmax", f"{name} dim {dim}", x, first_index(x, dim, True), (dim,))
            case("argmin", f"{name} dim {dim}", x, first_index(x, dim, False), (dim,))
            where = first_index(x, dim, True)
            case("max_dim_with_indices", f"{name} dim {dim}", x, [np.take_along_axis(x, where, dim), where], (dim,))
    for dtype in (i32, i64):
        x = array([[-7, 2], [-1, -2], [7, 0]], dtype)
        name = NAMES[np.dtype(dtype).name]
        case("mean", f"{name} truncates", x, array([0], dtype))
        case("mean_dim", f"{name} truncates", x, int_mean(x.sum(axis=1, keepdims=True), 2).astype(dtype), (1,))
        case("mean", f"{name} negative", array([-7, 2], dtype), array([-2], dtype))


def reduce_int_means():
    """The mean fits where the sum does not."""
    case("mean", "u8 sum does not fit", array([200, 100], u8), array([150], u8))
    case("mean", "i32 sum does not fit", array([2147483647, 2147483645], i32), array([2147483646], i32))
    case("mean_dim", "i32 sum does not fit", array([[-2147483648, -2147483648]], i32), array([[-2147483648]], i32), (1,))


def reduce_empty():
    for dtype in (f32, i64):
        name = NAMES[np.dtype(dtype).name]
        none = np.zeros((0,), dtype)
        flat = np.zeros((2, 0), dtype)
        case("sum", f"{name} empty", none, np.zeros(1, dtype))
        case("prod", f"{name} empty", none, np.ones(1, dtype))
        case("any", f"{name} empty", none, np.zeros(1, b8))
        case("all", f"{name} empty", none, np.ones(1, b8))
        case("sum_dim", f"{name} empty axis", flat, np.zeros((2, 1), dtype), (1,))
        case("prod_dim", f"{name} empty axis", flat, np.ones((2, 1), dtype), (1,))
        case("any_dim", f"{name} empty axis", flat, np.zeros((2, 1), b8), (1,))
        case("all_dim", f"{name} empty axis", flat, np.ones((2, 1), b8), (1,))
        for op in ("sum_dim", "mean_dim", "prod_dim", "max_dim", "min_dim"):
            case(op, f"{name} empty result", flat, np.zeros((1, 0), dtype), (0,))
        for op in ("sum_dim", "prod_dim"):  # extremes of nothing are errors, whatever the shape of the result; so are means of integers
            case(op, f"{name} both empty", np.zeros((0, 0), dtype), np.zeros((0, 1), dtype), (1,))
        for op in ("argmax", "argmin"):
            case(op, f"{name} empty result", flat, np.zeros((1, 0), i64), (0,))
    case("mean", "f32 empty", np.zeros(0, f32), array([nan]))
    case("mean_dim", "f32 empty axis", np.zeros((2, 0), f32), np.full((2, 1), nan, f32), (1,))
    case("mean_dim", "f32 both empty", np.zeros((0, 0), f32), np.zeros((0, 1), f32), (1,))


def reduce_ties():
    ties = array([[1, 3, 3, 2], [-0.0, 0.0, -0.0, 0.0], [nan, 5, nan, 6], [-inf, -inf, -inf, -inf]])
    for dim in (0, 1):
        case("argmax", f"ties dim {dim}", ties, first_index(ties, dim, True), (dim,))
        case("argmin", f"ties dim {dim}", ties, first_index(ties, dim, False), (dim,))


def reduce_expanded():
    x = repeated(array([[[1], [2], [4]]]), (2, 3, 5))
    for dim in (0, 1, 2):
        case("sum_dim", f"expanded dim {dim}", x, x.sum(axis=dim, keepdims=True), (dim,))
        case("max_dim", f"expanded dim {dim}", x, x.max(axis=dim, keepdims=True), (dim,))
        case("argmax", f"expanded dim {dim}", x, first_index(x, dim, True), (dim,))
    case("sum", "expanded", x, x.sum().reshape(1))


def several():
    for name, x in (("f32", Pattern(f32, (2, 3, 4), 7)), ("f64", Pattern(f64, (3, 2, 5), 9))):
        v, dtype = t64(x), arr(x).dtype.type
        bound = (2e-6, 1e-6) if dtype == f32 else (1e-14, 1e-14)
        for dims in ((0, 2), (-1,), (2, 1, 0), (1, -3), ()):
            axes = tuple(d % 3 for d in dims)
            label = f"{name} {dims}"
            flat = v
            for axis in axes:
                flat = flat.prod(axis, keepdim=True)
            case("sum_dims", label, x, n(v.sum(axes, keepdim=True) if axes else v, dtype), dims, bound)
            case("mean_dims", label, x, n(v.mean(axes, keepdim=True) if axes else v, dtype), dims, bound)
            case("prod_dims", label, x, n(flat, dtype), dims, bound if dtype == f64 else (1e-5, 1e-6))
            case("max_dims", label, x, n(v.amax(axes, keepdim=True) if axes else v, dtype), dims)
            case("min_dims", label, x, n(v.amin(axes, keepdim=True) if axes else v, dtype), dims)
            case("max_abs_dims", label, x, n(v.abs().amax(axes, keepdim=True) if axes else v.abs(), dtype), dims)
            case("sum_dims_squeeze", label, x, n((v.sum(axes) if axes else v).reshape((1,) if len(dims) == 3 else
                 [k for i, k in enumerate(v.shape) if i not in axes]), dtype), dims, bound)
        case("max_abs", name, x, n(v.abs().max().reshape(1), dtype))
        case("max_abs_dim", name, x, n(v.abs().amax(1, keepdim=True), dtype), (-2,))
    whole = Pattern(i64, (2, 3, 4), 2)
    case("max_abs", "i64", whole, np.abs(whole.array).max().reshape(1))
    case("max_abs", "NaN wins", array([1, nan, -7]), array([nan]))
    case("sum_dims", "i64", whole, whole.array.sum((0, 1), keepdims=True), (0, 1))


def reduce():
    reduce_expanded()
    reduce_floats()
    reduce_many()
    reduce_ints()
    reduce_int_means()
    reduce_empty()
    reduce_ties()
    several()
    write("reduce")
