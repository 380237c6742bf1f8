/* ops_half_test.c - what narrow dtypes promise beyond golden rows: exact conversions of every 16-bit float on every
 * instruction set, sums that do not overflow on their way, scalars that are converted first, gradients and training in
 * f16 and bf16. */
#include <burn/nn.h>
#include <burn/train.h>

#include "isa_device.h"
#include "ops_value.h"
#include "status_testing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const BurnDType halves[] = {BURN_DTYPE_F16, BURN_DTYPE_BF16};
static const char *const stacks[] = {"ndarray", "ndarray:isa=baseline", "ndarray:isa=avx2", "ndarray:primitives=true",
                                     "autodiff<ndarray>"};
enum { HALVES = 2, STACKS = sizeof stacks / sizeof stacks[0] };

static void close_device(BurnDevice *device) {
  assert_int_equal(burn_device_memory(device).live_tensors, 0);
  burn_device_close(device);
}

/* Runs `test` on every stack in both dtypes. */
static void everywhere(void (*test)(BurnDevice *device, BurnDType dtype)) {
  for (size_t s = 0; s < STACKS; s++) {
    BurnDevice *device = isa_device_open(stacks[s]);
    if (!device) continue;
    for (size_t h = 0; h < HALVES; h++) test(device, halves[h]);
    close_device(device);
  }
}

/* Takes x: its one value. */
static double scalar(BurnTensor *x) {
  double value = (double)NAN;
  check_status(burn_read_scalar(x, &value));
  return value;
}

static BurnTensor *filled(BurnDevice *device, BurnDType dtype, int64_t count, double value) {
  return burn_full(device, BURN_SHAPE(count), dtype, value);
}

/* -- conversions ------------------------------------------------------------------------------ */

enum { PATTERNS = 65536 };
static uint16_t patterns[PATTERNS], back[PATTERNS];
static float singles[PATTERNS];
static double doubles[PATTERNS];

/* Every half to f32 and f64, and back from both. */
static void all_halves(BurnDevice *device, BurnDType dtype) {
  const BurnShape shape = BURN_SHAPE(PATTERNS);
  OpsValue value = {.dtype = dtype, .count = PATTERNS, .bytes = 2, .data = (char *)patterns};
  for (int i = 0; i < PATTERNS; i++) patterns[i] = (uint16_t)i;
  check_status(
      burn_read_f32(burn_cast(burn_tensor_from(device, patterns, dtype, shape), BURN_DTYPE_F32), singles, PATTERNS));
  check_status(
      burn_read_f64(burn_cast(burn_tensor_from(device, patterns, dtype, shape), BURN_DTYPE_F64), doubles, PATTERNS));
  for (int i = 0; i < PATTERNS; i++) {
    int64_t whole;
    const double expected = ops_value_load(&value, i, &whole), single = (double)singles[i];
    if (isnan(expected) && isnan(single) && isnan(doubles[i])) continue;
    if (single == expected && doubles[i] == expected && !signbit(single) == !signbit(expected)) continue;
    fail_msg("%s %04x is %g in f32 and %g in f64, expected %g", burn_dtype_name(dtype), (unsigned)i, single, doubles[i],
             expected);
  }
  for (int wide = 0; wide < 2; wide++) {
    BurnTensor *x = wide ? burn_tensor_f64(device, doubles, shape) : burn_tensor_f32(device, singles, shape);
    check_status(burn_read(burn_cast(x, dtype), back, sizeof back));
    for (int i = 0; i < PATTERNS; i++) {
      const int quiet = !isnan(doubles[i]) ? 0 : dtype == BURN_DTYPE_F16 ? 0x200 : 0x40; /* what NaNs get */
      if (back[i] == (patterns[i] | quiet)) continue;
      fail_msg("%s %04x came back from %s as %04x", burn_dtype_name(dtype), (unsigned)i, wide ? "f64" : "f32", back[i]);
    }
  }
}

