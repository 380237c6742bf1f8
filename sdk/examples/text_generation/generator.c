/* generator.c - see generator.h. */
#include "generator.h"

#include <stdlib.h>

Generator generator_init(const GeneratorConfig *config, BurnDevice *device) {
  const size_t d = config->d_model;
  BurnTransformerEncoderConfig blocks = BurnTransformerEncoderConfig_defaults(
      d, 4 * d, config->n_heads, config->n_layers);
  blocks.norm_first = true;
  blocks.dropout = config->dropout;
  return (Generator){
      .tokens = burn_embedding_new(VOCABULARY, d, device),
      .positions = burn_embedding_new(config->context, d, device),
      .dropout = burn_dropout_new(config->dropout, device),
      .blocks = burn_transformer_encoder_init(&blocks, device),
      .norm = burn_layer_norm_new(d, device),
      .head = burn_linear_new(d, VOCABULARY, device)};
}

BurnTensor *generator_forward(const Generator *m, BurnTensor *tokens) {
  const int64_t steps = burn_dim(tokens, 1);
  BurnTensor *at = burn_arange(burn_tensor_device(tokens), 0, steps, 1);
  at = burn_embedding_forward(&m->positions, burn_unsqueeze(at, 2));
  BurnTensor *x = burn_add(burn_embedding_forward(&m->tokens, tokens), at);
  x = burn_dropout_forward(&m->dropout, x);
  const BurnTransformerEncoderInput input = {.tensor = x, .is_causal = true};
  x = burn_transformer_encoder_forward(&m->blocks, input);
  return burn_linear_forward(&m->head, burn_layer_norm_forward(&m->norm, x));
}

BurnStepOutput generator_step(void *context, const void *model,
                              BurnBatch *batch) {
  (void)context;
  BurnTensor *next = burn_flatten(burn_batch_take(batch, "next"), 0, 1);
  BurnTensor *scores = generator_forward(model, burn_batch_take(batch, "seen"));
  scores = burn_flatten(scores, 0, 1);
  BurnTensor *loss = burn_cross_entropy(burn_clone(scores), burn_clone(next));
  return burn_classification_output(loss, scores, next);
}

/* -- data ------------------------------------------------------------------ */

typedef struct Windows {
  const uint8_t *text;
  size_t context, stride;
} Windows;

static BurnStatus get_window(void *context, size_t index,
                             void *const *columns) {
  const Windows *windows = context;
  const uint8_t *from = windows->text + index * windows->stride;
  int64_t *seen = columns[0], *next = columns[1];
  for (size_t i = 0; i < windows->context; i++) {
    seen[i] = from[i];
    next[i] = from[i + 1];
  }
  return BURN_OK;
}

BurnDataset *windows_of(const uint8_t *text, size_t bytes, size_t context,
                        size_t stride, BurnStatus *status) {
  if (*status != BURN_OK) return NULL;
  if (bytes <= context) {
    *status = burn_status_make(
        BURN_STATUS_INVALID_ARGUMENT,
        "a text of %zu bytes is too short for windows of %zu", bytes, context);
    return NULL;
  }
  Windows *windows = malloc(sizeof *windows);
  if (!windows) {
    *status = burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory");
    return NULL;
  }
  *windows = (Windows){text, context, stride ? stride : 1};
  const BurnShape shape = BURN_SHAPE((int64_t)context);
  const BurnColumn columns[] = {{"seen", BURN_DTYPE_I64, shape},
                                {"next", BURN_DTYPE_I64, shape}};
  const BurnDatasetInterface dataset = {
      .column_count = 2,
      .columns = columns,
      .count = (bytes - context - 1) / windows->stride + 1,
      .get = get_window,
      .destroy = free,
      .context = windows};
  return burn_dataset_create(&dataset, status);
}
