/* reference_move.c - parts put together. */
#include "reference_internal.h"

#include <burn/common/view.h>

static void copy_all(BurnPrimitive *to, const BurnPrimitive *from) {
  for (int64_t i = 0, count = burn_primitive_count(from); i < count; i++) reference_copy(to, i, from, i);
}

static BurnStatus slice_assign(const ReferenceRun *run) {
  const BurnAttrs_slice_assign *attrs = BURN_ATTRS(slice_assign, run->call);
  const BurnPrimitive *x = run->call->inputs[0], *values = run->call->inputs[1];
  int64_t steps[BURN_MAX_RANK] = {0};
  const int64_t start =
      burn_common_slice(x->rank, x->strides, attrs->starts.value.i64s, attrs->steps.value.i64s, values->shape, steps);
  copy_all(run->out[0], x);
  for (int64_t i = 0, count = burn_primitive_count(values); i < count; i++) {
    reference_copy(run->out[0], start + reference_place(values, i, steps), values, i);
  }
  return BURN_OK;
}

static BurnStatus cat(const ReferenceRun *run) {
  BurnPrimitive *out = run->out[0];
  const int64_t dim = BURN_ATTRS(cat, run->call)->dim.value.i64;
  int64_t start = 0;
  for (uint32_t k = 0; k < run->call->input_count; k++) {
    const BurnPrimitive *x = run->call->inputs[k];
    for (int64_t i = 0, count = burn_primitive_count(x); i < count; i++) {
      reference_copy(out, start + reference_place(x, i, out->strides), x, i);
    }
    start += x->shape[dim] * out->strides[dim];
  }
  return BURN_OK;
}

const ReferenceRow reference_move_rows[] = {
    {BURN_OP_slice_assign, slice_assign, NULL, NULL, 0}, {BURN_OP_cat, cat, NULL, NULL, 0}, {0, NULL, NULL, NULL, 0}};
