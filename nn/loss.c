/* loss.c - losses over classes and mean squared error.
 *
 * Cross entropy is computed per item, [batch], and reduced at the end. Smoothing needs no matrix of targets: with a =
 * alpha, the loss of an item is -((1 - a) w[t] log p[t] + a / classes * sum over c of w[c] log p[c]). */
#include <burn/nn/loss.h>

#include "nn_internal.h"

#include <math.h>

BurnCrossEntropyLoss burn_cross_entropy_loss_init(const BurnCrossEntropyLossConfig *config, BurnDevice *device) {
  (void)device;
  config = burn_nn_config(config, BurnCrossEntropyLossConfig_type(), "cross_entropy_loss", NULL);
  return (BurnCrossEntropyLoss){.smoothing = config->smoothing, .logits = config->logits};
}

void burn_cross_entropy_loss_set_weights(BurnCrossEntropyLoss *m, BurnTensor *weights) {
  if (!m) {
    burn_drop(weights);
    return;
  }
  burn_nn_set_weights(&m->weights, "cross_entropy_loss", weights);
}

void burn_cross_entropy_loss_set_pad_tokens(BurnCrossEntropyLoss *m, BurnTensor *pad_tokens) {
  if (!m) {
    burn_drop(pad_tokens);
    return;
  }
  burn_nn_set_buffer(&m->pad_tokens, burn_nn_require_vector("cross_entropy_loss", "pad_tokens", pad_tokens));
}

/* BURN_OK if the options and shapes fit each other. */
static BurnStatus check_inputs(const BurnCrossEntropyLoss *m, const BurnTensor *logits, const BurnTensor *targets) {
  const BurnShape given = burn_shape(logits), wanted = burn_shape(targets);
  const BurnStatus status = burn_nn_check_smoothing("cross_entropy_loss", &m->smoothing);
  if (status != BURN_OK) return status;
  if (given.rank == 0 || wanted.rank == 0) return BURN_OK; /* failed: the ops pass the message on */
  if (given.rank != 2 || wanted.rank != 1) {
    return burn_status_make(BURN_STATUS_INVALID_SHAPE,
                            "cross_entropy_loss: logits must have rank 2 and targets rank 1, found %u and %u",
                            given.rank, wanted.rank);
  }
  if (given.dims[0] != wanted.dims[0]) {
    return burn_status_make(BURN_STATUS_INVALID_SHAPE, "cross_entropy_loss: %lld targets for %lld rows of logits",
                            (long long)wanted.dims[0], (long long)given.dims[0]);
  }
  return BURN_OK;
}

/* log p [n, c] from logits or probabilities. */
static BurnTensor *log_probabilities(const BurnCrossEntropyLoss *m, BurnTensor *x) {
  const double least = sqrt(burn_nn_least_normal(burn_dtype(x))); /* as in Burn */
  return m->logits ? burn_log_softmax(x, 1) : burn_log(burn_clamp_min(x, least));
}

/* The loss of each item [n]. logits [n, c], targets [n] and weights [c] (NULL: none) are taken. */
static BurnTensor *item_losses(const BurnCrossEntropyLoss *m, BurnTensor *logits, BurnTensor *targets,
                               BurnTensor *weights) {
  const double alpha = m->smoothing.present ? m->smoothing.value : 0;
  const int64_t items = burn_dim(logits, 0), classes = burn_dim(logits, 1);
  BurnTensor *log_p = log_probabilities(m, logits);
  BurnTensor *all = NULL, *losses;
  if (weights) log_p = burn_mul(log_p, burn_unsqueeze_dim(weights, 0));
  if (alpha > 0) all = burn_mul_scalar(burn_sum_dim(burn_clone(log_p), 1), alpha / (double)classes);
  losses = burn_gather(log_p, 1, burn_unsqueeze_dim(targets, 1));
  if (all) losses = burn_add(burn_mul_scalar(losses, 1 - alpha), all);
  return burn_neg(items < 0 ? losses : burn_reshape(losses, BURN_SHAPE(items)));
}

/* losses [n] with 0 where the target is a pad token; pads [p] may be NULL. All are taken. */
static BurnTensor *without_pads(BurnTensor *losses, BurnTensor *targets, BurnTensor *pads) {
  BurnTensor *mask;
  if (!pads) {
    burn_drop(targets);
    return losses;
  }
  mask = burn_equal(burn_unsqueeze_dim(targets, 1), burn_unsqueeze_dim(pads, 0));
  return burn_mask_fill(losses, burn_squeeze_dim(burn_any_dim(mask, 1), 1), 0);
}

