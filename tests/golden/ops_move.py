"""Golden rows of ops that move axes and elements, cut and pad, read and write by index and mask."""
from ops_golden import *

ASSIGN, ADD, MUL, MIN, MAX = range(5)
TORCH_UPDATE = {ADD: "sum", MUL: "prod", MIN: "amin", MAX: "amax"}
UPDATE_NAMES = ["assign", "add", "mul", "min", "max"]


def put(x, places, values, update):
    """Values applied one after the other at places (tuples); NaN wins in min and max, integers wrap."""
    out = x.copy()
    for place, v in zip(places, values):
        old = out[place]
        if update == ASSIGN:
            out[place] = v
        elif update == ADD:
            out[place] = old | v if x.dtype == b8 else old + v
        elif update == MUL:
            out[place] = old & v if x.dtype == b8 else old * v
        else:
            out[place] = np.minimum(old, v) if update == MIN else np.maximum(old, v)
    return out


def scattered(x, dim, where, values, update):
    if update in TORCH_UPDATE and x.dtype in (f32, i64):  # PyTorch 1.13 has these
        return torch.scatter_reduce(t(x), dim, t(where.astype(i64)), t(values), TORCH_UPDATE[update]).numpy()
    places = []
    for place in np.ndindex(*where.shape):
        target = list(place)
        target[dim] = int(where[place])
        places.append(tuple(target))
    return put(x, places, values.reshape(-1), update)


def updates():
    bound = (2e-6, 1e-6)
    for name, x in KINDS.items():
        picks, where = array([2, 0, 0, 2, 2], i64), (np.arange(40).reshape(2, 5, 4) * 7 % 3).astype(i64)
        values = Pattern(x.dtype.type, (2, 5, 4), 9).array if name != "u8" else np.arange(40, dtype=u8).reshape(2, 5, 4)
        for update in (ASSIGN, ADD, MUL) if name == "bool" else range(5):
            label, tolerance = f"{name} {UPDATE_NAMES[update]}", bound if name == "f32" else EXACT
            wide = np.ascontiguousarray(np.broadcast_to(picks[None, :, None], (2, 5, 4)))
            case("select_assign", label, [x, picks, values], scattered(x, 1, wide, values, update), (1, update), tolerance)
            case("scatter", label, [x, where, values], scattered(x, 1, where, values, update), (1, update), tolerance)
            last = (np.arange(12).reshape(2, 3, 2) * 5 % 4).astype(i32)
            part = np.ascontiguousarray(values[:, :3, :2])
            case("scatter", f"{label} last axis, i32", [x, last, part], scattered(x, 2, last, part, update), (-1, update),
                 tolerance)
        case("select_assign", f"{name} no indices", [x, array([], i64), x[:0]], x, (0, ASSIGN))
    case("select_assign", "the last one stays", [array([1, 2, 3]), array([1, 1, 1], i64), array([7, 9, 8])], array([1, 8, 3]),
         (0, ASSIGN))
    x, v, at = array([nan, 1, 5, 2, -0.0]), array([1, nan, 7, inf, -inf]), np.arange(5, dtype=i64)
    case("scatter", "min with NaN", [x, at, v], array([nan, nan, 5, 2, -inf]), (0, MIN))
    case("scatter", "max with NaN", [x, at, v], array([nan, nan, 7, inf, -0.0]), (0, MAX))
    case("scatter", "NaN stays", [array([0.0]), array([0, 0, 0], i64), array([1, nan, 5])], array([nan]), (0, MAX))
    most = array([2147483647, -2147483648], i32)
    case("scatter", "i32 add wraps", [most, array([0, 1], i64), array([1, -1], i32)], array([-2147483648, 2147483647], i32), (0, ADD))
    case("scatter", "u8 mul wraps", [array([200], u8), array([0, 0], i64), array([3, 2], u8)], array([1200 % 256], u8), (0, MUL))


