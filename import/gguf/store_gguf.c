/* store_gguf.c - GGUF, versions 2 and 3 (ggml's docs/gguf.md), as a format of a store.
 *
 *   "GGUF", version, number of tensors and of pairs; pairs of a key and a value that says its type; for each tensor its
 *   name, sizes with the closest axis first, type and place; from the next multiple of the alignment on the values.
 *
 * Sizes are u64, and every one of them is compared with the bytes that are left before it is multiplied or used. */
#include "gguf.h"
#include "store_format.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  MAX_AXES = 4, /* of ggml */
  TEXT_LIMIT = 1 << 16,
  ARRAY_LIMIT = 256 /* elements of an array that is kept */
};

typedef struct Reader {
  BurnStore *store;
  GgufCursor in;
  uint64_t alignment;
  size_t values; /* in the metadata */
} Reader;

static bool is_gguf(const uint8_t *bytes, size_t count) { return count >= 4 && memcmp(bytes, "GGUF", 4) == 0; }

static BurnStatus corrupt(size_t at, const char *what) {
  return burn_status_make(BURN_STATUS_CORRUPT_DATA, "byte %zu: %s", at, what);
}

/* -- metadata --------------------------------------------------------------------------------- */

/* A value of a fixed number of bytes. */
static BurnValue *number_value(uint32_t type, uint64_t bits) {
  float single = 0;
  double number = 0;
  const uint32_t word = (uint32_t)bits;
  switch (type) {
    case GGUF_I8:
      return burn_value_int((int8_t)bits);
    case GGUF_I16:
      return burn_value_int((int16_t)bits);
    case GGUF_I32:
      return burn_value_int((int32_t)bits);
    case GGUF_F32:
      memcpy(&single, &word, sizeof single);
      return burn_value_float((double)single);
    case GGUF_F64:
      memcpy(&number, &bits, sizeof number);
      return burn_value_float(number);
    case GGUF_BOOL:
      return burn_value_bool(bits != 0);
    case GGUF_U64:
      if (bits > INT64_MAX) return burn_value_float((double)bits);
      return burn_value_int((int64_t)bits);
    default:
      return burn_value_int((int64_t)bits); /* unsigned ones below 2^32, and i64 */
  }
}

/* A text; nothing in place of one that is very long or has a zero byte. */
static BurnValue *text_value(const uint8_t *text, size_t length) {
  if (length >= TEXT_LIMIT || (length > 0 && memchr(text, 0, length) != NULL)) return burn_value_nil();
  char *copy = malloc(length + 1);
  if (copy == NULL) return NULL;
  if (length > 0) memcpy(copy, text, length);
  copy[length] = '\0';
  BurnValue *value = burn_value_text(copy);
  free(copy);
  return value;
}

/* Reads a value that is not an array; *value is NULL where `keep` is false. */
static BurnStatus read_single(Reader *reader, uint32_t type, bool keep, BurnValue **value) {
  const uint8_t *text = NULL;
  size_t length = 0;
  uint64_t bits = 0;
  BurnStatus status = type == GGUF_TEXT ? burn__gguf_text(&reader->in, &text, &length)
                                        : burn__gguf_number(&reader->in, burn__gguf_value_bytes((uint32_t)type), &bits);
  if (status != BURN_OK || !keep) return status;
  *value = type == GGUF_TEXT ? text_value(text, length) : number_value(type, bits);
  return *value != NULL ? BURN_OK : burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for metadata");
}

