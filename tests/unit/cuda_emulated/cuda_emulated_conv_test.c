/* cuda_emulated_conv_test.c - convolutions by the kernels of the CUDA backend, on the CPU (tests/plugins/emulated_cuda), beside
 * ndarray: those of few channels, with every number of taps and stride that they are compiled for; those that gather an
 * operand of products (kernels/implicit_conv.cu); groups, planes that fill no block and several. Numbers are small
 * integers, so that sums are exact in every order. */
#include "conv_compare.h"
#include "sampled.h"

#include <dlfcn.h>

static BurnDevice *open_device(const char *stack) {
  setenv("BURN_CUDA_DRIVER", FAKE_DRIVER, 1);
  setenv("BURN_CUDA_LIBS", EMULATED_LIBRARIES, 1);
  setenv("BURN_FAKE_CUDA_FILL", "255", 1);
  BurnDevice *device = burn_device_open(stack);
  CHECK(burn_device_status(device) == BURN_OK, "%s", burn_status_message(burn_device_status(device)));
  return device;
}

/* Without BURN_LONG=1 each number of taps has one of the strides. */
static void compare_taps(void *context) {
  (void)context;
  BurnDevice *device = open_device("cuda"), *other = open_device("ndarray");
  for (int64_t y = 1; y <= 5; y++)
    for (int64_t x = y; x <= 5; x += 2)
      for (int64_t stride = 1; stride <= 2; stride++) {
        const ConvCase c = {2, 3, 5, 1, 11, 10, y, x, stride, y / 2, 1};
        if ((x + y) / 2 % 2 != stride % 2 && !runs_all()) continue;
        if (y * x > 1) compare_conv(device, other, &c, BURN_DTYPE_F32);
      }
  CHECK(burn_device_memory(device).live_tensors == 0, "tensors are left");
  burn_device_close(device);
  burn_device_close(other);
}

static void test_every_number_of_taps(void **state) {
  (void)state;
  forked(compare_taps, NULL);
}

static void compare_shapes(void *context) {
  static const BurnDType dtypes[] = {BURN_DTYPE_F32, BURN_DTYPE_F16, BURN_DTYPE_BF16};
  static const ConvCase cases[] = {
      {3, 1, 8, 1, 28, 28, 3, 3, 1, 0, 1},  {3, 8, 16, 1, 26, 26, 3, 3, 1, 0, 1}, {2, 6, 16, 1, 14, 14, 5, 5, 1, 2, 1},
      {2, 12, 20, 2, 9, 37, 3, 3, 1, 1, 1}, {1, 32, 32, 1, 7, 5, 3, 3, 2, 1, 1},  {5, 4, 4, 1, 40, 33, 4, 4, 2, 1, 1},
      {1, 9, 3, 1, 3, 3, 3, 3, 1, 0, 1},    {2, 2, 1, 1, 6, 6, 2, 2, 2, 0, 1},    {2, 17, 9, 1, 20, 6, 3, 3, 1, 4, 1}};
  (void)context;
  BurnDevice *device = open_device("cuda"), *other = open_device("ndarray");
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    for (size_t d = 0; d < (i < 3 ? sizeof dtypes / sizeof dtypes[0] : 1); d++)
      compare_conv(device, other, &cases[i], dtypes[d]);
  burn_device_close(device);
  burn_device_close(other);
}

static void test_shapes(void **state) {
  (void)state;
  forked(compare_shapes, NULL);
}

/* -- by tensor cores --------------------------------------------------------------------------- */

/* Small integers are TF32, and their sums exact. Tiles: one of an example, several below and beside each other, lines that
 * end within a fragment; channels that fill no eight, one and several sets of them; each number of taps; no examples. */
static void compare_matrices(void *context) {
  static const BurnDType dtypes[] = {BURN_DTYPE_F32, BURN_DTYPE_F16, BURN_DTYPE_BF16};
  static const ConvCase cases[] = {{3, 8, 16, 1, 26, 26, 3, 3, 1, 0, 1}, {2, 6, 16, 1, 14, 14, 5, 5, 1, 2, 1},
                                   {1, 17, 20, 1, 9, 70, 3, 3, 1, 1, 1}, {2, 4, 4, 1, 61, 7, 3, 3, 1, 2, 1},
                                   {1, 64, 33, 1, 5, 4, 3, 3, 1, 1, 1},  {9, 4, 9, 1, 40, 33, 4, 2, 1, 0, 1},
                                   {2, 8, 16, 1, 13, 36, 5, 5, 1, 4, 1}, {1, 64, 64, 1, 18, 56, 3, 3, 1, 1, 1},
                                   {1, 12, 40, 1, 8, 40, 3, 3, 1, 1, 1}, {1, 20, 28, 1, 30, 22, 3, 3, 1, 1, 1},
                                   {0, 8, 16, 1, 9, 9, 3, 3, 1, 1, 1}};
  (void)context;
  setenv("BURN_FAKE_CUDA_CLOCK", "slow", 1); /* the first way is the fastest */
  BurnDevice *device = open_device("cuda:tf32=true,timing=false"), *other = open_device("ndarray");
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    for (size_t d = 0; d < (i < 2 ? sizeof dtypes / sizeof dtypes[0] : 1); d++)
      compare_conv(device, other, &cases[i], dtypes[d]);
  for (int64_t y = 1; y <= 5; y++)
    for (int64_t x = y == 1 ? 2 : 1; x <= 5; x += runs_all() ? 1 : 2) {
      const ConvCase c = {2, 5, 9, 1, 12, 35, y, x, 1, y / 2, 1};
      compare_conv(device, other, &c, BURN_DTYPE_F32);
    }
  CHECK(burn_device_memory(device).live_tensors == 0, "tensors are left");
  burn_device_close(device);
  burn_device_close(other);
}

