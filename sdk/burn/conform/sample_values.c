/* sample_values.c - the numbers in sample inputs, and host values of any dtype, halves included. */
#include "samples.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* -- one element ------------------------------------------------------------------------------ */

/* A 16-bit float of `mantissa` explicit bits and exponent bias `bias` (IEEE binary16: 10, 15; bfloat16: 7, 127). */
static double half_to_double(uint16_t bits, int mantissa, int bias) {
  const int exponent_mask = (1 << (15 - mantissa)) - 1;
  const int exponent = (bits >> mantissa) & exponent_mask, fraction = bits & ((1 << mantissa) - 1);
  const double sign = bits & 0x8000u ? -1.0 : 1.0;
  if (exponent == exponent_mask) return fraction ? (double)NAN : sign * (double)INFINITY;
  if (exponent == 0) return sign * ldexp(fraction, 1 - bias - mantissa);
  return sign * ldexp(fraction + (1 << mantissa), exponent - bias - mantissa);
}

static uint16_t double_to_half(double value, int mantissa, int bias) {
  const uint16_t sign = signbit(value) ? 0x8000u : 0, infinity = (uint16_t)(((1 << (15 - mantissa)) - 1) << mantissa);
  if (isnan(value)) return (uint16_t)(infinity | (1u << (mantissa - 1)));
  const double magnitude = fabs(value);
  if (magnitude == 0) return sign;
  int exponent;
  (void)frexp(isinf(magnitude) ? DBL_MAX : magnitude, &exponent);
  exponent -= 1;              /* magnitude is in [2^exponent, 2^(exponent+1)) */
  const int least = 1 - bias; /* of normal numbers */
  const int unit = (exponent < least ? least : exponent) - mantissa;
  const double rounded = nearbyint(ldexp(magnitude, -unit)); /* ties to even in the default mode */
  if (isinf(magnitude) || ldexp(rounded, unit) >= ldexp(1, bias + 1)) return sign | infinity;
  const uint32_t steps = (uint32_t)rounded;              /* in units of the last place, the leading one included */
  if (exponent < least) return (uint16_t)(sign | steps); /* 2^mantissa steps are the first normal number */
  return (uint16_t)(sign + ((uint32_t)(exponent - least) << mantissa) + steps);
}

double sample_load(BurnDType dtype, const void *data, int64_t i, int64_t *whole) {
  int64_t integer = 0;
  double value = 0;
  switch (dtype) {
    case BURN_DTYPE_BOOL:
    case BURN_DTYPE_U8:
      integer = ((const uint8_t *)data)[i];
      break;
    case BURN_DTYPE_I8:
      integer = ((const int8_t *)data)[i];
      break;
    case BURN_DTYPE_I16:
      integer = ((const int16_t *)data)[i];
      break;
    case BURN_DTYPE_I32:
      integer = ((const int32_t *)data)[i];
      break;
    case BURN_DTYPE_I64:
      integer = ((const int64_t *)data)[i];
      break;
    case BURN_DTYPE_F16:
      value = half_to_double(((const uint16_t *)data)[i], 10, 15);
      break;
    case BURN_DTYPE_BF16:
      value = half_to_double(((const uint16_t *)data)[i], 7, 127);
      break;
    case BURN_DTYPE_F32:
      value = (double)((const float *)data)[i];
      break;
    default:
      value = ((const double *)data)[i];
      break;
  }
  if (whole) *whole = integer;
  return burn_dtype_kind(dtype) == BURN_KIND_FLOAT ? value : (double)integer;
}

static int64_t saturate(double value, double least, double most) {
  if (isnan(value)) return 0;
  if (value <= least) return least < -9e18 ? INT64_MIN : (int64_t)least;
  if (value >= most) return most > 9e18 ? INT64_MAX : (int64_t)most;
  return (int64_t)value;
}

void sample_store(BurnDType dtype, void *data, int64_t i, double value) {
  switch (dtype) {
    case BURN_DTYPE_BOOL:
      ((uint8_t *)data)[i] = value != 0;
      break;
    case BURN_DTYPE_U8:
      ((uint8_t *)data)[i] = (uint8_t)saturate(value, 0, UINT8_MAX);
      break;
    case BURN_DTYPE_I8:
      ((int8_t *)data)[i] = (int8_t)saturate(value, INT8_MIN, INT8_MAX);
      break;
    case BURN_DTYPE_I16:
      ((int16_t *)data)[i] = (int16_t)saturate(value, INT16_MIN, INT16_MAX);
      break;
    case BURN_DTYPE_I32:
      ((int32_t *)data)[i] = (int32_t)saturate(value, INT32_MIN, INT32_MAX);
      break;
    case BURN_DTYPE_I64:
      ((int64_t *)data)[i] = saturate(value, -9223372036854775808.0, 9223372036854775808.0);
      break;
    case BURN_DTYPE_F16:
      ((uint16_t *)data)[i] = double_to_half(value, 10, 15);
      break;
    case BURN_DTYPE_BF16:
      ((uint16_t *)data)[i] = double_to_half(value, 7, 127);
      break;
    case BURN_DTYPE_F32:
      ((float *)data)[i] = (float)value;
      break;
    default:
      ((double *)data)[i] = value;
      break;
  }
}

