/* fuzz_json.c - records of JSON, .json and .json.gz; fuzz_record.h says what is done with them. */
#include "fuzz_record.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  return fuzz_record(bytes, count, (FuzzFormat){BURN_RECORD_JSON, BURN_RECORD_JSON_GZ, "json"}, true);
}
