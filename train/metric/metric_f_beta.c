/* metric_f_beta.c - Burn's FBetaScore. What leaves the device are three counts per class: hits, predicted, there. They
 * are added up over the epoch, so its score is that of all items, not a mean of scores. */
#include <burn/train/metric.h>

#include <math.h>

/* Which class is it: int [.., classes], 1 where the indices [.., 1] (taken) have the class of the column. */
static BurnTensor *where_class(BurnTensor *indices, int64_t classes) {
  BurnTensor *all = burn_arange(burn_tensor_device(indices), 0, classes, 1);
  BurnShape shape = {burn_rank(indices), {1, 1, 1}};
  shape.dims[shape.rank - 1] = classes;
  all = burn_reshape(burn_cast(all, burn_dtype(indices)), shape);
  return burn_int(burn_equal(indices, all));
}

/* int [n, classes]: which classes the rows are predicted to be. */
static BurnTensor *predicted(const BurnFBetaConfig *config, const BurnTensor *output) {
  const int64_t rows = burn_dim(output, 0), classes = burn_dim(output, 1), k = (int64_t)config->top_k;
  BurnTensor *x = burn_clone((BurnTensor *)(uintptr_t)output);
  if (k == 0) return burn_int(burn_greater_scalar(x, config->threshold));
  BurnTensor *best = burn_reshape(burn_argtopk(x, k, 1), BURN_SHAPE(rows, k, 1));
  return burn_reshape(burn_sum_dim(where_class(best, classes), 1), BURN_SHAPE(rows, classes));
}

/* int [n, classes] of targets [n], or of [n, classes] with 0 and 1. */
static BurnTensor *there(const BurnTensor *targets, int64_t rows, int64_t classes) {
  BurnTensor *x = burn_clone((BurnTensor *)(uintptr_t)targets);
  if (burn_rank(targets) == 2) return burn_int(burn_bool(x));
  x = burn_reshape(x, BURN_SHAPE(rows, 1));
  return classes > 1 ? where_class(x, classes) : burn_int(burn_bool(x));
}

static BurnStatus check(const BurnFBetaConfig *config, const BurnTensor *output, const BurnTensor *targets) {
  const int64_t rows = burn_dim(output, 0), classes = burn_dim(output, 1);
  const uint32_t rank = burn_rank(targets);
  const bool fits = burn_dim(targets, 0) == rows && (rank == 1 || (rank == 2 && burn_dim(targets, 1) == classes));
  if (burn_rank(output) != 2 || rows == 0 || !fits) {
    return burn_status_make(
        BURN_STATUS_INVALID_SHAPE,
        "f_beta: output of rank %u with %lld rows and targets of rank %u with %lld: [n, classes], and "
        "[n] or the same expected",
        (unsigned)burn_rank(output), (long long)rows, (unsigned)rank, (long long)burn_dim(targets, 0));
  }
  if (config->beta >= 0 && config->top_k <= (uint64_t)classes) return BURN_OK;
  return burn_status_make(BURN_STATUS_INVALID_ARGUMENT,
                          "f_beta: beta %g and top_k %zu: 0 or more, and 0 to %lld classes expected", config->beta,
                          config->top_k, (long long)classes);
}

static BurnMeasured measure(const void *config, const BurnMetricInput *input) {
  const BurnTensor *output = burn_step_get(input->output, "output"), *targets = burn_step_get(input->output, "targets");
  if (!output || !targets || burn_dtype_kind(burn_dtype(targets)) == BURN_KIND_FLOAT) return (BurnMeasured){0};
  const BurnStatus status = check(config, output, targets);
  if (status != BURN_OK) return (BurnMeasured){.numbers = burn_tensor_failed(status), .weight = 1};
  const int64_t rows = burn_dim(output, 0), classes = burn_dim(output, 1);
  BurnTensor *guess = predicted(config, output), *truth = there(targets, rows, classes);
  BurnTensor *hits = burn_mul(burn_clone(guess), burn_cast(burn_clone(truth), burn_dtype(guess)));
  BurnTensor *sums[3] = {burn_sum_dim(hits, 0), burn_sum_dim(guess, 0), burn_sum_dim(truth, 0)};
  for (int i = 1; i < 3; i++) sums[i] = burn_cast(sums[i], burn_dtype(sums[0]));
  return (BurnMeasured){.numbers = burn_cat(sums, 3, 1), .weight = (double)rows};
}

static double score(double beta, double hits, double guessed, double truth) {
  const double square = beta * beta, scaled = (1 + square) * hits;
  return scaled / (scaled + square * (truth - hits) + (guessed - hits));
}

/* NaN if there is nothing to divide by; such classes are not in the mean of the others. */
static double value(const void *context, const double *numbers, size_t count, double weight) {
  const BurnFBetaConfig *config = context;
  const size_t classes = count / 3;
  double hits = 0, guessed = 0, truth = 0, sum = 0;
  size_t counted = 0;
  (void)weight;
  for (size_t i = 0; i < classes; i++) {
    const double one = score(config->beta, numbers[i], numbers[classes + i], numbers[2 * classes + i]);
    hits += numbers[i];
    guessed += numbers[classes + i];
    truth += numbers[2 * classes + i];
    if (isnan(one)) continue;
    sum += one;
    counted++;
  }
  if (config->micro) return score(config->beta, hits, guessed, truth);
  return counted ? sum / (double)counted : (double)NAN;
}

static const BurnMetricInterface f_beta_metric = {"FBetaScore", "%", 100, measure, value};

BurnMetric burn_metric_f_beta(const BurnFBetaConfig *config) { return (BurnMetric){&f_beta_metric, config, NULL}; }
