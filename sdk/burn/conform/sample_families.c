/* sample_families.c - from the shape of a first input to whole calls: one function per way in which inputs hang
 * together. */
#include "samples.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

uint64_t sample_draw(SampleMaker *maker, uint64_t limit) {
  maker->random = sample_mix(maker->random, 0);
  return limit ? maker->random % limit : 0;
}

BurnTensorDesc sample_desc(BurnDType dtype, uint32_t rank, const int64_t *shape) {
  BurnTensorDesc desc = {.dtype = dtype, .rank = rank};
  memcpy(desc.shape, shape, rank * sizeof *shape);
  return desc;
}

SampleInput *sample_add(Sample *sample, BurnTensorDesc desc, uint32_t domain) {
  SampleInput *input = &sample->inputs[sample->input_count++];
  *input = (SampleInput){.desc = desc, .domain = domain};
  return input;
}

static BurnTensorDesc *first(SampleMaker *maker) { return &maker->sample->inputs[0].desc; }

/* -- creation --------------------------------------------------------------------------------- */

static int make_create(SampleMaker *maker) {
  const BurnTensorDesc desc = *first(maker);
  if (maker->variant > 0) return SAMPLE_END;
  maker->sample->input_count = 0;
  sample_set_i64s(maker->sample, "shape", desc.shape, desc.rank);
  sample_set_i64(maker->sample, "dtype", (int64_t)desc.dtype);
  return SAMPLE_MADE;
}

static int make_vector(SampleMaker *maker) { return make_create(maker); }

static int make_square(SampleMaker *maker) {
  first(maker)->shape[1] = first(maker)->shape[0];
  return make_create(maker);
}

/* -- elementwise ------------------------------------------------------------------------------ */

static int make_unary(SampleMaker *maker) { return maker->variant > 0 ? SAMPLE_END : SAMPLE_MADE; }
static int make_planes(SampleMaker *maker) { return make_unary(maker); }

static int make_cast(SampleMaker *maker) {
  const BurnDType dtype = maker->variant + 1;
  if (dtype >= BURN_DTYPE_LIMIT) return SAMPLE_END;
  if (!(maker->dtypes >> dtype & 1u)) return SAMPLE_SKIP;
  sample_set_i64(maker->sample, "dtype", (int64_t)dtype);
  return SAMPLE_MADE;
}

static int make_same(SampleMaker *maker) {
  if (maker->variant > 0) return SAMPLE_END;
  while (maker->sample->input_count < maker->sample->op->input_count)
    sample_add(maker->sample, *first(maker), SAMPLE_ANY);
  return SAMPLE_MADE;
}

/* Makes 1 of the axes whose bit is set; false if that changes nothing. */
static bool squeeze(BurnTensorDesc *desc, uint32_t axes) {
  bool changed = false;
  for (uint32_t i = 0; i < desc->rank; i++) {
    if (!(axes >> i & 1u) || desc->shape[i] == 1) continue;
    desc->shape[i] = 1;
    changed = true;
  }
  return changed;
}

static int make_binary(SampleMaker *maker) {
  enum { SAME, RHS_ONE, RHS_ROW, LHS_ROW, BOTH, VARIANTS };
  BurnTensorDesc rhs = *first(maker);
  bool useful = true;
  if (maker->variant >= VARIANTS) return SAMPLE_END;
  if (maker->variant == RHS_ONE) useful = squeeze(&rhs, 0xff);
  if (maker->variant == RHS_ROW) useful = squeeze(&rhs, 0x55) && rhs.rank > 1;
  if (maker->variant == LHS_ROW) useful = squeeze(first(maker), 0x55);
  if (maker->variant == BOTH) useful = squeeze(first(maker), 0x55) && squeeze(&rhs, 0xaa);
  sample_add(maker->sample, rhs, SAMPLE_ANY);
  return useful ? SAMPLE_MADE : SAMPLE_SKIP;
}

static int make_binary_int(SampleMaker *maker) {
  const int made = make_binary(maker);
  if (made == SAMPLE_MADE) maker->sample->inputs[1].desc.dtype = BURN_DTYPE_I64;
  return made;
}

