/* onnx_operators.h - the table of operators that onnx_ops.def lists. */
#ifndef BURN_ONNX_OPERATORS_H
#define BURN_ONNX_OPERATORS_H

#include "onnx_node.h"

enum { ONNX_OPERATOR_NAME = 128 };

typedef struct OnnxOperator {
  const char *name;            /* with the domain before it, "ai.onnx.ml::Binarizer", unless that is the default one */
  void (*map)(OnnxNode *node); /* NULL: not here */
  const char *reason;          /* why it is not */
} OnnxOperator;

/* NULL if the table has no such operator. */
const OnnxOperator *onnx_find_operator(const char *name);

/* How many inputs an operator of that name needs (onnx_least.def). */
uint32_t onnx_least_inputs(const char *op);

/* The name of a node's operator as the table has it. */
void onnx_operator_name(const Onnx__NodeProto *proto, char *name, size_t room);

#endif
