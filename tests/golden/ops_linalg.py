"""Golden rows of products, linear layers, decompositions and norms of vectors."""
from ops_golden import *


def matmuls():
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


def linear_gradients():
    for dtype, shape, width in ((f32, (3, 4), 2), (f64, (2, 3, 4), 5), (f32, (4,), 3), (f32, (1, 5), 2), (f32, (70, 33), 17),
                                (f32, (3, 11, 40), 33)):
        x, weight, grad = Pattern(dtype, shape, 1), Pattern(dtype, (shape[-1], width), 2), Pattern(dtype, (*shape[:-1], width), 3)
        back = gradients_of(lambda x, weight, bias: x @ weight + bias, [x, weight, np.zeros(width)], grad)
        bound = F64_NEAR if dtype == f64 else (1e-5, 2e-4 if np.prod(shape) > 500 else 2e-5)
        results = [n(g, dtype) for g in back]
        big_case("linear_backward", f"{name_of(dtype)} {shape}", [grad, x, weight], results, (), bound)
        results[0] = np.zeros(1, dtype)
        big_case("linear_backward", f"{name_of(dtype)} {shape}, no weight", [grad, x, None], results, (), bound)
    empty = np.zeros((0, 3), f32)
    case("linear_backward", "no rows", [np.zeros((0, 2), f32), empty, np.ones((3, 2), f32)],
         [empty, np.zeros((3, 2), f32), np.zeros(2, f32)])


def dots():
    case("dot", "f32", [array([1, 2, 3]), array([4, -5, 6])], array([12.0]))
    case("dot", "i64", [array([1, 2, 3], i64), array([4, -5, 6], i64)], array([12], i64))
    case("dot", "empty", [np.zeros(0, f32), np.zeros(0, f32)], array([0.0]))


def matrices(dtype, shape, k):
    """Entries of a sine: no ties between candidates for a pivot, and well-conditioned enough."""
    i = np.arange(int(np.prod(shape)), dtype=f64)
    x = np.sin(i * i * 0.37 + i * 1.3 + k).reshape(shape).round(4)
    return x.astype(dtype)


def householder(x, reduced):
    """Q and R of one matrix: the first element of a column becomes -sign(it) * norm, also in the last row; sign(0) is 1."""
    rows, columns = x.shape
    q, r = np.eye(rows), x.astype(f64).copy()
    for i in range(min(rows, columns)):
        v = r[i:, i].copy()
        norm = np.sqrt((v * v).sum())
        if norm == 0:
            continue
        v[0] += norm if v[0] >= 0 else -norm
        h = np.eye(rows)
        h[i:, i:] -= 2 * np.outer(v, v) / (v @ v)
        q, r = q @ h, h @ r
    r = np.triu(r)
    inner = min(rows, columns) if reduced else rows
    q, r = q[:, :inner], r[:inner]
    assert np.allclose(q @ r, x, atol=1e-10) and np.allclose(q.T @ q, np.eye(inner), atol=1e-10)
    other = np.linalg.qr(x.astype(f64), "reduced" if reduced else "complete")[1]
    assert np.allclose(np.abs(other), np.abs(r), atol=1e-9)  # LAPACK agrees up to signs
    return q, r


def batched(function, x, count):
    flat = x.reshape(-1, *x.shape[-2:])
    results = [function(m) for m in flat]
    return [np.stack([r[i] for r in results]).reshape(*x.shape[:-2], *results[0][i].shape) for i in range(count)]


