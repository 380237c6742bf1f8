/* burnpack.c - Burnpack, version 1: flat files of named tensors.
 *
 *   0       "NRUB"
 *   4       version, 1 as u16; at 6 the length M of the metadata as u32, both little-endian
 *   10      metadata: CBOR {"tensors": {name: {dtype, shape, data_offsets: [begin, end], param_id}}, "metadata": {},
 *           "scalars": {name: {"Int" | "UInt" | "Float" | "Bool": value}}}; all but the tensors may be absent
 *   10 + M  zeros up to the next multiple of 256, where the data begin
 *
 * Names stand in the order of their bytes, the data in the order in which tensors were added, each at a multiple of 256
 * from the beginning of the data. There is no checksum. */
#include "cbor.h"
#include "record_internal.h"

#include <stdlib.h>
#include <string.h>

enum { HEADER_BYTES = 10, VERSION = 1, ALIGNMENT = 256, TENSOR_LIMIT = 100000, METADATA_LIMIT = 100 << 20 };
static const uint8_t magic[4] = {'N', 'R', 'U', 'B'};
#define TENSOR_BYTES_LIMIT (sizeof(size_t) > 4 ? UINT64_C(10) << 30 : UINT64_C(2) << 30)
#define FILE_BYTES_LIMIT (UINT64_C(100) << 30)

static uint64_t align(uint64_t offset) { return (offset + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }

/* A named tensor, or a number or bool. */
typedef struct Entry {
  const char *name;
  const BurnValue *value;
  const BurnHostTensor *tensor; /* NULL: a scalar */
  bool has_id;
  uint64_t id;
  BurnDType dtype;     /* in the file */
  uint64_t begin, end; /* in the data section */
} Entry;

static BurnStatus no_memory(void) { return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for the record"); }

/* -- writing ---------------------------------------------------------------------------------- */

typedef struct Pack {
  Entry *entries;
  size_t count, tensors;
  uint64_t data_bytes;
} Pack;

static bool is_scalar(const BurnValue *value) {
  return value->kind == BURN_VALUE_INT || value->kind == BURN_INTERNAL_VALUE_UINT || value->kind == BURN_VALUE_FLOAT ||
         value->kind == BURN_VALUE_BOOL;
}

static BurnStatus fill_entry(Entry *entry, const BurnValue *value, uint32_t precision) {
  const BurnValue *tensor = value->kind == BURN_VALUE_TENSOR ? value : burn_value_get(value, "param");
  const char *id = burn_value_as_text(burn_value_get(value, "id"), NULL);
  entry->value = value;
  if (is_scalar(value)) return BURN_OK;
  entry->has_id = id && burn__param_id_parse(id, &entry->id);
  if (burn_value_kind(tensor) != BURN_VALUE_TENSOR || (id && !entry->has_id)) {
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT,
                            "a Burnpack has tensors, {id, param} of one, numbers and bools");
  }
  entry->tensor = tensor->as.tensor;
  entry->dtype = burn__record_dtype(entry->tensor, precision);
  return BURN_OK;
}

/* The next place in the data. */
static BurnStatus place_entry(Pack *pack, Entry *entry) {
  const uint64_t bytes = burn__record_bytes(entry->tensor, entry->dtype);
  if (bytes > TENSOR_BYTES_LIMIT || ++pack->tensors > TENSOR_LIMIT) {
    return burn_status_make(BURN_STATUS_OUT_OF_RANGE, "tensor %zu of %llu bytes; a Burnpack has %d, of %llu bytes each",
                            pack->tensors, (unsigned long long)bytes, TENSOR_LIMIT,
                            (unsigned long long)TENSOR_BYTES_LIMIT);
  }
  entry->begin = align(pack->data_bytes);
  entry->end = pack->data_bytes = entry->begin + bytes;
  return BURN_OK;
}

static BurnStatus fill_pack(Pack *pack, const BurnValue *item, uint32_t precision) {
  if (burn_value_kind(item) != BURN_VALUE_MAP) {
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "a Burnpack is made of a map");
  }
  if (item->broken) {
    return burn_status_make(BURN_STATUS_FAILED_PRECONDITION,
                            "a part of the record could not be made (see the failure before)");
  }
  pack->entries = calloc(item->as.list.count ? item->as.list.count : 1, sizeof *pack->entries);
  if (!pack->entries) return no_memory();
  for (; pack->count < item->as.list.count; pack->count++) {
    Entry *entry = &pack->entries[pack->count];
    entry->name = item->as.list.keys[pack->count];
    BurnStatus status = fill_entry(entry, item->as.list.items[pack->count], precision);
    if (status == BURN_OK && entry->tensor) status = place_entry(pack, entry);
    if (status != BURN_OK) return burn_status_annotate(status, "%.80s", entry->name);
  }
  return BURN_OK;
}

