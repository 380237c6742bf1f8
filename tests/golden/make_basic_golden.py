#!/usr/bin/env python3
"""Writes basic_golden.h beside this file. Run: python3 tests/golden/make_basic_golden.py"""
import torch
import torch.nn.functional as F

from nn_golden import Golden, leaf

g = Golden("basic_golden.h", "layers without parameters: pixels, distances, windows, resampling,")

x = leaf((2, 8, 2, 3), 1)
g.case("pixel_shuffle", F.pixel_shuffle(x, 2), x)
x = leaf((2, 2, 6, 3), 1)
g.case("pixel_unshuffle", F.pixel_unshuffle(x, 3), x)

x, y = leaf((3, 5), 1), leaf((3, 5), 2)
g.case("pairwise_distance", F.pairwise_distance(x, y, 2, 0.01), x, y)
g.case("pairwise_distance_3", F.pairwise_distance(x, y, 3, 0.01), x, y)
g.case("cosine_similarity", F.cosine_similarity(x, y, 1), x, y)
g.case("cosine_similarity_0", F.cosine_similarity(x, y, 0), x, y)

x = leaf((2, 3, 5, 4), 1)
g.case("unfold4d", F.unfold(x, (2, 3), dilation=(2, 1), padding=(1, 1), stride=(1, 2)), x)
columns = leaf(F.unfold(x, (2, 3), dilation=(2, 1), padding=(1, 1), stride=(1, 2)).shape, 2)
g.case("fold4d", F.fold(columns, (5, 4), (2, 3), dilation=(2, 1), padding=(1, 1), stride=(1, 2)), columns)

line = leaf((2, 3, 5), 1)
g.case("line_nearest", F.interpolate(line, 8), line)
g.case("line_linear", F.interpolate(line, 8, mode="linear", align_corners=True), line)
g.case("line_cubic", F.interpolate(line.unsqueeze(2), (1, 8), mode="bicubic", align_corners=True).squeeze(2), line)
g.case("line_factor", F.interpolate(line, 3), line)  # 5 * 0.7
x = leaf((1, 2, 4, 3), 2)
g.case("plane_nearest", F.interpolate(x, (3, 7)), x)
g.case("plane_nearest_exact", F.interpolate(x, (3, 7), mode="nearest-exact"), x)
g.case("plane_linear", F.interpolate(x, (3, 7), mode="bilinear", align_corners=True), x)
g.case("plane_linear_edges", F.interpolate(x, (3, 7), mode="bilinear", align_corners=False), x)
g.case("plane_cubic", F.interpolate(x, (6, 7), mode="bicubic", align_corners=False), x)

g.write()
