/* sort.cu - the order of the elements of each line; equal ones keep theirs. BURN_VARIANT 0: by a bitonic sort of keys and
 * indices in one block's shared memory, lines of at most BURN_LONGEST, padded to a power of two with keys above all.
 *
 * Longer ones by eight bits of the key after another, from the lowest, in tiles of 16 KiB of keys: 1 counts the digits of each
 * tile, 2 adds up the counts of each digit, which gives the places of the first of each digit and tile, 3 puts keys and indices
 * there. A line of one tile has no 1 and 2.
 * Within a tile a warp has its elements in a row, 32 at a time, so the order is kept. */
static __device__ inline int64_t burn_key(f16_t x) {
  const int16_t bits = (int16_t)x.bits;
  return bits < 0 ? bits ^ 0x7fff : bits;
}
static __device__ inline int64_t burn_key(bf16_t x) {
  const int16_t bits = (int16_t)x.bits;
  return bits < 0 ? bits ^ 0x7fff : bits;
}
static __device__ inline int64_t burn_key(f32_t x) {
  const int32_t bits = __float_as_int(x);
  return bits < 0 ? bits ^ 0x7fffffff : bits;
}
static __device__ inline int64_t burn_key(f64_t x) {
  const int64_t bits = __double_as_longlong(x);
  return bits < 0 ? bits ^ INT64_MAX : bits;
}
template <class S> static __device__ inline int64_t burn_key(S x) { return (int64_t)burn_get(x); }

static __device__ inline int64_t burn_place(const GpuSort &p, int64_t line, int64_t k) {
  return (line / p.inner * p.size + k) * p.inner + line % p.inner;
}
static __device__ inline int64_t burn_key_at(const GpuSort &p, int64_t line, int64_t k) {
  if (k >= p.size) return INT64_MAX;
  const int64_t key = burn_key(((const IN0 *)p.in)[burn_place(p, line, k)]);
  return p.descending ? ~key : key;
}

#if BURN_VARIANT == 0
#if !defined(BURN_LONGEST)
#define BURN_LONGEST 4096
#define BURN_SORTERS 512
#endif
/* Puts elements i and j, where i < j, in the order that the sort wants there. */
template <class I>
static __device__ inline void burn_exchange(int64_t *keys, I *indices, int64_t i, int64_t j, bool rising) {
  const bool is_above = keys[i] > keys[j] || (keys[i] == keys[j] && indices[i] > indices[j]);
  if (is_above != rising) return;
  const int64_t key = keys[i];
  const I index = indices[i];
  keys[i] = keys[j];
  indices[i] = indices[j];
  keys[j] = key;
  indices[j] = index;
}

extern "C" __global__ void __launch_bounds__(BURN_SORTERS) kernel(const GpuSort p) {
  __shared__ int64_t keys[BURN_LONGEST];
  __shared__ int32_t indices[BURN_LONGEST];
  const int64_t line = blockIdx.x;
  for (int64_t k = threadIdx.x; k < p.padded; k += blockDim.x) {
    keys[k] = burn_key_at(p, line, k);
    indices[k] = (int32_t)k;
  }
  for (int64_t span = 2; span <= p.padded; span *= 2) {
    for (int64_t distance = span / 2; distance > 0; distance /= 2) {
      __syncthreads();
      for (int64_t pair = threadIdx.x; pair < p.padded / 2; pair += blockDim.x) {
        const int64_t i = pair / distance * 2 * distance + pair % distance;
        burn_exchange(keys, indices, i, i + distance, (i & span) == 0);
      }
    }
  }
  __syncthreads();
  for (int64_t k = threadIdx.x; k < p.size; k += blockDim.x)
    burn_put(((OUT *)p.out)[burn_place(p, line, k)], indices[k]);
}
#else
template <int BYTES> struct Unsigned { typedef uint32_t Key; };
template <> struct Unsigned<8> { typedef uint64_t Key; };
typedef Unsigned<sizeof(IN0)>::Key Key;
enum { T = 256, WARPS = T / 32, TILE = sizeof(IN0) == 8 ? 2048 : 4096, ROUNDS = TILE / T, DIGITS = 256 };

