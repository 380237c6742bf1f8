/* ops_quantized_test.c - ops whose result stays quantized: the same values as the op on what the tensor stands for
 * (exactly where nothing must be rounded, else within half a step of the new scale), the scheme, the bytes, the memory.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <burn/burn.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "test_stacks.h"

static BurnDevice *device; /* of the stack that is tested */
static const char *stack;
enum { MAX = 512 };

/* -- schemes ---------------------------------------------------------------------------------- */

enum { TENSOR, ROWS, SQUARES, LEVELS, SCHEMES }; /* one scale; blocks of 4 and of 2 x 4; blocks of 4 with two levels */

static BurnQuantScheme scheme_of(int which) {
  BurnQuantScheme scheme = BURN_QUANT_SCHEME;
  if (which == ROWS || which == LEVELS) scheme.block_rank = 1;
  if (which == SQUARES) scheme.block_rank = 2;
  scheme.block[0] = which == SQUARES ? 2 : 4;
  scheme.block[1] = 4;
  scheme.two_level = which == LEVELS;
  return scheme;
}

/* [2,4,8], every block of another size. */
static BurnQuantTensor sample(int scheme) {
  float x[64];
  for (int i = 0; i < 64; i++) x[i] = (float)((i * 37 + 11) % 64 - 32) * (1.0f + (float)(i / 4) * 0.37f);
  return burn_quantize_dynamic(burn_tensor_f32(device, x, BURN_SHAPE(2, 4, 8)), scheme_of(scheme));
}

static BurnTensor *floats_of(const BurnQuantTensor *q) { return burn_dequantize(burn_quant_clone(q), BURN_DTYPE_F32); }

static BurnTensor *places(BurnShape shape, const int64_t *values) { return burn_tensor_i64(device, values, shape); }

/* -- the ops ---------------------------------------------------------------------------------- */

static const int64_t rows[] = {3, 0, 0, 2}, picks[2 * 4 * 4] = {0, 5, 7, 1, 6, 6, 2, 3, 4, 0, 1, 2, 7, 7, 7, 0,
                                                                1, 3, 5, 7, 0, 2, 4, 6, 3, 3, 3, 3, 6, 1, 6, 1};

/* Takes q, or x: the op on either. */
typedef struct Op {
  const char *name;
  BurnQuantTensor (*quantized)(BurnQuantTensor q);
  BurnTensor *(*floats)(BurnTensor *x);
  uint32_t exact;    /* bit i: under scheme i nothing is rounded */
  uint32_t possible; /* bit i: scheme i fits the result */
} Op;

enum { ALL = (1 << SCHEMES) - 1, BY_ROWS = 1 << TENSOR | 1 << ROWS | 1 << LEVELS, ONE = 1 << TENSOR };

