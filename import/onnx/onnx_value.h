/* onnx_value.h - values that need not be tensors, for the mappings of sequences, optionals and control flow. */
#ifndef BURN_ONNX_VALUE_H
#define BURN_ONNX_VALUE_H

#include "onnx_node.h"

/* Input i as it is: a new handle to its tensor, strings or sequence, or nothing. */
OnnxValue onnx_input_value(const OnnxNode *node, size_t i);
/* Gives it as output i; takes the contents. */
void onnx_give_value(OnnxNode *node, size_t i, OnnxValue value);

/* Item i as a value; a new handle. */
OnnxValue onnx_item(const OnnxList *list, size_t i);
/* Takes the tensor or strings of the value as item i, which is nothing. */
void onnx_put_item(OnnxList *list, size_t i, OnnxValue value);
/* onnx_list_new; without memory the node fails, and it is NULL. */
OnnxList *onnx_new_list(OnnxNode *node, size_t count);

#endif
