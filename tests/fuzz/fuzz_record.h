/* fuzz_record.h - what the targets of Burn's recorders share: a file, plain and gzipped, goes into a module (all or
 * nothing; with and without options), and is read as a tree of values, written, and read again.
 *
 * Input: a byte that says how the file is compressed, its precision, and how it is loaded; then the file. */
#ifndef BURN_TESTS_FUZZ_RECORD_H
#define BURN_TESTS_FUZZ_RECORD_H

#include "fuzz_net.h"

/* A format and its gzipped twin. */
typedef struct FuzzFormat {
  uint32_t plain, gzipped;
  const char *extension; /* "mpk" */
} FuzzFormat;

static BurnRecordLoad fuzz_options; /* of load_with; set for each input */

static BurnStatus load_file(BurnModule module, const void *path, const BurnRecordConfig *config) {
  return burn_record_load(module, path, config);
}

/* Every entry of the report is about a tensor, and the sums are right. */
static BurnStatus load_with(BurnModule module, const void *path, const BurnRecordConfig *config) {
  BurnRecordReport report = {.count = 0};
  const BurnStatus status = burn_record_load_with(module, path, config, &fuzz_options, &report);
  size_t sum = 0;
  for (size_t i = 0; i < 4; i++) sum += report.counts[i];
  FUZZ_REQUIRE(sum == report.count, "%zu entries, of which %zu are counted", report.count, sum);
  free(burn_record_report_text(&report));
  burn_record_report_release(&report);
  return status;
}

static BurnStatus load_value(BurnModule module, const void *value, const BurnRecordConfig *config) {
  (void)config;
  return burn_value_into_module(value, module);
}

/* What could be read can be written, and reads the same again. */
static void there_and_back(const BurnValue *value, const BurnRecordConfig *config, const char *extension) {
  const char *names[] = {"first", "second"};
  const bool is_gzipped = config->format == BURN_RECORD_MPK_GZ || config->format == BURN_RECORD_JSON_GZ;
  char files[2][32];
  BurnValue *again = NULL;
  size_t count[2];
  for (int i = 0; i < 2; i++)
    (void)snprintf(files[i], sizeof files[i], "%s.%s%s", names[i], extension, is_gzipped ? ".gz" : "");
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

static int fuzz_record(const uint8_t *bytes, size_t count, FuzzFormat format, bool has_names) {
  enum { PLAIN, GZIP, GZIP_OF_OURS, KINDS };
  FuzzInput input = {bytes, count};
  const uint8_t how = fuzz_byte(&input);
  const uint32_t kind = how % KINDS, options = how / KINDS / 3;
  const BurnRecordConfig config = {kind == PLAIN ? format.plain : format.gzipped, how / KINDS % 3};
  char name[32];
  (void)snprintf(name, sizeof name, "record.%s%s", format.extension, kind == PLAIN ? "" : ".gz");
  fuzz_options = (BurnRecordLoad){
      .dtypes = options & 1, .allow_partial = options & 2, .allow_unused = options & 4, .no_validate = options & 8};
  fuzz_scratch_clear();
  if (kind == GZIP_OF_OURS)
    fuzz_file_write_gzip(name, input);
  else
    fuzz_file_write(name, input);
  into_module(load_file, "record", &config);
  into_module(load_with, "record", &config);
  BurnValue *value = NULL;
  if (fuzz_ok(burn_value_read("record", &config, &value))) {
    FUZZ_REQUIRE(has_names, "a tree is read of a format without names");
    into_module(load_value, value, &config);
    there_and_back(value, &config, format.extension);
  } else {
    FUZZ_REQUIRE(!value, "a failed read leaves a value");
  }
  burn_value_destroy(value);
  return 0;
}

#endif
