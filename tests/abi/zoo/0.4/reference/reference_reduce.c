/* reference_reduce.c - one number per line along an axis: elements joined from the first on, or the index of the first
 * that is best. */
#include "reference_internal.h"

/* The detail of a row is the result of an empty line. */
static BurnStatus fold(const ReferenceRun *run) {
  const BurnPrimitive *x = run->call->inputs[0];
  BurnPrimitive *out = run->out[0];
  const ReferenceRow *row = run->row;
  const ReferenceAxis axis = reference_axis(x, run->call->attrs[0].value.i64);
  const bool is_test = out->dtype == BURN_DTYPE_BOOL; /* then even one element must go through the function */
  for (int64_t i = 0, count = burn_primitive_count(out); i < count; i++) {
    if (reference_is_float(x)) {
      double total = is_test || axis.size == 0 ? row->detail : reference_get_float(x, reference_on_line(&axis, i, 0));
      for (int64_t k = !is_test; k < axis.size; k++)
        total = row->real(total, reference_get_float(x, reference_on_line(&axis, i, k)));
      reference_put_float(out, i, total);
    } else {
      int64_t total =
          is_test || axis.size == 0 ? row->detail : reference_get_integer(x, reference_on_line(&axis, i, 0));
      for (int64_t k = !is_test; k < axis.size; k++)
        total = row->whole(total, reference_get_integer(x, reference_on_line(&axis, i, k)));
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
      if (is_better(run->row, x, reference_on_line(&axis, i, best), reference_on_line(&axis, i, k))) best = k;
    }
    reference_put_integer(run->out[0], i, best);
  }
  return BURN_OK;
}

const ReferenceRow reference_reduce_rows[] = {
    {BURN_OP_sum_dim, fold, reference_real_add, reference_whole_add, 0},
    {BURN_OP_prod_dim, fold, reference_real_mul, reference_whole_mul, 1},
    {BURN_OP_max_dim, fold, reference_real_largest, reference_whole_largest, 0},
    {BURN_OP_min_dim, fold, reference_real_smallest, reference_whole_smallest, 0},
    {BURN_OP_any_dim, fold, reference_real_either, reference_whole_either, 0},
    {BURN_OP_argmax, arg, reference_real_is_larger, reference_whole_is_larger, 0},
    {BURN_OP_argmin, arg, reference_real_is_smaller, reference_whole_is_smaller, 0},
    {0, NULL, NULL, NULL, 0}};
