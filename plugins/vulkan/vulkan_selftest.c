/* vulkan_selftest.c - what the arithmetic of a device is like, by a kernel that is run once when it is opened.
 *
 * Vulkan promises neither that divisions and square roots are rounded right, nor that Fma rounds once, nor that
 * subnormals live. Kernels are made so that they get the right numbers from what the device does have; so the kernel
 * here asks the device directly, on cases where the usual shortcuts go wrong, and the host knows the answers. */
#include "vulkan_internal.h"
#include "vulkan_texts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CASES = 1024, THREADS = 64, ROUNDS = 70000, LLVMPIPES_ROUNDS = 65535 };

/* As kernels/selftest.cu has them, too. */
typedef struct Case {
  float a, b, c;
  uint32_t half;
  double wide_a, wide_b, wide_c;
  int64_t long_a, long_b;
} Case;

typedef struct Answer {
  float fused, quotient, reciprocal, root, sum, widened;
  uint32_t half, rounds;
  float through, lost; /* b rounded to f16 and back, and what that took away */
  uint32_t order;
  float power; /* of 2, of less than 0 */
  double wide_fused, wide_quotient, wide_root;
  int64_t product, divided, remainder;
} Answer;

typedef struct Parameters {
  uint64_t cases, answers;
  int64_t count;
} Parameters;

/* -- cases ------------------------------------------------------------------------------------ */

/* A linear congruential generator; the high bits are good. */
static uint64_t draw(uint64_t *state) {
  *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return *state >> 33 | (*state & UINT64_C(0xffffffff)) << 31;
}

