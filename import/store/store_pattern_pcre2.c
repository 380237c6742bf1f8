/* store_pattern_pcre2.c - regular expressions of names, by PCRE2, byte by byte. A pattern may come from a user and a
 * name from a file, so how long they try, and how much memory they take, is bounded. */
#include "store_pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

enum { MATCH_LIMIT = 200000, DEPTH_LIMIT = 2000, HEAP_LIMIT = 4096 /* KiB */, RESULT_LIMIT = 1 << 16 };

struct BurnStorePattern {
  pcre2_code *code;
  pcre2_match_context *limits;
  char text[]; /* for messages */
};

static BurnStatus failure(const char *pattern, int code) {
  char reason[128] = "";
  (void)pcre2_get_error_message(code, (PCRE2_UCHAR *)reason, sizeof reason);
  return burn_status_make(BURN_STATUS_OUT_OF_RANGE, "pattern \"%.80s\": %s", pattern, reason);
}

static BurnStatus no_memory(void) { return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for a pattern"); }

static BurnStorePattern *compiled(const char *text, uint32_t options, BurnStatus *status) {
  int code = 0;
  PCRE2_SIZE at = 0;
  const size_t length = strlen(text);
  BurnStorePattern *pattern = calloc(1, sizeof *pattern + length + 1);
  if (!pattern) {
    *status = no_memory();
    return NULL;
  }
  memcpy(pattern->text, text, length);
  pattern->limits = pcre2_match_context_create(NULL);
  pattern->code = pcre2_compile((PCRE2_SPTR)text, length, options, &code, &at, NULL);
  if (pattern->code && pattern->limits) {
    (void)pcre2_set_match_limit(pattern->limits, MATCH_LIMIT);
    (void)pcre2_set_depth_limit(pattern->limits, DEPTH_LIMIT);
    (void)pcre2_set_heap_limit(pattern->limits, HEAP_LIMIT);
    return pattern;
  }
  *status = pattern->code ? no_memory() : failure(text, code);
  if (!pattern->code && burn_status_code(*status) == BURN_STATUS_OUT_OF_RANGE)
    *status = burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%s, at character %zu", burn_status_message(*status), at);
  burn__store_pattern_end(pattern);
  return NULL;
}

BurnStorePattern *burn__store_pattern(const char *text, BurnStatus *status) { return compiled(text, 0, status); }

BurnStorePattern *burn__store_pattern_of_all(const char *text, BurnStatus *status) {
  const uint32_t options = PCRE2_UTF | PCRE2_ANCHORED | PCRE2_ENDANCHORED | PCRE2_DOLLAR_ENDONLY;
  return compiled(text, options | PCRE2_NEVER_BACKSLASH_C, status);
}

void burn__store_pattern_end(BurnStorePattern *pattern) {
  if (!pattern) return;
  pcre2_code_free(pattern->code);
  pcre2_match_context_free(pattern->limits);
  free(pattern);
}

BurnStatus burn__store_pattern_matches(const BurnStorePattern *pattern, const char *text, bool *matches) {
  pcre2_match_data *data = pcre2_match_data_create(1, NULL);
  if (!data) return no_memory();
  const int code = pcre2_match(pattern->code, (PCRE2_SPTR)text, strlen(text), 0, 0, data, pattern->limits);
  pcre2_match_data_free(data);
  *matches = code >= 0;
  return code >= 0 || code == PCRE2_ERROR_NOMATCH ? BURN_OK : failure(pattern->text, code);
}

BurnStatus burn__store_pattern_replace(const BurnStorePattern *pattern, const char *text, const char *replacement,
                                       char **out) {
  PCRE2_SIZE length = RESULT_LIMIT;
  char *result = malloc(RESULT_LIMIT);
  if (!result) return no_memory();
  const uint32_t options = PCRE2_SUBSTITUTE_GLOBAL | PCRE2_SUBSTITUTE_UNSET_EMPTY;
  const int code = pcre2_substitute(pattern->code, (PCRE2_SPTR)text, strlen(text), 0, options, NULL, pattern->limits,
                                    (PCRE2_SPTR)replacement, strlen(replacement), (PCRE2_UCHAR *)result, &length);
  *out = code >= 0 ? strdup(result) : NULL;
  free(result);
  if (code < 0) return failure(pattern->text, code);
  return *out ? BURN_OK : no_memory();
}
