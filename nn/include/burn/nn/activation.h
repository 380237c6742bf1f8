/* activation.h - activations as modules, for models that list them. Where no module is wanted, the ops of the same
 * names (burn_relu and so on) do. All take any shape and keep it. */
#ifndef BURN_NN_ACTIVATION_H
#define BURN_NN_ACTIVATION_H

#include <burn/config.h>
#include <burn/nn/stateless.h>

BURN_EXTERN_C_BEGIN

/* max(x, 0) */
BURN_MODULE_STATELESS(BurnRelu);
BURN_API BurnRelu burn_relu_init(void);
BURN_API BURN_GIVES BURN_TAKES(2) BurnTensor *burn_relu_forward(const BurnRelu *m, BurnTensor *x);

/* x (1 + erf(x / sqrt 2)) / 2 */
BURN_MODULE_STATELESS(BurnGelu);
BURN_API BurnGelu burn_gelu_init(void);
BURN_API BURN_GIVES BURN_TAKES(2) BurnTensor *burn_gelu_forward(const BurnGelu *m, BurnTensor *x);

/* 1 / (1 + e^-x) */
BURN_MODULE_STATELESS(BurnSigmoid);
BURN_API BurnSigmoid burn_sigmoid_init(void);
BURN_API BURN_GIVES BURN_TAKES(2) BurnTensor *burn_sigmoid_forward(const BurnSigmoid *m, BurnTensor *x);

/* hyperbolic tangent */
BURN_MODULE_STATELESS(BurnTanh);
BURN_API BurnTanh burn_tanh_init(void);
BURN_API BURN_GIVES BURN_TAKES(2) BurnTensor *burn_tanh_forward(const BurnTanh *m, BurnTensor *x);

/* x / (1 + e^-x) */
BURN_MODULE_STATELESS(BurnSilu);
BURN_API BurnSilu burn_silu_init(void);
BURN_API BURN_GIVES BURN_TAKES(2) BurnTensor *burn_silu_forward(const BurnSilu *m, BurnTensor *x);

/* x where x >= 0, else negative_slope * x */
#define BURN_LEAKY_RELU_CONFIG(REQ, OPT) OPT(BurnF64, negative_slope, 0.01, "slope below 0")
BURN_CONFIG_OPTIONAL(BurnLeakyReluConfig, BURN_LEAKY_RELU_CONFIG);
#define BURN_LEAKY_RELU_FIELDS(X) X(BurnF64, negative_slope, "slope below 0")
BURN_MODULE(BurnLeakyRelu, BURN_LEAKY_RELU_FIELDS);
BURN_API BurnLeakyRelu burn_leaky_relu_init(const BurnLeakyReluConfig *config, BurnDevice *device);
BURN_API BURN_GIVES BURN_TAKES(2) BurnTensor *burn_leaky_relu_forward(const BurnLeakyRelu *m, BurnTensor *x);

/* log(1 + e^(beta x)) / beta */
#define BURN_SOFTPLUS_CONFIG(REQ, OPT) OPT(BurnF64, beta, 1.0, "sharpness of the bend at 0")
BURN_CONFIG_OPTIONAL(BurnSoftplusConfig, BURN_SOFTPLUS_CONFIG);
#define BURN_SOFTPLUS_FIELDS(X) X(BurnF64, beta, "sharpness of the bend at 0")
BURN_MODULE(BurnSoftplus, BURN_SOFTPLUS_FIELDS);
BURN_API BurnSoftplus burn_softplus_init(const BurnSoftplusConfig *config, BurnDevice *device);
BURN_API BURN_GIVES BURN_TAKES(2) BurnTensor *burn_softplus_forward(const BurnSoftplus *m, BurnTensor *x);

/* -- one of them as a value ------------------------------------------------------------------- */

/* Cases of BurnActivation, in the order of Burn's ActivationConfig, whose PRelu and SwiGlu are missing: they have
 * parameters, which a value has not. */
enum {
  BURN_ACTIVATION_KIND_IDENTITY = 0,     /* x */
  BURN_ACTIVATION_KIND_GELU,             /* burn_gelu */
  BURN_ACTIVATION_KIND_GELU_APPROXIMATE, /* burn_gelu_approximate */
  BURN_ACTIVATION_KIND_RELU,             /* burn_relu */
  BURN_ACTIVATION_KIND_LEAKY_RELU,       /* burn_leaky_relu: negative_slope */
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

/* An activation chosen in a config: a case with the numbers that it uses. It can stand in rows of configs and modules,
 * and in JSON as Burn writes it: "Gelu", {"LeakyRelu": {"negative_slope": 0.01}}.
 *
 *   OPT(BurnActivation, activation, BURN_ACTIVATION_GELU, "between the layers")
 *   config.activation = (BurnActivation)BURN_ACTIVATION_LEAKY_RELU(0.2);
 *
 * Start from one of the values below. */
typedef struct BurnActivation {
  uint32_t kind; /* BURN_ACTIVATION_KIND_* */
  BurnF64 negative_slope, alpha, beta, lambda, bias;
} BurnActivation;
BURN_API const BurnType *BurnActivation_type(void);

/* Any shape -> the same shape. A kind that is none of these fails. */
BURN_API BURN_GIVES BURN_TAKES(2) BurnTensor *burn_activation_forward(const BurnActivation *activation, BurnTensor *x);

/* KIND, negative_slope, alpha, beta, lambda, bias. */
#define BURN_INTERNAL_ACTIVATION(KIND, ...) \
  BURN_INTERNAL_ROW_VALUE(BurnActivation, BURN_ACTIVATION_KIND_##KIND, __VA_ARGS__)
/* Values for rows and assignments. Burn's defaults: slope 0.01; alpha 0.2 and beta 0.5 of hard sigmoid; else 1 for
 * alpha and beta, 0.5 for lambda and bias. */
#define BURN_ACTIVATION_IDENTITY BURN_INTERNAL_ACTIVATION(IDENTITY, 0, 0, 0, 0, 0)
#define BURN_ACTIVATION_GELU BURN_INTERNAL_ACTIVATION(GELU, 0, 0, 0, 0, 0)
#define BURN_ACTIVATION_GELU_APPROXIMATE BURN_INTERNAL_ACTIVATION(GELU_APPROXIMATE, 0, 0, 0, 0, 0)
#define BURN_ACTIVATION_RELU BURN_INTERNAL_ACTIVATION(RELU, 0, 0, 0, 0, 0)
#define BURN_ACTIVATION_LEAKY_RELU(slope) BURN_INTERNAL_ACTIVATION(LEAKY_RELU, (slope), 0, 0, 0, 0)
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

BURN_EXTERN_C_END

#endif
