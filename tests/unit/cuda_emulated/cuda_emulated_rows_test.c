/* cuda_emulated_rows_test.c - kernels of the CUDA backend whose way depends on lengths, on the CPU
 * (tests/plugins/emulated_cuda): rows of every tier, with infinities and NaN, reductions, norms by channel, lstm,
 * sorting, scatter, cat and random numbers have ndarray's values; views that are not vectors have their copies'
 * bits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <burn/burn.h>
#include <burn/op_call.h>

#include "sampled.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CUDA, NDARRAY, DEVICES, MAX_INPUTS = 8, MAX_OUTPUTS = 4, MOST = 1 << 22 };

static BurnDevice *devices[DEVICES];
static double *found[DEVICES];

static int set_up(void **state) {
  static const char *const stacks[] = {"cuda", "ndarray"};
  (void)state;
  setenv("BURN_CUDA_DRIVER", FAKE_DRIVER, 1);
  setenv("BURN_CUDA_LIBS", EMULATED_LIBRARIES, 1);
  setenv("BURN_FAKE_CUDA_FILL", "255", 1);
  for (int i = 0; i < DEVICES; i++) {
    devices[i] = burn_device_open(stacks[i]);
    found[i] = malloc(MOST * sizeof *found[i]);
    if (burn_device_status(devices[i]) == BURN_OK) continue;
    print_error("%s\n", burn_status_message(burn_device_status(devices[i])));
    return -1;
  }
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  for (int i = 0; i < DEVICES; i++) {
    burn_device_close(devices[i]);
    free(found[i]);
  }
  return 0;
}

/* -- calls on both ---------------------------------------------------------------------------- */

/* An input: numbers of this shape and kind. */
typedef enum Kind { PLAIN, WITH_INFINITIES, POSITIVE, SHARES, LOGARITHMS, INDICES } Kind;
typedef struct Input {
  BurnShape shape;
  Kind kind;
  int64_t limit; /* of indices */
} Input;

typedef struct Call {
  const char *op;
  size_t inputs, attrs;
  Input in[MAX_INPUTS];
  BurnAttr attr[6];
} Call;

static uint32_t next_word(uint32_t *seed) {
  *seed ^= *seed << 13;
  *seed ^= *seed >> 17;
  return *seed ^= *seed << 5;
}

static int64_t count_of(const BurnShape *shape) {
  int64_t count = 1;
  for (uint32_t i = 0; i < shape->rank; i++) count *= shape->dims[i];
  return count;
}

/* Some rows have one infinity, one NaN, or nothing but -infinity. */
static double number_of(const Input *input, int64_t i, uint32_t word) {
  const int64_t width = input->shape.dims[input->shape.rank - 1], row = i / width, column = i % width;
  const double x = ldexp((double)(int32_t)word, -30);
  if (input->kind == INDICES) return (double)(word % (uint32_t)input->limit);
  if (input->kind == POSITIVE) return 0.25 + fabs(x);
  if (input->kind == SHARES) return (0.25 + fabs(x)) / (double)width;
  if (input->kind == LOGARITHMS) return log((0.25 + fabs(x)) / (double)width);
  if (input->kind == PLAIN) return x;
  if (row % 7 == 2) return -(double)INFINITY;
  if (row % 7 == 3 && column % 5 == 1) return -(double)INFINITY;
  if (row % 7 == 4 && column == width / 2) return (double)INFINITY;
  if (row % 7 == 5 && column == width - 1) return (double)NAN;
  return 4 * x;
}

static BurnTensor *make(const Input *input, BurnDType dtype, BurnDevice *device, uint32_t seed) {
  const int64_t count = count_of(&input->shape);
  double *numbers = malloc((size_t)count * sizeof *numbers + 1);
  assert_non_null(numbers);
  for (int64_t i = 0; i < count; i++) numbers[i] = number_of(input, i, next_word(&seed));
  BurnTensor *x = burn_tensor_from(device, numbers, BURN_DTYPE_F64, input->shape);
  free(numbers);
  return burn_cast(x, input->kind == INDICES ? (BurnDType)BURN_DTYPE_I32 : dtype);
}

