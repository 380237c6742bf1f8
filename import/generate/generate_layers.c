/* generate_layers.c - operators that are layers of nn: products, convolutions, pools, norms. Their weights must be
 * constant; a layer is named after its weight in the file. */
#include "generate_ops.h"

#include <burn/burn.h>

#include <stdio.h>
#include <string.h>

/* "conv1.weight" -> "conv1"; a weight without a name of its own, or with that of a node, gives it as it is. */
static const char *layer_name(GenerateStep *s, uint32_t weight, const char *otherwise) {
  static const char *const ends[] = {".weight", ".kernel", ".gamma", ".W", "/weight", "_weight", ".scale", ".w"};
  const char *name = s->inputs[weight]->weight;
  if (!name) return s->step->proto->name && s->step->proto->name[0] ? s->step->proto->name : otherwise;
  const size_t length = strlen(name);
  for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
    const size_t end = strlen(ends[i]);
    if (length > end && strcmp(name + length - end, ends[i]) == 0)
      return generate_text(s->g, "%.*s", (int)(length - end), name);
  }
  bool spelled = false; /* "193" is not a name for a layer */
  for (const char *c = name; *c; c++) spelled = spelled || (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z');
  return spelled ? name : generate_text(s->g, "%s_%s", otherwise, name);
}

static bool all_constant(GenerateStep *s, uint32_t first, uint32_t count) {
  for (uint32_t i = first; i < first + count; i++) {
    if (!generate_has(s, i) || s->inputs[i]->kind == GENERATE_CONSTANT) continue;
    generate_refuse(s, "weights that are computed from the inputs");
    return false;
  }
  return true;
}

static void put_weight(GenerateStep *s, const char *field, const char *name, BurnTensor *x) {
  generate_weight(s->g, generate_text(s->g, "%s.%s", field, name), x);
}

static void give_layer(GenerateStep *s, const char *function, const char *field) {
  generate_give(s, 0, generate_text(s->g, "%s_forward(&m->%s, %s)", function, field, generate_use(s, 0)));
}

/* -- products ---------------------------------------------------------------------------------------- */

/* [in, out] and, if there is one, [out], both taken, as a Linear of the input. */
static void linear(GenerateStep *s, uint32_t weight_input, BurnTensor *weight, BurnTensor *bias) {
  Generator *g = s->g;
  const long long in = burn_dim(weight, 0), out = burn_dim(weight, 1);
  const char *name =
      generate_field(s, "BurnLinear", layer_name(s, weight_input, "linear"), generate_text(g, "%lld -> %lld", in, out));
  if (bias) {
    generate_field_init(g, name, generate_text(g, "  m.%s = burn_linear_new(%lld, %lld, device);\n", name, in, out));
    put_weight(s, name, "bias", bias);
  } else {
    generate_field_init(g, name,
                        generate_text(g,
                                      "  BurnLinearConfig %s = BurnLinearConfig_defaults(%lld, %lld);\n"
                                      "  %s.bias = false;\n  m.%s = burn_linear_init(&%s, device);\n",
                                      name, in, out, name, name, name));
  }
  put_weight(s, name, "weight", weight);
  give_layer(s, "burn_linear", name);
}

/* The bias that the only reader of a product adds: [out], with axes of size 1 before. That step is written with it. */
static BurnTensor *added_bias(GenerateStep *s, int64_t out) {
  uint32_t index;
  const OnnxStep *add = generate_reader(s, 0, "Add", &index);
  for (uint32_t i = 0; add && i < 2; i++) {
    const uint32_t slot = add->inputs[i];
    const uint32_t weight = slot == ONNX_NONE ? ONNX_NONE : s->scope->body->weights[slot];
    if (weight == ONNX_NONE) continue;
    GenerateValue *value = generate_weight_value(s->g, weight);
    if (!value || burn_element_count(value->probes[0].tensor) != out) return NULL;
    if (burn_dim(value->probes[0].tensor, -1) != out || generate_rank(value) > generate_rank(s->outputs[0]))
      return NULL;
    s->scope->written[index] = true;
    return burn_reshape(burn_clone(value->probes[0].tensor), BURN_SHAPE(out));
  }
  return NULL;
}

