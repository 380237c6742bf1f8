/* pair_merge.h - pairs of neighbours of a word become one, those of the least rank first; the map that ranks are found
 * in; bytes as the characters that files of byte pairs have for them. Also compiled into import/tokenizer. */
#ifndef BURN_TRAIN_PAIR_MERGE_H
#define BURN_TRAIN_PAIR_MERGE_H

#include <burn/error.h>

#include <stddef.h>
#include <stdint.h>

/* Numbers by keys of 64 bits; zeros before the first is put in. */
typedef struct BurnPairMap {
  uint64_t *keys;
  int64_t *values; /* -1: nothing here */
  size_t count, room;
  uint32_t salt; /* which of several orders of the keys; another one where many keys had the same place */
} BurnPairMap;

/* The value of a key; NULL if there is none. It may be changed until the next key is put in. */
int64_t *burn__pair_find(const BurnPairMap *map, uint64_t key);
/* Puts a key in that is not there; false for want of memory. Values are 0 and more. */
bool burn__pair_put(BurnPairMap *map, uint64_t key, int64_t value);
void burn__pair_release(BurnPairMap *map);
static inline uint64_t burn__pair_key(int64_t left, int64_t right) { return (uint64_t)left << 32 | (uint64_t)right; }

/* A symbol of the word, between its neighbours; -1 at the ends. Merged into the one before, its id is -1. */
typedef struct BurnMergeLink {
  int32_t id;
  size_t begin, end; /* bytes of the word */
  int64_t before, after;
} BurnMergeLink;

typedef struct BurnMergeCandidate BurnMergeCandidate;

/* Symbols, and memory that the next word uses again. Zeros before the first. */
typedef struct BurnMergeWord {
  BurnMergeLink *links;
  BurnMergeCandidate *heap; /* the first is the next to merge */
  size_t count, heap_count, room;
} BurnMergeWord;

/* Whether two neighbours can be one; if so their rank, the least of which is merged first, and what they become. */
typedef bool BurnMergeFind(const void *context, const BurnMergeLink *left, const BurnMergeLink *right, int64_t *rank,
                           int32_t *merged);

/* Adds a symbol at the end of word->count ones; 0 of them begins a new word. */
BurnStatus burn__merge_add(BurnMergeWord *word, int32_t id, size_t begin, size_t end);
/* Merges until no two neighbours can be one; of equal ranks the leftmost first. The first symbol is links[0], the next
 * of each its `after`. A word of n symbols takes n log n steps. */
void burn__merge_all(BurnMergeWord *word, BurnMergeFind *find, const void *context);
void burn__merge_release(BurnMergeWord *word);

/* What a byte is written as in the files: printable ones as they are, the others from U+0100 on. */
uint32_t burn__byte_character(uint8_t byte);
/* The byte that is written so; -1 if it is none. */
int burn__character_byte(uint32_t code);

#endif
