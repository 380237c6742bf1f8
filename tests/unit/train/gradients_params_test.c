/* gradients_params_test.c - gradients by parameter: read, replaced, removed, registered, taken out in parts, moved, added
 * up over devices; and clipping, by numbers that are worked out here. */
#include <burn/train.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "status_testing.h"
#include "test_stacks.h"

#define PAIR_FIELDS(X)        \
  X(BurnParam, weight, "[2]") \
  X(BurnParam, bias, "[2]")
BURN_MODULE(Pair, PAIR_FIELDS);

#define TWO_FIELDS(X)        \
  X(Pair, first, "one part") \
  X(Pair, second, "another one")
BURN_MODULE(Two, TWO_FIELDS);

static const double WEIGHT[2] = {3, -4}, BIAS[2] = {0, 12}; /* gradients with the norms 5, 12, together 13 */

static BurnDevice *device;

static void check_refused(BurnStatus status, uint32_t code, const char *message) {
  assert_int_not_equal(status, BURN_OK);
  assert_string_equal(burn_status_message(status), message);
  assert_int_equal(burn_status_code(status), code);
}

static BurnParam ones(BurnDType dtype) { return burn_param(burn_ones(device, BURN_SHAPE(2), dtype)); }

static Pair pair_make(BurnDType dtype) { return (Pair){ones(dtype), ones(dtype)}; }

static BurnTensor *part_loss(const BurnParam *param, const double gradient[2]) {
  BurnTensor *table = burn_cast(burn_tensor_f64(device, gradient, BURN_SHAPE(2)), burn_dtype(param->value));
  return burn_sum(burn_mul(burn_param_value(param), table));
}

static BurnGradients *backward(const Pair *pair) {
  BurnGradients *gradients = NULL;
  check_status(burn_backward(burn_add(part_loss(&pair->weight, WEIGHT), part_loss(&pair->bias, BIAS)), &gradients));
  return gradients;
}

static BurnGradientsParams *linked(Pair *pair) {
  return burn_gradients_params(backward(pair), burn_module(Pair, pair));
}

/* That a tensor (taken) is these two numbers. */
static void check_two(BurnTensor *x, double first, double second, double tolerance) {
  double values[2];
  assert_non_null(x);
  check_status(burn_read_f64(burn_cast(x, BURN_DTYPE_F64), values, 2));
  if (!(fabs(values[0] - first) <= tolerance && fabs(values[1] - second) <= tolerance)) {
    fail_msg("%.17g %.17g, expected %.17g %.17g", values[0], values[1], first, second);
  }
}

/* -- the container ---------------------------------------------------------------------------- */

static void gradients_are_written(void) {
  Pair pair = pair_make(BURN_DTYPE_F64);
  const uint64_t weight = pair.weight.id, bias = pair.bias.id;
  BurnGradientsParams *gradients = linked(&pair);
  check_two(burn_gradients_params_get(gradients, weight), 3, -4, 0);
  assert_int_equal(burn_gradients_params_count(gradients), 2);
  BurnTensor *taken = burn_gradients_params_remove(gradients, weight);
  assert_int_equal(burn_gradients_params_count(gradients), 1);
  assert_null(burn_gradients_params_get(gradients, weight));
  assert_null(burn_gradients_params_remove(gradients, weight));
  assert_null(burn_gradients_params_remove(gradients, weight + 1));
  check_status(burn_gradients_params_set(gradients, bias, burn_mul_scalar(taken, 2)));
  assert_int_equal(burn_gradients_params_count(gradients), 1);
  check_two(burn_gradients_params_get(gradients, bias), 6, -8, 0);
  burn_gradients_params_drop(gradients);
  Pair_release(&pair);
}

