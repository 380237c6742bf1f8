/* onnx_case.c - reads a case, applies the mapping of its node, and compares. */
#include "onnx_case.h"

#include "onnx_graph.h"
#include "onnx_narrow.h"
#include "onnx_strings.h"
#include "onnx_value.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- files ------------------------------------------------------------------------------------ */

typedef struct Bytes {
  uint8_t *data;
  size_t size;
} Bytes;

static Bytes read_file(const char *path) {
  Bytes bytes = {NULL, 0};
  FILE *file = fopen(path, "rb");
  if (!file) return bytes;
  if (fseek(file, 0, SEEK_END) == 0) {
    const long size = ftell(file);
    rewind(file);
    bytes.data = size >= 0 ? malloc((size_t)size + 1) : NULL;
    if (bytes.data) bytes.size = fread(bytes.data, 1, (size_t)size, file);
  }
  fclose(file);
  return bytes;
}

typedef struct Case {
  char folder[512];
  Onnx__ModelProto *model;
  const Onnx__NodeProto *node;
  OnnxOutcome outcome;
} Case;

static void end(Case *c, OnnxResult result, const char *format, ...) BURN_PRINTF(3, 4);
static void end(Case *c, OnnxResult result, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(c->outcome.reason, sizeof c->outcome.reason, format, arguments);
  va_end(arguments);
  c->outcome.result = result;
}

static bool read_model(Case *c) {
  char path[600];
  snprintf(path, sizeof path, "%s/model.onnx", c->folder);
  const Bytes bytes = read_file(path);
  if (bytes.data) c->model = onnx__model_proto__unpack(NULL, bytes.size, bytes.data);
  free(bytes.data);
  if (!c->model || !c->model->graph || c->model->graph->n_node == 0) {
    end(c, ONNX_FAILED, "%s is not a model with a node", path);
    return false;
  }
  c->node = c->model->graph->node[0];
  onnx_operator_name(c->node, c->outcome.op, sizeof c->outcome.op);
  return true;
}

/* A failed tensor where the strings cannot be read. */
static OnnxValue strings_value(const Onnx__TensorProto *proto) {
  BurnStatus status = BURN_OK;
  OnnxValue value = {.strings = onnx_strings_of(proto, &status), .scalar = proto->n_dims == 0};
  if (!value.strings) value.tensor = burn_tensor_failed(status);
  return value;
}

static OnnxValue tensor_value(BurnDevice *device, const Onnx__TensorProto *proto) {
  if (proto->data_type == ONNX_STRING) return strings_value(proto);
  return (OnnxValue){.tensor = onnx_narrow_tensor(device, proto),
                     .scalar = proto->n_dims == 0,
                     .type = onnx_dtype(proto->data_type) == BURN_DTYPE_DEFAULT ? proto->data_type : 0};
}

static OnnxValue list_value(BurnDevice *device, const Onnx__SequenceProto *proto) {
  OnnxValue value = {.list = onnx_list_new(proto->n_tensor_values)};
  for (size_t i = 0; value.list && i < value.list->count; i++) {
    onnx_put_item(value.list, i, tensor_value(device, proto->tensor_values[i]));
  }
  return value;
}

/* The message of a file as a value of the type that the model gives it. False if it is none. */
static bool parse_value(BurnDevice *device, const Onnx__TypeProto *type, Bytes bytes, OnnxValue *value) {
  if (type->tensor_type) {
    Onnx__TensorProto *proto = onnx__tensor_proto__unpack(NULL, bytes.size, bytes.data);
    if (proto) *value = tensor_value(device, proto);
    if (proto) onnx__tensor_proto__free_unpacked(proto, NULL);
    return proto != NULL;
  }
  if (type->sequence_type) {
    Onnx__SequenceProto *proto = onnx__sequence_proto__unpack(NULL, bytes.size, bytes.data);
    if (proto) *value = list_value(device, proto);
    if (proto) onnx__sequence_proto__free_unpacked(proto, NULL);
    return proto != NULL;
  }
  Onnx__OptionalProto *proto = onnx__optional_proto__unpack(NULL, bytes.size, bytes.data);
  if (proto && proto->tensor_value) *value = tensor_value(device, proto->tensor_value);
  if (proto && proto->sequence_value) *value = list_value(device, proto->sequence_value);
  if (proto) onnx__optional_proto__free_unpacked(proto, NULL);
  return proto != NULL;
}

