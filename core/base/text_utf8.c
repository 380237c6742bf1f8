/* text_utf8.c - texts of others, such as names of devices: what is not UTF-8 does not reach JSON or a terminal. */
#include "text_builder.h"

#include <burn/text.h>

#include <string.h>

size_t burn__utf8_bytes(const unsigned char *at) {
  if (at[0] < 0x80) return at[0] != 0;
  const size_t bytes = at[0] >= 0xc2 && at[0] <= 0xdf   ? 2
                       : at[0] >= 0xe0 && at[0] <= 0xef ? 3
                       : at[0] >= 0xf0 && at[0] <= 0xf4 ? 4
                                                        : 0;
  const unsigned first = at[0] == 0xe0 ? 0xa0 : at[0] == 0xf0 ? 0x90 : 0x80;
  const unsigned last = at[0] == 0xed ? 0x9f : at[0] == 0xf4 ? 0x8f : 0xbf;
  if (bytes == 0 || at[1] < first || at[1] > last) return 0;
  for (size_t i = 2; i < bytes; i++) {
    if ((at[i] & 0xc0) != 0x80) return 0;
  }
  return bytes;
}

size_t burn_text_utf8_bytes(const char *text) {
  const unsigned char *at = (const unsigned char *)text;
  for (size_t bytes; (bytes = burn__utf8_bytes(at)) > 0;) at += bytes;
  return (size_t)((const char *)at - text);
}

/* As burn__utf8_bytes, but control characters other than tab and line feed are none; U+0080 to U+009F are some, which
 * terminals obey as they do ESC. */
static size_t sequence(const unsigned char *at) {
  const bool is_control = at[0] < 0x20 || at[0] == 0x7f || (at[0] == 0xc2 && at[1] < 0xa0);
  return is_control && at[0] != '\t' && at[0] != '\n' ? 0 : burn__utf8_bytes(at);
}

bool burn_text_is_clean(const char *text) {
  const unsigned char *at = (const unsigned char *)text;
  while (*at) {
    const size_t bytes = sequence(at);
    if (bytes == 0) return false;
    at += bytes;
  }
  return true;
}

char *burn_text_clean_name(char *text) {
  for (char *at = text; *at; at++) {
    if (*at == '\t' || *at == '\n') *at = '?';
  }
  return burn_text_clean(text);
}

char *burn_text_clean(char *text) {
  for (char *at = text; *at;) {
    const size_t bytes = sequence((const unsigned char *)at);
    if (bytes == 0) *at = '?';
    at += bytes ? bytes : 1;
  }
  return text;
}
