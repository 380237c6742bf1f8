/* learner.h - the loop: epochs of training and validation with metrics, progress, checkpoints and resume.
 *
 * The artifact folder holds, as Burn's does: config.json, checkpoint/model-{epoch}.mpk, checkpoint/optim-{epoch}.mpk,
 * train/epoch-{n}/Loss.log and so on, and beside them checkpoint/learner-{epoch}.mpk with what else a run needs to go
 * on bit for bit (epoch, random state of the device, history) and what it was started with: config, data, learning
 * rate, stack. That file is written last, and a checkpoint without it does not count. One that was written in the
 * middle of an epoch has the number of batches as well: model-{epoch}-{batches}.mpk. experiment.log tells in words what
 * happened, with times. One run at a time has the folder: a second one is refused with the process number of the first.
 *
 * A run that does not resume removes from the folder what an earlier run has left, and nothing else: checkpoints and
 * temporary files by their exact names, and in train/epoch-{n} and valid/epoch-{n} the files *.log, which metrics have
 * written; experiment.log begins anew. One that resumes takes the newest checkpoint that is whole; what is damaged
 * or incomplete is passed over with a warning in the log, and experiment.log goes on. */
#ifndef BURN_TRAIN_LEARNER_H
#define BURN_TRAIN_LEARNER_H

#include <burn/train/checkpoint.h>
#include <burn/train/data_parallel.h>
#include <burn/train/early_stopping.h>
#include <burn/train/grad_scaler.h>
#include <burn/train/interrupter.h>
#include <burn/train/loader.h>
#include <burn/train/logger.h>
#include <burn/train/optimizer.h>
#include <burn/train/renderer.h>
#include <burn/train/schedule.h>

BURN_EXTERN_C_BEGIN

/* What to do about a loss, or a parameter after an epoch, that is NaN or infinite. */
typedef enum BurnOnNan {
  BURN_NAN_STOP = 0, /* the run fails with epoch, batch and value, and says how many batches later the loss was read; no
                        checkpoint is written */
  BURN_NAN_WARN = 1  /* a warning per epoch; its checkpoint does not count as one of keep_checkpoints */
} BurnOnNan;

/* A batch of training, for on_batch. */
typedef struct BurnBatchEvent {
  size_t epoch, batch, batches; /* from 1; of an epoch */
  size_t items;                 /* of the batch */
  uint64_t iteration;           /* batches before this one in the whole run, earlier parts of it included */
  double learning_rate;
  BurnModule module;            /* in training; it may be changed: weights clipped, layers frozen */
  const BurnStepOutput *output; /* what the step gave, below autodiff, borrowed; NULL before the step */
  bool stepped;                 /* after: the optimizer has stepped, which it does not in the middle of a group of
                                   gradient_accumulation, or where a grad_scaler met what is not finite */
} BurnBatchEvent;

/* Called around each batch of training; NULL: not. A failed status ends the run and is returned, with epoch and batch.
 * Reading a tensor of the output waits for the device: where the value may come later, a metric is free of that. */
typedef struct BurnBatchCallbacks {
  BurnStatus (*before)(void *context, const BurnBatchEvent *event); /* before the step */
  BurnStatus (*after)(void *context, const BurnBatchEvent *event);  /* after the update, if there was one */
  void *context;
} BurnBatchCallbacks;

