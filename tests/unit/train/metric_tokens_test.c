/* metric_tokens_test.c - metrics of targets of which some are pads: the cases of Burn's TopKAccuracyMetric,
 * PerplexityMetric, CharErrorRate and WordErrorRate (burn-train, metric), and some more by their definitions. */
#include "metric_evaluate.h"

/* -- top-k ------------------------------------------------------------------------------------ */

static void top_k_of_burn(void **state) {
  const float output[7 * 4] = {0.0f, 0.2f, 0.8f, 0.0f, 1.0f, 2.0f, 0.5f, 0.0f, 0.4f, 0.1f, 0.2f, 0.0f, 0.6f, 0.7f,
                               0.2f, 0.0f, 0.0f, 0.1f, 0.2f, 5.0f, 0.0f, 0.1f, 0.2f, 0.0f, 0.6f, 0.0f, 0.2f, 0.0f};
  const int64_t targets[7] = {2, 2, 1, 1, 3, 3, 3};
  const MetricData data = {output, {1, {4}}, targets, ONE_NUMBER, 4},
                   padded = {output, {1, {4}}, targets, ONE_NUMBER, 7};
  const BurnTopKAccuracyConfig two = BurnTopKAccuracyConfig_defaults(2), without = {2, 3}, all = {4, 3}, one = {1, 3};
  assert_metric(*state, &data, false, burn_metric_top_k_accuracy(&two), 0.5, 0);
  assert_metric(*state, &padded, false, burn_metric_top_k_accuracy(&without), 0.5, 0);
  assert_metric(*state, &padded, false, burn_metric_top_k_accuracy(&two), 3.0 / 7, 1e-15);
  assert_metric(*state, &padded, false, burn_metric_top_k_accuracy(&all), 1, 0);
  assert_metric(*state, &padded, false, burn_metric_top_k_accuracy(&one), 0.5, 0);
  const BurnTopKAccuracyConfig none = {0, -1}, many = {5, -1};
  assert_metric_refused(*state, &data, false, burn_metric_top_k_accuracy(&none), BURN_STATUS_INVALID_ARGUMENT,
                        "top_k_accuracy: k 0: 1 to 4 classes expected");
  assert_metric_refused(*state, &data, false, burn_metric_top_k_accuracy(&many), BURN_STATUS_INVALID_ARGUMENT,
                        "top_k_accuracy: k 5");
}

/* -- perplexity ------------------------------------------------------------------------------- */

static void perplexity_is_of_all_tokens(void **state) {
  const BurnTokenConfig all = BurnTokenConfig_defaults(), without = {3}, far = {100};
  const float even[3 * 3] = {0};
  const int64_t classes[3] = {0, 1, 2};
  const MetricData uniform = {even, {1, {3}}, classes, ONE_NUMBER, 3};
  assert_metric(*state, &uniform, false, burn_metric_perplexity(&all), 3, 1e-6);

  /* Two steps of different likelihoods: exp of the mean, not the mean of exponentials. */
  const float output[3 * 2] = {0, 0, 3, 0, 0, 2};
  const int64_t targets[3] = {0, 0, 0};
  const double nll = log(2) + log1p(exp(-3)) + log1p(exp(2));
  const MetricData mixed = {output, {1, {2}}, targets, ONE_NUMBER, 3};
  assert_metric(*state, &mixed, false, burn_metric_perplexity(&all), exp(nll / 3), 1e-6);

  /* Pads do not count, also where they are no class; sequences of two tokens. */
  const float sequences[2 * 2 * 4] = {10, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1};
  const int64_t padded[4] = {0, 1, 3, 3}, beyond[4] = {0, 1, 100, 100};
  MetricData data = {sequences, {2, {2, 4}}, padded, {1, {2}}, 2};
  const double expected = 1 + 3 * exp(-10);
  double value = 0;
  check_status(metric_try(*state, &data, false, burn_metric_perplexity(&without), 2, &value));
  assert_true(fabs(value - expected) < 1e-6);
  data.targets = beyond;
  check_status(metric_try(*state, &data, false, burn_metric_perplexity(&far), 2, &value));
  assert_true(fabs(value - expected) < 1e-6);
  data.targets_shape = (BurnShape){0, {0}};
  assert_metric_refused(*state, &data, false, burn_metric_perplexity(&all), BURN_STATUS_INVALID_SHAPE,
                        "perplexity: output [1,2,4] and targets [1]: [.., classes] and [..] expected");
}

