/* samples.c - the walk over an op's samples: shapes times variants times dtypes times layouts, small ones first. */
#include "samples.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- rows ------------------------------------------------------------------------------------- */

typedef struct Row {
  const char *op;
  const SampleFamily *family;
  const char *domains, *text;
  uint32_t tolerance, specials;
} Row;

#define NO_SPECIALS SAMPLE_NO_SPECIALS
#define NONFINITE SAMPLE_NONFINITE
#define EXTREME SAMPLE_EXTREME
static const Row rows[] = {
#define SAMPLER(op, family, domains, text, tolerance, specials) \
  {#op, &sample_family_##family, #domains, text, SAMPLE_##tolerance, specials},
#include "samples.def"
#undef SAMPLER
};
enum { ROW_COUNT = sizeof rows / sizeof rows[0] };

/* Ops of kernel packs have no rows: shapes that their rules accept are searched for. */
static const Row pack_row = {"", &sample_family_guess, "any", "", SAMPLE_SCALED, SAMPLE_NO_SPECIALS};

/* Rows are found by name, so that samples.def may know ops that this library does not have. */
static const Row *row_of(const BurnOpInfo *op) {
  static const Row *found[BURN_OP_LIMIT];
  if (op->op >= BURN_OP_LIMIT) return &pack_row;
  for (uint32_t i = 0; !found[op->op] && i < ROW_COUNT; i++) {
    if (strcmp(rows[i].op, op->name) == 0) found[op->op] = &rows[i];
  }
  return found[op->op];
}

bool sample_is_known(const BurnOpInfo *op) { return row_of(op) != NULL; }

bool sample_has_own_shapes(const BurnOpInfo *op) { return row_of(op) && row_of(op)->family->own_shapes; }

const char *sample_level_name(uint32_t level) {
  return level == SAMPLE_CORE ? "core" : level == SAMPLE_TRAIN ? "train" : "full";
}

/* Domain of input `position`: the words of the row, the last one repeats. */
static uint32_t domain_of(const Row *row, uint32_t position) {
  static const char *const names[SAMPLE_DOMAIN_COUNT] = {"any",    "positive",    "unit",      "above_one", "nonzero",
                                                         "factor", "probability", "distinct",  "count",     "index",
                                                         "mask",   "rows",        "ascending", "dominant",  "definite"};
  const char *at = row->domains;
  for (uint32_t i = 0; i < position && strchr(at, ' '); i++) at = strchr(at, ' ') + 1;
  for (uint32_t d = 0; d < SAMPLE_DOMAIN_COUNT; d++) {
    const size_t length = strlen(names[d]);
    if (strncmp(at, names[d], length) == 0 && (at[length] == ' ' || at[length] == '\0')) return d;
  }
  return SAMPLE_DOMAIN_COUNT;
}

/* -- attributes ------------------------------------------------------------------------------- */

static int attr_index(const Sample *sample, const char *name, size_t length) {
  for (uint32_t i = 0; i < sample->op->attr_count; i++) {
    if (strlen(sample->op->attr_names[i]) == length && strncmp(sample->op->attr_names[i], name, length) == 0)
      return (int)i;
  }
  return -1;
}

static void set_attr(Sample *sample, uint32_t i, BurnAttr attr) {
  sample->attrs[i] = attr;
  if (sample->attr_count <= i) sample->attr_count = i + 1;
}

bool sample_set_i64(Sample *sample, const char *name, int64_t value) {
  const int i = attr_index(sample, name, strlen(name));
  if (i < 0) return false;
  BurnAttr attr = burn_attr_i64(value);
  if (sample->op->attr_tags[i] != BURN_ATTR_NUMBER)
    attr.tag = sample->op->attr_tags[i]; /* bool and dtype: the value is in i64 too */
  set_attr(sample, (uint32_t)i, attr);
  return true;
}

bool sample_set_i64s(Sample *sample, const char *name, const int64_t *values, uint32_t count) {
  const int i = attr_index(sample, name, strlen(name));
  if (i < 0 || count > BURN_MAX_RANK) return false;
  if (count > 0) memcpy(sample->lists[i], values, count * sizeof *values);
  set_attr(sample, (uint32_t)i, burn_attr_i64s(sample->lists[i], count));
  return true;
}

/* "f32" and so on; BURN_DTYPE_DEFAULT if the text starts with no name. */
static BurnDType parse_dtype(const char *text) {
  for (BurnDType dtype = 1; dtype < BURN_DTYPE_LIMIT; dtype++) {
    const size_t length = strlen(burn_dtype_name(dtype));
    if (strncmp(text, burn_dtype_name(dtype), length) == 0 && !isalnum((unsigned char)text[length])) return dtype;
  }
  return BURN_DTYPE_DEFAULT;
}

static int64_t parse_integer(const Sample *sample, const char *text, char **end) {
  if (*text != '$') return strtoll(text, end, 10);
  *end = (char *)(uintptr_t)(text + 1);
  return (int64_t)sample->inputs[0].desc.rank - 1;
}

/* "2" is an I64, "2.0", "1e3" and "nan" are F64. */
static BurnAttr parse_number(const char *text, char **end) {
  char *whole_end = NULL;
  const int64_t whole = strtoll(text, &whole_end, 10);
  const double number = strtod(text, end);
  return whole_end == *end ? burn_attr_i64(whole) : burn_attr_f64(number);
}

/* The value after "name=". */
static bool parse_value(Sample *sample, uint32_t i, const char *text) {
  char *end = NULL;
  switch (sample->op->attr_tags[i]) {
    case BURN_ATTR_F64:
      set_attr(sample, i, burn_attr_f64(strtod(text, &end)));
      return end != text;
    case BURN_ATTR_NUMBER:
      set_attr(sample, i, parse_number(text, &end));
      return end != text;
    case BURN_ATTR_I64:
      set_attr(sample, i, burn_attr_i64(parse_integer(sample, text, &end)));
      return end != text;
    case BURN_ATTR_BOOL:
      set_attr(sample, i, burn_attr_bool(*text == '1'));
      return *text == '0' || *text == '1';
    case BURN_ATTR_DTYPE:
      set_attr(sample, i, burn_attr_dtype(parse_dtype(text)));
      return parse_dtype(text) != 0;
    default:
      break;
  }
  uint32_t count = 0;
  while (count < BURN_MAX_RANK) {
    sample->lists[i][count] = parse_integer(sample, text, &end);
    if (end == text) break;
    count++;
    if (*end != ',') break;
    text = end + 1;
  }
  set_attr(sample, i, burn_attr_i64s(sample->lists[i], count));
  return true;
}

bool sample_set_text(Sample *sample, const char *text) {
  for (;;) {
    text += strspn(text, " ");
    if (!*text || *text == '|') return true;
    const char *equals = strchr(text, '=');
    const int i = equals ? attr_index(sample, text, (size_t)(equals - text)) : -1;
    if (i < 0 || !parse_value(sample, (uint32_t)i, equals + 1)) return false;
    text = equals + 1 + strcspn(equals + 1, " |");
  }
}

/* Variant `index` of a row's text without its prefixes; NULL if there is none, `*fits` false if a prefix excludes it.
 */
static const char *text_variant(const char *text, uint32_t index, BurnDType dtype, const SamplePlan *plan, bool *fits) {
  static const struct {
    const char *prefix;
    uint32_t kinds, level;
  } prefixes[] = {{"float!", BURN_KIND_FLOAT, 1},    {"int!", BURN_KIND_INT, 1},   {"bool!", BURN_KIND_BOOL, 1},
                  {"number!", BURN_KIND_NUMERIC, 1}, {"train!", BURN_KIND_ANY, 2}, {"full!", BURN_KIND_ANY, 3}};
  for (; index > 0; index--) {
    text = strchr(text, '|');
    if (!text) return NULL;
    text++;
  }
  *fits = true;
  for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0];) {
    const size_t length = strlen(prefixes[i].prefix);
    if (strncmp(text, prefixes[i].prefix, length) != 0) {
      i++;
      continue;
    }
    if (!(prefixes[i].kinds & burn_dtype_kind(dtype)) || plan->level < prefixes[i].level) *fits = false;
    text += length;
    i = 0; /* another prefix may follow */
  }
  return text;
}

