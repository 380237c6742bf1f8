/* learner_test.c - the loop: it learns, repeats itself bit for bit, resumes after any end, reports where it failed. */
#include "learner_testing.h"

/* -- learning --------------------------------------------------------------------------------- */

static void it_learns(void **state) {
  (void)state;
  const Plan plan = {.config = {.epochs = 60}, .without_dropout = true};
  const Run run = train(&plan);
  check_status(run.status);
  assert_int_equal(run.epoch_count, 60);
  assert_int_equal(run.result.epochs_done, 60);
  assert_int_equal(run.result.epochs_resumed, 0);
  assert_int_equal(run.result.steps, 60 * 7);
  assert_true(run.seen == 60 * ITEMS);
  assert_int_equal(run.inner_steps, 60 * 3);
  assert_true(train_of(&run.epochs[0], "Loss") > 0.5);
  assert_true(train_of(&run.result.last, "Loss") < 0.2);
  assert_true(train_of(&run.result.last, "Accuracy") > 0.95);
  assert_true(valid_of(&run.result.last, "Accuracy") > 0.7);
  assert_true(run.result.mean_epoch_seconds > 0 && run.result.last.items_per_second > 0);
}

static void same_seed_same_numbers(void **state) {
  (void)state;
  Plan plan = {.config = {.epochs = 4}};
  const Run one = train(&plan), two = train(&plan);
  check_status(one.status);
  same_from(&one, &two, 0);
  plan.workers = 2;
  assert_memory_equal(one.first_points, two.first_points, sizeof one.first_points);
  assert_true(one.first_points[0] != one.first_points[1] && one.first_points[1] != one.first_points[2]);
  const Run with_workers = train(&plan);
  same_from(&one, &with_workers, 0);
}

/* Averages count items, not batches: 50 items in batches of 8 end with one of 2. */
static void averages_are_over_items(void **state) {
  (void)state;
  const Plan plan = {
      .config = {.epochs = 1, .learning_rate = 1e-12}, .keep_order = true, .without_dropout = true, .sgd = true};
  const Plan whole = {.config = {.epochs = 1, .learning_rate = 1e-12},
                      .keep_order = true,
                      .without_dropout = true,
                      .sgd = true,
                      .batch_size = ITEMS};
  const Run parts = train(&plan), once = train(&whole);
  assert_true(fabs(train_of(&parts.result.last, "Loss") - train_of(&once.result.last, "Loss")) < 1e-6);
  assert_true(fabs(train_of(&parts.result.last, "Accuracy") - train_of(&once.result.last, "Accuracy")) < 1e-12);
  assert_true(fabs(valid_of(&parts.result.last, "Loss") - valid_of(&once.result.last, "Loss")) < 1e-6);
}

static void without_validation_its_numbers_are_nan(void **state) {
  (void)state;
  const Plan plan = {.config = {.epochs = 2}, .without_valid = true};
  const Run run = train(&plan);
  check_status(run.status);
  assert_int_equal(run.inner_steps, 0);
  assert_true(isnan(valid_of(&run.result.last, "Loss")) && isnan(valid_of(&run.result.last, "Accuracy")));
  assert_true(!isnan(train_of(&run.result.last, "Accuracy")));
}

/* The mean of 16 items is half the sum of the means of 2 x 8; a group that the epoch leaves unfinished is dropped. */
static void accumulation_makes_bigger_batches(void **state) {
  (void)state;
  const Plan small = {.config = {.epochs = 3, .learning_rate = 0.1, .gradient_accumulation = 2},
                      .keep_order = true,
                      .without_dropout = true,
                      .sgd = true};
  Plan big = {.config = {.epochs = 3, .learning_rate = 0.2},
              .keep_order = true,
              .without_dropout = true,
              .sgd = true,
              .batch_size = 16};
  BurnStatus status = BURN_OK;
  big.data = burn_dataset_slice(points(ITEMS, 0), 0, 48, &status); /* 3 groups of 2 x 8; the 7th batch has no partner */
  check_status(status);
  const Run summed = train(&small), at_once = train(&big);
  burn_dataset_drop(big.data);
  check_status(summed.status);
  check_status(at_once.status);
  assert_int_equal(summed.result.steps, 3 * 3);
  assert_int_equal(at_once.result.steps, 3 * 3);
  for (int i = 0; i < PARAMETERS; i++) assert_true(fabsf(summed.parameters[i] - at_once.parameters[i]) < 1e-5f);
}

