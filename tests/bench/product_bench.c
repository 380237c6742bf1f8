/* product_bench.c - rates of matrix products and of steps of an optimizer on one stack: what a GPU's libraries are asked
 * for in training and inference.
 *
 *   product_bench [--stack TEXT] [--only TEXT] [--size N] [--small]
 *
 * A line per case: its name and one number. Each is the median of five samples of about 50 ms, after two runs that make
 * plans and compile kernels; the device is waited for at the ends of a sample. */
#include <burn/burn.h>
#include <burn/op_call.h>

#include "bench_time.h"
#include "../../sdk/examples/common/arguments.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 5 };

static BurnDevice *device;
static const char *only = "";
static double sample_seconds = 0.05;

static void check(BurnStatus status) {
  if (status == BURN_OK) return;
  fprintf(stderr, "product_bench: %s\n", burn_status_message(status));
  exit(1);
}

typedef void (*Body)(void *context);

static double sample(Body body, void *context, int times) {
  check(burn_device_sync(device));
  const double start = seconds_now();
  for (int i = 0; i < times; i++) body(context);
  check(burn_device_sync(device));
  return (seconds_now() - start) / times;
}

/* Seconds of one run. */
static double measure(Body body, void *context) {
  double samples[SAMPLES];
  (void)sample(body, context, 2);
  const double once = sample(body, context, 2);
  const int times = once > sample_seconds ? 1 : (int)(sample_seconds / once) + 1;
  for (int i = 0; i < SAMPLES; i++) samples[i] = sample(body, context, times);
  qsort(samples, SAMPLES, sizeof *samples, by_size);
  return samples[SAMPLES / 2];
}

static bool is_wanted(const char *name) { return strstr(name, only) != NULL; }

static BurnTensor *noise(BurnShape shape, BurnDType dtype) {
  BurnTensor *x = burn_random_normal(device, shape, dtype, 0, 1);
  check(burn_tensor_status(x));
  return x;
}

/* -- one product ------------------------------------------------------------------------------ */

typedef struct Product {
  BurnTensor *lhs, *rhs;
} Product;

static void run_product(void *context) {
  const Product *product = context;
  burn_drop(burn_matmul(burn_clone(product->lhs), burn_clone(product->rhs)));
}

typedef struct Size {
  const char *name;
  int64_t batch, m, n, k;
  bool is_transposed; /* the second factor lies as [n, k] */
} Size;

/* Products of vectors are told by what they read, others by what they compute. */
static void measure_product(const Size *size, BurnDType dtype) {
  char name[80];
  (void)snprintf(name, sizeof name, "%s %s %lldx%lldx%lldx%lld%s", size->name, burn_dtype_name(dtype),
                 (long long)size->batch, (long long)size->m, (long long)size->n, (long long)size->k,
                 size->is_transposed ? " transposed" : "");
  if (!is_wanted(name)) return;
  Product product = {.lhs = noise(BURN_SHAPE(size->batch, size->m, size->k), dtype)};
  product.rhs = size->is_transposed ? burn_swap_dims(noise(BURN_SHAPE(size->batch, size->n, size->k), dtype), 1, 2)
                                    : noise(BURN_SHAPE(size->batch, size->k, size->n), dtype);
  const double seconds = measure(run_product, &product);
  const double flops = 2.0 * (double)size->batch * (double)size->m * (double)size->n * (double)size->k;
  const double bytes = (double)burn_dtype_bytes(dtype) * (double)size->batch *
                       (double)(size->m * size->k + size->n * size->k + size->m * size->n);
  if (size->m == 1 || size->n == 1)
    printf("%-60s %10.0f GB/s %10.1f us\n", name, bytes / seconds * 1e-9, seconds * 1e6);
  if (size->m != 1 && size->n != 1)
    printf("%-60s %10.1f TFLOP/s %10.1f us\n", name, flops / seconds * 1e-12, seconds * 1e6);
  burn_drop(product.lhs);
  burn_drop(product.rhs);
}

/* -- products of i8 --------------------------------------------------------------------------- */

typedef struct Quantized {
  const BurnOpInfo *op;
  BurnTensor *inputs[4]; /* values and scale of each factor */
} Quantized;

static void run_quantized(void *context) {
  const Quantized *quantized = context;
  const int64_t block[] = {0, 0};
  const BurnAttr attrs[] = {burn_attr_i64s(block, 2), burn_attr_i64s(block, 2), burn_attr_dtype(BURN_DTYPE_BF16)};
  BurnTensor *inputs[4], *out = NULL;
  for (int i = 0; i < 4; i++) inputs[i] = burn_clone(quantized->inputs[i]);
  burn_op_call(NULL, quantized->op, inputs, 4, attrs, 3, &out);
  burn_drop(out);
}

