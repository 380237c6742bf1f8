/* zip.h - members of a zip archive that lies in memory: what .npz and PyTorch's files are. Stored and deflated members,
 * with the extension for more than 4 GiB; an encrypted one, or another method, is refused when it is read.
 *
 * Bytes are taken as hostile: every size is compared with what is there before it is used, what unpacks is bounded
 * (burn_unpack_limit) and its checksum verified. Messages name the member and the offset, but no path: put it in front
 * with burn_status_annotate. */
#ifndef BURN_ZIP_H
#define BURN_ZIP_H

#include <burn/error.h>

#include <stddef.h>
#include <stdint.h>

BURN_EXTERN_C_BEGIN

typedef struct BurnZip BurnZip;

/* One member, as the archive's directory has it. */
typedef struct BurnZipMember {
  const char *name;  /* of the archive; bytes as they are, no zero byte among them */
  uint64_t bytes;    /* unpacked */
  uint64_t packed;   /* in the archive */
  uint32_t checksum; /* CRC-32 of the unpacked bytes */
  uint16_t method;   /* 0 stored, 8 deflated */
  uint16_t flags;    /* bit 0: encrypted */
  uint64_t offset;   /* of its header in the archive */
} BurnZipMember;

/* Reads the directory of an archive; `bytes` stay the caller's and outlive it. NULL on failure, with the reason in
 * *status, which is that of a chain (burn/error.h). */
BURN_API BURN_CHAINS(3) BURN_USE_RESULT BurnZip *burn_zip_open(const uint8_t *bytes, size_t count, BurnStatus *status);
/* Frees the directory. NULL is allowed. */
BURN_API void burn_zip_close(BurnZip *zip);
/* How many members there are; 0 for an archive that is NULL. */
BURN_API size_t burn_zip_count(const BurnZip *zip);
/* Member `index`; borrowed. NULL where there is no such member. */
BURN_API const BurnZipMember *burn_zip_member(const BurnZip *zip, size_t index);
/* The index of the member of that name, the first of several; the count where there is none. */
BURN_API size_t burn_zip_find(const BurnZip *zip, const char *name);
/* The bytes of member `index`, unpacked into malloc'd memory with a zero byte after the last: *bytes is the caller's to
 * free, untouched on failure; their number is the member's. OUT_OF_RANGE where there is no such member, as of the
 * next two. Threads may read at once. */
BURN_API BURN_USE_RESULT BurnStatus burn_zip_read(const BurnZip *zip, size_t index, uint8_t **bytes);
/* Where the bytes of member `index` lie in the archive if it is stored, without a copy and without a look at its
 * checksum: *bytes is the archive's, NULL for a deflated one. All that the member claims to have are there. */
BURN_API BURN_USE_RESULT BurnStatus burn_zip_stored(const BurnZip *zip, size_t index, const uint8_t **bytes);
/* The first bytes of member `index`, unpacked, at most `count` of them, to `out`; *got says how many. Enough to see
 * what a member is before memory is made for all of it; its checksum is not looked at. */
BURN_API BURN_USE_RESULT BurnStatus burn_zip_peek(const BurnZip *zip, size_t index, uint8_t *out, size_t count,
                                                  size_t *got);

/* -- writing ---------------------------------------------------------------------------------- */

/* A member to write. */
typedef struct BurnZipEntry {
  const char *name;
  const uint8_t *bytes;
  size_t count;
} BurnZipEntry;

/* Makes an archive of these members, stored, or deflated with `deflated`; *bytes is the caller's to free. The same
 * members give the same bytes: no times are written. OUT_OF_RANGE for 4 GiB and more, or 65535 members. */
BURN_API BURN_USE_RESULT BurnStatus burn_zip_make(const BurnZipEntry *entries, size_t entry_count, bool deflated,
                                                  uint8_t **bytes, size_t *count);

BURN_EXTERN_C_END

#endif
