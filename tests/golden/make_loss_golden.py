#!/usr/bin/env python3
"""Writes loss_golden.h beside this file. Run: python3 tests/golden/make_loss_golden.py

Each loss without reduction, with its gradients. Where Burn's definition is not PyTorch's it is written out.
"""
import torch
import torch.nn.functional as F

from nn_golden import Golden, leaf, pattern

g = Golden("loss_golden.h", "losses")


def pair(k=1):
    return leaf((3, 4), k), leaf((3, 4), k + 1)


# over errors
x, t = pair()
g.case("huber", F.huber_loss(x, t, reduction="none", delta=0.7), x, t)
g.case("huber_mean", F.huber_loss(x, t, delta=0.7).reshape(1), x, t)
g.case("smooth_l1", F.smooth_l1_loss(x, t, reduction="none", beta=0.7), x, t)
g.case("smooth_l1_dims", F.smooth_l1_loss(x, t, reduction="none", beta=0.7).mean(1, keepdim=True), x, t)
g.case("l1", F.l1_loss(x, t, reduction="none"), x, t)
g.case("l2", F.mse_loss(x, t, reduction="none"), x, t)
g.case("l1_sum", F.l1_loss(x, t, reduction="sum").reshape(1), x, t)
g.case("lp_3", (x - t).abs() ** 3, x, t)
g.case("lp_dims", ((x - t).abs() ** 1.5).mean((0, 1), keepdim=True), x, t)


def stirling(t):
    """PyTorch's own loses its gradient in the logarithm of 0."""
    s = t.clamp(min=1)
    return torch.where(t > 1, s * s.log() - s + 0.5 * (2 * torch.pi * s).log(), torch.zeros_like(t))


counts = (pattern((3, 4), 2).abs() * 2).round().requires_grad_()
g.case("poisson_log", F.poisson_nll_loss(x, counts, reduction="none"), x, counts)
g.case("poisson_full", x.exp() - counts * x + stirling(counts), x, counts)
rate = x.abs() + 0.3
g.case("poisson_rate", F.poisson_nll_loss(rate, counts, log_input=False, reduction="none"), x, counts)
v = leaf((3, 4), 3)
var = v.abs() + 0.1
g.case("gaussian", F.gaussian_nll_loss(x, t, var, reduction="none"), x, t, v)
g.case("gaussian_full", F.gaussian_nll_loss(x, t, var, full=True, reduction="none"), x, t, v)

# over classes
kept, classes = torch.tensor([1.0, 0.0, 1.0]), torch.tensor([2, 0, 3])  # 0 is a pad token
w = torch.tensor([1.0, 2.0, 3.0, 4.0])
g.case("cross_entropy", F.cross_entropy(x, classes).reshape(1), x)
g.case("cross_entropy_probabilities", F.nll_loss(torch.log(torch.softmax(x, 1)), classes).reshape(1), x)
items = F.cross_entropy(x, classes, w, reduction="none", label_smoothing=0.1)
g.case("cross_entropy_items", items * kept, x)
g.case("cross_entropy_everything", ((items * kept).sum() / w[classes].sum()).reshape(1), x)
ones = torch.tensor([[0, 1, 1, 0], [1, 0, 0, 1], [1, 1, 0, 0]])
w = torch.tensor([1.0, 2.0, 3.0, 4.0])
p = torch.sigmoid(x)
g.case("bce", F.binary_cross_entropy(p, ones.double()).reshape(1), x)
g.case("bce_logits", F.binary_cross_entropy_with_logits(x, ones.double()).reshape(1), x)
g.case("bce_weights", F.binary_cross_entropy(p, ones.double(), w.expand(3, 4)).reshape(1), x)
g.case("bce_smooth", F.binary_cross_entropy_with_logits(x, ones * 0.9 + 0.1 / 4, w.expand(3, 4)).reshape(1), x)
row = leaf((5,), 4)
bits = torch.tensor([0, 1, 1, 0, 1])
g.case("bce_row", F.binary_cross_entropy_with_logits(row, bits * 0.8 + 0.2 / 2, w[bits]).reshape(1), row)
log_p, q = F.log_softmax(x, 1), torch.softmax(t, 1)
g.case("kl_div", F.kl_div(log_p, q, reduction="none"), x, t)
g.case("kl_div_log", F.kl_div(log_p, torch.log(q), reduction="none", log_target=True), x, t)
g.case("kl_div_batch_mean", F.kl_div(log_p, q, reduction="batchmean").reshape(1), x, t)
g.case("kl_div_mean", F.kl_div(log_p, q).reshape(1), x, t)

