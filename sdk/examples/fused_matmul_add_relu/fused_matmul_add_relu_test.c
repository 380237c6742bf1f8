/* fused_matmul_add_relu_test.c - values and gradients of the op equal those of
 * matmul, add and relu: by the kernel (f32), by the decomposition (f64), with
 * broadcasting, on views, with NaN and nothing; and what wrong input is
 * told. Runs on the stack that its argument names, else on ndarray. */
#include <burn/burn.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

static void fail(const char *what, const char *text) {
  printf("%s: %s\n", what, text);
  failures++;
}

/* Takes all. */
static BurnTensor *fused(BurnTensor *lhs, BurnTensor *rhs, BurnTensor *bias) {
  BurnTensor *inputs[] = {lhs, rhs, bias};
  return burn_op("fused_matmul_add_relu.forward", inputs, 3, NULL, 0);
}
static BurnTensor *unfused(BurnTensor *lhs, BurnTensor *rhs, BurnTensor *bias) {
  return burn_relu(burn_add(burn_matmul(lhs, rhs), bias));
}

/* Takes both; they must be equal within `tolerance`, and NaN at the same
 * places. */
static void expect_equal(const char *what, BurnTensor *ours, BurnTensor *theirs,
                         double tolerance) {
  const int64_t count = burn_element_count(ours);
  if (burn_tensor_status(ours) == BURN_OK &&
      count != burn_element_count(theirs)) {
    fail(what, "sizes differ");
  }
  double *a = calloc((size_t)count + 1, sizeof *a);
  double *b = calloc((size_t)count + 1, sizeof *b);
  if (!a || !b) exit(2);
  BurnStatus status = burn_read_f64(ours, a, (size_t)count);
  if (status != BURN_OK) fail(what, burn_status_message(status));
  status = burn_read_f64(theirs, b, (size_t)count);
  if (status != BURN_OK) fail(what, burn_status_message(status));
  for (int64_t i = 0; i < count; i++) {
    if (isnan(a[i]) && isnan(b[i])) continue;
    if (fabs(a[i] - b[i]) <= tolerance * (1 + fabs(b[i]))) continue;
    printf("%s: element %lld is %g, expected %g\n", what, (long long)i, a[i],
           b[i]);
    failures++;
    break;
  }
  free(a);
  free(b);
}

/* -- one case: shapes, dtype, and how the tensors lie in memory ----------- */

typedef struct Case {
  const char *name;
  BurnDType dtype;
  bool views; /* lhs and rhs are made transposed, bias backwards */
  BurnShape lhs, rhs, bias;
} Case;

static BurnTensor *random_tensor(BurnDevice *device, BurnShape shape,
                                 BurnDType dtype, bool view) {
  if (!view) return burn_random_normal(device, shape, dtype, 0, 1);
  const int64_t last = shape.dims[shape.rank - 1];
  shape.dims[shape.rank - 1] = shape.dims[shape.rank - 2];
  shape.dims[shape.rank - 2] = last;
  return burn_transpose(burn_random_normal(device, shape, dtype, 0, 1));
}

static void compare_values(BurnDevice *device, const Case *c,
                           double tolerance) {
  BurnTensor *lhs = random_tensor(device, c->lhs, c->dtype, c->views);
  BurnTensor *rhs = random_tensor(device, c->rhs, c->dtype, c->views);
  BurnTensor *bias = random_tensor(device, c->bias, c->dtype, c->views);
  BurnTensor *ours = fused(burn_clone(lhs), burn_clone(rhs), burn_clone(bias));
  expect_equal(c->name, ours, unfused(lhs, rhs, bias), tolerance);
}

/* Gradients of sum(output * weight), so that they differ from place to
 * place. */
static BurnGradients *gradients_of(BurnTensor *output, const BurnTensor *weight,
                                   const char *name) {
  BurnGradients *gradients = NULL;
  BurnTensor *loss = burn_sum(burn_mul(output, burn_clone(weight)));
  const BurnStatus status = burn_backward(loss, &gradients);
  if (status != BURN_OK) fail(name, burn_status_message(status));
  return gradients;
}

static void compare_gradients(BurnDevice *device, const Case *c,
                              double tolerance) {
  const BurnShape shapes[3] = {c->lhs, c->rhs, c->bias};
  BurnTensor *leaves[3];
  for (int i = 0; i < 3; i++) {
    leaves[i] =
        burn_require_grad(random_tensor(device, shapes[i], c->dtype, c->views));
  }
  BurnTensor *ours = fused(burn_clone(leaves[0]), burn_clone(leaves[1]),
                           burn_clone(leaves[2]));
  BurnTensor *theirs = unfused(burn_clone(leaves[0]), burn_clone(leaves[1]),
                               burn_clone(leaves[2]));
  BurnTensor *weight = random_tensor(device, burn_shape(ours), c->dtype, false);
  BurnGradients *first = gradients_of(ours, weight, c->name);
  BurnGradients *second = gradients_of(theirs, weight, c->name);
  for (int i = 0; i < 3 && first && second; i++) {
    expect_equal(c->name, burn_grad(leaves[i], first),
                 burn_grad(leaves[i], second), tolerance);
  }
  burn_gradients_drop(first);
  burn_gradients_drop(second);
  burn_drop(weight);
  for (int i = 0; i < 3; i++) burn_drop(leaves[i]);
}

