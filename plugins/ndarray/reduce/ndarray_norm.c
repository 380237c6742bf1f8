/* ndarray_norm.c - layer_norm, batch_norm, batch_norm_train and their gradients, by the loops of ndarray_rows.h.
 *
 * Batch norms go channel by channel, so that what the statistics have read is still in the cache when it is normalised.
 * A channel of x [n, c, rest] is n runs of `rest` elements; where these are short, a group of neighbouring channels is
 * taken as columns of [n, c * rest] instead. Sums and moments are joined in the order of n, so no result depends on how
 * the channels are spread over threads. */
#include "ndarray_reduce.h"

#include <math.h>

#define ND_SUM_ROWS \
  64                    /* rows with common sums in layer_norm_backward, at most; ND_STRETCH would be too many in f32 \
                         */
#define ND_SUM_PARTS 32 /* so many parts at least, where there are rows for them */
#define ND_SHORT_RUN 64 /* shorter runs of a channel are taken as columns */
#define ND_GROUP 128    /* columns of a group of channels, about */

/* Releases inputs and returns the first result, NULL if one of `needed` things is missing. */
static void release_all(Ndarray *nd, NdTensor *const *tensors, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) nd_release(nd, tensors[i]);
}

/* Contiguous forms of all inputs of a call, NULL for absent ones. False, with nothing held, without memory. */
static bool load_inputs(Ndarray *nd, const BurnOpCall *call, NdTensor **inputs) {
  bool all = true;
  for (uint32_t i = 0; i < call->input_count; i++) {
    inputs[i] = call->inputs[i] ? nd_contiguous(nd, nd_tensor(call->inputs[i])) : NULL;
    all = all && (inputs[i] || !call->inputs[i]);
  }
  if (!all) release_all(nd, inputs, call->input_count);
  return all;
}

/* New results of a call; the first may be an input. False, with nothing held, without memory. */
static bool make_outputs(Ndarray *nd, const BurnOpCall *call, NdTensor **outputs) {
  bool all = true;
  for (uint32_t i = 0; i < call->output_count; i++) {
    outputs[i] = i == 0 ? nd_output(nd, call, 0) : nd_new(nd, &call->output_descs[i]);
    all = all && outputs[i];
  }
  if (!all) release_all(nd, outputs, call->output_count);
  return all;
}

/* Both: outputs first, as they look whether inputs have other holders. */
static BurnStatus begin(Ndarray *nd, const BurnOpCall *call, NdTensor **inputs, NdTensor **outputs) {
  if (!make_outputs(nd, call, outputs)) return nd_out_of_memory(nd, call);
  if (load_inputs(nd, call, inputs)) return BURN_OK;
  release_all(nd, outputs, call->output_count);
  return nd_out_of_memory(nd, call);
}

static BurnStatus end(Ndarray *nd, const BurnOpCall *call, NdTensor *const *inputs, NdTensor *const *outputs) {
  release_all(nd, inputs, call->input_count);
  for (uint32_t i = 0; i < call->output_count; i++) call->outputs[i] = &outputs[i]->header;
  return BURN_OK;
}

static const void *data_or_null(const NdTensor *x) { return x ? nd_data(x) : NULL; }

/* -- layer norm ------------------------------------------------------------------------------- */

/* True if the elements of x lie without gaps, as [outer, count, inner] where count is the last axis. */
static bool turned_view(const NdTensor *x, int64_t *outer, int64_t *inner) {
  const uint32_t rank = x->header.rank;
  int64_t dense = 1;
  *outer = *inner = 0;
  for (uint32_t seen = 0; seen < rank && dense > 0; seen++) {
    uint32_t i = 0;
    while (i < rank && (x->shape[i] == 1 || x->strides[i] != dense)) i++; /* the axis with the next larger step */
    if (i == rank) break;
    if (i == rank - 1) *inner = dense;
    dense *= x->shape[i];
  }
  if (dense == 0 || *inner == 0 || dense != burn_primitive_count(&x->header)) return false;
  *outer = dense / (*inner * x->shape[rank - 1]);
  return true;
}

