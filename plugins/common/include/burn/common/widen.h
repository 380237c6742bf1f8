/* widen.h - ops on narrow dtypes by way of wider ones: f16 and bf16 are computed in f32, i8 and i16 in i32. What is to
 * be widened, and what becomes of dtypes and numbers; tensors are the caller's. C99 and C++11, nothing to link.
 *
 * Inputs of a narrow dtype are cast to the wide one, the op runs on those, and results of a narrow dtype are rounded
 * once (floats), or keep their lowest bits (integers): sums and products wrap as they would in the narrow dtype.
 *
 *   if (burn_common_is_narrow(dtype) && !(burn_common_narrow_kinds(call->op) & burn_dtype_kind(dtype))) {
 *     cast inputs that are narrow to burn_common_wide_dtype(their dtype); the same for the descriptions of results
 *     for each i: attrs[i] = burn_common_widen_attr(info, call, i);
 *     run; cast results back
 *   }
 */
#ifndef BURN_COMMON_WIDEN_H
#define BURN_COMMON_WIDEN_H

#include <burn/plugin/backend.h>

#include <math.h> /* HUGE_VAL; nothing of libm */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* The narrow dtypes, as bits by their number. */
enum { BURN_COMMON_NARROW = 1 << BURN_DTYPE_F16 | 1 << BURN_DTYPE_BF16 | 1 << BURN_DTYPE_I8 | 1 << BURN_DTYPE_I16 };

/* True for f16, bf16, i8, i16. */
static inline bool burn_common_is_narrow(BurnDType dtype) {
  return (BURN_COMMON_NARROW >> (dtype % BURN_DTYPE_LIMIT) & 1) != 0;
}

/* The dtype in which a narrow one is computed; others are their own. */
static inline BurnDType burn_common_wide_dtype(BurnDType dtype) {
  if (dtype == BURN_DTYPE_F16 || dtype == BURN_DTYPE_BF16) return BURN_DTYPE_F32;
  if (dtype == BURN_DTYPE_I8 || dtype == BURN_DTYPE_I16) return BURN_DTYPE_I32;
  return dtype;
}

/* The dtype that an op works in: that of its first input, or of its result if it has none. */
static inline BurnDType burn_common_working_dtype(const BurnOpCall *call) {
  return call->input_count > 0 && call->inputs[0] ? call->inputs[0]->dtype : call->output_descs[0].dtype;
}

/* The kinds of dtypes (BURN_KIND_*) for which kernels take narrow elements as they are: ops that make, move, cast or
 * compare elements; sums and means, of which kernels add in a wider type and round once. select_assign and scatter add
 * several numbers in one place: halves are widened for them. 0 for other ops. A backend may have kernels for more. */
static inline uint32_t burn_common_narrow_kinds(uint32_t op) {
  switch (op) {
    case BURN_OP_full:
    case BURN_OP_arange:
    case BURN_OP_random_uniform:
    case BURN_OP_random_normal:
    case BURN_OP_random_bernoulli:
    case BURN_OP_cast:
    case BURN_OP_reshape:
    case BURN_OP_permute:
    case BURN_OP_expand:
    case BURN_OP_slice:
    case BURN_OP_slice_assign:
    case BURN_OP_cat:
    case BURN_OP_repeat_dim:
    case BURN_OP_select:
    case BURN_OP_gather:
    case BURN_OP_embedding:
    case BURN_OP_triu:
    case BURN_OP_tril:
    case BURN_OP_mask_where:
    case BURN_OP_mask_fill:
    case BURN_OP_unfold:
      return BURN_KIND_ANY;
    case BURN_OP_sum:
    case BURN_OP_sum_dim:
    case BURN_OP_mean:
    case BURN_OP_mean_dim:
    case BURN_OP_argsort:
    case BURN_OP_sort_range:
      return BURN_KIND_NUMERIC;
    case BURN_OP_select_assign:
    case BURN_OP_scatter:
      return BURN_KIND_INT;
    default:
      return 0;
  }
}

