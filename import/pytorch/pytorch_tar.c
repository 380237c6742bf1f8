/* pytorch_tar.c - the container of PyTorch 0.1: a tar archive with the members "storages" (their number, then a pickle
 * (key, device, class), a length and the elements of each, then a pickle of views of them), "tensors" (their number,
 * then a pickle (key, storage, class), axes, sizes, strides and an offset of each) and "pickle", the object, in which
 * a tensor is its key as a text. Numbers are little-endian. */
#include "pytorch.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCK = 512, SIZE_AT = 124, SIZE_DIGITS = 11, MAGIC_AT = 257, NAME_BYTES = 100 };

/* A member while it is read. */
typedef struct Member {
  Pytorch *file;
  const uint8_t *bytes; /* of the archive */
  size_t at, end;
} Member;

bool burn__pytorch_is_tar(const uint8_t *bytes, size_t count) {
  static const char *const names[] = {"storages", "tensors", "pickle", "sys_info", "./"};
  if (count < BLOCK || memcmp(bytes + MAGIC_AT, "ustar", 5) != 0) return false;
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    if (strncmp((const char *)bytes, names[i], NAME_BYTES) == 0) return true;
  return false;
}

static BurnStatus corrupt(size_t at, const char *what) {
  return burn_status_make(BURN_STATUS_CORRUPT_DATA, "byte %zu: %s", at, what);
}

/* The octal digits of a size; false for other characters. */
static bool octal(const uint8_t *digits, uint64_t *size) {
  *size = 0;
  for (int i = 0; i < SIZE_DIGITS && digits[i] != '\0' && digits[i] != ' '; i++) {
    if (digits[i] < '0' || digits[i] > '7') return false;
    *size = *size << 3 | (uint64_t)(digits[i] - '0');
  }
  return true;
}

/* Finds a member by its name. */
static BurnStatus member_find(BurnStore *store, Pytorch *file, const char *name, Member *member) {
  const uint8_t *bytes = store->file.bytes;
  const size_t count = store->file.count;
  uint64_t size = 0;
  for (size_t at = 0; count - at >= BLOCK && bytes[at] != '\0';
       at += BLOCK + (size_t)(size + BLOCK - 1) / BLOCK * BLOCK) {
    const char *found = (const char *)bytes + at;
    if (!octal(bytes + at + SIZE_AT, &size)) return corrupt(at, "a member of the archive without a size");
    if (size > count - at - BLOCK) return corrupt(at, "a member of the archive that is longer than the file");
    if (strncmp(found, "./", 2) == 0) found += 2;
    if (strncmp(found, name, NAME_BYTES - 2) == 0) {
      *member = (Member){file, bytes, at + BLOCK, at + BLOCK + (size_t)size};
      return BURN_OK;
    }
    if (size + BLOCK - 1 > count - at - BLOCK) break;
  }
  return burn_status_make(BURN_STATUS_CORRUPT_DATA, "byte %zu: the archive has no member %s", count, name);
}

static BurnStatus next_pickle(Member *member, PickleRef *root) {
  size_t used = 0;
  const BurnStatus status = burn__pickle_run(&member->file->pickle, member->bytes + member->at,
                                             member->end - member->at, member->at, root, &used);
  member->at += used;
  return status;
}

static BurnStatus next_number(Member *member, size_t bytes, uint64_t *number) {
  if (member->end - member->at < bytes) return corrupt(member->at, "the member ends within a number");
  *number = 0;
  for (size_t i = bytes; i-- > 0;) *number = *number << 8 | member->bytes[member->at + i];
  member->at += bytes;
  return BURN_OK;
}

/* A pickled number of things, each of which takes some bytes. */
static BurnStatus next_count(Member *member, uint64_t *count) {
  PickleRef root = PICKLE_NOTHING;
  const size_t at = member->at;
  const BurnStatus status = next_pickle(member, &root);
  if (status != BURN_OK) return status;
  if (!burn__pickle_size(&member->file->pickle, root, count) || *count > member->end - member->at)
    return corrupt(at, "a number that is larger than its member");
  return BURN_OK;
}

