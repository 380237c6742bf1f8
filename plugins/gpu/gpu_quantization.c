/* gpu_quantization.c - quantized_matmul of i8 as one product of integers, where no scale changes along the axis that
 * is summed over. All else is decomposed. */
#include "gpu.h"

enum { THREADS = 256, MAX_TERMS = 131071 /* of 128 * 128, which i32 holds */ };

/* -- which products --------------------------------------------------------------------------- */

static bool is_small_float(BurnDType dtype) {
  return dtype == BURN_DTYPE_F32 || dtype == BURN_DTYPE_F16 || dtype == BURN_DTYPE_BF16;
}

/* Has every axis one scale, or one for each of its indices? Along `summed` it must be one. */
static bool has_plain_scales(const BurnPrimitive *x, const BurnAttr *block, uint32_t summed) {
  const int64_t *sizes = block->value.i64s;
  for (uint32_t i = 0; i < x->rank; i++) {
    if (sizes[i] == 0 || sizes[i] == x->shape[i]) continue;
    if (i == summed || sizes[i] != 1) return false;
  }
  return true;
}

bool burn__gpu_takes_quantized(const BurnOpCall *call) {
  const BurnAttrs_quantized_matmul *attrs = BURN_ATTRS(quantized_matmul, call);
  const BurnPrimitive *lhs = call->inputs[0], *rhs = call->inputs[2];
  return lhs->dtype == BURN_DTYPE_I8 && rhs->dtype == BURN_DTYPE_I8 && lhs->rank >= 2 && rhs->rank >= 2 &&
         lhs->shape[lhs->rank - 1] <= MAX_TERMS && is_small_float(call->output_descs->dtype) &&
         has_plain_scales(lhs, &attrs->lhs_block, lhs->rank - 1) &&
         has_plain_scales(rhs, &attrs->rhs_block, rhs->rank - 2);
}

/* -- one call --------------------------------------------------------------------------------- */

/* x with its last axis, or with `turned` the one before, dense, as products of i8 want it: itself or a copy. */
static BurnStatus dense(Gpu *gpu, BurnPrimitive *x, bool turned, BurnPrimitive **out) {
  BurnPrimitive *view = NULL, *copy = NULL;
  if (!turned) return burn__gpu_row_major(gpu, x, out);
  BurnStatus status = burn__gpu_transposed(gpu, x, &view);
  if (status == BURN_OK) status = burn__gpu_row_major(gpu, view, &copy);
  if (status == BURN_OK) status = burn__gpu_transposed(gpu, copy, out);
  burn__gpu_release(gpu, view);
  burn__gpu_release(gpu, copy);
  return status;
}

/* Strides of scales by the axes of a result of `rank` axes. */
static void scale_strides(const BurnPrimitive *x, const BurnPrimitive *scales, uint32_t rank, int64_t *strides) {
  for (uint32_t i = 0; i < rank; i++) {
    const int64_t axis = (int64_t)i + x->rank - rank;
    const bool repeats = axis < 0 || scales->rank != x->rank || scales->shape[axis] == 1;
    strides[i] = repeats ? 0 : scales->strides[axis];
  }
}

static BurnStatus scale(const GpuRun *run, const BurnPrimitive *sums, BurnPrimitive *const scales[2]) {
  BurnPrimitive *out = run->out[0];
  const uint32_t rank = out->rank;
  GpuScaled p = {.out = gpu_address(out),
                 .sums = gpu_address(sums),
                 .lhs = gpu_address(scales[0]),
                 .rhs = gpu_address(scales[1]),
                 .rows = 1,
                 .n = out->shape[rank - 1],
                 .rank = (int32_t)rank};
  for (uint32_t i = 0; i < rank; i++) p.shape[i] = out->shape[i];
  for (uint32_t i = 0; i + 1 < rank; i++) p.rows *= out->shape[i];
  scale_strides(run->call->inputs[0], scales[0], rank, p.lhs_strides);
  scale_strides(run->call->inputs[2], scales[1], rank, p.rhs_strides);
  p.lhs_strides[rank - 1] = p.rhs_strides[rank - 2] = 0; /* the axis that was summed over */
  const GpuKernelKey key = {
      .text = GPU_TEXT_QUANTIZATION, .out = out->dtype, .in = {BURN_DTYPE_I32, BURN_DTYPE_I32, BURN_DTYPE_I32}};
  const int64_t groups = p.rows * ((p.n + GPU_SCALED_TILE - 1) / GPU_SCALED_TILE);
  GpuFunction *function = NULL;
  const BurnStatus status = burn__gpu_kernel(run->gpu, &key, NULL, &function);
  return status == BURN_OK ? burn__gpu_launch(run->gpu, function, (uint64_t)groups, THREADS, &p, sizeof p) : status;
}

/* The scales in f32, as they are if they are. */
static BurnStatus scales_in_f32(Gpu *gpu, BurnPrimitive *x, BurnPrimitive **out) {
  if (x->dtype != BURN_DTYPE_F32) return burn__gpu_cast(gpu, x, BURN_DTYPE_F32, out);
  burn__gpu_retain(*out = x);
  return BURN_OK;
}

static BurnStatus multiply(const GpuRun *run, BurnPrimitive *lhs, BurnPrimitive *rhs, BurnPrimitive *const scales[2]) {
  BurnTensorDesc desc = *run->call->output_descs;
  BurnPrimitive *sums = NULL;
  desc.dtype = BURN_DTYPE_I32;
  BurnStatus status = burn__gpu_new(run->gpu, &desc, &sums);
  if (status == BURN_OK) status = burn__gpu_multiply(run->gpu, lhs, rhs, NULL, sums);
  if (status == BURN_OK && burn_desc_count(&desc) > 0) status = scale(run, sums, scales);
  burn__gpu_release(run->gpu, sums);
  return status;
}

static BurnStatus quantized_matmul(const GpuRun *run) {
  Gpu *gpu = run->gpu;
  BurnPrimitive *const *in = run->call->inputs;
  BurnPrimitive *lhs = NULL, *rhs = NULL, *scales[2] = {NULL, NULL};
  BurnStatus status = burn__gpu_output(run, 0);
  if (status == BURN_OK) status = dense(gpu, in[0], false, &lhs);
  if (status == BURN_OK) status = dense(gpu, in[2], true, &rhs);
  if (status == BURN_OK) status = scales_in_f32(gpu, in[1], &scales[0]);
  if (status == BURN_OK) status = scales_in_f32(gpu, in[3], &scales[1]);
  if (status == BURN_OK) status = multiply(run, lhs, rhs, scales);
  burn__gpu_release(gpu, lhs);
  burn__gpu_release(gpu, rhs);
  burn__gpu_release(gpu, scales[0]);
  burn__gpu_release(gpu, scales[1]);
  return status;
}

const GpuRow burn__gpu_quantization_rows[] = {{BURN_OP_quantized_matmul, quantized_matmul, 0}, {0, NULL, 0}};
