/* loss_regression.c - losses over errors, and likelihoods. */
#include <burn/nn/loss_regression.h>

#include <burn/ops_move.h>

#include "nn_internal.h"

#include <math.h>

/* -- Huber ------------------------------------------------------------------------------------ */

BurnHuberLoss burn_huber_loss_init(const BurnHuberLossConfig *config, BurnDevice *device) {
  (void)device;
  if (!config) return (BurnHuberLoss){.delta = BURN_NN_NO_NUMBER};
  return (BurnHuberLoss){config->delta, config->delta * config->delta * 0.5};
}

static BurnStatus check_delta(const BurnHuberLoss *m) {
  if (m->delta == BURN_NN_NO_NUMBER) return burn_nn_no_config_status(BurnHuberLossConfig_type(), "huber_loss");
  return burn_nn_check_not_negative("huber_loss", "delta", m->delta);
}

BurnTensor *burn_huber_loss_forward_residuals(const BurnHuberLoss *m, BurnTensor *residuals) {
  if (!m) return BURN_NN_NO_MODULE(residuals);
  const BurnNnOperand operand = {"residuals", residuals};
  const BurnStatus status = check_delta(m);
  if (status != BURN_OK) return burn_nn_refused(status, &operand, 1);
  BurnTensor *large = burn_greater_scalar(burn_abs(burn_clone(residuals)), m->delta);
  /* delta * sign(r) beyond the bend, with the right gradient there. */
  BurnTensor *bounded = burn_clamp(burn_clone(residuals), -m->delta, m->delta);
  BurnTensor *line = burn_sub_scalar(burn_mul(bounded, burn_clone(residuals)), m->lin_bias);
  return burn_mask_where(burn_mul_scalar(burn_square(residuals), 0.5), large, line);
}

BurnTensor *burn_huber_loss_forward_no_reduction(const BurnHuberLoss *m, BurnTensor *predictions, BurnTensor *targets) {
  const BurnNnOperand operands[] = {{"predictions", predictions}, {"targets", targets}};
  const BurnStatus status = burn_nn_check_alike("huber_loss", operands, 2);
  if (status != BURN_OK) return burn_nn_refused(status, operands, 2);
  return burn_huber_loss_forward_residuals(m, burn_sub(targets, predictions));
}

BurnTensor *burn_huber_loss_forward(const BurnHuberLoss *m, BurnTensor *predictions, BurnTensor *targets,
                                    BurnReduction reduction) {
  return burn_nn_reduced("huber_loss", burn_huber_loss_forward_no_reduction(m, predictions, targets), reduction);
}

/* -- smooth L1 -------------------------------------------------------------------------------- */

BurnSmoothL1Loss burn_smooth_l1_loss_init(const BurnSmoothL1LossConfig *config, BurnDevice *device) {
  (void)device;
  config = burn_nn_config(config, BurnSmoothL1LossConfig_type(), "smooth_l1_loss", NULL);
  return (BurnSmoothL1Loss){config->beta};
}

BurnTensor *burn_smooth_l1_loss_forward(const BurnSmoothL1Loss *m, BurnTensor *predictions, BurnTensor *targets) {
  if (!m) return BURN_NN_NO_MODULE(predictions, targets);
  const BurnNnOperand operands[] = {{"predictions", predictions}, {"targets", targets}};
  BurnStatus status = burn_nn_check_above_0("smooth_l1_loss", "beta", m->beta);
  if (status == BURN_OK) status = burn_nn_check_alike("smooth_l1_loss", operands, 2);
  if (status != BURN_OK) return burn_nn_refused(status, operands, 2);
  BurnTensor *error = burn_sub(predictions, targets), *size = burn_abs(burn_clone(error));
  BurnTensor *small = burn_lower_scalar(burn_clone(size), m->beta);
  BurnTensor *square = burn_mul_scalar(burn_square(error), 0.5 / m->beta);
  return burn_mask_where(burn_sub_scalar(size, 0.5 * m->beta), small, square);
}

