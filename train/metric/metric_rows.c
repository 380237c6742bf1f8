/* metric_rows.c - see metric_rows.h. */
#include "metric_rows.h"

static bool same_rows(const BurnTensor *output, const BurnTensor *targets) {
  const uint32_t rank = burn_rank(targets);
  if (burn_rank(output) != rank + 1 || burn_element_count(targets) == 0) return false;
  for (uint32_t i = 0; i < rank; i++) {
    if (burn_dim(output, (int)i) != burn_dim(targets, (int)i)) return false;
  }
  return true;
}

BurnStatus burn__rows_of(const char *metric, BurnTensor *output, BurnTensor *targets, BurnMetricRows *rows) {
  BurnStatus status = burn_tensor_status(output);
  if (status == BURN_OK) status = burn_tensor_status(targets);
  if (status == BURN_OK && !same_rows(output, targets)) {
    status =
        burn_status_make(BURN_STATUS_INVALID_SHAPE, "%s: output %s and targets %s: [.., classes] and [..] expected",
                         metric, burn_shape_text(burn_shape(output)).text, burn_shape_text(burn_shape(targets)).text);
  }
  if (status != BURN_OK) {
    burn_drop(output);
    burn_drop(targets);
    return status;
  }
  rows->count = (int64_t)burn_element_count(targets);
  rows->classes = burn_dim(output, -1);
  rows->output = burn_reshape(output, BURN_SHAPE(rows->count, rows->classes));
  rows->targets = burn_reshape(targets, BURN_SHAPE(rows->count));
  return BURN_OK;
}

BurnStatus burn__rows_of_step(const char *metric, const BurnMetricInput *input, BurnMetricRows *rows) {
  BurnTensor *output = burn_step_get(input->output, "output"), *targets = burn_step_get(input->output, "targets");
  *rows = (BurnMetricRows){0};
  if (!output || !targets || burn_dtype_kind(burn_dtype(targets)) != BURN_KIND_INT) return BURN_OK;
  return burn__rows_of(metric, burn_clone(output), burn_clone(targets), rows);
}

BurnTensor *burn__not_pads(BurnTensor *targets, int64_t pad_token) {
  if (pad_token < 0) return burn_equal(burn_clone(targets), burn_clone(targets));
  return burn_not_equal_scalar_i64(burn_clone(targets), pad_token);
}
