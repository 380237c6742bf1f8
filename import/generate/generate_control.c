/* generate_control.c - If: the branch that shapes decide, or both where data do. */
#include "generate_block.h"

#include <burn/burn.h>

#include <stdlib.h>
#include <string.h>

/* -- If ------------------------------------------------------------------------------------------------ */

static const OnnxBody *branch_of(const GenerateStep *s, bool taken) {
  const Onnx__AttributeProto *graph = onnx_attribute(&s->node, taken ? "then_branch" : "else_branch");
  for (uint32_t i = 0; graph && i < s->step->body_count; i++) {
    if (s->step->bodies[i]->proto == graph->g) return s->step->bodies[i];
  }
  return NULL;
}

/* The branch that shapes decide, without a block. */
static BurnStatus write_branch(GenerateStep *s, const OnnxBody *body) {
  Generator *g = s->g;
  GenerateScope inner = {.body = body};
  inner.values = onnx_arena_take(&g->arena, body->slot_count + 1, sizeof *inner.values);
  inner.written = onnx_arena_take(&g->arena, body->step_count + 1, sizeof *inner.written);
  if (!inner.values || !inner.written) return generate_no_memory();
  for (uint32_t i = 0; i < body->capture_count; i++)
    generate_alias(&inner, body->capture_to[i], generate_get(g, s->scope, body->capture_from[i]));
  generate_release_captures(s);
  const BurnStatus status = generate_body(g, &inner);
  for (uint32_t i = 0; i < body->output_count && i < s->step->output_count && status == BURN_OK; i++) {
    GenerateValue *value = generate_get(g, &inner, body->outputs[i]);
    generate_alias(s->scope, s->step->outputs[i], value);
    generate_used(g, value);
  }
  g->report->specialized++;
  return status;
}

/* Both branches with what they give: values of the block, and then of the graph around it. */
typedef struct Branches {
  GenerateValue *results[2][ONNX_MAX_VALUES]; /* as they were before they were taken */
  GenerateValue *outputs[ONNX_MAX_VALUES];
  uint32_t count;
} Branches;

static BurnStatus write_one_of_two(GenerateStep *s, const OnnxBody *body, Branches *b, uint32_t which) {
  GenerateBlock block;
  BurnStatus status = generate_open_block(s, body, &block);
  if (status != BURN_OK) return status;
  status = generate_body(s->g, &block.scope);
  GenerateStep *outputs = status == BURN_OK ? generate_body_outputs(s->g, &block) : NULL;
  if (status == BURN_OK && !outputs) status = generate_no_memory();
  for (uint32_t i = 0; i < b->count && status == BURN_OK; i++) {
    GenerateValue *from = outputs->inputs[i], *kept = generate_value(s->g, GENERATE_VARIABLE);
    if (!from || !kept) {
      status = burn_status_make(BURN_STATUS_UNIMPLEMENTED, "a branch that gives nothing");
      continue;
    }
    for (uint32_t p = 0; p < s->g->probes; p++) kept->probes[p] = generate_copy(generate_probe(from, p));
    b->results[which][i] = kept;
    generate_line(s->g, "%s = %s;", b->outputs[i]->variable, generate_take_output(outputs, i));
  }
  if (outputs && outputs->reason[0]) generate_refuse(s, "%s", outputs->reason);
  free(outputs);
  generate_close_block(s->g, &block);
  return status;
}

/* The outputs, as either branch leaves them. */
static void join_branches(GenerateStep *s, Branches *b) {
  for (uint32_t i = 0; i < b->count && !s->reason[0]; i++) {
    GenerateValue *to = b->outputs[i], *one = b->results[0][i], *two = b->results[1][i];
    const uint32_t open = generate_unequal_axes(s, one, two);
    if (s->reason[0]) return;
    to->open_count = true;
    for (uint32_t p = 0; p < s->g->probes; p++) {
      to->probes[p] = generate_copy(&one->probes[p]);
      to->probes[p].scalar = one->probes[p].scalar && two->probes[p].scalar;
      generate_take_longer_list(&to->probes[p], &two->probes[p]);
    }
    if (!generate_is_sequence(to)) generate_open_axes(s, to, NULL, open);
  }
}

