/* attention_products.cu - before attention.cu: its products by multiply-add, and on the tensor cores of CUDA. */
#if BURN_PASS != 3 && !ON_MATRICES
/* What a block shares: `room`. Tiles of a step of a dot product, left and right, in whose place come parts [PART, STRIDE] of
 * what results are made of. On tensor cores they are [rows, DEPTH + 4]: a fragment then meets each bank once. Else they are
 * turned, [DEPTH, rows], four rows a unit; the unit of row r at depth d lies at r / 4 ^ d % 8, for the same reason; and so do
 * the weights after them, by row for each of TILE. */
#if ON_TENSOR_CORES
#define PITCH (DEPTH + 4)
#define ROOM (PITCH * (ROWS + TILE))
#else
#define PITCH DEPTH
#define ROOM (PITCH * (ROWS + TILE) + TILE * ROWS)
#endif
#define RIGHT (PITCH * ROWS)
#define WEIGHTS (PITCH * (ROWS + TILE))
#define FITS(rows) ((rows) * STRIDE <= PITCH * (ROWS + TILE))
enum { PART = FITS(TILE) ? TILE : FITS(TILE / 2) ? TILE / 2 : FITS(TILE / 4) ? TILE / 4 : TILE / 8 };
#if defined(BURN_SPIRV)
#define BURN_SHARED_ROOM __shared__ C room[ROOM]
#else
#define BURN_SHARED_ROOM alignas(16) __shared__ C room[ROOM]
#endif

/* Neighbours in shared memory, by one access. */
static __device__ inline Four burn_four(const C *from) {
#if defined(BURN_SPIRV)
  const Four four = {{from[0], from[1], from[2], from[3]}};
  return four;
#else
  return *(const Four *)from;
#endif
}
static __device__ inline Two burn_two(const C *from) {
#if defined(BURN_SPIRV)
  const Two two = {{from[0], from[1]}};
  return two;
#else
  return *(const Two *)from;
#endif
}
static __device__ inline void burn_put_four(C *to, const Four &four) {
#if defined(BURN_SPIRV)
  for (int e = 0; e < 4; e++) to[e] = four.at[e];
#else
  *(Four *)to = four;
#endif
}

#if ON_TENSOR_CORES
#define BURN_KEPT(x) burn_tf32(x)
#else
#define BURN_KEPT(x) (x)
#endif

typedef C Room;

/* Some neighbouring elements, as they are read at once. */
#if BY_FOUR
#define WIDTH 4
#else
#define WIDTH 1
#endif
struct alignas(sizeof(IN0) * WIDTH) Read { IN0 at[WIDTH]; };

/* What a thread holds of a tile [N, W] between memory and its place. Reads are all under way before the first is used.
 * Neighbouring threads have neighbouring elements of a row; of tiles that will be turned, two reads of each of 16 rows, so
 * that their elements then go to different banks. All sizes are powers of two, and no tile has fewer reads than a block
 * threads, so all threads have as many. */
template <int N, int W, bool TURNED> struct Held {
  static const int count = N * W / WIDTH / THREADS;
  /* Threads in a row, before the next row begins; how far a thread's next read lies from its last. */
  static const int beside = TURNED ? 2 : W / WIDTH, step = THREADS / beside;
  static const int shares = beside > THREADS ? beside / THREADS : 1; /* of a row that all threads do not reach at once */
  static const int turns = N > step && step > 0 ? N / step : 1;      /* reads that a turned tile's column takes */
  C at[count][WIDTH];
};

/* Where the thread's read k lies in the tile. */
template <int N, int W, bool TURNED> static __device__ inline int burn_held_row(int k) {
  const int beside = Held<N, W, TURNED>::beside, step = Held<N, W, TURNED>::step;
  const int shares = Held<N, W, TURNED>::shares, turns = Held<N, W, TURNED>::turns;
  if (!TURNED) return shares > 1 ? k / shares : threadIdx.x / beside + k * step;
  return step >= N ? threadIdx.x / 2 % N : threadIdx.x / 2 + k % turns * step;
}
template <int N, int W, bool TURNED> static __device__ inline int burn_held_column(int k) {
  const int beside = Held<N, W, TURNED>::beside, step = Held<N, W, TURNED>::step;
  const int shares = Held<N, W, TURNED>::shares, turns = Held<N, W, TURNED>::turns;
  if (!TURNED) return (shares > 1 ? threadIdx.x + k % shares * THREADS : threadIdx.x % beside) * WIDTH;
  const int pair = step >= N ? threadIdx.x / (2 * N) + k * (step / N) : k / turns;
  return (threadIdx.x % 2 + pair * 2) * WIDTH;
}

