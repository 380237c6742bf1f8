/* generate_loop.c - Loop and Scan as for loops.
 *
 * A body is written once. What a round hands to the next may have another size every time: one round is run first, and
 * an axis that it changes becomes an axis of any size within the loop. */
#include "generate_block.h"

#include <burn/burn.h>

#include <stdlib.h>
#include <string.h>

/* -- what a loop hands on ----------------------------------------------------------------------------------- */

/* A Loop or Scan. Inputs of the body: `before` that the loop makes, then `states`, then `scanned`. Its outputs: a
 * condition, if there is one, the states, and what every round adds to a result. */
typedef struct Loop {
  GenerateStep *step;
  const OnnxBody *body;
  uint32_t before, states, scanned, conditions; /* of inputs, and 0 or 1 of outputs */
  uint32_t first;                               /* input of the step that is the first state */
  GenerateValue *carried[ONNX_MAX_VALUES];      /* states, in variables of the block around */
  GenerateValue *made[ONNX_MAX_VALUES];         /* what the loop gives the body before and after them */
  const char *rounds[ONNX_MAX_VALUES];          /* variables of what rounds add */
  uint32_t open[ONNX_MAX_VALUES];               /* axes of states that change from round to round, as bits */
} Loop;

static uint32_t added(const Loop *l) { return l->body->output_count - l->conditions - l->states; }

static OnnxValue *body_inputs(Loop *l, uint32_t probe) {
  OnnxValue *inputs = calloc(l->body->input_count + 1, sizeof *inputs);
  for (uint32_t i = 0; inputs && i < l->body->input_count; i++) {
    const bool state = i >= l->before && i < l->before + l->states;
    GenerateValue *value = state ? l->carried[i - l->before] : l->made[i];
    inputs[i] = generate_copy(generate_probe(value, probe));
  }
  return inputs;
}

/* A round for each probe; the values of the states after it in results[state]. */
static BurnStatus run_round(Loop *l, GenerateValue **results) {
  GenerateStep *s = l->step;
  for (uint32_t p = 0; p < s->g->probes; p++) {
    OnnxValue *inputs = body_inputs(l, p), *outputs = calloc(l->body->output_count + 1, sizeof *outputs);
    BurnStatus status = inputs && outputs ? generate_run_body(s, l->body, p, inputs, outputs) : generate_no_memory();
    for (uint32_t i = 0; outputs && i < l->body->output_count; i++) {
      const uint32_t state = i - l->conditions;
      if (status == BURN_OK && i >= l->conditions && state < l->states) {
        onnx_value_release(&results[state]->probes[p]);
        results[state]->probes[p] = outputs[i];
      } else {
        onnx_value_release(&outputs[i]);
      }
    }
    free(inputs);
    free(outputs);
    if (status != BURN_OK) return status;
  }
  return BURN_OK;
}

/* The state before which axis `axis` became open, that had the same sizes before and after the round as this one. */
static uint32_t twin_of(const Loop *l, GenerateValue **results, uint32_t state, uint32_t axis, uint32_t *twin_axis) {
  for (uint32_t k = 0; k < state; k++) {
    if (generate_is_sequence(l->carried[k])) continue;
    for (uint32_t i = 0; i < generate_rank(l->carried[k]); i++) {
      bool same = (l->open[k] >> i & 1) != 0;
      for (uint32_t p = 0; p < l->step->g->probes && same; p++)
        same = generate_dim(results[k], p, i) == generate_dim(results[state], p, axis);
      *twin_axis = i;
      if (same) return k;
    }
  }
  return state;
}

/* One axis of a state is of any size from now on: its probes become zeros of other sizes. */
static void open_axis(Loop *l, uint32_t state, uint32_t axis, const int64_t *sizes) {
  GenerateValue *value = l->carried[state];
  l->open[state] |= 1u << axis;
  for (uint32_t p = 0; p < l->step->g->probes; p++) {
    BurnShape shape = burn_shape(value->probes[p].tensor);
    const BurnDType dtype = burn_dtype(value->probes[p].tensor);
    shape.dims[axis] = sizes[p];
    burn_drop(value->probes[p].tensor);
    value->probes[p].tensor = burn_zeros(l->step->g->device, shape, dtype);
    value->probes[p].scalar = false;
  }
}

