/* report_read.c - an artifact folder as a tree. */
#include <stdlib.h>
#include <string.h>

#include <burn/config.h>
#include <burn/file.h>
#include <burn/record.h>
#include <burn/text.h>

#include "learner_internal.h"
#include "logger_files.h"
#include "null_check.h"
#include "report_internal.h"
#include "status_chain.h"

#define MAX_COUNT 9007199254740992.0 /* counts are exact up to 2^53 */
enum { TEXT_LIMIT = 1 << 24, MAX_SAMPLES = 1000, MAX_CLASSES = 1000 };

static const char *folder_name(const char *path) {
  const char *name = path;
  for (const char *at = path; *at; at++) {
    if ((*at == '/' || *at == '\\') && at[1] && at[1] != '/') name = at + 1;
  }
  return name;
}

static void out_of_memory(BurnStatus *status) {
  if (*status == BURN_OK) *status = burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "report: out of memory");
}

void burn__report_put(cJSON *object, const char *name, cJSON *item, BurnStatus *status) {
  if (cJSON_AddItemToObject(object, name, item)) return;
  cJSON_Delete(item);
  out_of_memory(status);
}

void burn__report_append(cJSON *list, cJSON *item, BurnStatus *status) {
  if (cJSON_AddItemToArray(list, item)) return;
  cJSON_Delete(item);
  out_of_memory(status);
}

/* A text of others, which may be any bytes. */
static void add_text(cJSON *object, const char *name, const char *text, BurnStatus *status) {
  const size_t bytes = strlen(text) + 1;
  char *clean = malloc(bytes);
  if (clean) memcpy(clean, text, bytes);
  burn__report_put(object, name, clean ? cJSON_CreateString(burn_text_clean_name(clean)) : NULL, status);
  free(clean);
}

/* A file of the folder as text; *text is NULL where there is none. */
static BurnStatus read_text(const char *folder, const char *name, char **text) {
  char path[BURN_PATH_BYTES];
  uint8_t *bytes = NULL;
  size_t count = 0;
  *text = NULL;
  (void)snprintf(path, sizeof path, "%.*s/%s", BURN_ARTIFACT_BYTES, folder, name);
  BurnStatus status = burn_file_read(path, TEXT_LIMIT, &bytes, &count);
  if (burn_status_code(status) == BURN_STATUS_NOT_FOUND) return BURN_OK;
  if (status == BURN_OK && strlen((char *)bytes) != count) {
    free(bytes);
    status = burn_status_make(BURN_STATUS_CORRUPT_DATA, "there is a zero byte in it");
  }
  if (status == BURN_OK) *text = burn_text_clean((char *)bytes);
  return burn_status_annotate(status, "report: %s", path);
}

static BurnStatus read_config(const char *folder, cJSON *root) {
  char *text;
  BurnStatus status = read_text(folder, "config.json", &text);
  if (status != BURN_OK || !text) return status;
  cJSON *config = cJSON_ParseWithOpts(text, NULL, true);
  free(text);
  if (!config) return burn_status_make(BURN_STATUS_CORRUPT_DATA, "report: %s/config.json is not JSON", folder);
  burn__report_put(root, "config", config, &status);
  return status;
}

/* -- the newest checkpoint -------------------------------------------------------------------- */

typedef struct Newest {
  char name[64];
  double epoch;
} Newest;

/* "learner-12.mpk" is after 12 epochs, "learner-13-67.mpk" in the middle of the next one. */
static BurnStatus find_newest(void *context, const char *name) {
  Newest *newest = context;
  unsigned long long epoch, batch = 0;
  char expected[64];
  const int found = sscanf(name, "learner-%9llu-%15llu", &epoch, &batch);
  if (found < 1) return BURN_OK;
  (void)snprintf(expected, sizeof expected, found == 1 ? "learner-%llu.mpk" : "learner-%llu-%llu.mpk", epoch, batch);
  const double at = (double)epoch - (found == 2 ? 0.5 : 0);
  if (strcmp(name, expected) != 0 || at < newest->epoch) return BURN_OK;
  newest->epoch = at;
  memcpy(newest->name, expected, sizeof expected);
  return BURN_OK;
}

