"""Golden rows of angles, hyperbolic functions, whole powers, bits, tests of floats and closeness."""
from ops_golden import *
from ops_elementwise import pairs

INTEGERS = (("i32", i32), ("i64", i64), ("u8", u8))
SOME = array([nan, inf, -inf, -0.0, 0.0, 1, -2.5, 1e30])


def wrapped(values, dtype):
    """Python's integers with the bits that do not fit cut off."""
    info = np.iinfo(dtype)
    return np.array([(int(v) - info.min) % (1 << info.bits) + info.min for v in values], dtype)


def function(op, torch_function, values, f32_tolerance=(2e-6, 1e-37), f64_tolerance=(1e-13, 1e-300)):
    for dtype, bound in ((f32, f32_tolerance), (f64, f64_tolerance)):
        x = array(values, dtype).reshape(2, -1)
        case(op, f"{NAMES[np.dtype(dtype).name]} special values", x, n(torch_function(t64(x)), dtype), tolerance=bound)
    case(op, "empty", np.zeros((2, 0), f32), np.zeros((2, 0), f32))


def functions():
    calm = [nan, inf, -inf, -0.0, 0.0, 1, -1, 0.5, -0.5, 1.5, -1.5, 3, -3, 1e-6, 10, -10]
    domain = [nan, inf, -inf, -0.0, 0.0, 1, -1, 0.5, -0.5, 0.999, -0.999, 1e-6, 1.001, -1.001, 3, -7]
    function("tan", torch.tan, calm + [1e6, -100])
    function("sinh", torch.sinh, calm + [80, -100, 800, 1e-3])
    function("cosh", torch.cosh, calm + [80, -100, 800, 1e-3])
    function("asin", torch.asin, domain)
    function("acos", torch.acos, domain, (2e-6, 1e-7), (1e-13, 1e-15))
    function("atan", torch.atan, calm + [1e30, -1e30])
    function("asinh", torch.asinh, calm + [1e30, -1e30])
    function("acosh", torch.acosh, domain + [1.5, 10, 1e30, 2])
    function("atanh", torch.atanh, domain)
    for op in ("tan", "sinh", "asin", "atan", "asinh", "atanh", "trunc", "deg2rad", "rad2deg"):
        case(op, "f32 zeros keep their sign", array([0.0, -0.0]), array([0.0, -0.0]))
    big = Pattern(f32, (67, 131), 3)
    for op, torch_function in (("sinh", torch.sinh), ("atan", torch.atan), ("trunc", torch.trunc), ("rad2deg", torch.rad2deg)):
        case(op, "f32 many", big, Digest(n(torch_function(t64(big)))), tolerance=(1e-5, 1e-2))
    halves = [nan, inf, -inf, -0.0, 0.4, -0.4, 1.5, -1.5, 2.999999, -2.999999, 8388609, 1e30]
    function("trunc", torch.trunc, halves, EXACT, EXACT)
    degrees = [nan, inf, -inf, 0.0, 45, 90, -180, 360, 1e-30, 7.25]
    function("deg2rad", torch.deg2rad, degrees, (3e-7, 1e-37), (1e-15, 1e-300))
    function("rad2deg", torch.rad2deg, degrees, (3e-7, 1e-37), (1e-15, 1e-300))