/* A symbol for an axis that a round changes, or that of another state which grows with it. */
static bool open_new_axis(Loop *l, GenerateValue **results, uint32_t state, uint32_t axis) {
  GenerateStep *s = l->step;
  uint32_t twin_axis = 0;
  const uint32_t twin = twin_of(l, results, state, axis, &twin_axis);
  int64_t sizes[GENERATE_PROBES];
  if (twin != state) {
    for (uint32_t p = 0; p < s->g->probes; p++) sizes[p] = generate_dim(l->carried[twin], p, twin_axis);
    open_axis(l, state, axis, sizes);
    return true;
  }
  const GenerateSymbol *symbol =
      generate_symbol(s->g, "", "length", generate_text(s->g, "burn_dim(%s, %u)", l->carried[state]->variable, axis));
  if (!symbol) generate_refuse(s, "more than %d sizes that depend on data", GENERATE_SIZES);
  if (symbol) open_axis(l, state, axis, symbol->sizes);
  return symbol != NULL;
}

/* True if a state is not as it was: then another round must be run. */
static bool open_changed(Loop *l, GenerateValue **results) {
  GenerateStep *s = l->step;
  bool changed = false;
  for (uint32_t k = 0; k < l->states && !s->reason[0]; k++) {
    const uint32_t axes = generate_unequal_axes(s, l->carried[k], results[k]);
    if (s->reason[0]) return false;
    for (uint32_t p = 0; p < s->g->probes; p++) {
      OnnxValue *value = &l->carried[k]->probes[p];
      value->scalar = value->scalar && results[k]->probes[p].scalar;
      changed = changed || (value->list && value->list->count == 0 && results[k]->probes[p].list->count > 0);
      generate_take_longer_list(value, value->list && value->list->count == 0 ? &results[k]->probes[p] : value);
    }
    for (uint32_t i = 0; i < BURN_MAX_RANK && !s->reason[0]; i++) {
      if (!(axes >> i & 1) || (l->open[k] >> i & 1)) continue;
      changed = open_new_axis(l, results, k, i) || changed;
    }
  }
  return changed && !s->reason[0];
}

/* Runs rounds until none changes the axes of a state that are not open. */
static BurnStatus settle_states(Loop *l) {
  GenerateStep *s = l->step;
  GenerateValue *results[ONNX_MAX_VALUES] = {NULL};
  BurnStatus status = BURN_OK;
  for (uint32_t k = 0; k < l->states; k++) {
    results[k] = generate_value(s->g, GENERATE_VARIABLE);
    if (!results[k]) return generate_no_memory();
  }
  bool changed = true;
  for (int round = 0; changed && status == BURN_OK && !s->reason[0]; round++) {
    if (round == BURN_MAX_RANK) generate_refuse(s, "a state whose sizes do not settle");
    status = run_round(l, results);
    changed = status == BURN_OK && open_changed(l, results);
  }
  for (uint32_t k = 0; k < l->states; k++) {
    for (uint32_t p = 0; p < GENERATE_PROBES; p++) onnx_value_release(&results[k]->probes[p]);
  }
  return status;
}

/* -- a loop in C ---------------------------------------------------------------------------------------------- */

/* The states in variables before the loop, which nothing else is put into while it runs. */
static BurnStatus declare_states(Loop *l) {
  GenerateStep *s = l->step;
  Generator *g = s->g;
  for (uint32_t k = 0; k < l->states; k++) {
    GenerateValue *from = s->inputs[l->first + k], *value = generate_value(g, GENERATE_VARIABLE);
    if (!from || !value) return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "a loop without all of its inputs");
    l->carried[k] = value;
    value->is_input = value->open_count = true;
    for (uint32_t p = 0; p < g->probes; p++) value->probes[p] = generate_copy(generate_probe(from, p));
    const char *text = generate_use(s, l->first + k);
    if (from->moved && !from->is_input) {
      value->variable = text;
    } else {
      value->variable = generate_local(g, "x");
      generate_line(g, "%s%s = %s;", generate_type(g, value), value->variable, text);
    }
    generate_used(g, from);
  }
  return BURN_OK;
}

static void declare_rounds(Loop *l) {
  for (uint32_t i = 0; i < added(l); i++) {
    l->rounds[i] = generate_local(l->step->g, "rounds");
    generate_support(l->step->g, GENERATE_SUPPORT_sequence_add);
    l->step->g->uses_status = true;
    generate_line(l->step->g, "Sequence %s = {NULL, 0};", l->rounds[i]);
  }
}

