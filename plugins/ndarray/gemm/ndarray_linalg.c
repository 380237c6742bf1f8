/* ndarray_linalg.c - the ops matmul, linear and linear_backward: batched matrix products over strided inputs.
 *
 * The result is cut into rectangles, one item of a parallel loop each, and never along k: so every element has the same
 * bits whatever the number of threads. Inputs are read with the strides they have; what a kernel cannot read in place
 * is copied panel by panel on the way (ndarray_gemm_type.inc). */
#include "ndarray_gemm_amx.h"

#include <burn/common/autotune.h>

#include <string.h>

/* Smaller products take less time than a choice is worth; larger ones are better packed in any case. */
#define TUNE_FLOPS 2e7
#define TUNE_MAX_FLOPS 1e9

/* One of the two inputs: strides in elements; those of axes of size 1 count as 0. */
typedef struct Operand {
  const void *data;
  int64_t row, column;
  int64_t batch[BURN_MAX_RANK];
} Operand;

/* What the bodies of the parallel loops see. */
typedef struct Matmul {
  Ndarray *nd;
  NdTensor *out;
  Operand lhs, rhs;
  const void *bias; /* [n], dense, of the dtype of out; NULL: none */
  const NdAfter *after;
  int64_t m, n, k, batches;
  uint32_t batch_rank; /* leading axes of the result that are walked one by one */
  NdGemm first;        /* the product of the first matrices */
  NdGemmPlan plan;
  int64_t pieces_m, pieces_n;
  uint64_t scratch_bytes;
  atomic_bool out_of_memory;
} Matmul;

/* x of rank 2 or more, as an input of a result of `rank` axes: missing leading axes have size 1. */
static void read_operand(const NdTensor *x, uint32_t rank, Operand *out) {
  const uint32_t own = x->header.rank;
  out->data = nd_data(x);
  out->row = x->strides[own - 2];
  out->column = x->strides[own - 1];
  for (uint32_t i = 0; i + 2 < rank; i++) {
    const int64_t axis = (int64_t)i + own - rank;
    out->batch[i] = axis >= 0 && x->shape[axis] > 1 ? x->strides[axis] : 0;
  }
}

static int64_t batch_offset(const Matmul *work, const Operand *x, int64_t index) {
  int64_t offset = 0;
  for (uint32_t i = work->batch_rank; i-- > 0;) {
    const int64_t size = work->out->shape[i];
    offset += index % size * x->batch[i];
    index /= size;
  }
  return offset;
}

/* -- floats ----------------------------------------------------------------------------------- */

/* One of the products. */
static NdGemm product(const Matmul *work, int64_t batch) {
  if (work->batches == 1) return work->first;
  const int64_t bytes = burn_dtype_bytes(work->out->header.dtype);
  NdGemm gemm = work->first;
  gemm.a = (const char *)gemm.a + batch_offset(work, &work->lhs, batch) * bytes;
  gemm.b = (const char *)gemm.b + batch_offset(work, &work->rhs, batch) * bytes;
  gemm.c = (char *)gemm.c + batch * work->m * work->n * bytes;
  return gemm;
}

/* One rectangle of one of the products. */
static NdGemm piece(const Matmul *work, int64_t item) {
  const int64_t bytes = burn_dtype_bytes(work->out->header.dtype), pieces = work->pieces_m * work->pieces_n;
  if (pieces == 1) return product(work, item);
  const int64_t i = item % pieces / work->pieces_n * work->plan.rows, j = item % work->pieces_n * work->plan.columns;
  NdGemm gemm = product(work, item / pieces);
  gemm.m = nd_min(work->plan.rows, work->m - i);
  gemm.n = nd_min(work->plan.columns, work->n - j);
  gemm.a = (const char *)gemm.a + i * gemm.a_row * bytes;
  gemm.b = (const char *)gemm.b + j * gemm.b_column * bytes;
  gemm.c = (char *)gemm.c + (i * work->n + j) * bytes;
  if (gemm.add) gemm.add = (const char *)gemm.add + j * bytes;
  return gemm;
}