/* Where a line begins: between passes, and in the tensor. */
struct Line { int64_t between, tensor; };
static __device__ inline Line burn_line(const GpuSort &p, int64_t line) {
  const Line place = {line * p.size, burn_place(p, line, 0)};
  return place;
}

/* Element k of a line as it came from the pass before, or, in the first one, from the tensor. */
static __device__ inline Key burn_sortable(const GpuSort &p, const Line &line, int64_t k) {
  if (p.keys_in != 0) return ((const Key *)p.keys_in)[line.between + k];
  return (Key)burn_key(((const IN0 *)p.in)[line.tensor + k * p.inner]) ^ (Key)p.flip;
}
static __device__ inline uint32_t burn_index(const GpuSort &p, const Line &line, int64_t k) {
  return p.indices_in != 0 ? ((const uint32_t *)p.indices_in)[line.between + k] : (uint32_t)k;
}
static __device__ inline uint32_t burn_digit(const GpuSort &p, Key key) { return (uint32_t)(key >> p.shift) & 255u; }

/* The lanes of the warp that have the same digit; those that are not there have none. */
static __device__ inline uint32_t burn_equals(uint32_t digit, bool is_there) {
  uint32_t lanes = __ballot_sync(0xffffffffu, is_there);
  for (int bit = 0; bit < 8; bit++) {
    const bool has = (digit >> bit & 1u) != 0;
    const uint32_t set = __ballot_sync(0xffffffffu, has);
    lanes &= has ? set : ~set;
  }
  return lanes;
}

/* The place of each of a thread's elements among those of its digit in its warp's part of the tile; counts[w][d] becomes
 * how many of digit d warp w has. */
static __device__ inline void burn_rank(const GpuSort &p, const Line &line, int64_t start, uint32_t counts[WARPS][DIGITS],
                                        Key *keys, uint32_t *ranks) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (int d = threadIdx.x; d < WARPS * DIGITS; d += T) counts[d / DIGITS][d % DIGITS] = 0;
  __syncthreads();
#pragma unroll
  for (int round = 0; round < ROUNDS; round++) {
    const int64_t k = start + warp * (TILE / WARPS) + round * 32 + lane;
    const bool is_there = k < p.size;
    keys[round] = is_there ? burn_sortable(p, line, k) : (Key)0;
    const uint32_t digit = burn_digit(p, keys[round]), equals = burn_equals(digit, is_there);
    const uint32_t before = __popc(equals & ((1u << lane) - 1u));
    if (is_there) ranks[round] = counts[warp][digit] + before;
    __syncwarp();
    if (is_there && before == 0) counts[warp][digit] += __popc(equals);
    __syncwarp();
  }
  __syncthreads();
}

/* The sum of what the threads before this one have, and of all. */
static __device__ inline uint32_t burn_sum_before(uint32_t x, uint32_t *all) {
  __shared__ uint32_t ends[WARPS];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  uint32_t sum = x, before = 0;
  for (int step = 1; step < 32; step *= 2) {
    const uint32_t left = __shfl_up_sync(0xffffffffu, sum, step);
    if (lane >= step) sum += left;
  }
  __syncthreads();
  if (lane == 31) ends[warp] = sum;
  __syncthreads();
  *all = 0;
  for (int w = 0; w < WARPS; w++) {
    before += w < warp ? ends[w] : 0;
    *all += ends[w];
  }
  return before + sum - x;
}

