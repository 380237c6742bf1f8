/* reference_move.c - ops that only bring elements to other places: views (which copy here), cat, masks, and access
 * through indices. */
#include "reference_internal.h"

#include <string.h>

/* -- views: element i of the result is the element of x at start + sum of coordinate * step --- */

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
  int64_t steps[BURN_MAX_RANK];
  for (uint32_t i = 0; i < x->rank; i++) steps[i] = x->strides[axes[i]];
  return view(run, 0, steps);
}

static BurnStatus expand(const ReferenceRun *run) {
  const BurnPrimitive *x = run->call->inputs[0];
  int64_t steps[BURN_MAX_RANK] = {0};
  reference_broadcast(x, steps + (run->out[0]->rank - x->rank)); /* new axes lead, with step 0 */
  return view(run, 0, steps);
}

/* Where a slice of this shape begins and how it steps through a tensor with these strides. A step that is never taken
 * may be of any size. */
static int64_t slice_steps(const BurnPrimitive *x, const int64_t *shape, const BurnAttr *starts, const BurnAttr *steps,
                           int64_t *out_steps) {
  int64_t start = 0;
  for (uint32_t i = 0; i < x->rank; i++) {
    start += starts->value.i64s[i] * x->strides[i];
    out_steps[i] = shape[i] > 1 ? steps->value.i64s[i] * x->strides[i] : 0;
  }
  return start;
}

static BurnStatus slice(const ReferenceRun *run) {
  const BurnAttrs_slice *attrs = BURN_ATTRS(slice, run->call);
  int64_t steps[BURN_MAX_RANK];
  const int64_t start = slice_steps(run->call->inputs[0], run->out[0]->shape, &attrs->starts, &attrs->steps, steps);
  return view(run, start, steps);
}

/* -- parts put together ----------------------------------------------------------------------- */

static void copy_all(BurnPrimitive *to, const BurnPrimitive *from) {
  for (int64_t i = 0, count = burn_primitive_count(from); i < count; i++) reference_copy(to, i, from, i);
}

