/* kernel_sources.c - calls ops of the stack BURN_BACKEND, or autodiff<cuda>, with the lengths that kernels differ by:
 * rows of every tier, parts of lines, heads of every width, products with vectors. Beside `burn conform`, which has every op
 * and dtype with small shapes, it asks the CUDA backend for every kernel it has. Numbers are not looked at. */
#include <burn/burn.h>
#include <burn/op_call.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

enum { MAX_INPUTS = 8, MAX_OUTPUTS = 4 };

static BurnDevice *device;
static int failures;

static const BurnDType floats[] = {BURN_DTYPE_F32, BURN_DTYPE_BF16, BURN_DTYPE_F16, BURN_DTYPE_F64};
static const BurnDType numbers[] = {BURN_DTYPE_F32, BURN_DTYPE_BF16, BURN_DTYPE_F16, BURN_DTYPE_F64, BURN_DTYPE_U8,
                                    BURN_DTYPE_I8,  BURN_DTYPE_I16,  BURN_DTYPE_I32, BURN_DTYPE_I64};

static void check(const char *what, BurnStatus status) {
  if (status == BURN_OK) return;
  fprintf(stderr, "kernel_sources: %s: %s\n", what, burn_status_message(status));
  failures++;
}

static BurnTensor *ones(BurnDType dtype, BurnShape shape) { return burn_ones(device, shape, dtype); }

/* The end of a result. */
static void take(const char *what, BurnTensor *x) {
  check(what, burn_tensor_status(x));
  burn_drop(x);
}

/* Takes the inputs, drops the results. */
static void call(const char *name, BurnTensor **inputs, size_t input_count, const BurnAttr *attrs, size_t attr_count) {
  const BurnOpInfo *op = NULL;
  BurnTensor *outputs[MAX_OUTPUTS] = {NULL};
  check(name, burn_op_find(name, &op));
  if (!op) return;
  burn_op_call(device, op, inputs, input_count, attrs, attr_count, outputs);
  for (size_t i = 0; i < op->output_count; i++) take(name, outputs[i]);
}

#define CALL(name, attrs, attr_count, ...) \
  call(name, (BurnTensor *[]){__VA_ARGS__}, COUNT(((BurnTensor *[]){__VA_ARGS__})), attrs, attr_count)

static void differentiate(const char *what, BurnTensor *result) {
  BurnGradients *gradients = NULL;
  check(what, burn_backward(result, &gradients));
  if (gradients) burn_gradients_drop(gradients);
}

/* -- rows ------------------------------------------------------------------------------------- */

/* The ends of the tiers of rows that stay in registers, for vectors of 2, 4 and 8 numbers, and longer ones. */
static const int64_t widths[] = {1,    64,   65,   128,  129,  256,  257,   512,   513,   1024, 1025,
                                 2048, 2049, 4096, 4097, 8192, 8193, 16384, 16385, 40000, 70000};

static void use_rows(BurnDType dtype, int64_t width) {
  static const char *const names[] = {"softmax", "log_softmax", "quiet_softmax", "softmin"};
  const BurnAttr dim = burn_attr_i64(1);
  const BurnShape shape = BURN_SHAPE(3, width), row = BURN_SHAPE(width), one = BURN_SHAPE(1);
  for (size_t i = 0; i < COUNT(names); i++) CALL(names[i], &dim, 1, ones(dtype, shape));
  CALL("softmax_backward", &dim, 1, ones(dtype, shape), ones(dtype, shape));
  CALL("log_softmax_backward", &dim, 1, ones(dtype, shape), ones(dtype, shape));
  CALL("layer_norm", NULL, 0, ones(dtype, shape), ones(dtype, row), ones(dtype, row));
  CALL("layer_norm_backward", NULL, 0, ones(dtype, shape), ones(dtype, shape), ones(dtype, row));
  CALL("mse", NULL, 0, ones(dtype, shape), ones(dtype, shape));
  CALL("mse_backward", NULL, 0, ones(dtype, one), ones(dtype, shape), ones(dtype, shape));
  static const BurnDType indices[] = {BURN_DTYPE_I32, BURN_DTYPE_I64};
  for (size_t i = 0; i < COUNT(indices); i++) {
    CALL("cross_entropy", NULL, 0, ones(dtype, shape), burn_zeros(device, BURN_SHAPE(3), indices[i]));
    CALL("cross_entropy_backward", NULL, 0, ones(dtype, one), ones(dtype, shape),
         burn_zeros(device, BURN_SHAPE(3), indices[i]));
  }
}

/* -- lines: reductions, channels, sorting, indices -------------------------------------------- */