/* -- storages --------------------------------------------------------------------------------- */

static BurnStatus storage_add(Pytorch *file, const PytorchStorage *storage) {
  const BurnStatus status =
      burn__pytorch_grow(file, &file->storages, &file->storage_room, file->storage_count, sizeof *file->storages);
  if (status == BURN_OK) file->storages[file->storage_count++] = *storage;
  return status;
}

static BurnStatus storage_next(Member *member) {
  const Pickle *pickle = &member->file->pickle;
  PytorchStorage storage = {.member = SIZE_MAX, .is_there = true};
  PickleRef root = PICKLE_NOTHING;
  const size_t at = member->at;
  BurnStatus status = next_pickle(member, &root);
  if (status == BURN_OK) status = next_number(member, 8, &storage.elements);
  if (status != BURN_OK) return status;
  storage.dtype = burn__pytorch_dtype(pickle, burn__pickle_item(pickle, root, 2));
  if (storage.dtype == NULL || !burn__pickle_size(pickle, burn__pickle_item(pickle, root, 0), &storage.number))
    return corrupt(at, "a storage without a key and a class that is known");
  if (storage.elements > (member->end - member->at) / storage.dtype->bytes)
    return corrupt(at, "a storage that is larger than its member");
  storage.bytes = member->bytes + member->at;
  storage.byte_count = storage.elements * storage.dtype->bytes;
  member->at += (size_t)storage.byte_count;
  return storage_add(member->file, &storage);
}

static int compare_numbers(const void *a, const void *b) {
  const uint64_t first = ((const PytorchStorage *)a)->number, second = ((const PytorchStorage *)b)->number;
  return (first > second) - (first < second);
}

static void storages_sort(Pytorch *file) {
  if (file->storage_count > 1) qsort(file->storages, file->storage_count, sizeof *file->storages, compare_numbers);
}

static PytorchStorage *storage_find(const Pytorch *file, size_t count, uint64_t number) {
  const PytorchStorage key = {.number = number};
  if (count == 0) return NULL;
  return bsearch(&key, file->storages, count, sizeof key, compare_numbers);
}

/* (key, storage, first element, elements): a part of a storage under a key of its own. */
static BurnStatus view_next(Pytorch *file, PickleRef view, size_t roots, size_t at) {
  const Pickle *pickle = &file->pickle;
  uint64_t number = 0, root = 0, first = 0, elements = 0;
  if (!burn__pickle_size(pickle, burn__pickle_item(pickle, view, 0), &number) ||
      !burn__pickle_size(pickle, burn__pickle_item(pickle, view, 1), &root) ||
      !burn__pickle_size(pickle, burn__pickle_item(pickle, view, 2), &first) ||
      !burn__pickle_size(pickle, burn__pickle_item(pickle, view, 3), &elements))
    return corrupt(at, "a view of a storage that is not four numbers");
  const PytorchStorage *whole = storage_find(file, roots, root);
  if (whole == NULL || first > whole->elements || elements > whole->elements - first)
    return corrupt(at, "a view beyond its storage");
  PytorchStorage part = *whole;
  part.number = number;
  part.bytes += first * part.dtype->bytes;
  part.elements = elements;
  part.byte_count = elements * part.dtype->bytes;
  return storage_add(file, &part);
}

static BurnStatus storages_read(Member *member) {
  Pytorch *file = member->file;
  PickleRef views = PICKLE_NOTHING;
  uint64_t count = 0;
  BurnStatus status = next_count(member, &count);
  for (uint64_t i = 0; i < count && status == BURN_OK; i++) status = storage_next(member);
  const size_t at = member->at;
  if (status == BURN_OK) status = next_pickle(member, &views);
  if (status != BURN_OK) return status;
  storages_sort(file);
  const size_t roots = file->storage_count;
  const PickleObject *list = burn__pickle_items(&file->pickle, views);
  for (uint32_t i = 0; list != NULL && i < list->as.list.count && status == BURN_OK; i++)
    status = view_next(file, list->as.list.items[i], roots, at);
  storages_sort(file);
  return status;
}