static size_t run(const Call *call, BurnDType dtype, int device, BurnTensor **outputs) {
  const BurnOpInfo *op = NULL;
  BurnTensor *inputs[MAX_INPUTS] = {NULL};
  assert_int_equal(burn_op_find(call->op, &op), BURN_OK);
  for (size_t i = 0; i < call->inputs; i++)
    if (call->in[i].shape.rank > 0) inputs[i] = make(&call->in[i], dtype, devices[device], (uint32_t)i + 1);
  burn_op_call(devices[device], op, inputs, call->inputs, call->attr, call->attrs, outputs);
  return op->output_count;
}

static int64_t read_numbers(const Call *call, BurnTensor *x, double *out) {
  const int64_t count = burn_element_count(x);
  assert_true(count <= MOST);
  const BurnStatus status = burn_read(burn_cast(x, BURN_DTYPE_F64), out, (size_t)count * sizeof *out);
  if (status != BURN_OK) fail_msg("%s: %s", call->op, burn_status_message(status));
  return count;
}

static bool is_near(double a, double b, double tolerance) {
  if (a != a || b != b) return a != a && b != b;
  return a == b || fabs(a - b) <= tolerance * (1 + fabs(b));
}

static double tolerance_of(BurnDType dtype) {
  return dtype == BURN_DTYPE_F64 ? 1e-11 : dtype == BURN_DTYPE_F32 ? 2e-5 : dtype == BURN_DTYPE_F16 ? 2e-3 : 1.6e-2;
}

static void compare(const Call *call, BurnDType dtype) {
  BurnTensor *outputs[DEVICES][MAX_OUTPUTS];
  const double tolerance = burn_dtype_kind(dtype) == BURN_KIND_FLOAT ? tolerance_of(dtype) : 0;
  size_t count = 0;
  for (int i = 0; i < DEVICES; i++) count = run(call, dtype, i, outputs[i]);
  for (size_t k = 0; k < count; k++) {
    int64_t numbers = 0;
    for (int i = 0; i < DEVICES; i++) numbers = read_numbers(call, outputs[i][k], found[i]);
    for (int64_t i = 0; i < numbers; i++)
      if (!is_near(found[CUDA][i], found[NDARRAY][i], tolerance))
        fail_msg("%s, %s, first input of %lld: element %lld of result %zu is %.17g on cuda, %.17g on ndarray", call->op,
                 burn_dtype_name(dtype), (long long)count_of(&call->in[0].shape), (long long)i, k, found[CUDA][i],
                 found[NDARRAY][i]);
  }
}

static const BurnDType floats[] = {BURN_DTYPE_F32, BURN_DTYPE_BF16, BURN_DTYPE_F16, BURN_DTYPE_F64};

static void compare_floats(const Call *call) {
  for (size_t i = 0; i < sizeof floats / sizeof floats[0]; i++) compare(call, floats[i]);
}

/* Is it the turn of this op in this dtype? Always with BURN_LONG=1, else the first time and then every fourth time. */
static bool is_its_turn(const char *name, BurnDType dtype) {
  static unsigned times[BURN_OP_LIMIT][BURN_DTYPE_LIMIT];
  const BurnOpInfo *op = NULL;
  assert_int_equal(burn_op_find(name, &op), BURN_OK);
  return times[op->op][dtype]++ % 4 == 0 || runs_all();
}

/* f32, and in turn one of the others. */
static void compare_two(const Call *call, size_t which) {
  const BurnDType other = floats[1 + which % 3];
  compare(call, floats[0]);
  if (is_its_turn(call->op, other)) compare(call, other);
}

/* -- rows ------------------------------------------------------------------------------------- */

/* Every tier of burn__gpu_row_shape, its ends, and rows that are read again. */
static const int64_t widths[] = {1, 2, 31, 33, 128, 768, 1024, 1025, 2050, 4099, 8200, 16401, 50304};
#define EACH_WIDTH(i) (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++)

static int64_t rows_for(int64_t width) { return width > 5000 ? 1 : width > 2000 ? 3 : 9; }

static void test_softmax_and_its_kin(void **state) {
  static const char *const names[] = {"softmax", "log_softmax", "quiet_softmax", "softmin"};
  (void)state;
  for
    EACH_WIDTH(i) {
      const BurnShape shape = BURN_SHAPE(rows_for(widths[i]), widths[i]);
      for (size_t k = 0; k < 4; k++)
        compare_two(&(Call){names[k], 1, 1, {{shape, WITH_INFINITIES, 0}}, {burn_attr_i64(1)}}, i + k);
      compare_two(&(Call){"softmax_backward", 2, 1, {{shape, PLAIN, 0}, {shape, SHARES, 0}}, {burn_attr_i64(1)}}, i);
      compare_two(
          &(Call){"log_softmax_backward", 2, 1, {{shape, PLAIN, 0}, {shape, LOGARITHMS, 0}}, {burn_attr_i64(1)}}, i);
    }
}

