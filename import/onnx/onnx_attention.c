/* onnx_attention.c - ONNX operators of transformers: attention with its caches and masks, rotary positions.
 *
 * ONNX's mask is true where a key is seen, ours where it is hidden. Its causal mask starts at the first key, or after
 * the cached ones; ours (is_causal) ends at the last: so causal masks are given as masks. */
#include "onnx_heads.h"

#include <math.h>

BurnTensor *onnx_split_heads(BurnTensor *x, int64_t heads) {
  if (!x || burn_rank(x) == 4) return x;
  const int64_t dims[] = {burn_dim(x, 0), burn_dim(x, 1), heads, burn_dim(x, 2) / (heads ? heads : 1)};
  return burn_swap_dims(onnx_reshape(x, dims, 4), 1, 2);
}

BurnTensor *onnx_join_heads(BurnTensor *x) {
  x = burn_swap_dims(x, 1, 2);
  const int64_t dims[] = {burn_dim(x, 0), burn_dim(x, 1), -1};
  return onnx_reshape(x, dims, 3);
}

BurnTensor *onnx_repeat_heads(BurnTensor *x, int64_t heads) {
  const BurnShape s = burn_shape(x);
  if (s.rank != 4 || s.dims[1] == heads || s.dims[1] == 0) return x; /* no heads: attention refuses them */
  const int64_t groups[] = {s.dims[0], s.dims[1], heads / s.dims[1], s.dims[2], s.dims[3]};
  const int64_t dims[] = {s.dims[0], heads, s.dims[2], s.dims[3]};
  return onnx_reshape(burn_expand(burn_unsqueeze_dim(x, 2), onnx_shape(groups, 5)), dims, 4);
}

BurnTensor *onnx_with_past(OnnxNode *node, BurnTensor *x, size_t past, size_t present) {
  if (onnx_has_input(node, past)) {
    BurnTensor *both[] = {onnx_input(node, past), x};
    x = burn_cat(both, 2, 2);
  }
  onnx_give(node, present, burn_clone(x));
  return x;
}

static BurnTensor *either(BurnTensor *lhs, BurnTensor *rhs) {
  return lhs ? onnx_broadcast(burn_bool_or, lhs, rhs) : rhs;
}

/* Hides keys later than the query; queries start after the cached keys, or, with padded keys, before the last valid
 * ones. */
static BurnTensor *hide_later(OnnxNode *node, BurnTensor *hidden, int64_t queries, int64_t keys) {
  const int64_t row_dims[] = {1, 1, queries, 1}, column_dims[] = {1, 1, 1, keys}, offset_dims[] = {-1, 1, 1, 1};
  BurnTensor *rows = onnx_reshape(burn_arange(node->device, 0, queries, 1), row_dims, 4);
  BurnTensor *columns = onnx_reshape(burn_arange(node->device, 0, keys, 1), column_dims, 4);
  if (onnx_has_input(node, 6)) {
    BurnTensor *offsets = burn_sub_scalar(onnx_input(node, 6), (double)queries);
    rows = burn_add(rows, onnx_reshape(offsets, offset_dims, 4));
  } else if (onnx_has_input(node, 4)) {
    rows = burn_add_scalar(rows, (double)onnx_input_dim(node, 4, 2));
  }
  return either(hidden, burn_lower(rows, columns));
}

static BurnTensor *hide_padding(OnnxNode *node, BurnTensor *hidden, int64_t keys) {
  const int64_t column_dims[] = {1, 1, 1, keys}, length_dims[] = {-1, 1, 1, 1};
  BurnTensor *columns = onnx_reshape(burn_arange(node->device, 0, keys, 1), column_dims, 4);
  BurnTensor *lengths = onnx_reshape(onnx_input(node, 6), length_dims, 4);
  return either(hidden, burn_greater_equal(columns, lengths));
}

/* The bool mask of what is hidden, and the float one that is added; both may be NULL. A mask for fewer keys hides the
 * rest. */
static void masks_of(OnnxNode *node, int64_t queries, int64_t keys, BurnTensor **hidden, BurnTensor **bias) {
  BurnTensor *mask = onnx_input(node, 3);
  *hidden = *bias = NULL;
  if (mask && burn_dtype(mask) == BURN_DTYPE_BOOL) {
    *hidden = onnx_to_rank(burn_bool_not(mask), 4);
  } else if (mask) {
    const int64_t none = 0, more = keys - burn_dim(mask, -1);
    *bias = onnx_pad(onnx_to_rank(mask, 4), &none, &more, 1, BURN_PAD_CONSTANT, -(double)INFINITY);
    *hidden = burn_equal_scalar(burn_clone(*bias), -(double)INFINITY); /* a row of these gives 0, not NaN */
  }
  if (onnx_int(node, "is_causal", 0)) *hidden = hide_later(node, *hidden, queries, keys);
  if (onnx_has_input(node, 6)) *hidden = hide_padding(node, *hidden, keys);
}

