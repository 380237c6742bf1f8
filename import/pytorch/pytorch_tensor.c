/* pytorch_tensor.c - calls that make tensors, as views of storages: every size and stride is checked. */
#include "pytorch.h"

#include <burn/file.h>

static const char no_dtype[] = "there is no such dtype here; convert it to one of floats or integers in PyTorch";

bool burn__pytorch_is_tensor(const Pickle *pickle, PickleRef ref) {
  const PickleObject *object = burn__pickle_at(pickle, ref);
  if (object->kind == PICKLE_PERSISTENT) return burn__pickle_at(pickle, object->as.pair[0])->kind == PICKLE_TEXT;
  if (object->kind != PICKLE_CALL) return false;
  const PytorchMeaning meaning = burn__pytorch_meaning(pickle, ref);
  return meaning == PYTORCH_TENSOR || meaning == PYTORCH_TENSOR_OF_DTYPE || meaning == PYTORCH_ARRAY;
}

/* Sizes, and strides of which there are as many; with no strides those of a packed tensor, the last axis or the first
 * (Fortran's order) the closest. */
static bool view_shape(const Pickle *pickle, PickleRef sizes, PickleRef strides, bool first_is_closest,
                       PytorchView *view) {
  const PickleObject *size_list = burn__pickle_items(pickle, sizes), *stride_list = burn__pickle_items(pickle, strides);
  uint64_t size = 0;
  if (size_list == NULL || size_list->as.list.count > BURN_MAX_RANK) return false;
  view->rank = size_list->as.list.count;
  if (stride_list != NULL && stride_list->as.list.count != view->rank) return false;
  for (uint32_t i = 0; i < view->rank; i++) {
    if (!burn__pickle_size(pickle, size_list->as.list.items[i], &size) || size > INT64_MAX) return false;
    view->sizes[i] = (int64_t)size;
    if (stride_list != NULL && !burn__pickle_size(pickle, stride_list->as.list.items[i], &view->strides[i]))
      return false;
  }
  uint64_t step = 1;
  for (uint32_t i = 0; i < view->rank && stride_list == NULL; i++) {
    const uint32_t axis = first_is_closest ? i : view->rank - 1 - i;
    view->strides[axis] = step;
    if (view->sizes[axis] > 0 && step > (uint64_t)INT64_MAX / (uint64_t)view->sizes[axis]) return false;
    if (view->sizes[axis] > 0) step *= (uint64_t)view->sizes[axis];
  }
  return true;
}

/* True if every element lies in `elements` ones. No step can wrap: both factors are compared first. */
static bool view_fits(const PytorchView *view, uint64_t elements) {
  uint64_t last = view->offset;
  for (uint32_t i = 0; i < view->rank; i++)
    if (view->sizes[i] == 0) return true;
  if (last >= UINT64_MAX / 2) return false; /* what is left of the half below would wrap */
  for (uint32_t i = 0; i < view->rank; i++) {
    const uint64_t steps = (uint64_t)view->sizes[i] - 1;
    if (steps > 0 && view->strides[i] > (UINT64_MAX / 2) / steps) return false;
    if (steps * view->strides[i] > UINT64_MAX / 2 - last) return false;
    last += steps * view->strides[i];
    if (last >= UINT64_MAX / 2) return false;
  }
  return last < elements;
}

/* Checks a view, which slot describes, and keeps it. A tensor that repeats the elements of its storage (stride 0) may
 * have so many more as compressed data may. */
