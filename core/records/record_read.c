/* record_read.c - record files as trees. Every byte is hostile.
 *
 * msgpack-c's own unpacker reserves memory for as many entries as a header claims; so the objects are walked here. A
 * length is compared with the bytes that are left before anything is made of it, nesting and the number of objects are
 * bounded, lists grow as entries are really read, and a tensor's shape must give exactly the bytes that stand there.
 * Failures name the byte.
 *
 * A record of ours has a checksum of its item in the metadata; one of Burn's has none, and a flipped bit inside the
 * data of a tensor then reads as another number. Everything outside the item is checked itself, or harmless (a name
 * that nobody looks for). */
#include "host_convert.h"
#include "null_check.h"
#include "path_check.h"
#include "record_internal.h"

#include <burn/file.h>

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "records hold little-endian data, which is copied as it is"
#endif

typedef struct Reader {
  const uint8_t *bytes;
  size_t count, offset;
  size_t elements;
  size_t item_begin, item_end; /* offsets of the value of the top map's key "item" */
} Reader;

static BurnStatus corrupt(size_t offset, const char *what) {
  return burn_status_make(BURN_STATUS_CORRUPT_DATA, "byte %zu: %s", offset, what);
}

/* -- heads of objects ------------------------------------------------------------------------- */

/* The head of an object: its kind (BURN_VALUE_*, BURN_INTERNAL_VALUE_BYTES) and a number, or the length of what
 * follows. */
typedef struct Head {
  uint32_t kind;
  uint64_t length; /* TEXT, BYTES, ARRAY, MAP; BOOL: 0 or 1 */
  int64_t integer;
  double number;
} Head;

/* The kinds of the bytes 0xc0 .. 0xdf, with the bytes of their number or length. */
typedef struct HeadRow {
  uint8_t kind, bytes, form; /* form of a number: 'u' unsigned, 'i' signed, 'f' float; 0xff kind: refused */
} HeadRow;

/* clang-format off */
static const HeadRow head_rows[32] = {
    [0x00] = {BURN_VALUE_NIL, 0, 0},    [0x01] = {0xff, 0, 0},
    [0x02] = {BURN_VALUE_BOOL, 0, 0},   [0x03] = {BURN_VALUE_BOOL, 0, 0},
    [0x04] = {BURN_INTERNAL_VALUE_BYTES, 1, 0}, [0x05] = {BURN_INTERNAL_VALUE_BYTES, 2, 0},
    [0x06] = {BURN_INTERNAL_VALUE_BYTES, 4, 0}, [0x07] = {0xff, 0, 0},
    [0x08] = {0xff, 0, 0},              [0x09] = {0xff, 0, 0},
    [0x0a] = {BURN_VALUE_FLOAT, 4, 'f'}, [0x0b] = {BURN_VALUE_FLOAT, 8, 'f'},
    [0x0c] = {BURN_VALUE_INT, 1, 'u'},  [0x0d] = {BURN_VALUE_INT, 2, 'u'},
    [0x0e] = {BURN_VALUE_INT, 4, 'u'},  [0x0f] = {BURN_VALUE_INT, 8, 'u'},
    [0x10] = {BURN_VALUE_INT, 1, 'i'},  [0x11] = {BURN_VALUE_INT, 2, 'i'},
    [0x12] = {BURN_VALUE_INT, 4, 'i'},  [0x13] = {BURN_VALUE_INT, 8, 'i'},
    [0x14] = {0xff, 0, 0},              [0x15] = {0xff, 0, 0},
    [0x16] = {0xff, 0, 0},              [0x17] = {0xff, 0, 0},
    [0x18] = {0xff, 0, 0},              [0x19] = {BURN_VALUE_TEXT, 1, 0},
    [0x1a] = {BURN_VALUE_TEXT, 2, 0},   [0x1b] = {BURN_VALUE_TEXT, 4, 0},
    [0x1c] = {BURN_VALUE_ARRAY, 2, 0},  [0x1d] = {BURN_VALUE_ARRAY, 4, 0},
    [0x1e] = {BURN_VALUE_MAP, 2, 0},    [0x1f] = {BURN_VALUE_MAP, 4, 0},
};
/* clang-format on */

