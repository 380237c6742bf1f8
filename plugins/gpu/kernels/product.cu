/* product.cu - products of any dtype and strides; sums.cu and tiles.cu come before. A block makes TILE_ROWS x TILE_COLUMNS results of a
 * part of k, by DEPTH steps of it at a time in shared memory, a thread MY_ROWS x MY_COLUMNS of them in registers. BURN_VARIANT % 4 is
 * the tile, 1 to 3 (parameters.h). The large ones, 2 and 3: + 4 * how the left operand is read, + 12 * how the right one is: 0 by
 * elements; by four of them that lie beside each other along k (1), or across it (2). + 36: all tiles lie inside of the operands,
 * those at the edges moved, which makes some results twice; + 72: and no step of k comes twice.
 *
 * A result adds along k by FMA, one after the other, from 0: it is the same in all variants. Parts of k have sums of
 * their own, [parts, batches, m, n], and product_parts.cu adds these. Where results have the type in which they are
 * summed (f32, f64), k is cut into blocks of p.depth; except for the largest tiles on Vulkan, which have no free
 * registers and would lose a quarter of their speed. The blocks' sums are added one after the other; meanwhile the sum
 * of those before lies in the result's place. Halves and f32 add in f32, f64 in f64, integers wrap; the bias is added
 * before the rounding. */
#define TILE_NUMBER (BURN_VARIANT % 4)
#define LEFT_WAY (BURN_VARIANT / 4 % 3)
#define RIGHT_WAY (BURN_VARIANT / 12 % 3)
#define IS_INSIDE (BURN_VARIANT / 36 > 0)
#define IS_EVEN (BURN_VARIANT / 36 > 1)
#define TILE_ROWS GPU_PRODUCT_ROWS(TILE_NUMBER)
#define TILE_COLUMNS GPU_PRODUCT_COLUMNS(TILE_NUMBER)
#define MY_ROWS GPU_PRODUCT_MY_ROWS(TILE_NUMBER)
#define MY_COLUMNS GPU_PRODUCT_MY_COLUMNS(TILE_NUMBER)
#define DEPTH GPU_PRODUCT_DEPTH(TILE_NUMBER, sizeof(A))
#define THREADS GPU_PRODUCT_THREADS(TILE_NUMBER)
/* Threads beside each other along rows and columns of the tile. */
#define ROW_SIDE (TILE_ROWS / MY_ROWS)
#define COLUMN_SIDE (TILE_COLUMNS / MY_COLUMNS)
#define UNROLLED (TILE_NUMBER == 1 ? 16 : TILE_NUMBER == 2 ? 4 : 2) /* steps of k at once: NVRTC has no registers for more */
#define BAND 8 /* rows of tiles that neighbouring blocks share, so that both operands stay in the cache */
#define BURN_BLOCKS (TILE_NUMBER == 3 ? 2 : 1) /* that a unit has registers for */
#define IS_SMALL (BURN_VARIANT % 4 == 1)
#define READS(lines) ((lines) * DEPTH / THREADS)
#define LEFT_FOURS (DEPTH * TILE_PITCH(TILE_ROWS) / 4)
#define RIGHT_FOURS (DEPTH * TILE_PITCH(TILE_COLUMNS) / 4)
#if BURN_VARIANT % 4 == 3 && defined(BURN_SPIRV)
#define IN_BLOCKS false
#else
#define IN_BLOCKS (sizeof(OUT) == sizeof(A) && Element<IN0>::is_float)
#endif

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

/* Where the tile that has step k begins: where it would go beyond the last step, earlier, if all is to lie inside. */
static __device__ inline int64_t burn_tile_at(int64_t k, int64_t last) { return IS_INSIDE && k > last ? last : k; }

