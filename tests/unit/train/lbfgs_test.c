/* lbfgs_test.c - L-BFGS on Rosenbrock's function against PyTorch's (golden/make_optimizer_golden.py), its records, and
 * what is refused. The four numbers are two parameters of different rank, so that the vector is made of parts. */
#include <burn/train.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "optimizer_golden.h"
#include "status_testing.h"
#include "test_stacks.h"

enum { STEPS = 4, NUMBERS = 4, ROW = 1 + NUMBERS };

#define POINT_FIELDS(X)          \
  X(BurnParam, first, "[2]")     \
  X(BurnParam, second, "[1, 2]") \
  X(BurnParam, unused, "[3], which no loss uses")
BURN_MODULE(Point, POINT_FIELDS);

static BurnDevice *device;

static void check_refused(BurnStatus status, uint32_t code, const char *message) {
  assert_int_not_equal(status, BURN_OK);
  if (!strstr(burn_status_message(status), message)) fail_msg("%s", burn_status_message(status));
  assert_int_equal(burn_status_code(status), code);
}

static Point point_at(BurnDType dtype, const double start[NUMBERS]) {
  return (Point){.first = burn_param(burn_cast(burn_tensor_f64(device, start, BURN_SHAPE(2)), dtype)),
                 .second = burn_param(burn_cast(burn_tensor_f64(device, start + 2, BURN_SHAPE(1, 2)), dtype)),
                 .unused = burn_param(burn_ones(device, BURN_SHAPE(3), dtype))};
}

static Point point_make(BurnDType dtype) { return point_at(dtype, (const double[]){-1.2, 1.0, -0.5, 0.8}); }

static void point_read(const Point *point, double values[NUMBERS]) {
  check_status(burn_read_f64(burn_cast(burn_param_value(&point->first), BURN_DTYPE_F64), values, 2));
  check_status(burn_read_f64(burn_cast(burn_param_value(&point->second), BURN_DTYPE_F64), values + 2, 2));
}

static BurnTensor *numbers_of(const Point *point) {
  BurnTensor *parts[] = {burn_param_value(&point->first),
                         burn_reshape(burn_param_value(&point->second), BURN_SHAPE(2))};
  return burn_cat(parts, 2, 0);
}

/* 10 (x[i + 1] - x[i]^2)^2 + (1 - x[i])^2, summed. */
static BurnTensor *rosenbrock(void *context) {
  BurnTensor *x = numbers_of(context);
  BurnTensor *left = burn_narrow(burn_clone(x), 0, 0, NUMBERS - 1), *right = burn_narrow(x, 0, 1, NUMBERS - 1);
  BurnTensor *curve = burn_square(burn_sub(right, burn_square(burn_clone(left))));
  BurnTensor *away = burn_square(burn_scalar_sub(1, left));
  return burn_sum(burn_add(burn_mul_scalar(curve, 10), away));
}

/* k x^2 + a cos(w x), summed: many places where it is flat. */
static BurnTensor *waves(const Point *point, double k, double w, double a) {
  BurnTensor *x = numbers_of(point);
  BurnTensor *wave = burn_mul_scalar(burn_cos(burn_mul_scalar(burn_clone(x), w)), a);
  return burn_sum(burn_add(burn_mul_scalar(burn_square(x), k), wave));
}

static BurnTensor *turning(void *context) { return waves(context, 0.1, 3, 0.5); }
static BurnTensor *rising(void *context) { return waves(context, 0.05, 2, 0.1); }

/* -- PyTorch ---------------------------------------------------------------------------------- */

typedef struct Case {
  const char *name;
  BurnLossClosure loss;
  double start[NUMBERS];
  BurnLbfgsConfig config;
  double rate;
  const double *expected; /* of each step: the loss, the numbers */
} Case;

#define ROSENBROCK \
  rosenbrock, { -1.2, 1.0, -0.5, 0.8 }
#define SEARCHING(iterations) \
  { iterations, 100, 1e-7, 1e-9, 200, BURN_STRONG_WOLFE }
static const Case cases[] = {
    {"lbfgs", ROSENBROCK, {5, 100, 1e-7, 1e-9, 0, BURN_NO_LINE_SEARCH}, 0.1, golden_lbfgs},
    {"short history", ROSENBROCK, {5, 2, 1e-7, 1e-9, 0, BURN_NO_LINE_SEARCH}, 0.1, golden_lbfgs_short_history},
    {"wolfe", ROSENBROCK, SEARCHING(4), 1.0, golden_lbfgs_wolfe},
    {"wolfe, far", ROSENBROCK, SEARCHING(6), 30.0, golden_lbfgs_wolfe_far},
    {"wolfe, turning", turning, {-5.4, -5.6, 2.0, 4.0}, SEARCHING(3), 10.0, golden_lbfgs_wolfe_turning},
    {"wolfe, rising", rising, {4.3, 5.1, -2.2, 0.4}, SEARCHING(3), 0.3, golden_lbfgs_wolfe_rising},
};
enum { CASES = sizeof cases / sizeof cases[0] };

