/* emulated_prelude.h - CUDA C as C++ for the CPU: what NVRTC knows without headers. Each text of kernels is compiled
 * after this, in a namespace without a name, and its launchers after that (emulated_nvrtc.c). */
#include "emulated_module.h"

#define BURN_CUDA_EMULATED 1
#define __CUDACC__ 1
#define __CUDACC_RTC__ 1
#define __CUDA_ARCH__ BURN_EMULATED_ARCHITECTURE

/* -- where code and data lie ------------------------------------------------------------------ */

#define __global__
#define __device__
#define __host__
#define __constant__ static
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __align__(n) __attribute__((aligned(n)))
#define __launch_bounds__(...)
/* Filled before each block: what was not written is not a number. "extern __shared__" is changed by
 * emulated_nvrtc.c. */
#define __shared__ static __attribute__((section("burn_shared"), used))

typedef __SIZE_TYPE__ size_t;
typedef __PTRDIFF_TYPE__ ptrdiff_t;

typedef EmulatedIndex uint3;
struct dim3 : EmulatedIndex {
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : EmulatedIndex{x_, y_, z_} {}
};

#define EMULATED_HIDDEN __attribute__((visibility("hidden"), used))
EMULATED_HIDDEN EmulatedIndex threadIdx, blockIdx, blockDim, gridDim;
EMULATED_HIDDEN const EmulatedRuntime *burn_emulated_runtime;
EMULATED_HIDDEN __attribute__((aligned(1024))) char burn_emulated_dynamic[EMULATED_DYNAMIC_BYTES];

/* A mark in a section of its own wherever a barrier is compiled in. */
extern "C" char __start_burn_barriers[] __attribute__((weak, visibility("hidden")));
extern "C" char __start_burn_shared[] __attribute__((weak, visibility("hidden")));
extern "C" char __stop_burn_shared[] __attribute__((weak, visibility("hidden")));
#define EMULATED_BARRIER_MARK asm volatile(".pushsection burn_barriers,\"a\"\n\t.byte 1\n\t.popsection")

/* -- barriers, warps -------------------------------------------------------------------------- */

static inline __attribute__((always_inline)) void __syncthreads() {
  EMULATED_BARRIER_MARK;
  burn_emulated_runtime->barrier();
}
static inline __attribute__((always_inline)) void __syncwarp(unsigned mask = 0xffffffffu) {
  EMULATED_BARRIER_MARK;
  burn_emulated_runtime->warp_barrier(mask);
}
static inline void __threadfence_system() { asm volatile("" ::: "memory"); }

static inline unsigned burn_emulated_lane() {
  return (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % EMULATED_WARP;
}
struct EmulatedLanes {
  unsigned long long at[EMULATED_WARP];
  unsigned came;
};
template <class T>
static inline __attribute__((always_inline)) void burn_emulated_give(EmulatedLanes &lanes, unsigned mask, T value) {
  static_assert(sizeof(T) <= 8, "a shuffle moves at most 8 bytes");
  EMULATED_BARRIER_MARK;
  const unsigned lane = burn_emulated_lane();
  lanes.at[lane] = 0;
  __builtin_memcpy(&lanes.at[lane], &value, sizeof value);
  lanes.came = burn_emulated_runtime->exchange(mask, lanes.at);
}
template <class T>
static inline T burn_emulated_take(const EmulatedLanes &lanes, unsigned lane) {
  T value;
  __builtin_memcpy(&value, &lanes.at[lane], sizeof value);
  return value;
}
template <class T>
static inline T __shfl_sync(unsigned mask, T value, int from, int width = 32) {
  EmulatedLanes lanes;
  const int lane = (int)burn_emulated_lane();
  burn_emulated_give(lanes, mask, value);
  return burn_emulated_take<T>(lanes, (unsigned)(lane / width * width + (from & (width - 1))));
}
template <class T>
static inline T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  EmulatedLanes lanes;
  const int lane = (int)burn_emulated_lane(), from = lane - (int)delta;
  burn_emulated_give(lanes, mask, value);
  return burn_emulated_take<T>(lanes, (unsigned)(from < lane / width * width ? lane : from));
}
template <class T>
static inline T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  EmulatedLanes lanes;
  const int lane = (int)burn_emulated_lane(), from = lane + (int)delta;
  burn_emulated_give(lanes, mask, value);
  return burn_emulated_take<T>(lanes, (unsigned)(from >= (lane / width + 1) * width ? lane : from));
}
template <class T>
static inline T __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32) {
  EmulatedLanes lanes;
  const int lane = (int)burn_emulated_lane(), from = lane ^ bits;
  burn_emulated_give(lanes, mask, value);
  return burn_emulated_take<T>(lanes, (unsigned)(from >= (lane / width + 1) * width ? lane : from));
}
static inline unsigned __ballot_sync(unsigned mask, int predicate) {
  EmulatedLanes lanes;
  unsigned bits = 0;
  burn_emulated_give(lanes, mask, (unsigned)(predicate != 0));
  for (unsigned lane = 0; lane < EMULATED_WARP; lane++)
    if (lanes.came >> lane & 1u) bits |= burn_emulated_take<unsigned>(lanes, lane) << lane;
  return bits;
}

