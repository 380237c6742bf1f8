/* store_safetensors.c - safetensors: a length, a JSON header of names, dtypes, shapes and offsets, the values
 * (huggingface.co/docs/safetensors). Accepted is what the reference implementation accepts: a header of at most 100 MB,
 * no name twice, values one after the other from the first byte after the header to the last of the file. */
#include "safetensors.h"
#include "store_format.h"
#include "store_json.h"

#include <stdlib.h>
#include <string.h>

enum { LENGTH_BYTES = 8, HEADER_LIMIT = 100000000 };

static const char no_such_dtype[] = "there is no such dtype here; convert it to F16 or F32 where the file is made";

const BurnSafetensorsDType burn__safetensors_dtypes[] = {
    {"BOOL", 8, BURN_DTYPE_BOOL},
    {"U8", 8, BURN_DTYPE_U8},
    {"I8", 8, BURN_DTYPE_I8},
    {"I16", 16, BURN_DTYPE_I16},
    {"U16", 16, BURN_DTYPE_I32},
    {"F16", 16, BURN_DTYPE_F16},
    {"BF16", 16, BURN_DTYPE_BF16},
    {"I32", 32, BURN_DTYPE_I32},
    {"U32", 32, BURN_DTYPE_I64},
    {"F32", 32, BURN_DTYPE_F32},
    {"F64", 64, BURN_DTYPE_F64},
    {"I64", 64, BURN_DTYPE_I64},
    {"U64", 64, BURN_DTYPE_I64},
    {"F4", 4, BURN_DTYPE_DEFAULT},
    {"F6_E2M3", 6, BURN_DTYPE_DEFAULT},
    {"F6_E3M2", 6, BURN_DTYPE_DEFAULT},
    {"F8_E4M3", 8, BURN_DTYPE_DEFAULT},
    {"F8_E5M2", 8, BURN_DTYPE_DEFAULT},
    {"F8_E8M0", 8, BURN_DTYPE_DEFAULT},
    {"F8_E4M3FNUZ", 8, BURN_DTYPE_DEFAULT},
    {"F8_E5M2FNUZ", 8, BURN_DTYPE_DEFAULT},
    {"C64", 64, BURN_DTYPE_DEFAULT},
};
const size_t burn__safetensors_dtype_count = sizeof burn__safetensors_dtypes / sizeof burn__safetensors_dtypes[0];

static uint64_t little_endian(const uint8_t *bytes, size_t count) {
  uint64_t value = 0;
  for (size_t i = count; i-- > 0;) value = value << 8 | bytes[i];
  return value;
}

/* A header too long for its file begins so, too, that its message can say it. */
static bool is_safetensors(const uint8_t *bytes, size_t count) {
  return count > LENGTH_BYTES && little_endian(bytes + 4, 4) == 0 && bytes[LENGTH_BYTES] == '{';
}

/* -- the header ------------------------------------------------------------------------------- */

/* A tensor while its braces are read. */
typedef struct Described {
  const BurnSafetensorsDType *dtype;
  int64_t sizes[BURN_MAX_RANK];
  uint64_t begin, end, rank;
  bool has_shape, has_offsets;
} Described;

static void read_dtype(BurnJson *json, Described *tensor) {
  char name[16];
  burn__json_text_into(json, name, sizeof name);
  for (size_t i = 0; i < burn__safetensors_dtype_count && !tensor->dtype; i++) {
    if (strcmp(burn__safetensors_dtypes[i].name, name) == 0) tensor->dtype = &burn__safetensors_dtypes[i];
  }
  if (!tensor->dtype) burn__json_expected(json, "a dtype of safetensors, as F32,");
}

static void read_shape(BurnJson *json, Described *tensor) {
  bool is_first = true;
  burn__json_take(json, '[');
  for (tensor->rank = 0; burn__json_more(json, &is_first, ']'); tensor->rank++) {
    const uint64_t size = burn__json_uint(json);
    if (size > INT64_MAX) burn__json_expected(json, "a size of at most 63 bits");
    if (tensor->rank < BURN_MAX_RANK) tensor->sizes[tensor->rank] = (int64_t)size;
  }
  tensor->has_shape = true;
}

static void read_offsets(BurnJson *json, Described *tensor) {
  burn__json_take(json, '[');
  tensor->begin = burn__json_uint(json);
  burn__json_take(json, ',');
  tensor->end = burn__json_uint(json);
  burn__json_take(json, ']');
  tensor->has_offsets = true;
}

