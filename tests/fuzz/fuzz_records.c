/* fuzz_records.c - records of named MessagePack, .mpk and .mpk.gz; fuzz_record.h says what is done with them. */
#include "fuzz_record.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  return fuzz_record(bytes, count, (FuzzFormat){BURN_RECORD_MPK, BURN_RECORD_MPK_GZ, "mpk"}, true);
}
