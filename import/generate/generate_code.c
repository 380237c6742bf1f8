/* generate_code.c - statements of the forward pass: variables, their last uses, literals, fields. */
#include "generate.h"

#include <burn/burn.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- statements -------------------------------------------------------------------------------- */

void generate_line(Generator *g, const char *format, ...) {
  char line[512];
  va_list arguments;
  va_start(arguments, format);
  const int bytes = vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  burn__text_indent(&g->forward, g->depth + 1);
  if (bytes >= 0 && (size_t)bytes < sizeof line) {
    burn__text_addf(&g->forward, "%s\n", line);
    return;
  }
  char *longer = bytes < 0 ? NULL : malloc((size_t)bytes + 1);
  g->failed = g->failed || !longer;
  if (!longer) return;
  va_start(arguments, format);
  vsnprintf(longer, (size_t)bytes + 1, format, arguments);
  va_end(arguments);
  burn__text_addf(&g->forward, "%s\n", longer);
  free(longer);
}

void generate_indent(Generator *g) { g->depth++; }
void generate_outdent(Generator *g) { g->depth--; }

/* A byte that no text has, and its number, until it is known whether it is used. */
void generate_declare_symbol(Generator *g, const GenerateSymbol *symbol) {
  burn__text_addf(&g->forward, "%c%u %u\n", GENERATE_MARK, (unsigned)(symbol - g->symbols), g->depth);
}

void generate_refuse(GenerateStep *s, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  if (!s->reason[0]) vsnprintf(s->reason, sizeof s->reason, format, arguments);
  va_end(arguments);
}

const char *generate_local(Generator *g, const char *text) { return generate_name(g, 1, text, "x"); }

BurnDType generate_dtype(const GenerateValue *value) { return burn_dtype(value->probes[0].tensor); }

const char *generate_dtype_text(Generator *g, BurnDType dtype) {
  char name[16] = "";
  const char *text = burn_dtype_name(dtype);
  for (size_t i = 0; text[i] && i < sizeof name - 1; i++)
    name[i] = (char)(text[i] >= 'a' && text[i] <= 'z' ? text[i] - 'a' + 'A' : text[i]);
  return generate_text(g, "BURN_DTYPE_%s", name);
}

bool generate_is_sequence(const GenerateValue *value) { return value->probes[0].list != NULL; }

const char *generate_type(Generator *g, const GenerateValue *value) {
  if (!generate_is_sequence(value)) return "BurnTensor *";
  generate_support(g, GENERATE_SUPPORT_sequence);
  return "Sequence ";
}

bool generate_has(const GenerateStep *s, uint32_t i) { return i < s->step->input_count && s->inputs[i]; }

bool generate_is_constant(const GenerateStep *s, uint32_t i) {
  return generate_has(s, i) && s->inputs[i]->kind == GENERATE_CONSTANT;
}

BurnTensor *generate_constant(const GenerateStep *s, uint32_t i) { return burn_clone(s->inputs[i]->probes[0].tensor); }

/* -- constants --------------------------------------------------------------------------------- */

static const char *const c_types[BURN_DTYPE_LIMIT] = {
    [BURN_DTYPE_F32] = "float",   [BURN_DTYPE_F64] = "double", [BURN_DTYPE_I32] = "int32_t",
    [BURN_DTYPE_I64] = "int64_t", [BURN_DTYPE_U8] = "uint8_t", [BURN_DTYPE_BOOL] = "bool"};

static const char *shape_literal(Generator *g, BurnShape shape) {
  const char *list = "";
  for (uint32_t i = 0; i < shape.rank; i++)
    list = generate_text(g, "%s%s%lld", list, i ? ", " : "", (long long)shape.dims[i]);
  return generate_text(g, "BURN_SHAPE(%s)", list);
}

/* Small tensors of dtypes that C has stand in the code. */
static const char *in_code(Generator *g, const BurnTensor *x) {
  double values[GENERATE_LITERALS];
  const BurnDType dtype = burn_dtype(x);
  const size_t count = (size_t)burn_element_count(x);
  if (count == 0 || count > GENERATE_LITERALS || !c_types[dtype]) return NULL;
  if (burn_read_f64(burn_clone(x), values, count) != BURN_OK) return NULL;
  const char *list = "", *suffix = dtype == BURN_DTYPE_F32 ? "f" : "";
  for (size_t i = 0; i < count; i++) {
    const bool floats = burn_dtype_kind(dtype) == BURN_KIND_FLOAT;
    if (!floats && (values[i] > 9e15 || values[i] < -9e15)) return NULL; /* not exact as a double */
    const char *number = floats ? generate_number(g, values[i]) : generate_text(g, "%lld", (long long)values[i]);
    if (strchr(number, 'N')) return NULL; /* not finite: in the file */
    const bool real = strpbrk(number, ".e") != NULL;
    list = generate_text(g, "%s%s%s%s", list, i ? ", " : "", number, real ? suffix : "");
  }
  g->uses_device = true;
  return generate_text(g, "burn_tensor_%s(device, (const %s[]){%s}, %s)", burn_dtype_name(dtype), c_types[dtype], list,
                       shape_literal(g, burn_shape(x)));
}

