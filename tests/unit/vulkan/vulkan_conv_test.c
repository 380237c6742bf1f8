/* vulkan_conv_test.c - convolutions by the kernels that GPUs have, on whatever device there is: those that gather an operand of
 * products (kernels/implicit_conv.cu), beside ndarray. */
#include "sampled.h"
#include "vulkan_compare.h"

/* Of those that CUDA's test has, with BURN_LONG=1 and without: each has kernels of its own, which take seconds to
 * compile. */
enum { CASES = 6, FEW_CASES = 3 };

static void compare_gathered(void *context) {
  static const BurnDType dtypes[] = {BURN_DTYPE_F32, BURN_DTYPE_F16, BURN_DTYPE_BF16};
  (void)context;
  use_processor();
  setenv("XDG_CACHE_HOME", BURN_BUILD_DIR "/cache", 1); /* as tests/plugins/vulkan/run: compiled kernels are kept */
  BurnDevice *device = open_device("vulkan:kernels=gpu"), *other = open_device("ndarray");
  const size_t count = runs_all() ? CASES : FEW_CASES;
  for (size_t i = 0; i < count; i++) compare_conv(device, other, &gathered_cases[i], dtypes[i < 3 ? i : 0]);
  CHECK(burn_device_memory(device).live_tensors == 0, "tensors are left");
  burn_device_close(device);
  burn_device_close(other);
}

static void test_gathered(void **state) {
  (void)state;
  forked(compare_gathered, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_gathered)};
  if (access(plugin_path, R_OK) != 0) {
    print_message("skipped: vulkan: there is no %s\n", plugin_path);
    return 0;
  }
  return cmocka_run_group_tests_name("vulkan_conv", tests, NULL, NULL);
}
