/* fuzz_store.h - what the targets of stores do with a file: all of its tensors are read, put into a module and written as
 * another file, which has them again. */
#ifndef BURN_TESTS_FUZZ_STORE_H
#define BURN_TESTS_FUZZ_STORE_H

#include "fuzz_target.h"

#include <burn/nn.h>
#include <burn/store.h>

enum { FUZZ_STORE_BYTES = 1 << 20, FUZZ_STORE_TENSORS = 64 };

/* Bytes of the values of all tensors; a file may claim more than the target has time for. */
static uint64_t fuzz_store_bytes(const BurnStore *store) {
  uint64_t bytes = 0;
  for (size_t i = 0; i < burn_store_count(store); i++) {
    const BurnStoreEntry *entry = burn_store_entry(store, i);
    uint64_t count = 8;
    for (uint32_t k = 0; k < entry->shape.rank; k++) count *= (uint64_t)entry->shape.dims[k];
    FUZZ_REQUIRE(burn_store_find(store, entry->name) == i, "a tensor is not found by its name");
    bytes += count < FUZZ_STORE_BYTES ? count : FUZZ_STORE_BYTES;
  }
  return bytes;
}

/* A module is as it was unless all is well. */
static void fuzz_store_apply(const BurnStore *store) {
  BurnLinear linear = burn_linear_new(3, 2, fuzz_device("ndarray"));
  BurnRecordReport report = {.count = 0};
  const BurnStoreApply options = {.adapter = BURN_STORE_PYTORCH, .load = {.allow_partial = true, .allow_unused = true}};
  (void)fuzz_ok(burn_store_apply(store, burn_module(BurnLinear, &linear), &options, &report));
  FUZZ_REQUIRE(burn_rank(linear.weight.value) == 2 && burn_dim(linear.weight.value, 0) == 3, "another shape");
  burn_record_report_release(&report);
  BurnLinear_release(&linear);
}

static void fuzz_store_convert(const BurnStore *store) {
  BurnStatus status = burn_store_convert(store, "out.safetensors", &(BurnStoreSave){.overwrite = true});
  if (!fuzz_ok(status)) return;
  BurnStore *again = burn_store_open("out.safetensors", &status);
  FUZZ_REQUIRE(fuzz_ok(status), "what was written is not read: %s", burn_status_message(status));
  FUZZ_REQUIRE(burn_store_count(again) == burn_store_count(store), "it has another number of tensors");
  burn_store_close(again);
}

/* Ends the store, which may be NULL. */
static void fuzz_store_use(BurnStore *store, BurnStatus status) {
  FUZZ_REQUIRE(fuzz_ok(status) == (store != NULL), "a store and a failure, or neither");
  if (!store) return;
  if (burn_store_count(store) <= FUZZ_STORE_TENSORS && fuzz_store_bytes(store) < FUZZ_STORE_BYTES) {
    for (size_t i = 0; i < burn_store_count(store); i++) {
      BurnTensor *x = burn_store_tensor(store, burn_store_entry(store, i)->name, fuzz_device("ndarray"));
      (void)fuzz_ok(burn_tensor_status(x));
      burn_drop(x);
    }
    fuzz_store_apply(store);
    fuzz_store_convert(store);
  }
  burn_store_close(store);
}

BURN_UNUSED static void fuzz_store_of_bytes(const uint8_t *bytes, size_t count) {
  BurnStatus status = BURN_OK;
  fuzz_scratch_clear();
  BurnStore *store = burn_store_open_bytes(bytes, count, &status);
  fuzz_store_use(store, status);
  fuzz_device_end(fuzz_device("ndarray"));
}

#endif
