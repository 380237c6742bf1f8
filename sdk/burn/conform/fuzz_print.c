/* fuzz_print.c - a graph as a C program with literal data, which exits with 1 for as long as its stacks differ. */
#define _POSIX_C_SOURCE 200809L /* open_memstream */
#include "fuzz.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- numbers ---------------------------------------------------------------------------------- */

static void print_double(FILE *out, double x) {
  if (isnan(x)) {
    fputs("NAN", out);
  } else if (isinf(x)) {
    fputs(x < 0 ? "-INFINITY" : "INFINITY", out);
  } else {
    fprintf(out, "%.17g%s", x, x == floor(x) && fabs(x) < 1e15 ? ".0" : "");
  }
}

/* The smallest i64 has no literal. */
static void print_integer(FILE *out, int64_t x) {
  if (x == INT64_MIN) {
    fputs("INT64_MIN", out);
  } else {
    fprintf(out, "%" PRId64, x);
  }
}

static void print_element(FILE *out, BurnDType dtype, const void *data, int64_t i) {
  int64_t whole;
  const double x = sample_load(dtype, data, i, &whole);
  if (dtype == BURN_DTYPE_F16 || dtype == BURN_DTYPE_BF16) {
    fprintf(out, "0x%04x /* %.6g */", ((const uint16_t *)data)[i], x);
  } else if (burn_dtype_kind(dtype) != BURN_KIND_FLOAT) {
    print_integer(out, whole);
  } else if (dtype == BURN_DTYPE_F32 && isfinite(x)) {
    fprintf(out, "%.9g%s", x, x == floor(x) && fabs(x) < 1e8 ? ".0f" : x == floor(x) ? "" : "f");
  } else {
    print_double(out, x);
  }
}

static const char *c_type(BurnDType dtype) {
  switch (dtype) {
    case BURN_DTYPE_F64:
      return "double";
    case BURN_DTYPE_F32:
      return "float";
    case BURN_DTYPE_F16:
    case BURN_DTYPE_BF16:
      return "uint16_t";
    case BURN_DTYPE_I64:
      return "int64_t";
    case BURN_DTYPE_I32:
      return "int32_t";
    case BURN_DTYPE_I16:
      return "int16_t";
    case BURN_DTYPE_I8:
      return "int8_t";
    default:
      return "uint8_t";
  }
}

static const char *dtype_constant(BurnDType dtype) {
  switch (dtype) {
#define BURN_DTYPE(number, NAME, name, bytes, KIND, c_type) \
  case number:                                              \
    return "BURN_DTYPE_" #NAME;
#include <burn/plugin/dtypes.def>
#undef BURN_DTYPE
    default:
      return "BURN_DTYPE_DEFAULT";
  }
}

static void print_list(FILE *out, const int64_t *list, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    if (i > 0) fputs(", ", out);
    print_integer(out, list[i]);
  }
}

/* -- the parts of the program ----------------------------------------------------------------- */

static void print_data(FILE *out, const FuzzGraph *graph) {
  for (uint32_t v = 0; v < graph->value_count; v++) {
    const FuzzValue *leaf = &graph->values[v];
    const int64_t count = burn_desc_count(&leaf->desc);
    if (leaf->node >= 0) continue;
    fprintf(out, "static const %s data_%u[] = {", c_type(leaf->desc.dtype), v);
    if (count == 0) fputs("0 /* none of it is used */", out);
    for (int64_t i = 0; i < count; i++) {
      if (i > 0) fputs(i % 12 == 0 ? ",\n  " : ", ", out);
      print_element(out, leaf->desc.dtype, graph->pool + leaf->data, i);
    }
    fputs("};\n", out);
  }
}

static void print_attr(FILE *out, const BurnAttr *attr) {
  switch (attr->tag) {
    case BURN_ATTR_I64:
      fputs("burn_attr_i64(", out);
      print_integer(out, attr->value.i64);
      fputs(")", out);
      break;
    case BURN_ATTR_F64:
      fputs("burn_attr_f64(", out);
      print_double(out, attr->value.f64);
      fputs(")", out);
      break;
    case BURN_ATTR_BOOL:
      fprintf(out, "burn_attr_bool(%d)", attr->value.i64 != 0);
      break;
    case BURN_ATTR_DTYPE:
      fprintf(out, "burn_attr_dtype(%s)", dtype_constant((BurnDType)attr->value.i64));
      break;
    case BURN_ATTR_I64S:
      if (attr->count == 0) fputs("burn_attr_i64s(NULL, 0", out);
      if (attr->count > 0) fputs("burn_attr_i64s((const int64_t[]){", out);
      print_list(out, attr->value.i64s, attr->count);
      if (attr->count > 0) fprintf(out, "}, %u", attr->count);
      fputs(")", out);
      break;
    default:
      fputs("{0}", out); /* the default */
      break;
  }
}

