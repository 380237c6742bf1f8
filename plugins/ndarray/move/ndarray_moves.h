/* ndarray_moves.h - inner loops that move memory, compiled once per instruction set: copies past the caches,
 * transposes, and sums of rows that lie anywhere.
 *
 * ndarray_moves_isa.inc holds them; ndarray_moves_{baseline,avx2,avx512}.c include it with other compiler flags. */
#ifndef BURN_NDARRAY_MOVES_H
#define BURN_NDARRAY_MOVES_H

#include "ndarray_internal.h"

#include <string.h>

/* Results from this size on are written past the caches ("streamed"): the old contents of their lines need not be read
 * first, which saves a third of the traffic. Smaller ones are better left in the cache for the op that reads them. */
#define ND_STREAM_BYTES ((int64_t)8 << 20)

/* Rows of up to so many bytes are copied in registers; for longer ones memcpy is as fast. */
#define ND_SHORT_ROW_BYTES 256

/* The loops for one instruction set. */
typedef struct NdMoves {
  /* memcpy past the caches. Lines that `to` shares with its neighbours are written as usual. */
  void (*stream)(void *to, const void *from, int64_t bytes);
  /* Makes what was streamed by this thread visible to others: at the end of a loop body. */
  void (*stream_end)(void);
  /* Asks for memory that will be read soon. It may lie beyond the end of what there is. */
  void (*fetch)(const void *from, int64_t bytes);
  /* Puts rows of 2 to ND_SHORT_ROW_BYTES bytes, which lie `from_step` bytes apart, one after the other. */
  void (*short_rows)(void *to, const void *from, int64_t from_step, int64_t rows, int64_t bytes);
  /* to = x + rows[0] + rows[1] .., in this order; to may be x. */
  void (*add_rows)(int64_t n, float *to, const float *x, const float *const *rows, int64_t count);
  /* to[r * to_step + c] = from[c * from_step + r] for r < rows, c < columns; by log2 of the element size, steps in
   * elements. With `streams` whole lines are written past the caches. */
  void (*transpose[4])(void *to, int64_t to_step, const void *from, int64_t from_step, int64_t rows, int64_t columns,
                       bool streams);
} NdMoves;

extern const NdMoves nd_moves_baseline;
#if defined(BURN_NDARRAY_X86_VARIANTS)
extern const NdMoves nd_moves_avx2, nd_moves_avx512;
#endif

/* The loops for nd->isa. */
static inline const NdMoves *nd_moves(const Ndarray *nd) {
#if defined(BURN_NDARRAY_X86_VARIANTS)
  if (nd->isa == NDARRAY_ISA_AVX512) return &nd_moves_avx512;
  if (nd->isa == NDARRAY_ISA_AVX2) return &nd_moves_avx2;
#endif
  (void)nd;
  return &nd_moves_baseline;
}

/* 0 for 1 byte .. 3 for 8. */
static inline uint32_t nd_log2_bytes(int64_t bytes) { return bytes == 1 ? 0 : bytes == 2 ? 1 : bytes == 4 ? 2 : 3; }

/* memcpy, past the caches if `streams`. */
static inline void nd_copy(const NdMoves *moves, bool streams, void *to, const void *from, int64_t bytes) {
  if (streams) {
    moves->stream(to, from, bytes);
  } else {
    memcpy(to, from, (size_t)bytes);
  }
}

#endif
