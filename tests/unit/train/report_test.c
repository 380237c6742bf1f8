/* report_test.c - the report of a run, read by others: its JSON by cJSON, its page by Python's html.parser and zlib
 * (report_read.py); and folders that are not as a run leaves them. */
#include "learner_testing.h"

#include <cjson/cJSON.h>

enum { NO_SUCH_PROGRAM = 127 }; /* a shell's status */

/* Skips the reading where there is no Python. */
static void expect_read(const char *what, const char *path) {
  char command[1024];
  snprintf(command, sizeof command, "python3 \"" BURN_SOURCE_DIR "/tests/unit/train/report_read.py\" %s %s", what,
           path);
  const int outcome = system(command);
  assert_true(outcome != -1 && WIFEXITED(outcome));
  if (WEXITSTATUS(outcome) == NO_SUCH_PROGRAM) {
    print_message("skipped: there is no python3\n");
    return;
  }
  assert_int_equal(WEXITSTATUS(outcome), 0);
}

static void write_file(const Folder *folder, const char *name, const char *text, size_t bytes) {
  char path[256];
  snprintf(path, sizeof path, "%s", file_in(folder, name));
  char *const slash = strrchr(path, '/');
  *slash = '\0';
  check_status(burn_folder_make(path));
  *slash = '/';
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(text, 1, bytes, file), bytes);
  fclose(file);
}

static void write_text(const Folder *folder, const char *name, const char *text) {
  write_file(folder, name, text, strlen(text));
}

static cJSON *json_of(const BurnReportConfig *config) {
  BurnStatus status = BURN_OK;
  char *text = burn_report_json(config, &status);
  check_status(status);
  cJSON *root = cJSON_Parse(text);
  assert_non_null(root);
  free(text);
  return root;
}

static cJSON *split_of(const cJSON *root, int metric, const char *split) {
  return cJSON_GetObjectItem(cJSON_GetArrayItem(cJSON_GetObjectItem(root, "metrics"), metric), split);
}

static double number_at(const cJSON *pairs, int row, int column) {
  return cJSON_GetNumberValue(cJSON_GetArrayItem(cJSON_GetArrayItem(pairs, row), column));
}

/* -- a run ------------------------------------------------------------------------------------ */

static BurnReportConfig epoch_config;
static void write_report(const BurnEpochResult *result, const char *artifact_dir) {
  assert_string_equal(epoch_config.artifact_dir, artifact_dir);
  check_status(burn_report_on_epoch(&epoch_config, result));
  expect_read("page", epoch_config.path);
}

/* Values in the JSON are those of the run; the curves of batches have means that are the values of epochs. */
static void a_report_has_what_the_run_had(void **state) {
  (void)state;
  const Folder folder = folder_make();
  char path[128];
  snprintf(path, sizeof path, "%.60s/page.html", folder.path);
  epoch_config = (BurnReportConfig){.artifact_dir = folder.path, .path = path, .title = "<b>\"A&B's\"</b> \xff"};
  const Plan plan = {.config = {.epochs = 3, .artifact_dir = folder.path}, .after_epoch = write_report};
  const Run run = train(&plan);
  check_status(run.status);
  cJSON *root = json_of(&epoch_config);
  assert_int_equal(cJSON_GetNumberValue(cJSON_GetObjectItem(root, "epochs")), 3);
  assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(root, "title")), "<b>\"A&B's\"</b> ?");
  assert_non_null(strstr(cJSON_GetStringValue(cJSON_GetObjectItem(root, "stack")), "autodiff"));
  assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(root, "history")), 3);
  const cJSON *loss = cJSON_GetObjectItem(split_of(root, 0, "train"), "epochs");
  const cJSON *accuracy = cJSON_GetObjectItem(split_of(root, 1, "valid"), "epochs");
  const cJSON *batches = cJSON_GetObjectItem(split_of(root, 0, "train"), "batches");
  assert_int_equal(cJSON_GetArraySize(batches), 3 * 7);
  for (int epoch = 0; epoch < 3; epoch++) {
    double sum = 0;
    for (int i = 0; i < 7; i++) sum += number_at(batches, 7 * epoch + i, 1) * (i < 6 ? 8 : 2);
    assert_true(fabs(number_at(loss, epoch, 1) - train_of(&run.epochs[epoch], "Loss")) < 1e-6);
    assert_true(fabs(number_at(accuracy, epoch, 1) - 100 * valid_of(&run.epochs[epoch], "Accuracy")) < 1e-6);
    assert_true(fabs(sum / (double)ITEMS - number_at(loss, epoch, 1)) < 1e-6);
  }
  cJSON_Delete(root);
  folder_remove(folder.path);
}

