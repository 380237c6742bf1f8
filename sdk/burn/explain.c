/* explain.c - burn explain: what the decorator fusion makes of a few well-known pieces of code: ops in, kernels out,
 * and why. */
#include "command.h"

#include <burn/op_call.h>
#include <burn/plugin/fusion_statistics.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- the examples: each takes x [rows, columns] and gives a result ---------------------------- */

/* The GELU of Burn's README, as a user writes it. */
static BurnTensor *example_gelu(BurnTensor *x) {
  BurnTensor *half = burn_mul_scalar(burn_clone(x), 0.5);
  BurnTensor *cdf = burn_add_scalar(burn_erf(burn_div_scalar(x, sqrt(2.0))), 1);
  return burn_mul(half, cdf);
}

static BurnTensor *example_silu_chain(BurnTensor *x) {
  BurnTensor *shifted = burn_add_scalar(burn_mul_scalar(x, 1.5), 0.25);
  return burn_mul(burn_sigmoid(burn_clone(shifted)), shifted);
}

/* Softmax over the last axis, by hand. */
static BurnTensor *example_softmax(BurnTensor *x) {
  BurnTensor *largest = burn_max_dim(burn_clone(x), -1);
  BurnTensor *powers = burn_exp(burn_sub(x, largest));
  BurnTensor *sum = burn_sum_dim(burn_clone(powers), -1);
  return burn_div(powers, sum);
}

/* Layer norm over the last axis, by hand. */
static BurnTensor *example_layer_norm(BurnTensor *x) {
  const double columns = (double)burn_dim(x, -1);
  BurnTensor *mean = burn_div_scalar(burn_sum_dim(burn_clone(x), -1), columns);
  BurnTensor *centered = burn_sub(x, mean);
  BurnTensor *square = burn_mul(burn_clone(centered), burn_clone(centered));
  BurnTensor *variance = burn_div_scalar(burn_sum_dim(square, -1), columns);
  return burn_div(centered, burn_sqrt(burn_add_scalar(variance, 1e-5)));
}

/* Mean squared error against a constant. */
static BurnTensor *example_loss(BurnTensor *x) {
  BurnTensor *difference = burn_sub_scalar(x, 0.5);
  return burn_mean(burn_square(difference));
}

/* A layer: product, bias, activation, residual. */
static BurnTensor *example_residual_layer(BurnTensor *x) {
  BurnDevice *device = burn_tensor_device(x);
  const int64_t columns = burn_dim(x, -1);
  BurnTensor *weight = burn_full(device, BURN_SHAPE(columns, columns), 0, 0.01);
  BurnTensor *bias = burn_full(device, BURN_SHAPE(1, columns), 0, 0.1);
  BurnTensor *y = burn_relu(burn_add(burn_matmul(burn_clone(x), weight), bias));
  return burn_add(y, x);
}

static const struct {
  const char *name, *what;
  BurnTensor *(*run)(BurnTensor *x);
} examples[] = {
    {"gelu", "the GELU of Burn's README: x * 0.5 * (1 + erf(x / sqrt 2))", example_gelu},
    {"silu", "a scaled and shifted x, times its sigmoid", example_silu_chain},
    {"softmax", "softmax by hand: max, sub, exp, sum, div", example_softmax},
    {"layer_norm", "layer norm by hand", example_layer_norm},
    {"loss", "mean squared error: elementwise ops, then a full reduction", example_loss},
    {"residual", "product, bias, relu, residual", example_residual_layer},
};
enum { EXAMPLE_COUNT = sizeof examples / sizeof examples[0] };

/* -- running one ------------------------------------------------------------------------------ */

/* False if no level of the stack is the decorator fusion. */
static bool statistics(const BurnDevice *device, BurnFusionStatistics *out) {
  for (const BurnBackend *level = burn_device_backend(device); level; level = burn_backend_below(level)) {
    BurnInterface found;
    if (!level->get_interface(level->self, BURN_FUSION_INTERFACE, 1, &found)) continue;
    ((const BurnFusionInterface *)found.table)->statistics(found.self, out);
    return true;
  }
  return false;
}

