"""Golden rows of pools of lines, planes and volumes, and of their gradients."""
from ops_golden import *


def windows(size, kernel, stride, padding, dilation, ceil):
    room = size + 2 * padding - dilation * (kernel - 1) - 1
    return (room + (stride - 1 if ceil else 0)) // stride + 1


def pooled(x, kernel, stride, padding, dilation, ceil, average=None):
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


def planes():
    special = Pattern(f32, (1, 2, 5, 5), 1).array.copy()
    special[0, 0, 2, 2], special[0, 1, 1, 1], special[0, 1, 0, :] = nan, inf, -inf
    settings = (((2, 2), (2, 2), (0, 0), (1, 1), 0), ((3, 2), (1, 1), (1, 1), (1, 1), 0), ((2, 2), (2, 2), (0, 0), (1, 1), 1),
                ((3, 3), (2, 2), (1, 1), (1, 1), 1), ((2, 2), (1, 2), (0, 1), (2, 2), 0), ((2, 3), (2, 3), (1, 0), (2, 1), 1))
    for name, x in (("f32", Pattern(f32, (1, 2, 5, 6), 3)), ("f32 special", special), ("f64", Pattern(f64, (1, 1, 4, 5), 2))):
        for count, (kernel, stride, padding, dilation, ceil) in enumerate(settings):
            out, where = pooled(arr(x), kernel, stride, padding, dilation, ceil)
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
                out, _ = pooled(arr(x).astype(f64), kernel, stride, padding, dilation, ceil, include)
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


def last_window(x, kernel, stride, padding, dilation):
    """Padding at the end so that ceil_mode, without PyTorch's rule, sees whole windows: its size, and what to append."""
    room = x.shape[-1] + 2 * padding - dilation * (kernel - 1) - 1
    size = -(-room // stride) + 1
    return size, (size - 1) * stride + dilation * (kernel - 1) + 1 - x.shape[-1] - padding


def lines():
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


def volumes():
    x = Pattern(f32, (1, 2, 4, 5, 3), 3)
    for size in ((1, 1, 1), (2, 3, 2), (4, 5, 3), (5, 7, 4)):
        big_case("adaptive_avg_pool3d", f"{size}", x, n(F.adaptive_avg_pool3d(t64(x), size)), size, (3e-6, 1e-6))


def gradients():
    x = Pattern(f32, (1, 2, 4, 5), 1)
    for kernel, stride, padding, dilation in (((2, 2), (1, 1), (0, 0), (1, 1)), ((3, 2), (2, 1), (1, 1), (1, 2))):
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


def pool():
    planes()
    lines()
    volumes()
    gradients()
    write("pool")
