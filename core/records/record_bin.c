/* record_bin.c - modules as bincode (version 2, standard configuration), as Burn 0.21 writes them into a .bin.
 *
 * No names and no types stand there: the values follow each other in the order of the fields, so only a module that is
 * built alike can say what they are. An integer is a byte below 251, or 251, 252, 253 and 2, 4, 8 bytes, lowest first;
 * a text, bytes, and a list begin with their length; what may be absent with a byte 0 or 1; a case with its number.
 *
 *   record   float int format version settings (texts), item
 *   module   its fields; a module without tensors, and every constant, is a byte 0
 *   tensor   id (text), bytes, shape (list of integers), number of the dtype (and of a bool's storage)
 *
 * Burn 0.20 and before write a constant of two sizes as two bytes and have other fields: their files are refused by
 * their version, as the fields would be read as others. Every byte that is read is hostile. */
#include "module_internal.h"
#include "record_internal.h"
#include "text_builder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Numbers of Burn's DType. */
static const char *const dtype_labels[] = {"F64", "F32", "Flex32", "F16", "BF16", "I64", "I32",
                                           "I16", "I8",  "U64",    "U32", "U16",  "U8",  "Bool"};
enum { DTYPE_LABELS = sizeof dtype_labels / sizeof dtype_labels[0], DTYPE_BOOL = DTYPE_LABELS - 1 };
static const char *const bool_storages[] = {"Native", "U8", "U32"};

/* -- where rows and Burn's fields differ ------------------------------------------------------ */

enum { ROW_AS_IT_IS, ROW_OF_OURS, ROW_EMPTY };

/* Rows that Burn's struct or enum of that name does not have, or has as a constant. */
static const struct {
  const char *type, *row;
  int what;
} exceptions[] = {
    {"BurnPositionalEncoding", "d_model", ROW_OF_OURS},
    {"BurnRotaryEncoding", "max_sequence_length", ROW_OF_OURS},
    {"BurnRotaryEncoding", "d_model", ROW_OF_OURS}, /* the three that are left stand for freq_complex, theta, offset */
    {"BurnPositionWiseFeedForward", "activation", ROW_EMPTY},
    {"BurnActivation", "Identity", ROW_OF_OURS},
    {"BurnNormalization", "Identity", ROW_OF_OURS},
    {"BurnCrossEntropyLoss", "pad_tokens", ROW_EMPTY},
    {"BurnCrossEntropyLoss", "weights", ROW_EMPTY},
    {"BurnBinaryCrossEntropyLoss", "weights", ROW_EMPTY},
};

static int row_kind(const BurnType *type, const BurnField *field) {
  for (size_t i = 0; i < sizeof exceptions / sizeof exceptions[0]; i++) {
    if (strcmp(exceptions[i].type, type->name) == 0 && strcmp(exceptions[i].row, field->name) == 0)
      return exceptions[i].what;
  }
  return ROW_AS_IT_IS;
}

static bool may_be_absent(const BurnType *type) { return type == BurnOptionParam_type(); }

/* The number of a case among those that Burn has; -1 for one that it has not. */
static int64_t case_number(const BurnType *type, const BurnField *chosen) {
  int64_t number = 0;
  if (row_kind(type, chosen) == ROW_OF_OURS) return -1;
  for (const BurnField *field = type->fields; field != chosen; field++) number += row_kind(type, field) != ROW_OF_OURS;
  return number;
}

/* -- writing ---------------------------------------------------------------------------------- */

typedef struct Writer {
  BurnTextBuilder out;
  uint32_t precision;
} Writer;

static void put_raw(Writer *writer, const void *bytes, size_t count) {
  burn__text_add_bytes(&writer->out, bytes, count);
}

static void put_byte(Writer *writer, uint8_t byte) { put_raw(writer, &byte, 1); }