static BurnTensor *copy(const BurnTensor *x) { return burn_clone(x); }

/* The scores on their way to the result: 0 after the product, 1 after softcap, 2 after masks, 3 after softmax. */
static BurnTensor *scores(BurnTensor *q, BurnTensor *k, const BurnTensor *hidden, const BurnTensor *bias,
                          BurnAttentionOptions options, int64_t mode) {
  if (mode == 3) {
    const BurnShape all = {4, {burn_dim(k, 0), burn_dim(k, 1), burn_dim(k, 2), burn_dim(k, 2)}};
    BurnTensor *one = burn_eye(burn_tensor_device(q), burn_dim(k, 2), burn_dtype(q));
    return burn_attention(q, k, burn_expand(one, all), copy(hidden), copy(bias), options);
  }
  const double scale = options.scale != 0 ? options.scale : 1 / sqrt((double)burn_dim(q, 3));
  BurnTensor *x = burn_mul_scalar(burn_matmul(q, burn_transpose(k)), scale);
  if (mode >= 1 && options.softcap != 0) {
    x = burn_mul_scalar(burn_tanh(burn_div_scalar(x, options.softcap)), options.softcap);
  }
  if (mode >= 2 && bias) x = onnx_broadcast(burn_add, x, copy(bias));
  if (mode >= 2 && hidden) x = burn_mask_fill(x, copy(hidden), -(double)INFINITY);
  return x;
}

/* Whether x, of any rank up to 4, stretches to the scores of q and k^T. */
static bool stretches(const BurnTensor *x, const BurnTensor *q, const BurnTensor *turned) {
  const int64_t dims[] = {burn_dim(q, 0), burn_dim(q, 1), burn_dim(q, 2), burn_dim(turned, 3)};
  const uint32_t rank = burn_rank(x), more = 4 - (rank < 4 ? rank : 4);
  bool fits = rank <= 4;
  for (uint32_t i = 0; fits && i < rank; i++) fits = burn_dim(x, (int)i) == 1 || burn_dim(x, (int)i) == dims[i + more];
  return fits;
}

/* What onnx_pass_attention makes: q [n, heads, sq, d], the key as [n, heads, d, sk], v, and a mask that is added. What
 * a product would stretch is computed as it stood in the file. */
static void attend_turned(OnnxNode *node) {
  BurnTensor *q = onnx_input(node, 0), *turned = onnx_input(node, 1), *v = onnx_input(node, 2);
  BurnTensor *mask = onnx_input(node, 3);
  BurnAttentionOptions options = BURN_ATTENTION_OPTIONS;
  options.scale = onnx_float(node, "scale", 1);
  bool plain = !mask || stretches(mask, q, turned);
  for (int i = 0; i < 2; i++)
    plain = plain && burn_dim(turned, i) == burn_dim(q, i) && burn_dim(v, i) == burn_dim(q, i);
  if (plain) {
    onnx_give(node, 0,
              burn_attention(q, burn_swap_dims(turned, 2, 3), v, NULL, mask ? onnx_to_rank(mask, 4) : NULL, options));
    return;
  }
  BurnTensor *x = burn_mul_scalar(burn_matmul(q, turned), options.scale);
  if (mask) x = onnx_broadcast(burn_add, x, mask);
  onnx_give(node, 0, burn_matmul(burn_softmax(x, -1), v));
}

