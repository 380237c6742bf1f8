/* generate.c - a model as C: loaded, run and written step by step, then put into files. */
#include "generate.h"

#include "../onnx/onnx_narrow.h"
#include "path_check.h"

#include <burn/burn.h>
#include <burn/text.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- inputs -------------------------------------------------------------------------------------- */

static GenerateSymbol *symbol_of(Generator *g, const char *axis, const char *input, uint32_t dim) {
  for (uint32_t i = 0; i < g->symbol_count; i++) {
    if (strcmp(g->symbols[i].axis, axis) == 0) return &g->symbols[i];
  }
  return generate_symbol(g, axis, axis, generate_text(g, "burn_dim(%s, %u)", input, dim));
}

/* The sizes of axis `i` of an input in all probes. */
static BurnStatus axis_sizes(Generator *g, const BurnGraphValue *input, const char *name, uint32_t i, int64_t *sizes) {
  const char *axis = generate_axis_name(g, input, i);
  int64_t fixed = input->dims[i];
  if (fixed < 0) (void)generate_given(g, axis, &fixed);
  const GenerateSymbol *symbol = fixed < 0 ? symbol_of(g, axis, name, i) : NULL;
  if (fixed < 0 && !symbol)
    return burn_status_make(BURN_STATUS_OUT_OF_RANGE, "more than %d axes of any size; give sizes", GENERATE_SIZES);
  for (uint32_t p = 0; p < GENERATE_PROBES; p++) sizes[p] = symbol ? symbol->sizes[p] : fixed;
  return BURN_OK;
}

/* Zeros, or the number that the options give. */
static BurnTensor *probe_input(Generator *g, const BurnGraphValue *input, BurnShape shape) {
  int64_t number = 0;
  (void)generate_given(g, input->name, &number);
  int64_t elements = 1;
  for (uint32_t i = 0; i < shape.rank; i++) {
    elements =
        shape.dims[i] > 0 && elements > GENERATE_INPUT_MAX / shape.dims[i] ? INT64_MAX : elements * shape.dims[i];
    if (elements == INT64_MAX)
      return burn_tensor_failed(
          burn_status_make(BURN_STATUS_OUT_OF_RANGE, "input '%s' is larger than 2^28 elements", input->name));
  }
  return burn_full(g->device, shape, input->dtype, (double)number);
}

static BurnStatus make_input(Generator *g, GenerateScope *scope, uint32_t i) {
  const BurnGraphValue input = burn_graph_input(g->graph, i);
  const uint32_t slot = scope->body->inputs[i];
  if (input.strings)
    return burn_status_make(BURN_STATUS_UNIMPLEMENTED, "input '%s': strings are not written as C", input.name);
  if (!input.has_shape || input.dtype == BURN_DTYPE_DEFAULT)
    return burn_status_make(BURN_STATUS_UNIMPLEMENTED, "input '%s' is not a tensor of known rank and dtype",
                            input.name);
  GenerateValue *value = generate_value(g, GENERATE_VARIABLE);
  const char *name = generate_local(g, input.name);
  if (!value) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory");
  value->variable = g->input_names[i] = name;
  value->is_input = true;
  value->left = scope->body->uses[slot];
  scope->values[slot] = value;
  BurnShape shapes[GENERATE_PROBES] = {{.rank = input.rank ? input.rank : 1, .dims = {1}}};
  for (uint32_t p = 1; p < GENERATE_PROBES; p++) shapes[p] = shapes[0];
  for (uint32_t k = 0; k < input.rank; k++) {
    int64_t sizes[GENERATE_PROBES];
    const BurnStatus status = axis_sizes(g, &input, name, k, sizes);
    if (status != BURN_OK) return status;
    for (uint32_t p = 0; p < GENERATE_PROBES; p++) shapes[p].dims[k] = sizes[p];
  }
  for (uint32_t p = 0; p < GENERATE_PROBES; p++) {
    value->probes[p] = (OnnxValue){.tensor = probe_input(g, &input, shapes[p]),
                                   .scalar = input.rank == 0,
                                   .type = onnx_input_narrow_type(g->graph, i)};
    const BurnStatus status = burn_tensor_status(value->probes[p].tensor);
    if (status != BURN_OK) return status;
  }
  return BURN_OK;
}

