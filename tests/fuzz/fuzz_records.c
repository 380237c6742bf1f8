/* fuzz_records.c - record files, .mpk and .mpk.gz: into a module (all or nothing), as a tree of values, and written and
 * read again.
 *
 * Input: a byte that says how the file is compressed, then the file. */
#include "fuzz_net.h"

static BurnStatus load_file(BurnModule module, const void *path, const BurnRecordConfig *config) {
  return burn_record_load(module, path, config);
}

static BurnStatus load_value(BurnModule module, const void *value, const BurnRecordConfig *config) {
  (void)config;
  return burn_value_into_module(value, module);
}

/* What could be read can be written, and reads the same again. */
static void there_and_back(const BurnValue *value, const BurnRecordConfig *config) {
  const char *names[] = {"first", "second"};
  const char *files[] = {config->format == BURN_RECORD_MPK ? "first.mpk" : "first.mpk.gz",
                         config->format == BURN_RECORD_MPK ? "second.mpk" : "second.mpk.gz"};
  BurnValue *again = NULL;
  size_t count[2];
  const BurnStatus written = burn_value_write(value, names[0], config);
  const bool is_narrow = config->precision != BURN_PRECISION_DOUBLE;
  if (is_narrow && burn_status_code(written) == BURN_STATUS_OUT_OF_RANGE) return; /* a number does not fit */
  FUZZ_REQUIRE(fuzz_ok(written), "what was read cannot be written: %s", burn_status_message(written));
  FUZZ_REQUIRE(fuzz_ok(burn_value_read(names[0], config, &again)), "what was written cannot be read");
  FUZZ_REQUIRE(fuzz_ok(burn_value_write(again, names[1], config)), "what was read again cannot be written");
  uint8_t *first = fuzz_file_read(files[0], &count[0]), *second = fuzz_file_read(files[1], &count[1]);
  FUZZ_REQUIRE(count[0] == count[1] && memcmp(first, second, count[0]) == 0,
               "a record changes when it is written again");
  free(first);
  free(second);
  burn_value_destroy(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  enum { PLAIN, GZIP, GZIP_OF_OURS, KINDS };
  FuzzInput input = {bytes, count};
  const uint8_t how = fuzz_byte(&input);
  const uint32_t kind = how % KINDS;
  const BurnRecordConfig config = {kind == PLAIN ? BURN_RECORD_MPK : BURN_RECORD_MPK_GZ, how / KINDS % 3};
  const char *name = kind == PLAIN ? "record.mpk" : "record.mpk.gz";
  fuzz_scratch_clear();
  if (kind == GZIP_OF_OURS)
    fuzz_file_write_gzip(name, input);
  else
    fuzz_file_write(name, input);
  into_module(load_file, "record", &config);
  BurnValue *value = NULL;
  if (fuzz_ok(burn_value_read("record", &config, &value))) {
    into_module(load_value, value, &config);
    there_and_back(value, &config);
  } else {
    FUZZ_REQUIRE(!value, "a failed read leaves a value");
  }
  burn_value_destroy(value);
  return 0;
}
