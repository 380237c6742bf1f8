/* reference_tensor.c - tensors and their elements: memory, every dtype read as f64 or i64 and written back, places. */
#include "reference_internal.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Header, shape and elements in one allocation. */
typedef struct ReferenceTensor {
  BurnPrimitive header;
  atomic_uint references;
  uint64_t bytes; /* of this allocation */
  int64_t shape[BURN_MAX_RANK], strides[BURN_MAX_RANK];
  _Alignas(64) unsigned char data[];
} ReferenceTensor;

/* -- memory ----------------------------------------------------------------------------------- */

static void count_bytes(Reference *reference, int64_t bytes) {
  const int64_t now = atomic_fetch_add(&reference->live_bytes, bytes) + bytes;
  int64_t peak = atomic_load(&reference->peak_bytes);
  while (now > peak && !atomic_compare_exchange_weak(&reference->peak_bytes, &peak, now)) {
  }
  atomic_fetch_add(&reference->live_tensors, bytes > 0 ? 1 : -1);
}

BurnPrimitive *reference_new(Reference *reference, const BurnTensorDesc *desc) {
  const uint64_t data_bytes = (uint64_t)burn_desc_count(desc) * burn_dtype_bytes(desc->dtype);
  const uint64_t bytes = sizeof(ReferenceTensor) + data_bytes;
  ReferenceTensor *x = bytes < data_bytes ? NULL : reference->host->allocate(bytes);
  if (!x) return NULL;
  memset(x, 0, (size_t)bytes);
  atomic_init(&x->references, 1u);
  x->bytes = bytes;
  int64_t stride = 1;
  for (uint32_t i = desc->rank; i-- > 0;) {
    x->shape[i] = desc->shape[i];
    x->strides[i] = stride;
    if (desc->shape[i] > 0) stride *= desc->shape[i];
  }
  x->header.struct_size = sizeof(BurnPrimitive);
  x->header.flags = BURN_PRIMITIVE_HOST_MEMORY;
  x->header.owner = reference->owner;
  x->header.dtype = desc->dtype;
  x->header.rank = desc->rank;
  x->header.shape = x->shape;
  x->header.strides = x->strides;
  x->header.buffer = x->data;
  count_bytes(reference, (int64_t)bytes);
  return &x->header;
}

void reference_retain(BurnPrimitive *x) { atomic_fetch_add(&((ReferenceTensor *)(void *)x)->references, 1u); }

void reference_release(Reference *reference, BurnPrimitive *x) {
  ReferenceTensor *tensor = (ReferenceTensor *)(void *)x;
  if (!x || atomic_fetch_sub(&tensor->references, 1u) != 1) return;
  count_bytes(reference, -(int64_t)tensor->bytes);
  reference->host->free(tensor, tensor->bytes);
}

BurnPrimitive *reference_wide(Reference *reference, const BurnPrimitive *like) {
  BurnTensorDesc desc = burn_primitive_desc(like);
  desc.dtype = reference_is_float(like) ? BURN_DTYPE_F64 : BURN_DTYPE_I64;
  return reference_new(reference, &desc);
}

void reference_narrow(Reference *reference, BurnPrimitive *wide, BurnPrimitive *to) {
  const int64_t count = burn_primitive_count(to);
  for (int64_t i = 0; i < count; i++) {
    if (reference_is_float(to)) {
      reference_put_float(to, i, reference_get_float(wide, i));
    } else {
      reference_put_integer(to, i, reference_get_integer(wide, i));
    }
  }
  reference_release(reference, wide);
}

/* -- 16-bit floats: a sign, an exponent, a fraction ------------------------------------------- */

typedef struct HalfFormat {
  int fraction_bits, bias;
} HalfFormat;
static const HalfFormat f16 = {10, 15}, bf16 = {7, 127};