static void test_softmax_along_other_axes(void **state) {
  static const char *const names[] = {"softmax", "log_softmax", "quiet_softmax", "softmin"};
  static const int64_t sizes[] = {1, 7, 8, 9, 300};
  (void)state;
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    const BurnShape shape = BURN_SHAPE(2, sizes[i], 37);
    for (size_t k = 0; k < 4; k++)
      compare_two(&(Call){names[k], 1, 1, {{shape, WITH_INFINITIES, 0}}, {burn_attr_i64(1)}}, i);
    compare_two(&(Call){"softmax_backward", 2, 1, {{shape, PLAIN, 0}, {shape, PLAIN, 0}}, {burn_attr_i64(1)}}, i);
  }
}

static void test_layer_norm(void **state) {
  (void)state;
  for
    EACH_WIDTH(i) {
      const BurnShape shape = BURN_SHAPE(rows_for(widths[i]), widths[i]), wide = BURN_SHAPE(widths[i]);
      const Input x = {shape, PLAIN, 0}, gamma = {wide, PLAIN, 0};
      if (widths[i] < 8) continue; /* rows of few, near each other: any error is a large one */
      compare_two(&(Call){"layer_norm", 3, 0, {{shape, WITH_INFINITIES, 0}, gamma, gamma}, {{0}}}, i);
      compare_two(&(Call){"layer_norm", 3, 0, {x, gamma, {{0}, PLAIN, 0}}, {{0}}}, i + 1);
      compare_two(&(Call){"layer_norm_backward", 3, 0, {x, x, gamma}, {{0}}}, i + 2);
    }
  const Input rows = {BURN_SHAPE(2100, 24), PLAIN, 0}, gamma = {BURN_SHAPE(24), PLAIN, 0};
  compare(&(Call){"layer_norm_backward", 3, 0, {rows, rows, gamma}, {{0}}}, BURN_DTYPE_F64);
  const Input few = {BURN_SHAPE(520, 513), PLAIN, 0}, factors = {BURN_SHAPE(513), PLAIN, 0};
  compare(&(Call){"layer_norm_backward", 3, 0, {few, few, factors}, {{0}}}, BURN_DTYPE_F64);
}

static void test_losses(void **state) {
  (void)state;
  for
    EACH_WIDTH(i) {
      const int64_t rows = rows_for(widths[i]);
      const Input logits = {BURN_SHAPE(rows, widths[i]), PLAIN, 0}, one = {BURN_SHAPE(1), POSITIVE, 0};
      const Input targets = {BURN_SHAPE(rows), INDICES, widths[i]};
      compare_two(&(Call){"cross_entropy", 2, 0, {logits, targets}, {{0}}}, i);
      compare_two(&(Call){"cross_entropy_backward", 3, 0, {one, logits, targets}, {{0}}}, i);
      compare_two(&(Call){"mse", 2, 0, {logits, logits}, {{0}}}, i);
      compare_two(&(Call){"mse_backward", 3, 0, {one, logits, logits}, {{0}}}, i);
    }
}

static void test_a_target_outside_is_told(void **state) {
  const int32_t outside[] = {0, 5, 1};
  (void)state;
  BurnTensor *targets = burn_tensor_from(devices[CUDA], outside, BURN_DTYPE_I32, BURN_SHAPE(3));
  BurnTensor *loss = burn_cross_entropy(burn_zeros(devices[CUDA], BURN_SHAPE(3, 5), BURN_DTYPE_F32), targets);
  float number = 0;
  const BurnStatus status = burn_read(loss, &number, sizeof number);
  assert_int_not_equal(status, BURN_OK);
  if (!strstr(burn_status_message(status), "index 5 at position 1 is outside 0..4"))
    fail_msg("%s", burn_status_message(status));
}

/* Rows of a row-major view that begins with the second number of its storage. */
static BurnTensor *second_on(BurnTensor *x, int64_t rows, int64_t size) {
  x = burn_slice_dim(burn_clone(x), 0, (BurnRange){.start = 1, .end = 1 + rows * size, .step = 1});
  return burn_reshape(x, BURN_SHAPE(rows, size));
}

