/* zip.c - members of a zip archive in memory (APPNOTE.TXT of PKWARE, 4.3; zlib for deflate and checksums).
 *
 * An archive ends with a record that says where its directory is; with more than 4 GiB another such record is before
 * it. An entry of the directory has a member's sizes and where its header is, after which its bytes lie. What the
 * header says again is not looked at. */
#include "null_check.h"

#include <burn/file.h>
#include <burn/zip.h>

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum {
  END_BYTES = 22,
  END_COMMENT = 65535,
  LOCATOR_BYTES = 20,
  END64_BYTES = 56,
  ENTRY_BYTES = 46,
  HEADER_BYTES = 30,
  MAX_MEMBERS = 1 << 20,
  STORED = 0,
  DEFLATED = 8,
  ENCRYPTED = 1,
  EXTRA_64 = 1,
  PIECE = 1 << 30
};
static const uint32_t end_mark = 0x06054b50, locator_mark = 0x07064b50, end64_mark = 0x06064b50,
                      entry_mark = 0x02014b50, header_mark = 0x04034b50;

struct BurnZip {
  const uint8_t *bytes;
  size_t count;
  size_t member_count;
  char *names; /* of all members, each with a zero byte */
  BurnZipMember members[];
};

/* -- numbers, which are little-endian --------------------------------------------------------- */

static uint64_t number_at(const uint8_t *bytes, size_t count) {
  uint64_t value = 0;
  for (size_t i = count; i-- > 0;) value = value << 8 | bytes[i];
  return value;
}

static uint16_t short_at(const uint8_t *bytes) { return (uint16_t)number_at(bytes, 2); }

static uint32_t word_at(const uint8_t *bytes) { return (uint32_t)number_at(bytes, 4); }

static BurnStatus corrupt(uint64_t offset, const char *what) {
  return burn_status_make(BURN_STATUS_CORRUPT_DATA, "zip: %s at byte %llu", what, (unsigned long long)offset);
}

/* -- the directory ---------------------------------------------------------------------------- */

/* Where the directory is, and what it has. */
typedef struct Directory {
  uint64_t offset, bytes, entries;
} Directory;

/* The record that ends the archive: the last one whose comment reaches to the end of the bytes. */
static BurnStatus end_find(const uint8_t *bytes, size_t count, size_t *at) {
  if (count < END_BYTES)
    return burn_status_make(BURN_STATUS_CORRUPT_DATA, "zip: %zu bytes, too few for an archive", count);
  const size_t last = count - END_BYTES, first = last > END_COMMENT ? last - END_COMMENT : 0;
  for (size_t i = last + 1; i-- > first;) {
    if (word_at(bytes + i) != end_mark || i + END_BYTES + short_at(bytes + i + 20) != count) continue;
    *at = i;
    return BURN_OK;
  }
  return burn_status_make(BURN_STATUS_CORRUPT_DATA, "zip: no directory at the end of %zu bytes: not an archive, or cut",
                          count);
}

/* The record for large archives, if there is one before the end. */
static BurnStatus end64_read(const uint8_t *bytes, size_t end, Directory *directory) {
  if (end < LOCATOR_BYTES || word_at(bytes + end - LOCATOR_BYTES) != locator_mark) return BURN_OK;
  const uint64_t at = number_at(bytes + end - LOCATOR_BYTES + 8, 8);
  const size_t room = end - LOCATOR_BYTES;
  if (room < END64_BYTES || at > room - END64_BYTES || word_at(bytes + at) != end64_mark)
    return corrupt(end - LOCATOR_BYTES, "no directory where it is said to be");
  directory->entries = number_at(bytes + at + 32, 8);
  directory->bytes = number_at(bytes + at + 40, 8);
  directory->offset = number_at(bytes + at + 48, 8);
  return BURN_OK;
}

static BurnStatus directory_find(const uint8_t *bytes, size_t count, Directory *directory) {
  size_t end = 0;
  BurnStatus status = end_find(bytes, count, &end);
  if (status != BURN_OK) return status;
  *directory = (Directory){word_at(bytes + end + 16), word_at(bytes + end + 12), short_at(bytes + end + 10)};
  status = end64_read(bytes, end, directory);
  if (status != BURN_OK) return status;
  if (directory->offset > end || directory->bytes > end - directory->offset)
    return corrupt(end, "a directory beyond the end");
  if (directory->entries > MAX_MEMBERS || directory->entries > directory->bytes / ENTRY_BYTES)
    return burn_status_make(BURN_STATUS_CORRUPT_DATA, "zip: %llu members in a directory of %llu bytes",
                            (unsigned long long)directory->entries, (unsigned long long)directory->bytes);
  return BURN_OK;
}

