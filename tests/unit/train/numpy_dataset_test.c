/* numpy_dataset_test.c - arrays of NumPy's files as columns. */
#include <burn/train/dataset.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "file_testing.h"

#include "data_golden.h"

static const char npy[] = "numpy_dataset_test.npy", npz[] = "numpy_dataset_test.npz";

static void arrays_are_columns(void **state) {
  (void)state;
  BurnStatus status = BURN_OK;
  float x[3];
  int64_t y = 0;
  file_write(npz, npz_stored, sizeof npz_stored);
  BurnDataset *dataset = burn_dataset_numpy(npz, NULL, 0, &status);
  if (status != BURN_OK) fail_msg("%s", burn_status_message(status));
  assert_true(burn_dataset_count(dataset) == 2 && burn_dataset_column_count(dataset) == 2);
  assert_string_equal(burn_dataset_column(dataset, 1)->name, "y");
  assert_true(burn_dataset_get(dataset, 1, (void *const[]){x, &y}) == BURN_OK);
  assert_true(x[0] == 1.5f && x[1] == 2 && x[2] == 2.5f && y == 1);
  burn_dataset_drop(dataset);
  const char *const one[] = {"y"};
  dataset = burn_dataset_numpy(npz, one, 1, &status);
  assert_true(status == BURN_OK && burn_dataset_get(dataset, 0, (void *const[]){&y}) == BURN_OK && y == 3);
  burn_dataset_drop(dataset);
  file_write(npy, npy_f32, sizeof npy_f32);
  dataset = burn_dataset_numpy(npy, NULL, 0, &status);
  assert_true(status == BURN_OK && strcmp(burn_dataset_column(dataset, 0)->name, "x") == 0);
  assert_true(burn_dataset_get(dataset, 0, (void *const[]){x}) == BURN_OK && x[2] == 1);
  burn_dataset_drop(dataset);
}

static void refuse(const char *path, const char *const *names, size_t count, const char *message) {
  BurnStatus status = BURN_OK;
  assert_null(burn_dataset_numpy(path, names, count, &status));
  assert_string_equal(burn_status_message(status), message);
}

static void what_has_no_items_is_refused(void **state) {
  (void)state;
  const char *const none[] = {"z"};
  file_write(npz, npz_stored, sizeof npz_stored);
  refuse(npz, none, 1, "numpy: numpy_dataset_test.npz: no array \"z\"");
  file_write(npy, npy_scalar, sizeof npy_scalar);
  refuse(npy, NULL, 0, "numpy: numpy_dataset_test.npy: array \"x\" is a single number, without items");
  file_write(npy, npy_f32, sizeof npy_f32 - 1);
  refuse(npy, NULL, 0, "numpy: numpy_dataset_test.npy: npy: [2,3] of f32, but 23 bytes of values");
  refuse(NULL, NULL, 0, "numpy: no path");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(arrays_are_columns),
                                     cmocka_unit_test(what_has_no_items_is_refused)};
  const int failed = cmocka_run_group_tests(tests, NULL, NULL);
  remove(npy);
  remove(npz);
  return failed;
}