/* How a learner trains. */
typedef struct BurnLearnerConfig {
  const char *artifact_dir; /* made if missing; NULL: nothing is written */
  size_t epochs;            /* at least 1 */
  double learning_rate;     /* of every step; or, with 0 here, */
  BurnSchedule schedule;    /* of each. One of the two is needed where no rate_groups are */
  /* Parameters with rates of their own (optimizer.h); they outlive the run, and a resumed one must have the same. Only
   * tests of your own (`matches`) cannot be compared. */
  const BurnLearningRateGroup *rate_groups;
  size_t rate_group_count;
  BurnMetricList metrics; /* beside the loss; empty: the accuracy */
  /* Batches whose numbers are read together: the device is asked for them once per so many batches, when they are to be
   * shown, and at the end of an epoch. So a loss that is not finite is met up to so many batches late; up to twice as
   * many on a device that works on its own, where they are on their way while the next ones are computed. 1: after each
   * batch, which waits for it; 0 means 16; at most 4096. */
  size_t read_interval;
  size_t gradient_accumulation; /* batches per optimizer step, summed; 0 and 1 mean every batch. A partial group at the
                                   end of an epoch is dropped, as in Burn; so an epoch has at least so many batches */
  size_t keep_checkpoints;      /* newest checkpoints of finite epochs to keep; 0 means 2. Or, instead, */
  BurnCheckpointStrategy checkpoints; /* which of them to keep */
  BurnEarlyStopping early_stopping;   /* ends the run before its last epoch; zero: nothing does */
  bool resume;         /* go on after the newest whole checkpoint; from the start if there is none. Refused where none
                  of them can be read, or where the run is another one (below) */
  size_t resume_epoch; /* with resume: go on after the checkpoint of this epoch, which must be there and whole; the
                          checkpoints and logs of what the run did after it are removed. 0: after the newest */
  /* What the run is made from: written to {artifact_dir}/config.json, and into the checkpoints. A resumed run with
   * another config, learning rate, optimizer (its rule, numbers and clipping), gradient_accumulation or data (order,
   * seed, items) is refused with both values; epochs may grow. NULL type: no config; the rest is compared all the
   * same. Another stack of plugins is only told in the log. */
  BurnConfig config;
  const char
      *free_fields;    /* of the config, which a resumed run may have otherwise: "num_epochs num_workers"; or NULL */
  bool accept_changes; /* what differs is a warning in the log, not a refusal */
  BurnOnNan on_nan;
  BurnInterrupter *interrupter; /* ends the run after the step that is running; NULL: nobody */
  BurnLogger logger;            /* hears of every value, beside the files of the artifact folder */
  const BurnRenderer *renderer; /* shows the run; NULL: a line on stderr, unless */
  bool quiet;                   /* nobody does */
  /* Called after each epoch, NULL: not. A failed status ends the run and is returned. */
  BurnStatus (*on_epoch)(void *context, const BurnEpochResult *result);
  void *context;
  /* Scales losses for f16 (grad_scaler.h); NULL: they are not. The user's; its state is part of a checkpoint. Losses of
   * metrics and logs are as the task gave them. */
  BurnGradScaler *grad_scaler;
  BurnBatchCallbacks on_batch; /* around each batch; zero: nobody is called */
  /* Several devices share each batch (data_parallel.h), the first of them that of the run, where the optimizer works
   * and validation happens; 0: one device. Their number may change where a run resumes. */
  BurnDevice *const *devices;
  size_t device_count;
} BurnLearnerConfig;

/* The outcome of burn_learner_fit. */
typedef struct BurnLearnerResult {
  size_t epochs_done;        /* in total, earlier runs included */
  size_t epochs_resumed;     /* of these, restored from a checkpoint */
  uint64_t steps;            /* optimizer steps of this run */
  uint64_t skipped;          /* of these left out, and not counted, as the grad_scaler met what is not finite */
  BurnEpochResult last;      /* of the last epoch */
  double mean_epoch_seconds; /* training part, over the epochs of this run; 0 if none */
  bool stopped_early;        /* early_stopping ended the run, which is complete then: the status is BURN_OK */
  bool interrupted;          /* the interrupter ended the run: */
  size_t epoch, batch;       /* in this epoch, after so many of its batches; a run that resumes begins there */
} BurnLearnerResult;

/* Trains `module` on `device` (with autodiff). Validation data may be NULL. A loader of which an epoch
 * has no batches is INVALID_ARGUMENT. *result (NULL allowed) is filled also when the run fails midway. The loaders,
 * optimizer and module stay the caller's.
 *
 * An interrupted run is CANCELLED, has a checkpoint of the batch where it ended (given an artifact_dir) and says so in
 * *result. With gradient_accumulation it ends with the next optimizer step. A killed run resumes too, after the last
 * epoch that was complete. A log that cannot be written is reported at once (log, with the reason) and fails the run
 * after the checkpoint of its epoch. */
BURN_API BURN_USE_RESULT BurnStatus burn_learner_fit(const BurnLearnerConfig *config, const BurnTask *task,
                                                     BurnDevice *device, BurnModule module, BurnOptimizer *optimizer,
                                                     BurnLoader *train, BurnLoader *valid, BurnLearnerResult *result);

/* The metrics of a module (on any device, usually the inner one) over a loader, in result->metrics[..] as values of
 * BURN_SPLIT_VALID. `metrics` are those beside the loss; NULL or empty: the accuracy. */
BURN_API BURN_USE_RESULT BurnStatus burn_learner_evaluate(const BurnTask *task, BurnDevice *device, BurnModule module,
                                                          BurnLoader *data, const BurnMetricList *metrics,
                                                          BurnEpochResult *result);

/* Makes a folder, for artifacts, and those above it where they are missing. IO if one cannot be made, INVALID_ARGUMENT
 * for a path that is NULL or too long. */
BURN_API BURN_USE_RESULT BurnStatus burn_folder_make(const char *path);

BURN_EXTERN_C_END

#endif
