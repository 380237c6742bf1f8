/* ndarray_create.c - tensors from nothing: full, arange and the random ops, whose numbers random.h defines to the bit.
 *
 * Random ops run over groups of ND_RANDOM_WORDS elements: the words, and most of what is made of them, come from the
 * vector loops of ndarray_random_isa.inc; this file too is compiled without contraction into fused multiply-add. */
#include "support/ndarray_half.h"
#include "elementwise/ndarray_kernels.h"
#include "ndarray_moves.h"
#include "ndarray_random.h"

#include <burn/plugin/random.h>

#include <math.h>
#include <string.h>

#define ND_CREATE_GRAIN 16384 /* elements per chunk at least */

/* -- full and arange -------------------------------------------------------------------------- */

typedef struct NdCreate {
  const NdRandomLoops *loops;
  const NdMoves *moves;
  BurnDType dtype;
  bool streams;
  int64_t count;
  void *out;
  NdScalar value;        /* full */
  uint64_t first, step;  /* arange; wraps */
  uint64_t seed, offset; /* random */
  double low, high;      /* uniform; mean and std of normal */
  uint64_t range;        /* uniform integers: high - low */
  uint64_t threshold;    /* bernoulli */
} NdCreate;

/* The value in elements begin .. end-1 of `to`. */
static void fill_elements(const NdCreate *c, void *to, int64_t begin, int64_t end) {
  switch (burn_dtype_bytes(c->dtype)) {
    case 1:
      memset((uint8_t *)to + begin, c->value.u8, (size_t)(end - begin));
      break;
    case 2:
      for (int64_t i = begin; i < end; i++) ((uint16_t *)to)[i] = c->value.bits_16;
      break;
    case 4:
      for (int64_t i = begin; i < end; i++) ((uint32_t *)to)[i] = c->value.bits_32;
      break;
    default:
      for (int64_t i = begin; i < end; i++) ((uint64_t *)to)[i] = c->value.bits_64;
      break;
  }
}

static void BURN_API_CALL fill(void *context, int64_t begin, int64_t end) {
  const NdCreate *c = context;
  if (!c->streams) {
    fill_elements(c, c->out, begin, end);
    return;
  }
  enum { AT_ONCE = 512 };
  _Alignas(64) uint64_t pattern[AT_ONCE];
  const int64_t bytes = burn_dtype_bytes(c->dtype);
  fill_elements(c, pattern, 0, AT_ONCE);
  for (; begin < end; begin += AT_ONCE) {
    const int64_t n = end - begin < AT_ONCE ? end - begin : AT_ONCE;
    c->moves->stream((char *)c->out + begin * bytes, pattern, n * bytes);
  }
  c->moves->stream_end();
}

static NdTensor *create_begin(Ndarray *nd, const BurnOpCall *call, NdCreate *c) {
  NdTensor *out = nd_new(nd, &call->output_descs[0]);
  memset(c, 0, sizeof *c);
  c->loops = nd_random(nd);
  c->moves = nd_moves(nd);
  c->dtype = call->output_descs[0].dtype;
  c->count = out ? burn_desc_count(&call->output_descs[0]) : 0; /* of what does not fit it overflows */
  c->out = out ? nd_data(out) : NULL;
  c->streams = c->count * (int64_t)burn_dtype_bytes(c->dtype) >= ND_STREAM_BYTES;
  return out;
}

static BurnStatus full(Ndarray *nd, const BurnOpCall *call) {
  NdCreate c;
  NdTensor *out = create_begin(nd, call, &c);
  if (!out) return nd_out_of_memory(nd, call);
  c.value = nd_scalar(c.dtype, &BURN_ATTRS(full, call)->value, false);
  nd_parallel_for(nd, c.count, ND_CREATE_GRAIN, fill, &c);
  return nd_finish(nd, call, out);
}

static void BURN_API_CALL count_up(void *context, int64_t begin, int64_t end) {
  const NdCreate *c = context;
  for (int64_t i = begin; i < end; i++) {
    const uint64_t value = c->first + (uint64_t)i * c->step;
    switch (c->dtype) {
      case BURN_DTYPE_F32:
        ((float *)c->out)[i] = (float)(int64_t)value;
        break;
      case BURN_DTYPE_F64:
        ((double *)c->out)[i] = (double)(int64_t)value;
        break;
      case BURN_DTYPE_F16:
        ((uint16_t *)c->out)[i] = nd_f16_from_f64((double)(int64_t)value);
        break;
      case BURN_DTYPE_BF16:
        ((uint16_t *)c->out)[i] = nd_bf16_from_f64((double)(int64_t)value);
        break;
      case BURN_DTYPE_I16:
        ((uint16_t *)c->out)[i] = (uint16_t)value;
        break;
      case BURN_DTYPE_I32:
        ((int32_t *)c->out)[i] = (int32_t)(uint32_t)value;
        break;
      case BURN_DTYPE_I64:
        ((int64_t *)c->out)[i] = (int64_t)value;
        break;
      default:
        ((uint8_t *)c->out)[i] = (uint8_t)value;
        break;
    }
  }
}

