"""Golden rows of creation, views, parts and joins."""
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


def views():
    for name, x in KINDS.items():
        if name == "u8":
            continue
        for shape, numbers in (((6, 4), (6, 4)), ((24,), (-1,)), ((2, 12), (0, -1)), ((2, 3, 2, 2), (0, 0, 2, 2)),
                               ((1, 24, 1), (1, -1, 1))):
            case("reshape", f"{name} to {numbers}", x, x.reshape(shape), numbers)
        for start, end, shape in ((0, 2, (24,)), (1, -1, (2, 12)), (0, 1, (6, 4)), (-2, -2, (2, 3, 4))):
            case("flatten", f"{name} {start} to {end}", x, x.reshape(shape), (start, end))
        case("transpose", name, x, x.swapaxes(-1, -2))
        for a, b in ((0, 2), (-1, 0), (1, 1)):
            case("swap_dims", f"{name} {a} {b}", x, x.swapaxes(a, b), (a, b))
        for axes in ((2, 0, 1), (0, 1, 2), (-1, 1, 0)):
            case("permute", f"{name} {axes}", x, x.transpose(axes), axes)
        case("unsqueeze", name, x, x.reshape(1, 1, 2, 3, 4), (5,))
        case("unsqueeze", f"{name} same rank", x, x, (3,))
        for dim in (0, 1, 3, -1, -4):
            case("unsqueeze_dim", f"{name} {dim}", x, np.expand_dims(x, dim), (dim,))
        case("triu", name, x, np.triu(x), (0,)) if name != "bool" else case("triu", name, x, np.triu(x).astype(b8), (0,))
        case("tril", name, x, np.tril(x, -1).astype(x.dtype), (-1,))
        case("triu", f"{name} far up", x, np.triu(x, 3).astype(x.dtype), (3,))
        case("tril", f"{name} up", x, np.tril(x, 2).astype(x.dtype), (2,))
        case("triu", f"{name} down", x, np.triu(x, -9).astype(x.dtype), (-9,))
    ones = Pattern(f32, (1, 3, 1, 2, 1), 4).array
    case("squeeze", "all", ones, ones.reshape(3, 2))
    case("squeeze", "nothing to drop", array([1, 2, 3]), array([1, 2, 3]))
    case("squeeze", "one element keeps an axis", array([[[7.0]]]), array([7.0]))
    for dim in (0, 2, -1, -5):
        case("squeeze_dim", f"{dim}", ones, np.squeeze(ones, dim), (dim,))
    for name, x in (("f32", array([[1], [2], [3]])), ("i64", array([[4], [5], [6]], i64)),
                    ("bool", array([[1], [0], [1]], b8))):
        case("expand", f"{name}", x, np.broadcast_to(x, (3, 4)), (3, 4))
        case("expand", f"{name} leading axes", x, np.broadcast_to(x, (2, 2, 3, 2)), (2, 2, 3, 2))
        case("expand", f"{name} -1 keeps", x, np.broadcast_to(x, (5, 3, 1)), (5, -1, -1))
        case("expand", f"{name} to nothing", x, np.zeros((3, 0), x.dtype), (3, 0))
    case("reshape", "empty", np.zeros((0, 3), f32), np.zeros((0,), f32), (0,))


def burn_slice(x, ranges):
    """Burn's rule: bounds are clamped, then a negative step walks the selected range backwards."""
    out = x
    for axis, (start, end, step) in enumerate(ranges):
        size = x.shape[axis]
        clamp = lambda v: max(0, min(size, v + size if v < 0 else v))
        low, high = clamp(start), size if end == END else clamp(end)
        picks = list(range(low, high))
        picks = picks[::step] if step > 0 else picks[::-1][::-step]
        out = np.take(out, np.array(picks, np.int64), axis=axis)
    return out


