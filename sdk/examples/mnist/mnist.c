/* mnist.c - train the CNN of the Burn guide on digits, and use it.
 *
 *   mnist                train on generated digits, save, load again, show
 *                        some predictions
 *   mnist --data FOLDER  the same on MNIST
 *   mnist --resume       go on after the last checkpoint of the artifact folder
 *   mnist --no-dashboard lines on stderr, also where it is a terminal
 *   mnist infer          predictions of a saved model */
#define _POSIX_C_SOURCE 200809L
#include "load.h"
#include "report.h"

#include "../common/arguments.h"
#include "../common/program.h"
#include "../common/result.h"

#if defined(MNIST_DASHBOARD) /* where there is curses */
#include <burn/dashboard.h>
#endif

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct Options {
  const char *program, *data, *artifact, *backend;
  size_t epochs, batch_size, seed, workers, train_items, test_items, show;
  double learning_rate;
  bool resume, json, no_dashboard, report;
} Options;

static int fail(BurnStatus status) {
  fprintf(stderr, "error: %s\n", burn_status_message(status));
  return 1;
}

static BurnStatus no_path(void) {
  return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for a path");
}

static char *path_in(const char *folder, const char *name) {
  const size_t bytes = strlen(folder) + strlen(name) + 2;
  char *path = malloc(bytes);
  if (path) snprintf(path, bytes, "%s/%s", folder, name);
  return path;
}

/* -- inference ------------------------------------------------------------ */

static void draw(const float *image) {
  static const char shades[] = " .:-=+*#%@";
  for (int y = 2; y < 28; y += 2) { /* characters are twice as high as wide */
    for (int x = 2; x < 26; x++) {
      const float value = (image[y * 28 + x] * 0.3081f + 0.1307f) * 9.999f;
      putchar(shades[value < 0 ? 0 : value > 9 ? 9 : (int)value]);
    }
    putchar('\n');
  }
}

/* Shows the first `count` test digits with prediction and truth; counts the
 * right ones. */
static BurnStatus show_predictions(const Model *model, BurnDevice *device,
                                   BurnDataset *data, size_t count, bool quiet,
                                   size_t *right) {
  BurnStatus status = BURN_OK;
  *right = 0;
  if (count > burn_dataset_count(data)) count = burn_dataset_count(data);
  for (size_t i = 0; status == BURN_OK && i < count; i++) {
    float image[28 * 28];
    int64_t label = 0, prediction = 0;
    status = burn_dataset_get(data, i, (void *const[]){image, &label});
    if (status != BURN_OK) break;
    const BurnShape shape = BURN_SHAPE(1, 1, 28, 28);
    BurnTensor *pixels = burn_float(burn_tensor_f32(device, image, shape));
    BurnTensor *logits = model_forward(model, pixels);
    status = burn_read_i64(burn_argmax(logits, 1), &prediction, 1);
    *right += prediction == label;
    if (status != BURN_OK || quiet) continue;
    draw(image);
    printf("predicted %lld, truth %lld%s\n\n", (long long)prediction,
           (long long)label, prediction == label ? "" : "   <- wrong");
  }
  return status;
}

static BurnStatus infer_on(const Options *options, BurnDevice *device) {
  TrainingConfig config;
  Model model;
  BurnDataset *test = NULL;
  BurnStatus status = model_load(options->artifact, device, &config, &model);
  if (status == BURN_OK && options->data) {
    snprintf(config.data.text, sizeof config.data.text, "%s", options->data);
  }
  if (status == BURN_OK) test = mnist_data(&config, BURN_MNIST_TEST, &status);
  size_t right = 0;
  if (status == BURN_OK) {
    status = show_predictions(&model, device, test, options->show,
                              options->json, &right);
  }
  if (status == BURN_OK) {
    const size_t count = burn_dataset_count(test);
    printf(
        "%s\"command\":\"infer\",\"backend\":%s,\"artifact\":%s,"
        "\"shown\":%zu,\"right\":%zu}\n",
        result_begin(options->json), json_text(burn_device_name(device)).text,
        json_text(options->artifact).text,
        count < options->show ? count : options->show, right);
  }
  burn_dataset_drop(test);
  Model_release(&model);
  return status;
}