/* A new tensor with the strides of x; NULL when out of memory. */
static NdTensor *new_like(Ndarray *nd, const BurnTensorDesc *desc, const NdTensor *x) {
  NdTensor *base = nd_new(nd, desc);
  NdTensor *out = base ? nd_view(nd, base, desc->rank, desc->shape, x->strides, 0) : NULL;
  nd_release(nd, base);
  return out;
}

/* Layer norm of a transposed tensor, whose result is transposed the same way. */
static BurnStatus run_turned_layer_norm(Ndarray *nd, const BurnOpCall *call, int64_t outer, int64_t inner) {
  NdTensor *x = nd_tensor(call->inputs[0]), *out = new_like(nd, &call->output_descs[0], x);
  NdTensor *gamma = out ? nd_contiguous(nd, nd_tensor(call->inputs[1])) : NULL;
  NdTensor *beta = gamma && call->inputs[2] ? nd_contiguous(nd, nd_tensor(call->inputs[2])) : NULL;
  bool fits = gamma && (beta || !call->inputs[2]);
  if (fits) {
    NdRowJob job = {.kind = ND_PACKED_NORM,
                    .count = x->shape[x->header.rank - 1],
                    .inner = inner,
                    .x = nd_data(x),
                    .gamma = nd_data(gamma),
                    .beta = data_or_null(beta),
                    .out = nd_data(out),
                    .epsilon = BURN_ATTRS(layer_norm, call)->epsilon.value.f64,
                    .stream = nd_streams(out, x, NULL)};
    fits = nd_run_packed(nd, &job, outer);
  }
  if (!fits) {
    nd_release(nd, out);
    out = NULL;
  }
  nd_release(nd, gamma);
  nd_release(nd, beta);
  return nd_finish(nd, call, out);
}

static BurnStatus run_layer_norm(Ndarray *nd, const BurnOpCall *call) {
  const BurnPrimitive *x = call->inputs[0];
  const NdFloatRows *loops = nd_float_rows(nd, x->dtype);
  int64_t outer, inner;
  if (turned_view(nd_tensor(call->inputs[0]), &outer, &inner) && inner > 1 &&
      nd_packs(x->dtype, 1, outer, x->shape[x->rank - 1], inner)) {
    return run_turned_layer_norm(nd, call, outer, inner);
  }
  NdTensor *inputs[3] = {NULL, NULL, NULL}, *out;
  if (!loops) return nd_no_float_rows(nd, call, x->dtype);
  const BurnStatus status = begin(nd, call, inputs, &out);
  if (status != BURN_OK) return status;
  const NdRowJob job = {.loop = loops->layer_norm,
                        .rows = nd_axes_count(inputs[0], 0, x->rank - 1),
                        .count = x->shape[x->rank - 1],
                        .x = nd_data(inputs[0]),
                        .x_step = x->shape[x->rank - 1],
                        .gamma = nd_data(inputs[1]),
                        .beta = data_or_null(inputs[2]),
                        .out = nd_data(out),
                        .epsilon = BURN_ATTRS(layer_norm, call)->epsilon.value.f64,
                        .stream = nd_streams(out, inputs[0], NULL)};
  nd_parallel_for(nd, job.rows, nd_grain(job.count * 4), nd_run_row_job, (void *)&job);
  return end(nd, call, inputs, &out);
}

