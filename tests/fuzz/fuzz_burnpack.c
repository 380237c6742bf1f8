/* fuzz_burnpack.c - Burnpack files, .bpk: into a module (all or nothing), as a flat map, and written and read again.
 *
 * Input: a byte that says the precision, then the file. */
#include "fuzz_net.h"

static BurnStatus load_bytes(BurnModule module, const void *input, const BurnRecordConfig *config) {
  const FuzzInput *file = input;
  return burn_record_from_bytes(module, file->next, file->left, config);
}

/* What could be read can be written, and is the same when it is read and written again. */
static void there_and_back(const BurnValue *value, const BurnRecordConfig *config) {
  BurnValue *again = NULL;
  size_t count[2];
  const BurnStatus written = burn_value_write(value, "first", config);
  const bool is_narrow = config->precision != BURN_PRECISION_DOUBLE;
  if (is_narrow && burn_status_code(written) == BURN_STATUS_OUT_OF_RANGE) return; /* a number does not fit */
  FUZZ_REQUIRE(fuzz_ok(written), "what was read cannot be written: %s", burn_status_message(written));
  FUZZ_REQUIRE(fuzz_ok(burn_value_read("first", config, &again)), "what was written cannot be read");
  FUZZ_REQUIRE(fuzz_ok(burn_value_write(again, "second", config)), "what was read again cannot be written");
  uint8_t *first = fuzz_file_read("first.bpk", &count[0]), *second = fuzz_file_read("second.bpk", &count[1]);
  FUZZ_REQUIRE(count[0] == count[1] && memcmp(first, second, count[0]) == 0,
               "a record changes when it is written again");
  free(first);
  free(second);
  burn_value_destroy(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  FuzzInput input = {bytes, count};
  const BurnRecordConfig config = {BURN_RECORD_BPK, fuzz_byte(&input) % 3};
  fuzz_scratch_clear();
  into_module(load_bytes, &input, &config);
  fuzz_file_write("record.bpk", input);
  BurnValue *value = NULL;
  if (fuzz_ok(burn_value_read("record", &config, &value)))
    there_and_back(value, &config);
  else
    FUZZ_REQUIRE(!value, "a failed read leaves a value");
  burn_value_destroy(value);
  return 0;
}