def tuples():
    for name, x in KINDS.items():
        for label, at in (("one coordinate", array([[1], [0], [1]], i64)), ("two", array([[[1, 2]], [[0, 0]], [[1, 2]]], i64)),
                          ("all", array([[1, 2, 3], [0, 0, 0], [1, 2, 3], [0, 2, 1]], i64)), ("i32", array([[0, 1]], i32)),
                          ("rank 1 indices", array([1, 1], i64)), ("no tuples", np.zeros((0, 2), i64))):
            index = tuple(np.moveaxis(at, -1, 0))
            part = np.ascontiguousarray(x[index])
            case("gather_nd", f"{name} {label}", [x, at], part)
            values = Pattern(x.dtype.type, part.shape, 5).array if name != "u8" else np.arange(part.size, dtype=u8).reshape(part.shape)
            places = list(map(tuple, at.reshape(-1, at.shape[-1])))
            flat = values.reshape((len(places),) + x.shape[at.shape[-1]:])
            for update in (ASSIGN, ADD, MUL) if name == "bool" else range(5):
                if label in ("one coordinate", "rank 1 indices", "i32", "no tuples") and update not in (ASSIGN, ADD):
                    continue
                case("scatter_nd", f"{name} {label} {UPDATE_NAMES[update]}", [x, at, values], put(x, places, flat, update), (update,),
                     (2e-6, 1e-6) if name == "f32" and update != ASSIGN else EXACT)
        picks = array([[2, 0], [1, 1]], i64)
        for dim in (0, 1, -1):
            at = picks % x.shape[dim]
            case("take", f"{name} {dim}", [x, at], np.take(x, at, dim), (dim,))
        case("take", f"{name} rank 1", [x, array([1, 0], i32)], x[::-1], (0,))
        case("take", f"{name} nothing", [x, np.zeros((0, 3), i64)], np.zeros((2, 0, 3, 4), x.dtype), (1,))


def masks():
    for name, x in KINDS.items():
        mask = Pattern(i64, (2, 3, 4), 8).array % 3 == 0
        case("mask_select", name, [x, mask], t(x).masked_select(t(mask)).numpy())
        case("mask_select", f"{name} none", [x, np.zeros((2, 3, 4), b8)], np.zeros(0, x.dtype))
        case("mask_select", f"{name} empty", [x[:0], np.zeros((0, 3, 4), b8)], np.zeros(0, x.dtype))
    for label, mask in (("some", Pattern(b8, (2, 3, 4), 3).array), ("none", np.zeros((2, 3), b8)), ("rank 1", BOOL),
                        ("empty", np.zeros((2, 0, 3), b8)), ("all", np.ones((2, 2), b8))):
        case("argwhere", label, mask, t(mask).nonzero().numpy().reshape(-1, mask.ndim))
        if mask.any():  # Burn gives no tensors where nothing is true
            case("nonzero", label, mask, [v.astype(i64) for v in np.nonzero(mask)])
    for op, keep in (("triu_mask", lambda d: d >= 0), ("tril_mask", lambda d: d <= 0), ("diag_mask", lambda d: d == 0)):
        for shape, offset in (((3, 4), 0), ((4, 3), 1), ((2, 3, 3), -1), ((0, 2), 0), ((2, 2), 9)):
            distance = np.arange(shape[-1])[None, :] - np.arange(shape[-2])[:, None] - offset
            case(op, f"{shape} {offset}", None, np.ascontiguousarray(np.broadcast_to(~keep(distance), shape)), (offset,) + shape)
    for shape in ((2, 3), (4,), (2, 1, 2), (3, 0)):
        grid = np.stack(np.meshgrid(*[np.arange(k) for k in shape], indexing="ij"), -1).astype(i64)
        case("cartesian_grid", str(shape), None, grid, shape)
    classes = array([[0, 3], [2, -1]], i64)
    expected = torch.nn.functional.one_hot(t(classes % 4), 4).numpy()
    for dtype in (i64, i32, f32, f64):
        name = NAMES[np.dtype(dtype).name]
        case("one_hot", name, classes.astype(dtype), expected.astype(dtype), (4,))
        case("one_hot_fill", f"{name} first axis", classes.astype(dtype),
             np.where(np.moveaxis(expected, -1, 0), 5, -2).astype(dtype), (4, 5, -2, 0))
        case("one_hot_fill", f"{name} middle", classes.astype(dtype), np.where(np.moveaxis(expected, -1, 1), 3, 0).astype(dtype),
             (4, 3, 0, -2))
    case("one_hot", "u8", array([1, 0], u8), array([[0, 1, 0], [1, 0, 0]], u8), (3,))
    case("one_hot", "empty", np.zeros((0,), i64), np.zeros((0, 3), i64), (3,))