static float float_of(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static double double_of(uint64_t bits) {
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* Positive, from 2^-`range` to 2^`range`. */
static float draw_float(uint64_t *state, uint32_t range) {
  const uint64_t bits = draw(state);
  return float_of((127u - range + (uint32_t)(bits >> 40) % (2u * range)) << 23 | ((uint32_t)bits & 0x7fffffu));
}

static double draw_double(uint64_t *state, uint32_t range) {
  const uint64_t mantissa = (draw(state) ^ draw(state) << 20) & UINT64_C(0xfffffffffffff);
  return double_of((1023u - range + draw(state) % (2u * range)) << 52 | mantissa);
}

/* b goes through halves, their subnormals and ties; c takes the product away but for its rounding. Every eighth case
 * has a subnormal a. */
static void make_case(uint32_t i, uint64_t *state, Case *x) {
  x->a = i % 8 == 7 ? float_of((uint32_t)draw(state) & 0x7fffffu) : draw_float(state, 40);
  x->b = i % 4 == 3 ? float_of((100u + i % 24u) << 23 | (uint32_t)(draw(state) & 0x7ffu) << 12) : draw_float(state, 20);
  x->c = -(x->a * x->b);
  x->half = (uint32_t)draw(state) & 0xffffu;
  x->wide_a = draw_double(state, 200);
  x->wide_b = draw_double(state, 200);
  x->wide_c = -(x->wide_a * x->wide_b);
  x->long_a = (int64_t)(draw(state) ^ draw(state) << 32);
  x->long_b = (int64_t)(draw(state) ^ draw(state) << 32) >> i % 60u;
  if (x->long_b == 0 || x->long_b == -1) x->long_b = i + 2;
}

/* -- answers ---------------------------------------------------------------------------------- */

/* To nearest even, bit by bit, as this is what is asked. */
static uint32_t half_of(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  const uint32_t sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return sign | 0x7e00u;
  if (magnitude >= 0x477ff000u) return sign | 0x7c00u;
  if (magnitude < 0x38800000u) { /* subnormal: its last bit is 2^-24 */
    const double scaled = fabs((double)x) * 16777216.0;
    return sign | (uint32_t)nearbyint(scaled);
  }
  const uint32_t rounded = magnitude + 0xfffu + (magnitude >> 13 & 1u) - (UINT32_C(112) << 23);
  return sign | rounded >> 13;
}

static float widen(uint32_t half) {
  const uint32_t sign = (half & 0x8000u) << 16, exponent = half >> 10 & 0x1fu, mantissa = half & 0x3ffu;
  if (exponent == 31) return float_of(sign | 0x7f800000u | mantissa << 13);
  if (exponent == 0) return float_of(sign) + (sign ? -1.0f : 1.0f) * (float)mantissa / 16777216.0f;
  return float_of(sign | (exponent + 112u) << 23 | mantissa << 13);
}

static void answer(const Case *x, Answer *out) {
  const float through = widen(half_of(x->b));
  *out = (Answer){.fused = fmaf(x->a, x->b, x->c),
                  .quotient = x->a / x->b,
                  .reciprocal = 1.0f / x->b,
                  .root = sqrtf(x->a),
                  .sum = x->a + x->c,
                  .widened = widen(x->half),
                  .half = half_of(x->b),
                  .through = through,
                  .lost = through - x->b,
                  .order = through < x->b   ? 1u
                           : through > x->b ? 2u
                                            : 0u,
                  .wide_fused = fma(x->wide_a, x->wide_b, x->wide_c),
                  .wide_quotient = x->wide_a / x->wide_b,
                  .wide_root = sqrt(x->wide_a),
                  .product = (int64_t)((uint64_t)x->long_a * (uint64_t)x->long_b),
                  .divided = x->long_a / x->long_b,
                  .remainder = x->long_a % x->long_b};
}

/* -- what is right ---------------------------------------------------------------------------- */

typedef struct Findings {
  bool fused, exact, halves, round_trips, subnormals, sums;
  bool wide_fused, wide_quotient, wide_root, product, division, powers;
  char first[120]; /* of divisions of integers that are wrong */
} Findings;

static bool same_float(float a, float b) { return memcmp(&a, &b, sizeof a) == 0 || (isnan(a) && isnan(b)); }
static bool same_double(double a, double b) { return memcmp(&a, &b, sizeof a) == 0 || (isnan(a) && isnan(b)); }
static bool is_subnormal(float x) { return fpclassify(x) == FP_SUBNORMAL; }

static void compare(const Case *x, const Answer *got, Findings *found) {
  Answer right;
  answer(x, &right);
  const bool is_tiny = is_subnormal(x->a) || is_subnormal(x->c) || is_subnormal(right.fused) ||
                       is_subnormal(right.quotient) || is_subnormal(right.sum);
  const bool is_exact = same_float(got->quotient, right.quotient) && same_float(got->reciprocal, right.reciprocal) &&
                        same_float(got->root, right.root);
  const bool is_fused = same_float(got->fused, right.fused), is_sum = same_float(got->sum, right.sum);
  if (is_tiny) {
    found->subnormals = found->subnormals && is_sum;
  } else {
    found->exact = found->exact && is_exact;
    found->fused = found->fused && is_fused;
    found->sums = found->sums && is_sum;
  }
  found->halves = found->halves && got->half == right.half && same_float(got->widened, right.widened);
  found->round_trips = found->round_trips && same_float(got->through, right.through) &&
                       same_float(got->lost, right.lost) && got->order == right.order;
  found->wide_fused = found->wide_fused && same_double(got->wide_fused, right.wide_fused);
  found->wide_quotient = found->wide_quotient && same_double(got->wide_quotient, right.wide_quotient);
  found->wide_root = found->wide_root && same_double(got->wide_root, right.wide_root);
  found->product = found->product && got->product == right.product;
  const bool is_divided = got->divided == right.divided && got->remainder == right.remainder;
  if (found->division && !is_divided)
    (void)snprintf(found->first, sizeof found->first, " (%lld by %lld: %lld, rest %lld)", (long long)x->long_a,
                   (long long)x->long_b, (long long)got->divided, (long long)got->remainder);
  found->division = found->division && is_divided;
}

/* Of case i, as far as f32 has normal numbers. 2^-21: halves keep 2^-11, means over rows of f32 some more. */
static bool is_near_power(uint32_t i, float power) {
  const double right = exp2((double)((float)i * -0.123f));
  return fabs((double)power - right) <= right * 0x1p-21;
}

/* What kernels cannot make up for. */
static BurnStatus refuse_wrong(Vulkan *vulkan, const Findings *found) {
  const struct {
    bool is_right;
    const char *what;
  } needed[] = {{found->sums, "f32 addition"},
                {found->wide_quotient, "f64 division"},
                {found->wide_root, "f64 square root"},
                {found->product, "i64 multiplication"},
                {found->division, "i64 division"}};
  for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++)
    if (!needed[i].is_right)
      return VULKAN_FAIL(vulkan, FAILED_PRECONDITION, "%s (%s) computes wrong numbers: %s%s; update its driver",
                         vulkan->caps.name, vulkan->caps.driver, needed[i].what, found->first);
  return BURN_OK;
}

/* -- running it ------------------------------------------------------------------------------- */

/* The kernel is emitted for a device that does everything right, so that it asks the device itself. */
static void hope(Vulkan *vulkan) {
  const VulkanCaps *caps = &vulkan->caps;
  const uint32_t halves = vulkan->settings.halves;
  const bool is_wide = caps->least_subgroup >= 32 || (caps->may_ask_size && caps->most_subgroup >= 32);
  vulkan->target = (KernelTarget){.has_warps = caps->has_shuffle && is_wide && vulkan->settings.subgroups,
                                  .fused_f32 = true,
                                  .fused_f64 = true,
                                  .exact_f32 = true,
                                  .exact_halves = caps->features.v12.shaderFloat16 != 0 && halves != VULKAN_HALVES_BITS,
                                  .keeps_halves = true,
                                  .is_processor = caps->is_cpu};
  for (uint32_t width = 0; width < VULKAN_WIDTHS; width++) {
    vulkan->target.keeps_subnormals[width] = caps->controls[width].preserve;
    vulkan->target.keeps_nan[width] = caps->controls[width].keep_nan;
    vulkan->target.rounds_to_nearest[width] = caps->controls[width].nearest;
  }
}

static BurnStatus launch(Vulkan *vulkan, const Parameters *parameters, GpuModule **module) {
  Gpu *gpu = &vulkan->gpu;
  GpuFunction *function = NULL;
  BurnStatus status = burn__gpu_load(gpu, burn__vulkan_text_selftest, module);
  if (status == BURN_OK) status = burn__gpu_function(gpu, *module, "kernel", &function);
  if (status == BURN_OK)
    status = burn__gpu_launch(gpu, function, CASES / THREADS, THREADS, parameters, sizeof *parameters);
  return status == BURN_OK ? burn__vulkan_drain(vulkan) : status;
}

/* Through memory that the host sees. */
static BurnStatus run(Vulkan *vulkan, VulkanBuffer *buffer, GpuModule **module) {
  const uint64_t cases_bytes = CASES * sizeof(Case), answers_bytes = CASES * sizeof(Answer);
  const VkResult result = burn__vulkan_buffer_make(vulkan, VULKAN_PLACE_DOWNLOAD, cases_bytes + answers_bytes, buffer);
  if (result != VK_SUCCESS) return burn__vulkan_check(vulkan, result, "memory for the self-test");
  uint64_t state = 1;
  Case *cases = (Case *)(void *)buffer->mapped;
  for (uint32_t i = 0; i < CASES; i++) make_case(i, &state, &cases[i]);
  memset(buffer->mapped + cases_bytes, 0, answers_bytes);
  const Parameters parameters = {buffer->address, buffer->address + cases_bytes, CASES};
  return launch(vulkan, &parameters, module);
}

/* Does a loop that goes on for long end where it should? */
static bool goes_on(const VulkanBuffer *buffer) {
  const Answer *answers = (const Answer *)(const void *)(buffer->mapped + CASES * sizeof(Case));
  uint32_t rounds = 1;
  for (int k = 0; k < ROUNDS; k++) rounds = rounds * 1664525u + 1013904223u;
  return answers[0].rounds == rounds;
}

static Findings look_at(const VulkanBuffer *buffer) {
  Findings found = {true, true, true, true, true, true, true, true, true, true, true, true, ""};
  const Case *cases = (const Case *)(const void *)buffer->mapped;
  const Answer *answers = (const Answer *)(const void *)(buffer->mapped + CASES * sizeof(Case));
  for (uint32_t i = 0; i < CASES; i++) {
    compare(&cases[i], &answers[i], &found);
    found.powers = found.powers && is_near_power(i, answers[i].power);
  }
  return found;
}

static void tell(const Vulkan *vulkan, const Findings *found) {
  char line[280];
  if (!vulkan->gpu.host->log_enabled(BURN_LOG_INFO)) return;
  (void)snprintf(
      line, sizeof line, "%.100s: fma of f32 %s, of f64 %s; division %s; halves %s; subnormals %s; powers %s; warps %s",
      vulkan->caps.name, found->fused ? "fused" : "emulated", found->wide_fused ? "fused" : "emulated",
      found->exact ? "exact" : "by f64",
      found->halves ? found->round_trips ? "by the device" : "by the device, there and back by bits" : "by bits",
      found->subnormals ? "kept" : "flushed", found->powers ? "by the device for halves" : "computed",
      vulkan->target.has_warps ? "are subgroups" : "emulated");
  vulkan->gpu.host->log(BURN_LOG_INFO, vulkan->gpu.name, line);
}

void burn__vulkan_end_trial(Vulkan *vulkan, BurnStatus status, VulkanBuffer *buffer, GpuModule *module) {
  if (vulkan_is_beyond_reach(vulkan)) return;
  if (status != BURN_OK) (void)vulkan->calls.DeviceWaitIdle(vulkan->device);
  burn__gpu_unload(&vulkan->gpu, module);
  burn__vulkan_buffer_end(vulkan, buffer);
}

BurnStatus burn__vulkan_selftest(Vulkan *vulkan) {
  VulkanBuffer buffer = {0};
  GpuModule *module = NULL;
  hope(vulkan);
  BurnStatus status = run(vulkan, &buffer, &module);
  if (status == BURN_OK) {
    const Findings found = look_at(&buffer);
    status = refuse_wrong(vulkan, &found);
    vulkan->target.fused_f32 = found.fused;
    vulkan->target.fused_f64 = found.wide_fused;
    vulkan->target.exact_f32 = found.exact;
    vulkan->target.native_powers = found.powers;
    vulkan->target.exact_halves = vulkan->target.exact_halves && found.halves;
    vulkan->target.keeps_halves = found.round_trips && vulkan->settings.halves == VULKAN_HALVES_AUTO;
    vulkan->gpu.most_rounds = goes_on(&buffer) ? 0 : LLVMPIPES_ROUNDS;
    tell(vulkan, &found);
  }
  burn__vulkan_end_trial(vulkan, status, &buffer, module);
  return status;
}
