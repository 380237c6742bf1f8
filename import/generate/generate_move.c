/* generate_move.c - operators on shapes, and those that cut, join, pad, look up and create.
 *
 * What the sizes of a result are is known from the probes: shapes are read off the results, not off the inputs. */
#include "generate_ops.h"

#include <burn/burn.h>

#include <string.h>

/* -- shape ----------------------------------------------------------------------------------------- */

/* An input that says a shape may follow from shapes, but not from data. */
static bool of_shapes(GenerateStep *s, uint32_t i) {
  if (!generate_has(s, i) || s->inputs[i]->kind != GENERATE_VARIABLE) return true;
  generate_refuse(s, "input %u depends on data, not on shapes alone", i);
  return false;
}

static void reshape(GenerateStep *s) {
  if (!of_shapes(s, 1)) return;
  const char *shape = generate_shape(s, s->outputs[0], true);
  generate_give(s, 0, generate_text(s->g, "burn_reshape(%s, %s)", generate_use(s, 0), shape));
}
WRITE(Reshape) { reshape(s); }
WRITE(Flatten) { reshape(s); }

/* The axes of Squeeze or Unsqueeze, counted in a tensor of that rank; 0: none are given. */
static size_t axes_of(GenerateStep *s, uint32_t rank, int *axes) {
  int64_t listed[ONNX_INTS] = {0}, given[GENERATE_PROBES][ONNX_INTS] = {{0}};
  size_t count = onnx_ints(&s->node, "axes", listed);
  if (count == 0 && (count = generate_ints(s, 1, given)) > 0) memcpy(listed, given[0], sizeof listed);
  for (size_t i = 0; i < count && i < BURN_MAX_RANK; i++) axes[i] = onnx_axis(&s->node, "axis", listed[i], rank);
  return count;
}

WRITE(Squeeze) {
  int axes[BURN_MAX_RANK];
  const uint32_t rank = generate_rank(s->inputs[0]);
  if (axes_of(s, rank, axes) == 1 && rank > 1) {
    generate_give(s, 0, generate_text(s->g, "burn_squeeze_dim(%s, %d)", generate_use(s, 0), axes[0]));
  } else {
    reshape(s);
  }
}

WRITE(Unsqueeze) {
  int axes[BURN_MAX_RANK];
  const bool scalar = s->inputs[0]->probes[0].scalar;
  if (axes_of(s, generate_rank(s->outputs[0]), axes) == 1 && !scalar) {
    generate_give(s, 0, generate_text(s->g, "burn_unsqueeze_dim(%s, %d)", generate_use(s, 0), axes[0]));
  } else {
    reshape(s);
  }
}

WRITE(Transpose) {
  int64_t order[ONNX_INTS];
  const uint32_t rank = generate_rank(s->inputs[0]);
  const bool given = onnx_ints(&s->node, "perm", order) == rank;
  const char *list = "";
  bool last_two = rank >= 2;
  for (uint32_t i = 0; i < rank; i++) {
    const int axis = given ? (int)order[i] : (int)(rank - 1 - i);
    const uint32_t swapped = i == rank - 1 ? rank - 2 : i == rank - 2 ? rank - 1 : i;
    last_two = last_two && axis == (int)swapped;
    list = generate_text(s->g, "%s%s%d", list, i ? ", " : "", axis);
  }
  const char *x = generate_use(s, 0);
  generate_give(s, 0,
                last_two ? generate_text(s->g, "burn_transpose(%s)", x)
                         : generate_text(s->g, "burn_permute(%s, (const int[]){%s})", x, list));
}

WRITE(Expand) {
  if (!of_shapes(s, 1)) return;
  const char *shape = generate_shape(s, s->outputs[0], false);
  const char *x = generate_use_rank(s, 0, generate_rank(s->outputs[0]));
  generate_give(s, 0, generate_text(s->g, "burn_expand(%s, %s)", x, shape));
}

/* -- parts -------------------------------------------------------------------------------------------- */

