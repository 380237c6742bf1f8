/* checkpoint_test.c - what a run leaves in its folder, and what it does with what others have left there: interrupted,
 * damaged and foreign checkpoints, losses that are not numbers, logs that cannot be written. */
#include "learner_testing.h"

#include <burn/file.h>

#include <fcntl.h>

/* -- small files ------------------------------------------------------------------------------ */

typedef struct Content {
  char data[65536];
  size_t count;
} Content;

static Content read_content(const char *path) {
  Content content = {"", 0};
  FILE *file = fopen(path, "rb");
  if (!file) return content;
  content.count = fread(content.data, 1, sizeof content.data - 1, file);
  fclose(file);
  return content;
}

static void write_content(const char *path, const void *data, size_t count) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(data, 1, count, file), count);
  assert_int_equal(fclose(file), 0);
}

/* What the run writes to stderr. */
static Run train_and_listen(const Plan *plan, Content *said) {
  const char *path = "/tmp/burn_checkpoint_test_stderr";
  fflush(stderr);
  const int before = dup(2), file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  assert_true(before >= 0 && file >= 0);
  assert_true(dup2(file, 2) >= 0); /* Windows gives 0 */
  const Run run = train(plan);
  fflush(stderr);
  assert_true(dup2(before, 2) >= 0);
  close(before);
  close(file);
  *said = read_content(path);
  remove(path);
  return run;
}

static void check_said(const Content *said, const char *part) {
  if (!strstr(said->data, part)) fail_msg("'%s' lacks '%s'", said->data, part);
}

static void same_logs(const Folder *a, const Folder *b, size_t epochs) {
  static const char *const names[][2] = {
      {"train", "Loss"}, {"train", "Accuracy"}, {"valid", "Loss"}, {"valid", "Accuracy"}};
  for (size_t epoch = 1; epoch <= epochs; epoch++) {
    for (int i = 0; i < 4; i++) {
      char name[64];
      snprintf(name, sizeof name, "%s/epoch-%zu/%s.log", names[i][0], epoch, names[i][1]);
      const Content one = read_content(file_in(a, name)), two = read_content(file_in(b, name));
      assert_true(one.count > 0);
      assert_string_equal(one.data, two.data);
    }
  }
}

/* -- interrupted ------------------------------------------------------------------------------ */

typedef struct Stop {
  size_t epoch, batch, accumulation;
  size_t stops; /* the batch after which it ends */
  bool in_valid;
  const char *mark; /* of the checkpoint */
} Stop;

static void interrupted_runs_go_on_bit_for_bit(void **state) {
  (void)state;
  static const Stop stops[] = {
      {1, 1, 1, 1, false, "checkpoint/learner-1-1.mpk"}, {2, 3, 1, 3, false, "checkpoint/learner-2-3.mpk"},
      {3, 7, 1, 7, false, "checkpoint/learner-3-7.mpk"}, {4, 7, 1, 7, false, "checkpoint/learner-4-7.mpk"},
      {2, 0, 1, 7, true, "checkpoint/learner-2-7.mpk"},  {2, 3, 3, 3, false, "checkpoint/learner-2-3.mpk"},
      {2, 4, 3, 6, false, "checkpoint/learner-2-6.mpk"}};
  for (size_t i = 0; i < sizeof stops / sizeof stops[0]; i++) {
    const Stop *stop = &stops[i];
    Folder straight = folder_make(), folder = folder_make();
    BurnInterrupter interrupter = {0};
    const BurnLearnerConfig config = {.epochs = 4, .gradient_accumulation = stop->accumulation};
    Plan whole = {.config = config}, first = {.config = config}, rest = {.config = config, .workers = 2};
    whole.config.artifact_dir = straight.path;
    first.config.artifact_dir = rest.config.artifact_dir = folder.path;
    first.config.interrupter = &interrupter;
    first.interrupt_epoch = stop->epoch;
    first.at_batch = stop->batch;
    first.interrupt_valid = stop->in_valid;
    rest.config.resume = true;
    rest.begun_batches = stop->stops;
    const Run uninterrupted = train(&whole), begun = train(&first);
    check_status(uninterrupted.status);
    char message[64];
    snprintf(message, sizeof message, "interrupted at epoch %zu, batch %zu of 7", stop->epoch, stop->stops);
    check_refused(begun.status, BURN_STATUS_CANCELLED, message);
    assert_true(begun.result.interrupted);
    assert_int_equal(begun.result.epoch, stop->epoch);
    assert_int_equal(begun.result.batch, stop->stops);
    assert_int_equal(begun.result.epochs_done, stop->epoch - 1);
    assert_true(exists(&folder, stop->mark));
    const Run ended = train(&rest);
    check_status(ended.status);
    assert_false(ended.result.interrupted);
    same_from(&uninterrupted, &ended, stop->epoch - 1);
    same_logs(&straight, &folder, 4);
    assert_false(exists(&folder, stop->mark));
    assert_true(exists(&folder, "checkpoint/learner-4.mpk"));
    folder_remove(straight.path);
    folder_remove(folder.path);
  }
}

