/* logger_test.c - loggers that write files, read by others: TensorBoard's own reader and Prometheus' client library
 * where Python has them (logger_read.py), cJSON; and what a run that resumes leaves of the earlier one's lines. */
#include "learner_testing.h"

#include <cjson/cJSON.h>
#include <time.h>

#include "event_file.h"

enum {
  BATCHES = 7,          /* 50 items in batches of 8 */
  NO_READER = 77,       /* a status of logger_read.py */
  NO_SUCH_PROGRAM = 127 /* a shell's */
};

/* Python with the readers: that of BURN_TEST_PYTHON, else python3. */
static int read_by_python(const char *what, const Folder *folder, const char *expected) {
  char command[1024];
  const char *python = getenv("BURN_TEST_PYTHON");
  snprintf(command, sizeof command, "\"%s\" \"" BURN_SOURCE_DIR "/tests/unit/train/logger_read.py\" %s %s \"%s\"",
           python ? python : "python3", what, folder->path, expected);
  const int outcome = system(command);
  return outcome == -1 ? -1 : WEXITSTATUS(outcome);
}

/* Skips the reading where there is no Python, or where it lacks the reader. */
static void expect_read(const char *what, const Folder *folder, const char *expected) {
  const int outcome = read_by_python(what, folder, expected);
  if (outcome == NO_READER) print_message("skipped: Python has no reader for it\n");
  if (outcome == NO_SUCH_PROGRAM) print_message("skipped: there is no python3\n");
  assert_true(outcome == 0 || outcome == NO_READER || outcome == NO_SUCH_PROGRAM);
}

static BurnLogEntry entry_of(BurnSplit split, size_t epoch, size_t batch, double value, bool final) {
  return (BurnLogEntry){split, epoch, batch, "Loss", "", value, 8, final, BATCHES};
}

static char *file_text(const char *path) {
  uint8_t *bytes;
  size_t count;
  check_status(burn_file_read(path, 1 << 24, &bytes, &count));
  return (char *)bytes;
}

/* -- JSON lines ------------------------------------------------------------------------------- */

static size_t line_count(const char *path) {
  char *text = file_text(path);
  size_t lines = 0;
  for (const char *at = text; *at; at++) lines += *at == '\n';
  free(text);
  return lines;
}

/* Numbers come back as the same doubles; what JSON has not is told as the header says. */
static void json_lines_have_every_value(void **state) {
  (void)state;
  const Folder folder = folder_make();
  const char *path = file_in(&folder, "deep/metrics.jsonl");
  BurnStatus status = BURN_OK;
  BurnJsonLines *lines = burn_json_lines_create(path, false, &status);
  check_status(status);
  const BurnLogger logger = burn_json_lines_logger(lines);
  const double values[] = {0.1, 1e-300, (double)NAN, -(double)INFINITY};
  for (size_t i = 0; i < 4; i++) {
    BurnLogEntry entry = entry_of(BURN_SPLIT_VALID, 1, i + 1, values[i], i == 3);
    entry.metric = "Top \"5\" \\ \n\xff";
    check_status(logger.log(logger.context, &entry));
  }
  burn_json_lines_destroy(lines);
  char *text = file_text(path), *at = text;
  for (size_t i = 0; i < 4; i++) {
    const char *end = NULL;
    cJSON *root = cJSON_ParseWithOpts(at, &end, false);
    assert_non_null(root);
    assert_int_equal(*end, '\n');
    const cJSON *value = cJSON_GetObjectItem(root, "value");
    if (i < 2) assert_true(cJSON_GetNumberValue(value) == values[i]);
    if (i == 2) assert_true(cJSON_IsNull(value));
    if (i == 3) assert_string_equal(cJSON_GetStringValue(value), "-inf");
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(root, "metric")), "Top \"5\" \\ \n?");
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(root, "split")), "valid");
    assert_true(cJSON_GetNumberValue(cJSON_GetObjectItem(root, "batch")) == (double)(i + 1));
    assert_true(cJSON_IsTrue(cJSON_GetObjectItem(root, "final")) == (i == 3));
    assert_true(fabs(cJSON_GetNumberValue(cJSON_GetObjectItem(root, "time")) - (double)time(NULL)) < 5);
    cJSON_Delete(root);
    at += end - at + 1;
  }
  assert_int_equal(*at, 0);
  free(text);
  folder_remove(folder.path);
}

