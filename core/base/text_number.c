/* text_number.c - numbers as text, the same in every locale. */
#include "text_builder.h"

#include <burn/text.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* printf's decimal point is the locale's, perhaps of several bytes: what is not a digit, sign or exponent becomes one
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