/* -- the lattice ------------------------------------------------------------------------------ */

typedef struct LatticeShape {
  uint32_t level;
  BurnShape shape;
} LatticeShape;

#define SHAPE(level, ...)                                                             \
  {                                                                                   \
    SAMPLE_##level, {                                                                 \
      (uint32_t)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), { __VA_ARGS__ } \
    }                                                                                 \
  }
static const LatticeShape lattice[] = {
    SHAPE(CORE, 1),
    SHAPE(CORE, 3),
    SHAPE(CORE, 2, 3),
    SHAPE(CORE, 0),
    SHAPE(CORE, 2, 1, 3),
    SHAPE(CORE, 2, 0, 3),
    SHAPE(CORE, 7, 17),
    SHAPE(TRAIN, 1, 1),
    SHAPE(TRAIN, 33),
    SHAPE(TRAIN, 2, 3, 2, 2),
    SHAPE(TRAIN, 4, 1, 1, 7),
    SHAPE(TRAIN, 0, 5),
    SHAPE(FULL, 5, 0),
    SHAPE(FULL, 2, 1, 3, 1, 2),
    SHAPE(FULL, 1, 17, 1, 33),
    SHAPE(FULL, 2, 2, 1, 2, 1, 2, 1, 3),
    SHAPE(FULL, 257),
    SHAPE(FULL, 129, 33),
    SHAPE(FULL, 65537),
    SHAPE(FULL, 300, 257),
};
static const LatticeShape only_shape[] = {SHAPE(CORE, 1)};
enum {
  LATTICE_COUNT = sizeof lattice / sizeof lattice[0],
  LARGE = 4096,           /* elements from which on only the main dtypes and layouts are run */
  GRADIENT_ELEMENTS = 24, /* most elements of a lattice shape for finite differences */
  GRADIENT_INPUT = 160,   /* and of any input */
  BRIEF_ELEMENTS = 130,
  MAX_VARIANTS = 12000, /* of a family: ends the walk where no dtype fits */
  MAX_GUESSES = 300000, /* the same of the family of packs */
  MAX_RESULT = 1 << 21  /* most elements of a result */
};

