/* fuzz_store_gguf.c - GGUF files as stores.
 *
 * Input: the file. */
#include "fuzz_store.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  fuzz_store_of_bytes(bytes, count);
  return 0;
}
