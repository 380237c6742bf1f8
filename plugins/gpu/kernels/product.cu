/* product.cu - products of any dtype and strides; sums.cu and tiles.cu come before. A block makes TILE_ROWS x TILE_COLUMNS results of a
 * part of k, by DEPTH steps of it at a time in shared memory, a thread MY_ROWS x MY_COLUMNS of them in registers. BURN_VARIANT % 4 is
 * the tile (parameters.h). + 4 * how the left operand is read, + 12 * how the right one is: 0 by elements; by four of them that
 * lie beside each other along k (1), or across it (2).
 *
 * A result adds along k by FMA, one after the other, from 0: it is the same in all variants. Parts of k have sums of their
 * own, [parts, batches, m, n], and product_parts.cu adds these. Where results are what is
 * added in (f32, f64), k is cut into blocks of p.depth, but for the largest tiles on Vulkan, whose registers are full: they
 * lose a quarter of their speed. The blocks' sums are added one after the other; meanwhile the sum of those before lies in
 * the result's place. Halves and f32 add in f32, f64 in f64, integers wrap; the bias is added before the rounding. */
#define TILE_NUMBER (BURN_VARIANT % 4)
#define LEFT_WAY (BURN_VARIANT / 4 % 3)
#define RIGHT_WAY (BURN_VARIANT / 12)
#define TILE_ROWS GPU_PRODUCT_ROWS(TILE_NUMBER)
#define TILE_COLUMNS GPU_PRODUCT_COLUMNS(TILE_NUMBER)
#define MY_ROWS GPU_PRODUCT_MY_ROWS(TILE_NUMBER)
#define MY_COLUMNS GPU_PRODUCT_MY_COLUMNS(TILE_NUMBER)
#define DEPTH GPU_PRODUCT_DEPTH(TILE_NUMBER, LEFT_WAY == 1 && RIGHT_WAY == 1)
#define THREADS GPU_PRODUCT_THREADS(TILE_NUMBER)
/* Threads beside each other along rows and columns of the tile. */
#define ROW_SIDE (TILE_ROWS / MY_ROWS)
#define COLUMN_SIDE (TILE_COLUMNS / MY_COLUMNS)
#define UNROLLED (TILE_NUMBER < 2 ? 16 : TILE_NUMBER == 2 ? 4 : 2) /* steps of k at once: NVRTC has no registers for more */
#define BAND 8 /* rows of tiles that neighbouring blocks share, so that both operands stay in the cache */
#define BURN_BLOCKS (TILE_NUMBER == 3 ? 2 : 1) /* that a unit has registers for */
#define READS(lines) ((lines) * DEPTH / THREADS)
#if BURN_VARIANT % 4 == 3 && defined(BURN_SPIRV)
#define IN_BLOCKS false
#else
#define IN_BLOCKS (sizeof(OUT) == sizeof(A) && Element<IN0>::is_float)
#endif

/* Which elements of a tile [LINES, DEPTH] of an operand a thread reads: the first at (line, k), the next ones a step further.
 * Neighbouring threads read neighbouring elements, or fours of them, whichever axis they lie along. */
struct Reads { int line, k, line_step, k_step; };

template <int WAY, int LINES> static __device__ inline Reads burn_reads(bool is_dense_along_k) {
  const int thread = threadIdx.x, per_line = WAY == 0 ? DEPTH : DEPTH / 4, per_step = WAY == 0 ? LINES : LINES / 4;
  const bool along_k = WAY == 0 ? is_dense_along_k : WAY == 1;
  Reads reads;
  reads.line = along_k ? thread / per_line : thread % per_step * (WAY == 2 ? 4 : 1);
  reads.k = along_k ? thread % per_line * (WAY == 1 ? 4 : 1) : thread / per_step;
  reads.line_step = along_k ? THREADS / per_line : 0;
  reads.k_step = along_k ? 0 : THREADS / per_step;
  return reads;
}

/* How many of `most` are left. */
static __device__ inline int burn_left(int64_t count, int most) { return count < most ? (int)count : most; }