double sample_largest(BurnDType dtype) {
  switch (dtype) {
    case BURN_DTYPE_F16:
      return 65504;
    case BURN_DTYPE_BF16:
      return ldexp(255, 120);
    case BURN_DTYPE_F32:
      return (double)FLT_MAX;
    default:
      return DBL_MAX;
  }
}

static double smallest_normal(BurnDType dtype) {
  switch (dtype) {
    case BURN_DTYPE_F16:
      return ldexp(1, -14);
    case BURN_DTYPE_BF16:
    case BURN_DTYPE_F32:
      return (double)FLT_MIN;
    default:
      return DBL_MIN;
  }
}

uint64_t sample_mix(uint64_t a, uint64_t b) { /* the finalizer of splitmix64 */
  uint64_t x = a + 0x9E3779B97F4A7C15u * (b + 1);
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

/* -- domains ---------------------------------------------------------------------------------- */

typedef struct Range {
  double low, high;    /* floats */
  int64_t least, most; /* integers */
} Range;

static const Range ranges[SAMPLE_DOMAIN_COUNT] = {
    [SAMPLE_ANY] = {-4, 4, -9, 9},
    [SAMPLE_POSITIVE] = {0.2, 4, 1, 9},
    [SAMPLE_UNIT] = {-0.9, 0.9, 0, 1},
    [SAMPLE_ABOVE_ONE] = {1.1, 4, 2, 9},
    [SAMPLE_NONZERO] = {0.5, 4, 1, 9},
    [SAMPLE_FACTOR] = {0.6, 1.5, 1, 1},
    [SAMPLE_PROBABILITY] = {0.05, 0.95, 0, 1},
    [SAMPLE_DISTINCT] = {-4, 4, -9, 9},
    [SAMPLE_COUNT] = {0, 4, 0, 4},
    [SAMPLE_INDEX] = {0, 1, 0, 1},
    [SAMPLE_MASK] = {0, 1, 0, 1},
    [SAMPLE_ROWS] = {-4, 4, -9, 9},
    [SAMPLE_ASCENDING] = {-4, 4, -9, 9},
    [SAMPLE_DOMINANT] = {-1, 1, -1, 1},
    [SAMPLE_DEFINITE] = {-1, 1, -1, 1},
};

typedef struct Drawing {
  const Sample *sample;
  const SampleInput *input;
  uint32_t position; /* of the input */
  int64_t count;
  uint64_t seed;
} Drawing;

static double unit(const Drawing *d, int64_t i) { return (double)(sample_mix(d->seed, (uint64_t)i) >> 11) * 0x1p-53; }

/* Number i of a sequence that is spread over 0 .. 1 and never repeats. */
static double spread_unit(const Drawing *d, int64_t i) {
  const double x = 0.37 + 0.6180339887498949 * (double)(i + 1) + 0.137 * (double)d->position;
  return x - floor(x);
}

static double draw_float(const Drawing *d, int64_t i) {
  const Range *range = &ranges[d->input->domain];
  const bool spread = d->sample->spread || d->input->domain == SAMPLE_DISTINCT;
  const double u = spread ? spread_unit(d, i) : unit(d, i), value = range->low + (range->high - range->low) * u;
  if (d->input->domain == SAMPLE_COUNT) return d->sample->spread ? value : floor(value * 1.25);
  if (d->input->domain == SAMPLE_NONZERO && sample_mix(d->seed + 1, (uint64_t)i) % 2) return -value;
  return value;
}

static int64_t draw_integer(const Drawing *d, int64_t i) {
  const SampleInput *input = d->input;
  const uint64_t bits = sample_mix(d->seed, (uint64_t)i);
  const bool is_signed = input->desc.dtype != BURN_DTYPE_U8;
  if (input->domain == SAMPLE_INDEX) return input->limit > 0 ? (int64_t)(bits % (uint64_t)input->limit) : 0;
  if (input->domain == SAMPLE_DISTINCT)
    return is_signed ? (i * 7 + 3) % (d->count ? d->count : 1) - d->count / 2 : i % 256;
  const Range *range = &ranges[input->domain];
  const int64_t least = is_signed || range->least > 0 ? range->least : 0;
  const int64_t value = least + (int64_t)(bits % (uint64_t)(range->most - least + 1));
  const bool may_flip = input->domain == SAMPLE_NONZERO || input->domain == SAMPLE_FACTOR;
  return is_signed && may_flip && (bits >> 40) % 2 ? -value : value;
}

/* Special values, in turn, at about every third element; else `value`. */
static double special_float(const Drawing *d, int64_t i, double value) {
  const double largest = sample_largest(d->input->desc.dtype), smallest = smallest_normal(d->input->desc.dtype);
  const double list[] = {(double)NAN, (double)INFINITY, -(double)INFINITY, 0.0,      -0.0,     1.0,
                         -1.0,        largest,          -largest,          smallest, -smallest};
  const uint64_t known = d->sample->specials == SAMPLE_EXTREME ? sizeof list / sizeof list[0] : 7;
  const uint64_t bits = sample_mix(d->seed + 2, (uint64_t)i);
  return bits % 3 ? value : list[(bits >> 8) % known];
}

static void store_integer(const Drawing *d, void *data, int64_t i) {
  const BurnDType dtype = d->input->desc.dtype;
  const uint64_t bits = sample_mix(d->seed + 2, (uint64_t)i);
  const bool extreme = d->sample->specials == SAMPLE_EXTREME && d->input->domain != SAMPLE_INDEX && bits % 3 == 0;
  if (!extreme) {
    sample_store(dtype, data, i, (double)draw_integer(d, i));
    return;
  }
  const double list[] = {-(double)INFINITY, (double)INFINITY, 0, -1, 1};
  sample_store(dtype, data, i, list[(bits >> 8) % 5]); /* infinities saturate to the ends of the dtype */
}

static void store_element(const Drawing *d, void *data, int64_t i) {
  const BurnDType dtype = d->input->desc.dtype;
  switch (burn_dtype_kind(dtype)) {
    case BURN_KIND_BOOL:
      ((uint8_t *)data)[i] = sample_mix(d->seed, (uint64_t)i) >> 63 ? 1 : 0;
      break;
    case BURN_KIND_INT:
      store_integer(d, data, i);
      break;
    default: {
      const double value = draw_float(d, i);
      sample_store(dtype, data, i, d->sample->specials ? special_float(d, i, value) : value);
    }
  }
}

/* -- values that hang together ---------------------------------------------------------------- */

static void make_ascending(const SampleInput *input, void *data, int64_t count) {
  const int64_t width = input->desc.shape[input->desc.rank - 1];
  const bool is_float = burn_dtype_kind(input->desc.dtype) == BURN_KIND_FLOAT;
  for (int64_t i = 0; i < count; i++) {
    const double at = (double)(i % width);
    sample_store(input->desc.dtype, data, i, is_float ? -4 + 8 * (at + 0.5) / (double)width : 2 * at - 9);
  }
}

/* Adds to the diagonal of every matrix; symmetric ones are mirrored first. */
static void make_heavy_diagonal(const SampleInput *input, void *data, int64_t count) {
  const uint32_t rank = input->desc.rank;
  if (rank < 2) return;
  const int64_t rows = input->desc.shape[rank - 2], columns = input->desc.shape[rank - 1];
  for (int64_t i = 0; i < count; i++) {
    const int64_t row = i / columns % rows, column = i % columns, base = i / (rows * columns) * rows * columns;
    double value = sample_load(input->desc.dtype, data, i, NULL);
    if (input->domain == SAMPLE_DEFINITE && row > column && rows == columns) {
      value = sample_load(input->desc.dtype, data, base + column * columns + row, NULL);
    }
    sample_store(input->desc.dtype, data, i, row == column ? fabs(value) + (double)(rows + 1) : value);
  }
}

/* All elements along the axis are those at index 0. */
static void make_constant_along(const SampleInput *input, uint32_t axis, char *data, int64_t count) {
  const size_t bytes = burn_dtype_bytes(input->desc.dtype);
  int64_t inner = 1;
  for (uint32_t i = axis + 1; i < input->desc.rank; i++) inner *= input->desc.shape[i];
  const int64_t block = inner * input->desc.shape[axis];
  for (int64_t i = 0; i < count; i++) {
    const int64_t from = i / block * block + i % inner;
    if (from != i) memcpy(data + (size_t)i * bytes, data + (size_t)from * bytes, bytes);
  }
}

void *sample_values(const Sample *sample, uint32_t position) {
  const SampleInput *input = &sample->inputs[position];
  const Drawing drawing = {.sample = sample,
                           .input = input,
                           .position = position,
                           .count = burn_desc_count(&input->desc),
                           .seed = sample_mix(sample->seed, position)};
  char *data = malloc((size_t)drawing.count * burn_dtype_bytes(input->desc.dtype) + 1);
  if (!data) return NULL;
  for (int64_t i = 0; i < drawing.count; i++) store_element(&drawing, data, i);
  if (input->domain == SAMPLE_ASCENDING) make_ascending(input, data, drawing.count);
  if (input->domain == SAMPLE_DOMINANT || input->domain == SAMPLE_DEFINITE)
    make_heavy_diagonal(input, data, drawing.count);
  if (input->layout == SAMPLE_EXPANDED && drawing.count > 0)
    make_constant_along(input, input->axis, data, drawing.count);
  return data;
}