/* Once all axes are known. */
static void describe_input(Generator *g, const GenerateScope *scope, uint32_t i) {
  const GenerateValue *value = scope->values[scope->body->inputs[i]];
  g->input_texts[i] =
      generate_text(g, "%s, %s", generate_shape_comment(g, value), burn_dtype_name(generate_dtype(value)));
}

/* What a body leaves may have sizes of its own. */
static bool has_bodies(const OnnxProgram *program) {
  for (uint32_t i = 0; i < program->body->step_count; i++) {
    if (program->body->steps[i].body_count > 0) return true;
  }
  return false;
}

BurnStatus generate_inputs(Generator *g, GenerateScope *scope) {
  for (uint32_t i = 0; i < scope->body->input_count; i++) {
    const BurnStatus status = make_input(g, scope, i);
    if (status != BURN_OK) return status;
  }
  g->probes = g->symbol_count > 0 || has_bodies(g->program) ? GENERATE_PROBES : 1;
  for (uint32_t i = 0; i < g->symbol_count; i++) generate_declare_symbol(g, &g->symbols[i]);
  for (uint32_t i = 0; i < scope->body->input_count; i++) {
    GenerateValue *value = scope->values[scope->body->inputs[i]];
    describe_input(g, scope, i);
    value->left++;
    generate_used(g, value);
  }
  return BURN_OK;
}

/* -- outputs ------------------------------------------------------------------------------------- */

static GenerateValue *output_value(Generator *g, const GenerateScope *scope, uint32_t slot) {
  const uint32_t weight = scope->body->weights[slot];
  return weight == ONNX_NONE ? scope->values[slot] : generate_weight_value(g, weight);
}

static BurnStatus make_outputs(Generator *g, GenerateScope *scope) {
  GenerateStep *s = calloc(1, sizeof *s);
  OnnxStep all = {.input_count = scope->body->output_count};
  if (!s || all.input_count > ONNX_MAX_VALUES) {
    free(s);
    return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for %u outputs", all.input_count);
  }
  s->g = g;
  s->scope = scope;
  s->step = &all;
  for (uint32_t i = 0; i < all.input_count; i++) {
    s->inputs[i] = output_value(g, scope, scope->body->outputs[i]);
    g->output_names[i] = generate_name(g, 0, scope->body->slots[scope->body->outputs[i]], "output");
  }
  for (uint32_t i = 0; i < all.input_count; i++) {
    if (!s->inputs[i] || generate_is_sequence(s->inputs[i])) generate_refuse(s, "it is a sequence or nothing");
    g->outputs[i] = generate_use(s, i);
    if (s->inputs[i] && s->inputs[i]->left > 0) s->inputs[i]->left--; /* the last one takes the variable */
  }
  for (uint32_t i = 0; i < all.input_count && g->uses_status; i++) {
    generate_support(g, GENERATE_SUPPORT_checked);
    g->outputs[i] = generate_text(g, "checked(%s, status)", g->outputs[i]);
  }
  const bool refused = s->reason[0];
  const BurnStatus status = refused ? burn_status_make(BURN_STATUS_UNIMPLEMENTED, "an output: %s", s->reason) : BURN_OK;
  free(s);
  return status;
}

/* -- all ------------------------------------------------------------------------------------------ */

static BurnStatus refusal(const Generator *g) {
  BurnTextBuilder text = BURN_TEXT_BUILDER;
  for (uint32_t i = 0; i < g->refused_count; i++) {
    const uint32_t count = g->refused[i].count;
    burn__text_addf(&text, "\n  %s (%u node%s: %s%s): %s", g->refused[i].op, count, count == 1 ? "" : "s",
                    g->refused[i].node, count == 1 ? "" : ", ..", g->refused[i].reason);
  }
  char *list = burn__text_finish(&text);
  const BurnStatus status =
      burn_status_make(BURN_STATUS_UNIMPLEMENTED, "%s: %u kind%s of nodes cannot be written as C:%s", g->program->label,
                       g->refused_count, g->refused_count == 1 ? "" : "s", list ? list : "");
  free(list);
  return status;
}

