/* regression.c - fit a curve: y = sin(3 x) + 0.3 x^2 with noise, by a small
 * MLP, a loader and a hand-written loop.
 *
 * The steps of the tutorial: data, model, optimizer, loop, evaluation on
 * held-out points. mnist.c shows the learner, which does the loop for you. */
#define _POSIX_C_SOURCE 200809L
#include <burn/burn.h>
#include <burn/nn.h>
#include <burn/train.h>

#include "../common/arguments.h"
#include "../common/program.h"
#include "../common/result.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MLP_FIELDS(X)                    \
  X(BurnLinear, fc1, "1 -> hidden")      \
  X(BurnLinear, fc2, "hidden -> hidden") \
  X(BurnLinear, fc3, "hidden -> 1")      \
  X(BurnTanh, activation, "")
BURN_MODULE(Mlp, MLP_FIELDS);

static Mlp mlp_init(size_t hidden, BurnDevice *device) {
  return (Mlp){.fc1 = burn_linear_new(1, hidden, device),
               .fc2 = burn_linear_new(hidden, hidden, device),
               .fc3 = burn_linear_new(hidden, 1, device)};
}

/* takes x [n, 1] -> [n, 1] */
static BurnTensor *mlp_forward(const Mlp *m, BurnTensor *x) {
  x = burn_tanh_forward(&m->activation, burn_linear_forward(&m->fc1, x));
  x = burn_tanh_forward(&m->activation, burn_linear_forward(&m->fc2, x));
  return burn_linear_forward(&m->fc3, x);
}

static BurnTensor *mlp_loss(const Mlp *m, BurnBatch *batch) {
  const BurnMseLoss mse = burn_mse_loss_init();
  /* The device's default may be f64. */
  BurnTensor *truth = burn_float(burn_batch_take(batch, "y"));
  BurnTensor *guess = mlp_forward(m, burn_float(burn_batch_take(batch, "x")));
  return burn_mse_loss_forward(&mse, guess, truth, BURN_REDUCTION_MEAN);
}

/* `count` points with x in -2..2, spread evenly, and noise from a fixed
 * generator. */
static BurnDataset *make_points(size_t count, size_t seed, BurnStatus *status) {
  float *x = malloc(count * sizeof *x), *y = malloc(count * sizeof *y);
  unsigned state = (unsigned)seed * 2654435761u + 12345u;
  for (size_t i = 0; x && y && i < count; i++) {
    state = state * 1664525u + 1013904223u;
    x[i] = -2 + 4 * ((float)i + 0.5f) / (float)count;
    const float noise = (float)(state >> 8) / 16777216.0f - 0.5f;
    y[i] = sinf(3 * x[i]) + 0.3f * x[i] * x[i] + 0.1f * noise;
  }
  const BurnColumn columns[] = {{"x", BURN_DTYPE_F32, BURN_SHAPE(1)},
                                {"y", BURN_DTYPE_F32, BURN_SHAPE(1)}};
  const void *const values[] = {x, y};
  BurnDataset *data = NULL;
  if (x && y) {
    data = burn_dataset_memory(columns, 2, values, count, status);
  } else if (*status == BURN_OK) {
    *status = burn_status_make(BURN_STATUS_OUT_OF_MEMORY,
                               "no memory for %zu points", count);
  }
  free(x);
  free(y);
  return data;
}

static BurnStatus train_epoch(Mlp *mlp, BurnOptimizer *optimizer,
                              BurnLoader *loader, BurnDevice *device,
                              size_t epoch, double rate) {
  const BurnModule module = burn_module(Mlp, mlp);
  BurnStatus status = BURN_OK;
  BurnBatches *batches = burn_loader_start(loader, device, epoch, 0);
  BurnBatch batch;
  while (status == BURN_OK && burn_batches_next(batches, &batch)) {
    BurnTensor *loss = mlp_loss(mlp, &batch);
    status = burn_train_step(optimizer, module, loss, rate);
  }
  const BurnStatus stopped = burn_batches_stop(batches);
  return status != BURN_OK ? status : stopped;
}

/* Mean squared error on the inner device, where nothing is recorded. */
static BurnStatus evaluate(const Mlp *mlp, BurnLoader *loader,
                           BurnDevice *device, double *error) {
  Mlp valid = Mlp_valid(mlp);
  BurnStatus status = BURN_OK;
  double total = 0, items = 0;
  BurnDevice *inner = burn_device_inner(device);
  BurnBatches *batches = burn_loader_start(loader, inner, 1, 0);
  BurnBatch batch;
  while (status == BURN_OK && burn_batches_next(batches, &batch)) {
    double loss = 0;
    status = burn_read_scalar(mlp_loss(&valid, &batch), &loss);
    total += loss * (double)batch.item_count;
    items += (double)batch.item_count;
  }
  const BurnStatus stopped = burn_batches_stop(batches);
  Mlp_release(&valid);
  *error = total / items;
  return status != BURN_OK ? status : stopped;
}

