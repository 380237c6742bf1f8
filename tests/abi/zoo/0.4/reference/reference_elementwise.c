/* reference_elementwise.c - the ops of reference_elementwise.def, element by element. */
#include "reference_internal.h"

#include <math.h>

/* -- the functions ---------------------------------------------------------------------------- */

#define PLUS(a, b) (int64_t)((uint64_t)(a) + (uint64_t)(b))
#define MINUS(a, b) (int64_t)((uint64_t)(a) - (uint64_t)(b))
#define TIMES(a, b) (int64_t)((uint64_t)(a) * (uint64_t)(b))

/* Toward zero; x / 0 is 0, and the smallest / -1 wraps. */
static int64_t divide(int64_t a, int64_t b) { return b == 0 ? 0 : b == -1 ? MINUS(0, a) : a / b; }

/* With the sign of the divisor; x % 0 is 0. */
static int64_t whole_modulo(int64_t a, int64_t b) {
  const int64_t rest = b == 0 || b == -1 ? 0 : a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
static double real_modulo(double a, double b) {
  const double rest = fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

/* Wraps; of negative exponents what truncates to an integer: 1 / 1, 1 / -1, else 0. */
static int64_t whole_power(int64_t a, int64_t b) {
  if (b < 0 && a != 1 && a != -1) return 0;
  uint64_t power = 1, square = (uint64_t)a;
  for (uint64_t rest = b < 0 ? 0 - (uint64_t)b : (uint64_t)b; rest > 0; rest >>= 1, square *= square) {
    if (rest & 1) power *= square;
  }
  return (int64_t)power;
}

/* a / 2^b rounded down, b in 0 .. 63; without the shift of a negative number, which C leaves open. */
static int64_t floor_shift(int64_t a, int64_t b) {
  return a < 0 ? ~(int64_t)(~(uint64_t)a >> b) : (int64_t)((uint64_t)a >> b);
}

#define REAL_FUNCTION(op, expression)           \
  static double real_##op(double a, double b) { \
    (void)a;                                    \
    (void)b;                                    \
    return expression;                          \
  }
#define WHOLE_FUNCTION(op, expression)              \
  static int64_t whole_##op(int64_t a, int64_t b) { \
    (void)a;                                        \
    (void)b;                                        \
    return expression;                              \
  }
#define BOTH(op, real, whole) REAL_FUNCTION(op, real) WHOLE_FUNCTION(op, whole)
#define REAL(op, real) BOTH(op, real, 0)
#define WHOLE(op, whole) BOTH(op, 0, whole)
#define SAME(op, expression) BOTH(op, expression, expression)
#define HELPER(name, expression) BOTH(name, expression, expression)
#define SCALAR(op, of, kind)
#define OWN(op, kernel)
#include "reference_elementwise.def"
#undef BOTH
#undef REAL
#undef WHOLE
#undef SAME
#undef HELPER
#undef SCALAR
#undef OWN

/* What other families join elements by. */
#define JOIN(name)                                                               \
  double reference_real_##name(double a, double b) { return real_##name(a, b); } \
  int64_t reference_whole_##name(int64_t a, int64_t b) { return whole_##name(a, b); }
REFERENCE_JOINS(JOIN)
#undef JOIN

/* -- element by element ----------------------------------------------------------------------- */

static BurnStatus elements(const ReferenceRun *run) {
  const BurnPrimitive *a = run->call->inputs[0], *b = run->call->input_count > 1 ? run->call->inputs[1] : NULL;
  BurnPrimitive *out = run->out[0];
  int64_t a_steps[BURN_MAX_RANK], b_steps[BURN_MAX_RANK];
  reference_broadcast(a, a_steps);
  if (b) reference_broadcast(b, b_steps);
  for (int64_t i = 0, count = burn_primitive_count(out); i < count; i++) {
    const int64_t at_a = reference_place(out, i, a_steps), at_b = b ? reference_place(out, i, b_steps) : 0;
    if (reference_is_float(a)) {
      reference_put_float(out, i, run->row->real(reference_get_float(a, at_a), b ? reference_get_float(b, at_b) : 0));
    } else {
      reference_put_integer(out, i,
                            run->row->whole(reference_get_integer(a, at_a), b ? reference_get_integer(b, at_b) : 0));
    }
  }
  return BURN_OK;
}

