/* onnx_graph.c - instances of graphs: their inputs, runs and weights. */
#include "onnx_graph.h"

#include "null_check.h"
#include "onnx_narrow.h"
#include "onnx_strings.h"

#include <burn/burn.h>
#include <burn/guess.h>

#include <stdlib.h>
#include <string.h>

/* -- instances --------------------------------------------------------------------------------- */

static BurnGraph *instance(OnnxProgram *program, BurnDevice *device) {
  BurnGraph *graph = calloc(1, sizeof *graph);
  OnnxField *fields = calloc(program->weight_count + 1, sizeof *fields);
  if (!graph || !fields) {
    free(graph);
    free(fields);
    return NULL;
  }
  *graph = (BurnGraph){.program = program, .device = device, .fields = fields};
  if (!onnx_graph_strings_init(graph)) {
    free(graph);
    free(fields);
    return NULL;
  }
  program->references++;
  return graph;
}

BurnGraph *onnx_graph_new(OnnxProgram *program, BurnDevice *device) {
  BurnGraph *graph = instance(program, device);
  for (uint32_t i = 0; graph && i < program->weight_count; i++) {
    BurnTensor *x = program->tensors[i];
    program->tensors[i] = NULL;
    if (program->weights[i].unused) {
      burn_drop(x);
      x = NULL;
    }
    if (program->weights[i].kind == ONNX_PARAMETER) graph->fields[i].parameter = burn_param(x);
    if (program->weights[i].kind == ONNX_BUFFER && x) graph->fields[i].buffer = burn_buffer(x);
    if (program->weights[i].kind == ONNX_CONSTANT) graph->fields[i].constant = burn_constant(x);
  }
  return graph;
}

BurnStatus onnx_no_graph(void) {
  return burn_status_make(BURN_STATUS_INVALID_ARGUMENT,
                          "onnx: there is no graph; the status of the call that should have loaded it says why");
}

BurnGraph *burn_graph_clone(const BurnGraph *graph) {
  if (!graph) return NULL;
  BurnGraph *copy = instance(graph->program, graph->device);
  if (!copy) return NULL;
  burn_module_clone((BurnModule){&graph->program->type, graph->fields}, copy->fields);
  copy->training = graph->training;
  return copy;
}

BurnGraph *burn_graph_fork(const BurnGraph *graph, BurnDevice *device) {
  if (!graph) return NULL;
  BurnGraph *copy = instance(graph->program, device);
  if (!copy) return NULL;
  burn_module_fork((BurnModule){&graph->program->type, graph->fields}, device, copy->fields);
  copy->training = graph->training;
  return copy;
}

void burn_graph_release(BurnGraph *graph) {
  if (!graph) return;
  burn_module_release((BurnModule){&graph->program->type, graph->fields});
  onnx_graph_strings_release(graph);
  free(graph->fields);
  onnx_program_release(graph->program);
  free(graph);
}

/* What no graph has: nothing to walk over, train or save. */
static const BurnType no_rows = {BURN_TYPE_MODULE, "BurnGraph", 0, 0, NULL, NULL, 0, NULL};

BurnModule burn_graph_module(BurnGraph *graph) {
  static char nothing;
  return graph ? (BurnModule){&graph->program->type, graph->fields} : (BurnModule){&no_rows, &nothing};
}

void burn_graph_set_training(BurnGraph *graph, bool training) {
  if (graph) graph->training = training;
}

BurnGraphStats burn_graph_stats(const BurnGraph *graph) {
  if (!graph) return (BurnGraphStats){.nodes = 0};
  return (BurnGraphStats){graph->program->nodes_in_file, graph->program->body->step_count, graph->program->folded,
                          graph->peak_bytes};
}

