/* ndarray_matmul.c - batched matrix product over strided inputs.
 *
 * The result is cut into tiles whose borders depend on the shapes alone, one GEMM call each, and never along k: so
 * every element has the same bits whatever the number of threads. Matrices whose rows or columns lie dense go to GEMM
 * as they are, others are packed first. */
#include "ndarray_internal.h"

#include <string.h>

/* One of the two inputs. */
typedef struct Operand {
  NdTensor *tensor; /* holds a reference */
  bool transpose;   /* columns are dense, not rows */
  int64_t leading;
} Operand;

/* What the bodies of the parallel loops see. */
typedef struct Matmul {
  Ndarray *nd;
  const NdTensor *lhs, *rhs;
  NdTensor *out;
  Operand a, b;
  int64_t m, n, k;
  int64_t tile_m, tile_n, tiles_m, tiles_n;
  uint32_t batch_rank; /* leading axes that are walked one by one */
} Matmul;

static int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* True, with form and leading dimension, if the last two axes can go to GEMM as they lie. */
static bool operand_fits(const NdTensor *x, Operand *out) {
  const uint32_t rank = x->header.rank;
  const int64_t rows = x->shape[rank - 2], columns = x->shape[rank - 1];
  const int64_t row_stride = rows > 1 ? x->strides[rank - 2] : columns;
  const int64_t column_stride = columns > 1 ? x->strides[rank - 1] : 1;
  if (column_stride == 1 && row_stride >= columns) {
    out->transpose = false;
    out->leading = row_stride > 0 ? row_stride : 1;
    return true;
  }
  if ((rows <= 1 || row_stride == 1) && column_stride >= rows) {
    out->transpose = true;
    out->leading = column_stride;
    return true;
  }
  return false;
}

static bool operand_open(Ndarray *nd, NdTensor *x, Operand *out) {
  if (operand_fits(x, out)) {
    nd_retain(x);
    out->tensor = x;
    return true;
  }
  out->tensor = nd_contiguous(nd, x);
  return out->tensor && operand_fits(out->tensor, out);
}

/* Elements from the first matrix of x to the one that batch `index` of the result needs. */
static int64_t batch_offset(const Matmul *work, const NdTensor *x, int64_t index) {
  int64_t offset = 0;
  for (uint32_t i = work->batch_rank; i-- > 0;) {
    const int64_t size = work->out->shape[i];
    if (x->shape[i] > 1) offset += index % size * x->strides[i];
    index /= size;
  }
  return offset;
}

/* Tiles of about 16 million operations, but at least four where that is worth a thread's while. */
static void choose_tiles(Matmul *work) {
  int64_t m = work->m, n = work->n, tiles = 1;
  const double k = (double)work->k;
  for (;;) {
    const double flops = 2 * (double)m * (double)n * k;
    const int64_t larger = m > n ? m : n;
    const bool split = (flops > 16.8e6 && larger > 256) || (tiles < 4 && flops > 2e6 && larger > 64);
    if (!split) break;
    if (m > n)
      m = ceil_div(ceil_div(m, 2), 32) * 32;
    else
      n = ceil_div(ceil_div(n, 2), 32) * 32;
    tiles *= 2;
  }
  work->tile_m = m;
  work->tile_n = n;
  work->tiles_m = ceil_div(work->m, m);
  work->tiles_n = ceil_div(work->n, n);
}

static void BURN_CALL matmul_float(void *context, int64_t begin, int64_t end) {
  const Matmul *work = (const Matmul *)context;
  const int64_t tiles = work->tiles_m * work->tiles_n;
  const Operand *a = &work->a, *b = &work->b;
  for (int64_t item = begin; item < end; item++) {
    const int64_t batch = item / tiles, tile = item % tiles;
    const int64_t i = tile / work->tiles_n * work->tile_m, j = tile % work->tiles_n * work->tile_n;
    const int64_t rows = least(work->tile_m, work->m - i), columns = least(work->tile_n, work->n - j);
    const int64_t from_a = batch_offset(work, a->tensor, batch) + (a->transpose ? i : i * a->leading);
    const int64_t from_b = batch_offset(work, b->tensor, batch) + (b->transpose ? j * b->leading : j);
    const int64_t to = batch * work->m * work->n + i * work->n + j;
    if (work->out->header.dtype == BURN_DTYPE_F32)
      work->nd->gemm_f32(a->transpose, b->transpose, rows, columns, work->k, (const float *)nd_data(a->tensor) + from_a,
                         a->leading, (const float *)nd_data(b->tensor) + from_b, b->leading,
                         (float *)nd_data(work->out) + to, work->n, false);
    else
      work->nd->gemm_f64(
          a->transpose, b->transpose, rows, columns, work->k, (const double *)nd_data(a->tensor) + from_a, a->leading,
          (const double *)nd_data(b->tensor) + from_b, b->leading, (double *)nd_data(work->out) + to, work->n, false);
  }
}

