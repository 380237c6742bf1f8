/* int8_products_test.c - quantized_matmul and quantized_conv2d of ndarray against sums in i64, by every instruction set:
 * sizes that fill no tile, extreme values, as many terms as overflow i32, blocks, batches, views. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <burn/burn.h>

#include "isa_device.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const stacks[] = {"ndarray:isa=baseline", "ndarray:isa=avx2", "ndarray:isa=avx512", "ndarray"};
static BurnDevice *device;
static const char *stack;

/* Runs a test on all instruction sets that are there. */
static void on_all(void (*test)(void)) {
  for (size_t i = 0; i < sizeof stacks / sizeof *stacks; i++) {
    stack = stacks[i];
    device = isa_device_open(stack);
    if (!device) continue;
    test();
    burn_device_close(device);
  }
}

/* -- numbers ---------------------------------------------------------------------------------- */

typedef enum Values { RANDOM, LOWEST, HIGHEST, MIXED } Values; /* MIXED: -128 and 127 */

static int8_t *values_of(Values kind, int64_t count, uint64_t seed) {
  int8_t *values = malloc((size_t)count);
  uint64_t state = seed * 2654435761u + 1;
  assert_non_null(values);
  for (int64_t i = 0; i < count; i++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const int random = (int)(state >> 56) - 128;
    values[i] = (int8_t)(kind == RANDOM ? random : kind == LOWEST ? -128 : kind == HIGHEST || random < 0 ? 127 : -128);
  }
  return values;
}

static BurnQuantTensor quantized(const int8_t *values, BurnShape shape, float scale) {
  return (BurnQuantTensor){burn_tensor_from(device, values, BURN_DTYPE_I8, shape),
                           {burn_tensor_f32(device, &scale, BURN_SHAPE(1)), NULL},
                           BURN_QUANT_SCHEME};
}

/* Takes x. */
static float *floats_of(BurnTensor *x, int64_t count, const char *what) {
  float *found = malloc((size_t)count * sizeof *found);
  assert_non_null(found);
  const BurnStatus status = burn_read_f32(x, found, (size_t)count);
  if (status != BURN_OK) fail_msg("%s on %s: %s", what, stack, burn_status_message(status));
  return found;
}

static void expect(float found, float expected, const char *what, int64_t at) {
  if (found != expected)
    fail_msg("%s on %s: element %lld is %.9g, expected %.9g", what, stack, (long long)at, (double)found,
             (double)expected);
}

/* -- one scale: the sum, exact, rounded once to f32 and scaled ---------------------------------- */

typedef struct Product {
  Values lhs, rhs;
  int64_t m, k, n;
} Product;

static int64_t sum_of(const int8_t *a, const int8_t *b, const Product *p, int64_t i, int64_t j) {
  int64_t sum = 0;
  for (int64_t t = 0; t < p->k; t++) sum += (int64_t)a[i * p->k + t] * b[t * p->n + j];
  return sum;
}

static void check_product(const Product *p, float lhs_scale, float rhs_scale) {
  char what[64];
  snprintf(what, sizeof what, "%lldx%lldx%lld", (long long)p->m, (long long)p->k, (long long)p->n);
  int8_t *a = values_of(p->lhs, p->m * p->k, 1), *b = values_of(p->rhs, p->k * p->n, 2);
  BurnQuantTensor lhs = quantized(a, BURN_SHAPE(p->m, p->k), lhs_scale);
  BurnQuantTensor rhs = quantized(b, BURN_SHAPE(p->k, p->n), rhs_scale);
  float *found = floats_of(burn_quant_matmul(lhs, rhs, BURN_DTYPE_F32), p->m * p->n, what);
  for (int64_t i = 0; i < p->m; i++)
    for (int64_t j = 0; j < p->n; j++)
      expect(found[i * p->n + j], (float)sum_of(a, b, p, i, j) * (lhs_scale * rhs_scale), what, i * p->n + j);
  free(a);
  free(b);
  free(found);
}

static void sizes_and_extremes(void) {
  static const int64_t sizes[] = {1, 2, 3, 4, 5, 7, 13, 63, 64, 65, 130};
  const size_t count = sizeof sizes / sizeof *sizes;
  for (size_t i = 0; i < count; i++)
    for (size_t j = 0; j < count; j++)
      for (size_t t = 0; t < count; t++)
        check_product(&(Product){RANDOM, RANDOM, sizes[i], sizes[t], sizes[j]}, 0.37f, 1.0f / 3);
  for (int l = LOWEST; l <= MIXED; l++)
    for (int r = LOWEST; r <= MIXED; r++) check_product(&(Product){(Values)l, (Values)r, 9, 1027, 71}, 1, 1);
  check_product(&(Product){RANDOM, RANDOM, 150, 300, 200}, 0.37f, 0.011f);
  /* One row by several panels at once, and what is left of them. */
  for (size_t t = 0; t < sizeof sizes / sizeof sizes[0]; t++) {
    check_product(&(Product){RANDOM, RANDOM, 1, sizes[t], 256}, 0.37f, 0.011f);
    check_product(&(Product){RANDOM, RANDOM, 1, sizes[t], 650}, 0.37f, 0.011f);
  }
}