static double half_to_real(HalfFormat format, uint16_t bits) {
  const int most = 2 * format.bias + 1, unit = 1 - format.bias - format.fraction_bits;
  const int exponent = (bits & 0x7fff) >> format.fraction_bits, fraction = bits & ((1 << format.fraction_bits) - 1);
  double size =
      exponent == 0 ? ldexp(fraction, unit) : ldexp(fraction + (1 << format.fraction_bits), exponent - 1 + unit);
  if (exponent == most) size = fraction ? (double)NAN : (double)INFINITY;
  return bits & 0x8000 ? -size : size;
}

/* Nearest, ties to even. Counts in units of the last place: a count that reaches the next exponent carries into it. */
static uint16_t half_from_real(HalfFormat format, double value) {
  const uint16_t sign = signbit(value) ? 0x8000 : 0;
  const uint32_t infinity = (uint32_t)(2 * format.bias + 1) << format.fraction_bits;
  if (isnan(value)) return (uint16_t)(sign | infinity | (1u << (format.fraction_bits - 1)));
  if (isinf(value)) return (uint16_t)(sign | infinity);
  int exponent;
  frexp(value, &exponent);
  if (exponent > format.bias + 2) return (uint16_t)(sign | infinity);
  exponent = value == 0 || exponent - 1 < 1 - format.bias ? 1 - format.bias : exponent - 1;
  const uint32_t units = (uint32_t)rint(ldexp(fabs(value), format.fraction_bits - exponent));
  const uint32_t bits = ((uint32_t)(exponent + format.bias - 1) << format.fraction_bits) + units;
  return (uint16_t)(sign | (bits < infinity ? bits : infinity));
}

/* An integer as f64 that still rounds right to fewer than 40 bits: bits that do not fit leave a trace in the last.
 */
static double sticky_real(int64_t value) {
  const uint64_t size = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
  const double real = size >> 53 ? ldexp((double)(size >> 11 | ((size & 2047) != 0)), 11) : (double)size;
  return value < 0 ? -real : real;
}

/* -- elements --------------------------------------------------------------------------------- */

#define ELEMENT(x, type) ((type *)(x)->buffer)[i]

int64_t reference_get_integer(const BurnPrimitive *x, int64_t i) {
  switch (x->dtype) {
    case BURN_DTYPE_I8:
      return ELEMENT(x, const int8_t);
    case BURN_DTYPE_I16:
      return ELEMENT(x, const int16_t);
    case BURN_DTYPE_I32:
      return ELEMENT(x, const int32_t);
    case BURN_DTYPE_I64:
      return ELEMENT(x, const int64_t);
    default:
      return ELEMENT(x, const uint8_t);
  }
}

double reference_get_float(const BurnPrimitive *x, int64_t i) {
  switch (x->dtype) {
    case BURN_DTYPE_F16:
      return half_to_real(f16, ELEMENT(x, const uint16_t));
    case BURN_DTYPE_BF16:
      return half_to_real(bf16, ELEMENT(x, const uint16_t));
    case BURN_DTYPE_F32:
      return (double)ELEMENT(x, const float);
    case BURN_DTYPE_F64:
      return ELEMENT(x, const double);
    default:
      return (double)reference_get_integer(x, i);
  }
}

void reference_put_integer(BurnPrimitive *x, int64_t i, int64_t value) {
  switch (x->dtype) {
    case BURN_DTYPE_BOOL:
      ELEMENT(x, uint8_t) = value != 0;
      break;
    case BURN_DTYPE_U8:
      ELEMENT(x, uint8_t) = (uint8_t)value;
      break;
    case BURN_DTYPE_I8:
      ELEMENT(x, int8_t) = (int8_t)value;
      break;
    case BURN_DTYPE_I16:
      ELEMENT(x, int16_t) = (int16_t)value;
      break;
    case BURN_DTYPE_I32:
      ELEMENT(x, int32_t) = (int32_t)value;
      break;
    case BURN_DTYPE_I64:
      ELEMENT(x, int64_t) = value;
      break;
    case BURN_DTYPE_F16:
      ELEMENT(x, uint16_t) = half_from_real(f16, sticky_real(value));
      break;
    case BURN_DTYPE_BF16:
      ELEMENT(x, uint16_t) = half_from_real(bf16, sticky_real(value));
      break;
    case BURN_DTYPE_F32:
      ELEMENT(x, float) = (float)value;
      break;
    default:
      ELEMENT(x, double) = (double)value;
      break;
  }
}

