/* gpu_reduce.c - one number per line along an axis. Long lines are cut, and the results of the parts joined:
 * the shape and the dtype alone decide where, so that sums have the same bits everywhere. */
#include "gpu.h"

enum { WARPS, BLOCKS, COLUMNS, ALONE, STRETCHES = 5 }; /* of kernels/reduce.cu; ALONE + one of the first two */
enum { ARG_BLOCKS, ARG_THREADS, ARG_WARPS };           /* of kernels/arg.cu */
enum { THREADS = 256, SHORT_LINE = 1024, LONG_LINE = 16384, PART = 8192 };
enum { ALONE_THREADS = 32, MANY_LINES = 8 /* so many give a processor enough to do */ };
enum { IS_MEAN = 1 << 8 /* in the detail of a row */ };

/* What parts of lines are joined in: as in kernels/join.cu. */
static BurnDType wide_dtype(BurnDType dtype, GpuJoin join) {
  if (burn_dtype_kind(dtype) != BURN_KIND_FLOAT) return BURN_DTYPE_I64;
  return dtype == BURN_DTYPE_F64 || join == GPU_JOIN_PRODUCT ? BURN_DTYPE_F64 : BURN_DTYPE_F32;
}

/* Vectors of lines beside each other that a thread has one of: 16 bytes, 8 lines at most. */
static int64_t vectors_of(const BurnPrimitive *x, int64_t inner, uint32_t *width) {
  const uint32_t fits = 16 / (uint32_t)burn_dtype_bytes(x->dtype);
  *width = fits < 8 ? fits : 8;
  return (inner + *width - 1) / *width;
}

static int64_t groups_of(const BurnPrimitive *x, uint32_t variant, const GpuReduce *p) {
  const int64_t lines = p->outer * p->parts;
  uint32_t width = 0;
  if (variant == STRETCHES) return lines * gpu_pieces(p->inner, p->lanes);
  if (variant >= ALONE) return (lines + ALONE_THREADS - 1) / ALONE_THREADS;
  if (variant == WARPS) return (lines + 7) / 8;
  return variant == BLOCKS ? lines : lines * ((vectors_of(x, p->inner, &width) + p->lanes - 1) / p->lanes);
}

/* One pass over x, row-major, into `out`. */
static BurnStatus pass(Gpu *gpu, GpuJoin join, BurnPrimitive *x, BurnPrimitive *out, GpuReduce *p) {
  const uint32_t alone = gpu->is_processor && p->outer * p->parts >= MANY_LINES ? ALONE : 0;
  const uint32_t along = alone + (p->part_size <= SHORT_LINE ? WARPS : BLOCKS);
  const uint32_t variant = p->stretches != 0 ? STRETCHES : p->lanes > 0 ? COLUMNS : along;
  const GpuKernelKey key = {.text = GPU_TEXT_REDUCE,
                            .out = out->dtype,
                            .in = {x->dtype, x->dtype, x->dtype},
                            .variant = variant,
                            .join = join};
  GpuFunction *function = NULL;
  p->in = gpu_address(x);
  p->out = gpu_address(out);
  p->whole = p->lanes > 0 ? burn__gpu_is_whole(x, p->inner)
                          : burn__gpu_is_whole(x, p->size) && burn__gpu_is_whole(x, p->part_size);
  const BurnStatus status = burn__gpu_kernel(gpu, &key, NULL, &function);
  if (status != BURN_OK) return status;
  const uint32_t threads = variant >= ALONE && variant != STRETCHES ? ALONE_THREADS : THREADS;
  return burn__gpu_launch(gpu, function, (uint64_t)groups_of(x, variant, p), threads, p, sizeof *p);
}

/* -- how lines are cut ------------------------------------------------------------------------ */

enum {
  MAX_LANES = 32,
  MIN_LANES = 2,      /* 32 bytes, which memory gives at once */
  SMALL = 16 << 20,   /* bytes up to which one pass of narrow blocks takes less time than two launches */
  FEW_BLOCKS = 128,   /* about as many as a device has units */
  MANY_BLOCKS = 1024, /* enough for each of them to have several */
  FEW = 1024,         /* rows that are summed by stretches, by fours of them at first ... */
  FEW_LINES = 8,      /* ... of as many lines in a block at least */
  AT_ONCE = 8,        /* rows that a thread reads at once */
  LONGEST = 128       /* rows that a thread adds up: longer sums lose digits */
};

/* Lines beside each other: narrow blocks with many rows of threads where x is small, else wide ones and parts. By the
 * shape and the dtype alone. */
