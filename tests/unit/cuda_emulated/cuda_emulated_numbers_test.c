/* cuda_emulated_numbers_test.c - numbers of the CUDA backend, its kernels on the CPU (tests/plugins/emulated_cuda):
 * element-wise f32 has ndarray's bits, products by cuBLASLt its values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <burn/burn.h>
#include <burn/op_call.h>

#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 64, COLUMNS = 65, NUMBERS = ROWS * COLUMNS };

/* X: cuda, Y: ndarray. */
static BurnDevice *devices[2];

static int set_up(void **state) {
  static const char *const stacks[] = {"cuda", "ndarray"};
  (void)state;
  setenv("BURN_CUDA_DRIVER", FAKE_DRIVER, 1);
  setenv("BURN_CUDA_LIBS", EMULATED_FOLDER, 1);
  setenv("BURN_FAKE_CUDA_FILL", "255", 1);
  setenv("BURN_CUDA_FILL", "255", 1);
  for (int i = 0; i < 2; i++) {
    devices[i] = burn_device_open(stacks[i]);
    if (burn_device_status(devices[i]) == BURN_OK) continue;
    print_error("%s\n", burn_status_message(burn_device_status(devices[i])));
    return -1;
  }
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  for (int i = 0; i < 2; i++) burn_device_close(devices[i]);
  return 0;
}

/* -- element by element ----------------------------------------------------------------------- */

/* An op with numbers; powf_scalar once for each exponent that has a row. */
typedef struct Row {
  const char *op;
  size_t inputs, scalars;
  double s, q;
} Row;

#define ONE(op, ...) {#op, 1, 0, 0, 0},
#define NUMBER(op, ...) {#op, 1, 1, 1.7, 0},
#define TWO(op, ...) {#op, 2, 0, 0, 0},
#define POWER(name, exponent, ...) {"powf_scalar", 1, 1, exponent, 0},
#define BURN_UNARY ONE
#define BURN_UNARY_FLOAT ONE
#define BURN_UNARY_POLYNOMIAL ONE
#define BURN_UNARY_LONG ONE
#define BURN_UNARY_WAVE ONE
#define BURN_TEST ONE
#define BURN_SCALAR_FLOAT NUMBER
#define BURN_SCALAR_LONG NUMBER
#define BURN_SCALAR_QUOTIENT NUMBER
#define BURN_SCALAR_REMAINDER NUMBER
#define BURN_COMPARE_SCALAR NUMBER
#define BURN_POWER POWER
#define BURN_BINARY TWO
#define BURN_BINARY_FLOAT TWO
#define BURN_BINARY_LONG TWO
#define BURN_BINARY_POWER TWO
#define BURN_BINARY_QUOTIENT TWO
#define BURN_BINARY_REMAINDER TWO
#define BURN_EQUAL TWO
#define BURN_LOWER TWO
#define BURN_GREATER TWO
static const Row rows[] = {
#include "common/elementwise.def"
    {"add_scalar", 1, 1, 0.1, 0},  {"mul_scalar", 1, 1, 1.1, 0},  {"clamp_min", 1, 1, -0.5, 0},
    {"clamp_max", 1, 1, 0.5, 0},   {"clamp", 1, 2, -0.5, 2.5},    {"powf_scalar", 1, 1, 2.7, 0},
    {"powf_scalar", 1, 1, 0.5, 0}, {"powf_scalar", 1, 1, -1.5, 0}};

/* Whole, from an address that is not a vector's, or by columns. */
typedef enum Order { WHOLE, FROM_THE_SECOND, BY_COLUMNS, ORDERS } Order;

static uint32_t next_word(uint32_t *seed) {
  *seed ^= *seed << 13;
  *seed ^= *seed >> 17;
  return *seed ^= *seed << 5;
}

