/* token_pattern.h - regular expressions that cut texts. One definition with PCRE2, token_pattern_pcre2.c, and one
 * without, token_pattern_absent.c, which says so. */
#ifndef BURN_IMPORT_TOKEN_PATTERN_H
#define BURN_IMPORT_TOKEN_PATTERN_H

#include <burn/error.h>

#include <stddef.h>

typedef struct TokenPattern TokenPattern;

/* A pattern over characters; NULL with the reason in *status. */
TokenPattern *burn__token_pattern(const char *text, BurnStatus *status);
void burn__token_pattern_end(TokenPattern *pattern);

/* Called for every match, in order. */
typedef void TokenPatternFound(void *context, size_t begin, size_t end);
/* All matches in a text. A pattern that tries for too long is refused, and so is a text that is not UTF-8, which steps
 * before may have made of one that is (OUT_OF_RANGE). */
BurnStatus burn__token_pattern_each(const TokenPattern *pattern, const char *text, size_t length,
                                    TokenPatternFound *found, void *context);

#endif
