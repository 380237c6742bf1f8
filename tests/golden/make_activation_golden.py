#!/usr/bin/env python3
"""Writes activation_golden.h beside this file. Run: python3 tests/golden/make_activation_golden.py"""
import torch
import torch.nn.functional as F

from nn_golden import Golden, leaf

g = Golden("activation_golden.h", "activations")

# The input has no corner of any of them: 2 * pattern + 0.013.
CASES = {
    "identity": lambda x: x * 1,
    "gelu": F.gelu,
    "gelu_approximate": lambda x: F.gelu(x, approximate="tanh"),
    "relu": F.relu,
    "leaky_relu": lambda x: F.leaky_relu(x, 0.2),
    "selu": F.selu,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "hard_sigmoid": lambda x: torch.clamp(0.2 * x + 0.5, 0, 1),  # ONNX's slope
    "hard_swish": F.hardswish,
    "softplus": lambda x: F.softplus(x, 2, threshold=1e9),
    "softsign": F.softsign,
    "elu": lambda x: F.elu(x, 0.7),
    "celu": lambda x: F.celu(x, 0.7),
    "thresholded_relu": lambda x: F.threshold(x, 1, 0),
    "hard_shrink": lambda x: F.hardshrink(x, 0.4),
    "soft_shrink": lambda x: F.softshrink(x, 0.4),
    # ONNX's: x -+ bias beyond the border
    "shrink": lambda x: torch.where(x.abs() > 0.6, x - 0.3 * torch.sign(x), torch.zeros_like(x)),
}
for name, f in CASES.items():
    x = leaf((4, 6), 1)
    g.case(name, f(2 * x + 0.013), x)

# modules only
MODULES = {
    "mish": F.mish,
    "silu": F.silu,
    "log_sigmoid": F.logsigmoid,
    "tanhshrink": F.tanhshrink,
    "relu6": lambda x: torch.clamp(x, 0, 6),
    "hardtanh": lambda x: F.hardtanh(x, -0.7, 1.2),
    "threshold": lambda x: F.threshold(x, 0.3, -2),
    "rrelu": F.rrelu,  # not training: the mean slope of 1/8 .. 1/3
    "glu": lambda x: F.glu(x, 1),
    "glu_0": lambda x: F.glu(x, 0),
}
for name, f in MODULES.items():
    x = leaf((4, 6), 1)
    g.case(name, f(2 * x + 0.013), x)
x = leaf((4, 6), 1)
for name, count in (("prelu", 1), ("prelu_channels", 6)):
    alpha = leaf((count,), 2)
    g.case(name, F.prelu(2 * x + 0.013, alpha), x, alpha)
x, inner, outer, b = leaf((2, 3, 4), 1), leaf((4, 5), 2), leaf((4, 5), 3), leaf((5,), 4)
g.case("swiglu", F.silu(x @ inner) * (x @ outer), x, inner, outer)
g.case("swiglu_bias", F.silu(x @ inner + b) * (x @ outer + 2 * b), x, inner, outer, b)

g.write()
