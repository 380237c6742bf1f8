/* file_log.c - see file_log.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <burn/text.h>

#include "learner_internal.h"

/* "Top K/5" is in Top_K-5.log. */
static void log_path(const BurnFileLog *log, const char *name, char path[BURN_PATH_BYTES]) {
  const size_t folder = strlen(log->folder);
  (void)snprintf(path, BURN_PATH_BYTES, "%.*s/%.200s.log", BURN_PATH_BYTES - 256, log->folder, name);
  for (char *at = path + folder + 1; *at; at++) {
    if (*at == ' ') *at = '_';
    if (*at == '/' || *at == '\\') *at = '-';
  }
}

static BurnStatus failed(const char *what, const char *path, int error) {
  char reason[128];
  return burn_status_make(BURN_STATUS_IO, "%s %s: %s", what, path,
                          burn__train_errno_text(error, reason, sizeof reason));
}

static BurnStatus open_one(BurnFileLog *log, size_t index, const char *name) {
  char path[BURN_PATH_BYTES];
  log_path(log, name, path);
  errno = 0;
  FILE *file = log->files[index] = burn__log_open(path, log->bytes[index]);
  if (!file) return failed("cannot open", path, errno);
  if (fseek(file, 0, SEEK_END) == 0 && (uint64_t)ftell(file) < log->bytes[index]) {
    burn__train_warn("%s is shorter than it was at the checkpoint: lines are missing", path);
    log->bytes[index] = (uint64_t)ftell(file);
  }
  return BURN_OK;
}

BurnStatus burn__file_log_open(BurnFileLog *log, const char *artifact_dir, const char *folder, const char *const *names,
                               size_t count, uint64_t *bytes) {
  memset(log->files, 0, sizeof log->files);
  log->bytes = bytes;
  snprintf(log->folder, sizeof log->folder, "%.*s/%s", BURN_ARTIFACT_BYTES, artifact_dir, folder);
  BurnStatus status = burn_folder_make(log->folder);
  for (size_t i = 0; i < count && status == BURN_OK; i++) {
    if (bytes[i] > 0) status = open_one(log, i, names[i]);
  }
  return status;
}

BurnStatus burn__file_log(BurnFileLog *log, size_t index, const BurnLogEntry *entry) {
  char number[BURN_NUMBER_BYTES], of[32] = "final", path[BURN_PATH_BYTES];
  const BurnStatus status = log->files[index] ? BURN_OK : open_one(log, index, entry->metric);
  if (status != BURN_OK) return status;
  if (!entry->final) snprintf(of, sizeof of, "%.0f", entry->weight);
  errno = 0;
  const int length = fprintf(log->files[index], "%s,%s\n", burn_number_text(entry->value, 9, number), of);
  if (length > 0 && fflush(log->files[index]) == 0) {
    if (!entry->final) log->bytes[index] += (uint64_t)length; /* a run that resumes writes it anew */
    return BURN_OK;
  }
  const int error = errno;
  (void)fclose(log->files[index]);
  log->files[index] = NULL;
  log_path(log, entry->metric, path);
  return failed("cannot write", path, error);
}

BurnStatus burn__file_log_close(BurnFileLog *log) {
  BurnStatus status = BURN_OK;
  for (size_t i = 0; i < BURN_MAX_METRICS; i++) {
    errno = 0;
    if (log->files[i] && fclose(log->files[i]) != 0 && status == BURN_OK) {
      status = failed("cannot close a log in", log->folder, errno);
    }
    log->files[i] = NULL;
  }
  return status;
}

/* -- logs of earlier runs --------------------------------------------------------------------- */

typedef struct ClearContext {
  const char *folder;
  size_t first_epoch;
} ClearContext;

size_t burn__epoch_of_name(const char *name) {
  char expected[48];
  if (strncmp(name, "epoch-", 6) != 0) return 0;
  const unsigned long long epoch = strtoull(name + 6, NULL, 10);
  snprintf(expected, sizeof expected, "epoch-%llu", epoch);
  return strcmp(name, expected) == 0 && epoch < SIZE_MAX ? (size_t)epoch : 0;
}

static BurnStatus remove_log(void *context, const char *name) {
  const size_t length = strlen(name);
  char path[BURN_PATH_BYTES + 320];
  if (length < 5 || strcmp(name + length - 4, ".log") != 0) return BURN_OK;
  snprintf(path, sizeof path, "%s/%s", (const char *)context, name);
  return burn__file_remove(path);
}

static BurnStatus clear_one(void *context, const char *name) {
  const ClearContext *clear = context;
  const size_t epoch = burn__epoch_of_name(name);
  char path[BURN_PATH_BYTES + 64];
  if (epoch == 0 || epoch < clear->first_epoch) return BURN_OK;
  snprintf(path, sizeof path, "%s/%s", clear->folder, name);
  const BurnStatus status = burn__folder_list(path, remove_log, path);
  if (status == BURN_OK) burn__folder_remove(path);
  return status;
}

BurnStatus burn__file_log_remove(const char *artifact_dir, const char *folder) {
  char path[BURN_PATH_BYTES];
  snprintf(path, sizeof path, "%.*s/%s", BURN_ARTIFACT_BYTES, artifact_dir, folder);
  return burn__folder_list(path, remove_log, path);
}

BurnStatus burn__file_log_clear(const char *artifact_dir, size_t first_train_epoch, size_t first_valid_epoch) {
  const size_t first_epochs[BURN_EPOCH_SPLITS] = {first_train_epoch, first_valid_epoch};
  BurnStatus status = BURN_OK;
  char folder[BURN_PATH_BYTES];
  for (size_t i = 0; i < BURN_EPOCH_SPLITS && status == BURN_OK; i++) {
    ClearContext clear = {folder, first_epochs[i]};
    snprintf(folder, sizeof folder, "%.*s/%s", BURN_ARTIFACT_BYTES, artifact_dir, burn__split_names[i]);
    status = burn__folder_list(folder, clear_one, &clear);
  }
  return status;
}
