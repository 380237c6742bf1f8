/* learner.c - the loop. Per batch: the user's step, backward and update (or a gradient more in the sum), metrics. Per
 * epoch: all training batches, then the validation batches on a copy of the module below autodiff, then the checkpoint;
 * only then the epoch counts as done and on_epoch hears of it. When the interrupter asks, the loop ends after an
 * optimizer step (or a validation batch, which then does not count), with a checkpoint of the batches done.
 *
 * A run is a function of the module, the optimizer, the device's random state and the loader's seed: all but the last
 * are in a checkpoint, and the order of epoch n depends on seed and n only. So a resumed run repeats an uninterrupted
 * one bit for bit. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <burn/file.h>
#include <burn/text.h>

#include "experiment_log.h"
#include "learner_internal.h"
#include "learner_step.h"

enum { PARAMETER_PATH_BYTES = 160 };

typedef struct Learner {
  const BurnLearnerConfig *config;
  const BurnTask *task;
  BurnRun run;
  BurnLoader *train, *valid;
  BurnLearnerResult *result;
  size_t kept; /* checkpoints, of the strategy of a run that names none */
  BurnCheckpointStrategy strategy;
  BurnRenderer renderer; /* without `batch`: nobody shows the run */
  BurnProgressLine line;
  BurnProgress progress;
  double run_start, epoch_start; /* in seconds of burn__seconds */
  BurnGradientsParams *sum;      /* of the batches since the last optimizer step, with gradient_accumulation */
  size_t summed;
  double seconds; /* of the training parts of this run */
  size_t epochs_here;
  bool warned;           /* of a loss that is not finite, in this epoch */
  BurnStatus log_status; /* the first log of this epoch that could not be written */
  BurnExperimentLog log;
} Learner;

/* -- one batch -------------------------------------------------------------------------------- */

/* Every gradient_accumulation batches the optimizer steps with the sum of their gradients (taken). */
static BurnStatus update(Learner *learner, BurnGradientsParams *ready, const BurnModuleLearningRate *rates,
                         bool *stepped) {
  const size_t group = learner->config->gradient_accumulation;
  BurnGradScaler *scaler = learner->config->grad_scaler;
  bool applied = true;
  BurnStatus status = BURN_OK;
  *stepped = false;
  if (group > 1) {
    status = burn_gradients_accumulate(&learner->sum, ready);
    if (status != BURN_OK || ++learner->summed < group) return status;
    ready = learner->sum;
    learner->sum = NULL;
    learner->summed = 0;
  }
  const BurnRun *run = &learner->run;
  status = scaler ? burn_grad_scaler_step_rates(scaler, run->optimizer, run->module, ready, rates, &applied)
                  : burn_optimizer_step_rates(run->optimizer, run->module, ready, rates);
  if (status == BURN_OK) (*(applied ? &learner->result->steps : &learner->result->skipped))++;
  *stepped = status == BURN_OK && applied;
  return status;
}

/* The rates of a batch (from 0) of an epoch. */
static BurnModuleLearningRate rates_of(const Learner *learner, size_t epoch, size_t batch) {
  const BurnLearnerConfig *config = learner->config;
  const uint64_t iteration = (uint64_t)(epoch - 1) * burn_loader_batch_count(learner->train) + batch;
  const double base = config->schedule.table ? burn_schedule_rate(&config->schedule, iteration) : config->learning_rate;
  return (BurnModuleLearningRate){base, config->rate_groups, config->rate_group_count, iteration};
}

/* What on_batch hears of a batch. */
static BurnBatchEvent event_of(const Learner *learner, size_t epoch, const BurnBatch *batch,
                               const BurnModuleLearningRate *rates) {
  return (BurnBatchEvent){.epoch = epoch,
                          .batch = batch->index + 1,
                          .batches = burn_loader_batch_count(learner->train),
                          .items = batch->item_count,
                          .iteration = rates->iteration,
                          .learning_rate = rates->base,
                          .module = learner->run.module};
}

