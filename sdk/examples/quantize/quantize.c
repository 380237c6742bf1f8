/* quantize.c - what 8 bits cost: accuracy and bytes of a model in floats, with
 * quantized weights, and with quantized inputs of its layers, too.
 *
 *   quantize digits --artifact FOLDER  the CNN that the program mnist trained
 *   quantize text --text FILE          the next character by a small GPT, which
 *                                      it trains first */
#include "../mnist/model.h"

#include "../common/arguments.h"
#include "../common/program.h"
#include "../common/result.h"

#include <burn/file.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Options {
  const char *artifact, *data, *text, *save, *backend;
  size_t steps, seed, calibration;
  bool json;
} Options;

/* A trained model with its data, in batches. */
typedef struct Task {
  const char *name;
  BurnModule model; /* on a device without autodiff */
  BurnDevice *device;
  size_t test_batches, training_batches;
  /* Counts the right answers of `model` in a batch of test or training data. */
  BurnStatus (*batch)(const struct Task *task, const void *model, bool test,
                      size_t index, size_t *right, size_t *count);
  BurnDataset *test_data, *training_data; /* of digits */
  uint8_t *text;                          /* of text */
  size_t text_count;
} Task;

/* -- digits ---------------------------------------------------------------- */

enum { DIGITS = 200, PIXELS = 28 * 28 };

static BurnStatus digits_batch(const Task *task, const void *model, bool test,
                               size_t index, size_t *right, size_t *count) {
  static float pixels[DIGITS * PIXELS];
  int64_t labels[DIGITS], found[DIGITS];
  BurnDataset *data = test ? task->test_data : task->training_data;
  BurnStatus status = BURN_OK;
  for (size_t i = 0; status == BURN_OK && i < DIGITS; i++) {
    void *const item[] = {pixels + i * PIXELS, labels + i};
    status = burn_dataset_get(data, index * DIGITS + i, item);
  }
  if (status != BURN_OK) return status;
  const BurnShape shape = BURN_SHAPE(DIGITS, 1, 28, 28);
  BurnTensor *images = burn_tensor_f32(task->device, pixels, shape);
  BurnTensor *logits = model_forward(model, images);
  status = burn_read_i64(burn_argmax(logits, 1), found, DIGITS);
  for (size_t i = 0; i < DIGITS; i++) *right += found[i] == labels[i];
  *count += DIGITS;
  return status;
}

static BurnStatus digits_load(const Options *options, Task *task, Model *model,
                              TrainingConfig *config) {
  char path[1024];
  snprintf(path, sizeof path, "%s/config.json", options->artifact);
  BurnStatus status =
      burn_config_load(burn_config(TrainingConfig, config), path);
  if (status != BURN_OK) return status;
  if (options->data) {
    snprintf(config->data.text, sizeof config->data.text, "%s", options->data);
  }
  *model = model_init(&config->model, task->device);
  snprintf(path, sizeof path, "%s/model", options->artifact);
  status = burn_record_load(burn_module(Model, model), path, NULL);
  if (status != BURN_OK) return status;
  task->test_data = mnist_data(config, BURN_MNIST_TEST, &status);
  if (!task->test_data) return status;
  task->training_data = mnist_data(config, BURN_MNIST_TRAIN, &status);
  if (!task->training_data) return status;
  task->test_batches = burn_dataset_count(task->test_data) / DIGITS;
  task->training_batches = burn_dataset_count(task->training_data) / DIGITS;
  return BURN_OK;
}

/* -- text ------------------------------------------------------------------ */

enum { CHARACTERS = 128, BATCH = 16, STEPS = 64, WIDTH = 96 };

#define GPT_FIELDS(X)                                    \
  X(BurnEmbedding, tokens, "characters -> d_model")      \
  X(BurnEmbedding, positions, "steps -> d_model")        \
  X(BurnTransformerEncoder, blocks, "see earlier steps") \
  X(BurnLayerNorm, norm, "after the last block")         \
  X(BurnLinear, head, "d_model -> logits of a character")
BURN_MODULE(Gpt, GPT_FIELDS);

