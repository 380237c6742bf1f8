/* reduce.cu - one number per line, in an order that depends on the shape and the dtype alone.
 *
 * BURN_VARIANT 0: lines lie along the last axis, a warp each; 1: the same, a block each; a thread takes one vector of 16
 * bytes after another. 2: lines lie side by side; a block has `lanes` vectors of them, and 256 / lanes rows of threads.
 * 3 and 4: for processors, a thread does what the warp or the block of 0 and 1 does, in that order.
 * 5: as 2, for sums of up to 1,024 f32, in ndarray's order: stretches of 64 in f32, by fours, and their sums in f64.
 * With `parts` above 1 a line is cut, and the results are joined by a second pass. */
enum { W = 16 / sizeof(IN0), ROUNDS = 4 /* vectors that a thread reads at once */ };

struct alignas(16) Vector { IN0 at[W]; };

static __device__ inline void burn_finish(const GpuReduce &p, OUT *to, A sum) {
  if (BURN_JOIN == 0 && p.size == 0) sum = (A)0; /* not the -0 that sums begin with */
  burn_put(*to, p.is_mean ? sum / (A)p.divisor : sum);
}

#if BURN_VARIANT != 2 && BURN_VARIANT != 5
static __device__ inline A burn_join_vector(A sum, const Vector &v) {
#pragma unroll
  for (int k = 0; k < W; k++) sum = burn_join(sum, (A)burn_get(v.at[k]));
  return sum;
}

#endif

#if BURN_VARIANT < 2
/* The vectors lane, lane + width .. of a line. */
static __device__ inline A burn_line(const IN0 *in, int64_t size, int lane, int width, bool whole) {
  A sum = burn_nothing();
  int64_t c = lane;
  for (; whole && c * W < size; c += ROUNDS * width) { /* all at once, also where the line ends among them */
    Vector v[ROUNDS];
#pragma unroll
    for (int i = 0; i < ROUNDS; i++)
      if ((c + i * width) * W < size) v[i] = ((const Vector *)in)[c + i * width];
#pragma unroll
    for (int i = 0; i < ROUNDS; i++)
      if ((c + i * width) * W < size) sum = burn_join_vector(sum, v[i]);
  }
  for (; c * W < size; c += width)
    for (int64_t k = c * W; k < c * W + W && k < size; k++) sum = burn_join(sum, (A)burn_get(in[k]));
  return sum;
}

extern "C" __global__ void __launch_bounds__(256) kernel(const GpuReduce p) {
  const int width = BURN_VARIANT == 0 ? 32 : 256, in_block = BURN_VARIANT == 0 ? 8 : 1;
  const int64_t at = (int64_t)blockIdx.x * in_block + threadIdx.x / width;
  const int64_t line = at / p.parts, start = at % p.parts * p.part_size;
  const bool is_there = BURN_VARIANT == 1 || line < p.outer; /* warps of no line go along: all come to each shuffle */
  const int64_t rest = p.size - start < p.part_size ? p.size - start : p.part_size, size = is_there ? rest : 0;
  A sum = burn_line((const IN0 *)p.in + line * p.size + start, size, threadIdx.x % width, width, p.whole);
  for (int step = 16; step > 0; step /= 2) sum = burn_join(sum, __shfl_down_sync(0xffffffffu, sum, step));
#if BURN_VARIANT == 1
  __shared__ A shared[8];
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = sum;
  __syncthreads();
  for (int k = 1; k < 8 && threadIdx.x == 0; k++) sum = burn_join(sum, shared[k]);
#endif
  if (is_there && threadIdx.x % width == 0) burn_finish(p, (OUT *)p.out + at, sum);
}
#elif BURN_VARIANT == 5
enum { STRETCH = 16 /* fours */ };
/* A block has `lanes` lines. Its 256 / lanes teams, of which there are no fewer than stretches, each add up some fours,
 * then a stretch of them, then the first what all have. */
