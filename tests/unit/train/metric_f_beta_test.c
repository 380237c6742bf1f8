/* metric_f_beta_test.c - the cases of Burn's FBetaScore (burn-train, metric/fbetascore.rs, on its
 * dummy_classification_input), in batches of every size: the score is of all items, however they come. */
#include "status_testing.h"

#include <burn/train.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { ROWS = 5, CLASSES = 3 };

static const float binary[ROWS] = {0.3f, 0.2f, 0.7f, 0.1f, 0.55f};
static const int64_t binary_targets[ROWS] = {0, 1, 0, 0, 1};
static const float multiclass[ROWS * CLASSES] = {0.2f,  0.8f, 0.0f,  0.3f, 0.6f, 0.1f,  0.7f, 0.25f,
                                                 0.05f, 0.1f, 0.15f, 0.8f, 0.9f, 0.03f, 0.07f};
static const int64_t multiclass_targets[ROWS] = {1, 0, 2, 2, 0};
static const float multilabel[ROWS * CLASSES] = {0.1f, 0.7f, 0.6f, 0.3f, 0.9f, 0.05f, 0.8f, 0.9f,
                                                 0.4f, 0.7f, 0.5f, 0.9f, 1.0f, 0.3f,  0.2f};
static const int64_t multilabel_targets[ROWS * CLASSES] = {1, 1, 0, 1, 0, 1, 1, 1, 1, 0, 0, 1, 1, 0, 0};

typedef struct Case {
  const float *output;
  const int64_t *targets;
  int64_t columns, target_columns; /* 0: targets [n] */
  BurnFBetaConfig config;
  double expected;
} Case;

#define BINARY binary, binary_targets, 1, 0
#define MULTICLASS multiclass, multiclass_targets, CLASSES, 0
#define MULTILABEL multilabel, multilabel_targets, CLASSES, CLASSES

/* {beta, top_k, threshold, micro}, and what Burn's tests expect. */
static const Case cases[] = {
    {BINARY, {1, 0, 0.5, false}, 0.5},
    {BINARY, {2, 0, 0.5, false}, 0.5},
    {MULTICLASS, {1, 1, 0, true}, 3.0 / 5.0},
    {MULTICLASS, {1, 2, 0, true}, 2.0 / (5.0 / 4.0 + 10.0 / 4.0)},
    {MULTICLASS, {1, 1, 0, false}, (0.5 + 2.0 / (1.0 + 2.0) + 2.0 / (2.0 + 1.0)) / 3.0},
    {MULTICLASS, {1, 2, 0, false}, (2.0 / (1.0 + 2.0) + 2.0 / (1.0 + 4.0) + 0.5) / 3.0},
    {MULTICLASS, {2, 1, 0, true}, 3.0 / 5.0},
    {MULTICLASS, {2, 2, 0, true}, 5.0 * 4.0 / (4.0 * 5.0 + 10.0)},
    {MULTICLASS, {2, 1, 0, false}, (0.5 + 5.0 / (4.0 + 2.0) + 5.0 / (8.0 + 1.0)) / 3.0},
    {MULTICLASS, {2, 2, 0, false}, (5.0 / (4.0 + 2.0) + 5.0 / (4.0 + 4.0) + 0.5) / 3.0},
    {MULTILABEL, {1, 0, 0.5, true}, 2.0 / (9.0 / 5.0 + 8.0 / 5.0)},
    {MULTILABEL, {1, 0, 0.5, false}, (2.0 / (2.0 + 3.0 / 2.0) + 2.0 / (1.0 + 3.0 / 2.0) + 2.0 / (3.0 + 2.0)) / 3.0},
    {MULTILABEL, {2, 0, 0.5, true}, 5.0 / (4.0 * 9.0 / 5.0 + 8.0 / 5.0)},
    {MULTILABEL, {2, 0, 0.5, false}, (5.0 / (8.0 + 3.0 / 2.0) + 5.0 / (4.0 + 3.0 / 2.0) + 5.0 / (12.0 + 2.0)) / 3.0},
};

