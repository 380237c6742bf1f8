/* store_pytorch.c - what torch.save writes, as a format of a store: found out by its beginning, listed without reading
 * values, and each tensor gathered from its storage when it is asked for. */
#include "pytorch.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { MEMORY_SLACK = 12 << 20 };

static bool is_zip(const uint8_t *bytes, size_t count) {
  static const uint8_t mark[] = {'P', 'K', 3, 4};
  return count >= sizeof mark && memcmp(bytes, mark, sizeof mark) == 0;
}

/* PROTO of 2 to 5. */
static bool is_pickle(const uint8_t *bytes, size_t count) {
  return count > 2 && bytes[0] == 0x80 && bytes[1] >= 2 && bytes[1] <= 5;
}

/* The name in the header of the first member, which torch.save makes data.pkl. */
static bool first_is_pickle(const uint8_t *bytes, size_t count) {
  enum { HEADER_BYTES = 30, NAME_LENGTH_AT = 26, NAME_LIMIT = 256 };
  char name[NAME_LIMIT];
  if (count < HEADER_BYTES) return false;
  const size_t length = (size_t)bytes[NAME_LENGTH_AT] | (size_t)bytes[NAME_LENGTH_AT + 1] << 8;
  if (length >= sizeof name || length > count - HEADER_BYTES) return false;
  memcpy(name, bytes + HEADER_BYTES, length);
  name[length] = '\0';
  return burn__pytorch_is_pickle_name(name);
}

/* A zip archive is one of PyTorch if it has a data.pkl: NumPy's are zip archives, too. One that is cut is still known
 * by its first member. An exported program is PyTorch's, too, and refused with the way out. */
static bool is_pytorch(const uint8_t *bytes, size_t count) {
  BurnStatus status = BURN_OK;
  bool is_known = false;
  if (!is_zip(bytes, count)) return is_pickle(bytes, count) || burn__pytorch_is_tar(bytes, count);
  if (first_is_pickle(bytes, count)) return true;
  BurnZip *zip = burn_zip_open(bytes, count, &status);
  for (size_t i = 0; zip != NULL && i < burn_zip_count(zip) && !is_known; i++) {
    const char *name = burn_zip_member(zip, i)->name;
    is_known = burn__pytorch_is_pickle_name(name) || burn__pytorch_is_program_name(name);
  }
  burn_zip_close(zip);
  return is_known;
}

static void close_pytorch(BurnStore *store) {
  Pytorch *file = store->state;
  if (file == NULL) return;
  burn__pickle_release(&file->pickle);
  burn_zip_close(file->zip);
  free(file->unpacked);
  free(file->storages);
  free(file->views);
  free(file->named);
  free(file);
  store->state = NULL;
}

static BurnStatus container_read(BurnStore *store, Pytorch *file, PickleRef *root) {
  if (is_zip(store->file.bytes, store->file.count)) return burn__pytorch_zip(store, file, root);
  if (burn__pytorch_is_tar(store->file.bytes, store->file.count)) return burn__pytorch_tar(store, file, root);
  return burn__pytorch_legacy(store, file, root);
}

static BurnStatus open_pytorch(BurnStore *store) {
  Pytorch *file = calloc(1, sizeof *file);
  PickleRef root = PICKLE_NOTHING;
  if (file == NULL) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory to read a file of PyTorch");
  store->state = file;
  burn__pickle_init(&file->pickle, 2 * (uint64_t)store->file.count + MEMORY_SLACK);
  BurnStatus status = container_read(store, file, &root);
  if (status == BURN_OK) {
    status = burn__pytorch_walk(store, file, root);
    if (file->member != NULL) status = burn_status_annotate(status, "%.100s", file->member);
  }
  burn__pickle_release(&file->pickle);
  return status;
}

/* -- values ----------------------------------------------------------------------------------- */

/* Copies the elements of one axis, and of those after it, row-major; *out moves on. */
static void gather(const PytorchView *view, uint32_t axis, const uint8_t *from, uint8_t **out) {
  const size_t width = view->dtype->bytes;
  if (axis == view->rank) {
    memcpy(*out, from, width);
    *out += width;
    return;
  }
  const size_t step = (size_t)view->strides[axis] * width, count = (size_t)view->sizes[axis];
  if (axis + 1 == view->rank && view->strides[axis] == 1) {
    memcpy(*out, from, count * width);
    *out += count * width;
    return;
  }
  for (size_t i = 0; i < count; i++) gather(view, axis + 1, from + i * step, out);
}