static BurnTensor *log_softmax(BurnTensor *x, BurnTensor *targets) {
  burn_drop(targets);
  return burn_log_softmax(x, 1);
}

static BurnTensor *gradient_of_logits(BurnTensor *x, BurnTensor *targets) {
  BurnTensor *inputs[3] = {burn_full(devices[CUDA], BURN_SHAPE(1), burn_dtype(x), 0.75), x, targets}, *out = NULL;
  const BurnOpInfo *op = NULL;
  assert_int_equal(burn_op_find("cross_entropy_backward", &op), BURN_OK);
  burn_op_call(devices[CUDA], op, inputs, 3, NULL, 0, &out);
  return out;
}

static BurnTensor *norm(BurnTensor *x, BurnTensor *targets) {
  const BurnShape size = BURN_SHAPE(burn_shape(x).dims[1]);
  const BurnDType dtype = burn_dtype(x);
  burn_drop(targets);
  return burn_layer_norm(x, burn_full(devices[CUDA], size, dtype, 0.5), burn_full(devices[CUDA], size, dtype, 0.25),
                         1e-5);
}

/* By vectors, by words, number by number; in registers and read again. */
static void test_views_have_the_bits_of_copies(void **state) {
  static BurnTensor *(*const calls[])(BurnTensor *, BurnTensor *) = {log_softmax, burn_cross_entropy,
                                                                     gradient_of_logits, norm};
  static float numbers[2][8 * 17001];
  static const int64_t sizes[] = {37, 768, 1000, 17001};
  (void)state;
  for (size_t k = 0; k < 4 * 4 * 3; k++) {
    const int64_t size = sizes[k % 4], rows = size > 10000 ? 3 : 8;
    const BurnDType dtype = floats[k / 16];
    const Input input = {BURN_SHAPE(rows + 1, size + 1), PLAIN, 0}, classes = {BURN_SHAPE(rows), INDICES, size};
    BurnTensor *x = burn_flatten(make(&input, dtype, devices[CUDA], 1), 0, 1);
    size_t count = 0;
    for (int i = 0; i < 2; i++) {
      BurnTensor *part = second_on(x, rows, size);
      if (i == 1) part = burn_mul_scalar(part, 1.0);
      part = calls[k / 4 % 4](part, make(&classes, BURN_DTYPE_I32, devices[CUDA], 7));
      part = burn_cast(part, BURN_DTYPE_F32);
      count = (size_t)burn_element_count(part);
      assert_int_equal(burn_read(part, numbers[i], count * sizeof(float)), BURN_OK);
    }
    burn_drop(x);
    if (memcmp(numbers[0], numbers[1], count * sizeof(float)) != 0)
      fail_msg("call %zu, %s, rows of %lld: a view has other bits", k / 4 % 4, burn_dtype_name(dtype), (long long)size);
  }
}

/* -- reductions ------------------------------------------------------------------------------- */

static void test_reductions(void **state) {
  static const char *const names[] = {"sum_dim", "mean_dim", "max_dim", "min_dim", "any_dim", "all_dim", "argmax"};
  /* lines in one part or several, by vectors or not, beside each other or not */
  static const int64_t shapes[][3] = {{3, 512, 1},   {3, 513, 1},   {2, 4096, 1},  {2, 5001, 1},  {1, 40000, 1},
                                      {1, 5000, 3},  {1, 70, 1024}, {2, 33, 1028}, {1, 2049, 37}, {2, 33, 40},
                                      {1, 40000, 3}, {1, 40000, 9}, {1, 512, 256}, {130, 9, 64},  {2, 700, 130}};
  (void)state;
  for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
    const Input x = {BURN_SHAPE(shapes[i][0], shapes[i][1], shapes[i][2]), SHARES, 0};
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++)
      compare(&(Call){names[k], 1, 1, {x}, {burn_attr_i64(1)}}, floats[(i + k) % 4]);
    compare_two(&(Call){"sum", 1, 0, {x}, {{0}}}, i);
    compare_two(&(Call){"mean", 1, 0, {x}, {{0}}}, i + 1);
    compare(&(Call){"sum_dim", 1, 1, {{x.shape, PLAIN, 0}}, {burn_attr_i64(1)}}, BURN_DTYPE_I32);
  }
}

/* -- scans ------------------------------------------------------------------------------------ */