BurnStatus burn_graph_set_tensor(BurnGraph *graph, const char *name, BurnTensor *value) {
  if (!graph) {
    burn_drop(value);
    return onnx_no_graph();
  }
  const OnnxProgram *program = graph->program;
  BurnGuess guess = burn_guess(name);
  BurnStatus status = BURN_REQUIRED(name, "that of a tensor");
  if (status != BURN_OK) {
    burn_drop(value);
    return status;
  }
  status = burn_tensor_status(value);
  if (status != BURN_OK) {
    burn_drop(value);
    return burn_status_annotate(status, "%s: tensor '%s'", program->label, name);
  }
  for (uint32_t i = 0; i < program->weight_count; i++) {
    const OnnxWeight *weight = &program->weights[i];
    if (weight->kind == ONNX_CONSTANT || weight->unused) continue;
    burn_guess_add(&guess, weight->name);
    if (strcmp(weight->name, name) != 0) continue;
    if (weight->kind == ONNX_PARAMETER) {
      burn_param_set(&graph->fields[i].parameter, value);
    } else {
      burn_buffer_set(&graph->fields[i].buffer, value);
    }
    return BURN_OK;
  }
  burn_drop(value);
  return burn_status_make(BURN_STATUS_NOT_FOUND, "%s: there is no tensor '%s'.%s", program->label, name,
                          burn_guess_text(&guess));
}

/* -- inputs and outputs ------------------------------------------------------------------------- */

BurnGraphValue onnx_describe_value(const Onnx__ValueInfoProto *info) {
  BurnGraphValue value = {.name = info->name, .dtype = BURN_DTYPE_DEFAULT};
  const Onnx__TypeProto__Tensor *tensor = info->type ? info->type->tensor_type : NULL;
  if (!tensor) return value;
  value.dtype = onnx_narrow_dtype(tensor->elem_type);
  value.strings = tensor->elem_type == ONNX_STRING;
  if (!tensor->shape || tensor->shape->n_dim > BURN_MAX_RANK) return value;
  value.has_shape = true;
  value.rank = (uint32_t)tensor->shape->n_dim;
  for (uint32_t i = 0; i < value.rank; i++) {
    const Onnx__TensorShapeProto__Dimension *dim = tensor->shape->dim[i];
    value.dims[i] = dim->has_dim_value && dim->dim_value >= 0 ? dim->dim_value : -1;
    value.axes[i] = value.dims[i] < 0 && dim->dim_param[0] ? dim->dim_param : NULL;
  }
  return value;
}

static BurnGraphValue value_of(Onnx__ValueInfoProto *const *infos, size_t count, const char *name) {
  for (size_t i = 0; i < count; i++) {
    if (strcmp(infos[i]->name, name) == 0) return onnx_describe_value(infos[i]);
  }
  return (BurnGraphValue){.name = NULL};
}

size_t burn_graph_input_count(const BurnGraph *graph) { return graph ? graph->program->body->input_count : 0; }
size_t burn_graph_output_count(const BurnGraph *graph) { return graph ? graph->program->body->output_count : 0; }

BurnGraphValue burn_graph_input(const BurnGraph *graph, size_t index) {
  if (index >= burn_graph_input_count(graph)) return (BurnGraphValue){.name = NULL};
  const OnnxBody *body = graph->program->body;
  return value_of(body->proto->input, body->proto->n_input, body->slots[body->inputs[index]]);
}

BurnGraphValue burn_graph_output(const BurnGraph *graph, size_t index) {
  if (index >= burn_graph_output_count(graph)) return (BurnGraphValue){.name = NULL};
  const OnnxBody *body = graph->program->body;
  return onnx_describe_value(body->proto->output[index]);
}

/* -- runs -------------------------------------------------------------------------------------- */

bool onnx_shape_fits(const BurnGraphValue *value, BurnShape shape, bool free_batch) {
  if (!value->has_shape) return true;
  if (value->rank == 0) return shape.rank == 1 && shape.dims[0] == 1;
  bool same = shape.rank == value->rank;
  for (uint32_t i = free_batch ? 1 : 0; same && i < value->rank; i++)
    same = value->dims[i] < 0 || shape.dims[i] == value->dims[i];
  return same;
}

static bool fits(const BurnGraphValue *value, const BurnTensor *x, bool free_batch) {
  if (value->dtype != BURN_DTYPE_DEFAULT && burn_dtype(x) != value->dtype) return false;
  return onnx_shape_fits(value, burn_shape(x), free_batch);
}