static void add_history(cJSON *root, const BurnValue *history, BurnStatus *status) {
  cJSON *rows = cJSON_AddArrayToObject(root, "history");
  if (!rows) out_of_memory(status);
  for (size_t i = 0; i < burn_value_count(history); i++) {
    const BurnValue *epoch = burn_value_at(history, i);
    cJSON *row = cJSON_CreateObject();
    const double speed = burn_value_as_float(burn_value_get(epoch, "items_per_second"), 0);
    burn__report_put(row, "epoch", cJSON_CreateNumber((double)(i + 1)), status);
    burn__report_put(row, "seconds", cJSON_CreateNumber(burn_value_as_float(burn_value_get(epoch, "seconds"), 0)),
                     status);
    burn__report_put(row, "items_per_second", cJSON_CreateNumber(speed), status);
    burn__report_append(rows, row, status);
  }
}

/* What a checkpoint says of the run; one that cannot be read says nothing, as a resumed run passes it over, too. */
static BurnStatus read_checkpoint(const char *folder, cJSON *root) {
  char path[BURN_PATH_BYTES];
  Newest newest = {"", -1};
  BurnValue *value = NULL;
  (void)snprintf(path, sizeof path, "%.*s/checkpoint", BURN_ARTIFACT_BYTES, folder);
  BurnStatus status = burn__folder_list(path, find_newest, &newest);
  if (status != BURN_OK || !newest.name[0]) return burn_status_annotate(status, "report");
  (void)snprintf(path, sizeof path, "%.*s/checkpoint/%s", BURN_ARTIFACT_BYTES, folder, newest.name);
  status = burn_value_read(path, &(BurnRecordConfig){BURN_RECORD_MPK, BURN_PRECISION_DOUBLE}, &value);
  if (status != BURN_OK) {
    burn__train_warn("report: %s says nothing of the run: %s", path, burn_status_message(status));
    return BURN_OK;
  }
  const BurnValue *settings = burn_value_get(value, "settings");
  add_text(root, "stack", burn_value_as_text(burn_value_get(value, "stack"), ""), &status);
  add_history(root, burn_value_get(value, "history"), &status);
  cJSON *list = cJSON_AddObjectToObject(root, "settings");
  if (!list) out_of_memory(&status);
  for (size_t i = 0; i < burn_value_count(settings); i++) {
    const char *key = burn_value_key_at(settings, i);
    if (key && burn_text_is_clean(key))
      add_text(list, key, burn_value_as_text(burn_value_at(settings, i), ""), &status);
  }
  burn_value_destroy(value);
  return status;
}

/* -- what programs add ------------------------------------------------------------------------ */

/* {"labels": [texts], "counts": [[numbers]]}, as many rows and columns as labels. */
static bool is_confusion(const cJSON *matrix) {
  const cJSON *labels = cJSON_GetObjectItemCaseSensitive(matrix, "labels"),
              *counts = cJSON_GetObjectItemCaseSensitive(matrix, "counts"), *row, *item;
  const int classes = cJSON_GetArraySize(labels);
  if (!cJSON_IsArray(labels) || !cJSON_IsArray(counts) || classes < 1 || classes > MAX_CLASSES) return false;
  if (cJSON_GetArraySize(counts) != classes) return false;
  cJSON_ArrayForEach(item, labels) {
    if (!cJSON_IsString(item)) return false;
  }
  cJSON_ArrayForEach(row, counts) {
    if (!cJSON_IsArray(row) || cJSON_GetArraySize(row) != classes) return false;
    cJSON_ArrayForEach(item, row) {
      if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0) || item->valuedouble > MAX_COUNT) return false;
    }
  }
  return true;
}

static BurnStatus read_confusion(const char *folder, cJSON *root) {
  char *text;
  BurnStatus status = read_text(folder, REPORT_CONFUSION, &text);
  if (status != BURN_OK || !text) return status;
  cJSON *matrix = cJSON_ParseWithOpts(text, NULL, true);
  free(text);
  if (is_confusion(matrix)) {
    burn__report_put(root, "confusion_matrix", matrix, &status);
    return status;
  }
  cJSON_Delete(matrix);
  return burn_status_make(BURN_STATUS_CORRUPT_DATA,
                          "report: %s/" REPORT_CONFUSION
                          " is no {\"labels\": [..], \"counts\": [[..]]} with as many rows and columns as labels, 1 to "
                          "%d",
                          folder, MAX_CLASSES);
}

static bool is_base64(const char *text) {
  const size_t length = strlen(text);
  const size_t letters = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/");
  return length % 4 == 0 && length - letters <= 2 && strspn(text + letters, "=") == length - letters;
}

/* {"title": text, "text": text, "png": base64, "wrong": truth}; only the title is required. */
static bool is_sample(const cJSON *sample) {
  const cJSON *text = cJSON_GetObjectItemCaseSensitive(sample, "text"),
              *png = cJSON_GetObjectItemCaseSensitive(sample, "png"),
              *wrong = cJSON_GetObjectItemCaseSensitive(sample, "wrong");
  return cJSON_IsString(cJSON_GetObjectItemCaseSensitive(sample, "title")) && (!text || cJSON_IsString(text)) &&
         (!wrong || cJSON_IsBool(wrong)) && (!png || (cJSON_IsString(png) && is_base64(png->valuestring)));
}

