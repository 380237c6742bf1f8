/* generate_shapes.c - integers that follow from shapes, as formulas in the axes of any size.
 *
 * What a graph makes of its shapes is not traced through its nodes. It is known for three sizes of every axis, and a
 * formula must give all three values. */
#include "generate.h"

#include <burn/burn.h>

#include <string.h>

/* Sizes that an axis of any size gets in the probes: no two axes have the same, and none is a usual factor. */
static const int64_t usual_sizes[GENERATE_SIZES][GENERATE_PROBES] = {
    {3, 5, 7},       {11, 17, 13},    {19, 31, 23},    {29, 43, 37},    {41, 59, 47},    {53, 71, 61},
    {67, 83, 73},    {79, 101, 89},   {97, 107, 103},  {109, 131, 113}, {127, 149, 137}, {139, 163, 151},
    {157, 179, 167}, {173, 193, 181}, {191, 211, 197}, {199, 229, 223}};

/* -- axes ---------------------------------------------------------------------------------------- */

/* A row of sizes that no axis in sight has; GENERATE_SIZES: there is none. */
static uint32_t free_row(const Generator *g) {
  bool taken[GENERATE_SIZES] = {false};
  uint32_t row = 0;
  for (uint32_t i = 0; i < g->symbol_count; i++) {
    if (!g->symbols[i].ended) taken[g->symbols[i].row] = true;
  }
  while (row < GENERATE_SIZES && taken[row]) row++;
  return row;
}

GenerateSymbol *generate_symbol(Generator *g, const char *axis, const char *name, const char *source) {
  const uint32_t row = free_row(g);
  if (row == GENERATE_SIZES || g->symbol_count == GENERATE_SYMBOLS) return NULL;
  GenerateSymbol *symbol = &g->symbols[g->symbol_count++];
  *symbol = (GenerateSymbol){.axis = axis, .name = generate_local(g, name), .source = source, .row = row};
  memcpy(symbol->sizes, usual_sizes[row], sizeof symbol->sizes);
  return symbol;
}

void generate_end_symbols(Generator *g, uint32_t first) {
  for (uint32_t i = first; i < g->symbol_count; i++) g->symbols[i].ended = true;
}

/* -- formulas ------------------------------------------------------------------------------------ */

uint32_t generate_rank(const GenerateValue *value) { return burn_rank(value->probes[0].tensor); }

int64_t generate_dim(const GenerateValue *value, uint32_t probe, uint32_t axis) {
  const uint32_t at = value->kind == GENERATE_CONSTANT ? 0 : probe;
  return burn_dim(value->probes[at].tensor, (int)axis);
}

static bool same(const Generator *g, const int64_t *values, const int64_t *others) {
  return memcmp(values, others, g->probes * sizeof *values) == 0;
}

/* factor * symbol + summand through the first two values, if that gives the third, too. */
static const char *line_through(Generator *g, GenerateSymbol *symbol, const int64_t *values) {
  const int64_t *x = symbol->sizes, dx = x[1] - x[0], dy = values[1] - values[0];
  if (symbol->ended || dx == 0 || dy % dx != 0) return NULL;
  const int64_t factor = dy / dx, summand = values[0] - factor * x[0];
  for (uint32_t p = 0; p < g->probes; p++) {
    if (factor * x[p] + summand != values[p]) return NULL;
  }
  symbol->used = true;
  const char *text = factor == 1 ? symbol->name : generate_text(g, "%lld * %s", (long long)factor, symbol->name);
  if (summand == 0) return text;
  return generate_text(g, "%s %c %lld", text, summand < 0 ? '-' : '+', (long long)(summand < 0 ? -summand : summand));
}

/* a * b * factor */
static const char *product_of(Generator *g, GenerateSymbol *a, GenerateSymbol *b, const int64_t *values) {
  const int64_t first = a->sizes[0] * b->sizes[0];
  if (a->ended || b->ended || first == 0 || values[0] % first != 0) return NULL;
  const int64_t factor = values[0] / first;
  for (uint32_t p = 0; p < g->probes; p++) {
    if (a->sizes[p] * b->sizes[p] * factor != values[p]) return NULL;
  }
  a->used = b->used = true;
  return factor == 1 ? generate_text(g, "%s * %s", a->name, b->name)
                     : generate_text(g, "%lld * %s * %s", (long long)factor, a->name, b->name);
}

const char *generate_formula(Generator *g, const int64_t *values) {
  bool constant = true;
  for (uint32_t p = 1; p < g->probes; p++) constant = constant && values[p] == values[0];
  if (constant) return generate_text(g, "%lld", (long long)values[0]);
  for (uint32_t i = 0; i < g->symbol_count; i++) {
    if (g->symbols[i].ended || !same(g, values, g->symbols[i].sizes)) continue;
    g->symbols[i].used = true;
    return g->symbols[i].name;
  }
  for (uint32_t i = 0; i < g->symbol_count; i++) {
    const char *text = line_through(g, &g->symbols[i], values);
    if (text) return text;
  }
  for (uint32_t i = 0; i < g->symbol_count; i++) {
    for (uint32_t k = i; k < g->symbol_count; k++) {
      const char *text = product_of(g, &g->symbols[i], &g->symbols[k], values);
      if (text) return text;
    }
  }
  return NULL;
}

static const char *dim_formula(Generator *g, const GenerateValue *value, uint32_t axis) {
  int64_t sizes[GENERATE_PROBES];
  for (uint32_t p = 0; p < g->probes; p++) sizes[p] = generate_dim(value, p, axis);
  return generate_formula(g, sizes);
}

