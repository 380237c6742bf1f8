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

# the joint batch of two replicas through two norms: what nn_sync_batch_norm_test.c computes in two threads
x, gammas, betas = leaf((5, 4, 3), 1), [leaf((4,), 2), leaf((4,), 4)], [leaf((4,), 3), leaf((4,), 5)]
first = F.batch_norm(x, None, None, gammas[0], betas[0], training=True, eps=0.01)
y = F.batch_norm(torch.tanh(first), None, None, gammas[1], betas[1], training=True, eps=0.01)
g.case("batch_norm_sync", y, x, gammas[0], betas[0], gammas[1], betas[1])
mean, var = x.detach().mean((0, 2)), x.detach().var((0, 2), correction=0)  # Burn keeps the biased one
g.values("batch_norm_sync_running", (0.1 * mean).tolist() + (0.9 + 0.1 * var).tolist())

g.write()
