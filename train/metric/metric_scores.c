/* metric_scores.c - see metric_scores.h. */
#include "metric_scores.h"

#include "metric_confusion.h"

#include <math.h>
#include <stdlib.h>

BurnMeasured burn__scores_measure(const char *metric, const BurnMetricInput *input) {
  BurnTensor *output = burn_step_get(input->output, "output");
  const BurnTensor *targets = burn_step_get(input->output, "targets");
  if (!output || !targets || burn_dtype_kind(burn_dtype(targets)) == BURN_KIND_FLOAT) return (BurnMeasured){0};
  const BurnStatus status = burn__classes_check(metric, output, targets);
  if (status != BURN_OK) return (BurnMeasured){.numbers = burn_tensor_failed(status), .weight = 1};
  const int64_t rows = burn_dim(output, 0), classes = burn_dim(output, 1);
  BurnTensor *truth = burn_cast(burn__targets_by_class(targets, rows, classes), burn_dtype(output));
  BurnTensor *const both[] = {burn_clone(output), truth};
  return (BurnMeasured){.numbers = burn_cat(both, 2, 1), .weight = (double)rows, .append = true};
}

static int compare(const void *a, const void *b) {
  const double one = ((const BurnScored *)a)->score, other = ((const BurnScored *)b)->score;
  return (one > other) - (one < other);
}

/* The items of a class, or of all of them, of rows with `classes` scores and as many labels; false: there is a NaN. */
static bool gather(const double *numbers, size_t rows, size_t classes, size_t first, size_t last, BurnScored *items) {
  for (size_t row = 0; row < rows; row++) {
    for (size_t c = first; c < last; c++) {
      const double *at = numbers + 2 * classes * row + c;
      if (isnan(at[0])) return false;
      *items++ = (BurnScored){at[0], at[classes] > 0};
    }
  }
  return true;
}

double burn__scores_value(bool micro, const double *numbers, size_t count, double weight, BurnScore *score) {
  if (!(weight >= 1 && weight <= (double)count / 2)) return (double)NAN;
  const size_t rows = (size_t)weight, classes = count / (2 * rows), step = micro ? classes : 1;
  BurnScored *items = malloc((rows * step + 1) * sizeof *items);
  double sum = 0;
  size_t counted = 0;
  bool sound = items != NULL;
  for (size_t c = 0; c < classes && sound; c += step) {
    sound = gather(numbers, rows, classes, c, c + step, items);
    if (!sound) break;
    qsort(items, rows * step, sizeof *items, compare);
    const double one = score(items, rows * step);
    if (isnan(one)) continue;
    sum += one;
    counted++;
  }
  free(items);
  if (!sound) return (double)NAN;
  return counted ? sum / (double)counted : 0.5;
}
