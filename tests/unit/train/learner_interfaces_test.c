/* learner_interfaces_test.c - the parts of a run that users can write themselves: metrics, schedules, loggers,
 * renderers, checkpoint strategies; and when numbers are read from the device. */
#include "learner_testing.h"

#include <unistd.h>

enum { BATCHES = 7 }; /* 50 items in batches of 8 */

static char said[512];
static void note(const char *text) { snprintf(said + strlen(said), sizeof said - strlen(said), "%s", text); }

/* -- metrics ---------------------------------------------------------------------------------- */

/* Of each class, how many targets: numbers as wide as the user likes, and a value made of them. */
static BurnMeasured count_targets(const void *config, const BurnMetricInput *input) {
  assert_int_equal(*(const int *)config, 11);
  BurnTensor *targets = burn_clone(burn_step_get(input->output, "targets"));
  BurnTensor *ones = burn_unsqueeze_dim(burn_sum(burn_clone(targets)), 0);
  BurnTensor *all = burn_add_scalar(burn_mul_scalar(burn_clone(ones), 0), (double)input->items);
  burn_drop(targets);
  return (BurnMeasured){.numbers = burn_cat((BurnTensor *[]){ones, all}, 2, 1), .weight = 1};
}

static double share(const void *config, const double *numbers, size_t count, double weight) {
  (void)config;
  assert_int_equal(count, 2);
  assert_true(weight >= 1);
  return numbers[0] / numbers[1];
}

static const BurnMetricInterface share_metric = {
    .name = "Share of Ones", .unit = "%", .scale = 100, .measure = count_targets, .value = share};
static const int eleven = 11;

static void own_metrics_are_measured(void **state) {
  (void)state;
  Folder folder = folder_make();
  const BurnMetric mine = {&share_metric, &eleven, NULL}, again = {&share_metric, &eleven, "Again"};
  const Plan plan = {.config = {.epochs = 1,
                                .artifact_dir = folder.path,
                                .metrics = BURN_METRICS(mine, again, burn_metric_learning_rate())}};
  const Run run = train(&plan);
  check_status(run.status);
  double ones = 0;
  for (size_t i = 0; i < ITEMS; i++) ones += spread(3 * i) * spread(7 * i * i + 1) > 0;
  assert_int_equal(run.result.last.metric_count, 4);
  assert_string_equal(run.result.last.metrics[0].name, "Loss");
  assert_true(fabs(train_of(&run.result.last, "Share of Ones") - ones / (double)ITEMS) < 1e-12);
  assert_true(fabs(train_of(&run.result.last, "Again") - ones / (double)ITEMS) < 1e-12);
  assert_true(fabs(train_of(&run.result.last, "LearningRate") - 0.03) < 1e-12);
  assert_true(isnan(valid_of(&run.result.last, "LearningRate")) && isnan(train_of(&run.result.last, "Accuracy")));
  assert_true(exists(&folder, "train/epoch-1/Share_of_Ones.log") && exists(&folder, "valid/epoch-1/Again.log"));
  assert_false(exists(&folder, "valid/epoch-1/LearningRate.log"));
  /* A run with other metrics leaves none of these logs behind. */
  const Plan next = {.config = {.epochs = 1, .artifact_dir = folder.path}};
  check_status(train(&next).status);
  assert_false(exists(&folder, "train/epoch-1/Share_of_Ones.log"));
  const Plan twice = {.config = {.epochs = 1, .metrics = BURN_METRICS(mine, mine)}};
  check_refused(train(&twice).status, BURN_STATUS_INVALID_ARGUMENT, "two metrics are called Share of Ones");
  folder_remove(folder.path);
}

static BurnMeasured measure_half(const void *config, const BurnMetricInput *input) {
  (void)config;
  return (BurnMeasured){.number = 0.5 * (double)input->items, .weight = (double)input->items};
}

/* A table with a name and a measure is enough: what is left out is no reason to log zeros. */
static void a_metric_without_scale_and_unit_is_logged_as_it_is(void **state) {
  (void)state;
  static const BurnMetricInterface half_metric = {.name = "Half", .measure = measure_half};
  Folder folder = folder_make();
  const BurnMetric half = {&half_metric, NULL, NULL};
  const Plan plan = {.config = {.epochs = 1, .artifact_dir = folder.path, .metrics = BURN_METRICS(half)}};
  const Run run = train(&plan);
  check_status(run.status);
  assert_true(run.result.last.metrics[1].scale == 1);
  assert_string_equal(run.result.last.metrics[1].unit, "");
  char line[32] = "";
  FILE *log = fopen(file_in(&folder, "train/epoch-1/Half.log"), "r");
  assert_non_null(log);
  assert_non_null(fgets(line, sizeof line, log));
  fclose(log);
  assert_string_equal(line, "0.5,8\n");
  folder_remove(folder.path);
}

