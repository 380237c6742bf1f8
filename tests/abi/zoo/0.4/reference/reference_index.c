/* reference_index.c - access through indices and masks. */
#include "reference_internal.h"

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

/* What becomes of an element where a value is put, by the attribute `update`: the functions of these rows. */
static const ReferenceRow updates[BURN_UPDATE_LIMIT] = {
    [BURN_UPDATE_ASSIGN] = {0, NULL, reference_real_second, reference_whole_second, 0},
    [BURN_UPDATE_ADD] = {0, NULL, reference_real_add, reference_whole_add, 0},
    [BURN_UPDATE_MUL] = {0, NULL, reference_real_mul, reference_whole_mul, 0},
    [BURN_UPDATE_MIN] = {0, NULL, reference_real_smallest, reference_whole_smallest, 0},
    [BURN_UPDATE_MAX] = {0, NULL, reference_real_largest, reference_whole_largest, 0},
};

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
  const ReferenceRow *rule = &updates[run->call->attrs[1].value.i64];
  BurnPrimitive *wide = reference_wide(run->reference, x);
  if (!wide) return reference_no_memory(run);
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

const ReferenceRow reference_index_rows[] = {{BURN_OP_mask_where, mask, NULL, NULL, 0},
                                             {BURN_OP_mask_fill, mask, NULL, NULL, 0},
                                             {BURN_OP_select, pick, NULL, NULL, LISTED},
                                             {BURN_OP_gather, pick, NULL, NULL, PER_ELEMENT},
                                             {BURN_OP_select_assign, put, NULL, NULL, LISTED},
                                             {BURN_OP_scatter, put, NULL, NULL, PER_ELEMENT},
                                             {0, NULL, NULL, NULL, 0}};
