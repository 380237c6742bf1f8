/* byte_pair.h - a vocabulary of pairs of bytes, and the maps that it is found by. */
#ifndef BURN_TRAIN_BYTE_PAIR_H
#define BURN_TRAIN_BYTE_PAIR_H

#include "pair_merge.h"
#include "text_private.h"

/* The bytes of a token, within the vocabulary's text. */
typedef struct BurnPiece {
  const char *bytes;
  size_t length;
} BurnPiece;

/* Two tokens that become one. */
typedef struct BurnMerge {
  int32_t left, right, merged;
} BurnMerge;

/* The vocabulary. */
typedef struct BurnBytePairs {
  BurnPiece *tokens; /* [token_count], each malloc'd */
  size_t token_count, token_room;
  BurnMerge *merges; /* [merge_count], in order */
  size_t merge_count, merge_room;
  int32_t of_byte[256]; /* -1: no token */
  BurnPairMap ranks;    /* pair of tokens to the index of its merge */
  int32_t *specials;    /* [special_count], the longest text first */
  size_t special_count;
} BurnBytePairs;

enum { BURN_MAX_SPECIALS = 256 };
/* That there are at most so many, and that none is NULL. */
BurnStatus burn__specials_check(const BurnSpecialTokens *specials);

BurnBytePairs *burn__byte_pairs_create(void); /* NULL for want of memory */
void burn__byte_pairs_destroy(void *pairs);
/* Adds a token with these bytes, which are copied; false for want of memory. */
bool burn__byte_pairs_token(BurnBytePairs *pairs, const char *bytes, size_t length);
/* Adds a merge after the others; false for want of memory. */
bool burn__byte_pairs_merge(BurnBytePairs *pairs, BurnMerge merge);
/* The specials by their tokens' numbers, given in any order; false for want of memory. */
bool burn__byte_pairs_specials(BurnBytePairs *pairs, const int32_t *ids, size_t count);
/* A tokenizer of the vocabulary, which is taken. */
BurnTokenizer *burn__byte_pairs_tokenizer(BurnBytePairs *pairs, BurnStatus *status);
/* The vocabulary of such a tokenizer; NULL if it is of another kind. */
const BurnBytePairs *burn__byte_pairs_of(const BurnTokenizer *tokenizer);

#endif
