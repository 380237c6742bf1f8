/* event_file.c - see event_file.h. The bytes are put together here, because they are six messages of a format that
 * cannot change, and a library for them would be one more thing that every program that trains has to ship. */
#include "event_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "learner_internal.h"
#include "logger_files.h"

/* -- checksum --------------------------------------------------------------------------------- */

static uint32_t masked(uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8u; }

/* -- protobuf --------------------------------------------------------------------------------- */

enum { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };

static void add_little_endian(BurnTextBuilder *out, uint64_t value, int bytes) {
  char text[8];
  for (int i = 0; i < bytes; i++) text[i] = (char)(unsigned char)(value >> (8 * i));
  burn__text_add_bytes(out, text, (size_t)bytes);
}

static void add_varint(BurnTextBuilder *out, uint64_t value) {
  while (value >= 0x80) {
    add_little_endian(out, (value & 0x7f) | 0x80, 1);
    value >>= 7;
  }
  add_little_endian(out, value, 1);
}

static void add_key(BurnTextBuilder *out, uint32_t field, uint32_t wire) {
  add_varint(out, ((uint64_t)field << 3) | wire);
}

static uint64_t bits_of(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

void burn__proto_varint(BurnTextBuilder *out, uint32_t field, uint64_t value) {
  add_key(out, field, WIRE_VARINT);
  add_varint(out, value);
}

void burn__proto_f32(BurnTextBuilder *out, uint32_t field, float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  add_key(out, field, WIRE_32);
  add_little_endian(out, bits, 4);
}

void burn__proto_f64(BurnTextBuilder *out, uint32_t field, double value) {
  add_key(out, field, WIRE_64);
  add_little_endian(out, bits_of(value), 8);
}

void burn__proto_bytes(BurnTextBuilder *out, uint32_t field, const void *bytes, size_t count) {
  add_key(out, field, WIRE_BYTES);
  add_varint(out, count);
  burn__text_add_bytes(out, bytes, count);
}

void burn__proto_text(BurnTextBuilder *out, uint32_t field, const char *text) {
  burn__proto_bytes(out, field, text, strlen(text));
}

void burn__proto_message(BurnTextBuilder *out, uint32_t field, BurnTextBuilder *message) {
  out->failed = out->failed || message->failed;
  if (!out->failed) burn__proto_bytes(out, field, message->text ? message->text : "", message->length);
  burn__text_release(message);
}

void burn__proto_packed_f64(BurnTextBuilder *out, uint32_t field, const double *values, size_t count) {
  add_key(out, field, WIRE_BYTES);
  add_varint(out, 8 * count);
  for (size_t i = 0; i < count; i++) add_little_endian(out, bits_of(values[i]), 8);
}

/* -- files ------------------------------------------------------------------------------------ */

/* Fields of Event. */
enum { EVENT_WALL_TIME = 1, EVENT_STEP = 2, EVENT_FILE_VERSION = 3, EVENT_SUMMARY = 5, EVENT_SESSION_LOG = 7 };

static BurnTextBuilder event_begin(int64_t step) {
  BurnTextBuilder event = BURN_TEXT_BUILDER;
  burn__proto_f64(&event, EVENT_WALL_TIME, burn__train_wall_seconds());
  burn__proto_varint(&event, EVENT_STEP, (uint64_t)step);
  return event;
}

/* Writes the event (taken) as a TFRecord. */
static BurnStatus write_event(BurnEventFile *file, BurnTextBuilder *event) {
  BurnTextBuilder record = BURN_TEXT_BUILDER;
  add_little_endian(&record, event->length, 8);
  if (!record.failed) add_little_endian(&record, masked(burn__crc32c(record.text, 8)), 4);
  if (!event->failed) {
    burn__text_add_bytes(&record, event->text, event->length);
    add_little_endian(&record, masked(burn__crc32c(event->text, event->length)), 4);
  }
  BurnStatus status = BURN_OK;
  errno = 0;
  if (event->failed || record.failed) {
    status = burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "tensorboard: %s: out of memory", file->folder);
  } else if (fwrite(record.text, 1, record.length, file->file) != record.length || fflush(file->file) != 0) {
    status = burn__file_failed("cannot write events in", file->folder, errno);
    (void)fclose(file->file);
    file->file = NULL;
  }
  burn__text_release(event);
  burn__text_release(&record);
  return status;
}

BurnStatus burn__event_file_open(BurnEventFile *file) {
  char path[BURN_PATH_BYTES];
  unsigned number = 0;
  do { /* readers take the files of a folder in the order of their names */
    (void)snprintf(path, sizeof path, "%.*s/events.out.tfevents.%010.0f.%04u.burn", BURN_ARTIFACT_BYTES, file->folder,
                   burn__train_wall_seconds(), number++);
  } while (burn__file_exists(path));
  errno = 0;
  file->file = burn__log_open(path, 0);
  if (!file->file) return burn__file_failed("cannot open", path, errno);
  BurnTextBuilder version = event_begin(0);
  burn__proto_text(&version, EVENT_FILE_VERSION, "brain.Event:2");
  return write_event(file, &version);
}

BurnStatus burn__event_file_start(BurnEventFile *file, int64_t step) {
  BurnTextBuilder start = event_begin(step), session = BURN_TEXT_BUILDER;
  burn__proto_varint(&session, 1, 1); /* SessionLog: status = START */
  burn__proto_message(&start, EVENT_SESSION_LOG, &session);
  return write_event(file, &start);
}

BurnStatus burn__event_file_add(BurnEventFile *file, int64_t step, BurnTextBuilder *value) {
  BurnTextBuilder event = event_begin(step), summary = BURN_TEXT_BUILDER;
  burn__proto_message(&summary, 1, value);
  burn__proto_message(&event, EVENT_SUMMARY, &summary);
  return write_event(file, &event);
}