static void read_member(BurnJson *json, Described *tensor) {
  char key[16];
  burn__json_text_into(json, key, sizeof key);
  burn__json_take(json, ':');
  if (strcmp(key, "dtype") == 0 && !tensor->dtype)
    read_dtype(json, tensor);
  else if (strcmp(key, "shape") == 0 && !tensor->has_shape)
    read_shape(json, tensor);
  else if (strcmp(key, "data_offsets") == 0 && !tensor->has_offsets)
    read_offsets(json, tensor);
  else
    burn__json_expected(json, "dtype, shape or data_offsets, each once,");
}

/* The offsets are `begin` .. `end` of what comes after the header; the values must be just as long. */
static BurnStatus check_described(const Described *tensor, uint64_t data_bytes, BurnStoreSlot *slot) {
  const BurnDType dtype = tensor->dtype->dtype;
  uint64_t elements = 0;
  if (tensor->rank > BURN_MAX_RANK)
    return burn_status_make(BURN_STATUS_UNIMPLEMENTED, "%llu axes, at most %d are read",
                            (unsigned long long)tensor->rank, BURN_MAX_RANK);
  if (tensor->begin > tensor->end || tensor->end > data_bytes)
    return burn_status_make(BURN_STATUS_CORRUPT_DATA, "values from %llu to %llu of %llu bytes",
                            (unsigned long long)tensor->begin, (unsigned long long)tensor->end,
                            (unsigned long long)data_bytes);
  const uint64_t bytes = tensor->end - tensor->begin;
  if (!burn__store_shape(tensor->sizes, (uint32_t)tensor->rank, UINT64_MAX / 64, &slot->seen.shape, &slot->seen.scalar,
                         &elements) ||
      elements * tensor->dtype->bits % 8 != 0 || elements * tensor->dtype->bits / 8 != bytes)
    return burn_status_make(BURN_STATUS_CORRUPT_DATA, "%llu bytes for another number of elements of %s",
                            (unsigned long long)bytes, tensor->dtype->name);
  slot->seen.dtype = dtype;
  slot->seen.file_dtype = tensor->dtype->name;
  slot->seen.bytes = bytes;
  slot->refusal = dtype == BURN_DTYPE_DEFAULT ? no_such_dtype : NULL;
  slot->offset = tensor->begin;
  slot->part = (size_t)(tensor->dtype - burn__safetensors_dtypes);
  return BURN_OK;
}

static void read_tensor(BurnStore *store, BurnJson *json, const char *name, uint64_t data_begin) {
  const size_t at = json->at;
  bool is_first = true;
  Described tensor = {.dtype = NULL};
  burn__json_take(json, '{');
  while (burn__json_more(json, &is_first, '}')) read_member(json, &tensor);
  if (!tensor.dtype || !tensor.has_shape || !tensor.has_offsets)
    burn__json_expected(json, "dtype, shape and data_offsets before it,");
  if (json->status != BURN_OK) return;
  BurnStoreSlot slot = {.seen.name = name};
  BurnStatus status = check_described(&tensor, store->file.count - data_begin, &slot);
  slot.offset += data_begin;
  if (status == BURN_OK) status = burn__store_add(store, &slot);
  status = burn_status_annotate(status, "tensor %.80s", name);
  json->status = burn_status_annotate(status, "byte %llu", (unsigned long long)(json->offset + at));
}

static void read_metadata(BurnStore *store, BurnJson *json) {
  bool is_first = true;
  burn__json_take(json, '{');
  while (burn__json_more(json, &is_first, '}')) {
    char *key = burn__json_text(json);
    burn__json_take(json, ':');
    char *text = burn__json_text(json);
    if (key && text) {
      if (burn_value_count(store->metadata) == BURN_STORE_METADATA_LIMIT)
        burn__json_expected(json, "no more metadata");
      else if (burn_value_get(store->metadata, key))
        burn__json_expected(json, "metadata with each key once");
      else if (!burn_value_set(store->metadata, key, burn_value_text(text)))
        json->status = burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for metadata");
    }
    free(key);
    free(text);
  }
}

