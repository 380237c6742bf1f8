/* metric_tokens_test.c - metrics of targets of which some are pads: the cases of Burn's AccuracyMetric,
 * TopKAccuracyMetric, PerplexityMetric, CharErrorRate and WordErrorRate (burn-train, metric), and some more by their
 * definitions. */
#include "metric_evaluate.h"

/* -- accuracy --------------------------------------------------------------------------------- */

static void accuracy_of_burn(void **state) {
  const float output[7 * 4] = {0.0f, 0.2f, 0.8f, 0.0f, 1.0f, 2.0f, 0.5f, 0.0f, 0.4f, 0.1f, 0.2f, 0.0f, 0.6f, 0.7f,
                               0.2f, 0.0f, 0.0f, 0.1f, 0.2f, 5.0f, 0.0f, 0.1f, 0.2f, 0.0f, 0.6f, 0.0f, 0.2f, 0.0f};
  const int64_t targets[7] = {2, 2, 1, 1, 3, 3, 3};
  const MetricData data = {output, {1, {4}}, targets, ONE_NUMBER, 4},
                   padded = {output, {1, {4}}, targets, ONE_NUMBER, 7};
  const BurnTokenConfig without = {3};
  assert_metric(*state, &data, false, burn_metric_token_accuracy(NULL), 0.5, 0);
  assert_metric(*state, &padded, false, burn_metric_token_accuracy(&without), 0.5, 0);
  assert_metric(*state, &padded, false, burn_metric_token_accuracy(NULL), 3.0 / 7, 1e-15);
}

/* Two sequences of two tokens, two of them pads: one of the others is right, and a pad that is right is no hit. */
static void accuracy_of_sequences(void **state) {
  const float output[2 * 2 * 3] = {1, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 1};
  const int64_t targets[4] = {0, 2, 0, -100}, pad_is_class[4] = {0, 2, 0, 2};
  const BurnTokenConfig without = {2};
  MetricData data = {output, {2, {2, 3}}, pad_is_class, {1, {2}}, 2};
  assert_metric(*state, &data, false, burn_metric_token_accuracy(&without), 0.5, 0);
  data.targets = targets; /* beyond the classes: never a hit */
  assert_metric(*state, &data, false, burn_metric_token_accuracy(NULL), 0.25, 0);
  data.targets_shape = (BurnShape){0, {0}};
  assert_metric_refused(*state, &data, false, burn_metric_token_accuracy(NULL), BURN_STATUS_INVALID_SHAPE,
                        "accuracy: output [1,2,3] and targets [1]: [.., classes] and [..] expected");
  assert_string_equal(burn_metric_token_accuracy(NULL).table->name, burn_metric_accuracy().table->name);
}

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

  /* Pads do not count, also where they are not a class; sequences of two tokens. */
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

/* -- n-grams and common subsequences ---------------------------------------------------------- */

/* sacreBLEU 2.4.3, corpus_score with tokenize="none" of the same tokens as words; order 6 has none of some hits. */
static void bleu_of_sacrebleu(void **state) {
  const float predicted[3 * 7] = {1, 2, 3, 4, 5, 6, 7, 1, 2, 1, 2, 1, 2, 9, 5, 6, 0, 0, 0, 0, 0};
  const int64_t there[3 * 7] = {1, 2, 3, 9, 5, 6, 7, 1, 2, 3, 1, 2, 4, 5, 5, 6, 7, 8, 0, 0, 0};
  const MetricData data = sequences_of(predicted, there, 3, 7);
  BurnBleuConfig config = BurnBleuConfig_defaults();
  config.pad_token = 0;
  assert_metric(*state, &data, true, burn_metric_bleu(&config), 0, 0);
  config.max_n = 2;
  assert_metric(*state, &data, true, burn_metric_bleu(&config), 0.5608169940860921, 1e-14);
  config.max_n = 6;
  config.epsilon = 0.1;
  assert_metric(*state, &data, true, burn_metric_bleu(&config), 0.0763901406121088, 1e-14);
  config.exponential = true;
  assert_metric(*state, &data, true, burn_metric_bleu(&config), 0.1207834175573964, 1e-14);
}

