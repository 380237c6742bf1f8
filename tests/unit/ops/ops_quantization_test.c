/* ops_quantization_test.c - quantize, dequantize, quantized_matmul, quantized_conv2d, scales, and the bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <burn/burn.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "quantization_golden.h"
#include "test_stacks.h"

static BurnDevice *device; /* of the stack that is tested */
enum { MAX = 64 };

static BurnTensor *floats(const float *values, BurnShape shape) { return burn_tensor_f32(device, values, shape); }

static void check_ok(BurnStatus status, const char *what) {
  if (status != BURN_OK) fail_msg("%s: %s", what, burn_status_message(status));
}

/* Takes x. */
static void check_floats(BurnTensor *x, const float *expected, size_t count, double tolerance, const char *what) {
  float found[MAX];
  check_ok(burn_tensor_status(x), what);
  check_ok(burn_read_f32(x, found, count), what);
  for (size_t i = 0; i < count; i++) {
    if (isnan(expected[i]) ? isnan(found[i]) : fabs((double)found[i] - (double)expected[i]) <= tolerance) continue;
    fail_msg("%s: element %zu is %.9g, expected %.9g", what, i, (double)found[i], (double)expected[i]);
  }
}

/* q stays. */
static void check_values(const BurnQuantTensor *q, const int64_t *expected, size_t count, const char *what) {
  int64_t found[MAX];
  check_ok(burn_quant_status(q), what);
  assert_int_equal(burn_dtype(q->values), BURN_DTYPE_I8);
  check_ok(burn_read_i64(burn_clone(q->values), found, count), what);
  for (size_t i = 0; i < count; i++) {
    if (found[i] != expected[i]) fail_msg("%s: value %zu is %d, expected %d", what, i, (int)found[i], (int)expected[i]);
  }
}
#define VALUES(...) (const int64_t[]){__VA_ARGS__}, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)
#define FLOATS(...) (const float[]){__VA_ARGS__}, sizeof((float[]){__VA_ARGS__}) / sizeof(float)

static BurnQuantScheme scheme_of(BurnQuantValue value) {
  BurnQuantScheme scheme = BURN_QUANT_SCHEME;
  scheme.value = value;
  return scheme;
}

static BurnQuantScheme blocks_of(BurnQuantValue value, uint32_t rank, int64_t first, int64_t second) {
  BurnQuantScheme scheme = scheme_of(value);
  scheme.block_rank = rank;
  scheme.block[0] = first;
  scheme.block[1] = second;
  return scheme;
}

static BurnQuantParameters one_scale(float scale) { return (BurnQuantParameters){floats(&scale, BURN_SHAPE(1)), NULL}; }

/* -- per tensor ------------------------------------------------------------------------------- */

static void test_burns_own_example(void **state) {
  (void)state;
  const float x[] = {-1.8f, -1.0f, 0.0f, 0.5f};
  BurnQuantTensor q = burn_quantize_dynamic(floats(x, BURN_SHAPE(4)), scheme_of(BURN_QUANT_Q8S));
  check_values(&q, VALUES(-127, -71, 0, 35), "Q8S");
  check_floats(burn_clone(q.parameters.scales), FLOATS(3.6f / 254), 1e-9, "scale");
  check_floats(burn_dequantize(q, BURN_DTYPE_F32), FLOATS(-1.8f, -1.0062993f, 0, 0.496063f), 1e-6, "dequantized");
}