/* What is written to stderr while a run trains. */
static Run train_heard(const Plan *plan, char *text, size_t bytes) {
  FILE *file = tmpfile();
  const int saved = dup(STDERR_FILENO);
  assert_non_null(file);
  assert_true(dup2(fileno(file), STDERR_FILENO) >= 0);
  const Run run = train(plan);
  assert_true(dup2(saved, STDERR_FILENO) >= 0);
  close(saved);
  rewind(file);
  text[fread(text, 1, bytes - 1, file)] = '\0';
  fclose(file);
  return run;
}

static BurnMeasured measure_nothing(const void *config, const BurnMetricInput *input) {
  (void)config, (void)input;
  return (BurnMeasured){0};
}

/* As where a step gives "outputs" in the place of "output". */
static void a_metric_without_values_is_told_once(void **state) {
  (void)state;
  static const BurnMetricInterface nothing_metric = {.name = "Nothing", .measure = measure_nothing};
  char text[512];
  const BurnMetric nothing = {&nothing_metric, NULL, NULL};
  const Plan plan = {.config = {.epochs = 2, .metrics = BURN_METRICS(burn_metric_learning_rate(), nothing)}};
  check_status(train_heard(&plan, text, sizeof text).status);
  assert_string_equal(text,
                      "burn: warning: learner: the metric Nothing has no value in epoch 1: no step gave it what it "
                      "measures, or it is not a number\n");
}

static void configs_of_metrics_may_be_null(void **state) {
  (void)state;
  const BurnFBetaConfig config = BurnFBetaConfig_defaults();
  BurnMetric again = burn_metric_f_beta(&config);
  again.name = "Again";
  const Plan plan = {.config = {.epochs = 1, .metrics = BURN_METRICS(burn_metric_f_beta(NULL), again)}};
  const Run run = train(&plan);
  check_status(run.status);
  assert_true(train_of(&run.result.last, "FBetaScore") == train_of(&run.result.last, "Again"));
  Plan wrong = {.config = {.epochs = 1, .metrics = BURN_METRICS(burn_metric_top_k_accuracy(NULL))}};
  check_refused(train(&wrong).status, BURN_STATUS_INVALID_ARGUMENT,
                "a metric has no table, as where it was made of NULL");
  wrong.config.metrics = (BurnMetricList){NULL, 0};
  wrong.config.checkpoints = burn_keep_best(NULL);
  check_refused(train(&wrong).status, BURN_STATUS_INVALID_ARGUMENT, "checkpoints: burn_keep_best of NULL");
  wrong.config.checkpoints = burn_keep_any(NULL);
  check_refused(train(&wrong).status, BURN_STATUS_INVALID_ARGUMENT, "checkpoints: burn_keep_any of NULL");
  wrong.config.checkpoints = burn_keep_last(NULL);
  wrong.config.early_stopping = burn_stop_without_improvement(NULL);
  check_refused(train(&wrong).status, BURN_STATUS_INVALID_ARGUMENT, "burn_stop_without_improvement of NULL");
}

/* Whenever numbers are read, they are the same; an interrupted epoch goes on with those of its first part. */
static void numbers_do_not_depend_on_when_they_are_read(void **state) {
  (void)state;
  static const size_t intervals[] = {1, 3, 4096};
  const BurnMetric mine = {&share_metric, &eleven, NULL};
  const BurnAurocConfig auroc = BurnAurocConfig_defaults(); /* its numbers are appended */
  Plan plan = {
      .config = {.epochs = 2, .metrics = BURN_METRICS(mine, burn_metric_accuracy(), burn_metric_auroc(&auroc))}};
  const Run whole = train(&plan);
  for (size_t i = 0; i < 3; i++) {
    Folder folder = folder_make();
    BurnInterrupter interrupter = {0};
    plan.config.read_interval = intervals[i];
    const Run other = train(&plan);
    same_from(&whole, &other, 0);
    Plan part = plan;
    part.config.artifact_dir = folder.path;
    part.config.interrupter = &interrupter;
    part.interrupt_epoch = 2;
    part.at_batch = 5;
    check_refused(train(&part).status, BURN_STATUS_CANCELLED, "interrupted at epoch 2, batch 5");
    Plan rest = plan;
    rest.config.artifact_dir = folder.path;
    rest.config.resume = true;
    rest.begun_batches = 5;
    const Run ended = train(&rest);
    check_status(ended.status);
    same_from(&whole, &ended, 1);
    folder_remove(folder.path);
  }
  plan.config.read_interval = 4097;
  check_refused(train(&plan).status, BURN_STATUS_INVALID_ARGUMENT, "read_interval is more than 4096");
}

static void a_late_loss_says_how_late(void **state) {
  (void)state;
  Plan plan = {.config = {.epochs = 4, .read_interval = 3}, .nan_epoch = 2, .at_batch = 2};
  check_refused(
      train(&plan).status, BURN_STATUS_OUT_OF_RANGE,
      "epoch 2, batch 2: the loss is inf; try a smaller learning_rate than 0.03, or set on_nan to go on (read "
      "1 batch late, after batch 3)");
  plan.config.read_interval = 1;
  const Run run = train(&plan);
  check_refused(run.status, BURN_STATUS_OUT_OF_RANGE, "epoch 2, batch 2: the loss is inf");
  assert_null(strstr(burn_status_message(run.status), " late"));
  assert_int_equal(run.train_batches, BATCHES + 2);
}

