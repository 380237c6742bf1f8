/* ndarray_sort.h - what the two files of sorting share: rows whose elements are read as keys, and the sort of such
 * entries. */
#ifndef BURN_NDARRAY_SORT_H
#define BURN_NDARRAY_SORT_H

#include "reduce/ndarray_reduce.h"

#define ND_SORT_BLOCK 64 /* elements that `below` looks at */

/* An element: an unsigned key whose order is the one wanted, and where the element was. */
typedef struct NdEntry {
  uint64_t key;
  int64_t index;
} NdEntry;

/* `count` elements that are `stride` apart. */
typedef struct NdRow {
  const char *from;
  int64_t count, stride;
  bool descending;
} NdRow;

/* Of one dtype; NULL where there is none. */
typedef struct NdKeys {
  void (*load)(const NdRow *row, int64_t first, int64_t count, NdEntry *out); /* elements first .. first + count-1 */
  bool (*below)(const NdRow *row, int64_t first,
                uint64_t limit); /* is a key of the block from `first` on below limit? */
} NdKeys;
extern const NdKeys nd_sort_keys[BURN_DTYPE_LIMIT];

/* Sorts by key with room for as many entries; equal keys keep their order. Returns which of the two holds the result.
 */
NdEntry *nd_sort(NdEntry *entries, NdEntry *room, int64_t count);

BurnStatus nd_run_sort_range(Ndarray *nd, const BurnOpCall *call); /* ndarray_sort_range.c */

#endif
