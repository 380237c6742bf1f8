/* experiment_log_test.c - experiment.log of a run: what it tells of a run that is interrupted and taken up again, of one
 * that fails, and what happens where it cannot be written. */
#include "learner_testing.h"

#include <time.h>

enum { MAX_LINES = 16 };

/* The lines without their times, which are checked. */
typedef struct Lines {
  char *text;
  const char *at[MAX_LINES];
  size_t count;
} Lines;

/* The time is that of the system's gmtime within the last five minutes. */
static const char *after_time(const char *line) {
  char before[32] = "";
  const time_t now = time(NULL);
  time_t then = now + 1;
  while (then > now - 300 && memcmp(before, line, strlen("2026-01-31 16:20:05 UTC  ")) != 0) {
    then--;
    (void)strftime(before, sizeof before, "%Y-%m-%d %H:%M:%S UTC  ", gmtime(&then));
  }
  if (then <= now - 300) fail_msg("'%s' does not begin with the time", line);
  return line + strlen(before);
}

static Lines lines_of(const Folder *folder) {
  Lines lines = {0};
  uint8_t *bytes;
  size_t count;
  check_status(burn_file_read(file_in(folder, "experiment.log"), 1 << 20, &bytes, &count));
  lines.text = (char *)bytes;
  for (char *line = strtok(lines.text, "\n"); line; line = strtok(NULL, "\n")) {
    assert_true(lines.count < MAX_LINES);
    lines.at[lines.count++] = after_time(line);
  }
  return lines;
}

static void expect_line(const Lines *lines, size_t index, const char *expected) {
  assert_true(index < lines->count);
  assert_string_equal(lines->at[index], expected);
}

/* "INFO  epoch 2/3: train Loss 0.6, Accuracy 55.1 %; valid Loss 0.7, Accuracy 50 %; 0.01 s" */
static void expect_epoch(const Lines *lines, size_t index, size_t epochs, const BurnEpochResult *result) {
  char begin[64];
  double loss, accuracy, valid_loss, valid_accuracy, seconds;
  assert_true(index < lines->count);
  snprintf(begin, sizeof begin, "INFO  epoch %zu/%zu: ", result->epoch, epochs);
  assert_memory_equal(lines->at[index], begin, strlen(begin));
  const int found = sscanf(lines->at[index] + strlen(begin),
                           "train Loss %lf, Accuracy %lf %%; valid Loss %lf, Accuracy %lf %%; %lf s", &loss, &accuracy,
                           &valid_loss, &valid_accuracy, &seconds);
  if (found != 5) fail_msg("'%s'", lines->at[index]);
  assert_true(fabs(loss - burn_epoch_metric(result, "Loss", BURN_SPLIT_TRAIN)) < 1e-5);
  assert_true(fabs(valid_loss - burn_epoch_metric(result, "Loss", BURN_SPLIT_VALID)) < 1e-5);
  assert_true(fabs(accuracy - 100 * burn_epoch_metric(result, "Accuracy", BURN_SPLIT_TRAIN)) < 1e-3);
  assert_true(fabs(valid_accuracy - 100 * burn_epoch_metric(result, "Accuracy", BURN_SPLIT_VALID)) < 1e-3);
  assert_true(seconds >= 0 && seconds < 300);
}

static void a_run_that_goes_on_goes_on_in_its_log(void **state) {
  (void)state;
  Folder folder = folder_make();
  BurnInterrupter interrupter = {0};
  Plan plan = {.config = {.epochs = 3, .artifact_dir = folder.path, .interrupter = &interrupter},
               .interrupt_epoch = 2,
               .at_batch = 3};
  const Run begun = train(&plan);
  check_refused(begun.status, BURN_STATUS_CANCELLED, "interrupted at epoch 2, batch 3 of 7");
  Plan rest = {.config = {.epochs = 3, .artifact_dir = folder.path, .resume = true}, .begun_batches = 3};
  const Run ended = train(&rest);
  check_status(ended.status);
  const Lines lines = lines_of(&folder);
  assert_int_equal(lines.count, 8);
  expect_line(&lines, 0, "INFO  the run begins: 3 epochs of 7 batches on autodiff<ndarray>");
  expect_epoch(&lines, 1, 3, &begun.epochs[0]);
  expect_line(&lines, 2, "WARN  interrupted at epoch 2, batch 3 of 7");
  expect_line(&lines, 3, "INFO  the run goes on: 3 epochs of 7 batches on autodiff<ndarray>");
  expect_line(&lines, 4, "INFO  taken up after epoch 1 and 3 batches");
  expect_epoch(&lines, 5, 3, &ended.epochs[0]);
  expect_epoch(&lines, 6, 3, &ended.epochs[1]);
  expect_line(&lines, 7, "INFO  the run is complete: 3 epochs");
  free(lines.text);
  folder_remove(folder.path);
}

