/* move_rules_test.c - wrong use of the ops of ops_move.h: code and message, on several stacks, and nothing left over in
 * the backend; as the rows of shape_rules_test.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <burn/burn.h>
#include <burn/op_call.h>

#include <string.h>

#include "test_stacks.h"

static BurnDevice *device; /* of the stack that is tested */

#define F(...) burn_ones(device, BURN_SHAPE(__VA_ARGS__), BURN_DTYPE_F32)
#define I(...) burn_ones(device, BURN_SHAPE(__VA_ARGS__), BURN_DTYPE_I64)
#define B(...) burn_ones(device, BURN_SHAPE(__VA_ARGS__), BURN_DTYPE_BOOL)
#define DIMS(...) (const int[]){__VA_ARGS__}, (uint32_t)(sizeof((int[]){__VA_ARGS__}) / sizeof(int))

static BurnTensor *indices(const int64_t *values, int64_t rows, int64_t columns) {
  return burn_tensor_i64(device, values, BURN_SHAPE(rows, columns));
}
#define TUPLES(rows, columns, ...) indices((const int64_t[]){__VA_ARGS__}, rows, columns)
static BurnTensor *classes(const int64_t *values, int64_t count) {
  return burn_tensor_i64(device, values, BURN_SHAPE(count));
}
#define CLASSES(...) \
  classes((const int64_t[]){__VA_ARGS__}, (int64_t)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)))

static BurnTensor *pad(BurnTensor *x, int64_t before, int64_t after, int64_t mode) {
  return burn_pad(x, (const int64_t[]){before, after}, 1, mode, 0);
}
static BurnTensor *move(BurnTensor *x, int a, int b) {
  return burn_movedims(x, (const int[]){0, 1}, (const int[]){a, b}, 2);
}

/* The failure of a function with several results, as a tensor. */
static BurnTensor *split_status(BurnTensor *x, int64_t first, int64_t second, int dim, size_t room) {
  BurnTensor *parts[4] = {NULL};
  size_t count = 0;
  return burn_tensor_failed(burn_split_with_sizes(x, (const int64_t[]){first, second}, 2, dim, parts, room, &count));
}
static BurnTensor *iter_status(BurnTensor *x, int dim) {
  BurnTensor *parts[1] = {NULL};
  size_t count = 0;
  return burn_tensor_failed(burn_iter_dim(x, dim, parts, 1, &count));
}
static BurnTensor *nonzero_status(BurnTensor *x, size_t room) {
  BurnTensor *parts[4] = {NULL};
  size_t count = 0;
  return burn_tensor_failed(burn_nonzero(x, parts, room, &count));
}
static BurnTensor *second(BurnTensor *first, BurnTensor *other) {
  burn_drop(first);
  return other;
}
static BurnTensor *sort_indices(BurnTensor *x, int dim) {
  BurnTensor *where = NULL;
  BurnTensor *values = burn_sort_with_indices(x, dim, &where);
  return second(values, where);
}
/* Two elements of x [n] from place 2 on, by the op itself. */
static BurnTensor *slice_by(BurnTensor *x, int64_t step) {
  const int64_t start = 2, count = 2;
  const BurnAttr attrs[] = {burn_attr_i64s(&start, 1), burn_attr_i64s(&count, 1), burn_attr_i64s(&step, 1)};
  return burn_op("slice", &x, 1, attrs, 3);
}

static BurnTensor *sort_range(BurnTensor *x, int64_t dim, int64_t begin, int64_t end) {
  const BurnAttr attrs[] = {burn_attr_i64(dim), burn_attr_i64(begin), burn_attr_i64(end)};
  const BurnOpInfo *op = NULL;
  BurnTensor *out[2] = {NULL, NULL};
  assert_true(burn_op_find("sort_range", &op) == BURN_OK);
  burn_op_call(device, op, &x, 1, attrs, 3, out);
  burn_drop(out[1]);
  return out[0];
}
static BurnTensor *topk_indices(BurnTensor *x, int64_t k, int dim) {
  BurnTensor *where = NULL;
  BurnTensor *values = burn_topk_with_indices(x, k, dim, &where);
  return second(values, where);
}

