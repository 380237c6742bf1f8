/* ops_elementwise.c - public element-wise ops: one line per row of ops.def, then those that are compositions, among
 * them numbers on the left and bit ops with a number. */
#include "ops_internal.h"

#include <math.h>

/* -- rows of ops.def -------------------------------------------------------------------------- */

UNARY(neg)
UNARY(abs)
UNARY(sign)
UNARY(exp)
UNARY(log)
UNARY(log1p)
UNARY(sqrt)
UNARY(recip)
UNARY(sin)
UNARY(cos)
UNARY(tanh)
UNARY(erf)
UNARY(floor)
UNARY(ceil)
UNARY(round)
UNARY(bool_not)
UNARY(tan)
UNARY(sinh)
UNARY(cosh)
UNARY(asin)
UNARY(acos)
UNARY(atan)
UNARY(asinh)
UNARY(acosh)
UNARY(atanh)
UNARY(trunc)
UNARY(bitwise_not)
UNARY(is_nan)
UNARY(is_inf)
UNARY(is_finite)

BINARY(add)
BINARY(sub)
BINARY(mul)
BINARY(div)
BINARY(remainder)
BINARY(powf)
BINARY(max_pair)
BINARY(min_pair)
BINARY(bool_and)
BINARY(bool_or)
BINARY(bool_xor)
BINARY(atan2)
BINARY(hypot)
BINARY(fmod)
BINARY(powi)
BINARY(bitwise_and)
BINARY(bitwise_or)
BINARY(bitwise_xor)
BINARY(bitwise_left_shift)
BINARY(bitwise_right_shift)
BINARY(equal)
BINARY(not_equal)
BINARY(greater)
BINARY(greater_equal)
BINARY(lower)
BINARY(lower_equal)

#define SCALAR_AS(name, op, type, tag)                 \
  BurnTensor *burn_##name(BurnTensor *x, type value) { \
    const BurnAttr attr = burn_attr_##tag(value);      \
    return burn__apply(BURN_OP_##op, &x, 1, &attr, 1); \
  }
#define SCALAR(name) SCALAR_AS(name, name, double, f64) SCALAR_AS(name##_i64, name, int64_t, i64)
SCALAR_AS(powf_scalar, powf_scalar, double, f64)
SCALAR(add_scalar)
SCALAR(mul_scalar)
SCALAR(div_scalar)
SCALAR(remainder_scalar)
SCALAR(clamp_min)
SCALAR(clamp_max)
SCALAR(equal_scalar)
SCALAR(not_equal_scalar)
SCALAR(greater_scalar)
SCALAR(greater_equal_scalar)
SCALAR(lower_scalar)
SCALAR(lower_equal_scalar)

BurnTensor *burn_sub_scalar(BurnTensor *x, double value) { return burn_add_scalar(x, -value); }
BurnTensor *burn_sub_scalar_i64(BurnTensor *x, int64_t value) {
  const bool is_float = burn_dtype_kind(burn_dtype(x)) == BURN_KIND_FLOAT;
  if (is_float) return burn_sub_scalar(x, (double)value);        /* minus the least integer is one of f64, not of i64 */
  return burn_add_scalar_i64(x, (int64_t)(0 - (uint64_t)value)); /* which wraps for integers, as the sum does */
}

static BurnTensor *clamp(BurnTensor *x, BurnAttr min, BurnAttr max) {
  const BurnAttr attrs[] = {min, max};
  return burn__apply(BURN_OP_clamp, &x, 1, attrs, 2);
}
BurnTensor *burn_clamp(BurnTensor *x, double min, double max) {
  return clamp(x, burn_attr_f64(min), burn_attr_f64(max));
}
BurnTensor *burn_clamp_i64(BurnTensor *x, int64_t min, int64_t max) {
  return clamp(x, burn_attr_i64(min), burn_attr_i64(max));
}

BurnTensor *burn_square(BurnTensor *x) {
  BurnTensor *other = burn_clone(x);
  return burn_mul(x, other);
}

BurnTensor *burn_cast(BurnTensor *x, BurnDType dtype) {
  if (x && burn_dtype(x) == dtype) return x;
  const BurnAttr attr = burn_attr_dtype(dtype);
  return burn__apply(BURN_OP_cast, &x, 1, &attr, 1);
}
BurnTensor *burn_int(BurnTensor *x) { return burn_cast(x, burn_device_int_dtype(burn_tensor_device(x))); }
BurnTensor *burn_float(BurnTensor *x) { return burn_cast(x, burn_device_float_dtype(burn_tensor_device(x))); }
BurnTensor *burn_bool(BurnTensor *x) { return burn_cast(x, BURN_DTYPE_BOOL); }

