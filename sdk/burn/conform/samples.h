/* samples.h - sample calls of every op, valid by construction: what conformance checks and the fuzzer run.
 *
 * A sample is an op with attributes and descriptions of its inputs: shape, dtype, how the values are drawn, how they
 * lie in memory. samples.def has a row per op; families (sample_families.c) turn a shape into calls. A new op needs a
 * row there, or conformance fails with "no samples". Everything follows from op, level, seed and number, so a sample
 * can be made again. */
#ifndef BURN_SDK_CONFORM_SAMPLES_H
#define BURN_SDK_CONFORM_SAMPLES_H

#include <burn/burn.h>
#include <burn/op_call.h>
#include <burn/plugin/backend.h>

#include <stdbool.h>

enum { SAMPLE_MAX_INPUTS = BURN_MAX_FIXED_INPUTS, SAMPLE_MAX_ATTRS = BURN_MAX_ATTRS };

/* How much: each level has all of the one before. */
enum { SAMPLE_CORE = 1, SAMPLE_TRAIN = 2, SAMPLE_FULL = 3 };

/* What the samples are for. */
enum {
  SAMPLE_FORWARD = 0,  /* the whole lattice */
  SAMPLE_GRADIENT = 1, /* small floats without repeated values: for finite differences */
  SAMPLE_BRIEF = 2     /* few and small ones in one or two dtypes: for laws and faults that run each many times */
};

/* How values are drawn. */
enum {
  SAMPLE_ANY = 0,     /* floats -4 .. 4, integers -9 .. 9 */
  SAMPLE_POSITIVE,    /* 0.2 .. 4; integers 1 .. 9 */
  SAMPLE_UNIT,        /* -0.9 .. 0.9 */
  SAMPLE_ABOVE_ONE,   /* 1.1 .. 4 */
  SAMPLE_NONZERO,     /* as any, at least 0.5 away from 0 */
  SAMPLE_FACTOR,      /* 0.6 .. 1.5; integers 1 and -1: products stay small */
  SAMPLE_PROBABILITY, /* 0.05 .. 0.95 */
  SAMPLE_DISTINCT,    /* as any, no two alike */
  SAMPLE_COUNT,       /* integers 0 .. 4: exponents, shifts */
  SAMPLE_INDEX,       /* integers 0 .. limit-1 */
  SAMPLE_MASK,        /* booleans */
  SAMPLE_ROWS,        /* as any, never all alike along the last axis: what is divided by their deviation */
  SAMPLE_ASCENDING,   /* rising along the last axis: boundaries, sorted input */
  SAMPLE_DOMINANT,    /* matrices with a heavy diagonal: they have an inverse */
  SAMPLE_DEFINITE,    /* symmetric positive definite matrices */
  SAMPLE_DOMAIN_COUNT
};

/* How an input lies in memory; views are made with ops of the stack itself. */
enum {
  SAMPLE_CONTIGUOUS = 0,
  SAMPLE_TRANSPOSED, /* last two axes exchanged */
  SAMPLE_REVERSED,   /* negative stride along the first axis */
  SAMPLE_SLICED,     /* every second element of something longer, from an offset */
  SAMPLE_EXPANDED,   /* stride 0 along one axis */
  SAMPLE_LAYOUT_COUNT
};

/* Which special values a sample holds. */
enum {
  SAMPLE_NO_SPECIALS = 0,
  SAMPLE_NONFINITE = 1, /* NaN, infinities, zeros of both signs */
  SAMPLE_EXTREME = 2    /* also the largest and smallest of the dtype */
};

/* How close results must be; compare.c has the numbers. */
enum {
  SAMPLE_EXACT = 0,
  SAMPLE_MATH,
  SAMPLE_SUM,
  SAMPLE_SCALED,
  SAMPLE_LOOSE,
  SAMPLE_SHAPE_ONLY,
  SAMPLE_TOLERANCE_COUNT
};

typedef struct SampleInput {
  bool absent; /* an optional input that is left out */
  BurnTensorDesc desc;
  uint32_t domain; /* SAMPLE_ANY .. */
  int64_t limit;   /* of SAMPLE_INDEX */
  uint32_t layout; /* SAMPLE_CONTIGUOUS .. */
  uint32_t axis;   /* of SAMPLE_EXPANDED: which has stride 0 */
} SampleInput;

/* Copy with sample_copy only: attributes point into the sample. */
typedef struct Sample {
  const BurnOpInfo *op;
  uint64_t seed;      /* of the values */
  uint32_t index;     /* its number among the op's samples of this level and purpose */
  uint32_t specials;  /* SAMPLE_NO_SPECIALS .. */
  uint32_t tolerance; /* SAMPLE_EXACT .. */
  bool spread;        /* values follow a sequence without repetition */
  uint32_t input_count;
  SampleInput inputs[SAMPLE_MAX_INPUTS];
  uint32_t attr_count;
  BurnAttr attrs[SAMPLE_MAX_ATTRS];
  int64_t lists[SAMPLE_MAX_ATTRS][BURN_MAX_RANK];
  uint32_t changed;   /* of a pack's op: bit i says that attribute i is not as in the plain call */
  bool is_renumbered; /* some of those are required integers */
  BurnTensorDesc outputs[BURN_MAX_OUTPUTS]; /* by the op's shape rule */
} Sample;

