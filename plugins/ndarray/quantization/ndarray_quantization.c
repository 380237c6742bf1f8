/* ndarray_quantization.c - quantized_matmul by products of i8, and what all quantized ops share. */
#include "move/ndarray_moves.h"
#include "ndarray_quantization.h"

#include <string.h>

enum { MIN_SEGMENT = 8 }; /* terms; shorter ones are scaled more often than multiplied */

/* -- scales ----------------------------------------------------------------------------------- */

NdScales nd_scales_of(const NdTensor *x, const BurnAttr *block, uint32_t rank) {
  NdScales scales = {.data = (const float *)nd_data(x), .rank = nd_has_one_scale(block) ? 0 : rank};
  for (uint32_t i = 0; i < scales.rank; i++) {
    scales.block[i] = block->value.i64s[i];
    scales.strides[i] = x->strides[i];
  }
  return scales;
}

int64_t nd_scale_offset(const NdScales *scales, const int64_t *index, uint32_t axes) {
  int64_t offset = 0;
  for (uint32_t i = 0; i < axes && i < scales->rank; i++) offset += index[i] / scales->block[i] * scales->strides[i];
  return offset;
}

int64_t nd_int8_segment(int64_t k, int64_t left, int64_t right) {
  int64_t a = left > 0 ? left : k, b = right > 0 ? right : k;
  while (b != 0) {
    const int64_t rest = a % b;
    a = b;
    b = rest;
  }
  if (a == k) return nd_min(k, ND_INT8_DEPTH); /* one scale may be cut anywhere */
  return a >= MIN_SEGMENT && a <= ND_INT8_DEPTH ? a : 0;
}

NdTensor *nd_as_f32(Ndarray *nd, NdTensor *x) {
  NdTensor *out = NULL;
  if (x->header.dtype != BURN_DTYPE_F32) return nd_cast(nd, x, BURN_DTYPE_F32, false, &out) == BURN_OK ? out : NULL;
  nd_retain(x);
  return x;
}

BurnStatus nd_finish_f32(Ndarray *nd, const BurnOpCall *call, NdTensor *out) {
  NdTensor *narrow = NULL;
  if (!out || call->output_descs->dtype == BURN_DTYPE_F32) return nd_finish(nd, call, out);
  const BurnStatus status = nd_cast(nd, out, call->output_descs->dtype, true, &narrow);
  nd_release(nd, out);
  return status == BURN_OK ? nd_finish(nd, call, narrow) : status;
}

/* -- which products --------------------------------------------------------------------------- */

/* True if the batch of x is that of the result; *is_shared: it has one matrix for all. */
static bool fits_batch(const BurnPrimitive *x, const BurnTensorDesc *out, bool *is_shared) {
  bool same = x->rank == out->rank;
  *is_shared = true;
  for (uint32_t i = 0; i + 2 < x->rank; i++) {
    *is_shared = *is_shared && x->shape[i] == 1;
    same = same && x->shape[i] == out->shape[i];
  }
  return same;
}

static int64_t block_at(const BurnAttr *block, uint32_t axis) { return block->value.i64s[axis]; }

bool nd_takes_quantized_matmul(const BurnOpCall *call) {
  const BurnAttrs_quantized_matmul *attrs = BURN_ATTRS(quantized_matmul, call);
  const BurnPrimitive *lhs = call->inputs[0], *rhs = call->inputs[2];
  bool is_shared = false;
  if (lhs->dtype != BURN_DTYPE_I8 || rhs->dtype != BURN_DTYPE_I8 || burn_primitive_count(lhs) == 0 ||
      burn_primitive_count(rhs) == 0 || lhs->rank < 2 || rhs->rank < 2)
    return false;
  if (!nd_is_small_float(call->inputs[1]->dtype) || !nd_is_small_float(call->inputs[3]->dtype) ||
      !nd_is_small_float(call->output_descs->dtype))
    return false;
  if (!fits_batch(lhs, call->output_descs, &is_shared)) return false;
  if (!fits_batch(rhs, call->output_descs, &is_shared) && !is_shared) return false;
  return nd_int8_segment(lhs->shape[lhs->rank - 1], block_at(&attrs->lhs_block, lhs->rank - 1),
                         block_at(&attrs->rhs_block, rhs->rank - 2)) > 0;
}

/* -- one call --------------------------------------------------------------------------------- */

typedef struct Matmul {
  NdInt8Job job;
  const NdTensor *rhs;
  const int8_t *b;
  int64_t b_step, b_column;
  int64_t lhs_shape[BURN_MAX_RANK]; /* of the values */
  uint32_t lhs_rank;
  bool is_shared; /* one rhs for the batch: its rows are one tall matrix */
  NdScales lhs_scales, rhs_scales;
  float *c;
} Matmul;