static void run_some(const Matmul *work, int64_t begin, int64_t end, void *scratch) {
  for (int64_t item = begin; item < end; item++) {
    const NdGemm gemm = piece(work, item);
    nd_gemm_run(work->nd, work->out->header.dtype, &gemm, &work->plan, scratch);
  }
}

static void BURN_API_CALL matmul_float(void *context, int64_t begin, int64_t end) {
  Matmul *work = (Matmul *)context;
  void *scratch = work->scratch_bytes > 0 ? nd_pool_allocate(work->nd->pool, work->scratch_bytes) : NULL;
  if (work->scratch_bytes > 0 && !scratch) {
    atomic_store_explicit(&work->out_of_memory, true, memory_order_relaxed);
    return;
  }
  if (work->plan.kind == ND_GEMM_AMX) nd_amx_open();
  if (work->batches * work->pieces_m * work->pieces_n == 1)
    nd_gemm_run(work->nd, work->out->header.dtype, &work->first, &work->plan, scratch);
  else
    run_some(work, begin, end, scratch);
  if (work->plan.kind == ND_GEMM_AMX) nd_amx_close();
  nd_pool_free(work->nd->pool, scratch, work->scratch_bytes);
}

/* A batch of lhs whose matrices lie as one tall matrix, times one rhs for all, is one product. */
static void fold_batch(Matmul *work) {
  int64_t step = work->lhs.row * work->m, batches = 1;
  for (uint32_t i = work->batch_rank; i-- > 0;) {
    if (work->out->shape[i] == 1) continue;
    if (work->rhs.batch[i] != 0 || work->lhs.batch[i] != step) return;
    step *= work->out->shape[i];
    batches *= work->out->shape[i];
  }
  work->m *= batches;
  work->batch_rank = 0;
}

/* The products that there are. */
static void describe(Matmul *work) {
  fold_batch(work);
  work->first = (NdGemm){.m = work->m,
                         .n = work->n,
                         .k = work->k,
                         .a = work->lhs.data,
                         .b = work->rhs.data,
                         .a_row = work->lhs.row,
                         .a_step = work->lhs.column,
                         .b_step = work->rhs.row,
                         .b_column = work->rhs.column,
                         .c = nd_data(work->out),
                         .c_row = work->n,
                         .add = work->bias,
                         .after = work->after};
  work->batches = work->batch_rank == 0 ? 1 : burn_primitive_count(&work->out->header) / (work->m * work->n);
}

/* Everything that follows from the shapes and layouts. */
static void plan(Matmul *work) {
  const BurnDType dtype = work->out->header.dtype;
  /* The order of sums in OpenBLAS depends on the size of a piece: so there the number of threads does not count. */
  const int64_t threads = work->nd->uses_openblas ? 4 : work->nd->host->thread_count();
  describe(work);
  nd_gemm_choose(&work->first, dtype, nd_gemm_loops(work->nd, dtype), work->batches, threads, &work->plan);
  work->pieces_m = work->plan.rows == work->m ? 1 : nd_ceil_div(work->m, work->plan.rows);
  work->pieces_n = work->plan.columns == work->n ? 1 : nd_ceil_div(work->n, work->plan.columns);
}

/* The products one after the other, each by all threads. */
static bool run_shared(Matmul *work) {
  const bool streams = work->plan.kind == ND_GEMM_STREAM;
  for (int64_t batch = 0; batch < work->batches; batch++) {
    const NdGemm gemm = product(work, batch);
    const BurnDType dtype = work->out->header.dtype;
    const bool done = streams ? nd_gemm_stream_shared(work->nd, dtype, &gemm, &work->plan)
                              : nd_gemm_run_shared(work->nd, dtype, &gemm, &work->plan);
    if (!done) return false;
  }
  return true;
}

