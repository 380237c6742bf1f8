/* linear.c - the affine map. Weight and bias share one initializer and the fans of the weight, as in Burn. */
#include <burn/nn/linear.h>

#include "nn_internal.h"

#include <burn/quantizer.h>

const BurnType *BurnLinearLayout_type(void) {
  static const BurnVariant variants[] = {
      [BURN_LINEAR_LAYOUT_ROW] = {"Row", 0, NULL}, [BURN_LINEAR_LAYOUT_COL] = {"Col", 0, NULL}};
  static const BurnType type = {.kind = BURN_TYPE_VARIANT,
                                .name = "BurnLinearLayout",
                                .bytes = sizeof(BurnLinearLayout),
                                .count = sizeof variants / sizeof variants[0],
                                .variants = variants};
  return &type;
}

/* Made as it is stored, and seen through swapped axes. */
static BurnParam column_weight(BurnStatus status, const BurnLinearConfig *config, BurnDevice *device) {
  const int64_t d_input = (int64_t)config->d_input, d_output = (int64_t)config->d_output;
  if (status == BURN_OK) {
    BurnTensor *stored =
        burn_initializer_tensor(&config->initializer, BURN_SHAPE(d_output, d_input), d_output, d_input, device);
    status = burn_tensor_status(stored);
    if (status == BURN_OK) {
      BurnParam weight = burn_param(burn_transpose(stored));
      weight.transposed = true;
      return weight;
    }
    burn_drop(stored);
    status = burn_status_annotate(status, "linear");
  }
  return burn_param(burn_tensor_failed(status));
}

BurnLinear burn_linear_init(const BurnLinearConfig *config, BurnDevice *device) {
  BurnStatus status = BURN_OK;
  config = burn_nn_config(config, BurnLinearConfig_type(), "linear", &status);
  const BurnNnSize sizes[] = {{"d_input", config->d_input}, {"d_output", config->d_output}};
  if (status == BURN_OK) status = burn_nn_check_sizes("linear", sizes, 2);
  const int64_t d_input = (int64_t)config->d_input, d_output = (int64_t)config->d_output;
  BurnLinear m = {.bias = {.value = NULL}};
  if (status == BURN_OK && config->layout > BURN_LINEAR_LAYOUT_COL) {
    status = burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "linear: layout is %u; BURN_LINEAR_LAYOUT_ROW or _COL",
                              config->layout);
  }
  m.weight = config->layout == BURN_LINEAR_LAYOUT_COL
                 ? column_weight(status, config, device)
                 : burn_nn_param(status, "linear", &config->initializer, BURN_SHAPE(d_input, d_output), d_input,
                                 d_output, device);
  if (config->bias) {
    m.bias = burn_nn_param(status, "linear", &config->initializer, BURN_SHAPE(d_output), d_input, d_output, device);
  }
  return m;
}

/* x [.., d_input] with a quantized weight, both multiplied as integers. All axes before the last are one for it. */
static BurnTensor *quantized(const BurnLinear *m, BurnTensor *x) {
  BurnShape shape = burn_shape(x);
  const BurnDType dtype = burn_dtype(x);
  BurnTensor *bias = burn_param_value(&m->bias);
  const int64_t d_input = shape.rank ? shape.dims[shape.rank - 1] : 0;
  if (shape.rank != 2 && d_input > 0) x = burn_reshape(x, BURN_SHAPE(burn_element_count(x) / d_input, d_input));
  x = burn_quant_matmul(burn_param_quant_input(&m->weight, x), burn_param_quant(&m->weight), dtype);
  if (bias) x = burn_add(x, burn_unsqueeze(bias, 2));
  if (shape.rank == 2 || burn_rank(x) == 0) return x;
  shape.dims[shape.rank - 1] = burn_dim(x, 1);
  return burn_reshape(x, shape);
}

BurnTensor *burn_linear_forward(const BurnLinear *m, BurnTensor *x) {
  if (!m) return BURN_NN_NO_MODULE(x);
  const bool sound = burn_nn_sound(x);
  burn_param_observe(&m->weight, x);
  if (sound && burn_param_quantizes_input(&m->weight))
    return burn_nn_placed(sound, &m->weight, "linear", quantized(m, x));
  return burn_nn_placed(sound, &m->weight, "linear",
                        burn_linear(x, burn_param_value(&m->weight), burn_param_value(&m->bias)));
}
