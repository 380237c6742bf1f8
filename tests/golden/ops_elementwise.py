"""Golden rows of ops that work element by element."""
from ops_golden import *


# -- element by element, one tensor ----------------------------------------------------------------------------------------

def unary_float(op, function, values=SPECIAL, tolerance=F32, tolerance64=F64):
    for dtype, bound in ((f32, tolerance), (f64, tolerance64)):
        x = arr(values).astype(dtype).reshape(2, -1)
        case(op, f"{NAMES[np.dtype(dtype).name]} special values", x, n(function(t64(x)), dtype), tolerance=bound)
    big = Pattern(f32, (67, 131), 3)
    if op not in ("log", "sqrt", "recip"):
        case(op, "f32 many", big, Digest(n(function(t64(big)))), tolerance=(1e-5, 1e-3))


def unary():
    calm = array([nan, inf, -inf, -0.0, 0.0, 1, -1, 0.5, -0.5, 1.5, 2.5, -1.5, -2.5, 3.5, 10, -10, 20, -20, 80, -80])
    for op, function in (("neg", torch.neg), ("abs", torch.abs), ("floor", torch.floor), ("ceil", torch.ceil),
                         ("round", torch.round)):
        unary_float(op, function, tolerance=EXACT, tolerance64=EXACT)
    case("round", "halves go to even", array([0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 0.49999997, 8388609, 4.5e15]),
         np.round(array([0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 0.49999997, 8388609, 4.5e15])))
    unary_float("sign", lambda x: torch.where(torch.isnan(x), x, torch.sign(x)), tolerance=(1e-9, 0), tolerance64=(1e-9, 0))
    unary_float("exp", torch.exp, calm, (2e-6, 1e-37))
    unary_float("log", torch.log, np.abs(SPECIAL))
    case("log", "f32 negative", array([-1, -inf, -0.0, 2.7182817]), array([nan, nan, -inf, 0.99999994]), tolerance=(1e-6, 0))
    unary_float("log1p", torch.log1p, array([nan, inf, -1, -0.0, 0.0, 1, -0.5, 1e-7, -1e-7, 3, 1e-10, 1e10, -2, 100]))
    unary_float("sqrt", torch.sqrt, np.abs(SPECIAL), (2e-7, 0), (3e-16, 0))
    case("sqrt", "f32 negative", array([-1, -0.0, 4]), array([nan, -0.0, 2]), tolerance=(1e-9, 0))
    unary_float("recip", torch.reciprocal, tolerance=(3e-7, 1e-37))
    unary_float("sin", torch.sin, calm, (1e-6, 2e-7), (1e-13, 1e-15))
    unary_float("cos", torch.cos, calm, (1e-6, 2e-7), (1e-13, 1e-15))
    unary_float("tanh", torch.tanh, calm, (2e-6, 1e-37))
    unary_float("erf", torch.erf, calm, (2e-6, 1e-37), (1e-12, 1e-300))
    unary_float("square", torch.square, calm, (2e-7, 0), (3e-16, 0))
    for name, x in (("i32", I32), ("i64", I64), ("u8", U8)):
        case("neg", f"{name} wraps", x, (0 - x).astype(x.dtype))
        case("abs", f"{name} wraps", x, np.abs(x).astype(x.dtype))
        case("sign", name, x, np.sign(x).astype(x.dtype))
        case("square", f"{name} wraps", x, (x * x).astype(x.dtype))
    for op in ("neg", "exp", "sign"):
        case(op, "empty", np.zeros((2, 0), f32), np.zeros((2, 0), f32))
    case("bool_not", "values", BOOL, ~BOOL)
    case("bool_not", "rank 3", BOOL[:4].reshape(2, 1, 2), ~BOOL[:4].reshape(2, 1, 2))


def cast_to(x, dtype):
    """Float to int truncates and saturates, NaN gives 0; between ints the bits are cut; to bool x != 0."""
    if dtype == b8:
        return x != 0
    if np.issubdtype(x.dtype, np.floating) and np.issubdtype(dtype, np.integer):
        info = np.iinfo(dtype)
        whole = [0 if np.isnan(v) else info.max if v >= info.max else info.min if v <= info.min else int(v)
                 for v in x.astype(f64)]
        return np.array(whole, dtype)
    return x.astype(dtype)


