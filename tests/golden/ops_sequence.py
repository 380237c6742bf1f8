"""Golden rows of ops over sequences: attention, lstm, and the gradients of both."""
from ops_golden import *

LIMITS = {f32: (2e-5, 2e-5), f64: (1e-12, 1e-12)}


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
                         (5e-6, 5e-6) if dtype == f32 else (1e-12, 1e-12))
    q, none = Pattern(f32, (1, 1, 2, 3), 1), np.zeros((1, 1, 0, 3), f32)
    case("attention", "no keys", [q, none, none, None, None], np.zeros((1, 1, 2, 3), f32), (0, 0, 1))


def heads(dtype, n, count, queries, keys, width, value_width):
    return (Pattern(dtype, (n, count, queries, width), 1), Pattern(dtype, (n, count, keys, width), 2),
            Pattern(dtype, (n, count, keys, value_width), 3))


def long_attention():
    """More queries and keys than a kernel takes at once, widths that fill no vector."""
    for queries, keys, width, value_width in ((130, 70, 5, 7), (65, 600, 33, 3), (1, 300, 8, 20), (40, 20, 2, 2)):
        q, k, v = heads(f32, 1, 2, queries, keys, width, value_width)
        bias, mask = Pattern(f32, (1, 2, queries, 1), 5), Pattern(b8, (1, 1, 1, keys), 4)
        for label, m, b, cap, causal in (("plain", None, None, 0, 0), ("causal", None, None, 0, 1), ("all", mask, bias, 1.5, 1)):
            y = attend(q, k, v, m if m is None else m.array, b, 0.25, cap, causal)
            big_case("attention", f"{queries}x{keys} {label}", [q, k, v, m, b], n(y), (0.25, cap, causal), (5e-6, 5e-6))


def gradients_or_zeros(leaves, result, grad):
    """By autograd; a 0 for an absent input."""
    result.backward(t64(grad))
    return [torch.zeros(1) if x is None else x.grad for x in leaves]


def attention_backward():
    for dtype in (f32, f64):
        name = NAMES[np.dtype(dtype).name]
        for queries, keys, width, value_width in ((3, 4, 4, 3), (4, 3, 2, 5), (70, 90, 5, 3)):
            if dtype == f64 and queries > 4:
                continue
            q, k, v = heads(dtype, 2, 2, queries, keys, width, value_width)
            grad = Pattern(dtype, (2, 2, queries, value_width), 6)
            mask, row = Pattern(b8, (2, 1, queries, keys), 4), Pattern(dtype, (1, 2, 1, keys), 5)
            column, whole = Pattern(dtype, (2, 1, queries, 1), 7), Pattern(dtype, (2, 2, queries, keys), 8)
            for label, m, b, scale, cap, causal in (
                    ("plain", None, None, 0, 0, 0), ("scale", None, None, -0.25, 0, 0), ("softcap", None, None, 0, 1.5, 0),
                    ("causal", None, None, 0, 0, 1), ("mask", mask, None, 0, 0, 0), ("bias by key", None, row, 0, 0, 0),
                    ("bias by query", None, column, 0, 0, 1), ("bias", None, whole, 0, 0, 0), ("all", mask, row, 0.5, 3, 1)):
                if dtype == f64 and label not in ("all", "plain"):
                    continue
                leaves = [None if x is None else t64(x).requires_grad_() for x in (q, k, v, b)]
                y = attend_tensors(*leaves[:3], None if m is None else t(m), leaves[3], scale, cap, causal)
                out = [n(g, dtype) for g in gradients_or_zeros(leaves, y, grad)]
                big_case("attention_backward", f"{name} {queries}x{keys} {label}", [grad, q, k, v, m, b], out,
                         (scale, cap, causal), LIMITS[dtype])
    q, none = Pattern(f32, (1, 1, 2, 3), 1), np.zeros((1, 1, 0, 3), f32)
    case("attention_backward", "no keys", [q, q, none, none, None, None],
         [np.zeros((1, 1, 2, 3), f32), none, none, np.zeros((1,), f32)], (0, 0, 1))


def attend_tensors(q, k, v, mask, bias, scale, cap, causal):
    """As attend, but rows with everything hidden have a gradient of 0."""
    scores = q @ k.transpose(2, 3) * (scale or 1 / q.shape[-1] ** 0.5)
    if cap:
        scores = cap * torch.tanh(scores / cap)
    hidden = torch.zeros(scores.shape, dtype=torch.bool)
    if mask is not None:
        hidden = hidden | mask
    if causal:
        sq, sk = scores.shape[-2:]
        hidden = hidden | torch.ones(sq, sk).triu(sk - sq + 1).bool()
    if bias is not None:
        scores = scores + bias
    dead = hidden.all(-1, keepdim=True)
    weights = torch.softmax(scores.masked_fill(hidden & ~dead, -inf), -1)
    return weights.masked_fill(dead, 0) @ v


