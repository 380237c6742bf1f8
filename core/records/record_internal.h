/* record_internal.h - what the files of this folder share about record files. */
#ifndef BURN_CORE_RECORD_INTERNAL_H
#define BURN_CORE_RECORD_INTERNAL_H

#include "module_internal.h"
#include "value_internal.h"

/* Limits of a tree, checked when it is written and when it is read. */
enum {
  BURN_RECORD_NESTING_LIMIT = 64,
  BURN_RECORD_SCHEME_NESTING = 6,     /* of a quantized tensor: its dtype, down to the sizes of a block */
  BURN_RECORD_ELEMENT_LIMIT = 1 << 20 /* MessagePack objects, keys apart */
};

/* How the bytes of a format are made; each of the first three plain or gzipped. */
enum { BURN_RECORD_FAMILY_NAMED, BURN_RECORD_FAMILY_JSON, BURN_RECORD_FAMILY_BIN, BURN_RECORD_FAMILY_BURNPACK };

/* A BURN_RECORD_ format. */
typedef struct BurnRecordFormat {
  uint32_t family;
  bool gzipped;
  const char *recorder; /* of Burn; NULL for a Burnpack */
  const char *extension;
} BurnRecordFormat;
const BurnRecordFormat *burn__record_format(uint32_t format);

/* The texts that begin a record: float, int, format, version, settings, in Burn's order. */
enum { BURN_RECORD_METADATA_TEXTS = 5 };
typedef struct BurnRecordMetadata {
  const char *keys[BURN_RECORD_METADATA_TEXTS], *texts[BURN_RECORD_METADATA_TEXTS];
  char format[160];
} BurnRecordMetadata;
void burn__record_metadata(const BurnRecordConfig *config, BurnRecordMetadata *out);

/* The configuration to use: *config, or the default for NULL; fails on unknown numbers. */
BurnStatus burn__record_config(const BurnRecordConfig *config, BurnRecordConfig *out);

/* `path` with the extension of the format in place of its own; malloc'd. One of two parts, .mpk.gz, goes as a whole.
 * ".bpk" is only appended where there is no extension. */
BurnStatus burn__record_path(const char *path, uint32_t format, char **out);

/* gzip around whole buffers; the results are malloc'd. */
BurnStatus burn__gzip_compress(const uint8_t *bytes, size_t count, uint8_t **out, size_t *out_count);
BurnStatus burn__gzip_expand(const uint8_t *bytes, size_t count, uint8_t **out, size_t *out_count);

/* "crc32:0123abcd" of the bytes of an item, as it stands in the metadata; returns the text. */
typedef struct BurnRecordChecksum {
  char text[16];
} BurnRecordChecksum;
const char *burn__record_checksum(BurnRecordChecksum *out, const uint8_t *bytes, size_t count);

/* What a file holds. */
typedef struct BurnRecordParts {
  BurnValue *metadata; /* a map of texts; NULL where a Burnpack has none */
  BurnValue *item;
} BurnRecordParts;
void burn__record_parts_release(BurnRecordParts *parts);

/* A record file in memory; *out is untouched on failure. `module` is what the item is of, NULL for any other tree: a
 * .bin has no names and is refused without it. */
BurnStatus burn__record_encode(const BurnValue *item, const BurnModule *module, const BurnRecordConfig *config,
                               uint8_t **out, size_t *out_count);
BurnStatus burn__record_decode(const uint8_t *bytes, size_t count, uint32_t format, const BurnModule *module,
                               BurnRecordParts *out);
/* burn_value_read for a module, which may be NULL. */
BurnStatus burn__record_read(const char *path, const BurnRecordConfig *config, const BurnModule *module,
                             BurnValue **out);
BurnStatus burn__record_write(const BurnValue *value, const BurnModule *module, const char *path,
                              const BurnRecordConfig *config);

/* The top of a record: the keys metadata (with version), item and _b. The last two take metadata and item out of it. */
BurnStatus burn__record_check_top(const BurnValue *top);
BurnStatus burn__record_take_parts(BurnValue *top, BurnRecordParts *out);

/* The families without gzip. Of a .bin without a module only the metadata are read. */
BurnStatus burn__json_encode(const BurnValue *item, const BurnRecordConfig *config, uint8_t **out, size_t *out_count);
BurnStatus burn__json_decode(const uint8_t *bytes, size_t count, BurnRecordParts *out);
BurnStatus burn__bin_encode(const BurnValue *item, BurnModule module, const BurnRecordConfig *config, uint8_t **out,
                            size_t *out_count);
BurnStatus burn__bin_decode(const uint8_t *bytes, size_t count, const BurnModule *module, BurnRecordParts *out);
bool burn__is_bin(const uint8_t *bytes, size_t count);

