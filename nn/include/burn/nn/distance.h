/* distance.h - how far apart or alike the vectors of two batches are. The device of init is not needed, it stands here
 * as for every layer. */
#ifndef BURN_NN_DISTANCE_H
#define BURN_NN_DISTANCE_H

#include <burn/config.h>
#include <burn/module.h>

BURN_EXTERN_C_BEGIN

#define BURN_PAIRWISE_DISTANCE_CONFIG(REQ, OPT)      \
  OPT(BurnF64, p, 2.0, "the norm, see burn_lp_norm") \
  OPT(BurnF64, eps, 1e-6, "added to every difference")
BURN_CONFIG_OPTIONAL(BurnPairwiseDistanceConfig, BURN_PAIRWISE_DISTANCE_CONFIG);
#define BURN_PAIRWISE_DISTANCE_FIELDS(X)      \
  X(BurnF64, p, "the norm, see burn_lp_norm") \
  X(BurnF64, eps, "added to every difference")
BURN_MODULE(BurnPairwiseDistance, BURN_PAIRWISE_DISTANCE_FIELDS);

/* Makes the layer; it has no parameters. */
BURN_API BurnPairwiseDistance burn_pairwise_distance_init(const BurnPairwiseDistanceConfig *config, BurnDevice *device);
/* [batch, d] each -> [batch]: the p-norm of x1 - x2 + eps */
BURN_API BURN_GIVES BURN_TAKES(2, 3) BurnTensor *burn_pairwise_distance_forward(const BurnPairwiseDistance *m,
                                                                                BurnTensor *x1, BurnTensor *x2);

#define BURN_COSINE_SIMILARITY_CONFIG(REQ, OPT)                        \
  OPT(BurnI64, dim, 1, "axis of the vectors; negative: from the last") \
  OPT(BurnF64, eps, 1e-8, "least norm")
BURN_CONFIG_OPTIONAL(BurnCosineSimilarityConfig, BURN_COSINE_SIMILARITY_CONFIG);
#define BURN_COSINE_SIMILARITY_FIELDS(X)                          \
  X(BurnI64, dim, "axis of the vectors; negative: from the last") \
  X(BurnF64, eps, "least norm")
BURN_MODULE(BurnCosineSimilarity, BURN_COSINE_SIMILARITY_FIELDS);

/* Makes the layer; it has no parameters. */
BURN_API BurnCosineSimilarity burn_cosine_similarity_init(const BurnCosineSimilarityConfig *config, BurnDevice *device);
/* [batch, d] each -> [batch] (with dim 0: [d]): x1 x2 / (max(|x1|, eps) max(|x2|, eps)) */
BURN_API BURN_GIVES BURN_TAKES(2, 3) BurnTensor *burn_cosine_similarity_forward(const BurnCosineSimilarity *m,
                                                                                BurnTensor *x1, BurnTensor *x2);

BURN_EXTERN_C_END

#endif
