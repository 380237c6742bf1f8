/* tiles.cu - before the texts whose threads keep tiles of results in registers; sums.cu comes before it. Tiles of both operands lie
 * in shared memory, each step of k as a row of fours; a thread has results 4 by 4, from its four on and every SIDE fours further. */
#define TILE_DEPTH 16                   /* steps of k in shared memory, but where a text has its own number */
#define TILE_PITCH(lines) ((lines) + 4) /* elements from one step to the next */

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

/* sum[i][j] += left[.., row i] * right[.., column j], for all DEPTH_OF_TILES steps of the tiles, UNROLLED at once. */
template <int ROWS, int COLUMNS, int ROW_SIDE, int COLUMN_SIDE, int DEPTH_OF_TILES, int UNROLLED>
static __device__ inline void burn_multiply(A sum[ROWS][COLUMNS], const Four *left, const Four *right) {
#if defined(BURN_SPIRV)
#pragma unroll
#else
#pragma unroll UNROLLED
#endif
  for (int k = 0; k < DEPTH_OF_TILES; k++) {
    A a[ROWS], b[COLUMNS];
#pragma unroll
    for (int f = 0; f < ROWS; f += 4) {
      const Four x = left[(k * TILE_PITCH(ROWS * ROW_SIDE) + f * ROW_SIDE) / 4];
#pragma unroll
      for (int e = 0; e < 4; e++) a[f + e] = x.at[e];
    }
#pragma unroll
    for (int f = 0; f < COLUMNS; f += 4) {
      const Four x = right[(k * TILE_PITCH(COLUMNS * COLUMN_SIDE) + f * COLUMN_SIDE) / 4];
#pragma unroll
      for (int e = 0; e < 4; e++) b[f + e] = x.at[e];
    }
#pragma unroll
    for (int i = 0; i < ROWS; i++)
#pragma unroll
      for (int j = 0; j < COLUMNS; j++) sum[i][j] = burn_fused(a[i], b[j], sum[i][j]);
  }
}
