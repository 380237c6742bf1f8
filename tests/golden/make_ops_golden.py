#!/usr/bin/env python3
"""Writes ops_<family>_golden.h beside this file: inputs and expected outputs of every op, computed by PyTorch and NumPy.

A row is OPS_GOLDEN(op, case, inputs, numbers, outputs, relative, absolute); tests/unit/ops_case.h says how it is read and run.
Tensors are text: "f32[2,3] 1 2 3 4 5 6", separated by ";"; "-" is an absent input; "f32[64,130] @7" is pattern 7; an expected
tensor "f32[64,130] ~a b" gives two weighted sums instead of all elements. Tolerances of 0 ask for equal bits.

Where Burn's rules differ from PyTorch's (integer division by zero, max_pair with NaN, slices with a negative step, chunk,
softplus without threshold, ceil_mode of pools, saturating casts), the rule is written out here.
Run: python3 tests/golden/make_ops_golden.py   (made with PyTorch 1.13 and NumPy 1.24)
"""
import collections
import os
import numpy as np
import torch
import torch.nn.functional as F

np.seterr(all="ignore")
NAMES = {"float32": "f32", "float64": "f64", "int32": "i32", "int64": "i64", "uint8": "u8", "bool": "bool"}
f32, f64, i32, i64, u8, b8 = np.float32, np.float64, np.int32, np.int64, np.uint8, np.bool_
nan, inf = float("nan"), float("inf")
EXACT, F32, F64 = (0, 0), (1e-6, 1e-37), (1e-13, 1e-300)
END = "end"
rows = []
patterns = {}  # (dtype, bytes) of every pattern made: k


class Pattern:
    """The test input k, which the test makes too: floats -2 .. 2, ints -50 .. 50, u8 0 .. 100, bools."""

    def __init__(self, dtype, shape, k):
        count = int(np.prod(shape))
        whole = (np.arange(count, dtype=np.int64) * 37 + k * 11) % 101
        values = {u8: whole, b8: whole % 2 == 0, i32: whole - 50, i64: whole - 50}.get(dtype, (whole - 50) / 25)
        self.array = values.astype(dtype).reshape(shape)
        self.text = f"{head(self.array)} @{k}"
        patterns[(self.array.dtype, self.array.tobytes())] = k


class Digest:
    """An expected tensor of which only two weighted sums are kept."""

    def __init__(self, array):
        self.array = array

    def text(self):
        flat = self.array.astype(np.float64).reshape(-1)
        weights = (np.arange(flat.size) * 29 % 97 - 48) / 48
        return f"{head(self.array)} ~{flat.sum():.15g} {(flat * weights).sum():.15g}"


def head(x):
    return f"{NAMES[x.dtype.name]}[{','.join(map(str, x.shape))}]"


def number(x, digits=None):
    """All digits; or fewer, for expected values that need not be met to the last bit."""
    if isinstance(x, (np.bool_, bool)):
        return str(int(x))
    if isinstance(x, (np.integer, int)):
        return str(int(x))
    text = str(x) if digits is None or not np.isfinite(x) else f"{x:.{digits}g}"
    return text[:-2] if text.endswith(".0") else text


def text_of(x, digits=None):
    if x is None:
        return "-"
    if isinstance(x, Pattern):
        return x.text
    if isinstance(x, Digest):
        return x.text()
    k = patterns.get((x.dtype, x.tobytes())) if x.size > 4 else None
    return f"{head(x)} @{k}" if k is not None else " ".join([head(x)] + [number(v, digits) for v in x.reshape(-1)])


def literal(text):
    """A C string, cut into pieces of a line's width."""
    pieces, rest = [], text
    while len(rest) > 112:
        cut = rest.rfind(" ", 0, 112) + 1 or 112
        pieces.append(rest[:cut])
        rest = rest[cut:]
    pieces.append(rest)
    assert len(text) < 4000, (len(text), text[:80])
    return "\n    ".join(f'"{piece}"' for piece in pieces)


def digits_of(x, tolerance):
    if tolerance == EXACT or isinstance(x, (Pattern, Digest)) or not np.issubdtype(x.dtype, np.floating):
        return None
    return 8 if x.dtype == f32 else 17 if tolerance[0] < 1e-14 else 15


def case(op, name, inputs, outputs, numbers=(), tolerance=EXACT):
    inputs = inputs if isinstance(inputs, (list, tuple)) else [inputs]
    outputs = outputs if isinstance(outputs, (list, tuple)) else [outputs]
    fields = [";".join(text_of(x) for x in inputs), " ".join(n if isinstance(n, str) else number(n) for n in numbers),
              ";".join(text_of(x, digits_of(x, tolerance)) for x in outputs)]
    rows.append((op, name, fields, tolerance))


def big_case(op, name, inputs, outputs, numbers=(), tolerance=EXACT):
    """A case whose float results are kept as sums when they have more than 36 elements."""
    outputs = outputs if isinstance(outputs, (list, tuple)) else [outputs]
    if max(x.size for x in outputs) > 36 and tolerance != EXACT:
        outputs = [Digest(x) for x in outputs]
        tolerance = (tolerance[0] * 10, tolerance[1] * outputs[0].array.size)
    case(op, name, inputs, outputs, numbers, tolerance)


def share(family):
    """Long texts that several rows have become OPS_TEXT rows, and "$k" where they stood."""
    uses = collections.Counter(text for row in rows for field in (0, 2) for text in row[2][field].split(";"))
    shared = [text for text, count in uses.items() if count > 1 and len(text) > 40]
    names = {text: f"${k}" for k, text in enumerate(shared)}
    for row in rows:
        for field in (0, 2):
            row[2][field] = ";".join(names.get(text, text) for text in row[2][field].split(";"))
    return shared


