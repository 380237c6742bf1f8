/* main.c - my_app: a model, its training and its use. README.md says what to
 * change first. */
#include <burn/burn.h>
#include <burn/nn.h>
#include <burn/streams.h>
#include <burn/train.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 28, CLASSES = 10 };

/* -- config ---------------------------------------------------------------- */

/* Rows are type, name, default and text; config.json has them by name. */
#define MY_APP_CONFIG(REQ, OPT)                           \
  OPT(BurnSize, hidden, 128, "width of the hidden layer") \
  OPT(BurnF64, dropout, 0.2, "share dropped in training") \
  OPT(BurnSize, epochs, 3, "passes over the data")        \
  OPT(BurnSize, batch_size, 64, "items a step")           \
  OPT(BurnF64, learning_rate, 1e-3, "of Adam")            \
  OPT(BurnSize, seed, 1, "of weights, order and data")    \
  OPT(BurnSize, items, 6000, "to learn from")
BURN_CONFIG_OPTIONAL(MyAppConfig, MY_APP_CONFIG);

/* -- model ----------------------------------------------------------------- */

#define MY_APP_MODEL(X)                  \
  X(BurnLinear, fc1, "pixels -> hidden") \
  X(BurnDropout, dropout, "after it")    \
  X(BurnLinear, fc2, "hidden -> classes")
BURN_MODULE(MyAppModel, MY_APP_MODEL);

static MyAppModel MyAppModel_init(const MyAppConfig *config,
                                  BurnDevice *device) {
  return (MyAppModel){
      .fc1 = burn_linear_new(SIDE * SIDE, config->hidden, device),
      .dropout = burn_dropout_new(config->dropout, device),
      .fc2 = burn_linear_new(config->hidden, CLASSES, device)};
}

/* takes images [batch, 1, SIDE, SIDE] -> scores [batch, CLASSES] */
static BurnTensor *MyAppModel_forward(const MyAppModel *m, BurnTensor *images) {
  BurnTensor *x = burn_flatten(burn_float(images), 1, 3);
  x = burn_relu(burn_linear_forward(&m->fc1, x));
  return burn_linear_forward(&m->fc2, burn_dropout_forward(&m->dropout, x));
}

/* -- data ------------------------------------------------------------------ */

/* "image" f32 [1, SIDE, SIDE] and "label" i64. Other seeds are other digits. */
static BurnDataset *digits(size_t count, size_t seed, BurnStatus *status) {
  const BurnDigitsConfig config = {count, seed};
  return burn_dataset_mnist_normalize(burn_dataset_digits(&config, status),
                                      status);
}

static BurnLoader *loader(const MyAppConfig *config, bool training,
                          BurnStatus *status) {
  const BurnLoaderConfig how = {.batch_size = config->batch_size,
                                .shuffle = training,
                                .seed = config->seed,
                                .workers = 1};
  const size_t count = training ? config->items : config->items / 5 + 1;
  const size_t seed = 2 * config->seed + (training ? 0 : 1);
  return burn_loader_create(digits(count, seed, status), &how, status);
}

/* -- step ------------------------------------------------------------------ */

/* For training and validation: what comes of a batch. */
static BurnStepOutput step(void *context, const void *model, BurnBatch *batch) {
  (void)context;
  BurnTensor *targets = burn_batch_take(batch, "label");
  BurnTensor *output =
      MyAppModel_forward(model, burn_batch_take(batch, "image"));
  BurnTensor *loss =
      burn_cross_entropy(burn_clone(output), burn_clone(targets));
  return burn_classification_output(loss, output, targets);
}

/* -- train ----------------------------------------------------------------- */

typedef struct Options {
  const char *artifact;
  MyAppConfig config;
  bool resume;
} Options;

static const char *path_in(const char *artifact, const char *name,
                           char path[1024]) {
  snprintf(path, 1024, "%.900s/%.100s", artifact, name);
  return path;
}