/* `bits` as a two's complement number of `bytes` bytes. */
static int64_t sign_extend(uint64_t bits, unsigned bytes) {
  unsigned shift = 64 - 8 * bytes;
  uint64_t sign = UINT64_C(1) << (8 * bytes - 1);
  uint64_t extended = bits & sign && shift ? bits | (UINT64_MAX << (8 * bytes)) : bits;
  int64_t value;
  memcpy(&value, &extended, sizeof value);
  return value;
}

static double float_of(uint64_t bits, unsigned bytes) {
  if (bytes == 4) {
    uint32_t small = (uint32_t)bits;
    float f32;
    memcpy(&f32, &small, sizeof f32);
    return (double)f32;
  }
  double f64;
  memcpy(&f64, &bits, sizeof f64);
  return f64;
}

/* Reads the number after a first byte of 0xc0 .. 0xdf. */
static BurnStatus read_long_head(Reader *reader, uint8_t first, size_t start, Head *head) {
  const HeadRow *row = &head_rows[first & 0x1f];
  uint64_t bits = 0;
  if (row->kind == 0xff) return corrupt(start, "an extension or no MessagePack");
  if (reader->count - reader->offset < row->bytes) return corrupt(start, "the file ends inside a number");
  for (unsigned i = 0; i < row->bytes; i++) bits = bits << 8 | reader->bytes[reader->offset++];
  head->kind = row->kind;
  head->length = row->kind == BURN_VALUE_BOOL ? first & 1u : bits;
  if (row->form == 'f') head->number = float_of(bits, row->bytes);
  if (row->form == 'i') head->integer = sign_extend(bits, row->bytes);
  if (row->form == 'u') {
    if (bits > INT64_MAX) return corrupt(start, "an integer that does not fit 64 bits with a sign");
    head->integer = (int64_t)bits;
  }
  return BURN_OK;
}

static BurnStatus read_head(Reader *reader, Head *head) {
  size_t start = reader->offset;
  if (start >= reader->count) return corrupt(start, "the file ends where a value should be");
  uint8_t first = reader->bytes[reader->offset++];
  *head = (Head){BURN_VALUE_INT, 0, first, 0};
  if (first < 0x80) return BURN_OK;
  if (first >= 0xe0) {
    head->integer = (int64_t)first - 256;
    return BURN_OK;
  }
  if (first >= 0xc0) return read_long_head(reader, first, start, head);
  head->kind = first < 0x90 ? BURN_VALUE_MAP : first < 0xa0 ? BURN_VALUE_ARRAY : BURN_VALUE_TEXT;
  head->length = head->kind == BURN_VALUE_TEXT ? first & 0x1fu : first & 0x0fu;
  return BURN_OK;
}

/* Refuses a length of more bytes than are left (`each` for every entry). */
static BurnStatus check_length(const Reader *reader, size_t start, uint64_t length, uint64_t each) {
  size_t left = reader->count - reader->offset;
  if (length <= left / each) return BURN_OK;
  return burn_status_make(BURN_STATUS_CORRUPT_DATA, "byte %zu: length %llu with %zu bytes left: cut short, or damaged",
                          start, (unsigned long long)length, left);
}

/* Copies the text after a head. */
static BurnStatus read_text(Reader *reader, const Head *head, size_t start, char **out) {
  BurnStatus status = check_length(reader, start, head->length, 1);
  if (status != BURN_OK) return status;
  size_t length = (size_t)head->length;
  const uint8_t *bytes = reader->bytes + reader->offset;
  if (length && memchr(bytes, 0, length)) return corrupt(start, "a text with a zero byte");
  char *text = malloc(length + 1);
  if (!text) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for a text of %zu bytes", length);
  memcpy(text, bytes, length);
  text[length] = '\0';
  reader->offset += length;
  *out = text;
  return BURN_OK;
}

