/* json_lines_logger.c - a file with a JSON object per value of a metric.
 *
 * A run that resumes does some batches again that an earlier one had logged after its last checkpoint. Where it begins
 * is known with its first entry: then the file is read, and cut before the first line that is not before that. */
#include <cjson/cJSON.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <burn/file.h>

#include "learner_internal.h"
#include "logger_files.h"
#include "path_check.h"
#include "status_chain.h"

enum { MAX_LINE_BYTES = 1 << 16 };

struct BurnJsonLines {
  char *path;
  FILE *file; /* NULL until the first entry, and after a failure */
  bool resume;
};

/* -- where a run goes on ---------------------------------------------------------------------- */

/* Places of entries in the order of a run. */
typedef struct Place {
  double epoch, split, batch, final;
} Place;

static Place place_of(const BurnLogEntry *entry) {
  return (Place){(double)entry->epoch, (double)entry->split, (double)entry->batch, entry->final ? 1 : 0};
}

static bool is_before(Place a, Place b) {
  if (a.epoch < b.epoch || a.epoch > b.epoch) return a.epoch < b.epoch;
  if (a.split < b.split || a.split > b.split) return a.split < b.split;
  if (a.batch < b.batch || a.batch > b.batch) return a.batch < b.batch;
  return a.final < b.final;
}

static bool read_place(const char *line, Place *place) {
  cJSON *root = cJSON_Parse(line);
  const cJSON *epoch = cJSON_GetObjectItemCaseSensitive(root, "epoch"),
              *batch = cJSON_GetObjectItemCaseSensitive(root, "batch"),
              *final = cJSON_GetObjectItemCaseSensitive(root, "final");
  const char *split = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(root, "split"));
  int number = 0;
  while (number < BURN_SPLITS && !(split && strcmp(split, burn__split_names[number]) == 0)) number++;
  const bool sound = cJSON_IsNumber(epoch) && cJSON_IsNumber(batch) && cJSON_IsBool(final) && number < BURN_SPLITS;
  if (sound) *place = (Place){epoch->valuedouble, (double)number, batch->valuedouble, cJSON_IsTrue(final) ? 1 : 0};
  cJSON_Delete(root);
  return sound;
}

/* How many bytes of the file are of lines before `first`. */
static BurnStatus bytes_before(const char *path, FILE *file, Place first, uint64_t *bytes) {
  char *line = malloc(MAX_LINE_BYTES);
  BurnStatus status =
      line ? BURN_OK : burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "json_lines: %s: out of memory", path);
  *bytes = 0;
  for (size_t number = 1; status == BURN_OK && fgets(line, MAX_LINE_BYTES, file); number++) {
    const size_t length = strlen(line);
    Place place;
    if (length == 0 || line[length - 1] != '\n') {
      if (feof(file)) break; /* the writer was killed in the middle of it */
      status = burn_status_make(BURN_STATUS_OUT_OF_RANGE, "json_lines: %s: line %zu has %d bytes or more, or a zero",
                                path, number, MAX_LINE_BYTES);
    } else if (!read_place(line, &place)) {
      status = burn_status_make(BURN_STATUS_CORRUPT_DATA,
                                "json_lines: %s: line %zu is not a value of a metric: remove the file, or begin anew",
                                path, number);
    } else if (!is_before(place, first)) {
      break;
    } else {
      *bytes += length;
    }
  }
  free(line);
  return status;
}

static BurnStatus find_end(const char *path, Place first, uint64_t *bytes) {
  FILE *file;
  *bytes = 0;
  BurnStatus status = burn_file_open(path, &file, NULL);
  if (burn_status_code(status) == BURN_STATUS_NOT_FOUND) return BURN_OK;
  if (status != BURN_OK) return burn_status_annotate(status, "%s", path);
  status = bytes_before(path, file, first, bytes);
  (void)fclose(file);
  return status;
}

