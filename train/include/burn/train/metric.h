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

/* The parts of an epoch, and the data of an evaluation (evaluator.h), as indices, and their number. */
typedef enum BurnSplit { BURN_SPLIT_TRAIN = 0, BURN_SPLIT_VALID = 1, BURN_SPLIT_TEST = 2 } BurnSplit;
enum { BURN_SPLITS = 3 };

/* -- a metric --------------------------------------------------------------------------------- */

/* What a metric gets to see of a step. */
typedef struct BurnMetricInput {
  const BurnStepOutput *output; /* on the inner device; borrowed, as its tensors are */
  size_t items;                 /* of the batch */
  double learning_rate;         /* of the step; NaN in validation */
  double seconds;               /* since the step before, or since its part of the epoch began */
} BurnMetricInput;

/* What a metric has measured. */
typedef struct BurnMeasured {
  BurnTensor
      *numbers;  /* [count], of any dtype but bool, as many in each step of an epoch; the learner takes it. NULL: */
  double number; /* the one number is known on the host already */
  double weight; /* of the step in its epoch, such as its items; 0: the step has nothing for this metric */
  bool mean;     /* the numbers are means over that weight; else sums */
  bool append;   /* instead of being added up, the numbers of all steps are kept one after the other */
} BurnMeasured;

