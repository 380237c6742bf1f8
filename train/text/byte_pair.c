/* byte_pair.c - texts by a vocabulary of pairs of bytes.
 *
 * A word begins as its bytes. Of all pairs of neighbours the one whose merge comes first in the list becomes one
 * token, of several such the leftmost, until no pair is in the list. Neighbours are a linked list and pairs a heap, so
 * that a word of n bytes takes n log n steps: a hostile text may be one word. */
#include "byte_pair.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_ROOM = 256 };

/* -- maps ------------------------------------------------------------------------------------- */

static size_t slot_of(const BurnPairMap *map, uint64_t key) {
  uint64_t mixed = key * UINT64_C(0x9e3779b97f4a7c15);
  size_t slot = (size_t)(mixed >> 32) & (map->room - 1);
  while (map->values[slot] >= 0 && map->keys[slot] != key) slot = (slot + 1) & (map->room - 1);
  return slot;
}

int64_t *burn__pair_find(const BurnPairMap *map, uint64_t key) {
  if (map->count == 0) return NULL;
  const size_t slot = slot_of(map, key);
  return map->values[slot] >= 0 ? &map->values[slot] : NULL;
}

void burn__pair_release(BurnPairMap *map) {
  free(map->keys);
  free(map->values);
  *map = (BurnPairMap){NULL, NULL, 0, 0};
}

static bool map_grow(BurnPairMap *map) {
  BurnPairMap grown = {NULL, NULL, map->count, map->room > 0 ? 2 * map->room : FIRST_ROOM};
  grown.keys = calloc(grown.room, sizeof *grown.keys);
  grown.values = malloc(grown.room * sizeof *grown.values);
  if (grown.keys == NULL || grown.values == NULL) {
    burn__pair_release(&grown);
    return false;
  }
  for (size_t i = 0; i < grown.room; i++) grown.values[i] = -1;
  for (size_t i = 0; i < map->room; i++) {
    if (map->values[i] < 0) continue;
    const size_t slot = slot_of(&grown, map->keys[i]);
    grown.keys[slot] = map->keys[i];
    grown.values[slot] = map->values[i];
  }
  burn__pair_release(map);
  *map = grown;
  return true;
}

bool burn__pair_put(BurnPairMap *map, uint64_t key, int64_t value) {
  if (2 * (map->count + 1) > map->room && !map_grow(map)) return false;
  const size_t slot = slot_of(map, key);
  map->keys[slot] = key;
  map->values[slot] = value;
  map->count++;
  return true;
}

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

/* A token of the word, between its neighbours; -1 at the ends. Merged into the one before, its id is -1. */
typedef struct Link {
  int32_t id;
  int64_t before, after;
} Link;

/* Two neighbours that could be merged, as they were when they were found. */
typedef struct Candidate {
  int64_t rank, at;
  int32_t left, right;
} Candidate;

typedef struct Word {
  Link *links;
  Candidate *heap; /* the first is the next to merge */
  size_t heap_count, room;
} Word;

static bool comes_before(const Candidate *a, const Candidate *b) {
  return a->rank != b->rank ? a->rank < b->rank : a->at < b->at;
}

static void candidate_push(Word *word, Candidate candidate) {
  size_t at = word->heap_count++;
  for (size_t above = (at - 1) / 2; at > 0 && comes_before(&candidate, &word->heap[above]); above = (at - 1) / 2) {
    word->heap[at] = word->heap[above];
    at = above;
  }
  word->heap[at] = candidate;
}

static Candidate candidate_pop(Word *word) {
  const Candidate first = word->heap[0], last = word->heap[--word->heap_count];
  size_t at = 0;
  for (size_t below = 1; below < word->heap_count; below = 2 * at + 1) {
    if (below + 1 < word->heap_count && comes_before(&word->heap[below + 1], &word->heap[below])) below++;
    if (!comes_before(&word->heap[below], &last)) break;
    word->heap[at] = word->heap[below];
    at = below;
  }
  word->heap[at] = last;
  return first;
}

