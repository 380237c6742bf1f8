"""ops_golden.py - what the scripts of golden rows share: test patterns, tensors as text, the rows and how they are written."""
import collections
import math
import os
import numpy as np
import torch
import torch.nn.functional as F

np.seterr(all="ignore")
NAMES = {"float32": "f32", "float64": "f64", "int32": "i32", "int64": "i64", "uint8": "u8", "bool": "bool"}
f32, f64, i32, i64, u8, b8 = np.float32, np.float64, np.int32, np.int64, np.uint8, np.bool_
nan, inf = float("nan"), float("inf")
EXACT, F32, F64 = (0, 0), (1e-6, 1e-37), (1e-13, 1e-300)
F64_NEAR = (1e-12, 1e-13)
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


class Signed:
    """An input whose NaNs keep their sign in the text."""

    def __init__(self, array):
        self.array = array
        self.text = " ".join([head(array)] + ["-nan" if np.isnan(v) and np.signbit(v) else number(v) for v in array.reshape(-1)])


class Typed:
    """A tensor of a dtype by name: NumPy has no bf16. The numbers are what the dtype holds."""

    def __init__(self, dtype, numbers):
        self.numbers = list(numbers)
        self.text = " ".join([f"{dtype}[{len(self.numbers)}]"] + [number(v) for v in self.numbers])


def half(dtype, x):
    """x as f16 or bf16: nearest, ties to even, too large becomes infinite."""
    mantissa, least, beyond = (10, -14, 65536.0) if dtype == "f16" else (7, -126, 2.0 ** 128)
    x = float(x)
    if x == 0 or not math.isfinite(x):
        return x
    unit = 2.0 ** (max(math.frexp(x)[1] - 1, least) - mantissa)
    rounded = round(x / unit) * unit  # dividing by a power of two is exact; round() takes halves to even
    return math.copysign(inf if abs(rounded) >= beyond else abs(rounded), x)


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
    if isinstance(x, (Pattern, Signed, Typed)):
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
    if tolerance == EXACT or isinstance(x, (Pattern, Digest, Typed)) or not np.issubdtype(x.dtype, np.floating):
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
    """Long texts that several rows have become TEXT rows, and "$k" where they stood."""
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
        file.write("/* Written by make_ops_golden.py; do not edit. Rows of TEXT and CASE, see tests/support/ops_case.h. */\n")
        for text in share(family):
            file.write(f"TEXT({literal(text)})\n")
        for op, name, fields, tolerance in rows:
            body = ", ".join(literal(field) for field in fields)
            row = f'CASE("{op}", "{name}", {body}, {tolerance[0]:g}, {tolerance[1]:g})\n'
            file.write(row if len(row) < 128 else row.replace('", ', '",\n    '))
    print(f"{path}: {len(rows)} cases, {os.path.getsize(path)} bytes")
    rows.clear()


def array(values, dtype=f32, shape=None):
    x = np.array(values, dtype=dtype)
    return x if shape is None else x.reshape(shape)


def arr(x):
    return x.array if isinstance(x, (Pattern, Signed)) else x


def t(x):
    return torch.from_numpy(np.ascontiguousarray(arr(x)).copy())


def t64(x):
    return t(x).double()


def name_of(dtype):
    return NAMES[np.dtype(dtype).name]


def n(x, dtype=f32):
    return x.detach().numpy().astype(dtype)


def gradients_of(function, inputs, *grads):
    """What PyTorch hands back for each input from the gradients of the results."""
    leaves = [t64(x).requires_grad_() for x in inputs]
    results = function(*leaves)
    torch.autograd.backward(results if len(grads) > 1 else [results], [t64(grad) for grad in grads])
    return [leaf.grad for leaf in leaves]


SPECIAL = array([nan, inf, -inf, -0.0, 0.0, 1, -1, 0.5, -0.5, 1.5, 2.5, -1.5, -2.5, 3.5, 1e30, -1e30, 1e-30, 7.25, -3.75, 0.1])
I32 = array([0, -1, 7, -7, 2147483647, -2147483648], i32)
I64 = array([0, -1, 7, -7, 9007199254740993, -9223372036854775808], i64)
U8 = array([0, 1, 7, 100, 200, 255], u8)
BOOL = array([0, 1, 1, 0, 1], b8)


def repeated(x, shape):
    """Equal values along axes: the test then also makes the input by expand, with strides of 0."""
    return np.ascontiguousarray(np.broadcast_to(x, shape))


KINDS = {"f32": Pattern(f32, (2, 3, 4), 1).array, "i64": Pattern(i64, (2, 3, 4), 2).array,
         "bool": Pattern(b8, (2, 3, 4), 3).array, "u8": Pattern(u8, (2, 3, 4), 6).array}
