/* metric_pass.c - see metric_pass.h. The numbers of a step stay on the device until those of `interval` steps are
 * there, or somebody wants to see them; then one burn_read_all gets all of them. Sums are made on the host in f64,
 * because the logs need the numbers of every batch anyway, and sums in f32 would lose digits over an epoch. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learner_internal.h"

BurnStatus burn__metrics_begin(BurnMetricPass *pass, size_t interval) {
  pass->interval = interval ? interval : BURN_READ_INTERVAL;
  pass->pending = calloc(pass->interval, sizeof *pass->pending);
  if (pass->pending) return BURN_OK;
  return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "learner: out of memory for the numbers of %zu steps",
                          pass->interval);
}

static size_t elements_of(const BurnTensor *x) { return (size_t)burn_element_count(x); }

/* -- a step ----------------------------------------------------------------------------------- */

static void step_drop(const BurnMetricPass *pass, BurnPendingStep *step) {
  for (size_t i = 0; i < pass->set->count; i++) burn_drop(step->measured[i].numbers);
  *step = (BurnPendingStep){0};
}

/* Numbers of a dtype that unpack knows. Takes x. */
static BurnTensor *readable(BurnTensor *x) {
  const BurnDType dtype = burn_dtype(x);
  if (dtype == BURN_DTYPE_F32 || dtype == BURN_DTYPE_F64 || dtype == BURN_DTYPE_I32 || dtype == BURN_DTYPE_I64)
    return x;
  return burn_cast(x, burn_dtype_kind(dtype) == BURN_KIND_FLOAT ? BURN_DTYPE_F32 : BURN_DTYPE_I64);
}

BurnStatus burn__metrics_add(BurnMetricPass *pass, size_t batch, const BurnMetricInput *input) {
  BurnPendingStep *step = &pass->pending[pass->pending_count++];
  BurnStatus status = BURN_OK;
  step->batch = pass->last_batch = batch;
  for (size_t i = 0; i < pass->set->count && status == BURN_OK; i++) {
    const BurnMetric *metric = &pass->set->items[i];
    BurnMeasured *measured = &step->measured[i];
    *measured = metric->table->measure(metric->config, input);
    if (!measured->numbers) continue;
    measured->numbers = burn_scope_keep(NULL, readable(measured->numbers));
    step->counts[i] = elements_of(measured->numbers);
    status = burn_tensor_status(measured->numbers);
    if (status == BURN_OK && step->counts[i] == 0) {
      status =
          burn_status_make(BURN_STATUS_INVALID_SHAPE, "metric %s: a tensor of no numbers", burn__metric_name(metric));
    }
  }
  if (status != BURN_OK) {
    step_drop(pass, step);
    pass->pending_count--;
  }
  return status == BURN_OK && pass->pending_count == pass->interval ? burn__metrics_read(pass) : status;
}

/* -- reading ---------------------------------------------------------------------------------- */

/* All tensors that are pending, and where their elements go: `bytes` of each, from malloc. */
typedef struct Reading {
  size_t count;
  BurnTensor **tensors;
  BurnDType *dtypes;
  void **data;
  size_t *bytes;
  uint64_t *raw;   /* a place of 8 bytes for each element */
  double *numbers; /* the same elements */
} Reading;

static void reading_free(Reading *reading) {
  free(reading->tensors);
  free(reading->dtypes);
  free(reading->data);
  free(reading->bytes);
  free(reading->raw);
  free(reading->numbers);
}

static bool reading_make(Reading *reading, size_t tensors, size_t elements) {
  *reading = (Reading){.tensors = calloc(tensors + 1, sizeof *reading->tensors),
                       .dtypes = calloc(tensors + 1, sizeof *reading->dtypes),
                       .data = calloc(tensors + 1, sizeof *reading->data),
                       .bytes = calloc(tensors + 1, sizeof *reading->bytes),
                       .raw = calloc(elements + 1, sizeof *reading->raw),
                       .numbers = calloc(elements + 1, sizeof *reading->numbers)};
  return reading->tensors && reading->dtypes && reading->data && reading->bytes && reading->raw && reading->numbers;
}

/* Moves the pending tensors into the reading. */
static BurnStatus collect(BurnMetricPass *pass, Reading *reading) {
  size_t tensors = 0, elements = 0, used = 0;
  for (size_t s = 0; s < pass->pending_count; s++) {
    for (size_t i = 0; i < pass->set->count; i++) {
      tensors += pass->pending[s].counts[i] > 0;
      elements += pass->pending[s].counts[i];
    }
  }
  if (!reading_make(reading, tensors, elements)) {
    return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "learner: out of memory for %zu numbers of metrics", elements);
  }
  for (size_t s = 0; s < pass->pending_count; s++) {
    for (size_t i = 0; i < pass->set->count; i++) {
      BurnTensor *x = pass->pending[s].measured[i].numbers;
      if (!x) continue;
      const size_t place = reading->count++;
      reading->tensors[place] = x;
      reading->dtypes[place] = burn_dtype(x);
      reading->bytes[place] = elements_of(x) * burn_dtype_bytes(burn_dtype(x));
      reading->data[place] = reading->raw + used;
      used += elements_of(x);
      pass->pending[s].measured[i].numbers = NULL;
    }
  }
  return BURN_OK;
}

/* The `count` elements of tensor `place` as doubles. */
static double *unpack(const Reading *reading, size_t place, size_t count) {
  const void *data = reading->data[place];
  const BurnDType dtype = reading->dtypes[place];
  double *numbers = reading->numbers + ((const uint64_t *)data - reading->raw);
  for (size_t i = 0; i < count; i++) {
    if (dtype == BURN_DTYPE_F32) numbers[i] = (double)((const float *)data)[i];
    if (dtype == BURN_DTYPE_F64) numbers[i] = ((const double *)data)[i];
    if (dtype == BURN_DTYPE_I32) numbers[i] = (double)((const int32_t *)data)[i];
    if (dtype == BURN_DTYPE_I64) numbers[i] = (double)((const int64_t *)data)[i];
  }
  return numbers;
}

