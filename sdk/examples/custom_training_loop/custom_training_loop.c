/* custom_training_loop.c - the loop that the learner has, by hand: epochs,
 * batches, the step, backward, gradients, the optimizer, accuracy, validation.
 *
 * With it one can do what the learner does not offer; all its parts (loaders,
 * optimizers, schedules, metrics, checkpoints) are functions of their own. */
#define _POSIX_C_SOURCE 200809L
#include "../mnist/model.h"

#include "../common/arguments.h"
#include "../common/program.h"
#include "../common/result.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct Options {
  const char *data, *backend;
  size_t epochs, batch_size, seed, train_items, test_items;
  double learning_rate;
  bool json;
} Options;

/* Sums over an epoch. */
typedef struct Sums {
  double loss, hits, items;
} Sums;

/* How many rows of output [n, classes] are largest at their target [n]. */
static BurnStatus count_hits(BurnTensor *output, BurnTensor *targets,
                             double *hits) {
  BurnTensor *guess = burn_flatten(burn_argmax(output, 1), 0, 1);
  guess = burn_equal(burn_cast(guess, burn_dtype(targets)), targets);
  return burn_read_scalar(burn_sum(burn_int(guess)), hits);
}

/* Adds loss [1] and hits of a batch; waits for the device. */
static BurnStatus add_up(Sums *sums, BurnTensor *loss, BurnTensor *output,
                         BurnTensor *targets, size_t items) {
  double value = 0, hits = 0;
  BurnStatus status = count_hits(output, targets, &hits);
  const BurnStatus read = burn_read_scalar(loss, &value);
  if (status == BURN_OK) status = read;
  sums->loss += value * (double)items;
  sums->hits += hits;
  sums->items += (double)items;
  return status;
}

/* One step: forward, backward, update. */
static BurnStatus train_batch(Model *model, BurnOptimizer *optimizer,
                              BurnBatch *batch, double rate, Sums *sums) {
  const BurnModule module = burn_module(Model, model);
  BurnTensor *targets = burn_batch_take(batch, "label");
  BurnTensor *output =
      model_forward(model, burn_float(burn_batch_take(batch, "image")));
  BurnTensor *loss =
      burn_cross_entropy(burn_clone(output), burn_clone(targets));
  /* What is looked at later has no history: the graph goes with backward. */
  BurnTensor *shown = burn_detach(burn_clone(loss));
  output = burn_detach(output);
  BurnGradients *gradients = NULL;
  BurnStatus status = burn_backward(loss, &gradients);
  if (status == BURN_OK) {
    /* gradients by parameter: here one may look at them, clip or add them */
    BurnGradientsParams *ready = burn_gradients_params(gradients, module);
    status = burn_optimizer_step(optimizer, module, ready, rate);
  }
  const BurnStatus added =
      add_up(sums, shown, output, targets, batch->item_count);
  return status == BURN_OK ? added : status;
}

static BurnStatus train_epoch(Model *model, BurnOptimizer *optimizer,
                              BurnLoader *loader, BurnDevice *device,
                              size_t epoch, double rate, Sums *sums) {
  BurnStatus status = BURN_OK;
  BurnBatches *batches = burn_loader_start(loader, device, epoch, 0);
  BurnBatch batch;
  while (status == BURN_OK && burn_batches_next(batches, &batch)) {
    status =
        burn_status_annotate(train_batch(model, optimizer, &batch, rate, sums),
                             "epoch %zu, batch %zu", epoch, batch.index + 1);
  }
  const BurnStatus stopped = burn_batches_stop(batches);
  return status == BURN_OK ? stopped : status;
}

/* The same without gradients, on a copy below autodiff: no dropout there. */
static BurnStatus valid_epoch(const Model *model, BurnLoader *loader,
                              BurnDevice *device, Sums *sums) {
  Model valid = Model_valid(model);
  BurnStatus status = BURN_OK;
  BurnBatches *batches =
      burn_loader_start(loader, burn_device_inner(device), 1, 0);
  BurnBatch batch;
  while (status == BURN_OK && burn_batches_next(batches, &batch)) {
    BurnTensor *targets = burn_batch_take(&batch, "label");
    BurnTensor *output =
        model_forward(&valid, burn_float(burn_batch_take(&batch, "image")));
    BurnTensor *loss =
        burn_cross_entropy(burn_clone(output), burn_clone(targets));
    status = add_up(sums, loss, output, targets, batch.item_count);
  }
  const BurnStatus stopped = burn_batches_stop(batches);
  Model_release(&valid);
  return status == BURN_OK ? stopped : status;
}

static void tell(const Options *options, size_t epoch, const Sums *train,
                 const Sums *valid) {
  const char *format =
      options->json ? "{\"event\":\"epoch\",\"epoch\":%zu,\"train_loss\":%.6f,"
                      "\"train_accuracy\":%.4f,\"valid_loss\":%.6f,"
                      "\"valid_accuracy\":%.4f}\n"
                    : "epoch %2zu   train: loss %.4f, accuracy %.4f   "
                      "valid: loss %.4f, accuracy %.4f\n";
  printf(format, epoch, train->loss / train->items, train->hits / train->items,
         valid->loss / valid->items, valid->hits / valid->items);
}