static void print_leaf(FILE *out, const FuzzGraph *graph, uint32_t v) {
  const FuzzValue *leaf = &graph->values[v];
  fprintf(out, "  v[%u] = burn_tensor_from(device, data_%u, %s, BURN_SHAPE(", v, v, dtype_constant(leaf->desc.dtype));
  print_list(out, leaf->desc.shape, leaf->desc.rank);
  fputs("));\n", out);
  if (!leaf->tracked) return;
  fprintf(out, "  if (track) v[%u] = burn_require_grad(v[%u]);\n  if (track) leaf[%u] = burn_clone(v[%u]);\n", v, v, v,
          v);
}

static void print_read(FILE *out, const FuzzOutcome *outcome, uint32_t v, uint32_t kind) {
  const bool wanted = outcome->value == v && outcome->kind == kind;
  fprintf(out, "  if (status == BURN_OK) status = look(burn_clone(v[%u]), %s);\n", v, wanted ? "found" : "NULL");
}

static void print_node(FILE *out, const FuzzGraph *graph, const FuzzOutcome *outcome, uint32_t n, bool *made) {
  const FuzzNode *node = &graph->nodes[n];
  const Sample *sample = &node->sample;
  char text[384];
  sample_describe(sample, text, sizeof text);
  for (uint32_t i = 0; i < sample->input_count; i++) {
    if (node->inputs[i] < 0 || made[node->inputs[i]] || graph->values[node->inputs[i]].node >= 0) continue;
    print_leaf(out, graph, (uint32_t)node->inputs[i]);
    made[node->inputs[i]] = true;
  }
  fprintf(out, "\n  /* %s */\n", text);
  for (uint32_t i = 0; i < sample->input_count; i++) {
    if (node->inputs[i] < 0) {
      fprintf(out, "  in[%u] = NULL;\n", i);
    } else {
      const char *format = node->given[i] ? "  in[%u] = give(&v[%d], keep);\n" : "  in[%u] = burn_clone(v[%d]);\n";
      fprintf(out, format, i, node->inputs[i]);
    }
  }
  fprintf(out, "  call(device, \"%s\", in, %u, (const BurnAttr[]){", sample->op->name, sample->input_count);
  for (uint32_t i = 0; i < sample->attr_count; i++) {
    if (i > 0) fputs(", ", out);
    print_attr(out, &sample->attrs[i]);
  }
  fprintf(out, "%s}, %u, &v[%u]);\n", sample->attr_count ? "" : "{0}", sample->attr_count, node->first_output);
  for (uint32_t i = 0; i < sample->input_count; i++) {
    if (node->inputs[i] < 0 || node->given[i]) continue;
    const uint32_t v = (uint32_t)node->inputs[i];
    if (!graph->values[v].kept && fuzz_last_use(graph, v) == (int32_t)n)
      fprintf(out, "  if (!keep) drop(&v[%u]);\n", v);
  }
  for (uint32_t i = 0; i < sample->op->output_count; i++) {
    const uint32_t v = node->first_output + i;
    fprintf(out, "  if (status == BURN_OK) status = burn_tensor_status(v[%u]);\n", v);
    if (graph->values[v].watched) print_read(out, outcome, v, FUZZ_EARLY);
  }
}

static void print_backward(FILE *out, const FuzzGraph *graph, const FuzzOutcome *outcome) {
  fputs("\n  BurnTensor *root = NULL;\n", out);
  for (uint32_t v = 0; v < graph->value_count; v++) {
    if (!graph->values[v].kept || graph->values[v].node < 0) continue;
    if (burn_dtype_kind(graph->values[v].desc.dtype) != BURN_KIND_FLOAT) continue;
    fprintf(out, "  if (status == BURN_OK && burn_is_tracked(v[%u])) {\n", v);
    fprintf(out, "    root = join(root, project(device, burn_clone(v[%u])));\n  }\n", v);
  }
  fputs("  if (root) status = burn_backward(root, &gradients);\n", out);
  if (outcome->kind == FUZZ_GRADIENT) {
    fprintf(out, "  if (gradients) status = look(burn_grad(leaf[%u], gradients), found);\n", outcome->value);
  }
}