def pairs_of_floats():
    a, b = pairs(SOME)
    case("atan2", "f32 every pair of special values", [a, b], n(torch.atan2(t64(a), t64(b))), tolerance=(1e-6, 1e-37))
    case("hypot", "f32 every pair of special values: infinity wins over NaN", [a, b], np.hypot(a.astype(f64), b).astype(f32),
         tolerance=(3e-7, 0))
    case("hypot", "f32 does not overflow between", [array([3e38, 2e38, 1e-30]), array([3e38, 2e38, 1e-30])],
         array([inf, 2.82842712e38, 1.41421356e-30]), tolerance=(3e-7, 0))
    zeros, signs = array([0.0, -0.0, 0.0, -0.0]), array([0.0, 0.0, 1, 1])
    case("atan2", "f32 zeros keep the sign of lhs", [zeros, signs], zeros)
    some = SOME.astype(f64)
    for op, torch_function in (("atan2", torch.atan2), ("hypot", torch.hypot)):
        x, y = some, np.roll(some, 3)
        case(op, "f64", [x, y], n(torch_function(t64(x), t64(y)), f64), tolerance=(1e-13, 1e-300))
        x, y = Pattern(f32, (3, 1, 4), 2), Pattern(f32, (1, 5, 4), 3)
        case(op, "f32 broadcast", [x, y], Digest(n(torch_function(t64(x), t64(y)))), tolerance=(1e-6, 1e-5))
        x, y = Pattern(f32, (70, 129), 2), Pattern(f32, (70, 1), 8)
        case(op, "f32 many, column", [x, y], Digest(n(torch_function(t64(x), t64(y)))), tolerance=(1e-5, 1e-3))
        case(op, "empty", [np.zeros((0, 2), f32), np.ones((1, 2), f32)], np.zeros((0, 2), f32))
    p, q = pairs(array([nan, inf, -inf, 0.0, -0.0, 7, -7, 2.5, -2.5, 1e30]))
    case("fmod", "f32 has the sign of lhs", [p, q], np.fmod(p.astype(f64), q.astype(f64)).astype(f32))
    case("fmod", "f64 has the sign of lhs", [p.astype(f64), q.astype(f64)], np.fmod(p.astype(f64), q.astype(f64)))
    x, y = array([[5.5], [-5.5]]), array([[2, -2, 3.5]])
    case("fmod", "f32 both broadcast", [x, y], np.fmod(x, y))
    r = array([nan, inf, -inf, 0.0, -0.0, 7, -7, 2.5, 0.75])
    for value in (3, -3, 0.5, -2.5, 0):
        case("fmod_scalar", f"f32 {value}", r, np.fmod(r, f32(value)), (value,))
    for value in (inf, -inf):
        case("fmod_scalar", f"f32 {value} returns x, also where x is infinite", r, r, (value,))
    case("fmod_scalar", "f32 nan", r, np.full_like(r, nan), (nan,))
    case("fmod_scalar", "f64 rank 3", r[:8].astype(f64).reshape(2, 2, 2), np.fmod(r[:8].astype(f64), 3).reshape(2, 2, 2), (3,))


def float_power(x, e):
    """PyTorch's pow of f64 with f64; for exponents that f64 does not hold, the sign by their last bit."""
    if abs(e) > 1 << 53:
        size = n(torch.pow(t64(np.abs(x)), float(e)), f64)
        return np.where(np.signbit(x) & (e % 2 == 1), -size, size)
    return n(torch.pow(t64(x), float(e)), f64)


def int_power(x, e):
    """Negative powers as PyTorch: those of 1 and -1 are whole, others 0."""
    if e >= 0:
        return pow(x, e, 1 << 64)
    return 1 if x == 1 else (-1 if e % 2 else 1) if x == -1 else 0


def powers():
    bases = [nan, inf, -inf, -0.0, 0.0, 1, -1, 2.5, -2.5, 1e30, 1e-30]
    exponents = [0, 1, 2, 3, -1, -2, -3, 31, (1 << 53) + 1, -(1 << 63), (1 << 63) - 1]
    for dtype, bound in ((f32, (1e-6, 1e-37)), (f64, (1e-13, 1e-300))):
        x = array(bases, dtype)
        grid = np.stack([float_power(x.astype(f64), e) for e in exponents]).astype(dtype)
        name = NAMES[np.dtype(dtype).name]
        for i, e in enumerate(exponents):
            case("powi", f"{name} to the {e}", [x, np.full_like(x, e, i64)], grid[i], tolerance=bound)
        case("powi", f"{name} both broadcast, i32", [x.reshape(1, -1), array(exponents[:8], i32, (8, 1))], grid[:8],
             tolerance=bound)
        case("powi", f"{name}, u8", [x, np.arange(len(bases)).astype(u8)],
             np.array([float_power(x[i:i + 1].astype(f64), i)[0] for i in range(len(bases))]).astype(dtype), tolerance=bound)
    for name, dtype in INTEGERS:
        x = wrapped([0, 1, -1, 2, -2, 3, 7, -7, np.iinfo(dtype).max, np.iinfo(dtype).min], dtype)
        for other, exponent_dtype in INTEGERS:
            e = wrapped([0, 1, 2, 3, 8, 31, 63, -1, -2, -3, np.iinfo(exponent_dtype).max, np.iinfo(exponent_dtype).min],
                        exponent_dtype)
            a, b = np.meshgrid(np.arange(len(x)), np.arange(len(e)), indexing="ij")
            a, b = x[a.reshape(-1)], e[b.reshape(-1)]
            case("powi", f"{name} to {other}", [a, b], wrapped([int_power(int(p), int(q)) for p, q in zip(a, b)], dtype))
        for e in (0, 1, 2, 5, 63, -1, -2, (1 << 62) + 1):
            case("powi_scalar", f"{name} to the {e}", x.reshape(2, -1),
                 wrapped([int_power(int(v), e) for v in x], dtype).reshape(2, -1), (e,))
    case("powi", "empty", [np.zeros((0, 3), f32), np.ones((1, 3), i64)], np.zeros((0, 3), f32))
    x = Pattern(f32, (70, 129), 2)
    e = np.arange(129).astype(i32).reshape(1, 129) % 4
    case("powi", "f32 many, i32 row", [x, e], Digest(n(torch.pow(t64(x), t64(e)))), tolerance=(1e-5, 1e-3))
    y = Pattern(i64, (70, 129), 4)
    case("powi", "i64 many, u8 row", [y, e.astype(u8)], Digest(y.array ** e.astype(i64)), tolerance=(1e-12, 1e-6))
    for e in (0, 1, 2, 3, -1, -2, 5, -3):
        x = array(bases)
        case("powi_scalar", f"f32 to the {e}", x, float_power(x.astype(f64), e).astype(f32), (e,), (3e-6, 1e-37))
    case("powi_scalar", "f64 to the 7", x.astype(f64), float_power(x.astype(f64), 7), (7,), (1e-13, 1e-300))


