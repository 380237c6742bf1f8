/* checkpoint.c - the state of a run after an epoch, in three files of {artifact_dir}/checkpoint:
 *
 *   model-{epoch}.mpk      the module's record, as burn_record_save writes it
 *   optim-{epoch}.mpk      the optimizer's state by parameter id
 *   learner-{epoch}.mpk    random states of the device and the one below autodiff, results of all epochs
 *
 * The order of writes makes it safe to be killed at any moment: each file appears whole under its name (record.h), the learner
 * file last, and older checkpoints are removed only after that, their learner file first. A checkpoint whose learner file is
 * missing does not exist. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "learner_internal.h"

/* The files of a checkpoint; the last one written and first one removed is its mark. */
enum { MODEL = 0, OPTIM = 1, LEARNER = 2, PART_COUNT = 3 };
static const char *const part_names[PART_COUNT] = {"model", "optim", "learner"};

BurnStatus burn__history_add(BurnHistory *history, const BurnEpochResult *result) {
  if (history->count == history->capacity) {
    const size_t capacity = history->capacity ? 2 * history->capacity : 16;
    BurnEpochResult *results = realloc(history->results, capacity * sizeof *results);
    if (!results) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "learner: out of memory for its history");
    history->results = results;
    history->capacity = capacity;
  }
  history->results[history->count++] = *result;
  return BURN_OK;
}

/* "{artifact_dir}/checkpoint" */
static BurnStatus folder_path(const char *artifact_dir, char path[BURN_PATH_BYTES]) {
  const int length = snprintf(path, BURN_PATH_BYTES, "%s/checkpoint", artifact_dir);
  if (length > 0 && length < BURN_PATH_BYTES - 64) return BURN_OK; /* 64: for the name of a file */
  return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "artifact_dir of %zu bytes is too long", strlen(artifact_dir));
}

static void part_path(const char *folder, int part, size_t epoch, char path[BURN_PATH_BYTES]) {
  snprintf(path, BURN_PATH_BYTES, "%.*s/%s-%zu.mpk", BURN_PATH_BYTES - 64, folder, part_names[part], epoch);
}

/* The epoch of a name such as "model-12.mpk" of this part; 0 if it is none. */
static size_t epoch_of_name(const char *name, int part) {
  const size_t prefix = strlen(part_names[part]);
  unsigned long long epoch;
  char expected[64];
  if (strncmp(name, part_names[part], prefix) != 0 || name[prefix] != '-') return 0;
  epoch = strtoull(name + prefix + 1, NULL, 10);
  snprintf(expected, sizeof expected, "%s-%llu.mpk", part_names[part], epoch);
  return strcmp(name, expected) == 0 && epoch < SIZE_MAX ? (size_t)epoch : 0;
}

/* -- save -------------------------------------------------------------------------------------------------------------- */

static BurnStatus find_wide(void *context, const BurnModuleTensor *tensor) {
  BurnTensor *value = tensor->param ? burn_param_value(tensor->param) : burn_buffer_value(tensor->buffer);
  const BurnDType dtype = burn_dtype(value);
  if (dtype == BURN_DTYPE_F64 || dtype == BURN_DTYPE_I64) *(uint32_t *)context = BURN_PRECISION_DOUBLE;
  burn_drop(value);
  return BURN_OK;
}

/* A precision that loses no bit of the module: double if it has 64-bit tensors. */
static BurnStatus exact_precision(BurnModule module, BurnRecordConfig *config) {
  *config = (BurnRecordConfig){BURN_RECORD_MPK, BURN_PRECISION_FULL};
  return burn_module_visit(module, find_wide, &config->precision);
}

static const BurnRecordConfig learner_record = {BURN_RECORD_MPK, BURN_PRECISION_DOUBLE};

static BurnValue *random_value(const BurnDevice *device) {
  const BurnRandomState state = burn_device_random_state(device);
  BurnValue *value = burn_value_map();
  burn_value_set(value, "seed", burn_value_int((int64_t)state.seed));
  burn_value_set(value, "offset", burn_value_int((int64_t)state.offset));
  if (burn_value_count(value) == 2) return value;
  burn_value_destroy(value);
  return NULL;
}

