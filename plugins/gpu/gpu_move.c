/* gpu_move.c - parts put together: copies into views of the result. */
#include "gpu.h"

#include <burn/common/view.h>

/* Copies x to the places of `out` that begin `offset` elements after its first and have these strides. */
static BurnStatus put(Gpu *gpu, BurnPrimitive *out, const int64_t *strides, int64_t offset, BurnPrimitive *x) {
  const BurnTensorDesc desc = burn_primitive_desc(x);
  BurnPrimitive *part = NULL;
  if (burn_desc_count(&desc) == 0) return BURN_OK;
  BurnStatus status = burn__gpu_view(gpu, out, &desc, strides, offset, &part);
  if (status == BURN_OK) status = burn__gpu_copy(gpu, part, x);
  burn__gpu_release(gpu, part);
  return status;
}

static BurnStatus slice_assign(const GpuRun *run) {
  const BurnAttrs_slice_assign *attrs = BURN_ATTRS(slice_assign, run->call);
  BurnPrimitive *x = run->call->inputs[0], *values = run->call->inputs[1];
  int64_t strides[BURN_MAX_RANK] = {0};
  BurnStatus status = burn__gpu_output(run, 0);
  if (status == BURN_OK) status = burn__gpu_copy(run->gpu, run->out[0], x);
  if (status != BURN_OK) return status;
  const int64_t offset = burn_common_slice(x->rank, run->out[0]->strides, attrs->starts.value.i64s,
                                           attrs->steps.value.i64s, values->shape, strides);
  return put(run->gpu, run->out[0], strides, offset, values);
}

/* x as rows of vectors, to places in `out` that begin `offset` elements after its first, and are `distance` apart. */
static BurnStatus put_rows(Gpu *gpu, const BurnPrimitive *out, const BurnPrimitive *x, const GpuAxis *axis,
                           int64_t distance, int64_t offset) {
  enum { THREADS = 256 };
  const uint64_t bytes = burn_dtype_bytes(x->dtype);
  const GpuRowCopy p = {.out = gpu_address(out) + (uint64_t)offset * bytes,
                        .in = gpu_address(x),
                        .rows = axis->outer,
                        .width = (int64_t)((uint64_t)(axis->size * axis->inner) * bytes / 16),
                        .distance = (int64_t)((uint64_t)distance * bytes / 16),
                        .is_small = axis->outer * axis->size * axis->inner < INT32_MAX};
  const GpuKernelKey key = {
      .text = GPU_TEXT_ROW_COPY, .out = BURN_DTYPE_U8, .in = {BURN_DTYPE_U8, BURN_DTYPE_U8, BURN_DTYPE_U8}};
  GpuFunction *function = NULL;
  const BurnStatus status = burn__gpu_kernel(gpu, &key, NULL, &function);
  if (status != BURN_OK) return status;
  return burn__gpu_launch(gpu, function, (uint64_t)((p.rows * p.width + THREADS - 1) / THREADS), THREADS, &p, sizeof p);
}

/* A part of cat: by whole vectors where its rows, and the places where they go, are made of such. */
static BurnStatus put_part(Gpu *gpu, BurnPrimitive *out, int64_t offset, BurnPrimitive *x, int64_t dim) {
  const GpuAxis axis = burn__gpu_axis(x, dim);
  const int64_t distance = out->shape[dim] * axis.inner;
  const uint64_t bytes = burn_dtype_bytes(x->dtype);
  const bool is_whole = burn__gpu_is_row_major(x) && burn__gpu_is_whole(x, axis.size * axis.inner) &&
                        burn__gpu_is_whole(out, distance) && (uint64_t)offset * bytes % 16 == 0;
  if (!is_whole || burn_primitive_count(x) == 0) return put(gpu, out, out->strides, offset, x);
  return put_rows(gpu, out, x, &axis, distance, offset);
}

/* Row-major strides of a shape; false if those of x are others along an axis that has several elements. */
static bool lies_in(const BurnPrimitive *x, const BurnTensorDesc *whole, int64_t *strides) {
  bool fits = true;
  int64_t stride = 1;
  for (uint32_t axis = whole->rank; axis-- > 0;) {
    strides[axis] = stride;
    fits = fits && (x->shape[axis] == 1 || x->strides[axis] == stride);
    stride *= whole->shape[axis];
  }
  return fits;
}

/* Do the parts lie beside each other in one memory, as the result would have them? Its strides are filled in. */
static bool are_joined(const BurnOpCall *call, int64_t dim, int64_t *strides) {
  const BurnPrimitive *first = call->inputs[0];
  GpuAddress place = gpu_address(first);
  bool fits = burn_desc_count(&call->output_descs[0]) > 0;
  for (uint32_t i = 0; i < call->input_count && fits; i++) {
    const BurnPrimitive *x = call->inputs[i];
    fits = lies_in(x, &call->output_descs[0], strides) && gpu_address(x) == place &&
           gpu_const_tensor(x)->storage == gpu_const_tensor(first)->storage;
    place += (uint64_t)(x->shape[dim] * strides[dim]) * burn_dtype_bytes(x->dtype);
  }
  return fits;
}

static BurnStatus cat(const GpuRun *run) {
  const int64_t dim = BURN_ATTRS(cat, run->call)->dim.value.i64;
  int64_t offset = 0, strides[BURN_MAX_RANK] = {0};
  if (are_joined(run->call, dim, strides))
    return burn__gpu_view(run->gpu, run->call->inputs[0], &run->call->output_descs[0], strides, 0, &run->out[0]);
  BurnStatus status = burn__gpu_output(run, 0);
  for (uint32_t i = 0; i < run->call->input_count && status == BURN_OK; i++) {
    BurnPrimitive *x = run->call->inputs[i];
    status = put_part(run->gpu, run->out[0], offset, x, dim);
    offset += x->shape[dim] * run->out[0]->strides[dim];
  }
  return status;
}

const GpuRow burn__gpu_move_rows[] = {{BURN_OP_slice_assign, slice_assign, 0}, {BURN_OP_cat, cat, 0}, {0, NULL, 0}};
