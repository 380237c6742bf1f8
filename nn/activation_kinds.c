/* activation_kinds.c - BurnActivation: one list of its cases, from which come the descriptor and the calls. */
#include <burn/nn/activation.h>

#include <burn/ops.h>

#define FIELD(name, doc) \
  { #name, BurnF64_type, offsetof(BurnActivation, name), doc, true }
static const BurnField slope[] = {FIELD(negative_slope, "slope below 0")};
static const BurnField alpha[] = {FIELD(alpha, "factor below 0; of ThresholdedRelu: the border")};
static const BurnField alpha_beta[] = {FIELD(alpha, "factor"), FIELD(beta, "summand")};
static const BurnField beta[] = {FIELD(beta, "sharpness of the bend at 0")};
static const BurnField lambda[] = {FIELD(lambda, "border")};
static const BurnField lambda_bias[] = {FIELD(lambda, "border"), FIELD(bias, "distance towards 0")};
#undef FIELD

/* WITHOUT(KIND, Burn's name, call), WITH(KIND, Burn's name, fields, call); of `a` and `x`. */
#define ACTIVATIONS(WITHOUT, WITH)                                                       \
  WITHOUT(IDENTITY, "Identity", x)                                                       \
  WITHOUT(GELU, "Gelu", burn_gelu(x))                                                    \
  WITHOUT(GELU_APPROXIMATE, "GeluApproximate", burn_gelu_approximate(x))                 \
  WITHOUT(RELU, "Relu", burn_relu(x))                                                    \
  WITH(LEAKY_RELU, "LeakyRelu", slope, burn_leaky_relu(x, a->negative_slope))            \
  WITHOUT(SELU, "Selu", burn_selu(x))                                                    \
  WITHOUT(SIGMOID, "Sigmoid", burn_sigmoid(x))                                           \
  WITHOUT(TANH, "Tanh", burn_tanh(x))                                                    \
  WITH(HARD_SIGMOID, "HardSigmoid", alpha_beta, burn_hard_sigmoid(x, a->alpha, a->beta)) \
  WITHOUT(HARD_SWISH, "HardSwish", burn_hard_swish(x))                                   \
  WITH(SOFTPLUS, "Softplus", beta, burn_softplus(x, a->beta))                            \
  WITHOUT(SOFTSIGN, "Softsign", burn_softsign(x))                                        \
  WITH(ELU, "Elu", alpha, burn_elu(x, a->alpha))                                         \
  WITH(CELU, "Celu", alpha, burn_celu(x, a->alpha))                                      \
  WITH(THRESHOLDED_RELU, "ThresholdedRelu", alpha, burn_thresholded_relu(x, a->alpha))   \
  WITH(HARD_SHRINK, "HardShrink", lambda, burn_hard_shrink(x, a->lambda))                \
  WITH(SOFT_SHRINK, "SoftShrink", lambda, burn_soft_shrink(x, a->lambda))                \
  WITH(SHRINK, "Shrink", lambda_bias, burn_shrink(x, a->lambda, a->bias))

#define VARIANT(KIND, name, call) [BURN_ACTIVATION_KIND_##KIND] = {name, 0, NULL},
#define VARIANT_WITH(KIND, name, fields, call) \
  [BURN_ACTIVATION_KIND_##KIND] = {name, sizeof fields / sizeof fields[0], fields},
static const BurnVariant variants[] = {ACTIVATIONS(VARIANT, VARIANT_WITH)};

const BurnType *BurnActivation_type(void) {
  static const BurnType type = {.kind = BURN_TYPE_VARIANT,
                                .name = "BurnActivation",
                                .bytes = sizeof(BurnActivation),
                                .count = sizeof variants / sizeof variants[0],
                                .variants = variants};
  return &type;
}

#define CASE(KIND, name, call)      \
  case BURN_ACTIVATION_KIND_##KIND: \
    return call;
#define CASE_WITH(KIND, name, fields, call) CASE(KIND, name, call)

BurnTensor *burn_activation_forward(const BurnActivation *a, BurnTensor *x) {
  switch (a->kind) {
    ACTIVATIONS(CASE, CASE_WITH)
    default:
      burn_drop(x);
      return burn_tensor_failed(burn_status_make(BURN_STATUS_INVALID_ARGUMENT,
                                                 "activation: kind %u is not one of 0..%u", a->kind,
                                                 BURN_ACTIVATION_KIND_SHRINK + 0u));
  }
}