/* -- schedules -------------------------------------------------------------------------------- */

static double falling(const void *config, uint64_t iteration) {
  return *(const double *)config / (double)(iteration + 1);
}

static BurnStatus check_positive(const void *config) {
  if (*(const double *)config > 0) return BURN_OK;
  return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "falling: the first rate is not positive");
}

static const BurnScheduleInterface falling_schedule = {"falling", check_positive, falling, NULL};

static void schedules_set_each_rate(void **state) {
  (void)state;
  Folder folder = folder_make();
  double first = 0.5, sum = 0;
  const BurnSchedule schedule = {&falling_schedule, {NULL, &first}};
  Plan plan = {.config = {.epochs = 2, .schedule = schedule, .metrics = BURN_METRICS(burn_metric_learning_rate())}};
  const Run whole = train(&plan);
  check_status(whole.status);
  for (int i = BATCHES; i < 2 * BATCHES; i++) sum += 0.5 / (i + 1);
  assert_true(fabs(train_of(&whole.epochs[1], "LearningRate") - sum / (double)BATCHES) < 1e-12);
  assert_true(burn_schedule_rate(&schedule, 4) == 0.1);
  /* A run that resumes goes on with its rates, and must have the same schedule. */
  plan.config.artifact_dir = folder.path;
  plan.config.epochs = 1;
  check_status(train(&plan).status);
  plan.config.resume = true;
  plan.config.epochs = 2;
  const Run rest = train(&plan);
  same_from(&whole, &rest, 1);
  plan.config.schedule = (BurnSchedule){NULL, {NULL, NULL}};
  check_refused(train(&plan).status, BURN_STATUS_FAILED_PRECONDITION,
                "learning_rate is 0.03, the checkpoint has falling");
  plan.config.schedule = schedule;
  plan.config.learning_rate = 0.1;
  check_refused(train(&plan).status, BURN_STATUS_INVALID_ARGUMENT, "learning_rate and schedule are both set");
  plan.config.learning_rate = 0;
  first = -1;
  check_refused(train(&plan).status, BURN_STATUS_INVALID_ARGUMENT, "falling: the first rate is not positive");
  folder_remove(folder.path);
}

/* The first layer stays where it is; the second one goes on with the base rate. */
static void groups_have_rates_of_their_own(void **state) {
  (void)state;
  static const char *const first[] = {"_1", NULL}, *const other[] = {"_2", NULL};
  BurnLearningRateGroup group = {.which = {.any_parts = first}};
  const Folder folder = folder_make();
  const Run still = train(&(Plan){.config = {.epochs = 1, .learning_rate = 1e-30}});
  Plan plan = {.config = {.epochs = 1, .artifact_dir = folder.path, .rate_groups = &group, .rate_group_count = 1}};
  const Run run = train(&plan);
  check_status(run.status);
  assert_memory_equal(still.parameters, run.parameters, 3 * HIDDEN * sizeof(float));
  for (int i = 3 * HIDDEN; i < PARAMETERS; i++) assert_true(still.parameters[i] != run.parameters[i]);
  /* A run that resumes has the same ones. */
  plan.config.resume = true;
  plan.config.epochs = 2;
  group.which.any_parts = other;
  check_refused(train(&plan).status, BURN_STATUS_FAILED_PRECONDITION,
                "learning_rate.0.any_parts.0 is _2, the checkpoint has _1");
  group.which.any_parts = first;
  group.learning_rate = 0.5;
  check_refused(train(&plan).status, BURN_STATUS_FAILED_PRECONDITION, "learning_rate.0 is 0.5, the checkpoint has 0");
  group.learning_rate = (double)NAN;
  check_refused(train(&plan).status, BURN_STATUS_INVALID_ARGUMENT,
                "learner: learning rate of group 0: the rate is not finite");
  group.learning_rate = 0;
  const Run more = train(&plan);
  check_status(more.status);
  assert_memory_equal(still.parameters, more.parameters, 3 * HIDDEN * sizeof(float));
  folder_remove(folder.path);
}

/* -- loggers ---------------------------------------------------------------------------------- */

typedef struct Logged {
  size_t lines, finals;
  double loss;
  bool fails;
} Logged;

static BurnStatus log_entry(void *context, const BurnLogEntry *entry) {
  Logged *logged = context;
  char line[96];
  if (logged->fails && entry->epoch == 2) return burn_status_make(BURN_STATUS_IO, "the logger has had enough");
  logged->lines++;
  logged->finals += entry->final;
  if (entry->epoch > 1 || entry->split == BURN_SPLIT_VALID || strcmp(entry->metric, "Accuracy") == 0) return BURN_OK;
  snprintf(line, sizeof line, "%zu:%.0f%s ", entry->batch, entry->weight, entry->final ? "!" : "");
  note(line);
  if (entry->final) logged->loss = entry->value;
  return BURN_OK;
}

