/* loss_margin.c - losses over embeddings, rankings and margins. */
#include <burn/nn/loss_margin.h>

#include <burn/linalg.h>

#include "nn_internal.h"

/* -- cosine embedding ------------------------------------------------------------------------- */

BurnCosineEmbeddingLoss burn_cosine_embedding_loss_init(const BurnCosineEmbeddingLossConfig *config,
                                                        BurnDevice *device) {
  (void)device;
  config = burn_nn_config(config, BurnCosineEmbeddingLossConfig_type(), "cosine_embedding_loss", NULL);
  return (BurnCosineEmbeddingLoss){config->margin, config->reduction};
}

/* BURN_OK if the operands after the first `matrices` are [batch] for those, which are alike of rank 2. */
static BurnStatus check_batch(const char *layer, const BurnNnOperand *operands, size_t matrices, size_t count) {
  const BurnShape shape = burn_shape(operands[0].tensor);
  const BurnStatus status = burn_nn_check_alike(layer, operands, matrices);
  if (status != BURN_OK) return status;
  if (shape.rank != 0 && shape.rank != 2) {
    return burn_status_make(BURN_STATUS_INVALID_SHAPE, "%s: %s must have rank 2, found %u", layer, operands[0].name,
                            shape.rank);
  }
  for (size_t i = matrices; i < count; i++) {
    const BurnShape vector = burn_shape(operands[i].tensor);
    if (shape.rank == 0 || vector.rank == 0 || (vector.rank == 1 && vector.dims[0] == shape.dims[0])) continue;
    return burn_status_make(BURN_STATUS_INVALID_SHAPE, "%s: %s %s for a batch of %lld", layer, operands[i].name,
                            burn_shape_text(vector).text, (long long)shape.dims[0]);
  }
  return BURN_OK;
}

BurnTensor *burn_cosine_embedding_loss_forward_no_reduction(const BurnCosineEmbeddingLoss *m, BurnTensor *input1,
                                                            BurnTensor *input2, BurnTensor *target) {
  if (!m) return BURN_NN_NO_MODULE(input1, input2, target);
  const BurnNnOperand operands[] = {{"input1", input1}, {"input2", input2}, {"target", target}};
  const BurnStatus status = check_batch("cosine_embedding_loss", operands, 2, 3);
  if (status != BURN_OK) return burn_nn_refused(status, operands, 3);
  const double least = burn_nn_least_normal(burn_dtype(input1));
  BurnTensor *similarity = burn_squeeze_dim(burn_cosine_similarity(input1, input2, 1, least), 1);
  BurnTensor *alike = burn_equal_scalar(burn_clone(target), 1), *unlike = burn_equal_scalar(target, -1);
  BurnTensor *losses = burn_zeros_like(burn_clone(similarity));
  losses = burn_mask_where(losses, alike, burn_scalar_sub(1, burn_clone(similarity)));
  return burn_mask_where(losses, unlike, burn_relu(burn_sub_scalar(similarity, m->margin)));
}

BurnTensor *burn_cosine_embedding_loss_forward(const BurnCosineEmbeddingLoss *m, BurnTensor *input1, BurnTensor *input2,
                                               BurnTensor *target) {
  if (!m) return BURN_NN_NO_MODULE(input1, input2, target);
  BurnTensor *losses = burn_cosine_embedding_loss_forward_no_reduction(m, input1, input2, target);
  return burn_nn_reduced("cosine_embedding_loss", losses, m->reduction);
}

/* -- hinge embedding -------------------------------------------------------------------------- */

BurnHingeEmbeddingLoss burn_hinge_embedding_loss_init(const BurnHingeEmbeddingLossConfig *config, BurnDevice *device) {
  (void)device;
  config = burn_nn_config(config, BurnHingeEmbeddingLossConfig_type(), "hinge_embedding_loss", NULL);
  return (BurnHingeEmbeddingLoss){config->margin};
}

