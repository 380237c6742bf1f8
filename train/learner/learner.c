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

#include "learner_internal.h"

enum { PARAMETER_PATH_BYTES = 160 };

typedef struct Learner {
  const BurnLearnerConfig *config;
  const BurnTask *task;
  BurnRun run;
  BurnLoader *train, *valid;
  BurnLearnerResult *result;
  BurnProgress progress;
  BurnGradientsParams *sum; /* of the batches since the last optimizer step, with gradient_accumulation */
  size_t summed;
  double seconds; /* of the training parts of this run */
  size_t epochs_here;
  bool warned;           /* of a loss that is not finite, in this epoch */
  BurnStatus log_status; /* the first log of this epoch that could not be written */
} Learner;

static const BurnEpochResult no_result = {.train_loss = (double)NAN,
                                          .train_accuracy = (double)NAN,
                                          .valid_loss = (double)NAN,
                                          .valid_accuracy = (double)NAN,
                                          .finite = true};

/* -- one batch -------------------------------------------------------------------------------- */

static void output_drop(BurnStepOutput output) {
  burn_drop(output.loss);
  burn_drop(output.output);
  burn_drop(output.targets);
}

/* The user's step; a failure leaves nothing in *output. */
static BurnStatus task_step(const BurnTask *task, const void *module, BurnBatch *batch, BurnStepOutput *output) {
  BurnStatus status;
  *output = task->step(task->context, module, batch);
  if (output->loss) {
    status = burn_tensor_status(output->loss);
  } else {
    status = burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "the step gave no loss");
  }
  if (status == BURN_OK && burn_element_count(output->loss) != 1) {
    status = burn_status_make(BURN_STATUS_INVALID_SHAPE, "the loss has %lld elements, 1 expected",
                              (long long)burn_element_count(output->loss));
  }
  if (status != BURN_OK) output_drop(*output);
  return status;
}

/* Backward from the loss (taken); every gradient_accumulation batches the optimizer steps with the sum of the
 * gradients. */
static BurnStatus update(Learner *learner, BurnTensor *loss) {
  const size_t group = learner->config->gradient_accumulation;
  BurnGradients *gradients = NULL;
  BurnGradientsParams *ready;
  BurnStatus status = burn_backward(loss, &gradients);
  if (status != BURN_OK) return status;
  ready = burn_gradients_params(gradients, learner->run.module);
  if (group > 1) {
    status = burn_gradients_accumulate(&learner->sum, ready);
    if (status != BURN_OK || ++learner->summed < group) return status;
    ready = learner->sum;
    learner->sum = NULL;
    learner->summed = 0;
  }
  status = burn_optimizer_step(learner->run.optimizer, learner->run.module, ready, learner->config->learning_rate);
  if (status == BURN_OK) learner->result->steps++;
  return status;
}

/* The loss is read after the update, when the device has the whole step to work on. */
static BurnStatus train_batch(Learner *learner, BurnBatch *batch, BurnMetrics *metrics) {
  BurnStepOutput output;
  BurnTensor *loss;
  BurnStatus status = task_step(learner->task, learner->run.module.data, batch, &output);
  if (status != BURN_OK) return status;
  loss = output.loss;
  output.loss = burn_inner(burn_clone(loss));
  if (output.output) output.output = burn_inner(output.output);
  status = update(learner, loss);
  if (status == BURN_OK) return burn__metrics_add(metrics, output, batch->item_count);
  output_drop(output);
  return status;
}

static BurnStatus valid_batch(const BurnTask *task, const void *module, BurnBatch *batch, BurnMetrics *metrics) {
  BurnStepOutput output;
  const BurnStatus status = task_step(task, module, batch, &output);
  return status == BURN_OK ? burn__metrics_add(metrics, output, batch->item_count) : status;
}

/* -- numbers that are none -------------------------------------------------------------------- */

/* As on_nan says: a failure, or one warning per epoch. */
static BurnStatus not_finite(Learner *learner, size_t epoch, const char *what, double value) {
  char number[BURN_NUMBER_BYTES], rate[BURN_NUMBER_BYTES];
  burn_number_text(value, 6, number);
  if (learner->config->on_nan == BURN_NAN_WARN) {
    if (!learner->warned) burn__train_warn("epoch %zu: %s is %s", epoch, what, number);
    learner->warned = true;
    return BURN_OK;
  }
  return burn_status_make(BURN_STATUS_OUT_OF_RANGE,
                          "%s is %s; try a smaller learning_rate than %s, or set on_nan to go on", what, number,
                          burn_number_text(learner->config->learning_rate, 6, rate));
}