static int compare_names(const void *a, const void *b) {
  const Entry *first = a, *second = b;
  return strcmp(first->name, second->name);
}

/* A scheme as a tree: maps, arrays, texts and sizes. */
static void put_tree(CborWriter *writer, const BurnValue *value) {
  switch (burn_value_kind(value)) {
    case BURN_VALUE_TEXT:
      burn__cbor_put_text(writer, value->as.text);
      return;
    case BURN_VALUE_INT:
      burn__cbor_put_int(writer, value->as.integer);
      return;
    case BURN_VALUE_ARRAY:
    case BURN_VALUE_MAP:
      if (value->broken) writer->failed = true;
      if (value->kind == BURN_VALUE_MAP) burn__cbor_put_map(writer, value->as.list.count);
      if (value->kind == BURN_VALUE_ARRAY) burn__cbor_put_array(writer, value->as.list.count);
      for (size_t i = 0; i < value->as.list.count; i++) {
        if (value->kind == BURN_VALUE_MAP) burn__cbor_put_text(writer, value->as.list.keys[i]);
        put_tree(writer, value->as.list.items[i]);
      }
      return;
    default:
      writer->failed = true; /* NULL: no memory for it */
  }
}

static void put_dtype(CborWriter *writer, const Entry *entry) {
  if (!entry->tensor->is_quantized) {
    burn__cbor_put_text(writer, burn__record_dtype_label(entry->dtype));
    return;
  }
  BurnValue *scheme = burn__record_scheme(&entry->tensor->scheme);
  put_tree(writer, scheme);
  burn_value_destroy(scheme);
}

static void put_tensor(CborWriter *writer, const Entry *entry) {
  const BurnShape *shape = &entry->tensor->shape;
  burn__cbor_put_map(writer, entry->has_id ? 4 : 3);
  burn__cbor_put_text(writer, "dtype");
  put_dtype(writer, entry);
  burn__cbor_put_text(writer, "shape");
  burn__cbor_put_array(writer, shape->rank);
  for (uint32_t i = 0; i < shape->rank; i++) burn__cbor_put_uint(writer, (uint64_t)shape->dims[i]);
  burn__cbor_put_text(writer, "data_offsets");
  burn__cbor_put_array(writer, 2);
  burn__cbor_put_uint(writer, entry->begin);
  burn__cbor_put_uint(writer, entry->end);
  if (!entry->has_id) return;
  burn__cbor_put_text(writer, "param_id");
  burn__cbor_put_uint(writer, entry->id);
}

static void put_scalar(CborWriter *writer, const BurnValue *value) {
  burn__cbor_put_map(writer, 1);
  switch (value->kind) {
    case BURN_VALUE_BOOL:
      burn__cbor_put_text(writer, "Bool");
      burn__cbor_put_bool(writer, value->as.boolean);
      break;
    case BURN_VALUE_FLOAT:
      burn__cbor_put_text(writer, "Float");
      burn__cbor_put_float(writer, value->as.number);
      break;
    case BURN_VALUE_INT:
      burn__cbor_put_text(writer, "Int");
      burn__cbor_put_int(writer, value->as.integer);
      break;
    default:
      burn__cbor_put_text(writer, "UInt");
      burn__cbor_put_uint(writer, (uint64_t)value->as.integer);
  }
}

