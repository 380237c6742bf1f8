/* fusion_epilogue_test.c - products with what follows them as one (burn/plugin/epilogue.h): what the backend is asked to
 * run so, by the decorator `asked` below fusion, and that values have the very bits of the ops one by one. */
#include <burn/burn.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "asked_decorator.h"

#define ASKED "fusion<asked<ndarray:epilogues=true>>"
enum { ROWS = 24, DEPTH = 40, COLUMNS = 40, COUNT = ROWS * COLUMNS };

static BurnDevice *open_stack(const char *stack) {
  BurnDevice *device = burn_device_open(stack);
  if (burn_device_status(device) != BURN_OK) fail_msg("%s: %s", stack, burn_status_message(burn_device_status(device)));
  return device;
}

/* The notes of the decorator `asked`; NULL on a stack without it. */
static AskedEpilogues *asked_by(const BurnDevice *device) {
  for (const BurnBackend *level = burn_device_backend(device); level; level = burn_backend_below(level)) {
    BurnInterface found;
    if (level->get_interface(level->self, ASKED_INTERFACE, 1, &found)) return (AskedEpilogues *)(uintptr_t)found.table;
  }
  return NULL;
}

static BurnTensor *numbers(BurnDevice *device, BurnShape shape, int seed) {
  float values[ROWS * DEPTH * 4];
  int64_t count = 1;
  for (uint32_t i = 0; i < shape.rank; i++) count *= shape.dims[i];
  assert_in_range(count, 1, sizeof values / sizeof values[0]);
  for (int64_t i = 0; i < count; i++) values[i] = (float)((i * 37 + seed * 11) % 101 - 50) / 31.0f;
  return burn_tensor_f32(device, values, shape);
}

static BurnTensor *product(BurnDevice *device) {
  return burn_linear(numbers(device, BURN_SHAPE(ROWS, DEPTH), 1), numbers(device, BURN_SHAPE(DEPTH, COLUMNS), 2),
                     numbers(device, BURN_SHAPE(COLUMNS), 3));
}

static void must_read(BurnTensor *x, float *values, size_t count) {
  const BurnStatus status = burn_read_f32(x, values, count);
  if (status != BURN_OK) fail_msg("%s", burn_status_message(status));
}

/* -- programs: fill `values` with COUNT numbers ----------------------------------------------- */

typedef void (*Program)(BurnDevice *device, float *values);

static void activation(BurnDevice *device, float *values) { must_read(burn_gelu(product(device)), values, COUNT); }

static void chain(BurnDevice *device, float *values) {
  BurnTensor *row = numbers(device, BURN_SHAPE(1, COLUMNS), 4),
             *residual = numbers(device, BURN_SHAPE(ROWS, COLUMNS), 5);
  BurnTensor *y = burn_add(burn_mul_scalar(burn_relu(burn_add(product(device), row)), 0.3), residual);
  must_read(y, values, COUNT);
}

/* The residual is an operand of the product, too. */
static void own_operand(BurnDevice *device, float *values) {
  BurnTensor *x = burn_relu(numbers(device, BURN_SHAPE(ROWS, DEPTH), 1));
  BurnTensor *y = burn_matmul(burn_clone(x), numbers(device, BURN_SHAPE(DEPTH, COLUMNS), 2));
  must_read(burn_add(burn_tanh(y), x), values, COUNT);
}

/* Somebody wants what the activation reads, too. */
static void kept(BurnDevice *device, float *values) {
  BurnTensor *before = product(device), *after = burn_silu(burn_clone(before));
  must_read(after, values, COUNT);
  float more[COUNT];
  must_read(before, more, COUNT);
  for (int i = 0; i < COUNT; i++) values[i] += 3.0f * more[i];
}

/* Another op reads the product's result. */
static void read_twice(BurnDevice *device, float *values) {
  BurnTensor *before = product(device), *turned = burn_transpose(burn_clone(before));
  BurnTensor *after = burn_relu(before), *gram = burn_matmul(burn_clone(after), turned);
  float more[ROWS * ROWS];
  must_read(after, values, COUNT);
  must_read(gram, more, ROWS * ROWS);
  for (int i = 0; i < ROWS * ROWS; i++) values[i] += more[i];
}

/* Two products meet in one op: one of them is a call. */
static void two_products(BurnDevice *device, float *values) {
  BurnTensor *other =
      burn_matmul(numbers(device, BURN_SHAPE(ROWS, DEPTH), 6), numbers(device, BURN_SHAPE(DEPTH, COLUMNS), 7));
  must_read(burn_relu(burn_add(product(device), other)), values, COUNT);
}

static void to_half(BurnDevice *device, float *values) {
  BurnTensor *y = burn_cast(burn_relu(product(device)), BURN_DTYPE_BF16);
  must_read(burn_cast(y, BURN_DTYPE_F32), values, COUNT);
}

static void drops(BurnDevice *device, float *values) {
  burn_device_seed(device, 5);
  must_read(burn_dropout(burn_relu(product(device)), 0.25), values, COUNT);
}

