#!/usr/bin/env python3
"""Writes sequence_golden.h beside this file: values and gradients of the layers over sequences; see nn_golden.py.

Parameters are patterns 2, 3, .. in the order of the module's record, times a scale; gradients stand in the order inputs, parameters.
"""
import math

import torch

from nn_golden import Golden, pattern

g = Golden("sequence_golden.h", "layers over sequences")


class Params(dict):
    """Parameters by the name that they have in the record."""

    def __init__(self, scale, shapes):
        super().__init__({name: leaf(shape, 2 + i, scale) for i, (name, shape) in enumerate(shapes)})

    def linear(self, name, x):
        y = x @ self[name + ".weight"]
        return y + self[name + ".bias"] if name + ".bias" in self else y


def leaf(shape, k, scale=1.0):
    return (pattern(shape, k) * scale).requires_grad_()


def golden(name, x):
    g.values(name, x.detach().reshape(-1).tolist())


# -- positions ----------------------------------------------------------------------------------


def sinusoids(steps, width, timescale):
    angle = torch.arange(steps).double()[:, None] * timescale ** (-torch.arange(0, width, 2).double() / width)
    return torch.stack([angle.sin(), angle.cos()], 2).reshape(steps, width)


def rotate(x, start, theta):
    """Adjacent pairs as complex numbers."""
    angle = torch.arange(start, start + x.shape[-2]).double()[:, None] * theta
    pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2)) * torch.polar(torch.ones_like(angle), angle)
    return torch.view_as_real(pairs).reshape(x.shape)


def alibi_slopes(heads):
    """As the code that came with the paper."""
    if math.log2(heads).is_integer():
        return [2 ** (-8 / heads * (i + 1)) for i in range(heads)]
    power = 2 ** math.floor(math.log2(heads))
    return alibi_slopes(power) + alibi_slopes(2 * power)[0::2][:heads - power]


def alibi(heads, queries, keys):
    place = torch.arange(queries).double()[:, None] + keys - queries
    return torch.tensor(alibi_slopes(heads))[:, None, None] * -(place - torch.arange(keys)).abs()


def positions():
    x = leaf((2, 5, 6), 1)
    g.case("positional_encoding", x + sinusoids(5, 6, 10000), x)
    golden("positional_encoding_fast", pattern((1, 9, 4), 1) + sinusoids(9, 4, 50))
    theta = 10000 ** (-torch.arange(0, 6, 2).double() / 6)
    x = leaf((2, 2, 4, 6), 1)
    g.case("rotary_encoding", rotate(x, 0, theta), x)
    golden("rotary_encoding_start", rotate(pattern((3, 6), 1), 5, theta))
    golden("rotary_encoding_shifted", rotate(pattern((3, 6), 1), 105, theta))
    golden("rotary_encoding_scaled", rotate(pattern((3, 6), 1), 2, theta / 8))
    golden("alibi_4", alibi(4, 3, 3))
    golden("alibi_6", alibi(6, 2, 4))


# -- attention ----------------------------------------------------------------------------------


def linear_shapes(name, inputs, outputs, bias=True):
    return [(name + ".weight", (inputs, outputs))] + ([(name + ".bias", (outputs,))] if bias else [])


def mha_shapes(width, prefix="", bias=True):
    return [row for name in ("query", "key", "value", "output") for row in linear_shapes(prefix + name, width, width, bias)]


def quiet_softmax(x):
    """The definition; what an x of -10000 adds is 0."""
    return x.exp() / (1 + x.exp().sum(-1, keepdim=True))


def attend(q, k, v, mask, min_float, quiet=False, bias=None):
    """Heads [batch, heads, steps, d]; the mask is true where a key is hidden."""
    scores = q @ k.transpose(2, 3) / q.shape[-1] ** 0.5
    if bias is not None:
        scores = scores + bias
    if mask is not None:
        scores = scores.masked_fill(mask, min_float)
    weights = quiet_softmax(scores) if quiet else torch.softmax(scores, -1)
    return weights @ v, weights


