/* record_write.c - trees as record files: the formats that there are, and Burn's named MessagePack (0.14 to 0.21).
 *
 *   {"metadata": {float, int, format, version, settings, checksum}, "item": tree, "_b": []}
 *
 * A tensor is {"bytes": bin, "shape": [..], "dtype": "F32"}, little-endian and row-major, in the float or int type of
 * the chosen precision; bools stay. `checksum` is ours, of the bytes of the item: Burn passes over a key of the
 * metadata that it does not know. */
#include "host_convert.h"
#include "path_check.h"
#include "record_internal.h"

#include <burn/file.h>

#include <msgpack.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "records hold little-endian data, which is copied as it is"
#endif

/* What the metadata says about a precision, and the dtypes it stores. */
typedef struct Precision {
  const char *float_name, *int_name, *settings;
  BurnDType float_dtype, int_dtype;
} Precision;

static const Precision precisions[] = {
    [BURN_PRECISION_FULL] = {"f32", "i32", "FullPrecisionSettings", BURN_DTYPE_F32, BURN_DTYPE_I32},
    [BURN_PRECISION_HALF] = {"half::binary16::f16", "i16", "HalfPrecisionSettings", BURN_DTYPE_F16, BURN_DTYPE_I16},
    [BURN_PRECISION_DOUBLE] = {"f64", "i64", "DoublePrecisionSettings", BURN_DTYPE_F64, BURN_DTYPE_I64},
};

static const BurnRecordFormat formats[] = {
    [BURN_RECORD_MPK] = {BURN_RECORD_FAMILY_NAMED, false, "NamedMpkFileRecorder", "mpk"},
    [BURN_RECORD_MPK_GZ] = {BURN_RECORD_FAMILY_NAMED, true, "NamedMpkGzFileRecorder", "mpk.gz"},
    [BURN_RECORD_BPK] = {BURN_RECORD_FAMILY_BURNPACK, false, NULL, "bpk"},
    [BURN_RECORD_JSON] = {BURN_RECORD_FAMILY_JSON, false, "PrettyJsonFileRecorder", "json"},
    [BURN_RECORD_JSON_GZ] = {BURN_RECORD_FAMILY_JSON, true, "JsonGzFileRecorder", "json.gz"},
    [BURN_RECORD_BIN] = {BURN_RECORD_FAMILY_BIN, false, "BinFileRecorder", "bin"},
    [BURN_RECORD_BIN_GZ] = {BURN_RECORD_FAMILY_BIN, true, "BinGzFileRecorder", "bin.gz"},
};

const BurnRecordFormat *burn__record_format(uint32_t format) { return &formats[format]; }

BurnStatus burn__record_config(const BurnRecordConfig *config, BurnRecordConfig *out) {
  BurnRecordConfig chosen = config ? *config : (BurnRecordConfig){BURN_RECORD_MPK, BURN_PRECISION_FULL};
  if (chosen.format >= sizeof formats / sizeof formats[0]) {
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "record format %u is unknown", chosen.format);
  }
  if (chosen.precision == BURN_PRECISION_AS_IS && chosen.format != BURN_RECORD_BPK)
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "only a .bpk keeps the dtypes of its tensors");
  if (chosen.precision != BURN_PRECISION_AS_IS && chosen.precision >= sizeof precisions / sizeof precisions[0]) {
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "record precision %u is unknown", chosen.precision);
  }
  *out = chosen;
  return BURN_OK;
}

static bool ends_with(const char *text, size_t length, const char *end) {
  size_t wanted = strlen(end);
  return length > wanted && memcmp(text + length - wanted, end, wanted) == 0;
}

/* Length of a file name without its extension; a leading dot starts none. */
static size_t stem_length(const char *name) {
  static const char *const of_two_parts[] = {".mpk.gz", ".json.gz", ".bin.gz"};
  size_t length = strlen(name);
  for (size_t i = 0; i < sizeof of_two_parts / sizeof of_two_parts[0]; i++) {
    if (ends_with(name, length, of_two_parts[i])) return length - strlen(of_two_parts[i]);
  }
  for (size_t i = length; i-- > 1;) {
    if (name[i] == '.') return i;
  }
  return length;
}

BurnStatus burn__record_path(const char *path, uint32_t format, char **out) {
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  if (!*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0) {
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "\"%s\" names no file", path);
  }
  const bool keeps = format == BURN_RECORD_BPK && stem_length(name) < strlen(name);
  if (keeps) {
    *out = strdup(path);
    return *out ? BURN_OK : burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for a file name");
  }
  size_t stem = (size_t)(name - path) + stem_length(name), extension = strlen(formats[format].extension);
  char *made = malloc(stem + 1 + extension + 1);
  if (!made) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for a file name");
  memcpy(made, path, stem);
  made[stem] = '.';
  memcpy(made + stem + 1, formats[format].extension, extension + 1);
  *out = made;
  return BURN_OK;
}

