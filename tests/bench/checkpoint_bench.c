/* checkpoint_bench.c - the memory and the time of a training step of a transformer encoder: everything kept for the
 * backward pass, memory-bound ops computed again (autodiff:checkpointing=balanced), and each layer in a checkpoint
 * region. Fails unless both need less memory, the regions less than balanced, with the same loss to the bit.
 *
 *   checkpoint_bench [--below STACK] [--layers N] [--model N] [--batch N] [--length N] [--rounds N]
 *
 * A round takes one step of each in turn, the times are medians of the rounds; those of the CPU say more on a busy
 * machine. Activations: the highest memory of the
 * first two steps, without weights, their gradients and what the optimizer keeps. */
#include "bench_time.h"
#include "../../sdk/examples/common/arguments.h"

#include <burn/burn.h>
#include <burn/nn.h>
#include <burn/train.h>

#include <stdio.h>
#include <stdlib.h>

enum { KEPT, BALANCED, REGIONS, WAYS, MAX_ROUNDS = 1000 };

typedef struct Sizes {
  size_t layers, model, batch, length, rounds;
} Sizes;

/* One way, with a model of its own. */
typedef struct Way {
  const char *name;
  bool regions;
  BurnDevice *device;
  BurnTransformerEncoder encoder;
  BurnOptimizer *optimizer;
  BurnTensor *x; /* [batch, length, model] */
  double loss;   /* of the last step */
  double seconds[MAX_ROUNDS], cpu_seconds[MAX_ROUNDS];
  int64_t weights, optimizer_bytes, peak;
} Way;

static int64_t bytes_in_use(const Way *way) { return burn_device_memory(way->device).bytes_in_use; }

static BurnTensor *forward(const Way *way, BurnStatus *status) {
  BurnTensor *x = burn_clone(way->x);
  for (size_t i = 0; i < way->encoder.layers.count; i++) {
    const BurnTransformerEncoderInput input = {.tensor = x};
    const bool begun = way->regions && *status == BURN_OK;
    if (begun) *status = burn_checkpoint_begin(way->device);
    x = burn_transformer_encoder_layer_forward(burn_module_list_at(&way->encoder.layers, i), input);
    if (begun && *status == BURN_OK) *status = burn_checkpoint_end(way->device);
  }
  return x;
}

/* One step from the forward pass to the new weights. */
static BurnStatus step(Way *way, double *seconds, double *cpu_seconds) {
  const double begin = seconds_now();
  const clock_t cpu_begin = clock();
  BurnStatus status = BURN_OK;
  BurnTensor *loss = burn_mean(burn_square(forward(way, &status))), *shown = burn_clone(loss);
  const BurnStatus trained =
      burn_train_step(way->optimizer, burn_module(BurnTransformerEncoder, &way->encoder), loss, 1e-4);
  const BurnStatus read = burn_read_scalar(shown, &way->loss);
  if (status == BURN_OK) status = trained;
  if (status == BURN_OK) status = read;
  if (status == BURN_OK) status = burn_device_sync(way->device);
  *seconds = seconds_now() - begin;
  *cpu_seconds = (double)(clock() - cpu_begin) / CLOCKS_PER_SEC;
  return status;
}

/* The first steps, which fill caches and the optimizer, and after which the memory is what it stays. */
static BurnStatus open_way(Way *way, const char *stack, const Sizes *sizes) {
  double seconds = 0, cpu_seconds = 0;
  way->device = burn_device_open(stack);
  BurnStatus status = burn_device_status(way->device);
  if (status != BURN_OK) return status;
  burn_device_seed(way->device, 1);
  way->x =
      burn_random_normal(way->device, BURN_SHAPE((int64_t)sizes->batch, (int64_t)sizes->length, (int64_t)sizes->model),
                         BURN_DTYPE_DEFAULT, 0, 1);
  const int64_t empty = bytes_in_use(way);
  way->encoder = burn_transformer_encoder_new(sizes->model, 4 * sizes->model, 8, sizes->layers, way->device);
  way->optimizer = burn_adam_create(NULL);
  status = burn_module_status(burn_module(BurnTransformerEncoder, &way->encoder));
  way->weights = bytes_in_use(way) - empty;
  for (int i = 0; status == BURN_OK && i < 2; i++) status = step(way, &seconds, &cpu_seconds);
  way->optimizer_bytes = bytes_in_use(way) - empty - way->weights;
  way->peak = burn_device_memory(way->device).bytes_peak;
  return status;
}

static void close_way(Way *way) {
  burn_drop(way->x);
  burn_optimizer_destroy(way->optimizer);
  BurnTransformerEncoder_release(&way->encoder);
  burn_device_close(way->device);
}

static double median(double *values, size_t count) {
  qsort(values, count, sizeof *values, by_size);
  return values[count / 2];
}