/* -- atomics: fibers change at barriers alone ------------------------------------------------- */

template <class T>
struct EmulatedIdentity {
  static T make();
};
#define EMULATED_ATOMIC(name, expression)                                      \
  template <class T>                                                           \
  static inline T name(T *at, decltype(EmulatedIdentity<T>::make()) operand) { \
    const T old = *at;                                                         \
    *at = (T)(expression);                                                     \
    return old;                                                                \
  }
EMULATED_ATOMIC(atomicAdd, old + operand)
EMULATED_ATOMIC(atomicMax, old < operand ? operand : old)
EMULATED_ATOMIC(atomicMin, operand < old ? operand : old)
template <class T>
static inline T atomicCAS(T *at, decltype(EmulatedIdentity<T>::make()) compare,
                          decltype(EmulatedIdentity<T>::make()) value) {
  const T old = *at;
  if (old == compare) *at = value;
  return old;
}

/* -- vectors ---------------------------------------------------------------------------------- */

#define EMULATED_VECTORS(name, T, A2, A4)                                           \
  struct __attribute__((aligned(A2))) name##2 {                                     \
    T x, y;                                                                         \
  };                                                                                \
  struct name##3 {                                                                  \
    T x, y, z;                                                                      \
  };                                                                                \
  struct __attribute__((aligned(A4))) name##4 {                                     \
    T x, y, z, w;                                                                   \
  };                                                                                \
  static inline name##2 make_##name##2(T x, T y) { return name##2 {x, y}; }         \
  static inline name##3 make_##name##3(T x, T y, T z) { return name##3 {x, y, z}; } \
  static inline name##4 make_##name##4(T x, T y, T z, T w) { return name##4 {x, y, z, w}; }
EMULATED_VECTORS(char, signed char, 2, 4)
EMULATED_VECTORS(uchar, unsigned char, 2, 4)
EMULATED_VECTORS(short, short, 4, 8)
EMULATED_VECTORS(ushort, unsigned short, 4, 8)
EMULATED_VECTORS(int, int, 8, 16)
EMULATED_VECTORS(float, float, 8, 16)
EMULATED_VECTORS(longlong, long long, 16, 16)
EMULATED_VECTORS(ulonglong, unsigned long long, 16, 16)
EMULATED_VECTORS(double, double, 16, 16)
struct __attribute__((aligned(8))) uint2 {
  unsigned x, y;
};
struct __attribute__((aligned(16))) uint4 {
  unsigned x, y, z, w;
};

/* -- bits, conversions ------------------------------------------------------------------------ */

