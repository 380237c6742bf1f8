/* infer_sequence.c - shape rules of ops over sequences: attention and lstm with their gradients. */
#include "infer_internal.h"

/* -- attention -------------------------------------------------------------------------------- */

/* The mask or bias stretches to the scores. */
static BurnStatus check_scores(const BurnOpInfo *info, const BurnOpCall *call, uint32_t input, const int64_t *scores) {
  BURN_TRY(burn__infer_rank(info, call, input, 4));
  const int64_t *shape = call->inputs[input]->shape;
  BurnShapeText l, r;
  for (uint32_t i = 0; i < 4; i++) {
    if (shape[i] == scores[i] || shape[i] == 1) continue;
    return BURN_FAIL(INVALID_SHAPE, "%s: %s of shape %s does not stretch to the scores %s", info->name,
                     info->input_names[input], burn__shape_text(&l, 4, shape), burn__shape_text(&r, 4, scores));
  }
  return BURN_OK;
}

/* query, key and value, which start at input `first`, mask and bias, which start at input `mask`. */
static BurnStatus check_heads(const BurnOpInfo *info, const BurnOpCall *call, uint32_t first, uint32_t mask) {
  const BurnAttrs_attention *attrs = BURN_ATTRS(attention, call);
  BurnPrimitive *const *inputs = call->inputs + first;
  for (uint32_t i = 0; i < first + 3; i++) {
    BURN_TRY(burn__infer_same_dtype(info, call, 0, i));
    BURN_TRY(burn__infer_rank(info, call, i, 4));
  }
  const int64_t *q = inputs[0]->shape, *k = inputs[1]->shape, *v = inputs[2]->shape;
  if (q[0] != k[0] || q[0] != v[0] || q[1] != k[1] || q[1] != v[1] || q[3] != k[3] || k[2] != v[2]) {
    BurnShapeText a, b, c;
    return BURN_FAIL(INVALID_SHAPE, "%s: query %s, key %s and value %s do not belong together", info->name,
                     burn__shape_text(&a, 4, q), burn__shape_text(&b, 4, k), burn__shape_text(&c, 4, v));
  }
  if (!(attrs->softcap.value.f64 >= 0)) {
    return BURN_FAIL(INVALID_ARGUMENT, "%s: softcap %g is negative", info->name, attrs->softcap.value.f64);
  }
  const int64_t scores[] = {q[0], q[1], q[2], k[2]};
  if (call->inputs[mask]) {
    BURN_TRY(burn__infer_kind(info, call, mask, BURN_KIND_BOOL, "bool"));
    BURN_TRY(check_scores(info, call, mask, scores));
  }
  if (!call->inputs[mask + 1]) return BURN_OK;
  BURN_TRY(burn__infer_same_dtype(info, call, 0, mask + 1));
  return check_scores(info, call, mask + 1, scores);
}

BURN_RULE(attention) {
  BURN_TRY(check_heads(info, call, 0, 3));
  const int64_t *q = call->inputs[0]->shape, *v = call->inputs[2]->shape;
  *out = (BurnTensorDesc){call->inputs[0]->dtype, 4, {q[0], q[1], q[2], v[3]}};
  return burn__infer_count(info, out);
}

/* [n, heads, sq], in what halves are summed in. */
static BurnTensorDesc logsumexp_of(const BurnPrimitive *query) {
  const BurnDType dtype = query->dtype == BURN_DTYPE_F64 ? BURN_DTYPE_F64 : BURN_DTYPE_F32;
  return (BurnTensorDesc){dtype, 3, {query->shape[0], query->shape[1], query->shape[2]}};
}

BURN_RULE(attention_with_logsumexp) {
  BURN_TRY(burn__infer_attention(info, call, out));
  out[1] = logsumexp_of(call->inputs[0]);
  return BURN_OK;
}

/* With mask and bias from input `mask` on. */
static BurnStatus infer_gradients(const BurnOpInfo *info, const BurnOpCall *call, uint32_t mask, BurnTensorDesc *out) {
  BURN_TRY(check_heads(info, call, 1, mask));
  const int64_t *grad = call->inputs[0]->shape, *q = call->inputs[1]->shape, *v = call->inputs[3]->shape;
  if (grad[0] != q[0] || grad[1] != q[1] || grad[2] != q[2] || grad[3] != v[3]) {
    BurnShapeText a, b, c;
    return BURN_FAIL(INVALID_SHAPE, "%s: grad %s does not belong to query %s and value %s", info->name,
                     burn__shape_text(&a, 4, grad), burn__shape_text(&b, 4, q), burn__shape_text(&c, 4, v));
  }
  for (uint32_t i = 0; i < 3; i++) out[i] = burn_primitive_desc(call->inputs[1 + i]);
  out[3] = (BurnTensorDesc){call->inputs[0]->dtype, 1, {1}};
  if (call->inputs[mask + 1]) out[3] = burn_primitive_desc(call->inputs[mask + 1]);
  return BURN_OK;
}

BURN_RULE(attention_backward) { return infer_gradients(info, call, 4, out); }

