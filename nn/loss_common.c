/* loss_common.c - what losses share: reductions, checks of shapes and numbers, class weights. */
#include "nn_internal.h"

const BurnType *BurnReduction_type(void) {
  static const BurnVariant variants[] = {[BURN_REDUCTION_MEAN] = {"Mean", 0, NULL},
                                         [BURN_REDUCTION_SUM] = {"Sum", 0, NULL},
                                         [BURN_REDUCTION_BATCH_MEAN] = {"BatchMean", 0, NULL},
                                         [BURN_REDUCTION_AUTO] = {"Auto", 0, NULL}};
  static const BurnType type = {.kind = BURN_TYPE_VARIANT,
                                .name = "BurnReduction",
                                .bytes = sizeof(BurnReduction),
                                .count = sizeof variants / sizeof variants[0],
                                .variants = variants};
  return &type;
}

BurnTensor *burn_nn_reduced(const char *layer, BurnTensor *losses, BurnReduction reduction) {
  if (reduction == BURN_REDUCTION_MEAN || reduction == BURN_REDUCTION_AUTO) return burn_mean(losses);
  if (reduction == BURN_REDUCTION_SUM) return burn_sum(losses);
  burn_drop(losses);
  if (reduction == BURN_REDUCTION_BATCH_MEAN) {
    return burn_tensor_failed(
        burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%s: reduction BatchMean is only of kl_div_loss", layer));
  }
  return burn_tensor_failed(burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%s: reduction %u is not one of 0..%u",
                                             layer, reduction, BURN_REDUCTION_AUTO + 0u));
}

/* -- checks ----------------------------------------------------------------------------------- */

static bool same_shape(BurnShape a, BurnShape b) {
  bool same = a.rank == b.rank;
  for (uint32_t i = 0; same && i < a.rank; i++) same = a.dims[i] == b.dims[i];
  return same;
}

BurnStatus burn_nn_check_alike(const char *layer, const BurnNnOperand *operands, size_t count) {
  const BurnShape first = burn_shape(operands[0].tensor);
  for (size_t i = 1; i < count; i++) {
    const BurnShape shape = burn_shape(operands[i].tensor);
    if (first.rank == 0 || shape.rank == 0 || same_shape(first, shape)) continue;
    const bool fits = burn_element_count(operands[0].tensor) == burn_element_count(operands[i].tensor);
    return burn_status_make(BURN_STATUS_INVALID_SHAPE, "%s: %s %s and %s %s differ in shape%s", layer, operands[0].name,
                            burn_shape_text(first).text, operands[i].name, burn_shape_text(shape).text,
                            fits ? "; burn_reshape makes one like the other" : "");
  }
  return BURN_OK;
}

BurnStatus burn_nn_check_smoothing(const char *layer, const BurnOptionF64 *smoothing) {
  if (!smoothing->present || (smoothing->value >= 0 && smoothing->value <= 1)) return BURN_OK;
  return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%s: smoothing %g is outside 0..1", layer, smoothing->value);
}

BurnStatus burn_nn_check_above_0(const char *layer, const char *name, double value) {
  if (value > 0) return BURN_OK;
  return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%s: %s %g is not above 0", layer, name, value);
}

BurnTensor *burn_nn_refused(BurnStatus status, const BurnNnOperand *operands, size_t count) {
  for (size_t i = 0; i < count; i++) burn_drop(operands[i].tensor);
  return burn_tensor_failed(status);
}

/* -- class weights ---------------------------------------------------------------------------- */

BurnTensor *burn_nn_require_vector(const char *layer, const char *name, BurnTensor *x) {
  const uint32_t rank = burn_rank(x);
  if (rank <= 1) return x;
  burn_drop(x);
  return burn_tensor_failed(
      burn_status_make(BURN_STATUS_INVALID_SHAPE, "%s: %s must have rank 1, found %u", layer, name, rank));
}

void burn_nn_set_buffer(BurnBuffer *buffer, BurnTensor *value) {
  if (buffer->cell) {
    burn_buffer_set(buffer, value);
  } else {
    *buffer = burn_buffer(value);
  }
}

void burn_nn_set_weights(BurnBuffer *buffer, const char *layer, BurnTensor *weights) {
  double least = 1;
  weights = burn_nn_require_vector(layer, "weights", weights);
  BurnStatus status = burn_read_scalar(burn_min(burn_clone(weights)), &least);
  if (status == BURN_OK) status = burn_nn_check_above_0(layer, "weight", least);
  if (status != BURN_OK) {
    burn_drop(weights);
    weights = burn_tensor_failed(status);
  }
  burn_nn_set_buffer(buffer, weights);
}

BurnTensor *burn_nn_buffer_on(const BurnBuffer *buffer, BurnDevice *device, BurnDType dtype) {
  BurnTensor *value = buffer->cell ? burn_buffer_value(buffer) : NULL;
  if (!value) return NULL;
  return burn_nn_in_dtype(burn_to_device(value, device), dtype);
}

double burn_nn_least_normal(BurnDType dtype) {
  switch (dtype) {
    case BURN_DTYPE_F64:
      return DBL_MIN;
    case BURN_DTYPE_F16:
      return 6.103515625e-05;
    default:
      return (double)FLT_MIN; /* bf16 has f32's exponents */
  }
}
