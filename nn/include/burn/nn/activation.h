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

BURN_EXTERN_C_END

#endif