static BurnStatus gradients_of(const Learner *learner, BurnBatch *batch, BurnStepOutput *output,
                               BurnGradientsParams **gradients) {
  const BurnLearnerConfig *config = learner->config;
  const BurnDataParallel step = {.task = *learner->task,
                                 .module = learner->run.module,
                                 .devices = config->device_count ? config->devices : &learner->run.device,
                                 .device_count = config->device_count ? config->device_count : 1,
                                 .grad_scaler = config->grad_scaler};
  return burn_data_parallel_step(&step, batch, output, gradients);
}

/* Measures after the update, when the device has the whole step to work on. */
static BurnStatus train_batch(Learner *learner, BurnBatch *batch, BurnMetricPass *pass) {
  const BurnModuleLearningRate rates = rates_of(learner, pass->epoch, batch->index);
  const BurnBatchCallbacks *on_batch = &learner->config->on_batch;
  BurnBatchEvent event = event_of(learner, pass->epoch, batch, &rates);
  BurnStepOutput output = {0};
  BurnGradientsParams *gradients = NULL;
  BurnStatus status = on_batch->before ? on_batch->before(on_batch->context, &event) : BURN_OK;
  if (status == BURN_OK) status = gradients_of(learner, batch, &output, &gradients);
  if (status != BURN_OK) return status;
  status = update(learner, gradients, &rates, &event.stepped);
  const BurnMetricInput input = {.output = &output, .items = batch->item_count, .learning_rate = rates.base};
  if (status == BURN_OK) status = burn__metrics_add(pass, batch->index + 1, &input);
  event.output = &output;
  if (status == BURN_OK && on_batch->after) status = on_batch->after(on_batch->context, &event);
  burn_step_drop(&output);
  return status;
}

/* -- numbers that are none -------------------------------------------------------------------- */

/* As on_nan says: a failure, or one warning per epoch. `late` is how it was noticed, or "". */
static BurnStatus not_finite(Learner *learner, size_t epoch, const char *what, double value, const char *late) {
  char number[BURN_NUMBER_BYTES], rate[BURN_NUMBER_BYTES];
  const size_t batch = learner->progress.batch ? learner->progress.batch - 1 : 0;
  burn_number_text(value, 6, number);
  if (learner->config->on_nan == BURN_NAN_WARN) {
    if (!learner->warned) {
      burn__train_warn("epoch %zu: %s is %s", epoch, what, number);
      burn__experiment_log_add(&learner->log, "WARN", "epoch %zu: %s is %s", epoch, what, number);
    }
    learner->warned = true;
    return BURN_OK;
  }
  burn_number_text(rates_of(learner, epoch, batch).base, 6, rate);
  return burn_status_make(BURN_STATUS_OUT_OF_RANGE,
                          "%s is %s; try a smaller learning_rate than %s, or set on_nan to go on%s", what, number, rate,
                          late);
}

/* A loss that was met among the numbers read last. It may be some batches old. */
static BurnStatus check_losses(Learner *learner, BurnMetricPass *pass) {
  const size_t batch = pass->bad_batch, later = pass->last_batch - batch;
  char late[96] = "";
  pass->bad_batch = 0;
  if (batch == 0) return BURN_OK;
  if (later > 0) {
    snprintf(late, sizeof late, " (read %zu %s late, after batch %zu)", later, later == 1 ? "batch" : "batches",
             pass->last_batch);
  }
  return burn_status_annotate(not_finite(learner, pass->epoch, "the loss", pass->bad_loss, late),
                              "epoch %zu, batch %zu", pass->epoch, batch);
}

static BurnStatus find_not_finite(void *context, const BurnModuleTensor *tensor) {
  char *path = context;
  BurnTensor *value = burn_inner(tensor->param ? burn_param_base(tensor->param) : burn_buffer_value(tensor->buffer));
  double finite = 1;
  BurnStatus status = BURN_OK;
  if (path[0] || burn_dtype_kind(burn_dtype(value)) != BURN_KIND_FLOAT) {
    burn_drop(value);
  } else {
    status = burn_read_scalar(burn_int(burn_all(burn_is_finite(value))), &finite);
  }
  if (finite == 0) snprintf(path, PARAMETER_PATH_BYTES, "%s", tensor->path);
  return status;
}