static void test_every_half_converts(void **state) {
  (void)state;
  everywhere(all_halves);
}

/* f32 numbers on and beside the ties between neighbouring halves, and at random. */
static void near_ties(BurnDevice *device, BurnDType dtype) {
  const int cut = dtype == BURN_DTYPE_F16 ? 13 : 16;
  uint32_t random = 12345;
  OpsValue expected = {.dtype = dtype, .count = PATTERNS, .bytes = 2, .data = (char *)patterns};
  for (int round = 0; round < 8; round++) {
    for (int i = 0; i < PATTERNS; i++) {
      random = random * 1664525u + 1013904223u;
      uint32_t bits = random;
      if (round < 6) bits = ((random >> cut) << cut) + (1u << (cut - 1)) + (uint32_t)(round % 3) - 1u;
      if (round < 3 && dtype == BURN_DTYPE_F16)
        bits = (bits & 0x87ffffffu) | 0x30000000u; /* subnormal and small halves */
      memcpy(&singles[i], &bits, sizeof bits);
      doubles[i] = (double)singles[i] * (1 + (round % 3 - 1) * 0x1p-45); /* in f64 beside what f32 has */
    }
    for (int wide = 0; wide < 2; wide++) {
      const BurnShape shape = BURN_SHAPE(PATTERNS);
      BurnTensor *x = wide ? burn_tensor_f64(device, doubles, shape) : burn_tensor_f32(device, singles, shape);
      check_status(burn_read(burn_cast(x, dtype), back, sizeof back));
      for (int i = 0; i < PATTERNS; i++) ops_value_store(&expected, i, wide ? doubles[i] : (double)singles[i], 0);
      for (int i = 0; i < PATTERNS; i++) {
        if (back[i] == patterns[i] || isnan(singles[i])) continue;
        fail_msg("%.17g to %s is %04x, expected %04x", wide ? doubles[i] : (double)singles[i], burn_dtype_name(dtype),
                 back[i], patterns[i]);
      }
    }
  }
}

static void test_ties_go_to_even(void **state) {
  (void)state;
  everywhere(near_ties);
}

/* -- arithmetic that would overflow or stand still -------------------------------------------- */

static void long_sums(BurnDevice *device, BurnDType dtype) {
  assert_true(scalar(burn_sum(filled(device, dtype, 4096, 1))) == 4096); /* by steps of 1, bf16 would stop at 256 */
  assert_true(scalar(burn_mean(filled(device, dtype, 5000, 60000))) == ops_value_round(dtype, 60000));
  assert_true(scalar(burn_mean_dim(filled(device, dtype, 5000, 60000), 0)) == ops_value_round(dtype, 60000));
  BurnTensor *column = burn_reshape(filled(device, dtype, 600, -50000), BURN_SHAPE(300, 2));
  assert_true(scalar(burn_min(burn_mean_dim(column, 0))) == ops_value_round(dtype, -50000));
  assert_true(scalar(burn_sum(filled(device, dtype, 4, 60000))) > 65504 || dtype == BURN_DTYPE_F16);
  /* 300 * 300 * 8 - 300 * 300 * 8 + 1: the products are too large for f16, the result is not. */
  const double row[] = {300, 300, 300, 300, 300, 300, 300, 300, 300, 300, 300, 300, 300, 300, 300, 300, 1};
  const double signs[] = {300, 300, 300, 300, 300, 300, 300, 300, -300, -300, -300, -300, -300, -300, -300, -300, 1};
  BurnTensor *x = burn_cast(burn_tensor_f64(device, row, BURN_SHAPE(1, 17)), dtype);
  BurnTensor *y = burn_cast(burn_tensor_f64(device, signs, BURN_SHAPE(17, 1)), dtype);
  assert_true(scalar(burn_matmul(x, y)) == 1);
}

