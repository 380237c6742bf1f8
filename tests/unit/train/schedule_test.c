/* schedule_test.c - every schedule against a table of rates (golden/make_schedule_golden.py), what makes no sense, and
 * runs whose schedules are made of others. */
#include "learner_testing.h"
#include "schedule_golden.h"

#include <burn/nn.h>

enum { RATES = sizeof golden_constant / sizeof golden_constant[0] };

static void check_rates(const char *name, BurnSchedule schedule, const double expected[RATES]) {
  check_status(burn_schedule_check(&schedule));
  for (int i = 0; i < RATES; i++) {
    const double rate = burn_schedule_rate(&schedule, (uint64_t)i);
    if (!(fabs(rate - expected[i]) < 1e-14)) fail_msg("%s, %d: %.17g, expected %.17g", name, i, rate, expected[i]);
  }
}

/* Parts of the schedules that are made of others. */
static BurnLinearRateConfig falling_config = {0.5, 0.1, 10}, rising_config = {0.1, 0.9, 7};
static BurnExponentialRateConfig exponential_config = {0.8, 0.9};
static BurnStepRateConfig step_config = {0.6, 4, 0.5};
static BurnCosineAnnealingConfig cosine_config = {0.5, 8, 0.1};

static void single_schedules(void **state) {
  (void)state;
  BurnConstantRateConfig constant = BurnConstantRateConfig_defaults(0.3);
  BurnStepRateConfig step = BurnStepRateConfig_defaults(0.6, 4);
  BurnNoamConfig noam = BurnNoamConfig_defaults(1), small = {2, 6, 16};
  assert_true(step.gamma == 0.1 && noam.warmup_steps == 4000 && noam.model_size == 512);
  check_rates("constant", burn_schedule_constant(&constant), golden_constant);
  check_rates("linear", burn_schedule_linear(&falling_config), golden_linear);
  check_rates("linear_rising", burn_schedule_linear(&rising_config), golden_linear_rising);
  check_rates("exponential", burn_schedule_exponential(&exponential_config), golden_exponential);
  check_rates("cosine", burn_schedule_cosine_annealing(&cosine_config), golden_cosine);
  check_rates("step", burn_schedule_step(&step_config), golden_step);
  check_rates("step_default", burn_schedule_step(&step), golden_step_default);
  check_rates("noam", burn_schedule_noam(&small), golden_noam);
  check_rates("noam_default", burn_schedule_noam(&noam), golden_noam_default);
}

static void schedules_of_others(void **state) {
  (void)state;
  const BurnSchedule three[] = {burn_schedule_linear(&falling_config), burn_schedule_step(&step_config),
                                burn_schedule_cosine_annealing(&cosine_config)};
  BurnComposedRate product = {BurnComposedRateConfig_defaults(), three, 2};
  BurnComposedRate sum = {{BURN_SUM_OF_RATES}, three, 3}, average = {{BURN_AVG_OF_RATES}, three, 3};
  check_rates("product", burn_schedule_composed(&product), golden_product);
  check_rates("sum", burn_schedule_composed(&sum), golden_sum);
  check_rates("average", burn_schedule_composed(&average), golden_average);
  const BurnSchedule chain[] = {burn_schedule_linear(&rising_config), burn_schedule_exponential(&exponential_config),
                                burn_schedule_cosine_annealing(&cosine_config)};
  const uint64_t milestones[] = {5, 12};
  BurnSequentialRate sequential = {chain, 3, milestones}, single = {chain, 1, NULL};
  check_rates("sequential", burn_schedule_sequential(&sequential), golden_sequential);
  check_rates("sequential of one", burn_schedule_sequential(&single), golden_linear_rising);
  BurnWarmUpRate warm_up = {{6, 0.05}, burn_schedule_cosine_annealing(&cosine_config)};
  check_rates("warm_up", burn_schedule_warm_up(&warm_up), golden_warm_up);
}