static BurnStatus arange(Ndarray *nd, const BurnOpCall *call) {
  NdCreate c;
  NdTensor *out = create_begin(nd, call, &c);
  if (!out) return nd_out_of_memory(nd, call);
  c.first = (uint64_t)BURN_ATTRS(arange, call)->start.value.i64;
  c.step = (uint64_t)BURN_ATTRS(arange, call)->step.value.i64;
  nd_parallel_for(nd, c.count, ND_CREATE_GRAIN, count_up, &c);
  return nd_finish(nd, call, out);
}

/* -- random ----------------------------------------------------------------------------------- */

/* n elements of group to `out` from their words; n <= ND_RANDOM_WORDS. */
typedef void (*NdFromWords)(const NdCreate *c, int64_t n, const uint32_t *words, void *out);

typedef struct NdRandom {
  NdCreate create;
  NdFromWords from_words;
} NdRandom;

/* Groups begin .. end-1 of ND_RANDOM_WORDS elements. */
static void BURN_API_CALL random_groups(void *context, int64_t begin, int64_t end) {
  const NdRandom *random = context;
  const NdCreate *c = &random->create;
  const int64_t bytes = burn_dtype_bytes(c->dtype);
  _Alignas(64) uint32_t words[ND_RANDOM_WORDS];
  _Alignas(64) double made[ND_RANDOM_WORDS];
  for (int64_t group = begin; group < end; group++) {
    const int64_t first = group * ND_RANDOM_WORDS, left = c->count - first;
    const int64_t n = left < ND_RANDOM_WORDS ? left : ND_RANDOM_WORDS;
    void *to = (char *)c->out + first * bytes;
    c->loops->words(c->seed, c->offset + (uint64_t)group * ND_RANDOM_BLOCKS, words);
    random->from_words(c, n, words, c->streams ? made : to);
    if (c->streams) c->moves->stream(to, made, n * bytes);
  }
  if (c->streams) c->moves->stream_end();
}

static BurnStatus run_random(Ndarray *nd, const BurnOpCall *call, NdRandom *random, NdTensor *out) {
  const int64_t groups = (random->create.count + ND_RANDOM_WORDS - 1) / ND_RANDOM_WORDS;
  nd_parallel_for(nd, groups, ND_CREATE_GRAIN / 4 / ND_RANDOM_WORDS, random_groups, random);
  return nd_finish(nd, call, out);
}

static void uniform_f32(const NdCreate *c, int64_t n, const uint32_t *words, void *out) {
  c->loops->uniform_f32(n, words, (float)c->low, (float)c->high, out);
}

/* The same in f32, between low and high that the dtype has; then rounded. */
static void uniform_half(const NdCreate *c, int64_t n, const uint32_t *words, void *out) {
  uint16_t *to = out;
  const bool is_f16 = c->dtype == BURN_DTYPE_F16;
  const uint16_t least = is_f16 ? nd_f16_from_f64(c->low) : nd_bf16_from_f64(c->low);
  const float low = is_f16 ? nd_f16_to_f32(least) : nd_bf16_to_f32(least);
  const float high = is_f16 ? nd_f16_to_f32(nd_f16_from_f64(c->high)) : nd_bf16_to_f32(nd_bf16_from_f64(c->high));
  const float width = high - low;
  for (int64_t i = 0; i < n; i++) {
    const float scaled = burn_random_unit_f32(words[i]) * width;
    const float sum = low + scaled;
    const uint16_t rounded = is_f16 ? nd_f16_from_f32(sum) : nd_bf16_from_f32(sum);
    const float number = is_f16 ? nd_f16_to_f32(rounded) : nd_bf16_to_f32(rounded);
    to[i] = number < high ? rounded : least;
  }
}

static void uniform_f64(const NdCreate *c, int64_t n, const uint32_t *words, void *out) {
  c->loops->uniform_f64(n, words, c->low, c->high, out);
}

static void uniform_integer(const NdCreate *c, int64_t n, const uint32_t *words, void *out) {
  for (int64_t i = 0; i < n; i++) {
    /* range is at most 2^32, so the product fits */
    const uint64_t scaled = c->range >> 32 ? words[i] : (uint64_t)words[i] * c->range >> 32;
    const uint64_t value = c->first + scaled;
    switch (c->dtype) {
      case BURN_DTYPE_I16:
        ((uint16_t *)out)[i] = (uint16_t)value;
        break;
      case BURN_DTYPE_I32:
        ((int32_t *)out)[i] = (int32_t)(uint32_t)value;
        break;
      case BURN_DTYPE_I64:
        ((int64_t *)out)[i] = (int64_t)value;
        break;
      default:
        ((uint8_t *)out)[i] = (uint8_t)value;
        break;
    }
  }
}

