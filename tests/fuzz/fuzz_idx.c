/* fuzz_idx.c - MNIST's files, plain and gzipped.
 *
 * Input: a byte that says which file is compressed how, then images<|>labels. */
#include "fuzz_target.h"

#include <burn/train.h>

static void file_of(const char *name, const char *name_gz, FuzzInput bytes, uint32_t how) {
  enum { PLAIN, GZIP, GZIP_OF_OURS };
  if (how == PLAIN)
    fuzz_file_write(name, bytes);
  else if (how == GZIP)
    fuzz_file_write(name_gz, bytes);
  else
    fuzz_file_write_gzip(name_gz, bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  FuzzInput input = {bytes, count};
  const uint8_t how = fuzz_byte(&input);
  BurnStatus status = BURN_OK;
  fuzz_scratch_clear();
  file_of("t10k-images-idx3-ubyte", "t10k-images-idx3-ubyte.gz", fuzz_part(&input), how % 3);
  file_of("t10k-labels-idx1-ubyte", "t10k-labels-idx1-ubyte.gz", input, how / 3 % 3);
  BurnDataset *data = burn_dataset_mnist(".", BURN_MNIST_TEST, &status);
  FUZZ_REQUIRE(fuzz_ok(status) == (data != NULL), "a dataset and a failure, or neither");
  for (size_t i = 0; data && i < burn_dataset_count(data) && i < 64; i++) {
    uint8_t image[28 * 28], label = 255;
    FUZZ_REQUIRE(fuzz_ok(burn_dataset_get(data, i, (void *const[]){image, &label})) && label < 10,
                 "item %zu has label %u", i, label);
  }
  burn_dataset_drop(data);
  return 0;
}