/* The losses of an epoch that is complete, and the parameters, which the last step can have spoilt unseen. */
static BurnStatus check_epoch(Learner *learner, BurnEpochResult *done) {
  const double train = done->metrics[0].values[BURN_SPLIT_TRAIN], valid = done->metrics[0].values[BURN_SPLIT_VALID];
  char path[PARAMETER_PATH_BYTES] = "", what[PARAMETER_PATH_BYTES + 64];
  const BurnStatus status = burn_module_visit(learner->run.module, find_not_finite, path);
  if (status != BURN_OK) return status;
  done->finite = isfinite(train) && (!learner->valid || isfinite(valid)) && !path[0];
  if (!isfinite(train)) return not_finite(learner, done->epoch, "the mean loss", train, "");
  if (path[0]) {
    snprintf(what, sizeof what, "after the last batch an element of parameter %s", path);
    return not_finite(learner, done->epoch, what, (double)NAN, "");
  }
  return done->finite ? BURN_OK : not_finite(learner, done->epoch, "the validation loss", valid, "");
}

/* -- one pass --------------------------------------------------------------------------------- */

/* The earlier of two failures. */
static BurnStatus first_of(BurnStatus status, BurnStatus later) { return status != BURN_OK ? status : later; }

static BurnStatus interrupted(Learner *learner, size_t epoch, size_t batch) {
  BurnLearnerResult *result = learner->result;
  result->interrupted = true;
  result->epoch = epoch;
  result->batch = batch;
  return burn_status_make(BURN_STATUS_CANCELLED, "interrupted at epoch %zu, batch %zu of %zu", epoch, batch,
                          burn_loader_batch_count(learner->train));
}

/* Shows where the run is, if somebody wants to see it, by numbers that are up to date. */
static BurnStatus show_batch(Learner *learner, BurnMetricPass *pass, BurnEpochResult *result) {
  BurnProgress *progress = &learner->progress;
  const BurnRenderer *renderer = &learner->renderer;
  const double now = burn__seconds();
  if (!renderer->batch) return BURN_OK;
  progress->run_seconds = now - learner->run_start;
  progress->epoch_seconds = now - learner->epoch_start;
  progress->result = result;
  if (renderer->wants && !renderer->wants(renderer->context, progress)) return BURN_OK;
  BurnStatus status = burn__metrics_read(pass);
  if (status == BURN_OK) status = check_losses(learner, pass);
  if (status != BURN_OK) return status;
  burn__metrics_result(pass, result, false);
  renderer->batch(renderer->context, progress);
  return BURN_OK;
}

static BurnStatus train_one(Learner *learner, BurnBatch *batch, BurnMetricPass *pass, BurnEpochResult *result) {
  BurnProgress *progress = &learner->progress;
  progress->batch = batch->index + 1;
  BurnStatus status = train_batch(learner, batch, pass);
  if (status != BURN_OK) return burn_status_annotate(status, "epoch %zu, batch %zu", pass->epoch, batch->index + 1);
  learner->run.partial.batches = batch->index + 1;
  learner->run.partial.items += batch->item_count;
  progress->items += batch->item_count;
  progress->done++;
  status = check_losses(learner, pass);
  if (status == BURN_OK) status = show_batch(learner, pass, result);
  if (status != BURN_OK) return status;
  /* A sum of gradients is in no checkpoint: the group is finished first. */
  if (learner->summed || !burn_interrupter_stopped(learner->config->interrupter)) return BURN_OK;
  status = burn__metrics_read(pass);
  if (status == BURN_OK) status = check_losses(learner, pass);
  return status == BURN_OK ? interrupted(learner, pass->epoch, batch->index + 1) : status;
}