/* Dtypes by level; the first ones get all layouts. */
static const BurnDType dtype_order[] = {BURN_DTYPE_F32, BURN_DTYPE_I64,  BURN_DTYPE_BOOL, BURN_DTYPE_F64,
                                        BURN_DTYPE_F16, BURN_DTYPE_BF16, BURN_DTYPE_I32,  BURN_DTYPE_U8,
                                        BURN_DTYPE_I8,  BURN_DTYPE_I16};
enum { DTYPE_COUNT = sizeof dtype_order / sizeof dtype_order[0], MAIN_DTYPES = 3 };

static uint32_t dtypes_of_level(const SampleIterator *it) {
  const SamplePlan *plan = &it->plan;
  if (it->takes_all) return DTYPE_COUNT;
  if (plan->purpose == SAMPLE_GRADIENT) return DTYPE_COUNT;
  if (plan->purpose == SAMPLE_BRIEF) return plan->level == SAMPLE_FULL ? DTYPE_COUNT : MAIN_DTYPES;
  return plan->level == SAMPLE_CORE ? MAIN_DTYPES : plan->level == SAMPLE_TRAIN ? 7 : DTYPE_COUNT;
}

static bool dtype_is_wanted(const SampleIterator *it, BurnDType dtype) {
  if (!(it->plan.dtypes >> dtype & 1u) || !(burn_dtype_kind(dtype) & it->op->kinds)) return false;
  if (it->plan.purpose != SAMPLE_GRADIENT) return true;
  if (it->takes_all) return dtype == BURN_DTYPE_F32;
  if (it->plan.dtypes >> BURN_DTYPE_F64 & 1u) return dtype == BURN_DTYPE_F64;
  return dtype == BURN_DTYPE_F32;
}