MAP(Attention) {
  if (node->prepared) {
    attend_turned(node);
    return;
  }
  const int64_t query_heads = onnx_int(node, "q_num_heads", 0), key_heads = onnx_int(node, "kv_num_heads", 0);
  BurnAttentionOptions options = BURN_ATTENTION_OPTIONS;
  options.scale = onnx_float(node, "scale", 0);
  options.softcap = onnx_float(node, "softcap", 0);
  BurnTensor *q = onnx_split_heads(onnx_input(node, 0), query_heads);
  BurnTensor *k = onnx_with_past(node, onnx_split_heads(onnx_input(node, 1), key_heads), 4, 1);
  BurnTensor *v = onnx_with_past(node, onnx_split_heads(onnx_input(node, 2), key_heads), 5, 2);
  BurnTensor *hidden, *bias;
  masks_of(node, burn_dim(q, 2), burn_dim(k, 2), &hidden, &bias);
  k = onnx_repeat_heads(k, burn_dim(q, 1));
  v = onnx_repeat_heads(v, burn_dim(q, 1));
  if (onnx_wants_output(node, 3)) {
    const int64_t mode = onnx_int(node, "qk_matmul_output_mode", 0);
    onnx_give(node, 3, scores(copy(q), copy(k), hidden, bias, options, mode));
  }
  BurnTensor *y = burn_attention(q, k, v, hidden, bias, options);
  onnx_give(node, 0, onnx_input_rank(node, 0) == 3 ? onnx_join_heads(y) : y);
}

/* x through a graph of one input and output that the node may have. */
static BurnTensor *modified(OnnxNode *node, const char *name, BurnTensor *x) {
  const Onnx__AttributeProto *graph = onnx_attribute(node, name);
  OnnxValue before = {.tensor = x}, after = {0};
  if (!graph || !graph->g) return x;
  const BurnStatus status = onnx_run_subgraph(node, graph->g, &before, 1, &after, 1);
  if (status == BURN_OK && after.tensor && !after.list) return after.tensor;
  onnx_value_release(&after);
  onnx_fail(node, status != BURN_OK
                      ? status
                      : burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "FlexAttention: %s gives no tensor", name));
  return burn_tensor_failed(node->status);
}

/* Attention with shared heads, whose scores and probabilities graphs may change. Halves are computed in f32 then. */
MAP(FlexAttention) {
  BurnAttentionOptions options = BURN_ATTENTION_OPTIONS;
  options.scale = onnx_float(node, "scale", 0);
  const int64_t heads = onnx_input_dim(node, 0, 1), precise = onnx_int(node, "softmax_precision", 0);
  const BurnDType given = burn_dtype(node->inputs[0]);
  BurnTensor *q = onnx_input(node, 0);
  BurnTensor *k = onnx_repeat_heads(onnx_input(node, 1), heads), *v = onnx_repeat_heads(onnx_input(node, 2), heads);
  if (!onnx_attribute(node, "score_mod") && !onnx_attribute(node, "prob_mod")) {
    onnx_give(node, 0, burn_attention(q, k, v, NULL, NULL, options));
    return;
  }
  const BurnDType halves = burn_dtype_bytes(given) < 4 ? (BurnDType)BURN_DTYPE_F32 : given;
  const BurnDType dtype = precise ? onnx_dtype(precise) : halves;
  BurnTensor *x = burn_cast(scores(q, k, NULL, NULL, options, 0), dtype);
  x = burn_softmax(modified(node, "score_mod", x), -1);
  x = burn_matmul(modified(node, "prob_mod", x), burn_cast(v, dtype));
  onnx_give(node, 0, burn_cast(x, given));
}

/* -- linear attention: a state per head of keys that every step changes --------------------------- */

/* Decays or strengths as [batch, heads or 1, steps, 1 or d]. */
static BurnTensor *by_step(OnnxNode *node, size_t i, int64_t heads) {
  return onnx_split_heads(onnx_input(node, i), onnx_input_dim(node, i, 2) == 1 ? 1 : heads);
}

static BurnTensor *step_of(const BurnTensor *x, int64_t step) { return burn_narrow(copy(x), 2, step, 1); }

/* The state after one step: decayed, then with the key times the value, of which what it would answer is taken. */
static BurnTensor *linear_step(BurnTensor *state, BurnTensor *key, BurnTensor *value, BurnTensor *decay,
                               BurnTensor *beta) {
  if (decay) state = burn_mul(state, burn_transpose(burn_exp(decay)));
  if (beta) value = burn_mul(burn_sub(value, burn_matmul(copy(key), copy(state))), beta);
  return burn_add(state, burn_matmul(burn_transpose(key), value));
}