/* Sums of parts [parts, 2, count] to the gradients of gamma and beta. */
static void join_parts(const NdFold *fold, const NdRowJob *job, int64_t parts, int64_t element_bytes,
                       NdTensor *const *outputs) {
  const char *sums = (const char *)job->sums;
  NdTotals totals;
  for (int64_t k = 0; k < 2; k++) {
    for (int64_t column = 0; column < job->count; column += ND_COLUMNS) {
      const int64_t width = nd_min(ND_COLUMNS, job->count - column);
      fold->columns(sums + (k * job->count + column) * element_bytes, 2 * job->count, parts, width, &totals);
      fold->finish(&totals, width, 1, (char *)nd_data(outputs[1 + k]) + column * element_bytes);
    }
  }
}

static bool same_strides(const NdTensor *x, const NdTensor *y) {
  for (uint32_t i = 0; i < x->header.rank; i++) {
    if (x->shape[i] > 1 && x->strides[i] != y->strides[i]) return false;
  }
  return true;
}

/* True if rows follow each other in memory as in x, but for their last axis. */
static bool rows_in_order(const NdTensor *x) {
  int64_t before = INT64_MAX;
  for (uint32_t i = 0; i + 1 < x->header.rank; i++) {
    if (x->shape[i] == 1) continue;
    if (x->strides[i] > before) return false;
    before = x->strides[i];
  }
  return true;
}

/* Inputs and outputs where x lies transposed: as does its gradient then, and maybe grad. */
static BurnStatus begin_turned(Ndarray *nd, const BurnOpCall *call, bool turns_grad, NdTensor **inputs,
                               NdTensor **outputs) {
  NdTensor *x = nd_tensor(call->inputs[1]), *grad = nd_tensor(call->inputs[0]);
  outputs[0] = new_like(nd, &call->output_descs[0], x);
  bool all = outputs[0] != NULL;
  for (uint32_t i = 1; i < 3; i++) {
    outputs[i] = nd_new(nd, &call->output_descs[i]);
    all = all && outputs[i];
  }
  if (turns_grad) nd_retain(grad);
  nd_retain(x);
  inputs[0] = turns_grad ? grad : nd_contiguous(nd, grad);
  inputs[1] = x;
  inputs[2] = nd_contiguous(nd, nd_tensor(call->inputs[2]));
  if (all && inputs[0] && inputs[2]) return BURN_OK;
  release_all(nd, inputs, 3);
  release_all(nd, outputs, 3);
  return nd_out_of_memory(nd, call);
}

static BurnStatus run_layer_norm_backward(Ndarray *nd, const BurnOpCall *call) {
  const NdTensor *x = nd_tensor(call->inputs[1]);
  const BurnDType dtype = x->header.dtype;
  const NdFloatRows *loops = nd_float_rows(nd, dtype);
  const int64_t element_bytes = burn_dtype_bytes(dtype);
  NdRowJob job = {.rows = nd_axes_count(x, 0, x->header.rank - 1),
                  .count = x->shape[x->header.rank - 1],
                  .epsilon = BURN_ATTRS(layer_norm_backward, call)->epsilon.value.f64};
  NdTensor *inputs[3], *outputs[3];
  int64_t outer;
  if (!loops) return nd_no_float_rows(nd, call, dtype);
  job.loop = loops->layer_norm_backward;
  job.part = nd_min(ND_SUM_ROWS, job.rows / ND_SUM_PARTS + 1);
  const bool turns_grad = same_strides(x, nd_tensor(call->inputs[0]));
  const bool turns = turned_view(x, &outer, &job.inner) && job.inner >= job.part && rows_in_order(x) &&
                     nd_turns_norm_parts(job.part, job.count, element_bytes, turns_grad);
  const BurnStatus status =
      turns ? begin_turned(nd, call, turns_grad, inputs, outputs) : begin(nd, call, inputs, outputs);
  if (status != BURN_OK) return status;
  const int64_t parts = (job.rows + job.part - 1) / job.part;
  const uint64_t bytes = (uint64_t)(parts * 2 * job.count * element_bytes);
  job.grad = nd_data(inputs[0]);
  job.x = nd_data(inputs[1]);
  job.gamma = nd_data(inputs[2]);
  job.out = nd_data(outputs[0]);
  job.stream = nd_streams(outputs[0], inputs[0], inputs[1]);
  job.sums = nd_pool_allocate(nd->pool, bytes);
  const bool fits = job.sums && nd_run_norm_parts(nd, &job, parts, element_bytes, turns, turns && turns_grad);
  if (fits) join_parts(nd_fold(nd, ND_FOLD_sum, dtype), &job, parts, element_bytes, outputs);
  if (job.sums) nd_pool_free(nd->pool, job.sums, bytes);
  if (fits) return end(nd, call, inputs, outputs);
  release_all(nd, inputs, 3);
  release_all(nd, outputs, 3);
  return nd_out_of_memory(nd, call);
}