/* -- tensors ---------------------------------------------------------------------------------- */

static BurnStatus tensor_next(Member *member) {
  Pytorch *file = member->file;
  PytorchNamed named = {0};
  PickleRef root = PICKLE_NOTHING;
  uint64_t storage = 0, rank = 0, size = 0, unused = 0;
  const size_t at = member->at;
  BurnStatus status = next_pickle(member, &root);
  if (status == BURN_OK) status = next_number(member, 4, &rank);
  if (status == BURN_OK) status = next_number(member, 4, &unused);
  if (status != BURN_OK) return status;
  if (rank > BURN_MAX_RANK ||
      !burn__pickle_size(&file->pickle, burn__pickle_item(&file->pickle, root, 0), &named.number) ||
      !burn__pickle_size(&file->pickle, burn__pickle_item(&file->pickle, root, 1), &storage))
    return corrupt(at, "a tensor without a key and a storage, or of more than 8 axes");
  named.view.rank = (uint32_t)rank;
  for (uint64_t i = 0; i < rank && status == BURN_OK; i++) {
    status = next_number(member, 8, &size);
    if (status == BURN_OK && size > INT64_MAX) status = corrupt(at, "a size below 0");
    named.view.sizes[i] = (int64_t)size;
  }
  for (uint64_t i = 0; i < rank && status == BURN_OK; i++) status = next_number(member, 8, &named.view.strides[i]);
  if (status == BURN_OK) status = next_number(member, 8, &named.view.offset);
  if (status != BURN_OK) return status;
  const PytorchStorage *found = storage_find(file, file->storage_count, storage);
  if (found == NULL) return corrupt(at, "a tensor whose storage is not in the file");
  named.view.storage = (size_t)(found - file->storages);
  status = burn__pytorch_grow(file, &file->named, &file->named_room, file->named_count, sizeof *file->named);
  if (status == BURN_OK) file->named[file->named_count++] = named;
  return status;
}

static int compare_named(const void *a, const void *b) {
  const uint64_t first = ((const PytorchNamed *)a)->number, second = ((const PytorchNamed *)b)->number;
  return (first > second) - (first < second);
}

const PytorchNamed *burn__pytorch_named(const Pytorch *file, PickleText key) {
  PytorchNamed wanted = {0};
  if (key.count == 0 || key.count > 19 || file->named_count == 0) return NULL;
  for (size_t i = 0; i < key.count; i++) {
    if (key.bytes[i] < '0' || key.bytes[i] > '9') return NULL;
    wanted.number = wanted.number * 10 + (uint64_t)(key.bytes[i] - '0');
  }
  return bsearch(&wanted, file->named, file->named_count, sizeof wanted, compare_named);
}

BurnStatus burn__pytorch_tar(BurnStore *store, Pytorch *file, PickleRef *root) {
  Member member = {0};
  uint64_t count = 0;
  BurnStatus status = member_find(store, file, "storages", &member);
  if (status == BURN_OK) status = storages_read(&member);
  if (status == BURN_OK) status = member_find(store, file, "tensors", &member);
  if (status == BURN_OK) status = next_count(&member, &count);
  for (uint64_t i = 0; i < count && status == BURN_OK; i++) status = tensor_next(&member);
  if (status == BURN_OK && file->named_count > 1)
    qsort(file->named, file->named_count, sizeof *file->named, compare_named);
  if (status == BURN_OK) status = member_find(store, file, "pickle", &member);
  return status == BURN_OK ? next_pickle(&member, root) : status;
}