static Gpt gpt_init(BurnDevice *device) {
  BurnTransformerEncoderConfig blocks =
      BurnTransformerEncoderConfig_defaults(WIDTH, 4 * WIDTH, 4, 2);
  blocks.norm_first = true;
  blocks.dropout = 0;
  return (Gpt){.tokens = burn_embedding_new(CHARACTERS, WIDTH, device),
               .positions = burn_embedding_new(STEPS, WIDTH, device),
               .blocks = burn_transformer_encoder_init(&blocks, device),
               .norm = burn_layer_norm_new(WIDTH, device),
               .head = burn_linear_new(WIDTH, CHARACTERS, device)};
}

/* takes tokens [batch, STEPS] -> logits [batch * STEPS, CHARACTERS] */
static BurnTensor *gpt_forward(const Gpt *m, BurnTensor *tokens) {
  BurnTensor *at = burn_arange(burn_tensor_device(tokens), 0, STEPS, 1);
  at = burn_embedding_forward(&m->positions, burn_unsqueeze(at, 2));
  BurnTensor *x = burn_add(burn_embedding_forward(&m->tokens, tokens), at);
  const BurnTransformerEncoderInput input = {.tensor = x, .is_causal = true};
  x = burn_transformer_encoder_forward(&m->blocks, input);
  x = burn_linear_forward(&m->head, burn_layer_norm_forward(&m->norm, x));
  return burn_flatten(x, 0, 1);
}

/* The characters of a window, and those that follow each. */
static void window(const uint8_t *text, int64_t *seen, int64_t *next) {
  for (size_t k = 0; k < STEPS; k++) {
    seen[k] = text[k] % CHARACTERS;
    next[k] = text[k + 1] % CHARACTERS;
  }
}

/* Windows one after the other: the last tenth of the text is for tests. */
static BurnStatus text_batch(const Task *task, const void *model, bool test,
                             size_t index, size_t *right, size_t *count) {
  int64_t seen[BATCH * STEPS], next[BATCH * STEPS], found[BATCH * STEPS];
  const size_t begin = test ? task->text_count / 10 * 9 : 0;
  for (size_t i = 0; i < BATCH; i++) {
    const uint8_t *at = task->text + begin + (index * BATCH + i) * STEPS;
    window(at, seen + i * STEPS, next + i * STEPS);
  }
  const BurnShape shape = BURN_SHAPE(BATCH, STEPS);
  BurnTensor *tokens = burn_tensor_i64(task->device, seen, shape);
  const BurnStatus status = burn_read_i64(
      burn_argmax(gpt_forward(model, tokens), 1), found, BATCH * STEPS);
  for (size_t i = 0; i < BATCH * STEPS; i++) *right += found[i] == next[i];
  *count += BATCH * STEPS;
  return status;
}

/* The mean loss of windows from the first nine tenths. */
static BurnTensor *gpt_loss(const Gpt *m, const Task *task,
                            BurnDevice *device) {
  int64_t seen[BATCH * STEPS], next[BATCH * STEPS];
  const size_t room = task->text_count / 10 * 9 - STEPS;
  for (size_t i = 0; i < BATCH; i++) {
    const size_t at = (size_t)rand() % room;
    window(task->text + at, seen + i * STEPS, next + i * STEPS);
  }
  BurnTensor *tokens = burn_tensor_i64(device, seen, BURN_SHAPE(BATCH, STEPS));
  BurnTensor *wanted = burn_tensor_i64(device, next, BURN_SHAPE(BATCH * STEPS));
  return burn_cross_entropy(gpt_forward(m, tokens), wanted);
}

static BurnStatus gpt_train(const Options *options, const Task *task,
                            BurnDevice *device, Gpt *m) {
  BurnCosineAnnealingConfig cosine =
      BurnCosineAnnealingConfig_defaults(2e-3, options->steps);
  const BurnSchedule rate = burn_schedule_cosine_annealing(&cosine);
  BurnAdamWConfig config = BurnAdamWConfig_defaults();
  config.clipping = (BurnGradientClipping)BURN_CLIP_GLOBAL_NORM(1);
  BurnOptimizer *optimizer = burn_adamw_create(&config);
  BurnStatus status = burn_module_status(burn_module(Gpt, m));
  for (size_t i = 0; status == BURN_OK && i < options->steps; i++) {
    status = burn_train_step(optimizer, burn_module(Gpt, m),
                             gpt_loss(m, task, device),
                             burn_schedule_rate(&rate, i));
  }
  burn_optimizer_destroy(optimizer);
  return status;
}