/* What is special, numbers near 1, and any bits. */
static void fill(float *numbers, uint32_t seed) {
  static const float special[] = {0.0f,    -0.0f, 1.0f,  -1.0f,  INFINITY, -INFINITY,  NAN,
                                  0.5f,    -0.5f, 1.5f,  2.5f,   1e-45f,   -1e-45f,    1.17549435e-38f,
                                  3.4e38f, 1e9f,  88.7f, -87.4f, -103.9f,  8388608.0f, 1e-8f,
                                  3.9f,    9.1f,  -2.0f, 2.0f,   1e-3f,    16777216.0f};
  const size_t count = sizeof special / sizeof special[0];
  for (size_t i = 0; i < NUMBERS; i++) {
    const uint32_t word = next_word(&seed);
    memcpy(&numbers[i], &word, sizeof word);
    if (i % 4 != 0) numbers[i] = ldexpf((float)(int32_t)word, -31 + (int)(i % 7));
    if (i % 9 == 0) numbers[i] = special[word % count];
  }
}

static BurnTensor *ordered(BurnTensor *x, Order order) {
  if (order == FROM_THE_SECOND) return burn_slice_dim(x, 0, (BurnRange){.start = 1, .end = ROWS, .step = 1});
  return order == BY_COLUMNS ? burn_transpose(x) : x;
}

static void run(const Row *row, Order order, BurnDevice *device, float *const inputs[2], unsigned char *out,
                size_t *bytes) {
  BurnTensor *tensors[2] = {NULL, NULL};
  const BurnAttr attrs[] = {burn_attr_f64(row->s), burn_attr_f64(row->q)};
  for (size_t i = 0; i < row->inputs; i++)
    tensors[i] = ordered(burn_tensor_from(device, inputs[i], BURN_DTYPE_F32, BURN_SHAPE(ROWS, COLUMNS)), order);
  BurnTensor *result = burn_op(row->op, tensors, row->inputs, attrs, row->scalars);
  if (burn_tensor_status(result) != BURN_OK) fail_msg("%s", burn_status_message(burn_tensor_status(result)));
  *bytes = (size_t)burn_element_count(result) * burn_dtype_bytes(burn_dtype(result));
  assert_int_equal(burn_read(result, out, *bytes), BURN_OK);
}

static bool is_same(const unsigned char *a, const unsigned char *b, size_t bytes) {
  float x, y;
  if (memcmp(a, b, bytes) == 0) return true;
  if (bytes != sizeof x) return false;
  memcpy(&x, a, sizeof x);
  memcpy(&y, b, sizeof y);
  return x != x && y != y;
}

static void compare(const Row *row, Order order, float *const inputs[2]) {
  static unsigned char out[2][NUMBERS * sizeof(float)];
  size_t bytes[2];
  for (int i = 0; i < 2; i++) run(row, order, devices[i], inputs, out[i], &bytes[i]);
  assert_int_equal(bytes[0], bytes[1]);
  const size_t count = order == FROM_THE_SECOND ? NUMBERS - COLUMNS : NUMBERS, each = bytes[0] / count;
  for (size_t i = 0; i < count; i++) {
    float x = 0, y = 0;
    if (is_same(&out[0][i * each], &out[1][i * each], each)) continue;
    if (each == sizeof x) {
      memcpy(&x, &out[0][i * each], sizeof x);
      memcpy(&y, &out[1][i * each], sizeof y);
    }
    fail_msg("%s (%g), order %d, element %zu: %a on cuda, %a on ndarray", row->op, row->s, (int)order, i, (double)x,
             (double)y);
  }
}

static void test_elementwise_f32_has_the_bits_of_ndarray(void **state) {
  static float numbers[2][NUMBERS];
  float *const inputs[] = {numbers[0], numbers[1]};
  (void)state;
  fill(numbers[0], 1);
  fill(numbers[1], 2);
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    for (Order order = WHOLE; order < ORDERS; order++) compare(&rows[i], order, inputs);
}

/* -- products --------------------------------------------------------------------------------- */