static void step(const Case *with, BurnLbfgs *lbfgs, Point *point, int row, double tolerance) {
  double found[ROW];
  check_status(burn_lbfgs_step(lbfgs, burn_module(Point, point), with->loss, point, with->rate, &found[0]));
  point_read(point, found + 1);
  for (int i = 0; i < ROW; i++) {
    const double expected = with->expected[row * ROW + i];
    if (!(fabs(found[i] - expected) < tolerance * fmax(1, fabs(expected)))) {
      fail_msg("%s, step %d, %d: %.17g, expected %.17g", with->name, row, i, found[i], expected);
    }
  }
}

static void steps_of_pytorch(void) {
  for (size_t c = 0; c < CASES; c++) {
    Point point = point_at(BURN_DTYPE_F64, cases[c].start);
    BurnLbfgs *lbfgs = burn_lbfgs_create(&cases[c].config);
    for (int row = 0; row < STEPS; row++) step(&cases[c], lbfgs, &point, row, 1e-9);
    assert_true(burn_is_require_grad(point.first.value) && burn_is_require_grad(point.second.value));
    double unused[3];
    check_status(burn_read_f64(burn_param_value(&point.unused), unused, 3));
    for (int i = 0; i < 3; i++) assert_true(unused[i] == 1);
    burn_lbfgs_destroy(lbfgs);
    Point_release(&point);
  }
}

/* The least value is 0, where all numbers are 1. */
static void reaches_the_least_value(void) {
  const BurnDType dtypes[] = {BURN_DTYPE_F64, BURN_DTYPE_F32};
  for (int i = 0; i < 2; i++) {
    Point point = point_make(dtypes[i]);
    BurnLbfgsConfig config = BurnLbfgsConfig_defaults();
    config.line_search = (BurnLineSearch)BURN_STRONG_WOLFE;
    BurnLbfgs *lbfgs = burn_lbfgs_create(&config);
    double loss = 1, values[NUMBERS];
    for (int t = 0; t < 5; t++) {
      check_status(burn_lbfgs_step(lbfgs, burn_module(Point, &point), rosenbrock, &point, 1, &loss));
    }
    assert_int_equal(burn_dtype(point.first.value), dtypes[i]);
    point_read(&point, values);
    for (int n = 0; n < NUMBERS; n++) assert_true(fabs(values[n] - 1) < (i ? 1e-2 : 1e-5));
    assert_true(loss < (i ? 1e-5 : 1e-10));
    burn_lbfgs_destroy(lbfgs);
    Point_release(&point);
  }
}

/* -- records ---------------------------------------------------------------------------------- */

static BurnLbfgs *through_record(const BurnLbfgsConfig *config, const BurnLbfgs *lbfgs, uint32_t precision) {
  char folder[] = "/tmp/burn_lbfgs_XXXXXX", file[64];
  const BurnRecordConfig record = {BURN_RECORD_MPK, precision};
  BurnLbfgs *again = burn_lbfgs_create(config);
  BurnValue *value = burn_lbfgs_value(lbfgs), *read = NULL;
  assert_non_null(mkdtemp(folder));
  snprintf(file, sizeof file, "%s/optim.mpk", folder);
  check_status(burn_value_write(value, file, &record));
  check_status(burn_value_read(file, &record, &read));
  check_status(burn_lbfgs_load(again, read, device));
  burn_value_destroy(value);
  burn_value_destroy(read);
  remove(file);
  rmdir(folder);
  return again;
}

static void goes_on_after_a_record(void) {
  const uint32_t precisions[] = {BURN_PRECISION_DOUBLE, BURN_PRECISION_FULL};
  const double tolerances[] = {1e-9, 1e-3};
  for (size_t c = 0; c < CASES; c++) {
    for (int p = 0; p < 2; p++) {
      Point point = point_at(BURN_DTYPE_F64, cases[c].start);
      BurnLbfgs *lbfgs = burn_lbfgs_create(&cases[c].config);
      step(&cases[c], lbfgs, &point, 0, 1e-9);
      step(&cases[c], lbfgs, &point, 1, 1e-9);
      BurnLbfgs *again = through_record(&cases[c].config, lbfgs, precisions[p]);
      step(&cases[c], again, &point, 2, tolerances[p]);
      step(&cases[c], again, &point, 3, tolerances[p]);
      burn_lbfgs_destroy(lbfgs);
      burn_lbfgs_destroy(again);
      Point_release(&point);
    }
  }
}

