/* onnx_case.c - reads a case, applies the mapping of its node, and compares. */
#include "onnx_case.h"

#include "onnx_narrow.h"

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
  if (!c->model || !c->model->graph || c->model->graph->n_node != 1) {
    end(c, ONNX_FAILED, "%s is no model of one node", path);
    return false;
  }
  c->node = c->model->graph->node[0];
  onnx_operator_name(c->node, c->outcome.op, sizeof c->outcome.op);
  return true;
}

/* The tensor of test_data_set_0/<kind>_<i>.pb; NULL, with the outcome set, if it cannot be had. */
static BurnTensor *read_tensor(Case *c, BurnDevice *device, const char *kind, size_t i, bool *scalar, int32_t *type) {
  char path[600];
  snprintf(path, sizeof path, "%s/test_data_set_0/%s_%zu.pb", c->folder, kind, i);
  const Bytes bytes = read_file(path);
  Onnx__TensorProto *proto = bytes.data ? onnx__tensor_proto__unpack(NULL, bytes.size, bytes.data) : NULL;
  free(bytes.data);
  if (!proto) {
    end(c, ONNX_FAILED, "%s cannot be read", path);
    return NULL;
  }
  BurnTensor *x = onnx_narrow_tensor(device, proto);
  *type = onnx_dtype(proto->data_type) == BURN_DTYPE_DEFAULT ? proto->data_type : 0;
  *scalar = proto->n_dims == 0;
  onnx__tensor_proto__free_unpacked(proto, NULL);
  if (burn_tensor_status(x) == BURN_OK) return x;
  end(c, ONNX_FAILED, "%s_%zu: %s", kind, i, burn_status_message(burn_tensor_status(x)));
  burn_drop(x);
  return NULL;
}

/* -- what cannot be mapped before looking closer ---------------------------------------------- */

static bool values_exist(Case *c, Onnx__ValueInfoProto *const *values, size_t count) {
  for (size_t i = 0; i < count; i++) {
    const Onnx__TypeProto *type = values[i]->type;
    if (!type || !type->tensor_type) {
      end(c, ONNX_NOT_MAPPED, "sequences and optionals are no tensors");
      return false;
    }
    if (onnx_narrow_dtype(type->tensor_type->elem_type) == BURN_DTYPE_DEFAULT) {
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
  for (size_t i = 0; i < c->node->n_attribute; i++) {
    if (c->node->attribute[i]->g) {
      end(c, ONNX_NOT_MAPPED, "an attribute is a graph: a matter of the importer");
      return NULL;
    }
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
    if (strcmp(cases[i], name) == 0) return true;
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
    if (!c->node->input[i][0]) continue;
    while (at < graph->n_input && strcmp(graph->input[at]->name, c->node->input[i]) != 0) at++;
    node->inputs[i] = read_tensor(c, node->device, "input", at, &node->scalar[i], &node->types[i]);
  }
}

static void check_outputs(Case *c, OnnxNode *node, const char *name) {
  const Onnx__GraphProto *graph = c->model->graph;
  for (size_t k = 0; k < graph->n_output && c->outcome.result == ONNX_PASSED; k++) {
    bool scalar;
    int32_t type;
    size_t at = 0;
    while (at < c->node->n_output && strcmp(c->node->output[at], graph->output[k]->name) != 0) at++;
    BurnTensor *expected = read_tensor(c, node->device, "output", k, &scalar, &type);
    if (expected && at < c->node->n_output && node->output_types[at] != type) {
      end(c, ONNX_FAILED, "output %zu is %s, expected %s", k, onnx_dtype_name(node->output_types[at]),
          onnx_dtype_name(type));
    } else if (expected)
      compare(c, k, at < c->node->n_output ? node->outputs[at] : NULL, expected, is_random(name));
    burn_drop(expected);
  }
}

OnnxOutcome onnx_case_run(BurnDevice *device, const char *folder, const char *name) {
  Case c = {.outcome = {.result = ONNX_PASSED}};
  OnnxNode node = {.device = device};
  snprintf(c.folder, sizeof c.folder, "%s/%s", folder, name);
  const OnnxOperator *op = read_model(&c) ? mappable(&c) : NULL;
  if (op) {
    node.proto = c.node;
    node.opset = opset_of(&c);
    read_inputs(&c, &node);
    if (c.outcome.result == ONNX_PASSED) {
      onnx_apply_operator(op, &node);
      if (node.reason[0]) end(&c, ONNX_NOT_MAPPED, "%s", node.reason);
      if (node.status != BURN_OK) end(&c, ONNX_FAILED, "%s", burn_status_message(node.status));
    }
    if (c.outcome.result == ONNX_PASSED) check_outputs(&c, &node, name);
  }
  for (size_t i = 0; i < ONNX_MAX_VALUES; i++) {
    burn_drop(node.inputs[i]);
    burn_drop(node.outputs[i]);
  }
  if (c.model) onnx__model_proto__free_unpacked(c.model, NULL);
  return c.outcome;
}
