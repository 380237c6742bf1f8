/* ndarray_kernels_common.c - elementwise loops that are compiled once: functions of <math.h>, and integers bit by bit,
 * which wider vectors would not make faster.
 *
 * Most are rows of common/elementwise.def; rows make both the functions and their places in the result. */
#include "common/functions.h"
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

/* -- powers with whole exponents -------------------------------------------------------------- */

/* By the size of x, so that the sign is right for exponents that a double cannot hold. */
static double power_f64(double x, int64_t n) {
  const double size = pow(fabs(x), (double)n);
  return signbit(x) && (n & 1) != 0 ? -size : size;
}
static float power_f32(float x, int64_t n) { return (float)power_f64((double)x, n); }

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

#define INTEGER_LOOP(t, T, U, NAME, op, expression) BINARY_LOOP(op##_##t, T, U, T, expression)
#define BURN_UNARY_LIBM(op, in_f32, in_f64) \
  UNARY_LOOP(op##_f32, float, float, float, in_f32) UNARY_LOOP(op##_f64, double, double, double, in_f64)
#define BURN_BINARY_LIBM(op, in_f32, in_f64) \
  BINARY_LOOP(op##_f32, float, float, float, in_f32) BINARY_LOOP(op##_f64, double, double, double, in_f64)
#define BURN_TEST(op, in_f32, in_f64) \
  UNARY_LOOP(op##_f32, float, uint8_t, uint8_t, in_f32) UNARY_LOOP(op##_f64, double, uint8_t, uint8_t, in_f64)
#define BURN_BITWISE(op, bits) INTEGERS(INTEGER_LOOP, op, bits)
#include "common/elementwise.def"
#define NOT_LOOP(t, T, U, NAME, unused) UNARY_LOOP(bitwise_not_##t, T, U, T, ~(U)x)
INTEGERS(NOT_LOOP, )
#define POWER_LOOP(t, T, U, NAME, unused) BINARY_LOOP(powi_##t, T, U, int64_t, (U)power_integer((int64_t)x, y))
INTEGERS(POWER_LOOP, )
BINARY_LOOP(powi_f32, float, float, int64_t, power_f32(x, y))
BINARY_LOOP(powi_f64, double, double, int64_t, power_f64(x, y))

/* -- the result ------------------------------------------------------------------------------- */

#define ROW(t, T, U, NAME, op, ...) {op##_##t, BURN_OP_##op, BURN_DTYPE_##NAME},

const NdLoopRow nd_common_loops[] = {
#define FLOAT_ROWS(op, ...) FLOATS(ROW, op, )
#define BURN_UNARY_LIBM FLOAT_ROWS
#define BURN_BINARY_LIBM FLOAT_ROWS
#define BURN_TEST FLOAT_ROWS
#define BURN_BITWISE(op, bits) INTEGERS(ROW, op, )
#include "common/elementwise.def"
    FLOAT_ROWS(powi, ) INTEGERS(ROW, bitwise_not, ) INTEGERS(ROW, powi, ){NULL, 0, 0}};