/* The part of x along an axis; x itself where that is all of it. */
static const char *part(GenerateStep *s, const char *x, int axis, const BurnRange *ranges, const int64_t *sizes) {
  int64_t starts[GENERATE_PROBES] = {0}, ends[GENERATE_PROBES] = {0};
  bool all = true;
  for (uint32_t p = 0; p < s->g->probes; p++) {
    starts[p] = ranges[p].start;
    ends[p] = ranges[p].end;
    all = all && starts[p] == 0 && ends[p] == sizes[p] && ranges[p].step == 1;
  }
  if (all) return x;
  const char *start = generate_formula(s->g, starts), *end = generate_formula(s->g, ends);
  if (!start || !end) generate_refuse(s, "a part that follows from sizes by no known formula; give sizes");
  if (s->reason[0]) return x;
  if (ranges[0].step == 1)
    return generate_text(s->g, "burn_slice_dim(%s, %d, BURN_RANGE(%s, %s))", x, axis, start, end);
  return generate_text(s->g, "burn_slice_dim(%s, %d, BURN_RANGE_STEP(%s, %s, %lld))", x, axis, start, end,
                       (long long)ranges[0].step);
}

/* Numbers of an attribute for all probes, or of an input. */
static size_t numbers(GenerateStep *s, const char *name, uint32_t i, int64_t values[GENERATE_PROBES][ONNX_INTS]) {
  if (!onnx_attribute(&s->node, name)) return generate_ints(s, i, values);
  size_t count = 0;
  for (uint32_t p = 0; p < s->g->probes; p++) count = onnx_ints(&s->node, name, values[p]);
  return count;
}

static bool depends_on_data(const GenerateStep *s, uint32_t i) {
  return generate_has(s, i) && s->inputs[i]->kind == GENERATE_VARIABLE;
}

/* One start and end that are known when it runs. */
static void slice_by_data(GenerateStep *s) {
  int64_t axes[GENERATE_PROBES][ONNX_INTS] = {{0}}, steps[GENERATE_PROBES][ONNX_INTS] = {{1}, {1}, {1}};
  const uint32_t rank = generate_rank(s->inputs[0]);
  const bool one = burn_element_count(s->inputs[1]->probes[0].tensor) == 1;
  (void)generate_ints(s, 3, axes);
  (void)generate_ints(s, 4, steps);
  if (!one) generate_refuse(s, "several axes with places that depend on data");
  if (steps[0][0] != 1) generate_refuse(s, "a step of %lld, with places that depend on data", (long long)steps[0][0]);
  if (s->reason[0]) return;
  const int axis = onnx_axis(&s->node, "axis", axes[0][0], rank);
  const char *x = generate_use(s, 0), *start = generate_int(s, 1, "0"), *end = generate_int(s, 2, "INT64_MAX");
  generate_support(s->g, GENERATE_SUPPORT_slice);
  generate_give_open(s, 0, generate_text(s->g, "slice(%s, %d, %s, %s)", x, axis, start, end), 1u << axis);
}

WRITE(Slice) {
  if (depends_on_data(s, 1) || depends_on_data(s, 2)) {
    slice_by_data(s);
    return;
  }
  int64_t starts[GENERATE_PROBES][ONNX_INTS], ends[GENERATE_PROBES][ONNX_INTS], axes[GENERATE_PROBES][ONNX_INTS],
      steps[GENERATE_PROBES][ONNX_INTS];
  const uint32_t rank = generate_rank(s->inputs[0]);
  const size_t count = numbers(s, "starts", 1, starts), end_count = numbers(s, "ends", 2, ends);
  const bool has_axes = numbers(s, "axes", 3, axes) >= count && count > 0;
  const bool has_steps = generate_ints(s, 4, steps) >= count && count > 0;
  if (count != end_count) generate_refuse(s, "%zu starts and %zu ends", count, end_count);
  if (s->reason[0]) return;
  const char *text = generate_use(s, 0);
  for (size_t i = 0; i < count && i < BURN_MAX_RANK; i++) {
    BurnRange ranges[GENERATE_PROBES];
    int64_t sizes[GENERATE_PROBES];
    const int axis = onnx_axis(&s->node, "axis", has_axes ? axes[0][i] : (int64_t)i, rank);
    for (uint32_t p = 0; p < s->g->probes; p++) {
      sizes[p] = generate_dim(s->inputs[0], p, (uint32_t)axis);
      ranges[p] = onnx_range(starts[p][i], ends[p][i], has_steps ? steps[p][i] : 1, sizes[p]);
    }
    text = part(s, text, axis, ranges, sizes);
  }
  generate_give(s, 0, text);
}

