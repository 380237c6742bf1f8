/* activation_kinds.h - one of the activations as a module, chosen by a config: Burn's enums Activation and
 * ActivationConfig. Layers with an activation have the config in theirs and the module in a row.
 *
 *   OPT(BurnActivationConfig, activation, BURN_ACTIVATION_GELU, "between the layers")
 *   config.activation = (BurnActivationConfig)BURN_ACTIVATION_LEAKY_RELU(0.2);
 *   BurnActivation activation = burn_activation_init(&config.activation, device);
 *   x = burn_activation_forward(&activation, x); */
#ifndef BURN_NN_ACTIVATION_KINDS_H
#define BURN_NN_ACTIVATION_KINDS_H

#include <burn/nn/activation.h>
#include <burn/nn/activation_learned.h>
#include <burn/nn/identity.h>

BURN_EXTERN_C_BEGIN

/* -- the config ------------------------------------------------------------------------------- */

/* Cases of BurnActivationConfig, in the order of Burn's ActivationConfig. */
enum {
  BURN_ACTIVATION_KIND_IDENTITY = 0,     /* x */
  BURN_ACTIVATION_KIND_GELU,             /* burn_gelu */
  BURN_ACTIVATION_KIND_GELU_APPROXIMATE, /* burn_gelu_approximate */
  BURN_ACTIVATION_KIND_PRELU,            /* BurnPRelu: prelu */
  BURN_ACTIVATION_KIND_RELU,             /* burn_relu */
  BURN_ACTIVATION_KIND_LEAKY_RELU,       /* burn_leaky_relu: negative_slope */
  BURN_ACTIVATION_KIND_SWIGLU,           /* BurnSwiGlu: swiglu */
  BURN_ACTIVATION_KIND_SELU,             /* burn_selu */
  BURN_ACTIVATION_KIND_SIGMOID,          /* burn_sigmoid */
  BURN_ACTIVATION_KIND_TANH,             /* burn_tanh */
  BURN_ACTIVATION_KIND_HARD_SIGMOID,     /* burn_hard_sigmoid: alpha, beta */
  BURN_ACTIVATION_KIND_HARD_SWISH,       /* burn_hard_swish */
  BURN_ACTIVATION_KIND_SOFTPLUS,         /* burn_softplus: beta */
  BURN_ACTIVATION_KIND_SOFTSIGN,         /* burn_softsign */
  BURN_ACTIVATION_KIND_ELU,              /* burn_elu: alpha */
  BURN_ACTIVATION_KIND_CELU,             /* burn_celu: alpha */
  BURN_ACTIVATION_KIND_THRESHOLDED_RELU, /* burn_thresholded_relu: alpha */
  BURN_ACTIVATION_KIND_HARD_SHRINK,      /* burn_hard_shrink: lambda */
  BURN_ACTIVATION_KIND_SOFT_SHRINK,      /* burn_soft_shrink: lambda */
  BURN_ACTIVATION_KIND_SHRINK            /* burn_shrink: lambda, bias */
};

/* An activation chosen in a config: a case with what it uses. It can stand in rows of configs, and in JSON as Burn
 * writes it: "Gelu", {"LeakyRelu": {"negative_slope": 0.01}}, {"PRelu": {"num_parameters": 1, "alpha": 0.25}}. Start
 * from one of the values below. */
typedef struct BurnActivationConfig {
  uint32_t kind; /* BURN_ACTIVATION_KIND_* */
  BurnF64 negative_slope, alpha, beta, lambda, bias;
  BurnPReluConfig prelu;
  BurnSwiGluConfig swiglu;
} BurnActivationConfig;
BURN_API const BurnType *BurnActivationConfig_type(void);

/* Which numbers a case uses, the others are not read. */
#define BURN_INTERNAL_ACTIVATION(KIND, negative_slope, alpha, beta, lambda, bias)                                 \
  BURN_INTERNAL_ROW_VALUE(BurnActivationConfig, BURN_ACTIVATION_KIND_##KIND, negative_slope, alpha, beta, lambda, \
                          bias, {1, 0.25}, {0, 0, false, BURN_KAIMING_UNIFORM, BURN_LINEAR_LAYOUT_ROW})
/* Values for rows; with a cast for assignments and arguments: (BurnActivationConfig)BURN_ACTIVATION_GELU. Burn's
 * defaults: slope 0.01; alpha 0.2 and beta 0.5 of hard sigmoid; else 1 for alpha and beta, 0.5 for lambda and bias;
 * prelu(1, 0.25). */
#define BURN_ACTIVATION_IDENTITY BURN_INTERNAL_ACTIVATION(IDENTITY, 0, 0, 0, 0, 0)
#define BURN_ACTIVATION_GELU BURN_INTERNAL_ACTIVATION(GELU, 0, 0, 0, 0, 0)
#define BURN_ACTIVATION_GELU_APPROXIMATE BURN_INTERNAL_ACTIVATION(GELU_APPROXIMATE, 0, 0, 0, 0, 0)
#define BURN_ACTIVATION_RELU BURN_INTERNAL_ACTIVATION(RELU, 0, 0, 0, 0, 0)
#define BURN_ACTIVATION_LEAKY_RELU(slope) BURN_INTERNAL_ACTIVATION(LEAKY_RELU, (slope), 0, 0, 0, 0)
#define BURN_ACTIVATION_PRELU(num_parameters, first_alpha)                                 \
  BURN_INTERNAL_ROW_VALUE(BurnActivationConfig, BURN_ACTIVATION_KIND_PRELU, 0, 0, 0, 0, 0, \
                          {(num_parameters), (first_alpha)},                               \
                          {0, 0, false, BURN_KAIMING_UNIFORM, BURN_LINEAR_LAYOUT_ROW})
