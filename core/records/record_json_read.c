/* record_json_read.c - trees from JSON (RFC 8259). Every byte is hostile.
 *
 * Not by cJSON, which makes a node of 64 bytes and more of every number, and a record has one for each byte of its
 * tensors. Here the array of an entry "bytes" becomes bytes at once, if it is one of numbers from 0 to 255. Nesting,
 * and the number of all other values, are bounded as in MessagePack; nothing is reserved that the file does not pay
 * for. Failures name the byte. */
#include "record_internal.h"

#include <burn/text.h>

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER_LIMIT = 400 }; /* digits, signs and point of a number; an f64 has at most 767 that matter, and needs 17 */

typedef struct Reader {
  const uint8_t *bytes;
  size_t count, offset;
  size_t elements;
} Reader;

static BurnStatus corrupt(size_t offset, const char *what) {
  return burn_status_make(BURN_STATUS_CORRUPT_DATA, "byte %zu: %s", offset, what);
}

static BurnStatus no_memory(void) { return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for a value"); }

/* The byte at the offset; 0, which stands nowhere in JSON, at the end. */
static uint8_t peek(const Reader *reader) { return reader->offset < reader->count ? reader->bytes[reader->offset] : 0; }

static bool is_space(uint8_t byte) { return byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t'; }

static void skip_space(Reader *reader) {
  while (is_space(peek(reader))) reader->offset++;
}

/* Steps over a character, after spaces, if it is there. */
static bool skip(Reader *reader, char character) {
  skip_space(reader);
  if (peek(reader) != (uint8_t)character) return false;
  reader->offset++;
  return true;
}

static bool is_digit(uint8_t byte) { return byte >= '0' && byte <= '9'; }

/* -- texts ------------------------------------------------------------------------------------ */

/* Four hexadecimal digits at `at`; -1 if there are none. */
static int32_t read_hex(const Reader *reader, size_t at) {
  int32_t value = 0;
  if (reader->count - at < 4) return -1;
  for (size_t i = at; i < at + 4; i++) {
    const uint8_t byte = reader->bytes[i], lower = byte | 0x20;
    if (!is_digit(byte) && (lower < 'a' || lower > 'f')) return -1;
    value = value << 4 | (is_digit(byte) ? byte - '0' : lower - 'a' + 10);
  }
  return value;
}

static size_t put_utf8(char *out, int32_t code) {
  const size_t bytes = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  static const uint8_t heads[] = {0, 0, 0xc0, 0xe0, 0xf0};
  for (size_t i = bytes; i-- > 1; code >>= 6) out[i] = (char)(0x80 | (code & 0x3f));
  out[0] = (char)(heads[bytes] | code);
  return bytes;
}

/* \uXXXX, or two that are a pair; the offset stands after the 'u'. False for halves of pairs, for 0 and for no
 * digits. */
static bool read_unicode(Reader *reader, char *out, size_t *length) {
  int32_t code = read_hex(reader, reader->offset);
  if (code <= 0 || (code >= 0xdc00 && code < 0xe000)) return false;
  reader->offset += 4;
  if (code >= 0xd800 && code < 0xdc00) {
    const bool follows = reader->count - reader->offset >= 6 && memcmp(reader->bytes + reader->offset, "\\u", 2) == 0;
    const int32_t low = follows ? read_hex(reader, reader->offset + 2) : -1;
    if (low < 0xdc00 || low >= 0xe000) return false;
    code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    reader->offset += 6;
  }
  *length += put_utf8(out + *length, code);
  return true;
}

/* What stands after a backslash. */
static bool read_escape(Reader *reader, char *out, size_t *length) {
  static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
  const uint8_t name = peek(reader);
  if (!name) return false;
  reader->offset++;
  if (name == 'u') return read_unicode(reader, out, length);
  const char *found = strchr(names, name);
  if (!found) return false;
  out[(*length)++] = values[found - names];
  return true;
}

/* The text whose first quote has been read, into `out`, which has room for all until the last. */
static BurnStatus fill_text(Reader *reader, size_t end, char *out) {
  size_t length = 0;
  while (reader->offset < end) {
    const size_t at = reader->offset;
    const uint8_t byte = reader->bytes[reader->offset++];
    if (byte < 0x20) return corrupt(at, "a control character in a text");
    if (byte != '\\') {
      out[length++] = (char)byte;
    } else if (!read_escape(reader, out, &length)) {
      return corrupt(at, "an escape that JSON does not have, half a character, or a zero byte");
    }
  }
  out[length] = '\0';
  reader->offset = end + 1;
  return BURN_OK;
}

/* The place of the last quote of a text, or `count`. */
static size_t text_end(const Reader *reader) {
  size_t end = reader->offset;
  while (end < reader->count && reader->bytes[end] != '"') end += reader->bytes[end] == '\\' ? 2 : 1;
  return end < reader->count ? end : reader->count;
}

static BurnStatus read_text(Reader *reader, char **out) {
  const size_t start = reader->offset;
  if (!skip(reader, '"')) return corrupt(reader->offset, "a text was expected");
  const size_t end = text_end(reader);
  if (end == reader->count) return corrupt(start, "a text without an end");
  char *text = malloc(end - reader->offset + 1);
  if (!text) return no_memory();
  BurnStatus status = fill_text(reader, end, text);
  if (status == BURN_OK && text[burn_text_utf8_bytes(text)] != 0) status = corrupt(start, "a text that is not UTF-8");
  if (status != BURN_OK) {
    free(text);
    return status;
  }
  *out = text;
  return BURN_OK;
}

/* -- numbers ---------------------------------------------------------------------------------- */

/* Steps over digits; false if there are none. */
static bool skip_digits(Reader *reader) {
  const size_t start = reader->offset;
  while (is_digit(peek(reader))) reader->offset++;
  return reader->offset > start;
}

/* Steps over a number as JSON has it; `is_integer` if it has neither point nor exponent. */
static bool skip_number(Reader *reader, bool *is_integer) {
  *is_integer = true;
  if (peek(reader) == '-') reader->offset++;
  if (peek(reader) == '0')
    reader->offset++;
  else if (!skip_digits(reader))
    return false;
  if (peek(reader) == '.') {
    *is_integer = false;
    reader->offset++;
    if (!skip_digits(reader)) return false;
  }
  if ((peek(reader) | 0x20) != 'e') return true;
  *is_integer = false;
  reader->offset++;
  if (peek(reader) == '+' || peek(reader) == '-') reader->offset++;
  return skip_digits(reader);
}

/* The decimal digits from `at` to the end, negative or not; false beyond int64_t. */
static bool to_integer(const uint8_t *at, const uint8_t *end, int64_t *out) {
  const bool negative = *at == '-';
  const uint64_t limit = negative ? UINT64_C(1) << 63 : INT64_MAX;
  uint64_t value = 0;
  for (at += negative; at < end; at++) {
    const uint64_t digit = (uint64_t)(*at - '0');
    if (value > (limit - digit) / 10) return false;
    value = value * 10 + digit;
  }
  *out = !negative ? (int64_t)value : value == limit ? INT64_MIN : -(int64_t)value;
  return true;
}

/* strtod with the locale's own point in place of JSON's. */
static double to_float(const uint8_t *at, size_t count) {
  char text[NUMBER_LIMIT + 32];
  const char *point = localeconv()->decimal_point;
  size_t length = 0, point_bytes = strlen(point);
  if (point_bytes == 0 || point_bytes > 16) point = ".", point_bytes = 1;
  for (size_t i = 0; i < count; i++) {
    if (at[i] != '.') {
      text[length++] = (char)at[i];
      continue;
    }
    memcpy(text + length, point, point_bytes);
    length += point_bytes;
  }
  text[length] = '\0';
  return strtod(text, NULL);
}

static BurnStatus read_number(Reader *reader, BurnValue *value) {
  const size_t start = reader->offset;
  bool is_integer;
  if (!skip_number(reader, &is_integer)) return corrupt(start, "no JSON value");
  const uint8_t *text = reader->bytes + start;
  const size_t length = reader->offset - start;
  const bool is_negative_zero = length == 2 && memcmp(text, "-0", 2) == 0;
  if (length > NUMBER_LIMIT) return corrupt(start, "a number of too many digits");
  if (is_integer && !is_negative_zero) {
    value->kind = BURN_VALUE_INT;
    return to_integer(text, text + length, &value->as.integer)
               ? BURN_OK
               : corrupt(start, "an integer that does not fit 64 bits with a sign");
  }
  value->kind = BURN_VALUE_FLOAT;
  value->as.number = to_float(text, length);
  return isfinite(value->as.number) ? BURN_OK : corrupt(start, "a number beyond f64");
}

/* -- bytes of tensors ------------------------------------------------------------------------- */

/* Reads an array of numbers from 0 to 255 into `out`, which may be NULL to count only. False for any other value; the
 * offset is then anywhere. */
static bool read_byte_array(Reader *reader, uint8_t *out, size_t *count) {
  *count = 0;
  if (!skip(reader, '[')) return false;
  if (skip(reader, ']')) return true;
  do {
    skip_space(reader);
    const size_t start = reader->offset;
    unsigned value = 0;
    for (; is_digit(peek(reader)) && value < 256; reader->offset++) value = value * 10 + peek(reader) - '0';
    if (reader->offset == start || value > 255) return false;
    if (reader->bytes[start] == '0' && reader->offset > start + 1) return false; /* JSON has no 01 */
    if (out) out[*count] = (uint8_t)value;
    ++*count;
  } while (skip(reader, ','));
  return skip(reader, ']');
}

/* The value of a key "bytes" as bytes, or *out NULL where it is anything else, which is then still to be read. */
static BurnStatus read_bytes(Reader *reader, BurnValue **out) {
  const size_t start = reader->offset;
  size_t count = 0;
  const bool is_bytes = read_byte_array(reader, NULL, &count);
  reader->offset = start;
  if (!is_bytes) return BURN_OK;
  BurnValue *value = burn__value_new(BURN_INTERNAL_VALUE_OWN_BYTES);
  uint8_t *data = malloc(count ? count : 1);
  if (!value || !data) {
    free(data);
    free(value);
    return no_memory();
  }
  (void)read_byte_array(reader, data, &count);
  value->as.own_bytes.data = data;
  value->as.own_bytes.count = count;
  *out = value;
  return BURN_OK;
}

/* Bytes that are not a tensor's were an array like any other. */
static BurnStatus bytes_to_array(Reader *reader, size_t start, BurnValue **entry) {
  const uint8_t *data = (*entry)->as.own_bytes.data;
  const size_t count = (*entry)->as.own_bytes.count;
  reader->elements += count;
  if (reader->elements > BURN_RECORD_ELEMENT_LIMIT) return corrupt(start, "too many elements");
  BurnValue *array = burn_value_array();
  for (size_t i = 0; i < count && array && !array->broken; i++) (void)burn_value_append(array, burn_value_int(data[i]));
  if (!array || array->broken) {
    burn_value_destroy(array);
    return no_memory();
  }
  burn_value_destroy(*entry);
  *entry = array;
  return BURN_OK;
}

/* A map of exactly bytes, shape and dtype becomes a tensor; in any other, bytes become an array. */
static BurnStatus finish_map(Reader *reader, size_t start, unsigned depth, BurnValue **map) {
  BurnValue **bytes = NULL, *tensor = NULL;
  for (size_t i = 0; i < (*map)->as.list.count; i++) {
    if ((*map)->as.list.items[i]->kind == BURN_INTERNAL_VALUE_OWN_BYTES) bytes = &(*map)->as.list.items[i];
  }
  if (!bytes) return BURN_OK;
  const BurnValue *shape = burn_value_get(*map, "shape"), *dtype = burn_value_get(*map, "dtype");
  if (!shape || !dtype || (*map)->as.list.count != 3) return bytes_to_array(reader, start, bytes);
  const BurnRecordBytes data = {(*bytes)->as.own_bytes.data, (*bytes)->as.own_bytes.count, false};
  BurnStatus status = burn__record_make_tensor(dtype, shape, &data, &tensor);
  if (status != BURN_OK) return burn_status_annotate(status, "byte %zu", start);
  burn_value_destroy(*map);
  *map = tensor;
  const bool is_deep =
      tensor->as.tensor->is_quantized && depth + BURN_RECORD_SCHEME_NESTING > BURN_RECORD_NESTING_LIMIT;
  return is_deep ? corrupt(start, "nested too deeply") : BURN_OK; /* so that it can be written again, in any form */
}

/* -- values ----------------------------------------------------------------------------------- */

static BurnStatus read_value(Reader *reader, unsigned depth, BurnValue **out);

/* A key with its colon, and the value. */
static BurnStatus read_entry(Reader *reader, unsigned depth, char **key, BurnValue **value) {
  BurnStatus status = read_text(reader, key);
  if (status != BURN_OK) return status;
  if (!skip(reader, ':')) return corrupt(reader->offset, "':' was expected");
  if (strcmp(*key, "bytes") == 0) status = read_bytes(reader, value);
  return status == BURN_OK && !*value ? read_value(reader, depth, value) : status;
}

static BurnStatus fill_list(Reader *reader, unsigned depth, BurnValue *list, char end) {
  if (skip(reader, end)) return BURN_OK;
  do {
    char *key = NULL;
    BurnValue *child = NULL;
    BurnStatus status = list->kind == BURN_VALUE_MAP ? read_entry(reader, depth + 1, &key, &child)
                                                     : read_value(reader, depth + 1, &child);
    if (status != BURN_OK) {
      free(key);
      return status;
    }
    if (!burn__value_push(list, key, child)) return no_memory();
  } while (skip(reader, ','));
  return skip(reader, end) ? BURN_OK : corrupt(reader->offset, "',' or the end of a list was expected");
}

static BurnStatus read_map(Reader *reader, size_t start, unsigned depth, BurnValue **value) {
  (*value)->kind = BURN_VALUE_MAP;
  reader->offset++;
  BurnStatus status = fill_list(reader, depth, *value, '}');
  if (status != BURN_OK) return status;
  status = burn__value_check_keys(*value);
  if (status != BURN_OK) return burn_status_annotate(status, "byte %zu", start);
  return finish_map(reader, start, depth, value);
}

/* null, true, false, or a number, into a value that is nil. */
static BurnStatus read_scalar(Reader *reader, BurnValue *value) {
  static const struct {
    const char *word;
    uint32_t kind;
    bool boolean;
  } words[] = {{"null", BURN_VALUE_NIL, false}, {"true", BURN_VALUE_BOOL, true}, {"false", BURN_VALUE_BOOL, false}};
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
    const size_t length = strlen(words[i].word);
    if (reader->count - reader->offset < length || memcmp(reader->bytes + reader->offset, words[i].word, length) != 0)
      continue;
    reader->offset += length;
    value->kind = words[i].kind;
    if (value->kind == BURN_VALUE_BOOL) value->as.boolean = words[i].boolean;
    return BURN_OK;
  }
  return read_number(reader, value);
}

static BurnStatus fill_value(Reader *reader, unsigned depth, BurnValue **value) {
  const size_t start = reader->offset;
  char *text = NULL;
  BurnStatus status;
  switch (peek(reader)) {
    case '{':
      return read_map(reader, start, depth, value);
    case '[':
      (*value)->kind = BURN_VALUE_ARRAY;
      reader->offset++;
      return fill_list(reader, depth, *value, ']');
    case '"':
      status = read_text(reader, &text);
      if (status != BURN_OK) return status;
      (*value)->kind = BURN_VALUE_TEXT;
      (*value)->as.text = text;
      return BURN_OK;
    default:
      return read_scalar(reader, *value);
  }
}

static BurnStatus read_value(Reader *reader, unsigned depth, BurnValue **out) {
  skip_space(reader);
  if (reader->offset >= reader->count) return corrupt(reader->offset, "the file ends where a value should be");
  if (depth > BURN_RECORD_NESTING_LIMIT) return corrupt(reader->offset, "nested too deeply");
  if (++reader->elements > BURN_RECORD_ELEMENT_LIMIT) return corrupt(reader->offset, "too many elements");
  BurnValue *value = burn_value_nil();
  if (!value) return no_memory();
  BurnStatus status = fill_value(reader, depth, &value);
  if (status != BURN_OK) {
    burn_value_destroy(value);
    return status;
  }
  *out = value;
  return BURN_OK;
}

BurnStatus burn__json_decode(const uint8_t *bytes, size_t count, BurnRecordParts *out) {
  Reader reader = {.bytes = bytes, .count = count};
  BurnValue *top = NULL;
  BurnStatus status = read_value(&reader, 0, &top);
  if (status != BURN_OK) return status;
  skip_space(&reader);
  if (reader.offset < count) status = corrupt(reader.offset, "something after the end");
  if (status == BURN_OK) status = burn__record_check_top(top);
  if (status == BURN_OK) status = burn__record_take_parts(top, out);
  burn_value_destroy(top);
  return status;
}