static BurnStatus train_pass(Learner *learner, BurnMetricPass *pass, BurnEpochResult *result) {
  BurnBatches *batches =
      burn_loader_start(learner->train, learner->run.device, pass->epoch, learner->run.partial.batches);
  BurnStatus status = BURN_OK;
  BurnBatch batch;
  while (status == BURN_OK && burn_batches_next(batches, &batch)) status = train_one(learner, &batch, pass, result);
  const BurnStatus stopped = burn_status_annotate(burn_batches_stop(batches), "epoch %zu, training data", pass->epoch);
  burn_gradients_params_drop(learner->sum);
  learner->sum = NULL;
  learner->summed = 0;
  if (status == BURN_OK) status = burn_status_annotate(burn__metrics_read(pass), "epoch %zu", pass->epoch);
  if (status == BURN_OK) status = check_losses(learner, pass);
  return first_of(status, stopped);
}

/* -- one epoch -------------------------------------------------------------------------------- */

/* Metrics with the logs of a split of an epoch, which go on at `bytes`. */
static BurnStatus pass_begin(const Learner *learner, BurnMetricPass *pass, BurnFileLog *file, uint64_t *bytes) {
  const BurnLearnerConfig *config = learner->config;
  const char *names[BURN_MAX_METRICS];
  char folder[48];
  const BurnStatus status = burn__metrics_begin(pass, config->read_interval);
  if (status != BURN_OK || !config->artifact_dir) return status;
  for (size_t i = 0; i < pass->set->count; i++) names[i] = burn__metric_name(&pass->set->items[i]);
  pass->file = file;
  (void)snprintf(folder, sizeof folder, "%s/epoch-%zu", burn__split_names[pass->split], pass->epoch);
  pass->log_status = burn__file_log_open(file, config->artifact_dir, folder, names, pass->set->count, bytes);
  if (pass->log_status != BURN_OK) burn__train_warn("%s", burn_status_message(pass->log_status));
  return BURN_OK;
}

/* The values, the last lines and the end of the logs. */
static void pass_end(Learner *learner, BurnMetricPass *pass, BurnEpochResult *result, bool complete) {
  burn__metrics_result(pass, result, true);
  burn__metrics_end(pass, complete);
  const BurnStatus closed = pass->file ? burn__file_log_close(pass->file) : BURN_OK;
  if (closed != BURN_OK && pass->log_status == BURN_OK) burn__train_warn("%s", burn_status_message(closed));
  learner->log_status = first_of(learner->log_status, first_of(pass->log_status, closed));
}

static BurnStatus train_part(Learner *learner, size_t epoch, BurnEpochResult *result) {
  BurnPartial *partial = &learner->run.partial;
  const double start = burn__seconds() - partial->seconds;
  BurnFileLog file;
  BurnMetricPass pass = {.set = &learner->run.metrics,
                         .states = partial->metrics,
                         .split = BURN_SPLIT_TRAIN,
                         .epoch = epoch,
                         .batches = burn_loader_batch_count(learner->train),
                         .logger = learner->config->logger,
                         .last_batch = partial->batches};
  BurnStatus status = pass_begin(learner, &pass, &file, partial->log_bytes);
  if (status != BURN_OK) return status;
  learner->progress.epoch = epoch;
  learner->progress.items = 0;
  learner->epoch_start = burn__seconds();
  status = train_pass(learner, &pass, result);
  status = first_of(status, burn_device_sync(learner->run.device));
  result->seconds = partial->seconds = burn__seconds() - start;
  result->items_per_second = result->seconds > 0 ? (double)partial->items / result->seconds : 0;
  pass_end(learner, &pass, result, status == BURN_OK);
  return status;
}

