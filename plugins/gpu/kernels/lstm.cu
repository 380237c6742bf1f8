/* lstm.cu - one step of an lstm, and the way back through one. Kinds: 0 forward, 1 backward, 2 the gradient of the first
 * hidden state; + 8: the product that a step begins with is given (`product`), else it is made here.
 *
 * A block has 4 units (with their 4 gates) of 32 samples. For the product each of its 16 warps (8 for f64) takes a share of the
 * depth, whose size follows from the number of units alone, with a sample in each lane; then a warp has one unit. */
#define BURN_KIND (BURN_VARIANT % 8)
#define BURN_IS_GIVEN (BURN_VARIANT / 8)
typedef Element<IN0>::C C;
#if !defined(BURN_WARPS)
#define BURN_WARPS (sizeof(C) == 8 ? 8 : 16)
#endif
enum { UNITS = 4, GATES = 4, SAMPLES = 32, WARPS = BURN_WARPS, SUMS = BURN_KIND == 0 ? GATES * UNITS : UNITS };
enum { UNROLLED = BURN_KIND == 0 ? 2 : 4 }; /* steps of four whose reads are under way at once */

static __device__ inline float burn_bent(float x) { return burn_tanh_f32(x); }
static __device__ inline double burn_bent(double x) { return tanh(x); }
static __device__ inline float burn_gate(float x) { return burn_sigmoid_f32(x); }
static __device__ inline double burn_gate(double x) { return burn_sigmoid_f64(x); }

struct alignas(16) Four { C at[4]; };

/* The units and the sample of a thread in the product. */
struct Tile { int64_t unit, sample; };

/* Where four steps of the depth begin in the weight, for sums 4 i .. of the tile: a gate's four units, or a unit's. */
static __device__ inline const C *burn_weight(const GpuLstm &p, const Tile &tile, int64_t k, int step, int i) {
#if BURN_KIND == 0 /* hidden [samples, units] x weight [units, 4 units] */
  return (const C *)p.weight + ((k + step) * GATES + i) * p.units + tile.unit;
#else /* gradients of gates [samples, 4 units] x the weight transposed */
  return (const C *)p.weight + (tile.unit + i) * GATES * p.units + k + step;
#endif
}

/* Adds steps begin .. end - 1 of the depth, which come by fours, as units do: no read waits for a comparison. */
static __device__ inline void burn_multiply_fours(C *sums, const GpuLstm &p, const Tile &tile, int64_t begin,
                                                  int64_t end) {
  const int64_t sample = tile.sample < p.samples ? tile.sample : p.samples - 1;
  const C *left = (const C *)p.left + sample * p.left_row;
#pragma unroll UNROLLED
  for (int64_t k = begin; k < end; k += 4) {
    const Four x = *(const Four *)(left + k);
#if BURN_KIND == 0
    Four w[4][GATES];
#pragma unroll
    for (int at = 0; at < 4 * GATES; at++) w[at / GATES][at % GATES] = *(const Four *)burn_weight(p, tile, k, at / GATES, at % GATES);
#pragma unroll
    for (int at = 0; at < 4 * SUMS; at++) {
      const int step = at / SUMS, sum = at % SUMS;
      sums[sum] = burn_fused(x.at[step], w[step][sum / UNITS].at[sum % UNITS], sums[sum]);
    }
#else
    Four w[UNITS];
#pragma unroll
    for (int u = 0; u < UNITS; u++) w[u] = *(const Four *)burn_weight(p, tile, k, 0, u);
#pragma unroll
    for (int at = 0; at < 4 * UNITS; at++)
      sums[at / 4] = burn_fused(x.at[at % 4], w[at / 4].at[at % 4], sums[at / 4]);
#endif
  }
}

/* The same for any numbers of units, one step after the other. */
static __device__ inline void burn_multiply(C *sums, const GpuLstm &p, const Tile &tile, int64_t begin, int64_t end) {
  const C *left = (const C *)p.left + tile.sample * p.left_row;
  if (tile.sample >= p.samples) return;
  for (int64_t k = begin; k < end; k++) {
#pragma unroll
    for (int sum = 0; sum < SUMS; sum++) {
      const int u = sum % UNITS;
      if (tile.unit + u >= p.units) continue;
      const C w = BURN_KIND == 0 ? burn_weight(p, tile, k, 0, sum / UNITS)[u] : *burn_weight(p, tile, k, 0, u);
      sums[sum] = burn_fused(left[k], w, sums[sum]);
    }
  }
}