static BurnStatus text_load(const Options *options, Task *task,
                            BurnDevice *training, Gpt *model) {
  BurnStatus status =
      burn_file_read(options->text, 1 << 26, &task->text, &task->text_count);
  const size_t batch = (size_t)BATCH * STEPS;
  if (status != BURN_OK) {
    return burn_status_annotate(status, "%s", options->text);
  }
  const size_t tenth = task->text_count / 10;
  task->test_batches = tenth > 0 ? (tenth - 1) / batch : 0;
  task->training_batches = task->text_count / 10 * 9 / batch;
  if (task->test_batches > 64) task->test_batches = 64;
  if (task->test_batches == 0) {
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT,
                            "%s: %zu bytes, %zu or more expected",
                            options->text, task->text_count, 10 * (batch + 1));
  }
  srand((unsigned)options->seed);
  Gpt m = gpt_init(training);
  status = gpt_train(options, task, training, &m);
  *model = Gpt_valid(&m);
  Gpt_release(&m);
  return status;
}

/* -- what it costs --------------------------------------------------------- */

enum { FLOATS, WEIGHTS, CALIBRATED, BY_BATCH, VARIANTS };
static const char *const variants[VARIANTS] = {"floats", "weights",
                                               "calibrated", "by_batch"};

typedef struct Outcome {
  double accuracy[VARIANTS]; /* shares of right answers */
  size_t bytes[VARIANTS];    /* of the records */
} Outcome;

static BurnStatus run(const Task *task, const void *model, bool test,
                      size_t batches, double *accuracy) {
  size_t right = 0, count = 0;
  BurnStatus status = BURN_OK;
  for (size_t i = 0; status == BURN_OK && i < batches; i++) {
    status = task->batch(task, model, test, i, &right, &count);
  }
  *accuracy = count ? (double)right / (double)count : 0;
  return status;
}

static BurnStatus calibrate(const Options *options, const Task *task,
                            BurnModule model, const BurnQuantizer *quantizer) {
  BurnCalibration *calibration = NULL;
  double unused = 0;
  BurnStatus status = burn_calibration_begin(model, quantizer, &calibration);
  if (status != BURN_OK) return status;
  status = run(task, model.data, false, options->calibration, &unused);
  if (status == BURN_OK) return burn_calibration_end(calibration);
  burn_calibration_cancel(calibration);
  return status;
}

/* Weights of Linear, convolutions and Embedding; biases and norms stay. */
static BurnStatus quantize(const Options *options, const Task *task,
                           BurnModule model, int variant) {
  static const char *const parts[] = {"weight", NULL};
  const BurnParamGroup weights = {.any_parts = parts};
  BurnQuantizer quantizer = {BURN_QUANT_MIN_MAX, BURN_QUANT_SCHEME, &weights};
  quantizer.scheme.value = BURN_QUANT_Q8S;
  if (variant == FLOATS) return BURN_OK;
  if (variant == CALIBRATED) return calibrate(options, task, model, &quantizer);
  const BurnStatus status = burn_module_quantize_weights(model, &quantizer);
  if (status != BURN_OK || variant == WEIGHTS) return status;
  return burn_module_quantize_inputs(model, &weights);
}

static BurnStatus measure_copy(const Options *options, const Task *task,
                               BurnModule copy, int variant, Outcome *outcome) {
  uint8_t *bytes = NULL;
  BurnStatus status = quantize(options, task, copy, variant);
  if (status == BURN_OK) {
    status = run(task, copy.data, true, task->test_batches,
                 &outcome->accuracy[variant]);
  }
  if (status == BURN_OK) {
    status = burn_record_to_bytes(copy, NULL, &bytes, &outcome->bytes[variant]);
  }
  free(bytes);
  if (status != BURN_OK || variant != CALIBRATED || !options->save) {
    return status;
  }
  return burn_record_save(copy, options->save, NULL);
}

static BurnStatus measure(const Options *options, const Task *task, int variant,
                          Outcome *outcome) {
  BurnModule copy = {task->model.type, malloc(task->model.type->bytes)};
  if (!copy.data) {
    return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for a copy");
  }
  burn_module_clone(task->model, copy.data);
  const BurnStatus status = measure_copy(options, task, copy, variant, outcome);
  burn_module_release(copy);
  free(copy.data);
  if (status == BURN_OK && !options->json) {
    printf("%-10s  accuracy %6.2f %%  lost %5.2f  record %8zu bytes\n",
           variants[variant], 100 * outcome->accuracy[variant],
           100 * (outcome->accuracy[FLOATS] - outcome->accuracy[variant]),
           outcome->bytes[variant]);
  }
  return status;
}

