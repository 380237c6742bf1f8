/* prelude_spirv.cu - before math.cu and the shared prelude: CUDA's words by what the compiler to SPIR-V knows.
 *
 * The compiler knows the bits of numbers, sqrt, floor, ceil, rint, trunc and fabs of both floats, a device's own
 * multiply-add, quotients, powers of two and conversions of halves, burn_shuffle and burn_ballot among 32 neighbours,
 * __syncthreads, atomics and the places of threads, of which blockDim.x is a constant. It defines as 0 or 1
 *
 *   BURN_FUSED_F32, BURN_FUSED_F64   the device's multiply-add is rounded once
 *   BURN_EXACT_HALVES                its conversions of f16 round to nearest even and keep subnormal numbers and NaN
 *   BURN_KEEPS_HALVES                it rounds also where the way back to f32 stands in the same kernel
 *   BURN_NATIVE_POWERS               burn_native_exp2 is off by 2^-21 at most
 *   BURN_HAS_WARPS                   burn_shuffle and burn_ballot are there; else memory of the workgroup takes their
 *                                    place, so that all threads of a workgroup come to a word of warps together */
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
#define INT64_MIN (-0x7fffffffffffffffLL - 1)
#define INT64_MAX 0x7fffffffffffffffLL
#define INFINITY burn_bitcast_f32(0x7f800000u)
#define NAN burn_bitcast_f32(0x7fffffffu)

/* burn_reload_parameters(): those that lie in memory are read again where the text after it uses them, and not kept in
 * registers from the beginning of the kernel on: before what follows a loop that needs all of these. */

/* burn_read_first(): what is read before it is under way before anything after it is computed. */

/* burn_may_flush_subnormals(): nothing in the kernel needs subnormal numbers of f32, for which a device's powers of two may take
 * several instructions. */

/* A matrix of rows x columns, spread over the threads of a subgroup, which come to each of its functions together. use:
 * 0 the left factor, 1 the right one, 2 sums. Elements are f16_t, bf16_t, int8_t, float or int32_t.
 *
 *   burn_matrix_load<M>(from, step, turned)       from shared memory: rows, or where `turned` is 1 columns, lie `step`
 *                                                 elements of what `from` points to apart
 *   burn_matrix_store(to, matrix, step, turned)   back
 *   burn_matrix_fill<M>(x)                        all elements x
 *   burn_matrix_multiply_add(a, b, c)             a b + c
 *   burn_matrix_get(matrix, i)                    the thread's element i of a variable, halves as float: which one it is of
 *   burn_matrix_set(matrix, i, x)                 the matrix, only the device knows
 *   burn_subgroup()                               the number of the subgroup in its group */
template <class T, int rows, int columns, int use> struct burn_subgroup_matrix {};
template <class M, class P> static __device__ inline M burn_matrix_load(P from, uint32_t step, uint32_t turned);
template <class M, class X> static __device__ inline M burn_matrix_fill(X x);

/* -- bits of numbers -------------------------------------------------------------------------- */

static __device__ inline uint32_t __float_as_uint(float x) { return burn_bitcast_u32(x); }
static __device__ inline float __uint_as_float(uint32_t x) { return burn_bitcast_f32(x); }
static __device__ inline int32_t __float_as_int(float x) { return (int32_t)burn_bitcast_u32(x); }
static __device__ inline float __int_as_float(int32_t x) { return burn_bitcast_f32((uint32_t)x); }
static __device__ inline int64_t __double_as_longlong(double x) { return (int64_t)burn_bitcast_u64(x); }
static __device__ inline double __longlong_as_double(int64_t x) { return burn_bitcast_f64((uint64_t)x); }
static __device__ inline uint32_t burn_bits_f32(float x) { return burn_bitcast_u32(x); }
static __device__ inline float burn_from_bits_f32(uint32_t x) { return burn_bitcast_f32(x); }
static __device__ inline uint64_t burn_bits_f64(double x) { return burn_bitcast_u64(x); }
static __device__ inline double burn_from_bits_f64(uint64_t x) { return burn_bitcast_f64(x); }
static __device__ inline int32_t __popc(uint32_t x) { return (int32_t)burn_popcount(x); }

/* -- multiply-add, as plugins/common/arithmetic.h has it -------------------------------------- */