def shifted(x, count, width, left):
    out = count < 0 or count >= width
    if left:
        return 0 if out else x << count
    return (-1 if x < 0 else 0) if out else x >> count


def bits():
    for name, dtype in INTEGERS:
        info = np.iinfo(dtype)
        x = wrapped([0, 1, -1, 7, -7, 100, 0x5555555555555555, info.max, info.min], dtype)
        a, b = pairs(x)
        case("bitwise_not", name, x, ~x)
        case("bitwise_and", name, [a, b], a & b)
        case("bitwise_or", name, [a, b], a | b)
        case("bitwise_xor", name, [a, b], a ^ b)
        case("bitwise_and", f"{name} both broadcast", [x.reshape(-1, 1), x.reshape(1, -1)], x.reshape(-1, 1) & x.reshape(1, -1))
        counts = np.unique(wrapped([0, 1, 3, 7, 8, 31, 32, 63, 64, -1, -2, info.max, info.min], dtype))
        a, b = np.meshgrid(x, counts, indexing="ij")
        for op, left in (("bitwise_left_shift", True), ("bitwise_right_shift", False)):
            expected = wrapped([shifted(int(p), int(q), info.bits, left) for p, q in zip(a.reshape(-1), b.reshape(-1))], dtype)
            case(op, f"{name}, counts of every size", [a, b], expected.reshape(a.shape))
            case(op, f"{name} broadcast", [x.reshape(-1, 1), counts.reshape(1, -1)], expected.reshape(a.shape))
            for count in (0, 1, 7, 31, 32, 63, 64, 256, 1 << 40, -1, -(1 << 63)):
                case(f"{op}_scalar", f"{name} by {count}", x.reshape(3, 3),
                     wrapped([shifted(int(v), count, info.bits, left) for v in x], dtype).reshape(3, 3), (count,))
        for value in (0, 5, -1, 255, 0x7fffffffffffffff, 0x0123456789abcdef):
            one = wrapped([value], dtype)
            case("bitwise_and_scalar", f"{name} {value}", x.reshape(3, 3), (x & one).reshape(3, 3), (value,))
            case("bitwise_or_scalar", f"{name} {value}", x.reshape(3, 3), (x | one).reshape(3, 3), (value,))
            case("bitwise_xor_scalar", f"{name} {value}", x, x ^ one, (value,))
    case("bitwise_xor", "empty", [np.zeros((0, 3), i64), np.zeros((1, 3), i64)], np.zeros((0, 3), i64))
    case("bitwise_not", "empty", np.zeros((0,), u8), np.zeros((0,), u8))
    x, y = Pattern(i32, (70, 129), 2), Pattern(i32, (1, 129), 8)
    case("bitwise_and", "i32 many, row", [x, y], Digest(x.array & y.array), tolerance=(1e-12, 1e-6))


