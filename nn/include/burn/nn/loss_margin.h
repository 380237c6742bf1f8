/* loss_margin.h - losses over embeddings, rankings and margins. A number of a config that makes no sense fails in every
 * forward pass; the device of init is not used: it is a parameter because the init of every layer has one. */
#ifndef BURN_NN_LOSS_MARGIN_H
#define BURN_NN_LOSS_MARGIN_H

#include <burn/config.h>
#include <burn/nn/loss.h>
#include <burn/nn/stateless.h>

BURN_EXTERN_C_BEGIN

/* 1 - cosine similarity for pairs of target 1, max(0, cosine similarity - margin) for those of target -1, else 0:
 * another target is not a failure, as in Burn and PyTorch */
#define BURN_COSINE_EMBEDDING_LOSS_CONFIG(REQ, OPT)                             \
  OPT(BurnF64, margin, 0.0, "similarity up to which unlike pairs cost nothing") \
  OPT(BurnReduction, reduction, BURN_REDUCTION_MEAN, "of forward")
BURN_CONFIG_OPTIONAL(BurnCosineEmbeddingLossConfig, BURN_COSINE_EMBEDDING_LOSS_CONFIG);
#define BURN_COSINE_EMBEDDING_LOSS_FIELDS(X)                             \
  X(BurnF64, margin, "similarity up to which unlike pairs cost nothing") \
  X(BurnReduction, reduction, "of forward")
BURN_MODULE(BurnCosineEmbeddingLoss, BURN_COSINE_EMBEDDING_LOSS_FIELDS);

/* Makes the loss; it has no parameters. */
BURN_API BurnCosineEmbeddingLoss burn_cosine_embedding_loss_init(const BurnCosineEmbeddingLossConfig *config,
                                                                 BurnDevice *device);
/* Two batches of vectors [batch, d] and int targets [batch] -> [1], by the reduction of the config */
BURN_API BURN_GIVES BURN_TAKES(2, 3, 4) BurnTensor *burn_cosine_embedding_loss_forward(const BurnCosineEmbeddingLoss *m,
                                                                                       BurnTensor *input1,
                                                                                       BurnTensor *input2,
                                                                                       BurnTensor *target);
/* The same -> [batch] */
BURN_API BURN_GIVES BURN_TAKES(2, 3, 4) BurnTensor *burn_cosine_embedding_loss_forward_no_reduction(
    const BurnCosineEmbeddingLoss *m, BurnTensor *input1, BurnTensor *input2, BurnTensor *target);

/* x for targets 1, max(0, margin - x) for others (-1) */
#define BURN_HINGE_EMBEDDING_LOSS_CONFIG(REQ, OPT) \
  OPT(BurnF64, margin, 1.0, "distance from which unlike pairs cost nothing")
BURN_CONFIG_OPTIONAL(BurnHingeEmbeddingLossConfig, BURN_HINGE_EMBEDDING_LOSS_CONFIG);
#define BURN_HINGE_EMBEDDING_LOSS_FIELDS(X) X(BurnF64, margin, "distance from which unlike pairs cost nothing")
BURN_MODULE(BurnHingeEmbeddingLoss, BURN_HINGE_EMBEDDING_LOSS_FIELDS);

/* Makes the loss; it has no parameters. */
BURN_API BurnHingeEmbeddingLoss burn_hinge_embedding_loss_init(const BurnHingeEmbeddingLossConfig *config,
                                                               BurnDevice *device);
/* Distances and float targets of one shape -> [1] */
BURN_API BURN_GIVES BURN_TAKES(2, 3) BurnTensor *burn_hinge_embedding_loss_forward(const BurnHingeEmbeddingLoss *m,
                                                                                   BurnTensor *input,
                                                                                   BurnTensor *target,
                                                                                   BurnReduction reduction);
/* The same -> the shape of the input */
BURN_API BURN_GIVES BURN_TAKES(2, 3) BurnTensor *burn_hinge_embedding_loss_forward_no_reduction(
    const BurnHingeEmbeddingLoss *m, BurnTensor *input, BurnTensor *target);

/* max(0, margin - target * (first - second)): target 1 wants first to be the larger, -1 the second */
#define BURN_MARGIN_RANKING_LOSS_CONFIG(REQ, OPT) OPT(BurnF64, margin, 0.0, "difference that costs nothing, 0 or more")
BURN_CONFIG_OPTIONAL(BurnMarginRankingLossConfig, BURN_MARGIN_RANKING_LOSS_CONFIG);
#define BURN_MARGIN_RANKING_LOSS_FIELDS(X) X(BurnF64, margin, "difference that costs nothing, 0 or more")
BURN_MODULE(BurnMarginRankingLoss, BURN_MARGIN_RANKING_LOSS_FIELDS);

/* Makes the loss; it has no parameters. */
BURN_API BurnMarginRankingLoss burn_margin_ranking_loss_init(const BurnMarginRankingLossConfig *config,
                                                             BurnDevice *device);
