/* onnx_narrow.c - dtypes of ONNX that the backends do not have: unsigned integers of 16 and 32 bits, integers of 4 and
 * 2 bits, floats of 8 and 4.
 *
 * Their values live in a wider dtype that holds each of them exactly, and a number beside the tensor says what it is in
 * ONNX. Operators that only move or compare values work as they are; after arithmetic the result is brought back to the
 * range, modulo 2^bits, which is exact since the wider integers wrap around too. Others refuse such inputs.
 * Of u64, i64 has the bits and not the values: only operators for which these are the same take it. */
#include "onnx_narrow.h"

#include "onnx_strings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Floats: bits of the mantissa, exponent of the smallest normal number, and what there is besides numbers. */
typedef struct FloatFormat {
  int mantissa, exponent;
  bool infinite; /* e5m2: the last exponent is infinity and NaN; else only one pattern is NaN */
  bool nan;
} FloatFormat;

typedef struct Narrow {
  int32_t type; /* ONNX's number */
  BurnDType dtype;
  unsigned bits;
  bool is_signed;
  double low, high; /* the range; of floats, of the numbers */
  FloatFormat format;
} Narrow;

static const Narrow narrows[] = {
    {ONNX_UINT16, BURN_DTYPE_I32, 16, false, 0, 65535, {0, 0, false, false}},
    {ONNX_UINT32, BURN_DTYPE_I64, 32, false, 0, 4294967295.0, {0, 0, false, false}},
    {ONNX_UINT64, BURN_DTYPE_I64, 64, false, 0, 18446744073709551615.0, {0, 0, false, false}},
    {ONNX_UINT4, BURN_DTYPE_I8, 4, false, 0, 15, {0, 0, false, false}},
    {ONNX_INT4, BURN_DTYPE_I8, 4, true, -8, 7, {0, 0, false, false}},
    {ONNX_UINT2, BURN_DTYPE_I8, 2, false, 0, 3, {0, 0, false, false}},
    {ONNX_INT2, BURN_DTYPE_I8, 2, true, -2, 1, {0, 0, false, false}},
    {ONNX_FLOAT8E4M3FN, BURN_DTYPE_F32, 8, true, -448, 448, {3, -6, false, true}},
    {ONNX_FLOAT8E4M3FNUZ, BURN_DTYPE_F32, 8, true, -240, 240, {3, -7, false, true}},
    {ONNX_FLOAT8E5M2, BURN_DTYPE_F32, 8, true, -57344, 57344, {2, -14, true, true}},
    {ONNX_FLOAT8E5M2FNUZ, BURN_DTYPE_F32, 8, true, -57344, 57344, {2, -15, false, true}},
    {ONNX_FLOAT4E2M1, BURN_DTYPE_F32, 4, true, -6, 6, {1, 0, false, false}},
};
enum { NARROWS = sizeof narrows / sizeof narrows[0] };

static const Narrow *find(int64_t type) {
  for (size_t i = 0; i < NARROWS; i++) {
    if (narrows[i].type == type) return &narrows[i];
  }
  return NULL;
}

static bool is_float(const Narrow *n) { return n->format.mantissa > 0; }

BurnDType onnx_narrow_dtype(int64_t type) {
  const Narrow *n = find(type);
  return n ? n->dtype : onnx_dtype(type);
}

/* -- from files -------------------------------------------------------------------------------- */

/* The number that `bits` of a float are: sign, exponent, mantissa. */
static double decode_float(const Narrow *n, uint32_t bits) {
  const int m = n->format.mantissa, exponents = 1 << ((int)n->bits - 1 - m);
  const uint32_t sign = bits >> (n->bits - 1), rest = bits & ((1u << (n->bits - 1)) - 1);
  const int exponent = (int)(rest >> m), fraction = (int)(rest & ((1u << m) - 1));
  const bool unsigned_zero = n->type == ONNX_FLOAT8E4M3FNUZ || n->type == ONNX_FLOAT8E5M2FNUZ;
  if (unsigned_zero && sign && rest == 0) return (double)NAN;
  if (n->format.infinite && exponent == exponents - 1)
    return fraction ? (double)NAN : sign ? -(double)INFINITY : (double)INFINITY;
  if (n->type == ONNX_FLOAT8E4M3FN && rest == 0x7f) return (double)NAN;
  const int power = n->format.exponent - m + (exponent ? exponent - 1 : 0);
  const double size = ldexp((double)(exponent ? fraction + (1 << m) : fraction), power);
  return sign ? -size : size;
}

