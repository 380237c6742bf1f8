/* modern_lstm.c - an LSTM of one's own learns to go on with a sequence.
 *
 * Sequences begin with two numbers between 0 and 1; each further one is the sum
 * of the two before it, with noise: what comes after ten of them? Burn's
 * example of this name has the same data and cells. The error cannot fall below
 * the noise that is in the numbers themselves. */
#define _POSIX_C_SOURCE 200809L
#include "stacked_lstm.h"

#include "../common/arguments.h"
#include "../common/program.h"
#include "../common/result.h"

#include <burn/train.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LENGTH = 10 };

/* -- data ------------------------------------------------------------------ */

typedef struct Random {
  uint64_t state;
} Random;

static double unit(Random *random) { /* [0, 1) */
  random->state = random->state * 6364136223846793005u + 1442695040888963407u;
  return (double)(random->state >> 11) / 9007199254740992.0;
}

static double normal(Random *random) { /* Box and Muller */
  const double u = 1 - unit(random), v = unit(random);
  return sqrt(-2 * log(u)) * cos(2 * 3.14159265358979 * v);
}

/* One sequence and the number after it, which has no noise. */
static float draw_sequence(Random *random, double noise, float *numbers) {
  double before = unit(random), last = unit(random);
  for (size_t i = 0; i < LENGTH; i++) {
    numbers[i] = (float)before;
    const double next = before + last + noise * normal(random);
    before = last;
    last = next;
  }
  return numbers[LENGTH - 2] + numbers[LENGTH - 1];
}

static BurnDataset *sequences(size_t count, double noise, uint64_t seed,
                              BurnStatus *status) {
  float *numbers = malloc(count * LENGTH * sizeof *numbers);
  float *next = malloc(count * sizeof *next);
  BurnDataset *data = NULL;
  Random random = {seed};
  const BurnColumn columns[] = {
      {"sequence", BURN_DTYPE_F32, BURN_SHAPE(LENGTH, 1)},
      {"next", BURN_DTYPE_F32, BURN_SHAPE(1)}};
  const void *const values[] = {numbers, next};
  for (size_t i = 0; numbers && next && i < count; i++) {
    next[i] = draw_sequence(&random, noise, numbers + i * LENGTH);
  }
  if (numbers && next) {
    data = burn_dataset_memory(columns, 2, values, count, status);
  } else if (*status == BURN_OK) {
    *status = burn_status_make(BURN_STATUS_OUT_OF_MEMORY,
                               "no memory for %zu sequences", count);
  }
  free(numbers);
  free(next);
  return data;
}

/* -- training -------------------------------------------------------------- */

typedef struct Options {
  size_t epochs, batch_size, items, hidden, layers, seed;
  double noise, learning_rate, dropout;
  const char *backend;
  bool one_way, json;
} Options;

static BurnStepOutput network_step(void *context, const void *model,
                                   BurnBatch *batch) {
  (void)context;
  const BurnMseLoss mse = burn_mse_loss_init();
  BurnTensor *next = burn_float(burn_batch_take(batch, "next"));
  BurnTensor *guess =
      network_forward(model, burn_float(burn_batch_take(batch, "sequence")));
  BurnTensor *loss = burn_mse_loss_forward(
      &mse, burn_clone(guess), burn_clone(next), BURN_REDUCTION_MEAN);
  return burn_regression_output(loss, guess, next);
}

/* A few sequences that were not learned from, beside what is right. */
static BurnStatus show(const Options *options, const Network *m,
                       BurnDevice *device) {
  Random random = {options->seed + 2};
  BurnStatus status = BURN_OK;
  for (int i = 0; i < 5 && status == BURN_OK && !options->json; i++) {
    float numbers[LENGTH], guess = 0;
    const float next = draw_sequence(&random, options->noise, numbers);
    BurnTensor *x = burn_tensor_f32(device, numbers, BURN_SHAPE(1, LENGTH, 1));
    status = burn_read_f32(network_forward(m, burn_float(x)), &guess, 1);
    printf("... %7.2f %7.2f   then %7.2f, predicted %7.2f\n",
           (double)numbers[LENGTH - 2], (double)numbers[LENGTH - 1],
           (double)next, (double)guess);
  }
  return status;
}

static void print_result(const Options *options, const BurnDevice *device,
                         const BurnLearnerResult *result) {
  const BurnEpochResult *last = &result->last;
  printf(
      "%s\"backend\":%s,\"seed\":%zu,\"epochs\":%zu,\"processor_seconds\":%.2f,"
      "\"train_loss\":%s,\"valid_loss\":%s}\n",
      result_begin(options->json), json_text(burn_device_name(device)).text,
      options->seed, result->epochs_done, program_processor_seconds(),
      json_number(burn_epoch_metric(last, "Loss", BURN_SPLIT_TRAIN)).text,
      json_number(burn_epoch_metric(last, "Loss", BURN_SPLIT_VALID)).text);
}

