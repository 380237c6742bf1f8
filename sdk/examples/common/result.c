/* result.c - see result.h. */
#include "result.h"

#include <math.h>
#include <stdio.h>

const char *result_begin(bool json) {
  return json ? "{\"event\":\"result\"," : "result: {";
}

JsonText json_text(const char *text) {
  JsonText json = {"\""};
  size_t used = 1;
  for (; *text && used < sizeof json.text - 8; text++) {
    const unsigned char c = (unsigned char)*text;
    const bool escaped = c == '"' || c == '\\';
    if (escaped) json.text[used++] = '\\';
    if (c >= 0x20) {
      json.text[used++] = (char)c;
    } else {
      snprintf(json.text + used, 8, "\\u%04x", (unsigned)c);
      used += 6;
    }
  }
  json.text[used++] = '"';
  json.text[used] = '\0';
  return json;
}

JsonNumber json_number(double value) {
  JsonNumber json = {"null"};
  if (isfinite(value)) snprintf(json.text, sizeof json.text, "%.9g", value);
  return json;
}
