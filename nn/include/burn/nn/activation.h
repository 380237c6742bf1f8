/* activation.h - activations as modules, for models that list them. Where no module is wanted, the ops of the same
 * names (burn_relu and so on) do. All take any shape and keep it, but for GLU. Those with parameters are in
 * activation_learned.h; activation_kinds.h has one of all, chosen by a config. The device of init is not used: it is a
 * parameter because the init of every layer has one. */
#ifndef BURN_NN_ACTIVATION_H
#define BURN_NN_ACTIVATION_H

#include <burn/config.h>
#include <burn/nn/stateless.h>

BURN_EXTERN_C_BEGIN

/* max(x, 0) */
BURN_MODULE_STATELESS(BurnRelu);
BURN_API BurnRelu burn_relu_init(void);
BURN_API BURN_GIVES BURN_TAKES(2) BurnTensor *burn_relu_forward(const BurnRelu *m, BurnTensor *x);

/* x (1 + erf(x / sqrt 2)) / 2, or the approximation of burn_gelu_approximate */
#define BURN_GELU_FIELDS(X) X(BurnBool, approximate, "by tanh instead of erf")
BURN_MODULE(BurnGelu, BURN_GELU_FIELDS);
BURN_API BurnGelu burn_gelu_init(void);
BURN_API BurnGelu burn_gelu_init_approximate(void);
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

/* x * tanh(log(1 + e^x)) */
BURN_MODULE_STATELESS(BurnMish);
BURN_API BurnMish burn_mish_init(void);
BURN_API BURN_GIVES BURN_TAKES(2) BurnTensor *burn_mish_forward(const BurnMish *m, BurnTensor *x);

/* x * hard_sigmoid(x, 1 / 6, 0.5) */
BURN_MODULE_STATELESS(BurnHardSwish);
BURN_API BurnHardSwish burn_hard_swish_init(void);
BURN_API BURN_GIVES BURN_TAKES(2) BurnTensor *burn_hard_swish_forward(const BurnHardSwish *m, BurnTensor *x);

/* log(1 / (1 + e^-x)) */
BURN_MODULE_STATELESS(BurnLogSigmoid);
BURN_API BurnLogSigmoid burn_log_sigmoid_init(void);
BURN_API BURN_GIVES BURN_TAKES(2) BurnTensor *burn_log_sigmoid_forward(const BurnLogSigmoid *m, BurnTensor *x);

/* x / (1 + |x|) */
BURN_MODULE_STATELESS(BurnSoftsign);
BURN_API BurnSoftsign burn_softsign_init(void);
BURN_API BURN_GIVES BURN_TAKES(2) BurnTensor *burn_softsign_forward(const BurnSoftsign *m, BurnTensor *x);

/* x - tanh(x) */
BURN_MODULE_STATELESS(BurnTanhshrink);
BURN_API BurnTanhshrink burn_tanhshrink_init(void);
BURN_API BURN_GIVES BURN_TAKES(2) BurnTensor *burn_tanhshrink_forward(const BurnTanhshrink *m, BurnTensor *x);

/* see burn_selu */
BURN_MODULE_STATELESS(BurnSelu);
BURN_API BurnSelu burn_selu_init(void);
BURN_API BURN_GIVES BURN_TAKES(2) BurnTensor *burn_selu_forward(const BurnSelu *m, BurnTensor *x);

/* x kept between 0 and 6 */
BURN_MODULE_STATELESS(BurnRelu6);
BURN_API BurnRelu6 burn_relu6_init(void);
BURN_API BURN_GIVES BURN_TAKES(2) BurnTensor *burn_relu6_forward(const BurnRelu6 *m, BurnTensor *x);

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

/* x where x > 0, else alpha * (e^x - 1) */
#define BURN_ELU_CONFIG(REQ, OPT) OPT(BurnF64, alpha, 1.0, "factor below 0")
BURN_CONFIG_OPTIONAL(BurnEluConfig, BURN_ELU_CONFIG);
#define BURN_ELU_FIELDS(X) X(BurnF64, alpha, "factor below 0")
BURN_MODULE(BurnElu, BURN_ELU_FIELDS);
BURN_API BurnElu burn_elu_init(const BurnEluConfig *config, BurnDevice *device);
BURN_API BURN_GIVES BURN_TAKES(2) BurnTensor *burn_elu_forward(const BurnElu *m, BurnTensor *x);