/* Runs the plan over all pieces. */
static void run_pieces(Matmul *work) {
  if (work->plan.shared && !work->nd->uses_openblas && run_shared(work)) return;
  const BurnDType dtype = work->out->header.dtype;
  const int64_t items = work->batches * work->pieces_m * work->pieces_n;
  work->scratch_bytes = nd_gemm_scratch(&work->first, dtype, nd_gemm_loops(work->nd, dtype), &work->plan);
  if (work->scratch_bytes > 0 && items > work->plan.grain)
    nd_pool_reserve(work->nd->pool, work->scratch_bytes, work->nd->host->thread_count());
  nd_parallel_for_flushed(work->nd, items, work->plan.grain, matmul_float, work);
}

/* Which operands are read in place and which are packed first changes no bit, and depends on caches: bits of the
 * candidate. */
enum { PACK_RHS = 1, PACK_LHS = 2 };

static void BURN_API_CALL run_candidate(void *context, uint32_t candidate) {
  Matmul *work = (Matmul *)context;
  work->plan.pack_b = (candidate & PACK_RHS) != 0;
  if (work->plan.shared) work->plan.pack_a = (candidate & PACK_LHS) != 0;
  run_pieces(work);
}

static void tune(Matmul *work) {
  static const char *const names[] = {"in_place", "packed_rhs", "packed_lhs", "packed"};
  const NdGemm *g = &work->first;
  if (work->plan.kind != ND_GEMM_TILES || work->nd->uses_openblas) return;
  const double flops = 2 * (double)g->m * (double)g->n * (double)g->k * (double)work->batches;
  if (flops < TUNE_FLOPS || flops > TUNE_MAX_FLOPS) return;
  const BurnCommonTuneChoice choice = {
      .work = "matmul_packing",
      .numbers = {work->out->header.dtype, work->nd->host->thread_count(), work->batches, g->m, g->n, g->k, g->a_row,
                  g->a_step, g->b_step, g->b_column},
      .names = names,
      .count = work->plan.shared ? 4 : 2,
      .fallback = (work->plan.pack_b ? PACK_RHS : 0u) | (work->plan.shared && work->plan.pack_a ? PACK_LHS : 0u),
      .run = run_candidate,
      .context = work};
  const uint32_t winner = burn_common_tune(work->nd->tuner, &choice);
  work->plan.pack_b = (winner & PACK_RHS) != 0;
  if (work->plan.shared) work->plan.pack_a = (winner & PACK_LHS) != 0;
}

/* out = lhs x rhs + bias; false when out of memory. What comes after is left out of the runs that tune. */
static bool run_float(Matmul *work) {
  if (burn_primitive_count(&work->out->header) == 0) return true;
  plan(work);
  atomic_init(&work->out_of_memory, false);
  work->first.after = NULL;
  tune(work);
  work->first.after = work->after;
  atomic_store_explicit(&work->out_of_memory, false,
                        memory_order_relaxed); /* of a way that was tried and is not taken */
  run_pieces(work);
  return !atomic_load_explicit(&work->out_of_memory, memory_order_relaxed);
}

/* The same with rhs in halves, and f32 else; nothing comes after. */
static bool run_halves(Matmul *work, BurnDType dtype) {
  bool done = true;
  if (burn_primitive_count(&work->out->header) == 0) return true;
  describe(work);
  for (int64_t batch = 0; batch < work->batches && done; batch++) {
    const NdGemm gemm = product(work, batch);
    done = nd_multiply_halves(work->nd, &gemm, dtype);
  }
  return done;
}

/* -- integers --------------------------------------------------------------------------------- */

/* Rows of the result, one by one; sums wrap. U is an unsigned type of at least 32 bits: narrower ones would become int.
 */