#define OPS(X)                                                                                                         \
  X(reshape_leading, reshape(x, BURN_SHAPE(8, -1)), reshape(x, BURN_SHAPE(8, 8)), BY_ROWS, ALL)                        \
  X(reshape_outer, reshape(x, BURN_SHAPE(1, 2, 1, 4, 8)), reshape(x, BURN_SHAPE(1, 2, 1, 4, 8)), ALL, ALL)             \
  X(reshape_runs, reshape(x, BURN_SHAPE(4, 16)), reshape(x, BURN_SHAPE(4, 16)), BY_ROWS, ALL)                          \
  X(expand, expand(x, BURN_SHAPE(3, 2, 4, -1)), expand(x, BURN_SHAPE(3, 2, 4, 8)), ALL, ALL)                           \
  X(transpose, transpose(x), transpose(x), ALL, ALL)                                                                   \
  X(swap_dims, swap_dims(x, 0, -1), swap_dims(x, 0, -1), ALL, ALL)                                                     \
  X(permute, permute(x, ((const int[]){1, -1, 0})), permute(x, ((const int[]){1, -1, 0})), ALL, ALL)                   \
  X(flip, flip(x, ((const int[]){1, -1}), 2), flip(x, ((const int[]){1, -1}), 2), ALL, ALL)                            \
  X(select_outer, select(x, 0, places(BURN_SHAPE(2), (const int64_t[]){1, 1})),                                        \
    select(x, 0, places(BURN_SHAPE(2), (const int64_t[]){1, 1})), ALL, ALL)                                            \
  X(select_rows, select(x, -2, places(BURN_SHAPE(4), rows)), select(x, -2, places(BURN_SHAPE(4), rows)), BY_ROWS, ALL) \
  X(slice_whole,                                                                                                       \
    slice(x, ((const BurnRange[]){BURN_RANGE(1, 2), BURN_RANGE(2, BURN_END), BURN_RANGE(-4, BURN_END)}), 3),           \
    slice(x, ((const BurnRange[]){BURN_RANGE(1, 2), BURN_RANGE(2, BURN_END), BURN_RANGE(-4, BURN_END)}), 3), ALL, ALL) \
  X(slice_torn, slice(x, ((const BurnRange[]){BURN_RANGE_ALL, BURN_RANGE(1, 3), BURN_RANGE(2, 6)}), 3),                \
    slice(x, ((const BurnRange[]){BURN_RANGE_ALL, BURN_RANGE(1, 3), BURN_RANGE(2, 6)}), 3), ONE, ALL)                  \
  X(slice_steps, slice(x, ((const BurnRange[]){BURN_RANGE_ALL, BURN_RANGE_ALL, BURN_RANGE_STEP(0, 8, -2)}), 3),        \
    slice(x, ((const BurnRange[]){BURN_RANGE_ALL, BURN_RANGE_ALL, BURN_RANGE_STEP(0, 8, -2)}), 3), ONE, ALL)           \
  X(repeat_dim, repeat_dim(x, 2, 3), repeat_dim(x, 2, 3), ALL, ALL)                                                    \
  X(gather, gather(x, 2, places(BURN_SHAPE(2, 4, 4), picks)), gather(x, 2, places(BURN_SHAPE(2, 4, 4), picks)), ONE,   \
    ALL)                                                                                                               \
  X(topk, topk(x, 4, -1, NULL), topk(x, 4, -1), ONE, ALL)                                                              \
  X(sort, sort(x, -1, true, NULL), sort_descending(x, -1), ONE, ALL)                                                   \
  X(max_dim, max_dim(x, 0, NULL), max_dim(x, 0), ONE, ALL)                                                             \
  X(min_dim, min_dim(x, -1, NULL), min_dim(x, -1), ONE, ONE)                                                           \
  X(abs, abs(x), abs(x), 0, ALL)

#define FUNCTIONS(name, of_quantized, of_floats, exact, possible)                          \
  static BurnQuantTensor q_##name(BurnQuantTensor x) { return burn_quant_##of_quantized; } \
  static BurnTensor *f_##name(BurnTensor *x) { return burn_##of_floats; }
OPS(FUNCTIONS)

/* -- checks ----------------------------------------------------------------------------------- */

/* The largest scale of q: a step of its values. */
static double step_of(const BurnQuantTensor *q) {
  double scale = 0, global = 1;
  assert_int_equal(burn_read_scalar(burn_max(burn_cast(burn_clone(q->parameters.scales), BURN_DTYPE_F32)), &scale),
                   BURN_OK);
  if (q->parameters.global_scale) {
    assert_int_equal(burn_read_scalar(burn_clone(q->parameters.global_scale), &global), BURN_OK);
  }
  return scale * global;
}

/* q stands for x, within `steps` steps; x is taken. */
static void check_close(const BurnQuantTensor *q, BurnTensor *x, double steps, const char *name) {
  static float found[MAX], expected[MAX];
  const BurnShape shape = burn_shape(x);
  const size_t count = (size_t)burn_element_count(x);
  const double room = steps * step_of(q) * 1.01;
  if (burn_rank(q->values) != shape.rank)
    fail_msg("%s: %s: rank %u, expected %u", stack, name, burn_rank(q->values), shape.rank);
  for (uint32_t i = 0; i < shape.rank; i++) assert_int_equal(burn_dim(q->values, (int)i), shape.dims[i]);
  assert_int_equal(burn_read_f32(floats_of(q), found, count), BURN_OK);
  assert_int_equal(burn_read_f32(x, expected, count), BURN_OK);
  for (size_t i = 0; i < count; i++) {
    if (fabs((double)found[i] - (double)expected[i]) <= room) continue;
    fail_msg("%s: %s: element %zu is %.9g, expected %.9g within %g", stack, name, i, (double)found[i],
             (double)expected[i], room);
  }
}

/* Still values of 8 bits and scales, which fit each other. */
static void check_quantized(const BurnQuantTensor *q, int scheme, const char *name) {
  uint8_t data[MAX * 2];
  const BurnQuantScheme before = scheme_of(scheme);
  assert_int_equal(burn_dtype(q->values), BURN_DTYPE_I8);
  assert_int_equal(q->scheme.value, before.value);
  assert_int_equal(q->scheme.two_level, before.two_level);
  assert_int_equal(q->scheme.block_rank == 0, before.block_rank == 0);
  const size_t count = (size_t)burn_element_count(q->values),
               bytes = burn_quant_bytes(burn_shape(q->values), q->scheme);
  const size_t scales = (size_t)burn_element_count(q->parameters.scales);
  assert_int_equal(scales, scheme == TENSOR ? 1 : scheme == SQUARES ? count / 8 : count / 4);
  if (bytes != (count + 3) / 4 * 4 + scales * 4 + (before.two_level ? 4 : 0))
    fail_msg("%s: %s: %zu bytes", stack, name, bytes);
  const BurnStatus status = burn_quant_export(burn_quant_clone(q), data, bytes);
  if (status != BURN_OK) fail_msg("%s: %s: %s", stack, name, burn_status_message(status));
}