static BurnStatus fit(const Options *options, BurnDevice *device, Network *m,
                      BurnLearnerResult *result) {
  const BurnLoaderConfig shuffled = {.batch_size = options->batch_size,
                                     .shuffle = true,
                                     .seed = options->seed};
  BurnStatus status = BURN_OK;
  BurnLoader *train = burn_loader_create(
      sequences(options->items, options->noise, options->seed, &status),
      &shuffled, &status);
  BurnLoader *valid =
      burn_loader_create(sequences(options->items / 5 + 1, options->noise,
                                   options->seed + 1, &status),
                         &shuffled, &status);
  BurnAdamConfig adam = BurnAdamConfig_defaults();
  adam.clipping = (BurnGradientClipping)BURN_CLIP_GLOBAL_NORM(1);
  BurnCosineAnnealingConfig cosine = BurnCosineAnnealingConfig_defaults(
      options->learning_rate,
      train ? options->epochs * burn_loader_batch_count(train) : 1);
  BurnOptimizer *optimizer = burn_adam_create(&adam);
  const BurnLearnerConfig learner = {
      .epochs = options->epochs,
      .schedule = burn_schedule_cosine_annealing(&cosine),
      .quiet = options->json};
  const BurnTask task = {network_step, NULL};
  if (status == BURN_OK) {
    status = burn_learner_fit(&learner, &task, device, burn_module(Network, m),
                              optimizer, train, valid, result);
  }
  burn_optimizer_destroy(optimizer);
  burn_loader_destroy(train);
  burn_loader_destroy(valid);
  return status;
}

static BurnStatus run(const Options *options, BurnDevice *device, Network *m) {
  NetworkConfig config = NetworkConfig_defaults(1, options->hidden);
  config.layers = options->layers;
  config.dropout = options->dropout;
  config.bidirectional = !options->one_way;
  burn_device_seed(device, options->seed);
  *m = network_init(&config, device);
  BurnLearnerResult result;
  BurnStatus status = burn_module_status(burn_module(Network, m));
  if (status == BURN_OK) status = fit(options, device, m, &result);
  if (status != BURN_OK) return status;
  Network valid = Network_valid(m);
  status = show(options, &valid, burn_device_inner(device));
  Network_release(&valid);
  if (status == BURN_OK) print_result(options, device, &result);
  return status;
}

int main(int argc, char **argv) {
  program_begin();
  Options options = {.epochs = 30,
                     .batch_size = 32,
                     .items = 1000,
                     .hidden = 32,
                     .layers = 2,
                     .seed = 1,
                     .noise = 0.1,
                     .learning_rate = 1e-2,
                     .dropout = 0.1};
  const Argument arguments[] = {
      {"epochs", ARGUMENT_SIZE, &options.epochs, "N", "passes"},
      {"batch-size", ARGUMENT_SIZE, &options.batch_size, "N",
       "sequences a step"},
      {"items", ARGUMENT_SIZE, &options.items, "N", "sequences to learn from"},
      {"hidden", ARGUMENT_SIZE, &options.hidden, "N", "size of the state"},
      {"layers", ARGUMENT_SIZE, &options.layers, "N", "cells in a stack"},
      {"one-way", ARGUMENT_FLAG, &options.one_way, NULL,
       "read from the start only"},
      {"noise", ARGUMENT_NUMBER, &options.noise, "X", "in the sequences"},
      {"dropout", ARGUMENT_NUMBER, &options.dropout, "X", "share dropped"},
      {"lr", ARGUMENT_NUMBER, &options.learning_rate, "X",
       "first learning rate"},
      {"seed", ARGUMENT_SIZE, &options.seed, "N", "of all that is random"},
      ARGUMENT_BACKEND(&options),
      ARGUMENT_JSON(&options),
  };
  static const char usage[] =
      "usage: modern_lstm [options]   go on with sequences of numbers";
  const int parsed =
      arguments_parse(argc, argv, usage, arguments,
                      sizeof arguments / sizeof arguments[0], NULL, 0);
  if (parsed != ARGUMENTS_OK) return parsed == ARGUMENTS_HELP ? 0 : 2;
  if (options.layers < 1 || options.hidden < 1 || options.items < 1) {
    fprintf(stderr,
            "modern_lstm: --layers, --hidden and --items are at least 1\n");
    return 2;
  }
  BurnDevice *device = burn_device_open_training(options.backend);
  Network m;
  memset(&m, 0, sizeof m);
  BurnStatus status = burn_device_status(device);
  if (status == BURN_OK) status = run(&options, device, &m);
  Network_release(&m);
  burn_device_close(device);
  return program_end("modern_lstm", status);
}