typedef struct Product {
  int64_t batches, m, n, k;
  bool left_by_columns, right_by_columns, right_repeats;
} Product;

static BurnTensor *matrix(BurnDevice *device, int64_t batches, int64_t rows_, int64_t columns, bool by_columns,
                          BurnDType dtype) {
  const int64_t a = by_columns ? columns : rows_, b = by_columns ? rows_ : columns;
  BurnTensor *x = burn_cast(burn_arange(device, 0, batches * a * b, 1), BURN_DTYPE_F32);
  x = burn_cast(burn_sin(burn_reshape(x, BURN_SHAPE(batches, a, b))), dtype);
  return by_columns ? burn_swap_dims(x, 1, 2) : x;
}

static BurnTensor *integers(BurnDevice *device, int64_t batches, int64_t rows_, int64_t columns, bool by_columns,
                            BurnDType dtype) {
  const int64_t a = by_columns ? columns : rows_, b = by_columns ? rows_ : columns;
  BurnTensor *x = burn_cast(burn_arange(device, 0, batches * a * b, 1), dtype);
  x = burn_reshape(x, BURN_SHAPE(batches, a, b));
  return by_columns ? burn_swap_dims(x, 1, 2) : x;
}

static void compare_integers(const Product *p, BurnDType dtype) {
  static int64_t out[2][3 * 300 * 132];
  for (int i = 0; i < 2; i++) {
    BurnTensor *left = integers(devices[i], p->batches, p->m, p->k, p->left_by_columns, dtype);
    BurnTensor *right = integers(devices[i], p->right_repeats ? 1 : p->batches, p->k, p->n, p->right_by_columns, dtype);
    BurnTensor *result = burn_cast(burn_matmul(left, right), BURN_DTYPE_I64);
    if (burn_tensor_status(result) != BURN_OK) fail_msg("%s", burn_status_message(burn_tensor_status(result)));
    assert_int_equal(burn_read(result, out[i], (size_t)(p->batches * p->m * p->n) * sizeof out[i][0]), BURN_OK);
  }
  for (int64_t i = 0; i < p->batches * p->m * p->n; i++)
    if (out[0][i] != out[1][i])
      fail_msg("%s, m %d, n %d, k %d: element %d is %lld on cuda, %lld on ndarray", burn_dtype_name(dtype), (int)p->m,
               (int)p->n, (int)p->k, (int)i, (long long)out[0][i], (long long)out[1][i]);
}

static void multiply(const Product *p, BurnDType dtype, BurnDevice *device, double *out) {
  BurnTensor *left = matrix(device, p->batches, p->m, p->k, p->left_by_columns, dtype);
  BurnTensor *right = matrix(device, p->right_repeats ? 1 : p->batches, p->k, p->n, p->right_by_columns, dtype);
  BurnTensor *result = burn_cast(burn_matmul(left, right), BURN_DTYPE_F64);
  if (burn_tensor_status(result) != BURN_OK) fail_msg("%s", burn_status_message(burn_tensor_status(result)));
  assert_int_equal(burn_read(result, out, (size_t)(p->batches * p->m * p->n) * sizeof *out), BURN_OK);
}

static void compare_products(const Product *p, BurnDType dtype, double tolerance) {
  static double out[2][3 * 300 * 132];
  for (int i = 0; i < 2; i++) multiply(p, dtype, devices[i], out[i]);
  for (int64_t i = 0; i < p->batches * p->m * p->n; i++)
    if (!(fabs(out[0][i] - out[1][i]) <= tolerance * (1 + fabs(out[1][i]))))
      fail_msg("%s, m %d, n %d, k %d: element %d is %.17g on cuda, %.17g on ndarray", burn_dtype_name(dtype), (int)p->m,
               (int)p->n, (int)p->k, (int)i, out[0][i], out[1][i]);
}