static void test_rounding_and_ranges(void **state) {
  (void)state;
  const float x[] = {0.5f, 1.5f, 2.5f, -0.5f, -1.5f, -2.5f, 1000, -1000, (float)NAN, (float)INFINITY, -0.0f, 126.5f};
  BurnQuantTensor q = burn_quantize(floats(x, BURN_SHAPE(12)), scheme_of(BURN_QUANT_Q8F), one_scale(1));
  check_values(&q, VALUES(0, 2, 2, 0, -2, -2, 127, -128, 0, 127, 0, 126), "Q8F");
  burn_quant_drop(q);
  static const int lows[] = {-128, -127, -8, -7, -2, -1}, highs[] = {127, 127, 7, 7, 1, 1},
                   widths[] = {8, 8, 4, 4, 2, 2};
  static const char *const names[] = {"Q8F", "Q8S", "Q4F", "Q4S", "Q2F", "Q2S"}; /* Burn's */
  assert_null(burn_quant_value_name((BurnQuantValue)(BURN_QUANT_Q2S + 1)));
  for (int type = BURN_QUANT_Q8F; type <= BURN_QUANT_Q2S; type++) {
    int low, high, bits;
    burn_quant_value_range((BurnQuantValue)type, &low, &high, &bits);
    assert_string_equal(burn_quant_value_name((BurnQuantValue)type), names[type]);
    assert_int_equal(low, lows[type]);
    assert_int_equal(high, highs[type]);
    assert_int_equal(bits, widths[type]);
    const float ends[] = {-1000, 1000};
    q = burn_quantize(floats(ends, BURN_SHAPE(2)), scheme_of((BurnQuantValue)type), one_scale(1));
    check_values(&q, VALUES(low, high), "ends");
    burn_quant_drop(q);
  }
}

static void test_calibration(void **state) {
  (void)state;
  const float x[] = {-3, 1, 0, 2};
  BurnTensor *low = NULL, *high = NULL;
  burn_quant_range(floats(x, BURN_SHAPE(2, 2)), BURN_QUANT_SCHEME, BURN_QUANT_MIN_MAX, &low, &high);
  check_floats(burn_clone(low), FLOATS(-3), 0, "low");
  check_floats(burn_clone(high), FLOATS(2), 0, "high");
  BurnQuantParameters parameters = burn_quant_parameters(low, high, BURN_QUANT_SCHEME);
  assert_null(parameters.global_scale);
  check_floats(parameters.scales, FLOATS(6.0f / 255), 1e-9, "min-max");
  burn_quant_range(floats(x, BURN_SHAPE(2, 2)), scheme_of(BURN_QUANT_Q4S), BURN_QUANT_ABS_MEAN, &low, &high);
  check_floats(burn_quant_parameters(low, high, scheme_of(BURN_QUANT_Q4S)).scales, FLOATS(3.0f / 14), 1e-9, "mean");
}

/* -- per block -------------------------------------------------------------------------------- */

static void test_blocks_have_their_own_scales(void **state) {
  (void)state;
  const float x[] = {-1.8f, -1, 0, 0.5f, -18, -10, 0, 5, 0, 0, 0, 0, 127, 1, 2, 3};
  BurnQuantTensor q = burn_quantize_dynamic(floats(x, BURN_SHAPE(2, 8)), blocks_of(BURN_QUANT_Q8S, 1, 4, 0));
  check_values(&q, VALUES(-127, -71, 0, 35, -127, -71, 0, 35, 0, 0, 0, 0, 127, 1, 2, 3), "blocks of 4");
  check_floats(burn_clone(q.parameters.scales), FLOATS(3.6f / 254, 36.0f / 254, 0, 1), 1e-6, "scales");
  check_floats(burn_dequantize(q, BURN_DTYPE_DEFAULT),
               FLOATS(-1.8f, -1.0062993f, 0, 0.496063f, -18, -10.062993f, 0, 4.96063f, 0, 0, 0, 0, 127, 1, 2, 3), 1e-5,
               "back");
}

