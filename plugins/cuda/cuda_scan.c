/* cuda_scan.c - every element joined with all before it along an axis. */
#include "cuda_internal.h"

enum { BLOCKS, LINES, THREADS = 256 }; /* variants of kernels/scan.cu */

static BurnStatus start(Cuda *cuda, CudaJoin join, BurnPrimitive *x, BurnPrimitive *out, const CudaAxis *axis) {
  const int64_t lines = axis->outer * axis->inner;
  const CudaScan p = {cuda_address(out), cuda_address(x), axis->outer, axis->size, axis->inner};
  const CudaKernelKey key = {.text = CUDA_TEXT_SCAN,
                             .out = out->dtype,
                             .in = {x->dtype, x->dtype, x->dtype},
                             .variant = axis->inner > 1 ? LINES : BLOCKS,
                             .join = join};
  void *function = NULL;
  if (burn_primitive_count(x) == 0) return BURN_OK;
  const BurnStatus status = burn__cuda_kernel(cuda, &key, NULL, &function);
  if (status != BURN_OK) return status;
  const uint64_t groups = (uint64_t)(key.variant == LINES ? (lines + THREADS - 1) / THREADS : lines);
  return burn__cuda_launch(cuda, function, groups, THREADS, &p, sizeof p);
}

static BurnStatus scan(const CudaRun *run) {
  BurnPrimitive *x = run->call->inputs[0], *rows = NULL;
  const CudaAxis axis = burn__cuda_axis(x, run->call->attrs[0].value.i64);
  BurnStatus status = burn__cuda_output(run, 0);
  if (status == BURN_OK) status = burn__cuda_row_major(run->cuda, x, &rows);
  if (status == BURN_OK) status = start(run->cuda, (CudaJoin)run->row->detail, rows, run->out[0], &axis);
  burn__cuda_release(run->cuda, rows);
  return status;
}

const CudaRow burn__cuda_scan_rows[] = {{BURN_OP_cumsum, scan, CUDA_JOIN_SUM},
                                        {BURN_OP_cumprod, scan, CUDA_JOIN_PRODUCT},
                                        {BURN_OP_cummin, scan, CUDA_JOIN_SMALLEST},
                                        {BURN_OP_cummax, scan, CUDA_JOIN_LARGEST},
                                        {0, NULL, 0}};
