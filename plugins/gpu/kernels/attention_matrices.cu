/* attention_matrices.cu - before attention.cu: its products of halves by the matrices that subgroups multiply, for Vulkan. The plugin
 * defines LANES, the threads of a subgroup, and MATRIX_ROWS, MATRIX_COLUMNS and MATRIX_DEPTH, multiples of 8.
 *
 * Operands lie in shared memory as halves, line by line, in vectors of 8; sums come to their threads through shared memory, as only
 * there it is known which is which. Weights are rounded to halves, and all sums are of f32. */
#if BURN_PASS != 3 && ON_MATRICES
struct alignas(16) Words { uint32_t at[4]; };
struct alignas(8) Pair { uint32_t at[2]; };
typedef Words Room;

#define LINE(halves) ((halves) / 8 | 1) /* vectors from one line of halves to the next: an odd number, for the banks */
#define SUMS_LINE(columns) ((columns) / 4 | 1)
#define MORE_OF(a, b) ((a) > (b) ? (a) : (b))
#define DOTS_ROOM MORE_OF((ROWS + TILE) * LINE(DEPTH), ROWS * SUMS_LINE(TILE))
#define ADD_ROOM MORE_OF(ROWS * LINE(TILE) + TILE * LINE(COLUMNS), ROWS * SUMS_LINE(COLUMNS))
#define BURN_SHARED_ROOM __shared__ Words room[MORE_OF(DOTS_ROOM, ADD_ROOM)]

#define SUBGROUPS (THREADS / LANES)
#define MINE_OF(columns) (ROWS / MATRIX_ROWS * ((columns) / MATRIX_COLUMNS) / SUBGROUPS) /* matrices of a subgroup */
typedef burn_subgroup_matrix<IN0, MATRIX_ROWS, MATRIX_DEPTH, 0> Left;
typedef burn_subgroup_matrix<IN0, MATRIX_DEPTH, MATRIX_COLUMNS, 1> Right;
typedef burn_subgroup_matrix<C, MATRIX_ROWS, MATRIX_COLUMNS, 2> Sums;

/* -- tiles ------------------------------------------------------------------------------------ */

static __device__ inline uint32_t burn_word(f16_t x) { return (uint32_t)x.bits; }
static __device__ inline uint32_t burn_word(bf16_t x) { return (uint32_t)x.bits; }

/* Two numbers as halves. */
static __device__ inline uint32_t burn_two(C low, C high) {
  IN0 first, second;
  burn_put(first, low);
  burn_put(second, high);
  return burn_word(first) | burn_word(second) << 16;
}

/* Four neighbours of m[r][c ..], 0 outside. */
static __device__ inline Pair burn_pair(const Matrix &m, int r, int c) {
  Pair pair = {{0u, 0u}};
#if BY_FOUR
  if (r < m.rows && c < m.width) pair = *(const Pair *)(m.at + r * m.row + c);
#else
#pragma unroll
  for (int e = 0; e < 4; e++)
    if (r < m.rows && c + e < m.width) pair.at[e / 2] |= burn_word(m.at[r * m.row + (c + e) * m.column]) << (e % 2 * 16);
#endif
  return pair;
}

/* m[first ..][from ..] of N lines and W columns: between memory and its place, then there. */
#define READS_OF(N, W) ((N) * (W) / 8 / THREADS)
template <int N, int W> static __device__ inline void burn_hold(Words held[READS_OF(N, W)], const Matrix &m, int first, int from) {
#pragma unroll
  for (int k = 0; k < READS_OF(N, W); k++) {
    const int at = threadIdx.x + k * THREADS, r = first + at / (W / 8), c = from + at % (W / 8) * 8;
    const Pair low = burn_pair(m, r, c), high = burn_pair(m, r, c + 4);
    const Words words = {{low.at[0], low.at[1], high.at[0], high.at[1]}};
    held[k] = words;
  }
}
template <int N, int W> static __device__ inline void burn_put_lines(Words *to, const Words held[READS_OF(N, W)]) {
#pragma unroll
  for (int k = 0; k < READS_OF(N, W); k++) {
    const int at = threadIdx.x + k * THREADS;
    to[at / (W / 8) * LINE(W) + at % (W / 8)] = held[k];
  }
}

/* -- products --------------------------------------------------------------------------------- */

/* The row and the first of the columns of a subgroup's matrices, of so many columns. */
template <int COUNT> static __device__ inline int burn_my_row() {
  return (int)burn_subgroup() * MINE_OF(COUNT) / (COUNT / MATRIX_COLUMNS) * MATRIX_ROWS;
}
template <int COUNT> static __device__ inline int burn_my_column() {
  return (int)burn_subgroup() * MINE_OF(COUNT) % (COUNT / MATRIX_COLUMNS) * MATRIX_COLUMNS;
}