static void put_uint(Writer *writer, uint64_t value) {
  uint8_t bytes[9];
  const unsigned width = value < 251 ? 0 : value <= UINT16_MAX ? 2 : value <= UINT32_MAX ? 4 : 8;
  bytes[0] = width == 0 ? (uint8_t)value : width == 2 ? 251 : width == 4 ? 252 : 253;
  for (unsigned i = 0; i < width; i++) bytes[1 + i] = (uint8_t)(value >> (8 * i));
  put_raw(writer, bytes, 1 + width);
}

static void put_text(Writer *writer, const char *text) {
  put_uint(writer, strlen(text));
  put_raw(writer, text, strlen(text));
}

static void put_dtype(Writer *writer, BurnDType dtype) {
  const char *label = burn__record_dtype_label(dtype);
  uint64_t number = 0;
  while (strcmp(dtype_labels[number], label) != 0) number++;
  put_uint(writer, number);
  if (number == DTYPE_BOOL) put_uint(writer, 0);
}

static BurnStatus put_tensor(Writer *writer, const BurnHostTensor *tensor) {
  if (tensor->is_quantized) {
    return burn_status_make(BURN_STATUS_UNIMPLEMENTED,
                            "quantized, which is not written into a .bin: save it as .mpk, .json or .bpk");
  }
  const BurnDType dtype = burn__record_dtype(tensor, writer->precision);
  const size_t bytes = tensor->count * burn_dtype_bytes(dtype);
  uint8_t *converted = malloc(bytes ? bytes : 1);
  if (!converted) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for %zu bytes", bytes);
  BurnStatus status = burn__record_store(tensor, dtype, converted);
  put_uint(writer, bytes);
  put_raw(writer, converted, bytes);
  free(converted);
  put_uint(writer, tensor->shape.rank);
  for (uint32_t i = 0; i < tensor->shape.rank; i++) put_uint(writer, (uint64_t)tensor->shape.dims[i]);
  put_dtype(writer, dtype);
  return status;
}

/* A parameter or buffer: {id, param}, or nil. */
static BurnStatus put_param(Writer *writer, const BurnType *type, const BurnValue *value) {
  const bool is_there = burn_value_kind(value) == BURN_VALUE_MAP;
  if (may_be_absent(type)) put_byte(writer, is_there);
  if (!is_there && may_be_absent(type)) return BURN_OK;
  if (!is_there) {
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT,
                            "absent, but the row's type is %s; what may be absent in a .bin is a BurnOptionParam",
                            type->name);
  }
  if (burn_value_get(value, "lora")) {
    return burn_status_make(BURN_STATUS_UNIMPLEMENTED,
                            "it has an adapter, which is not written into a .bin: save it as .mpk, .json or .bpk");
  }
  put_text(writer, burn_value_as_text(burn_value_get(value, "id"), ""));
  return put_tensor(writer, burn_value_get(value, "param")->as.tensor);
}

static BurnStatus put_module(Writer *writer, const BurnType *type, const char *data, const BurnValue *value);

static BurnStatus put_list(Writer *writer, const BurnModuleList *list, const BurnValue *value) {
  BurnStatus status = BURN_OK;
  put_uint(writer, burn_value_count(value));
  for (size_t i = 0; i < burn_value_count(value) && status == BURN_OK; i++) {
    status = put_module(writer, list->type, burn_module_list_at(list, i), burn_value_at(value, i));
    if (status != BURN_OK) status = burn_status_annotate(status, "%zu", i);
  }
  return status;
}

static BurnStatus put_option(Writer *writer, const BurnModuleOption *option, const BurnValue *value) {
  put_byte(writer, option->data != NULL);
  return option->data ? put_module(writer, option->type, option->data, value) : BURN_OK;
}

static BurnStatus put_field(Writer *writer, const BurnType *type, const char *member, const BurnValue *value) {
  switch (type->kind) {
    case BURN_TYPE_PARAM:
    case BURN_TYPE_BUFFER:
      return put_param(writer, type, value);
    case BURN_TYPE_MODULE:
    case BURN_TYPE_MODULE_VARIANT:
      return put_module(writer, type, member, value);
    case BURN_TYPE_MODULE_OPTION:
      return put_option(writer, (const BurnModuleOption *)(const void *)member, value);
    case BURN_TYPE_MODULE_LIST:
      return put_list(writer, (const BurnModuleList *)(const void *)member, value);
    default:
      put_byte(writer, 0);
      return BURN_OK;
  }
}