/* -- tensors ---------------------------------------------------------------------------------- */

/* Element types of files. Those that we do not have become the next larger one. */
typedef struct FileDType {
  const char *name;
  uint32_t bytes;
  BurnDType dtype; /* what it becomes */
  char form;       /* 0: as it is; 'u': unsigned integer to widen; 'b': bool of any width */
} FileDType;

static const FileDType file_dtypes[] = {
    {"F64", 8, BURN_DTYPE_F64, 0},   {"F32", 4, BURN_DTYPE_F32, 0},     {"Flex32", 4, BURN_DTYPE_F32, 0},
    {"F16", 2, BURN_DTYPE_F16, 0},   {"BF16", 2, BURN_DTYPE_BF16, 0},   {"I64", 8, BURN_DTYPE_I64, 0},
    {"I32", 4, BURN_DTYPE_I32, 0},   {"I16", 2, BURN_DTYPE_I16, 0},     {"I8", 1, BURN_DTYPE_I8, 0},
    {"U64", 8, BURN_DTYPE_I64, 'u'}, {"U32", 4, BURN_DTYPE_I64, 'u'},   {"U16", 2, BURN_DTYPE_I32, 'u'},
    {"U8", 1, BURN_DTYPE_U8, 0},     {"Bool", 1, BURN_DTYPE_BOOL, 'b'},
};
static const FileDType bool_u32 = {"Bool U32", 4, BURN_DTYPE_BOOL, 'b'};

/* "F32", or {"Bool": "Native" | "U8" | "U32"}; NULL for what we do not know. */
static const FileDType *find_dtype(const BurnValue *value) {
  const char *name = burn_value_as_text(value, NULL);
  if (!name) {
    const char *storage = burn_value_as_text(burn_value_get(value, "Bool"), "");
    if (strcmp(storage, "U32") == 0) return &bool_u32;
    if (strcmp(storage, "Native") == 0 || strcmp(storage, "U8") == 0) name = "Bool";
  }
  for (size_t i = 0; name && i < sizeof file_dtypes / sizeof file_dtypes[0]; i++) {
    if (strcmp(file_dtypes[i].name, name) == 0) return &file_dtypes[i];
  }
  return NULL;
}

/* Copies the elements that need a change on the way in. */
static BurnStatus widen_elements(BurnHostTensor *tensor, const FileDType *from, const uint8_t *bytes) {
  uint32_t width = burn_dtype_bytes(tensor->dtype);
  for (size_t i = 0; i < tensor->count; i++) {
    uint64_t bits = 0;
    memcpy(&bits, bytes + i * from->bytes, from->bytes);
    if (from->form == 'b') {
      bits = bits != 0;
    } else if (bits > INT64_MAX) {
      return burn_status_make(BURN_STATUS_OUT_OF_RANGE, "%llu at position %zu does not fit i64",
                              (unsigned long long)bits, i);
    }
    memcpy(tensor->data + i * width, &bits, width);
  }
  return BURN_OK;
}

static BurnStatus read_shape(const BurnValue *value, BurnShape *shape) {
  size_t rank = burn_value_count(value);
  memset(shape, 0, sizeof *shape);
  if (burn_value_kind(value) != BURN_VALUE_ARRAY || rank < 1 || rank > BURN_MAX_RANK) {
    return burn_status_make(BURN_STATUS_CORRUPT_DATA, "tensor: shape of %zu axes, 1 to %u expected", rank,
                            BURN_MAX_RANK);
  }
  shape->rank = (uint32_t)rank;
  for (size_t i = 0; i < rank; i++) {
    shape->dims[i] = burn_value_as_int(burn_value_at(value, i), -1);
    if (shape->dims[i] < 0)
      return burn_status_make(BURN_STATUS_CORRUPT_DATA, "tensor: axis %zu of the shape is not a size", i);
  }
  return BURN_OK;
}