static void another_run_begins_anew_and_tells_why_it_failed(void **state) {
  (void)state;
  Folder folder = folder_make();
  Plan plan = {.config = {.epochs = 1, .artifact_dir = folder.path}};
  check_status(train(&plan).status);
  plan = (Plan){.config = {.epochs = 4, .artifact_dir = folder.path}, .nan_epoch = 1, .at_batch = 3};
  const Run run = train(&plan);
  char expected[512];
  snprintf(expected, sizeof expected, "ERROR %s", burn_status_message(run.status));
  const Lines lines = lines_of(&folder);
  assert_int_equal(lines.count, 2);
  expect_line(&lines, 0, "INFO  the run begins: 4 epochs of 7 batches on autodiff<ndarray>");
  expect_line(&lines, 1, expected);
  assert_non_null(strstr(expected, "epoch 1, batch 3: the loss is inf"));
  free(lines.text);
  folder_remove(folder.path);
}

static void losses_that_are_no_numbers_are_told_once(void **state) {
  (void)state;
  Folder folder = folder_make();
  const Plan plan = {
      .config = {.epochs = 1, .artifact_dir = folder.path, .on_nan = BURN_NAN_WARN}, .nan_epoch = 1, .at_batch = 3};
  check_status(train(&plan).status);
  const Lines lines = lines_of(&folder);
  assert_int_equal(lines.count, 4);
  expect_line(&lines, 1, "WARN  epoch 1: the loss is inf");
  assert_non_null(strstr(lines.at[2], "epoch 1/1: train Loss "));
  expect_line(&lines, 3, "INFO  the run is complete: 1 epoch");
  free(lines.text);
  folder_remove(folder.path);
}

#if !defined(_WIN32)
static void a_log_that_cannot_be_opened_is_named(void **state) {
  (void)state;
  Folder folder = folder_make();
  const Plan plan = {.config = {.epochs = 1, .artifact_dir = folder.path}};
  assert_int_equal(mkdir(file_in(&folder, "experiment.log"), 0700), 0);
  const Run run = train(&plan);
  check_refused(run.status, BURN_STATUS_IO, "/experiment.log: Is a directory");
  assert_int_equal(run.train_batches, 0);
  folder_remove(folder.path);
}

static void a_full_disk_ends_the_run_after_its_checkpoint(void **state) {
  (void)state;
  Folder folder = folder_make();
  const Plan plan = {.config = {.epochs = 3, .artifact_dir = folder.path}};
  assert_int_equal(symlink("/dev/full", file_in(&folder, "experiment.log")), 0);
  const Run run = train(&plan);
  check_refused(run.status, BURN_STATUS_IO, "epoch 1 is done and saved, but not its logs: cannot write ");
  assert_non_null(strstr(burn_status_message(run.status), "/experiment.log: No space left on device"));
  assert_true(exists(&folder, "checkpoint/learner-1.mpk"));
  folder_remove(folder.path);
}
#endif

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_run_that_goes_on_goes_on_in_its_log),
    cmocka_unit_test(another_run_begins_anew_and_tells_why_it_failed),
    cmocka_unit_test(losses_that_are_no_numbers_are_told_once),
#if !defined(_WIN32)
    cmocka_unit_test(a_log_that_cannot_be_opened_is_named),
    cmocka_unit_test(a_full_disk_ends_the_run_after_its_checkpoint),
#endif
  };
  int exit_status;
  if (train_as_told(argc, argv, &exit_status)) return exit_status;
  return cmocka_run_group_tests_name("experiment_log", tests, NULL, NULL);
}
