/* pytorch_storage.c - names that mean something, storages, dtypes. */
#include "pytorch.h"

#include <stdlib.h>
#include <string.h>

static const PytorchDType dtypes[] = {
#define PYTORCH_DTYPE(storage, name, bytes, dtype) {storage, "torch." name, bytes, BURN_DTYPE_##dtype},
#include "pytorch_globals.def"
};

static const PytorchDType numpy_dtypes[] = {
#define PYTORCH_NUMPY(code, bytes, dtype) {"", "numpy." code, bytes, BURN_DTYPE_##dtype},
#include "pytorch_globals.def"
};

static const struct {
  const char *module, *name;
  PytorchMeaning meaning;
} meanings[] = {
#define PYTORCH_GLOBAL(module, name, meaning) {module, name, PYTORCH_##meaning},
#include "pytorch_globals.def"
};
#define COUNT(list) (sizeof(list) / sizeof(list)[0])

PytorchMeaning burn__pytorch_meaning(const Pickle *pickle, PickleRef ref) {
  const PickleObject *object = burn__pickle_at(pickle, ref);
  if (object->kind == PICKLE_CALL) object = burn__pickle_at(pickle, object->as.call.callable);
  if (object->kind != PICKLE_GLOBAL) return PYTORCH_UNKNOWN;
  for (size_t i = 0; i < COUNT(meanings); i++)
    if (burn__pickle_is_text(pickle, object->as.pair[1], meanings[i].name) &&
        burn__pickle_is_text(pickle, object->as.pair[0], meanings[i].module))
      return meanings[i].meaning;
  return PYTORCH_UNKNOWN;
}

BurnStatus burn__pytorch_grow(Pytorch *file, void *array, size_t *room, size_t count, size_t each) {
  if (count < *room) return BURN_OK;
  const size_t wanted = *room > 0 ? 2 * *room : 16;
  const BurnStatus status = burn__pickle_charge(&file->pickle, (uint64_t)wanted * each);
  if (status != BURN_OK) return status;
  void *old = NULL;
  memcpy(&old, array, sizeof old);
  void *grown = realloc(old, wanted * each);
  if (grown == NULL) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for %zu tensors", wanted);
  memcpy(array, &grown, sizeof grown);
  *room = wanted;
  return BURN_OK;
}

/* -- dtypes ----------------------------------------------------------------------------------- */

const PytorchDType *burn__pytorch_dtype(const Pickle *pickle, PickleRef global) {
  const PickleObject *object = burn__pickle_at(pickle, global);
  if (object->kind != PICKLE_GLOBAL) return NULL;
  const PickleRef module = object->as.pair[0], name = object->as.pair[1];
  const bool is_torch = burn__pickle_is_text(pickle, module, "torch");
  if (!is_torch && !burn__pickle_is_text(pickle, module, "torch.cuda") &&
      !burn__pickle_is_text(pickle, module, "torch.storage"))
    return NULL;
  for (size_t i = 0; i < COUNT(dtypes); i++) {
    if (dtypes[i].storage[0] != '\0' && burn__pickle_is_text(pickle, name, dtypes[i].storage)) return &dtypes[i];
    if (is_torch && dtypes[i].name[6] != '\0' && burn__pickle_is_text(pickle, name, dtypes[i].name + 6))
      return &dtypes[i];
  }
  return NULL;
}

bool burn__pytorch_is_unsigned(const PytorchDType *dtype) {
  return dtype->bytes > 1 && dtype->name[strcspn(dtype->name, ".") + 1] == 'u';
}

const PytorchDType *burn__pytorch_numpy_dtype(const Pickle *pickle, PickleRef ref, bool *is_big_endian) {
  const PickleObject *object = burn__pickle_at(pickle, ref);
  if (object->kind != PICKLE_CALL || burn__pytorch_meaning(pickle, ref) != PYTORCH_NUMPY_DTYPE) return NULL;
  const PickleRef code = burn__pickle_item(pickle, object->as.call.arguments, 0);
  *is_big_endian = burn__pickle_is_text(pickle, burn__pickle_item(pickle, object->as.call.state, 1), ">");
  for (size_t i = 0; i < COUNT(numpy_dtypes); i++)
    if (burn__pickle_is_text(pickle, code, numpy_dtypes[i].name + strlen("numpy."))) return &numpy_dtypes[i];
  return NULL;
}

