/* onnx_graph_strings.c - strings that go into a graph and come out of it. */
#include "onnx_graph.h"
#include "onnx_strings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool onnx_graph_strings_init(BurnGraph *graph) {
  const OnnxBody *body = graph->program->body;
  graph->strings = calloc(body->input_count + 1, sizeof *graph->strings);
  graph->results = calloc(body->output_count + 1, sizeof *graph->results);
  if (graph->strings && graph->results) return true;
  free(graph->strings);
  free(graph->results);
  return false;
}

void onnx_graph_forget_strings(BurnGraph *graph) {
  for (uint32_t i = 0; i < graph->program->body->output_count; i++) {
    onnx_strings_release(graph->results[i]);
    graph->results[i] = NULL;
  }
}

void onnx_graph_strings_release(BurnGraph *graph) {
  onnx_graph_forget_strings(graph);
  for (uint32_t i = 0; i < graph->program->body->input_count; i++) onnx_strings_release(graph->strings[i]);
  free(graph->strings);
  free(graph->results);
}

/* Copies, checked; NULL with *status. */
static OnnxStrings *copies(const char *what, const char *const *strings, size_t count, BurnShape shape,
                           BurnStatus *status) {
  OnnxStringsBuilder builder = ONNX_STRINGS_BUILDER;
  OnnxStrings *made = NULL;
  for (size_t i = 0; i < count && *status == BURN_OK; i++) {
    if (strings && strings[i]) {
      const size_t bytes = strlen(strings[i]);
      *status = onnx_check_string(what, i, strings[i], bytes);
      onnx_add_string(&builder, strings[i], bytes);
    } else {
      *status = burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%s: string %zu is NULL", what, i);
    }
  }
  if (*status == BURN_OK) {
    made = onnx_build_strings(&builder, shape);
    if (!made) *status = burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "%s: " ONNX_NO_STRINGS, what, count);
  }
  onnx_builder_release(&builder);
  return made;
}

static BurnStatus check_shape(const BurnGraph *graph, uint32_t i, const char *what, BurnShape shape) {
  const BurnGraphValue value = burn_graph_input(graph, i);
  if (!value.strings) return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%s has no strings", what);
  if (onnx_shape_fits(&value, shape, graph->program->free_batch)) return BURN_OK;
  BurnShape wanted = {value.rank, {0}};
  for (uint32_t k = 0; k < value.rank; k++) wanted.dims[k] = value.dims[k];
  return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%s: strings %s, expected %s (-1: any size)", what,
                          burn_shape_text(shape).text, burn_shape_text(wanted).text);
}

BurnStatus burn_graph_set_strings(BurnGraph *graph, const char *input, const char *const *strings, BurnShape shape) {
  if (!graph) return onnx_no_graph();
  const OnnxBody *body = graph->program->body;
  const uint32_t at = onnx_find_slot(body, body->inputs, body->input_count, input);
  char what[320];
  size_t count = 0;
  if (at == ONNX_NONE) return onnx_no_such_slot(graph, "input", body->inputs, body->input_count, input);
  snprintf(what, sizeof what, "%.120s: input '%.120s'", graph->program->label, input);
  if (shape.rank < 1 || shape.rank > BURN_MAX_RANK || !onnx_count_elements(shape.dims, shape.rank, &count)) {
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%s: strings of %u axes, negative or too large", what,
                            shape.rank);
  }
  BurnStatus status = check_shape(graph, at, what, shape);
  OnnxStrings *made = status == BURN_OK ? copies(what, strings, count, shape, &status) : NULL;
  if (!made) return status;
  onnx_strings_release(graph->strings[at]);
  graph->strings[at] = made;
  return BURN_OK;
}

const char *const *burn_graph_strings(const BurnGraph *graph, const char *output, BurnShape *shape) {
  if (!graph) return NULL;
  const OnnxBody *body = graph->program->body;
  const uint32_t at = onnx_find_slot(body, body->outputs, body->output_count, output);
  const OnnxStrings *strings = at == ONNX_NONE ? NULL : graph->results[at];
  if (strings && shape) *shape = strings->shape;
  return strings ? strings->items : NULL;
}