/* -- checks ----------------------------------------------------------------------------------- */

/* What the row `model` would say of these inputs, under the name of the function that is made of it. */
static BurnStatus check_as(const char *user, uint32_t model, BurnTensor *const *inputs, uint32_t count) {
  BurnPrimitive *primitives[2] = {NULL};
  for (uint32_t i = 0; i < count; i++) {
    const BurnStatus status = burn__tensor_check(inputs[i], user);
    if (status != BURN_OK) return status;
    primitives[i] = inputs[i]->primitive;
  }
  BurnOpInfo info = *burn__op_info(model);
  BurnTensorDesc desc;
  info.name = user;
  const BurnOpCall call = {
      .struct_size = sizeof call, .op = model, .input_count = count, .output_count = 1, .inputs = primitives};
  return burn__infer_as(&info, &call, &desc);
}

/* Takes x and returns a failed tensor if the row `model` would not take x; else NULL. */
static BurnTensor *refused(const char *user, uint32_t model, BurnTensor *x) {
  const BurnStatus status = check_as(user, model, &x, 1);
  if (status == BURN_OK) return NULL;
  burn__tensor_take(x, user);
  return burn__tensor_failed(status);
}

/* -- scalars as tensors, which broadcast against x -------------------------------------------- */

static BurnShape ones(uint32_t rank) {
  BurnShape shape = {.rank = rank};
  for (uint32_t i = 0; i < rank; i++) shape.dims[i] = 1;
  return shape;
}

static BurnTensor *number_like(const BurnTensor *x, BurnAttr value) {
  return burn__full(x->device, ones(burn_rank(x)), burn_dtype(x), value);
}

/* A narrower dtype keeps the low bits, where full takes the nearest number. */
static BurnTensor *whole_like(const BurnTensor *x, BurnDType dtype, int64_t value) {
  const BurnAttr attrs[] = {burn_attr_i64(value), burn_attr_i64(1)};
  BurnTensor *scalar = burn__create(x->device, BURN_OP_arange, BURN_SHAPE(1), dtype, attrs, 2);
  return burn__reshape_to(scalar, ones(burn_rank(x)));
}

BurnTensor *burn_scalar_sub(double value, BurnTensor *x) {
  BurnTensor *failed = refused("scalar_sub", BURN_OP_neg, x);
  return failed ? failed : burn_add_scalar(burn_neg(x), value);
}
BurnTensor *burn_scalar_sub_i64(int64_t value, BurnTensor *x) {
  BurnTensor *failed = refused("scalar_sub", BURN_OP_neg, x);
  return failed ? failed : burn_add_scalar_i64(burn_neg(x), value);
}

static BurnTensor *scalar_div(BurnAttr value, BurnTensor *x) {
  BurnTensor *failed = refused("scalar_div", BURN_OP_neg, x);
  if (failed) return failed;
  BurnTensor *lhs = number_like(x, value);
  return burn_div(lhs, x);
}
BurnTensor *burn_scalar_div(double value, BurnTensor *x) { return scalar_div(burn_attr_f64(value), x); }
BurnTensor *burn_scalar_div_i64(int64_t value, BurnTensor *x) { return scalar_div(burn_attr_i64(value), x); }

BurnTensor *burn_fmod_scalar(BurnTensor *x, double value) {
  BurnTensor *failed = refused("fmod_scalar", BURN_OP_exp, x);
  if (failed) return failed;
  if (isinf(value)) return x;
  BurnTensor *rhs = number_like(x, burn_attr_f64(value));
  return burn_fmod(x, rhs);
}

BurnTensor *burn_powi_scalar(BurnTensor *x, int64_t exponent) {
  BurnTensor *failed = refused("powi_scalar", BURN_OP_neg, x);
  if (failed) return failed;
  if (burn_dtype_kind(burn_dtype(x)) == BURN_KIND_FLOAT) return burn_powf_scalar(x, (double)exponent);
  BurnTensor *rhs = whole_like(x, BURN_DTYPE_I64, exponent);
  return burn_powi(x, rhs);
}

