/* onnx_control.c - ONNX operators that run subgraphs. */
#include "onnx_node.h"

/* One of two graphs without inputs, which see the names around them. */
MAP(If) {
  const Onnx__AttributeProto *branch =
      onnx_attribute(node, onnx_input_number(node, 0, 0) != 0 ? "then_branch" : "else_branch");
  const size_t count = node->proto->n_output;
  OnnxValue outputs[ONNX_MAX_VALUES];
  if (!branch || !branch->g) {
    onnx_not_mapped(node, "the branch is no graph");
    return;
  }
  onnx_fail(node, onnx_run_subgraph(node, branch->g, NULL, 0, outputs, count));
  for (size_t i = 0; i < count; i++) {
    if (outputs[i].list) onnx_give_list(node, i, outputs[i].list);
    if (!outputs[i].tensor) continue;
    onnx_give_rank(node, i, outputs[i].tensor, outputs[i].scalar ? ONNX_RANK_0 : ONNX_RANK_MORE);
    node->output_types[i] = outputs[i].type;
  }
}