/* x rounded to a float of `digits` bits whose smallest normal number is 2^lowest: to nearest, ties to even. Not for
 * what is infinite or no number. */
static inline double burn_common_round_float(double x, int digits, int lowest) {
  const double size = x < 0 ? -x : x;
  uint64_t bits = 0;
  double shift = 0;
  int exponent = 0;
  memcpy(&bits, &size, sizeof bits);
  exponent = (int)(bits >> 52) - 1023;
  if (exponent < lowest) exponent = lowest;
  bits = (uint64_t)(exponent - digits + 1 + 52 + 1023) << 52; /* a double as large has no digits below the last of x */
  memcpy(&shift, &bits, sizeof shift);
  shift = (size + shift) - shift;
  return x < 0 ? -shift : shift;
}

/* A number in f16, bf16 or f32, rounded once; what is too large becomes infinite. For other dtypes as it is. */
static inline double burn_common_round_number(BurnDType dtype, double x) {
  const bool is_half = dtype == BURN_DTYPE_F16;
  const double limit = is_half ? 65536.0 : 18446744073709551616.0 * 18446744073709551616.0; /* 2^16, 2^128 */
  if (dtype == BURN_DTYPE_F32) return (double)(float)x;
  if ((!is_half && dtype != BURN_DTYPE_BF16) || x == 0 || x != x) return x;
  if (x < limit && x > -limit) x = burn_common_round_float(x, is_half ? 11 : 8, is_half ? -14 : -126);
  return x >= limit ? HUGE_VAL : x <= -limit ? -HUGE_VAL : x;
}

/* A number as an integer of a narrow dtype, or the nearest that it has. */
static inline int64_t burn_common_saturate_number(BurnDType dtype, const BurnAttr *number) {
  const int64_t highest = dtype == BURN_DTYPE_I8 ? INT8_MAX : INT16_MAX, lowest = -highest - 1;
  const int64_t integer = burn_attr_to_i64(number);
  return integer > highest ? highest : integer < lowest ? lowest : integer;
}

/* True if a number becomes one of the narrow integers before the op: sums and products wrap, whatever it is; a
 * comparison is with the number as it is; a NaN is not a bound. */
static inline bool burn_common_saturates_first(const BurnOpCall *call, const BurnAttr *number) {
  if (call->op == BURN_OP_add_scalar || call->op == BURN_OP_mul_scalar) return false;
  return call->output_descs[0].dtype != BURN_DTYPE_BOOL &&
         (number->tag == BURN_ATTR_I64 || number->value.f64 == number->value.f64);
}

/* Attribute i of the widened call. A scalar stands for a tensor of the narrow dtype, so it is converted to that first;
 * composite ops (by `info`, which may be NULL) compute as a whole in the wide dtype. The dtype of what is made becomes
 * the wide one. */
static inline BurnAttr burn_common_widen_attr(const BurnOpInfo *info, const BurnOpCall *call, uint32_t i) {
  const BurnDType dtype = burn_common_working_dtype(call);
  BurnAttr attr = call->attrs[i];
  if (attr.tag == BURN_ATTR_DTYPE && call->input_count == 0)
    attr.value.i64 = burn_common_wide_dtype((BurnDType)attr.value.i64);
  if (!info || info->is_composite || !(info->traits & BURN_TRAIT_ELEMENTWISE) || !burn_common_is_narrow(dtype))
    return attr;
  if (info->attr_tags[i] != BURN_ATTR_NUMBER && info->attr_tags[i] != BURN_ATTR_F64) return attr;
  if (burn_dtype_kind(dtype) == BURN_KIND_FLOAT)
    return burn_attr_f64(burn_common_round_number(dtype, burn_attr_to_f64(&attr)));
  return burn_common_saturates_first(call, &attr) ? burn_attr_i64(burn_common_saturate_number(dtype, &attr)) : attr;
}

#endif