/* In Burn a warm-up is a linear schedule and another one. */
static void warm_up_is_a_sequence(void **state) {
  (void)state;
  BurnLinearRateConfig line = {0.05, 0.5, 6};
  const BurnSchedule chain[] = {burn_schedule_linear(&line), burn_schedule_cosine_annealing(&cosine_config)};
  const uint64_t milestones[] = {6};
  BurnSequentialRate sequential = {chain, 2, milestones};
  check_rates("linear and cosine", burn_schedule_sequential(&sequential), golden_warm_up);
}

/* Far beyond what counts of 32 bits hold. */
static void late_iterations(void **state) {
  (void)state;
  const uint64_t late = UINT64_C(5000000000);
  const BurnSchedule linear = burn_schedule_linear(&falling_config);
  const BurnSchedule step = burn_schedule_step(&step_config);
  BurnNoamConfig noam_config = {2, 6, 16};
  const BurnSchedule noam = burn_schedule_noam(&noam_config);
  assert_true(burn_schedule_rate(&linear, late) == 0.1);
  assert_true(burn_schedule_rate(&step, late) == 0);
  assert_true(fabs(burn_schedule_rate(&noam, late - 1) - 0.5 / sqrt(5e9)) < 1e-18);
}

/* -- what makes no sense ---------------------------------------------------------------------- */

static void refused(BurnSchedule schedule, const char *message) {
  const BurnStatus status = burn_schedule_check(&schedule);
  assert_int_equal(burn_status_code(status), BURN_STATUS_INVALID_ARGUMENT);
  if (!strstr(burn_status_message(status), message)) fail_msg("%s", burn_status_message(status));
}

static void single_configs_are_checked(void **state) {
  (void)state;
  refused(burn_schedule_constant(&(BurnConstantRateConfig){-1}), "constant: lr is -1, at least 0 expected");
  refused(burn_schedule_constant(&(BurnConstantRateConfig){(double)NAN}), "at least 0 expected");
  refused(burn_schedule_linear(&(BurnLinearRateConfig){0, 0.1, 2}), "linear: initial_lr is 0, above 0 to 1 expected");
  refused(burn_schedule_linear(&(BurnLinearRateConfig){0.5, 1.5, 2}), "linear: final_lr is 1.5, 0 to 1 expected");
  refused(burn_schedule_linear(&(BurnLinearRateConfig){0.5, 0, 0}), "linear: num_iters is 0, at least 1 expected");
  refused(burn_schedule_exponential(&(BurnExponentialRateConfig){2, 0.5}),
          "exponential: initial_lr is 2, above 0 to 1 expected");
  refused(burn_schedule_exponential(&(BurnExponentialRateConfig){0.5, 0}),
          "exponential: gamma is 0, above 0 to 1 expected");
  refused(burn_schedule_step(&(BurnStepRateConfig){0.5, 0, 0.1}), "step: step_size is 0, at least 1 expected");
  refused(burn_schedule_step(&(BurnStepRateConfig){(double)NAN, 1, 0.1}), "gamma 0.1, numbers expected");
  refused(burn_schedule_noam(&(BurnNoamConfig){0, 1, 1}), "noam: factor is 0, above 0 expected");
  refused(burn_schedule_noam(&(BurnNoamConfig){1, 0, 1}), "noam: warmup_steps is 0, at least 1 expected");
  refused(burn_schedule_noam(&(BurnNoamConfig){1, 1, 0}), "noam: model_size is 0, at least 1 expected");
}

/* What is written to stderr while a schedule is checked, and found good. */
static void check_told(BurnSchedule schedule, char *out, size_t bytes) {
  FILE *file = tmpfile();
  const int saved = dup(STDERR_FILENO);
  assert_non_null(file);
  assert_true(dup2(fileno(file), STDERR_FILENO) >= 0);
  const BurnStatus status = burn_schedule_check(&schedule);
  assert_true(dup2(saved, STDERR_FILENO) >= 0);
  close(saved);
  rewind(file);
  out[fread(out, 1, bytes - 1, file)] = '\0';
  fclose(file);
  check_status(status);
}