static BurnStatus fit(const Options *options, BurnDevice *device,
                      MyAppModel *model, BurnLoader *data, BurnLoader *valid) {
  static BurnInterrupter interrupter; /* Ctrl-C */
  MyAppConfig config = options->config;
  char path[1024];
  BurnLearnerResult result;
  BurnStatus status = burn_interrupter_on_signals(&interrupter);
  if (status != BURN_OK) return status;
  const BurnNoImprovement stalled = {"Loss", BURN_SPLIT_VALID, false, 3, 0};
  const BurnLearnerConfig learner = {
      .artifact_dir = options->artifact,
      .epochs = config.epochs,
      .learning_rate = config.learning_rate,
      .early_stopping = burn_stop_without_improvement(&stalled),
      .resume = options->resume,
      .config = burn_config(MyAppConfig, &config),
      .free_fields = "epochs",
      .interrupter = &interrupter};
  BurnOptimizer *optimizer = burn_adam_create(NULL);
  const BurnTask task = {step, NULL};
  const BurnModule module = burn_module(MyAppModel, model);
  status = burn_learner_fit(&learner, &task, device, module, optimizer, data,
                            valid, &result);
  burn_optimizer_destroy(optimizer);
  if (result.interrupted) fprintf(stderr, "go on with: train --resume\n");
  if (status != BURN_OK) return status;
  printf("accuracy in validation: %.2f %%\n",
         100 * burn_epoch_metric(&result.last, "Accuracy", BURN_SPLIT_VALID));
  return burn_record_save(module, path_in(options->artifact, "model", path),
                          NULL);
}

static BurnStatus train(const Options *options) {
  BurnStatus status = BURN_OK;
  BurnDevice *device = burn_device_open_training(NULL);
  burn_device_seed(device, options->config.seed);
  MyAppModel model = MyAppModel_init(&options->config, device);
  BurnLoader *data = loader(&options->config, true, &status);
  BurnLoader *valid = loader(&options->config, false, &status);
  if (status == BURN_OK) {
    status = burn_module_status(burn_module(MyAppModel, &model));
  }
  if (status == BURN_OK) {
    burn_module_print(burn_module(MyAppModel, &model));
    status = fit(options, device, &model, data, valid);
  }
  burn_loader_destroy(data);
  burn_loader_destroy(valid);
  MyAppModel_release(&model);
  burn_device_close(device);
  return status;
}

/* -- infer ----------------------------------------------------------------- */

/* Some digits that training has not met: how many are named right. */
static BurnStatus name_digits(const MyAppModel *model, BurnDevice *device) {
  enum { COUNT = 100 };
  float pixels[COUNT * SIDE * SIDE];
  int64_t labels[COUNT], named[COUNT];
  BurnStatus status = BURN_OK;
  size_t right = 0;
  BurnDataset *data = digits(COUNT, 12345, &status);
  for (size_t i = 0; i < COUNT && status == BURN_OK; i++) {
    void *const item[] = {pixels + i * SIDE * SIDE, labels + i};
    status = burn_dataset_get(data, i, item);
  }
  burn_dataset_drop(data);
  if (status != BURN_OK) return status;
  BurnTensor *images =
      burn_tensor_f32(device, pixels, BURN_SHAPE(COUNT, 1, SIDE, SIDE));
  BurnTensor *scores = MyAppModel_forward(model, images);
  status = burn_read_i64(burn_argmax(scores, 1), named, COUNT);
  for (size_t i = 0; i < COUNT; i++) right += named[i] == labels[i];
  if (status == BURN_OK) printf("%zu of %d are right\n", right, (int)COUNT);
  return status;
}

/* The model that a run has left in its folder; to be released, also on failure.
 */
static BurnStatus load_model(const char *artifact, BurnDevice *device,
                             MyAppModel *model) {
  char path[1024];
  MyAppConfig config = MyAppConfig_defaults();
  memset(model, 0, sizeof *model);
  BurnStatus status = burn_config_load(burn_config(MyAppConfig, &config),
                                       path_in(artifact, "config.json", path));
  if (status != BURN_OK) return status;
  *model = MyAppModel_init(&config, device);
  return burn_record_load(burn_module(MyAppModel, model),
                          path_in(artifact, "model", path), NULL);
}

