/* metric_dice.c - Burn's Dice coefficient of masks: 2 |X and Y| / (|X| + |Y|) over an epoch (Dice 1945, Sorensen
 * 1948). */
#include "metric_images.h"
#include "metric_make.h"

#include <math.h>

static BurnMeasured refused(const char *what) {
  const BurnStatus status = burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "dice: %s", what);
  return (BurnMeasured){.numbers = burn_tensor_failed(status), .weight = 1};
}

/* [1]: the sum of all elements; takes x. */
static BurnTensor *sum_of(BurnTensor *x) { return burn_reshape(burn_sum(x), BURN_SHAPE(1)); }

/* Two sums: of what both have, and of what each has. */
static BurnMeasured measure(const void *context, const BurnMetricInput *input) {
  const BurnDiceConfig *config = context;
  BurnMeasured measured;
  BurnTensor *x, *y;
  if (!burn__metric_images("dice", input, 3, &measured, &x, &y)) return measured;
  const int64_t classes = burn_dim(x, 1);
  if (config->include_background && classes < 2) {
    burn_drop(x);
    burn_drop(y);
    return refused("there is a background with two classes or more, [n, classes, ..]");
  }
  if (!config->include_background && classes > 1) { /* class 0 is the background */
    x = burn_narrow(x, 1, 1, classes - 1);
    y = burn_narrow(y, 1, 1, classes - 1);
  }
  BurnTensor *both = burn_mul(burn_clone(x), burn_clone(y));
  BurnTensor *const sums[] = {sum_of(both), burn_add(sum_of(x), sum_of(y))};
  measured.numbers = burn_cat(sums, 2, 0);
  return measured;
}

static double value(const void *context, const double *numbers, size_t count, double weight) {
  const BurnDiceConfig *config = context;
  (void)weight;
  if (count != 2) return (double)NAN;
  return (2 * numbers[0] + config->epsilon) / (numbers[1] + config->epsilon);
}

static const BurnMetricInterface dice_metric = {
    .name = "Dice", .unit = "", .scale = 1, .measure = measure, .value = value};

BurnMetric burn_metric_dice(const BurnDiceConfig *config) {
  return burn__metric(&dice_metric, config, BurnDiceConfig_type());
}
