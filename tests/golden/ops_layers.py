"""Golden rows of activations, products, convolutions, pools, norms, losses and optimizer steps."""
from ops_golden import *


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
    case("softmax", "empty axis", np.zeros((2, 0), f32), np.zeros((2, 0), f32), (1,))
    case("log_softmax", "no rows", np.zeros((0, 3), f32), np.zeros((0, 3), f32), (1,))
    grad, out = Pattern(f32, (2, 12), 1).array, array([nan, 0, -0.0, 1e-30, 2, inf] * 4).reshape(2, 12)
    case("relu_backward", "grad where the output is positive", [grad, out], np.where(out > 0, grad, f32(0)),
         tolerance=(1e-9, 0))


def products():
    cases = {"f32": (f32, (3, 4), (4, 5)), "f64": (f64, (2, 7), (7, 3)), "i32": (i32, (3, 4), (4, 2)),
             "i64": (i64, (1, 5), (5, 1)),
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
    case("matmul", "f32 expanded inputs", [x, repeated(array([[1, -1, 3]]), (4, 3))], x @ repeated(array([[1, -1, 3]]), (4, 3)),
         tolerance=(1e-6, 0))
    case("softmax", "expanded", x, np.full((3, 4), 0.25, f32), (1,), (1e-6, 0))
    case("conv2d", "expanded input", [x.reshape(1, 1, 3, 4), np.ones((1, 1, 2, 2), f32), None],
         array([[[[6, 6, 6], [12, 12, 12]]]]),
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
            big_case("conv2d_weight_backward", name, [x, grad], n(vw.grad, dtype), (*numbers, *weight.array.shape),
                     (3e-6, 5e-5))
    for groups, shape, out in ((1, (2, 3, 8), 4), (2, (1, 4, 9), 2)):
        x, weight, bias = Pattern(f32, shape, 1), Pattern(f32, (out, shape[1] // groups, 3), 2), Pattern(f32, (out,), 3)
        for stride, padding, dilation in ((1, 0, 1), (2, 1, 1), (1, 2, 2)):
            y = F.conv1d(t64(x), t64(weight), t64(bias), stride, padding, dilation, groups)
            name = f"groups {groups} stride {stride} padding {padding} dilation {dilation}"
            big_case("conv1d", name, [x, weight, bias], n(y), (stride, padding, dilation, groups), (3e-6, 2e-5))
        y = F.conv1d(t64(x), t64(weight), None, 1, 0, 1, groups)
        big_case("conv1d", f"groups {groups}, no bias", [x, weight, None], n(y), (1, 0, 1, groups), (3e-6, 2e-5))
    transposed = (((1, 1, 3, 3), 1, (3, 3), (1, 1), (0, 0), (0, 0), (1, 1), 1, False),
                  ((2, 3, 4, 3), 2, (3, 2), (2, 2), (1, 0), (1, 1), (1, 1), 1, True),
                  ((1, 4, 3, 3), 6, (2, 2), (2, 1), (0, 1), (0, 0), (1, 2), 2, True), ((1, 2, 2, 5), 2, (3, 3), (3, 2), (1, 2),
                                                                                       (2, 1), (1, 1), 1, True))
    for count, (shape, out, kernel, stride, padding, padding_out, dilation, groups, has_bias) in enumerate(transposed):
        x, weight = Pattern(f32, shape, 1), Pattern(f32, (shape[1], out // groups, *kernel), 2)
        bias = Pattern(f32, (out,), 3) if has_bias else None
        y = F.conv_transpose2d(t64(x), t64(weight), t64(bias) if has_bias else None, stride, padding, padding_out, groups,
                               dilation)
        big_case("conv_transpose2d", f"case {count}", [x, weight, bias], n(y),
                 (*conv_numbers(stride, padding, dilation, groups), *padding_out), (3e-6, 2e-5))
    x, weight = Pattern(f32, (2, 16, 30, 30), 1), Pattern(f32, (24, 16, 3, 3), 2)
    for stride, padding in ((1, 1), (2, 0)):
        y = F.conv2d(t64(x), t64(weight), None, stride, padding)
        case("conv2d", f"many, stride {stride}", [x, weight, None], Digest(n(y)),
             conv_numbers((stride,) * 2, (padding,) * 2, (1, 1), 1), (1e-5, 1.0))


def windows(size, kernel, stride, padding, dilation, ceil):
    room = size + 2 * padding - dilation * (kernel - 1) - 1
    return (room + (stride - 1 if ceil else 0)) // stride + 1


def pool(x, kernel, stride, padding, dilation, ceil, average=None):
    """Every window of Burn's count, also those that PyTorch drops because they start beyond the input."""
    b, c, h, w = x.shape
    oh, ow = (windows(size, *rest, ceil) for size, *rest in zip((h, w), kernel, stride, padding, dilation))
    out, where = np.full((b, c, oh, ow), -inf), np.zeros((b, c, oh, ow), i64)
    for i, j in np.ndindex(oh, ow):
        taps = [(i * stride[0] - padding[0] + a * dilation[0], j * stride[1] - padding[1] + d * dilation[1]) for a,
                d in np.ndindex(*kernel)]
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
    for name, x in (("f32", Pattern(f32, (1, 2, 5, 6), 3)), ("f32 special", special), ("f64", Pattern(f64, (1, 1, 4, 5), 2))):
        for count, (kernel, stride, padding, dilation, ceil) in enumerate(settings):
            out, where = pool(arr(x), kernel, stride, padding, dilation, ceil)
            numbers = (*kernel, *stride, *padding, *dilation, ceil, 1)
            label = f"{name} setting {count}"
            dtype = arr(x).dtype
            big_case("max_pool2d", label, x, out.astype(dtype), numbers)
            big_case("max_pool2d_with_indices", label, x, [out.astype(dtype), where], numbers)
            if name == "f32" and not ceil:
                grad = Pattern(f32, out.shape, 5)
                back = np.zeros((1, 2, 30))
                for p, q in np.ndindex(1, 2):
                    np.add.at(back[p, q], where[p, q].reshape(-1), grad.array[p, q].reshape(-1))
                big_case("max_pool2d_backward", label, [grad, where], back.reshape(1, 2, 5, 6).astype(f32), (1, 2, 5, 6),
                         (3e-6, 1e-5))
            if dilation != (1, 1):
                continue
            for include in (1, 0):
                out, _ = pool(arr(x).astype(f64), kernel, stride, padding, dilation, ceil, include)
                big_case("avg_pool2d", f"{label} count_include_pad {include}", x, out.astype(dtype), (*numbers[:-1], include),
                         (3e-6, 1e-6))
                if name != "f32":
                    continue
                grad, v = Pattern(f32, out.shape, 5), t64(x).requires_grad_()
                if not ceil:
                    F.avg_pool2d(v, kernel, stride, padding, False, bool(include)).backward(t64(grad))
                    big_case("avg_pool2d_backward", f"{label} count_include_pad {include}", grad, n(v.grad),
                             (1, 2, 5, 6, *kernel, *stride, *padding, include), (3e-6, 1e-5))
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
            case("layer_norm", f"{shape}{label}", [x, gamma, last], Digest(n(y)) if shape[0] == 7 else n(y), (1e-5,),
                 (1e-5, 1e-2 if shape[0] == 7 else 1e-5))
    x, targets = Pattern(f32, (4, 5), 1), array([0, 4, 2, 2], i64)
    for dtype in (i64, i32):
        case("cross_entropy", NAMES[np.dtype(dtype).name], [x, targets.astype(dtype)],
             n(F.cross_entropy(t64(x), torch.from_numpy(targets)).reshape(1)), tolerance=(2e-6, 1e-6))
    x = array([[1000, 0], [-1000, 1000]])
    case("cross_entropy", "large logits", [x, array([1, 0], i64)], array([1500]), tolerance=(1e-6, 1e-6))
    x = Pattern(f64, (3, 4), 2)
    case("cross_entropy", "f64", [x, targets[1:] % 4], n(F.cross_entropy(t64(x), torch.from_numpy(targets[1:] % 4)).reshape(1),
                                                         f64), tolerance=(1e-13, 1e-13))
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
            case("adam_step", f"{NAMES[np.dtype(dtype).name]} {label}", [p, g, m, v],
                 [out.astype(dtype), m1.astype(dtype), m2.astype(dtype)],
                 (0.9, 0.99, 0.05, 1e-5, decay, penalty), (3e-6, 1e-6) if dtype == f32 else (1e-12, 1e-13))
    for label, velocity, momentum, dampening, nesterov, penalty in (
            ("plain", None, 0, 0, 0, 0), ("penalty", None, 0, 0, 0, 0.1), ("first velocity, nesterov", None, 0.9, 0.1, 1, 0),
            ("momentum", 3, 0.9, 0.1, 0, 0), ("nesterov, penalty", 3, 0.8, 0, 1, 0.1)):
        for dtype in (f32, f64):
            p, g = Pattern(dtype, (3, 5), 1), Pattern(dtype, (3, 5), 2)
            v = Pattern(dtype, (3, 5), velocity) if velocity else None
            grad = g.array.astype(f64) + penalty * p.array.astype(f64)
            new = (1 - dampening) * grad + momentum * v.array.astype(f64) if velocity else grad
            out = p.array.astype(f64) - 0.05 * (momentum * new + grad if nesterov else new)
            case("sgd_step", f"{NAMES[np.dtype(dtype).name]} {label}", [p, g, v], [out.astype(dtype), new.astype(dtype)],
                 (0.05, momentum, dampening, nesterov, penalty), (3e-6, 1e-6) if dtype == f32 else (1e-12, 1e-13))


def layers():
    activations()
    products()
    convolutions()
    pools()
    norms_and_losses()
    write("layers")
