/* generate_walk.c - runs the steps of a graph and writes them, one after the other. */
#include "generate.h"

#include <burn/burn.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* -- values ------------------------------------------------------------------------------------ */

GenerateValue *generate_value(Generator *g, GenerateKind kind) {
  GenerateValue *value = onnx_arena_take(&g->arena, 1, sizeof *value);
  g->failed = g->failed || !value;
  if (!value) return NULL;
  value->kind = kind;
  value->made_before = g->values;
  g->values = value;
  return value;
}

GenerateValue *generate_weight_value(Generator *g, uint32_t weight) {
  if (g->weight_values[weight]) return g->weight_values[weight];
  const OnnxWeight *is = &g->program->weights[weight];
  const OnnxFrame frame = {.program = g->program, .module = g->graph->fields};
  GenerateValue *value = generate_value(g, GENERATE_CONSTANT);
  if (!value) return NULL;
  value->probes[0] = (OnnxValue){.tensor = onnx_weight_value(&frame, weight), .scalar = is->scalar, .type = is->type};
  value->weight = is->name;
  value->learned = is->kind == ONNX_PARAMETER;
  g->weight_values[weight] = value;
  return value;
}

static void drop_probes(GenerateValue *value) {
  for (uint32_t p = 0; p < GENERATE_PROBES; p++) onnx_value_release(&value->probes[p]);
}

static void free_variable(Generator *g, const char *name) {
  const size_t room = sizeof g->free_variables / sizeof g->free_variables[0];
  if (g->free_count < room) g->free_variables[g->free_count++] = name;
}

void generate_used(Generator *g, GenerateValue *value) {
  if (!value || value->left == 0 || --value->left > 0 || value->kind == GENERATE_CONSTANT) return;
  if (value->kind == GENERATE_VARIABLE && !value->moved) {
    const bool tensor = !generate_is_sequence(value);
    if (!tensor) generate_support(g, GENERATE_SUPPORT_sequence_drop);
    generate_line(g, tensor ? "burn_drop(%s);" : "sequence_drop(&%s);", value->variable);
    if (!value->is_input && tensor) free_variable(g, value->variable);
  }
  drop_probes(value);
}

GenerateValue *generate_get(Generator *g, const GenerateScope *scope, uint32_t slot) {
  const uint32_t weight = slot == ONNX_NONE ? ONNX_NONE : scope->body->weights[slot];
  if (weight != ONNX_NONE) return generate_weight_value(g, weight);
  return slot == ONNX_NONE ? NULL : scope->values[slot];
}

/* -- running a step ---------------------------------------------------------------------------- */

static void give_node_inputs(GenerateStep *s, uint32_t probe) {
  OnnxNode *node = &s->node;
  node->device = s->g->device;
  node->proto = s->step->proto;
  node->opset = s->step->opset;
  node->prepared = s->step->prepared;
  for (uint32_t i = 0; i < s->step->input_count; i++) {
    const GenerateValue *from = s->inputs[i];
    if (!from) continue;
    const OnnxValue *value = &from->probes[from->kind == GENERATE_CONSTANT ? 0 : probe];
    node->inputs[i] = value->tensor ? burn_clone(value->tensor) : NULL;
    node->scalar[i] = value->scalar;
    node->types[i] = value->type;
    node->lists[i] = onnx_list_retain(value->list);
  }
}

static BurnStatus run_probe(GenerateStep *s, uint32_t probe) {
  OnnxNode *node = &s->node;
  give_node_inputs(s, probe);
  const BurnStatus status = onnx_run_step(s->g->program, s->step, node);
  for (uint32_t i = 0; i < s->step->output_count && status == BURN_OK; i++) {
    if (!s->outputs[i]) continue;
    OnnxValue *value = &s->outputs[i]->probes[probe];
    *value = (OnnxValue){.tensor = node->outputs[i],
                         .scalar = node->output_rank[i] == ONNX_RANK_0,
                         .type = node->output_types[i],
                         .list = node->output_lists[i]};
    node->outputs[i] = NULL;
    node->output_lists[i] = NULL;
    if (node->output_strings[i]) generate_refuse(s, "strings are not written as C");
    if (!value->tensor && !value->list) generate_refuse(s, "a result is nothing");
    if (node->output_types[i]) generate_refuse(s, "there is no dtype %s", onnx_dtype_name(node->output_types[i]));
  }
  onnx_node_release(node);
  return status;
}

