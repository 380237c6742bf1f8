"""Golden rows of ops by index and by mask."""
from ops_golden import *


def expanded():
    x, picks = repeated(array([[1], [2], [4]]), (3, 4)), np.ones((3, 4), i64)
    case("gather", "expanded", [x, picks], repeated(array([[2.0, 2, 2, 2]]), (3, 4)), (0,))
    case("scatter_add", "expanded", [x, picks, x], x + np.array([[0], [7], [0]], f32), (0,))
    case("select_add", "expanded", [x, np.ones(3, i64), x], x + np.array([[0], [7], [0]], f32), (0,))
    case("select", "expanded", [x, np.ones(2, i64)], np.full((2, 4), 2, f32), (0,))
    case("mask_fill", "expanded", [x, repeated(array([[1, 0, 0, 1]], b8), (3, 4))],
         np.where(array([[1, 0, 0, 1]], b8), f32(9), x), (9,))


def reads_and_masks():
    for name, x in KINDS.items():
        for index_dtype in (i64, i32) if name == "f32" else (i64,):
            tail = f"{name} {NAMES[np.dtype(index_dtype).name]}"
            picks = array([2, 0, 0, 1, 2], index_dtype)
            case("select", f"{tail} dim 1", [x, picks], np.take(x, picks, 1), (1,))
            last = array([3, 3, 0], index_dtype)
            case("select", f"{tail} dim -1", [x, last], np.take(x, last, 2), (-1,))
            case("select", f"{tail} no indices", [x, array([], index_dtype)], x[:0], (0,))
            where = (np.arange(40).reshape(2, 5, 4) * 7 % 3).astype(index_dtype)
            case("gather", f"{tail} dim 1", [x, where], np.take_along_axis(x, where.astype(i64), 1), (1,))
            wide = (np.arange(12).reshape(2, 3, 2) * 5 % 4).astype(index_dtype)
            case("gather", f"{tail} dim -1", [x, wide], np.take_along_axis(x, wide.astype(i64), 2), (-1,))
            case("gather", f"{tail} no indices", [x, where[:, :0]], x[:, :0], (1,))
            if name == "bool":
                continue
            rows_ = (np.take(x, picks, 1) * 2 + 1).astype(x.dtype)
            out = x.copy()
            for k, row in enumerate(picks):
                out[:, row] += rows_[:, k]
            case("select_add", f"{tail} repeated add up", [x, picks, rows_], out, (1,),
                 (2e-6, 1e-6) if name == "f32" else EXACT)
            values = Pattern(x.dtype.type, (2, 5, 4), 9).array if name != "u8" else np.arange(40, dtype=u8).reshape(2, 5, 4)
            out = x.copy()
            for i in range(2):
                for j in range(5):
                    for k in range(4):
                        out[i, where[i, j, k], k] += values[i, j, k]
            case("scatter_add", f"{tail} repeated add up", [x, where, values], out, (1,),
                 (2e-6, 1e-6) if name == "f32" else EXACT)
            case("scatter_add", f"{tail} no indices", [x, where[:, :0], values[:, :0]], x, (-2,))
        mask = Pattern(i64, (2, 3, 4), 8).array % 3 == 0
        other = np.logical_not(x) if name == "bool" else (x[:, :, ::-1] + 1).astype(x.dtype)
        case("mask_where", name, [x, mask, other], np.where(mask, other, x))
        case("mask_where", f"{name} all three broadcast", [x[:1], mask[:, :1], other[:, :, :1]],
             np.where(mask[:, :1], other[:, :, :1], x[:1]))
        value = 1 if name == "bool" else 7
        case("mask_fill", name, [x, mask], np.where(mask, np.array(value, x.dtype), x), (value,))
        case("mask_fill", f"{name} mask broadcasts", [x, mask[:1, :, :1]],
             np.where(mask[:1, :, :1], np.array(value, x.dtype), x), (value,))
    x = KINDS["f32"]
    case("mask_fill", "x of size 1 stretches too", [array([[5.0]]), array([[0, 1, 0]], b8)], array([[5, 9, 5]]), (9,))
    case("mask_fill", "f32 with -inf", [x, x > 0], np.where(x > 0, f32(-inf), x), (-inf,))
    case("mask_fill", "f32 NaN stays", [array([nan, 1]), array([0, 1], b8)], array([nan, nan]), (nan,))
    case("mask_where", "f64", [array([1, 2], f64), array([1, 0], b8), array([nan, inf], f64)], array([nan, 2], f64))
    weight = Pattern(f32, (5, 3), 4).array
    for index_dtype in (i64, i32):
        tokens = array([[4, 0, 0], [2, 1, 4]], index_dtype)
        case("embedding", NAMES[np.dtype(index_dtype).name], [weight, tokens], weight[tokens])
    case("embedding", "empty batch", [weight, np.zeros((0, 3), i64)], np.zeros((0, 3, 3), f32))
    big, many = Pattern(f32, (50, 67), 4), (np.arange(300) * 17 % 50).astype(i64)
    case("select", "f32 many", [big, many], Digest(big.array[many]), (0,), (1e-6, 1e-4))
    ones = Pattern(f32, (300, 67), 2)
    out = t64(big).index_add(0, torch.from_numpy(many), t64(ones))
    case("select_add", "f32 many", [big, many, ones], Digest(n(out)), (0,), (1e-5, 2e-3))


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


def masks_and_classes():
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


def index():
    expanded()
    reads_and_masks()
    updates()
    tuples()
    masks_and_classes()
    write("index")