bool burn__record_can_borrow(const BurnRecordBytes *data) {
  return data->stay && data->bytes && (uintptr_t)data->bytes % _Alignof(max_align_t) == 0;
}

/* A tensor of the file's bytes: a copy, unless they can be borrowed. */
static BurnStatus keep_elements(const FileDType *dtype, const BurnShape *shape, const BurnRecordBytes *data,
                                size_t elements, BurnValue **out) {
  if (dtype->form == 0 && burn__record_can_borrow(data)) {
    const BurnHostTensor tensor = {.dtype = dtype->dtype,
                                   .shape = *shape,
                                   .count = elements,
                                   .bytes = data->count,
                                   .data = (uint8_t *)(uintptr_t)data->bytes,
                                   .is_borrowed = true};
    return burn__value_of_host(&tensor, out);
  }
  BurnValue *made = NULL;
  BurnStatus status = burn__value_new_tensor(dtype->dtype, shape, &made);
  if (status != BURN_OK) return status;
  if (dtype->form != 0) {
    status = widen_elements(made->as.tensor, dtype, data->bytes);
  } else if (data->count) {
    memcpy(made->as.tensor->data, data->bytes, data->count);
  }
  if (status == BURN_OK) {
    *out = made;
  } else {
    burn_value_destroy(made);
  }
  return status;
}

BurnStatus burn__record_make_tensor(const BurnValue *label, const BurnValue *axes, const BurnRecordBytes *data,
                                    BurnValue **out) {
  const BurnValue *scheme = burn_value_get(label, "QFloat");
  const FileDType *dtype = find_dtype(label);
  BurnShape shape;
  size_t elements = 0, wanted = 0;
  if (!dtype && !scheme) {
    return burn_status_make(BURN_STATUS_CORRUPT_DATA, "tensor: dtype \"%.20s\" is not supported",
                            burn_value_as_text(label, "?"));
  }
  BurnStatus status = read_shape(axes, &shape);
  if (status == BURN_OK && scheme) return burn__record_make_quantized(scheme, &shape, data, out);
  if (status != BURN_OK) return status;
  if (!burn__shape_bytes(&shape, dtype->bytes, &elements, &wanted) || wanted != data->count) {
    return burn_status_make(BURN_STATUS_CORRUPT_DATA, "tensor: %zu bytes do not make shape %s of %s", data->count,
                            burn_shape_text(shape).text, dtype->name);
  }
  return keep_elements(dtype, &shape, data, elements, out);
}

/* {"bytes", "shape", "dtype"} as a tensor. */
static BurnStatus make_tensor(const BurnValue *map, BurnValue **out) {
  const BurnValue *bytes = burn_value_get(map, "bytes");
  if (!bytes || bytes->kind != BURN_INTERNAL_VALUE_BYTES || map->as.list.count != 3) {
    return burn_status_make(BURN_STATUS_CORRUPT_DATA, "bytes outside of a tensor");
  }
  const BurnRecordBytes data = {bytes->as.bytes.data, bytes->as.bytes.count, false};
  return burn__record_make_tensor(burn_value_get(map, "dtype"), burn_value_get(map, "shape"), &data, out);
}

/* -- values ----------------------------------------------------------------------------------- */

static BurnStatus read_value(Reader *reader, unsigned depth, BurnValue **out);

static BurnStatus read_key(Reader *reader, char **out) {
  size_t start = reader->offset;
  Head head;
  BurnStatus status = read_head(reader, &head);
  if (status != BURN_OK) return status;
  return head.kind == BURN_VALUE_TEXT ? read_text(reader, &head, start, out) : corrupt(start, "a key that is not text");
}

