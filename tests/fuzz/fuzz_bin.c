/* fuzz_bin.c - records of bincode, .bin and .bin.gz; fuzz_record.h says what is done with them. */
#include "fuzz_record.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  return fuzz_record(bytes, count, (FuzzFormat){BURN_RECORD_BIN, BURN_RECORD_BIN_GZ, "bin"}, false);
}
