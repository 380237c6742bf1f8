/* ndarray_loss.c - cross_entropy and mse, and their gradients.
 *
 * cross_entropy is one pass over each row of logits, with nothing kept between the two. mse runs the loops of sub and
 * mul block by block, and adds up each block, then the blocks: the same numbers whatever the number of threads. */
#include "elementwise/ndarray_kernels.h"
#include "ndarray_reduce.h"

/* What a call works on. */
typedef struct Loss {
  NdTensor *logits, *targets; /* owned, contiguous */
  int64_t *places;            /* [rows] from the pool */
  uint64_t places_bytes;
} Loss;

static int64_t target_at(const NdTensor *targets, int64_t i) {
  const void *data = nd_data(targets);
  switch (targets->header.dtype) {
    case BURN_DTYPE_I8:
      return ((const int8_t *)data)[i];
    case BURN_DTYPE_I16:
      return ((const int16_t *)data)[i];
    case BURN_DTYPE_I32:
      return ((const int32_t *)data)[i];
    case BURN_DTYPE_U8:
      return ((const uint8_t *)data)[i];
    default:
      return ((const int64_t *)data)[i];
  }
}

static void loss_end(Ndarray *nd, Loss *loss) {
  nd_release(nd, loss->logits);
  nd_release(nd, loss->targets);
  if (loss->places) nd_pool_free(nd->pool, loss->places, loss->places_bytes);
}

/* Loads logits and the inputs after it; on success end them with loss_end. */
static BurnStatus loss_begin(Ndarray *nd, const BurnOpCall *call, uint32_t input, Loss *loss) {
  const int64_t rows = call->inputs[input]->shape[0], classes = call->inputs[input]->shape[1];
  loss->logits = nd_contiguous(nd, nd_tensor(call->inputs[input]));
  loss->targets = nd_contiguous(nd, nd_tensor(call->inputs[input + 1]));
  loss->places_bytes = (uint64_t)rows * sizeof(int64_t);
  loss->places = (int64_t *)nd_pool_allocate(nd->pool, loss->places_bytes);
  BurnStatus status = loss->logits && loss->targets && loss->places ? BURN_OK : nd_out_of_memory(nd, call);
  for (int64_t i = 0; i < rows && status == BURN_OK; i++) {
    loss->places[i] = target_at(loss->targets, i);
    if (loss->places[i] >= 0 && loss->places[i] < classes) continue;
    status = nd_fail(nd, BURN_STATUS_OUT_OF_RANGE, "%s: target %lld at position %lld is not one of %lld classes",
                     nd->host->op_info(call->op)->name, (long long)loss->places[i], (long long)i, (long long)classes);
  }
  if (status != BURN_OK) loss_end(nd, loss);
  return status;
}

static void run_rows(Ndarray *nd, NdRowJob *job, const Loss *loss) {
  job->rows = loss->logits->shape[0];
  job->count = loss->logits->shape[1];
  job->x = nd_data(loss->logits);
  job->targets = loss->places;
  nd_parallel_for(nd, job->rows, nd_grain(job->count * 4), nd_run_row_job, job);
}

/* Mean of the losses of all rows, in f64. False without memory for them. */
static bool mean_loss(Ndarray *nd, const Loss *loss, NdRowLoop loop, double *mean) {
  const int64_t rows = loss->logits->shape[0];
  const uint64_t bytes = (uint64_t)rows * sizeof(double);
  NdRowJob job = {.loop = loop, .out = nd_pool_allocate(nd->pool, bytes)};
  if (!job.out) return false;
  run_rows(nd, &job, loss);
  nd_fold(nd, ND_FOLD_sum, BURN_DTYPE_F64)->run(job.out, rows, mean);
  *mean /= (double)rows;
  nd_pool_free(nd->pool, job.out, bytes);
  return true;
}