/* A batch of lhs whose matrices lie as one tall matrix, times one rhs for all, is one product. */
static void fold_batch(Matmul *work) {
  const NdTensor *a = work->a.tensor, *b = work->b.tensor;
  const int64_t rows = work->m;
  int64_t step = work->a.leading * rows, batches = 1;
  if (work->a.transpose) return;
  for (uint32_t i = work->batch_rank; i-- > 0;) {
    if (b->shape[i] > 1 && b->strides[i] != 0) return;
    if (work->out->shape[i] == 1) continue;
    if (a->shape[i] == 1 || a->strides[i] != step) return;
    step *= a->shape[i];
    batches *= a->shape[i];
  }
  work->m = batches * rows;
  work->batch_rank = 0;
}

static BurnStatus run_float(Matmul *work, const BurnOpCall *call) {
  Ndarray *nd = work->nd;
  const bool opened =
      operand_open(nd, nd_tensor(call->inputs[0]), &work->a) && operand_open(nd, nd_tensor(call->inputs[1]), &work->b);
  if (opened) {
    const int64_t count = burn_desc_count(call->output_descs);
    if (count > 0) {
      double flops;
      int64_t items;
      fold_batch(work);
      choose_tiles(work);
      items = count / (work->m * work->n) * work->tiles_m * work->tiles_n;
      flops = 2 * (double)work->tile_m * (double)work->tile_n * (double)work->k;
      nd_parallel_for_flushed(nd, items, flops > 5e5 ? 1 : 1 + (int64_t)(5e5 / (flops + 1)), matmul_float, work);
    }
  }
  nd_release(nd, work->a.tensor);
  nd_release(nd, work->b.tensor);
  return opened ? BURN_OK : nd_out_of_memory(nd, call);
}

/* Rows of the result, one by one; sums wrap. U is an unsigned type of at least 32 bits: narrower ones would become int.
 */
#define MATMUL_INTEGER(name, T, U)                                                             \
  static void name(const Matmul *work, int64_t from_a, int64_t from_b, int64_t to) {           \
    const uint32_t rank = work->out->header.rank;                                              \
    const int64_t a_step = work->lhs->strides[rank - 1];                                       \
    const int64_t b_row = work->rhs->strides[rank - 2], b_step = work->rhs->strides[rank - 1]; \
    const T *a = (const T *)nd_data(work->lhs) + from_a;                                       \
    const T *b = (const T *)nd_data(work->rhs) + from_b;                                       \
    T *c = (T *)nd_data(work->out) + to;                                                       \
    memset(c, 0, (size_t)work->n * sizeof(T));                                                 \
    for (int64_t p = 0; p < work->k; p++) {                                                    \
      const U x = (U)a[p * a_step];                                                            \
      for (int64_t j = 0; j < work->n; j++) {                                                  \
        const U y = (U)b[p * b_row + j * b_step];                                              \
        c[j] = (T)((U)c[j] + x * y);                                                           \
      }                                                                                        \
    }                                                                                          \
  }
MATMUL_INTEGER(row_i32, int32_t, uint32_t)
MATMUL_INTEGER(row_i64, int64_t, uint64_t)
MATMUL_INTEGER(row_u8, uint8_t, uint32_t)

static void BURN_CALL matmul_integer(void *context, int64_t begin, int64_t end) {
  const Matmul *work = (const Matmul *)context;
  const int64_t a_row = work->lhs->strides[work->out->header.rank - 2];
  for (int64_t item = begin; item < end; item++) {
    const int64_t batch = item / work->m, from_b = batch_offset(work, work->rhs, batch);
    const int64_t from_a = batch_offset(work, work->lhs, batch) + item % work->m * a_row;
    switch (work->out->header.dtype) {
      case BURN_DTYPE_I32:
        row_i32(work, from_a, from_b, item * work->n);
        break;
      case BURN_DTYPE_I64:
        row_i64(work, from_a, from_b, item * work->n);
        break;
      default:
        row_u8(work, from_a, from_b, item * work->n);
        break;
    }
  }
}

static BurnStatus run_integer(Matmul *work, const BurnOpCall *call) {
  const int64_t count = burn_desc_count(call->output_descs);
  work->lhs = nd_tensor(call->inputs[0]);
  work->rhs = nd_tensor(call->inputs[1]);
  if (count > 0)
    nd_parallel_for(work->nd, count / work->n, 1 + 100000 / (work->n * (work->k + 1)), matmul_integer, work);
  return BURN_OK;
}

/* lhs [.., m, k], rhs [.., k, n] -> [.., m, n]. */
static BurnStatus matmul(Ndarray *nd, const BurnOpCall *call) {
  const BurnTensorDesc *desc = call->output_descs;
  Matmul work = {.nd = nd};
  BurnStatus status;
  work.out = nd_new(nd, desc);
  if (!work.out) return nd_out_of_memory(nd, call);
  work.m = desc->shape[desc->rank - 2];
  work.n = desc->shape[desc->rank - 1];
  work.k = call->inputs[0]->shape[desc->rank - 1];
  work.batch_rank = desc->rank - 2;
  status = burn_dtype_kind(desc->dtype) == BURN_KIND_FLOAT ? run_float(&work, call) : run_integer(&work, call);
  if (status == BURN_OK) return nd_finish(nd, call, work.out);
  nd_release(nd, work.out);
  return status;
}

const NdKernelRow nd_matmul_kernels[] = {
    {BURN_OP_matmul, matmul},
    {0, NULL},
};