void reference_put_float(BurnPrimitive *x, int64_t i, double value) {
  switch (x->dtype) {
    case BURN_DTYPE_F16:
      ELEMENT(x, uint16_t) = half_from_real(f16, value);
      break;
    case BURN_DTYPE_BF16:
      ELEMENT(x, uint16_t) = half_from_real(bf16, value);
      break;
    case BURN_DTYPE_F32:
      ELEMENT(x, float) = (float)value;
      break;
    case BURN_DTYPE_F64:
      ELEMENT(x, double) = value;
      break;
    case BURN_DTYPE_BOOL:
      ELEMENT(x, uint8_t) = value != 0;
      break; /* NaN is not 0 */
    default: {
      const BurnAttr number = burn_attr_f64(value);
      reference_put_integer(x, i, reference_saturate(x->dtype, &number));
    }
  }
}

void reference_put_number(BurnPrimitive *x, int64_t i, const BurnAttr *number) {
  if (burn_dtype_kind(x->dtype) == BURN_KIND_INT) {
    reference_put_integer(x, i, reference_saturate(x->dtype, number));
  } else {
    reference_put_float(x, i, burn_attr_to_f64(number));
  }
}

double reference_round(BurnDType dtype, double value) {
  double room = 0;
  BurnPrimitive element = {.dtype = dtype, .buffer = &room};
  reference_put_float(&element, 0, value);
  return reference_get_float(&element, 0);
}

int64_t reference_saturate(BurnDType dtype, const BurnAttr *number) {
  const uint32_t bits = 8 * burn_dtype_bytes(dtype);
  const bool is_signed = dtype != BURN_DTYPE_U8 && dtype != BURN_DTYPE_BOOL;
  const int64_t highest = is_signed ? (int64_t)(UINT64_MAX >> (65 - bits)) : 255, lowest = is_signed ? -highest - 1 : 0;
  const int64_t whole = burn_attr_to_i64(number);
  return whole < lowest ? lowest : whole > highest ? highest : whole;
}

void reference_copy(BurnPrimitive *to, int64_t to_index, const BurnPrimitive *from, int64_t from_index) {
  const int64_t bytes = burn_dtype_bytes(to->dtype);
  memcpy((char *)to->buffer + to_index * bytes, (const char *)from->buffer + from_index * bytes, (size_t)bytes);
}

/* -- places ----------------------------------------------------------------------------------- */

int64_t reference_place(const BurnPrimitive *x, int64_t i, const int64_t *steps) {
  int64_t place = 0;
  for (uint32_t axis = x->rank; axis-- > 0;) {
    place += i % x->shape[axis] * steps[axis];
    i /= x->shape[axis];
  }
  return place;
}

void reference_broadcast(const BurnPrimitive *x, int64_t *steps) {
  for (uint32_t axis = 0; axis < x->rank; axis++) steps[axis] = x->shape[axis] == 1 ? 0 : x->strides[axis];
}

ReferenceAxis reference_axis(const BurnPrimitive *x, int64_t dim) {
  ReferenceAxis axis = {1, x->shape[dim], 1};
  for (int64_t i = 0; i < dim; i++) axis.outer *= x->shape[i];
  for (int64_t i = dim + 1; i < (int64_t)x->rank; i++) axis.inner *= x->shape[i];
  return axis;
}

BurnStatus reference_fail(const ReferenceRun *run, uint32_t code, const char *format, ...) {
  const BurnHost *host = run->reference->host;
  va_list arguments;
  va_start(arguments, format);
  const BurnStatus status =
      burn_common_fail_list(host, code, __FILE__, __LINE__, host->op_info(run->call->op)->name, format, arguments);
  va_end(arguments);
  return status;
}