#define MISTAKES(ROW)                                                                                                  \
  ROW(burn_cumsum(F(2), 1), OUT_OF_RANGE, "cumsum: dim 1 is outside -1..0 of shape [2]")                               \
  ROW(burn_cummax(B(2), 0), INVALID_DTYPE, "cummax: not defined for bool; it takes float int tensors")                 \
  ROW(burn_argsort(F(2, 2), -3), OUT_OF_RANGE, "argsort: dim -3 is outside -2..1 of shape [2,2]")                      \
  ROW(burn_sort_descending(F(2), 1), OUT_OF_RANGE, "sort_descending: dim 1 is outside -1..0 of shape [2]")             \
  ROW(sort_indices(F(2), 1), OUT_OF_RANGE, "sort_with_indices: dim 1 is outside -1..0 of shape [2]")                   \
  ROW(burn_sort(B(2), 0), INVALID_DTYPE, "sort_with_indices: not defined for bool; it takes float int tensors")        \
  ROW(burn_topk(F(3), 4, 0), OUT_OF_RANGE, "topk: k is 4, axis 0 has 3 elements; 1 .. 3 are possible")                 \
  ROW(burn_topk(B(2), 1, 0), INVALID_DTYPE, "sort_range: not defined for bool; it takes float int tensors")            \
  ROW(sort_range(F(2, 3), 1, 2, 4), OUT_OF_RANGE, "sort_range: elements 2 .. 3 of an axis of size 3")                  \
  ROW(sort_range(F(2, 3), 1, 2, 1), OUT_OF_RANGE, "sort_range: elements 2 .. 0 of an axis of size 3")                  \
  ROW(sort_range(F(2, 3), 1, INT64_MIN, INT64_MIN), OUT_OF_RANGE,                                                      \
      "sort_range: elements -9223372036854775808 .. -9223372036854775808 of an axis of size 3")                        \
  ROW(sort_range(F(2, 3), 2, 0, 1), OUT_OF_RANGE, "sort_range: dim 2 is outside a tensor of shape [2,3]")              \
  ROW(topk_indices(F(3), 0, 0), OUT_OF_RANGE, "topk: k is 0, axis 0 has 3 elements; 1 .. 3 are possible")              \
  ROW(burn_argtopk(F(3), -1, 0), OUT_OF_RANGE, "argtopk: k is -1, axis 0 has 3 elements; 1 .. 3 are possible")         \
  ROW(burn_gather_nd(F(2, 3), F(1, 2)), INVALID_DTYPE, "gather_nd: indices must be an int tensor, not f32")            \
  ROW(burn_gather_nd(F(2, 3), I(1, 3)), INVALID_SHAPE,                                                                 \
      "gather_nd: x is [2,3] and indices are [1,3]; their last axis has 1 .. 2 coordinates")                           \
  ROW(burn_gather_nd(F(2, 3), I(2)), INVALID_SHAPE,                                                                    \
      "gather_nd: x [2,3] and indices [2] give a tensor of rank 0; 1 .. 8 is possible")                                \
  ROW(burn_gather_nd(F(2, 3), TUPLES(2, 2, 0, 0, 0, 3)), OUT_OF_RANGE,                                                 \
      "select: index -1 at position 1 is outside 0..5 (axis 0)")                                                       \
  ROW(burn_gather_nd(F(2, 3), TUPLES(1, 2, 1, -1)), OUT_OF_RANGE,                                                      \
      "select: index -1 at position 0 is outside 0..5 (axis 0)")                                                       \
  ROW(burn_scatter_nd(F(2, 3), TUPLES(1, 2, 2, 0), F(1), BURN_UPDATE_ADD), OUT_OF_RANGE,                               \
      "select_assign: index -1 at position 0 is outside 0..5 (axis 0)")                                                \
  ROW(burn_scatter_nd(F(2, 3), I(4, 1), F(4), BURN_UPDATE_ADD), INVALID_SHAPE,                                         \
      "scatter_nd: values have shape [4], [4,3] expected")                                                             \
  ROW(burn_scatter_nd(F(2, 3), I(4, 1), I(4, 3), BURN_UPDATE_ADD), INVALID_DTYPE,                                      \
      "scatter_nd: x is f32 and values is i64; convert one with burn_cast")                                            \
  ROW(burn_scatter_nd(F(2, 3), I(4, 1), F(4, 3), 7), INVALID_ARGUMENT,                                                 \
      "scatter_nd: there is no update mode 7; it is one of BURN_UPDATE_*")                                             \
  ROW(burn_unfold(F(5), 0, 0, 1), INVALID_ARGUMENT, "unfold: windows of 0 every 1 elements; both must be 1 or more")   \
  ROW(burn_unfold(F(5), 0, 2, -1), INVALID_ARGUMENT, "unfold: windows of 2 every -1 elements; both must be 1 or more") \
  ROW(burn_unfold(F(5), 1, 2, 1), OUT_OF_RANGE, "unfold: dim 1 is outside -1..0 of shape [5]")                         \
  ROW(burn_unfold(F(1, 1, 1, 1, 1, 1, 1, 2), -1, 2, 1), INVALID_SHAPE,                                                 \
      "unfold: the tensor has rank 8, the axis of windows would be one too many")                                      \
  ROW(pad(F(2, 3), 0, 3, BURN_PAD_REFLECT), INVALID_ARGUMENT,                                                          \
      "pad: reflect padding 3 needs an axis of 4 elements or more, axis 1 has 3")                                      \
  ROW(pad(F(2, 0), 1, 0, BURN_PAD_EDGE), INVALID_ARGUMENT,                                                             \
      "pad: edge padding 1 needs an axis of 1 elements or more, axis 1 has 0")                                         \
  ROW(pad(F(2, 3), -1, 0, BURN_PAD_CONSTANT), INVALID_ARGUMENT,                                                        \
      "pad: padding -1 on axis 1; 0 or more expected (cut with burn_slice)")                                           \
  ROW(pad(F(2), INT64_MAX, 0, BURN_PAD_CONSTANT), INVALID_ARGUMENT,                                                    \
      "pad: padding 9223372036854775807 on axis 0; 0 or more expected (cut with burn_slice)")                          \
  ROW(pad(F(2), INT64_MAX / 8, 0, BURN_PAD_CONSTANT), INVALID_SHAPE,                                                   \
      "pad: a tensor of shape [1152921504606846977] is not possible")                                                  \
  ROW(pad(F(2), 1, 1, 3), INVALID_ARGUMENT, "pad: there is no mode 3; it is one of BURN_PAD_*")                        \
  ROW(burn_pad(F(2), (const int64_t[]){1, 1, 1, 1}, 2, 0, 0), INVALID_ARGUMENT, "pad: 2 pairs for a tensor of rank 1") \
  ROW(burn_take(F(2, 3), 2, I(1)), OUT_OF_RANGE, "take: dim 2 is outside -2..1 of shape [2,3]")                        \
  ROW(burn_take(F(2, 3), 0, I(1, 1, 1, 1, 1, 1, 1, 1)), INVALID_SHAPE,                                                 \
      "take: rank 2 with indices of rank 8 gives more than 8 axes")                                                    \
  ROW(burn_take(F(2, 3), 0, TUPLES(1, 1, 2)), OUT_OF_RANGE, "select: index 2 at position 0 is outside 0..1 (axis 0)")  \
  ROW(burn_mask_select(F(2, 3), B(1, 3)), INVALID_SHAPE,                                                               \
      "mask_select: x is [2,3] and the mask is [1,3]; they must be equal (see burn_expand)")                           \
  ROW(burn_mask_select(F(2), I(2)), INVALID_DTYPE, "mask_select: a bool tensor is needed, not i64")                    \
  ROW(burn_argwhere(F(2)), INVALID_DTYPE, "argwhere: a bool tensor is needed, not f32")                                \
  ROW(nonzero_status(B(2, 2), 1), INVALID_ARGUMENT, "nonzero: 2 parts come out, the list holds 1")                     \
  ROW(nonzero_status(I(2), 4), INVALID_DTYPE, "nonzero: a bool tensor is needed, not i64")                             \
  ROW(burn_one_hot(I(2), 1), INVALID_ARGUMENT, "one_hot: 1 classes; 2 or more expected")                               \
  ROW(burn_one_hot(CLASSES(0, 3), 3), OUT_OF_RANGE, "scatter: index 3 at position 1 is outside 0..2 (axis 1)")         \
  ROW(burn_one_hot(CLASSES(-4), 3), OUT_OF_RANGE, "scatter: index -1 at position 0 is outside 0..2 (axis 1)")          \
  ROW(burn_one_hot_fill(I(2), 3, 1, 0, 2), OUT_OF_RANGE, "one_hot: dim 2 is outside -2..1 of shape [2]")               \
  ROW(burn_one_hot_fill(I(1, 1, 1, 1, 1, 1, 1, 1), 3, 1, 0, 0), INVALID_SHAPE,                                         \
      "one_hot: the tensor has rank 8 already, the most there is")                                                     \
  ROW(burn_squeeze_dims(F(1, 2), DIMS(1)), INVALID_SHAPE,                                                              \
      "squeeze_dims: axis 1 has size 2; only axes of size 1 can be dropped")                                           \
  ROW(burn_squeeze_dims(F(1, 1), DIMS(0, -1)), INVALID_SHAPE,                                                          \
      "squeeze_dims: no axis would be left; there is no rank 0")                                                       \
  ROW(burn_squeeze_dims(F(1, 1), DIMS(0, -2)), INVALID_ARGUMENT,                                                       \
      "squeeze_dims: dim -2 names an axis that was named before")                                                      \
  ROW(burn_unsqueeze_dims(F(2), DIMS(0, 3)), OUT_OF_RANGE, "unsqueeze_dims: dim 3 has no place among 3 axes")          \
  ROW(burn_unsqueeze_dims(F(1, 1, 1, 1, 1, 1, 1), DIMS(0, 0)), INVALID_SHAPE,                                          \
      "unsqueeze_dims: 2 axes more than 7; 8 axes is the most")                                                        \
  ROW(burn_movedim(F(2, 3), 2, 0), OUT_OF_RANGE, "movedim: dim 2 is outside -2..1 of shape [2,3]")                     \
  ROW(move(F(2, 3), 1, -1), INVALID_ARGUMENT, "movedim: dim -1 names an axis that was named before")                   \
  ROW(move(F(2), 1, 1), INVALID_ARGUMENT, "movedim: 2 dims for rank 1")                                                \
  ROW(burn_flip(F(2, 3), DIMS(1, 1)), INVALID_ARGUMENT, "flip: dim 1 names an axis that was named before")             \
  ROW(burn_roll_dim(F(2), 1, 1), OUT_OF_RANGE, "roll: dim 1 is outside -1..0 of shape [2]")                            \
  ROW(burn_slice_dim(F(2), 1, BURN_RANGE_ALL), OUT_OF_RANGE, "slice_dim: dim 1 is outside -1..0 of shape [2]")         \
  ROW(burn_slice_fill(F(2), (const BurnRange[]){{0, 1, 0}}, 1, 0), INVALID_ARGUMENT,                                   \
      "slice_assign: the step of range 0 is 0")                                                                        \
  ROW(split_status(F(5), 2, 2, 0, 4), INVALID_ARGUMENT,                                                                \
      "split_with_sizes: the sizes sum to 4, the axis has 5 elements")                                                 \
  ROW(split_status(F(5), 2, 4, 0, 4), INVALID_ARGUMENT, "split_with_sizes: size 1 is 4, 3 of 5 elements are left")     \
  ROW(split_status(F(5), -1, 6, 0, 4), INVALID_ARGUMENT, "split_with_sizes: size 0 is -1, 5 of 5 elements are left")   \
  ROW(split_status(F(5), 2, 3, 0, 1), INVALID_ARGUMENT, "split_with_sizes: 2 parts come out, the list holds 1")        \
  ROW(iter_status(F(5), 1), OUT_OF_RANGE, "iter_dim: dim 1 is outside -1..0 of shape [5]")                             \
  ROW(iter_status(F(5), 0), INVALID_ARGUMENT, "split: 5 parts come out, the list holds 1")                             \
  ROW(burn_sum_dims_squeeze(F(5), DIMS(1)), OUT_OF_RANGE, "sum_dims_squeeze: dim 1 is outside -1..0 of shape [5]")     \
  ROW(burn_max_dims(F(5, 0), DIMS(0, 1)), INVALID_SHAPE, "max_dims: max_dim: axis 1 of [1,0] is empty")                \
  ROW(burn_dot(F(3), F(1)), INVALID_SHAPE, "dot: [3] and [1]; two tensors of rank 1 and one size expected")            \
  ROW(burn_dot(F(1, 3), F(1, 3)), INVALID_SHAPE, "dot: [1,3] and [1,3]; two tensors of rank 1 and one size expected")  \
  ROW(burn_triu_mask(device, BURN_SHAPE(INT64_MIN, 3), 0), INVALID_SHAPE,                                              \
      "arange: a tensor of shape [-9223372036854775808] is not possible")                                              \
  ROW(burn_diag_mask(device, BURN_SHAPE(3, INT64_MIN), 0), INVALID_SHAPE,                                              \
      "arange: a tensor of shape [-9223372036854775808] is not possible")                                              \
  ROW(slice_by(F(3), INT64_MIN), OUT_OF_RANGE,                                                                         \
      "slice: 2 elements from 2 with step -9223372036854775808 do not fit into axis 0 of [3]")                         \
  ROW(burn_triu_mask(device, BURN_SHAPE(3), 0), INVALID_SHAPE, "triu_mask: rank 1 is not in 2..8")                     \
  ROW(burn_cartesian_grid(device, BURN_SHAPE(1, 1, 1, 1, 1, 1, 1, 1)), INVALID_SHAPE,                                  \
      "cartesian_grid: rank 8 is not in 1..7")                                                                         \
  ROW(burn_empty(device, BURN_SHAPE(2, -1), 0), INVALID_SHAPE, "tensor: shape [2,-1] is not possible")                 \
  ROW(burn_empty(NULL, BURN_SHAPE(2), 0), INVALID_ARGUMENT, "the device is NULL")                                      \
  ROW(burn_random_normal_like(I(2), 0, 1), INVALID_DTYPE, "random_normal: not defined for i64; it takes float tensors")