static void evaluate_measures(void **state) {
  (void)state;
  const Plan plan = {.keep_order = true};
  Run run = {.plan = &plan};
  BurnDevice *device = burn_device_open("ndarray");
  Net net = net_make(device);
  BurnLoader *loader = loader_of(points(VALID_ITEMS, 0), &plan);
  const BurnTask task = {step, &run};
  BurnEpochResult found;
  check_status(burn_learner_evaluate(&task, device, burn_module(Net, &net), loader, NULL, &found));
  const double loss = valid_of(&found, "Loss"), accuracy = valid_of(&found, "Accuracy");
  assert_int_equal(run.inner_steps, 3);
  BurnBatches *batches = burn_loader_start(loader, device, 1, 0);
  double sum = 0, hits = 0;
  for (BurnBatch batch; burn_batches_next(batches, &batch);) {
    double logits[8 * 2];
    int64_t labels[8];
    BurnTensor *output = net_forward(&net, burn_batch_take(&batch, "point"), 0);
    check_status(burn_read_f64(output, logits, 2 * batch.item_count));
    check_status(burn_read_i64(burn_batch_take(&batch, "label"), labels, batch.item_count));
    for (size_t i = 0; i < batch.item_count; i++) {
      const double *row = logits + 2 * i;
      sum += log(exp(row[0]) + exp(row[1])) - row[labels[i]];
      hits += (row[1] > row[0]) == (labels[i] == 1);
    }
  }
  check_status(burn_batches_stop(batches));
  const double expected = sum / (double)VALID_ITEMS;
  assert_true(fabs(loss - expected) < 1e-6);
  assert_true(fabs(accuracy - hits / (double)VALID_ITEMS) < 1e-12);
  burn_loader_destroy(loader);
  Net_release(&net);
  burn_device_close(device);
}

/* -- checkpoints ------------------------------------------------------------------------------ */

static void resumed_runs_are_bit_identical(void **state) {
  (void)state;
  Folder folder = folder_make();
  const Plan straight = {.config = {.epochs = 4}};
  const Plan first = {.config = {.epochs = 2, .artifact_dir = folder.path}};
  const Plan second = {.config = {.epochs = 4, .artifact_dir = folder.path, .resume = true}};
  const Run whole = train(&straight), half = train(&first), rest = train(&second);
  check_status(half.status);
  check_status(rest.status);
  assert_int_equal(rest.result.epochs_resumed, 2);
  assert_int_equal(rest.result.epochs_done, 4);
  assert_int_equal(rest.result.steps, 2 * 7);
  same_from(&whole, &rest, 2);
  /* Nothing is left to do: the result is that of the last epoch. */
  const Run again = train(&second);
  check_status(again.status);
  assert_int_equal(again.epoch_count, 0);
  assert_int_equal(again.result.epochs_resumed, 4);
  assert_int_equal(again.result.epochs_done, 4);
  assert_int_equal(again.result.steps, 0);
  same_epoch(&again.result.last, &whole.result.last);
  assert_memory_equal(again.parameters, whole.parameters, sizeof whole.parameters);
  folder_remove(folder.path);
}

static void resume_without_checkpoint_starts(void **state) {
  (void)state;
  Folder folder = folder_make();
  const Plan straight = {.config = {.epochs = 2}},
             resumed = {.config = {.epochs = 2, .artifact_dir = folder.path, .resume = true}};
  const Run whole = train(&straight), run = train(&resumed);
  check_status(run.status);
  assert_int_equal(run.result.epochs_resumed, 0);
  same_from(&whole, &run, 0);
  folder_remove(folder.path);
}

static void killed_runs_resume(void **state) {
  (void)state;
  static const struct { size_t epoch, batch, resumed; } deaths[] = {{1, 4, 0}, {2, 1, 1}, {3, 5, 2}, {4, 7, 3}};
  const Plan straight = {.config = {.epochs = 4}};
  const Run whole = train(&straight);
  for (size_t i = 0; i < sizeof deaths / sizeof deaths[0]; i++) {
    Folder folder = folder_make();
    const Plan plan = {.config = {.epochs = 4, .artifact_dir = folder.path, .resume = true}};
    assert_true(train_and_kill(&folder, 4, deaths[i].epoch, deaths[i].batch));
    const Run rest = train(&plan);
    check_status(rest.status);
    assert_int_equal(rest.result.epochs_resumed, deaths[i].resumed);
    same_from(&whole, &rest, deaths[i].resumed);
    folder_remove(folder.path);
  }
}

