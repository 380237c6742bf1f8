/* onnx_info.c - what a model holds, for people and as JSON. */
#include "onnx_graph.h"
#include "status_chain.h"
#include "text_builder.h"

#include <burn/burn.h>
#include <burn/text.h>

#include <cjson/cJSON.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What there is no memory for is left out, and *fine is false then: half a description is none. */
static cJSON *kept(cJSON *made, bool *fine) {
  if (!made) *fine = false;
  return made;
}
static void append(cJSON *list, cJSON *item, bool *fine) {
  if (cJSON_AddItemToArray(list, item)) return;
  cJSON_Delete(item);
  *fine = false;
}
static void put(cJSON *object, const char *name, cJSON *item, bool *fine) {
  if (cJSON_AddItemToObject(object, name, item)) return;
  cJSON_Delete(item);
  *fine = false;
}
static void put_number(cJSON *object, const char *name, double number, bool *fine) {
  (void)kept(cJSON_AddNumberToObject(object, name, number), fine);
}
static void put_text(cJSON *object, const char *name, const char *text, bool *fine) {
  (void)kept(cJSON_AddStringToObject(object, name, text), fine);
}

static cJSON *value_json(const Onnx__ValueInfoProto *info, bool *fine) {
  const BurnGraphValue value = onnx_describe_value(info);
  cJSON *json = cJSON_CreateObject(), *shape = value.has_shape ? cJSON_CreateArray() : cJSON_CreateNull();
  const Onnx__TypeProto__Tensor *tensor = info->type ? info->type->tensor_type : NULL;
  put_text(json, "name", value.name, fine);
  put_text(json, "dtype", tensor ? onnx_dtype_name(tensor->elem_type) : "no tensor", fine);
  for (uint32_t i = 0; i < value.rank; i++) {
    cJSON *dim = value.dims[i] >= 0 ? cJSON_CreateNumber((double)value.dims[i])
                 : value.axes[i]    ? cJSON_CreateString(value.axes[i])
                                    : cJSON_CreateNull();
    append(shape, dim, fine);
  }
  put(json, "shape", shape, fine);
  return json;
}

static bool is_initializer(const Onnx__GraphProto *graph, const OnnxNames *initializers, const char *name) {
  return graph->n_initializer > 0 && onnx_names_get(initializers, name) != ONNX_NONE;
}

static cJSON *values_json(const Onnx__GraphProto *graph, Onnx__ValueInfoProto *const *infos, size_t count, bool *fine) {
  cJSON *list = cJSON_CreateArray();
  OnnxNames names = {NULL, NULL, 0, 0};
  for (size_t i = 0; i < graph->n_initializer; i++)
    if (!onnx_names_put(&names, graph->initializer[i]->name, 0)) *fine = false;
  for (size_t i = 0; i < count; i++) {
    if (!is_initializer(graph, &names, infos[i]->name)) append(list, value_json(infos[i], fine), fine);
  }
  onnx_names_release(&names);
  return list;
}

/* Counts the operators of a graph and its subgraphs; a function of the model is an operator that is supported. */
static void count_operators(const Onnx__ModelProto *model, Onnx__NodeProto *const *nodes, size_t count, cJSON *ops,
                            bool *fine) {
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
      row = kept(cJSON_AddObjectToObject(ops, name), fine);
      put_number(row, "count", 0, fine);
      (void)kept(cJSON_AddBoolToObject(row, "supported", function || (op && op->map)), fine);
      if (op && !op->map) put_text(row, "reason", op->reason, fine);
    }
    cJSON *number = cJSON_GetObjectItemCaseSensitive(row, "count");
    if (number) cJSON_SetNumberValue(number, number->valuedouble + 1);
    for (size_t k = 0; k < nodes[i]->n_attribute; k++) {
      const Onnx__GraphProto *graph = nodes[i]->attribute[k]->g;
      if (graph) count_operators(model, graph->node, graph->n_node, ops, fine);
    }
  }
}

static int by_name(const void *a, const void *b) {
  const cJSON *const *lhs = a, *const *rhs = b;
  return strcmp((*lhs)->string, (*rhs)->string);
}

/* The same rows by name. */
static cJSON *sorted(cJSON *rows, bool *fine) {
  const size_t count = (size_t)cJSON_GetArraySize(rows);
  cJSON **list = calloc(count + 1, sizeof(cJSON *)), *result = cJSON_CreateObject();
  if (!list) *fine = false;
  for (size_t i = 0; list && i < count; i++) list[i] = cJSON_DetachItemFromArray(rows, 0);
  if (list) qsort(list, count, sizeof *list, by_name);
  for (size_t i = 0; list && i < count; i++) put(result, list[i]->string, list[i], fine);
  free(list);
  cJSON_Delete(rows);
  return result;
}

