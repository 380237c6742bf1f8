/* sqlite_test.c - tables: what Python's sqlite3 wrote is read, by several threads too; what is written is what its
 * readers find; locked, damaged and wrong tables are refused with file, table, row and column. */
#include <burn/datasets.h>
#include <burn/train.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "data_golden.h"
#include "status_testing.h"

static const char path[] = "sqlite_test.db";
static const BurnColumn columns[] = {{"label", BURN_DTYPE_I64, {0, {0}}},
                                     {"image", BURN_DTYPE_F32, {2, {2, 2}}},
                                     {"name", BURN_DTYPE_U8, {1, {4}}},
                                     {"weight", BURN_DTYPE_F32, {0, {0}}}};

static int database_write(void **state) {
  (void)state;
  FILE *file = fopen(path, "wb");
  const bool good = file != NULL && fwrite(sqlite_database, 1, sizeof sqlite_database, file) == sizeof sqlite_database;
  return file != NULL && fclose(file) == 0 && good ? 0 : -1;
}

static int database_remove(void **state) {
  (void)state;
  return remove(path);
}

/* Row i has label 7 i, weight i / 4, image i .. i + 3, name i times n. */
static void items_check(BurnDataset *dataset) {
  assert_int_equal(burn_dataset_count(dataset), 3);
  for (int i = 2; i >= 0; i--) {
    int64_t label = -1;
    float image[4], weight = -1;
    char name[5] = "????";
    check_status(burn_dataset_get(dataset, (size_t)i, (void *const[]){&label, image, name, &weight}));
    assert_int_equal(label, 7 * i);
    assert_true(weight == (float)i / 4);
    for (int j = 0; j < 4; j++) assert_true(image[j] == (float)(i + j));
    assert_memory_equal(name, &"nn\0\0"[2 - i], (size_t)i);
    assert_int_equal(strlen(name), i);
  }
}

static void rows_are_items(void **state) {
  (void)state;
  BurnStatus status = BURN_OK;
  BurnDataset *dataset = burn_dataset_sqlite(path, "train", columns, 4, &status);
  check_status(status);
  items_check(dataset);
  burn_dataset_drop(dataset);
}

/* A loader's workers read at once. */
static void threads_read_at_once(void **state) {
  (void)state;
  BurnStatus status = BURN_OK;
  BurnDataset *rows = burn_dataset_sqlite(path, "train", columns, 1, &status);
  BurnDataset *many =
      burn_dataset_sample(rows, &(BurnSampleConfig){.count = 3000, .without_replacement = true}, &status);
  BurnLoader *loader = burn_loader_create(many, &(BurnLoaderConfig){.batch_size = 10, .workers = 4}, &status);
  check_status(status);
  BurnDevice *device = burn_device_open("ndarray");
  BurnBatches *batches = burn_loader_start(loader, device, 1, 0);
  int64_t sum = 0;
  for (BurnBatch batch; burn_batches_next(batches, &batch);) {
    int64_t labels[10];
    check_status(burn_read(burn_batch_take(&batch, "label"), labels, sizeof labels));
    for (size_t i = 0; i < 10; i++) sum += labels[i];
  }
  check_status(burn_batches_stop(batches));
  assert_int_equal(sum, 1000 * (0 + 7 + 14));
  burn_loader_destroy(loader);
  burn_device_close(device);
}

static void refuse(const char *table, const BurnColumn *column, const char *message) {
  BurnStatus status = BURN_OK;
  assert_null(burn_dataset_sqlite(path, table, column, 1, &status));
  assert_string_equal(burn_status_message(status), message);
}

