/* ndarray_scalar.c - numbers of attributes in the dtype of a tensor. */
#include "ndarray_half.h"
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

/* Truncates toward zero; what does not fit becomes the nearest that does, NaN becomes 0. */
static int64_t saturate(double value) {
  if (!(value == value)) return 0;
  if (value >= 9223372036854775808.0) return INT64_MAX;
  if (value <= -9223372036854775808.0) return INT64_MIN;
  return (int64_t)value;
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

NdScalar nd_scalar(BurnDType dtype, double value, bool wraps) {
  NdScalar scalar;
  int64_t lowest, highest, whole;
  memset(&scalar, 0, sizeof scalar);
  if (dtype == BURN_DTYPE_F32) {
    scalar.f32 = (float)value;
  } else if (dtype == BURN_DTYPE_F64) {
    scalar.f64 = value;
  } else if (dtype == BURN_DTYPE_F16) {
    scalar.f16 = nd_f16_from_f64(value);
  } else if (dtype == BURN_DTYPE_BF16) {
    scalar.bf16 = nd_bf16_from_f64(value);
  } else {
    integer_range(dtype, &lowest, &highest);
    whole = saturate(value);
    if (!wraps && whole < lowest) whole = lowest;
    if (!wraps && whole > highest) whole = highest;
    scalar = integer_scalar(dtype, whole);
  }
  return scalar;
}

NdScalar nd_integer_threshold(BurnDType dtype, uint32_t *op, double value) {
  int64_t lowest, highest;
  const bool is_order = *op != BURN_OP_equal_scalar && *op != BURN_OP_not_equal_scalar;
  const bool wants_floor = *op == BURN_OP_greater_scalar || *op == BURN_OP_lower_equal_scalar;
  const double whole = wants_floor ? floor(value) : ceil(value);
  integer_range(dtype, &lowest, &highest);
  const bool is_low = whole < (double)lowest;
  const bool is_high = dtype == BURN_DTYPE_I64 ? whole >= 9223372036854775808.0 : whole > (double)highest;
  if (value == value && !is_low && !is_high && (is_order || whole == value))
    return integer_scalar(dtype, (int64_t)whole);
  const bool is_upward = *op == BURN_OP_greater_scalar || *op == BURN_OP_greater_equal_scalar;
  const bool always = value == value ? (is_order ? (is_upward ? is_low : is_high) : *op == BURN_OP_not_equal_scalar)
                                     : *op == BURN_OP_not_equal_scalar;
  if (!is_order && dtype == BURN_DTYPE_BOOL) { /* bool has no order: no bool is 2 */
    *op = always ? BURN_OP_not_equal_scalar : BURN_OP_equal_scalar;
    return integer_scalar(dtype, 2);
  }
  *op = always ? BURN_OP_greater_equal_scalar : BURN_OP_lower_scalar;
  return integer_scalar(dtype, lowest);
}
