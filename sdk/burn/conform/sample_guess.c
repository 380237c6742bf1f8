/* sample_guess.c - calls of a kernel pack's op, which has no row in samples.def: shapes and numbers are tried until the
 * op's own rule accepts them. For every combination of shapes there is a plain call and some with other attributes and
 * without optional inputs, as a kernel may ignore either. */
#include "conform.h"

#include <math.h>
#include <string.h>

/* The calls with one combination of shapes, in this order. */
enum {
  PLAIN,        /* attributes have their defaults, required ones the first values that the rule accepts */
  CHANGED,      /* all others, but for required integers, which may name axes, members or modes */
  CHANGED_BACK, /* the same from the last to the first, where those after one depend on it */
  RENUMBERED,   /* required integers, too */
  NONE_GIVEN,   /* plain, without any optional input */
  ONE_MISSING   /* plain, without the first optional input; the next ones follow */
};
enum {
  MAX_SHAPES = 12000, /* combinations of shapes */
  MAX_TRIES = 256     /* of required attributes with one of those */
};

static const double fractions[] = {0.5, 0.75, 0.25, 1.5, 2, 3, 1, -0.5, 0};
static const double integers[] = {1, 2, 3, 4, 5, 8, 16, 0};
enum {
  FRACTIONS = sizeof fractions / sizeof fractions[0],
  INTEGERS = sizeof integers / sizeof integers[0] + 1 /* the next one is tried before those */
};

/* -- one attribute ---------------------------------------------------------------------------- */

static bool is_required(const Sample *sample, uint32_t i) { return sample->op->attr_defaults[i].tag == BURN_ATTR_NONE; }

static bool is_required_integer(const Sample *sample, uint32_t i) {
  return is_required(sample, i) && sample->op->attr_tags[i] == BURN_ATTR_I64;
}

static bool is_float(const Sample *sample) { return burn_dtype_kind(sample->inputs[0].desc.dtype) == BURN_KIND_FLOAT; }

static bool is_fraction(const Sample *sample, uint32_t i) {
  const uint32_t tag = sample->op->attr_tags[i];
  return tag == BURN_ATTR_F64 || (tag == BURN_ATTR_NUMBER && is_float(sample));
}

/* How many values there are to try for attribute i. */
static uint32_t value_count(const Sample *sample, uint32_t i) {
  if (sample->op->attr_tags[i] == BURN_ATTR_DTYPE) return 1;
  if (sample->op->attr_tags[i] == BURN_ATTR_BOOL) return 2;
  if (is_fraction(sample, i)) return FRACTIONS;
  return sample->op->attr_tags[i] == BURN_ATTR_I64S ? 2 * INTEGERS : INTEGERS;
}

/* Value n of those to try, for an attribute that stands at `from`. */
static double value_to_try(const Sample *sample, uint32_t i, double from, uint32_t n) {
  if (sample->op->attr_tags[i] == BURN_ATTR_BOOL) return n;
  if (is_fraction(sample, i)) return fractions[n];
  return n % INTEGERS == 0 ? from + 1 : integers[n % INTEGERS - 1];
}

static BurnAttr value_now(const Sample *sample, uint32_t i) {
  const bool is_set = i < sample->attr_count && sample->attrs[i].tag;
  return is_set ? sample->attrs[i] : sample->op->attr_defaults[i];
}

/* Of a list its first entry; a default without entries stands for eight of its number. */
static double number_of(const BurnAttr *attr) {
  if (attr->tag == BURN_ATTR_I64S && attr->count > 0) return (double)attr->value.i64s[0];
  return attr->tag == BURN_ATTR_F64 ? attr->value.f64 : (double)attr->value.i64;
}

static void set_attr(Sample *sample, uint32_t i, BurnAttr attr) {
  sample->attrs[i] = attr;
  if (sample->attr_count <= i) sample->attr_count = i + 1;
}

