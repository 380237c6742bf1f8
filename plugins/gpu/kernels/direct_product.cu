/* direct_product.cu - products on processors, where threads of a group that wait for each other are slow; sums.cu comes
 * before. A thread makes ROWS x COLUMNS results, from the operands as they lie, over a part of k. The numbers are those
 * of product.cu where there is one part.
 *
 * BURN_VARIANT % 3 says which pairs of the left operand's elements are read by one access, as it costs a processor as
 * much as that of one, 0: none; 1: those along k; 2: those of two rows. BURN_VARIANT / 3: of the right one; 2: those of
 * two columns. */
#define LEFT_PAIRS (BURN_VARIANT % 3)
#define RIGHT_PAIRS (BURN_VARIANT / 3)
#define ROWS 4
#define COLUMNS (sizeof(IN0) == 8 ? 4 : 8)
#define STEPS 2 /* of k at once */
#define IN_BLOCKS (sizeof(OUT) == sizeof(A) && Element<IN0>::is_float)

/* Where multiply-add is made of f64: a quick one, and a note whether it may be wrong. Such sums are made again. */
#if defined(BURN_SPIRV) && !BURN_FUSED_F32
#define BURN_IS_QUICK (sizeof(C) == 4 && Element<IN0>::is_float)
#else
#define BURN_IS_QUICK false
#endif

/* ties: the highest bit is set if a sum in f64 lay in the middle of two numbers of f32, so that it may have been rounded
 * twice (products of halves have too few bits for that). least: the smallest operands but 0, as twice their bits less 1. */
struct Doubts { uint32_t ties, least_left, least_right; };

static __device__ inline float burn_quick(float a, float b, float c, Doubts &doubts) {
  const double sum = (double)a * (double)b + (double)c;
  const uint32_t low = (uint32_t)burn_bits_f64(sum) << 3;
  if (sizeof(IN0) == 4) doubts.ties |= low & (low + 0x7fffffffu);
  return (float)sum;
}
static __device__ inline void burn_note_least(uint32_t &least, float x) {
  const uint32_t size = (burn_bits_f32(x) << 1) - 1u;
  if (sizeof(IN0) == 4) least = size < least ? size : least;
}
/* Products of 2^-102 and more are integers times 2^-149, and so are their sums: no small one is rounded. */
static __device__ inline bool burn_is_doubtful(const Doubts &doubts) {
  return (doubts.ties >> 31) != 0u || (doubts.least_left >> 24) + (doubts.least_right >> 24) < 254u - 102u;
}
static __device__ inline double burn_quick(double, double, double c, Doubts &) { return c; }
static __device__ inline int64_t burn_quick(int64_t, int64_t, int64_t c, Doubts &) { return c; }
static __device__ inline int32_t burn_quick(int32_t, int32_t, int32_t c, Doubts &) { return c; }
static __device__ inline uint32_t burn_quick(uint32_t, uint32_t, uint32_t c, Doubts &) { return c; }

/* Elements of COUNT lines and STEPS steps of k. */
template <int COUNT>
static __device__ inline void burn_read(A *to, const IN0 *const *lines, int64_t at, int64_t step) {
#pragma unroll
  for (int s = 0; s < STEPS; s++)
#pragma unroll
    for (int i = 0; i < COUNT; i++) to[s * COUNT + i] = (A)burn_get(lines[i][at + s * step]);
}

#if BURN_VARIANT > 0
/* Two f32 beside each other. */
static __device__ inline void burn_pair(float &first, float &second, const IN0 *from) {
  const uint64_t pair = *(const uint64_t *)from;
  first = burn_from_bits_f32((uint32_t)pair);
  second = burn_from_bits_f32((uint32_t)(pair >> 32));
}
template <int COUNT>
static __device__ inline void burn_read_along_k(A *to, const IN0 *const *lines, int64_t at) {
#pragma unroll
  for (int i = 0; i < COUNT; i++) burn_pair(to[i], to[COUNT + i], lines[i] + at);
}
template <int COUNT>
static __device__ inline void burn_read_across(A *to, const IN0 *const *lines, int64_t at, int64_t step) {
#pragma unroll
  for (int s = 0; s < STEPS; s++)
#pragma unroll
    for (int i = 0; i < COUNT; i += 2) burn_pair(to[s * COUNT + i], to[s * COUNT + i + 1], lines[i] + (at + s * step));
}
#endif

static __device__ inline void burn_read_left(A *to, const IN0 *const *lines, int64_t k, int64_t step) {
#if LEFT_PAIRS == 0
  burn_read<ROWS>(to, lines, k * step, step);
#elif LEFT_PAIRS == 1
  burn_read_along_k<ROWS>(to, lines, k);
#else
  burn_read_across<ROWS>(to, lines, k * step, step);
#endif
}
static __device__ inline void burn_read_right(A *to, const IN0 *const *lines, int64_t k, int64_t step) {
#if RIGHT_PAIRS == 0
  burn_read<COLUMNS>(to, lines, k * step, step);
#elif RIGHT_PAIRS == 1
  burn_read_along_k<COLUMNS>(to, lines, k);
#else
  burn_read_across<COLUMNS>(to, lines, k * step, step);
#endif
}