static BurnStatus slice_assign(const ReferenceRun *run) {
  const BurnAttrs_slice_assign *attrs = BURN_ATTRS(slice_assign, run->call);
  const BurnPrimitive *x = run->call->inputs[0], *values = run->call->inputs[1];
  int64_t steps[BURN_MAX_RANK];
  const int64_t start = slice_steps(x, values->shape, &attrs->starts, &attrs->steps, steps);
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

/* -- masks ------------------------------------------------------------------------------------ */

/* mask_where and, without a third input, mask_fill. */
static BurnStatus mask(const ReferenceRun *run) {
  BurnPrimitive *out = run->out[0], *const *in = run->call->inputs;
  const uint32_t count = run->call->input_count;
  int64_t steps[3][BURN_MAX_RANK], at[3] = {0, 0, 0};
  for (uint32_t k = 0; k < count; k++) reference_broadcast(in[k], steps[k]);
  for (int64_t i = 0, elements = burn_primitive_count(out); i < elements; i++) {
    for (uint32_t k = 0; k < count; k++) at[k] = reference_place(out, i, steps[k]);
    if (!reference_get_integer(in[1], at[1])) {
      reference_copy(out, i, in[0], at[0]);
    } else if (count > 2) {
      reference_copy(out, i, in[2], at[2]);
    } else {
      reference_put_number(out, i, &BURN_ATTRS(mask_fill, run->call)->value);
    }
  }
  return BURN_OK;
}

/* -- through indices -------------------------------------------------------------------------- */

/* Indices are one list for all lines (select) or one per element (gather): the detail of a row. */
enum { LISTED, PER_ELEMENT };

/* Where element i of the picked side [outer, picks, inner] lies in x [outer, size, inner]; fails if the index is
 * outside. */
static BurnStatus find(const ReferenceRun *run, int64_t i, int64_t picks, int64_t *place) {
  const int64_t dim = run->call->attrs[0].value.i64; /* the first attribute of all these ops */
  const ReferenceAxis axis = reference_axis(run->call->inputs[0], dim);
  const int64_t position = run->row->detail == LISTED ? i / axis.inner % picks : i;
  const int64_t index = reference_get_integer(run->call->inputs[1], position);
  if (index >= 0 && index < axis.size) {
    *place = (i / axis.inner / picks * axis.size + index) * axis.inner + i % axis.inner;
    return BURN_OK;
  }
  if (axis.size == 0) {
    return reference_fail(run, BURN_STATUS_OUT_OF_RANGE, "index %lld at position %lld, but axis %lld is empty",
                          (long long)index, (long long)position, (long long)dim);
  }
  return reference_fail(run, BURN_STATUS_OUT_OF_RANGE, "index %lld at position %lld is outside 0..%lld (axis %lld)",
                        (long long)index, (long long)position, (long long)(axis.size - 1), (long long)dim);
}

static BurnStatus pick(const ReferenceRun *run) {
  BurnPrimitive *out = run->out[0];
  const int64_t picks = out->shape[run->call->attrs[0].value.i64];
  for (int64_t i = 0, count = burn_primitive_count(out); i < count; i++) {
    int64_t place = 0;
    const BurnStatus status = find(run, i, picks, &place);
    if (status != BURN_OK) return status;
    reference_copy(out, i, run->call->inputs[0], place);
  }
  return BURN_OK;
}

/* One value joined into the wide copy of x. */
static void update(const ReferenceRow *rule, BurnPrimitive *wide, int64_t place, const BurnPrimitive *values,
                   int64_t i) {
  if (reference_is_float(values)) {
    reference_put_float(wide, place, rule->real(reference_get_float(wide, place), reference_get_float(values, i)));
  } else {
    reference_put_integer(wide, place,
                          rule->whole(reference_get_integer(wide, place), reference_get_integer(values, i)));
  }
}

static BurnStatus put(const ReferenceRun *run) {
  const BurnPrimitive *x = run->call->inputs[0], *values = run->call->inputs[2];
  const int64_t picks = values->shape[run->call->attrs[0].value.i64];
  const ReferenceRow *rule = &reference_updates[run->call->attrs[1].value.i64];
  BurnPrimitive *wide = reference_wide(run->reference, x);
  if (!wide) return reference_fail(run, BURN_STATUS_OUT_OF_MEMORY, "no memory for the sums");
  for (int64_t i = 0, count = burn_primitive_count(x); i < count; i++) {
    if (reference_is_float(x)) reference_put_float(wide, i, reference_get_float(x, i));
    if (!reference_is_float(x)) reference_put_integer(wide, i, reference_get_integer(x, i));
  }
  BurnStatus status = BURN_OK;
  for (int64_t i = 0, count = burn_primitive_count(values); i < count && status == BURN_OK; i++) {
    int64_t place = 0;
    status = find(run, i, picks, &place);
    if (status == BURN_OK) update(rule, wide, place, values, i);
  }
  reference_narrow(run->reference, wide, run->out[0]);
  return status;
}

const ReferenceRow reference_move_rows[] = {{BURN_OP_reshape, reshape, NULL, NULL, 0},
                                            {BURN_OP_permute, permute, NULL, NULL, 0},
                                            {BURN_OP_expand, expand, NULL, NULL, 0},
                                            {BURN_OP_slice, slice, NULL, NULL, 0},
                                            {BURN_OP_slice_assign, slice_assign, NULL, NULL, 0},
                                            {BURN_OP_cat, cat, NULL, NULL, 0},
                                            {BURN_OP_mask_where, mask, NULL, NULL, 0},
                                            {BURN_OP_mask_fill, mask, NULL, NULL, 0},
                                            {BURN_OP_select, pick, NULL, NULL, LISTED},
                                            {BURN_OP_gather, pick, NULL, NULL, PER_ELEMENT},
                                            {BURN_OP_select_assign, put, NULL, NULL, LISTED},
                                            {BURN_OP_scatter, put, NULL, NULL, PER_ELEMENT},
                                            {0, NULL, NULL, NULL, 0}};
