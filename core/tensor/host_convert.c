/* host_convert.c - host arrays from one dtype to another of the same kind.
 *
 * Every float dtype passes through double, every integer dtype through int64_t: both hold all values of the others. The
 * 16-bit floats are made from the double's bits in one rounding. */
#include "host_convert.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* A 16-bit float: bits of mantissa, smallest normal exponent, the pattern of infinity. */
typedef struct SmallFloat {
  unsigned mantissa;
  int smallest;
  uint16_t infinity;
} SmallFloat;

static const SmallFloat f16_layout = {10, -14, 0x7c00};
static const SmallFloat bf16_layout = {7, -126, 0x7f80};

static uint16_t narrow(double value, const SmallFloat *layout) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  uint16_t sign = (uint16_t)((bits >> 48) & 0x8000u);
  int exponent = (int)((bits >> 52) & 0x7ff) - 1023;
  uint64_t mantissa = bits & ((UINT64_C(1) << 52) - 1);
  if (exponent == 1024) { /* infinite or NaN; a NaN is made quiet */
    unsigned quiet = mantissa ? 1u << (layout->mantissa - 1) : 0u;
    return (uint16_t)(sign | layout->infinity | quiet);
  }
  bool normal = exponent >= layout->smallest;
  unsigned shift = 52 - layout->mantissa + (normal ? 0u : (unsigned)(layout->smallest - exponent));
  if (shift > 54) return sign; /* less than half of the smallest */
  uint64_t whole = mantissa | (UINT64_C(1) << 52);
  uint64_t rounded = whole >> shift, rest = whole & ((UINT64_C(1) << shift) - 1), half = UINT64_C(1) << (shift - 1);
  if (rest > half || (rest == half && (rounded & 1))) rounded++;
  /* `rounded` holds the implicit bit, which adds the one that the biased exponent lacks here; a carry does the same. */
  uint64_t result = rounded + (normal ? (uint64_t)(exponent - layout->smallest) << layout->mantissa : 0);
  return (uint16_t)(sign | (result < layout->infinity ? result : layout->infinity));
}

static double widen(uint16_t bits, const SmallFloat *layout) {
  unsigned magnitude = bits & 0x7fffu, fraction = magnitude & ((1u << layout->mantissa) - 1);
  int exponent = (int)(magnitude >> layout->mantissa);
  double value;
  if (magnitude >= layout->infinity) {
    value = fraction ? (double)NAN : (double)INFINITY;
  } else if (exponent == 0) {
    value = ldexp((double)fraction, layout->smallest - (int)layout->mantissa);
  } else {
    value =
        ldexp((double)(fraction | (1u << layout->mantissa)), exponent - 1 + layout->smallest - (int)layout->mantissa);
  }
  return bits & 0x8000u ? -value : value;
}

uint16_t burn__f16_from_double(double value) { return narrow(value, &f16_layout); }
uint16_t burn__bf16_from_double(double value) { return narrow(value, &bf16_layout); }
double burn__f16_to_double(uint16_t bits) { return widen(bits, &f16_layout); }
double burn__bf16_to_double(uint16_t bits) { return widen(bits, &bf16_layout); }

/* -- single elements -------------------------------------------------------------------------- */

/* Reads element `index` as the C type. */
#define LOAD(Type, in, index, out) memcpy((out), (const uint8_t *)(in) + (index) * sizeof(Type), sizeof(Type))

static double load_float(const void *in, BurnDType dtype, size_t index) {
  double f64;
  float f32;
  uint16_t bits;
  switch (dtype) {
    case BURN_DTYPE_F64:
      LOAD(double, in, index, &f64);
      return f64;
    case BURN_DTYPE_F32:
      LOAD(float, in, index, &f32);
      return (double)f32;
    case BURN_DTYPE_F16:
      LOAD(uint16_t, in, index, &bits);
      return burn__f16_to_double(bits);
    default:
      LOAD(uint16_t, in, index, &bits);
      return burn__bf16_to_double(bits);
  }
}

#define STORE(Type, out, index, value) memcpy((uint8_t *)(out) + (index) * sizeof(Type), &(value), sizeof(Type))

