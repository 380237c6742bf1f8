"""Golden rows of ops that run along an axis, sort, and reduce several axes."""
from ops_golden import *


def keys(x):
    """Unsigned integers in the order of x; floats in IEEE total order, which PyTorch does not have (-0 == 0, NaN last)."""
    if not np.issubdtype(x.dtype, np.floating):
        return x.astype(np.int64).view(np.uint64) ^ np.uint64(1 << 63)
    unsigned = np.uint32 if x.dtype == f32 else np.uint64
    bits = np.ascontiguousarray(x).view(unsigned)
    sign = unsigned(1 << (bits.dtype.itemsize * 8 - 1))
    return np.where(bits & sign, ~bits, bits | sign)


def order(x, dim, descending):
    key = keys(x)
    return np.argsort(~key if descending else key, axis=dim, kind="stable").astype(i64)


def running():
    integers = {"i64": Pattern(i64, (2, 3, 4), 2), "u8": Pattern(u8, (3, 4), 6), "i32": Pattern(i32, (5, 2), 3)}
    for name, x in {"f32": Pattern(f32, (2, 3, 4), 7), "f64": Pattern(f64, (3, 2, 5), 9), **integers}.items():
        dtype = arr(x).dtype.type
        bound = EXACT if name in integers else (2e-6, 1e-6) if dtype == f32 else (1e-14, 1e-14)
        v = t64(x) if name not in integers else t(x).long()
        for dim in range(-1, arr(x).ndim - 1):
            label = f"{name} dim {dim}"
            case("cumsum", label, x, n(v.cumsum(dim), dtype), (dim,), bound)
            case("cumprod", label, x, n(v.cumprod(dim), dtype), (dim,), bound)
            case("cummin", label, x, n(v.cummin(dim)[0], dtype), (dim,))
            case("cummax", label, x, n(v.cummax(dim)[0], dtype), (dim,))
    special = array([[1, nan, 3, inf], [nan, 2, -inf, 1], [inf, -inf, 5, nan], [-0.0, 0.0, 1, 2]])
    for dim in (0, 1):
        v = t64(special)
        case("cumsum", f"special {dim}", special, n(v.cumsum(dim)), (dim,))
        case("cumprod", f"special {dim}", special, n(v.cumprod(dim)), (dim,))
        case("cummin", f"special {dim}", special, n(v.cummin(dim)[0]), (dim,), (1e-9, 0))
        case("cummax", f"special {dim}", special, n(v.cummax(dim)[0]), (dim,), (1e-9, 0))
    expanded = repeated(array([[1], [2], [4]]), (3, 4))
    for op in ("cumsum", "cumprod", "cummin", "cummax"):
        case(op, "no rows", np.zeros((0, 3), f32), np.zeros((0, 3), f32), (0,))
        case(op, "no columns", np.zeros((2, 0), f32), np.zeros((2, 0), f32), (0,))
        case(op, "expanded", expanded, n(getattr(torch, op)(t64(expanded), 1)[0 if op in ("cummin", "cummax") else ...]), (1,))
    big = Pattern(f32, (70, 130), 4)
    case("cumsum", "many columns", big, Digest(n(t64(big).cumsum(0))), (0,), (1e-5, 2e-2))
    case("cummax", "many columns", big, Digest(n(t64(big).cummax(0)[0])), (0,), (1e-6, 1e-3))
    case("cumsum", "i32 wraps", array([2147483647, 1, 1], i32), array([2147483647, -2147483648, -2147483647], i32), (0,))
    case("cumprod", "u8 wraps", array([16, 16, 3], u8), array([16, 0, 0], u8), (0,))
    long = Pattern(f32, (4000,), 8)
    case("cumsum", "long f32", long, Digest(np.cumsum(long.array.astype(f64)).astype(f32)), (0,), (1e-6, 1e-1))


def sorting():
    negative_nan = np.array([0xffc00000], np.uint32).view(f32)[0]
    special = array([nan, 1, -0.0, 0.0, inf, -1, negative_nan, -inf, 0.0, -0.0, 1, 1e-30])
    inputs = {"f32": Pattern(f32, (2, 3, 4), 7).array, "f64": Pattern(f64, (3, 2, 5), 9).array, "special": special,
              "special f64": special.astype(f64), "i64": Pattern(i64, (2, 3, 4), 2).array, "u8": Pattern(u8, (3, 4), 6).array,
              "i32": I32, "i64 wide": I64, "ties": array([[3, 1, 3, 1], [2, 2, 2, 2]], i32), "one": array([[5.0]]),
              "expanded": repeated(array([[3], [1]]), (2, 4)), "no rows": np.zeros((0, 3), f32),
              "long": (np.arange(100) * 37 % 23).astype(i32)}
    for name, x in inputs.items():
        given = Signed(x) if "special" in name else x
        for dim in range(-1, x.ndim - 1):
            up, down = order(x, dim, False), order(x, dim, True)
            label = f"{name} dim {dim}"
            case("argsort", label, given, up, (dim,))
            case("argsort_descending", label, given, down, (dim,))
            sorted_up, sorted_down = np.take_along_axis(x, up, dim), np.take_along_axis(x, down, dim)
            case("sort", label, given, sorted_up, (dim,))
            case("sort_descending", label, given, sorted_down, (dim,))
            case("sort_with_indices", label, given, [sorted_up, up], (dim,))
            case("sort_descending_with_indices", label, given, [sorted_down, down], (dim,))
            for k in {1, 2, x.shape[dim]} if x.shape[dim] > 1 else ():
                top, where = np.take(sorted_down, range(k), dim), np.take(down, range(k), dim)
                case("topk", f"{label} {k}", given, top, (k, dim))
                case("topk_with_indices", f"{label} {k}", given, [top, where], (k, dim))
                case("argtopk", f"{label} {k}", given, where, (k, dim))
    many = Pattern(f32, (2, 5000), 3)
    assert (np.sort(many.array) == torch.sort(t(many))[0].numpy()).all()
    case("sort", "many", many, Digest(np.sort(many.array)), (-1,), (1e-9, 1e-3))
    case("argsort_descending", "many", many, Digest(order(many.array, 1, True)), (1,), (1e-9, 1e-3))


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
    case("dot", "f32", [array([1, 2, 3]), array([4, -5, 6])], array([12.0]))
    case("dot", "i64", [array([1, 2, 3], i64), array([4, -5, 6], i64)], array([12], i64))
    case("dot", "empty", [np.zeros(0, f32), np.zeros(0, f32)], array([0.0]))


def sort():
    running()
    sorting()
    several()
    write("sort")