static void test_scans(void **state) {
  static const char *const names[] = {"cummin", "cummax", "argmax", "argmin"};
  /* a warp or a block for a line, in one tile or several, by vectors or not; lines beside each other, in parts */
  static const int64_t shapes[][3] = {{9, 16, 1},   {9, 37, 1},   {7, 512, 1}, {3, 513, 1}, {2, 4096, 1},
                                      {2, 9000, 1}, {2, 9001, 1}, {3, 70, 5},  {2, 300, 3}, {1, 131, 70}};
  (void)state;
  for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
    const Input x = {BURN_SHAPE(shapes[i][0], shapes[i][1], shapes[i][2]), PLAIN, 0};
    Input shares = x, odd = x;
    shares.kind = SHARES;
    odd.kind = WITH_INFINITIES;
    compare_two(&(Call){"cumsum", 1, 1, {shares}, {burn_attr_i64(1)}}, i);
    compare(&(Call){"cumsum", 1, 1, {x}, {burn_attr_i64(1)}}, BURN_DTYPE_I64);
    compare(&(Call){"cumprod", 1, 1, {shares}, {burn_attr_i64(1)}}, BURN_DTYPE_F64);
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
      compare_two(&(Call){names[k], 1, 1, {odd}, {burn_attr_i64(1)}}, i + k);
      compare(&(Call){names[k], 1, 1, {x}, {burn_attr_i64(1)}}, BURN_DTYPE_U8);
    }
  }
}

/* -- orders of elements ----------------------------------------------------------------------- */

/* Reads f(x), made on each device, as f64, and compares. */
static void compare_made(BurnTensor *(*make_result)(BurnDevice *, BurnDType, size_t), BurnDType dtype, size_t i) {
  int64_t count = 0;
  for (int k = 0; k < DEVICES; k++) {
    BurnTensor *x = make_result(devices[k], dtype, i);
    count = burn_element_count(x);
    assert_true(count <= MOST);
    const BurnStatus status = burn_read(burn_cast(x, BURN_DTYPE_F64), found[k], (size_t)count * sizeof *found[k]);
    if (status != BURN_OK) fail_msg("%s, case %zu: %s", burn_dtype_name(dtype), i, burn_status_message(status));
  }
  for (int64_t at = 0; at < count; at++)
    if (found[CUDA][at] != found[NDARRAY][at])
      fail_msg("%s, case %zu: element %lld is %.17g on cuda, %.17g on ndarray", burn_dtype_name(dtype), i,
               (long long)at, found[CUDA][at], found[NDARRAY][at]);
}

/* Of each shape, along which axes the second factor repeats, in bits: rows, columns, one of all, an axis in the middle. */
static const struct {
  BurnShape shape;
  uint32_t repeats;
} products[] = {{{.rank = 2, .dims = {37, 64}}, 1},      {{.rank = 2, .dims = {37, 63}}, 1},
                {{.rank = 2, .dims = {37, 64}}, 2},      {{.rank = 3, .dims = {5, 7, 32}}, 2},
                {{.rank = 3, .dims = {5, 7, 32}}, 5},    {{.rank = 4, .dims = {3, 4, 5, 16}}, 6},
                {{.rank = 4, .dims = {3, 4, 5, 16}}, 9}, {{.rank = 4, .dims = {3, 4, 5, 6}}, 10}};

static BurnTensor *make_product(BurnDevice *device, BurnDType dtype, size_t i) {
  const Input x = {products[i].shape, PLAIN, 0};
  Input y = x;
  for (uint32_t axis = 0; axis < y.shape.rank; axis++)
    if (products[i].repeats >> axis & 1u) y.shape.dims[axis] = 1;
  return burn_mul(make(&x, dtype, device, 1), make(&y, dtype, device, 2));
}

/* Axes in another order: tiles of which some are not whole, more axes around them, axes too short for tiles. */
static const struct {
  BurnShape shape;
  int axes[4];
} turns[] = {{{.rank = 2, .dims = {130, 200}}, {1, 0}},
             {{.rank = 2, .dims = {64, 256}}, {1, 0}},
             {{.rank = 4, .dims = {3, 70, 5, 40}}, {0, 3, 2, 1}},
             {{.rank = 4, .dims = {3, 70, 5, 40}}, {3, 1, 2, 0}},
             {{.rank = 4, .dims = {17, 5, 50, 16}}, {3, 0, 1, 2}},
             {{.rank = 2, .dims = {4096, 5}}, {1, 0}}};