typedef struct SamplePlan {
  uint32_t level, purpose;
  uint64_t seed;
  uint32_t dtypes; /* bit d: dtype d may be used */
} SamplePlan;

/* Walks through the samples of one op. Small ones come first. */
typedef struct SampleIterator {
  const BurnOpInfo *op;
  SamplePlan plan;
  uint32_t shape, variant, text, dtype, mode; /* where it stands */
  uint32_t count;                             /* samples made so far */
  bool takes_all; /* the dtypes of the level and purpose gave no sample of a pack's op: all others are tried */
} SampleIterator;

enum { SAMPLE_END = 0, SAMPLE_MADE = 1, SAMPLE_INVALID = 2 };

/* False if samples.def has no row for the op. */
bool sample_is_known(const BurnOpInfo *op);

void samples_begin(SampleIterator *iterator, const BurnOpInfo *op, const SamplePlan *plan);

/* The next sample; SAMPLE_INVALID with a message in `why` if the row made a call that the op's shape rule refuses,
 * which is a mistake of the row or of the rule. */
int samples_next(SampleIterator *iterator, Sample *out, char *why, size_t why_bytes);

/* Leaves out what is left of the call that samples_next gave last: its other dtypes and layouts. */
void samples_leave(SampleIterator *iterator);

/* Why an op of a pack has no samples: what its shape rule says to the first call that is tried, which is described. */
BurnStatus sample_refusal(const BurnOpInfo *op, BurnDType dtype, char *call, size_t call_bytes);

/* One random call of an op. `first` is the description of an existing tensor that is to be the first input, or NULL to
 * draw one. The other inputs are described only: a fuzzer may use existing tensors whose description fits and whose
 * domain is SAMPLE_ANY. False if the op has no call with such a first input. */
bool sample_random(const BurnOpInfo *op, const BurnTensorDesc *first, uint64_t seed, uint32_t dtypes, Sample *out);

/* The attributes of the call with defaults filled in; `repeated` holds lists of one number. Both have attr_count
 * entries. */
void sample_attrs(const Sample *sample, BurnAttr *attrs, int64_t (*repeated)[BURN_MAX_RANK]);

/* Descriptions of the results by the op's shape rule. */
BurnStatus sample_infer(Sample *sample);

/* True if the op's first input has one of the few shapes in its row. */
bool sample_has_own_shapes(const BurnOpInfo *op);

void sample_copy(Sample *to, const Sample *from);

/* The values of an input: row-major bytes of its dtype, malloc'd; NULL without memory. */
void *sample_values(const Sample *sample, uint32_t input);

/* "matmul(f32[2,3] transposed, f32[3,4]) dim=1" for people. */
void sample_describe(const Sample *sample, char *text, size_t bytes);

const char *sample_level_name(uint32_t level);

/* -- host values of any dtype (sample_values.c) ----------------------------------------------- */

/* Element i of row-major bytes as a double; *whole gets integers exactly. */
double sample_load(BurnDType dtype, const void *data, int64_t i, int64_t *whole);
/* Rounds to nearest even; integers saturate. */
void sample_store(BurnDType dtype, void *data, int64_t i, double value);
/* Largest finite number of a float dtype. */
double sample_largest(BurnDType dtype);

/* Mixes numbers to one seed. */
uint64_t sample_mix(uint64_t a, uint64_t b);

/* -- for the families (sample_families.c) ----------------------------------------------------- */

typedef struct SampleMaker {
  Sample *sample;
  uint32_t variant; /* of the family, from 0 */
  const char *text; /* the row's text of this variant, without its prefix */
  uint32_t dtypes;  /* as in the plan */
  uint64_t random;  /* state of sample_draw */
} SampleMaker;

enum { SAMPLE_SKIP = 3 };

/* The family of ops of kernel packs (sample_guess.c). */
int sample_guess(SampleMaker *maker);

/* Completes a call whose first input (or, for creation, inputs[0] as the shape to make) is described: further inputs
 * and the attributes that the family owns. SAMPLE_MADE, SAMPLE_SKIP (this variant does not fit this shape) or
 * SAMPLE_END (no more). */
typedef int (*SampleFamilyFunction)(SampleMaker *maker);

typedef struct SampleFamily {
  SampleFamilyFunction make;
  uint32_t rank_least, rank_most;
  bool own_shapes; /* shapes stand in the row's text: "2,3 3,4: stride=1,1" */
  bool creates;    /* inputs[0] is the shape to make, not an input */
} SampleFamily;

#define SAMPLE_FAMILY(name, rank_least, rank_most, own_shapes, creates) extern const SampleFamily sample_family_##name;
#include "sample_families.def"
#undef SAMPLE_FAMILY

/* 0 .. limit-1 */
uint64_t sample_draw(SampleMaker *maker, uint64_t limit);
/* Set attributes by name; false if the op has none of that name. */
bool sample_set_i64(Sample *sample, const char *name, int64_t value);
bool sample_set_i64s(Sample *sample, const char *name, const int64_t *values, uint32_t count);
/* "dim=1 mode=2": false if a word is not an attribute of the op. */
bool sample_set_text(Sample *sample, const char *text);
/* Adds an input. */
SampleInput *sample_add(Sample *sample, BurnTensorDesc desc, uint32_t domain);
BurnTensorDesc sample_desc(BurnDType dtype, uint32_t rank, const int64_t *shape);

#endif