static void set_number(Sample *sample, uint32_t i, double value, uint32_t length) {
  BurnAttr attr = burn_attr_i64((int64_t)value);
  const uint32_t tag = sample->op->attr_tags[i];
  if (is_fraction(sample, i)) {
    attr = burn_attr_f64(value);
  } else if (tag == BURN_ATTR_I64S) {
    for (uint32_t k = 0; k < length; k++) sample->lists[i][k] = (int64_t)value;
    attr = burn_attr_i64s(sample->lists[i], length);
  } else if (tag != BURN_ATTR_NUMBER) {
    attr.tag = tag;
  }
  set_attr(sample, i, attr);
}

/* -- plain calls ------------------------------------------------------------------------------ */

/* Choice n for a required attribute: what is tried first is 0, false, 0.5, ones for all axes, the first dtype. */
static void set_required(Sample *sample, uint32_t i, uint32_t n) {
  const uint32_t tag = sample->op->attr_tags[i];
  const double from = tag == BURN_ATTR_I64S ? 0 : -1;
  if (tag == BURN_ATTR_DTYPE) {
    set_attr(sample, i, burn_attr_dtype(sample->inputs[0].desc.dtype));
  } else {
    const uint32_t length = n < INTEGERS ? sample->inputs[0].desc.rank : 2;
    set_number(sample, i, value_to_try(sample, i, from, n), length);
  }
}

/* Way number `attempt` to set the required attributes, of which the last one changes fastest; false after the last. */
static bool set_all_required(Sample *sample, uint32_t attempt) {
  for (uint32_t i = sample->op->attr_count; i-- > 0;) {
    if (!is_required(sample, i)) continue;
    set_required(sample, i, attempt % value_count(sample, i));
    attempt /= value_count(sample, i);
  }
  return attempt == 0;
}

/* The first way that the rule accepts. */
static bool make_plain(Sample *sample) {
  for (uint32_t attempt = 0; attempt < MAX_TRIES && set_all_required(sample, attempt); attempt++) {
    if (sample_infer(sample) == BURN_OK) return true;
  }
  return false;
}

/* -- other attributes ------------------------------------------------------------------------- */

/* Gives attribute i another value that the rule accepts; one with none keeps what it had. */
static void change(Sample *sample, uint32_t i) {
  const BurnAttr before = value_now(sample, i);
  const double from = number_of(&before);
  const uint32_t own_length = before.tag == BURN_ATTR_I64S && before.count > 0 ? before.count : BURN_MAX_RANK;
  Sample plain;
  sample_copy(&plain, sample);
  for (uint32_t n = 0; n < value_count(sample, i); n++) {
    const double value = value_to_try(sample, i, from, n);
    if (value == from) continue;
    set_number(sample, i, value, n < INTEGERS ? own_length : sample->inputs[0].desc.rank);
    if (sample_infer(sample) != BURN_OK) continue;
    sample->changed |= 1u << i;
    return;
  }
  sample_copy(sample, &plain);
}

static bool is_to_change(const Sample *sample, uint32_t i, bool is_renumbered) {
  return sample->op->attr_tags[i] != BURN_ATTR_DTYPE && (is_renumbered || !is_required_integer(sample, i));
}

/* Changes what can be; true if that is something, `*all` if it is everything. */
static bool change_all(Sample *sample, bool is_renumbered, bool backwards, bool *all) {
  const uint32_t count = sample->op->attr_count;
  *all = true;
  for (uint32_t n = 0; n < count; n++) {
    const uint32_t i = backwards ? count - 1 - n : n;
    if (!is_to_change(sample, i, is_renumbered)) continue;
    if (!(sample->changed >> i & 1u)) change(sample, i);
    *all = *all && (sample->changed >> i & 1u);
  }
  return sample->changed != 0;
}

static int make_changed_back(Sample *sample) {
  Sample forwards;
  bool all;
  sample_copy(&forwards, sample);
  (void)change_all(&forwards, false, false, &all);
  if (all) return SAMPLE_SKIP;
  return change_all(sample, false, true, &all) ? SAMPLE_MADE : SAMPLE_SKIP;
}