const char *generate_shape(GenerateStep *s, const GenerateValue *value, bool one_open) {
  const char *list = "";
  bool open = false;
  for (uint32_t i = 0; i < generate_rank(value); i++) {
    const char *dim = dim_formula(s->g, value, i);
    if (!dim && (open || !one_open)) {
      generate_refuse(s, "axis %u of its result follows from sizes by no known formula; give sizes", i);
      return "";
    }
    open = open || !dim;
    list = generate_text(s->g, "%s%s%s", list, i ? ", " : "", dim ? dim : "-1");
  }
  return generate_text(s->g, "BURN_SHAPE(%s)", list);
}

/* The same for what the forward pass need not have as a variable. */
static const char *dim_in_words(Generator *g, const GenerateValue *value, uint32_t axis) {
  bool used[GENERATE_SYMBOLS];
  for (uint32_t i = 0; i < g->symbol_count; i++) used[i] = g->symbols[i].used;
  const char *dim = dim_formula(g, value, axis);
  for (uint32_t i = 0; i < g->symbol_count; i++) g->symbols[i].used = used[i];
  return dim;
}

const char *generate_shape_comment(Generator *g, const GenerateValue *value) {
  const char *list = "";
  if (generate_is_sequence(value)) return "tensors";
  for (uint32_t i = 0; i < generate_rank(value); i++) {
    const char *dim = dim_in_words(g, value, i);
    list = generate_text(g, "%s%s%s", list, i ? ", " : "", dim ? dim : "?");
  }
  return value->probes[0].scalar ? "a number" : generate_text(g, "[%s]", list);
}

/* The shapes of the probes with the sizes of the symbol along an axis. */
static void give_sizes(const Generator *g, BurnShape *shapes, uint32_t axis, const int64_t *sizes) {
  for (uint32_t p = 0; p < g->probes; p++) shapes[p].dims[axis] = sizes[p];
}

void generate_open_axes(GenerateStep *s, GenerateValue *value, const char *statement, uint32_t open) {
  Generator *g = s->g;
  BurnShape shapes[GENERATE_PROBES] = {{0}};
  const uint32_t first = g->symbol_count;
  for (uint32_t p = 0; p < g->probes; p++) shapes[p] = burn_shape(value->probes[p].tensor);
  for (uint32_t i = 0; i < generate_rank(value); i++) {
    if (!(open >> i & 1) && dim_in_words(g, value, i)) continue;
    const GenerateSymbol *symbol =
        generate_symbol(g, "", "length", generate_text(g, "burn_dim(%s, %u)", value->variable, i));
    if (!symbol) {
      generate_refuse(s, "more than %d sizes that depend on data", GENERATE_SIZES);
      return;
    }
    give_sizes(g, shapes, i, symbol->sizes);
  }
  for (uint32_t p = 0; p < g->probes && first < g->symbol_count; p++) {
    const BurnDType dtype = burn_dtype(value->probes[p].tensor);
    burn_drop(value->probes[p].tensor);
    value->probes[p].tensor = burn_zeros(g->device, shapes[p], dtype);
  }
  if (statement) generate_line(g, "%s /* %s */", statement, generate_shape_comment(g, value));
  for (uint32_t i = first; i < g->symbol_count; i++) generate_declare_symbol(g, &g->symbols[i]);
}

size_t generate_ints(GenerateStep *s, uint32_t i, int64_t values[GENERATE_PROBES][ONNX_INTS]) {
  if (!generate_has(s, i)) return 0;
  const GenerateValue *value = s->inputs[i];
  const int64_t count = burn_element_count(value->probes[0].tensor);
  if (value->kind == GENERATE_VARIABLE || count > ONNX_INTS) {
    generate_refuse(s, "input %u depends on data, not on shapes alone", i);
    return 0;
  }
  for (uint32_t p = 0; p < s->g->probes; p++) {
    BurnTensor *x = value->probes[value->kind == GENERATE_CONSTANT ? 0 : p].tensor;
    if (burn_read_i64(burn_cast(burn_clone(x), BURN_DTYPE_I64), values[p], (size_t)count) != BURN_OK) {
      generate_refuse(s, "input %u cannot be read as integers", i);
      return 0;
    }
  }
  return (size_t)count;
}

bool generate_constant_number(const GenerateStep *s, uint32_t i, double *value) {
  if (!generate_is_constant(s, i)) return false;
  const BurnTensor *x = s->inputs[i]->probes[0].tensor;
  return burn_element_count(x) == 1 && burn_read_scalar(burn_clone(x), value) == BURN_OK;
}

bool generate_exact_of(Generator *g, BurnTensor *x, BurnDType dtype, GenerateExact *out) {
  double number = 0;
  int64_t integer = 0;
  const bool integers = burn_dtype_kind(dtype) == BURN_KIND_INT && burn_dtype_kind(burn_dtype(x)) == BURN_KIND_INT;
  const BurnStatus status = integers ? burn_read_i64(x, &integer, 1) : burn_read_scalar(x, &number);
  if (status != BURN_OK) return false;
  *out = (GenerateExact){integers ? generate_integer(g, integer) : generate_number(g, number), integers ? "_i64" : ""};
  return true;
}

bool generate_exact(const GenerateStep *s, uint32_t i, BurnDType dtype, GenerateExact *out) {
  if (!generate_is_constant(s, i)) return false;
  const BurnTensor *x = s->inputs[i]->probes[0].tensor;
  return burn_element_count(x) == 1 && generate_exact_of(s->g, burn_clone(x), dtype, out);
}