def lstm_steps(gates, hidden, cell, weight):
    outputs, cells, activations = [], [], []
    for step in range(gates.shape[1]):
        i, f, g, o = (gates[:, step] + hidden @ weight).chunk(4, 1)
        i, f, g, o = torch.sigmoid(i), torch.sigmoid(f), torch.tanh(g), torch.sigmoid(o)
        cell = f * cell + i * g
        hidden = o * torch.tanh(cell)
        outputs.append(hidden)
        cells.append(cell)
        activations.append(torch.cat([i, f, g, o], 1))
    return [torch.stack(x, 1) for x in (outputs, cells, activations)]


def lstm_steps_back(grad, cells, activations, hidden, cell, weight, grad_cells, grad_activations):
    """The gradients of gates, hidden, cell and weight, written out."""
    n, steps, width = grad.shape
    dh, dc, dweight, dgates = torch.zeros_like(hidden), torch.zeros_like(cell), torch.zeros_like(weight), []
    for step in reversed(range(steps)):
        i, f, g, o = activations[:, step].chunk(4, 1)
        before = cells[:, step - 1] if step else cell
        start = activations[:, step - 1].chunk(4, 1)[3] * torch.tanh(before) if step else hidden
        bent = torch.tanh(cells[:, step])
        dh = dh + grad[:, step]
        dc = dc + dh * o * (1 - bent ** 2) + grad_cells[:, step]
        slopes = torch.cat([dc * g, dc * before, dc * i, dh * bent], 1) + grad_activations[:, step]
        slopes = slopes * torch.cat([i * (1 - i), f * (1 - f), 1 - g ** 2, o * (1 - o)], 1)
        dgates.insert(0, slopes)
        dweight = dweight + start.T @ slopes
        dh, dc = slopes @ weight.T, dc * f
    return [torch.stack(dgates, 1), dh, dc, dweight]


def check_against_torch(inputs, grads):
    """lstm_steps is nn.LSTM, whose gates are made of an input by an identity here, and lstm_steps_back is its way back."""
    leaves = [t64(x).requires_grad_() for x in inputs]
    results = lstm_steps(*leaves)
    width = leaves[3].shape[0]
    layer = torch.nn.LSTM(4 * width, width, batch_first=True, bias=False).double()
    x, h, c = (v.detach().clone().requires_grad_() for v in leaves[:3])
    with torch.no_grad():
        layer.weight_ih_l0.copy_(torch.eye(4 * width))
        layer.weight_hh_l0.copy_(leaves[3].T)
    y, (_, last) = layer(x, (h[None], c[None]))
    y.backward(grads[0])
    assert torch.allclose(y, results[0]) and torch.allclose(last[0], results[1][:, -1])
    zeros = [torch.zeros_like(g) for g in grads[1:]]
    kept = [v.detach() for v in (*results[1:], *leaves[1:])]
    for a, b in zip((x.grad, h.grad, c.grad, layer.weight_hh_l0.grad.T), lstm_steps_back(grads[0], *kept, *zeros)):
        assert torch.allclose(a, b)
    torch.autograd.backward(results, grads)
    for a, b in zip(leaves, lstm_steps_back(grads[0], *kept, *grads[1:])):
        assert torch.allclose(a.grad, b)


def lstm():
    for dtype in (f32, f64):
        for batch, steps, width in ((1, 1, 1), (2, 3, 2), (3, 5, 17), (13, 2, 5), (1, 2, 33), (0, 2, 3)):
            if dtype == f64 and width not in (2, 17):
                continue
            name = f"{NAMES[np.dtype(dtype).name]} {batch}x{steps}x{width}"
            wide, flat = (batch, steps, 4 * width), (batch, steps, width)
            inputs = [Pattern(dtype, shape, k) for k, shape in
                      ((1, wide), (2, (batch, width)), (3, (batch, width)), (4, (width, 4 * width)))]
            grads = [Pattern(dtype, shape, k) for k, shape in ((5, flat), (6, flat), (7, wide))]
            if batch > 0:
                check_against_torch(inputs, [t64(g) for g in grads])
            results = lstm_steps(*(t64(x) for x in inputs))
            big_case("lstm", name, inputs, [n(y, dtype) for y in results], (), LIMITS[dtype])
            kept = [Pattern(dtype, flat, 8), Pattern(dtype, wide, 9), *inputs[1:]]
            for label, used in (("outputs", (0, 0)), ("cells", (1, 0)), ("all", (1, 1))):
                further = [g if use else None for g, use in zip(grads[1:], used)]
                filled = [t64(g) * use for g, use in zip(grads[1:], used)]
                out = lstm_steps_back(t64(grads[0]), *(t64(x) for x in kept), *filled)
                big_case("lstm_backward", f"{name} {label}", [grads[0], *kept, *further], [n(g, dtype) for g in out], (),
                         LIMITS[dtype])
    gates, state, weight = np.zeros((2, 0, 8), f32), Pattern(f32, (2, 2), 1), Pattern(f32, (2, 8), 2)
    none = np.zeros((2, 0, 2), f32)
    case("lstm", "no steps", [gates, state, state, weight], [none, none, gates])
    case("lstm_backward", "no steps", [none, none, gates, state, state, weight, None, None],
         [gates, np.zeros((2, 2), f32), np.zeros((2, 2), f32), np.zeros((2, 8), f32)])


def sequence():
    attention()
    long_attention()
    attention_backward()
    lstm()
    write("sequence")
