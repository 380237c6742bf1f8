/* export_save.c - the public functions: what is given is checked, run, and written as a file. */
#include "export.h"
#include "path_check.h"

#include <burn/file.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FILE = INT32_MAX }; /* of a protobuf message */

static BurnStatus check_source(const ExportSource *source) {
  if (source->input_count == 0 || source->output_count == 0)
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%zu inputs and %zu outputs were given: at least one of each",
                            source->input_count, source->output_count);
  for (size_t i = 0; i < source->input_count; i++) {
    if (!source->inputs[i]) return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "input %zu is NULL", i);
    const BurnStatus status = burn_tensor_status(source->inputs[i]);
    if (status != BURN_OK) return burn_status_annotate(status, "input %zu", i);
  }
  return BURN_OK;
}

/* One message with all parameters in it: data in other files are not written. */
static BurnStatus write_model(const char *path, const Onnx__ModelProto *model) {
  const size_t bytes = onnx__model_proto__get_packed_size(model);
  if (bytes > MAX_FILE)
    return burn_status_make(BURN_STATUS_UNIMPLEMENTED, "the model has %zu bytes, and an ONNX file at most %d", bytes,
                            MAX_FILE);
  uint8_t *packed = malloc(bytes + 1);
  if (!packed) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for %zu bytes", bytes);
  (void)onnx__model_proto__pack(model, packed);
  const BurnStatus status = burn_file_write(path, packed, bytes);
  free(packed);
  return status;
}

static BurnStatus save(const char *path, const ExportSource *source) {
  ExportTrace trace = {.device = NULL}, other = {.device = NULL};
  Export export = {.source = source};
  const bool dynamic = source->options->dynamic_batch;
  BurnStatus status = export_trace_make(&trace, source, dynamic ? EXPORT_BATCH : 0);
  if (status == BURN_OK && dynamic) status = export_trace_make(&other, source, EXPORT_OTHER_BATCH);
  if (status == BURN_OK) {
    const Onnx__ModelProto *model = export_model(&export, source, &trace, dynamic ? &other : NULL);
    status = model ? write_model(path, model) : export.status;
  }
  export_release(&export);
  export_trace_release(&other);
  export_trace_release(&trace);
  return status;
}

/* "input", or "input_0", "input_1" ..; NULL without memory. The names are the arena's. */
static const char *const *default_names(OnnxArena *arena, const char *what, size_t count) {
  const char **names = onnx_arena_take(arena, count, sizeof *names);
  char name[32];
  for (size_t i = 0; names && i < count; i++) {
    (void)snprintf(name, sizeof name, count == 1 ? "%s" : "%s_%zu", what, i);
    names[i] = onnx_arena_text(arena, name);
    if (!names[i]) return NULL;
  }
  return names;
}

static const char *const *graph_names(OnnxArena *arena, const BurnGraph *graph, bool inputs, size_t count) {
  const char **names = onnx_arena_take(arena, count, sizeof *names);
  for (size_t i = 0; names && i < count; i++)
    names[i] = inputs ? burn_graph_input(graph, i).name : burn_graph_output(graph, i).name;
  return names;
}

static BurnStatus save_named(const char *path, ExportSource *source, const BurnOnnxSave *given) {
  BurnOnnxSave options = given ? *given : (BurnOnnxSave){.input_names = NULL};
  OnnxArena arena = {NULL};
  BurnStatus status = burn__path_check("export", path);
  if (status == BURN_OK) status = check_source(source);
  if (status == BURN_OK) status = burn_file_check_new(path, options.overwrite);
  const BurnGraph *graph = source->graph;
  const size_t inputs = source->input_count, outputs = source->output_count;
  if (!options.input_names)
    options.input_names = graph ? graph_names(&arena, graph, true, inputs) : default_names(&arena, "input", inputs);
  if (!options.output_names)
    options.output_names =
        graph ? graph_names(&arena, graph, false, outputs) : default_names(&arena, "output", outputs);
  source->options = &options;
  if (status == BURN_OK && (!options.input_names || !options.output_names))
    status = burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for names");
  if (status == BURN_OK) status = save(path, source);
  for (size_t i = 0; i < inputs; i++) burn_drop(source->inputs[i]);
  onnx_arena_release(&arena);
  return burn__path_annotate(status, "export", path);
}

BurnStatus burn_onnx_save(const char *path, BurnModule module, BurnOnnxForward forward, void *context,
                          BurnTensor *const *inputs, size_t input_count, size_t output_count,
                          const BurnOnnxSave *options) {
  ExportSource source = {.module = module,
                         .forward = forward,
                         .context = context,
                         .inputs = inputs,
                         .input_count = input_count,
                         .output_count = output_count};
  return save_named(path, &source, options);
}

BurnStatus burn_onnx_save_graph(const char *path, const BurnGraph *graph, BurnTensor *const *inputs, size_t input_count,
                                const BurnOnnxSave *options) {
  ExportSource source = {
      .graph = graph, .inputs = inputs, .input_count = input_count, .output_count = burn_graph_output_count(graph)};
  return save_named(path, &source, options);
}