static void print_run(FILE *out, const FuzzGraph *graph, const FuzzOutcome *outcome) {
  bool made[FUZZ_MAX_VALUES] = {false};
  fputs(
      "/* The graph; what is looked at goes to found. keep: no handle is given away. */\n"
      "static BurnStatus run(BurnDevice *device, bool keep, bool track, Number *found) {\n"
      "  BurnTensor *v[VALUES] = {NULL}, *leaf[VALUES] = {NULL}, *in[10] = {NULL};\n"
      "  BurnGradients *gradients = NULL;\n"
      "  BurnStatus status = BURN_OK;\n"
      "  (void)keep, (void)track, (void)found;\n",
      out);
  for (uint32_t n = 0; n < graph->node_count; n++) print_node(out, graph, outcome, n, made);
  fputs("\n", out);
  for (uint32_t v = 0; v < graph->value_count; v++) {
    if (graph->values[v].kept && (graph->values[v].node >= 0 || made[v])) print_read(out, outcome, v, FUZZ_LATE);
  }
  if (graph->mode == FUZZ_BACKWARD) print_backward(out, graph, outcome);
  fputs(
      "  for (int i = 0; i < VALUES; i++) burn_drop(v[i]), burn_drop(leaf[i]);\n"
      "  burn_gradients_drop(gradients);\n"
      "  return status;\n}\n\n",
      out);
}

static const char helpers[] =
    "/* An element as a double, and exactly if it is an integer. */\n"
    "typedef struct Number {\n  double value;\n  int64_t whole;\n} Number;\n\n"
    "static void call(BurnDevice *device, const char *op, BurnTensor **inputs, size_t input_count, const BurnAttr "
    "*attrs,\n"
    "                 size_t attr_count, BurnTensor **outputs) {\n"
    "  const BurnOpInfo *info = NULL;\n"
    "  if (burn_op_find(op, &info) != BURN_OK) exit(2);\n"
    "  burn_op_call(device, info, inputs, input_count, attrs, attr_count, outputs);\n}\n\n"
    "static inline void drop(BurnTensor **x) {\n  burn_drop(*x);\n  *x = NULL;\n}\n\n"
    "static inline BurnTensor *give(BurnTensor **x, bool keep) {\n  BurnTensor *handle = *x;\n"
    "  if (keep) return burn_clone(handle);\n  *x = NULL;\n  return handle;\n}\n\n"
    "/* Takes x and reads it; element ELEMENT goes to found, if that is not NULL. */\n"
    "static inline BurnStatus look(BurnTensor *x, Number *found) {\n"
    "  const size_t count = (size_t)burn_element_count(x);\n"
    "  double *values = calloc(count + 1, sizeof *values);\n  int64_t *wholes = calloc(count + 1, sizeof *wholes);\n"
    "  if (!values || !wholes) exit(2);\n"
    "  const bool is_float = burn_dtype_kind(burn_dtype(x)) == BURN_KIND_FLOAT;\n"
    "  const BurnStatus status = is_float ? burn_read_f64(x, values, count) : burn_read_i64(x, wholes, count);\n"
    "  if (found && ELEMENT < count) *found = (Number){is_float ? values[ELEMENT] : (double)wholes[ELEMENT], "
    "wholes[ELEMENT]};\n"
    "  free(values);\n  free(wholes);\n  return status;\n}\n\n";

static const char backward_helpers[] =
    "static BurnTensor *join(BurnTensor *a, BurnTensor *b) { return a ? burn_add(a, b) : b; }\n\n"
    "/* Takes y: its sum with weights that differ. */\n"
    "static BurnTensor *project(BurnDevice *device, BurnTensor *y) {\n"
    "  const size_t count = (size_t)burn_element_count(y);\n  const BurnDType dtype = burn_dtype(y);\n"
    "  double *weights = calloc(count + 1, sizeof *weights);\n  if (!weights) exit(2);\n"
    "  for (size_t i = 0; i < count; i++) weights[i] = 0.5 + 0.125 * (double)(i * 5 % 8);\n"
    "  BurnTensor *w = burn_tensor_from(device, weights, BURN_DTYPE_F64, burn_shape(y));\n  free(weights);\n"
    "  return burn_cast(burn_sum(burn_mul(y, burn_cast(w, dtype))), BURN_DTYPE_F32);\n}\n\n";

static const char ending_helpers[] =
    "static bool finished;\n\n/* A plugin may have called exit. */\n"
    "static void fail_unless_finished(void) {\n  if (!finished) _Exit(1);\n}\n\n";