/* -- batch norm ------------------------------------------------------------------------------- */

/* One call under way: x, grad and out are [n, c, rest]; everything else is [c], NULL if the op has it not. */
typedef struct BatchNorm {
  const NdFloatRows *loops;
  const char *x, *grad;
  const void *gamma, *beta, *mean, *var;
  char *out;
  void *out_mean, *out_var, *out_gamma, *out_beta;
  int64_t n, c, rest, group; /* channels that are taken at once */
  int64_t element_bytes;
  double epsilon;
  bool stream, is_f64;
} BatchNorm;

/* Numbers of a group, one per channel or, where channels are columns, one per column; rounded to the dtype. */
typedef struct Numbers {
  NdTotals k[4];
} Numbers;

static double number_at(const BatchNorm *norm, const void *numbers, int64_t i) {
  return norm->is_f64 ? ((const double *)numbers)[i] : (double)((const float *)numbers)[i];
}
static void set_number(const BatchNorm *norm, void *numbers, int64_t i, double value) {
  if (norm->is_f64) {
    ((double *)numbers)[i] = value;
  } else {
    ((float *)numbers)[i] = (float)value;
  }
}

static bool by_columns(const BatchNorm *norm) { return norm->rest < ND_SHORT_RUN; }

/* Bytes from the start to sample i of a channel. */
static int64_t place(const BatchNorm *norm, int64_t i, int64_t channel) {
  return (i * norm->c + channel) * norm->rest * norm->element_bytes;
}

/* Puts the same number for all elements of a channel: element `from` and on, `count` of them. */
static void spread(const BatchNorm *norm, void *numbers, int64_t from, int64_t count, double value) {
  for (int64_t i = 0; i < count; i++) set_number(norm, numbers, from + i, value);
}

/* (x - center) * gain + shift for channels first .. first + count-1, in numbers 0, 1, 2. */
static void write_affine(const BatchNorm *norm, int64_t first, int64_t count, const Numbers *numbers) {
  const bool columns = by_columns(norm);
  for (int64_t i = 0; i < norm->n; i++) {
    const int64_t at = place(norm, i, first);
    norm->loops->affine(norm->rest * count, norm->out + at, norm->x + at, &numbers->k[0], &numbers->k[1],
                        &numbers->k[2], columns, norm->stream);
  }
}

/* The numbers of normalising a channel, from its mean and variance. */
static void set_affine(const BatchNorm *norm, int64_t channel, double mean, double var, int64_t from, int64_t count,
                       Numbers *numbers) {
  spread(norm, &numbers->k[0], from, count, mean);
  spread(norm, &numbers->k[1], from, count, number_at(norm, norm->gamma, channel) / sqrt(var + norm->epsilon));
  spread(norm, &numbers->k[2], from, count, number_at(norm, norm->beta, channel));
}

