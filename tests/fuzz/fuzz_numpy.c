/* fuzz_numpy.c - .npy files and .npz archives: as tensors, as a dataset, and what was read written and read again.
 *
 * Input: the file, which is read as both. */
#include "fuzz_target.h"

#include <burn/train.h>

static void written_again(BurnTensor *x) {
  const BurnShape shape = burn_shape(x);
  const BurnDType dtype = burn_dtype(x);
  FUZZ_REQUIRE(fuzz_ok(burn_npy_write("again.npy", x)), "what was read is not written");
  BurnTensor *again = burn_npy_read(fuzz_device("ndarray"), "again.npy");
  FUZZ_REQUIRE(fuzz_ok(burn_tensor_status(again)), "what was written is not read");
  FUZZ_REQUIRE(burn_dtype(again) == dtype && burn_shape(again).rank == shape.rank, "it is another tensor");
  burn_drop(again);
}

static void array_check(void) {
  BurnTensor *x = burn_npy_read(fuzz_device("ndarray"), "in.npy");
  if (fuzz_ok(burn_tensor_status(x)))
    written_again(x);
  else
    burn_drop(x);
}

static void archive_check(void) {
  BurnStatus status = BURN_OK;
  BurnNpz *npz = burn_npz_open("in.npz", &status);
  FUZZ_REQUIRE(fuzz_ok(status) == (npz != NULL), "an archive and a failure, or neither");
  for (size_t i = 0; npz != NULL && i < burn_npz_count(npz) && i < 8; i++) {
    BurnTensor *x = burn_npz_read(npz, burn_npz_name(npz, i), fuzz_device("ndarray"));
    (void)fuzz_ok(burn_tensor_status(x));
    burn_drop(x);
  }
  burn_npz_close(npz);
}

static void dataset_check(const char *path) {
  BurnStatus status = BURN_OK;
  BurnDataset *data = burn_dataset_numpy(path, NULL, 0, &status);
  FUZZ_REQUIRE(fuzz_ok(status) == (data != NULL), "a dataset and a failure, or neither");
  void *columns[BURN_MAX_COLUMNS] = {NULL};
  const size_t count = data != NULL ? burn_dataset_column_count(data) : 0;
  for (size_t i = 0; i < count; i++) columns[i] = malloc(burn_dataset_column_bytes(data, i));
  if (data != NULL && burn_dataset_count(data) > 0)
    FUZZ_REQUIRE(fuzz_ok(burn_dataset_get(data, burn_dataset_count(data) - 1, columns)), "the last item is not there");
  for (size_t i = 0; i < count; i++) free(columns[i]);
  burn_dataset_drop(data);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  const FuzzInput input = {bytes, count};
  fuzz_scratch_clear();
  fuzz_file_write("in.npy", input);
  fuzz_file_write("in.npz", input);
  array_check();
  archive_check();
  dataset_check("in.npy");
  dataset_check("in.npz");
  fuzz_device_end(fuzz_device("ndarray"));
  return 0;
}
