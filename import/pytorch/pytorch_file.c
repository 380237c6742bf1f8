/* pytorch_file.c - the containers of PyTorch: a zip archive (1.6 and later) with the pickle in <name>/data.pkl and each
 * storage in <name>/data/<key>, and before that a stream of five pickles (a magic number, 1001, what the machine is
 * like, the object, the keys of the storages in their order) after which each storage has its number of elements and
 * its bytes. */
#include "pytorch.h"

#include <burn/file.h>

#include <stdlib.h>
#include <string.h>

/* -- zip -------------------------------------------------------------------------------------- */

static const char pickle_name[] = "data.pkl";

static const char *after_folder(const char *name) {
  const char *slash = strrchr(name, '/');
  return slash != NULL ? slash + 1 : name;
}

bool burn__pytorch_is_pickle_name(const char *name) { return strcmp(after_folder(name), pickle_name) == 0; }

/* The first is a member of the archives of today, the second of those before. */
bool burn__pytorch_is_program_name(const char *name) {
  return strcmp(after_folder(name), "archive_format") == 0 ||
         strcmp(after_folder(name), "serialized_exported_program.json") == 0;
}

/* Of an archive that has no pickle. */
static BurnStatus not_saved(const BurnZip *zip) {
  for (size_t i = 0; i < burn_zip_count(zip); i++) {
    if (burn__pytorch_is_program_name(burn_zip_member(zip, i)->name))
      return burn_status_make(
          BURN_STATUS_INCOMPATIBLE,
          "an exported program (torch.export), which is more than weights. Save these in Python, and open what that "
          "writes: torch.save(torch.export.load(\"model.pt2\").state_dict, \"model.pt\")");
  }
  return burn_status_make(BURN_STATUS_INCOMPATIBLE, "a zip archive without data.pkl, so that it is none of PyTorch");
}

/* The bytes of a small member; those of a deflated one are new, and *unpacked then. */
static BurnStatus member_bytes(const BurnZip *zip, size_t index, const uint8_t **bytes, uint8_t **unpacked) {
  BurnStatus status = burn_zip_stored(zip, index, bytes);
  if (status != BURN_OK || *bytes != NULL) return status;
  status = burn_zip_read(zip, index, unpacked);
  *bytes = *unpacked;
  return status;
}

/* The pickle; of a deflated one no more is unpacked than a file of this size may ask for. */
static BurnStatus zip_pickle(BurnStore *store, Pytorch *file, size_t index, PickleRef *root) {
  const BurnZipMember *member = burn_zip_member(file->zip, index);
  const uint8_t *bytes = NULL;
  size_t used = 0;
  if (member->bytes > 2 * (uint64_t)store->file.count)
    return burn_status_make(BURN_STATUS_OUT_OF_RANGE, "%.100s: it unpacks to %llu bytes, more than twice the file",
                            member->name, (unsigned long long)member->bytes);
  BurnStatus status = member_bytes(file->zip, index, &bytes, &file->unpacked);
  if (status != BURN_OK) return status;
  status = burn__pickle_run(&file->pickle, bytes, (size_t)member->bytes, 0, root, &used);
  file->member = member->name;
  if (status == BURN_OK) status = burn__pytorch_storages(file);
  return burn_status_annotate(status, "%.100s", file->member);
}

