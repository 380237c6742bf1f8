/* infer_signal.c - shape rules of Fourier transforms: attributes dim and n, both resolved. */
#include "infer_internal.h"

/* The shape of x with `size` elements along dim; checks dim, n and, where there is one, the imaginary part. */
static BurnStatus transformed(const BurnOpInfo *info, const BurnOpCall *call, bool half, BurnTensorDesc *out) {
  const BurnPrimitive *x = call->inputs[0];
  const int64_t dim = call->attrs[0].value.i64, n = call->attrs[1].value.i64;
  BURN_TRY(burn__infer_check_dim(info, x, dim));
  if (n < 1)
    return BURN_FAIL(INVALID_ARGUMENT, "%s: a transform of length n = %lld is not possible", info->name, (long long)n);
  *out = burn_primitive_desc(x);
  if (call->input_count > 1) {
    BURN_TRY(burn__infer_same_dtype(info, call, 0, 1));
    const BurnPrimitive *im = call->inputs[1];
    bool equal = im->rank == x->rank;
    for (uint32_t i = 0; equal && i < x->rank; i++) equal = im->shape[i] == x->shape[i];
    BurnShapeText l, r;
    if (!equal) {
      return BURN_FAIL(INVALID_SHAPE, "%s: the shapes %s of re and %s of im differ", info->name,
                       burn__shape_text(&l, x->rank, x->shape), burn__shape_text(&r, im->rank, im->shape));
    }
  }
  out->shape[dim] = n;
  BURN_TRY(burn__infer_count(info, out));
  if (half) out->shape[dim] = n / 2 + 1;
  return BURN_OK;
}

BURN_RULE(rfft) {
  BURN_TRY(transformed(info, call, true, &out[0]));
  out[1] = out[0];
  return BURN_OK;
}

BURN_RULE(irfft) { return transformed(info, call, false, out); }

BURN_RULE(cfft) {
  BURN_TRY(transformed(info, call, false, &out[0]));
  out[1] = out[0];
  return BURN_OK;
}
