/* tiles.cu - before the texts whose threads keep tiles of results in registers; sums.cu comes before it. Tiles of both operands lie
 * in shared memory, each step of k as a row of fours; a thread has results 4 by 4, from its four on and every SIDE fours further. */
#define TILE_PITCH(lines) ((lines) + 4) /* elements from one step to the next */

/* Four neighbours, by one access: in shared memory, and of an operand. */
struct alignas(16) Four { A at[4]; };
struct alignas(4 * sizeof(IN0)) Operands { IN0 at[4]; };

static __device__ inline void burn_read_four(A *to, const IN0 *from) {
  const Operands four = *(const Operands *)from;
#pragma unroll
  for (int e = 0; e < 4; e++) to[e] = (A)burn_get(four.at[e]);
}

/* Which elements of a tile [LINES, DEPTH_OF_TILES] of an operand a thread reads: the first at (line, k), the next ones a step further:
 * one by one (WAY 0), or four that lie beside each other along k (1) or across it (2). Neighbouring threads read neighbouring
 * elements, or fours of them, whichever axis they lie along. */
struct Reads { int line, k, line_step, k_step; };

template <int WAY, int LINES, int DEPTH_OF_TILES, int COUNT> static __device__ inline Reads burn_reads(bool is_dense_along_k) {
  const int per_line = WAY == 0 ? DEPTH_OF_TILES : DEPTH_OF_TILES / 4, per_step = WAY == 0 ? LINES : LINES / 4;
  const int thread = threadIdx.x;
  const bool along_k = WAY == 0 ? is_dense_along_k : WAY == 1;
  Reads reads;
  reads.line = along_k ? thread / per_line : thread % per_step * (WAY == 2 ? 4 : 1);
  reads.k = along_k ? thread % per_line * (WAY == 1 ? 4 : 1) : thread / per_step;
  reads.line_step = along_k ? COUNT / per_line : 0;
  reads.k_step = along_k ? 0 : COUNT / per_step;
  return reads;
}

/* An operand of a tile: the first element of its lines and steps of k, how many of both there are, and from one to the next. */
struct Operand {
  const IN0 *first;
  int64_t line_stride, k_stride, steps;
  int lines;
};

template <int ROWS, int COLUMNS> static __device__ inline void burn_clear(A sum[ROWS][COLUMNS]) {
#pragma unroll
  for (int i = 0; i < ROWS; i++)
#pragma unroll
    for (int j = 0; j < COLUMNS; j++) sum[i][j] = (A)0;
}

/* LINES elements of a step of k, from four `at` on. */
template <int LINES, int SIDE> static __device__ inline void burn_read_step(A to[LINES], const Four *tile, int k, int at) {
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
