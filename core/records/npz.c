/* npz.c - NumPy's archives: a zip of .npy files. All members are unpacked when it is opened: so a damaged one is told
 * at once, and afterwards nothing can fail. */
#include <burn/file.h>
#include <burn/zip.h>

#include "null_check.h"
#include "numpy_internal.h"
#include "path_check.h"
#include "status_chain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXTENSION_BYTES = 4 };
static const char extension[] = ".npy";

typedef struct Array {
  char *name;
  uint8_t *bytes;
  BurnNpyHeader header;
} Array;

struct BurnNpz {
  size_t count;
  Array arrays[];
};

void burn_npz_close(BurnNpz *npz) {
  if (npz == NULL) return;
  for (size_t i = 0; i < npz->count; i++) {
    free(npz->arrays[i].name);
    free(npz->arrays[i].bytes);
  }
  free(npz);
}

static BurnStatus array_read(const BurnZip *zip, size_t index, Array *array) {
  const BurnZipMember *member = burn_zip_member(zip, index);
  const size_t length = strlen(member->name), stem = length > EXTENSION_BYTES ? length - EXTENSION_BYTES : 0;
  if (stem == 0 || strcmp(member->name + stem, extension) != 0)
    return burn_status_make(BURN_STATUS_CORRUPT_DATA, "member \"%.100s\": no name that ends with .npy", member->name);
  array->name = calloc(stem + 1, 1);
  if (array->name == NULL) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "out of memory");
  memcpy(array->name, member->name, stem);
  BurnStatus status = burn_zip_read(zip, index, &array->bytes);
  if (status != BURN_OK) return status;
  status = burn_npy_header(array->bytes, (size_t)member->bytes, &array->header);
  return burn_status_annotate(status, "member \"%.100s\"", member->name);
}

/* All arrays of an archive in memory; NULL with the reason in *status. */
static BurnNpz *arrays_read(const uint8_t *bytes, size_t count, BurnStatus *status) {
  BurnZip *zip = burn_zip_open(bytes, count, status);
  if (zip == NULL) return NULL;
  const size_t members = burn_zip_count(zip);
  BurnNpz *npz = calloc(1, sizeof *npz + members * sizeof *npz->arrays);
  if (npz == NULL) *status = burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for %zu arrays", members);
  while (*status == BURN_OK && npz->count < members) {
    *status = array_read(zip, npz->count, &npz->arrays[npz->count]);
    npz->count++;
  }
  burn_zip_close(zip);
  if (*status == BURN_OK) return npz;
  burn_npz_close(npz);
  return NULL;
}

BurnNpz *burn_npz_open(const char *path, BurnStatus *status) {
  uint8_t *bytes = NULL;
  size_t count = 0;
  if (burn__entry_status(status) != BURN_OK) return NULL;
  BurnStatus result = burn__path_check("npz", path);
  if (result == BURN_OK) result = burn_file_read(path, PTRDIFF_MAX - 1, &bytes, &count);
  BurnNpz *npz = result == BURN_OK ? arrays_read(bytes, count, &result) : NULL;
  free(bytes);
  if (npz == NULL) burn__store_status(status, burn__path_annotate(result, "npz", path));
  return npz;
}

size_t burn_npz_count(const BurnNpz *npz) { return npz ? npz->count : 0; }

const char *burn_npz_name(const BurnNpz *npz, size_t index) {
  return index < burn_npz_count(npz) ? npz->arrays[index].name : NULL;
}

size_t burn_npz_find(const BurnNpz *npz, const char *name) {
  size_t index = 0;
  if (!name) return burn_npz_count(npz);
  while (index < burn_npz_count(npz) && strcmp(npz->arrays[index].name, name) != 0) index++;
  return index;
}

const BurnNpyHeader *burn_npz_header(const BurnNpz *npz, size_t index) {
  return index < burn_npz_count(npz) ? &npz->arrays[index].header : NULL;
}

void burn_npz_values(const BurnNpz *npz, size_t index, void *out) {
  if (index >= burn_npz_count(npz)) return;
  burn_npy_values(&npz->arrays[index].header, npz->arrays[index].bytes, out);
}

static BurnTensor *name_missing(const BurnNpz *npz, const char *name) {
  char names[512] = "none";
  for (size_t i = 0, used = 0; i < npz->count && used < sizeof names; i++)
    used += (size_t)snprintf(names + used, sizeof names - used, "%s\"%s\"", i > 0 ? ", " : "", npz->arrays[i].name);
  return burn_tensor_failed(burn_status_make(BURN_STATUS_NOT_FOUND, "npz: no array \"%s\"; there are %s", name, names));
}

BurnTensor *burn_npz_read(const BurnNpz *npz, const char *name, BurnDevice *device) {
  if (npz == NULL || name == NULL)
    return burn_tensor_failed(
        burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "npz: the %s is NULL", npz == NULL ? "archive" : "name"));
  const size_t index = burn_npz_find(npz, name);
  if (index == npz->count) return name_missing(npz, name);
  return burn__npy_tensor(device, &npz->arrays[index].header, npz->arrays[index].bytes);
}

/* -- writing ---------------------------------------------------------------------------------- */

/* The file of a tensor, which is taken, as a member. */
static BurnStatus entry_make(const char *name, BurnTensor *x, BurnZipEntry *entry) {
  uint8_t *bytes = NULL;
  if (name == NULL) {
    burn_drop(x);
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "npz: an array has no name");
  }
  const size_t length = strlen(name);
  char *member = malloc(length + sizeof extension);
  const BurnStatus status = burn__npy_make(x, &bytes, &entry->count);
  if (member != NULL) {
    memcpy(member, name, length);
    memcpy(member + length, extension, sizeof extension);
  }
  entry->name = member;
  entry->bytes = bytes;
  if (status == BURN_OK && member == NULL) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "npz: out of memory");
  return burn_status_annotate(status, "array \"%s\"", name);
}

BurnStatus burn_npz_write(const char *path, const char *const *names, BurnTensor *const *tensors, size_t count,
                          bool deflated) {
  BurnZipEntry *entries = calloc(count + 1, sizeof *entries);
  BurnStatus status = entries != NULL ? burn__path_check("npz", path)
                                      : burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "npz: out of memory");
  uint8_t *bytes = NULL;
  size_t size = 0;
  if (status == BURN_OK && count > 0) status = BURN_REQUIRED(names, "a list of texts");
  if (status == BURN_OK && count > 0) status = BURN_REQUIRED(tensors, "a list of tensors");
  for (size_t i = 0; tensors != NULL && i < count; i++) {
    if (status == BURN_OK)
      status = entry_make(names[i], tensors[i], &entries[i]);
    else
      burn_drop(tensors[i]);
  }
  if (status == BURN_OK) status = burn_zip_make(entries, count, deflated, &bytes, &size);
  if (status == BURN_OK) status = burn_file_write(path, bytes, size);
  for (size_t i = 0; entries != NULL && i < count; i++) {
    free((void *)(uintptr_t)entries[i].name);
    free((void *)(uintptr_t)entries[i].bytes);
  }
  free(entries);
  free(bytes);
  return burn__path_annotate(status, "npz", path);
}
