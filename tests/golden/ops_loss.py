"""Golden rows of losses, and of the ops behind their gradient rules."""
from ops_golden import *


def cross_entropies():
    x, targets = Pattern(f32, (4, 5), 1), array([0, 4, 2, 2], i64)
    for dtype in (i64, i32):
        case("cross_entropy", NAMES[np.dtype(dtype).name], [x, targets.astype(dtype)],
             n(F.cross_entropy(t64(x), torch.from_numpy(targets)).reshape(1)), tolerance=(2e-6, 1e-6))
    x = array([[1000, 0], [-1000, 1000]])
    case("cross_entropy", "large logits", [x, array([1, 0], i64)], array([1500]), tolerance=(1e-6, 1e-6))
    x = Pattern(f64, (3, 4), 2)
    case("cross_entropy", "f64", [x, targets[1:] % 4], n(F.cross_entropy(t64(x), torch.from_numpy(targets[1:] % 4)).reshape(1),
                                                         f64), tolerance=(1e-13, 1e-13))


def mean_squares():
    for dtype, shape in ((f32, (1,)), (f32, (2, 3)), (f64, (2, 3, 5)), (f32, (3, 2049))):
        x, target, grad = Pattern(dtype, shape, 1), Pattern(dtype, shape, 2), array([-1.5], dtype)
        bound = (3e-6, 1e-6) if dtype == f32 else F64_NEAR
        case("mse", f"{name_of(dtype)} {shape}", [x, target], n(F.mse_loss(t64(x), t64(target)).reshape(1), dtype), tolerance=bound)
        back = gradients_of(lambda x, target: F.mse_loss(x, target).reshape(1), [x, target], grad)[0]
        big_case("mse_backward", f"{name_of(dtype)} {shape}", [grad, x, target], [n(back, dtype)], (), bound)
    empty = np.zeros((0, 3), f32)
    case("mse", "nothing", [empty, empty], array([nan]))
    case("mse_backward", "nothing", [array([1]), empty, empty], empty)


def cross_entropy_gradients():
    for dtype in (f32, f64):
        for shape in ((1, 2), (4, 5), (3, 1)):
            x, grad = Pattern(dtype, shape, 1), array([-1.5], dtype)
            targets = (np.arange(shape[0]) * 7 + 1) % shape[1]
            back = gradients_of(lambda x: F.cross_entropy(x, torch.from_numpy(targets)).reshape(1), [x], grad)[0]
            case("cross_entropy_backward", f"{name_of(dtype)} {shape}", [grad, x, targets.astype(i64)], n(back, dtype),
                 tolerance=(3e-6, 1e-6) if dtype == f32 else F64_NEAR)
    x, targets = Pattern(f32, (9, 1030), 3), np.arange(9) * 37
    back = gradients_of(lambda x: F.cross_entropy(x, torch.from_numpy(targets)).reshape(1), [x], array([2.0]))[0]
    case("cross_entropy_backward", "f32 many classes", [array([2.0]), x, targets.astype(i32)], Digest(n(back)),
         tolerance=(1e-5, 1e-3))
    case("cross_entropy_backward", "large logits", [array([4.0]), array([[1000, 0], [-1000, 1000]]), array([1, 1], i64)],
         array([[2, -2], [0, 0]]), tolerance=(1e-6, 1e-30))
    case("cross_entropy_backward", "no items", [array([1.0]), np.zeros((0, 3), f32), np.zeros(0, i64)], np.zeros((0, 3), f32))
    for rows, classes in ((33, 100), (300, 7), (5, 9000)):
        x, targets = Pattern(f32, (rows, classes), 5), np.arange(rows) * 31 % classes
        case("cross_entropy", f"f32 {rows}x{classes}", [x, targets.astype(i64)],
             n(F.cross_entropy(t64(x), torch.from_numpy(targets)).reshape(1)), tolerance=(2e-6, 1e-6))
    case("cross_entropy", "infinite", [array([[0, -inf], [0, 1]]), array([1, 0], i64)], array([inf]))
    case("cross_entropy", "NaN", [array([[0, nan], [0, 1]]), array([0, 0], i64)], array([nan]))


def soft_targets():
    for shape in ((3, 4), (2, 3, 4)):
        x, p = Pattern(f32, shape, 1), torch.softmax(t64(Pattern(f32, shape, 5)), -1)
        p = n(p)
        y = -(t64(p) * torch.log_softmax(t64(x), -1)).sum(-1).mean().reshape(1)
        case("cross_entropy_with_logits", f"{shape}", [x, p], n(y), (), (3e-6, 1e-6))
    case("cross_entropy_with_logits", "large logits", [array([[1000, 0], [-1000, 1000]]), array([[0, 1], [1, 0]])], array([1500]), (),
         (1e-6, 0))


def array_of(x):
    return torch.from_numpy(x.astype(i64))


def ctc_losses():
    logits = torch.from_numpy(Pattern(f64, (6, 4, 5), 1).array)
    for blank in (0, 3):
        targets = array([[1, 2, 4], [1, 1, 2], [4, 4, 4], [2, 1, 1]], i64)  # repeated labels need blanks between them
        inputs, lengths = array([6, 5, 4, 3], i64), array([3, 3, 3, 0], i64)  # the third cannot be reached, the fourth is empty
        probs = torch.log_softmax(logits, 2)
        loss = F.ctc_loss(probs, t(targets), t(inputs), t(lengths), blank, "none")
        for dtype in (f32, f64):
            case("ctc_loss", f"{NAMES[np.dtype(dtype).name]} mixed lengths, blank {blank}",
                 [n(probs, dtype), targets, inputs, lengths], n(loss, dtype), (blank,),
                 (1e-5, 1e-6) if dtype == f32 else (1e-12, 1e-12))
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


def loss():
    cross_entropies()
    mean_squares()
    cross_entropy_gradients()
    soft_targets()
    ctc_losses()
    write("loss")
