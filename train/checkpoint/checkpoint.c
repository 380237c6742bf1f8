/* checkpoint.c - the state of a run after an epoch, or in the middle of one, in three files of
 * {artifact_dir}/checkpoint:
 *
 *   model-{epoch}.mpk      the module's record, as burn_record_save writes it
 *   optim-{epoch}.mpk      the optimizer's state by parameter id
 *   learner-{epoch}.mpk    random states of the device and the one below autodiff, results of all epochs,
 *                          what the run is made from, the loss scale; in the middle of an epoch also how far
 *                          its averages and logs are
 *
 * In the middle of an epoch, after some of its batches, they are called model-{epoch}-{batches}.mpk and so on.
 *
 * The order of writes makes it safe to be killed at any moment: each file appears whole under its name (record.h), the
 * learner file last, and older checkpoints are removed only after that, their learner file first. A checkpoint whose
 * learner file is missing was never finished. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "learner_internal.h"

/* The files of a checkpoint; the last one written and first one removed is its mark. */
enum { MODEL = 0, OPTIM = 1, LEARNER = 2, PART_COUNT = 3 };
static const char *const part_names[PART_COUNT] = {"model", "optim", "learner"};

void burn__partial_reset(BurnPartial *partial) {
  burn__metric_states_release(partial->metrics);
  *partial = (BurnPartial){0};
}

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

/* "{artifact_dir}/checkpoint"; the learner has checked the length. */
static void folder_path(const char *artifact_dir, char path[BURN_PATH_BYTES]) {
  snprintf(path, BURN_PATH_BYTES, "%.*s/checkpoint", BURN_ARTIFACT_BYTES, artifact_dir);
}

/* Where in a run a checkpoint was made: after `epochs` epochs and `batches` batches of the next. */
typedef struct Position {
  size_t epochs, batches;
} Position;

static Position position_of(const BurnRun *run) { return (Position){run->history.count, run->partial.batches}; }

/* -1, 0 or 1: a before, at or after b. */
static int compare_positions(Position a, Position b) {
  if (a.epochs != b.epochs) return a.epochs < b.epochs ? -1 : 1;
  return a.batches == b.batches ? 0 : a.batches < b.batches ? -1 : 1;
}

/* "model-12.mpk", or "model-13-67.mpk" after 12 epochs and 67 batches. */
typedef struct PartName {
  char text[64];
} PartName;

static PartName part_name(int part, Position at) {
  PartName name;
  if (at.batches == 0) {
    snprintf(name.text, sizeof name.text, "%s-%zu.mpk", part_names[part], at.epochs);
  } else {
    snprintf(name.text, sizeof name.text, "%s-%zu-%zu.mpk", part_names[part], at.epochs + 1, at.batches);
  }
  return name;
}

static void part_path(const char *folder, int part, Position at, char path[BURN_PATH_BYTES]) {
  snprintf(path, BURN_PATH_BYTES, "%.*s/%s", BURN_PATH_BYTES - 96, folder, part_name(part, at).text);
}

/* Whether a name is exactly that of this part of a checkpoint, and of which. */
static bool position_of_name(const char *name, int part, Position *at) {
  const size_t prefix = strlen(part_names[part]);
  char *end;
  if (strncmp(name, part_names[part], prefix) != 0 || name[prefix] != '-') return false;
  at->epochs = (size_t)strtoull(name + prefix + 1, &end, 10);
  at->batches = 0;
  if (*end == '-' && at->epochs > 0) {
    at->batches = (size_t)strtoull(end + 1, NULL, 10);
    at->epochs--;
  }
  return at->epochs + at->batches > 0 && strcmp(name, part_name(part, *at).text) == 0;
}

/* -- save ------------------------------------------------------------------------------------- */