#if BURN_VARIANT == 1
extern "C" __global__ void __launch_bounds__(T) kernel(const GpuSort p) {
  __shared__ uint32_t counts[WARPS][DIGITS];
  const int64_t tile = (int64_t)blockIdx.x % p.tiles, number = (int64_t)blockIdx.x / p.tiles;
  const Line line = burn_line(p, number);
#if defined(BURN_SPIRV)
  Key keys[ROUNDS];
  uint32_t ranks[ROUNDS];
  burn_rank(p, line, tile * TILE, counts, keys, ranks);
#else
  for (int w = 0; w < WARPS; w++) counts[w][threadIdx.x] = 0;
  __syncthreads();
#pragma unroll 8
  for (int round = 0; round < ROUNDS; round++) {
    const int64_t k = tile * TILE + round * T + threadIdx.x;
    if (k < p.size) atomicAdd(&counts[threadIdx.x / 32][burn_digit(p, burn_sortable(p, line, k))], 1u);
  }
  __syncthreads();
#endif
  uint32_t sum = 0;
  for (int w = 0; w < WARPS; w++) sum += counts[w][threadIdx.x];
  ((uint32_t *)p.counts)[(number * DIGITS + threadIdx.x) * p.tiles + tile] = sum;
}
#elif BURN_VARIANT == 2
/* A block per line and digit: each tile's count becomes the sum of those before it, and the sum of all goes to totals. */
extern "C" __global__ void __launch_bounds__(T) kernel(const GpuSort p) {
  uint32_t *counts = (uint32_t *)p.counts + (int64_t)blockIdx.x * p.tiles, before = 0;
  for (int64_t start = 0; start < p.tiles; start += T) {
    const int64_t k = start + threadIdx.x;
    const uint32_t count = k < p.tiles ? counts[k] : 0;
    uint32_t all, sum = burn_sum_before(count, &all);
    if (k < p.tiles) counts[k] = before + sum;
    before += all;
  }
  if (threadIdx.x == 0) ((uint32_t *)p.totals)[blockIdx.x] = before;
}
#else
/* Keys and indices go into the tile's order first, so that neighbours are written to neighbours. */
extern "C" __global__ void __launch_bounds__(T) kernel(const GpuSort p) {
  __shared__ uint32_t counts[WARPS][DIGITS], distances[DIGITS]; /* from a place in the tile to that in the line */
  __shared__ Key room[TILE];
  Key keys[ROUNDS];
  uint32_t ranks[ROUNDS], to[ROUNDS];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int64_t tile = (int64_t)blockIdx.x % p.tiles, number = (int64_t)blockIdx.x / p.tiles, start = tile * TILE;
  const Line line = burn_line(p, number);
  const int64_t first = start + warp * (TILE / WARPS) + lane, left = p.size - start;
  burn_rank(p, line, start, counts, keys, ranks);
  const int64_t digit = number * DIGITS + threadIdx.x;
  uint32_t all, here = 0;
  for (int w = 0; w < WARPS; w++) here += counts[w][threadIdx.x];
  uint32_t place = burn_sum_before(here, &all);
  const uint32_t total = p.tiles > 1 ? ((const uint32_t *)p.totals)[digit] : here;
  uint32_t begin = burn_sum_before(total, &all);
  if (p.tiles > 1) begin += ((const uint32_t *)p.counts)[digit * p.tiles + tile];
  distances[threadIdx.x] = begin - place;
  for (int w = 0; w < WARPS; w++) {
    const uint32_t count = counts[w][threadIdx.x];
    counts[w][threadIdx.x] = place;
    place += count;
  }
  __syncthreads();
#pragma unroll
  for (int round = 0; round < ROUNDS; round++) {
    if (first + round * 32 >= p.size) continue;
    ranks[round] += counts[warp][burn_digit(p, keys[round])];
    room[ranks[round]] = keys[round];
  }
  __syncthreads();
#pragma unroll
  for (int round = 0; round < ROUNDS; round++) {
    const int k = round * T + threadIdx.x;
    if (k >= left) continue;
    const Key key = room[k];
    to[round] = distances[burn_digit(p, key)] + (uint32_t)k;
    if (p.keys_out != 0) ((Key *)p.keys_out)[line.between + to[round]] = key;
  }
  __syncthreads();
#pragma unroll
  for (int round = 0; round < ROUNDS; round++)
    if (first + round * 32 < p.size) room[ranks[round]] = (Key)burn_index(p, line, first + round * 32);
  __syncthreads();
#pragma unroll
  for (int round = 0; round < ROUNDS; round++) {
    const int k = round * T + threadIdx.x;
    if (k >= left) continue;
    if (p.keys_out != 0) ((uint32_t *)p.indices_out)[line.between + to[round]] = (uint32_t)room[k];
    else burn_put(((OUT *)p.out)[line.tensor + to[round] * p.inner], (int64_t)room[k]);
  }
}
#endif
#endif
