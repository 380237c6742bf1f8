/* text.h - numbers as text for files that others read, and texts of others made fit for them. */
#ifndef BURN_TEXT_H
#define BURN_TEXT_H

#include <burn/error.h>

BURN_EXTERN_C_BEGIN

/* What the longest number needs, its terminating 0 included. */
enum { BURN_NUMBER_BYTES = 48 };

/* A number with `digits` significant digits (1 to 17), as "%.{digits}g" of printf in the C locale: "0.25", "1e-07",
 * whatever the locale of the program. digits 0: the fewest of 15 to 17 that read back as the same double. "nan", "inf"
 * and "-inf" for what is not a number. Returns `text`. */
BURN_API const char *burn_number_text(double value, int digits, char text[BURN_NUMBER_BYTES]);

/* Bytes of the text before the first that is not part of a character of UTF-8: all of them where the text is valid.
 * (Unicode 15, table 3-7: no overlong forms, no surrogates, nothing above U+10FFFF.) */
BURN_API size_t burn_text_utf8_bytes(const char *text);

/* True if the text is valid UTF-8 without control characters other than tab and line feed. */
BURN_API bool burn_text_is_clean(const char *text);

/* Makes a text so, in place: every byte that does not belong there becomes '?'. Returns `text`. */
BURN_API char *burn_text_clean(char *text);

/* The same for a name, which stands on one line: tabs and line feeds become '?', too. Returns `text`. */
BURN_API char *burn_text_clean_name(char *text);

BURN_EXTERN_C_END

#endif
