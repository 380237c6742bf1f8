/* small_product.cu - products of few results, of any dtype and strides; sums.cu and tiles.cu come before. Their time is that of one
 * chain of k, so a block has 16 x 16 results and a thread one row of two: many warps, of which some multiply while
 * others wait. Tiles of both operands lie in shared memory, DEPTH steps of k at a time, as lines that threads read by four steps.
 * BURN_VARIANT: how the left operand is read, + 3 * how the right one is: 0 by elements; by four of them that lie beside each other along
 * k (1), or across it (2).
 *
 * Results are those of product.cu: added along k by FMA, one after the other, from 0, in parts and blocks as there. */
#define LEFT_WAY (BURN_VARIANT % 3)
#define RIGHT_WAY (BURN_VARIANT / 3)
#define SIDE GPU_PRODUCT_ROWS(0)
#define DEPTH GPU_PRODUCT_DEPTH(0, sizeof(A))
#define THREADS GPU_PRODUCT_THREADS(0)
#define MY_ROWS GPU_PRODUCT_MY_ROWS(0)
#define MY_COLUMNS GPU_PRODUCT_MY_COLUMNS(0)
#define ROW_STEP (SIDE / MY_ROWS)      /* from one row of a thread to its next */
#define COLUMN_STEP (SIDE / MY_COLUMNS)
#define PITCH (DEPTH / 4 + 1)          /* fours from one line to the next */
#define READS (SIDE * DEPTH / THREADS) /* of an operand's tile, by a thread */
#define PIECE 16                       /* steps of k that are written out; blocks of k are made of them */
#define IN_BLOCKS (sizeof(OUT) == sizeof(A) && Element<IN0>::is_float)

/* What a thread reads of the tile from step k on. Nothing here depends on a branch: a compiler would wait for what is read where
 * branches meet. Lines and steps beyond the last are read as the last ones instead: those lines have no results, and
 * burn_share puts zeros for those steps. */
template <int WAY> static __device__ inline void burn_read_tile(A *to, const Operand &of, const Reads &reads, int k) {
  const int together = WAY == 0 ? 1 : 4, last_line = of.lines - (WAY == 2 ? 4 : 1), last_k = (int)of.steps - (WAY == 1 ? 4 : 1);
#pragma unroll
  for (int i = 0; i < READS; i += together) {
    const int line = reads.line + i / together * reads.line_step, step = k + reads.k + i / together * reads.k_step;
    const IN0 *from = of.first + (line < last_line ? line : last_line) * of.line_stride + (step < last_k ? step : last_k) * of.k_stride;
    if (WAY == 0) to[i] = (A)burn_get(from[0]);
    if (WAY != 0) burn_read_four(to + i, from);
  }
}

template <int WAY> static __device__ inline void burn_share(Four *tile, A *held, const Operand &of, const Reads &reads, int k) {
  const int together = WAY == 0 ? 1 : 4;
#pragma unroll
  for (int i = 0; i < READS; i++) {
    const int line = reads.line + i / together * reads.line_step + (WAY == 2 ? i % 4 : 0), step = reads.k + i / together * reads.k_step;
    held[i] = k + step < (int)of.steps ? held[i] : (A)0; /* fours that lie along k are there or not as a whole */
    if (WAY != 1) tile[line * PITCH + step / 4].at[step % 4] = held[i];
  }
#pragma unroll
  for (int i = 0; i < READS; i += 4) {
    const Four four = {{held[i], held[i + 1], held[i + 2], held[i + 3]}};
    if (WAY == 1) tile[(reads.line + i / 4 * reads.line_step) * PITCH + reads.k / 4] = four;
  }
}

/* A thread's lines of a tile, STEP apart, of PIECE steps from four `at` on. */
template <int LINES, int STEP> static __device__ inline void burn_get_piece(A to[LINES][PIECE], const Four *tile, int at) {
#pragma unroll
  for (int line = 0; line < LINES; line++)
#pragma unroll
    for (int k = 0; k < PIECE; k += 4) {
      const Four four = tile[at + line * (STEP * PITCH) + k / 4];
#pragma unroll
      for (int e = 0; e < 4; e++) to[line][k + e] = four.at[e];
    }
}

/* sum += left x right, of PIECE steps from fours `left_at` and `right_at` on: all are on their way before the first is multiplied. */
static __device__ inline void burn_add_piece(A sum[MY_ROWS][MY_COLUMNS], const Four *left, int left_at, const Four *right, int right_at) {
  A a[MY_ROWS][PIECE], b[MY_COLUMNS][PIECE];
  burn_get_piece<MY_ROWS, ROW_STEP>(a, left, left_at);
  burn_get_piece<MY_COLUMNS, COLUMN_STEP>(b, right, right_at);
  burn_read_first();
#pragma unroll
  for (int k = 0; k < PIECE; k++)
#pragma unroll
    for (int i = 0; i < MY_ROWS; i++)
#pragma unroll
      for (int j = 0; j < MY_COLUMNS; j++) sum[i][j] = burn_fused(a[i][k], b[j][k], sum[i][j]);
}

