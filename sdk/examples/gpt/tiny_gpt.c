/* tiny_gpt.c - a small GPT learns to write like a text, character by character:
 * the model, a training loop of one's own with clipping and a cosine schedule,
 * and sampling.
 *
 *   gpt TEXT [STEPS]      a file of more than 128 bytes; 500 steps */
#include <burn/burn.h>
#include <burn/file.h>
#include <burn/nn.h>
#include <burn/train.h>

#include "../common/arguments.h"
#include "../common/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHARACTERS = 128, BATCH = 16, STEPS = 128, MODEL = 128, SAMPLE = 300 };

/* -- model ----------------------------------------------------------------- */

#define GPT_FIELDS(X)                                    \
  X(BurnEmbedding, tokens, "characters -> d_model")      \
  X(BurnEmbedding, positions, "steps -> d_model")        \
  X(BurnTransformerEncoder, blocks, "see earlier steps") \
  X(BurnLayerNorm, norm, "after the last block")         \
  X(BurnLinear, head, "d_model -> logits of a character")
BURN_MODULE(Gpt, GPT_FIELDS);

static Gpt gpt_init(BurnDevice *device) {
  BurnTransformerEncoderConfig blocks =
      BurnTransformerEncoderConfig_defaults(MODEL, 4 * MODEL, 4, 4);
  blocks.norm_first = true;
  blocks.dropout = 0;
  return (Gpt){.tokens = burn_embedding_new(CHARACTERS, MODEL, device),
               .positions = burn_embedding_new(STEPS, MODEL, device),
               .blocks = burn_transformer_encoder_init(&blocks, device),
               .norm = burn_layer_norm_new(MODEL, device),
               .head = burn_linear_new(MODEL, CHARACTERS, device)};
}

/* takes tokens [batch, steps] -> logits [batch, steps, CHARACTERS] */
static BurnTensor *gpt_forward(const Gpt *m, BurnTensor *tokens) {
  const int64_t steps = burn_dim(tokens, 1);
  BurnTensor *at = burn_arange(burn_tensor_device(tokens), 0, steps, 1);
  at = burn_embedding_forward(&m->positions, burn_unsqueeze(at, 2));
  BurnTensor *x = burn_add(burn_embedding_forward(&m->tokens, tokens), at);
  const BurnTransformerEncoderInput input = {.tensor = x, .is_causal = true};
  x = burn_transformer_encoder_forward(&m->blocks, input);
  return burn_linear_forward(&m->head, burn_layer_norm_forward(&m->norm, x));
}

/* -- training -------------------------------------------------------------- */

static uint8_t *text;
static size_t text_count;

/* The mean loss of the characters after BATCH windows of the text. */
static BurnTensor *gpt_loss(const Gpt *m, BurnDevice *device) {
  int64_t seen[BATCH * STEPS], next[BATCH * STEPS];
  for (size_t i = 0; i < BATCH; i++) {
    const uint8_t *window = text + (size_t)rand() % (text_count - STEPS);
    for (size_t k = 0; k < STEPS; k++) {
      seen[i * STEPS + k] = window[k] % CHARACTERS;
      next[i * STEPS + k] = window[k + 1] % CHARACTERS;
    }
  }
  BurnTensor *tokens = burn_tensor_i64(device, seen, BURN_SHAPE(BATCH, STEPS));
  BurnTensor *wanted = burn_tensor_i64(device, next, BURN_SHAPE(BATCH * STEPS));
  return burn_cross_entropy(burn_flatten(gpt_forward(m, tokens), 0, 1), wanted);
}

static BurnStatus gpt_train(Gpt *m, BurnDevice *device, size_t steps) {
  BurnCosineAnnealingConfig cosine =
      BurnCosineAnnealingConfig_defaults(1e-3, steps);
  const BurnSchedule rate = burn_schedule_cosine_annealing(&cosine);
  BurnAdamWConfig config = BurnAdamWConfig_defaults();
  config.clipping = (BurnGradientClipping)BURN_CLIP_GLOBAL_NORM(1);
  BurnOptimizer *optimizer = burn_adamw_create(&config);
  BurnStatus status = burn_module_status(burn_module(Gpt, m));
  for (size_t i = 0; status == BURN_OK && i < steps; i++) {
    BurnTensor *loss = gpt_loss(m, device);
    if (i % 50 == 0 || i + 1 == steps) burn_print(burn_clone(loss));
    const double now = burn_schedule_rate(&rate, i);
    status = burn_train_step(optimizer, burn_module(Gpt, m), loss, now);
  }
  burn_optimizer_destroy(optimizer);
  return status;
}

/* -- sampling -------------------------------------------------------------- */

/* Writes SAMPLE characters after a line break. */
static BurnStatus gpt_sample(const Gpt *trained, BurnDevice *device) {
  Gpt m = Gpt_valid(trained);
  int64_t all[SAMPLE + 1] = {'\n'};
  BurnStatus status = BURN_OK;
  for (int64_t n = 1; status == BURN_OK && n <= SAMPLE; n++) {
    const int64_t t = n < STEPS ? n : STEPS;
    BurnTensor *x = burn_tensor_i64(device, all + n - t, BURN_SHAPE(1, t));
    x = burn_softmax(burn_select_dim(gpt_forward(&m, x), 1, -1), 1);
    status = burn_read_i64(burn_categorical(x, 1), &all[n], 1);
    putchar((int)all[n]);
  }
  Gpt_release(&m);
  return status;
}

/* 0 for what is not a number. */
static size_t count_of(const char *word) {
  const bool digits = strspn(word, "0123456789") == strlen(word);
  return digits ? strtoul(word, NULL, 10) : 0;
}

/* The text; false with a line on stderr. */
static bool text_read(const char *path) {
  BurnStatus status = burn_file_read(path, 1 << 26, &text, &text_count);
  if (status == BURN_OK && text_count <= STEPS)
    status = burn_status_make(BURN_STATUS_INVALID_ARGUMENT,
                              "%zu bytes, more than %d expected", text_count,
                              (int)STEPS);
  if (status == BURN_OK) return true;
  fprintf(stderr, "gpt: %s: %s\n", path, burn_status_message(status));
  free(text);
  return false;
}

int main(int argc, char **argv) {
  static const char usage[] =
      "usage: gpt TEXT [STEPS]   learn to write like a text";
  const char *words[2] = {NULL, "500"};
  program_begin();
  const int parsed = arguments_parse(argc, argv, usage, NULL, 0, words, 2);
  if (parsed != ARGUMENTS_OK) return parsed == ARGUMENTS_HELP ? 0 : 2;
  const size_t steps = count_of(words[1]);
  if (!words[0]) fprintf(stderr, "%s\n", usage);
  if (steps == 0)
    fprintf(stderr, "gpt: STEPS is an integer of at least 1, not '%s'\n",
            words[1]);
  if (!words[0] || steps == 0) return 2;
  if (!text_read(words[0])) return 1;
  BurnDevice *device = burn_device_open_training(NULL);
  burn_device_seed(device, 1);
  Gpt m = gpt_init(device);
  BurnStatus status = gpt_train(&m, device, steps);
  if (status == BURN_OK) status = gpt_sample(&m, burn_device_inner(device));
  if (status != BURN_OK) fprintf(stderr, "%s\n", burn_status_message(status));
  Gpt_release(&m);
  burn_device_close(device);
  free(text);
  return status != BURN_OK;
}