#define BURN_ACTIVATION_SWIGLU(d_input, d_output)                                                      \
  BURN_INTERNAL_ROW_VALUE(BurnActivationConfig, BURN_ACTIVATION_KIND_SWIGLU, 0, 0, 0, 0, 0, {1, 0.25}, \
                          {(d_input), (d_output), false, BURN_KAIMING_UNIFORM, BURN_LINEAR_LAYOUT_ROW})
#define BURN_ACTIVATION_SELU BURN_INTERNAL_ACTIVATION(SELU, 0, 0, 0, 0, 0)
#define BURN_ACTIVATION_SIGMOID BURN_INTERNAL_ACTIVATION(SIGMOID, 0, 0, 0, 0, 0)
#define BURN_ACTIVATION_TANH BURN_INTERNAL_ACTIVATION(TANH, 0, 0, 0, 0, 0)
#define BURN_ACTIVATION_HARD_SIGMOID(factor, summand) \
  BURN_INTERNAL_ACTIVATION(HARD_SIGMOID, 0, (factor), (summand), 0, 0)
#define BURN_ACTIVATION_HARD_SWISH BURN_INTERNAL_ACTIVATION(HARD_SWISH, 0, 0, 0, 0, 0)
#define BURN_ACTIVATION_SOFTPLUS(sharpness) BURN_INTERNAL_ACTIVATION(SOFTPLUS, 0, 0, (sharpness), 0, 0)
#define BURN_ACTIVATION_SOFTSIGN BURN_INTERNAL_ACTIVATION(SOFTSIGN, 0, 0, 0, 0, 0)
#define BURN_ACTIVATION_ELU(factor) BURN_INTERNAL_ACTIVATION(ELU, 0, (factor), 0, 0, 0)
#define BURN_ACTIVATION_CELU(factor) BURN_INTERNAL_ACTIVATION(CELU, 0, (factor), 0, 0, 0)
#define BURN_ACTIVATION_THRESHOLDED_RELU(border) BURN_INTERNAL_ACTIVATION(THRESHOLDED_RELU, 0, (border), 0, 0, 0)
#define BURN_ACTIVATION_HARD_SHRINK(border) BURN_INTERNAL_ACTIVATION(HARD_SHRINK, 0, 0, 0, (border), 0)
#define BURN_ACTIVATION_SOFT_SHRINK(border) BURN_INTERNAL_ACTIVATION(SOFT_SHRINK, 0, 0, 0, (border), 0)
#define BURN_ACTIVATION_SHRINK(border, offset) BURN_INTERNAL_ACTIVATION(SHRINK, 0, 0, 0, (border), (offset))

/* -- the module ------------------------------------------------------------------------------- */

/* The cases of Burn's Activation, in its order. */
#define BURN_ACTIVATION_CASES(X, Name)                                     \
  X(Name, BurnIdentity, Identity, "as it is")                              \
  X(Name, BurnGelu, Gelu, "by erf or, approximately, by tanh")             \
  X(Name, BurnPRelu, PRelu, "learned slopes below 0")                      \
  X(Name, BurnRelu, Relu, "max(x, 0)")                                     \
  X(Name, BurnLeakyRelu, LeakyRelu, "a slope below 0")                     \
  X(Name, BurnSwiGlu, SwiGlu, "two linear layers, one gates the other")    \
  X(Name, BurnSelu, Selu, "scaled elu")                                    \
  X(Name, BurnSigmoid, Sigmoid, "1 / (1 + e^-x)")                          \
  X(Name, BurnTanh, Tanh, "hyperbolic tangent")                            \
  X(Name, BurnHardSigmoid, HardSigmoid, "a line between 0 and 1")          \
  X(Name, BurnHardSwish, HardSwish, "x times a line")                      \
  X(Name, BurnSoftplus, Softplus, "log(1 + e^x)")                          \
  X(Name, BurnSoftsign, Softsign, "x / (1 + |x|)")                         \
  X(Name, BurnElu, Elu, "e^x - 1 below 0")                                 \
  X(Name, BurnCelu, Celu, "elu with a smooth bend")                        \
  X(Name, BurnThresholdedRelu, ThresholdedRelu, "x above a border")        \
  X(Name, BurnHardShrink, HardShrink, "0 within a border")                 \
  X(Name, BurnSoftShrink, SoftShrink, "0 within a border, shifted beyond") \
  X(Name, BurnShrink, Shrink, "both")
BURN_MODULE_VARIANT(BurnActivation, BURN_ACTIVATION_CASES);

/* Makes the module, with its first values on `device`. A config that is refused, NULL among them, gives one whose
 * forward fails with the reason. */
BURN_API BurnActivation burn_activation_init(const BurnActivationConfig *config, BurnDevice *device);
/* Any shape -> the same shape, but for SwiGlu: [.., d_input] -> [.., d_output]. */
BURN_API BURN_GIVES BURN_TAKES(2) BurnTensor *burn_activation_forward(const BurnActivation *m, BurnTensor *x);

BURN_EXTERN_C_END

#endif