/* Gradients that no backward pass has made: an optimizer takes them as any. */
static void gradients_are_registered(void) {
  Pair pair = pair_make(BURN_DTYPE_F64);
  BurnGradientsParams *gradients = burn_gradients_params_create();
  BurnOptimizer *optimizer = burn_sgd_create(NULL);
  assert_int_equal(burn_gradients_params_count(gradients), 0);
  /* one that is tracked on the device with autodiff is put on the one below */
  check_status(
      burn_gradients_params_set(gradients, pair.weight.id, burn_mul_scalar(burn_param_value(&pair.weight), 8)));
  BurnTensor *kept = burn_gradients_params_get(gradients, pair.weight.id);
  assert_ptr_equal(burn_tensor_device(kept), burn_device_inner(device));
  burn_drop(kept);
  check_status(burn_optimizer_step(optimizer, burn_module(Pair, &pair), gradients, 0.5));
  check_two(burn_param_value(&pair.weight), -3, -3, 0);
  check_two(burn_param_value(&pair.bias), 1, 1, 0);
  burn_optimizer_destroy(optimizer);
  Pair_release(&pair);
}

static void parts_are_taken_out(void) {
  Two two = {pair_make(BURN_DTYPE_F64), pair_make(BURN_DTYPE_F64)};
  BurnGradients *gradients = NULL;
  BurnTensor *loss = burn_add(part_loss(&two.first.weight, WEIGHT), part_loss(&two.second.weight, BIAS));
  check_status(burn_backward(burn_add(loss, part_loss(&two.second.bias, WEIGHT)), &gradients));
  const uint64_t ids[] = {two.second.bias.id, two.first.bias.id};
  BurnGradientsParams *by_ids = burn_gradients_params_of_ids(gradients, burn_module(Two, &two), ids, 2);
  BurnGradientsParams *second = burn_gradients_params_of_module(gradients, burn_module(Pair, &two.second));
  BurnGradientsParams *again = burn_gradients_params_of_module(gradients, burn_module(Pair, &two.second));
  BurnGradientsParams *none = burn_gradients_params_of_ids(gradients, burn_module(Two, &two), NULL, 0);
  BurnGradientsParams *rest = burn_gradients_params(gradients, burn_module(Two, &two));
  assert_int_equal(burn_gradients_params_count(by_ids), 1); /* the first pair's bias has none */
  check_two(burn_gradients_params_get(by_ids, two.second.bias.id), 3, -4, 0);
  assert_int_equal(burn_gradients_params_count(second), 1);
  check_two(burn_gradients_params_get(second, two.second.weight.id), 0, 12, 0);
  assert_int_equal(burn_gradients_params_count(again), 0);
  assert_int_equal(burn_gradients_params_count(none), 0);
  assert_int_equal(burn_gradients_params_count(rest), 1);
  check_two(burn_gradients_params_get(rest, two.first.weight.id), 3, -4, 0);
  BurnGradientsParams *const all[] = {by_ids, second, again, none, rest};
  for (int i = 0; i < 5; i++) burn_gradients_params_drop(all[i]);
  Two_release(&two);
}