/* Elements from `from` on, `step` apart; 0 beyond `lines` and `depth`. */
template <int LINES>
static __device__ inline void burn_read_elements(A *to, const IN0 *from, int64_t step, const Reads &reads, int lines,
                                                 int depth) {
  if (lines == LINES && depth == DEPTH) {
#pragma unroll
    for (int i = 0; i < READS(LINES); i++) to[i] = (A)burn_get(from[i * step]);
    return;
  }
#pragma unroll
  for (int i = 0; i < READS(LINES); i++) {
    const bool is_there = reads.line + i * reads.line_step < lines && reads.k + i * reads.k_step < depth;
    to[i] = is_there ? (A)burn_get(from[i * step]) : (A)0;
  }
}

/* The same by fours, of which those at an edge are there in part. */
template <int WAY, int LINES>
static __device__ inline void burn_read_fours(A *to, const IN0 *from, int64_t step, const Reads &reads, int lines,
                                              int depth) {
  if (lines == LINES && depth == DEPTH) {
#pragma unroll
    for (int i = 0; i < READS(LINES) / 4; i++) burn_read_four(to + i * 4, from + i * step);
    return;
  }
#pragma unroll
  for (int i = 0; i < READS(LINES) / 4; i++) {
    const int line = reads.line + i * reads.line_step, k = reads.k + i * reads.k_step;
#pragma unroll
    for (int e = 0; e < 4; e++) {
      const bool is_there = line + (WAY == 2 ? e : 0) < lines && k + (WAY == 1 ? e : 0) < depth;
      to[i * 4 + e] = is_there ? (A)burn_get(from[i * step + e]) : (A)0;
    }
  }
}

template <int WAY, int LINES>
static __device__ inline void burn_read(A *to, const IN0 *from, int64_t step, const Reads &reads, int lines, int depth) {
  if (WAY == 0)
    burn_read_elements<LINES>(to, from, step, reads, lines, depth);
  else
    burn_read_fours<WAY, LINES>(to, from, step, reads, lines, depth);
}

template <int WAY, int LINES> static __device__ inline void burn_share(Four *tile, const A *held, const Reads &reads) {
  const int pitch = TILE_PITCH(LINES), step = reads.k_step * pitch + reads.line_step, first = reads.k * pitch + reads.line;
#pragma unroll
  for (int i = 0; i < READS(LINES); i++) {
    const int at = WAY == 0 ? first + i * step : first + i / 4 * step + i % 4 * (WAY == 1 ? pitch : 1);
    if (WAY < 2) tile[at / 4].at[at % 4] = held[i];
  }
#pragma unroll
  for (int i = 0; i < READS(LINES); i += 4) {
    const Four four = {{held[i], held[i + 1], held[i + 2], held[i + 3]}};
    if (WAY == 2) tile[(first + i / 4 * step) / 4] = four;
  }
}

/* Adds to the sums what lies in the results' places, from which they are put there again where `leaves`, to begin anew. */
static __device__ inline void burn_join_block(const GpuMatmul &p, A sum[MY_ROWS][MY_COLUMNS], int64_t place, int64_t row,
                                              int64_t column, bool is_first, bool leaves) {
  OUT *out = (OUT *)p.out + place * p.m * p.n;
#pragma unroll
  for (int i = 0; i < MY_ROWS; i++) {
    const int64_t y = row + i / 4 * (ROW_SIDE * 4) + i % 4;
#pragma unroll
    for (int j = 0; j < MY_COLUMNS; j++) {
      const int64_t x = column + j / 4 * (COLUMN_SIDE * 4) + j % 4;
      if (y >= p.m || x >= p.n) continue;
      OUT *at = out + (y * p.n + x);
      if (!is_first) sum[i][j] = (A)burn_get(*at) + sum[i][j];
      if (!leaves) continue;
      burn_put(*at, (C)sum[i][j]);
      sum[i][j] = (A)0;
    }
  }
}

