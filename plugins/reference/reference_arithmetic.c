/* reference_arithmetic.c - the ops of reference_arithmetic.def: element by element, and along an axis. */
#include "reference_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

/* Wraps; of negative exponents what truncates to a whole number: 1 / 1, 1 / -1, else 0. */
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
#define FOLD(op, of, empty)
#define SCAN(op, of, kind)
#define ARG(op, of)
#define OWN(op, kernel)
#include "reference_arithmetic.def"
#undef BOTH
#undef REAL
#undef WHOLE
#undef SAME
#undef HELPER
#undef SCALAR
#undef FOLD
#undef SCAN
#undef ARG
#undef OWN

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

/* -- along an axis ---------------------------------------------------------------------------- */

/* Element number k of line number i along an axis: lines are numbered as the elements of the result. */
static int64_t on_line(const ReferenceAxis *axis, int64_t i, int64_t k) {
  return (i / axis->inner * axis->size + k) * axis->inner + i % axis->inner;
}

static BurnStatus fold(const ReferenceRun *run) {
  const BurnPrimitive *x = run->call->inputs[0];
  BurnPrimitive *out = run->out[0];
  const ReferenceRow *row = run->row;
  const ReferenceAxis axis = reference_axis(x, run->call->attrs[0].value.i64);
  const bool is_test = out->dtype == BURN_DTYPE_BOOL; /* then even one element must go through the function */
  for (int64_t i = 0, count = burn_primitive_count(out); i < count; i++) {
    if (reference_is_float(x)) {
      double total = is_test || axis.size == 0 ? row->detail : reference_get_float(x, on_line(&axis, i, 0));
      for (int64_t k = !is_test; k < axis.size; k++)
        total = row->real(total, reference_get_float(x, on_line(&axis, i, k)));
      reference_put_float(out, i, total);
    } else {
      int64_t total = is_test || axis.size == 0 ? row->detail : reference_get_integer(x, on_line(&axis, i, 0));
      for (int64_t k = !is_test; k < axis.size; k++)
        total = row->whole(total, reference_get_integer(x, on_line(&axis, i, k)));
      reference_put_integer(out, i, total);
    }
  }
  return BURN_OK;
}

/* True if element b of x is better than element a. */
static bool is_better(const ReferenceRow *row, const BurnPrimitive *x, int64_t a, int64_t b) {
  if (reference_is_float(x)) return row->real(reference_get_float(x, a), reference_get_float(x, b)) != 0;
  return row->whole(reference_get_integer(x, a), reference_get_integer(x, b)) != 0;
}

static BurnStatus arg(const ReferenceRun *run) {
  const BurnPrimitive *x = run->call->inputs[0];
  const ReferenceAxis axis = reference_axis(x, run->call->attrs[0].value.i64);
  for (int64_t i = 0, count = burn_primitive_count(run->out[0]); i < count; i++) {
    int64_t best = 0;
    for (int64_t k = 1; k < axis.size; k++) {
      if (is_better(run->row, x, on_line(&axis, i, best), on_line(&axis, i, k))) best = k;
    }
    reference_put_integer(run->out[0], i, best);
  }
  return BURN_OK;
}

enum { FROM_ZERO, FROM_FIRST };

static BurnStatus scan(const ReferenceRun *run) {
  const BurnPrimitive *x = run->call->inputs[0];
  BurnPrimitive *out = run->out[0];
  const ReferenceRow *row = run->row;
  const ReferenceAxis axis = reference_axis(x, run->call->attrs[0].value.i64);
  for (int64_t line = 0; line < axis.outer * axis.inner; line++) {
    double real = 0;
    int64_t whole = 0;
    for (int64_t k = 0; k < axis.size; k++) {
      const int64_t i = on_line(&axis, line, k);
      if (reference_is_float(x)) {
        real = k == 0 && row->detail == FROM_FIRST ? reference_get_float(x, i)
                                                   : row->real(real, reference_get_float(x, i));
        reference_put_float(out, i, real); /* rounded here, not in what goes on */
      } else {
        whole = k == 0 && row->detail == FROM_FIRST ? reference_get_integer(x, i)
                                                    : row->whole(whole, reference_get_integer(x, i));
        reference_put_integer(out, i, whole);
      }
    }
  }
  return BURN_OK;
}

