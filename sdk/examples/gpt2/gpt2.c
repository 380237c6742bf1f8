/* gpt2.c - train GPT-2 on a text or a file of tokens, or measure how fast that
 * goes. The model is in gpt2_model.c.
 *
 *   gpt2 --data TEXT          a text, byte by byte
 *   gpt2 --data TOKENS.bin    16-bit numbers, as nanoGPT's prepare.py writes
 *   gpt2 --synthetic          random tokens, to measure
 *
 * With a GPU: gpt2 --synthetic --stack 'autocast<autodiff<fusion<cuda>>>' */
#define _POSIX_C_SOURCE 200809L
#include "gpt2_model.h"

#include "../common/arguments.h"
#include "../common/program.h"
#include "../common/result.h"

#include <burn/file.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WARM_UP = 3, GROUP = 5, WARM_UP_RATE = 100, MAX_GROUPS = 4096 };

typedef struct Options {
  const char *data, *stack;
  size_t batch, steps, seed;
  double learning_rate;
  bool synthetic, json;
  Gpt2Config model;
} Options;

/* What is trained on; a random one is the same in every step. */
typedef struct Source {
  uint8_t *bytes;
  size_t count; /* of tokens */
  size_t token_bytes;
  BurnTensor *seen, *next; /* of a random one */
} Source;

/* -- data ----------------------------------------------------------------- */

static int64_t token_at(const Source *source, size_t i) {
  const uint8_t *at = source->bytes + i * source->token_bytes;
  return source->token_bytes == 1 ? at[0] : at[0] | at[1] << 8;
}

/* tokens [batch, length] and those that follow, [batch * length] */
static void draw(const Source *source, const Options *options,
                 BurnDevice *device, BurnTensor **seen, BurnTensor **next) {
  const size_t length = options->model.length, count = options->batch * length;
  int64_t *tokens = calloc(2 * count, sizeof *tokens);
  if (!tokens) {
    *seen = burn_tensor_failed(burn_status_make(
        BURN_STATUS_OUT_OF_MEMORY, "no memory for %zu tokens", 2 * count));
    *next = burn_clone(*seen);
    return;
  }
  for (size_t i = 0; i < options->batch; i++) {
    const size_t room = source->bytes ? source->count - length : 1;
    const size_t first = (size_t)rand() % room;
    for (size_t k = 0; k <= length; k++) {
      const int64_t token = source->bytes
                                ? token_at(source, first + k)
                                : rand() % (int64_t)options->model.vocabulary;
      if (k < length) tokens[i * length + k] = token;
      if (k > 0) tokens[count + i * length + k - 1] = token;
    }
  }
  const BurnShape shape = BURN_SHAPE((int64_t)options->batch, (int64_t)length);
  *seen = burn_tensor_i64(device, tokens, shape);
  *next = burn_tensor_i64(device, tokens + count, BURN_SHAPE((int64_t)count));
  free(tokens);
}

static BurnStatus source_open(Source *source, const Options *options,
                              BurnDevice *device) {
  size_t bytes = 0;
  *source = (Source){.token_bytes = 1};
  if (options->synthetic) {
    draw(source, options, device, &source->seen, &source->next);
    return burn_tensor_status(source->seen);
  }
  BurnStatus status =
      burn_file_read(options->data, (size_t)1 << 34, &source->bytes, &bytes);
  const char *end = strrchr(options->data, '.');
  if (end && strcmp(end, ".bin") == 0) source->token_bytes = 2;
  source->count = bytes / source->token_bytes;
  if (status != BURN_OK)
    return burn_status_annotate(status, "%s", options->data);
  if (source->count > options->model.length) return BURN_OK;
  return burn_status_make(BURN_STATUS_INVALID_ARGUMENT,
                          "%s has %zu tokens, more than --length %zu expected",
                          options->data, source->count, options->model.length);
}

static void source_close(Source *source) {
  burn_drop(source->seen);
  burn_drop(source->next);
  free(source->bytes);
}

/* The mean loss of a batch. */
static BurnTensor *loss_of(const Gpt2 *m, const Source *source,
                           const Options *options, BurnDevice *device) {
  BurnTensor *seen, *next;
  if (source->seen) {
    seen = burn_clone(source->seen);
    next = burn_clone(source->next);
  } else {
    draw(source, options, device, &seen, &next);
  }
  return burn_cross_entropy(gpt2_forward(m, seen), next);
}

