/* fuzz_json_lines.c - files of JSON lines.
 *
 * Input: a byte that says whether bad lines are skipped, then the file. */
#include "fuzz_target.h"

#include <burn/train.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  const BurnColumn columns[] = {{"x", BURN_DTYPE_F32, BURN_SHAPE(2, 2)},
                                {"i", BURN_DTYPE_I64, {0, {0}}},
                                {"t", BURN_DTYPE_U8, BURN_SHAPE(8)},
                                {"b", BURN_DTYPE_BOOL, {0, {0}}}};
  FuzzInput input = {bytes, count};
  size_t skipped = 0;
  const BurnReadConfig config = {fuzz_byte(&input) % 2 == 1, &skipped};
  BurnStatus status = BURN_OK;
  fuzz_scratch_clear();
  fuzz_file_write("lines.jsonl", input);
  BurnDataset *data = burn_dataset_json_lines("lines.jsonl", columns, 4, &config, &status);
  FUZZ_REQUIRE(fuzz_ok(status) == (data != NULL), "a dataset and a failure, or neither");
  const bool packed = input.left > 1 && input.next[0] == 0x1f && input.next[1] == 0x8b; /* gzip, damaged as a whole */
  FUZZ_REQUIRE(data || !config.skip_bad || packed, "a bad line is not skipped: %s", burn_status_message(status));
  FUZZ_REQUIRE(skipped == 0 || config.skip_bad, "%zu lines are skipped", skipped);
  for (size_t i = 0; data && i < burn_dataset_count(data) && i < 64; i++) {
    float x[4];
    int64_t number;
    uint8_t text[8], truth = 2;
    FUZZ_REQUIRE(fuzz_ok(burn_dataset_get(data, i, (void *const[]){x, &number, text, &truth})) && truth < 2,
                 "item %zu is %u", i, truth);
  }
  burn_dataset_drop(data);
  return 0;
}
