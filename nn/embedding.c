/* embedding.c - table lookup. */
#include <burn/nn/embedding.h>

#include "nn_internal.h"

BurnEmbedding burn_embedding_init(const BurnEmbeddingConfig *config, BurnDevice *device) {
  BurnStatus status = BURN_OK;
  config = burn_nn_config(config, BurnEmbeddingConfig_type(), "embedding", &status);
  const BurnNnSize sizes[] = {{"n_embedding", config->n_embedding}, {"d_model", config->d_model}};
  if (status == BURN_OK) status = burn_nn_check_sizes("embedding", sizes, 2);
  const BurnShape shape = BURN_SHAPE((int64_t)config->n_embedding, (int64_t)config->d_model);
  return (BurnEmbedding){burn_nn_param(status, "embedding", &config->initializer, shape, 0, 0, device)};
}

BurnTensor *burn_embedding_forward(const BurnEmbedding *m, BurnTensor *x) {
  if (!m) return BURN_NN_NO_MODULE(x);
  const bool sound = burn_nn_sound(x);
  return burn_nn_placed(sound, &m->weight, "embedding", burn_embedding(burn_param_value(&m->weight), x));
}