static void what_is_not_there_is_told(void **state) {
  (void)state;
  const BurnColumn none = {"none", BURN_DTYPE_I64, {0, {0}}}, half = {"x", BURN_DTYPE_F16, {0, {0}}};
  refuse("test", columns, "sqlite: sqlite_test.db: table \"test\": no such table: test");
  refuse("train\" where 1; --", columns,
         "sqlite: sqlite_test.db: table \"train\" where 1; --\": no such table: train\" where 1; --");
  refuse("train", &half, "sqlite: column \"x\" is f16, which SQLite lacks");
  BurnStatus status = BURN_OK;
  assert_null(burn_dataset_sqlite("sqlite_test.none", "train", columns, 1, &status));
  assert_int_equal(burn_status_code(status), BURN_STATUS_NOT_FOUND);
  /* SQLite takes a name in quotes that is not a column for a text: then it is not a number. */
  status = BURN_OK;
  BurnDataset *dataset = burn_dataset_sqlite(path, "train", &none, 1, &status);
  int64_t value = 0;
  if (dataset != NULL) status = burn_dataset_get(dataset, 0, (void *const[]){&value});
  assert_true(status != BURN_OK && strstr(burn_status_message(status), "none") != NULL);
  burn_dataset_drop(dataset);
}

static void bad_rows_are_told(void **state) {
  (void)state;
  static const char *const messages[] = {
      NULL, "sqlite: sqlite_test.db: table \"gap\": there is no row 2", NULL,
      "sqlite: sqlite_test.db: table \"gap\": row 4: column \"label\" is not i64 of 8 bytes",
      "sqlite: sqlite_test.db: table \"gap\": row 5: column \"label\" is not i64 of 8 bytes"};
  BurnStatus status = BURN_OK;
  BurnDataset *dataset = burn_dataset_sqlite(path, "gap", columns, 1, &status);
  check_status(status);
  assert_int_equal(burn_dataset_count(dataset), 5);
  for (size_t i = 0; i < 5; i++) {
    int64_t label = 0;
    status = burn_dataset_get(dataset, i, (void *const[]){&label});
    assert_string_equal(burn_status_message(status), messages[i] != NULL ? messages[i] : "ok");
  }
  burn_dataset_drop(dataset);
}

/* A file that is none, and one whose pages are damaged. */
static void damaged_files_are_refused(void **state) {
  (void)state;
  FILE *file = fopen(path, "wb");
  assert_true(
      fputs("this is not a database, but a text that is long enough to be taken for one: its first bytes say so. "
            "SQLite wants a header of a hundred bytes.",
            file) >= 0);
  fclose(file);
  refuse("train", columns, "sqlite: sqlite_test.db: table \"train\": file is not a database");
  unsigned char copy[sizeof sqlite_database];
  for (size_t i = 100; i < sizeof copy; i += 7) {
    BurnStatus status = BURN_OK;
    memcpy(copy, sqlite_database, sizeof copy);
    for (size_t j = i; j < i + 7 && j < sizeof copy; j++) copy[j] ^= 0xa5;
    file = fopen(path, "wb");
    assert_int_equal(fwrite(copy, 1, sizeof copy, file), sizeof copy);
    fclose(file);
    BurnDataset *dataset = burn_dataset_sqlite(path, "train", columns, 4, &status);
    assert_true((dataset == NULL) == (status != BURN_OK));
    for (size_t item = 0; dataset != NULL && item < 3 && item < burn_dataset_count(dataset); item++) {
      int64_t label;
      float image[4], weight;
      char name[4];
      status = burn_dataset_get(dataset, item, (void *const[]){&label, image, name, &weight});
      assert_true(burn_status_code(status) != BURN_STATUS_INTERNAL);
    }
    burn_dataset_drop(dataset);
  }
}

