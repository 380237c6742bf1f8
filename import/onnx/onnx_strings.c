/* onnx_strings.c - tensors of strings. */
#include "onnx_strings.h"

#include "onnx_narrow.h"

#include <burn/text.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- making them ------------------------------------------------------------------------------- */

/* A tensor of strings has at most so many bytes: a short graph may ask for any number of copies of a long string. */
enum { MAX_BYTES = 1 << 30 };

void onnx_add_bytes(OnnxStringsBuilder *builder, const char *bytes, size_t count) {
  if (count > MAX_BYTES - builder->bytes.length) builder->failed = true;
  if (count && !builder->failed) burn__text_add_bytes(&builder->bytes, bytes, count);
}

void onnx_end_string(OnnxStringsBuilder *builder) {
  if (builder->count + 1 >= builder->room) {
    const size_t room = builder->room ? 2 * builder->room : 16;
    size_t *starts = builder->failed ? NULL : realloc(builder->starts, room * sizeof *starts);
    if (!starts) {
      builder->failed = true;
      return;
    }
    if (builder->room == 0) starts[0] = 0;
    builder->starts = starts;
    builder->room = room;
  }
  onnx_add_bytes(builder, "", 1);
  builder->starts[++builder->count] = builder->bytes.length;
}

void onnx_add_string(OnnxStringsBuilder *builder, const char *bytes, size_t count) {
  onnx_add_bytes(builder, bytes, count);
  onnx_end_string(builder);
}

void onnx_builder_release(OnnxStringsBuilder *builder) {
  burn__text_release(&builder->bytes);
  free(builder->starts);
  *builder = (OnnxStringsBuilder)ONNX_STRINGS_BUILDER;
}

OnnxStrings *onnx_build_strings(OnnxStringsBuilder *builder, BurnShape shape) {
  const size_t table = sizeof(OnnxStrings) + builder->count * sizeof(char *);
  OnnxStrings *strings =
      builder->failed || builder->bytes.failed ? NULL : malloc(table + builder->bytes.length + sizeof(char *));
  if (strings) {
    char *bytes = (char *)strings + table;
    atomic_init(&strings->references, 1);
    strings->shape = shape;
    strings->count = builder->count;
    if (builder->bytes.length) memcpy(bytes, builder->bytes.text, builder->bytes.length);
    for (size_t i = 0; i < builder->count; i++) strings->items[i] = bytes + builder->starts[i];
  }
  onnx_builder_release(builder);
  return strings;
}

OnnxStrings *onnx_strings_retain(OnnxStrings *strings) {
  if (strings) (void)atomic_fetch_add(&strings->references, 1);
  return strings;
}

void onnx_strings_release(OnnxStrings *strings) {
  if (strings && atomic_fetch_sub(&strings->references, 1) == 1) free(strings);
}

int onnx_by_bytes(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

/* -- from outside ------------------------------------------------------------------------------ */

BurnStatus onnx_check_string(const char *what, size_t i, const char *text, size_t count) {
  const char *zero = memchr(text, 0, count);
  if (zero) {
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%s: string %zu has a zero byte at byte %zu", what, i,
                            (size_t)(zero - text));
  }
  const size_t valid = burn_text_utf8_bytes(text);
  if (valid == count) return BURN_OK;
  return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%s: string %zu is not UTF-8 at byte %zu", what, i, valid);
}

/* Adds texts of a message, which have no zero after them. */
static BurnStatus add_texts(OnnxStringsBuilder *builder, const char *what, const ProtobufCBinaryData *texts,
                            size_t count) {
  BurnStatus status = BURN_OK;
  for (size_t i = 0; i < count && status == BURN_OK; i++) {
    const size_t start = builder->bytes.length;
    onnx_add_string(builder, (const char *)texts[i].data, texts[i].data ? texts[i].len : 0);
    if (builder->failed || builder->bytes.failed) break; /* onnx_build_strings tells */
    status = onnx_check_string(what, i, builder->bytes.text + start, builder->bytes.length - start - 1);
  }
  return status;
}

static OnnxStrings *strings_of(const char *what, const ProtobufCBinaryData *texts, size_t count, BurnShape shape,
                               BurnStatus *status) {
  OnnxStringsBuilder builder = ONNX_STRINGS_BUILDER;
  *status = add_texts(&builder, what, texts, count);
  if (*status != BURN_OK) {
    onnx_builder_release(&builder);
    return NULL;
  }
  OnnxStrings *strings = onnx_build_strings(&builder, shape);
  if (!strings) *status = burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "%s: " ONNX_NO_STRINGS, what, count);
  return strings;
}

OnnxStrings *onnx_strings_of(const Onnx__TensorProto *proto, BurnStatus *status) {
  Onnx__TensorProto as_bytes = *proto; /* dims are checked in one place, for a dtype that is here */
  BurnDType dtype;
  size_t count;
  char what[128];
  as_bytes.data_type = ONNX_UINT8;
  *status = onnx_tensor_layout(&as_bytes, &dtype, &count);
  if (*status == BURN_OK && (proto->has_raw_data || proto->data_location == 1 || proto->n_string_data != count)) {
    *status = burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "tensor '%.80s' has %zu listed strings, expected %zu",
                               proto->name, proto->n_string_data, count);
  }
  if (*status != BURN_OK) return NULL;
  snprintf(what, sizeof what, "tensor '%.80s'", proto->name);
  return strings_of(what, proto->string_data, count, onnx_shape(proto->dims, proto->n_dims), status);
}

OnnxStrings *onnx_strings_of_list(const Onnx__AttributeProto *attribute, BurnStatus *status) {
  const size_t count = attribute->n_strings;
  return strings_of(attribute->name, attribute->strings, count, BURN_SHAPE((int64_t)count), status);
}

/* -- for mappings ------------------------------------------------------------------------------ */

void onnx_give_strings(OnnxNode *node, size_t i, OnnxStrings *strings, OnnxRank rank) {
  if (!strings)
    onnx_fail(node, burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for strings, or they have more than 1 GiB"));
  if (strings && onnx_wants_output(node, i) && !node->output_strings[i]) {
    node->output_strings[i] = strings;
    node->output_rank[i] = rank;
  } else {
    onnx_strings_release(strings);
  }
}

const OnnxStrings *onnx_input_strings(OnnxNode *node, size_t i) {
  if (!node->strings[i]) {
    onnx_fail(node,
              burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%s: input %zu has no strings", node->proto->op_type, i));
  }
  return node->strings[i];
}

char *onnx_string_attribute(OnnxNode *node, const char *name) {
  const Onnx__AttributeProto *attribute = onnx_attribute(node, name);
  const size_t count = attribute && attribute->s.data ? attribute->s.len : 0;
  char *text = malloc(count + 1);
  if (text && count) memcpy(text, attribute->s.data, count);
  if (text) text[count] = 0;
  const BurnStatus status =
      text ? onnx_check_string(name, 0, text, count) : burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "%s", name);
  if (status == BURN_OK) return text;
  onnx_fail(node, status);
  free(text);
  return NULL;
}

static bool list_has_strings(const OnnxList *list) {
  for (size_t i = 0; list && i < list->count; i++) {
    if (list->strings[i]) return true;
  }
  return false;
}

bool onnx_has_strings(const OnnxNode *node) {
  for (size_t i = 0; i < node->proto->n_input && i < ONNX_MAX_VALUES; i++) {
    if (node->strings[i] || list_has_strings(node->lists[i])) return true;
  }
  return false;
}