static BurnStatus find_wide(void *context, const BurnModuleTensor *tensor) {
  BurnTensor *value = tensor->param ? burn_param_base(tensor->param) : burn_buffer_value(tensor->buffer);
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

/* {"train": .., "valid": ..} */
static BurnValue *values_value(const double values[BURN_EPOCH_SPLITS]) {
  BurnValue *value = burn_value_map();
  bool sound = true;
  for (int i = 0; i < BURN_EPOCH_SPLITS; i++) {
    sound = burn_value_set(value, burn__split_names[i], burn_value_float(values[i])) && sound;
  }
  if (sound) return value;
  burn_value_destroy(value);
  return NULL;
}

/* The epoch is its place. */
static BurnValue *result_value(const BurnEpochResult *result) {
  BurnValue *value = burn_value_map(), *metrics = burn_value_map();
  bool sound = true;
  for (size_t i = 0; i < result->metric_count; i++) {
    const BurnMetricResult *metric = &result->metrics[i];
    sound = burn_value_set(metrics, metric->name, values_value(metric->values)) && sound;
  }
  sound = burn_value_set(value, "metrics", metrics) && sound;
  sound = burn_value_set(value, "seconds", burn_value_float(result->seconds)) && sound;
  sound = burn_value_set(value, "items_per_second", burn_value_float(result->items_per_second)) && sound;
  sound = burn_value_set(value, "finite", burn_value_bool(result->finite)) && sound;
  if (sound) return value;
  burn_value_destroy(value);
  return NULL;
}

static BurnValue *state_value(const BurnMetricState *state, uint64_t log_bytes) {
  BurnValue *value = burn_value_map(), *numbers = burn_value_array();
  bool sound = true;
  for (size_t i = 0; i < state->count; i++) {
    sound = burn_value_append(numbers, burn_value_float(state->numbers[i])) && sound;
  }
  sound = burn_value_set(value, "numbers", numbers) && sound;
  sound = burn_value_set(value, "weight", burn_value_float(state->weight)) && sound;
  sound = burn_value_set(value, "log_bytes", burn_value_int((int64_t)log_bytes)) && sound;
  if (sound) return value;
  burn_value_destroy(value);
  return NULL;
}

static BurnValue *partial_value(const BurnRun *run) {
  const BurnPartial *partial = &run->partial;
  BurnValue *value = burn_value_map(), *metrics = burn_value_map();
  bool sound = burn_value_set(value, "batches", burn_value_int((int64_t)partial->batches));
  sound = burn_value_set(value, "items", burn_value_int((int64_t)partial->items)) && sound;
  sound = burn_value_set(value, "seconds", burn_value_float(partial->seconds)) && sound;
  for (size_t i = 0; i < run->metrics.count; i++) {
    BurnValue *state = state_value(&partial->metrics[i], partial->log_bytes[i]);
    sound = burn_value_set(metrics, burn__metric_name(&run->metrics.items[i]), state) && sound;
  }
  sound = burn_value_set(value, "metrics", metrics) && sound;
  if (sound) return value;
  burn_value_destroy(value);
  return NULL;
}

static BurnValue *learner_value(const BurnRun *run) {
  BurnValue *value = burn_value_map(), *history = burn_value_array();
  bool sound = true;
  for (size_t i = 0; i < run->history.count; i++) {
    sound = burn_value_append(history, result_value(&run->history.results[i])) && sound;
  }
  sound = burn_value_set(value, "random", random_value(run->device)) && sound;
  sound = burn_value_set(value, "random_inner", random_value(burn_device_inner(run->device))) && sound;
  sound = burn_value_set(value, "history", history) && sound;
  sound = burn_value_set(value, "settings", burn__settings_value(&run->settings)) && sound;
  sound = burn_value_set(value, "stack", burn_value_text(burn_device_fingerprint(run->device))) && sound;
  if (run->scaler) sound = burn_value_set(value, "grad_scaler", burn_grad_scaler_value(run->scaler)) && sound;
  if (run->partial.batches) sound = burn_value_set(value, "partial", partial_value(run)) && sound;
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
  const BurnHistory *history; /* NULL: nothing stays */
  Position at;                /* of the checkpoint just written */
  const BurnCheckpointStrategy *strategy;
  bool later_stay; /* those after `at`: damaged ones that a resumed run has passed over */
  int part;
} PruneContext;

/* A checkpoint in the middle of an epoch goes with the next one that is written, and takes none away. */
static bool stays(const PruneContext *prune, Position found) {
  const int order = compare_positions(found, prune->at);
  if (!prune->history) return false;
  if (order >= 0) return order == 0 || prune->later_stay;
  if (found.batches) return false;
  const BurnCheckpointStrategy *strategy = prune->strategy;
  return prune->at.batches ||
         strategy->keeps(strategy->context, prune->history->results, prune->history->count, found.epochs);
}

static BurnStatus prune_one(void *context, const char *name) {
  const PruneContext *prune = context;
  Position found;
  char path[BURN_PATH_BYTES];
  if (!position_of_name(name, prune->part, &found) || stays(prune, found)) return BURN_OK;
  part_path(prune->folder, prune->part, found, path);
  return burn__file_remove(path);
}

/* Removes the files of all checkpoints that do not stay. */
static BurnStatus prune(PruneContext context) {
  BurnStatus status = BURN_OK;
  context.part = PART_COUNT;
  while (context.part-- > 0 && status == BURN_OK) status = burn__folder_list(context.folder, prune_one, &context);
  return status;
}

BurnStatus burn__checkpoint_clear(const char *artifact_dir) {
  char folder[BURN_PATH_BYTES];
  folder_path(artifact_dir, folder);
  return prune((PruneContext){.folder = folder});
}

BurnStatus burn__checkpoint_prune(const BurnRun *run, const char *artifact_dir, bool later_stay,
                                  const BurnCheckpointStrategy *strategy) {
  char folder[BURN_PATH_BYTES];
  folder_path(artifact_dir, folder);
  return prune((PruneContext){.folder = folder,
                              .history = &run->history,
                              .at = position_of(run),
                              .strategy = strategy,
                              .later_stay = later_stay});
}

BurnStatus burn__checkpoint_save(const BurnRun *run, const char *artifact_dir, const BurnCheckpointStrategy *strategy) {
  const Position at = position_of(run);
  char folder[BURN_PATH_BYTES], path[BURN_PATH_BYTES];
  BurnRecordConfig config;
  folder_path(artifact_dir, folder);
  BurnStatus status = burn_folder_make(folder);
  if (status == BURN_OK) status = exact_precision(run->module, &config);
  if (status != BURN_OK) return status;
  part_path(folder, MODEL, at, path);
  status = burn_record_save(run->module, path, &config);
  if (status != BURN_OK) return status;
  part_path(folder, OPTIM, at, path);
  status = write_value(burn_optimizer_value(run->optimizer), path, &config);
  if (status != BURN_OK) return status;
  part_path(folder, LEARNER, at, path);
  status = write_value(learner_value(run), path, &learner_record);
  if (status != BURN_OK) return status;
  return prune((PruneContext){.folder = folder, .history = &run->history, .at = at, .strategy = strategy});
}

/* -- restore ---------------------------------------------------------------------------------- */

/* The checkpoints of which there is any file. */
typedef struct Found {
  Position *positions;
  size_t count, capacity;
} Found;

static BurnStatus note_position(void *context, const char *name) {
  Found *found = context;
  Position at;
  int part = 0;
  while (part < PART_COUNT && !position_of_name(name, part, &at)) part++;
  if (part == PART_COUNT) return BURN_OK;
  for (size_t i = 0; i < found->count; i++) {
    if (compare_positions(found->positions[i], at) == 0) return BURN_OK;
  }
  if (found->count == found->capacity) {
    const size_t capacity = found->capacity ? 2 * found->capacity : 8;
    Position *positions = realloc(found->positions, capacity * sizeof *positions);
    if (!positions)
      return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "learner: out of memory for %zu checkpoints", capacity);
    found->positions = positions;
    found->capacity = capacity;
  }
  found->positions[found->count++] = at;
  return BURN_OK;
}

