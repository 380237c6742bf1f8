/* store.c - files of tensors, opened by the format that their content shows, and looked into. */
#include "null_check.h"
#include "path_check.h"
#include "store_format.h"

#include <burn/file.h>
#include <burn/guess.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const BurnStoreFormat *const formats[] = {
#define BURN_STORE_FORMAT(id, name) &burn__store_##id,
#include "store_formats.def"
#undef BURN_STORE_FORMAT
};

/* -- what readers use ------------------------------------------------------------------------- */

bool burn__store_shape(const int64_t *sizes, uint32_t rank, uint64_t limit, BurnShape *shape, bool *scalar,
                       uint64_t *elements) {
  uint64_t product = 1;
  bool is_empty = false;
  if (rank > BURN_MAX_RANK) return false;
  *shape = (BurnShape){.rank = rank ? rank : 1, .dims = {1}};
  *scalar = rank == 0;
  for (uint32_t i = 0; i < rank; i++) {
    if (sizes[i] < 0) return false;
    shape->dims[i] = sizes[i];
    is_empty = is_empty || sizes[i] == 0;
    if (sizes[i] == 0) continue; /* the others must multiply all the same: strides are made of them */
    if ((uint64_t)sizes[i] > limit / product) return false;
    product *= (uint64_t)sizes[i];
  }
  if (elements) *elements = is_empty ? 0 : product;
  return limit > 0 || is_empty;
}

static uint64_t element_count(const BurnShape *shape) {
  uint64_t count = 1;
  for (uint32_t i = 0; i < shape->rank; i++) count *= (uint64_t)shape->dims[i];
  return count;
}

size_t burn__store_value_bytes(const BurnStoreSlot *slot) {
  return (size_t)element_count(&slot->seen.shape) * burn_dtype_bytes(slot->seen.dtype);
}

/* Room for one more slot. */
static BurnStatus grow(BurnStore *store) {
  if (store->count < store->capacity) return BURN_OK;
  if (store->count == BURN_STORE_ENTRY_LIMIT)
    return burn_status_make(BURN_STATUS_OUT_OF_RANGE, "more than %d tensors", BURN_STORE_ENTRY_LIMIT);
  const size_t capacity = store->capacity + store->capacity / 2 + 16;
  BurnStoreSlot *slots = realloc(store->slots, capacity * sizeof *slots);
  if (!slots) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for %zu tensors", capacity);
  store->slots = slots;
  store->capacity = capacity;
  return BURN_OK;
}

BurnStatus burn__store_add(BurnStore *store, const BurnStoreSlot *slot) {
  const uint32_t bytes = burn_dtype_bytes(slot->seen.dtype);
  BurnShape shape;
  bool scalar;
  if (!burn__store_shape(slot->seen.shape.dims, slot->seen.shape.rank, SIZE_MAX / 2 / (bytes ? bytes : 1), &shape,
                         &scalar, NULL))
    return burn_status_make(BURN_STATUS_OUT_OF_RANGE, "tensor %.80s: more elements than there is memory",
                            slot->seen.name);
  BurnStatus status = grow(store);
  if (status != BURN_OK) return status;
  BurnStoreSlot *added = &store->slots[store->count];
  *added = *slot;
  added->seen.name = strdup(slot->seen.name);
  if (!added->seen.name) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for a name");
  store->count++;
  return BURN_OK;
}

/* -- names ------------------------------------------------------------------------------------ */

/* A slot's name and place, to be sorted. */
typedef struct Named {
  const char *name;
  size_t index;
} Named;

static int compare_named(const void *a, const void *b) {
  return strcmp(((const Named *)a)->name, ((const Named *)b)->name);
}

/* Sorts the slots by name into store->order; a name that occurs twice is refused, because nothing says which of the two
 * counts. */
static BurnStatus sort_names(BurnStore *store) {
  const size_t count = store->count;
  Named *named = calloc(count + 1, sizeof *named);
  store->order = calloc(count + 1, sizeof *store->order);
  BurnStatus status = BURN_OK;
  if (!named || !store->order) status = burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for %zu names", count);
  for (size_t i = 0; i < count && status == BURN_OK; i++) named[i] = (Named){store->slots[i].seen.name, i};
  if (status == BURN_OK) qsort(named, count, sizeof *named, compare_named);
  for (size_t i = 0; i < count && status == BURN_OK; i++) {
    store->order[i] = named[i].index;
    if (i > 0 && strcmp(named[i - 1].name, named[i].name) == 0)
      status = burn_status_make(BURN_STATUS_CORRUPT_DATA, "tensor %.80s: it is there twice", named[i].name);
  }
  free(named);
  return status;
}