static void cut_columns(const BurnPrimitive *x, GpuJoin join, GpuReduce *p) {
  uint32_t width = 0;
  p->stretches = join == GPU_JOIN_SUM && x->dtype == BURN_DTYPE_F32 && p->size <= FEW;
  if (p->stretches != 0) {
    p->lanes = THREADS;
    while (p->lanes > FEW_LINES && THREADS / p->lanes < p->size / 4) p->lanes /= 2;
    return;
  }
  const int64_t vectors = vectors_of(x, p->inner, &width);
  const int64_t bytes = burn_primitive_count(x) * (int64_t)burn_dtype_bytes(x->dtype);
  int32_t lanes = 1;
  while (lanes < MAX_LANES && lanes < vectors) lanes *= 2;
  p->lanes = lanes;
  while (p->lanes > MIN_LANES && p->outer * gpu_pieces(vectors, p->lanes) < FEW_BLOCKS) p->lanes /= 2;
  if (bytes <= SMALL && p->size <= THREADS / p->lanes * LONGEST) return;
  p->lanes = lanes;
  const int64_t rows = THREADS / lanes, blocks = p->outer * gpu_pieces(vectors, lanes);
  const int64_t wanted = gpu_pieces(p->size, gpu_pieces(MANY_BLOCKS, blocks)); /* rows of a part */
  const int64_t grain = rows * AT_ONCE, most = rows * LONGEST, whole = gpu_pieces(wanted, grain) * grain;
  p->part_size = whole < most ? whole : most;
  p->parts = gpu_pieces(p->size, p->part_size);
}

static void cut_lines(GpuReduce *p) {
  if (p->size <= LONG_LINE) return;
  p->part_size = PART;
  p->parts = gpu_pieces(p->size, PART);
}

static BurnStatus join_lines(Gpu *gpu, GpuJoin join, BurnPrimitive *x, BurnPrimitive *out, GpuReduce p);

static BurnStatus in_two_passes(Gpu *gpu, GpuJoin join, BurnPrimitive *x, BurnPrimitive *out, GpuReduce p) {
  const BurnTensorDesc desc = {.dtype = wide_dtype(x->dtype, join), .rank = 3, .shape = {p.outer, p.parts, p.inner}};
  GpuReduce second = p;
  BurnPrimitive *parts = NULL;
  BurnStatus status = burn__gpu_new(gpu, &desc, &parts);
  p.is_mean = 0;
  p.second = 0;
  if (status == BURN_OK) status = pass(gpu, join, x, parts, &p);
  second.size = p.parts;
  if (status == BURN_OK) status = join_lines(gpu, join, parts, out, second);
  burn__gpu_release(gpu, parts);
  return status;
}

/* Without parts and lanes yet. */
static BurnStatus join_lines(Gpu *gpu, GpuJoin join, BurnPrimitive *x, BurnPrimitive *out, GpuReduce p) {
  p.parts = 1;
  p.part_size = p.size;
  p.lanes = 0;
  p.stretches = 0;
  if (p.inner > 1 || p.second != 0)
    cut_columns(x, join, &p);
  else
    cut_lines(&p);
  return p.parts > 1 ? in_two_passes(gpu, join, x, out, p) : pass(gpu, join, x, out, &p);
}

static BurnStatus reduce(Gpu *gpu, GpuJoin join, bool is_mean, BurnPrimitive *x, BurnPrimitive *out,
                         const GpuAxis *axis) {
  const GpuReduce p = {
      .outer = axis->outer, .size = axis->size, .inner = axis->inner, .divisor = axis->size, .is_mean = is_mean};
  return burn_primitive_count(out) == 0 ? BURN_OK : join_lines(gpu, join, x, out, p);
}

BurnStatus burn__gpu_reduce(Gpu *gpu, GpuJoin join, BurnPrimitive *x, BurnPrimitive *out, const GpuAxis *axis) {
  return reduce(gpu, join, false, x, out, axis);
}

BurnStatus burn__gpu_sum_two(Gpu *gpu, BurnPrimitive *x, BurnPrimitive *first, BurnPrimitive *second) {
  const GpuReduce p = {.second = gpu_address(second), .outer = 2, .size = x->shape[1], .inner = x->shape[2]};
  return join_lines(gpu, GPU_JOIN_SUM, x, first, p);
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
  const uint32_t variant = axis->inner > 1 ? ARG_THREADS : axis->size <= SHORT_LINE ? ARG_WARPS : ARG_BLOCKS;
  const int64_t in_group = variant == ARG_THREADS ? THREADS : variant == ARG_WARPS ? THREADS / 32 : 1;
  const GpuReduce p = {.out = gpu_address(out),
                       .in = gpu_address(x),
                       .outer = axis->outer,
                       .size = axis->size,
                       .inner = axis->inner,
                       .whole = burn__gpu_is_whole(x, axis->size)};
  const GpuKernelKey key = {
      .text = GPU_TEXT_ARG, .out = out->dtype, .in = {x->dtype, x->dtype, x->dtype}, .variant = variant, .join = join};
  GpuFunction *function = NULL;
  if (lines == 0) return BURN_OK;
  const uint64_t groups = (uint64_t)((lines + in_group - 1) / in_group);
  const BurnStatus status = burn__gpu_kernel(gpu, &key, NULL, &function);
  return status == BURN_OK ? burn__gpu_launch(gpu, function, groups, THREADS, &p, sizeof p) : status;
}

static BurnStatus arg(const GpuRun *run) {
  BurnPrimitive *x = run->call->inputs[0], *rows = NULL;
  const GpuAxis axis = burn__gpu_axis(x, run->call->attrs[0].value.i64);
  BurnStatus status = axis.inner > 1 ? burn__gpu_check_rounds(run, axis.size) : BURN_OK;
  if (status == BURN_OK) status = burn__gpu_output(run, 0);
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