static void drop_results(Branches *b) {
  for (uint32_t i = 0; i < 2 * b->count; i++) {
    GenerateValue *value = b->results[i % 2][i / 2];
    for (uint32_t p = 0; value && p < GENERATE_PROBES; p++) onnx_value_release(&value->probes[p]);
  }
}

/* Variables for the outputs are declared before it is known what they are: the type is that of the first branch, which
 * a run tells. */
static BurnStatus declare_outputs(GenerateStep *s, Branches *b, const OnnxBody *body) {
  OnnxValue outputs[ONNX_MAX_VALUES] = {{0}};
  const BurnStatus status = generate_run_body(s, body, 0, NULL, outputs);
  for (uint32_t i = 0; i < b->count && status == BURN_OK; i++) {
    b->outputs[i] = generate_new_output(s, i);
    if (!b->outputs[i]) continue;
    b->outputs[i]->probes[0] = outputs[i]; /* borrowed for its type */
    b->outputs[i]->variable = generate_local(s->g, "x");
    generate_line(s->g, "%s%s;", generate_type(s->g, b->outputs[i]), b->outputs[i]->variable);
    b->outputs[i]->probes[0] = (OnnxValue){0};
  }
  for (uint32_t i = 0; i < body->output_count; i++) onnx_value_release(&outputs[i]);
  return status != BURN_OK || !s->g->failed ? status : generate_no_memory();
}

static BurnStatus write_both(GenerateStep *s, Branches *b) {
  Generator *g = s->g;
  const OnnxBody *bodies[2] = {branch_of(s, true), branch_of(s, false)};
  const bool fits = bodies[0] && bodies[1] && bodies[0]->output_count == bodies[1]->output_count &&
                    bodies[0]->output_count >= s->step->output_count && bodies[0]->output_count <= ONNX_MAX_VALUES;
  if (!fits)
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "branches of If that give unequal numbers of values");
  b->count = bodies[0]->output_count;
  BurnStatus status = declare_outputs(s, b, bodies[0]);
  if (status != BURN_OK) return status;
  g->uses_status = true;
  generate_support(g, GENERATE_SUPPORT_holds);
  generate_line(g, "if (holds(%s, &status)) {", generate_use(s, 0));
  status = write_one_of_two(s, bodies[0], b, 0);
  if (status != BURN_OK) return status;
  generate_line(g, "} else {");
  status = write_one_of_two(s, bodies[1], b, 1);
  if (status != BURN_OK) return status;
  generate_line(g, "}");
  generate_used(g, s->inputs[0]);
  generate_release_captures(s);
  join_branches(s, b);
  for (uint32_t i = 0; i < b->count && !s->reason[0]; i++) generate_settle_output(g, b->outputs[i]);
  return BURN_OK;
}

BurnStatus generate_if(GenerateStep *s) {
  GenerateValue *condition = s->inputs[0];
  double taken = 0;
  if (condition && condition->kind == GENERATE_CONSTANT &&
      burn_read_scalar(burn_clone(condition->probes[0].tensor), &taken) == BURN_OK) {
    const OnnxBody *body = branch_of(s, taken != 0);
    generate_used(s->g, condition);
    if (body) return write_branch(s, body);
  }
  if (!condition || condition->kind != GENERATE_VARIABLE || generate_is_sequence(condition)) {
    generate_refuse(s, "its condition is another for other sizes; give sizes");
    return BURN_OK;
  }
  Branches *b = calloc(1, sizeof *b);
  if (!b) return generate_no_memory();
  const BurnStatus status = write_both(s, b);
  drop_results(b);
  free(b);
  return status;
}