/* A row of the module for the tensor. */
static const char *in_field(Generator *g, const GenerateValue *value) {
  const BurnTensor *x = value->probes[0].tensor;
  const char *text = value->weight ? value->weight : "constant";
  const bool learned = value->learned;
  const char *name = generate_name(g, 0, text, "constant");
  GenerateField *field = onnx_arena_take(&g->arena, 1, sizeof *field);
  if (!field) {
    g->failed = true;
    return "";
  }
  *field = (GenerateField){learned ? "BurnParam" : "BurnBuffer", name, "", NULL, g->fields};
  field->comment = generate_text(g, "%s", burn_shape_text(burn_shape(x)).text);
  field->init = generate_text(g, "  m.%s = burn_%s(burn_zeros(device, %s, %s));\n", name, learned ? "param" : "buffer",
                              shape_literal(g, burn_shape(x)), generate_dtype_text(g, burn_dtype(x)));
  g->fields = field;
  generate_weight(g, name, burn_clone(x));
  return generate_text(g, "burn_%s_value(&m->%s)", learned ? "param" : "buffer", name);
}

void generate_weight(Generator *g, const char *path, BurnTensor *tensor) {
  GenerateWeight *weight = onnx_arena_take(&g->arena, 1, sizeof *weight);
  if (!weight) {
    burn_drop(tensor);
    g->failed = true;
    return;
  }
  *weight = (GenerateWeight){path, tensor, g->weights};
  g->weights = weight;
  g->report->tensors++;
}

const char *generate_literal(Generator *g, GenerateValue *value) {
  if (!value->literal && !value->learned) value->literal = in_code(g, value->probes[0].tensor);
  if (value->literal) return value->literal;
  g->uses_module = true;
  value->literal = in_field(g, value);
  return value->literal;
}

/* Integers and truths that follow from shapes. */
static const char *shape_literal_of(GenerateStep *s, uint32_t i) {
  int64_t values[GENERATE_PROBES][ONNX_INTS] = {{0}};
  const size_t count = generate_ints(s, i, values);
  const BurnDType dtype = generate_dtype(s->inputs[i]);
  const char *list = "";
  if (!c_types[dtype]) generate_refuse(s, "input %u follows from shapes, and is %s", i, burn_dtype_name(dtype));
  for (size_t k = 0; k < count && !s->reason[0]; k++) {
    const int64_t element[] = {values[0][k], values[1][k], values[2][k]};
    const char *formula = generate_formula(s->g, element);
    if (!formula) generate_refuse(s, "input %u follows from sizes by no known formula; give sizes", i);
    const bool cast = dtype != BURN_DTYPE_I64 && formula && strspn(formula, "-0123456789") < strlen(formula);
    if (cast) formula = generate_text(s->g, "(%s)(%s)", c_types[dtype], formula);
    list = generate_text(s->g, "%s%s%s", list, k ? ", " : "", formula ? formula : "");
  }
  if (s->reason[0]) return "";
  s->g->uses_device = true;
  return generate_text(s->g, "burn_tensor_%s(device, (const %s[]){%s}, %s)", burn_dtype_name(dtype), c_types[dtype],
                       list, shape_literal(s->g, burn_shape(s->inputs[i]->probes[0].tensor)));
}

/* -- variables --------------------------------------------------------------------------------- */

static const char *use_sequence(Generator *g, GenerateValue *value) {
  g->uses_status = true;
  generate_support(g, GENERATE_SUPPORT_sequence_clone);
  if (value->left > 1) return generate_text(g, "sequence_clone(&%s, &status)", value->variable);
  value->moved = true;
  return value->variable;
}

const char *generate_borrow(GenerateStep *s, uint32_t i) {
  return s->inputs[i]->kind == GENERATE_VARIABLE ? s->inputs[i]->variable : generate_use(s, i);
}

