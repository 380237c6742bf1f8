"""Golden rows of sorting and of the first few of an axis."""
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


def sort():
    sorting()
    write("sort")
