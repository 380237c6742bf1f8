"""Golden rows of ops that move elements: joins, repetitions, parts that are written, triangles, windows, margins."""
from ops_golden import *
from ops_view import RANGES, burn_slice, flat_ranges


def triangles():
    for name, x in KINDS.items():
        if name == "u8":
            continue
        case("triu", name, x, np.triu(x).astype(x.dtype), (0,))
        case("tril", name, x, np.tril(x, -1).astype(x.dtype), (-1,))
        case("triu", f"{name} far up", x, np.triu(x, 3).astype(x.dtype), (3,))
        case("tril", f"{name} up", x, np.tril(x, 2).astype(x.dtype), (2,))
        case("triu", f"{name} down", x, np.triu(x, -9).astype(x.dtype), (-9,))


def expanded():
    x = repeated(array([[1], [2], [4]]), (3, 4))
    case("cat", "expanded", [x, x], np.concatenate([x, x], 0), (0,))
    case("slice_assign", "expanded", [x, np.zeros((3, 2), f32)], np.concatenate([np.zeros((3, 2), f32), x[:, 2:]], 1),
         (0, END, 1, 0, 2, 1))
    case("repeat_dim", "expanded", x, np.concatenate([x, x], 1), (1, 2))


def parts_and_joins():
    for name, x in KINDS.items():
        if name == "u8":
            continue
        for label, ranges in RANGES.items():
            part = burn_slice(x, ranges)
            if name != "f32" and label in ("leading axis", "two axes", "clamped", "all"):
                continue
            values = np.logical_not(part) if name == "bool" else (part + 100).astype(x.dtype)
            index = np.arange(24).reshape(2, 3, 4)
            out = x.copy().reshape(-1)
            out[burn_slice(index, ranges).reshape(-1)] = values.reshape(-1)
            case("slice_assign", f"{name} {label}", [x, values], out.reshape(2, 3, 4), flat_ranges(ranges))
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


def rolled(x, shift, dim):
    """Burn: element i is x[(i + shift) mod size], so elements move towards lower places; NumPy and PyTorch roll the other way."""
    return np.take(x, (np.arange(x.shape[dim]) + shift) % x.shape[dim], dim)


def rolls():
    for name, x in KINDS.items():
        for shift, dim in ((1, 0), (-1, 1), (5, 2), (-9, -1), (0, 0), (3, 1)):
            case("roll_dim", f"{name} {shift} {dim}", x, rolled(x, shift, dim), (shift, dim))
        case("roll", name, x, rolled(rolled(x, 1, 0), -2, 2), (1, 0, -2, 2))
        case("roll", f"{name} twice the same", x, rolled(x, 2, 1), (1, 1, 1, -2))
        case("roll_dim", f"{name} empty", x[:, :0], x[:, :0], (3, 1))
    case("roll_dim", "Burn's example", array([0, 1, 2, 3, 4, 5], i64), array([2, 3, 4, 5, 0, 1], i64), (2, 0))


def windows_and_margins():
    for name, x in KINDS.items():
        filled = x.copy()
        filled[:, 1:, ::2] = 1
        case("slice_fill", name, x, filled, (1, 0, END, 1, 1, END, 1, 0, END, 2))
        case("slice_fill", f"{name} empty range", x, x, (1, 1, 1, 1))
        for dim, size, step in ((0, 1, 1), (1, 2, 1), (-1, 2, 2), (2, 3, 1), (2, 4, 5), (1, 1, 2)):
            case("unfold", f"{name} {dim} {size} {step}", x, t(x).unfold(dim, size, step).numpy(), (dim, size, step))
        case("unfold", f"{name} longer than the axis", x, np.zeros((2, 0, 4, 5), x.dtype), (1, 5, 1))
        value = 1 if name == "bool" else 7
        for label, pairs in (("all", ((1, 0), (2, 1), (0, 3))), ("last", ((2, 1),)), ("none", ((0, 0), (0, 0)))):
            widths = [(0, 0)] * (3 - len(pairs)) + list(pairs)
            flat = tuple(v for pair in pairs for v in pair)
            case("pad", f"{name} constant {label}", x, np.pad(x, widths, constant_values=value), (0, value) + flat)
            case("pad", f"{name} edge {label}", x, np.pad(x, widths, "edge"), (2, 0) + flat)
            case("pad", f"{name} reflect {label}", x, np.pad(x, widths, "reflect"), (1, 0) + flat)
    case("pad", "NaN and inf", array([[1.0]]), array([[-inf, 1, -inf]]), (0, -inf, 1, 1))
    case("pad", "empty", np.zeros((2, 0), f32), np.full((2, 3), 4, f32), (0, 4, 1, 2))
    case("pad", "f64 reflect to the end", array([1, 2, 3], f64), array([3, 2, 1, 2, 3, 2, 1], f64), (1, 0, 2, 2))
    case("repeat_dim", "no times keeps the dtype", array([1, 2], i32), np.zeros(0, i32), (0, 0))


def move():
    triangles()
    expanded()
    parts_and_joins()
    rolls()
    windows_and_margins()
    write("move")