/* Says each storage where its bytes are. */
static BurnStatus zip_storages(Pytorch *file, const char *folder, size_t folder_length) {
  for (size_t i = 0; i < burn_zip_count(file->zip); i++) {
    const BurnZipMember *member = burn_zip_member(file->zip, i);
    static const char data[] = "data/";
    const char *name = member->name + folder_length;
    if (strncmp(member->name, folder, folder_length) != 0 || strncmp(name, data, strlen(data)) != 0) continue;
    name += strlen(data);
    PytorchStorage *storage = burn__pytorch_storage(file, (PickleText){(const uint8_t *)name, strlen(name)});
    if (storage == NULL || storage->is_there) continue;
    const BurnStatus status = burn_zip_stored(file->zip, i, &storage->bytes);
    if (status != BURN_OK) return status;
    storage->byte_count = member->bytes;
    storage->member = i;
    storage->is_big_endian = file->is_big_endian;
    storage->is_there = true;
    if (storage->bytes == NULL && member->bytes > burn_unpack_limit((size_t)member->packed))
      return burn_status_make(BURN_STATUS_OUT_OF_RANGE, "%.100s: it unpacks to %llu bytes", member->name,
                              (unsigned long long)member->bytes);
    if (member->bytes / storage->dtype->bytes < storage->elements)
      return burn_status_make(BURN_STATUS_CORRUPT_DATA, "%.100s: %llu bytes for %llu elements of %s", member->name,
                              (unsigned long long)member->bytes, (unsigned long long)storage->elements,
                              storage->dtype->name);
  }
  return BURN_OK;
}

/* "little" or "big"; a file without it is of a little-endian machine. */
static BurnStatus zip_byte_order(Pytorch *file, const char *folder, size_t folder_length) {
  static const char byteorder[] = "byteorder";
  for (size_t i = 0; i < burn_zip_count(file->zip); i++) {
    const BurnZipMember *member = burn_zip_member(file->zip, i);
    if (strncmp(member->name, folder, folder_length) != 0 || strcmp(member->name + folder_length, byteorder) != 0)
      continue;
    const uint8_t *bytes = NULL;
    uint8_t *unpacked = NULL;
    if (member->bytes > 16) return burn_status_make(BURN_STATUS_CORRUPT_DATA, "%.100s: no byte order", member->name);
    const BurnStatus status = member_bytes(file->zip, i, &bytes, &unpacked);
    if (status != BURN_OK) return status;
    file->is_big_endian = member->bytes == 3 && memcmp(bytes, "big", 3) == 0;
    const bool is_known = file->is_big_endian || (member->bytes == 6 && memcmp(bytes, "little", 6) == 0);
    free(unpacked);
    if (!is_known) return burn_status_make(BURN_STATUS_CORRUPT_DATA, "%.100s: no byte order", member->name);
  }
  return BURN_OK;
}

BurnStatus burn__pytorch_zip(BurnStore *store, Pytorch *file, PickleRef *root) {
  BurnStatus status = BURN_OK;
  file->zip = burn_zip_open(store->file.bytes, store->file.count, &status);
  if (file->zip == NULL) return status;
  size_t index = 0;
  while (index < burn_zip_count(file->zip) && !burn__pytorch_is_pickle_name(burn_zip_member(file->zip, index)->name))
    index++;
  if (index == burn_zip_count(file->zip)) return not_saved(file->zip);
  const char *name = burn_zip_member(file->zip, index)->name;
  const size_t folder_length = strlen(name) - strlen(pickle_name);
  status = zip_byte_order(file, name, folder_length);
  if (status == BURN_OK) status = zip_pickle(store, file, index, root);
  return status == BURN_OK ? zip_storages(file, name, folder_length) : status;
}

/* -- the stream of old ------------------------------------------------------------------------ */

/* Runs the pickle at *at, and moves past it. */
static BurnStatus next_pickle(BurnStore *store, Pytorch *file, size_t *at, PickleRef *root) {
  size_t used = 0;
  const BurnStatus status =
      burn__pickle_run(&file->pickle, store->file.bytes + *at, store->file.count - *at, *at, root, &used);
  *at += used;
  return status;
}

static BurnStatus at_byte(size_t at, const char *what) {
  return burn_status_make(BURN_STATUS_CORRUPT_DATA, "byte %zu: %s", at, what);
}