static void wrong_use_is_told(void) {
  Pair pair = pair_make(BURN_DTYPE_F64);
  BurnGradientsParams *gradients = linked(&pair);
  BurnTensor *bad =
      burn_add(burn_ones(device, BURN_SHAPE(2), BURN_DTYPE_F64), burn_ones(device, BURN_SHAPE(3), BURN_DTYPE_F64));
  const char *missing = "gradients: NULL: out of memory when they were linked, or not linked";
  assert_int_equal(burn_status_code(burn_gradients_params_set(gradients, pair.weight.id, bad)),
                   BURN_STATUS_INVALID_SHAPE);
  check_two(burn_gradients_params_get(gradients, pair.weight.id), 3, -4, 0);
  check_refused(burn_gradients_params_set(NULL, 1, burn_ones(device, BURN_SHAPE(1), BURN_DTYPE_F64)),
                BURN_STATUS_OUT_OF_MEMORY, missing);
  check_refused(burn_gradients_params_clip(NULL, (BurnGradientClipping)BURN_CLIP_NORM(1)), BURN_STATUS_OUT_OF_MEMORY,
                missing);
  check_refused(burn_gradients_params_to_device(NULL, device), BURN_STATUS_OUT_OF_MEMORY, missing);
  BurnTensor *norm = burn_gradients_params_norm(NULL);
  check_refused(burn_tensor_status(norm), BURN_STATUS_OUT_OF_MEMORY, missing);
  burn_drop(norm);
  BurnGradientsParams *empty = burn_gradients_params_create();
  norm = burn_gradients_params_norm(empty);
  check_refused(burn_tensor_status(norm), BURN_STATUS_INVALID_ARGUMENT,
                "gradients: there are none, so their norm has no device");
  burn_drop(norm);
  check_status(burn_gradients_params_clip(empty, (BurnGradientClipping)BURN_CLIP_GLOBAL_NORM(1)));
  assert_null(burn_gradients_params_remove(NULL, 1));
  BurnGradientsParams *failed = burn_gradients_params_of_module(NULL, burn_module(Pair, &pair));
  check_refused(burn_gradients_params_clip(failed, (BurnGradientClipping)BURN_CLIP_NORM(1)),
                BURN_STATUS_INVALID_ARGUMENT, "gradients: NULL: the backward pass failed, or was not made");
  burn_gradients_params_drop(failed);
  burn_gradients_params_drop(empty);
  burn_gradients_params_drop(gradients);
  Pair_release(&pair);
}

static void gradients_move(void) {
  Pair pair = pair_make(BURN_DTYPE_F64);
  BurnGradientsParams *gradients = linked(&pair);
  BurnDevice *other = burn_device_open("reference");
  check_status(burn_device_status(other));
  check_status(burn_gradients_params_to_device(gradients, other));
  BurnTensor *moved = burn_gradients_params_remove(gradients, pair.weight.id);
  assert_ptr_equal(burn_tensor_device(moved), other);
  check_two(moved, 3, -4, 0);
  /* One norm over two devices: 5 there, 12 here. */
  check_status(burn_gradients_params_set(gradients, pair.weight.id, burn_tensor_f64(other, WEIGHT, BURN_SHAPE(2))));
  BurnTensor *here = burn_to_device(burn_gradients_params_remove(gradients, pair.bias.id), burn_device_inner(device));
  check_status(burn_gradients_params_set(gradients, pair.bias.id, here));
  double norm = 0;
  check_status(burn_read_scalar(burn_gradients_params_norm(gradients), &norm));
  assert_true(fabs(norm - 13) < 1e-14);
  check_status(burn_gradients_params_clip(gradients, (BurnGradientClipping)BURN_CLIP_GLOBAL_NORM(6.5)));
  check_two(burn_gradients_params_get(gradients, pair.weight.id), 1.5, -2, 1e-6);
  check_two(burn_gradients_params_get(gradients, pair.bias.id), 0, 6, 1e-6);
  burn_gradients_params_drop(gradients);
  burn_device_close(other);
  Pair_release(&pair);
}

/* -- several devices -------------------------------------------------------------------------- */

static BurnGradientsParams *of_one(uint64_t id, const double gradient[2], BurnDevice *where) {
  BurnGradientsParams *gradients = burn_gradients_params_create();
  check_status(burn_gradients_params_set(gradients, id, burn_tensor_f64(where, gradient, BURN_SHAPE(2))));
  return gradients;
}

