/* cuda_pool.c - pools: windows over planes [n, c, h, w]. */
#include "cuda_internal.h"

enum { LARGEST, MEAN, MEAN_BACKWARD, ADAPTIVE, ADAPTIVE_BACKWARD, THREADS = 256 }; /* variants of kernels/pool.cu */

static void take_pair(int64_t to[2], const int64_t *from) {
  to[0] = from[0];
  to[1] = from[1];
}

static BurnStatus start(const CudaRun *run, CudaPool *p, const int64_t *pixels, const int64_t *windows) {
  BurnPrimitive *x = run->call->inputs[0], *rows = NULL;
  const BurnPrimitive *out = run->out[0];
  const CudaKernelKey key = {.text = CUDA_TEXT_POOL,
                             .out = out->dtype,
                             .in = {x->dtype, run->out[1] ? run->out[1]->dtype : x->dtype, x->dtype},
                             .variant = (uint32_t)run->row->detail};
  const int64_t count = burn_primitive_count(out);
  void *function = NULL;
  if (count == 0) return BURN_OK;
  p->planes = pixels[0] * pixels[1];
  take_pair(p->pixels, pixels + 2);
  take_pair(p->windows, windows + 2);
  BurnStatus status = burn__cuda_row_major(run->cuda, x, &rows);
  if (status == BURN_OK) status = burn__cuda_kernel(run->cuda, &key, NULL, &function);
  if (status == BURN_OK) {
    p->out = cuda_address(out);
    p->in = cuda_address(rows);
    status = burn__cuda_launch(run->cuda, function, (uint64_t)((count + THREADS - 1) / THREADS), THREADS, p, sizeof *p);
  }
  burn__cuda_release(run->cuda, rows);
  return status;
}

static BurnStatus max_pool2d_with_indices(const CudaRun *run) {
  const BurnAttrs_max_pool2d_with_indices *attrs = BURN_ATTRS(max_pool2d_with_indices, run->call);
  CudaPool p = {.count_include_pad = 0};
  BurnStatus status = burn__cuda_output(run, 0);
  if (status == BURN_OK) status = burn__cuda_output(run, 1);
  if (status != BURN_OK) return status;
  p.indices = cuda_address(run->out[1]);
  take_pair(p.kernel, attrs->kernel_size.value.i64s);
  take_pair(p.stride, attrs->stride.value.i64s);
  take_pair(p.padding, attrs->padding.value.i64s);
  take_pair(p.dilation, attrs->dilation.value.i64s);
  return start(run, &p, run->call->inputs[0]->shape, run->out[0]->shape);
}

static BurnStatus avg_pool2d(const CudaRun *run) {
  const BurnAttrs_avg_pool2d *attrs = BURN_ATTRS(avg_pool2d, run->call);
  CudaPool p = {.count_include_pad = attrs->count_include_pad.value.i64 != 0};
  const BurnStatus status = burn__cuda_output(run, 0);
  if (status != BURN_OK) return status;
  take_pair(p.kernel, attrs->kernel_size.value.i64s);
  take_pair(p.stride, attrs->stride.value.i64s);
  take_pair(p.padding, attrs->padding.value.i64s);
  return start(run, &p, run->call->inputs[0]->shape, run->out[0]->shape);
}

static BurnStatus avg_pool2d_backward(const CudaRun *run) {
  const BurnAttrs_avg_pool2d_backward *attrs = BURN_ATTRS(avg_pool2d_backward, run->call);
  CudaPool p = {.count_include_pad = attrs->count_include_pad.value.i64 != 0};
  const BurnStatus status = burn__cuda_output(run, 0);
  if (status != BURN_OK) return status;
  take_pair(p.kernel, attrs->kernel_size.value.i64s);
  take_pair(p.stride, attrs->stride.value.i64s);
  take_pair(p.padding, attrs->padding.value.i64s);
  return start(run, &p, run->out[0]->shape, run->call->inputs[0]->shape);
}

static BurnStatus adaptive_avg_pool2d(const CudaRun *run) {
  CudaPool p = {.planes = 0};
  const BurnStatus status = burn__cuda_output(run, 0);
  return status == BURN_OK ? start(run, &p, run->call->inputs[0]->shape, run->out[0]->shape) : status;
}

static BurnStatus adaptive_avg_pool2d_backward(const CudaRun *run) {
  CudaPool p = {.planes = 0};
  const BurnStatus status = burn__cuda_output(run, 0);
  return status == BURN_OK ? start(run, &p, run->out[0]->shape, run->call->inputs[0]->shape) : status;
}

const CudaRow burn__cuda_pool_rows[] = {
    {BURN_OP_max_pool2d_with_indices, max_pool2d_with_indices, LARGEST},
    {BURN_OP_avg_pool2d, avg_pool2d, MEAN},
    {BURN_OP_avg_pool2d_backward, avg_pool2d_backward, MEAN_BACKWARD},
    {BURN_OP_adaptive_avg_pool2d, adaptive_avg_pool2d, ADAPTIVE},
    {BURN_OP_adaptive_avg_pool2d_backward, adaptive_avg_pool2d_backward, ADAPTIVE_BACKWARD},
    {0, NULL, 0}};