/* What test_data_set_0/<kind>_<i>.pb holds; false, with the outcome set, if it cannot be had. */
static bool read_value(Case *c, BurnDevice *device, const char *kind, size_t i, OnnxValue *value) {
  char path[600];
  const Onnx__GraphProto *graph = c->model->graph;
  const bool is_input = strcmp(kind, "input") == 0;
  const Onnx__TypeProto *type =
      i >= (is_input ? graph->n_input : graph->n_output) ? NULL : (is_input ? graph->input : graph->output)[i]->type;
  *value = (OnnxValue){0};
  snprintf(path, sizeof path, "%s/test_data_set_0/%s_%zu.pb", c->folder, kind, i);
  Bytes bytes = read_file(path);
  const bool read = type && bytes.data && parse_value(device, type, bytes, value);
  free(bytes.data);
  if (!read) end(c, ONNX_FAILED, "%s cannot be read", path);
  if (!read || !value->tensor || burn_tensor_status(value->tensor) == BURN_OK) return read;
  end(c, ONNX_FAILED, "%s_%zu: %s", kind, i, burn_status_message(burn_tensor_status(value->tensor)));
  onnx_value_release(value);
  return false;
}

/* -- what cannot be mapped before looking closer ---------------------------------------------- */

static bool values_exist(Case *c, Onnx__ValueInfoProto *const *values, size_t count) {
  for (size_t i = 0; i < count; i++) {
    const Onnx__TypeProto *type = values[i]->type;
    if (type && type->tensor_type && type->tensor_type->elem_type == ONNX_STRING) continue;
    if (type && type->tensor_type && onnx_narrow_dtype(type->tensor_type->elem_type) == BURN_DTYPE_DEFAULT) {
      end(c, ONNX_NOT_MAPPED, "there is no dtype %s here", onnx_dtype_name(type->tensor_type->elem_type));
      return false;
    }
  }
  return true;
}

static const OnnxOperator *mappable(Case *c) {
  const OnnxOperator *op = onnx_find_operator(c->outcome.op);
  if (!op) {
    end(c, ONNX_FAILED, "operator %s is not in onnx_ops.def", c->outcome.op);
    return NULL;
  }
  if (!op->map) {
    end(c, ONNX_NOT_MAPPED, "%s", op->reason);
    return NULL;
  }
  const Onnx__GraphProto *graph = c->model->graph;
  return values_exist(c, graph->input, graph->n_input) && values_exist(c, graph->output, graph->n_output) ? op : NULL;
}

/* -- comparing -------------------------------------------------------------------------------- */

/* Outputs drawn at random: ONNX has only their shape and dtype to compare. */
static bool is_random(const char *name) {
  static const char *const cases[] = {"test_bernoulli",
                                      "test_bernoulli_double",
                                      "test_bernoulli_seed",
                                      "test_training_dropout",
                                      "test_training_dropout_default",
                                      "test_training_dropout_mask",
                                      "test_training_dropout_default_mask"};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const size_t length = strlen(cases[i]);
    if (strncmp(cases[i], name, length) == 0 && (!name[length] || strncmp(name + length, "_expanded", 9) == 0))
      return true;
  }
  return false;
}

static bool same_shape(BurnShape a, BurnShape b) {
  return a.rank == b.rank && memcmp(a.dims, b.dims, a.rank * sizeof a.dims[0]) == 0;
}