static int newest_first(const void *a, const void *b) {
  return compare_positions(*(const Position *)b, *(const Position *)a);
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

/* The value of a metric of an epoch, also in files from before metrics had names: {"train_loss": ..}. */
static double metric_value(const BurnValue *epoch, const char *metric, int split) {
  static const struct {
    const char *metric, *names[BURN_EPOCH_SPLITS];
  } former[] = {{"Loss", {"train_loss", "valid_loss"}}, {"Accuracy", {"train_accuracy", "valid_accuracy"}}};
  const BurnValue *metrics = burn_value_get(epoch, "metrics");
  const BurnValue *found = burn_value_get(burn_value_get(metrics, metric), burn__split_names[split]);
  for (size_t i = 0; i < 2 && !metrics; i++) {
    if (strcmp(former[i].metric, metric) == 0) found = burn_value_get(epoch, former[i].names[split]);
  }
  return burn_value_as_float(found, (double)NAN);
}

static BurnStatus history_restore(const BurnValue *value, size_t epoch, BurnRun *run) {
  BurnStatus status = BURN_OK;
  if (burn_value_kind(value) != BURN_VALUE_ARRAY || burn_value_count(value) != epoch) {
    return burn_status_make(BURN_STATUS_CORRUPT_DATA, "history of %zu epochs, %zu expected", burn_value_count(value),
                            epoch);
  }
  for (size_t i = 0; i < epoch && status == BURN_OK; i++) {
    const BurnValue *entry = burn_value_at(value, i);
    BurnEpochResult result;
    burn__result_begin(&result, &run->metrics, i + 1);
    for (size_t m = 0; m < result.metric_count; m++) {
      BurnMetricResult *metric = &result.metrics[m];
      for (int split = 0; split < BURN_EPOCH_SPLITS; split++)
        metric->values[split] = metric_value(entry, metric->name, split);
    }
    result.finite = burn_value_as_bool(burn_value_get(entry, "finite"), true);
    result.seconds = burn_value_as_float(burn_value_get(entry, "seconds"), (double)NAN);
    result.items_per_second = burn_value_as_float(burn_value_get(entry, "items_per_second"), (double)NAN);
    status = burn__history_add(&run->history, &result);
  }
  return status;
}

/* {"numbers": [..], "weight": .., "log_bytes": ..}, before {"sum": .., "items": .., "log_bytes": ..}. */
static BurnStatus state_restore(const BurnValue *value, BurnMetricState *state, uint64_t *log_bytes) {
  const BurnValue *numbers = burn_value_get(value, "numbers"), *sum = burn_value_get(value, "sum");
  const size_t count = sum ? 1 : burn_value_count(numbers);
  const int64_t bytes = burn_value_as_int(burn_value_get(value, "log_bytes"), 0);
  state->weight = burn_value_as_float(burn_value_get(value, sum ? "items" : "weight"), 0);
  if (!(state->weight >= 0) || !isfinite(state->weight) || bytes < 0 || (count == 0 && state->weight > 0))
    return burn_status_make(BURN_STATUS_CORRUPT_DATA, "a metric of %zu numbers of weight %g, with %lld bytes of logs",
                            count, state->weight, (long long)bytes);
  *log_bytes = (uint64_t)bytes;
  if (count == 0) return BURN_OK;
  state->numbers = calloc(count, sizeof *state->numbers);
  if (!state->numbers) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "learner: out of memory for a metric");
  state->count = count;
  for (size_t i = 0; i < count; i++) {
    state->numbers[i] = burn_value_as_float(sum ? sum : burn_value_at(numbers, i), 0);
  }
  return BURN_OK;
}

