"""Golden rows of ops that run along an axis."""
from ops_golden import *


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


def scan():
    running()
    write("scan")