/* Reads `length` entries into the list; `has_bytes` says whether one of them is a bin. */
static BurnStatus read_entries(Reader *reader, uint64_t length, unsigned depth, BurnValue *list, bool *has_bytes) {
  for (uint64_t i = 0; i < length; i++) {
    char *key = NULL;
    BurnValue *child = NULL;
    BurnStatus status = list->kind == BURN_VALUE_MAP ? read_key(reader, &key) : BURN_OK;
    size_t begin = reader->offset;
    if (status == BURN_OK) status = read_value(reader, depth + 1, &child);
    if (status != BURN_OK) {
      free(key);
      return status;
    }
    if (child->kind == BURN_INTERNAL_VALUE_BYTES) *has_bytes = true;
    if (depth == 0 && key && strcmp(key, "item") == 0) {
      reader->item_begin = begin;
      reader->item_end = reader->offset;
    }
    if (!burn__value_push(list, key, child)) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for a list");
  }
  return BURN_OK;
}

static BurnStatus fill_list(Reader *reader, const Head *head, size_t start, unsigned depth, BurnValue **list) {
  bool has_bytes = false;
  BurnStatus status = check_length(reader, start, head->length, head->kind == BURN_VALUE_MAP ? 2 : 1);
  if (status == BURN_OK) status = read_entries(reader, head->length, depth, *list, &has_bytes);
  if (status == BURN_OK && head->kind == BURN_VALUE_MAP) {
    status = burn__value_check_keys(*list);
    if (status != BURN_OK) status = burn_status_annotate(status, "byte %zu", start);
  }
  if (status != BURN_OK || !has_bytes) return status;
  if (head->kind != BURN_VALUE_MAP) return corrupt(start, "bytes outside of a tensor");
  BurnValue *tensor = NULL;
  status = make_tensor(*list, &tensor);
  if (status != BURN_OK) return burn_status_annotate(status, "byte %zu", start);
  burn_value_destroy(*list);
  *list = tensor;
  const bool is_deep =
      tensor->as.tensor->is_quantized && depth + BURN_RECORD_SCHEME_NESTING > BURN_RECORD_NESTING_LIMIT;
  return is_deep ? corrupt(start, "nested too deeply") : BURN_OK; /* so that it can be written again, in any form */
}

/* The content of a value whose head has been read. */
static BurnStatus fill_value(Reader *reader, const Head *head, size_t start, unsigned depth, BurnValue **out) {
  BurnValue *value = *out;
  BurnStatus status = BURN_OK;
  switch (head->kind) {
    case BURN_VALUE_BOOL:
      value->as.boolean = head->length != 0;
      break;
    case BURN_VALUE_INT:
      value->as.integer = head->integer;
      break;
    case BURN_VALUE_FLOAT:
      value->as.number = head->number;
      break;
    case BURN_VALUE_TEXT:
      status = read_text(reader, head, start, &value->as.text);
      break;
    case BURN_VALUE_ARRAY:
    case BURN_VALUE_MAP:
      status = fill_list(reader, head, start, depth, out);
      break;
    case BURN_INTERNAL_VALUE_BYTES:
      status = check_length(reader, start, head->length, 1);
      if (status != BURN_OK) break;
      value->as.bytes.data = reader->bytes + reader->offset;
      value->as.bytes.count = (size_t)head->length;
      reader->offset += (size_t)head->length;
      break;
    default:
      break;
  }
  return status;
}

static BurnStatus read_value(Reader *reader, unsigned depth, BurnValue **out) {
  size_t start = reader->offset;
  Head head;
  if (depth > BURN_RECORD_NESTING_LIMIT) return corrupt(start, "nested too deeply");
  if (++reader->elements > BURN_RECORD_ELEMENT_LIMIT) return corrupt(start, "too many elements");
  BurnStatus status = read_head(reader, &head);
  if (status != BURN_OK) return status;
  BurnValue *value = burn__value_new(head.kind);
  if (!value) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for a value");
  status = fill_value(reader, &head, start, depth, &value);
  if (status != BURN_OK) {
    burn_value_destroy(value);
    return status;
  }
  *out = value;
  return BURN_OK;
}