static BurnLoader *loader_of(const TrainingConfig *config, uint32_t split,
                             BurnStatus *status) {
  const BurnLoaderConfig loader = {.batch_size = config->batch_size,
                                   .shuffle = split == BURN_MNIST_TRAIN,
                                   .seed = config->seed};
  BurnDataset *data = mnist_data(config, split, status);
  return data ? burn_loader_create(data, &loader, status) : NULL;
}

static void print_result(const Options *options, const BurnDevice *device,
                         const Sums *train, const Sums *valid, double seconds) {
  printf(
      "%s\"backend\":%s,\"seed\":%zu,\"epochs\":%zu,\"seconds\":%.2f,"
      "\"train_loss\":%s,\"valid_accuracy\":%s}\n",
      result_begin(options->json), json_text(burn_device_name(device)).text,
      options->seed, options->epochs, seconds,
      json_number(train->loss / train->items).text,
      json_number(valid->hits / valid->items).text);
}

static BurnStatus run(const Options *options, BurnDevice *device) {
  TrainingConfig config = TrainingConfig_defaults(ModelConfig_defaults(10, 512),
                                                  BurnAdamConfig_defaults());
  config.batch_size = options->batch_size;
  config.seed = options->seed;
  config.train_items = options->train_items;
  config.test_items = options->test_items;
  if (options->data) {
    snprintf(config.data.text, sizeof config.data.text, "%s", options->data);
  }
  BurnStatus status = BURN_OK;
  Sums train = {0, 0, 0}, valid = {0, 0, 0};
  BurnLoader *learned = loader_of(&config, BURN_MNIST_TRAIN, &status);
  BurnLoader *held_out = loader_of(&config, BURN_MNIST_TEST, &status);
  burn_device_seed(device, options->seed);
  Model model = model_init(&config.model, device);
  BurnOptimizer *optimizer = burn_adam_create(&config.optimizer);
  const double begin = program_seconds();
  if (status == BURN_OK) {
    status = burn_module_status(burn_module(Model, &model));
  }
  for (size_t i = 1; status == BURN_OK && i <= options->epochs; i++) {
    train = valid = (Sums){0, 0, 0};
    status = train_epoch(&model, optimizer, learned, device, i,
                         options->learning_rate, &train);
    if (status == BURN_OK) {
      status = valid_epoch(&model, held_out, device, &valid);
    }
    if (status == BURN_OK) tell(options, i, &train, &valid);
  }
  if (status == BURN_OK) {
    print_result(options, device, &train, &valid, program_seconds() - begin);
  }
  burn_optimizer_destroy(optimizer);
  burn_loader_destroy(learned);
  burn_loader_destroy(held_out);
  Model_release(&model);
  return status;
}

int main(int argc, char **argv) {
  program_begin();
  Options options = {.epochs = 3,
                     .batch_size = 64,
                     .seed = 42,
                     .train_items = 5000,
                     .test_items = 1000,
                     .learning_rate = 1e-3};
  const Argument arguments[] = {
      {"data", ARGUMENT_TEXT, &options.data, "DIR",
       "folder with the MNIST files; without it digits are generated"},
      {"epochs", ARGUMENT_SIZE, &options.epochs, "N", "passes over the digits"},
      {"batch-size", ARGUMENT_SIZE, &options.batch_size, "N", "images a step"},
      {"train-items", ARGUMENT_SIZE, &options.train_items, "N",
       "generated digits to train on"},
      {"test-items", ARGUMENT_SIZE, &options.test_items, "N",
       "generated digits to test on"},
      {"lr", ARGUMENT_NUMBER, &options.learning_rate, "X", "of Adam"},
      {"seed", ARGUMENT_SIZE, &options.seed, "N", "of weights and order"},
      ARGUMENT_BACKEND(&options),
      ARGUMENT_JSON(&options),
  };
  static const char usage[] =
      "usage: custom_training_loop [options]   the CNN of mnist without the "
      "learner";
  const int parsed =
      arguments_parse(argc, argv, usage, arguments,
                      sizeof arguments / sizeof arguments[0], NULL, 0);
  if (parsed != ARGUMENTS_OK) return parsed == ARGUMENTS_HELP ? 0 : 2;
  if (options.epochs < 1 || options.train_items < 1 || options.test_items < 1) {
    fprintf(stderr,
            "custom_training_loop: --epochs, --train-items and --test-items "
            "are at least 1\n");
    return 2;
  }
  BurnDevice *device = burn_device_open_training(options.backend);
  BurnStatus status = burn_device_status(device);
  if (status == BURN_OK) status = run(&options, device);
  burn_device_close(device);
  return program_end("custom_training_loop", status);
}
