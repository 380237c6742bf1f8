/* evaluator.h - the metrics of a module over data of its own, such as the test set: after a run, or without one.
 *
 *   const BurnEvaluatorConfig config = {.artifact_dir = "artifacts/mine", .metrics = BURN_METRICS(..)};
 *   status = burn_evaluator_eval(&config, &task, inner, module, test, "Held out", &result);
 *   burn_epoch_metric(&result, "Loss", BURN_SPLIT_TEST)
 *
 * The logs are {artifact_dir}/test/held-out/Loss.log and so on, a line per batch and a final one, and evaluation.log,
 * which tells in words of all evaluations of the folder, with times, as Burn's. */
#ifndef BURN_TRAIN_EVALUATOR_H
#define BURN_TRAIN_EVALUATOR_H

#include <burn/train/data_parallel.h>
#include <burn/train/interrupter.h>
#include <burn/train/logger.h>

BURN_EXTERN_C_BEGIN

/* How an evaluator measures. */
typedef struct BurnEvaluatorConfig {
  const char *artifact_dir;     /* made if missing; NULL: nothing is written */
  BurnMetricList metrics;       /* beside the loss; empty: the accuracy */
  size_t read_interval;         /* as in BurnLearnerConfig */
  BurnLogger logger;            /* hears every value too, with split BURN_SPLIT_TEST and epoch 1 */
  BurnInterrupter *interrupter; /* ends it after a batch: CANCELLED; NULL: nobody */
} BurnEvaluatorConfig;

/* Measures a module, usually one below autodiff (burn_module_valid), on its device over a loader. `name` is that of the
 * data; its folder has the name in lower case with "-" for blanks, "/" and "\", and logs that an earlier evaluation of
 * this name has left there are removed. Values are in result->metrics[..] as BURN_SPLIT_TEST. `config` may be NULL. */
BURN_API BURN_USE_RESULT BurnStatus burn_evaluator_eval(const BurnEvaluatorConfig *config, const BurnTask *task,
                                                        BurnDevice *device, BurnModule module, BurnLoader *data,
                                                        const char *name, BurnEpochResult *result);

BURN_EXTERN_C_END

#endif