static bool close_to(double got, double expected, double atol) {
  if (isnan(got) || isnan(expected)) return isnan(got) && isnan(expected);
  return got == expected || fabs(got - expected) <= atol + ONNX_RTOL * fabs(expected);
}

/* A bin of a Fourier transform is a sum whose terms may cancel: its rounding errors belong to the size of the terms,
 * for which the largest bin stands. */
static double atol_of(const Case *c, const double *expected, size_t count) {
  double largest = 0;
  if (strcmp(c->outcome.op, "DFT") != 0 && strcmp(c->outcome.op, "STFT") != 0) return ONNX_ATOL;
  for (size_t i = 0; i < count; i++) largest = fmax(largest, fabs(expected[i]));
  return ONNX_ATOL + ONNX_FOURIER_TOLERANCE * largest;
}

/* The first element that differs, into the outcome. */
static void compare_elements(Case *c, size_t output, const BurnTensor *got, const BurnTensor *expected) {
  const size_t count = (size_t)burn_element_count(expected);
  double *ours = malloc((count + 1) * sizeof *ours), *theirs = malloc((count + 1) * sizeof *theirs);
  BurnStatus status = ours && theirs ? BURN_OK : burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "%zu elements", count);
  if (status == BURN_OK) status = burn_read_f64(burn_clone(got), ours, count);
  if (status == BURN_OK) status = burn_read_f64(burn_clone(expected), theirs, count);
  if (status != BURN_OK) end(c, ONNX_FAILED, "output %zu: %s", output, burn_status_message(status));
  size_t wrong = 0;
  const double atol = status == BURN_OK ? atol_of(c, theirs, count) : 0;
  for (size_t i = 0; status == BURN_OK && i < count; i++) {
    if (close_to(ours[i], theirs[i], atol)) continue;
    if (wrong++ == 0) end(c, ONNX_FAILED, "output %zu[%zu] is %.9g, expected %.9g", output, i, ours[i], theirs[i]);
  }
  free(ours);
  free(theirs);
}

static void compare(Case *c, size_t output, const BurnTensor *got, const BurnTensor *expected, bool random) {
  if (!got) {
    end(c, ONNX_FAILED, "the mapping gives no output %zu", output);
  } else if (burn_tensor_status(got) != BURN_OK) {
    end(c, ONNX_FAILED, "%s", burn_status_message(burn_tensor_status(got)));
  } else if (burn_dtype(got) != burn_dtype(expected)) {
    end(c, ONNX_FAILED, "output %zu has dtype %s, expected %s", output, burn_dtype_name(burn_dtype(got)),
        burn_dtype_name(burn_dtype(expected)));
  } else if (!same_shape(burn_shape(got), burn_shape(expected))) {
    end(c, ONNX_FAILED, "output %zu has shape %s, expected %s", output, burn_shape_text(burn_shape(got)).text,
        burn_shape_text(burn_shape(expected)).text);
  } else if (!random) {
    compare_elements(c, output, got, expected);
  }
}

/* -- a case ------------------------------------------------------------------------------------ */

static int64_t opset_of(const Case *c) {
  const char *domain = c->node->domain ? c->node->domain : "";
  for (size_t i = 0; i < c->model->n_opset_import; i++) {
    const Onnx__OperatorSetIdProto *import = c->model->opset_import[i];
    if (strcmp(import->domain ? import->domain : "", domain) == 0) return import->version;
  }
  return 0;
}

/* Inputs of the node by the place of their name among those of the graph. */
static void read_inputs(Case *c, OnnxNode *node) {
  const Onnx__GraphProto *graph = c->model->graph;
  if (c->node->n_input > ONNX_MAX_VALUES || c->node->n_output > ONNX_MAX_VALUES) {
    end(c, ONNX_FAILED, "%zu inputs, %zu outputs", c->node->n_input, c->node->n_output);
    return;
  }
  for (size_t i = 0; i < c->node->n_input && c->outcome.result == ONNX_PASSED; i++) {
    size_t at = 0;
    OnnxValue value;
    if (!c->node->input[i][0]) continue;
    while (at < graph->n_input && strcmp(graph->input[at]->name, c->node->input[i]) != 0) at++;
    if (!read_value(c, node->device, "input", at, &value)) continue;
    node->inputs[i] = value.tensor;
    node->lists[i] = value.list;
    node->strings[i] = value.strings;
    node->scalar[i] = value.scalar;
    node->types[i] = value.type;
  }
}

