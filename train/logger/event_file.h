/* event_file.h - files of TensorFlow's events, as TensorBoard reads them.
 *
 * A file is a row of TFRecords: the length of the data (u64), the masked CRC32C of these 8 bytes (u32), the data, their
 * masked CRC32C; all little-endian. The mask is rotate right by 15 plus 0xa282ead8 (tensorflow/core/lib/hash/crc32c.h).
 * The data are a protobuf Event (tensorflow/core/util/event.proto and framework/summary.proto). */
#ifndef BURN_TRAIN_EVENT_FILE_H
#define BURN_TRAIN_EVENT_FILE_H

#include <stdint.h>
#include <stdio.h>

#include "text_builder.h"

/* CRC32C (Castagnoli) of bytes. */
uint32_t burn__crc32c(const void *bytes, size_t count);

/* -- protobuf messages, field by field -------------------------------------------------------- */

void burn__proto_varint(BurnTextBuilder *out, uint32_t field, uint64_t value);
void burn__proto_f32(BurnTextBuilder *out, uint32_t field, float value);
void burn__proto_f64(BurnTextBuilder *out, uint32_t field, double value);
/* A text, bytes, or a message. */
void burn__proto_bytes(BurnTextBuilder *out, uint32_t field, const void *bytes, size_t count);
void burn__proto_text(BurnTextBuilder *out, uint32_t field, const char *text);
/* A message that has been built; it is released, and its failure is that of `out`. */
void burn__proto_message(BurnTextBuilder *out, uint32_t field, BurnTextBuilder *message);
/* repeated double [packed = true] */
void burn__proto_packed_f64(BurnTextBuilder *out, uint32_t field, const double *values, size_t count);

/* -- files ------------------------------------------------------------------------------------ */

/* A file that is being written. */
typedef struct BurnEventFile {
  char *folder;
  FILE *file; /* NULL: not yet, or no longer */
} BurnEventFile;

/* Makes a file with a name of its own in the folder, and its first event, the version. */
BURN_USE_RESULT BurnStatus burn__event_file_open(BurnEventFile *file);
/* Writes that a run begins at `step`: readers leave out what they have met so far of that step and later ones. */
BURN_USE_RESULT BurnStatus burn__event_file_start(BurnEventFile *file, int64_t step);
/* Writes an event with a summary of one value, which is taken. */
BURN_USE_RESULT BurnStatus burn__event_file_add(BurnEventFile *file, int64_t step, BurnTextBuilder *value);

#endif
