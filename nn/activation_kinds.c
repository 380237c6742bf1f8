/* activation_kinds.c - one of the activations, chosen by a config: one list of the config's cases, from which come the
 * descriptor and the modules, and one of the functions of the modules. */
#include <burn/nn/activation_kinds.h>

#include "nn_internal.h"

/* -- the config ------------------------------------------------------------------------------- */

#define FIELD(name, doc) \
  { #name, BurnF64_type, offsetof(BurnActivationConfig, name), doc, true }
/* A config of the layer's own, whose fields are those of the case. */
#define FIELDS_OF(Name, name) \
  { NULL, Burn##Name##Config_type, offsetof(BurnActivationConfig, name), "of " #Name, true }
static const BurnField slope[] = {FIELD(negative_slope, "slope below 0")};
static const BurnField alpha[] = {FIELD(alpha, "factor below 0; of ThresholdedRelu: the border")};
static const BurnField alpha_beta[] = {FIELD(alpha, "factor"), FIELD(beta, "summand")};
static const BurnField beta[] = {FIELD(beta, "sharpness of the bend at 0")};
static const BurnField lambda[] = {FIELD(lambda, "border")};
static const BurnField lambda_bias[] = {FIELD(lambda, "border"), FIELD(bias, "distance towards 0")};
static const BurnField prelu[] = {FIELDS_OF(PRelu, prelu)};
static const BurnField swiglu[] = {FIELDS_OF(SwiGlu, swiglu)};
#undef FIELDS_OF
#undef FIELD

/* WITHOUT(KIND, Burn's name, case of the module, module), WITH(KIND, Burn's name, fields, case, module); of the config
 * `c` on `device`. */
#define ACTIVATIONS(WITHOUT, WITH)                                                                     \
  WITHOUT(IDENTITY, "Identity", Identity, (burn_identity_init()))                                      \
  WITHOUT(GELU, "Gelu", Gelu, (burn_gelu_init()))                                                      \
  WITHOUT(GELU_APPROXIMATE, "GeluApproximate", Gelu, (burn_gelu_init_approximate()))                   \
  WITH(PRELU, "PRelu", prelu, PRelu, (burn_prelu_init(&c->prelu, device)))                             \
  WITHOUT(RELU, "Relu", Relu, (burn_relu_init()))                                                      \
  WITH(LEAKY_RELU, "LeakyRelu", slope, LeakyRelu, ((BurnLeakyRelu){c->negative_slope}))                \
  WITH(SWIGLU, "SwiGlu", swiglu, SwiGlu, (burn_swiglu_init(&c->swiglu, device)))                       \
  WITHOUT(SELU, "Selu", Selu, (burn_selu_init()))                                                      \
  WITHOUT(SIGMOID, "Sigmoid", Sigmoid, (burn_sigmoid_init()))                                          \
  WITHOUT(TANH, "Tanh", Tanh, (burn_tanh_init()))                                                      \
  WITH(HARD_SIGMOID, "HardSigmoid", alpha_beta, HardSigmoid, ((BurnHardSigmoid){c->alpha, c->beta}))   \
  WITHOUT(HARD_SWISH, "HardSwish", HardSwish, (burn_hard_swish_init()))                                \
  WITH(SOFTPLUS, "Softplus", beta, Softplus, ((BurnSoftplus){c->beta}))                                \
  WITHOUT(SOFTSIGN, "Softsign", Softsign, (burn_softsign_init()))                                      \
  WITH(ELU, "Elu", alpha, Elu, ((BurnElu){c->alpha}))                                                  \
  WITH(CELU, "Celu", alpha, Celu, ((BurnCelu){c->alpha}))                                              \
  WITH(THRESHOLDED_RELU, "ThresholdedRelu", alpha, ThresholdedRelu, ((BurnThresholdedRelu){c->alpha})) \
  WITH(HARD_SHRINK, "HardShrink", lambda, HardShrink, ((BurnHardShrink){c->lambda}))                   \
  WITH(SOFT_SHRINK, "SoftShrink", lambda, SoftShrink, ((BurnSoftShrink){c->lambda}))                   \
  WITH(SHRINK, "Shrink", lambda_bias, Shrink, ((BurnShrink){c->lambda, c->bias}))

#define VARIANT(KIND, name, Case, module) [BURN_ACTIVATION_KIND_##KIND] = {name, 0, NULL},
#define VARIANT_WITH(KIND, name, fields, Case, module) \
  [BURN_ACTIVATION_KIND_##KIND] = {name, sizeof fields / sizeof fields[0], fields},
static const BurnVariant variants[] = {ACTIVATIONS(VARIANT, VARIANT_WITH)};

const BurnType *BurnActivationConfig_type(void) {
  static const BurnType type = {.kind = BURN_TYPE_VARIANT,
                                .name = "BurnActivationConfig",
                                .bytes = sizeof(BurnActivationConfig),
                                .count = sizeof variants / sizeof variants[0],
                                .variants = variants};
  return &type;
}

/* -- the module ------------------------------------------------------------------------------- */

/* Most cases have no parameter to carry a failure, PRelu has. */
static BurnActivation refused(BurnStatus status, BurnDevice *device) {
  static const BurnInitializer ones = BURN_ONES;
  return BurnActivation_PRelu(
      (BurnPRelu){.alpha = burn_nn_param(status, "activation", &ones, BURN_SHAPE(1), 0, 0, device)});
}

static BurnStatus no_case(uint32_t kind, unsigned count) {
  return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "activation: kind %u is none of the %u cases", kind, count);
}

#define MAKE(KIND, name, Case, module) \
  case BURN_ACTIVATION_KIND_##KIND:    \
    return BurnActivation_##Case(module);
#define MAKE_WITH(KIND, name, fields, Case, module) MAKE(KIND, name, Case, module)

BurnActivation burn_activation_init(const BurnActivationConfig *config, BurnDevice *device) {
  const BurnActivationConfig *c = config;
  if (!c) {
    return refused(burn_status_make(BURN_STATUS_INVALID_ARGUMENT,
                                    "activation: config is NULL: BURN_ACTIVATION_GELU and its like make one"),
                   device);
  }
  switch (c->kind) {
    ACTIVATIONS(MAKE, MAKE_WITH)
    default:
      return refused(no_case(c->kind, sizeof variants / sizeof variants[0]), device);
  }
}

/* X(case, name in functions) */
#define CASES(X)                       \
  X(Identity, identity)                \
  X(Gelu, gelu)                        \
  X(PRelu, prelu)                      \
  X(Relu, relu)                        \
  X(LeakyRelu, leaky_relu)             \
  X(SwiGlu, swiglu)                    \
  X(Selu, selu)                        \
  X(Sigmoid, sigmoid)                  \
  X(Tanh, tanh)                        \
  X(HardSigmoid, hard_sigmoid)         \
  X(HardSwish, hard_swish)             \
  X(Softplus, softplus)                \
  X(Softsign, softsign)                \
  X(Elu, elu)                          \
  X(Celu, celu)                        \
  X(ThresholdedRelu, thresholded_relu) \
  X(HardShrink, hard_shrink)           \
  X(SoftShrink, soft_shrink)           \
  X(Shrink, shrink)

#define FORWARD(Case, name)        \
  case BurnActivation_KIND_##Case: \
    return burn_##name##_forward(&m->as.Case, x);

BurnTensor *burn_activation_forward(const BurnActivation *m, BurnTensor *x) {
  if (!m) return BURN_NN_NO_MODULE(x);
  switch (m->kind) {
    CASES(FORWARD)
    default:
      burn_drop(x);
      return burn_tensor_failed(no_case(m->kind, BurnActivation_type()->field_count));
  }
}