/* The modes of a sample: layout and special values. Mode 0 is plain; false if there are no more. */
static bool mode_of(const SampleIterator *it, const Row *row, int64_t count, uint32_t *layout, uint32_t *specials) {
  const bool main_dtype = it->dtype < MAIN_DTYPES, forward = it->plan.purpose == SAMPLE_FORWARD;
  const uint32_t rotating = 1 + (it->shape + it->variant + it->text + it->dtype) % (SAMPLE_LAYOUT_COUNT - 1);
  const bool wants_all = it->plan.level == SAMPLE_FULL || row == &pack_row; /* a pack has few ops */
  const uint32_t layouts = wants_all && main_dtype && forward && count < LARGE ? SAMPLE_LAYOUT_COUNT : 2;
  *specials = SAMPLE_NO_SPECIALS;
  *layout = SAMPLE_CONTIGUOUS;
  if (it->mode < layouts) {
    *layout = it->mode == 0 ? SAMPLE_CONTIGUOUS : layouts > 2 ? it->mode : rotating;
    return true;
  }
  const bool wants_specials = forward && row->specials && !row->family->own_shapes && count >= 33 && count < 1000;
  if (it->mode > layouts || !wants_specials) return false;
  *specials = row->specials;
  return true;
}

/* -- one sample ------------------------------------------------------------------------------- */

/* Whether the layout can be made for the shape. */
static bool layout_fits(const BurnTensorDesc *desc, uint32_t layout) {
  switch (layout) {
    case SAMPLE_TRANSPOSED:
      return desc->rank >= 2 && burn_desc_count(desc) > 1;
    case SAMPLE_REVERSED:
    case SAMPLE_SLICED:
      return burn_desc_count(desc) > 0;
    default:
      return true;
  }
}

/* The axes on which stride 0 makes a difference and may be; how many there are. */
static uint32_t axes_to_expand(const SampleInput *input, uint32_t axes[BURN_MAX_RANK]) {
  const BurnTensorDesc *desc = &input->desc;
  uint32_t count = 0;
  for (uint32_t i = 0; i < desc->rank; i++)
    if (desc->shape[i] > 1 && (input->domain != SAMPLE_ROWS || i + 1 < desc->rank)) axes[count++] = i;
  return count;
}

/* Gives input i layout `layout` + i, so that layouts mix, in about every other turn `layout` to all; false if all stay
 * contiguous though they should not. */
static bool apply_layout(Sample *sample, uint32_t layout, uint32_t turn) {
  bool changed = layout == SAMPLE_CONTIGUOUS;
  for (uint32_t i = 0; i < sample->input_count && layout != SAMPLE_CONTIGUOUS; i++) {
    SampleInput *input = &sample->inputs[i];
    uint32_t axes[BURN_MAX_RANK];
    const uint32_t axis_count = axes_to_expand(input, axes);
    const uint32_t wanted = 1 + (layout - 1 + (turn % 2 ? 0 : i)) % (SAMPLE_LAYOUT_COUNT - 1);
    /* Stride 0 makes elements equal, which these do not bear. */
    const bool is_free = !sample->spread && input->domain != SAMPLE_DISTINCT && input->domain < SAMPLE_ASCENDING;
    if (input->absent || (wanted == SAMPLE_EXPANDED && !(is_free && axis_count > 0)) ||
        !layout_fits(&input->desc, wanted))
      continue;
    input->layout = wanted;
    if (wanted == SAMPLE_EXPANDED) input->axis = axes[(turn / 2 + i) % axis_count];
    changed = true;
  }
  return changed;
}