# margins
sides = torch.tensor([1, -1, 1])
g.case("cosine_embedding", F.cosine_embedding_loss(x, t, sides, margin=-0.6, reduction="none"), x, t)
g.case("cosine_embedding_sum", F.cosine_embedding_loss(x, t, sides, reduction="sum").reshape(1), x, t)
signs = ones.double() * 2 - 1
g.case("hinge_embedding", F.hinge_embedding_loss(x, signs, margin=0.8, reduction="none"), x)
g.case("margin_ranking", F.margin_ranking_loss(x, t, signs, margin=0.3, reduction="none"), x, t)
g.case("soft_margin", F.soft_margin_loss(x, signs, reduction="none"), x)
classes = torch.tensor([2, 0, 3])
g.case("multi_margin", F.multi_margin_loss(x, classes, reduction="none", margin=0.9), x)
g.case("multi_margin_2", F.multi_margin_loss(x, classes, p=2, reduction="none", margin=0.9), x)
n = leaf((3, 4), 5)


def triplet(a, p, n, margin, power):
    """Burn adds no epsilon to the differences."""
    return ((a - p).norm(power, 1) - (a - n).norm(power, 1) + margin).clamp(min=0)


g.case("triplet_margin", triplet(x, t, n, 4, 2), x, t, n)
g.case("triplet_margin_1", triplet(x, t, n, 9, 1), x, t, n)

# sequences
frames, labels = torch.tensor([6, 5, 2]), torch.tensor([3, 2, 3])
targets = torch.tensor([[1, 1, 3], [2, 4, 0], [1, 2, 3]])
x = leaf((6, 3, 5), 1)
log_p = F.log_softmax(x, 2)
kept = 2  # the third target cannot be reached in its frames
g.case("ctc", F.ctc_loss(log_p[:, :kept], targets[:kept], frames[:kept], labels[:kept], reduction="none"), x)
g.case("ctc_zero", F.ctc_loss(log_p, targets, frames, labels, reduction="none", zero_infinity=True), x)
g.case("ctc_mean", F.ctc_loss(log_p, targets, frames, labels, zero_infinity=True).reshape(1), x)


def rnnt(log_p, targets, frames, labels, blank):
    """Graves 2012, section 2.4, cell by cell."""
    losses = []
    for i in range(len(frames)):
        alpha = {(0, 0): torch.tensor(0.0)}
        for t in range(frames[i]):
            for u in range(labels[i] + 1):
                ways = []
                if t > 0:
                    ways.append(alpha[t - 1, u] + log_p[i, t - 1, u, blank])
                if u > 0:
                    ways.append(alpha[t, u - 1] + log_p[i, t, u - 1, targets[i, u - 1]])
                if ways:
                    alpha[t, u] = torch.logsumexp(torch.stack(ways), 0)
        losses.append(-alpha[frames[i].item() - 1, labels[i].item()] - log_p[i, frames[i] - 1, labels[i], blank])
    return torch.stack(losses)


x = leaf((3, 4, 3, 5), 1)
frames, labels = torch.tensor([4, 2, 1]), torch.tensor([2, 1, 0])
targets = torch.tensor([[1, 3], [2, 4], [4, 4]])
g.case("rnnt", rnnt(F.log_softmax(x, 3), targets, frames, labels, 0), x)
g.case("rnnt_blank", rnnt(F.log_softmax(x, 3), targets, frames, labels, 1), x)
even = torch.zeros((3, 4, 3, 5), requires_grad=True)  # where all ways are equal
g.case("rnnt_even", rnnt(F.log_softmax(even, 3), targets, frames, labels, 0), even)

g.write()
