#!/usr/bin/env python3
"""Writes gpt2_golden.h beside this file: GPT-2 in a tiny size, by PyTorch in f64 from the same weights as tests/unit/nn/nn_gpt2_test.c.

Weights are patterns 2, 3, .. in the order of the module's record, times 0.1 (of norms: 1 + 0.1 times the pattern). Losses of three steps of
AdamW follow, and the gradients of the first step, of which every n-th element is kept.
"""
import torch
import torch.nn.functional as F

from nn_golden import Golden, pattern

VOCABULARY, LENGTH, WIDTH, LAYERS, HEADS, BATCH, EVERY = 29, 6, 8, 2, 2, 3, 7
g = Golden("gpt2_golden.h", "GPT-2 of two blocks, losses and gradients")

# As gpt2_model.h lists them; weights of linear layers are [in, out].
block = [("norm_1.gamma", (WIDTH,)), ("norm_1.beta", (WIDTH,)), ("qkv.weight", (WIDTH, 3 * WIDTH)), ("qkv.bias", (3 * WIDTH,)),
         ("out.weight", (WIDTH, WIDTH)), ("out.bias", (WIDTH,)), ("norm_2.gamma", (WIDTH,)), ("norm_2.beta", (WIDTH,)),
         ("up.weight", (WIDTH, 4 * WIDTH)), ("up.bias", (4 * WIDTH,)), ("down.weight", (4 * WIDTH, WIDTH)), ("down.bias", (WIDTH,))]
shapes = [("tokens.weight", (VOCABULARY, WIDTH)), ("positions.weight", (LENGTH, WIDTH))]
shapes += [(f"blocks.{i}.{name}", shape) for i in range(LAYERS) for name, shape in block]
shapes += [("norm.gamma", (WIDTH,)), ("norm.beta", (WIDTH,))]
p = {}
for k, (name, shape) in enumerate(shapes):
    p[name] = (0.1 * pattern(shape, 2 + k) + (1 if name.endswith("gamma") else 0)).requires_grad_()


def norm(name, x):
    return F.layer_norm(x, (WIDTH,), p[name + ".gamma"], p[name + ".beta"], 1e-5)


def linear(name, x):
    return x @ p[name + ".weight"] + p[name + ".bias"]


def forward(tokens):
    batch, length = tokens.shape
    x = p["tokens.weight"][tokens] + p["positions.weight"][:length]
    for i in range(LAYERS):
        name = f"blocks.{i}."
        q, k, v = linear(name + "qkv", norm(name + "norm_1", x)).chunk(3, -1)
        q, k, v = (y.view(batch, length, HEADS, WIDTH // HEADS).transpose(1, 2) for y in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(batch, length, WIDTH)
        x = x + linear(name + "out", y)
        x = x + linear(name + "down", F.gelu(linear(name + "up", norm(name + "norm_2", x)), approximate="tanh"))
    return norm("norm", x) @ p["tokens.weight"].T


stream = torch.tensor([(i * i * 7 + 3 * i) % VOCABULARY for i in range(BATCH * (LENGTH + 1))]).reshape(BATCH, LENGTH + 1)
decays = [value for name, value in p.items() if value.dim() > 1]
stays = [value for name, value in p.items() if value.dim() == 1]
optimizer = torch.optim.AdamW([{"params": decays, "weight_decay": 0.1}, {"params": stays, "weight_decay": 0.0}], lr=1e-2, betas=(0.9, 0.95),
                              eps=1e-8)
losses = []
for step in range(4):
    optimizer.zero_grad()
    loss = F.cross_entropy(forward(stream[:, :-1]).flatten(0, 1), stream[:, 1:].flatten())
    losses.append(loss.item())
    loss.backward()
    if step == 0:
        g.values("gpt2_gradients", [value.grad.flatten()[i].item() for value in p.values() for i in range(0, value.numel(), EVERY)])
    optimizer.step()
g.values("gpt2_losses", losses)
g.write()