extern "C" __global__ void __launch_bounds__(256) kernel(const GpuReduce p) {
  __shared__ A fours[2048];
  __shared__ double totals[256];
  const int lanes = p.lanes, teams = 256 / lanes, lane = threadIdx.x % lanes, team = threadIdx.x / lanes;
  const int size = (int)p.size, count = size / 4, stretches = (size + 4 * STRETCH - 1) / (4 * STRETCH);
  const int64_t strips = (p.inner + lanes - 1) / lanes, line = blockIdx.x / strips;
  const int64_t column = blockIdx.x % strips * lanes + lane;
  const IN0 *in = (const IN0 *)p.in + line * size * p.inner + (column < p.inner ? column : 0);
  for (int k = team; k < count; k += 4 * teams) { /* several at once, the first again where there is no other */
    A v[4][4];
#pragma unroll
    for (int i = 0; i < 4; i++) {
      const IN0 *from = in + 4 * (k + i * teams < count ? k + i * teams : k) * p.inner;
#pragma unroll
      for (int j = 0; j < 4; j++, from += p.inner) v[i][j] = (A)burn_get(from[0]);
    }
#pragma unroll
    for (int i = 0; i < 4; i++)
      if (k + i * teams < count) fours[(k + i * teams) * lanes + lane] = (v[i][0] + v[i][1]) + (v[i][2] + v[i][3]);
  }
  __syncthreads();
  if (team < stretches) {
    const int last = (team + 1) * STRETCH < count ? (team + 1) * STRETCH : count;
    A sum = burn_nothing();
    for (int k = team * STRETCH; k < last; k++) sum += fours[k * lanes + lane];
    for (int k = team == stretches - 1 ? 4 * count : size; k < size; k++) sum += (A)burn_get(in[k * p.inner]);
    totals[threadIdx.x] = (double)sum;
  }
  __syncthreads();
  if (team > 0 || column >= p.inner) return;
  double total = -0.0;
  for (int k = 0; k < stretches; k++) total += totals[k * lanes + lane];
  const bool is_second = p.second != 0 && line == 1;
  burn_finish(p, (OUT *)(is_second ? p.second : p.out) + (is_second ? 0 : line * p.inner) + column, (A)total);
}
#elif BURN_VARIANT > 2
#define WARPS (BURN_VARIANT == 3 ? 1 : 8)

static __device__ inline A burn_lane(const IN0 *in, int64_t size, int64_t lane, bool whole) {
  A sum = burn_nothing();
  int64_t c = lane;
  for (; whole && c * W < size; c += 32 * WARPS) sum = burn_join_vector(sum, ((const Vector *)in)[c]);
  for (; c * W < size; c += 32 * WARPS)
    for (int64_t k = c * W; k < c * W + W && k < size; k++) sum = burn_join(sum, (A)burn_get(in[k]));
  return sum;
}

/* Joins as lanes of a warp do that shuffle, 16 apart at first: in the order of their reversed bits two neighbours are
 * joined, then two pairs .. held[i] waits for its neighbour of 2^i lanes. */
static __device__ inline A burn_warp(const IN0 *in, int64_t size, int warp, bool whole) {
  A held[5], sum;
#pragma unroll
  for (int i = 0; i < 5; i++) held[i] = burn_nothing();
  for (int turn = 0; turn < 32; turn++) {
    const int lane = (turn & 1) * 16 + (turn & 2) * 4 + (turn & 4) + (turn & 8) / 4 + (turn & 16) / 16;
    sum = burn_lane(in, size, warp * 32 + lane, whole);
    bool waits = false;
#pragma unroll
    for (int i = 0; i < 5; i++) {
      const bool is_second = (turn >> i & 1) != 0;
      const A both = burn_join(held[i], sum);
      if (!waits && !is_second) held[i] = sum;
      if (!waits && is_second) sum = both;
      waits = waits || !is_second;
    }
  }
  return sum;
}