/* powi: the sign comes from the parity, which f64 does not hold for large exponents. */
static BurnStatus power(const ReferenceRun *run) {
  const BurnPrimitive *x = run->call->inputs[0], *exponents = run->call->inputs[1];
  BurnPrimitive *out = run->out[0];
  int64_t x_steps[BURN_MAX_RANK], exponent_steps[BURN_MAX_RANK];
  reference_broadcast(x, x_steps);
  reference_broadcast(exponents, exponent_steps);
  for (int64_t i = 0, count = burn_primitive_count(out); i < count; i++) {
    const int64_t at = reference_place(out, i, x_steps);
    const int64_t exponent = reference_get_integer(exponents, reference_place(out, i, exponent_steps));
    if (reference_is_float(x)) {
      const double base = reference_get_float(x, at), size = pow(fabs(base), (double)exponent);
      reference_put_float(out, i, exponent % 2 != 0 && signbit(base) ? -size : size);
    } else {
      reference_put_integer(out, i, whole_power(reference_get_integer(x, at), exponent));
    }
  }
  return BURN_OK;
}

/* -- a number as second operand --------------------------------------------------------------- */

enum { WRAPS, FITS, BOUND, EXACT };

/* -1, 0, 1: whether a is below, equal to or above a number; NaN if that is. No rounding: i64 has numbers that f64 has
 * not. */
static double order(int64_t a, const BurnAttr *number) {
  const double b = burn_attr_to_f64(number);
  if (number->tag == BURN_ATTR_I64) return (a > number->value.i64) - (a < number->value.i64);
  if (isnan(b)) return b;
  if (b >= 9223372036854775808.0) return -1;
  if (b < -9223372036854775808.0) return 1;
  const int64_t below = (int64_t)floor(b);
  if (a != below) return a > below ? 1 : -1;
  return floor(b) < b ? -1 : 0;
}

static BurnStatus scalar(const ReferenceRun *run) {
  const BurnPrimitive *x = run->call->inputs[0];
  BurnPrimitive *out = run->out[0];
  const ReferenceRow *row = run->row;
  const BurnAttr *number = &run->call->attrs[0];
  const double value = burn_attr_to_f64(number),
               real = reference_is_float(x) ? reference_round(x->dtype, value) : value;
  const bool is_bound = row->detail != BOUND || !isnan(value);
  const int64_t whole = reference_saturate(row->detail == WRAPS ? BURN_DTYPE_I64 : x->dtype, number);
  for (int64_t i = 0, count = burn_primitive_count(out); i < count; i++) {
    if (reference_is_float(x)) {
      reference_put_float(out, i, row->real(reference_get_float(x, i), real));
    } else if (row->detail == EXACT) {
      reference_put_float(out, i, row->real(order(reference_get_integer(x, i), number), 0));
    } else {
      const int64_t element = reference_get_integer(x, i);
      reference_put_integer(out, i, is_bound ? row->whole(element, whole) : element);
    }
  }
  return BURN_OK;
}

/* -- the rows --------------------------------------------------------------------------------- */

#define BOTH(op, real, whole) {BURN_OP_##op, elements, real_##op, whole_##op, 0},
#define REAL(op, real) BOTH(op, , )
#define WHOLE(op, whole) BOTH(op, , )
#define SAME(op, expression) BOTH(op, , )
#define HELPER(name, expression)
#define SCALAR(op, of, kind) {BURN_OP_##op, scalar, real_##of, whole_##of, kind},
#define OWN(op, kernel) {BURN_OP_##op, kernel, NULL, NULL, 0},

const ReferenceRow reference_elementwise_rows[] = {
#include "reference_elementwise.def"
    {0, NULL, NULL, NULL, 0}};