static BurnStatus find_not_finite(void *context, const BurnModuleTensor *tensor) {
  char *path = context;
  BurnTensor *value = burn_inner(tensor->param ? burn_param_value(tensor->param) : burn_buffer_value(tensor->buffer));
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
  char path[PARAMETER_PATH_BYTES] = "", what[PARAMETER_PATH_BYTES + 64];
  BurnStatus status = burn_module_visit(learner->run.module, find_not_finite, path);
  if (status != BURN_OK) return status;
  done->finite = isfinite(done->train_loss) && (!learner->valid || isfinite(done->valid_loss)) && !path[0];
  if (!isfinite(done->train_loss)) return not_finite(learner, done->epoch, "the mean loss", done->train_loss);
  if (path[0]) {
    snprintf(what, sizeof what, "after the last batch an element of parameter %s", path);
    return not_finite(learner, done->epoch, what, (double)NAN);
  }
  return done->finite ? BURN_OK : not_finite(learner, done->epoch, "the validation loss", done->valid_loss);
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

static BurnStatus train_one(Learner *learner, size_t epoch, BurnBatch *batch, BurnMetrics *metrics) {
  BurnStatus status = train_batch(learner, batch, metrics);
  if (status == BURN_OK && !isfinite(metrics->loss.last))
    status = not_finite(learner, epoch, "the loss", metrics->loss.last);
  if (status != BURN_OK) return burn_status_annotate(status, "epoch %zu, batch %zu", epoch, batch->index + 1);
  learner->run.partial.batches = batch->index + 1;
  burn__progress_batch(&learner->progress, batch->index + 1, batch->item_count, metrics);
  /* A sum of gradients is in no checkpoint: the group is finished first. */
  if (learner->summed || !burn_interrupter_stopped(learner->config->interrupter)) return BURN_OK;
  return interrupted(learner, epoch, batch->index + 1);
}

static BurnStatus train_pass(Learner *learner, size_t epoch, BurnMetrics *metrics) {
  BurnBatches *batches = burn_loader_start(learner->train, learner->run.device, epoch, learner->run.partial.batches);
  BurnStatus status = BURN_OK, stopped;
  BurnBatch batch;
  while (status == BURN_OK && burn_batches_next(batches, &batch)) status = train_one(learner, epoch, &batch, metrics);
  stopped = burn_status_annotate(burn_batches_stop(batches), "epoch %zu, training data", epoch);
  burn_gradients_params_drop(learner->sum);
  learner->sum = NULL;
  learner->summed = 0;
  return first_of(status, stopped);
}

/* Ends early, with BURN_OK, when the interrupter (or NULL) asks. */
static BurnStatus valid_pass(const BurnTask *task, BurnDevice *device, const void *module, BurnLoader *data,
                             size_t epoch, const BurnInterrupter *interrupter, BurnMetrics *metrics) {
  BurnBatches *batches = burn_loader_start(data, device, epoch, 0);
  BurnStatus status = BURN_OK;
  BurnBatch batch;
  while (status == BURN_OK && !burn_interrupter_stopped(interrupter) && burn_batches_next(batches, &batch)) {
    status = burn_status_annotate(valid_batch(task, module, &batch, metrics), "validation batch %zu", batch.index + 1);
  }
  return first_of(status, burn_status_annotate(burn_batches_stop(batches), "validation data"));
}

/* -- one epoch -------------------------------------------------------------------------------- */

static BurnStatus train_part(Learner *learner, size_t epoch, BurnEpochResult *result) {
  BurnPartial *partial = &learner->run.partial;
  const double start = burn__seconds() - partial->seconds;
  BurnMetrics metrics;
  BurnStatus status;
  burn__metrics_begin(&metrics, learner->config->artifact_dir, "train", epoch, partial);
  burn__progress_epoch(&learner->progress, epoch);
  status = train_pass(learner, epoch, &metrics);
  status = first_of(status, burn_device_sync(learner->run.device));
  result->seconds = partial->seconds = burn__seconds() - start;
  partial->loss = metrics.loss.state;
  partial->accuracy = metrics.accuracy.state;
  result->items_per_second = result->seconds > 0 ? metrics.loss.state.items / result->seconds : 0;
  result->train_loss = burn__metric_mean(&metrics.loss);
  result->train_accuracy = burn__metric_mean(&metrics.accuracy);
  burn__metrics_end(&metrics, status == BURN_OK);
  learner->log_status = first_of(learner->log_status, metrics.log_status);
  return status;
}

/* An interrupted validation is begun anew by the run that resumes, with the random numbers that this one began with. */
static BurnStatus valid_part(Learner *learner, size_t epoch, BurnEpochResult *result) {
  const BurnModule module = learner->run.module;
  const BurnInterrupter *interrupter = learner->config->interrupter;
  BurnDevice *inner = burn_device_inner(learner->run.device);
  const BurnRandomState random = burn_device_random_state(inner);
  BurnModule twin = {module.type, malloc(module.type->bytes)};
  BurnMetrics metrics;
  BurnStatus status;
  if (!twin.data)
    return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "out of memory for the copy of the module to validate");
  burn__metrics_begin(&metrics, learner->config->artifact_dir, "valid", epoch, NULL);
  burn_module_valid(module, twin.data);
  status = valid_pass(learner->task, inner, twin.data, learner->valid, epoch, interrupter, &metrics);
  burn_module_release(twin);
  free(twin.data);
  if (status == BURN_OK && burn_interrupter_stopped(interrupter)) {
    burn_device_set_random_state(inner, random);
    status = interrupted(learner, epoch, learner->run.partial.batches);
  }
  result->valid_loss = burn__metric_mean(&metrics.loss);
  result->valid_accuracy = burn__metric_mean(&metrics.accuracy);
  burn__metrics_end(&metrics, status == BURN_OK);
  learner->log_status = first_of(learner->log_status, metrics.log_status);
  return status;
}

