/* generate_block.c - bodies as blocks of C: what stands between braces, and what it leaves.
 *
 * What the graph around it has, a body does not take, since it may run again. */
#include "generate_block.h"

#include <burn/burn.h>

#include <stdlib.h>

BurnStatus generate_no_memory(void) { return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for the code"); }

/* -- blocks --------------------------------------------------------------------------------------- */

BurnStatus generate_open_block(GenerateStep *s, const OnnxBody *body, GenerateBlock *b) {
  Generator *g = s->g;
  *b = (GenerateBlock){{.body = body}, g->free_base, g->free_count, g->symbol_count};
  b->scope.values = onnx_arena_take(&g->arena, body->slot_count + 1, sizeof *b->scope.values);
  b->scope.written = onnx_arena_take(&g->arena, body->step_count + 1, sizeof *b->scope.written);
  if (!b->scope.values || !b->scope.written) return generate_no_memory();
  for (uint32_t i = 0; i < body->capture_count; i++)
    generate_alias(&b->scope, body->capture_to[i], generate_get(g, s->scope, body->capture_from[i]));
  g->free_base = g->free_count;
  generate_indent(g);
  return BURN_OK;
}

void generate_close_block(Generator *g, const GenerateBlock *b) {
  generate_outdent(g);
  g->free_base = b->free_base;
  g->free_count = b->free_count;
  generate_end_symbols(g, b->symbol_count);
}

/* The names of the graph around it that the bodies read: until here nobody has taken them. */
void generate_release_captures(GenerateStep *s) {
  for (uint32_t i = 0; i < s->step->capture_count; i++)
    generate_used(s->g, generate_get(s->g, s->scope, s->step->captures[i]));
}

/* What a body gives, to be used one after the other by a step of its own. */
GenerateStep *generate_body_outputs(Generator *g, GenerateBlock *b) {
  GenerateStep *s = calloc(1, sizeof *s);
  OnnxStep *step = onnx_arena_take(&g->arena, 1, sizeof *step);
  if (!s || !step || b->scope.body->output_count > ONNX_MAX_VALUES) {
    free(s);
    return NULL;
  }
  step->input_count = b->scope.body->output_count;
  s->g = g;
  s->scope = &b->scope;
  s->step = step;
  for (uint32_t i = 0; i < step->input_count; i++) s->inputs[i] = generate_get(g, &b->scope, b->scope.body->outputs[i]);
  return s;
}

/* A handle of its own to output i; it is done with the value then. */
const char *generate_take_output(GenerateStep *outputs, uint32_t i) {
  GenerateValue *value = outputs->inputs[i];
  const char *text = generate_use(outputs, i);
  if (value && value->left > 0) value->left--; /* the use that takes the variable leaves nothing to drop */
  return text;
}

OnnxValue generate_copy(const OnnxValue *value) {
  OnnxValue copy = *value;
  copy.tensor = value->tensor ? burn_clone(value->tensor) : NULL;
  onnx_list_retain(value->list);
  return copy;
}

OnnxValue *generate_probe(GenerateValue *value, uint32_t probe) {
  return &value->probes[value->kind == GENERATE_CONSTANT ? 0 : probe];
}

/* A result of the step in a variable of the block around it. */
GenerateValue *generate_new_output(GenerateStep *s, uint32_t i) {
  GenerateValue *value = generate_value(s->g, GENERATE_VARIABLE);
  if (value && i < s->step->output_count && s->step->outputs[i] != ONNX_NONE) {
    value->left = s->scope->body->uses[s->step->outputs[i]];
    s->scope->values[s->step->outputs[i]] = value;
  }
  return value;
}

/* What nobody reads is dropped. */
void generate_settle_output(Generator *g, GenerateValue *value) {
  value->left++;
  generate_used(g, value);
}

/* -- values of one name from two places ------------------------------------------------------------- */

void generate_take_longer_list(OnnxValue *value, const OnnxValue *other) {
  if (!value->list || !other->list || value->list->count >= other->list->count) return;
  onnx_value_release(value);
  *value = generate_copy(other);
}

/* Axes whose sizes differ between two values, as bits; all, with a reason, if no variable could hold both. */
uint32_t generate_unequal_axes(GenerateStep *s, GenerateValue *lhs, GenerateValue *rhs) {
  uint32_t axes = 0;
  for (uint32_t p = 0; p < s->g->probes; p++) {
    const OnnxValue *a = generate_probe(lhs, p), *b = generate_probe(rhs, p);
    if (!a->tensor && !b->tensor && a->list && b->list) continue;
    if (!a->tensor || !b->tensor) {
      generate_refuse(s, "a result that is a tensor once and a sequence once");
    } else if (burn_rank(a->tensor) != burn_rank(b->tensor) || burn_dtype(a->tensor) != burn_dtype(b->tensor)) {
      generate_refuse(s, "a result of one rank or dtype once and of another once");
    }
    if (s->reason[0]) return 0;
    for (uint32_t i = 0; i < burn_rank(a->tensor); i++) {
      if (burn_dim(a->tensor, (int)i) != burn_dim(b->tensor, (int)i)) axes |= 1u << i;
    }
  }
  return axes;
}

/* -- one round, run before it is written -------------------------------------------------------------------- */

/* Takes the contents of the inputs; gives the outputs. */
BurnStatus generate_run_body(GenerateStep *s, const OnnxBody *body, uint32_t probe, OnnxValue *inputs,
                             OnnxValue *outputs) {
  Generator *g = s->g;
  struct OnnxRun run = {.most_rounds = 4}; /* with zeros for data many a loop has no end */
  OnnxFrame outer = {.program = g->program,
                     .body = s->scope->body,
                     .step = s->step,
                     .values = calloc(s->scope->body->slot_count + 1, sizeof *outer.values),
                     .device = g->device,
                     .module = g->graph->fields,
                     .run = &run};
  for (uint32_t i = 0; i < body->input_count && !outer.values; i++) onnx_value_release(&inputs[i]);
  if (!outer.values) return generate_no_memory();
  for (uint32_t i = 0; i < body->capture_count; i++) {
    const uint32_t slot = body->capture_from[i];
    GenerateValue *value = generate_get(g, s->scope, slot);
    if (value) outer.values[slot] = *generate_probe(value, probe);
  }
  OnnxFrame frame = {.program = g->program,
                     .body = body,
                     .outer = &outer,
                     .device = g->device,
                     .module = g->graph->fields,
                     .run = &run};
  const BurnStatus status = onnx_run_body(&frame, inputs, outputs);
  free(outer.values);
  return status;
}