size_t burn_store_find(const BurnStore *store, const char *name) {
  size_t low = 0, high = name ? burn_store_count(store) : 0;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    const int order = strcmp(store->slots[store->order[middle]].seen.name, name);
    if (order == 0) return store->order[middle];
    if (order < 0) low = middle + 1;
    if (order > 0) high = middle;
  }
  return burn_store_count(store);
}

/* -- opening ---------------------------------------------------------------------------------- */

static const BurnStoreFormat *format_of(const BurnStoreFile *file) {
  for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
    if (formats[i]->is(file->bytes, file->count)) return formats[i];
  }
  return NULL;
}

static BurnStatus unknown_format(const BurnStoreFile *file) {
  char names[256] = "";
  for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
    const size_t used = strlen(names);
    (void)snprintf(names + used, sizeof names - used, "%s%s", i > 0 ? ", " : "", formats[i]->name);
  }
  return burn_status_make(BURN_STATUS_INCOMPATIBLE, "its %zu bytes are of no known format (%s)", file->count, names);
}

/* Everything but the store's memory itself, so that a failed one ends alike. */
static BurnStatus read_content(BurnStore *store, bool is_part) {
  store->format = format_of(&store->file);
  if (!store->format) return unknown_format(&store->file);
  if (is_part && store->format == &burn__store_index)
    return burn_status_make(BURN_STATUS_CORRUPT_DATA, "a part of a model that is an index itself");
  store->metadata = burn_value_map();
  if (!store->metadata) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for a map");
  BurnStatus status = store->format->open(store);
  if (status == BURN_OK) status = sort_names(store);
  return burn_status_annotate(status, "%s", store->format->name);
}

/* The file to read for a path: of a folder the first of these that is in it; malloc'd. */
static BurnStatus find_file(const char *path, char **found) {
  static const char *const names[] = {"model.safetensors.index.json", "pytorch_model.bin.index.json",
                                      "model.safetensors", "pytorch_model.bin"};
  const size_t bytes = strlen(path) + 64;
  char *file = malloc(bytes);
  if (!file) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for a path");
  (void)snprintf(file, bytes, "%s", path);
  bool is_there = !burn__store_is_folder(path);
  for (size_t i = 0; i < sizeof names / sizeof names[0] && !is_there; i++) {
    FILE *opened = NULL;
    (void)snprintf(file, bytes, "%s/%s", path, names[i]);
    is_there = burn_file_open(file, &opened, NULL) == BURN_OK;
    if (opened) (void)fclose(opened);
  }
  if (is_there) {
    *found = file;
    return BURN_OK;
  }
  free(file);
  return burn_status_make(BURN_STATUS_NOT_FOUND, "a folder without %s, %s, %s or %s", names[0], names[1], names[2],
                          names[3]);
}

/* Takes `file`, the path of a file, which may be NULL. */
static BurnStatus open_file(BurnStore *store, char *file, bool is_part) {
  if (!store || !file) {
    free(file);
    return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for a store");
  }
  store->file.path = file;
  const BurnStatus status = burn__store_map(file, &store->file);
  return status == BURN_OK ? read_content(store, is_part) : status;
}

BurnStore *burn_store_open(const char *path, BurnStatus *status) {
  if (status && *status != BURN_OK) return NULL;
  char *found = NULL;
  BurnStatus result = burn__path_check("store", path);
  if (result == BURN_OK) result = find_file(path, &found);
  BurnStore *store = result == BURN_OK ? calloc(1, sizeof *store) : NULL;
  if (result == BURN_OK) result = open_file(store, found, false);
  if (result == BURN_OK) return store;
  burn_store_close(store);
  if (status) *status = burn__path_annotate(result, "store", path);
  return NULL;
}

BurnStore *burn__store_open_part(const char *path, BurnStatus *status) {
  BurnStore *store = calloc(1, sizeof *store);
  *status = open_file(store, strdup(path), true);
  if (*status == BURN_OK) return store;
  burn_store_close(store);
  *status = burn_status_annotate(*status, "%s", path);
  return NULL;
}

BurnStore *burn_store_open_bytes(const void *bytes, size_t count, BurnStatus *status) {
  if (status && *status != BURN_OK) return NULL;
  BurnStore *store = calloc(1, sizeof *store);
  BurnStatus result = store ? BURN_OK : burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for a store");
  if (result == BURN_OK) {
    store->file = (BurnStoreFile){.bytes = bytes, .count = bytes ? count : 0};
    result = read_content(store, false);
  }
  if (result == BURN_OK) return store;
  burn_store_close(store);
  if (status) *status = burn_status_annotate(result, "store");
  return NULL;
}