/* An interrupted validation is begun anew by the run that resumes, with the random numbers that this one began with. */
static BurnStatus valid_part(Learner *learner, size_t epoch, BurnEpochResult *result) {
  const BurnModule module = learner->run.module;
  const BurnInterrupter *interrupter = learner->config->interrupter;
  BurnDevice *inner = burn_device_inner(learner->run.device);
  const BurnRandomState random = burn_device_random_state(inner);
  BurnModule twin = {module.type, malloc(module.type->bytes)};
  if (!twin.data)
    return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "out of memory for the copy of the module to validate");
  BurnMetricState states[BURN_MAX_METRICS] = {{0}};
  uint64_t bytes[BURN_MAX_METRICS] = {0};
  BurnFileLog file;
  BurnMetricPass pass = {.set = &learner->run.metrics,
                         .states = states,
                         .split = BURN_SPLIT_VALID,
                         .epoch = epoch,
                         .batches = burn_loader_batch_count(learner->valid),
                         .logger = learner->config->logger};
  BurnStatus status = pass_begin(learner, &pass, &file, bytes);
  if (status == BURN_OK) {
    burn_module_valid(module, twin.data);
    status = burn__measure_pass(learner->task, inner, twin.data, learner->valid, interrupter, "validation", &pass);
    burn_module_release(twin);
  }
  free(twin.data);
  if (status == BURN_OK && burn_interrupter_stopped(interrupter)) {
    burn_device_set_random_state(inner, random);
    status = interrupted(learner, epoch, learner->run.partial.batches);
  }
  pass_end(learner, &pass, result, status == BURN_OK);
  burn__metric_states_release(states);
  return status;
}

static BurnStatus save(const Learner *learner) {
  const BurnLearnerConfig *config = learner->config;
  if (!config->artifact_dir) return BURN_OK;
  return burn_status_annotate(burn__checkpoint_save(&learner->run, config->artifact_dir, &learner->strategy),
                              "checkpoint of epoch %zu",
                              learner->run.history.count + (learner->run.partial.batches > 0));
}

/* Both parts; an interrupted one leaves its checkpoint. */
static BurnStatus run_parts(Learner *learner, size_t epoch, BurnEpochResult *done) {
  BurnStatus status = train_part(learner, epoch, done), saved;
  if (status == BURN_OK && learner->valid) {
    status = valid_part(learner, epoch, done);
    if (!learner->result->interrupted) status = burn_status_annotate(status, "epoch %zu", epoch);
  }
  if (status == BURN_OK) return burn_status_annotate(check_epoch(learner, done), "epoch %zu", epoch);
  if (!learner->result->interrupted) return status;
  saved = save(learner);
  return saved == BURN_OK ? status : saved;
}

static void show_epoch(Learner *learner, const BurnEpochResult *done) {
  const BurnRenderer *renderer = &learner->renderer;
  BurnProgress *progress = &learner->progress;
  progress->epoch = done->epoch;
  progress->result = done;
  progress->run_seconds = burn__seconds() - learner->run_start;
  if (renderer->epoch) renderer->epoch(renderer->context, progress);
}

/* After an epoch, and before the first one of a run that resumes: whether there is nothing left to do. */
static bool stops_early(Learner *learner) {
  const BurnEarlyStopping *strategy = &learner->config->early_stopping;
  const BurnHistory *history = &learner->run.history;
  learner->result->stopped_early =
      strategy->stops && history->count && strategy->stops(strategy->context, history->results, history->count);
  return learner->result->stopped_early;
}

/* With the checkpoint the epoch is done. A log that is not whole ends the run after it. */
static BurnStatus run_epoch(Learner *learner, size_t epoch) {
  const BurnLearnerConfig *config = learner->config;
  BurnLearnerResult *result = learner->result;
  BurnEpochResult done;
  burn__result_begin(&done, &learner->run.metrics, epoch);
  learner->warned = false;
  BurnStatus status = run_parts(learner, epoch, &done);
  if (status == BURN_OK) status = burn__history_add(&learner->run.history, &done);
  if (status == BURN_OK) {
    burn__partial_reset(&learner->run.partial);
    status = save(learner);
  }
  if (status != BURN_OK) return status;
  burn__experiment_log_epoch(&learner->log, &done, config->epochs);
  learner->log_status = first_of(learner->log_status, learner->log.status);
  show_epoch(learner, &done);
  learner->seconds += done.seconds;
  result->epochs_done = epoch;
  result->last = done;
  result->mean_epoch_seconds = learner->seconds / (double)++learner->epochs_here;
  if (learner->epochs_here == 1 && config->metrics.count) burn__warn_of_no_values(&done); /* those that were listed */
  if (config->on_epoch) status = config->on_epoch(config->context, &done);
  status = first_of(status,
                    burn_status_annotate(learner->log_status, "epoch %zu is done and saved, but not its logs", epoch));
  if (status != BURN_OK || epoch == config->epochs || stops_early(learner)) return status;
  if (!burn_interrupter_stopped(config->interrupter)) return BURN_OK;
  return interrupted(learner, epoch, burn_loader_batch_count(learner->train));
}