static BurnTensor *make_turned(BurnDevice *device, BurnDType dtype, size_t i) {
  const Input x = {turns[i].shape, PLAIN, 0};
  BurnTensor *turned = burn_permute(make(&x, dtype, device, 1), turns[i].axes);
  return burn_element_count(turned) % 3 == 0 ? burn_abs(turned) : burn_flatten(turned, 0, (int)x.shape.rank - 1);
}

static void test_orders_of_elements(void **state) {
  static const BurnDType dtypes[] = {BURN_DTYPE_F32, BURN_DTYPE_F16, BURN_DTYPE_I64, BURN_DTYPE_I8};
  (void)state;
  for (size_t k = 0; k < sizeof dtypes / sizeof dtypes[0]; k++) {
    for (size_t i = 0; i < sizeof products / sizeof products[0]; i++) compare_made(make_product, dtypes[k], i);
    for (size_t i = 0; i < sizeof turns / sizeof turns[0]; i++) compare_made(make_turned, dtypes[k], i);
  }
}

/* -- pools ------------------------------------------------------------------------------------ */

static void test_pools(void **state) {
  /* planes one by one, by fours and by sixteens, some left; windows that overlap and that do not; a long axis */
  static const int64_t shapes[][4] = {{2, 3, 9, 10}, {23, 5, 49, 48}, {61, 3, 110, 108}, {1, 1, 3, 50000}};
  static const int64_t adaptive[][2] = {{4, 5}, {32, 24}, {55, 36}, {2, 49990}};
  static const int64_t three[] = {3, 3}, two[] = {2, 2}, one[] = {1, 1};
  const BurnAttr size = burn_attr_i64s(three, 2), step = burn_attr_i64s(two, 2), edge = burn_attr_i64s(one, 2);
  (void)state;
  for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
    const int64_t *s = shapes[i];
    const Input x = {BURN_SHAPE(s[0], s[1], s[2], s[3]), PLAIN, 0};
    const Input few = {BURN_SHAPE(s[0], s[1], adaptive[i][0], adaptive[i][1]), PLAIN, 0};
    const Input windows = {BURN_SHAPE(s[0], s[1], (s[2] - 1) / 2 + 1, (s[3] - 1) / 2 + 1), PLAIN, 0};
    const BurnAttr shape = burn_attr_i64s(s, 4), padded = burn_attr_bool(i % 2), no = burn_attr_bool(false);
    compare_two(&(Call){"adaptive_avg_pool2d", 1, 1, {x}, {burn_attr_i64s(adaptive[i], 2)}}, i);
    compare_two(&(Call){"adaptive_avg_pool2d_backward", 1, 1, {few}, {shape}}, i + 1);
    compare_two(&(Call){"avg_pool2d", 1, 6, {x}, {size, step, edge, edge, no, padded}}, i);
    compare_two(&(Call){"avg_pool2d_backward", 1, 5, {windows}, {shape, size, step, edge, padded}}, i);
    compare_two(&(Call){"max_pool2d_with_indices", 1, 5, {x}, {size, step, edge, edge, no}}, i);
  }
}

/* Windows, their steps and padding: none meets another; up to two by two, and three by three, name a pixel; planes that do
 * not fit into shared memory. */
static const struct {
  int64_t shape[4], size, step, padding;
} largest[] = {{{7, 3, 9, 10}, 2, 2, 0},
               {{3, 2, 17, 30}, 3, 2, 1},
               {{2, 2, 20, 23}, 3, 1, 1},
               {{1, 2, 70, 81}, 4, 3, 2},
               {{1, 1, 3, 5000}, 2, 2, 1}};

/* Gradients that are not integers show the order of sums. */
static BurnTensor *make_largest_gradient(BurnDevice *device, BurnDType dtype, size_t i) {
  const int64_t *s = largest[i].shape;
  const Input x = {BURN_SHAPE(s[0], s[1], s[2], s[3]), PLAIN, 0};
  BurnPool2dOptions options = BURN_POOL2D_OPTIONS(largest[i].size, largest[i].step);
  BurnTensor *indices = NULL;
  options.padding[0] = options.padding[1] = largest[i].padding;
  BurnTensor *windows = burn_max_pool2d_with_indices(make(&x, dtype, device, 1), options, &indices);
  BurnTensor *grad = burn_div_scalar(burn_add_scalar(windows, 1), 7);
  return burn_max_pool2d_with_indices_backward(grad, indices, x.shape);
}