static int64_t activations(const Way *way) { return way->peak - 2 * way->weights - way->optimizer_bytes; }

static void show(Way *ways, const Sizes *sizes) {
  const double kept = median(ways[KEPT].seconds, sizes->rounds), cpu = median(ways[KEPT].cpu_seconds, sizes->rounds);
  printf("weights %.1f MB, as much for gradients, optimizer %.1f MB\n", (double)ways[KEPT].weights / 1e6,
         (double)ways[KEPT].optimizer_bytes / 1e6);
  printf("%-10s %10s %6s %10s %6s %15s %6s %10s %6s\n", "", "ms a step", "x", "ms of CPU", "x", "activations MB", "%",
         "in all MB", "%");
  for (size_t i = 0; i < WAYS; i++) {
    Way *way = &ways[i];
    const double seconds = median(way->seconds, sizes->rounds);
    const double cpu_seconds = median(way->cpu_seconds, sizes->rounds);
    printf("%-10s %10.1f %6.2f %10.1f %6.2f %15.1f %6.1f %10.1f %6.1f\n", way->name, 1e3 * seconds, seconds / kept,
           1e3 * cpu_seconds, cpu_seconds / cpu, (double)activations(way) / 1e6,
           100.0 * (double)activations(way) / (double)activations(&ways[KEPT]), (double)way->peak / 1e6,
           100.0 * (double)way->peak / (double)ways[KEPT].peak);
  }
}

/* What must hold however busy the machine is. */
static int verdict(const Way *ways) {
  const bool same = ways[BALANCED].loss == ways[KEPT].loss && ways[REGIONS].loss == ways[KEPT].loss;
  if (!same)
    fprintf(stderr, "checkpoint_bench: the losses differ: kept %.17g, balanced %.17g, regions %.17g\n", ways[KEPT].loss,
            ways[BALANCED].loss, ways[REGIONS].loss);
  const bool less = ways[BALANCED].peak < ways[KEPT].peak && ways[REGIONS].peak < ways[BALANCED].peak;
  if (!less) fprintf(stderr, "checkpoint_bench: the memory does not fall\n");
  return same && less ? 0 : 1;
}

static BurnStatus measure(Way *ways, const char *below, const Sizes *sizes) {
  static const char *const options[WAYS] = {"", ":checkpointing=balanced", ""};
  BurnStatus status = BURN_OK;
  for (size_t i = 0; status == BURN_OK && i < WAYS; i++) {
    char stack[300];
    (void)snprintf(stack, sizeof stack, "autodiff%s<%.200s>", options[i], below);
    status = open_way(&ways[i], stack, sizes);
  }
  for (size_t round = 0; round < sizes->rounds; round++)
    for (size_t i = 0; status == BURN_OK && i < WAYS; i++)
      status = step(&ways[i], &ways[i].seconds[round], &ways[i].cpu_seconds[round]);
  return status;
}

int main(int argc, char **argv) {
  const char *below = "ndarray";
  Sizes sizes = {12, 256, 8, 128, 7};
  const Argument arguments[] = {
      {"below", ARGUMENT_TEXT, &below, "STACK", "what autodiff runs on; default: ndarray"},
      {"layers", ARGUMENT_SIZE, &sizes.layers, "N", "of the encoder; default: 12"},
      {"model", ARGUMENT_SIZE, &sizes.model, "N", "size of a token, a multiple of 8; default: 256"},
      {"batch", ARGUMENT_SIZE, &sizes.batch, "N", "default: 8"},
      {"length", ARGUMENT_SIZE, &sizes.length, "N", "tokens of a sequence; default: 128"},
      {"rounds", ARGUMENT_SIZE, &sizes.rounds, "N", "1 to 1000; default: 7"},
  };
  const int parsed = arguments_parse(argc, argv, "usage: checkpoint_bench [options]   memory and time with checkpoints",
                                     arguments, sizeof arguments / sizeof arguments[0], NULL, 0);
  if (parsed != ARGUMENTS_OK) return parsed == ARGUMENTS_HELP ? 0 : 2;
  if (sizes.rounds == 0 || sizes.rounds > MAX_ROUNDS) sizes.rounds = 1;
  static Way ways[WAYS] = {{.name = "kept"}, {.name = "balanced"}, {.name = "regions", .regions = true}};
  const BurnStatus status = measure(ways, below, &sizes);
  if (status == BURN_OK) show(ways, &sizes);
  const int result = status == BURN_OK ? verdict(ways) : 1;
  if (status != BURN_OK) fprintf(stderr, "checkpoint_bench: %s\n", burn_status_message(status));
  for (size_t i = 0; i < WAYS; i++) close_way(&ways[i]);
  return result;
}