/* -- the run ---------------------------------------------------------------------------------- */

static BurnStatus invalid(const char *what) {
  return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "learner: %s", what);
}

/* Of the config alone. */
static BurnStatus check_config(const BurnLearnerConfig *config) {
  if (config->epochs == 0) return invalid("epochs is 0, at least 1 expected");
  if (!isfinite(config->learning_rate)) return invalid("learning_rate is not finite");
  if (config->schedule.table && fabs(config->learning_rate) > 0) {
    return invalid("learning_rate and schedule are both set: which is it?");
  }
  if (!config->schedule.table && !config->rate_groups && !(fabs(config->learning_rate) > 0)) {
    return invalid("neither learning_rate nor schedule is set: nothing would be learned");
  }
  if (config->read_interval > BURN_MAX_READ_INTERVAL) return invalid("read_interval is more than 4096");
  if (config->keep_checkpoints && config->checkpoints.keeps) {
    return invalid("keep_checkpoints and checkpoints are both set: which is it?");
  }
  if (config->device_count > BURN_MAX_DEVICES) return invalid("more than 64 devices");
  if (config->device_count && !config->devices) return invalid("device_count without devices");
  if (config->renderer && !config->renderer->batch) return invalid("the renderer has no function for batches");
  if (config->artifact_dir && !config->artifact_dir[0]) return invalid("artifact_dir is empty");
  if (config->artifact_dir && strlen(config->artifact_dir) >= BURN_ARTIFACT_BYTES)
    return invalid("artifact_dir is too long");
  if (config->resume && !config->artifact_dir) return invalid("resume needs an artifact_dir");
  if (config->resume_epoch && !config->resume) return invalid("resume_epoch needs resume");
  const BurnModuleLearningRate rates = {.groups = config->rate_groups, .group_count = config->rate_group_count};
  BurnStatus status = burn_module_learning_rate_check(&rates);
  if (status == BURN_OK && config->schedule.table) status = burn_schedule_check(&config->schedule);
  if (status == BURN_OK && config->grad_scaler) status = burn_grad_scaler_status(config->grad_scaler);
  return burn_status_annotate(status, "learner");
}

/* A group of batches ends with its epoch, so one that is longer never comes to its step. */
static BurnStatus check_accumulation(const Learner *learner) {
  const size_t group = learner->config->gradient_accumulation, batches = burn_loader_batch_count(learner->train);
  if (group <= batches || group <= 1) return BURN_OK;
  return burn_status_make(BURN_STATUS_INVALID_ARGUMENT,
                          "learner: gradient_accumulation is %zu, but an epoch has %zu batch%s: no step would be made",
                          group, batches, batches == 1 ? "" : "es");
}

static BurnStatus check_arguments(const Learner *learner) {
  const BurnLearnerConfig *config = learner->config;
  BurnStatus status = burn_device_status(learner->run.device);
  if (status != BURN_OK) return status;
  if (!config) return invalid("config is NULL: a BurnLearnerConfig with epochs and a learning_rate expected");
  if (!learner->task || !learner->task->step) return invalid("no task, or one without a step");
  if (!burn_device_is_autodiff(learner->run.device)) {
    return burn_status_make(BURN_STATUS_NO_AUTODIFF,
                            "learner: device %s computes no gradients, training needs autodiff<...>",
                            burn_device_name(learner->run.device));
  }
  if (config->devices && config->device_count && config->devices[0] != learner->run.device) {
    return invalid("the first of devices is another one than the device of the run");
  }
  status = burn_optimizer_status(learner->run.optimizer);
  if (status != BURN_OK) return status;
  if (!learner->train) return invalid("no loader of training data");
  status = burn__loader_has_batches(learner->train, "learner: the loader of training data");
  if (status == BURN_OK && learner->valid)
    status = burn__loader_has_batches(learner->valid, "learner: the loader of validation data");
  if (status == BURN_OK) status = check_config(config);
  if (status == BURN_OK) status = check_accumulation(learner);
  return status == BURN_OK ? burn_module_status(learner->run.module) : status;
}