static double decode(const Narrow *n, uint32_t bits) {
  if (is_float(n)) return decode_float(n, bits);
  const uint32_t sign = n->is_signed ? 1u << (n->bits - 1) : 0;
  return (double)bits - (bits & sign ? ldexp(1, (int)n->bits) : 0);
}

/* The bits of element i, packed from the low end of bytes; in lists, every byte or wider element is by itself. */
static uint32_t bits_at(const Onnx__TensorProto *proto, unsigned bits, size_t i) {
  uint32_t value = 0;
  const unsigned shift = bits < 8 ? (unsigned)(i * bits % 8) : 0;
  const size_t at = bits < 8 ? i * bits / 8 : i;
  if (proto->has_raw_data)
    memcpy(&value, proto->raw_data.data + at * (bits < 8 ? 1 : bits / 8), bits < 8 ? 1 : bits / 8);
  if (!proto->has_raw_data) value = bits == 32 ? (uint32_t)proto->uint64_data[at] : (uint32_t)proto->int32_data[at];
  return bits == 32 ? value : value >> shift & ((1u << bits) - 1);
}

static bool has_elements(const Onnx__TensorProto *proto, const Narrow *n, size_t count) {
  const size_t bytes = (count * n->bits + 7) / 8, listed = n->bits < 8 ? bytes : count;
  if (proto->has_raw_data) return proto->raw_data.len == bytes;
  return n->bits == 32 ? proto->n_uint64_data == count : proto->n_int32_data == listed;
}

/* The same message, said to be i64. */
static BurnTensor *bits_of_u64(BurnDevice *device, const Onnx__TensorProto *proto) {
  Onnx__TensorProto as_signed = *proto;
  as_signed.data_type = ONNX_INT64;
  as_signed.n_int64_data = proto->n_uint64_data;
  as_signed.int64_data = (int64_t *)proto->uint64_data;
  as_signed.n_uint64_data = 0;
  return onnx_tensor(device, &as_signed);
}

/* The number of elements; dims are checked in one place, for a dtype that is here. */
static BurnStatus count_elements(const Onnx__TensorProto *proto, size_t *count) {
  Onnx__TensorProto as_bytes = *proto;
  BurnDType dtype;
  as_bytes.data_type = ONNX_UINT8;
  return onnx_tensor_layout(&as_bytes, &dtype, count);
}

BurnStatus onnx_raw_bytes(const Onnx__TensorProto *proto, uint64_t *bytes) {
  const Narrow *n = find(proto->data_type);
  BurnDType dtype;
  size_t count = 0;
  const BurnStatus status = n ? count_elements(proto, &count) : onnx_tensor_layout(proto, &dtype, &count);
  if (status == BURN_OK) *bytes = n ? ((uint64_t)count * n->bits + 7) / 8 : (uint64_t)count * burn_dtype_bytes(dtype);
  return status;
}

BurnTensor *onnx_narrow_tensor(BurnDevice *device, const Onnx__TensorProto *proto) {
  const Narrow *n = find(proto->data_type);
  size_t count;
  if (!n) return onnx_tensor(device, proto);
  if (n->bits == 64) return bits_of_u64(device, proto);
  const BurnStatus status = count_elements(proto, &count);
  if (status != BURN_OK) return burn_tensor_failed(status);
  if (!has_elements(proto, n, count)) {
    return burn_tensor_failed(burn_status_make(
        BURN_STATUS_INVALID_ARGUMENT, "a tensor of %s does not have %zu elements", onnx_dtype_name(n->type), count));
  }
  double *values = calloc(count + 1, sizeof *values);
  if (!values) return burn_tensor_failed(burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "%zu elements", count));
  for (size_t i = 0; i < count; i++) values[i] = decode(n, bits_at(proto, n->bits, i));
  BurnTensor *x = burn_tensor_f64(device, values, onnx_shape(proto->dims, proto->n_dims));
  free(values);
  return burn_cast(x, n->dtype);
}

