/* cuda_emulated_channels_test.c - results whose channels come last in memory, by the CUDA backend on the CPU
 * (tests/plugins/emulated_cuda) with a cuDNN whose engines want that order: a chain of convolutions, normalization and
 * element-wise ops is not converted anywhere, and has the values and gradients that ndarray gives. */
#include "forked.h"

#include <burn/burn.h>
#include <burn/op_call.h>
#include <burn/plugin/replay.h>

#include <math.h>
#include <string.h>

static char cache[64]; /* of the choices; compiled kernels are in the cache that all tests share */

enum { BATCH = 4, CHANNELS = 4, SIDE = 128 }; /* as many numbers as make another order worth a try */

static BurnDevice *open_device(const char *stack) {
  setenv("BURN_CUDA_DRIVER", FAKE_DRIVER, 1);
  setenv("BURN_CUDA_LIBS", EMULATED_LIBRARIES, 1);
  setenv("BURN_FAKE_CUDA_FILL", "255", 1);
  setenv("BURN_CUDA_DNN", EMULATED_DNN, 1);
  setenv("BURN_EMULATED_DNN", "channels", 1);
  setenv("BURN_FAKE_CUDA_CLOCK", "slow", 1); /* the first way wins: cuDNN's */
  setenv("XDG_CACHE_HOME", cache, 1);
  BurnDevice *device = burn_device_open(stack);
  CHECK(burn_device_status(device) == BURN_OK, "%s", burn_status_message(burn_device_status(device)));
  return device;
}

static BurnTensor *wave(BurnDevice *device, BurnShape shape, double step) {
  int64_t count = 1;
  for (uint32_t i = 0; i < shape.rank; i++) count *= shape.dims[i];
  float *values = malloc((size_t)count * sizeof *values);
  CHECK(values, "no memory");
  for (int64_t i = 0; i < count; i++) values[i] = (float)sin(step * (double)i + 1);
  BurnTensor *x = burn_tensor_f32(device, values, shape);
  free(values);
  return x;
}

static BurnTensor *picture(BurnDevice *device) { return wave(device, BURN_SHAPE(BATCH, CHANNELS, SIDE, SIDE), 0.37); }

/* Conversions would be kernels of ours; cuDNN's are not counted. */
static uint64_t launches_of(const BurnDevice *device) {
  const BurnBackend *backend = burn_device_backend(device);
  BurnReplayStatistics out = {.struct_size = sizeof out};
  BurnInterface found = {NULL, NULL};
  CHECK(backend->get_interface(backend->self, BURN_REPLAY_INTERFACE, 1, &found), "cuda has no burn.replay");
  ((const BurnReplayInterface *)found.table)->statistics(found.self, &out);
  return out.launches;
}

/* -- nothing is converted ----------------------------------------------------------------------- */

/* Ops after a convolution, each with the launches that it takes when its choice is made. */
#define STEPS(X)                                                                                                      \
  X(convolution_of_points, 0, burn_conv2d(burn_clone(y), burn_clone(point), NULL, BURN_CONV2D_OPTIONS))               \
  X(its_pixels, 0, burn_conv_transpose2d(burn_clone(y), burn_clone(point), NULL, BURN_CONV2D_OPTIONS))                \
  X(its_weight, 0, burn_conv2d_weight_backward(burn_clone(y), burn_clone(y), burn_shape(point), BURN_CONV2D_OPTIONS)) \
  X(relu, 1, burn_relu(burn_clone(y)))                                                                                \
  X(sum, 1, burn_add(burn_clone(y), burn_clone(y)))                                                                   \
  X(half, 1, burn_cast(burn_clone(y), BURN_DTYPE_BF16))                                                               \
  X(normalization, 2, burn_batch_norm_train(burn_clone(y), burn_clone(line), burn_clone(line), 1e-5, NULL, NULL))