extern "C" __global__ void __launch_bounds__(32) kernel(const GpuReduce p) {
  const int64_t at = burn_thread(), line = at / p.parts, start = at % p.parts * p.part_size;
  if (line >= p.outer) return;
  const int64_t size = p.size - start < p.part_size ? p.size - start : p.part_size;
  const IN0 *in = (const IN0 *)p.in + line * p.size + start;
  A sum = burn_warp(in, size, 0, p.whole);
  for (int warp = 1; warp < WARPS; warp++) sum = burn_join(sum, burn_warp(in, size, warp, p.whole));
  burn_finish(p, (OUT *)p.out + at, sum);
}
#else
enum { LINES = W < 8 ? W : 8 /* that a thread has */, BATCH = 8 /* of its vectors, read at once */ };
struct alignas(sizeof(IN0) * LINES) Few { IN0 at[LINES]; };

/* Joins rows k, k + rows .. before `end`; `there`: how many of the thread's lines are in a row. */
template <bool whole>
static __device__ inline void burn_join_rows(const IN0 *in, int64_t inner, int64_t k, int64_t end, int rows,
                                             int64_t there, A *sums) {
  for (; k < end; k += BATCH * rows) {
    Few v[BATCH];
#pragma unroll
    for (int i = 0; i < BATCH; i++) {
      const IN0 *from = in + (k + i * rows) * inner;
      if (k + i * rows >= end) continue;
      if (whole) v[i] = *(const Few *)from;
      else
        for (int j = 0; j < LINES; j++) v[i].at[j] = from[j < there ? j : 0];
    }
#pragma unroll
    for (int i = 0; i < BATCH; i++)
      for (int j = 0; j < LINES; j++)
        if (k + i * rows < end) sums[j] = burn_join(sums[j], (A)burn_get(v[i].at[j]));
  }
}

extern "C" __global__ void __launch_bounds__(256) kernel(const GpuReduce p) {
  __shared__ A shared[256 * LINES];
  const int lanes = p.lanes, rows = 256 / lanes, width = lanes * LINES;
  const int lane = threadIdx.x % lanes, row = threadIdx.x / lanes;
  const uint32_t strips = (uint32_t)((p.inner + width - 1) / width), parts = (uint32_t)p.parts;
  const uint32_t strip = blockIdx.x % strips, part = blockIdx.x / strips % parts, line = blockIdx.x / strips / parts;
  const int64_t first = (int64_t)strip * width, column = first + lane * LINES, there = p.inner - column;
  const int64_t begin = (int64_t)part * p.part_size;
  const int64_t end = there <= 0 ? 0 : begin + p.part_size < p.size ? begin + p.part_size : p.size;
  const IN0 *in = (const IN0 *)p.in + (int64_t)line * p.size * p.inner + column;
  A sums[LINES];
  for (int j = 0; j < LINES; j++) sums[j] = burn_nothing();
  if (p.whole) burn_join_rows<true>(in, p.inner, begin + row, end, rows, there, sums);
  else burn_join_rows<false>(in, p.inner, begin + row, end, rows, there, sums);
  for (int j = 0; j < LINES; j++) shared[threadIdx.x * LINES + j] = sums[j];
  __syncthreads();
  /* a line has a number in each row of threads: a thread joins LINES of them, then one joins what `groups` threads have */
  const int groups = rows / LINES, group = threadIdx.x / width, mine = threadIdx.x % width;
  A sum = burn_nothing();
  for (int j = 0; j < LINES; j++) sum = burn_join(sum, shared[(group * LINES + j) * width + mine]);
  __syncthreads();
  shared[threadIdx.x] = sum;
  __syncthreads();
  if (group > 0 || first + mine >= p.inner) return;
  for (int j = 1; j < groups; j++) sum = burn_join(sum, shared[j * width + mine]);
  const bool is_second = p.second != 0 && line == 1;
  const int64_t at = (is_second ? 0 : ((int64_t)line * p.parts + part) * p.inner) + first + mine;
  burn_finish(p, (OUT *)(is_second ? p.second : p.out) + at, sum);
}
#endif
