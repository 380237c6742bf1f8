/* report_logs.c - the logs of a run's metrics as curves.
 *
 * A curve of batches has at most BINS points, each the mean of the values in its part of the run, so that a report of a
 * million batches is as small as one of a thousand. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <burn/file.h>

#include "file_log.h"
#include "learner_internal.h"
#include "logger_files.h"
#include "report_internal.h"

enum { BINS = 400, MAX_METRICS = 64, MAX_EPOCHS = 1 << 20, LINE_BYTES = 256, NAME_BYTES = 208 };

/* A log. */
typedef struct LogFile {
  size_t epoch;
  const char *metric; /* one of the names, so the same pointer for the same metric */
  int split;
} LogFile;

typedef struct Scan {
  const char *folder;
  int split;
  size_t epoch;
  char names[MAX_METRICS][NAME_BYTES];
  size_t name_count;
  LogFile *files;
  size_t count, capacity, epochs;
} Scan;

/* What is summed up of a curve. */
typedef struct Curve {
  double sums[BINS], xs[BINS];
  size_t counts[BINS];
  size_t batches; /* of the longest log so far: of an epoch */
} Curve;

/* -- which there are -------------------------------------------------------------------------- */

static BurnStatus add_file(Scan *scan, size_t metric) {
  if (scan->count == scan->capacity) {
    const size_t capacity = scan->capacity ? 2 * scan->capacity : 64;
    LogFile *files = realloc(scan->files, capacity * sizeof *files);
    if (!files) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "report: out of memory for %zu logs", capacity);
    scan->files = files;
    scan->capacity = capacity;
  }
  scan->files[scan->count++] = (LogFile){scan->epoch, scan->names[metric], scan->split};
  return BURN_OK;
}

static BurnStatus scan_log(void *context, const char *name) {
  Scan *scan = context;
  const size_t length = strlen(name);
  size_t i = 0;
  if (length < 5 || strcmp(name + length - 4, ".log") != 0) return BURN_OK;
  if (length - 4 >= NAME_BYTES) {
    return burn_status_make(BURN_STATUS_OUT_OF_RANGE, "report: %.64s..: the name of a log is too long", name);
  }
  char metric[NAME_BYTES];
  (void)snprintf(metric, sizeof metric, "%.*s", (int)(length - 4), name);
  while (i < scan->name_count && strcmp(scan->names[i], metric) != 0) i++;
  if (i == MAX_METRICS) {
    return burn_status_make(BURN_STATUS_OUT_OF_RANGE, "report: %s has logs of more than %d metrics", scan->folder,
                            MAX_METRICS);
  }
  if (i == scan->name_count) memcpy(scan->names[scan->name_count++], metric, sizeof metric);
  return add_file(scan, i);
}

static BurnStatus scan_epoch(void *context, const char *name) {
  Scan *scan = context;
  char path[BURN_PATH_BYTES + 64];
  scan->epoch = burn__epoch_of_name(name);
  if (scan->epoch == 0) return BURN_OK;
  if (scan->epoch > MAX_EPOCHS) {
    return burn_status_make(BURN_STATUS_OUT_OF_RANGE, "report: %s: epochs up to %d are read", name, MAX_EPOCHS);
  }
  if (scan->epoch > scan->epochs) scan->epochs = scan->epoch;
  (void)snprintf(path, sizeof path, "%s/%s/%s", scan->folder, burn__split_names[scan->split], name);
  return burn__folder_list(path, scan_log, scan);
}

/* By metric (the loss first, then by name), split and epoch. */
static int compare_files(const void *a, const void *b) {
  const LogFile *x = a, *y = b;
  if (x->metric != y->metric) {
    const bool left_loss = strcmp(x->metric, "Loss") == 0, right_loss = strcmp(y->metric, "Loss") == 0;
    return left_loss || right_loss ? (left_loss ? -1 : 1) : strcmp(x->metric, y->metric);
  }
  if (x->split != y->split) return x->split - y->split;
  return x->epoch < y->epoch ? -1 : x->epoch > y->epoch;
}

/* -- a log ------------------------------------------------------------------------------------ */

/* A number in any locale, by cJSON; or nan, inf, -inf. */
static bool read_number(const char *text, double *value) {
  static const struct {
    const char *text;
    double value;
  } words[] = {{"nan", (double)NAN}, {"-nan", (double)NAN}, {"inf", (double)INFINITY}, {"-inf", -(double)INFINITY}};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    if (strcmp(text, words[i].text) != 0) continue;
    *value = words[i].value;
    return true;
  }
  cJSON *number = cJSON_ParseWithOpts(text, NULL, true);
  const bool found = cJSON_IsNumber(number);
  if (found) *value = number->valuedouble;
  cJSON_Delete(number);
  return found;
}