static void test_products_of_every_order(void **state) {
  static const Product products[] = {{1, 130, 90, 70, false, false, false}, {1, 130, 90, 70, true, false, false},
                                     {1, 130, 90, 70, false, true, false},  {1, 130, 90, 70, true, true, false},
                                     {3, 64, 72, 33, false, true, false},   {3, 64, 72, 33, true, false, true},
                                     {3, 40, 48, 257, false, false, true}};
  (void)state;
  for (size_t i = 0; i < sizeof products / sizeof products[0]; i++) {
    compare_products(&products[i], BURN_DTYPE_F64, 1e-12);
    compare_products(&products[i], BURN_DTYPE_F32, 1e-5);
    compare_products(&products[i], BURN_DTYPE_F16, 2e-3);
    compare_products(&products[i], BURN_DTYPE_BF16, 2e-2);
  }
  void *library = dlopen(EMULATED_FOLDER "/./libcublasLt.so.13", RTLD_LAZY | RTLD_NOLOAD);
  if (!library) fail_msg("no product has used cuBLASLt");
  (void)dlclose(library);
}

/* By kernels of ours, in tiles of every size: integers, which no library takes, and a k too short for one. */
static void test_products_in_tiles(void **state) {
  static const Product products[] = {{1, 20, 130, 37, false, true, false}, {2, 70, 66, 16, true, false, true},
                                     {1, 129, 132, 15, true, true, false}, {1, 300, 129, 40, false, false, false},
                                     {3, 130, 85, 9, false, true, true},   {1, 65, 65, 0, false, false, false}};
  (void)state;
  for (size_t i = 0; i < sizeof products / sizeof products[0]; i++) {
    compare_integers(&products[i], BURN_DTYPE_I32);
    compare_integers(&products[i], BURN_DTYPE_I64);
    compare_integers(&products[i], BURN_DTYPE_U8);
    compare_products(&products[i], BURN_DTYPE_F32, 1e-5);
    compare_products(&products[i], BURN_DTYPE_F64, 1e-12);
  }
}

/* [m, k] x [k, n] of numbers from 0.25 to 2.25, in a dtype, as f64. */
static void multiply_positive(BurnDevice *device, int64_t m, int64_t k, int64_t n, BurnDType dtype, double *out) {
  BurnTensor *left = burn_add_scalar(matrix(device, 1, m, k, false, BURN_DTYPE_F32), 1.25);
  BurnTensor *right = burn_add_scalar(matrix(device, 1, k, n, false, BURN_DTYPE_F32), 1.25);
  BurnTensor *result = burn_cast(burn_matmul(burn_cast(left, dtype), burn_cast(right, dtype)), BURN_DTYPE_F64);
  if (burn_tensor_status(result) != BURN_OK) fail_msg("%s", burn_status_message(burn_tensor_status(result)));
  assert_int_equal(burn_read(result, out, (size_t)(m * n) * sizeof *out), BURN_OK);
}

/* Few results of many terms, which no library is asked for; one chain of 65,536 is off by more than 10^-5. */
static void test_long_sums_keep_their_digits(void **state) {
  static const int64_t depths[] = {1024, 1040, 3001, 65536};
  enum { M = 33, N = 40 };
  static double found[M * N], exact[M * N];
  (void)state;
  for (size_t i = 0; i < sizeof depths / sizeof depths[0]; i++) {
    multiply_positive(devices[0], M, depths[i], N, BURN_DTYPE_F32, found);
    multiply_positive(devices[1], M, depths[i], N, BURN_DTYPE_F64, exact);
    for (int at = 0; at < M * N; at++)
      if (!(fabs(found[at] - exact[at]) <= 2.5e-6 * exact[at]))
        fail_msg("k %d: element %d is %.9g, exactly %.9g", (int)depths[i], at, found[at], exact[at]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_elementwise_f32_has_the_bits_of_ndarray), cmocka_unit_test(test_products_of_every_order),
      cmocka_unit_test(test_products_in_tiles), cmocka_unit_test(test_long_sums_keep_their_digits)};
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
