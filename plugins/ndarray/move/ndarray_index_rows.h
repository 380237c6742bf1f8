/* ndarray_index_rows.h - a call that reads or writes through indices, shared by ndarray_index.c and
 * ndarray_index_rows.c. */
#ifndef BURN_NDARRAY_INDEX_ROWS_H
#define BURN_NDARRAY_INDEX_ROWS_H

#include "elementwise/ndarray_kernels.h"
#include "ndarray_index.h"
#include "ndarray_moves.h"

#define ND_ROWS_AHEAD 4 /* rows that are asked for before they are needed: nothing else can guess where they lie */

/* Checked indices in i64. */
typedef struct NdIndices {
  const int64_t *values;
  int64_t count;
  NdTensor *packed; /* holds the indices as given */
  int64_t *copy;    /* converted ones, or NULL if the given ones are i64 */
  uint64_t copy_bytes;
} NdIndices;

typedef void (*NdUpdateRow)(int64_t n, void *to, const void *values);
typedef void (*NdUpdateAt)(int64_t n, void *to, const int64_t *offsets, const void *values);

/* The indexed tensor is [outer, size, inner]; the other side, results read or values written, [outer, picks, inner]. */
typedef struct NdAccess {
  NdIndices indices; /* [picks] for select, [outer, picks, inner] for gather */
  int64_t outer, size, inner, picks;
  int64_t element_bytes;
  const NdMoves *moves;
  int64_t fetched; /* bytes of a row to ask for */
  const char *from;
  char *to;
  NdLoop update; /* x, v -> x; or update_row where there is no such loop */
  NdUpdateRow update_row;
  NdUpdateAt update_at;
  const struct NdPicks *first; /* [size] */
  const int32_t *next;         /* [picks] */
  const char *old;             /* what `to` was made of, maybe itself */
  bool streams;
  bool fetches;  /* values of the next picks are asked for */
  bool adds_f32; /* moves->add_rows does what update does */
} NdAccess;

/* What nd_update_row changes n elements by: made once for many rows. */
static inline NdRun nd_update_run(int64_t n) { return (NdRun){.step = {1, 1}, .count = n}; }

/* to = x with values put to it; x may be `to`. */
static inline void nd_update_row(const NdAccess *access, NdRun *run, void *to, const void *x, const void *values) {
  if (access->update) {
    run->out = to;
    run->in[0] = x;
    run->in[1] = values;
    access->update(run);
    return;
  }
  if (to != x) memcpy(to, x, (size_t)(run->count * access->element_bytes));
  access->update_row(run->count, to, values);
}

/* Writes by rows of the result where that makes sense; else false, and *out is what it was. */
bool nd_assign_rows(Ndarray *nd, const BurnOpCall *call, NdAccess *access, NdTensor **out);

#endif
