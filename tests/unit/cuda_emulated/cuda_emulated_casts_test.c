/* cuda_emulated_casts_test.c - norms, losses and steps of optimizers between casts, on the CPU
 * (tests/plugins/emulated_cuda): under fusion they read and write halves themselves (burn/plugin/mixed.h), with the very
 * bits that the casts and the op give. On the backend that BURN_CASTS_ON names, or on cuda. */
#include "forked.h"
#include "sampled.h"

#include <burn/op_call.h>
#include <burn/ops_optimizer.h>
#include <burn/plugin/fusion_statistics.h>

enum { ROWS = 5, MAX_SIZE = 20000, MAX_INPUTS = 4, MAX_OUTPUTS = 3, MAX_ATTRS = 4, MOST = 3 * ROWS * MAX_SIZE };

/* What an input has: numbers [rows, size], [size] or [1], none of them negative [rows, size], or classes [rows]. */
typedef enum Kind { MATRIX, VECTOR, NUMBER, SQUARES, CLASSES } Kind;

typedef struct Case {
  const char *op;
  uint32_t inputs, outputs;
  Kind in[MAX_INPUTS];
  uint32_t half_inputs, half_outputs; /* bits of those that are halves, with casts */
  uint32_t attr_count;
  BurnAttr attrs[MAX_ATTRS];
} Case;

#define NUMBER_ATTR(number)                           \
  {                                                   \
    .tag = BURN_ATTR_F64, .value = {.f64 = (number) } \
  }
static const Case cases[] = {
    {"layer_norm", 3, 1, {MATRIX, VECTOR, VECTOR}, 1, 1, 0, {{0}}},
    {"layer_norm_backward", 3, 3, {MATRIX, MATRIX, VECTOR}, 3, 1, 0, {{0}}},
    {"cross_entropy", 2, 1, {MATRIX, CLASSES}, 1, 0, 0, {{0}}},
    {"cross_entropy_backward", 3, 1, {NUMBER, MATRIX, CLASSES}, 2, 1, 0, {{0}}},
    {"adam_step",
     4,
     3,
     {MATRIX, MATRIX, MATRIX, SQUARES},
     2,
     0,
     4,
     {NUMBER_ATTR(0.9), NUMBER_ATTR(0.999), NUMBER_ATTR(0.01), NUMBER_ATTR(1e-8)}},
};
enum { CASES = sizeof cases / sizeof cases[0] };

static void use_emulation(void) {
  setenv("BURN_CUDA_DRIVER", FAKE_DRIVER, 1);
  setenv("BURN_CUDA_LIBS", EMULATED_FOLDER, 1);
  setenv("BURN_FAKE_CUDA_FILL", "255", 1);
  setenv("BURN_CUDA_FILL", "255", 1);
}

/* "fusion<%s>" with the backend in it. */
static BurnDevice *open_stack(const char *pattern) {
  const char *given = getenv("BURN_CASTS_ON"), *at = strchr(pattern, '%');
  char stack[128];
  (void)snprintf(stack, sizeof stack, "%.*s%s%s", (int)(at - pattern), pattern, given ? given : "cuda", at + 2);
  BurnDevice *device = burn_device_open(stack);
  CHECK(burn_device_status(device) == BURN_OK, "%s: %s", stack, burn_status_message(burn_device_status(device)));
  return device;
}

static BurnFusionStatistics statistics(const BurnDevice *device) {
  BurnFusionStatistics out = {.struct_size = sizeof out};
  for (const BurnBackend *level = burn_device_backend(device); level; level = burn_backend_below(level)) {
    BurnInterface found;
    if (!level->get_interface(level->self, BURN_FUSION_INTERFACE, 1, &found)) continue;
    ((const BurnFusionInterface *)found.table)->statistics(found.self, &out);
    break;
  }
  return out;
}

/* -- a call between casts --------------------------------------------------------------------- */

static BurnTensor *numbers(BurnDevice *device, Kind kind, int64_t size, BurnDType dtype, uint32_t seed) {
  static float data[ROWS * MAX_SIZE];
  const bool is_matrix = kind == MATRIX || kind == SQUARES;
  const int64_t count = is_matrix ? ROWS * size : kind == VECTOR ? size : kind == CLASSES ? ROWS : 1;
  for (int64_t i = 0; i < count; i++) {
    seed = seed * 1664525u + 1013904223u;
    data[i] = kind == CLASSES ? (float)(seed % (uint32_t)size) : (float)(seed >> 8) / (float)(1 << 22) - 2.0f;
    if (kind == SQUARES) data[i] *= data[i];
  }
  const BurnShape shape = is_matrix ? BURN_SHAPE(ROWS, size) : BURN_SHAPE(count);
  BurnTensor *x = burn_cast(burn_tensor_f32(device, data, shape), kind == CLASSES ? BURN_DTYPE_I32 : dtype);
  CHECK(burn_read_f32(burn_cast(burn_clone(x), BURN_DTYPE_F32), data, (size_t)count) == BURN_OK, "no input");
  return x; /* the queue is empty */
}