static int make_mask_fill(SampleMaker *maker) {
  BurnTensorDesc mask = *first(maker);
  mask.dtype = BURN_DTYPE_BOOL;
  if (maker->variant > 2) return SAMPLE_END;
  if (maker->variant == 1 && !squeeze(&mask, 0x55)) return SAMPLE_SKIP;
  if (maker->variant == 2 && !squeeze(first(maker), 0xaa)) return SAMPLE_SKIP;
  sample_add(maker->sample, mask, SAMPLE_MASK);
  return SAMPLE_MADE;
}

static int make_mask_where(SampleMaker *maker) {
  BurnTensorDesc value = *first(maker);
  if (maker->variant > 3) return SAMPLE_END;
  const uint32_t variant = maker->variant;
  if (variant == 3) { /* a scalar value */
    if (!squeeze(&value, 0xff)) return SAMPLE_SKIP;
    maker->variant = 0;
  }
  const int made = make_mask_fill(maker);
  maker->variant = variant;
  if (made == SAMPLE_MADE) sample_add(maker->sample, value, SAMPLE_ANY);
  return made;
}

/* -- along an axis ---------------------------------------------------------------------------- */

static int make_dim(SampleMaker *maker) {
  if (maker->variant >= first(maker)->rank) return SAMPLE_END;
  sample_set_i64(maker->sample, "dim", maker->variant);
  return SAMPLE_MADE;
}

/* Further inputs look like `desc`. */
static int add_values(SampleMaker *maker, BurnTensorDesc desc) {
  while (maker->sample->input_count < maker->sample->op->input_count) sample_add(maker->sample, desc, SAMPLE_ANY);
  return SAMPLE_MADE;
}

static int make_select(SampleMaker *maker) {
  static const int64_t counts[] = {1, 5, 0};
  const uint32_t dim = maker->variant / 3;
  BurnTensorDesc picked = *first(maker);
  if (dim >= picked.rank) return SAMPLE_END;
  picked.shape[dim] = counts[maker->variant % 3];
  if (first(maker)->shape[dim] == 0 && picked.shape[dim] > 0) return SAMPLE_SKIP;
  SampleInput *indices = sample_add(maker->sample, sample_desc(BURN_DTYPE_I64, 1, &picked.shape[dim]), SAMPLE_INDEX);
  indices->limit = first(maker)->shape[dim];
  sample_set_i64(maker->sample, "dim", dim);
  return add_values(maker, picked);
}

static int make_gather(SampleMaker *maker) {
  static const int64_t counts[] = {1, 4, 0};
  const uint32_t dim = maker->variant / 3;
  BurnTensorDesc picked = *first(maker);
  if (dim >= picked.rank) return SAMPLE_END;
  picked.shape[dim] = counts[maker->variant % 3];
  if (first(maker)->shape[dim] == 0 && burn_desc_count(&picked) > 0) return SAMPLE_SKIP;
  SampleInput *indices =
      sample_add(maker->sample, sample_desc(BURN_DTYPE_I64, picked.rank, picked.shape), SAMPLE_INDEX);
  indices->limit = first(maker)->shape[dim];
  sample_set_i64(maker->sample, "dim", dim);
  return add_values(maker, picked);
}

/* [.., m, k] x [.., k, n]. */
static int make_matmul(SampleMaker *maker) {
  enum { FOUR, ONE, RHS_STRETCHES, LHS_STRETCHES, WIDE, VARIANTS };
  static const int64_t columns[VARIANTS] = {4, 1, 3, 3, 33};
  BurnTensorDesc rhs = *first(maker);
  const uint32_t batch = rhs.rank < 2 ? 0 : (1u << (rhs.rank - 2)) - 1;
  if (maker->variant >= VARIANTS) return SAMPLE_END;
  rhs.shape[rhs.rank - 2] = first(maker)->shape[rhs.rank - 1];
  rhs.shape[rhs.rank - 1] = columns[maker->variant];
  bool useful = true;
  if (maker->variant == RHS_STRETCHES) useful = squeeze(&rhs, batch);
  if (maker->variant == LHS_STRETCHES) useful = squeeze(first(maker), batch);
  if (maker->variant == WIDE) useful = burn_desc_count(&rhs) > 200;
  sample_add(maker->sample, rhs, SAMPLE_ANY);
  return useful ? SAMPLE_MADE : SAMPLE_SKIP;
}

/* -- views ------------------------------------------------------------------------------------ */