def split(x, heads):
    return x.reshape(*x.shape[:2], heads, -1).transpose(1, 2)


def join(x):
    return x.transpose(1, 2).flatten(2)


def mha(p, q, k, v, heads, pad=None, attn=None, prefix="", min_float=-1e4, **options):
    """Context and weights; masks as Burn's."""
    mask = None if pad is None else pad[:, None, None, :]
    if attn is not None:
        mask = attn[:, None] if mask is None else mask | attn[:, None]
    q, k, v = (split(p.linear(prefix + name, x), heads) for name, x in (("query", q), ("key", k), ("value", v)))
    y, weights = attend(q, k, v, mask, min_float, **options)
    return p.linear(prefix + "output", join(y)), weights


def causal(steps):
    return torch.ones(1, steps, steps, dtype=torch.bool).triu(1)


# The last key of the first item is padding; the first query of the second sees nothing.
PAD = torch.tensor([[0, 0, 0, 1], [0, 1, 0, 0]]).bool()
ATTN = torch.tensor([[[0, 1, 0, 0], [1, 0, 0, 1], [0, 0, 0, 0]], [[1, 1, 1, 1], [0, 0, 1, 0], [0, 1, 0, 0]]]).bool()


def attention():
    def inputs():
        return leaf((2, 3, 8), 31), leaf((2, 4, 8), 32), leaf((2, 4, 8), 33)

    p = Params(0.2, mha_shapes(8))
    q, k, v = inputs()
    y, weights = mha(p, q, k, v, 2)
    theirs = torch.nn.functional.multi_head_attention_forward(
        q.transpose(0, 1), k.transpose(0, 1), v.transpose(0, 1), 8, 2, torch.cat([p[n + ".weight"].T for n in ("query", "key", "value")]),
        torch.cat([p[n + ".bias"] for n in ("query", "key", "value")]), None, None, False, 0.0, p["output.weight"].T, p["output.bias"])
    assert torch.allclose(theirs[0].transpose(0, 1), y) and torch.allclose(theirs[1], weights.mean(1))
    g.case("mha", y, q, k, v, *p.values())
    golden("mha_weights", weights)
    y, weights = mha(p, q, k, v, 2, PAD, ATTN)
    g.case("mha_masked", y, q, k, v, *p.values())
    golden("mha_masked_weights", weights)
    g.case("mha_quiet", mha(p, q, k, v, 2, PAD, quiet=True)[0], q, k, v, *p.values())
    g.case("mha_soft_mask", mha(p, q, k, v, 2, PAD, ATTN, min_float=-1.0)[0], q, k, v, *p.values())
    g.case("mha_alibi", mha(p, q, k, v, 2, PAD, bias=alibi(2, 3, 4))[0], q, k, v, *p.values())
    bare = Params(0.2, mha_shapes(8, bias=False))
    x = leaf((2, 5, 8), 31)
    g.case("mha_causal", mha(p, x, x, x, 2, attn=causal(5))[0], x, *p.values())
    first = torch.tensor([[1, 0, 0, 0, 0], [0, 0, 1, 0, 0]]).bool()  # so the first query of the first item sees nothing
    g.case("mha_causal_pad", mha(p, x, x, x, 2, pad=first, attn=causal(5))[0], x, *p.values())
    g.case("mha_no_bias", mha(bare, x, x, x, 4)[0], x, *bare.values())


def cross_attention():
    p = Params(0.2, linear_shapes("query", 6, 12) + linear_shapes("key", 5, 6) + linear_shapes("value", 5, 6) + linear_shapes("output", 12, 6))
    x, context = leaf((2, 3, 6), 31), leaf((2, 4, 5), 32)
    q, k, v = split(p.linear("query", x), 4), split(p.linear("key", context), 2), split(p.linear("value", context), 2)
    k, v = (h.repeat_interleave(2, 1) for h in (k, v))
    for name, mask, quiet in (("", None, False), ("_masked", PAD[:, None, None], False), ("_quiet", PAD[:, None, None], True)):
        y = p.linear("output", join(attend(q, k, v, mask, -1e4, quiet)[0]))
        g.case("cross_attention" + name, y, x, context, *p.values())


