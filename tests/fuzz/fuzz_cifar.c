/* fuzz_cifar.c - archives of CIFAR, gzipped or not, which is the same to the reader.
 *
 * Input: a byte that says which part of which data set, then the archive. */
#include "fuzz_target.h"

#include <burn/datasets.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  FuzzInput input = {bytes, count};
  const uint8_t choice = fuzz_byte(&input);
  BurnStatus status = BURN_OK;
  fuzz_scratch_clear();
  fuzz_file_write("in.tar.gz", input);
  BurnDataset *data = burn_dataset_cifar_archive("in.tar.gz", choice & 1 ? 100 : 10, choice >> 1 & 1, &status);
  FUZZ_REQUIRE(fuzz_ok(status) == (data != NULL), "a dataset and a failure, or neither");
  burn_dataset_drop(data);
  return 0;
}
