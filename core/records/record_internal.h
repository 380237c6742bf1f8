/* record_internal.h - what record_write.c, record_read.c, record_gzip.c and record_module.c share. */
#ifndef BURN_CORE_RECORD_INTERNAL_H
#define BURN_CORE_RECORD_INTERNAL_H

#include "value_internal.h"

/* Limits of a tree, checked when it is written and when it is read. */
enum {
  BURN_RECORD_NESTING_LIMIT = 64,
  BURN_RECORD_ELEMENT_LIMIT = 1 << 20 /* MessagePack objects, keys apart */
};

/* The configuration to use: *config, or the default for NULL; fails on unknown numbers. */
BurnStatus burn__record_config(const BurnRecordConfig *config, BurnRecordConfig *out);

/* `path` with the extension of the format in place of its own; malloc'd. A path that ends in .mpk or .mpk.gz loses all
 * of that first. */
BurnStatus burn__record_path(const char *path, uint32_t format, char **out);

/* gzip around whole buffers; the results are malloc'd. */
BurnStatus burn__gzip_compress(const uint8_t *bytes, size_t count, uint8_t **out, size_t *out_count);
BurnStatus burn__gzip_expand(const uint8_t *bytes, size_t count, uint8_t **out, size_t *out_count);

/* "crc32:0123abcd" of the bytes of an item, as it stands in the metadata; returns the text. */
typedef struct BurnRecordChecksum {
  char text[16];
} BurnRecordChecksum;
const char *burn__record_checksum(BurnRecordChecksum *out, const uint8_t *bytes, size_t count);

/* A record file in memory, before compression. */
BurnStatus burn__record_encode(const BurnValue *item, const BurnRecordConfig *config, uint8_t **out, size_t *out_count);
BurnStatus burn__record_decode(const uint8_t *bytes, size_t count, BurnValue **item);

BurnStatus burn__module_to_value(BurnModule module, BurnValue **out);

/* The id in a record: 13 or 10 characters of base32, or a UUID, which is hashed. False for any other text. */
bool burn__param_id_parse(const char *text, uint64_t *id);

#endif