static bool is_float(const GenerateValue *value) { return burn_dtype_kind(generate_dtype(value)) == BURN_KIND_FLOAT; }

WRITE(MatMul) {
  Generator *g = s->g;
  const uint32_t lhs = generate_rank(s->inputs[0]), rhs = generate_rank(s->inputs[1]);
  if (generate_is_constant(s, 1) && rhs == 2 && lhs >= 2 && is_float(s->inputs[0])) {
    BurnTensor *bias = s->node.prepared ? generate_constant(s, 2) : added_bias(s, generate_dim(s->inputs[1], 0, 1));
    linear(s, 1, generate_constant(s, 1), bias);
    return;
  }
  if (lhs < 2 || rhs < 2) generate_refuse(s, "of vectors");
  const uint32_t rank = lhs > rhs ? lhs : rhs;
  const char *x = generate_use_rank(s, 0, rank);
  generate_give(s, 0, generate_text(g, "burn_matmul(%s, %s)", x, generate_use_rank(s, 1, rank)));
}

/* Whether the op attention does what products would: nothing stretches but the mask. Inputs as onnx_pass_attention
 * leaves them: query, key with its last two axes swapped, value, mask. */
static bool attends(const GenerateStep *s) {
  const GenerateValue *q = s->inputs[0], *turned = s->inputs[1], *v = s->inputs[2];
  for (uint32_t p = 0; p < s->g->probes; p++) {
    for (uint32_t i = 0; i < 2; i++) {
      const int64_t dim = generate_dim(q, p, i);
      if (generate_dim(turned, p, i) != dim || generate_dim(v, p, i) != dim) return false;
    }
    const int64_t dims[] = {generate_dim(q, p, 0), generate_dim(q, p, 1), generate_dim(q, p, 2),
                            generate_dim(turned, p, 3)};
    const uint32_t rank = generate_has(s, 3) ? generate_rank(s->inputs[3]) : 0;
    for (uint32_t i = 0; i < rank && i < 4; i++) {
      const int64_t dim = generate_dim(s->inputs[3], p, i);
      if (rank > 4 || (dim != 1 && dim != dims[i + 4 - rank])) return false;
    }
  }
  return true;
}

WRITE(Attention) {
  Generator *g = s->g;
  if (!s->node.prepared) {
    generate_refuse(s, "it is not written as C yet");
    return;
  }
  const char *scale = generate_number(g, onnx_float(&s->node, "scale", 1));
  const bool masked = generate_has(s, 3), whole = attends(s);
  const char *q = generate_use(s, 0), *turned = generate_use(s, 1), *v = generate_use(s, 2);
  const char *mask = masked ? generate_use_rank(s, 3, 4) : "NULL";
  if (whole) {
    const char *options = generate_text(g, "(BurnAttentionOptions){.scale = %s}", scale);
    generate_give(s, 0,
                  generate_text(g, "burn_attention(%s, burn_swap_dims(%s, 2, 3), %s, NULL, %s, %s)", q, turned, v, mask,
                                options));
    return;
  }
  const char *x = generate_text(g, "burn_mul_scalar(burn_matmul(%s, %s), %s)", q, turned, scale);
  if (masked) x = generate_text(g, "burn_add(%s, %s)", x, mask);
  generate_give(s, 0, generate_text(g, "burn_matmul(burn_softmax(%s, -1), %s)", x, v));
}

/* alpha a b + beta c as a Linear; false if b or c is computed, or c is not a bias. */
static bool gemm_layer(GenerateStep *s) {
  const double alpha = onnx_float(&s->node, "alpha", 1), beta = onnx_float(&s->node, "beta", 1);
  if (!generate_is_constant(s, 1) || onnx_int(&s->node, "transA", 0)) return false;
  BurnTensor *weight = generate_constant(s, 1), *bias = NULL;
  if (onnx_int(&s->node, "transB", 0)) weight = burn_transpose(weight);
  const int64_t out = burn_dim(weight, 1);
  if (generate_has(s, 2)) {
    const GenerateValue *c = s->inputs[2];
    const bool fits = c->kind == GENERATE_CONSTANT && burn_element_count(c->probes[0].tensor) == out &&
                      burn_dim(c->probes[0].tensor, -1) == out;
    if (!fits) {
      burn_drop(weight);
      return false;
    }
    bias = burn_reshape(generate_constant(s, 2), BURN_SHAPE(out));
    if (beta != 1) bias = burn_mul_scalar(bias, beta);
  }
  linear(s, 1, alpha == 1 ? weight : burn_mul_scalar(weight, alpha), bias);
  return true;
}

