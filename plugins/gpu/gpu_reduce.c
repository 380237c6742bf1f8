/* gpu_reduce.c - one number per line along an axis. Long lines are cut, and the results of the parts joined:
 * the length of a line alone decides where, so that sums have the same bits everywhere. */
#include "gpu.h"

enum { WARPS, BLOCKS, COLUMNS, COLUMN_VECTORS, ALONE }; /* variants of kernels/reduce.cu; ALONE + one of two */
enum { ARG_BLOCKS, ARG_THREADS };                       /* of kernels/arg.cu */
enum { THREADS = 256, SHORT_LINE = 256, LONG_LINE = 16384, PART = 8192, LONG_COLUMN = 2048, COLUMN_PART = 1024 };
enum { ALONE_THREADS = 32, MANY_LINES = 8 /* so many give a processor enough to do */ };
enum { MANY_COLUMNS = 1024 /* so many are read by vectors */, IS_MEAN = 1 << 8 /* in the detail of a row */ };

/* What parts of lines are joined in: as in kernels/join.cu. */
static BurnDType wide_dtype(BurnDType dtype, GpuJoin join) {
  if (burn_dtype_kind(dtype) != BURN_KIND_FLOAT) return BURN_DTYPE_I64;
  return dtype == BURN_DTYPE_F64 || join == GPU_JOIN_PRODUCT ? BURN_DTYPE_F64 : BURN_DTYPE_F32;
}

/* Lines beside each other: by vectors where they are made of such, and a group has room for 8 sums of each of a warp's
 * lines. The order of each is the same. */
static uint32_t column_variant(const Gpu *gpu, const BurnPrimitive *x, int64_t inner) {
  const uint32_t sums = 8 * (32 * (16 / burn_dtype_bytes(x->dtype)) + 1);
  const bool fits = sums * sizeof(int64_t) <= gpu->shared_bytes;
  return inner >= MANY_COLUMNS && burn__gpu_is_whole(x, inner) && fits ? COLUMN_VECTORS : COLUMNS;
}

static int64_t groups_of(const BurnPrimitive *x, uint32_t variant, const GpuReduce *p) {
  const int64_t lines = p->outer * p->parts,
                width = 32 * (variant == COLUMN_VECTORS ? 16 / burn_dtype_bytes(x->dtype) : 1);
  if (variant >= ALONE) return (lines + ALONE_THREADS - 1) / ALONE_THREADS;
  if (variant == WARPS) return (lines + 7) / 8;
  return variant == BLOCKS ? lines : lines * ((p->inner + width - 1) / width);
}

/* One pass over x, row-major, into `out`. */
static BurnStatus pass(Gpu *gpu, GpuJoin join, BurnPrimitive *x, BurnPrimitive *out, GpuReduce *p) {
  const uint32_t alone = gpu->is_processor && p->outer * p->parts >= MANY_LINES ? ALONE : 0;
  const uint32_t along = alone + (p->part_size <= SHORT_LINE ? WARPS : BLOCKS);
  const uint32_t variant = p->inner > 1 ? column_variant(gpu, x, p->inner) : along;
  const GpuKernelKey key = {.text = GPU_TEXT_REDUCE,
                            .out = out->dtype,
                            .in = {x->dtype, x->dtype, x->dtype},
                            .variant = variant,
                            .join = join};
  GpuFunction *function = NULL;
  p->in = gpu_address(x);
  p->out = gpu_address(out);
  p->whole = burn__gpu_is_whole(x, p->size) && burn__gpu_is_whole(x, p->part_size);
  const BurnStatus status = burn__gpu_kernel(gpu, &key, NULL, &function);
  if (status != BURN_OK) return status;
  const uint32_t threads = variant >= ALONE ? ALONE_THREADS : THREADS;
  return burn__gpu_launch(gpu, function, (uint64_t)groups_of(x, variant, p), threads, p, sizeof *p);
}

static BurnStatus in_two_passes(Gpu *gpu, GpuJoin join, BurnPrimitive *x, BurnPrimitive *out, GpuReduce *p) {
  const BurnTensorDesc desc = {.dtype = wide_dtype(x->dtype, join), .rank = 3, .shape = {p->outer, p->parts, p->inner}};
  GpuReduce second = *p;
  BurnPrimitive *parts = NULL;
  BurnStatus status = burn__gpu_new(gpu, &desc, &parts);
  p->is_mean = 0;
  if (status == BURN_OK) status = pass(gpu, join, x, parts, p);
  second.size = second.part_size = p->parts;
  second.parts = 1;
  if (status == BURN_OK) status = pass(gpu, join, parts, out, &second);
  burn__gpu_release(gpu, parts);
  return status;
}