static void loggers_hear_every_value(void **state) {
  (void)state;
  Logged logged = {0};
  Plan plan = {.config = {.epochs = 2, .logger = {log_entry, &logged}, .read_interval = 4}};
  said[0] = 0;
  const Run run = train(&plan);
  check_status(run.status);
  assert_string_equal(said, "1:8 2:8 3:8 4:8 5:8 6:8 7:2 7:50! ");
  assert_int_equal(logged.lines,
                   (size_t)(size_t)2 * 2 * (BATCHES + 1 + 3 + 1)); /* epochs, metrics, batches of both splits */
  assert_int_equal(logged.finals, 2 * 2 * 2);
  assert_true(logged.loss == train_of(&run.epochs[0], "Loss"));
  Folder folder = folder_make();
  logged.fails = true;
  plan.config.artifact_dir = folder.path;
  const Run failed = train(&plan);
  check_refused(failed.status, BURN_STATUS_IO,
                "epoch 2 is done and saved, but not its logs: the logger has had enough");
  assert_true(exists(&folder, "checkpoint/learner-2.mpk"));
  folder_remove(folder.path);
}

/* -- renderers, and when the device is asked --------------------------------------------------- */

static size_t wanted; /* the batch at which the renderer asks to draw; 0: none */

static void shown_begin(void *context, const BurnProgress *progress) {
  (void)context;
  assert_int_equal(progress->epochs, 2);
  note("begin ");
}

static bool shown_wants(void *context, const BurnProgress *progress) {
  (void)context;
  return progress->batch == wanted;
}

static void shown_batch(void *context, const BurnProgress *progress) {
  (void)context;
  assert_int_equal(progress->items, (size_t)8 * progress->batch);
  assert_int_equal(progress->batches, BATCHES);
  assert_true(!isnan(train_of(progress->result, "Loss")));
  assert_true(isnan(train_of(progress->result, "AUROC"))); /* at the end of an epoch only */
  note("batch ");
}

static void shown_epoch(void *context, const BurnProgress *progress) {
  (void)context;
  assert_true(!isnan(valid_of(progress->result, "Loss")));
  assert_true(!isnan(train_of(progress->result, "AUROC")) && !isnan(valid_of(progress->result, "AUROC")));
  note("epoch ");
}

static void shown_end(void *context, bool complete) {
  (void)context;
  note(complete ? "end" : "broken");
}

/* Notes after how many steps of the task the numbers of a batch come. */
static BurnStatus log_when(void *context, const BurnLogEntry *entry) {
  const Run *const *run = context;
  char text[32];
  if (entry->split == BURN_SPLIT_VALID || entry->final || strcmp(entry->metric, "Loss") != 0 || entry->epoch > 1) {
    return BURN_OK;
  }
  snprintf(text, sizeof text, "%zu@%zu ", entry->batch, (*run)->train_batches);
  note(text);
  return BURN_OK;
}

/* The task of learner_testing.h, whose run the logger has to know. */
static const Run *stepping;
static BurnStepOutput noted_step(void *context, const void *module, BurnBatch *batch) {
  stepping = context;
  return step(context, module, batch);
}

static void check_shown(size_t at, size_t interval, const char *expected) {
  const BurnRenderer renderer = {shown_begin, shown_wants, shown_batch, shown_epoch, shown_end, NULL};
  const Plan plan = {.keep_order = true};
  Run run = {.plan = &plan};
  BurnDevice *device = burn_device_open("autodiff<ndarray>");
  Net net = net_make(device);
  BurnOptimizer *optimizer = burn_sgd_create(NULL);
  BurnLoader *loader = loader_of(points(ITEMS, 0), &plan), *valid = loader_of(points(VALID_ITEMS, 0), &plan);
  const BurnTask task = {noted_step, &run};
  const BurnAurocConfig auroc = BurnAurocConfig_defaults();
  const BurnLearnerConfig config = {.epochs = 2,
                                    .metrics = BURN_METRICS(burn_metric_auroc(&auroc)),
                                    .learning_rate = 0.1,
                                    .renderer = &renderer,
                                    .read_interval = interval,
                                    .logger = {log_when, &stepping}};
  said[0] = 0;
  wanted = at;
  check_status(burn_learner_fit(&config, &task, device, burn_module(Net, &net), optimizer, loader, valid, NULL));
  assert_string_equal(said, expected);
  burn_loader_destroy(loader);
  burn_loader_destroy(valid);
  burn_optimizer_destroy(optimizer);
  Net_release(&net);
  burn_device_close(device);
}

