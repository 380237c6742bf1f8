/* text_private.h - what the tokenizers share. */
#ifndef BURN_TRAIN_TEXT_PRIVATE_H
#define BURN_TRAIN_TEXT_PRIVATE_H

#include <burn/tokenizer.h>

/* The table of a tokenizer, for functions that are of one kind only. */
const BurnTokenizerInterface *burn__tokenizer_interface(const BurnTokenizer *tokenizer);

/* Stores a failure where there is none yet; returns NULL. */
BurnTokenizer *burn__tokenizer_refused(BurnStatus *status, BurnStatus reason);

/* The character of UTF-8 that the bytes begin with; its length, 1 .. 4, or 0 if there is none (and *code is 0xfffd). */
size_t burn__character(const char *bytes, size_t count, uint32_t *code);

/* The length of the first word of a text that is not empty, as GPT-2's regular expression cuts it:
 * 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+ . A byte that begins no character is one
 * of neither kind. */
size_t burn__word(const char *text, size_t length);

#endif