static void incomplete_checkpoints_do_not_count(void **state) {
  (void)state;
  static const char *const parts[] = {"checkpoint/learner-3.mpk", "checkpoint/model-3.mpk", "checkpoint/optim-3.mpk"};
  const Plan straight = {.config = {.epochs = 3}};
  const Run whole = train(&straight);
  for (int i = 0; i < 3; i++) {
    Folder folder = folder_make();
    const Plan first = {.config = {.epochs = 3, .artifact_dir = folder.path}};
    const Plan second = {.config = {.epochs = 3, .artifact_dir = folder.path, .resume = true}};
    check_status(train(&first).status);
    assert_int_equal(remove(file_in(&folder, parts[i])), 0);
    const Run rest = train(&second);
    check_status(rest.status);
    assert_int_equal(rest.result.epochs_resumed, 2);
    same_from(&whole, &rest, 2);
    folder_remove(folder.path);
  }
}

/* A complete checkpoint that cannot be read is an error, not a reason to begin anew. */
static void broken_checkpoints_are_errors(void **state) {
  (void)state;
  static const char *const parts[] = {"checkpoint/learner-1.mpk", "checkpoint/model-1.mpk", "checkpoint/optim-1.mpk"};
  for (int i = 0; i < 3; i++) {
    Folder folder = folder_make();
    const Plan first = {.config = {.epochs = 1, .artifact_dir = folder.path}};
    const Plan second = {.config = {.epochs = 2, .artifact_dir = folder.path, .resume = true}};
    check_status(train(&first).status);
    assert_int_equal(truncate(file_in(&folder, parts[i]), 40), 0);
    const Run run = train(&second);
    assert_int_not_equal(run.status, BURN_OK);
    assert_non_null(strstr(burn_status_message(run.status), "checkpoint of epoch 1"));
    assert_int_equal(run.result.epochs_done, 0);
    assert_true(exists(&folder, parts[i]));
    folder_remove(folder.path);
  }
}

static void old_checkpoints_go(void **state) {
  (void)state;
  Folder folder = folder_make();
  Plan plan = {.config = {.epochs = 5, .artifact_dir = folder.path}};
  check_status(train(&plan).status);
  assert_true(exists(&folder, "checkpoint/learner-5.mpk") && exists(&folder, "checkpoint/model-4.mpk"));
  for (int epoch = 1; epoch <= 3; epoch++) {
    static const char *const parts[] = {"learner", "model", "optim"};
    for (int i = 0; i < 3; i++) {
      char name[64];
      snprintf(name, sizeof name, "checkpoint/%s-%d.mpk", parts[i], epoch);
      assert_false(exists(&folder, name));
    }
  }
  /* A run from the start removes what an earlier one left, but nothing that is not a checkpoint. */
  FILE *note = fopen(file_in(&folder, "checkpoint/model-notes.txt"), "w");
  assert_non_null(note);
  fclose(note);
  plan.config.epochs = 1;
  check_status(train(&plan).status);
  assert_true(exists(&folder, "checkpoint/learner-1.mpk"));
  assert_false(exists(&folder, "checkpoint/learner-5.mpk"));
  assert_false(exists(&folder, "train/epoch-2/Loss.log"));
  assert_true(exists(&folder, "checkpoint/model-notes.txt"));
  plan.config.epochs = 5;
  plan.config.keep_checkpoints = 4;
  check_status(train(&plan).status);
  assert_false(exists(&folder, "checkpoint/learner-1.mpk"));
  assert_true(exists(&folder, "checkpoint/learner-2.mpk") && exists(&folder, "checkpoint/optim-2.mpk"));
  /* What a run did not come to remove goes when it is resumed, even if nothing is left to train. */
  plan.config.keep_checkpoints = 2;
  plan.config.resume = true;
  check_status(train(&plan).status);
  assert_false(exists(&folder, "checkpoint/learner-3.mpk") || exists(&folder, "checkpoint/model-3.mpk"));
  assert_true(exists(&folder, "checkpoint/learner-4.mpk") && exists(&folder, "checkpoint/learner-5.mpk"));
  folder_remove(folder.path);
}

