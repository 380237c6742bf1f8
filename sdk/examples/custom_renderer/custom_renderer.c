/* custom_renderer.c - a run shown in a way of one's own: a bar for each epoch,
 * and at the end the losses as a line of blocks.
 *
 * A renderer is a few functions that the learner calls. `wants` says when to
 * draw: only then are the numbers of the last steps read from the device. */
#define _POSIX_C_SOURCE 200809L
#include "../mnist/model.h"

#include "../common/arguments.h"
#include "../common/program.h"
#include "../common/result.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* -- the renderer ---------------------------------------------------------- */

enum { WIDTH = 30, MAX_SHOWN = 64 };

/* What it knows of the run. */
typedef struct Bars {
  size_t filled;            /* blocks of the bar that is being drawn */
  double losses[MAX_SHOWN]; /* of validation, by epoch */
  size_t count;
} Bars;

static void begin(void *context, const BurnProgress *progress) {
  (void)context;
  printf("%zu epochs of %zu batches\n", progress->epochs, progress->batches);
}

static size_t blocks_of(const BurnProgress *progress) {
  return progress->batch * WIDTH / progress->batches;
}

/* Whenever the bar gets longer: at most WIDTH times an epoch. */
static bool wants(void *context, const BurnProgress *progress) {
  const Bars *bars = context;
  return blocks_of(progress) != bars->filled;
}

static void batch(void *context, const BurnProgress *progress) {
  Bars *bars = context;
  if (bars->filled == 0) printf("epoch %2zu ", progress->epoch);
  for (; bars->filled < blocks_of(progress); bars->filled++) putchar('#');
  fflush(stdout);
}

static void epoch(void *context, const BurnProgress *progress) {
  Bars *bars = context;
  const BurnEpochResult *result = progress->result;
  const double loss = burn_epoch_metric(result, "Loss", BURN_SPLIT_VALID);
  const double right = burn_epoch_metric(result, "Accuracy", BURN_SPLIT_VALID);
  printf("  loss %.4f  accuracy %.2f %%  %.1f s\n", loss, 100 * right,
         result->seconds);
  bars->filled = 0;
  if (bars->count < MAX_SHOWN) bars->losses[bars->count++] = loss;
}

/* Each loss between the lowest and the highest, in eight steps. */
static void end(void *context, bool complete) {
  static const char shades[] = "_.,-=+*#";
  const Bars *bars = context;
  double low = (double)INFINITY, high = -(double)INFINITY;
  for (size_t i = 0; i < bars->count; i++) {
    low = fmin(low, bars->losses[i]);
    high = fmax(high, bars->losses[i]);
  }
  printf("%s, losses: ", complete ? "complete" : "\nbroken off");
  for (size_t i = 0; i < bars->count; i++) {
    const double share =
        high > low ? (bars->losses[i] - low) / (high - low) : 0;
    putchar(shades[(int)(share * 7.999)]);
  }
  putchar('\n');
}

static BurnRenderer bars_renderer(Bars *bars) {
  return (BurnRenderer){.begin = begin,
                        .wants = wants,
                        .batch = batch,
                        .epoch = epoch,
                        .end = end,
                        .context = bars};
}

/* -- a run ----------------------------------------------------------------- */

typedef struct Options {
  const char *backend;
  size_t epochs, train_items, seed;
} Options;

static BurnLoader *loader_of(const TrainingConfig *config, uint32_t split,
                             BurnStatus *status) {
  const BurnLoaderConfig loader = {.batch_size = config->batch_size,
                                   .shuffle = split == BURN_MNIST_TRAIN,
                                   .seed = config->seed};
  BurnDataset *data = mnist_data(config, split, status);
  return data ? burn_loader_create(data, &loader, status) : NULL;
}

static BurnStatus run(const Options *options, BurnDevice *device) {
  TrainingConfig config = TrainingConfig_defaults(ModelConfig_defaults(10, 64),
                                                  BurnAdamConfig_defaults());
  config.seed = options->seed;
  config.train_items = options->train_items;
  config.test_items = options->train_items / 5 + 1;
  BurnStatus status = BURN_OK;
  BurnLearnerResult result;
  BurnLoader *train = loader_of(&config, BURN_MNIST_TRAIN, &status);
  BurnLoader *test = loader_of(&config, BURN_MNIST_TEST, &status);
  burn_device_seed(device, options->seed);
  Model model = model_init(&config.model, device);
  BurnOptimizer *optimizer = burn_adam_create(&config.optimizer);
  Bars bars = {.count = 0};
  const BurnRenderer renderer = bars_renderer(&bars);
  const BurnLearnerConfig learner = {.epochs = options->epochs,
                                     .learning_rate = config.learning_rate,
                                     .renderer = &renderer};
  const BurnTask task = {model_step, NULL};
  if (status == BURN_OK) {
    status =
        burn_learner_fit(&learner, &task, device, burn_module(Model, &model),
                         optimizer, train, test, &result);
  }
  if (status == BURN_OK) {
    const double loss =
        burn_epoch_metric(&result.last, "Loss", BURN_SPLIT_VALID);
    printf("%s\"backend\":%s,\"epochs\":%zu,\"valid_loss\":%s}\n",
           result_begin(false), json_text(burn_device_name(device)).text,
           result.epochs_done, json_number(loss).text);
  }
  burn_optimizer_destroy(optimizer);
  burn_loader_destroy(train);
  burn_loader_destroy(test);
  Model_release(&model);
  return status;
}

int main(int argc, char **argv) {
  program_begin();
  Options options = {.epochs = 4, .train_items = 3000, .seed = 42};
  const Argument arguments[] = {
      {"epochs", ARGUMENT_SIZE, &options.epochs, "N", "passes over the digits"},
      {"train-items", ARGUMENT_SIZE, &options.train_items, "N",
       "generated digits to train on"},
      {"seed", ARGUMENT_SIZE, &options.seed, "N", "of weights and digits"},
      ARGUMENT_BACKEND(&options),
  };
  static const char usage[] =
      "usage: custom_renderer [options]   a run with a renderer of its own";
  const int parsed =
      arguments_parse(argc, argv, usage, arguments,
                      sizeof arguments / sizeof arguments[0], NULL, 0);
  if (parsed != ARGUMENTS_OK) return parsed == ARGUMENTS_HELP ? 0 : 2;
  BurnDevice *device = burn_device_open_training(options.backend);
  BurnStatus status = burn_device_status(device);
  if (status == BURN_OK) status = run(&options, device);
  burn_device_close(device);
  return program_end("custom_renderer", status);
}