template <class To, class From>
static inline To burn_emulated_bits(From from) {
  static_assert(sizeof(To) == sizeof(From), "");
  To to;
  __builtin_memcpy(&to, &from, sizeof to);
  return to;
}
static inline unsigned __float_as_uint(float x) { return burn_emulated_bits<unsigned>(x); }
static inline int __float_as_int(float x) { return burn_emulated_bits<int>(x); }
static inline float __uint_as_float(unsigned x) { return burn_emulated_bits<float>(x); }
static inline float __int_as_float(int x) { return burn_emulated_bits<float>(x); }
static inline long long __double_as_longlong(double x) { return burn_emulated_bits<long long>(x); }
static inline double __longlong_as_double(long long x) { return burn_emulated_bits<double>(x); }
static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned by) {
  return (unsigned)(((unsigned long long)high << 32 | low) >> (by & 31u));
}

/* Toward zero: the nearest, or the one below it. */
static inline float __double2float_rz(double x) {
  const float y = (float)x;
  if (!(__builtin_fabs((double)y) > __builtin_fabs(x))) return y;
  return __uint_as_float(__float_as_uint(y) - 1u);
}
static inline double __ll2double_rz(long long x) {
  const double y = (double)x;
  const __int128 exact = x, near = (__int128)y;
  if ((near < 0 ? -near : near) <= (exact < 0 ? -exact : exact)) return y;
  return __longlong_as_double(__double_as_longlong(y) - 1);
}

/* cvt.f32.f16 and cvt.rn.f16.f32. */
static inline float burn_emulated_half_to_float(unsigned short bits) {
#if defined(__F16C__)
  typedef short Eight __attribute__((vector_size(16)));
  typedef float Four __attribute__((vector_size(16)));
  const Four wide = __builtin_ia32_vcvtph2ps(Eight{(short)bits});
  return wide[0];
#else
  const unsigned sign = (bits & 0x8000u) << 16, exponent = bits >> 10 & 0x1fu, fraction = bits & 0x3ffu;
  if (exponent == 31) return __uint_as_float(sign | 0x7f800000u | fraction << 13 | (fraction ? 0x400000u : 0u));
  if (exponent != 0) return __uint_as_float(sign | (exponent + 112u) << 23 | fraction << 13);
  const float small = (float)fraction * 5.9604644775390625e-8f; /* 2^-24 */
  return sign ? -small : small;
#endif
}
static inline unsigned short burn_emulated_float_to_half(float x) {
  if (x != x) return 0x7fff;
  const unsigned bits = __float_as_uint(x), sign = bits >> 16 & 0x8000u, size = bits & 0x7fffffffu;
  if (size >= 0x477ff000u) return (unsigned short)(sign | 0x7c00u); /* 65520 and more */
  if (size < 0x38800000u) {                                         /* below the normal ones: in units of 2^-24 */
    const float units = __builtin_rintf(__uint_as_float(size) * 16777216.0f);
    return (unsigned short)(sign | (unsigned)units);
  }
  const unsigned rounded = size + 0xfffu + (size >> 13 & 1u);
  return (unsigned short)(sign | ((rounded >> 13) - (112u << 10)));
}

/* -- arithmetic ------------------------------------------------------------------------------- */