#define MATMUL_INTEGER(name, T, U)                                                             \
  static void name(const Matmul *work, int64_t from_a, int64_t from_b, int64_t to) {           \
    const int64_t a_step = work->lhs.column, b_row = work->rhs.row, b_step = work->rhs.column; \
    const T *a = (const T *)work->lhs.data + from_a;                                           \
    const T *b = (const T *)work->rhs.data + from_b;                                           \
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

static void BURN_API_CALL matmul_integer(void *context, int64_t begin, int64_t end) {
  const Matmul *work = (const Matmul *)context;
  for (int64_t item = begin; item < end; item++) {
    const int64_t batch = item / work->m, from_b = batch_offset(work, &work->rhs, batch);
    const int64_t from_a = batch_offset(work, &work->lhs, batch) + item % work->m * work->lhs.row;
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

static bool run_integer(Matmul *work) {
  const int64_t count = burn_primitive_count(&work->out->header);
  if (count > 0)
    nd_parallel_for(work->nd, count / work->n, 1 + 100000 / (work->n * (work->k + 1)), matmul_integer, work);
  return true;
}

/* -- ops -------------------------------------------------------------------------------------- */

/* lhs [.., m, k], rhs [.., k, n] -> [.., m, n]. */
bool nd_matmul_into(Ndarray *nd, const BurnOpCall *call, NdTensor *out, const NdAfter *after) {
  const BurnTensorDesc *desc = call->output_descs;
  const uint32_t rank = desc->rank;
  Matmul work = {.nd = nd, .out = out, .after = after, .batch_rank = rank - 2};
  read_operand(nd_tensor(call->inputs[0]), rank, &work.lhs);
  read_operand(nd_tensor(call->inputs[1]), rank, &work.rhs);
  work.m = desc->shape[rank - 2];
  work.n = desc->shape[rank - 1];
  work.k = call->inputs[0]->shape[rank - 1];
  if (call->inputs[1]->dtype != desc->dtype) return run_halves(&work, call->inputs[1]->dtype);
  return burn_dtype_kind(desc->dtype) == BURN_KIND_FLOAT ? run_float(&work) : run_integer(&work);
}

/* x [.., in], weight [in, out], bias [out] -> [.., out]: the bias is added while the sums are in registers. */
bool nd_linear_into(Ndarray *nd, const BurnOpCall *call, NdTensor *out, const NdAfter *after) {
  const BurnTensorDesc *desc = call->output_descs;
  const uint32_t rank = desc->rank;
  const NdTensor *x = nd_tensor(call->inputs[0]);
  NdTensor *bias = call->inputs[2] ? nd_packed(nd, nd_tensor(call->inputs[2])) : NULL;
  Matmul work = {.nd = nd, .out = out, .after = after, .batch_rank = rank > 2 ? rank - 2 : 0};
  bool done = bias || !call->inputs[2];
  if (done) {
    if (rank > 1) read_operand(x, rank, &work.lhs);
    if (rank == 1) work.lhs = (Operand){.data = nd_data(x), .row = 0, .column = x->strides[0]};
    read_operand(nd_tensor(call->inputs[1]), rank > 2 ? rank : 2, &work.rhs);
    work.bias = bias ? nd_data(bias) : NULL;
    work.m = rank > 1 ? desc->shape[rank - 2] : 1;
    work.n = desc->shape[rank - 1];
    work.k = x->shape[rank - 1];
    const BurnDType dtype = call->inputs[1]->dtype;
    done = dtype == desc->dtype ? run_float(&work) : run_halves(&work, dtype);
  }
  nd_unpack(nd, call->inputs[2], bias);
  return done;
}

static BurnStatus matmul(Ndarray *nd, const BurnOpCall *call) { return nd_run_product(nd, call, nd_matmul_into); }
static BurnStatus linear(Ndarray *nd, const BurnOpCall *call) { return nd_run_product(nd, call, nd_linear_into); }

/* -- gradients of linear ---------------------------------------------------------------------- */

/* x [.., width] as a matrix of rows, packed where it has other than two axes: as nd_packed. NULL when out of memory. */
static NdTensor *as_rows(Ndarray *nd, NdTensor *x, int64_t rows) {
  const uint32_t rank = x->header.rank;
  if (rank == 2) return x;
  NdTensor *packed = nd_packed(nd, x);
  if (!packed) return NULL;
  const int64_t width = x->shape[rank - 1], shape[2] = {rows, width}, strides[2] = {width, 1};
  NdTensor *view = nd_view(nd, packed, 2, shape, strides, 0);
  nd_unpack(nd, &x->header, packed);
  return view;
}

/* The sums of all columns; those over a single row are that row. NULL when out of memory. */
static NdTensor *column_sums(Ndarray *nd, NdTensor *rows, const BurnTensorDesc *desc) {
  const int64_t width = desc->shape[0], column = rows->strides[1], step = 1;
  if (rows->shape[0] == 1) return nd_view(nd, rows, 1, &width, &column, 0);
  const BurnTensorDesc wide = {desc->dtype, 2, {1, width}};
  const BurnAttr dim = burn_attr_i64(0);
  BurnPrimitive *in = &rows->header, *out = NULL;
  const BurnOpCall sum = {.struct_size = (uint32_t)sizeof sum,
                          .op = BURN_OP_sum_dim,
                          .attr_count = 1,
                          .input_count = 1,
                          .output_count = 1,
                          .inputs = &in,
                          .outputs = &out,
                          .output_descs = &wide,
                          .attrs = &dim};
  if (nd->kernels[BURN_OP_sum_dim](nd, &sum) != BURN_OK) return NULL;
  NdTensor *flat = nd_view(nd, nd_tensor(out), 1, &width, &step, 0);
  nd_release(nd, nd_tensor(out));
  return flat;
}

/* A matrix, or with `turned` its transpose. */
typedef struct Factor {
  const NdTensor *x;
  bool turned;
} Factor;

static void read_factor(Factor factor, Operand *out) {
  const int64_t *strides = factor.x->strides;
  out->data = nd_data(factor.x);
  out->row = strides[factor.turned];
  out->column = strides[!factor.turned];
}

/* out = lhs x rhs; false when out of memory. */
static bool multiply(Ndarray *nd, NdTensor *out, Factor lhs, Factor rhs) {
  const int64_t n = out->shape[out->header.rank - 1];
  Matmul work = {.nd = nd, .out = out, .m = lhs.x->shape[lhs.turned], .n = n, .k = rhs.x->shape[rhs.turned]};
  read_factor(lhs, &work.lhs);
  read_factor(rhs, &work.rhs);
  return run_float(&work);
}

/* grad [.., out], x [.., in], weight [in, out] or NULL -> gradients of x, weight and bias. */
static BurnStatus linear_backward(Ndarray *nd, const BurnOpCall *call) {
  const BurnTensorDesc *descs = call->output_descs;
  const NdTensor *weight = call->inputs[2] ? nd_tensor(call->inputs[2]) : NULL;
  int64_t rows = 1;
  for (uint32_t i = 0; i + 1 < call->inputs[1]->rank; i++) rows *= call->inputs[1]->shape[i];
  NdTensor *grad = as_rows(nd, nd_tensor(call->inputs[0]), rows), *x = as_rows(nd, nd_tensor(call->inputs[1]), rows);
  NdTensor *out[3] = {nd_new(nd, &descs[0]), nd_new(nd, &descs[1]), grad ? column_sums(nd, grad, &descs[2]) : NULL};
  bool done = grad && x && out[0] && out[1] && out[2];
  if (done && !weight) memset(nd_data(out[0]), 0, burn_dtype_bytes(descs[0].dtype));
  if (done && weight) done = multiply(nd, out[0], (Factor){grad, false}, (Factor){weight, true});
  if (done) done = multiply(nd, out[1], (Factor){x, true}, (Factor){grad, false});
  nd_unpack(nd, call->inputs[0], grad);
  nd_unpack(nd, call->inputs[1], x);
  for (int i = 0; i < 3 && done; i++) call->outputs[i] = &out[i]->header;
  if (done) return BURN_OK;
  for (int i = 0; i < 3; i++) nd_release(nd, out[i]);
  return nd_out_of_memory(nd, call);
}

const NdKernelRow nd_linalg_kernels[] = {
    {BURN_OP_linear_backward, linear_backward},
    {BURN_OP_matmul, matmul},
    {BURN_OP_linear, linear},
    {0, NULL},
};