/* -- the file --------------------------------------------------------------------------------- */

/* The three keys of Burn's reader; metadata must name a version, `_b` is an empty array or nil. */
BurnStatus burn__record_check_top(const BurnValue *top) {
  const BurnValue *empty = burn_value_get(top, "_b");
  const char *version = burn_value_as_text(burn_value_get(burn_value_get(top, "metadata"), "version"), NULL);
  if (!version || !empty || !burn_value_get(top, "item")) {
    return burn_status_make(BURN_STATUS_CORRUPT_DATA,
                            "no record: the keys metadata (with version), item and _b are expected");
  }
  bool is_empty = burn_value_count(empty) == 0 && (empty->kind == BURN_VALUE_ARRAY || empty->kind == BURN_VALUE_NIL);
  return is_empty ? BURN_OK : burn_status_make(BURN_STATUS_CORRUPT_DATA, "no record: _b is not empty");
}

/* A record without a checksum is taken as it is: Burn writes none. */
static BurnStatus check_checksum(const Reader *reader, const BurnValue *top) {
  const BurnValue *stated = burn_value_get(burn_value_get(top, "metadata"), "checksum");
  if (!stated) return BURN_OK;
  BurnRecordChecksum found;
  const char *text = burn_value_as_text(stated, "no text");
  burn__record_checksum(&found, reader->bytes + reader->item_begin, reader->item_end - reader->item_begin);
  if (strcmp(text, found.text) == 0) return BURN_OK;
  return burn_status_make(BURN_STATUS_CORRUPT_DATA, "the file is damaged: checksum %.20s expected, found %s", text,
                          found.text);
}

/* Takes the value of a key, which is there, out of the top map, leaving nil. */
static BurnStatus take_entry(BurnValue *top, const char *key, BurnValue **out) {
  BurnValue *nil = burn_value_nil();
  if (!nil) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for a value");
  for (size_t i = 0; i < top->as.list.count; i++) {
    if (strcmp(top->as.list.keys[i], key) != 0) continue;
    *out = top->as.list.items[i];
    top->as.list.items[i] = nil;
  }
  return BURN_OK;
}

BurnStatus burn__record_take_parts(BurnValue *top, BurnRecordParts *out) {
  BurnStatus status = take_entry(top, "metadata", &out->metadata);
  return status == BURN_OK ? take_entry(top, "item", &out->item) : status;
}

static BurnStatus decode_named(const uint8_t *bytes, size_t count, BurnRecordParts *out) {
  Reader reader = {.bytes = bytes, .count = count};
  BurnValue *top = NULL;
  if (count == 0) return corrupt(0, "the file is empty");
  if ((bytes[0] & 0xf0) != 0x80 && bytes[0] != 0xde && bytes[0] != 0xdf)
    return corrupt(0, "no MessagePack map: not a record");
  BurnStatus status = read_value(&reader, 0, &top);
  if (status != BURN_OK) return status;
  if (reader.offset < count) status = corrupt(reader.offset, "something after the end");
  if (status == BURN_OK) status = burn__record_check_top(top);
  if (status == BURN_OK) status = check_checksum(&reader, top);
  if (status == BURN_OK) status = burn__record_take_parts(top, out);
  burn_value_destroy(top);
  return status;
}

static bool is_gzip(const uint8_t *bytes, size_t count) { return count >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b; }

/* The format that the bytes are of: gzip says nothing of what is in it. */
static uint32_t plain_format(const uint8_t *bytes, size_t count) {
  size_t at = 0;
  if (burn__is_burnpack(bytes, count)) return BURN_RECORD_BPK;
  if (burn__is_bin(bytes, count)) return BURN_RECORD_BIN;
  while (at < count && memchr(" \t\r\n", bytes[at], 4)) at++;
  return at < count && bytes[at] == '{' ? BURN_RECORD_JSON : BURN_RECORD_MPK;
}

static const char *const family_names[] = {"MessagePack", "JSON", "a .bin", "a Burnpack"};