static int infer(const Options *options) {
  BurnDevice *device = burn_device_open(options->backend);
  BurnStatus status = burn_device_status(device);
  if (status == BURN_OK) status = infer_on(options, device);
  burn_device_close(device);
  return status == BURN_OK ? 0 : fail(status);
}

/* -- training ------------------------------------------------------------- */

/* A value of an epoch as JSON. */
static JsonNumber value_of(const BurnEpochResult *result, const char *metric,
                           BurnSplit split) {
  return json_number(burn_epoch_metric(result, metric, split));
}

/* With --json; else the learner tells, on stderr. */
static void print_epoch(const BurnEpochResult *result) {
  printf(
      "{\"event\":\"epoch\",\"epoch\":%zu,"
      "\"train_loss\":%s,\"train_accuracy\":%s,"
      "\"valid_loss\":%s,\"valid_accuracy\":%s,"
      "\"seconds\":%.3f,\"items_per_second\":%.1f}\n",
      result->epoch, value_of(result, "Loss", BURN_SPLIT_TRAIN).text,
      value_of(result, "Accuracy", BURN_SPLIT_TRAIN).text,
      value_of(result, "Loss", BURN_SPLIT_VALID).text,
      value_of(result, "Accuracy", BURN_SPLIT_VALID).text, result->seconds,
      result->items_per_second);
  fflush(stdout);
}

static BurnStatus on_epoch(void *context, const BurnEpochResult *result) {
  const Options *options = context;
  const BurnReportConfig report = {.artifact_dir = options->artifact};
  if (options->json) print_epoch(result);
  return options->report ? burn_report_write(&report) : BURN_OK;
}

/* An option that was given for a run that goes on with another value: NAME of
 * the option, field of the config. */
#define FIXED_OPTIONS(OPTION)        \
  OPTION("batch-size", batch_size)   \
  OPTION("seed", seed)               \
  OPTION("train-items", train_items) \
  OPTION("test-items", test_items)

static bool differ(double a, double b) { return a < b || a > b; }

static BurnStatus check_options(const TrainingConfig *wanted,
                                const TrainingConfig *usual,
                                const TrainingConfig *saved, const char *path) {
#define OPTION(name, field)                                                \
  if (wanted->field != usual->field && wanted->field != saved->field) {    \
    return burn_status_make(                                               \
        BURN_STATUS_INVALID_ARGUMENT,                                      \
        "--%s is %zu, the run of %s has %zu; begin anew without --resume", \
        name, wanted->field, path, saved->field);                          \
  }
  FIXED_OPTIONS(OPTION)
#undef OPTION
  if (differ(wanted->learning_rate, usual->learning_rate) &&
      differ(wanted->learning_rate, saved->learning_rate)) {
    return burn_status_make(
        BURN_STATUS_INVALID_ARGUMENT,
        "--lr is %g, the run of %s has %g; begin anew without --resume",
        wanted->learning_rate, path, saved->learning_rate);
  }
  const char *data = wanted->data.text, *saved_data = saved->data.text;
  if (!data[0] || strcmp(data, saved_data) == 0) return BURN_OK;
  return burn_status_make(
      BURN_STATUS_INVALID_ARGUMENT,
      "--data is %s, the run of %s has %s; begin anew without --resume", data,
      path, saved_data[0] ? saved_data : "generated digits");
}

/* The settings of the run in the artifact folder; only --epochs is this
 * one's. */
static BurnStatus take_up(const Options *options, const char *path,
                          TrainingConfig *config) {
  const TrainingConfig wanted = *config;
  const TrainingConfig usual =
      TrainingConfig_defaults(config->model, config->optimizer);
  BurnStatus status =
      burn_config_load(burn_config(TrainingConfig, config), path);
  if (status == BURN_OK) status = check_options(&wanted, &usual, config, path);
  config->num_epochs = options->epochs;
  if (status == BURN_OK && !options->json) {
    printf(
        "resuming with the settings of %s\n"
        "(of the options only --epochs counts)\n",
        path);
  }
  return status;
}

