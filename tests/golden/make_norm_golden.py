#!/usr/bin/env python3
"""Writes norm_golden.h beside this file. Run: python3 tests/golden/make_norm_golden.py"""
import torch
import torch.nn.functional as F

from nn_golden import Golden, leaf

g = Golden("norm_golden.h", "normalisation layers")

x, gamma, beta = leaf((2, 6, 3, 2), 1), leaf((6,), 2), leaf((6,), 3)
g.case("group_norm", F.group_norm(x, 3, gamma, beta, 0.01), x, gamma, beta)
g.case("group_norm_plain", F.group_norm(x, 2), x)
g.case("instance_norm", F.instance_norm(x, weight=gamma, bias=beta), x, gamma, beta)
line = leaf((2, 6, 5), 4)
g.case("instance_norm_plain", F.instance_norm(line), line)

x, gamma = leaf((2, 3, 5), 1), leaf((5,), 2)
g.case("rms_norm", x / torch.sqrt((x * x).mean(-1, keepdim=True) + 0.01) * gamma, x, gamma)


def local_response(x, size, alpha, beta, k):
    """Zeros around the channels: (size - 1) / 2 before, as in Burn and ONNX."""
    padded = F.pad((x * x).movedim(1, -1), ((size - 1) // 2, size // 2))
    return x / (k + alpha * padded.unfold(-1, size, 1).mean(-1).movedim(-1, 1)) ** beta


x = leaf((2, 5, 3), 1)
assert torch.allclose(local_response(x, 3, 0.3, 0.6, 2), F.local_response_norm(x, 3, 0.3, 0.6, 2))
g.case("local_response_norm", local_response(x, 3, 0.3, 0.6, 2), x)
g.case("local_response_norm_even", local_response(x, 4, 0.3, 0.75, 1), x)
plane = leaf((2, 5, 2, 2), 2)
g.case("local_response_norm_plane", local_response(plane, 7, 0.5, 0.75, 1), plane)

g.write()