static BurnStatus compare(const Options *options, const Task *task) {
  Outcome outcome;
  BurnStatus status = BURN_OK;
  for (int i = 0; status == BURN_OK && i < VARIANTS; i++) {
    status = measure(options, task, i, &outcome);
  }
  if (status != BURN_OK) return status;
  printf("%s\"task\":\"%s\",\"backend\":%s", result_begin(options->json),
         task->name, json_text(burn_device_name(task->device)).text);
  for (int i = 0; i < VARIANTS; i++) {
    printf(",\"%s\":%s,\"%s_bytes\":%zu", variants[i],
           json_number(outcome.accuracy[i]).text, variants[i],
           outcome.bytes[i]);
  }
  printf("}\n");
  return BURN_OK;
}

/* -- the program ----------------------------------------------------------- */

static BurnStatus digits(const Options *options, BurnDevice *training) {
  Model model;
  TrainingConfig config;
  memset(&model, 0, sizeof model);
  memset(&config, 0, sizeof config);
  Task task = {.name = "digits",
               .model = burn_module(Model, &model),
               .device = burn_device_inner(training),
               .batch = digits_batch};
  BurnStatus status = digits_load(options, &task, &model, &config);
  if (status == BURN_OK) status = compare(options, &task);
  burn_dataset_drop(task.test_data);
  burn_dataset_drop(task.training_data);
  Model_release(&model);
  return status;
}

static BurnStatus text(const Options *options, BurnDevice *training) {
  Gpt model;
  memset(&model, 0, sizeof model);
  Task task = {.name = "text",
               .model = burn_module(Gpt, &model),
               .device = burn_device_inner(training),
               .batch = text_batch};
  BurnStatus status = text_load(options, &task, training, &model);
  if (status == BURN_OK) status = compare(options, &task);
  free(task.text);
  Gpt_release(&model);
  return status;
}

int main(int argc, char **argv) {
  program_begin();
  Options options = {
      .artifact = "artifacts/mnist", .steps = 400, .seed = 1, .calibration = 4};
  const char *task = NULL;
  const Argument arguments[] = {
      {"artifact", ARGUMENT_TEXT, &options.artifact, "FOLDER",
       "digits: what mnist wrote"},
      {"data", ARGUMENT_TEXT, &options.data, "FOLDER",
       "digits: MNIST files; default: those of the training"},
      {"text", ARGUMENT_TEXT, &options.text, "FILE", "text: what is learned"},
      {"steps", ARGUMENT_SIZE, &options.steps, "N", "text: steps of training"},
      {"seed", ARGUMENT_SIZE, &options.seed, "N", "text: of weights and steps"},
      {"calibration", ARGUMENT_SIZE, &options.calibration, "N",
       "batches of training data that show the ranges of inputs"},
      {"save", ARGUMENT_TEXT, &options.save, "PATH",
       "save the calibrated model there"},
      ARGUMENT_BACKEND(&options),
      {"json", ARGUMENT_FLAG, &options.json, NULL, "no table, one JSON object"},
  };
  static const char usage[] =
      "usage: quantize digits|text [options]   accuracy and bytes with 8 bits";
  const int parsed = arguments_parse(argc, argv, usage, arguments, 9, &task, 1);
  if (parsed != ARGUMENTS_OK) return parsed == ARGUMENTS_HELP ? 0 : 2;
  const bool is_text = task && strcmp(task, "text") == 0;
  if (!task || (!is_text && strcmp(task, "digits") != 0) ||
      (is_text && !options.text)) {
    fprintf(stderr, "quantize: %s; --help tells more\n",
            is_text ? "--text FILE is missing" : "digits or text expected");
    return 2;
  }
  BurnDevice *training = burn_device_open_training(options.backend);
  burn_device_seed(training, options.seed);
  BurnStatus status = burn_device_status(training);
  if (status == BURN_OK) {
    status = is_text ? text(&options, training) : digits(&options, training);
  }
  if (status != BURN_OK) {
    fprintf(stderr, "quantize: %s\n", burn_status_message(status));
  }
  burn_device_close(training);
  return status != BURN_OK;
}