static void test_matrices(void **state) {
  (void)state;
  forked(compare_matrices, NULL);
}

/* -- as products that gather their operand ------------------------------------------------------ */

/* And where columns would take more than the limit. */
static void compare_gathered(void *context) {
  static const BurnDType dtypes[] = {BURN_DTYPE_F32, BURN_DTYPE_F16, BURN_DTYPE_BF16};
  (void)context;
  BurnDevice *device = open_device("cuda"), *other = open_device("ndarray");
  for (size_t i = 0; i < sizeof gathered_cases / sizeof gathered_cases[0]; i++)
    for (size_t d = 0; d < (i < 2 ? sizeof dtypes / sizeof dtypes[0] : 1); d++)
      compare_conv(device, other, &gathered_cases[i], dtypes[d]);
  burn_device_close(device);
  burn_device_close(other);
  device = open_device("cuda:memory_limit=4MiB");
  other = open_device("ndarray");
  const ConvCase large = {4, 36, 36, 1, 32, 32, 3, 3, 1, 1, 2}; /* whose columns are 5.3 MB */
  compare_conv(device, other, &large, BURN_DTYPE_F32);
  CHECK(burn_device_memory(device).live_tensors == 0, "tensors are left");
  burn_device_close(device);
  burn_device_close(other);
}

static void test_gathered(void **state) {
  (void)state;
  forked(compare_gathered, NULL);
}

/* -- by cuDNN ---------------------------------------------------------------------------------- */

static char cache[64]; /* of the choices; compiled kernels are in the cache that all tests share */

/* Convolutions run so far by cuDNN, here one on the CPU. */
static int runs_of(bool is_last) {
  int (*count)(bool) = NULL;
  void *library = dlopen(EMULATED_DNN, RTLD_LAZY);
  void *found = library ? dlsym(library, "emulated_dnn_runs") : NULL;
  CHECK(found, "cuDNN does not count its runs");
  memcpy(&count, &found, sizeof found);
  return count(is_last);
}

/* The first call chooses, the second runs what was chosen: cuDNN, as the clock lets the first way win. */
static void compare_library(void *order) {
  static const ConvCase cases[] = {{2, 8, 8, 1, 130, 130, 2, 1, 1, 1, 2}, {2, 4, 60, 1, 104, 92, 1, 1, 2, 0, 1}};
  static const BurnDType dtypes[] = {BURN_DTYPE_F32, BURN_DTYPE_BF16};
  const bool is_last = strcmp(order, "channels") == 0;
  setenv("BURN_CUDA_DNN", EMULATED_DNN, 1);
  setenv("BURN_EMULATED_DNN", order, 1);
  setenv("BURN_FAKE_CUDA_CLOCK", "slow", 1);
  setenv("XDG_CACHE_HOME", cache, 1);
  BurnDevice *device = open_device("cuda:tf32=true,channels_last=always"), *other = open_device("ndarray");
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    for (size_t d = 0; d < (i == 0 ? sizeof dtypes / sizeof dtypes[0] : 1); d++) {
      compare_conv(device, other, &cases[i], dtypes[d]);
      const int before = runs_of(is_last);
      compare_conv(device, other, &cases[i], dtypes[d]);
      CHECK(runs_of(is_last) == before + CONV_RESULTS, "case %zu, dtype %zu: cuDNN ran %d times, not %d", i, d,
            runs_of(is_last) - before, CONV_RESULTS);
    }
  CHECK(burn_device_memory(device).live_tensors == 0, "tensors are left");
  burn_device_close(device);
  burn_device_close(other);
}

static void test_library_by_rows(void **state) {
  (void)state;
  forked(compare_library, (char[]){"rows"});
}

static void test_library_with_channels_last(void **state) {
  (void)state;
  forked(compare_library, (char[]){"channels"});
}

/* -- volumes by cuDNN --------------------------------------------------------------------------- */