/* What main does with the two runs. */
static void print_verdict(FILE *out, const FuzzOutcome *outcome) {
  fputs(
      "  if (found_status != BURN_OK) printf(\"%s: %s\\n\", found_stack, burn_status_message(found_status));\n"
      "  if (expected_status != BURN_OK) printf(\"%s: %s\\n\", EXPECTED, burn_status_message(expected_status));\n"
      "  if ((found_status == BURN_OK) != (expected_status == BURN_OK)) return 1;\n",
      out);
  if (outcome->kind >= FUZZ_FAILS || outcome->kind == FUZZ_EQUAL) {
    fputs("  return left == 0 ? 0 : 1;\n}\n", out);
    return;
  }
  const bool zero_sign = outcome->found == outcome->expected && outcome->found_integer == outcome->expected_integer;
  fputs(
      "  printf(\"element %d: %s has %.17g, %s has %.17g\\n\", ELEMENT, found_stack, found.value, EXPECTED, "
      "expected.value);\n"
      "  if (isnan(found.value) || isnan(expected.value)) return isnan(found.value) && isnan(expected.value) ? 0 : "
      "1;\n",
      out);
  if (zero_sign) fputs("  if (signbit(found.value) != signbit(expected.value)) return 1;\n", out);
  fputs(
      "  if (found.value == expected.value && found.whole == expected.whole) return 0;\n"
      "  return fabs(found.value - expected.value) <= ",
      out);
  print_double(out, outcome->tolerance);
  fputs(" && found.whole == expected.whole ? 0 : 1;\n}\n", out);
}

static void print_main(FILE *out, const FuzzGraph *graph, const FuzzOutcome *outcome) {
  const char *open = graph->mode == FUZZ_BACKWARD ? "burn_device_open_training" : "burn_device_open";
  fprintf(out,
          "int main(int argc, char **argv) {\n"
          "  const char *found_stack = argc > 1 ? argv[1] : FOUND;\n"
          "  BurnDevice *a = %s(EXPECTED), *b = %s(found_stack);\n"
          "  Number found = {0, 0}, expected = {0, 0};\n"
          "  if (burn_device_status(a) != BURN_OK || burn_device_status(b) != BURN_OK) return 2;\n",
          open, open);
  if (outcome->kind == FUZZ_CRASHES) fputs("  atexit(fail_unless_finished);\n", out);
  fprintf(out, "  const BurnStatus expected_status = run(a, true, %s, &expected);\n",
          graph->mode == FUZZ_BACKWARD && outcome->kind == FUZZ_GRADIENT ? "true" : "false");
  fprintf(out,
          "  const int64_t live = burn_device_memory(b).live_tensors;\n"
          "  const BurnStatus found_status = run(b, false, %s, &found);\n"
          "  const int64_t left = burn_device_memory(b).live_tensors - live;\n"
          "  if (left != 0) printf(\"%%s: %%lld tensors are left over\\n\", found_stack, (long long)left);\n"
          "  burn_device_close(a);\n  burn_device_close(b);\n%s",
          graph->mode == FUZZ_PLAIN ? "false" : "burn_device_is_autodiff(b)",
          outcome->kind == FUZZ_CRASHES ? "  finished = true;\n" : "");
  print_verdict(out, outcome);
}

char *fuzz_program(const FuzzGraph *graph, const FuzzOutcome *outcome, const char *const stacks[2],
                   const char *command) {
  char *text = NULL;
  size_t bytes = 0;
  FILE *out = open_memstream(&text, &bytes);
  if (!out) return NULL;
  fprintf(out,
          "/* %s\n *\n * Found by: %s\n"
          " * Exits with 1 for as long as that is so; argv[1] names another stack to run. */\n"
          "#include <burn/burn.h>\n#include <burn/op_call.h>\n\n#include <math.h>\n#include <stdio.h>\n#include "
          "<stdlib.h>\n\n",
          outcome->reason, command);
  fprintf(out, "#define EXPECTED \"%s\" /* with everything kept */\n#define FOUND \"%s\"\n", stacks[0],
          stacks[outcome->side]);
  fprintf(out, "enum { VALUES = %u, ELEMENT = %" PRId64 " };\n\n", graph->value_count, outcome->element);
  print_data(out, graph);
  fprintf(out, "\n%s", helpers);
  if (graph->mode == FUZZ_BACKWARD) fputs(backward_helpers, out);
  if (outcome->kind == FUZZ_CRASHES) fputs(ending_helpers, out);
  print_run(out, graph, outcome);
  print_main(out, graph, outcome);
  if (fclose(out) == 0) return text;
  free(text);
  return NULL;
}