/* Names the format that is there in place of the one that was asked for, where that can be told. */
static BurnStatus check_family(const uint8_t *bytes, size_t count, uint32_t family) {
  const uint32_t found = burn__record_format(plain_format(bytes, count))->family;
  if (found == family || found == BURN_RECORD_FAMILY_NAMED) return BURN_OK; /* the latter may be anything */
  return burn_status_make(BURN_STATUS_CORRUPT_DATA, "byte 0: %s where %s was expected", family_names[found],
                          family_names[family]);
}

static BurnStatus decode_plain(const uint8_t *bytes, size_t count, uint32_t family, const BurnModule *module,
                               BurnRecordParts *out) {
  BurnStatus status = check_family(bytes, count, family);
  if (status != BURN_OK) return status;
  switch (family) {
    case BURN_RECORD_FAMILY_JSON:
      return burn__json_decode(bytes, count, out);
    case BURN_RECORD_FAMILY_BIN:
      return burn__bin_decode(bytes, count, module, out);
    case BURN_RECORD_FAMILY_BURNPACK:
      return burn__burnpack_decode(bytes, count, false, out);
    default:
      return decode_named(bytes, count, out);
  }
}

static BurnStatus decode_format(const uint8_t *packed, size_t packed_count, uint32_t format, const BurnModule *module,
                                BurnRecordParts *out) {
  const BurnRecordFormat *wanted = burn__record_format(format);
  uint8_t *bytes = NULL;
  size_t count = 0;
  if (!wanted->gzipped) {
    if (is_gzip(packed, packed_count))
      return burn_status_make(BURN_STATUS_CORRUPT_DATA, "byte 0: gzip where plain %s was expected",
                              family_names[wanted->family]);
    return decode_plain(packed, packed_count, wanted->family, module, out);
  }
  BurnStatus status = burn__gzip_expand(packed, packed_count, &bytes, &count);
  if (status == BURN_OK) status = decode_plain(bytes, count, wanted->family, module, out);
  free(bytes);
  return status;
}

void burn__record_parts_release(BurnRecordParts *parts) {
  burn_value_destroy(parts->metadata);
  burn_value_destroy(parts->item);
  *parts = (BurnRecordParts){NULL, NULL};
}

BurnStatus burn__record_decode(const uint8_t *bytes, size_t count, uint32_t format, const BurnModule *module,
                               BurnRecordParts *out) {
  BurnRecordParts parts = {NULL, NULL};
  BurnStatus status = decode_format(bytes, bytes ? count : 0, format, module, &parts);
  if (status == BURN_OK) {
    *out = parts;
  } else {
    burn__record_parts_release(&parts);
  }
  return status;
}

/* -- files ------------------------------------------------------------------------------------ */

BurnStatus burn__record_read(const char *path, const BurnRecordConfig *config, const BurnModule *module,
                             BurnValue **out) {
  BurnRecordConfig chosen = {0, 0};
  BurnRecordParts parts = {NULL, NULL};
  uint8_t *bytes = NULL;
  size_t count = 0;
  char *full_path = NULL;
  BurnStatus status = burn__path_check("load", path);
  if (status != BURN_OK) return status;
  status = burn__record_config(config, &chosen);
  if (status == BURN_OK) status = burn__record_path(path, chosen.format, &full_path);
  if (status != BURN_OK) return burn_status_annotate(status, "load %s", path);
  status = burn_file_read(full_path, SIZE_MAX - 1, &bytes, &count);
  if (status == BURN_OK) status = burn__record_decode(bytes, count, chosen.format, module, &parts);
  if (status == BURN_OK && !parts.item) {
    burn__record_parts_release(&parts);
    status = burn_status_make(BURN_STATUS_INVALID_ARGUMENT,
                              "a .bin has no names, and is only read into a module: burn_record_load");
  }
  if (status != BURN_OK) status = burn_status_annotate(status, "load %s", full_path);
  free(bytes);
  free(full_path);
  burn_value_destroy(parts.metadata);
  if (status == BURN_OK) *out = parts.item;
  return status;
}

