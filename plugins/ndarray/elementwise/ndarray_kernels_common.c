/* ndarray_kernels_common.c - elementwise loops that are compiled once: functions of <math.h>, and integers bit by bit,
 * which wider vectors would not make faster.
 *
 * In an expression T is the element type, U the unsigned type in which it wraps, x and y the inputs. To add an op, add
 * a row to the table of its kind; rows make both the functions and their places in the result. */
#include "ndarray_kernels.h"

#include <math.h>

/* -- element types: X(t, T, U, NAME) ---------------------------------------------------------- */

#define FLOATS(X, ...)                   \
  X(f32, float, float, F32, __VA_ARGS__) \
  X(f64, double, double, F64, __VA_ARGS__)
#define INTEGERS(X, ...)                      \
  X(i32, int32_t, uint32_t, I32, __VA_ARGS__) \
  X(i64, int64_t, uint64_t, I64, __VA_ARGS__) \
  X(u8, uint8_t, uint32_t, U8, __VA_ARGS__)

/* -- integer arithmetic without undefined cases; the caller cuts results to its dtype --------- */

/* x ^ n with what does not fit cut off. Negative powers of all but 1 and -1 are fractions, so 0. */
static uint64_t power_integer(int64_t x, int64_t n) {
  if (n < 0 && x == -1) n &= 1;
  if (n < 0) return x == 1;
  uint64_t result = 1, square = (uint64_t)x;
  for (uint64_t left = (uint64_t)n; left != 0; left >>= 1) {
    if ((left & 1) != 0) result *= square;
    square *= square;
  }
  return result;
}

/* Counts from the width on, and negative ones, push everything out. Correct for narrower types too: what is cut off
 * afterwards is what they would have lost. */
static uint64_t shifted_left(int64_t x, int64_t count) { return (uint64_t)count < 64 ? (uint64_t)x << count : 0; }
static int64_t shifted_right(int64_t x, int64_t count) {
  const uint64_t steps = (uint64_t)count < 64 ? (uint64_t)count : 63;
  return x < 0 ? ~(~x >> steps) : x >> steps;
}

/* -- powers with whole exponents -------------------------------------------------------------- */

/* By the size of x, so that the sign is right for exponents that a double cannot hold. */
static double power_f64(double x, int64_t n) {
  const double size = pow(fabs(x), (double)n);
  return signbit(x) && (n & 1) != 0 ? -size : size;
}
static float power_f32(float x, int64_t n) { return (float)power_f64((double)x, n); }

/* -- the tables ------------------------------------------------------------------------------- */

/* X(op, f32, f64) */
#define UNARY_FLOAT(X)          \
  X(tan, tanf(x), tan(x))       \
  X(sinh, sinhf(x), sinh(x))    \
  X(cosh, coshf(x), cosh(x))    \
  X(asin, asinf(x), asin(x))    \
  X(acos, acosf(x), acos(x))    \
  X(atan, atanf(x), atan(x))    \
  X(asinh, asinhf(x), asinh(x)) \
  X(acosh, acoshf(x), acosh(x)) \
  X(atanh, atanhf(x), atanh(x))
#define BINARY_FLOAT(X)               \
  X(atan2, atan2f(x, y), atan2(x, y)) \
  X(hypot, hypotf(x, y), hypot(x, y)) \
  X(fmod, fmodf(x, y), fmod(x, y))

/* X(op, expression); the result is a bool */
#define TEST_FLOAT(X)      \
  X(is_nan, isnan(x) != 0) \
  X(is_inf, isinf(x) != 0) \
  X(is_finite, isfinite(x) != 0)

/* X(op, expression) */
#define BINARY_INTEGER(X)                                        \
  X(bitwise_and, (U)x &(U)y)                                     \
  X(bitwise_or, (U)x | (U)y)                                     \
  X(bitwise_xor, (U)x ^ (U)y)                                    \
  X(bitwise_left_shift, (U)shifted_left((int64_t)x, (int64_t)y)) \
  X(bitwise_right_shift, (U)(uint64_t)shifted_right((int64_t)x, (int64_t)y))

/* -- loops ------------------------------------------------------------------------------------ */

#define UNARY_LOOP(name, T_, U_, R, expression) \
  static void name(const NdRun *run) {          \
    typedef T_ T;                               \
    typedef U_ U;                               \
    const T *in = run->in[0];                   \
    R *out = run->out;                          \
    const int64_t n = run->count;               \
    for (int64_t i = 0; i < n; i++) {           \
      const T x = in[i];                        \
      out[i] = (R)(U)(expression);              \
    }                                           \
  }

#define BINARY_LOOP(name, T_, U_, Y, expression)                      \
  static void name(const NdRun *run) {                                \
    typedef T_ T;                                                     \
    typedef U_ U;                                                     \
    const T *lhs = run->in[0];                                        \
    const Y *rhs = run->in[1];                                        \
    T *out = run->out;                                                \
    const int64_t n = run->count, l = run->step[0], r = run->step[1]; \
    for (int64_t i = 0; i < n; i++) {                                 \
      const T x = lhs[i * l];                                         \
      const Y y = rhs[i * r];                                         \
      out[i] = (T)(U)(expression);                                    \
    }                                                                 \
  }

#define X(op, f32_expression, f64_expression)               \
  UNARY_LOOP(op##_f32, float, float, float, f32_expression) \
  UNARY_LOOP(op##_f64, double, double, double, f64_expression)
UNARY_FLOAT(X)
#undef X
#define X(op, f32_expression, f64_expression)                \
  BINARY_LOOP(op##_f32, float, float, float, f32_expression) \
  BINARY_LOOP(op##_f64, double, double, double, f64_expression)
BINARY_FLOAT(X)
#undef X
#define TEST_LOOP(t, T, U, NAME, op, expression) UNARY_LOOP(op##_##t, T, uint8_t, uint8_t, expression)
#define X(op, expression) FLOATS(TEST_LOOP, op, expression)
TEST_FLOAT(X)
#undef X
#define INTEGER_LOOP(t, T, U, NAME, op, expression) BINARY_LOOP(op##_##t, T, U, T, expression)
#define X(op, expression) INTEGERS(INTEGER_LOOP, op, expression)
BINARY_INTEGER(X)
#undef X
#define NOT_LOOP(t, T, U, NAME, unused) UNARY_LOOP(bitwise_not_##t, T, U, T, ~(U)x)
INTEGERS(NOT_LOOP, )
#define POWER_LOOP(t, T, U, NAME, unused) BINARY_LOOP(powi_##t, T, U, int64_t, (U)power_integer((int64_t)x, y))
INTEGERS(POWER_LOOP, )
BINARY_LOOP(powi_f32, float, float, int64_t, power_f32(x, y))
BINARY_LOOP(powi_f64, double, double, int64_t, power_f64(x, y))

/* -- the result ------------------------------------------------------------------------------- */

#define ROW(t, T, U, NAME, op, ...) {op##_##t, BURN_OP_##op, BURN_DTYPE_##NAME},

const NdLoopRow nd_common_loops[] = {
#define X(op, ...) FLOATS(ROW, op, )
    UNARY_FLOAT(X) BINARY_FLOAT(X) TEST_FLOAT(X) X(powi, )
#undef X
#define X(op, ...) INTEGERS(ROW, op, )
        BINARY_INTEGER(X) X(bitwise_not, ) X(powi, )
#undef X
            {NULL, 0, 0}};