/* Place of a product's matrix: x's own strides where `offset`, else the indices of its batch. */
static int64_t batch_index(const NdTensor *x, int64_t product, int64_t *index) {
  int64_t offset = 0;
  for (uint32_t i = x->header.rank - 2; i-- > 0;) {
    index[i] = product % x->shape[i];
    offset += index[i] * x->strides[i];
    product /= x->shape[i];
  }
  return offset;
}

static const int8_t *b_of(const Matmul *work, int64_t product) {
  int64_t index[BURN_MAX_RANK];
  return work->is_shared ? work->b : work->b + batch_index(work->rhs, product, index);
}

static void fill(const NdInt8Job *job, int64_t product, int64_t p, int64_t terms, int64_t j, int64_t columns,
                 int8_t *to) {
  const Matmul *work = (const Matmul *)job->context;
  const int64_t step = work->b_step, column = work->b_column;
  const int8_t *b = b_of(work, product) + p * step + j * column;
  if (step == 1) { /* as of weights [n, k] that are transposed */
    if (columns < ND_INT8_COLUMNS) memset(to, 0, (size_t)(terms * ND_INT8_COLUMNS));
    nd_moves(job->nd)->transpose[0](to, ND_INT8_COLUMNS, b, column, terms, columns, false);
    return;
  }
  for (int64_t i = 0; i < terms; i++, b += step, to += ND_INT8_COLUMNS) {
    for (int64_t c = 0; c < columns; c++) to[c] = b[c * column];
    for (int64_t c = columns; c < ND_INT8_COLUMNS; c++) to[c] = 0;
  }
}

static const int8_t *rows(const NdInt8Job *job, int64_t product, int64_t j, int64_t *step) {
  const Matmul *work = (const Matmul *)job->context;
  *step = work->b_step;
  return work->b_column == 1 && work->b_step >= 0 ? b_of(work, product) + j : NULL;
}

static float *place(const NdInt8Job *job, int64_t product, int64_t j, int64_t columns, int64_t *step) {
  (void)columns;
  *step = job->n;
  return ((const Matmul *)job->context)->c + product * job->m * job->n + j;
}

/* The scale of every row in every segment. */
static void spread_rows(const Matmul *work, float *to) {
  const NdInt8Job *job = &work->job;
  const NdScales *scales = &work->lhs_scales;
  const uint32_t rank = work->lhs_rank;
  const int64_t segments = nd_int8_segments(job);
  for (int64_t row = 0; row < job->products * job->m; row++) {
    int64_t index[BURN_MAX_RANK], rest = row;
    for (uint32_t i = rank - 1; i-- > 0;) {
      index[i] = rest % work->lhs_shape[i];
      rest /= work->lhs_shape[i];
    }
    const int64_t offset = nd_scale_offset(scales, index, rank - 1);
    float *at = to + row / job->m * segments * job->m + row % job->m;
    for (int64_t s = 0; s < segments; s++) {
      const int64_t along = scales->rank ? s * job->segment / scales->block[rank - 1] * scales->strides[rank - 1] : 0;
      at[s * job->m] = scales->data[offset + along];
    }
  }
}

/* The scales of all columns in one segment; `from` is that of the first. Columns beyond the last have any. */
static void spread_line(const NdInt8Job *job, const float *from, int64_t block, int64_t stride, float *to) {
  for (int64_t j = 0; j < job->n; j += block, from += stride) {
    for (int64_t i = j; i < nd_min(j + block, job->n); i++) to[i] = *from;
  }
  for (int64_t j = job->n; j < nd_int8_padded(job->n); j++) to[j] = 0;
}

static void spread_columns(const Matmul *work, float *to) {
  const NdInt8Job *job = &work->job;
  const NdScales *scales = &work->rhs_scales;
  const uint32_t rank = work->rhs->header.rank;
  const int64_t segments = nd_int8_segments(job), products = work->is_shared ? 1 : job->products;
  for (int64_t line = 0; line < products * segments; line++, to += nd_int8_padded(job->n)) {
    int64_t index[BURN_MAX_RANK] = {0};
    batch_index(work->rhs, line / segments, index);
    index[rank - 2] = line % segments * job->segment;
    const float *from = scales->data + nd_scale_offset(scales, index, rank - 1);
    if (scales->rank > 0)
      spread_line(job, from, scales->block[rank - 1], scales->strides[rank - 1], to);
    else
      spread_line(job, from, job->n, 0, to);
  }
}