typedef struct Mistake {
  const char *call;
  uint32_t code;
  const char *message;
} Mistake;

static BurnTensor *make_mistake(size_t number) {
  size_t row = 0;
#define ROW(call, code, message) \
  if (row++ == number) return call;
  MISTAKES(ROW)
#undef ROW
  return NULL;
}

static const Mistake mistakes[] = {
#define ROW(call, code, message) {#call, BURN_STATUS_##code, message},
    MISTAKES(ROW)
#undef ROW
};
enum { MISTAKE_COUNT = sizeof mistakes / sizeof mistakes[0] };

static void check_failed(BurnTensor *x, const Mistake *mistake) {
  const BurnStatus status = test_failure(x);
  if (status == BURN_OK) fail_msg("%s on %s does not fail", mistake->call, burn_device_name(device));
  if (strcmp(burn_status_message(status), mistake->message) != 0) {
    fail_msg("%s on %s says\n  %s\nexpected\n  %s", mistake->call, burn_device_name(device),
             burn_status_message(status), mistake->message);
  }
  if (burn_status_code(status) != mistake->code) fail_msg("%s: %s", mistake->call, burn_status_text(status));
  burn_drop(x);
}

static void make_mistakes(void **state) {
  (void)state;
  for (size_t i = 0; i < MISTAKE_COUNT; i++) {
    check_failed(make_mistake(i), &mistakes[i]);
    if (burn_device_memory(device).live_tensors != 0) fail_msg("%s: tensors are left over", mistakes[i].call);
  }
}