/* Lines from where a run takes up are cut, a half one at the end too; without resume all are. */
static void json_lines_go_on_where_the_run_does(void **state) {
  (void)state;
  const Folder folder = folder_make();
  char path[256];
  snprintf(path, sizeof path, "%s", file_in(&folder, "metrics.jsonl"));
  BurnStatus status = BURN_OK;
  BurnJsonLines *lines = burn_json_lines_create(path, false, &status);
  for (size_t batch = 1; batch <= 5; batch++) {
    const BurnLogger logger = burn_json_lines_logger(lines);
    const BurnLogEntry entry = entry_of(BURN_SPLIT_TRAIN, 2, batch, 1, false);
    check_status(logger.log(logger.context, &entry));
  }
  burn_json_lines_destroy(lines);
  FILE *file = fopen(path, "a");
  assert_non_null(file);
  fputs("{\"time\":17", file);
  fclose(file);
  lines = burn_json_lines_create(path, true, &status);
  check_status(status);
  BurnLogger logger = burn_json_lines_logger(lines);
  const BurnLogEntry again = entry_of(BURN_SPLIT_TRAIN, 2, 4, 2, false);
  check_status(logger.log(logger.context, &again));
  burn_json_lines_destroy(lines);
  assert_int_equal(line_count(path), 4); /* batches 1, 2, 3 and the new 4 */
  file = fopen(path, "w");
  fputs("{\"split\":\"train\",\"epoch\":1,\"batch\":1,\"final\":false}\nnonsense\n", file);
  fclose(file);
  lines = burn_json_lines_create(path, true, &status);
  logger = burn_json_lines_logger(lines);
  check_refused(logger.log(logger.context, &again), BURN_STATUS_CORRUPT_DATA, "line 2 is not a value of a metric");
  burn_json_lines_destroy(lines);
  lines = burn_json_lines_create(path, false, &status);
  burn_json_lines_destroy(lines);
  assert_int_equal(line_count(path), 0);
  assert_null(burn_json_lines_create(folder.path, false, &status));
  check_refused(status, BURN_STATUS_IO, "cannot open");
  static char name[5001];
  memset(name, 'a', sizeof name - 1);
  status = BURN_OK;
  assert_null(burn_json_lines_create(name, false, &status));
  check_refused(status, BURN_STATUS_INVALID_ARGUMENT, "a path has 5000 characters, at most 4095 are possible");
  folder_remove(folder.path);
}

/* -- a run with all of them ------------------------------------------------------------------- */

static void text_of(const Run *run, char text[512]) {
  text[0] = '\0';
  for (size_t i = 0; i < run->epoch_count; i++) {
    const size_t used = strlen(text);
    snprintf(text + used, 512 - used, "%.9g,%.9g;", train_of(&run->epochs[i], "Loss"),
             100 * valid_of(&run->epochs[i], "Accuracy"));
  }
}

