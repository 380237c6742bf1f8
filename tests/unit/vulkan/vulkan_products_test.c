/* vulkan_products_test.c - products by the tiles that GPUs have (kernels/product.cu, small_product.cu), on whatever
 * device there is, beside ndarray. Numbers are small integers, so that sums are exact in every order, and results are
 * compared to the bit. */
#include "vulkan_compare.h"

/* linear without batches, matmul with. */
typedef struct Product {
  int64_t batches, m, n, k;
  bool left_turned, right_turned;
  BurnDType dtype;
} Product;

/* Sides that fill no tile and several; k within a tile, of several, and in parts of which the last is shorter. Few results
 * take the smallest tiles; those of 190 x 508 the largest, whose operands are read by fours along k and across it, also
 * with k in blocks; 507 columns end within a four that two tiles make. */
static const Product products[] = {
    {0, 3, 40, 12, false, false, BURN_DTYPE_F32},    {0, 40, 24, 2001, false, true, BURN_DTYPE_F32},
    {3, 33, 65, 1403, true, false, BURN_DTYPE_F32},  {0, 300, 260, 300, false, false, BURN_DTYPE_F32},
    {2, 5, 70, 1900, false, false, BURN_DTYPE_F16},  {0, 20, 20, 1700, true, true, BURN_DTYPE_F64},
    {2, 20, 9, 1700, false, false, BURN_DTYPE_I32},  {0, 5, 30, 700, false, true, BURN_DTYPE_F32},
    {0, 190, 508, 40, false, false, BURN_DTYPE_F32}, {0, 190, 508, 40, false, true, BURN_DTYPE_F32},
    {0, 192, 508, 44, true, false, BURN_DTYPE_F32},  {0, 190, 508, 1100, false, true, BURN_DTYPE_F32},
    {0, 190, 507, 40, false, false, BURN_DTYPE_F32}, {0, 150, 507, 1090, true, true, BURN_DTYPE_F32}};

static BurnTensor *matrix(BurnDevice *device, const Product *p, int64_t rows, int64_t columns, bool turned, int seed) {
  const int64_t first = turned ? columns : rows, last = turned ? rows : columns;
  BurnTensor *x = integers(device, BURN_SHAPE(p->batches ? p->batches : 1, first, last), p->dtype, seed);
  if (turned) x = burn_swap_dims(x, 1, 2);
  return p->batches ? x : burn_reshape(x, BURN_SHAPE(rows, columns));
}

static BurnTensor *run(BurnDevice *device, const Product *p) {
  BurnTensor *left = matrix(device, p, p->m, p->k, p->left_turned, 1);
  BurnTensor *right = matrix(device, p, p->k, p->n, p->right_turned, 2);
  if (p->batches) return burn_matmul(left, right);
  return burn_linear(left, right, integers(device, BURN_SHAPE(p->n), p->dtype, 3));
}

static void check_product(const Product *p, BurnTensor *x, BurnTensor *expected) {
  enum { MOST = 192 * 508 };
  static double got[MOST], wanted[MOST];
  const size_t count = (size_t)burn_element_count(expected);
  CHECK(count <= MOST, "%zu elements", count);
  const BurnStatus first = burn_read_f64(burn_cast(x, BURN_DTYPE_F64), got, count);
  const BurnStatus second = burn_read_f64(burn_cast(expected, BURN_DTYPE_F64), wanted, count);
  CHECK(first == BURN_OK && second == BURN_OK, "%s", burn_status_message(first == BURN_OK ? second : first));
  for (size_t i = 0; i < count; i++)
    CHECK(got[i] == wanted[i], "%d of %d x %d x %d: element %zu is %g, not %g", (int)p->batches, (int)p->m, (int)p->n,
          (int)p->k, i, got[i], wanted[i]);
}

static void compare(void *context) {
  (void)context;
  use_processor();
  setenv("XDG_CACHE_HOME", BURN_BUILD_DIR "/cache", 1); /* as tests/plugins/vulkan/run: compiled kernels are kept */
  BurnDevice *device = open_device("vulkan:kernels=gpu"), *other = open_device("ndarray");
  for (size_t i = 0; i < sizeof products / sizeof products[0]; i++)
    check_product(&products[i], run(device, &products[i]), run(other, &products[i]));
  CHECK(burn_device_memory(device).live_tensors == 0, "tensors are left");
  burn_device_close(device);
  burn_device_close(other);
}

static void test_products(void **state) {
  (void)state;
  forked(compare, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_products)};
  if (access(plugin_path, R_OK) != 0) {
    print_message("skipped: vulkan: there is no %s\n", plugin_path);
    return 0;
  }
  return cmocka_run_group_tests_name("vulkan_products", tests, NULL, NULL);
}