/* Parts one after the other; their sizes are those of the results. */
WRITE(Split) {
  Generator *g = s->g;
  if (!of_shapes(s, 1)) return;
  const int axis = onnx_axis(&s->node, "axis", onnx_int(&s->node, "axis", 0), generate_rank(s->inputs[0]));
  const char *all = generate_local(g, "parts");
  int64_t at[GENERATE_PROBES] = {0};
  generate_line(g, "BurnTensor *%s = %s;", all, generate_use(s, 0));
  for (uint32_t i = 0; i < s->step->output_count; i++) {
    if (!s->outputs[i]) {
      generate_refuse(s, "a part that nobody reads");
      return;
    }
    BurnRange ranges[GENERATE_PROBES];
    int64_t sizes[GENERATE_PROBES];
    for (uint32_t p = 0; p < g->probes; p++) {
      const int64_t size = generate_dim(s->outputs[i], p, (uint32_t)axis);
      sizes[p] = -1;
      ranges[p] = BURN_RANGE(at[p], at[p] + size);
      at[p] += size;
    }
    const char *x = i + 1 < s->step->output_count ? generate_text(g, "burn_clone(%s)", all) : all;
    generate_give(s, i, part(s, x, axis, ranges, sizes));
  }
}

WRITE(Concat) {
  const char *list = "";
  for (uint32_t i = 0; i < s->step->input_count; i++)
    list = generate_text(s->g, "%s%s%s", list, i ? ", " : "", generate_use(s, i));
  const int axis = onnx_axis(&s->node, "axis", onnx_int(&s->node, "axis", 0), generate_rank(s->inputs[0]));
  generate_give(s, 0, generate_text(s->g, "burn_cat((BurnTensor *[]){%s}, %u, %d)", list, s->step->input_count, axis));
}

/* -- look up --------------------------------------------------------------------------------------------- */

/* A table of vectors that integers [batch, sequence] look up is a layer. */
static bool embedding(GenerateStep *s, int axis) {
  if (axis != 0 || !generate_is_constant(s, 0) || generate_rank(s->inputs[0]) != 2) return false;
  if (!s->inputs[0]->weight || s->inputs[1]->kind == GENERATE_CONSTANT || generate_rank(s->inputs[1]) != 2)
    return false;
  Generator *g = s->g;
  const long long rows = generate_dim(s->inputs[0], 0, 0), columns = generate_dim(s->inputs[0], 0, 1);
  const char *name =
      generate_field(s, "BurnEmbedding", s->inputs[0]->weight, generate_text(g, "%lld vectors of %lld", rows, columns));
  generate_field_init(g, name,
                      generate_text(g, "  m.%s = burn_embedding_new(%lld, %lld, device);\n", name, rows, columns));
  generate_weight(g, generate_text(g, "%s.weight", name), generate_constant(s, 0));
  generate_give(s, 0, generate_text(g, "burn_embedding_forward(&m->%s, %s)", name, generate_use(s, 1)));
  return true;
}

/* The index of rank 0 in all probes: input 1, or the attribute that onnx_pass_strength makes of it. */
static bool one_value(GenerateStep *s, int64_t *at) {
  int64_t values[GENERATE_PROBES][ONNX_INTS];
  const bool fixed = !generate_has(s, 1);
  if (!fixed && (s->inputs[1]->kind == GENERATE_VARIABLE || !s->inputs[1]->probes[0].scalar)) return false;
  if (!fixed && generate_ints(s, 1, values) != 1) return false;
  for (uint32_t p = 0; p < s->g->probes; p++) at[p] = fixed ? onnx_int(&s->node, "index", 0) : values[p][0];
  return true;
}

static bool one_index(GenerateStep *s, int axis) {
  int64_t at[GENERATE_PROBES] = {0};
  if (!one_value(s, at)) return false;
  for (uint32_t p = 0; p < s->g->probes; p++) {
    if (at[p] < 0) at[p] += generate_dim(s->inputs[0], p, (uint32_t)axis);
  }
  const char *index = generate_formula(s->g, at);
  if (!index) return false;
  const char *x = generate_use(s, 0);
  const char *text = generate_rank(s->inputs[0]) > 1
                         ? generate_text(s->g, "burn_select_dim(%s, %d, %s)", x, axis, index)
                         : generate_text(s->g, "burn_narrow(%s, 0, %s, 1)", x, index);
  generate_give(s, 0, text);
  return true;
}

