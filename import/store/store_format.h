/* store_format.h - what a format of a store is made of: a row of store_formats.def, and a BurnStoreFormat in a file of
 * its own. A reader finds the tensors of a file when it is opened and tells each by burn__store_add; it reads values
 * only when it is asked for them. */
#ifndef BURN_IMPORT_STORE_FORMAT_H
#define BURN_IMPORT_STORE_FORMAT_H

#include <burn/store.h>

/* A file in memory: mapped, or the caller's bytes. */
typedef struct BurnStoreFile {
  const char *path;     /* NULL: the caller's bytes */
  const uint8_t *bytes; /* NULL if there are none */
  size_t count;
  void *mapping; /* what burn__store_unmap ends; NULL: nothing */
} BurnStoreFile;

/* Tensors and metadata of a file, at most. No model has so many, and each takes more memory than its few bytes of a
 * hostile file. */
enum { BURN_STORE_ENTRY_LIMIT = 1 << 17, BURN_STORE_METADATA_LIMIT = 1 << 12 };

/* A tensor, as its reader finds it. */
typedef struct BurnStoreSlot {
  BurnStoreEntry seen; /* burn__store_add copies the name; file_dtype is a text that is never freed */
  const char *refusal; /* why it cannot be read, a text that is never freed; NULL: it can. seen.dtype is
                          BURN_DTYPE_DEFAULT then */
  uint64_t offset;     /* of its values in the file; for the reader */
  size_t part;         /* any number of the reader's */
} BurnStoreSlot;

/* A format. All but `name`, `is` and `open` may be NULL. */
typedef struct BurnStoreFormat {
  const char *name;
  /* Whether the bytes are of this format, by their beginning (and end, as for zip archives); cheap, and right for any
   * bytes. */
  bool (*is)(const uint8_t *bytes, size_t count);
  /* Finds the tensors (burn__store_add) and the metadata (burn_value_set on store->metadata) of store->file. Messages
   * begin with "byte 8: "; the path is put in front of them. What it had added is freed on failure; then `close` is
   * called, too. */
  BurnStatus (*open)(BurnStore *store);
  /* The values of a tensor without a refusal, row-major in its seen.dtype, to `out`, which has room for them. NULL:
   * they stand at slot->offset of the file just so, and `open` has seen that all are there. Threads may read. */
  BurnStatus (*read)(const BurnStore *store, const BurnStoreSlot *slot, void *out);
  /* Frees store->state, which may be NULL. */
  void (*close)(BurnStore *store);
} BurnStoreFormat;

#define BURN_STORE_FORMAT(id, name) extern const BurnStoreFormat burn__store_##id;
#include "store_formats.def"
#undef BURN_STORE_FORMAT

struct BurnStore {
  const BurnStoreFormat *format;
  BurnStoreFile file;
  BurnValue *metadata; /* a map; its texts are valid UTF-8 or not, as the file has them */
  BurnStoreSlot *slots;
  size_t count, capacity;
  size_t *order; /* the slots by name; after `open` */
  size_t left_out;
  char first_left_out[256];
  void *state; /* of the format */
};

/* Adds a tensor: copies its name. OUT_OF_RANGE beyond BURN_STORE_ENTRY_LIMIT or if its values would have
 * more than SIZE_MAX / 2 bytes; a name that stands twice is refused (CORRUPT_DATA) once `open` has returned. */
BurnStatus burn__store_add(BurnStore *store, const BurnStoreSlot *slot);

/* Notes that `count` tensors at this place of the file are in no slot, and why; 0 notes nothing. */
void burn__store_leave_out(BurnStore *store, size_t count, const char *where, const char *why);

/* What functions say that get NULL for a store. */
BurnStatus burn__no_store(void);

/* Bytes of the values of a tensor in seen.dtype: what `read` writes. 0 for a refused one. */
size_t burn__store_value_bytes(const BurnStoreSlot *slot);

/* A shape of `rank` sizes as seen.shape: with no axes [1] and *scalar. False for a rank beyond BURN_MAX_RANK, a
 * negative size, or more than `limit` elements (and so where the product wraps). *elements may be NULL. */
bool burn__store_shape(const int64_t *sizes, uint32_t rank, uint64_t limit, BurnShape *shape, bool *scalar,
                       uint64_t *elements);

/* Maps a regular file; ends what was mapped. One definition per system: store_file_posix.c, store_file_windows.c. The
 * path in *file is the caller's. */
BurnStatus burn__store_map(const char *path, BurnStoreFile *file);
void burn__store_unmap(BurnStoreFile *file);
/* True if `path` is a folder. */
bool burn__store_is_folder(const char *path);
/* Whether backslashes separate the steps of a path, too. */
extern const bool burn__store_has_drives;

/* burn_store_open for a part of a model: a folder or an index is refused, so that files cannot name each other without
 * end. */
BurnStore *burn__store_open_part(const char *path, BurnStatus *status);

#endif
