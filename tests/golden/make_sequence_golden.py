#!/usr/bin/env python3
"""Writes sequence_golden.h beside this file: values and gradients of the layers over sequences; see nn_golden.py.

Parameters are patterns 2, 3, .. in the order of the module's record, times a scale; gradients stand in the order inputs, parameters.
"""
import math

import torch

from nn_golden import Golden, pattern

g = Golden("sequence_golden.h", "layers over sequences")


class Params(dict):
    """Parameters by the name that they have in the record."""

    def __init__(self, scale, shapes):
        super().__init__({name: leaf(shape, 2 + i, scale) for i, (name, shape) in enumerate(shapes)})

    def linear(self, name, x):
        y = x @ self[name + ".weight"]
        return y + self[name + ".bias"] if name + ".bias" in self else y


def leaf(shape, k, scale=1.0):
    return (pattern(shape, k) * scale).requires_grad_()


def golden(name, x):
    g.values(name, x.detach().reshape(-1).tolist())


# -- positions ----------------------------------------------------------------------------------


def sinusoids(steps, width, timescale):
    angle = torch.arange(steps).double()[:, None] * timescale ** (-torch.arange(0, width, 2).double() / width)
    return torch.stack([angle.sin(), angle.cos()], 2).reshape(steps, width)


def rotate(x, start, theta):
    """Adjacent pairs as complex numbers."""
    angle = torch.arange(start, start + x.shape[-2]).double()[:, None] * theta
    pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2)) * torch.polar(torch.ones_like(angle), angle)
    return torch.view_as_real(pairs).reshape(x.shape)


def alibi_slopes(heads):
    """As the code that came with the paper."""
    if math.log2(heads).is_integer():
        return [2 ** (-8 / heads * (i + 1)) for i in range(heads)]
    power = 2 ** math.floor(math.log2(heads))
    return alibi_slopes(power) + alibi_slopes(2 * power)[0::2][:heads - power]


def alibi(heads, queries, keys):
    place = torch.arange(queries).double()[:, None] + keys - queries
    return torch.tensor(alibi_slopes(heads))[:, None, None] * -(place - torch.arange(keys)).abs()


def positions():
    x = leaf((2, 5, 6), 1)
    g.case("positional_encoding", x + sinusoids(5, 6, 10000), x)
    golden("positional_encoding_fast", pattern((1, 9, 4), 1) + sinusoids(9, 4, 50))
    theta = 10000 ** (-torch.arange(0, 6, 2).double() / 6)
    x = leaf((2, 2, 4, 6), 1)
    g.case("rotary_encoding", rotate(x, 0, theta), x)
    golden("rotary_encoding_start", rotate(pattern((3, 6), 1), 5, theta))
    golden("rotary_encoding_shifted", rotate(pattern((3, 6), 1), 105, theta))
    golden("rotary_encoding_scaled", rotate(pattern((3, 6), 1), 2, theta / 8))
    golden("alibi_4", alibi(4, 3, 3))
    golden("alibi_6", alibi(6, 2, 4))


positions()

g.write()