/* A metric of your own: what it measures in a step, and what comes of the sums. */
typedef struct BurnMetricInterface {
  const char *name; /* "Accuracy": of results and logs */
  const char *unit; /* on screen: "%", or ""; NULL: "" */
  double scale;     /* from values to logs and screen: 100 for percent; 0: 1 */
  /* The device's part; a failure travels in `numbers`. */
  BurnMeasured (*measure)(const void *config, const BurnMetricInput *input);
  /* The value of sums of numbers, of one step or of an epoch so far, and of their weights. NULL: numbers[0] / weight.
   * Of appended numbers it is asked for a step and at the end of an epoch only. The numbers may be those of a
   * checkpoint: then `count` is another where the metric was configured in another way, and NaN the answer. */
  double (*value)(const void *config, const double *numbers, size_t count, double weight);
  /* The host's part of a step: makes those numbers that are kept of those that came, in place, and returns how many;
   * not more. NULL: all are kept as they are. */
  size_t (*reduce)(const void *config, double *numbers, size_t count, double weight);
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

/* Configs outlive the run; a config that is NULL is one with the defaults of all its rows. */

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

#define BURN_TOP_K_ACCURACY_CONFIG(REQ, OPT)                \
  REQ(BurnSize, k, "so many classes per row are predicted") \
  OPT(BurnI64, pad_token, -1, "targets that do not count; below 0: all do")
BURN_CONFIG(BurnTopKAccuracyConfig, BURN_TOP_K_ACCURACY_CONFIG);
/* "TopKAccuracy": the share of targets [..] that are among the k largest entries of their row of "output" [..,
 * classes]. */
BURN_API BurnMetric burn_metric_top_k_accuracy(const BurnTopKAccuracyConfig *config);

/* What precision and recall count; of the same tensors as F-beta. */
#define BURN_CONFUSION_CONFIG(REQ, OPT)                                                          \
  OPT(BurnSize, top_k, 1, "so many classes per row are predicted; 0: those above the threshold") \
  OPT(BurnF64, threshold, 0.5, "with top_k 0; the output is probabilities")                      \
  OPT(BurnBool, micro, false, "over the counts of all classes; else the mean of their scores")
BURN_CONFIG_OPTIONAL(BurnConfusionConfig, BURN_CONFUSION_CONFIG);
/* "Precision": hits per class that was predicted; 0 for a class that never was, as in Burn. */
BURN_API BurnMetric burn_metric_precision(const BurnConfusionConfig *config);
/* "Recall": hits per class that was there; 0 for a class that never was, as in Burn. */
BURN_API BurnMetric burn_metric_recall(const BurnConfusionConfig *config);

#define BURN_AUROC_CONFIG(REQ, OPT) \
  OPT(BurnBool, micro, false, "of the scores of all classes as one; else the mean over the classes")
BURN_CONFIG_OPTIONAL(BurnAurocConfig, BURN_AUROC_CONFIG);
/* "AUROC": how likely a row of a class has a higher score for it than a row that is not of it; equal scores count
 * half. Of "output" [n, classes] and "targets" as for F-beta, each class against the rest. It keeps all scores of an
 * epoch, on the host, and has no value before its end. Classes that all rows are of, or none, do not count; 0.5 if
 * there are no others, as in Burn. */
BURN_API BurnMetric burn_metric_auroc(const BurnAurocConfig *config);

#define BURN_AUC_PR_CONFIG(REQ, OPT) \
  OPT(BurnBool, micro, false, "of the scores of all classes as one; else the mean over the classes")
BURN_CONFIG_OPTIONAL(BurnAucPrConfig, BURN_AUC_PR_CONFIG);
/* "AUC-PR": the area under the curve of precision over recall as average precision, the sum of (R_n - R_(n-1)) P_n over
 * the thresholds from the highest score down, where equal scores are one (scikit-learn's average_precision_score). Of
 * the same tensors as AUROC, kept and counted alike: classes that no row is of do not count; 0.5 if there are no
 * others, as in Burn. */
BURN_API BurnMetric burn_metric_auc_pr(const BurnAucPrConfig *config);

#define BURN_HAMMING_SCORE_CONFIG(REQ, OPT)                     \
  OPT(BurnF64, threshold, 0.5, "labels above it are predicted") \
  OPT(BurnBool, sigmoid, false, "of the sigmoid of the output")
BURN_CONFIG_OPTIONAL(BurnHammingScoreConfig, BURN_HAMMING_SCORE_CONFIG);
/* "HammingScore": the share of labels that are predicted right, of "output" and integer "targets" [n, labels], 0 or
 * 1. */
BURN_API BurnMetric burn_metric_hamming_score(const BurnHammingScoreConfig *config);

#define BURN_TOKEN_CONFIG(REQ, OPT) OPT(BurnI64, pad_token, -1, "targets that do not count; below 0: all do")
BURN_CONFIG_OPTIONAL(BurnTokenConfig, BURN_TOKEN_CONFIG);
/* "Accuracy" of sequences, in the place of burn_metric_accuracy: the share of targets [..] at which their row of
 * "output" [.., classes] is largest; pads count on neither side. NaN for a step of nothing but pads. */
BURN_API BurnMetric burn_metric_token_accuracy(const BurnTokenConfig *config);
/* "Perplexity": exp of the mean of -log_softmax("output") [.., classes] at "targets" [..], over the targets of an
 * epoch. */
BURN_API BurnMetric burn_metric_perplexity(const BurnTokenConfig *config);
/* "CER": how many tokens of "predictions", int [n, length], have to be put in, taken out or changed to get "targets" of
 * the same shape, per token of the targets. Without "predictions" they are where "output" [n, length, classes] is
 * largest. Pads are left out wherever they stand. */
BURN_API BurnMetric burn_metric_cer(const BurnTokenConfig *config);
/* "WER": the same, but a sequence ends at its first pad. */
BURN_API BurnMetric burn_metric_wer(const BurnTokenConfig *config);

#define BURN_BLEU_CONFIG(REQ, OPT)                                                        \
  OPT(BurnSize, max_n, 4, "longest n-grams, 1 to 8 tokens")                               \
  OPT(BurnI64, pad_token, -1, "a sequence ends at the first one; below 0: at its length") \
  OPT(BurnF64, epsilon, 0, "hits of an order that has none; with 0 the score is 0")       \
  OPT(BurnBool, exponential, false, "1/2, 1/4 and so on hits of orders without; else epsilon")
BURN_CONFIG_OPTIONAL(BurnBleuConfig, BURN_BLEU_CONFIG);
/* "BLEU" (Papineni et al. 2002) of the tokens that CER compares, with one target for each prediction: the geometric
 * mean of the shares of n-grams of each order that are in the target, times exp(1 - target length / predicted
 * length) where predictions are shorter. Counts are those of all sequences of an epoch, as in sacreBLEU; Burn takes
 * the mean of the scores of batches. 0 without any hit. */
BURN_API BurnMetric burn_metric_bleu(const BurnBleuConfig *config);
/* "ROUGE-L" (Lin 2004) of the same tokens, which end at the first pad: F1 of the longest common subsequence; the mean
 * over the sequences. 1 for one that is empty on both sides. */
BURN_API BurnMetric burn_metric_rouge_l(const BurnTokenConfig *config);

#define BURN_DICE_CONFIG(REQ, OPT)                                   \
  OPT(BurnF64, epsilon, 1e-7, "added to both sides of the division") \
  OPT(BurnBool, include_background, false, "class 0 counts, too; with one class there is no background")
BURN_CONFIG_OPTIONAL(BurnDiceConfig, BURN_DICE_CONFIG);
/* "Dice": 2 |X and Y| / (|X| + |Y|) of masks "output" and "targets" [n, classes, ..] of one shape, 0 and 1 for each
 * class; of their sums over an epoch (Burn takes the mean of batches). 1 if all masks are empty. */
BURN_API BurnMetric burn_metric_dice(const BurnDiceConfig *config);

#define BURN_PSNR_CONFIG(REQ, OPT)                                            \
  OPT(BurnF64, max_pixel_value, 1, "the largest value that a pixel can have") \
  OPT(BurnF64, eps, 1e-10, "a mean squared error below it counts as this")
BURN_CONFIG_OPTIONAL(BurnPsnrConfig, BURN_PSNR_CONFIG);
/* "PSNR", in decibels: 10 log10(max_pixel_value^2 / mean squared error) of each picture, of "output" and "targets"
 * [n, ..] of one shape; the mean over the pictures. As in Burn. */
BURN_API BurnMetric burn_metric_psnr(const BurnPsnrConfig *config);

#define BURN_SSIM_CONFIG(REQ, OPT)                                                       \
  OPT(BurnF64, pixel_range, 1, "the largest difference that pixels can have")            \
  OPT(BurnF64, k1, 0.01, "against division by nothing: of means, times the pixel range") \
  OPT(BurnF64, k2, 0.03, "the same of variances")                                        \
  OPT(BurnSize, kernel_size, 11, "side of a window, odd")                                \
  OPT(BurnF64, sigma, 1.5, "deviation of its Gaussian weights, in pixels")
BURN_CONFIG_OPTIONAL(BurnSsimConfig, BURN_SSIM_CONFIG);
/* "SSIM": the structural similarity (Wang et al. 2004) of "output" and "targets" [n, channels, height, width] in all
 * windows that lie within the picture, without padding: 1 for equal pictures. The mean over windows, channels and
 * pictures. */
BURN_API BurnMetric burn_metric_ssim(const BurnSsimConfig *config);

#define BURN_MS_SSIM_CONFIG(REQ, OPT)                                                    \
  OPT(BurnF64, pixel_range, 1, "the largest difference that pixels can have")            \
  OPT(BurnF64, k1, 0.01, "against division by nothing: of means, times the pixel range") \
  OPT(BurnF64, k2, 0.03, "the same of variances")                                        \
  OPT(BurnSize, kernel_size, 11, "side of a window, odd")                                \
  OPT(BurnF64, sigma, 1.5, "deviation of its Gaussian weights, in pixels")               \
  OPT(BurnSize, scales, 5, "1 to 5: how often pictures are seen, each time at half the size")
BURN_CONFIG_OPTIONAL(BurnMsSsimConfig, BURN_MS_SSIM_CONFIG);
/* "MS-SSIM" (Wang et al. 2003), of the same tensors as SSIM, whose sides are at least kernel_size 2^(scales - 1):
 * the product of what contrast and structure are at each scale, and the luminance at the last, to the powers 0.0448,
 * 0.2856, 0.3001, 0.2363, 0.1333. Each channel by itself; the mean over channels and pictures. */
BURN_API BurnMetric burn_metric_ms_ssim(const BurnMsSsimConfig *config);

/* "IterationSpeed": steps per second. */
BURN_API BurnMetric burn_metric_iteration_speed(void);
/* "CpuUse": how much of the machine's processors all processes use, looked at every 200 ms. Without value where the
 * system does not tell. */
BURN_API BurnMetric burn_metric_cpu_use(void);
/* "CpuMemory": the machine's memory in use, in 10^9 bytes, without what the system would give back at once. Without
 * value where the system does not tell. */
BURN_API BurnMetric burn_metric_cpu_memory(void);
/* "DeviceMemory": the memory that the backend holds on the device of the step for this process, with what it keeps for
 * later, in 10^9 bytes (burn_device_memory); the mean over the steps. Without value where the backend does not tell. */
BURN_API BurnMetric burn_metric_device_memory(void);

/* What a GPU of NVIDIA does, for all processes; NaN: it does not tell. */
typedef struct BurnGpuUse {
  double busy;                      /* share of the last second or less in which it computed, 0 .. 1 */
  double memory_used, memory_total; /* bytes */
  double watts;
} BurnGpuUse;
/* Asks NVML, the library libnvidia-ml.so.1 of NVIDIA's driver, about GPU `index`, as nvidia-smi counts them. All NaN
 * and NOT_FOUND without that library or GPU, INCOMPATIBLE for one that lacks functions. */
BURN_API BURN_USE_RESULT BurnStatus burn_gpu_use(size_t index, BurnGpuUse *use);

#define BURN_GPU_CONFIG(REQ, OPT) OPT(BurnSize, index, 0, "which GPU, as nvidia-smi counts them")
BURN_CONFIG_OPTIONAL(BurnGpuConfig, BURN_GPU_CONFIG);
/* "GpuUse": how busy the GPU is; "GpuMemory": its memory in use, in 10^9 bytes; "GpuPower": what it takes, in watts. Of
 * burn_gpu_use, which is asked every 200 ms and says why they have no value where they have none. */
BURN_API BurnMetric burn_metric_gpu_use(const BurnGpuConfig *config);
BURN_API BurnMetric burn_metric_gpu_memory(const BurnGpuConfig *config);
BURN_API BurnMetric burn_metric_gpu_power(const BurnGpuConfig *config);

/* Counts int [classes, classes]: element [i, j] is how many rows with target i have their largest entry at j. Output
 * [.., classes], integer targets [..]; for a batch, or of all the rows of an epoch. */
BURN_API BURN_GIVES BURN_TAKES(1, 2) BurnTensor *burn_confusion_matrix(BurnTensor *output, BurnTensor *targets);

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
