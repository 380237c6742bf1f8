#!/usr/bin/env python3
"""Writes lora_golden.h beside this file. Run: python3 tests/golden/make_lora_golden.py"""
import torch
import torch.nn.functional as F

from nn_golden import Golden, leaf, pattern

g = Golden("lora_golden.h", "layers with a low-rank adapter,")

# Low-rank adaptation of a linear layer: x W + alpha / rank * (x a) b + bias, W and the bias fixed.
x, a, b = leaf((2, 3, 5), 1), leaf((5, 2), 2), leaf((2, 4), 3)
weight, bias = pattern((5, 4), 4), pattern((4,), 5)
y = F.linear(x, weight.T, bias) + 6 / 2 * F.linear(F.linear(x, a.T), b.T)
g.case("lora_linear", y, x, a, b)

# The same of a table: rows of W + alpha / rank * a b.
table, a, b = pattern((6, 3), 6), leaf((6, 2), 7), leaf((2, 3), 8)
rows = torch.tensor([[5, 0], [2, 2]])
g.case("lora_embedding", table[rows] + 6 / 2 * F.embedding(rows, a) @ b, a, b)

g.write()