static BurnStatus reduce(Gpu *gpu, GpuJoin join, bool is_mean, BurnPrimitive *x, BurnPrimitive *out,
                         const GpuAxis *axis) {
  GpuReduce p = {.outer = axis->outer,
                 .size = axis->size,
                 .inner = axis->inner,
                 .parts = 1,
                 .part_size = axis->size,
                 .divisor = axis->size,
                 .is_mean = is_mean};
  const bool is_long = axis->size > (axis->inner > 1 ? LONG_COLUMN : LONG_LINE);
  if (burn_primitive_count(out) == 0) return BURN_OK;
  if (!is_long) return pass(gpu, join, x, out, &p);
  p.part_size = axis->inner > 1 ? COLUMN_PART : PART;
  p.parts = (axis->size + p.part_size - 1) / p.part_size;
  return in_two_passes(gpu, join, x, out, &p);
}

BurnStatus burn__gpu_reduce(Gpu *gpu, GpuJoin join, BurnPrimitive *x, BurnPrimitive *out, const GpuAxis *axis) {
  return reduce(gpu, join, false, x, out, axis);
}

static BurnStatus reduce_along(const GpuRun *run, const GpuAxis *axis) {
  const int detail = run->row->detail;
  BurnPrimitive *rows = NULL;
  BurnStatus status = burn__gpu_output(run, 0);
  if (status == BURN_OK) status = burn__gpu_row_major(run->gpu, run->call->inputs[0], &rows);
  if (status == BURN_OK)
    status = reduce(run->gpu, (GpuJoin)(detail & ~IS_MEAN), (detail & IS_MEAN) != 0, rows, run->out[0], axis);
  burn__gpu_release(run->gpu, rows);
  return status;
}

static BurnStatus reduce_dim(const GpuRun *run) {
  const GpuAxis axis = burn__gpu_axis(run->call->inputs[0], run->call->attrs[0].value.i64);
  return reduce_along(run, &axis);
}

/* All elements as one line. */
static BurnStatus reduce_all(const GpuRun *run) {
  const GpuAxis axis = {1, burn_primitive_count(run->call->inputs[0]), 1};
  return reduce_along(run, &axis);
}

static BurnStatus find(Gpu *gpu, GpuJoin join, BurnPrimitive *x, BurnPrimitive *out, const GpuAxis *axis) {
  const int64_t lines = axis->outer * axis->inner;
  const uint32_t variant = axis->inner > 1 ? ARG_THREADS : ARG_BLOCKS;
  const GpuReduce p = {
      .out = gpu_address(out), .in = gpu_address(x), .outer = axis->outer, .size = axis->size, .inner = axis->inner};
  const GpuKernelKey key = {
      .text = GPU_TEXT_ARG, .out = out->dtype, .in = {x->dtype, x->dtype, x->dtype}, .variant = variant, .join = join};
  GpuFunction *function = NULL;
  if (lines == 0) return BURN_OK;
  const uint64_t groups = (uint64_t)(variant == ARG_THREADS ? (lines + THREADS - 1) / THREADS : lines);
  const BurnStatus status = burn__gpu_kernel(gpu, &key, NULL, &function);
  return status == BURN_OK ? burn__gpu_launch(gpu, function, groups, THREADS, &p, sizeof p) : status;
}

static BurnStatus arg(const GpuRun *run) {
  BurnPrimitive *x = run->call->inputs[0], *rows = NULL;
  const GpuAxis axis = burn__gpu_axis(x, run->call->attrs[0].value.i64);
  BurnStatus status = burn__gpu_output(run, 0);
  if (status == BURN_OK) status = burn__gpu_row_major(run->gpu, x, &rows);
  if (status == BURN_OK) status = find(run->gpu, (GpuJoin)run->row->detail, rows, run->out[0], &axis);
  burn__gpu_release(run->gpu, rows);
  return status;
}

const GpuRow burn__gpu_reduce_rows[] = {{BURN_OP_sum_dim, reduce_dim, GPU_JOIN_SUM},
                                        {BURN_OP_prod_dim, reduce_dim, GPU_JOIN_PRODUCT},
                                        {BURN_OP_max_dim, reduce_dim, GPU_JOIN_LARGEST},
                                        {BURN_OP_min_dim, reduce_dim, GPU_JOIN_SMALLEST},
                                        {BURN_OP_any_dim, reduce_dim, GPU_JOIN_ANY},
                                        {BURN_OP_all_dim, reduce_dim, GPU_JOIN_ALL},
                                        {BURN_OP_mean_dim, reduce_dim, GPU_JOIN_SUM | IS_MEAN},
                                        {BURN_OP_sum, reduce_all, GPU_JOIN_SUM},
                                        {BURN_OP_prod, reduce_all, GPU_JOIN_PRODUCT},
                                        {BURN_OP_max, reduce_all, GPU_JOIN_LARGEST},
                                        {BURN_OP_min, reduce_all, GPU_JOIN_SMALLEST},
                                        {BURN_OP_any, reduce_all, GPU_JOIN_ANY},
                                        {BURN_OP_all, reduce_all, GPU_JOIN_ALL},
                                        {BURN_OP_mean, reduce_all, GPU_JOIN_SUM | IS_MEAN},
                                        {BURN_OP_argmax, arg, GPU_JOIN_LARGEST},
                                        {BURN_OP_argmin, arg, GPU_JOIN_SMALLEST},
                                        {0, NULL, 0}};
