/* cbor.c - CBOR to and from memory, as cbor.h says. Every byte that is read is hostile.
 *
 * An item begins with a byte of 3 bits major type and 5 bits: a number below 24, or 24 to 27 for one in the next 1, 2,
 * 4 or 8 bytes, highest first. The number is the value, or the length of what follows. */
#include "cbor.h"

#include "host_convert.h"
#include "record_internal.h"

#include <stdlib.h>
#include <string.h>

enum { UNSIGNED, NEGATIVE, BYTES, TEXT, ARRAY, MAP, TAG, SIMPLE };                       /* major types */
enum { SIMPLE_FALSE = 20, SIMPLE_TRUE, SIMPLE_NULL, FLOAT_16 = 25, FLOAT_32, FLOAT_64 }; /* low bits of SIMPLE */

/* -- reading ---------------------------------------------------------------------------------- */

typedef struct Reader {
  const uint8_t *bytes;
  size_t count, offset;
  size_t base; /* added to offsets in messages */
  size_t items;
} Reader;

typedef struct Head {
  uint8_t major, low;
  uint64_t number;
  size_t start;
} Head;

static BurnStatus corrupt(const Reader *reader, size_t offset, const char *what) {
  return burn_status_make(BURN_STATUS_CORRUPT_DATA, "byte %zu: %s", reader->base + offset, what);
}