/* The entries are sorted by name. */
static void put_metadata(CborWriter *writer, const Pack *pack) {
  const size_t scalars = pack->count - pack->tensors;
  burn__cbor_put_map(writer, scalars ? 2 : 1);
  burn__cbor_put_text(writer, "tensors");
  burn__cbor_put_map(writer, pack->tensors);
  for (size_t i = 0; i < pack->count; i++) {
    if (!pack->entries[i].tensor) continue;
    burn__cbor_put_text(writer, pack->entries[i].name);
    put_tensor(writer, &pack->entries[i]);
  }
  if (!scalars) return;
  burn__cbor_put_text(writer, "scalars");
  burn__cbor_put_map(writer, scalars);
  for (size_t i = 0; i < pack->count; i++) {
    if (pack->entries[i].tensor) continue;
    burn__cbor_put_text(writer, pack->entries[i].name);
    put_scalar(writer, pack->entries[i].value);
  }
}

/* Header, metadata and data in one piece of memory. */
static BurnStatus assemble(const Pack *pack, const CborWriter *metadata, uint8_t **out, size_t *out_count) {
  const uint64_t begin = align(HEADER_BYTES + metadata->count), total = begin + pack->data_bytes;
  if (metadata->failed) return no_memory();
  if (metadata->count > METADATA_LIMIT || total > FILE_BYTES_LIMIT || total > SIZE_MAX) {
    return burn_status_make(BURN_STATUS_OUT_OF_RANGE, "a file of %llu bytes with %zu of metadata, limits %llu and %d",
                            (unsigned long long)total, metadata->count, (unsigned long long)FILE_BYTES_LIMIT,
                            METADATA_LIMIT);
  }
  uint8_t *bytes = calloc(1, (size_t)total);
  if (!bytes) return no_memory();
  memcpy(bytes, magic, sizeof magic);
  bytes[4] = VERSION;
  for (unsigned i = 0; i < 4; i++) bytes[6 + i] = (uint8_t)(metadata->count >> (8 * i));
  memcpy(bytes + HEADER_BYTES, metadata->bytes, metadata->count);
  for (size_t i = 0; i < pack->count; i++) {
    const Entry *entry = &pack->entries[i];
    if (!entry->tensor) continue;
    BurnStatus status = burn__record_store(entry->tensor, entry->dtype, bytes + begin + entry->begin);
    if (status == BURN_OK) continue;
    free(bytes);
    return burn_status_annotate(status, "%.80s", entry->name);
  }
  *out = bytes;
  *out_count = (size_t)total;
  return BURN_OK;
}

BurnStatus burn__burnpack_encode(const BurnValue *item, const BurnRecordConfig *config, uint8_t **out,
                                 size_t *out_count) {
  Pack pack = {NULL, 0, 0, 0};
  CborWriter metadata = {NULL, 0, 0, false};
  BurnStatus status = fill_pack(&pack, item, config->precision);
  if (status == BURN_OK) {
    qsort(pack.entries, pack.count, sizeof *pack.entries, compare_names);
    put_metadata(&metadata, &pack);
    status = assemble(&pack, &metadata, out, out_count);
  }
  free(metadata.bytes);
  free(pack.entries);
  return status;
}

/* -- reading ---------------------------------------------------------------------------------- */

/* A file whose header has been read. */
typedef struct Unpacker {
  const uint8_t *data; /* the data section; NULL where there is none */
  uint64_t data_begin, data_bytes, claimed;
  bool stay; /* the data outlive what is read */
} Unpacker;

bool burn__is_burnpack(const uint8_t *bytes, size_t count) {
  return count >= sizeof magic && memcmp(bytes, magic, sizeof magic) == 0;
}