/* Numbers are read together: every `interval` batches, when they are to be shown, and at the end of the epoch. */
static void numbers_are_read_when_they_are_due(void **state) {
  (void)state;
  check_shown(0, 0, "begin 1@7 2@7 3@7 4@7 5@7 6@7 7@7 epoch epoch end");
  check_shown(0, 3, "begin 1@3 2@3 3@3 4@6 5@6 6@6 7@7 epoch epoch end");
  check_shown(2, 4, "begin 1@2 2@2 batch 3@6 4@6 5@6 6@6 7@7 epoch batch epoch end");
  check_shown(0, 1, "begin 1@1 2@2 3@3 4@4 5@5 6@6 7@7 epoch epoch end");
}

/* -- checkpoint strategies -------------------------------------------------------------------- */

static bool keep_odd(const void *context, const BurnEpochResult *history, size_t count, size_t epoch) {
  assert_int_equal(*(const int *)context, 11);
  assert_true(epoch < count && history[epoch - 1].epoch == epoch);
  return epoch % 2 == 1;
}

static void strategies_keep_checkpoints(void **state) {
  (void)state;
  Folder folder = folder_make();
  Plan plan = {.config = {.epochs = 6, .artifact_dir = folder.path, .checkpoints = {keep_odd, &eleven}}};
  check_status(train(&plan).status);
  for (int epoch = 1; epoch <= 6; epoch++) {
    char name[64];
    snprintf(name, sizeof name, "checkpoint/model-%d.mpk", epoch);
    assert_true(exists(&folder, name) == (epoch % 2 == 1 || epoch == 6));
  }
  plan.config.keep_checkpoints = 2;
  check_refused(train(&plan).status, BURN_STATUS_INVALID_ARGUMENT, "keep_checkpoints and checkpoints are both set");
  folder_remove(folder.path);
}

static void the_best_are_kept(void **state) {
  (void)state;
  static const double losses[] = {3, 1, (double)NAN, 1, 2};
  BurnEpochResult history[5];
  for (size_t i = 0; i < 5; i++) {
    history[i] = (BurnEpochResult){.epoch = i + 1, .metric_count = 1, .finite = i != 2};
    history[i].metrics[0] = (BurnMetricResult){"Loss", "", 1, {0, losses[i]}};
  }
  static const struct {
    BurnKeepBest best;
    const char *kept;
  } cases[] = {{{"Loss", BURN_SPLIT_VALID, false, 1}, "01000"},
               {{"Loss", BURN_SPLIT_VALID, false, 3}, "01011"},
               {{"Loss", BURN_SPLIT_VALID, true, 2}, "10001"},
               {{"Nothing", BURN_SPLIT_VALID, true, 2}, "00000"}};
  for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
    const BurnCheckpointStrategy strategy = burn_keep_best(&cases[c].best);
    for (size_t i = 0; i < 5; i++) {
      assert_true(strategy.keeps(strategy.context, history, 5, i + 1) == (cases[c].kept[i] == '1'));
    }
  }
  const size_t two = 2;
  const BurnCheckpointStrategy last = burn_keep_last(&two);
  for (size_t i = 0; i < 5; i++) assert_true(last.keeps(last.context, history, 5, i + 1) == (i >= 3));
}

/* Which of `count` epochs a strategy keeps, as "0101". */
static const char *kept_by(BurnCheckpointStrategy strategy, const BurnEpochResult *history, size_t count) {
  static char kept[16];
  memset(kept, 0, sizeof kept);
  for (size_t i = 0; i < count; i++) {
    kept[i] = strategy.keeps(strategy.context, history, count, i + 1) ? '1' : '0';
  }
  return kept;
}

/* Burn's default is the newest two and the best; with every third epoch beside them. */
static void strategies_are_composed(void **state) {
  (void)state;
  static const double losses[] = {3, 1, 4, 1, 5, 9, 2};
  BurnEpochResult history[7];
  for (size_t i = 0; i < 7; i++) {
    history[i] = (BurnEpochResult){.epoch = i + 1, .metric_count = 1, .finite = true};
    history[i].metrics[0] = (BurnMetricResult){"Loss", "", 1, {0, losses[i]}};
  }
  const size_t two = 2, three = 3, none = 0;
  const BurnKeepBest best = {"Loss", BURN_SPLIT_VALID, false, 1};
  const BurnCheckpointStrategy all[] = {burn_keep_last(&two), burn_keep_best(&best), burn_keep_every(&three)};
  const BurnKeepAny usual = {all, 2}, any = {all, 3}, nothing = {all, 0};
  assert_string_equal(kept_by(burn_keep_any(&usual), history, 7), "0100011");
  assert_string_equal(kept_by(burn_keep_any(&any), history, 7), "0110011");
  assert_string_equal(kept_by(burn_keep_any(&nothing), history, 7), "0000000");
  assert_string_equal(kept_by(burn_keep_every(&three), history, 7), "0010010");
  assert_string_equal(kept_by(burn_keep_every(&none), history, 7), "1111111");
}

/* -- early stopping --------------------------------------------------------------------------- */

