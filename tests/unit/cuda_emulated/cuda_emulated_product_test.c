/* cuda_emulated_product_test.c - products of the CUDA backend by cuBLASLt, which here is one on the CPU
 * (tests/plugins/emulated_cuda): operands in every layout against ndarray, the precisions of f32, and the algorithm that
 * is chosen by timing and kept. */
#include "forked.h"
#include "sampled.h"

#include <burn/op_call.h>

#include <dirent.h>
#include <math.h>

static char cache[64]; /* of the choices; compiled kernels are in the cache that all tests share */

static BurnDevice *open_device(const char *stack) {
  setenv("BURN_CUDA_DRIVER", FAKE_DRIVER, 1);
  setenv("BURN_CUDA_LIBS", EMULATED_LIBRARIES, 1);
  setenv("BURN_FAKE_CUDA_FILL", "255", 1);
  BurnDevice *device = burn_device_open(stack);
  CHECK(burn_device_status(device) == BURN_OK, "%s", burn_status_message(burn_device_status(device)));
  return device;
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

/* -- layouts ---------------------------------------------------------------------------------- */

/* Small integers, whose products and sums are exact in every order. */
static BurnTensor *integers(BurnDevice *device, BurnShape shape, BurnDType dtype, int seed) {
  int64_t count = 1;
  for (uint32_t i = 0; i < shape.rank; i++) count *= shape.dims[i];
  float *values = malloc((size_t)count * sizeof *values + 1);
  CHECK(values, "no memory");
  for (int64_t i = 0; i < count; i++) values[i] = (float)((i * 7 + i / 13 * 5 + seed * 3) % 9 - 4);
  BurnTensor *x = burn_cast(burn_tensor_f32(device, values, shape), dtype);
  free(values);
  return x;
}

/* A tensor of this shape that lies as `form` says: 0 row-major, 1 its last axes changed, 2 a part of longer rows, 3 the
 * same of longer columns, 4 every other column, 5 one row for all. */
enum { FORMS = 6 };
static BurnTensor *lay_out(BurnDevice *device, BurnShape shape, BurnDType dtype, int form, int seed) {
  BurnShape larger = shape;
  const uint32_t row = shape.rank - 2, column = shape.rank - 1;
  BurnTensor *x = NULL;
  switch (form) {
    case 1:
      larger.dims[row] = shape.dims[column];
      larger.dims[column] = shape.dims[row];
      return burn_swap_dims(integers(device, larger, dtype, seed), (int)row, (int)column);
    case 2:
      larger.dims[column] += 3;
      x = integers(device, larger, dtype, seed);
      return burn_slice_dim(x, (int)column, (BurnRange){.start = 1, .end = shape.dims[column] + 1, .step = 1});
    case 3:
      larger.dims[row] = shape.dims[column] + 2;
      larger.dims[column] = shape.dims[row];
      x = integers(device, larger, dtype, seed);
      x = burn_slice_dim(x, (int)row, (BurnRange){.start = 2, .end = shape.dims[column] + 2, .step = 1});
      return burn_swap_dims(x, (int)row, (int)column);
    case 4:
      larger.dims[column] *= 2;
      x = integers(device, larger, dtype, seed);
      return burn_slice_dim(x, (int)column, (BurnRange){.start = 0, .end = larger.dims[column], .step = 2});
    case 5:
      larger.dims[row] = 1;
      return burn_expand(integers(device, larger, dtype, seed), shape);
    default:
      return integers(device, shape, dtype, seed);
  }
}

static void check_same(BurnTensor *x, BurnTensor *expected, const char *what, int left, int right) {
  enum { MOST = 1 << 17 };
  static float got[MOST], wanted[MOST];
  const size_t count = (size_t)burn_element_count(x);
  CHECK(count <= MOST && count == (size_t)burn_element_count(expected), "%zu elements", count);
  const BurnStatus first = burn_read_f32(burn_cast(x, BURN_DTYPE_F32), got, count);
  const BurnStatus second = burn_read_f32(burn_cast(expected, BURN_DTYPE_F32), wanted, count);
  CHECK(first == BURN_OK && second == BURN_OK, "%s", burn_status_message(first == BURN_OK ? second : first));
  for (size_t i = 0; i < count; i++)
    CHECK(got[i] == wanted[i], "%s, forms %d and %d: element %zu is %g, not %g", what, left, right, i, (double)got[i],
          (double)wanted[i]);
}

typedef struct Case {
  const char *what;
  BurnShape lhs, rhs;
} Case;

/* Every layout with every other in f32, with itself in the other dtypes. */
static void compare(BurnDevice *device, BurnDevice *other, const Case *one, BurnDType dtype) {
  for (int left = 0; left < FORMS; left++)
    for (int right = 0; right < FORMS; right++) {
      if (left != right && dtype != BURN_DTYPE_F32) continue;
      check_same(burn_matmul(lay_out(device, one->lhs, dtype, left, 1), lay_out(device, one->rhs, dtype, right, 2)),
                 burn_matmul(lay_out(other, one->lhs, dtype, left, 1), lay_out(other, one->rhs, dtype, right, 2)),
                 one->what, left, right);
    }
}

static void multiply_layouts(void *context) {
  static const BurnDType dtypes[] = {BURN_DTYPE_F32, BURN_DTYPE_F64, BURN_DTYPE_BF16, BURN_DTYPE_F16, BURN_DTYPE_I32};
  const Case cases[] = {{"one product", BURN_SHAPE(70, 33), BURN_SHAPE(33, 65)},
                        {"a batch", BURN_SHAPE(3, 40, 32), BURN_SHAPE(3, 32, 48)},
                        {"one right side for all", BURN_SHAPE(3, 40, 32), BURN_SHAPE(1, 32, 48)},
                        {"one left side for all", BURN_SHAPE(1, 1, 40, 32), BURN_SHAPE(2, 3, 32, 48)},
                        {"batches without one stride", BURN_SHAPE(3, 1, 2, 40, 17), BURN_SHAPE(3, 4, 1, 17, 48)},
                        {"a row", BURN_SHAPE(1, 64), BURN_SHAPE(64, 4100)},
                        {"a column", BURN_SHAPE(4100, 64), BURN_SHAPE(64, 1)},
                        {"rows, long", BURN_SHAPE(2, 1, 2500), BURN_SHAPE(2, 2500, 19)},
                        {"columns, long", BURN_SHAPE(3, 37, 2500), BURN_SHAPE(1, 2500, 1)},
                        {"a number", BURN_SHAPE(1, 300), BURN_SHAPE(300, 1)}};
  (void)context;
  BurnDevice *device = open_device("cuda"), *other = open_device("ndarray");
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    for (size_t d = 0; d < sizeof dtypes / sizeof dtypes[0]; d++) compare(device, other, &cases[i], dtypes[d]);
  CHECK(burn_device_memory(device).live_tensors == 0, "tensors are left");
  burn_device_close(device);
  burn_device_close(other);
}

static void test_every_layout(void **state) {
  (void)state;
  forked(multiply_layouts, NULL);
}

/* Inputs of linear and of its gradients, whose leading axes lie as one or do not. */
static void run_linear(BurnDevice *device, BurnDType dtype, int form, BurnTensor *out[4]) {
  const BurnOpInfo *backward = NULL;
  CHECK(burn_op_find("linear_backward", &backward) == BURN_OK, "there is no linear_backward");
  BurnTensor *x = form == 6 ? burn_swap_dims(integers(device, BURN_SHAPE(50, 4, 32), dtype, 1), 0, 1)
                            : lay_out(device, BURN_SHAPE(4, 50, 32), dtype, form, 1);
  BurnTensor *weight = lay_out(device, BURN_SHAPE(32, 40), dtype, form == 6 ? 1 : form, 2);
  BurnTensor *bias = integers(device, BURN_SHAPE(40), dtype, 3);
  BurnTensor *inputs[] = {lay_out(device, BURN_SHAPE(4, 50, 40), dtype, form == 6 ? 0 : form, 4), burn_clone(x),
                          burn_clone(weight)};
  out[0] = burn_linear(x, weight, bias);
  burn_op_call(NULL, backward, inputs, 3, NULL, 0, out + 1);
}

static void compare_linear(void *context) {
  static const BurnDType dtypes[] = {BURN_DTYPE_F32, BURN_DTYPE_F64, BURN_DTYPE_BF16};
  (void)context;
  BurnDevice *device = open_device("cuda"), *other = open_device("ndarray");
  for (int form = 0; form <= FORMS; form++)
    for (size_t d = 0; d < sizeof dtypes / sizeof dtypes[0]; d++) {
      BurnTensor *out[4], *expected[4];
      run_linear(device, dtypes[d], form, out);
      run_linear(other, dtypes[d], form, expected);
      for (int i = 0; i < 4; i++) check_same(out[i], expected[i], "linear", form, i);
    }
  burn_device_close(device);
  burn_device_close(other);
}

static void test_linear(void **state) {
  (void)state;
  forked(compare_linear, NULL);
}

/* Products of i8 with a scale for all (0), for each row and column (1), or for each half of the sums (2), which is
 * decomposed; scales are powers of 2, so that every result is exact. */
static BurnTensor *powers(BurnDevice *device, BurnShape shape, int seed) {
  float values[512];
  int64_t count = 1;
  for (uint32_t i = 0; i < shape.rank; i++) count *= shape.dims[i];
  CHECK(count <= 512, "%d scales", (int)count);
  for (int64_t i = 0; i < count; i++) values[i] = ldexpf(1, (int)((i * 5 + seed) % 7) - 3);
  return burn_tensor_f32(device, values, shape);
}

static BurnTensor *run_quantized(BurnDevice *device, BurnDType dtype, int form, int scales) {
  enum { BATCHES = 2, ROWS = 70, COLUMNS = 68, TERMS = 64 };
  const BurnOpInfo *op = NULL;
  BurnTensor *out = NULL;
  CHECK(burn_op_find("quantized_matmul", &op) == BURN_OK, "there is no quantized_matmul");
  const int64_t along = scales == 2 ? TERMS / 2 : TERMS;
  const int64_t lhs_block[] = {1, 1, along}, rhs_block[] = {1, along, 1}, none[] = {0, 0, 0};
  const BurnShape lhs_scales = scales ? BURN_SHAPE(BATCHES, ROWS, TERMS / along) : BURN_SHAPE(1);
  const BurnShape rhs_scales = scales ? BURN_SHAPE(1, TERMS / along, COLUMNS) : BURN_SHAPE(1);
  BurnTensor *inputs[] = {
      lay_out(device, BURN_SHAPE(BATCHES, ROWS, TERMS), BURN_DTYPE_I8, form, 1), powers(device, lhs_scales, 2),
      lay_out(device, BURN_SHAPE(1, TERMS, COLUMNS), BURN_DTYPE_I8, form, 3), powers(device, rhs_scales, 4)};
  const BurnAttr attrs[] = {burn_attr_i64s(scales ? lhs_block : none, 3), burn_attr_i64s(scales ? rhs_block : none, 3),
                            burn_attr_dtype(dtype)};
  burn_op_call(NULL, op, inputs, 4, attrs, 3, &out);
  return out;
}

static void compare_quantized(void *context) {
  (void)context;
  BurnDevice *device = open_device("cuda"), *other = open_device("ndarray");
  for (int form = 0; form < FORMS; form++)
    for (int scales = 0; scales < 3; scales++) {
      check_same(run_quantized(device, BURN_DTYPE_F32, form, scales),
                 run_quantized(other, BURN_DTYPE_F32, form, scales), "quantized_matmul", form, scales);
    }
  burn_device_close(device);
  burn_device_close(other);
}

static void test_quantized(void **state) {
  (void)state;
  forked(compare_quantized, NULL);
}

/* -- each call of the driver fails once --------------------------------------------------------- */

/* Everything may fail, but then with words, and nothing is left behind. */
static void fail_at(void *number) {
  setenv("BURN_FAKE_CUDA_FAIL", number, 1);
  setenv("BURN_CUDA_DRIVER", FAKE_DRIVER, 1);
  setenv("BURN_CUDA_LIBS", EMULATED_LIBRARIES, 1);
  setenv("XDG_CACHE_HOME", cache, 1);
  BurnDevice *device = burn_device_open("cuda");
  if (burn_device_status(device) == BURN_OK) {
    BurnTensor *out[6] = {NULL};
    run_linear(device, BURN_DTYPE_F32, 4, out);
    out[4] = run_quantized(device, BURN_DTYPE_BF16, 2, 1);
    out[5] = burn_matmul(integers(device, BURN_SHAPE(1, 300), BURN_DTYPE_F32, 1),
                         integers(device, BURN_SHAPE(300, 9), BURN_DTYPE_F32, 2));
    for (int i = 0; i < 6; i++) {
      const BurnStatus status = burn_tensor_status(out[i]);
      CHECK(status == BURN_OK || strlen(burn_status_message(status)) > 8, "a failure without words");
      burn_drop(out[i]);
    }
    CHECK(burn_device_memory(device).live_tensors == 0, "%d tensors are left",
          (int)burn_device_memory(device).live_tensors);
    CHECK(burn_device_memory(device).bytes_in_use == 0, "%d bytes are left",
          (int)burn_device_memory(device).bytes_in_use);
  }
  burn_device_close(device);
}

static void test_every_call_of_the_driver_may_fail(void **state) {
  (void)state;
  for (int i = 1; i <= 70; i++) {
    char number[8];
    (void)snprintf(number, sizeof number, "%d", i);
    forked(fail_at, number);
  }
}

/* -- precision -------------------------------------------------------------------------------- */

enum { SIDE = 512 }; /* just large enough for bf16, and for timing */

static BurnTensor *fractions(BurnDevice *device, int seed) {
  static float values[SIDE * SIDE];
  for (int i = 0; i < SIDE * SIDE; i++) values[i] = sinf((float)(i % 10007) * 0.37F + (float)seed);
  return burn_tensor_f32(device, values, BURN_SHAPE(SIDE, SIDE));
}

static void multiply_fractions(const char *stack, float *out) {
  BurnDevice *device = open_device(stack);
  const BurnStatus status = burn_read_f32(burn_matmul(fractions(device, 1), fractions(device, 2)), out, SIDE * SIDE);
  CHECK(status == BURN_OK, "%s", burn_status_message(status));
  burn_device_close(device);
}

/* The largest difference, beside numbers of about 10. */
static double difference(const float *a, const float *b) {
  double most = 0;
  for (int i = 0; i < SIDE * SIDE; i++) {
    const double distance = fabs((double)a[i] - (double)b[i]);
    if (distance > most) most = distance;
  }
  return most;
}

static void compare_precisions(void *context) {
  static float exact[SIDE * SIDE], got[SIDE * SIDE];
  static const struct {
    const char *stack;
    double least, most;
  } rows[] = {{"cuda:timing=false", 0, 1e-4},
              {"cuda:tf32=true,matmul_precision=highest,timing=false", 0, 1e-4},
              {"cuda:tf32=true,timing=false", 1e-3, 3e-2},
              {"cuda:matmul_precision=high,timing=false", 1e-3, 3e-2},
              {"cuda:matmul_precision=medium,timing=false", 2e-2, 3e-1}};
  (void)context;
  multiply_fractions("ndarray", exact);
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    multiply_fractions(rows[i].stack, got);
    const double error = difference(exact, got);
    CHECK(error >= rows[i].least && error <= rows[i].most, "%s: %g", rows[i].stack, error);
  }
}