/* The sum of a block of k joins those of the blocks before, and begins anew. */
static __device__ inline void burn_join_block(A before[MY_ROWS][MY_COLUMNS], A sum[MY_ROWS][MY_COLUMNS]) {
#pragma unroll
  for (int i = 0; i < MY_ROWS; i++)
#pragma unroll
    for (int j = 0; j < MY_COLUMNS; j++) {
      before[i][j] = before[i][j] + sum[i][j];
      sum[i][j] = (A)0;
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) kernel(const GpuMatmul p) {
  __shared__ Four left[SIDE * PITCH], right[SIDE * PITCH];
  const int rows = (int)((p.m + SIDE - 1) / SIDE), columns = (int)((p.n + SIDE - 1) / SIDE);
  const int number = (int)blockIdx.x % (rows * columns), rest = (int)blockIdx.x / (rows * columns), part = rest % (int)p.parts;
  const int64_t batch = rest / (int)p.parts, place = part * p.batches + batch, from = part * p.part_size;
  const int64_t row = (int64_t)(number % rows) * SIDE, column = (int64_t)(number / rows) * SIDE;
  const int steps = burn_left(p.k - from, (int)p.part_size), depth = (int)p.depth;
  const Places places = burn_places(p, batch);
  const Reads of_left = burn_reads<LEFT_WAY, SIDE, DEPTH, THREADS>(p.lhs_column == 1);
  const Reads of_right = burn_reads<RIGHT_WAY, SIDE, DEPTH, THREADS>(p.rhs_column != 1);
  const Operand lhs = {(const IN0 *)p.lhs + places.left + row * p.lhs_row + from * p.lhs_column, p.lhs_row, p.lhs_column, steps,
                       burn_left(p.m - row, SIDE)};
  const Operand rhs = {(const IN0 *)p.rhs + places.right + column * p.rhs_column + from * p.rhs_row, p.rhs_column, p.rhs_row, steps,
                       burn_left(p.n - column, SIDE)};
  /* A quarter of a warp has eight columns of one row, so that both tiles are read without meeting at a bank. */
  const int x = threadIdx.x % 8 + threadIdx.x / 8 / ROW_STEP * 8, y = threadIdx.x / 8 % ROW_STEP;
  A sum[MY_ROWS][MY_COLUMNS], before[MY_ROWS][MY_COLUMNS], held_left[READS], held_right[READS]; /* before: of the blocks that are done */
  burn_clear<MY_ROWS, MY_COLUMNS>(sum);
  burn_clear<MY_ROWS, MY_COLUMNS>(before);
  int left_of_block = depth;
  if (steps > 0) {
    burn_read_tile<LEFT_WAY>(held_left, lhs, of_left, 0);
    burn_read_tile<RIGHT_WAY>(held_right, rhs, of_right, 0);
  }
  for (int k = 0; k < steps; k += DEPTH) {
    const int next = k + DEPTH < steps ? k + DEPTH : k; /* at the end, what there was */
    burn_share<LEFT_WAY>(left, held_left, lhs, of_left, k);
    burn_share<RIGHT_WAY>(right, held_right, rhs, of_right, k);
    __syncthreads();
    burn_read_tile<LEFT_WAY>(held_left, lhs, of_left, next);
    burn_read_tile<RIGHT_WAY>(held_right, rhs, of_right, next);
    burn_read_first();
    for (int piece = 0; piece < DEPTH && k + piece < steps; piece += PIECE) {
      if (IN_BLOCKS && left_of_block == 0) {
        burn_join_block(before, sum);
        left_of_block = depth;
      }
      burn_add_piece(sum, left, y * PITCH + piece / 4, right, x * PITCH + piece / 4);
      left_of_block -= PIECE;
    }
    __syncthreads();
  }
  OUT *out = (OUT *)p.out + place * p.m * p.n;
#pragma unroll
  for (int i = 0; i < MY_ROWS; i++)
#pragma unroll
    for (int j = 0; j < MY_COLUMNS; j++) {
      const int64_t at_row = row + y + i * ROW_STEP, at_column = column + x + j * COLUMN_STEP;
      A result = IN_BLOCKS && steps > depth ? before[i][j] + sum[i][j] : sum[i][j];
      if (at_row < p.m && at_column < p.n) {
        if (p.bias != 0u) result = result + (A)burn_get(((const OUT *)p.bias)[at_column]);
        burn_put(out[at_row * p.n + at_column], (C)result);
      }
    }
}
