/* dataset_private.h - what the sources of this folder share about datasets; not installed.
 *
 * A permutation is drawn by Fisher and Yates from the counter-based generator of random.h: two words of one block make
 * 64 bits, draw i uses words 2 i and 2 i + 1 of the key. So it is the same everywhere and depends on nothing but key
 * and count. */
#ifndef BURN_TRAIN_DATASET_PRIVATE_H
#define BURN_TRAIN_DATASET_PRIVATE_H

#include <burn/train/dataset.h>

#include <burn/plugin/random.h>

#include "status_chain.h"

/* A dataset over `count` items in blocks[i], which come from malloc and are taken, also on failure. */
BurnDataset *burn__dataset_of_blocks(const BurnColumn *columns, size_t column_count, void *const *blocks, size_t count,
                                     BurnStatus *status);

/* The bytes of one item of each column into bytes[0 .. count-1], if names, dtypes and shapes are right. */
BurnStatus burn__columns_check(const BurnColumn *columns, size_t count, size_t *bytes);

/* What a reader has left out. Zero-initialised: nothing. */
typedef struct BurnSkips {
  size_t count;
  char first[512]; /* why */
} BurnSkips;

/* One more. */
void burn__skip(BurnSkips *skips, const char *reason);
/* The number goes where the config (or NULL) says; a warning in the log, if there is something to tell. */
void burn__skips_end(const BurnSkips *skips, const BurnReadConfig *config);

/* True if there is a source and nothing has failed before; else the source is dropped and the first failure stays, so
 * that calls can be nested. */
bool burn__source_ready(BurnDataset *source, const char *transform, BurnStatus *status);

/* Drops the source and stores why nothing is made of it; returns NULL. */
BurnDataset *burn__source_refused(BurnDataset *source, BurnStatus *status, BurnStatus reason);

/* A dataset of `count` items of the source, which is taken, also on failure. *order gets room for their indices, which
 * the caller fills in before anybody reads. */
BurnDataset *burn__dataset_ordered(BurnDataset *source, size_t count, const char *transform, size_t **order,
                                   BurnStatus *status);

/* word * limit / 2^64, rounded down: a number below limit. */
static inline uint64_t burn__scale_word(uint64_t word, uint64_t limit) {
  const uint64_t word_low = word & 0xffffffffu, word_high = word >> 32;
  const uint64_t limit_low = limit & 0xffffffffu, limit_high = limit >> 32;
  const uint64_t middle = word_high * limit_low + ((word_low * limit_low) >> 32);
  const uint64_t carry = (middle & 0xffffffffu) + word_low * limit_high;
  return word_high * limit_high + (middle >> 32) + (carry >> 32);
}

/* The seed of part `index` of what is random by `seed`: the order of an epoch, a pass over a dataset. */
static inline uint64_t burn__seed_of_part(uint64_t seed, uint64_t index) {
  uint32_t words[4];
  burn_philox(seed, index, words);
  return (uint64_t)words[0] | (uint64_t)words[1] << 32;
}

/* Fills order[0 .. count-1] with 0 .. count-1 in random order. */
static inline void burn__permutation(uint64_t key, size_t *order, size_t count) {
  uint32_t words[4] = {0};
  for (size_t i = 0; i < count; i++) order[i] = i;
  for (size_t draw = 0; draw + 1 < count; draw++) {
    if (draw % 2 == 0) burn_philox(key, draw / 2, words);
    const size_t half = draw % 2 * 2, last = count - 1 - draw;
    const uint64_t word = (uint64_t)words[half] | (uint64_t)words[half + 1] << 32;
    const size_t chosen = (size_t)burn__scale_word(word, (uint64_t)last + 1);
    const size_t kept = order[last];
    order[last] = order[chosen];
    order[chosen] = kept;
  }
}

#endif