/* Long arrays, such as a vocabulary, are passed over: what stands for them says how many there are. */
static BurnStatus read_array(Reader *reader, BurnValue **value) {
  const size_t at = reader->in.at;
  uint64_t type = 0, count = 0;
  BurnStatus status = burn__gguf_number(&reader->in, 4, &type);
  if (status == BURN_OK) status = burn__gguf_number(&reader->in, 8, &count);
  if (status != BURN_OK) return status;
  if (++type >= GGUF_TYPES || type == GGUF_ARRAY) return corrupt(at, "an array of no known type, or of arrays");
  const uint64_t least = type == GGUF_TEXT ? 8 : burn__gguf_value_bytes((uint32_t)type);
  if (count > (reader->in.count - reader->in.at) / least)
    return burn_status_make(BURN_STATUS_CORRUPT_DATA, "byte %zu: an array of %llu elements in %zu bytes", at,
                            (unsigned long long)count, reader->in.count - reader->in.at);
  const bool keep = count <= ARRAY_LIMIT && reader->values + count <= BURN_STORE_METADATA_LIMIT;
  char note[40];
  (void)snprintf(note, sizeof note, "%llu elements", (unsigned long long)count);
  BurnValue *array = keep ? burn_value_array() : burn_value_text(note);
  if (array == NULL) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for metadata");
  for (uint64_t i = 0; i < count && status == BURN_OK; i++) {
    BurnValue *child = NULL;
    status = read_single(reader, (uint32_t)type, keep, &child);
    if (status == BURN_OK && keep && !burn_value_append(array, child))
      status = burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for metadata");
  }
  reader->values += keep ? (size_t)count : 0;
  *value = array;
  return status;
}

static BurnStatus read_alignment(Reader *reader, size_t at, const BurnValue *value) {
  const int64_t alignment = burn_value_as_int(value, 0);
  if (alignment < 1 || alignment > 1 << 20 || (alignment & (alignment - 1)) != 0)
    return corrupt(at, "an alignment that is not a power of two up to 2^20");
  reader->alignment = (uint64_t)alignment;
  return BURN_OK;
}

static BurnStatus read_pair(Reader *reader) {
  char key[GGUF_NAME_LIMIT];
  const size_t at = reader->in.at;
  uint64_t type = 0;
  BurnValue *value = NULL;
  BurnStatus status = burn__gguf_name(&reader->in, key);
  if (status == BURN_OK) status = burn__gguf_number(&reader->in, 4, &type);
  if (status != BURN_OK) return status;
  if (++type >= GGUF_TYPES) return corrupt(at, "a value of no known type");
  if (burn_value_get(reader->store->metadata, key) != NULL) return corrupt(at, "a key that stands twice");
  if (++reader->values > BURN_STORE_METADATA_LIMIT) return corrupt(at, "more metadata than are read");
  status = type == GGUF_ARRAY ? read_array(reader, &value) : read_single(reader, (uint32_t)type, true, &value);
  if (status == BURN_OK && strcmp(key, "general.alignment") == 0) status = read_alignment(reader, at, value);
  if (status == BURN_OK) {
    if (burn_value_set(reader->store->metadata, key, value)) return BURN_OK;
    return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for metadata");
  }
  burn_value_destroy(value);
  return burn_status_annotate(status, "%.80s", key);
}

/* -- tensors ---------------------------------------------------------------------------------- */

static const char no_unpacking[] = "this quantization is not unpacked; F32, F16, BF16, Q8_0, Q4_0, Q4_K and Q6_K are";

/* Sizes, the closest axis first, as a shape; *elements is their product. */
static BurnStatus read_sizes(Reader *reader, BurnStoreSlot *slot, uint64_t *closest, uint64_t *elements) {
  const size_t at = reader->in.at;
  uint64_t rank = 0, size = 0;
  int64_t sizes[MAX_AXES] = {0};
  BurnStatus status = burn__gguf_number(&reader->in, 4, &rank);
  if (status == BURN_OK && rank > MAX_AXES) return corrupt(at, "a tensor of more than 4 axes");
  *closest = 1;
  for (uint64_t i = 0; i < rank && status == BURN_OK; i++) {
    status = burn__gguf_number(&reader->in, 8, &size);
    if (status == BURN_OK && size > INT64_MAX) status = corrupt(at, "a size beyond 2^63");
    sizes[rank - 1 - i] = (int64_t)size;
    if (i == 0) *closest = size;
  }
  if (status == BURN_OK && !burn__store_shape(sizes, (uint32_t)rank, (uint64_t)INT64_MAX / 64, &slot->seen.shape,
                                              &slot->seen.scalar, elements))
    status = corrupt(at, "a tensor of more elements than there is memory");
  return status;
}

