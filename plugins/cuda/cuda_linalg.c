/* cuda_linalg.c - matrix products: large ones of floats by cuBLASLt, all others by a kernel of ours. */
#include "cuda_internal.h"

enum { TILE = 64, THREADS = 256 }; /* of kernels/matmul.cu */

/* Products that are worth the call of a library: below, a kernel of ours is done sooner. */
static bool is_large(const CudaMatmul *p) { return p->k > 0 && p->batches * p->m * p->n >= 4096 && p->k >= 16; }

/* Strides of the batch axes; those of size 1 repeat. */
static void batch_strides(const BurnPrimitive *x, uint32_t count, int64_t *strides) {
  for (uint32_t i = 0; i < count; i++) strides[i] = x->shape[i] == 1 ? 0 : x->strides[i];
}

BurnStatus burn__cuda_product(Cuda *cuda, BurnDType dtype, const CudaMatmul *p) {
  const CudaKernelKey key = {.text = CUDA_TEXT_MATMUL, .out = dtype, .in = {dtype, dtype, dtype}};
  const int64_t groups = p->batches * ((p->m + TILE - 1) / TILE) * ((p->n + TILE - 1) / TILE);
  const bool is_float = burn_dtype_kind(dtype) == BURN_KIND_FLOAT;
  void *function = NULL;
  if (groups == 0) return BURN_OK;
  if (is_float && is_large(p) && burn__cuda_blas_matmul(cuda, dtype, p)) return BURN_OK;
  const BurnStatus status = burn__cuda_kernel(cuda, &key, NULL, &function);
  return status == BURN_OK ? burn__cuda_launch(cuda, function, (uint64_t)groups, THREADS, p, sizeof *p) : status;
}

static BurnStatus matmul(const CudaRun *run) {
  BurnPrimitive *const *in = run->call->inputs;
  BurnStatus status = burn__cuda_output(run, 0);
  if (status != BURN_OK) return status;
  const BurnPrimitive *out = run->out[0];
  const uint32_t row = out->rank - 2, column = out->rank - 1;
  CudaMatmul p = {.out = cuda_address(out),
                  .lhs = cuda_address(in[0]),
                  .rhs = cuda_address(in[1]),
                  .m = out->shape[row],
                  .n = out->shape[column],
                  .k = in[0]->shape[column],
                  .lhs_row = in[0]->strides[row],
                  .lhs_column = in[0]->strides[column],
                  .rhs_row = in[1]->strides[row],
                  .rhs_column = in[1]->strides[column],
                  .batches = 1,
                  .rank = (int32_t)row};
  for (uint32_t i = 0; i < row; i++) p.batches *= p.shape[i] = out->shape[i];
  batch_strides(in[0], row, p.lhs_strides);
  batch_strides(in[1], row, p.rhs_strides);
  return burn__cuda_product(run->cuda, out->dtype, &p);
}

const CudaRow burn__cuda_linalg_rows[] = {{BURN_OP_matmul, matmul, 0}, {0, NULL, 0}};
