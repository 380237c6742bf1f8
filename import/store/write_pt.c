/* write_pt.c - the zip archive of torch.save: archive/data.pkl, a pickle of an OrderedDict from name to tensor, and a
 * member archive/data/<n> with the values of each. The pickle is of protocol 2 and names only what torch.load allows
 * with weights_only=True: OrderedDict, _rebuild_tensor_v2 and the storages. */
#include "store_write.h"

#include <burn/file.h>
#include <burn/zip.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Opcodes of pickle (Lib/pickletools.py). */
enum {
  PROTO = 0x80,
  GLOBAL = 'c',
  EMPTY_TUPLE = ')',
  REDUCE = 'R',
  MARK = '(',
  TUPLE = 't',
  BINUNICODE = 'X',
  BININT = 'J',
  LONG1 = 0x8a,
  BINPERSID = 'Q',
  NEWFALSE = 0x89,
  SETITEMS = 'u',
  STOP = '.'
};

static const char *const storages[BURN_DTYPE_LIMIT] = {
    [BURN_DTYPE_BOOL] = "BoolStorage", [BURN_DTYPE_U8] = "ByteStorage",       [BURN_DTYPE_I8] = "CharStorage",
    [BURN_DTYPE_I16] = "ShortStorage", [BURN_DTYPE_I32] = "IntStorage",       [BURN_DTYPE_I64] = "LongStorage",
    [BURN_DTYPE_F16] = "HalfStorage",  [BURN_DTYPE_BF16] = "BFloat16Storage", [BURN_DTYPE_F32] = "FloatStorage",
    [BURN_DTYPE_F64] = "DoubleStorage"};

/* Bytes that grow; what does not fit into memory is remembered. */
typedef struct Pickle {
  uint8_t *bytes;
  size_t count, capacity;
  bool failed;
} Pickle;

static void put_bytes(Pickle *pickle, const void *bytes, size_t count) {
  if (pickle->failed || pickle->capacity - pickle->count < count) {
    const size_t capacity = 2 * pickle->capacity + count + 256;
    uint8_t *grown = pickle->failed ? NULL : realloc(pickle->bytes, capacity);
    pickle->failed = !grown;
    if (!grown) return;
    pickle->bytes = grown;
    pickle->capacity = capacity;
  }
  memcpy(pickle->bytes + pickle->count, bytes, count);
  pickle->count += count;
}

static void put(Pickle *pickle, unsigned opcode) {
  const uint8_t byte = (uint8_t)opcode;
  put_bytes(pickle, &byte, 1);
}

static void put_number(Pickle *pickle, uint64_t value, unsigned bytes) {
  for (unsigned i = 0; i < bytes; i++) put(pickle, (unsigned)(value >> (8 * i)) & 0xFF);
}

static void put_int(Pickle *pickle, int64_t value) {
  if (value <= INT32_MAX) {
    put(pickle, BININT);
    put_number(pickle, (uint64_t)value, 4);
  } else {
    put(pickle, LONG1);
    put(pickle, 8);
    put_number(pickle, (uint64_t)value, 8);
  }
}

static void put_text(Pickle *pickle, const char *text) {
  const size_t length = strlen(text);
  put(pickle, BINUNICODE);
  put_number(pickle, length, 4);
  put_bytes(pickle, text, length);
}

static void put_global(Pickle *pickle, const char *module, const char *name) {
  put(pickle, GLOBAL);
  put_bytes(pickle, module, strlen(module));
  put(pickle, '\n');
  put_bytes(pickle, name, strlen(name));
  put(pickle, '\n');
}

static void put_ordered_dict(Pickle *pickle) {
  put_global(pickle, "collections", "OrderedDict");
  put(pickle, EMPTY_TUPLE);
  put(pickle, REDUCE);
}

/* The sizes, or with `strides` the elements from one place of an axis to the next. */
static void put_shape(Pickle *pickle, const BurnStoreItem *item, bool strides) {
  const BurnShape shape = burn_shape(item->x);
  put(pickle, MARK);
  for (uint32_t i = 0; i < shape.rank && !item->scalar; i++) {
    int64_t number = strides ? 1 : shape.dims[i];
    for (uint32_t k = i + 1; strides && k < shape.rank; k++) number *= shape.dims[k] > 1 ? shape.dims[k] : 1;
    put_int(pickle, number);
  }
  put(pickle, TUPLE);
}

/* _rebuild_tensor_v2(storage, offset, size, stride, requires_grad, backward_hooks); the storage is told by a persistent
 * id: ("storage", its class, key, device, elements). */