WRITE(Gemm) {
  Generator *g = s->g;
  if (gemm_layer(s)) return;
  const double alpha = onnx_float(&s->node, "alpha", 1), beta = onnx_float(&s->node, "beta", 1);
  const char *a = generate_use(s, 0), *b = generate_use(s, 1);
  if (onnx_int(&s->node, "transA", 0)) a = generate_text(g, "burn_transpose(%s)", a);
  if (onnx_int(&s->node, "transB", 0)) b = generate_text(g, "burn_transpose(%s)", b);
  const char *x = generate_text(g, "burn_matmul(%s, %s)", a, b);
  if (alpha != 1) x = generate_text(g, "burn_mul_scalar(%s, %s)", x, generate_number(g, alpha));
  if (generate_has(s, 2)) {
    const char *c = generate_use_rank(s, 2, 2);
    if (beta != 1) c = generate_text(g, "burn_mul_scalar(%s, %s)", c, generate_number(g, beta));
    x = generate_text(g, "burn_add(%s, %s)", x, c);
  }
  generate_give(s, 0, x);
}

/* -- windows -------------------------------------------------------------------------------------------- */

/* SAME: ceil(in / stride) results; an odd margin is larger at the end (UPPER) or the start. */
static void same(GenerateWindow *w, uint32_t i, int64_t in, bool upper) {
  const int64_t out = (in + w->stride[i] - 1) / w->stride[i];
  const int64_t wanted = (out - 1) * w->stride[i] + (w->kernel[i] - 1) * w->dilation[i] + 1 - in;
  const int64_t total = wanted > 0 ? wanted : 0;
  w->before[i] = upper ? total / 2 : total - total / 2;
  w->after[i] = total - w->before[i];
}

static GenerateWindow window_of_probe(GenerateStep *s, int64_t weight, uint32_t probe) {
  int64_t kernel[ONNX_INTS], stride[ONNX_INTS], dilation[ONNX_INTS], pads[ONNX_INTS];
  GenerateWindow w = {.rank = generate_rank(s->inputs[0]) - 2};
  const bool has_kernel = onnx_ints(&s->node, "kernel_shape", kernel),
             has_stride = onnx_ints(&s->node, "strides", stride);
  const bool has_dilation = onnx_ints(&s->node, "dilations", dilation), has_pads = onnx_ints(&s->node, "pads", pads);
  const bool upper = onnx_is(&s->node, "auto_pad", "NOTSET", "SAME_UPPER");
  const bool lower = onnx_is(&s->node, "auto_pad", "NOTSET", "SAME_LOWER");
  for (uint32_t i = 0; i < w.rank && i < SPATIAL; i++) {
    w.kernel[i] = has_kernel ? kernel[i] : weight >= 0 ? generate_dim(s->inputs[weight], 0, i + 2) : 1;
    w.stride[i] = has_stride ? stride[i] : 1;
    w.dilation[i] = has_dilation ? dilation[i] : 1;
    w.before[i] = has_pads ? pads[i] : 0;
    w.after[i] = has_pads ? pads[i + w.rank] : 0;
    if (upper || lower) same(&w, i, generate_dim(s->inputs[0], probe, i + 2), upper);
  }
  return w;
}