/* Temporary files of processes that were killed. */
static BurnStatus sweep(const char *artifact_dir) {
  char folder[BURN_PATH_BYTES];
  const BurnStatus status = burn_file_sweep(artifact_dir);
  snprintf(folder, sizeof folder, "%.*s/checkpoint", BURN_ARTIFACT_BYTES, artifact_dir);
  return first_of(status, burn_file_sweep(folder));
}

/* Of a run that has all its epochs the config stays as it is: nothing is trained by the new one. */
static BurnStatus save_config(const BurnLearnerConfig *config, size_t epochs_done) {
  char path[BURN_PATH_BYTES];
  if (!config->config.type) return BURN_OK;
  snprintf(path, sizeof path, "%.*s/config.json", BURN_ARTIFACT_BYTES, config->artifact_dir);
  if (epochs_done >= config->epochs && burn_file_check_new(path, false) != BURN_OK) return BURN_OK; /* it is there */
  return burn_config_save(config->config, path);
}

/* Takes up the newest checkpoint, or clears what an earlier run has left in the folder. The config is written after
 * that: a run that is killed in between leaves no checkpoint of another config. */
static BurnStatus prepare_artifacts(Learner *learner) {
  const BurnLearnerConfig *config = learner->config;
  const char *folder = config->artifact_dir;
  BurnRun *run = &learner->run;
  BurnStatus status = burn__settings_fill(&run->settings, config, run->optimizer, learner->train, learner->valid);
  if (status == BURN_OK) status = burn_status_annotate(sweep(folder), "%s", folder);
  if (status == BURN_OK)
    status = config->resume ? burn__checkpoint_restore(run, config) : burn__checkpoint_clear(folder);
  if (status != BURN_OK) return status;
  if (config->resume) status = burn__checkpoint_prune(run, folder, config->resume_epoch == 0, &learner->strategy);
  if (status != BURN_OK) return status;
  const size_t next = run->history.count + 1;
  status = burn__file_log_clear(folder, run->partial.batches ? next + 1 : next, next);
  if (status == BURN_OK) status = save_config(config, run->history.count);
  return status == BURN_OK ? burn__experiment_log_open(&learner->log, folder, "experiment.log", config->resume)
                           : status;
}

/* The first line of a run in its log. */
static void log_begin(Learner *learner) {
  const BurnRun *run = &learner->run;
  burn__experiment_log_add(&learner->log, "INFO", "the run %s: %zu epoch%s of %zu batches on %s",
                           run->history.count + run->partial.batches ? "goes on" : "begins", learner->config->epochs,
                           learner->config->epochs == 1 ? "" : "s", burn_loader_batch_count(learner->train),
                           burn_device_name(run->device));
  if (run->history.count + run->partial.batches == 0) return;
  burn__experiment_log_add(&learner->log, "INFO", "taken up after epoch %zu and %zu batches", run->history.count,
                           run->partial.batches);
}

/* The last one, and the status of the run with that of its log. */
static BurnStatus log_end(Learner *learner, BurnStatus status) {
  const BurnLearnerResult *result = learner->result;
  if (status != BURN_OK) {
    burn__experiment_log_add(&learner->log, result->interrupted ? "WARN" : "ERROR", "%s", burn_status_message(status));
  } else {
    burn__experiment_log_add(&learner->log, "INFO", "the run is complete: %zu epoch%s%s", result->epochs_done,
                             result->epochs_done == 1 ? "" : "s", result->stopped_early ? ", stopped early" : "");
  }
  return first_of(status, burn_status_annotate(burn__experiment_log_close(&learner->log),
                                               "the run is complete and saved, but not its log"));
}