def write(family):
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), f"ops_{family}_golden.h")
    with open(path, "w") as file:
        file.write("/* Written by make_ops_golden.py; do not edit. Rows of OPS_TEXT and OPS_GOLDEN, see tests/unit/ops_case.h. */\n")
        for text in share(family):
            file.write(f"OPS_TEXT({literal(text)})\n")
        for op, name, fields, tolerance in rows:
            body = ", ".join(literal(field) for field in fields)
            row = f'OPS_GOLDEN("{op}", "{name}", {body}, {tolerance[0]:g}, {tolerance[1]:g})\n'
            file.write(row if len(row) < 128 else row.replace('", ', '",\n    '))
    print(f"{path}: {len(rows)} cases, {os.path.getsize(path)} bytes")
    rows.clear()


def array(values, dtype=f32, shape=None):
    x = np.array(values, dtype=dtype)
    return x if shape is None else x.reshape(shape)


def arr(x):
    return x.array if isinstance(x, Pattern) else x


def t(x):
    return torch.from_numpy(np.ascontiguousarray(arr(x)).copy())


def t64(x):
    return t(x).double()


def n(x, dtype=f32):
    return x.detach().numpy().astype(dtype)


SPECIAL = array([nan, inf, -inf, -0.0, 0.0, 1, -1, 0.5, -0.5, 1.5, 2.5, -1.5, -2.5, 3.5, 1e30, -1e30, 1e-30, 7.25, -3.75, 0.1])
I32 = array([0, 1, -1, 7, -7, 3, 2147483647, -2147483648], i32)
I64 = array([0, -1, 7, -7, 9007199254740993, -9223372036854775808], i64)
U8 = array([0, 1, 7, 100, 200, 255], u8)
BOOL = array([0, 1, 1, 0, 1], b8)


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
        whole = [0 if np.isnan(v) else info.max if v >= info.max else info.min if v <= info.min else int(v) for v in x.astype(f64)]
        return np.array(whole, dtype)
    return x.astype(dtype)


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
        case(op, "f64", [a.astype(f64), b.astype(f64)], n(function(t64(a), t64(b)), f64), tolerance=(3e-16, 1e-300))
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
             n(function(t64(Pattern(f32, (1, 2, 1, 2, 1, 2, 1, 3), 1)), t64(Pattern(f32, (2, 1, 1, 2, 1, 1, 1, 3), 2)))),
             tolerance=(3e-7, 0))
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
            case(op, f"{name} with itself", [values, values], function(values, values))
            if name == "bool":
                case(f"{op}_scalar", f"{name} 1", values, function(values, True), (1,))
                continue
            case(f"{op}_scalar", f"{name} 1", values, function(values, 1), (1,))
        x, y = Pattern(f32, (3, 1, 4), 2), Pattern(f32, (1, 5, 4), 3)
        case(op, "f32 broadcast", [x, y], function(x.array, y.array))
        case(op, "empty", [np.zeros((0, 3), i64), np.zeros((1, 3), i64)], np.zeros((0, 3), b8))
        x = Pattern(f32, (71, 130), 4)
        case(f"{op}_scalar", "f32 many", x, Digest(function(x.array, f32(0.52))), (0.52,), (1e-12, 1e-6))
        case(f"{op}_scalar", "f32 NaN", some, function(some, nan), (nan,))


def repeated(x, shape):
    """Equal values along axes: the test then also makes the input by expand, with strides of 0."""
    return np.ascontiguousarray(np.broadcast_to(x, shape))


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
        case(op, "i64 2^63", array([0, 9223372036854775807, -9223372036854775808], i64), function(array([0, 1, -1], f64), 2), (9223372036854775808,))


def elementwise():
    fractional()
    expanded()
    unary()
    casts()
    binary()
    scalar()
    compare()
    write("elementwise")


# -- reductions ----------------------------------------------------------------------------------------------------------------

