/* ndarray_strided.h - element-wise calls whose inputs do not lie as their loop wants them, or whose result is large:
 * what ndarray_elementwise.c fills in, and ndarray_strided.c runs. */
#ifndef BURN_NDARRAY_STRIDED_H
#define BURN_NDARRAY_STRIDED_H

#include "ndarray_kernels.h"
#include "move/ndarray_moves.h"

/* How an input gets to the loop. */
typedef enum NdForm {
  ND_PLAIN,    /* row-major over the result: as it is */
  ND_PERIODIC, /* row-major over the last axes and repeated over the others: from a copy of a period and a block more */
  ND_STEPPED   /* anything else: gathered */
} NdForm;

/* How rows of a tile get to the loop: from the transposed tile, as they lie in the input, or gathered. */
typedef enum NdTileRows { ND_TRANSPOSED_ROWS, ND_OWN_ROWS, ND_GATHERED_ROWS } NdTileRows;

/* A call whose result is made in blocks or tiles. Axes are merged; the result is row-major over shape. */
typedef struct NdStrided {
  NdLoop loop;
  NdRun run; /* scalars; out and in are the first elements */
  const NdMoves *moves;
  NdLoop widen[3], narrow; /* of half inputs and results: casts from and to the f32 of the loop, or NULL */
  uint32_t input_count, rank;
  uint32_t zero_steps; /* bit k: the loop takes a step of 0 for input k; at most one at a time */
  bool streams;        /* the result goes past the caches */
  bool loop_streams;   /* the loop itself writes it there */
  bool by_rows;        /* rows go to the loop directly */
  NdForm form[3];
  int64_t count, block;           /* elements: all, and in a block */
  int64_t out_bytes, in_bytes[3]; /* of an element */
  int64_t period[3];
  uint32_t fast; /* tiles: the axis along which the transposed inputs have a stride of 1 */
  NdTileRows rows[3];
  int64_t columns, across, down; /* of a tile; tiles along the last axis and along `fast` */
  int64_t shape[BURN_MAX_RANK];
  int64_t strides[3][BURN_MAX_RANK];
} NdStrided;

static inline const char *nd_at(const void *base, int64_t bytes) { return (const char *)base + bytes; }

/* Runs e over inputs that are not plain, or halves, or to a large result. */
void nd_run_strided(Ndarray *nd, NdStrided *e, const BurnOpCall *call, int64_t grain);

#endif