static BurnStatus read_header(const uint8_t *bytes, size_t count, size_t *metadata_bytes) {
  if (!burn__is_burnpack(bytes, count))
    return burn_status_make(BURN_STATUS_CORRUPT_DATA, "byte 0: no Burnpack, which begins with \"NRUB\"");
  if (count < HEADER_BYTES)
    return burn_status_make(BURN_STATUS_CORRUPT_DATA, "byte %zu: the file ends within its header", count);
  const unsigned version = bytes[4] | (unsigned)bytes[5] << 8;
  if (version > VERSION)
    return burn_status_make(BURN_STATUS_CORRUPT_DATA, "byte 4: version %u, at most %d expected", version, VERSION);
  size_t length = 0;
  for (unsigned i = 0; i < 4; i++) length |= (size_t)bytes[6 + i] << (8 * i);
  if (length > METADATA_LIMIT)
    return burn_status_make(BURN_STATUS_CORRUPT_DATA, "byte 6: %zu bytes of metadata, limit %d", length,
                            METADATA_LIMIT);
  if (length > count - HEADER_BYTES)
    return burn_status_make(BURN_STATUS_CORRUPT_DATA, "byte 6: %zu bytes of metadata with %zu bytes left", length,
                            count - HEADER_BYTES);
  *metadata_bytes = length;
  return BURN_OK;
}

/* An unsigned integer of the metadata. */
static bool read_uint(const BurnValue *value, uint64_t *out) {
  const bool fits =
      value && (value->kind == BURN_INTERNAL_VALUE_UINT || (value->kind == BURN_VALUE_INT && value->as.integer >= 0));
  if (fits) *out = (uint64_t)value->as.integer;
  return fits;
}

/* The tensor's bytes. What all tensors claim together is bounded by what is there, so that none of it is read twice. */
static BurnStatus read_range(Unpacker *unpacker, const BurnValue *range, Entry *entry) {
  const uint64_t bytes = unpacker->data_bytes;
  if (burn_value_kind(range) != BURN_VALUE_ARRAY || burn_value_count(range) != 2 ||
      !read_uint(burn_value_at(range, 0), &entry->begin) || !read_uint(burn_value_at(range, 1), &entry->end)) {
    return burn_status_make(BURN_STATUS_CORRUPT_DATA, "data_offsets are not two unsigned integers");
  }
  if (entry->begin > entry->end || entry->end > bytes) {
    return burn_status_make(BURN_STATUS_CORRUPT_DATA,
                            "bytes %llu to %llu of the data, which begin at byte %llu and have %llu",
                            (unsigned long long)entry->begin, (unsigned long long)entry->end,
                            (unsigned long long)unpacker->data_begin, (unsigned long long)bytes);
  }
  if (entry->end - entry->begin > TENSOR_BYTES_LIMIT || entry->end - entry->begin > bytes - unpacker->claimed) {
    return burn_status_make(BURN_STATUS_CORRUPT_DATA, "%llu bytes, of which %llu may be left: tensors overlap",
                            (unsigned long long)(entry->end - entry->begin),
                            (unsigned long long)(bytes - unpacker->claimed));
  }
  unpacker->claimed += entry->end - entry->begin;
  return BURN_OK;
}

/* {id, param: tensor}, or the tensor where there is no id. */
static BurnValue *with_id(BurnValue *tensor, uint64_t id) {
  char text[14];
  BurnValue *map = burn_value_map();
  burn_param_id_text(id, text);
  (void)burn_value_set(map, "id", burn_value_text(text));
  if (burn_value_set(map, "param", tensor) && !map->broken) return map;
  burn_value_destroy(map);
  return NULL;
}