/* A 4 x 4 in blocks of 2 x 2; transposed, the blocks must move along. */
static void test_blocks_over_two_axes(void **state) {
  (void)state;
  float x[16], expected[16], transposed[16];
  static const float scale[2][2] = {{1, 2}, {4, 8}};
  for (int i = 0; i < 16; i++) {
    const int row = i / 4, column = i % 4;
    x[i] = scale[row / 2][column / 2] * (float)((row % 2 * 2 + column % 2) * 42 + 1);
    expected[i] = x[i];
    transposed[column * 4 + row] = x[i];
  }
  const float scales[] = {1, 2, 4, 8};
  BurnQuantParameters parameters = {floats(scales, BURN_SHAPE(2, 2)), NULL};
  BurnQuantTensor q = burn_quantize(floats(x, BURN_SHAPE(4, 4)), blocks_of(BURN_QUANT_Q8F, 2, 2, 2), parameters);
  check_values(&q, VALUES(1, 43, 1, 43, 85, 127, 85, 127, 1, 43, 1, 43, 85, 127, 85, 127), "2 x 2");
  check_floats(burn_dequantize(burn_quant_clone(&q), BURN_DTYPE_F32), expected, 16, 0, "back");
  q = burn_quant_permute(q, (const int[]){1, 0});
  check_floats(burn_dequantize(q, BURN_DTYPE_F32), transposed, 16, 0, "transposed");
  BurnQuantTensor rows = burn_quantize_dynamic(floats(x, BURN_SHAPE(2, 8)), blocks_of(BURN_QUANT_Q8S, 1, 4, 0));
  rows = burn_quant_permute(rows, (const int[]){-1, 0});
  assert_int_equal(rows.scheme.block_rank, 2);
  assert_int_equal(rows.scheme.block[0], 4);
  assert_int_equal(rows.scheme.block[1], 1);
  float back[16];
  check_ok(burn_read_f32(burn_dequantize(rows, BURN_DTYPE_F32), back, 16), "permuted");
  for (int i = 0; i < 16; i++) assert_true(fabs((double)back[i % 8 * 2 + i / 8] - (double)x[i]) < 0.6 * 1016 / 127);
}

static void test_two_levels(void **state) {
  (void)state;
  const float x[] = {1, -2, 4, 8, 100, -50, 25, 0, 0, 0, 0, 0};
  BurnQuantScheme scheme = blocks_of(BURN_QUANT_Q8S, 1, 4, 0);
  scheme.two_level = true;
  BurnQuantTensor q = burn_quantize_dynamic(floats(x, BURN_SHAPE(12)), scheme);
  check_floats(burn_clone(q.parameters.global_scale), FLOATS(100.0f / 127), 1e-6, "global");
  check_floats(burn_clone(q.parameters.scales), FLOATS(0.08f, 1, 0), 1e-6, "scales");
  check_values(&q, VALUES(16, -32, 64, 127, 127, -64, 32, 0, 0, 0, 0, 0), "values");
  check_floats(burn_dequantize(q, BURN_DTYPE_F32), x, 12, 0.4, "back");
  const float zeros[8] = {0};
  q = burn_quantize_dynamic(floats(zeros, BURN_SHAPE(2, 4)), scheme);
  check_floats(burn_dequantize(q, BURN_DTYPE_F32), zeros, 8, 0, "all zero");
}

/* -- products --------------------------------------------------------------------------------- */

static void test_product_is_that_of_the_floats(void **state) {
  (void)state;
  const float a[] = {1, -1, 0, 1, 1, 0, -1, -1}, b[] = {1, 0, -1, 1, 1, -1, 0, 1};
  BurnQuantTensor lhs = burn_quantize(floats(a, BURN_SHAPE(2, 4)), scheme_of(BURN_QUANT_Q2S), one_scale(1));
  BurnQuantTensor rhs = burn_quantize(floats(b, BURN_SHAPE(4, 2)), scheme_of(BURN_QUANT_Q2S), one_scale(1));
  check_floats(burn_quant_matmul(lhs, rhs, BURN_DTYPE_F32), FLOATS(2, 0, 0, 0), 0, "ternary");
  lhs = burn_quantize_dynamic(floats(a, BURN_SHAPE(2, 4)), blocks_of(BURN_QUANT_Q8S, 1, 2, 0));
  rhs = burn_quantize_dynamic(floats(b, BURN_SHAPE(4, 2)), blocks_of(BURN_QUANT_Q8S, 2, 2, 1));
  check_floats(burn_quant_matmul(lhs, rhs, BURN_DTYPE_DEFAULT), FLOATS(2, 0, 0, 0), 1e-5, "blocks");
}

