/* ndarray_loss.c - cross_entropy and its gradient: one pass over each row of logits, with nothing kept between the two. */
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
    case BURN_DTYPE_I8: return ((const int8_t *)data)[i];
    case BURN_DTYPE_I16: return ((const int16_t *)data)[i];
    case BURN_DTYPE_I32: return ((const int32_t *)data)[i];
    case BURN_DTYPE_U8: return ((const uint8_t *)data)[i];
    default: return ((const int64_t *)data)[i];
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
  NdRowJob job = {.loop = loops->cross_entropy_backward, .out = nd_data(out), .stream = nd_streams(out, loss.logits, NULL)};
  job.grad = dtype == BURN_DTYPE_F64 ? (const void *)&grad_f64 : (const void *)&grad_f32;
  run_rows(nd, &job, &loss);
  loss_end(nd, &loss);
  return nd_finish(nd, call, out);
}

const NdKernelRow nd_loss_kernels[] = {
    {BURN_OP_cross_entropy, run_cross_entropy},
    {BURN_OP_cross_entropy_backward, run_cross_entropy_backward},
    {BURN_OP_INVALID, NULL},
};
