/* store_pattern.h - regular expressions of names, and of strings in graphs. One definition with PCRE2,
 * store_pattern_pcre2.c, and one without, store_pattern_absent.c, which says so. */
#ifndef BURN_IMPORT_STORE_PATTERN_H
#define BURN_IMPORT_STORE_PATTERN_H

#include <burn/error.h>

typedef struct BurnStorePattern BurnStorePattern;

/* A pattern, ready to be used; NULL with the reason in *status, which is BURN_OK before. */
BurnStorePattern *burn__store_pattern(const char *text, BurnStatus *status);
/* The same of one that matches whole texts of UTF-8 only. */
BurnStorePattern *burn__store_pattern_of_all(const char *text, BurnStatus *status);
/* Ends a pattern. NULL is allowed. */
void burn__store_pattern_end(BurnStorePattern *pattern);

/* Whether it matches anywhere in a text. A pattern that tries for too long is refused (OUT_OF_RANGE). */
BurnStatus burn__store_pattern_matches(const BurnStorePattern *pattern, const char *text, bool *matches);

/* The text with every match replaced; in the replacement $1 and ${name} stand for groups. *out is malloc'd. */
BurnStatus burn__store_pattern_replace(const BurnStorePattern *pattern, const char *text, const char *replacement,
                                       char **out);

#endif