static BurnStatus infer(const Options *options) {
  MyAppModel model;
  BurnDevice *device = burn_device_open(NULL);
  BurnStatus status = load_model(options->artifact, device, &model);
  if (status == BURN_OK) status = name_digits(&model, device);
  MyAppModel_release(&model);
  burn_device_close(device);
  return status;
}

/* -- library --------------------------------------------------------------- */

/* This file is also built as a library, by which `burn run` runs the model on
 * pictures and arrays. */

static void end_model(void *model) {
  MyAppModel_release(model);
  free(model);
}

static BurnStatus begin_model(const char *artifact, BurnDevice *device,
                              void **model) {
  MyAppModel *made = malloc(sizeof *made);
  if (!made) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory");
  const BurnStatus status = load_model(artifact, device, made);
  if (status == BURN_OK) {
    *model = made;
  } else {
    end_model(made);
  }
  return status;
}

static BurnTensor *run_model(const void *model, BurnTensor *images) {
  return MyAppModel_forward(model, images);
}

static const char *const class_names[CLASSES] = {"0", "1", "2", "3", "4",
                                                 "5", "6", "7", "8", "9"};
static const BurnModelLibrary library = {
    .bytes = sizeof library,
    .name = "my_app",
    .input = {3, {1, SIDE, SIDE}},
    .mean = {0.1307f}, /* as burn_dataset_mnist_normalize has them */
    .deviation = {0.3081f},
    .classes = class_names,
    .class_count = CLASSES,
    .load = begin_model,
    .forward = run_model,
    .destroy = end_model};
BURN_MODEL_LIBRARY(library)

/* -- program --------------------------------------------------------------- */

/* After a word about `wrong`, if there is one; the exit status. */
static int usage(const char *program, const char *wrong) {
  if (wrong) {
    fprintf(stderr, "%s: '%s' is unknown, or lacks its value\n", program,
            wrong);
  }
  fprintf(wrong ? stderr : stdout,
          "usage: %s [train] [--epochs N] [--artifact DIR] [--resume]\n"
          "       %s infer [--artifact DIR]\n",
          program, program);
  return wrong ? 2 : 0;
}

/* 0 for what is not a number. */
static size_t count_of(const char *text) {
  const bool digits = strspn(text, "0123456789") == strlen(text);
  return digits ? strtoul(text, NULL, 10) : 0;
}

static int run_command(int argc, char **argv) {
  Options options = {"artifacts", MyAppConfig_defaults(), false};
  const char *command = "train";
  for (int i = 1; i < argc; i++) {
    const bool has_value = i + 1 < argc;
    if (strcmp(argv[i], "--help") == 0) return usage(argv[0], NULL);
    if (strcmp(argv[i], "--resume") == 0) {
      options.resume = true;
    } else if (strcmp(argv[i], "--epochs") == 0 && has_value) {
      options.config.epochs = count_of(argv[++i]);
      if (options.config.epochs > 0) continue;
      fprintf(stderr, "%s: --epochs needs an integer of at least 1, not '%s'\n",
              argv[0], argv[i]);
      return 2;
    } else if (strcmp(argv[i], "--artifact") == 0 && has_value) {
      options.artifact = argv[++i];
    } else if (i == 1 && argv[i][0] != '-') {
      command = argv[i];
    } else {
      return usage(argv[0], argv[i]);
    }
  }
  const bool trains = strcmp(command, "train") == 0;
  if (!trains && strcmp(command, "infer") != 0) return usage(argv[0], command);
  const BurnStatus status = trains ? train(&options) : infer(&options);
  if (status == BURN_OK) return 0;
  fprintf(stderr, "%s: %s\n", argv[0], burn_status_message(status));
  return 1;
}

/* Output that cannot be written, to a full disk, is a failure, too. */
int main(int argc, char **argv) {
  burn_streams_pin();
  return burn_streams_finish(run_command(argc, argv));
}