/* Sizes that the probes had, for the message of one that failed. */
static const char *sizes_text(Generator *g, uint32_t probe) {
  const char *text = "";
  for (uint32_t i = 0; i < g->symbol_count; i++) {
    text =
        generate_text(g, "%s%s%s=%lld", text, i ? "," : "", g->symbols[i].axis, (long long)g->symbols[i].sizes[probe]);
  }
  return text;
}

static BurnStatus run_probes(GenerateStep *s, uint32_t count) {
  for (uint32_t p = 0; p < count; p++) {
    const BurnStatus status = run_probe(s, p);
    if (status == BURN_OK) continue;
    if (s->g->symbol_count == 0) return status;
    return burn_status_annotate(status, "with sizes %s, of which some may not fit (say which do: --sizes)",
                                sizes_text(s->g, p));
  }
  return BURN_OK;
}

/* -- what a result is -------------------------------------------------------------------------- */

/* Random numbers are none that a file could hold. */
static bool repeats(const OnnxStep *step) {
  const char *op = step->op->name;
  return strncmp(op, "Random", 6) != 0 && strcmp(op, "Bernoulli") != 0 && strcmp(op, "Multinomial") != 0 &&
         strcmp(op, "Dropout") != 0;
}

/* Larger than what it is made of: a zero of any shape. That is code, not a tensor in the weights file. */
static bool is_large(const GenerateStep *s) {
  int64_t in = GENERATE_SHAPE_MAX, out = 0;
  for (uint32_t i = 0; i < s->step->input_count; i++) {
    if (s->inputs[i] && s->inputs[i]->probes[0].tensor) in += burn_element_count(s->inputs[i]->probes[0].tensor);
  }
  for (uint32_t i = 0; i < s->step->output_count; i++) {
    if (s->outputs[i] && s->outputs[i]->probes[0].tensor) out += burn_element_count(s->outputs[i]->probes[0].tensor);
  }
  return out > in;
}

/* A sequence is not a tensor, which a file could hold. */
static bool makes_sequence(const OnnxStep *step) {
  const char *op = step->op->name;
  return strncmp(op, "Sequence", 8) == 0 || strcmp(op, "SplitToSequence") == 0;
}

static GenerateKind kind_of_inputs(const GenerateStep *s) {
  GenerateKind kind = repeats(s->step) && !makes_sequence(s->step) ? GENERATE_CONSTANT : GENERATE_VARIABLE;
  const bool of_shape = strcmp(s->step->op->name, "Shape") == 0 || strcmp(s->step->op->name, "Size") == 0;
  for (uint32_t i = 0; i < s->step->input_count; i++) {
    if (s->inputs[i] && s->inputs[i]->kind > kind) kind = s->inputs[i]->kind;
  }
  return of_shape && kind == GENERATE_VARIABLE ? GENERATE_SHAPE : kind;
}

static bool same_probes(const Generator *g, const GenerateValue *value) {
  double first[GENERATE_SHAPE_MAX], other[GENERATE_SHAPE_MAX];
  const size_t count = (size_t)burn_element_count(value->probes[0].tensor);
  if (count > GENERATE_SHAPE_MAX || burn_read_f64(burn_clone(value->probes[0].tensor), first, count) != BURN_OK)
    return false;
  for (uint32_t p = 1; p < g->probes; p++) {
    if ((size_t)burn_element_count(value->probes[p].tensor) != count) return false;
    if (burn_read_f64(burn_clone(value->probes[p].tensor), other, count) != BURN_OK) return false;
    if (memcmp(first, other, count * sizeof *first) != 0) return false;
  }
  return true;
}

/* Few integers, also such as a graph keeps in floats for a while. */
static bool is_small_integer(const Generator *g, const GenerateValue *value) {
  double elements[GENERATE_SHAPE_MAX];
  const size_t count = (size_t)burn_element_count(value->probes[0].tensor);
  for (uint32_t p = 0; p < g->probes; p++) {
    const BurnTensor *x = value->probes[p].tensor;
    if ((size_t)burn_element_count(x) != count || count > GENERATE_SHAPE_MAX) return false;
    if (burn_read_f64(burn_clone(x), elements, count) != BURN_OK) return false;
    for (size_t i = 0; i < count; i++) {
      if (!(elements[i] == floor(elements[i])) || fabs(elements[i]) > 1e15) return false;
    }
  }
  return true;
}