static void put_tensor(Pickle *pickle, const BurnStoreItem *item, size_t index) {
  char key[24];
  (void)snprintf(key, sizeof key, "%zu", index);
  put_global(pickle, "torch._utils", "_rebuild_tensor_v2");
  put(pickle, MARK);
  put(pickle, MARK);
  put_text(pickle, "storage");
  put_global(pickle, "torch", storages[burn_dtype(item->x)]);
  put_text(pickle, key);
  put_text(pickle, "cpu");
  put_int(pickle, burn_element_count(item->x));
  put(pickle, TUPLE);
  put(pickle, BINPERSID);
  put_int(pickle, 0);
  put_shape(pickle, item, false);
  put_shape(pickle, item, true);
  put(pickle, NEWFALSE);
  put_ordered_dict(pickle);
  put(pickle, TUPLE);
  put(pickle, REDUCE);
}

static void put_state_dict(Pickle *pickle, const BurnStoreItem *items, size_t count) {
  put(pickle, PROTO);
  put(pickle, 2);
  put_ordered_dict(pickle);
  put(pickle, MARK);
  for (size_t i = 0; i < count; i++) {
    put_text(pickle, items[i].name);
    put_tensor(pickle, &items[i], i);
  }
  put(pickle, SETITEMS);
  put(pickle, STOP);
}

/* -- the archive ------------------------------------------------------------------------------ */

enum { NAME_BYTES = 40, FIXED_MEMBERS = 3 };

/* Members and the memory of their names and values, which are in the order of the items after the first two. */
typedef struct Archive {
  BurnZipEntry *entries;
  char (*names)[NAME_BYTES];
  uint8_t **values;
  size_t count; /* of items */
} Archive;

static BurnStatus read_values(Archive *archive, const BurnStoreItem *items) {
  BurnStatus status = BURN_OK;
  for (size_t i = 0; i < archive->count && status == BURN_OK; i++) {
    const size_t bytes = burn__store_item_bytes(&items[i]);
    archive->values[i] = malloc(bytes ? bytes : 1);
    if (!archive->values[i]) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for %zu bytes", bytes);
    status = burn_read(burn_clone(items[i].x), archive->values[i], bytes);
    (void)snprintf(archive->names[i], NAME_BYTES, "archive/data/%zu", i);
    archive->entries[2 + i] = (BurnZipEntry){archive->names[i], archive->values[i], bytes};
    status = burn_status_annotate(status, "%.200s", items[i].name);
  }
  return status;
}

static BurnStatus write_archive(const char *path, Archive *archive, const BurnStoreItem *items, const Pickle *pickle) {
  static const uint8_t byteorder[] = "little", version[] = "3\n";
  uint8_t *bytes = NULL;
  size_t size = 0;
  BurnStatus status = read_values(archive, items);
  archive->entries[0] = (BurnZipEntry){"archive/data.pkl", pickle->bytes, pickle->count};
  archive->entries[1] = (BurnZipEntry){"archive/byteorder", byteorder, sizeof byteorder - 1};
  archive->entries[2 + archive->count] = (BurnZipEntry){"archive/version", version, sizeof version - 1};
  if (status == BURN_OK) status = burn_zip_make(archive->entries, archive->count + FIXED_MEMBERS, false, &bytes, &size);
  if (status == BURN_OK) status = burn_file_write(path, bytes, size);
  free(bytes);
  return status;
}

BurnStatus burn__store_write_pt(const char *path, const BurnStoreItem *items, size_t count,
                                const BurnStoreSave *options) {
  Pickle pickle = {NULL, 0, 0, false};
  Archive archive = {calloc(count + FIXED_MEMBERS, sizeof *archive.entries), calloc(count + 1, NAME_BYTES),
                     calloc(count + 1, sizeof *archive.values), count};
  BurnStatus status = BURN_OK;
  if (options->metadata)
    status = burn_status_make(BURN_STATUS_UNIMPLEMENTED, "metadata are written to safetensors only");
  put_state_dict(&pickle, items, count);
  if (status == BURN_OK && (pickle.failed || !archive.entries || !archive.names || !archive.values))
    status = burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for the archive");
  if (status == BURN_OK) status = write_archive(path, &archive, items, &pickle);
  for (size_t i = 0; archive.values && i < count; i++) free(archive.values[i]);
  free(archive.values);
  free(archive.names);
  free(archive.entries);
  free(pickle.bytes);
  return status;
}