/* What was done after the checkpoint in the middle is done anew; its lines are cut from the logs. */
static void killed_after_an_interrupt(void **state) {
  (void)state;
  Folder straight = folder_make(), folder = folder_make();
  BurnInterrupter interrupter = {0};
  const Plan whole = {.config = {.epochs = 3, .artifact_dir = straight.path}};
  const Plan first = {.config = {.epochs = 3, .artifact_dir = folder.path, .interrupter = &interrupter},
                      .interrupt_epoch = 2,
                      .at_batch = 3};
  const Plan rest = {.config = {.epochs = 3, .artifact_dir = folder.path, .resume = true}, .begun_batches = 3};
  const Run uninterrupted = train(&whole);
  check_refused(train(&first).status, BURN_STATUS_CANCELLED, "epoch 2, batch 3");
  assert_true(train_and_kill(&folder, 3, 2, 3)); /* which counts from its own first batch: the sixth of the epoch */
  assert_true(exists(&folder, "checkpoint/learner-2-3.mpk"));
  const Run ended = train(&rest);
  check_status(ended.status);
  same_from(&uninterrupted, &ended, 1);
  same_logs(&straight, &folder, 3);
  folder_remove(straight.path);
  folder_remove(folder.path);
}

/* Epochs 3 and 4 are done anew, as they were; what they had left is gone before that. */
static void goes_on_after_an_epoch_of_choice(void **state) {
  (void)state;
  Folder straight = folder_make(), folder = folder_make();
  const BurnLearnerConfig config = {.epochs = 4, .keep_checkpoints = 4};
  Plan whole = {.config = config}, first = {.config = config}, rest = {.config = config};
  whole.config.artifact_dir = straight.path;
  first.config.artifact_dir = rest.config.artifact_dir = folder.path;
  rest.config.resume_epoch = 2;
  const Run uninterrupted = train(&whole);
  check_status(train(&first).status);
  check_refused(train(&rest).status, BURN_STATUS_INVALID_ARGUMENT, "resume_epoch needs resume");
  rest.config.resume = true;
  Run ended = train(&rest);
  check_status(ended.status);
  assert_int_equal(ended.result.epochs_resumed, 2);
  same_from(&uninterrupted, &ended, 2);
  same_logs(&straight, &folder, 4);
  rest.config.epochs = 2; /* nothing is left to do */
  ended = train(&rest);
  check_status(ended.status);
  assert_int_equal(ended.result.epochs_done, 2);
  assert_true(exists(&folder, "checkpoint/learner-1.mpk") && exists(&folder, "checkpoint/model-2.mpk"));
  assert_false(exists(&folder, "checkpoint/learner-3.mpk") || exists(&folder, "checkpoint/model-4.mpk"));
  assert_false(exists(&folder, "train/epoch-3/Loss.log") || exists(&folder, "valid/epoch-4/Loss.log"));
  rest.config.resume_epoch = 3;
  check_refused(train(&rest).status, BURN_STATUS_NOT_FOUND, "checkpoint of epoch 3: ");
  folder_remove(straight.path);
  folder_remove(folder.path);
}