static void call_between_casts(BurnDevice *device, const Case *c, int64_t size, BurnDType half, BurnTensor **outputs) {
  const BurnOpInfo *op = NULL;
  BurnTensor *inputs[MAX_INPUTS];
  const BurnStatus known = burn_op_find(c->op, &op);
  CHECK(known == BURN_OK, "%s", burn_status_message(known));
  for (uint32_t i = 0; i < c->inputs; i++)
    inputs[i] = numbers(device, c->in[i], size, c->half_inputs >> i & 1u ? half : (BurnDType)BURN_DTYPE_F32, i + 1u);
  for (uint32_t i = 0; i < c->inputs; i++)
    if (c->half_inputs >> i & 1u) inputs[i] = burn_cast(inputs[i], BURN_DTYPE_F32);
  burn_op_call(device, op, inputs, c->inputs, c->attrs, c->attr_count, outputs);
  for (uint32_t i = 0; i < c->outputs; i++)
    if (c->half_outputs >> i & 1u) outputs[i] = burn_cast(outputs[i], half);
}

static size_t read_all(BurnTensor **outputs, uint32_t count, float *out) {
  size_t used = 0;
  BurnTensor *wide[MAX_OUTPUTS];
  for (uint32_t i = 0; i < count; i++) wide[i] = burn_cast(outputs[i], BURN_DTYPE_F32);
  for (uint32_t i = 0; i < count; i++) {
    const size_t more = (size_t)burn_element_count(wide[i]);
    const BurnStatus status = burn_read_f32(wide[i], out + used, more);
    CHECK(status == BURN_OK, "%s", burn_status_message(status));
    used += more;
  }
  return used;
}

/* Casts that a case has around its call. */
static uint64_t casts_of(const Case *c) {
  uint64_t count = 0;
  for (uint32_t i = 0; i < 8; i++) count += (c->half_inputs >> i & 1u) + (c->half_outputs >> i & 1u);
  return count;
}

static void compare(const Case *c, int64_t size, BurnDType half) {
  static float by_casts[MOST], mixed[MOST];
  BurnTensor *outputs[MAX_OUTPUTS];
  BurnDevice *plain = open_stack("%s"), *fusion = open_stack("fusion<%s>");
  call_between_casts(plain, c, size, half, outputs);
  const size_t count = read_all(outputs, c->outputs, by_casts);
  const uint64_t before = statistics(fusion).dead_ops;
  call_between_casts(fusion, c, size, half, outputs);
  CHECK(read_all(outputs, c->outputs, mixed) == count, "%s: shapes", c->op);
  for (size_t i = 0; i < count; i++)
    CHECK(memcmp(&by_casts[i], &mixed[i], sizeof mixed[i]) == 0, "%s, rows of %d, %s, number %d: %.9g, with casts %.9g",
          c->op, (int)size, burn_dtype_name(half), (int)i, (double)mixed[i], (double)by_casts[i]);
  const uint64_t left_out = statistics(fusion).dead_ops - before;
  CHECK(left_out == casts_of(c), "%s: %d of %d casts are left out", c->op, (int)left_out, (int)casts_of(c));
  burn_device_close(plain);
  burn_device_close(fusion);
}

/* Rows in the registers of a warp, of blocks, and too long for them; some that cannot be read by vectors.
 * Without BURN_LONG=1 a case takes every second one, its neighbour the others. */
static void every_length(void *context) {
  static const int64_t sizes[] = {1, 7, 40, 768, 1001, 3000, 9000, MAX_SIZE};
  (void)context;
  use_emulation();
  for (size_t i = 0; i < CASES; i++)
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++)
      if ((i + k) % 2 == 0 || runs_all()) compare(&cases[i], sizes[k], BURN_DTYPE_BF16);
}

/* Each of what may be a half, by itself and with the others; without BURN_LONG=1 all of them, and
 * some of the inputs without the results. */
