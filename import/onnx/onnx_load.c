/* onnx_load.c - models from files and memory. */
#include "onnx_program.h"

#include "onnx_graph.h"
#include "onnx_strings.h"
#include "status_chain.h"

#include <burn/burn.h>
#include <burn/file.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Models themselves are at most 2 GiB: what protobuf allows. More data stand in files beside them. */
#define ONNX_MAX_BYTES ((size_t)1 << 31)

static void release_bodies(OnnxBody *body) {
  for (; body; body = body->made_before) {
    free(body->steps);
    free(body->slots);
    free(body->weights);
    free(body->uses);
    free(body->capture_from);
    free(body->capture_to);
  }
}

static void drop_tensors(OnnxProgram *program) {
  for (uint32_t i = 0; program->tensors && i < program->weight_count; i++) burn_drop(program->tensors[i]);
  free(program->tensors);
  program->tensors = NULL;
}

void onnx_program_release(OnnxProgram *program) {
  if (!program || --program->references > 0) return;
  drop_tensors(program);
  for (uint32_t i = 0; i < program->weight_count; i++) onnx_strings_release(program->weights[i].strings);
  release_bodies(program->bodies);
  free(program->weights);
  onnx_free_model(program->model);
  onnx_arena_release(&program->arena);
  free(program);
}

/* Data that are tensors or strings now are not needed twice. */
static void free_raw_data(Onnx__GraphProto *graph) {
  for (size_t i = 0; i < graph->n_initializer; i++) {
    Onnx__TensorProto *proto = graph->initializer[i];
    free(proto->raw_data.data);
    proto->raw_data = (ProtobufCBinaryData){0, NULL};
    for (size_t k = 0; k < proto->n_string_data; k++) free(proto->string_data[k].data);
    free(proto->string_data);
    proto->string_data = NULL;
    proto->n_string_data = 0;
  }
}

static BurnStatus unsupported(const OnnxProgram *program) {
  char text[3000];
  size_t at = 0;
  for (uint32_t i = 0; i < program->unsupported_count && at < sizeof text - 1; i++) {
    const int wrote = snprintf(text + at, sizeof text - at, "\n  %s (%u node%s: %s): %s", program->unsupported[i],
                               program->unsupported_uses[i], program->unsupported_uses[i] == 1 ? "" : "s",
                               program->unsupported_nodes[i], program->unsupported_reason[i]);
    at += wrote > 0 ? (size_t)wrote : 0;
  }
  return burn_status_make(BURN_STATUS_UNIMPLEMENTED, "%s: %u operator%s not supported:%s", program->label,
                          program->unsupported_count, program->unsupported_count == 1 ? " is" : "s are", text);
}

static OnnxMerge merge_of(const BurnGraphOptions *options, BurnDevice *device) {
  if (options && options->weights == BURN_GRAPH_WEIGHTS_KEPT) return ONNX_KEEP_WEIGHTS;
  if (options && options->weights == BURN_GRAPH_WEIGHTS_MERGED) return ONNX_MERGE_WEIGHTS;
  return burn_device_is_autodiff(device) ? ONNX_KEEP_WEIGHTS : ONNX_MERGE_WEIGHTS;
}

/* From messages to a program that runs. */
static BurnStatus prepare(OnnxProgram *program, const BurnGraphOptions *options) {
  BurnStatus status = onnx_build(program);
  if (status == BURN_OK && program->unsupported_count > 0) status = unsupported(program);
  if (status != BURN_OK) return status;
  free_raw_data(program->model->graph);
  onnx_choose_kinds(program);
  if (!options || !options->no_passes) onnx_passes(program, merge_of(options, program->device));
  return onnx_describe_module(program) ? BURN_OK : burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory");
}

OnnxProgram *onnx_program_new(const void *bytes, size_t count, const char *label, const char *folder,
                              BurnStatus *status) {
  OnnxProgram *program = calloc(1, sizeof *program);
  if (program) {
    program->references = 1;
    program->label = onnx_arena_text(&program->arena, label);
    program->folder = folder ? onnx_arena_text(&program->arena, folder) : NULL;
  }
  if (!program || !program->label || (folder && !program->folder)) {
    *status = burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for %s", label);
  } else {
    program->model = onnx_unpack(bytes, count, program->label, status);
  }
  if (program && program->model) return program;
  onnx_program_release(program);
  return NULL;
}

static BurnGraph *load(const void *bytes, size_t count, const char *label, const char *folder, BurnDevice *device,
                       const BurnGraphOptions *options, BurnStatus *status) {
  *status = burn_device_status(device);
  if (*status != BURN_OK) return NULL;
  OnnxProgram *program = onnx_program_new(bytes, count, label, folder, status);
  if (!program) return NULL;
  program->device = device;
  program->free_batch = options && options->free_batch;
  *status = prepare(program, options);
  BurnGraph *graph = NULL;
  if (*status == BURN_OK) {
    graph = onnx_graph_new(program, device);
    if (!graph) *status = burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for %s", label);
  }
  drop_tensors(program);
  onnx_program_release(program);
  return graph;
}

BurnStatus onnx_read_file(const char *path, uint8_t **bytes, size_t *count, char *folder, size_t room) {
  *bytes = NULL;
  if (!path) return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "no path of an ONNX model was given");
  const BurnStatus status = burn_file_read(path, ONNX_MAX_BYTES, bytes, count);
  if (status != BURN_OK) return burn_status_annotate(status, "%s", path);
  const char *slash = strrchr(path, '/');
  const size_t length = slash ? (size_t)(slash - path) + (slash == path) : 1;
  if (length >= room) return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%s: the path is too long", path);
  memcpy(folder, slash ? path : ".", length);
  folder[length] = 0;
  return BURN_OK;
}

static BurnGraph *load_file(const char *path, BurnDevice *device, const BurnGraphOptions *options, BurnStatus *status) {
  uint8_t *bytes;
  size_t count;
  char folder[4096];
  *status = onnx_read_file(path, &bytes, &count, folder, sizeof folder);
  const char *slash = path ? strrchr(path, '/') : NULL;
  BurnGraph *graph =
      *status == BURN_OK ? load(bytes, count, slash ? slash + 1 : path, folder, device, options, status) : NULL;
  free(bytes);
  return graph;
}

BurnGraph *burn_onnx_load_with(const char *path, BurnDevice *device, const BurnGraphOptions *options,
                               BurnStatus *status) {
  BurnStatus result = burn__entry_status(status);
  BurnGraph *graph = result == BURN_OK ? load_file(path, device, options, &result) : NULL;
  burn__store_status(status, result);
  return graph;
}

BurnGraph *burn_onnx_load(const char *path, BurnDevice *device, BurnStatus *status) {
  return burn_onnx_load_with(path, device, NULL, status);
}

BurnGraph *burn_onnx_read(const void *bytes, size_t count, BurnDevice *device, const BurnGraphOptions *options,
                          BurnStatus *status) {
  const char *label = options && options->label ? options->label : "model";
  BurnStatus result = burn__entry_status(status);
  if (result == BURN_OK && !bytes)
    result = burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "no bytes of an ONNX model were given");
  BurnGraph *graph = result == BURN_OK ? load(bytes, count, label, NULL, device, options, &result) : NULL;
  burn__store_status(status, result);
  return graph;
}