static BurnStatus read_tensor(const Unpacker *unpacker, const Entry *entry, BurnValue **out) {
  BurnValue *tensor = NULL;
  const BurnRecordBytes data = {unpacker->data ? unpacker->data + entry->begin : NULL,
                                (size_t)(entry->end - entry->begin), unpacker->stay};
  BurnStatus status = burn__record_make_tensor(burn_value_get(entry->value, "dtype"),
                                               burn_value_get(entry->value, "shape"), &data, &tensor);
  if (status != BURN_OK) {
    return burn_status_annotate(status, "byte %llu", (unsigned long long)(unpacker->data_begin + entry->begin));
  }
  *out = entry->has_id ? with_id(tensor, entry->id) : tensor;
  return *out ? BURN_OK : no_memory();
}

/* By place in the data, which is the order in which tensors were added; empty ones by name. */
static int compare_places(const void *a, const void *b) {
  const Entry *first = a, *second = b;
  if (first->begin != second->begin) return first->begin < second->begin ? -1 : 1;
  if (first->end != second->end) return first->end < second->end ? -1 : 1;
  return compare_names(a, b);
}

static BurnStatus check_entry(Unpacker *unpacker, Entry *entry) {
  const BurnValue *id = burn_value_get(entry->value, "param_id");
  if (burn_value_kind(entry->value) != BURN_VALUE_MAP)
    return burn_status_make(BURN_STATUS_CORRUPT_DATA, "no map of dtype, shape and data_offsets");
  entry->has_id = burn_value_kind(id) != BURN_VALUE_NIL;
  if (entry->has_id && !read_uint(id, &entry->id))
    return burn_status_make(BURN_STATUS_CORRUPT_DATA, "param_id is not an unsigned integer");
  return read_range(unpacker, burn_value_get(entry->value, "data_offsets"), entry);
}

static BurnStatus read_entries(Unpacker *unpacker, Entry *entries, const BurnValue *tensors, BurnValue *item) {
  const size_t count = burn_value_count(tensors);
  for (size_t i = 0; i < count; i++) {
    entries[i] = (Entry){.name = burn_value_key_at(tensors, i), .value = burn_value_at(tensors, i)};
    BurnStatus status = check_entry(unpacker, &entries[i]);
    if (status != BURN_OK) return burn_status_annotate(status, "tensor %.80s", entries[i].name);
  }
  if (count) qsort(entries, count, sizeof *entries, compare_places);
  for (size_t i = 0; i < count; i++) {
    BurnValue *value = NULL;
    BurnStatus status = read_tensor(unpacker, &entries[i], &value);
    if (status != BURN_OK) return burn_status_annotate(status, "tensor %.80s", entries[i].name);
    if (!burn__value_push(item, strdup(entries[i].name), value)) return no_memory();
  }
  return BURN_OK;
}

static BurnStatus read_tensors(Unpacker *unpacker, const BurnValue *tensors, BurnValue *item) {
  const size_t count = burn_value_count(tensors);
  if (burn_value_kind(tensors) != BURN_VALUE_MAP)
    return burn_status_make(BURN_STATUS_CORRUPT_DATA, "byte %d: metadata without a map \"tensors\"", HEADER_BYTES);
  if (count > TENSOR_LIMIT)
    return burn_status_make(BURN_STATUS_CORRUPT_DATA, "%zu tensors, limit %d", count, TENSOR_LIMIT);
  Entry *entries = calloc(count ? count : 1, sizeof *entries);
  if (!entries) return no_memory();
  BurnStatus status = read_entries(unpacker, entries, tensors, item);
  free(entries);
  return status;
}