static void metrics_are_logged(void **state) {
  (void)state;
  Folder folder = folder_make();
  const Plan plan = {.config = {.epochs = 2, .artifact_dir = folder.path}};
  const Run run = train(&plan);
  char line[64];
  double value, sum = 0;
  int count, lines = 0, items = 0;
  check_status(run.status);
  FILE *log = fopen(file_in(&folder, "train/epoch-2/Accuracy.log"), "r");
  assert_non_null(log);
  while (fgets(line, sizeof line, log) && sscanf(line, "%lf,%d", &value, &count) == 2) {
    sum += value * count;
    items += count;
    lines++;
  }
  assert_int_equal(lines, 7);
  assert_int_equal(items, ITEMS);
  assert_non_null(strstr(line, ",final\n"));
  assert_int_equal(sscanf(line, "%lf", &value), 1);
  assert_true(fabs(value - sum / items) < 1e-5);
  assert_true(fabs(value / 100 - train_of(&run.result.last, "Accuracy")) < 1e-7);
  assert_null(fgets(line, sizeof line, log));
  fclose(log);
  assert_true(exists(&folder, "train/epoch-1/Loss.log") && exists(&folder, "valid/epoch-2/Loss.log"));
  assert_true(exists(&folder, "valid/epoch-1/Accuracy.log"));
  folder_remove(folder.path);
}

/* -- failures --------------------------------------------------------------------------------- */

static void failures_tell_where(void **state) {
  (void)state;
  Folder folder = folder_make();
  const Plan plan = {.config = {.epochs = 4, .artifact_dir = folder.path}, .fail_epoch = 2, .at_batch = 3};
  const Run run = train(&plan);
  check_refused(run.status, BURN_STATUS_INVALID_SHAPE, "epoch 2, batch 3: matmul: ");
  assert_int_equal(run.result.epochs_done, 1);
  assert_int_equal(run.epoch_count, 1);
  assert_int_equal(run.result.last.epoch, 1);
  const Plan second = {.config = {.epochs = 4, .artifact_dir = folder.path, .resume = true}},
             straight = {.config = {.epochs = 4}};
  const Run whole = train(&straight), rest = train(&second);
  check_status(rest.status);
  same_from(&whole, &rest, 1);
  folder_remove(folder.path);
}

static void on_epoch_can_end_a_run(void **state) {
  (void)state;
  const Plan plan = {.config = {.epochs = 9}, .stop_epoch = 2};
  const Run run = train(&plan);
  check_refused(run.status, BURN_STATUS_CANCELLED, "enough");
  assert_int_equal(run.result.epochs_done, 2);
}

static BurnStatus broken_get(void *context, size_t index, void *const *columns) {
  (void)context;
  if (index == 30) return burn_status_make(BURN_STATUS_IO, "item %zu cannot be read", index);
  memset(columns[0], 0, 2 * sizeof(float));
  memset(columns[1], 0, sizeof(int64_t));
  return BURN_OK;
}

static void failures_of_the_data_are_reported(void **state) {
  (void)state;
  const BurnColumn columns[] = {{"point", BURN_DTYPE_F32, {1, {2}}}, {"label", BURN_DTYPE_I64, {0, {0}}}};
  const BurnDatasetInterface broken = {.column_count = 2, .columns = columns, .count = ITEMS, .get = broken_get};
  BurnStatus status = BURN_OK;
  Plan plan = {.config = {.epochs = 2}};
  plan.data = burn_dataset_create(&broken, &status);
  check_status(status);
  const Run run = train(&plan);
  check_refused(run.status, BURN_STATUS_IO, "epoch 1, training data: ");
  assert_non_null(strstr(burn_status_message(run.status), "item 30 cannot be read"));
  burn_dataset_drop(plan.data);
}

static BurnStepOutput odd_step(void *context, const void *module, BurnBatch *batch) {
  const char *kind = context;
  BurnTensor *x = burn_batch_take(batch, "point");
  const Net *net = module;
  BurnStepOutput many = {0};
  if (strcmp(kind, "no loss") == 0) {
    burn_step_give(&many, "output", x);
    return many;
  }
  BurnTensor *output = net_forward(net, x, 0);
  if (strcmp(kind, "no parameter") == 0) {
    burn_step_give(&many, "loss", burn_sum(burn_detach(output)));
    return many;
  }
  if (strcmp(kind, "long loss") == 0) return burn_classification_output(output, NULL, NULL);
  BurnTensor *loss = burn_sum(burn_clone(output));
  if (strcmp(kind, "too many") == 0) {
    for (int i = 0; i < 8; i++) burn_step_give(&many, "output", burn_clone(output));
    burn_drop(output);
    burn_step_give(&many, "loss", loss);
    return many;
  }
  return burn_classification_output(loss, output, burn_reshape(burn_batch_take(batch, "label"), BURN_SHAPE(-1, 1)));
}