# -- transformers -------------------------------------------------------------------------------

WIDTH, INNER, HEADS = 6, 5, 2


def norm_shapes(name):
    return [(name + ".gamma", (WIDTH,)), (name + ".beta", (WIDTH,))]


def inner_shapes(prefix):
    return linear_shapes(prefix + "linear_inner", WIDTH, INNER) + linear_shapes(prefix + "linear_outer", INNER, WIDTH)


def encoder_shapes(i):
    prefix = f"layers.{i}."
    return mha_shapes(WIDTH, prefix + "mha.") + inner_shapes(prefix + "pwff.") + norm_shapes(prefix + "norm_1") + norm_shapes(prefix + "norm_2")


def decoder_shapes(i):
    prefix = f"layers.{i}."
    return (mha_shapes(WIDTH, prefix + "cross_attn.") + mha_shapes(WIDTH, prefix + "self_attn.") + inner_shapes(prefix + "pwff.") +
            [row for n in "123" for row in norm_shapes(prefix + "norm_" + n)])


def transformer(p, layers, parts, norm_first, x):
    """`parts`: (norm before it with norm_first, norm after it otherwise, function of prefix and x)."""
    for i in range(layers):
        prefix = f"layers.{i}."

        def norm(name, x):
            return torch.nn.functional.layer_norm(x, (WIDTH,), p[prefix + name + ".gamma"], p[prefix + name + ".beta"])

        for before, after, part in parts:
            x = x + part(prefix, norm(before, x)) if norm_first else norm(after, x + part(prefix, x))
    return x


def feed_forward(p, activation=torch.nn.functional.gelu):
    return lambda prefix, x: p.linear(prefix + "pwff.linear_outer", activation(p.linear(prefix + "pwff.linear_inner", x)))


def encode(p, layers, norm_first, x, activation=torch.nn.functional.gelu, **masks):
    def attend(prefix, x):
        return mha(p, x, x, x, HEADS, prefix=prefix + "mha.", **masks)[0]

    return transformer(p, layers, [("norm_2", "norm_1", attend), ("norm_1", "norm_2", feed_forward(p, activation))], norm_first, x)


def decode(p, layers, norm_first, x, memory, masks, memory_masks):
    parts = [("norm_3", "norm_1", lambda prefix, x: mha(p, x, x, x, HEADS, prefix=prefix + "self_attn.", **masks)[0]),
             ("norm_1", "norm_2", lambda prefix, x: mha(p, x, memory, memory, HEADS, prefix=prefix + "cross_attn.", **memory_masks)[0]),
             ("norm_2", "norm_3", feed_forward(p))]
    return transformer(p, layers, parts, norm_first, x)


def fill_attention(theirs, p, prefix):
    theirs.in_proj_weight.data = torch.cat([p[prefix + n + ".weight"].T for n in ("query", "key", "value")])
    theirs.in_proj_bias.data = torch.cat([p[prefix + n + ".bias"] for n in ("query", "key", "value")])
    theirs.out_proj.weight.data, theirs.out_proj.bias.data = p[prefix + "output.weight"].T, p[prefix + "output.bias"]


def fill_rest(theirs, p, prefix, norms):
    theirs.linear1.weight.data, theirs.linear1.bias.data = p[prefix + "pwff.linear_inner.weight"].T, p[prefix + "pwff.linear_inner.bias"]
    theirs.linear2.weight.data, theirs.linear2.bias.data = p[prefix + "pwff.linear_outer.weight"].T, p[prefix + "pwff.linear_outer.bias"]
    for i, norm in enumerate(norms):
        getattr(theirs, f"norm{i + 1}").weight.data = p[f"{prefix}{norm}.gamma"]
        getattr(theirs, f"norm{i + 1}").bias.data = p[f"{prefix}{norm}.beta"]


