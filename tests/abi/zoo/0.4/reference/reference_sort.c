/* reference_sort.c - order along an axis. */
#include "reference_internal.h"

#include <stdlib.h>
#include <string.h>

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
    for (int64_t k = 0; k < axis.size; k++) ranked[k] = (Ranked){rank_of(x, reference_on_line(&axis, line, k)), k};
    if (axis.size > 0)
      qsort(ranked, (size_t)axis.size, sizeof *ranked, attrs->descending.value.i64 ? compare_down : compare_up);
    for (int64_t k = 0; k < axis.size; k++)
      reference_put_integer(run->out[0], reference_on_line(&axis, line, k), ranked[k].index);
  }
  host->free(ranked, bytes);
  return BURN_OK;
}

const ReferenceRow reference_sort_rows[] = {{BURN_OP_argsort, argsort, NULL, NULL, 0}, {0, NULL, NULL, NULL, 0}};
