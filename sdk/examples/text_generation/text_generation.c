/* text_generation.c - a small GPT learns to write like a text, byte by byte.
 *
 *   text_generation --data FILE          train, tell the loss on the last
 *                                        tenth of the text, write a sample
 *   text_generation sample --prompt TEXT go on after a text, by what was saved
 *
 * What it shows: the learner with a schedule of warm-up and cosine, metrics,
 * checkpoints, Ctrl-C and --resume; sampling with a temperature and top-k. */
#define _POSIX_C_SOURCE 200809L
#include "generator.h"

#include "../common/commands.h"
#include "../common/result.h"

#include <burn/file.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Options {
  const char *data, *artifact, *prompt, *backend;
  size_t epochs, batch_size, context, d_model, layers, heads, overlap, seed;
  size_t length, top_k;
  double learning_rate, temperature, dropout;
  bool resume, json;
} Options;

/* -- sampling -------------------------------------------------------------- */

/* The byte after those in `seen`: drawn among the top_k most likely ones (0:
 * all), whose scores are divided by the temperature; at 0 the most likely. */
static BurnStatus next_byte(const Generator *m, BurnDevice *device,
                            const int64_t *seen, int64_t count,
                            const Options *options, int64_t *byte) {
  BurnTensor *x = burn_tensor_i64(device, seen, BURN_SHAPE(1, count));
  x = burn_select_dim(generator_forward(m, x), 1, -1); /* [1, VOCABULARY] */
  const size_t k = options->top_k;
  const int64_t kept = k > 0 && k < VOCABULARY ? (int64_t)k : VOCABULARY;
  if (options->temperature <= 0)
    return burn_read_i64(burn_argmax(x, 1), byte, 1);
  BurnTensor *bytes = NULL;
  x = burn_topk_with_indices(x, kept, 1, &bytes);
  x = burn_softmax(burn_div_scalar(x, options->temperature), 1);
  BurnTensor *drawn = burn_categorical(x, 1); /* [1, 1]: a place among them */
  drawn = burn_cast(drawn, burn_dtype(bytes));
  return burn_read_i64(burn_gather(bytes, 1, drawn), byte, 1);
}

/* Writes the prompt and `length` more bytes. */
static BurnStatus write_sample(const Generator *m, size_t context,
                               BurnDevice *device, const Options *options) {
  const size_t begun = strlen(options->prompt);
  const size_t total = begun + options->length;
  int64_t *all = malloc(total * sizeof *all);
  if (!all) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory");
  for (size_t i = 0; i < begun; i++) all[i] = (uint8_t)options->prompt[i];
  BurnStatus status = BURN_OK;
  burn_device_seed(device, options->seed);
  if (!options->json) fputs(options->prompt, stdout);
  for (size_t n = begun; status == BURN_OK && n < total; n++) {
    const size_t seen = n < context ? n : context;
    status =
        next_byte(m, device, all + n - seen, (int64_t)seen, options, &all[n]);
    if (status == BURN_OK && !options->json) putchar((int)all[n]);
  }
  if (!options->json) putchar('\n');
  free(all);
  return status;
}

/* Builds the model of config.json in the artifact folder, with its weights. */
static BurnStatus load(const Options *options, BurnDevice *device,
                       TrainingConfig *config, Generator *m) {
  const ProgramPath settings = program_path(options->artifact, "config.json");
  const ProgramPath weights = program_path(options->artifact, "model");
  BurnStatus status =
      burn_config_load(burn_config(TrainingConfig, config), settings.text);
  if (status != BURN_OK) return status;
  *m = generator_init(&config->model, device);
  return burn_record_load(burn_module(Generator, m), weights.text, NULL);
}

static BurnStatus sample(const void *context) {
  const Options *options = context;
  BurnDevice *device = burn_device_open(options->backend);
  TrainingConfig config;
  memset(&config, 0, sizeof config);
  Generator m;
  memset(&m, 0, sizeof m);
  BurnStatus status = load(options, device, &config, &m);
  if (status == BURN_OK) {
    status = write_sample(&m, config.model.context, device, options);
  }
  if (status == BURN_OK) {
    printf("%s\"command\":\"sample\",\"backend\":%s,\"bytes\":%zu}\n",
           result_begin(options->json),
           json_text(burn_device_name(device)).text, options->length);
  }
  Generator_release(&m);
  burn_device_close(device);
  return status;
}

/* -- training -------------------------------------------------------------- */

typedef struct Run {
  TrainingConfig config;
  uint8_t *text;
  size_t bytes, train_bytes; /* the last tenth is for validation */
  Generator model;
  BurnLoader *train, *valid;
  BurnInterrupter interrupter;
  BurnLearnerResult result;
} Run;

