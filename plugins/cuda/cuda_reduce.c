/* cuda_reduce.c - one number per line along an axis. Long lines are cut, and the results of the parts joined:
 * the length of a line alone decides where, so that sums have the same bits everywhere. */
#include "cuda_internal.h"

enum { WARPS, BLOCKS, COLUMNS };  /* variants of kernels/reduce.cu */
enum { ARG_BLOCKS, ARG_THREADS }; /* of kernels/arg.cu */
enum { THREADS = 256, SHORT_LINE = 256, LONG_LINE = 16384, PART = 8192, LONG_COLUMN = 2048, COLUMN_PART = 1024 };

/* What parts of lines are joined in: as in kernels/join.cu. */
static BurnDType wide_dtype(BurnDType dtype, CudaJoin join) {
  if (burn_dtype_kind(dtype) != BURN_KIND_FLOAT) return BURN_DTYPE_I64;
  return dtype == BURN_DTYPE_F64 || join == CUDA_JOIN_PRODUCT ? BURN_DTYPE_F64 : BURN_DTYPE_F32;
}

/* One pass over x, row-major, into `out`. */
static BurnStatus pass(Cuda *cuda, CudaJoin join, BurnPrimitive *x, BurnPrimitive *out, CudaReduce *p) {
  const uint32_t variant = p->inner > 1 ? COLUMNS : p->part_size <= SHORT_LINE ? WARPS : BLOCKS;
  const CudaKernelKey key = {.text = CUDA_TEXT_REDUCE,
                             .out = out->dtype,
                             .in = {x->dtype, x->dtype, x->dtype},
                             .variant = variant,
                             .join = join};
  void *function = NULL;
  const uint64_t lines = (uint64_t)(p->outer * p->parts);
  const uint64_t groups = variant == COLUMNS ? lines * (uint64_t)((p->inner + 31) / 32)
                          : variant == WARPS ? (lines + 7) / 8
                                             : lines;
  p->in = cuda_address(x);
  p->out = cuda_address(out);
  const BurnStatus status = burn__cuda_kernel(cuda, &key, NULL, &function);
  return status == BURN_OK ? burn__cuda_launch(cuda, function, groups, THREADS, p, sizeof *p) : status;
}

static BurnStatus in_two_passes(Cuda *cuda, CudaJoin join, BurnPrimitive *x, BurnPrimitive *out, CudaReduce *p) {
  const BurnTensorDesc desc = {.dtype = wide_dtype(x->dtype, join), .rank = 3, .shape = {p->outer, p->parts, p->inner}};
  CudaReduce second = *p;
  BurnPrimitive *parts = NULL;
  BurnStatus status = burn__cuda_new(cuda, &desc, &parts);
  if (status == BURN_OK) status = pass(cuda, join, x, parts, p);
  second.size = second.part_size = p->parts;
  second.parts = 1;
  if (status == BURN_OK) status = pass(cuda, join, parts, out, &second);
  burn__cuda_release(cuda, parts);
  return status;
}

BurnStatus burn__cuda_reduce(Cuda *cuda, CudaJoin join, BurnPrimitive *x, BurnPrimitive *out, const CudaAxis *axis) {
  CudaReduce p = {.outer = axis->outer, .size = axis->size, .inner = axis->inner, .parts = 1, .part_size = axis->size};
  const bool is_long = axis->size > (axis->inner > 1 ? LONG_COLUMN : LONG_LINE);
  if (burn_primitive_count(out) == 0) return BURN_OK;
  if (!is_long) return pass(cuda, join, x, out, &p);
  p.part_size = axis->inner > 1 ? COLUMN_PART : PART;
  p.parts = (axis->size + p.part_size - 1) / p.part_size;
  return in_two_passes(cuda, join, x, out, &p);
}

static BurnStatus reduce_dim(const CudaRun *run) {
  BurnPrimitive *x = run->call->inputs[0], *rows = NULL;
  const CudaAxis axis = burn__cuda_axis(x, run->call->attrs[0].value.i64);
  BurnStatus status = burn__cuda_output(run, 0);
  if (status == BURN_OK) status = burn__cuda_row_major(run->cuda, x, &rows);
  if (status == BURN_OK) status = burn__cuda_reduce(run->cuda, (CudaJoin)run->row->detail, rows, run->out[0], &axis);
  burn__cuda_release(run->cuda, rows);
  return status;
}

/* All elements as one line. */
static BurnStatus reduce_all(const CudaRun *run) {
  BurnPrimitive *x = run->call->inputs[0], *rows = NULL;
  const CudaAxis axis = {1, burn_primitive_count(x), 1};
  BurnStatus status = burn__cuda_output(run, 0);
  if (status == BURN_OK) status = burn__cuda_row_major(run->cuda, x, &rows);
  if (status == BURN_OK) status = burn__cuda_reduce(run->cuda, (CudaJoin)run->row->detail, rows, run->out[0], &axis);
  burn__cuda_release(run->cuda, rows);
  return status;
}

static BurnStatus find(Cuda *cuda, CudaJoin join, BurnPrimitive *x, BurnPrimitive *out, const CudaAxis *axis) {
  const int64_t lines = axis->outer * axis->inner;
  const uint32_t variant = axis->inner > 1 ? ARG_THREADS : ARG_BLOCKS;
  const CudaReduce p = {
      .out = cuda_address(out), .in = cuda_address(x), .outer = axis->outer, .size = axis->size, .inner = axis->inner};
  const CudaKernelKey key = {
      .text = CUDA_TEXT_ARG, .out = out->dtype, .in = {x->dtype, x->dtype, x->dtype}, .variant = variant, .join = join};
  void *function = NULL;
  if (lines == 0) return BURN_OK;
  const uint64_t groups = (uint64_t)(variant == ARG_THREADS ? (lines + THREADS - 1) / THREADS : lines);
  const BurnStatus status = burn__cuda_kernel(cuda, &key, NULL, &function);
  return status == BURN_OK ? burn__cuda_launch(cuda, function, groups, THREADS, &p, sizeof p) : status;
}

static BurnStatus arg(const CudaRun *run) {
  BurnPrimitive *x = run->call->inputs[0], *rows = NULL;
  const CudaAxis axis = burn__cuda_axis(x, run->call->attrs[0].value.i64);
  BurnStatus status = burn__cuda_output(run, 0);
  if (status == BURN_OK) status = burn__cuda_row_major(run->cuda, x, &rows);
  if (status == BURN_OK) status = find(run->cuda, (CudaJoin)run->row->detail, rows, run->out[0], &axis);
  burn__cuda_release(run->cuda, rows);
  return status;
}

const CudaRow burn__cuda_reduce_rows[] = {{BURN_OP_sum_dim, reduce_dim, CUDA_JOIN_SUM},
                                          {BURN_OP_prod_dim, reduce_dim, CUDA_JOIN_PRODUCT},
                                          {BURN_OP_max_dim, reduce_dim, CUDA_JOIN_LARGEST},
                                          {BURN_OP_min_dim, reduce_dim, CUDA_JOIN_SMALLEST},
                                          {BURN_OP_any_dim, reduce_dim, CUDA_JOIN_ANY},
                                          {BURN_OP_sum, reduce_all, CUDA_JOIN_SUM},
                                          {BURN_OP_argmax, arg, CUDA_JOIN_LARGEST},
                                          {BURN_OP_argmin, arg, CUDA_JOIN_SMALLEST},
                                          {0, NULL, 0}};
