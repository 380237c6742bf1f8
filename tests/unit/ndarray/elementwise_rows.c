/* elementwise_rows.c - see elementwise_rows.h. */
#include "elementwise_rows.h"

#include <math.h>
#include <string.h>

#define OP(op) #op, BURN_OP_##op
const ElementwiseRow elementwise_rows[] = {
#define BURN_UNARY(op, in_f32, in_f64, integers) {OP(op), 1, 0, 0, 0, false, #in_f32, #in_f64, #integers, NULL},
#define BURN_UNARY_FLOAT(op, in_f32, in_f64) {OP(op), 1, 0, 0, 0, false, #in_f32, #in_f64, NULL, NULL},
#define BURN_UNARY_POLYNOMIAL BURN_UNARY_FLOAT
#define BURN_UNARY_LONG BURN_UNARY_FLOAT
#define BURN_UNARY_LIBM BURN_UNARY_FLOAT
#define BURN_UNARY_WAVE(op, in_f32, in_f32_large, in_f64) \
  {OP(op), 1, 0, 0, 0, false, #in_f32, #in_f64, NULL, #in_f32_large},
#define BURN_TEST(op, in_f32, in_f64) {OP(op), 1, 0, 0, 0, true, #in_f32, #in_f64, NULL, NULL},
#define BURN_SCALAR(op, in_f32, in_f64, integers) {OP(op), 1, 1, -3, 5, false, #in_f32, #in_f64, #integers, NULL},
#define BURN_SCALAR_QUOTIENT BURN_SCALAR
#define BURN_SCALAR_REMAINDER BURN_SCALAR
#define BURN_SCALAR_FLOAT(op, in_f32, in_f64) {OP(op), 1, 1, 0.3, 0, false, #in_f32, #in_f64, NULL, NULL},
#define BURN_SCALAR_LONG BURN_SCALAR_FLOAT
#define BURN_COMPARE_SCALAR(op, comparison) {OP(op), 1, 1, 2, 0, true, #comparison, #comparison, #comparison, NULL},
#define BURN_POWER(name, exponent, in_f32, in_f64) \
  {#name, BURN_OP_powf_scalar, 1, 1, exponent, 0, false, #in_f32, #in_f64, NULL, NULL},
#define BURN_POWER_ANY(name, in_f32, in_f64) \
  {#name, BURN_OP_powf_scalar, 1, 1, 2.7, 0, false, #in_f32, #in_f64, NULL, NULL},
#define BURN_BINARY(op, in_f32, in_f64, integers) {OP(op), 2, 0, 0, 0, false, #in_f32, #in_f64, #integers, NULL},
#define BURN_BINARY_QUOTIENT BURN_BINARY
#define BURN_BINARY_REMAINDER BURN_BINARY
#define BURN_BINARY_FLOAT(op, in_f32, in_f64) {OP(op), 2, 0, 0, 0, false, #in_f32, #in_f64, NULL, NULL},
#define BURN_BINARY_LONG BURN_BINARY_FLOAT
#define BURN_BINARY_POWER BURN_BINARY_FLOAT
#define BURN_BINARY_LIBM BURN_BINARY_FLOAT
#define BURN_EQUAL(op, comparison) {OP(op), 2, 0, 0, 0, true, #comparison, #comparison, #comparison, NULL},
#define BURN_LOWER BURN_EQUAL
#define BURN_GREATER(op, other, comparison) {OP(op), 2, 0, 0, 0, true, #comparison, #comparison, #comparison, NULL},
#define BURN_BITWISE(op, bits) {OP(op), 2, 0, 0, 0, false, NULL, NULL, #bits, NULL},
#include "../../../plugins/common/elementwise.def"
};
const size_t elementwise_row_count = sizeof elementwise_rows / sizeof *elementwise_rows;

static uint32_t mix(uint32_t x) {
  x = (x ^ (x >> 16)) * 0x7feb352du;
  x = (x ^ (x >> 15)) * 0x846ca68bu;
  return x ^ (x >> 16);
}

void elementwise_numbers(void *data, size_t bytes, uint32_t seed) {
  static const float borders[] = {
      0.0f,      -0.0f,     INFINITY,  -INFINITY, NAN,     1e-45f,  -1e-45f,      1.17549421e-38f,
      0x1p-126f, 88.72283f, 88.72284f, 89.0f,     -87.34f, -103.9f, -104.0f,      0.625f,
      1.0f,      -1.0f,     4.0f,      10.0f,     1e9f,    -1e9f,   1.0000001e9f, 0.92773438f,
      0.5f,      -0.5f,     2.0f,      3.0f,      1.5f,    -1.5f,   8388608.0f,   16777216.0f};
  uint32_t *words = (uint32_t *)data;
  for (size_t i = 0; i < bytes / sizeof *words; i++) words[i] = mix((uint32_t)i * 2u + seed);
  /* Some neighbours of each border, and numbers of ordinary size. */
  for (size_t i = 0; i < bytes / sizeof *words; i += 2) {
    const uint32_t choice = mix((uint32_t)i + 77u * seed);
    float x = ((float)(choice >> 8) / 0x1p24f - 0.5f) * 40.0f;
    if (choice % 16 == 0) memcpy(&x, &borders[choice / 16 % (sizeof borders / sizeof *borders)], sizeof x);
    memcpy(&words[i], &x, sizeof x);
    if (choice % 32 == 0) words[i] += choice >> 30;
  }
}

BurnTensor *elementwise_apply(const ElementwiseRow *row, BurnTensor *x, BurnTensor *y) {
  BurnTensor *inputs[] = {x, y}, *out = NULL;
  const BurnAttr attrs[] = {burn_attr_f64(row->s), burn_attr_f64(row->q)};
  const size_t count = row->op == BURN_OP_clamp ? 2 : row->scalars;
  if (row->inputs < 2) burn_drop(y);
  burn_op_call(NULL, burn_op_info(row->op), inputs, row->inputs, attrs, count, &out);
  return out;
}

static bool same_element(BurnDType dtype, const char *a, const char *b) {
  const size_t bytes = (size_t)burn_dtype_bytes(dtype);
  if (memcmp(a, b, bytes) == 0) return true;
  if (dtype == BURN_DTYPE_F32) {
    float x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return isnan(x) && isnan(y);
  }
  if (dtype == BURN_DTYPE_F64) {
    double x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return isnan(x) && isnan(y);
  }
  if (dtype != BURN_DTYPE_F16 && dtype != BURN_DTYPE_BF16) return false;
  uint16_t x, y;
  memcpy(&x, a, sizeof x);
  memcpy(&y, b, sizeof y);
  const uint16_t infinity = dtype == BURN_DTYPE_F16 ? 0x7c00u : 0x7f80u;
  return (x & 0x7fffu) > infinity && (y & 0x7fffu) > infinity;
}

bool elementwise_same(BurnDType dtype, const void *a, const void *b, size_t count, size_t *at) {
  const size_t bytes = (size_t)burn_dtype_bytes(dtype);
  if (memcmp(a, b, count * bytes) == 0) return true;
  for (*at = 0; *at < count; ++*at) {
    if (!same_element(dtype, (const char *)a + *at * bytes, (const char *)b + *at * bytes)) return false;
  }
  return true;
}
