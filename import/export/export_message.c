/* export_message.c - nodes, attributes and tensors of the model that is written. All memory is the arena's. */
#include "export.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ONNX's numbers of types of attributes (AttributeProto.AttributeType). */
enum { ATTRIBUTE_FLOAT = 1, ATTRIBUTE_INT = 2, ATTRIBUTE_STRING = 3, ATTRIBUTE_TENSOR = 4, ATTRIBUTE_INTS = 7 };

void export_fail(Export *export, BurnStatus status) {
  if (export->status == BURN_OK) export->status = status;
}

void *export_take(Export *export, size_t count, size_t bytes) {
  void *memory = onnx_arena_take(&export->arena, count, bytes);
  if (!memory) export_fail(export, burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for the model"));
  return memory;
}

static char *text(Export *export, const char *from) {
  char *copy = onnx_arena_text(&export->arena, from);
  if (!copy) export_fail(export, burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for the model"));
  return copy;
}

static void add(Export *export, ExportList *list, void *item) {
  if (list->count == list->capacity) {
    const size_t capacity = list->capacity ? 2 * list->capacity : 64;
    void **wider = realloc(list->items, capacity * sizeof *wider);
    if (!wider) {
      export_fail(export, burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for the model"));
      return;
    }
    list->items = wider;
    list->capacity = capacity;
  }
  list->items[list->count++] = item;
}

int32_t export_dtype(BurnDType dtype) {
  int32_t number = 1;
  while (number < 32 && onnx_dtype(number) != dtype) number++;
  return number;
}

/* -- nodes ------------------------------------------------------------------------------------- */

static char **texts(Export *export, const char *const *from, size_t count) {
  char **copy = export_take(export, count + 1, sizeof *copy);
  for (size_t i = 0; copy && i < count; i++) copy[i] = text(export, from[i]);
  return copy;
}

Onnx__NodeProto *export_node(Export *export, const char *op, const char *const *inputs, size_t input_count,
                             const char *output) {
  static Onnx__NodeProto nowhere; /* without memory: the failure is kept, and this is not written */
  Onnx__NodeProto *node = export_take(export, 1, sizeof *node);
  if (!node) {
    onnx__node_proto__init(&nowhere);
    return &nowhere;
  }
  while (input_count > 0 && !inputs[input_count - 1][0]) input_count--;
  onnx__node_proto__init(node);
  node->op_type = text(export, op);
  node->name = text(export, output);
  node->input = texts(export, inputs, input_count);
  node->n_input = input_count;
  node->output = texts(export, &output, 1);
  node->n_output = 1;
  add(export, &export->nodes, node);
  return node;
}

void export_add_output(Export *export, Onnx__NodeProto *node, const char *name) {
  char **wider = export_take(export, node->n_output + 1, sizeof *wider);
  if (!wider) return;
  for (size_t i = 0; i < node->n_output; i++) wider[i] = node->output[i];
  wider[node->n_output++] = text(export, name);
  node->output = wider;
}

const char *export_step(Export *export, const ExportCall *c, const char *op, const char *a, const char *b) {
  const char *name = export_between(export, c);
  export_node(export, op, (const char *const[]){a, b}, 2, name);
  return name;
}

static Onnx__AttributeProto *attribute(Export *export, Onnx__NodeProto *node, const char *name, int32_t type) {
  static Onnx__AttributeProto nowhere;
  Onnx__AttributeProto *attr = export_take(export, 1, sizeof *attr),
                       **wider = export_take(export, node->n_attribute + 1, sizeof *wider);
  if (!attr || !wider) return &nowhere;
  onnx__attribute_proto__init(attr);
  attr->name = text(export, name);
  attr->has_type = true;
  attr->type = type;
  for (size_t i = 0; i < node->n_attribute; i++) wider[i] = node->attribute[i];
  wider[node->n_attribute++] = attr;
  node->attribute = wider;
  return attr;
}

void export_set_int(Export *export, Onnx__NodeProto *node, const char *name, int64_t value) {
  Onnx__AttributeProto *attr = attribute(export, node, name, ATTRIBUTE_INT);
  attr->has_i = true;
  attr->i = value;
}

void export_set_float(Export *export, Onnx__NodeProto *node, const char *name, double value) {
  Onnx__AttributeProto *attr = attribute(export, node, name, ATTRIBUTE_FLOAT);
  attr->has_f = true;
  attr->f = (float)value;
}

void export_set_text(Export *export, Onnx__NodeProto *node, const char *name, const char *value) {
  Onnx__AttributeProto *attr = attribute(export, node, name, ATTRIBUTE_STRING);
  attr->has_s = true;
  attr->s = (ProtobufCBinaryData){strlen(value), (uint8_t *)text(export, value)};
}

void export_set_ints(Export *export, Onnx__NodeProto *node, const char *name, const int64_t *values, size_t count) {
  Onnx__AttributeProto *attr = attribute(export, node, name, ATTRIBUTE_INTS);
  attr->ints = export_take(export, count + 1, sizeof *values);
  if (!attr->ints) return;
  memcpy(attr->ints, values, count * sizeof *values);
  attr->n_ints = count;
}

void export_set_tensor(Export *export, Onnx__NodeProto *node, const char *name, Onnx__TensorProto *value) {
  attribute(export, node, name, ATTRIBUTE_TENSOR)->t = value;
}

/* -- tensors ----------------------------------------------------------------------------------- */

/* Zeroed memory for the elements is at ->raw_data; NULL without any. */
static Onnx__TensorProto *tensor(Export *export, BurnDType dtype, const int64_t *dims, uint32_t rank) {
  Onnx__TensorProto *proto = export_take(export, 1, sizeof *proto);
  int64_t *mine = export_take(export, rank + 1u, sizeof *mine);
  size_t bytes = burn_dtype_bytes(dtype);
  for (uint32_t i = 0; i < rank; i++) bytes *= (size_t)dims[i];
  uint8_t *data = export_take(export, bytes + 1, 1);
  if (!proto || !mine || !data) return NULL;
  onnx__tensor_proto__init(proto);
  if (rank > 0) memcpy(mine, dims, rank * sizeof *dims);
  proto->dims = mine;
  proto->n_dims = rank;
  proto->has_data_type = true;
  proto->data_type = export_dtype(dtype);
  proto->has_raw_data = true;
  proto->raw_data = (ProtobufCBinaryData){bytes, data};
  return proto;
}

static void add_initializer(Export *export, Onnx__TensorProto *proto, const char *name) {
  if (!proto) return;
  proto->name = text(export, name);
  add(export, &export->initializers, proto);
}

/* Ownership of primitives is not touched: a level reads its own. */
void export_initializer(Export *export, const BurnPrimitive *x, const char *name) {
  const BurnBackend *backend = export->trace->backend;
  Onnx__TensorProto *proto = tensor(export, x->dtype, x->shape, x->rank);
  if (!proto) return;
  if (proto->raw_data.len > 0)
    export_fail(export,
                backend->read(backend->self, (BurnPrimitive *)(uintptr_t)x, proto->raw_data.data, proto->raw_data.len));
  add_initializer(export, proto, name);
}

const char *export_ints(Export *export, const int64_t *values, size_t count) {
  Onnx__TensorProto *proto = tensor(export, BURN_DTYPE_I64, (const int64_t[]){(int64_t)count}, 1);
  const char *name = export_new_name(export, "sizes");
  if (!proto) return "";
  if (count > 0) memcpy(proto->raw_data.data, values, count * sizeof *values);
  add_initializer(export, proto, name);
  return name;
}

/* The bytes that the framework itself has for the number in that dtype. */
Onnx__TensorProto *export_number_tensor(Export *export, const BurnAttr *number, BurnDType dtype, bool axis) {
  Onnx__TensorProto *proto = tensor(export, dtype, (const int64_t[]){1}, axis);
  const BurnAttr attrs[] = {burn_attr_i64s((const int64_t[]){1}, 1), burn_attr_dtype(dtype), *number};
  BurnTensor *x = NULL;
  if (!proto) return NULL;
  burn_op_call(export->trace->device, burn_op_info(BURN_OP_full), NULL, 0, attrs, 3, &x);
  export_fail(export, burn_tensor_status(x));
  const BurnBackend *backend = export->trace->backend;
  BurnPrimitive *primitive = burn_tensor_primitive(x);
  if (primitive)
    export_fail(export, backend->read(backend->self, primitive, proto->raw_data.data, proto->raw_data.len));
  burn_drop(x);
  return proto;
}

const char *export_number(Export *export, const BurnAttr *number, BurnDType dtype) {
  Onnx__TensorProto *proto = export_number_tensor(export, number, dtype, false);
  const char *name = export_new_name(export, "number");
  add_initializer(export, proto, name);
  return name;
}

const char *export_float(Export *export, double number, BurnDType dtype) {
  const BurnAttr attr = burn_attr_f64(number);
  return export_number(export, &attr, dtype);
}

const char *export_new_name(Export *export, const char *what) {
  char name[ONNX_LOCATION];
  do {
    (void)snprintf(name, sizeof name, "%s_%u", what, export->next_number++);
  } while (onnx_names_get(&export->names, name) != ONNX_NONE);
  const char *kept = text(export, name);
  if (!kept || !onnx_names_put(&export->names, kept, 0)) return "";
  return kept;
}
