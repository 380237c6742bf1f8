/* metric_set.c - the metrics of a run, and results by their names. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learner_internal.h"
#include "metric_pass.h"

const char *const burn__split_names[BURN_SPLITS] = {"train", "valid", "test"};

const char *burn__metric_name(const BurnMetric *metric) { return metric->name ? metric->name : metric->table->name; }

double burn__metric_scale(const BurnMetric *metric) {
  return metric->table->scale < 0 || metric->table->scale > 0 ? metric->table->scale : 1;
}

static bool listed(const BurnMetricSet *set, const char *name) {
  for (size_t i = 0; i < set->count; i++) {
    if (strcmp(burn__metric_name(&set->items[i]), name) == 0) return true;
  }
  return false;
}

static BurnStatus add(BurnMetricSet *set, const BurnMetric *metric) {
  const BurnMetric loss = burn_metric_loss();
  if (!metric->table || !metric->table->measure) {
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT,
                            "learner: a metric has no table, as where it was made of NULL, or one without measure");
  }
  if (metric->table == loss.table && !metric->name) return BURN_OK; /* the first of every run */
  const char *name = burn__metric_name(metric);
  if (!name || !name[0]) return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "learner: a metric has no name");
  if (listed(set, name)) {
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "learner: two metrics are called %s: give one a name", name);
  }
  if (set->count == BURN_MAX_METRICS) {
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "learner: more than %d metrics", (int)BURN_MAX_METRICS);
  }
  set->items[set->count++] = *metric;
  return BURN_OK;
}

BurnStatus burn__metric_set(BurnMetricSet *set, const BurnMetricList *list) {
  const BurnMetric accuracy = burn_metric_accuracy();
  const BurnMetricList usual = {&accuracy, 1};
  BurnStatus status = BURN_OK;
  if (!list || list->count == 0) list = &usual;
  *set = (BurnMetricSet){.items = {burn_metric_loss()}, .count = 1};
  for (size_t i = 0; i < list->count && status == BURN_OK; i++) status = add(set, &list->items[i]);
  return status;
}

/* All names of a set, for a message. */
static const char *names_of(const BurnMetricSet *set, char *text, size_t bytes) {
  size_t used = 0;
  text[0] = '\0';
  for (size_t i = 0; i < set->count && used < bytes; i++) {
    const int length = snprintf(text + used, bytes - used, "%s%s", i ? ", " : "", burn__metric_name(&set->items[i]));
    used += length > 0 ? (size_t)length : 0;
  }
  return text;
}

BurnStatus burn__watched_check(const BurnWatched *watched, const BurnMetricSet *set, bool validates) {
  char names[256];
  if (!watched->metric || !listed(set, watched->metric)) {
    return burn_status_make(
        BURN_STATUS_INVALID_ARGUMENT, "learner: %s watches the metric '%s', which this run does not have. It has: %s",
        watched->who, watched->metric ? watched->metric : "(NULL)", names_of(set, names, sizeof names));
  }
  if (watched->split == BURN_SPLIT_TRAIN || (watched->split == BURN_SPLIT_VALID && validates)) return BURN_OK;
  return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "learner: %s watches %s of %s data, and this run has none",
                          watched->who, watched->metric, watched->split == BURN_SPLIT_VALID ? "validation" : "test");
}

void burn__metric_states_release(BurnMetricState states[BURN_MAX_METRICS]) {
  for (size_t i = 0; i < BURN_MAX_METRICS; i++) {
    free(states[i].numbers);
    states[i] = (BurnMetricState){0};
  }
}

/* -- results ---------------------------------------------------------------------------------- */

void burn__result_begin(BurnEpochResult *result, const BurnMetricSet *set, size_t epoch) {
  *result = (BurnEpochResult){.epoch = epoch, .metric_count = set->count, .finite = true};
  for (size_t i = 0; i < set->count; i++) {
    const BurnMetricInterface *table = set->items[i].table;
    result->metrics[i] = (BurnMetricResult){burn__metric_name(&set->items[i]),
                                            table->unit ? table->unit : "",
                                            burn__metric_scale(&set->items[i]),
                                            {(double)NAN, (double)NAN, (double)NAN}};
  }
}

void burn__warn_of_no_values(const BurnEpochResult *result) {
  for (size_t i = 0; i < result->metric_count; i++) {
    const BurnMetricResult *metric = &result->metrics[i];
    if (!isnan(metric->values[BURN_SPLIT_TRAIN]) || !isnan(metric->values[BURN_SPLIT_VALID])) continue;
    burn__train_warn("the metric %s has no value in epoch %zu: no step gave it what it measures, or it is not a number",
                     metric->name, result->epoch);
  }
}

double burn_epoch_metric(const BurnEpochResult *result, const char *name, BurnSplit split) {
  for (size_t i = 0; result && name && i < result->metric_count; i++) {
    if (strcmp(result->metrics[i].name, name) == 0) return result->metrics[i].values[split];
  }
  return (double)NAN;
}