const char *generate_int(GenerateStep *s, uint32_t i, const char *otherwise) {
  if (!generate_has(s, i)) return otherwise;
  if (!s->inputs[i]->probes[0].tensor) generate_refuse(s, "input %u is not a tensor", i);
  if (s->reason[0]) return "0";
  if (s->inputs[i]->kind == GENERATE_VARIABLE) {
    s->g->uses_status = true;
    generate_support(s->g, GENERATE_SUPPORT_integer);
    return generate_text(s->g, "integer(%s, &status)", generate_use(s, i));
  }
  int64_t values[GENERATE_PROBES][ONNX_INTS] = {{0}};
  if (generate_ints(s, i, values) != 1) generate_refuse(s, "input %u is not one integer", i);
  const int64_t element[] = {values[0][0], values[1][0], values[2][0]};
  const bool constant = s->inputs[i]->kind == GENERATE_CONSTANT;
  if (constant && values[0][0] == INT64_MAX) return "INT64_MAX";
  const char *formula =
      constant ? generate_text(s->g, "%lld", (long long)values[0][0]) : generate_formula(s->g, element);
  if (!formula) generate_refuse(s, "input %u follows from sizes by no known formula; give sizes", i);
  return formula ? formula : "0";
}

const char *generate_use(GenerateStep *s, uint32_t i) {
  GenerateValue *value = s->inputs[i];
  if (!generate_has(s, i)) return "NULL";
  if (value->kind == GENERATE_CONSTANT) return generate_literal(s->g, value);
  if (value->kind == GENERATE_SHAPE) return shape_literal_of(s, i);
  if (generate_is_sequence(value)) return use_sequence(s->g, value);
  /* One that is read twice is cloned both times: the order of arguments is not C's to say. */
  if (value->left > 1) return generate_text(s->g, "burn_clone(%s)", value->variable);
  if (!value->moved && !value->is_input) s->moved[s->moved_count++] = value->variable;
  value->moved = true;
  return value->variable;
}

const char *generate_use_rank(GenerateStep *s, uint32_t i, uint32_t rank) {
  const char *text = generate_use(s, i);
  if (generate_rank(s->inputs[i]) >= rank) return text;
  return generate_text(s->g, "burn_unsqueeze(%s, %u)", text, rank);
}

/* A variable that is free, that of the first input that ends here before others. */
static const char *take_variable(GenerateStep *s, bool *declared) {
  Generator *g = s->g;
  *declared = true;
  if (s->moved_count > 0) {
    const char *name = s->moved[0];
    s->moved_count--;
    memmove(s->moved, s->moved + 1, s->moved_count * sizeof *s->moved);
    return name;
  }
  if (g->free_count > g->free_base) return g->free_variables[--g->free_count];
  *declared = false;
  return generate_local(g, "x");
}

const char *generate_declare(GenerateStep *s, uint32_t output) {
  bool declared = false;
  GenerateValue *value = s->outputs[output];
  if (generate_is_sequence(value)) {
    value->variable = generate_local(s->g, "x");
    return generate_text(s->g, "%s%s", generate_type(s->g, value), value->variable);
  }
  value->variable = take_variable(s, &declared);
  return declared ? value->variable : generate_text(s->g, "BurnTensor *%s", value->variable);
}

void generate_give(GenerateStep *s, uint32_t output, const char *expression) {
  if (s->reason[0] || output >= s->step->output_count || !s->outputs[output]) return;
  if (s->moved_count == 1 && strcmp(s->moved[0], expression) == 0) { /* nothing changes */
    s->outputs[output]->variable = s->moved[--s->moved_count];
    return;
  }
  const char *variable = generate_declare(s, output);
  generate_line(s->g, "%s = %s; /* %s */", variable, expression, generate_shape_comment(s->g, s->outputs[output]));
}

void generate_give_open(GenerateStep *s, uint32_t output, const char *expression, uint32_t open) {
  if (s->reason[0] || output >= s->step->output_count || !s->outputs[output]) return;
  const char *variable = generate_declare(s, output);
  generate_open_axes(s, s->outputs[output], generate_text(s->g, "%s = %s;", variable, expression), open);
}

/* -- fields ------------------------------------------------------------------------------------ */

const char *generate_field(GenerateStep *s, const char *type, const char *name, const char *comment) {
  Generator *g = s->g;
  GenerateField *field = onnx_arena_take(&g->arena, 1, sizeof *field);
  const char *weight = strstr(name, ".weight");
  const char *spelled =
      generate_name(g, 0, weight ? generate_text(g, "%.*s", (int)(weight - name), name) : name, "layer");
  g->failed = g->failed || !field;
  if (!field) return spelled;
  *field = (GenerateField){type, spelled, comment, "", g->fields};
  g->fields = field;
  g->uses_module = true;
  g->report->layers++;
  return spelled;
}

void generate_field_init(Generator *g, const char *field, const char *init) {
  for (GenerateField *f = g->fields; f; f = f->before) {
    if (strcmp(f->name, field) == 0) f->init = init;
  }
}