/* -- training ------------------------------------------------------------- */

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int by_size(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Tokens per second of the groups of steps so far: the median. */
typedef struct Speed {
  double groups[MAX_GROUPS], begun;
  size_t count;
} Speed;

static double speed_median(Speed *speed) {
  if (speed->count == 0) return 0;
  qsort(speed->groups, speed->count, sizeof *speed->groups, by_size);
  return speed->groups[speed->count / 2];
}

/* The end of a group: reading its last loss waits for the device. */
static BurnStatus report(const Options *options, Speed *speed, size_t step,
                         size_t steps, BurnTensor *loss, double *value) {
  const BurnStatus status = burn_read_scalar(loss, value);
  const double now = seconds(), taken = now - speed->begun;
  const double tokens =
      (double)(steps * options->batch * options->model.length);
  const bool measured = step > WARM_UP && speed->count < MAX_GROUPS;
  if (measured) speed->groups[speed->count++] = tokens / taken;
  speed->begun = now;
  if (!options->json)
    printf("step %zu  loss %.4f  %.0f tokens/s\n", step, *value,
           tokens / taken);
  return status;
}

static BurnStatus train(const Options *options, Gpt2 *m, BurnDevice *device,
                        Speed *speed, double *loss) {
  Source source;
  BurnStatus status = BURN_OK;
  BurnOptimizer *optimizer = gpt2_optimizer(&status);
  BurnCosineAnnealingConfig cosine = BurnCosineAnnealingConfig_defaults(
      options->learning_rate, options->steps);
  cosine.min_lr = options->learning_rate / 10;
  BurnSchedule after = burn_schedule_cosine_annealing(&cosine);
  const BurnStatus opened = source_open(&source, options, device);
  if (status == BURN_OK) status = opened;
  if (status == BURN_OK) status = burn_module_status(burn_module(Gpt2, m));
  speed->begun = seconds();
  for (size_t i = 0, first = 0; status == BURN_OK && i < options->steps; i++) {
    const double warm = (double)(i + 1) / (double)WARM_UP_RATE;
    const double rate = burn_schedule_rate(&after, i) * (warm < 1 ? warm : 1);
    BurnTensor *now = loss_of(m, &source, options, device);
    BurnTensor *kept = burn_inner(burn_clone(now));
    status = burn_train_step(optimizer, burn_module(Gpt2, m), now, rate);
    const bool last = i + 1 == options->steps;
    if (status == BURN_OK &&
        (i + 1 == WARM_UP || i + 1 - first == GROUP || last)) {
      status = report(options, speed, i + 1, i + 1 - first, kept, loss);
      first = i + 1;
    } else {
      burn_drop(kept);
    }
  }
  source_close(&source);
  burn_optimizer_destroy(optimizer);
  return status;
}

static BurnStatus run(const Options *options, BurnDevice *device) {
  static Speed speed;
  double loss = 0;
  BurnStatus status = burn_device_status(device);
  if (status != BURN_OK) return status;
  burn_device_seed(device, options->seed);
  Gpt2 m = gpt2_init(&options->model, device);
  const int64_t parameters = burn_module_num_params(burn_module(Gpt2, &m));
  status = train(options, &m, device, &speed, &loss);
  const BurnMemoryStats memory = burn_device_memory(device);
  Gpt2_release(&m);
  if (status != BURN_OK) return status;
  printf(
      "%s\"backend\":%s,\"parameters\":%lld,\"batch\":%zu,\"length\":%zu,"
      "\"steps\":%zu,\"loss\":%s,\"tokens_per_second\":%.1f,"
      "\"peak_bytes\":%lld}\n",
      result_begin(options->json), json_text(burn_device_name(device)).text,
      (long long)parameters, options->batch, options->model.length,
      options->steps, json_number(loss).text, speed_median(&speed),
      (long long)memory.bytes_peak);
  return BURN_OK;
}

/* What is wrong with the options, or NULL. */
static const char *mistake(const Options *options) {
  const Gpt2Config *model = &options->model;
  if (!options->data == !options->synthetic)
    return "give --data FILE or --synthetic, one of them";
  if (options->steps == 0 || options->batch == 0)
    return "--steps and --batch are at least 1";
  if (model->length == 0 || model->width == 0 || model->vocabulary == 0)
    return "--length, --width and --vocabulary are at least 1";
  if (options->batch > INT32_MAX / model->length)
    return "--batch times --length is at most 2147483647";
  if (model->heads == 0 || model->width % model->heads != 0)
    return "--heads divide --width";
  return NULL;
}

int main(int argc, char **argv) {
  program_begin();
  Options o = {.batch = 8,
               .steps = 100,
               .seed = 1,
               .learning_rate = 6e-4,
               .model = Gpt2Config_defaults()};
  const Argument arguments[] = {
      {"data", ARGUMENT_TEXT, &o.data, "FILE", "a text, or tokens in a .bin"},
      {"synthetic", ARGUMENT_FLAG, &o.synthetic, NULL, "random tokens"},
      {"batch", ARGUMENT_SIZE, &o.batch, "N", "sequences a step"},
      {"length", ARGUMENT_SIZE, &o.model.length, "N", "tokens of a sequence"},
      {"layers", ARGUMENT_SIZE, &o.model.layers, "N", "blocks"},
      {"width", ARGUMENT_SIZE, &o.model.width, "N", "size of a token"},
      {"heads", ARGUMENT_SIZE, &o.model.heads, "N", "heads of attention"},
      {"vocabulary", ARGUMENT_SIZE, &o.model.vocabulary, "N",
       "different tokens"},
      {"exact-gelu", ARGUMENT_FLAG, &o.model.exact_gelu, NULL,
       "GELU by erf instead of tanh"},
      {"steps", ARGUMENT_SIZE, &o.steps, "N", "steps of training"},
      {"lr", ARGUMENT_NUMBER, &o.learning_rate, "X", "highest learning rate"},
      {"seed", ARGUMENT_SIZE, &o.seed, "N", "of weights and tokens"},
      {"stack", ARGUMENT_TEXT, &o.stack, "STACK",
       "such as ndarray; default: BURN_BACKEND or the best"},
      {"json", ARGUMENT_FLAG, &o.json, NULL, "every line a JSON object"},
  };
  const int parsed = arguments_parse(
      argc, argv, "usage: gpt2 --data FILE | --synthetic [options]", arguments,
      sizeof arguments / sizeof arguments[0], NULL, 0);
  if (parsed != ARGUMENTS_OK) return parsed == ARGUMENTS_HELP ? 0 : 2;
  const char *wrong = mistake(&o);
  if (wrong) fprintf(stderr, "gpt2: %s\n", wrong);
  if (wrong) return 2;
  srand((unsigned)o.seed);
  BurnDevice *device = burn_device_open_training(o.stack);
  const BurnStatus status = run(&o, device);
  if (status != BURN_OK)
    fprintf(stderr, "gpt2: %s\n", burn_status_message(status));
  burn_device_close(device);
  return status != BURN_OK;
}