static BurnStatus read_samples(const char *folder, cJSON *root) {
  char *text;
  BurnStatus status = read_text(folder, REPORT_SAMPLES, &text);
  if (status != BURN_OK || !text) return status;
  cJSON *samples = cJSON_AddArrayToObject(root, "samples");
  if (!samples) out_of_memory(&status);
  size_t number = 1;
  for (char *line = text; *line && number <= MAX_SAMPLES && status == BURN_OK; number++) {
    const size_t length = strcspn(line, "\n");
    const bool last = line[length] == '\0';
    line[length] = '\0';
    cJSON *sample = cJSON_ParseWithOpts(line, NULL, true);
    if (is_sample(sample)) {
      burn__report_append(samples, sample, &status);
    } else {
      cJSON_Delete(sample);
      status = burn_status_make(BURN_STATUS_CORRUPT_DATA,
                                "report: %s/" REPORT_SAMPLES
                                ": line %zu is no {\"title\": .., \"text\": .., \"png\": "
                                "..}",
                                folder, number);
    }
    line += length + !last;
  }
  free(text);
  return status;
}

/* -- the tree --------------------------------------------------------------------------------- */

BurnStatus burn__report_check_folder(const char *folder) {
  if (!folder || !folder[0]) return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "report: artifact_dir is missing");
  if (strlen(folder) < BURN_ARTIFACT_BYTES) return BURN_OK;
  return burn_status_make(BURN_STATUS_INVALID_ARGUMENT,
                          "report: artifact_dir has %zu characters, at most %d are possible", strlen(folder),
                          BURN_ARTIFACT_BYTES - 1);
}

BurnStatus burn__report_read(const BurnReportConfig *config, cJSON **root) {
  BurnStatus status = BURN_REQUIRED_BY("report", config, "a BurnReportConfig");
  const char *folder = config ? config->artifact_dir : NULL;
  if (status == BURN_OK) status = burn__report_check_folder(folder);
  if (status != BURN_OK) return status;
  cJSON *tree = *root = cJSON_CreateObject();
  if (!tree) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "report: out of memory");
  add_text(tree, "title", config->title ? config->title : folder_name(folder), &status);
  burn__report_put(tree, "written", cJSON_CreateNumber(burn__train_wall_seconds()), &status);
  if (status == BURN_OK) status = burn__report_logs(folder, tree);
  if (status == BURN_OK) status = read_checkpoint(folder, tree);
  if (status == BURN_OK) status = read_config(folder, tree);
  if (status == BURN_OK) status = read_confusion(folder, tree);
  if (status == BURN_OK) status = read_samples(folder, tree);
  if (status == BURN_OK) return BURN_OK;
  cJSON_Delete(tree);
  *root = NULL;
  return status;
}

char *burn_report_json(const BurnReportConfig *config, BurnStatus *status) {
  cJSON *root = NULL;
  BurnStatus result = burn__entry_status(status);
  if (result == BURN_OK) result = burn__report_read(config, &root);
  char *text = root ? cJSON_Print(root) : NULL;
  cJSON_Delete(root);
  if (text) (void)burn_text_clean(text); /* escapes in JSON can stand for any byte */
  if (result == BURN_OK && !text) result = burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "report: out of memory");
  burn__store_status(status, result);
  return text;
}

BurnStatus burn_report_write(const BurnReportConfig *config) {
  BurnTextBuilder out = BURN_TEXT_BUILDER;
  char path[BURN_PATH_BYTES];
  cJSON *root = NULL;
  BurnStatus status = burn__report_read(config, &root);
  if (status != BURN_OK) return status;
  burn__report_html(&out, root);
  if (!out.failed) (void)burn_text_clean(out.text); /* escapes in JSON can stand for any byte */
  cJSON_Delete(root);
  (void)snprintf(path, sizeof path, "%.*s/report.html", BURN_ARTIFACT_BYTES, config->artifact_dir);
  const char *to = config->path ? config->path : path;
  status = out.failed ? burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "out of memory")
                      : burn_file_write(to, out.text, out.length);
  burn__text_release(&out);
  return burn_status_annotate(status, "report: %s", to);
}

BurnStatus burn_report_on_epoch(void *context, const BurnEpochResult *result) {
  (void)result;
  return burn_report_write(context);
}
