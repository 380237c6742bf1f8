/* gpu_vector.c - products of a matrix and a vector: reading the matrix is all the work, and the tiles of a product of
 * matrices would lie idle. */
#include "gpu.h"

#include <string.h>

enum { WARPS, BLOCKS, COLUMNS, JOIN, NARROW }; /* variants of kernels/vector.cu */
enum { THREADS = 256, LONG_LINE = 2048, PART = 256, MAX_PARTS = 256, JOINED = 32 };
/* Matrices of which a block reads 32 bytes of each row, in one pass: of larger ones memory gives whole lines faster,
 * and more rows are too much for one block. */
enum { NARROW_BYTES = 16 << 20, NARROW_ROWS = 8192 };

/* One of the factors as the matrix. */
typedef struct Lines {
  int64_t line, k; /* strides */
} Lines;

static Lines lines_of(const GpuMatmul *p) {
  return p->n == 1 ? (Lines){p->lhs_row, p->lhs_column} : (Lines){p->rhs_column, p->rhs_row};
}

bool burn__gpu_takes_vector(const GpuMatmul *p) {
  const Lines lines = lines_of(p);
  return (p->m == 1 || p->n == 1) && p->k > 0 && (lines.k == 1 || p->k == 1 || lines.line == 1);
}

static GpuVector describe(const GpuMatmul *p, bool *is_dense_in_k) {
  const Lines lines = lines_of(p);
  const bool is_left = p->n == 1;
  const size_t bytes = sizeof p->shape;
  GpuVector v = {.out = p->out,
                 .matrix = is_left ? p->lhs : p->rhs,
                 .vector = is_left ? p->rhs : p->lhs,
                 .bias = p->bias,
                 .lines = is_left ? p->m : p->n,
                 .k = p->k,
                 .vector_stride = is_left ? p->rhs_row : p->lhs_column,
                 .bias_stride = !is_left,
                 .batches = p->batches,
                 .parts = 1,
                 .part_size = p->k,
                 .rank = p->rank};
  *is_dense_in_k = lines.k == 1 || p->k == 1;
  v.stride = *is_dense_in_k ? lines.line : lines.k;
  memcpy(v.shape, p->shape, bytes);
  memcpy(v.matrix_strides, is_left ? p->lhs_strides : p->rhs_strides, bytes);
  memcpy(v.vector_strides, is_left ? p->rhs_strides : p->lhs_strides, bytes);
  return v;
}

static BurnStatus start(Gpu *gpu, uint32_t variant, BurnDType in, BurnDType out, int64_t groups, const GpuVector *v) {
  const GpuKernelKey key = {.text = GPU_TEXT_VECTOR, .out = out, .in = {in, in, in}, .variant = variant};
  GpuFunction *function = NULL;
  const BurnStatus status = burn__gpu_kernel(gpu, &key, NULL, &function);
  return status == BURN_OK ? burn__gpu_launch(gpu, function, (uint64_t)groups, THREADS, v, sizeof *v) : status;
}

/* Parts of k in one pass, their sums in another. How many there are follows from k alone, and so do the last digits. */
static BurnStatus in_parts(Gpu *gpu, BurnDType dtype, int64_t tiles, GpuVector *v) {
  v->part_size = v->k <= PART * MAX_PARTS ? PART : (v->k + MAX_PARTS - 1) / MAX_PARTS;
  v->parts = (v->k + v->part_size - 1) / v->part_size;
  const BurnDType wide = dtype == BURN_DTYPE_F64 ? BURN_DTYPE_F64 : BURN_DTYPE_F32;
  const BurnTensorDesc desc = {.dtype = wide, .rank = 2, .shape = {v->parts, v->batches * v->lines}};
  GpuVector first = *v;
  BurnPrimitive *parts = NULL;
  BurnStatus status = burn__gpu_new(gpu, &desc, &parts);
  if (status != BURN_OK) return status;
  first.out = v->matrix = gpu_address(parts);
  first.bias = 0;
  status = start(gpu, COLUMNS, dtype, wide, tiles * v->parts * v->batches, &first);
  if (status == BURN_OK) status = start(gpu, JOIN, wide, dtype, (v->batches * v->lines + JOINED - 1) / JOINED, v);
  burn__gpu_release(gpu, parts);
  return status;
}

/* Lines beside each other. The shape alone decides the way, and so the last digits. */
static BurnStatus columns(Gpu *gpu, BurnDType dtype, GpuVector *v) {
  const int64_t bytes = (int64_t)burn_dtype_bytes(dtype);
  const bool is_narrow = v->k <= NARROW_ROWS && v->k * v->lines * bytes <= NARROW_BYTES;
  const int64_t width = (is_narrow ? 2 : 32) * (16 / bytes), tiles = (v->lines + width - 1) / width;
  if (is_narrow) return start(gpu, NARROW, dtype, dtype, tiles * v->batches, v);
  if (v->k > PART) return in_parts(gpu, dtype, tiles, v);
  return start(gpu, COLUMNS, dtype, dtype, tiles * v->batches, v);
}

BurnStatus burn__gpu_vector_product(Gpu *gpu, BurnDType dtype, const GpuMatmul *p) {
  bool is_dense_in_k = false;
  GpuVector v = describe(p, &is_dense_in_k);
  const int64_t groups = v.batches * ((v.lines + GPU_VECTOR_LINES - 1) / GPU_VECTOR_LINES);
  if (groups == 0) return BURN_OK;
  if (is_dense_in_k && v.k < LONG_LINE) return start(gpu, WARPS, dtype, dtype, (groups + 7) / 8, &v);
  if (is_dense_in_k) return start(gpu, BLOCKS, dtype, dtype, groups, &v);
  return columns(gpu, dtype, &v);
}
