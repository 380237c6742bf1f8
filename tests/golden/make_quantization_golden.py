#!/usr/bin/env python3
"""Writes quantization_golden.h beside this file: convolutions of quantized values. Run: python3 tests/golden/make_quantization_golden.py

PyTorch convolves the values themselves, as whole numbers in f64, where every sum is exact; scales follow. Inputs are patterns that
the test makes too: value i of pattern k is (37 i + 11 k) mod 255 - 127, scale i is (1 + i mod 5) / 64, number i of a bias i - 1.5.
"""
import os

import torch
import torch.nn.functional as F

# name, x, weight, scales of the weight (1, or one per output channel), bias, stride, padding, dilation, groups
CASES = [
    ("one", (1, 1, 1, 1), (1, 1, 1, 1), 1, False, (1, 1), (0, 0), (1, 1), 1),
    ("plain", (1, 2, 5, 4), (3, 2, 2, 3), 1, True, (1, 1), (0, 0), (1, 1), 1),
    ("padded", (2, 3, 5, 5), (4, 3, 3, 3), 4, True, (1, 1), (1, 1), (1, 1), 1),
    ("strided", (1, 5, 9, 7), (3, 5, 3, 2), 3, False, (2, 3), (1, 2), (1, 1), 1),
    ("dilated", (1, 4, 7, 9), (6, 2, 2, 3), 6, True, (1, 2), (2, 1), (2, 3), 2),
    ("depthwise", (2, 3, 6, 6), (3, 1, 3, 3), 1, False, (1, 1), (1, 1), (1, 1), 3),
    ("pointwise", (1, 7, 3, 5), (5, 7, 1, 1), 5, True, (1, 1), (0, 0), (1, 1), 1),
]


def values(shape, k):
    count = torch.Size(shape).numel()
    return ((torch.arange(count, dtype=torch.int64) * 37 + 11 * k) % 255 - 127).to(torch.float64).reshape(shape)


def scales(count):
    return (1 + torch.arange(count, dtype=torch.float64) % 5) / 64


def numbers(x):
    lines, line = [], "   "
    for text in (f"{v:.12g}," for v in x.reshape(-1).tolist()):
        if len(line) + 1 + len(text) > 118:
            lines.append(line)
            line = "   "
        line += " " + text
    return "\n".join(lines + [line])


def pair(p):
    return f"{{{p[0]}, {p[1]}}}"


def convolved(x, weight, scale_count, bias, stride, padding, dilation, groups):
    sums = F.conv2d(values(x, 1), values(weight, 2), None, stride, padding, dilation, groups)
    out = sums * (1.0 / 64) * scales(scale_count).reshape(1, -1, 1, 1)
    return out + (torch.arange(weight[0]) - 1.5).reshape(1, -1, 1, 1) if bias else out


def sizes(shape):
    return "{" + ", ".join(str(s) for s in shape) + "}"


if __name__ == "__main__":
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "quantization_golden.h"), "w") as file:
        file.write(f"/* quantization_golden.h - convolutions of quantized values by PyTorch {torch.__version__.split('+')[0]}"
                   " in f64, written by\n * make_quantization_golden.py. */\n"
                   "#ifndef BURN_QUANTIZATION_GOLDEN_H\n#define BURN_QUANTIZATION_GOLDEN_H\n")
        rows = []
        for name, x, weight, scale_count, bias, stride, padding, dilation, groups in CASES:
            out = convolved(x, weight, scale_count, bias, stride, padding, dilation, groups)
            file.write(f"\nstatic const double golden_conv_{name}[] = {{\n{numbers(out)}\n}};\n")
            rows.append(f"  X({name}, {scale_count}, {int(bias)}, {groups}, SIZES{sizes(x)}, SIZES{sizes(weight)}, "
                        f"SIZES{pair(stride)}, SIZES{pair(padding)}, SIZES{pair(dilation)})")
        rows = [row.replace("{", "(").replace("}", ")") for row in rows]
        width = max(len(row) for row in rows) + 1
        file.write("\n/* X(name, scales of the weight, bias, groups, x, weight, stride, padding, dilation) */\n")
        file.write(f"#define {'QUANTIZED_CONVS(X)':<{width - 8}} \\\n" + " \\\n".join(f"{row:<{width - 1}}" for row in rows).rstrip() + "\n")
        file.write("\n#endif\n")
