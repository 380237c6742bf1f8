/* prelude.cu - before every kernel: types of elements, how they are read and written, the arithmetic that expressions
 * are written in (plugins/common/arithmetic.h, functions.def). NVRTC has no headers of the system. */
#if !defined(BURN_SPIRV) /* there, all of this lies before */
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
#define INFINITY __int_as_float(0x7f800000)
#define NAN __int_as_float(0x7fffffff)

#define BURN_FMA(a, b, c) __fmaf_rn(a, b, c)
#define BURN_FMA_F64(a, b, c) __fma_rn(a, b, c)
static __device__ inline void burn_reload_parameters() {} /* they lie in a cache of their own */
static __device__ inline void burn_read_first() {}        /* NVRTC reads early by itself */
static __device__ inline uint32_t burn_bits_f32(float x) { return __float_as_uint(x); }
static __device__ inline float burn_from_bits_f32(uint32_t x) { return __uint_as_float(x); }
static __device__ inline uint64_t burn_bits_f64(double x) { return (uint64_t)__double_as_longlong(x); }
static __device__ inline double burn_from_bits_f64(uint64_t x) { return __longlong_as_double((int64_t)x); }
#endif
static __device__ inline float burn_fused(float a, float b, float c) { return __fmaf_rn(a, b, c); }
static __device__ inline double burn_fused(double a, double b, double c) { return __fma_rn(a, b, c); }
#define BURN_INTEGER_QUOTIENT(x, y) \
  ((y) == 0 ? (T)0 : (T)-1 < (T)1 && (y) == (T)-1 ? (T)((U)0 - (U)(x)) : (T)((x) / (y)))
#define BURN_INTEGER_REMAINDER(x, y)                                  \
  ((y) == 0 || ((T)-1 < (T)1 && (y) == (T)-1)  ? (T)0                 \
   : (x) % (y) != 0 && (((x) % (y)) ^ (y)) < 0 ? (T)((x) % (y) + (y)) \
                                               : (T)((x) % (y)))

/* Elements as they lie in memory. bool and u8, and the halves, differ by their types alone. */
struct bool_t { uint8_t bits; };
struct f16_t { uint16_t bits; };
struct bf16_t { uint16_t bits; };
typedef uint8_t u8_t;
typedef int8_t i8_t;
typedef int16_t i16_t;
typedef int32_t i32_t;
typedef int64_t i64_t;
typedef float f32_t;
typedef double f64_t;

/* What an element is computed in: COMPUTE(f16_t) is float. WRAP: the unsigned type in which integers wrap. */
template <class S> struct Element { typedef S C; typedef S U; static const bool is_float = false; };
template <> struct Element<bool_t> { typedef uint8_t C; typedef uint32_t U; static const bool is_float = false; };
template <> struct Element<u8_t> { typedef uint8_t C; typedef uint32_t U; static const bool is_float = false; };
template <> struct Element<i8_t> { typedef int32_t C; typedef uint32_t U; static const bool is_float = false; };
template <> struct Element<i16_t> { typedef int32_t C; typedef uint32_t U; static const bool is_float = false; };
template <> struct Element<i32_t> { typedef int32_t C; typedef uint32_t U; static const bool is_float = false; };
template <> struct Element<i64_t> { typedef int64_t C; typedef uint64_t U; static const bool is_float = false; };
template <> struct Element<f16_t> { typedef float C; typedef float U; static const bool is_float = true; };
template <> struct Element<bf16_t> { typedef float C; typedef float U; static const bool is_float = true; };
template <> struct Element<f32_t> { typedef float C; typedef float U; static const bool is_float = true; };
template <> struct Element<f64_t> { typedef double C; typedef double U; static const bool is_float = true; };
#define COMPUTE(S) typename Element<S>::C

#define BURN_BOUND(number) (number)
#if !defined(BURN_FAST_MATH)
#define BURN_FAST_MATH 0
#endif
#if !defined(BURN_SPIRV) || BURN_NATIVE_POWERS
#define BURN_HAS_FAST_EXP 1
#else
#define BURN_HAS_FAST_EXP 0
#endif
#if BURN_FAST_MATH && BURN_HAS_FAST_EXP
#define BURN_FAST_EXP(x) return burn_fast_exp(x);
#else
#define BURN_FAST_EXP(x)
#endif

