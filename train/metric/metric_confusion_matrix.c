/* metric_confusion_matrix.c - counts of pairs of target and prediction, made on the device. */
#include "metric_rows.h"

BurnTensor *burn_confusion_matrix(BurnTensor *output, BurnTensor *targets) {
  BurnMetricRows rows = {0};
  if (burn_tensor_status(targets) == BURN_OK && burn_dtype_kind(burn_dtype(targets)) != BURN_KIND_INT) {
    const BurnStatus status =
        burn_status_make(BURN_STATUS_INVALID_DTYPE, "confusion_matrix: targets are %s, not integers",
                         burn_dtype_name(burn_dtype(targets)));
    burn_drop(output);
    burn_drop(targets);
    return burn_tensor_failed(status);
  }
  const BurnStatus status = burn__rows_of("confusion_matrix", output, targets, &rows);
  if (status != BURN_OK) return burn_tensor_failed(status);
  BurnTensor *best = burn_reshape(burn_argmax(rows.output, 1), BURN_SHAPE(rows.count));
  /* Each pair as one number, of which there are classes * classes. */
  const int64_t pairs = rows.classes * rows.classes;
  BurnTensor *pair = burn_mul_scalar_i64(burn_cast(rows.targets, burn_dtype(best)), rows.classes);
  BurnTensor *zeros = burn_zeros(burn_tensor_device(best), BURN_SHAPE(pairs), burn_dtype(best));
  BurnTensor *ones = burn_ones_like(burn_clone(best));
  pair = burn_add(pair, best);
  return burn_reshape(burn_scatter(zeros, 0, pair, ones, BURN_UPDATE_ADD), BURN_SHAPE(rows.classes, rows.classes));
}
