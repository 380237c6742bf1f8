/* ops.c - the public ops that are one row of ops.def each, by signature. Those made of several rows, or whose arguments
 * need resolving first, are in ops_elementwise.c, ops_shape.c and ops_layers.c. */
#include "core_internal.h"

#include <burn/ops_optimizer.h>
#include <burn/plugin/random.h>

/* -- creation --------------------------------------------------------------------------------- */

BurnTensor *burn__full(BurnDevice *device, BurnShape shape, BurnDType dtype, BurnAttr value) {
  return burn__create(device, BURN_OP_full, shape, dtype, &value, 1);
}
BurnTensor *burn_full(BurnDevice *device, BurnShape shape, BurnDType dtype, double value) {
  return burn__full(device, shape, dtype, burn_attr_f64(value));
}
BurnTensor *burn_full_i64(BurnDevice *device, BurnShape shape, BurnDType dtype, int64_t value) {
  return burn__full(device, shape, dtype, burn_attr_i64(value));
}
BurnTensor *burn_zeros(BurnDevice *device, BurnShape shape, BurnDType dtype) {
  return burn_full(device, shape, dtype, 0);
}
BurnTensor *burn_ones(BurnDevice *device, BurnShape shape, BurnDType dtype) {
  return burn_full(device, shape, dtype, 1);
}

BurnTensor *burn__full_like(BurnTensor *x, BurnAttr value) {
  const BurnStatus status = burn__tensor_check(x, "full_like");
  BurnTensor *result =
      status == BURN_OK ? burn__full(x->device, burn_shape(x), burn_dtype(x), value) : burn__tensor_failed(status);
  burn__tensor_take(x, "full_like");
  return result;
}
BurnTensor *burn_full_like(BurnTensor *x, double value) { return burn__full_like(x, burn_attr_f64(value)); }
BurnTensor *burn_full_like_i64(BurnTensor *x, int64_t value) { return burn__full_like(x, burn_attr_i64(value)); }
BurnTensor *burn_zeros_like(BurnTensor *x) { return burn_full_like(x, 0); }
BurnTensor *burn_ones_like(BurnTensor *x) { return burn_full_like(x, 1); }

BurnTensor *burn_arange(BurnDevice *device, int64_t start, int64_t end, int64_t step) {
  if (step < 1)
    return burn__tensor_failed(BURN_FAIL(INVALID_ARGUMENT, "arange: step %lld is not positive", (long long)step));
  const uint64_t span = end > start ? (uint64_t)end - (uint64_t)start : 0;
  const BurnShape shape = BURN_SHAPE((int64_t)(span / (uint64_t)step + (span % (uint64_t)step != 0)));
  const BurnAttr attrs[] = {burn_attr_i64(start), burn_attr_i64(step)};
  return burn__create(device, BURN_OP_arange, shape, burn_device_int_dtype(device), attrs, 2);
}

BurnTensor *burn__places(BurnDevice *device, int64_t count) {
  const BurnAttr attrs[] = {burn_attr_i64(0), burn_attr_i64(1)};
  return burn__create(device, BURN_OP_arange, BURN_SHAPE(count), burn__device_index_dtype(device), attrs, 2);
}

BurnTensor *burn_eye(BurnDevice *device, int64_t size, BurnDType dtype) {
  return burn__create(device, BURN_OP_eye, BURN_SHAPE(size, size), dtype, NULL, 0);
}

/* Hands out the blocks of random numbers that `count` elements need; two threads never get the same ones. */
static uint64_t random_offset(BurnDevice *device, int64_t count) {
  return atomic_fetch_add(&device->offset, burn_random_blocks(count > 0 ? (uint64_t)count : 0));
}

