/* ndarray_softmax.c - softmax, log_softmax and layer_norm: several passes over one row, or over a strip of columns,
 * while it lies in the cache. The passes and the folds are those of ndarray_rows.h.
 *
 * Results may go into the memory of x: every pass reads an element before it writes it, and log_softmax, which reads x
 * again after its sum, keeps the exponentials in a buffer (rows) or gets memory of its own (columns). */
#include "ndarray_reduce.h"

#include <math.h>

#define ND_PIECE ND_COLUMNS     /* elements of a row buffered at a time */
#define ND_STRIP_ELEMENTS 32768 /* a strip of columns is about this large, unless that makes it too narrow */
#define ND_STRIP_NARROWEST 128

/* One call under way: x and out are row-major [outer, count, inner]. */
typedef struct Softmax {
  const NdFloatRows *passes;
  const NdFold *max, *sum;
  const char *x;
  char *out;
  int64_t count, inner, strip;
  int64_t element_bytes;
  bool is_log, is_f64;
} Softmax;

/* A double as an element of the dtype. */
static NdTotal element(bool is_f64, double value) {
  NdTotal result;
  if (is_f64) {
    result.f64 = value;
  } else {
    result.f32 = (float)value;
  }
  return result;
}

/* Sum of the elements of a float run. */
static double run_sum(const NdFold *sum, const void *x, int64_t count) {
  double total;
  sum->run(x, count, &total);
  return total;
}

/* -- softmax ------------------------------------------------------------------------------------------------------- */

/* Sum of e^(x - max) over a row, without keeping them. */
static double sum_of_exponentials(const Softmax *softmax, const char *x, const void *max) {
  NdTotals piece;
  double total = 0.0;
  for (int64_t i = 0; i < softmax->count; i += ND_PIECE) {
    const int64_t n = nd_smaller(ND_PIECE, softmax->count - i);
    softmax->passes->exp_shift(n, &piece, x + i * softmax->element_bytes, max, 0);
    total += run_sum(softmax->sum, &piece, n);
  }
  return total;
}

static void BURN_CALL softmax_rows(void *context, int64_t begin, int64_t end) {
  const Softmax *softmax = (const Softmax *)context;
  const int64_t count = softmax->count, bytes = count * softmax->element_bytes;
  for (int64_t r = begin; r < end; r++) {
    const char *x = softmax->x + r * bytes;
    char *out = softmax->out + r * bytes;
    NdTotal max;
    softmax->max->run(x, count, &max);
    if (softmax->is_log) {
      const NdTotal logarithm = element(softmax->is_f64, log(sum_of_exponentials(softmax, x, &max)));
      softmax->passes->subtract(count, out, x, &max, &logarithm, 0);
    } else {
      softmax->passes->exp_shift(count, out, x, &max, 0);
      const NdTotal factor = element(softmax->is_f64, 1.0 / run_sum(softmax->sum, out, count));
      softmax->passes->scale(count, out, out, &factor, 0);
    }
  }
}

/* One strip of `width` columns, inner elements apart from row to row. */
static void softmax_strip(const Softmax *softmax, const char *x, char *out, int64_t width) {
  const NdFloatRows *passes = softmax->passes;
  const int64_t row_bytes = softmax->inner * softmax->element_bytes;
  NdTotals max, sums, factors;
  softmax->max->columns(x, softmax->inner, softmax->count, width, &max);
  for (int64_t r = 0; r < softmax->count; r++) {
    passes->exp_shift(width, out + r * row_bytes, x + r * row_bytes, &max, 1);
  }
  softmax->sum->columns(out, softmax->inner, softmax->count, width, &sums);
  for (int64_t i = 0; i < width; i++) {
    const double factor = softmax->is_log ? log(sums.f64[i]) : 1.0 / sums.f64[i];
    if (softmax->is_f64) {
      factors.f64[i] = factor;
    } else {
      factors.f32[i] = (float)factor;
    }
  }
  for (int64_t r = 0; r < softmax->count; r++) {
    char *row = out + r * row_bytes;
    if (softmax->is_log) {
      passes->subtract(width, row, x + r * row_bytes, &max, &factors, 1);
    } else {
      passes->scale(width, row, row, &factors, 1);
    }
  }
}

/* Items are (outer, strip). */
static void BURN_CALL softmax_strips(void *context, int64_t begin, int64_t end) {
  const Softmax *softmax = (const Softmax *)context;
  const int64_t strips = (softmax->inner + softmax->strip - 1) / softmax->strip;
  for (int64_t i = begin; i < end; i++) {
    const int64_t column = i % strips * softmax->strip;
    const int64_t offset = (i / strips * softmax->count * softmax->inner + column) * softmax->element_bytes;
    softmax_strip(softmax, softmax->x + offset, softmax->out + offset,
                  nd_smaller(softmax->strip, softmax->inner - column));
  }
}

static void run_passes(Ndarray *nd, Softmax *softmax, int64_t outer) {
  if (softmax->count == 0) return;
  if (softmax->inner == 1) {
    nd_parallel_for(nd, outer, nd_grain(softmax->count * 4), softmax_rows, softmax);
    return;
  }
  int64_t strip = ND_STRIP_ELEMENTS / softmax->count;
  if (strip < ND_STRIP_NARROWEST) strip = ND_STRIP_NARROWEST;
  if (strip > ND_COLUMNS) strip = ND_COLUMNS;
  softmax->strip = nd_smaller(strip, softmax->inner);
  if (softmax->strip == 0) return;
  const int64_t strips = (softmax->inner + softmax->strip - 1) / softmax->strip;
  nd_parallel_for(nd, outer * strips, nd_grain(softmax->count * softmax->strip * 4), softmax_strips, softmax);
}