static void test_cases(const char *backend) {
  const Case cases[] = {
      /* name, dtype, views,
       * lhs, rhs, bias */
      {"matrices", BURN_DTYPE_F32, false, BURN_SHAPE(5, 7), BURN_SHAPE(7, 3),
       BURN_SHAPE(5, 3)},
      {"views", BURN_DTYPE_F32, true, BURN_SHAPE(5, 7), BURN_SHAPE(7, 3),
       BURN_SHAPE(5, 3)},
      {"bias of one row", BURN_DTYPE_F32, false, BURN_SHAPE(5, 7),
       BURN_SHAPE(7, 3), BURN_SHAPE(1, 3)},
      {"bias of one number", BURN_DTYPE_F32, false, BURN_SHAPE(5, 7),
       BURN_SHAPE(7, 3), BURN_SHAPE(1, 1)},
      {"as in the Burn Book", BURN_DTYPE_F32, false, BURN_SHAPE(1, 32, 32),
       BURN_SHAPE(32, 32, 32), BURN_SHAPE(32, 32, 32)},
      {"rhs stretched", BURN_DTYPE_F32, false, BURN_SHAPE(2, 3, 4, 5),
       BURN_SHAPE(1, 3, 5, 6), BURN_SHAPE(1, 1, 4, 1)},
      {"stretched views", BURN_DTYPE_F32, true, BURN_SHAPE(2, 1, 4, 5),
       BURN_SHAPE(1, 3, 5, 6), BURN_SHAPE(2, 1, 1, 6)},
      {"f64, decomposed", BURN_DTYPE_F64, false, BURN_SHAPE(2, 5, 7),
       BURN_SHAPE(2, 7, 3), BURN_SHAPE(1, 1, 3)},
      {"no inner elements", BURN_DTYPE_F32, false, BURN_SHAPE(2, 0),
       BURN_SHAPE(0, 3), BURN_SHAPE(2, 3)},
      {"no rows", BURN_DTYPE_F32, false, BURN_SHAPE(0, 2), BURN_SHAPE(2, 3),
       BURN_SHAPE(1, 3)},
  };
  BurnDevice *plain = burn_device_open(backend);
  BurnDevice *autodiff = burn_device_open_training(backend);
  burn_device_seed(plain, 42);
  burn_device_seed(autodiff, 43);
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const double tolerance = cases[i].dtype == BURN_DTYPE_F64 ? 1e-12 : 1e-5;
    compare_values(plain, &cases[i], tolerance);
    compare_gradients(autodiff, &cases[i], tolerance);
  }
  burn_device_close(autodiff);
  burn_device_close(plain);
}

/* -- edges ---------------------------------------------------------------- */

static BurnTensor *matrix(BurnDevice *device, float a, float b, float c,
                          float d) {
  const float values[] = {a, b, c, d};
  return burn_tensor_f32(device, values, BURN_SHAPE(2, 2));
}

static void test_not_a_number(BurnDevice *device) {
  const float expected[] = {NAN, NAN, 0, 0};
  BurnTensor *ours =
      fused(matrix(device, NAN, 1, 1, 1), matrix(device, 1, 2, 3, 4),
            matrix(device, 0, 0, -9, -9));
  BurnTensor *theirs = burn_tensor_f32(device, expected, BURN_SHAPE(2, 2));
  expect_equal("NaN", ours, theirs, 0);
}

static void expect_message(const char *part, BurnTensor *out) {
  const char *message = burn_status_message(burn_tensor_status(out));
  if (!strstr(message, part)) fail(part, message);
  burn_drop(out);
}

static void test_messages(BurnDevice *device) {
  const BurnDType f32 = BURN_DTYPE_F32, f64 = BURN_DTYPE_F64;
  BurnTensor *x = burn_zeros(device, BURN_SHAPE(2, 3), f32);
  BurnTensor *bias = burn_zeros(device, BURN_SHAPE(2, 2), f32);
  BurnTensor *square = burn_zeros(device, BURN_SHAPE(3, 3), f32);
  BurnTensor *doubles = burn_zeros(device, BURN_SHAPE(3, 2), f64);
  BurnTensor *rank_3 = burn_zeros(device, BURN_SHAPE(1, 3, 2), f32);
  expect_message("lhs has 3 columns, rhs 2 rows",
                 fused(burn_clone(x), burn_clone(x), burn_clone(bias)));
  expect_message("an axis of bias has size 2, the result 3",
                 fused(burn_clone(x), square, burn_clone(bias)));
  expect_message("one dtype", fused(burn_clone(x), doubles, burn_clone(bias)));
  expect_message("one rank", fused(burn_clone(x), rank_3, burn_clone(bias)));
  burn_drop(x);
  burn_drop(bias);
}

int main(int argc, char **argv) {
  const char *backend = argc > 1 ? argv[1] : "ndarray";
  test_cases(backend);
  BurnDevice *device = burn_device_open(backend);
  if (burn_device_status(device) != BURN_OK) {
    printf("%s\n", burn_status_message(burn_device_status(device)));
    return 1;
  }
  test_not_a_number(device);
  test_messages(device);
  const int64_t alive = burn_device_memory(device).live_tensors;
  if (alive != 0) fail("at the end", "tensors are still alive");
  burn_device_close(device);
  printf("%s\n", failures ? "FAILED" : "passed");
  return failures ? 1 : 0;
}