static void every_mixture(void *context) {
  (void)context;
  use_emulation();
  for (size_t i = 0; i < CASES; i++)
    for (uint32_t in = cases[i].half_inputs;; in = (in - 1u) & cases[i].half_inputs) {
      for (uint32_t out = 0; out <= cases[i].half_outputs; out++) {
        if ((in == cases[i].half_inputs) != (out == cases[i].half_outputs) && !runs_all()) continue;
        Case c = cases[i];
        c.half_inputs = in;
        c.half_outputs = out;
        compare(&c, 40, BURN_DTYPE_F16);
      }
      if (in == 0) break;
    }
}

/* -- what else reads the halves --------------------------------------------------------------- */

typedef struct Program {
  BurnTensor *results[MAX_OUTPUTS];
  uint32_t count;
} Program;

/* A loss and its gradient by the same cast, whose result a third call reads; the gradient is wanted in f32, too. */
static Program shared_by_several(BurnDevice *device) {
  BurnTensor *logits = numbers(device, MATRIX, 40, BURN_DTYPE_BF16, 1), *classes = numbers(device, CLASSES, 40, 0, 2);
  BurnTensor *wide = burn_cast(logits, BURN_DTYPE_F32), *gradient = NULL;
  BurnTensor *loss = burn_cross_entropy(burn_clone(wide), burn_clone(classes));
  BurnTensor *inputs[] = {numbers(device, NUMBER, 1, BURN_DTYPE_F32, 3), burn_clone(wide), classes};
  const BurnOpInfo *op = NULL;
  CHECK(burn_op_find("cross_entropy_backward", &op) == BURN_OK, "no op");
  burn_op_call(device, op, inputs, 3, NULL, 0, &gradient);
  BurnTensor *half = burn_cast(burn_clone(gradient), BURN_DTYPE_BF16);
  BurnTensor *sums = burn_sum_dim(burn_exp(wide), 1);
  return (Program){{loss, burn_mul(gradient, burn_cast(half, BURN_DTYPE_F32)), sums}, 3};
}

/* Two norms with a cast down and up between them, and one whose f32 is held while the cast of it is wanted. */
static Program norms(BurnDevice *device) {
  BurnTensor *x = burn_cast(numbers(device, MATRIX, 96, BURN_DTYPE_F16, 1), BURN_DTYPE_F32);
  BurnTensor *gamma = numbers(device, VECTOR, 96, BURN_DTYPE_F32, 2);
  BurnTensor *one = burn_cast(burn_layer_norm(x, burn_clone(gamma), NULL, 1e-5), BURN_DTYPE_F16);
  BurnTensor *two = burn_layer_norm(burn_cast(one, BURN_DTYPE_F32), gamma, NULL, 1e-5);
  BurnTensor *half = burn_cast(burn_clone(two), BURN_DTYPE_F16);
  return (Program){{two, half}, 2};
}

/* The half that a cast would make is held while the queue is run, and read again afterwards. */
static Program held_half(BurnDevice *device) {
  static float values[ROWS * 96];
  BurnTensor *x = burn_cast(numbers(device, MATRIX, 96, BURN_DTYPE_F16, 1), BURN_DTYPE_F32);
  BurnTensor *gamma = numbers(device, VECTOR, 96, BURN_DTYPE_F32, 2);
  BurnTensor *half = burn_cast(burn_layer_norm(x, gamma, NULL, 1e-5), BURN_DTYPE_F16);
  CHECK(burn_read_f32(burn_cast(burn_clone(half), BURN_DTYPE_F32), values, ROWS * 96) == BURN_OK, "no half");
  return (Program){{half}, 1};
}

/* More steps than a launch takes, some with gradients in f32, others in either half. */
static Program steps(BurnDevice *device) {
  enum { STEPS = 60 };
  BurnTensor *out[MAX_OUTPUTS], *all[MAX_OUTPUTS][STEPS], *inputs[STEPS][MAX_INPUTS];
  static const BurnDType dtypes[] = {BURN_DTYPE_F32, BURN_DTYPE_BF16, BURN_DTYPE_F16};
  for (uint32_t i = 0; i < STEPS; i++) {
    const BurnDType dtype = dtypes[i < 20 ? i % 2 : i % 3];
    for (uint32_t k = 0; k < MAX_INPUTS; k++)
      inputs[i][k] =
          numbers(device, k == 3 ? SQUARES : MATRIX, 1 + i % 9, k == 1 ? dtype : (BurnDType)BURN_DTYPE_F32, i + k);
  }
  for (uint32_t i = 0; i < STEPS; i++) {
    BurnTensor *const *in = inputs[i];
    burn_adam_step(in[0], burn_cast(in[1], BURN_DTYPE_F32), in[2], in[3], 0.9, 0.999, i % 3 ? 0.01 : 0.02, 1e-8, 1, 0,
                   out);
    for (int k = 0; k < MAX_OUTPUTS; k++) all[k][i] = out[k];
  }
  for (int k = 0; k < MAX_OUTPUTS; k++) out[k] = burn_cat(all[k], STEPS, 1);
  return (Program){{out[0], out[1], out[2]}, 3};
}