/* Sums lie on device `id modulo count`, or on the next one that has a gradient. */
static void sums_are_shared_out(void) {
  BurnDevice *other = burn_device_open("reference"), *inner = burn_device_inner(device);
  BurnMultiGradientsParams *multi = burn_multi_gradients_params_create();
  BurnGradientsParams *first = of_one(6, WEIGHT, device), *second = of_one(6, BIAS, other);
  check_status(burn_gradients_params_set(first, 7, burn_tensor_f64(device, BIAS, BURN_SHAPE(2))));
  check_status(burn_gradients_params_set(second, 7, burn_tensor_f64(other, BIAS, BURN_SHAPE(2))));
  check_status(burn_gradients_params_set(first, 9, burn_tensor_f64(device, WEIGHT, BURN_SHAPE(2))));
  check_status(burn_multi_gradients_params_add(multi, first, device));
  check_status(burn_multi_gradients_params_add(multi, second, other));
  assert_int_equal(burn_multi_gradients_params_count(multi), 2);
  BurnTensor *even = burn_multi_gradients_params_remove(multi, 6);
  assert_ptr_equal(burn_tensor_device(even), inner);
  check_two(even, 3, 8, 0);
  assert_null(burn_multi_gradients_params_remove(multi, 6));
  BurnGradientsParams *rest = burn_multi_gradients_params_sum(multi);
  assert_int_equal(burn_gradients_params_count(rest), 2);
  BurnTensor *odd = burn_gradients_params_remove(rest, 7), *only = burn_gradients_params_remove(rest, 9);
  assert_ptr_equal(burn_tensor_device(odd), other);
  assert_ptr_equal(burn_tensor_device(only), inner);
  check_two(odd, 0, 24, 0);
  check_two(only, 3, -4, 0);
  burn_gradients_params_drop(rest);
  burn_device_close(other);
}

/* A step with the gradients of a module and of its copy on another device is that with their sum. */
static void copies_make_one_step(void) {
  BurnDevice *other = burn_device_open_training("reference");
  BurnOptimizer *optimizer = burn_sgd_create(NULL);
  Pair pair = pair_make(BURN_DTYPE_F64), copy;
  burn_module_fork(burn_module(Pair, &pair), other, &copy);
  BurnGradients *there = NULL;
  BurnTensor *bias = burn_tensor_f64(other, BIAS, BURN_SHAPE(2));
  check_status(burn_backward(burn_sum(burn_mul(burn_param_value(&copy.weight), bias)), &there));
  BurnMultiGradientsParams *multi = burn_multi_gradients_params_create();
  check_status(burn_multi_gradients_params_add(multi, linked(&pair), device));
  check_status(burn_multi_gradients_params_add(multi, burn_gradients_params(there, burn_module(Pair, &copy)), other));
  BurnGradientsParams *sum = burn_multi_gradients_params_sum(multi);
  check_status(burn_optimizer_step(optimizer, burn_module(Pair, &pair), sum, 0.5));
  check_two(burn_param_value(&pair.weight), 1 - 0.5 * 3, 1 - 0.5 * (-4 + 12), 0);
  check_two(burn_param_value(&pair.bias), 1, 1 - 0.5 * 12, 0);
  assert_ptr_equal(burn_tensor_device(pair.weight.value), device);
  Pair_release(&copy);
  Pair_release(&pair);
  burn_optimizer_destroy(optimizer);
  burn_device_close(other);
}

