/* store_pattern_absent.c - what a build without PCRE2 says of regular expressions. */
#include "store_pattern.h"

static BurnStatus absent(const char *text) {
  return burn_status_make(
      BURN_STATUS_UNIMPLEMENTED,
      "pattern \"%.80s\": this build of burn_import has no PCRE2; install libpcre2-dev and build it "
      "again",
      text);
}

BurnStorePattern *burn__store_pattern(const char *text, BurnStatus *status) {
  *status = absent(text);
  return NULL;
}

BurnStorePattern *burn__store_pattern_of_all(const char *text, BurnStatus *status) {
  return burn__store_pattern(text, status);
}

void burn__store_pattern_end(BurnStorePattern *pattern) { (void)pattern; }

BurnStatus burn__store_pattern_matches(const BurnStorePattern *pattern, const char *text, bool *matches) {
  (void)pattern;
  *matches = false;
  return absent(text);
}

BurnStatus burn__store_pattern_replace(const BurnStorePattern *pattern, const char *text, const char *replacement,
                                       char **out) {
  (void)pattern;
  (void)replacement;
  *out = NULL;
  return absent(text);
}
