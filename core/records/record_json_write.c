/* record_json_write.c - trees as JSON, byte for byte as serde_json writes Burn's records: the keys and values of the
 * named MessagePack, a tensor's bytes as an array of numbers, `_b` null. Indented by two spaces in a .json, without any
 * space in a .json.gz.
 *
 * There is no checksum: the file is made to be read, and changed, by people. */
#include "record_internal.h"
#include "text_builder.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct Writer {
  BurnTextBuilder text;
  const BurnRecordConfig *config;
  bool pretty;
  size_t elements;
} Writer;

/* What stands before an entry of a list at a level. */
static void put_break(Writer *writer, bool first, unsigned level) {
  if (!first) burn__text_add_bytes(&writer->text, ",", 1);
  if (!writer->pretty) return;
  burn__text_add_bytes(&writer->text, "\n", 1);
  burn__text_indent(&writer->text, level);
}

/* What ends a list that was begun at a level. */
static void put_end(Writer *writer, bool empty, unsigned level, const char *bracket) {
  if (!empty && writer->pretty) {
    burn__text_add_bytes(&writer->text, "\n", 1);
    burn__text_indent(&writer->text, level);
  }
  burn__text_add(&writer->text, bracket);
}

static void put_escaped(BurnTextBuilder *out, unsigned char character) {
  static const char *const named[0x20] = {
      ['\b'] = "\\b", ['\f'] = "\\f", ['\n'] = "\\n", ['\r'] = "\\r", ['\t'] = "\\t"};
  if (character == '"' || character == '\\') {
    burn__text_addf(out, "\\%c", character);
  } else if (named[character]) {
    burn__text_add(out, named[character]);
  } else {
    burn__text_addf(out, "\\u%04x", character);
  }
}

static BurnStatus put_text(Writer *writer, const char *text) {
  burn__text_add_bytes(&writer->text, "\"", 1);
  for (const unsigned char *at = (const unsigned char *)text; *at;) {
    const size_t bytes = burn__utf8_bytes(at);
    if (bytes == 0)
      return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "a text that is not UTF-8, which JSON cannot hold");
    if (*at < 0x20 || *at == '"' || *at == '\\') {
      put_escaped(&writer->text, *at);
    } else {
      burn__text_add_bytes(&writer->text, (const char *)at, bytes);
    }
    at += bytes;
  }
  burn__text_add_bytes(&writer->text, "\"", 1);
  return BURN_OK;
}

static BurnStatus put_key(Writer *writer, const char *key, bool first, unsigned level) {
  put_break(writer, first, level);
  BurnStatus status = put_text(writer, key);
  burn__text_add(&writer->text, writer->pretty ? ": " : ":");
  return status;
}

/* -- tensors ---------------------------------------------------------------------------------- */

/* The digits of 0 to 255: printf would take most of the time that a record takes. */
static size_t byte_digits(uint8_t byte, char *digits) {
  size_t count = 0;
  if (byte >= 100) digits[count++] = (char)('0' + byte / 100);
  if (byte >= 10) digits[count++] = (char)('0' + byte / 10 % 10);
  digits[count++] = (char)('0' + byte % 10);
  return count;
}

/* A comma, and the line and indentation after it, are the same before all bytes but the first. */
static void put_bytes(Writer *writer, const uint8_t *bytes, size_t count, unsigned level) {
  char entry[2 + 2 * (BURN_RECORD_NESTING_LIMIT + 4) + 3] = ",\n";
  const size_t indent = writer->pretty ? 1 + 2 * ((size_t)level + 1) : 0;
  if (writer->pretty) memset(entry + 2, ' ', indent - 1);
  burn__text_add_bytes(&writer->text, "[", 1);
  for (size_t i = 0; i < count; i++) {
    const size_t length = 1 + indent + byte_digits(bytes[i], entry + 1 + indent), first = i == 0;
    burn__text_add_bytes(&writer->text, entry + first, length - first);
  }
  put_end(writer, count == 0, level, "]");
}

static BurnStatus put_elements(Writer *writer, const BurnHostTensor *tensor, BurnDType dtype, unsigned level) {
  const size_t bytes = burn__record_bytes(tensor, dtype);
  uint8_t *converted = malloc(bytes ? bytes : 1);
  if (!converted) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for %zu bytes", bytes);
  BurnStatus status = burn__record_store(tensor, dtype, converted);
  if (status == BURN_OK) put_bytes(writer, converted, bytes, level);
  free(converted);
  return status;
}

static BurnStatus put_value(Writer *writer, const BurnValue *value, unsigned level);

static BurnStatus put_dtype(Writer *writer, const BurnHostTensor *tensor, BurnDType dtype, unsigned level) {
  if (!tensor->is_quantized) return put_text(writer, burn__record_dtype_label(dtype));
  BurnValue *scheme = burn__record_scheme(&tensor->scheme);
  const BurnStatus status = put_value(writer, scheme, level);
  burn_value_destroy(scheme);
  return status;
}