/* 131,072 terms of -128 * -128 are 2^31, one more than i32 holds; then as many that are not a multiple of anything. */
static void many_terms(void) {
  static const Values kinds[] = {LOWEST, HIGHEST};
  for (int i = 0; i < 2; i++) {
    check_product(&(Product){kinds[i], LOWEST, 1, 65536, 64}, 1, 1);
    check_product(&(Product){kinds[i], LOWEST, 1, 65537, 256}, 1, 1);
    check_product(&(Product){kinds[i], LOWEST, 7, 131071, 3}, 1, 1);
    check_product(&(Product){LOWEST, kinds[i], 7, 131072, 66}, 1, 1);
  }
  check_product(&(Product){LOWEST, LOWEST, 2, 262144, 65}, 1, 1);
}

/* -- blocks: the definition in f64 ---------------------------------------------------------------- */

typedef struct Blocks {
  int64_t m, k, n, lhs[2], rhs[2]; /* blocks over the two axes; 0: one scale */
} Blocks;

/* Scales 1/8 .. 2: sums of products of them and i8 are exact in f64. */
static BurnQuantTensor in_blocks(const int8_t *values, int64_t rows, int64_t columns, const int64_t block[2],
                                 float *scales) {
  BurnQuantTensor q = quantized(values, BURN_SHAPE(rows, columns), 0.25f);
  scales[0] = 0.25f;
  if (block[0] == 0) return q;
  const int64_t count = rows / block[0] * (columns / block[1]);
  for (int64_t i = 0; i < count; i++) scales[i] = (float)(1 + i * 7 % 16) / 8;
  burn_drop(q.parameters.scales);
  q.parameters.scales = burn_tensor_f32(device, scales, BURN_SHAPE(rows / block[0], columns / block[1]));
  q.scheme.block_rank = 2;
  q.scheme.block[0] = block[0];
  q.scheme.block[1] = block[1];
  return q;
}

static double scale_at(const float *scales, int64_t columns, const int64_t block[2], int64_t i, int64_t j) {
  return block[0] == 0 ? (double)scales[0] : (double)scales[i / block[0] * (columns / block[1]) + j / block[1]];
}

static void check_blocks(const Blocks *p) {
  static float left[65536], right[65536];
  int8_t *a = values_of(RANDOM, p->m * p->k, 3), *b = values_of(RANDOM, p->k * p->n, 4);
  BurnQuantTensor lhs = in_blocks(a, p->m, p->k, p->lhs, left), rhs = in_blocks(b, p->k, p->n, p->rhs, right);
  float *found = floats_of(burn_quant_matmul(lhs, rhs, BURN_DTYPE_F32), p->m * p->n, "blocks");
  for (int64_t i = 0; i < p->m; i++) {
    for (int64_t j = 0; j < p->n; j++) {
      double sum = 0;
      for (int64_t t = 0; t < p->k; t++)
        sum += a[i * p->k + t] * scale_at(left, p->k, p->lhs, i, t) * b[t * p->n + j] *
               scale_at(right, p->n, p->rhs, t, j);
      if (fabs((double)found[i * p->n + j] - sum) > 1e-6 * 16384 * (double)p->k)
        fail_msg("%lldx%lldx%lld on %s: [%lld, %lld] is %.9g, expected %.9g", (long long)p->m, (long long)p->k,
                 (long long)p->n, stack, (long long)i, (long long)j, (double)found[i * p->n + j], sum);
    }
  }
  free(a);
  free(b);
  free(found);
}

static void blocks(void) {
  static const Blocks cases[] = {
      {5, 64, 70, {0, 0}, {64, 1}},    {5, 64, 70, {0, 0}, {32, 1}}, {9, 96, 66, {1, 32}, {0, 0}},
      {9, 96, 66, {3, 48}, {32, 11}},  {4, 40, 65, {2, 8}, {10, 5}}, {70, 60, 130, {1, 12}, {12, 1}},
      {1, 512, 256, {1, 32}, {32, 1}}, {6, 24, 30, {2, 3}, {2, 3}},  {13, 81, 67, {1, 27}, {9, 1}},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) check_blocks(&cases[i]);
}

/* -- batches and views ------------------------------------------------------------------------------ */

enum { BATCH = 3, M = 5, K = 70, N = 67 };

