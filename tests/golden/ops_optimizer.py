"""Golden rows of the steps of optimizers."""
from ops_golden import *


def steps():
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


def optimizer():
    steps()
    write("optimizer")