/* Value i of pattern k, as in make_quantization_golden.py. */
static BurnTensor *pattern(BurnShape shape, int k) {
  int8_t values[512];
  int64_t count = 1;
  for (uint32_t i = 0; i < shape.rank; i++) count *= shape.dims[i];
  assert_true(count <= (int64_t)sizeof values);
  for (int64_t i = 0; i < count; i++) values[i] = (int8_t)((i * 37 + 11 * k) % 255 - 127);
  return burn_tensor_from(device, values, BURN_DTYPE_I8, shape);
}

/* One scale, or with blocks one per index of the first axis. */
static BurnQuantTensor quantized_pattern(BurnShape shape, int k, int64_t scales) {
  float numbers[8];
  for (int64_t i = 0; i < scales; i++) numbers[i] = (float)(1 + i % 5) / 64;
  BurnQuantTensor q = {pattern(shape, k), {NULL, NULL}, BURN_QUANT_SCHEME};
  if (scales == 1) {
    q.parameters.scales = floats(numbers, BURN_SHAPE(1));
    return q;
  }
  q.scheme.block_rank = 4;
  for (int i = 0; i < 4; i++) q.scheme.block[i] = i == 0 ? 1 : shape.dims[i];
  q.parameters.scales = floats(numbers, BURN_SHAPE(scales, 1, 1, 1));
  return q;
}

static BurnTensor *bias_of(int64_t channels) {
  float numbers[8];
  for (int64_t i = 0; i < channels; i++) numbers[i] = (float)i - 1.5f;
  return floats(numbers, BURN_SHAPE(channels));
}

/* Takes x. */
static void check_numbers(BurnTensor *x, const double *expected, size_t count, double tolerance, const char *what) {
  float found[512];
  assert_true(count <= 512);
  check_ok(burn_tensor_status(x), what);
  check_ok(burn_read_f32(x, found, count), what);
  for (size_t i = 0; i < count; i++) {
    if (fabs((double)found[i] - expected[i]) <= tolerance) continue;
    fail_msg("%s: element %zu is %.9g, expected %.9g", what, i, (double)found[i], expected[i]);
  }
}

#define SIZES(...) \
  { __VA_ARGS__ }
typedef struct ConvCase {
  const char *name;
  int64_t scales, bias, groups, x[4], weight[4], stride[2], padding[2], dilation[2];
  const double *expected;
  size_t count;
} ConvCase;
#define CONV_CASE(name, scales, bias, groups, x, weight, stride, padding, dilation) \
  {#name,                                                                           \
   scales,                                                                          \
   bias,                                                                            \
   groups,                                                                          \
   x,                                                                               \
   weight,                                                                          \
   stride,                                                                          \
   padding,                                                                         \
   dilation,                                                                        \
   golden_conv_##name,                                                              \
   sizeof golden_conv_##name / sizeof(double)},
static const ConvCase conv_cases[] = {QUANTIZED_CONVS(CONV_CASE)};

static BurnTensor *convolved(const ConvCase *c) {
  BurnConv2dOptions options = BURN_CONV2D_OPTIONS;
  for (int i = 0; i < 2; i++) {
    options.stride[i] = c->stride[i];
    options.padding[i] = c->padding[i];
    options.dilation[i] = c->dilation[i];
  }
  options.groups = c->groups;
  BurnShape x = {4, {0}}, weight = {4, {0}};
  for (int i = 0; i < 4; i++) x.dims[i] = c->x[i], weight.dims[i] = c->weight[i];
  return burn_quant_conv2d(quantized_pattern(x, 1, 1), quantized_pattern(weight, 2, c->scales),
                           c->bias ? bias_of(c->weight[0]) : NULL, options, BURN_DTYPE_F32);
}

static void test_convolution_is_that_of_the_floats(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof conv_cases / sizeof *conv_cases; i++)
    check_numbers(convolved(&conv_cases[i]), conv_cases[i].expected, conv_cases[i].count, 2e-4, conv_cases[i].name);
}