static BurnStatus read_header(BurnStore *store, uint64_t header_bytes) {
  BurnJson json = {store->file.bytes + LENGTH_BYTES, 0, (size_t)header_bytes, LENGTH_BYTES, BURN_OK};
  bool is_first = true, has_metadata = false;
  burn__json_take(&json, '{');
  while (burn__json_more(&json, &is_first, '}')) {
    char *name = burn__json_text(&json);
    burn__json_take(&json, ':');
    if (name && strcmp(name, "__metadata__") != 0)
      read_tensor(store, &json, name, LENGTH_BYTES + header_bytes);
    else if (name && !has_metadata)
      read_metadata(store, &json);
    else
      burn__json_expected(&json, "__metadata__ once");
    has_metadata = has_metadata || (name && strcmp(name, "__metadata__") == 0);
    free(name);
  }
  if (json.status == BURN_OK && !burn__json_is_at_end(&json)) burn__json_expected(&json, "nothing after the header");
  return json.status;
}

/* -- the values ------------------------------------------------------------------------------- */

static int compare_offsets(const void *a, const void *b) {
  const BurnStoreSlot *first = a, *second = b;
  if (first->offset != second->offset) return first->offset < second->offset ? -1 : 1;
  if (first->seen.bytes != second->seen.bytes) return first->seen.bytes < second->seen.bytes ? -1 : 1;
  return strcmp(first->seen.name, second->seen.name);
}

/* Values without holes, and nothing after the last: a file is nothing else beside. */
static BurnStatus check_values(BurnStore *store, uint64_t begin) {
  if (store->count) qsort(store->slots, store->count, sizeof *store->slots, compare_offsets);
  for (size_t i = 0; i < store->count; i++) {
    const BurnStoreSlot *slot = &store->slots[i];
    if (slot->offset != begin)
      return burn_status_make(BURN_STATUS_CORRUPT_DATA,
                              "byte %llu: tensor %.80s: its values begin here, not at byte %llu",
                              (unsigned long long)slot->offset, slot->seen.name, (unsigned long long)begin);
    begin += slot->seen.bytes;
  }
  if (begin == store->file.count) return BURN_OK;
  return burn_status_make(BURN_STATUS_CORRUPT_DATA, "byte %llu: %llu bytes after the last tensor",
                          (unsigned long long)begin, (unsigned long long)(store->file.count - begin));
}

static BurnStatus open_safetensors(BurnStore *store) {
  const uint64_t header_bytes = little_endian(store->file.bytes, LENGTH_BYTES);
  if (header_bytes > HEADER_LIMIT || header_bytes > store->file.count - LENGTH_BYTES)
    return burn_status_make(BURN_STATUS_CORRUPT_DATA,
                            "byte 0: a header of %llu bytes, of which %zu are there (limit %d)",
                            (unsigned long long)header_bytes, store->file.count - LENGTH_BYTES, HEADER_LIMIT);
  const BurnStatus status = read_header(store, header_bytes);
  return status == BURN_OK ? check_values(store, LENGTH_BYTES + header_bytes) : status;
}

/* Unsigned integers as the next larger signed ones, bools as 0 and 1. */
static BurnStatus read_safetensors(const BurnStore *store, const BurnStoreSlot *slot, void *out) {
  const BurnSafetensorsDType *dtype = &burn__safetensors_dtypes[slot->part];
  const uint8_t *in = store->file.bytes + slot->offset;
  const size_t width = dtype->bits / 8, out_width = burn_dtype_bytes(dtype->dtype);
  const size_t count = (size_t)slot->seen.bytes / width;
  if (dtype->name[0] != 'U' && dtype->dtype != BURN_DTYPE_BOOL) {
    memcpy(out, in, (size_t)slot->seen.bytes);
    return BURN_OK;
  }
  for (size_t i = 0; i < count; i++) {
    uint64_t value = little_endian(in + i * width, width);
    if (value > INT64_MAX)
      return burn_status_make(BURN_STATUS_OUT_OF_RANGE, "byte %llu: %llu does not fit an i64",
                              (unsigned long long)(slot->offset + i * width), (unsigned long long)value);
    if (dtype->dtype == BURN_DTYPE_BOOL) value = value != 0;
    memcpy((uint8_t *)out + i * out_width, &value, out_width);
  }
  return BURN_OK;
}

const BurnStoreFormat burn__store_safetensors = {
    .name = "safetensors", .is = is_safetensors, .open = open_safetensors, .read = read_safetensors};