/* An input of strings: they are set before, and no tensor is given. */
static BurnStatus check_strings(const BurnGraph *graph, size_t i, const char *name, const BurnTensor *x) {
  if (graph->strings[i] && !x) return BURN_OK;
  return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%s: input '%s' has strings: %s", graph->program->label, name,
                          x ? "NULL is expected in its place, and burn_graph_set_strings before"
                            : "none are set; see burn_graph_set_strings");
}

static const char *open_axes(const BurnGraphValue *value) {
  bool open = false;
  for (uint32_t k = 0; k < value->rank; k++) open = open || value->dims[k] < 0;
  return open ? " (-1: any size)" : "";
}

static BurnStatus check_input(const BurnGraph *graph, size_t i, const BurnTensor *x) {
  const BurnGraphValue value = burn_graph_input(graph, i);
  if (value.strings) return check_strings(graph, i, value.name, x);
  if (!x)
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%s: input '%s' is NULL", graph->program->label, value.name);
  const BurnStatus status = burn_tensor_status(x);
  if (status != BURN_OK) return burn_status_annotate(status, "%s: input '%s'", graph->program->label, value.name);
  if (fits(&value, x, graph->program->free_batch)) return BURN_OK;
  BurnShape wanted = {value.rank, {0}};
  for (uint32_t k = 0; k < value.rank; k++) wanted.dims[k] = value.dims[k];
  return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%s: input '%s' is %s %s, expected %s %s%s%s",
                          graph->program->label, value.name, burn_dtype_name(burn_dtype(x)),
                          burn_shape_text(burn_shape(x)).text, burn_dtype_name(value.dtype),
                          burn_shape_text(wanted).text, open_axes(&value),
                          fits(&value, x, true) ? "; with free_batch of BurnGraphOptions axis 0 has any size" : "");
}

int32_t onnx_input_narrow_type(const BurnGraph *graph, size_t i) {
  const OnnxBody *body = graph->program->body;
  for (size_t k = 0; k < body->proto->n_input; k++) {
    const Onnx__ValueInfoProto *info = body->proto->input[k];
    if (strcmp(info->name, body->slots[body->inputs[i]]) != 0 || !info->type || !info->type->tensor_type) continue;
    const int32_t type = info->type->tensor_type->elem_type;
    return onnx_dtype(type) == BURN_DTYPE_DEFAULT ? type : 0;
  }
  return 0;
}

/* Inputs are taken, whatever happens; outputs has room for all that the graph has. */
static BurnStatus run(BurnGraph *graph, BurnTensor *const *inputs, OnnxValue *outputs) {
  const OnnxBody *body = graph->program->body;
  OnnxValue *values = calloc(body->input_count + 1, sizeof *values);
  BurnStatus status = values ? BURN_OK : burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory");
  for (uint32_t i = 0; i < body->input_count; i++) {
    if (status == BURN_OK) status = check_input(graph, i, inputs[i]);
    const BurnGraphValue described = burn_graph_input(graph, i);
    const bool scalar = described.has_shape && described.rank == 0;
    if (values)
      values[i] = (OnnxValue){.tensor = inputs[i],
                              .scalar = scalar,
                              .type = described.strings ? 0 : onnx_input_narrow_type(graph, i),
                              .strings = onnx_strings_retain(graph->strings[i])};
    if (!values) burn_drop(inputs[i]);
  }
  struct OnnxRun run = {.training = graph->training};
  OnnxFrame frame = {
      .program = graph->program, .body = body, .device = graph->device, .module = graph->fields, .run = &run};
  if (status == BURN_OK) {
    status = onnx_run_body(&frame, values, outputs);
    graph->peak_bytes = run.peak;
  } else {
    for (uint32_t i = 0; values && i < body->input_count; i++) onnx_value_release(&values[i]);
  }
  free(values);
  return status;
}

