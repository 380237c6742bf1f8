/* loss_regression.h - losses over errors, and likelihoods of counts and of normal distributions. Predictions and
 * targets have one shape. A number of a config that makes no sense fails in every forward pass; the device of init is
 * not used: it is a parameter because the init of every layer has one. */
#ifndef BURN_NN_LOSS_REGRESSION_H
#define BURN_NN_LOSS_REGRESSION_H

#include <burn/config.h>
#include <burn/nn/loss.h>
#include <burn/nn/stateless.h>

BURN_EXTERN_C_BEGIN

/* error^2 / 2 where |error| <= delta, else delta * (|error| - delta / 2) */
#define BURN_HUBER_LOSS_CONFIG(REQ, OPT) REQ(BurnF64, delta, "where the square becomes a line, 0 or more")
BURN_CONFIG(BurnHuberLossConfig, BURN_HUBER_LOSS_CONFIG);
#define BURN_HUBER_LOSS_FIELDS(X)                      \
  X(BurnF64, delta, "where the square becomes a line") \
  X(BurnF64, lin_bias, "delta^2 / 2")
BURN_MODULE(BurnHuberLoss, BURN_HUBER_LOSS_FIELDS);

/* Makes the loss; it has no parameters. */
BURN_API BurnHuberLoss burn_huber_loss_init(const BurnHuberLossConfig *config, BurnDevice *device);
BURN_LAYER(BurnHuberLoss, burn_huber_loss, BURN_HUBER_LOSS_CONFIG);
/* Predictions and targets of one shape -> [1] */
BURN_API BURN_GIVES BURN_TAKES(2, 3) BurnTensor *burn_huber_loss_forward(const BurnHuberLoss *m,
                                                                         BurnTensor *predictions, BurnTensor *targets,
                                                                         BurnReduction reduction);
/* The same -> the shape of the predictions. */
BURN_API BURN_GIVES BURN_TAKES(2, 3) BurnTensor *burn_huber_loss_forward_no_reduction(const BurnHuberLoss *m,
                                                                                      BurnTensor *predictions,
                                                                                      BurnTensor *targets);
/* The same of errors [any shape], target - prediction -> the same shape. */
BURN_API BURN_GIVES BURN_TAKES(2) BurnTensor *burn_huber_loss_forward_residuals(const BurnHuberLoss *m,
                                                                                BurnTensor *residuals);

/* error^2 / (2 beta) where |error| < beta, else |error| - beta / 2: the Huber loss divided by beta */
#define BURN_SMOOTH_L1_LOSS_CONFIG(REQ, OPT) OPT(BurnF64, beta, 1.0, "where the square becomes a line, above 0")
BURN_CONFIG_OPTIONAL(BurnSmoothL1LossConfig, BURN_SMOOTH_L1_LOSS_CONFIG);
#define BURN_SMOOTH_L1_LOSS_FIELDS(X) X(BurnF64, beta, "where the square becomes a line")
BURN_MODULE(BurnSmoothL1Loss, BURN_SMOOTH_L1_LOSS_FIELDS);

/* Makes the loss; it has no parameters. */
BURN_API BurnSmoothL1Loss burn_smooth_l1_loss_init(const BurnSmoothL1LossConfig *config, BurnDevice *device);
/* Predictions and targets of one shape -> the same shape: as in Burn, this name is that without reduction. */
BURN_API BURN_GIVES BURN_TAKES(2, 3) BurnTensor *burn_smooth_l1_loss_forward(const BurnSmoothL1Loss *m,
                                                                             BurnTensor *predictions,
                                                                             BurnTensor *targets);
/* The same -> [1] */
BURN_API BURN_GIVES BURN_TAKES(2, 3) BurnTensor *burn_smooth_l1_loss_forward_with_reduction(const BurnSmoothL1Loss *m,
                                                                                            BurnTensor *predictions,
                                                                                            BurnTensor *targets,
                                                                                            BurnReduction reduction);
/* The same -> its means along `count` axes, which stay with size 1. */
BURN_API BURN_GIVES BURN_TAKES(2, 3) BurnTensor *burn_smooth_l1_loss_forward_reduce_dims(
    const BurnSmoothL1Loss *m, BurnTensor *predictions, BurnTensor *targets, const int *dims, uint32_t count);

/* |error|^p; the mean, not a norm: no root is taken */
#define BURN_LP_LOSS_CONFIG(REQ, OPT) REQ(BurnF64, p, "the power, above 0")
BURN_CONFIG(BurnLpLossConfig, BURN_LP_LOSS_CONFIG);
#define BURN_LP_LOSS_FIELDS(X) X(BurnF64, p, "the power")
BURN_MODULE(BurnLpLoss, BURN_LP_LOSS_FIELDS);