/* Indices below 0 count from the end in ONNX; constant ones are checked here, others are an error of burn_take. */
WRITE(Gather) {
  const int axis = onnx_axis(&s->node, "axis", onnx_int(&s->node, "axis", 0), generate_rank(s->inputs[0]));
  if ((generate_has(s, 1) && embedding(s, axis)) || one_index(s, axis)) return;
  if (!generate_has(s, 1)) {
    generate_refuse(s, "an index that no formula of the sizes gives");
    return;
  }
  double least = 0;
  if (generate_is_constant(s, 1) && burn_read_scalar(burn_min(generate_constant(s, 1)), &least) == BURN_OK && least < 0)
    generate_refuse(s, "indices below 0");
  const char *x = generate_use(s, 0);
  const char *text = generate_text(s->g, "burn_take(%s, %d, %s)", x, axis, generate_use(s, 1));
  const bool drops = s->inputs[1]->probes[0].scalar && generate_rank(s->inputs[0]) > 1;
  generate_give(s, 0, drops ? generate_text(s->g, "burn_squeeze_dim(%s, %d)", text, axis) : text);
}

/* -- margins, images, numbers -------------------------------------------------------------------------------- */

static const char *pad_mode(const GenerateStep *s) {
  if (onnx_is(&s->node, "mode", "constant", "reflect")) return "BURN_PAD_REFLECT";
  if (onnx_is(&s->node, "mode", "constant", "edge")) return "BURN_PAD_EDGE";
  return onnx_is(&s->node, "mode", "constant", "constant") ? "BURN_PAD_CONSTANT" : NULL;
}

/* "before, after" for the axes that get any margin and those after them. */
static const char *margins(GenerateStep *s, int64_t before[GENERATE_PROBES][BURN_MAX_RANK],
                           int64_t after[GENERATE_PROBES][BURN_MAX_RANK], uint32_t rank, uint32_t *axes) {
  const char *list = "";
  *axes = 0;
  for (uint32_t i = 0; i < rank; i++) {
    int64_t low[GENERATE_PROBES] = {0}, high[GENERATE_PROBES] = {0}, any = 0;
    for (uint32_t p = 0; p < s->g->probes; p++) {
      low[p] = before[p][i];
      high[p] = after[p][i];
      if (low[p] < 0 || high[p] < 0) generate_refuse(s, "margins below 0");
      any |= low[p] | high[p];
    }
    if (*axes == 0 && any == 0) continue;
    const char *first = generate_formula(s->g, low), *second = generate_formula(s->g, high);
    if (!first || !second) generate_refuse(s, "margins that follow from sizes by no known formula; give sizes");
    list = generate_text(s->g, "%s%s%s, %s", list, *axes ? ", " : "", first ? first : "", second ? second : "");
    ++*axes;
  }
  return list;
}

WRITE(Pad) {
  Generator *g = s->g;
  int64_t pads[GENERATE_PROBES][ONNX_INTS], axes[GENERATE_PROBES][ONNX_INTS];
  int64_t before[GENERATE_PROBES][BURN_MAX_RANK] = {{0}}, after[GENERATE_PROBES][BURN_MAX_RANK] = {{0}};
  const uint32_t rank = generate_rank(s->inputs[0]);
  const size_t count = numbers(s, "pads", 1, pads) / 2;
  const bool has_axes = generate_ints(s, 3, axes) >= count && count > 0;
  GenerateExact value = {generate_number(g, onnx_float(&s->node, "value", 0)), ""};
  if (!pad_mode(s)) generate_refuse(s, "a mode that is not constant, reflect or edge");
  if (generate_has(s, 2) && !generate_exact(s, 2, generate_dtype(s->inputs[0]), &value))
    generate_refuse(s, "a value that is not constant");
  for (uint32_t p = 0; p < g->probes; p++) {
    for (size_t i = 0; i < count && i < BURN_MAX_RANK; i++) {
      const int axis = onnx_axis(&s->node, "axis", has_axes ? axes[p][i] : (int64_t)i, rank);
      before[p][axis] = pads[p][i];
      after[p][axis] = pads[p][i + count];
    }
  }
  uint32_t padded;
  const char *list = margins(s, before, after, rank, &padded), *x = generate_use(s, 0);
  if (s->reason[0]) return;
  generate_give(s, 0,
                padded == 0 ? x
                            : generate_text(g, "burn_pad%s(%s, (const int64_t[]){%s}, %u, %s, %s)", value.suffix, x,
                                            list, padded, pad_mode(s), value.text));
}