/* Named records are those of 0.20, in which a constant of several sizes is an array; a .bin has the fields of 0.21. */
void burn__record_metadata(const BurnRecordConfig *config, BurnRecordMetadata *out) {
  const Precision *precision = &precisions[config->precision];
  const BurnRecordFormat *format = &formats[config->format];
  (void)snprintf(out->format, sizeof out->format, "burn_core::record::file::%s<burn_core::record::settings::%s>",
                 format->recorder, precision->settings);
  const char *const version = format->family == BURN_RECORD_FAMILY_BIN ? "0.21.0" : "0.20.1";
  const char *const keys[] = {"float", "int", "format", "version", "settings"};
  const char *const texts[] = {precision->float_name, precision->int_name, out->format, version, precision->settings};
  memcpy(out->keys, keys, sizeof keys);
  memcpy(out->texts, texts, sizeof texts);
}

/* -- MessagePack ------------------------------------------------------------------------------ */

typedef struct Writer {
  msgpack_sbuffer buffer;
  msgpack_packer packer;
  const BurnRecordConfig *config;
  size_t elements;
  bool failed; /* out of memory */
} Writer;

/* Remembers that a msgpack_pack_ call failed: they only do when memory runs out. */
static void note(Writer *writer, int result) {
  if (result != 0) writer->failed = true;
}

static void put_text(Writer *writer, const char *text) {
  size_t length = strlen(text);
  note(writer, msgpack_pack_str(&writer->packer, length));
  note(writer, msgpack_pack_str_body(&writer->packer, text, length));
}

const char *burn__record_dtype_label(BurnDType dtype) {
  static const char *const labels[BURN_DTYPE_LIMIT] = {
      [BURN_DTYPE_BOOL] = "Bool", [BURN_DTYPE_U8] = "U8",   [BURN_DTYPE_I8] = "I8",   [BURN_DTYPE_I16] = "I16",
      [BURN_DTYPE_I32] = "I32",   [BURN_DTYPE_I64] = "I64", [BURN_DTYPE_F16] = "F16", [BURN_DTYPE_BF16] = "BF16",
      [BURN_DTYPE_F32] = "F32",   [BURN_DTYPE_F64] = "F64",
  };
  return labels[dtype];
}

BurnDType burn__record_dtype(const BurnHostTensor *tensor, uint32_t precision) {
  const uint32_t kind = burn_dtype_kind(tensor->dtype);
  if (tensor->is_quantized || precision == BURN_PRECISION_AS_IS) return tensor->dtype;
  if (kind == BURN_KIND_FLOAT) return precisions[precision].float_dtype;
  return kind == BURN_KIND_INT ? precisions[precision].int_dtype : tensor->dtype;
}

BurnStatus burn__record_store(const BurnHostTensor *tensor, BurnDType dtype, void *out) {
  if (dtype != tensor->dtype) return burn__host_convert(out, dtype, tensor->data, tensor->dtype, tensor->count);
  if (tensor->bytes) memcpy(out, tensor->data, tensor->bytes);
  return BURN_OK;
}

size_t burn__record_bytes(const BurnHostTensor *tensor, BurnDType dtype) {
  return tensor->is_quantized ? tensor->bytes : tensor->count * burn_dtype_bytes(dtype);
}

static BurnStatus put_bytes(Writer *writer, const BurnHostTensor *tensor, BurnDType dtype) {
  const size_t bytes = burn__record_bytes(tensor, dtype);
  if (bytes > UINT32_MAX) {
    return burn_status_make(BURN_STATUS_OUT_OF_RANGE, "tensor of %zu bytes; a MessagePack bin holds %u", bytes,
                            UINT32_MAX);
  }
  note(writer, msgpack_pack_bin(&writer->packer, bytes));
  if (dtype == tensor->dtype) {
    note(writer, msgpack_pack_bin_body(&writer->packer, tensor->data, bytes));
    return BURN_OK;
  }
  void *converted = malloc(bytes ? bytes : 1);
  if (!converted) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for %zu bytes", bytes);
  BurnStatus status = burn__host_convert(converted, dtype, tensor->data, tensor->dtype, tensor->count);
  if (status == BURN_OK) note(writer, msgpack_pack_bin_body(&writer->packer, converted, bytes));
  free(converted);
  return status;
}

