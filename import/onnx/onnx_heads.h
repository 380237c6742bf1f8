/* onnx_heads.h - what the mappings of attention share: heads, caches, rotary positions. All take their tensors. */
#ifndef BURN_ONNX_HEADS_H
#define BURN_ONNX_HEADS_H

#include "onnx_node.h"

/* [batch, length, heads * d] -> [batch, heads, length, d]; rank 4 stays. And back. */
BurnTensor *onnx_split_heads(BurnTensor *x, int64_t heads);
BurnTensor *onnx_join_heads(BurnTensor *x);

/* Every head of keys or values serves several heads of queries: of these there are `heads`. */
BurnTensor *onnx_repeat_heads(BurnTensor *x, int64_t heads);

/* The cached rows of input `past`, then those of x; the result is also output `present`. */
BurnTensor *onnx_with_past(OnnxNode *node, BurnTensor *x, size_t past, size_t present);

/* Pairs of the first `turned` elements of x [batch, heads, length, d] are turned by their angle: neighbours if
 * interleaved, else elements of two halves. Cosines and sines [batch or 1, 1, length, turned / 2]. */
BurnTensor *onnx_turn_pairs(BurnTensor *x, BurnTensor *cosine, BurnTensor *sine, int64_t turned, bool interleaved);

#endif
