"""Golden rows of the further layers: volumes, windows as columns, resampling, attention, norms, ctc_loss."""
from ops_golden import *

NEAR, NEAR64 = (3e-6, 3e-5), (1e-12, 1e-12)


def bound(dtype):
    return NEAR if dtype == f32 else NEAR64


# x, out channels, kernel, stride, padding, dilation, groups, bias
VOLUMES = (
    ((1, 1, 3, 3, 3), 1, (2, 2, 2), (1, 1, 1), (0, 0, 0), (1, 1, 1), 1, False),
    ((2, 2, 4, 3, 5), 3, (2, 3, 2), (2, 1, 2), (1, 1, 0), (1, 1, 2), 1, True),
    ((1, 4, 4, 4, 3), 6, (3, 1, 2), (1, 2, 1), (2, 0, 1), (2, 1, 1), 2, True),
    ((1, 2, 2, 2, 2), 2, (2, 3, 4), (1, 1, 3), (1, 2, 4), (1, 1, 1), 1, True),
    ((0, 1, 3, 3, 3), 1, (2, 2, 2), (1, 1, 1), (0, 0, 0), (1, 1, 1), 1, False))


def volumes():
    for count, (shape, out, kernel, stride, padding, dilation, groups, has_bias) in enumerate(VOLUMES):
        for dtype in (f32, f64) if count == 1 else (f32,):
            x, weight = Pattern(dtype, shape, 1), Pattern(dtype, (out, shape[1] // groups, *kernel), 2)
            bias = Pattern(dtype, (out,), 3) if has_bias else None
            name = f"{NAMES[np.dtype(dtype).name]} case {count}"
            y = F.conv3d(t64(x), t64(weight), t64(bias) if has_bias else None, stride, padding, dilation, groups)
            big_case("conv3d", name, [x, weight, bias], n(y, dtype), (*stride, *padding, *dilation, groups), bound(dtype))
    # x, out channels, kernel, stride, padding, padding_out, dilation, groups, bias
    transposed = (
        ((1, 1, 2, 2, 2), 1, (2, 2, 2), (1, 1, 1), (0, 0, 0), (0, 0, 0), (1, 1, 1), 1, False),
        ((2, 3, 2, 3, 2), 2, (3, 2, 2), (2, 1, 2), (1, 0, 1), (1, 0, 1), (1, 2, 1), 1, True),
        ((1, 4, 3, 2, 2), 6, (2, 2, 1), (1, 2, 3), (0, 1, 0), (0, 0, 2), (2, 1, 1), 2, True))
    for count, (shape, out, kernel, stride, padding, more, dilation, groups, has_bias) in enumerate(transposed):
        for dtype in (f32, f64) if count == 1 else (f32,):
            x, weight = Pattern(dtype, shape, 1), Pattern(dtype, (shape[1], out // groups, *kernel), 2)
            bias = Pattern(dtype, (out,), 3) if has_bias else None
            vb = t64(bias) if has_bias else None
            y = F.conv_transpose3d(t64(x), t64(weight), vb, stride, padding, more, groups, dilation)
            big_case("conv_transpose3d", f"{NAMES[np.dtype(dtype).name]} case {count}", [x, weight, bias], n(y, dtype),
                     (*stride, *padding, *dilation, groups, *more), bound(dtype))
    x = Pattern(f32, (1, 2, 4, 5, 3), 3)
    for size in ((1, 1, 1), (2, 3, 2), (4, 5, 3), (5, 7, 4)):
        big_case("adaptive_avg_pool3d", f"{size}", x, n(F.adaptive_avg_pool3d(t64(x), size)), size, (3e-6, 1e-6))


def sides():
    """Padding that differs per side, and the forms along one axis."""
    x, weight, bias = Pattern(f32, (1, 2, 5, 4), 1), Pattern(f32, (3, 2, 3, 2), 2), Pattern(f32, (3,), 3)
    for begin, end in (((1, 0), (0, 2)), ((0, 3), (2, 1)), ((1, 1), (1, 1)), ((0, 0), (4, 5))):
        padded = F.pad(t64(x), (begin[1], end[1], begin[0], end[0]))
        big_case("conv2d_asymmetric", f"{begin} {end}", [x, weight, bias], n(F.conv2d(padded, t64(weight), t64(bias), (2, 1))),
                 (2, 1, *begin, *end), NEAR)
    x, weight, bias = Pattern(f32, (2, 2, 7), 1), Pattern(f32, (3, 2, 3), 2), Pattern(f32, (3,), 3)
    for begin, end in ((2, 0), (0, 3), (1, 1)):
        y = F.conv1d(F.pad(t64(x), (begin, end)), t64(weight), t64(bias), 2)
        big_case("conv1d_asymmetric", f"{begin} {end}", [x, weight, bias], n(y), (2, begin, end), NEAR)
    x, weight, bias = Pattern(f32, (2, 4, 5), 1), Pattern(f32, (4, 3, 3), 2), Pattern(f32, (6,), 3)
    for stride, padding, more, dilation in ((1, 0, 0, 1), (2, 1, 1, 1), (3, 2, 1, 2)):
        y = F.conv_transpose1d(t64(x), t64(weight), t64(bias), stride, padding, more, 2, dilation)
        big_case("conv_transpose1d", f"stride {stride} padding {padding}", [x, weight, bias], n(y),
                 (stride, padding, dilation, 2, more), NEAR)


def last_window(x, kernel, stride, padding, dilation):
    """Padding at the end so that ceil_mode, without PyTorch's rule, sees whole windows: its size, and what to append."""
    room = x.shape[-1] + 2 * padding - dilation * (kernel - 1) - 1
    size = -(-room // stride) + 1
    return size, (size - 1) * stride + dilation * (kernel - 1) + 1 - x.shape[-1] - padding


def pools():
    x = Pattern(f32, (2, 2, 9), 1).array.copy()
    x[0, 1, 3] = nan
    settings = ((2, 2, 0, 1, 0), (3, 1, 1, 1, 0), (3, 2, 1, 2, 0), (2, 3, 1, 1, 1), (2, 3, 0, 1, 1))
    for kernel, stride, padding, dilation, ceil in settings:
        size, after = last_window(x, kernel, stride, padding, dilation)
        if not ceil:
            after = padding
        wide = F.pad(t64(x), (padding, max(after, 0)), value=-inf)
        out, where = F.max_pool1d(wide, kernel, stride, 0, dilation, return_indices=True)
        out, where = n(out), (where.numpy() - padding).astype(i64)
        numbers = (kernel, stride, padding, dilation, ceil, 1)
        case("max_pool1d", f"{numbers}", x, out, numbers)
        if np.all(np.isfinite(out) | np.isnan(out)):
            case("max_pool1d_with_indices", f"{numbers}", x, [out, where], numbers)
        if dilation == 1 and not ceil:
            for include in (0, 1):
                y = F.avg_pool1d(t64(x), kernel, stride, padding, False, bool(include))
                case("avg_pool1d", f"{numbers} include {include}", x, n(y), (*numbers[:-1], include), (3e-6, 1e-6))
    for size in (1, 4, 9, 11):
        case("adaptive_avg_pool1d", f"{size}", x, n(F.adaptive_avg_pool1d(t64(x), size)), (size,), (3e-6, 1e-6))


COLUMNS = (((2, 3), (1, 1), (0, 0), (1, 1)), ((2, 2), (2, 1), (1, 2), (1, 2)), ((3, 1), (1, 3), (2, 0), (2, 1)),
           ((4, 5), (1, 1), (0, 0), (1, 1)))


def columns():
    x = Pattern(f32, (2, 3, 4, 5), 1)
    special = x.array.copy()
    special[0, 0, 1, 1], special[1, 2, 3, 4], special[0, 1, 0, 0] = nan, inf, -inf
    for kernel, stride, padding, dilation in COLUMNS:
        numbers = (*kernel, *stride, *padding, *dilation)
        for name, value in (("f32", x), ("special", special), ("f64", Pattern(f64, (1, 2, 4, 5), 2))):
            y = F.unfold(t(value), kernel, dilation, padding, stride).numpy()
            if y.size <= 400:
                case("unfold4d", f"{name} {kernel}", value, y, numbers)
        y = F.unfold(t64(Pattern(f32, (2, 3, 4, 5), 1)), kernel, dilation, padding, stride)
        for dtype in (f32, f64):
            value = Pattern(dtype, tuple(y.shape), 4)
            big_case("fold4d", f"{NAMES[np.dtype(dtype).name]} {kernel}", value,
                     n(F.fold(t64(value), (4, 5), kernel, dilation, padding, stride), dtype), (4, 5, *numbers), bound(dtype))


def lanczos(x, size, align):
    """Burn: six taps around each position along the last two axes, those outside left out, the weights divided by their sum."""
    for axis, out in ((2, size[0]), (3, size[1])):
        count = x.shape[axis]
        rows = []
        for i in range(out):
            at = (i * (count - 1) / (out - 1) if out > 1 else 0) if align else (i + 0.5) * count / out - 0.5
            total, weights = 0, 0
            for k in range(max(int(np.floor(at)) - 2, 0), min(int(np.floor(at)) + 4, count)):
                d = at - k
                weight = np.sinc(d) * np.sinc(d / 3) if abs(d) < 3 else 0
                total, weights = total + np.take(x, k, axis) * weight, weights + weight
            rows.append(total / weights)
        x = np.stack(rows, axis)
    return x


MODES = ("nearest", "nearest-exact", "bilinear", "bicubic", "lanczos3")


def resampling():
    for dtype, shape in ((f32, (1, 2, 3, 4)), (f64, (1, 1, 4, 2))):
        x = Pattern(dtype, shape, 1)
        for size in ((6, 8), (2, 3), (5, 4), (1, 7), (3, 4)):
            for mode, name in enumerate(MODES):
                for align in (0, 1):
                    if name.startswith("nearest"):
                        y = n(F.interpolate(t64(x), size, mode=name), dtype)
                    elif name == "lanczos3":
                        y = lanczos(x.array.astype(f64), size, align).astype(dtype)
                    else:
                        y = n(F.interpolate(t64(x), size, mode=name, align_corners=bool(align)), dtype)
                    label = f"{name} {NAMES[np.dtype(dtype).name]} {size} align {align}"
                    big_case("interpolate", label, x, y, (*size, mode, align), EXACT if mode < 2 else bound(dtype))
    x = array([[1.5410, -0.2934, -2.1788, 0.5684, -1.0845, -1.3986]]).reshape(1, 1, 1, 6)
    case("interpolate", "lanczos3 of one row", x, lanczos(x.astype(f64), (1, 9), True).astype(f32), (1, 9, 4, 1), bound(f32))
    x = array([0, 1, 2, 3, 4]).reshape(1, 1, 1, 5)  # Burn's values, to four places
    case("interpolate", "lanczos3 near borders", x, array([0, 0.5685, 1.3918, 2, 2.6082, 3.4315, 4]).reshape(1, 1, 1, 7), (1, 7, 4, 1),
         (0, 6e-5))
    x = Pattern(f32, (1, 1, 3, 3), 2).array.copy()
    y = n(F.interpolate(t64(x), (3, 5), mode="bilinear", align_corners=True))
    x[0, 0, 0, 0] = y[0, 0, 0, :2] = inf
    case("interpolate", "bilinear: an infinity stays where it is", x, y, (3, 5, 2, 1), NEAR)


def grids():
    generator = np.random.RandomState(1)
    x = Pattern(f64, (2, 2, 4, 5), 1)
    grid = generator.uniform(-1.6, 1.6, (2, 3, 4, 2))
    grid[0, 0, 0], grid[0, 0, 1], grid[1, 2, 3] = (-1, -1), (1, 1), (0, 0)
    for dtype in (f64, f32):
        for mode, name in enumerate(("bilinear", "nearest", "bicubic")):
            for padding, padding_name in enumerate(("zeros", "border", "reflection")):
                for align in (0, 1):
                    if dtype == f32 and (mode + padding + align) % 3:
                        continue
                    value, at = x.array.astype(dtype), grid.astype(dtype)
                    y = F.grid_sample(t64(value), t64(at), name, padding_name, bool(align))
                    label = f"{NAMES[np.dtype(dtype).name]} {name} {padding_name} align {align}"
                    big_case("grid_sample_2d", label, [value, at], n(y, dtype), (mode, padding, align),
                             (1e-5, 1e-5) if dtype == f32 else (1e-11, 1e-12))
    edge = Pattern(f32, (1, 1, 2, 2), 1).array.copy()
    edge[0, 0, 1, 1] = inf
    at = array([[-1, -1], [inf, 0], [-0.5, -9], [nan, nan]]).reshape(1, 1, 4, 2)
    expected = array([edge[0, 0, 0, 0] / 4, 0, 0, 0]).reshape(1, 1, 1, 4)
    case("grid_sample_2d", "nothing outside is read", [edge, at], expected, (0, 0, 0), (1e-6, 1e-6))


def deformed(x, offset, weight, mask, bias, stride, padding, dilation, groups, offset_groups):
    count, channels, h, w = x.shape
    out, per_group, kh, kw = weight.shape
    oh, ow = offset.shape[2:]

    def read(image, y, z):
        total = 0.0
        for i in (int(np.floor(y)), int(np.floor(y)) + 1):
            for j in (int(np.floor(z)), int(np.floor(z)) + 1):
                if 0 <= i < h and 0 <= j < w:
                    total += image[i, j] * (1 - abs(y - i)) * (1 - abs(z - j))
        return total
    result = np.zeros((count, out, oh, ow))
    for b, o, i, j in np.ndindex(count, out, oh, ow):
        total = 0.0 if bias is None else bias[o]
        for c in range(per_group):
            channel = o // (out // groups) * per_group + c
            group = channel // (channels // offset_groups)
            for p, q in np.ndindex(kh, kw):
                tap = group * kh * kw + p * kw + q
                y = i * stride[0] - padding[0] + p * dilation[0] + offset[b, 2 * tap, i, j]
                z = j * stride[1] - padding[1] + q * dilation[1] + offset[b, 2 * tap + 1, i, j]
                value = read(x[b, channel], y, z) * weight[o, c, p, q]
                total += value if mask is None else value * mask[b, tap, i, j]
        result[b, o, i, j] = total
    return result


def deforming():
    settings = (((1, 1, 3, 3), 1, (2, 2), (1, 1), (0, 0), (1, 1), 1, 1, False, False),
                ((2, 2, 4, 5), 2, (3, 2), (2, 1), (1, 1), (1, 2), 1, 2, True, True),
                ((1, 4, 4, 3), 2, (2, 2), (1, 1), (1, 0), (2, 1), 2, 1, True, False))
    for count, setting in enumerate(settings):
        shape, out, kernel, stride, padding, dilation, groups, offset_groups, has_mask, has_bias = setting
        for dtype in (f64, f32):
            size = [(shape[2 + i] + 2 * padding[i] - dilation[i] * (kernel[i] - 1) - 1) // stride[i] + 1 for i in (0, 1)]
            taps = offset_groups * kernel[0] * kernel[1]
            x, weight = Pattern(dtype, shape, 1), Pattern(dtype, (out, shape[1] // groups, *kernel), 2)
            offset = Pattern(dtype, (shape[0], 2 * taps, *size), 3)
            mask = Pattern(dtype, (shape[0], taps, *size), 4) if has_mask else None
            bias = Pattern(dtype, (out,), 5) if has_bias else None
            inputs = [x, offset, weight, mask, bias]
            y = deformed(*(None if v is None else v.array.astype(f64) for v in inputs), stride, padding, dilation, groups,
                         offset_groups)
            big_case("deform_conv2d", f"{NAMES[np.dtype(dtype).name]} case {count}", inputs, y.astype(dtype),
                     (*stride, *padding, *dilation, groups, offset_groups), (1e-5, 1e-4) if dtype == f32 else NEAR64)


def attend(q, k, v, mask, bias, scale, softcap, causal):
    scores = t64(q) @ t64(k).transpose(2, 3) * (scale or 1 / q.array.shape[-1] ** 0.5)
    if softcap:
        scores = softcap * torch.tanh(scores / softcap)
    if mask is not None:
        scores = scores.masked_fill(t(mask), -inf)
    if causal:
        sq, sk = scores.shape[-2:]
        scores = scores.masked_fill(torch.ones(sq, sk).triu(sk - sq + 1).bool(), -inf)
    if bias is not None:
        scores = scores + t64(bias)
    return torch.nan_to_num(torch.softmax(scores, -1), nan=0.0) @ t64(v)


def attention():
    for dtype in (f32, f64):
        name = NAMES[np.dtype(dtype).name]
        for queries, keys in ((3, 4), (4, 3), (2, 2)):
            q, k = Pattern(dtype, (2, 2, queries, 4), 1), Pattern(dtype, (2, 2, keys, 4), 2)
            v = Pattern(dtype, (2, 2, keys, 3), 3)
            mask, bias = Pattern(b8, (2, 1, queries, keys), 4), Pattern(dtype, (1, 2, 1, keys), 5)
            whole = np.zeros((1, 1, queries, keys), b8)
            whole[0, 0, 0] = True
            for label, m, b, scale, cap, causal in (
                    ("plain", None, None, 0, 0, 0), ("scale", None, None, 0.25, 0, 0), ("softcap", None, None, 0, 1.5, 0),
                    ("causal", None, None, 0, 0, 1), ("mask", mask, None, 0, 0, 0), ("bias", None, bias, 0, 0, 0),
                    ("softcap and causal", None, None, 0, 2, 1), ("all", mask, bias, 0.5, 3, 1),
                    ("one row hidden", whole, None, 0, 0, 0),
                    ("everything hidden", np.ones((1, 1, 1, 1), b8), None, 0, 0, 1)):
                if dtype == f64 and label not in ("all", "plain"):
                    continue
                y = attend(q, k, v, m if m is None else arr(m), b, scale, cap, causal)
                big_case("attention", f"{name} {queries}x{keys} {label}", [q, k, v, m, b], n(y, dtype), (scale, cap, causal),
                         (5e-6, 5e-6) if dtype == f32 else NEAR64)
    q, none = Pattern(f32, (1, 1, 2, 3), 1), np.zeros((1, 1, 0, 3), f32)
    case("attention", "no keys", [q, none, none, None, None], np.zeros((1, 1, 2, 3), f32), (0, 0, 1))


def norms_and_losses():
    for shape in ((2, 3), (2, 3, 4), (1, 3, 2, 2), (2, 3, 2, 1, 2)):
        for dtype in (f32, f64):
            x = Pattern(dtype, shape, 1)
            gamma, beta, mean = (Pattern(dtype, (3,), k) for k in (2, 3, 4))
            var = np.abs(Pattern(dtype, (3,), 5).array)
            y = F.batch_norm(t64(x), t64(mean), t64(var), t64(gamma), t64(beta), False, 0, 1e-3)
            case("batch_norm", f"{NAMES[np.dtype(dtype).name]} {shape}", [x, gamma, beta, mean, var], n(y, dtype), (1e-3,),
                 (1e-5, 1e-5) if dtype == f32 else NEAR64)
    logits = torch.from_numpy(Pattern(f64, (6, 4, 5), 1).array)
    for blank in (0, 3):
        targets = array([[1, 2, 4], [1, 1, 2], [4, 4, 4], [2, 1, 1]], i64)  # repeated labels need blanks between them
        inputs, lengths = array([6, 5, 4, 3], i64), array([3, 3, 3, 0], i64)  # the third cannot be reached, the fourth is empty
        probs = torch.log_softmax(logits, 2)
        loss = F.ctc_loss(probs, t(targets), t(inputs), t(lengths), blank, "none")
        for dtype in (f32, f64):
            case("ctc_loss", f"{NAMES[np.dtype(dtype).name]} mixed lengths, blank {blank}",
                 [n(probs, dtype), targets, inputs, lengths], n(loss, dtype), (blank,),
                 (1e-5, 1e-6) if dtype == f32 else NEAR64)
    beyond = array([[1, 2, 99], [3, -7, 99]], i32)
    loss = F.ctc_loss(probs[:, :2], array_of(beyond).clip(0, 4), t(array([6, 4], i64)), t(array([2, 1], i64)), 0, "none")
    two = n(probs[:, :2].contiguous())
    case("ctc_loss", "what is beyond a target's length is not read", [two, beyond, array([6, 4], i32), array([2, 1], i32)],
         n(loss), (0,), (1e-5, 1e-6))
    case("ctc_loss", "no labels at all", [two, np.zeros((2, 0), i64), array([6, 0], i64), array([0, 0], i64)],
         array([-float(probs[:, 0, 0].sum()), 0]), (0,), (1e-5, 1e-6))
    case("ctc_loss", "no frames for a label", [two[:, :1], array([[1]], i64), array([0], i64), array([1], i64)], array([inf]),
         (0,))
    certain = np.full((2, 1, 3), -inf, f32)
    certain[0, 0, 1] = certain[1, 0, 2] = 0
    case("ctc_loss", "probabilities of 0 and 1", [certain, array([[1, 2]], i64), array([2], i64), array([2], i64)],
         array([0]), (0,), (0, 1e-7))


def array_of(x):
    return torch.from_numpy(x.astype(i64))


def backwards():
    x = Pattern(f32, (1, 2, 4, 5), 1)
    for kernel, stride, padding, dilation in (((2, 2), (1, 1), (0, 0), (1, 1)), ((3, 2), (2, 1), (1, 1), (1, 2))):
        w = t64(Pattern(f32, (3, 2, *kernel), 2)).requires_grad_()
        y = F.conv2d(t64(x), w, None, stride, padding, dilation)
        grad = Pattern(f32, tuple(y.shape), 3)
        y.backward(t64(grad))
        big_case("conv2d_weight_backward", f"{kernel}", [x, grad], n(w.grad), (*stride, *padding, *dilation, 1, 3, 2, *kernel),
                 (3e-6, 5e-5))
        v = t64(x).requires_grad_()
        y = F.avg_pool2d(v, kernel, stride, padding)
        grad = Pattern(f32, tuple(y.shape), 3)
        y.backward(t64(grad))
        big_case("avg_pool2d_backward", f"{kernel}", grad, n(v.grad), (*x.array.shape, *kernel, *stride, *padding, 1),
                 (3e-6, 1e-5))
        v = t64(x).requires_grad_()
        y, where = F.max_pool2d(v, kernel, stride, padding, dilation, return_indices=True)
        grad = Pattern(f32, tuple(y.shape), 3)
        y.backward(t64(grad))
        big_case("max_pool2d_with_indices_backward", f"{kernel}", [grad, where.numpy()], n(v.grad), x.array.shape, (3e-6, 1e-5))


def windows():
    volumes()
    sides()
    pools()
    columns()
    resampling()
    grids()
    deforming()
    attention()
    norms_and_losses()
    backwards()
    write("windows")
