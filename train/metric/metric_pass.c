/* metric_pass.c - see metric_pass.h. The numbers of a step stay on the device until those of `interval` steps are
 * there, a window; then their reads are started, and those of the window before are finished. Who wants to see the
 * numbers up to date waits for both. Sums are made on the host in f64, because the logs need the numbers of every batch
 * anyway, and sums in f32 would lose digits over an epoch. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learner_internal.h"

BurnStatus burn__metrics_begin(BurnMetricPass *pass, size_t interval) {
  pass->interval = interval ? interval : BURN_READ_INTERVAL;
  pass->measured_at = burn__seconds();
  pass->filling.steps = calloc(pass->interval, sizeof *pass->filling.steps);
  pass->started.steps = calloc(pass->interval, sizeof *pass->started.steps);
  if (pass->filling.steps && pass->started.steps) return BURN_OK;
  burn__metrics_end(pass, false);
  return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "learner: out of memory for the numbers of %zu steps",
                          pass->interval);
}

static size_t elements_of(const BurnTensor *x) { return (size_t)burn_element_count(x); }

/* -- a step ----------------------------------------------------------------------------------- */

static void step_drop(const BurnMetricPass *pass, BurnPendingStep *step) {
  for (size_t i = 0; i < pass->set->count; i++) {
    burn_drop(step->measured[i].numbers);
    burn_read_drop(step->reads[i]);
  }
  *step = (BurnPendingStep){0};
}

static void window_drop(const BurnMetricPass *pass, BurnMetricWindow *window) {
  for (size_t s = 0; s < window->count; s++) step_drop(pass, &window->steps[s]);
  window->count = 0;
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

static BurnStatus append(BurnMetricState *state, const double *numbers, size_t count, double weight) {
  const bool fits = count < (size_t)PTRDIFF_MAX / sizeof *numbers - state->count;
  double *grown = fits ? realloc(state->numbers, (state->count + count + 1) * sizeof *grown) : NULL;
  if (!grown) {
    return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "learner: out of memory for %zu numbers of a metric",
                            state->count + count);
  }
  memcpy(grown + state->count, numbers, count * sizeof *numbers);
  state->numbers = grown;
  state->count += count;
  state->weight += weight;
  state->appended = true;
  return BURN_OK;
}

static bool logs(const BurnMetricPass *pass) { return pass->log_status == BURN_OK && (pass->file || pass->logger.log); }

/* The first failure of a log is reported at once; then nothing more is logged in this pass. */
static void tell(BurnMetricPass *pass, size_t metric, size_t batch, double value, double weight, bool final) {
  const BurnMetric *item = &pass->set->items[metric];
  const BurnLogEntry entry = {.split = pass->split,
                              .epoch = pass->epoch,
                              .batch = batch,
                              .metric = burn__metric_name(item),
                              .unit = item->table->unit ? item->table->unit : "",
                              .value = value * burn__metric_scale(item),
                              .weight = weight,
                              .final = final,
                              .batches = pass->batches};
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
  if (item->table->reduce) count = item->table->reduce(item->config, numbers, count, measured->weight);
  if (logs(pass)) {
    tell(pass, metric, step->batch, value_of(item, numbers, count, measured->weight), measured->weight, false);
  }
  if (measured->append) return append(&pass->states[metric], numbers, count, measured->weight);
  return add_up(item, &pass->states[metric], numbers, count, measured->weight);
}

/* The numbers of the step begin at *numbers, which moves on. */
static BurnStatus fold_step(BurnMetricPass *pass, BurnPendingStep *step, double **numbers) {
  BurnStatus status = BURN_OK;
  for (size_t i = 0; i < pass->set->count && status == BURN_OK; i++) {
    BurnMeasured *measured = &step->measured[i];
    const size_t count = step->counts[i];
    double *values = count ? *numbers : &measured->number;
    *numbers += count;
    if (measured->weight > 0) status = fold(pass, step, i, values, count ? count : 1);
  }
  return status;
}

/* -- reading ---------------------------------------------------------------------------------- */

static void window_start(const BurnMetricPass *pass, BurnMetricWindow *window) {
  for (size_t s = 0; s < window->count; s++) {
    BurnPendingStep *step = &window->steps[s];
    for (size_t i = 0; i < pass->set->count; i++) {
      if (step->counts[i] > 0) step->reads[i] = burn_read_start(step->measured[i].numbers);
      step->measured[i].numbers = NULL;
    }
  }
}

static bool window_ready(const BurnMetricPass *pass, const BurnMetricWindow *window) {
  for (size_t s = 0; s < window->count; s++) {
    for (size_t i = 0; i < pass->set->count; i++) {
      if (!burn_read_ready(window->steps[s].reads[i])) return false;
    }
  }
  return true;
}

/* The elements of all tensors of a window, one after the other. The last one comes first: when it is there, so are the
 * others, and the device was waited for once. */
