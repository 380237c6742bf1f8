/* cuda_emulated_windows_test.c - gradients of mean pools within fused bodies, on the CPU (tests/plugins/emulated_cuda):
 * where windows tile the plane they are a step of the body, with the very bits of the single op, however the gradient
 * lies. On the backend that BURN_WINDOWS_ON names, or on cuda. */
#include "forked.h"

#include <burn/op_call.h>
#include <burn/plugin/fusion_statistics.h>

enum { MOST = 1 << 14, BATCH = 2, CHANNELS = 3 };

/* How the gradient of the windows lies. */
typedef enum Way { ROW_MAJOR, CHANNELS_LAST, TURNED, ONE_IN_THREE, ONE_FOR_ALL } Way;

typedef struct Case {
  int64_t windows[2], plane[2];
  Way way;
  bool is_adaptive, is_step; /* a step of the body, or a call of its own */
  BurnDType dtype;
} Case;

static const Case cases[] = {
    {{8, 8}, {24, 24}, ROW_MAJOR, true, true, BURN_DTYPE_F32},
    {{4, 6}, {8, 24}, ROW_MAJOR, false, true, BURN_DTYPE_F32},
    {{4, 6}, {4, 30}, CHANNELS_LAST, true, true, BURN_DTYPE_F32}, /* windows of one row; lines that are not vectors */
    {{4, 6}, {20, 6}, TURNED, false, true, BURN_DTYPE_F32},
    {{2, 8}, {2, 24}, ONE_IN_THREE, true, true, BURN_DTYPE_F32}, /* the stride of its rows is the plane's */
    {{3, 5}, {9, 10}, ONE_FOR_ALL, true, true, BURN_DTYPE_F32},
    {{1, 1}, {6, 8}, ROW_MAJOR, true, true, BURN_DTYPE_F32},
    {{5, 1}, {15, 8}, ROW_MAJOR, true, true, BURN_DTYPE_BF16},
    {{2, 4}, {14, 28}, CHANNELS_LAST, false, true, BURN_DTYPE_F64},
    {{4, 4}, {4, 4}, ROW_MAJOR, true, true, BURN_DTYPE_F32},
    {{8, 8}, {20, 24}, ROW_MAJOR, true, false, BURN_DTYPE_F32}, /* windows that meet */
};
enum { CASES = sizeof cases / sizeof cases[0] };

static BurnDevice *open_stack(const char *before, const char *after) {
  const char *given = getenv("BURN_WINDOWS_ON");
  char stack[128];
  if (!given) {
    setenv("BURN_CUDA_DRIVER", FAKE_DRIVER, 1);
    setenv("BURN_CUDA_LIBS", EMULATED_FOLDER, 1);
    setenv("BURN_FAKE_CUDA_FILL", "255", 1);
  }
  (void)snprintf(stack, sizeof stack, "%s%s%s", before, given ? given : "cuda", after);
  BurnDevice *device = burn_device_open(stack);
  CHECK(burn_device_status(device) == BURN_OK, "%s: %s", stack, burn_status_message(burn_device_status(device)));
  return device;
}

static BurnTensor *numbers(BurnDevice *device, BurnShape shape, BurnDType dtype, uint32_t seed) {
  static float data[3 * MOST];
  int64_t count = 1;
  for (uint32_t i = 0; i < shape.rank; i++) count *= shape.dims[i];
  for (int64_t i = 0; i < count; i++) {
    seed = seed * 1664525u + 1013904223u;
    data[i] = i % 7 == 0 ? -0.0f : (float)(seed >> 8) / (float)(1 << 22) - 2.0f;
  }
  return burn_cast(burn_tensor_f32(device, data, shape), dtype);
}

