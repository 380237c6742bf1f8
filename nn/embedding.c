/* embedding.c - table lookup. */
#include <burn/nn/embedding.h>

#include "nn_internal.h"

BurnEmbedding burn_embedding_init(const BurnEmbeddingConfig *config, BurnDevice *device) {
  const BurnNnSize sizes[] = {{"n_embedding", config->n_embedding}, {"d_model", config->d_model}};
  const BurnStatus status = burn_nn_check_sizes("embedding", sizes, 2);
  const BurnShape shape = BURN_SHAPE((int64_t)config->n_embedding, (int64_t)config->d_model);
  return (BurnEmbedding){burn_nn_param(status, "embedding", &config->initializer, shape, 0, 0, device)};
}

BurnTensor *burn_embedding_forward(const BurnEmbedding *m, BurnTensor *x) {
  return burn_embedding(burn_param_value(&m->weight), x);
}