/* Padding of one row above and one column to the right: the rest of what padding on both sides gives. */
static void test_convolution_with_uneven_padding(void **state) {
  (void)state;
  BurnConv2dOptions options = BURN_CONV2D_OPTIONS;
  const BurnShape x = BURN_SHAPE(1, 2, 4, 4), weight = BURN_SHAPE(2, 2, 3, 3);
  options.padding[0] = options.padding[1] = 1;
  BurnTensor *whole =
      burn_quant_conv2d(quantized_pattern(x, 1, 1), quantized_pattern(weight, 2, 2), NULL, options, BURN_DTYPE_F32);
  const BurnRange ranges[] = {BURN_RANGE_ALL, BURN_RANGE_ALL, BURN_RANGE(0, 3), BURN_RANGE(1, 4)};
  float expected[18];
  check_ok(burn_read_f32(burn_slice(whole, ranges, 4), expected, 18), "both sides");
  options.asymmetric = true;
  options.padding[0] = options.padding_end[1] = 1;
  options.padding[1] = options.padding_end[0] = 0;
  check_floats(
      burn_quant_conv2d(quantized_pattern(x, 1, 1), quantized_pattern(weight, 2, 2), NULL, options, BURN_DTYPE_F32),
      expected, 18, 1e-3, "one side");
}

/* -- bytes ------------------------------------------------------------------------------------ */

/* Exports q (which stays), compares, imports, and compares what comes back. */
static void check_round_trip(const BurnQuantTensor *q, const uint8_t *expected, size_t bytes, const char *what) {
  uint8_t data[MAX];
  const BurnShape shape = burn_shape(q->values);
  assert_int_equal(burn_quant_bytes(shape, q->scheme), bytes);
  check_ok(burn_quant_export(burn_quant_clone(q), data, bytes), what);
  for (size_t i = 0; i < bytes; i++) {
    if (data[i] != expected[i]) fail_msg("%s: byte %zu is %02x, expected %02x", what, i, data[i], expected[i]);
  }
  const size_t count = (size_t)burn_element_count(q->values);
  float before[MAX];
  check_ok(burn_read_f32(burn_dequantize(burn_quant_clone(q), BURN_DTYPE_F32), before, count), what);
  BurnQuantTensor back = burn_quant_import(device, data, bytes, shape, q->scheme);
  check_floats(burn_dequantize(back, BURN_DTYPE_F32), before, count, 0, what);
}
#define BYTES(...) (const uint8_t[]){__VA_ARGS__}, sizeof((uint8_t[]){__VA_ARGS__})

static void test_bytes(void **state) {
  (void)state;
  const float x[] = {1, -2, 3, -4, 5, -6};
  BurnQuantTensor q = burn_quantize(floats(x, BURN_SHAPE(2, 3)), scheme_of(BURN_QUANT_Q8S), one_scale(1));
  check_round_trip(&q, BYTES(1, 0xfe, 3, 0xfc, 5, 0xfa, 0, 0, 0, 0, 0x80, 0x3f), "Q8S");
  burn_quant_drop(q);
  q = burn_quantize(floats(x, BURN_SHAPE(2, 3)), scheme_of(BURN_QUANT_Q4F), one_scale(1));
  check_round_trip(&q, BYTES(0xe1, 0xc3, 0xa5, 0, 0, 0, 0x80, 0x3f), "Q4F");
  burn_quant_drop(q);
  q = burn_quantize(floats(x, BURN_SHAPE(2, 3)), scheme_of(BURN_QUANT_Q2F), one_scale(1));
  check_round_trip(&q, BYTES(0x99, 0x09, 0, 0, 0, 0, 0x80, 0x3f), "Q2F"); /* 1 -2 1 -2 | 1 -2: 01 10 01 10 | 01 10 */
  burn_quant_drop(q);
  BurnQuantScheme scheme = blocks_of(BURN_QUANT_Q8S, 1, 3, 0);
  scheme.two_level = true;
  const float scales[] = {1, 2}, global = 0.5f;
  BurnQuantParameters parameters = {floats(scales, BURN_SHAPE(2, 1)), floats(&global, BURN_SHAPE(1))};
  q = burn_quantize(floats(x, BURN_SHAPE(2, 3)), scheme, parameters);
  check_round_trip(&q, BYTES(2, 0xfc, 6, 0xfc, 5, 0xfa, 0, 0, 0, 0, 0x80, 0x3f, 0, 0, 0, 0x40, 0, 0, 0, 0x3f),
                   "two levels");
  burn_quant_drop(q);
}

