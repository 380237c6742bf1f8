/* ndarray_scalar.c - numbers of attributes in the dtype of a tensor. */
#include "support/ndarray_half.h"
#include "ndarray_kernels.h"

#include <math.h>
#include <string.h>

/* Lowest and highest value of an integer dtype; bool counts as u8. */
static void integer_range(BurnDType dtype, int64_t *lowest, int64_t *highest) {
  switch (dtype) {
#define RANGE(NAME, low, high) \
  case BURN_DTYPE_##NAME:      \
    *lowest = low;             \
    *highest = high;           \
    return;
    RANGE(I8, INT8_MIN, INT8_MAX)
    RANGE(I16, INT16_MIN, INT16_MAX)
    RANGE(I32, INT32_MIN, INT32_MAX)
    RANGE(I64, INT64_MIN, INT64_MAX)
#undef RANGE
    default:
      *lowest = 0;
      *highest = UINT8_MAX;
  }
}

static NdScalar integer_scalar(BurnDType dtype, int64_t value) {
  NdScalar scalar;
  memset(&scalar, 0, sizeof scalar);
  switch (dtype) {
    case BURN_DTYPE_I8:
      scalar.i8 = (int8_t)(uint8_t)(uint64_t)value;
      break;
    case BURN_DTYPE_I16:
      scalar.i16 = (int16_t)(uint16_t)(uint64_t)value;
      break;
    case BURN_DTYPE_I32:
      scalar.i32 = (int32_t)(uint32_t)(uint64_t)value;
      break;
    case BURN_DTYPE_I64:
      scalar.i64 = value;
      break;
    default:
      scalar.u8 = (uint8_t)(uint64_t)value;
      break;
  }
  return scalar;
}

NdScalar nd_float_scalar(BurnDType dtype, double value) {
  NdScalar scalar;
  memset(&scalar, 0, sizeof scalar);
  if (dtype == BURN_DTYPE_F32) {
    scalar.f32 = (float)value;
  } else if (dtype == BURN_DTYPE_F64) {
    scalar.f64 = value;
  } else if (dtype == BURN_DTYPE_F16) {
    scalar.f16 = nd_f16_from_f64(value);
  } else {
    scalar.bf16 = nd_bf16_from_f64(value);
  }
  return scalar;
}

NdScalar nd_scalar(BurnDType dtype, const BurnAttr *number, bool wraps) {
  int64_t lowest, highest, integer;
  NdScalar scalar = {.bits_64 = 0};
  if (dtype == BURN_DTYPE_F32) { /* by far the most */
    scalar.f32 = (float)burn_attr_to_f64(number);
    return scalar;
  }
  if (burn_dtype_kind(dtype) == BURN_KIND_FLOAT) return nd_float_scalar(dtype, burn_attr_to_f64(number));
  if (dtype == BURN_DTYPE_BOOL) return integer_scalar(dtype, burn_attr_to_f64(number) != 0.0);
  integer_range(dtype, &lowest, &highest);
  integer = burn_attr_to_i64(number);
  if (!wraps && integer < lowest) integer = lowest;
  if (!wraps && integer > highest) integer = highest;
  return integer_scalar(dtype, integer);
}

/* Where a number lies beside the integers lowest .. highest: one of them to compare with, or none. */
typedef struct Place {
  int64_t integer;
  bool is_low, is_high, is_nan, is_between; /* is_between: not whole, and no integer equals it */
} Place;

static Place place_of(const BurnAttr *number, bool wants_floor, int64_t lowest, int64_t highest) {
  Place place = {number->value.i64, false, false, false, false};
  if (number->tag == BURN_ATTR_F64) {
    const double value = number->value.f64, rounded = wants_floor ? floor(value) : ceil(value);
    place.is_nan = !(value == value);
    place.is_low = rounded < -9223372036854775808.0;
    place.is_high = rounded >= 9223372036854775808.0;
    place.is_between = rounded != value;
    place.integer = place.is_nan || place.is_low || place.is_high ? 0 : (int64_t)rounded;
  }
  place.is_low = place.is_low || place.integer < lowest;
  place.is_high = place.is_high || place.integer > highest;
  return place;
}

NdScalar nd_integer_threshold(BurnDType dtype, uint32_t *op, const BurnAttr *number) {
  int64_t lowest, highest;
  const bool is_order = *op != BURN_OP_equal_scalar && *op != BURN_OP_not_equal_scalar;
  const bool wants_floor = *op == BURN_OP_greater_scalar || *op == BURN_OP_lower_equal_scalar;
  integer_range(dtype, &lowest, &highest);
  const Place place = place_of(number, wants_floor, lowest, highest);
  if (!place.is_nan && !place.is_low && !place.is_high && (is_order || !place.is_between))
    return integer_scalar(dtype, place.integer);
  const bool is_upward = *op == BURN_OP_greater_scalar || *op == BURN_OP_greater_equal_scalar;
  const bool always =
      is_order && !place.is_nan ? (is_upward ? place.is_low : place.is_high) : *op == BURN_OP_not_equal_scalar;
  if (!is_order && dtype == BURN_DTYPE_BOOL) { /* bool has no order: no bool is 2 */
    *op = always ? BURN_OP_not_equal_scalar : BURN_OP_equal_scalar;
    return integer_scalar(dtype, 2);
  }
  *op = always ? BURN_OP_greater_equal_scalar : BURN_OP_lower_scalar;
  return integer_scalar(dtype, lowest);
}
