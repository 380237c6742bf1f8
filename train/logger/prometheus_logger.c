/* prometheus_logger.c - the newest values in Prometheus' text exposition format, version 0.0.4. Each file is whole:
 * burn_file_write puts it in the place of the last one. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <burn/file.h>
#include <burn/text.h>

#include "learner_internal.h"
#include "logger_files.h"
#include "path_check.h"
#include "status_chain.h"

typedef struct Newest {
  char name[96], unit[32]; /* cut where they are longer */
  double values[BURN_SPLITS], finals[BURN_SPLITS];
  bool known[BURN_SPLITS], final_known[BURN_SPLITS];
} Newest;

struct BurnPrometheus {
  char *path;
  double interval, written; /* in seconds; the second of burn__seconds */
  bool changed;
  Newest metrics[BURN_MAX_METRICS];
  size_t metric_count;
  size_t epoch[BURN_SPLITS], batch[BURN_SPLITS], batches[BURN_SPLITS]; /* epoch 0: no entry yet */
};

/* -- the text --------------------------------------------------------------------------------- */

/* The value of a label: backslash, quote and line feed are escaped. */
static void add_label(BurnTextBuilder *out, const char *text) {
  for (; *text; text++) {
    if (*text == '\\' || *text == '"') burn__text_add(out, "\\");
    if (*text == '\n') {
      burn__text_add(out, "\\n");
    } else {
      burn__text_add_bytes(out, text, 1);
    }
  }
}

static void add_number(BurnTextBuilder *out, double value) {
  char number[BURN_NUMBER_BYTES];
  const char *text = isnan(value)   ? "NaN"
                     : isinf(value) ? (value > 0 ? "+Inf" : "-Inf")
                                    : burn_number_text(value, 0, number);
  burn__text_addf(out, " %s\n", text);
}

static void add_head(BurnTextBuilder *out, const char *name, const char *help) {
  burn__text_addf(out, "# HELP %s %s\n# TYPE %s gauge\n", name, help, name);
}

static void add_metrics(BurnTextBuilder *out, const BurnPrometheus *prometheus, bool finals) {
  const char *name = finals ? "burn_metric_epoch" : "burn_metric";
  add_head(out, name, finals ? "Value of a metric over the last whole epoch." : "Value of a metric in a batch.");
  for (size_t i = 0; i < prometheus->metric_count; i++) {
    const Newest *metric = &prometheus->metrics[i];
    for (int split = 0; split < BURN_SPLITS; split++) {
      if (!(finals ? metric->final_known : metric->known)[split]) continue;
      burn__text_addf(out, "%s{metric=\"", name);
      add_label(out, metric->name);
      burn__text_add(out, "\",unit=\"");
      add_label(out, metric->unit);
      burn__text_addf(out, "\",split=\"%s\"}", burn__split_names[split]);
      add_number(out, (finals ? metric->finals : metric->values)[split]);
    }
  }
}

static void add_counts(BurnTextBuilder *out, const BurnPrometheus *prometheus, const char *name, const char *help,
                       const size_t counts[BURN_SPLITS]) {
  add_head(out, name, help);
  for (int split = 0; split < BURN_SPLITS; split++) {
    if (!prometheus->epoch[split]) continue;
    burn__text_addf(out, "%s{split=\"%s\"} %zu\n", name, burn__split_names[split], counts[split]);
  }
}

static BurnStatus write_file(BurnPrometheus *prometheus) {
  BurnTextBuilder out = BURN_TEXT_BUILDER;
  add_metrics(&out, prometheus, false);
  add_metrics(&out, prometheus, true);
  add_counts(&out, prometheus, "burn_epoch", "Epoch of the newest value, from 1.", prometheus->epoch);
  add_counts(&out, prometheus, "burn_batch", "Batch of the newest value, from 1.", prometheus->batch);
  add_counts(&out, prometheus, "burn_batches", "Batches of an epoch.", prometheus->batches);
  add_head(&out, "burn_updated_timestamp_seconds", "When this file was written, since 1970, UTC.");
  burn__text_add(&out, "burn_updated_timestamp_seconds");
  add_number(&out, burn__train_wall_seconds());
  const BurnStatus status = out.failed ? burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "out of memory")
                                       : burn_file_write(prometheus->path, out.text, out.length);
  burn__text_release(&out);
  prometheus->written = burn__seconds();
  prometheus->changed = false;
  return burn_status_annotate(status, "prometheus: %s", prometheus->path);
}

