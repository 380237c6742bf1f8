#!/usr/bin/env python3
"""Writes conv_golden.h beside this file. Run: python3 tests/golden/make_conv_golden.py"""
import itertools
import math

import torch
import torch.nn.functional as F

from nn_golden import Golden, leaf

g = Golden("conv_golden.h", "convolutions and pooling over volumes, transposed and deformable convolutions,")

x, w, b = leaf((2, 4, 3, 4, 3), 1), leaf((6, 2, 2, 3, 2), 2), leaf((6,), 3)
g.case("conv3d", F.conv3d(x, w, b, stride=(1, 2, 1), padding=(1, 1, 0), dilation=(2, 1, 1), groups=2), x, w, b)
# Same with even kernels: the odd position is at the end of each axis.
g.case("conv3d_same", F.conv3d(F.pad(x, (0, 1, 1, 1, 0, 1)), w, b, groups=2), x, w, b)

x, w = leaf((1, 4, 5), 1), leaf((4, 3, 3), 2)
g.case("conv_transpose1d", F.conv_transpose1d(x, w, b, stride=2, padding=1, output_padding=1, dilation=2, groups=2), x, w, b)
x, w = leaf((1, 4, 2, 3, 2), 1), leaf((4, 3, 2, 2, 3), 2)
g.case("conv_transpose3d", F.conv_transpose3d(x, w, b, stride=(1, 2, 2), padding=(1, 0, 1), output_padding=(0, 1, 0),
                                              dilation=(2, 1, 1), groups=2), x, w, b)


def deformed(x, offset, w, mask, b, stride, padding, dilation, groups, offset_groups):
    """The definition of deformable convolution, tap by tap: bilinear reads, 0 outside."""
    (height, width), (out, per_group, kh, kw) = x.shape[2:], w.shape

    def read(image, row, column):
        total = 0
        for i, j in itertools.product((0, 1), (0, 1)):
            r, c = math.floor(row) + i, math.floor(column) + j
            if 0 <= r < height and 0 <= c < width:
                total = total + image[r, c] * (1 - abs(row - r)) * (1 - abs(column - c))
        return total

    values = []
    for n, o, i, j in itertools.product(range(x.shape[0]), range(out), *map(range, offset.shape[2:])):
        total = b[o]
        for c, p, q in itertools.product(range(per_group), range(kh), range(kw)):
            channel = o // (out // groups) * per_group + c
            tap = channel // (x.shape[1] // offset_groups) * kh * kw + p * kw + q
            row = i * stride[0] - padding[0] + p * dilation[0] + offset[n, 2 * tap, i, j]
            column = j * stride[1] - padding[1] + q * dilation[1] + offset[n, 2 * tap + 1, i, j]
            value = read(x[n, channel], row, column) * w[o, c, p, q]
            total = total + (value if mask is None else value * mask[n, tap, i, j])
        values.append(total)
    return torch.stack(values).reshape(x.shape[0], out, *offset.shape[2:])


x, w, b = leaf((1, 4, 5, 4), 1), leaf((2, 2, 2, 3), 2), leaf((2,), 3)
offset, mask = leaf((1, 24, 3, 4), 4), leaf((1, 12, 3, 4), 5)
between = 0.37 * offset + 0.013  # no tap on a pixel, where the gradient jumps
g.case("deform_conv2d", deformed(x, between, w, mask, b, (2, 1), (1, 1), (1, 1), 2, 2), x, offset, w, mask, b)
w, offset = leaf((2, 4, 2, 2), 2), leaf((1, 8, 5, 4), 4)
same = F.pad(x, (0, 1, 0, 1))  # Same with an even kernel
g.case("deform_conv2d_same", deformed(same, 0.37 * offset + 0.013, w, None, b, (1, 1), (0, 0), (1, 1), 1, 1), x, offset, w, b)

x = leaf((1, 2, 5, 4, 3), 1)
g.case("adaptive_avg_pool3d", F.adaptive_avg_pool3d(x, (2, 3, 2)), x)

g.write()