/* x where x > 0, else alpha * (e^(x / alpha) - 1) */
#define BURN_CELU_CONFIG(REQ, OPT) OPT(BurnF64, alpha, 1.0, "factor below 0")
BURN_CONFIG_OPTIONAL(BurnCeluConfig, BURN_CELU_CONFIG);
#define BURN_CELU_FIELDS(X) X(BurnF64, alpha, "factor below 0")
BURN_MODULE(BurnCelu, BURN_CELU_FIELDS);
BURN_API BurnCelu burn_celu_init(const BurnCeluConfig *config, BurnDevice *device);
BURN_API BURN_GIVES BURN_TAKES(2) BurnTensor *burn_celu_forward(const BurnCelu *m, BurnTensor *x);

/* alpha * x + beta, kept between 0 and 1; the defaults are ONNX's (PyTorch's alpha is 1 / 6) */
#define BURN_HARD_SIGMOID_CONFIG(REQ, OPT) \
  OPT(BurnF64, alpha, 0.2, "factor")       \
  OPT(BurnF64, beta, 0.5, "summand")
BURN_CONFIG_OPTIONAL(BurnHardSigmoidConfig, BURN_HARD_SIGMOID_CONFIG);
#define BURN_HARD_SIGMOID_FIELDS(X) \
  X(BurnF64, alpha, "factor")       \
  X(BurnF64, beta, "summand")
BURN_MODULE(BurnHardSigmoid, BURN_HARD_SIGMOID_FIELDS);
BURN_API BurnHardSigmoid burn_hard_sigmoid_init(const BurnHardSigmoidConfig *config, BurnDevice *device);
BURN_API BURN_GIVES BURN_TAKES(2) BurnTensor *burn_hard_sigmoid_forward(const BurnHardSigmoid *m, BurnTensor *x);

/* x kept between min_val and max_val */
#define BURN_HARDTANH_CONFIG(REQ, OPT)       \
  OPT(BurnF64, min_val, -1.0, "least value") \
  OPT(BurnF64, max_val, 1.0, "largest value")
BURN_CONFIG_OPTIONAL(BurnHardtanhConfig, BURN_HARDTANH_CONFIG);
#define BURN_HARDTANH_FIELDS(X)      \
  X(BurnF64, min_val, "least value") \
  X(BurnF64, max_val, "largest value")
BURN_MODULE(BurnHardtanh, BURN_HARDTANH_FIELDS);
BURN_API BurnHardtanh burn_hardtanh_init(const BurnHardtanhConfig *config, BurnDevice *device);
BURN_API BURN_GIVES BURN_TAKES(2) BurnTensor *burn_hardtanh_forward(const BurnHardtanh *m, BurnTensor *x);

/* 0 where |x| <= lambda, else x */
#define BURN_HARD_SHRINK_CONFIG(REQ, OPT) OPT(BurnF64, lambda, 0.5, "border")
BURN_CONFIG_OPTIONAL(BurnHardShrinkConfig, BURN_HARD_SHRINK_CONFIG);
#define BURN_HARD_SHRINK_FIELDS(X) X(BurnF64, lambda, "border")
BURN_MODULE(BurnHardShrink, BURN_HARD_SHRINK_FIELDS);
BURN_API BurnHardShrink burn_hard_shrink_init(const BurnHardShrinkConfig *config, BurnDevice *device);
BURN_API BURN_GIVES BURN_TAKES(2) BurnTensor *burn_hard_shrink_forward(const BurnHardShrink *m, BurnTensor *x);

/* 0 where |x| <= lambda, else x - lambda * sign(x) */
#define BURN_SOFT_SHRINK_CONFIG(REQ, OPT) OPT(BurnF64, lambda, 0.5, "border")
BURN_CONFIG_OPTIONAL(BurnSoftShrinkConfig, BURN_SOFT_SHRINK_CONFIG);
#define BURN_SOFT_SHRINK_FIELDS(X) X(BurnF64, lambda, "border")
BURN_MODULE(BurnSoftShrink, BURN_SOFT_SHRINK_FIELDS);
BURN_API BurnSoftShrink burn_soft_shrink_init(const BurnSoftShrinkConfig *config, BurnDevice *device);
BURN_API BURN_GIVES BURN_TAKES(2) BurnTensor *burn_soft_shrink_forward(const BurnSoftShrink *m, BurnTensor *x);

