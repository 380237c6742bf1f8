/* write_core.c - the formats that core writes: Burnpack and .npz. */
#include "store_write.h"

#include <burn/numpy.h>

#include <stdlib.h>

static BurnStatus refuse_metadata(const BurnStoreSave *options) {
  if (!options->metadata) return BURN_OK;
  return burn_status_make(BURN_STATUS_UNIMPLEMENTED, "metadata are written to safetensors only");
}

BurnStatus burn__store_write_bpk(const char *path, const BurnStoreItem *items, size_t count,
                                 const BurnStoreSave *options) {
  BurnStatus status = refuse_metadata(options);
  if (status != BURN_OK) return status;
  BurnValue *map = burn_value_map();
  for (size_t i = 0; i < count; i++)
    (void)burn_value_set(map, items[i].name, burn_value_tensor(burn_clone(items[i].x)));
  status = burn_value_write(map, path, &(BurnRecordConfig){BURN_RECORD_BPK, BURN_PRECISION_AS_IS});
  burn_value_destroy(map);
  return status;
}

BurnStatus burn__store_write_npz(const char *path, const BurnStoreItem *items, size_t count,
                                 const BurnStoreSave *options) {
  const char **names = calloc(count + 1, sizeof *names);
  BurnTensor **tensors = calloc(count + 1, sizeof *tensors);
  BurnStatus status = refuse_metadata(options);
  if (status == BURN_OK && (!names || !tensors)) status = burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory");
  for (size_t i = 0; i < count && status == BURN_OK; i++) {
    names[i] = items[i].name;
    tensors[i] = burn_clone(items[i].x);
  }
  if (status == BURN_OK) status = burn_npz_write(path, names, tensors, count, false);
  free(names);
  free(tensors);
  return status;
}
