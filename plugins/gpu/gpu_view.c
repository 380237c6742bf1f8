/* gpu_view.c - views: other shapes and strides over the same storage. */
#include "gpu.h"

#include <burn/common/view.h>

static BurnStatus view(const GpuRun *run, const BurnPrimitive *x, const int64_t *strides, int64_t offset) {
  return burn__gpu_view(run->gpu, x, &run->call->output_descs[0], strides, offset, &run->out[0]);
}

/* Elements that no strides reach in this order are copied first. */
static BurnStatus reshape(const GpuRun *run) {
  BurnPrimitive *x = run->call->inputs[0], *rows = NULL;
  const BurnTensorDesc *desc = &run->call->output_descs[0];
  int64_t strides[BURN_MAX_RANK] = {0};
  if (burn_desc_count(desc) == 0) return burn__gpu_output(run, 0);
  if (burn_common_reshape(x->rank, x->shape, x->strides, desc->rank, desc->shape, strides))
    return view(run, x, strides, 0);
  BurnStatus status = burn__gpu_row_major(run->gpu, x, &rows);
  if (status != BURN_OK) return status;
  (void)burn_common_reshape(rows->rank, rows->shape, rows->strides, desc->rank, desc->shape, strides);
  status = view(run, rows, strides, 0);
  burn__gpu_release(run->gpu, rows);
  return status;
}

static BurnStatus permute(const GpuRun *run) {
  const BurnPrimitive *x = run->call->inputs[0];
  int64_t strides[BURN_MAX_RANK] = {0};
  burn_common_permute(x->rank, BURN_ATTRS(permute, run->call)->axes.value.i64s, x->strides, strides);
  return view(run, x, strides, 0);
}

static BurnStatus expand(const GpuRun *run) {
  const BurnPrimitive *x = run->call->inputs[0];
  const BurnTensorDesc *desc = &run->call->output_descs[0];
  int64_t strides[BURN_MAX_RANK] = {0};
  burn_common_expand(x->rank, x->shape, x->strides, desc->rank, desc->shape, strides);
  return view(run, x, strides, 0);
}

static BurnStatus slice(const GpuRun *run) {
  const BurnAttrs_slice *attrs = BURN_ATTRS(slice, run->call);
  const BurnPrimitive *x = run->call->inputs[0];
  int64_t strides[BURN_MAX_RANK] = {0};
  const int64_t offset = burn_common_slice(x->rank, x->strides, attrs->starts.value.i64s, attrs->steps.value.i64s,
                                           run->call->output_descs[0].shape, strides);
  return view(run, x, strides, offset);
}

const GpuRow burn__gpu_view_rows[] = {{BURN_OP_reshape, reshape, 0},
                                      {BURN_OP_permute, permute, 0},
                                      {BURN_OP_expand, expand, 0},
                                      {BURN_OP_slice, slice, 0},
                                      {0, NULL, 0}};
