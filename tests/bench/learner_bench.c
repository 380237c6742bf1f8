/* learner_bench.c - what the learner costs over a loop by hand: the guide's CNN, the same batches, the same steps.
 *
 * Three sides take turns, an epoch each: the bare loop (loader, forward, loss, burn_train_step), the learner with no
 * metric beside the loss, and the learner as it is, with the accuracy and its on_batch callbacks. Compared is the
 * processor time of the fastest epoch of each, since other programs move the clock on the wall. The losses of the sides are compared too: they must be the same bits.
 *
 *   learner_bench [--steps N] [--rounds N] [--batch-size N] [--backend STACK] [--limit PERCENT] [--json] [--side SIDE]
 *
 * With --side an epoch of that side alone runs, and nothing is printed: ./dev bench learner --instructions counts what two
 * epochs of different lengths execute. */
#include "bench_time.h"
#include "../../sdk/examples/mnist/model.h"

#include "../../sdk/examples/common/arguments.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ROUNDS = 101 };
#define LEARNING_RATE 1e-3

typedef struct Options {
  size_t steps, rounds, batch_size;
  double limit;
  const char *backend, *side;
  bool json;
} Options;

static void check(BurnStatus status) {
  if (status == BURN_OK) return;
  fprintf(stderr, "learner_bench: %s\n", burn_status_message(status));
  exit(1);
}

static double processor_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* -- the sides -------------------------------------------------------------------------------- */

enum { BARE, LOSS_ONLY, USUAL, SIDES };
static const char *const side_names[SIDES] = {"bare loop", "learner, loss alone", "learner, loss and accuracy"};
static const char *const side_options[SIDES] = {"bare", "loss", "usual"};

/* What the epochs of a side came to. */
typedef struct Side {
  double seconds[MAX_ROUNDS]; /* of the processor, per step */
  double parameters;          /* a sum over all of them at the end of an epoch */
} Side;

/* A model with its optimizer, made anew for each epoch: so all sides begin alike, and in memory alike. */
typedef struct Start {
  BurnDevice *device;
  Model model;
  BurnOptimizer *optimizer;
} Start;

static Start start_make(BurnDevice *device) {
  const ModelConfig config = ModelConfig_defaults(10, 512);
  burn_device_seed(device, 42);
  Start start = {device, model_init(&config, device), burn_adam_create(NULL)};
  check(burn_module_status(burn_module(Model, &start.model)));
  return start;
}

static void start_end(Start *start) {
  burn_optimizer_destroy(start->optimizer);
  Model_release(&start->model);
}

static void bare_epoch(Start *start, BurnLoader *loader) {
  BurnBatches *batches = burn_loader_start(loader, start->device, 1, 0);
  BurnBatch batch;
  BurnStatus status = BURN_OK;
  while (status == BURN_OK && burn_batches_next(batches, &batch)) {
    BurnTensor *targets = burn_batch_take(&batch, "label");
    BurnTensor *output = model_forward(&start->model, burn_float(burn_batch_take(&batch, "image")));
    BurnTensor *loss = burn_cross_entropy(output, targets);
    status = burn_train_step(start->optimizer, burn_module(Model, &start->model), loss, LEARNING_RATE);
  }
  check(status);
  check(burn_batches_stop(batches));
}

static BurnMeasured nothing(const void *config, const BurnMetricInput *input) {
  (void)config;
  (void)input;
  return (BurnMeasured){.weight = 0};
}
static const BurnMetricInterface no_metric = {.name = "none", .scale = 1, .measure = nothing};

static BurnStatus heard(void *context, const BurnBatchEvent *event) {
  *(size_t *)context += event->batch > 0;
  return BURN_OK;
}

static void learner_epoch(Start *start, BurnLoader *loader, bool usual) {
  const BurnMetric none = {&no_metric, NULL, NULL};
  size_t events = 0;
  BurnLearnerConfig config = {.epochs = 1, .learning_rate = LEARNING_RATE, .quiet = true};
  if (!usual) config.metrics = (BurnMetricList){&none, 1};
  if (usual) config.on_batch = (BurnBatchCallbacks){heard, heard, &events};
  const BurnTask task = {model_step, NULL};
  check(burn_learner_fit(&config, &task, start->device, burn_module(Model, &start->model), start->optimizer, loader,
                         NULL, NULL));
}

/* -- measuring -------------------------------------------------------------------------------- */

static BurnStatus add_parameters(void *context, const BurnModuleTensor *tensor) {
  double sum = 0;
  if (!tensor->param) return BURN_OK;
  const BurnStatus status = burn_read_scalar(burn_sum(burn_inner(burn_param_value(tensor->param))), &sum);
  *(double *)context += sum;
  return status;
}

static void one_epoch(Side *side, size_t which, size_t round, BurnDevice *device, BurnLoader *loader) {
  Start start = start_make(device);
  check(burn_device_sync(device));
  const double begin = processor_seconds();
  if (which == BARE) bare_epoch(&start, loader);
  if (which != BARE) learner_epoch(&start, loader, which == USUAL);
  check(burn_device_sync(device));
  side->seconds[round] = (processor_seconds() - begin) / (double)burn_loader_batch_count(loader);
  side->parameters = 0;
  check(burn_module_visit(burn_module(Model, &start.model), add_parameters, &side->parameters));
  start_end(&start);
}

