/* ops_value.c - see ops_value.h. */
#include "ops_value.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const ops_layout_names[OPS_LAYOUT_COUNT] = {"plain", "transposed", "backwards", "expanded"};
char ops_place[512];

/* -- texts to values -------------------------------------------------------------------------- */

static BurnDType dtype_of(const char *text, size_t length) {
  for (BurnDType dtype = 1; dtype < BURN_DTYPE_LIMIT; dtype++) {
    if (strlen(burn_dtype_name(dtype)) == length && memcmp(burn_dtype_name(dtype), text, length) == 0) return dtype;
  }
  fail_msg("%s: unknown dtype in '%.20s'", ops_place, text);
  return 0;
}

/* Number k of the test input "@k" as make_ops_golden.py makes it. */
static int64_t pattern(int64_t i, int64_t k) { return (i * 37 + k * 11) % 101; }

/* The 16-bit floats by arithmetic, not by bits: another way than the one that is tested. */
static int mantissa_of(BurnDType dtype) { return dtype == BURN_DTYPE_F16 ? 10 : 7; }
static int least_exponent_of(BurnDType dtype) { return dtype == BURN_DTYPE_F16 ? -14 : -126; }

double ops_value_round(BurnDType dtype, double number) {
  const double beyond = dtype == BURN_DTYPE_F16 ? 65536.0 : 0x1p128;
  int exponent = 0;
  if (!isfinite(number) || number == 0) return number;
  (void)frexp(number, &exponent); /* |number| is 2^(exponent - 1) or more */
  if (exponent - 1 < least_exponent_of(dtype)) exponent = least_exponent_of(dtype) + 1;
  const double unit = ldexp(1.0, exponent - 1 - mantissa_of(dtype)), rounded = nearbyint(number / unit) * unit;
  return fabs(rounded) >= beyond ? copysign((double)INFINITY, number) : copysign(rounded, number);
}

static uint16_t half_bits(BurnDType dtype, double number) {
  const int mantissa = mantissa_of(dtype), least = least_exponent_of(dtype);
  const double rounded = fabs(ops_value_round(dtype, number));
  const unsigned sign = signbit(number) ? 0x8000u : 0, infinity = dtype == BURN_DTYPE_F16 ? 0x7c00u : 0x7f80u;
  int exponent = 0;
  if (isnan(number)) return (uint16_t)(infinity | 1u << (mantissa - 1));
  if (isinf(rounded)) return (uint16_t)(sign | infinity);
  (void)frexp(rounded, &exponent);
  if (rounded < ldexp(1.0, least)) return (uint16_t)(sign | (unsigned)ldexp(rounded, mantissa - least));
  const unsigned fraction = (unsigned)ldexp(rounded, mantissa - (exponent - 1)) - (1u << mantissa);
  return (uint16_t)(sign | (unsigned)(exponent - least) << mantissa | fraction);
}

static double half_number(BurnDType dtype, uint16_t bits) {
  const int mantissa = mantissa_of(dtype), least = least_exponent_of(dtype);
  const int exponent = (bits & 0x7fff) >> mantissa, fraction = bits & ((1 << mantissa) - 1);
  const bool is_special = exponent == (0x7fff >> mantissa);
  const double special = fraction ? (double)NAN : (double)INFINITY;
  const double finite = exponent == 0 ? ldexp(fraction, least - mantissa)
                                      : ldexp(fraction + (1 << mantissa), exponent - 1 + least - mantissa);
  return copysign(is_special ? special : finite, bits & 0x8000 ? -1.0 : 1.0);
}

void ops_value_store(OpsValue *value, int64_t i, double number, int64_t whole) {
  char *at = value->data + (size_t)i * value->bytes;
  const float single = (float)number;
  const int32_t int32 = (int32_t)whole;
  const int16_t int16 = (int16_t)whole;
  uint16_t half;
  switch (value->dtype) {
    case BURN_DTYPE_F16:
    case BURN_DTYPE_BF16:
      half = half_bits(value->dtype, number);
      memcpy(at, &half, sizeof half);
      break;
    case BURN_DTYPE_I16:
      memcpy(at, &int16, sizeof int16);
      break;
    case BURN_DTYPE_F32:
      memcpy(at, &single, sizeof single);
      break;
    case BURN_DTYPE_F64:
      memcpy(at, &number, sizeof number);
      break;
    case BURN_DTYPE_I32:
      memcpy(at, &int32, sizeof int32);
      break;
    case BURN_DTYPE_I64:
      memcpy(at, &whole, sizeof whole);
      break;
    default:
      *at = (char)(unsigned char)whole;
      break;
  }
}