/* The same for a Burnpack, whose item is flat: a map from path to {id, param: tensor}, to a tensor that has no id, or
 * to a number or bool. */
BurnStatus burn__burnpack_encode(const BurnValue *item, const BurnRecordConfig *config, uint8_t **out,
                                 size_t *out_count);
/* `stay`: the bytes outlive what is read, whose tensors are left in them. */
BurnStatus burn__burnpack_decode(const uint8_t *bytes, size_t count, bool stay, BurnRecordParts *out);
bool burn__is_burnpack(const uint8_t *bytes, size_t count);

/* Tensors as they stand in files: the dtype that a precision stores one in, its name, its elements in that dtype at
 * `out`; and one made of what a file says. */
BurnDType burn__record_dtype(const BurnHostTensor *tensor, uint32_t precision);
const char *burn__record_dtype_label(BurnDType dtype);
BurnStatus burn__record_store(const BurnHostTensor *tensor, BurnDType dtype, void *out);
typedef struct BurnRecordBytes {
  const uint8_t *bytes; /* NULL if there are none */
  size_t count;
  bool stay; /* they outlive the value, so that they need not be copied */
} BurnRecordBytes;
BurnStatus burn__record_make_tensor(const BurnValue *label, const BurnValue *axes, const BurnRecordBytes *data,
                                    BurnValue **out);
/* Whether a value may have the bytes themselves: they stay, and lie as malloc's do. */
bool burn__record_can_borrow(const BurnRecordBytes *data);

/* Bytes of the tensor when it is stored in that dtype. */
size_t burn__record_bytes(const BurnHostTensor *tensor, BurnDType dtype);

/* -- record_param.c: parameters, plain and quantized ------------------------------------------- */

/* {"QFloat": scheme}, the dtype of a quantized tensor. */
BurnValue *burn__record_scheme(const BurnQuantScheme *scheme);
/* A quantized tensor of what a file says: the scheme, and bytes, which are copied unless they can be borrowed. */
BurnStatus burn__record_make_quantized(const BurnValue *scheme, const BurnShape *shape, const BurnRecordBytes *data,
                                       BurnValue **out);
/* A tensor of a tree on a device; of a quantized one the floats it stands for. */
BurnTensor *burn__host_tensor_on(const BurnHostTensor *host, BurnDevice *device);

/* The tensor of a parameter as records have it, without its adapter, or of a buffer; *out stays NULL if it is absent.
 */
BurnStatus burn__record_tensor_value(const BurnModuleTensor *tensor, BurnValue **out);
/* The scale of a parameter's input, NULL where it has no fixed one. */
BurnStatus burn__record_input_scale(const BurnParam *param, BurnValue **out);
/* Its name in a flat record, "fc.weight.input_scale", to be freed; NULL without memory. */
char *burn__record_input_scale_name(const char *path);

/* A tensor with the file's values in a dtype, on the device and with the tracking of `like`. Of a transposed parameter
 * the last two axes are swapped back. */
BurnStatus burn__record_make_like(const BurnTensor *like, BurnDType dtype, const BurnHostTensor *host, bool transposed,
                                  BurnTensor **out);

/* What a file has for a parameter, made and waiting to be put into it. */
typedef struct BurnRecordParam {
  BurnQuantTensor quant;   /* of a plain one the values are the floats */
  BurnTensor *input_scale; /* NULL: none */
  BurnDType dtype;         /* of the floats */
  bool is_quantized;
} BurnRecordParam;
/* `dtype` is that of the floats; of a quantized tensor in the file, a float's. `input_scale` NULL: the file has none.
 * On failure nothing is to be dropped. */
BurnStatus burn__record_make_param(const BurnParam *param, BurnDType dtype, const BurnHostTensor *host,
                                   const BurnValue *input_scale, BurnRecordParam *out);
void burn__record_param_drop(BurnRecordParam *made);
/* Takes the tensors. The parameter becomes quantized, or plain; its adapter stays. */
void burn__record_set_param(BurnParam *param, BurnRecordParam *made);

/* A module as the tree of a named record, or flat, as a Burnpack has it; and from the latter, all or nothing. */
BurnStatus burn__module_to_value(BurnModule module, BurnValue **out);
BurnStatus burn__module_to_flat(BurnModule module, BurnValue **out);
BurnStatus burn__flat_into_module(const BurnValue *flat, BurnModule module);

/* The id in a record: 13 or 10 characters of base32, or a UUID, which is hashed. False for any other text. */
bool burn__param_id_parse(const char *text, uint64_t *id);

#endif