/* Name `i` of the body is the value; what no step reads is dropped at once. */
static void give_input(Loop *l, GenerateBlock *b, uint32_t i, GenerateValue *value) {
  const uint32_t slot = l->body->inputs[i];
  b->scope.values[slot] = value;
  value->left = l->body->uses[slot];
}

static uint32_t uses_of(const Loop *l, uint32_t i) { return l->body->uses[l->body->inputs[i]]; }

static void give_states(Loop *l, GenerateBlock *b) {
  Generator *g = l->step->g;
  for (uint32_t i = b->symbol_count; i < g->symbol_count; i++) generate_declare_symbol(g, &g->symbols[i]);
  for (uint32_t k = 0; k < l->states; k++) {
    GenerateValue *value = generate_value(g, GENERATE_VARIABLE);
    if (!value) return;
    value->variable = l->carried[k]->variable;
    value->is_input = value->open_count = true;
    for (uint32_t p = 0; p < g->probes; p++) value->probes[p] = generate_copy(&l->carried[k]->probes[p]);
    give_input(l, b, l->before + k, value);
    generate_settle_output(g, value);
  }
}

/* Whether a state would get the variable of another one, which that has not left yet. */
static bool crosses(const Loop *l, const GenerateStep *outputs) {
  for (uint32_t k = 0; k < l->states; k++) {
    const GenerateValue *value = outputs->inputs[l->conditions + k];
    for (uint32_t i = 0; i < l->states; i++) {
      if (i != k && value && value->variable && value->variable == l->carried[i]->variable) return true;
    }
  }
  return false;
}

/* The states of the next round. */
static void hand_on(Loop *l, GenerateStep *outputs) {
  Generator *g = l->step->g;
  const bool by_copies = crosses(l, outputs);
  const char *next[ONNX_MAX_VALUES] = {NULL};
  for (uint32_t k = 0; k < l->states; k++) {
    const char *text = generate_take_output(outputs, l->conditions + k);
    if (strcmp(text, l->carried[k]->variable) == 0) continue;
    next[k] = by_copies ? generate_local(g, "next") : text;
    const char *type = by_copies ? generate_type(g, l->carried[k]) : "";
    generate_line(g, "%s%s = %s;", type, by_copies ? next[k] : l->carried[k]->variable, text);
  }
  for (uint32_t k = 0; k < l->states && by_copies; k++) {
    if (next[k]) generate_line(g, "%s = %s;", l->carried[k]->variable, next[k]);
  }
}

static bool is_true(const GenerateValue *value) {
  double number = 0;
  return value && value->kind == GENERATE_CONSTANT && value->probes[0].tensor &&
         burn_read_scalar(burn_clone(value->probes[0].tensor), &number) == BURN_OK && number != 0;
}

/* The end of a round: the condition, what it adds, what it hands on. `backwards`: bits of results that grow in
 * front. */
static BurnStatus end_round(Loop *l, GenerateBlock *b, const char *more, uint64_t backwards) {
  Generator *g = l->step->g;
  GenerateStep *outputs = generate_body_outputs(g, b);
  bool all = outputs != NULL;
  for (uint32_t i = 0; all && i < outputs->step->input_count; i++) all = outputs->inputs[i] != NULL;
  if (!all) {
    free(outputs);
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "a body that does not give all it says");
  }
  if (l->conditions && more) generate_line(g, "%s = holds(%s, &status);", more, generate_take_output(outputs, 0));
  if (l->conditions && !more) generate_used(g, outputs->inputs[0]);
  for (uint32_t i = 0; i < added(l); i++) {
    const bool front = i < 64 && (backwards >> i & 1);
    if (generate_is_sequence(outputs->inputs[l->conditions + l->states + i]))
      generate_refuse(outputs, "a round that adds a sequence");
    generate_line(g, front ? "sequence_insert(&%s, 0, %s, &status);" : "sequence_add(&%s, %s, &status);", l->rounds[i],
                  generate_take_output(outputs, l->conditions + l->states + i));
  }
  hand_on(l, outputs);
  if (outputs->reason[0]) generate_refuse(l->step, "%s", outputs->reason);
  free(outputs);
  return BURN_OK;
}

/* -- after it ---------------------------------------------------------------------------------------------------- */