GenerateWindow generate_window(GenerateStep *s, int64_t weight) {
  const uint32_t rank = generate_rank(s->inputs[0]);
  if (rank < 3 || rank > 2 + SPATIAL) {
    generate_refuse(s, "of %u axes", rank);
    return (GenerateWindow){0};
  }
  const GenerateWindow w = window_of_probe(s, weight, 0);
  for (uint32_t p = 1; p < s->g->probes; p++) {
    const GenerateWindow other = window_of_probe(s, weight, p);
    if (memcmp(&w, &other, sizeof w) != 0) generate_refuse(s, "margins that follow from sizes; give sizes");
  }
  if (w.rank == 3 && memcmp(w.before, w.after, sizeof w.before) != 0) generate_refuse(s, "unequal margins of volumes");
  for (uint32_t i = 0; i < w.rank; i++) {
    if (w.before[i] < 0 || w.after[i] < 0) generate_refuse(s, "margins below 0");
  }
  return w;
}

/* "3" or "BURN_SIZE2(3, 3)". */
static const char *sizes_text(Generator *g, const int64_t *sizes, uint32_t rank) {
  const char *list = "";
  for (uint32_t i = 0; i < rank; i++) list = generate_text(g, "%s%s%lld", list, i ? ", " : "", (long long)sizes[i]);
  return rank == 1 ? list : generate_text(g, "BURN_SIZE%u(%s)", rank, list);
}

static bool all_are(const int64_t *sizes, uint32_t rank, int64_t value) {
  for (uint32_t i = 0; i < rank; i++) {
    if (sizes[i] != value) return false;
  }
  return true;
}

/* "  name.stride = ..;\n", or nothing where that is the default. */
static const char *setting(Generator *g, const char *field, const char *name, const int64_t *sizes, uint32_t rank,
                           int64_t usual) {
  if (all_are(sizes, rank, usual)) return "";
  return generate_text(g, "  %s.%s = %s;\n", field, name, sizes_text(g, sizes, rank));
}

static const char *padding(Generator *g, const char *field, const GenerateWindow *w) {
  if (all_are(w->before, w->rank, 0) && all_are(w->after, w->rank, 0)) return "";
  const long long b0 = w->before[0], b1 = w->before[1], b2 = w->before[2], a0 = w->after[0], a1 = w->after[1];
  const char *list = w->rank == 1   ? generate_text(g, "%lld, %lld", b0, a0)
                     : w->rank == 2 ? generate_text(g, "%lld, %lld, %lld, %lld", b0, b1, a0, a1)
                                    : generate_text(g, "%lld, %lld, %lld", b0, b1, b2);
  return generate_text(g, "  %s.padding = (BurnPadding%ud)BURN_PADDING_%uD(%s);\n", field, w->rank, w->rank, list);
}

/* -- convolutions ------------------------------------------------------------------------------------------ */

static void convolution(GenerateStep *s, const char *type, const char *function, const GenerateWindow *w, int64_t in,
                        int64_t out, bool channels_apart, const char *more) {
  Generator *g = s->g;
  const long long groups = onnx_int(&s->node, "group", 1);
  const char *kernel = sizes_text(g, w->kernel, w->rank);
  const char *name = generate_field(s, generate_text(g, "%s%ud", type, w->rank), layer_name(s, 1, "conv"),
                                    generate_text(g, "%lld -> %lld, kernel %s", (long long)in, (long long)out,
                                                  w->rank == 1 ? kernel : kernel + strlen("BURN_SIZE2")));
  const char *channels =
      generate_text(g, channels_apart ? "%lld, %lld" : "BURN_SIZE2(%lld, %lld)", (long long)in, (long long)out);
  const char *text = generate_text(g, "  %s%udConfig %s = %s%udConfig_defaults(%s, %s);\n", type, w->rank, name, type,
                                   w->rank, channels, kernel);
  text = generate_text(g, "%s%s%s", text, setting(g, name, "stride", w->stride, w->rank, 1),
                       setting(g, name, "dilation", w->dilation, w->rank, 1));
  if (groups != 1) text = generate_text(g, "%s  %s.groups = %lld;\n", text, name, groups);
  if (more) {
    text = generate_text(g, "%s%s%s", text, setting(g, name, "padding", w->before, w->rank, 0), more);
  } else {
    text = generate_text(g, "%s%s", text, padding(g, name, w));
  }
  if (!generate_has(s, 2)) text = generate_text(g, "%s  %s.bias = false;\n", text, name);
  function = generate_text(g, "%s%ud", function, w->rank);
  generate_field_init(g, name, generate_text(g, "%s  m.%s = %s_init(&%s, device);\n", text, name, function, name));
  put_weight(s, name, "weight", generate_constant(s, 1));
  if (generate_has(s, 2)) put_weight(s, name, "bias", generate_constant(s, 2));
  give_layer(s, function, name);
}