static int make_reshape(SampleMaker *maker) {
  const BurnTensorDesc *x = first(maker);
  const int64_t count = burn_desc_count(x);
  int64_t shape[BURN_MAX_RANK] = {count, 0};
  uint32_t rank = 1;
  if (maker->variant > 4) return SAMPLE_END;
  if (maker->variant == 1) { /* reversed axes: reads on in row-major order, so no transposition */
    rank = x->rank;
    for (uint32_t i = 0; i < rank; i++) shape[i] = x->shape[rank - 1 - i];
  } else if (maker->variant == 2 && x->rank < BURN_MAX_RANK) {
    rank = x->rank + 1;
    shape[0] = 1;
    memcpy(shape + 1, x->shape, x->rank * sizeof *shape);
  } else if (maker->variant == 3) { /* first two axes joined */
    if (x->rank < 3) return SAMPLE_SKIP;
    rank = x->rank - 1;
    shape[0] = x->shape[0] * x->shape[1];
    memcpy(shape + 1, x->shape + 2, (rank - 1) * sizeof *shape);
  } else if (maker->variant == 4) {
    if (count == 0 || count % 3 != 0) return SAMPLE_SKIP;
    rank = 2;
    shape[0] = count / 3;
    shape[1] = 3;
  }
  sample_set_i64s(maker->sample, "shape", shape, rank);
  return SAMPLE_MADE;
}

static int make_permute(SampleMaker *maker) {
  const uint32_t rank = first(maker)->rank;
  int64_t axes[BURN_MAX_RANK];
  if (maker->variant > 3) return SAMPLE_END;
  if (maker->variant > 1 && rank < 3) return SAMPLE_SKIP;
  for (uint32_t i = 0; i < rank; i++) {
    const uint32_t by_variant[] = {rank - 1 - i, i, (i + 1) % rank, (i + rank - 1) % rank};
    axes[i] = by_variant[maker->variant];
  }
  sample_set_i64s(maker->sample, "axes", axes, rank);
  return SAMPLE_MADE;
}

static int make_expand(SampleMaker *maker) {
  enum { AS_IT_IS, ADD_AXIS, STRETCH_LAST, STRETCH_FIRST, TO_NOTHING, VARIANTS };
  BurnTensorDesc *x = first(maker);
  int64_t shape[BURN_MAX_RANK] = {2, 0};
  uint32_t rank = x->rank;
  if (maker->variant >= VARIANTS) return SAMPLE_END;
  if (maker->variant == ADD_AXIS) {
    memcpy(shape + 1, x->shape, rank * sizeof *shape);
    rank++;
  } else {
    memcpy(shape, x->shape, rank * sizeof *shape);
    const uint32_t axis = maker->variant == STRETCH_LAST ? rank - 1 : 0;
    if (maker->variant != AS_IT_IS) x->shape[axis] = 1;
    if (maker->variant == TO_NOTHING) shape[axis] = 0;
  }
  sample_set_i64s(maker->sample, "shape", shape, rank);
  return SAMPLE_MADE;
}

typedef struct Ranges {
  int64_t starts[BURN_MAX_RANK], counts[BURN_MAX_RANK], steps[BURN_MAX_RANK];
} Ranges;

/* What to take of an axis; false if there is no such variant. */
static bool range_of(uint32_t variant, int64_t size, int64_t *start, int64_t *count, int64_t *step) {
  *start = 0, *count = size, *step = 1;
  switch (variant) {
    case 0:
      return true; /* all */
    case 1:
      *start = size > 1, *count = size > 1 ? size - 1 : size;
      return true; /* from the second on */
    case 2:
      *step = 2, *count = (size + 1) / 2;
      return true;
    case 3:
      *start = size > 0 ? size - 1 : 0, *step = -1;
      return true; /* backwards */
    case 4:
      *start = size > 0 ? size - 1 : 0, *step = -2, *count = (size + 1) / 2;
      return true;
    case 5:
      *count = 0;
      return true;
    case 6:
      *start = size / 2, *count = size > 0;
      return true; /* one in the middle */
    default:
      return false;
  }
}

static bool fill_ranges(const BurnTensorDesc *x, uint32_t variant, Ranges *ranges) {
  for (uint32_t i = 0; i < x->rank; i++) {
    /* Variants above 6 mix: another one per axis. */
    const uint32_t kind = variant <= 6 ? variant : (variant + i) % 5;
    if (variant > 8 || !range_of(kind, x->shape[i], &ranges->starts[i], &ranges->counts[i], &ranges->steps[i]))
      return false;
  }
  return true;
}