/* [n, n] times the transpose of [n, n], as weights lie, to bf16. */
static void measure_quantized(int64_t n) {
  Quantized quantized = {.op = NULL};
  if (!is_wanted("int8")) return;
  check(burn_op_find("quantized_matmul", &quantized.op));
  for (int i = 0; i < 4; i += 2) {
    BurnTensor *values = burn_mul_scalar(noise(BURN_SHAPE(n, n), BURN_DTYPE_F32), 40);
    quantized.inputs[i] = burn_cast(burn_clamp(values, -127, 127), BURN_DTYPE_I8);
    quantized.inputs[i + 1] = burn_full(device, BURN_SHAPE(1), BURN_DTYPE_F32, 0.01);
  }
  quantized.inputs[2] = burn_transpose(quantized.inputs[2]);
  const double seconds = measure(run_quantized, &quantized), work = 2.0 * (double)n * (double)n * (double)n;
  printf("int8 %lld: %.1f TOP/s, %.1f us\n", (long long)n, work / seconds * 1e-12, seconds * 1e6);
  for (int i = 0; i < 4; i++) {
    check(burn_tensor_status(quantized.inputs[i]));
    burn_drop(quantized.inputs[i]);
  }
}

/* -- the layers of GPT-2 ---------------------------------------------------------------------- */

typedef struct Layer {
  const BurnOpInfo *backward;
  BurnTensor *x, *weight, *bias, *grad;
} Layer;

static void run_forward(void *context) {
  const Layer *layer = context;
  burn_drop(burn_linear(burn_clone(layer->x), burn_clone(layer->weight), burn_clone(layer->bias)));
}

static void run_backward(void *context) {
  const Layer *layer = context;
  BurnTensor *inputs[] = {burn_clone(layer->grad), burn_clone(layer->x), burn_clone(layer->weight)}, *outputs[3];
  burn_op_call(NULL, layer->backward, inputs, 3, NULL, 0, outputs);
  for (int i = 0; i < 3; i++) burn_drop(outputs[i]);
}

/* Forward and backward of linear layers with `rows` tokens, and how long all of a model with 12 blocks take. */
static void measure_layers(int64_t rows, BurnDType dtype) {
  static const struct {
    int64_t in, out;
    int times;
  } layers[] = {{768, 2304, 12}, {768, 768, 12}, {768, 3072, 12}, {3072, 768, 12}, {768, 50304, 1}};
  double all = 0, flops = 0;
  Layer layer = {.backward = NULL};
  if (!is_wanted("gpt2")) return;
  check(burn_op_find("linear_backward", &layer.backward));
  for (size_t i = 0; i < sizeof layers / sizeof layers[0]; i++) {
    const int64_t in = layers[i].in, out = layers[i].out;
    layer.x = noise(BURN_SHAPE(rows, in), dtype);
    layer.weight = noise(BURN_SHAPE(in, out), dtype);
    layer.bias = noise(BURN_SHAPE(out), dtype);
    layer.grad = noise(BURN_SHAPE(rows, out), dtype);
    const double forward = measure(run_forward, &layer), backward = measure(run_backward, &layer);
    const double work = 2.0 * (double)rows * (double)in * (double)out;
    printf("gpt2 %s linear %lldx%lldx%lld: forward %.1f us (%.0f TFLOP/s), backward %.1f us (%.0f TFLOP/s)\n",
           burn_dtype_name(dtype), (long long)rows, (long long)in, (long long)out, forward * 1e6,
           work / forward * 1e-12, backward * 1e6, 2 * work / backward * 1e-12);
    all += layers[i].times * (forward + backward);
    flops += 3 * layers[i].times * work;
    burn_drop(layer.x);
    burn_drop(layer.weight);
    burn_drop(layer.bias);
    burn_drop(layer.grad);
  }
  printf("gpt2 %s: all linear layers of a step with %lld tokens, gradients of biases too: %.2f ms, %.0f TFLOP/s\n",
         burn_dtype_name(dtype), (long long)rows, all * 1e3, flops / all * 1e-12);
}

/* -- steps of optimizers ---------------------------------------------------------------------- */

enum { TENSORS = 148, ADAM_INPUTS = 4, ADAM_OUTPUTS = 3, ADAM_ATTRS = 6 };

typedef struct Steps {
  const BurnOpInfo *op;
  BurnTensor *tensors[TENSORS * ADAM_INPUTS];
  BurnAttr attrs[TENSORS * ADAM_ATTRS];
  bool together;
} Steps;

static void run_steps(void *context) {
  Steps *steps = context;
  BurnTensor *inputs[TENSORS * ADAM_INPUTS], *outputs[TENSORS * ADAM_OUTPUTS];
  memcpy(inputs, steps->tensors, sizeof inputs);
  for (size_t i = 0; i < TENSORS; i++) inputs[i * ADAM_INPUTS + 1] = burn_clone(inputs[i * ADAM_INPUTS + 1]);
  if (steps->together) burn_op_calls(steps->op, TENSORS, inputs, ADAM_INPUTS, steps->attrs, outputs);
  for (size_t i = 0; i < TENSORS && !steps->together; i++) {
    burn_op_call(NULL, steps->op, inputs + i * ADAM_INPUTS, ADAM_INPUTS, steps->attrs + i * ADAM_ATTRS, ADAM_ATTRS,
                 outputs + i * ADAM_OUTPUTS);
  }
  for (size_t i = 0; i < TENSORS; i++) {
    steps->tensors[i * ADAM_INPUTS] = outputs[i * ADAM_OUTPUTS];
    steps->tensors[i * ADAM_INPUTS + 2] = outputs[i * ADAM_OUTPUTS + 1];
    steps->tensors[i * ADAM_INPUTS + 3] = outputs[i * ADAM_OUTPUTS + 2];
  }
}