def int_mean(total, count):
    return np.array([0 if count == 0 else abs(int(v)) // count * (1 if v >= 0 else -1) for v in total.reshape(-1)]).reshape(total.shape)


def first_index(x, dim, largest):
    """Lowest index of the largest or smallest; NaN wins."""
    work = x.astype(f64) if np.issubdtype(x.dtype, np.floating) else x
    if np.issubdtype(x.dtype, np.floating):
        work = np.where(np.isnan(work), inf if largest else -inf, work)
        has = np.isnan(x).any(axis=dim, keepdims=True)
        work = np.where(has, np.where(np.isnan(x), 1.0, 0.0), work if largest else -work)
        return np.expand_dims(np.argmax(work, axis=dim), dim).astype(i64)
    return np.expand_dims(np.argmax(work, axis=dim) if largest else np.argmin(work, axis=dim), dim).astype(i64)


def reduce_floats():
    special = array([[[nan, 1, 2, 3], [4, inf, -inf, 5], [2, 7, 7, -1]], [[0.0, -0.0, 0.0, -0.0], [-inf, -inf, 1, 1], [inf, 3, inf, 3]]])
    inputs = {"f32": Pattern(f32, (2, 3, 4), 7), "f64": Pattern(f64, (3, 2, 5), 9), "f32 special": special}
    for name, x in inputs.items():
        dtype = arr(x).dtype.type
        bound = (2e-6, 1e-6) if dtype == f32 else (1e-14, 1e-14)
        v = t64(x)
        case("sum", name, x, n(v.sum().reshape(1), dtype), tolerance=bound)
        case("mean", name, x, n(v.mean().reshape(1), dtype), tolerance=bound)
        case("prod", name, x, n(v.prod().reshape(1), dtype), tolerance=(1e-5, 1e-6) if dtype == f32 else bound)
        case("max", name, x, n(v.max().reshape(1), dtype))
        case("min", name, x, n(v.min().reshape(1), dtype))
        case("any", name, x, np.array([arr(x).astype(bool).any()]))
        case("all", name, x, np.array([arr(x).astype(bool).all()]))
        for dim in (0, 1, -1):
            axis = f"{name} dim {dim}"
            case("sum_dim", axis, x, n(v.sum(dim, keepdim=True), dtype), (dim,), bound)
            case("mean_dim", axis, x, n(v.mean(dim, keepdim=True), dtype), (dim,), bound)
            case("prod_dim", axis, x, n(v.prod(dim, keepdim=True), dtype), (dim,), bound)
            case("max_dim", axis, x, n(torch.amax(v, dim, keepdim=True), dtype), (dim,))
            case("min_dim", axis, x, n(torch.amin(v, dim, keepdim=True), dtype), (dim,))
            case("any_dim", axis, x, arr(x).astype(bool).any(axis=dim, keepdims=True), (dim,))
            case("all_dim", axis, x, arr(x).astype(bool).all(axis=dim, keepdims=True), (dim,))
            case("argmax", axis, x, first_index(arr(x), dim, True), (dim,))
            case("argmin", axis, x, first_index(arr(x), dim, False), (dim,))
            for op, largest in (("max_dim_with_indices", True), ("min_dim_with_indices", False)):
                where = first_index(arr(x), dim, largest)
                case(op, axis, x, [np.take_along_axis(arr(x), where, dim), where], (dim,))
            if name != "f32 special":
                case("var", axis, x, n(v.var(dim, unbiased=True, keepdim=True), dtype), (dim,), (1e-5, 1e-6))
                case("var_bias", axis, x, n(v.var(dim, unbiased=False, keepdim=True), dtype), (dim,), (1e-5, 1e-6))
    one = array([[3.0], [4.0]])
    case("var", "one element: 0 / 0", one, array([[nan], [nan]]), (1,))
    case("var_bias", "one element", one, array([[0.0], [0.0]]), (1,), (1e-9, 0))


def reduce_many():
    for shape in ((9, 1031), (1031, 9), (5, 67, 11), (3, 40000)):
        x = Pattern(f32, shape, 5)
        v = t64(x)
        name = "f32 " + "x".join(map(str, shape))
        case("sum", name, x, n(v.sum().reshape(1)), tolerance=(1e-5, 2e-3))
        case("mean", name, x, n(v.mean().reshape(1)), tolerance=(1e-5, 1e-6))
        case("max", name, x, n(v.max().reshape(1)))
        case("min", name, x, n(v.min().reshape(1)))
        case("all", name, x, np.array([x.array.astype(bool).all()]))
        for dim in range(len(shape)):
            case("sum_dim", f"{name} dim {dim}", x, Digest(n(v.sum(dim, keepdim=True))), (dim,), (1e-5, 1e-2))
            case("mean_dim", f"{name} dim {dim}", x, Digest(n(v.mean(dim, keepdim=True))), (dim,), (1e-5, 1e-3))
            case("max_dim", f"{name} dim {dim}", x, Digest(n(torch.amax(v, dim, keepdim=True))), (dim,), (1e-6, 1e-4))
            case("argmin", f"{name} dim {dim}", x, Digest(first_index(x.array, dim, False)), (dim,), (1e-12, 1e-6))
            case("argmax", f"{name} dim {dim}", x, Digest(first_index(x.array, dim, True)), (dim,), (1e-12, 1e-6))


def reduce_ints():
    values = {"i32": array([[2147483647, 1, -7], [-2147483648, -1, 2]], i32), "u8": array([[200, 100, 3], [7, 7, 0]], u8),
              "i64": array([[9007199254740993, 1, -7], [-5, -5, 2]], i64), "bool": array([[1, 0, 1], [1, 1, 1]], b8)}
    for name, x in values.items():
        case("any", name, x, np.array([x.any()]))
        case("all", name, x, np.array([x.all()]))
        for dim in (0, 1, -1):
            case("any_dim", f"{name} dim {dim}", x, x.any(axis=dim, keepdims=True), (dim,))
            case("all_dim", f"{name} dim {dim}", x, x.all(axis=dim, keepdims=True), (dim,))
        if name == "bool":
            continue
        case("sum", f"{name} wraps", x, x.sum(dtype=x.dtype).reshape(1))
        case("prod", f"{name} wraps", x, x.prod(dtype=x.dtype).reshape(1))
        case("max", name, x, x.max().reshape(1))
        case("min", name, x, x.min().reshape(1))
        for dim in (0, 1, -1):
            case("sum_dim", f"{name} dim {dim}", x, x.sum(axis=dim, keepdims=True, dtype=x.dtype), (dim,))
            case("prod_dim", f"{name} dim {dim}", x, x.prod(axis=dim, keepdims=True, dtype=x.dtype), (dim,))
            case("max_dim", f"{name} dim {dim}", x, x.max(axis=dim, keepdims=True), (dim,))
            case("min_dim", f"{name} dim {dim}", x, x.min(axis=dim, keepdims=True), (dim,))
            case("argmax", f"{name} dim {dim}", x, first_index(x, dim, True), (dim,))
            case("argmin", f"{name} dim {dim}", x, first_index(x, dim, False), (dim,))
            where = first_index(x, dim, True)
            case("max_dim_with_indices", f"{name} dim {dim}", x, [np.take_along_axis(x, where, dim), where], (dim,))
    for dtype in (i32, i64):
        x = array([[-7, 2], [-1, -2], [7, 0]], dtype)
        name = NAMES[np.dtype(dtype).name]
        case("mean", f"{name} truncates", x, array([0], dtype))
        case("mean_dim", f"{name} truncates", x, int_mean(x.sum(axis=1, keepdims=True), 2).astype(dtype), (1,))
        case("mean", f"{name} negative", array([-7, 2], dtype), array([-2], dtype))


def reduce_int_means():
    """The mean fits where the sum does not."""
    case("mean", "u8 sum does not fit", array([200, 100], u8), array([150], u8))
    case("mean", "i32 sum does not fit", array([2147483647, 2147483645], i32), array([2147483646], i32))
    case("mean_dim", "i32 sum does not fit", array([[-2147483648, -2147483648]], i32), array([[-2147483648]], i32), (1,))


def reduce_empty():
    for dtype in (f32, i64):
        name = NAMES[np.dtype(dtype).name]
        none = np.zeros((0,), dtype)
        flat = np.zeros((2, 0), dtype)
        mean = nan if dtype == f32 else 0
        case("sum", f"{name} empty", none, np.zeros(1, dtype))
        case("prod", f"{name} empty", none, np.ones(1, dtype))
        case("mean", f"{name} empty", none, np.array([mean], dtype))
        case("any", f"{name} empty", none, np.zeros(1, b8))
        case("all", f"{name} empty", none, np.ones(1, b8))
        case("sum_dim", f"{name} empty axis", flat, np.zeros((2, 1), dtype), (1,))
        case("prod_dim", f"{name} empty axis", flat, np.ones((2, 1), dtype), (1,))
        case("mean_dim", f"{name} empty axis", flat, np.full((2, 1), mean, dtype), (1,))
        case("any_dim", f"{name} empty axis", flat, np.zeros((2, 1), b8), (1,))
        case("all_dim", f"{name} empty axis", flat, np.ones((2, 1), b8), (1,))
        for op in ("sum_dim", "mean_dim", "prod_dim", "max_dim", "min_dim"):
            case(op, f"{name} empty result", flat, np.zeros((1, 0), dtype), (0,))
            case(op, f"{name} both empty", np.zeros((0, 0), dtype), np.zeros((0, 1), dtype), (1,))
        for op in ("argmax", "argmin"):
            case(op, f"{name} empty result", flat, np.zeros((1, 0), i64), (0,))


def reduce_ties():
    ties = array([[1, 3, 3, 2], [-0.0, 0.0, -0.0, 0.0], [nan, 5, nan, 6], [-inf, -inf, -inf, -inf]])
    for dim in (0, 1):
        case("argmax", f"ties dim {dim}", ties, first_index(ties, dim, True), (dim,))
        case("argmin", f"ties dim {dim}", ties, first_index(ties, dim, False), (dim,))


def reduce_expanded():
    x = repeated(array([[[1], [2], [4]]]), (2, 3, 5))
    for dim in (0, 1, 2):
        case("sum_dim", f"expanded dim {dim}", x, x.sum(axis=dim, keepdims=True), (dim,))
        case("max_dim", f"expanded dim {dim}", x, x.max(axis=dim, keepdims=True), (dim,))
        case("argmax", f"expanded dim {dim}", x, first_index(x, dim, True), (dim,))
    case("sum", "expanded", x, x.sum().reshape(1))


def reduce():
    reduce_expanded()
    reduce_floats()
    reduce_many()
    reduce_ints()
    reduce_int_means()
    reduce_empty()
    reduce_ties()
    write("reduce")


# -- creation and shape --------------------------------------------------------------------------------------------------------

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
    for start, end, step in ((0, 5, 1), (-3, 4, 2), (3, 3, 1), (5, 2, 1), (0, 10, 4), (-9007199254740993, -9007199254740990, 1)):
        case("arange", f"{start} to {end} by {step}", None, np.arange(start, end, step, dtype=i64), (start, end, step))


KINDS = {"f32": Pattern(f32, (2, 3, 4), 1).array, "i64": Pattern(i64, (2, 3, 4), 2).array,
         "bool": Pattern(b8, (2, 3, 4), 3).array, "u8": Pattern(u8, (2, 3, 4), 6).array}


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
    for name, x in (("f32", array([[1], [2], [3]])), ("i64", array([[4], [5], [6]], i64)), ("bool", array([[1], [0], [1]], b8))):
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


RANGES = {"leading axis": [(1, END, 1)], "two axes": [(0, 1, 1), (1, 3, 1)], "negative bounds": [(-1, END, 1), (-2, -1, 1), (1, -1, 1)],
          "clamped": [(0, 99, 1), (-99, 2, 1)], "steps": [(0, END, 1), (0, END, 2), (1, 4, 2)],
          "backwards": [(0, END, -1), (0, END, -1), (0, END, -1)], "backwards by two": [(0, END, 1), (0, 3, -2), (0, 4, -3)],
          "empty": [(0, END, 1), (2, 2, 1)], "descending is empty": [(0, 1, 1), (2, 1, 1)], "all": []}


def flat_ranges(ranges):
    return tuple(v for r in ranges for v in r)


def expanded_parts():
    x = repeated(array([[1], [2], [4]]), (3, 4))
    case("cat", "expanded", [x, x], np.concatenate([x, x], 0), (0,))
    case("slice_assign", "expanded", [x, np.zeros((3, 2), f32)], np.concatenate([np.zeros((3, 2), f32), x[:, 2:]], 1), (0, END, 1, 0, 2, 1))
    case("reshape", "expanded", x, x.reshape(2, 6), (2, 6))
    case("repeat_dim", "expanded", x, np.concatenate([x, x], 1), (1, 2))


def parts():
    expanded_parts()
    for name, x in KINDS.items():
        for label, ranges in RANGES.items():
            part = burn_slice(x, ranges)
            case("slice", f"{name} {label}", x, part, flat_ranges(ranges))
            if name == "u8":
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
        case("repeat_dim", name, x, np.concatenate([x, x, x], 1), (1, 3))
        case("repeat_dim", f"{name} last, once", x, x, (-1, 1))
        case("repeat_dim", f"{name} zero times", x, np.zeros((2, 0, 4), x.dtype), (1, 0))
        case("repeat", name, x, np.tile(x, (2, 1, 3)), (2, 1, 3))
        y = x[:, :1]
        for dim, pieces in ((1, [x, y, x]), (-2, [y, x]), (0, [x, x]), (2, [x])):
            case("cat", f"{name} {len(pieces)} along {dim}", pieces, np.concatenate(pieces, dim), (dim,))
        case("cat", f"{name} with an empty one", [x, x[:, :0]], x, (1,))
        for dim in (0, 1, 3, -1, -4):
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


# -- by index and mask -----------------------------------------------------------------------------------------------------------

def index_expanded():
    x, picks = repeated(array([[1], [2], [4]]), (3, 4)), np.ones((3, 4), i64)
    case("gather", "expanded", [x, picks], repeated(array([[2.0, 2, 2, 2]]), (3, 4)), (0,))
    case("scatter_add", "expanded", [x, picks, x], x + np.array([[0], [7], [0]], f32), (0,))
    case("select_add", "expanded", [x, np.ones(3, i64), x], x + np.array([[0], [7], [0]], f32), (0,))
    case("select", "expanded", [x, np.ones(2, i64)], np.full((2, 4), 2, f32), (0,))
    case("mask_fill", "expanded", [x, repeated(array([[1, 0, 0, 1]], b8), (3, 4))], np.where(array([[1, 0, 0, 1]], b8), f32(9), x), (9,))


def index():
    index_expanded()
    for name, x in KINDS.items():
        for index_dtype in (i64, i32):
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
            case("select_add", f"{tail} repeated add up", [x, picks, rows_], out, (1,), (2e-6, 1e-6) if name == "f32" else EXACT)
            values = Pattern(x.dtype.type, (2, 5, 4), 9).array if name != "u8" else np.arange(40, dtype=u8).reshape(2, 5, 4)
            out = x.copy()
            for i in range(2):
                for j in range(5):
                    for k in range(4):
                        out[i, where[i, j, k], k] += values[i, j, k]
            case("scatter_add", f"{tail} repeated add up", [x, where, values], out, (1,), (2e-6, 1e-6) if name == "f32" else EXACT)
            case("scatter_add", f"{tail} no indices", [x, where[:, :0], values[:, :0]], x, (-2,))
        mask = Pattern(i64, (2, 3, 4), 8).array % 3 == 0
        other = np.logical_not(x) if name == "bool" else (x[:, :, ::-1] + 1).astype(x.dtype)
        case("mask_where", name, [x, mask, other], np.where(mask, other, x))
        case("mask_where", f"{name} all three broadcast", [x[:1], mask[:, :1], other[:, :, :1]],
             np.where(mask[:, :1], other[:, :, :1], x[:1]))
        value = 1 if name == "bool" else 7
        case("mask_fill", name, [x, mask], np.where(mask, np.array(value, x.dtype), x), (value,))
        case("mask_fill", f"{name} mask broadcasts", [x, mask[:1, :, :1]], np.where(mask[:1, :, :1], np.array(value, x.dtype), x), (value,))
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


# -- activations and layers --------------------------------------------------------------------------------------------------------

def activations():
    calm = array([nan, inf, -inf, -0.0, 0.0, 1, -1, 0.5, -0.5, 3, -3, 10, -10, 30, -30, 100, -100, 0.01]).reshape(2, 9)
    table = {"sigmoid": (torch.sigmoid, ()), "gelu": (lambda x: x * (1 + torch.erf(x / 2 ** 0.5)) / 2, ()),
             "silu": (lambda x: x * (1 / (1 + torch.exp(-x))), ()),
             "leaky_relu": (lambda x: torch.where(x < 0, x * 0.1, x), (0.1,))}
    for op, (function, numbers) in table.items():
        case(op, "f32", calm, n(function(t64(calm))), numbers, (3e-6, 3e-6 if op == "gelu" else 1e-37))
        case(op, "f64", calm.astype(f64), n(function(t64(calm)), f64), numbers, (1e-12, 1e-13 if op == "gelu" else 1e-300))
        x = Pattern(f32, (37, 130), 2)
        case(op, "f32 many", x, Digest(n(function(t64(x)))), numbers, (1e-5, 1e-3))
    case("leaky_relu", "slope 0", calm, np.where(calm < 0, calm * f32(0), calm), (0,), (1e-9, 0))
    for name, x in (("f32", calm), ("f64", calm.astype(f64)), ("i32", I32), ("i64", I64), ("u8", U8)):
        case("relu", name, x, np.where(x < 0, x.dtype.type(0), x))
    bounded = array([nan, inf, -inf, 0, 1, -1, 20, -20, 40, -40]).reshape(2, 5)
    for beta in (1, 0.5, 2):
        case("softplus", f"f64 {beta}", bounded.astype(f64), n(torch.log(1 + torch.exp(t64(bounded) * beta)) / beta, f64), (beta,), (1e-12, 1e-13))
        case("softplus", f"f32 {beta}", bounded, n(torch.log(1 + torch.exp(t64(bounded) * beta)) / beta), (beta,), (2e-6, 2e-7))
    case("softplus", "f32 overflows to infinity", array([100, 89, -100]), array([inf, inf, 0]), (1,), (1e-6, 1e-30))
    inputs = {"f32": Pattern(f32, (2, 3, 4), 3), "f64": Pattern(f64, (2, 3, 4), 5),
              "f32 large": array([[1000, 1001, 999], [-1000, -1001, -1002]]),
              "f32 infinite": array([[0, -inf, 1], [inf, 0, 1], [nan, 0, 1], [-inf, -inf, -inf]])}
    for name, x in inputs.items():
        bound = (1e-12, 1e-13) if name == "f64" else (3e-6, 1e-6)
        dims = (-1,) if name == "f32 infinite" else (0, 1, -1)
        for dim in dims:
            case("softmax", f"{name} dim {dim}", x, n(torch.softmax(t64(x), dim), arr(x).dtype), (dim,), bound)
            case("log_softmax", f"{name} dim {dim}", x, n(torch.log_softmax(t64(x), dim), arr(x).dtype), (dim,), bound)
    for shape in ((33, 100), (100, 33), (4, 1030)):
        x = Pattern(f32, shape, 6)
        for dim in (0, 1):
            case("softmax", f"f32 {shape} dim {dim}", x, Digest(n(torch.softmax(t64(x), dim))), (dim,), (1e-5, 1e-3))
            case("log_softmax", f"f32 {shape} dim {dim}", x, Digest(n(torch.log_softmax(t64(x), dim))), (dim,), (1e-5, 1e-2))
    case("softmax", "empty axis", np.zeros((2, 0), f32), np.zeros((2, 0), f32), (1,))
    case("log_softmax", "no rows", np.zeros((0, 3), f32), np.zeros((0, 3), f32), (1,))
    grad, out = Pattern(f32, (2, 12), 1).array, array([nan, 0, -0.0, 1e-30, 2, inf] * 4).reshape(2, 12)
    case("relu_backward", "grad where the output is positive", [grad, out], np.where(out > 0, grad, f32(0)), tolerance=(1e-9, 0))


def products():
    cases = {"f32": (f32, (3, 4), (4, 5)), "f64": (f64, (2, 7), (7, 3)), "i32": (i32, (3, 4), (4, 2)), "i64": (i64, (1, 5), (5, 1)),
             "f32 batch": (f32, (2, 3, 4), (2, 4, 2)), "f32 batch broadcast": (f32, (2, 1, 2, 3), (1, 3, 3, 2)),
             "f32 one row": (f32, (1, 9), (9, 7)), "f32 one column": (f32, (6, 9), (9, 1)), "u8": (u8, (2, 3), (3, 2))}
    for name, (dtype, left, right) in cases.items():
        a, b = Pattern(dtype, left, 1), Pattern(dtype, right, 4)
        if dtype == u8:
            a, b = np.arange(6, dtype=u8).reshape(left) * 30, np.arange(6, dtype=u8).reshape(right) + 2
        exact = np.issubdtype(dtype, np.integer)
        expected = np.matmul(arr(a).astype(i64 if exact else f64), arr(b).astype(i64 if exact else f64)).astype(dtype)
        case("matmul", name, [a, b], expected, tolerance=EXACT if exact else (3e-6, 1e-5) if dtype == f32 else (1e-13, 1e-13))
    x = repeated(array([[1], [2], [4]]), (3, 4))
    case("matmul", "f32 expanded inputs", [x, repeated(array([[1, -1, 3]]), (4, 3))], x @ repeated(array([[1, -1, 3]]), (4, 3)), tolerance=(1e-6, 0))
    case("softmax", "expanded", x, np.full((3, 4), 0.25, f32), (1,), (1e-6, 0))
    case("conv2d", "expanded input", [x.reshape(1, 1, 3, 4), np.ones((1, 1, 2, 2), f32), None], array([[[[6, 6, 6], [12, 12, 12]]]]),
         (1, 1, 0, 0, 1, 1, 1), (1e-6, 0))
    case("matmul", "i32 wraps", [array([[2147483647, 2]], i32), array([[3], [1]], i32)], array([[2147483647]], i32))
    case("matmul", "f32 NaN and infinity", [array([[nan, 1], [inf, 0], [0, 1]]), array([[1, 0], [0, 1]])],
         n(t64(array([[nan, 1], [inf, 0], [0, 1]])) @ t64(array([[1, 0], [0, 1]]))))
    case("matmul", "f32 no inner elements", [np.zeros((2, 0), f32), np.zeros((0, 3), f32)], np.zeros((2, 3), f32))
    case("matmul", "f32 no rows", [np.zeros((0, 4), f32), np.ones((4, 3), f32)], np.zeros((0, 3), f32))
    for m, k, width in ((65, 130, 33), (1, 257, 300), (200, 3, 190), (17, 64, 512)):
        a, b = Pattern(f32, (m, k), 1), Pattern(f32, (k, width), 2)
        case("matmul", f"f32 {m}x{k}x{width}", [a, b], Digest(n(t64(a) @ t64(b))), tolerance=(1e-5, 0.2))
    a, b = Pattern(f32, (5, 33, 20), 1), Pattern(f32, (1, 20, 40), 2)
    case("matmul", "f32 batch of 5 on one", [a, b], Digest(n(t64(a) @ t64(b))), tolerance=(1e-5, 0.05))
    for shape in ((3,), (2, 3), (2, 2, 3)):
        x, weight, bias = Pattern(f32, shape, 1), Pattern(f32, (3, 4), 2), Pattern(f32, (4,), 3)
        case("linear", f"rank {len(shape)}", [x, weight, bias], n(t64(x) @ t64(weight) + t64(bias)), tolerance=(3e-6, 1e-5))
        case("linear", f"rank {len(shape)}, no bias", [x, weight, None], n(t64(x) @ t64(weight)), tolerance=(3e-6, 1e-5))


CONVS = (  # x, out channels, kernel, stride, padding, dilation, groups, bias
    ((1, 1, 4, 4), 1, (3, 3), (1, 1), (0, 0), (1, 1), 1, False), ((2, 3, 5, 6), 4, (3, 2), (1, 1), (1, 1), (1, 1), 1, True),
    ((1, 2, 7, 7), 2, (3, 3), (2, 2), (1, 1), (1, 1), 1, True), ((1, 4, 6, 5), 4, (2, 2), (1, 2), (0, 1), (2, 1), 2, True),
    ((2, 3, 5, 5), 6, (3, 3), (2, 1), (2, 0), (1, 2), 3, False), ((1, 3, 4, 4), 5, (1, 1), (1, 1), (0, 0), (1, 1), 1, True),
    ((1, 2, 3, 3), 2, (3, 3), (1, 1), (2, 2), (1, 1), 1, True), ((1, 1, 9, 3), 1, (4, 1), (3, 1), (2, 0), (1, 1), 1, False))


def conv_numbers(stride, padding, dilation, groups):
    return (*stride, *padding, *dilation, groups)


def convolutions():
    for count, (shape, out, kernel, stride, padding, dilation, groups, has_bias) in enumerate(CONVS):
        for dtype in (f32, f64) if count == 1 else (f32,):
            x, weight = Pattern(dtype, shape, 1), Pattern(dtype, (out, shape[1] // groups, *kernel), 2)
            bias = Pattern(dtype, (out,), 3) if has_bias else None
            bound = (3e-6, 2e-5) if dtype == f32 else (1e-13, 1e-13)
            vx, vw = t64(x).requires_grad_(), t64(weight).requires_grad_()
            y = F.conv2d(vx, vw, t64(bias) if has_bias else None, stride, padding, dilation, groups)
            name = f"{NAMES[np.dtype(dtype).name]} case {count}"
            numbers = conv_numbers(stride, padding, dilation, groups)
            big_case("conv2d", name, [x, weight, bias], n(y, dtype), numbers, bound)
            grad = Pattern(dtype, tuple(y.shape), 4)
            y.backward(t64(grad))
            big_case("conv2d_weight_backward", name, [x, grad], n(vw.grad, dtype), (*numbers, *weight.array.shape), (3e-6, 5e-5))
    for groups, shape, out in ((1, (2, 3, 8), 4), (2, (1, 4, 9), 2)):
        x, weight, bias = Pattern(f32, shape, 1), Pattern(f32, (out, shape[1] // groups, 3), 2), Pattern(f32, (out,), 3)
        for stride, padding, dilation in ((1, 0, 1), (2, 1, 1), (1, 2, 2)):
            y = F.conv1d(t64(x), t64(weight), t64(bias), stride, padding, dilation, groups)
            name = f"groups {groups} stride {stride} padding {padding} dilation {dilation}"
            big_case("conv1d", name, [x, weight, bias], n(y), (stride, padding, dilation, groups), (3e-6, 2e-5))
            y = F.conv1d(t64(x), t64(weight), None, stride, padding, dilation, groups)
            big_case("conv1d", name + ", no bias", [x, weight, None], n(y), (stride, padding, dilation, groups), (3e-6, 2e-5))
    transposed = (((1, 1, 3, 3), 1, (3, 3), (1, 1), (0, 0), (0, 0), (1, 1), 1, False), ((2, 3, 4, 3), 2, (3, 2), (2, 2), (1, 0), (1, 1), (1, 1), 1, True),
                  ((1, 4, 3, 3), 6, (2, 2), (2, 1), (0, 1), (0, 0), (1, 2), 2, True), ((1, 2, 2, 5), 2, (3, 3), (3, 2), (1, 2), (2, 1), (1, 1), 1, True))
    for count, (shape, out, kernel, stride, padding, padding_out, dilation, groups, has_bias) in enumerate(transposed):
        x, weight = Pattern(f32, shape, 1), Pattern(f32, (shape[1], out // groups, *kernel), 2)
        bias = Pattern(f32, (out,), 3) if has_bias else None
        y = F.conv_transpose2d(t64(x), t64(weight), t64(bias) if has_bias else None, stride, padding, padding_out, groups, dilation)
        big_case("conv_transpose2d", f"case {count}", [x, weight, bias], n(y), (*conv_numbers(stride, padding, dilation, groups), *padding_out), (3e-6, 2e-5))
    x, weight = Pattern(f32, (2, 16, 30, 30), 1), Pattern(f32, (24, 16, 3, 3), 2)
    for stride, padding in ((1, 1), (2, 0)):
        y = F.conv2d(t64(x), t64(weight), None, stride, padding)
        case("conv2d", f"many, stride {stride}", [x, weight, None], Digest(n(y)), conv_numbers((stride,) * 2, (padding,) * 2, (1, 1), 1), (1e-5, 1.0))


def windows(size, kernel, stride, padding, dilation, ceil):
    room = size + 2 * padding - dilation * (kernel - 1) - 1
    return (room + (stride - 1 if ceil else 0)) // stride + 1


def pool(x, kernel, stride, padding, dilation, ceil, average=None):
    """Every window of Burn's count, also those that PyTorch drops because they start beyond the input."""
    b, c, h, w = x.shape
    oh, ow = (windows(size, *rest, ceil) for size, *rest in zip((h, w), kernel, stride, padding, dilation))
    out, where = np.full((b, c, oh, ow), -inf), np.zeros((b, c, oh, ow), i64)
    for i, j in np.ndindex(oh, ow):
        taps = [(i * stride[0] - padding[0] + a * dilation[0], j * stride[1] - padding[1] + d * dilation[1]) for a, d in np.ndindex(*kernel)]
        inside = [(y, z) for y, z in taps if 0 <= y < h and 0 <= z < w]
        padded = [(y, z) for y, z in taps if -padding[0] <= y < h + padding[0] and -padding[1] <= z < w + padding[1]]
        for p, q in np.ndindex(b, c):
            if average is not None:
                count = len(padded) if average else len(inside)
                out[p, q, i, j] = sum(x[p, q, y, z] for y, z in inside) / count if count else 0
                continue
            best = None
            for y, z in inside:
                value = x[p, q, y, z]
                if best is None or (np.isnan(value) and not np.isnan(best[0])) or value > best[0]:
                    best = (value, y * w + z)
            if best:
                out[p, q, i, j], where[p, q, i, j] = best
    return out, where


def pools():
    special = Pattern(f32, (1, 2, 5, 5), 1).array.copy()
    special[0, 0, 2, 2], special[0, 1, 1, 1], special[0, 1, 0, :] = nan, inf, -inf
    settings = (((2, 2), (2, 2), (0, 0), (1, 1), 0), ((3, 2), (1, 1), (1, 1), (1, 1), 0), ((2, 2), (2, 2), (0, 0), (1, 1), 1),
                ((3, 3), (2, 2), (1, 1), (1, 1), 1), ((2, 2), (1, 2), (0, 1), (2, 2), 0), ((2, 3), (2, 3), (1, 0), (2, 1), 1))
    for name, x in (("f32", Pattern(f32, (1, 2, 5, 6), 3)), ("f32 special", special), ("f64", Pattern(f64, (1, 1, 4, 6), 2))):
        for kernel, stride, padding, dilation, ceil in settings:
            out, where = pool(arr(x), kernel, stride, padding, dilation, ceil)
            numbers = (*kernel, *stride, *padding, *dilation, ceil, 1)
            label = f"{name} kernel {kernel} stride {stride} padding {padding} dilation {dilation} ceil {ceil}"
            dtype = arr(x).dtype
            big_case("max_pool2d", label, x, out.astype(dtype), numbers)
            big_case("max_pool2d_with_indices", label, x, [out.astype(dtype), where], numbers)
            if name == "f32" and not ceil:
                grad = Pattern(f32, out.shape, 5)
                back = np.zeros((1, 2, 30))
                for p, q in np.ndindex(1, 2):
                    np.add.at(back[p, q], where[p, q].reshape(-1), grad.array[p, q].reshape(-1))
                big_case("max_pool2d_backward", label, [grad, where], back.reshape(1, 2, 5, 6).astype(f32), (1, 2, 5, 6), (3e-6, 1e-5))
            if dilation != (1, 1):
                continue
            for include in (1, 0):
                out, _ = pool(arr(x).astype(f64), kernel, stride, padding, dilation, ceil, include)
                big_case("avg_pool2d", f"{label} include {include}", x, out.astype(dtype), (*numbers[:-1], include), (3e-6, 1e-6))
                if name != "f32":
                    continue
                grad, v = Pattern(f32, out.shape, 5), t64(x).requires_grad_()
                if not ceil:
                    F.avg_pool2d(v, kernel, stride, padding, False, bool(include)).backward(t64(grad))
                    big_case("avg_pool2d_backward", f"{label} include {include}", grad, n(v.grad), (1, 2, 5, 6, *kernel, *stride, *padding, include), (3e-6, 1e-5))
    x = Pattern(f32, (1, 2, 5, 6), 3)
    for size in ((1, 1), (2, 3), (5, 6), (3, 4), (7, 8)):
        v = t64(x).requires_grad_()
        y = F.adaptive_avg_pool2d(v, size)
        big_case("adaptive_avg_pool2d", f"{size}", x, n(y), size, (3e-6, 1e-6))
        grad = Pattern(f32, tuple(y.shape), 5)
        y.backward(t64(grad))
        big_case("adaptive_avg_pool2d_backward", f"{size}", grad, n(v.grad), (1, 2, 5, 6), (3e-6, 1e-5))


def norms_and_losses():
    for shape in ((4,), (2, 3), (2, 3, 5), (7, 130)):
        x, gamma, beta = Pattern(f32, shape, 1), Pattern(f32, shape[-1:], 2), Pattern(f32, shape[-1:], 3)
        for label, last in (("", beta), (", no beta", None)):
            y = F.layer_norm(t64(x), shape[-1:], t64(gamma), t64(last) if last else None, 1e-5)
            case("layer_norm", f"{shape}{label}", [x, gamma, last], Digest(n(y)) if shape[0] == 7 else n(y), (1e-5,), (1e-5, 1e-2 if shape[0] == 7 else 1e-5))
    x, targets = Pattern(f32, (4, 5), 1), array([0, 4, 2, 2], i64)
    for dtype in (i64, i32):
        case("cross_entropy", NAMES[np.dtype(dtype).name], [x, targets.astype(dtype)], n(F.cross_entropy(t64(x), torch.from_numpy(targets)).reshape(1)), tolerance=(2e-6, 1e-6))
    x = array([[1000, 0], [-1000, 1000]])
    case("cross_entropy", "large logits", [x, array([1, 0], i64)], array([1500]), tolerance=(1e-6, 1e-6))
    x = Pattern(f64, (3, 4), 2)
    case("cross_entropy", "f64", [x, targets[1:] % 4], n(F.cross_entropy(t64(x), torch.from_numpy(targets[1:] % 4)).reshape(1), f64), tolerance=(1e-13, 1e-13))
    case("dropout", "probability 0", Pattern(f32, (3, 4), 1), Pattern(f32, (3, 4), 1).array, (0,))
    case("dropout", "probability 1 gives NaN", array([1, -2, 0]), array([nan, nan, nan]), (1,))
    for label, decay, penalty in (("plain", 1, 0), ("decay", 0.9, 0), ("penalty", 1, 0.1)):
        for dtype in (f32, f64):
            p, g, m, v = (Pattern(dtype, (3, 5), k) for k in (1, 2, 3, 4))
            v = np.abs(v.array)
            grad = g.array.astype(f64) + penalty * p.array.astype(f64)
            m1 = 0.9 * m.array.astype(f64) + 0.1 * grad
            m2 = 0.99 * v.astype(f64) + 0.01 * grad ** 2
            out = p.array.astype(f64) * decay - 0.05 * m1 / (np.sqrt(m2) + 1e-5)
            case("adam_step", f"{NAMES[np.dtype(dtype).name]} {label}", [p, g, m, v], [out.astype(dtype), m1.astype(dtype), m2.astype(dtype)],
                 (0.9, 0.99, 0.05, 1e-5, decay, penalty), (3e-6, 1e-6) if dtype == f32 else (1e-12, 1e-13))


def layers():
    activations()
    products()
    convolutions()
    pools()
    norms_and_losses()
    write("layers")


if __name__ == "__main__":
    elementwise()
    reduce()
    shape()
    index()
    layers()