/* 0x1950a86a20f9469cfc6c, 1001, {"little_endian": .., ..}. */
static BurnStatus legacy_head(BurnStore *store, Pytorch *file, size_t *at) {
  static const uint8_t magic[] = {0x6c, 0xfc, 0x9c, 0x46, 0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19};
  PickleRef root = PICKLE_NOTHING;
  uint64_t version = 0;
  BurnStatus status = next_pickle(store, file, at, &root);
  if (status != BURN_OK) return status;
  const PickleObject *number = burn__pickle_at(&file->pickle, root);
  if (number->kind != PICKLE_LONG || number->as.text.count != sizeof magic ||
      memcmp(number->as.text.bytes, magic, sizeof magic) != 0)
    return burn_status_make(BURN_STATUS_INCOMPATIBLE,
                            "byte 0: a pickle that torch.save did not write: save the tensors with it");
  size_t place = *at;
  status = next_pickle(store, file, at, &root);
  if (status == BURN_OK && (!burn__pickle_size(&file->pickle, root, &version) || version != 1001))
    status = at_byte(place, "a version of the stream that is not 1001");
  place = *at;
  if (status == BURN_OK) status = next_pickle(store, file, at, &root);
  if (status != BURN_OK) return status;
  const PickleRef little = burn__pickle_get(&file->pickle, root, "little_endian");
  if (burn__pickle_at(&file->pickle, little)->kind != PICKLE_BOOL) return at_byte(place, "no byte order");
  file->is_big_endian = burn__pickle_at(&file->pickle, little)->as.integer == 0;
  return BURN_OK;
}

/* The number of elements, then the elements. */
static BurnStatus legacy_storage(const BurnStore *store, const Pytorch *file, PytorchStorage *storage, size_t *at) {
  const size_t left = store->file.count - *at;
  uint64_t elements = 0;
  if (left < 8) return at_byte(*at, "the file ends where a storage should be");
  for (unsigned i = 0; i < 8; i++)
    elements = elements << 8 | store->file.bytes[*at + (file->is_big_endian ? i : 7 - i)];
  if (elements > (left - 8) / storage->dtype->bytes)
    return burn_status_make(BURN_STATUS_CORRUPT_DATA, "byte %zu: a storage of %llu elements of %s in %zu bytes", *at,
                            (unsigned long long)elements, storage->dtype->name, left - 8);
  if (storage->is_there) return at_byte(*at, "a storage that is there twice");
  if (elements < storage->elements) return at_byte(*at, "a storage with fewer elements than its tensors say");
  storage->bytes = store->file.bytes + *at + 8;
  storage->byte_count = elements * storage->dtype->bytes;
  storage->is_big_endian = file->is_big_endian;
  storage->is_there = true;
  *at += 8 + (size_t)storage->byte_count;
  return BURN_OK;
}

BurnStatus burn__pytorch_legacy(BurnStore *store, Pytorch *file, PickleRef *root) {
  size_t at = 0;
  PickleRef keys = PICKLE_NOTHING;
  BurnStatus status = legacy_head(store, file, &at);
  if (status == BURN_OK) status = next_pickle(store, file, &at, root);
  const size_t place = at;
  if (status == BURN_OK) status = next_pickle(store, file, &at, &keys);
  if (status == BURN_OK) status = burn__pytorch_storages(file);
  if (status != BURN_OK) return status;
  const PickleObject *list = burn__pickle_items(&file->pickle, keys);
  if (list == NULL || list->kind != PICKLE_LIST) return at_byte(place, "no list of storages");
  for (uint32_t i = 0; i < list->as.list.count && status == BURN_OK; i++) {
    const PickleObject *key = burn__pickle_at(&file->pickle, list->as.list.items[i]);
    PytorchStorage *storage = key->kind == PICKLE_TEXT ? burn__pytorch_storage(file, key->as.text) : NULL;
    if (storage == NULL)
      return at_byte(place, "the key of a storage that no tensor has, so that its size is not known");
    status = legacy_storage(store, file, storage, &at);
  }
  return status;
}