static void many_in_one_place(BurnDevice *device, BurnDType dtype) {
  enum { TIMES = 3000 };
  BurnTensor *indices = burn_zeros(device, BURN_SHAPE(TIMES), BURN_DTYPE_I64);
  BurnTensor *values = filled(device, dtype, TIMES, 1);
  BurnTensor *x = burn_zeros(device, BURN_SHAPE(1), dtype);
  const double expected = ops_value_round(dtype, TIMES);
  assert_true(scalar(burn_select_add(burn_clone(x), 0, burn_clone(indices), burn_clone(values))) == expected);
  assert_true(scalar(burn_scatter_add(x, 0, indices, values)) == expected);
}

/* Squares of the inputs do not fit f16, e^x does not either. */
static void composites(BurnDevice *device, BurnDType dtype) {
  const double numbers[] = {1000, -1000, 3000, -3000};
  double found[4];
  BurnTensor *x = burn_cast(burn_tensor_f64(device, numbers, BURN_SHAPE(1, 4)), dtype);
  BurnTensor *gamma = burn_ones(device, BURN_SHAPE(4), dtype);
  check_status(burn_read_f64(burn_layer_norm(burn_clone(x), gamma, NULL, 1e-5), found, 4));
  for (int i = 0; i < 4; i++) assert_true(fabs(found[i] - numbers[i] / 2236.068) < 0.01);
  assert_true(fabs(scalar(burn_var(burn_clone(x), 1)) / (20e6 / 3) - 1) < 0.01 || dtype == BURN_DTYPE_F16);
  check_status(burn_read_f64(burn_softmax(burn_clone(x), 1), found, 4));
  assert_true(found[2] == 1 && found[0] == 0);
  check_status(burn_read_f64(burn_log_softmax(burn_clone(x), 1), found, 4));
  assert_true(found[2] == 0 && fabs(found[0] / -2000 - 1) < 0.005);
  check_status(burn_read_f64(burn_sigmoid(x), found, 4));
  assert_true(found[0] == 1 && found[1] == 0);
  /* Spread 200: its square is 40000, and the sum of 100 squares too large. */
  BurnTensor *alternating = burn_sub_scalar(
      burn_mul_scalar(burn_remainder_scalar(burn_cast(burn_arange(device, 0, 100, 1), dtype), 2), 400), 200);
  assert_true(fabs(scalar(burn_var_bias(alternating, 0)) / 40000 - 1) < 0.005);
}

static void test_long_sums(void **state) {
  (void)state;
  everywhere(long_sums);
}
static void test_many_in_one_place(void **state) {
  (void)state;
  everywhere(many_in_one_place);
}
static void test_composites(void **state) {
  (void)state;
  everywhere(composites);
}

/* -- scalars ---------------------------------------------------------------------------------- */

/* 0.1 is not a half: as a scalar it is the half beside it. */
static void half_scalars(BurnDevice *device, BurnDType dtype) {
  BurnTensor *x = filled(device, dtype, 1, 0.1);
  assert_true(scalar(burn_int(burn_equal_scalar(burn_clone(x), 0.1))) == 1);
  assert_true(scalar(burn_int(burn_lower_scalar(burn_clone(x), 0.1))) == 0);
  assert_true(scalar(burn_int(burn_greater_scalar(burn_clone(x), 0.1))) == 0);
  assert_true(scalar(burn_clamp(burn_clone(x), 0.1, 0.2)) == ops_value_round(dtype, 0.1));
  const double product = ops_value_round(dtype, 0.1) * ops_value_round(dtype, 0.3);
  assert_true(scalar(burn_mul_scalar(x, 0.3)) == ops_value_round(dtype, product));
}

static double wrapped(BurnDType dtype, int64_t value) {
  return dtype == BURN_DTYPE_I8 ? (double)(int8_t)(uint8_t)(uint64_t)value : (double)(int16_t)(uint16_t)(uint64_t)value;
}