/* The epoch after which a run with these losses ends; 0: none. */
static size_t last_epoch(const BurnNoImprovement *config, const double *losses, size_t count) {
  const BurnEarlyStopping strategy = burn_stop_without_improvement(config);
  BurnEpochResult history[8];
  for (size_t i = 0; i < count; i++) {
    history[i] = (BurnEpochResult){.epoch = i + 1, .metric_count = 1, .finite = true};
    history[i].metrics[0] = (BurnMetricResult){"Loss", "", 1, {-losses[i], losses[i]}};
    if (strategy.stops(strategy.context, history, i + 1)) return i + 1;
  }
  return 0;
}

/* Burn's rule: epoch - best epoch >= n, where the best is the first of equal ones and 1 at first. */
static void runs_end_without_improvement(void **state) {
  (void)state;
  static const double losses[] = {3, 1, 2, 1, 2, 0.5, 4, (double)NAN};
  static const struct {
    BurnNoImprovement config;
    size_t last;
  } cases[] = {{{"Loss", BURN_SPLIT_VALID, false, 1, 0}, 3},   {{"Loss", BURN_SPLIT_VALID, false, 0, 0}, 3},
               {{"Loss", BURN_SPLIT_VALID, false, 2, 0}, 4},   {{"Loss", BURN_SPLIT_VALID, false, 4, 0}, 0},
               {{"Loss", BURN_SPLIT_VALID, false, 1, 3}, 4},   {{"Loss", BURN_SPLIT_VALID, false, 1, 5}, 7},
               {{"Loss", BURN_SPLIT_VALID, true, 1, 0}, 2},    {{"Loss", BURN_SPLIT_TRAIN, true, 2, 0}, 4},
               {{"Nothing", BURN_SPLIT_VALID, false, 1, 0}, 0}};
  for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++)
    assert_int_equal(last_epoch(&cases[c].config, losses, 8), cases[c].last);
}

static bool stops_at_three(const void *context, const BurnEpochResult *history, size_t count) {
  assert_int_equal(*(const int *)context, 11);
  assert_true(history[count - 1].epoch == count);
  return count == 3;
}

static void a_run_that_ended_early_is_complete(void **state) {
  (void)state;
  Folder folder = folder_make();
  const BurnEarlyStopping at_three = {stops_at_three, &eleven};
  Plan plan = {.config = {.epochs = 6, .artifact_dir = folder.path, .early_stopping = at_three}};
  const Run early = train(&plan);
  check_status(early.status);
  assert_true(early.result.stopped_early && early.result.epochs_done == 3 && !early.result.interrupted);
  assert_true(exists(&folder, "checkpoint/model-3.mpk") && !exists(&folder, "checkpoint/model-4.mpk"));
  plan.config.resume = true;
  const Run again = train(&plan);
  check_status(again.status);
  assert_true(again.result.stopped_early && again.result.epochs_done == 3 && again.result.steps == 0);
  /* Without the strategy it goes on as if there had never been one. */
  const Plan whole = {.config = {.epochs = 4}};
  const Run expected = train(&whole);
  Plan rest = {.config = {.epochs = 4, .artifact_dir = folder.path, .resume = true}};
  const Run went_on = train(&rest);
  check_status(went_on.status);
  assert_false(went_on.result.stopped_early);
  same_from(&expected, &went_on, 3);
  folder_remove(folder.path);
}

/* What a strategy looks at has to be there: it would never do anything, and nobody would know. */
static void strategies_look_at_what_a_run_has(void **state) {
  (void)state;
  static const struct {
    BurnNoImprovement stalled;
    const char *refused; /* NULL: it is not */
  } cases[] = {
      {{"Loss", BURN_SPLIT_TRAIN, false, 1, 0}, NULL},
      {{"Accuracy", BURN_SPLIT_TRAIN, false, 1, 0}, NULL},
      {{"accuracy", BURN_SPLIT_TRAIN, false, 1, 0},
       "watches the metric 'accuracy', which this run does not have. It has: Loss, Accuracy"},
      {{NULL, BURN_SPLIT_TRAIN, false, 1, 0}, "watches the metric '(NULL)', which this run does not have"},
      {{"Loss", BURN_SPLIT_VALID, false, 1, 0}, "watches Loss of validation data, and this run has none"},
      {{"Loss", BURN_SPLIT_TEST, false, 1, 0}, "watches Loss of test data, and this run has none"},
  };
  for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
    const BurnNoImprovement *stalled = &cases[c].stalled;
    const BurnKeepBest best = {stalled->metric, stalled->split, false, 1};
    const size_t two = 2;
    const BurnCheckpointStrategy both[] = {burn_keep_last(&two), burn_keep_best(&best)};
    const BurnKeepAny any = {both, 2}, nested = {(BurnCheckpointStrategy[]){burn_keep_any(&any)}, 1};
    const Plan plans[] = {
        {.config = {.epochs = 1, .early_stopping = burn_stop_without_improvement(stalled)}, .without_valid = true},
        {.config = {.epochs = 1, .checkpoints = both[1]}, .without_valid = true},
        {.config = {.epochs = 1, .checkpoints = burn_keep_any(&nested)}, .without_valid = true}};
    for (size_t p = 0; p < 3; p++) {
      const Run run = train(&plans[p]);
      if (!cases[c].refused) {
        check_status(run.status);
        continue;
      }
      check_refused(run.status, BURN_STATUS_INVALID_ARGUMENT, cases[c].refused);
      assert_int_equal(run.train_batches, 0);
    }
  }
}