#if defined(BURN_CUDA_EMULATED) /* by tests/plugins/emulated_cuda, for the CPU */
static __device__ inline float burn_half_to_f32(uint16_t bits) { return burn_emulated_half_to_float(bits); }
static __device__ inline uint16_t burn_f32_to_half(float x) { return burn_emulated_float_to_half(x); }
static __device__ inline uint16_t burn_f32_to_brain(float x) {
  const uint32_t bits = __float_as_uint(x);
  if (x != x) return (uint16_t)(bits >> 16 | 0x40u);
  return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}
#define BURN_SHARE(a, b) ((a) / (b))
/* As far off as that of a chip may be, and 0 where that has no digits left. */
static __device__ inline float burn_fast_exp(float x) {
  const float power = (float)exp2((double)(x * 1.44269504088896341f));
  return power < 1.17549435e-38f ? 0.0f : power * 1.0000002f; /* NaN passes */
}
#elif !defined(BURN_SPIRV)
/* The chip's own, in two instructions, off by 2^-22; what is not a normal number becomes 0. */
static __device__ inline float burn_fast_exp(float x) {
  float power;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x * 1.44269504088896341f));
  return power;
}
#if BURN_FAST_MATH
/* All results are halves, which keep less than the chip's reciprocals have. */
static __device__ inline float burn_share(float a, float b) {
  float inverse;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(b));
  return a * inverse;
}
#else
/* The steps of a division by the compiler, without those for quotients whose steps leave the numbers of f32. With
 * a < 2^-25 they do not either: sigmoid's b is 1 there. */
static __device__ inline float burn_share(float a, float b) {
  float inverse;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(b));
  inverse = __fmaf_rn(inverse, __fmaf_rn(-b, inverse, 1.0f), inverse);
  float quotient = a * inverse;
  quotient = __fmaf_rn(__fmaf_rn(-b, quotient, a), inverse, quotient);
  return __fmaf_rn(__fmaf_rn(-b, quotient, a), inverse, quotient);
}
#endif
#define BURN_SHARE(a, b) burn_share(a, b)
static __device__ inline float burn_half_to_f32(uint16_t bits) {
  float x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
  return x;
}
static __device__ inline uint16_t burn_f32_to_half(float x) {
  uint16_t bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return bits;
}
static __device__ inline uint16_t burn_f32_to_brain(float x) {
  uint16_t bits;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return bits;
}
#endif
#if defined(BURN_SPIRV) && BURN_FAST_MATH /* all results are halves */
#define BURN_SHARE(a, b) burn_native_quotient(a, b)
#elif defined(BURN_SPIRV)
#define BURN_SHARE(a, b) ((a) / (b))
#endif
#if defined(BURN_SPIRV) && BURN_HAS_FAST_EXP
static __device__ inline float burn_fast_exp(float x) {
  const float power = burn_native_exp2(x * 1.44269504088896341f);
  return power < 1.17549435e-38f ? 0.0f : power; /* NaN passes */
}
#endif
/* x / s, rounded once, by the reciprocal of s: no quotient of two f32 lies nearer than 2^-49 of it to where rounding
 * changes, and the product in f64 is off by 2^-52. Only where f64 is fast: a third of a division's instructions, and no
 * branch, after which reads would wait. */
#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ == 800 || __CUDA_ARCH__ == 900 || __CUDA_ARCH__ == 1000)
#define BURN_HAS_FAST_F64 1
static __device__ inline float burn_quotient(float x, double reciprocal) { return (float)((double)x * reciprocal); }
#else
#define BURN_HAS_FAST_F64 0
#endif
#if !defined(BURN_SPIRV)
static __device__ inline float burn_through_half(float x) { return burn_half_to_f32(burn_f32_to_half(x)); }
#endif
static __device__ inline float burn_brain_to_f32(uint16_t bits) { return __uint_as_float((uint32_t)bits << 16); }
/* From f64 in one rounding: to f32 by rounding to odd first, whose second rounding then is that of the exact number. */
static __device__ inline float burn_f64_to_odd(double x) {
  const float toward_zero = __double2float_rz(x);
  const uint32_t bits = __float_as_uint(toward_zero);
  return (double)toward_zero == x || x != x ? toward_zero : __uint_as_float(bits | 1u);
}

static __device__ inline uint8_t burn_get(bool_t x) { return x.bits; }
static __device__ inline uint8_t burn_get(u8_t x) { return x; }
static __device__ inline int32_t burn_get(i8_t x) { return x; }
static __device__ inline int32_t burn_get(i16_t x) { return x; }
static __device__ inline int32_t burn_get(i32_t x) { return x; }
static __device__ inline int64_t burn_get(i64_t x) { return x; }
static __device__ inline float burn_get(f16_t x) { return burn_half_to_f32(x.bits); }
static __device__ inline float burn_get(bf16_t x) { return burn_brain_to_f32(x.bits); }
static __device__ inline float burn_get(f32_t x) { return x; }
static __device__ inline double burn_get(f64_t x) { return x; }

