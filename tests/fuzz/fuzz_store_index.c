/* fuzz_store_index.c - a model in parts.
 *
 * Input: the index, which is JSON, then "<|>" and the part "one", "<|>" and the part "two". */
#include "fuzz_store.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  FuzzInput input = {bytes, count};
  BurnStatus status = BURN_OK;
  fuzz_scratch_clear();
  fuzz_file_write("index.json", fuzz_part(&input));
  fuzz_file_write("one", fuzz_part(&input));
  fuzz_file_write("two", input);
  BurnStore *store = burn_store_open("index.json", &status);
  fuzz_store_use(store, status);
  fuzz_device_end(fuzz_device("ndarray"));
  return 0;
}