BITS = {"u8": (0, 255), "i8": (-128, 127), "i16": (-32768, 32767), "i32": (-2 ** 31, 2 ** 31 - 1), "i64": (-2 ** 63, 2 ** 63 - 1)}
DTYPES = {"bool": 1, "u8": 2, "i8": 3, "i16": 4, "i32": 5, "i64": 6, "f16": 7, "bf16": 8, "f32": 9, "f64": 10}


def cast_number(x, source, target):
    """cast_to for one number and dtypes by name."""
    if target == "bool":
        return int(x != 0)
    if target in BITS:
        low, high = BITS[target]
        if source.startswith(("f", "b")) and source != "bool":
            return 0 if math.isnan(x) else high if x >= high else low if x <= low else int(x)
        return (int(x) - low) % (high - low + 1) + low
    return half(target, x) if target in ("f16", "bf16") else float(f32(x)) if target == "f32" else float(x)


def all_casts():
    """Every pair with a narrow dtype; the other pairs are in casts()."""
    floats = [nan, inf, -inf, -0.0, 0.0, 0.4, -0.6, 1.9, -1.9, 127.5, 128, -128.9, -129, 255.7, 300, -5, 32768, -32769, 65504, 65520,
              1e20, -1e20, 1e-7, 6e-8, -1e-40]
    # Ties: 2^11 + 1 and + 3 in f16, 2^8 + 1 and + 3 in bf16; halves of the smallest f16; f64 beside a tie, which f32 cannot see.
    ties = [2049, 2051, 257, 259, 65519, 2 ** -25, 3 * 2 ** -25, 1 + 2 ** -11, 1 + 2 ** -11 + 2 ** -40, 1 + 2 ** -8 - 2 ** -40,
            2 ** -25 + 2 ** -60, 65520 - 2 ** -20]
    wholes = [0, 1, -1, 127, -128, 128, 255, 257, -300, 2049, 2051, 32767, -32768, 65519, 65535, -65537, 2 ** 31 - 1, -2 ** 31,
              2 ** 40 + 1, 2 ** 63 - 1, -2 ** 63]
    for source, source_number in DTYPES.items():
        if source in ("f16", "bf16", "f32", "f64"):
            given = [cast_number(x, "f64", source) for x in floats + ties]
        else:
            low, high = BITS.get(source, (0, 1))
            given = [x for x in wholes if low <= x <= high]
        for target, target_number in DTYPES.items():
            narrow = ("i8", "i16", "f16", "bf16")
            if source not in narrow and target not in narrow:
                continue
            wanted = [cast_number(x, source, target) for x in given]
            case("cast", f"all: {source} to {target}", Typed(source, given), Typed(target, wanted), (target_number,))


def casts():
    sources = {"f32": array([nan, inf, -inf, -0.0, 0.4, 1.9, -1.9, 300, -5, 3e9, -3e9, 1e20, 255.7]),
               "f64": array([nan, inf, -inf, -0.0, 0.4, 1.9, -1.9, 300, -5, 3e9, -3e9, 1e20, 0.1], f64),
               "i32": array([0, 1, -1, 255, 256, -300, 2147483647, -2147483648, 16777217], i32),
               "i64": array([0, 1, -1, 255, 4294967301, -4294967301, 9007199254740993, -9223372036854775808], i64),
               "u8": U8, "bool": BOOL}
    types = (f32, f64, i32, i64, u8, b8)
    for source, x in sources.items():
        for number_, dtype in enumerate(types):
            numbers = {f32: 9, f64: 10, i32: 5, i64: 6, u8: 2, b8: 1}
            case("cast", f"{source} to {NAMES[np.dtype(dtype).name]}", x, cast_to(x, dtype), (numbers[dtype],))
    all_casts()
    case("int", "f32 truncates", sources["f32"], cast_to(sources["f32"], i64))
    case("int", "bool", BOOL, BOOL.astype(i64))
    case("float", "i64", sources["i64"], cast_to(sources["i64"], f32))
    case("float", "bool", BOOL, BOOL.astype(f32))
    case("to_bool", "f32: NaN counts", sources["f32"], sources["f32"] != 0)
    case("to_bool", "u8", U8, U8 != 0)


# -- two tensors -------------------------------------------------------------------------------------------------------------

def wrap_div(a, b):
    """Truncates toward zero; x / 0 is 0; the smallest integer over -1 wraps."""
    out = []
    for x, y in zip(a.reshape(-1).tolist(), b.reshape(-1).tolist()):
        out.append(0 if y == 0 else abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1))
    return np.array(out, dtype=object).astype(np.int64 if a.dtype != i64 else object), out


