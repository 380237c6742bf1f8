/* metric_rouge.c - ROUGE-L of tokens (Lin 2004): F1 of the longest common subsequence, per sequence. */
#include "metric_make.h"
#include "metric_tokens.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static BurnMeasured measure(const void *config, const BurnMetricInput *input) {
  (void)config;
  return burn__tokens_measure("rouge", input);
}

/* The length of the longest common subsequence; `row` has room for b_count + 1. */
static size_t common(const double *a, size_t a_count, const double *b, size_t b_count, size_t *row) {
  memset(row, 0, (b_count + 1) * sizeof *row);
  for (size_t i = 0; i < a_count; i++) {
    size_t diagonal = 0;
    for (size_t j = 0; j < b_count; j++) {
      const size_t above = row[j + 1], left = row[j];
      row[j + 1] = a[i] == b[j] ? diagonal + 1 : above > left ? above : left;
      diagonal = above;
    }
  }
  return row[b_count];
}

/* 2 PR / (P + R) with precision and recall of what is common; 1 if there is nothing in either. */
static double f1_of(size_t shared, size_t predicted, size_t there) {
  return predicted + there > 0 ? 2 * (double)shared / (double)(predicted + there) : 1;
}

static size_t reduce(const void *context, double *numbers, size_t count, double weight) {
  const BurnTokenConfig *config = context;
  const size_t rows = (size_t)weight, length = count / (2 * rows);
  const double pad = (double)config->pad_token;
  size_t *row = malloc((length + 1) * sizeof *row);
  double sum = 0;
  for (size_t i = 0; i < rows && row; i++) {
    double *predictions = numbers + 2 * length * i, *targets = predictions + length;
    const size_t predicted = burn__tokens_without_pads(predictions, length, pad, true);
    const size_t there = burn__tokens_without_pads(targets, length, pad, true);
    sum += f1_of(common(targets, there, predictions, predicted, row), predicted, there);
  }
  numbers[0] = row ? sum : (double)NAN;
  free(row);
  return 1;
}

static const BurnMetricInterface rouge_metric = {
    .name = "ROUGE-L", .unit = "%", .scale = 100, .measure = measure, .reduce = reduce};

BurnMetric burn_metric_rouge_l(const BurnTokenConfig *config) {
  return burn__metric(&rouge_metric, config, BurnTokenConfig_type());
}
