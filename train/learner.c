/* learner.c - the loop. Per batch: the user's step, backward and update (or a gradient more in the sum), metrics. Per epoch:
 * all training batches, then the validation batches on a copy of the module below autodiff, then the checkpoint; only then the
 * epoch counts as done and on_epoch hears of it.
 *
 * A run is a function of the module, the optimizer, the device's random state and the loader's seed: all but the last are in a
 * checkpoint, and the order of epoch n depends on seed and n only. So a resumed run repeats an uninterrupted one bit for
 * bit. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learner_internal.h"

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
} Learner;

static const BurnEpochResult no_result = {
    .train_loss = (double)NAN, .train_accuracy = (double)NAN, .valid_loss = (double)NAN, .valid_accuracy = (double)NAN};

/* -- one batch --------------------------------------------------------------------------------------------------------- */

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

/* Backward from the loss (taken); every gradient_accumulation batches the optimizer steps with the sum of the gradients. */
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

/* -- one pass ---------------------------------------------------------------------------------------------------------- */

/* The earlier of two failures. */
static BurnStatus first_of(BurnStatus status, BurnStatus later) { return status != BURN_OK ? status : later; }

static BurnStatus train_pass(Learner *learner, size_t epoch, BurnMetrics *metrics) {
  BurnBatches *batches = burn_loader_start(learner->train, learner->run.device, epoch, 0);
  BurnStatus status = BURN_OK, stopped;
  BurnBatch batch;
  while (status == BURN_OK && burn_batches_next(batches, &batch)) {
    status = burn_status_annotate(train_batch(learner, &batch, metrics), "epoch %zu, batch %zu", epoch, batch.index + 1);
    if (status == BURN_OK) burn__progress_batch(&learner->progress, batch.index + 1, batch.item_count, metrics);
  }
  stopped = burn_status_annotate(burn_batches_stop(batches), "epoch %zu, training data", epoch);
  burn_gradients_params_drop(learner->sum);
  learner->sum = NULL;
  learner->summed = 0;
  return first_of(status, stopped);
}

static BurnStatus valid_pass(const BurnTask *task, BurnDevice *device, const void *module, BurnLoader *data, size_t epoch,
                             BurnMetrics *metrics) {
  BurnBatches *batches = burn_loader_start(data, device, epoch, 0);
  BurnStatus status = BURN_OK;
  BurnBatch batch;
  while (status == BURN_OK && burn_batches_next(batches, &batch)) {
    status = burn_status_annotate(valid_batch(task, module, &batch, metrics), "validation batch %zu", batch.index + 1);
  }
  return first_of(status, burn_status_annotate(burn_batches_stop(batches), "validation data"));
}

/* -- one epoch --------------------------------------------------------------------------------------------------------- */

static BurnStatus train_part(Learner *learner, size_t epoch, BurnEpochResult *result) {
  const double start = burn__seconds();
  BurnMetrics metrics;
  BurnStatus status = burn__metrics_begin(&metrics, learner->config->artifact_dir, "train", epoch);
  if (status != BURN_OK) return status;
  burn__progress_epoch(&learner->progress, epoch);
  status = train_pass(learner, epoch, &metrics);
  status = first_of(status, burn_device_sync(learner->run.device));
  result->seconds = burn__seconds() - start;
  result->items_per_second = result->seconds > 0 ? metrics.loss.items / result->seconds : 0;
  result->train_loss = burn__metric_mean(&metrics.loss);
  result->train_accuracy = burn__metric_mean(&metrics.accuracy);
  return first_of(status, burn__metrics_end(&metrics));
}

static BurnStatus valid_part(Learner *learner, size_t epoch, BurnEpochResult *result) {
  const BurnModule module = learner->run.module;
  BurnDevice *inner = burn_device_inner(learner->run.device);
  BurnModule twin = {module.type, NULL};
  BurnMetrics metrics;
  BurnStatus status = burn__metrics_begin(&metrics, learner->config->artifact_dir, "valid", epoch);
  if (status != BURN_OK) return status;
  twin.data = malloc(module.type->bytes);
  if (!twin.data) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "out of memory for the copy of the module to validate");
  burn_module_valid(module, twin.data);
  status = valid_pass(learner->task, inner, twin.data, learner->valid, epoch, &metrics);
  burn_module_release(twin);
  free(twin.data);
  result->valid_loss = burn__metric_mean(&metrics.loss);
  result->valid_accuracy = burn__metric_mean(&metrics.accuracy);
  return first_of(status, burn__metrics_end(&metrics));
}