static void add_json(cJSON *list, size_t example, const BurnFusionStatistics *s) {
  cJSON *item = cJSON_CreateObject();
  cJSON_AddStringToObject(item, "example", examples[example].name);
  cJSON_AddNumberToObject(item, "ops", (double)s->ops);
  cJSON_AddNumberToObject(item, "launches", (double)(s->kernels + s->calls));
  cJSON_AddNumberToObject(item, "kernels", (double)s->kernels);
  cJSON_AddNumberToObject(item, "fused_ops", (double)s->fused_ops);
  cJSON_AddNumberToObject(item, "dead_ops", (double)s->dead_ops);
  cJSON_AddItemToArray(list, item);
}

/* Opens a device of its own, so that counts and log are of this example alone. */
static int explain(size_t example, const char *backend, cJSON *list) {
  char stack[4096];
  snprintf(stack, sizeof stack, "fusion:log=%s+%s", list ? "false" : "true", backend);
  BurnDevice *device = burn_device_open(stack);
  BurnStatus status = burn_device_status(device);
  BurnFusionStatistics s = {.struct_size = sizeof s};
  if (status == BURN_OK) {
    if (!list) {
      printf("%s: %s, x [256, 1024]\n", examples[example].name, examples[example].what);
      fflush(stdout);
    }
    float *values = calloc((size_t)256 * 1024, sizeof *values);
    BurnTensor *x = burn_tensor_f32(device, values, BURN_SHAPE(256, 1024));
    free(values);
    BurnTensor *y = examples[example].run(x);
    status = burn_device_sync(device);
    if (status == BURN_OK && statistics(device, &s) && !list)
      printf("  %" PRIu64 " ops in, %" PRIu64 " launches out: %" PRIu64 " kernels for %" PRIu64 " ops, %" PRIu64
             " calls\n\n",
             s.ops, s.kernels + s.calls, s.kernels, s.fused_ops, s.calls);
    if (list) add_json(list, example, &s);
    burn_drop(y);
  }
  if (status != BURN_OK) (void)command_fail("explain", status);
  burn_device_close(device);
  return status == BURN_OK ? COMMAND_OK : COMMAND_FAILED;
}

static int find(const char *name) {
  for (size_t i = 0; i < EXAMPLE_COUNT; i++)
    if (strcmp(examples[i].name, name) == 0) return (int)i;
  fprintf(stderr, "burn explain: there is no example '%s'; there are:", name);
  for (size_t i = 0; i < EXAMPLE_COUNT; i++) fprintf(stderr, " %s", examples[i].name);
  fputc('\n', stderr);
  return -1;
}

int command_explain(int argc, char **argv) {
  static const char usage[] =
      "usage: burn explain [EXAMPLE] [options]\n\n"
      "Runs an example on the decorator fusion and shows its plan: ops in, kernels out, and why ops were not fused.\n"
      "Without EXAMPLE all: gelu, silu, softmax, layer_norm, loss, residual. For a program of your own:\n\n"
      "  BURN_FUSION_LOG=1 BURN_BACKEND=fusion+ndarray your_program";
  const char *backend = "ndarray", *name = NULL;
  bool json = false;
  const Argument arguments[] = {
      {"backend", ARGUMENT_TEXT, &backend, "STACK", "the stack below fusion"},
      {"json", ARGUMENT_FLAG, &json, NULL, "one JSON document instead of the plans"},
  };
  int status, first = 0, last = EXAMPLE_COUNT - 1;
  if (!command_parse(argc, argv, usage, arguments, sizeof arguments / sizeof arguments[0], &name, 1, &status))
    return status;
  if (name) {
    first = last = find(name);
    if (first < 0) return COMMAND_USAGE;
  }
  cJSON *list = json ? cJSON_CreateArray() : NULL;
  for (int i = first; i <= last && status == COMMAND_OK; i++) status = explain((size_t)i, backend, list);
  if (json && status == COMMAND_OK) return command_print_json(list);
  cJSON_Delete(list);
  return status;
}
