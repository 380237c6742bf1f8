/* result.h - the last line of an example, for scripts: result: {"loss":0.1}
 *
 * With --json every line is a JSON object: {"event":"result","loss":0.1} */
#ifndef BURN_SDK_RESULT_H
#define BURN_SDK_RESULT_H

#include <stdbool.h>

/* What the line begins with, up to the first member. */
const char *result_begin(bool json);

/* A text as a JSON string with its quotes; cut where it is longer. */
typedef struct JsonText {
  char text[8192];
} JsonText;
JsonText json_text(const char *text);

/* A number as JSON; NaN and infinities, which JSON has not, become null. */
typedef struct JsonNumber {
  char text[32];
} JsonNumber;
JsonNumber json_number(double value);

#endif
