/* text_builder.c - growing text for the printers of core (config JSON, module trees). */
#include "text_builder.h"

#include <burn/text.h>

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Room for `count` more bytes and a terminator; false, and the builder failed, without memory. */
static bool reserve(BurnTextBuilder *builder, size_t count) {
  if (builder->failed) return false;
  size_t capacity = builder->capacity ? builder->capacity : 128;
  if (count < SIZE_MAX / 4 && builder->length < SIZE_MAX / 4) {
    while (capacity <= builder->length + count) capacity *= 2;
    if (capacity == builder->capacity) return true;
    char *text = realloc(builder->text, capacity);
    if (text) {
      builder->text = text;
      builder->capacity = capacity;
      return true;
    }
  }
  builder->failed = true;
  return false;
}

void burn__text_add_bytes(BurnTextBuilder *builder, const char *bytes, size_t count) {
  if (!reserve(builder, count)) return;
  memcpy(builder->text + builder->length, bytes, count);
  builder->length += count;
  builder->text[builder->length] = '\0';
}

void burn__text_add(BurnTextBuilder *builder, const char *text) { burn__text_add_bytes(builder, text, strlen(text)); }

void burn__text_addf(BurnTextBuilder *builder, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(NULL, 0, format, arguments);
  va_end(arguments);
  if (length < 0 || !reserve(builder, (size_t)length)) {
    builder->failed = true;
    return;
  }
  va_start(arguments, format);
  (void)vsnprintf(builder->text + builder->length, (size_t)length + 1, format, arguments);
  va_end(arguments);
  builder->length += (size_t)length;
}

void burn__text_indent(BurnTextBuilder *builder, unsigned levels) {
  for (unsigned i = 0; i < levels; i++) burn__text_add(builder, "  ");
}

/* printf's decimal point is the locale's, perhaps of several bytes: what is no digit, sign or exponent becomes one
 * point. */
static void neutral_point(const char *digits, char *text) {
  bool in_point = false;
  for (; *digits; digits++) {
    const bool plain = strchr("0123456789+-e", *digits) != NULL;
    if (plain || !in_point) *text++ = plain ? *digits : '.';
    in_point = !plain;
  }
  *text = '\0';
}

const char *burn_number_text(double value, int digits, char text[BURN_NUMBER_BYTES]) {
  char written[BURN_NUMBER_BYTES];
  if (!isfinite(value)) {
    (void)snprintf(text, BURN_NUMBER_BYTES, "%s", isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
    return text;
  }
  for (int precision = digits ? digits : 15; precision <= 17; precision++) {
    (void)snprintf(written, sizeof written, "%.*g", precision, value);
    double back = strtod(written, NULL);
    if (digits || memcmp(&back, &value, sizeof back) == 0) break;
  }
  neutral_point(written, text);
  return text;
}

void burn__text_number(BurnTextBuilder *builder, double value) {
  char text[BURN_NUMBER_BYTES];
  burn__text_add(builder, burn_number_text(value, 0, text));
  if (isfinite(value) && !strpbrk(text, ".e")) burn__text_add(builder, ".0");
}

char *burn__text_finish(BurnTextBuilder *builder) {
  if (!builder->text) burn__text_add(builder, "");
  char *text = builder->failed ? NULL : builder->text;
  if (!text) free(builder->text);
  *builder = (BurnTextBuilder)BURN_TEXT_BUILDER;
  return text;
}

void burn__text_release(BurnTextBuilder *builder) {
  free(builder->text);
  *builder = (BurnTextBuilder)BURN_TEXT_BUILDER;
}
