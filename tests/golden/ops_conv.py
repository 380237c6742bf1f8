"""Golden rows of convolutions of lines, planes and volumes, and of windows as columns."""
from ops_golden import *

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
    x = repeated(array([[1], [2], [4]]), (3, 4))
    case("conv2d", "expanded input", [x.reshape(1, 1, 3, 4), np.ones((1, 1, 2, 2), f32), None], array([[[[6, 6, 6], [12, 12, 12]]]]),
         (1, 1, 0, 0, 1, 1, 1), (1e-6, 0))
    x, weight = Pattern(f32, (2, 16, 30, 30), 1), Pattern(f32, (24, 16, 3, 3), 2)
    for stride, padding in ((1, 1), (2, 0)):
        y = F.conv2d(t64(x), t64(weight), None, stride, padding)
        case("conv2d", f"many, stride {stride}", [x, weight, None], Digest(n(y)),
             conv_numbers((stride,) * 2, (padding,) * 2, (1, 1), 1), (1e-5, 1.0))


def weight_gradients():
    x = Pattern(f32, (1, 2, 4, 5), 1)
    for kernel, stride, padding, dilation in (((2, 2), (1, 1), (0, 0), (1, 1)), ((3, 2), (2, 1), (1, 1), (1, 2))):
        w = t64(Pattern(f32, (3, 2, *kernel), 2)).requires_grad_()
        y = F.conv2d(t64(x), w, None, stride, padding, dilation)
        grad = Pattern(f32, tuple(y.shape), 3)
        y.backward(t64(grad))
        big_case("conv2d_weight_backward", f"{kernel}", [x, grad], n(w.grad), (*stride, *padding, *dilation, 1, 3, 2, *kernel),
                 (3e-6, 5e-5))


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
            numbers, vw = (*stride, *padding, *dilation, groups), t64(weight).requires_grad_()
            y = F.conv3d(t64(x), vw, t64(bias) if has_bias else None, stride, padding, dilation, groups)
            big_case("conv3d", name, [x, weight, bias], n(y, dtype), numbers, bound(dtype))
            if shape[0] > 0:
                grad = Pattern(dtype, tuple(y.shape), 4)
                y.backward(t64(grad))
                big_case("conv3d_weight_backward", name, [x, grad], n(vw.grad, dtype), (*numbers, *weight.array.shape),
                         bound(dtype))
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


def conv():
    convolutions()
    weight_gradients()
    volumes()
    sides()
    columns()
    deforming()
    write("conv")
