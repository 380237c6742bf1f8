/* activation_learned.h - activations with parameters. */
#ifndef BURN_NN_ACTIVATION_LEARNED_H
#define BURN_NN_ACTIVATION_LEARNED_H

#include <burn/config.h>
#include <burn/nn/linear.h>

BURN_EXTERN_C_BEGIN

#define BURN_PRELU_CONFIG(REQ, OPT)                                          \
  OPT(BurnSize, num_parameters, 1, "slopes: 1, or one per channel (axis 1)") \
  OPT(BurnF64, alpha, 0.25, "first value of the slopes")
BURN_CONFIG_OPTIONAL(BurnPReluConfig, BURN_PRELU_CONFIG);

#define BURN_PRELU_FIELDS(X)                              \
  X(BurnParam, alpha, "[num_parameters], slopes below 0") \
  X(BurnF64, alpha_value, "first value of the slopes")
BURN_MODULE(BurnPRelu, BURN_PRELU_FIELDS);

/* Makes the layer, with its first values on `device`. A config that is refused gives a layer whose forward fails with
 * the reason. */
BURN_API BurnPRelu burn_prelu_init(const BurnPReluConfig *config, BurnDevice *device);
/* Any shape -> the same shape: x where x >= 0, else alpha * x */
BURN_API BURN_GIVES BURN_TAKES(2) BurnTensor *burn_prelu_forward(const BurnPRelu *m, BurnTensor *x);

#define BURN_SWIGLU_CONFIG(REQ, OPT)                                                            \
  REQ(BurnSize, d_input, "size of the input features")                                          \
  REQ(BurnSize, d_output, "size of the output features")                                        \
  OPT(BurnBool, bias, false, "add a learned bias in both")                                      \
  OPT(BurnInitializer, initializer, BURN_KAIMING_UNIFORM, "first values of weights and biases") \
  OPT(BurnLinearLayout, layout, BURN_LINEAR_LAYOUT_ROW, "of both weights, see BurnLinearConfig")
BURN_CONFIG(BurnSwiGluConfig, BURN_SWIGLU_CONFIG);

#define BURN_SWIGLU_FIELDS(X)                          \
  X(BurnLinear, linear_inner, "what is gated by silu") \
  X(BurnLinear, linear_outer, "what it is multiplied by")
BURN_MODULE(BurnSwiGlu, BURN_SWIGLU_FIELDS);

/* Makes the layer, with its first values on `device`. A config that is refused gives a layer whose forward fails with
 * the reason. */
BURN_API BurnSwiGlu burn_swiglu_init(const BurnSwiGluConfig *config, BurnDevice *device);
BURN_LAYER(BurnSwiGlu, burn_swiglu, BURN_SWIGLU_CONFIG);
/* [.., d_input] -> [.., d_output]: silu(inner(x)) * outer(x) */
BURN_API BURN_GIVES BURN_TAKES(2) BurnTensor *burn_swiglu_forward(const BurnSwiGlu *m, BurnTensor *x);

BURN_EXTERN_C_END

#endif
