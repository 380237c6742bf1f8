/* grad_scaler_test.c - loss scaling: the scale's way up and down, gradients divided, steps left out, records, and the
 * learner with it. A scale that is a power of two changes no bit of a training in f32. */
#include "learner_testing.h"

#define ONE_FIELDS(X) X(BurnParam, weight, "[2]")
BURN_MODULE(One, ONE_FIELDS);

static BurnDevice *open_stack(const char *stack) {
  BurnDevice *device = burn_device_open(stack);
  check_status(burn_device_status(device));
  return device;
}

static One one_make(BurnDevice *device) {
  return (One){burn_param(burn_tensor_f32(device, (float[]){1, 2}, BURN_SHAPE(2)))};
}

/* The gradients of sum(weight * factors) times the scale. */
static BurnGradientsParams *gradients_of(const BurnGradScaler *scaler, One *m, BurnDevice *device, float a, float b) {
  BurnTensor *factors = burn_tensor_f32(device, (float[]){a, b}, BURN_SHAPE(2));
  BurnTensor *loss = burn_sum(burn_mul(burn_param_value(&m->weight), factors));
  BurnGradients *gradients = NULL;
  check_status(burn_backward(burn_grad_scaler_scale(scaler, loss), &gradients));
  return burn_gradients_params(gradients, burn_module(One, m));
}

static void expect_weight(const One *m, float a, float b) {
  float values[2];
  check_status(burn_read_f32(burn_param_value(&m->weight), values, 2));
  if (values[0] != a || values[1] != b) /* exact: halves and doubles */
    fail_msg("%g %g, expected %g %g", (double)values[0], (double)values[1], (double)a, (double)b);
}

static void expect_scale(const BurnGradScaler *scaler, double scale, uint64_t tracker) {
  if (fabs(scaler->scale - scale) > 0 || scaler->growth_tracker != tracker)
    fail_msg("%g after %llu, expected %g after %llu", scaler->scale, (unsigned long long)scaler->growth_tracker, scale,
             (unsigned long long)tracker);
}

/* PyTorch's: 65536, twice as much after 2000 steps, half as much after one that is not finite. */
static void test_scale_grows_and_backs_off(void **state) {
  (void)state;
  BurnGradScaler scaler = burn_grad_scaler(NULL);
  expect_scale(&scaler, 65536, 0);
  for (int i = 0; i < 1999; i++) burn_grad_scaler_update(&scaler, true);
  expect_scale(&scaler, 65536, 1999);
  burn_grad_scaler_update(&scaler, true);
  expect_scale(&scaler, 131072, 0);
  burn_grad_scaler_update(&scaler, true);
  burn_grad_scaler_update(&scaler, false);
  expect_scale(&scaler, 65536, 0);
  BurnGradScalerConfig config = BurnGradScalerConfig_defaults();
  config.init_scale = 3e38;
  config.growth_interval = 1;
  scaler = burn_grad_scaler(&config);
  burn_grad_scaler_update(&scaler, true); /* twice that is not f32 */
  expect_scale(&scaler, 3e38, 0);
}

static void test_steps_are_taken_and_left_out(void **state) {
  (void)state;
  static const char *const stacks[] = {"autodiff<ndarray>", "autocast:dtype=f16<autodiff<ndarray>>",
                                       "autodiff<fusion<ndarray>>"};
  for (size_t i = 0; i < sizeof stacks / sizeof stacks[0]; i++) {
    BurnDevice *device = open_stack(stacks[i]);
    One m = one_make(device);
    const BurnModule module = burn_module(One, &m);
    BurnOptimizer *optimizer = burn_sgd_create(NULL);
    BurnGradScaler scaler = burn_grad_scaler(NULL);
    bool stepped = false;
    check_status(
        burn_grad_scaler_step(&scaler, optimizer, module, gradients_of(&scaler, &m, device, 0.5f, -2), 1, &stepped));
    assert_true(stepped);
    expect_weight(&m, 0.5f, 4);
    static const float bad[] = {INFINITY, -INFINITY, NAN, 3e38f};
    for (size_t k = 0; k < 4; k++) {
      check_status(
          burn_grad_scaler_step(&scaler, optimizer, module, gradients_of(&scaler, &m, device, bad[k], 1), 1, &stepped));
      assert_false(stepped);
      expect_weight(&m, 0.5f, 4);
    }
    expect_scale(&scaler, 4096, 0);
    burn_optimizer_destroy(optimizer);
    One_release(&m);
    assert_int_equal(burn_device_memory(device).live_tensors, 0);
    burn_device_close(device);
  }
}

static void test_unscaled_gradients(void **state) {
  (void)state;
  BurnDevice *device = open_stack("autodiff<ndarray>");
  One m = one_make(device);
  const BurnGradScaler scaler = burn_grad_scaler(NULL);
  BurnGradientsParams *gradients = gradients_of(&scaler, &m, device, 0.25f, 3);
  bool finite = false;
  check_status(burn_grad_scaler_unscale(&scaler, gradients, &finite));
  assert_true(finite);
  float values[2];
  check_status(burn_read_f32(burn_gradients_params_get(gradients, m.weight.id), values, 2));
  assert_true(values[0] == 0.25f && values[1] == 3);
  burn_gradients_params_drop(gradients);
  check_refused(burn_grad_scaler_unscale(&scaler, NULL, &finite), BURN_STATUS_OUT_OF_MEMORY, "gradients: NULL");
  One_release(&m);
  burn_device_close(device);
}

