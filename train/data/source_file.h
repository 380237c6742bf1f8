/* source_file.h - the bytes of a file, inflated if it is gzipped, for the readers of this folder. */
#ifndef BURN_TRAIN_SOURCE_FILE_H
#define BURN_TRAIN_SOURCE_FILE_H

#include <burn/burn.h>

#include <stdio.h>
#include <zlib.h>

/* An open file. Zeros and the first two before burn__source_open. */
typedef struct BurnSourceFile {
  const char *reader; /* whose messages they are: "mnist" */
  const char *path;
  FILE *file;
  bool compressed;
  bool stream_ended;
  z_stream stream;
  unsigned char input[16384];
  uint64_t file_bytes; /* as they lie there */
  uint64_t offset;     /* of the next byte of data */
} BurnSourceFile;

/* Opens the file, as gzipped if it begins as such a file does. On failure nothing is open. */
BURN_USE_RESULT BurnStatus burn__source_open(BurnSourceFile *source);
/* Reads up to `wanted` bytes of data; *got is less only at their end. Bytes that unpack to more than
 * burn_unpack_limit are OUT_OF_RANGE. */
BURN_USE_RESULT BurnStatus burn__source_read(BurnSourceFile *source, void *out, size_t wanted, size_t *got);
/* After the last byte of data: that a gzipped file was whole and ends there, too. */
BURN_USE_RESULT BurnStatus burn__source_end(BurnSourceFile *source);
/* Closes what is open. */
void burn__source_close(BurnSourceFile *source);

#endif