static cJSON *opsets_json(const Onnx__ModelProto *model, bool *fine) {
  cJSON *opsets = cJSON_CreateObject();
  for (size_t i = 0; i < model->n_opset_import; i++) {
    const char *domain = model->opset_import[i]->domain;
    put_number(opsets, domain[0] ? domain : "ai.onnx", (double)model->opset_import[i]->version, fine);
  }
  return opsets;
}

/* The elements of all initializers, whatever they claim: as a double, which does not overflow. */
static double count_all_elements(const Onnx__GraphProto *graph) {
  double elements = 0;
  for (size_t i = 0; i < graph->n_initializer; i++) {
    BurnDType dtype;
    size_t count;
    if (onnx_tensor_layout(graph->initializer[i], &dtype, &count) == BURN_OK) elements += (double)count;
  }
  return elements;
}

static cJSON *info_json(const OnnxProgram *program, size_t bytes, bool *fine) {
  const Onnx__ModelProto *model = program->model;
  const Onnx__GraphProto *graph = model->graph;
  cJSON *json = cJSON_CreateObject(), *ops = cJSON_CreateObject();
  put(json, "opsets", opsets_json(model, fine), fine);
  put_number(json, "bytes", (double)bytes, fine);
  put_number(json, "ir_version", (double)model->ir_version, fine);
  put_text(json, "producer", model->producer_name, fine);
  put_number(json, "initializers", (double)graph->n_initializer, fine);
  put_number(json, "elements", count_all_elements(graph), fine);
  put(json, "inputs", values_json(graph, graph->input, graph->n_input, fine), fine);
  put(json, "outputs", values_json(graph, graph->output, graph->n_output, fine), fine);
  count_operators(model, graph->node, graph->n_node, ops, fine);
  for (size_t i = 0; i < model->n_functions; i++)
    count_operators(model, model->functions[i]->node, model->functions[i]->n_node, ops, fine);
  put(json, "operators", sorted(ops, fine), fine);
  return json;
}

/* -- as text ----------------------------------------------------------------------------------- */

static const cJSON *item(const cJSON *object, const char *name) {
  return cJSON_GetObjectItemCaseSensitive(object, name);
}

/* A value in one line; text that there is no memory for fails the builder. */
static void add_json(BurnTextBuilder *text, const cJSON *value) {
  char *line = cJSON_PrintUnformatted(value);
  if (line) burn__text_add(text, line);
  text->failed = text->failed || !line;
  cJSON_free(line);
}

/* At most `most` bytes of a name that the model gives, which stays on its line. */
static void add_name(BurnTextBuilder *text, const char *name, int most) {
  const size_t from = text->length;
  burn__text_addf(text, "%.*s", most, name);
  if (!text->failed) (void)burn_text_clean_name(text->text + from);
}

static void add_values(BurnTextBuilder *text, const char *title, const cJSON *values) {
  for (const cJSON *value = values->child; value; value = value->next) {
    burn__text_addf(text, "%-12s", title);
    add_name(text, item(value, "name")->valuestring, INT_MAX);
    burn__text_addf(text, "  %s ", item(value, "dtype")->valuestring);
    add_json(text, item(value, "shape"));
    burn__text_add(text, "\n");
    title = "";
  }
}

/* Of a description that is whole. */
static char *info_text(const cJSON *json) {
  BurnTextBuilder text = BURN_TEXT_BUILDER;
  const char *producer = item(json, "producer")->valuestring;
  burn__text_addf(&text, "%-12s%.0f bytes, opset ", "model", item(json, "bytes")->valuedouble);
  add_json(&text, item(json, "opsets"));
  if (*producer) burn__text_add(&text, ", written by ");
  add_name(&text, producer, 100);
  burn__text_addf(&text, "\n%-12s%.0f with %.0f elements\n", "weights", item(json, "initializers")->valuedouble,
                  item(json, "elements")->valuedouble);
  add_values(&text, "inputs", item(json, "inputs"));
  add_values(&text, "outputs", item(json, "outputs"));
  burn__text_add(&text, "operators\n");
  for (const cJSON *op = item(json, "operators")->child; op; op = op->next) {
    const bool here = cJSON_IsTrue(item(op, "supported"));
    const cJSON *reason = item(op, "reason");
    burn__text_addf(&text, "%8.0f  ", item(op, "count")->valuedouble);
    add_name(&text, op->string, INT_MAX);
    burn__text_addf(&text, "%s%s\n", here ? "" : ": not supported: ",
                    here     ? ""
                    : reason ? reason->valuestring
                             : "no such operator is known here");
  }
  return burn__text_finish(&text);
}

static char *describe(const char *path, bool json, BurnStatus *status) {
  uint8_t *bytes;
  size_t count;
  char folder[4096];
  *status = onnx_read_file(path, &bytes, &count, folder, sizeof folder);
  OnnxProgram *program = *status == BURN_OK ? onnx_program_new(bytes, count, path, NULL, status) : NULL;
  free(bytes);
  if (!program) return NULL;
  bool fine = true;
  cJSON *info = info_json(program, count, &fine);
  char *text = !fine ? NULL : json ? cJSON_Print(info) : info_text(info);
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