bool burn__report_log_line(const char *line, double *value, double *weight, bool *final) {
  char text[LINE_BYTES];
  const size_t length = strcspn(line, ",");
  if (line[length] != ',' || length == 0 || length >= sizeof text) return false;
  memcpy(text, line, length);
  text[length] = '\0';
  *final = strcmp(line + length + 1, "final") == 0;
  *weight = 0;
  return read_number(text, value) && (*final || (read_number(line + length + 1, weight) && *weight >= 0));
}

/* What a log has. */
typedef struct LogValues {
  double *values; /* [count], from malloc */
  size_t count;
  double sum, weight, final; /* of the values times their weights; NaN: no final value */
} LogValues;

static BurnStatus add_line(LogValues *log, const char *line, size_t capacity) {
  double value, weight;
  bool final;
  if (!burn__report_log_line(line, &value, &weight, &final)) {
    return burn_status_make(BURN_STATUS_CORRUPT_DATA, "'%.40s' is not a value of a metric", line);
  }
  if (final) {
    log->final = value;
  } else if (log->count < capacity) {
    log->values[log->count++] = value;
    log->sum += value * weight;
    log->weight += weight;
  }
  return BURN_OK;
}

/* Reads the lines of a text, which is changed. */
static BurnStatus read_lines(LogValues *log, char *text, size_t bytes) {
  size_t capacity = 0, number = 0;
  for (size_t i = 0; i < bytes; i++) capacity += text[i] == '\n';
  log->values = malloc((capacity + 1) * sizeof *log->values);
  if (!log->values) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "out of memory for %zu values", capacity);
  for (char *line = text; line < text + bytes;) {
    char *end = memchr(line, '\n', (size_t)(text + bytes - line));
    if (!end) return BURN_OK; /* the run goes on, or was killed */
    *end = '\0';
    number++;
    BurnStatus status = BURN_OK;
    if (strlen(line) != (size_t)(end - line)) status = burn_status_make(BURN_STATUS_CORRUPT_DATA, "a zero byte");
    if (status == BURN_OK) status = add_line(log, line, capacity);
    if (status != BURN_OK) return burn_status_annotate(status, "line %zu", number);
    line = end + 1;
  }
  return BURN_OK;
}

static BurnStatus read_log(const char *path, LogValues *log) {
  uint8_t *bytes = NULL;
  size_t count = 0;
  *log = (LogValues){.final = (double)NAN};
  BurnStatus status = burn_file_read(path, (size_t)1 << 28, &bytes, &count);
  if (status == BURN_OK) status = read_lines(log, (char *)bytes, count);
  free(bytes);
  return burn_status_annotate(status, "report: %s", path);
}

/* -- curves ----------------------------------------------------------------------------------- */

static cJSON *pair(double x, double y) {
  const double numbers[] = {x, y};
  return cJSON_CreateDoubleArray(numbers, 2);
}

static void add_batches(Curve *curve, const LogValues *log, size_t epoch, size_t epochs) {
  if (log->count > curve->batches) curve->batches = log->count;
  for (size_t i = 0; i < log->count; i++) {
    const double x = (double)(epoch - 1) + (double)(i + 1) / (double)curve->batches;
    const size_t at = (size_t)(x / (double)epochs * (double)BINS), bin = at < BINS ? at : BINS - 1;
    if (!isfinite(log->values[i])) continue;
    curve->sums[bin] += log->values[i];
    curve->xs[bin] += x;
    curve->counts[bin]++;
  }
}

static cJSON *curve_json(const Curve *curve, BurnStatus *status) {
  cJSON *points = cJSON_CreateArray();
  for (size_t i = 0; i < BINS; i++) {
    const double count = (double)curve->counts[i];
    if (curve->counts[i]) burn__report_append(points, pair(curve->xs[i] / count, curve->sums[i] / count), status);
  }
  return points;
}