/* A result that follows from shapes: the same for all sizes, small integers, or else a tensor that is computed. */
static GenerateKind settle(const Generator *g, const GenerateValue *value) {
  if (same_probes(g, value)) return GENERATE_CONSTANT;
  return is_small_integer(g, value) ? GENERATE_SHAPE : GENERATE_VARIABLE;
}

/* A constant, of which there is the first probe only, as the result of a statement. */
static void compute_later(const Generator *g, GenerateValue *value) {
  value->kind = GENERATE_VARIABLE;
  for (uint32_t p = 1; p < g->probes; p++) {
    if (value->probes[p].tensor) continue;
    value->probes[p] = value->probes[0];
    value->probes[p].tensor = burn_clone(value->probes[0].tensor);
  }
}

/* Whether nothing is left to compute. If anything is, all results come from the statement. */
static bool settle_outputs(GenerateStep *s) {
  GenerateKind kind = GENERATE_CONSTANT;
  for (uint32_t i = 0; i < s->step->output_count; i++) {
    GenerateValue *value = s->outputs[i];
    if (!value) continue;
    if (value->kind == GENERATE_SHAPE) value->kind = settle(s->g, value);
    if (value->kind == GENERATE_CONSTANT && is_large(s)) compute_later(s->g, value);
    if (value->kind > kind) kind = value->kind;
  }
  for (uint32_t i = 0; i < s->step->output_count && kind == GENERATE_VARIABLE; i++) {
    if (s->outputs[i] && s->outputs[i]->kind != GENERATE_VARIABLE) compute_later(s->g, s->outputs[i]);
  }
  return kind != GENERATE_VARIABLE;
}

/* -- a step ------------------------------------------------------------------------------------ */

void generate_note_refused(GenerateStep *s) {
  Generator *g = s->g;
  const char *op = s->step->op->name;
  for (uint32_t i = 0; i < g->refused_count; i++) {
    if (strcmp(g->refused[i].op, op) != 0 || strcmp(g->refused[i].reason, s->reason) != 0) continue;
    g->refused[i].count++;
    return;
  }
  const char *node = s->step->proto->name && s->step->proto->name[0] ? s->step->proto->name : "without a name";
  if (g->refused_count == ONNX_MAX_UNSUPPORTED) return;
  g->refused[g->refused_count++] =
      (struct GenerateRefusal){op, generate_text(g, "%s", s->reason), generate_text(g, "%.80s", node), 1};
}

/* A variable that later steps can read, though this one is not written. */
static void name_outputs(GenerateStep *s) {
  for (uint32_t i = 0; i < s->step->output_count; i++) {
    GenerateValue *value = s->outputs[i];
    if (value && value->kind == GENERATE_VARIABLE && !value->variable) value->variable = "x";
  }
}

static void finish_step(GenerateStep *s) {
  Generator *g = s->g;
  for (uint32_t i = 0; i < s->step->input_count; i++) generate_used(g, s->inputs[i]);
  for (uint32_t i = 0; i < s->moved_count; i++) free_variable(g, s->moved[i]);
  for (uint32_t i = 0; i < s->step->output_count; i++) {
    if (!s->outputs[i]) continue;
    s->outputs[i]->left++; /* as if this step had read it */
    generate_used(g, s->outputs[i]);
  }
}

static void write_step(GenerateStep *s) {
  const GenerateOperator *op = generate_find(s->step->op->name);
  if (!op) generate_refuse(s, "it is not written as C yet");
  if (!s->reason[0]) op->write(s, op->argument);
  if (s->reason[0]) generate_note_refused(s);
  name_outputs(s);
}