/* After rounds that nobody has counted a sequence has enough tensors for what reads it by place. */
static void lengthen(OnnxValue *value) {
  enum { ENOUGH = 8 };
  OnnxList *list = value->list ? onnx_list_new(ENOUGH) : NULL;
  if (!list || value->list->count == 0 || value->list->count >= ENOUGH) {
    onnx_list_release(list);
    return;
  }
  for (size_t i = 0; i < ENOUGH; i++) {
    const size_t from = i < value->list->count ? i : value->list->count - 1;
    list->items[i] = burn_clone(value->list->items[from]);
    list->scalar[i] = value->list->scalar[from];
  }
  onnx_list_release(value->list);
  value->list = list;
}

/* The states as outputs of the step. */
static void give_results(Loop *l) {
  GenerateStep *s = l->step;
  for (uint32_t k = 0; k < l->states && !s->reason[0]; k++) {
    GenerateValue *value = generate_new_output(s, k);
    if (!value) return;
    value->variable = l->carried[k]->variable;
    value->open_count = true;
    for (uint32_t p = 0; p < s->g->probes; p++) {
      value->probes[p] = generate_copy(&l->carried[k]->probes[p]);
      lengthen(&value->probes[p]);
    }
    if (!generate_is_sequence(value)) generate_open_axes(s, value, NULL, l->open[k]);
    if (!s->reason[0]) generate_settle_output(s->g, value);
  }
}

/* Result `i` of all rounds along an axis: `item` is what one gives. `rounds`: their number for each probe, or NULL
 * where data decide. */
static void give_joined(Loop *l, uint32_t i, int64_t axis, GenerateValue *item, const int64_t *rounds) {
  GenerateStep *s = l->step;
  Generator *g = s->g;
  const bool scalar = item->probes[0].scalar;
  const uint32_t rank = scalar ? 1 : generate_rank(item) + 1;
  const int at = onnx_axis(&s->node, "axis", axis, rank);
  GenerateValue *value = generate_new_output(s, l->states + i);
  if (!value || rank > BURN_MAX_RANK) generate_refuse(s, "a result of %u axes", rank);
  if (s->reason[0]) return;
  for (uint32_t p = 0; p < g->probes; p++) {
    BurnShape shape = {rank, {0}};
    const BurnDType dtype = burn_dtype(item->probes[p].tensor);
    for (uint32_t k = 0, from = 0; k < rank; k++)
      shape.dims[k] = (int)k == at ? (rounds ? rounds[p] : 1) : generate_dim(item, p, from++);
    value->probes[p] = (OnnxValue){.tensor = burn_zeros(g->device, shape, dtype)};
  }
  value->variable = generate_local(g, "x");
  const char *join = scalar ? "cat" : "stack", *dims = "";
  generate_support(g, scalar ? GENERATE_SUPPORT_sequence_cat : GENERATE_SUPPORT_sequence_stack);
  const char *text = generate_text(g, "sequence_%s(%s, %d)", join, l->rounds[i], at);
  if (!rounds || rounds[0] < 1) {
    for (uint32_t k = 0; k < rank; k++) {
      int64_t sizes[GENERATE_PROBES];
      for (uint32_t p = 0; p < g->probes; p++) sizes[p] = generate_dim(value, p, k);
      const char *size = (int)k == at ? "0" : generate_formula(g, sizes);
      dims = generate_text(g, "%s%s%s", dims, k ? ", " : "", size ? size : "0");
    }
    g->uses_device = true;
    text = generate_text(g, "%s.count > 0 ? %s : burn_zeros(device, BURN_SHAPE(%s), %s)", l->rounds[i], text, dims,
                         generate_dtype_text(g, generate_dtype(item)));
  }
  generate_open_axes(s, value, generate_text(g, "BurnTensor *%s = %s;", value->variable, text), rounds ? 0 : 1u << at);
  if (!s->reason[0]) generate_settle_output(g, value);
}

/* Copies of what a round adds, before it is taken. */
static BurnStatus keep_items(Loop *l, GenerateBlock *b, GenerateValue **items) {
  for (uint32_t i = 0; i < added(l); i++) {
    GenerateValue *from = generate_get(l->step->g, &b->scope, l->body->outputs[l->conditions + l->states + i]);
    items[i] = generate_value(l->step->g, GENERATE_VARIABLE);
    if (!items[i] || !from) return generate_no_memory();
    for (uint32_t p = 0; p < l->step->g->probes; p++) items[i]->probes[p] = generate_copy(generate_probe(from, p));
    if (!items[i]->probes[0].tensor) generate_refuse(l->step, "a round that adds a sequence");
  }
  return BURN_OK;
}

