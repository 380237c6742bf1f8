/* metric.h - numbers about the steps of an epoch: those that ship with the framework, one's own, and their results.
 *
 * A metric turns the output of a step into a few numbers, on the device. The learner reads the numbers of several steps
 * at once, later, and adds them up: the value of an epoch is that of the sums. So a step never waits for a metric. */
#ifndef BURN_TRAIN_METRIC_H
#define BURN_TRAIN_METRIC_H

#include <burn/train/step.h>

BURN_EXTERN_C_BEGIN

/* The highest number of metrics of a run. */
enum { BURN_MAX_METRICS = 16 };

/* The parts of an epoch, as indices, and their number. */
typedef enum BurnSplit { BURN_SPLIT_TRAIN = 0, BURN_SPLIT_VALID = 1 } BurnSplit;
enum { BURN_SPLITS = 2 };

/* -- a metric --------------------------------------------------------------------------------- */

/* What a metric gets to see of a step. */
typedef struct BurnMetricInput {
  const BurnStepOutput *output; /* on the inner device; borrowed, as its tensors are */
  size_t items;                 /* of the batch */
  double learning_rate;         /* of the step; NaN in validation */
} BurnMetricInput;

/* What a metric has measured. */
typedef struct BurnMeasured {
  BurnTensor
      *numbers;  /* [count], of any dtype but bool, as many in each step of an epoch; the learner takes it. NULL: */
  double number; /* the one number is known on the host already */
  double weight; /* of the step in its epoch, such as its items; 0: the step has nothing for this metric */
  bool mean;     /* the numbers are means over that weight; else sums */
} BurnMeasured;

/* A metric of your own: what it measures in a step, and what comes of the sums. */
typedef struct BurnMetricInterface {
  const char *name; /* "Accuracy": of results and logs */
  const char *unit; /* on screen: "%", or "" */
  double scale;     /* from values to logs and screen: 100 for percent */
  /* The device's part; a failure travels in `numbers`. */
  BurnMeasured (*measure)(const void *config, const BurnMetricInput *input);
  /* The value of sums of numbers, of one step or of an epoch so far, and of their weights. NULL: numbers[0] / weight.
   */
  double (*value)(const void *config, const double *numbers, size_t count, double weight);
} BurnMetricInterface;

/* A metric in use. Table, config and name must outlive the run. */
typedef struct BurnMetric {
  const BurnMetricInterface *table;
  const void *config;
  const char *name; /* NULL: that of the table; two metrics of a run cannot have one name */
} BurnMetric;

/* Metrics by pointer and count; borrowed. */
typedef struct BurnMetricList {
  const BurnMetric *items;
  size_t count;
} BurnMetricList;

/* BURN_METRICS(burn_metric_accuracy(), mine): a list that lives as long as the block around it. */
#ifndef __cplusplus
#define BURN_METRICS(...) \
  ((BurnMetricList){(const BurnMetric[]){__VA_ARGS__}, sizeof((const BurnMetric[]){__VA_ARGS__}) / sizeof(BurnMetric)})
#endif

/* -- metrics that ship with the framework ----------------------------------------------------- */

/* "Loss": the mean of "loss" over the items. It is the first metric of every run and need not be listed. */
BURN_API BurnMetric burn_metric_loss(void);
/* "Accuracy": the share of rows of "output" [n, classes] whose largest entry is at their target, in "targets" [n]. Only
 * in steps with both and integer targets. */
BURN_API BurnMetric burn_metric_accuracy(void);
/* "LearningRate": the mean over the steps of training. */
BURN_API BurnMetric burn_metric_learning_rate(void);

/* F-beta: with hits (true positives), false positives and false negatives over an epoch, (1 + beta^2) hits / ((1 +
 * beta^2) hits + beta^2 false negatives + false positives). beta 1 is F1. Of "output" [n, classes] and "targets", which
 * are classes [n] or 0 and 1 in [n, classes]. The mean over the classes (macro), where those with nothing to divide by
 * do not count; or the score of the counts of all classes (micro). As in Burn. */
#define BURN_F_BETA_CONFIG(REQ, OPT)                                                             \
  OPT(BurnF64, beta, 1, "weight of recall against precision")                                    \
  OPT(BurnSize, top_k, 1, "so many classes per row are predicted; 0: those above the threshold") \
  OPT(BurnF64, threshold, 0.5, "with top_k 0; the output is probabilities")                      \
  OPT(BurnBool, micro, false, "over the counts of all classes; else the mean of their scores")
BURN_CONFIG_OPTIONAL(BurnFBetaConfig, BURN_F_BETA_CONFIG);
/* "FBetaScore". */
BURN_API BurnMetric burn_metric_f_beta(const BurnFBetaConfig *config);

/* -- results ---------------------------------------------------------------------------------- */

/* The values of a metric in an epoch, by BurnSplit; NaN: none. They are not scaled. */
typedef struct BurnMetricResult {
  const char *name, *unit;
  double scale;
  double values[BURN_SPLITS];
} BurnMetricResult;

/* An epoch: all metrics, and how long it took. */
typedef struct BurnEpochResult {
  size_t epoch; /* from 1 */
  size_t metric_count;
  BurnMetricResult metrics[BURN_MAX_METRICS]; /* the loss first */
  double seconds;                             /* of the training part */
  double items_per_second;                    /* of the training part */
  bool finite;                                /* so are the losses, and the parameters after the epoch */
} BurnEpochResult;

/* The value of a metric by name: burn_epoch_metric(result, "Loss", BURN_SPLIT_VALID). NaN if there is none. */
BURN_API double burn_epoch_metric(const BurnEpochResult *result, const char *name, BurnSplit split);

BURN_EXTERN_C_END

#endif