typedef struct Options {
  size_t epochs, batch_size, seed, hidden;
  double learning_rate;
  const char *backend;
  bool json;
} Options;

/* The mean squared error at the end of a run, and how long it took. */
typedef struct Outcome {
  double error, seconds;
} Outcome;

static void report(const Options *options, size_t epoch, double error) {
  if (options->json) {
    printf("{\"event\":\"epoch\",\"epoch\":%zu,\"test_loss\":%s}\n", epoch,
           json_number(error).text);
  } else {
    printf("epoch %3zu   test: mean squared error %.5f\n", epoch, error);
  }
}

static double seconds_since(const struct timespec *begin) {
  struct timespec end;
  clock_gettime(CLOCK_MONOTONIC, &end);
  return (double)(end.tv_sec - begin->tv_sec) +
         1e-9 * (double)(end.tv_nsec - begin->tv_nsec);
}

static BurnStatus run(const Options *options, BurnDevice *device, Mlp *mlp,
                      Outcome *outcome) {
  const BurnLoaderConfig shuffled = {.batch_size = options->batch_size,
                                     .shuffle = true,
                                     .seed = options->seed};
  const BurnLoaderConfig ordered = {.batch_size = options->batch_size};
  BurnStatus status = BURN_OK; /* the first failure of what follows stays */
  BurnDataset *points = make_points(1024, options->seed, &status);
  BurnLoader *train = burn_loader_create(points, &shuffled, &status);
  points = make_points(333, options->seed + 1, &status);
  BurnLoader *test = burn_loader_create(points, &ordered, &status);
  BurnOptimizer *optimizer = burn_adam_create(NULL);
  burn_device_seed(device, options->seed);
  *mlp = mlp_init(options->hidden, device);
  if (status == BURN_OK) status = burn_module_status(burn_module(Mlp, mlp));
  struct timespec begin;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  const size_t epochs = options->epochs;
  for (size_t epoch = 1; status == BURN_OK && epoch <= epochs; epoch++) {
    status = train_epoch(mlp, optimizer, train, device, epoch,
                         options->learning_rate);
    if (epoch % 20 != 0 && epoch != 1 && epoch != epochs) continue;
    double *error = &outcome->error;
    if (status == BURN_OK) status = evaluate(mlp, test, device, error);
    if (status == BURN_OK) report(options, epoch, *error);
  }
  outcome->seconds = seconds_since(&begin);
  burn_optimizer_destroy(optimizer);
  burn_loader_destroy(train);
  burn_loader_destroy(test);
  return status;
}

static void print_result(const Options *options, const BurnDevice *device,
                         const Outcome *outcome) {
  printf(
      "%s\"backend\":%s,\"seed\":%zu,\"epochs\":%zu,"
      "\"seconds_per_epoch\":%.4f,\"test_loss\":%s}\n",
      result_begin(options->json), json_text(burn_device_name(device)).text,
      options->seed, options->epochs,
      outcome->seconds / (double)options->epochs,
      json_number(outcome->error).text);
}

int main(int argc, char **argv) {
  program_begin();
  Options options = {.epochs = 100,
                     .batch_size = 32,
                     .seed = 1,
                     .hidden = 32,
                     .learning_rate = 3e-3};
  const Argument arguments[] = {
      {"epochs", ARGUMENT_SIZE, &options.epochs, "N", "passes over the points"},
      {"batch-size", ARGUMENT_SIZE, &options.batch_size, "N", "points a step"},
      {"hidden", ARGUMENT_SIZE, &options.hidden, "N", "width of hidden layers"},
      {"lr", ARGUMENT_NUMBER, &options.learning_rate, "X", "learning rate"},
      {"seed", ARGUMENT_SIZE, &options.seed, "N", "of points, weights, order"},
      ARGUMENT_BACKEND(&options),
      ARGUMENT_JSON(&options),
  };
  static const char usage[] =
      "usage: regression [options]   fit a curve with an MLP";
  const int parsed = arguments_parse(argc, argv, usage, arguments, 7, NULL, 0);
  if (parsed != ARGUMENTS_OK) return parsed == ARGUMENTS_HELP ? 0 : 2;
  if (options.epochs < 1 || options.hidden < 1) {
    fprintf(stderr, "regression: --epochs and --hidden are at least 1\n");
    return 2;
  }
  BurnDevice *device = burn_device_open_training(options.backend);
  Mlp mlp;
  memset(&mlp, 0, sizeof mlp);
  Outcome outcome = {(double)NAN, 0};
  BurnStatus status = burn_device_status(device);
  if (status == BURN_OK) status = run(&options, device, &mlp, &outcome);
  if (status == BURN_OK) {
    print_result(&options, device, &outcome);
  } else {
    fprintf(stderr, "regression: %s\n", burn_status_message(status));
  }
  Mlp_release(&mlp);
  burn_device_close(device);
  return status != BURN_OK;
}
