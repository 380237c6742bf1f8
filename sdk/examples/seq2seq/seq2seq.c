/* seq2seq.c - a transformer learns to copy: an encoder reads digits, a decoder
 * writes them down again, one after the other, and ends where they end.
 *
 * What it shows: sequences of several lengths as one batch with a mask of their
 * padding, teacher forcing with a decoder that sees no later token, and greedy
 * decoding step by step with a cache. */
#define _POSIX_C_SOURCE 200809L
#include <burn/burn.h>
#include <burn/nn.h>
#include <burn/train.h>

#include "../common/arguments.h"
#include "../common/program.h"
#include "../common/result.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Digit d is the token DIGIT + d. */
enum { PAD, BEGIN, END, DIGIT, VOCABULARY = DIGIT + 10 };
enum { SHORTEST = 3, LONGEST = 8, STEPS = LONGEST + 1, MAX_BATCH = 256 };

/* -- model ----------------------------------------------------------------- */

#define COPIER_CONFIG(REQ, OPT)                                  \
  OPT(BurnSize, d_model, 32, "size of a token")                  \
  OPT(BurnSize, d_ff, 64, "size inside the feed-forward layers") \
  OPT(BurnSize, n_heads, 4, "heads of attention")                \
  OPT(BurnSize, n_layers, 1, "layers of the encoder and of the decoder")
BURN_CONFIG_OPTIONAL(CopierConfig, COPIER_CONFIG);

#define COPIER_FIELDS(X)                             \
  X(BurnEmbedding, embedding, "of both sides")       \
  X(BurnPositionalEncoding, position, "added to it") \
  X(BurnTransformerEncoder, encoder, "reads")        \
  X(BurnTransformerDecoder, decoder, "writes")       \
  X(BurnLinear, output, "d_model -> vocabulary")     \
  X(BurnCrossEntropyLoss, loss, "padding does not count")
BURN_MODULE(Copier, COPIER_FIELDS);

static Copier copier_init(const CopierConfig *config, BurnDevice *device) {
  BurnTransformerEncoderConfig encoder = BurnTransformerEncoderConfig_defaults(
      config->d_model, config->d_ff, config->n_heads, config->n_layers);
  BurnTransformerDecoderConfig decoder = BurnTransformerDecoderConfig_defaults(
      config->d_model, config->d_ff, config->n_heads, config->n_layers);
  encoder.norm_first = decoder.norm_first = true;
  encoder.dropout = decoder.dropout = 0; /* new sequences in every step */
  Copier m = {
      .embedding = burn_embedding_new(VOCABULARY, config->d_model, device),
      .position = burn_positional_encoding_new(config->d_model, device),
      .encoder = burn_transformer_encoder_init(&encoder, device),
      .decoder = burn_transformer_decoder_init(&decoder, device),
      .output = burn_linear_new(config->d_model, VOCABULARY, device),
      .loss = burn_cross_entropy_loss_init(NULL, device)};
  const int64_t pads[] = {PAD};
  burn_cross_entropy_loss_set_pad_tokens(
      &m.loss, burn_tensor_i64(device, pads, BURN_SHAPE(1)));
  return m;
}

/* takes tokens [batch, steps] -> [batch, steps, d_model] */
static BurnTensor *embed(const Copier *m, BurnTensor *tokens) {
  return burn_positional_encoding_forward(
      &m->position, burn_embedding_forward(&m->embedding, tokens));
}

/* takes the source; its mask stays -> [batch, steps, d_model] */
static BurnTensor *read_source(const Copier *m, BurnPaddingMask source) {
  const BurnTransformerEncoderInput input = {
      .tensor = embed(m, source.tensor), .mask_pad = burn_clone(source.mask)};
  return burn_transformer_encoder_forward(&m->encoder, input);
}

/* -- sequences ------------------------------------------------------------- */

/* Digits, and the same after BEGIN and before END. */
typedef struct Sequences {
  size_t count;
  int64_t digits[MAX_BATCH][LONGEST];
  int64_t target[MAX_BATCH][LONGEST + 2];
  size_t lengths[MAX_BATCH];
} Sequences;

static unsigned draw(unsigned *state, unsigned below) {
  *state = *state * 1664525u + 1013904223u;
  return (unsigned)(((uint64_t)(*state >> 8) * below) >> 24);
}

static void draw_sequences(Sequences *s, size_t count, unsigned *state) {
  s->count = count;
  for (size_t i = 0; i < count; i++) {
    const size_t n = SHORTEST + draw(state, LONGEST - SHORTEST + 1);
    s->lengths[i] = n;
    s->target[i][0] = BEGIN;
    for (size_t j = 0; j < n; j++) {
      s->digits[i][j] = s->target[i][j + 1] = DIGIT + (int64_t)draw(state, 10);
    }
    s->target[i][n + 1] = END;
  }
}

