/* text_builder.c - growing text for printers (config JSON, module trees; logs, reports and vocabularies of train/, what
 * import/ writes). */
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

/* Bytes at the beginning that need no escape. */
static size_t plain_bytes(const char *text, size_t length) {
  size_t count = 0;
  while (count < length && (unsigned char)text[count] >= 0x20 && text[count] != '"' && text[count] != '\\') count++;
  return count;
}

void burn__text_add_json(BurnTextBuilder *builder, const char *text, size_t length) {
  burn__text_add(builder, "\"");
  while (length > 0) {
    const size_t plain = plain_bytes(text, length);
    const unsigned char byte = plain < length ? (unsigned char)text[plain] : 0;
    burn__text_add_bytes(builder, text, plain);
    if (plain == length) break;
    burn__text_addf(builder, byte < 0x20 ? "\\u%04x" : "\\%c", byte);
    text += plain + 1;
    length -= plain + 1;
  }
  burn__text_add(builder, "\"");
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
