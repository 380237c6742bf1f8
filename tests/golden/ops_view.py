"""Golden rows of views: other shapes, axes in another order, parts."""
from ops_golden import *


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
    x = repeated(array([[1], [2], [4]]), (3, 4))
    case("reshape", "expanded", x, x.reshape(2, 6), (2, 6))
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


def parts():
    for name, x in KINDS.items():
        if name == "u8":
            continue
        for label, ranges in RANGES.items():
            part = burn_slice(x, ranges)
            case("slice", f"{name} {label}", x, part, flat_ranges(ranges))
        case("narrow", name, x, x[:, 1:3], (1, 1, 2))
        case("narrow", f"{name} last axis", x, x[..., 2:4], (-1, 2, 2))
        case("select_dim", name, x, x[:, 2], (1, 2))
        case("select_dim", f"{name} from the end", x, x[..., -1], (-1, -1))
        case("split", f"{name} by 2", x, [x[..., :2], x[..., 2:]], (2, 2))
        case("split", f"{name} rest", x, [x[:, :2], x[:, 2:]], (2, 1))
        case("split", f"{name} larger than the axis", x, [x], (9, 0))
    for size, chunks in ((6, 3), (9, 4), (7, 3), (3, 5), (8, 1), (11, 5)):
        x = Pattern(f32, (2, size), 6).array
        step = -(-size // chunks)
        case("chunk", f"{size} in {chunks}", x, [x[:, k:k + step] for k in range(0, size, step)], (chunks, 1))


def axes():
    for name, x in KINDS.items():
        for source, destination in ((0, 2), (2, 0), (-1, 1), (1, 1)):
            case("movedim", f"{name} {source} {destination}", x, np.moveaxis(x, source, destination), (source, destination))
        for pairs in (((0, 1), (1, 2)), ((2, 0), (0, 1)), ((0, 1, 2), (2, 0, 1)), ((), ())):
            case("movedims", f"{name} {pairs}", x, np.moveaxis(x, *pairs), pairs[0] + pairs[1])
        for dims in ((0,), (1, 2), (-1, 0), (0, 1, 2), ()):
            case("flip", f"{name} {dims}", x, np.flip(x, dims), dims)
        for label, dims, shape in (("leading", (0,), (1, 2, 3, 4)), ("several", (0, -1, -1), (1, 2, 3, 4, 1, 1)),
                                   ("repeated", (0, 0), (1, 1, 2, 3, 4)), ("inside", (1, 3), (2, 1, 3, 1, 4)), ("none", (), (2, 3, 4))):
            case("unsqueeze_dims", f"{name} {label}", x, x.reshape(shape), dims)
    ones = Pattern(f32, (1, 3, 1, 2, 1), 4).array
    for dims, shape in (((0,), (3, 1, 2, 1)), ((-1, 2), (1, 3, 2)), ((0, 2, 4), (3, 2)), ((), (3, 2))):
        case("squeeze_dims", str(dims), ones, ones.reshape(shape), dims)


def further_parts():
    case("slice", "empty keeps the dtype", array([1, 2], f64), np.zeros(0, f64), (1, 1, 1))
    for name, x in KINDS.items():
        case("slice_dim", name, x, x[:, 1:3], (1, 1, 3, 1))
        case("slice_dim", f"{name} backwards", x, x[..., 2::-1], (-1, 0, 3, -1))
        case("split_with_sizes", name, x, [x[..., :1], x[..., 1:3], x[..., 3:]], (2, 1, 2, 0, 1))
        case("iter_dim", name, x, [x[:, :1], x[:, 1:2], x[:, 2:]], (1,))


def view():
    views()
    parts()
    axes()
    further_parts()
    write("view")