static void odd_steps_are_refused(void **state) {
  (void)state;
  static const struct {
    const char *kind, *part;
  } cases[] = {
      {"no loss", "epoch 1, batch 1: the step gave no loss"},
      {"no parameter", "epoch 1, batch 1: no parameter of Net got a gradient: the loss was not computed from it"},
      {"long loss", "epoch 1, batch 1: the loss has 16 elements"},
      {"too many", "epoch 1, batch 1: the step gave 9 tensors, at most 8 are allowed"},
      {"odd targets", "epoch 1, batch 1: accuracy: "}};
  BurnDevice *device = burn_device_open("autodiff<ndarray>");
  const Plan plan = {.keep_order = true};
  const BurnLearnerConfig config = {.epochs = 1, .learning_rate = 0.1, .quiet = true};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    Net net = net_make(device);
    BurnOptimizer *optimizer = burn_sgd_create(NULL);
    BurnLoader *loader = loader_of(points(ITEMS, 0), &plan);
    const BurnTask task = {odd_step, (void *)(uintptr_t)cases[i].kind};
    const BurnStatus status =
        burn_learner_fit(&config, &task, device, burn_module(Net, &net), optimizer, loader, NULL, NULL);
    assert_int_not_equal(status, BURN_OK);
    if (!strstr(burn_status_message(status), cases[i].part)) fail_msg("%s", burn_status_message(status));
    burn_loader_destroy(loader);
    burn_optimizer_destroy(optimizer);
    Net_release(&net);
  }
  assert_int_equal(burn_device_memory(device).live_tensors, 0);
  burn_device_close(device);
}

static void bad_arguments_are_refused(void **state) {
  (void)state;
  Plan plan = {.config = {.epochs = 0}};
  check_refused(train(&plan).status, BURN_STATUS_INVALID_ARGUMENT, "epochs is 0");
  plan.config.epochs = 1;
  plan.config.resume = true;
  check_refused(train(&plan).status, BURN_STATUS_INVALID_ARGUMENT, "artifact_dir");
  plan.config.resume = false;
  plan.config.learning_rate = (double)NAN;
  check_refused(train(&plan).status, BURN_STATUS_INVALID_ARGUMENT, "learning_rate");
  plan.config.learning_rate = 0.1;
  plan.config.artifact_dir = "/dev/null/folder";
  check_refused(train(&plan).status, BURN_STATUS_IO, "/dev/null");

  BurnDevice *device = burn_device_open("ndarray");
  Net net = net_make(device);
  BurnOptimizer *optimizer = burn_sgd_create(NULL);
  BurnLoader *loader = loader_of(points(ITEMS, 0), &plan);
  Run run = {.plan = &plan};
  const BurnTask task = {step, &run};
  const BurnLearnerConfig config = {.epochs = 1, .learning_rate = 0.1, .quiet = true};
  check_refused(burn_learner_fit(&config, &task, device, burn_module(Net, &net), optimizer, loader, NULL, NULL),
                BURN_STATUS_NO_AUTODIFF, "ndarray");
  BurnDevice *training = burn_device_open("autodiff<ndarray>");
  const BurnLearnerConfig no_rate = {.epochs = 1, .quiet = true};
  check_refused(burn_learner_fit(&no_rate, &task, training, burn_module(Net, &net), optimizer, loader, NULL, NULL),
                BURN_STATUS_INVALID_ARGUMENT,
                "learner: neither learning_rate nor schedule is set: nothing would be learned");
  const BurnLearnerConfig no_step = {
      .epochs = 9, .learning_rate = 0.1, .gradient_accumulation = burn_loader_batch_count(loader) + 1, .quiet = true};
  check_refused(burn_learner_fit(&no_step, &task, training, burn_module(Net, &net), optimizer, loader, NULL, NULL),
                BURN_STATUS_INVALID_ARGUMENT, "batches: no step would be made");
  burn_device_close(training);
  BurnStatus status = BURN_OK;
  assert_null(burn_loader_create(points(ITEMS, 0), NULL, &status));
  check_refused(status, BURN_STATUS_INVALID_ARGUMENT, "loader: config is NULL");
  status = BURN_OK;
  assert_null(burn_dataset_digits(NULL, &status));
  check_refused(status, BURN_STATUS_INVALID_ARGUMENT, "digits: config is NULL");
  check_refused(burn_learner_fit(NULL, &task, device, burn_module(Net, &net), optimizer, loader, NULL, NULL),
                BURN_STATUS_INVALID_ARGUMENT, "learner: config is NULL");
  check_refused(burn_learner_fit(&config, NULL, device, burn_module(Net, &net), optimizer, loader, NULL, NULL),
                BURN_STATUS_INVALID_ARGUMENT, "learner: no task");
  burn_loader_destroy(loader);
  burn_optimizer_destroy(optimizer);
  Net_release(&net);
  burn_device_close(device);
}