static void a_log_that_lost_lines_is_told(void **state) {
  (void)state;
  Folder folder = folder_make();
  BurnInterrupter interrupter = {0};
  const Plan first = {.config = {.epochs = 1, .artifact_dir = folder.path, .interrupter = &interrupter},
                      .interrupt_epoch = 1,
                      .at_batch = 3};
  const Plan rest = {.config = {.epochs = 1, .artifact_dir = folder.path, .resume = true}, .begun_batches = 3};
  Content said;
  check_refused(train(&first).status, BURN_STATUS_CANCELLED, "epoch 1, batch 3");
  assert_int_equal(remove(file_in(&folder, "train/epoch-1/Loss.log")), 0);
  check_status(train_and_listen(&rest, &said).status);
  check_said(&said, "train/epoch-1/Loss.log is shorter than it was at the checkpoint");
  folder_remove(folder.path);
}

static BurnInterrupter after_epoch_interrupter;
static void interrupt_after_epoch(const BurnEpochResult *result, const char *artifact_dir) {
  (void)artifact_dir;
  if (result->epoch == 2) burn_interrupter_stop(&after_epoch_interrupter);
}

static void interrupted_between_epochs(void **state) {
  (void)state;
  Folder folder = folder_make();
  after_epoch_interrupter = (BurnInterrupter){0};
  Plan plan = {.config = {.epochs = 3, .artifact_dir = folder.path, .interrupter = &after_epoch_interrupter},
               .after_epoch = interrupt_after_epoch};
  const Run run = train(&plan);
  check_refused(run.status, BURN_STATUS_CANCELLED, "interrupted at epoch 2, batch 7 of 7");
  assert_int_equal(run.result.epochs_done, 2);
  /* Whoever is interrupted after the last epoch is done. */
  after_epoch_interrupter = (BurnInterrupter){0};
  plan.config.epochs = 2;
  check_status(train(&plan).status);
  folder_remove(folder.path);
}

#if !defined(_WIN32)
/* The first signal is for the interrupter, the second ends the process. */
static void signals_interrupt(void **state) {
  (void)state;
  static const int numbers[] = {SIGINT, SIGTERM};
  for (int i = 0; i < 2; i++) {
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
      BurnInterrupter interrupter = {0};
      if (burn_interrupter_on_signals(&interrupter) != BURN_OK || burn_interrupter_stopped(&interrupter)) _exit(1);
      raise(numbers[i]);
      if (!burn_interrupter_stopped(&interrupter) || burn_interrupter_signal(&interrupter) != numbers[i]) _exit(2);
      raise(numbers[i]);
      _exit(3);
    }
    int outcome = 0;
    assert_int_equal(waitpid(child, &outcome, 0), child);
    assert_true(WIFSIGNALED(outcome));
    assert_int_equal(WTERMSIG(outcome), numbers[i]);
  }
  BurnInterrupter interrupter = {0};
  burn_interrupter_stop(&interrupter);
  assert_true(burn_interrupter_stopped(&interrupter));
  assert_int_equal(burn_interrupter_signal(&interrupter), 0);
  assert_false(burn_interrupter_stopped(NULL));
}
#endif

/* -- another run ------------------------------------------------------------------------------ */

#define SETTINGS_CONFIG(REQ, OPT)                        \
  OPT(BurnSize, num_epochs, 2, "passes")                 \
  OPT(BurnF64, dropout, 0.1, "share")                    \
  OPT(BurnAdamConfig, optimizer, BURN_ADAM_DEFAULTS, "") \
  OPT(BurnText, data, {""}, "folder")
#define BURN_ADAM_DEFAULTS \
  { 0.9, 0.999, 1e-5, BURN_ABSENT, false, BURN_CLIP_NONE }
BURN_CONFIG_OPTIONAL(SettingsConfig, SETTINGS_CONFIG);