def int_div(a, b):
    _, out = wrap_div(a, b)
    bits = np.iinfo(a.dtype).bits
    return np.array([(v + (1 << 63)) % (1 << 64) - (1 << 63) if bits == 64 else v for v in out], np.int64).astype(a.dtype)


def int_rem(a, b):
    return np.array([0 if y == 0 else x % y for x, y in zip(a.tolist(), b.tolist())], np.int64).astype(a.dtype)


def pairs(values):
    a, b = np.meshgrid(values, values, indexing="ij")
    return a.reshape(-1), b.reshape(-1)


def binary():
    some = array([nan, inf, -inf, -0.0, 0.0, 1, -2.5, 1e30])
    a, b = pairs(some)
    torch_ops = {"add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div}
    for op, function in torch_ops.items():
        case(op, "f32 every pair of special values", [a, b], n(function(t(a), t(b))), tolerance=(3e-7, 1e-37))
        x, y = some.astype(f64), np.roll(some, 1).astype(f64)
        case(op, "f64", [x, y], n(function(t64(x), t64(y)), f64), tolerance=(3e-16, 1e-300))
        x, y = Pattern(f32, (2, 3, 4), 1), Pattern(f32, (2, 1, 4), 5)
        case(op, "f32 broadcast in the middle", [x, y], n(function(t64(x), t64(y))), tolerance=(3e-7, 0))
        x, y = Pattern(f32, (3, 1), 2), Pattern(f32, (1, 5), 6)
        case(op, "f32 both broadcast", [x, y], n(function(t64(x), t64(y))), tolerance=(3e-7, 0))
        x, y = Pattern(f32, (70, 129), 2), Pattern(f32, (70, 1), 8)
        case(op, "f32 many, column", [x, y], Digest(n(function(t64(x), t64(y)))), tolerance=(1e-5, 1e-3))
        x, y = Pattern(f32, (1, 129), 2), Pattern(f32, (70, 129), 8)
        case(op, "f32 many, row on the left", [x, y], Digest(n(function(t64(x), t64(y)))), tolerance=(1e-5, 1e-3))
        case(op, "f32 empty against one", [np.zeros((0, 2), f32), np.ones((1, 2), f32)], np.zeros((0, 2), f32))
        case(op, "f32 rank 8", [Pattern(f32, (1, 2, 1, 2, 1, 2, 1, 3), 1), Pattern(f32, (2, 1, 1, 2, 1, 1, 1, 3), 2)],
             Digest(n(function(t64(Pattern(f32, (1, 2, 1, 2, 1, 2, 1, 3), 1)),
                               t64(Pattern(f32, (2, 1, 1, 2, 1, 1, 1, 3), 2))))),
             tolerance=(3e-6, 1e-5))
    for name, values in (("i32", I32), ("i64", I64), ("u8", U8)):
        x, y = pairs(values)
        for op, function in (("add", np.add), ("sub", np.subtract), ("mul", np.multiply)):
            case(op, f"{name} wraps", [x, y], function(x, y))
        case("div", f"{name} truncates, by zero is 0", [x, y], int_div(x, y))
        case("remainder", f"{name} has the sign of the divisor, by zero is 0", [x, y], int_rem(x, y))
        case("max_pair", name, [x, y], np.maximum(x, y))
        case("min_pair", name, [x, y], np.minimum(x, y))
    p, q = pairs(array([nan, 0.0, 1, -1, 7, -7, 2.5, -2.5, 0.75]))
    case("remainder", "f32 has the sign of the divisor", [p, q], n(torch.remainder(t64(p), t64(q))), tolerance=(3e-7, 1e-37))
    case("remainder", "f64", [p.astype(f64), q.astype(f64)], n(torch.remainder(t64(p), t64(q)), f64), tolerance=(1e-15, 1e-300))
    case("remainder", "f32 infinite divisor", [array([5, inf]), array([inf, 3])], array([5, nan]))
    p, q = pairs(array([nan, inf, -inf, 0.0, 1, -1, 2, -3, 0.5, -0.5]))
    case("powf", "f32", [p, q], n(torch.pow(t64(p), t64(q))), tolerance=(3e-6, 1e-37))
    case("powf", "f64", [p.astype(f64), q.astype(f64)], n(torch.pow(t64(p), t64(q)), f64), tolerance=(1e-13, 1e-300))
    case("max_pair", "f32: a NaN on the right is ignored", [a, b], np.where(b > a, b, a))
    case("min_pair", "f32: a NaN on the right is ignored", [a, b], np.where(b < a, b, a))
    case("max_pair", "f64 broadcast", [array([[1, 5, -3]], f64), array([[2], [nan]], f64)],
         array([[2, 5, 2], [1, 5, -3]], f64))
    p, q = pairs(array([0, 1], b8))
    for op, function in (("bool_and", np.logical_and), ("bool_or", np.logical_or), ("bool_xor", np.logical_xor)):
        case(op, "every pair", [p, q], function(p, q))
        case(op, "broadcast", [p.reshape(2, 2), q[:2].reshape(1, 2)], function(p.reshape(2, 2), q[:2].reshape(1, 2)))


# -- a tensor and a scalar ---------------------------------------------------------------------------------------------------

def truncate(value):
    return int(value)


def scalar():
    x32, x64 = SPECIAL.reshape(4, 5), SPECIAL.astype(f64)
    torch_ops = {"add_scalar": torch.add, "sub_scalar": torch.sub, "mul_scalar": torch.mul, "div_scalar": torch.div}
    for op, function in torch_ops.items():
        for value in (2.5, -0.5, inf):
            case(op, f"f32 {value}", x32, n(function(t64(x32), value)), (value,), (3e-7, 1e-37))
        case(op, "f64", x64, n(function(t64(x64), -3.0), f64), (-3,), (3e-16, 1e-300))
        case(op, "f32 empty", np.zeros((0,), f32), np.zeros((0,), f32), (2,))
    for name, values in (("i32", I32), ("i64", I64), ("u8", U8)):
        three, minus = np.full_like(values, 3), np.array([-3], np.int64).astype(values.dtype)[0]
        case("add_scalar", f"{name} wraps", values, values + three, (3,))
        case("sub_scalar", f"{name} wraps", values, values - three, (3,))
        case("mul_scalar", f"{name} wraps", values, values * three, (3,))
        case("div_scalar", f"{name} truncates", values, int_div(values, three), (3,))
        case("div_scalar", f"{name} by zero is 0", values, np.zeros_like(values), (0,))
        case("remainder_scalar", name, values, int_rem(values, three), (3,))
        case("remainder_scalar", f"{name} by zero is 0", values, np.zeros_like(values), (0,))
        case("add_scalar", f"{name}: the scalar is truncated", values, values + np.ones_like(values), (1.9,))
        case("clamp", name, values, np.clip(values, 2, 7), (2, 7))
        case("clamp_min", name, values, np.maximum(values, 5), (5,))
        case("clamp_max", name, values, np.minimum(values, 5), (5,))
        if name != "u8":
            case("mul_scalar", f"{name} negative", values, values * minus, (-3,))
            case("div_scalar", f"{name} by -1 wraps", values, int_div(values, np.full_like(values, -1)), (-1,))
            case("remainder_scalar", f"{name} negative", values, int_rem(values, np.full_like(values, -3)), (-3,))
            case("remainder_scalar", f"{name} by -1", values, np.zeros_like(values), (-1,))
    p = array([nan, 0.0, 1, -1, 7, -7, 2.5, -2.5, 0.75])
    for value in (3, -3, 0.5, -2.5, 0):
        case("remainder_scalar", f"f32 {value}", p, n(torch.remainder(t64(p), value)), (value,), (3e-7, 1e-37))
    for value in (0, 1, 2, -1, -2, 3, -0.5, 2.5):
        case("powf_scalar", f"f32 {value}", x32, np.power(x32.astype(f64), value).astype(f32), (value,), (3e-6, 1e-37))
        if value in (0, 2, -2, 2.5):
            case("powf_scalar", f"f64 {value}", x64, np.power(x64, value), (value,), (1e-13, 1e-300))
    for value in (0.75, -inf):
        case("clamp_min", f"f32 {value}", x32, np.where(x32 < value, f32(value), x32), (value,))
        case("clamp_max", f"f32 {-value}", x32, np.where(x32 > -value, f32(-value), x32), (-value,))
    case("clamp", "f32", x32, np.where(x32 < -1, f32(-1), np.where(x32 > 2, f32(2), x32)), (-1, 2))
    case("clamp", "f64 crossed bounds: the maximum wins", x64, np.where(np.isnan(x64), x64, f64(1)), (3, 1))


def compare():
    some = array([nan, inf, -inf, -0.0, 0.0, 1, -1, 2.5])
    ops = {"equal": np.equal, "not_equal": np.not_equal, "greater": np.greater, "greater_equal": np.greater_equal,
           "lower": np.less, "lower_equal": np.less_equal}
    for op, function in ops.items():
        for name, values in (("f32", some), ("f64", some.astype(f64)), ("i32", I32), ("i64", I64), ("u8", U8), ("bool", BOOL)):
            if name == "bool" and op not in ("equal", "not_equal"):
                continue
            x, y = pairs(values) if name == "f32" else (values, np.roll(values, 1))
            case(op, name, [x, y], function(x, y))
            if name in ("f32", "bool"):
                case(op, f"{name} with itself", [values, values], function(values, values))
            if name == "bool":
                case(f"{op}_scalar", f"{name} 1", values, function(values, True), (1,))
                continue
            if name != "f64":
                case(f"{op}_scalar", f"{name} 1", values, function(values, 1), (1,))
        x, y = Pattern(f32, (3, 1, 4), 2), Pattern(f32, (1, 5, 4), 3)
        case(op, "f32 broadcast", [x, y], function(x.array, y.array))
        case(op, "empty", [np.zeros((0, 3), i64), np.zeros((1, 3), i64)], np.zeros((0, 3), b8))
        x = Pattern(f32, (71, 130), 4)
        case(f"{op}_scalar", "f32 many", x, Digest(function(x.array, f32(0.52))), (0.52,), (1e-12, 1e-6))
        case(f"{op}_scalar", "f32 NaN", some, function(some, nan), (nan,))


def expanded():
    row, column = repeated(array([[1, -2, 3.5, 0]]), (3, 4)), repeated(array([[5], [nan], [-7]]), (3, 4))
    case("add", "f32 expanded inputs", [row, column], row + column)
    case("neg", "f32 expanded input", row, -row)
    case("greater", "f32 expanded inputs", [row, column], row > column)
    case("cast", "bool expanded to f32", repeated(array([[1], [0]], b8), (2, 3)), repeated(array([[1], [0]]), (2, 3)), (9,))
    case("mul_scalar", "i64 all equal", np.full((2, 3), 4, i64), np.full((2, 3), 12, i64), (3,))


def fractional():
    """Comparisons of integers with a fraction are those of real numbers."""
    x = array([-2, -1, 0, 1, 2, 3], i32)
    for op, function in (("greater_scalar", np.greater), ("greater_equal_scalar", np.greater_equal), ("lower_scalar", np.less),
                         ("lower_equal_scalar", np.less_equal), ("equal_scalar", np.equal), ("not_equal_scalar", np.not_equal)):
        for value in (1.5, -0.5, 1e20, -inf, nan):
            case(op, f"i32 {value}", x, function(x.astype(f64), value), (value,))
        case(op, "u8 -1", array([0, 1, 255], u8), function(array([0, 1, 255], f64), -1), (-1,))
        case(op, "i64 2^63", array([0, 9223372036854775807, -9223372036854775808], i64), function(array([0, 1, -1], f64), 2),
             (9223372036854775808,))


def subnormals():
    """Numbers below the smallest normal one are kept, not flushed to 0."""
    x = array([1e-40, -1e-40, 1e-45, -1.1e-38, 0])
    case("neg", "f32 subnormal", x, -x)
    case("abs", "f32 subnormal", x, np.abs(x))
    case("sign", "f32 subnormal", x, np.sign(x))
    case("add", "f32 subnormal", [x, x], x + x)
    case("mul", "f32 subnormal", [x, np.full_like(x, 0.5)], x * f32(0.5))
    case("mul_scalar", "f32 subnormal", x, x * f32(3), (3,))
    case("clamp_max", "f32 subnormal", x, np.minimum(x, f32(0)), (0,))
    case("equal_scalar", "f32 subnormal is not 0", x, x == 0, (0,))
    case("greater_scalar", "f32 subnormal", x, x > 0, (0,))
    case("cast", "f32 subnormal to f64", x, x.astype(f64), (10,))
    case("cast", "f32 subnormal to bool", x, x != 0, (1,))
    y = array([-100, -95.5])
    case("exp", "f32 subnormal results", y, np.exp(y.astype(f64)).astype(f32), tolerance=(1e-3, 3e-45))


def elementwise():
    subnormals()
    fractional()
    expanded()
    unary()
    casts()
    binary()
    scalar()
    compare()
    write("elementwise")
