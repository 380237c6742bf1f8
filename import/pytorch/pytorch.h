/* pytorch.h - what the files of this folder share: a PyTorch file while it is read, and what is kept of it. */
#ifndef BURN_IMPORT_PYTORCH_H
#define BURN_IMPORT_PYTORCH_H

#include "pickle.h"
#include "store_format.h"

#include <burn/zip.h>

/* A dtype of the file. */
typedef struct PytorchDType {
  const char *storage, *name; /* "FloatStorage", "float32" */
  uint32_t bytes;             /* of an element */
  BurnDType dtype;            /* BURN_DTYPE_DEFAULT: there is none here */
} PytorchDType;

/* Elements that tensors are views of. */
typedef struct PytorchStorage {
  PickleText key;
  uint64_t number;           /* in place of a key, in a tar archive */
  const PytorchDType *dtype; /* its elements, by its class */
  uint64_t elements;         /* as its tensors say */
  const uint8_t *bytes;      /* where they are in memory; NULL: in a deflated member, or nowhere */
  uint64_t byte_count;
  size_t member; /* of the archive; SIZE_MAX: none */
  bool is_big_endian, is_latin1;
  bool is_there;
} PytorchStorage;

/* A tensor. */
typedef struct PytorchView {
  size_t storage;
  const PytorchDType *dtype;
  uint32_t rank;
  int64_t sizes[BURN_MAX_RANK];
  uint64_t strides[BURN_MAX_RANK]; /* elements */
  uint64_t offset;                 /* elements */
} PytorchView;

/* A tensor of a tar archive, in which it has a number. */
typedef struct PytorchNamed {
  uint64_t number;
  PytorchView view;
} PytorchNamed;

typedef struct Pytorch {
  Pickle pickle;      /* empty after opening */
  const char *member; /* whose pickle it is, in the archive; NULL: the file is a stream */
  uint8_t *unpacked;  /* data.pkl, if it was deflated */
  BurnZip *zip;
  bool is_big_endian;
  PytorchStorage *storages; /* the first `keyed` by key */
  size_t storage_count, storage_room, keyed;
  PytorchView *views; /* slot->part is an index */
  size_t view_count, view_room;
  PytorchNamed *named; /* by number */
  size_t named_count, named_room;
} Pytorch;

/* The meaning of a name. */
typedef enum PytorchMeaning {
  PYTORCH_UNKNOWN,
  PYTORCH_TENSOR,          /* (storage, offset, sizes, strides, ..) */
  PYTORCH_TENSOR_OF_DTYPE, /* the same with a dtype as the seventh */
  PYTORCH_META,            /* a tensor without values */
  PYTORCH_FIRST,           /* its first argument */
  PYTORCH_FROM_TYPE,       /* (function, type, arguments, state) */
  PYTORCH_DICT,
  PYTORCH_ARRAY,
  PYTORCH_NUMBER,
  PYTORCH_NUMPY_DTYPE,
  PYTORCH_BYTES
} PytorchMeaning;

/* The meaning of a call or of a global. */
PytorchMeaning burn__pytorch_meaning(const Pickle *pickle, PickleRef ref);

/* Finds all storages that the pickles name, sorted by key, each once. */
BurnStatus burn__pytorch_storages(Pytorch *file);
/* The storage of a key; NULL if there is none. */
PytorchStorage *burn__pytorch_storage(const Pytorch *file, PickleText key);
/* What a persistent id ("storage", class, key, device, elements, ..) says; where its bytes are is not known yet. */
BurnStatus burn__pytorch_storage_read(const Pickle *pickle, PickleRef ref, PytorchStorage *storage);
/* A storage class, or a torch.dtype, by its global; NULL for any other. */
const PytorchDType *burn__pytorch_dtype(const Pickle *pickle, PickleRef global);
/* A failure at an object. */
BurnStatus burn__pytorch_corrupt(const Pickle *pickle, PickleRef ref, const char *what);
/* True if it is a persistent id of a storage. */
bool burn__pytorch_is_storage(const Pickle *pickle, PickleRef ref);

/* True if it is a tensor or an array: a call that makes it, or its key in a tar archive. */
bool burn__pytorch_is_tensor(const Pickle *pickle, PickleRef ref);
/* Such an object as a slot without a name: a view is added, of which slot->part is the index. Messages have the
 * offset. */
BurnStatus burn__pytorch_tensor(Pytorch *file, PickleRef ref, BurnStoreSlot *slot);
/* True for unsigned integers of several bytes, which become larger signed ones. */
bool burn__pytorch_is_unsigned(const PytorchDType *dtype);
/* The dtype of NumPy of a call of numpy.dtype; NULL if it is none that is known. */
const PytorchDType *burn__pytorch_numpy_dtype(const Pickle *pickle, PickleRef ref, bool *is_big_endian);
/* Bytes, or the text that _codecs.encode(text, "latin1") makes bytes of. */
bool burn__pytorch_bytes(const Pickle *pickle, PickleRef ref, PickleText *text, bool *is_latin1);
/* The bytes of a text whose characters are below U+0100; `out` NULL only counts. UINT64_MAX: it has others. */
uint64_t burn__pytorch_latin1(PickleText text, uint8_t *out);

/* Adds all tensors of the object to the store, named by the keys on the way, and everything else to its metadata. */
BurnStatus burn__pytorch_walk(BurnStore *store, Pytorch *file, PickleRef root);

/* True for "data.pkl", in whatever folder. */
bool burn__pytorch_is_pickle_name(const char *name);
/* True for a member that every archive of torch.export.save has, and none of torch.save. */
bool burn__pytorch_is_program_name(const char *name);
/* The containers: each reads its pickles, finds the storages' bytes and gives the object. */
BurnStatus burn__pytorch_zip(BurnStore *store, Pytorch *file, PickleRef *root);
BurnStatus burn__pytorch_legacy(BurnStore *store, Pytorch *file, PickleRef *root);

BurnStatus burn__pytorch_tar(BurnStore *store, Pytorch *file, PickleRef *root);
/* Whether the bytes begin as such an archive. */
bool burn__pytorch_is_tar(const uint8_t *bytes, size_t count);
/* The tensor of a key in a tar archive; NULL if there is none. */
const PytorchNamed *burn__pytorch_named(const Pytorch *file, PickleText key);

/* Room for one more element; charged. */
BurnStatus burn__pytorch_grow(Pytorch *file, void *array, size_t *room, size_t count, size_t each);

#endif
