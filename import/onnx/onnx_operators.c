/* onnx_operators.c - the table of operators. */
#include "onnx_operators.h"

#include <stdio.h>
#include <string.h>

static const OnnxOperator operators[] = {
#define ONNX_OP(name) {#name, onnx_##name, NULL},
#define ONNX_OP_OF(domain, name) {domain "::" #name, onnx_##name, NULL},
#define ONNX_OP_AS(domain, name, mapping) {domain "::" name, onnx_##mapping, NULL},
#define ONNX_ABSENT(name, reason) {name, NULL, reason},
#include "onnx_ops.def"
};

const OnnxOperator *onnx_find_operator(const char *name) {
  for (size_t i = 0; i < sizeof operators / sizeof operators[0]; i++) {
    if (strcmp(operators[i].name, name) == 0) return &operators[i];
  }
  return NULL;
}

void onnx_operator_name(const Onnx__NodeProto *proto, char *name, size_t room) {
  const bool of_domain = proto->domain && proto->domain[0] && strcmp(proto->domain, "ai.onnx") != 0;
  snprintf(name, room, "%s%s%s", of_domain ? proto->domain : "", of_domain ? "::" : "",
           proto->op_type ? proto->op_type : "");
}

uint32_t onnx_least_inputs(const char *op) {
  static const struct {
    const char *op;
    uint32_t count;
  } least[] = {
#define ONNX_LEAST(op, count) {op, count},
#include "onnx_least.def"
  };
  for (size_t i = 0; i < sizeof least / sizeof least[0]; i++) {
    if (strcmp(least[i].op, op) == 0) return least[i].count;
  }
  return 1;
}