static void failures_of_devices_are_told(void) {
  const char *missing = "gradients of several devices: NULL: out of memory when created";
  Pair pair = pair_make(BURN_DTYPE_F64);
  BurnMultiGradientsParams *multi = burn_multi_gradients_params_create();
  BurnGradientsParams *failed = burn_gradients_params_of_module(NULL, burn_module(Pair, &pair));
  check_refused(burn_multi_gradients_params_add(multi, failed, device), BURN_STATUS_INVALID_ARGUMENT,
                "gradients: NULL: the backward pass failed, or was not made");
  assert_int_equal(burn_multi_gradients_params_count(multi), 0);
  assert_null(burn_multi_gradients_params_remove(multi, 1));
  burn_multi_gradients_params_drop(multi);
  check_refused(burn_multi_gradients_params_add(NULL, linked(&pair), device), BURN_STATUS_OUT_OF_MEMORY, missing);
  BurnGradientsParams *none = burn_multi_gradients_params_sum(NULL);
  check_refused(burn_gradients_params_to_device(none, device), BURN_STATUS_OUT_OF_MEMORY, missing);
  burn_gradients_params_drop(none);
  const double three[3] = {1, 2, 3};
  multi = burn_multi_gradients_params_create();
  BurnGradientsParams *longer = burn_gradients_params_create();
  check_status(burn_gradients_params_set(longer, 8, burn_tensor_f64(device, three, BURN_SHAPE(3))));
  check_status(burn_multi_gradients_params_add(multi, of_one(8, WEIGHT, device), device));
  check_status(burn_multi_gradients_params_add(multi, longer, device));
  none = burn_multi_gradients_params_sum(multi);
  assert_int_equal(burn_status_code(burn_gradients_params_to_device(none, device)), BURN_STATUS_INVALID_SHAPE);
  burn_gradients_params_drop(none);
  Pair_release(&pair);
}

/* -- clipping --------------------------------------------------------------------------------- */

/* What a clipping makes of the gradients. */
static void clips_to(BurnDType dtype, BurnGradientClipping clipping, const double weight[2], const double bias[2],
                     double tolerance) {
  Pair pair = pair_make(dtype);
  BurnGradientsParams *gradients = linked(&pair);
  check_status(burn_gradients_params_clip(gradients, clipping));
  BurnTensor *found = burn_gradients_params_get(gradients, pair.weight.id);
  assert_int_equal(burn_dtype(found), dtype);
  check_two(found, weight[0], weight[1], tolerance);
  check_two(burn_gradients_params_get(gradients, pair.bias.id), bias[0], bias[1], tolerance);
  burn_gradients_params_drop(gradients);
  Pair_release(&pair);
}

static void clipped_in(BurnDType dtype, double tolerance) {
  const BurnGradientClipping value = BURN_CLIP_VALUE(3.5), norm = BURN_CLIP_NORM(10), unused = BURN_CLIP_NORM(100),
                             together = BURN_CLIP_GLOBAL_NORM(6.5), none = BURN_CLIP_NONE;
  clips_to(dtype, none, WEIGHT, BIAS, 0);
  clips_to(dtype, value, (const double[]){3, -3.5}, (const double[]){0, 3.5}, 0);
  clips_to(dtype, norm, WEIGHT, (const double[]){0, 10}, tolerance); /* a norm below the limit leaves every bit */
  clips_to(dtype, unused, WEIGHT, BIAS, 0);
  clips_to(dtype, together, (const double[]){1.5, -2}, (const double[]){0, 6}, tolerance + 1e-6);
}

static void gradients_are_clipped(void) {
  clipped_in(BURN_DTYPE_F64, 1e-14);
  clipped_in(BURN_DTYPE_F32, 1e-5);
  clipped_in(BURN_DTYPE_F16, 1e-2);
  clipped_in(BURN_DTYPE_BF16, 1e-1);
}

/* The squares of 400 do not fit into f16; the norm is computed in f32. */
static void norms_of_halves_do_not_overflow(void) {
  const double big[2] = {300, -400};
  BurnGradientsParams *gradients = burn_gradients_params_create();
  BurnTensor *half = burn_cast(burn_tensor_f64(device, big, BURN_SHAPE(2)), BURN_DTYPE_F16);
  double norm = 0;
  check_status(burn_gradients_params_set(gradients, 7, half));
  BurnTensor *found = burn_gradients_params_norm(gradients);
  assert_int_equal(burn_dtype(found), BURN_DTYPE_F32);
  check_status(burn_read_scalar(found, &norm));
  assert_true(fabs(norm - 500) < 1e-3);
  check_status(burn_gradients_params_clip(gradients, (BurnGradientClipping)BURN_CLIP_NORM(5)));
  check_two(burn_gradients_params_get(gradients, 7), 3, -4, 1e-2);
  burn_gradients_params_drop(gradients);
}