/* -- adding up -------------------------------------------------------------------------------- */

static double value_of(const BurnMetric *metric, const double *numbers, size_t count, double weight) {
  const BurnMetricInterface *table = metric->table;
  if (table->value) return table->value(metric->config, numbers, count, weight);
  return count > 0 && weight > 0 ? numbers[0] / weight : (double)NAN;
}

static BurnStatus add_up(const BurnMetric *metric, BurnMetricState *state, const double *numbers, size_t count,
                         double weight) {
  if (!state->numbers) {
    state->numbers = calloc(count + 1, sizeof *state->numbers);
    if (!state->numbers) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "learner: out of memory for a metric");
    state->count = count;
  }
  if (state->count != count) {
    return burn_status_make(BURN_STATUS_INVALID_SHAPE, "metric %s: %zu numbers, after steps with %zu",
                            burn__metric_name(metric), count, state->count);
  }
  for (size_t i = 0; i < count; i++) state->numbers[i] += numbers[i];
  state->weight += weight;
  return BURN_OK;
}

static bool logs(const BurnMetricPass *pass) { return pass->log_status == BURN_OK && (pass->file || pass->logger.log); }

/* The first failure of a log is told at once; then nothing more is logged in this pass. */
static void tell(BurnMetricPass *pass, size_t metric, size_t batch, double value, double weight, bool final) {
  const BurnMetricInterface *table = pass->set->items[metric].table;
  const BurnLogEntry entry = {.split = pass->split,
                              .epoch = pass->epoch,
                              .batch = batch,
                              .metric = burn__metric_name(&pass->set->items[metric]),
                              .unit = table->unit ? table->unit : "",
                              .value = value * table->scale,
                              .weight = weight,
                              .final = final};
  BurnStatus status = pass->file ? burn__file_log(pass->file, metric, &entry) : BURN_OK;
  if (status == BURN_OK && pass->logger.log) status = pass->logger.log(pass->logger.context, &entry);
  if (status != BURN_OK) burn__train_warn("%s", burn_status_message(status));
  pass->log_status = status;
}

/* One metric of one step: to the logs, and into the sums. */
static BurnStatus fold(BurnMetricPass *pass, const BurnPendingStep *step, size_t metric, double *numbers,
                       size_t count) {
  const BurnMetric *item = &pass->set->items[metric];
  const BurnMeasured *measured = &step->measured[metric];
  if (metric == 0 && count > 0 && !isfinite(numbers[0]) && !pass->bad_batch) {
    pass->bad_batch = step->batch;
    pass->bad_loss = numbers[0];
  }
  for (size_t i = 0; i < count && measured->mean; i++) numbers[i] *= measured->weight;
  if (logs(pass)) {
    tell(pass, metric, step->batch, value_of(item, numbers, count, measured->weight), measured->weight, false);
  }
  return add_up(item, &pass->states[metric], numbers, count, measured->weight);
}

/* The tensors of the step begin at *place, which moves on. */
static BurnStatus fold_step(BurnMetricPass *pass, BurnPendingStep *step, const Reading *reading, size_t *place) {
  BurnStatus status = BURN_OK;
  for (size_t i = 0; i < pass->set->count && status == BURN_OK; i++) {
    BurnMeasured *measured = &step->measured[i];
    const size_t count = step->counts[i];
    double *numbers = count ? unpack(reading, (*place)++, count) : &measured->number;
    if (measured->weight > 0) status = fold(pass, step, i, numbers, count ? count : 1);
  }
  return status;
}

BurnStatus burn__metrics_read(BurnMetricPass *pass) {
  if (pass->pending_count == 0) return BURN_OK;
  Reading reading;
  size_t place = 0;
  BurnStatus status = collect(pass, &reading);
  if (status == BURN_OK && reading.count > 0) {
    status = burn_read_all(reading.tensors, reading.data, reading.bytes, reading.count);
    status = burn_status_annotate(status, "numbers of batches %zu to %zu", pass->pending[0].batch, pass->last_batch);
  }
  for (size_t s = 0; s < pass->pending_count; s++) {
    if (status == BURN_OK) status = fold_step(pass, &pass->pending[s], &reading, &place);
    step_drop(pass, &pass->pending[s]);
  }
  pass->pending_count = 0;
  reading_free(&reading);
  return status;
}

/* -- the values ------------------------------------------------------------------------------- */

static double total(const BurnMetricPass *pass, size_t metric) {
  const BurnMetricState *state = &pass->states[metric];
  if (state->weight <= 0) return (double)NAN;
  return value_of(&pass->set->items[metric], state->numbers, state->count, state->weight);
}

void burn__metrics_result(const BurnMetricPass *pass, BurnEpochResult *result) {
  for (size_t i = 0; i < pass->set->count; i++) result->metrics[i].values[pass->split] = total(pass, i);
}

void burn__metrics_end(BurnMetricPass *pass, bool complete) {
  for (size_t s = 0; s < pass->pending_count; s++) step_drop(pass, &pass->pending[s]);
  free(pass->pending);
  pass->pending = NULL;
  pass->pending_count = 0;
  for (size_t i = 0; i < pass->set->count && complete; i++) {
    const BurnMetricState *state = &pass->states[i];
    if (state->weight > 0 && logs(pass)) {
      tell(pass, i, pass->last_batch, total(pass, i), state->weight, true);
    }
  }
}
