/* metric_evaluate.h - the value of a metric over data of a test: "output" f32 and "targets" i64, in batches of a size. */
#ifndef BURN_TESTS_METRIC_EVALUATE_H
#define BURN_TESTS_METRIC_EVALUATE_H

#include "status_testing.h"

#include <burn/train.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* Items of a metric; the shapes are those of one item. */
typedef struct MetricData {
  const float *output;
  BurnShape output_shape;
  const int64_t *targets;
  BurnShape targets_shape;
  size_t items;
} MetricData;

#define ONE_NUMBER \
  {                \
    0, { 0 }       \
  }

/* The "model" says what the data say. Data whose output are integers in floats have "predictions", too. */
static inline BurnStepOutput metric_step(void *predicts, const void *module, BurnBatch *batch) {
  (void)module;
  BurnTensor *output = burn_batch_take(batch, "output");
  BurnStepOutput step = {0};
  burn_step_give(&step, "loss", burn_mean(burn_clone(output)));
  burn_step_give(&step, *(bool *)predicts ? "predictions" : "output", *(bool *)predicts ? burn_int(output) : output);
  burn_step_give(&step, "targets", burn_batch_take(batch, "targets"));
  return step;
}

static inline BurnStatus metric_try(BurnDevice *device, const MetricData *data, bool predicts, BurnMetric metric,
                                    size_t batch_size, double *value) {
  const BurnColumn columns[] = {{"output", BURN_DTYPE_F32, data->output_shape},
                                {"targets", BURN_DTYPE_I64, data->targets_shape}};
  const void *items[] = {data->output, data->targets};
  const BurnMetricList metrics = {&metric, 1};
  const BurnTask task = {metric_step, &predicts};
  BurnStatus status = BURN_OK;
  BurnEpochResult result;
  BurnDataset *dataset = burn_dataset_memory(columns, 2, items, data->items, &status);
  BurnLoader *loader = burn_loader_create(dataset, &(BurnLoaderConfig){.batch_size = batch_size}, &status);
  check_status(status);
  status = burn_learner_evaluate(&task, device, (BurnModule){NULL, NULL}, loader, &metrics, &result);
  *value = burn_epoch_metric(&result, metric.table->name, BURN_SPLIT_VALID);
  burn_loader_destroy(loader);
  return status;
}

/* The value is the same however the items come in batches. */
static inline void assert_metric(BurnDevice *device, const MetricData *data, bool predicts, BurnMetric metric,
                                 double expected, double bound) {
  for (size_t batch_size = 1; batch_size <= data->items; batch_size++) {
    double value = -1;
    check_status(metric_try(device, data, predicts, metric, batch_size, &value));
    if (!(fabs(value - expected) <= bound)) {
      fail_msg("%s in batches of %zu: %.17g, expected %.17g", metric.table->name, batch_size, value, expected);
    }
  }
}

static inline void assert_metric_refused(BurnDevice *device, const MetricData *data, bool predicts, BurnMetric metric,
                                         uint32_t code, const char *part) {
  double value;
  const BurnStatus status = metric_try(device, data, predicts, metric, 1, &value);
  assert_int_equal(burn_status_code(status), code);
  if (!strstr(burn_status_message(status), part)) fail_msg("'%s' has no '%s'", burn_status_message(status), part);
}

static inline int open_device(void **state) {
  *state = burn_device_open("ndarray");
  return burn_device_status(*state) != BURN_OK;
}

/* No tensor is left. */
static inline int close_device(void **state) {
  const int64_t alive = burn_device_memory(*state).live_tensors;
  burn_device_close(*state);
  return alive != 0;
}

#endif