static BurnStatus put_value(Writer *writer, const BurnValue *value, unsigned depth);

static BurnStatus put_scheme(Writer *writer, const BurnQuantScheme *scheme, unsigned depth) {
  BurnValue *value = burn__record_scheme(scheme);
  const BurnStatus status = put_value(writer, value, depth);
  burn_value_destroy(value);
  return status;
}

static BurnStatus put_tensor(Writer *writer, const BurnHostTensor *tensor, unsigned depth) {
  const BurnDType dtype = burn__record_dtype(tensor, writer->config->precision);
  writer->elements += 3 + tensor->shape.rank;
  note(writer, msgpack_pack_map(&writer->packer, 3));
  put_text(writer, "bytes");
  BurnStatus status = put_bytes(writer, tensor, dtype);
  if (status != BURN_OK) return status;
  put_text(writer, "shape");
  note(writer, msgpack_pack_array(&writer->packer, tensor->shape.rank));
  for (uint32_t i = 0; i < tensor->shape.rank; i++) {
    note(writer, msgpack_pack_uint64(&writer->packer, (uint64_t)tensor->shape.dims[i]));
  }
  put_text(writer, "dtype");
  if (tensor->is_quantized) return put_scheme(writer, &tensor->scheme, depth + 1);
  put_text(writer, burn__record_dtype_label(dtype));
  return BURN_OK;
}

static BurnStatus put_list(Writer *writer, const BurnValue *list, unsigned depth) {
  bool is_map = list->kind == BURN_VALUE_MAP;
  size_t count = list->as.list.count;
  if (list->broken) {
    return burn_status_make(BURN_STATUS_FAILED_PRECONDITION,
                            "a part of the record could not be made (see the failure before)");
  }
  if (count > BURN_RECORD_ELEMENT_LIMIT) {
    return burn_status_make(BURN_STATUS_OUT_OF_RANGE, "%zu entries, limit %d", count, BURN_RECORD_ELEMENT_LIMIT);
  }
  note(writer, is_map ? msgpack_pack_map(&writer->packer, count) : msgpack_pack_array(&writer->packer, count));
  for (size_t i = 0; i < count; i++) {
    if (is_map) put_text(writer, list->as.list.keys[i]);
    BurnStatus status = put_value(writer, list->as.list.items[i], depth + 1);
    if (status == BURN_OK) continue;
    return is_map ? burn_status_annotate(status, "%.80s", list->as.list.keys[i])
                  : burn_status_annotate(status, "%zu", i);
  }
  return BURN_OK;
}

static BurnStatus put_value(Writer *writer, const BurnValue *value, unsigned depth) {
  if (!value)
    return burn_status_make(BURN_STATUS_FAILED_PRECONDITION, "the value could not be made (see the failure before)");
  unsigned deepest = value->kind == BURN_VALUE_TENSOR ? depth + 2 : depth; /* the entries of its shape */
  if (deepest > BURN_RECORD_NESTING_LIMIT) {
    return burn_status_make(BURN_STATUS_OUT_OF_RANGE, "nested deeper than %d", BURN_RECORD_NESTING_LIMIT);
  }
  if (++writer->elements > BURN_RECORD_ELEMENT_LIMIT) {
    return burn_status_make(BURN_STATUS_OUT_OF_RANGE, "more than %d elements", BURN_RECORD_ELEMENT_LIMIT);
  }
  msgpack_packer *packer = &writer->packer;
  switch (value->kind) {
    case BURN_VALUE_NIL:
      note(writer, msgpack_pack_nil(packer));
      return BURN_OK;
    case BURN_VALUE_BOOL:
      note(writer, value->as.boolean ? msgpack_pack_true(packer) : msgpack_pack_false(packer));
      return BURN_OK;
    case BURN_VALUE_INT:
      note(writer, msgpack_pack_int64(packer, value->as.integer));
      return BURN_OK;
    case BURN_VALUE_FLOAT:
      note(writer, msgpack_pack_double(packer, value->as.number));
      return BURN_OK;
    case BURN_VALUE_TEXT:
      put_text(writer, value->as.text);
      return BURN_OK;
    case BURN_VALUE_TENSOR:
      return put_tensor(writer, value->as.tensor, depth);
    default:
      return put_list(writer, value, depth);
  }
}

/* All but the checksum, whose key stands at the end and whose text follows when the item is known. */
static void put_metadata(Writer *writer) {
  BurnRecordMetadata metadata;
  burn__record_metadata(writer->config, &metadata);
  note(writer, msgpack_pack_map(&writer->packer, BURN_RECORD_METADATA_TEXTS + 1));
  for (size_t i = 0; i < BURN_RECORD_METADATA_TEXTS; i++) {
    put_text(writer, metadata.keys[i]);
    put_text(writer, metadata.texts[i]);
  }
  put_text(writer, "checksum");
}