static void use_reductions(BurnDType dtype) {
  static const char *const names[] = {"sum_dim", "mean_dim", "prod_dim", "max_dim", "min_dim", "any_dim",
                                      "all_dim", "argmax",   "argmin",   "cumsum",  "cumprod"};
  static const int64_t shapes[][3] = {{3, 100, 1},   {3, 513, 1},     {1, 40000, 1}, {1, 5000, 3},
                                      {1, 70, 1024}, {1, 5000, 1024}, {2, 33, 40}};
  const BurnAttr dim = burn_attr_i64(1);
  const bool is_float = burn_dtype_kind(dtype) == BURN_KIND_FLOAT;
  for (size_t i = 0; i < COUNT(shapes); i++) {
    const BurnShape shape = BURN_SHAPE(shapes[i][0], shapes[i][1], shapes[i][2]);
    for (size_t k = 0; k < COUNT(names); k++)
      if (is_float || strcmp(names[k], "mean_dim") != 0) CALL(names[k], &dim, 1, ones(dtype, shape));
    CALL("sum", NULL, 0, ones(dtype, shape));
    if (is_float) CALL("mean", NULL, 0, ones(dtype, shape));
  }
}

static void use_channels(BurnDType dtype) {
  static const int64_t shapes[][3] = {{3, 5, 1}, {7, 3, 4}, {2, 3, 49}, {33, 2, 2048}, {33000, 2, 1}};
  for (size_t i = 0; i < COUNT(shapes); i++) {
    const BurnShape shape = BURN_SHAPE(shapes[i][0], shapes[i][1], shapes[i][2]), each = BURN_SHAPE(shapes[i][1]);
    CALL("batch_norm", NULL, 0, ones(dtype, shape), ones(dtype, each), ones(dtype, each), ones(dtype, each),
         ones(dtype, each));
    CALL("batch_norm_train", NULL, 0, ones(dtype, shape), ones(dtype, each), ones(dtype, each));
    CALL("batch_norm_train_backward", NULL, 0, ones(dtype, shape), ones(dtype, shape), ones(dtype, each),
         ones(dtype, each), ones(dtype, each));
  }
}

static void use_sorting(BurnDType dtype) {
  static const int64_t sizes[] = {5, 1025, 5000, 70000};
  for (size_t i = 0; i < COUNT(sizes); i++)
    for (int falls = 0; falls < 2; falls++)
      CALL("argsort", ((BurnAttr[]){burn_attr_i64(1), burn_attr_bool(falls == 1)}), 2,
           ones(dtype, BURN_SHAPE(2, sizes[i])));
}

static void use_indices(BurnDType dtype) {
  static const int64_t shapes[][3] = {{300, 1000, 2}, {64, 1, 3}, {1000, 1, 1}, {2100, 70000, 1}, {9, 20, 64}};
  static const BurnDType indices[] = {BURN_DTYPE_I32, BURN_DTYPE_I64};
  for (size_t i = 0; i < COUNT(shapes); i++)
    for (size_t k = 0; k < COUNT(indices); k++) {
      const int64_t picks = shapes[i][0], inner = shapes[i][2];
      const BurnShape from = BURN_SHAPE(shapes[i][1], inner), values = BURN_SHAPE(picks, inner),
                      flat = BURN_SHAPE(picks);
      const BurnAttr dim = burn_attr_i64(0);
      CALL("select", &dim, 1, ones(dtype, from), burn_zeros(device, flat, indices[k]));
      CALL("gather", &dim, 1, ones(dtype, from), burn_zeros(device, values, indices[k]));
      for (int64_t update = 0; update < BURN_UPDATE_LIMIT; update++) {
        const BurnAttr attrs[] = {dim, burn_attr_i64(update)};
        CALL("select_assign", attrs, 2, ones(dtype, from), burn_zeros(device, flat, indices[k]), ones(dtype, values));
        CALL("scatter", attrs, 2, ones(dtype, from), burn_zeros(device, values, indices[k]), ones(dtype, values));
      }
    }
}

/* -- products --------------------------------------------------------------------------------- */