static void store_pattern(OpsValue *value, int64_t k) {
  for (int64_t i = 0; i < value->count; i++) {
    const int64_t number = pattern(i, k);
    const bool is_byte = value->dtype == BURN_DTYPE_U8;
    const int64_t whole = value->dtype == BURN_DTYPE_BOOL ? number % 2 == 0 : is_byte ? number : number - 50;
    ops_value_store(value, i, (double)(number - 50) / 25, whole);
  }
}

double ops_value_load(const OpsValue *value, int64_t i, int64_t *whole) {
  const char *at = value->data + (size_t)i * value->bytes;
  float single = 0;
  double number = 0;
  int32_t int32 = 0;
  int16_t int16 = 0;
  uint16_t half = 0;
  *whole = 0;
  switch (value->dtype) {
    case BURN_DTYPE_F16:
    case BURN_DTYPE_BF16:
      memcpy(&half, at, sizeof half);
      return half_number(value->dtype, half);
    case BURN_DTYPE_I8:
      *whole = (signed char)*at;
      break;
    case BURN_DTYPE_I16:
      memcpy(&int16, at, sizeof int16);
      *whole = int16;
      break;
    case BURN_DTYPE_F32:
      memcpy(&single, at, sizeof single);
      return (double)single;
    case BURN_DTYPE_F64:
      memcpy(&number, at, sizeof number);
      return number;
    case BURN_DTYPE_I32:
      memcpy(&int32, at, sizeof int32);
      *whole = int32;
      break;
    case BURN_DTYPE_I64:
      memcpy(whole, at, sizeof *whole);
      break;
    default:
      *whole = (unsigned char)*at;
      break;
  }
  return (double)*whole;
}

static void parse_shape(OpsValue *value, const char **text) {
  char *at = (char *)(uintptr_t)(strchr(*text, '[') + 1);
  value->count = 1;
  while (*at != ']') {
    value->shape.dims[value->shape.rank] = strtoll(at, &at, 10);
    value->count *= value->shape.dims[value->shape.rank++];
    if (*at == ',') at++;
  }
  *text = at + 1;
}

/* strtod, but for the sign of a NaN, by which sorting places it: C leaves open whether "-nan" has one, and musl's has
 * none. */
static double number_at(const char *text, char **end) {
  const double number = strtod(text, end);
  return isnan(number) ? copysign(number, text[strspn(text, " ")] == '-' ? -1.0 : 1.0) : number;
}

/* One tensor text; ends at ';' or the end. */
static OpsValue parse(const char *text) {
  OpsValue value = {.absent = *text == '-'};
  if (value.absent) return value;
  value.dtype = dtype_of(text, strcspn(text, "["));
  value.bytes = burn_dtype_bytes(value.dtype);
  parse_shape(&value, &text);
  value.data = calloc((size_t)value.count + 2, 8);
  assert_non_null(value.data);
  text += strspn(text, " ");
  if (*text == '@') {
    store_pattern(&value, strtoll(text + 1, NULL, 10));
  } else if (*text == '~') {
    value.digest = true;
    char *end = NULL;
    const double sums[2] = {strtod(text + 1, &end), strtod(end, NULL)};
    memcpy(value.data, sums, sizeof sums);
  } else {
    char *at = (char *)(uintptr_t)text;
    for (int64_t i = 0; i < value.count; i++) {
      const char *start = at;
      const double number = number_at(start, &at);
      if (at == start)
        fail_msg("%s: %" PRId64 " elements in '%.40s', %" PRId64 " expected", ops_place, i, text, value.count);
      ops_value_store(&value, i, number,
                      burn_dtype_kind(value.dtype) == BURN_KIND_FLOAT ? 0 : strtoll(start, NULL, 10));
    }
  }
  return value;
}

size_t ops_values_parse(const char *text, const char *const *texts, OpsValue values[OPS_MAX_TENSORS]) {
  size_t count = 0;
  while (text) {
    assert_true(count < OPS_MAX_TENSORS);
    values[count++] = parse(*text == '$' ? texts[strtoul(text + 1, NULL, 10)] : text);
    text = strchr(text, ';');
    if (text) text++;
  }
  return count;
}

void ops_values_free(OpsValue *values, size_t count) {
  for (size_t i = 0; i < count; i++) free(values[i].data);
}

/* -- inputs in their layouts ------------------------------------------------------------------ */

static void next_index(const BurnShape *shape, int64_t *index) {
  for (uint32_t axis = shape->rank; axis-- > 0;) {
    if (++index[axis] < shape->dims[axis]) return;
    index[axis] = 0;
  }
}

/* Copies the elements of value into a larger memory: element `index` goes to sum(base + index * step) along its axes.
 */
