/* product.cu - products of any dtype and strides; sums.cu comes before. A block makes TILE x TILE results, by 16 steps of k at a time in shared
 * memory, a thread MINE x MINE of them in registers. BURN_VARIANT 0: 32 x 32 results, 4 x 4 a thread; 1: 64 x 64, 4 x 4;
 * 2: 128 x 128, 8 x 8.
 *
 * A result adds along k by FMA, one after the other, from 0: it is the same in all variants. Halves and f32 add in f32, f64
 * in f64, integers wrap; the bias is added before the rounding. */
#if BURN_VARIANT == 2
#define TILE 128
#define MINE 8
#define UNROLLED 2 /* steps of k at once: there are no registers for more */
#elif BURN_VARIANT == 1
#define TILE 64
#define MINE 4
#define UNROLLED 16
#else
#define TILE 32
#define MINE 4
#define UNROLLED 16
#endif
#define SIDE (TILE / MINE) /* threads along a side of the tile */
#define THREADS (SIDE * SIDE)
#define DEPTH 16
#define PITCH (TILE + 4) /* of shared memory: a row of results, for each step of k */
#define BURN_BLOCKS (BURN_VARIANT == 2 ? 2 : 1) /* that a unit has registers for */
#define READS (TILE * DEPTH / THREADS)

struct alignas(16) Four { A at[4]; };

/* Four neighbours in shared memory, by one access. */
static __device__ inline Four burn_four(const A *from) {
#if defined(BURN_SPIRV)
  const Four four = {{from[0], from[1], from[2], from[3]}};
  return four;
#else
  return *(const Four *)from;
#endif
}

/* Which elements of a tile [TILE, DEPTH] of an operand a thread reads: the first at (line, k), the next ones a step further.
 * Neighbouring threads read neighbouring elements, whichever axis they lie along. */
struct Reads { int line, k, line_step, k_step; };

static __device__ inline Reads burn_reads(bool is_dense_along_k) {
  const int thread = threadIdx.x;
  Reads reads;
  reads.line = is_dense_along_k ? thread / DEPTH : thread % TILE;
  reads.k = is_dense_along_k ? thread % DEPTH : thread / TILE;
  reads.line_step = is_dense_along_k ? THREADS / DEPTH : 0;
  reads.k_step = is_dense_along_k ? 0 : THREADS / TILE;
  return reads;
}

/* How many of `most` are left. */
static __device__ inline int burn_left(int64_t count, int most) { return count < most ? (int)count : most; }

/* Elements from `from` on, `step` apart; 0 beyond `lines` and `depth`. */
static __device__ inline void burn_read(A *to, const IN0 *from, int64_t step, const Reads &reads, int lines, int depth) {
  if (lines == TILE && depth == DEPTH) {
#pragma unroll
    for (int i = 0; i < READS; i++) to[i] = (A)burn_get(from[i * step]);
    return;
  }
#pragma unroll
  for (int i = 0; i < READS; i++) {
    const bool is_there = reads.line + i * reads.line_step < lines && reads.k + i * reads.k_step < depth;
    to[i] = is_there ? (A)burn_get(from[i * step]) : (A)0;
  }
}

static __device__ inline void burn_share(A *tile, const A *held, const Reads &reads) {
  const int step = reads.k_step * PITCH + reads.line_step;
#pragma unroll
  for (int i = 0; i < READS; i++) tile[reads.k * PITCH + reads.line + i * step] = held[i];
}

/* sum[i][j] += left[.., row i] * right[.., column j], for all steps of the tiles. */
static __device__ inline void burn_multiply(A sum[MINE][MINE], const A *left, const A *right) {
#pragma unroll UNROLLED
  for (int k = 0; k < DEPTH; k++) {
    A a[MINE], b[MINE];
#pragma unroll
    for (int f = 0; f < MINE; f += 4) {
      const Four x = burn_four(left + k * PITCH + f * SIDE), y = burn_four(right + k * PITCH + f * SIDE);
#pragma unroll
      for (int e = 0; e < 4; e++) a[f + e] = x.at[e], b[f + e] = y.at[e];
    }
#pragma unroll
    for (int i = 0; i < MINE; i++)
#pragma unroll
      for (int j = 0; j < MINE; j++) sum[i][j] = burn_fused(a[i], b[j], sum[i][j]);
  }
}

extern "C" __global__ void __launch_bounds__(THREADS, BURN_BLOCKS) kernel(const GpuMatmul p) {
#if defined(BURN_SPIRV)
  __shared__ A left[DEPTH * PITCH], right[DEPTH * PITCH];
#else
  alignas(16) __shared__ A left[DEPTH * PITCH], right[DEPTH * PITCH];
#endif
  const int64_t columns = (p.n + TILE - 1) / TILE, rows = (p.m + TILE - 1) / TILE;
  const int64_t column = (int64_t)blockIdx.x % columns * TILE, row = (int64_t)blockIdx.x / columns % rows * TILE;
  const int64_t batch = (int64_t)blockIdx.x / columns / rows;
  const Places places = burn_places(p, batch);
  const Reads of_left = burn_reads(p.lhs_column == 1), of_right = burn_reads(p.rhs_column != 1);
  const IN0 *lhs = (const IN0 *)p.lhs + places.left + (row + of_left.line) * p.lhs_row + of_left.k * p.lhs_column;
  const IN0 *rhs = (const IN0 *)p.rhs + places.right + (column + of_right.line) * p.rhs_column + of_right.k * p.rhs_row;
  const int64_t lhs_step = of_left.line_step * p.lhs_row + of_left.k_step * p.lhs_column;
  const int64_t rhs_step = of_right.line_step * p.rhs_column + of_right.k_step * p.rhs_row;
  const int tx = threadIdx.x % SIDE, ty = threadIdx.x / SIDE;
  A sum[MINE][MINE], held_left[READS], held_right[READS];
#pragma unroll
  for (int i = 0; i < MINE; i++)
#pragma unroll
    for (int j = 0; j < MINE; j++) sum[i][j] = (A)0;
  const int left_lines = burn_left(p.m - row, TILE), right_lines = burn_left(p.n - column, TILE);
  burn_read(held_left, lhs, lhs_step, of_left, left_lines, burn_left(p.k, DEPTH));
  burn_read(held_right, rhs, rhs_step, of_right, right_lines, burn_left(p.k, DEPTH));
  for (int64_t k = 0; k < p.k; k += DEPTH) {
    burn_share(left, held_left, of_left);
    burn_share(right, held_right, of_right);
    __syncthreads();
    if (k + DEPTH < p.k) { /* the next tiles are under way while these are multiplied */
      const int depth = burn_left(p.k - k - DEPTH, DEPTH);
      lhs += DEPTH * p.lhs_column;
      rhs += DEPTH * p.rhs_row;
      burn_read(held_left, lhs, lhs_step, of_left, left_lines, depth);
      burn_read(held_right, rhs, rhs_step, of_right, right_lines, depth);
    }
    burn_multiply(sum, left + ty * 4, right + tx * 4);
    __syncthreads();
  }
  OUT *out = (OUT *)p.out + batch * p.m * p.n;
  const bool whole = p.n % 4 == 0 && p.out % (4 * sizeof(OUT)) == 0;
#pragma unroll
  for (int i = 0; i < MINE; i++) {
    const int64_t y = row + i / 4 * (SIDE * 4) + ty * 4 + i % 4;
#pragma unroll
    for (int j = 0; j < MINE; j += 4)
      if (y < p.m) burn_write(p, out + y * p.n, column + j * SIDE + tx * 4, sum[i] + j, whole);
  }
}