/* -- the logger ------------------------------------------------------------------------------- */

static Newest *metric_of(BurnPrometheus *prometheus, const BurnLogEntry *entry) {
  char name[sizeof prometheus->metrics->name];
  (void)snprintf(name, sizeof name, "%s", entry->metric);
  (void)burn_text_clean(name);
  for (size_t i = 0; i < prometheus->metric_count; i++) {
    if (strcmp(prometheus->metrics[i].name, name) == 0) return &prometheus->metrics[i];
  }
  if (prometheus->metric_count == BURN_MAX_METRICS) return NULL;
  Newest *metric = &prometheus->metrics[prometheus->metric_count++];
  memcpy(metric->name, name, sizeof name);
  (void)snprintf(metric->unit, sizeof metric->unit, "%s", entry->unit);
  (void)burn_text_clean(metric->unit);
  return metric;
}

static BurnStatus log_entry(void *context, const BurnLogEntry *entry) {
  BurnPrometheus *prometheus = context;
  const BurnSplit split = entry->split;
  Newest *metric = metric_of(prometheus, entry);
  if (!metric) {
    return burn_status_make(BURN_STATUS_OUT_OF_RANGE, "prometheus: %s: more than %d metrics", prometheus->path,
                            (int)BURN_MAX_METRICS);
  }
  (entry->final ? metric->finals : metric->values)[split] = entry->value;
  (entry->final ? metric->final_known : metric->known)[split] = true;
  prometheus->epoch[split] = entry->epoch;
  prometheus->batch[split] = entry->batch;
  prometheus->batches[split] = entry->batches;
  prometheus->changed = true;
  /* The finals of an epoch come one after the other: the file after them has all. */
  const bool last_final = entry->final && metric == &prometheus->metrics[prometheus->metric_count - 1];
  const bool due = burn__seconds() - prometheus->written >= prometheus->interval;
  return due || last_final ? write_file(prometheus) : BURN_OK;
}

static BurnPrometheus *open_metrics(const char *path, double interval, BurnStatus *status) {
  const size_t bytes = strlen(path) + 1;
  BurnPrometheus *prometheus = calloc(1, sizeof *prometheus);
  if (prometheus) prometheus->path = malloc(bytes);
  if (prometheus && prometheus->path) {
    memcpy(prometheus->path, path, bytes);
    prometheus->interval = interval > 0 ? interval : 5;
    *status = burn__folder_of_path_make(path);
    if (*status == BURN_OK) *status = write_file(prometheus);
    if (*status == BURN_OK) return prometheus;
  } else {
    *status = burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "prometheus: out of memory");
  }
  if (prometheus) prometheus->changed = false;
  burn_prometheus_destroy(prometheus);
  return NULL;
}

BurnPrometheus *burn_prometheus_create(const char *path, double interval, BurnStatus *status) {
  BurnStatus result = burn__entry_status(status);
  if (result == BURN_OK) result = burn__path_check("prometheus", path);
  BurnPrometheus *prometheus = result == BURN_OK ? open_metrics(path, interval, &result) : NULL;
  burn__store_status(status, result);
  return prometheus;
}

BurnLogger burn_prometheus_logger(BurnPrometheus *prometheus) { return (BurnLogger){log_entry, prometheus}; }

void burn_prometheus_destroy(BurnPrometheus *prometheus) {
  if (!prometheus) return;
  const BurnStatus status = prometheus->changed ? write_file(prometheus) : BURN_OK;
  if (status != BURN_OK) burn__train_warn("%s", burn_status_message(status));
  free(prometheus->path);
  free(prometheus);
}
