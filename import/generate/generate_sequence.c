/* generate_sequence.c - sequences of tensors. A variable that a sequence is changed in is taken over, else copied. */
#include "generate_ops.h"

#include <burn/burn.h>

#include <string.h>

static const char *status_of(GenerateStep *s, GenerateSupport function) {
  s->g->uses_status = true;
  generate_support(s->g, function);
  return "&status";
}

/* The sequence of input 0 in a variable of the output, to be changed. */
static const char *taken(GenerateStep *s) {
  const char *x = generate_use(s, 0);
  s->outputs[0]->open_count = s->inputs[0]->open_count;
  if (strcmp(x, s->inputs[0]->variable) == 0) {
    s->outputs[0]->variable = x;
  } else {
    generate_line(s->g, "%s = %s;", generate_declare(s, 0), x);
  }
  return s->outputs[0]->variable;
}

static bool is_sequence(GenerateStep *s) {
  if (generate_is_sequence(s->inputs[0])) return true;
  generate_refuse(s, "its input is not a sequence");
  return false;
}

static bool is_tensor(GenerateStep *s, uint32_t i) {
  if (generate_has(s, i) && s->inputs[i]->probes[0].tensor) return true;
  generate_refuse(s, "input %u is not a tensor", i);
  return false;
}

static void add(GenerateStep *s, const char *sequence, const char *x) {
  const char *status = status_of(s, GENERATE_SUPPORT_sequence_add);
  generate_line(s->g, "sequence_add(&%s, %s, %s);", sequence, x, status);
}

WRITE(SequenceEmpty) { generate_line(s->g, "%s = {NULL, 0};", generate_declare(s, 0)); }

WRITE(SequenceConstruct) {
  generate_line(s->g, "%s = {NULL, 0};", generate_declare(s, 0));
  for (uint32_t i = 0; i < s->step->input_count; i++) {
    if (is_tensor(s, i)) add(s, s->outputs[0]->variable, generate_use(s, i));
  }
}

WRITE(SequenceInsert) {
  if (!is_sequence(s) || !is_tensor(s, 1)) return;
  const char *place = generate_has(s, 2) ? generate_int(s, 2, "") : NULL;
  const char *item = generate_use(s, 1), *sequence = taken(s);
  if (!place) {
    add(s, sequence, item);
  } else {
    const char *status = status_of(s, GENERATE_SUPPORT_sequence_insert);
    generate_line(s->g, "sequence_insert(&%s, %s, %s, %s);", sequence, place, item, status);
  }
}

WRITE(SequenceErase) {
  if (!is_sequence(s)) return;
  const char *place = generate_int(s, 1, "-1"), *sequence = taken(s);
  generate_line(s->g, "sequence_erase(&%s, %s, %s);", sequence, place, status_of(s, GENERATE_SUPPORT_sequence_erase));
}

/* Axes along which the tensors differ, as bits; with a reason if their ranks do. */
static uint32_t unequal_axes(GenerateStep *s, const OnnxList *list) {
  uint32_t axes = 0;
  for (size_t i = 1; i < list->count; i++) {
    const BurnShape first = burn_shape(list->items[0]), other = burn_shape(list->items[i]);
    if (first.rank != other.rank) generate_refuse(s, "of tensors of unequal ranks");
    for (uint32_t k = 0; k < first.rank; k++) axes |= (uint32_t)(first.dims[k] != other.dims[k]) << k;
  }
  return axes;
}

WRITE(SequenceAt) {
  uint32_t open = 0;
  if (!is_sequence(s)) return;
  for (uint32_t p = 0; p < s->g->probes; p++) open |= unequal_axes(s, s->inputs[0]->probes[p].list);
  const char *place = generate_int(s, 1, "0");
  generate_support(s->g, GENERATE_SUPPORT_sequence_at);
  generate_give_open(s, 0, generate_text(s->g, "sequence_at(&%s, %s)", generate_borrow(s, 0), place), open);
}

WRITE(SequenceLength) {
  if (!is_sequence(s)) return;
  s->g->uses_device = true;
  generate_give(s, 0,
                generate_text(s->g, "burn_tensor_i64(device, (const int64_t[]){(int64_t)%s.count}, BURN_SHAPE(1))",
                              generate_borrow(s, 0)));
}

WRITE(ConcatFromSequence) {
  if (!is_sequence(s)) return;
  Generator *g = s->g;
  const OnnxList *list = s->inputs[0]->probes[0].list;
  const bool stacks = onnx_int(&s->node, "new_axis", 0) && !(list->count > 0 && list->scalar[0]);
  const int axis = onnx_axis(&s->node, "axis", onnx_int(&s->node, "axis", 0), generate_rank(s->outputs[0]));
  generate_support(g, stacks ? GENERATE_SUPPORT_sequence_stack : GENERATE_SUPPORT_sequence_cat);
  const char *text = generate_text(g, "sequence_%s(%s, %d)", stacks ? "stack" : "cat", generate_use(s, 0), axis);
  generate_give_open(s, 0, text, s->inputs[0]->open_count ? 1u << axis : 0);
}

WRITE(SplitToSequence) {
  Generator *g = s->g;
  int64_t sizes[GENERATE_PROBES][ONNX_INTS] = {{0}};
  const size_t given = generate_ints(s, 1, sizes);
  const int axis = onnx_axis(&s->node, "axis", onnx_int(&s->node, "axis", 0), generate_rank(s->inputs[0]));
  const bool listed = given > 0 && !s->inputs[1]->probes[0].scalar,
             keeps = given > 0 || onnx_int(&s->node, "keepdims", 1);
  if (listed && s->inputs[1]->kind != GENERATE_CONSTANT) generate_refuse(s, "parts that follow from sizes");
  if (s->reason[0]) return;
  if (!listed) {
    const char *status = status_of(s, GENERATE_SUPPORT_sequence_split), *x = generate_use(s, 0);
    const char *size = generate_int(s, 1, "1");
    generate_line(g, "%s = sequence_split(%s, %d, %s, %s, %s);", generate_declare(s, 0), x, axis, size,
                  keeps ? "true" : "false", status);
    s->outputs[0]->open_count = true;
    return;
  }
  int64_t start = 0;
  generate_line(g, "%s = {NULL, 0};", generate_declare(s, 0));
  for (size_t i = 0; i < given; start += sizes[0][i], i++) {
    add(s, s->outputs[0]->variable,
        generate_text(g, "burn_slice_dim(burn_clone(%s), %d, BURN_RANGE(%lld, %lld))", generate_borrow(s, 0), axis,
                      (long long)start, (long long)(start + sizes[0][i])));
  }
}
