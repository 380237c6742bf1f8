/* metric_auroc_test.c - areas under curves: the cases of Burn's AurocMetric (burn-train, metric/auroc.rs), whose values are those of
 * scikit-learn's roc_auc_score; ties and large data against the definition over all pairs. */
#include "metric_evaluate.h"

static const float binary[6] = {0.34f, 0.64f, 0.12f, 0.19f, 0.53f, 0.38f};
static const int64_t binary_targets[6] = {0, 0, 0, 0, 1, 1};
static const float multiclass[18] = {0.79f, 0.41f, 0.16f, 0.25f, 0.93f, 0.78f, 0.61f, 0.09f, 0.21f,
                                     0.9f,  0.31f, 0.33f, 0.16f, 0.82f, 0.57f, 0.57f, 0.18f, 0.63f};
static const int64_t multiclass_targets[6] = {0, 0, 0, 2, 1, 0};
static const float multilabel[18] = {0.11f, 0.57f, 0.9f,  0.13f, 0.66f, 0.37f, 0.71f, 0.85f, 0.6f,
                                     0.29f, 0.69f, 0.49f, 0.68f, 0.45f, 0.25f, 0.33f, 0.36f, 0.31f};
static const int64_t multilabel_targets[18] = {1, 1, 1, 0, 0, 1, 0, 1, 0, 1, 1, 0, 0, 1, 1, 1, 1, 1};

static const MetricData of_binary = {binary, {1, {1}}, binary_targets, ONE_NUMBER, 6};
static const MetricData of_classes = {multiclass, {1, {3}}, multiclass_targets, ONE_NUMBER, 6};
static const MetricData of_labels = {multilabel, {1, {3}}, multilabel_targets, {1, {3}}, 6};
static const BurnAurocConfig macro = {false}, micro = {true};

static void areas_of_burn(void **state) {
  assert_metric(*state, &of_binary, false, burn_metric_auroc(&macro), 0.75, 1e-15);
  assert_metric(*state, &of_binary, false, burn_metric_auroc(&micro), 0.75, 1e-15);
  assert_metric(*state, &of_classes, false, burn_metric_auroc(&macro), 0.5666666666666667, 1e-15);
  assert_metric(*state, &of_classes, false, burn_metric_auroc(&micro), 0.6458333333333333, 1e-15);
  assert_metric(*state, &of_labels, false, burn_metric_auroc(&macro), 0.2907407407407407, 1e-15);
  assert_metric(*state, &of_labels, false, burn_metric_auroc(&micro), 0.3611111111111111, 1e-15);
}

/* Classes without both kinds of rows do not count; without any other it is 0.5. A NaN among the scores is not a
 * number. */
static void classes_of_one_kind_do_not_count(void **state) {
  const float output[6] = {0.9f, 0.1f, 0.2f, 0.2f, 0.8f, 0.3f};
  const int64_t some[2] = {0, 1}, same[2] = {1, 1};
  MetricData data = {output, {1, {3}}, some, ONE_NUMBER, 2};
  assert_metric(*state, &data, false, burn_metric_auroc(&macro), 1, 0);
  data.targets = same;
  assert_metric(*state, &data, false, burn_metric_auroc(&macro), 0.5, 0);
  const float none[6] = {0.9f, (float)NAN, 0.2f, 0.2f, 0.8f, 0.3f};
  data.output = none;
  double value = 0;
  check_status(metric_try(*state, &data, false, burn_metric_auroc(&macro), 1, &value));
  assert_true(isnan(value));
}

/* Scores of four values, so with many ties: the share of pairs won, a tie counts half. */
static void ties_count_half(void **state) {
  enum { ITEMS = 60 };
  float scores[ITEMS];
  int64_t targets[ITEMS];
  double pairs = 0, won = 0;
  for (size_t i = 0; i < ITEMS; i++) {
    scores[i] = 0.25f * (float)(i * 7 % 11 % 4);
    targets[i] = i * 5 % 13 % 3 == 0;
  }
  for (size_t i = 0; i < ITEMS; i++) {
    for (size_t j = 0; j < ITEMS; j++) {
      if (!targets[i] || targets[j]) continue;
      pairs++;
      won += scores[i] > scores[j] ? 1 : scores[i] == scores[j] ? 0.5 : 0;
    }
  }
  const MetricData data = {scores, {1, {1}}, targets, ONE_NUMBER, ITEMS};
  assert_metric(*state, &data, false, burn_metric_auroc(&macro), won / pairs, 1e-14);
}

