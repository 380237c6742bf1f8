/* cuda_sort.c - the order of elements along an axis; also for scatter, which takes equal indices together. */
#include "cuda_internal.h"

enum { SHARED, FILL, STEP, WRITE, THREADS = 512, LONGEST_SHARED = 4096 }; /* variants of kernels/sort.cu */

static BurnStatus start(Cuda *cuda, CudaKernelKey *key, uint32_t variant, uint64_t groups, const CudaSort *p) {
  void *function = NULL;
  key->variant = variant;
  const BurnStatus status = burn__cuda_kernel(cuda, key, NULL, &function);
  return status == BURN_OK ? burn__cuda_launch(cuda, function, groups, THREADS, p, sizeof *p) : status;
}

static uint64_t groups_of(int64_t threads) { return (uint64_t)((threads + THREADS - 1) / THREADS); }

static BurnStatus sort_in_memory(Cuda *cuda, CudaKernelKey *key, CudaSort *p) {
  const int64_t lines = p->outer * p->inner;
  const BurnTensorDesc desc = {.dtype = BURN_DTYPE_I64, .rank = 1, .shape = {2 * lines * p->padded}};
  BurnPrimitive *ranks = NULL;
  BurnStatus status = burn__cuda_new(cuda, &desc, &ranks);
  if (status != BURN_OK) return status;
  p->ranks = cuda_address(ranks);
  status = start(cuda, key, FILL, groups_of(lines * p->padded), p);
  for (p->span = 2; p->span <= p->padded && status == BURN_OK; p->span *= 2)
    for (p->distance = p->span / 2; p->distance > 0 && status == BURN_OK; p->distance /= 2)
      status = start(cuda, key, STEP, groups_of(lines * (p->padded / 2)), p);
  if (status == BURN_OK) status = start(cuda, key, WRITE, groups_of(lines * p->size), p);
  burn__cuda_release(cuda, ranks);
  return status;
}

BurnStatus burn__cuda_argsort(Cuda *cuda, BurnPrimitive *x, const CudaAxis *axis, bool descending, BurnPrimitive *out) {
  CudaKernelKey key = {.text = CUDA_TEXT_SORT, .out = out->dtype, .in = {x->dtype, x->dtype, x->dtype}};
  CudaSort p = {.out = cuda_address(out),
                .in = cuda_address(x),
                .outer = axis->outer,
                .size = axis->size,
                .inner = axis->inner,
                .padded = 2,
                .descending = descending};
  if (axis->outer * axis->size * axis->inner == 0) return BURN_OK;
  while (p.padded < p.size) p.padded *= 2;
  if (p.padded <= LONGEST_SHARED) return start(cuda, &key, SHARED, (uint64_t)(p.outer * p.inner), &p);
  return sort_in_memory(cuda, &key, &p);
}

static BurnStatus argsort(const CudaRun *run) {
  const BurnAttrs_argsort *attrs = BURN_ATTRS(argsort, run->call);
  BurnPrimitive *x = run->call->inputs[0], *rows = NULL;
  const CudaAxis axis = burn__cuda_axis(x, attrs->dim.value.i64);
  BurnStatus status = burn__cuda_output(run, 0);
  if (status == BURN_OK) status = burn__cuda_row_major(run->cuda, x, &rows);
  if (status == BURN_OK)
    status = burn__cuda_argsort(run->cuda, rows, &axis, attrs->descending.value.i64 != 0, run->out[0]);
  burn__cuda_release(run->cuda, rows);
  return status;
}

const CudaRow burn__cuda_sort_rows[] = {{BURN_OP_argsort, argsort, 0}, {0, NULL, 0}};