/* -- edit distances --------------------------------------------------------------------------- */

static MetricData sequences_of(const float *predictions, const int64_t *targets, size_t items, int64_t length) {
  return (MetricData){predictions, {1, {length}}, targets, {1, {length}}, items};
}

static void edits_of_burn(void **state) {
  const BurnTokenConfig all = BurnTokenConfig_defaults(), without = {9};
  const float same[4] = {1, 2, 3, 4}, changed[4] = {1, 2, 3, 5}, padded[6] = {1, 2, 9, 3, 5, 9};
  const int64_t right[4] = {1, 2, 3, 4}, wrong[4] = {1, 3, 3, 4}, wrong_padded[6] = {1, 3, 9, 3, 4, 9};
  const MetricData none = sequences_of(same, right, 2, 2), two = sequences_of(changed, wrong, 2, 2);
  const MetricData pads = sequences_of(padded, wrong_padded, 2, 3);
  assert_metric(*state, &none, true, burn_metric_cer(&all), 0, 0);
  assert_metric(*state, &none, true, burn_metric_wer(&all), 0, 0);
  assert_metric(*state, &two, true, burn_metric_cer(&all), 0.5, 0);
  assert_metric(*state, &two, true, burn_metric_wer(&all), 0.5, 0);
  assert_metric(*state, &pads, true, burn_metric_cer(&without), 0.5, 0);
  assert_metric(*state, &pads, true, burn_metric_wer(&without), 0.5, 0);
  assert_metric(*state, &pads, true, burn_metric_cer(&all), 2.0 / 6, 1e-15);
}

/* "kitten" and "sitting" are three edits apart; a pad in between is left out by one, and ends the other. */
static void edits_by_definition(void **state) {
  const BurnTokenConfig without = {0};
  const float kitten[7] = {'k', 'i', 't', 't', 'e', 'n', 0};
  const int64_t sitting[7] = {'s', 'i', 't', 't', 'i', 'n', 'g'};
  const MetricData words = sequences_of(kitten, sitting, 1, 7);
  assert_metric(*state, &words, true, burn_metric_cer(&without), 3.0 / 7, 1e-15);
  assert_metric(*state, &words, true, burn_metric_wer(&without), 3.0 / 7, 1e-15);
  const float split[5] = {1, 2, 0, 3, 4};
  const int64_t whole[5] = {1, 2, 3, 4, 0}, nothing[5] = {0};
  const MetricData between = sequences_of(split, whole, 1, 5), empty = sequences_of(split, nothing, 1, 5);
  assert_metric(*state, &between, true, burn_metric_cer(&without), 0, 0);
  assert_metric(*state, &between, true, burn_metric_wer(&without), 2.0 / 4, 0); /* [1, 2] for [1, 2, 3, 4] */
  assert_metric(*state, &empty, true, burn_metric_cer(&without), 0, 0);
}

/* Without predictions they are the best of the output [n, length, classes]. */
static void predictions_are_the_best(void **state) {
  const BurnTokenConfig all = BurnTokenConfig_defaults();
  const float output[2 * 2 * 3] = {0, 1, 0, 0, 0, 1, 5, 1, 0, 0, 2, 1}; /* 1 2, 0 1 */
  const int64_t targets[4] = {1, 2, 0, 2};
  MetricData data = {output, {2, {2, 3}}, targets, {1, {2}}, 2};
  assert_metric(*state, &data, false, burn_metric_cer(&all), 0.25, 0);
  data.targets_shape = (BurnShape){1, {1}};
  assert_metric_refused(*state, &data, false, burn_metric_wer(&all), BURN_STATUS_INVALID_SHAPE,
                        "[1,2] and targets [1,1]: integers [n, length] of both expected");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(top_k_of_burn),
      cmocka_unit_test(perplexity_is_of_all_tokens),
      cmocka_unit_test(edits_of_burn),
      cmocka_unit_test(edits_by_definition),
      cmocka_unit_test(predictions_are_the_best),
  };
  return cmocka_run_group_tests_name("metric_tokens", tests, open_device, close_device);
}
