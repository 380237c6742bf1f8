"""Golden rows of resampling: by a size, and at positions."""
from ops_golden import *

NEAR, NEAR64 = (3e-6, 3e-5), (1e-12, 1e-12)


def bound(dtype):
    return NEAR if dtype == f32 else NEAR64


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


def sample():
    resampling()
    grids()
    write("sample")