/* A copy of the value in {"Int": value}; NULL if it is of another kind than that says. */
static BurnValue *copy_scalar(const BurnValue *map) {
  const char *type = burn_value_key_at(map, 0);
  const BurnValue *value = burn_value_at(map, 0);
  const bool is_integer = burn_value_kind(value) == BURN_VALUE_INT;
  uint64_t positive = 0;
  if (!type || burn_value_count(map) != 1) return NULL;
  if (strcmp(type, "Bool") == 0 && burn_value_kind(value) == BURN_VALUE_BOOL) return burn_value_bool(value->as.boolean);
  if (strcmp(type, "Float") == 0 && burn_value_kind(value) == BURN_VALUE_FLOAT)
    return burn_value_float(value->as.number);
  if (strcmp(type, "Int") == 0 && is_integer) return burn_value_int(value->as.integer);
  if (strcmp(type, "UInt") == 0 && is_integer && read_uint(value, &positive)) return burn_value_int((int64_t)positive);
  return NULL;
}

static BurnStatus read_scalars(const BurnValue *scalars, BurnValue *item) {
  if (burn_value_kind(scalars) == BURN_VALUE_NIL) return BURN_OK;
  if (scalars->kind != BURN_VALUE_MAP) return burn_status_make(BURN_STATUS_CORRUPT_DATA, "scalars are not a map");
  for (size_t i = 0; i < burn_value_count(scalars); i++) {
    const char *name = burn_value_key_at(scalars, i);
    BurnValue *value = copy_scalar(burn_value_at(scalars, i));
    if (!value)
      return burn_status_make(BURN_STATUS_CORRUPT_DATA,
                              "scalar %.80s: no {\"Int\" | \"UInt\" | \"Float\" | \"Bool\": value}", name);
    if (!burn__value_push(item, strdup(name), value)) return no_memory();
  }
  return burn__value_check_keys(item);
}

static BurnStatus check_texts(const BurnValue *metadata) {
  if (burn_value_kind(metadata) == BURN_VALUE_NIL) return BURN_OK;
  bool are_texts = metadata->kind == BURN_VALUE_MAP;
  for (size_t i = 0; i < burn_value_count(metadata); i++)
    are_texts = are_texts && burn_value_kind(burn_value_at(metadata, i)) == BURN_VALUE_TEXT;
  return are_texts ? BURN_OK : burn_status_make(BURN_STATUS_CORRUPT_DATA, "metadata are not a map of texts");
}

/* Moves the file's own metadata out of the tree. */
static BurnValue *take_metadata(BurnValue *top) {
  for (size_t i = 0; i < top->as.list.count; i++) {
    if (strcmp(top->as.list.keys[i], "metadata") != 0) continue;
    BurnValue *found = top->as.list.items[i];
    free(top->as.list.keys[i]);
    top->as.list.count--;
    top->as.list.keys[i] = top->as.list.keys[top->as.list.count];
    top->as.list.items[i] = top->as.list.items[top->as.list.count];
    return found;
  }
  return NULL;
}

BurnStatus burn__burnpack_decode(const uint8_t *bytes, size_t count, bool stay, BurnRecordParts *out) {
  size_t length = 0;
  BurnValue *top = NULL;
  if (count > FILE_BYTES_LIMIT) return burn_status_make(BURN_STATUS_OUT_OF_RANGE, "a file of %zu bytes", count);
  BurnStatus status = read_header(bytes, count, &length);
  if (status == BURN_OK) status = burn__cbor_read(bytes + HEADER_BYTES, length, HEADER_BYTES, &top);
  if (status != BURN_OK) return status;
  Unpacker unpacker = {.data_begin = align(HEADER_BYTES + length), .stay = stay};
  if (unpacker.data_begin < count) {
    unpacker.data = bytes + unpacker.data_begin;
    unpacker.data_bytes = count - unpacker.data_begin;
  }
  out->item = burn_value_map();
  if (!out->item) status = no_memory();
  if (status == BURN_OK) status = read_tensors(&unpacker, burn_value_get(top, "tensors"), out->item);
  if (status == BURN_OK) status = read_scalars(burn_value_get(top, "scalars"), out->item);
  if (status == BURN_OK) status = check_texts(burn_value_get(top, "metadata"));
  if (status == BURN_OK) out->metadata = take_metadata(top);
  burn_value_destroy(top);
  return status;
}