/* The table of Burn's summary, and the last values beside it. */
static void the_summary_is_a_table(void **state) {
  (void)state;
  const Folder folder = folder_make();
  const BurnReportConfig config = {.artifact_dir = folder.path, .title = "a \x1b[2J title"};
  BurnStatus status = BURN_OK;
  write_text(&folder, "train/epoch-1/Loss.log", "0.75,8\n0.25,8\n0.5,final\n");
  write_text(&folder, "train/epoch-2/Loss.log", "1.25e-7,8\n1.25e-7,final\n");
  write_text(&folder, "train/epoch-3/Loss.log", "0.375,8\n");
  write_text(&folder, "valid/epoch-2/Accuracy.log", "91.506,8\n91.506,final\n");
  write_text(&folder, "valid/epoch-3/Accuracy.log", "75,8\n75,final\n");
  char *text = burn_report_summary(&config, &status);
  check_status(status);
  assert_string_equal(text,
                      "a ?[2J title: 3 epochs\n\n"
                      "metric            split      lowest  epoch     highest  epoch        last  epoch\n"
                      "Loss              train    1.25e-07      2         0.5      1       0.375      3\n"
                      "Accuracy          valid          75      3      91.506      2          75      3\n");
  free(text);
  write_text(&folder, "train/epoch-1/Loss.log", "no number\n");
  assert_null(burn_report_summary(&config, &status));
  check_refused(status, BURN_STATUS_CORRUPT_DATA, "epoch-1/Loss.log: line 1");
  folder_remove(folder.path);
}

/* -- pictures and counts ---------------------------------------------------------------------- */

static void pictures_and_counts_are_shown(void **state) {
  (void)state;
  const Folder folder = folder_make();
  uint8_t grey[5 * 3], colour[2 * 2 * 3];
  for (int i = 0; i < 15; i++) grey[i] = (uint8_t)(17 * i);
  for (int i = 0; i < 12; i++) colour[i] = (uint8_t)(255 - 20 * i);
  const BurnSample samples[] = {
      {.title = "grey <1>", .pixels = grey, .width = 5, .height = 3, .channels = 1, .wrong = true},
      {.title = "colour", .text = "two\nlines & more", .pixels = colour, .width = 2, .height = 2, .channels = 3}};
  BurnDevice *device = burn_device_open("ndarray");
  BurnTensor *counts = burn_tensor_i64(device, (const int64_t[]){5, 1, 0, 7}, BURN_SHAPE(2, 2));
  write_text(&folder, "train/epoch-1/Loss.log", "1,2\n");
  check_status(burn_report_confusion_matrix(folder.path, burn_clone(counts), (const char *const[]){"<no>", "ye\"s"}));
  check_status(burn_report_samples(folder.path, samples, 2));
  check_status(burn_report_write(&(BurnReportConfig){.artifact_dir = folder.path}));
  expect_read("samples", file_in(&folder, "report.html"));
  check_refused(burn_report_confusion_matrix(folder.path, burn_clone(counts), (const char *const[]){"no", NULL}),
                BURN_STATUS_INVALID_ARGUMENT, "report: 1 labels for 2 classes");
  check_refused(burn_report_confusion_matrix(folder.path, burn_reshape(counts, BURN_SHAPE(1, 4)), NULL),
                BURN_STATUS_INVALID_SHAPE, "a confusion matrix is [classes, classes]");
  const BurnSample wide = {.title = "", .pixels = grey, .width = 4097, .height = 1, .channels = 1};
  check_refused(burn_report_samples(folder.path, &wide, 1), BURN_STATUS_INVALID_ARGUMENT, "sample 0 is 4097x1");
  assert_int_equal(burn_device_memory(device).live_tensors, 0);
  burn_device_close(device);
  folder_remove(folder.path);
}

/* -- folders of others ------------------------------------------------------------------------ */