def tests():
    x = array([nan, inf, -inf, -0.0, 0.0, 1, -1e30, 3.4e38, 1e-45, 2])
    for dtype in (f32, f64):
        y = x.astype(dtype).reshape(2, 5)
        name = NAMES[np.dtype(dtype).name]
        case("is_nan", name, y, np.isnan(y))
        case("is_inf", name, y, np.isinf(y))
        case("is_finite", name, y, np.isfinite(y))
        case("contains_nan", f"{name} yes", y, array([1], b8))
        case("contains_nan", f"{name} no", y[:, 1:], array([0], b8))
    for op in ("is_nan", "is_inf", "is_finite"):
        case(op, "empty", np.zeros((0, 2), f32), np.zeros((0, 2), b8))
    case("contains_nan", "empty", np.zeros((0, 2), f32), array([0], b8))
    big = Pattern(f32, (67, 131), 3)
    case("is_finite", "f32 many", big, Digest(np.isfinite(big.array)), tolerance=(1e-12, 1e-6))


def whole_close(a, b, rtol, atol):
    return np.array([abs(int(p) - int(q)) <= atol + rtol * abs(int(q)) for p, q in zip(a, b)], b8)


def closeness():
    defaults = (1e-5, 1e-8)
    a, b = pairs(array([nan, inf, -inf, 0.0, -0.0, 1, 1.000001, 1.0001, 1e-9, -1, 3e38, -3e38]))
    for name, x, y in (("f32", a, b), ("f64", a.astype(f64), b.astype(f64))):
        for rtol, atol in (defaults, (0, 0), (1e-3, 0), (0, 2.5)):
            close = n(torch.isclose(t(x), t(y), rtol, atol), b8)
            case("is_close", f"{name}, every pair, {rtol} {atol}", [x, y], close, (rtol, atol))
    case("is_close", "f32 the tolerance is that of rhs", [array([100.0, 90.5]), array([90.5, 100.0])], array([0, 1], b8),
         (0.1, 0))
    case("is_close", "f32 both broadcast", [array([[1], [2]]), array([[1, 2, inf]])], array([[1, 0, 0], [0, 1, 0]], b8),
         defaults)
    case("is_close", "f32 an infinite tolerance makes finite distances close",
         [array([1, inf, nan, inf]), array([9, 1, 1, inf])], array([1, 0, 0, 1], b8), (0, inf))
    for name, dtype in INTEGERS:
        x, y = pairs(wrapped([0, 1, 3, -3, 100, 200000, 200001, np.iinfo(dtype).max, np.iinfo(dtype).min], dtype))
        for rtol, atol in (defaults, (0, 0), (0, 2), (0.01, 0)):
            case("is_close", f"{name}, every pair, {rtol} {atol}", [x, y], whole_close(x, y, rtol, atol), (rtol, atol))
    case("all_close", "f32 yes", [array([[1, 2], [inf, 0]]), array([[1.000001, 2], [inf, 1e-9]])], array([1], b8), defaults)
    case("all_close", "f32 one is not", [array([[1, 2], [3, 0]]), array([[1, 2], [3.1, 0]])], array([0], b8), defaults)
    case("all_close", "f32 NaN", [array([1, nan]), array([1, nan])], array([0], b8), defaults)
    case("all_close", "empty", [np.zeros((0, 2), f32), np.zeros((0, 2), f32)], array([1], b8), defaults)
    case("all_close", "i64", [array([5, 6], i64), array([5, 7], i64)], array([0], b8), defaults)


def reversed_scalars():
    x = array([nan, inf, -inf, -0.0, 0.0, 1, -2.5, 1e-30, 7, 3])
    for dtype, bound in ((f32, (3e-7, 1e-37)), (f64, (3e-16, 1e-300))):
        y = x.astype(dtype).reshape(2, 5)
        for value in (2.5, 0, -1):
            name = f"{NAMES[np.dtype(dtype).name]} {value}"
            case("scalar_sub", name, y, n(value - t64(y), dtype), (value,), bound)
            case("scalar_div", name, y, (value / y.astype(f64)).astype(dtype), (value,), bound)
    for name, dtype in INTEGERS:
        y = wrapped([0, 1, 3, -3, 100, np.iinfo(dtype).max, np.iinfo(dtype).min], dtype)
        case("scalar_sub", f"{name} wraps", y, wrapped([7 - int(v) for v in y], dtype), (7,))
        case("scalar_div", f"{name} truncates, by zero is 0", y,
             wrapped([0 if v == 0 else abs(100 // abs(int(v))) * (1 if v > 0 else -1) for v in y], dtype), (100,))
    case("scalar_sub", "f32 zeros", array([0.0, -0.0]), array([0.0, 0.0]), (0,))


def elementwise_math():
    functions()
    pairs_of_floats()
    powers()
    bits()
    tests()
    closeness()
    reversed_scalars()
    write("elementwise_math")