void burn_store_close(BurnStore *store) {
  if (!store) return;
  if (store->format && store->format->close) store->format->close(store);
  for (size_t i = 0; i < store->count; i++) free((void *)(uintptr_t)store->slots[i].seen.name);
  free(store->slots);
  free(store->order);
  burn_value_destroy(store->metadata);
  burn__store_unmap(&store->file);
  free((void *)(uintptr_t)store->file.path);
  free(store);
}

void burn__store_leave_out(BurnStore *store, size_t count, const char *where, const char *why) {
  if (store->left_out == 0 && count > 0)
    (void)snprintf(store->first_left_out, sizeof store->first_left_out, "%.160s%s%s", where, *where ? ": " : "", why);
  store->left_out += count;
}

/* -- looking ---------------------------------------------------------------------------------- */

const char *burn_store_format(const BurnStore *store) { return store ? store->format->name : "none"; }

const BurnValue *burn_store_metadata(const BurnStore *store) { return store ? store->metadata : NULL; }

size_t burn_store_count(const BurnStore *store) { return store ? store->count : 0; }

const BurnStoreEntry *burn_store_entry(const BurnStore *store, size_t index) {
  return index < burn_store_count(store) ? &store->slots[index].seen : NULL;
}

size_t burn_store_left_out(const BurnStore *store, const char **first) {
  if (first) *first = store ? store->first_left_out : "";
  return store ? store->left_out : 0;
}

BurnStatus burn__no_store(void) {
  return burn_status_make(BURN_STATUS_INVALID_ARGUMENT,
                          "store: there is none; the status of the call that should have opened it says why");
}

/* -- reading ---------------------------------------------------------------------------------- */

static BurnStatus at_tensor(const BurnStore *store, const BurnStoreSlot *slot, BurnStatus status) {
  status = burn_status_annotate(status, "tensor %.200s", slot->seen.name);
  return burn_status_annotate(status, "store: %s", store->file.path ? store->file.path : "bytes");
}

static BurnStatus read_slot(const BurnStore *store, const BurnStoreSlot *slot, void *out) {
  if (slot->refusal) return burn_status_make(BURN_STATUS_UNIMPLEMENTED, "%s: %s", slot->seen.file_dtype, slot->refusal);
  const size_t bytes = burn__store_value_bytes(slot);
  if (bytes == 0) return BURN_OK;
  if (store->format->read) return store->format->read(store, slot, out);
  memcpy(out, store->file.bytes + slot->offset, bytes);
  return BURN_OK;
}

BurnStatus burn_store_read(const BurnStore *store, size_t index, void *out, size_t bytes) {
  if (!store) return burn__no_store();
  if (index >= store->count)
    return burn_status_make(BURN_STATUS_OUT_OF_RANGE, "store: %s: tensor %zu asked for, there are %zu",
                            store->file.path ? store->file.path : "bytes", index, store->count);
  const BurnStoreSlot *slot = &store->slots[index];
  if (!slot->refusal && bytes != burn__store_value_bytes(slot)) {
    return at_tensor(store, slot,
                     burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "it has %zu bytes as %s, not %zu",
                                      burn__store_value_bytes(slot), burn_dtype_name(slot->seen.dtype), bytes));
  }
  return at_tensor(store, slot, read_slot(store, slot, out));
}

static BurnTensor *no_tensor(const BurnStore *store, const char *name) {
  BurnGuess guess = burn_guess(name);
  for (size_t i = 0; i < store->count; i++) burn_guess_add(&guess, store->slots[i].seen.name);
  return burn_tensor_failed(burn_status_make(BURN_STATUS_NOT_FOUND, "store: %s: no tensor \"%.200s\" among %zu.%s",
                                             store->file.path ? store->file.path : "bytes", name, store->count,
                                             burn_guess_text(&guess)));
}

BurnTensor *burn_store_tensor(const BurnStore *store, const char *name, BurnDevice *device) {
  if (!store) return burn_tensor_failed(burn__no_store());
  BurnStatus status = BURN_REQUIRED(name, "that of a tensor");
  if (status != BURN_OK) return burn_tensor_failed(status);
  const size_t index = burn_store_find(store, name);
  if (index == store->count) return no_tensor(store, name);
  const BurnStoreSlot *slot = &store->slots[index];
  const size_t bytes = slot->refusal ? 0 : burn__store_value_bytes(slot);
  void *values = malloc(bytes ? bytes : 1);
  status = values ? burn_store_read(store, index, values, bytes)
                  : burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "store: no memory for %zu bytes", bytes);
  BurnTensor *x = status == BURN_OK ? burn_tensor_from(device, values, slot->seen.dtype, slot->seen.shape)
                                    : burn_tensor_failed(status);
  free(values);
  return x;
}