BurnTensor *burn_cross_entropy_loss_forward_no_reduction(const BurnCrossEntropyLoss *m, BurnTensor *logits,
                                                         BurnTensor *targets) {
  if (!m) return BURN_NN_NO_MODULE(logits, targets);
  const BurnStatus status = check_inputs(m, logits, targets);
  BurnDevice *device = burn_tensor_device(logits);
  BurnTensor *weights, *pads, *losses;
  if (status != BURN_OK || !device) {
    /* Without a device the logits are NULL or failed: adding passes on the first failure. */
    BurnTensor *failed = status != BURN_OK ? burn_tensor_failed(status) : burn_add(logits, targets);
    if (status != BURN_OK) burn_drop(logits);
    if (status != BURN_OK) burn_drop(targets);
    return failed;
  }
  weights = burn_nn_buffer_on(&m->weights, device, burn_dtype(logits));
  pads = burn_nn_buffer_on(&m->pad_tokens, device, burn_dtype(targets));
  losses = item_losses(m, logits, burn_clone(targets), weights);
  return without_pads(losses, targets, pads);
}

BurnTensor *burn_cross_entropy_loss_forward(const BurnCrossEntropyLoss *m, BurnTensor *logits, BurnTensor *targets) {
  if (!m) return BURN_NN_NO_MODULE(logits, targets);
  const bool smoothed = m->smoothing.present && m->smoothing.value != 0;
  BurnTensor *weights, *losses;
  if (m->logits && !smoothed && !m->weights.cell && !m->pad_tokens.cell) return burn_cross_entropy(logits, targets);
  weights = burn_nn_buffer_on(&m->weights, burn_tensor_device(logits), burn_dtype(logits));
  if (weights) weights = burn_sum(burn_select(weights, 0, burn_clone(targets)));
  losses = burn_cross_entropy_loss_forward_no_reduction(m, logits, targets);
  return weights ? burn_div(burn_sum(losses), weights) : burn_mean(losses);
}

/* -- binary cross entropy --------------------------------------------------------------------- */

BurnBinaryCrossEntropyLoss burn_binary_cross_entropy_loss_init(const BurnBinaryCrossEntropyLossConfig *config,
                                                               BurnDevice *device) {
  (void)device;
  config = burn_nn_config(config, BurnBinaryCrossEntropyLossConfig_type(), "binary_cross_entropy_loss", NULL);
  return (BurnBinaryCrossEntropyLoss){.smoothing = config->smoothing, .logits = config->logits};
}

void burn_binary_cross_entropy_loss_set_weights(BurnBinaryCrossEntropyLoss *m, BurnTensor *weights) {
  if (!m) {
    burn_drop(weights);
    return;
  }
  burn_nn_set_weights(&m->weights, "binary_cross_entropy_loss", weights);
}

static BurnStatus check_binary(const BurnBinaryCrossEntropyLoss *m, const BurnNnOperand *operands) {
  const char *layer = "binary_cross_entropy_loss";
  const BurnShape shape = burn_shape(operands[0].tensor);
  BurnStatus status = burn_nn_check_smoothing(layer, &m->smoothing);
  if (status == BURN_OK) status = burn_nn_check_alike(layer, operands, 2);
  if (status != BURN_OK || !m->weights.cell || shape.rank < 2) return status;
  BurnTensor *weights = burn_buffer_value(&m->weights);
  const int64_t count = burn_tensor_status(weights) == BURN_OK ? burn_element_count(weights) : -1;
  burn_drop(weights);
  if (count < 0 || count == shape.dims[shape.rank - 1]) return BURN_OK; /* a failed tensor is the message */
  return burn_status_make(BURN_STATUS_INVALID_SHAPE, "%s: %lld weights for %lld classes", layer, (long long)count,
                          (long long)shape.dims[shape.rank - 1]);
}

/* What the elements count, of a shape that broadcasts to them; NULL: all the same. targets is taken. */
static BurnTensor *binary_weights(const BurnBinaryCrossEntropyLoss *m, BurnDType dtype, BurnTensor *targets) {
  const uint32_t rank = burn_rank(targets);
  BurnTensor *weights = burn_nn_buffer_on(&m->weights, burn_tensor_device(targets), dtype);
  if (weights && rank == 1) return burn_select(weights, 0, targets);
  burn_drop(targets);
  return weights ? burn_unsqueeze(weights, rank) : NULL;
}

/* t smoothed, as numbers of the dtype. t is taken. */
static BurnTensor *binary_targets(const BurnBinaryCrossEntropyLoss *m, BurnDType dtype, BurnTensor *t) {
  const uint32_t rank = burn_rank(t);
  const double classes = rank > 1 ? (double)burn_dim(t, -1) : 2;
  t = burn_cast(t, dtype);
  if (!m->smoothing.present) return t;
  return burn_add_scalar(burn_mul_scalar(t, 1 - m->smoothing.value), m->smoothing.value / classes);
}