/* Sizes that do not fit 32 bits stand in an extra field, in this order, each only if it is needed. */
static bool extra_read(const uint8_t *extra, size_t count, BurnZipMember *member) {
  uint64_t *const numbers[] = {&member->bytes, &member->packed, &member->offset};
  while (count >= 4) {
    const size_t size = short_at(extra + 2);
    if (size > count - 4) return false;
    const uint8_t *next = extra + 4, *end = next + size;
    for (size_t i = 0; short_at(extra) == EXTRA_64 && i < 3; i++) {
      if (*numbers[i] != UINT32_MAX) continue;
      if (end - next < 8) return false;
      *numbers[i] = number_at(next, 8);
      next += 8;
    }
    extra = end;
    count -= 4 + size;
  }
  return true;
}

/* The entry at `at`; *used is its length. The name goes to `name`, which has room for it. */
static BurnStatus entry_read(const BurnZip *zip, uint64_t at, uint64_t end, BurnZipMember *member, char *name,
                             uint64_t *used) {
  const uint8_t *entry = zip->bytes + at;
  if (end - at < ENTRY_BYTES || word_at(entry) != entry_mark) return corrupt(at, "no entry of the directory");
  const size_t name_bytes = short_at(entry + 28), extra_bytes = short_at(entry + 30);
  *used = ENTRY_BYTES + name_bytes + extra_bytes + short_at(entry + 32);
  if (*used > end - at) return corrupt(at, "an entry that is longer than the directory");
  *member = (BurnZipMember){.name = name,
                            .bytes = word_at(entry + 24),
                            .packed = word_at(entry + 20),
                            .checksum = word_at(entry + 16),
                            .method = short_at(entry + 10),
                            .flags = short_at(entry + 8),
                            .offset = word_at(entry + 42)};
  memcpy(name, entry + ENTRY_BYTES, name_bytes);
  name[name_bytes] = '\0';
  if (strlen(name) != name_bytes) return corrupt(at, "a name with a zero byte");
  if (!extra_read(entry + ENTRY_BYTES + name_bytes, extra_bytes, member)) return corrupt(at, "a damaged extra field");
  return BURN_OK;
}

static BurnStatus members_read(BurnZip *zip, const Directory *directory) {
  uint64_t at = directory->offset, used = 0;
  const uint64_t end = at + directory->bytes;
  char *name = zip->names;
  for (; zip->member_count < directory->entries; zip->member_count++, at += used) {
    const BurnStatus status = entry_read(zip, at, end, &zip->members[zip->member_count], name, &used);
    if (status != BURN_OK) return status;
    name += strlen(name) + 1;
  }
  return BURN_OK;
}

BurnZip *burn_zip_open(const uint8_t *bytes, size_t count, BurnStatus *status) {
  Directory directory = {0};
  BurnZip *zip = NULL;
  BurnStatus result = status != NULL ? *status : BURN_OK;
  if (result != BURN_OK) return NULL;
  if (bytes == NULL) count = 0;
  result = directory_find(bytes, count, &directory);
  if (result == BURN_OK) {
    zip = calloc(1, sizeof *zip + (size_t)directory.entries * sizeof *zip->members);
    if (zip != NULL) *zip = (BurnZip){bytes, count, 0, malloc((size_t)(directory.bytes + directory.entries) + 1)};
    if (zip == NULL || zip->names == NULL)
      result = burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "zip: no memory for %llu members",
                                (unsigned long long)directory.entries);
  }
  if (result == BURN_OK) result = members_read(zip, &directory);
  if (result == BURN_OK) return zip;
  burn_zip_close(zip);
  if (status != NULL) *status = result;
  return NULL;
}

void burn_zip_close(BurnZip *zip) {
  if (zip == NULL) return;
  free(zip->names);
  free(zip);
}

size_t burn_zip_count(const BurnZip *zip) { return zip ? zip->member_count : 0; }