/* False if a finite value became infinite. */
static bool store_float(void *out, BurnDType dtype, size_t index, double value) {
  bool finite = isfinite(value) != 0;
  if (dtype == BURN_DTYPE_F64) {
    STORE(double, out, index, value);
    return true;
  }
  if (dtype == BURN_DTYPE_F32) {
    /* Beyond the largest float plus half a step the conversion would not be defined by C; so it is refused before. */
    if (finite && fabs(value) >= 0x1.ffffffp127) return false;
    float f32 = (float)value;
    STORE(float, out, index, f32);
    return true;
  }
  const SmallFloat *layout = dtype == BURN_DTYPE_F16 ? &f16_layout : &bf16_layout;
  uint16_t bits = narrow(value, layout);
  STORE(uint16_t, out, index, bits);
  return !finite || (bits & 0x7fffu) < layout->infinity;
}

static int64_t load_int(const void *in, BurnDType dtype, size_t index) {
  uint8_t u8;
  int8_t i8;
  int16_t i16;
  int32_t i32;
  int64_t i64;
  switch (dtype) {
    case BURN_DTYPE_U8:
      LOAD(uint8_t, in, index, &u8);
      return u8;
    case BURN_DTYPE_I8:
      LOAD(int8_t, in, index, &i8);
      return i8;
    case BURN_DTYPE_I16:
      LOAD(int16_t, in, index, &i16);
      return i16;
    case BURN_DTYPE_I32:
      LOAD(int32_t, in, index, &i32);
      return i32;
    default:
      LOAD(int64_t, in, index, &i64);
      return i64;
  }
}

/* Stores `value` if the C type holds it. */
#define STORE_INT(Type, low, high)              \
  do {                                          \
    Type small;                                 \
    if (value < (low) || value > (high)) break; \
    small = (Type)value;                        \
    STORE(Type, out, index, small);             \
    return true;                                \
  } while (0)

static bool store_int(void *out, BurnDType dtype, size_t index, int64_t value) {
  switch (dtype) {
    case BURN_DTYPE_U8:
      STORE_INT(uint8_t, 0, UINT8_MAX);
      return false;
    case BURN_DTYPE_I8:
      STORE_INT(int8_t, INT8_MIN, INT8_MAX);
      return false;
    case BURN_DTYPE_I16:
      STORE_INT(int16_t, INT16_MIN, INT16_MAX);
      return false;
    case BURN_DTYPE_I32:
      STORE_INT(int32_t, INT32_MIN, INT32_MAX);
      return false;
    default:
      STORE(int64_t, out, index, value);
      return true;
  }
}

/* -- arrays ----------------------------------------------------------------------------------- */

static BurnStatus convert_floats(void *out, BurnDType to, const void *in, BurnDType from, size_t count) {
  for (size_t i = 0; i < count; i++) {
    double value = load_float(in, from, i);
    if (!store_float(out, to, i, value)) {
      return burn_status_make(BURN_STATUS_OUT_OF_RANGE, "%g at position %zu does not fit %s", value, i,
                              burn_dtype_name(to));
    }
  }
  return BURN_OK;
}

static BurnStatus convert_ints(void *out, BurnDType to, const void *in, BurnDType from, size_t count) {
  for (size_t i = 0; i < count; i++) {
    int64_t value = load_int(in, from, i);
    if (!store_int(out, to, i, value)) {
      return burn_status_make(BURN_STATUS_OUT_OF_RANGE, "%" PRId64 " at position %zu does not fit %s", value, i,
                              burn_dtype_name(to));
    }
  }
  return BURN_OK;
}

BurnStatus burn__host_convert(void *out, BurnDType to, const void *in, BurnDType from, size_t count) {
  uint32_t kind = burn_dtype_kind(to);
  if (kind == 0 || kind != burn_dtype_kind(from)) {
    return burn_status_make(BURN_STATUS_INVALID_DTYPE, "dtype %s expected, found %s", burn_dtype_name(to),
                            burn_dtype_name(from));
  }
  if (kind == BURN_KIND_BOOL) {
    for (size_t i = 0; i < count; i++) ((uint8_t *)out)[i] = ((const uint8_t *)in)[i] != 0;
    return BURN_OK;
  }
  if (to == from) {
    if (count) memcpy(out, in, count * burn_dtype_bytes(to));
    return BURN_OK;
  }
  return kind == BURN_KIND_FLOAT ? convert_floats(out, to, in, from, count) : convert_ints(out, to, in, from, count);
}