void sample_attrs(const Sample *sample, BurnAttr *attrs, int64_t (*repeated)[BURN_MAX_RANK]) {
  for (uint32_t i = 0; i < sample->op->attr_count; i++) {
    const bool is_set = i < sample->attr_count && sample->attrs[i].tag;
    attrs[i] = is_set ? sample->attrs[i] : sample->op->attr_defaults[i];
    if (is_set || attrs[i].tag != BURN_ATTR_I64S || attrs[i].count > 0) continue;
    for (uint32_t axis = 0; axis < BURN_MAX_RANK; axis++) repeated[i][axis] = attrs[i].value.i64;
    attrs[i] = burn_attr_i64s(repeated[i], BURN_MAX_RANK);
  }
}

BurnStatus sample_infer(Sample *sample) {
  BurnPrimitive headers[SAMPLE_MAX_INPUTS] = {{0}}, *inputs[SAMPLE_MAX_INPUTS] = {NULL};
  for (uint32_t i = 0; i < sample->input_count; i++) {
    const SampleInput *input = &sample->inputs[i];
    headers[i] = (BurnPrimitive){.struct_size = sizeof(BurnPrimitive),
                                 .dtype = input->desc.dtype,
                                 .rank = input->desc.rank,
                                 .shape = input->desc.shape};
    if (!input->absent) inputs[i] = &headers[i];
  }
  BurnAttr attrs[SAMPLE_MAX_ATTRS];
  int64_t repeated[SAMPLE_MAX_ATTRS][BURN_MAX_RANK];
  sample_attrs(sample, attrs, repeated);
  const BurnOpCall call = {.struct_size = sizeof call,
                           .op = sample->op->op,
                           .attr_count = sample->op->attr_count,
                           .input_count = sample->input_count,
                           .output_count = sample->op->output_count,
                           .inputs = inputs,
                           .attrs = attrs};
  return burn_host()->infer(&call, sample->outputs);
}

/* An axis without elements is a case that ops may refuse; any other refusal is a mistake. */
static bool has_empty_input(const Sample *sample) {
  bool empty = false;
  for (uint32_t i = 0; i < sample->input_count; i++) {
    empty = empty || (!sample->inputs[i].absent && burn_desc_count(&sample->inputs[i].desc) == 0);
  }
  return empty;
}

static bool sizes_are_wanted(const Sample *sample, const SamplePlan *plan) {
  bool same_float = false;
  for (uint32_t i = 0; i < sample->op->output_count; i++) {
    if (burn_desc_count(&sample->outputs[i]) > MAX_RESULT) return false;
    if (!(plan->dtypes >> sample->outputs[i].dtype & 1u)) return false; /* the stack has no such result */
    same_float = same_float || sample->outputs[i].dtype == sample->inputs[0].desc.dtype;
  }
  for (uint32_t i = 0; plan->purpose == SAMPLE_GRADIENT && i < sample->attr_count; i++) {
    if (sample->attrs[i].tag == BURN_ATTR_F64 && !isfinite(sample->attrs[i].value.f64))
      return false; /* no differences there */
  }
  for (uint32_t i = 0; i < sample->input_count; i++) {
    const int64_t count = sample->inputs[i].absent ? 0 : burn_desc_count(&sample->inputs[i].desc);
    if (!sample->inputs[i].absent && !(plan->dtypes >> sample->inputs[i].desc.dtype & 1u)) return false;
    if (plan->purpose == SAMPLE_GRADIENT && count > GRADIENT_INPUT) return false;
    if (plan->purpose == SAMPLE_BRIEF && count > 4 * BRIEF_ELEMENTS) return false;
  }
  return plan->purpose != SAMPLE_GRADIENT || same_float;
}

/* Domains by the row, where the family has not set its own. */
static void set_domains(Sample *sample, const Row *row) {
  for (uint32_t i = 0; i < sample->input_count; i++) {
    SampleInput *input = &sample->inputs[i];
    if (input->domain == SAMPLE_ANY) input->domain = domain_of(row, i);
  }
}