/* Rows of `tokens`, `width` apart, each `more` longer than its digits. */
static BurnPaddingMask padded(const Sequences *s, const int64_t *tokens,
                              size_t width, size_t more, size_t length,
                              BurnDevice *device) {
  BurnTokens rows[MAX_BATCH];
  for (size_t i = 0; i < s->count; i++) {
    rows[i] = (BurnTokens){tokens + i * width, s->lengths[i] + more};
  }
  const BurnSeqLength fixed = {BURN_SEQ_LENGTH_FIXED, length};
  return burn_generate_padding_mask(device, PAD, rows, s->count, fixed);
}

static BurnPaddingMask source_of(const Sequences *s, BurnDevice *device) {
  return padded(s, s->digits[0], LONGEST, 0, LONGEST, device);
}

/* -- training -------------------------------------------------------------- */

/* The decoder sees what it should have written so far. */
static BurnTensor *copier_loss(const Copier *m, const Sequences *s,
                               BurnDevice *device) {
  const BurnPaddingMask source = source_of(s, device);
  const BurnPaddingMask given =
      padded(s, s->target[0], LONGEST + 2, 1, STEPS, device);
  const BurnPaddingMask wanted =
      padded(s, s->target[0] + 1, LONGEST + 2, 1, STEPS, device);
  burn_drop(wanted.mask);
  const BurnTransformerDecoderInput input = {.target = embed(m, given.tensor),
                                             .target_mask_pad = given.mask,
                                             .memory = read_source(m, source),
                                             .memory_mask_pad = source.mask,
                                             .is_causal = true};
  BurnTensor *y = burn_transformer_decoder_forward(&m->decoder, input);
  y = burn_flatten(burn_linear_forward(&m->output, y), 0, 1);
  return burn_cross_entropy_loss_forward(&m->loss, y,
                                         burn_flatten(wanted.tensor, 0, 1));
}

/* -- decoding -------------------------------------------------------------- */

/* The most likely next tokens of all rows after what was written so far:
 * [rows, steps] in `written`, LONGEST + 2 apart. memory and hidden stay. */
static BurnStatus write_next(const Copier *m, BurnTransformerCache *cache,
                             const BurnTensor *memory, const BurnTensor *hidden,
                             int64_t (*written)[LONGEST + 2], size_t count,
                             size_t steps) {
  int64_t so_far[MAX_BATCH * (LONGEST + 2)], next[MAX_BATCH];
  const int64_t rows = (int64_t)count;
  for (size_t i = 0; i < count; i++) {
    memcpy(so_far + i * steps, written[i], steps * sizeof so_far[0]);
  }
  BurnTensor *tokens = burn_tensor_i64(burn_tensor_device(memory), so_far,
                                       BURN_SHAPE(rows, (int64_t)steps));
  const BurnTransformerDecoderInput input = {
      .target = embed(m, tokens),
      .memory = burn_clone(memory),
      .memory_mask_pad = burn_clone(hidden),
      .is_causal = true};
  BurnTensor *y = burn_transformer_decoder_forward_autoregressive_inference(
      &m->decoder, input, cache);
  y = burn_linear_forward(&m->output, burn_select_dim(y, 1, -1));
  y = burn_argmax(y, 1);
  const BurnStatus status = burn_read_i64(y, next, count);
  for (size_t i = 0; status == BURN_OK && i < count; i++) {
    written[i][steps] = next[i];
  }
  return status;
}

/* How many sequences are written without a mistake, END included. */
static BurnStatus count_right(const Copier *m, const Sequences *s,
                              BurnDevice *device, size_t *right) {
  int64_t written[MAX_BATCH][LONGEST + 2] = {{0}};
  const BurnPaddingMask source = source_of(s, device);
  BurnTensor *memory = read_source(m, source);
  BurnTransformerCache *cache =
      burn_transformer_decoder_new_autoregressive_cache(&m->decoder);
  BurnStatus status = burn_tensor_status(memory);
  for (size_t i = 0; i < s->count; i++) written[i][0] = BEGIN;
  for (size_t step = 1; status == BURN_OK && step <= STEPS; step++) {
    status = write_next(m, cache, memory, source.mask, written, s->count, step);
  }
  burn_transformer_cache_destroy(cache);
  burn_drop(memory);
  burn_drop(source.mask);
  for (size_t i = 0; i < s->count; i++) {
    const size_t bytes = (s->lengths[i] + 2) * sizeof s->target[i][0];
    *right += memcmp(written[i], s->target[i], bytes) == 0;
  }
  return status;
}