def rolled(x, shift, dim):
    """Burn: element i is x[(i + shift) mod size], so elements move towards lower places; NumPy and PyTorch roll the other way."""
    return np.take(x, (np.arange(x.shape[dim]) + shift) % x.shape[dim], dim)


def axes():
    for name, x in KINDS.items():
        for source, destination in ((0, 2), (2, 0), (-1, 1), (1, 1)):
            case("movedim", f"{name} {source} {destination}", x, np.moveaxis(x, source, destination), (source, destination))
        for pairs in (((0, 1), (1, 2)), ((2, 0), (0, 1)), ((0, 1, 2), (2, 0, 1)), ((), ())):
            case("movedims", f"{name} {pairs}", x, np.moveaxis(x, *pairs), pairs[0] + pairs[1])
        for dims in ((0,), (1, 2), (-1, 0), (0, 1, 2), ()):
            case("flip", f"{name} {dims}", x, np.flip(x, dims), dims)
        for shift, dim in ((1, 0), (-1, 1), (5, 2), (-9, -1), (0, 0), (3, 1)):
            case("roll_dim", f"{name} {shift} {dim}", x, rolled(x, shift, dim), (shift, dim))
        case("roll", name, x, rolled(rolled(x, 1, 0), -2, 2), (1, 0, -2, 2))
        case("roll", f"{name} twice the same", x, rolled(x, 2, 1), (1, 1, 1, -2))
        case("roll_dim", f"{name} empty", x[:, :0], x[:, :0], (3, 1))
        for label, dims, shape in (("leading", (0,), (1, 2, 3, 4)), ("several", (0, -1, -1), (1, 2, 3, 4, 1, 1)),
                                   ("repeated", (0, 0), (1, 1, 2, 3, 4)), ("inside", (1, 3), (2, 1, 3, 1, 4)), ("none", (), (2, 3, 4))):
            case("unsqueeze_dims", f"{name} {label}", x, x.reshape(shape), dims)
    case("roll_dim", "Burn's example", array([0, 1, 2, 3, 4, 5], i64), array([2, 3, 4, 5, 0, 1], i64), (2, 0))
    ones = Pattern(f32, (1, 3, 1, 2, 1), 4).array
    for dims, shape in (((0,), (3, 1, 2, 1)), ((-1, 2), (1, 3, 2)), ((0, 2, 4), (3, 2)), ((), (3, 2))):
        case("squeeze_dims", str(dims), ones, ones.reshape(shape), dims)


def parts():
    for name, x in KINDS.items():
        case("slice_dim", name, x, x[:, 1:3], (1, 1, 3, 1))
        case("slice_dim", f"{name} backwards", x, x[..., 2::-1], (-1, 0, 3, -1))
        filled = x.copy()
        filled[:, 1:, ::2] = 1
        case("slice_fill", name, x, filled, (1, 0, END, 1, 1, END, 1, 0, END, 2))
        case("slice_fill", f"{name} empty range", x, x, (1, 1, 1, 1))
        case("split_with_sizes", name, x, [x[..., :1], x[..., 1:3], x[..., 3:]], (2, 1, 2, 0, 1))
        case("iter_dim", name, x, [x[:, :1], x[:, 1:2], x[:, 2:]], (1,))
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
    case("slice", "empty keeps the dtype", array([1, 2], f64), np.zeros(0, f64), (1, 1, 1))
    case("repeat_dim", "no times keeps the dtype", array([1, 2], i32), np.zeros(0, i32), (0, 0))
    for dtype, code in ((f32, 9), (f64, 10), (i64, 6)):
        case("empty", NAMES[np.dtype(dtype).name], None, np.zeros((2, 0), dtype), (code, 2, 0))
    case("empty", "bool is false", None, np.zeros((5,), b8), (1, 5))
    case("empty", "default dtype", None, np.zeros((0,), f32), (0, 0))
    case("empty_like", "i64", np.zeros((3, 0), i64), np.zeros((3, 0), i64))
    case("empty_like", "bool", np.ones((2, 3), b8), np.zeros((2, 3), b8))


def move():
    updates()
    tuples()
    masks()
    axes()
    parts()
    write("move")