static void drop_values(GenerateValue **values, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    for (uint32_t p = 0; values[i] && p < GENERATE_PROBES; p++) onnx_value_release(&values[i]->probes[p]);
  }
}

/* -- Loop --------------------------------------------------------------------------------------------------------- */

static bool number_of_round(Loop *l) {
  Generator *g = l->step->g;
  const int64_t first = 0;
  const bool holds = true;
  for (uint32_t i = 0; i < 2; i++) {
    GenerateValue *value = generate_value(g, i == 0 ? GENERATE_VARIABLE : GENERATE_CONSTANT);
    if (!value) return false;
    for (uint32_t p = 0; p < (i == 0 ? g->probes : 1); p++)
      value->probes[p] = (OnnxValue){.tensor = i == 0 ? burn_tensor_i64(g->device, &first, BURN_SHAPE(1))
                                                      : burn_tensor_bool(g->device, &holds, BURN_SHAPE(1)),
                                     .scalar = true};
    l->made[i] = value;
  }
  return true;
}

static void write_round_number(Loop *l, GenerateBlock *b, const char *round) {
  Generator *g = l->step->g;
  give_input(l, b, 1, l->made[1]);
  give_input(l, b, 0, l->made[0]);
  if (uses_of(l, 0) == 0) return;
  l->made[0]->variable = generate_local(g, "x");
  g->uses_device = true;
  generate_line(g, "BurnTensor *%s = burn_tensor_i64(device, (const int64_t[]){%s}, BURN_SHAPE(1));",
                l->made[0]->variable, round);
}

/* Whether the body's own condition can end it. */
static bool is_conditional(const Loop *l) {
  const uint32_t slot = l->body->outputs[0], weight = l->body->weights[slot];
  if (!generate_has(l->step, 1)) return false;
  if (slot == l->body->inputs[1]) return false;
  if (weight != ONNX_NONE) return !is_true(generate_weight_value(l->step->g, weight));
  for (uint32_t i = 0; i < l->body->step_count; i++) {
    const OnnxStep *step = &l->body->steps[i];
    if (step->output_count > 0 && step->outputs[0] == slot)
      return strcmp(step->op->name, "Identity") != 0 || step->inputs[0] != l->body->inputs[1];
  }
  return true;
}

/* "more && round < 8" */
static const char *loop_condition(Loop *l, const char *round, const char **more, int64_t *rounds, bool *known) {
  GenerateStep *s = l->step;
  Generator *g = s->g;
  const bool limited = generate_has(s, 0), starts = !generate_has(s, 1) || is_true(s->inputs[1]);
  const bool conditional = is_conditional(l);
  if (generate_has(s, 1) && !s->inputs[1]->probes[0].tensor) generate_refuse(s, "a condition that is not a tensor");
  const char *limit = generate_int(s, 0, "INT64_MAX");
  int64_t values[GENERATE_PROBES][ONNX_INTS] = {{0}};
  *known =
      limited && !conditional && starts && s->inputs[0]->kind != GENERATE_VARIABLE && generate_ints(s, 0, values) == 1;
  for (uint32_t p = 0; p < g->probes; p++) rounds[p] = values[p][0];
  if (limited) generate_used(g, s->inputs[0]);
  if (limited && !(strspn(limit, "-0123456789") == strlen(limit)) && strcmp(limit, "INT64_MAX") != 0) {
    const char *name = generate_local(g, "limit");
    generate_line(g, "const int64_t %s = %s;", name, limit);
    limit = name;
  }
  *more = NULL;
  if (conditional || !starts) {
    *more = generate_local(g, "more");
    g->uses_status = true;
    generate_support(g, GENERATE_SUPPORT_holds);
    generate_line(g, starts ? "bool %s = true;" : "bool %s = holds(%s, &status);", *more,
                  starts ? "" : generate_use(s, 1));
  }
  if (generate_has(s, 1)) generate_used(g, s->inputs[1]);
  if (!*more) return generate_text(g, "%s < %s", round, limit);
  return generate_text(g, "%s && %s < %s", *more, round, limit);
}