static bool has_shape(const BurnPrimitive *x, const BurnTensorDesc *desc) {
  bool is_same = x->rank == desc->rank;
  for (uint32_t i = 0; i < desc->rank && is_same; i++) is_same = x->shape[i] == desc->shape[i];
  return is_same;
}

BURN_RULE(attention_with_logsumexp_backward) {
  BURN_TRY(infer_gradients(info, call, 6, out));
  BURN_TRY(burn__infer_same_dtype(info, call, 0, 4));
  const BurnTensorDesc result = burn_primitive_desc(call->inputs[0]), logsumexp = logsumexp_of(call->inputs[1]);
  if (call->inputs[5]->dtype != logsumexp.dtype)
    return BURN_FAIL(INVALID_DTYPE, "%s: logsumexp must be %s, not %s", info->name, burn_dtype_name(logsumexp.dtype),
                     burn_dtype_name(call->inputs[5]->dtype));
  if (has_shape(call->inputs[4], &result) && has_shape(call->inputs[5], &logsumexp)) return BURN_OK;
  BurnShapeText a, b, c;
  return BURN_FAIL(INVALID_SHAPE, "%s: result %s and logsumexp %s do not belong to grad %s", info->name,
                   burn__shape_text(&a, call->inputs[4]->rank, call->inputs[4]->shape),
                   burn__shape_text(&b, call->inputs[5]->rank, call->inputs[5]->shape),
                   burn__shape_text(&c, 4, call->inputs[0]->shape));
}

/* -- lstm ------------------------------------------------------------------------------------- */

/* An input has the shape [n, t, width], or [n, width] for t = -1. */
static BurnStatus check_steps(const BurnOpInfo *info, const BurnOpCall *call, uint32_t input, int64_t n, int64_t t,
                              int64_t width) {
  const int64_t whole[] = {n, t, width}, single[] = {n, width}, *wanted = t < 0 ? single : whole;
  const uint32_t rank = t < 0 ? 2 : 3;
  BURN_TRY(burn__infer_same_dtype(info, call, 0, input));
  BURN_TRY(burn__infer_rank(info, call, input, rank));
  const int64_t *shape = call->inputs[input]->shape;
  bool same = true;
  for (uint32_t i = 0; i < rank; i++) same = same && shape[i] == wanted[i];
  BurnShapeText l, r;
  if (same) return BURN_OK;
  return BURN_FAIL(INVALID_SHAPE, "%s: %s has shape %s, %s expected", info->name, info->input_names[input],
                   burn__shape_text(&l, rank, shape), burn__shape_text(&r, rank, wanted));
}

/* The weight [h, 4 h] at `input`; its h. */
static BurnStatus check_recurrence(const BurnOpInfo *info, const BurnOpCall *call, uint32_t input, int64_t *h) {
  BURN_TRY(burn__infer_rank(info, call, input, 2));
  const int64_t *weight = call->inputs[input]->shape;
  BurnShapeText text;
  *h = weight[0];
  if (weight[1] % 4 == 0 && weight[1] / 4 == *h) return burn__infer_same_dtype(info, call, 0, input);
  return BURN_FAIL(INVALID_SHAPE, "%s: weight of shape %s is not [hidden, 4 * hidden]", info->name,
                   burn__shape_text(&text, 2, weight));
}

BURN_RULE(lstm) {
  int64_t h = 0;
  BURN_TRY(burn__infer_rank(info, call, 0, 3));
  BURN_TRY(check_recurrence(info, call, 3, &h));
  const int64_t n = call->inputs[0]->shape[0], t = call->inputs[0]->shape[1];
  BURN_TRY(check_steps(info, call, 0, n, t, 4 * h));
  BURN_TRY(check_steps(info, call, 1, n, -1, h));
  BURN_TRY(check_steps(info, call, 2, n, -1, h));
  out[0] = out[1] = (BurnTensorDesc){call->inputs[0]->dtype, 3, {n, t, h}};
  out[2] = burn_primitive_desc(call->inputs[0]);
  return BURN_OK;
}

BURN_RULE(lstm_backward) {
  int64_t h = 0;
  BURN_TRY(burn__infer_rank(info, call, 0, 3));
  BURN_TRY(check_recurrence(info, call, 5, &h));
  const int64_t n = call->inputs[0]->shape[0], t = call->inputs[0]->shape[1];
  BURN_TRY(check_steps(info, call, 0, n, t, h));
  BURN_TRY(check_steps(info, call, 1, n, t, h));
  BURN_TRY(check_steps(info, call, 2, n, t, 4 * h));
  BURN_TRY(check_steps(info, call, 3, n, -1, h));
  BURN_TRY(check_steps(info, call, 4, n, -1, h));
  if (call->inputs[6]) BURN_TRY(check_steps(info, call, 6, n, t, h));
  if (call->inputs[7]) BURN_TRY(check_steps(info, call, 7, n, t, 4 * h));
  out[0] = burn_primitive_desc(call->inputs[2]);
  for (uint32_t i = 1; i < 4; i++) out[i] = burn_primitive_desc(call->inputs[2 + i]);
  return BURN_OK;
}