static void use_products(BurnDType dtype) {
  static const int64_t depths[] = {8, 400, 4096, 70000};
  for (size_t i = 0; i < COUNT(depths); i++) {
    const BurnShape tall = BURN_SHAPE(depths[i], 9), wide = BURN_SHAPE(9, depths[i]);
    const BurnShape column = BURN_SHAPE(depths[i], 1), row = BURN_SHAPE(1, depths[i]);
    take("matmul", burn_matmul(ones(dtype, wide), ones(dtype, column)));
    take("matmul", burn_matmul(ones(dtype, row), ones(dtype, tall)));
    take("matmul", burn_matmul(ones(dtype, row), burn_transpose(ones(dtype, wide))));
    take("matmul", burn_matmul(burn_transpose(ones(dtype, tall)), ones(dtype, column)));
    take("matmul", burn_matmul(ones(dtype, wide), ones(dtype, tall)));
    take("linear", burn_linear(ones(dtype, row), ones(dtype, tall), ones(dtype, BURN_SHAPE(9))));
    BurnTensor *weight = burn_require_grad(ones(dtype, tall)), *bias = burn_require_grad(ones(dtype, BURN_SHAPE(9)));
    differentiate("linear", burn_linear(burn_require_grad(ones(dtype, BURN_SHAPE(6, depths[i]))), weight, bias));
  }
}

static void use_lstm(BurnDType dtype) {
  static const int64_t shapes[][3] = {{1, 3, 1}, {33, 2, 5}, {65, 2, 8}, {300, 2, 64}, {2, 3, 512}};
  for (size_t i = 0; i < COUNT(shapes); i++) {
    const int64_t n = shapes[i][0], t = shapes[i][1], h = shapes[i][2];
    const BurnShape gates = BURN_SHAPE(n, t, 4 * h), start = BURN_SHAPE(n, h), weight = BURN_SHAPE(h, 4 * h);
    const BurnShape steps = BURN_SHAPE(n, t, h);
    CALL("lstm", NULL, 0, ones(dtype, gates), ones(dtype, start), ones(dtype, start), ones(dtype, weight));
    CALL("lstm_backward", NULL, 0, ones(dtype, steps), ones(dtype, steps), ones(dtype, gates), ones(dtype, start),
         ones(dtype, start), ones(dtype, weight), ones(dtype, steps), ones(dtype, gates));
  }
}

static void use_images(BurnDType dtype) {
  /* batch, channels in, out, pixels, kernel: few weights, products that pay, in one part or several */
  static const int64_t shapes[][5] = {{2, 3, 4, 8, 3}, {2, 3, 4, 70, 3}, {8, 32, 64, 28, 3}, {2, 128, 128, 16, 1}};
  for (size_t i = 0; i < COUNT(shapes); i++) {
    const int64_t *s = shapes[i];
    BurnTensor *x = burn_require_grad(ones(dtype, BURN_SHAPE(s[0], s[1], s[3], s[3])));
    BurnTensor *weight = burn_require_grad(ones(dtype, BURN_SHAPE(s[2], s[1], s[4], s[4])));
    BurnTensor *bias = burn_require_grad(ones(dtype, BURN_SHAPE(s[2])));
    differentiate("conv2d", burn_conv2d(burn_clone(x), weight, bias, BURN_CONV2D_OPTIONS));
    differentiate("max_pool2d", burn_max_pool2d(burn_clone(x), BURN_POOL2D_OPTIONS(2, 2)));
    differentiate("avg_pool2d", burn_avg_pool2d(x, BURN_POOL2D_OPTIONS(2, 2)));
  }
}

static void use_attention(BurnDType dtype) {
  static const int64_t widths_of_heads[] = {3, 8, 32, 33, 64, 80, 96, 128, 130, 200};
  for (size_t i = 0; i < COUNT(widths_of_heads); i++)
    for (int is_many = 0; is_many < 2; is_many++) {
      const int64_t rows = is_many ? 2048 : 5, width = widths_of_heads[i];
      BurnTensor *heads = burn_require_grad(ones(dtype, BURN_SHAPE(2, 3, rows, width)));
      BurnTensor *bias = is_many ? NULL : burn_require_grad(ones(dtype, BURN_SHAPE(1, 3, rows, 1)));
      differentiate("attention", burn_attention(burn_clone(heads), burn_clone(heads), heads, NULL, bias,
                                                (BurnAttentionOptions){.is_causal = true}));
    }
}

int main(void) {
  const char *stack = getenv("BURN_BACKEND");
  device = burn_device_open(stack && stack[0] ? stack : "autodiff<cuda>");
  check("the device", burn_device_status(device));
  for (size_t i = 0; i < COUNT(floats) && failures == 0; i++) {
    for (size_t k = 0; k < COUNT(widths); k++) use_rows(floats[i], widths[k]);
    use_channels(floats[i]);
    use_products(floats[i]);
    use_lstm(floats[i]);
    use_images(floats[i]);
    use_attention(floats[i]);
  }
  for (size_t i = 0; i < COUNT(numbers); i++) {
    use_reductions(numbers[i]);
    use_sorting(numbers[i]);
    use_indices(numbers[i]);
  }
  burn_device_close(device);
  return failures > 0;
}