/* The cases of Burn's BleuScore (burn-train, metric/bleu.rs). */
static void bleu_of_burn(void **state) {
  const float same[5] = {1, 2, 3, 4, 5}, other[5] = {1, 2, 3, 6, 7}, shorter[5] = {1, 2, 3, 0, 0};
  const int64_t targets[5] = {1, 2, 3, 4, 5}, nothing[5] = {6, 7, 8, 9, 10};
  const MetricData equal = sequences_of(same, targets, 1, 5), partly = sequences_of(other, targets, 1, 5);
  const MetricData never = sequences_of(same, nothing, 1, 5), brief = sequences_of(shorter, targets, 1, 5);
  const BurnBleuConfig four = BurnBleuConfig_defaults(), one = {1, 0, 0, false}, two = {2, -1, 0, false};
  assert_metric(*state, &equal, true, burn_metric_bleu(&four), 1, 1e-15);
  assert_metric(*state, &never, true, burn_metric_bleu(&four), 0, 0);
  assert_metric(*state, &partly, true, burn_metric_bleu(&one), 0.6, 1e-15);
  assert_metric(*state, &brief, true, burn_metric_bleu(&one), exp(1 - 5.0 / 3), 1e-15);
  const float four_tokens[4] = {1, 2, 3, 4};
  const int64_t bigrams[4] = {1, 2, 5, 6};
  const MetricData pairs = sequences_of(four_tokens, bigrams, 1, 4);
  assert_metric(*state, &pairs, true, burn_metric_bleu(&two), sqrt(0.5 / 3), 1e-15);
  const BurnBleuConfig none = {0, -1, 0, false}, many = {9, -1, 0, false};
  assert_metric_refused(*state, &equal, true, burn_metric_bleu(&none), BURN_STATUS_INVALID_ARGUMENT,
                        "bleu: max_n 0: 1 to 8 expected");
  assert_metric_refused(*state, &equal, true, burn_metric_bleu(&many), BURN_STATUS_INVALID_ARGUMENT, "max_n 9");
}

/* The cases of Burn's RougeLScore, and "kitten" and "sitting", which have "ittn" in common. */
static void rouge_l_of_burn(void **state) {
  const BurnTokenConfig all = BurnTokenConfig_defaults(), without = {0};
  const float odd[10] = {1, 3, 5, 7, 9, 6, 7, 8, 9, 10}, brief[5] = {1, 2, 3, 0, 0};
  const int64_t targets[10] = {1, 2, 3, 4, 5, 11, 12, 13, 14, 15};
  const MetricData partly = sequences_of(odd, targets, 1, 5), both = sequences_of(odd, targets, 2, 5);
  const MetricData shorter = sequences_of(brief, targets, 1, 5);
  assert_metric(*state, &partly, true, burn_metric_rouge_l(&all), 0.6, 1e-15);
  assert_metric(*state, &both, true, burn_metric_rouge_l(&all), 0.3, 1e-15);
  assert_metric(*state, &shorter, true, burn_metric_rouge_l(&without), 0.75, 1e-15);
  const float kitten[7] = {'k', 'i', 't', 't', 'e', 'n', 0}, empty[7] = {0};
  const int64_t sitting[7] = {'s', 'i', 't', 't', 'i', 'n', 'g'}, nothing[7] = {0};
  const MetricData words = sequences_of(kitten, sitting, 1, 7), void_ = sequences_of(empty, nothing, 1, 7);
  assert_metric(*state, &words, true, burn_metric_rouge_l(&without), 8.0 / 13, 1e-15);
  assert_metric(*state, &void_, true, burn_metric_rouge_l(&without), 1, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(accuracy_of_burn),
      cmocka_unit_test(accuracy_of_sequences),
      cmocka_unit_test(top_k_of_burn),
      cmocka_unit_test(perplexity_is_of_all_tokens),
      cmocka_unit_test(edits_of_burn),
      cmocka_unit_test(edits_by_definition),
      cmocka_unit_test(predictions_are_the_best),
      cmocka_unit_test(bleu_of_sacrebleu),
      cmocka_unit_test(bleu_of_burn),
      cmocka_unit_test(rouge_l_of_burn),
  };
  return cmocka_run_group_tests_name("metric_tokens", tests, open_device, close_device);
}