/* -- bits ------------------------------------------------------------------------------------- */

static BurnTensor *bitwise_scalar(const char *name, uint32_t op, BurnTensor *x, int64_t value) {
  BurnTensor *failed = refused(name, BURN_OP_bitwise_not, x);
  if (failed) return failed;
  BurnTensor *const inputs[] = {x, whole_like(x, burn_dtype(x), value)};
  return burn__apply(op, inputs, 2, NULL, 0);
}

#define BITWISE_SCALAR(name)                                          \
  BurnTensor *burn_##name##_scalar(BurnTensor *x, int64_t value) {    \
    return bitwise_scalar(#name "_scalar", BURN_OP_##name, x, value); \
  }
BITWISE_SCALAR(bitwise_and)
BITWISE_SCALAR(bitwise_or)
BITWISE_SCALAR(bitwise_xor)

/* A count that shifts everything out stays one in a dtype that is too narrow for it. */
static int64_t shift_count(int64_t count) { return count < 0 || count > INT8_MAX ? INT8_MAX : count; }

BurnTensor *burn_bitwise_left_shift_scalar(BurnTensor *x, int64_t count) {
  return bitwise_scalar("bitwise_left_shift_scalar", BURN_OP_bitwise_left_shift, x, shift_count(count));
}
BurnTensor *burn_bitwise_right_shift_scalar(BurnTensor *x, int64_t count) {
  return bitwise_scalar("bitwise_right_shift_scalar", BURN_OP_bitwise_right_shift, x, shift_count(count));
}

/* -- angles ----------------------------------------------------------------------------------- */

BurnTensor *burn_deg2rad(BurnTensor *x) {
  BurnTensor *failed = refused("deg2rad", BURN_OP_exp, x);
  return failed ? failed : burn_mul_scalar(x, 0.017453292519943295769);
}

BurnTensor *burn_rad2deg(BurnTensor *x) {
  BurnTensor *failed = refused("rad2deg", BURN_OP_exp, x);
  return failed ? failed : burn_mul_scalar(x, 57.295779513082320877);
}

/* -- tests ------------------------------------------------------------------------------------ */

BurnTensor *burn_contains_nan(BurnTensor *x) {
  BurnTensor *failed = refused("contains_nan", BURN_OP_is_nan, x);
  return failed ? failed : burn_any(burn_is_nan(x));
}

static BurnStatus check_close(const char *user, BurnTensor *const pair[2], double rtol, double atol) {
  const BurnStatus status = check_as(user, BURN_OP_sub, pair, 2);
  if (status != BURN_OK || (rtol >= 0 && atol >= 0)) return status;
  return BURN_FAIL(INVALID_ARGUMENT, "%s: rtol %g and atol %g; neither may be negative", user, rtol, atol);
}

/* equal, or a finite distance within the tolerance; so infinities are close to themselves only, and NaN to nothing. */
static BurnTensor *close(const char *user, BurnTensor *lhs, BurnTensor *rhs, double rtol, double atol) {
  BurnTensor *const pair[] = {lhs, rhs};
  const BurnStatus status = check_close(user, pair, rtol, atol);
  if (status != BURN_OK) {
    burn__tensor_take_all(pair, 2, user);
    return burn__tensor_failed(status);
  }
  BurnTensor *equal = burn_equal(burn_clone(lhs), burn_clone(rhs));
  if (burn_dtype_kind(burn_dtype(lhs)) == BURN_KIND_INT) {
    lhs = burn_cast(lhs, BURN_DTYPE_F64);
    rhs = burn_cast(rhs, BURN_DTYPE_F64);
  }
  BurnTensor *allowed = burn_add_scalar(burn_mul_scalar(burn_abs(burn_clone(rhs)), rtol), atol);
  BurnTensor *distance = burn_abs(burn_sub(lhs, rhs));
  BurnTensor *finite = burn_is_finite(burn_clone(distance));
  return burn_bool_or(equal, burn_bool_and(finite, burn_lower_equal(distance, allowed)));
}

BurnTensor *burn_is_close(BurnTensor *lhs, BurnTensor *rhs, double rtol, double atol) {
  return close("is_close", lhs, rhs, rtol, atol);
}
BurnTensor *burn_all_close(BurnTensor *lhs, BurnTensor *rhs, double rtol, double atol) {
  return burn_all(close("all_close", lhs, rhs, rtol, atol));
}