static BurnStatus run_cross_entropy(Ndarray *nd, const BurnOpCall *call) {
  const BurnDType dtype = call->inputs[0]->dtype;
  const NdFloatRows *loops = nd_float_rows(nd, dtype);
  Loss loss = {NULL, NULL, NULL, 0};
  double mean;
  if (!loops) return nd_no_float_rows(nd, call, dtype);
  const BurnStatus status = loss_begin(nd, call, 0, &loss);
  if (status != BURN_OK) return status;
  NdTensor *out = nd_new(nd, &call->output_descs[0]);
  if (out && !mean_loss(nd, &loss, loops->cross_entropy, &mean)) {
    nd_release(nd, out);
    out = NULL;
  }
  if (out && dtype == BURN_DTYPE_F64) *(double *)nd_data(out) = mean;
  if (out && dtype == BURN_DTYPE_F32) *(float *)nd_data(out) = (float)mean;
  loss_end(nd, &loss);
  return nd_finish(nd, call, out);
}

static BurnStatus run_cross_entropy_backward(Ndarray *nd, const BurnOpCall *call) {
  const BurnDType dtype = call->inputs[1]->dtype;
  const NdFloatRows *loops = nd_float_rows(nd, dtype);
  Loss loss = {NULL, NULL, NULL, 0};
  if (!loops) return nd_no_float_rows(nd, call, dtype);
  NdTensor *out = nd_output(nd, call, 0); /* before loss_begin, which holds logits once more */
  if (!out) return nd_out_of_memory(nd, call);
  const BurnStatus status = loss_begin(nd, call, 1, &loss);
  if (status != BURN_OK) {
    nd_release(nd, out);
    return status;
  }
  const double rows = (double)call->inputs[1]->shape[0];
  const void *given = nd_data(nd_tensor(call->inputs[0]));
  const double grad_f64 = dtype == BURN_DTYPE_F64 ? *(const double *)given / rows : 0;
  const float grad_f32 = dtype == BURN_DTYPE_F32 ? *(const float *)given / (float)rows : 0;
  NdRowJob job = {
      .loop = loops->cross_entropy_backward, .out = nd_data(out), .stream = nd_streams(out, loss.logits, NULL)};
  job.grad = dtype == BURN_DTYPE_F64 ? (const void *)&grad_f64 : (const void *)&grad_f32;
  run_rows(nd, &job, &loss);
  loss_end(nd, &loss);
  return nd_finish(nd, call, out);
}

/* -- mse -------------------------------------------------------------------------------------- */

enum { BLOCK = 2048 /* elements */, BLOCKS_PER_CHUNK = 8 };

typedef struct Mse {
  const NdFold *sum;
  NdLoop sub, mul;
  NdScalar factor;
  const char *x, *target;
  char *out;
  double *totals; /* by block */
  int64_t count, element_bytes;
} Mse;

/* The loops for a dtype, and packed inputs from number `input` on; false when out of memory. */
static bool mse_begin(Ndarray *nd, const BurnOpCall *call, uint32_t input, uint32_t product, Mse *mse,
                      NdTensor *in[2]) {
  const BurnDType dtype = call->inputs[input]->dtype;
  const NdKernels *kernels = nd_kernels(nd);
  *mse = (Mse){.sum = nd_fold(nd, ND_FOLD_sum, dtype),
               .sub = kernels->loops[BURN_OP_sub][dtype],
               .mul = kernels->loops[product][dtype],
               .count = burn_primitive_count(call->inputs[input]),
               .element_bytes = burn_dtype_bytes(dtype)};
  for (int i = 0; i < 2; i++) in[i] = nd_packed(nd, nd_tensor(call->inputs[input + (uint32_t)i]));
  if (in[0]) mse->x = nd_data(in[0]);
  if (in[1]) mse->target = nd_data(in[1]);
  return in[0] && in[1];
}

