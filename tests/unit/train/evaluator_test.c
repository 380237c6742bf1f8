/* evaluator_test.c - data with a name, its own metrics and logs; on_batch; what a run leaves for both. */
#include "learner_testing.h"

#include <burn/file.h>

static char *text_of(const Folder *folder, const char *name) {
  uint8_t *text = NULL;
  size_t bytes = 0;
  check_status(burn_file_read(file_in(folder, name), 1 << 16, &text, &bytes));
  return (char *)text;
}

typedef struct Evaluation {
  BurnStatus status;
  BurnEpochResult result;
} Evaluation;

static Evaluation evaluate(const BurnEvaluatorConfig *config, const char *name) {
  const Plan plan = {.keep_order = true};
  Run run = {.plan = &plan};
  BurnDevice *device = burn_device_open("ndarray");
  Net net = net_make(device);
  BurnLoader *data = loader_of(points(VALID_ITEMS, ITEMS), &plan);
  const BurnTask task = {step, &run};
  Evaluation done;
  done.status = burn_evaluator_eval(config, &task, device, burn_module(Net, &net), data, name, &done.result);
  if (done.status == BURN_OK) { /* beside the older function, of the same metrics */
    BurnEpochResult valid;
    check_status(
        burn_learner_evaluate(&task, device, burn_module(Net, &net), data, config ? &config->metrics : NULL, &valid));
    assert_true(valid_of(&valid, "Loss") == burn_epoch_metric(&done.result, "Loss", BURN_SPLIT_TEST));
    assert_true(isnan(burn_epoch_metric(&valid, "Loss", BURN_SPLIT_TEST)));
  }
  burn_loader_destroy(data);
  Net_release(&net);
  burn_device_close(device);
  return done;
}

static double test_of(const Evaluation *done, const char *metric) {
  return burn_epoch_metric(&done->result, metric, BURN_SPLIT_TEST);
}

/* The network and the loss in double, by their definitions. */
static double loss_by_definition(size_t item, bool *right) {
  double h[HIDDEN], logits[2], x[2];
  x[0] = (double)spread(3 * (ITEMS + item));
  x[1] = (double)spread(7 * (ITEMS + item) * (ITEMS + item) + 1);
  const int label = x[0] * x[1] > 0;
  for (size_t j = 0; j < HIDDEN; j++) {
    h[j] = (double)(0.9f * spread(12 + 5 * j));
    for (size_t i = 0; i < 2; i++) h[j] += x[i] * (double)(0.9f * spread(11 + 5 * (i * HIDDEN + j)));
    h[j] = tanh(h[j]);
  }
  for (size_t k = 0; k < 2; k++) {
    logits[k] = (double)(0.9f * spread(14 + 5 * k));
    for (size_t j = 0; j < HIDDEN; j++) logits[k] += h[j] * (double)(0.9f * spread(13 + 5 * (j * 2 + k)));
  }
  *right = (logits[1] > logits[0]) == (label == 1);
  return log(1 + exp(logits[1 - label] - logits[label]));
}

static void values_are_those_of_the_definition(void **state) {
  (void)state;
  double loss = 0, right = 0;
  for (size_t i = 0; i < VALID_ITEMS; i++) {
    bool hit = false;
    loss += loss_by_definition(i, &hit) / (double)VALID_ITEMS;
    right += hit;
  }
  const Evaluation done = evaluate(NULL, "test");
  check_status(done.status);
  assert_true(fabs(test_of(&done, "Loss") - loss) < 1e-6);
  assert_true(fabs(test_of(&done, "Accuracy") - right / (double)VALID_ITEMS) < 1e-9);
}

typedef struct Heard {
  size_t lines;
  bool fails;
} Heard;

static BurnStatus hear(void *context, const BurnLogEntry *entry) {
  Heard *heard = context;
  assert_int_equal(entry->split, BURN_SPLIT_TEST);
  assert_int_equal(entry->epoch, 1);
  heard->lines++;
  return heard->fails ? burn_status_make(BURN_STATUS_IO, "enough lines") : BURN_OK;
}

