/* gpu_linear.c - linear and its gradients: a product each, whose operands are views of the tensors. */
#include "gpu.h"

/* x [.., width] as a matrix of rows: a view where the leading axes lie as one, else a copy. */
static BurnStatus as_rows(Gpu *gpu, BurnPrimitive *x, BurnPrimitive **out) {
  const int64_t width = x->shape[x->rank - 1];
  BurnTensorDesc desc = {.dtype = x->dtype, .rank = 2, .shape = {1, width}};
  int64_t strides[2] = {width, x->strides[x->rank - 1]}, next = 0; /* next: what the stride of another axis must be */
  bool is_one = true;
  for (uint32_t i = x->rank - 1; i-- > 0;) {
    if (x->shape[i] == 1) continue;
    if (desc.shape[0] == 1) strides[0] = x->strides[i];
    is_one = is_one && (desc.shape[0] == 1 || x->strides[i] == next);
    desc.shape[0] *= x->shape[i];
    next = x->strides[i] * x->shape[i];
  }
  if (is_one) return burn__gpu_view(gpu, x, &desc, strides, 0, out);
  BurnPrimitive *copy = NULL;
  BurnStatus status = burn__gpu_cast(gpu, x, x->dtype, &copy);
  strides[0] = width;
  strides[1] = 1;
  if (status == BURN_OK) status = burn__gpu_view(gpu, copy, &desc, strides, 0, out);
  burn__gpu_release(gpu, copy);
  return status;
}

/* x [.., in], weight [in, out], bias [out] -> [.., out]. */
static BurnStatus linear(const GpuRun *run) {
  Gpu *gpu = run->gpu;
  BurnPrimitive *const *in = run->call->inputs;
  BurnPrimitive *rows = NULL, *bias = NULL, *out = NULL;
  BurnStatus status = burn__gpu_output(run, 0);
  if (status == BURN_OK) status = as_rows(gpu, in[0], &rows);
  if (status == BURN_OK) status = as_rows(gpu, run->out[0], &out);
  if (status == BURN_OK && in[2]) status = burn__gpu_row_major(gpu, in[2], &bias);
  if (status == BURN_OK) status = burn__gpu_multiply(gpu, rows, in[1], bias, out);
  burn__gpu_release(gpu, rows);
  burn__gpu_release(gpu, bias);
  burn__gpu_release(gpu, out);
  return status;
}

/* -- gradients -------------------------------------------------------------------------------- */

/* Of x: grad times the weight, transposed. */
static BurnStatus input_gradient(Gpu *gpu, BurnPrimitive *grad, const BurnPrimitive *weight, BurnPrimitive *out) {
  BurnPrimitive *turned = NULL, *rows = NULL;
  BurnStatus status = burn__gpu_transposed(gpu, weight, &turned);
  if (status == BURN_OK) status = as_rows(gpu, out, &rows);
  if (status == BURN_OK) status = burn__gpu_multiply(gpu, grad, turned, NULL, rows);
  burn__gpu_release(gpu, turned);
  burn__gpu_release(gpu, rows);
  return status;
}

/* Of the weight: x, transposed, times grad. */
static BurnStatus weight_gradient(Gpu *gpu, BurnPrimitive *grad, const BurnPrimitive *x, BurnPrimitive *out) {
  BurnPrimitive *turned = NULL;
  BurnStatus status = burn__gpu_transposed(gpu, x, &turned);
  if (status == BURN_OK) status = burn__gpu_multiply(gpu, turned, grad, NULL, out);
  burn__gpu_release(gpu, turned);
  return status;
}

/* Zeros: a product of nothing. */
static BurnStatus clear(Gpu *gpu, BurnPrimitive *out) {
  const GpuMatmul p = {.out = gpu_address(out), .m = 1, .n = burn_primitive_count(out), .k = 0, .batches = 1};
  return burn__gpu_product(gpu, out->dtype, &p);
}

/* Of the bias: sums of columns. cuBLASLt's epilogue for them takes three times as long as the product. */
static BurnStatus bias_gradient(Gpu *gpu, BurnPrimitive *grad, BurnPrimitive *out) {
  const GpuAxis axis = {1, grad->shape[0], grad->shape[1]};
  BurnPrimitive *rows = NULL;
  if (axis.size == 0) return clear(gpu, out);
  BurnStatus status = burn__gpu_row_major(gpu, grad, &rows);
  if (status == BURN_OK) status = burn__gpu_reduce(gpu, GPU_JOIN_SUM, rows, out, &axis);
  burn__gpu_release(gpu, rows);
  return status;
}

/* grad [.., out], x [.., in], weight [in, out] or NULL -> gradients of x, weight and bias. */
static BurnStatus linear_backward(const GpuRun *run) {
  Gpu *gpu = run->gpu;
  BurnPrimitive *const *in = run->call->inputs, *grad = NULL, *x = NULL;
  BurnStatus status = BURN_OK;
  for (uint32_t i = 0; i < 3 && status == BURN_OK; i++) status = burn__gpu_output(run, i);
  if (status == BURN_OK) status = as_rows(gpu, in[0], &grad);
  if (status == BURN_OK) status = as_rows(gpu, in[1], &x);
  if (status == BURN_OK)
    status = in[2] ? input_gradient(gpu, grad, in[2], run->out[0]) : clear(gpu, run->out[0]); /* [1], a 0 */
  if (status == BURN_OK) status = weight_gradient(gpu, grad, x, run->out[1]);
  if (status == BURN_OK) status = bias_gradient(gpu, grad, run->out[2]);
  burn__gpu_release(gpu, grad);
  burn__gpu_release(gpu, x);
  return status;
}

const GpuRow burn__gpu_linear_rows[] = {
    {BURN_OP_linear, linear, 0}, {BURN_OP_linear_backward, linear_backward, 0}, {0, NULL, 0}};
