/* linear.h - the affine map y = x W + b. The weight is [d_input, d_output], the transpose of PyTorch's. */
#ifndef BURN_NN_LINEAR_H
#define BURN_NN_LINEAR_H

#include <burn/config.h>
#include <burn/module.h>
#include <burn/nn/initializer.h>

BURN_EXTERN_C_BEGIN

/* How a weight lies in memory and in records: Row [d_input, d_output]; Col [d_output, d_input], as PyTorch's, so that
 * an output's weights are neighbours. The weight of the layer has the shape [d_input, d_output] in both. */
enum { BURN_LINEAR_LAYOUT_ROW = 0, BURN_LINEAR_LAYOUT_COL };
/* One of them, which can stand in rows of configs; JSON "Row", "Col". */
typedef uint32_t BurnLinearLayout;
BURN_API const BurnType *BurnLinearLayout_type(void);

/* As in Burn, the fans of a Col weight are those of the matrix that is stored: fan_in is d_output, fan_out d_input. */
#define BURN_LINEAR_CONFIG(REQ, OPT)                                                         \
  REQ(BurnSize, d_input, "size of the input features")                                       \
  REQ(BurnSize, d_output, "size of the output features")                                     \
  OPT(BurnBool, bias, true, "add a learned bias")                                            \
  OPT(BurnInitializer, initializer, BURN_KAIMING_UNIFORM, "first values of weight and bias") \
  OPT(BurnLinearLayout, layout, BURN_LINEAR_LAYOUT_ROW, "Row, or Col: the weight is stored transposed")
BURN_CONFIG(BurnLinearConfig, BURN_LINEAR_CONFIG);

#define BURN_LINEAR_FIELDS(X)                 \
  X(BurnParam, weight, "[d_input, d_output]") \
  X(BurnOptionParam, bias, "[d_output], absent when bias = false")
BURN_MODULE(BurnLinear, BURN_LINEAR_FIELDS);

/* Makes the layer, with its first values on `device`. A config that is refused gives a layer whose forward fails with
 * the reason. */
BURN_API BurnLinear burn_linear_init(const BurnLinearConfig *config, BurnDevice *device);
BURN_LAYER(BurnLinear, burn_linear, BURN_LINEAR_CONFIG);
/* [.., d_input] -> [.., d_output] */
BURN_API BURN_GIVES BURN_TAKES(2) BurnTensor *burn_linear_forward(const BurnLinear *m, BurnTensor *x);

BURN_EXTERN_C_END

#endif
