/* onnx_sequence.c - ONNX operators on sequences of tensors or strings, and on optionals: one of these, a sequence or
 * nothing. */
#include "onnx_strings.h"
#include "onnx_value.h"

/* -- values -------------------------------------------------------------------------------------- */

OnnxValue onnx_input_value(const OnnxNode *node, size_t i) {
  if (i >= ONNX_MAX_VALUES) return (OnnxValue){0};
  return (OnnxValue){.tensor = onnx_input(node, i),
                     .scalar = node->scalar[i],
                     .type = node->types[i],
                     .list = onnx_list_retain(node->lists[i]),
                     .strings = onnx_strings_retain(node->strings[i])};
}

void onnx_give_value(OnnxNode *node, size_t i, OnnxValue value) {
  if (value.list) onnx_give_list(node, i, value.list);
  if (value.strings) onnx_give_strings(node, i, value.strings, value.scalar ? ONNX_RANK_0 : ONNX_RANK_MORE);
  if (!value.tensor) return;
  onnx_give_rank(node, i, value.tensor, value.scalar ? ONNX_RANK_0 : ONNX_RANK_MORE);
  if (onnx_wants_output(node, i)) node->output_types[i] = value.type;
}

OnnxValue onnx_item(const OnnxList *list, size_t i) {
  return (OnnxValue){.tensor = list->items[i] ? burn_clone(list->items[i]) : NULL,
                     .scalar = list->scalar[i],
                     .strings = onnx_strings_retain(list->strings[i])};
}

void onnx_put_item(OnnxList *list, size_t i, OnnxValue value) {
  list->items[i] = value.tensor;
  list->strings[i] = value.strings;
  list->scalar[i] = value.scalar;
}

OnnxList *onnx_new_list(OnnxNode *node, size_t count) {
  OnnxList *list = onnx_list_new(count);
  if (!list) onnx_fail(node, burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "a sequence of %zu items", count));
  return list;
}

/* The sequence that input i is; NULL, with the node failed, if it is none. */
static const OnnxList *sequence(OnnxNode *node, size_t i) {
  if (!node->lists[i]) {
    onnx_fail(node, burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%s: input %zu is not a sequence",
                                     node->proto->op_type, i));
  }
  return node->lists[i];
}

/* Input i as a place in a sequence of `count`, counted from the end below 0. False, with the node failed, if it is not
 * there. */
static bool place(OnnxNode *node, size_t i, size_t count, size_t last, size_t *at) {
  const int64_t given = onnx_input_int(node, i, (int64_t)last), from_start = given < 0 ? given + (int64_t)count : given;
  *at = (size_t)from_start;
  if (from_start >= 0 && from_start <= (int64_t)last) return true;
  onnx_fail(node, burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%s: place %lld of a sequence of %zu",
                                   node->proto->op_type, (long long)given, count));
  return false;
}

/* -- sequences ----------------------------------------------------------------------------------- */

MAP(SequenceEmpty) { onnx_give_list(node, 0, onnx_new_list(node, 0)); }

MAP(SequenceConstruct) {
  OnnxList *list = onnx_new_list(node, node->proto->n_input);
  for (size_t i = 0; list && i < list->count; i++) onnx_put_item(list, i, onnx_input_value(node, i));
  onnx_give_list(node, 0, list);
}

MAP(SequenceLength) {
  const OnnxList *list = sequence(node, 0);
  const int64_t count = list ? (int64_t)list->count : 0;
  onnx_give_rank(node, 0, onnx_i64s(node->device, &count, 1), ONNX_RANK_0);
}

MAP(SequenceAt) {
  const OnnxList *list = sequence(node, 0);
  size_t at;
  if (list && list->count == 0) {
    onnx_fail(node, burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "SequenceAt: the sequence is empty"));
  } else if (list && place(node, 1, list->count, list->count - 1, &at)) {
    onnx_give_value(node, 0, onnx_item(list, at));
  }
}

MAP(SequenceInsert) {
  const OnnxList *list = sequence(node, 0);
  size_t at;
  if (!list || !place(node, 2, list->count, list->count, &at)) return;
  OnnxList *more = onnx_new_list(node, list->count + 1);
  for (size_t i = 0; more && i < more->count; i++) {
    onnx_put_item(more, i, i == at ? onnx_input_value(node, 1) : onnx_item(list, i < at ? i : i - 1));
  }
  onnx_give_list(node, 0, more);
}