/* In either place, before the first step. */
static void loaders_without_batches_are_refused(void **state) {
  (void)state;
  static const struct {
    size_t items;
    const char *why;
  } cases[] = {{0, "has no items"},
               {5, "has no batches: drop_last leaves out its 5 items, which are less than batch_size 8"}};
  BurnDevice *device = burn_device_open("autodiff<ndarray>");
  Net net = net_make(device);
  BurnOptimizer *optimizer = burn_sgd_create(NULL);
  const Plan plan = {.config = {.epochs = 1}};
  Run run = {.plan = &plan};
  const BurnTask task = {step, &run};
  const BurnLearnerConfig config = {.epochs = 1, .learning_rate = 0.1, .quiet = true};
  BurnLoader *full = loader_of(points(ITEMS, 0), &plan);
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char message[160];
    BurnStatus status = BURN_OK;
    const BurnLoaderConfig how = {.batch_size = 8, .drop_last = true};
    BurnLoader *none = burn_loader_create(points(cases[i].items, 0), &how, &status);
    check_status(status);
    for (int place = 0; place < 2; place++) {
      (void)snprintf(message, sizeof message, "learner: the loader of %s data %s", place ? "validation" : "training",
                     cases[i].why);
      status = burn_learner_fit(&config, &task, device, burn_module(Net, &net), optimizer, place ? full : none,
                                place ? none : NULL, NULL);
      check_refused(status, BURN_STATUS_INVALID_ARGUMENT, message);
    }
    BurnEpochResult result;
    (void)snprintf(message, sizeof message, "evaluator: the loader %s", cases[i].why);
    status = burn_learner_evaluate(&task, device, burn_module(Net, &net), none, NULL, &result);
    check_refused(status, BURN_STATUS_INVALID_ARGUMENT, message);
    burn_loader_destroy(none);
  }
  assert_int_equal(run.train_batches, 0);
  burn_loader_destroy(full);
  burn_optimizer_destroy(optimizer);
  Net_release(&net);
  burn_device_close(device);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(it_learns),
      cmocka_unit_test(same_seed_same_numbers),
      cmocka_unit_test(averages_are_over_items),
      cmocka_unit_test(without_validation_its_numbers_are_nan),
      cmocka_unit_test(accumulation_makes_bigger_batches),
      cmocka_unit_test(evaluate_measures),
      cmocka_unit_test(resumed_runs_are_bit_identical),
      cmocka_unit_test(resume_without_checkpoint_starts),
      cmocka_unit_test(killed_runs_resume),
      cmocka_unit_test(incomplete_checkpoints_do_not_count),
      cmocka_unit_test(broken_checkpoints_are_errors),
      cmocka_unit_test(old_checkpoints_go),
      cmocka_unit_test(metrics_are_logged),
      cmocka_unit_test(failures_tell_where),
      cmocka_unit_test(on_epoch_can_end_a_run),
      cmocka_unit_test(failures_of_the_data_are_reported),
      cmocka_unit_test(odd_steps_are_refused),
      cmocka_unit_test(bad_arguments_are_refused),
      cmocka_unit_test(loaders_without_batches_are_refused),
  };
  int exit_status;
  if (train_as_told(argc, argv, &exit_status)) return exit_status;
  return cmocka_run_group_tests_name("learner", tests, NULL, NULL);
}
