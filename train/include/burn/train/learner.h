/* learner.h - the loop: epochs of training and validation with metrics, progress, checkpoints and resume.
 *
 * The artifact folder holds, as Burn's does: checkpoint/model-{epoch}.mpk, checkpoint/optim-{epoch}.mpk, train/epoch-{n}/Loss.log
 * and so on, and beside them checkpoint/learner-{epoch}.mpk with what else a run needs to go on bit for bit (epoch, random state of
 * the device, history). A checkpoint counts only when its learner file is there; that one is written last. */
#ifndef BURN_TRAIN_LEARNER_H
#define BURN_TRAIN_LEARNER_H

#include <burn/train/loader.h>
#include <burn/train/optimizer.h>

BURN_EXTERN_C_BEGIN

/* What a step gives back. loss is required, [1]. For classification output [n, classes] and int targets [n] give the accuracy;
 * both may be NULL. All belong to the learner. */
typedef struct BurnStepOutput {
  BurnTensor *loss;
  BurnTensor *output;
  BurnTensor *targets;
} BurnStepOutput;

/* The user's part. `module` points at the user's struct: the training model, or for validation its twin on the inner device.
 * Failures travel in the tensors. */
typedef struct BurnTask {
  BurnStepOutput (*step)(void *context, const void *module, BurnBatch *batch);
  void *context;
} BurnTask;

/* Averages of one epoch over its items. accuracy is in 0..1, or NaN without output and targets. */
typedef struct BurnEpochResult {
  size_t epoch; /* from 1 */
  double train_loss, train_accuracy;
  double valid_loss, valid_accuracy; /* NaN without validation data */
  double seconds;                    /* of the training part */
  double items_per_second;           /* of the training part */
} BurnEpochResult;

typedef struct BurnLearnerConfig {
  const char *artifact_dir;         /* made if missing; NULL: nothing is written */
  size_t epochs;                    /* at least 1 */
  double learning_rate;
  size_t gradient_accumulation;     /* batches per optimizer step, summed; 0 and 1 mean every batch. A partial group at the end of
                                       an epoch is dropped, as in Burn */
  size_t keep_checkpoints;          /* newest checkpoints to keep; 0 means 2 */
  bool resume;                      /* go on after the newest complete checkpoint; from the start if there is none */
  bool quiet;                       /* no progress line */
  /* Called after each epoch, NULL: not. A failed status ends the run and is returned. */
  BurnStatus (*on_epoch)(void *context, const BurnEpochResult *result);
  void *context;
} BurnLearnerConfig;

/* The outcome of burn_learner_fit. */
typedef struct BurnLearnerResult {
  size_t epochs_done;         /* in total, earlier runs included */
  size_t epochs_resumed;      /* of these, restored from a checkpoint */
  uint64_t steps;             /* optimizer steps of this run */
  BurnEpochResult last;       /* of the last epoch */
  double mean_epoch_seconds;  /* training part, over the epochs of this run; 0 if none */
} BurnLearnerResult;

/* Trains `module` on `device` (with autodiff). Validation data may be NULL. *result (NULL allowed) is filled also when the run
 * fails midway. The loaders, optimizer and module stay the caller's. SIGINT is not touched: a killed run resumes. */
BURN_API BURN_USE_RESULT BurnStatus burn_learner_fit(const BurnLearnerConfig *config, const BurnTask *task, BurnDevice *device,
                                                     BurnModule module, BurnOptimizer *optimizer, BurnLoader *train,
                                                     BurnLoader *valid, BurnLearnerResult *result);

/* Loss and accuracy of a module (on any device, usually the inner one) over a loader. */
BURN_API BURN_USE_RESULT BurnStatus burn_learner_evaluate(const BurnTask *task, BurnDevice *device, BurnModule module,
                                                          BurnLoader *data, double *loss, double *accuracy);

/* Makes a folder, for artifacts, and those above it where they are missing. */
BURN_API BURN_USE_RESULT BurnStatus burn_folder_make(const char *path);

BURN_EXTERN_C_END

#endif
