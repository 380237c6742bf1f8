/* metric_bleu.c - BLEU of tokens (Papineni, Roukos, Ward, Zhu 2002) over all sequences of an epoch, with the
 * smoothing of Chen and Cherry 2014. The tokens of a step come to the host, where the counts are made whose sums
 * make the score. */
#include "metric_make.h"
#include "metric_tokens.h"

#include <math.h>
#include <string.h>

enum { MAX_ORDER = 8 };

/* What is kept of a step: per order its hits and n-grams, then tokens of predictions and of targets. */
static size_t kept_of(const BurnBleuConfig *config) { return 2 * (size_t)config->max_n + 2; }

/* The tokens, and after them zeros: so that there is room for what is kept, however short the sequences are. */
static BurnMeasured measure(const void *context, const BurnMetricInput *input) {
  const BurnBleuConfig *config = context;
  if (config->max_n < 1 || config->max_n > MAX_ORDER) {
    const BurnStatus status = burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "bleu: max_n %zu: 1 to %d expected",
                                               (size_t)config->max_n, (int)MAX_ORDER);
    return (BurnMeasured){.numbers = burn_tensor_failed(status), .weight = 1};
  }
  BurnMeasured measured = burn__tokens_measure("bleu", input);
  if (!measured.numbers || burn_tensor_status(measured.numbers) != BURN_OK) return measured;
  BurnTensor *tokens = burn_flatten(measured.numbers, 0, 1);
  BurnTensor *room = burn_zeros(burn_tensor_device(tokens), BURN_SHAPE((int64_t)kept_of(config)), burn_dtype(tokens));
  BurnTensor *const both[] = {tokens, room};
  measured.numbers = burn_cat(both, 2, 0);
  return measured;
}

/* How often an n-gram is among tokens. */
static size_t occurrences(const double *tokens, size_t count, const double *gram, size_t n) {
  size_t found = 0;
  for (size_t i = 0; i + n <= count; i++) found += memcmp(tokens + i, gram, n * sizeof *gram) == 0;
  return found;
}

/* n-grams of predictions that are among the targets, each at most as often as there. */
static size_t hits_of(const double *predicted, size_t predicted_count, const double *there, size_t there_count,
                      size_t n) {
  size_t hits = 0;
  for (size_t i = 0; i + n <= predicted_count; i++) {
    const double *gram = predicted + i;
    if (occurrences(predicted, i + n - 1, gram, n) > 0) continue; /* counted where it was first */
    const size_t said = occurrences(predicted, predicted_count, gram, n);
    const size_t meant = occurrences(there, there_count, gram, n);
    hits += said < meant ? said : meant;
  }
  return hits;
}

static size_t reduce(const void *context, double *numbers, size_t count, double weight) {
  const BurnBleuConfig *config = context;
  const size_t kept = kept_of(config), rows = (size_t)weight, length = (count - kept) / (2 * rows);
  const double pad = (double)config->pad_token;
  double sums[2 * MAX_ORDER + 2] = {0};
  for (size_t i = 0; i < rows; i++) {
    double *predicted = numbers + 2 * length * i, *there = predicted + length;
    const size_t predicted_count = burn__tokens_without_pads(predicted, length, pad, true);
    const size_t there_count = burn__tokens_without_pads(there, length, pad, true);
    for (size_t n = 1; n <= config->max_n; n++) {
      sums[2 * (n - 1)] += (double)hits_of(predicted, predicted_count, there, there_count, n);
      sums[2 * (n - 1) + 1] += predicted_count >= n ? (double)(predicted_count - n + 1) : 0;
    }
    sums[kept - 2] += (double)predicted_count;
    sums[kept - 1] += (double)there_count;
  }
  memcpy(numbers, sums, kept * sizeof *sums);
  return kept;
}

/* The counts that stand for no hits: each next order without any has half of the one before, or all have epsilon. */
static double smoothed(const BurnBleuConfig *config, double *halves) {
  if (!config->exponential) return config->epsilon;
  return *halves /= 2;
}

static double value(const void *context, const double *numbers, size_t count, double weight) {
  const BurnBleuConfig *config = context;
  (void)weight;
  if (count != kept_of(config)) return (double)NAN;
  const double predicted = numbers[count - 2], there = numbers[count - 1];
  double logs = 0, halves = 1;
  bool any = false;
  for (size_t i = 0; i < config->max_n; i++) any |= numbers[2 * i] > 0;
  if (!any) return 0;
  for (size_t i = 0; i < config->max_n; i++) {
    const double hits = numbers[2 * i] > 0 ? numbers[2 * i] : smoothed(config, &halves);
    if (hits <= 0 || numbers[2 * i + 1] <= 0) return 0;
    logs += log(hits / numbers[2 * i + 1]);
  }
  const double brevity = predicted < there ? exp(1 - there / predicted) : 1;
  return brevity * exp(logs / (double)config->max_n);
}

static const BurnMetricInterface bleu_metric = {
    .name = "BLEU", .unit = "%", .scale = 100, .measure = measure, .value = value, .reduce = reduce};

BurnMetric burn_metric_bleu(const BurnBleuConfig *config) {
  return burn__metric(&bleu_metric, config, BurnBleuConfig_type());
}