static void count_conversions(void *context) {
  (void)context;
  BurnDevice *device = open_device("cuda:tf32=true,channels_last=always");
  const BurnTensor *y =
      burn_conv2d(picture(device), wave(device, BURN_SHAPE(CHANNELS, CHANNELS, 1, 1), 0.7), NULL, BURN_CONV2D_OPTIONS);
  const BurnTensor *point = wave(device, BURN_SHAPE(CHANNELS, CHANNELS, 1, 1), 0.9);
  const BurnTensor *line = wave(device, BURN_SHAPE(CHANNELS), 0.5);
  for (int round = 0; round < 2; round++) { /* the first chooses */
    uint64_t before = 0, taken = 0;
#define STEP(name, launches, op)        \
  before = launches_of(device);         \
  burn_drop(burn_relu(op));             \
  taken = launches_of(device) - before; \
  CHECK(round == 0 || taken == (launches) + 1, #name ": %d launches, not %d", (int)taken - 1, (int)(launches));
    STEPS(STEP)
#undef STEP
  }
  burn_drop((BurnTensor *)(uintptr_t)y);
  burn_drop((BurnTensor *)(uintptr_t)point);
  burn_drop((BurnTensor *)(uintptr_t)line);
  CHECK(burn_device_memory(device).live_tensors == 0, "tensors are left");
  burn_device_close(device);
}

static void test_nothing_is_converted(void **state) {
  (void)state;
  forked(count_conversions, NULL);
}

/* -- the same numbers --------------------------------------------------------------------------- */

/* A block of a residual net, then a pool, which wants planes row-major: the result, and gradients of all. */
enum { RESULTS = 5, MOST = BATCH * CHANNELS * SIDE * SIDE };
typedef struct Block {
  float *values[RESULTS];
  size_t counts[RESULTS];
} Block;

static void keep(Block *block, int i, BurnTensor *x) {
  const size_t count = (size_t)burn_element_count(x);
  block->counts[i] = count;
  block->values[i] = malloc(count * sizeof **block->values);
  CHECK(block->values[i] && count <= MOST, "%zu elements", count);
  const BurnStatus status = burn_read_f32(x, block->values[i], count);
  CHECK(status == BURN_OK, "%s", burn_status_message(status));
}

static BurnTensor *leaf(BurnDevice *device, BurnShape shape, double step) {
  return burn_require_grad(wave(device, shape, step));
}

static Block run_block(BurnDevice *device) {
  BurnConv2dOptions options = BURN_CONV2D_OPTIONS;
  options.padding[0] = 1;
  BurnTensor *leaves[RESULTS - 1] = {burn_require_grad(picture(device)),
                                     leaf(device, BURN_SHAPE(CHANNELS, CHANNELS, 3, 1), 0.7),
                                     leaf(device, BURN_SHAPE(CHANNELS), 0.5), leaf(device, BURN_SHAPE(CHANNELS), 0.3)};
  BurnPool2dOptions pool = BURN_POOL2D_OPTIONS(3, 3);
  Block block;
  BurnGradients *gradients = NULL;
  for (int axis = 0; axis < 2; axis++) {
    pool.stride[axis] = 1;
    pool.padding[axis] = 1;
  }
  BurnTensor *y = burn_conv2d(burn_clone(leaves[0]), burn_clone(leaves[1]), burn_clone(leaves[2]), options);
  y = burn_batch_norm_train(y, burn_clone(leaves[3]), burn_clone(leaves[2]), 1e-5, NULL, NULL);
  y = burn_relu(burn_add(y, burn_clone(leaves[0])));
  y = burn_conv2d(burn_tanh(y), burn_clone(leaves[1]), NULL, options);
  y = burn_add(burn_mul_scalar(burn_clone(y), 0.1), burn_max_pool2d(y, pool));
  const BurnStatus status = burn_backward(burn_sum(burn_clone(y)), &gradients);
  CHECK(status == BURN_OK, "%s", burn_status_message(status));
  keep(&block, 0, y);
  for (int i = 1; i < RESULTS; i++) keep(&block, i, burn_grad(leaves[i - 1], gradients));
  for (int i = 1; i < RESULTS; i++) burn_drop(leaves[i - 1]);
  burn_gradients_drop(gradients);
  return block;
}

static void compare_blocks(void *stack) {
  BurnDevice *device = open_device(stack), *other = open_device("autodiff<ndarray>");
  Block expected = run_block(other);
  for (int round = 0; round < 2; round++) {
    Block got = run_block(device);
    for (int i = 0; i < RESULTS; i++) {
      float scale = 0;
      CHECK(got.counts[i] == expected.counts[i], "%d: %zu elements", i, got.counts[i]);
      for (size_t k = 0; k < got.counts[i]; k++) scale = fmaxf(scale, fabsf(expected.values[i][k]));
      for (size_t k = 0; k < got.counts[i]; k++)
        CHECK(fabsf(got.values[i][k] - expected.values[i][k]) <= 1e-4f * scale, "%d: element %zu is %g, not %g", i, k,
              (double)got.values[i][k], (double)expected.values[i][k]);
      free(got.values[i]);
    }
  }
  for (int i = 0; i < RESULTS; i++) free(expected.values[i]);
  CHECK(burn_device_memory(device).live_tensors == 0, "tensors are left");
  burn_device_close(device);
  burn_device_close(other);
}

static void test_a_block(void **state) {
  (void)state;
  forked(compare_blocks, (char[]){"autodiff<cuda:tf32=true,channels_last=always>"});
}

static void test_a_fused_block(void **state) {
  (void)state;
  forked(compare_blocks, (char[]){"autodiff<fusion<cuda:tf32=true,channels_last=always>>"});
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
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_nothing_is_converted), cmocka_unit_test(test_a_block),
                                     cmocka_unit_test(test_a_fused_block)};
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