/* What --resume does without a config to read the settings from. */
static BurnStatus tell_absent(const Options *options, const char *path) {
  char *checkpoints = path_in(options->artifact, "checkpoint");
  struct stat info;
  if (!checkpoints) return no_path();
  const bool any = stat(checkpoints, &info) == 0;
  fprintf(
      stderr, "there is no %s to go on from: %s\n", path,
      any ? "the options count, with the last checkpoint" : "a new run begins");
  free(checkpoints);
  return BURN_OK;
}

/* The config of this run: from the options, or with --resume from the artifact
 * folder (only --epochs may then differ). */
static BurnStatus choose_config(const Options *options,
                                TrainingConfig *config) {
  *config = TrainingConfig_defaults(ModelConfig_defaults(10, 512),
                                    BurnAdamConfig_defaults());
  config->num_epochs = options->epochs;
  config->batch_size = options->batch_size;
  config->seed = options->seed;
  config->num_workers = options->workers;
  config->train_items = options->train_items;
  config->test_items = options->test_items;
  config->learning_rate = options->learning_rate;
  const size_t data_bytes = sizeof config->data.text;
  if (options->data && strlen(options->data) >= data_bytes) {
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT,
                            "--data: the path is longer than %zu bytes",
                            data_bytes - 1);
  }
  if (options->data) {
    snprintf(config->data.text, data_bytes, "%s", options->data);
  }
  char *path = path_in(options->artifact, "config.json");
  struct stat info;
  BurnStatus status = path ? BURN_OK : no_path();
  if (path && options->resume && stat(path, &info) == 0) {
    status = take_up(options, path, config);
  } else if (path && options->resume) {
    status = tell_absent(options, path);
  }
  free(path);
  return status;
}

static BurnLoader *make_loader(const TrainingConfig *config, uint32_t split,
                               BurnStatus *status) {
  BurnDataset *data = mnist_data(config, split, status);
  if (!data) return NULL;
  const BurnLoaderConfig loader = {.batch_size = config->batch_size,
                                   .shuffle = split == BURN_MNIST_TRAIN,
                                   .seed = config->seed,
                                   .workers = config->num_workers};
  return burn_loader_create(data, &loader, status);
}

/* Everything that a run holds. */
typedef struct Run {
  TrainingConfig config;
  Model model;
  BurnOptimizer *optimizer;
  BurnLoader *train, *test;
  BurnInterrupter interrupter; /* Ctrl-C */
  BurnLearnerResult result;
} Run;

static BurnStatus save_model(const Options *options, Run *run) {
  char *path = path_in(options->artifact, "model");
  BurnStatus status = path ? BURN_OK : no_path();
  if (status == BURN_OK) {
    status = burn_record_save(burn_module(Model, &run->model), path, NULL);
  }
  free(path);
  return status;
}

static void print_run(const BurnDevice *device, const Run *run) {
  const TrainingConfig *config = &run->config;
  printf("training on %s: %zu %s, batches of %zu, seed %zu\n",
         burn_device_name(device), burn_loader_item_count(run->train),
         config->data.text[0] ? "MNIST images" : "generated digits",
         config->batch_size, config->seed);
}

/* The learner, on a dashboard where stderr is a terminal. */
static BurnStatus fit(const Options *options, BurnLearnerConfig *learner,
                      BurnDevice *device, Run *run) {
  const BurnTask task = {model_step, NULL};
  const BurnModule module = burn_module(Model, &run->model);
  BurnStatus status = BURN_OK;
#if defined(MNIST_DASHBOARD)
  const BurnDashboardConfig config = {.interrupter = &run->interrupter,
                                      .title = "mnist"};
  BurnDashboard *dashboard = NULL;
  BurnRenderer renderer;
  if (!options->json && !options->no_dashboard) {
    dashboard = burn_dashboard_create(&config, &status);
    if (!dashboard) return status;
    renderer = burn_dashboard_renderer(dashboard);
    learner->renderer = &renderer;
    learner->logger = burn_dashboard_logger(dashboard);
  }
#endif
  learner->quiet = options->json;
  status = burn_learner_fit(learner, &task, device, module, run->optimizer,
                            run->train, run->test, &run->result);
#if defined(MNIST_DASHBOARD)
  burn_dashboard_destroy(dashboard);
#endif
  return status;
}