static void test_gradients_of_largest(void **state) {
  static const BurnDType dtypes[] = {BURN_DTYPE_F32, BURN_DTYPE_F64, BURN_DTYPE_F16};
  (void)state;
  for (size_t k = 0; k < sizeof dtypes / sizeof dtypes[0]; k++)
    for (size_t i = 0; i < sizeof largest / sizeof largest[0]; i++) compare_made(make_largest_gradient, dtypes[k], i);
}

/* -- channels --------------------------------------------------------------------------------- */

static void test_batch_norm(void **state) {
  /* beside each other or not, vectors or not, in one part or several */
  static const int64_t shapes[][3] = {{3, 5, 1},   {40, 33, 1},   {7, 3, 4},     {2, 3, 49},   {64, 2, 196},
                                      {5, 70, 16}, {33, 2, 2048}, {33000, 2, 1}, {100, 1, 333}};
  (void)state;
  for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
    const int64_t *s = shapes[i];
    const Input x = {BURN_SHAPE(s[0], s[1], s[2]), PLAIN, 0}, each = {BURN_SHAPE(s[1]), POSITIVE, 0};
    compare_two(&(Call){"batch_norm", 5, 0, {x, each, each, each, each}, {{0}}}, i);
    compare_two(&(Call){"batch_norm_train", 3, 0, {x, each, each}, {{0}}}, i + 1);
    compare_two(&(Call){"batch_norm_train_backward", 5, 0, {x, x, each, each, each}, {{0}}}, i + 2);
  }
}

/* -- lstm ------------------------------------------------------------------------------------- */

static void test_lstm(void **state) {
  static const int64_t shapes[][3] = {{1, 3, 1},   {33, 2, 5}, {3, 4, 36}, {65, 2, 8},
                                      {2, 3, 130}, {2, 0, 3},  {70, 0, 3}};
  (void)state;
  for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
    const int64_t n = shapes[i][0], t = shapes[i][1], h = shapes[i][2];
    const Input gates = {BURN_SHAPE(n, t, 4 * h), PLAIN, 0}, steps = {BURN_SHAPE(n, t, h), PLAIN, 0};
    const Input start = {BURN_SHAPE(n, h), PLAIN, 0}, weight = {BURN_SHAPE(h, 4 * h), PLAIN, 0}, none = {{0}, PLAIN, 0};
    if (h < 100) compare_two(&(Call){"lstm", 4, 0, {gates, start, start, weight}, {{0}}}, 0);
    compare(&(Call){"lstm", 4, 0, {gates, start, start, weight}, {{0}}}, BURN_DTYPE_F64);
    for (int k = 0; k < 4; k++)
      compare(&(Call){"lstm_backward",
                      8,
                      0,
                      {steps, steps, gates, start, start, weight, k % 2 ? steps : none, k / 2 ? gates : none},
                      {{0}}},
              BURN_DTYPE_F64);
  }
}

/* -- sorting and scatter ---------------------------------------------------------------------- */

static void test_sorting(void **state) {
  static const BurnDType dtypes[] = {BURN_DTYPE_F32, BURN_DTYPE_F16, BURN_DTYPE_I64, BURN_DTYPE_U8};
  static const int64_t shapes[][3] = {{1, 1024, 1}, {1, 1025, 1}, {2, 2048, 1}, {1, 9001, 1},
                                      {1, 4096, 1}, {1, 2049, 3}, {1, 5000, 1}, {65, 1030, 1}};
  (void)state;
  for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
    for (size_t k = 0; k < sizeof dtypes / sizeof dtypes[0]; k++) {
      const bool is_float = burn_dtype_kind(dtypes[k]) == BURN_KIND_FLOAT;
      Call call = {
          "argsort", 1, 2, {{BURN_SHAPE(shapes[i][0], shapes[i][1], shapes[i][2]), PLAIN, 0}}, {burn_attr_i64(1)}};
      if (is_float) call.in[0].kind = WITH_INFINITIES;
      for (int falls = 0; falls < 2; falls++) {
        call.attr[1] = burn_attr_bool(falls == 1);
        compare(&call, dtypes[k]);
      }
    }
  }
}

