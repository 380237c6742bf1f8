/* loss.c - losses.
 *
 * Cross entropy is computed per item, [batch], and reduced at the end. Smoothing needs no matrix of targets: with a =
 * alpha, the loss of an item is -((1 - a) w[t] log p[t] + a / classes * sum over c of w[c] log p[c]). */
#include <burn/nn/loss.h>

#include "nn_internal.h"

BurnCrossEntropyLoss burn_cross_entropy_loss_init(const BurnCrossEntropyLossConfig *config, BurnDevice *device) {
  (void)device;
  config = burn_nn_config(config, BurnCrossEntropyLossConfig_type(), "cross_entropy_loss", NULL);
  return (BurnCrossEntropyLoss){.smoothing = config->smoothing, .logits = config->logits};
}

/* Puts a tensor (taken) into a buffer that may be absent. */
static void set_buffer(BurnBuffer *buffer, BurnTensor *value) {
  if (buffer->cell) {
    burn_buffer_set(buffer, value);
  } else {
    *buffer = burn_buffer(value);
  }
}

/* x itself, or failed with a message if it is not of rank 1. Takes x. */
static BurnTensor *require_vector(const char *what, BurnTensor *x) {
  const uint32_t rank = burn_rank(x);
  if (rank <= 1) return x;
  burn_drop(x);
  return burn_tensor_failed(
      burn_status_make(BURN_STATUS_INVALID_SHAPE, "cross_entropy_loss: %s must have rank 1, found %u", what, rank));
}

void burn_cross_entropy_loss_set_weights(BurnCrossEntropyLoss *m, BurnTensor *weights) {
  BurnStatus status;
  double least = 1;
  weights = require_vector("weights", weights);
  status = burn_read_scalar(burn_min(burn_clone(weights)), &least);
  if (status == BURN_OK && !(least > 0)) {
    status = burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "cross_entropy_loss: weight %g is not above 0", least);
  }
  if (status != BURN_OK) {
    burn_drop(weights);
    weights = burn_tensor_failed(status);
  }
  set_buffer(&m->weights, weights);
}

void burn_cross_entropy_loss_set_pad_tokens(BurnCrossEntropyLoss *m, BurnTensor *pad_tokens) {
  set_buffer(&m->pad_tokens, require_vector("pad_tokens", pad_tokens));
}

/* A clone of a buffer of the loss, of the device and dtype given; NULL if absent. */
static BurnTensor *buffer_on(const BurnBuffer *buffer, BurnDevice *device, BurnDType dtype) {
  BurnTensor *value = buffer->cell ? burn_buffer_value(buffer) : NULL;
  if (!value) return NULL;
  value = burn_to_device(value, device);
  return burn_dtype(value) == dtype ? value : burn_cast(value, dtype);
}

/* The least probability whose logarithm is taken: the root of the least normal number of the dtype, as in Burn. */
static double least_probability(BurnDType dtype) {
  switch (dtype) {
    case BURN_DTYPE_F64:
      return 1.4916681462400413e-154;
    case BURN_DTYPE_F16:
      return 7.8125e-3;
    default:
      return 1.0842021724855044e-19;
  }
}

/* BURN_OK if the options and shapes fit each other. */
static BurnStatus check_inputs(const BurnCrossEntropyLoss *m, const BurnTensor *logits, const BurnTensor *targets) {
  const BurnShape given = burn_shape(logits), wanted = burn_shape(targets);
  const double smoothing = m->smoothing.present ? m->smoothing.value : 0;
  if (!(smoothing >= 0 && smoothing <= 1)) {
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "cross_entropy_loss: smoothing %g is outside 0..1",
                            smoothing);
  }
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
  const double least = least_probability(burn_dtype(x));
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
  weights = buffer_on(&m->weights, device, burn_dtype(logits));
  pads = buffer_on(&m->pad_tokens, device, burn_dtype(targets));
  losses = item_losses(m, logits, burn_clone(targets), weights);
  return without_pads(losses, targets, pads);
}

BurnTensor *burn_cross_entropy_loss_forward(const BurnCrossEntropyLoss *m, BurnTensor *logits, BurnTensor *targets) {
  const bool smoothed = m->smoothing.present && m->smoothing.value != 0;
  BurnTensor *weights, *losses;
  if (m->logits && !smoothed && !m->weights.cell && !m->pad_tokens.cell) return burn_cross_entropy(logits, targets);
  weights = buffer_on(&m->weights, burn_tensor_device(logits), burn_dtype(logits));
  if (weights) weights = burn_sum(burn_select(weights, 0, burn_clone(targets)));
  losses = burn_cross_entropy_loss_forward_no_reduction(m, logits, targets);
  return weights ? burn_div(burn_sum(losses), weights) : burn_mean(losses);
}

BurnMseLoss burn_mse_loss_init(void) { return (BurnMseLoss){0}; }

/* Broadcasting here is a mistake in the program: [n] against [n, 1] would give n * n errors. Failed tensors have rank 0
 * and are left to the op that takes them. */
static bool are_alike(const BurnTensor *predictions, const BurnTensor *targets) {
  const BurnShape given = burn_shape(predictions), wanted = burn_shape(targets);
  bool same = given.rank == wanted.rank;
  for (uint32_t i = 0; same && i < given.rank; i++) same = given.dims[i] == wanted.dims[i];
  return same || given.rank == 0 || wanted.rank == 0;
}

/* Takes both, whose shapes differ. */
static BurnTensor *mse_refused(BurnTensor *predictions, BurnTensor *targets) {
  const BurnStatus status =
      burn_status_make(BURN_STATUS_INVALID_SHAPE, "mse_loss: predictions %s, targets %s",
                       burn_shape_text(burn_shape(predictions)).text, burn_shape_text(burn_shape(targets)).text);
  burn_drop(predictions);
  burn_drop(targets);
  return burn_tensor_failed(status);
}

BurnTensor *burn_mse_loss_forward_no_reduction(const BurnMseLoss *m, BurnTensor *predictions, BurnTensor *targets) {
  (void)m;
  if (!are_alike(predictions, targets)) return mse_refused(predictions, targets);
  return burn_square(burn_sub(predictions, targets));
}

BurnTensor *burn_mse_loss_forward(const BurnMseLoss *m, BurnTensor *predictions, BurnTensor *targets,
                                  uint32_t reduction) {
  if (reduction == BURN_REDUCTION_SUM) return burn_sum(burn_mse_loss_forward_no_reduction(m, predictions, targets));
  if (!are_alike(predictions, targets)) return mse_refused(predictions, targets);
  return burn_mse(predictions, targets);
}