/* Burn's layout: test/{tag}/{Metric}.log without epochs; the tag in lower case with "-" for blanks. */
static void logs_lie_below_the_name(void **state) {
  (void)state;
  Folder folder = folder_make();
  Heard heard = {.lines = 0};
  const BurnFBetaConfig f1 = BurnFBetaConfig_defaults();
  BurnEvaluatorConfig config = {
      .artifact_dir = folder.path, .metrics = BURN_METRICS(burn_metric_f_beta(&f1)), .logger = {hear, &heard}};
  const Evaluation done = evaluate(&config, "Held Out");
  check_status(done.status);
  assert_true(exists(&folder, "test/held-out/Loss.log") && exists(&folder, "test/held-out/FBetaScore.log"));
  char *log = text_of(&folder, "test/held-out/Loss.log");
  double values[3], last = 0;
  assert_int_equal(sscanf(log, "%lf,8\n%lf,8\n%lf,4\n%lf,final\n", &values[0], &values[1], &values[2], &last), 4);
  assert_true(fabs(last - (8 * values[0] + 8 * values[1] + 4 * values[2]) / 20) < 1e-8);
  assert_true(fabs(last - test_of(&done, "Loss")) < 1e-8);
  assert_int_equal(heard.lines, 2 * (3 + 1));
  free(log);
  /* The same name again: the logs of the metrics that are no longer there go. */
  config.metrics = BURN_METRICS(burn_metric_accuracy());
  check_status(evaluate(&config, "held out").status);
  assert_true(exists(&folder, "test/held-out/Accuracy.log") && !exists(&folder, "test/held-out/FBetaScore.log"));
  check_status(evaluate(&config, "a/b").status);
  assert_true(exists(&folder, "test/a-b/Loss.log") && exists(&folder, "test/held-out/Loss.log"));
  heard.fails = true;
  check_refused(evaluate(&config, "a/b").status, BURN_STATUS_IO, "enough lines");
  folder_remove(folder.path);
}

static void wrong_evaluations_are_refused(void **state) {
  (void)state;
  BurnInterrupter interrupter = {0};
  BurnEvaluatorConfig config = {.artifact_dir = ""};
  check_refused(evaluate(NULL, "").status, BURN_STATUS_INVALID_ARGUMENT, "the name of the data has 1 to 127");
  check_refused(evaluate(NULL, "..").status, BURN_STATUS_INVALID_ARGUMENT, "the name of the data is '..'");
  check_refused(evaluate(&config, "test").status, BURN_STATUS_INVALID_ARGUMENT, "artifact_dir is empty");
  config = (BurnEvaluatorConfig){.read_interval = 4097};
  check_refused(evaluate(&config, "test").status, BURN_STATUS_INVALID_ARGUMENT, "read_interval is more than 4096");
  config = (BurnEvaluatorConfig){.interrupter = &interrupter};
  burn_interrupter_stop(&interrupter);
  check_refused(evaluate(&config, "test").status, BURN_STATUS_CANCELLED, "test: interrupted after batch 0 of 3");
}

/* -- evaluation.log --------------------------------------------------------------------------- */

/* A line begins with its time, which experiment_log_test looks at; then comes its level. */
static const char *line_after_time(char **rest) {
  char *line = *rest, *end = line ? strchr(line, '\n') : NULL;
  assert_non_null(end);
  *end = '\0';
  *rest = end + 1;
  const char *time = strstr(line, " UTC  ");
  assert_non_null(time);
  return time + strlen(" UTC  ");
}

static void all_evaluations_are_in_one_log(void **state) {
  (void)state;
  Folder folder = folder_make();
  BurnInterrupter interrupter = {0};
  BurnEvaluatorConfig config = {.artifact_dir = folder.path, .metrics = BURN_METRICS(burn_metric_accuracy())};
  const Evaluation done = evaluate(&config, "Held Out");
  check_status(done.status);
  config.interrupter = &interrupter;
  burn_interrupter_stop(&interrupter);
  check_refused(evaluate(&config, "other").status, BURN_STATUS_CANCELLED, "other: interrupted after batch 0 of 3");
  char *log = text_of(&folder, "evaluation.log"), *rest = log;
  double loss = 0, accuracy = 0, seconds = -1;
  assert_string_equal(line_after_time(&rest), "INFO  Held Out: 20 items in 3 batches on ndarray");
  assert_int_equal(sscanf(line_after_time(&rest), "INFO  Held Out: test Loss %lf, Accuracy %lf %%; %lf s", &loss,
                          &accuracy, &seconds),
                   3);
  assert_true(fabs(loss - test_of(&done, "Loss")) < 1e-5 * loss);
  assert_true(fabs(accuracy - 100 * test_of(&done, "Accuracy")) < 1e-3);
  assert_true(seconds >= 0);
  assert_string_equal(line_after_time(&rest), "INFO  other: 20 items in 3 batches on ndarray");
  assert_string_equal(line_after_time(&rest), "WARN  other: interrupted after batch 0 of 3");
  assert_string_equal(rest, "");
  free(log);
  folder_remove(folder.path);
}

