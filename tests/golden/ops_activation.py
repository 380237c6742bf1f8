"""Golden rows of activations beyond relu, sigmoid, gelu, silu, softplus and softmax (those are in ops_layers.py)."""
from ops_golden import *

CALM = array([nan, inf, -inf, -0.0, 0.0, 1, -1, 0.5, -0.5, 3, -3, 10, -10, 30, -30, 100, -100, 0.01, 1e-4, -1e-4]).reshape(2,
                                                                                                                           10)


def smooth():
    def gelu_approximate(x):
        return x * (1 + torch.tanh((2 / np.pi) ** 0.5 * (x + 0.044715 * x ** 3))) / 2

    def expm1_below(x, scale, divisor, slope=1.0):
        return torch.where(x > 0, slope * x, scale * torch.expm1(x.clamp(max=0) / divisor))

    near = 3e-6  # of the functions that cancel digits
    table = (("gelu_approximate", gelu_approximate, (), near), ("log_sigmoid", F.logsigmoid, (), 1e-37),
             ("hard_sigmoid", lambda x: (0.2 * x + 0.5).clamp(0, 1), (0.2, 0.5), near),
             ("hard_sigmoid", lambda x: (-1.5 * x + 0.25).clamp(0, 1), (-1.5, 0.25), near),
             ("hard_swish", lambda x: x * (x / 6 + 0.5).clamp(0, 1), (), near),
             ("mish", lambda x: x * torch.tanh(torch.log1p(torch.exp(x))), (), 1e-37),
             ("elu", lambda x: expm1_below(x, 1, 1), (1,), 1e-37), ("elu", lambda x: expm1_below(x, 0.3, 1), (0.3,), 1e-37),
             ("celu", lambda x: expm1_below(x, 1, 1), (1,), 1e-37), ("celu", lambda x: expm1_below(x, 2.5, 2.5), (2.5,), 1e-37),
             ("celu", lambda x: expm1_below(x, -0.5, -0.5), (-0.5,), 1e-5),
             ("selu", lambda x: expm1_below(x, 1.6732632423543772 * 1.0507009873554805, 1, 1.0507009873554805), (), 1e-37),
             ("softsign", lambda x: x / (1 + x.abs()), (), 1e-37), ("tanhshrink", lambda x: x - torch.tanh(x), (), near))
    for op, function, numbers, bound in table:
        label = " ".join(map(str, numbers))
        x = CALM[:, :8] if numbers == (-0.5,) else CALM  # the exponential of a positive number leaves the range of f32
        case(op, f"f32 {label}", x, n(function(t64(x))), numbers, (3e-6, bound))
        case(op, f"f64 {label}", x.astype(f64), n(function(t64(x.astype(f64))), f64), numbers,
             (1e-12, 1e-14 if bound > 1e-30 else 1e-300))
        x = Pattern(f32, (37, 130), 2)
        case(op, f"f32 many {label}", x, Digest(n(function(t64(x)))), numbers, (1e-5, 1e-3))
        case(op, f"empty {label}", np.zeros((2, 0), f32), np.zeros((2, 0), f32), numbers)
    case("log_sigmoid", "f32 is not rounded to 0 or -infinity", array([20, 80, -200]), array([-2.061153618e-9,
                                                                                              -1.8048513879e-35, -200]),
         (), (1e-6, 0))
    case("elu", "f32 keeps the digits of small numbers", array([-1e-6, -1e-10]), array([-9.999995e-7, -1e-10]), (1,), (1e-6, 0))


