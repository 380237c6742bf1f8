/* token_pattern_absent.c - what a build without PCRE2 says of regular expressions of tokenizers. */
#include "token_pattern.h"

TokenPattern *burn__token_pattern(const char *text, BurnStatus *status) {
  *status = burn_status_make(BURN_STATUS_UNIMPLEMENTED,
                             "the tokenizer cuts texts by the pattern \"%.80s\", and this build of burn_import has no "
                             "PCRE2; install libpcre2-dev and build it again",
                             text);
  return NULL;
}

void burn__token_pattern_end(TokenPattern *pattern) { (void)pattern; }

BurnStatus burn__token_pattern_each(const TokenPattern *pattern, const char *text, size_t length,
                                    TokenPatternFound *found, void *context) {
  (void)pattern, (void)text, (void)length, (void)found, (void)context;
  return BURN_OK; /* there is no pattern to come here with */
}