/* The results' sums over some of k. */
static __device__ inline void burn_add(A *sum, const IN0 *const *left, const IN0 *const *right, const GpuMatmul &p,
                                       int64_t from, int64_t end) {
  for (int64_t k = from; k < end; k++) {
    A a[ROWS], b[COLUMNS];
#pragma unroll
    for (int i = 0; i < ROWS; i++) a[i] = (A)burn_get(left[i][k * p.lhs_column]);
#pragma unroll
    for (int j = 0; j < COLUMNS; j++) b[j] = (A)burn_get(right[j][k * p.rhs_row]);
#pragma unroll
    for (int i = 0; i < ROWS; i++)
#pragma unroll
      for (int j = 0; j < COLUMNS; j++) sum[i * COLUMNS + j] = burn_fused(a[i], b[j], sum[i * COLUMNS + j]);
  }
}

/* Two steps of k at a time, as far as they go. */
static __device__ inline void burn_add_quickly(A *sum, const IN0 *const *left, const IN0 *const *right,
                                               const GpuMatmul &p, int64_t from, int64_t end, Doubts &doubts) {
  for (int64_t k = from; k + STEPS <= end; k += STEPS) {
    A a[STEPS * ROWS], b[STEPS * COLUMNS];
    burn_read_left(a, left, k, p.lhs_column);
    burn_read_right(b, right, k, p.rhs_row);
#pragma unroll
    for (int i = 0; i < STEPS * ROWS && BURN_IS_QUICK; i++) burn_note_least(doubts.least_left, (float)a[i]);
#pragma unroll
    for (int j = 0; j < STEPS * COLUMNS && BURN_IS_QUICK; j++) burn_note_least(doubts.least_right, (float)b[j]);
#pragma unroll
    for (int s = 0; s < STEPS; s++)
#pragma unroll
      for (int i = 0; i < ROWS; i++)
#pragma unroll
        for (int j = 0; j < COLUMNS; j++) {
          A *to = sum + (i * COLUMNS + j);
          const A x = a[s * ROWS + i], y = b[s * COLUMNS + j];
          *to = BURN_IS_QUICK ? burn_quick(x, y, *to, doubts) : burn_fused(x, y, *to);
        }
  }
}

/* The results' sums over a block of k. */
static __device__ inline void burn_add_block(A *sum, const IN0 *const *left, const IN0 *const *right,
                                             const GpuMatmul &p, int64_t from, int64_t end) {
  Doubts doubts = {0u, 0xffffffffu, 0xffffffffu};
  int64_t done = from + (end - from) / STEPS * STEPS;
#pragma unroll
  for (int i = 0; i < ROWS * COLUMNS; i++) sum[i] = (A)0;
  burn_add_quickly(sum, left, right, p, from, end, doubts);
  if (BURN_IS_QUICK && burn_is_doubtful(doubts)) {
    done = from;
#pragma unroll
    for (int i = 0; i < ROWS * COLUMNS; i++) sum[i] = (A)0;
  }
  burn_add(sum, left, right, p, done, end);
}

extern "C" __global__ void __launch_bounds__(GPU_DIRECT_THREADS) kernel(const GpuMatmul p) {
  const int64_t columns = (p.n + COLUMNS - 1) / COLUMNS, rows = (p.m + ROWS - 1) / ROWS;
  const int64_t at = burn_thread(), column = at % columns * COLUMNS, row = at / columns % rows * ROWS;
  const int64_t matrix = at / columns / rows, part = matrix / p.batches; /* [parts, batches] */
  if (part >= p.parts) return;
  const int64_t begin = part * p.part_size, end = begin + p.part_size < p.k ? begin + p.part_size : p.k;
  const Places places = burn_places(p, matrix % p.batches);
  const IN0 *left[ROWS], *right[COLUMNS];
  A sum[ROWS * COLUMNS], total[ROWS * COLUMNS];
  /* lines that are not there are the last ones again, pair by pair */
#pragma unroll
  for (int i = 0; i < ROWS; i++) {
    const int64_t y = row + i < p.m ? row + i : LEFT_PAIRS == 2 ? p.m - 2 : p.m - 1;
    left[i] = (const IN0 *)p.lhs + places.left + y * p.lhs_row;
  }
#pragma unroll
  for (int j = 0; j < COLUMNS; j++) {
    const int64_t x = column + j < p.n ? column + j : RIGHT_PAIRS == 2 ? p.n - 2 : p.n - 1;
    right[j] = (const IN0 *)p.rhs + places.right + x * p.rhs_column;
  }
#pragma unroll
  for (int i = 0; i < ROWS * COLUMNS; i++) total[i] = (A)0;
  const int64_t depth = IN_BLOCKS ? p.depth : p.part_size;
  for (int64_t from = begin; from < end; from += depth) {
    burn_add_block(sum, left, right, p, from, from + depth < end ? from + depth : end);
#pragma unroll
    for (int i = 0; i < ROWS * COLUMNS; i++) total[i] = from == begin ? sum[i] : total[i] + sum[i];
  }
  OUT *out = (OUT *)p.out + matrix * p.m * p.n;
  const bool whole = p.n % 4 == 0 && p.out % (4 * sizeof(OUT)) == 0;
  const Ending ending = {p.bias, p.n};
#pragma unroll
  for (int i = 0; i < ROWS; i++)
#pragma unroll
    for (int j = 0; j < COLUMNS; j += 4)
      if (row + i < p.m) burn_write(ending, out + (row + i) * p.n, column + j, total + (i * COLUMNS + j), whole);
}
