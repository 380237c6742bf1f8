/* export_move.c - ops that move elements, or look at them in another shape, in ONNX. */
#include "export.h"

#include <string.h>

/* The list of numbers at an attribute of the second run; NULL without one. */
static const int64_t *others_of(const ExportCall *c, uint32_t attr) {
  return c->other ? c->other->attrs[attr].value.i64s : NULL;
}

EXPORT_MAP(full) {
  const BurnAttrs_full *attrs = BURN_ATTRS(full, c->call);
  const char *shape = export_sizes(export, c, attrs->shape.value.i64s, others_of(c, 0), attrs->shape.count);
  Onnx__NodeProto *node = export_node(export, c->op, &shape, 1, export_output(export, c, 0));
  const BurnDType dtype = (BurnDType)attrs->dtype.value.i64;
  export_set_tensor(export, node, "value", export_number_tensor(export, &attrs->value, dtype, true));
}

/* One size that differs between the runs is -1, which ONNX finds out itself. */
EXPORT_MAP(reshape) {
  const BurnAttr *attr = &BURN_ATTRS(reshape, c->call)->shape;
  const int64_t *others = others_of(c, 0);
  int64_t sizes[BURN_MAX_RANK] = {0};
  size_t differ = 0, empty = 0;
  for (uint32_t i = 0; i < attr->count; i++) {
    const bool free = others && others[i] != attr->value.i64s[i];
    sizes[i] = free ? -1 : attr->value.i64s[i];
    differ += free;
    empty += sizes[i] == 0;
  }
  const char *shape = differ == 1 && empty == 0 ? export_ints(export, sizes, attr->count)
                                                : export_sizes(export, c, attr->value.i64s, others, attr->count);
  const char *inputs[] = {export_input(export, c, 0), shape};
  Onnx__NodeProto *node = export_node(export, c->op, inputs, 2, export_output(export, c, 0));
  if (empty > 0) export_set_int(export, node, "allowzero", 1); /* else 0 means the size of the input */
}

EXPORT_MAP(permute) {
  const BurnAttr *axes = &BURN_ATTRS(permute, c->call)->axes;
  const char *x = export_input(export, c, 0);
  Onnx__NodeProto *node = export_node(export, c->op, &x, 1, export_output(export, c, 0));
  export_set_ints(export, node, "perm", axes->value.i64s, axes->count);
}

EXPORT_MAP(expand) {
  const BurnAttr *shape = &BURN_ATTRS(expand, c->call)->shape;
  const char *sizes = export_sizes(export, c, shape->value.i64s, others_of(c, 0), shape->count);
  export_node(export, c->op, (const char *const[]){export_input(export, c, 0), sizes}, 2, export_output(export, c, 0));
}

/* Where the part along an axis ends, exclusive; whatever is beyond the first element when it goes backwards. */
static int64_t end_of(int64_t start, int64_t count, int64_t step) {
  const int64_t end = start + count * step;
  return step < 0 && end < 0 ? INT64_MIN : end;
}

/* The axes that are not taken as a whole. */
EXPORT_MAP(slice) {
  const BurnAttrs_slice *a = BURN_ATTRS(slice, c->call), *b = c->other ? BURN_ATTRS(slice, c->other) : a;
  const BurnTensorDesc x = export_desc(c, 0);
  const BurnTensorDesc y = burn_primitive_desc((c->other ? c->other : c->call)->inputs[0]);
  int64_t starts[2][BURN_MAX_RANK], ends[2][BURN_MAX_RANK], axes[BURN_MAX_RANK], steps[BURN_MAX_RANK];
  size_t n = 0;
  for (uint32_t i = 0; i < x.rank; i++) {
    const int64_t step = a->steps.value.i64s[i], start = a->starts.value.i64s[i], other = b->starts.value.i64s[i];
    const int64_t count = a->counts.value.i64s[i], others = b->counts.value.i64s[i];
    const bool last = step == 1 && start + count == x.shape[i] && other + others == y.shape[i];
    if (last && start == 0 && other == 0) continue;
    axes[n] = i;
    steps[n] = step;
    starts[0][n] = start;
    starts[1][n] = other;
    ends[0][n] = last ? INT64_MAX : end_of(start, count, step);
    ends[1][n++] = last ? INT64_MAX : end_of(other, others, b->steps.value.i64s[i]);
  }
  const char *input = export_input(export, c, 0);
  if (n == 0) {
    export_node(export, "Identity", &input, 1, export_output(export, c, 0));
    return;
  }
  const char *inputs[] = {input, export_sizes(export, c, starts[0], starts[1], n),
                          export_sizes(export, c, ends[0], ends[1], n), export_ints(export, axes, n),
                          export_ints(export, steps, n)};
  export_node(export, c->op, inputs, 5, export_output(export, c, 0));
}