/* The numbers of a BurnEpochResult: FIELD(name). The epoch is its place. */
#define RESULT_FIELDS(FIELD) \
  FIELD(train_loss) FIELD(train_accuracy) FIELD(valid_loss) FIELD(valid_accuracy) FIELD(seconds) FIELD(items_per_second)

static BurnValue *result_value(const BurnEpochResult *result) {
  BurnValue *value = burn_value_map();
  bool sound = true;
#define FIELD(name) sound = burn_value_set(value, #name, burn_value_float(result->name)) && sound;
  RESULT_FIELDS(FIELD)
#undef FIELD
  if (sound) return value;
  burn_value_destroy(value);
  return NULL;
}

static BurnValue *learner_value(const BurnRun *run) {
  BurnValue *value = burn_value_map(), *history = burn_value_array();
  bool sound = true;
  size_t i;
  for (i = 0; i < run->history.count; i++) {
    sound = burn_value_append(history, result_value(&run->history.results[i])) && sound;
  }
  sound = burn_value_set(value, "random", random_value(run->device)) && sound;
  sound = burn_value_set(value, "random_inner", random_value(burn_device_inner(run->device))) && sound;
  sound = burn_value_set(value, "history", history) && sound;
  if (sound) return value;
  burn_value_destroy(value);
  return NULL;
}

static BurnStatus write_value(BurnValue *value, const char *path, const BurnRecordConfig *config) {
  const BurnStatus status = burn_value_write(value, path, config);
  burn_value_destroy(value);
  return status;
}

typedef struct PruneContext {
  const char *folder;
  size_t first, last; /* epochs that stay */
  int part;
} PruneContext;

static BurnStatus prune_one(void *context, const char *name) {
  const PruneContext *prune = context;
  const size_t epoch = epoch_of_name(name, prune->part);
  char path[BURN_PATH_BYTES];
  if (epoch == 0 || (epoch >= prune->first && epoch <= prune->last)) return BURN_OK;
  part_path(prune->folder, prune->part, epoch, path);
  return burn__file_remove(path);
}

/* Removes the files of all epochs but first .. last. */
static BurnStatus prune(const char *folder, size_t first, size_t last) {
  PruneContext context = {folder, first, last, PART_COUNT};
  BurnStatus status = BURN_OK;
  while (context.part-- > 0 && status == BURN_OK) status = burn__folder_list(folder, prune_one, &context);
  return status;
}

BurnStatus burn__checkpoint_clear(const char *artifact_dir) {
  char folder[BURN_PATH_BYTES];
  const BurnStatus status = folder_path(artifact_dir, folder);
  return status == BURN_OK ? prune(folder, 1, 0) : status;
}

BurnStatus burn__checkpoint_save(const BurnRun *run, const char *artifact_dir, size_t keep) {
  const size_t epoch = run->history.count;
  char folder[BURN_PATH_BYTES], path[BURN_PATH_BYTES];
  BurnRecordConfig config;
  BurnStatus status = folder_path(artifact_dir, folder);
  if (status == BURN_OK) status = burn_folder_make(folder);
  if (status == BURN_OK) status = exact_precision(run->module, &config);
  if (status != BURN_OK) return status;
  part_path(folder, MODEL, epoch, path);
  status = burn_record_save(run->module, path, &config);
  if (status != BURN_OK) return status;
  part_path(folder, OPTIM, epoch, path);
  status = write_value(burn_optimizer_value(run->optimizer), path, &config);
  if (status != BURN_OK) return status;
  part_path(folder, LEARNER, epoch, path);
  status = write_value(learner_value(run), path, &learner_record);
  return status == BURN_OK ? prune(folder, epoch > keep ? epoch - keep + 1 : 1, epoch) : status;
}

/* -- restore ----------------------------------------------------------------------------------------------------------- */