/* x + y rounded to odd. */
static __device__ inline double burn_add_to_odd(double x, double y) {
  const double sum = x + y, y_part = sum - x, lost = (x - (sum - y_part)) + (y - y_part);
  const uint64_t bits = burn_bits_f64(sum);
  const uint64_t odd = (lost > 0.0) == (sum > 0.0) ? bits + 1u : bits - 1u;
  return burn_from_bits_f64((lost < 0.0 || lost > 0.0) && (bits & 1u) == 0 ? odd : bits);
}

/* x in two parts of 26 bits. */
static __device__ inline double burn_upper_half(double x) {
  const double scaled = x * 134217729.0; /* 2^27 + 1 */
  return scaled - (scaled - x);
}

#if BURN_FUSED_F32
static __device__ inline float __fmaf_rn(float a, float b, float c) { return burn_native_fma(a, b, c); }
#else
static __device__ inline float __fmaf_rn(float a, float b, float c) {
  return (float)burn_add_to_odd((double)a * (double)b, (double)c);
}
#endif

#if BURN_FUSED_F64
static __device__ inline double __fma_rn(double a, double b, double c) { return burn_native_fma(a, b, c); }
#else
static __device__ inline double __fma_rn(double a, double b, double c) {
  const double product = a * b, a_high = burn_upper_half(a), b_high = burn_upper_half(b);
  const double a_low = a - a_high, b_low = b - b_high;
  const double error = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low;
  const double low = c + error, low_part = low - c, low_lost = (c - (low - low_part)) + (error - low_part);
  const double high = product + low, high_part = high - product;
  const double high_lost = (product - (high - high_part)) + (low - high_part);
  const double result = high + burn_add_to_odd(low_lost, high_lost);
  return result - result == 0.0 ? result : product + c;
}
#endif
static __device__ inline float fmaf(float a, float b, float c) { return __fmaf_rn(a, b, c); }
static __device__ inline double fma(double a, double b, double c) { return __fma_rn(a, b, c); }
#define BURN_FMA(a, b, c) __fmaf_rn(a, b, c)
#define BURN_FMA_F64(a, b, c) __fma_rn(a, b, c)

/* -- conversions ------------------------------------------------------------------------------ */

/* Toward zero: what a device's rounding has made larger goes back by one. */
static __device__ inline float __double2float_rz(double x) {
  const float y = (float)x;
  return fabs((double)y) > fabs(x) ? burn_bitcast_f32(burn_bitcast_u32(y) - 1u) : y;
}

/* Both halves are exact numbers, and so is what their sum has lost. */
static __device__ inline double __ll2double_rz(int64_t x) {
  const uint64_t size = x < 0 ? 0u - (uint64_t)x : (uint64_t)x;
  const double high = (double)(uint32_t)(size >> 32) * 4294967296.0, low = (double)(uint32_t)(size & 0xffffffffu);
  const double sum = high + low, lost = low - (sum - high);
  const double cut = burn_bitcast_f64(lost < 0.0 ? burn_bitcast_u64(sum) - 1u : burn_bitcast_u64(sum));
  return x < 0 ? -cut : cut;
}

/* To nearest even, by integers: 65520 and more is infinity, 2^-25 and less is 0. */
static __device__ inline uint16_t burn_round_to_half(float x) {
  const uint32_t bits = burn_bitcast_u32(x), sign = bits >> 16 & 0x8000u, size = bits & 0x7fffffffu;
  if (size > 0x7f800000u) return (uint16_t)(sign | 0x7e00u | (size >> 13 & 0x3ffu));
  if (size >= 0x477ff000u) return (uint16_t)(sign | 0x7c00u);
  if (size >= 0x38800000u) return (uint16_t)(sign | (size - 0x38000000u + 0xfffu + (size >> 13 & 1u)) >> 13);
  if (size <= 0x33000000u) return (uint16_t)sign;
  const uint32_t shift = 126u - (size >> 23), fraction = (size & 0x7fffffu) | 0x800000u;
  const uint32_t cut = fraction >> shift, half = 1u << (shift - 1u);
  return (uint16_t)(sign | (fraction + (half - 1u) + (cut & 1u)) >> shift);
}

