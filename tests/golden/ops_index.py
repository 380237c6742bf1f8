"""Golden rows of ops by index and by mask."""
from ops_golden import *


def index_expanded():
    x, picks = repeated(array([[1], [2], [4]]), (3, 4)), np.ones((3, 4), i64)
    case("gather", "expanded", [x, picks], repeated(array([[2.0, 2, 2, 2]]), (3, 4)), (0,))
    case("scatter_add", "expanded", [x, picks, x], x + np.array([[0], [7], [0]], f32), (0,))
    case("select_add", "expanded", [x, np.ones(3, i64), x], x + np.array([[0], [7], [0]], f32), (0,))
    case("select", "expanded", [x, np.ones(2, i64)], np.full((2, 4), 2, f32), (0,))
    case("mask_fill", "expanded", [x, repeated(array([[1, 0, 0, 1]], b8), (3, 4))],
         np.where(array([[1, 0, 0, 1]], b8), f32(9), x), (9,))


def index():
    index_expanded()
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
    write("index")