static BurnStatus config_of(const Options *options, TrainingConfig *config) {
  GeneratorConfig model = GeneratorConfig_defaults(
      options->context, options->d_model, options->layers, options->heads);
  model.dropout = options->dropout;
  BurnAdamWConfig adamw = BurnAdamWConfig_defaults();
  adamw.beta_2 = 0.99;
  adamw.weight_decay = 0.1;
  adamw.clipping = (BurnGradientClipping)BURN_CLIP_GLOBAL_NORM(1);
  *config = TrainingConfig_defaults(model, adamw);
  config->epochs = options->epochs;
  config->batch_size = options->batch_size;
  config->overlap = options->overlap;
  config->seed = options->seed;
  config->learning_rate = options->learning_rate;
  if (strlen(options->data) >= sizeof config->data.text) {
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT,
                            "--data: the path is longer than %zu bytes",
                            sizeof config->data.text - 1);
  }
  snprintf(config->data.text, sizeof config->data.text, "%s", options->data);
  return BURN_OK;
}

static BurnLoader *loader_of(const Run *run, bool train, BurnStatus *status) {
  const TrainingConfig *config = &run->config;
  const size_t context = config->model.context;
  const size_t from = train ? 0 : run->train_bytes;
  const size_t bytes = train ? run->train_bytes : run->bytes - from;
  const BurnLoaderConfig loader = {
      .batch_size = config->batch_size, .shuffle = train, .seed = config->seed};
  BurnDataset *windows =
      windows_of(run->text + from, bytes, context,
                 train ? context / config->overlap : context, status);
  return burn_loader_create(windows, &loader, status);
}

/* Warm-up over a twentieth of the batches, then half a cosine. */
static BurnStatus fit(const Options *options, BurnDevice *device, Run *run) {
  const TrainingConfig *config = &run->config;
  const size_t all = config->epochs * burn_loader_batch_count(run->train);
  const size_t warm = all / 20;
  BurnCosineAnnealingConfig cosine =
      BurnCosineAnnealingConfig_defaults(config->learning_rate, all - warm);
  cosine.min_lr = config->learning_rate / 20;
  BurnWarmUpRate rate = {BurnWarmUpConfig_defaults(warm),
                         burn_schedule_cosine_annealing(&cosine)};
  const BurnTokenConfig tokens = BurnTokenConfig_defaults();
  const BurnLearnerConfig learner = {
      .artifact_dir = options->artifact,
      .epochs = config->epochs,
      .schedule = burn_schedule_warm_up(&rate),
      .metrics =
          BURN_METRICS(burn_metric_accuracy(), burn_metric_perplexity(&tokens),
                       burn_metric_learning_rate()),
      .resume = options->resume,
      .config = burn_config(TrainingConfig, &run->config),
      .interrupter = &run->interrupter,
      .quiet = options->json,
  };
  BurnOptimizer *optimizer = burn_adamw_create(&config->optimizer);
  const BurnTask task = {generator_step, NULL};
  const BurnModule module = burn_module(Generator, &run->model);
  BurnStatus status =
      burn_learner_fit(&learner, &task, device, module, optimizer, run->train,
                       run->valid, &run->result);
  const ProgramPath path = program_path(options->artifact, "model");
  if (status == BURN_OK) status = burn_record_save(module, path.text, NULL);
  burn_optimizer_destroy(optimizer);
  return status;
}

static void print_result(const Options *options, const BurnDevice *device,
                         const Run *run, double seconds) {
  const BurnEpochResult *last = &run->result.last;
  const double train = burn_epoch_metric(last, "Loss", BURN_SPLIT_TRAIN);
  const double valid = burn_epoch_metric(last, "Loss", BURN_SPLIT_VALID);
  printf(
      "%s\"command\":\"train\",\"backend\":%s,\"seed\":%zu,\"epochs\":%zu,"
      "\"steps\":%llu,\"seconds\":%.1f,\"processor_seconds\":%.1f,"
      "\"train_nats\":%s,\"valid_nats\":%s,\"artifact\":%s}\n",
      result_begin(options->json), json_text(burn_device_name(device)).text,
      options->seed, run->result.epochs_done,
      (unsigned long long)run->result.steps, seconds,
      program_processor_seconds(), json_number(train).text,
      json_number(valid).text, json_text(options->artifact).text);
}