static BurnTensor *random(BurnDevice *device, uint32_t op, BurnShape shape, BurnDType dtype, BurnAttr first,
                          BurnAttr second, uint32_t parameter_count) {
  const BurnStatus status = burn__device_status(device);
  if (status != BURN_OK) return burn__tensor_failed(status);
  int64_t count = shape.rank > 0 && shape.rank <= BURN_MAX_RANK;
  for (uint32_t i = 0; i < shape.rank && i < BURN_MAX_RANK; i++) {
    if (shape.dims[i] < 0 || (shape.dims[i] > 0 && count > INT64_MAX / shape.dims[i])) {
      count = 0; /* the shape rule will say what is wrong */
      break;
    }
    count *= shape.dims[i];
  }
  const BurnAttr attrs[] = {burn_attr_i64((int64_t)atomic_load(&device->seed)),
                            burn_attr_i64((int64_t)random_offset(device, count)), first, second};
  return burn__create(device, op, shape, dtype, attrs, 2 + parameter_count);
}

BurnTensor *burn_random_uniform(BurnDevice *device, BurnShape shape, BurnDType dtype, double low, double high) {
  if (!(low <= high))
    return burn__tensor_failed(BURN_FAIL(INVALID_ARGUMENT, "random_uniform: low %g is above high %g", low, high));
  const BurnDType resolved = dtype ? dtype : burn_device_float_dtype(device);
  if (burn_dtype_kind(resolved) == BURN_KIND_INT && high - low > 4294967296.0) {
    return burn__tensor_failed(
        BURN_FAIL(INVALID_ARGUMENT, "random_uniform: the range %g .. %g is wider than 2^32", low, high));
  }
  return random(device, BURN_OP_random_uniform, shape, dtype, burn_attr_f64(low), burn_attr_f64(high), 2);
}
BurnTensor *burn_random_uniform_i64(BurnDevice *device, BurnShape shape, BurnDType dtype, int64_t low, int64_t high) {
  const BurnDType resolved = dtype ? dtype : burn_device_float_dtype(device);
  const bool is_wide = burn_dtype_kind(resolved) == BURN_KIND_INT && (uint64_t)high - (uint64_t)low > UINT64_C(1) << 32;
  if (low > high || is_wide) {
    return burn__tensor_failed(BURN_FAIL(INVALID_ARGUMENT, "random_uniform: %s: %lld .. %lld",
                                         low > high ? "low is above high" : "the range is wider than 2^32",
                                         (long long)low, (long long)high));
  }
  return random(device, BURN_OP_random_uniform, shape, dtype, burn_attr_i64(low), burn_attr_i64(high), 2);
}
BurnTensor *burn_random_normal(BurnDevice *device, BurnShape shape, BurnDType dtype, double mean, double std) {
  if (!(std >= 0)) return burn__tensor_failed(BURN_FAIL(INVALID_ARGUMENT, "random_normal: std %g is negative", std));
  return random(device, BURN_OP_random_normal, shape, dtype, burn_attr_f64(mean), burn_attr_f64(std), 2);
}
BurnTensor *burn_random_bernoulli(BurnDevice *device, BurnShape shape, BurnDType dtype, double prob) {
  if (!(prob >= 0 && prob <= 1))
    return burn__tensor_failed(BURN_FAIL(INVALID_ARGUMENT, "random_bernoulli: prob %g is not in 0..1", prob));
  return random(device, BURN_OP_random_bernoulli, shape, dtype, burn_attr_f64(prob), burn_attr_f64(0), 1);
}

BurnTensor *burn_dropout(BurnTensor *x, double prob) {
  BurnStatus status = burn__tensor_check(x, "dropout");
  if (status == BURN_OK && !(prob >= 0 && prob <= 1))
    status = BURN_FAIL(INVALID_ARGUMENT, "dropout: prob %g is not in 0..1", prob);
  if (status != BURN_OK) {
    burn__tensor_take(x, "dropout");
    return burn__tensor_failed(status);
  }
  BurnDevice *device = x->device;
  const BurnAttr attrs[] = {burn_attr_f64(prob), burn_attr_i64((int64_t)atomic_load(&device->seed)),
                            burn_attr_i64((int64_t)random_offset(device, burn_element_count(x)))};
  return burn__apply(BURN_OP_dropout, &x, 1, attrs, 3);
}