BurnStatus nd_run_softmax(Ndarray *nd, const BurnOpCall *call) {
  NdTensor *input = nd_tensor(call->inputs[0]);
  const BurnDType dtype = input->header.dtype;
  const uint32_t dim = (uint32_t)call->attrs[0].value.i64;
  Softmax softmax = {.passes = nd_float_rows(nd, dtype),
                     .max = nd_fold(nd, ND_FOLD_max, dtype),
                     .sum = nd_fold(nd, ND_FOLD_sum, dtype),
                     .count = input->shape[dim],
                     .inner = nd_axes_count(input, dim + 1, input->header.rank),
                     .element_bytes = burn_dtype_bytes(dtype),
                     .is_log = call->op == BURN_OP_log_softmax,
                     .is_f64 = dtype == BURN_DTYPE_F64};
  if (!softmax.passes) {
    return nd_fail(nd, BURN_STATUS_INVALID_DTYPE, "%s: no kernel for %s", nd->host->op_info(call->op)->name,
                   burn_dtype_name(dtype));
  }
  const bool reads_again = softmax.is_log && softmax.inner > 1;
  NdTensor *out = reads_again ? nd_new(nd, &call->output_descs[0]) : nd_output(nd, call, 0);
  NdTensor *x = out ? nd_contiguous(nd, input) : NULL; /* after nd_output, which looks whether input has other holders */
  if (!x) {
    nd_release(nd, out);
    return nd_out_of_memory(nd, call);
  }
  softmax.x = (const char *)nd_data(x);
  softmax.out = (char *)nd_data(out);
  run_passes(nd, &softmax, nd_axes_count(input, 0, dim));
  nd_release(nd, x);
  return nd_finish(nd, call, out);
}

/* -- layer norm ---------------------------------------------------------------------------------------------------- */

/* x and out are row-major [rows, count]; gamma and beta [count], beta may be NULL. */
typedef struct LayerNorm {
  const NdFloatRows *passes;
  const NdFold *sum;
  const char *x;
  const void *gamma, *beta;
  char *out;
  int64_t count, element_bytes;
  double epsilon;
  bool is_f64;
} LayerNorm;

/* Mean of (x - mean)^2 over a row: exact enough, as the second look at the row comes from the cache. */
static double row_variance(const LayerNorm *norm, const char *x, const void *mean) {
  NdTotals piece;
  double total = 0.0;
  for (int64_t i = 0; i < norm->count; i += ND_PIECE) {
    const int64_t n = nd_smaller(ND_PIECE, norm->count - i);
    norm->passes->squared_distance(n, &piece, x + i * norm->element_bytes, mean);
    total += run_sum(norm->sum, &piece, n);
  }
  return total / (double)norm->count;
}

static void BURN_CALL layer_norm_rows(void *context, int64_t begin, int64_t end) {
  const LayerNorm *norm = (const LayerNorm *)context;
  const int64_t bytes = norm->count * norm->element_bytes;
  for (int64_t r = begin; r < end; r++) {
    const char *x = norm->x + r * bytes;
    const NdTotal mean = element(norm->is_f64, run_sum(norm->sum, x, norm->count) / (double)norm->count);
    const NdTotal factor = element(norm->is_f64, 1.0 / sqrt(row_variance(norm, x, &mean) + norm->epsilon));
    norm->passes->normalize(norm->count, norm->out + r * bytes, x, &mean, &factor, norm->gamma, norm->beta);
  }
}

static void run_layer_norm(Ndarray *nd, LayerNorm *norm, int64_t rows, NdTensor *x, NdTensor *gamma, NdTensor *beta,
                           NdTensor *out) {
  norm->x = (const char *)nd_data(x);
  norm->gamma = nd_data(gamma);
  norm->beta = beta ? nd_data(beta) : NULL;
  norm->out = (char *)nd_data(out);
  nd_parallel_for(nd, rows, nd_grain(norm->count * 4), layer_norm_rows, norm);
}

BurnStatus nd_run_layer_norm(Ndarray *nd, const BurnOpCall *call) {
  NdTensor *input = nd_tensor(call->inputs[0]);
  const BurnDType dtype = input->header.dtype;
  const uint32_t last = input->header.rank - 1;
  LayerNorm norm = {.passes = nd_float_rows(nd, dtype),
                    .sum = nd_fold(nd, ND_FOLD_sum, dtype),
                    .count = input->shape[last],
                    .element_bytes = burn_dtype_bytes(dtype),
                    .epsilon = BURN_ATTRS(layer_norm, call)->epsilon.value.f64,
                    .is_f64 = dtype == BURN_DTYPE_F64};
  if (!norm.passes) {
    return nd_fail(nd, BURN_STATUS_INVALID_DTYPE, "layer_norm: no kernel for %s", burn_dtype_name(dtype));
  }
  BurnPrimitive *shift = call->input_count > 2 ? call->inputs[2] : NULL;
  /* Only x may be overwritten (gamma and beta are read for every row), and this is decided before x is held once more. */
  const bool in_place = nd_may_overwrite(call, 0) && nd_is_contiguous(input);
  NdTensor *out = in_place ? nd_output(nd, call, 0) : nd_new(nd, &call->output_descs[0]);
  NdTensor *x = nd_contiguous(nd, input), *gamma = nd_contiguous(nd, nd_tensor(call->inputs[1]));
  NdTensor *beta = shift ? nd_contiguous(nd, nd_tensor(shift)) : NULL;
  if (out && x && gamma && (beta || !shift)) {
    run_layer_norm(nd, &norm, nd_axes_count(input, 0, last), x, gamma, beta, out);
  } else {
    nd_release(nd, out);
    out = NULL;
  }
  nd_release(nd, x);
  nd_release(nd, gamma);
  nd_release(nd, beta);
  return nd_finish(nd, call, out);
}
