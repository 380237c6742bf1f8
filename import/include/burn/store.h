/* store.h - weights from files of any known format, Burn's own and those of others, by one interface.
 *
 *   BurnStatus status = BURN_OK;
 *   BurnStore *store = burn_store_open("model.safetensors", &status);
 *   for (size_t i = 0; store && i < burn_store_count(store); i++) puts(burn_store_entry(store, i)->name);
 *   BurnTensor *weight = burn_store_tensor(store, "conv1.weight", device);
 *   status = burn_store_apply(store, burn_module(Mlp, &mlp), &(BurnStoreApply){.adapter = BURN_STORE_PYTORCH}, NULL);
 *   burn_store_close(store);
 *
 * The format is recognised by the content of a file, not by its name. A file is mapped into memory: names, shapes and
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
 * itself. Its parts must be plain names: files beside it. NULL on failure, with the reason in *status, which is that
 * of a chain (burn/error.h). NOT_FOUND: no such file; INCOMPATIBLE: of no known format;
 * CORRUPT_DATA: it is not what its beginning says. */
BURN_API BURN_CHAINS(2) BURN_USE_RESULT BurnStore *burn_store_open(const char *path, BurnStatus *status);

/* The same for the bytes of a file, which stay the caller's and must outlive the store. An index is refused. */
BURN_API BURN_CHAINS(3) BURN_USE_RESULT BurnStore *burn_store_open_bytes(const void *bytes, size_t count,
                                                                         BurnStatus *status);

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

/* How many tensors of the file are not among them, as they have no values (PyTorch's meta tensors) or their place makes
 * no name (a key that is a tuple). *first, if it is wanted, says where the first one is and why; it is the store's, and
 * "" for none. */
BURN_API size_t burn_store_left_out(const BurnStore *store, const char **first);

/* The index of the tensor of that name; the count where there is none. */
BURN_API size_t burn_store_find(const BurnStore *store, const char *name);

/* The values of tensor `index`, below the count, row-major in the entry's dtype, to `out`, which has `bytes`: exactly
 * its elements times the size of the dtype (INVALID_ARGUMENT). UNIMPLEMENTED for a dtype that is refused. */
BURN_API BURN_USE_RESULT BurnStatus burn_store_read(const BurnStore *store, size_t index, void *out, size_t bytes);

/* The tensor of that name on a device; a failed one if it is not there, with the nearest name, or cannot be read. */
BURN_API BURN_GIVES BurnTensor *burn_store_tensor(const BurnStore *store, const char *name, BurnDevice *device);

/* -- names ------------------------------------------------------------------------------------ */

/* Every match of `pattern`, a regular expression of PCRE2, becomes `replacement`; $1 and ${name} in it are groups. */
typedef struct BurnStoreRename {
  const char *pattern;     /* "^features\\.(\\d+)" */
  const char *replacement; /* "blocks.$1" */
} BurnStoreRename;

/* What becomes of the names of tensors on their way, in this order; zeros: nothing. A pattern that is not a regular
 * expression is INVALID_ARGUMENT, one that tries for too long OUT_OF_RANGE; two tensors that get one name are refused.
 * A build without PCRE2 refuses patterns (UNIMPLEMENTED). */
typedef struct BurnStoreNames {
  const char *top_level; /* only the tensors below this key, "state_dict", which is cut off; NULL: all */
  const BurnStoreRename *renames;
  size_t rename_count;
  const char *const *include; /* regular expressions: only names in which one of them matches; none: all */
  size_t include_count;
  const char *const *exclude; /* but none in which one of these does */
  size_t exclude_count;
} BurnStoreNames;

/* Whose habits a file has, beside names that are renamed. PyTorch's: the weight of a Linear is [out, in], which is
 * transposed; scales and shifts of norms are weight and bias, which are gamma and beta here (the slope of a PRelu is
 * weight, and alpha); the case of a variant is not a step of a path; num_batches_tracked has no place; places of a list
 * are counted without those that have no tensors: fc.0 and fc.2, with an activation in between, are fc.0 and fc.1; and
 * where a module has query, key, value and output, as attention here, in_proj_weight and in_proj_bias of a file are the
 * first three in one, and out_proj is the last. Files are written with the module's names for these. */
enum { BURN_STORE_AS_IT_IS = 0, BURN_STORE_PYTORCH = 1 };

/* chosen[i], for every tensor of the store: whether it is below the top level and its name is let through; renames do
 * nothing here. */
BURN_API BURN_USE_RESULT BurnStatus burn_store_select(const BurnStore *store, const BurnStoreNames *names,
                                                      bool *chosen);

/* -- into a module ---------------------------------------------------------------------------- */

/* How a store is put into a module. Zeros: names and shapes must be the module's, all of both. */
typedef struct BurnStoreApply {
  BurnStoreNames names; /* of the file; include and exclude see the paths of the module */
  uint32_t adapter;     /* BURN_STORE_AS_IT_IS or _PYTORCH */
  bool keep_indices;    /* PyTorch's places of lists stay as they are */
  BurnRecordLoad load;  /* dtypes, allow_partial, allow_unused, no_validate and filter, as of a record */
} BurnStoreApply;

/* Puts the tensors of a store into a module that is built alike; all or nothing. Parameters and buffers keep their ids
 * (burn_record_load restores those of a record), and a parameter becomes floats where it was quantized. `options` NULL:
 * zeros. The report (NULL: none) must be empty before; it is filled whether the store is taken or refused, and the
 * caller's to release. Skipped in it are tensors that names and filter leave out. Failures are those of
 * burn_record_load_with; of a tensor whose dtype is refused UNIMPLEMENTED, unless it is left out. */
BURN_API BURN_USE_RESULT BurnStatus burn_store_apply(const BurnStore *store, BurnModule module,
                                                     const BurnStoreApply *options, BurnRecordReport *report);

/* -- into a file ------------------------------------------------------------------------------ */

/* How a file is written. Zeros: by the extension of the path, names and dtypes as they are. */
typedef struct BurnStoreSave {
  const char *format;   /* "safetensors", "bpk" (Burnpack), "npz", or "pt": the zip archive of torch.save, of a state
                           dict that torch.load(weights_only=True) reads; NULL: by the extension, which may also be
                           .pth or .bin */
  BurnStoreNames names; /* of the module or store; include and exclude see the names as they were */
  uint32_t adapter;     /* BURN_STORE_PYTORCH: names and weights as PyTorch has them, but for places of lists, which
                           stay (renames can put them right); for a module only */
  BurnDType floats;     /* what floats are cast to; BURN_DTYPE_DEFAULT: nothing */
  const BurnValue *metadata; /* a map of texts for a safetensors file; NULL: none, or with PyTorch's habits
                                {"format": "pt"}, which its libraries ask for */
  bool overwrite;            /* an existing file is not an error */
} BurnStoreSave;

/* Writes the parameters and buffers of a module as a file, as a whole (burn_file_write). Quantized parameters are
 * floats in it, adapters merged (burn_param_value). `options` NULL: zeros. FAILED_PRECONDITION: the file is there
 * already; UNIMPLEMENTED: the format has no such dtype. All of the file is in memory before it is written. */
BURN_API BURN_USE_RESULT BurnStatus burn_store_save(BurnModule module, const char *path, const BurnStoreSave *options);

/* Writes the tensors of a store as another file, by the same rules; those whose dtype is refused make it fail, unless
 * they are left out. Casts need the backend ndarray. */
BURN_API BURN_USE_RESULT BurnStatus burn_store_convert(const BurnStore *store, const char *path,
                                                       const BurnStoreSave *options);

BURN_EXTERN_C_END

#endif