static void test_precision(void **state) {
  (void)state;
  forked(compare_precisions, NULL);
}

/* -- the choice of an algorithm --------------------------------------------------------------- */

/* Visits the choices on disk; returns how many there are. */
static int each_choice(void (*visit)(const char *path)) {
  char folder[128], path[512];
  int count = 0;
  (void)snprintf(folder, sizeof folder, "%s/burn/cuda", cache);
  DIR *directory = opendir(folder);
  for (struct dirent *entry; directory && (entry = readdir(directory)) != NULL;) {
    if (!strstr(entry->d_name, ".product")) continue;
    (void)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    if (visit) visit(path);
    count++;
  }
  if (directory) (void)closedir(directory);
  return count;
}

static void cut(const char *path) { CHECK(truncate(path, 40) == 0, "%s cannot be cut", path); }

/* The choice is made once; the processes after the first take it, and have its bits. */
static void choose_once(void *context) {
  float *shared = context;
  static float got[SIDE * SIDE];
  setenv("XDG_CACHE_HOME", cache, 1);
  CHECK(each_choice(NULL) == 0, "a choice without timing");
  multiply_fractions("cuda", shared);
  CHECK(each_choice(NULL) == 1, "%d choices", each_choice(NULL));
  for (int i = 0; i < 2; i++) {
    multiply_fractions("cuda", got);
    CHECK(memcmp(got, shared, sizeof got) == 0, "other bits with the choice that was kept");
  }
  (void)each_choice(cut);
  multiply_fractions("cuda", got); /* as if there was none */
  CHECK(difference(got, shared) < 1e-4, "other numbers after a file was damaged");
}