static BurnStatus view_add(Pytorch *file, PickleRef ref, const PytorchView *view, const PytorchDType *dtype,
                           BurnStoreSlot *slot) {
  const PytorchStorage *storage = &file->storages[view->storage];
  const uint64_t limit = burn_unpack_limit((size_t)storage->byte_count);
  uint64_t elements = 0;
  if (!storage->is_there) return burn__pytorch_corrupt(&file->pickle, ref, "a tensor whose storage is not in the file");
  if (!view_fits(view, storage->byte_count / dtype->bytes))
    return burn_status_make(
        BURN_STATUS_CORRUPT_DATA, "byte %llu: a tensor that is larger than its storage of %llu bytes",
        (unsigned long long)burn__pickle_at(&file->pickle, ref)->offset, (unsigned long long)storage->byte_count);
  if (!burn__store_shape(view->sizes, view->rank, limit / dtype->bytes, &slot->seen.shape, &slot->seen.scalar,
                         &elements))
    return burn__pytorch_corrupt(&file->pickle, ref, "a tensor that repeats its storage more often than is read");
  BurnStatus status = burn__pytorch_grow(file, &file->views, &file->view_room, file->view_count, sizeof *file->views);
  if (status != BURN_OK) return status;
  slot->seen.dtype = dtype->dtype;
  slot->seen.file_dtype = dtype->name;
  slot->seen.bytes = elements * dtype->bytes;
  slot->refusal = dtype->dtype == BURN_DTYPE_DEFAULT ? no_dtype : NULL;
  slot->part = file->view_count;
  file->views[file->view_count] = *view;
  file->views[file->view_count++].dtype = dtype;
  return BURN_OK;
}

/* _rebuild_tensor(storage, offset, sizes, strides), _rebuild_tensor_v3(.., .., .., .., .., .., dtype). */
static BurnStatus tensor_read(Pytorch *file, PickleRef ref, bool has_dtype, BurnStoreSlot *slot) {
  const Pickle *pickle = &file->pickle;
  const PickleRef arguments = burn__pickle_at(pickle, ref)->as.call.arguments;
  const PickleRef source = burn__pickle_item(pickle, arguments, 0);
  PytorchView view = {0};
  if (!burn__pytorch_is_storage(pickle, source))
    return burn__pytorch_corrupt(pickle, ref, "a tensor without a storage");
  const PickleRef key = burn__pickle_item(pickle, burn__pickle_at(pickle, source)->as.pair[0], 2);
  const PytorchStorage *storage = burn__pytorch_storage(file, burn__pickle_at(pickle, key)->as.text);
  if (storage == NULL) return burn__pytorch_corrupt(pickle, ref, "a tensor whose storage is not in the file");
  const PytorchDType *dtype = has_dtype ? burn__pytorch_dtype(pickle, burn__pickle_item(pickle, arguments, 6)) : NULL;
  PytorchStorage named = {0}; /* the class that this tensor gives the storage, which another may give another */
  const BurnStatus status = burn__pytorch_storage_read(pickle, source, &named);
  if (status != BURN_OK) return status;
  if (!has_dtype) dtype = named.dtype;
  if (dtype == NULL) return burn__pytorch_corrupt(pickle, ref, "a tensor of a dtype that is not known");
  view.storage = (size_t)(storage - file->storages);
  const PickleRef sizes = burn__pickle_item(pickle, arguments, 2), strides = burn__pickle_item(pickle, arguments, 3);
  if (!burn__pickle_size(pickle, burn__pickle_item(pickle, arguments, 1), &view.offset) || strides == PICKLE_NOTHING ||
      burn__pickle_items(pickle, strides) == NULL || !view_shape(pickle, sizes, strides, false, &view))
    return burn__pytorch_corrupt(pickle, ref, "a tensor without an offset, sizes and strides of at most 8 axes");
  return view_add(file, ref, &view, dtype, slot);
}

