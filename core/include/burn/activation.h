/* activation.h - activation functions. All take x [F] and return a tensor of its dtype and, but for glu, its shape. NaN
 * stays NaN in all of them; infinities follow the formula. Definitions are Burn's (burn::tensor::activation); defaults
 * are those of the activation modules. */
#ifndef BURN_ACTIVATION_H
#define BURN_ACTIVATION_H

#include <burn/tensor.h>

BURN_EXTERN_C_BEGIN

/* -- rectifiers ------------------------------------------------------------------------------- */

/* max(x, 0) [FI] */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_relu(BurnTensor *x);
/* x where x >= 0, else slope * x (usually 0.01) */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_leaky_relu(BurnTensor *x, double slope);
/* x where x >= 0, else alpha * x. Takes alpha: [1], or [channels] for an x with that many along axis 1; x's dtype. */
BURN_API BURN_GIVES BURN_TAKES(1, 2) BurnTensor *burn_prelu(BurnTensor *x, BurnTensor *alpha);
/* value where x <= theta, else x */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_threshold(BurnTensor *x, double theta, double value);
/* 0 where x <= alpha (usually 1), else x */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_thresholded_relu(BurnTensor *x, double alpha);

/* -- piecewise linear ------------------------------------------------------------------------- */

/* x kept between min and max (usually -1 and 1); burn_hardtanh(x, 0, 6) is relu6. */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_hardtanh(BurnTensor *x, double min, double max);
/* alpha * x + beta (usually 0.2 and 0.5), kept between 0 and 1 */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_hard_sigmoid(BurnTensor *x, double alpha, double beta);
/* x * hard_sigmoid(x, 1 / 6, 0.5) */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_hard_swish(BurnTensor *x);
/* 0 where |x| <= lambda (usually 0.5), else x */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_hard_shrink(BurnTensor *x, double lambda);
/* 0 where |x| <= lambda (usually 0.5), else x - lambda * sign(x) */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_soft_shrink(BurnTensor *x, double lambda);
/* 0 where |x| <= lambda, else x - bias * sign(x) (usually 0.5 both) */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_shrink(BurnTensor *x, double lambda, double bias);

/* -- smooth ----------------------------------------------------------------------------------- */

/* 1 / (1 + e^-x) */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_sigmoid(BurnTensor *x);
/* log(sigmoid(x)), exact also where sigmoid(x) is 0 or 1 in its dtype */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_log_sigmoid(BurnTensor *x);
/* x * (1 + erf(x / sqrt 2)) / 2 */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_gelu(BurnTensor *x);
/* x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))) / 2 */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_gelu_approximate(BurnTensor *x);
/* x * sigmoid(x) */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_silu(BurnTensor *x);
/* x * tanh(log(1 + e^x)) */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_mish(BurnTensor *x);
/* log(1 + e^(beta * x)) / beta; overflows to infinity for large beta * x, as in Burn */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_softplus(BurnTensor *x, double beta);
/* x / (1 + |x|) */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_softsign(BurnTensor *x);
/* x - tanh(x) */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_tanhshrink(BurnTensor *x);
/* x where x > 0, else alpha * (e^x - 1); alpha is usually 1 */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_elu(BurnTensor *x, double alpha);
/* x where x > 0, else alpha * (e^(x / alpha) - 1); alpha is usually 1, and not 0 */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_celu(BurnTensor *x, double alpha);
/* 1.0507009873554805 * elu(x, 1.6732632423543772) */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_selu(BurnTensor *x);

/* -- along an axis; a negative dim counts from the last --------------------------------------- */

/* e^x / sum of e^x along dim, and its logarithm; both shifted by the maximum */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_softmax(BurnTensor *x, int dim);
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_log_softmax(BurnTensor *x, int dim);
/* softmax of -x */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_softmin(BurnTensor *x, int dim);
/* e^x / (1 + sum of e^x) along dim, shifted by the maximum m: e^(x - m) / (e^-m + sum of e^(x - m)) */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_quiet_softmax(BurnTensor *x, int dim);
/* The first half along dim times the sigmoid of the second half. The axis must be even; it is halved. */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_glu(BurnTensor *x, int dim);

BURN_EXTERN_C_END

#endif
