/* metric_edit_distance.c - Burn's CharErrorRate and WordErrorRate. The tokens of a step come to the host, where two
 * sums are made of them: edits, and tokens of the targets. */
#include <burn/train/metric.h>

#include <math.h>
#include <stdlib.h>

/* int [n, length], the caller's; NULL: the step has none. */
static BurnTensor *predictions_of(const BurnStepOutput *step) {
  BurnTensor *predictions = burn_step_get(step, "predictions"), *output = burn_step_get(step, "output");
  if (predictions) return burn_clone(predictions);
  if (!output || burn_rank(output) != 3) return NULL;
  return burn_reshape(burn_argmax(burn_clone(output), 2), BURN_SHAPE(burn_dim(output, 0), burn_dim(output, 1)));
}

static BurnStatus check(const BurnTensor *predictions, const BurnTensor *targets) {
  const BurnShape one = burn_shape(predictions), other = burn_shape(targets);
  if (one.rank == 2 && other.rank == 2 && one.dims[0] == other.dims[0] && one.dims[1] == other.dims[1] &&
      burn_element_count(targets) > 0 && burn_dtype_kind(burn_dtype(predictions)) == BURN_KIND_INT) {
    return BURN_OK;
  }
  return burn_status_make(BURN_STATUS_INVALID_SHAPE,
                          "edit distance: predictions %s %s and targets %s: integers [n, length] of both expected",
                          burn_dtype_name(burn_dtype(predictions)), burn_shape_text(one).text,
                          burn_shape_text(other).text);
}

static BurnMeasured measure(const void *config, const BurnMetricInput *input) {
  BurnTensor *targets = burn_step_get(input->output, "targets");
  (void)config;
  if (!targets || burn_dtype_kind(burn_dtype(targets)) != BURN_KIND_INT) return (BurnMeasured){0};
  BurnTensor *predictions = predictions_of(input->output);
  if (!predictions) return (BurnMeasured){0};
  BurnStatus status = burn_tensor_status(predictions);
  if (status == BURN_OK) status = check(predictions, targets);
  if (status != BURN_OK) {
    burn_drop(predictions);
    return (BurnMeasured){.numbers = burn_tensor_failed(status), .weight = 1};
  }
  BurnTensor *const both[] = {burn_cast(predictions, burn_dtype(targets)), burn_clone(targets)};
  return (BurnMeasured){.numbers = burn_cat(both, 2, 1), .weight = (double)burn_dim(targets, 0)};
}

/* Puts the tokens that count at the front; returns their number. */
static size_t without_pads(double *tokens, size_t count, double pad, bool ends_there) {
  size_t kept = 0;
  for (size_t i = 0; i < count; i++) {
    if (pad >= 0 && tokens[i] == pad) {
      if (ends_there) break;
      continue;
    }
    tokens[kept++] = tokens[i];
  }
  return kept;
}

/* Levenshtein's distance; `row` has room for b_count + 1. */
static size_t distance(const double *a, size_t a_count, const double *b, size_t b_count, size_t *row) {
  for (size_t j = 0; j <= b_count; j++) row[j] = j;
  for (size_t i = 0; i < a_count; i++) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b_count; j++) {
      const size_t above = row[j + 1], least = above < row[j] ? above : row[j];
      const size_t changed = diagonal + (a[i] != b[j]);
      row[j + 1] = changed < least + 1 ? changed : least + 1;
      diagonal = above;
    }
  }
  return row[b_count];
}

static size_t reduce(double *numbers, size_t count, double weight, double pad, bool ends_there) {
  const size_t rows = (size_t)weight, length = count / (2 * rows);
  size_t *row = malloc((length + 1) * sizeof *row), edits = 0, tokens = 0;
  for (size_t i = 0; i < rows && row; i++) {
    double *predictions = numbers + 2 * length * i, *targets = predictions + length;
    const size_t predicted = without_pads(predictions, length, pad, ends_there);
    const size_t there = without_pads(targets, length, pad, ends_there);
    edits += distance(targets, there, predictions, predicted, row);
    tokens += there;
  }
  numbers[0] = row ? (double)edits : (double)NAN;
  numbers[1] = (double)tokens;
  free(row);
  return 2;
}

static size_t reduce_cer(const void *config, double *numbers, size_t count, double weight) {
  return reduce(numbers, count, weight, (double)((const BurnTokenConfig *)config)->pad_token, false);
}

static size_t reduce_wer(const void *config, double *numbers, size_t count, double weight) {
  return reduce(numbers, count, weight, (double)((const BurnTokenConfig *)config)->pad_token, true);
}

/* 0 if there are no targets, as in Burn. */
static double value(const void *config, const double *numbers, size_t count, double weight) {
  (void)config, (void)count, (void)weight;
  return numbers[1] > 0 ? numbers[0] / numbers[1] : 0;
}

static const BurnMetricInterface cer_metric = {
    .name = "CER", .unit = "%", .scale = 100, .measure = measure, .value = value, .reduce = reduce_cer};
static const BurnMetricInterface wer_metric = {
    .name = "WER", .unit = "%", .scale = 100, .measure = measure, .value = value, .reduce = reduce_wer};

BurnMetric burn_metric_cer(const BurnTokenConfig *config) { return (BurnMetric){&cer_metric, config, NULL}; }

BurnMetric burn_metric_wer(const BurnTokenConfig *config) { return (BurnMetric){&wer_metric, config, NULL}; }