/* A NumPy array has the state (version, shape, dtype, whether Fortran's order, bytes). */
static BurnStatus array_read(Pytorch *file, PickleRef ref, BurnStoreSlot *slot) {
  const Pickle *pickle = &file->pickle;
  const PickleRef state = burn__pickle_at(pickle, ref)->as.call.state;
  PytorchView view = {.storage = file->storage_count};
  PytorchStorage storage = {.member = SIZE_MAX, .is_there = true};
  PickleText text = {0};
  const PytorchDType *dtype =
      burn__pytorch_numpy_dtype(pickle, burn__pickle_item(pickle, state, 2), &storage.is_big_endian);
  const PickleObject *order = burn__pickle_at(pickle, burn__pickle_item(pickle, state, 3));
  const bool is_fortran = order->kind == PICKLE_BOOL && order->as.integer != 0;
  if (dtype == NULL) return burn__pytorch_corrupt(pickle, ref, "a NumPy array of a dtype that is not known");
  if (!burn__pytorch_bytes(pickle, burn__pickle_item(pickle, state, 4), &text, &storage.is_latin1) ||
      !view_shape(pickle, burn__pickle_item(pickle, state, 1), PICKLE_NOTHING, is_fortran, &view))
    return burn__pytorch_corrupt(pickle, ref, "a NumPy array without a shape and bytes");
  storage.bytes = text.bytes;
  storage.byte_count = storage.is_latin1 ? burn__pytorch_latin1(text, NULL) : text.count;
  storage.elements = text.count;
  if (storage.byte_count == UINT64_MAX) return burn__pytorch_corrupt(pickle, ref, "bytes that were not Latin-1");
  const BurnStatus status =
      burn__pytorch_grow(file, &file->storages, &file->storage_room, file->storage_count, sizeof *file->storages);
  if (status != BURN_OK) return status;
  file->storages[file->storage_count++] = storage;
  return view_add(file, ref, &view, dtype, slot);
}

/* The key of a tensor in a tar archive. */
static BurnStatus named_read(Pytorch *file, PickleRef ref, BurnStoreSlot *slot) {
  const PickleRef key = burn__pickle_at(&file->pickle, ref)->as.pair[0];
  const PytorchNamed *named = burn__pytorch_named(file, burn__pickle_at(&file->pickle, key)->as.text);
  if (named == NULL) return burn__pytorch_corrupt(&file->pickle, ref, "a tensor that is not in the file");
  return view_add(file, ref, &named->view, file->storages[named->view.storage].dtype, slot);
}

BurnStatus burn__pytorch_tensor(Pytorch *file, PickleRef ref, BurnStoreSlot *slot) {
  if (burn__pickle_at(&file->pickle, ref)->kind == PICKLE_PERSISTENT) return named_read(file, ref, slot);
  const PytorchMeaning meaning = burn__pytorch_meaning(&file->pickle, ref);
  if (meaning == PYTORCH_ARRAY) return array_read(file, ref, slot);
  return tensor_read(file, ref, meaning == PYTORCH_TENSOR_OF_DTYPE, slot);
}

/* -- bytes ------------------------------------------------------------------------------------ */

bool burn__pytorch_bytes(const Pickle *pickle, PickleRef ref, PickleText *text, bool *is_latin1) {
  const PickleObject *object = burn__pickle_at(pickle, ref);
  *is_latin1 = object->kind == PICKLE_CALL && burn__pytorch_meaning(pickle, ref) == PYTORCH_BYTES;
  if (*is_latin1) object = burn__pickle_at(pickle, burn__pickle_item(pickle, object->as.call.arguments, 0));
  *text = object->kind == PICKLE_TEXT ? object->as.text : (PickleText){NULL, 0};
  return object->kind == PICKLE_TEXT;
}

uint64_t burn__pytorch_latin1(PickleText text, uint8_t *out) {
  uint64_t count = 0;
  for (size_t i = 0; i < text.count; i++, count++) {
    uint8_t byte = text.bytes[i];
    if (byte >= 0x80) {
      if ((byte != 0xc2 && byte != 0xc3) || i + 1 >= text.count || (text.bytes[i + 1] & 0xc0) != 0x80)
        return UINT64_MAX;
      byte = (uint8_t)((byte & 3) << 6 | (text.bytes[++i] & 0x3f));
    }
    if (out != NULL) out[count] = byte;
  }
  return count;
}