/* A record before the first step, of a longer history, and of another module. */
static void records_of_other_runs(void) {
  Point point = point_make(BURN_DTYPE_F64);
  BurnLbfgs *lbfgs = burn_lbfgs_create(NULL), *fresh = through_record(NULL, lbfgs, BURN_PRECISION_FULL);
  BurnLbfgsConfig small = BurnLbfgsConfig_defaults();
  small.history_size = 2;
  check_status(burn_lbfgs_step(fresh, burn_module(Point, &point), rosenbrock, &point, 0.1, NULL));
  BurnLbfgs *shorter = through_record(&small, fresh, BURN_PRECISION_DOUBLE);
  BurnValue *value = burn_lbfgs_value(shorter);
  assert_int_equal(burn_value_count(burn_value_get(value, "history_s")), 2);
  burn_value_destroy(value);
  check_status(burn_lbfgs_step(shorter, burn_module(Point, &point), rosenbrock, &point, 0.1, NULL));
  burn_module_no_grad(burn_module(Point, &point));
  BurnTensor *weight = burn_detach(burn_param_value(&point.second));
  burn_drop(point.second.value);
  point.second = burn_param(weight);
  check_refused(burn_lbfgs_step(shorter, burn_module(Point, &point), rosenbrock, &point, 0.1, NULL),
                BURN_STATUS_INVALID_SHAPE, "lbfgs: the state is of 7 numbers, the parameters are 2");
  burn_lbfgs_destroy(lbfgs);
  burn_lbfgs_destroy(fresh);
  burn_lbfgs_destroy(shorter);
  Point_release(&point);
}

/* Loads a map of which `key` (taken away if `value` is NULL) is other than it should be. */
static void load_refused(const char *key, BurnValue *value, const char *message) {
  static const char *const keys[] = {"history_s", "history_y", "d", "prev_flat_grad", "g_iter"};
  BurnLbfgs *lbfgs = burn_lbfgs_create(NULL);
  BurnValue *map = burn_value_map();
  for (int i = 0; i < 5; i++) {
    BurnValue *sound = i < 2 ? burn_value_array() : i < 4 ? burn_value_nil() : burn_value_int(3);
    if (strcmp(keys[i], key) != 0) assert_true(burn_value_set(map, keys[i], sound));
    if (strcmp(keys[i], key) == 0) burn_value_destroy(sound);
  }
  if (value) assert_true(burn_value_set(map, key, value));
  check_refused(burn_lbfgs_load(lbfgs, map, device), BURN_STATUS_CORRUPT_DATA, message);
  burn_value_destroy(map);
  burn_lbfgs_destroy(lbfgs);
}

static BurnValue *array_of(BurnValue *child) {
  BurnValue *array = burn_value_array();
  assert_true(burn_value_append(array, child));
  return array;
}

static void bad_records_are_refused(void) {
  BurnDevice *inner = burn_device_inner(device);
  load_refused("g_iter", NULL, "lbfgs record: g_iter is missing or negative");
  load_refused("g_iter", burn_value_int(-1), "lbfgs record: g_iter is missing or negative");
  load_refused("d", NULL, "lbfgs record: d is missing or no vector");
  load_refused("d", burn_value_tensor(burn_ones(inner, BURN_SHAPE(2, 2), BURN_DTYPE_F32)), "d is missing or no vector");
  load_refused("prev_flat_grad", burn_value_int(1), "prev_flat_grad is missing or no vector");
  load_refused("history_s", burn_value_nil(), "history_s and history_y, arrays, expected");
  load_refused("history_s", array_of(burn_value_nil()), "history_s and history_y are of two lengths");
  load_refused("history_y", NULL, "history_s and history_y, arrays, expected");
}

/* -- what is refused -------------------------------------------------------------------------- */

static void config_refused(BurnLbfgsConfig config, const char *message) {
  Point point = point_make(BURN_DTYPE_F32);
  BurnLbfgs *lbfgs = burn_lbfgs_create(&config);
  check_refused(burn_lbfgs_status(lbfgs), BURN_STATUS_INVALID_ARGUMENT, message);
  check_refused(burn_lbfgs_step(lbfgs, burn_module(Point, &point), rosenbrock, &point, 1, NULL),
                BURN_STATUS_INVALID_ARGUMENT, message);
  assert_null(burn_lbfgs_value(lbfgs));
  burn_lbfgs_destroy(lbfgs);
  Point_release(&point);
}