static BurnStatus no_memory(void) { return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for the code"); }

static BurnStatus walk_step(GenerateStep *s) {
  const GenerateKind kind = kind_of_inputs(s);
  for (uint32_t i = 0; i < s->step->output_count; i++) {
    const uint32_t slot = s->step->outputs[i];
    if (slot == ONNX_NONE) continue;
    s->outputs[i] = generate_value(s->g, kind);
    if (!s->outputs[i]) return no_memory();
    s->outputs[i]->left = s->scope->body->uses[slot];
    s->scope->values[slot] = s->outputs[i];
  }
  const BurnStatus status = run_probes(s, kind == GENERATE_CONSTANT ? 1 : s->g->probes);
  if (status != BURN_OK) return status;
  if (!settle_outputs(s)) write_step(s);
  finish_step(s);
  return s->g->failed ? no_memory() : BURN_OK;
}

/* -- steps that only give other names ------------------------------------------------------------ */

void generate_alias(GenerateScope *scope, uint32_t slot, GenerateValue *value) {
  if (slot == ONNX_NONE || !value) return;
  value->left += scope->body->uses[slot];
  scope->values[slot] = value;
}

static bool is_alias(const GenerateStep *s) {
  const char *op = s->step->op->name;
  const bool dropout = strcmp(op, "Dropout") == 0 && !onnx_int(&s->node, "training_mode", 0);
  const bool mask = s->step->output_count > 1 && s->step->outputs[1] != ONNX_NONE;
  const int64_t dtype = onnx_dtype(onnx_int(&s->node, "to", 0));
  const bool tensor = s->inputs[0] && s->inputs[0]->probes[0].tensor;
  const bool cast =
      strcmp(op, "Cast") == 0 && tensor && !s->inputs[0]->probes[0].type && dtype == generate_dtype(s->inputs[0]);
  return s->inputs[0] && (strcmp(op, "Identity") == 0 || (dropout && !mask) || cast);
}

static BurnStatus walk_alias(GenerateStep *s, GenerateValue *value) {
  generate_alias(s->scope, s->step->outputs[0], value);
  finish_step(s);
  return BURN_OK;
}

/* The value that a step before this one has computed for both. */
static GenerateValue *written_before(const GenerateStep *s) {
  for (uint32_t i = 0; i < s->step->input_count; i++) {
    if (s->inputs[i] && s->inputs[i]->kind == GENERATE_VARIABLE) return s->inputs[i];
  }
  return NULL;
}

/* -- a graph ------------------------------------------------------------------------------------- */

static BurnStatus walk_bodies(GenerateStep *s) {
  const char *op = s->step->op->name;
  BurnStatus status = BURN_OK;
  if (strcmp(op, "If") == 0) status = generate_if(s);
  if (strcmp(op, "Loop") == 0) status = generate_loop(s);
  if (strcmp(op, "Scan") == 0) status = generate_scan(s);
  if (strcmp(op, "SequenceMap") == 0) generate_refuse(s, "it is not written as C yet");
  if (!s->reason[0]) return status;
  generate_note_refused(s);
  return burn_status_make(BURN_STATUS_UNIMPLEMENTED, "a body that is not written");
}

static BurnStatus walk(GenerateStep *s) {
  Generator *g = s->g;
  if (g->options->progress && g->done % 64 == 0) g->options->progress(g->options->context, g->done, g->total);
  g->done++;
  s->node.proto = s->step->proto;
  s->node.opset = s->step->opset;
  s->node.prepared = s->step->prepared;
  for (uint32_t i = 0; i < s->step->input_count; i++) s->inputs[i] = generate_get(g, s->scope, s->step->inputs[i]);
  if (s->step->body_count > 0) return walk_bodies(s);
  g->report->steps++;
  if (s->scope->written[s->index]) return walk_alias(s, written_before(s));
  return is_alias(s) ? walk_alias(s, s->inputs[0]) : walk_step(s);
}

BurnStatus generate_body(Generator *g, GenerateScope *scope) {
  GenerateStep *s = malloc(sizeof *s);
  BurnStatus status = s ? BURN_OK : no_memory();
  for (uint32_t i = 0; i < scope->body->step_count && status == BURN_OK; i++) {
    memset(s, 0, sizeof *s);
    s->g = g;
    s->scope = scope;
    s->step = &scope->body->steps[i];
    s->index = i;
    status = walk(s);
  }
  free(s);
  return status;
}

const OnnxStep *generate_reader(const GenerateStep *s, uint32_t output, const char *op, uint32_t *index) {
  const OnnxBody *body = s->scope->body;
  const uint32_t slot = s->step->outputs[output];
  if (slot == ONNX_NONE || body->uses[slot] != 1) return NULL;
  for (uint32_t k = s->index + 1; k < body->step_count && k < s->index + 16; k++) {
    const OnnxStep *step = &body->steps[k];
    for (uint32_t i = 0; i < step->input_count; i++) {
      if (step->inputs[i] != slot) continue;
      *index = k;
      return strcmp(step->op->name, op) == 0 ? step : NULL;
    }
  }
  return NULL;
}
