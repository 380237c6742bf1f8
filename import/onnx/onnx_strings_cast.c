/* onnx_strings_cast.c - numbers as strings, and back. */
#include "onnx_narrow.h"
#include "onnx_strings.h"

#include <burn/text.h>

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- to strings -------------------------------------------------------------------------------- */

/* Floats with eight digits, as ONNX Runtime has them. */
static void add_float(OnnxStringsBuilder *builder, double value) {
  enum { DIGITS = 8 };
  char text[BURN_NUMBER_BYTES];
  const char *is = isnan(value) ? "NaN" : isinf(value) ? (value < 0 ? "-INF" : "INF") : NULL;
  if (!is) is = burn_number_text(value, DIGITS, text);
  onnx_add_string(builder, is, strlen(is));
}

static void add_integer(OnnxStringsBuilder *builder, int64_t value, bool is_unsigned) {
  char text[32];
  const int length = is_unsigned ? snprintf(text, sizeof text, "%" PRIu64, (uint64_t)value)
                                 : snprintf(text, sizeof text, "%" PRId64, value);
  onnx_add_string(builder, text, (size_t)length);
}

static void numbers_to_strings(OnnxNode *node) {
  const BurnTensor *x = node->inputs[0];
  const BurnShape shape = burn_shape(x);
  const size_t count = (size_t)burn_element_count(x);
  const bool floats = burn_dtype_kind(burn_dtype(x)) == BURN_KIND_FLOAT;
  OnnxStringsBuilder builder = ONNX_STRINGS_BUILDER;
  void *values = calloc(count + 1, sizeof(double));
  BurnStatus status = values ? BURN_OK : burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "%zu elements", count);
  if (status == BURN_OK) {
    status =
        floats ? burn_read_f64(onnx_input(node, 0), values, count) : burn_read_i64(onnx_input(node, 0), values, count);
  }
  for (size_t i = 0; i < count && status == BURN_OK; i++) {
    if (floats) add_float(&builder, ((const double *)values)[i]);
    if (!floats) add_integer(&builder, ((const int64_t *)values)[i], node->types[0] == ONNX_UINT64);
  }
  free(values);
  if (status == BURN_OK) {
    onnx_give_strings(node, 0, onnx_build_strings(&builder, shape), node->scalar[0] ? ONNX_RANK_0 : ONNX_RANK_MORE);
  } else {
    onnx_builder_release(&builder);
    onnx_fail(node, status);
  }
}

/* -- from strings ------------------------------------------------------------------------------ */

/* The text without whitespace around it, and with the point of the locale, which strtod wants; false if it is too long
 * for a number. */
static bool prepare(const char *text, char *copy, size_t room) {
  const char *point = localeconv()->decimal_point;
  size_t end = strlen(text), length = 0;
  while (isspace((unsigned char)*text)) text++, end--;
  while (end > 0 && isspace((unsigned char)text[end - 1])) end--;
  if (end + strlen(point) >= room) return false;
  for (size_t i = 0; i < end; i++) {
    const bool is_point = text[i] == '.' && !memchr(text, '.', i);
    if (!is_point) copy[length++] = text[i];
    for (const char *at = point; is_point && *at; at++) copy[length++] = *at;
  }
  copy[length] = 0;
  return length > 0;
}

/* Decimal or scientific, or one of inf, infinity and nan in any case, with or without a sign. */
static bool read_float(const char *text, double *value) {
  enum { LONGEST = 512 };
  char copy[LONGEST], *end = copy;
  if (!prepare(text, copy, sizeof copy) || strpbrk(copy, "xXpP(")) return false; /* no hexadecimal numbers */
  *value = strtod(copy, &end);
  return *end == 0;
}

/* An integer; or a float within its range, towards 0. */
static bool read_integer(const char *text, bool is_unsigned, int64_t *value) {
  char *end;
  double number;
  errno = 0;
  *value = is_unsigned && !strchr(text, '-') ? (int64_t)strtoull(text, &end, 10) : strtoll(text, &end, 10);
  if (end != text && end[strspn(end, " \t\n\v\f\r")] == 0) return errno == 0;
  if (!read_float(text, &number) || !(fabs(number) < 9.2e18)) return false;
  *value = (int64_t)number;
  return true;
}

/* Elements of a tensor: doubles, or int64_t. */
static BurnStatus read_all(const OnnxStrings *x, int64_t type, bool floats, void *values) {
  for (size_t i = 0; i < x->count; i++) {
    const bool read = floats ? read_float(x->items[i], (double *)values + i)
                             : read_integer(x->items[i], type == ONNX_UINT64, (int64_t *)values + i);
    if (!read) {
      return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "string %zu, '%.40s', is not %s", i, x->items[i],
                              onnx_dtype_name(type));
    }
  }
  return BURN_OK;
}

/* f32 where that is enough, which more backends have. */
static BurnTensor *float_tensor(OnnxNode *node, const OnnxStrings *x, const double *values, BurnDType dtype) {
  if (dtype == BURN_DTYPE_F64) return burn_tensor_f64(node->device, values, x->shape);
  float *narrow = calloc(x->count + 1, sizeof *narrow);
  if (!narrow) return burn_tensor_failed(burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "%zu strings", x->count));
  for (size_t i = 0; i < x->count; i++) {
    narrow[i] = dtype == BURN_DTYPE_BOOL ? (float)(values[i] != 0) : (float)values[i];
  }
  BurnTensor *y = burn_tensor_f32(node->device, narrow, x->shape);
  free(narrow);
  return y;
}

static void strings_to_numbers(OnnxNode *node, int64_t type) {
  const OnnxStrings *x = node->strings[0];
  const BurnDType dtype = onnx_narrow_dtype(type);
  const bool floats = burn_dtype_kind(dtype) == BURN_KIND_FLOAT || dtype == BURN_DTYPE_BOOL;
  void *values = calloc(x->count + 1, sizeof(double));
  const BurnStatus status =
      values ? read_all(x, type, floats, values) : burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "%zu strings", x->count);
  if (status == BURN_OK) {
    BurnTensor *y = floats ? float_tensor(node, x, values, dtype) : burn_tensor_i64(node->device, values, x->shape);
    onnx_give_type(node, 0, onnx_cast_to(y, type, onnx_int(node, "saturate", 1) != 0), type);
    if (onnx_wants_output(node, 0)) node->output_rank[0] = node->scalar[0] ? ONNX_RANK_0 : ONNX_RANK_MORE;
  } else {
    onnx_fail(node, status);
  }
  free(values);
}

void onnx_cast_strings(OnnxNode *node, int64_t type) {
  if (type == ONNX_STRING && node->strings[0]) {
    onnx_give_strings(node, 0, onnx_strings_retain(node->strings[0]), node->scalar[0] ? ONNX_RANK_0 : ONNX_RANK_MORE);
  } else if (type == ONNX_STRING) {
    numbers_to_strings(node);
  } else if (onnx_narrow_dtype(type) == BURN_DTYPE_DEFAULT) {
    onnx_not_mapped(node, "there is no dtype %s here", onnx_dtype_name(type));
  } else {
    strings_to_numbers(node, type);
  }
}
