/* cuda_emulated_parts_test.c - parts of one tensor that are joined again, on the CPU (tests/plugins/emulated_cuda): cat
 * takes no memory where they lie beside each other already, as the gradients of query, key and value do that were parts
 * of one product. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <burn/burn.h>
#include <burn/op_call.h>

#include <stdlib.h>
#include <string.h>

enum { BATCH = 2, POSITIONS = 5, PARTS = 3, HEADS = 3, WIDTH = 8, COUNT = BATCH * POSITIONS * PARTS * HEADS * WIDTH };

static BurnDevice *device;

static int set_up(void **state) {
  (void)state;
  setenv("BURN_CUDA_DRIVER", FAKE_DRIVER, 1);
  setenv("BURN_CUDA_LIBS", EMULATED_LIBRARIES, 1);
  setenv("BURN_FAKE_CUDA_FILL", "255", 1);
  device = burn_device_open("cuda");
  return burn_device_status(device) == BURN_OK ? 0 : -1;
}

static int tear_down(void **state) {
  (void)state;
  burn_device_close(device);
  return 0;
}

static int64_t bytes_in_use(void) {
  const BurnBackend *backend = burn_device_backend(device);
  int64_t bytes = 0;
  assert_int_equal(backend->query(backend->self, BURN_QUERY_BYTES_IN_USE, &bytes), BURN_OK);
  return bytes;
}

static BurnTensor *numbers(BurnShape shape, uint32_t seed) {
  float data[COUNT];
  for (int i = 0; i < COUNT; i++) {
    seed = seed * 1664525u + 1013904223u;
    data[i] = (float)(seed >> 8) / (float)(1 << 24) - 0.5f;
  }
  return burn_tensor_f32(device, data, shape);
}

static void read_floats(BurnTensor *x, float *values) {
  const int64_t count = burn_element_count(x);
  const BurnStatus status = burn_read_f32(x, values, (size_t)count);
  if (status != BURN_OK) fail_msg("%s", burn_status_message(status));
}

/* -- cat -------------------------------------------------------------------------------------- */

/* Parts 0 .. 2 of an axis of 3 * width, in the order of `order`. */
static BurnTensor *join(BurnTensor *x, int dim, int64_t width, const int *order, size_t count) {
  BurnTensor *parts[PARTS];
  for (size_t i = 0; i < count; i++) parts[i] = burn_narrow(burn_clone(x), dim, order[i] * width, width);
  burn_drop(x);
  return burn_cat(parts, count, dim);
}

static int64_t bytes_of_join(int dim, const int *order, size_t count) {
  static const int64_t dims[] = {4, 6, 9};
  float whole[COUNT], joined[COUNT];
  const int64_t width = dims[dim] / 3;
  BurnTensor *x = numbers(BURN_SHAPE(4, 6, 9), 1);
  const int64_t before = bytes_in_use();
  BurnTensor *y = join(burn_clone(x), dim, width, order, count);
  const int64_t more = bytes_in_use() - before;
  const int64_t inner = dim == 1 ? 9 : 1, size = (int64_t)count * width;
  read_floats(x, whole);
  read_floats(y, joined);
  for (int64_t i = 0; i < 4 * 6 * 9 / (dims[dim] * inner); i++)
    for (int64_t k = 0; k < size * inner; k++)
      assert_true(joined[i * size * inner + k] ==
                  whole[(i * dims[dim] + order[k / (width * inner)] * width) * inner + k % (width * inner)]);
  return more;
}

static void test_cat(void **state) {
  static const int in_order[] = {0, 1, 2}, turned[] = {1, 0, 2}, twice[] = {0, 0};
  (void)state;
  assert_int_equal(bytes_of_join(1, in_order, 3), 0);
  assert_int_equal(bytes_of_join(2, in_order, 3), 0);
  assert_true(bytes_of_join(2, turned, 3) > 0);
  assert_true(bytes_of_join(2, in_order, 2) > 0); /* a row of it is followed by what is not a part */
  assert_true(bytes_of_join(1, twice, 2) > 0);
}

/* What has been joined is changed in place only where nobody else sees it. */
static void test_parts_stay(void **state) {
  static const int order[] = {0, 1, 2};
  float whole[COUNT], again[COUNT];
  (void)state;
  BurnTensor *x = numbers(BURN_SHAPE(4, 9), 2);
  read_floats(burn_clone(x), whole);
  burn_drop(burn_add_scalar(join(burn_clone(x), 1, 3, order, 3), 1));
  read_floats(x, again);
  assert_memory_equal(whole, again, 4 * 9 * sizeof *whole);
}

/* -- gradients of attention ------------------------------------------------------------------- */

/* [batch, heads, positions, width] of part i; copied, it is not part of anything. */
static BurnTensor *heads_of(BurnTensor *all, int i, bool copied) {
  BurnTensor *x = burn_reshape(burn_narrow(burn_clone(all), 2, i, 1), BURN_SHAPE(BATCH, POSITIONS, HEADS, WIDTH));
  x = burn_swap_dims(x, 1, 2);
  return copied ? burn_mul_scalar(x, 1) : x;
}

/* The gradient of all parts, and how many bytes joining them takes. */
static int64_t gradient(bool copied, float *out) {
  BurnTensor *all = numbers(BURN_SHAPE(BATCH, POSITIONS, PARTS, HEADS, WIDTH), 3), *results[4], *parts[PARTS];
  BurnTensor *grad = numbers(BURN_SHAPE(BATCH, HEADS, POSITIONS, WIDTH), 4);
  BurnTensor *inputs[] = {grad, heads_of(all, 0, copied), heads_of(all, 1, copied), heads_of(all, 2, copied), NULL,
                          NULL};
  const BurnOpInfo *op = NULL;
  assert_int_equal(burn_op_find("attention_backward", &op), BURN_OK);
  burn_op_call(device, op, inputs, 6, NULL, 0, results);
  burn_drop(results[3]);
  burn_drop(all);
  for (int i = 0; i < PARTS; i++)
    parts[i] = burn_reshape(burn_swap_dims(results[i], 1, 2), BURN_SHAPE(BATCH, POSITIONS, 1, HEADS, WIDTH));
  const int64_t before = bytes_in_use();
  BurnTensor *joined = burn_cat(parts, PARTS, 2);
  const int64_t more = bytes_in_use() - before;
  read_floats(joined, out);
  return more;
}

static void test_gradients_of_parts(void **state) {
  float parts[COUNT], copies[COUNT];
  (void)state;
  assert_true(gradient(false, parts) <= 0);
  (void)gradient(true, copies);
  assert_memory_equal(parts, copies, sizeof parts);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_cat), cmocka_unit_test(test_parts_stay),
                                     cmocka_unit_test(test_gradients_of_parts)};
  return cmocka_run_group_tests_name("parts of one tensor", tests, set_up, tear_down);
}