static void another_run_is_refused(void **state) {
  (void)state;
  static const char *const parts[] = {
      "learning_rate is 0.04, the checkpoint has 0.03",         "training data: batch_size is 9, the checkpoint has 8",
      "training data: seed is 4, the checkpoint has 3",         "config.dropout is 0.2, the checkpoint has 0.1",
      "config.optimizer.beta_1 is 0.8, the checkpoint has 0.9", "config.data is \"a\\\"b\", the checkpoint has \"\"",
      "config.num_epochs is not there, the checkpoint has 2",   "training data: items is 30, the checkpoint has 50",
      "gradient_accumulation is 2, the checkpoint has 1",       "config.num_epochs is 3, the checkpoint has 2",
  };
  Folder folder = folder_make();
  SettingsConfig settings = SettingsConfig_defaults();
  const Plan first = {
      .config = {.epochs = 1, .artifact_dir = folder.path, .config = burn_config(SettingsConfig, &settings)}};
  check_status(train(&first).status);
  const Content before = read_content(file_in(&folder, "config.json"));
  assert_true(before.count > 0);
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
    SettingsConfig other = settings;
    BurnStatus status = BURN_OK;
    Plan plan = first;
    plan.config.resume = true;
    plan.config.epochs = 2;
    plan.config.config = burn_config(SettingsConfig, &other);
    if (i == 0) plan.config.learning_rate = 0.04;
    if (i == 1) plan.batch_size = 9;
    if (i == 2) plan.seed = 4;
    if (i == 3) other.dropout = 0.2;
    if (i == 4) other.optimizer.beta_1 = 0.8;
    if (i == 5) snprintf(other.data.text, sizeof other.data.text, "a\"b");
    if (i == 6) plan.config.config = (BurnConfig){NULL, NULL};
    if (i == 7) plan.data = burn_dataset_slice(points(ITEMS, 0), 0, 30, &status);
    if (i == 8) plan.config.gradient_accumulation = 2;
    if (i == 9) other.num_epochs = 3;
    check_refused(train(&plan).status, BURN_STATUS_FAILED_PRECONDITION, parts[i]);
    burn_dataset_drop(plan.data);
    const Content after = read_content(file_in(&folder, "config.json"));
    assert_string_equal(before.data, after.data);
  }
  folder_remove(folder.path);
}

/* Other items, with the same count and order. */
static void another_dataset_is_refused(void **state) {
  (void)state;
  Folder folder = folder_make();
  Plan plan = {.config = {.epochs = 1, .artifact_dir = folder.path}};
  check_status(train(&plan).status);
  plan.config.resume = true;
  plan.config.epochs = 2;
  plan.data = points(ITEMS, 1);
  check_refused(train(&plan).status, BURN_STATUS_FAILED_PRECONDITION, "training data: checksum of two items is ");
  burn_dataset_drop(plan.data);
  folder_remove(folder.path);
}

static void what_may_differ_does(void **state) {
  (void)state;
  Folder folder = folder_make();
  SettingsConfig settings = SettingsConfig_defaults();
  const Plan straight = {.config = {.epochs = 3}};
  Plan plan = {.config = {.epochs = 1, .artifact_dir = folder.path, .config = burn_config(SettingsConfig, &settings)}};
  const Run whole = train(&straight);
  check_status(train(&plan).status);
  plan.config.resume = true;
  plan.config.epochs = 2;
  plan.config.free_fields = "data  num_epochs";
  settings.num_epochs = 3;
  check_status(train(&plan).status);
  SettingsConfig saved = {0};
  check_status(burn_config_load(burn_config(SettingsConfig, &saved), file_in(&folder, "config.json")));
  assert_int_equal(saved.num_epochs, 3);
  settings.num_epochs = 1; /* of epochs that there are already: nothing is trained, and the config stays */
  plan.config.epochs = 1;
  check_status(train(&plan).status);
  check_status(burn_config_load(burn_config(SettingsConfig, &saved), file_in(&folder, "config.json")));
  assert_int_equal(saved.num_epochs, 3);
  settings.num_epochs = 3;
  settings.dropout = 0.5; /* which nobody reads here */
  plan.config.epochs = 3;
  plan.config.accept_changes = true;
  Content said;
  const Run changed = train_and_listen(&plan, &said);
  check_status(changed.status);
  check_said(&said, "resuming another run: config.dropout is 0.5, the checkpoint has 0.1");
  same_from(&whole, &changed, 2);
  folder_remove(folder.path);
}

static void another_stack_is_told(void **state) {
  (void)state;
  Folder folder = folder_make();
  Plan plan = {.config = {.epochs = 1, .artifact_dir = folder.path}};
  Content said;
  check_status(train_and_listen(&plan, &said).status);
  assert_string_equal(said.data, "");
  plan.config.resume = true;
  plan.config.epochs = 2;
  plan.stack = "autodiff<ndarray:isa=baseline>";
  const Run run = train_and_listen(&plan, &said);
  check_status(run.status);
  assert_int_equal(run.result.epochs_resumed, 1);
  check_said(&said,
             "resuming on autodiff 0.1.0<ndarray 0.1.0 isa=baseline>; the checkpoint was made on autodiff "
             "0.1.0<ndarray 0.1.0>");
  folder_remove(folder.path);
}

