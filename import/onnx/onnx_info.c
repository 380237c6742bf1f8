/* onnx_info.c - what a model holds, for people and as JSON. */
#include "onnx_graph.h"
#include "status_chain.h"

#include <burn/burn.h>
#include <burn/text.h>

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static cJSON *value_json(const Onnx__ValueInfoProto *info) {
  const BurnGraphValue value = onnx_describe_value(info);
  cJSON *json = cJSON_CreateObject(), *shape = value.has_shape ? cJSON_CreateArray() : cJSON_CreateNull();
  const Onnx__TypeProto__Tensor *tensor = info->type ? info->type->tensor_type : NULL;
  cJSON_AddStringToObject(json, "name", value.name);
  cJSON_AddStringToObject(json, "dtype", tensor ? onnx_dtype_name(tensor->elem_type) : "no tensor");
  for (uint32_t i = 0; i < value.rank; i++) {
    cJSON *dim = value.dims[i] >= 0 ? cJSON_CreateNumber((double)value.dims[i])
                 : value.axes[i]    ? cJSON_CreateString(value.axes[i])
                                    : cJSON_CreateNull();
    cJSON_AddItemToArray(shape, dim);
  }
  cJSON_AddItemToObject(json, "shape", shape);
  return json;
}

static bool is_initializer(const Onnx__GraphProto *graph, const OnnxNames *initializers, const char *name) {
  return graph->n_initializer > 0 && onnx_names_get(initializers, name) != ONNX_NONE;
}

static cJSON *values_json(const Onnx__GraphProto *graph, Onnx__ValueInfoProto *const *infos, size_t count) {
  cJSON *list = cJSON_CreateArray();
  OnnxNames names = {NULL, NULL, 0, 0};
  for (size_t i = 0; i < graph->n_initializer; i++) (void)onnx_names_put(&names, graph->initializer[i]->name, 0);
  for (size_t i = 0; i < count; i++) {
    if (!is_initializer(graph, &names, infos[i]->name)) cJSON_AddItemToArray(list, value_json(infos[i]));
  }
  onnx_names_release(&names);
  return list;
}

/* Counts the operators of a graph and its subgraphs; a function of the model is an operator that is supported. */
static void count_operators(const Onnx__ModelProto *model, Onnx__NodeProto *const *nodes, size_t count, cJSON *ops) {
  for (size_t i = 0; i < count; i++) {
    char name[ONNX_OPERATOR_NAME];
    onnx_operator_name(nodes[i], name, sizeof name);
    bool function = false;
    for (size_t f = 0; f < model->n_functions; f++) {
      function = function || (strcmp(model->functions[f]->name, nodes[i]->op_type) == 0 &&
                              strcmp(model->functions[f]->domain, nodes[i]->domain) == 0);
    }
    const OnnxOperator *op = onnx_find_operator(name);
    cJSON *row = cJSON_GetObjectItemCaseSensitive(ops, name);
    if (!row) {
      row = cJSON_AddObjectToObject(ops, name);
      cJSON_AddNumberToObject(row, "count", 0);
      cJSON_AddBoolToObject(row, "supported", function || (op && op->map));
      if (op && !op->map) cJSON_AddStringToObject(row, "reason", op->reason);
    }
    cJSON *number = cJSON_GetObjectItemCaseSensitive(row, "count");
    if (number) cJSON_SetNumberValue(number, number->valuedouble + 1);
    for (size_t k = 0; k < nodes[i]->n_attribute; k++) {
      const Onnx__GraphProto *graph = nodes[i]->attribute[k]->g;
      if (graph) count_operators(model, graph->node, graph->n_node, ops);
    }
  }
}

static int by_name(const void *a, const void *b) {
  const cJSON *const *lhs = a, *const *rhs = b;
  return strcmp((*lhs)->string, (*rhs)->string);
}

/* The same rows by name. */
static cJSON *sorted(cJSON *rows) {
  const size_t count = (size_t)cJSON_GetArraySize(rows);
  cJSON **list = calloc(count + 1, sizeof(cJSON *)), *result = cJSON_CreateObject();
  for (size_t i = 0; list && i < count; i++) list[i] = cJSON_DetachItemFromArray(rows, 0);
  if (list) qsort(list, count, sizeof *list, by_name);
  for (size_t i = 0; list && i < count; i++) cJSON_AddItemToObject(result, list[i]->string, list[i]);
  free(list);
  cJSON_Delete(rows);
  return result;
}

