/* schedule_cosine_annealing_test.c - rates of PyTorch 1.13 (torch.optim.lr_scheduler.CosineAnnealingLR), what makes no
 * sense, and a run whose config is compared. */
#include "learner_testing.h"

/* lr 0.5, T_max 8, eta_min 0.1 */
static const double expected[] = {0.5, 0.484775906502257, 0.441421356237309, 0.376536686473018,
                                  0.3, 0.223463313526982, 0.158578643762691, 0.115224093497743,
                                  0.1, 0.115224093497743, 0.158578643762691, 0.223463313526982,
                                  0.3};

static void rates_of_pytorch(void **state) {
  (void)state;
  BurnCosineAnnealingConfig config = BurnCosineAnnealingConfig_defaults(0.5, 8);
  assert_true(config.min_lr == 0);
  config.min_lr = 0.1;
  const BurnSchedule schedule = burn_schedule_cosine_annealing(&config);
  check_status(burn_schedule_check(&schedule));
  for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
    const double rate = burn_schedule_rate(&schedule, i);
    if (!(fabs(rate - expected[i]) < 1e-14)) fail_msg("%zu: %.17g, expected %.17g", i, rate, expected[i]);
  }
}

static void what_makes_no_sense_is_refused(void **state) {
  (void)state;
  static const struct {
    BurnCosineAnnealingConfig config;
    const char *part;
  } bad[] = {{{.initial_lr = 0, .num_iters = 1}, "initial_lr is 0, above 0 to 1 expected"},
             {{.initial_lr = 1.5, .num_iters = 1}, "initial_lr is 1.5"},
             {{.initial_lr = (double)NAN, .num_iters = 1}, "initial_lr is "},
             {{.initial_lr = 0.5, .num_iters = 1, .min_lr = 0.6}, "min_lr is 0.6, 0 to initial_lr 0.5 expected"},
             {{.initial_lr = 0.5, .num_iters = 1, .min_lr = -1}, "min_lr is -1"},
             {{.initial_lr = 0.5}, "num_iters is 0"}};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    BurnCosineAnnealingConfig config = bad[i].config;
    const BurnSchedule schedule = burn_schedule_cosine_annealing(&config);
    check_refused(burn_schedule_check(&schedule), BURN_STATUS_INVALID_ARGUMENT, bad[i].part);
  }
}

static void a_run_has_one_schedule(void **state) {
  (void)state;
  Folder folder = folder_make();
  BurnCosineAnnealingConfig config = BurnCosineAnnealingConfig_defaults(0.05, 14);
  Plan plan = {.config = {.epochs = 2,
                          .schedule = burn_schedule_cosine_annealing(&config),
                          .metrics = BURN_METRICS(burn_metric_learning_rate())}};
  const Run whole = train(&plan);
  check_status(whole.status);
  double sum = 0;
  for (int i = 7; i < 14; i++) sum += 0.05 * (1 + cos(acos(-1.0) * i / 14)) / 2;
  assert_true(fabs(burn_epoch_metric(&whole.epochs[1], "LearningRate", BURN_SPLIT_TRAIN) - sum / 7) < 1e-15);
  plan.config.artifact_dir = folder.path;
  plan.config.epochs = 1;
  check_status(train(&plan).status);
  plan.config.resume = true;
  plan.config.epochs = 2;
  config.num_iters = 15;
  check_refused(train(&plan).status, BURN_STATUS_FAILED_PRECONDITION,
                "schedule.num_iters is 15, the checkpoint has 14");
  config.num_iters = 14;
  const Run rest = train(&plan);
  check_status(rest.status);
  same_from(&whole, &rest, 1);
  folder_remove(folder.path);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rates_of_pytorch),
      cmocka_unit_test(what_makes_no_sense_is_refused),
      cmocka_unit_test(a_run_has_one_schedule),
  };
  return cmocka_run_group_tests_name("schedule_cosine_annealing", tests, NULL, NULL);
}