static size_t checkpoints_to_keep(const BurnLearnerConfig *config) {
  return config->keep_checkpoints ? config->keep_checkpoints : 2;
}

static BurnStatus save(const Learner *learner) {
  const BurnLearnerConfig *config = learner->config;
  if (!config->artifact_dir) return BURN_OK;
  return burn_status_annotate(burn__checkpoint_save(&learner->run, config->artifact_dir, checkpoints_to_keep(config)),
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

/* With the checkpoint the epoch is done. A log that is not whole ends the run after it. */
static BurnStatus run_epoch(Learner *learner, size_t epoch) {
  const BurnLearnerConfig *config = learner->config;
  BurnLearnerResult *result = learner->result;
  BurnEpochResult done = no_result;
  BurnStatus status;
  done.epoch = epoch;
  learner->warned = false;
  status = run_parts(learner, epoch, &done);
  if (status == BURN_OK) status = burn__history_add(&learner->run.history, &done);
  if (status == BURN_OK) {
    learner->run.partial = (BurnPartial){0};
    status = save(learner);
  }
  if (status != BURN_OK) {
    burn__progress_stop(&learner->progress);
    return status;
  }
  burn__progress_result(&learner->progress, &done);
  learner->seconds += done.seconds;
  result->epochs_done = epoch;
  result->last = done;
  result->mean_epoch_seconds = learner->seconds / (double)++learner->epochs_here;
  if (config->on_epoch) status = config->on_epoch(config->context, &done);
  status = first_of(status,
                    burn_status_annotate(learner->log_status, "epoch %zu is done and saved, but not its logs", epoch));
  if (status != BURN_OK || epoch == config->epochs || !burn_interrupter_stopped(config->interrupter)) return status;
  return interrupted(learner, epoch, burn_loader_batch_count(learner->train));
}

/* -- the run ---------------------------------------------------------------------------------- */

static BurnStatus invalid(const char *what) {
  return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "learner: %s", what);
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
  if (!learner->run.optimizer) {
    return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "optimizer: out of memory when it was created");
  }
  if (!learner->train) return invalid("no loader of training data");
  if (burn_loader_batch_count(learner->train) == 0) return invalid("the loader of training data has no items");
  if (config->epochs == 0) return invalid("epochs is 0, at least 1 expected");
  if (!isfinite(config->learning_rate)) return invalid("learning_rate is not finite");
  if (config->artifact_dir && !config->artifact_dir[0]) return invalid("artifact_dir is empty");
  if (config->artifact_dir && strlen(config->artifact_dir) >= BURN_ARTIFACT_BYTES)
    return invalid("artifact_dir is too long");
  if (config->resume && !config->artifact_dir) return invalid("resume needs an artifact_dir");
  return burn_module_status(learner->run.module);
}