static BurnStatus window_read(const BurnMetricPass *pass, BurnMetricWindow *window, double *end) {
  BurnStatus status = BURN_OK;
  for (size_t s = window->count; s-- > 0;) {
    BurnPendingStep *step = &window->steps[s];
    for (size_t i = pass->set->count; i-- > 0 && status == BURN_OK;) {
      const size_t count = step->counts[i];
      end -= count;
      if (count > 0) status = burn_read_finish_f64(step->reads[i], end, count);
      step->reads[i] = NULL;
    }
  }
  return burn_status_annotate(status, "numbers of batches %zu to %zu", window->steps[0].batch,
                              window->steps[window->count - 1].batch);
}

static size_t window_elements(const BurnMetricPass *pass, const BurnMetricWindow *window) {
  size_t elements = 0;
  for (size_t s = 0; s < window->count; s++) {
    for (size_t i = 0; i < pass->set->count; i++) elements += window->steps[s].counts[i];
  }
  return elements;
}

/* Waits for a window whose reads are started, and adds it up; leaves it empty. */
static BurnStatus window_finish(BurnMetricPass *pass, BurnMetricWindow *window) {
  if (window->count == 0) return BURN_OK;
  const size_t elements = window_elements(pass, window);
  double *const numbers = calloc(elements + 1, sizeof *numbers), *next = numbers;
  BurnStatus status = numbers ? window_read(pass, window, numbers + elements)
                              : burn_status_make(BURN_STATUS_OUT_OF_MEMORY,
                                                 "learner: out of memory for %zu numbers of metrics", elements);
  for (size_t s = 0; s < window->count && status == BURN_OK; s++) status = fold_step(pass, &window->steps[s], &next);
  free(numbers);
  window_drop(pass, window);
  return status;
}

/* Starts the reads of the window that was filled before anybody waits for the one before it. */
static BurnStatus window_turn(BurnMetricPass *pass) {
  const BurnMetricWindow before = pass->started;
  window_start(pass, &pass->filling);
  pass->started = pass->filling;
  pass->filling = before;
  const BurnStatus status = window_finish(pass, &pass->filling);
  const bool wanted = pass->interval == 1 || window_ready(pass, &pass->started); /* 1: the user wants to wait */
  return status == BURN_OK && wanted ? window_finish(pass, &pass->started) : status;
}

BurnStatus burn__metrics_read(BurnMetricPass *pass) {
  const BurnStatus status = window_turn(pass);
  return status == BURN_OK ? window_finish(pass, &pass->started) : status;
}

BurnStatus burn__metrics_add(BurnMetricPass *pass, size_t batch, const BurnMetricInput *input) {
  BurnPendingStep *step = &pass->filling.steps[pass->filling.count++];
  BurnStatus status = BURN_OK;
  BurnMetricInput timed = *input;
  const double now = burn__seconds();
  timed.seconds = now - pass->measured_at;
  pass->measured_at = now;
  step->batch = pass->last_batch = batch;
  for (size_t i = 0; i < pass->set->count && status == BURN_OK; i++) {
    const BurnMetric *metric = &pass->set->items[i];
    BurnMeasured *measured = &step->measured[i];
    *measured = metric->table->measure(metric->config, &timed);
    if (!measured->numbers) continue;
    measured->numbers = burn_scope_keep(NULL, measured->numbers);
    step->counts[i] = elements_of(measured->numbers);
    status = burn_tensor_status(measured->numbers);
    if (status == BURN_OK && step->counts[i] == 0) {
      status =
          burn_status_make(BURN_STATUS_INVALID_SHAPE, "metric %s: a tensor of no numbers", burn__metric_name(metric));
    }
  }
  if (status != BURN_OK) {
    step_drop(pass, step);
    pass->filling.count--;
  }
  return status == BURN_OK && pass->filling.count == pass->interval ? window_turn(pass) : status;
}

/* -- the values ------------------------------------------------------------------------------- */

static double total(const BurnMetricPass *pass, size_t metric) {
  const BurnMetricState *state = &pass->states[metric];
  if (state->weight <= 0) return (double)NAN;
  return value_of(&pass->set->items[metric], state->numbers, state->count, state->weight);
}

void burn__metrics_result(const BurnMetricPass *pass, BurnEpochResult *result, bool end) {
  for (size_t i = 0; i < pass->set->count; i++) {
    const bool wanted = end || !pass->states[i].appended;
    result->metrics[i].values[pass->split] = wanted ? total(pass, i) : (double)NAN;
  }
}

void burn__metrics_end(BurnMetricPass *pass, bool complete) {
  window_drop(pass, &pass->filling);
  window_drop(pass, &pass->started);
  free(pass->filling.steps);
  free(pass->started.steps);
  pass->filling = pass->started = (BurnMetricWindow){NULL, 0};
  for (size_t i = 0; i < pass->set->count && complete; i++) {
    const BurnMetricState *state = &pass->states[i];
    if (state->weight > 0 && logs(pass)) {
      tell(pass, i, pass->last_batch, total(pass, i), state->weight, true);
    }
  }
}
