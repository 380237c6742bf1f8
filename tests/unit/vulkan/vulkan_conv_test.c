/* vulkan_conv_test.c - convolutions by the kernels that GPUs have, on whatever device there is: those that gather an operand of
 * products (kernels/implicit_conv.cu), and those of few channels (kernels/small_conv.cu), beside ndarray; and sums of their gradients. */
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

/* Of few channels a result is its bias and then its taps row by row, as by ndarray: the same bits of any numbers. */
static void compare_order(void *context) {
  enum { BATCH = 3, OUT = 6, SIDE = 19, RESULTS = BATCH * OUT * (SIDE - 4) * (SIDE - 4) };
  static const char *const stacks[] = {"vulkan:kernels=gpu", "ndarray"};
  static float results[2][RESULTS];
  (void)context;
  use_processor();
  for (int i = 0; i < 2; i++) {
    BurnDevice *device = open_device(stacks[i]);
    BurnTensor *pixels = burn_random_uniform(device, BURN_SHAPE(BATCH, 2, SIDE, SIDE), BURN_DTYPE_F32, -1, 1);
    BurnTensor *weight = burn_random_uniform(device, BURN_SHAPE(OUT, 2, 5, 5), BURN_DTYPE_F32, -1, 1);
    BurnTensor *bias = burn_random_uniform(device, BURN_SHAPE(OUT), BURN_DTYPE_F32, -1, 1);
    const BurnStatus status =
        burn_read_f32(burn_conv2d(pixels, weight, bias, BURN_CONV2D_OPTIONS), results[i], RESULTS);
    CHECK(status == BURN_OK, "%s", burn_status_message(status));
    burn_device_close(device);
  }
  for (size_t i = 0; i < RESULTS; i++)
    CHECK(results[0][i] == results[1][i], "element %zu is %.9g, not %.9g", i, (double)results[0][i],
          (double)results[1][i]);
}

/* Sums of lines beside each other, of each number of rows that is cut in another way: those of ndarray to the bit. */
static void compare_sums(void *context) {
  static const int64_t rows[] = {1, 3, 7, 64, 67, 130, 1000, 1024};
  static const char *const stacks[] = {"vulkan:kernels=gpu", "ndarray"};
  static float results[2][37];
  (void)context;
  use_processor();
  for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
    for (int i = 0; i < 2; i++) {
      BurnDevice *device = open_device(stacks[i]);
      BurnTensor *x = burn_random_normal(device, BURN_SHAPE(rows[k], 37), BURN_DTYPE_F32, 0, 1);
      const BurnStatus status = burn_read_f32(burn_sum_dim(x, 0), results[i], 37);
      CHECK(status == BURN_OK, "%s", burn_status_message(status));
      burn_device_close(device);
    }
    for (size_t i = 0; i < 37; i++)
      CHECK(results[0][i] == results[1][i], "%d rows: sum %zu is %.9g, not %.9g", (int)rows[k], i,
            (double)results[0][i], (double)results[1][i]);
  }
}

static void test_orders(void **state) {
  (void)state;
  forked(compare_order, NULL);
  forked(compare_sums, NULL);
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
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_gathered), cmocka_unit_test(test_orders),
                                     cmocka_unit_test(test_few_channels),
                                     cmocka_unit_test(test_few_channels_with_little_shared_memory)};
  if (access(plugin_path, R_OK) != 0) {
    print_message("skipped: vulkan: there is no %s\n", plugin_path);
    return 0;
  }
  return cmocka_run_group_tests_name("vulkan_conv", tests, NULL, NULL);
}
