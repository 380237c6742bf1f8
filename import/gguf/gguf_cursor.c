/* gguf_cursor.c - the bytes of GGUF files: numbers, texts, and pairs of metadata, each compared with what is left. */
#include "gguf.h"

#include <string.h>

enum { PAIR_BYTES = 13 /* at least: an empty key, a type, one byte */, TENSOR_BYTES = 24, MAGIC_BYTES = 4 };

static BurnStatus corrupt(size_t at, const char *what) {
  return burn_status_make(BURN_STATUS_CORRUPT_DATA, "byte %zu: %s", at, what);
}

size_t burn__gguf_value_bytes(uint32_t type) {
  static const uint8_t bytes[GGUF_TYPES] = {0, 1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
  return bytes[type];
}

BurnStatus burn__gguf_number(GgufCursor *cursor, size_t bytes, uint64_t *number) {
  if (bytes > cursor->count - cursor->at) return corrupt(cursor->at, "the file ends within a number");
  *number = 0;
  for (size_t i = bytes; i-- > 0;) *number = *number << 8 | cursor->bytes[cursor->at + i];
  cursor->at += bytes;
  return BURN_OK;
}

BurnStatus burn__gguf_text(GgufCursor *cursor, const uint8_t **text, size_t *length) {
  const size_t at = cursor->at;
  uint64_t count = 0;
  const BurnStatus status = burn__gguf_number(cursor, 8, &count);
  if (status != BURN_OK) return status;
  if (count > cursor->count - cursor->at)
    return burn_status_make(BURN_STATUS_CORRUPT_DATA, "byte %zu: a text of %llu bytes, of which %zu are there", at,
                            (unsigned long long)count, cursor->count - cursor->at);
  *text = cursor->bytes + cursor->at;
  *length = (size_t)count;
  cursor->at += *length;
  return BURN_OK;
}

BurnStatus burn__gguf_name(GgufCursor *cursor, char name[GGUF_NAME_LIMIT]) {
  const size_t at = cursor->at;
  const uint8_t *text = NULL;
  size_t length = 0;
  const BurnStatus status = burn__gguf_text(cursor, &text, &length);
  if (status != BURN_OK) return status;
  if (length == 0 || length >= GGUF_NAME_LIMIT || memchr(text, 0, length) != NULL)
    return corrupt(at, "a name that is empty, longer than 1023 bytes, or has a zero byte");
  memcpy(name, text, length);
  name[length] = '\0';
  return BURN_OK;
}

static BurnStatus check_version(uint64_t version) {
  if (version == 2 || version == 3) return BURN_OK;
  if ((version & 0xffff) == 0 && version != 0)
    return burn_status_make(BURN_STATUS_INCOMPATIBLE, "byte 4: a file of a big-endian machine, which is not read");
  return burn_status_make(BURN_STATUS_INCOMPATIBLE, "byte 4: GGUF version %llu, 2 or 3 expected",
                          (unsigned long long)version);
}

BurnStatus burn__gguf_head(GgufCursor *cursor, uint64_t *tensors, uint64_t *pairs) {
  uint64_t version = 0;
  cursor->at = MAGIC_BYTES;
  BurnStatus status = burn__gguf_number(cursor, 4, &version);
  if (status == BURN_OK) status = check_version(version);
  if (status == BURN_OK) status = burn__gguf_number(cursor, 8, tensors);
  if (status == BURN_OK) status = burn__gguf_number(cursor, 8, pairs);
  if (status != BURN_OK) return status;
  const uint64_t left = cursor->count - cursor->at;
  if (*tensors > left / TENSOR_BYTES || *pairs > left / PAIR_BYTES)
    return burn_status_make(BURN_STATUS_CORRUPT_DATA, "byte 8: %llu tensors and %llu pairs of metadata in %llu bytes",
                            (unsigned long long)*tensors, (unsigned long long)*pairs, (unsigned long long)left);
  return BURN_OK;
}

static BurnStatus read_single(GgufCursor *cursor, GgufValue *value) {
  const uint8_t *text = NULL;
  size_t length = 0;
  if (value->type != GGUF_TEXT) return burn__gguf_number(cursor, burn__gguf_value_bytes(value->type), &value->number);
  const BurnStatus status = burn__gguf_text(cursor, &text, &length);
  if (status != BURN_OK) return status;
  value->at = (size_t)(text - cursor->bytes);
  value->count = length;
  return BURN_OK;
}

static BurnStatus pass_array(GgufCursor *cursor, GgufValue *value) {
  const size_t at = cursor->at;
  uint64_t type = 0;
  BurnStatus status = burn__gguf_number(cursor, 4, &type);
  if (status == BURN_OK) status = burn__gguf_number(cursor, 8, &value->count);
  if (status != BURN_OK) return status;
  if (++type >= GGUF_TYPES || type == GGUF_ARRAY) return corrupt(at, "an array of no known type, or of arrays");
  value->element = (uint32_t)type;
  value->at = cursor->at;
  const size_t each = type == GGUF_TEXT ? 8 : burn__gguf_value_bytes(value->element);
  if (value->count > (cursor->count - cursor->at) / each)
    return burn_status_make(BURN_STATUS_CORRUPT_DATA, "byte %zu: an array of %llu elements in %zu bytes", at,
                            (unsigned long long)value->count, cursor->count - cursor->at);
  if (type != GGUF_TEXT) {
    cursor->at += (size_t)value->count * each;
    return BURN_OK;
  }
  GgufValue text = {.type = GGUF_TEXT};
  for (uint64_t i = 0; i < value->count && status == BURN_OK; i++) status = read_single(cursor, &text);
  return status;
}

BurnStatus burn__gguf_walk(GgufCursor *cursor, GgufFound *found, void *context) {
  uint64_t tensors = 0, pairs = 0;
  BurnStatus status = burn__gguf_head(cursor, &tensors, &pairs);
  for (uint64_t i = 0; i < pairs && status == BURN_OK; i++) {
    char key[GGUF_NAME_LIMIT];
    const size_t at = cursor->at;
    uint64_t type = 0;
    GgufValue value = {.type = GGUF_NOTHING};
    status = burn__gguf_name(cursor, key);
    if (status == BURN_OK) status = burn__gguf_number(cursor, 4, &type);
    if (status == BURN_OK && ++type >= GGUF_TYPES) status = corrupt(at, "a value of no known type");
    if (status != BURN_OK) break;
    value.type = (uint32_t)type;
    status = type == GGUF_ARRAY ? pass_array(cursor, &value) : read_single(cursor, &value);
    if (status == BURN_OK) found(context, key, &value);
  }
  return status;
}
