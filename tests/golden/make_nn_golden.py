#!/usr/bin/env python3
"""Writes nn_golden.h beside this file: outputs of layers and losses, computed by PyTorch in f64.

Inputs are not stored: pattern(count, k) gives the same numbers here and in tests/support/nn_testing.h.
Run: python3 tests/golden/make_nn_golden.py   (made with PyTorch 1.13)
"""
import os
import torch
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)


def pattern(shape, k):
    count = 1
    for size in shape:
        count *= size
    return torch.tensor([((i * 37 + k * 11) % 101 - 50) / 25 for i in range(count)]).reshape(shape)


rows = []


def golden(name, x):
    x = x.reshape(-1).tolist()
    text = f"static const double golden_{name}[] = {{"
    line = ""
    lines = []
    for value in x:
        item = f"{value:.12g}, "
        if len(line) + len(item) > 118:
            lines.append("    " + line.rstrip())
            line = ""
        line += item
    lines.append("    " + line.rstrip())
    rows.append(text + "\n" + "\n".join(lines) + "\n};\n")


def same(x, kernel, stride, dilation, value=0.0):
    """x padded so that ceil(size / stride) windows fit, the odd position at the end."""
    pads = []
    for axis in (3, 2):
        i = axis - 2
        size = x.shape[axis]
        outputs = (size + stride[i] - 1) // stride[i]
        total = max((outputs - 1) * stride[i] + dilation[i] * (kernel[i] - 1) + 1 - size, 0)
        pads += [total // 2, total - total // 2]
    return F.pad(x, pads, value=value)


# linear: Burn's weight is [inputs, outputs]
golden("linear", F.linear(pattern((2, 3, 4), 1), pattern((4, 5), 2).T, pattern((5,), 3)))

# convolutions
x1 = pattern((2, 4, 9), 1)
w1 = pattern((6, 2, 3), 2)
b = pattern((6,), 3)
golden("conv1d", F.conv1d(x1, w1, b, stride=2, padding=1, dilation=2, groups=2))
golden("conv1d_uneven", F.conv1d(F.pad(x1, (2, 1)), w1, b, groups=2))
x2 = pattern((2, 4, 7, 6), 1)
w2 = pattern((6, 2, 3, 2), 2)
golden("conv2d", F.conv2d(x2, w2, b, stride=(2, 1), padding=(1, 2), dilation=(1, 2), groups=2))
golden("conv2d_uneven", F.conv2d(F.pad(x2, (2, 0, 1, 3)), w2, b, groups=2))
golden("conv2d_same_even", F.conv2d(x2, pattern((6, 2, 2, 4), 2), b, padding="same", groups=2))
golden("conv2d_same_stride", F.conv2d(same(x2, (3, 2), (3, 2), (2, 1)), w2, b, stride=(3, 2), dilation=(2, 1), groups=2))
golden("conv_transpose2d", F.conv_transpose2d(pattern((1, 4, 3, 4), 1), pattern((4, 3, 3, 2), 2), b, stride=(2, 3),
                                              padding=(1, 0), output_padding=(1, 2), dilation=(1, 2), groups=2))

# pooling
golden("max_pool1d", F.max_pool1d(x1, 3, padding=1))
golden("max_pool2d", F.max_pool2d(x2, (3, 2), stride=(2, 1), padding=(1, 0), dilation=(1, 2)))
golden("max_pool2d_same_even", F.max_pool2d(same(x2 - 4, (2, 4), (1, 1), (1, 1), float("-inf")), (2, 4), stride=1))
golden("max_pool2d_ceil", F.max_pool2d(x2, (2, 4), ceil_mode=True))
golden("avg_pool1d", F.avg_pool1d(x1, 2, stride=3, padding=1, count_include_pad=False))
golden("avg_pool2d", F.avg_pool2d(x2, (3, 2)))
golden("avg_pool2d_exclude", F.avg_pool2d(x2, (3, 2), stride=(2, 2), padding=(1, 1), count_include_pad=False))
golden("avg_pool2d_uneven", F.avg_pool2d(F.pad(x2, (2, 0, 1, 3)), (3, 2)))
golden("adaptive_avg_pool1d", F.adaptive_avg_pool1d(x1, 4))
golden("adaptive_avg_pool2d", F.adaptive_avg_pool2d(x2, (3, 4)))

# normalisation; Burn's running variance is the biased one
gamma, beta = pattern((4,), 4), pattern((4,), 5)
mean, var = torch.zeros(4), torch.ones(4)
for step in range(2):
    x = pattern((3, 4, 2, 2), 6 + step)
    golden(f"batch_norm_train_{step}", F.batch_norm(x, None, None, gamma, beta, training=True))
    mean = 0.9 * mean + 0.1 * x.mean((0, 2, 3))
    var = 0.9 * var + 0.1 * x.var((0, 2, 3), unbiased=False)
golden("running_mean", mean)
golden("running_var", var)
golden("batch_norm_valid", F.batch_norm(pattern((3, 4, 2, 2), 8), mean, var, gamma, beta, training=False))
golden("batch_norm_rank2", F.batch_norm(pattern((5, 4), 9), None, None, gamma, beta, training=True))
golden("layer_norm", F.layer_norm(pattern((2, 3, 5), 1), (5,), pattern((5,), 2), pattern((5,), 3)))
golden("layer_norm_no_bias", F.layer_norm(pattern((2, 3, 5), 1), (5,), pattern((5,), 2)))

# embedding
golden("embedding", F.embedding(torch.tensor([[0, 3, 1], [3, 2, 0]]), pattern((4, 3), 1)))

# activations
x = pattern((23,), 1)
golden("relu", F.relu(x))
golden("gelu", F.gelu(x))
golden("sigmoid", torch.sigmoid(x))
golden("tanh", torch.tanh(x))
golden("silu", F.silu(x))
golden("leaky_relu", F.leaky_relu(x, 0.01))
golden("softplus", F.softplus(x))
golden("softplus_2", F.softplus(x, 2, threshold=1e9))

# losses
logits = pattern((4, 5), 1)
targets = torch.tensor([2, 0, 4, 1])
weights = torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0])
kept = torch.tensor([1.0, 1.0, 0.0, 0.0])  # pad tokens 4 and 1
probabilities = torch.softmax(logits, 1)
golden("cross_entropy", F.cross_entropy(logits, targets))
golden("cross_entropy_items", F.cross_entropy(logits, targets, reduction="none"))
golden("cross_entropy_weights", F.cross_entropy(logits, targets, weights))
golden("cross_entropy_smooth", F.cross_entropy(logits, targets, label_smoothing=0.1))
golden("cross_entropy_smooth_weights", F.cross_entropy(logits, targets, weights, label_smoothing=0.1))
items = F.cross_entropy(logits, targets, reduction="none")
golden("cross_entropy_pads", (items * kept).sum() / 4)
items = F.cross_entropy(logits, targets, weights, reduction="none", label_smoothing=0.1)
golden("cross_entropy_everything", (items * kept).sum() / weights[targets].sum())
golden("cross_entropy_probabilities", F.nll_loss(torch.log(probabilities), targets))
golden("mse_mean", F.mse_loss(pattern((3, 4), 1), pattern((3, 4), 2)))
golden("mse_sum", F.mse_loss(pattern((3, 4), 1), pattern((3, 4), 2), reduction="sum"))
golden("mse_items", F.mse_loss(pattern((3, 4), 1), pattern((3, 4), 2), reduction="none"))

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "nn_golden.h"), "w") as file:
    file.write("/* nn_golden.h - outputs of layers and losses by PyTorch 1.13 in f64, written by make_nn_golden.py. */\n"
               "#ifndef BURN_NN_GOLDEN_H\n#define BURN_NN_GOLDEN_H\n\n" + "\n".join(rows) + "\n#endif\n")