static BurnStatus put_tensor(Writer *writer, const BurnHostTensor *tensor, unsigned level) {
  const BurnDType dtype = burn__record_dtype(tensor, writer->config->precision);
  writer->elements += 3 + tensor->shape.rank;
  burn__text_add_bytes(&writer->text, "{", 1);
  (void)put_key(writer, "bytes", true, level + 1);
  BurnStatus status = put_elements(writer, tensor, dtype, level + 1);
  if (status != BURN_OK) return status;
  (void)put_key(writer, "shape", false, level + 1);
  burn__text_add_bytes(&writer->text, "[", 1);
  for (uint32_t i = 0; i < tensor->shape.rank; i++) {
    put_break(writer, i == 0, level + 2);
    burn__text_addf(&writer->text, "%" PRId64, tensor->shape.dims[i]);
  }
  put_end(writer, false, level + 1, "]");
  (void)put_key(writer, "dtype", false, level + 1);
  status = put_dtype(writer, tensor, dtype, level + 1);
  put_end(writer, false, level, "}");
  return status;
}

/* -- values ----------------------------------------------------------------------------------- */

static BurnStatus put_list(Writer *writer, const BurnValue *list, unsigned level) {
  const bool is_map = list->kind == BURN_VALUE_MAP;
  const size_t count = list->as.list.count;
  if (list->broken) {
    return burn_status_make(BURN_STATUS_FAILED_PRECONDITION,
                            "a part of the record could not be made (see the failure before)");
  }
  burn__text_add_bytes(&writer->text, is_map ? "{" : "[", 1);
  for (size_t i = 0; i < count; i++) {
    BurnStatus status = BURN_OK;
    if (is_map) {
      status = put_key(writer, list->as.list.keys[i], i == 0, level + 1);
    } else {
      put_break(writer, i == 0, level + 1);
    }
    if (status == BURN_OK) status = put_value(writer, list->as.list.items[i], level + 1);
    if (status == BURN_OK) continue;
    return is_map ? burn_status_annotate(status, "%.80s", list->as.list.keys[i])
                  : burn_status_annotate(status, "%zu", i);
  }
  put_end(writer, count == 0, level, is_map ? "}" : "]");
  return BURN_OK;
}

static BurnStatus put_number(Writer *writer, double number) {
  if (!isfinite(number)) {
    return burn_status_make(BURN_STATUS_OUT_OF_RANGE, "%s, for which JSON has no number",
                            isnan(number) ? "NaN" : "an infinity");
  }
  burn__text_number(&writer->text, number);
  return BURN_OK;
}

static BurnStatus put_value(Writer *writer, const BurnValue *value, unsigned level) {
  if (!value)
    return burn_status_make(BURN_STATUS_FAILED_PRECONDITION, "the value could not be made (see the failure before)");
  const unsigned deepest = value->kind == BURN_VALUE_TENSOR ? level + 2 : level; /* the entries of its shape */
  if (deepest > BURN_RECORD_NESTING_LIMIT)
    return burn_status_make(BURN_STATUS_OUT_OF_RANGE, "nested deeper than %d", BURN_RECORD_NESTING_LIMIT);
  if (++writer->elements > BURN_RECORD_ELEMENT_LIMIT)
    return burn_status_make(BURN_STATUS_OUT_OF_RANGE, "more than %d elements", BURN_RECORD_ELEMENT_LIMIT);
  switch (value->kind) {
    case BURN_VALUE_NIL:
      burn__text_add(&writer->text, "null");
      return BURN_OK;
    case BURN_VALUE_BOOL:
      burn__text_add(&writer->text, value->as.boolean ? "true" : "false");
      return BURN_OK;
    case BURN_VALUE_INT:
      burn__text_addf(&writer->text, "%" PRId64, value->as.integer);
      return BURN_OK;
    case BURN_VALUE_FLOAT:
      return put_number(writer, value->as.number);
    case BURN_VALUE_TEXT:
      return put_text(writer, value->as.text);
    case BURN_VALUE_TENSOR:
      return put_tensor(writer, value->as.tensor, level);
    default:
      return put_list(writer, value, level);
  }
}

static void put_metadata(Writer *writer) {
  BurnRecordMetadata metadata;
  burn__record_metadata(writer->config, &metadata);
  burn__text_add_bytes(&writer->text, "{", 1);
  for (size_t i = 0; i < BURN_RECORD_METADATA_TEXTS; i++) {
    (void)put_key(writer, metadata.keys[i], i == 0, 2);
    (void)put_text(writer, metadata.texts[i]);
  }
  put_end(writer, false, 1, "}");
}

BurnStatus burn__json_encode(const BurnValue *item, const BurnRecordConfig *config, uint8_t **out, size_t *out_count) {
  Writer writer = {BURN_TEXT_BUILDER, config, !burn__record_format(config->format)->gzipped, 3 + 6};
  burn__text_add_bytes(&writer.text, "{", 1);
  (void)put_key(&writer, "metadata", true, 1);
  put_metadata(&writer);
  (void)put_key(&writer, "item", false, 1);
  BurnStatus status = put_value(&writer, item, 1);
  (void)put_key(&writer, "_b", false, 1);
  burn__text_add(&writer.text, "null");
  put_end(&writer, false, 0, "}");
  if (status == BURN_OK && writer.text.failed)
    status = burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for the record");
  if (status != BURN_OK) {
    burn__text_release(&writer.text);
    return status;
  }
  *out_count = writer.text.length;
  *out = (uint8_t *)burn__text_finish(&writer.text);
  return BURN_OK;
}