/* The config is written when nothing of an earlier run is left. */
static void cleared_before_the_config(void **state) {
  (void)state;
  Folder folder = folder_make();
  SettingsConfig settings = SettingsConfig_defaults();
  const Plan plan = {
      .config = {.epochs = 2, .artifact_dir = folder.path, .config = burn_config(SettingsConfig, &settings)}};
  check_status(train(&plan).status);
  assert_int_equal(remove(file_in(&folder, "config.json")), 0);
  assert_int_equal(mkdir(file_in(&folder, "config.json"), 0700), 0); /* it cannot be written: the run ends there */
  check_refused(train(&plan).status, BURN_STATUS_IO, "config.json");
  assert_false(exists(&folder, "checkpoint/learner-2.mpk") || exists(&folder, "checkpoint/model-1.mpk"));
  assert_false(exists(&folder, "train/epoch-1"));
  folder_remove(folder.path);
}

static void only_our_names_are_removed(void **state) {
  (void)state;
  static const char *const foreign[] = {"checkpoint/model-2.mpk.bak",
                                        "checkpoint/learner-02.mpk",
                                        "checkpoint/learner-2-0.mpk",
                                        "checkpoint/optim-1-.mpk",
                                        ".burn-0123.tmp",
                                        "checkpoint/.burn-notes"};
  static const char *const ours[] = {"checkpoint/model-9.mpk", "checkpoint/learner-9-3.mpk",
                                     ".burn-0123456789abcdef.tmp", "checkpoint/.burn-0123456789abcdef.tmp"};
  Folder folder = folder_make();
  const Plan plan = {.config = {.epochs = 2, .artifact_dir = folder.path}};
  check_status(train(&plan).status);
  char copy[256];
  snprintf(copy, sizeof copy, "%s", file_in(&folder, "train/epoch-2.bak"));
  assert_int_equal(rename(file_in(&folder, "train/epoch-2"), copy), 0);
  assert_int_equal(mkdir(file_in(&folder, "train/epoch-03"), 0700), 0);
  write_content(file_in(&folder, "train/epoch-03/Loss.log"), "x", 1);
  for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++) write_content(file_in(&folder, foreign[i]), "x", 1);
  for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++) write_content(file_in(&folder, ours[i]), "x", 1);
  check_status(train(&plan).status);
  for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++) assert_true(exists(&folder, foreign[i]));
  for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++) {
    if (exists(&folder, ours[i])) fail_msg("%s is still there", ours[i]);
  }
  assert_true(exists(&folder, "train/epoch-2.bak/Loss.log") && exists(&folder, "train/epoch-03/Loss.log"));
  folder_remove(folder.path);
}

static void one_run_at_a_time(void **state) {
  (void)state;
  Folder folder = folder_make();
  const Plan plan = {.config = {.epochs = 1, .artifact_dir = folder.path}};
  BurnStatus status = BURN_OK;
  char number[32];
  BurnFolderLock *lock = burn_folder_lock(folder.path, &status);
  check_status(status);
  snprintf(number, sizeof number, "%ld", (long)getpid());
  check_refused(train(&plan).status, BURN_STATUS_FAILED_PRECONDITION, number);
  assert_false(exists(&folder, "checkpoint"));
  burn_folder_unlock(lock);
  check_status(train(&plan).status);
  folder_remove(folder.path);
}

/* -- damaged checkpoints ---------------------------------------------------------------------- */

enum { CUT, FLIPPED, MISSING, DAMAGES };

static void damage(const char *path, int kind) {
  Content content = read_content(path);
  if (kind == MISSING) {
    assert_int_equal(remove(path), 0);
    return;
  }
  if (kind == FLIPPED) { /* a bit of a number: of the history after its name, else of a tensor */
    size_t at = content.count - 40;
    for (size_t i = 0; i + 19 < content.count; i++) {
      if (memcmp(content.data + i, "items_per_second", 16) == 0) at = i + 19;
    }
    content.data[at] ^= 1;
  }
  write_content(path, content.data, kind == CUT ? content.count / 2 : content.count);
}