static void one_round(Side *sides, size_t round, BurnDevice *device, BurnLoader *loader) {
  for (size_t i = 0; i < SIDES; i++) { /* nobody always comes first */
    const size_t which = (round + i) % SIDES;
    one_epoch(&sides[which], which, round, device, loader);
  }
}

/* The fastest epoch: what others do to the machine only makes it slower. */
static double fastest(const Side *side, size_t rounds) {
  double least = side->seconds[0];
  for (size_t i = 1; i < rounds; i++) least = fmin(least, side->seconds[i]);
  return least;
}

/* In percent over the bare loop. */
static double cost_of(const Side *sides, size_t which, size_t rounds) {
  return 100 * (fastest(&sides[which], rounds) / fastest(&sides[BARE], rounds) - 1);
}

static bool report(const Options *options, const Side *sides) {
  bool same = true;
  for (size_t i = 0; i < SIDES; i++) {
    same = same && memcmp(&sides[i].parameters, &sides[BARE].parameters, sizeof sides[i].parameters) == 0;
    const double us = 1e6 * fastest(&sides[i], options->rounds), cost = cost_of(sides, i, options->rounds);
    printf(options->json ? "{\"side\":\"%s\",\"us_per_step\":%.1f,\"cost_percent\":%.2f}\n"
                         : "%-28s %9.1f us  %+6.2f %%\n",
           side_names[i], us, cost);
  }
  if (!same) fprintf(stderr, "learner_bench: the sides have learned different parameters\n");
  const double cost = cost_of(sides, USUAL, options->rounds);
  const bool cheap = options->limit <= 0 || cost <= options->limit;
  if (!cheap) fprintf(stderr, "learner_bench: the learner costs %.2f %%, more than %g %%\n", cost, options->limit);
  return same && cheap;
}

static BurnLoader *digits(const Options *options) {
  const TrainingConfig settings = {.train_items = options->steps * options->batch_size, .seed = 1};
  const BurnLoaderConfig config = {.batch_size = options->batch_size, .shuffle = true, .seed = 1};
  BurnStatus status = BURN_OK;
  BurnDataset *data = burn_dataset_cache(mnist_data(&settings, BURN_MNIST_TRAIN, &status), &status);
  BurnLoader *loader = burn_loader_create(data, &config, &status);
  check(status);
  return loader;
}

/* The side that --side names; SIDES if it is none. */
static size_t side_of(const char *name) {
  size_t which = 0;
  while (which < SIDES && strcmp(name, side_options[which]) != 0) which++;
  return which;
}

static bool all_sides(const Options *options, BurnDevice *device, BurnLoader *loader) {
  static Side sides[SIDES];
  one_round(sides, 0, device, loader); /* warm-up, measured anew below */
  for (size_t round = 0; round < options->rounds; round++) one_round(sides, round, device, loader);
  return report(options, sides);
}

static bool run(const Options *options) {
  static Side alone;
  BurnLoader *loader = digits(options);
  BurnDevice *device = burn_device_open_training(options->backend);
  check(burn_device_status(device));
  bool good = true;
  if (options->side) one_epoch(&alone, side_of(options->side), 0, device, loader);
  if (!options->side) good = all_sides(options, device, loader);
  burn_device_close(device);
  burn_loader_destroy(loader);
  return good;
}

int main(int argc, char **argv) {
  Options options = {.steps = 200, .rounds = 15, .batch_size = 64};
  const Argument arguments[] = {
      {"steps", ARGUMENT_SIZE, &options.steps, "N", "of an epoch"},
      {"rounds", ARGUMENT_SIZE, &options.rounds, "N", "epochs of each side, at most 101"},
      {"batch-size", ARGUMENT_SIZE, &options.batch_size, "N", "images a step"},
      {"limit", ARGUMENT_NUMBER, &options.limit, "PERCENT", "status 1 if the learner costs more; 0: any"},
      {"backend", ARGUMENT_TEXT, &options.backend, "STACK", "such as ndarray; default: BURN_BACKEND or the best"},
      {"json", ARGUMENT_FLAG, &options.json, NULL, "every line a JSON object"},
      {"side", ARGUMENT_TEXT, &options.side, "SIDE", "one epoch of bare, loss or usual; no report"},
  };
  const int parsed = arguments_parse(argc, argv, "usage: learner_bench [options]", arguments,
                                     sizeof arguments / sizeof arguments[0], NULL, 0);
  if (parsed != ARGUMENTS_OK) return parsed == ARGUMENTS_HELP ? 0 : 2;
  if (options.steps < 1 || options.batch_size < 1 || options.rounds < 1 || options.rounds > MAX_ROUNDS) {
    fprintf(stderr, "learner_bench: --steps and --batch-size are at least 1, --rounds is within 1..%d\n", MAX_ROUNDS);
    return 2;
  }
  if (options.side && side_of(options.side) == SIDES) {
    fprintf(stderr, "learner_bench: --side is bare, loss or usual, not '%s'\n", options.side);
    return 2;
  }
  return run(&options) ? 0 : 1;
}
