/* ops_elementwise_test.c - ops that work element by element: one tensor, two, a scalar, comparison, casts; see
 * ops_case.h. */
#define OPS_GOLDEN "ops_elementwise_golden.h"
#include "ops_golden.h"

#define UNARY(OPS, name) OPS(name, OUT(0) = burn_##name(IN(0)))
#define BINARY(OPS, name) OPS(name, OUT(0) = burn_##name(IN(0), IN(1)))
#define SCALAR(OPS, name) OPS(name, OUT(0) = burn_##name(IN(0), NUMBER(0)))

#define ROWS(OPS)                                              \
  UNARY(OPS, neg)                                              \
  UNARY(OPS, abs)                                              \
  UNARY(OPS, sign)                                             \
  UNARY(OPS, exp)                                              \
  UNARY(OPS, log)                                              \
  UNARY(OPS, log1p)                                            \
  UNARY(OPS, sqrt)                                             \
  UNARY(OPS, recip)                                            \
  UNARY(OPS, sin)                                              \
  UNARY(OPS, cos)                                              \
  UNARY(OPS, tanh)                                             \
  UNARY(OPS, erf)                                              \
  UNARY(OPS, floor)                                            \
  UNARY(OPS, ceil)                                             \
  UNARY(OPS, round)                                            \
  UNARY(OPS, square)                                           \
  UNARY(OPS, bool_not)                                         \
  UNARY(OPS, int)                                              \
  UNARY(OPS, float)                                            \
  OPS(to_bool, OUT(0) = burn_bool(IN(0)))                      \
  OPS(cast, OUT(0) = burn_cast(IN(0), (BurnDType)WHOLE(0)))    \
  BINARY(OPS, add)                                             \
  BINARY(OPS, sub)                                             \
  BINARY(OPS, mul)                                             \
  BINARY(OPS, div)                                             \
  BINARY(OPS, remainder)                                       \
  BINARY(OPS, powf)                                            \
  BINARY(OPS, max_pair)                                        \
  BINARY(OPS, min_pair)                                        \
  BINARY(OPS, bool_and)                                        \
  BINARY(OPS, bool_or)                                         \
  BINARY(OPS, bool_xor)                                        \
  SCALAR(OPS, add_scalar)                                      \
  SCALAR(OPS, sub_scalar)                                      \
  SCALAR(OPS, mul_scalar)                                      \
  SCALAR(OPS, div_scalar)                                      \
  SCALAR(OPS, remainder_scalar)                                \
  SCALAR(OPS, powf_scalar)                                     \
  SCALAR(OPS, clamp_min)                                       \
  SCALAR(OPS, clamp_max)                                       \
  OPS(clamp, OUT(0) = burn_clamp(IN(0), NUMBER(0), NUMBER(1))) \
  BINARY(OPS, equal)                                           \
  BINARY(OPS, not_equal)                                       \
  BINARY(OPS, greater)                                         \
  BINARY(OPS, greater_equal)                                   \
  BINARY(OPS, lower)                                           \
  BINARY(OPS, lower_equal)                                     \
  SCALAR(OPS, equal_scalar)                                    \
  SCALAR(OPS, not_equal_scalar)                                \
  SCALAR(OPS, greater_scalar)                                  \
  SCALAR(OPS, greater_equal_scalar)                            \
  SCALAR(OPS, lower_scalar)                                    \
  SCALAR(OPS, lower_equal_scalar)

OPS_MAIN("elementwise ops", ROWS)
