/* export_model.c - a record as a model: which calls are needed, what depends on the inputs, names for all of it. */
#include "export.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { IR_VERSION = 9 }; /* the one of opset 20 */

/* -- values by primitive ----------------------------------------------------------------------- */

static size_t place(const Export *export, const BurnPrimitive *x) {
  const uint64_t mixed = (uint64_t)(uintptr_t)x * UINT64_C(0x9E3779B97F4A7C15);
  size_t at = (size_t)(mixed >> 32) & (export->value_capacity - 1);
  while (export->values[at].primitive && export->values[at].primitive != x)
    at = (at + 1) & (export->value_capacity - 1);
  return at;
}

static ExportValue *value_of(const Export *export, const BurnPrimitive *x) {
  if (!x || export->value_capacity == 0) return NULL;
  ExportValue *value = &export->values[place(export, x)];
  return value->primitive ? value : NULL;
}

/* Room for every primitive that a record of so many calls can have. */
static bool make_table(Export *export) {
  uint64_t most = 16 + export->trace->input_count + export->trace->output_count + export->trace->parameter_count;
  for (uint64_t i = 0; i < export->trace->count; i++) {
    const BurnOpCall *call = export->trace->table->call(export->trace->self, i);
    most += call->input_count + call->output_count;
  }
  export->value_capacity = 64;
  while (export->value_capacity < 2 * most) export->value_capacity *= 2;
  export->values = calloc(export->value_capacity, sizeof *export->values);
  if (!export->values) export_fail(export, burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for the model"));
  return export->values != NULL;
}

/* The value of a primitive; the first kind and name stay. */
static ExportValue *put(Export *export, const BurnPrimitive *x, const BurnPrimitive *other, ExportKind kind,
                        const char *name) {
  ExportValue *value = &export->values[place(export, x)];
  if (!value->primitive) *value = (ExportValue){x, other, kind, false, name};
  return value;
}

static bool same_shape(const BurnPrimitive *a, const BurnPrimitive *b) {
  return a->rank == b->rank && memcmp(a->shape, b->shape, a->rank * sizeof *a->shape) == 0;
}

static const BurnOpCall *call_at(const ExportTrace *trace, uint64_t i) {
  return trace ? trace->table->call(trace->self, i) : NULL;
}

static ExportCall call_of(const Export *export, uint64_t i) {
  const BurnOpCall *call = call_at(export->trace, i);
  const ExportRow *row = export_row(call->op);
  return (ExportCall){call, call_at(export->other, i), row ? row->name : ""};
}

/* -- the two runs beside each other ------------------------------------------------------------ */

static const char *op_name(uint32_t op) {
  const BurnOpInfo *info = burn_op_info(op);
  return info ? info->name : "an op";
}

static bool same_attr(const BurnAttr *a, const BurnAttr *b) {
  if (a->tag != b->tag || a->count != b->count) return false;
  if (a->tag != BURN_ATTR_I64S) return memcmp(&a->value, &b->value, sizeof a->value) == 0;
  return a->count == 0 || memcmp(a->value.i64s, b->value.i64s, a->count * sizeof(int64_t)) == 0;
}

/* May the calls differ as they do? */
static bool attrs_fit(const ExportCall *c) {
  const ExportRow *row = export_row(c->call->op);
  for (uint32_t i = 0; i < c->call->attr_count; i++) {
    const BurnAttr *a = &c->call->attrs[i], *b = &c->other->attrs[i];
    if (same_attr(a, b)) continue;
    if (!row || !row->sizes_may_differ || a->tag != BURN_ATTR_I64S || b->tag != a->tag || a->count != b->count)
      return false;
  }
  return true;
}

static bool same_form(const BurnOpCall *a, const BurnOpCall *b) {
  return a->op == b->op && a->input_count == b->input_count && a->output_count == b->output_count &&
         a->attr_count == b->attr_count;
}

/* Every call of the first run is there in the second one, too. */
static void compare_runs(Export *export) {
  if (!export->other) return;
  const uint64_t count = export->trace->count, others = export->other->count;
  for (uint64_t i = 0; i < count && i < others; i++) {
    const BurnOpCall *a = call_at(export->trace, i), *b = call_at(export->other, i);
    if (same_form(a, b)) continue;
    export_fail(export, burn_status_make(BURN_STATUS_INVALID_ARGUMENT,
                                         "the calls depend on the size of the batch: call %llu is %s with %d items "
                                         "and %s with %d; export without dynamic_batch",
                                         (unsigned long long)i, op_name(a->op), EXPORT_BATCH, op_name(b->op),
                                         EXPORT_OTHER_BATCH));
    return;
  }
  if (count != others)
    export_fail(export, burn_status_make(BURN_STATUS_INVALID_ARGUMENT,
                                         "the calls depend on the size of the batch: there are %llu with %d items and "
                                         "%llu with %d; export without dynamic_batch",
                                         (unsigned long long)count, EXPORT_BATCH, (unsigned long long)others,
                                         EXPORT_OTHER_BATCH));
}

/* -- what depends on what ---------------------------------------------------------------------- */

static void put_leaves(Export *export) {
  const ExportTrace *trace = export->trace, *other = export->other;
  const BurnOnnxSave *options = export->source->options;
  for (size_t i = 0; i < trace->input_count; i++)
    put(export, burn_tensor_primitive(trace->inputs[i]), other ? burn_tensor_primitive(other->inputs[i]) : NULL,
        EXPORT_COMPUTED, options->input_names[i]);
  for (size_t i = 0; i < trace->parameter_count; i++)
    put(export, burn_tensor_primitive(trace->parameters[i].value),
        other ? burn_tensor_primitive(other->parameters[i].value) : NULL, EXPORT_PARAMETER, NULL);
}

static bool is_random(uint32_t op) {
  const BurnOpInfo *info = burn_op_info(op);
  return info && (info->traits & BURN_TRAIT_RANDOM);
}

/* Numbers that no input and no parameter has a say in are constants, unless their size follows the batch. */
static ExportKind kind_of(Export *export, const ExportCall *c) {
  ExportKind kind = is_random(c->call->op) ? EXPORT_COMPUTED : EXPORT_CONSTANT;
  for (uint32_t i = 0; i < c->call->input_count; i++) {
    const BurnPrimitive *x = c->call->inputs[i];
    if (!x) continue;
    const ExportValue *value = put(export, x, c->other ? c->other->inputs[i] : NULL, EXPORT_CONSTANT, NULL);
    if (value->kind > kind) kind = value->kind;
  }
  for (uint32_t i = 0; c->other && i < c->call->output_count; i++) {
    if (!same_shape(c->call->outputs[i], c->other->outputs[i])) kind = EXPORT_COMPUTED;
  }
  return kind;
}

static void put_values(Export *export) {
  for (uint64_t i = 0; i < export->trace->count; i++) {
    const ExportCall c = call_of(export, i);
    const ExportKind kind = kind_of(export, &c);
    for (uint32_t k = 0; k < c.call->output_count; k++)
      put(export, c.call->outputs[k], c.other ? c.other->outputs[k] : NULL, kind, NULL);
  }
}

/* Whether it is the call that makes its outputs: one that hands an input on has nothing to write. */
static bool makes(const Export *export, const ExportCall *c) {
  bool needed = false;
  for (uint32_t i = 0; i < c->call->output_count; i++) {
    const ExportValue *value = value_of(export, c->call->outputs[i]);
    if (value && value->needed && value->kind != EXPORT_CONSTANT) needed = true;
    for (uint32_t k = 0; k < c->call->input_count; k++) {
      if (c->call->inputs[k] == c->call->outputs[i]) return false;
    }
  }
  return needed;
}

static void mark_needed(Export *export) {
  for (size_t i = 0; i < export->trace->output_count; i++) {
    ExportValue *value = value_of(export, burn_tensor_primitive(export->trace->outputs[i]));
    if (value) value->needed = true;
  }
  for (uint64_t i = export->trace->count; i-- > 0;) {
    const ExportCall c = call_of(export, i);
    if (!makes(export, &c)) continue;
    for (uint32_t k = 0; k < c.call->input_count; k++) {
      ExportValue *value = value_of(export, c.call->inputs[k]);
      if (value) value->needed = true;
    }
  }
}

/* -- names of values --------------------------------------------------------------------------- */

/* Names that others will look for must stand there as they are, each once. */
static void take_name(Export *export, const char *name, const char *what) {
  if (!name || !name[0])
    export_fail(export, burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%s has no name", what));
  else if (onnx_names_get(&export->names, name) != ONNX_NONE)
    export_fail(export, burn_status_make(BURN_STATUS_INVALID_ARGUMENT,
                                         "%s is called '%s', as another value: give it another name", what, name));
  else if (!onnx_names_put(&export->names, name, 0))
    export_fail(export, burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for the model"));
}

static void take_names(Export *export) {
  const BurnOnnxSave *options = export->source->options;
  for (size_t i = 0; i < export->trace->parameter_count; i++)
    take_name(export, export->trace->parameters[i].path, "a parameter");
  for (size_t i = 0; i < export->trace->input_count; i++) take_name(export, options->input_names[i], "an input");
  for (size_t i = 0; i < export->trace->output_count; i++) take_name(export, options->output_names[i], "an output");
}

/* The name that a value has as an output of the graph; NULL: it is none. */
static const char *output_name(const Export *export, const BurnPrimitive *x) {
  for (size_t i = 0; i < export->trace->output_count; i++) {
    if (burn_tensor_primitive(export->trace->outputs[i]) == x) return export->source->options->output_names[i];
  }
  return NULL;
}

static const char *parameter_path(const Export *export, const BurnPrimitive *x) {
  for (size_t i = 0; i < export->trace->parameter_count; i++) {
    if (burn_tensor_primitive(export->trace->parameters[i].value) == x) return export->trace->parameters[i].path;
  }
  return NULL;
}

static void *read_bytes(const ExportTrace *trace, const BurnPrimitive *x, size_t *bytes, BurnStatus *status) {
  *bytes = (size_t)burn_primitive_count(x) * burn_dtype_bytes(x->dtype);
  void *data = malloc(*bytes + 1);
  *status = !data         ? burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for a constant")
            : *bytes == 0 ? BURN_OK
                          : trace->backend->read(trace->backend->self, (BurnPrimitive *)(uintptr_t)x, data, *bytes);
  return data;
}

/* A constant has the same bits in both runs. */
static void check_constant(Export *export, const ExportValue *value, const char *op) {
  if (!export->other || !value->other) return;
  size_t bytes = 0, others = 0;
  BurnStatus status = BURN_OK, second = BURN_OK;
  void *a = read_bytes(export->trace, value->primitive, &bytes, &status);
  void *b = read_bytes(export->other, value->other, &others, &second);
  if (status == BURN_OK) status = second;
  if (status == BURN_OK && (bytes != others || memcmp(a, b, bytes) != 0))
    status = burn_status_make(BURN_STATUS_INVALID_ARGUMENT,
                              "%s reads values that the forward pass made from the size of the batch: compute them "
                              "from the inputs, or export without dynamic_batch",
                              op);
  free(a);
  free(b);
  export_fail(export, status);
}

/* The name of a value that is there, as an initializer if it is a constant. */
static const char *name_value(Export *export, ExportValue *value, const char *op) {
  if (value->name) return value->name;
  value->name = value->kind == EXPORT_PARAMETER ? parameter_path(export, value->primitive) : NULL;
  if (!value->name) {
    if (value->kind != EXPORT_CONSTANT) return "";
    check_constant(export, value, op);
    value->name = export_new_name(export, "constant");
  }
  export_initializer(export, value->primitive, value->name);
  return value->name;
}

const char *export_input(Export *export, const ExportCall *c, uint32_t i) {
  ExportValue *value = i < c->call->input_count ? value_of(export, c->call->inputs[i]) : NULL;
  return value ? name_value(export, value, op_name(c->call->op)) : "";
}

const char *export_output(Export *export, const ExportCall *c, uint32_t i) {
  ExportValue *value = value_of(export, c->call->outputs[i]);
  if (!value) return "";
  const char *wanted = output_name(export, value->primitive);
  value->name = wanted ? wanted : export_between(export, c);
  return value->name;
}

const char *export_between(Export *export, const ExportCall *c) {
  return export_new_name(export, op_name(c->call->op));
}

bool export_output_needed(const Export *export, const ExportCall *c, uint32_t i) {
  const ExportValue *value = value_of(export, c->call->outputs[i]);
  return value && value->needed;
}

BurnTensorDesc export_desc(const ExportCall *c, uint32_t input) { return burn_primitive_desc(c->call->inputs[input]); }

/* -- calls ------------------------------------------------------------------------------------- */

void export_unsupported(Export *export, const ExportCall *c) {
  export->unsupported[c->call->op < BURN_OP_LIMIT ? c->call->op : BURN_OP_LIMIT]++;
}

static void write_call(Export *export, const ExportCall *c) {
  const ExportRow *row = export_row(c->call->op);
  if (!row) {
    export_unsupported(export, c);
  } else if (c->other && !attrs_fit(c)) {
    export_fail(export, burn_status_make(BURN_STATUS_INVALID_ARGUMENT,
                                         "%s has attributes that depend on the size of the batch; export without "
                                         "dynamic_batch",
                                         op_name(c->call->op)));
  } else {
    row->map(export, c);
  }
}

static void write_calls(Export *export) {
  for (uint64_t i = 0; i < export->trace->count && export->status == BURN_OK; i++) {
    const ExportCall c = call_of(export, i);
    if (makes(export, &c)) write_call(export, &c);
  }
}

/* All ops without a counterpart in one message. */
static void tell_unsupported(Export *export) {
  enum { BYTES = 800 };
  char list[BYTES] = "";
  size_t length = 0;
  for (uint32_t op = 0; op <= BURN_OP_LIMIT; op++) {
    if (export->unsupported[op] == 0 || length + 80 > BYTES) continue;
    length += (size_t)snprintf(list + length, BYTES - length, "%s%.40s (%u)", length ? ", " : "",
                               op < BURN_OP_LIMIT ? op_name(op) : "ops of kernel packs", export->unsupported[op]);
  }
  if (length > 0)
    export_fail(export,
                burn_status_make(BURN_STATUS_UNIMPLEMENTED,
                                 "these ops, with the number of their calls, have no counterpart in ONNX: %s", list));
}

/* An output that no call has written under its name: an input, a parameter, a constant, or one that is given twice. */
static void write_outputs(Export *export) {
  for (size_t i = 0; i < export->trace->output_count && export->status == BURN_OK; i++) {
    const BurnPrimitive *x = burn_tensor_primitive(export->trace->outputs[i]);
    const char *wanted = export->source->options->output_names[i];
    const BurnPrimitive *other = export->other ? burn_tensor_primitive(export->other->outputs[i]) : NULL;
    const char *name = name_value(export, put(export, x, other, EXPORT_CONSTANT, NULL), "an output");
    if (strcmp(name, wanted) != 0) export_node(export, "Identity", &name, 1, wanted);
  }
}

/* -- the message ------------------------------------------------------------------------------- */

/* An axis that differs between the runs: "batch", or of any size where it is only made from it. */
static Onnx__TensorShapeProto__Dimension *dimension(Export *export, const BurnPrimitive *x, const BurnPrimitive *other,
                                                    uint32_t axis) {
  Onnx__TensorShapeProto__Dimension *dim = export_take(export, 1, sizeof *dim);
  if (!dim) return NULL;
  onnx__tensor_shape_proto__dimension__init(dim);
  if (!other || other->shape[axis] == x->shape[axis]) {
    dim->has_dim_value = true;
    dim->dim_value = x->shape[axis];
  } else if (x->shape[axis] == burn_dim(export->trace->inputs[0], 0)) {
    dim->dim_param = onnx_arena_text(&export->arena, "batch");
  }
  return dim;
}

static Onnx__ValueInfoProto *describe(Export *export, const char *name, const BurnTensor *tensor,
                                      const BurnTensor *other) {
  const BurnPrimitive *x = burn_tensor_primitive(tensor), *y = other ? burn_tensor_primitive(other) : NULL;
  Onnx__ValueInfoProto *info = export_take(export, 1, sizeof *info);
  Onnx__TypeProto *type = export_take(export, 1, sizeof *type);
  Onnx__TypeProto__Tensor *proto = export_take(export, 1, sizeof *proto);
  Onnx__TensorShapeProto *shape = export_take(export, 1, sizeof *shape);
  Onnx__TensorShapeProto__Dimension **dims = export_take(export, x->rank, sizeof(Onnx__TensorShapeProto__Dimension *));
  if (!info || !type || !proto || !shape || !dims) return NULL;
  onnx__value_info_proto__init(info);
  onnx__type_proto__init(type);
  onnx__type_proto__tensor__init(proto);
  onnx__tensor_shape_proto__init(shape);
  for (uint32_t i = 0; i < x->rank; i++) dims[i] = dimension(export, x, y, i);
  shape->dim = dims;
  shape->n_dim = x->rank;
  proto->has_elem_type = true;
  proto->elem_type = export_dtype(x->dtype);
  proto->shape = shape;
  type->tensor_type = proto;
  info->type = type;
  info->name = onnx_arena_text(&export->arena, name);
  return info;
}

static Onnx__ValueInfoProto **describe_all(Export *export, const char *const *names, BurnTensor *const *tensors,
                                           BurnTensor *const *others, size_t count) {
  Onnx__ValueInfoProto **infos = export_take(export, count, sizeof(Onnx__ValueInfoProto *));
  for (size_t i = 0; infos && i < count; i++)
    infos[i] = describe(export, names[i], tensors[i], others ? others[i] : NULL);
  return infos;
}

static Onnx__GraphProto *graph_message(Export *export) {
  const ExportTrace *trace = export->trace, *other = export->other;
  const BurnOnnxSave *options = export->source->options;
  Onnx__GraphProto *graph = export_take(export, 1, sizeof *graph);
  if (!graph) return NULL;
  onnx__graph_proto__init(graph);
  graph->name = onnx_arena_text(&export->arena, "burn");
  graph->node = (Onnx__NodeProto **)(void *)export->nodes.items;
  graph->n_node = export->nodes.count;
  graph->initializer = (Onnx__TensorProto **)(void *)export->initializers.items;
  graph->n_initializer = export->initializers.count;
  graph->input =
      describe_all(export, options->input_names, trace->inputs, other ? other->inputs : NULL, trace->input_count);
  graph->n_input = trace->input_count;
  graph->output =
      describe_all(export, options->output_names, trace->outputs, other ? other->outputs : NULL, trace->output_count);
  graph->n_output = trace->output_count;
  return graph;
}

static Onnx__ModelProto *model_message(Export *export) {
  Onnx__ModelProto *model = export_take(export, 1, sizeof *model);
  Onnx__OperatorSetIdProto *opset = export_take(export, 1, sizeof *opset),
                           **opsets = export_take(export, 1, sizeof *opsets);
  if (!model || !opset || !opsets) return NULL;
  onnx__operator_set_id_proto__init(opset);
  opset->has_version = true;
  opset->version = BURN_ONNX_SAVE_OPSET;
  opsets[0] = opset;
  onnx__model_proto__init(model);
  model->has_ir_version = true;
  model->ir_version = IR_VERSION;
  model->producer_name = onnx_arena_text(&export->arena, "burn");
  model->producer_version = onnx_arena_text(&export->arena, burn_version());
  model->opset_import = opsets;
  model->n_opset_import = 1;
  model->graph = graph_message(export);
  return model;
}

Onnx__ModelProto *export_model(Export *export, const ExportSource *source, const ExportTrace *trace,
                               const ExportTrace *other) {
  *export = (Export){.source = source, .trace = trace, .other = other};
  compare_runs(export);
  if (export->status != BURN_OK || !make_table(export)) return NULL;
  take_names(export);
  put_leaves(export);
  put_values(export);
  mark_needed(export);
  write_calls(export);
  tell_unsupported(export);
  if (export->status == BURN_OK) write_outputs(export);
  Onnx__ModelProto *model = export->status == BURN_OK ? model_message(export) : NULL;
  return export->status == BURN_OK ? model : NULL;
}

void export_release(Export *export) {
  onnx_arena_release(&export->arena);
  onnx_names_release(&export->names);
  free(export->values);
  free(export->nodes.items);
  free(export->initializers.items);
}
