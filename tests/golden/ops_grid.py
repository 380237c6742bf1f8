"""Golden rows of grids of coordinates."""
from ops_golden import *


def grids():
    vectors = [Pattern(f32, (2,), 1), Pattern(f32, (3,), 2), Pattern(f32, (4,), 3)]
    ints = [array([1, 2, 3], i64), array([4, 5], i64), array([6], i64)]
    for name, given in (("f32", vectors), ("i64", ints), ("empty", [array([1, 2]), np.zeros(0, f32)])):
        for count in (1, 2, 3)[:len(given)]:
            xs = [arr(v) for v in given[:count]]
            for cartesian in (0, 1):
                for sparse in (0, 1):
                    ys = np.meshgrid(*xs, indexing="xy" if cartesian else "ij", sparse=bool(sparse))
                    case("meshgrid", f"{name} {count} cartesian {cartesian} sparse {sparse}", given[:count],
                         [np.ascontiguousarray(y) for y in ys], (count, cartesian, sparse))
            for last in (0, 1):
                y = np.stack(np.meshgrid(*xs, indexing="ij"), -1 if last else 0)
                case("meshgrid_stack", f"{name} {count} last {last}", given[:count], y, (count, last))
    for height, width in ((2, 3), (4, 4), (1, 3), (3, 1)):
        for dtype in (f32, f64):
            theta = Pattern(dtype, (2, 2, 3), 1)
            y = F.affine_grid(t64(theta), (2, 1, height, width), align_corners=True)
            big_case("affine_grid_2d", f"{NAMES[np.dtype(dtype).name]} {height} {width}", theta, n(y, dtype), (height, width),
                     (2e-6, 1e-6) if dtype == f32 else (1e-13, 1e-14))


def grid():
    grids()
    write("grid")
