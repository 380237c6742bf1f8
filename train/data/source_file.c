/* source_file.c - the bytes of a file, inflated if it is gzipped. Sizes are checked before they are used: what a stream
 * unpacks to is bounded (burn_unpack_limit), its checksum is verified, and nothing may follow it. Messages name the
 * file and the offset within the (uncompressed) data. */
#include "source_file.h"
#include "learner_internal.h"

#include <burn/file.h>

#include <errno.h>
#include <string.h>

enum { GZIP_FIRST = 0x1f, GZIP_SECOND = 0x8b, MAX_PIECE = 1 << 30 };

/* "reader: path: reason", as an IO failure. */
static BurnStatus source_failed(const BurnSourceFile *source, int number) {
  char text[128];
  return burn_status_make(BURN_STATUS_IO, "%s: %s: %s", source->reader, source->path,
                          burn__train_errno_text(number, text, sizeof text));
}

/* Refills the input once it is used up; *any is false at the end of the file. */
static BurnStatus source_refill(BurnSourceFile *source, bool *any) {
  if (source->stream.avail_in == 0) {
    errno = 0;
    const size_t got = fread(source->input, 1, sizeof source->input, source->file);
    if (got == 0 && ferror(source->file)) return source_failed(source, errno);
    source->stream.next_in = source->input;
    source->stream.avail_in = (uInt)got;
  }
  *any = source->stream.avail_in > 0;
  return BURN_OK;
}

/* Prepares for the kind of file that the first bytes show. */
static BurnStatus kind_find(BurnSourceFile *source) {
  bool any = false;
  const BurnStatus status = source_refill(source, &any);
  if (status != BURN_OK) return status;
  source->compressed =
      source->stream.avail_in >= 2 && source->input[0] == GZIP_FIRST && source->input[1] == GZIP_SECOND;
  if (!source->compressed || inflateInit2(&source->stream, 16 + MAX_WBITS) == Z_OK) return BURN_OK;
  source->compressed = false;
  return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "%s: %s: no memory to inflate", source->reader, source->path);
}

BurnStatus burn__source_open(BurnSourceFile *source) {
  BurnStatus status = burn_status_annotate(burn_file_open(source->path, &source->file, &source->file_bytes), "%s: %s",
                                           source->reader, source->path);
  if (status != BURN_OK) return status;
  status = kind_find(source);
  if (status != BURN_OK) burn__source_close(source);
  return status;
}

void burn__source_close(BurnSourceFile *source) {
  if (source->compressed) inflateEnd(&source->stream);
  if (source->file != NULL) fclose(source->file);
  source->compressed = false;
  source->file = NULL;
}

static BurnStatus inflate_failed(const BurnSourceFile *source, int code) {
  if (code == Z_MEM_ERROR)
    return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "%s: %s: no memory to inflate", source->reader, source->path);
  return burn_status_make(BURN_STATUS_CORRUPT_DATA, "%s: %s: damaged gzip stream at offset %llu of the data: %s",
                          source->reader, source->path, (unsigned long long)source->offset,
                          source->stream.msg != NULL ? source->stream.msg : zError(code));
}

static BurnStatus bound_check(const BurnSourceFile *source) {
  const size_t limit = burn_unpack_limit((size_t)source->file_bytes);
  if (source->offset <= limit) return BURN_OK;
  return burn_status_make(BURN_STATUS_OUT_OF_RANGE,
                          "%s: %s: at most %zu bytes are unpacked from a file of %llu; unpack it with gzip -d",
                          source->reader, source->path, limit, (unsigned long long)source->file_bytes);
}

static BurnStatus source_inflate(BurnSourceFile *source, unsigned char *out, size_t wanted, size_t *got) {
  while (*got < wanted && !source->stream_ended) {
    bool any = false;
    const BurnStatus status = source_refill(source, &any);
    if (status != BURN_OK || !any) return status;
    const size_t room = wanted - *got < MAX_PIECE ? wanted - *got : MAX_PIECE;
    source->stream.next_out = out + *got;
    source->stream.avail_out = (uInt)room;
    const int code = inflate(&source->stream, Z_NO_FLUSH);
    const size_t made = room - source->stream.avail_out;
    *got += made;
    source->offset += made;
    if (code != Z_OK && code != Z_STREAM_END) return inflate_failed(source, code);
    source->stream_ended = code == Z_STREAM_END;
  }
  return bound_check(source);
}

BurnStatus burn__source_read(BurnSourceFile *source, void *out, size_t wanted, size_t *got) {
  *got = 0;
  if (source->compressed) return source_inflate(source, out, wanted, got);
  /* What was read to see the kind of file comes first. */
  const size_t first = source->stream.avail_in < wanted ? source->stream.avail_in : wanted;
  if (first > 0) memcpy(out, source->stream.next_in, first);
  source->stream.next_in += first;
  source->stream.avail_in -= (uInt)first;
  errno = 0;
  *got = first + fread((unsigned char *)out + first, 1, wanted - first, source->file);
  source->offset += *got;
  return *got < wanted && ferror(source->file) ? source_failed(source, errno) : BURN_OK;
}

BurnStatus burn__source_end(BurnSourceFile *source) {
  bool any = false;
  if (!source->compressed) return BURN_OK;
  if (!source->stream_ended)
    return burn_status_make(BURN_STATUS_CORRUPT_DATA, "%s: %s: gzip stream truncated in its checksum", source->reader,
                            source->path);
  const BurnStatus status = source_refill(source, &any);
  if (status != BURN_OK || !any) return status;
  return burn_status_make(BURN_STATUS_CORRUPT_DATA, "%s: %s: more bytes after the end of the gzip stream",
                          source->reader, source->path);
}
