/* reference_view.c - the elements of x in another shape or order; views copy here. Element i of the result is the
 * element of x at start + sum of coordinate * step. */
#include "reference_internal.h"

#include <burn/common/view.h>

static BurnStatus view(const ReferenceRun *run, int64_t start, const int64_t *steps) {
  BurnPrimitive *out = run->out[0];
  for (int64_t i = 0, count = burn_primitive_count(out); i < count; i++) {
    reference_copy(out, i, run->call->inputs[0], start + reference_place(out, i, steps));
  }
  return BURN_OK;
}

static BurnStatus reshape(const ReferenceRun *run) { return view(run, 0, run->out[0]->strides); }

static BurnStatus permute(const ReferenceRun *run) {
  const BurnPrimitive *x = run->call->inputs[0];
  const int64_t *axes = BURN_ATTRS(permute, run->call)->axes.value.i64s;
  int64_t steps[BURN_MAX_RANK] = {0};
  burn_common_permute(x->rank, axes, x->strides, steps);
  return view(run, 0, steps);
}

static BurnStatus expand(const ReferenceRun *run) {
  const BurnPrimitive *x = run->call->inputs[0];
  const BurnPrimitive *out = run->out[0];
  int64_t steps[BURN_MAX_RANK] = {0};
  burn_common_expand(x->rank, x->shape, x->strides, out->rank, out->shape, steps);
  return view(run, 0, steps);
}

static BurnStatus slice(const ReferenceRun *run) {
  const BurnAttrs_slice *attrs = BURN_ATTRS(slice, run->call);
  const BurnPrimitive *x = run->call->inputs[0];
  int64_t steps[BURN_MAX_RANK] = {0};
  const int64_t start = burn_common_slice(x->rank, x->strides, attrs->starts.value.i64s, attrs->steps.value.i64s,
                                          run->out[0]->shape, steps);
  return view(run, start, steps);
}

const ReferenceRow reference_view_rows[] = {{BURN_OP_reshape, reshape, NULL, NULL, 0},
                                            {BURN_OP_permute, permute, NULL, NULL, 0},
                                            {BURN_OP_expand, expand, NULL, NULL, 0},
                                            {BURN_OP_slice, slice, NULL, NULL, 0},
                                            {0, NULL, NULL, NULL, 0}};