/* -- to the range ------------------------------------------------------------------------------- */

/* Modulo 2^bits. */
static BurnTensor *wrapped(const Narrow *n, BurnTensor *x) {
  if (n->bits == 64) return x;
  const int64_t half = n->is_signed ? (int64_t)1 << (n->bits - 1) : 0, mask = ((int64_t)1 << n->bits) - 1;
  if (half) x = burn_add_scalar_i64(x, half);
  x = burn_bitwise_and_scalar(x, mask);
  return half ? burn_sub_scalar_i64(x, half) : x;
}

/* The nearest number of the format, halves to even, whatever its exponent: a multiple of 2^(e - mantissa), where 2^e is
 * the power of two below x and not below the smallest normal number. The logarithm may miss e by one, which shows. */
static BurnTensor *rounded(const Narrow *n, BurnTensor *x) {
  const int least = n->format.exponent, most = (int)floor(log2(n->high)) + 1;
  const double unit = ldexp(1, least);
  BurnTensor *size = burn_abs(x);
  BurnTensor *e = burn_floor(burn_mul_scalar(burn_log(burn_clamp_min(burn_clone(size), unit)), 1 / log(2)));
  e = burn_cast(burn_clamp(burn_sub_scalar(e, least), 0, most - least), BURN_DTYPE_I64);
  BurnTensor *one = burn_full_i64(burn_tensor_device(e), burn_shape(e), BURN_DTYPE_I64, 1);
  BurnTensor *power = burn_mul_scalar(burn_cast(burn_bitwise_left_shift(one, e), BURN_DTYPE_F32), unit);
  BurnTensor *below = burn_lower(burn_clone(size), burn_clone(power));
  BurnTensor *above = burn_greater_equal(burn_clone(size), burn_mul_scalar(burn_clone(power), 2));
  power = burn_mask_where(power, below, burn_mul_scalar(burn_clone(power), 0.5));
  power = burn_mask_where(power, above, burn_mul_scalar(burn_clone(power), 2));
  power = burn_mul_scalar(burn_clamp_min(power, unit), ldexp(1, -n->format.mantissa));
  return burn_mul(burn_round(burn_div(size, burn_clone(power))), power);
}

/* A float of the format: beyond its range the largest if it saturates, else infinity or NaN. */
static BurnTensor *to_float(const Narrow *n, BurnTensor *x, bool saturate) {
  x = burn_cast(x, BURN_DTYPE_F32);
  BurnTensor *nan = burn_is_nan(burn_clone(x)), *negative = burn_lower_scalar(burn_clone(x), 0);
  BurnTensor *finite = burn_clamp(burn_mask_fill(x, burn_clone(nan), 0), 4 * n->low, 4 * n->high);
  BurnTensor *size = rounded(n, finite);
  BurnTensor *beyond = burn_greater_scalar(burn_clone(size), n->high);
  const double replaced = saturate || !n->format.nan ? n->high : n->format.infinite ? (double)INFINITY : (double)NAN;
  size = burn_mask_fill(size, beyond, replaced);
  BurnTensor *y = burn_mask_where(size, negative, burn_neg(burn_clone(size)));
  return burn_mask_fill(y, nan, n->format.nan ? (double)NAN : 0);
}

BurnTensor *onnx_cast_to(BurnTensor *x, int64_t type, bool saturate) {
  const Narrow *n = find(type);
  if (!n) return burn_cast(x, onnx_dtype(type));
  if (is_float(n)) return to_float(n, x, saturate);
  if (burn_dtype_kind(burn_dtype(x)) == BURN_KIND_FLOAT) x = burn_trunc(x);
  return burn_cast(wrapped(n, burn_cast(x, BURN_DTYPE_I64)), n->dtype);
}