/* A run of three epochs in two parts gives what one in one part does. */
static void others_read_what_a_run_logs(void **state) {
  (void)state;
  const Folder folder = folder_make();
  char lines_path[256], board_path[256], prometheus_path[256], expected[512];
  snprintf(lines_path, sizeof lines_path, "%s", file_in(&folder, "metrics.jsonl"));
  snprintf(board_path, sizeof board_path, "%s", file_in(&folder, "tensorboard"));
  snprintf(prometheus_path, sizeof prometheus_path, "%s", file_in(&folder, "burn.prom"));
  for (int part = 0; part < 2; part++) {
    BurnStatus status = BURN_OK;
    BurnInterrupter interrupter = {0};
    BurnJsonLines *lines = burn_json_lines_create(lines_path, part == 1, &status);
    check_status(status);
    BurnTensorboard *board = burn_tensorboard_create(board_path, &status);
    check_status(status);
    BurnPrometheus *prometheus = burn_prometheus_create(prometheus_path, 0.01, &status);
    check_status(status);
    const BurnLoggerList loggers =
        BURN_LOGGERS(burn_json_lines_logger(lines), burn_tensorboard_logger(board), burn_prometheus_logger(prometheus));
    const Plan plan = {.config = {.epochs = 3,
                                  .artifact_dir = folder.path,
                                  .resume = part == 1,
                                  .read_interval = 1,
                                  .interrupter = &interrupter,
                                  .logger = burn_loggers(&loggers)},
                       .interrupt_epoch = part == 0 ? 2 : 0,
                       .at_batch = 5,
                       .begun_batches = part == 1 ? 5 : 0};
    check_status(burn_tensorboard_text(board, "note", 0, "part & <parcel>"));
    const Run run = train(&plan);
    if (part == 0) check_refused(run.status, BURN_STATUS_CANCELLED, "interrupted at epoch 2, batch 5");
    if (part == 1) check_status(run.status);
    burn_json_lines_destroy(lines);
    burn_tensorboard_destroy(board);
    burn_prometheus_destroy(prometheus);
  }
  const Run whole = train(&(Plan){.config = {.epochs = 3}});
  text_of(&whole, expected);
  /* Two metrics: 7 batches and an epoch of training, 3 and one of validation, three times. */
  assert_int_equal(line_count(lines_path), 3 * 2 * (BATCHES + 1 + 3 + 1));
  expect_read("json_lines", &folder, expected);
  expect_read("tensorboard", &folder, expected);
  expect_read("prometheus", &folder, expected);
  folder_remove(folder.path);
}

/* -- TensorBoard ------------------------------------------------------------------------------ */

/* RFC 3720, B.4. */
static void the_checksum_is_castagnolis(void **state) {
  (void)state;
  unsigned char bytes[32] = {0};
  assert_int_equal(burn__crc32c(bytes, 32), 0x8a9136aau);
  memset(bytes, 0xff, 32);
  assert_int_equal(burn__crc32c(bytes, 32), 0x62a8ab43u);
  for (int i = 0; i < 32; i++) bytes[i] = (unsigned char)i;
  assert_int_equal(burn__crc32c(bytes, 32), 0x46dd794eu);
}

/* A run that was killed after batch 5 goes on after its checkpoint of batch 3; a note of the second one stays. */
static void tensorboard_leaves_out_what_is_done_again(void **state) {
  (void)state;
  const Folder folder = folder_make();
  for (size_t part = 0; part < 2; part++) {
    BurnStatus status = BURN_OK;
    BurnTensorboard *board = burn_tensorboard_create(file_in(&folder, "tensorboard"), &status);
    check_status(status);
    check_status(burn_tensorboard_text(board, "note", 0, part ? "second" : "first"));
    const BurnLogger logger = burn_tensorboard_logger(board);
    for (size_t batch = part ? 4 : 1; batch <= (part ? 7 : 5); batch++) {
      const BurnLogEntry entry = entry_of(BURN_SPLIT_TRAIN, 1, batch, (double)(10 * part + batch), false);
      check_status(logger.log(logger.context, &entry));
    }
    burn_tensorboard_destroy(board);
  }
  expect_read("again", &folder, "");
  folder_remove(folder.path);
}

static void histograms_are_read(void **state) {
  (void)state;
  const Folder folder = folder_make();
  BurnStatus status = BURN_OK;
  BurnTensorboard *board = burn_tensorboard_create(file_in(&folder, "tensorboard"), &status);
  BurnDevice *device = burn_device_open("autodiff<ndarray>");
  Net net = net_make(device);
  check_status(status);
  /* 0, 1, .. 59 and what does not count */
  BurnTensor *values = burn_cast(burn_arange(device, 0, 60, 1), BURN_DTYPE_F32);
  BurnTensor *infinite = burn_tensor_f32(device, (const float[]){INFINITY, NAN}, BURN_SHAPE(2));
  check_status(burn_tensorboard_histogram(board, "numbers", 3, burn_cat((BurnTensor *[]){values, infinite}, 2, 0)));
  check_status(burn_tensorboard_parameters(board, 4, burn_module(Net, &net)));
  check_status(burn_tensorboard_histogram(board, "none", 5, burn_zeros(device, BURN_SHAPE(0), BURN_DTYPE_F32)));
  burn_tensorboard_destroy(board);
  Net_release(&net);
  assert_int_equal(burn_device_memory(device).live_tensors, 0);
  burn_device_close(device);
  expect_read("histograms", &folder, "");
  folder_remove(folder.path);
}