/* Items are groups of channels. */
static void BURN_API_CALL infer_groups(void *context, int64_t begin, int64_t end) {
  const BatchNorm *norm = (const BatchNorm *)context;
  const int64_t width = by_columns(norm) ? norm->rest : 1;
  Numbers numbers;
  for (int64_t group = begin; group < end; group++) {
    const int64_t first = group * norm->group, count = nd_min(norm->group, norm->c - first);
    for (int64_t k = 0; k < count; k++) {
      const double mean = number_at(norm, norm->mean, first + k), var = number_at(norm, norm->var, first + k);
      set_affine(norm, first + k, mean, var, k * width, width, &numbers);
    }
    write_affine(norm, first, count, &numbers);
  }
  if (norm->stream) nd_stream_end();
}

/* Moments of a channel whose samples are runs. */
static void run_moments(const BatchNorm *norm, int64_t channel, NdMoments *moments) {
  for (int64_t i = 0; i < norm->n; i++) {
    const char *x = norm->x + place(norm, i, channel), *ahead = i + 1 < norm->n ? x + place(norm, 1, 0) : x;
    const NdMoments part = norm->loops->moments(norm->rest, x, ahead);
    nd_moments_join(moments, &part);
  }
}

/* Adds samples i .. i + rows-1 of `count` channels that are columns: mean and squares of each channel, then joined. */
static void join_columns(const BatchNorm *norm, int64_t i, int64_t rows, int64_t first, int64_t count,
                         NdMoments *moments) {
  const int64_t rest = norm->rest, width = rest * count, stride = norm->c * rest;
  const char *x = norm->x + place(norm, i, first);
  double sums[ND_COLUMNS];
  NdMoments parts[ND_COLUMNS];
  NdTotals centers;
  norm->loops->column_sums(rows, width, stride, x, sums);
  for (int64_t k = 0; k < count; k++) {
    double sum = 0;
    for (int64_t j = 0; j < rest; j++) sum += sums[k * rest + j];
    parts[k] = (NdMoments){(double)(rows * rest), sum / (double)(rows * rest), 0};
    spread(norm, &centers, k * rest, rest, parts[k].mean);
  }
  norm->loops->column_squares(rows, width, stride, x, &centers, sums);
  for (int64_t k = 0; k < count; k++) {
    for (int64_t j = 0; j < rest; j++) parts[k].squares += sums[k * rest + j];
    nd_moments_join(&moments[k], &parts[k]);
  }
}

static void group_moments(const BatchNorm *norm, int64_t first, int64_t count, NdMoments *moments) {
  for (int64_t k = 0; k < count; k++) moments[k] = (NdMoments){0, 0, 0};
  if (norm->n == 0 || norm->rest == 0) return;
  if (!by_columns(norm)) {
    run_moments(norm, first, moments);
    return;
  }
  for (int64_t i = 0; i < norm->n; i += ND_STRETCH) {
    join_columns(norm, i, nd_min(ND_STRETCH, norm->n - i), first, count, moments);
  }
}

static void BURN_API_CALL train_groups(void *context, int64_t begin, int64_t end) {
  const BatchNorm *norm = (const BatchNorm *)context;
  const int64_t width = by_columns(norm) ? norm->rest : 1;
  NdMoments moments[ND_COLUMNS];
  Numbers numbers;
  for (int64_t group = begin; group < end; group++) {
    const int64_t first = group * norm->group, count = nd_min(norm->group, norm->c - first);
    group_moments(norm, first, count, moments);
    for (int64_t k = 0; k < count; k++) {
      const double none = moments[k].count > 0 ? 0 : (double)NAN; /* the mean of no elements */
      const double mean = moments[k].mean + none, var = moments[k].squares / moments[k].count + none;
      set_number(norm, norm->out_mean, first + k, mean);
      set_number(norm, norm->out_var, first + k, var);
      set_affine(norm, first + k, mean, var, k * width, width, &numbers);
    }
    write_affine(norm, first, count, &numbers);
  }
  if (norm->stream) nd_stream_end();
}