/* -- files from before metrics had names ------------------------------------------------------- */

static BurnValue *floats(const char *const *names, const double *values, size_t count) {
  BurnValue *map = burn_value_map();
  for (size_t i = 0; i < count; i++) assert_true(burn_value_set(map, names[i], burn_value_float(values[i])));
  return map;
}

static BurnValue *random_of(const BurnValue *learner, const char *name) {
  const BurnValue *found = burn_value_get(learner, name);
  BurnValue *map = burn_value_map();
  assert_true(burn_value_set(map, "seed", burn_value_int(burn_value_as_int(burn_value_get(found, "seed"), 0))));
  assert_true(burn_value_set(map, "offset", burn_value_int(burn_value_as_int(burn_value_get(found, "offset"), 0))));
  return map;
}

static double number_at(const BurnValue *value, const char *one, const char *two, const char *three) {
  const BurnValue *found = burn_value_get(burn_value_get(burn_value_get(value, one), two), three);
  return burn_value_as_float(burn_value_kind(found) == BURN_VALUE_ARRAY ? burn_value_at(found, 0) : found, -1);
}

/* `items` instead of those that there are, if it is not 0. */
static BurnValue *old_state(const BurnValue *learner, const char *name, double items) {
  const char *const names[] = {"sum", "items"};
  const BurnValue *partial = burn_value_get(learner, "partial");
  const double weight = number_at(partial, "metrics", name, "weight");
  const double values[] = {number_at(partial, "metrics", name, "numbers"),
                           fabs(items) > 0 || isnan(items) ? items : weight};
  const BurnValue *state = burn_value_get(burn_value_get(partial, "metrics"), name);
  BurnValue *map = floats(names, values, 2);
  const int64_t bytes = burn_value_as_int(burn_value_get(state, "log_bytes"), -1);
  assert_true(bytes > 0 && burn_value_set(map, "log_bytes", burn_value_int(bytes)));
  return map;
}

/* The learner file of an interrupted run as it was before; `items` as in old_state. */
static void write_as_before(const char *path, double items) {
  static const char *const names[] = {"train_loss",     "train_accuracy", "valid_loss",
                                      "valid_accuracy", "seconds",        "items_per_second"};
  const BurnRecordConfig config = {BURN_RECORD_MPK, BURN_PRECISION_DOUBLE};
  BurnValue *now = NULL, *before = burn_value_map(), *history = burn_value_array(), *partial = burn_value_map();
  check_status(burn_value_read(path, &config, &now));
  const BurnValue *epoch = burn_value_at(burn_value_get(now, "history"), 0);
  const double values[] = {number_at(epoch, "metrics", "Loss", "train"),
                           number_at(epoch, "metrics", "Accuracy", "train"),
                           number_at(epoch, "metrics", "Loss", "valid"),
                           number_at(epoch, "metrics", "Accuracy", "valid"),
                           0.5,
                           100};
  assert_true(burn_value_append(history, floats(names, values, 6)));
  assert_true(burn_value_set(partial, "batches", burn_value_int(3)));
  assert_true(burn_value_set(partial, "seconds", burn_value_float(0.25)));
  assert_true(burn_value_set(partial, "loss", old_state(now, "Loss", items)));
  assert_true(burn_value_set(partial, "accuracy", old_state(now, "Accuracy", 0)));
  assert_true(burn_value_set(before, "random", random_of(now, "random")));
  assert_true(burn_value_set(before, "random_inner", random_of(now, "random_inner")));
  assert_true(burn_value_set(before, "history", history));
  assert_true(burn_value_set(before, "partial", partial));
  check_status(burn_value_write(before, path, &config));
  burn_value_destroy(now);
  burn_value_destroy(before);
}

static void files_of_before_load(void **state) {
  (void)state;
  Folder folder = folder_make();
  BurnInterrupter interrupter = {0};
  const Plan straight = {.config = {.epochs = 3}};
  const Plan first = {.config = {.epochs = 3, .artifact_dir = folder.path, .interrupter = &interrupter},
                      .interrupt_epoch = 2,
                      .at_batch = 3};
  const Plan rest = {.config = {.epochs = 3, .artifact_dir = folder.path, .resume = true}, .begun_batches = 3};
  const Run whole = train(&straight);
  check_refused(train(&first).status, BURN_STATUS_CANCELLED, "interrupted");
  write_as_before(file_in(&folder, "checkpoint/learner-2-3.mpk"), 0);
  const Run ended = train(&rest);
  check_status(ended.status);
  assert_int_equal(ended.result.epochs_resumed, 1);
  same_from(&whole, &ended, 1);
  /* The first epoch, which only the file knew, is in the history of what came of it. */
  BurnValue *learner = NULL;
  check_status(burn_value_read(file_in(&folder, "checkpoint/learner-3.mpk"),
                               &(BurnRecordConfig){BURN_RECORD_MPK, BURN_PRECISION_DOUBLE}, &learner));
  const BurnValue *epoch = burn_value_at(burn_value_get(learner, "history"), 0);
  assert_true(number_at(epoch, "metrics", "Accuracy", "valid") == valid_of(&whole.epochs[0], "Accuracy"));
  burn_value_destroy(learner);
  folder_remove(folder.path);
}