/* The item after the checksum of its bytes. */
static BurnStatus put_item(Writer *writer, const BurnValue *item) {
  BurnRecordChecksum checksum = {""};
  put_text(writer, burn__record_checksum(&checksum, NULL, 0)); /* its place */
  size_t place = writer->buffer.size - strlen(checksum.text);
  put_text(writer, "item");
  size_t begin = writer->buffer.size;
  BurnStatus status = put_value(writer, item, 1);
  if (status != BURN_OK || writer->failed) return status;
  burn__record_checksum(&checksum, (const uint8_t *)writer->buffer.data + begin, writer->buffer.size - begin);
  memcpy(writer->buffer.data + place, checksum.text, strlen(checksum.text));
  return BURN_OK;
}

static BurnStatus encode_named(const BurnValue *item, const BurnRecordConfig *config, uint8_t **out,
                               size_t *out_count) {
  Writer writer;
  writer.config = config;
  writer.elements = 3 + 6; /* map, metadata and its texts, "_b" */
  writer.failed = false;
  msgpack_sbuffer_init(&writer.buffer);
  msgpack_packer_init(&writer.packer, &writer.buffer, msgpack_sbuffer_write);
  note(&writer, msgpack_pack_map(&writer.packer, 3));
  put_text(&writer, "metadata");
  put_metadata(&writer);
  BurnStatus status = put_item(&writer, item);
  put_text(&writer, "_b");
  note(&writer, msgpack_pack_array(&writer.packer, 0));
  if (status == BURN_OK && writer.failed)
    status = burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for the record");
  if (status == BURN_OK) {
    *out_count = writer.buffer.size;
    *out = (uint8_t *)msgpack_sbuffer_release(&writer.buffer);
  }
  msgpack_sbuffer_destroy(&writer.buffer);
  return status;
}

/* -- files ------------------------------------------------------------------------------------ */

static BurnStatus encode_plain(const BurnValue *item, const BurnModule *module, const BurnRecordConfig *config,
                               uint8_t **out, size_t *out_count) {
  switch (formats[config->format].family) {
    case BURN_RECORD_FAMILY_JSON:
      return burn__json_encode(item, config, out, out_count);
    case BURN_RECORD_FAMILY_BIN:
      if (module) return burn__bin_encode(item, *module, config, out, out_count);
      return burn_status_make(BURN_STATUS_INVALID_ARGUMENT,
                              "a .bin has no names, and is only made of a module: burn_record_save");
    case BURN_RECORD_FAMILY_BURNPACK:
      return burn__burnpack_encode(item, config, out, out_count);
    default:
      return encode_named(item, config, out, out_count);
  }
}

BurnStatus burn__record_encode(const BurnValue *item, const BurnModule *module, const BurnRecordConfig *config,
                               uint8_t **out, size_t *out_count) {
  uint8_t *plain = NULL;
  size_t count = 0;
  if (!formats[config->format].gzipped) return encode_plain(item, module, config, out, out_count);
  BurnStatus status = encode_plain(item, module, config, &plain, &count);
  if (status == BURN_OK) status = burn__gzip_compress(plain, count, out, out_count);
  free(plain);
  return status;
}

static BurnStatus encode_and_write(const BurnValue *value, const BurnModule *module, const char *path,
                                   const BurnRecordConfig *config) {
  uint8_t *bytes = NULL;
  size_t count = 0;
  BurnStatus status = burn__record_encode(value, module, config, &bytes, &count);
  if (status == BURN_OK) status = burn_file_write(path, bytes, count);
  free(bytes);
  return status;
}

BurnStatus burn__record_write(const BurnValue *value, const BurnModule *module, const char *path,
                              const BurnRecordConfig *config) {
  BurnRecordConfig chosen = {0, 0};
  char *full_path = NULL;
  BurnStatus status = burn__path_check("save", path);
  if (status != BURN_OK) return status;
  status = burn__record_config(config, &chosen);
  if (status == BURN_OK) status = burn__record_path(path, chosen.format, &full_path);
  if (status != BURN_OK) return burn_status_annotate(status, "save %s", path);
  status = encode_and_write(value, module, full_path, &chosen);
  if (status != BURN_OK) status = burn_status_annotate(status, "save %s", full_path);
  free(full_path);
  return status;
}

BurnStatus burn_value_write(const BurnValue *value, const char *path, const BurnRecordConfig *config) {
  return burn__record_write(value, NULL, path, config);
}