static BurnStatus write_loop(Loop *l, GenerateValue **items) {
  GenerateStep *s = l->step;
  Generator *g = s->g;
  GenerateBlock block;
  int64_t rounds[GENERATE_PROBES] = {0};
  bool known = false;
  const char *more = NULL, *round = generate_local(g, "round");
  const char *condition = loop_condition(l, round, &more, rounds, &known);
  const bool conditional = is_conditional(l);
  BurnStatus status = s->reason[0] ? BURN_OK : declare_states(l);
  if (status != BURN_OK || s->reason[0]) return status;
  declare_rounds(l);
  const uint32_t symbols = g->symbol_count;
  status = settle_states(l);
  if (status != BURN_OK || s->reason[0]) return status;
  generate_line(g, "for (int64_t %s = 0; %s; %s++) {", round, condition, round);
  status = generate_open_block(s, l->body, &block);
  if (status != BURN_OK) return status;
  block.symbol_count = symbols;
  write_round_number(l, &block, round);
  give_states(l, &block);
  status = generate_body(g, &block.scope);
  if (status == BURN_OK) status = keep_items(l, &block, items);
  if (status == BURN_OK && !s->reason[0]) status = end_round(l, &block, conditional ? more : NULL, 0);
  generate_close_block(g, &block);
  generate_line(g, "}");
  generate_release_captures(s);
  if (status != BURN_OK || s->reason[0]) return status;
  give_results(l);
  for (uint32_t i = 0; i < added(l) && !s->reason[0]; i++) give_joined(l, i, 0, items[i], known ? rounds : NULL);
  return BURN_OK;
}

static BurnStatus loop_or_scan(const Loop *is, BurnStatus (*write)(Loop *, GenerateValue **)) {
  Loop *l = malloc(sizeof *l);
  GenerateValue **items = calloc(ONNX_MAX_VALUES, sizeof *items);
  BurnStatus status = l && items ? BURN_OK : generate_no_memory();
  if (status == BURN_OK) {
    *l = *is;
    status = write(l, items);
    drop_values(items, ONNX_MAX_VALUES);
    drop_values(l->carried, ONNX_MAX_VALUES);
    drop_values(l->made, ONNX_MAX_VALUES);
  }
  free(items);
  free(l);
  return status;
}

static BurnStatus does_not_fit(void) {
  return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "a body that does not fit the inputs of its loop");
}

BurnStatus generate_loop(GenerateStep *s) {
  const OnnxBody *body = s->step->bodies[0];
  const uint32_t states = s->step->input_count > 2 ? s->step->input_count - 2 : 0;
  if (body->input_count != states + 2 || body->output_count <= states || body->input_count > ONNX_MAX_VALUES ||
      body->output_count > ONNX_MAX_VALUES)
    return does_not_fit();
  Loop is = {.step = s, .body = body, .before = 2, .states = states, .conditions = 1, .first = 2};
  if (!number_of_round(&is)) return generate_no_memory();
  return loop_or_scan(&is, write_loop);
}

/* -- Scan -------------------------------------------------------------------------------------------------------- */

static int64_t listed(GenerateStep *s, const char *name, size_t i) {
  int64_t values[ONNX_INTS];
  return i < onnx_ints(&s->node, name, values) ? values[i] : 0;
}

static int scan_axis(const Loop *l, uint32_t i) {
  const GenerateValue *x = l->step->inputs[l->states + i];
  return onnx_axis(&l->step->node, "axis", listed(l->step, "scan_input_axes", i), generate_rank(x));
}

/* Entry 0 of scanned input i for each probe; false if it is not a tensor with entries. */
static bool first_entry(Loop *l, uint32_t i) {
  Generator *g = l->step->g;
  GenerateValue *from = l->step->inputs[l->states + i], *value = generate_value(g, GENERATE_VARIABLE);
  if (!value || !from || generate_is_sequence(from)) return false;
  const int axis = scan_axis(l, i);
  l->made[l->states + i] = value;
  for (uint32_t p = 0; p < g->probes; p++) {
    const BurnTensor *x = generate_probe(from, p)->tensor;
    if (burn_dim(x, axis) < 1) return false;
    const bool scalar = burn_rank(x) == 1;
    BurnTensor *entry = scalar ? burn_narrow(burn_clone(x), 0, 0, 1) : burn_select_dim(burn_clone(x), axis, 0);
    value->probes[p] = (OnnxValue){.tensor = entry, .scalar = scalar};
  }
  return true;
}