static void integer_scalars(BurnDevice *device, BurnDType dtype) {
  const bool is_i8 = dtype == BURN_DTYPE_I8;
  const int64_t high = is_i8 ? 127 : 32767, low = -high - 1, beyond = is_i8 ? 300 : 70000;
  BurnTensor *x = filled(device, dtype, 1, -3);
  assert_true(scalar(burn_add_scalar(burn_clone(x), (double)beyond)) == wrapped(dtype, beyond - 3));
  assert_true(scalar(burn_mul_scalar(burn_clone(x), (double)high)) == wrapped(dtype, -3 * high));
  assert_true(scalar(burn_clamp_min(burn_clone(x), (double)beyond)) == (double)high); /* saturates */
  assert_true(scalar(burn_clamp_max(burn_clone(x), (double)-beyond)) == (double)low);
  assert_true(scalar(burn_int(burn_lower_scalar(burn_clone(x), (double)beyond))) == 1);
  assert_true(scalar(burn_int(burn_equal_scalar(burn_clone(x), is_i8 ? 253 : 65533))) == 0); /* the same bits */
  assert_true(scalar(burn_int(burn_greater_scalar(x, -3.5))) == 1);
  assert_true(scalar(burn_div_scalar(filled(device, dtype, 1, (double)low), -1)) == (double)low);
  assert_true(scalar(burn_abs(filled(device, dtype, 1, (double)low))) == (double)low);
  assert_true(scalar(burn_div_scalar(filled(device, dtype, 1, (double)high), (double)beyond)) == 1); /* high / high */
  assert_true(scalar(burn_sum(filled(device, dtype, 3, (double)high))) == wrapped(dtype, 3 * high));
  assert_true(scalar(burn_prod(filled(device, dtype, 3, (double)high))) == wrapped(dtype, high * high * high));
  assert_true(scalar(burn_mean(filled(device, dtype, 3, (double)high))) == (double)high);
}

static void test_scalars_are_converted_first(void **state) {
  (void)state;
  everywhere(half_scalars);
  for (size_t s = 0; s < STACKS; s++) {
    BurnDevice *device = isa_device_open(stacks[s]);
    if (!device) continue;
    integer_scalars(device, BURN_DTYPE_I8);
    integer_scalars(device, BURN_DTYPE_I16);
    close_device(device);
  }
}

/* -- places: more of them than a narrow default int dtype can count --------------------------- */

static void check_places(BurnDevice *device) {
  BurnTensor *mask = burn_triu_mask(device, BURN_SHAPE(2, 300), -1);
  assert_true(scalar(burn_sum(burn_cast(mask, BURN_DTYPE_I64))) == 0);
  mask = burn_diag_mask(device, BURN_SHAPE(300, 300), 0);
  assert_true(scalar(burn_sum(burn_cast(mask, BURN_DTYPE_I64))) == 300 * 300 - 300);
  BurnTensor *last = burn_argwhere(burn_tril_mask(device, BURN_SHAPE(1, 300), 298));
  assert_int_equal(burn_dtype(last), BURN_DTYPE_I64);
  assert_true(scalar(burn_narrow(last, 1, 1, 1)) == 299);
  const double identity[] = {1, 0, 0, 0, 1, 0};
  BurnTensor *theta = burn_tensor_from(device, identity, BURN_DTYPE_F64, BURN_SHAPE(1, 2, 3));
  BurnTensor *grid = burn_affine_grid_2d(theta, 1, 301);
  assert_true(scalar(burn_max(burn_abs(burn_clone(grid)))) == 1);
  burn_drop(grid);
  BurnTensor *frames = burn_stft(burn_ones(device, BURN_SHAPE(1, 600), BURN_DTYPE_F32), NULL,
                                 (BurnStftOptions){.n_fft = 200, .hop_length = 200, .onesided = true});
  assert_true(scalar(burn_max(burn_abs(burn_sub_scalar(burn_narrow(burn_select_dim(frames, -1, 0), 2, 0, 1), 200)))) ==
              0);
  const BurnShape rows = BURN_SHAPE(1, 300);
  const BurnRange end[] = {BURN_RANGE_ALL, BURN_RANGE(299, 300)};
  BurnTensor *weights = burn_slice_fill(burn_zeros(device, rows, BURN_DTYPE_F32), end, 2, 1);
  assert_true(scalar(burn_categorical(weights, 1)) == 299);
}