/* -- writing ---------------------------------------------------------------------------------- */

static BurnStatus open_at(BurnJsonLines *lines, const BurnLogEntry *entry) {
  uint64_t bytes = 0;
  BurnStatus status = lines->resume ? find_end(lines->path, place_of(entry), &bytes) : BURN_OK;
  if (status != BURN_OK) return status;
  errno = 0;
  lines->file = burn__log_open(lines->path, bytes);
  return lines->file ? BURN_OK : burn__file_failed("cannot open", lines->path, errno);
}

static void add_entry(BurnTextBuilder *out, const BurnLogEntry *entry) {
  burn__text_add(out, "{\"time\":");
  burn__json_add_number(out, burn__train_wall_seconds());
  burn__text_addf(out, ",\"split\":\"%s\",\"epoch\":%zu,\"batch\":%zu,\"batches\":%zu,\"metric\":",
                  burn__split_names[entry->split], entry->epoch, entry->batch, entry->batches);
  burn__json_add_text(out, entry->metric);
  burn__text_add(out, ",\"unit\":");
  burn__json_add_text(out, entry->unit);
  burn__text_add(out, ",\"value\":");
  burn__json_add_number(out, entry->value);
  burn__text_add(out, ",\"weight\":");
  burn__json_add_number(out, entry->weight);
  burn__text_addf(out, ",\"final\":%s}\n", entry->final ? "true" : "false");
}

static BurnStatus log_entry(void *context, const BurnLogEntry *entry) {
  BurnJsonLines *lines = context;
  BurnTextBuilder text = BURN_TEXT_BUILDER;
  BurnStatus status = lines->file ? BURN_OK : open_at(lines, entry);
  if (status != BURN_OK) return status;
  lines->resume = true; /* after a failure it goes on where it was */
  add_entry(&text, entry);
  errno = 0;
  if (text.failed) {
    status = burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "json_lines: %s: out of memory", lines->path);
  } else if (fwrite(text.text, 1, text.length, lines->file) != text.length || fflush(lines->file) != 0) {
    status = burn__file_failed("cannot write", lines->path, errno);
    (void)fclose(lines->file);
    lines->file = NULL;
  }
  burn__text_release(&text);
  return status;
}

static BurnJsonLines *open_lines(const char *path, bool resume, BurnStatus *status) {
  const size_t bytes = strlen(path) + 1;
  BurnJsonLines *lines = calloc(1, sizeof *lines);
  if (lines) lines->path = malloc(bytes);
  if (!lines || !lines->path) {
    *status = burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "json_lines: out of memory");
    burn_json_lines_destroy(lines);
    return NULL;
  }
  memcpy(lines->path, path, bytes);
  lines->resume = resume;
  *status = burn__folder_of_path_make(path);
  if (*status == BURN_OK) {
    errno = 0;
    FILE *file = burn__log_open(path, resume ? UINT64_MAX : 0); /* whether it can be, before the run begins */
    if (!file || fclose(file) != 0) *status = burn__file_failed("cannot open", path, errno);
  }
  if (*status == BURN_OK) return lines;
  burn_json_lines_destroy(lines);
  return NULL;
}

BurnJsonLines *burn_json_lines_create(const char *path, bool resume, BurnStatus *status) {
  BurnStatus result = burn__entry_status(status);
  if (result == BURN_OK) result = burn__path_check("json_lines", path);
  BurnJsonLines *lines = result == BURN_OK ? open_lines(path, resume, &result) : NULL;
  burn__store_status(status, result);
  return lines;
}

BurnLogger burn_json_lines_logger(BurnJsonLines *lines) { return (BurnLogger){log_entry, lines}; }

void burn_json_lines_destroy(BurnJsonLines *lines) {
  if (!lines) return;
  if (lines->file && fclose(lines->file) != 0) burn__train_warn("cannot close %s", lines->path);
  free(lines->path);
  free(lines);
}
