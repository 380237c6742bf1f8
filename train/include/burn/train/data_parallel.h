/* data_parallel.h - one step of training on several devices of a process: each has a copy of the module and a part of
 * the batch, and the gradients come together as those of the whole batch. The learner does it for runs with more than
 * one device (BurnLearnerConfig.devices); a loop of one's own calls it by itself:
 *
 *   const BurnDataParallel parallel = {task, module, devices, 2, NULL};
 *   status = burn_data_parallel_step(&parallel, &batch, &output, &gradients);
 *   if (status == BURN_OK) status = burn_optimizer_step(optimizer, module, gradients, 1e-3);
 *   burn_step_drop(&output); */
#ifndef BURN_TRAIN_DATA_PARALLEL_H
#define BURN_TRAIN_DATA_PARALLEL_H

#include <burn/train/grad_scaler.h>
#include <burn/train/loader.h>
#include <burn/train/optimizer.h>
#include <burn/train/step.h>

BURN_EXTERN_C_BEGIN

/* The user's part. `module` points at the user's struct: the training model, or for validation its twin on the inner
 * device. Failures travel in the tensors. On several devices it is called from a thread for each at the same time, with
 * the device's copy of the module: what `context` points at must allow that. */
typedef struct BurnTask {
  BurnStepOutput (*step)(void *context, const void *module, BurnBatch *batch);
  void *context;
} BurnTask;

/* The highest number of devices of a step. */
enum { BURN_MAX_DEVICES = 64 };

/* Who computes a step. */
typedef struct BurnDataParallel {
  BurnTask task;
  BurnModule module;           /* on devices[0] */
  BurnDevice *const *devices;  /* [device_count], all with autodiff, all different; they stay the caller's */
  size_t device_count;         /* 1: the step as it is, on the calling thread */
  BurnGradScaler *grad_scaler; /* NULL: losses are not scaled before backward */
} BurnDataParallel;

/* The gradients of a batch, whose tensors are on devices[0], and what its step gave, below autodiff on devices[0]; the
 * caller ends both. On failure there is neither.
 *
 * Of a batch of n items, device k of d gets those from k * n / d on; one that gets none does nothing. The first device
 * works on the module itself, on the calling thread, the others on copies that are made for the step: so the buffers of
 * the module (running statistics) are those of the first part. The loss of each part counts by its share of the items,
 * so a loss that is a mean over items has the gradients of the whole batch, up to rounding; that of the output is the
 * mean weighted the same way, and other tensors are put one after the other along axis 0. Sums are made in the order of
 * the devices on devices[0]: the same bits in every run. Random numbers of the others follow from the random state of
 * devices[0] and the number of the device, so that a run that resumes needs no more than that state. */
BURN_API BURN_USE_RESULT BurnStatus burn_data_parallel_step(const BurnDataParallel *config, BurnBatch *batch,
                                                            BurnStepOutput *output, BurnGradientsParams **gradients);

BURN_EXTERN_C_END

#endif