/* lhs [BATCH, M, K] with one rhs for all, and with one each; rhs as it is, and as a view of its transpose. */
static void check_batch(int64_t rhs_batch, bool transposed) {
  int8_t *a = values_of(RANDOM, BATCH * M * K, 5), *b = values_of(RANDOM, BATCH * K * N, 6);
  BurnQuantTensor lhs = quantized(a, BURN_SHAPE(BATCH, M, K), 1);
  BurnQuantTensor rhs = quantized(b, transposed ? BURN_SHAPE(rhs_batch, N, K) : BURN_SHAPE(rhs_batch, K, N), 1);
  if (transposed) rhs = burn_quant_transpose(rhs);
  float *found = floats_of(burn_quant_matmul(lhs, rhs, BURN_DTYPE_F32), BATCH * M * N, "batch");
  for (int64_t at = 0; at < BATCH * M * N; at++) {
    const int64_t batch = at / (M * N), i = at / N % M, j = at % N;
    const int8_t *own = b + (rhs_batch > 1 ? batch : 0) * K * N;
    int64_t sum = 0;
    for (int64_t t = 0; t < K; t++) sum += a[(batch * M + i) * K + t] * own[transposed ? j * K + t : t * N + j];
    expect(found[at], (float)sum, "batch", at);
  }
  free(a);
  free(b);
  free(found);
}

static void batches(void) {
  for (int i = 0; i < 4; i++) check_batch(i & 1 ? BATCH : 1, i >= 2);
}

/* Results in halves are those in f32, rounded once. */
static void halves(void) {
  int8_t *a = values_of(RANDOM, 9 * 33, 7), *b = values_of(RANDOM, 33 * 20, 8);
  for (int i = 0; i < 2; i++) {
    const BurnDType dtype = i == 0 ? BURN_DTYPE_F16 : BURN_DTYPE_BF16;
    BurnTensor *wide = burn_quant_matmul(quantized(a, BURN_SHAPE(9, 33), 0.01f),
                                         quantized(b, BURN_SHAPE(33, 20), 0.01f), BURN_DTYPE_F32);
    BurnTensor *narrow =
        burn_quant_matmul(quantized(a, BURN_SHAPE(9, 33), 0.01f), quantized(b, BURN_SHAPE(33, 20), 0.01f), dtype);
    assert_int_equal(burn_dtype(narrow), dtype);
    float *expected = floats_of(burn_cast(wide, dtype), 180, "f32"), *found = floats_of(narrow, 180, "half");
    for (int64_t at = 0; at < 180; at++) expect(found[at], expected[at], "half", at);
    free(expected);
    free(found);
  }
  free(a);
  free(b);
}

/* -- convolution ------------------------------------------------------------------------------------ */

typedef struct Conv {
  int64_t n, c, h, w, out, kh, kw, groups;
  int64_t stride[2], padding[2], dilation[2];
} Conv;

static int64_t size_of(const Conv *p, int axis) {
  const int64_t in = axis == 0 ? p->h : p->w, kernel = axis == 0 ? p->kh : p->kw;
  return (in + 2 * p->padding[axis] - p->dilation[axis] * (kernel - 1) - 1) / p->stride[axis] + 1;
}

static int64_t conv_sum(const Conv *p, const int8_t *x, const int8_t *weight, int64_t image, int64_t o, int64_t oy,
                        int64_t ox) {
  const int64_t channels = p->c / p->groups, first = o / (p->out / p->groups) * channels;
  int64_t sum = 0;
  for (int64_t t = 0; t < channels * p->kh * p->kw; t++) {
    const int64_t c = t / (p->kh * p->kw), y = oy * p->stride[0] - p->padding[0] + t / p->kw % p->kh * p->dilation[0];
    const int64_t column = ox * p->stride[1] - p->padding[1] + t % p->kw * p->dilation[1];
    if (y < 0 || y >= p->h || column < 0 || column >= p->w) continue;
    sum += x[((image * p->c + first + c) * p->h + y) * p->w + column] * weight[o * channels * p->kh * p->kw + t];
  }
  return sum;
}

static BurnTensor *convolved(const Conv *p, const int8_t *x, const int8_t *weight, const float *scales,
                             const float *bias) {
  BurnConv2dOptions options = BURN_CONV2D_OPTIONS;
  for (int i = 0; i < 2; i++) {
    options.stride[i] = p->stride[i];
    options.padding[i] = p->padding[i];
    options.dilation[i] = p->dilation[i];
  }
  options.groups = p->groups;
  const int64_t channels = p->c / p->groups;
  BurnQuantTensor w = quantized(weight, BURN_SHAPE(p->out, channels, p->kh, p->kw), 1);
  burn_drop(w.parameters.scales);
  w.parameters.scales = burn_tensor_f32(device, scales, BURN_SHAPE(p->out, 1, 1, 1));
  w.scheme.block_rank = 4;
  w.scheme.block[0] = 1;
  w.scheme.block[1] = channels;
  w.scheme.block[2] = p->kh;
  w.scheme.block[3] = p->kw;
  return burn_quant_conv2d(quantized(x, BURN_SHAPE(p->n, p->c, p->h, p->w), 0.3f), w,
                           burn_tensor_f32(device, bias, BURN_SHAPE(p->out)), options, BURN_DTYPE_F32);
}