static void is_nan_at(BurnTensor *x, bool first, bool second) {
  double values[2];
  check_status(burn_read_f64(x, values, 2));
  assert_true((isnan(values[0]) != 0) == first && (isnan(values[1]) != 0) == second); /* Windows: any number but 0 */
}

/* Zeros have no norm to divide by, and NaN stays; over all gradients it reaches each of them, as in PyTorch. */
static void zeros_and_nan(void) {
  const double zeros[2] = {0, 0}, nan_and_two[2] = {(double)NAN, 2};
  BurnGradientsParams *gradients = burn_gradients_params_create();
  check_status(burn_gradients_params_set(gradients, 1, burn_tensor_f64(device, zeros, BURN_SHAPE(2))));
  check_status(burn_gradients_params_clip(gradients, (BurnGradientClipping)BURN_CLIP_NORM(1)));
  check_status(burn_gradients_params_clip(gradients, (BurnGradientClipping)BURN_CLIP_GLOBAL_NORM(1)));
  check_two(burn_gradients_params_get(gradients, 1), 0, 0, 0);
  check_status(burn_gradients_params_set(gradients, 2, burn_tensor_f64(device, nan_and_two, BURN_SHAPE(2))));
  check_status(burn_gradients_params_clip(gradients, (BurnGradientClipping)BURN_CLIP_VALUE(1)));
  is_nan_at(burn_gradients_params_get(gradients, 2), true, false);
  check_status(burn_gradients_params_clip(gradients, (BurnGradientClipping)BURN_CLIP_NORM(1)));
  is_nan_at(burn_gradients_params_get(gradients, 2), true, true);
  check_two(burn_gradients_params_get(gradients, 1), 0, 0, 0);
  check_status(burn_gradients_params_clip(gradients, (BurnGradientClipping)BURN_CLIP_GLOBAL_NORM(1)));
  is_nan_at(burn_gradients_params_get(gradients, 1), true, true);
  burn_gradients_params_drop(gradients);
}

static void limits_are_positive(void) {
  static const struct {
    BurnGradientClipping clipping;
    const char *message;
  } bad[] = {
      {BURN_CLIP_VALUE(-1), "gradients: the limit of clipping by Value is -1, above 0 expected"},
      {BURN_CLIP_NORM(0), "gradients: the limit of clipping by Norm is 0, above 0 expected"},
      {BURN_CLIP_GLOBAL_NORM(-0.5), "gradients: the limit of clipping by GlobalNorm is -0.5, above 0 expected"},
      {{9, 1}, "gradients: clipping of unknown kind 9"},
  };
  BurnGradientsParams *gradients = burn_gradients_params_create();
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    check_refused(burn_gradients_params_clip(gradients, bad[i].clipping), BURN_STATUS_INVALID_ARGUMENT, bad[i].message);
  }
  const BurnGradientClipping nan = BURN_CLIP_NORM((double)NAN);
  assert_int_equal(burn_status_code(burn_gradients_params_clip(gradients, nan)), BURN_STATUS_INVALID_ARGUMENT);
  burn_gradients_params_drop(gradients);
}

static void all_tests(void **state) {
  (void)state;
  gradients_are_written();
  gradients_are_registered();
  parts_are_taken_out();
  wrong_use_is_told();
  gradients_move();
  sums_are_shared_out();
  copies_make_one_step();
  failures_of_devices_are_told();
  gradients_are_clipped();
  norms_of_halves_do_not_overflow();
  zeros_and_nan();
  limits_are_positive();
}

static void on_stacks(void **state) {
  (void)state;
  test_on_training_stacks("autodiff<ndarray>; autodiff<fusion<ndarray>>", &device, NULL, all_tests);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(on_stacks)};
  return test_stacks_result(cmocka_run_group_tests_name("gradients_params", tests, NULL, NULL));
}