/* 0 where |x| <= lambda, else x - bias * sign(x) */
#define BURN_SHRINK_CONFIG(REQ, OPT)  \
  OPT(BurnF64, lambda, 0.5, "border") \
  OPT(BurnF64, bias, 0.5, "distance towards 0")
BURN_CONFIG_OPTIONAL(BurnShrinkConfig, BURN_SHRINK_CONFIG);
#define BURN_SHRINK_FIELDS(X)  \
  X(BurnF64, lambda, "border") \
  X(BurnF64, bias, "distance towards 0")
BURN_MODULE(BurnShrink, BURN_SHRINK_FIELDS);
BURN_API BurnShrink burn_shrink_init(const BurnShrinkConfig *config, BurnDevice *device);
BURN_API BURN_GIVES BURN_TAKES(2) BurnTensor *burn_shrink_forward(const BurnShrink *m, BurnTensor *x);

/* 0 where x <= alpha, else x */
#define BURN_THRESHOLDED_RELU_CONFIG(REQ, OPT) OPT(BurnF64, alpha, 1.0, "border")
BURN_CONFIG_OPTIONAL(BurnThresholdedReluConfig, BURN_THRESHOLDED_RELU_CONFIG);
#define BURN_THRESHOLDED_RELU_FIELDS(X) X(BurnF64, alpha, "border")
BURN_MODULE(BurnThresholdedRelu, BURN_THRESHOLDED_RELU_FIELDS);
BURN_API BurnThresholdedRelu burn_thresholded_relu_init(const BurnThresholdedReluConfig *config, BurnDevice *device);
BURN_API BURN_GIVES BURN_TAKES(2) BurnTensor *burn_thresholded_relu_forward(const BurnThresholdedRelu *m,
                                                                            BurnTensor *x);

/* value where x <= threshold, else x */
#define BURN_THRESHOLD_CONFIG(REQ, OPT) \
  REQ(BurnF64, threshold, "border")     \
  REQ(BurnF64, value, "what is at or below it")
BURN_CONFIG(BurnThresholdConfig, BURN_THRESHOLD_CONFIG);
#define BURN_THRESHOLD_FIELDS(X)  \
  X(BurnF64, threshold, "border") \
  X(BurnF64, value, "what is at or below it")
BURN_MODULE(BurnThreshold, BURN_THRESHOLD_FIELDS);
BURN_API BurnThreshold burn_threshold_init(const BurnThresholdConfig *config, BurnDevice *device);
BURN_LAYER(BurnThreshold, burn_threshold, BURN_THRESHOLD_CONFIG);
BURN_API BURN_GIVES BURN_TAKES(2) BurnTensor *burn_threshold_forward(const BurnThreshold *m, BurnTensor *x);

/* x where x >= 0, else slope * x: on an autodiff device with a slope for every element, uniform in [lower, upper),
 * elsewhere with their mean. A lower above upper fails in every forward pass. */
#define BURN_RRELU_CONFIG(REQ, OPT)         \
  OPT(BurnF64, lower, 0.125, "least slope") \
  OPT(BurnF64, upper, 1.0 / 3.0, "bound of the slopes")
BURN_CONFIG_OPTIONAL(BurnRReluConfig, BURN_RRELU_CONFIG);
#define BURN_RRELU_FIELDS(X)       \
  X(BurnF64, lower, "least slope") \
  X(BurnF64, upper, "bound of the slopes")
BURN_MODULE(BurnRRelu, BURN_RRELU_FIELDS);
BURN_API BurnRRelu burn_rrelu_init(const BurnRReluConfig *config, BurnDevice *device);
BURN_API BURN_GIVES BURN_TAKES(2) BurnTensor *burn_rrelu_forward(const BurnRRelu *m, BurnTensor *x);

/* The first half along dim times the sigmoid of the second half: the axis must be even and is halved. */
#define BURN_GLU_FIELDS(X) X(BurnI64, dim, "axis that is halved; negative: from the last")
BURN_MODULE(BurnGLU, BURN_GLU_FIELDS);
BURN_API BurnGLU burn_glu_init(int64_t dim);
BURN_API BURN_GIVES BURN_TAKES(2) BurnTensor *burn_glu_forward(const BurnGLU *m, BurnTensor *x);

BURN_EXTERN_C_END

#endif