BurnTensor *burn_smooth_l1_loss_forward_with_reduction(const BurnSmoothL1Loss *m, BurnTensor *predictions,
                                                       BurnTensor *targets, BurnReduction reduction) {
  return burn_nn_reduced("smooth_l1_loss", burn_smooth_l1_loss_forward(m, predictions, targets), reduction);
}

BurnTensor *burn_smooth_l1_loss_forward_reduce_dims(const BurnSmoothL1Loss *m, BurnTensor *predictions,
                                                    BurnTensor *targets, const int *dims, uint32_t count) {
  return burn_mean_dims(burn_smooth_l1_loss_forward(m, predictions, targets), dims, count);
}

/* -- powers of the error ---------------------------------------------------------------------- */

BurnLpLoss burn_lp_loss_init(const BurnLpLossConfig *config, BurnDevice *device) {
  (void)device;
  return (BurnLpLoss){config ? config->p : BURN_NN_NO_NUMBER};
}

BurnLpLoss burn_lp_loss_l1(void) { return (BurnLpLoss){1}; }

BurnLpLoss burn_lp_loss_l2(void) { return (BurnLpLoss){2}; }

static BurnStatus check_power(const BurnLpLoss *m) {
  if (m->p == BURN_NN_NO_NUMBER) return burn_nn_no_config_status(BurnLpLossConfig_type(), "lp_loss");
  return burn_nn_check_above_0("lp_loss", "p", m->p);
}

BurnTensor *burn_lp_loss_forward_no_reduction(const BurnLpLoss *m, BurnTensor *predictions, BurnTensor *targets) {
  if (!m) return BURN_NN_NO_MODULE(predictions, targets);
  const BurnNnOperand operands[] = {{"predictions", predictions}, {"targets", targets}};
  BurnStatus status = check_power(m);
  if (status == BURN_OK) status = burn_nn_check_alike("lp_loss", operands, 2);
  if (status != BURN_OK) return burn_nn_refused(status, operands, 2);
  BurnTensor *error = burn_sub(predictions, targets);
  if (m->p == 2) return burn_square(error);
  error = burn_abs(error);
  return m->p == 1 ? error : burn_powf_scalar(error, m->p);
}

BurnTensor *burn_lp_loss_forward(const BurnLpLoss *m, BurnTensor *predictions, BurnTensor *targets,
                                 BurnReduction reduction) {
  return burn_nn_reduced("lp_loss", burn_lp_loss_forward_no_reduction(m, predictions, targets), reduction);
}

BurnTensor *burn_lp_loss_forward_reduce_dims(const BurnLpLoss *m, BurnTensor *predictions, BurnTensor *targets,
                                             const int *dims, uint32_t count) {
  return burn_mean_dims(burn_lp_loss_forward_no_reduction(m, predictions, targets), dims, count);
}

/* -- Poisson ---------------------------------------------------------------------------------- */

BurnPoissonNllLoss burn_poisson_nll_loss_init(const BurnPoissonNllLossConfig *config, BurnDevice *device) {
  (void)device;
  config = burn_nn_config(config, BurnPoissonNllLossConfig_type(), "poisson_nll_loss", NULL);
  return (BurnPoissonNllLoss){config->log_input, config->full, config->eps};
}

/* BURN_OK if no element of the operand is below 0; reads it. A failed operand is left to the ops. */
static BurnStatus check_counts(const BurnNnOperand *operand) {
  double sound = 1;
  if (burn_tensor_status(operand->tensor) != BURN_OK) return BURN_OK;
  BurnTensor *counts = burn_greater_equal_scalar(burn_clone(operand->tensor), 0);
  const BurnStatus status = burn_read_scalar(burn_all(counts), &sound);
  if (status != BURN_OK || sound != 0) return status;
  return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "poisson_nll_loss: %s must not be negative", operand->name);
}

static BurnStatus check_poisson(const BurnPoissonNllLoss *m, const BurnNnOperand *operands) {
  BurnStatus status = burn_nn_check_above_0("poisson_nll_loss", "eps", m->eps);
  if (status == BURN_OK) status = burn_nn_check_alike("poisson_nll_loss", operands, 2);
  if (status == BURN_OK) status = check_counts(&operands[1]);
  return status != BURN_OK || m->log_input ? status : check_counts(&operands[0]);
}

