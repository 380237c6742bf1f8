/* store.h - weights from files of any known format, Burn's own and those of others, by one interface.
 *
 *   BurnStatus status = BURN_OK;
 *   BurnStore *store = burn_store_open("model.safetensors", &status);
 *   for (size_t i = 0; store && i < burn_store_count(store); i++) puts(burn_store_entry(store, i)->name);
 *   BurnTensor *weight = burn_store_tensor(store, "conv1.weight", device);
 *   burn_store_close(store);
 *
 * The format is told by the content of a file, not by its name. A file is mapped into memory: names, shapes and
 * metadata are read when it is opened, the values of a tensor when it is asked for. (So the file must not be cut while
 * it is open: like every mapped file it would end the process.) Bytes are taken as hostile: every size is compared with
 * what is there before it is used, nothing in a file is executed, and a message has the file and the place. */
#ifndef BURN_STORE_H
#define BURN_STORE_H

#include <burn/record.h>

BURN_EXTERN_C_BEGIN

/* An open file of tensors; read only, so that threads may use one at once. */
typedef struct BurnStore BurnStore;

/* A tensor of a store, as the file describes it. */
typedef struct BurnStoreEntry {
  const char *name;       /* "conv1.weight" */
  const char *file_dtype; /* what the file calls its dtype: "BF16", "Q4_K" */
  BurnDType dtype;        /* of burn_store_tensor; BURN_DTYPE_DEFAULT where it refuses, as for F8_E4M3 */
  BurnShape shape;        /* of burn_store_tensor; [1] for one without axes */
  bool scalar;            /* it has no axes in the file */
  uint64_t bytes;         /* of its values as they stand in the file, unpacked */
} BurnStoreEntry;

/* Opens a file, or a folder in which a model lies in parts, by model.safetensors.index.json or
 * pytorch_model.bin.index.json, or in one, model.safetensors or pytorch_model.bin; such an index may also be given
 * itself. Its parts must be plain names: files beside it. NULL on failure, with the reason in *status, by the rules of
 * a chain: only failures are stored, and only over BURN_OK. NOT_FOUND: no such file; INCOMPATIBLE: of no known format;
 * CORRUPT_DATA: it is not what its beginning says. */
BURN_API BURN_USE_RESULT BurnStore *burn_store_open(const char *path, BurnStatus *status);

/* The same for the bytes of a file, which stay the caller's and must outlive the store. An index is refused. */
BURN_API BURN_USE_RESULT BurnStore *burn_store_open_bytes(const void *bytes, size_t count, BurnStatus *status);

/* Ends a store with all that it gave out but tensors. NULL is allowed. */
BURN_API void burn_store_close(BurnStore *store);

/* The name of the format: "safetensors". Never ends. */
BURN_API const char *burn_store_format(const BurnStore *store);

/* What else the file says: a map, empty where there is nothing; the store's. */
BURN_API const BurnValue *burn_store_metadata(const BurnStore *store);

/* How many tensors there are. */
BURN_API size_t burn_store_count(const BurnStore *store);

/* Tensor `index`, below the count, in the order of the file; the store's. */
BURN_API const BurnStoreEntry *burn_store_entry(const BurnStore *store, size_t index);

/* The index of the tensor of that name; the count where there is none. */
BURN_API size_t burn_store_find(const BurnStore *store, const char *name);

/* The values of tensor `index`, below the count, row-major in the entry's dtype, to `out`, which has `bytes`: exactly
 * its elements times the size of the dtype (INVALID_ARGUMENT). UNIMPLEMENTED for a dtype that is refused. */
BURN_API BURN_USE_RESULT BurnStatus burn_store_read(const BurnStore *store, size_t index, void *out, size_t bytes);

/* The tensor of that name on a device; a failed one if it is not there, with the nearest name, or cannot be read. */
BURN_API BURN_GIVES BurnTensor *burn_store_tensor(const BurnStore *store, const char *name, BurnDevice *device);

BURN_EXTERN_C_END

#endif
