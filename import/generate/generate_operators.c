/* generate_operators.c - the table of operators that are written as C, and the writers that many of them share. */
#include "generate_ops.h"

#include <burn/burn.h>

#include <stdlib.h>
#include <string.h>

/* -- one function of ours ------------------------------------------------------------------------ */

static void write_unary(GenerateStep *s, const char *function) {
  generate_give(s, 0, generate_text(s->g, "%s(%s)", function, generate_use(s, 0)));
}

/* "burn_elu($, {alpha=1})" with its attributes. */
static void write_floats(GenerateStep *s, const char *pattern) {
  const char *text = "";
  for (const char *c = pattern; *c;) {
    const size_t plain = strcspn(c, "{$");
    text = generate_text(s->g, "%s%.*s", text, (int)plain, c);
    c += plain;
    if (*c == '$') {
      text = generate_text(s->g, "%s%s", text, generate_use(s, 0));
      c++;
    } else if (*c == '{') {
      const size_t name = strcspn(c + 1, "="), all = strcspn(c, "}");
      const char *attribute = generate_text(s->g, "%.*s", (int)name, c + 1);
      const double value = onnx_float(&s->node, attribute, strtod(c + 2 + name, NULL));
      text = generate_text(s->g, "%s%s", text, generate_number(s->g, value));
      c += all + 1;
    }
  }
  generate_give(s, 0, text);
}

/* -- two operands, or any number ------------------------------------------------------------------ */

/* The part of "burn_add|right|left" after `skip` bars. */
static const char *part(Generator *g, const char *argument, int skip) {
  for (; skip > 0; skip--) argument = strchr(argument, '|') + 1;
  return generate_text(g, "%.*s", (int)strcspn(argument, "|"), argument);
}

/* A number that the other operand is given, which must not be widened by its rank. */
static bool number_of(const GenerateStep *s, uint32_t i, double *value) {
  const GenerateValue *constant = s->inputs[i], *other = s->inputs[1 - i];
  if (s->step->input_count != 2 || !constant || !other || constant->learned) return false;
  if (burn_dtype_kind(generate_dtype(other)) != BURN_KIND_FLOAT) return false;
  if (generate_rank(constant) > generate_rank(other)) return false;
  return generate_constant_number(s, i, value) && !(value[0] != value[0]);
}

static bool with_number(GenerateStep *s, const char *argument) {
  double value;
  for (uint32_t i = 0; i < 2; i++) {
    const char *function = part(s->g, argument, i == 1 ? 1 : 2);
    if (!function[0] || !generate_has(s, 1) || !number_of(s, i, &value)) continue;
    const char *number = generate_number(s->g, value), *x = generate_use(s, 1 - i);
    const bool number_first = strncmp(function, "burn_scalar_", 12) == 0;
    generate_give(s, 0,
                  generate_text(s->g, "%s(%s, %s)", function, number_first ? number : x, number_first ? x : number));
    return true;
  }
  return false;
}

static void write_binary(GenerateStep *s, const char *argument) {
  if (with_number(s, argument)) return;
  uint32_t rank = 0;
  const char *function = part(s->g, argument, 0);
  for (uint32_t i = 0; i < s->step->input_count; i++) {
    if (generate_has(s, i) && generate_rank(s->inputs[i]) > rank) rank = generate_rank(s->inputs[i]);
  }
  const char *text = generate_use_rank(s, 0, rank);
  for (uint32_t i = 1; i < s->step->input_count; i++)
    text = generate_text(s->g, "%s(%s, %s)", function, text, generate_use_rank(s, i, rank));
  generate_give(s, 0, text);
}

/* -- reductions ------------------------------------------------------------------------------------ */

/* The axes: an attribute, an input, or all; those of pools are all after the second. */
static uint32_t axes_of(GenerateStep *s, int *axes) {
  int64_t listed[ONNX_INTS], given[GENERATE_PROBES][ONNX_INTS];
  const uint32_t rank = generate_rank(s->inputs[0]);
  size_t count = onnx_ints(&s->node, "axes", listed);
  if (count == 0 && (count = generate_ints(s, 1, given)) > 0) memcpy(listed, given[0], sizeof listed);
  for (size_t i = 0; i < count && i < BURN_MAX_RANK; i++) axes[i] = onnx_axis(&s->node, "axis", listed[i], rank);
  if (count > 0) return (uint32_t)(count < BURN_MAX_RANK ? count : BURN_MAX_RANK);
  if (onnx_int(&s->node, "noop_with_empty_axes", 0)) return 0;
  const uint32_t first = strncmp(s->step->op->name, "Global", 6) == 0 ? 2 : 0;
  for (uint32_t i = first; i < rank; i++) axes[i - first] = (int)i;
  return rank > first ? rank - first : 0;
}

static const char *around(Generator *g, const char *function, const char *text) {
  return function[0] ? generate_text(g, "%s(%s)", function, text) : text;
}

static void write_reduce(GenerateStep *s, const char *argument) {
  int axes[BURN_MAX_RANK];
  Generator *g = s->g;
  const uint32_t count = axes_of(s, axes), rank = generate_rank(s->inputs[0]);
  const char *list = "", *function = part(g, argument, 1);
  if (generate_dtype(s->inputs[0]) == BURN_DTYPE_BOOL) generate_refuse(s, "of bool");
  for (uint32_t i = 0; i < count; i++) list = generate_text(g, "%s%s%d", list, i ? ", " : "", axes[i]);
  const char *text = around(g, part(g, argument, 0), generate_use(s, 0));
  if (count == 1) {
    text = generate_text(g, "%.*s(%s, %s)", (int)strlen(function) - 1, function, text, list);
  } else if (count > 0) {
    text = generate_text(g, "%s(%s, (const int[]){%s}, %u)", function, text, list, count);
  }
  text = around(g, part(g, argument, 2), text);
  if (!onnx_int(&s->node, "keepdims", 1) && count > 0) {
    if (count == rank) text = generate_text(g, "burn_reshape(%s, BURN_SHAPE(1))", text);
    if (count < rank) text = generate_text(g, "burn_squeeze_dims(%s, (const int[]){%s}, %u)", text, list, count);
  }
  generate_give(s, 0, text);
}

/* -- the table --------------------------------------------------------------------------------------- */

static const GenerateOperator operators[] = {
#define GENERATE_UNARY(op, function) {#op, write_unary, #function},
#define GENERATE_BINARY(op, function, right, left) {#op, write_binary, #function "|" right "|" left},
#define GENERATE_FLOATS(op, text) {#op, write_floats, text},
#define GENERATE_REDUCE(op, before, function, after) {#op, write_reduce, before "|" function "|" after},
#define GENERATE_OP(op) {#op, generate_##op, ""},
#define GENERATE_OP_OF(domain, op) {domain "::" #op, generate_##op, ""},
#include "generate_ops.def"
};

const GenerateOperator *generate_find(const char *name) {
  for (size_t i = 0; i < sizeof operators / sizeof operators[0]; i++) {
    if (strcmp(operators[i].name, name) == 0) return &operators[i];
  }
  return NULL;
}