static bool has_tensor(const BurnValue *value) {
  if (burn_value_kind(value) == BURN_VALUE_TENSOR) return true;
  for (size_t i = 0; i < burn_value_count(value); i++) {
    if (has_tensor(burn_value_at(value, i))) return true;
  }
  return false;
}

/* A tensor where Burn has a constant would be lost. */
static BurnStatus put_empty(Writer *writer, const BurnValue *value) {
  put_byte(writer, 0);
  if (!has_tensor(value)) return BURN_OK;
  return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "a tensor that Burn keeps in no record");
}

static BurnStatus put_case(Writer *writer, const BurnType *type, const char *data, const BurnValue *value) {
  const BurnField *chosen = burn__module_case(type, data);
  const int64_t number = chosen ? case_number(type, chosen) : -1;
  if (number < 0) {
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%s of %s, which Burn 0.21 does not have",
                            chosen ? chosen->name : "no case", type->name);
  }
  put_uint(writer, (uint64_t)number);
  return put_module(writer, chosen->type(), data + chosen->offset, burn_value_at(value, 0));
}

static BurnStatus put_module(Writer *writer, const BurnType *type, const char *data, const BurnValue *value) {
  BurnStatus status = BURN_OK;
  if (type->kind == BURN_TYPE_MODULE_VARIANT) return put_case(writer, type, data, value);
  if (!burn__type_has_tensors(type)) put_byte(writer, 0);
  for (uint32_t i = 0; burn__type_has_tensors(type) && i < type->field_count && status == BURN_OK; i++) {
    const BurnField *field = &type->fields[i];
    const int kind = row_kind(type, field);
    const BurnValue *child = burn_value_get(value, field->name);
    if (kind == ROW_EMPTY) status = put_empty(writer, child);
    if (kind == ROW_AS_IT_IS) status = put_field(writer, field->type(), data + field->offset, child);
    if (status != BURN_OK) status = burn_status_annotate(status, "%s", field->name);
  }
  return status;
}

BurnStatus burn__bin_encode(const BurnValue *item, BurnModule module, const BurnRecordConfig *config, uint8_t **out,
                            size_t *out_count) {
  Writer writer = {BURN_TEXT_BUILDER, config->precision};
  BurnRecordMetadata metadata;
  burn__record_metadata(config, &metadata);
  for (size_t i = 0; i < BURN_RECORD_METADATA_TEXTS; i++) put_text(&writer, metadata.texts[i]);
  BurnStatus status = put_field(&writer, module.type, module.data, item);
  if (status == BURN_OK && writer.out.failed)
    status = burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for the record");
  if (status != BURN_OK) {
    burn__text_release(&writer.out);
    return status;
  }
  *out_count = writer.out.length;
  *out = (uint8_t *)burn__text_finish(&writer.out);
  return BURN_OK;
}

/* -- reading ---------------------------------------------------------------------------------- */

typedef struct Reader {
  const uint8_t *bytes;
  size_t count, offset;
} Reader;

static BurnStatus corrupt(size_t offset, const char *what) {
  return burn_status_make(BURN_STATUS_CORRUPT_DATA, "byte %zu: %s", offset, what);
}

