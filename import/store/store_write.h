/* store_write.h - what writes a file of tensors: a row of store_writers.def and a function. */
#ifndef BURN_IMPORT_STORE_WRITE_H
#define BURN_IMPORT_STORE_WRITE_H

#include <burn/store.h>

/* A tensor to write. */
typedef struct BurnStoreItem {
  char *name;
  BurnTensor *x;
  bool scalar; /* it has no axes, where the format can say so */
} BurnStoreItem;

/* Writes a whole file; takes no tensor. The names differ. A message has no path. */
#define BURN_STORE_WRITER(id, name, extensions)                                                 \
  BurnStatus burn__store_write_##id(const char *path, const BurnStoreItem *items, size_t count, \
                                    const BurnStoreSave *options);
#include "store_writers.def"
#undef BURN_STORE_WRITER

/* Bytes of the tensor's elements. */
size_t burn__store_item_bytes(const BurnStoreItem *item);

#endif