def decompositions():
    shapes = ((1, 1), (2, 2), (3, 3), (4, 4), (7, 7), (5, 3), (3, 5), (6, 1), (1, 4), (2, 3, 3), (2, 2, 4, 2))
    for shape in shapes:
        for dtype in (f32, f64):
            x, label = matrices(dtype, shape, len(shape)), f"{NAMES[np.dtype(dtype).name]} {shape}"
            bound = (1e-4, 1e-5) if dtype == f32 else (1e-10, 1e-11)
            p, lower, upper = torch.linalg.lu(t64(x))
            assert np.allclose(n(p @ lower @ upper, f64), x.astype(f64))
            case("lu", label, x, [n(p, dtype), n(lower, dtype), n(upper, dtype)], (), bound)
            for reduced in (1, 0):
                q, r = batched(lambda m: householder(m, reduced), x, 2)
                case("qr", f"{label} reduced {reduced}", x, [q.astype(dtype), r.astype(dtype)], (reduced,), bound)
            if len(shape) > 2 and shape[-1] == shape[-2]:
                case("det", label, x, n(torch.linalg.det(t64(x)), dtype), (), bound)
            if len(shape) == 2 and shape[0] == shape[1]:
                single = x.reshape(1, *shape)
                case("det", label, single, n(torch.linalg.det(t64(single)), dtype), (), bound)
                packed = n(torch.tril(lower, -1) + upper, dtype)
                case("lu_decomposition", label, x, [packed, np.argmax(n(p), 0).astype(i64)], (), bound)
    case("lu", "needs an exchange", array([[4, 3], [6, 3]]), [array([[0, 1], [1, 0]]), array([[1, 0], [2 / 3, 1]]),
                                                              array([[6, 3], [0, 1]])], (), (1e-6, 1e-7))
    case("lu", "the first of equal candidates", array([[2, 1], [-2, 3]]), [np.eye(2, dtype=f32), array([[1, 0], [-1, 1]]),
                                                                           array([[2, 1], [0, 4]])], (), (1e-6, 1e-7))
    case("lu", "zeros", np.zeros((3, 3), f32), [np.eye(3, dtype=f32)] * 2 + [np.zeros((3, 3), f32)])
    case("lu", "singular", array([[0, 1, 2], [0, 3, 4], [0, 5, 6]]),
         [array([[1, 0, 0], [0, 0, 1], [0, 1, 0]]), array([[1, 0, 0], [0, 1, 0], [0, 0.6, 1]]),
          array([[0, 1, 2], [0, 5, 6], [0, 0, 0.4]])], (), (1e-6, 1e-6))
    case("lu", "no columns", np.zeros((2, 0), f32), [np.eye(2, dtype=f32), np.zeros((2, 0), f32), np.zeros((0, 0), f32)])
    case("lu", "no matrices", np.zeros((0, 2, 2), f32), [np.zeros((0, 2, 2), f32)] * 3)
    case("lu_decomposition", "no rows", np.zeros((0, 0), f32), [np.zeros((0, 0), f32), np.zeros((0,), i64)])


def special_qr():
    case("qr", "as in Burn's documentation", array([[3, 2], [4, 6]]), [array([[-0.6, 0.8], [-0.8, -0.6]]), array([[-5, -6],
                                                                                                                  [0, -2]])],
         (1,), (1e-6, 1e-6))
    case("qr", "identity", np.eye(3, dtype=f32), [-np.eye(3, dtype=f32)] * 2, (1,), (1e-6, 1e-7))
    case("qr", "zeros", np.zeros((3, 2), f32), [np.eye(3, dtype=f32)[:, :2], np.zeros((2, 2), f32)], (1,), (1e-6, 1e-7))
    x = array([[0, 1, 2], [0, 3, 4], [0, 5, 6]])
    case("qr", "a column of zeros", x, [m.astype(f32) for m in householder(x, 1)], (1,), (1e-5, 1e-5))
    for scale in (1e-25, 1e25):  # squares of these leave the range of f32
        x = matrices(f32, (4, 3), 3)
        q, r = householder(x, 1)
        case("qr", f"f32 scaled by {scale}", (x * scale).astype(f32), [q.astype(f32), (r * scale).astype(f32)], (1,),
             (1e-4, 2e-6 * min(scale, 1)))
    case("qr", "NaN spreads", array([[nan, 1], [1, 2]]), [np.full((2, 2), nan, f32), array([[nan, nan], [0, nan]])], (1,))
    for reduced, inner in ((1, 0), (0, 2)):
        case("qr", f"no columns, reduced {reduced}", np.zeros((2, 0), f32), [np.eye(2, dtype=f32)[:, :inner], np.zeros((inner,
                                                                                                                        0),
                                                                                                                        f32)],
             (reduced,))
        case("qr", f"no rows, reduced {reduced}", np.zeros((0, 3), f32), [np.zeros((0, 0), f32), np.zeros((0, 3), f32)],
             (reduced,))
    case("qr", "no matrices", np.zeros((0, 3, 2), f32), [np.zeros((0, 3, 2), f32), np.zeros((0, 2, 2), f32)], (1,))
    x = matrices(f64, (20, 12), 1)
    case("qr", "f64 many", x, [Digest(m) for m in householder(x, 1)], (1,), (1e-9, 1e-9))
    p, lower, upper = torch.linalg.lu(t64(x))
    case("lu", "f64 many", x, [Digest(n(m, f64)) for m in (p, lower, upper)], (), (1e-9, 1e-9))