static void test_wrong_bytes_are_refused(void **state) {
  (void)state;
  const uint8_t data[16] = {0};
  BurnQuantTensor q = burn_quant_import(device, data, 11, BURN_SHAPE(2, 3), BURN_QUANT_SCHEME);
  assert_string_equal(burn_status_message(burn_quant_status(&q)), "quant_import: 11 bytes given, the tensor has 12");
  burn_quant_drop(q);
  q = burn_quant_import(device, data, 16, (BurnShape){9, {1, 1, 1, 1, 1, 1, 1, 1}}, BURN_QUANT_SCHEME);
  assert_string_equal(burn_status_message(burn_quant_status(&q)), "quant_import: rank 9 is not in 1..8");
  burn_quant_drop(q);
  assert_int_equal(burn_quant_bytes(BURN_SHAPE(INT64_MAX, 3), BURN_QUANT_SCHEME), 0);
  assert_int_equal(burn_quant_bytes(BURN_SHAPE(2, 3), scheme_of((BurnQuantValue)9)), 0);
  q = burn_quant_import(device, data, 12, BURN_SHAPE(2, 3), BURN_QUANT_SCHEME);
  uint8_t room[13];
  const BurnStatus status = burn_quant_export(q, room, 13);
  assert_string_equal(burn_status_message(status), "quant_export: 13 bytes given, the tensor has 12");
}

/* Parts put together by hand that do not belong together. */
static void test_wrong_parts_are_refused(void **state) {
  (void)state;
  const uint8_t data[12] = {0};
  uint8_t room[12];
  BurnQuantTensor q = burn_quant_import(device, data, 12, BURN_SHAPE(2, 3), BURN_QUANT_SCHEME);
  q.parameters.global_scale = burn_ones(device, BURN_SHAPE(1), BURN_DTYPE_F32);
  assert_string_equal(burn_status_message(burn_quant_export(q, room, 12)),
                      "quant_export: a global scale needs a scheme of two levels");
  q = burn_quant_import(device, data, 12, BURN_SHAPE(2, 3), BURN_QUANT_SCHEME);
  burn_drop(q.parameters.scales);
  q.parameters.scales = NULL;
  BurnTensor *floats = burn_dequantize(q, BURN_DTYPE_F32);
  assert_string_equal(burn_status_message(burn_tensor_status(floats)), "dequantize: input 1 (scales) is missing");
  burn_drop(floats);
}

/* -- on every stack --------------------------------------------------------------------------- */

#define TESTS(X)                            \
  X(test_burns_own_example)                 \
  X(test_rounding_and_ranges)               \
  X(test_calibration)                       \
  X(test_blocks_have_their_own_scales)      \
  X(test_blocks_over_two_axes)              \
  X(test_two_levels)                        \
  X(test_product_is_that_of_the_floats)     \
  X(test_convolution_is_that_of_the_floats) \
  X(test_convolution_with_uneven_padding)   \
  X(test_bytes)                             \
  X(test_wrong_bytes_are_refused)           \
  X(test_wrong_parts_are_refused)

#define ON_STACKS(name)                                                                         \
  static void name##_on(void **state) {                                                         \
    (void)state;                                                                                \
    test_on_stacks("ndarray; ndarray:primitives=true; autodiff<ndarray>", &device, NULL, name); \
  }
TESTS(ON_STACKS)

int main(void) {
#define ROW(name) {#name, name##_on, NULL, NULL, NULL},
  const struct CMUnitTest tests[] = {TESTS(ROW)};
  return test_stacks_result(cmocka_run_group_tests_name("quantization", tests, NULL, NULL));
}
