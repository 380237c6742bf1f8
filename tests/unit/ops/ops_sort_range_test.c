/* ops_sort_range_test.c - sort_range, topk and median by selection against the whole sort: data in every order, with
 * ties, NaNs and infinities, every dtype, rows long enough for each way of selecting, and rows that are not contiguous.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <burn/burn.h>
#include <burn/op_call.h>
#include <burn/ops_move.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { OUTER = 2, INNER = 3 };

/* -- data ------------------------------------------------------------------------------------- */

static uint32_t noise(uint32_t i) {
  i = (i ^ (i >> 16)) * 0x45D9F3Bu;
  i = (i ^ (i >> 16)) * 0x45D9F3Bu;
  return i ^ (i >> 16);
}

static float scattered(uint32_t i) { return (float)(noise(i) % 2000003) / 1000.0f - 1000.0f; }
static float tied(uint32_t i) { return (float)(noise(i) % 7); }
static float ascending(uint32_t i) { return (float)i; }
static float descending(uint32_t i) { return -(float)i; }
static float constant(uint32_t i) { return i == 0 ? -0.0f : 0.0f; } /* but for the sign of one */
static float special(uint32_t i) {
  const float values[] = {NAN, -NAN, INFINITY, -INFINITY, 0.0f, -0.0f, 1e-42f, -1e-42f};
  return noise(i) % 3 == 0 ? values[noise(i) / 3 % 8] : scattered(i);
}
static float late(uint32_t i) { return i < 3000 ? 0.0f : (float)(noise(i) % 100); } /* the best come in after a while */

static float (*const orders[])(uint32_t) = {scattered, tied, ascending, descending, constant, special, late};

/* [OUTER, size, INNER]: every row along axis 1 is the order, shifted. */
static BurnTensor *make(BurnDevice *device, float (*order)(uint32_t), int64_t size, BurnDType dtype) {
  float *data = malloc((size_t)(OUTER * size * INNER) * sizeof *data);
  assert_non_null(data);
  for (int64_t o = 0; o < OUTER; o++)
    for (int64_t i = 0; i < size; i++)
      for (int64_t k = 0; k < INNER; k++) data[(o * size + i) * INNER + k] = order((uint32_t)(i + 5 * o + k));
  BurnTensor *x = burn_tensor_f32(device, data, BURN_SHAPE(OUTER, size, INNER));
  free(data);
  return burn_cast(x, dtype);
}

/* -- comparing -------------------------------------------------------------------------------- */

/* Takes both: the same bytes. */
static void check_same(BurnTensor *found, BurnTensor *expected, const char *what, int order, int64_t size, int64_t k) {
  assert_int_equal(burn_dtype(found), burn_dtype(expected));
  assert_int_equal(burn_element_count(found), burn_element_count(expected));
  const size_t bytes = (size_t)burn_element_count(found) * burn_dtype_bytes(burn_dtype(found));
  const char *dtype = burn_dtype_name(burn_dtype(found));
  char *a = malloc(bytes), *b = malloc(bytes);
  assert_true(a && b);
  assert_true(burn_read(found, a, bytes) == BURN_OK);
  assert_true(burn_read(expected, b, bytes) == BURN_OK);
  if (memcmp(a, b, bytes) != 0) fail_msg("%s of %s, order %d: %d of %d differ", what, dtype, order, (int)k, (int)size);
  free(a);
  free(b);
}

static void check_topk(BurnTensor *x, int order, int64_t size, int64_t k, int dim) {
  BurnTensor *places = NULL, *all_places = NULL;
  BurnTensor *values = burn_topk_with_indices(burn_clone(x), k, dim, &places);
  BurnTensor *all = burn_sort_descending_with_indices(burn_clone(x), dim, &all_places);
  check_same(values, burn_narrow(all, dim, 0, k), "topk", order, size, k);
  check_same(places, burn_narrow(all_places, dim, 0, k), "places of topk", order, size, k);
}

static void check_median(BurnTensor *x, int order, int64_t size, int dim) {
  const int64_t middle = (size - 1) / 2;
  BurnTensor *places = NULL, *all_places = NULL;
  BurnTensor *values = burn_median_with_indices(burn_clone(x), dim, &places);
  BurnTensor *all = burn_sort_with_indices(burn_clone(x), dim, &all_places);
  check_same(values, burn_narrow(all, dim, middle, 1), "median", order, size, middle);
  check_same(places, burn_narrow(all_places, dim, middle, 1), "place of median", order, size, middle);
}

/* A range that neither begins nor ends with the axis. */
static void check_range(BurnTensor *x, int order, int64_t size) {
  const int64_t begin = size / 3, end = begin + size / 8 + 1;
  const BurnAttr attrs[] = {burn_attr_i64(1), burn_attr_i64(begin), burn_attr_i64(end)};
  const BurnOpInfo *op = NULL;
  BurnTensor *out[2] = {NULL, NULL}, *all_places = NULL;
  BurnTensor *input = burn_clone(x);
  assert_true(burn_op_find("sort_range", &op) == BURN_OK);
  burn_op_call(burn_tensor_device(x), op, &input, 1, attrs, 3, out);
  BurnTensor *all = burn_sort_with_indices(burn_clone(x), 1, &all_places);
  check_same(out[0], burn_narrow(all, 1, begin, end - begin), "range", order, size, end);
  check_same(out[1], burn_narrow(all_places, 1, begin, end - begin), "places of the range", order, size, end);
}

/* Along an axis with strides, and along the last one. */
static void check_orders(BurnDevice *device, int64_t size, BurnDType dtype) {
  const int64_t wanted[] = {1, 5, size / 17 + 1, size / 5, size / 2, size};
  for (int order = 0; order < (int)(sizeof orders / sizeof *orders); order++) {
    BurnTensor *x = make(device, orders[order], size, dtype);
    BurnTensor *rows = burn_swap_dims(burn_clone(x), 1, 2);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
      check_topk(x, order, size, wanted[i], 1);
      check_topk(rows, order, size, wanted[i], 2);
    }
    check_range(x, order, size);
    check_median(x, order, size, 1);
    check_median(rows, order, size, 2);
    burn_drop(x);
    burn_drop(rows);
  }
}

static BurnDevice *open_device(void) {
  BurnDevice *device = burn_device_open("ndarray");
  assert_non_null(device);
  return device;
}

static void every_dtype_is_selected_as_it_is_sorted(void **state) {
  (void)state;
  static const BurnDType dtypes[] = {BURN_DTYPE_F32, BURN_DTYPE_F64, BURN_DTYPE_F16, BURN_DTYPE_BF16, BURN_DTYPE_I64,
                                     BURN_DTYPE_I32, BURN_DTYPE_I16, BURN_DTYPE_I8,  BURN_DTYPE_U8};
  BurnDevice *device = open_device();
  for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) check_orders(device, 2111, dtypes[i]);
  burn_device_close(device);
}

static void rows_of_every_length_are_selected_as_they_are_sorted(void **state) {
  (void)state;
  static const int64_t sizes[] = {5, 63, 1500, 2047, 2048, 16447, 40000};
  BurnDevice *device = open_device();
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) check_orders(device, sizes[i], BURN_DTYPE_F32);
  burn_device_close(device);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_dtype_is_selected_as_it_is_sorted),
      cmocka_unit_test(rows_of_every_length_are_selected_as_they_are_sorted),
  };
  return cmocka_run_group_tests_name("sort_range", tests, NULL, NULL);
}