static void test_places_of_narrow_defaults(void **state) {
  (void)state;
  static const char *const narrow[] = {"ndarray:int=u8", "ndarray:int=i8", "ndarray:int=i16", "reference:int=i8"};
  for (size_t i = 0; i < sizeof narrow / sizeof *narrow; i++) {
    BurnDevice *device = burn_device_open(narrow[i]);
    check_places(device);
    close_device(device);
  }
}

/* -- default dtypes, text --------------------------------------------------------------------- */

static void check_refused(BurnStatus status, const char *message) {
  assert_int_equal(burn_status_code(status), BURN_STATUS_INVALID_DTYPE);
  assert_string_equal(burn_status_message(status), message);
}

static void test_default_dtypes(void **state) {
  (void)state;
  BurnDevice *device = burn_device_open_training("ndarray");
  check_status(burn_device_set_float_dtype(device, BURN_DTYPE_BF16));
  check_status(burn_device_set_int_dtype(device, BURN_DTYPE_I16));
  assert_int_equal(burn_device_float_dtype(burn_device_inner(device)), BURN_DTYPE_BF16);
  assert_int_equal(burn_device_int_dtype(burn_device_inner(device)), BURN_DTYPE_I16);
  BurnTensor *x = burn_ones(device, BURN_SHAPE(2), BURN_DTYPE_DEFAULT), *i = burn_arange(device, 0, 3, 1);
  assert_int_equal(burn_dtype(x), BURN_DTYPE_BF16);
  assert_int_equal(burn_dtype(i), BURN_DTYPE_I16);
  BurnTensor *place = burn_argmax(i, 0); /* positions need more room than i16 */
  assert_int_equal(burn_dtype(place), BURN_DTYPE_I64);
  assert_true(scalar(place) == 2);
  burn_drop(x);
  check_refused(burn_device_set_float_dtype(device, BURN_DTYPE_I32),
                "device_set_float_dtype: 'i32' (number 5) is not a float dtype");
  check_refused(burn_device_set_int_dtype(device, 77), "device_set_int_dtype: '?' (number 77) is not an int dtype");
  assert_int_equal(burn_device_float_dtype(device), BURN_DTYPE_BF16); /* as before */
  close_device(device);
  device = burn_device_open("ndarray:float=f16,int=i8");
  assert_int_equal(burn_device_float_dtype(device), BURN_DTYPE_F16);
  assert_int_equal(burn_device_int_dtype(device), BURN_DTYPE_I8);
  close_device(device);
}

static void test_print_and_read(void **state) {
  (void)state;
  static const uint16_t bits[] = {0x3c00, 0xc000, 0x7c00, 0x2e66};
  static const int8_t small[] = {-128, 0, 127};
  char text[512] = "";
  double values[4];
  BurnDevice *device = burn_device_open("ndarray");
  BurnTensor *x = burn_tensor_from(device, bits, BURN_DTYPE_F16, BURN_SHAPE(4));
  check_status(burn_read_f64(burn_clone(x), values, 4));
  assert_true(values[0] == 1 && values[1] == -2 && isinf(values[2]) && values[3] == 0.0999755859375);
  FILE *file = tmpfile();
  assert_non_null(file);
  burn_print_to(file, x);
  burn_print_to(file, burn_tensor_from(device, small, BURN_DTYPE_I8, BURN_SHAPE(3)));
  rewind(file);
  text[fread(text, 1, sizeof text - 1, file)] = '\0';
  fclose(file);
  assert_non_null(strstr(text, "[1.0, -2.0, inf, 0.099975586]"));
  assert_non_null(strstr(text, "dtype:  \"f16\""));
  assert_non_null(strstr(text, "[-128, 0, 127]"));
  close_device(device);
}

