/* nn_window_test.c - windows and paddings over three axes, for which there is no layer yet: the code that all ranks
 * share, compiled into this test. */
#include "../../../nn/window.c"
#include "status_testing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { DEPTH = 5, HEIGHT = 4, WIDTH = 3, COUNT = DEPTH * HEIGHT * WIDTH };

static BurnDevice *device;

static BurnTensor *volume(void) {
  return burn_reshape(burn_cast(burn_arange(device, 0, COUNT, 1), BURN_DTYPE_F32),
                      BURN_SHAPE(1, 1, DEPTH, HEIGHT, WIDTH));
}

static void check_sides(const BurnNnSides *sides, const int64_t start[3], const int64_t end[3]) {
  assert_int_equal(sides->axes, 3);
  for (int i = 0; i < 3; i++) {
    assert_int_equal(sides->start[i], start[i]);
    assert_int_equal(sides->end[i], end[i]);
  }
}

/* Same: ceil(size / stride) outputs; of an odd number of padded positions the odd one is at the end. */
static void same_padding_of_volumes(void **state) {
  (void)state;
  const size_t kernel[3] = {3, 2, 2}, stride[3] = {2, 1, 2}, dilation[3] = {1, 2, 1};
  const BurnNnWindow window = burn_nn_window(3, kernel, stride, dilation),
                     plain = burn_nn_window(3, kernel, stride, NULL);
  const BurnNnPadding same = {.kind = BURN_PADDING_KIND_SAME}, valid = {.kind = BURN_PADDING_KIND_VALID};
  BurnTensor *x = volume();
  BurnNnSides sides = burn_nn_sides(&same, x, &window);
  check_sides(&sides, (const int64_t[]){1, 1, 0}, (const int64_t[]){1, 1, 1});
  sides = burn_nn_sides(&same, x, &plain);
  check_sides(&sides, (const int64_t[]){1, 0, 0}, (const int64_t[]){1, 1, 1});
  sides = burn_nn_sides(&valid, x, &window);
  check_sides(&sides, (const int64_t[]){0, 0, 0}, (const int64_t[]){0, 0, 0});
  assert_int_equal(burn_nn_positions(&window), 12);
  burn_drop(x);
}

static void uneven_sides_surround_volumes(void **state) {
  (void)state;
  const size_t ones[3] = {1, 1, 1};
  const BurnNnWindow window = burn_nn_window(3, ones, ones, NULL);
  const BurnNnPadding padding = {BURN_PADDING_KIND_EXPLICIT, {1, 0, 2}, {0, 1, 1}};
  enum { D = DEPTH + 1, H = HEIGHT + 1, W = WIDTH + 3 };
  static float values[D * H * W];
  int64_t left[3] = {9, 9, 9};
  BurnTensor *x = volume();
  const BurnNnSides sides = burn_nn_sides(&padding, x, &window);
  x = burn_nn_pad(x, &sides, 7.5, left);
  const BurnShape shape = burn_shape(x);
  assert_true(shape.rank == 5 && shape.dims[2] == D && shape.dims[3] == H && shape.dims[4] == W);
  assert_true(left[0] == 0 && left[1] == 0 && left[2] == 0);
  check_status(burn_read_f32(x, values, D * H * W));
  for (int d = 0; d < D; d++) {
    for (int h = 0; h < H; h++) {
      for (int w = 0; w < W; w++) {
        const bool inside = d >= 1 && h < HEIGHT && w >= 2 && w < 2 + WIDTH;
        const float expected = inside ? (float)(((d - 1) * HEIGHT + h) * WIDTH + w - 2) : 7.5f;
        assert_true(values[(d * H + h) * W + w] == expected);
      }
    }
  }
}

/* Even sides are the op's work. */
static void even_sides_are_left_to_the_op(void **state) {
  (void)state;
  const size_t kernel[3] = {3, 1, 5};
  const size_t ones[3] = {1, 1, 1};
  const BurnNnWindow window = burn_nn_window(3, kernel, ones, NULL);
  const BurnNnPadding same = {.kind = BURN_PADDING_KIND_SAME};
  BurnConv3dOptions options = BURN_CONV3D_OPTIONS;
  BurnTensor *x = volume();
  const BurnNnSides sides = burn_nn_sides(&same, x, &window);
  x = burn_nn_pad(x, &sides, 0, options.padding);
  assert_true(options.padding[0] == 1 && options.padding[1] == 0 && options.padding[2] == 2);
  x = burn_conv3d(x, burn_ones(device, BURN_SHAPE(1, 1, 3, 1, 5), BURN_DTYPE_F32), NULL, options);
  check_status(burn_tensor_status(x));
  const BurnShape shape = burn_shape(x);
  assert_true(shape.dims[2] == DEPTH && shape.dims[3] == HEIGHT && shape.dims[4] == WIDTH);
  burn_drop(x);
}

static int open_device(void **state) {
  (void)state;
  device = burn_device_open("ndarray");
  return burn_device_status(device) != BURN_OK;
}

static int close_device(void **state) {
  (void)state;
  burn_device_close(device);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(same_padding_of_volumes),
      cmocka_unit_test(uneven_sides_surround_volumes),
      cmocka_unit_test(even_sides_are_left_to_the_op),
  };
  return cmocka_run_group_tests_name("nn_window", tests, open_device, close_device);
}