/* Where the state of a metric is, also in such files: {"loss": ..}. */
static const BurnValue *partial_metric(const BurnValue *partial, const char *name) {
  const BurnValue *metrics = burn_value_get(partial, "metrics");
  if (metrics) return burn_value_get(metrics, name);
  if (strcmp(name, "Loss") == 0) return burn_value_get(partial, "loss");
  return strcmp(name, "Accuracy") == 0 ? burn_value_get(partial, "accuracy") : NULL;
}

static BurnStatus partial_restore(const BurnValue *value, Position at, BurnRun *run) {
  BurnPartial *partial = &run->partial;
  const int64_t batches = burn_value_as_int(burn_value_get(value, "batches"), 0);
  BurnStatus status = BURN_OK;
  burn__partial_reset(partial);
  if (batches < 0 || (uint64_t)batches != at.batches) {
    return burn_status_make(BURN_STATUS_CORRUPT_DATA, "%lld batches, %zu expected", (long long)batches, at.batches);
  }
  if (batches == 0) return BURN_OK;
  partial->seconds = burn_value_as_float(burn_value_get(value, "seconds"), 0);
  for (size_t i = 0; i < run->metrics.count && status == BURN_OK; i++) {
    const char *name = burn__metric_name(&run->metrics.items[i]);
    const BurnValue *state = partial_metric(value, name);
    if (state) status = state_restore(state, &partial->metrics[i], &partial->log_bytes[i]);
    if (!state) burn__train_warn("%s was not measured before batch %zu: its epoch begins there", name, at.batches + 1);
  }
  const int64_t items = burn_value_as_int(burn_value_get(value, "items"), (int64_t)partial->metrics[0].weight);
  partial->items = items > 0 ? (size_t)items : 0;
  partial->batches = at.batches;
  return status;
}

static BurnStatus learner_restore(BurnRun *run, Position at, const BurnValue *value) {
  run->history.count = 0;
  BurnStatus status = history_restore(burn_value_get(value, "history"), at.epochs, run);
  if (status == BURN_OK) status = partial_restore(burn_value_get(value, "partial"), at, run);
  const BurnValue *scaler = burn_value_get(value, "grad_scaler");
  if (status == BURN_OK && run->scaler && scaler) status = burn_grad_scaler_load(run->scaler, scaler);
  if (status != BURN_OK) return status;
  if (random_restore(burn_value_get(value, "random"), run->device) &&
      random_restore(burn_value_get(value, "random_inner"), burn_device_inner(run->device))) {
    return BURN_OK;
  }
  return burn_status_make(BURN_STATUS_CORRUPT_DATA, "no random state");
}