static void check_conv(const Conv *p) {
  float scales[128], bias[128];
  const int64_t oh = size_of(p, 0), ow = size_of(p, 1), weights = p->out * p->c / p->groups * p->kh * p->kw;
  for (int64_t o = 0; o < p->out; o++) scales[o] = 0.1f + (float)o, bias[o] = (float)o * 0.7f - 3;
  int8_t *x = values_of(RANDOM, p->n * p->c * p->h * p->w, 9), *weight = values_of(MIXED, weights, 10);
  float *found = floats_of(convolved(p, x, weight, scales, bias), p->n * p->out * oh * ow, "conv");
  for (int64_t at = 0; at < p->n * p->out * oh * ow; at++) {
    const int64_t o = at / (oh * ow) % p->out;
    const float sum = (float)conv_sum(p, x, weight, at / (oh * ow * p->out), o, at / ow % oh, at % ow);
    expect(found[at], sum * (scales[o] * 0.3f) + bias[o], "conv", at);
  }
  free(x);
  free(weight);
  free(found);
}

static void convolutions(void) {
  static const Conv cases[] = {
      {1, 3, 9, 11, 5, 3, 3, 1, {1, 1}, {1, 1}, {1, 1}},  {3, 5, 7, 7, 13, 3, 3, 1, {1, 1}, {1, 1}, {1, 1}},
      {2, 4, 13, 10, 8, 3, 2, 2, {2, 3}, {2, 1}, {1, 2}}, {2, 3, 20, 33, 4, 7, 7, 1, {2, 2}, {3, 3}, {1, 1}},
      {1, 70, 8, 8, 9, 1, 1, 1, {1, 1}, {0, 0}, {1, 1}},  {5, 6, 10, 10, 6, 1, 1, 1, {1, 1}, {0, 0}, {1, 1}},
      {2, 9, 6, 5, 7, 1, 1, 1, {2, 2}, {0, 0}, {1, 1}},   {1, 2, 3, 4, 4, 3, 4, 1, {1, 1}, {5, 6}, {1, 1}},
      {2, 6, 8, 8, 24, 3, 3, 6, {1, 1}, {1, 1}, {1, 1}},  {1, 30, 14, 15, 40, 3, 3, 1, {1, 1}, {1, 1}, {2, 2}},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) check_conv(&cases[i]);
}

/* -- there and back ----------------------------------------------------------------------------------- */

/* Every multiple of half a step, far numbers, NaN and infinities: the definition, division and halves to even. */
static void scaling(void) {
  enum { COUNT = 4099 };
  static float x[COUNT];
  const float scale = 0.0371f;
  for (int i = 0; i < COUNT; i++) x[i] = scale * 0.5f * (float)(i % 700 - 350) + (i > 1400 ? (float)i * 1e-5f : 0);
  x[17] = (float)NAN, x[18] = (float)INFINITY, x[19] = -(float)INFINITY, x[20] = 3e38f;
  BurnQuantTensor q = burn_quantize(burn_tensor_f32(device, x, BURN_SHAPE(COUNT)), BURN_QUANT_SCHEME,
                                    (BurnQuantParameters){burn_tensor_f32(device, &scale, BURN_SHAPE(1)), NULL});
  float *steps = floats_of(burn_cast(burn_clone(q.values), BURN_DTYPE_F32), COUNT, "quantize");
  float *back = floats_of(burn_dequantize(q, BURN_DTYPE_F32), COUNT, "dequantize");
  for (int i = 0; i < COUNT; i++) {
    const float rounded = nearbyintf(x[i] / scale), expected = rounded < -128 ? -128 : rounded > 127 ? 127 : rounded;
    expect(steps[i], isnan(x[i]) ? 0 : expected, "quantize", i);
    expect(back[i], steps[i] * scale, "dequantize", i);
  }
  free(steps);
  free(back);
}

#define TESTS(X)        \
  X(sizes_and_extremes) \
  X(many_terms)         \
  X(blocks)             \
  X(batches)            \
  X(halves)             \
  X(convolutions)       \
  X(scaling)

#define ON_ALL(name)                      \
  static void test_##name(void **state) { \
    (void)state;                          \
    on_all(name);                         \
  }
TESTS(ON_ALL)

int main(void) {
#define ROW(name) cmocka_unit_test(test_##name),
  const struct CMUnitTest tests[] = {TESTS(ROW)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
