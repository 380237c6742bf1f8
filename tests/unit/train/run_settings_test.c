/* run_settings_test.c - a run that resumes with another optimizer, and checkpoints that say nothing of theirs. What else
 * makes another run is in checkpoint_test.c. */
#include "learner_testing.h"

static BurnOptimizer *other_numbers(void) {
  BurnAdamConfig config = BurnAdamConfig_defaults();
  config.beta_1 = 0.5;
  return burn_adam_create(&config);
}

static BurnOptimizer *other_rule(void) { return burn_adamw_create(NULL); }

static BurnOptimizer *other_clipping(void) {
  BurnOptimizer *optimizer = burn_adam_create(NULL);
  check_status(burn_optimizer_with_clipping(optimizer, (BurnGradientClipping)BURN_CLIP_GLOBAL_NORM(0.5)));
  return optimizer;
}

static BurnOptimizer *with_sgd_for(const char *const *paths) {
  BurnOptimizer *optimizer = burn_adam_create(NULL);
  check_status(burn_optimizer_with_group(optimizer, &(BurnParamGroup){.paths = paths}, burn_sgd_create(NULL)));
  return optimizer;
}

static BurnOptimizer *group_of_one(void) {
  static const char *const paths[] = {"bias_1", NULL};
  return with_sgd_for(paths);
}

static BurnOptimizer *group_of_another(void) {
  static const char *const paths[] = {"bias_2", NULL};
  return with_sgd_for(paths);
}

static void another_optimizer_is_refused(void **state) {
  (void)state;
  static const struct {
    BurnOptimizer *(*before)(void), *(*now)(void);
    const char *part;
  } cases[] = {
      {NULL, other_numbers, "another run: optimizer.beta_1 is 0.5, the checkpoint has 0.9. Resume"},
      {NULL, other_rule,
       "another run: optimizer is adamw, the checkpoint has adam; optimizer.weight_decay is 0.0001, "},
      {NULL, other_clipping, "another run: optimizer.clipping is GlobalNorm 0.5, the checkpoint has None. Resume"},
      {other_clipping, NULL, "another run: optimizer.clipping is None, the checkpoint has GlobalNorm 0.5. Resume"},
      {NULL, group_of_one, "another run: optimizer.groups is 1, the checkpoint has 0. Resume"},
      {group_of_one, group_of_another, "another run: optimizer.1.paths.0 is bias_2, the checkpoint has bias_1. Resume"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    Folder folder = folder_make();
    Plan plan = {.config = {.epochs = 1, .artifact_dir = folder.path}, .optimizer = cases[i].before};
    check_status(train(&plan).status);
    plan.config.resume = true;
    plan.config.epochs = 2;
    plan.optimizer = cases[i].now;
    check_refused(train(&plan).status, BURN_STATUS_FAILED_PRECONDITION, cases[i].part);
    plan.optimizer = cases[i].before;
    check_status(train(&plan).status);
    folder_remove(folder.path);
  }
}

/* Takes what begins with "optimizer" out of the settings of a checkpoint, as those of earlier versions lack it. */
static void forget_optimizer(const char *path) {
  const BurnRecordConfig format = {BURN_RECORD_MPK, BURN_PRECISION_DOUBLE};
  BurnValue *learner = NULL, *kept = burn_value_map();
  check_status(burn_value_read(path, &format, &learner));
  const BurnValue *settings = burn_value_get(learner, "settings");
  for (size_t i = 0; i < burn_value_count(settings); i++) {
    const char *name = burn_value_key_at(settings, i), *text = burn_value_as_text(burn_value_at(settings, i), "");
    if (strncmp(name, "optimizer", 9) != 0) assert_true(burn_value_set(kept, name, burn_value_text(text)));
  }
  assert_in_range(burn_value_count(kept), 1, burn_value_count(settings) - 3);
  assert_true(burn_value_set(learner, "settings", kept));
  check_status(burn_value_write(learner, path, &format));
  burn_value_destroy(learner);
}

static void checkpoints_without_an_optimizer_resume(void **state) {
  (void)state;
  Folder folder = folder_make();
  Plan plan = {.config = {.epochs = 1, .artifact_dir = folder.path}};
  check_status(train(&plan).status);
  forget_optimizer(file_in(&folder, "checkpoint/learner-1.mpk"));
  plan.config.resume = true;
  plan.config.epochs = 2;
  plan.optimizer = other_numbers;
  const Run run = train(&plan);
  check_status(run.status);
  assert_int_equal(run.result.epochs_resumed, 1);
  folder_remove(folder.path);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(another_optimizer_is_refused),
      cmocka_unit_test(checkpoints_without_an_optimizer_resume),
  };
  return cmocka_run_group_tests_name("run_settings", tests, NULL, NULL);
}
