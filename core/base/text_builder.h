/* text_builder.h - text that grows. Running out of memory is remembered: later additions do nothing and
 * burn__text_finish returns NULL, so a writer checks once at the end. Start with BURN_TEXT_BUILDER. */
#ifndef BURN_CORE_TEXT_BUILDER_H
#define BURN_CORE_TEXT_BUILDER_H

#include <burn/error.h>

typedef struct BurnTextBuilder {
  char *text; /* NULL while empty */
  size_t length, capacity;
  bool failed;
} BurnTextBuilder;
#define BURN_TEXT_BUILDER \
  { NULL, 0, 0, false }

void burn__text_add_bytes(BurnTextBuilder *builder, const char *bytes, size_t count);
void burn__text_add(BurnTextBuilder *builder, const char *text);
void burn__text_addf(BurnTextBuilder *builder, const char *format, ...) BURN_PRINTF(2, 3);
void burn__text_indent(BurnTextBuilder *builder, unsigned levels); /* two spaces per level */

/* `length` bytes as a string of JSON, in quotes, with escapes where JSON wants them. Whether they are UTF-8, which JSON
 * wants, too, is left to the caller. */
void burn__text_add_json(BurnTextBuilder *builder, const char *text, size_t length);

/* The shortest of 15 to 17 digits that reads back as the same double, with a point or an exponent ("1.0"), whatever the
 * locale; "nan", "inf", "-inf". */
void burn__text_number(BurnTextBuilder *builder, double value);

/* The text, for free(); NULL when out of memory. The builder is empty afterwards. */
char *burn__text_finish(BurnTextBuilder *builder);
void burn__text_release(BurnTextBuilder *builder);

/* Bytes of the character at `at`, in a text that ends with 0; 0 if it is none, as burn_text_utf8_bytes has it. */
size_t burn__utf8_bytes(const unsigned char *at);

#endif