static BurnStatus no_memory(void) { return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for the record"); }

static BurnStatus read_uint(Reader *reader, uint64_t *out) {
  const size_t start = reader->offset;
  if (start >= reader->count) return corrupt(start, "the file ends where a value should be");
  const uint8_t first = reader->bytes[reader->offset++];
  *out = first;
  if (first < 251) return BURN_OK;
  if (first > 253) return corrupt(start, "an integer of more than 64 bits");
  const size_t width = (size_t)2 << (first - 251);
  if (reader->count - reader->offset < width) return corrupt(start, "the file ends inside a number");
  *out = 0;
  for (size_t i = 0; i < width; i++) *out |= (uint64_t)reader->bytes[reader->offset++] << (8 * i);
  return BURN_OK;
}

/* A length of what has at least `each` bytes. */
static BurnStatus read_length(Reader *reader, size_t *out) {
  const size_t start = reader->offset;
  uint64_t length = 0;
  BurnStatus status = read_uint(reader, &length);
  if (status != BURN_OK) return status;
  if (length > reader->count - reader->offset) {
    return burn_status_make(BURN_STATUS_CORRUPT_DATA,
                            "byte %zu: length %llu with %zu bytes left: cut short, or damaged", start,
                            (unsigned long long)length, reader->count - reader->offset);
  }
  *out = (size_t)length;
  return BURN_OK;
}

/* A byte that says whether something follows. */
static BurnStatus read_tag(Reader *reader, bool *out) {
  const size_t start = reader->offset;
  if (start >= reader->count) return corrupt(start, "the file ends where a value should be");
  *out = reader->bytes[reader->offset++] == 1;
  return reader->bytes[start] <= 1 ? BURN_OK : corrupt(start, "neither absent (0) nor present (1)");
}

static BurnStatus read_empty(Reader *reader, BurnValue **out) {
  const size_t start = reader->offset;
  if (start >= reader->count) return corrupt(start, "the file ends where a value should be");
  if (reader->bytes[reader->offset++] != 0) return corrupt(start, "a value where a constant has none");
  *out = burn_value_nil();
  return *out ? BURN_OK : no_memory();
}

static BurnStatus read_text(Reader *reader, BurnValue **out) {
  const size_t start = reader->offset;
  size_t length = 0;
  BurnStatus status = read_length(reader, &length);
  if (status != BURN_OK) return status;
  const uint8_t *bytes = reader->bytes + reader->offset;
  if (length && memchr(bytes, 0, length)) return corrupt(start, "a text with a zero byte");
  char *text = malloc(length + 1);
  if (!text) return no_memory();
  if (length) memcpy(text, bytes, length);
  text[length] = '\0';
  reader->offset += length;
  *out = burn_value_text(text);
  free(text);
  return *out ? BURN_OK : no_memory();
}

static BurnStatus read_shape(Reader *reader, BurnValue *shape) {
  const size_t start = reader->offset;
  size_t rank = 0;
  BurnStatus status = read_length(reader, &rank);
  if (status == BURN_OK && rank > BURN_MAX_RANK) status = corrupt(start, "a tensor of too many axes");
  for (size_t i = 0; i < rank && status == BURN_OK; i++) {
    uint64_t size = 0;
    const size_t at = reader->offset;
    status = read_uint(reader, &size);
    if (status == BURN_OK && size > INT64_MAX) status = corrupt(at, "a size beyond 64 bits with a sign");
    if (status == BURN_OK && !burn_value_append(shape, burn_value_int((int64_t)size))) status = no_memory();
  }
  return status;
}

/* The label as named records have it: "F32", {"Bool": "Native"}. */
static BurnStatus read_dtype(Reader *reader, BurnValue **out) {
  const size_t start = reader->offset;
  uint64_t number = 0, storage = 0;
  BurnStatus status = read_uint(reader, &number);
  if (status == BURN_OK && number == DTYPE_BOOL) status = read_uint(reader, &storage);
  if (status != BURN_OK) return status;
  if (number >= DTYPE_LABELS || storage >= sizeof bool_storages / sizeof bool_storages[0])
    return corrupt(start, "a dtype that is not supported");
  *out = number == DTYPE_BOOL ? burn_value_map() : burn_value_text(dtype_labels[number]);
  if (number == DTYPE_BOOL && !burn_value_set(*out, "Bool", burn_value_text(bool_storages[storage]))) {
    burn_value_destroy(*out);
    *out = NULL;
  }
  return *out ? BURN_OK : no_memory();
}

static BurnStatus read_tensor(Reader *reader, BurnValue **out) {
  const size_t start = reader->offset;
  size_t length = 0;
  BurnValue *shape = NULL, *label = NULL;
  BurnStatus status = read_length(reader, &length);
  if (status != BURN_OK) return status;
  const uint8_t *data = reader->bytes + reader->offset;
  reader->offset += length;
  shape = burn_value_array();
  if (!shape) return no_memory();
  status = read_shape(reader, shape);
  if (status == BURN_OK) status = read_dtype(reader, &label);
  if (status == BURN_OK) {
    status = burn__record_make_tensor(label, shape, &(BurnRecordBytes){data, length, false}, out);
    if (status != BURN_OK) status = burn_status_annotate(status, "byte %zu", start);
  }
  burn_value_destroy(label);
  burn_value_destroy(shape);
  return status;
}

/* {id, param}, or nil for what is absent. */
static BurnStatus read_param(Reader *reader, const BurnType *type, BurnValue **out) {
  BurnValue *id = NULL, *tensor = NULL;
  bool is_there = true;
  BurnStatus status = may_be_absent(type) ? read_tag(reader, &is_there) : BURN_OK;
  if (status != BURN_OK) return status;
  if (!is_there) {
    *out = burn_value_nil();
    return *out ? BURN_OK : no_memory();
  }
  status = read_text(reader, &id);
  if (status == BURN_OK) status = read_tensor(reader, &tensor);
  if (status != BURN_OK) {
    burn_value_destroy(id);
    return status;
  }
  *out = burn_value_map();
  (void)burn_value_set(*out, "id", id);
  return burn_value_set(*out, "param", tensor) ? BURN_OK : no_memory();
}

static BurnStatus read_module(Reader *reader, const BurnType *type, const char *data, BurnValue **out);

static BurnStatus read_list(Reader *reader, const BurnModuleList *list, BurnValue **out) {
  const size_t start = reader->offset, wanted = list->count;
  uint64_t count = 0;
  BurnStatus status = read_uint(reader, &count);
  if (status != BURN_OK) return status;
  if (count != wanted) {
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "byte %zu: %zu modules expected, file has %llu", start,
                            wanted, (unsigned long long)count);
  }
  *out = burn_value_array();
  for (size_t i = 0; i < wanted && status == BURN_OK; i++) {
    BurnValue *item = NULL;
    status = read_module(reader, list->type, burn_module_list_at(list, i), &item);
    if (item && !burn_value_append(*out, item) && status == BURN_OK) status = no_memory();
    if (status != BURN_OK) return burn_status_annotate(status, "%zu", i);
  }
  return *out ? status : no_memory();
}