/* -- precision and recall --------------------------------------------------------------------- */

/* The cases of Burn's AucPrMetric (burn-train, metric/auc_pr.rs), which are those of scikit-learn's
 * average_precision_score. */
static void average_precision_of_burn(void **state) {
  const float one[6] = {0.63f, 0.25f, 0.71f, 0.3f, 0.07f, 0.66f};
  const int64_t one_targets[6] = {0, 1, 0, 0, 0, 0};
  const float three[18] = {0.45f, 0.3f,  0.36f, 0.83f, 0.24f, 0.09f, 0.19f, 0.39f, 0.29f,
                           0.3f,  0.14f, 0.46f, 0.73f, 0.74f, 0.16f, 0.43f, 0.37f, 0.88f};
  const int64_t three_targets[6] = {2, 2, 2, 2, 1, 0};
  const float labels[18] = {0.1f,  0.73f, 0.84f, 0.84f, 0.74f, 0.24f, 0.13f, 0.54f, 0.54f,
                            0.49f, 0.48f, 0.71f, 0.9f,  0.17f, 0.43f, 0.11f, 0.29f, 0.23f};
  const int64_t labels_targets[18] = {1, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 1, 0};
  const BurnAucPrConfig mean = {false}, joint = {true};
  const MetricData binary_data = {one, {1, {1}}, one_targets, ONE_NUMBER, 6};
  const MetricData class_data = {three, {1, {3}}, three_targets, ONE_NUMBER, 6};
  const MetricData label_data = {labels, {1, {3}}, labels_targets, {1, {3}}, 6};
  assert_metric(*state, &binary_data, false, burn_metric_auc_pr(&mean), 0.2, 1e-15);
  assert_metric(*state, &binary_data, false, burn_metric_auc_pr(&joint), 0.2, 1e-15);
  assert_metric(*state, &class_data, false, burn_metric_auc_pr(&mean), 0.6319444444444444, 1e-15);
  assert_metric(*state, &class_data, false, burn_metric_auc_pr(&joint), 0.37997557997558, 1e-14);
  assert_metric(*state, &label_data, false, burn_metric_auc_pr(&mean), 0.5944444444444444, 1e-15);
}

/* Equal scores are one threshold: of four rows with one score half are right, at any recall. A class without rows does
 * not count. The manual of scikit-learn has 0.83 for its example. */
static void thresholds_of_average_precision(void **state) {
  const BurnAucPrConfig mean = {false};
  const float equal[4] = {0.5f, 0.5f, 0.5f, 0.5f}, manual[4] = {0.1f, 0.4f, 0.35f, 0.8f};
  const int64_t half[4] = {1, 0, 0, 1}, last[4] = {0, 0, 1, 1}, none[4] = {0, 0, 0, 0};
  MetricData data = {equal, {1, {1}}, half, ONE_NUMBER, 4};
  assert_metric(*state, &data, false, burn_metric_auc_pr(&mean), 0.5, 0);
  data.targets = none;
  assert_metric(*state, &data, false, burn_metric_auc_pr(&mean), 0.5, 0);
  data.output = manual;
  data.targets = last;
  assert_metric(*state, &data, false, burn_metric_auc_pr(&mean), 0.5 + 0.5 * 2 / 3, 1e-15);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(areas_of_burn),
      cmocka_unit_test(classes_of_one_kind_do_not_count),
      cmocka_unit_test(ties_count_half),
      cmocka_unit_test(average_precision_of_burn),
      cmocka_unit_test(thresholds_of_average_precision),
  };
  return cmocka_run_group_tests_name("metric_auroc", tests, open_device, close_device);
}
