/* metric_edit_distance.c - Burn's CharErrorRate and WordErrorRate. The tokens of a step come to the host, where two
 * sums are made of them: edits, and tokens of the targets. */
#include "metric_make.h"
#include "metric_tokens.h"

#include <math.h>
#include <stdlib.h>

static BurnMeasured measure(const void *config, const BurnMetricInput *input) {
  (void)config;
  return burn__tokens_measure("edit distance", input);
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
    const size_t predicted = burn__tokens_without_pads(predictions, length, pad, ends_there);
    const size_t there = burn__tokens_without_pads(targets, length, pad, ends_there);
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
  (void)config, (void)weight;
  if (count != 2) return (double)NAN;
  return numbers[1] > 0 ? numbers[0] / numbers[1] : 0;
}

static const BurnMetricInterface cer_metric = {
    .name = "CER", .unit = "%", .scale = 100, .measure = measure, .value = value, .reduce = reduce_cer};
static const BurnMetricInterface wer_metric = {
    .name = "WER", .unit = "%", .scale = 100, .measure = measure, .value = value, .reduce = reduce_wer};

BurnMetric burn_metric_cer(const BurnTokenConfig *config) {
  return burn__metric(&cer_metric, config, BurnTokenConfig_type());
}

BurnMetric burn_metric_wer(const BurnTokenConfig *config) {
  return burn__metric(&wer_metric, config, BurnTokenConfig_type());
}
