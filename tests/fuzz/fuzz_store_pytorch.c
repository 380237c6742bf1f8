/* fuzz_store_pytorch.c - files of torch.save as stores.
 *
 * Input: the file. */
#include "fuzz_store.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  fuzz_store_of_bytes(bytes, count);
  return 0;
}