static void check_op(const Op *op, int scheme) {
  BurnQuantTensor q = sample(scheme);
  BurnTensor *expected = op->floats(floats_of(&q));
  q = op->quantized(q);
  if (!(op->possible >> scheme & 1)) {
    if (!strstr(burn_status_message(burn_quant_status(&q)), "do not divide axis")) {
      fail_msg("%s: %s: '%s'", stack, op->name, burn_status_message(burn_quant_status(&q)));
    }
    burn_drop(expected);
  } else {
    if (burn_quant_status(&q) != BURN_OK) {
      fail_msg("%s: %s, scheme %d: %s", stack, op->name, scheme, burn_status_message(burn_quant_status(&q)));
    }
    check_quantized(&q, scheme, op->name);
    check_close(&q, expected, op->exact >> scheme & 1 ? 0 : 0.5, op->name);
  }
  burn_quant_drop(q);
}

static void test_every_op_stays_quantized(void **state) {
  (void)state;
#define ROW(name, of_quantized, of_floats, exact, possible) {#name, q_##name, f_##name, exact, possible},
  static const Op ops[] = {OPS(ROW)};
  for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++) {
    for (int scheme = 0; scheme < SCHEMES; scheme++) check_op(&ops[i], scheme);
  }
}

/* -- several tensors, indices ----------------------------------------------------------------- */

static void test_cat(void **state) {
  (void)state;
  for (int scheme = 0; scheme < SCHEMES; scheme++) {
    BurnQuantTensor first = sample(scheme), second = burn_quant_flip(sample(scheme), (const int[]){0, 1, 2}, 3);
    for (int dim = -1; dim < 2; dim++) {
      BurnTensor *const floats[] = {floats_of(&first), floats_of(&second)};
      const BurnQuantTensor both[] = {burn_quant_clone(&first), burn_quant_clone(&second)};
      BurnQuantTensor q = burn_quant_cat(both, 2, dim);
      check_quantized(&q, scheme, "cat");
      check_close(&q, burn_cat(floats, 2, dim), scheme == ROWS || scheme == SQUARES ? 0 : 0.5, "cat");
      burn_quant_drop(q);
    }
    /* Under the scheme of the first. */
    const BurnQuantTensor mixed[] = {first, sample(TENSOR)};
    BurnTensor *const floats[] = {floats_of(&mixed[0]), floats_of(&mixed[1])};
    BurnQuantTensor q = burn_quant_cat(mixed, 2, 0);
    check_quantized(&q, scheme, "cat of two schemes");
    check_close(&q, burn_cat(floats, 2, 0), 0.5, "cat of two schemes");
    burn_quant_drop(q);
    burn_quant_drop(second);
  }
}

static void test_positions(void **state) {
  (void)state;
  const float x[] = {1, -5, 3, 4};
  BurnQuantTensor q = burn_quantize_dynamic(burn_tensor_f32(device, x, BURN_SHAPE(4)), BURN_QUANT_SCHEME);
  BurnTensor *indices[5];
  burn_quant_drop(burn_quant_topk(burn_quant_clone(&q), 2, 0, &indices[0]));
  burn_quant_drop(burn_quant_sort(burn_quant_clone(&q), 0, false, &indices[1]));
  burn_quant_drop(burn_quant_max_dim(burn_quant_clone(&q), 0, &indices[2]));
  burn_quant_drop(burn_quant_min_dim(burn_quant_clone(&q), 0, &indices[3]));
  BurnQuantTensor far = burn_quant_max_abs_dim(q, 0, &indices[4]);
  static const int64_t expected[5][4] = {{3, 2}, {1, 0, 2, 3}, {3}, {1}, {1}};
  static const size_t counts[] = {2, 4, 1, 1, 1};
  for (size_t i = 0; i < 5; i++) {
    int64_t found[4];
    assert_int_equal(burn_read_i64(indices[i], found, counts[i]), BURN_OK);
    assert_memory_equal(found, expected[i], counts[i] * sizeof found[0]);
  }
  double value = 0;
  assert_int_equal(burn_read_scalar(burn_dequantize(far, BURN_DTYPE_F32), &value), BURN_OK);
  assert_true(fabs(value + 5) < 5.0 / 255 + 1e-5); /* half a step */
}