/* Burn takes such numbers, and says so. */
static void odd_steps_are_warned_of(void **state) {
  (void)state;
  char text[256];
  check_told(burn_schedule_step(&(BurnStepRateConfig){0, 2, 1}), text, sizeof text);
  assert_string_equal(text,
                      "burn: warning: step: initial_lr is 0, above 0 expected\n"
                      "burn: warning: step: gamma is 1, above 0 and below 1 expected\n");
  check_told(burn_schedule_step(&step_config), text, sizeof text);
  assert_string_equal(text, "");
}

static void parts_are_checked(void **state) {
  (void)state;
  BurnLinearRateConfig bad = {0.5, 0.1, 0};
  const BurnSchedule parts[] = {burn_schedule_step(&step_config), burn_schedule_linear(&bad)};
  const BurnSchedule absent[] = {{NULL, {NULL, NULL}}};
  const uint64_t zero[] = {0}, falling[] = {5, 5}, good[] = {5};
  refused(burn_schedule_composed(&(BurnComposedRate){{BURN_PROD_OF_RATES}, parts, 0}),
          "composed: count is 0, at least 1 expected");
  refused(burn_schedule_composed(&(BurnComposedRate){{{7}}, parts, 2}), "composed: unknown reduction 7");
  refused(burn_schedule_composed(&(BurnComposedRate){{BURN_PROD_OF_RATES}, parts, 2}),
          "composed: part 1: linear: num_iters is 0");
  refused(burn_schedule_composed(&(BurnComposedRate){{BURN_PROD_OF_RATES}, absent, 1}),
          "composed: part 0: schedule: no table, as where the config was NULL, or one without a rate");
  refused(burn_schedule_sequential(&(BurnSequentialRate){parts, 0, NULL}),
          "sequential: count is 0, at least 1 expected");
  refused(burn_schedule_sequential(&(BurnSequentialRate){parts, 2, zero}),
          "sequential: milestones[0] is 0, above 0 expected");
  refused(burn_schedule_sequential(&(BurnSequentialRate){parts, 3, falling}),
          "sequential: milestones[1] is 5, above 5 expected");
  refused(burn_schedule_sequential(&(BurnSequentialRate){parts, 2, good}),
          "sequential: part 1: linear: num_iters is 0");
  refused(burn_schedule_warm_up(&(BurnWarmUpRate){{0, 0}, parts[0]}), "warm_up: num_iters is 0, at least 1 expected");
  refused(burn_schedule_warm_up(&(BurnWarmUpRate){{1, -0.5}, parts[0]}),
          "warm_up: initial_lr is -0.5, 0 to 1 expected");
  refused(burn_schedule_warm_up(&(BurnWarmUpRate){{1, 0}, parts[1]}), "warm_up: part 0: linear: num_iters is 0");
}

static void lists_are_checked(void **state) {
  (void)state;
  const BurnSchedule parts[] = {burn_schedule_step(&step_config), burn_schedule_step(&step_config)};
  refused(burn_schedule_composed(&(BurnComposedRate){{BURN_PROD_OF_RATES}, NULL, 2}),
          "composed: schedules is NULL, a list of 2 expected");
  refused(burn_schedule_sequential(&(BurnSequentialRate){NULL, 1, NULL}),
          "sequential: schedules is NULL, a list of 1 expected");
  refused(burn_schedule_sequential(&(BurnSequentialRate){parts, 2, NULL}),
          "sequential: milestones is NULL, a list of 1 expected");
}