static BurnStatus read_option(Reader *reader, const BurnModuleOption *option, BurnValue **out) {
  const size_t start = reader->offset;
  bool is_there = false;
  BurnStatus status = read_tag(reader, &is_there);
  if (status != BURN_OK) return status;
  if (is_there && option->data) return read_module(reader, option->type, option->data, out);
  if (is_there)
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "byte %zu: in the file, not in the module", start);
  *out = burn_value_nil();
  return *out ? BURN_OK : no_memory();
}

static BurnStatus read_field(Reader *reader, const BurnType *type, const char *member, BurnValue **out) {
  switch (type->kind) {
    case BURN_TYPE_PARAM:
    case BURN_TYPE_BUFFER:
      return read_param(reader, type, out);
    case BURN_TYPE_MODULE:
    case BURN_TYPE_MODULE_VARIANT:
      return read_module(reader, type, member, out);
    case BURN_TYPE_MODULE_OPTION:
      return read_option(reader, (const BurnModuleOption *)(const void *)member, out);
    case BURN_TYPE_MODULE_LIST:
      return read_list(reader, (const BurnModuleList *)(const void *)member, out);
    default:
      return read_empty(reader, out);
  }
}

static BurnStatus read_case(Reader *reader, const BurnType *type, const char *data, BurnValue **out) {
  const BurnField *chosen = burn__module_case(type, data);
  const int64_t wanted = chosen ? case_number(type, chosen) : -1;
  const size_t start = reader->offset;
  uint64_t found = 0;
  BurnValue *value = NULL;
  BurnStatus status = read_uint(reader, &found);
  if (status != BURN_OK) return status;
  if (wanted < 0 || found != (uint64_t)wanted) {
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT,
                            "byte %zu: the module is %s, case %lld; the file has case %llu", start,
                            chosen ? chosen->name : "no case", (long long)wanted, (unsigned long long)found);
  }
  status = read_module(reader, chosen->type(), data + chosen->offset, &value);
  if (status != BURN_OK) {
    burn_value_destroy(value);
    return burn_status_annotate(status, "%s", chosen->name);
  }
  *out = burn_value_map();
  return burn_value_set(*out, chosen->name, value) ? BURN_OK : no_memory();
}

