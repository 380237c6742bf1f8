/* byte_pair.c - texts by a vocabulary of pairs of bytes. A word begins as its bytes, and its
 * pairs are merged (pair_merge.h). */
#include "byte_pair.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_ROOM = 256 };

/* -- the vocabulary --------------------------------------------------------------------------- */

BurnBytePairs *burn__byte_pairs_create(void) {
  BurnBytePairs *pairs = calloc(1, sizeof *pairs);
  for (size_t i = 0; pairs != NULL && i < 256; i++) pairs->of_byte[i] = -1;
  return pairs;
}

void burn__byte_pairs_destroy(void *context) {
  BurnBytePairs *pairs = context;
  if (pairs == NULL) return;
  for (size_t i = 0; i < pairs->token_count; i++) free((void *)(uintptr_t)pairs->tokens[i].bytes);
  free(pairs->tokens);
  free(pairs->merges);
  free(pairs->specials);
  burn__pair_release(&pairs->ranks);
  free(pairs);
}

BurnStatus burn__specials_check(const BurnSpecialTokens *specials) {
  if (specials->count > BURN_MAX_SPECIALS)
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "byte_pair: %zu special tokens, at most %d expected",
                            specials->count, BURN_MAX_SPECIALS);
  for (size_t i = 0; i < specials->count; i++) {
    if (specials->texts != NULL && specials->texts[i] != NULL) continue;
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "byte_pair: special token %zu is NULL", i);
  }
  return BURN_OK;
}

bool burn__byte_pairs_token(BurnBytePairs *pairs, const char *bytes, size_t length) {
  if (pairs->token_count == pairs->token_room) {
    const size_t room = pairs->token_room > 0 ? 2 * pairs->token_room : FIRST_ROOM;
    BurnPiece *grown = realloc(pairs->tokens, room * sizeof *grown);
    if (grown == NULL) return false;
    pairs->tokens = grown;
    pairs->token_room = room;
  }
  char *copy = malloc(length + 1);
  if (copy == NULL) return false;
  if (length > 0) memcpy(copy, bytes, length);
  copy[length] = '\0';
  pairs->tokens[pairs->token_count++] = (BurnPiece){copy, length};
  return true;
}

bool burn__byte_pairs_merge(BurnBytePairs *pairs, BurnMerge merge) {
  if (pairs->merge_count == pairs->merge_room) {
    const size_t room = pairs->merge_room > 0 ? 2 * pairs->merge_room : FIRST_ROOM;
    BurnMerge *grown = realloc(pairs->merges, room * sizeof *grown);
    if (grown == NULL) return false;
    pairs->merges = grown;
    pairs->merge_room = room;
  }
  if (!burn__pair_put(&pairs->ranks, burn__pair_key(merge.left, merge.right), (int64_t)pairs->merge_count))
    return false;
  pairs->merges[pairs->merge_count++] = merge;
  return true;
}

bool burn__byte_pairs_specials(BurnBytePairs *pairs, const int32_t *ids, size_t count) {
  pairs->specials = calloc(count + 1, sizeof *pairs->specials);
  if (pairs->specials == NULL) return false;
  for (size_t i = 0; i < count; i++) {
    size_t at = i;
    for (; at > 0 && pairs->tokens[pairs->specials[at - 1]].length < pairs->tokens[ids[i]].length; at--)
      pairs->specials[at] = pairs->specials[at - 1];
    pairs->specials[at] = ids[i];
  }
  pairs->special_count = count;
  return true;
}

/* -- one word --------------------------------------------------------------------------------- */

static bool pair_rank(const void *context, const BurnMergeLink *left, const BurnMergeLink *right, int64_t *rank,
                      int32_t *merged) {
  const BurnBytePairs *pairs = context;
  const int64_t *found = burn__pair_find(&pairs->ranks, burn__pair_key(left->id, right->id));
  if (found == NULL) return false;
  *rank = *found;
  *merged = pairs->merges[*found].merged;
  return true;
}

static BurnStatus word_encode(const BurnBytePairs *pairs, const char *text, size_t length, BurnMergeWord *word,
                              BurnTokenList *tokens) {
  BurnStatus status = BURN_OK;
  word->count = 0;
  for (size_t i = 0; i < length && status == BURN_OK; i++) {
    const uint8_t byte = (uint8_t)text[i];
    if (pairs->of_byte[byte] < 0)
      return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "byte_pair: byte 0x%02x is not in the vocabulary",
                              (unsigned)byte);
    status = burn__merge_add(word, pairs->of_byte[byte], i, i + 1);
  }
  if (status != BURN_OK || length == 0) return status;
  burn__merge_all(word, pair_rank, pairs);
  for (int64_t at = 0; status == BURN_OK && at >= 0; at = word->links[at].after)
    status = burn_token_list_add(tokens, word->links[at].id);
  return status;
}

/* -- texts ------------------------------------------------------------------------------------ */

/* The special that the text begins with; -1 if there is none. */
static int32_t special_at(const BurnBytePairs *pairs, const char *text, size_t length) {
  for (size_t i = 0; i < pairs->special_count; i++) {
    const BurnPiece *piece = &pairs->tokens[pairs->specials[i]];
    if (piece->length <= length && memcmp(text, piece->bytes, piece->length) == 0) return pairs->specials[i];
  }
  return -1;
}

/* Up to the next special, or to the end. */
static size_t plain_length(const BurnBytePairs *pairs, const char *text, size_t length) {
  size_t plain = 0;
  while (plain < length && special_at(pairs, text + plain, length - plain) < 0) plain++;
  return plain;
}

static BurnStatus byte_pair_encode(void *context, const char *text, size_t length, BurnTokenList *tokens) {
  const BurnBytePairs *pairs = context;
  BurnMergeWord word = {NULL, NULL, 0, 0, 0};
  BurnStatus status = BURN_OK;
  for (size_t at = 0; status == BURN_OK && at < length;) {
    const size_t end = at + (pairs->special_count > 0 ? plain_length(pairs, text + at, length - at) : length - at);
    for (size_t size = 0; status == BURN_OK && at < end; at += size) {
      size = burn__word(text + at, end - at);
      status = word_encode(pairs, text + at, size, &word, tokens);
    }
    if (status != BURN_OK || at == length) break;
    const int32_t special = special_at(pairs, text + at, length - at);
    status = burn_token_list_add(tokens, special);
    at += pairs->tokens[special].length;
  }
  burn__merge_release(&word);
  return status;
}

static const char *byte_pair_token(void *context, int64_t id, size_t *length) {
  const BurnBytePairs *pairs = context;
  *length = pairs->tokens[id].length;
  return pairs->tokens[id].bytes;
}

BurnTokenizer *burn__byte_pairs_tokenizer(BurnBytePairs *pairs, BurnStatus *status) {
  const BurnTokenizerInterface interface = {
      pairs->token_count, byte_pair_encode, byte_pair_token, burn__byte_pairs_destroy, pairs, NULL};
  return burn_tokenizer_create(&interface, status);
}

const BurnBytePairs *burn__byte_pairs_of(const BurnTokenizer *tokenizer) {
  if (tokenizer == NULL) return NULL;
  const BurnTokenizerInterface *interface = burn__tokenizer_interface(tokenizer);
  return interface->encode == byte_pair_encode ? interface->context : NULL;
}