static BurnStatus train_run(const Options *options, BurnDevice *device,
                            Run *run) {
  TrainingConfig *config = &run->config;
  BurnStatus status = choose_config(options, config);
  if (status == BURN_OK) {
    run->train = make_loader(config, BURN_MNIST_TRAIN, &status);
  }
  if (status == BURN_OK) {
    run->test = make_loader(config, BURN_MNIST_TEST, &status);
  }
  if (status == BURN_OK) {
    status = burn_interrupter_on_signals(&run->interrupter);
  }
  if (status != BURN_OK) return status;
  burn_device_seed(device, config->seed);
  run->model = model_init(&config->model, device);
  run->optimizer = burn_adam_create(&config->optimizer);
  const BurnModule module = burn_module(Model, &run->model);
  status = burn_module_status(module);
  if (status != BURN_OK) return status;
  if (!options->json) {
    burn_module_print(module);
    print_run(device, run);
  }
  BurnLearnerConfig learner = {
      .artifact_dir = options->artifact,
      .epochs = config->num_epochs,
      .learning_rate = config->learning_rate,
      .resume = options->resume,
      .config = burn_config(TrainingConfig, config),
      .free_fields = "num_epochs num_workers",
      .interrupter = &run->interrupter,
      .on_epoch = on_epoch,
      .context = (void *)(uintptr_t)options,
  };
  status = fit(options, &learner, device, run);
  return status == BURN_OK ? save_model(options, run) : status;
}

/* Loads what was saved into a fresh model on the device below autodiff, as a
 * program that only infers would. */
static BurnStatus show_saved(const Options *options, BurnDevice *device) {
  BurnDevice *inner = burn_device_inner(device);
  TrainingConfig config;
  Model model;
  size_t right = 0;
  BurnDataset *test = NULL;
  BurnStatus status = model_load(options->artifact, inner, &config, &model);
  if (status == BURN_OK) test = mnist_data(&config, BURN_MNIST_TEST, &status);
  if (status == BURN_OK && !options->json && options->show > 0) {
    printf("loaded %s/model.mpk; the first test digits:\n\n",
           options->artifact);
  }
  if (status == BURN_OK) {
    status = show_predictions(&model, inner, test, options->show, options->json,
                              &right);
  }
  if (status == BURN_OK && options->report) {
    status = mnist_report(&model, inner, test, options->artifact);
  }
  burn_dataset_drop(test);
  Model_release(&model);
  return status;
}

static void print_result(const Options *options, const BurnDevice *device,
                         const Run *run) {
  const BurnLearnerResult *r = &run->result;
  printf(
      "%s\"command\":\"train\",\"backend\":%s,\"data\":\"%s\","
      "\"seed\":%zu,\"epochs\":%zu,\"resumed_epochs\":%zu,"
      "\"steps\":%llu,\"seconds_per_epoch\":%.3f,"
      "\"images_per_second\":%.1f,\"train_loss\":%s,"
      "\"test_accuracy\":%s,\"test_loss\":%s,\"artifact\":%s}\n",
      result_begin(options->json), json_text(burn_device_name(device)).text,
      run->config.data.text[0] ? "mnist" : "generated", run->config.seed,
      r->epochs_done, r->epochs_resumed, (unsigned long long)r->steps,
      r->mean_epoch_seconds, r->last.items_per_second,
      value_of(&r->last, "Loss", BURN_SPLIT_TRAIN).text,
      value_of(&r->last, "Accuracy", BURN_SPLIT_VALID).text,
      value_of(&r->last, "Loss", BURN_SPLIT_VALID).text,
      json_text(options->artifact).text);
}

/* How to go on, and the exit status of a program that a signal has ended. */
static int tell_interrupted(const Options *options, const Run *run) {
  fprintf(stderr,
          "interrupted at epoch %zu, batch %zu; go on with:\n"
          "  %s --artifact %s --epochs %zu --resume",
          run->result.epoch, run->result.batch, options->program,
          options->artifact, run->config.num_epochs);
  if (options->backend) fprintf(stderr, " --backend '%s'", options->backend);
  fputc('\n', stderr);
  return 128 + burn_interrupter_signal(&run->interrupter);
}