static void same_bits(Program (*make)(BurnDevice *device), uint64_t left_out) {
  static float by_casts[MOST], mixed[MOST];
  BurnDevice *plain = open_stack("%s"), *fusion = open_stack("fusion<%s>");
  Program program = make(plain);
  const size_t count = read_all(program.results, program.count, by_casts);
  for (int round = 0; round < 6; round++) { /* the later ones are replayed */
    const uint64_t before = statistics(fusion).dead_ops;
    program = make(fusion);
    CHECK(read_all(program.results, program.count, mixed) == count, "shapes");
    CHECK(memcmp(by_casts, mixed, count * sizeof *mixed) == 0, "round %d has other bits", round);
    CHECK(statistics(fusion).dead_ops - before == left_out, "round %d leaves out %d ops", round,
          (int)(statistics(fusion).dead_ops - before));
  }
  burn_device_close(plain);
  burn_device_close(fusion);
}

static void several_readers(void *context) {
  (void)context;
  use_emulation();
  same_bits(shared_by_several, 0);
  same_bits(norms, 3);
  same_bits(held_half, 2);
  same_bits(steps, 37);
}

/* A decorator that sees every call sees the casts. */
static void a_decorator_between(void *context) {
  (void)context;
  use_emulation();
  BurnDevice *device = open_stack("fusion<trace:format=count<%s>>");
  BurnTensor *outputs[MAX_OUTPUTS];
  static float values[MOST];
  const uint64_t before = statistics(device).dead_ops;
  call_between_casts(device, &cases[0], 40, BURN_DTYPE_BF16, outputs);
  (void)read_all(outputs, 1, values);
  CHECK(statistics(device).dead_ops == before, "casts are left out");
  burn_device_close(device);
}

/* The failure of what a call reads, or its own, is that of its result as a half; all else of the queue is computed. */
static void failures(void *context) {
  static const char *const begins[] = {"full: ", "layer_norm: "};
  (void)context;
  use_emulation();
  BurnDevice *device = open_stack("fusion:max_bytes=1099511627776<%s>");
  for (int i = 0; i < 2; i++) {
    const BurnShape large = BURN_SHAPE(INT64_C(1) << 28, 16);
    const uint64_t before = statistics(device).dead_ops;
    BurnTensor *gamma = numbers(device, NUMBER, 1, BURN_DTYPE_F32, 1), *good = burn_add_scalar(burn_clone(gamma), 1);
    BurnTensor *x = i == 0 ? burn_full(device, large, BURN_DTYPE_BF16, 2)
                           : burn_expand(burn_full(device, BURN_SHAPE(1, 16), BURN_DTYPE_BF16, 2), large);
    gamma = burn_add_scalar(burn_expand(gamma, BURN_SHAPE(16)), 0);
    x = burn_layer_norm(burn_cast(x, BURN_DTYPE_F32), gamma, NULL, 1e-5);
    double value = 0;
    BurnTensor *sum = burn_sum(burn_cast(x, BURN_DTYPE_BF16));
    const BurnStatus status = burn_read_scalar(sum, &value);
    CHECK(burn_status_code(status) == BURN_STATUS_OUT_OF_MEMORY, "%s", burn_status_message(status));
    CHECK(strncmp(burn_status_message(status), begins[i], strlen(begins[i])) == 0, "%s", burn_status_message(status));
    CHECK(burn_read_scalar(good, &value) == BURN_OK, "what has nothing to do with it fails");
    CHECK(statistics(device).dead_ops - before == 2, "the casts are there");
  }
  burn_device_close(device);
}

static void test_every_length(void **state) {
  (void)state;
  forked(every_length, NULL);
}
static void test_every_mixture(void **state) {
  (void)state;
  forked(every_mixture, NULL);
}
static void test_several_readers(void **state) {
  (void)state;
  forked(several_readers, NULL);
}
static void test_failures(void **state) {
  (void)state;
  forked(failures, NULL);
}
static void test_a_decorator_between(void **state) {
  (void)state;
  forked(a_decorator_between, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_length), cmocka_unit_test(test_every_mixture),
                                     cmocka_unit_test(test_several_readers), cmocka_unit_test(test_failures),
                                     cmocka_unit_test(test_a_decorator_between)};
  return cmocka_run_group_tests_name("casts that calls do without", tests, NULL, NULL);
}