/* Scores and float targets of one shape -> [1] */
BURN_API BURN_GIVES BURN_TAKES(2, 3, 4) BurnTensor *burn_margin_ranking_loss_forward(
    const BurnMarginRankingLoss *m, BurnTensor *first, BurnTensor *second, BurnTensor *target, BurnReduction reduction);
/* The same -> their shape */
BURN_API BURN_GIVES BURN_TAKES(2, 3, 4) BurnTensor *burn_margin_ranking_loss_forward_no_reduction(
    const BurnMarginRankingLoss *m, BurnTensor *first, BurnTensor *second, BurnTensor *target);

/* log(1 + e^(-target * x)) */
BURN_MODULE_STATELESS(BurnSoftMarginLoss);
/* Makes the loss. */
BURN_API BurnSoftMarginLoss burn_soft_margin_loss_init(void);
/* Logits and float targets (-1 or 1) of one shape -> [1]. Overflows to infinity for large -target * x, as
 * burn_softplus. */
BURN_API BURN_GIVES BURN_TAKES(2, 3) BurnTensor *burn_soft_margin_loss_forward(const BurnSoftMarginLoss *m,
                                                                               BurnTensor *logits, BurnTensor *targets,
                                                                               BurnReduction reduction);
/* The same -> the shape of the logits */
BURN_API BURN_GIVES BURN_TAKES(2, 3) BurnTensor *burn_soft_margin_loss_forward_no_reduction(const BurnSoftMarginLoss *m,
                                                                                            BurnTensor *logits,
                                                                                            BurnTensor *targets);

/* Mean over the classes of max(0, margin - x[target] + x[class])^p, 0 for the target itself */
#define BURN_MULTI_MARGIN_LOSS_CONFIG(REQ, OPT)                                      \
  OPT(BurnF64, margin, 1.0, "lead of the right class that costs nothing, 0 or more") \
  OPT(BurnI64, p, 1, "power, 1 or 2")
BURN_CONFIG_OPTIONAL(BurnMultiMarginLossConfig, BURN_MULTI_MARGIN_LOSS_CONFIG);
#define BURN_MULTI_MARGIN_LOSS_FIELDS(X)                                      \
  X(BurnF64, margin, "lead of the right class that costs nothing, 0 or more") \
  X(BurnI64, p, "power, 1 or 2")
BURN_MODULE(BurnMultiMarginLoss, BURN_MULTI_MARGIN_LOSS_FIELDS);

/* Makes the loss; it has no parameters. */
BURN_API BurnMultiMarginLoss burn_multi_margin_loss_init(const BurnMultiMarginLossConfig *config, BurnDevice *device);
/* Scores [batch, classes] and int targets [batch] -> [1] */
BURN_API BURN_GIVES BURN_TAKES(2, 3) BurnTensor *burn_multi_margin_loss_forward(const BurnMultiMarginLoss *m,
                                                                                BurnTensor *input, BurnTensor *target,
                                                                                BurnReduction reduction);
/* The same -> [batch] */
BURN_API BURN_GIVES BURN_TAKES(2,
                               3) BurnTensor *burn_multi_margin_loss_forward_no_reduction(const BurnMultiMarginLoss *m,
                                                                                          BurnTensor *input,
                                                                                          BurnTensor *target);

/* max(0, |anchor - positive| - |anchor - negative| + margin) with p-norms (PyTorch adds 1e-6 to the differences) */
#define BURN_TRIPLET_MARGIN_LOSS_CONFIG(REQ, OPT)                      \
  OPT(BurnF64, margin, 1.0, "lead of the positive that costs nothing") \
  OPT(BurnF64, p, 2.0, "the norm, see burn_lp_norm")
BURN_CONFIG_OPTIONAL(BurnTripletMarginLossConfig, BURN_TRIPLET_MARGIN_LOSS_CONFIG);
#define BURN_TRIPLET_MARGIN_LOSS_FIELDS(X)                      \
  X(BurnF64, margin, "lead of the positive that costs nothing") \
  X(BurnF64, p, "the norm, see burn_lp_norm")
BURN_MODULE(BurnTripletMarginLoss, BURN_TRIPLET_MARGIN_LOSS_FIELDS);

/* Makes the loss; it has no parameters. */
BURN_API BurnTripletMarginLoss burn_triplet_margin_loss_init(const BurnTripletMarginLossConfig *config,
                                                             BurnDevice *device);
/* Three batches of vectors [batch, d] -> [1] */
BURN_API BURN_GIVES BURN_TAKES(2, 3, 4) BurnTensor *burn_triplet_margin_loss_forward(const BurnTripletMarginLoss *m,
                                                                                     BurnTensor *anchor,
                                                                                     BurnTensor *positive,
                                                                                     BurnTensor *negative,
                                                                                     BurnReduction reduction);
/* The same -> [batch] */
BURN_API BURN_GIVES BURN_TAKES(2, 3, 4) BurnTensor *burn_triplet_margin_loss_forward_no_reduction(
    const BurnTripletMarginLoss *m, BurnTensor *anchor, BurnTensor *positive, BurnTensor *negative);

BURN_EXTERN_C_END

#endif