static int make(const SampleIterator *it, const Row *row, const BurnTensorDesc *first, const char *text, Sample *sample,
                char *why, size_t why_bytes) {
  memset(sample, 0, sizeof *sample);
  sample->op = it->op;
  sample->tolerance = row->tolerance;
  sample->spread = it->plan.purpose == SAMPLE_GRADIENT;
  sample->input_count = 1;
  sample->inputs[0].desc = *first;
  SampleMaker maker = {
      .sample = sample, .variant = it->variant, .text = text, .dtypes = it->plan.dtypes, .random = it->plan.seed};
  const int made = row->family->make(&maker);
  if (made == SAMPLE_END || made == SAMPLE_SKIP) return made;
  const char *attrs = row->family->own_shapes ? text + strcspn(text, ":|") : text;
  if (row->family->own_shapes) attrs = *attrs == ':' ? attrs + 1 : NULL;
  if (made == SAMPLE_INVALID || (attrs && !sample_set_text(sample, attrs))) {
    snprintf(why, why_bytes, "samples.def: the text \"%.*s\" does not fit the op", (int)strcspn(text, "|"), text);
    return SAMPLE_INVALID;
  }
  set_domains(sample, row);
  const BurnStatus status = sample_infer(sample);
  if (status == BURN_OK) return sizes_are_wanted(sample, &it->plan) ? SAMPLE_MADE : SAMPLE_SKIP;
  if (has_empty_input(sample) || row == &pack_row) return SAMPLE_SKIP;
  char call[256];
  sample_describe(sample, call, sizeof call);
  snprintf(why, why_bytes, "the shape rule refuses the sample %s: %s", call, burn_status_message(status));
  return SAMPLE_INVALID;
}

/* -- the walk --------------------------------------------------------------------------------- */

void samples_begin(SampleIterator *iterator, const BurnOpInfo *op, const SamplePlan *plan) {
  *iterator = (SampleIterator){.op = op, .plan = *plan};
}

static bool shape_is_wanted(const SampleIterator *it, const Row *row, const LatticeShape *entry) {
  int64_t count = 1;
  for (uint32_t i = 0; i < entry->shape.rank; i++) count *= entry->shape.dims[i];
  const uint32_t purpose = it->plan.purpose;
  if (entry->level > it->plan.level && purpose != SAMPLE_GRADIENT) return false;
  if (entry->shape.rank < row->family->rank_least || entry->shape.rank > row->family->rank_most) return false;
  if (purpose == SAMPLE_GRADIENT) return count > 0 && count <= GRADIENT_ELEMENTS && entry->shape.rank <= 4;
  return purpose != SAMPLE_BRIEF || count <= BRIEF_ELEMENTS;
}

/* Steps of the odometer: the named wheel one on, the faster ones back to 0. */
static void step_dtype(SampleIterator *it) { it->dtype++, it->mode = 0; }
static void step_text(SampleIterator *it) { it->text++, it->dtype = it->mode = 0; }
static void step_variant(SampleIterator *it) { it->variant++, it->text = it->dtype = it->mode = 0; }
static void step_shape(SampleIterator *it) { it->shape++, it->variant = it->text = it->dtype = it->mode = 0; }

void samples_leave(SampleIterator *iterator) { step_variant(iterator); }