template <int COUNT> static __device__ inline void burn_store_sums(Words *room, Sums sums[MINE_OF(COUNT)]) {
  const int at = burn_my_row<COUNT>() * SUMS_LINE(COUNT) + burn_my_column<COUNT>() / 4;
  __syncthreads(); /* who still reads what was multiplied */
#pragma unroll
  for (int j = 0; j < MINE_OF(COUNT); j++)
    burn_matrix_store(room + (at + j * MATRIX_COLUMNS / 4), sums[j], SUMS_LINE(COUNT), 0);
  __syncthreads();
}

/* s[i][j] = a[row + my row i] . b[column + my column j] */
static __device__ inline void burn_dots(Room *room, C s[MY_ROWS][MY_SCORES], const Matrix &a, int row, const Matrix &b,
                                        int column) {
  Sums sums[MINE_OF(TILE)];
#pragma unroll
  for (int j = 0; j < MINE_OF(TILE); j++) sums[j] = burn_matrix_fill<Sums>((C)0);
  const int left = burn_my_row<TILE>() * LINE(DEPTH), right = (ROWS + burn_my_column<TILE>()) * LINE(DEPTH);
  for (int depth = 0; depth < a.width; depth += DEPTH) {
    Words held_a[READS_OF(ROWS, DEPTH)], held_b[READS_OF(TILE, DEPTH)];
    burn_hold<ROWS, DEPTH>(held_a, a, row, depth);
    burn_hold<TILE, DEPTH>(held_b, b, column, depth);
    __syncthreads();
    burn_put_lines<ROWS, DEPTH>(room, held_a);
    burn_put_lines<TILE, DEPTH>(room + ROWS * LINE(DEPTH), held_b);
    __syncthreads();
#pragma unroll
    for (int k = 0; k < DEPTH; k += MATRIX_DEPTH) {
      const Left x = burn_matrix_load<Left>(room + (left + k / 8), LINE(DEPTH), 0);
#pragma unroll
      for (int j = 0; j < MINE_OF(TILE); j++) {
        const Right y = burn_matrix_load<Right>(room + (right + j * MATRIX_COLUMNS * LINE(DEPTH) + k / 8), LINE(DEPTH), 1);
        sums[j] = burn_matrix_multiply_add(x, y, sums[j]);
      }
    }
  }
  burn_store_sums<TILE>(room, sums);
#pragma unroll
  for (int i = 0; i < MY_ROWS; i++) {
    const Words words = room[burn_row(i) * SUMS_LINE(TILE) + burn_column(0) / 4];
#pragma unroll
    for (int j = 0; j < MY_SCORES; j++) s[i][j] = __uint_as_float(words.at[j]);
  }
}

/* sum[i][..] += the scores' weights s [rows, TILE] x m[first .. first + TILE], its columns from `column` on. */
static __device__ inline void burn_add_rows(Room *room, const C s[MY_ROWS][MY_SCORES], C sum[MY_ROWS][MY_RESULTS],
                                            const Matrix &m, int first, int column) {
  Words held[READS_OF(TILE, COLUMNS)];
  Sums sums[MINE_OF(COLUMNS)];
  burn_hold<TILE, COLUMNS>(held, m, first, column);
  __syncthreads();
#pragma unroll
  for (int i = 0; i < MY_ROWS; i++) {
    const int at = burn_row(i) * LINE(TILE) + burn_column(0) / 8, word = burn_column(0) % 8 / 2;
    room[at].at[word] = burn_two(s[i][0], s[i][1]);
    room[at].at[word + 1] = burn_two(s[i][2], s[i][3]);
  }
  burn_put_lines<TILE, COLUMNS>(room + ROWS * LINE(TILE), held);
  __syncthreads();
#pragma unroll
  for (int j = 0; j < MINE_OF(COLUMNS); j++) sums[j] = burn_matrix_fill<Sums>((C)0);
  const int left = burn_my_row<COLUMNS>() * LINE(TILE), right = ROWS * LINE(TILE) + burn_my_column<COLUMNS>() / 8;
#pragma unroll
  for (int k = 0; k < TILE; k += MATRIX_DEPTH) {
    const Left x = burn_matrix_load<Left>(room + (left + k / 8), LINE(TILE), 0);
#pragma unroll
    for (int j = 0; j < MINE_OF(COLUMNS); j++) {
      const Right y = burn_matrix_load<Right>(room + (right + k * LINE(COLUMNS) + j * MATRIX_COLUMNS / 8), LINE(COLUMNS), 0);
      sums[j] = burn_matrix_multiply_add(x, y, sums[j]);
    }
  }
  burn_store_sums<COLUMNS>(room, sums);
#pragma unroll
  for (int i = 0; i < MY_ROWS; i++)
#pragma unroll
    for (int k = 0; k < MY_RESULTS; k++) {
      const int c = burn_result_column(k);
      sum[i][k] += __uint_as_float(room[burn_row(i) * SUMS_LINE(COLUMNS) + c / 4].at[c % 4]);
    }
}
#endif