static void damaged_checkpoints_are_passed_over(void **state) {
  (void)state;
  static const char *const parts[] = {"checkpoint/learner-3.mpk", "checkpoint/model-3.mpk", "checkpoint/optim-3.mpk"};
  static const char *const reasons[DAMAGES] = {"byte ",
                                               "the file is damaged: checksum crc32:", " is missing; passed over"};
  const Plan straight = {.config = {.epochs = 4}};
  const Run whole = train(&straight);
  for (int i = 0; i < 3 * DAMAGES; i++) {
    Folder folder = folder_make();
    Plan plan = {.config = {.epochs = 3, .artifact_dir = folder.path}};
    Content said;
    check_status(train(&plan).status);
    damage(file_in(&folder, parts[i / DAMAGES]), i % DAMAGES);
    plan.config.resume = true;
    plan.config.epochs = 4;
    const Run rest = train_and_listen(&plan, &said);
    check_status(rest.status);
    check_said(&said, "checkpoint of epoch 3: ");
    check_said(&said, parts[i / DAMAGES]);
    check_said(&said, reasons[i % DAMAGES]);
    assert_int_equal(rest.result.epochs_resumed, 2);
    same_from(&whole, &rest, 2);
    folder_remove(folder.path);
  }
}

static void no_usable_checkpoint_says_what_to_do(void **state) {
  (void)state;
  Folder folder = folder_make();
  Plan plan = {.config = {.epochs = 2, .artifact_dir = folder.path}};
  Content said;
  check_status(train(&plan).status);
  damage(file_in(&folder, "checkpoint/model-1.mpk"), FLIPPED);
  damage(file_in(&folder, "checkpoint/optim-2.mpk"), CUT);
  plan.config.resume = true;
  const Run run = train_and_listen(&plan, &said);
  check_refused(run.status, BURN_STATUS_CORRUPT_DATA,
                "put back an intact copy, or begin anew without resume. The newest: checkpoint of epoch 2: ");
  assert_true(exists(&folder, "checkpoint/model-1.mpk") && exists(&folder, "checkpoint/model-2.mpk"));
  check_said(&said, "checkpoint of epoch 1: ");
  folder_remove(folder.path);
}

/* -- no numbers ------------------------------------------------------------------------------- */

static void a_loss_that_is_no_number_stops(void **state) {
  (void)state;
  Folder folder = folder_make();
  const Plan plan = {.config = {.epochs = 4, .artifact_dir = folder.path}, .nan_epoch = 2, .at_batch = 3};
  check_refused(train(&plan).status, BURN_STATUS_OUT_OF_RANGE,
                "epoch 2, batch 3: the loss is inf; try a smaller learning_rate than 0.03, or set on_nan to go on");
  assert_true(exists(&folder, "checkpoint/learner-1.mpk"));
  assert_false(exists(&folder, "checkpoint/learner-2.mpk"));
  folder_remove(folder.path);
}

/* The step of the last batch spoils the parameters: its loss was fine. */
static void spoilt_parameters_stop(void **state) {
  (void)state;
  Folder folder = folder_make();
  const Plan plan = {.config = {.epochs = 1, .artifact_dir = folder.path, .learning_rate = 1e300},
                     .batch_size = ITEMS,
                     .sgd = true,
                     .without_valid = true};
  check_refused(train(&plan).status, BURN_STATUS_OUT_OF_RANGE,
                "epoch 1: after the last batch an element of parameter weight_1 is nan");
  assert_false(exists(&folder, "checkpoint/learner-1.mpk"));
  folder_remove(folder.path);
}

static void no_numbers_push_out_no_checkpoint(void **state) {
  (void)state;
  Folder folder = folder_make();
  Plan plan = {
      .config = {.epochs = 6, .artifact_dir = folder.path, .on_nan = BURN_NAN_WARN}, .nan_epoch = 4, .at_batch = 3};
  Content said;
  const Run run = train_and_listen(&plan, &said);
  check_status(run.status);
  check_said(&said, "epoch 4: the loss is inf");
  check_said(&said, "epoch 6: the loss is nan");
  assert_false(run.result.last.finite);
  assert_true(exists(&folder, "checkpoint/learner-2.mpk") && exists(&folder, "checkpoint/learner-3.mpk"));
  assert_false(exists(&folder, "checkpoint/learner-1.mpk") || exists(&folder, "checkpoint/learner-4.mpk"));
  assert_false(exists(&folder, "checkpoint/learner-5.mpk"));
  assert_true(exists(&folder, "checkpoint/learner-6.mpk"));
  folder_remove(folder.path);
}