/* The parameters of GPT-2 with `width` channels (768: 124M): embeddings, 12 blocks of 12, a norm. */
static int64_t count_of(int tensor, int64_t width) {
  const int64_t block[12] = {width, width, width * 3 * width, 3 * width, width * width,     width,
                             width, width, width * 4 * width, 4 * width, 4 * width * width, width};
  if (tensor == 0) return width * 50257;
  if (tensor == 1) return width * 1024;
  return tensor < 146 ? block[(tensor - 2) % 12] : width;
}

static void measure_steps(BurnDType dtype, int64_t width, bool together) {
  static Steps steps;
  int64_t all = 0;
  if (!is_wanted("adam")) return;
  steps.together = together;
  check(burn_op_find("adam_step", &steps.op));
  for (int i = 0; i < TENSORS; i++) {
    const double numbers[ADAM_ATTRS] = {0.9, 0.95, 1e-4, 1e-8, i % 3 ? 1 : 1 - 1e-5, 0};
    for (int k = 0; k < ADAM_ATTRS; k++) steps.attrs[i * ADAM_ATTRS + k] = burn_attr_f64(numbers[k]);
    for (int k = 0; k < ADAM_INPUTS; k++)
      steps.tensors[i * ADAM_INPUTS + k] = burn_ones(device, BURN_SHAPE(count_of(i, width)), dtype);
    all += count_of(i, width);
  }
  const double seconds = measure(run_steps, &steps);
  printf("adam %s %s, %d tensors, %.1fM elements: %.3f ms, %.0f GB/s\n", burn_dtype_name(dtype),
         together ? "together" : "one by one", TENSORS, (double)all * 1e-6, seconds * 1e3,
         7.0 * (double)burn_dtype_bytes(dtype) * (double)all / seconds * 1e-9);
  for (int i = 0; i < TENSORS * ADAM_INPUTS; i++) {
    check(burn_tensor_status(steps.tensors[i]));
    burn_drop(steps.tensors[i]);
  }
}

int main(int argc, char **argv) {
  const char *stack = NULL;
  size_t size = 8192;
  bool is_small = false;
  const Argument arguments[] = {
      {"stack", ARGUMENT_TEXT, &stack, "TEXT", "where (BURN_BACKEND, or the best backend)"},
      {"only", ARGUMENT_TEXT, &only, "TEXT", "cases whose name has it: square, batch, vector, int8, gpt2, adam"},
      {"size", ARGUMENT_SIZE, &size, "N", "of the square products"},
      {"small", ARGUMENT_FLAG, &is_small, NULL, "everything tiny: does it run?"},
  };
  const int parsed = arguments_parse(argc, argv, "usage: product_bench [options]   products and optimizer steps",
                                     arguments, sizeof arguments / sizeof arguments[0], NULL, 0);
  if (parsed != ARGUMENTS_OK) return parsed == ARGUMENTS_HELP ? 0 : 2;
  if (is_small) sample_seconds = 0;
  device = burn_device_open(stack);
  check(burn_device_status(device));
  printf("product_bench on %s\n", burn_device_name(device));
  const int64_t n = is_small ? 64 : (int64_t)size, part = is_small ? 64 : 1;
  const Size sizes[] = {{"square", 1, n, n, n, false},
                        {"square", 1, n, n, n, true},
                        {"batch", 384 / part, 1024 / part, 1024 / part, 64, true},
                        {"batch", 384 / part, 1024 / part, 64, 1024 / part, false},
                        {"vector", 1, 1, 4096 / part, 4096 / part, false},
                        {"vector", 1, 1, 4096 / part, 4096 / part, true},
                        {"vector", 1, 1, 16384 / part, 4096 / part, false},
                        {"vector", 1, 4096 / part, 1, 16384 / part, false},
                        {"vector", 1, 1, 50304 / part, 768, true}};
  static const BurnDType dtypes[] = {BURN_DTYPE_F32, BURN_DTYPE_BF16};
  for (size_t d = 0; d < 2; d++) {
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) measure_product(&sizes[i], dtypes[d]);
  }
  measure_quantized(n);
  measure_layers(is_small ? 8 : 32768, BURN_DTYPE_BF16);
  measure_steps(BURN_DTYPE_F32, is_small ? 4 : 768, true);
  measure_steps(BURN_DTYPE_F32, is_small ? 4 : 768, false);
  burn_device_close(device);
  return 0;
}