/* -- by signature ----------------------------------------------------------------------------- */

#define UNARY(name) \
  BurnTensor *burn_##name(BurnTensor *x) { return burn__apply(BURN_OP_##name, &x, 1, NULL, 0); }
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
UNARY(sum)
UNARY(mean)
UNARY(prod)
UNARY(max)
UNARY(min)
UNARY(any)
UNARY(all)

#define BINARY(name)                                          \
  BurnTensor *burn_##name(BurnTensor *lhs, BurnTensor *rhs) { \
    BurnTensor *const inputs[] = {lhs, rhs};                  \
    return burn__apply(BURN_OP_##name, inputs, 2, NULL, 0);   \
  }
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
BINARY(matmul)

BurnTensor *burn_embedding(BurnTensor *weight, BurnTensor *indices) {
  BurnTensor *const inputs[] = {weight, indices};
  return burn__apply(BURN_OP_embedding, inputs, 2, NULL, 0);
}
BurnTensor *burn_mse(BurnTensor *x, BurnTensor *target) {
  return burn__apply(BURN_OP_mse, (BurnTensor *const[]){x, target}, 2, NULL, 0);
}

BurnTensor *burn_cross_entropy(BurnTensor *logits, BurnTensor *targets) {
  BurnTensor *const inputs[] = {logits, targets};
  return burn__apply(BURN_OP_cross_entropy, inputs, 2, NULL, 0);
}

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

#define TRIANGLE(name)                                       \
  BurnTensor *burn_##name(BurnTensor *x, int64_t diagonal) { \
    const BurnAttr attr = burn_attr_i64(diagonal);           \
    return burn__apply(BURN_OP_##name, &x, 1, &attr, 1);     \
  }
TRIANGLE(triu)
TRIANGLE(tril)

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

BurnTensor *burn_mask_where(BurnTensor *x, BurnTensor *mask, BurnTensor *value) {
  BurnTensor *const inputs[] = {x, mask, value};
  return burn__apply(BURN_OP_mask_where, inputs, 3, NULL, 0);
}

static BurnTensor *mask_fill(BurnTensor *x, BurnTensor *mask, BurnAttr value) {
  BurnTensor *const inputs[] = {x, mask};
  return burn__apply(BURN_OP_mask_fill, inputs, 2, &value, 1);
}
BurnTensor *burn_mask_fill(BurnTensor *x, BurnTensor *mask, double value) {
  return mask_fill(x, mask, burn_attr_f64(value));
}
BurnTensor *burn_mask_fill_i64(BurnTensor *x, BurnTensor *mask, int64_t value) {
  return mask_fill(x, mask, burn_attr_i64(value));
}

void burn_adam_step(BurnTensor *param, BurnTensor *gradient, BurnTensor *moment_1, BurnTensor *moment_2, double beta_1,
                    double beta_2, double step_size, double epsilon, double decay, double penalty, BurnTensor *out[3]) {
  BurnTensor *const inputs[] = {param, gradient, moment_1, moment_2};
  const BurnAttr attrs[] = {burn_attr_f64(beta_1),  burn_attr_f64(beta_2), burn_attr_f64(step_size),
                            burn_attr_f64(epsilon), burn_attr_f64(decay),  burn_attr_f64(penalty)};
  burn__apply_outputs(BURN_OP_adam_step, inputs, 4, attrs, 6, out, 3);
}

void burn_sgd_step(BurnTensor *param, BurnTensor *gradient, BurnTensor *velocity, double step_size, double momentum,
                   double dampening, bool nesterov, double penalty, BurnTensor *out[2]) {
  BurnTensor *const inputs[] = {param, gradient, velocity};
  const BurnAttr attrs[] = {burn_attr_f64(step_size), burn_attr_f64(momentum), burn_attr_f64(dampening),
                            burn_attr_bool(nesterov), burn_attr_f64(penalty)};
  burn__apply_outputs(BURN_OP_sgd_step, inputs, 3, attrs, 5, out, 2);
}