/* t log t - t + log(2 pi t) / 2 where t > 1, else 0. Below 1 the logarithm is that of 1, whose gradient is finite. */
static BurnTensor *stirling(BurnTensor *t) {
  BurnTensor *small = burn_lower_equal_scalar(burn_clone(t), 1);
  t = burn_clamp_min(t, 1);
  BurnTensor *logarithms = burn_log(burn_clone(t));
  BurnTensor *halves = burn_mul_scalar(burn_add_scalar(burn_clone(logarithms), log(2 * acos(-1))), 0.5);
  BurnTensor *terms = burn_sub(burn_mul(burn_clone(t), logarithms), t);
  return burn_mask_fill(burn_add(terms, halves), small, 0);
}

BurnTensor *burn_poisson_nll_loss_forward_no_reduction(const BurnPoissonNllLoss *m, BurnTensor *predictions,
                                                       BurnTensor *targets) {
  if (!m) return BURN_NN_NO_MODULE(predictions, targets);
  const BurnNnOperand operands[] = {{"predictions", predictions}, {"targets", targets}};
  const BurnStatus status = check_poisson(m, operands);
  if (status != BURN_OK) return burn_nn_refused(status, operands, 2);
  BurnTensor *rates = burn_clone(predictions), *logarithms = predictions;
  if (m->log_input) {
    rates = burn_exp(rates);
  } else {
    logarithms = burn_log(burn_add_scalar(logarithms, m->eps));
  }
  BurnTensor *losses = burn_sub(rates, burn_mul(burn_clone(targets), logarithms));
  if (m->full) return burn_add(losses, stirling(targets));
  burn_drop(targets);
  return losses;
}

BurnTensor *burn_poisson_nll_loss_forward(const BurnPoissonNllLoss *m, BurnTensor *predictions, BurnTensor *targets,
                                          BurnReduction reduction) {
  BurnTensor *losses = burn_poisson_nll_loss_forward_no_reduction(m, predictions, targets);
  return burn_nn_reduced("poisson_nll_loss", losses, reduction);
}

/* -- Gaussian --------------------------------------------------------------------------------- */

BurnGaussianNLLLoss burn_gaussian_nll_loss_init(const BurnGaussianNLLLossConfig *config, BurnDevice *device) {
  (void)device;
  config = burn_nn_config(config, BurnGaussianNLLLossConfig_type(), "gaussian_nll_loss", NULL);
  return (BurnGaussianNLLLoss){config->eps, config->full};
}

BurnTensor *burn_gaussian_nll_loss_forward_no_reduction(const BurnGaussianNLLLoss *m, BurnTensor *input,
                                                        BurnTensor *targets, BurnTensor *var) {
  if (!m) return BURN_NN_NO_MODULE(input, targets, var);
  const BurnNnOperand operands[] = {{"input", input}, {"targets", targets}, {"var", var}};
  const BurnStatus status = burn_nn_check_alike("gaussian_nll_loss", operands, 3);
  if (status != BURN_OK) return burn_nn_refused(status, operands, 3);
  var = burn_clamp_min(var, m->eps);
  BurnTensor *logarithms = burn_log(burn_clone(var));
  BurnTensor *squares = burn_div(burn_square(burn_sub(input, targets)), var);
  BurnTensor *losses = burn_mul_scalar(burn_add(logarithms, squares), 0.5);
  return m->full ? burn_add_scalar(losses, 0.5 * log(2 * acos(-1))) : losses;
}

BurnTensor *burn_gaussian_nll_loss_forward(const BurnGaussianNLLLoss *m, BurnTensor *input, BurnTensor *targets,
                                           BurnTensor *var, BurnReduction reduction) {
  BurnTensor *losses = burn_gaussian_nll_loss_forward_no_reduction(m, input, targets, var);
  return burn_nn_reduced("gaussian_nll_loss", losses, reduction);
}