const BurnZipMember *burn_zip_member(const BurnZip *zip, size_t index) {
  return index < burn_zip_count(zip) ? &zip->members[index] : NULL;
}

size_t burn_zip_find(const BurnZip *zip, const char *name) {
  size_t index = 0;
  if (!name) return burn_zip_count(zip);
  while (index < burn_zip_count(zip) && strcmp(zip->members[index].name, name) != 0) index++;
  return index;
}

/* Refuses an archive that did not open, and an index of no member: burn_zip_find gives one for a name that is not
 * there. */
static BurnStatus index_check(const BurnZip *zip, size_t index) {
  if (!zip)
    return burn_status_make(BURN_STATUS_OUT_OF_RANGE, "zip: there is no member %zu, the archive is NULL", index);
  if (index < zip->member_count) return BURN_OK;
  return burn_status_make(BURN_STATUS_OUT_OF_RANGE, "zip: there is no member %zu, there are %zu", index,
                          zip->member_count);
}

/* -- a member --------------------------------------------------------------------------------- */

/* Where the bytes of a member begin; all of them are there. */
static BurnStatus body_find(const BurnZip *zip, const BurnZipMember *member, const uint8_t **body) {
  if (zip->count < HEADER_BYTES || member->offset > zip->count - HEADER_BYTES ||
      word_at(zip->bytes + member->offset) != header_mark)
    return corrupt(member->offset, "no header of a member");
  const uint8_t *header = zip->bytes + member->offset;
  const uint64_t begin = member->offset + HEADER_BYTES + short_at(header + 26) + short_at(header + 28);
  if (begin > zip->count || member->packed > zip->count - begin) return corrupt(begin, "a member beyond the end");
  *body = zip->bytes + begin;
  return BURN_OK;
}

static BurnStatus member_check(const BurnZipMember *member) {
  if (member->flags & ENCRYPTED) return burn_status_make(BURN_STATUS_INCOMPATIBLE, "zip: the member is encrypted");
  if (member->method != STORED && member->method != DEFLATED)
    return burn_status_make(BURN_STATUS_INCOMPATIBLE, "zip: compression method %u, 0 or 8 (deflate) expected",
                            (unsigned)member->method);
  const size_t limit = burn_unpack_limit(member->packed < SIZE_MAX ? (size_t)member->packed : SIZE_MAX);
  if (member->bytes > limit || member->bytes >= SIZE_MAX)
    return burn_status_make(BURN_STATUS_OUT_OF_RANGE, "zip: %llu bytes, at most %zu are unpacked from %llu",
                            (unsigned long long)member->bytes, limit, (unsigned long long)member->packed);
  if (member->method == STORED && member->bytes != member->packed)
    return burn_status_make(BURN_STATUS_CORRUPT_DATA, "zip: stored, but with two sizes, %llu and %llu",
                            (unsigned long long)member->bytes, (unsigned long long)member->packed);
  return BURN_OK;
}

/* Inflates just `wanted` bytes, with which the stream ends. */
static BurnStatus body_inflate(const uint8_t *packed, size_t packed_count, uint8_t *out, size_t wanted) {
  z_stream stream;
  memset(&stream, 0, sizeof stream);
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK)
    return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "zip: no memory to inflate");
  size_t given = 0, got = 0;
  int code = Z_OK;
  while (code == Z_OK) {
    const size_t in = packed_count - given < PIECE ? packed_count - given : PIECE;
    const size_t room = wanted - got < PIECE ? wanted - got : PIECE;
    stream.next_in = (z_const Bytef *)(uintptr_t)(packed + given); /* zlib's type is not const; it only reads */
    stream.avail_in = (uInt)in;
    stream.next_out = out + got;
    stream.avail_out = (uInt)room;
    code = inflate(&stream, Z_NO_FLUSH);
    given += in - stream.avail_in;
    got += room - stream.avail_out;
    if (code == Z_OK && stream.avail_in == in && stream.avail_out == room) code = Z_BUF_ERROR;
  }
  inflateEnd(&stream);
  if (code == Z_STREAM_END && got == wanted) return BURN_OK;
  return burn_status_make(code == Z_MEM_ERROR ? BURN_STATUS_OUT_OF_MEMORY : BURN_STATUS_CORRUPT_DATA,
                          "zip: damaged at byte %zu of its %zu", got, wanted);
}