static const struct {
  const char *name, *text, *words;
  uint32_t code;
} refused[] = {
    {"train/epoch-1/Loss.log", "1,2\n0x1p3,2\n", "epoch-1/Loss.log: line 2: '0x1p3,2' is not a value of a metric", 12},
    {"train/epoch-1/Loss.log", "1,2\n1,-2\n", "line 2: '1,-2' is not a value of a metric", 12},
    {"train/epoch-1/Loss.log", "1 2\n", "line 1: '1 2' is not a value of a metric", 12},
    {"config.json", "{", "config.json is not JSON", 12},
    {"confusion_matrix.json", "{\"labels\":[\"a\"],\"counts\":[[1,2]]}", "confusion_matrix.json is no {", 12},
    {"confusion_matrix.json", "{\"labels\":[\"a\"],\"counts\":[[-1]]}", "confusion_matrix.json is no {", 12},
    {"samples.jsonl", "{\"title\":\"a\"}\n{\"title\":1}\n", "samples.jsonl: line 2 is no {", 12},
    {"samples.jsonl", "{\"title\":\"a\",\"png\":\"ab\\\" onerror=\"}\n", "samples.jsonl: line 1 is no {", 12},
};

static void folders_of_others_are_refused(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
    const Folder folder = folder_make();
    const BurnReportConfig config = {.artifact_dir = folder.path};
    write_text(&folder, "valid/epoch-1/Loss.log", "1,2\n");
    check_status(burn_report_write(&config));
    write_text(&folder, refused[i].name, refused[i].text);
    check_refused(burn_report_write(&config), refused[i].code, refused[i].words);
    folder_remove(folder.path);
  }
  const Folder empty = folder_make();
  const BurnReportConfig config = {.artifact_dir = empty.path};
  check_refused(burn_report_write(&config), BURN_STATUS_NOT_FOUND, "is it the artifact folder of a run?");
  write_file(&empty, "train/epoch-1/Loss.log", "1,2\0\n", 5);
  check_refused(burn_report_write(&config), BURN_STATUS_CORRUPT_DATA, "line 1: a zero byte");
  folder_remove(empty.path);
}

/* The message has the length, not the path, which would leave no room for words. */
static void a_folder_with_too_long_a_name_is_refused(void **state) {
  (void)state;
  static char name[3601];
  memset(name, 'a', sizeof name - 1);
  const BurnSample grey = {.title = "", .pixels = (const uint8_t[]){0}, .width = 1, .height = 1, .channels = 1};
  static const char words[] = "report: artifact_dir has 3600 characters, at most 3583 are possible";
  check_refused(burn_report_samples(name, &grey, 1), BURN_STATUS_INVALID_ARGUMENT, words);
  check_refused(burn_report_write(&(BurnReportConfig){.artifact_dir = name}), BURN_STATUS_INVALID_ARGUMENT, words);
}

/* Values that are none, logs without an end, a last line that is not whole, metrics of one split. */
static void what_a_run_may_leave_is_read(void **state) {
  (void)state;
  const Folder folder = folder_make();
  const BurnReportConfig config = {.artifact_dir = folder.path};
  write_text(&folder, "train/epoch-1/Loss.log", "4,1\n1,3\nnan,1\n");
  write_text(&folder, "train/epoch-2/Loss.log", "4,1\n1,3\n7,final\n0.");
  write_text(&folder, "train/epoch-10/Loss.log", "inf,1\n");
  write_text(&folder, "train/epoch-010/Loss.log", "no epoch of ours\n");
  write_text(&folder, "train/epoch-2/Only_Here.log", "1e-3,1\n");
  write_text(&folder, "checkpoint/learner-1.mpk", "not a record");
  cJSON *root = json_of(&config);
  const cJSON *loss = cJSON_GetObjectItem(split_of(root, 0, "train"), "epochs");
  assert_int_equal(cJSON_GetArraySize(loss), 1); /* the means of the others are not numbers */
  assert_true(number_at(loss, 0, 0) == 2 && number_at(loss, 0, 1) == 7);
  assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(split_of(root, 0, "train"), "batches")), 4);
  assert_null(split_of(root, 1, "valid"));
  assert_null(cJSON_GetObjectItem(root, "stack"));
  cJSON_Delete(root);
  check_status(burn_report_write(&config));
  expect_read("page", file_in(&folder, "report.html"));
  folder_remove(folder.path);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_report_has_what_the_run_had),
                                     cmocka_unit_test(pictures_and_counts_are_shown),
                                     cmocka_unit_test(folders_of_others_are_refused),
                                     cmocka_unit_test(what_a_run_may_leave_is_read),
                                     cmocka_unit_test(a_folder_with_too_long_a_name_is_refused),
                                     cmocka_unit_test(the_summary_is_a_table)};
  return cmocka_run_group_tests_name("report", tests, NULL, NULL);
}