/* The pair that begins at a link, if it can be merged. A word of n tokens never has more than 3 n of them. */
static void pair_offer(const BurnBytePairs *pairs, Word *word, int64_t at) {
  if (at < 0 || word->links[at].after < 0) return;
  const int32_t left = word->links[at].id, right = word->links[word->links[at].after].id;
  const int64_t *rank = burn__pair_find(&pairs->ranks, burn__pair_key(left, right));
  if (rank != NULL) candidate_push(word, (Candidate){*rank, at, left, right});
}

static void pairs_merge(const BurnBytePairs *pairs, Word *word) {
  while (word->heap_count > 0) {
    const Candidate next = candidate_pop(word);
    Link *left = &word->links[next.at];
    if (left->id != next.left || left->after < 0 || word->links[left->after].id != next.right) continue;
    Link *right = &word->links[left->after];
    left->id = pairs->merges[next.rank].merged;
    left->after = right->after;
    right->id = -1;
    if (left->after >= 0) word->links[left->after].before = next.at;
    pair_offer(pairs, word, left->before);
    pair_offer(pairs, word, next.at);
  }
}

static BurnStatus word_room(Word *word, size_t length) {
  if (length <= word->room) return BURN_OK;
  free(word->links);
  free(word->heap);
  const bool fits = length <= (size_t)PTRDIFF_MAX / 4 / sizeof(Candidate);
  word->links = fits ? malloc(length * sizeof *word->links) : NULL;
  word->heap = fits ? malloc(3 * length * sizeof *word->heap) : NULL;
  word->room = word->links != NULL && word->heap != NULL ? length : 0;
  return word->room > 0 ? BURN_OK
                        : burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "byte_pair: no memory for %zu bytes", length);
}

static BurnStatus word_encode(const BurnBytePairs *pairs, const char *text, size_t length, Word *word,
                              BurnTokenList *tokens) {
  BurnStatus status = word_room(word, length);
  if (status != BURN_OK || word->links == NULL) return status; /* none: a word of no bytes */
  for (size_t i = 0; i < length; i++) {
    const uint8_t byte = (uint8_t)text[i];
    if (pairs->of_byte[byte] < 0)
      return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "byte_pair: byte 0x%02x is not in the vocabulary",
                              (unsigned)byte);
    word->links[i] = (Link){pairs->of_byte[byte], (int64_t)i - 1, i + 1 < length ? (int64_t)i + 1 : -1};
  }
  word->heap_count = 0;
  for (size_t i = 0; i + 1 < length; i++) pair_offer(pairs, word, (int64_t)i);
  pairs_merge(pairs, word);
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
  Word word = {NULL, NULL, 0, 0};
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
  free(word.links);
  free(word.heap);
  return status;
}

static const char *byte_pair_token(void *context, int64_t id, size_t *length) {
  const BurnBytePairs *pairs = context;
  *length = pairs->tokens[id].length;
  return pairs->tokens[id].bytes;
}

BurnTokenizer *burn__byte_pairs_tokenizer(BurnBytePairs *pairs, BurnStatus *status) {
  const BurnTokenizerInterface interface = {pairs->token_count, byte_pair_encode, byte_pair_token,
                                            burn__byte_pairs_destroy, pairs};
  return burn_tokenizer_create(&interface, status);
}

const BurnBytePairs *burn__byte_pairs_of(const BurnTokenizer *tokenizer) {
  const BurnTokenizerInterface *interface = burn__tokenizer_interface(tokenizer);
  return interface->encode == byte_pair_encode ? interface->context : NULL;
}

/* -- bytes as characters ---------------------------------------------------------------------- */

static bool is_printable(uint32_t code) {
  return (code >= '!' && code <= '~') || (code >= 0xa1 && code <= 0xac) || (code >= 0xae && code <= 0xff);
}

uint32_t burn__byte_character(uint8_t byte) {
  uint32_t others = 0;
  if (is_printable(byte)) return byte;
  for (uint32_t i = 0; i < byte; i++) others += !is_printable(i);
  return 256 + others;
}

int burn__character_byte(uint32_t code) {
  uint32_t next = 256;
  if (code < 256) return is_printable(code) ? (int)code : -1;
  for (uint32_t byte = 0; byte < 256; byte++)
    if (!is_printable(byte) && next++ == code) return (int)byte;
  return -1;
}