static BurnStatus refuse_strings(const OnnxProgram *program) {
  for (uint32_t i = 0; i < program->weight_count; i++) {
    if (!program->weights[i].strings || program->weights[i].unused) continue;
    return burn_status_make(BURN_STATUS_UNIMPLEMENTED, "'%s': strings are not written as C", program->weights[i].name);
  }
  return BURN_OK;
}

static BurnStatus write_graph(Generator *g, GenerateScope *scope) {
  const OnnxBody *body = scope->body;
  g->input_names = onnx_arena_take(&g->arena, body->input_count + 1, sizeof *g->input_names);
  g->input_texts = onnx_arena_take(&g->arena, body->input_count + 1, sizeof *g->input_texts);
  g->output_names = onnx_arena_take(&g->arena, body->output_count + 1, sizeof *g->output_names);
  g->outputs = onnx_arena_take(&g->arena, body->output_count + 1, sizeof *g->outputs);
  g->weight_values = onnx_arena_take(&g->arena, g->program->weight_count + 1, sizeof *g->weight_values);
  scope->values = onnx_arena_take(&g->arena, body->slot_count + 1, sizeof *scope->values);
  scope->written = onnx_arena_take(&g->arena, body->step_count + 1, sizeof *scope->written);
  if (!g->input_names || !g->input_texts || !g->output_names || !g->outputs || !g->weight_values || !scope->values ||
      !scope->written)
    return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory");
  if (body->input_count == 0)
    return burn_status_make(BURN_STATUS_UNIMPLEMENTED, "%s: a model without inputs is a constant", g->program->label);
  g->total = body->step_count;
  BurnStatus status = refuse_strings(g->program);
  if (status == BURN_OK) status = generate_check_sizes(g);
  if (status == BURN_OK) status = generate_inputs(g, scope);
  if (status == BURN_OK) status = generate_body(g, scope);
  if (g->refused_count > 0) return refusal(g);
  return status == BURN_OK ? make_outputs(g, scope) : status;
}

static void release(Generator *g) {
  for (GenerateValue *value = g->values; value; value = value->made_before) {
    for (uint32_t p = 0; p < GENERATE_PROBES; p++) onnx_value_release(&value->probes[p]);
  }
  for (GenerateWeight *weight = g->weights; weight; weight = weight->before) burn_drop(weight->tensor);
  burn__text_release(&g->forward);
  onnx_names_release(&g->taken[0]);
  onnx_names_release(&g->taken[1]);
  onnx_arena_release(&g->arena);
}

/* "models/silero-vad/model.onnx" -> "model" */
static const char *file_name(Generator *g, const char *path) {
  const char *name = path;
  for (const char *c = path; *c; c++) {
    if (*c == '/' || *c == '\\') name = c + 1;
  }
  const char *dot = strrchr(name, '.');
  return generate_text(g, "%.*s", dot ? (int)(dot - name) : (int)strlen(name), name);
}

BurnStatus burn_onnx_generate(const char *path, const char *folder, BurnDevice *device,
                              const BurnGenerateOptions *options, BurnGenerateReport *report) {
  static const BurnGenerateOptions usual = {0};
  const BurnGraphOptions load = {.weights = BURN_GRAPH_WEIGHTS_KEPT};
  BurnGenerateReport unread;
  BurnStatus status = BURN_OK;
  Generator g = {.device = device,
                 .options = options ? options : &usual,
                 .report = report ? report : &unread,
                 .forward = BURN_TEXT_BUILDER};
  *g.report = (BurnGenerateReport){.name = ""};
  status = burn__path_check("generate", folder);
  g.graph = burn_onnx_load_with(path, device, &load, &status); /* which does nothing after a failure */
  if (!g.graph) return status;
  g.program = g.graph->program;
  GenerateScope scope = {.body = g.program->body};
  generate_model_names(&g, g.options->name ? g.options->name : file_name(&g, path));
  status = write_graph(&g, &scope);
  if (status == BURN_OK) status = generate_files(&g, folder);
  if (status == BURN_OK && g.failed) status = burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for the code");
  release(&g);
  burn_graph_release(g.graph);
  return status;
}
