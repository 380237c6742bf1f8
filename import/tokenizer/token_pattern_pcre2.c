/* token_pattern_pcre2.c - regular expressions that cut texts, by PCRE2, over characters with Unicode's properties. Both
 * pattern and text may be hostile, so steps, depth and memory of a match are bounded. */
#include "token_pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

enum { MATCH_LIMIT = 1000000, DEPTH_LIMIT = 10000, HEAP_LIMIT = 16384 /* KiB */ };

struct TokenPattern {
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

TokenPattern *burn__token_pattern(const char *text, BurnStatus *status) {
  int code = 0;
  PCRE2_SIZE at = 0;
  const size_t length = strlen(text);
  TokenPattern *pattern = calloc(1, sizeof *pattern + length + 1);
  if (pattern == NULL) {
    *status = no_memory();
    return NULL;
  }
  memcpy(pattern->text, text, length);
  pattern->limits = pcre2_match_context_create(NULL);
  pattern->code =
      pcre2_compile((PCRE2_SPTR)text, length, PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C, &code, &at, NULL);
  if (pattern->code != NULL && pattern->limits != NULL) {
    (void)pcre2_jit_compile(pattern->code, PCRE2_JIT_COMPLETE); /* without it the interpreter matches */
    (void)pcre2_set_match_limit(pattern->limits, MATCH_LIMIT);
    (void)pcre2_set_depth_limit(pattern->limits, DEPTH_LIMIT);
    (void)pcre2_set_heap_limit(pattern->limits, HEAP_LIMIT);
    return pattern;
  }
  *status = pattern->code != NULL ? no_memory() : failure(text, code);
  burn__token_pattern_end(pattern);
  return NULL;
}

void burn__token_pattern_end(TokenPattern *pattern) {
  if (pattern == NULL) return;
  pcre2_code_free(pattern->code);
  pcre2_match_context_free(pattern->limits);
  free(pattern);
}

BurnStatus burn__token_pattern_each(const TokenPattern *pattern, const char *text, size_t length,
                                    TokenPatternFound *found, void *context) {
  pcre2_match_data *data = pcre2_match_data_create_from_pattern(pattern->code, NULL);
  if (data == NULL) return no_memory();
  int code = 1;
  uint32_t options = 0; /* the first match checks the whole text */
  for (size_t at = 0; at < length && code >= 0;) {
    code = pcre2_match(pattern->code, (PCRE2_SPTR)text, length, at, options, data, pattern->limits);
    if (code < 0) break;
    options = PCRE2_NO_UTF_CHECK;
    const PCRE2_SIZE *ends = pcre2_get_ovector_pointer(data);
    if (ends[1] > ends[0] && ends[0] >= at) found(context, ends[0], ends[1]);
    at = ends[1] > at ? ends[1] : at + 1;
    while (at < length && ((unsigned char)text[at] & 0xc0) == 0x80) at++;
  }
  pcre2_match_data_free(data);
  return code >= 0 || code == PCRE2_ERROR_NOMATCH ? BURN_OK : failure(pattern->text, code);
}
