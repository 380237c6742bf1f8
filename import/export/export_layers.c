/* export_layers.c - products, convolutions, pools and norms in ONNX. */
#include "export.h"

#include <string.h>

/* Gemm has matrices only. */
EXPORT_MAP(linear) {
  const char *x = export_input(export, c, 0), *weight = export_input(export, c, 1), *bias = export_input(export, c, 2);
  if (export_desc(c, 0).rank == 2) {
    export_node(export, c->op, (const char *const[]){x, weight, bias}, 3, export_output(export, c, 0));
  } else if (!bias[0]) {
    export_node(export, "MatMul", (const char *const[]){x, weight}, 2, export_output(export, c, 0));
  } else {
    const char *product = export_step(export, c, "MatMul", x, weight);
    export_node(export, "Add", (const char *const[]){product, bias}, 2, export_output(export, c, 0));
  }
}

/* As many elements before as after. */
static void set_padding(Export *export, Onnx__NodeProto *node, const BurnAttr *padding) {
  int64_t pads[2 * BURN_MAX_RANK];
  memcpy(pads, padding->value.i64s, padding->count * sizeof *pads);
  memcpy(pads + padding->count, padding->value.i64s, padding->count * sizeof *pads);
  export_set_ints(export, node, "pads", pads, 2 * (size_t)padding->count);
}

static const BurnAttr *attr_of(const ExportCall *c, const char *name) {
  const BurnOpInfo *info = burn_op_info(c->call->op);
  for (uint32_t i = 0; i < c->call->attr_count; i++) {
    if (strcmp(info->attr_names[i], name) == 0) return &c->call->attrs[i];
  }
  return NULL;
}

static void set_ints(Export *export, Onnx__NodeProto *node, const char *name, const BurnAttr *attr) {
  if (attr) export_set_ints(export, node, name, attr->value.i64s, attr->count);
}

/* Convolutions of two and three axes, transposed ones too; weights lie in ONNX as they do here. */
EXPORT_MAP(conv) {
  const char *inputs[] = {export_input(export, c, 0), export_input(export, c, 1), export_input(export, c, 2)};
  const BurnTensorDesc weight = export_desc(c, 1);
  Onnx__NodeProto *node = export_node(export, c->op, inputs, 3, export_output(export, c, 0));
  export_set_ints(export, node, "kernel_shape", weight.shape + 2, weight.rank - 2);
  set_ints(export, node, "strides", attr_of(c, "stride"));
  set_ints(export, node, "dilations", attr_of(c, "dilation"));
  set_padding(export, node, attr_of(c, "padding"));
  set_ints(export, node, "output_padding", attr_of(c, "padding_out"));
  export_set_int(export, node, "group", attr_of(c, "groups")->value.i64);
}

/* Sizes as ONNX computes them: with ceil_mode there may be a window more than here, which begins in the padding. */
static bool same_windows(const ExportCall *c) {
  const BurnTensorDesc x = export_desc(c, 0), y = c->call->output_descs[0];
  const int64_t *kernel = attr_of(c, "kernel_size")->value.i64s, *stride = attr_of(c, "stride")->value.i64s;
  const int64_t *padding = attr_of(c, "padding")->value.i64s, *dilation = attr_of(c, "dilation")->value.i64s;
  for (uint32_t i = 0; i + 2 < x.rank; i++) {
    const int64_t room = x.shape[i + 2] + 2 * padding[i] - dilation[i] * (kernel[i] - 1) - 1;
    if ((room + stride[i] - 1) / stride[i] + 1 != y.shape[i + 2]) return false;
  }
  return true;
}

/* max_pool2d, max_pool2d_with_indices without the indices, avg_pool2d. */
EXPORT_MAP(pool) {
  const char *x = export_input(export, c, 0);
  const bool ceil_mode = attr_of(c, "ceil_mode")->value.i64 != 0;
  const BurnAttr *counted = attr_of(c, "count_include_pad");
  if ((ceil_mode && !same_windows(c)) || (c->call->output_count > 1 && export_output_needed(export, c, 1))) {
    export_unsupported(export, c);
    return;
  }
  Onnx__NodeProto *node = export_node(export, c->op, &x, 1, export_output(export, c, 0));
  set_ints(export, node, "kernel_shape", attr_of(c, "kernel_size"));
  set_ints(export, node, "strides", attr_of(c, "stride"));
  set_ints(export, node, "dilations", attr_of(c, "dilation"));
  set_padding(export, node, attr_of(c, "padding"));
  export_set_int(export, node, "ceil_mode", ceil_mode);
  if (counted) export_set_int(export, node, "count_include_pad", counted->value.i64);
}

/* Windows of one size, where the input is a multiple of the output. */
EXPORT_MAP(adaptive_pool) {
  const BurnTensorDesc x = export_desc(c, 0), y = c->call->output_descs[0];
  const char *input = export_input(export, c, 0);
  int64_t kernel[BURN_MAX_RANK] = {0};
  bool global = true;
  for (uint32_t i = 2; i < x.rank; i++) {
    if (y.shape[i] == 0 || x.shape[i] % y.shape[i] != 0) {
      export_unsupported(export, c);
      return;
    }
    kernel[i - 2] = x.shape[i] / y.shape[i];
    global = global && y.shape[i] == 1;
  }
  Onnx__NodeProto *node =
      export_node(export, global ? "GlobalAveragePool" : c->op, &input, 1, export_output(export, c, 0));
  if (global) return;
  export_set_ints(export, node, "kernel_shape", kernel, x.rank - 2);
  export_set_ints(export, node, "strides", kernel, x.rank - 2);
}

EXPORT_MAP(layer_norm) {
  const char *inputs[] = {export_input(export, c, 0), export_input(export, c, 1), export_input(export, c, 2)};
  Onnx__NodeProto *node = export_node(export, c->op, inputs, 3, export_output(export, c, 0));
  export_set_int(export, node, "axis", -1);
  export_set_float(export, node, "epsilon", BURN_ATTRS(layer_norm, c->call)->epsilon.value.f64);
}

EXPORT_MAP(batch_norm) {
  const char *inputs[5];
  for (uint32_t i = 0; i < 5; i++) inputs[i] = export_input(export, c, i);
  Onnx__NodeProto *node = export_node(export, c->op, inputs, 5, export_output(export, c, 0));
  export_set_float(export, node, "epsilon", BURN_ATTRS(batch_norm, c->call)->epsilon.value.f64);
}