static BurnStatus train_on(const Options *options, BurnDevice *device,
                           Run *run) {
  const double begin = program_seconds();
  BurnStatus status = config_of(options, &run->config);
  if (status == BURN_OK) {
    status = burn_status_annotate(
        burn_file_read(options->data, 1 << 28, &run->text, &run->bytes), "%s",
        options->data);
  }
  run->train_bytes = run->bytes - run->bytes / 10;
  run->train = loader_of(run, true, &status);
  run->valid = loader_of(run, false, &status);
  if (status == BURN_OK) {
    status = burn_interrupter_on_signals(&run->interrupter);
  }
  if (status != BURN_OK) return status;
  burn_device_seed(device, options->seed);
  run->model = generator_init(&run->config.model, device);
  status = burn_module_status(burn_module(Generator, &run->model));
  if (status == BURN_OK) status = fit(options, device, run);
  if (status != BURN_OK) return status;
  Generator valid = Generator_valid(&run->model);
  status = write_sample(&valid, run->config.model.context,
                        burn_device_inner(device), options);
  Generator_release(&valid);
  if (status == BURN_OK) {
    print_result(options, device, run, program_seconds() - begin);
  }
  return status;
}

static BurnStatus train(const void *context) {
  const Options *options = context;
  BurnDevice *device = burn_device_open_training(options->backend);
  Run run;
  memset(&run, 0, sizeof run);
  BurnStatus status = burn_device_status(device);
  if (status == BURN_OK) status = train_on(options, device, &run);
  if (run.result.interrupted) {
    fprintf(stderr, "go on with the same options and --resume\n");
  }
  burn_loader_destroy(run.train);
  burn_loader_destroy(run.valid);
  Generator_release(&run.model);
  free(run.text);
  burn_device_close(device);
  return status;
}

/* -- program --------------------------------------------------------------- */

static const char *problem_of(const void *context, const char *command) {
  const Options *o = context;
  const bool train = strcmp(command, "train") == 0;
  if (!o->prompt[0]) return "--prompt needs a character";
  if (!o->artifact[0]) return "--artifact needs a folder";
  if (train && !o->data) return "give the text with --data FILE";
  if (o->epochs < 1 || o->batch_size < 1 || o->context < 1 || o->layers < 1 ||
      o->heads < 1 || o->d_model < 1) {
    return "--epochs, --batch-size, --context, --d-model, --layers and "
           "--heads are at least 1";
  }
  if (o->overlap < 1 || o->overlap > o->context) {
    return "--overlap is not within 1 and --context";
  }
  return NULL;
}

int main(int argc, char **argv) {
  Options options = {.artifact = "artifacts/text_generation",
                     .prompt = "\n",
                     .epochs = 2,
                     .batch_size = 32,
                     .context = 64,
                     .overlap = 4,
                     .d_model = 128,
                     .layers = 4,
                     .heads = 4,
                     .seed = 1,
                     .length = 500,
                     .top_k = 20,
                     .learning_rate = 1.5e-3,
                     .temperature = 0.8};
  const Argument arguments[] = {
      {"data", ARGUMENT_TEXT, &options.data, "FILE", "the text to learn from"},
      {"epochs", ARGUMENT_SIZE, &options.epochs, "N", "passes over the text"},
      {"batch-size", ARGUMENT_SIZE, &options.batch_size, "N", "windows a step"},
      {"context", ARGUMENT_SIZE, &options.context, "N", "bytes of a window"},
      {"overlap", ARGUMENT_SIZE, &options.overlap, "N",
       "windows that each byte is in, at different places"},
      {"d-model", ARGUMENT_SIZE, &options.d_model, "N", "size of a token"},
      {"layers", ARGUMENT_SIZE, &options.layers, "N", "blocks"},
      {"heads", ARGUMENT_SIZE, &options.heads, "N", "heads of attention"},
      {"dropout", ARGUMENT_NUMBER, &options.dropout, "X", "share dropped"},
      {"lr", ARGUMENT_NUMBER, &options.learning_rate, "X",
       "highest learning rate"},
      {"seed", ARGUMENT_SIZE, &options.seed, "N",
       "of weights, order and sample"},
      ARGUMENT_ARTIFACT(&options),
      {"resume", ARGUMENT_FLAG, &options.resume, NULL,
       "after the last checkpoint"},
      {"prompt", ARGUMENT_TEXT, &options.prompt, "TEXT",
       "what a sample begins with"},
      {"length", ARGUMENT_SIZE, &options.length, "N", "bytes of a sample"},
      {"temperature", ARGUMENT_NUMBER, &options.temperature, "X",
       "below 1 likely bytes are drawn more often; 0: always the likeliest"},
      {"top-k", ARGUMENT_SIZE, &options.top_k, "N",
       "draw among so many likeliest bytes; 0: among all"},
      ARGUMENT_BACKEND(&options),
      ARGUMENT_JSON(&options),
  };
  const ProgramCommand commands[] = {{"train", train}, {"sample", sample}};
  const Program program = {
      .name = "text_generation",
      .usage =
          "usage: text_generation [train] --data FILE [options]\n"
          "       text_generation sample [options]",
      .arguments = PROGRAM_LIST(arguments),
      .commands = PROGRAM_LIST(commands),
      .problem_of = problem_of};
  return program_main(&program, argc, argv, &options);
}