/* -- gradients -------------------------------------------------------------------------------- */

/* Takes x and y. The gradient of y for x. */
static void gradient_of(BurnTensor *x, BurnTensor *y, double *found, size_t count) {
  BurnGradients *gradients = NULL;
  check_status(burn_backward(y, &gradients));
  BurnTensor *grad = burn_grad(x, gradients);
  assert_int_equal(burn_dtype(grad), burn_dtype(x));
  check_status(burn_read_f64(grad, found, count));
  burn_gradients_drop(gradients);
  burn_drop(x);
}

static void gradients(BurnDevice *device, BurnDType dtype) {
  enum { MANY = 100000 };
  static double found[MANY];
  BurnTensor *x = burn_require_grad(filled(device, dtype, MANY, 2));
  gradient_of(x, burn_mean(burn_clone(x)), found, MANY); /* 1e-5; 100000 itself is infinite in f16 */
  assert_true(fabs(found[0] / 1e-5 - 1) < 0.01 && found[MANY - 1] == found[0]);
  const double near_one[] = {4, 5};
  x = burn_require_grad(burn_cast(burn_tensor_f64(device, near_one, BURN_SHAPE(2)), dtype));
  BurnTensor *scaled = burn_mul_scalar(burn_sigmoid(burn_clone(x)), 256);
  gradient_of(x, burn_sum(scaled), found, 2);
  for (int i = 0; i < 2; i++) {
    const double y = ops_value_round(dtype, 1 / (1 + exp(-near_one[i]))), expected = 256 * y * (1 - y);
    assert_true(fabs(found[i] / expected - 1) < 0.005); /* y - y * y in bf16 would be off by far more */
  }
}

static void test_gradients(void **state) {
  (void)state;
  for (int plain = 0; plain < 2; plain++) {
    BurnDevice *device = burn_device_open(plain ? "autodiff<ndarray>" : "autodiff<ndarray:primitives=true>");
    for (size_t h = 0; h < HALVES; h++) gradients(device, halves[h]);
    close_device(device);
  }
}

/* -- a small network -------------------------------------------------------------------------- */

/* Numbers of -1 .. 1. */
static BurnTensor *pattern(BurnDevice *device, BurnDType dtype, BurnShape shape, int k) {
  double values[256];
  int64_t count = 1;
  for (uint32_t i = 0; i < shape.rank; i++) count *= shape.dims[i];
  assert_in_range(count, 1, 256);
  for (int64_t i = 0; i < count; i++) values[i] = (double)((i * 37 + k * 11) % 101 - 50) / 50;
  return burn_cast(burn_tensor_f64(device, values, shape), dtype);
}

enum { WEIGHTS = 24 + 8 + 16 };

/* Gradients of all weights of a network of two layers for one batch. */
static void network_gradients(BurnDevice *device, BurnDType dtype, double found[WEIGHTS]) {
  BurnTensor *leaves[] = {burn_require_grad(pattern(device, dtype, BURN_SHAPE(3, 8), 1)),
                          burn_require_grad(pattern(device, dtype, BURN_SHAPE(1, 8), 2)),
                          burn_require_grad(pattern(device, dtype, BURN_SHAPE(8, 2), 3))};
  const int64_t targets[] = {0, 1, 1, 0, 1};
  BurnGradients *result = NULL;
  BurnTensor *x = burn_matmul(pattern(device, dtype, BURN_SHAPE(5, 3), 4), burn_clone(leaves[0]));
  x = burn_gelu(burn_add(x, burn_clone(leaves[1])));
  x = burn_matmul(burn_mul(burn_tanh(burn_clone(x)), x), burn_clone(leaves[2]));
  check_status(burn_backward(burn_cross_entropy(x, burn_tensor_i64(device, targets, BURN_SHAPE(5))), &result));
  for (int i = 0; i < 3; i++) {
    const size_t count = (size_t)burn_element_count(leaves[i]);
    check_status(burn_read_f64(burn_grad(leaves[i], result), found, count));
    found += count;
    burn_drop(leaves[i]);
  }
  burn_gradients_drop(result);
}