def check_encoder(p, norm_first, x, y):
    """Against PyTorch, whose norms come in the order of use."""
    for i in range(2):
        theirs = torch.nn.TransformerEncoderLayer(WIDTH, HEADS, INNER, 0.0, "gelu", batch_first=True, norm_first=norm_first)
        fill_attention(theirs.self_attn, p, f"layers.{i}.mha.")
        fill_rest(theirs, p, f"layers.{i}.", ("norm_2", "norm_1") if norm_first else ("norm_1", "norm_2"))
        x = theirs(x, src_mask=causal(x.shape[1])[0])
    assert torch.allclose(x, y)


def check_decoder(p, norm_first, x, memory, y):
    for i in range(2):
        theirs = torch.nn.TransformerDecoderLayer(WIDTH, HEADS, INNER, 0.0, "gelu", batch_first=True, norm_first=norm_first)
        fill_attention(theirs.self_attn, p, f"layers.{i}.self_attn.")
        fill_attention(theirs.multihead_attn, p, f"layers.{i}.cross_attn.")
        fill_rest(theirs, p, f"layers.{i}.", ("norm_3", "norm_1", "norm_2") if norm_first else ("norm_1", "norm_2", "norm_3"))
        x = theirs(x, memory, tgt_mask=causal(x.shape[1])[0], memory_key_padding_mask=PAD)
    assert torch.allclose(x, y)


def transformers():
    p = Params(0.2, inner_shapes(""))
    x = leaf((2, 3, WIDTH), 31)
    g.case("pwff", p.linear("linear_outer", torch.nn.functional.gelu(p.linear("linear_inner", x))), x, *p.values())
    encoder = Params(0.5, encoder_shapes(0) + encoder_shapes(1))
    decoder = Params(0.5, decoder_shapes(0) + decoder_shapes(1))
    x, memory = leaf((2, 4, WIDTH), 31), leaf((2, 4, WIDTH), 32)
    for norm_first, suffix in ((False, ""), (True, "_norm_first")):
        y = encode(encoder, 2, norm_first, x, attn=causal(4))
        check_encoder(encoder, norm_first, x, y)
        g.case("encoder" + suffix, y, x, *encoder.values())
        y = decode(decoder, 2, norm_first, x, memory, dict(attn=causal(4)), dict(pad=PAD))
        check_decoder(decoder, norm_first, x, memory, y)
        g.case("decoder" + suffix, y, x, memory, *decoder.values())
    one = Params(0.5, encoder_shapes(0))
    g.case("encoder_options", encode(one, 1, False, x, torch.relu, pad=PAD, quiet=True), x, *one.values())


# -- recurrent ----------------------------------------------------------------------------------

STEPS, INPUT, HIDDEN = 4, 3, 5


def gate_shapes(name, bias=True):
    return linear_shapes(name + ".input_transform", INPUT, HIDDEN, bias) + linear_shapes(name + ".hidden_transform", HIDDEN, HIDDEN, bias)


def gates_shapes(names, bias=True, prefix=""):
    return [row for name in names for row in gate_shapes(prefix + name, bias)]


RNN, GRU, LSTM = ("gate",), ("update_gate", "reset_gate", "new_gate"), ("input_gate", "forget_gate", "output_gate", "cell_gate")


def steps_of(step, x, states, reverse):
    """Outputs [batch, steps, hidden] and the last states; step(x of it, states) gives the states after it, hidden first."""
    outputs = [None] * x.shape[1]
    for t in reversed(range(x.shape[1])) if reverse else range(x.shape[1]):
        states = step(x[:, t], states)
        outputs[t] = states[0]
    return torch.stack(outputs, 1), states