/* Puts the three records into the run; the module, which checks most, first. */
static BurnStatus restore_values(BurnRun *run, Position at, BurnValue *const *values) {
  BurnStatus status = burn_status_annotate(burn_value_into_module(values[MODEL], run->module), "model");
  if (status != BURN_OK) return status;
  status = burn_status_annotate(burn_optimizer_load(run->optimizer, values[OPTIM], run->device), "optim");
  if (status != BURN_OK) return status;
  return burn_status_annotate(learner_restore(run, at, values[LEARNER]), "learner");
}

/* Is this the same run, on the same stack? */
static BurnStatus check_identity(const BurnRun *run, const BurnLearnerConfig *config, const BurnValue *learner) {
  const char *now = burn_device_fingerprint(run->device);
  const char *before = burn_value_as_text(burn_value_get(learner, "stack"), now);
  const BurnStatus status = burn__settings_check(&run->settings, burn_value_get(learner, "settings"), config);
  if (status != BURN_OK || strcmp(now, before) == 0) return status;
  burn__train_warn("resuming on %s; the checkpoint was made on %s: the last digits of numbers may differ from there on",
                   now, before);
  return BURN_OK;
}

/* Reads the three files, the mark first. */
static BurnStatus read_parts(const char *folder, Position at, BurnValue **values) {
  char path[BURN_PATH_BYTES];
  BurnStatus status = BURN_OK;
  for (int part = PART_COUNT; part-- > 0 && status == BURN_OK;) {
    part_path(folder, part, at, path);
    status = burn__file_exists(path) ? burn_value_read(path, &learner_record, &values[part])
                                     : burn_status_make(BURN_STATUS_NOT_FOUND, "%s is missing", path);
  }
  return status;
}

/* Only damage to the files is a reason to take an older checkpoint. */
static bool is_damage(BurnStatus status) {
  const uint32_t code = burn_status_code(status);
  return code == BURN_STATUS_CORRUPT_DATA || code == BURN_STATUS_NOT_FOUND || code == BURN_STATUS_IO ||
         code == BURN_STATUS_OUT_OF_RANGE;
}

static BurnStatus restore_one(BurnRun *run, const BurnLearnerConfig *config, const char *folder, Position at) {
  BurnValue *values[PART_COUNT] = {NULL};
  BurnStatus status = read_parts(folder, at, values);
  if (status == BURN_OK) status = check_identity(run, config, values[LEARNER]);
  if (status == BURN_OK) status = restore_values(run, at, values);
  for (int part = 0; part < PART_COUNT; part++) burn_value_destroy(values[part]);
  if (status == BURN_OK) return status;
  if (at.batches) return burn_status_annotate(status, "checkpoint of epoch %zu, batch %zu", at.epochs + 1, at.batches);
  return burn_status_annotate(status, "checkpoint of epoch %zu", at.epochs);
}

/* Takes the newest that is whole. One without its mark was never finished: when there is no other, the run begins anew.
 */
static BurnStatus restore_newest(BurnRun *run, const BurnLearnerConfig *config, const char *folder,
                                 const Found *found) {
  BurnStatus newest = BURN_OK;
  bool any_finished = false;
  for (size_t i = 0; i < found->count; i++) {
    char mark[BURN_PATH_BYTES];
    const BurnStatus status = restore_one(run, config, folder, found->positions[i]);
    if (status == BURN_OK || !is_damage(status)) return status;
    burn__train_warn("%s; passed over", burn_status_message(status));
    if (newest == BURN_OK) newest = status;
    part_path(folder, LEARNER, found->positions[i], mark);
    any_finished = any_finished || burn__file_exists(mark);
  }
  run->history.count = 0;
  burn__partial_reset(&run->partial);
  if (!any_finished) return BURN_OK;
  return burn_status_annotate(
      newest, "no checkpoint in %s can be used; put back an intact copy, or begin anew without resume. The newest",
      folder);
}

BurnStatus burn__checkpoint_restore(BurnRun *run, const BurnLearnerConfig *config) {
  char folder[BURN_PATH_BYTES];
  Found found = {NULL, 0, 0};
  folder_path(config->artifact_dir, folder);
  if (config->resume_epoch) return restore_one(run, config, folder, (Position){config->resume_epoch, 0});
  BurnStatus status = burn__folder_list(folder, note_position, &found);
  if (status == BURN_OK && found.count) qsort(found.positions, found.count, sizeof *found.positions, newest_first);
  if (status == BURN_OK) status = restore_newest(run, config, folder, &found);
  free(found.positions);
  return status;
}
