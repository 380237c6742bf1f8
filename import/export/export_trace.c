/* export_trace.c - a forward pass on a device with a recorder: its calls, and the tensors of the module by name. */
#include "export.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STACK_BYTES = 512 };

/* "recorder<ndarray>" above what the example is on. */
static BurnStatus open_device(ExportTrace *trace, const ExportSource *source) {
  const char *below = source->options->stack;
  BurnDevice *device = burn_tensor_device(source->inputs[0]);
  char stack[STACK_BYTES];
  if (!below) below = burn_device_name(burn_device_inner(device));
  if (snprintf(stack, sizeof stack, "recorder<%s>", below) >= STACK_BYTES)
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "the stack %.80s.. is longer than %d bytes", below,
                            STACK_BYTES - 12);
  trace->device = burn_device_open(stack);
  const BurnStatus status = burn_device_status(trace->device);
  if (status != BURN_OK) return status;
  BurnInterface found = {NULL, NULL};
  trace->backend = burn_device_backend(trace->device);
  if (!trace->backend->get_interface(trace->backend->self, BURN_RECORDER_INTERFACE, 1, &found))
    return burn_status_make(BURN_STATUS_INTERNAL, "the decorator recorder has no interface " BURN_RECORDER_INTERFACE);
  trace->table = found.table;
  trace->self = found.self;
  return BURN_OK;
}

/* So many items of x along axis 0, its own over and over. */
static BurnTensor *items_of(BurnTensor *x, int64_t items) {
  BurnTensor *parts[EXPORT_OTHER_BATCH] = {NULL};
  const int64_t own = burn_dim(x, 0);
  for (int64_t i = 0; i < items; i++) parts[i] = burn_narrow(burn_clone(x), 0, i % own, 1);
  burn_drop(x);
  return burn_cat(parts, (size_t)items, 0);
}

static BurnStatus take_inputs(ExportTrace *trace, const ExportSource *source, int64_t items) {
  const int64_t batch = burn_dim(source->inputs[0], 0);
  if (items > 0 && batch < 1)
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "the example has no items along axis 0");
  for (size_t i = 0; i < source->input_count; i++) {
    BurnTensor *x = burn_to_device(burn_inner(burn_clone(source->inputs[i])), trace->device);
    if (items > 0 && burn_dim(source->inputs[i], 0) == batch) x = items_of(x, items);
    trace->inputs[i] = x;
    const BurnStatus status = burn_tensor_status(x);
    if (status != BURN_OK) return status;
  }
  return BURN_OK;
}

static BurnStatus add_parameter(void *context, const BurnModuleTensor *tensor) {
  ExportTrace *trace = context;
  ExportParameter *wider = realloc(trace->parameters, (trace->parameter_count + 1) * sizeof *wider);
  if (!wider) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for the names of the parameters");
  trace->parameters = wider;
  const size_t bytes = strlen(tensor->path) + 1;
  char *path = malloc(bytes);
  if (!path) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for the names of the parameters");
  memcpy(path, tensor->path, bytes);
  BurnTensor *value = tensor->param ? burn_clone(tensor->param->value) : burn_buffer_value(tensor->buffer);
  wider[trace->parameter_count++] = (ExportParameter){path, value};
  return burn_tensor_status(value);
}

static BurnStatus copy_module(ExportTrace *trace, const ExportSource *source) {
  if (source->graph) {
    trace->graph = burn_graph_fork(source->graph, trace->device);
    if (!trace->graph) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for a copy of the graph");
    burn_graph_set_training(trace->graph, false);
    return burn_module_visit(burn_graph_module(trace->graph), add_parameter, trace);
  }
  trace->module = calloc(1, source->module.type->bytes + 1);
  if (!trace->module) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for a copy of the module");
  burn_module_fork(source->module, trace->device, trace->module);
  trace->type = source->module.type;
  const BurnModule copy = {trace->type, trace->module};
  const BurnStatus status = burn_module_status(copy);
  return status == BURN_OK ? burn_module_visit(copy, add_parameter, trace) : status;
}

static BurnStatus forward(ExportTrace *trace, const ExportSource *source) {
  BurnTensor **given = calloc(source->input_count, sizeof(BurnTensor *));
  if (!given) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory");
  for (size_t i = 0; i < source->input_count; i++) given[i] = burn_clone(trace->inputs[i]);
  const BurnStatus status =
      trace->graph ? burn_graph_run(trace->graph, given, source->input_count, trace->outputs, source->output_count)
                   : source->forward(source->context, trace->module, given, trace->outputs);
  free(given);
  return status;
}

static BurnStatus check_outputs(const ExportTrace *trace) {
  for (size_t i = 0; i < trace->output_count; i++) {
    if (!trace->outputs[i])
      return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "the forward pass left output %zu NULL", i);
    const BurnStatus status = burn_tensor_status(trace->outputs[i]);
    if (status != BURN_OK) return burn_status_annotate(status, "output %zu", i);
    if (burn_tensor_device(trace->outputs[i]) != trace->device)
      return burn_status_make(BURN_STATUS_INVALID_ARGUMENT,
                              "output %zu is on %s, the inputs are on %s: the forward pass must compute on the device "
                              "of its inputs",
                              i, burn_device_name(burn_tensor_device(trace->outputs[i])),
                              burn_device_name(trace->device));
  }
  return BURN_OK;
}

static BurnStatus record(ExportTrace *trace, const ExportSource *source) {
  size_t count = 0;
  const ExportRow *rows = export_rows(&count);
  uint32_t ops[BURN_OP_LIMIT];
  for (size_t i = 0; i < count && i < BURN_OP_LIMIT; i++) ops[i] = rows[i].op;
  BurnStatus status = trace->table->begin(trace->self, ops, count);
  if (status != BURN_OK) return status;
  status = forward(trace, source);
  const BurnStatus ended = trace->table->end(trace->self);
  if (status == BURN_OK) status = ended;
  trace->count = trace->table->count(trace->self);
  return status == BURN_OK ? check_outputs(trace) : status;
}

BurnStatus export_trace_make(ExportTrace *trace, const ExportSource *source, int64_t items) {
  *trace = (ExportTrace){.input_count = source->input_count, .output_count = source->output_count};
  trace->inputs = calloc(source->input_count, sizeof(BurnTensor *));
  trace->outputs = calloc(source->output_count, sizeof(BurnTensor *));
  if (!trace->inputs || !trace->outputs) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory");
  BurnStatus status = open_device(trace, source);
  if (status == BURN_OK) status = take_inputs(trace, source, items);
  if (status == BURN_OK) status = copy_module(trace, source);
  return status == BURN_OK ? record(trace, source) : status;
}

void export_trace_release(ExportTrace *trace) {
  if (trace->table) trace->table->forget(trace->self);
  for (size_t i = 0; trace->inputs && i < trace->input_count; i++) burn_drop(trace->inputs[i]);
  for (size_t i = 0; trace->outputs && i < trace->output_count; i++) burn_drop(trace->outputs[i]);
  for (size_t i = 0; i < trace->parameter_count; i++) {
    burn_drop(trace->parameters[i].value);
    free(trace->parameters[i].path);
  }
  if (trace->type) burn_module_release((BurnModule){trace->type, trace->module});
  burn_graph_release(trace->graph);
  free(trace->module);
  free(trace->inputs);
  free(trace->outputs);
  free(trace->parameters);
  burn_device_close(trace->device);
  *trace = (ExportTrace){.device = NULL};
}