WRITE(Conv) {
  if (!all_constant(s, 1, 2)) return;
  const GenerateWindow w = generate_window(s, 1);
  if (s->reason[0]) return;
  const int64_t groups = onnx_int(&s->node, "group", 1);
  const int64_t in = generate_dim(s->inputs[1], 0, 1) * groups, out = generate_dim(s->inputs[1], 0, 0);
  convolution(s, "BurnConv", "burn_conv", &w, in, out, w.rank == 1, NULL);
}

WRITE(ConvTranspose) {
  int64_t more[ONNX_INTS] = {0};
  if (!all_constant(s, 1, 2)) return;
  const GenerateWindow w = generate_window(s, 1);
  const bool is_same = !onnx_is(&s->node, "auto_pad", "NOTSET", "NOTSET");
  if (memcmp(w.before, w.after, sizeof w.before) != 0) generate_refuse(s, "unequal margins");
  if (is_same || onnx_attribute(&s->node, "output_shape")) generate_refuse(s, "a result of given shape");
  onnx_ints(&s->node, "output_padding", more);
  if (s->reason[0]) return;
  const int64_t in = generate_dim(s->inputs[1], 0, 0);
  const int64_t out = generate_dim(s->inputs[1], 0, 1) * onnx_int(&s->node, "group", 1);
  if (!all_are(more, w.rank, 0)) generate_refuse(s, "output_padding");
  if (!s->reason[0]) convolution(s, "BurnConvTranspose", "burn_conv_transpose", &w, in, out, false, "");
}

/* -- pools --------------------------------------------------------------------------------------------------- */

/* Whether ours gives as many results as ONNX, also of a last window that ceil_mode adds. */
static bool as_many(const GenerateStep *s, const GenerateWindow *w, bool ceil_mode) {
  for (uint32_t i = 0; i < w->rank; i++) {
    for (uint32_t p = 0; p < s->g->probes; p++) {
      const int64_t all = generate_dim(s->inputs[0], p, i + 2) + w->before[i] + w->after[i];
      const int64_t reach = (w->kernel[i] - 1) * w->dilation[i] + 1, more = ceil_mode ? w->stride[i] - 1 : 0;
      if ((all - reach + more) / w->stride[i] + 1 != generate_dim(s->outputs[0], p, i + 2)) return false;
    }
  }
  return true;
}

static void pool(GenerateStep *s, const char *type, const char *function, const GenerateWindow *w, const char *more) {
  Generator *g = s->g;
  const bool ceil_mode = onnx_int(&s->node, "ceil_mode", 0);
  if (w->rank > 2) generate_refuse(s, "of volumes");
  if (!as_many(s, w, ceil_mode)) generate_refuse(s, "a last window that ours does not have");
  if (!is_float(s->inputs[0])) generate_refuse(s, "of integers");
  if (s->reason[0]) return;
  const char *kernel = sizes_text(g, w->kernel, w->rank);
  const char *name =
      generate_field(s, generate_text(g, "%s%ud", type, w->rank), "pool",
                     generate_text(g, "windows of %s", w->rank == 1 ? kernel : kernel + strlen("BURN_SIZE2")));
  const char *text =
      generate_text(g, "  %s%udConfig %s = %s%udConfig_defaults(%s);\n", type, w->rank, name, type, w->rank, kernel);
  text = generate_text(g, "%s  %s.%s = %s;\n%s", text, name, w->rank == 1 ? "stride" : "strides",
                       sizes_text(g, w->stride, w->rank), padding(g, name, w));
  if (more[0]) text = generate_text(g, "%s  %s.%s;\n", text, name, more);
  if (!all_are(w->dilation, w->rank, 1))
    text = generate_text(g, "%s%s", text, setting(g, name, "dilation", w->dilation, w->rank, 1));
  if (ceil_mode) text = generate_text(g, "%s  %s.ceil_mode = true;\n", text, name);
  function = generate_text(g, "%s%ud", function, w->rank);
  generate_field_init(g, name, generate_text(g, "%s  m.%s = %s_init(&%s, device);\n", text, name, function, name));
  give_layer(s, function, name);
}

