/* words.c - texts cut into words as GPT-2's regular expression does, by hand: PCRE would be a dependency for seven
 * cases. */
#include "text_private.h"

#include <string.h>

enum { LETTER, NUMBER, SPACE, OTHER };

typedef struct Range {
  uint32_t first, last;
} Range;

static const Range letters[] = {
#define LETTERS(first, last) {first, last},
#include "unicode_ranges.def"
};
static const Range numbers[] = {
#define NUMBERS(first, last) {first, last},
#include "unicode_ranges.def"
};
/* White_Space of Unicode */
static const Range spaces[] = {{0x09, 0x0d},     {0x20, 0x20},     {0x85, 0x85},     {0xa0, 0xa0},
                               {0x1680, 0x1680}, {0x2000, 0x200a}, {0x2028, 0x2029}, {0x202f, 0x202f},
                               {0x205f, 0x205f}, {0x3000, 0x3000}};
#define COUNT(list) (sizeof(list) / sizeof(list)[0])

size_t burn__character(const char *bytes, size_t count, uint32_t *code) {
  static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  const unsigned char *at = (const unsigned char *)bytes;
  const size_t length = count == 0 ? 0 : at[0] < 0x80 ? 1 : at[0] < 0xc2 ? 0 : at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : 4;
  *code = 0xfffd;
  if (length == 0 || length > count || at[0] > 0xf4) return 0;
  uint32_t value = length == 1 ? at[0] : at[0] & (0x7fu >> length);
  for (size_t i = 1; i < length; i++) {
    if ((at[i] & 0xc0) != 0x80) return 0;
    value = value << 6 | (at[i] & 0x3f);
  }
  if (value < least[length] || value > 0x10ffff || (value >= 0xd800 && value < 0xe000)) return 0;
  *code = value;
  return length;
}

static bool is_in(const Range *ranges, size_t count, uint32_t code) {
  size_t low = 0, high = count;
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (code > ranges[middle].last)
      low = middle + 1;
    else
      high = middle;
  }
  return low < count && code >= ranges[low].first;
}

/* The kind of the first character; its bytes go to *length. */
static int kind_of(const char *text, size_t count, size_t *length) {
  uint32_t code = 0;
  *length = burn__character(text, count, &code);
  if (*length == 0) {
    *length = 1;
    return OTHER;
  }
  if (is_in(letters, COUNT(letters), code)) return LETTER;
  if (is_in(numbers, COUNT(numbers), code)) return NUMBER;
  return is_in(spaces, COUNT(spaces), code) ? SPACE : OTHER;
}

/* Bytes of the characters of one kind from `at` on; *last is where the last of them begins. */
static size_t run_end(const char *text, size_t length, size_t at, int kind, size_t *last) {
  size_t bytes = 0;
  while (at < length && kind_of(text + at, length - at, &bytes) == kind) {
    *last = at;
    at += bytes;
  }
  return at;
}

static size_t contraction(const char *text, size_t length) {
  static const char *const endings[] = {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"};
  for (size_t i = 0; i < COUNT(endings); i++) {
    const size_t bytes = strlen(endings[i]);
    if (bytes <= length && memcmp(text, endings[i], bytes) == 0) return bytes;
  }
  return 0;
}

size_t burn__word(const char *text, size_t length) {
  size_t bytes = 0, last = 0, next = 0;
  const size_t short_form = contraction(text, length);
  if (short_form > 0) return short_form;
  const int kind = kind_of(text, length, &bytes);
  if (kind != SPACE) return run_end(text, length, 0, kind, &last);
  if (text[0] == ' ' && length > 1) {
    const int after = kind_of(text + 1, length - 1, &next);
    if (after != SPACE) return run_end(text, length, 1, after, &last);
  }
  /* Spaces leave the last of them to the word after. */
  const size_t end = run_end(text, length, 0, SPACE, &last);
  return end == length || last == 0 ? end : last;
}