static void swap_bytes(uint8_t *bytes, size_t count, size_t width) {
  for (size_t i = 0; i + width <= count; i += width)
    for (size_t j = 0; j < width / 2; j++) {
      const uint8_t first = bytes[i + j];
      bytes[i + j] = bytes[i + width - 1 - j];
      bytes[i + width - 1 - j] = first;
    }
}

/* Unsigned integers of the file, little-endian in `values`, as those of our dtype: from the last on, since it may have
 * more bytes. */
static BurnStatus widen(uint8_t *values, size_t count, size_t width, size_t out_width) {
  for (size_t i = count; i > 0; i--) {
    uint64_t value = 0;
    for (size_t k = 0; k < width; k++) value |= (uint64_t)values[(i - 1) * width + k] << 8 * k;
    if (value > INT64_MAX)
      return burn_status_make(BURN_STATUS_OUT_OF_RANGE, "%llu does not fit an i64", (unsigned long long)value);
    if (out_width == sizeof(int32_t)) {
      const int32_t narrow = (int32_t)value;
      memcpy(values + (i - 1) * out_width, &narrow, out_width);
    } else {
      memcpy(values + (i - 1) * out_width, &value, out_width);
    }
  }
  return BURN_OK;
}

/* The bytes of a storage: where they are, or unpacked into *made. */
static BurnStatus storage_bytes(const Pytorch *file, const PytorchStorage *storage, const uint8_t **bytes,
                                uint8_t **made) {
  *bytes = storage->bytes;
  if (storage->is_latin1) {
    *made = malloc((size_t)storage->byte_count + 1);
    if (*made == NULL) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for an array");
    (void)burn__pytorch_latin1((PickleText){storage->bytes, (size_t)storage->elements}, *made);
    *bytes = *made;
  } else if (storage->bytes == NULL && storage->member != SIZE_MAX) {
    const BurnStatus status = burn_zip_read(file->zip, storage->member, made);
    *bytes = *made;
    return status;
  }
  return BURN_OK;
}

/* Of a tensor that is all of a stored member the checksum is compared. */
static BurnStatus check_sum(const Pytorch *file, const PytorchStorage *storage, const BurnStoreSlot *slot) {
  if (storage->bytes == NULL || storage->member == SIZE_MAX || slot->seen.bytes != storage->byte_count) return BURN_OK;
  const BurnZipMember *member = burn_zip_member(file->zip, storage->member);
  if (crc32_z(0, storage->bytes, (size_t)storage->byte_count) == member->checksum) return BURN_OK;
  return burn_status_make(BURN_STATUS_CORRUPT_DATA, "%.100s: its checksum is wrong", member->name);
}

static BurnStatus read_pytorch(const BurnStore *store, const BurnStoreSlot *slot, void *out) {
  const Pytorch *file = store->state;
  const PytorchView *view = &file->views[slot->part];
  const PytorchStorage *storage = &file->storages[view->storage];
  const uint8_t *bytes = NULL;
  uint8_t *made = NULL, *to = out;
  if (slot->seen.bytes == 0) return BURN_OK;
  BurnStatus status = check_sum(file, storage, slot);
  if (status == BURN_OK) status = storage_bytes(file, storage, &bytes, &made);
  if (status == BURN_OK) {
    const size_t width = view->dtype->bytes;
    gather(view, 0, bytes + view->offset * width, &to);
    if (storage->is_big_endian) swap_bytes(out, (size_t)slot->seen.bytes, width);
    if (burn__pytorch_is_unsigned(view->dtype))
      status = widen(out, (size_t)slot->seen.bytes / width, width, burn_dtype_bytes(slot->seen.dtype));
    for (size_t i = 0; slot->seen.dtype == BURN_DTYPE_BOOL && i < slot->seen.bytes; i++)
      ((uint8_t *)out)[i] = ((uint8_t *)out)[i] != 0;
  }
  free(made);
  return status;
}

const BurnStoreFormat burn__store_pytorch = {
    .name = "pytorch", .is = is_pytorch, .open = open_pytorch, .read = read_pytorch, .close = close_pytorch};