/* A config that nobody has checked, or that was changed since, has no rate; no optimizer steps with it. */
static void unchecked_configs_have_no_rate(void **state) {
  (void)state;
  const BurnSchedule parts[] = {burn_schedule_step(&step_config), burn_schedule_step(&step_config)};
  BurnStepRateConfig no_size = {0.5, 0, 0.1};
  const BurnSchedule unchecked[] = {
      burn_schedule_step(&no_size),
      burn_schedule_composed(&(BurnComposedRate){{BURN_PROD_OF_RATES}, NULL, 2}),
      burn_schedule_composed(&(BurnComposedRate){{BURN_AVG_OF_RATES}, parts, 0}),
      burn_schedule_sequential(&(BurnSequentialRate){parts, 0, NULL}),
      burn_schedule_sequential(&(BurnSequentialRate){NULL, 1, NULL}),
      burn_schedule_sequential(&(BurnSequentialRate){parts, 2, NULL}),
  };
  for (size_t i = 0; i < sizeof unchecked / sizeof unchecked[0]; i++)
    assert_true(isnan(burn_schedule_rate(&unchecked[i], 3)));
  BurnDevice *device = burn_device_open("autodiff<ndarray>");
  BurnLinear linear = burn_linear_new(2, 2, device);
  BurnOptimizer *optimizer = burn_sgd_create(NULL);
  const BurnLearningRateGroup group = {.schedule = unchecked[0]};
  BurnTensor *loss = burn_sum(burn_linear_forward(&linear, burn_ones(device, BURN_SHAPE(1, 2), BURN_DTYPE_F32)));
  const BurnStatus status = burn_train_step_rates(optimizer, burn_module(BurnLinear, &linear), loss,
                                                  &(BurnModuleLearningRate){0.1, &group, 1, 3});
  check_refused(status, BURN_STATUS_INVALID_ARGUMENT,
                "sgd: weight: the learning rate is nan, a finite number expected");
  assert_int_equal(burn_device_memory(device).live_tensors, 2); /* weight and bias */
  burn_optimizer_destroy(optimizer);
  BurnLinear_release(&linear);
  burn_device_close(device);
}

/* -- runs ------------------------------------------------------------------------------------- */

/* A run that resumes must have the same parts, at the same places, with the same configs. */
static void runs_have_one_schedule(void **state) {
  (void)state;
  Folder folder = folder_make();
  BurnLinearRateConfig line = {0.01, 0.05, 5};
  BurnExponentialRateConfig fall = {0.05, 0.9};
  const BurnSchedule chain[] = {burn_schedule_linear(&line), burn_schedule_exponential(&fall)};
  uint64_t milestones[] = {5};
  BurnSequentialRate sequential = {chain, 2, milestones};
  BurnWarmUpRate warm_up = {{2, 0.001}, burn_schedule_sequential(&sequential)};
  Plan plan = {.config = {.epochs = 2, .schedule = burn_schedule_warm_up(&warm_up)}};
  const Run whole = train(&plan);
  check_status(whole.status);
  plan.config.artifact_dir = folder.path;
  plan.config.epochs = 1;
  check_status(train(&plan).status);
  plan.config.resume = true;
  plan.config.epochs = 2;
  milestones[0] = 6;
  check_refused(train(&plan).status, BURN_STATUS_FAILED_PRECONDITION, "schedule.0.1.first is 6, the checkpoint has 5");
  milestones[0] = 5;
  fall.gamma = 0.8;
  check_refused(train(&plan).status, BURN_STATUS_FAILED_PRECONDITION,
                "schedule.0.1.gamma is 0.8, the checkpoint has 0.9");
  fall.gamma = 0.9;
  sequential.count = 1;
  check_refused(train(&plan).status, BURN_STATUS_FAILED_PRECONDITION, "schedule.0.parts is 1, the checkpoint has 2");
  sequential.count = 2;
  warm_up.config.initial_lr = 0;
  check_refused(train(&plan).status, BURN_STATUS_FAILED_PRECONDITION,
                "schedule.initial_lr is 0.0, the checkpoint has 0.001");
  warm_up.config.initial_lr = 0.001;
  const Run rest = train(&plan);
  check_status(rest.status);
  same_from(&whole, &rest, 1);
  folder_remove(folder.path);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(single_schedules),           cmocka_unit_test(schedules_of_others),
      cmocka_unit_test(warm_up_is_a_sequence),      cmocka_unit_test(late_iterations),
      cmocka_unit_test(single_configs_are_checked), cmocka_unit_test(parts_are_checked),
      cmocka_unit_test(odd_steps_are_warned_of),    cmocka_unit_test(runs_have_one_schedule),
      cmocka_unit_test(lists_are_checked),          cmocka_unit_test(unchecked_configs_have_no_rate),
  };
  return cmocka_run_group_tests_name("schedule", tests, NULL, NULL);
}