static void compare_strings(Case *c, size_t output, const OnnxStrings *got, const OnnxStrings *expected) {
  if (!got) {
    end(c, ONNX_FAILED, "the mapping gives no strings as output %zu", output);
  } else if (!same_shape(got->shape, expected->shape)) {
    end(c, ONNX_FAILED, "output %zu has shape %s, expected %s", output, burn_shape_text(got->shape).text,
        burn_shape_text(expected->shape).text);
  }
  for (size_t i = 0; i < expected->count && c->outcome.result == ONNX_PASSED; i++) {
    if (strcmp(got->items[i], expected->items[i]) == 0) continue;
    end(c, ONNX_FAILED, "output %zu[%zu] is '%s', expected '%s'", output, i, got->items[i], expected->items[i]);
  }
}

/* Tensors, strings, sequences of them, or nothing. */
static void compare_values(Case *c, size_t output, const OnnxValue *got, const OnnxValue *expected, bool random) {
  const size_t ours = got->list ? got->list->count : 0, theirs = expected->list ? expected->list->count : 0;
  if (!got->list != !expected->list || (got->tensor && !expected->tensor) || ours != theirs) {
    end(c, ONNX_FAILED, "output %zu is %s of %zu, expected %s of %zu", output, got->list ? "a sequence" : "a value",
        ours, expected->list ? "a sequence" : "a value", theirs);
  } else if (got->type != expected->type) {
    end(c, ONNX_FAILED, "output %zu is %s, expected %s", output, onnx_dtype_name(got->type),
        onnx_dtype_name(expected->type));
  } else if (expected->strings) {
    compare_strings(c, output, got->strings, expected->strings);
  } else if (expected->tensor) {
    compare(c, output, got->tensor, expected->tensor, random);
  }
  for (size_t i = 0; i < theirs && c->outcome.result == ONNX_PASSED; i++) {
    if (expected->list->strings[i]) {
      compare_strings(c, output, got->list->strings[i], expected->list->strings[i]);
    } else {
      compare(c, output, got->list->items[i], expected->list->items[i], random);
    }
  }
}

static void check_output(Case *c, BurnDevice *device, size_t k, const OnnxValue *got, const char *name) {
  OnnxValue expected;
  if (!read_value(c, device, "output", k, &expected)) return;
  compare_values(c, k, got, &expected, is_random(name));
  onnx_value_release(&expected);
}

static void check_outputs(Case *c, OnnxNode *node, const char *name) {
  const Onnx__GraphProto *graph = c->model->graph;
  for (size_t k = 0; k < graph->n_output && c->outcome.result == ONNX_PASSED; k++) {
    size_t at = 0;
    while (at < c->node->n_output && strcmp(c->node->output[at], graph->output[k]->name) != 0) at++;
    OnnxValue got = {0};
    if (at < c->node->n_output) {
      got = (OnnxValue){.tensor = node->outputs[at],
                        .type = node->output_types[at],
                        .list = node->output_lists[at],
                        .strings = node->output_strings[at]};
    }
    check_output(c, node->device, k, &got, name);
  }
}

/* -- a case of one node: its mapping alone ------------------------------------------------------ */