extern "C" __global__ void __launch_bounds__(THREADS, BURN_BLOCKS) kernel(const GpuMatmul p) {
  __shared__ Four left[DEPTH * TILE_PITCH(TILE_ROWS) / 4], right[DEPTH * TILE_PITCH(TILE_COLUMNS) / 4];
  const int rows = (int)((p.m + TILE_ROWS - 1) / TILE_ROWS), columns = (int)((p.n + TILE_COLUMNS - 1) / TILE_COLUMNS);
  const int number = (int)blockIdx.x % (rows * columns), band = number / (BAND * columns), in_band = number % (BAND * columns);
  const int high = rows - band * BAND < BAND ? rows - band * BAND : BAND;
  const int64_t row = (int64_t)(band * BAND + in_band % high) * TILE_ROWS, column = (int64_t)(in_band / high) * TILE_COLUMNS;
  const int rest = (int)blockIdx.x / (rows * columns), part = rest % (int)p.parts;
  const int64_t batch = rest / (int)p.parts, place = part * p.batches + batch, from = part * p.part_size;
  const int64_t steps = p.k - from < p.part_size ? p.k - from : p.part_size;
  const Places places = burn_places(p, batch);
  const Reads of_left = burn_reads<LEFT_WAY, TILE_ROWS>(p.lhs_column == 1);
  const Reads of_right = burn_reads<RIGHT_WAY, TILE_COLUMNS>(p.rhs_column != 1);
  const IN0 *lhs = (const IN0 *)p.lhs + places.left + (row + of_left.line) * p.lhs_row + (from + of_left.k) * p.lhs_column;
  const IN0 *rhs = (const IN0 *)p.rhs + places.right + (column + of_right.line) * p.rhs_column + (from + of_right.k) * p.rhs_row;
  const int64_t lhs_step = of_left.line_step * p.lhs_row + of_left.k_step * p.lhs_column;
  const int64_t rhs_step = of_right.line_step * p.rhs_column + of_right.k_step * p.rhs_row;
  const int tx = threadIdx.x % COLUMN_SIDE, ty = threadIdx.x / COLUMN_SIDE;
  A sum[MY_ROWS][MY_COLUMNS], held_left[READS(TILE_ROWS)], held_right[READS(TILE_COLUMNS)];
  burn_clear<MY_ROWS, MY_COLUMNS>(sum);
  const int left_lines = burn_left(p.m - row, TILE_ROWS), right_lines = burn_left(p.n - column, TILE_COLUMNS);
  burn_read<LEFT_WAY, TILE_ROWS>(held_left, lhs, lhs_step, of_left, left_lines, burn_left(steps, DEPTH));
  burn_read<RIGHT_WAY, TILE_COLUMNS>(held_right, rhs, rhs_step, of_right, right_lines, burn_left(steps, DEPTH));
  for (int64_t k = 0, first = 0; first == 0 || k < steps; first = k) { /* a block, with nothing of joining in its loop */
    const int64_t end = IN_BLOCKS && steps - k > p.depth ? k + p.depth : steps;
    for (; k < end; k += DEPTH) {
      burn_share<LEFT_WAY, TILE_ROWS>(left, held_left, of_left);
      burn_share<RIGHT_WAY, TILE_COLUMNS>(right, held_right, of_right);
      __syncthreads();
      if (k + DEPTH < steps) { /* the next tiles are under way while these are multiplied */
        const int depth = burn_left(steps - k - DEPTH, DEPTH);
        lhs += DEPTH * p.lhs_column;
        rhs += DEPTH * p.rhs_row;
        burn_read<LEFT_WAY, TILE_ROWS>(held_left, lhs, lhs_step, of_left, left_lines, depth);
        burn_read<RIGHT_WAY, TILE_COLUMNS>(held_right, rhs, rhs_step, of_right, right_lines, depth);
      }
      burn_multiply<MY_ROWS, MY_COLUMNS, ROW_SIDE, COLUMN_SIDE, DEPTH, UNROLLED>(sum, left, ty, right, tx);
      __syncthreads();
    }
    if (IN_BLOCKS && steps > p.depth)
      burn_join_block(p, sum, place, row + ty * TOGETHER(MY_ROWS), column + tx * 4, first == 0, k < steps);
    if (k >= steps) break;
  }
  burn_reload_parameters();
  const Ending ending = {p.bias, p.n};
  const int64_t m = p.m;
  OUT *out = (OUT *)p.out + place * m * ending.n;
  const bool whole = ending.n % 4 == 0 && (uint64_t)out % (4 * sizeof(OUT)) == 0;
#pragma unroll
  for (int i = 0; i < MY_ROWS; i++) {
    const int64_t y = row + i / 4 * (ROW_SIDE * 4) + ty * TOGETHER(MY_ROWS) + i % 4;
#pragma unroll
    for (int j = 0; j < MY_COLUMNS; j += 4)
      if (y < m) burn_write(ending, out + y * ending.n, column + j * COLUMN_SIDE + tx * 4, sum[i] + j, whole);
  }
}
