/* numbers.c - numbers and texts of files as elements of a column. */
#include "numbers.h"

#include <errno.h>
#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER_BYTES = 512 };

static bool in_range(double value, double low, double high) { return value >= low && value <= high; }

bool burn__number_put(BurnDType dtype, double value, void *out) {
  const bool whole = value == floor(value) && fabs(value) < 0x1p53;
  switch (dtype) {
    case BURN_DTYPE_F64:
      *(double *)out = value;
      return isfinite(value) != 0;
    case BURN_DTYPE_F32:
      *(float *)out = fabs(value) <= (double)FLT_MAX ? (float)value : 0;
      return fabs(value) <= (double)FLT_MAX;
    case BURN_DTYPE_I64:
      *(int64_t *)out = whole ? (int64_t)value : 0;
      return whole;
    case BURN_DTYPE_I32:
      if (!whole || !in_range(value, INT32_MIN, INT32_MAX)) return false;
      *(int32_t *)out = (int32_t)value;
      return true;
    case BURN_DTYPE_I16:
      if (!whole || !in_range(value, INT16_MIN, INT16_MAX)) return false;
      *(int16_t *)out = (int16_t)value;
      return true;
    case BURN_DTYPE_I8:
      if (!whole || !in_range(value, INT8_MIN, INT8_MAX)) return false;
      *(int8_t *)out = (int8_t)value;
      return true;
    default:
      if (!whole || !in_range(value, 0, dtype == BURN_DTYPE_BOOL ? 1 : UINT8_MAX)) return false;
      *(uint8_t *)out = (uint8_t)value;
      return true;
  }
}

/* The number that a text is, all of it; false if it is none, or not finite. strtod wants the locale's point. */
static bool number_read(const char *text, double *value) {
  const char *point = localeconv()->decimal_point;
  char copy[NUMBER_BYTES];
  char *end = copy;
  const size_t length = strlen(text), wide = strlen(point);
  if (length == 0 || strspn(text, "+-.0123456789eE") != length || length + wide >= sizeof copy) return false;
  for (; *text != '\0' && *text != '.'; text++) *end++ = *text;
  if (*text == '.') {
    memcpy(end, point, wide);
    end += wide;
    text++;
  }
  memcpy(end, text, strlen(text) + 1);
  *value = strtod(copy, &end);
  return *end == '\0' && end != copy && isfinite(*value);
}

bool burn__number_text_put(BurnDType dtype, const char *text, void *out) {
  double value = 0;
  char *end;
  const bool truth = strcmp(text, "true") == 0;
  if (truth || strcmp(text, "false") == 0) return burn__number_put(dtype, truth, out);
  if (dtype == BURN_DTYPE_I64 && text[0] != '\0' && strspn(text, "+-0123456789") == strlen(text)) {
    errno = 0;
    const long long number = strtoll(text, &end, 10);
    *(int64_t *)out = number;
    return errno == 0 && *end == '\0' && end != text;
  }
  return number_read(text, &value) && burn__number_put(dtype, value, out);
}

void burn__text_put(const char *text, size_t length, size_t room, uint8_t *out) {
  if (length > room) {
    length = room;
    while (length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80) length--;
  }
  memcpy(out, text, length);
  memset(out + length, 0, room - length);
}