/* A number that orders elements: -NaN < -inf < .. < -0 < +0 < .. < inf < NaN, as the bits of floats do. */
static int64_t rank_of(const BurnPrimitive *x, int64_t i) {
  if (!reference_is_float(x)) return reference_get_integer(x, i);
  const double value = reference_get_float(x, i);
  int64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits < 0 ? bits ^ INT64_MAX : bits;
}

typedef struct Ranked {
  int64_t rank, index;
} Ranked;

/* Equal ranks keep their order, in both directions. */
static int compare_up(const void *a, const void *b) {
  const Ranked *x = a, *y = b;
  return x->rank != y->rank ? (x->rank > y->rank) - (x->rank < y->rank) : (x->index > y->index) - (x->index < y->index);
}
static int compare_down(const void *a, const void *b) {
  const Ranked *x = a, *y = b;
  return x->rank != y->rank ? (x->rank < y->rank) - (x->rank > y->rank) : (x->index > y->index) - (x->index < y->index);
}

static BurnStatus argsort(const ReferenceRun *run) {
  const BurnAttrs_argsort *attrs = BURN_ATTRS(argsort, run->call);
  const BurnHost *host = run->reference->host;
  const BurnPrimitive *x = run->call->inputs[0];
  const ReferenceAxis axis = reference_axis(x, attrs->dim.value.i64);
  const uint64_t bytes = (uint64_t)axis.size * sizeof(Ranked);
  Ranked *ranked = host->allocate(bytes);
  if (!ranked) return reference_fail(run, BURN_STATUS_OUT_OF_MEMORY, "no memory to sort in");
  for (int64_t line = 0; line < axis.outer * axis.inner; line++) {
    for (int64_t k = 0; k < axis.size; k++) ranked[k] = (Ranked){rank_of(x, on_line(&axis, line, k)), k};
    if (axis.size > 0)
      qsort(ranked, (size_t)axis.size, sizeof *ranked, attrs->descending.value.i64 ? compare_down : compare_up);
    for (int64_t k = 0; k < axis.size; k++)
      reference_put_integer(run->out[0], on_line(&axis, line, k), ranked[k].index);
  }
  host->free(ranked, bytes);
  return BURN_OK;
}

/* -- the rows --------------------------------------------------------------------------------- */

#define BOTH(op, real, whole) {BURN_OP_##op, elements, real_##op, whole_##op, 0},
#define REAL(op, real) BOTH(op, , )
#define WHOLE(op, whole) BOTH(op, , )
#define SAME(op, expression) BOTH(op, , )
#define HELPER(name, expression)
#define SCALAR(op, of, kind) {BURN_OP_##op, scalar, real_##of, whole_##of, kind},
#define FOLD(op, of, empty) {BURN_OP_##op, fold, real_##of, whole_##of, empty},
#define SCAN(op, of, kind) {BURN_OP_##op, scan, real_##of, whole_##of, kind},
#define OWN(op, kernel) {BURN_OP_##op, kernel, NULL, NULL, 0},
#define ARG(op, of) {BURN_OP_##op, arg, real_##of, whole_##of, 0},

const ReferenceRow reference_arithmetic_rows[] = {
#include "reference_arithmetic.def"
    {0, NULL, NULL, NULL, 0}};

const ReferenceRow reference_updates[BURN_UPDATE_LIMIT] = {
    [BURN_UPDATE_ASSIGN] = {0, NULL, real_second, whole_second, 0},
    [BURN_UPDATE_ADD] = {0, NULL, real_add, whole_add, 0},
    [BURN_UPDATE_MUL] = {0, NULL, real_mul, whole_mul, 0},
    [BURN_UPDATE_MIN] = {0, NULL, real_smallest, whole_smallest, 0},
    [BURN_UPDATE_MAX] = {0, NULL, real_largest, whole_largest, 0},
};