/* Which tensor is output i of the graph: given out, or dropped. Strings stay with the graph. */
static BurnStatus give(BurnGraph *graph, OnnxValue *value, BurnTensor **to, size_t i, BurnStatus status) {
  if (status == BURN_OK && value->strings) {
    graph->results[i] = value->strings;
    value->strings = NULL;
    return status;
  }
  if (status == BURN_OK && !value->tensor) {
    status = burn_status_make(BURN_STATUS_UNIMPLEMENTED, "%s: output %zu is not a tensor", graph->program->label, i);
  }
  if (status == BURN_OK) {
    *to = value->tensor;
    value->tensor = NULL;
  }
  return status;
}

/* The names of inputs or outputs, for a message; the last ones are cut to the room there is. */
typedef struct SlotNames {
  char text[400];
} SlotNames;

static SlotNames names_of(const OnnxBody *body, const uint32_t *slots, uint32_t count) {
  SlotNames names = {""};
  size_t used = 0;
  for (uint32_t i = 0; i < count && used < sizeof names.text; i++) {
    const int length =
        snprintf(names.text + used, sizeof names.text - used, "%s'%.100s'", i ? ", " : "", body->slots[slots[i]]);
    used += length > 0 ? (size_t)length : 0;
  }
  return names;
}

/* "it has 1 input ('x'), not 0". */
static BurnStatus wrong_count(const BurnGraph *graph, const char *what, const uint32_t *slots, uint32_t has,
                              size_t given) {
  return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%s: it has %u %s%s%s%s%s, not %zu", graph->program->label, has,
                          what, has == 1 ? "" : "s", has ? " (" : "", names_of(graph->program->body, slots, has).text,
                          has ? ")" : "", given);
}

/* The end of a run that does not begin: it has taken its inputs all the same. */
static BurnStatus refuse_run(BurnTensor *const *inputs, size_t input_count, BurnStatus status) {
  for (size_t i = 0; i < input_count; i++) burn_drop(inputs[i]);
  return status;
}

BurnStatus burn_graph_run(BurnGraph *graph, BurnTensor *const *inputs, size_t input_count, BurnTensor **outputs,
                          size_t output_count) {
  BurnStatus given = input_count > 0 ? BURN_REQUIRED(inputs, "a list of BurnTensor *") : BURN_OK;
  if (given == BURN_OK && output_count > 0) given = BURN_REQUIRED(outputs, "room for BurnTensor *");
  for (size_t i = 0; i < output_count && outputs; i++) outputs[i] = NULL;
  if (given == BURN_OK && !graph) given = onnx_no_graph();
  if (given != BURN_OK) return refuse_run(inputs, inputs ? input_count : 0, given);
  const OnnxBody *body = graph->program->body;
  onnx_graph_forget_strings(graph);
  BurnStatus status = BURN_OK;
  if (output_count != body->output_count)
    status = wrong_count(graph, "output", body->outputs, body->output_count, output_count);
  if (input_count != body->input_count)
    status = wrong_count(graph, "input", body->inputs, body->input_count, input_count);
  if (status != BURN_OK) return refuse_run(inputs, input_count, status);
  OnnxValue *values = calloc(output_count + 1, sizeof *values);
  if (!values) return refuse_run(inputs, input_count, burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory"));
  status = run(graph, inputs, values);
  for (size_t i = 0; i < output_count; i++) status = give(graph, &values[i], &outputs[i], i, status);
  for (size_t i = 0; i < output_count; i++) {
    onnx_value_release(&values[i]);
    if (status != BURN_OK) burn_drop(outputs[i]);
    if (status != BURN_OK) outputs[i] = NULL;
  }
  free(values);
  if (status != BURN_OK) onnx_graph_forget_strings(graph);
  return status;
}

uint32_t onnx_find_slot(const OnnxBody *body, const uint32_t *slots, uint32_t count, const char *name) {
  for (uint32_t i = 0; i < count && name; i++) {
    if (strcmp(body->slots[slots[i]], name) == 0) return i;
  }
  return ONNX_NONE;
}

BurnStatus onnx_no_such_slot(const BurnGraph *graph, const char *what, const uint32_t *slots, uint32_t count,
                             const char *name) {
  BurnGuess guess = burn_guess(name);
  for (uint32_t i = 0; i < count; i++) burn_guess_add(&guess, graph->program->body->slots[slots[i]]);
  const SlotNames names = names_of(graph->program->body, slots, count);
  return burn_status_make(BURN_STATUS_NOT_FOUND, "%s: there is no %s '%s'.%s There are: %s", graph->program->label,
                          what, name ? name : "NULL", burn_guess_text(&guess), count ? names.text : "none");
}

/* Puts inputs into the order of the graph; each must be given once. `given` has room for all. */
static BurnStatus sort_inputs(const BurnGraph *graph, const char *const *names, BurnTensor *const *inputs, size_t count,
                              BurnTensor **sorted, bool *given) {
  const OnnxBody *body = graph->program->body;
  if (count != body->input_count) return wrong_count(graph, "input", body->inputs, body->input_count, count);
  for (size_t i = 0; i < count; i++) {
    const uint32_t at = onnx_find_slot(body, body->inputs, body->input_count, names[i]);
    if (at == ONNX_NONE) return onnx_no_such_slot(graph, "input", body->inputs, body->input_count, names[i]);
    if (given[at]) {
      return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%s: input '%s' was given twice", graph->program->label,
                              names[i]);
    }
    sorted[at] = inputs[i];
    given[at] = true;
  }
  return BURN_OK;
}

