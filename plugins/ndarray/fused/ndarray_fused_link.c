/* ndarray_fused_link.c - programs with the numbers of a run: scalars of instructions from the attributes of their
 * steps, which differ from run to run, and decide on some instructions. */
#include "ndarray_fused_run.h"
#include "support/ndarray_half.h"

#include <burn/plugin/random.h>

/* -- scalars ---------------------------------------------------------------------------------- */

static float rounded(BurnDType dtype, double value) {
  if (dtype == BURN_DTYPE_F16) return nd_f16_to_f32(nd_f16_from_f64(value));
  if (dtype == BURN_DTYPE_BF16) return nd_bf16_to_f32(nd_bf16_from_f64(value));
  return (float)value;
}

/* True if 1 / s is exact, so that a product with it is the quotient. */
static bool is_power_of_2(float s) {
  const uint32_t bits = burn_bits_f32(s), exponent = (bits >> 23) & 0xffu;
  return (bits & 0x007fffffu) == 0 && exponent > 0 && exponent < 254;
}

static uint32_t opcode_of_power(float exponent) {
#define BURN_POWER(name, of, in_f32, in_f64) \
  if (exponent == (float)(of)) return ND_FUSED_##name;
#include "common/elementwise.def"
  return ND_FUSED_power_any;
}

/* The largest random word below a threshold that is not 0. */
static float last_word(uint64_t threshold) { return burn_from_bits_f32((uint32_t)(threshold - 1)); }

static uint32_t link_dropout(const BurnAttrs_dropout *attrs, NdFusedWord *word) {
  const uint64_t threshold = burn_random_threshold(1.0 - attrs->prob.value.f64);
  word->s = (float)(1.0 / (1.0 - attrs->prob.value.f64));
  word->q = last_word(threshold);
  return threshold == 0 ? ND_FUSED_dropout_all : ND_FUSED_dropout;
}

static void link_bernoulli(const BurnAttrs_random_bernoulli *attrs, BurnDType dtype, NdFusedWord *word) {
  const uint64_t threshold = burn_random_threshold(attrs->prob.value.f64);
  const float one = dtype == BURN_DTYPE_BOOL ? burn_from_bits_f32(UINT32_MAX) : 1.0f;
  word->s = threshold == 0 ? 0.0f : one;
  word->q = last_word(threshold);
}

static float fill_value(const BurnAttrs_full *attrs, BurnDType dtype) {
  const double value = burn_attr_to_f64(&attrs->value);
  if (dtype != BURN_DTYPE_BOOL) return rounded(dtype, value);
  return burn_from_bits_f32(value != 0.0 ? UINT32_MAX : 0);
}

/* Fills the scalars of an instruction; returns the opcode, on which they have influence. */
static uint32_t link_scalars(const NdFusedRun *run, const NdFusedLine *line, NdFusedWord *word) {
  const NdFusedStepInfo *step = &run->kernel->steps[line->step];
  const BurnAttr *attrs = run->attrs[line->step];
  uint32_t opcode = line->opcode;
  switch ((NdFusedScalar)line->scalar) {
    case ND_FUSED_FIRST_SECOND:
      word->q = rounded(step->scalar_dtype, burn_attr_to_f64(&attrs[1]));
      word->s = rounded(step->scalar_dtype, burn_attr_to_f64(&attrs[0]));
      break;
    case ND_FUSED_FIRST:
      word->s = rounded(step->scalar_dtype, burn_attr_to_f64(&attrs[0]));
      break;
    case ND_FUSED_DIVISOR:
      word->s = rounded(step->scalar_dtype, burn_attr_to_f64(&attrs[0]));
      if (!is_power_of_2(word->s)) break;
      word->s = 1.0f / word->s;
      opcode = ND_FUSED_mul_scalar;
      break;
    case ND_FUSED_EXPONENT:
      word->s = rounded(step->scalar_dtype, burn_attr_to_f64(&attrs[0]));
      opcode = opcode_of_power(word->s);
      if (opcode == ND_FUSED_splat) word->s = 1.0f;
      break;
    case ND_FUSED_FILL:
      word->s = fill_value((const BurnAttrs_full *)(const void *)attrs, step->dtype);
      break;
    case ND_FUSED_DROPOUT:
      opcode = link_dropout((const BurnAttrs_dropout *)(const void *)attrs, word);
      break;
    case ND_FUSED_BERNOULLI:
      link_bernoulli((const BurnAttrs_random_bernoulli *)(const void *)attrs, step->dtype, word);
      break;
    case ND_FUSED_WIDTH: {
      const BurnAttrs_random_uniform *uniform = (const BurnAttrs_random_uniform *)(const void *)attrs;
      word->s = (float)burn_attr_to_f64(&uniform->high) - (float)burn_attr_to_f64(&uniform->low);
      break;
    }
    case ND_FUSED_LOW_HIGH: {
      const BurnAttrs_random_uniform *uniform = (const BurnAttrs_random_uniform *)(const void *)attrs;
      word->s = (float)burn_attr_to_f64(&uniform->low);
      word->q = (float)burn_attr_to_f64(&uniform->high);
      break;
    }
    case ND_FUSED_NO_SCALAR:
      break;
  }
  return opcode;
}

void nd_fused_link(NdFusedRun *run) {
  for (uint32_t i = 0; i < run->kernel->line_count; i++) {
    NdFusedWord *word = &run->program[i];
    word->memory = NULL;
    word->mask = -1;
    word->s = 0.0f;
    word->q = 0.0f;
    const NdFusedLine *line = &run->kernel->lines[i];
    uint32_t opcode = link_scalars(run, line, word);
    const bool is_output = line->operand == ND_FUSED_OUTPUT && opcode == ND_FUSED_store_f32;
    if (is_output && ((run->streamed >> line->number) & 1u)) opcode = ND_FUSED_stream_f32;
    word->code = run->machine->codes[opcode];
  }
  for (uint32_t i = 0; i < run->kernel->words_count; i++) {
    const uint32_t step = run->kernel->words_step[i];
    const uint32_t seed =
        run->kernel->steps[step].op == BURN_OP_dropout ? 1 : 2; /* which attribute; the offset follows */
    run->words[i].seed = (uint64_t)run->attrs[step][seed].value.i64;
    run->words[i].offset = (uint64_t)run->attrs[step][seed + 1].value.i64;
  }
}