/* -- logs and reasons ------------------------------------------------------------------------- */

#if !defined(_WIN32)
/* The log of epoch 2 is a device that is full. */
static void fill_disk(const BurnEpochResult *result, const char *artifact_dir) {
  char path[128];
  if (result->epoch != 1) return;
  snprintf(path, sizeof path, "%s/train/epoch-2", artifact_dir);
  assert_int_equal(mkdir(path, 0700), 0);
  snprintf(path, sizeof path, "%s/train/epoch-2/Loss.log", artifact_dir);
  assert_int_equal(symlink("/dev/full", path), 0);
}

static void a_log_that_fails_ends_the_run_after_its_checkpoint(void **state) {
  (void)state;
  Folder folder = folder_make();
  const Plan plan = {.config = {.epochs = 4, .artifact_dir = folder.path}, .after_epoch = fill_disk};
  Content said;
  const Run run = train_and_listen(&plan, &said);
  check_refused(run.status, BURN_STATUS_IO, "epoch 2 is done and saved, but not its logs: cannot write ");
  assert_non_null(strstr(burn_status_message(run.status), "No space left on device"));
  check_said(&said, "No space left on device");
  assert_true(exists(&folder, "checkpoint/learner-2.mpk"));
  assert_int_equal(run.result.epochs_done, 2);
  folder_remove(folder.path);
}

/* mkdir says why, not the look at what is there. */
static void folders_say_why_they_cannot_be_made(void **state) {
  (void)state;
  Folder folder = folder_make();
  const char *path = file_in(&folder, "link");
  assert_int_equal(symlink("nowhere", path), 0);
  check_refused(burn_folder_make(path), BURN_STATUS_IO, "File exists");
  folder_remove(folder.path);
}

/* No line of ours gets into a file when the streams are closed. */
static void closed_streams_write_into_no_file(void **state) {
  (void)state;
  Folder folder = folder_make();
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    const Plan plan = {.config = {.epochs = 2, .artifact_dir = folder.path}, .loud = true};
    for (int stream = 0; stream <= 2; stream++) close(stream);
    _exit(train(&plan).status != BURN_OK);
  }
  int outcome = 0;
  assert_int_equal(waitpid(child, &outcome, 0), child);
  assert_true(WIFEXITED(outcome) && WEXITSTATUS(outcome) == 0);
  const Content log = read_content(file_in(&folder, "train/epoch-1/Loss.log"));
  assert_true(log.count > 0);
  assert_null(strstr(log.data, "epoch"));
  folder_remove(folder.path);
}
#endif

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(interrupted_runs_go_on_bit_for_bit),
    cmocka_unit_test(killed_after_an_interrupt),
    cmocka_unit_test(goes_on_after_an_epoch_of_choice),
    cmocka_unit_test(a_log_that_lost_lines_is_told),
    cmocka_unit_test(interrupted_between_epochs),
    cmocka_unit_test(another_run_is_refused),
    cmocka_unit_test(another_dataset_is_refused),
    cmocka_unit_test(what_may_differ_does),
    cmocka_unit_test(another_stack_is_told),
    cmocka_unit_test(cleared_before_the_config),
    cmocka_unit_test(only_our_names_are_removed),
    cmocka_unit_test(one_run_at_a_time),
    cmocka_unit_test(damaged_checkpoints_are_passed_over),
    cmocka_unit_test(no_usable_checkpoint_says_what_to_do),
    cmocka_unit_test(a_loss_that_is_no_number_stops),
    cmocka_unit_test(spoilt_parameters_stop),
    cmocka_unit_test(no_numbers_push_out_no_checkpoint),
#if !defined(_WIN32)
    cmocka_unit_test(signals_interrupt),
    cmocka_unit_test(a_log_that_fails_ends_the_run_after_its_checkpoint),
    cmocka_unit_test(folders_say_why_they_cannot_be_made),
    cmocka_unit_test(closed_streams_write_into_no_file),
#endif
  };
  int exit_status;
  if (train_as_told(argc, argv, &exit_status)) return exit_status;
  return cmocka_run_group_tests_name("checkpoint", tests, NULL, NULL);
}
