/* fuzz_store_burn.c - Burn's records as stores: .bpk, .mpk and .json, plain and gzipped.
 *
 * Input: the file. */
#include "fuzz_store.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  fuzz_store_of_bytes(bytes, count);
  return 0;
}