/* Rounded once; integers keep their low bits. */
template <class V> static __device__ inline void burn_put(bool_t &to, V x) { to.bits = (uint8_t)(x != (V)0); }
template <class V> static __device__ inline void burn_put(u8_t &to, V x) { to = (u8_t)x; }
template <class V> static __device__ inline void burn_put(i8_t &to, V x) { to = (i8_t)x; }
template <class V> static __device__ inline void burn_put(i16_t &to, V x) { to = (i16_t)x; }
template <class V> static __device__ inline void burn_put(i32_t &to, V x) { to = (i32_t)x; }
template <class V> static __device__ inline void burn_put(i64_t &to, V x) { to = (i64_t)x; }
static __device__ inline void burn_put(f16_t &to, float x) { to.bits = burn_f32_to_half(x); }
static __device__ inline void burn_put(f16_t &to, double x) { to.bits = burn_f32_to_half(burn_f64_to_odd(x)); }
static __device__ inline void burn_put(bf16_t &to, float x) { to.bits = burn_f32_to_brain(x); }
static __device__ inline void burn_put(bf16_t &to, double x) { to.bits = burn_f32_to_brain(burn_f64_to_odd(x)); }
template <class V> static __device__ inline void burn_put(f32_t &to, V x) { to = (float)x; }
template <class V> static __device__ inline void burn_put(f64_t &to, V x) { to = (double)x; }

/* The last of so many axes, GPU_MAX_RANK at most. Never outside: Mesa's llvmpipe (26.1) also reads the parameters of a loop
 * that is not entered. */
#define BURN_LAST_OF(axes) (((axes) - 1) & (GPU_MAX_RANK - 1))

static __device__ inline int64_t burn_thread() { return (int64_t)blockIdx.x * blockDim.x + threadIdx.x; }
static __device__ inline int64_t burn_threads() { return (int64_t)gridDim.x * blockDim.x; }

/* -- what expressions call beside functions.def ----------------------------------------------- */

/* x ^ y for an integer y, by squaring; ops.def says what negative ones give. */
static __device__ inline int64_t burn_power(int64_t x, int64_t y) {
  if (y < 0) return x == 1 ? 1 : x == -1 ? ((y & 1) != 0 ? -1 : 1) : 0;
  uint64_t result = 1u;
  for (uint64_t square = (uint64_t)x; y > 0; y >>= 1, square *= square)
    if ((y & 1) != 0) result *= square;
  return (int64_t)result;
}
static __device__ inline float burn_power_real(float x, int64_t y) {
  return y == 0 ? 1.0f : (float)pow((double)x, (double)y);
}
static __device__ inline double burn_power_real(double x, int64_t y) { return y == 0 ? 1.0 : pow(x, (double)y); }

/* -1, 0 or 1: whether an integer lies below a real number, is it, or lies above; NaN where that is none. */
static __device__ inline double burn_order(int64_t a, double b) {
  if (b != b) return b;
  if (b >= 9223372036854775808.0) return -1.0;
  if (b < -9223372036854775808.0) return 1.0;
  const double below = floor(b);
  const int64_t n = (int64_t)below;
  if (a != n) return a > n ? 1.0 : -1.0;
  return below < b ? -1.0 : 0.0;
}

/* A real number as an integer: toward zero and saturated, NaN is 0. */
template <class S> struct Bounds {
  static const int64_t high = ((int64_t)1 << (8 * sizeof(S) - 1)) - 1, low = -high - 1;
};
template <> struct Bounds<u8_t> { static const int64_t low = 0, high = 255; };
template <> struct Bounds<i64_t> { static const int64_t low = INT64_MIN, high = INT64_MAX; };
template <class S> static __device__ inline int64_t burn_saturate(double x) {
  if (x != x) return 0;
  if (x >= (double)Bounds<S>::high) return Bounds<S>::high;
  if (x <= (double)Bounds<S>::low) return Bounds<S>::low;
  return (int64_t)x;
}

/* An integer as f64 rounded to odd, so that a second rounding to fewer bits is that of the integer. */
static __device__ inline double burn_integer_to_odd(int64_t x) {
  const double y = __ll2double_rz(x);
  if ((int64_t)y == x) return y;
  return __longlong_as_double(__double_as_longlong(y) | 1);
}

