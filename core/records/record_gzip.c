/* record_gzip.c - gzip of whole record files, and the checksum of their items: what zlib does for records.
 *
 * zlib checks length and CRC at the end. A few bytes can expand a thousandfold (deflate's limit is 1032), so the output
 * is bounded (burn_unpack_limit), and memory grows only as real output arrives. The same bound is kept when writing: no
 * file is made that would not be read. */
#include "record_internal.h"

#include <burn/file.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { GZIP_WINDOW = 15 + 16 }; /* largest window, gzip header */

const char *burn__record_checksum(BurnRecordChecksum *out, const uint8_t *bytes, size_t count) {
  (void)snprintf(out->text, sizeof out->text, "crc32:%08lx", crc32_z(0, bytes, count) & 0xffffffffUL);
  return out->text;
}

size_t burn_unpack_limit(size_t packed) {
  if (packed > SIZE_MAX / BURN_UNPACK_RATIO) return SIZE_MAX;
  return packed * BURN_UNPACK_RATIO > BURN_UNPACK_LEAST ? packed * BURN_UNPACK_RATIO : BURN_UNPACK_LEAST;
}

/* A buffer that zlib fills. */
typedef struct Output {
  uint8_t *bytes;
  size_t count, capacity;
} Output;

/* Makes room if there is none, up to `limit` bytes in all, and shows it to zlib. */
static BurnStatus offer_room(Output *output, z_stream *stream, size_t limit) {
  if (output->count == output->capacity) {
    size_t capacity = output->capacity ? output->capacity * 2 : 1 << 16;
    if (capacity > limit) capacity = limit;
    if (capacity == output->capacity) {
      return burn_status_make(BURN_STATUS_OUT_OF_RANGE, "gzip: expands to more than %zu bytes", limit);
    }
    uint8_t *bytes = realloc(output->bytes, capacity);
    if (!bytes) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "gzip: no memory for %zu bytes", capacity);
    output->bytes = bytes;
    output->capacity = capacity;
  }
  size_t room = output->capacity - output->count;
  stream->next_out = output->bytes + output->count;
  stream->avail_out = room < (1u << 30) ? (uInt)room : 1u << 30;
  return BURN_OK;
}

/* Shows zlib the next piece of the input, of which it has used up the last. */
static void offer_input(z_stream *stream, const uint8_t *bytes, size_t count, size_t *given) {
  if (stream->avail_in > 0) return;
  size_t left = count - *given, piece = left < (1u << 30) ? left : 1u << 30;
  stream->next_in = (z_const Bytef *)(uintptr_t)(bytes + *given); /* zlib's type is not const; it only reads */
  stream->avail_in = (uInt)piece;
  *given += piece;
}

static BurnStatus finish(BurnStatus status, Output *output, uint8_t **out, size_t *out_count) {
  if (status != BURN_OK) {
    free(output->bytes);
    return status;
  }
  *out = output->bytes;
  *out_count = output->count;
  return BURN_OK;
}

BurnStatus burn__gzip_compress(const uint8_t *bytes, size_t count, uint8_t **out, size_t *out_count) {
  z_stream stream;
  Output output = {NULL, 0, 0};
  BurnStatus status = BURN_OK;
  size_t given = 0;
  int result = Z_OK;
  memset(&stream, 0, sizeof stream);
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
    return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "gzip: cannot start");
  }
  while (result != Z_STREAM_END && status == BURN_OK) {
    offer_input(&stream, bytes, count, &given);
    status = offer_room(&output, &stream, SIZE_MAX);
    if (status != BURN_OK) break;
    uInt room = stream.avail_out;
    result = deflate(&stream, given == count ? Z_FINISH : Z_NO_FLUSH);
    output.count += room - stream.avail_out;
    if (result < 0 && result != Z_BUF_ERROR)
      status = burn_status_make(BURN_STATUS_INTERNAL, "gzip: deflate: %d", result);
  }
  (void)deflateEnd(&stream);
  if (status == BURN_OK && count > burn_unpack_limit(output.count)) {
    status = burn_status_make(BURN_STATUS_OUT_OF_RANGE,
                              "gzip: %zu bytes compress to %zu, which would not be read again; save without gzip",
                              count, output.count);
  }
  return finish(status, &output, out, out_count);
}

static BurnStatus expand_failure(const z_stream *stream, int result, size_t offset) {
  if (result == Z_MEM_ERROR) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "gzip: no memory");
  if (result == Z_BUF_ERROR)
    return burn_status_make(BURN_STATUS_CORRUPT_DATA, "gzip: file ends at byte %zu, too early", offset);
  return burn_status_make(BURN_STATUS_CORRUPT_DATA, "gzip: byte %zu: %s", offset,
                          stream->msg ? stream->msg : "bad data");
}

BurnStatus burn__gzip_expand(const uint8_t *bytes, size_t count, uint8_t **out, size_t *out_count) {
  z_stream stream;
  Output output = {NULL, 0, 0};
  BurnStatus status = BURN_OK;
  size_t given = 0, limit = burn_unpack_limit(count);
  int result = Z_OK;
  memset(&stream, 0, sizeof stream);
  if (inflateInit2(&stream, GZIP_WINDOW) != Z_OK)
    return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "gzip: cannot start");
  while (result != Z_STREAM_END && status == BURN_OK) {
    offer_input(&stream, bytes, count, &given);
    status = offer_room(&output, &stream, limit);
    if (status != BURN_OK) break;
    uInt room = stream.avail_out;
    result = inflate(&stream, Z_NO_FLUSH);
    output.count += room - stream.avail_out;
    if (result == Z_NEED_DICT) result = Z_DATA_ERROR;
    if (result < 0) status = expand_failure(&stream, result, given - stream.avail_in);
  }
  size_t used = given - stream.avail_in;
  (void)inflateEnd(&stream);
  if (status == BURN_OK && used < count) {
    status =
        burn_status_make(BURN_STATUS_CORRUPT_DATA, "gzip: %zu bytes after the end at byte %zu", count - used, used);
  }
  return finish(status, &output, out, out_count);
}
