/* training_waits.c - trains the guide's CNN on generated digits with the real loader and learner, and tells how often
 * the host has waited for the device: in the whole of each epoch, and from the end of each training step to the end of
 * the next one. Fails if a step waits that does not end a window of metrics.
 *
 *   training_waits [--backend STACK] [--items N] [--epochs N] [--workers N] */
#include "../../sdk/examples/mnist/model.h"

#include "../../sdk/examples/common/arguments.h"

#include <burn/transfer.h>

#include <math.h>
#include <stdio.h>

enum { BATCH = 64, WINDOW = 16 };

typedef struct Watch {
  BurnDevice *device;
  int64_t begin, last; /* the count of waits at the begin of the epoch, and at the end of the last step */
  size_t steps;        /* of this epoch */
  int64_t at_windows;  /* waits from a step that ends a window to the end of the next step */
  int64_t elsewhere;   /* from any other */
  int64_t elsewhere_in_all;
} Watch;

/* Measured at the end of each step, before the learner reads anything. */
static BurnMeasured watch_step(const void *config, const BurnMetricInput *input) {
  Watch *watch = (Watch *)(uintptr_t)config;
  if (isnan(input->learning_rate)) return (BurnMeasured){.weight = 0}; /* validation */
  const int64_t waits = burn_device_host_waits(watch->device);
  if (watch->steps > 0) *(watch->steps % WINDOW == 0 ? &watch->at_windows : &watch->elsewhere) += waits - watch->last;
  watch->last = waits;
  watch->steps++;
  return (BurnMeasured){.number = 1, .weight = 1};
}

static const BurnMetricInterface watch_metric = {.name = "Steps", .unit = "", .scale = 1, .measure = watch_step};

static BurnStatus show_epoch(void *context, const BurnEpochResult *result) {
  Watch *watch = context;
  const int64_t now = burn_device_host_waits(watch->device);
  printf(
      "epoch %zu: %zu steps, %.3f ms each, loss %.4f, accuracy %.4f; waits of the host: %lld between steps of a window "
      "(%.3f a step), %lld at the ends of windows, %lld in all with validation and the end of the epoch\n",
      result->epoch, watch->steps, 1e3 * result->seconds / (double)watch->steps,
      burn_epoch_metric(result, "Loss", BURN_SPLIT_TRAIN), burn_epoch_metric(result, "Accuracy", BURN_SPLIT_TRAIN),
      (long long)watch->elsewhere, (double)watch->elsewhere / (double)watch->steps, (long long)watch->at_windows,
      (long long)(now - watch->begin));
  watch->elsewhere_in_all += watch->elsewhere;
  watch->begin = now;
  watch->at_windows = watch->elsewhere = 0;
  watch->steps = 0;
  return BURN_OK;
}

static BurnLoader *loader_of(const TrainingConfig *config, uint32_t split, BurnStatus *status) {
  BurnDataset *data =
      burn_dataset_cache(mnist_data(config, split, status), status); /* drawing takes longer than a step */
  const BurnLoaderConfig loader = {
      .batch_size = BATCH, .shuffle = split == BURN_MNIST_TRAIN, .seed = 42, .workers = config->num_workers};
  return burn_loader_create(data, &loader, status);
}

static BurnStatus fit(Watch *watch, const TrainingConfig *config) {
  BurnStatus status = BURN_OK;
  BurnLoader *train = loader_of(config, BURN_MNIST_TRAIN, &status);
  BurnLoader *test = loader_of(config, BURN_MNIST_TEST, &status);
  burn_device_seed(watch->device, 42);
  Model model = model_init(&config->model, watch->device);
  BurnOptimizer *optimizer = burn_adam_create(&config->optimizer);
  const BurnMetric steps = {&watch_metric, watch, NULL};
  const BurnLearnerConfig learner = {.epochs = config->num_epochs,
                                     .learning_rate = config->learning_rate,
                                     .read_interval = WINDOW,
                                     .metrics = BURN_METRICS(burn_metric_accuracy(), steps),
                                     .quiet = true,
                                     .on_epoch = show_epoch,
                                     .context = watch};
  const BurnTask task = {model_step, NULL};
  watch->begin = burn_device_host_waits(watch->device);
  if (status == BURN_OK)
    status = burn_learner_fit(&learner, &task, watch->device, burn_module(Model, &model), optimizer, train, test, NULL);
  burn_optimizer_destroy(optimizer);
  Model_release(&model);
  burn_loader_destroy(train);
  burn_loader_destroy(test);
  return status;
}

int main(int argc, char **argv) {
  const char *backend = NULL;
  size_t items = 20000, epochs = 3, workers = 1;
  const Argument arguments[] = {
      {"backend", ARGUMENT_TEXT, &backend, "STACK", "autodiff is put on top; default: BURN_BACKEND or the best"},
      {"items", ARGUMENT_SIZE, &items, "N", "generated digits to train on"},
      {"epochs", ARGUMENT_SIZE, &epochs, "N", "passes over them"},
      {"workers", ARGUMENT_SIZE, &workers, "N", "threads of the loader"},
  };
  const int parsed = arguments_parse(argc, argv, "usage: training_waits [options]   waits for the device in training",
                                     arguments, sizeof arguments / sizeof arguments[0], NULL, 0);
  if (parsed != ARGUMENTS_OK) return parsed == ARGUMENTS_HELP ? 0 : 2;
  TrainingConfig config = TrainingConfig_defaults(ModelConfig_defaults(10, 512), BurnAdamConfig_defaults());
  config.train_items = items;
  config.test_items = items / 10 + 1;
  config.num_epochs = epochs;
  config.num_workers = workers;
  Watch watch = {.device = burn_device_open_training(backend)};
  BurnStatus status = burn_device_status(watch.device);
  if (status == BURN_OK)
    printf("%s: batches of %d, %zu workers%s\n", burn_device_name(watch.device), BATCH, workers,
           burn_device_host_waits(watch.device) < 0 ? "; this device does not count its waits" : "");
  if (status == BURN_OK) status = fit(&watch, &config);
  burn_device_close(watch.device);
  if (status != BURN_OK) fprintf(stderr, "training_waits: %s\n", burn_status_message(status));
  return status == BURN_OK && watch.elsewhere_in_all == 0 ? 0 : 1;
}