static BurnTensor *place_elements(BurnDevice *device, const OpsValue *value, BurnShape memory, const int64_t *base,
                                  const int64_t *step) {
  int64_t index[BURN_MAX_RANK] = {0}, count = 1;
  for (uint32_t i = 0; i < memory.rank; i++) count *= memory.dims[i];
  char *data = malloc((size_t)count * value->bytes + 1);
  assert_non_null(data);
  memset(data, 0xff, (size_t)count * value->bytes); /* NaN, or -1: what a wrong stride would read */
  for (int64_t i = 0; i < value->count; i++) {
    int64_t at = 0;
    for (uint32_t axis = 0; axis < value->shape.rank; axis++) at += base[axis] + index[axis] * step[axis];
    memcpy(data + (size_t)at * value->bytes, value->data + (size_t)i * value->bytes, value->bytes);
    next_index(&value->shape, index);
  }
  BurnTensor *x = burn_tensor_from(device, data, value->dtype, memory);
  free(data);
  return x;
}

static BurnTensor *make_transposed(BurnDevice *device, const OpsValue *value) {
  const uint32_t rank = value->shape.rank;
  BurnShape memory = {.rank = rank, .dims = {0}};
  int64_t base[BURN_MAX_RANK] = {0}, step[BURN_MAX_RANK] = {0}, size = 1;
  int axes[BURN_MAX_RANK] = {0};
  for (uint32_t i = 0; i < rank; i++) {
    step[i] = size;
    size *= value->shape.dims[i];
    memory.dims[rank - 1 - i] = value->shape.dims[i];
    axes[i] = (int)(rank - 1 - i);
  }
  return burn_permute(place_elements(device, value, memory, base, step), axes);
}

/* Every second element, from the end. */
static BurnTensor *make_backwards(BurnDevice *device, const OpsValue *value) {
  const uint32_t rank = value->shape.rank;
  BurnShape memory = {.rank = rank, .dims = {0}};
  BurnRange ranges[BURN_MAX_RANK];
  int64_t base[BURN_MAX_RANK] = {0}, step[BURN_MAX_RANK] = {0}, size = 1;
  for (uint32_t i = rank; i-- > 0;) {
    memory.dims[i] = value->shape.dims[i] * 2;
    ranges[i] = BURN_RANGE_STEP(0, BURN_END, -2);
    base[i] = (memory.dims[i] - 1) * size;
    step[i] = -2 * size;
    size *= memory.dims[i];
  }
  return burn_slice(place_elements(device, value, memory, base, step), ranges, rank);
}

/* True if all elements along the axis are equal. */
static bool is_constant(const OpsValue *value, uint32_t axis) {
  int64_t index[BURN_MAX_RANK] = {0}, inner = 1;
  for (uint32_t i = axis + 1; i < value->shape.rank; i++) inner *= value->shape.dims[i];
  for (int64_t i = 0; i < value->count; i++) {
    const char *at = value->data + (size_t)i * value->bytes;
    if (index[axis] > 0 && memcmp(at, at - (size_t)inner * value->bytes, value->bytes) != 0) return false;
    next_index(&value->shape, index);
  }
  return value->shape.dims[axis] > 1;
}

/* Axes along which all is equal get a stride of 0; NULL if there are none. */
static BurnTensor *make_expanded(BurnDevice *device, const OpsValue *value) {
  BurnShape memory = value->shape;
  int64_t base[BURN_MAX_RANK] = {0}, step[BURN_MAX_RANK] = {0}, size = 1;
  bool any = false;
  for (uint32_t i = value->shape.rank; value->count > 0 && i-- > 0;) {
    const bool constant = is_constant(value, i);
    if (constant) memory.dims[i] = 1;
    any = any || constant;
    step[i] = constant ? 0 : size;
    size *= memory.dims[i];
  }
  return any ? burn_expand(place_elements(device, value, memory, base, step), value->shape) : NULL;
}

bool ops_layout_applies(BurnDevice *device, int layout, const OpsValue *values, size_t count) {
  if (layout == OPS_LAYOUT_PLAIN) return true;
  for (size_t i = 0; i < count; i++) {
    if (values[i].absent) continue;
    if (layout == OPS_LAYOUT_TRANSPOSED && values[i].shape.rank > 1) return true;
    if (layout == OPS_LAYOUT_BACKWARDS) return true;
    BurnTensor *x = layout == OPS_LAYOUT_EXPANDED ? make_expanded(device, &values[i]) : NULL;
    burn_drop(x);
    if (x) return true;
  }
  return false;
}

BurnTensor *ops_value_tensor(BurnDevice *device, const OpsValue *value, int layout) {
  BurnTensor *x = layout == OPS_LAYOUT_TRANSPOSED && value->shape.rank > 1 ? make_transposed(device, value)
                  : layout == OPS_LAYOUT_BACKWARDS                         ? make_backwards(device, value)
                  : layout == OPS_LAYOUT_EXPANDED                          ? make_expanded(device, value)
                                                                           : NULL;
  return x ? x : burn_tensor_from(device, value->data, value->dtype, value->shape);
}
