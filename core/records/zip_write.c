/* zip_write.c - zip archives, made in memory. */
#include "null_check.h"

#include <burn/zip.h>

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum {
  END_BYTES = 22,
  ENTRY_BYTES = 46,
  HEADER_BYTES = 30,
  DATE_1980 = 0x21, /* the first of January, the earliest there is */
  VERSION = 20,
  NAMES_UTF8 = 0x800,
  DEFLATED = 8
};

/* What the directory says about a member that is written. */
typedef struct Written {
  uint8_t fields[26]; /* from the version on, as header and entry have them both */
  uint32_t offset;
} Written;

typedef struct Archive {
  uint8_t *bytes;
  size_t count, room;
} Archive;

static void number_put(uint8_t *bytes, size_t count, uint64_t value) {
  for (size_t i = 0; i < count; i++) bytes[i] = (uint8_t)(value >> 8 * i);
}

static void bytes_add(Archive *archive, const void *bytes, size_t count) {
  if (count > 0) memcpy(archive->bytes + archive->count, bytes, count);
  archive->count += count;
}

static void mark_add(Archive *archive, uint32_t mark) {
  uint8_t bytes[4];
  number_put(bytes, sizeof bytes, mark);
  bytes_add(archive, bytes, sizeof bytes);
}

/* Deflates to where the bytes of the member belong; the number of bytes, 0 if that fails. */
static size_t body_deflate(const BurnZipEntry *entry, uint8_t *out, size_t room) {
  z_stream stream;
  memset(&stream, 0, sizeof stream);
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK) return 0;
  stream.next_in = (z_const Bytef *)(uintptr_t)entry->bytes; /* zlib's type is not const; it only reads */
  stream.avail_in = (uInt)entry->count;
  stream.next_out = out;
  stream.avail_out = room < UINT32_MAX ? (uInt)room : UINT32_MAX;
  const int code = deflate(&stream, Z_FINISH);
  const size_t made = (size_t)(stream.next_out - out);
  deflateEnd(&stream);
  return code == Z_STREAM_END ? made : 0;
}

/* Header and bytes of a member; false where zlib has no memory. */
static bool member_add(Archive *archive, const BurnZipEntry *entry, bool deflated, Written *written) {
  const size_t name_bytes = strlen(entry->name), body = archive->count + HEADER_BYTES + name_bytes;
  size_t packed = entry->count;
  if (deflated) packed = body_deflate(entry, archive->bytes + body, archive->room - body);
  if (deflated && packed == 0) return false;
  uint8_t *fields = written->fields;
  memset(fields, 0, sizeof written->fields);
  written->offset = (uint32_t)archive->count;
  number_put(fields, 2, VERSION);
  number_put(fields + 2, 2, NAMES_UTF8);
  number_put(fields + 4, 2, deflated ? DEFLATED : 0);
  number_put(fields + 8, 2, DATE_1980);
  number_put(fields + 10, 4, crc32_z(0, entry->bytes, entry->count));
  number_put(fields + 14, 4, packed);
  number_put(fields + 18, 4, entry->count);
  number_put(fields + 22, 2, name_bytes);
  mark_add(archive, 0x04034b50);
  bytes_add(archive, fields, sizeof written->fields);
  bytes_add(archive, entry->name, name_bytes);
  if (deflated)
    archive->count += packed;
  else
    bytes_add(archive, entry->bytes, entry->count);
  return true;
}

static void entry_add(Archive *archive, const BurnZipEntry *entry, const Written *written) {
  uint8_t rest[ENTRY_BYTES - 6 - sizeof written->fields] = {0};
  const uint8_t version[] = {VERSION, 0};
  number_put(rest + sizeof rest - 4, 4, written->offset);
  mark_add(archive, 0x02014b50);
  bytes_add(archive, version, sizeof version);
  bytes_add(archive, written->fields, sizeof written->fields);
  bytes_add(archive, rest, sizeof rest);
  bytes_add(archive, entry->name, strlen(entry->name));
}

static void end_add(Archive *archive, size_t directory, size_t entries) {
  uint8_t end[END_BYTES - 4] = {0};
  number_put(end + 4, 2, entries);
  number_put(end + 6, 2, entries);
  number_put(end + 8, 4, archive->count - directory);
  number_put(end + 12, 4, directory);
  mark_add(archive, 0x06054b50);
  bytes_add(archive, end, sizeof end);
}

/* Room for all of it, deflated or not: what zlib cannot shrink grows a little. */
static bool room_of(const BurnZipEntry *entries, size_t count, size_t *room) {
  *room = END_BYTES;
  for (size_t i = 0; i < count; i++) {
    const size_t names = 2 * strlen(entries[i].name), most = entries[i].count + entries[i].count / 1000 + 128;
    if (entries[i].count > UINT32_MAX || names > UINT16_MAX) return false;
    *room += HEADER_BYTES + ENTRY_BYTES + names + most;
    if (*room > UINT32_MAX) return false;
  }
  return count < UINT16_MAX;
}

/* That it has a name and bytes. */
static BurnStatus entry_check(const BurnZipEntry *entry, size_t index) {
  if (entry->name != NULL && (entry->bytes != NULL || entry->count == 0)) return BURN_OK;
  return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "zip: member %zu has no %s", index,
                          entry->name ? "bytes" : "name");
}

BurnStatus burn_zip_make(const BurnZipEntry *entries, size_t entry_count, bool deflated, uint8_t **bytes,
                         size_t *count) {
  Archive archive = {NULL, 0, 0};
  BurnStatus status = BURN_REQUIRED(bytes, "a uint8_t *");
  if (status == BURN_OK) status = BURN_REQUIRED(count, "a size_t");
  if (status == BURN_OK && entry_count > 0) status = BURN_REQUIRED(entries, "a list of BurnZipEntry");
  for (size_t i = 0; status == BURN_OK && i < entry_count; i++) status = entry_check(&entries[i], i);
  if (status != BURN_OK) return status;
  if (!room_of(entries, entry_count, &archive.room))
    return burn_status_make(BURN_STATUS_OUT_OF_RANGE,
                            "zip: %zu members of 4 GiB and more, or too many, are not written", entry_count);
  Written *written = calloc(entry_count + 1, sizeof *written);
  archive.bytes = malloc(archive.room);
  bool good = written != NULL && archive.bytes != NULL;
  for (size_t i = 0; good && i < entry_count; i++) good = member_add(&archive, &entries[i], deflated, &written[i]);
  if (good) {
    const size_t directory = archive.count;
    for (size_t i = 0; i < entry_count; i++) entry_add(&archive, &entries[i], &written[i]);
    end_add(&archive, directory, entry_count);
    *bytes = archive.bytes;
    *count = archive.count;
  } else {
    free(archive.bytes);
  }
  free(written);
  return good ? BURN_OK : burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "zip: no memory for %zu bytes", archive.room);
}