/* The share of sequences that training has not met which are copied right. */
static BurnStatus evaluate(const Copier *m, BurnDevice *device, double *share) {
  Copier valid = Copier_valid(m);
  Sequences s;
  unsigned state = 99;
  size_t right = 0;
  draw_sequences(&s, MAX_BATCH, &state);
  const BurnStatus status =
      count_right(&valid, &s, burn_device_inner(device), &right);
  Copier_release(&valid);
  *share = (double)right / (double)MAX_BATCH;
  return status;
}

/* -- program --------------------------------------------------------------- */

typedef struct Options {
  size_t steps, batch_size, seed;
  double learning_rate;
  const char *backend;
  bool json;
} Options;

/* At the end of a run: the last loss, and how much is copied right. */
typedef struct Outcome {
  double loss, right, seconds;
} Outcome;

static void report(const Options *options, size_t step,
                   const Outcome *outcome) {
  if (options->json) {
    printf("{\"event\":\"step\",\"step\":%zu,\"loss\":%s,\"right\":%s}\n", step,
           json_number(outcome->loss).text, json_number(outcome->right).text);
  } else {
    printf("step %5zu   loss %.4f   copied right: %5.1f %%\n", step,
           outcome->loss, 100 * outcome->right);
  }
}

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static BurnStatus run(const Options *options, BurnDevice *device, Copier *m,
                      Outcome *outcome) {
  BurnStatus status = burn_module_status(burn_module(Copier, m));
  BurnOptimizer *optimizer = burn_adam_create(NULL);
  const double begin = seconds();
  unsigned state = (unsigned)options->seed;
  Sequences s;
  for (size_t step = 1; status == BURN_OK && step <= options->steps; step++) {
    const bool is_told = step % 100 == 0 || step == options->steps;
    draw_sequences(&s, options->batch_size, &state);
    BurnTensor *loss = copier_loss(m, &s, device);
    BurnTensor *shown = is_told ? burn_clone(loss) : NULL;
    status = burn_train_step(optimizer, burn_module(Copier, m), loss,
                             options->learning_rate);
    if (!is_told) continue;
    const BurnStatus told = burn_read_scalar(shown, &outcome->loss);
    if (status == BURN_OK) status = told;
    if (status == BURN_OK) status = evaluate(m, device, &outcome->right);
    if (status == BURN_OK) report(options, step, outcome);
  }
  outcome->seconds = seconds() - begin;
  burn_optimizer_destroy(optimizer);
  return status;
}

static void print_result(const Options *options, const BurnDevice *device,
                         const Outcome *outcome) {
  printf(
      "%s\"backend\":%s,\"seed\":%zu,\"steps\":%zu,\"seconds\":%.2f,"
      "\"loss\":%s,\"right\":%s}\n",
      result_begin(options->json), json_text(burn_device_name(device)).text,
      options->seed, options->steps, outcome->seconds,
      json_number(outcome->loss).text, json_number(outcome->right).text);
}

static int train(const Options *options) {
  const CopierConfig config = CopierConfig_defaults();
  BurnDevice *device = burn_device_open_training(options->backend);
  Outcome outcome = {(double)NAN, (double)NAN, 0};
  burn_device_seed(device, options->seed);
  Copier m = copier_init(&config, device);
  BurnStatus status = burn_device_status(device);
  if (status == BURN_OK) status = run(options, device, &m, &outcome);
  if (status == BURN_OK) {
    print_result(options, device, &outcome);
  } else {
    fprintf(stderr, "seq2seq: %s\n", burn_status_message(status));
  }
  Copier_release(&m);
  burn_device_close(device);
  return status != BURN_OK;
}

int main(int argc, char **argv) {
  program_begin();
  Options options = {
      .steps = 1000, .batch_size = 64, .seed = 1, .learning_rate = 3e-3};
  const Argument arguments[] = {
      {"steps", ARGUMENT_SIZE, &options.steps, "N", "steps of training"},
      {"batch-size", ARGUMENT_SIZE, &options.batch_size, "N",
       "sequences a step, at most 256"},
      {"lr", ARGUMENT_NUMBER, &options.learning_rate, "X", "learning rate"},
      {"seed", ARGUMENT_SIZE, &options.seed, "N", "of sequences and weights"},
      ARGUMENT_BACKEND(&options),
      ARGUMENT_JSON(&options),
  };
  static const char usage[] =
      "usage: seq2seq [options]   learn to copy digits with a transformer";
  const int parsed = arguments_parse(argc, argv, usage, arguments, 6, NULL, 0);
  if (parsed != ARGUMENTS_OK) return parsed == ARGUMENTS_HELP ? 0 : 2;
  if (options.batch_size < 1 || options.batch_size > MAX_BATCH) {
    fprintf(stderr, "seq2seq: --batch-size %zu is not within 1..%d\n",
            options.batch_size, (int)MAX_BATCH);
    return 2;
  }
  if (options.steps < 1) {
    fprintf(stderr, "seq2seq: --steps is at least 1\n");
    return 2;
  }
  return train(&options);
}