static void test_mistakes(void **state) {
  (void)state;
  test_on_stacks("ndarray; ndarray:primitives=true; autodiff<ndarray>", &device, NULL, make_mistakes);
}

/* A failed tensor passes through everything that resolves its arguments first. */
static void test_failures_travel(void **state) {
  (void)state;
  device = burn_device_open("autodiff<ndarray>");
  const Mistake first = {"a broken tensor", BURN_STATUS_INVALID_SHAPE,
                         "matmul: [3,4] x [5,6]: inner dimensions 4 and 5 differ"};
  const BurnRange ranges[] = {{0, 1, 1}};
  const int dims[] = {0};
  const int64_t shifts[] = {1}, padding[] = {1, 1};
#define BROKEN burn_matmul(F(3, 4), F(5, 6))
  check_failed(burn_cumsum(BROKEN, 0), &first);
  check_failed(burn_sort(BROKEN, 0), &first);
  check_failed(sort_indices(BROKEN, 0), &first);
  check_failed(burn_topk(BROKEN, 1, 0), &first);
  check_failed(burn_argtopk(BROKEN, 1, 0), &first);
  check_failed(burn_gather_nd(F(1), BROKEN), &first);
  check_failed(burn_scatter(F(1), 0, I(1), BROKEN, BURN_UPDATE_ADD), &first);
  check_failed(burn_take(F(1), 0, BROKEN), &first);
  check_failed(burn_mask_select(F(1), BROKEN), &first);
  check_failed(burn_argwhere(BROKEN), &first);
  check_failed(nonzero_status(BROKEN, 4), &first);
  check_failed(burn_one_hot(BROKEN, 4), &first);
  check_failed(burn_empty_like(BROKEN), &first);
  check_failed(burn_random_uniform_like(BROKEN, 0, 1), &first);
  check_failed(burn_squeeze_dims(BROKEN, dims, 1), &first);
  check_failed(burn_unsqueeze_dims(BROKEN, dims, 1), &first);
  check_failed(burn_movedim(BROKEN, 0, 1), &first);
  check_failed(burn_flip(BROKEN, dims, 1), &first);
  check_failed(burn_roll(BROKEN, shifts, dims, 1), &first);
  check_failed(burn_slice_dim(BROKEN, 0, ranges[0]), &first);
  check_failed(burn_slice_fill(BROKEN, ranges, 1, 0), &first);
  check_failed(split_status(BROKEN, 1, 1, 0, 4), &first);
  check_failed(iter_status(BROKEN, 0), &first);
  check_failed(burn_unfold(BROKEN, 0, 1, 1), &first);
  check_failed(burn_pad(BROKEN, padding, 1, BURN_PAD_EDGE, 0), &first);
  check_failed(burn_sum_dims(BROKEN, dims, 1), &first);
  check_failed(burn_sum_dims_squeeze(BROKEN, dims, 1), &first);
  check_failed(burn_max_abs_dims(BROKEN, dims, 1), &first);
  check_failed(burn_dot(F(1), BROKEN), &first);
#undef BROKEN
  assert_int_equal(burn_device_memory(device).live_tensors, 0);
  burn_device_close(device);
}