/* -- sums of a checkpoint that are none --------------------------------------------------------- */

/* A weight that no step has is damage: the checkpoint before it is taken. */
static void weights_that_are_none_are_damage(void **state) {
  (void)state;
  static const double weights[] = {-3, (double)NAN, (double)INFINITY};
  const Plan straight = {.config = {.epochs = 3}};
  const Run whole = train(&straight);
  for (size_t i = 0; i < sizeof weights / sizeof weights[0]; i++) {
    Folder folder = folder_make();
    BurnInterrupter interrupter = {0};
    const Plan first = {.config = {.epochs = 3, .artifact_dir = folder.path, .interrupter = &interrupter},
                        .interrupt_epoch = 2,
                        .at_batch = 3};
    const Plan rest = {.config = {.epochs = 3, .artifact_dir = folder.path, .resume = true}};
    check_refused(train(&first).status, BURN_STATUS_CANCELLED, "interrupted");
    write_as_before(file_in(&folder, "checkpoint/learner-2-3.mpk"), weights[i]);
    const Run ended = train(&rest);
    check_status(ended.status);
    assert_int_equal(ended.result.epochs_resumed, 1);
    same_from(&whole, &ended, 1);
    folder_remove(folder.path);
  }
}

/* A run that ended in the validation goes on with metrics that mean something else by the same names: the sums of its
 * training batches are not theirs. */
static void sums_of_another_metric_have_no_value(void **state) {
  (void)state;
  static const char *const names[] = {"Perplexity", "TopK", "AUROC"};
  enum { METRICS = sizeof names / sizeof names[0] };
  const BurnTokenConfig tokens = BurnTokenConfig_defaults();
  const BurnTopKAccuracyConfig top = BurnTopKAccuracyConfig_defaults(1);
  const BurnAurocConfig auroc = BurnAurocConfig_defaults();
  BurnMetric before[METRICS];
  BurnMetric after[] = {burn_metric_perplexity(&tokens), burn_metric_top_k_accuracy(&top), burn_metric_auroc(&auroc)};
  Folder folder = folder_make();
  BurnInterrupter interrupter = {0};
  for (size_t i = 0; i < METRICS; i++) {
    before[i] = burn_metric_accuracy();
    before[i].name = after[i].name = names[i];
  }
  const Plan first = {
      .config = {.epochs = 1, .artifact_dir = folder.path, .interrupter = &interrupter, .metrics = {before, METRICS}},
      .interrupt_epoch = 1,
      .interrupt_valid = true};
  const Plan rest = {.config = {.epochs = 1, .artifact_dir = folder.path, .resume = true, .metrics = {after, METRICS}}};
  check_refused(train(&first).status, BURN_STATUS_CANCELLED, "interrupted");
  const Run ended = train(&rest);
  check_status(ended.status);
  for (size_t i = 0; i < METRICS; i++) assert_true(isnan(train_of(&ended.result.last, names[i])));
  folder_remove(folder.path);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(own_metrics_are_measured),
      cmocka_unit_test(a_metric_without_scale_and_unit_is_logged_as_it_is),
      cmocka_unit_test(a_metric_without_values_is_told_once),
      cmocka_unit_test(configs_of_metrics_may_be_null),
      cmocka_unit_test(numbers_do_not_depend_on_when_they_are_read),
      cmocka_unit_test(a_late_loss_says_how_late),
      cmocka_unit_test(schedules_set_each_rate),
      cmocka_unit_test(groups_have_rates_of_their_own),
      cmocka_unit_test(loggers_hear_every_value),
      cmocka_unit_test(numbers_are_read_when_they_are_due),
      cmocka_unit_test(strategies_keep_checkpoints),
      cmocka_unit_test(the_best_are_kept),
      cmocka_unit_test(strategies_are_composed),
      cmocka_unit_test(runs_end_without_improvement),
      cmocka_unit_test(strategies_look_at_what_a_run_has),
      cmocka_unit_test(a_run_that_ended_early_is_complete),
      cmocka_unit_test(files_of_before_load),
      cmocka_unit_test(weights_that_are_none_are_damage),
      cmocka_unit_test(sums_of_another_metric_have_no_value),
  };
  return cmocka_run_group_tests_name("learner_interfaces", tests, NULL, NULL);
}