typedef struct NewestContext {
  const char *folder;
  size_t epoch;
} NewestContext;

static BurnStatus newest_one(void *context, const char *name) {
  NewestContext *newest = context;
  const size_t epoch = epoch_of_name(name, LEARNER);
  char path[BURN_PATH_BYTES];
  int part;
  if (epoch <= newest->epoch) return BURN_OK;
  for (part = 0; part < PART_COUNT; part++) {
    part_path(newest->folder, part, epoch, path);
    if (!burn__file_exists(path)) return BURN_OK;
  }
  newest->epoch = epoch;
  return BURN_OK;
}

static bool random_restore(const BurnValue *value, BurnDevice *device) {
  const BurnValue *seed = burn_value_get(value, "seed"), *offset = burn_value_get(value, "offset");
  BurnRandomState state;
  if (burn_value_kind(seed) != BURN_VALUE_INT || burn_value_kind(offset) != BURN_VALUE_INT) return false;
  state.seed = (uint64_t)burn_value_as_int(seed, 0);
  state.offset = (uint64_t)burn_value_as_int(offset, 0);
  burn_device_set_random_state(device, state);
  return true;
}

static BurnStatus history_restore(const BurnValue *value, size_t epoch, BurnHistory *history) {
  BurnStatus status = BURN_OK;
  size_t i;
  if (burn_value_kind(value) != BURN_VALUE_ARRAY || burn_value_count(value) != epoch) {
    return burn_status_make(BURN_STATUS_CORRUPT_DATA, "history of %zu epochs, %zu expected", burn_value_count(value), epoch);
  }
  for (i = 0; i < epoch && status == BURN_OK; i++) {
    const BurnValue *entry = burn_value_at(value, i);
    BurnEpochResult result = {.epoch = i + 1};
#define FIELD(name) result.name = burn_value_as_float(burn_value_get(entry, #name), (double)NAN);
    RESULT_FIELDS(FIELD)
#undef FIELD
    status = burn__history_add(history, &result);
  }
  return status;
}

/* Puts the three records into the run; the module, which checks most, first. */
static BurnStatus restore_values(BurnRun *run, size_t epoch, BurnValue *const *values) {
  BurnStatus status = burn_status_annotate(burn_value_into_module(values[MODEL], run->module), "model");
  if (status == BURN_OK) {
    status = burn_status_annotate(burn_optimizer_load(run->optimizer, values[OPTIM], run->device), "optim");
  }
  if (status == BURN_OK) {
    status = burn_status_annotate(history_restore(burn_value_get(values[LEARNER], "history"), epoch, &run->history), "learner");
  }
  if (status != BURN_OK) return status;
  if (random_restore(burn_value_get(values[LEARNER], "random"), run->device) &&
      random_restore(burn_value_get(values[LEARNER], "random_inner"), burn_device_inner(run->device))) {
    return BURN_OK;
  }
  return burn_status_make(BURN_STATUS_CORRUPT_DATA, "learner: no random state");
}

BurnStatus burn__checkpoint_restore(BurnRun *run, const char *artifact_dir) {
  char folder[BURN_PATH_BYTES], path[BURN_PATH_BYTES];
  NewestContext newest = {folder, 0};
  BurnValue *values[PART_COUNT] = {NULL};
  BurnStatus status = folder_path(artifact_dir, folder);
  int part;
  if (status == BURN_OK) status = burn__folder_list(folder, newest_one, &newest);
  if (status != BURN_OK || newest.epoch == 0) return status;
  for (part = 0; part < PART_COUNT && status == BURN_OK; part++) {
    part_path(folder, part, newest.epoch, path);
    status = burn_value_read(path, &learner_record, &values[part]);
  }
  if (status == BURN_OK) status = restore_values(run, newest.epoch, values);
  for (part = 0; part < PART_COUNT; part++) burn_value_destroy(values[part]);
  return burn_status_annotate(status, "checkpoint of epoch %zu", newest.epoch);
}
