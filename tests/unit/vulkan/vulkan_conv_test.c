/* vulkan_conv_test.c - convolutions by the kernels that GPUs have, on whatever device there is: those that gather an operand of
 * products (kernels/implicit_conv.cu), and those of few channels (kernels/small_conv.cu), beside ndarray. */
#include "sampled.h"
#include "vulkan_compare.h"

/* Of those that CUDA's test has, with BURN_LONG=1 and without: each has kernels of its own, which take seconds to
 * compile. */
enum { CASES = 6, FEW_CASES = 3 };

static void compare(const char *stack, const ConvCase *cases, size_t count, const BurnDType *dtypes) {
  use_processor();
  setenv("XDG_CACHE_HOME", BURN_BUILD_DIR "/cache", 1); /* as tests/plugins/vulkan/run: compiled kernels are kept */
  BurnDevice *device = open_device(stack), *other = open_device("ndarray");
  for (size_t i = 0; i < count; i++) compare_conv(device, other, &cases[i], dtypes[i < 3 ? i : 0]);
  CHECK(burn_device_memory(device).live_tensors == 0, "tensors are left");
  burn_device_close(device);
  burn_device_close(other);
}

static void compare_gathered(void *context) {
  static const BurnDType dtypes[] = {BURN_DTYPE_F32, BURN_DTYPE_F16, BURN_DTYPE_BF16};
  (void)context;
  compare("vulkan:kernels=gpu", gathered_cases, runs_all() ? CASES : FEW_CASES, dtypes);
}

/* More channels of the gradient than a thread has, and a rest: blocks of the weight's gradient have two halves where the
 * device has enough shared memory. Warps share what they read of the gradient, and do not. */
static void compare_small(void *context) {
  static const BurnDType dtypes[] = {BURN_DTYPE_F32, BURN_DTYPE_F32, BURN_DTYPE_F32};
  static const ConvCase cases[] = {{3, 8, 20, 1, 18, 17, 3, 3, 1, 1, 1}, {2, 3, 16, 1, 19, 16, 5, 5, 2, 2, 1}};
  compare(context, cases, sizeof cases / sizeof cases[0], dtypes);
}

static void test_gathered(void **state) {
  (void)state;
  forked(compare_gathered, NULL);
}

static void test_few_channels(void **state) {
  (void)state;
  forked(compare_small, (void *)(uintptr_t) "vulkan:kernels=gpu");
}

static void test_few_channels_with_little_shared_memory(void **state) {
  (void)state;
  forked(compare_small, (void *)(uintptr_t) "vulkan:kernels=gpu,shared_limit=16KiB");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_gathered), cmocka_unit_test(test_few_channels),
                                     cmocka_unit_test(test_few_channels_with_little_shared_memory)};
  if (access(plugin_path, R_OK) != 0) {
    print_message("skipped: vulkan: there is no %s\n", plugin_path);
    return 0;
  }
  return cmocka_run_group_tests_name("vulkan_conv", tests, NULL, NULL);
}