/* Takes a bool or float tensor: the number of elements that are not 0. */
static double count_of(BurnTensor *x) {
  double count = -1;
  assert_int_equal(
      burn_read_scalar(burn_sum(burn_cast(burn_not_equal_scalar(burn_cast(x, BURN_DTYPE_I64), 0), BURN_DTYPE_I64)),
                       &count),
      BURN_OK);
  return count;
}

/* Diagonals so far out that rows cannot be added to them. */
static void test_diagonals_far_out(void **state) {
  (void)state;
  static const char *const stacks[] = {"ndarray", "ndarray:primitives=true", "reference"};
  const BurnShape shape = BURN_SHAPE(3, 4);
  for (size_t i = 0; i < sizeof stacks / sizeof stacks[0]; i++) {
    device = burn_device_open(stacks[i]);
    assert_true(count_of(burn_triu(burn_ones(device, shape, BURN_DTYPE_F32), INT64_MAX)) == 0);
    assert_true(count_of(burn_triu(burn_ones(device, shape, BURN_DTYPE_F32), INT64_MIN)) == 12);
    assert_true(count_of(burn_tril(burn_ones(device, shape, BURN_DTYPE_F32), INT64_MAX)) == 12);
    assert_true(count_of(burn_tril(burn_ones(device, shape, BURN_DTYPE_F32), INT64_MIN)) == 0);
    assert_true(count_of(burn_triu_mask(device, shape, INT64_MAX)) == 12); /* true is what goes */
    assert_true(count_of(burn_triu_mask(device, shape, INT64_MIN)) == 0);
    assert_true(count_of(burn_tril_mask(device, shape, INT64_MAX)) == 0);
    assert_true(count_of(burn_tril_mask(device, shape, INT64_MIN)) == 12);
    assert_true(count_of(burn_diag_mask(device, shape, INT64_MAX)) == 12);
    assert_int_equal(burn_device_memory(device).live_tensors, 0);
    burn_device_close(device);
  }
}