/* Every kind of field; an absent number is left out. */
#define HPARAMS_INNER(REQ, OPT)     \
  REQ(BurnSize2, sizes, "")         \
  OPT(BurnBool, nesterov, true, "") \
  OPT(BurnOptionF64, limit, BURN_ABSENT, "")
BURN_CONFIG(HparamsInner, HPARAMS_INNER);
#define HPARAMS(REQ, OPT)     \
  REQ(BurnSize, layers, "")   \
  REQ(BurnText, name, "")     \
  REQ(HparamsInner, adam, "") \
  OPT(BurnF64, rate, 0.0625, "")
BURN_CONFIG(Hparams, HPARAMS);

static void hyperparameters_are_read(void **state) {
  (void)state;
  const Folder folder = folder_make();
  BurnStatus status = BURN_OK;
  BurnTensorboard *board = burn_tensorboard_create(file_in(&folder, "tensorboard"), &status);
  check_status(status);
  Hparams config =
      Hparams_defaults(3, (BurnText){"d\303\251j\303\240 \"vu\""}, HparamsInner_defaults((BurnSize2){{2, 3}}));
  check_status(burn_tensorboard_config(board, burn_config(Hparams, &config)));
  const BurnLogger logger = burn_tensorboard_logger(board);
  const BurnLogEntry entry = entry_of(BURN_SPLIT_VALID, 1, 7, 0.25, true);
  check_status(logger.log(logger.context, &entry));
  burn_tensorboard_destroy(board);
  expect_read("hparams", &folder, "");
  folder_remove(folder.path);
}

/* -- failures --------------------------------------------------------------------------------- */

static BurnStatus count_entry(void *context, const BurnLogEntry *entry) {
  (void)entry;
  ++*(int *)context;
  return burn_status_make(BURN_STATUS_IO, "logger %d has had enough", *(int *)context);
}

static void every_logger_hears_of_every_entry(void **state) {
  (void)state;
  int first = 0, second = 10;
  const BurnLoggerList list = BURN_LOGGERS({count_entry, &first}, {NULL, NULL}, {count_entry, &second});
  const BurnLogger logger = burn_loggers(&list);
  const BurnLogEntry entry = entry_of(BURN_SPLIT_TRAIN, 1, 1, 1, false);
  check_refused(logger.log(logger.context, &entry), BURN_STATUS_IO, "logger 1 has had enough");
  assert_int_equal(second, 11);
}

static void what_cannot_be_written_is_told(void **state) {
  (void)state;
  const Folder folder = folder_make();
  const char *taken = file_in(&folder, "taken");
  BurnStatus status = BURN_OK;
  fclose(fopen(taken, "w"));
  char path[300];
  snprintf(path, sizeof path, "%s/inner/burn.prom", taken);
  assert_null(burn_prometheus_create(path, 0, &status));
  check_refused(status, BURN_STATUS_IO, "cannot make folder");
  status = BURN_OK;
  assert_null(burn_tensorboard_create(taken, &status));
  check_refused(status, BURN_STATUS_IO, "cannot make folder");
  folder_remove(folder.path);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(json_lines_have_every_value),
                                     cmocka_unit_test(json_lines_go_on_where_the_run_does),
                                     cmocka_unit_test(others_read_what_a_run_logs),
                                     cmocka_unit_test(the_checksum_is_castagnolis),
                                     cmocka_unit_test(tensorboard_leaves_out_what_is_done_again),
                                     cmocka_unit_test(histograms_are_read),
                                     cmocka_unit_test(hyperparameters_are_read),
                                     cmocka_unit_test(every_logger_hears_of_every_entry),
                                     cmocka_unit_test(what_cannot_be_written_is_told)};
  return cmocka_run_group_tests_name("logger", tests, NULL, NULL);
}
