/* metric_confusion_test.c - the cases of Burn's PrecisionMetric, RecallMetric and HammingScore (burn-train,
 * metric/precision.rs, recall.rs, hamming.rs), and a table of targets and predictions. */
#include "metric_evaluate.h"

enum { ROWS = 5, CLASSES = 3 };

static const float binary[ROWS] = {0.3f, 0.2f, 0.7f, 0.1f, 0.55f};
static const int64_t binary_targets[ROWS] = {0, 1, 0, 0, 1};
static const float multiclass[ROWS * CLASSES] = {0.2f,  0.8f, 0.0f,  0.3f, 0.6f, 0.1f,  0.7f, 0.25f,
                                                 0.05f, 0.1f, 0.15f, 0.8f, 0.9f, 0.03f, 0.07f};
static const int64_t multiclass_targets[ROWS] = {1, 0, 2, 2, 0};
static const float multilabel[ROWS * CLASSES] = {0.1f, 0.7f, 0.6f, 0.3f, 0.9f, 0.05f, 0.8f, 0.9f,
                                                 0.4f, 0.7f, 0.5f, 0.9f, 1.0f, 0.3f,  0.2f};
static const int64_t multilabel_targets[ROWS * CLASSES] = {1, 1, 0, 1, 0, 1, 1, 1, 1, 0, 0, 1, 1, 0, 0};

static const MetricData of_binary = {binary, {1, {1}}, binary_targets, ONE_NUMBER, ROWS};
static const MetricData of_classes = {multiclass, {1, {CLASSES}}, multiclass_targets, ONE_NUMBER, ROWS};
static const MetricData of_labels = {multilabel, {1, {CLASSES}}, multilabel_targets, {1, {CLASSES}}, ROWS};

/* {top_k, threshold, micro}, and what Burn's tests expect. */
static void scores_of_burn(void **state) {
  const struct {
    const MetricData *data;
    BurnConfusionConfig config;
    double precision, recall;
  } cases[] = {
      {&of_binary, {0, 0.5, false}, 0.5, 0.5},
      {&of_classes, {1, 0, true}, 3.0 / 5, 3.0 / 5},
      {&of_classes, {2, 0, true}, 4.0 / 10, 4.0 / 5},
      {&of_classes, {1, 0, false}, (0.5 + 0.5 + 1) / 3, (0.5 + 1 + 0.5) / 3},
      {&of_classes, {2, 0, false}, (0.5 + 0.25 + 0.5) / 3, (1 + 1 + 0.5) / 3},
      {&of_labels, {0, 0.5, true}, 5.0 / 8, 5.0 / 9},
      {&of_labels, {0, 0.5, false}, (2.0 / 3 + 2.0 / 3 + 0.5) / 3, (0.5 + 1 + 1.0 / 3) / 3},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    assert_metric(*state, cases[i].data, false, burn_metric_precision(&cases[i].config), cases[i].precision, 1e-14);
    assert_metric(*state, cases[i].data, false, burn_metric_recall(&cases[i].config), cases[i].recall, 1e-14);
  }
}

/* Classes that nobody predicted, or that are not there, count with 0. */
static void classes_without_items_count(void **state) {
  const float output[2 * CLASSES] = {0, 1, 0, 0, 1, 0};
  const int64_t targets[2] = {1, 1};
  const MetricData data = {output, {1, {CLASSES}}, targets, ONE_NUMBER, 2};
  const BurnConfusionConfig config = BurnConfusionConfig_defaults();
  assert_true(config.top_k == 1 && config.threshold == 0.5 && !config.micro);
  assert_metric(*state, &data, false, burn_metric_precision(&config), 1.0 / 3, 1e-15);
  assert_metric(*state, &data, false, burn_metric_recall(&config), 1.0 / 3, 1e-15);
}

static void what_does_not_fit_is_refused(void **state) {
  const BurnConfusionConfig four = {4, 0, false}, usual = BurnConfusionConfig_defaults();
  MetricData bad = of_classes;
  assert_metric_refused(*state, &bad, false, burn_metric_precision(&four), BURN_STATUS_INVALID_ARGUMENT,
                        "precision: top_k 4: 0 to 3 classes expected");
  bad.targets_shape = (BurnShape){1, {1}};
  assert_metric_refused(*state, &bad, false, burn_metric_recall(&usual), BURN_STATUS_INVALID_SHAPE,
                        "recall: output of rank 2 with 1 rows and targets of rank 2 with 1");
}