#if BURN_KIND == 0
/* `sums`: the hidden state before times the weight, by gate. */
static __device__ inline void burn_step(const GpuLstm &p, int64_t sample, int64_t unit, const C *sums) {
  const int64_t at = (sample * p.steps + p.step) * p.units + unit, gates = at * GATES - unit * (GATES - 1);
  const C before = p.step > 0 ? ((const C *)p.cells)[at - p.units] : ((const C *)p.cell)[sample * p.units + unit];
  C gate[GATES];
#pragma unroll
  for (int g = 0; g < GATES; g++) {
    const C x = ((const C *)p.gates)[gates + g * p.units] + sums[g];
    gate[g] = g == 2 ? burn_bent(x) : burn_gate(x);
    ((C *)p.activations)[gates + g * p.units] = gate[g];
  }
  const C cell = gate[1] * before + gate[0] * gate[2];
  ((C *)p.cells)[at] = cell;
  ((C *)p.outputs)[at] = gate[3] * burn_bent(cell);
}
#elif BURN_KIND == 1
static __device__ inline C burn_through_gate(C slope, C y) { return slope * (y - y * y); }
static __device__ inline C burn_through_bent(C slope, C y) { return slope - slope * (y * y); }

/* `sums`: what the step after gives to the hidden state. */
static __device__ inline void burn_step(const GpuLstm &p, int64_t sample, int64_t unit, const C *sums) {
  const int64_t at = (sample * p.steps + p.step) * p.units + unit, gates = at * GATES - unit * (GATES - 1);
  const int64_t state = sample * p.units + unit;
  const C *cells = (const C *)p.cells, *activations = (const C *)p.activations + gates;
  const C before = p.step > 0 ? cells[at - p.units] : ((const C *)p.cell)[state];
  const C bent = burn_bent(cells[at]), hidden = ((const C *)p.grad)[at] + sums[0];
  C y[GATES], slope[GATES];
#pragma unroll
  for (int g = 0; g < GATES; g++) y[g] = activations[g * p.units];
  C cell = p.is_first ? (C)0 : ((const C *)p.cell_out)[state];
  cell += burn_through_bent(hidden * y[3], bent);
  if (p.grad_cells != 0) cell += ((const C *)p.grad_cells)[at];
  slope[0] = cell * y[2];
  slope[1] = cell * before;
  slope[2] = cell * y[0];
  slope[3] = hidden * bent;
#pragma unroll
  for (int g = 0; g < GATES; g++) {
    if (p.grad_activations != 0) slope[g] += ((const C *)p.grad_activations)[gates + g * p.units];
    ((C *)p.gates_out)[gates + g * p.units] = g == 2 ? burn_through_bent(slope[g], y[g]) : burn_through_gate(slope[g], y[g]);
  }
  ((C *)p.cell_out)[state] = cell * y[1];
  ((C *)p.states)[at] = p.step > 0 ? activations[3 * p.units - GATES * p.units] * burn_bent(before)
                                   : ((const C *)p.hidden)[state];
}
#else
static __device__ inline void burn_step(const GpuLstm &p, int64_t sample, int64_t unit, const C *sums) {
  ((C *)p.hidden_out)[sample * p.units + unit] = sums[0];
  if (p.is_first) ((C *)p.cell_out)[sample * p.units + unit] = (C)0; /* there is no step */
}
#endif

extern "C" __global__ void __launch_bounds__(32 * WARPS) kernel(const GpuLstm p) {
  __shared__ C parts[WARPS][SUMS][SAMPLES + 1];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int64_t tiles = (p.units + UNITS - 1) / UNITS;
  const Tile tile = {(int64_t)blockIdx.x % tiles * UNITS, (int64_t)blockIdx.x / tiles * SAMPLES + lane};
  const int64_t depth = BURN_KIND == 0 ? p.units : GATES * p.units, share = (depth + 4 * WARPS - 1) / (4 * WARPS) * 4;
  C sums[SUMS];
  for (int k = 0; k < SUMS; k++) sums[k] = (C)0;
  const int64_t begin = warp * share, end = begin + share < depth ? begin + share : depth;
  if (!BURN_IS_GIVEN && !p.is_first && p.whole) burn_multiply_fours(sums, p, tile, begin, end);
  if (!BURN_IS_GIVEN && !p.is_first && !p.whole) burn_multiply(sums, p, tile, begin, end);
  for (int k = 0; k < SUMS; k++) parts[warp][k][lane] = sums[k];
  __syncthreads();
  const int64_t unit = tile.unit + warp;
  if (warp >= UNITS || unit >= p.units || tile.sample >= p.samples) return;
  for (int gate = 0; gate < SUMS / UNITS; gate++) {
    const int at = gate * UNITS + warp;
    sums[gate] = parts[0][at][lane];
    for (int k = 1; k < WARPS; k++) sums[gate] += parts[k][at][lane];
    if (BURN_IS_GIVEN && !p.is_first)
      sums[gate] = ((const C *)p.product)[(tile.sample * (SUMS / UNITS) + gate) * p.units + unit];
  }
  burn_step(p, tile.sample, unit, sums);
}
