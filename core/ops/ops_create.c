/* ops_create.c - public ops that make tensors: values, random numbers, masks. */
#include "ops_internal.h"

#include <burn/plugin/random.h>

#include <math.h>

/* -- values ----------------------------------------------------------------------------------- */

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

/* -- random numbers --------------------------------------------------------------------------- */

uint64_t burn__random_offset(BurnDevice *device, int64_t count) {
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
                            burn_attr_i64((int64_t)burn__random_offset(device, count)), first, second};
  return burn__create(device, op, shape, dtype, attrs, 2 + parameter_count);
}

/* What rounds to infinity in a float dtype. */
static double float_end(BurnDType dtype) {
  switch (dtype) {
    case BURN_DTYPE_F16:
      return 65520;
    case BURN_DTYPE_BF16:
      return 0x1.ffp127;
    case BURN_DTYPE_F32:
      return 0x1.ffffffp127;
    default:
      return (double)INFINITY;
  }
}

/* Each result is low + u * (high - low), in f32 for narrow floats: where a part of it is infinite, all would be low. */
static BurnStatus check_uniform_floats(BurnDType dtype, double low, double high) {
  const double end = float_end(dtype), widest = float_end(dtype == BURN_DTYPE_F64 ? dtype : BURN_DTYPE_F32);
  if (burn_dtype_kind(dtype) != BURN_KIND_FLOAT || (-end < low && high < end && high - low < widest)) return BURN_OK;
  return BURN_FAIL(INVALID_ARGUMENT, "random_uniform: the range %g .. %g overflows %s", low, high,
                   burn_dtype_name(dtype));
}

BurnTensor *burn_random_uniform(BurnDevice *device, BurnShape shape, BurnDType dtype, double low, double high) {
  if (!(low <= high))
    return burn__tensor_failed(BURN_FAIL(INVALID_ARGUMENT, "random_uniform: low %g is above high %g", low, high));
  const BurnDType resolved = dtype ? dtype : burn_device_float_dtype(device);
  if (burn_dtype_kind(resolved) == BURN_KIND_INT && high - low > 4294967296.0) {
    return burn__tensor_failed(
        BURN_FAIL(INVALID_ARGUMENT, "random_uniform: the range %g .. %g is wider than 2^32", low, high));
  }
  const BurnStatus status = check_uniform_floats(resolved, low, high);
  if (status != BURN_OK) return burn__tensor_failed(status);
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
  const BurnStatus status = check_uniform_floats(resolved, (double)low, (double)high);
  if (status != BURN_OK) return burn__tensor_failed(status);
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

/* -- like another tensor, by place ------------------------------------------------------------ */

/* Takes x: a new tensor of its shape and dtype. */
#define LIKE(name, suffix, parameters, ...)                                          \
  BurnTensor *burn_##name##_like##suffix parameters {                                \
    const BurnStatus status = burn__tensor_check(x, #name "_like");                  \
    if (status != BURN_OK) return fail(x, #name "_like", status);                    \
    BurnTensor *result = burn_##name##suffix(x->device, burn_shape(x), __VA_ARGS__); \
    burn__tensor_take(x, #name "_like");                                             \
    return result;                                                                   \
  }
LIKE(empty, , (BurnTensor * x), burn_dtype(x))
LIKE(random_uniform, , (BurnTensor * x, double low, double high), burn_dtype(x), low, high)
LIKE(random_uniform, _i64, (BurnTensor * x, int64_t low, int64_t high), burn_dtype(x), low, high)
LIKE(random_normal, , (BurnTensor * x, double mean, double std), burn_dtype(x), mean, std)
LIKE(random_bernoulli, , (BurnTensor * x, double prob), burn_dtype(x), prob)

/* 0 .. size-1 along axis `axis` of `rank` axes; the others have size 1. */
static BurnTensor *places(BurnDevice *device, int64_t size, uint32_t axis, uint32_t rank) {
  BurnShape shape = {rank, {0}};
  for (uint32_t i = 0; i < rank; i++) shape.dims[i] = i == axis ? size : 1;
  return burn__reshape_to(burn__places(device, size), shape);
}

BurnTensor *burn_cartesian_grid(BurnDevice *device, BurnShape shape) {
  if (shape.rank < 1 || shape.rank >= BURN_MAX_RANK) {
    return burn__tensor_failed(
        BURN_FAIL(INVALID_SHAPE, "cartesian_grid: rank %u is not in 1..%u", shape.rank, BURN_MAX_RANK - 1));
  }
  BurnTensor *axes[BURN_MAX_RANK];
  for (uint32_t i = 0; i < shape.rank; i++) axes[i] = burn_expand(places(device, shape.dims[i], i, shape.rank), shape);
  return burn_stack(axes, shape.rank, -1);
}

/* `compare` of column and row + offset. */
static BurnTensor *place_mask(BurnDevice *device, BurnShape shape, int64_t offset, const char *user,
                              BurnTensor *(*compare)(BurnTensor *, BurnTensor *)) {
  const uint32_t rank = shape.rank;
  if (rank < 2 || rank > BURN_MAX_RANK) {
    return burn__tensor_failed(BURN_FAIL(INVALID_SHAPE, "%s: rank %u is not in 2..%u", user, rank, BURN_MAX_RANK));
  }
  offset = burn__near_diagonal(offset, shape.dims[rank - 2], shape.dims[rank - 1]);
  BurnTensor *rows = burn_add_scalar(places(device, shape.dims[rank - 2], rank - 2, rank), (double)offset);
  return burn_expand(compare(places(device, shape.dims[rank - 1], rank - 1, rank), rows), shape);
}
BurnTensor *burn_triu_mask(BurnDevice *device, BurnShape shape, int64_t offset) {
  return place_mask(device, shape, offset, "triu_mask", burn_lower);
}
BurnTensor *burn_tril_mask(BurnDevice *device, BurnShape shape, int64_t offset) {
  return place_mask(device, shape, offset, "tril_mask", burn_greater);
}
BurnTensor *burn_diag_mask(BurnDevice *device, BurnShape shape, int64_t offset) {
  return place_mask(device, shape, offset, "diag_mask", burn_not_equal);
}