static int make_slice(SampleMaker *maker) {
  const BurnTensorDesc *x = first(maker);
  Ranges ranges;
  if (!fill_ranges(x, maker->variant, &ranges)) return SAMPLE_END;
  sample_set_i64s(maker->sample, "starts", ranges.starts, x->rank);
  sample_set_i64s(maker->sample, "counts", ranges.counts, x->rank);
  sample_set_i64s(maker->sample, "steps", ranges.steps, x->rank);
  return SAMPLE_MADE;
}

static int make_slice_assign(SampleMaker *maker) {
  const BurnTensorDesc *x = first(maker);
  Ranges ranges;
  if (!fill_ranges(x, maker->variant, &ranges)) return SAMPLE_END;
  sample_set_i64s(maker->sample, "starts", ranges.starts, x->rank);
  sample_set_i64s(maker->sample, "steps", ranges.steps, x->rank);
  return add_values(maker, sample_desc(x->dtype, x->rank, ranges.counts));
}

static int make_cat(SampleMaker *maker) {
  static const int64_t sizes[] = {1, 0, 3, 2, 1, 1, 4, 2, 1};
  const uint32_t dim = maker->variant / 4, kind = maker->variant % 4;
  static const uint32_t more[] = {0, 1, 2, 9};
  BurnTensorDesc part = *first(maker);
  if (dim >= part.rank) return SAMPLE_END;
  if (kind == 3 && burn_desc_count(&part) > 4096) return SAMPLE_SKIP;
  for (uint32_t i = 0; i < more[kind]; i++) {
    part.shape[dim] = sizes[i];
    sample_add(maker->sample, part, SAMPLE_ANY);
  }
  sample_set_i64(maker->sample, "dim", dim);
  return SAMPLE_MADE;
}

/* -- shapes in the text ----------------------------------------------------------------------- */

/* "2,3" "5@7" "2,3b" "2,3f" "2,3s" "-": one input; the end of the word. */
static const char *parse_input(Sample *sample, const char *at, BurnDType dtype) {
  if (*at == '-') {
    sample->inputs[sample->input_count++] = (SampleInput){.absent = true};
    return at + 1;
  }
  BurnTensorDesc desc = {.dtype = dtype};
  while (isdigit((unsigned char)*at) && desc.rank < BURN_MAX_RANK) {
    char *end;
    desc.shape[desc.rank++] = strtoll(at, &end, 10);
    at = *end == ',' ? end + 1 : end;
  }
  SampleInput *input = sample_add(sample, desc, SAMPLE_ANY);
  if (*at == 'b') {
    input->desc.dtype = BURN_DTYPE_BOOL;
    input->domain = SAMPLE_MASK;
    return at + 1;
  }
  if (*at == 'f') {
    input->desc.dtype = BURN_DTYPE_F32;
    return at + 1;
  }
  if (*at == 's') {
    if (dtype != BURN_DTYPE_F64) input->desc.dtype = BURN_DTYPE_F32;
    return at + 1;
  }
  if (*at != '@') return at;
  char *end;
  input->limit = strtoll(at + 1, &end, 10);
  input->desc.dtype = BURN_DTYPE_I64;
  input->domain = SAMPLE_INDEX;
  return end;
}

static int make_shapes(SampleMaker *maker) {
  Sample *sample = maker->sample;
  const BurnDType dtype = first(maker)->dtype;
  if (maker->variant > 0) return SAMPLE_END;
  sample->input_count = 0;
  const char *at = maker->text;
  while (*at && *at != ':' && *at != '|' && sample->input_count < SAMPLE_MAX_INPUTS) {
    if (*at == ' ') {
      at++;
      continue;
    }
    at = parse_input(sample, at, dtype);
    if (*at && !strchr(" :|", *at)) return SAMPLE_INVALID;
  }
  return SAMPLE_MADE;
}

#define make_guess sample_guess /* sample_guess.c */
#define SAMPLE_FAMILY(name, rank_least, rank_most, own_shapes, creates) \
  const SampleFamily sample_family_##name = {make_##name, rank_least, rank_most, own_shapes, creates};
#include "sample_families.def"
#undef SAMPLE_FAMILY