/* Whether nearest pixels are those that ours reads: integer factors, for all ways of counting but these. */
static bool is_nearest(const GenerateStep *s) {
  const bool old = s->step->opset < 11;
  const char *otherwise = old ? "asymmetric" : "half_pixel", *mode = "coordinate_transformation_mode";
  const bool rounds = onnx_is(&s->node, "nearest_mode", old ? "floor" : "round_prefer_floor", "floor");
  for (uint32_t i = 2; i < 4; i++) {
    const int64_t in = generate_dim(s->inputs[0], 0, i), out = generate_dim(s->outputs[0], 0, i);
    if (in == 0 || out % in != 0) return false;
  }
  if (onnx_is(&s->node, mode, otherwise, "asymmetric")) return rounds;
  return onnx_is(&s->node, mode, otherwise, "half_pixel") && !rounds && !onnx_is(&s->node, "nearest_mode", "", "ceil");
}

/* The interpolation that is the same; NULL: there is none. */
static const char *interpolation(const GenerateStep *s) {
  const char *otherwise = s->step->opset < 11 ? "asymmetric" : "half_pixel", *mode = "coordinate_transformation_mode";
  const bool half = onnx_is(&s->node, mode, otherwise, "half_pixel");
  const bool corners = onnx_is(&s->node, mode, otherwise, "align_corners");
  if (onnx_int(&s->node, "antialias", 0) || onnx_int(&s->node, "exclude_outside", 0)) return NULL;
  if (onnx_is(&s->node, "mode", "nearest", "nearest")) return is_nearest(s) ? "BURN_INTERPOLATE_NEAREST, false" : NULL;
  if (!half && !corners) return NULL;
  if (onnx_is(&s->node, "mode", "nearest", "linear"))
    return half ? "BURN_INTERPOLATE_BILINEAR, false" : "BURN_INTERPOLATE_BILINEAR, true";
  if (onnx_float(&s->node, "cubic_coeff_a", -0.75) != -0.75) return NULL;
  return half ? "BURN_INTERPOLATE_BICUBIC, false" : "BURN_INTERPOLATE_BICUBIC, true";
}

static void resize(GenerateStep *s) {
  Generator *g = s->g;
  const GenerateValue *x = s->inputs[0], *y = s->outputs[0];
  const char *options = generate_rank(x) == 4 ? interpolation(s) : NULL;
  const char *sizes = "";
  for (uint32_t i = 0; i < 4 && options; i++) {
    int64_t out[GENERATE_PROBES];
    for (uint32_t p = 0; p < g->probes; p++) {
      out[p] = generate_dim(y, p, i);
      if (i < 2 && out[p] != generate_dim(x, p, i)) options = NULL;
    }
    const char *size = i < 2 ? "" : generate_formula(g, out);
    if (!size) generate_refuse(s, "a size that follows from sizes by no known formula; give sizes");
    if (i >= 2) sizes = generate_text(g, "%s%s%s", sizes, i == 3 ? ", " : "", size ? size : "");
  }
  for (uint32_t i = 1; i < s->step->input_count; i++) (void)of_shapes(s, i);
  if (!options) generate_refuse(s, "an interpolation that burn_interpolate does not have");
  if (s->reason[0]) return;
  generate_give(s, 0,
                generate_text(g, "burn_interpolate(%s, (const int64_t[]){%s}, (BurnInterpolateOptions){%s})",
                              generate_use(s, 0), sizes, options));
}
WRITE(Resize) { resize(s); }
WRITE(Upsample) { resize(s); }

WRITE(ConstantOfShape) {
  Generator *g = s->g;
  GenerateExact value = {"0", ""};
  const BurnDType dtype = generate_dtype(s->outputs[0]);
  BurnTensor *made = burn_reshape(burn_clone(s->outputs[0]->probes[0].tensor), BURN_SHAPE(-1));
  if (!generate_exact_of(g, burn_narrow(made, 0, 0, 1), dtype, &value) || !of_shapes(s, 0))
    generate_refuse(s, "its value cannot be read");
  g->uses_device = true;
  const char *shape = generate_shape(s, s->outputs[0], false);
  generate_give(s, 0,
                generate_text(g, "burn_full%s(device, %s, %s, %s)", value.suffix, shape, generate_dtype_text(g, dtype),
                              value.text));
}
