/* ndarray_index.h - shared by ndarray_index.c (elements found through indices) and ndarray_move.c (elements moved by
 * position). */
#ifndef BURN_NDARRAY_INDEX_H
#define BURN_NDARRAY_INDEX_H

#include "ndarray_internal.h"

/* A tensor with the contents of input i that may be written: the input itself with one more reference if the call
 * allows that and it is contiguous, else a copy. NULL when out of memory. */
NdTensor *nd_writable(Ndarray *nd, const BurnOpCall *call, uint32_t i);

/* Bytes that a chunk of parallel work should move at least, and how many items of so many bytes make a chunk. */
#define ND_MOVE_GRAIN 131072
static inline int64_t nd_move_grain(int64_t bytes) {
  if (bytes < 1) return ND_MOVE_GRAIN;
  return bytes >= ND_MOVE_GRAIN ? 1 : ND_MOVE_GRAIN / bytes;
}

#endif