BurnTensor *burn_hinge_embedding_loss_forward_no_reduction(const BurnHingeEmbeddingLoss *m, BurnTensor *input,
                                                           BurnTensor *target) {
  if (!m) return BURN_NN_NO_MODULE(input, target);
  const BurnNnOperand operands[] = {{"input", input}, {"target", target}};
  const BurnStatus status = burn_nn_check_alike("hinge_embedding_loss", operands, 2);
  if (status != BURN_OK) return burn_nn_refused(status, operands, 2);
  BurnTensor *unlike = burn_clamp_min(burn_scalar_sub(m->margin, burn_clone(input)), 0);
  return burn_mask_where(unlike, burn_equal_scalar(target, 1), input);
}

BurnTensor *burn_hinge_embedding_loss_forward(const BurnHingeEmbeddingLoss *m, BurnTensor *input, BurnTensor *target,
                                              BurnReduction reduction) {
  BurnTensor *losses = burn_hinge_embedding_loss_forward_no_reduction(m, input, target);
  return burn_nn_reduced("hinge_embedding_loss", losses, reduction);
}

/* -- margin ranking --------------------------------------------------------------------------- */

BurnMarginRankingLoss burn_margin_ranking_loss_init(const BurnMarginRankingLossConfig *config, BurnDevice *device) {
  (void)device;
  config = burn_nn_config(config, BurnMarginRankingLossConfig_type(), "margin_ranking_loss", NULL);
  return (BurnMarginRankingLoss){config->margin};
}

BurnTensor *burn_margin_ranking_loss_forward_no_reduction(const BurnMarginRankingLoss *m, BurnTensor *first,
                                                          BurnTensor *second, BurnTensor *target) {
  if (!m) return BURN_NN_NO_MODULE(first, second, target);
  const BurnNnOperand operands[] = {{"first", first}, {"second", second}, {"target", target}};
  BurnStatus status = burn_nn_check_not_negative("margin_ranking_loss", "margin", m->margin);
  if (status == BURN_OK) status = burn_nn_check_alike("margin_ranking_loss", operands, 3);
  if (status != BURN_OK) return burn_nn_refused(status, operands, 3);
  return burn_relu(burn_scalar_sub(m->margin, burn_mul(target, burn_sub(first, second))));
}

BurnTensor *burn_margin_ranking_loss_forward(const BurnMarginRankingLoss *m, BurnTensor *first, BurnTensor *second,
                                             BurnTensor *target, BurnReduction reduction) {
  BurnTensor *losses = burn_margin_ranking_loss_forward_no_reduction(m, first, second, target);
  return burn_nn_reduced("margin_ranking_loss", losses, reduction);
}

/* -- soft margin ------------------------------------------------------------------------------ */

BurnSoftMarginLoss burn_soft_margin_loss_init(void) { return (BurnSoftMarginLoss){0}; }

BurnTensor *burn_soft_margin_loss_forward_no_reduction(const BurnSoftMarginLoss *m, BurnTensor *logits,
                                                       BurnTensor *targets) {
  const BurnNnOperand operands[] = {{"logits", logits}, {"targets", targets}};
  const BurnStatus status = burn_nn_check_alike("soft_margin_loss", operands, 2);
  (void)m;
  if (status != BURN_OK) return burn_nn_refused(status, operands, 2);
  return burn_softplus(burn_neg(burn_mul(targets, logits)), 1);
}

BurnTensor *burn_soft_margin_loss_forward(const BurnSoftMarginLoss *m, BurnTensor *logits, BurnTensor *targets,
                                          BurnReduction reduction) {
  BurnTensor *losses = burn_soft_margin_loss_forward_no_reduction(m, logits, targets);
  return burn_nn_reduced("soft_margin_loss", losses, reduction);
}

/* -- margin over classes ---------------------------------------------------------------------- */

