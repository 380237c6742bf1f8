/* report_artifacts.c - what programs put into an artifact folder for the report. */
#include <stdlib.h>
#include <string.h>

#include <burn/file.h>

#include "learner_internal.h"
#include "logger_files.h"
#include "null_check.h"
#include "report_internal.h"

enum { MAX_SIDE = 4096 };

/* Replaces a file of the folder by the text, which is released. */
static BurnStatus write_text(const char *folder, const char *name, BurnTextBuilder *text) {
  char path[BURN_PATH_BYTES];
  BurnStatus status = burn__report_check_folder(folder);
  if (status != BURN_OK) {
    burn__text_release(text);
    return status;
  }
  status = burn_folder_make(folder);
  (void)snprintf(path, sizeof path, "%.*s/%s", BURN_ARTIFACT_BYTES, folder, name);
  if (status == BURN_OK) {
    status = text->failed ? burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "out of memory")
                          : burn_file_write(path, text->text ? text->text : "", text->length);
  }
  burn__text_release(text);
  return burn_status_annotate(status, "report: %s", path);
}

/* -- the confusion matrix --------------------------------------------------------------------- */

static void add_counts(BurnTextBuilder *out, const int64_t *counts, size_t classes, const char *const *labels) {
  char number[24];
  burn__text_add(out, "{\"labels\":[");
  for (size_t i = 0; i < classes; i++) {
    (void)snprintf(number, sizeof number, "%zu", i);
    burn__text_add(out, i ? "," : "");
    burn__json_add_text(out, labels ? labels[i] : number);
  }
  burn__text_add(out, "],\"counts\":[");
  for (size_t i = 0; i < classes * classes; i++) {
    burn__text_addf(out, "%s%lld%s",
                    i % classes ? ","
                    : i         ? ",\n["
                                : "\n[",
                    (long long)counts[i], i % classes == classes - 1 ? "]" : "");
  }
  burn__text_add(out, "]}\n");
}

/* Names end where one is missing, so that none behind a list's end is looked at. */
static BurnStatus check_labels(const char *const *labels, int64_t classes) {
  for (int64_t i = 0; labels && i < classes; i++) {
    if (!labels[i]) {
      return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "report: %lld labels for %lld classes", (long long)i,
                              (long long)classes);
    }
  }
  return BURN_OK;
}

BurnStatus burn_report_confusion_matrix(const char *artifact_dir, BurnTensor *counts, const char *const *labels) {
  BurnTextBuilder text = BURN_TEXT_BUILDER;
  BurnStatus status = burn_tensor_status(counts);
  const int64_t classes = status == BURN_OK && burn_rank(counts) == 2 ? burn_dim(counts, 0) : 0;
  if (status == BURN_OK && (classes == 0 || burn_dim(counts, 1) != classes)) {
    status = burn_status_make(BURN_STATUS_INVALID_SHAPE, "report: a confusion matrix is [classes, classes]");
  }
  if (status == BURN_OK) status = check_labels(labels, classes);
  int64_t *numbers = status == BURN_OK ? malloc((size_t)(classes * classes) * sizeof *numbers) : NULL;
  if (status == BURN_OK && !numbers) status = burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "report: out of memory");
  if (status == BURN_OK) {
    status = burn_status_annotate(burn_read_i64(counts, numbers, (size_t)(classes * classes)), "report");
  } else {
    burn_drop(counts);
  }
  if (status == BURN_OK) {
    add_counts(&text, numbers, (size_t)classes, labels);
    status = write_text(artifact_dir, REPORT_CONFUSION, &text);
  }
  free(numbers);
  return status;
}

/* -- samples ---------------------------------------------------------------------------------- */

static BurnStatus check_sample(const BurnSample *sample, size_t index) {
  const bool sound = sample->width > 0 && sample->width <= MAX_SIDE && sample->height > 0 &&
                     sample->height <= MAX_SIDE && (sample->channels == 1 || sample->channels == 3);
  if (!sample->title) return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "report: sample %zu has no title", index);
  if (!sample->pixels || sound) return BURN_OK;
  return burn_status_make(BURN_STATUS_INVALID_ARGUMENT,
                          "report: sample %zu is %ux%u with %u channels: 1 to %d pixels a side and 1 or 3 channels "
                          "expected",
                          index, sample->width, sample->height, sample->channels, MAX_SIDE);
}

static void add_sample(BurnTextBuilder *out, const BurnSample *sample) {
  burn__text_add(out, "{\"title\":");
  burn__json_add_text(out, sample->title);
  if (sample->text) {
    burn__text_add(out, ",\"text\":");
    burn__json_add_text(out, sample->text);
  }
  if (sample->pixels) {
    burn__text_add(out, ",\"png\":\"");
    burn__png_base64(out, sample);
    burn__text_add(out, "\"");
  }
  burn__text_addf(out, ",\"wrong\":%s}\n", sample->wrong ? "true" : "false");
}

BurnStatus burn_report_samples(const char *artifact_dir, const BurnSample *samples, size_t count) {
  BurnTextBuilder text = BURN_TEXT_BUILDER;
  BurnStatus status = count > 0 ? BURN_REQUIRED(samples, "a list of BurnSample") : BURN_OK;
  for (size_t i = 0; i < count && status == BURN_OK; i++) {
    status = check_sample(&samples[i], i);
    if (status == BURN_OK) add_sample(&text, &samples[i]);
  }
  if (status == BURN_OK) return write_text(artifact_dir, REPORT_SAMPLES, &text);
  burn__text_release(&text);
  return status;
}