RANGES = {"leading axis": [(1, END, 1)], "two axes": [(0, 1, 1), (1, 3, 1)],
          "negative bounds": [(-1, END, 1), (-2, -1, 1), (1, -1, 1)],
          "clamped": [(0, 99, 1), (-99, 2, 1)], "steps": [(0, END, 1), (0, END, 2), (1, 4, 2)],
          "backwards": [(0, END, -1), (0, END, -1), (0, END, -1)], "backwards by two": [(0, END, 1), (0, 3, -2), (0, 4, -3)],
          "empty": [(0, END, 1), (2, 2, 1)], "descending is empty": [(0, 1, 1), (2, 1, 1)], "all": []}


def flat_ranges(ranges):
    return tuple(v for r in ranges for v in r)


def expanded_parts():
    x = repeated(array([[1], [2], [4]]), (3, 4))
    case("cat", "expanded", [x, x], np.concatenate([x, x], 0), (0,))
    case("slice_assign", "expanded", [x, np.zeros((3, 2), f32)], np.concatenate([np.zeros((3, 2), f32), x[:, 2:]], 1),
         (0, END, 1, 0, 2, 1))
    case("reshape", "expanded", x, x.reshape(2, 6), (2, 6))
    case("repeat_dim", "expanded", x, np.concatenate([x, x], 1), (1, 2))


def parts():
    expanded_parts()
    for name, x in KINDS.items():
        if name == "u8":
            continue
        for label, ranges in RANGES.items():
            part = burn_slice(x, ranges)
            case("slice", f"{name} {label}", x, part, flat_ranges(ranges))
            if name != "f32" and label in ("leading axis", "two axes", "clamped", "all"):
                continue
            values = np.logical_not(part) if name == "bool" else (part + 100).astype(x.dtype)
            index = np.arange(24).reshape(2, 3, 4)
            out = x.copy().reshape(-1)
            out[burn_slice(index, ranges).reshape(-1)] = values.reshape(-1)
            case("slice_assign", f"{name} {label}", [x, values], out.reshape(2, 3, 4), flat_ranges(ranges))
        case("narrow", name, x, x[:, 1:3], (1, 1, 2))
        case("narrow", f"{name} last axis", x, x[..., 2:4], (-1, 2, 2))
        case("select_dim", name, x, x[:, 2], (1, 2))
        case("select_dim", f"{name} from the end", x, x[..., -1], (-1, -1))
        case("repeat_dim", name, x, np.concatenate([x, x], 1), (1, 2))
        case("repeat_dim", f"{name} last, once", x, x, (-1, 1))
        case("repeat_dim", f"{name} zero times", x, np.zeros((2, 0, 4), x.dtype), (1, 0))
        case("repeat", name, x[:, :2], np.tile(x[:, :2], (2, 1, 3)), (2, 1, 3))
        y = x[:, :1]
        for dim, pieces in ((1, [x, y, x]), (-2, [y, x]), (0, [x, x]), (2, [x])):
            case("cat", f"{name} {len(pieces)} along {dim}", pieces, np.concatenate(pieces, dim), (dim,))
        case("cat", f"{name} with an empty one", [x, x[:, :0]], x, (1,))
        for dim in (0, 1, -1) if name == "f32" else (-4,):
            case("stack", f"{name} {dim}", [x, x[:, ::-1].copy()], np.stack([x, x[:, ::-1]], dim), (dim,))
        case("split", f"{name} by 2", x, [x[..., :2], x[..., 2:]], (2, 2))
        case("split", f"{name} rest", x, [x[:, :2], x[:, 2:]], (2, 1))
        case("split", f"{name} larger than the axis", x, [x], (9, 0))
    for size, chunks in ((6, 3), (9, 4), (7, 3), (3, 5), (8, 1), (11, 5)):
        x = Pattern(f32, (2, size), 6).array
        step = -(-size // chunks)
        case("chunk", f"{size} in {chunks}", x, [x[:, k:k + step] for k in range(0, size, step)], (chunks, 1))


def shape():
    creation()
    views()
    parts()
    write("shape")