BurnTensor *onnx_quantize_to(BurnTensor *x, int64_t type, bool saturate) {
  const Narrow *n = find(type);
  if (!n || is_float(n)) return onnx_cast_to(x, type, saturate);
  return burn_cast(burn_clamp(x, n->low, n->high), n->dtype);
}

/* -- operators ----------------------------------------------------------------------------------- */

int32_t onnx_input_type(const OnnxNode *node, size_t i) {
  if (!onnx_has_input(node, i)) return 0;
  if (node->types[i]) return node->types[i];
  for (int32_t type = 1; type < ONNX_TYPES; type++) {
    if (onnx_dtype(type) == burn_dtype(node->inputs[i])) return type;
  }
  return 0;
}

void onnx_give_type(OnnxNode *node, size_t i, BurnTensor *x, int64_t type) {
  onnx_give(node, i, x);
  if (onnx_wants_output(node, i)) node->output_types[i] = find(type) ? (int32_t)type : 0;
}

static bool saturates(const OnnxNode *node) { return onnx_int(node, "saturate", 1) != 0; }

static void cast(OnnxNode *node, int64_t type) {
  if (node->strings[0] || type == ONNX_STRING) {
    onnx_cast_strings(node, type);
    return;
  }
  if (onnx_narrow_dtype(type) == BURN_DTYPE_DEFAULT || type == ONNX_UINT64) {
    onnx_not_mapped(node, "there is no dtype %s here", onnx_dtype_name(type));
    return;
  }
  onnx_give_type(node, 0, onnx_cast_to(onnx_input(node, 0), type, saturates(node)), type);
}
MAP(Cast) { cast(node, onnx_int(node, "to", 0)); }
MAP(CastLike) { cast(node, node->strings[1] ? ONNX_STRING : onnx_input_type(node, 1)); }

/* What an operator does with inputs of such dtypes. */
typedef enum Use {
  USE_NONE,    /* refuses them */
  USE_VALUES,  /* reads their values; says itself what its results are */
  USE_BITS,    /* the same, and bits are enough */
  USE_MOVED,   /* results have the dtype of the first such input, and values that were there */
  USE_ORDERED, /* the same, and which ones depends on the values */
  USE_WRAPPED, /* values may leave the range, and are brought back */
  USE_RING,    /* the same, and low bits do not depend on high ones */
} Use;

static const struct {
  const char *name;
  Use use;
} uses[] = {
#define ONNX_NARROW(name, use) {#name, USE_##use},
#include "onnx_narrow.def"
};

static Use use_of(const char *name) {
  for (size_t i = 0; i < sizeof uses / sizeof uses[0]; i++) {
    if (strcmp(uses[i].name, name) == 0) return uses[i].use;
  }
  return USE_NONE;
}

void onnx_apply_operator(const OnnxOperator *op, OnnxNode *node) {
  int32_t type = 0;
  if (onnx_has_strings(node)) {
    onnx_apply_to_strings(op, node);
    return;
  }
  for (size_t i = 0; i < node->proto->n_input && !type; i++) type = node->types[i];
  const Use use = type ? use_of(op->name) : USE_VALUES;
  const Narrow *n = find(type);
  const bool on_bits = use == USE_BITS || use == USE_MOVED || use == USE_RING;
  if (use == USE_NONE || (use >= USE_WRAPPED && is_float(n)) || (type == ONNX_UINT64 && !on_bits)) {
    onnx_not_mapped(node, "%s does not take %s here", op->name, onnx_dtype_name(type));
    return;
  }
  op->map(node);
  for (size_t i = 0; i < node->proto->n_output && use >= USE_MOVED; i++) {
    if (!node->outputs[i] || node->output_types[i] || burn_dtype(node->outputs[i]) != n->dtype) continue;
    if (use >= USE_WRAPPED) node->outputs[i] = wrapped(n, node->outputs[i]);
    node->output_types[i] = type;
  }
}