static cJSON *info_json(const OnnxProgram *program, size_t bytes) {
  const Onnx__ModelProto *model = program->model;
  cJSON *json = cJSON_CreateObject(), *opsets = cJSON_AddObjectToObject(json, "opsets");
  cJSON *ops = cJSON_CreateObject();
  int64_t elements = 0;
  for (size_t i = 0; i < model->n_opset_import; i++) {
    const char *domain = model->opset_import[i]->domain;
    cJSON_AddNumberToObject(opsets, domain[0] ? domain : "ai.onnx", (double)model->opset_import[i]->version);
  }
  for (size_t i = 0; i < model->graph->n_initializer; i++) {
    BurnDType dtype;
    size_t count;
    if (onnx_tensor_layout(model->graph->initializer[i], &dtype, &count) == BURN_OK) elements += (int64_t)count;
  }
  cJSON_AddNumberToObject(json, "bytes", (double)bytes);
  cJSON_AddNumberToObject(json, "ir_version", (double)model->ir_version);
  cJSON_AddStringToObject(json, "producer", model->producer_name);
  cJSON_AddNumberToObject(json, "initializers", (double)model->graph->n_initializer);
  cJSON_AddNumberToObject(json, "elements", (double)elements);
  cJSON_AddItemToObject(json, "inputs", values_json(model->graph, model->graph->input, model->graph->n_input));
  cJSON_AddItemToObject(json, "outputs", values_json(model->graph, model->graph->output, model->graph->n_output));
  count_operators(model, model->graph->node, model->graph->n_node, ops);
  for (size_t i = 0; i < model->n_functions; i++) {
    count_operators(model, model->functions[i]->node, model->functions[i]->n_node, ops);
  }
  cJSON_AddItemToObject(json, "operators", sorted(ops));
  return json;
}

/* -- as text ----------------------------------------------------------------------------------- */

typedef struct Text {
  char *text;
  size_t length, room;
} Text;

static void add(Text *text, const char *part) {
  const size_t bytes = strlen(part);
  if (text->length + bytes + 1 > text->room) {
    const size_t room = 2 * (text->room + bytes + 1);
    char *wider = realloc(text->text, room);
    if (!wider) return;
    text->text = wider;
    text->room = room;
  }
  memcpy(text->text + text->length, part, bytes + 1);
  text->length += bytes;
}

static void add_values(Text *text, const char *title, const cJSON *values) {
  char line[256];
  for (const cJSON *value = values->child; value; value = value->next) {
    char *shape = cJSON_PrintUnformatted(cJSON_GetObjectItemCaseSensitive(value, "shape"));
    snprintf(line, sizeof line, "%-12s%s  %s %s\n", title, cJSON_GetObjectItemCaseSensitive(value, "name")->valuestring,
             cJSON_GetObjectItemCaseSensitive(value, "dtype")->valuestring, shape ? shape : "");
    add(text, line);
    free(shape);
    title = "";
  }
}

static char *info_text(const cJSON *json) {
  Text text = {NULL, 0, 0};
  char line[512];
  char *opsets = cJSON_PrintUnformatted(cJSON_GetObjectItemCaseSensitive(json, "opsets"));
  const char *producer = cJSON_GetObjectItemCaseSensitive(json, "producer")->valuestring;
  snprintf(line, sizeof line, "%-12s%.0f bytes, opset %s%s%.100s\n%-12s%.0f with %.0f elements\n", "model",
           cJSON_GetObjectItemCaseSensitive(json, "bytes")->valuedouble, opsets ? opsets : "",
           *producer ? ", written by " : "", producer, "weights",
           cJSON_GetObjectItemCaseSensitive(json, "initializers")->valuedouble,
           cJSON_GetObjectItemCaseSensitive(json, "elements")->valuedouble);
  free(opsets);
  add(&text, line);
  add_values(&text, "inputs", cJSON_GetObjectItemCaseSensitive(json, "inputs"));
  add_values(&text, "outputs", cJSON_GetObjectItemCaseSensitive(json, "outputs"));
  add(&text, "operators\n");
  for (const cJSON *op = cJSON_GetObjectItemCaseSensitive(json, "operators")->child; op; op = op->next) {
    const bool here = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(op, "supported"));
    const cJSON *reason = cJSON_GetObjectItemCaseSensitive(op, "reason");
    snprintf(line, sizeof line, "%8.0f  %s%s%s\n", cJSON_GetObjectItemCaseSensitive(op, "count")->valuedouble,
             op->string, here ? "" : ": not supported: ",
             here     ? ""
             : reason ? reason->valuestring
                      : "no such operator is known here");
    add(&text, line);
  }
  return text.text;
}

static char *describe(const char *path, bool json, BurnStatus *status) {
  uint8_t *bytes;
  size_t count;
  char folder[4096];
  *status = onnx_read_file(path, &bytes, &count, folder, sizeof folder);
  OnnxProgram *program = *status == BURN_OK ? onnx_program_new(bytes, count, path, NULL, status) : NULL;
  free(bytes);
  if (!program) return NULL;
  cJSON *info = info_json(program, count);
  char *text = json ? cJSON_Print(info) : info_text(info);
  cJSON_Delete(info);
  onnx_program_release(program);
  if (!text) *status = burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory");
  return text ? burn_text_clean(text) : NULL; /* names are of others */
}

char *burn_onnx_info(const char *path, bool json, BurnStatus *status) {
  BurnStatus result = burn__entry_status(status);
  char *text = result == BURN_OK ? describe(path, json, &result) : NULL;
  burn__store_status(status, result);
  return text;
}
