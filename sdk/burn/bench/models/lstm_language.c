/* lstm_language.c - a language model: embedding, two LSTM layers, a head over the vocabulary; the loss is that of all
 * steps. args: batch, d, T, vocabulary. */
#include "layers.h"
#include "networks.h"

#define LSTM_LANGUAGE_FIELDS(X)               \
  X(BurnEmbedding, tokens, "vocabulary -> d") \
  X(Recurrent, first, "d -> d")               \
  X(Recurrent, second, "d -> d")              \
  X(BurnLinear, head, "d -> vocabulary")
BURN_MODULE(LstmLanguage, LSTM_LANGUAGE_FIELDS);

static void init(void *model, const int64_t *args, BurnDevice *device) {
  const size_t d = (size_t)args[1], vocabulary = (size_t)args[3];
  const BurnEmbeddingConfig tokens = BurnEmbeddingConfig_defaults(vocabulary, d);
  const BurnLinearConfig head = BurnLinearConfig_defaults(d, vocabulary);
  *(LstmLanguage *)model = (LstmLanguage){burn_embedding_init(&tokens, device), recurrent_init(d, d, device),
                                          recurrent_init(d, d, device), burn_linear_init(&head, device)};
}

static BurnTensor *inputs(const int64_t *args, BurnDevice *device) {
  return token_inputs(args[0], args[2], args[3], device);
}
static int64_t target_count(const int64_t *args) { return args[0] * args[2]; }
static int64_t classes(const int64_t *args) { return args[3]; }

static BurnTensor *forward(const void *model, BurnTensor *x) {
  const LstmLanguage *m = model;
  x = recurrent_forward(&m->first, burn_embedding_forward(&m->tokens, x));
  x = burn_linear_forward(&m->head, recurrent_forward(&m->second, x));
  return burn_flatten(x, 0, 1); /* [n * T, vocabulary] */
}

const Network lstm_language_network = {"lstm_language", LstmLanguage_type, init,   inputs,
                                       target_count,    classes,           forward};
