/* distance.c - distances and similarities of vectors. */
#include <burn/nn/distance.h>

#include <burn/linalg.h>

#include "nn_internal.h"

BurnPairwiseDistance burn_pairwise_distance_init(const BurnPairwiseDistanceConfig *config, BurnDevice *device) {
  (void)device;
  config = burn_nn_config(config, BurnPairwiseDistanceConfig_type(), "pairwise_distance", NULL);
  return (BurnPairwiseDistance){config->p, config->eps};
}

static BurnStatus check_pair(const char *layer, const BurnNnOperand *operands) {
  const BurnStatus status = burn_nn_check_alike(layer, operands, 2);
  const uint32_t rank = burn_rank(operands[0].tensor);
  if (status != BURN_OK || rank == 0 || rank == 2) return status;
  return burn_status_make(BURN_STATUS_INVALID_SHAPE, "%s: rank 2 expected, found %u", layer, rank);
}

BurnTensor *burn_pairwise_distance_forward(const BurnPairwiseDistance *m, BurnTensor *x1, BurnTensor *x2) {
  if (!m) return BURN_NN_NO_MODULE(x1, x2);
  const BurnNnOperand operands[] = {{"x1", x1}, {"x2", x2}};
  const BurnStatus status = check_pair("pairwise_distance", operands);
  if (status != BURN_OK) return burn_nn_refused(status, operands, 2);
  return burn_squeeze_dim(burn_lp_norm(burn_add_scalar(burn_sub(x1, x2), m->eps), m->p, 1), 1);
}

BurnCosineSimilarity burn_cosine_similarity_init(const BurnCosineSimilarityConfig *config, BurnDevice *device) {
  (void)device;
  config = burn_nn_config(config, BurnCosineSimilarityConfig_type(), "cosine_similarity", NULL);
  return (BurnCosineSimilarity){config->dim, config->eps};
}

BurnTensor *burn_cosine_similarity_forward(const BurnCosineSimilarity *m, BurnTensor *x1, BurnTensor *x2) {
  if (!m) return BURN_NN_NO_MODULE(x1, x2);
  const BurnNnOperand operands[] = {{"x1", x1}, {"x2", x2}};
  BurnStatus status = check_pair("cosine_similarity", operands);
  if (status == BURN_OK && (m->dim < -2 || m->dim > 1)) {
    status =
        burn_status_make(BURN_STATUS_OUT_OF_RANGE, "cosine_similarity: dim %lld is outside -2..1", (long long)m->dim);
  }
  if (status != BURN_OK) return burn_nn_refused(status, operands, 2);
  return burn_squeeze_dim(burn_cosine_similarity(x1, x2, (int)m->dim, m->eps), (int)m->dim);
}