#if BURN_EXACT_HALVES
static __device__ inline float burn_half_to_f32(uint16_t bits) { return burn_native_half_to_float(bits); }
static __device__ inline uint16_t burn_f32_to_half(float x) { return burn_native_float_to_half(x); }
#else
static __device__ inline uint16_t burn_f32_to_half(float x) { return burn_round_to_half(x); }
/* Below 2^-14 a half is an integer times 2^-24. */
static __device__ inline float burn_half_to_f32(uint16_t bits) {
  const uint32_t sign = ((uint32_t)bits & 0x8000u) << 16, size = (uint32_t)bits & 0x7fffu;
  const uint32_t subnormal = burn_bitcast_u32((float)size * 5.9604644775390625e-8f);
  const uint32_t normal = (size << 13) + (size < 0x7c00u ? 0x38000000u : 0x70000000u);
  return burn_bitcast_f32(sign | (size < 0x400u ? subnormal : normal));
}
#endif
/* Rounded to f16. A compiler that takes the way there and back for nothing knows no way there by integers. */
static __device__ inline float burn_through_half(float x) {
#if BURN_KEEPS_HALVES
  return burn_half_to_f32(burn_f32_to_half(x));
#else
  return burn_half_to_f32(burn_round_to_half(x));
#endif
}
static __device__ inline uint16_t burn_f32_to_brain(float x) {
  const uint32_t bits = burn_bitcast_u32(x);
  if (x != x) return (uint16_t)(bits >> 16 | 0x40u);
  return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

/* -- memory ----------------------------------------------------------------------------------- */

static __device__ inline uint32_t atomicCAS(uint32_t *at, uint32_t expected, uint32_t value) {
  return burn_atomic_compare_exchange(at, expected, value);
}

/* The host looks at memory after the whole kernel. */
static __device__ inline void __threadfence_system() {}

/* -- warps: 32 neighbours --------------------------------------------------------------------- */

#if BURN_HAS_WARPS
static __device__ inline uint32_t spirv_shuffle(uint32_t word, uint32_t from) { return burn_shuffle(word, from); }
static __device__ inline uint32_t __ballot_sync(uint32_t, bool mine) { return burn_ballot(mine); }
#else
/* The word of a neighbour; a thread's own where the neighbour would be beyond the workgroup. */
static __device__ inline uint32_t spirv_shuffle(uint32_t word, uint32_t from) {
  __shared__ uint32_t words[blockDim.x];
  const uint32_t me = threadIdx.x, neighbour = (me & ~31u) + from;
  words[me] = word;
  __syncthreads();
  const uint32_t theirs = words[neighbour < blockDim.x ? neighbour : me];
  __syncthreads();
  return theirs;
}
static __device__ inline uint32_t __ballot_sync(uint32_t, bool mine) {
  __shared__ uint32_t words[blockDim.x];
  const uint32_t me = threadIdx.x, first = me & ~31u;
  uint32_t all = 0u;
  words[me] = mine ? 1u : 0u;
  __syncthreads();
  for (uint32_t k = 0; k < 32u && first + k < blockDim.x; k++) all |= words[first + k] << k;
  __syncthreads();
  return all;
}
#endif
static __device__ inline void __syncwarp() { __syncthreads(); }

static __device__ inline uint32_t spirv_value(uint32_t x, uint32_t from) { return spirv_shuffle(x, from); }
static __device__ inline int32_t spirv_value(int32_t x, uint32_t from) {
  return (int32_t)spirv_shuffle((uint32_t)x, from);
}
static __device__ inline float spirv_value(float x, uint32_t from) {
  return burn_bitcast_f32(spirv_shuffle(burn_bitcast_u32(x), from));
}
static __device__ inline uint64_t spirv_value(uint64_t x, uint32_t from) {
  const uint64_t high = spirv_shuffle((uint32_t)(x >> 32), from);
  return high << 32 | spirv_shuffle((uint32_t)(x & 0xffffffffu), from);
}
static __device__ inline int64_t spirv_value(int64_t x, uint32_t from) {
  return (int64_t)spirv_value((uint64_t)x, from);
}
static __device__ inline double spirv_value(double x, uint32_t from) {
  return burn_bitcast_f64(spirv_value(burn_bitcast_u64(x), from));
}

/* Where no lane is, a lane has its own value. */
template <class V> static __device__ inline V __shfl_xor_sync(uint32_t, V x, int32_t lanes) {
  return spirv_value(x, (threadIdx.x & 31u) ^ (uint32_t)lanes);
}
template <class V> static __device__ inline V __shfl_up_sync(uint32_t, V x, int32_t lanes) {
  const uint32_t lane = threadIdx.x & 31u, step = (uint32_t)lanes;
  return spirv_value(x, step > lane ? lane : lane - step);
}
template <class V> static __device__ inline V __shfl_down_sync(uint32_t, V x, int32_t lanes) {
  const uint32_t lane = threadIdx.x & 31u, step = (uint32_t)lanes;
  return spirv_value(x, step > 31u - lane ? lane : lane + step);
}
