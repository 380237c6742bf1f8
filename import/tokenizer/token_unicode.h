/* token_unicode.h - characters: what they are, by utf8proc, and Unicode's normal forms with what each character comes
 * from. */
#ifndef BURN_IMPORT_TOKEN_UNICODE_H
#define BURN_IMPORT_TOKEN_UNICODE_H

#include "pair_merge.h"
#include "text_private.h" /* burn__character */
#include "token_text.h"

/* The character at a place of a valid text; its bytes go to *size. */
static inline uint32_t burn__character_at(const TokenSlice *text, size_t at, size_t *size) {
  uint32_t code = 0;
  *size = burn__character(text->bytes + at, text->count - at, &code);
  if (*size == 0) *size = 1;
  return code;
}

/* A code point as UTF-8; its length. */
size_t burn__character_bytes(uint32_t code, char bytes[4]);

/* How many bytes that begin no character are the longest beginning of one; at least 1. */
size_t burn__character_beginning(const char *bytes, size_t count);

bool burn__is_space(uint32_t code);       /* White_Space */
bool burn__is_mark(uint32_t code);        /* \p{M} */
bool burn__is_number(uint32_t code);      /* \p{N} */
bool burn__is_word(uint32_t code);        /* \w: alphabetic, marks, decimal digits, connectors */
bool burn__is_punctuation(uint32_t code); /* \p{P} */
bool burn__is_nonspacing(uint32_t code);  /* \p{Mn} */
bool burn__is_control(uint32_t code);     /* \p{Cc} \p{Cf} \p{Co} */

enum { TOKEN_COMPOSE = 1, TOKEN_COMPATIBLE = 2 };
/* The text in normal form D; C with TOKEN_COMPOSE, KD and KC with TOKEN_COMPATIBLE. */
void burn__normal_form(const TokenSlice *in, unsigned form, TokenParts *out);

/* In lower case, character by character. */
void burn__lower_case(const TokenSlice *in, TokenParts *out);

/* The end of the grapheme cluster that begins here. */
size_t burn__grapheme_end(const TokenSlice *text, size_t begin);

#endif