static void test_network_gradients(void **state) {
  (void)state;
  BurnDevice *device = burn_device_open_training("ndarray");
  double single[WEIGHTS], half[WEIGHTS], largest = 0;
  network_gradients(device, BURN_DTYPE_F32, single);
  for (int i = 0; i < WEIGHTS; i++) largest = fmax(largest, fabs(single[i]));
  for (size_t h = 0; h < HALVES; h++) {
    network_gradients(device, halves[h], half);
    for (int i = 0; i < WEIGHTS; i++) {
      assert_true(fabs(half[i] - single[i]) <= largest * (halves[h] == BURN_DTYPE_F16 ? 0.003 : 0.024));
    }
  }
  close_device(device);
}

#define NET_FIELDS(X)             \
  X(BurnLinear, input, "2 to 16") \
  X(BurnBatchNorm, batch, "16")   \
  X(BurnLayerNorm, layer, "16")   \
  X(BurnLinear, output, "16 to 2")
BURN_MODULE(Net, NET_FIELDS);

static Net net_init(BurnDevice *device) {
  const BurnLinearConfig input = BurnLinearConfig_defaults(2, 16), output = BurnLinearConfig_defaults(16, 2);
  const BurnBatchNormConfig batch = BurnBatchNormConfig_defaults(16);
  const BurnLayerNormConfig layer = BurnLayerNormConfig_defaults(16);
  return (Net){.input = burn_linear_init(&input, device),
               .batch = burn_batch_norm_init(&batch, device),
               .layer = burn_layer_norm_init(&layer, device),
               .output = burn_linear_init(&output, device)};
}

/* Loss of the points on which side of both axes they lie: the exclusive or. */
static BurnTensor *net_loss(const Net *net, BurnDevice *device) {
  enum { POINTS = 64 };
  float points[POINTS][2];
  int64_t sides[POINTS];
  for (int i = 0; i < POINTS; i++) {
    points[i][0] = (float)((double)(i % 8) - 3.5) / 2;
    points[i][1] = (float)((double)(i / 8) - 3.5) / 2;
    sides[i] = (i % 8 < 4) != (i / 8 < 4);
  }
  BurnTensor *x = burn_float(burn_tensor_f32(device, &points[0][0], BURN_SHAPE(POINTS, 2)));
  x = burn_relu(burn_batch_norm_forward(&net->batch, burn_linear_forward(&net->input, x)));
  x = burn_linear_forward(&net->output, burn_layer_norm_forward(&net->layer, x));
  return burn_cross_entropy(x, burn_tensor_i64(device, sides, BURN_SHAPE(POINTS)));
}

/* Loads what was saved in full precision into a fresh network: the halves must be the same. */
static void check_record(const Net *net, BurnDevice *device) {
  char path[] = "/tmp/burn-half-XXXXXX";
  const BurnRecordConfig config = {.format = BURN_RECORD_MPK, .precision = BURN_PRECISION_FULL};
  double saved[32], loaded[32];
  Net other = net_init(device);
  assert_non_null(mkdtemp(path));
  char file[64];
  snprintf(file, sizeof file, "%s/net", path);
  check_status(burn_record_save(burn_module(Net, (Net *)(uintptr_t)net), file, &config));
  check_status(burn_record_load(burn_module(Net, &other), file, &config));
  check_status(burn_read_f64(burn_param_value(&net->input.weight), saved, 32));
  check_status(burn_read_f64(burn_param_value(&other.input.weight), loaded, 32));
  assert_memory_equal(saved, loaded, sizeof saved);
  assert_int_equal(burn_dtype(other.input.weight.value), burn_device_float_dtype(device));
  Net_release(&other);
  strcat(file, ".mpk");
  assert_int_equal(remove(file), 0);
  assert_int_equal(rmdir(path), 0);
}