def clipped(x, clip):
    return x if clip is None else x.clamp(-clip, clip)


def gate_product(p, name, x, h):
    return p.linear(name + ".input_transform", x) + p.linear(name + ".hidden_transform", h)


def rnn(p, x, h, prefix="", reverse=False, clip=None, activation=torch.tanh):
    return steps_of(lambda x, s: [clipped(activation(gate_product(p, prefix + "gate", x, s[0])), clip)], x, [h], reverse)


def gru(p, x, h, prefix="", reverse=False, clip=None, reset_after=True, gate=torch.sigmoid, hidden=torch.tanh):
    def step(x, states):
        h = states[0]
        z, r = (gate(gate_product(p, prefix + name, x, h)) for name in ("update_gate", "reset_gate"))
        name = prefix + "new_gate"
        if reset_after:
            n = hidden(p.linear(name + ".input_transform", x) + r * p.linear(name + ".hidden_transform", h))
        else:
            n = hidden(gate_product(p, name, x, r * h))
        return [clipped((1 - z) * n + z * h, clip)]

    return steps_of(step, x, [h], reverse)


def lstm(p, x, h, c, prefix="", reverse=False, clip=None, input_forget=False, gate=torch.sigmoid, cell=torch.tanh, hidden=torch.tanh):
    def step(x, states):
        h, c = states
        i, f, o, g = (gate_product(p, prefix + name, x, h) for name in LSTM)
        i, o = gate(i), gate(o)
        c = clipped((1 - i if input_forget else gate(f)) * c + i * cell(g), clip)
        return [o * hidden(c), c]

    return steps_of(step, x, [h, c], reverse)


def flat(*tensors):
    return torch.cat([x.reshape(-1) for x in tensors])


def both(layer, p, x, states, **options):
    """Two directions: outputs, last states [2, ..]."""
    there, ends = layer(p, x, *[s[0] for s in states], prefix="forward.", **options)
    back, back_ends = layer(p, x, *[s[1] for s in states], prefix="reverse.", reverse=True, **options)
    return torch.cat([there, back], 2), [torch.stack(pair) for pair in zip(ends, back_ends)]


def check_recurrent(theirs, p, prefixes, order, x, states, y):
    """Against PyTorch, whose gates come in `order`."""
    for prefix, suffix in zip(prefixes, ("", "_reverse")):
        for which, name in (("ih", "input_transform"), ("hh", "hidden_transform")):
            getattr(theirs, f"weight_{which}_l0{suffix}").data = torch.cat([p[f"{prefix}{gate}.{name}.weight"].T for gate in order])
            getattr(theirs, f"bias_{which}_l0{suffix}").data = torch.cat([p[f"{prefix}{gate}.{name}.bias"] for gate in order])
    states = [s if len(prefixes) == 2 else s[None] for s in states]
    assert torch.allclose(theirs(x, states[0] if len(states) == 1 else tuple(states))[0], y)


def used(p, *unused):
    return [value for name, value in p.items() if not name.startswith(unused)]


