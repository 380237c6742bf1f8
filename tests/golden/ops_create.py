"""Golden rows of ops that make tensors: constants, ranges, masks, grids of positions."""
from ops_golden import *


def creation():
    codes = {f32: 9, f64: 10, i32: 5, i64: 6, u8: 2, b8: 1}
    for dtype, code in codes.items():
        name = NAMES[np.dtype(dtype).name]
        case("zeros", name, None, np.zeros((2, 3), dtype), (code, 2, 3))
        case("ones", name, None, np.ones((3,), dtype), (code, 3))
        case("eye", name, None, np.eye(3, dtype=dtype), (code, 3))
        value = 1 if dtype == b8 else 2
        case("full", name, None, np.full((2, 1, 2), value, dtype), (code, value, 2, 1, 2))
        x = np.zeros((2, 2), dtype)
        case("zeros_like", name, np.ones((2, 2), dtype), x)
        case("ones_like", name, x, np.ones((2, 2), dtype))
        case("full_like", name, x, np.full((2, 2), value, dtype), (value,))
    case("full", "default dtype, NaN", None, np.full((2,), nan, f32), (0, nan, 2))
    case("full", "empty", None, np.zeros((2, 0), f32), (9, 4, 2, 0))
    case("full", "i32 truncates", None, np.full((2,), -1, i32), (5, -1.9, 2))
    case("eye", "size 0", None, np.zeros((0, 0), f32), (9, 0))
    for start, end, step in ((0, 5, 1), (-3, 4, 2), (3, 3, 1), (5, 2, 1), (0, 10, 4),
                             (-9007199254740993, -9007199254740990, 1)):
        case("arange", f"{start} to {end} by {step}", None, np.arange(start, end, step, dtype=i64), (start, end, step))


def masks():
    for op, keep in (("triu_mask", lambda d: d >= 0), ("tril_mask", lambda d: d <= 0), ("diag_mask", lambda d: d == 0)):
        for shape, offset in (((3, 4), 0), ((4, 3), 1), ((2, 3, 3), -1), ((0, 2), 0), ((2, 2), 9)):
            distance = np.arange(shape[-1])[None, :] - np.arange(shape[-2])[:, None] - offset
            case(op, f"{shape} {offset}", None, np.ascontiguousarray(np.broadcast_to(~keep(distance), shape)), (offset,) + shape)
    for shape in ((2, 3), (4,), (2, 1, 2), (3, 0)):
        grid = np.stack(np.meshgrid(*[np.arange(k) for k in shape], indexing="ij"), -1).astype(i64)
        case("cartesian_grid", str(shape), None, grid, shape)


def empties():
    for dtype, code in ((f32, 9), (f64, 10), (i64, 6)):
        case("empty", NAMES[np.dtype(dtype).name], None, np.zeros((2, 0), dtype), (code, 2, 0))
    case("empty", "bool is false", None, np.zeros((5,), b8), (1, 5))
    case("empty", "default dtype", None, np.zeros((0,), f32), (0, 0))
    case("empty_like", "i64", np.zeros((3, 0), i64), np.zeros((3, 0), i64))
    case("empty_like", "bool", np.ones((2, 3), b8), np.zeros((2, 3), b8))


def create():
    creation()
    masks()
    empties()
    write("create")