def piecewise():
    for name, x in (("f32", CALM), ("f64", CALM.astype(f64)), ("f32 ordinary", Pattern(f32, (3, 5), 4).array)):
        zero = x.dtype.type(0)
        for theta, value in ((0.5, 20), (-1, 0), (0, -0.25)):
            case("threshold", f"{name} {theta} {value}", x, np.where(x <= theta, x.dtype.type(value), x), (theta, value))
        for alpha in (1, -0.5):
            case("thresholded_relu", f"{name} {alpha}", x, np.where(x <= alpha, zero, x), (alpha,))
        for bound in (0.5, 1, 0):
            case("hard_shrink", f"{name} {bound}", x, np.where(np.abs(x) <= bound, zero, x), (bound,))
            exact = x.astype(f64)
            for bias in (0.5, 0.25, -1):
                expected = np.where(np.abs(exact) <= bound, 0, exact - bias * np.sign(exact)).astype(x.dtype)
                case("shrink", f"{name} {bound} {bias}", x, expected, (bound, bias), (1e-6, 1e-7))
                if bias == bound:
                    case("soft_shrink", f"{name} {bound}", x, expected, (bound,), (1e-6, 1e-7))
        for low, high in ((-1, 1), (0, 6), (-2.5, 0.5)):
            expected = np.where(x < low, x.dtype.type(low), np.where(x > high, x.dtype.type(high), x))
            case("hardtanh", f"{name} {low} {high}", x, expected, (low, high))
    for label, shape, count in (("one number", (2, 3, 4), 1), ("per channel", (2, 3, 4), 3), ("per channel of rank 2", (4, 3),
                                                                                              3),
                                ("vector", (5,), 1), ("one channel", (2, 1, 3), 1)):
        for dtype in (f32, f64):
            x, alpha = Pattern(dtype, shape, 1), Pattern(dtype, (count,), 5)
            wide = alpha.array.reshape([count if i == 1 else 1 for i in range(len(shape))])
            case("prelu", f"{NAMES[np.dtype(dtype).name]} {label}", [x, alpha], np.where(x.array < 0, x.array * wide, x.array),
                 tolerance=(1e-6, 0))
    case("prelu", "NaN, infinity and zeros", [CALM, array([0.25])], np.where(CALM < 0, CALM * f32(0.25), CALM),
         tolerance=(1e-6, 0))


def along_an_axis():
    for name, x in (("f32", Pattern(f32, (2, 6, 4), 3)), ("f64", Pattern(f64, (4, 2, 6), 5))):
        bound = (1e-12, 1e-13) if name == "f64" else (3e-6, 1e-6)
        for dim in (0, 1, -1):
            case("glu", f"{name} dim {dim}", x, n(F.glu(t64(x), dim), arr(x).dtype), (dim,), bound)
    case("glu", "empty axis", np.zeros((3, 0), f32), np.zeros((3, 0), f32), (1,))
    inputs = {"f32": Pattern(f32, (2, 3, 4), 3), "f64": Pattern(f64, (2, 3, 4), 5),
              "f32 large": array([[1000, 1001, 999], [-1000, -1001, -1002]]),
              "f32 infinite": array([[0, -inf, 1], [inf, 0, 1], [nan, 0, 1], [-inf, -inf, -inf]])}
    for name, x in inputs.items():
        bound = (1e-12, 1e-13) if name == "f64" else (3e-6, 1e-6)
        dims = (0, 1, -1) if name == "f32" else (0, 1) if name == "f32 large" else (-1,)
        for dim in dims:
            case("softmin", f"{name} dim {dim}", x, n(torch.softmax(-t64(x), dim), arr(x).dtype), (dim,), bound)
            # Burn shifts the 1 as well: e^(x - m) / (e^-m + sum of e^(x - m)).
            most = torch.amax(t64(x), dim, keepdim=True)
            grown = torch.exp(t64(x) - most)
            case("quiet_softmax", f"{name} dim {dim}", x, n(grown / (torch.exp(-most) + grown.sum(dim, keepdim=True)), arr(x).dtype),
                 (dim,), bound)
    case("quiet_softmax", "Burn's values", array([[1, 7], [13, -3]]), array([[2.47e-3, 0.99662], [1, 1.1254e-7]]), (1,), (5e-4, 0))
    for op in ("softmin", "quiet_softmax"):
        case(op, "empty axis", np.zeros((2, 0), f32), np.zeros((2, 0), f32), (1,))
        case(op, "no rows", np.zeros((0, 3), f32), np.zeros((0, 3), f32), (1,))


def activation():
    smooth()
    piecewise()
    along_an_axis()
    write("activation")