static BurnStatus run_epochs(Learner *learner) {
  const BurnRenderer *renderer = &learner->renderer;
  BurnProgress *progress = &learner->progress;
  const size_t epochs = learner->config->epochs, resumed = learner->run.history.count;
  BurnStatus status = BURN_OK;
  learner->run_start = burn__seconds();
  *progress =
      (BurnProgress){.epoch = resumed + 1, .epochs = epochs, .batches = burn_loader_batch_count(learner->train)};
  if (renderer->begin) renderer->begin(renderer->context, progress);
  bool ended = resumed < epochs && learner->run.partial.batches == 0 && stops_early(learner);
  for (size_t epoch = resumed + 1; epoch <= epochs && !ended && status == BURN_OK; epoch++) {
    status = run_epoch(learner, epoch);
    ended = learner->result->stopped_early;
  }
  if (renderer->end) renderer->end(renderer->context, status == BURN_OK);
  return status;
}

static BurnStatus run_all(Learner *learner) {
  const BurnLearnerConfig *config = learner->config;
  BurnLearnerResult *result = learner->result;
  const BurnStatus status = config->artifact_dir ? prepare_artifacts(learner) : BURN_OK;
  if (status != BURN_OK) return status;
  log_begin(learner);
  const size_t resumed = learner->run.history.count;
  result->epochs_done = result->epochs_resumed = resumed;
  if (resumed) result->last = learner->run.history.results[resumed - 1];
  return log_end(learner, run_epochs(learner));
}

/* What a config leaves to the learner. */
static void choose(Learner *learner) {
  const BurnLearnerConfig *config = learner->config;
  learner->kept = config->keep_checkpoints ? config->keep_checkpoints : 2;
  learner->strategy = config->checkpoints.keeps ? config->checkpoints : burn_keep_last(&learner->kept);
  if (config->renderer) {
    learner->renderer = *config->renderer;
  } else if (!config->quiet) {
    learner->renderer = burn_progress_line(&learner->line);
  }
}

static BurnStatus check_strategies(const Learner *learner) {
  const BurnMetricSet *set = &learner->run.metrics;
  const BurnLearnerConfig *config = learner->config;
  const BurnStatus status = burn__early_stopping_check(&config->early_stopping, set, learner->valid != NULL);
  return status == BURN_OK ? burn__strategy_check(&config->checkpoints, set, learner->valid != NULL) : status;
}

/* The folder belongs to this run until its end. */
static BurnStatus run_in_folder(Learner *learner) {
  BurnStatus status = check_arguments(learner);
  if (status == BURN_OK) status = burn__metric_set(&learner->run.metrics, &learner->config->metrics);
  if (status == BURN_OK) status = check_strategies(learner);
  if (status != BURN_OK) return status;
  const char *folder = learner->config->artifact_dir;
  burn__result_begin(&learner->result->last, &learner->run.metrics, 0);
  choose(learner);
  if (!folder) return run_all(learner);
  status = burn_folder_make(folder);
  if (status != BURN_OK) return status;
  BurnFolderLock *lock = burn_folder_lock(folder, &status);
  if (!lock) return burn_status_annotate(status, "%s", folder);
  status = run_all(learner);
  burn_folder_unlock(lock);
  return status;
}

BurnStatus burn_learner_fit(const BurnLearnerConfig *config, const BurnTask *task, BurnDevice *device,
                            BurnModule module, BurnOptimizer *optimizer, BurnLoader *train, BurnLoader *valid,
                            BurnLearnerResult *result) {
  BurnLearnerResult unwanted;
  Learner learner = {.config = config,
                     .task = task,
                     .run = {.device = device,
                             .module = module,
                             .optimizer = optimizer,
                             .scaler = config ? config->grad_scaler : NULL},
                     .train = train,
                     .valid = valid,
                     .result = result ? result : &unwanted};
  *learner.result = (BurnLearnerResult){.last = {.finite = true}};
  const BurnStatus status = run_in_folder(&learner);
  free(learner.run.history.results);
  burn__partial_reset(&learner.run.partial);
  burn__settings_release(&learner.run.settings);
  return status;
}