/* One position of the odometer: moves on and returns SAMPLE_SKIP where there is nothing to make. */
static int try_position(SampleIterator *it, const Row *row, const LatticeShape *entry, Sample *out, char *why,
                        size_t why_bytes) {
  const SamplePlan *plan = &it->plan;
  bool fits = true;
  if (it->dtype >= dtypes_of_level(it)) {
    step_text(it);
    return SAMPLE_SKIP;
  }
  const BurnDType dtype = dtype_order[it->dtype];
  const char *text = text_variant(row->text, it->text, dtype, plan, &fits);
  if (!text) {
    step_variant(it);
    if (it->variant > (row == &pack_row ? MAX_GUESSES : MAX_VARIANTS)) step_shape(it);
    return SAMPLE_SKIP;
  }
  const BurnTensorDesc first = sample_desc(dtype, entry->shape.rank, entry->shape.dims);
  const int64_t count = burn_desc_count(&first);
  uint32_t layout, specials;
  if (!fits || !dtype_is_wanted(it, dtype) || (count >= LARGE && it->dtype > 1) ||
      !mode_of(it, row, count, &layout, &specials)) {
    step_dtype(it);
    return SAMPLE_SKIP;
  }
  int made = make(it, row, &first, text, out, why, why_bytes);
  it->mode++;
  if (made == SAMPLE_END) step_shape(it);
  if (made == SAMPLE_SKIP || made == SAMPLE_INVALID) step_dtype(it);
  if (made != SAMPLE_MADE) return made == SAMPLE_INVALID ? made : SAMPLE_SKIP;
  out->specials = specials;
  const uint64_t turn =
      sample_mix(it->op->op, it->count); /* that does not go with dtypes or layouts, which take turns */
  return apply_layout(out, layout, (uint32_t)(turn >> 32)) ? SAMPLE_MADE : SAMPLE_SKIP;
}

/* From where the iterator stands to the end of the lattice. */
static int walk_on(SampleIterator *it, const Row *row, Sample *out, char *why, size_t why_bytes) {
  const LatticeShape *shapes = row->family->own_shapes ? only_shape : lattice;
  const uint32_t shape_count = row->family->own_shapes ? 1 : LATTICE_COUNT;
  while (it->shape < shape_count) {
    if (!row->family->own_shapes && !shape_is_wanted(it, row, &shapes[it->shape])) {
      step_shape(it);
      continue;
    }
    const int made = try_position(it, row, &shapes[it->shape], out, why, why_bytes);
    if (made == SAMPLE_SKIP) continue;
    out->index = it->count++;
    out->seed = sample_mix(sample_mix(it->plan.seed, it->op->op), out->index);
    return made;
  }
  return SAMPLE_END;
}

int samples_next(SampleIterator *it, Sample *out, char *why, size_t why_bytes) {
  const Row *row = row_of(it->op);
  if (!row) return SAMPLE_END;
  const int made = walk_on(it, row, out, why, why_bytes);
  if (made != SAMPLE_END || it->count > 0 || row != &pack_row || it->takes_all) return made;
  it->takes_all = true;
  it->shape = 0;
  return walk_on(it, row, out, why, why_bytes);
}

/* A dtype that the op takes, from a random start on; BURN_DTYPE_DEFAULT if there is none. */
static BurnDType random_dtype(const SampleIterator *it, uint64_t random) {
  for (uint64_t i = 0; i < DTYPE_COUNT; i++) {
    const BurnDType dtype = dtype_order[(random + i) % DTYPE_COUNT];
    if (dtype_is_wanted(it, dtype)) return dtype;
  }
  return BURN_DTYPE_DEFAULT;
}

/* One try: variants and texts are drawn from fewer and fewer, as most families have few. */
static bool try_random(const BurnOpInfo *op, const Row *row, const BurnTensorDesc *first, uint64_t random,
                       uint64_t attempt, uint32_t dtypes, Sample *out) {
  static const uint64_t widths[] = {12, 6, 3, 2, 1};
  SampleIterator it = {.op = op, .plan = {SAMPLE_TRAIN, SAMPLE_FORWARD, random, dtypes}};
  it.variant = (uint32_t)((random >> 8) % widths[attempt % 5]);
  const LatticeShape *entry = &lattice[(random >> 16) % LATTICE_COUNT];
  BurnTensorDesc desc = sample_desc(random_dtype(&it, random >> 24), entry->shape.rank, entry->shape.dims);
  if (first) desc = *first;
  const bool rank_fits = desc.rank >= row->family->rank_least && desc.rank <= row->family->rank_most;
  if (!dtype_is_wanted(&it, desc.dtype) || burn_desc_count(&desc) > LARGE || !(rank_fits || row->family->own_shapes))
    return false;
  bool fits = false;
  char why[64];
  const char *text =
      text_variant(row->text, (uint32_t)((random >> 32) % widths[attempt / 5 % 5]), desc.dtype, &it.plan, &fits);
  if (!text || !fits || make(&it, row, &desc, text, out, why, sizeof why) != SAMPLE_MADE) return false;
  out->seed = random;
  if (!first) return true;
  return out->input_count > 0 && !out->inputs[0].absent && memcmp(&out->inputs[0].desc, first, sizeof *first) == 0;
}

