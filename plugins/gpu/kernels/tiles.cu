/* tiles.cu - before the texts whose threads keep tiles of results in registers; sums.cu comes before it. Tiles of both operands lie
 * in shared memory, each step of k as a row of fours; a thread has results 4 by 4, from its four on and every SIDE fours further,
 * or those of one row. */
#define TILE_PITCH(lines) ((lines) + 4) /* elements from one step to the next */
#define TOGETHER(lines) ((lines) < 4 ? (lines) : 4) /* a thread has beside each other */

/* Four neighbours, by one access: in shared memory, and of an operand. */
struct alignas(16) Four { A at[4]; };
struct alignas(4 * sizeof(IN0)) Operands { IN0 at[4]; };

static __device__ inline void burn_read_four(A *to, const IN0 *from) {
  const Operands four = *(const Operands *)from;
#pragma unroll
  for (int e = 0; e < 4; e++) to[e] = (A)burn_get(four.at[e]);
}

template <int ROWS, int COLUMNS> static __device__ inline void burn_clear(A sum[ROWS][COLUMNS]) {
#pragma unroll
  for (int i = 0; i < ROWS; i++)
#pragma unroll
    for (int j = 0; j < COLUMNS; j++) sum[i][j] = (A)0;
}

/* LINES elements of a step of k: from four `at` on, or the one that `at` counts. */
template <int LINES, int SIDE> static __device__ inline void burn_read_step(A to[LINES], const Four *tile, int k, int at) {
  if (LINES == 1) {
    to[0] = tile[(k * TILE_PITCH(SIDE) + at) / 4].at[at % 4];
    return;
  }
#pragma unroll
  for (int f = 0; f + 4 <= LINES; f += 4) {
    const Four x = tile[(k * TILE_PITCH(LINES * SIDE) + f * SIDE) / 4 + at];
#pragma unroll
    for (int e = 0; e < 4; e++) to[f + e] = x.at[e];
  }
}

/* sum[i][j] += left[.., row i] * right[.., column j], for all DEPTH_OF_TILES steps of the tiles, UNROLLED at once; the rows and the
 * columns begin with number `row` and `column` of those that threads have. */
template <int ROWS, int COLUMNS, int ROW_SIDE, int COLUMN_SIDE, int DEPTH_OF_TILES, int UNROLLED>
static __device__ inline void burn_multiply(A sum[ROWS][COLUMNS], const Four *left, int row, const Four *right, int column) {
#if defined(BURN_SPIRV)
#pragma unroll
#else
#pragma unroll UNROLLED
#endif
  for (int k = 0; k < DEPTH_OF_TILES; k++) {
    A a[ROWS], b[COLUMNS];
    burn_read_step<ROWS, ROW_SIDE>(a, left, k, row);
    burn_read_step<COLUMNS, COLUMN_SIDE>(b, right, k, column);
#pragma unroll
    for (int i = 0; i < ROWS; i++)
#pragma unroll
      for (int j = 0; j < COLUMNS; j++) sum[i][j] = burn_fused(a[i], b[j], sum[i][j]);
  }
}
