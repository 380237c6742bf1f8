/* store_burn.c - Burn's own records, by core's readers (record.h): a tree of fields becomes a list of paths. Of a .bpk
 * the header is read, and its tensors stay in the file; other records are decoded as a whole, so one that is compressed
 * may take up to what burn_unpack_limit allows. */
#include "store_format.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What was decoded, and its tensors by slot->part. */
typedef struct Record {
  BurnValue *metadata, *item;
  const BurnValue **tensors;
  size_t count, capacity;
} Record;

static BurnStatus no_memory(void) { return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for a record"); }

/* A Burnpack, what gzip made, or a map or an object whose first key is "metadata" or "item". */
static bool is_burn(const uint8_t *bytes, size_t count) {
  static const char *const firsts[] = {"\xa8metadata", "\xa4item", "\"metadata\"", "\"item\""};
  size_t at = 1;
  if (count >= 4 && memcmp(bytes, "NRUB", 4) == 0) return true;
  if (count >= 3 && memcmp(bytes, "\x1f\x8b\x08", 3) == 0) return true;
  if (count == 0 || (bytes[0] != '{' && (bytes[0] & 0xF0) != 0x80)) return false;
  while (bytes[0] == '{' && at < count && memchr(" \t\r\n", bytes[at], 4)) at++;
  for (size_t i = 0; i < sizeof firsts / sizeof firsts[0]; i++) {
    const size_t length = strlen(firsts[i]);
    if (count - at >= length && memcmp(bytes + at, firsts[i], length) == 0) return true;
  }
  return false;
}

/* -- the tree as paths ------------------------------------------------------------------------ */

static BurnStatus remember(Record *record, const BurnValue *tensor) {
  if (record->count == record->capacity) {
    const size_t capacity = record->capacity + record->capacity / 2 + 16;
    const BurnValue **tensors = realloc(record->tensors, capacity * sizeof *tensors);
    if (!tensors) return no_memory();
    record->tensors = tensors;
    record->capacity = capacity;
  }
  record->tensors[record->count++] = tensor;
  return BURN_OK;
}

static BurnStatus add_tensor(BurnStore *store, const char *path, const BurnValue *tensor) {
  Record *record = store->state;
  BurnQuantScheme scheme;
  BurnStoreSlot slot = {.seen.name = path, .part = record->count};
  if (burn_value_is_quantized(tensor, &scheme)) {
    slot.seen.file_dtype = burn_quant_value_name(scheme.value);
    slot.seen.dtype = BURN_DTYPE_F32;
    slot.seen.shape = burn_value_shape(tensor);
    slot.seen.bytes = burn_quant_bytes(slot.seen.shape, scheme);
  } else {
    (void)burn_value_elements(tensor, &slot.seen.dtype, &slot.seen.shape);
    slot.seen.file_dtype = burn_dtype_name(slot.seen.dtype);
    slot.seen.bytes = burn__store_value_bytes(&slot);
  }
  const BurnStatus status = burn__store_add(store, &slot);
  return status == BURN_OK ? remember(record, tensor) : status;
}

static BurnStatus walk(BurnStore *store, const char *path, const BurnValue *value);

/* A child of a map or an array, "path.key". */
static BurnStatus walk_child(BurnStore *store, const char *path, const BurnValue *list, size_t index) {
  const char *key = burn_value_key_at(list, index);
  const size_t bytes = strlen(path) + (key ? strlen(key) : 20) + 2;
  char *child = malloc(bytes);
  if (!child) return no_memory();
  if (key)
    (void)snprintf(child, bytes, "%s%s%s", path, path[0] ? "." : "", key);
  else
    (void)snprintf(child, bytes, "%s%s%zu", path, path[0] ? "." : "", index);
  const BurnStatus status = walk(store, child, burn_value_at(list, index));
  free(child);
  return status;
}

/* A parameter is a map of its id and its tensor, which is all that is asked for. */
static BurnStatus walk(BurnStore *store, const char *path, const BurnValue *value) {
  const BurnValue *param = burn_value_get(value, "param");
  BurnStatus status = BURN_OK;
  if (burn_value_kind(value) == BURN_VALUE_TENSOR) return add_tensor(store, path, value);
  if (burn_value_kind(param) == BURN_VALUE_TENSOR) status = add_tensor(store, path, param);
  for (size_t i = 0; i < burn_value_count(value) && status == BURN_OK; i++) {
    const char *key = burn_value_key_at(value, i);
    const bool is_told = burn_value_kind(param) == BURN_VALUE_TENSOR && (!strcmp(key, "param") || !strcmp(key, "id"));
    if (!is_told) status = walk_child(store, path, value, i);
  }
  return status;
}

/* -- the format ------------------------------------------------------------------------------- */

static BurnStatus copy_metadata(BurnStore *store, const BurnValue *metadata) {
  bool is_copied = true;
  for (size_t i = 0; i < burn_value_count(metadata) && i < BURN_STORE_METADATA_LIMIT; i++)
    is_copied = is_copied && burn_value_set(store->metadata, burn_value_key_at(metadata, i),
                                            burn_value_text(burn_value_as_text(burn_value_at(metadata, i), "")));
  return is_copied ? BURN_OK : no_memory();
}

static BurnStatus open_burn(BurnStore *store) {
  static const char *const formats[] = {"mpk", "mpk.gz", "bpk", "json", "json.gz", "bin", "bin.gz"};
  uint32_t format = 0;
  Record *record = calloc(1, sizeof *record);
  if (!record) return no_memory();
  store->state = record;
  BurnStatus status =
      burn_value_decode_in_place(store->file.bytes, store->file.count, &format, &record->metadata, &record->item);
  if (status == BURN_OK && (format == BURN_RECORD_BIN || format == BURN_RECORD_BIN_GZ))
    status = burn_status_make(BURN_STATUS_UNIMPLEMENTED, "a .bin has no names: only burn_record_load can read it");
  if (status == BURN_OK) status = copy_metadata(store, record->metadata);
  if (status == BURN_OK && !burn_value_set(store->metadata, "burn.format", burn_value_text(formats[format])))
    status = no_memory();
  return status == BURN_OK ? walk(store, "", record->item) : status;
}

/* Of a quantized tensor the floats that it stands for, which the backend ndarray computes. */
static BurnStatus read_quantized(const BurnValue *tensor, void *out, size_t bytes) {
  BurnDevice *device = burn_device_open("ndarray");
  BurnStatus status = burn_device_status(device);
  if (status == BURN_OK) status = burn_read_f32(burn_value_as_tensor(tensor, device), out, bytes / sizeof(float));
  burn_device_close(device);
  return status;
}

static BurnStatus read_burn(const BurnStore *store, const BurnStoreSlot *slot, void *out) {
  const Record *record = store->state;
  BurnDType dtype;
  BurnShape shape;
  const size_t bytes = burn__store_value_bytes(slot);
  const void *elements = burn_value_elements(record->tensors[slot->part], &dtype, &shape);
  if (!elements) return read_quantized(record->tensors[slot->part], out, bytes);
  memcpy(out, elements, bytes);
  return BURN_OK;
}

static void close_burn(BurnStore *store) {
  Record *record = store->state;
  if (!record) return;
  burn_value_destroy(record->metadata);
  burn_value_destroy(record->item);
  free(record->tensors);
  free(record);
}

const BurnStoreFormat burn__store_burn = {
    .name = "burn", .is = is_burn, .open = open_burn, .read = read_burn, .close = close_burn};
