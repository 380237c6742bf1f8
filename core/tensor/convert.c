/* convert.c - elements between dtypes in host memory, by the rules of the op cast: used where values leave
 * (burn_read_f32, print). Float to int truncates toward zero and saturates, NaN gives 0; to bool is x != 0. Records use
 * host_convert.h instead, which refuses what does not fit. */
#include "core_internal.h"
#include "host_convert.h"

#include <math.h>
#include <string.h>

/* Integers go through int64_t and floats through double, so that no value is squeezed through a narrower type on its
 * way. */
typedef struct Number {
  bool is_float;
  double f;
  int64_t i;
} Number;

static Number load(const void *from, BurnDType dtype, size_t index) {
  const unsigned char *at = (const unsigned char *)from + index * burn_dtype_bytes(dtype);
  Number number = {0};
  switch (dtype) {
#define LOAD_INT(DTYPE, c_type)       \
  case BURN_DTYPE_##DTYPE: {          \
    c_type value;                     \
    memcpy(&value, at, sizeof value); \
    number.i = (int64_t)value;        \
    break;                            \
  }
#define LOAD_FLOAT(DTYPE, c_type, expression) \
  case BURN_DTYPE_##DTYPE: {                  \
    c_type value;                             \
    memcpy(&value, at, sizeof value);         \
    number.is_float = true;                   \
    number.f = expression;                    \
    break;                                    \
  }
    LOAD_INT(BOOL, uint8_t)
    LOAD_INT(U8, uint8_t)
    LOAD_INT(I8, int8_t)
    LOAD_INT(I16, int16_t)
    LOAD_INT(I32, int32_t)
    LOAD_INT(I64, int64_t)
    LOAD_FLOAT(F16, uint16_t, burn__f16_to_double(value))
    LOAD_FLOAT(BF16, uint16_t, burn__bf16_to_double(value))
    LOAD_FLOAT(F32, float, (double)value)
    LOAD_FLOAT(F64, double, value)
    default:
      break;
  }
  return number;
}

static int64_t to_int(Number number, int64_t low, int64_t high) {
  if (!number.is_float) return number.i; /* between ints the bits beyond the width are cut, as in C */
  if (isnan(number.f)) return 0;
  if (number.f <= (double)low) return low;
  if (number.f >= (double)high) return high;
  return (int64_t)number.f;
}

static void store(void *to, BurnDType dtype, size_t index, Number number) {
  unsigned char *at = (unsigned char *)to + index * burn_dtype_bytes(dtype);
  const double f = number.is_float ? number.f : (double)number.i;
  switch (dtype) {
#define STORE(DTYPE, c_type, expression)       \
  case BURN_DTYPE_##DTYPE: {                   \
    const c_type value = (c_type)(expression); \
    memcpy(at, &value, sizeof value);          \
    break;                                     \
  }
    STORE(BOOL, uint8_t, number.is_float ? number.f != 0 : number.i != 0)
    STORE(U8, uint8_t, to_int(number, 0, UINT8_MAX))
    STORE(I8, int8_t, to_int(number, INT8_MIN, INT8_MAX))
    STORE(I16, int16_t, to_int(number, INT16_MIN, INT16_MAX))
    STORE(I32, int32_t, to_int(number, INT32_MIN, INT32_MAX))
    STORE(I64, int64_t, to_int(number, INT64_MIN, INT64_MAX))
    STORE(F16, uint16_t, burn__f16_from_double(f))
    STORE(BF16, uint16_t, burn__bf16_from_double(f))
    STORE(F32, float, f)
    STORE(F64, double, f)
    default:
      break;
  }
}

BurnStatus burn__convert(const void *from, BurnDType from_dtype, void *to, BurnDType to_dtype, size_t count) {
  if (!burn_dtype_bytes(from_dtype) || !burn_dtype_bytes(to_dtype)) {
    return BURN_FAIL(INVALID_DTYPE, "convert: there is no dtype number %u or %u", from_dtype, to_dtype);
  }
  if (from_dtype == to_dtype) {
    if (count > 0) memcpy(to, from, count * burn_dtype_bytes(to_dtype));
    return BURN_OK;
  }
  for (size_t i = 0; i < count; i++) store(to, to_dtype, i, load(from, from_dtype, i));
  return BURN_OK;
}