static void train(BurnDType dtype, BurnOptimizer *optimizer, double rate) {
  enum { STEPS = 150 };
  BurnDevice *device = burn_device_open_training("ndarray");
  check_status(burn_device_set_float_dtype(device, dtype));
  burn_device_seed(device, 3);
  Net net = net_init(device);
  const double first = scalar(net_loss(&net, device));
  for (int step = 0; step < STEPS; step++)
    check_status(burn_train_step(optimizer, burn_module(Net, &net), net_loss(&net, device), rate));
  const double last = scalar(net_loss(&net, device));
  if (!(first > 0.5 && last < 0.05)) fail_msg("%s: the loss went from %g to %g", burn_dtype_name(dtype), first, last);
  assert_int_equal(burn_dtype(net.input.weight.value), dtype);
  Net valid = Net_valid(&net); /* by the running statistics */
  assert_true(scalar(net_loss(&valid, burn_device_inner(device))) < 0.2);
  Net_release(&valid);
  check_record(&net, device);
  burn_optimizer_destroy(optimizer);
  Net_release(&net);
  close_device(device);
}

static void test_training(void **state) {
  (void)state;
  for (size_t h = 0; h < HALVES; h++) {
    const BurnSgdConfig momentum = {.momentum = {true, 0.9}, .dampening = 0.1};
    train(halves[h], burn_adam_create(NULL), 0.02);
    train(halves[h], burn_sgd_create(&momentum), 0.05);
  }
}

#define ONE_FIELDS(X) X(BurnParam, weight, "[1]")
BURN_MODULE(One, ONE_FIELDS);

/* Where 40 steps of Adam with gradients of 0.001 and less take a weight from 1. */
static double walk(BurnDType dtype) {
  BurnDevice *device = burn_device_open_training("ndarray");
  BurnOptimizer *optimizer = burn_adam_create(NULL);
  One one = {burn_param(filled(device, dtype, 1, 1))};
  for (int step = 0; step < 40; step++) {
    BurnTensor *loss = burn_mul_scalar(burn_param_value(&one.weight), step < 20 ? 1e-3 : 2.5e-4);
    check_status(burn_train_step(optimizer, burn_module(One, &one), burn_sum(loss), 0.0625));
  }
  assert_int_equal(burn_dtype(one.weight.value), dtype);
  const double last = scalar(burn_param_value(&one.weight));
  burn_optimizer_destroy(optimizer);
  One_release(&one);
  close_device(device);
  return last;
}

/* Squares of such gradients are 0 in f16, and a moment of bf16 times 0.999 is itself: only state in f32 follows. */
static void test_optimizer_state(void **state) {
  (void)state;
  const double single = walk(BURN_DTYPE_F32), f16 = walk(BURN_DTYPE_F16), bf16 = walk(BURN_DTYPE_BF16);
  if (fabs(f16 - single) > 0.02 || fabs(bf16 - single) > 0.1) fail_msg("f32 %g, f16 %g, bf16 %g", single, f16, bf16);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_half_converts), cmocka_unit_test(test_ties_go_to_even),
      cmocka_unit_test(test_long_sums),           cmocka_unit_test(test_many_in_one_place),
      cmocka_unit_test(test_composites),          cmocka_unit_test(test_scalars_are_converted_first),
      cmocka_unit_test(test_default_dtypes),      cmocka_unit_test(test_places_of_narrow_defaults),
      cmocka_unit_test(test_print_and_read),      cmocka_unit_test(test_gradients),
      cmocka_unit_test(test_network_gradients),   cmocka_unit_test(test_training),
      cmocka_unit_test(test_optimizer_state),
  };
  return cmocka_run_group_tests_name("narrow dtypes", tests, NULL, NULL);
}
