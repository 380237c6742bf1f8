/* embedding.h - a learned vector for every index. */
#ifndef BURN_NN_EMBEDDING_H
#define BURN_NN_EMBEDDING_H

#include <burn/config.h>
#include <burn/module.h>
#include <burn/nn/initializer.h>

BURN_EXTERN_C_BEGIN

#define BURN_EMBEDDING_CONFIG(REQ, OPT)           \
  REQ(BurnSize, n_embedding, "number of vectors") \
  REQ(BurnSize, d_model, "size of a vector")      \
  OPT(BurnInitializer, initializer, BURN_NORMAL(0, 1), "first values of weight")
BURN_CONFIG(BurnEmbeddingConfig, BURN_EMBEDDING_CONFIG);

#define BURN_EMBEDDING_FIELDS(X) X(BurnParam, weight, "[n_embedding, d_model]")
BURN_MODULE(BurnEmbedding, BURN_EMBEDDING_FIELDS);

/* Makes the layer, with its first values on `device`. A config that is refused gives a layer whose forward fails with
 * the reason. */
BURN_API BurnEmbedding burn_embedding_init(const BurnEmbeddingConfig *config, BurnDevice *device);
BURN_LAYER(BurnEmbedding, burn_embedding, BURN_EMBEDDING_CONFIG);
/* Integer indices [batch, sequence] -> [batch, sequence, d_model] */
BURN_API BURN_GIVES BURN_TAKES(2) BurnTensor *burn_embedding_forward(const BurnEmbedding *m, BurnTensor *x);

BURN_EXTERN_C_END

#endif