/* -- storages --------------------------------------------------------------------------------- */

bool burn__pytorch_is_storage(const Pickle *pickle, PickleRef ref) {
  const PickleObject *object = burn__pickle_at(pickle, ref);
  return object->kind == PICKLE_PERSISTENT &&
         burn__pickle_is_text(pickle, burn__pickle_item(pickle, object->as.pair[0], 0), "storage");
}

BurnStatus burn__pytorch_corrupt(const Pickle *pickle, PickleRef ref, const char *what) {
  return burn_status_make(BURN_STATUS_CORRUPT_DATA, "byte %llu: %s",
                          (unsigned long long)burn__pickle_at(pickle, ref)->offset, what);
}

BurnStatus burn__pytorch_storage_read(const Pickle *pickle, PickleRef ref, PytorchStorage *storage) {
  const PickleRef id = burn__pickle_at(pickle, ref)->as.pair[0];
  const PickleRef class = burn__pickle_item(pickle, id, 1), key = burn__pickle_item(pickle, id, 2);
  const PickleObject *key_object = burn__pickle_at(pickle, key);
  char name[80];
  *storage = (PytorchStorage){.dtype = burn__pytorch_dtype(pickle, class), .member = SIZE_MAX};
  if (storage->dtype == NULL) {
    burn__pickle_name(pickle, class, name, sizeof name);
    return burn_status_make(BURN_STATUS_INCOMPATIBLE, "byte %llu: a storage of %s, which is not known",
                            (unsigned long long)burn__pickle_at(pickle, ref)->offset, name);
  }
  if (key_object->kind != PICKLE_TEXT) return burn__pytorch_corrupt(pickle, ref, "a storage without a key");
  if (!burn__pickle_size(pickle, burn__pickle_item(pickle, id, 4), &storage->elements) ||
      storage->elements > UINT64_MAX / 32)
    return burn__pytorch_corrupt(pickle, ref, "a storage without a number of elements");
  storage->key = key_object->as.text;
  return BURN_OK;
}

static int compare_keys(PickleText first, PickleText second) {
  const size_t count = first.count < second.count ? first.count : second.count;
  const int order = count > 0 ? memcmp(first.bytes, second.bytes, count) : 0;
  return order != 0 ? order : (first.count > second.count) - (first.count < second.count);
}

static int compare_storages(const void *a, const void *b) {
  return compare_keys(((const PytorchStorage *)a)->key, ((const PytorchStorage *)b)->key);
}

/* A storage is named by each of its tensors. */
static void storages_unite(Pytorch *file) {
  size_t kept = 0;
  if (file->storage_count > 1) qsort(file->storages, file->storage_count, sizeof *file->storages, compare_storages);
  for (size_t i = 0; i < file->storage_count; i++)
    if (kept == 0 || compare_storages(&file->storages[kept - 1], &file->storages[i]) != 0)
      file->storages[kept++] = file->storages[i];
  file->storage_count = file->keyed = kept;
}

BurnStatus burn__pytorch_storages(Pytorch *file) {
  BurnStatus status = BURN_OK;
  for (PickleRef ref = 1; ref < file->pickle.count && status == BURN_OK; ref++) {
    if (!burn__pytorch_is_storage(&file->pickle, ref)) continue;
    status =
        burn__pytorch_grow(file, &file->storages, &file->storage_room, file->storage_count, sizeof *file->storages);
    if (status == BURN_OK)
      status = burn__pytorch_storage_read(&file->pickle, ref, &file->storages[file->storage_count]);
    if (status == BURN_OK) file->storage_count++;
  }
  storages_unite(file);
  return status;
}

PytorchStorage *burn__pytorch_storage(const Pytorch *file, PickleText key) {
  size_t low = 0, high = file->keyed;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    const int order = compare_keys(file->storages[middle].key, key);
    if (order == 0) return &file->storages[middle];
    if (order < 0) low = middle + 1;
    if (order > 0) high = middle;
  }
  return NULL;
}