bool sample_random(const BurnOpInfo *op, const BurnTensorDesc *first, uint64_t seed, uint32_t dtypes, Sample *out) {
  enum { TRIES = 50 };
  const Row *row = row_of(op);
  for (uint64_t attempt = 0; row && attempt < TRIES; attempt++) {
    if (try_random(op, row, first, sample_mix(seed, attempt), attempt, dtypes, out)) return true;
  }
  return false;
}

void sample_copy(Sample *to, const Sample *from) {
  *to = *from;
  for (uint32_t i = 0; i < to->attr_count; i++) {
    if (to->attrs[i].tag == BURN_ATTR_I64S) to->attrs[i].value.i64s = to->lists[i];
  }
}

/* -- text ------------------------------------------------------------------------------------- */

/* Appends; stops silently at the end of the room. */
static void append(char *text, size_t bytes, const char *piece) {
  const size_t used = strlen(text);
  if (used + 1 < bytes) snprintf(text + used, bytes - used, "%s", piece);
}

static void append_integer(char *text, size_t bytes, const char *before, int64_t value) {
  char piece[64];
  snprintf(piece, sizeof piece, "%s%" PRId64, before, value);
  append(text, bytes, piece);
}

static void describe_input(const SampleInput *input, char *text, size_t bytes) {
  static const char *const layouts[SAMPLE_LAYOUT_COUNT] = {"", " transposed", " reversed", " sliced", " expanded"};
  if (input->absent) {
    append(text, bytes, "none");
    return;
  }
  append(text, bytes, burn_dtype_name(input->desc.dtype));
  append(text, bytes, "[");
  for (uint32_t i = 0; i < input->desc.rank; i++) append_integer(text, bytes, i ? "," : "", input->desc.shape[i]);
  append(text, bytes, "]");
  append(text, bytes, layouts[input->layout]);
  if (input->layout == SAMPLE_EXPANDED) append_integer(text, bytes, " along ", input->axis);
}

static void describe_attr(const BurnAttr *attr, char *text, size_t bytes) {
  char number[48];
  switch (attr->tag) {
    case BURN_ATTR_F64:
      snprintf(number, sizeof number, "%.9g", attr->value.f64);
      append(text, bytes, number);
      break;
    case BURN_ATTR_DTYPE:
      append(text, bytes, burn_dtype_name((BurnDType)attr->value.i64));
      break;
    case BURN_ATTR_I64S:
      for (uint32_t i = 0; i < attr->count; i++) append_integer(text, bytes, i ? "," : "", attr->value.i64s[i]);
      break;
    default:
      append_integer(text, bytes, "", attr->value.i64);
      break;
  }
}

void sample_describe(const Sample *sample, char *text, size_t bytes) {
  static const char *const specials[] = {"", " with nan and inf", " with nan, inf and extremes"};
  text[0] = '\0';
  append(text, bytes, sample->op->name);
  append(text, bytes, "(");
  for (uint32_t i = 0; i < sample->input_count; i++) {
    if (i > 0) append(text, bytes, ", ");
    describe_input(&sample->inputs[i], text, bytes);
  }
  append(text, bytes, ")");
  for (uint32_t i = 0; i < sample->attr_count; i++) {
    if (sample->attrs[i].tag == BURN_ATTR_NONE) continue;
    append(text, bytes, " ");
    append(text, bytes, sample->op->attr_names[i]);
    append(text, bytes, "=");
    describe_attr(&sample->attrs[i], text, bytes);
  }
  append(text, bytes, specials[sample->specials]);
}