static void hamming_scores_of_burn(void **state) {
  enum { LABELS = 5, ITEMS = 4 };
  const float x[ITEMS * LABELS] = {0.32f, 0.52f, 0.38f, 0.68f, 0.61f, 0.43f, 0.31f, 0.21f, 0.63f, 0.53f,
                                   0.44f, 0.25f, 0.71f, 0.39f, 0.73f, 0.49f, 0.37f, 0.68f, 0.39f, 0.31f};
  const int64_t right[ITEMS * LABELS] = {0, 1, 0, 1, 1, 0, 0, 0, 1, 1, 0, 0, 1, 0, 1, 0, 0, 1, 0, 0};
  const int64_t five_wrong[ITEMS * LABELS] = {0, 1, 1, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 1, 1, 0, 0};
  const BurnHammingScoreConfig usual = BurnHammingScoreConfig_defaults();
  MetricData data = {x, {1, {LABELS}}, right, {1, {LABELS}}, ITEMS};
  assert_metric(*state, &data, false, burn_metric_hamming_score(&usual), 1, 0);
  data.targets = five_wrong;
  assert_metric(*state, &data, false, burn_metric_hamming_score(&usual), 0.75, 1e-15);
  /* All are above 0.5 after a sigmoid: the share of ones in the targets. */
  const BurnHammingScoreConfig sigmoid = {0.5, true};
  assert_metric(*state, &data, false, burn_metric_hamming_score(&sigmoid), 7.0 / 20, 1e-15);
  data.targets_shape = (BurnShape){1, {1}};
  assert_metric_refused(*state, &data, false, burn_metric_hamming_score(&usual), BURN_STATUS_INVALID_SHAPE,
                        "hamming_score: output [1,5] and targets [1,1]");
}

/* Row by row: 1 is seen as 1, 0 as 1, 2 as 0, 2 as 2, 0 as 0. */
static void pairs_are_counted(void **state) {
  BurnTensor *output = burn_tensor_f32(*state, multiclass, BURN_SHAPE(ROWS, CLASSES));
  BurnTensor *targets = burn_tensor_i64(*state, multiclass_targets, BURN_SHAPE(ROWS));
  BurnTensor *matrix = burn_cast(burn_confusion_matrix(output, targets), BURN_DTYPE_I64);
  const int64_t expected[CLASSES * CLASSES] = {1, 1, 0, 0, 1, 0, 1, 0, 1};
  int64_t counts[CLASSES * CLASSES] = {0};
  assert_true(burn_rank(matrix) == 2 && burn_dim(matrix, 0) == CLASSES && burn_dim(matrix, 1) == CLASSES);
  check_status(burn_read(matrix, counts, sizeof counts));
  assert_memory_equal(counts, expected, sizeof counts);

  output = burn_tensor_f32(*state, multiclass, BURN_SHAPE(ROWS, CLASSES));
  targets = burn_tensor_i64(*state, multiclass_targets, BURN_SHAPE(ROWS - 1));
  matrix = burn_confusion_matrix(output, targets);
  assert_int_equal(burn_status_code(burn_tensor_status(matrix)), BURN_STATUS_INVALID_SHAPE);
  burn_drop(matrix);
  output = burn_tensor_f32(*state, multiclass, BURN_SHAPE(ROWS, CLASSES));
  matrix = burn_confusion_matrix(output, burn_tensor_f32(*state, multiclass, BURN_SHAPE(ROWS)));
  assert_int_equal(burn_status_code(burn_tensor_status(matrix)), BURN_STATUS_INVALID_DTYPE);
  burn_drop(matrix);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(scores_of_burn),
      cmocka_unit_test(classes_without_items_count),
      cmocka_unit_test(what_does_not_fit_is_refused),
      cmocka_unit_test(hamming_scores_of_burn),
      cmocka_unit_test(pairs_are_counted),
  };
  return cmocka_run_group_tests_name("metric_confusion", tests, open_device, close_device);
}