/* Required integers are last, as the others may say how long the op waits for what they name. */
static int make_renumbered(Sample *sample) {
  bool all;
  (void)change_all(sample, false, false, &all);
  const uint32_t others = sample->changed;
  (void)change_all(sample, true, false, &all);
  sample->is_renumbered = sample->changed != others;
  return sample->is_renumbered ? SAMPLE_MADE : SAMPLE_SKIP;
}

/* -- without optional inputs ------------------------------------------------------------------ */

/* Leaves inputs out: what shape they would have makes no difference, so it is done for one of them. */
static int leave_out(Sample *sample, uint32_t first, uint32_t end, const uint32_t *shapes) {
  if (end - first == sample->input_count) return SAMPLE_SKIP; /* nothing would name the device */
  for (uint32_t i = first; i < end; i++) {
    if (shapes[i] > 0) return SAMPLE_SKIP;
    sample->inputs[i].absent = true;
  }
  return make_plain(sample) ? SAMPLE_MADE : SAMPLE_SKIP;
}

static int make_missing(Sample *sample, uint32_t kind, const uint32_t *shapes) {
  const uint32_t first = sample->op->input_required, end = sample->op->input_count;
  if (kind == NONE_GIVEN) return end > first + 1 ? leave_out(sample, first, end, shapes) : SAMPLE_SKIP;
  return leave_out(sample, first + kind - ONE_MISSING, first + kind - ONE_MISSING + 1, shapes);
}

/* -- the family ------------------------------------------------------------------------------- */

/* Inputs with combination `number` of these shapes, which fit together in many ways; false after the last one. */
static bool add_inputs(Sample *sample, BurnDType dtype, uint32_t number, uint32_t *shapes) {
  static const BurnShape palette[] = {{1, {3}},    {2, {2, 3}},    {2, {3, 4}},       {1, {4}}, {2, {1, 4}},
                                      {2, {1, 3}}, {3, {2, 3, 4}}, {4, {2, 2, 3, 3}}, {1, {1}}, {2, {7, 17}}};
  enum { SHAPES = sizeof palette / sizeof palette[0] };
  sample->input_count = 0;
  for (uint32_t i = 0; i < sample->op->input_count; i++, number /= SHAPES) {
    shapes[i] = number % SHAPES;
    sample_add(sample, sample_desc(dtype, palette[shapes[i]].rank, palette[shapes[i]].dims), SAMPLE_ANY);
  }
  return number == 0 && sample->input_count > 0;
}

int sample_guess(SampleMaker *maker) {
  Sample *sample = maker->sample;
  const uint32_t kinds = ONE_MISSING + sample->op->input_count - sample->op->input_required;
  const uint32_t number = maker->variant / kinds, kind = maker->variant % kinds;
  uint32_t shapes[SAMPLE_MAX_INPUTS];
  bool all;
  report_beat(); /* a rule that refuses much makes this long */
  if (number >= MAX_SHAPES || !add_inputs(sample, sample->inputs[0].desc.dtype, number, shapes)) return SAMPLE_END;
  if (kind >= NONE_GIVEN) return make_missing(sample, kind, shapes);
  if (!make_plain(sample)) return SAMPLE_SKIP;
  if (kind == CHANGED) return change_all(sample, false, false, &all) ? SAMPLE_MADE : SAMPLE_SKIP;
  if (kind == CHANGED_BACK) return make_changed_back(sample);
  return kind == RENUMBERED ? make_renumbered(sample) : SAMPLE_MADE;
}

BurnStatus sample_refusal(const BurnOpInfo *op, BurnDType dtype, char *call, size_t call_bytes) {
  Sample sample = {.op = op};
  uint32_t shapes[SAMPLE_MAX_INPUTS];
  (void)add_inputs(&sample, dtype, 0, shapes);
  (void)set_all_required(&sample, 0);
  sample_describe(&sample, call, call_bytes);
  return sample_infer(&sample);
}