static BurnTensor *no_loss(void *context) {
  (void)context;
  return NULL;
}

static BurnTensor *loss_of_a_copy(void *context) {
  Point copy = Point_clone(context);
  BurnTensor *loss = rosenbrock(&copy);
  Point_release(&copy);
  return loss;
}

typedef struct Failing {
  Point *point;
  int left; /* losses until it fails */
} Failing;

static BurnTensor *failing(void *context) {
  Failing *run = context;
  if (run->left-- > 0) return rosenbrock(run->point);
  return burn_tensor_failed(burn_status_make(BURN_STATUS_UNIMPLEMENTED, "the loss has failed"));
}

static void wrong_use_is_told(void) {
  const BurnLbfgsConfig defaults = BurnLbfgsConfig_defaults();
  assert_true(defaults.max_iter == 20 && defaults.history_size == 100 && defaults.max_eval == 0);
  assert_true(defaults.tolerance_grad == 1e-7 && defaults.tolerance_change == 1e-9);
  BurnLbfgsConfig config = defaults;
  config.max_iter = 0;
  config_refused(config, "lbfgs: max_iter is 0, at least 1 expected");
  config = defaults;
  config.tolerance_change = -1;
  config_refused(config, "lbfgs: tolerance_change is -1, at least 0 expected");
  check_refused(burn_lbfgs_status(NULL), BURN_STATUS_OUT_OF_MEMORY,
                "lbfgs: NULL: out of memory when it was created, or not created");
  burn_lbfgs_destroy(NULL);
  Point point = point_make(BURN_DTYPE_F64);
  const BurnModule module = burn_module(Point, &point);
  BurnLbfgs *lbfgs = burn_lbfgs_create(NULL);
  check_refused(burn_lbfgs_step(NULL, module, rosenbrock, &point, 1, NULL), BURN_STATUS_OUT_OF_MEMORY, "lbfgs");
  check_refused(burn_lbfgs_step(lbfgs, module, no_loss, NULL, 1, NULL), BURN_STATUS_INVALID_ARGUMENT,
                "lbfgs: the closure gave no loss");
  check_refused(burn_lbfgs_step(lbfgs, module, loss_of_a_copy, &point, 1, NULL), BURN_STATUS_INVALID_ARGUMENT,
                "no parameter of Point got a gradient: the loss was not computed from it, but perhaps from a copy");
  burn_module_no_grad(module);
  check_refused(burn_lbfgs_step(lbfgs, module, rosenbrock, &point, 1, NULL), BURN_STATUS_INVALID_ARGUMENT,
                "none asks for one");
  burn_lbfgs_destroy(lbfgs);
  Point_release(&point);
}

/* The third loss fails, in the midst of an iteration: the parameters are those of the one before. */
static void failures_keep_the_last_point(void) {
  for (size_t c = 0; c < 4; c++) { /* those of Rosenbrock's function */
    Point point = point_make(BURN_DTYPE_F64), other = Point_clone(&point);
    BurnLbfgsConfig config = cases[c].config, single = config;
    single.max_iter = 1;
    BurnLbfgs *lbfgs = burn_lbfgs_create(&config), *once = burn_lbfgs_create(&single);
    Failing run = {&point, 100}, counted = {&other, 100};
    double found[NUMBERS], expected[NUMBERS];
    check_status(burn_lbfgs_step(once, burn_module(Point, &other), failing, &counted, cases[c].rate, NULL));
    run.left = 100 - counted.left;
    check_refused(burn_lbfgs_step(lbfgs, burn_module(Point, &point), failing, &run, cases[c].rate, NULL),
                  BURN_STATUS_UNIMPLEMENTED, "the loss has failed");
    point_read(&point, found);
    point_read(&other, expected);
    assert_memory_equal(found, expected, sizeof expected);
    burn_lbfgs_destroy(lbfgs);
    burn_lbfgs_destroy(once);
    Point_release(&point);
    Point_release(&other);
  }
}

static void all_tests(void **state) {
  (void)state;
  steps_of_pytorch();
  reaches_the_least_value();
  goes_on_after_a_record();
  records_of_other_runs();
  bad_records_are_refused();
  wrong_use_is_told();
  failures_keep_the_last_point();
}

static void on_stacks(void **state) {
  (void)state;
  test_on_training_stacks("autodiff<ndarray>; autodiff<fusion<ndarray>>", &device, NULL, all_tests);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(on_stacks)};
  return test_stacks_result(cmocka_run_group_tests_name("lbfgs", tests, NULL, NULL));
}