/* From m[first ..][from ..], 0 outside. */
template <int N, int W, bool TURNED>
static __device__ inline void burn_hold(Held<N, W, TURNED> &held, const Matrix &m, int first, int from) {
  Read raw[Held<N, W, TURNED>::count];
#pragma unroll
  for (int k = 0; k < Held<N, W, TURNED>::count; k++) {
    const int r = first + burn_held_row<N, W, TURNED>(k), c = from + burn_held_column<N, W, TURNED>(k);
    /* reads never leave the tile; NVRTC makes a twentieth less code where that is compared, too */
    const bool is_there =
        burn_held_row<N, W, TURNED>(k) < N && burn_held_column<N, W, TURNED>(k) < W && r < m.rows && c < m.width;
#if BY_FOUR
    if (is_there) raw[k] = *(const Read *)(m.at + r * m.row + c);
#else
    if (is_there) raw[k].at[0] = m.at[r * m.row + c * m.column];
#endif
#pragma unroll
    for (int e = 0; e < WIDTH && !is_there; e++) burn_put(raw[k].at[e], (C)0);
  }
#pragma unroll
  for (int k = 0; k < Held<N, W, TURNED>::count; k++)
#pragma unroll
    for (int e = 0; e < WIDTH; e++) held.at[k][e] = BURN_KEPT((C)burn_get(raw[k].at[e]));
}

/* To rows that begin `pitch` elements after each other. */
template <int N, int W, bool TURNED>
static __device__ inline void burn_put_rows(const Held<N, W, TURNED> &held, C *to, int pitch) {
#pragma unroll
  for (int k = 0; k < Held<N, W, TURNED>::count; k++) {
    const int row = burn_held_row<N, W, TURNED>(k), column = burn_held_column<N, W, TURNED>(k);
#pragma unroll
    for (int e = 0; e < WIDTH; e++) to[row * pitch + column + e] = held.at[k][e];
  }
}

template <int N, int W, bool TURNED>
static __device__ inline void burn_put_turned(const Held<N, W, TURNED> &held, C *to) {
#pragma unroll
  for (int k = 0; k < Held<N, W, TURNED>::count; k++) {
    const int row = burn_held_row<N, W, TURNED>(k), column = burn_held_column<N, W, TURNED>(k);
#pragma unroll
    for (int e = 0; e < WIDTH; e++) {
      const int d = column + e;
      to[d * N + ((row / 4) ^ (d % 8)) * 4 + row % 4] = held.at[k][e];
    }
  }
}

/* s[i][j] = a[row + my row i] . b[column + my column j] */
static __device__ inline void burn_dots(Room *room, C s[MY_ROWS][MY_SCORES], const Matrix &a, int row, const Matrix &b,
                                        int column) {
#pragma unroll
  for (int i = 0; i < MY_ROWS; i++)
#pragma unroll
    for (int j = 0; j < MY_SCORES; j++) s[i][j] = (C)0;
  for (int depth = 0; depth < a.width; depth += DEPTH) {
    Held<ROWS, DEPTH, !ON_TENSOR_CORES> held_a;
    Held<TILE, DEPTH, !ON_TENSOR_CORES> held_b;
    burn_hold<ROWS, DEPTH, !ON_TENSOR_CORES>(held_a, a, row, depth);
    burn_hold<TILE, DEPTH, !ON_TENSOR_CORES>(held_b, b, column, depth);
    __syncthreads();
#if ON_TENSOR_CORES
    burn_put_rows<ROWS, DEPTH, false>(held_a, room, PITCH);
    burn_put_rows<TILE, DEPTH, false>(held_b, room + RIGHT, PITCH);
#else
    burn_put_turned<ROWS, DEPTH, true>(held_a, room);
    burn_put_turned<TILE, DEPTH, true>(held_b, room + RIGHT);
#endif
    __syncthreads();
#if ON_TENSOR_CORES
    const int lane = threadIdx.x % 32;
    const C *left = room + (threadIdx.x / 32 * 16 + lane / 4) * PITCH + lane % 4;
    const C *right = room + RIGHT + lane / 4 * PITCH + lane % 4;
#pragma unroll
    for (int d = 0; d < DEPTH; d += 8) {
      const float fragment[4] = {left[d], left[8 * PITCH + d], left[d + 4], left[8 * PITCH + d + 4]};
#pragma unroll
      for (int j = 0; j < MY_SCORES; j += 2)
        burn_multiply(s[0][j], s[0][j + 1], s[1][j], s[1][j + 1], fragment, right[j * 4 * PITCH + d],
                      right[j * 4 * PITCH + d + 4]);
    }
#else
    const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
#pragma unroll 8
    for (int d = 0; d < DEPTH; d++) {
      const Four left = burn_four(room + d * ROWS + (ty ^ (d % 8)) * 4);
      const Four right = burn_four(room + RIGHT + d * TILE + (tx ^ (d % 8)) * 4);
#pragma unroll
      for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < 4; j++) s[i][j] = burn_multiply_add(left.at[i], right.at[j], s[i][j]);
    }
#endif
  }
}