def determinants():
    for count in (1, 2, 3, 4, 5):
        x = np.stack([np.zeros((count, count)), np.eye(count), np.ones((count, count)), np.eye(count)[::-1]]).astype(f32)
        expected = array([0, 1, 1 if count == 1 else 0, (-1) ** (count * (count - 1) // 2)])
        case("det", f"zeros, identity, ones, exchange of {count}", x, expected, (), (1e-6, 1e-7))
    # Burn calls a matrix singular if a pivot is at most 1e-5 (f64: 1e-10).
    small = np.stack([np.diag([1, 2, 3, 9e-6]), np.diag([1, 2, 3, 2e-5])])
    case("det", "f32 pivots of about 0", small.astype(f32), array([0, 1.2e-4]), (), (1e-5, 0))
    case("det", "f64 pivots of about 0", small, array([5.4e-5, 1.2e-4], f64), (), (1e-12, 0))
    case("det", "f64 a pivot of 1e-10", np.diag([1, 1, 1, 1e-10])[None], array([0], f64))
    case("det", "NaN", array([[[nan, 1], [1, 2]], [[1, 2], [3, 4]]]), array([nan, -2]), (), (1e-6, 0))
    x = np.tile(np.eye(4, dtype=f32) * 2, (2, 1, 1))
    x[0, 3, 3] = nan
    case("det", "NaN in a pivot", x, array([nan, 16]), (), (1e-6, 0))
    case("det", "empty matrices", np.zeros((2, 0, 0), f32), np.ones((2,), f32), (), (1e-9, 0))
    case("det", "no matrices", np.zeros((0, 4, 4), f32), np.zeros((0,), f32))


def products():
    for name, dtype in (("f32", f32), ("i64", i64), ("bool", b8)):
        for shape in ((3, 3), (2, 5), (5, 2), (2, 3, 4), (0, 3), (3, 0), (2, 0, 0)):
            x = Pattern(dtype, shape, 2)
            diagonal = np.diagonal(x.array, axis1=-2, axis2=-1)
            case("diag", f"{name} {shape}", x, np.ascontiguousarray(diagonal))
            if dtype != b8:
                case("trace", f"{name} {shape}", x, diagonal.sum(-1, keepdims=True).astype(dtype), (),
                     EXACT if dtype == i64 else (2e-6, 1e-6))
    for dtype in (f32, i64):
        bound = EXACT if dtype == i64 else (2e-6, 1e-5)
        name = NAMES[np.dtype(dtype).name]
        for left, right in (((3, 4), (4,)), ((2, 3, 4), (2, 4)), ((2, 3, 4), (1, 4)), ((1, 5), (5,))):
            a, b = Pattern(dtype, left, 1), Pattern(dtype, right, 4)
            case("matvec", f"{name} {left} {right}", [a, b], np.matmul(a.array, b.array[..., None])[..., 0], (), bound)
        a, b = Pattern(dtype, (2, 3), 1), Pattern(dtype, (2, 4), 4)
        case("outer", name, [a, b], a.array[:, :, None] * b.array[:, None, :], (), bound)
        a, b = Pattern(dtype, (3,), 1), Pattern(dtype, (2,), 4)
        case("outer", f"{name} vectors", [a, b], np.outer(a.array, b.array), (), bound)
        a, b = Pattern(dtype, (2, 3, 4), 1), Pattern(dtype, (5, 3, 1), 4)
        for dim in (0, -3):
            case("outer_dim", f"{name} dim {dim}", [a, b], a.array[:, None] * b.array[None], (dim,), bound)
        a, b = Pattern(dtype, (2, 3, 4), 1), Pattern(dtype, (2, 2, 4), 4)
        case("outer_dim", f"{name} dim 1", [a, b], a.array[:, :, None] * b.array[:, None], (1,), bound)


def norms():
    orders = {"l0_norm": 0, "l1_norm": 1, "l2_norm": 2, "max_abs_norm": inf, "min_abs_norm": -inf}
    special = array([[0, -0.0, 0, 0], [3, -4, 0, 0], [inf, 1, -inf, 2], [nan, 1, 2, 0], [1e-10, -2, 2, 1]])
    for name, x in (("f32", Pattern(f32, (2, 3, 4), 1)), ("f64", Pattern(f64, (2, 3, 4), 2)), ("f32 special", special)):
        dtype = arr(x).dtype
        bound = (1e-12, 1e-13) if dtype == f64 else (3e-6, 1e-6)
        for dim in (0, -1):
            for op, order in orders.items():
                y = torch.linalg.vector_norm(t64(x), order, dim, keepdim=True)
                if order == 0:  # PyTorch counts a NaN by luck of the comparison; it is not 0
                    y = (t64(x) != 0).double().sum(dim, keepdim=True)
                case(op, f"{name} dim {dim}", x, n(y, dtype), (dim,), bound)
                case("vector_norm", f"{name} {order} dim {dim}", x, n(y, dtype), (order, dim), bound)
            for order in (3, 2.5, 4, -2, 0.5):
                y = n((t64(x).abs() ** order).sum(dim, keepdim=True) ** (1 / order), dtype)
                case("lp_norm", f"{name} {order} dim {dim}", x, y, (order, dim), bound)
            for order, epsilon in ((2, 1e-8), (1, 5), (inf, 1e-3)):
                y = t64(x) / torch.linalg.vector_norm(t64(x), order, dim, keepdim=True).clamp(min=epsilon)
                case("vector_normalize", f"{name} {order} {epsilon} dim {dim}", x, n(y, dtype), (order, dim, epsilon), bound)
    x = array([[0, -3, 5], [7, 0, 0]], i64)
    for op, y in (("l0_norm", [[2], [1]]), ("l1_norm", [[8], [7]]), ("max_abs_norm", [[5], [7]]), ("min_abs_norm", [[0], [0]])):
        case(op, "i64", x, array(y, i64), (1,))
    x = array([[300, 400]])  # in f16, too, whose range the squares leave
    case("l2_norm", "f16 cannot hold the squares", x, array([[500]]), (1,), (1e-6, 0))
    case("lp_norm", "f16 cannot hold the cubes", x, array([[91e6 ** (1 / 3)]]), (3, 1), (1e-6, 0))
    case("vector_normalize", "f16 cannot hold the squares", x, array([[0.6, 0.8]]), (2, 1, 1e-8), (1e-6, 0))
    case("cosine_similarity", "f16 cannot hold the products", [x, x], array([[1]]), (1, 1e-8), (1e-6, 0))
    case("l2_norm", "empty axis", np.zeros((2, 0), f32), np.zeros((2, 1), f32), (1,))
    for dtype in (f32, f64):
        a, b = Pattern(dtype, (3, 4), 1), Pattern(dtype, (3, 4), 7)
        for dim in (0, 1, -1):
            y = F.cosine_similarity(t64(a), t64(b), dim).unsqueeze(dim)
            case("cosine_similarity", f"{NAMES[np.dtype(dtype).name]} dim {dim}", [a, b], n(y, dtype), (dim, 1e-8),
                 (3e-6, 1e-6) if dtype == f32 else (1e-12, 1e-13))
    case("cosine_similarity", "zeros", [np.zeros((1, 3), f32), np.ones((1, 3), f32)], np.zeros((1, 1), f32), (1, 1e-8), (1e-9,
                                                                                                                         0))


def linalg():
    matmuls()
    linear_gradients()
    dots()
    decompositions()
    special_qr()
    determinants()
    products()
    norms()
    write("linalg")