static void test_configs_are_checked(void **state) {
  (void)state;
  static const struct {
    double init, growth, backoff;
    const char *message;
  } rows[] = {{0, 2, 0.5, "init_scale"},
              {(double)NAN, 2, 0.5, "init_scale"},
              {1, 1, 0.5, "growth_factor"},
              {1, 2, 1, "backoff_factor"},
              {1, 2, 0, "backoff_factor"}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    const BurnGradScalerConfig config = {rows[i].init, rows[i].growth, rows[i].backoff, 2000};
    BurnGradScaler scaler = burn_grad_scaler(&config);
    check_refused(burn_grad_scaler_status(&scaler), BURN_STATUS_INVALID_ARGUMENT, rows[i].message);
    const Plan plan = {.config = {.epochs = 1, .grad_scaler = &scaler}};
    const Run run = train(&plan);
    check_refused(run.status, BURN_STATUS_INVALID_ARGUMENT, rows[i].message);
  }
}

static void test_state_as_a_record(void **state) {
  (void)state;
  BurnGradScaler scaler = burn_grad_scaler(NULL), other = burn_grad_scaler(NULL);
  burn_grad_scaler_update(&scaler, false);
  burn_grad_scaler_update(&scaler, true);
  BurnValue *value = burn_grad_scaler_value(&scaler);
  check_status(burn_grad_scaler_load(&other, value));
  expect_scale(&other, 32768, 1);
  assert_true(burn_value_set(value, "scale", burn_value_float(-1)));
  check_refused(burn_grad_scaler_load(&other, value), BURN_STATUS_CORRUPT_DATA, "a scale of -1 after 1 steps is none");
  expect_scale(&other, 32768, 1);
  burn_value_destroy(value);
}

/* -- in a learner ----------------------------------------------------------------------------- */

static BurnGradScaler growing(void) {
  BurnGradScalerConfig config = BurnGradScalerConfig_defaults();
  config.growth_interval = 5;
  return burn_grad_scaler(&config);
}

static void test_learner_gives_the_same_numbers(void **state) {
  (void)state;
  BurnGradScaler scaler = growing();
  Plan plan = {.config = {.epochs = 2}};
  const Run plain = train(&plan);
  plan.config.grad_scaler = &scaler;
  const Run scaled = train(&plan);
  check_status(scaled.status);
  same_from(&plain, &scaled, 0);
  assert_int_equal(scaled.result.steps, plain.result.steps);
  assert_int_equal(scaled.result.skipped, 0);
  expect_scale(&scaler, 65536 * 4, 4); /* 14 steps: two times five, and four */
}

/* A run that resumes goes on with the scale of its checkpoint. */
static void test_learner_resumes_with_the_scale(void **state) {
  (void)state;
  const Folder folder = folder_make();
  BurnGradScaler whole = growing(), first = growing(), rest = growing();
  Plan plan = {.config = {.epochs = 2, .grad_scaler = &whole}};
  const Run expected = train(&plan);
  plan.config = (BurnLearnerConfig){.epochs = 1, .artifact_dir = folder.path, .grad_scaler = &first};
  check_status(train(&plan).status);
  plan.config = (BurnLearnerConfig){.epochs = 2, .artifact_dir = folder.path, .grad_scaler = &rest, .resume = true};
  const Run resumed = train(&plan);
  check_status(resumed.status);
  same_from(&expected, &resumed, 1);
  expect_scale(&rest, whole.scale, whole.growth_tracker);
  folder_remove(folder.path);
}

/* In f16 a scale beyond its range: the first steps are left out until it fits. */
static void test_learner_leaves_steps_out(void **state) {
  (void)state;
  BurnGradScalerConfig config = BurnGradScalerConfig_defaults();
  config.init_scale = 0x1p40;
  BurnGradScaler scaler = burn_grad_scaler(&config);
  const Plan plan = {.config = {.epochs = 12, .grad_scaler = &scaler},
                     .stack = "autocast:dtype=f16<autodiff<ndarray>>",
                     .without_dropout = true};
  const Run run = train(&plan);
  check_status(run.status);
  assert_true(run.result.skipped > 10);
  assert_int_equal(run.result.steps + run.result.skipped, 12 * 7);
  if (scaler.scale < 0x1p10 || scaler.scale > 0x1p30) fail_msg("the scale ends at %g", scaler.scale);
  assert_true(train_of(&run.result.last, "Loss") < train_of(&run.epochs[0], "Loss"));
}

int main(int argc, char **argv) {
  (void)argc;
  program = argv[0];
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_scale_grows_and_backs_off),
      cmocka_unit_test(test_steps_are_taken_and_left_out),
      cmocka_unit_test(test_unscaled_gradients),
      cmocka_unit_test(test_configs_are_checked),
      cmocka_unit_test(test_state_as_a_record),
      cmocka_unit_test(test_learner_gives_the_same_numbers),
      cmocka_unit_test(test_learner_resumes_with_the_scale),
      cmocka_unit_test(test_learner_leaves_steps_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