/* sum[i][..] += the scores' weights s [rows, TILE] x m[first .. first + TILE], its columns from `column` on. */
#if ON_TENSOR_CORES
/* Scores are already where a fragment wants them, if keys 2 t and 2 t + 1 of eight are its t and t + 4. */
static __device__ inline void burn_add_rows(Room *room, const C s[MY_ROWS][MY_SCORES], C sum[MY_ROWS][MY_RESULTS],
                                            const Matrix &m, int first, int column) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int from = 0; from < TILE; from += PART) {
    if (first + from >= m.rows) continue;
    Held<PART, COLUMNS, false> held;
    burn_hold<PART, COLUMNS, false>(held, m, first + from, column);
    __syncthreads();
    burn_put_rows<PART, COLUMNS, false>(held, room, STRIDE);
    __syncthreads();
#pragma unroll
    for (int r = 0; r < PART; r += 8) {
      const int j = (from + r) / 4;
      const float fragment[4] = {burn_tf32(s[0][j]), burn_tf32(s[1][j]), burn_tf32(s[0][j + 1]), burn_tf32(s[1][j + 1])};
      const C *right = room + (r + lane % 4 * 2) * STRIDE + lane / 4;
#pragma unroll
      for (int k = 0; k < MY_RESULTS; k += 2)
        burn_multiply(sum[0][k], sum[0][k + 1], sum[1][k], sum[1][k + 1], fragment, right[k * 4], right[STRIDE + k * 4]);
    }
  }
}
#else
static __device__ inline void burn_add_rows(Room *room, const C s[MY_ROWS][MY_SCORES], C sum[MY_ROWS][MY_RESULTS],
                                            const Matrix &m, int first, int column) {
  const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  __syncthreads(); /* who still reads the weights of the tile before */
#pragma unroll
  for (int j = 0; j < 4; j++) {
    Four of_row;
#pragma unroll
    for (int i = 0; i < 4; i++) of_row.at[i] = s[i][j];
    burn_put_four(room + WEIGHTS + (4 * tx + j) * ROWS + (ty ^ (tx % 8)) * 4, of_row);
  }
  for (int from = 0; from < TILE && first + from < m.rows; from += PART) {
    Held<PART, COLUMNS, false> held;
    burn_hold<PART, COLUMNS, false>(held, m, first + from, column);
    __syncthreads();
    burn_put_rows<PART, COLUMNS, false>(held, room, STRIDE);
    __syncthreads();
#pragma unroll 4
    for (int r = 0; r < PART; r++) {
      const Four w = burn_four(room + WEIGHTS + (from + r) * ROWS + (ty ^ ((from + r) / 4 % 8)) * 4);
#pragma unroll
      for (int k = 0; k < MY_RESULTS; k += 2) {
        const Two v = burn_two(room + r * STRIDE + 16 * k + 2 * tx);
#pragma unroll
        for (int i = 0; i < 4; i++) {
          sum[i][k] = burn_multiply_add(w.at[i], v.at[0], sum[i][k]);
          sum[i][k + 1] = burn_multiply_add(w.at[i], v.at[1], sum[i][k + 1]);
        }
      }
    }
  }
}
#endif
#endif
