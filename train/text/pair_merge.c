/* pair_merge.c - pairs of neighbours become one.
 *
 * Of all pairs of neighbours the one of the least rank becomes one symbol, of several such the leftmost, until no pair
 * has a rank. Neighbours are a linked list and pairs a heap, so that a word of n symbols takes n log n steps: a hostile
 * text may be one word. */
#include "pair_merge.h"

#include <stdlib.h>

enum {
  FIRST_ROOM = 256,
  MAX_STEPS = 128, /* from the place of a key: half of the places are free, so that a dozen is much by chance */
  MAX_SALTS = 16
};

/* -- maps ------------------------------------------------------------------------------------- */

/* The last steps of MurmurHash3: every bit of the key changes half of those of the place. */
static size_t place_of(const BurnPairMap *map, uint64_t key) {
  key += UINT64_C(0x9e3779b97f4a7c15) * (map->salt + UINT64_C(1));
  key = (key ^ key >> 33) * UINT64_C(0xff51afd7ed558ccd);
  key = (key ^ key >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
  return (size_t)(key ^ key >> 33) & (map->room - 1);
}

static size_t slot_of(const BurnPairMap *map, uint64_t key, size_t *steps) {
  size_t slot = place_of(map, key);
  for (*steps = 0; map->values[slot] >= 0 && map->keys[slot] != key; ++*steps) slot = (slot + 1) & (map->room - 1);
  return slot;
}

int64_t *burn__pair_find(const BurnPairMap *map, uint64_t key) {
  if (map->count == 0) return NULL;
  size_t steps;
  const size_t slot = slot_of(map, key, &steps);
  return map->values[slot] >= 0 ? &map->values[slot] : NULL;
}

void burn__pair_release(BurnPairMap *map) {
  free(map->keys);
  free(map->values);
  *map = (BurnPairMap){NULL, NULL, 0, 0, 0};
}

/* All keys in arrays of that room, in the order of a salt. */
static bool map_move(BurnPairMap *map, size_t room, uint32_t salt) {
  const BurnPairMap old = *map;
  size_t steps;
  uint64_t *keys = calloc(room, sizeof *keys);
  int64_t *values = malloc(room * sizeof *values);
  if (keys == NULL || values == NULL) {
    free(keys);
    free(values);
    return false;
  }
  for (size_t i = 0; i < room; i++) values[i] = -1;
  map->keys = keys;
  map->values = values;
  map->room = room;
  map->salt = salt;
  for (size_t i = 0; i < old.room; i++) {
    if (old.values[i] < 0) continue;
    const size_t slot = slot_of(map, old.keys[i], &steps);
    keys[slot] = old.keys[i];
    values[slot] = old.values[i];
  }
  free(old.keys);
  free(old.values);
  return true;
}

/* A file may list keys that have one place. They do not have it in the orders of other salts, too. */
bool burn__pair_put(BurnPairMap *map, uint64_t key, int64_t value) {
  size_t steps;
  const size_t room = map->room > 0 ? 2 * map->room : FIRST_ROOM;
  if (2 * (map->count + 1) > map->room && !map_move(map, room, map->salt)) return false;
  size_t slot = slot_of(map, key, &steps);
  while (steps > MAX_STEPS && map->salt < MAX_SALTS) {
    if (!map_move(map, map->room, map->salt + 1)) return false;
    slot = slot_of(map, key, &steps);
  }
  map->keys[slot] = key;
  map->values[slot] = value;
  map->count++;
  return true;
}

/* -- words ------------------------------------------------------------------------------------ */

/* Two neighbours that could be merged, as they were when they were found. */
struct BurnMergeCandidate {
  int64_t rank, at;
  int32_t left, right, merged;
};

static bool comes_before(const BurnMergeCandidate *a, const BurnMergeCandidate *b) {
  return a->rank != b->rank ? a->rank < b->rank : a->at < b->at;
}

static void candidate_push(BurnMergeWord *word, BurnMergeCandidate candidate) {
  size_t at = word->heap_count++;
  for (size_t above = (at - 1) / 2; at > 0 && comes_before(&candidate, &word->heap[above]); above = (at - 1) / 2) {
    word->heap[at] = word->heap[above];
    at = above;
  }
  word->heap[at] = candidate;
}

static BurnMergeCandidate candidate_pop(BurnMergeWord *word) {
  const BurnMergeCandidate first = word->heap[0], last = word->heap[--word->heap_count];
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

/* The pair that begins at a link, if it can be merged. A word of n symbols never has more than 3 n of them. */
static void pair_offer(BurnMergeWord *word, int64_t at, BurnMergeFind *find, const void *context) {
  if (at < 0 || word->links[at].after < 0) return;
  const BurnMergeLink *left = &word->links[at], *right = &word->links[left->after];
  BurnMergeCandidate candidate = {.at = at, .left = left->id, .right = right->id};
  if (find(context, left, right, &candidate.rank, &candidate.merged)) candidate_push(word, candidate);
}

static BurnStatus word_grow(BurnMergeWord *word) {
  const size_t room = word->room > 0 ? 2 * word->room : FIRST_ROOM;
  const bool fits = room <= (size_t)PTRDIFF_MAX / 4 / sizeof(BurnMergeCandidate);
  BurnMergeLink *links = fits ? realloc(word->links, room * sizeof *links) : NULL;
  if (links != NULL) word->links = links;
  BurnMergeCandidate *heap =
      links != NULL ? malloc(3 * room * sizeof *heap) : NULL; /* it is empty while symbols come */
  if (heap == NULL)
    return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "tokenizer: no memory for a word of %zu symbols", room);
  free(word->heap);
  word->heap = heap;
  word->room = room;
  return BURN_OK;
}

BurnStatus burn__merge_add(BurnMergeWord *word, int32_t id, size_t begin, size_t end) {
  if (word->count == word->room) {
    const BurnStatus status = word_grow(word);
    if (status != BURN_OK) return status;
  }
  const int64_t at = (int64_t)word->count++;
  word->links[at] = (BurnMergeLink){id, begin, end, at - 1, -1};
  if (at > 0) word->links[at - 1].after = at;
  return BURN_OK;
}

void burn__merge_all(BurnMergeWord *word, BurnMergeFind *find, const void *context) {
  word->heap_count = 0;
  for (size_t i = 0; i + 1 < word->count; i++) pair_offer(word, (int64_t)i, find, context);
  while (word->heap_count > 0) {
    const BurnMergeCandidate next = candidate_pop(word);
    BurnMergeLink *left = &word->links[next.at];
    if (left->id != next.left || left->after < 0 || word->links[left->after].id != next.right) continue;
    BurnMergeLink *right = &word->links[left->after];
    left->id = next.merged;
    left->end = right->end;
    left->after = right->after;
    right->id = -1;
    if (left->after >= 0) word->links[left->after].before = next.at;
    pair_offer(word, left->before, find, context);
    pair_offer(word, next.at, find, context);
  }
}

void burn__merge_release(BurnMergeWord *word) {
  free(word->links);
  free(word->heap);
  *word = (BurnMergeWord){NULL, NULL, 0, 0, 0};
}

/* -- bytes as characters ---------------------------------------------------------------------- */

static bool is_printable(uint32_t code) {
  return (code >= '!' && code <= '~') || (code >= 0xa1 && code <= 0xac) || (code >= 0xae && code <= 0xff);
}

uint32_t burn__byte_character(uint8_t byte) {
  if (is_printable(byte)) return byte;
  return byte <= 0x20 ? 0x100u + byte : byte <= 0xa0 ? 0x121u + byte - 0x7fu : 0x143u; /* U+0100 on, in their order */
}

int burn__character_byte(uint32_t code) {
  if (code < 0x100) return is_printable(code) ? (int)code : -1;
  if (code <= 0x120) return (int)(code - 0x100);
  if (code <= 0x142) return (int)(code - 0x121 + 0x7f);
  return code == 0x143 ? 0xad : -1;
}
