/* fuzz_sqlite.c - databases: the table "t" with columns of every kind; what was read is written and read again.
 *
 * Input: the file. */
#include "fuzz_target.h"

#include <burn/datasets.h>

enum { ITEMS = 16 };

static void rows_read(const BurnDataset *data) {
  for (size_t i = 0; i < burn_dataset_count(data) && i < ITEMS; i++) {
    int64_t number;
    float x[2], single;
    uint8_t text[8], truth = 2;
    const BurnStatus status = burn_dataset_get(data, i, (void *const[]){&number, x, text, &single, &truth});
    FUZZ_REQUIRE(!fuzz_ok(status) || truth < 2, "a bool of %u", truth);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  const BurnColumn columns[] = {{"i", BURN_DTYPE_I64, {0, {0}}},
                                {"x", BURN_DTYPE_F32, BURN_SHAPE(2)},
                                {"t", BURN_DTYPE_U8, BURN_SHAPE(8)},
                                {"f", BURN_DTYPE_F32, {0, {0}}},
                                {"b", BURN_DTYPE_BOOL, {0, {0}}}};
  const FuzzInput input = {bytes, count};
  BurnStatus status = BURN_OK;
  fuzz_scratch_clear();
  fuzz_file_write("in.db", input);
  BurnDataset *data = burn_dataset_sqlite("in.db", "t", columns, 5, &status);
  FUZZ_REQUIRE(fuzz_ok(status) == (data != NULL), "a dataset and a failure, or neither");
  if (data != NULL) rows_read(data);
  if (data != NULL && burn_dataset_count(data) < ITEMS &&
      fuzz_ok(burn_dataset_sqlite_write("out.db", "t", data, false))) {
    BurnDataset *again = burn_dataset_sqlite("out.db", "t", columns, 5, &status);
    FUZZ_REQUIRE(fuzz_ok(status) && burn_dataset_count(again) == burn_dataset_count(data),
                 "what was written is not read");
    rows_read(again);
    burn_dataset_drop(again);
  }
  burn_dataset_drop(data);
  return 0;
}