static void write_entries(Loop *l, GenerateBlock *b, const char *round, const char *rounds) {
  GenerateStep *s = l->step;
  Generator *g = s->g;
  for (uint32_t i = 0; i < l->scanned; i++) {
    GenerateValue *value = l->made[l->states + i], *from = s->inputs[l->states + i];
    give_input(l, b, l->states + i, value);
    if (value->left == 0) continue;
    const bool backwards = listed(s, "scan_input_directions", i) == 1;
    const char *at = backwards ? generate_text(g, "%s - 1 - %s", rounds, round) : round;
    from->left++; /* it is read again in the next round */
    const char *x = generate_use(s, l->states + i);
    from->left--;
    value->variable = generate_local(g, "x");
    generate_line(g,
                  generate_rank(from) == 1 ? "BurnTensor *%s = burn_narrow(%s, %d, %s, 1);"
                                           : "BurnTensor *%s = burn_select_dim(%s, %d, %s);",
                  value->variable, x, scan_axis(l, i), at);
  }
}

/* The number of entries, as a number or a variable. */
static const char *entries(Loop *l, int64_t *rounds) {
  Generator *g = l->step->g;
  const GenerateValue *x = l->step->inputs[l->states];
  for (uint32_t p = 0; p < g->probes; p++) rounds[p] = generate_dim(x, p, (uint32_t)scan_axis(l, 0));
  const char *text = generate_formula(g, rounds);
  if (!text) generate_refuse(l->step, "entries whose number follows from sizes by no known formula; give sizes");
  return text ? text : "0";
}

static BurnStatus write_scan(Loop *l, GenerateValue **items) {
  GenerateStep *s = l->step;
  Generator *g = s->g;
  GenerateBlock block;
  int64_t rounds[GENERATE_PROBES] = {0};
  uint64_t backwards = 0;
  for (uint32_t i = 0; i < l->scanned; i++) {
    if (!first_entry(l, i)) return does_not_fit();
  }
  const char *round = generate_local(g, "round"), *count = entries(l, rounds);
  BurnStatus status = s->reason[0] ? BURN_OK : declare_states(l);
  if (status != BURN_OK || s->reason[0]) return status;
  declare_rounds(l);
  const uint32_t symbols = g->symbol_count;
  status = settle_states(l);
  if (status != BURN_OK || s->reason[0]) return status;
  for (uint32_t i = 0; i < added(l) && i < 64; i++) {
    if (listed(s, "scan_output_directions", i) != 1) continue;
    backwards |= UINT64_C(1) << i;
    generate_support(g, GENERATE_SUPPORT_sequence_insert);
  }
  generate_line(g, "for (int64_t %s = 0; %s < %s; %s++) {", round, round, count, round);
  status = generate_open_block(s, l->body, &block);
  if (status != BURN_OK) return status;
  block.symbol_count = symbols;
  write_entries(l, &block, round, count);
  give_states(l, &block);
  status = generate_body(g, &block.scope);
  if (status == BURN_OK) status = keep_items(l, &block, items);
  if (status == BURN_OK && !s->reason[0]) status = end_round(l, &block, NULL, backwards);
  generate_close_block(g, &block);
  generate_line(g, "}");
  for (uint32_t i = 0; i < l->scanned; i++) generate_used(g, s->inputs[l->states + i]);
  generate_release_captures(s);
  if (status != BURN_OK || s->reason[0]) return status;
  give_results(l);
  for (uint32_t i = 0; i < added(l) && !s->reason[0]; i++)
    give_joined(l, i, listed(s, "scan_output_axes", i), items[i], rounds);
  return BURN_OK;
}

BurnStatus generate_scan(GenerateStep *s) {
  const OnnxBody *body = s->step->bodies[0];
  const int64_t scanned = onnx_int(&s->node, "num_scan_inputs", 0);
  const uint32_t inputs = s->step->input_count;
  if (s->step->opset < 9) generate_refuse(s, "of opset 8, by batches");
  if (s->reason[0]) return BURN_OK;
  if (scanned < 1 || scanned > inputs || body->input_count != inputs || body->output_count + scanned < inputs ||
      inputs > ONNX_MAX_VALUES || body->output_count > ONNX_MAX_VALUES)
    return does_not_fit();
  const Loop is = {.step = s, .body = body, .states = inputs - (uint32_t)scanned, .scanned = (uint32_t)scanned};
  return loop_or_scan(&is, write_scan);
}