def recurrent():
    x, h, c = leaf((2, STEPS, INPUT), 31, 0.5), leaf((2, HIDDEN), 32, 0.5), leaf((2, HIDDEN), 33, 0.5)
    hs, cs = leaf((2, 2, HIDDEN), 32, 0.5), leaf((2, 2, HIDDEN), 33, 0.5)
    hard_sigmoid = lambda x: torch.clamp(0.2 * x + 0.5, 0, 1)
    kinds = (("rnn", rnn, RNN, ("gate",), torch.nn.RNN, 1), ("gru", gru, GRU, ("reset_gate", "update_gate", "new_gate"), torch.nn.GRU, 1),
             ("lstm", lstm, LSTM, ("input_gate", "forget_gate", "cell_gate", "output_gate"), torch.nn.LSTM, 2))
    for name, layer, gates, order, theirs, count in kinds:
        p, states, pairs = Params(0.2, gates_shapes(gates)), [h, c][:count], [hs, cs][:count]
        y, last = layer(p, x, *states)
        check_recurrent(theirs(INPUT, HIDDEN, batch_first=True), p, [""], order, x, states, y)
        g.case(name, flat(y, *last), x, *states, *p.values())
        bare = Params(0.2, gates_shapes(gates, False))
        zeros = [torch.zeros(2, HIDDEN)] * count
        g.case(name + "_bare", flat(*layer(bare, x, *zeros)[:1]), x, *bare.values())
        two = Params(0.2, gates_shapes(gates, prefix="forward.") + gates_shapes(gates, prefix="reverse."))
        y, last = both(layer, two, x, pairs)
        check_recurrent(theirs(INPUT, HIDDEN, batch_first=True, bidirectional=True), two, ["forward.", "reverse."], order, x, pairs, y)
        g.case("bi_" + name, flat(y, *last), x, *pairs, *two.values())
    p = Params(0.2, gates_shapes(RNN))
    y, last = rnn(p, x, h, reverse=True, clip=0.4, activation=torch.nn.functional.softsign)
    g.case("rnn_options", flat(y.transpose(0, 1), *last), x, h, *p.values())
    p = Params(0.2, gates_shapes(GRU))
    y, last = gru(p, x, h, reset_after=False, clip=0.6, gate=hard_sigmoid, hidden=torch.nn.functional.softsign)
    g.case("gru_options", flat(y, *last), x, h, *p.values())
    p = Params(0.2, gates_shapes(LSTM))
    y, last = lstm(p, x, h, c, reverse=True)
    g.case("lstm_reverse", flat(y, *last), x, h, c, *p.values())
    y, last = lstm(p, x, h, c, clip=0.4)
    g.case("lstm_clip", flat(y, *last), x, h, c, *p.values())
    y, last = lstm(p, x, h, c, reverse=True, input_forget=True, gate=hard_sigmoid, cell=torch.nn.functional.softsign, hidden=torch.sigmoid)
    g.case("lstm_options", flat(y.transpose(0, 1), *last), x, h, c, *used(p, "forget_gate"))


# -- training -----------------------------------------------------------------------------------


def losses(name, p, forward, shape):
    """Of 20 steps of Adam with Burn's epsilon, before each step."""
    values, target = [], pattern(shape, 41) * 0.4
    optimizer = torch.optim.Adam(list(p.values()), lr=0.01, eps=1e-5)
    for _ in range(20):
        loss = ((forward() - target) ** 2).mean()
        values.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    g.values(f"train_{name}", values)


def training():
    x, zeros = pattern((4, 6, INPUT), 31), torch.zeros(4, HIDDEN)
    p = Params(0.2, gates_shapes(RNN))
    losses("rnn", p, lambda: rnn(p, x, zeros)[0], (4, 6, HIDDEN))
    q = Params(0.2, gates_shapes(GRU))
    losses("gru", q, lambda: gru(q, x, zeros)[0], (4, 6, HIDDEN))
    r = Params(0.2, gates_shapes(LSTM))
    losses("lstm", r, lambda: lstm(r, x, zeros, zeros)[0], (4, 6, HIDDEN))
    s = Params(0.2, gates_shapes(LSTM, prefix="forward.") + gates_shapes(LSTM, prefix="reverse."))
    losses("bi_lstm", s, lambda: both(lstm, s, x, [[zeros, zeros]] * 2)[0], (4, 6, 2 * HIDDEN))
    e = Params(0.5, encoder_shapes(0) + encoder_shapes(1))
    y = pattern((4, 6, WIDTH), 31)
    losses("encoder", e, lambda: encode(e, 2, True, y, attn=causal(6)), (4, 6, WIDTH))


positions()
training()
recurrent()
transformers()
attention()
cross_attention()

g.write()
