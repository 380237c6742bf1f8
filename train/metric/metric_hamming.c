/* metric_hamming.c - Burn's HammingScore: the share of labels that are predicted right. */
#include <burn/train/metric.h>

#include "metric_make.h"

static BurnMeasured measure(const void *context, const BurnMetricInput *input) {
  const BurnHammingScoreConfig *config = context;
  BurnTensor *output = burn_step_get(input->output, "output"), *targets = burn_step_get(input->output, "targets");
  if (!output || !targets || burn_dtype_kind(burn_dtype(targets)) == BURN_KIND_FLOAT) return (BurnMeasured){0};
  const BurnShape shape = burn_shape(output), other = burn_shape(targets);
  if (shape.rank != 2 || other.rank != 2 || shape.dims[0] != other.dims[0] || shape.dims[1] != other.dims[1] ||
      burn_element_count(output) == 0) {
    const BurnStatus status = burn_status_make(BURN_STATUS_INVALID_SHAPE,
                                               "hamming_score: output %s and targets %s: [n, labels] of both expected",
                                               burn_shape_text(shape).text, burn_shape_text(other).text);
    return (BurnMeasured){.numbers = burn_tensor_failed(status), .weight = 1};
  }
  BurnTensor *scores = burn_clone(output);
  if (config->sigmoid) scores = burn_sigmoid(scores);
  BurnTensor *right = burn_equal(burn_greater_scalar(scores, config->threshold), burn_bool(burn_clone(targets)));
  return (BurnMeasured){.numbers = burn_sum(burn_int(right)), .weight = (double)burn_element_count(output)};
}

static const BurnMetricInterface hamming_metric = {
    .name = "HammingScore", .unit = "%", .scale = 100, .measure = measure};

BurnMetric burn_metric_hamming_score(const BurnHammingScoreConfig *config) {
  return burn__metric(&hamming_metric, config, BurnHammingScoreConfig_type());
}