/* conv3d, its gradients of pixels and weight, for stride 2 along the depth. */
static void run_volumes(BurnDevice *device, const ConvCase *c, BurnDType dtype, BurnTensor *out[CONV_RESULTS]) {
  enum { DEPTH = 5, TAPS = 2, DEPTHS = 3 }; /* of pixels, weight, windows with a padding of 1 */
  const BurnShape weight = BURN_SHAPE(c->out, c->in / c->groups, TAPS, c->taps_y, c->taps_x);
  const int64_t height = c->height + 2 * c->padding - (c->taps_y - 1) * c->dilation - 1;
  const int64_t width = c->width + 2 * c->padding - (c->taps_x - 1) * c->dilation - 1;
  const BurnShape windows = BURN_SHAPE(c->batch, c->out, DEPTHS, height / c->stride + 1, width / c->stride + 1);
  BurnConv3dOptions options = {
      {2, c->stride, c->stride}, {1, c->padding, c->padding}, {1, c->dilation, c->dilation}, c->groups, {0, 0, 0}};
  BurnTensor *pixels = integers(device, BURN_SHAPE(c->batch, c->in, DEPTH, c->height, c->width), dtype, 1);
  BurnTensor *grad = integers(device, windows, dtype, 2), *kernel = integers(device, weight, dtype, 3);
  out[0] = burn_conv3d(burn_clone(pixels), burn_clone(kernel), integers(device, BURN_SHAPE(c->out), dtype, 4), options);
  out[1] = burn_conv3d_weight_backward(pixels, burn_clone(grad), weight, options);
  options.padding_out[0] = (DEPTH + 2 - (TAPS - 1) - 1) % 2;
  options.padding_out[1] = height % c->stride;
  options.padding_out[2] = width % c->stride;
  out[2] = burn_conv_transpose3d(grad, kernel, integers(device, BURN_SHAPE(c->in), dtype, 5), options);
}

static void compare_volumes(BurnDevice *device, BurnDevice *other, const ConvCase *c, BurnDType dtype) {
  static const char *const names[CONV_RESULTS] = {"conv3d", "conv3d_weight_backward", "conv_transpose3d"};
  BurnTensor *out[CONV_RESULTS], *expected[CONV_RESULTS];
  run_volumes(device, c, dtype, out);
  run_volumes(other, c, dtype, expected);
  for (int i = 0; i < CONV_RESULTS; i++) check_same(out[i], expected[i], names[i], c);
}

/* The first call chooses among engines, the second runs the one that was chosen. */
static void compare_library_of_volumes(void *order) {
  static const ConvCase plain = {2, 4, 6, 2, 9, 8, 3, 2, 1, 1, 2}, strided = {1, 3, 5, 1, 7, 8, 2, 3, 2, 1, 1};
  static const ConvCase large = {2, 8, 8, 1, 60, 70, 2, 1, 1, 1, 2}; /* for channels last */
  const bool is_last = strcmp(order, "channels") == 0;
  setenv("BURN_CUDA_DNN", EMULATED_DNN, 1);
  setenv("BURN_EMULATED_DNN", order, 1);
  setenv("BURN_FAKE_CUDA_CLOCK", "slow", 1);
  setenv("XDG_CACHE_HOME", cache, 1);
  BurnDevice *device = open_device("cuda:tf32=true,channels_last=always"), *other = open_device("ndarray");
  const ConvCase *cases[] = {&large, &plain, &strided};
  for (size_t i = 0; i < (is_last ? 1 : sizeof cases / sizeof cases[0]); i++) {
    compare_volumes(device, other, cases[i], BURN_DTYPE_F32);
    compare_volumes(device, other, cases[i], BURN_DTYPE_BF16);
    const int before = runs_of(is_last);
    compare_volumes(device, other, cases[i], BURN_DTYPE_F32);
    compare_volumes(device, other, cases[i], BURN_DTYPE_BF16);
    CHECK(runs_of(is_last) == before + 2 * CONV_RESULTS, "case %zu: cuDNN ran %d times", i, runs_of(is_last) - before);
  }
  const int before = runs_of(is_last);
  compare_volumes(device, other, &plain, BURN_DTYPE_F64);
  CHECK(runs_of(is_last) == before, "cuDNN was given f64");
  CHECK(burn_device_memory(device).live_tensors == 0, "tensors are left");
  burn_device_close(device);
  burn_device_close(other);
}

static void test_volumes_by_rows(void **state) {
  (void)state;
  forked(compare_library_of_volumes, (char[]){"rows"});
}

static void test_volumes_with_channels_last(void **state) {
  (void)state;
  forked(compare_library_of_volumes, (char[]){"channels"});
}

static int set_up(void **state) {
  (void)state;
  make_folder(cache);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  return remove_folder(cache);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_number_of_taps),
                                     cmocka_unit_test(test_shapes),
                                     cmocka_unit_test(test_matrices),
                                     cmocka_unit_test(test_gathered),
                                     cmocka_unit_test(test_library_by_rows),
                                     cmocka_unit_test(test_library_with_channels_last),
                                     cmocka_unit_test(test_volumes_by_rows),
                                     cmocka_unit_test(test_volumes_with_channels_last)};
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