/* The smallest and the largest value of epochs, and the last. */
static void add_summary(cJSON *split, const cJSON *epochs, BurnStatus *status) {
  const cJSON *low = NULL, *high = NULL, *last = NULL, *point;
  cJSON_ArrayForEach(point, epochs) {
    const double y = cJSON_GetNumberValue(cJSON_GetArrayItem(point, 1));
    last = point;
    if (isnan(y)) continue;
    if (!low || y < cJSON_GetNumberValue(cJSON_GetArrayItem(low, 1))) low = point;
    if (!high || y > cJSON_GetNumberValue(cJSON_GetArrayItem(high, 1))) high = point;
  }
  if (low) burn__report_put(split, "min", cJSON_Duplicate(low, true), status);
  if (high) burn__report_put(split, "max", cJSON_Duplicate(high, true), status);
  if (last) burn__report_put(split, "last", cJSON_Duplicate(last, true), status);
}

/* The logs of a metric and split, from the first of them on; *next is the first of others. */
static BurnStatus read_split(const Scan *scan, size_t first, size_t *next, cJSON *metric) {
  const LogFile *files = scan->files;
  char path[BURN_PATH_BYTES + 320];
  Curve *curve = calloc(1, sizeof *curve);
  cJSON *split = cJSON_AddObjectToObject(metric, burn__split_names[files[first].split]);
  cJSON *epochs = cJSON_CreateArray();
  BurnStatus status =
      curve && split && epochs ? BURN_OK : burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "report: memory");
  size_t i = first;
  for (; i < scan->count && status == BURN_OK; i++) {
    const LogFile *file = &files[i];
    LogValues log;
    if (file->metric != files[first].metric || file->split != files[first].split) break;
    (void)snprintf(path, sizeof path, "%s/%s/epoch-%zu/%s.log", scan->folder, burn__split_names[file->split],
                   file->epoch, file->metric);
    status = read_log(path, &log);
    if (status == BURN_OK) {
      const double mean = log.weight > 0 ? log.sum / log.weight : (double)NAN;
      const double value = isnan(log.final) ? mean : log.final; /* as Burn reads its logs */
      add_batches(curve, &log, file->epoch, scan->epochs);
      if (isfinite(value)) burn__report_append(epochs, pair((double)file->epoch, value), &status);
    }
    free(log.values);
  }
  *next = i;
  if (status == BURN_OK) {
    burn__report_put(split, "batches", curve_json(curve, &status), &status);
    add_summary(split, epochs, &status);
    burn__report_put(split, "epochs", epochs, &status);
  } else {
    cJSON_Delete(epochs);
  }
  free(curve);
  return status;
}

static BurnStatus read_all(const Scan *scan, cJSON *root) {
  cJSON *metrics = cJSON_AddArrayToObject(root, "metrics"), *metric = NULL;
  BurnStatus status = BURN_OK;
  if (!metrics) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "report: out of memory");
  for (size_t i = 0; i < scan->count && status == BURN_OK;) {
    if (i == 0 || scan->files[i].metric != scan->files[i - 1].metric) {
      char name[NAME_BYTES];
      (void)snprintf(name, sizeof name, "%s", scan->files[i].metric);
      metric = cJSON_CreateObject();
      burn__report_put(metric, "name", cJSON_CreateString(burn_text_clean_name(name)), &status);
      burn__report_append(metrics, metric, &status);
    }
    if (status == BURN_OK) status = read_split(scan, i, &i, metric);
  }
  return status;
}

BurnStatus burn__report_logs(const char *artifact_dir, cJSON *root) {
  Scan *scan = calloc(1, sizeof *scan);
  if (!scan) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "report: out of memory");
  scan->folder = artifact_dir;
  BurnStatus status = BURN_OK;
  for (scan->split = 0; scan->split < BURN_SPLITS && status == BURN_OK; scan->split++) {
    char path[BURN_PATH_BYTES];
    (void)snprintf(path, sizeof path, "%.*s/%s", BURN_ARTIFACT_BYTES, artifact_dir, burn__split_names[scan->split]);
    status = burn__folder_list(path, scan_epoch, scan);
  }
  if (status == BURN_OK && scan->count == 0 && !burn__file_exists(artifact_dir)) {
    status = burn_status_make(BURN_STATUS_NOT_FOUND, "report: there is no folder %s", artifact_dir);
  } else if (status == BURN_OK && scan->count == 0) {
    status = burn_status_make(BURN_STATUS_NOT_FOUND,
                              "report: %s has no logs of metrics, train/epoch-1/Loss.log and so on: is it the artifact "
                              "folder of a run?",
                              artifact_dir);
  }
  if (status == BURN_OK) {
    qsort(scan->files, scan->count, sizeof *scan->files, compare_files);
    burn__report_put(root, "epochs", cJSON_CreateNumber((double)scan->epochs), &status);
    if (status == BURN_OK) status = read_all(scan, root);
  }
  free(scan->files);
  free(scan);
  return status;
}
