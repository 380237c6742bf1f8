#!/usr/bin/env python3
"""Writes gram_matrix_golden.h beside this file. Run: python3 tests/golden/make_gram_matrix_golden.py

GramMatrixLoss of Burn (burn-vision, gram_matrix_loss.rs and vgg19.rs) on a VGG19 whose parameters are numbers(..), which
nn_gram_matrix_test.c makes too.
"""
import numpy as np
import torch
import torch.nn.functional as F

from nn_golden import Golden, leaf, pattern

LAYERS = [(3, 64), (64, 64), (64, 128), (128, 128), (128, 256), (256, 256), (256, 256), (256, 256), (256, 512), (512, 512), (512, 512),
          (512, 512), (512, 512)]
BLOCKS = (0, 2, 4, 8, 12)  # the first layers of the blocks: their outputs are features, and pools stand in front of all but the first
WEIGHTS = (5000, 1e4, 0, 2e4, 3e4)


def numbers(shape, k, scale):
    """-scale / 2 .. scale / 2, in f32."""
    x = np.arange(int(np.prod(shape)), dtype=np.uint32) * np.uint32(2654435761) + np.uint32(k * 40503)
    x ^= x >> np.uint32(15)
    x *= np.uint32(2246822519)
    x ^= x >> np.uint32(13)
    values = (x.astype(np.float64) / 2.0 ** 32 - 0.5) * scale
    return torch.tensor(values.astype(np.float32).astype(np.float64)).reshape(shape)


def features(x, pool):
    x = (x - torch.tensor([0.485, 0.456, 0.406]).reshape(1, 3, 1, 1)) / torch.tensor([0.229, 0.224, 0.225]).reshape(1, 3, 1, 1)
    found = []
    for i, (channels, out) in enumerate(LAYERS):
        if i in BLOCKS[1:]:
            x = pool(x, 2, 2)
        weight = numbers((out, channels, 3, 3), 2 * i, np.sqrt(24 / (9 * channels)))
        x = torch.relu(F.conv2d(x, weight, numbers((out,), 2 * i + 1, 0.2), padding=1))
        if i in BLOCKS:
            found.append(x.flatten(2))
    return found


def loss(x, t, pool):
    total = 0
    for f, g, weight in zip(features(x, pool), features(t, pool), WEIGHTS):
        size = f.shape[1] * f.shape[2]
        total = total + weight * ((f @ f.mT - g @ g.mT) ** 2).sum((1, 2)) / (4 * size ** 2)
    return total


def image(x):
    return x * 0.25 + 0.5


g = Golden("gram_matrix_golden.h", "the loss of Gram matrices")
x = leaf((1, 3, 16, 16), 1)
predictions = torch.cat([image(x), image(pattern((1, 3, 16, 16), 2))])
targets = torch.cat([image(pattern((1, 3, 16, 16), 3)), image(pattern((1, 3, 16, 16), 4))])
g.case("gram_matrix", loss(predictions, targets, F.max_pool2d), x)
g.case("gram_matrix_avg", loss(predictions, targets, F.avg_pool2d))
g.write()