#if IS_SMALL
/* Elements from `from` on, `step` apart; 0 beyond `lines` and `depth`. */
template <int LINES>
static __device__ inline void burn_read(A *to, const IN0 *from, int64_t step, const Reads &reads, int lines, int depth) {
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
#else
/* What a thread reads of the tile from step k on. Nothing here depends on a branch: a compiler would wait for what is read
 * where branches meet, and not multiply meanwhile. Unless all lies inside, lines and steps beyond the last are read as the
 * last ones instead: those lines have no results, and burn_clear_others clears those steps. */
template <int WAY, int LINES>
static __device__ inline void burn_read_tile(A *to, const Operand &of, const Reads &reads, int64_t k) {
  const int together = WAY == 0 ? 1 : 4, last_line = of.lines - (WAY == 2 ? 4 : 1);
  const int64_t steps = of.steps - k - (WAY == 1 ? 4 : 1), each = reads.line_step * of.line_stride + reads.k_step * of.k_stride;
  const int last_k = steps < DEPTH ? (int)steps : DEPTH;
  const IN0 *from = of.first + k * of.k_stride;
  if (IS_INSIDE) from += reads.line * of.line_stride + reads.k * of.k_stride;
#pragma unroll
  for (int i = 0; i < READS(LINES); i += together) {
    const int line = reads.line + i / together * reads.line_step, step = reads.k + i / together * reads.k_step;
    const int64_t clamped = (line < last_line ? line : last_line) * of.line_stride + (step < last_k ? step : last_k) * of.k_stride;
    const IN0 *at = from + (IS_INSIDE ? i / together * each : clamped);
    if (WAY == 0) to[i] = (A)burn_get(at[0]);
    if (WAY != 0) burn_read_four(to + i, at);
  }
}

/* Of what a thread holds of a tile, all but the steps of k from `begin` to `end`. */
template <int WAY, int LINES> static __device__ inline void burn_clear_others(A *held, const Reads &reads, int begin, int end) {
  const int together = WAY == 0 ? 1 : 4;
#pragma unroll
  for (int i = 0; i < READS(LINES); i++) {
    const int step = reads.k + i / together * reads.k_step + (WAY == 1 ? i % 4 : 0);
    held[i] = step < begin || step >= end ? (A)0 : held[i];
  }
}

/* The tiles of both operands that a thread holds, from step `at` on, go to shared memory; k to `steps` are what is wanted
 * of them. */
static __device__ inline void burn_share_both(Four *left, Four *right, A *held_left, A *held_right, const Reads &of_left,
                                              const Reads &of_right, int64_t at, int64_t k, int64_t steps) {
  const int begin = (int)(k - at), end = steps - at < DEPTH ? (int)(steps - at) : DEPTH;
  if (!IS_EVEN) {
    burn_clear_others<LEFT_WAY, TILE_ROWS>(held_left, of_left, begin, end);
    burn_clear_others<RIGHT_WAY, TILE_COLUMNS>(held_right, of_right, begin, end);
  }
  burn_share<LEFT_WAY, TILE_ROWS>(left, held_left, of_left);
  burn_share<RIGHT_WAY, TILE_COLUMNS>(right, held_right, of_right);
}

#endif

/* The first row and column of the results that are this tile's; those before them, which it makes too, are other tiles'. */
struct Own { int64_t row, column; };

/* Adds to the sums what lies in the results' places, from which they are put there again where `leaves`, to begin anew. */
static __device__ inline void burn_join_block(const GpuMatmul &p, A sum[MY_ROWS][MY_COLUMNS], int64_t place, int64_t row,
                                              int64_t column, const Own &own, bool is_first, bool leaves) {
  OUT *out = (OUT *)p.out + place * p.m * p.n;
#pragma unroll
  for (int i = 0; i < MY_ROWS; i++) {
    const int64_t y = row + i / 4 * (ROW_SIDE * 4) + i % 4;
#pragma unroll
    for (int j = 0; j < MY_COLUMNS; j++) {
      const int64_t x = column + j / 4 * (COLUMN_SIDE * 4) + j % 4;
      if (y < own.row || x < own.column || y >= p.m || x >= p.n) continue;
      OUT *at = out + (y * p.n + x);
      if (!is_first) sum[i][j] = (A)burn_get(*at) + sum[i][j];
      if (!leaves) continue;
      burn_put(*at, (C)sum[i][j]);
      sum[i][j] = (A)0;
    }
  }
}

extern "C" __global__ void __launch_bounds__(THREADS, BURN_BLOCKS) kernel(const GpuMatmul p) {
  __shared__ Four left[GPU_PRODUCT_COPIES(TILE_NUMBER) * LEFT_FOURS], right[GPU_PRODUCT_COPIES(TILE_NUMBER) * RIGHT_FOURS];
  const int rows = (int)((p.m + TILE_ROWS - 1) / TILE_ROWS), columns = (int)((p.n + TILE_COLUMNS - 1) / TILE_COLUMNS);
  const int number = (int)blockIdx.x % (rows * columns), band = number / (BAND * columns), in_band = number % (BAND * columns);
  const int high = rows - band * BAND < BAND ? rows - band * BAND : BAND;
  const Own own = {(int64_t)(band * BAND + in_band % high) * TILE_ROWS, (int64_t)(in_band / high) * TILE_COLUMNS};
  const int64_t row = burn_tile_at(own.row, p.m - TILE_ROWS), column = burn_tile_at(own.column, p.n - TILE_COLUMNS);
  const int rest = (int)blockIdx.x / (rows * columns), part = rest % (int)p.parts;
  const int64_t batch = rest / (int)p.parts, place = part * p.batches + batch, from = part * p.part_size;
  const int64_t steps = p.k - from < p.part_size ? p.k - from : p.part_size, last = p.k - from - DEPTH;
  const Places places = burn_places(p, batch);
  const Reads of_left = burn_reads<LEFT_WAY, TILE_ROWS, DEPTH, THREADS>(p.lhs_column == 1);
  const Reads of_right = burn_reads<RIGHT_WAY, TILE_COLUMNS, DEPTH, THREADS>(p.rhs_column != 1);
  const Operand lhs = {(const IN0 *)p.lhs + places.left + row * p.lhs_row + from * p.lhs_column, p.lhs_row, p.lhs_column, steps,
                       burn_left(p.m - row, TILE_ROWS)};
  const Operand rhs = {(const IN0 *)p.rhs + places.right + column * p.rhs_column + from * p.rhs_row, p.rhs_column, p.rhs_row, steps,
                       burn_left(p.n - column, TILE_COLUMNS)};
  const int tx = threadIdx.x % COLUMN_SIDE, ty = threadIdx.x / COLUMN_SIDE;
  A sum[MY_ROWS][MY_COLUMNS], held_left[READS(TILE_ROWS)], held_right[READS(TILE_COLUMNS)];
  burn_clear<MY_ROWS, MY_COLUMNS>(sum);
#if IS_SMALL
  const IN0 *next_left = lhs.first + of_left.line * p.lhs_row + of_left.k * p.lhs_column;
  const IN0 *next_right = rhs.first + of_right.line * p.rhs_column + of_right.k * p.rhs_row;
  const int64_t left_step = of_left.line_step * p.lhs_row + of_left.k_step * p.lhs_column;
  const int64_t right_step = of_right.line_step * p.rhs_column + of_right.k_step * p.rhs_row;
  burn_read<TILE_ROWS>(held_left, next_left, left_step, of_left, lhs.lines, burn_left(steps, DEPTH));
  burn_read<TILE_COLUMNS>(held_right, next_right, right_step, of_right, rhs.lines, burn_left(steps, DEPTH));
#else
  int of_two = 0; /* which tiles are multiplied, while the next ones are written beside them */
  if (steps > 0) {
    const int64_t at = burn_tile_at(0, last);
    burn_read_tile<LEFT_WAY, TILE_ROWS>(held_left, lhs, of_left, at);
    burn_read_tile<RIGHT_WAY, TILE_COLUMNS>(held_right, rhs, of_right, at);
    burn_share_both(left, right, held_left, held_right, of_left, of_right, at, 0, steps);
    __syncthreads();
  }
#endif
  for (int64_t k = 0, first = 0; first == 0 || k < steps; first = k) { /* a block, with nothing of joining in its loop */
    const int64_t end = IN_BLOCKS && steps - k > p.depth ? k + p.depth : steps;
    for (; k < end; k += DEPTH) {
#if IS_SMALL
      burn_share<0, TILE_ROWS>(left, held_left, of_left);
      burn_share<0, TILE_COLUMNS>(right, held_right, of_right);
      __syncthreads();
      if (k + DEPTH < steps) {
        const int depth = burn_left(steps - k - DEPTH, DEPTH);
        next_left += DEPTH * p.lhs_column;
        next_right += DEPTH * p.rhs_row;
        burn_read<TILE_ROWS>(held_left, next_left, left_step, of_left, lhs.lines, depth);
        burn_read<TILE_COLUMNS>(held_right, next_right, right_step, of_right, rhs.lines, depth);
      }
      burn_multiply<MY_ROWS, MY_COLUMNS, ROW_SIDE, COLUMN_SIDE, DEPTH, UNROLLED>(sum, left, ty, right, tx);
#else
      const int64_t next = k + DEPTH < steps ? k + DEPTH : k, at = burn_tile_at(next, last); /* at the end, what there was */
      burn_read_tile<LEFT_WAY, TILE_ROWS>(held_left, lhs, of_left, at);
      burn_read_tile<RIGHT_WAY, TILE_COLUMNS>(held_right, rhs, of_right, at);
      burn_read_first();
      burn_multiply<MY_ROWS, MY_COLUMNS, ROW_SIDE, COLUMN_SIDE, DEPTH, UNROLLED>(sum, left + of_two * LEFT_FOURS, ty,
                                                                                 right + of_two * RIGHT_FOURS, tx);
      of_two ^= 1;
      burn_share_both(left + of_two * LEFT_FOURS, right + of_two * RIGHT_FOURS, held_left, held_right, of_left, of_right, at, next,
                      steps);
#endif
      __syncthreads();
    }
    if (IN_BLOCKS && steps > p.depth)
      burn_join_block(p, sum, place, row + ty * 4, column + tx * 4, own, first == 0, k < steps);
    if (k >= steps) break;
  }
  burn_reload_parameters();
  const Ending ending = {p.bias, p.n};
  const int64_t m = p.m;
  OUT *out = (OUT *)p.out + place * m * ending.n;
  const bool whole = ending.n % 4 == 0 && (uint64_t)out % (4 * sizeof(OUT)) == 0;
#pragma unroll
  for (int i = 0; i < MY_ROWS; i++) {
    const int64_t y = row + i / 4 * (ROW_SIDE * 4) + ty * 4 + i % 4;
#pragma unroll
    for (int j = 0; j < MY_COLUMNS; j += 4) {
      const int64_t x = column + j * COLUMN_SIDE + tx * 4;
      if (y >= own.row && x + 4 > own.column && y < m) burn_write(ending, out + y * ending.n, x, sum[i] + j, whole);
    }
  }
}