/* Subnormal products are 0, as in the single op, and those that the next op makes stay. */
static void subnormal(BurnDevice *device, float *values) {
  must_read(burn_mul_scalar(product(device), 1e-39), values, COUNT);
}

static void batches(BurnDevice *device, float *values) {
  BurnTensor *x = numbers(device, BURN_SHAPE(3, 20, 16), 1), *y = numbers(device, BURN_SHAPE(3, 16, 16), 2);
  memset(values, 0, COUNT * sizeof *values);
  must_read(burn_add(burn_sigmoid(burn_matmul(x, y)), numbers(device, BURN_SHAPE(3, 1, 16), 3)), values, 3 * 20 * 16);
}

/* -- what is asked ---------------------------------------------------------------------------- */

static const struct {
  const char *name;
  Program run;
  uint32_t bodies, steps, outputs; /* with a product; of the last one */
} programs[] = {{"activation", activation, 1, 2, 1},   {"chain", chain, 1, 5, 1},
                {"own operand", own_operand, 1, 3, 1}, {"kept", kept, 1, 2, 2},
                {"read twice", read_twice, 1, 2, 2},   {"two products", two_products, 1, 3, 1},
                {"to half", to_half, 1, 4, 1},         {"dropout", drops, 1, 3, 1},
                {"subnormal", subnormal, 1, 2, 1},     {"batches", batches, 1, 3, 1}};
enum { PROGRAMS = sizeof programs / sizeof programs[0] };

static void run_on(const char *stack, Program program, float *values) {
  BurnDevice *device = open_stack(stack);
  program(device, values);
  burn_device_close(device);
}

static void test_a_product_and_its_body_are_one(void **state) {
  (void)state;
  float expected[COUNT], values[COUNT];
  for (int i = 0; i < PROGRAMS; i++) {
    BurnDevice *device = open_stack(ASKED);
    AskedEpilogues *asked = asked_by(device);
    programs[i].run(device, values);
    const AskedBody *body = &asked->bodies[0];
    if (asked->count != programs[i].bodies || body->step_count != programs[i].steps ||
        body->output_count != programs[i].outputs || asked->runs != 1)
      fail_msg("%s: %u bodies asked for, %u steps, %u outputs, %u runs", programs[i].name, asked->count,
               body->step_count, body->output_count, asked->runs);
    assert_true(body->ops[0] == BURN_OP_linear || body->ops[0] == BURN_OP_matmul);
    burn_device_close(device);
    run_on("ndarray", programs[i].run, expected);
    if (memcmp(values, expected, sizeof values) != 0) fail_msg("%s: other bits than one by one", programs[i].name);
  }
}

/* What the activation's gradient needs is given out, once. */
static void test_what_a_gradient_needs_is_given_out(void **state) {
  (void)state;
  BurnDevice *device = open_stack(ASKED);
  const AskedEpilogues *asked = asked_by(device);
  float values[COUNT];
  kept(device, values);
  const AskedBody *body = &asked->bodies[0];
  assert_int_equal(body->output_count, 2);
  assert_true(body->outputs[0] == body->input_count || body->outputs[1] == body->input_count);
  assert_true(body->result.rank == 2 && body->result.shape[0] == ROWS && body->result.shape[1] == COLUMNS);
  burn_device_close(device);
}

/* A refused body leaves the product, and the group as it was without it. */
static void test_a_refused_body_is_calls(void **state) {
  (void)state;
  float expected[COUNT], values[COUNT];
  for (int i = 0; i < PROGRAMS; i++) {
    BurnDevice *device = open_stack(ASKED);
    AskedEpilogues *asked = asked_by(device);
    asked->refuses = 1;
    programs[i].run(device, values);
    assert_true(asked->count >= 1 && asked->runs == 0);
    burn_device_close(device);
    run_on("ndarray", programs[i].run, expected);
    if (memcmp(values, expected, sizeof values) != 0) fail_msg("%s: other bits than one by one", programs[i].name);
  }
}

static void test_a_run_that_fails_is_done_one_by_one(void **state) {
  (void)state;
  float expected[COUNT], values[COUNT];
  BurnDevice *device = open_stack(ASKED);
  AskedEpilogues *asked = asked_by(device);
  asked->fails = 1;
  chain(device, values);
  assert_int_equal(asked->runs, 1);
  assert_int_equal(asked->fails, 0);
  assert_int_equal(burn_status_code(burn_device_sync(device)), BURN_STATUS_OK);
  burn_device_close(device);
  run_on("ndarray", chain, expected);
  assert_memory_equal(values, expected, sizeof values);
}

/* f64 is not taken, a reshape between both is a view, and a reduction is not an epilogue. */
static void test_what_does_not_suit_is_not_asked(void **state) {
  (void)state;
  BurnDevice *device = open_stack(ASKED);
  const AskedEpilogues *asked = asked_by(device);
  float values[COUNT];
  must_read(burn_relu(burn_reshape(product(device), BURN_SHAPE(COUNT))), values, COUNT);
  must_read(burn_sum_dim(product(device), 1), values, ROWS);
  BurnTensor *wide = burn_matmul(burn_cast(numbers(device, BURN_SHAPE(ROWS, DEPTH), 1), BURN_DTYPE_F64),
                                 burn_cast(numbers(device, BURN_SHAPE(DEPTH, COLUMNS), 2), BURN_DTYPE_F64));
  must_read(burn_cast(burn_relu(wide), BURN_DTYPE_F32), values, COUNT);
  assert_true(asked->takes >= 3);
  assert_int_equal(asked->count, 0);
  burn_device_close(device);
}

