/* bench_curves.c - `burn bench curves`: every model of the suite trained on two stacks from the same seed. What a layer
 * does to be fast must not be seen in what is learned: the curves of the loss are compared step by step. */
#include "bench.h"

#include "../../examples/common/arguments.h"

#include <math.h>
#include <string.h>

enum { MAX_STEPS = 10000 };

typedef struct Options {
  const char *stacks, *only;
  size_t steps;
  double tolerance;
  bool small, json;
} Options;

typedef struct Curve {
  double losses[MAX_STEPS];
} Curve;

static BurnStatus train(const Network *network, const int64_t *args, const char *stack, size_t steps, Curve *curve) {
  static Subject subject;
  const Kind *kind = kind_find(network->name);
  BurnStatus status = subject_begin(&subject, kind, args, BURN_DTYPE_F32, stack);
  for (size_t i = 0; i < steps && status == BURN_OK; i++) {
    status = kind->run(&subject);
    curve->losses[i] = subject.loss;
  }
  subject_end(&subject);
  return burn_status_annotate(status, "%s on %s", network->name, stack);
}

/* The largest difference of two losses of the same step, relative to the first. */
static double largest_difference(const Curve *a, const Curve *b, size_t steps) {
  double largest = 0;
  for (size_t i = 0; i < steps; i++) largest = fmax(largest, fabs(a->losses[i] - b->losses[i]) / fabs(a->losses[i]));
  return largest;
}

static void tell(const Options *options, const Network *network, const Curve *a, const Curve *b, double difference) {
  const size_t last = options->steps - 1;
  if (options->json) {
    printf(
        "{\"curve\":\"%s\",\"steps\":%zu,\"first_loss\":%.9g,\"last_loss\":%.9g,\"other_last_loss\":%.9g,"
        "\"difference\":%.3g}\n",
        network->name, options->steps, a->losses[0], a->losses[last], b->losses[last], difference);
    return;
  }
  printf("%-8s loss %.6f -> %.6f, other %.6f -> %.6f; largest difference %.1e%s\n", network->name, a->losses[0],
         a->losses[last], b->losses[0], b->losses[last], difference,
         difference <= options->tolerance ? "" : "  TOO MUCH");
  fflush(stdout);
}

/* `*apart` counts the models whose curves differ too much, `*compared` all. */
static BurnStatus compare(const Options *options, const Bench *bench, int *apart, int *compared) {
  static Curve a, b;
  BurnStatus status = BURN_OK;
  for (const NetworkSizes *sizes = bench_networks; sizes->network && status == BURN_OK; sizes++) {
    if (options->only && strcmp(options->only, sizes->network->name) != 0) continue;
    const int64_t *args = options->small ? sizes->small : sizes->full;
    status = train(sizes->network, args, bench->stacks[0], options->steps, &a);
    if (status == BURN_OK) status = train(sizes->network, args, bench->stacks[1], options->steps, &b);
    if (status != BURN_OK) break;
    const double difference = largest_difference(&a, &b, options->steps);
    tell(options, sizes->network, &a, &b, difference);
    *apart += !(difference <= options->tolerance);
    ++*compared;
  }
  return status;
}

int curves_main(int argc, char **argv) {
  Options options = {.stacks = "ndarray,ndarray:gemm=builtin", .steps = 30, .tolerance = 1e-3};
  const Argument arguments[] = {
      {"stacks", ARGUMENT_TEXT, &options.stacks, "A,B", "the two stacks; autodiff is put on top"},
      {"steps", ARGUMENT_SIZE, &options.steps, "N", "of training"},
      {"tolerance", ARGUMENT_NUMBER, &options.tolerance, "T", "largest relative difference of two losses"},
      {"only", ARGUMENT_TEXT, &options.only, "MODEL",
       "one of guide, lenet, mlp, gpt, lstm, resnet, resnet50, vit, unet, bert, lstm_language"},
      {"small", ARGUMENT_FLAG, &options.small, NULL, "small models, for a quick look"},
      {"json", ARGUMENT_FLAG, &options.json, NULL, "one JSON object per model"},
  };
  const int parsed =
      arguments_parse(argc, argv,
                      "usage: burn bench curves [options]\n\n"
                      "Trains the models on two stacks from the same seed and compares the losses step by step.",
                      arguments, sizeof arguments / sizeof arguments[0], NULL, 0);
  if (parsed != ARGUMENTS_OK) return parsed == ARGUMENTS_HELP ? 0 : 2;
  Bench bench = {0};
  if (stacks_split(options.stacks, &bench) != BURN_OK) bench.stack_count = 0;
  if (bench.stack_count != 2 || options.steps < 1 || options.steps > MAX_STEPS) {
    fprintf(stderr, "burn bench: --stacks takes two stacks, --steps 1..%d\n", MAX_STEPS);
    return 2;
  }
  int apart = 0, compared = 0;
  const BurnStatus status = compare(&options, &bench, &apart, &compared);
  if (status != BURN_OK) fprintf(stderr, "burn bench: %s\n", burn_status_message(status));
  if (status == BURN_OK && compared == 0)
    fprintf(stderr, "burn bench: --only '%s' is not a model; see --help\n", options.only);
  if (apart > 0)
    fprintf(stderr, "burn bench: %d of %d curves differ by more than %g\n", apart, compared, options.tolerance);
  return status != BURN_OK || apart > 0 ? 1 : compared == 0 ? 2 : 0;
}