/* (1 - t) x - log sigmoid(x), or with probabilities (t - 1) log(1 - x) - t log x. Both are taken. */
static BurnTensor *binary_losses(bool logits, BurnTensor *x, BurnTensor *t) {
  if (logits) {
    BurnTensor *wrong = burn_mul(burn_scalar_sub(1, t), burn_clone(x));
    return burn_sub(wrong, burn_log_sigmoid(x));
  }
  BurnTensor *no = burn_clamp_min(burn_log1p(burn_neg(burn_clone(x))), -100);
  no = burn_mul(burn_sub_scalar(burn_clone(t), 1), no);
  return burn_sub(no, burn_mul(t, burn_clamp_min(burn_log(x), -100)));
}

BurnTensor *burn_binary_cross_entropy_loss_forward(const BurnBinaryCrossEntropyLoss *m, BurnTensor *predictions,
                                                   BurnTensor *targets) {
  if (!m) return BURN_NN_NO_MODULE(predictions, targets);
  const BurnNnOperand operands[] = {{"predictions", predictions}, {"targets", targets}};
  const BurnStatus status = check_binary(m, operands);
  const BurnDType dtype = burn_dtype(predictions);
  if (status != BURN_OK) return burn_nn_refused(status, operands, 2);
  if (burn_rank(predictions) == 0 || burn_rank(targets) == 0) return burn_add(predictions, targets);
  BurnTensor *weights = binary_weights(m, dtype, burn_clone(targets));
  BurnTensor *losses = binary_losses(m->logits, predictions, binary_targets(m, dtype, targets));
  return burn_mean(weights ? burn_mul(losses, weights) : losses);
}

/* -- Kullback-Leibler divergence -------------------------------------------------------------- */

BurnKLDivLoss burn_kl_div_loss_init(const BurnKLDivLossConfig *config, BurnDevice *device) {
  (void)device;
  config = burn_nn_config(config, BurnKLDivLossConfig_type(), "kl_div_loss", NULL);
  return (BurnKLDivLoss){config->log_target};
}

BurnTensor *burn_kl_div_loss_forward_no_reduction(const BurnKLDivLoss *m, BurnTensor *predictions,
                                                  BurnTensor *targets) {
  if (!m) return BURN_NN_NO_MODULE(predictions, targets);
  const BurnNnOperand operands[] = {{"predictions", predictions}, {"targets", targets}};
  const BurnStatus status = burn_nn_check_alike("kl_div_loss", operands, 2);
  if (status != BURN_OK) return burn_nn_refused(status, operands, 2);
  if (m->log_target) {
    BurnTensor *shares = burn_exp(burn_clone(targets));
    return burn_mul(shares, burn_sub(targets, predictions));
  }
  const double least = burn_nn_least_normal(burn_dtype(targets));
  BurnTensor *logarithms = burn_log(burn_clamp(burn_clone(targets), least, 1));
  return burn_mul(targets, burn_sub(logarithms, predictions));
}

BurnTensor *burn_kl_div_loss_forward(const BurnKLDivLoss *m, BurnTensor *predictions, BurnTensor *targets,
                                     BurnReduction reduction) {
  const int64_t batch = burn_rank(predictions) > 0 ? burn_dim(predictions, 0) : 1;
  BurnTensor *losses = burn_kl_div_loss_forward_no_reduction(m, predictions, targets);
  if (reduction == BURN_REDUCTION_MEAN || reduction == BURN_REDUCTION_SUM) {
    return burn_nn_reduced("kl_div_loss", losses, reduction);
  }
  return burn_div_scalar(burn_sum(losses), (double)batch);
}

/* -- mean squared error ----------------------------------------------------------------------- */

BurnMseLoss burn_mse_loss_init(void) { return (BurnMseLoss){0}; }

BurnTensor *burn_mse_loss_forward_no_reduction(const BurnMseLoss *m, BurnTensor *predictions, BurnTensor *targets) {
  const BurnNnOperand operands[] = {{"predictions", predictions}, {"targets", targets}};
  const BurnStatus status = burn_nn_check_alike("mse_loss", operands, 2);
  (void)m;
  if (status != BURN_OK) return burn_nn_refused(status, operands, 2);
  return burn_square(burn_sub(predictions, targets));
}

BurnTensor *burn_mse_loss_forward(const BurnMseLoss *m, BurnTensor *predictions, BurnTensor *targets,
                                  BurnReduction reduction) {
  const BurnNnOperand operands[] = {{"predictions", predictions}, {"targets", targets}};
  const BurnStatus status = burn_nn_check_alike("mse_loss", operands, 2);
  const bool mean = reduction == BURN_REDUCTION_MEAN || reduction == BURN_REDUCTION_AUTO;
  if (mean && status == BURN_OK) return burn_mse(predictions, targets);
  return burn_nn_reduced("mse_loss", burn_mse_loss_forward_no_reduction(m, predictions, targets), reduction);
}
