/* metric_auroc.c - Burn's AUROC. The scores of all rows of an epoch are needed at once: they are appended, each row as
 * its scores and then 0 or 1 for each class. Burn compares all pairs of rows on the device; the ranks of sorted scores
 * give the same number (Mann and Whitney) without a table of rows times rows. */
#include "metric_confusion.h"

#include <math.h>
#include <stdlib.h>

static BurnMeasured measure(const void *config, const BurnMetricInput *input) {
  BurnTensor *output = burn_step_get(input->output, "output");
  const BurnTensor *targets = burn_step_get(input->output, "targets");
  (void)config;
  if (!output || !targets || burn_dtype_kind(burn_dtype(targets)) == BURN_KIND_FLOAT) return (BurnMeasured){0};
  const BurnStatus status = burn__classes_check("auroc", output, targets);
  if (status != BURN_OK) return (BurnMeasured){.numbers = burn_tensor_failed(status), .weight = 1};
  const int64_t rows = burn_dim(output, 0), classes = burn_dim(output, 1);
  BurnTensor *truth = burn_cast(burn__targets_by_class(targets, rows, classes), burn_dtype(output));
  BurnTensor *const both[] = {burn_clone(output), truth};
  return (BurnMeasured){.numbers = burn_cat(both, 2, 1), .weight = (double)rows, .append = true};
}

typedef struct Scored {
  double score;
  bool positive;
} Scored;

static int compare(const void *a, const void *b) {
  const double one = ((const Scored *)a)->score, other = ((const Scored *)b)->score;
  return (one > other) - (one < other);
}

/* NaN if all are of one kind. */
static double area(Scored *items, size_t count) {
  double negatives = 0, positives = 0, won = 0;
  qsort(items, count, sizeof *items, compare);
  for (size_t begin = 0, end; begin < count; begin = end) {
    double equal_negatives = 0, equal_positives = 0;
    for (end = begin; end < count && compare(&items[begin], &items[end]) == 0; end++) {
      if (items[end].positive)
        equal_positives++;
      else
        equal_negatives++;
    }
    won += equal_positives * (negatives + 0.5 * equal_negatives);
    positives += equal_positives;
    negatives += equal_negatives;
  }
  return won / (positives * negatives);
}

/* The items of a class, or of all of them, of rows with `classes` scores and as many labels; false: there is a NaN. */
static bool gather(const double *numbers, size_t rows, size_t classes, size_t first, size_t last, Scored *items) {
  for (size_t row = 0; row < rows; row++) {
    for (size_t c = first; c < last; c++) {
      const double *at = numbers + 2 * classes * row + c;
      if (isnan(at[0])) return false;
      *items++ = (Scored){at[0], at[classes] > 0};
    }
  }
  return true;
}

static double value(const void *context, const double *numbers, size_t count, double weight) {
  const BurnAurocConfig *config = context;
  const size_t rows = (size_t)weight, classes = count / (2 * rows), step = config->micro ? classes : 1;
  Scored *items = malloc((rows * step + 1) * sizeof *items);
  double sum = 0;
  size_t counted = 0;
  bool sound = items != NULL;
  for (size_t c = 0; c < classes && sound; c += step) {
    sound = gather(numbers, rows, classes, c, c + step, items);
    const double one = sound ? area(items, rows * step) : (double)NAN;
    if (isnan(one)) continue;
    sum += one;
    counted++;
  }
  free(items);
  if (!sound) return (double)NAN;
  return counted ? sum / (double)counted : 0.5;
}

static const BurnMetricInterface auroc_metric = {
    .name = "AUROC", .unit = "%", .scale = 100, .measure = measure, .value = value};

BurnMetric burn_metric_auroc(const BurnAurocConfig *config) { return (BurnMetric){&auroc_metric, config, NULL}; }