static void test_the_choice_is_kept(void **state) {
  (void)state;
  float *shared = calloc(SIDE * SIDE, sizeof *shared);
  assert_non_null(shared);
  forked(choose_once, shared);
  free(shared);
}

/* -- operands that lie across k ---------------------------------------------------------------- */

static int turned; /* choices that say so, in their last byte but seven */

static void count_turned(const char *path) {
  unsigned char bytes[256];
  FILE *file = fopen(path, "rb");
  const size_t size = file ? fread(bytes, 1, sizeof bytes, file) : 0;
  CHECK(file && size > 72 && size < sizeof bytes, "%s has %d bytes", path, (int)size);
  turned += bytes[size - 8] == 1;
  (void)fclose(file);
}

/* The gradient of a weight: both operands lie across the axis that is summed. In TF32 integers up to 4 are exact. */
static void turn_operands(void *context) {
  enum { DEEP = 1024, WIDE = 512, NARROW = 256 };
  (void)context;
  setenv("XDG_CACHE_HOME", cache, 1);
  setenv("BURN_FAKE_CUDA_CLOCK", "quick", 1); /* turning wins where it is measured */
  const int shapes = runs_all() ? 2 : 1;      /* the left operand is turned, or the right one */
  for (int i = 0; i < 2 * shapes; i++) {
    const int64_t m = i % shapes == 0 ? NARROW : WIDE, n = i % shapes == 0 ? WIDE : NARROW;
    BurnDevice *device = open_device("cuda:tf32=true"), *other = open_device("ndarray");
    BurnTensor *both[2];
    for (int k = 0; k < 2; k++) {
      BurnDevice *on = k == 0 ? device : other;
      both[k] = burn_matmul(burn_swap_dims(integers(on, BURN_SHAPE(DEEP, m), BURN_DTYPE_F32, 1), 0, 1),
                            integers(on, BURN_SHAPE(DEEP, n), BURN_DTYPE_F32, 2));
    }
    check_same(both[0], both[1], "matmul", i, DEEP);
    burn_device_close(device);
    burn_device_close(other);
  }
  turned = 0;
  CHECK(each_choice(count_turned) == 2 * shapes, "%d choices: of each product, and of that with an operand turned",
        each_choice(NULL));
  CHECK(turned == shapes, "%d products turn an operand", turned);
}

static void test_operands_are_turned_where_that_is_faster(void **state) {
  (void)state;
  (void)remove_folder(cache);
  make_folder(cache);
  forked(turn_operands, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_layout),
                                     cmocka_unit_test(test_linear),
                                     cmocka_unit_test(test_quantized),
                                     cmocka_unit_test(test_every_call_of_the_driver_may_fail),
                                     cmocka_unit_test(test_precision),
                                     cmocka_unit_test(test_the_choice_is_kept),
                                     cmocka_unit_test(test_operands_are_turned_where_that_is_faster)};
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