/* In f64 by this name, in f32 with an f after it, and overloaded. */
#define EMULATED_FUNCTION_1(name)  \
  extern "C" double name(double);  \
  extern "C" float name##f(float); \
  static inline float name(float x) { return name##f(x); }
#define EMULATED_FUNCTION_2(name)         \
  extern "C" double name(double, double); \
  extern "C" float name##f(float, float); \
  static inline float name(float x, float y) { return name##f(x, y); }
EMULATED_FUNCTION_1(exp)
EMULATED_FUNCTION_1(exp2)
EMULATED_FUNCTION_1(exp10)
EMULATED_FUNCTION_1(expm1)
EMULATED_FUNCTION_1(log)
EMULATED_FUNCTION_1(log2)
EMULATED_FUNCTION_1(log10)
EMULATED_FUNCTION_1(log1p)
EMULATED_FUNCTION_1(sqrt)
EMULATED_FUNCTION_1(cbrt)
EMULATED_FUNCTION_1(sin)
EMULATED_FUNCTION_1(cos)
EMULATED_FUNCTION_1(tan)
static inline void sincos(double x, double *sine, double *cosine) { *sine = sin(x), *cosine = cos(x); }
EMULATED_FUNCTION_1(asin)
EMULATED_FUNCTION_1(acos)
EMULATED_FUNCTION_1(atan)
EMULATED_FUNCTION_1(sinh)
EMULATED_FUNCTION_1(cosh)
EMULATED_FUNCTION_1(tanh)
EMULATED_FUNCTION_1(asinh)
EMULATED_FUNCTION_1(acosh)
EMULATED_FUNCTION_1(atanh)
EMULATED_FUNCTION_1(erf)
EMULATED_FUNCTION_1(erfc)
EMULATED_FUNCTION_1(lgamma)
EMULATED_FUNCTION_1(tgamma)
EMULATED_FUNCTION_1(floor)
EMULATED_FUNCTION_1(ceil)
EMULATED_FUNCTION_1(trunc)
EMULATED_FUNCTION_1(rint)
EMULATED_FUNCTION_1(nearbyint)
EMULATED_FUNCTION_1(round)
EMULATED_FUNCTION_1(fabs)
EMULATED_FUNCTION_2(pow)
EMULATED_FUNCTION_2(fmod)
EMULATED_FUNCTION_2(remainder)
EMULATED_FUNCTION_2(atan2)
EMULATED_FUNCTION_2(hypot)
EMULATED_FUNCTION_2(fmin)
EMULATED_FUNCTION_2(fmax)
EMULATED_FUNCTION_2(fdim)
EMULATED_FUNCTION_2(copysign)
EMULATED_FUNCTION_2(nextafter)
static inline float fma(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
static inline double fma(double x, double y, double z) { return __builtin_fma(x, y, z); }
static inline float fmaf(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
static inline float ldexpf(float x, int n) { return __builtin_ldexpf(x, n); }
static inline float ldexp(float x, int n) { return __builtin_ldexpf(x, n); }
static inline double ldexp(double x, int n) { return __builtin_ldexp(x, n); }
static inline bool isnan(float x) { return x != x; }
static inline bool isnan(double x) { return x != x; }
static inline bool isinf(float x) { return __builtin_isinf(x); }
static inline bool isinf(double x) { return __builtin_isinf(x); }
static inline bool isfinite(float x) { return __builtin_isfinite(x); }
static inline bool isfinite(double x) { return __builtin_isfinite(x); }
static inline bool signbit(float x) { return __builtin_signbit(x); }
static inline bool signbit(double x) { return __builtin_signbit(x); }
static inline float __fmaf_rn(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
static inline double __fma_rn(double x, double y, double z) { return __builtin_fma(x, y, z); }
static inline int abs(int x) { return x < 0 ? -x : x; }
static inline long long abs(long long x) { return x < 0 ? -x : x; }
static inline float abs(float x) { return __builtin_fabsf(x); }
static inline double abs(double x) { return __builtin_fabs(x); }
static inline long long llabs(long long x) { return x < 0 ? -x : x; }

/* min and max of the types that CUDA has them for: of floats they drop a NaN. */
#define EMULATED_MIN_MAX(T)                               \
  static inline T min(T x, T y) { return y < x ? y : x; } \
  static inline T max(T x, T y) { return x < y ? y : x; }
EMULATED_MIN_MAX(int)
EMULATED_MIN_MAX(unsigned)
EMULATED_MIN_MAX(long)
EMULATED_MIN_MAX(unsigned long)
EMULATED_MIN_MAX(long long)
EMULATED_MIN_MAX(unsigned long long)
static inline float min(float x, float y) { return __builtin_fminf(x, y); }
static inline float max(float x, float y) { return __builtin_fmaxf(x, y); }
static inline double min(double x, double y) { return __builtin_fmin(x, y); }
static inline double max(double x, double y) { return __builtin_fmax(x, y); }

extern "C" int printf(const char *format, ...);
#undef assert
#define assert(x) ((x) ? (void)0 : __builtin_trap())

/* -- launchers -------------------------------------------------------------------------------- */

template <unsigned... I>
struct EmulatedSequence {};
template <unsigned N, unsigned... I>
struct EmulatedCount : EmulatedCount<N - 1, N - 1, I...> {};
template <unsigned... I>
struct EmulatedCount<0, I...> {
  typedef EmulatedSequence<I...> Type;
};

/* Where the parameters of types A.. lie, one after the other, each aligned. */
template <class... A>
struct EmulatedParameters {
  static constexpr unsigned count = sizeof...(A);
  unsigned at[count + 1], bytes;
  constexpr EmulatedParameters() : at{}, bytes(0) {
    const unsigned sizes[] = {(unsigned)sizeof(A)..., 0}, alignments[] = {(unsigned)alignof(A)..., 1};
    for (unsigned i = 0; i < count; i++) {
      at[i] = (bytes + alignments[i] - 1) / alignments[i] * alignments[i];
      bytes = at[i] + sizes[i];
    }
  }
};
template <class T>
static inline T burn_emulated_read(const char *at) {
  alignas(T) char bytes[sizeof(T)];
  __builtin_memcpy(bytes, at, sizeof bytes);
  return *(const T *)bytes;
}
template <class T>
struct EmulatedPlain {
  typedef T Type;
};
template <class T>
struct EmulatedPlain<const T> {
  typedef T Type;
};

template <auto function, class... A>
struct EmulatedLauncher {
  static constexpr EmulatedParameters<A...> layout{};
  template <unsigned... I>
  static void call(const char *parameters, EmulatedSequence<I...>) {
    function(burn_emulated_read<A>(parameters + layout.at[I])...);
  }
  static void run(const char *parameters, int how) {
    typedef typename EmulatedCount<sizeof...(A)>::Type Each;
    const unsigned plane = blockDim.x * blockDim.y, threads = plane * blockDim.z;
    for (unsigned i = 0; i < (how == EMULATED_ONE ? 1u : threads); i++) {
      const unsigned thread = how == EMULATED_BACKWARD ? threads - 1 - i : i;
      if (how != EMULATED_ONE) threadIdx = {thread % blockDim.x, thread % plane / blockDim.x, thread / plane};
      call(parameters, Each());
    }
  }
  static unsigned pack(void **each, char *parameters) {
    const unsigned sizes[] = {(unsigned)sizeof(A)..., 0};
    for (unsigned i = 0; parameters && i < sizeof...(A); i++)
      __builtin_memcpy(parameters + layout.at[i], each[i], sizes[i]);
    return layout.bytes;
  }
};
template <auto function, class... A>
static constexpr EmulatedKernel burn_emulated_kernel(void (*)(A...), unsigned threads) {
  return EmulatedKernel{EmulatedLauncher<function, A...>::run, EmulatedLauncher<function, A...>::pack, threads};
}

#define EMULATED_EXPORT extern "C" __attribute__((visibility("default")))
EMULATED_EXPORT const EmulatedModule burn_emulated_module = {&threadIdx,
                                                             &blockIdx,
                                                             &blockDim,
                                                             &gridDim,
                                                             &burn_emulated_runtime,
                                                             __start_burn_shared,
                                                             __stop_burn_shared,
                                                             burn_emulated_dynamic,
                                                             __start_burn_barriers};
#define EMULATED_KERNEL(name, threads) \
  EMULATED_EXPORT const EmulatedKernel burn_emulated_kernel_##name = burn_emulated_kernel<name>(name, threads);