static BurnStatus named_given(const char *const *input_names, BurnTensor *const *inputs, size_t input_count,
                              const char *const *output_names, BurnTensor **outputs, size_t output_count) {
  const char *function = "graph_run_named";
  BurnStatus status = BURN_OK;
  if (input_count > 0) status = BURN_REQUIRED_BY(function, input_names, "a list of names");
  if (input_count > 0 && status == BURN_OK) status = BURN_REQUIRED_BY(function, inputs, "a list of BurnTensor *");
  if (output_count > 0 && status == BURN_OK) status = BURN_REQUIRED_BY(function, output_names, "a list of names");
  if (output_count > 0 && status == BURN_OK) status = BURN_REQUIRED_BY(function, outputs, "room for BurnTensor *");
  return status;
}

BurnStatus burn_graph_run_named(BurnGraph *graph, const char *const *input_names, BurnTensor *const *inputs,
                                size_t input_count, const char *const *output_names, BurnTensor **outputs,
                                size_t output_count) {
  BurnStatus status = named_given(input_names, inputs, input_count, output_names, outputs, output_count);
  for (size_t i = 0; i < output_count && outputs; i++) outputs[i] = NULL;
  if (status == BURN_OK && !graph) status = onnx_no_graph();
  if (status != BURN_OK) return refuse_run(inputs, inputs ? input_count : 0, status);
  const OnnxBody *body = graph->program->body;
  BurnTensor **sorted = calloc(body->input_count + 1, sizeof *sorted),
             **all = calloc(body->output_count + 1, sizeof *all);
  bool *given = calloc(body->input_count + 1, sizeof *given);
  status = sorted && all && given ? BURN_OK : burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory");
  for (size_t i = 0; i < output_count && status == BURN_OK; i++) {
    if (onnx_find_slot(body, body->outputs, body->output_count, output_names[i]) == ONNX_NONE) {
      status = onnx_no_such_slot(graph, "output", body->outputs, body->output_count, output_names[i]);
    }
  }
  if (status == BURN_OK) status = sort_inputs(graph, input_names, inputs, input_count, sorted, given);
  if (status == BURN_OK) {
    status = burn_graph_run(graph, sorted, body->input_count, all, body->output_count);
  } else {
    status = refuse_run(inputs, input_count, status);
  }
  for (size_t i = 0; i < output_count && status == BURN_OK; i++) {
    outputs[i] = burn_clone(all[onnx_find_slot(body, body->outputs, body->output_count, output_names[i])]);
  }
  for (uint32_t i = 0; all && i < body->output_count; i++) burn_drop(all[i]);
  free(sorted);
  free(given);
  free(all);
  return status;
}