BurnStatus burn_value_read(const char *path, const BurnRecordConfig *config, BurnValue **out) {
  const BurnStatus given = BURN_REQUIRED(out, "a BurnValue *");
  return given == BURN_OK ? burn__record_read(path, config, NULL, out) : given;
}

/* The format of a file and what it holds; the bytes of what was gzipped are unpacked once. */
static BurnStatus decode_any(const uint8_t *bytes, size_t count, uint32_t *format, BurnRecordParts *out) {
  uint8_t *plain = NULL;
  size_t plain_count = 0;
  if (!bytes) count = 0;
  if (!is_gzip(bytes, count)) {
    *format = plain_format(bytes, count);
    return burn__record_decode(bytes, count, *format, NULL, out);
  }
  BurnStatus status = burn__gzip_expand(bytes, count, &plain, &plain_count);
  if (status == BURN_OK) {
    const uint32_t inner = plain_format(plain, plain_count);
    *format = inner == BURN_RECORD_JSON  ? BURN_RECORD_JSON_GZ
              : inner == BURN_RECORD_BIN ? BURN_RECORD_BIN_GZ
                                         : BURN_RECORD_MPK_GZ;
    status = burn__record_decode(plain, plain_count, inner == BURN_RECORD_BPK ? BURN_RECORD_MPK : inner, NULL, out);
  }
  free(plain);
  return status;
}

/* That there is a place for all that a file has. */
static BurnStatus check_places(const char *function, uint32_t *format, BurnValue **metadata, BurnValue **item) {
  BurnStatus status = BURN_REQUIRED_BY(function, format, "a uint32_t");
  if (status == BURN_OK) status = BURN_REQUIRED_BY(function, metadata, "a BurnValue *");
  return status == BURN_OK ? BURN_REQUIRED_BY(function, item, "a BurnValue *") : status;
}

BurnStatus burn_value_decode_any(const void *bytes, size_t count, uint32_t *format, BurnValue **metadata,
                                 BurnValue **item) {
  BurnRecordParts parts = {NULL, NULL};
  uint32_t found = BURN_RECORD_MPK;
  BurnStatus status = check_places("value_decode_any", format, metadata, item);
  if (status == BURN_OK) status = decode_any(bytes, count, &found, &parts);
  if (status != BURN_OK) return status;
  *format = found;
  *metadata = parts.metadata;
  *item = parts.item;
  return BURN_OK;
}

BurnStatus burn_value_decode_in_place(const void *bytes, size_t count, uint32_t *format, BurnValue **metadata,
                                      BurnValue **item) {
  if (!bytes || !burn__is_burnpack(bytes, count)) return burn_value_decode_any(bytes, count, format, metadata, item);
  BurnRecordParts parts = {NULL, NULL};
  BurnStatus status = check_places("value_decode_in_place", format, metadata, item);
  if (status == BURN_OK) status = burn__burnpack_decode(bytes, count, true, &parts);
  if (status != BURN_OK) {
    burn__record_parts_release(&parts);
    return status;
  }
  *format = BURN_RECORD_BPK;
  *metadata = parts.metadata;
  *item = parts.item;
  return BURN_OK;
}

BurnStatus burn_value_read_any(const char *path, uint32_t *format, BurnValue **metadata, BurnValue **item) {
  uint8_t *bytes = NULL;
  size_t count = 0;
  BurnStatus status = check_places("value_read_any", format, metadata, item);
  if (status == BURN_OK) status = burn__path_check("load", path);
  if (status != BURN_OK) return status;
  status = burn_file_read(path, SIZE_MAX - 1, &bytes, &count);
  if (status == BURN_OK) status = burn_value_decode_any(bytes, count, format, metadata, item);
  free(bytes);
  return burn_status_annotate(status, "load %s", path);
}