/* sums[k] = sum of grad and of grad * (x - mean) over channel first + k; centers hold the means. */
static void group_products(const BatchNorm *norm, int64_t first, int64_t count, const void *centers,
                           double (*sums)[2]) {
  const int64_t width = norm->rest * count, stride = norm->c * norm->rest;
  double plain[ND_COLUMNS], moved[ND_COLUMNS];
  for (int64_t k = 0; k < count; k++) sums[k][0] = sums[k][1] = 0;
  if (!by_columns(norm)) {
    for (int64_t i = 0; i < norm->n; i++) {
      const int64_t at = place(norm, i, first);
      norm->loops->products(norm->rest, norm->grad + at, norm->x + at, centers, sums[0]);
    }
    return;
  }
  for (int64_t j = 0; j < width; j++) plain[j] = moved[j] = 0;
  for (int64_t i = 0; i < norm->n; i += ND_STRETCH) {
    const int64_t at = place(norm, i, first);
    norm->loops->column_products(nd_min(ND_STRETCH, norm->n - i), width, stride, norm->grad + at, norm->x + at, centers,
                                 plain, moved);
  }
  for (int64_t j = 0; j < width; j++) {
    sums[j / norm->rest][0] += plain[j];
    sums[j / norm->rest][1] += moved[j];
  }
}

/* With s the sums of a channel of m elements: the gradient of x is
 * gamma / deviation * (grad - s[0] / m - (x - mean) * s[1] / (m * deviation^2)). */
static void set_backward(const BatchNorm *norm, int64_t channel, const double s[2], int64_t from, int64_t count,
                         Numbers *numbers) {
  const double variance = number_at(norm, norm->var, channel) + norm->epsilon, m = (double)(norm->n * norm->rest);
  const double gain = number_at(norm, norm->gamma, channel) / sqrt(variance);
  spread(norm, &numbers->k[1], from, count, gain);
  spread(norm, &numbers->k[2], from, count, -gain * s[1] / (m * variance));
  spread(norm, &numbers->k[3], from, count, -gain * s[0] / m);
  set_number(norm, norm->out_gamma, channel, s[1] / sqrt(variance));
  set_number(norm, norm->out_beta, channel, s[0]);
}

static void BURN_API_CALL backward_groups(void *context, int64_t begin, int64_t end) {
  const BatchNorm *norm = (const BatchNorm *)context;
  const int64_t width = by_columns(norm) ? norm->rest : 1;
  double sums[ND_COLUMNS][2];
  Numbers numbers;
  const void *const k[4] = {&numbers.k[0], &numbers.k[1], &numbers.k[2], &numbers.k[3]};
  for (int64_t group = begin; group < end; group++) {
    const int64_t first = group * norm->group, count = nd_min(norm->group, norm->c - first);
    for (int64_t i = 0; i < count; i++)
      spread(norm, &numbers.k[0], i * width, width, number_at(norm, norm->mean, first + i));
    group_products(norm, first, count, k[0], sums);
    for (int64_t i = 0; i < count; i++) set_backward(norm, first + i, sums[i], i * width, width, &numbers);
    for (int64_t i = 0; i < norm->n; i++) {
      const int64_t at = place(norm, i, first);
      norm->loops->affine_backward(norm->rest * count, norm->out + at, norm->grad + at, norm->x + at, k,
                                   by_columns(norm), norm->stream);
    }
  }
  if (norm->stream) nd_stream_end();
}

/* Shapes and loops for x, and the body over all groups. */
static void run_groups(Ndarray *nd, BatchNorm *norm, const NdTensor *x, BurnLoopBody body) {
  norm->n = x->shape[0];
  norm->c = x->shape[1];
  norm->rest = nd_axes_count(x, 2, x->header.rank);
  norm->element_bytes = burn_dtype_bytes(x->header.dtype);
  norm->is_f64 = x->header.dtype == BURN_DTYPE_F64;
  norm->x = (const char *)nd_data(x);
  norm->group =
      by_columns(norm) && norm->rest > 0 ? ND_GROUP / norm->rest : 1; /* 2 or more: runs are shorter than half of it */
  const int64_t groups = (norm->c + norm->group - 1) / norm->group;
  nd_parallel_for(nd, groups, nd_grain(norm->group * norm->n * norm->rest * 4), body, norm);
}