/* Lists that are not there are refused, and nothing is left over; without entries they may be NULL. */
static void test_missing_lists(void **state) {
  (void)state;
  device = burn_device_open("autodiff<ndarray>");
  const int dims[] = {0};
#define REFUSED(expression, message) \
  check_failed(expression, &(Mistake){#expression, BURN_STATUS_INVALID_ARGUMENT, message})
  REFUSED(burn_permute(F(2, 3), NULL), "permute: the list of 2 axes is NULL");
  REFUSED(burn_squeeze_dims(F(1, 3), NULL, 1), "squeeze_dims: the list of 1 dims is NULL");
  REFUSED(burn_unsqueeze_dims(F(3), NULL, 1), "unsqueeze_dims: the list of 1 dims is NULL");
  REFUSED(burn_movedims(F(2, 3), dims, NULL, 1), "movedim: the list of 1 dims is NULL");
  REFUSED(burn_flip(F(2), NULL, 1), "flip: the list of 1 dims is NULL");
  REFUSED(burn_roll(F(2), NULL, dims, 1), "roll: the list of 1 shifts is NULL");
  REFUSED(burn_slice(F(2), NULL, 1), "slice: the list of 1 ranges is NULL");
  REFUSED(burn_slice_assign(F(2), NULL, 1, F(2)), "slice_assign: the list of 1 ranges is NULL");
  REFUSED(burn_pad(F(2), NULL, 1, BURN_PAD_EDGE, 0), "pad: the list of 1 pairs is NULL");
  REFUSED(burn_repeat(F(2), NULL), "repeat: the list of 1 times is NULL");
  REFUSED(burn_sum_dims(F(2), NULL, 1), "sum_dims: the list of 1 dims is NULL");
  REFUSED(burn_max_abs_dims(F(2), NULL, 1), "max_dims: the list of 1 dims is NULL");
  REFUSED(burn_sum_dims_squeeze(F(2), NULL, 1), "sum_dims_squeeze: the list of 1 dims is NULL");
  REFUSED(burn_cat(NULL, 2, 0), "cat: 2 tensors given as NULL");
  REFUSED(burn_stack(NULL, 2, 0), "stack: the list of 2 tensors is NULL");
  REFUSED(burn_meshgrid_stack(NULL, 2, BURN_GRID_INDEX_FIRST), "meshgrid_stack: the list of 2 vectors is NULL");
  REFUSED(burn_adaptive_avg_pool2d(F(1, 1, 2, 2), NULL),
          "adaptive_avg_pool2d: the 2 numbers of 'output_size' are NULL");
#undef REFUSED
  BurnTensor *const none[] = {burn_roll(NULL, NULL, NULL, 0), burn_sum_dims(NULL, NULL, 0), burn_repeat(NULL, NULL)};
  for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
    assert_non_null(none[i]);
    assert_int_not_equal(burn_tensor_status(none[i]), BURN_OK);
    burn_drop(none[i]);
  }
  assert_int_equal(burn_device_memory(device).live_tensors, 0);
  burn_device_close(device);
}

/* As in Burn: nothing true gives no tensors, an empty axis no pieces, and what is put into an empty range changes
 * nothing. */
static void test_nothing(void **state) {
  (void)state;
  static const char *const stacks[] = {"ndarray", "reference", "autodiff<ndarray>", "autodiff<fusion<ndarray>>"};
  const BurnRange none[] = {BURN_RANGE(0, 2), BURN_RANGE(1, 1)};
  for (size_t i = 0; i < sizeof stacks / sizeof stacks[0]; i++) {
    device = burn_device_open(stacks[i]);
    BurnTensor *parts[4] = {NULL};
    size_t count = 9;
    assert_string_equal(burn_status_message(burn_nonzero(burn_bool_not(B(2, 3)), parts, 4, &count)), "ok");
    assert_int_equal(count, 0);
    BurnTensor *places = burn_argwhere(burn_bool_not(B(2, 3)));
    assert_true(burn_rank(places) == 2 && burn_dim(places, 0) == 0 && burn_dim(places, 1) == 2);
    burn_drop(places);
    assert_string_equal(burn_status_message(burn_split(F(2, 0), 3, 1, parts, 4, &count)), "ok");
    assert_int_equal(count, 0);
    assert_string_equal(burn_status_message(burn_chunk(F(2, 0), 3, 1, parts, 4, &count)), "ok");
    assert_int_equal(count, 0);
    BurnTensor *const values[] = {F(2, 0), F(3), F(2, 3)};
    for (size_t k = 0; k < 3; k++) {
      float read[6];
      assert_int_equal(burn_read_f32(burn_slice_assign(burn_mul_scalar(F(2, 3), 5), none, 2, values[k]), read, 6),
                       BURN_OK);
      for (int j = 0; j < 6; j++) assert_true(read[j] == 5);
    }
    assert_int_equal(burn_device_memory(device).live_tensors, 0);
    burn_device_close(device);
  }
}

/* Steps that are never taken may have any size: nothing is computed with them that could overflow. */
static void test_steps_not_taken(void **state) {
  (void)state;
  device = burn_device_open("autodiff<ndarray>");
  const BurnRange one[] = {BURN_RANGE_STEP(1, 2, INT64_MAX)}, none[] = {BURN_RANGE_STEP(3, 3, -INT64_MAX)};
  float values[6];
  assert_int_equal(burn_read_f32(burn_slice_fill(F(2, 3), one, 1, 5), values, 6), BURN_OK);
  for (int i = 0; i < 6; i++) assert_true(values[i] == (i < 3 ? 1 : 5));
  assert_int_equal(burn_read_f32(burn_slice(F(2, 3), one, 1), values, 3), BURN_OK);
  assert_int_equal(burn_read_f32(burn_slice(F(2, 3), none, 1), values, 0), BURN_OK);
  assert_int_equal(burn_read_f32(burn_slice_fill(F(2, 3), none, 1, 5), values, 6), BURN_OK);
  for (int i = 0; i < 6; i++) assert_true(values[i] == 1);
  burn_device_close(device);
}

/* Every second result may be dead, in success and in failure; the first is the same. */
static void test_unwanted_results(void **state) {
  (void)state;
  device = burn_device_open("autodiff<ndarray>");
#define UNWANTED(good, bad)                                                     \
  do {                                                                          \
    BurnTensor *result = good, *failed = bad;                                   \
    assert_string_equal(burn_status_message(burn_tensor_status(result)), "ok"); \
    assert_int_not_equal(burn_tensor_status(failed), BURN_OK);                  \
    burn_drop(result);                                                          \
    burn_drop(failed);                                                          \
  } while (0)
  UNWANTED(burn_sort_with_indices(F(3), 0, NULL), burn_sort_with_indices(F(3), 1, NULL));
  UNWANTED(burn_topk_with_indices(F(3), 2, 0, NULL), burn_topk_with_indices(F(3), 4, 0, NULL));
  UNWANTED(burn_max_dim_with_indices(F(3), 0, NULL), burn_max_dim_with_indices(F(3), 1, NULL));
  UNWANTED(burn_min_dim_with_indices(F(3), 0, NULL), burn_min_dim_with_indices(F(3), 1, NULL));
  UNWANTED(burn_median_with_indices(F(3), 0, NULL), burn_median_with_indices(F(3), 1, NULL));
  UNWANTED(burn_var_mean(F(3), 0, NULL), burn_var_mean(F(3), 1, NULL));
  UNWANTED(burn_var_mean_bias(F(3), 0, NULL), burn_var_mean_bias(F(3), 1, NULL));
  UNWANTED(burn_rfft(F(4), 0, 0, NULL), burn_rfft(F(4), 1, 0, NULL));
  UNWANTED(burn_cfft(F(4), F(4), 0, 0, NULL), burn_cfft(F(4), F(5), 0, 0, NULL));
  UNWANTED(burn_lu(F(1, 2, 2), NULL, NULL), burn_lu(F(2), NULL, NULL));
  UNWANTED(burn_lu_decomposition(burn_eye(device, 2, BURN_DTYPE_F32), NULL), burn_lu_decomposition(F(2, 2), NULL));
  UNWANTED(burn_qr(F(1, 2, 2), true, NULL), burn_qr(F(2), true, NULL));
  UNWANTED(burn_max_pool1d_with_indices(F(1, 1, 4), BURN_POOL1D_OPTIONS(2), NULL),
           burn_max_pool1d_with_indices(F(4), BURN_POOL1D_OPTIONS(2), NULL));
  UNWANTED(burn_max_pool2d_with_indices(F(1, 1, 4, 4), BURN_POOL2D_OPTIONS(2, 2), NULL),
           burn_max_pool2d_with_indices(F(4), BURN_POOL2D_OPTIONS(2, 2), NULL));
#undef UNWANTED
  assert_int_equal(burn_device_memory(device).live_tensors, 0);
  burn_device_close(device);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_mistakes),          cmocka_unit_test(test_failures_travel),
                                     cmocka_unit_test(test_diagonals_far_out), cmocka_unit_test(test_missing_lists),
                                     cmocka_unit_test(test_steps_not_taken),   cmocka_unit_test(test_nothing),
                                     cmocka_unit_test(test_unwanted_results)};
  return test_stacks_result(cmocka_run_group_tests_name("rules of moving, indexing and sorting", tests, NULL, NULL));
}