static void test_scatter(void **state) {
  /* picks among places: many equals, in runs over several pieces; few; all for one place; one by one and in vectors */
  static const int64_t shapes[][3] = {{1500, 5, 3}, {300, 1000, 2},   {64, 1, 3},   {65, 1, 3},
                                      {1000, 1, 1}, {2100, 70000, 1}, {1500, 5, 8}, {300, 1000, 4}};
  static const BurnDType dtypes[] = {BURN_DTYPE_F32, BURN_DTYPE_I8, BURN_DTYPE_F64};
  (void)state;
  for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
    const int64_t picks = shapes[i][0], places = shapes[i][1], inner = shapes[i][2];
    const Input x = {BURN_SHAPE(places, inner), PLAIN, 0}, indices = {BURN_SHAPE(picks), INDICES, places};
    const Input values = {BURN_SHAPE(picks, inner), PLAIN, 0}, each = {BURN_SHAPE(picks, inner), INDICES, places};
    for (size_t k = 0; k < sizeof dtypes / sizeof dtypes[0]; k++) {
      for (int64_t update = 0; update < BURN_UPDATE_LIMIT; update++) {
        if (update == BURN_UPDATE_MUL && burn_dtype_kind(dtypes[k]) == BURN_KIND_FLOAT) continue; /* out of range */
        compare(&(Call){"select_assign", 3, 2, {x, indices, values}, {burn_attr_i64(0), burn_attr_i64(update)}},
                dtypes[k]);
        compare(&(Call){"scatter", 3, 2, {x, each, values}, {burn_attr_i64(0), burn_attr_i64(update)}}, dtypes[k]);
      }
    }
    compare_two(&(Call){"select", 2, 1, {x, indices}, {burn_attr_i64(0)}}, i);
    compare_floats(&(Call){"embedding", 2, 0, {x, {BURN_SHAPE(1, picks), INDICES, places}}, {{0}}});
  }
}

/* -- rows put together, numbers from nothing ---------------------------------------------------- */

static void test_cat(void **state) {
  /* rows that are vectors, that begin between vectors, and that are none */
  static const int64_t shapes[][2] = {{2048, 1024}, {8, 6}, {5, 3}};
  (void)state;
  for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
    const Input first = {BURN_SHAPE(7, shapes[i][0], 2), PLAIN, 0}, second = {BURN_SHAPE(7, shapes[i][1], 2), PLAIN, 0};
    compare_two(&(Call){"cat", 3, 1, {first, second, first}, {burn_attr_i64(1)}}, i);
    compare_two(&(Call){"cat", 2, 1, {first, first}, {burn_attr_i64(0)}}, i);
    compare_two(&(Call){"cat", 2, 1, {second, second}, {burn_attr_i64(2)}}, i);
  }
}

static void test_random_numbers(void **state) {
  static const int64_t counts[] = {1, 2, 3, 5, 4099};
  static const char *const names[] = {"random_normal", "random_uniform", "random_bernoulli"};
  (void)state;
  for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
    for (size_t k = 0; k < 3; k++) {
      Call call = {names[k],
                   0,
                   5,
                   {{{0}, PLAIN, 0}},
                   {burn_attr_i64s(&counts[i], 1), burn_attr_dtype(BURN_DTYPE_F32), burn_attr_i64(7), burn_attr_i64(11),
                    burn_attr_f64(0.25)}};
      for (size_t t = 0; t < sizeof floats / sizeof floats[0]; t++) {
        call.attr[1] = burn_attr_dtype(floats[t]);
        compare(&call, floats[t]);
      }
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_softmax_and_its_kin),
                                     cmocka_unit_test(test_softmax_along_other_axes),
                                     cmocka_unit_test(test_layer_norm),
                                     cmocka_unit_test(test_losses),
                                     cmocka_unit_test(test_a_target_outside_is_told),
                                     cmocka_unit_test(test_views_have_the_bits_of_copies),
                                     cmocka_unit_test(test_reductions),
                                     cmocka_unit_test(test_pools),
                                     cmocka_unit_test(test_gradients_of_largest),
                                     cmocka_unit_test(test_scans),
                                     cmocka_unit_test(test_orders_of_elements),
                                     cmocka_unit_test(test_batch_norm),
                                     cmocka_unit_test(test_lstm),
                                     cmocka_unit_test(test_cat),
                                     cmocka_unit_test(test_random_numbers),
                                     cmocka_unit_test(test_sorting),
                                     cmocka_unit_test(test_scatter)};
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
