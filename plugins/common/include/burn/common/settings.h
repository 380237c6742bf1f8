/* settings.h - what the user gave for a plugin's options, read by their rows (burn/plugin/options.h): the row's column
 * of values says what is allowed, here and in the lists of `burn backends`. C99 and C++11, nothing to link.
 *
 *   BurnCommonSettings given = {host, "cuda", &declared, values};             values as burn_options_ask filled them
 *   uint64_t tile = 64;
 *   status = burn_common_number(&given, OPTION_TILE, &tile);                  values "8..512"
 *   if (status == BURN_OK) status = burn_common_bytes(&given, OPTION_LIMIT, &limit);          any size: "bytes, 64KiB"
 *   if (status == BURN_OK) status = burn_common_truth(&given, OPTION_EXACT, &is_exact);       "true|false"
 *   if (status == BURN_OK) status = burn_common_word(&given, OPTION_MODE, &mode);             "off|quick|full"
 *
 * What the user left out leaves the variable as it is. */
#ifndef BURN_COMMON_SETTINGS_H
#define BURN_COMMON_SETTINGS_H

#include <burn/common/failure.h>
#include <burn/plugin/options.h>

#include <stdbool.h>
#include <string.h>

/* The texts that the user gave, and what they are read by. */
typedef struct BurnCommonSettings {
  const BurnHost *host;
  const char *plugin; /* its name, in front of messages */
  const BurnOptionsInterface *declared;
  const char *const *values; /* by the number of the option; NULL where the user said nothing */
} BurnCommonSettings;

/* Reads digits at *at, a number of at most UINT64_MAX, and moves *at past them; 0 if there are none. */
static inline int burn_common_digits(const char **at, uint64_t *number) {
  const char *first = *at;
  uint64_t result = 0;
  for (; **at >= '0' && **at <= '9'; (*at)++) {
    const uint64_t digit = (uint64_t)(**at - '0');
    if (result > (UINT64_MAX - digit) / 10u) return 0;
    result = result * 10u + digit;
  }
  *number = result;
  return *at != first;
}

/* Which of the words "a|b|c" `text` is, from 0; their count if it is none of them. */
static inline uint32_t burn_common_word_index(const char *words, const char *text) {
  const size_t length = strlen(text);
  uint32_t index = 0;
  for (;; index++) {
    const size_t word = strcspn(words, "|");
    if (word == length && memcmp(words, text, length) == 0) return index;
    words += word;
    if (!*words) return index + 1u;
    words++;
  }
}

/* How many words "a|b|c" has. */
static inline uint32_t burn_common_word_count(const char *words) {
  uint32_t count = 1;
  for (; *words; words++) count += *words == '|';
  return count;
}

/* A number within the row's "low..high", in digits. Else the failure "plugin: key=text is not a number from low to
 * high". */
static inline BurnStatus burn_common_number(const BurnCommonSettings *given, uint32_t option, uint64_t *number) {
  const BurnOptionInfo *row = burn_option_info(given->declared, option);
  const char *text = given->values[option], *range = row->values, *at = text;
  uint64_t low = 0, high = 0, value = 0;
  if (!text) return BURN_OK;
  (void)burn_common_digits(&range, &low);
  range += strspn(range, ".");
  (void)burn_common_digits(&range, &high);
  if (!burn_common_digits(&at, &value) || *at || value < low || value > high) {
    return BURN_COMMON_FAIL(given->host, INVALID_ARGUMENT, given->plugin, "%s=%.100s is not a number from %llu to %llu",
                            row->key, text, (unsigned long long)low, (unsigned long long)high);
  }
  *number = value;
  return BURN_OK;
}

/* A size as 1000000, 64KiB, 512MiB or 2GiB, from 1 byte to INT64_MAX. Else the failure "plugin: key=text is not a size
 * such as 1000000, 64KiB, 512MiB, 2GiB". */
static inline BurnStatus burn_common_bytes(const BurnCommonSettings *given, uint32_t option, uint64_t *bytes) {
  static const char *const units[] = {"", "KiB", "MiB", "GiB"};
  const char *text = given->values[option], *at = text;
  uint64_t count = 0;
  uint32_t i;
  if (!text) return BURN_OK;
  if (burn_common_digits(&at, &count) && count > 0) {
    for (i = 0; i < 4; i++) {
      if (strcmp(at, units[i]) != 0 || count > (uint64_t)INT64_MAX >> (10 * i)) continue;
      *bytes = count << (10 * i);
      return BURN_OK;
    }
  }
  return BURN_COMMON_FAIL(given->host, INVALID_ARGUMENT, given->plugin,
                          "%s=%.100s is not a size such as 1000000, 64KiB, 512MiB, 2GiB",
                          burn_option_info(given->declared, option)->key, text);
}

/* "a, b and c" of "a|b|c". */
static inline void burn_common_list_words(const char *words, char *text, size_t bytes) {
  size_t used = 0;
  text[0] = '\0';
  while (*words && used < bytes) {
    const size_t word = strcspn(words, "|");
    const char *next = words + word + (words[word] == '|');
    const char *between = used == 0 ? "" : *next ? ", " : " and ";
    const int length = snprintf(text + used, bytes - used, "%s%.*s", between, (int)word, words);
    if (length < 0) return;
    used += (size_t)length;
    words = next;
  }
}

/* The index, from 0, of one of the row's words "a|b|c". Else the failure "plugin: key=text is neither a nor b", or "is
 * none of a, b and c". */
static inline BurnStatus burn_common_word(const BurnCommonSettings *given, uint32_t option, uint32_t *index) {
  const BurnOptionInfo *row = burn_option_info(given->declared, option);
  const char *text = given->values[option];
  const uint32_t count = burn_common_word_count(row->values);
  const uint32_t found = text ? burn_common_word_index(row->values, text) : 0;
  char words[200];
  if (!text) return BURN_OK;
  if (found < count) {
    *index = found;
    return BURN_OK;
  }
  if (count == 2u) {
    const int first = (int)strcspn(row->values, "|");
    return BURN_COMMON_FAIL(given->host, INVALID_ARGUMENT, given->plugin, "%s=%.100s is neither %.*s nor %s", row->key,
                            text, first, row->values, row->values + first + 1);
  }
  burn_common_list_words(row->values, words, sizeof words);
  return BURN_COMMON_FAIL(given->host, INVALID_ARGUMENT, given->plugin, "%s=%.100s is none of %s", row->key, text,
                          words);
}

/* For a row with the values "true|false". */
static inline BurnStatus burn_common_truth(const BurnCommonSettings *given, uint32_t option, bool *truth) {
  uint32_t index = *truth ? 0 : 1;
  const BurnStatus status = burn_common_word(given, option, &index);
  if (status == BURN_OK) *truth = index == 0;
  return status;
}

#endif