/* In f32, as ONNX computes it. */
MAP(LinearAttention) {
  const int64_t query_heads = onnx_int(node, "q_num_heads", 1), heads = onnx_int(node, "kv_num_heads", 1);
  const BurnDType dtype = burn_dtype(node->inputs[0]);
  const BurnDType kept = onnx_has_input(node, 3) ? burn_dtype(node->inputs[3]) : dtype;
  BurnTensor *q = burn_cast(onnx_split_heads(onnx_input(node, 0), query_heads), BURN_DTYPE_F32);
  BurnTensor *k = burn_cast(onnx_split_heads(onnx_input(node, 1), heads), BURN_DTYPE_F32);
  BurnTensor *v = burn_cast(onnx_split_heads(onnx_input(node, 2), heads), BURN_DTYPE_F32);
  BurnTensor *decay = onnx_has_input(node, 4) ? burn_cast(by_step(node, 4, heads), BURN_DTYPE_F32) : NULL;
  BurnTensor *beta = onnx_has_input(node, 5) ? burn_cast(by_step(node, 5, heads), BURN_DTYPE_F32) : NULL;
  const BurnShape s = burn_shape(q);
  const double given = onnx_float(node, "scale", 0), scale = given != 0 ? given : 1 / sqrt((double)s.dims[3]);
  const BurnShape shape = BURN_SHAPE(s.dims[0], heads, s.dims[3], burn_dim(v, 3));
  BurnTensor *state = onnx_has_input(node, 3) ? burn_cast(onnx_input(node, 3), BURN_DTYPE_F32)
                                              : burn_zeros(node->device, shape, BURN_DTYPE_F32);
  BurnTensor *outputs = NULL;
  for (int64_t i = 0; i < s.dims[2]; i++) {
    state = linear_step(state, step_of(k, i), step_of(v, i), decay ? step_of(decay, i) : NULL,
                        beta ? step_of(beta, i) : NULL);
    BurnTensor *both[] = {outputs, burn_matmul(step_of(q, i), onnx_repeat_heads(copy(state), query_heads))};
    outputs = outputs ? burn_cat(both, 2, 2) : both[1];
  }
  BurnTensor *all[] = {q, k, v, decay, beta};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) burn_drop(all[i]);
  onnx_give(node, 0, burn_cast(burn_mul_scalar(onnx_join_heads(outputs), scale), dtype));
  onnx_give(node, 1, burn_cast(state, kept));
}

/* -- rotary positions ---------------------------------------------------------------------------- */

/* Cosines or sines [batch, 1, length, half] of the positions. */
static BurnTensor *angles(OnnxNode *node, size_t i) {
  BurnTensor *x = onnx_input(node, i);
  if (onnx_has_input(node, 3)) x = burn_take(x, 0, onnx_input(node, 3));
  return burn_unsqueeze_dim(x, 1);
}

BurnTensor *onnx_turn_pairs(BurnTensor *x, BurnTensor *cosine, BurnTensor *sine, int64_t turned, bool interleaved) {
  const BurnShape s = burn_shape(x);
  BurnTensor *rest = turned < s.dims[3] ? burn_slice_dim(copy(x), 3, BURN_RANGE(turned, s.dims[3])) : NULL;
  x = burn_slice_dim(x, 3, BURN_RANGE(0, turned));
  const int64_t neighbours[] = {s.dims[0], s.dims[1], s.dims[2], turned / 2, 2};
  const int64_t halves[] = {s.dims[0], s.dims[1], s.dims[2], 2, turned / 2};
  const int pair = interleaved ? 4 : 3;
  x = onnx_reshape(x, interleaved ? neighbours : halves, 5);
  BurnTensor *first = burn_select_dim(copy(x), pair, 0), *second = burn_select_dim(x, pair, 1);
  BurnTensor *real = burn_sub(burn_mul(copy(cosine), copy(first)), burn_mul(copy(sine), copy(second)));
  BurnTensor *imaginary = burn_add(burn_mul(sine, first), burn_mul(cosine, second));
  BurnTensor *parts[] = {real, imaginary};
  const int64_t together[] = {s.dims[0], s.dims[1], s.dims[2], turned};
  x = onnx_reshape(burn_stack(parts, 2, pair), together, 4);
  BurnTensor *whole[] = {x, rest};
  return rest ? burn_cat(whole, 2, 3) : x;
}

MAP(RotaryEmbedding) {
  BurnTensor *x = onnx_split_heads(onnx_input(node, 0), onnx_int(node, "num_heads", 0));
  const int64_t given = onnx_int(node, "rotary_embedding_dim", 0), turned = given ? given : burn_dim(x, 3);
  x = onnx_turn_pairs(x, angles(node, 1), angles(node, 2), turned, onnx_int(node, "interleaved", 0));
  onnx_give(node, 0, onnx_input_rank(node, 0) == 3 ? onnx_join_heads(x) : x);
}