static void run_node(Case *c, BurnDevice *device, const OnnxOperator *op, const char *name) {
  OnnxNode *node = calloc(1, sizeof *node);
  if (!node) {
    end(c, ONNX_FAILED, "no memory");
    return;
  }
  node->device = device;
  node->proto = c->node;
  node->opset = opset_of(c);
  read_inputs(c, node);
  if (c->outcome.result == ONNX_PASSED) {
    onnx_apply_operator(op, node);
    if (node->reason[0]) end(c, ONNX_NOT_MAPPED, "%s", node->reason);
    if (node->status != BURN_OK) end(c, ONNX_FAILED, "%s", burn_status_message(node->status));
  }
  if (c->outcome.result == ONNX_PASSED) check_outputs(c, node, name);
  onnx_node_release(node);
  free(node);
}

/* -- a case of several nodes, or with graphs in attributes: a graph that runs -------------------- */

static bool is_graph(const Case *c) {
  for (size_t i = 0; i < c->node->n_attribute; i++) {
    if (c->node->attribute[i]->g) return true;
  }
  return c->model->graph->n_node != 1;
}

static void run_program(Case *c, BurnGraph *graph, const char *name) {
  const OnnxBody *body = graph->program->body;
  struct OnnxRun run = {.training = false};
  OnnxFrame frame = {
      .program = graph->program, .body = body, .device = graph->device, .module = graph->fields, .run = &run};
  OnnxValue inputs[ONNX_MAX_VALUES] = {{0}}, outputs[ONNX_MAX_VALUES] = {{0}};
  if (body->input_count > ONNX_MAX_VALUES || body->output_count > ONNX_MAX_VALUES) {
    end(c, ONNX_FAILED, "too many inputs or outputs");
    return;
  }
  for (size_t i = 0; i < body->input_count && c->outcome.result == ONNX_PASSED; i++) {
    (void)read_value(c, graph->device, "input", i, &inputs[i]);
  }
  if (c->outcome.result == ONNX_PASSED) {
    const BurnStatus status = onnx_run_body(&frame, inputs, outputs);
    const bool absent = burn_status_code(status) == BURN_STATUS_UNIMPLEMENTED;
    if (status != BURN_OK) end(c, absent ? ONNX_NOT_MAPPED : ONNX_FAILED, "%s", burn_status_message(status));
  } else {
    for (size_t i = 0; i < body->input_count; i++) onnx_value_release(&inputs[i]);
  }
  for (size_t k = 0; k < body->output_count && c->outcome.result == ONNX_PASSED; k++) {
    check_output(c, graph->device, k, &outputs[k], name);
  }
  for (size_t k = 0; k < body->output_count; k++) onnx_value_release(&outputs[k]);
}

static void run_graph(Case *c, BurnDevice *device, const char *name) {
  char path[600];
  BurnStatus status = BURN_OK;
  snprintf(path, sizeof path, "%s/model.onnx", c->folder);
  Bytes bytes = read_file(path);
  const BurnGraphOptions options = {.no_passes = true};
  BurnGraph *graph = bytes.data ? burn_onnx_read(bytes.data, bytes.size, device, &options, &status) : NULL;
  free(bytes.data);
  if (graph) {
    run_program(c, graph, name);
  } else {
    const bool absent = burn_status_code(status) == BURN_STATUS_UNIMPLEMENTED;
    end(c, absent ? ONNX_NOT_MAPPED : ONNX_FAILED, "%s", burn_status_message(status));
    for (char *at = c->outcome.reason; *at; at++) *at = *at == '\n' ? ' ' : *at; /* a line of the report */
  }
  burn_graph_release(graph);
}

OnnxOutcome onnx_case_run(BurnDevice *device, const char *folder, const char *name) {
  Case c = {.outcome = {.result = ONNX_PASSED}};
  snprintf(c.folder, sizeof c.folder, "%s/%s", folder, name);
  const bool read = read_model(&c);
  const OnnxOperator *op = read && !is_graph(&c) ? mappable(&c) : NULL;
  if (op) run_node(&c, device, op, name);
  if (read && is_graph(&c) && values_exist(&c, c.model->graph->input, c.model->graph->n_input)) {
    run_graph(&c, device, name);
  }
  if (c.model) onnx__model_proto__free_unpacked(c.model, NULL);
  return c.outcome;
}