MAP(SequenceErase) {
  const OnnxList *list = sequence(node, 0);
  size_t at;
  if (list && list->count == 0) {
    onnx_fail(node, burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "SequenceErase: the sequence is empty"));
  } else if (list && place(node, 1, list->count, list->count - 1, &at)) {
    OnnxList *less = onnx_new_list(node, list->count - 1);
    for (size_t i = 0; less && i < less->count; i++) onnx_put_item(less, i, onnx_item(list, i < at ? i : i + 1));
    onnx_give_list(node, 0, less);
  }
}

/* Parts of one size, of given sizes, or of size 1; the last may lose the axis. */
MAP(SplitToSequence) {
  int64_t sizes[ONNX_INTS];
  const int axis = onnx_axis(node, "axis", onnx_int(node, "axis", 0), onnx_input_rank(node, 0));
  const int64_t size = onnx_input_dim(node, 0, axis);
  const size_t given = onnx_input_ints(node, 1, sizes);
  const bool listed = given > 0 && !node->scalar[1], drops = given == 0 && !onnx_int(node, "keepdims", 1);
  const int64_t each = given > 0 ? sizes[0] : 1;
  if (node->status != BURN_OK) return;
  if (!listed && each < 1) onnx_not_mapped(node, "parts of size %lld", (long long)each);
  if (node->reason[0]) return;
  OnnxList *list = onnx_new_list(node, listed ? given : (size_t)(size / each + (size % each != 0)));
  int64_t start = 0;
  for (size_t i = 0; list && i < list->count; i++) {
    const int64_t end = start + (listed ? sizes[i] : each < size - start ? each : size - start);
    BurnTensor *part = burn_slice_dim(onnx_input(node, 0), axis, BURN_RANGE(start, end));
    const bool scalar = drops && burn_rank(part) == 1;
    if (drops && !scalar) part = burn_squeeze_dim(part, axis);
    onnx_put_item(list, i, (OnnxValue){.tensor = part, .scalar = scalar});
    start = end;
  }
  onnx_give_list(node, 0, list);
}

MAP(ConcatFromSequence) {
  const OnnxList *list = sequence(node, 0);
  if (!list) return;
  const bool stacks = onnx_int(node, "new_axis", 0);
  OnnxList *all = onnx_list_retain(node->lists[0]);
  const bool scalars = list->count > 0 && list->scalar[0];
  OnnxList *taken = onnx_new_list(node, list->count);
  for (size_t i = 0; taken && i < taken->count; i++) onnx_put_item(taken, i, onnx_item(all, i));
  onnx_list_release(all);
  if (!taken) return;
  const size_t count = taken->count;
  taken->count = 0; /* the call takes the tensors */
  const uint32_t rank = count ? burn_rank(taken->items[0]) + (stacks && !scalars) : 0;
  const int axis = onnx_axis(node, "axis", onnx_int(node, "axis", 0), rank);
  BurnTensor *x = stacks && !scalars ? burn_stack(taken->items, count, axis) : burn_cat(taken->items, count, axis);
  onnx_list_release(taken);
  onnx_give_rank(node, 0, x, ONNX_RANK_MORE);
}

/* -- optionals ------------------------------------------------------------------------------------ */

/* Without an input it is nothing, of the type that an attribute says. */
MAP(Optional) { onnx_give_value(node, 0, onnx_input_value(node, 0)); }

MAP(OptionalHasElement) {
  const bool has = node->inputs[0] || node->lists[0] || node->strings[0];
  onnx_give_rank(node, 0, burn_tensor_bool(node->device, &has, BURN_SHAPE(1)), ONNX_RANK_0);
}

MAP(OptionalGetElement) {
  if (!node->inputs[0] && !node->lists[0] && !node->strings[0]) {
    onnx_fail(node, burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "OptionalGetElement: the optional is empty"));
  }
  onnx_give_value(node, 0, onnx_input_value(node, 0));
}

/* Of a tensor, strings, a sequence or nothing. */
MAP(Identity) { onnx_give_value(node, 0, onnx_input_value(node, 0)); }
