/* store_npy.c - NumPy's files: one array, called "array", and archives of several, by core's readers (numpy.h). */
#include "store_format.h"

#include <burn/numpy.h>
#include <burn/zip.h>

#include <stdlib.h>
#include <string.h>

/* The header of an array is looked at before the rest is unpacked; NumPy's have 128 bytes. */
enum { HEADER_LIMIT = 1 << 14 };

/* NumPy's names. */
static const char *const names[BURN_DTYPE_LIMIT] = {
    [BURN_DTYPE_BOOL] = "bool",   [BURN_DTYPE_U8] = "uint8",    [BURN_DTYPE_I8] = "int8",
    [BURN_DTYPE_I16] = "int16",   [BURN_DTYPE_I32] = "int32",   [BURN_DTYPE_I64] = "int64",
    [BURN_DTYPE_F16] = "float16", [BURN_DTYPE_F32] = "float32", [BURN_DTYPE_F64] = "float64"};

static BurnStatus add_array(BurnStore *store, const char *name, const BurnNpyHeader *header, size_t part) {
  BurnStoreSlot slot = {
      .seen = {.name = name, .file_dtype = names[header->dtype], .dtype = header->dtype, .bytes = header->bytes},
      .part = part};
  if (!burn__store_shape(header->shape.dims, header->shape.rank, SIZE_MAX / 16, &slot.seen.shape, &slot.seen.scalar,
                         NULL))
    return burn_status_make(BURN_STATUS_OUT_OF_RANGE, "shape %s", burn_shape_text(header->shape).text);
  return burn__store_add(store, &slot);
}

/* -- .npy ------------------------------------------------------------------------------------- */

static bool is_npy(const uint8_t *bytes, size_t count) { return count >= 6 && memcmp(bytes, "\x93NUMPY", 6) == 0; }

static BurnStatus open_npy(BurnStore *store) {
  BurnNpyHeader header;
  BurnStatus status = burn_npy_header(store->file.bytes, store->file.count, &header);
  if (status != BURN_OK) return burn_status_annotate(status, "byte 0");
  return add_array(store, "array", &header, 0);
}

static BurnStatus read_npy(const BurnStore *store, const BurnStoreSlot *slot, void *out) {
  BurnNpyHeader header;
  (void)slot;
  BurnStatus status = burn_npy_header(store->file.bytes, store->file.count, &header);
  if (status == BURN_OK) burn_npy_values(&header, store->file.bytes, out);
  return status;
}

const BurnStoreFormat burn__store_npy = {.name = "npy", .is = is_npy, .open = open_npy, .read = read_npy};

/* -- .npz ------------------------------------------------------------------------------------- */

static bool is_npz(const uint8_t *bytes, size_t count) {
  return count >= 4 && (memcmp(bytes, "PK\3\4", 4) == 0 || memcmp(bytes, "PK\5\6", 4) == 0);
}

/* The header of a member, of which only its beginning is unpacked: burn_npy_header reads no further than the header,
 * whose length is compared with what is there. */
static BurnStatus read_header(const BurnZip *zip, size_t index, BurnNpyHeader *header) {
  uint8_t *first = malloc(HEADER_LIMIT);
  size_t got = 0;
  if (!first) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for a header");
  BurnStatus status = burn_zip_peek(zip, index, first, HEADER_LIMIT, &got);
  const uint64_t bytes = burn_zip_member(zip, index)->bytes;
  if (status == BURN_OK && got < 12)
    status = burn_status_make(BURN_STATUS_CORRUPT_DATA, "%zu bytes, too few for an array", got);
  if (status == BURN_OK) {
    const size_t length = (size_t)first[8] | (size_t)first[9] << 8;
    const bool is_new = first[6] > 1; /* with four bytes for its length instead of two */
    if ((is_new && (first[10] || first[11])) || length + (is_new ? 12 : 10) > got)
      status = burn_status_make(BURN_STATUS_CORRUPT_DATA, "a header beyond its first %zu bytes", got);
  }
  if (status == BURN_OK) status = burn_npy_header(first, (size_t)bytes, header);
  free(first);
  return status;
}

static BurnStatus add_member(BurnStore *store, const BurnZip *zip, size_t index) {
  const char *name = burn_zip_member(zip, index)->name;
  const size_t length = strlen(name);
  BurnNpyHeader header;
  if (length <= 4 || strcmp(name + length - 4, ".npy") != 0)
    return burn_status_make(BURN_STATUS_CORRUPT_DATA, "no name that ends with .npy");
  BurnStatus status = read_header(zip, index, &header);
  char *stem = calloc(length, 1);
  if (stem) memcpy(stem, name, length - 4);
  if (status == BURN_OK && !stem) status = burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for a name");
  if (status == BURN_OK) status = add_array(store, stem, &header, index);
  free(stem);
  return status;
}

static BurnStatus open_npz(BurnStore *store) {
  BurnStatus status = BURN_OK;
  BurnZip *zip = burn_zip_open(store->file.bytes, store->file.count, &status);
  store->state = zip;
  for (size_t i = 0; zip && i < burn_zip_count(zip) && status == BURN_OK; i++) {
    const BurnZipMember *member = burn_zip_member(zip, i);
    status = burn_status_annotate(add_member(store, zip, i), "byte %llu: member \"%.100s\"",
                                  (unsigned long long)member->offset, member->name);
  }
  return status;
}

/* Checksums are those of whole members, so all of one is unpacked. */
static BurnStatus read_npz(const BurnStore *store, const BurnStoreSlot *slot, void *out) {
  const BurnZip *zip = store->state;
  BurnNpyHeader header;
  uint8_t *bytes = NULL;
  BurnStatus status = burn_zip_read(zip, slot->part, &bytes);
  if (status == BURN_OK) status = burn_npy_header(bytes, (size_t)burn_zip_member(zip, slot->part)->bytes, &header);
  if (status == BURN_OK && (header.bytes != slot->seen.bytes || header.dtype != slot->seen.dtype))
    status = burn_status_make(BURN_STATUS_CORRUPT_DATA, "another array than before");
  if (status == BURN_OK) burn_npy_values(&header, bytes, out);
  free(bytes);
  return status;
}

static void close_npz(BurnStore *store) { burn_zip_close(store->state); }

const BurnStoreFormat burn__store_npz = {
    .name = "npz", .is = is_npz, .open = open_npz, .read = read_npz, .close = close_npz};