/* -- on_batch --------------------------------------------------------------------------------- */

typedef struct Around {
  size_t before, after, steps, fails_at;
  double loss, weight;
  uint64_t next;
} Around;

static BurnStatus before(void *context, const BurnBatchEvent *event) {
  Around *around = context;
  assert_null(event->output);
  assert_false(event->stepped);
  assert_int_equal(event->iteration, around->next);
  assert_int_equal(event->iteration, (event->epoch - 1) * event->batches + event->batch - 1);
  assert_int_equal(around->before++, around->after);
  if (around->fails_at && around->before == around->fails_at)
    return burn_status_make(BURN_STATUS_CANCELLED, "enough batches");
  return BURN_OK;
}

static BurnStatus after(void *context, const BurnBatchEvent *event) {
  Around *around = context;
  double loss = 0;
  check_status(burn_read_scalar(burn_clone(burn_step_get(event->output, "loss")), &loss));
  if (event->epoch == 2) {
    around->loss += loss * (double)event->items;
    around->weight += (double)event->items;
  }
  around->after++;
  around->next++;
  around->steps += event->stepped;
  assert_true(event->module.type == Net_type());
  assert_true(event->learning_rate > 0.02);
  return BURN_OK;
}

static void callbacks_go_around_each_batch(void **state) {
  (void)state;
  Around around = {.before = 0};
  Plan plan = {.config = {.epochs = 2, .gradient_accumulation = 3, .on_batch = {before, after, &around}}};
  const Run run = train(&plan);
  check_status(run.status);
  assert_int_equal(around.before, 14);
  assert_int_equal(around.after, 14);
  assert_int_equal(around.steps, run.result.steps);
  assert_int_equal(around.steps, 4); /* groups of 3 of 7 batches */
  assert_true(fabs(around.loss / around.weight - train_of(&run.epochs[1], "Loss")) < 1e-12);
  /* They change nothing. */
  const Run without = train(&(Plan){.config = {.epochs = 2, .gradient_accumulation = 3}});
  same_from(&without, &run, 0);
}

static void a_callback_ends_the_run(void **state) {
  (void)state;
  Around around = {.fails_at = 10};
  Plan plan = {.config = {.epochs = 2, .on_batch = {before, after, &around}}};
  const Run run = train(&plan);
  check_refused(run.status, BURN_STATUS_CANCELLED, "epoch 2, batch 3: enough batches");
  assert_int_equal(run.train_batches, 9);
  assert_int_equal(run.result.steps, 9);
}

/* A callback that clips the weights, as Burn's WGAN does. */
static BurnTensor *clipped(void *context, const char *path, BurnTensor *value) {
  (void)context;
  (void)path;
  return burn_clamp(value, -0.25, 0.25);
}

static BurnStatus clip(void *context, const BurnBatchEvent *event) {
  (void)context;
  burn_module_map(event->module, clipped, NULL);
  return BURN_OK;
}

static void callbacks_may_change_the_module(void **state) {
  (void)state;
  Plan plan = {.config = {.epochs = 1, .on_batch = {NULL, clip, NULL}}};
  const Run run = train(&plan);
  check_status(run.status);
  for (int i = 0; i < PARAMETERS; i++) assert_true(fabsf(run.parameters[i]) <= 0.25f);
}

int main(int argc, char **argv) {
  int exit_status = 0;
  if (train_as_told(argc, argv, &exit_status)) return exit_status;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(values_are_those_of_the_definition), cmocka_unit_test(logs_lie_below_the_name),
      cmocka_unit_test(wrong_evaluations_are_refused),      cmocka_unit_test(all_evaluations_are_in_one_log),
      cmocka_unit_test(callbacks_go_around_each_batch),     cmocka_unit_test(a_callback_ends_the_run),
      cmocka_unit_test(callbacks_may_change_the_module),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