EXPORT_MAP(cat) {
  const char **inputs = onnx_arena_take(&export->arena, c->call->input_count, sizeof *inputs);
  if (!inputs) {
    export_fail(export, burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for the model"));
    return;
  }
  for (uint32_t i = 0; i < c->call->input_count; i++) inputs[i] = export_input(export, c, i);
  Onnx__NodeProto *node = export_node(export, c->op, inputs, c->call->input_count, export_output(export, c, 0));
  export_set_int(export, node, "axis", c->call->attrs[0].value.i64);
}

/* -- by index ---------------------------------------------------------------------------------- */

EXPORT_MAP(dim_op) {
  const char *inputs[] = {export_input(export, c, 0), export_input(export, c, 1)};
  Onnx__NodeProto *node = export_node(export, c->op, inputs, 2, export_output(export, c, 0));
  export_set_int(export, node, "axis", c->call->attrs[0].value.i64);
}

/* Gather takes i32 and i64, as GatherElements. */
EXPORT_MAP(select) { export_dim_op(export, c); }

/* scatter and scatter_nd: the last attribute says what becomes of an element. */
EXPORT_MAP(scatter) {
  static const char *const updates[BURN_UPDATE_LIMIT] = {"none", "add", "mul", "min", "max"};
  const char *inputs[] = {export_input(export, c, 0), export_input(export, c, 1), export_input(export, c, 2)};
  const int64_t update = c->call->attrs[c->call->attr_count - 1].value.i64;
  Onnx__NodeProto *node = export_node(export, c->op, inputs, 3, export_output(export, c, 0));
  if (c->call->op == BURN_OP_scatter) export_set_int(export, node, "axis", c->call->attrs[0].value.i64);
  export_set_text(export, node, "reduction", updates[update]);
}

EXPORT_MAP(mask_where) {
  const char *inputs[] = {export_input(export, c, 1), export_input(export, c, 2), export_input(export, c, 0)};
  export_node(export, c->op, inputs, 3, export_output(export, c, 0));
}

EXPORT_MAP(mask_fill) {
  const char *number = export_number(export, &c->call->attrs[0], export_desc(c, 0).dtype);
  const char *inputs[] = {export_input(export, c, 1), number, export_input(export, c, 0)};
  export_node(export, c->op, inputs, 3, export_output(export, c, 0));
}

EXPORT_MAP(triangle) {
  const char *diagonal = export_number(export, &c->call->attrs[0], BURN_DTYPE_I64);
  const char *inputs[] = {export_input(export, c, 0), diagonal};
  Onnx__NodeProto *node = export_node(export, c->op, inputs, 2, export_output(export, c, 0));
  export_set_int(export, node, "upper", c->call->op == BURN_OP_triu);
}

EXPORT_MAP(pad) {
  static const char *const modes[BURN_PAD_LIMIT] = {"constant", "reflect", "edge"};
  const BurnAttrs_pad *attrs = BURN_ATTRS(pad, c->call);
  const uint32_t rank = export_desc(c, 0).rank;
  int64_t pads[2 * BURN_MAX_RANK];
  memcpy(pads, attrs->before.value.i64s, rank * sizeof *pads);
  memcpy(pads + rank, attrs->after.value.i64s, rank * sizeof *pads);
  const bool constant = attrs->mode.value.i64 == BURN_PAD_CONSTANT;
  const char *inputs[] = {export_input(export, c, 0), export_ints(export, pads, 2 * (size_t)rank),
                          constant ? export_number(export, &attrs->value, export_desc(c, 0).dtype) : ""};
  Onnx__NodeProto *node = export_node(export, c->op, inputs, 3, export_output(export, c, 0));
  export_set_text(export, node, "mode", modes[attrs->mode.value.i64]);
}

/* -- along one axis ---------------------------------------------------------------------------- */

EXPORT_MAP(cumsum) {
  const char *inputs[] = {export_input(export, c, 0), export_number(export, &c->call->attrs[0], BURN_DTYPE_I64)};
  export_node(export, c->op, inputs, 2, export_output(export, c, 0));
}

/* The places of the k largest or smallest, with k as long as the axis. */
EXPORT_MAP(argsort) {
  const BurnAttrs_argsort *attrs = BURN_ATTRS(argsort, c->call);
  const uint32_t dim = (uint32_t)attrs->dim.value.i64;
  const BurnDType wanted = (BurnDType)attrs->index_dtype.value.i64;
  const int64_t *sizes = c->call->inputs[0]->shape, *others = c->other ? c->other->inputs[0]->shape : NULL;
  const char *count = export_sizes(export, c, sizes + dim, others ? others + dim : NULL, 1);
  const char *inputs[] = {export_input(export, c, 0), count};
  const char *places = wanted == BURN_DTYPE_I64 ? export_output(export, c, 0) : export_between(export, c);
  Onnx__NodeProto *node = export_node(export, c->op, inputs, 2, export_between(export, c));
  export_add_output(export, node, places);
  export_set_int(export, node, "axis", dim);
  export_set_int(export, node, "largest", attrs->descending.value.i64);
  export_set_int(export, node, "sorted", 1);
  if (wanted == BURN_DTYPE_I64) return;
  node = export_node(export, "Cast", &places, 1, export_output(export, c, 0));
  export_set_int(export, node, "to", export_dtype(wanted));
}