static BurnStatus no_memory(void) { return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for the metadata"); }

static BurnStatus read_head(Reader *reader, Head *head) {
  const size_t start = reader->offset;
  if (start >= reader->count) return corrupt(reader, start, "the metadata end where a value should be");
  const uint8_t first = reader->bytes[reader->offset++];
  *head = (Head){first >> 5, first & 31, first & 31, start};
  if (head->low < 24) return BURN_OK;
  if (head->low > 27) return corrupt(reader, start, "CBOR of no stated length, or a reserved form");
  const size_t bytes = (size_t)1 << (head->low - 24);
  if (bytes > reader->count - reader->offset) return corrupt(reader, start, "the metadata end within a number");
  head->number = 0;
  for (size_t i = 0; i < bytes; i++) head->number = head->number << 8 | reader->bytes[reader->offset++];
  return BURN_OK;
}

static BurnStatus check_length(const Reader *reader, const Head *head, uint64_t each) {
  const size_t left = reader->count - reader->offset;
  if (head->number <= left / each) return BURN_OK;
  return burn_status_make(BURN_STATUS_CORRUPT_DATA, "byte %zu: length %llu with %zu bytes left: cut short, or damaged",
                          reader->base + head->start, (unsigned long long)head->number, left);
}

static BurnStatus read_text(Reader *reader, const Head *head, char **out) {
  BurnStatus status = check_length(reader, head, 1);
  if (status != BURN_OK) return status;
  const size_t length = (size_t)head->number;
  const uint8_t *text = reader->bytes + reader->offset;
  if (length && memchr(text, 0, length)) return corrupt(reader, head->start, "a text with a zero byte");
  char *made = malloc(length + 1);
  if (!made) return no_memory();
  if (length) memcpy(made, text, length);
  made[length] = '\0';
  reader->offset += length;
  *out = made;
  return BURN_OK;
}

static BurnStatus read_key(Reader *reader, char **out) {
  Head head;
  BurnStatus status = read_head(reader, &head);
  if (status != BURN_OK) return status;
  return head.major == TEXT ? read_text(reader, &head, out) : corrupt(reader, head.start, "a key that is not text");
}

static BurnStatus read_item(Reader *reader, unsigned depth, BurnValue **out);

static BurnStatus fill_list(Reader *reader, const Head *head, unsigned depth, BurnValue *list) {
  const bool is_map = list->kind == BURN_VALUE_MAP;
  BurnStatus status = check_length(reader, head, is_map ? 2 : 1);
  for (uint64_t i = 0; i < head->number && status == BURN_OK; i++) {
    char *key = NULL;
    BurnValue *child = NULL;
    if (is_map) status = read_key(reader, &key);
    if (status == BURN_OK) status = read_item(reader, depth + 1, &child);
    if (status != BURN_OK) {
      free(key);
      return status;
    }
    if (!burn__value_push(list, key, child)) return no_memory();
  }
  if (status != BURN_OK || !is_map) return status;
  status = burn__value_check_keys(list);
  return status == BURN_OK ? BURN_OK : burn_status_annotate(status, "byte %zu", reader->base + head->start);
}

static double float_of(const Head *head) {
  const uint32_t low = (uint32_t)head->number;
  float single;
  double number;
  if (head->low == FLOAT_16) return burn__f16_to_double((uint16_t)head->number);
  memcpy(&single, &low, sizeof single);
  memcpy(&number, &head->number, sizeof number);
  return head->low == FLOAT_32 ? (double)single : number;
}

/* A number, bool or null into a value that is nil. */
static BurnStatus fill_scalar(const Reader *reader, const Head *head, BurnValue *value) {
  if (head->major == UNSIGNED) {
    value->kind = head->number <= INT64_MAX ? BURN_VALUE_INT : BURN_INTERNAL_VALUE_UINT;
    memcpy(&value->as.integer, &head->number, sizeof value->as.integer);
  } else if (head->major == NEGATIVE) {
    if (head->number > INT64_MAX) return corrupt(reader, head->start, "an integer that does not fit 64 bits");
    value->kind = BURN_VALUE_INT;
    value->as.integer = -1 - (int64_t)head->number;
  } else if (head->low == SIMPLE_FALSE || head->low == SIMPLE_TRUE) {
    value->kind = BURN_VALUE_BOOL;
    value->as.boolean = head->low == SIMPLE_TRUE;
  } else if (head->low >= FLOAT_16 && head->low <= FLOAT_64) {
    value->kind = BURN_VALUE_FLOAT;
    value->as.number = float_of(head);
  } else if (head->low != SIMPLE_NULL) {
    return corrupt(reader, head->start, "a simple value that is not a bool, null or float");
  }
  return BURN_OK;
}

static BurnStatus fill_item(Reader *reader, const Head *head, unsigned depth, BurnValue *value) {
  switch (head->major) {
    case TEXT:
      value->kind = BURN_VALUE_TEXT;
      return read_text(reader, head, &value->as.text);
    case ARRAY:
    case MAP:
      value->kind = head->major == ARRAY ? BURN_VALUE_ARRAY : BURN_VALUE_MAP;
      return fill_list(reader, head, depth, value);
    case BYTES:
    case TAG:
      return corrupt(reader, head->start, "a byte string or tag, which metadata do not have");
    default:
      return fill_scalar(reader, head, value);
  }
}

static BurnStatus read_item(Reader *reader, unsigned depth, BurnValue **out) {
  Head head;
  if (depth >= BURN_CBOR_NESTING_LIMIT) return corrupt(reader, reader->offset, "nested too deeply");
  if (++reader->items > BURN_CBOR_ITEM_LIMIT) return corrupt(reader, reader->offset, "too many values");
  BurnStatus status = read_head(reader, &head);
  if (status != BURN_OK) return status;
  BurnValue *value = burn__value_new(BURN_VALUE_NIL);
  if (!value) return no_memory();
  status = fill_item(reader, &head, depth, value);
  if (status != BURN_OK) {
    burn_value_destroy(value);
    return status;
  }
  *out = value;
  return BURN_OK;
}

BurnStatus burn__cbor_read(const uint8_t *bytes, size_t count, size_t base, BurnValue **out) {
  Reader reader = {.bytes = bytes, .count = count, .base = base};
  BurnValue *value = NULL;
  BurnStatus status = read_item(&reader, 0, &value);
  if (status == BURN_OK && reader.offset < count)
    status = corrupt(&reader, reader.offset, "something after the end of the metadata");
  if (status != BURN_OK) {
    burn_value_destroy(value);
    return status;
  }
  *out = value;
  return BURN_OK;
}

/* -- writing ---------------------------------------------------------------------------------- */

static void put_raw(CborWriter *writer, const void *data, size_t count) {
  if (writer->failed) return;
  if (count > writer->capacity - writer->count) {
    const size_t capacity = (writer->capacity + count) * 2;
    uint8_t *bytes = realloc(writer->bytes, capacity);
    writer->failed = !bytes;
    if (!bytes) return;
    writer->bytes = bytes;
    writer->capacity = capacity;
  }
  if (count) memcpy(writer->bytes + writer->count, data, count);
  writer->count += count;
}

/* The low bits `form` and the last `bytes` bytes of the number, highest first. */
static void put_form(CborWriter *writer, unsigned major, unsigned form, uint64_t number, unsigned bytes) {
  uint8_t head[9] = {(uint8_t)(major << 5 | form)};
  for (unsigned i = 0; i < bytes; i++) head[1 + i] = (uint8_t)(number >> (8 * (bytes - 1 - i)));
  put_raw(writer, head, 1 + bytes);
}

static void put_head(CborWriter *writer, unsigned major, uint64_t number) {
  unsigned form = number <= UINT8_MAX ? 24 : number <= UINT16_MAX ? 25 : number <= UINT32_MAX ? 26 : 27;
  if (number < 24) {
    put_form(writer, major, (unsigned)number, 0, 0);
  } else {
    put_form(writer, major, form, number, 1u << (form - 24));
  }
}

void burn__cbor_put_uint(CborWriter *writer, uint64_t value) { put_head(writer, UNSIGNED, value); }
void burn__cbor_put_array(CborWriter *writer, size_t count) { put_head(writer, ARRAY, count); }
void burn__cbor_put_map(CborWriter *writer, size_t count) { put_head(writer, MAP, count); }

void burn__cbor_put_int(CborWriter *writer, int64_t value) {
  if (value >= 0) {
    put_head(writer, UNSIGNED, (uint64_t)value);
  } else {
    put_head(writer, NEGATIVE, (uint64_t)(-1 - value));
  }
}

void burn__cbor_put_bool(CborWriter *writer, bool value) {
  put_form(writer, SIMPLE, value ? SIMPLE_TRUE : SIMPLE_FALSE, 0, 0);
}

void burn__cbor_put_text(CborWriter *writer, const char *text) {
  const size_t length = strlen(text);
  put_head(writer, TEXT, length);
  put_raw(writer, text, length);
}

static bool same_bits(double a, double b) { return memcmp(&a, &b, sizeof a) == 0; }

void burn__cbor_put_float(CborWriter *writer, double value) {
  const uint16_t half = burn__f16_from_double(value);
  const float single = (float)value;
  uint32_t single_bits;
  uint64_t bits;
  memcpy(&single_bits, &single, sizeof single_bits);
  memcpy(&bits, &value, sizeof bits);
  if (same_bits(burn__f16_to_double(half), value)) {
    put_form(writer, SIMPLE, FLOAT_16, half, 2);
  } else if (same_bits((double)single, value)) {
    put_form(writer, SIMPLE, FLOAT_32, single_bits, 4);
  } else {
    put_form(writer, SIMPLE, FLOAT_64, bits, 8);
  }
}