/* On failure *out is what there is so far. */
static BurnStatus read_module(Reader *reader, const BurnType *type, const char *data, BurnValue **out) {
  if (type->kind == BURN_TYPE_MODULE_VARIANT) return read_case(reader, type, data, out);
  if (!burn__type_has_tensors(type)) return read_empty(reader, out);
  BurnStatus status = BURN_OK;
  *out = burn_value_map();
  for (uint32_t i = 0; i < type->field_count && status == BURN_OK; i++) {
    const BurnField *field = &type->fields[i];
    const int kind = row_kind(type, field);
    BurnValue *value = NULL;
    if (kind == ROW_OF_OURS) continue;
    status = kind == ROW_EMPTY ? read_empty(reader, &value)
                               : read_field(reader, field->type(), data + field->offset, &value);
    if (value && !burn_value_set(*out, field->name, value) && status == BURN_OK) status = no_memory();
    if (status != BURN_OK) return burn_status_annotate(status, "%s", field->name);
  }
  return *out ? BURN_OK : no_memory();
}

/* The metadata as a map of texts. */
static BurnStatus read_metadata(Reader *reader, BurnValue **out) {
  BurnRecordMetadata names;
  const BurnRecordConfig any = {BURN_RECORD_BIN, BURN_PRECISION_FULL};
  burn__record_metadata(&any, &names);
  *out = burn_value_map();
  for (size_t i = 0; i < BURN_RECORD_METADATA_TEXTS; i++) {
    BurnValue *text = NULL;
    BurnStatus status = read_text(reader, &text);
    if (status != BURN_OK) return burn_status_annotate(status, "metadata %s", names.keys[i]);
    (void)burn_value_set(*out, names.keys[i], text);
  }
  return *out && !(*out)->broken ? BURN_OK : no_memory();
}

/* Fields of another version would be read as other fields. */
static BurnStatus check_version(const BurnValue *metadata) {
  const char *version = burn_value_as_text(burn_value_get(metadata, "version"), "");
  if (strncmp(version, "0.21.", 5) == 0) return BURN_OK;
  return burn_status_make(BURN_STATUS_CORRUPT_DATA,
                          "a .bin of Burn %.20s; it has no names, and only the fields of 0.21 are known: save it as "
                          ".mpk with that version",
                          version);
}

bool burn__is_bin(const uint8_t *bytes, size_t count) {
  static const char *const floats[] = {"f32", "f64", "half::binary16::f16"};
  for (size_t i = 0; i < sizeof floats / sizeof floats[0]; i++) {
    const size_t length = strlen(floats[i]);
    if (count > length && bytes[0] == length && memcmp(bytes + 1, floats[i], length) == 0) return true;
  }
  return false;
}

BurnStatus burn__bin_decode(const uint8_t *bytes, size_t count, const BurnModule *module, BurnRecordParts *out) {
  Reader reader = {bytes, count, 0};
  if (!burn__is_bin(bytes, count)) return corrupt(0, "no .bin, which begins with the name of a float type");
  BurnStatus status = read_metadata(&reader, &out->metadata);
  if (status != BURN_OK || !module) return status;
  status = check_version(out->metadata);
  if (status == BURN_OK) status = read_field(&reader, module->type, module->data, &out->item);
  if (status == BURN_OK && reader.offset < count) status = corrupt(reader.offset, "something after the end");
  return status;
}
