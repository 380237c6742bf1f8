/* cuda_move.c - parts put together: copies into views of the result. */
#include "cuda_internal.h"

#include <burn/common/view.h>

/* Copies x to the places of `out` that begin `offset` elements after its first and have these strides. */
static BurnStatus put(Cuda *cuda, BurnPrimitive *out, const int64_t *strides, int64_t offset, BurnPrimitive *x) {
  const BurnTensorDesc desc = burn_primitive_desc(x);
  BurnPrimitive *part = NULL;
  if (burn_desc_count(&desc) == 0) return BURN_OK;
  BurnStatus status = burn__cuda_view(cuda, out, &desc, strides, offset, &part);
  if (status == BURN_OK) status = burn__cuda_copy(cuda, part, x);
  burn__cuda_release(cuda, part);
  return status;
}

static BurnStatus slice_assign(const CudaRun *run) {
  const BurnAttrs_slice_assign *attrs = BURN_ATTRS(slice_assign, run->call);
  BurnPrimitive *x = run->call->inputs[0], *values = run->call->inputs[1];
  int64_t strides[BURN_MAX_RANK] = {0};
  BurnStatus status = burn__cuda_output(run, 0);
  if (status == BURN_OK) status = burn__cuda_copy(run->cuda, run->out[0], x);
  if (status != BURN_OK) return status;
  const int64_t offset = burn_common_slice(x->rank, run->out[0]->strides, attrs->starts.value.i64s,
                                           attrs->steps.value.i64s, values->shape, strides);
  return put(run->cuda, run->out[0], strides, offset, values);
}

static BurnStatus cat(const CudaRun *run) {
  const int64_t dim = BURN_ATTRS(cat, run->call)->dim.value.i64;
  int64_t offset = 0;
  BurnStatus status = burn__cuda_output(run, 0);
  for (uint32_t i = 0; i < run->call->input_count && status == BURN_OK; i++) {
    BurnPrimitive *x = run->call->inputs[i];
    status = put(run->cuda, run->out[0], run->out[0]->strides, offset, x);
    offset += x->shape[dim] * run->out[0]->strides[dim];
  }
  return status;
}

const CudaRow burn__cuda_move_rows[] = {{BURN_OP_slice_assign, slice_assign, 0}, {BURN_OP_cat, cat, 0}, {0, NULL, 0}};
