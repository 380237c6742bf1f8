"""Golden rows of activations, dropout, and the ops behind their gradient rules."""
from ops_golden import *


def of_layers():
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
        case("softplus", f"f64 {beta}", bounded.astype(f64), n(torch.log(1 + torch.exp(t64(bounded) * beta)) / beta, f64),
             (beta,), (1e-12, 1e-13))
        case("softplus", f"f32 {beta}", bounded, n(torch.log(1 + torch.exp(t64(bounded) * beta)) / beta), (beta,), (2e-6, 2e-7))
    case("softplus", "f32 overflows to infinity", array([100, 89, -100]), array([inf, inf, 0]), (1,), (1e-6, 1e-30))
    inputs = {"f32": Pattern(f32, (2, 3, 4), 3), "f64": Pattern(f64, (2, 3, 4), 5),
              "f32 large": array([[1000, 1001, 999], [-1000, -1001, -1002]]),
              "f32 infinite": array([[0, -inf, 1], [inf, 0, 1], [nan, 0, 1], [-inf, -inf, -inf]])}
    for name, x in inputs.items():
        bound = (1e-12, 1e-13) if name == "f64" else (3e-6, 1e-6)
        dims = (0, 1, -1) if name == "f32" else (0, 1) if name == "f32 large" else (-1,)
        for dim in dims:
            case("softmax", f"{name} dim {dim}", x, n(torch.softmax(t64(x), dim), arr(x).dtype), (dim,), bound)
            case("log_softmax", f"{name} dim {dim}", x, n(torch.log_softmax(t64(x), dim), arr(x).dtype), (dim,), bound)
    for shape in ((33, 100), (100, 33), (4, 1030)):
        x = Pattern(f32, shape, 6)
        for dim in (0, 1):
            case("softmax", f"f32 {shape} dim {dim}", x, Digest(n(torch.softmax(t64(x), dim))), (dim,), (1e-5, 1e-3))
            case("log_softmax", f"f32 {shape} dim {dim}", x, Digest(n(torch.log_softmax(t64(x), dim))), (dim,), (1e-5, 1e-2))
    x = repeated(array([[1], [2], [4]]), (3, 4))
    case("softmax", "expanded", x, np.full((3, 4), 0.25, f32), (1,), (1e-6, 0))
    case("softmax", "empty axis", np.zeros((2, 0), f32), np.zeros((2, 0), f32), (1,))
    case("log_softmax", "no rows", np.zeros((0, 3), f32), np.zeros((0, 3), f32), (1,))
    grad, out = Pattern(f32, (2, 12), 1).array, array([nan, 0, -0.0, 1e-30, 2, inf] * 4).reshape(2, 12)
    case("relu_backward", "grad where the output is positive", [grad, out], np.where(out > 0, grad, f32(0)),
         tolerance=(1e-9, 0))


def dropouts():
    case("dropout", "probability 0", Pattern(f32, (3, 4), 1), Pattern(f32, (3, 4), 1).array, (0,))
    case("dropout", "probability 1 gives NaN", array([1, -2, 0]), array([nan, nan, nan]), (1,))


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


def gelu_gradients():
    x = array([-0.0, 0, 1, -1, 0.5, -0.5, 3, -3, 4, -4, 0.01, 20]).reshape(3, 4)
    for dtype, bound in ((f32, (3e-6, 1e-6)), (f64, F64_NEAR)):
        point, grad = x.astype(dtype), Pattern(dtype, (3, 4), 2)
        case("gelu_backward", name_of(dtype), [grad, point], n(gradients_of(F.gelu, [point], grad)[0], dtype), tolerance=bound)
    grad, x = Pattern(f32, (37, 130), 1), Pattern(f32, (37, 130), 2)
    case("gelu_backward", "f32 many", [grad, x], Digest(n(gradients_of(F.gelu, [x], grad)[0])), tolerance=(1e-5, 1e-3))
    far = array([[100, -100, nan, 40]])
    case("gelu_backward", "far out", [np.ones((1, 4), f32), far], array([[1, 0, nan, 1]]), tolerance=(1e-6, 1e-30))


def softmax_gradients():
    table = {"softmax_backward": (torch.softmax, torch._softmax_backward_data),
             "log_softmax_backward": (torch.log_softmax, torch._log_softmax_backward_data)}
    for op, (function, backward) in table.items():
        for shape, dtype in (((2, 3, 4), f32), ((2, 5), f64), ((1, 1), f32), ((5,), f32)):
            grad = Pattern(dtype, shape, 4)
            for dim in range(len(shape)):
                output = function(t64(Pattern(dtype, shape, 3)), dim)
                case(op, f"{name_of(dtype)} {shape} dim {dim}", [grad, n(output, dtype)],
                     n(backward(t64(grad), t(n(output, dtype)).double(), dim, torch.float64), dtype), (dim,),
                     (3e-6, 3e-6) if dtype == f32 else F64_NEAR)
        # The formula holds for any output, so that patterns stand for long ones.
        for shape in ((33, 100), (100, 33), (4, 1030), (3, 2, 530), (2, 70, 3)):
            grad, output = Pattern(f32, shape, 1), Pattern(f32, shape, 6)
            for dim in range(len(shape)):
                expected = backward(t64(grad), t64(output), dim, torch.float64)
                case(op, f"f32 {shape} dim {dim}", [grad, output], Digest(n(expected)), (dim,), (1e-5, 0.5))
        empty = np.zeros((2, 0), f32)
        case(op, "empty axis", [empty, empty], empty, (1,))
        case(op, "no rows", [empty.T.copy(), empty.T.copy()], empty.T.copy(), (1,))


def activation():
    of_layers()
    dropouts()
    smooth()
    piecewise()
    along_an_axis()
    gelu_gradients()
    softmax_gradients()
    write("activation")