/* Makes the loss; it has no parameters. */
BURN_API BurnLpLoss burn_lp_loss_init(const BurnLpLossConfig *config, BurnDevice *device);
BURN_LAYER(BurnLpLoss, burn_lp_loss, BURN_LP_LOSS_CONFIG);
/* p = 1 (mean absolute error) and p = 2 (mean squared error). */
BURN_API BurnLpLoss burn_lp_loss_l1(void);
BURN_API BurnLpLoss burn_lp_loss_l2(void);
/* Predictions and targets of one shape -> [1] */
BURN_API BURN_GIVES BURN_TAKES(2, 3) BurnTensor *burn_lp_loss_forward(const BurnLpLoss *m, BurnTensor *predictions,
                                                                      BurnTensor *targets, BurnReduction reduction);
/* The same -> the shape of the predictions. */
BURN_API BURN_GIVES BURN_TAKES(2, 3) BurnTensor *burn_lp_loss_forward_no_reduction(const BurnLpLoss *m,
                                                                                   BurnTensor *predictions,
                                                                                   BurnTensor *targets);
/* The same -> its means along `count` axes, which stay with size 1. */
BURN_API BURN_GIVES BURN_TAKES(2, 3) BurnTensor *burn_lp_loss_forward_reduce_dims(const BurnLpLoss *m,
                                                                                  BurnTensor *predictions,
                                                                                  BurnTensor *targets, const int *dims,
                                                                                  uint32_t count);

/* Poisson likelihood, negative and logarithmic: e^x - target * x with log_input, else x - target * log(x + eps). */
#define BURN_POISSON_NLL_LOSS_CONFIG(REQ, OPT)                                                \
  OPT(BurnBool, log_input, true, "predictions are logarithms of rates")                       \
  OPT(BurnBool, full, false, "add Stirling's approximation of log(target!) where target > 1") \
  OPT(BurnF64, eps, 1e-8, "added to rates before the logarithm, above 0")
BURN_CONFIG_OPTIONAL(BurnPoissonNllLossConfig, BURN_POISSON_NLL_LOSS_CONFIG);
#define BURN_POISSON_NLL_LOSS_FIELDS(X)                                              \
  X(BurnBool, log_input, "predictions are logarithms of rates")                      \
  X(BurnBool, full, "add Stirling's approximation of log(target!) where target > 1") \
  X(BurnF64, eps, "added to rates before the logarithm, above 0")
BURN_MODULE(BurnPoissonNllLoss, BURN_POISSON_NLL_LOSS_FIELDS);

/* Makes the loss; it has no parameters. */
BURN_API BurnPoissonNllLoss burn_poisson_nll_loss_init(const BurnPoissonNllLossConfig *config, BurnDevice *device);
/* Predictions and targets of one shape -> [1]. Targets below 0 fail, and so do rates below 0 without log_input: this
 * reads them, so it waits for the device, as Burn does. */
BURN_API BURN_GIVES BURN_TAKES(2, 3) BurnTensor *burn_poisson_nll_loss_forward(const BurnPoissonNllLoss *m,
                                                                               BurnTensor *predictions,
                                                                               BurnTensor *targets,
                                                                               BurnReduction reduction);
/* The same -> the shape of the predictions. */
BURN_API BURN_GIVES BURN_TAKES(2, 3) BurnTensor *burn_poisson_nll_loss_forward_no_reduction(const BurnPoissonNllLoss *m,
                                                                                            BurnTensor *predictions,
                                                                                            BurnTensor *targets);

/* Gaussian likelihood, negative and logarithmic: (log v + (input - target)^2 / v) / 2 with v = max(var, eps). So is a
 * var below 0, as in Burn: a check, as PyTorch has it, would wait for the device. */
#define BURN_GAUSSIAN_NLL_LOSS_CONFIG(REQ, OPT) \
  OPT(BurnF64, eps, 1e-6, "least variance")     \
  OPT(BurnBool, full, false, "add log(2 pi) / 2")
BURN_CONFIG_OPTIONAL(BurnGaussianNLLLossConfig, BURN_GAUSSIAN_NLL_LOSS_CONFIG);
#define BURN_GAUSSIAN_NLL_LOSS_FIELDS(X) \
  X(BurnF64, eps, "least variance")      \
  X(BurnBool, full, "add log(2 pi) / 2")
BURN_MODULE(BurnGaussianNLLLoss, BURN_GAUSSIAN_NLL_LOSS_FIELDS);

/* Makes the loss; it has no parameters. */
BURN_API BurnGaussianNLLLoss burn_gaussian_nll_loss_init(const BurnGaussianNLLLossConfig *config, BurnDevice *device);
/* Means, targets and variances of one shape -> [1]. The gradient of a variance below eps is 0 (PyTorch's is not). */
BURN_API BURN_GIVES BURN_TAKES(2, 3, 4) BurnTensor *burn_gaussian_nll_loss_forward(const BurnGaussianNLLLoss *m,
                                                                                   BurnTensor *input,
                                                                                   BurnTensor *targets, BurnTensor *var,
                                                                                   BurnReduction reduction);
/* The same -> the shape of the means. */
BURN_API BURN_GIVES BURN_TAKES(2, 3, 4) BurnTensor *burn_gaussian_nll_loss_forward_no_reduction(
    const BurnGaussianNLLLoss *m, BurnTensor *input, BurnTensor *targets, BurnTensor *var);

BURN_EXTERN_C_END

#endif
