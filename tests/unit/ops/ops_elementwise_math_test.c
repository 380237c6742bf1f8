/* ops_elementwise_math_test.c - angles, hyperbolic functions, whole powers, bits, tests of floats, closeness; see ops_case.h. */
#define OPS_GOLDEN "ops_elementwise_math_golden.h"
#include "ops_golden.h"

#define UNARY(OPS, name) OPS(name, OUT(0) = burn_##name(IN(0)))
#define BINARY(OPS, name) OPS(name, OUT(0) = burn_##name(IN(0), IN(1)))
#define WHOLE_SCALAR(OPS, name) OPS(name, OUT(0) = burn_##name(IN(0), WHOLE(0)))
#define CLOSE(OPS, name) OPS(name, OUT(0) = burn_##name(IN(0), IN(1), NUMBER(0), NUMBER(1)))

#define ROWS(OPS)                                               \
  UNARY(OPS, tan)                                               \
  UNARY(OPS, sinh)                                              \
  UNARY(OPS, cosh)                                              \
  UNARY(OPS, asin)                                              \
  UNARY(OPS, acos)                                              \
  UNARY(OPS, atan)                                              \
  UNARY(OPS, asinh)                                             \
  UNARY(OPS, acosh)                                             \
  UNARY(OPS, atanh)                                             \
  UNARY(OPS, trunc)                                             \
  UNARY(OPS, deg2rad)                                           \
  UNARY(OPS, rad2deg)                                           \
  UNARY(OPS, bitwise_not)                                       \
  UNARY(OPS, is_nan)                                            \
  UNARY(OPS, is_inf)                                            \
  UNARY(OPS, is_finite)                                         \
  UNARY(OPS, contains_nan)                                      \
  BINARY(OPS, atan2)                                            \
  BINARY(OPS, hypot)                                            \
  BINARY(OPS, fmod)                                             \
  BINARY(OPS, powi)                                             \
  BINARY(OPS, bitwise_and)                                      \
  BINARY(OPS, bitwise_or)                                       \
  BINARY(OPS, bitwise_xor)                                      \
  BINARY(OPS, bitwise_left_shift)                               \
  BINARY(OPS, bitwise_right_shift)                              \
  OPS(fmod_scalar, OUT(0) = burn_fmod_scalar(IN(0), NUMBER(0))) \
  OPS(scalar_sub, OUT(0) = burn_scalar_sub(NUMBER(0), IN(0)))   \
  OPS(scalar_div, OUT(0) = burn_scalar_div(NUMBER(0), IN(0)))   \
  WHOLE_SCALAR(OPS, powi_scalar)                                \
  WHOLE_SCALAR(OPS, bitwise_and_scalar)                         \
  WHOLE_SCALAR(OPS, bitwise_or_scalar)                          \
  WHOLE_SCALAR(OPS, bitwise_xor_scalar)                         \
  WHOLE_SCALAR(OPS, bitwise_left_shift_scalar)                  \
  WHOLE_SCALAR(OPS, bitwise_right_shift_scalar)                 \
  CLOSE(OPS, is_close)                                          \
  CLOSE(OPS, all_close)

OPS_MAIN("elementary functions and bits", ROWS)