/* The product itself, with contiguous lhs and scales in f32; false when out of memory. */
static bool run(Matmul *work) {
  NdInt8Job *job = &work->job;
  const int64_t segments = nd_int8_segments(job), row_count = job->products * job->m * segments;
  const int64_t column_count = (work->is_shared ? 1 : job->products) * segments * nd_int8_padded(job->n);
  const uint64_t bytes = (uint64_t)(row_count + column_count) * sizeof(float);
  float *room = (float *)nd_pool_allocate(job->nd->pool, bytes);
  if (!room) return false;
  spread_rows(work, room);
  spread_columns(work, room + row_count);
  job->row_scales = room;
  job->column_scales = room + row_count;
  job->column_scale_product = work->is_shared ? 0 : segments * nd_int8_padded(job->n);
  const bool done = nd_int8_run(job);
  nd_pool_free(job->nd->pool, room, bytes);
  return done;
}

static void describe(Matmul *work, Ndarray *nd, const BurnOpCall *call, const NdTensor *lhs, NdTensor *out) {
  const BurnAttrs_quantized_matmul *attrs = BURN_ATTRS(quantized_matmul, call);
  const NdTensor *rhs = nd_tensor(call->inputs[2]);
  const uint32_t lhs_rank = lhs->header.rank, rank = rhs->header.rank;
  const int64_t k = lhs->shape[lhs_rank - 1], n = rhs->shape[rank - 1];
  work->rhs = rhs;
  work->b = (const int8_t *)nd_data(rhs);
  work->b_step = rhs->strides[rank - 2];
  work->b_column = n == 1 ? 1 : rhs->strides[rank - 1];
  work->c = (float *)nd_data(out);
  work->lhs_rank = lhs_rank;
  for (uint32_t i = 0; i < lhs_rank; i++) work->lhs_shape[i] = lhs->shape[i];
  fits_batch(&rhs->header, call->output_descs, &work->is_shared);
  const int64_t row_count = burn_primitive_count(&lhs->header) / k, m = lhs->shape[lhs_rank - 2];
  work->job = (NdInt8Job){
      .nd = nd,
      .products = work->is_shared ? 1 : row_count / m,
      .m = work->is_shared ? row_count : m,
      .n = n,
      .k = k,
      .segment = nd_int8_segment(k, block_at(&attrs->lhs_block, lhs_rank - 1), block_at(&attrs->rhs_block, rank - 2)),
      .a = (const int8_t *)nd_data(lhs),
      .fill = fill,
      .rows = rows,
      .place = place,
      .context = work};
  work->job.a_product = work->job.m * k;
}

static BurnStatus quantized_matmul(Ndarray *nd, const BurnOpCall *call) {
  const BurnAttrs_quantized_matmul *attrs = BURN_ATTRS(quantized_matmul, call);
  NdTensor *lhs = nd_contiguous(nd, nd_tensor(call->inputs[0]));
  NdTensor *scales[2] = {nd_as_f32(nd, nd_tensor(call->inputs[1])), nd_as_f32(nd, nd_tensor(call->inputs[3]))};
  BurnTensorDesc desc = *call->output_descs;
  desc.dtype = BURN_DTYPE_F32;
  NdTensor *out = nd_new(nd, &desc);
  Matmul work;
  bool done = lhs && scales[0] && scales[1] && out;
  if (done) {
    describe(&work, nd, call, lhs, out);
    work.lhs_scales = nd_scales_of(scales[0], &attrs->lhs_block, lhs->header.rank);
    work.rhs_scales = nd_scales_of(scales[1], &attrs->rhs_block, work.rhs->header.rank);
    done = run(&work);
  }
  nd_release(nd, lhs);
  nd_release(nd, scales[0]);
  nd_release(nd, scales[1]);
  if (done) return nd_finish_f32(nd, call, out);
  nd_release(nd, out);
  return nd_out_of_memory(nd, call);
}

const NdKernelRow nd_quantization_kernels[] = {
    {BURN_OP_quantized_matmul, quantized_matmul},
    {BURN_OP_quantized_conv2d, nd_quantized_conv2d},
    {BURN_OP_quantize, nd_quantize},
    {BURN_OP_dequantize, nd_dequantize},
    {0, NULL},
};

bool nd_is_quantized_op(uint32_t op) {
  return op == BURN_OP_quantized_matmul || op == BURN_OP_quantized_conv2d || op == BURN_OP_quantize ||
         op == BURN_OP_dequantize;
}

bool nd_takes_quantized(const BurnOpCall *call) {
  switch (call->op) {
    case BURN_OP_quantized_matmul:
      return nd_takes_quantized_matmul(call);
    case BURN_OP_quantized_conv2d:
      return nd_takes_quantized_conv2d(call);
    case BURN_OP_quantize:
      return nd_takes_quantize(call);
    default:
      return nd_takes_dequantize(call);
  }
}
