/* fuzz_csv.c - files of comma-separated values, and the same bytes as lines of text.
 *
 * Input: a byte that says how they are read (skipping, header, cutting), then the file. */
#include "fuzz_target.h"

#include <burn/train.h>

static void values_check(uint8_t choice) {
  const BurnColumn columns[] = {{"x", BURN_DTYPE_F32, BURN_SHAPE(2)},
                                {"i", BURN_DTYPE_I64, {0, {0}}},
                                {"t", BURN_DTYPE_U8, BURN_SHAPE(8)},
                                {"b", BURN_DTYPE_BOOL, {0, {0}}}};
  size_t skipped = 0;
  const BurnCsvConfig config = {choice & 8 ? ';' : 0, choice & 2, choice & 4, {choice & 1, &skipped}};
  BurnStatus status = BURN_OK;
  BurnDataset *data = burn_dataset_csv("in.csv", columns, 4, &config, &status);
  FUZZ_REQUIRE(fuzz_ok(status) == (data != NULL), "a dataset and a failure, or neither");
  FUZZ_REQUIRE(skipped == 0 || config.read.skip_bad, "%zu lines are skipped", skipped);
  for (size_t i = 0; data && i < burn_dataset_count(data) && i < 64; i++) {
    float x[2];
    int64_t number;
    uint8_t text[8], truth = 2;
    FUZZ_REQUIRE(fuzz_ok(burn_dataset_get(data, i, (void *const[]){x, &number, text, &truth})) && truth < 2,
                 "item %zu is %u", i, truth);
  }
  burn_dataset_drop(data);
}

static void lines_check(uint8_t choice) {
  const BurnTextConfig config = {5, choice & 4, choice & 2, {choice & 1, NULL}};
  BurnStatus status = BURN_OK;
  BurnDataset *data = burn_dataset_text_lines("in.csv", &config, &status);
  FUZZ_REQUIRE(fuzz_ok(status) == (data != NULL), "a dataset and a failure, or neither");
  FUZZ_REQUIRE(data || !config.read.skip_bad, "a bad line is not skipped: %s", burn_status_message(status));
  for (size_t i = 0; data && i < burn_dataset_count(data) && i < 64; i++) {
    uint8_t text[5];
    int64_t length = -1;
    FUZZ_REQUIRE(fuzz_ok(burn_dataset_get(data, i, (void *const[]){text, &length})) && length >= 0 && length <= 5,
                 "item %zu has %lld bytes", i, (long long)length);
  }
  burn_dataset_drop(data);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  FuzzInput input = {bytes, count};
  const uint8_t choice = fuzz_byte(&input);
  fuzz_scratch_clear();
  fuzz_file_write("in.csv", input);
  values_check(choice);
  lines_check(choice);
  return 0;
}