/* Temporary files of processes that were killed. */
static BurnStatus sweep(const char *artifact_dir) {
  char folder[BURN_PATH_BYTES];
  const BurnStatus status = burn_file_sweep(artifact_dir);
  snprintf(folder, sizeof folder, "%.*s/checkpoint", BURN_ARTIFACT_BYTES, artifact_dir);
  return first_of(status, burn_file_sweep(folder));
}

static BurnStatus save_config(const BurnLearnerConfig *config) {
  char path[BURN_PATH_BYTES];
  if (!config->config.type) return BURN_OK;
  snprintf(path, sizeof path, "%.*s/config.json", BURN_ARTIFACT_BYTES, config->artifact_dir);
  return burn_config_save(config->config, path);
}

/* Takes up the newest checkpoint, or clears what an earlier run has left in the folder. The config is written after
 * that: a run that is killed in between leaves no checkpoint of another config. */
static BurnStatus prepare_artifacts(Learner *learner) {
  const BurnLearnerConfig *config = learner->config;
  const char *folder = config->artifact_dir;
  BurnRun *run = &learner->run;
  BurnStatus status = burn__settings_fill(&run->settings, config, learner->train, learner->valid);
  if (status == BURN_OK) status = burn_status_annotate(sweep(folder), "%s", folder);
  if (status == BURN_OK)
    status = config->resume ? burn__checkpoint_restore(run, config) : burn__checkpoint_clear(folder);
  if (status != BURN_OK) return status;
  if (config->resume) status = burn__checkpoint_prune(run, folder, checkpoints_to_keep(config));
  if (status != BURN_OK) return status;
  const size_t next = run->history.count + 1;
  status = burn__metrics_clear(folder, run->partial.batches ? next + 1 : next, next);
  return status == BURN_OK ? save_config(config) : status;
}

static BurnStatus run_all(Learner *learner) {
  const BurnLearnerConfig *config = learner->config;
  BurnLearnerResult *result = learner->result;
  BurnStatus status = config->artifact_dir ? prepare_artifacts(learner) : BURN_OK;
  size_t epoch, resumed;
  if (status != BURN_OK) return status;
  resumed = learner->run.history.count;
  result->epochs_done = result->epochs_resumed = resumed;
  if (resumed) result->last = learner->run.history.results[resumed - 1];
  burn__progress_begin(&learner->progress, config->quiet, config->epochs, burn_loader_batch_count(learner->train));
  for (epoch = resumed + 1; epoch <= config->epochs && status == BURN_OK; epoch++) status = run_epoch(learner, epoch);
  return status;
}

/* The folder belongs to this run until its end. */
static BurnStatus run_in_folder(Learner *learner) {
  BurnStatus status = check_arguments(learner);
  BurnFolderLock *lock = NULL;
  const char *folder = status == BURN_OK ? learner->config->artifact_dir : NULL;
  if (status != BURN_OK || !folder) return status == BURN_OK ? run_all(learner) : status;
  status = burn_folder_make(folder);
  if (status != BURN_OK) return status;
  lock = burn_folder_lock(folder, &status);
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
                     .run = {.device = device, .module = module, .optimizer = optimizer},
                     .train = train,
                     .valid = valid,
                     .result = result ? result : &unwanted};
  BurnStatus status;
  *learner.result = (BurnLearnerResult){.last = no_result};
  status = run_in_folder(&learner);
  free(learner.run.history.results);
  burn__settings_release(&learner.run.settings);
  return status;
}

BurnStatus burn_learner_evaluate(const BurnTask *task, BurnDevice *device, BurnModule module, BurnLoader *data,
                                 double *loss, double *accuracy) {
  BurnMetrics metrics;
  BurnStatus status;
  burn__metrics_begin(&metrics, NULL, "", 1, NULL);
  status = valid_pass(task, device, module.data, data, 1, NULL, &metrics);
  if (loss) *loss = burn__metric_mean(&metrics.loss);
  if (accuracy) *accuracy = burn__metric_mean(&metrics.accuracy);
  return status;
}