/* Python holds the lock of a writer for longer than is waited. */
static void locked_databases_are_told(void **state) {
  (void)state;
  if (system("python3 -c 'import sqlite3' >/dev/null 2>&1") != 0) {
    print_message("skipped: no python3\n");
    return;
  }
  FILE *python = popen(
      "python3 -c \"import sqlite3, sys, time; d = sqlite3.connect('sqlite_test.db', isolation_level=None); "
      "d.execute('begin exclusive'); print('locked', flush=True); time.sleep(20)\" & echo $!; wait",
      "r");
  assert_non_null(python);
  char line[64] = "", command[128];
  long process = 0;
  assert_non_null(fgets(line, sizeof line, python));
  process = atol(line);
  assert_non_null(fgets(line, sizeof line, python));
  assert_string_equal(line, "locked\n");
  refuse("train", columns,
         "sqlite: sqlite_test.db: table \"train\": locked by another program, also after 5 s; end it, or try later");
  snprintf(command, sizeof command, "kill %ld", process);
  assert_int_equal(system(command), 0);
  pclose(python);
  rows_are_items(state);
}

static void what_is_written_is_read(void **state) {
  (void)state;
  BurnStatus status = BURN_OK;
  BurnDataset *source = burn_dataset_sqlite(path, "train", columns, 4, &status);
  BurnDataset *kept = burn_dataset_cache(source, &status);
  check_status(status);
  assert_string_equal(burn_status_message(burn_dataset_sqlite_write(path, "train", kept, false)),
                      "sqlite: sqlite_test.db is there already; overwrite it, or remove it");
  check_status(burn_dataset_sqlite_write(path, "tra\"in", kept, true));
  burn_dataset_drop(kept);
  BurnDataset *dataset = burn_dataset_sqlite(path, "tra\"in", columns, 4, &status);
  check_status(status);
  items_check(dataset);
  burn_dataset_drop(dataset);
  if (system("python3 -c 'import sqlite3' >/dev/null 2>&1") == 0)
    assert_int_equal(system("python3 -c \"import sqlite3, struct; d = sqlite3.connect('sqlite_test.db'); "
                            "rows = list(d.execute('select row_id, label, image, weight from [tra\\\"in]')); "
                            "assert rows[2] == (3, 14, struct.pack('<4f', 2, 3, 4, 5), 0.5), rows\""),
                     0);
}

static BurnStatus bytes_get(void *context, size_t index, void *const *out) {
  memcpy(out[0], (const uint8_t *)context + 2 * index, 2);
  return BURN_OK;
}

/* Bytes that are written as u8 are bools if they are 0 and 1, and nothing else is. */
static void only_0_and_1_are_bools(void **state) {
  (void)state;
  static uint8_t bytes[][2] = {{0, 1}, {1, 2}, {3, 0}, {255, 1}};
  const BurnColumn as_bytes = {"x", BURN_DTYPE_U8, {1, {2}}}, as_bools = {"x", BURN_DTYPE_BOOL, {1, {2}}};
  BurnStatus status = BURN_OK;
  BurnDataset *dataset = burn_dataset_create(&(BurnDatasetInterface){1, &as_bytes, 4, bytes_get, NULL, bytes}, &status);
  check_status(status);
  check_status(burn_dataset_sqlite_write(path, "b", dataset, true));
  burn_dataset_drop(dataset);
  dataset = burn_dataset_sqlite(path, "b", &as_bools, 1, &status);
  check_status(status);
  for (size_t i = 0; i < 4; i++) {
    uint8_t out[2];
    status = burn_dataset_get(dataset, i, (void *const[]){out});
    assert_int_equal(burn_status_code(status), i == 0 ? BURN_OK : BURN_STATUS_CORRUPT_DATA);
  }
  burn_dataset_drop(dataset);
}

int main(void) {
  if (!burn_datasets_has(BURN_DATASETS_SQLITE)) {
    printf("skipped: this build has no SQLite\n");
    return 0;
  }
#define ON_FILE(test) cmocka_unit_test_setup_teardown(test, database_write, database_remove)
  const struct CMUnitTest tests[] = {
      ON_FILE(rows_are_items),          ON_FILE(threads_read_at_once),      ON_FILE(what_is_not_there_is_told),
      ON_FILE(bad_rows_are_told),       ON_FILE(damaged_files_are_refused), ON_FILE(locked_databases_are_told),
      ON_FILE(what_is_written_is_read), ON_FILE(only_0_and_1_are_bools),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