/* A decorator that runs bodies itself and passes the other question on sees the product. */
static void test_a_decorator_between_sees_the_product(void **state) {
  (void)state;
  float expected[COUNT], values[COUNT];
  BurnDevice *device = open_stack("fusion<trace:format=count,file=/dev/null<asked<ndarray:epilogues=true>>>");
  const AskedEpilogues *asked = asked_by(device);
  chain(device, values);
  assert_true(asked->takes == 0 && asked->count == 0);
  burn_device_close(device);
  run_on("ndarray", chain, expected);
  assert_memory_equal(values, expected, sizeof values);
}

/* Sizes of all kinds of products: by all threads, in blocks of k, of few rows, with edges of tiles. */
static const int64_t sizes[][3] = {{200, 150, 210}, {130, 2100, 70}, {3, 600, 700}, {300, 20, 4},
                                   {1, 64, 300},    {513, 64, 33},   {64, 8, 1},    {150, 40, 600}};

static BurnTensor *wave(BurnDevice *device, int64_t rows, int64_t columns, double step) {
  BurnTensor *x = burn_cast(burn_arange(device, 0, rows * columns, 1), BURN_DTYPE_F32);
  return burn_reshape(burn_sin(burn_mul_scalar(x, step)), BURN_SHAPE(rows, columns));
}

static void run_size(const char *stack, const int64_t size[3], float *values) {
  BurnDevice *device = open_stack(stack);
  const int64_t m = size[0], k = size[1], n = size[2];
  BurnTensor *x = wave(device, m, k, 0.7), *w = wave(device, k, n, 0.3), *row = wave(device, 1, n, 1.1);
  BurnTensor *residual = wave(device, m, n, 0.9);
  assert_int_equal(burn_status_code(burn_device_sync(device)), BURN_STATUS_OK);
  BurnTensor *before = burn_matmul(x, w);
  BurnTensor *after = burn_mul(burn_gelu(burn_add(burn_clone(before), row)), residual);
  must_read(after, values, (size_t)(m * n));
  must_read(before, values + m * n, (size_t)(m * n));
  burn_device_close(device);
}

static void test_all_sizes_have_the_same_bits(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    const size_t bytes = (size_t)(sizes[i][0] * sizes[i][2]) * 2 * sizeof(float);
    float *expected = malloc(bytes), *values = malloc(bytes);
    assert_true(expected && values);
    run_size("ndarray", sizes[i], expected);
    run_size("fusion<ndarray:epilogues=true>", sizes[i], values);
    if (memcmp(values, expected, bytes) != 0)
      fail_msg("%dx%dx%d: other bits than one by one", (int)sizes[i][0], (int)sizes[i][1], (int)sizes[i][2]);
    free(expected);
    free(values);
  }
}

/* Recorded and run again: other inputs, the same plan. */
static void test_replays_have_the_same_bits(void **state) {
  (void)state;
  enum { ROUNDS = 8 };
  float expected[COUNT], values[COUNT];
  BurnDevice *device = open_stack("fusion<ndarray:epilogues=true:replay=true>"), *plain = open_stack("ndarray");
  for (int round = 0; round < ROUNDS; round++) {
    BurnDevice *const devices[] = {device, plain};
    float *const results[] = {values, expected};
    for (int i = 0; i < 2; i++) {
      BurnTensor *x = numbers(devices[i], BURN_SHAPE(ROWS, DEPTH), round),
                 *w = numbers(devices[i], BURN_SHAPE(DEPTH, COLUMNS), 2);
      for (int depth = 0; depth < 4; depth++)
        x = burn_mul_scalar(burn_tanh(burn_matmul(x, burn_clone(w))), 1.0 / (round + 2));
      burn_drop(w);
      must_read(x, results[i], COUNT);
    }
    assert_memory_equal(values, expected, sizeof values);
  }
  burn_device_close(device);
  burn_device_close(plain);
}

static int use_test_plugins(void **state) {
  (void)state;
  return setenv("BURN_PLUGIN_PATH", BURN_BUILD_DIR "/tests/broken_plugins", 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_product_and_its_body_are_one),
      cmocka_unit_test(test_what_a_gradient_needs_is_given_out),
      cmocka_unit_test(test_a_refused_body_is_calls),
      cmocka_unit_test(test_a_run_that_fails_is_done_one_by_one),
      cmocka_unit_test(test_what_does_not_suit_is_not_asked),
      cmocka_unit_test(test_a_decorator_between_sees_the_product),
      cmocka_unit_test(test_all_sizes_have_the_same_bits),
      cmocka_unit_test(test_replays_have_the_same_bits),
  };
  return cmocka_run_group_tests_name("products with what follows them", tests, use_test_plugins, NULL);
}