BurnMultiMarginLoss burn_multi_margin_loss_init(const BurnMultiMarginLossConfig *config, BurnDevice *device) {
  (void)device;
  config = burn_nn_config(config, BurnMultiMarginLossConfig_type(), "multi_margin_loss", NULL);
  return (BurnMultiMarginLoss){config->margin, config->p};
}

static BurnStatus check_multi_margin(const BurnMultiMarginLoss *m, const BurnNnOperand *operands) {
  const BurnStatus status = burn_nn_check_not_negative("multi_margin_loss", "margin", m->margin);
  if (status == BURN_OK && m->p != 1 && m->p != 2) {
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "multi_margin_loss: p %lld is neither 1 nor 2",
                            (long long)m->p);
  }
  return status != BURN_OK ? status : check_batch("multi_margin_loss", operands, 1, 2);
}

BurnTensor *burn_multi_margin_loss_forward_no_reduction(const BurnMultiMarginLoss *m, BurnTensor *input,
                                                        BurnTensor *target) {
  if (!m) return BURN_NN_NO_MODULE(input, target);
  const BurnNnOperand operands[] = {{"input", input}, {"target", target}};
  const BurnStatus status = check_multi_margin(m, operands);
  const double classes = (double)burn_dim(input, 1);
  if (status != BURN_OK) return burn_nn_refused(status, operands, 2);
  BurnTensor *right = burn_gather(burn_clone(input), 1, burn_unsqueeze_dim(target, 1));
  BurnTensor *short_of = burn_clamp_min(burn_add_scalar(burn_sub(input, right), m->margin), 0);
  BurnTensor *sums = burn_squeeze_dim(burn_sum_dim(burn_powf_scalar(short_of, (double)m->p), 1), 1);
  /* The class of the target is in the sum, always with margin^p. */
  return burn_div_scalar(burn_sub_scalar(sums, m->p == 2 ? m->margin * m->margin : m->margin), classes);
}

BurnTensor *burn_multi_margin_loss_forward(const BurnMultiMarginLoss *m, BurnTensor *input, BurnTensor *target,
                                           BurnReduction reduction) {
  BurnTensor *losses = burn_multi_margin_loss_forward_no_reduction(m, input, target);
  return burn_nn_reduced("multi_margin_loss", losses, reduction);
}

/* -- triplets --------------------------------------------------------------------------------- */

BurnTripletMarginLoss burn_triplet_margin_loss_init(const BurnTripletMarginLossConfig *config, BurnDevice *device) {
  (void)device;
  config = burn_nn_config(config, BurnTripletMarginLossConfig_type(), "triplet_margin_loss", NULL);
  return (BurnTripletMarginLoss){config->margin, config->p};
}

BurnTensor *burn_triplet_margin_loss_forward_no_reduction(const BurnTripletMarginLoss *m, BurnTensor *anchor,
                                                          BurnTensor *positive, BurnTensor *negative) {
  if (!m) return BURN_NN_NO_MODULE(anchor, positive, negative);
  const BurnNnOperand operands[] = {{"anchor", anchor}, {"positive", positive}, {"negative", negative}};
  const BurnStatus status = check_batch("triplet_margin_loss", operands, 3, 3);
  if (status != BURN_OK) return burn_nn_refused(status, operands, 3);
  BurnTensor *to_positive = burn_lp_norm(burn_sub(burn_clone(anchor), positive), m->p, 1);
  BurnTensor *to_negative = burn_lp_norm(burn_sub(anchor, negative), m->p, 1);
  return burn_squeeze_dim(burn_clamp_min(burn_add_scalar(burn_sub(to_positive, to_negative), m->margin), 0), 1);
}

BurnTensor *burn_triplet_margin_loss_forward(const BurnTripletMarginLoss *m, BurnTensor *anchor, BurnTensor *positive,
                                             BurnTensor *negative, BurnReduction reduction) {
  BurnTensor *losses = burn_triplet_margin_loss_forward_no_reduction(m, anchor, positive, negative);
  return burn_nn_reduced("triplet_margin_loss", losses, reduction);
}