static int train(const Options *options) {
  BurnDevice *device = burn_device_open_training(options->backend);
  Run run;
  memset(&run, 0, sizeof run);
  BurnStatus status = burn_device_status(device);
  if (status == BURN_OK) status = train_run(options, device, &run);
  if (status == BURN_OK) status = show_saved(options, device);
  if (status == BURN_OK) print_result(options, device, &run);
  const bool cancelled = burn_status_code(status) == BURN_STATUS_CANCELLED;
  const int interrupted =
      run.result.interrupted && cancelled ? tell_interrupted(options, &run) : 0;
  const BurnStatus uncaught = burn_interrupter_on_signals(NULL);
  if (status == BURN_OK) status = uncaught;
  Model_release(&run.model);
  burn_optimizer_destroy(run.optimizer);
  burn_loader_destroy(run.train);
  burn_loader_destroy(run.test);
  burn_device_close(device);
  if (interrupted) return interrupted;
  return status == BURN_OK ? 0 : fail(status);
}

static int parse(int argc, char **argv, Options *options,
                 const char **command) {
  const Argument arguments[] = {
      {"data", ARGUMENT_TEXT, &options->data, "DIR",
       "folder with the four MNIST files; without it digits are generated"},
      {"epochs", ARGUMENT_SIZE, &options->epochs, "N",
       "passes over the training data"},
      {"batch-size", ARGUMENT_SIZE, &options->batch_size, "N",
       "images per step"},
      {"lr", ARGUMENT_NUMBER, &options->learning_rate, "X",
       "learning rate of Adam"},
      {"seed", ARGUMENT_SIZE, &options->seed, "N",
       "of weights, dropout, order and generated digits"},
      {"artifact", ARGUMENT_TEXT, &options->artifact, "DIR",
       "where config, checkpoints, logs and the model go"},
      {"backend", ARGUMENT_TEXT, &options->backend, "STACK",
       "such as ndarray or autodiff<ndarray>; "
       "default: BURN_BACKEND or the best"},
      {"workers", ARGUMENT_SIZE, &options->workers, "N",
       "threads that prepare batches"},
      {"train-items", ARGUMENT_SIZE, &options->train_items, "N",
       "generated digits to train on"},
      {"test-items", ARGUMENT_SIZE, &options->test_items, "N",
       "generated digits to test on"},
      {"show", ARGUMENT_SIZE, &options->show, "N", "predictions to show"},
      {"resume", ARGUMENT_FLAG, &options->resume, NULL,
       "go on after the last checkpoint in the artifact folder"},
      {"report", ARGUMENT_FLAG, &options->report, NULL,
       "write report.html into the artifact folder, after each epoch and at "
       "the end"},
      {"no-dashboard", ARGUMENT_FLAG, &options->no_dashboard, NULL,
       "lines of progress, also where stderr is a terminal"},
      {"json", ARGUMENT_FLAG, &options->json, NULL,
       "every line a JSON object: one per epoch, the last is the result"},
  };
  const char *usage =
      "usage: mnist [train] [options]   train the CNN of the Burn guide on "
      "digits\n"
      "       mnist infer [options]     predictions of the model in the "
      "artifact folder";
  return arguments_parse(argc, argv, usage, arguments,
                         sizeof arguments / sizeof arguments[0], command, 1);
}

int main(int argc, char **argv) {
  program_begin();
  Options options = {.program = argv[0],
                     .artifact = "artifacts/mnist",
                     .epochs = 6,
                     .batch_size = 64,
                     .seed = 42,
                     .workers = 1,
                     .train_items = 20000,
                     .test_items = 4000,
                     .show = 5,
                     .learning_rate = 1e-3};
  const char *command = "train";
  const int parsed = parse(argc, argv, &options, &command);
  if (parsed != ARGUMENTS_OK) return parsed == ARGUMENTS_HELP ? 0 : 2;
  if (!options.artifact[0]) {
    fprintf(stderr, "mnist: --artifact needs a folder\n");
    return 2;
  }
  if (strcmp(command, "infer") == 0) return infer(&options);
  if (strcmp(command, "train") == 0) return train(&options);
  fprintf(stderr, "mnist: unknown command '%s'; it is train or infer\n",
          command);
  return 2;
}
