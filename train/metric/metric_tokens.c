/* metric_tokens.c - see metric_tokens.h. */
#include "metric_tokens.h"

/* int [n, length], the caller's; NULL: the step has none. */
static BurnTensor *predictions_of(const BurnStepOutput *step) {
  BurnTensor *predictions = burn_step_get(step, "predictions"), *output = burn_step_get(step, "output");
  if (predictions) return burn_clone(predictions);
  if (!output || burn_rank(output) != 3) return NULL;
  return burn_reshape(burn_argmax(burn_clone(output), 2), BURN_SHAPE(burn_dim(output, 0), burn_dim(output, 1)));
}

static BurnStatus check(const char *metric, const BurnTensor *predictions, const BurnTensor *targets) {
  const BurnShape one = burn_shape(predictions), other = burn_shape(targets);
  if (one.rank == 2 && other.rank == 2 && one.dims[0] == other.dims[0] && one.dims[1] == other.dims[1] &&
      burn_element_count(targets) > 0 && burn_dtype_kind(burn_dtype(predictions)) == BURN_KIND_INT) {
    return BURN_OK;
  }
  return burn_status_make(
      BURN_STATUS_INVALID_SHAPE, "%s: predictions %s %s and targets %s: integers [n, length] of both expected", metric,
      burn_dtype_name(burn_dtype(predictions)), burn_shape_text(one).text, burn_shape_text(other).text);
}

BurnMeasured burn__tokens_measure(const char *metric, const BurnMetricInput *input) {
  BurnTensor *targets = burn_step_get(input->output, "targets");
  if (!targets || burn_dtype_kind(burn_dtype(targets)) != BURN_KIND_INT) return (BurnMeasured){0};
  BurnTensor *predictions = predictions_of(input->output);
  if (!predictions) return (BurnMeasured){0};
  BurnStatus status = burn_tensor_status(predictions);
  if (status == BURN_OK) status = check(metric, predictions, targets);
  if (status != BURN_OK) {
    burn_drop(predictions);
    return (BurnMeasured){.numbers = burn_tensor_failed(status), .weight = 1};
  }
  BurnTensor *const both[] = {burn_cast(predictions, burn_dtype(targets)), burn_clone(targets)};
  return (BurnMeasured){.numbers = burn_cat(both, 2, 1), .weight = (double)burn_dim(targets, 0)};
}

size_t burn__tokens_without_pads(double *tokens, size_t count, double pad, bool ends_there) {
  size_t kept = 0;
  for (size_t i = 0; i < count; i++) {
    if (pad >= 0 && tokens[i] == pad) {
      if (ends_there) break;
      continue;
    }
    tokens[kept++] = tokens[i];
  }
  return kept;
}