static BurnStatus random_uniform(Ndarray *nd, const BurnOpCall *call) {
  const BurnAttrs_random_uniform *attrs = BURN_ATTRS(random_uniform, call);
  NdRandom random;
  const double low = burn_attr_to_f64(&attrs->low), high = burn_attr_to_f64(&attrs->high);
  const bool is_float = burn_dtype_kind(call->output_descs[0].dtype) == BURN_KIND_FLOAT;
  const int64_t first = burn_attr_to_i64(&attrs->low), last = burn_attr_to_i64(&attrs->high);
  const uint64_t range = last > first ? (uint64_t)last - (uint64_t)first : 0;
  if (!is_float && range > (uint64_t)1 << 32) {
    return nd_fail(nd, BURN_STATUS_INVALID_ARGUMENT, "random_uniform: the range %lld..%lld is larger than 2^32",
                   (long long)first, (long long)last);
  }
  NdTensor *out = create_begin(nd, call, &random.create);
  if (!out) return nd_out_of_memory(nd, call);
  random.create.seed = (uint64_t)attrs->seed.value.i64;
  random.create.offset = (uint64_t)attrs->offset.value.i64;
  random.create.low = low;
  random.create.high = high;
  random.create.first = (uint64_t)first;
  random.create.range = range;
  random.from_words = !is_float                               ? uniform_integer
                      : random.create.dtype == BURN_DTYPE_F32 ? uniform_f32
                      : random.create.dtype == BURN_DTYPE_F64 ? uniform_f64
                                                              : uniform_half;
  return run_random(nd, call, &random, out);
}

static void normal_f32(const NdCreate *c, int64_t n, const uint32_t *words, void *out) {
  const int64_t even = n / 2 * 2;
  float *to = out, pair[2];
  c->loops->normal_f32(even, words, c->low, c->high, to);
  if (even == n) return;
  c->loops->normal_f32(2, words + even, c->low, c->high, pair);
  to[even] = pair[0];
}

static void normal_half(const NdCreate *c, int64_t n, const uint32_t *words, void *out) {
  float made[ND_RANDOM_WORDS];
  uint16_t *to = out;
  normal_f32(c, n, words, made);
  if (c->dtype == BURN_DTYPE_F16) {
    for (int64_t i = 0; i < n; i++) to[i] = nd_f16_from_f32(made[i]);
  } else {
    for (int64_t i = 0; i < n; i++) to[i] = nd_bf16_from_f32(made[i]);
  }
}

/* Every last bit of the functions shows in f64, so they are those of the platform, as random.h says. */
static void normal_f64(const NdCreate *c, int64_t n, const uint32_t *words, void *out) {
  const double unit = 1.0 / 4294967296.0;
  double *to = out;
  for (int64_t i = 0; i < n; i++) {
    const uint32_t *pair = words + i / 2 * 2;
    const double radius = sqrt(-2.0 * log(((double)pair[0] + 1.0) * unit));
    const double angle = 6.28318530717958647692 * (double)pair[1] * unit;
    to[i] = c->low + c->high * (radius * (i % 2 == 0 ? cos(angle) : sin(angle)));
  }
}

static BurnStatus random_normal(Ndarray *nd, const BurnOpCall *call) {
  const BurnAttrs_random_normal *attrs = BURN_ATTRS(random_normal, call);
  NdRandom random;
  NdTensor *out = create_begin(nd, call, &random.create);
  if (!out) return nd_out_of_memory(nd, call);
  random.create.seed = (uint64_t)attrs->seed.value.i64;
  random.create.offset = (uint64_t)attrs->offset.value.i64;
  random.create.low = attrs->mean.value.f64;
  random.create.high = attrs->std.value.f64;
  random.from_words = random.create.dtype == BURN_DTYPE_F32   ? normal_f32
                      : random.create.dtype == BURN_DTYPE_F64 ? normal_f64
                                                              : normal_half;
  return run_random(nd, call, &random, out);
}

static void bernoulli(const NdCreate *c, int64_t n, const uint32_t *words, void *out) {
  const BurnAttr number = burn_attr_i64(1);
  const NdScalar one = nd_scalar(c->dtype, &number, false);
  const uint32_t which = nd_log2_bytes(burn_dtype_bytes(c->dtype));
  c->loops->bernoulli[which](n, words, c->threshold, one.bits_64, out);
}

static BurnStatus random_bernoulli(Ndarray *nd, const BurnOpCall *call) {
  const BurnAttrs_random_bernoulli *attrs = BURN_ATTRS(random_bernoulli, call);
  NdRandom random;
  NdTensor *out = create_begin(nd, call, &random.create);
  if (!out) return nd_out_of_memory(nd, call);
  random.create.seed = (uint64_t)attrs->seed.value.i64;
  random.create.offset = (uint64_t)attrs->offset.value.i64;
  random.create.threshold = burn_random_threshold(attrs->prob.value.f64);
  random.from_words = bernoulli;
  return run_random(nd, call, &random, out);
}

const NdKernelRow nd_create_kernels[] = {
    {BURN_OP_full, full},
    {BURN_OP_arange, arange},
    {BURN_OP_random_uniform, random_uniform},
    {BURN_OP_random_normal, random_normal},
    {BURN_OP_random_bernoulli, random_bernoulli},
    {BURN_OP_INVALID, NULL},
};
