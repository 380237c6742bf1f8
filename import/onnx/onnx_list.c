/* onnx_list.c - sequences of tensors or strings. */
#include "onnx_strings.h"

#include <stdlib.h>

OnnxList *onnx_list_new(size_t count) {
  OnnxList *list = calloc(1, sizeof *list);
  if (!list) return NULL;
  *list = (OnnxList){.references = 1,
                     .count = count,
                     .items = calloc(count + 1, sizeof *list->items),
                     .strings = calloc(count + 1, sizeof *list->strings),
                     .scalar = calloc(count + 1, sizeof *list->scalar)};
  if (list->items && list->strings && list->scalar) return list;
  list->count = 0;
  onnx_list_release(list);
  return NULL;
}

OnnxList *onnx_list_retain(OnnxList *list) {
  if (list) list->references++;
  return list;
}

void onnx_list_release(OnnxList *list) {
  if (!list || --list->references > 0) return;
  for (size_t i = 0; i < list->count; i++) {
    burn_drop(list->items[i]);
    onnx_strings_release(list->strings[i]);
  }
  free(list->items);
  free(list->strings);
  free(list->scalar);
  free(list);
}

void onnx_give_list(OnnxNode *node, size_t i, OnnxList *list) {
  if (onnx_wants_output(node, i) && !node->output_lists[i]) {
    node->output_lists[i] = list;
  } else {
    onnx_list_release(list);
  }
}

void onnx_value_release(OnnxValue *value) {
  burn_drop(value->tensor);
  onnx_list_release(value->list);
  onnx_strings_release(value->strings);
  *value = (OnnxValue){0};
}
