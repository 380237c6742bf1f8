/* text_builder.c - growing text for printers (config JSON, module trees; in train/ logs and reports). */
#include "text_builder.h"

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
