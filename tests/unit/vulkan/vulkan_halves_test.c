/* vulkan_halves_test.c - rounding to f16 inside a kernel, on whatever device there is: by the device's conversions and by
 * integers, for every half, what lies half way to the next one, and an f32 to both sides of that. Fused kernels go on
 * with the rounded number in the same kernel, single ops read it from memory. */
#include "forked.h"
#include "vulkan_driver.h"

#include <float.h>
#include <math.h>

static const char plugin_path[] = BURN_BUILD_DIR "/lib/burn/plugins/burn_vulkan" BURN_PLUGIN_SUFFIX;

enum { HALVES = 0x7c00, POINTS = 2 * (5 * HALVES + 3) };

static float points[POINTS], rounded[POINTS], got[POINTS];

/* The number that the bits of a positive half mean; infinity is the next power of two. */
static double value_of(uint32_t bits) {
  const uint32_t fraction = bits & 0x3ffu;
  const int exponent = (int)(bits >> 10);
  return ldexp((double)(exponent > 0 ? fraction + 0x400u : fraction), (exponent > 0 ? exponent : 1) - 25);
}

static void add(uint32_t *count, float x, float half) {
  points[*count] = x;
  rounded[(*count)++] = half;
  points[*count] = -x;
  rounded[(*count)++] = -half;
}

static void make_points(void) {
  uint32_t count = 0;
  for (uint32_t bits = 0; bits < HALVES; bits++) {
    const float here = (float)value_of(bits), next = bits + 1 < HALVES ? (float)value_of(bits + 1) : HUGE_VALF;
    const float between = (float)((value_of(bits) + value_of(bits + 1)) / 2.0);
    add(&count, here, here);
    add(&count, nextafterf(here, HUGE_VALF), here);
    add(&count, nextafterf(between, 0.0f), here);
    add(&count, between, bits % 2 == 0 ? here : next);
    add(&count, nextafterf(between, HUGE_VALF), next);
  }
  add(&count, FLT_MAX, HUGE_VALF);
  add(&count, HUGE_VALF, HUGE_VALF);
  add(&count, FLT_MIN, 0.0f);
  CHECK(count == POINTS, "%u points", count);
}

static void compare(const char *stack, const char *what, BurnTensor *x, const float *expected) {
  const BurnStatus status = burn_read_f32(x, got, POINTS);
  CHECK(status == BURN_OK, "%s: %s", stack, burn_status_message(status));
  for (uint32_t i = 0; i < POINTS; i++)
    CHECK(memcmp(&got[i], &expected[i], sizeof got[i]) == 0, "%s: %s of %a is %a instead of %a", stack, what,
          (double)points[i], (double)got[i], (double)expected[i]);
}

/* Whether the rounded number is the given one, as an f32 of 0 or 1. */
static const float *sames(void) {
  static float same[POINTS];
  for (uint32_t i = 0; i < POINTS; i++) same[i] = rounded[i] == points[i] ? 1.0f : 0.0f;
  return same;
}

static void compare_all(void *context) {
  const char *stack = context;
  use_processor();
  setenv("XDG_CACHE_HOME", BURN_BUILD_DIR "/cache", 1); /* as tests/plugins/vulkan/run: compiled kernels are kept */
  BurnDevice *device = burn_device_open(stack);
  if (burn_device_status(device) != BURN_OK) {
    print_message("skipped: %s\n", burn_status_message(burn_device_status(device)));
    exit(0);
  }
  make_points();
  BurnTensor *x = burn_tensor_from(device, points, BURN_DTYPE_F32, BURN_SHAPE(POINTS));
  BurnTensor *half = burn_cast(burn_clone(x), BURN_DTYPE_F16);
  BurnTensor *back = burn_cast(burn_clone(half), BURN_DTYPE_F32);
  compare(stack, "the way there and back", burn_clone(back), rounded);
  compare(stack, "the half in memory", burn_cast(half, BURN_DTYPE_F32), rounded);
  compare(stack, "whether it stays", burn_cast(burn_equal(back, x), BURN_DTYPE_F32), sames());
  burn_device_close(device);
}

static void test_rounding(void **state) {
  static char stacks[][40] = {"vulkan", "fusion<vulkan>", "fusion<vulkan:halves=round_trips>", "vulkan:halves=bits",
                              "fusion<vulkan:halves=bits>"};
  (void)state;
  for (size_t i = 0; i < sizeof stacks / sizeof stacks[0]; i++) forked(compare_all, stacks[i]);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_rounding)};
  if (access(plugin_path, R_OK) != 0) {
    print_message("skipped: vulkan: there is no %s\n", plugin_path);
    return 0;
  }
  return cmocka_run_group_tests_name("vulkan_halves", tests, NULL, NULL);
}
