/* bert.c - a layer of BERT: an encoder layer of nn with the norm last and GELU, here without dropout, and a head of ten
 * classes for each token. args: batch, d, heads, T. */
#include "networks.h"

#define BERT_FIELDS(X)                            \
  X(BurnTransformerEncoderLayer, layer, "d, 4 d") \
  X(BurnLinear, head, "d -> 10")
BURN_MODULE(Bert, BERT_FIELDS);

static void init(void *model, const int64_t *args, BurnDevice *device) {
  const size_t d = (size_t)args[1];
  BurnTransformerEncoderConfig layer = BurnTransformerEncoderConfig_defaults(d, 4 * d, (size_t)args[2], 1);
  layer.dropout = 0;
  const BurnLinearConfig head = BurnLinearConfig_defaults(d, 10);
  *(Bert *)model = (Bert){burn_transformer_encoder_layer_init(&layer, device), burn_linear_init(&head, device)};
}

static BurnTensor *inputs(const int64_t *args, BurnDevice *device) {
  return burn_random_normal(device, BURN_SHAPE(args[0], args[3], args[1]), BURN_DTYPE_F32, 0, 1);
}
static int64_t target_count(const int64_t *args) { return args[0] * args[3]; }

static BurnTensor *forward(const void *model, BurnTensor *x) {
  const Bert *m = model;
  x = burn_transformer_encoder_layer_forward(&m->layer, (BurnTransformerEncoderInput){.tensor = x});
  return burn_flatten(burn_linear_forward(&m->head, x), 0, 1); /* [n * T, 10] */
}

const Network bert_network = {"bert", Bert_type, init, inputs, target_count, ten_classes, forward};