static BurnStatus member_unpack(const BurnZip *zip, const BurnZipMember *member, uint8_t **out) {
  const uint8_t *body = NULL;
  BurnStatus status = body_find(zip, member, &body);
  if (status == BURN_OK) status = member_check(member);
  if (status != BURN_OK) return status;
  const size_t wanted = (size_t)member->bytes;
  uint8_t *bytes = malloc(wanted + 1);
  if (bytes == NULL) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "zip: no memory for %zu bytes", wanted);
  bytes[wanted] = 0;
  if (member->method == DEFLATED)
    status = body_inflate(body, (size_t)member->packed, bytes, wanted);
  else
    memcpy(bytes, body, wanted);
  if (status == BURN_OK && (uint32_t)crc32_z(0, bytes, wanted) != member->checksum)
    status = burn_status_make(BURN_STATUS_CORRUPT_DATA, "zip: its checksum is wrong");
  if (status == BURN_OK)
    *out = bytes;
  else
    free(bytes);
  return status;
}

BurnStatus burn_zip_read(const BurnZip *zip, size_t index, uint8_t **bytes) {
  BurnStatus status = BURN_REQUIRED(bytes, "a uint8_t *");
  if (status == BURN_OK) status = index_check(zip, index);
  if (status != BURN_OK) return status;
  const BurnZipMember *member = &zip->members[index];
  return burn_status_annotate(member_unpack(zip, member, bytes), "member \"%.100s\"", member->name);
}

BurnStatus burn_zip_stored(const BurnZip *zip, size_t index, const uint8_t **bytes) {
  BurnStatus status = BURN_REQUIRED(bytes, "a const uint8_t *");
  if (status != BURN_OK) return status;
  *bytes = NULL;
  status = index_check(zip, index);
  if (status != BURN_OK) return status;
  const BurnZipMember *member = &zip->members[index];
  status = member_check(member);
  if (status == BURN_OK && member->method == STORED) status = body_find(zip, member, bytes);
  return burn_status_annotate(status, "member \"%.100s\"", member->name);
}

/* Inflates at most `count` bytes. */
static BurnStatus body_peek(const uint8_t *packed, size_t packed_count, uint8_t *out, size_t count, size_t *got) {
  z_stream stream;
  memset(&stream, 0, sizeof stream);
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK)
    return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "zip: no memory to inflate");
  stream.next_in = (z_const Bytef *)(uintptr_t)packed; /* zlib's type is not const; it only reads */
  stream.avail_in = (uInt)(packed_count < PIECE ? packed_count : PIECE);
  stream.next_out = out;
  stream.avail_out = (uInt)(count < PIECE ? count : PIECE);
  const int code = inflate(&stream, Z_SYNC_FLUSH);
  *got = (size_t)(stream.next_out - out);
  inflateEnd(&stream);
  if (code == Z_OK || code == Z_STREAM_END || code == Z_BUF_ERROR) return BURN_OK;
  return burn_status_make(code == Z_MEM_ERROR ? BURN_STATUS_OUT_OF_MEMORY : BURN_STATUS_CORRUPT_DATA,
                          "zip: damaged at byte %zu", *got);
}

BurnStatus burn_zip_peek(const BurnZip *zip, size_t index, uint8_t *out, size_t count, size_t *got) {
  const uint8_t *body = NULL;
  BurnStatus status = BURN_REQUIRED(got, "a size_t");
  if (status == BURN_OK && count > 0) status = BURN_REQUIRED(out, "room for the bytes");
  if (status != BURN_OK) return status;
  *got = 0;
  status = index_check(zip, index);
  if (status != BURN_OK) return status;
  const BurnZipMember *member = &zip->members[index];
  status = member_check(member);
  if (status == BURN_OK) status = body_find(zip, member, &body);
  if (count > member->bytes) count = (size_t)member->bytes;
  if (status == BURN_OK && member->method == STORED && count > 0) memcpy(out, body, count);
  if (status == BURN_OK && member->method == STORED) *got = count;
  if (status == BURN_OK && member->method == DEFLATED)
    status = body_peek(body, (size_t)member->packed, out, count, got);
  return burn_status_annotate(status, "member \"%.100s\"", member->name);
}