static BurnStatus read_tensor(Reader *reader) {
  char name[GGUF_NAME_LIMIT];
  BurnStoreSlot slot = {.seen.name = name};
  const size_t at = reader->in.at;
  uint64_t closest = 0, elements = 0, number = 0;
  BurnStatus status = burn__gguf_name(&reader->in, name);
  if (status == BURN_OK) status = read_sizes(reader, &slot, &closest, &elements);
  if (status == BURN_OK) status = burn__gguf_number(&reader->in, 4, &number);
  if (status == BURN_OK) status = burn__gguf_number(&reader->in, 8, &slot.offset);
  if (status != BURN_OK) return status;
  const GgufType *type = burn__gguf_type((uint32_t)number);
  if (type == NULL)
    return burn_status_make(BURN_STATUS_INCOMPATIBLE, "byte %zu: tensor %.80s: type %llu is not known", at, name,
                            (unsigned long long)number);
  if (closest % type->block != 0)
    return burn_status_make(BURN_STATUS_CORRUPT_DATA, "byte %zu: tensor %.80s: rows of %llu elements in blocks of %u",
                            at, name, (unsigned long long)closest, (unsigned)type->block);
  slot.seen.file_dtype = type->name;
  slot.seen.dtype = type->dtype;
  slot.seen.bytes = elements / type->block * type->bytes;
  slot.refusal = type->dtype == BURN_DTYPE_DEFAULT ? no_unpacking : NULL;
  slot.part = type->number;
  return burn__store_add(reader->store, &slot);
}

/* Places count from where the values begin, which is known only now. */
static BurnStatus place_tensors(Reader *reader) {
  BurnStore *store = reader->store;
  const uint64_t begin = ((uint64_t)reader->in.at + reader->alignment - 1) & ~(reader->alignment - 1);
  for (size_t i = 0; i < store->count; i++) {
    BurnStoreSlot *slot = &store->slots[i];
    const uint64_t room = begin < reader->in.count ? reader->in.count - begin : 0;
    if (slot->offset % reader->alignment != 0)
      return burn_status_make(BURN_STATUS_CORRUPT_DATA,
                              "byte %zu: tensor %.80s: its place is %llu, a multiple of %llu expected", reader->in.at,
                              slot->seen.name, (unsigned long long)slot->offset, (unsigned long long)reader->alignment);
    if (slot->offset > room || slot->seen.bytes > room - slot->offset)
      return burn_status_make(BURN_STATUS_CORRUPT_DATA,
                              "byte %llu: tensor %.80s: %llu bytes at %llu of the %llu bytes of values",
                              (unsigned long long)begin, slot->seen.name, (unsigned long long)slot->seen.bytes,
                              (unsigned long long)slot->offset, (unsigned long long)room);
    slot->offset += begin;
  }
  return BURN_OK;
}

static BurnStatus open_gguf(BurnStore *store) {
  Reader reader = {.store = store, .in = {store->file.bytes, store->file.count, 0}, .alignment = 32};
  uint64_t tensors = 0, pairs = 0;
  BurnStatus status = burn__gguf_head(&reader.in, &tensors, &pairs);
  for (uint64_t i = 0; i < pairs && status == BURN_OK; i++) status = read_pair(&reader);
  for (uint64_t i = 0; i < tensors && status == BURN_OK; i++) status = read_tensor(&reader);
  return status == BURN_OK ? place_tensors(&reader) : status;
}

static BurnStatus read_gguf(const BurnStore *store, const BurnStoreSlot *slot, void *out) {
  const GgufType *type = burn__gguf_type((uint32_t)slot->part);
  const uint8_t *bytes = store->file.bytes + slot->offset;
  float *floats = out;
  if (type->unpack == NULL) {
    if (slot->seen.bytes > 0) memcpy(out, bytes, (size_t)slot->seen.bytes);
    return BURN_OK;
  }
  for (uint64_t i = 0; i < slot->seen.bytes / type->bytes; i++)
    type->unpack(bytes + i * type->bytes, floats + i * type->block);
  return BURN_OK;
}

const BurnStoreFormat burn__store_gguf = {.name = "gguf", .is = is_gguf, .open = open_gguf, .read = read_gguf};