static BurnStatus run_batch_norm(Ndarray *nd, const BurnOpCall *call) {
  const BurnDType dtype = call->inputs[0]->dtype;
  BatchNorm norm = {.loops = nd_float_rows(nd, dtype), .epsilon = BURN_ATTRS(batch_norm, call)->epsilon.value.f64};
  NdTensor *inputs[5], *out;
  if (!norm.loops) return nd_no_float_rows(nd, call, dtype);
  const BurnStatus status = begin(nd, call, inputs, &out);
  if (status != BURN_OK) return status;
  norm.gamma = nd_data(inputs[1]);
  norm.beta = nd_data(inputs[2]);
  norm.mean = nd_data(inputs[3]);
  norm.var = nd_data(inputs[4]);
  norm.out = (char *)nd_data(out);
  norm.stream = nd_streams(out, inputs[0], NULL);
  run_groups(nd, &norm, inputs[0], infer_groups);
  return end(nd, call, inputs, &out);
}

static BurnStatus run_batch_norm_train(Ndarray *nd, const BurnOpCall *call) {
  const BurnDType dtype = call->inputs[0]->dtype;
  BatchNorm norm = {.loops = nd_float_rows(nd, dtype),
                    .epsilon = BURN_ATTRS(batch_norm_train, call)->epsilon.value.f64};
  NdTensor *inputs[3], *outputs[3];
  if (!norm.loops) return nd_no_float_rows(nd, call, dtype);
  const BurnStatus status = begin(nd, call, inputs, outputs);
  if (status != BURN_OK) return status;
  norm.gamma = nd_data(inputs[1]);
  norm.beta = nd_data(inputs[2]);
  norm.out = (char *)nd_data(outputs[0]);
  norm.out_mean = nd_data(outputs[1]);
  norm.out_var = nd_data(outputs[2]);
  norm.stream = nd_streams(outputs[0], inputs[0], NULL);
  run_groups(nd, &norm, inputs[0], train_groups);
  return end(nd, call, inputs, outputs);
}

static BurnStatus run_batch_norm_train_backward(Ndarray *nd, const BurnOpCall *call) {
  const BurnDType dtype = call->inputs[1]->dtype;
  BatchNorm norm = {.loops = nd_float_rows(nd, dtype),
                    .epsilon = BURN_ATTRS(batch_norm_train_backward, call)->epsilon.value.f64};
  NdTensor *inputs[5], *outputs[3];
  if (!norm.loops) return nd_no_float_rows(nd, call, dtype);
  const BurnStatus status = begin(nd, call, inputs, outputs);
  if (status != BURN_OK) return status;
  norm.grad = (const char *)nd_data(inputs[0]);
  norm.gamma = nd_data(inputs[2]);
  norm.mean = nd_data(inputs[3]);
  norm.var = nd_data(inputs[4]);
  norm.out = (char *)nd_data(outputs[0]);
  norm.out_gamma = nd_data(outputs[1]);
  norm.out_beta = nd_data(outputs[2]);
  norm.stream = nd_streams(outputs[0], inputs[0], inputs[1]);
  run_groups(nd, &norm, inputs[1], backward_groups);
  return end(nd, call, inputs, outputs);
}

const NdKernelRow nd_norm_kernels[] = {
    {BURN_OP_layer_norm, run_layer_norm},
    {BURN_OP_layer_norm_backward, run_layer_norm_backward},
    {BURN_OP_batch_norm, run_batch_norm},
    {BURN_OP_batch_norm_train, run_batch_norm_train},
    {BURN_OP_batch_norm_train_backward, run_batch_norm_train_backward},
    {BURN_OP_INVALID, NULL},
};