/* The "model" says what the data say. */
static BurnStepOutput step(void *context, const void *module, BurnBatch *batch) {
  (void)context;
  (void)module;
  BurnTensor *output = burn_batch_take(batch, "output");
  return burn_classification_output(burn_mean(burn_clone(output)), output, burn_batch_take(batch, "targets"));
}

static BurnShape shape_of(int64_t columns) { return columns ? (BurnShape){1, {columns}} : (BurnShape){0, {0}}; }

static BurnStatus evaluate(BurnDevice *device, const Case *with, size_t count, size_t batch_size, double *value) {
  const BurnColumn columns[] = {{"output", BURN_DTYPE_F32, shape_of(with->columns)},
                                {"targets", BURN_DTYPE_I64, shape_of(with->target_columns)}};
  const void *data[] = {with->output, with->targets};
  const BurnMetric metric = burn_metric_f_beta(&with->config);
  const BurnMetricList metrics = {&metric, 1};
  const BurnTask task = {step, NULL};
  BurnStatus status = BURN_OK;
  BurnEpochResult result;
  BurnDataset *dataset = burn_dataset_memory(columns, 2, data, count, &status);
  BurnLoader *loader = burn_loader_create(dataset, &(BurnLoaderConfig){.batch_size = batch_size}, &status);
  check_status(status);
  status = burn_learner_evaluate(&task, device, (BurnModule){NULL, NULL}, loader, &metrics, &result);
  *value = burn_epoch_metric(&result, "FBetaScore", BURN_SPLIT_VALID);
  burn_loader_destroy(loader);
  return status;
}

static void scores_of_burn(void **state) {
  BurnDevice *device = *state;
  for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
    for (size_t batch_size = 1; batch_size <= ROWS; batch_size++) {
      double value = -1;
      check_status(evaluate(device, &cases[c], ROWS, batch_size, &value));
      if (!(fabs(value - cases[c].expected) < 1e-14)) {
        fail_msg("case %zu, batches of %zu: %.17g, expected %.17g", c, batch_size, value, cases[c].expected);
      }
    }
  }
}

/* Two rows of class 1, both seen: the other classes have nothing to divide by, and do not count. */
static void classes_without_items_do_not_count(void **state) {
  const float output[2 * CLASSES] = {0, 1, 0, 0, 1, 0};
  const int64_t targets[2] = {1, 1}, none[2 * CLASSES] = {0};
  const Case one = {output, targets, CLASSES, 0, {1, 1, 0, false}, 1};
  const Case nothing = {output, none, CLASSES, CLASSES, {1, 0, 2, false}, 0};
  double value = -1;
  check_status(evaluate(*state, &one, 2, 2, &value));
  assert_true(value == 1);
  check_status(evaluate(*state, &nothing, 2, 1, &value));
  assert_true(isnan(value));
}

static void what_does_not_fit_is_refused(void **state) {
  Case bad = cases[2];
  double value;
  bad.config.top_k = 4;
  BurnStatus status = evaluate(*state, &bad, ROWS, 2, &value);
  assert_int_equal(burn_status_code(status), BURN_STATUS_INVALID_ARGUMENT);
  assert_non_null(strstr(burn_status_message(status), "top_k 4"));
  bad = cases[2];
  bad.target_columns = 1; /* [n, 1] for three classes */
  status = evaluate(*state, &bad, ROWS, 2, &value);
  assert_int_equal(burn_status_code(status), BURN_STATUS_INVALID_SHAPE);
  const BurnFBetaConfig usual = BurnFBetaConfig_defaults();
  assert_true(usual.beta == 1 && usual.top_k == 1 && usual.threshold == 0.5 && !usual.micro);
}

static int open_device(void **state) {
  *state = burn_device_open("ndarray");
  return burn_device_status(*state) != BURN_OK;
}

static int close_device(void **state) {
  const int64_t alive = burn_device_memory(*state).live_tensors;
  burn_device_close(*state);
  return alive != 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(scores_of_burn),
      cmocka_unit_test(classes_without_items_do_not_count),
      cmocka_unit_test(what_does_not_fit_is_refused),
  };
  return cmocka_run_group_tests_name("metric_f_beta", tests, open_device, close_device);
}