/* Both parts and the checkpoint; with that the epoch is done. */
static BurnStatus run_epoch(Learner *learner, size_t epoch) {
  const BurnLearnerConfig *config = learner->config;
  BurnLearnerResult *result = learner->result;
  BurnEpochResult done = no_result;
  BurnStatus status;
  done.epoch = epoch;
  status = train_part(learner, epoch, &done);
  if (status == BURN_OK && learner->valid) {
    status = burn_status_annotate(valid_part(learner, epoch, &done), "epoch %zu", epoch);
  }
  if (status == BURN_OK) status = burn__history_add(&learner->run.history, &done);
  if (status == BURN_OK && config->artifact_dir) {
    status = burn_status_annotate(
        burn__checkpoint_save(&learner->run, config->artifact_dir, config->keep_checkpoints ? config->keep_checkpoints : 2),
        "checkpoint of epoch %zu", epoch);
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
  return config->on_epoch ? config->on_epoch(config->context, &done) : BURN_OK;
}

/* -- the run ----------------------------------------------------------------------------------------------------------- */

static BurnStatus invalid(const char *what) { return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "learner: %s", what); }

static BurnStatus check_arguments(const Learner *learner) {
  const BurnLearnerConfig *config = learner->config;
  BurnStatus status = burn_device_status(learner->run.device);
  if (status != BURN_OK) return status;
  if (!burn_device_is_autodiff(learner->run.device)) {
    return burn_status_make(BURN_STATUS_NO_AUTODIFF, "learner: device %s computes no gradients, training needs autodiff<...>",
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
  if (config->resume && !config->artifact_dir) return invalid("resume needs an artifact_dir");
  return burn_module_status(learner->run.module);
}

/* Takes up the newest checkpoint, or clears what an earlier run has left in the folder. */
static BurnStatus prepare_artifacts(Learner *learner) {
  const BurnLearnerConfig *config = learner->config;
  BurnStatus status = burn_folder_make(config->artifact_dir);
  if (status != BURN_OK) return status;
  status = config->resume ? burn__checkpoint_restore(&learner->run, config->artifact_dir)
                          : burn__checkpoint_clear(config->artifact_dir);
  return status == BURN_OK ? burn__metrics_clear(config->artifact_dir, learner->run.history.count + 1) : status;
}

static BurnStatus run_all(Learner *learner) {
  const BurnLearnerConfig *config = learner->config;
  BurnLearnerResult *result = learner->result;
  BurnStatus status = check_arguments(learner);
  size_t epoch, resumed;
  if (status == BURN_OK && config->artifact_dir) status = prepare_artifacts(learner);
  if (status != BURN_OK) return status;
  resumed = learner->run.history.count;
  result->epochs_done = result->epochs_resumed = resumed;
  if (resumed) result->last = learner->run.history.results[resumed - 1];
  burn__progress_begin(&learner->progress, config->quiet, config->epochs, burn_loader_batch_count(learner->train));
  for (epoch = resumed + 1; epoch <= config->epochs && status == BURN_OK; epoch++) status = run_epoch(learner, epoch);
  return status;
}

BurnStatus burn_learner_fit(const BurnLearnerConfig *config, const BurnTask *task, BurnDevice *device, BurnModule module,
                            BurnOptimizer *optimizer, BurnLoader *train, BurnLoader *valid, BurnLearnerResult *result) {
  BurnLearnerResult unwanted;
  Learner learner = {.config = config,
                     .task = task,
                     .run = {.device = device, .module = module, .optimizer = optimizer},
                     .train = train,
                     .valid = valid,
                     .result = result ? result : &unwanted};
  BurnStatus status;
  *learner.result = (BurnLearnerResult){.last = no_result};
  status = run_all(&learner);
  free(learner.run.history.results);
  return status;
}

BurnStatus burn_learner_evaluate(const BurnTask *task, BurnDevice *device, BurnModule module, BurnLoader *data, double *loss,
                                 double *accuracy) {
  BurnMetrics metrics;
  BurnStatus status = burn__metrics_begin(&metrics, NULL, "", 1);
  if (status == BURN_OK) status = valid_pass(task, device, module.data, data, 1, &metrics);
  if (loss) *loss = burn__metric_mean(&metrics.loss);
  if (accuracy) *accuracy = burn__metric_mean(&metrics.accuracy);
  return first_of(status, burn__metrics_end(&metrics));
}