static void BURN_API_CALL mse_blocks(void *context, int64_t begin, int64_t end) {
  const Mse *mse = (const Mse *)context;
  _Alignas(64) double room[BLOCK];
  for (int64_t block = begin; block < end; block++) {
    const int64_t first = block * BLOCK, left = mse->count - first, n = left < BLOCK ? left : BLOCK;
    nd_run_pair(mse->sub, n, room, mse->x + first * mse->element_bytes, mse->target + first * mse->element_bytes);
    nd_run_pair(mse->mul, n, room, room, room);
    mse->sum->run(room, n, &mse->totals[block]);
  }
}

/* False without memory for the totals of several blocks. */
static bool mean_of_squares(Ndarray *nd, Mse *mse, void *out) {
  const int64_t blocks = mse->count <= BLOCK ? 1 : (mse->count + BLOCK - 1) / BLOCK;
  const uint64_t bytes = (uint64_t)blocks * sizeof(double);
  double total = 0;
  mse->totals = blocks == 1 ? &total : nd_pool_allocate(nd->pool, bytes);
  if (!mse->totals) return false;
  nd_parallel_for(nd, blocks, BLOCKS_PER_CHUNK, mse_blocks, mse);
  if (blocks > 1) {
    nd_fold(nd, ND_FOLD_sum, BURN_DTYPE_F64)->run(mse->totals, blocks, &total);
    nd_pool_free(nd->pool, mse->totals, bytes);
  }
  mse->sum->finish(&total, 1, mse->count, out);
  return true;
}

static BurnStatus run_mse(Ndarray *nd, const BurnOpCall *call) {
  Mse mse;
  NdTensor *in[2], *out = NULL;
  if (mse_begin(nd, call, 0, BURN_OP_mul, &mse, in)) out = nd_new(nd, &call->output_descs[0]);
  if (out && !mean_of_squares(nd, &mse, nd_data(out))) {
    nd_release(nd, out);
    out = NULL;
  }
  for (int i = 0; i < 2; i++) nd_unpack(nd, call->inputs[i], in[i]);
  return nd_finish(nd, call, out);
}

static void BURN_API_CALL mse_gradient(void *context, int64_t begin, int64_t end) {
  const Mse *mse = (const Mse *)context;
  for (int64_t i = begin; i < end; i += BLOCK) {
    const int64_t n = end - i < BLOCK ? end - i : BLOCK, at = i * mse->element_bytes;
    nd_run_pair(mse->sub, n, mse->out + at, mse->x + at, mse->target + at);
    nd_run_scaled(mse->mul, n, mse->out + at, mse->out + at, mse->factor);
  }
}

static BurnStatus run_mse_backward(Ndarray *nd, const BurnOpCall *call) {
  const void *grad = nd_data(nd_tensor(call->inputs[0]));
  NdTensor *out = nd_output(nd, call, 0), *in[2];
  Mse mse;
  const bool complete = mse_begin(nd, call, 1, BURN_OP_mul_scalar, &mse, in) && out;
  if (complete) {
    mse.out = nd_data(out);
    if (call->inputs[0]->dtype == BURN_DTYPE_F64) mse.factor.f64 = *(const double *)grad / (double)mse.count * 2;
    if (call->inputs[0]->dtype == BURN_DTYPE_F32) mse.factor.f32 = *(const float *)grad / (float)mse.count * 2;
    nd_parallel_for(nd, mse.count, BLOCK * BLOCKS_PER_CHUNK, mse_gradient, &mse);
  }
  for (int i = 0; i < 2; i++) nd_unpack(nd, call->inputs[1 + i], in[i]);
  if (complete) return nd_finish(nd, call, out);
  nd_release(nd, out);
  return nd_out_of_memory(nd, call);
}

const NdKernelRow nd_loss_kernels[] = {
    {BURN_OP_mse, run_mse},
    {BURN_OP_mse_backward, run_mse_backward},
    {BURN_OP_cross_entropy, run_cross_entropy},
    {BURN_OP_cross_entropy_backward, run_cross_entropy_backward},
    {BURN_OP_INVALID, NULL},
};