static BurnTensor *gradient(BurnDevice *device, const Case *c) {
  const int64_t h = c->windows[0], w = c->windows[1];
  switch (c->way) {
    case CHANNELS_LAST:
      return burn_permute(numbers(device, BURN_SHAPE(BATCH, h, w, CHANNELS), c->dtype, 1), (const int[]){0, 3, 1, 2});
    case TURNED:
      return burn_permute(numbers(device, BURN_SHAPE(BATCH, CHANNELS, w, h), c->dtype, 1), (const int[]){0, 1, 3, 2});
    case ONE_IN_THREE:
      return burn_slice(numbers(device, BURN_SHAPE(BATCH, CHANNELS, h, 3 * w), c->dtype, 1),
                        (const BurnRange[]){BURN_RANGE_ALL, BURN_RANGE_ALL, BURN_RANGE_ALL, BURN_RANGE(0, w)}, 4);
    case ONE_FOR_ALL:
      return burn_expand(numbers(device, BURN_SHAPE(1, CHANNELS, 1, 1), c->dtype, 1),
                         BURN_SHAPE(BATCH, CHANNELS, h, w));
    default:
      return numbers(device, BURN_SHAPE(BATCH, CHANNELS, h, w), c->dtype, 1);
  }
}

/* The gradient of the mean times x, plus a number for each channel. */
static size_t compute(BurnDevice *device, const Case *c, float *out) {
  const int64_t shape[] = {BATCH, CHANNELS, c->plane[0], c->plane[1]};
  const int64_t size[] = {c->plane[0] / c->windows[0], c->plane[1] / c->windows[1]}, none[] = {0, 0};
  const BurnAttr attrs[] = {burn_attr_i64s(shape, 4), burn_attr_i64s(size, 2), burn_attr_i64s(size, 2),
                            burn_attr_i64s(none, 2), burn_attr_bool(true)};
  const BurnOpInfo *op = NULL;
  BurnTensor *grad = gradient(device, c), *spread = NULL;
  BurnTensor *x = numbers(device, BURN_SHAPE(BATCH, CHANNELS, c->plane[0], c->plane[1]), c->dtype, 2);
  BurnTensor *line = numbers(device, BURN_SHAPE(1, CHANNELS, 1, 1), c->dtype, 3);
  BurnStatus status = burn_op_find(c->is_adaptive ? "adaptive_avg_pool2d_backward" : "avg_pool2d_backward", &op);
  CHECK(status == BURN_OK, "%s", burn_status_message(status));
  status = burn_device_sync(device); /* the queue is empty */
  CHECK(status == BURN_OK, "%s", burn_status_message(status));
  burn_op_call(device, op, &grad, 1, attrs, c->is_adaptive ? 1 : 5, &spread);
  BurnTensor *y = burn_cast(burn_add(burn_mul(spread, x), line), BURN_DTYPE_F32);
  const size_t count = (size_t)burn_element_count(y);
  CHECK(count <= MOST, "%zu numbers", count);
  status = burn_read_f32(y, out, count);
  CHECK(status == BURN_OK, "%s", burn_status_message(status));
  return count;
}

static BurnFusionStatistics statistics(const BurnDevice *device) {
  BurnFusionStatistics out = {.struct_size = sizeof out};
  const BurnBackend *level = burn_device_backend(device);
  BurnInterface found;
  CHECK(level->get_interface(level->self, BURN_FUSION_INTERFACE, 1, &found), "no fusion");
  ((const BurnFusionInterface *)found.table)->statistics(found.self, &out);
  return out;
}

static void check(void *context) {
  static float single[MOST], fused[MOST];
  const Case *c = context;
  BurnDevice *plain = open_stack("", ""), *fusion = open_stack("fusion<", ">");
  const size_t count = compute(plain, c, single);
  const BurnFusionStatistics before = statistics(fusion);
  CHECK(compute(fusion, c, fused) == count, "shapes");
  const BurnFusionStatistics after = statistics(fusion);
  const int number = (int)(c - cases), ops = (int)(after.fused_ops - before.fused_ops);
  for (size_t i = 0; i < count; i++)
    CHECK(memcmp(&single[i], &fused[i], sizeof *fused) == 0, "case %d, number %d: %.9g, without fusion %.9g", number,
          (int)i, (double)fused[i], (double)single[i]);
  const int expected = (c->is_step ? 3 : 2) + (c->dtype != BURN_DTYPE_F32);
  CHECK(ops >= expected && (c->is_step || after.calls > before.calls), "case %d: %d ops in bodies, not %d", number, ops,
        expected);
  burn_device_close(plain);
  burn_device_close(fusion);
}

static void test_bits_of_single_ops(void **state) {
  (void)state;
  for (int i = 0; i < CASES; i++) forked(check, (void *)(uintptr_t)&cases[i]);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_bits_of_single_ops)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