/* -- memory and mistakes ---------------------------------------------------------------------- */

/* An MB of values: with one scale no floats come into being, and views share the values. */
static void test_memory_stays_small(void **state) {
  (void)state;
  enum { SIDE = 1024, MB = SIDE * SIDE };
  BurnQuantTensor q =
      burn_quantize_dynamic(burn_ones(device, BURN_SHAPE(SIDE, SIDE), BURN_DTYPE_F32), BURN_QUANT_SCHEME);
  assert_int_equal(burn_device_sync(device), BURN_OK);
  const int64_t before = burn_device_memory(device).bytes_in_use;
  BurnQuantTensor moved = burn_quant_reshape(burn_quant_transpose(burn_quant_clone(&q)), BURN_SHAPE(1, SIDE, SIDE));
  moved = burn_quant_repeat_dim(
      burn_quant_expand(burn_quant_flip(moved, (const int[]){2}, 1), BURN_SHAPE(1, SIDE, SIDE)), 0, 2);
  assert_int_equal(burn_quant_status(&moved), BURN_OK);
  assert_int_equal(burn_device_sync(device), BURN_OK);
  const int64_t more = burn_device_memory(device).bytes_in_use - before;
  if (more > 2 * MB + 65536)
    fail_msg("%s: %lld bytes more, the values of the result are %d", stack, (long long)more, 2 * MB);
  burn_quant_drop(moved);
  burn_quant_drop(q);
}

static void expect_failure(BurnQuantTensor q, const char *text) {
  const char *message = burn_status_message(burn_quant_status(&q));
  if (!strstr(message, text)) fail_msg("%s: '%s', expected '%s'", stack, message, text);
  burn_quant_drop(q);
}

static void test_mistakes_travel(void **state) {
  (void)state;
  expect_failure(burn_quant_reshape(sample(TENSOR), BURN_SHAPE(7, -1)),
                 "reshape: [2,4,8] to [7,-1]: 64 elements cannot be divided by 7");
  expect_failure(burn_quant_reshape(sample(ROWS), BURN_SHAPE(32, 2)),
                 "quant_reshape: blocks of 4 do not divide axis 1 of [32,2]");
  expect_failure(burn_quant_expand(sample(TENSOR), BURN_SHAPE(2, 4, 9)), "expand: ");
  expect_failure(burn_quant_swap_dims(sample(SQUARES), 0, 3),
                 "quant_swap_dims: dim 3 is outside -3..2 of shape [2,4,8]");
  expect_failure(burn_quant_slice(sample(ROWS), NULL, 2), "slice: the list of 2 ranges is NULL");
  expect_failure(
      burn_quant_slice(sample(ROWS), (const BurnRange[]){BURN_RANGE_ALL, BURN_RANGE_ALL, BURN_RANGE(0, 3)}, 3),
      "quant_slice: blocks of 4 do not divide axis 2 of [2,4,3]");
  expect_failure(burn_quant_select(sample(ROWS), 5, places(BURN_SHAPE(4), rows)), "select: dim 5 is outside");
  expect_failure(burn_quant_topk(sample(TENSOR), 9, -1, NULL), "argtopk: k is 9");
  expect_failure(burn_quant_cat(NULL, 0, 0), "quant_cat: 0 tensors given");
  expect_failure(burn_quant_abs(burn_quant_gather(sample(TENSOR), 0, NULL)), "gather");
  BurnQuantTensor q = sample(TENSOR);
  burn_drop(q.parameters.scales);
  q.parameters.scales = NULL;
  expect_failure(burn_quant_sort(q, 0, false, NULL), "scales");
}

/* -- on every stack --------------------------------------------------------------------------- */

#define STACKS "ndarray; ndarray:primitives=true; reference; autodiff<ndarray>; autodiff<fusion<ndarray>>"

#define TESTS(X)                   \
  X(test_every_op_stays_quantized) \
  X(test_cat)                      \
  X(test_positions)                \
  X(test_memory_stays_small)       \
  X(test_mistakes_travel)

#define ON_STACKS(name)                            \
  static void name##_on(void **state) {            \
    (void)state;                                   \
    test_on_stacks(STACKS, &device, &stack, name); \
  }
TESTS(ON_STACKS)

int main(void) {
#define TEST_ROW(name) {#name, name##_on, NULL, NULL, NULL},
  const struct CMUnitTest tests[] = {TESTS(TEST_ROW)};
  return test_stacks_result(cmocka_run_group_tests_name("quantized ops", tests, NULL, NULL));
}