WRITE(MaxPool) {
  const GenerateWindow w = generate_window(s, -1);
  if (s->step->output_count > 1 && s->step->outputs[1] != ONNX_NONE) generate_refuse(s, "indices");
  pool(s, "BurnMaxPool", "burn_max_pool", &w, "");
}

WRITE(AveragePool) {
  const GenerateWindow w = generate_window(s, -1);
  const bool counts = onnx_int(&s->node, "count_include_pad", 0);
  if (memcmp(w.before, w.after, sizeof w.before) != 0) generate_refuse(s, "unequal margins");
  if (!all_are(w.dilation, w.rank, 1)) generate_refuse(s, "a dilation");
  if (onnx_int(&s->node, "ceil_mode", 0)) generate_refuse(s, "ceil_mode");
  pool(s, "BurnAvgPool", "burn_avg_pool", &w, counts ? "" : "count_include_pad = false");
}

/* -- norms ---------------------------------------------------------------------------------------------------- */

/* A norm over `size` features; gamma and beta are inputs 1 and 2. */
static const char *norm(GenerateStep *s, const char *type, const char *function, int64_t size, const char *more) {
  Generator *g = s->g;
  const double epsilon = onnx_float(&s->node, "epsilon", 1e-5);
  const char *name = generate_field(s, type, layer_name(s, 1, "norm"), generate_text(g, "%lld", (long long)size));
  const char *text = generate_text(g, "  %sConfig %s = %sConfig_defaults(%lld);\n  %s.epsilon = %s;\n%s", type, name,
                                   type, (long long)size, name, generate_number(g, epsilon),
                                   more[0] ? generate_text(g, "  %s.%s;\n", name, more) : "");
  generate_field_init(g, name, generate_text(g, "%s  m.%s = %s_init(&%s, device);\n", text, name, function, name));
  put_weight(s, name, "gamma", burn_reshape(generate_constant(s, 1), BURN_SHAPE(size)));
  if (generate_has(s, 2)) put_weight(s, name, "beta", burn_reshape(generate_constant(s, 2), BURN_SHAPE(size)));
  give_layer(s, function, name);
  return name;
}

WRITE(BatchNormalization) {
  if (!all_constant(s, 1, 4)) return;
  if (onnx_int(&s->node, "training_mode", 0) || s->step->output_count > 1) generate_refuse(s, "in training mode");
  if (s->reason[0]) return;
  const char *name =
      norm(s, "BurnBatchNorm", "burn_batch_norm", burn_element_count(s->inputs[1]->probes[0].tensor), "");
  put_weight(s, name, "running_mean", generate_constant(s, 3));
  put_weight(s, name, "running_var", generate_constant(s, 4));
}

WRITE(InstanceNormalization) {
  if (!all_constant(s, 1, 2)) return;
  norm(s, "BurnInstanceNorm", "burn_instance_norm", burn_element_count(s->inputs[1]->probes[0].tensor), "");
}

WRITE(LayerNormalization) {
  const uint32_t rank = generate_rank(s->inputs[0]);
  const int axis = onnx_axis(&s->node, "axis", onnx_int(&s->node, "axis", -1), rank);
  if (!all_constant(s, 1, 2)) return;
  if (axis != (int)rank - 1) generate_refuse(s, "over several axes");
  for (uint32_t i = 1; i < s->step->output_count; i++) {
    if (s->step->outputs[i] != ONNX_NONE) generate_refuse(s, "mean and deviation as results");
  }
  if (s->reason[0]) return;
  norm(s, "BurnLayerNorm", "burn_layer_norm", burn_element_count(s->inputs[1]->probes[0].tensor),
       generate_has(s, 2) ? "" : "bias = false");
}
