/* metric_confusion.c - what leaves the device are three counts per class. They are added up over the epoch, so its
 * score is that of all items, not a mean of scores. */
#include "metric_confusion.h"

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
static BurnTensor *predicted(size_t top_k, double threshold, const BurnTensor *output) {
  const int64_t rows = burn_dim(output, 0), classes = burn_dim(output, 1), k = (int64_t)top_k;
  BurnTensor *x = burn_clone((BurnTensor *)(uintptr_t)output);
  if (k == 0) return burn_int(burn_greater_scalar(x, threshold));
  BurnTensor *best = burn_reshape(burn_argtopk(x, k, 1), BURN_SHAPE(rows, k, 1));
  return burn_reshape(burn_sum_dim(where_class(best, classes), 1), BURN_SHAPE(rows, classes));
}

BurnTensor *burn__targets_by_class(const BurnTensor *targets, int64_t rows, int64_t classes) {
  BurnTensor *x = burn_clone((BurnTensor *)(uintptr_t)targets);
  if (burn_rank(targets) == 2) return burn_int(burn_bool(x));
  x = burn_reshape(x, BURN_SHAPE(rows, 1));
  return classes > 1 ? where_class(x, classes) : burn_int(burn_bool(x));
}

BurnStatus burn__classes_check(const char *metric, const BurnTensor *output, const BurnTensor *targets) {
  const int64_t rows = burn_dim(output, 0), classes = burn_dim(output, 1);
  const uint32_t rank = burn_rank(targets);
  const bool fits = burn_dim(targets, 0) == rows && (rank == 1 || (rank == 2 && burn_dim(targets, 1) == classes));
  if (burn_rank(output) == 2 && rows > 0 && fits) return BURN_OK;
  return burn_status_make(BURN_STATUS_INVALID_SHAPE,
                          "%s: output of rank %u with %lld rows and targets of rank %u with %lld: [n, classes], and "
                          "[n] or the same expected",
                          metric, (unsigned)burn_rank(output), (long long)rows, (unsigned)rank,
                          (long long)burn_dim(targets, 0));
}

BurnMeasured burn__confusion_measure(const char *metric, size_t top_k, double threshold, const BurnMetricInput *input) {
  const BurnTensor *output = burn_step_get(input->output, "output"), *targets = burn_step_get(input->output, "targets");
  if (!output || !targets || burn_dtype_kind(burn_dtype(targets)) == BURN_KIND_FLOAT) return (BurnMeasured){0};
  BurnStatus status = burn__classes_check(metric, output, targets);
  const int64_t rows = burn_dim(output, 0), classes = burn_dim(output, 1);
  if (status == BURN_OK && top_k > (uint64_t)classes) {
    status = burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%s: top_k %zu: 0 to %lld classes expected", metric, top_k,
                              (long long)classes);
  }
  if (status != BURN_OK) return (BurnMeasured){.numbers = burn_tensor_failed(status), .weight = 1};
  BurnTensor *guess = predicted(top_k, threshold, output), *truth = burn__targets_by_class(targets, rows, classes);
  BurnTensor *hits = burn_mul(burn_clone(guess), burn_cast(burn_clone(truth), burn_dtype(guess)));
  BurnTensor *sums[3] = {burn_sum_dim(hits, 0), burn_sum_dim(guess, 0), burn_sum_dim(truth, 0)};
  for (int i = 1; i < 3; i++) sums[i] = burn_cast(sums[i], burn_dtype(sums[0]));
  return (BurnMeasured){.numbers = burn_cat(sums, 3, 1), .weight = (double)rows};
}

double burn__confusion_value(bool micro, const double *numbers, size_t count, BurnConfusionScore score,
                             const void *config) {
  const size_t classes = count / 3;
  double hits = 0, guessed = 0, truth = 0, sum = 0;
  size_t counted = 0;
  for (size_t i = 0; i < classes; i++) {
    const double one = score(config, numbers[i], numbers[classes + i], numbers[2 * classes + i]);
    hits += numbers[i];
    guessed += numbers[classes + i];
    truth += numbers[2 * classes + i];
    if (isnan(one)) continue;
    sum += one;
    counted++;
  }
  if (micro) return score(config, hits, guessed, truth);
  return counted ? sum / (double)counted : (double)NAN;
}
