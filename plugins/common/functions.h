/* functions.h - the functions of functions.def in C. Compile with -fno-math-errno -fno-trapping-math, which allow their
 * selects to become masks; never with -ffast-math, which would simplify the range reductions away. */
#ifndef BURN_COMMON_FUNCTIONS_H
#define BURN_COMMON_FUNCTIONS_H

#include "arithmetic.h"

#define BURN_TRIGONOMETRIC_LIMIT 1.0e9f /* of burn_sin_cos_f32 */

#define BURN_FUNCTION(type, name, arguments, ...) \
  static inline type name arguments { __VA_ARGS__ }
#include "functions.def"

/* Of the element type T (elementwise.def): 0 where y is; the smallest / -1 wraps; the remainder has the sign of y. */
#define BURN_INTEGER_QUOTIENT(x, y) \
  ((y) == 0 ? (T)0 : (T)-1 < (T)1 && (y) == (T)-1 ? (T)((U)0 - (U)(x)) : (T)((x) / (y)))
#define BURN_INTEGER_REMAINDER(x, y)                                  \
  ((y) == 0 || ((T)-1 < (T)1 && (y) == (T)-1)  ? (T)0                 \
   : (x) % (y) != 0 && (((x) % (y)) ^ (y)) < 0 ? (T)((x) % (y) + (y)) \
                                               : (T)((x) % (y)))

#endif
