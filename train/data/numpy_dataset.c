/* numpy_dataset.c - arrays of a NumPy file as columns: their first axis is that of the items. */
#include "dataset_private.h"
#include "path_check.h"

#include <burn/file.h>
#include <burn/numpy.h>

#include <stdlib.h>
#include <string.h>

/* The arrays that are read, as columns. */
typedef struct Arrays {
  const char *path;
  BurnColumn columns[BURN_MAX_COLUMNS];
  void *blocks[BURN_MAX_COLUMNS];
  size_t count, items;
} Arrays;

/* One more column of an array with that header; its block has room for the values. */
static BurnStatus column_add(Arrays *arrays, const char *name, const BurnNpyHeader *header) {
  if (arrays->count == BURN_MAX_COLUMNS)
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "numpy: %s: more than %d arrays; name those that are wanted",
                            arrays->path, BURN_MAX_COLUMNS);
  if (header->shape.rank < 1)
    return burn_status_make(BURN_STATUS_INVALID_SHAPE, "numpy: %s: array \"%s\" is a single number, without items",
                            arrays->path, name);
  const size_t items = (size_t)header->shape.dims[0];
  if (arrays->count > 0 && items != arrays->items)
    return burn_status_make(BURN_STATUS_INVALID_SHAPE, "numpy: %s: array \"%s\" has %zu items, \"%s\" has %zu",
                            arrays->path, name, items, arrays->columns[0].name, arrays->items);
  BurnColumn *column = &arrays->columns[arrays->count];
  *column = (BurnColumn){name, header->dtype, {header->shape.rank - 1, {0}}};
  for (uint32_t i = 0; i < column->shape.rank; i++) column->shape.dims[i] = header->shape.dims[i + 1];
  void *block = malloc(header->bytes + 1);
  if (block == NULL)
    return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "numpy: %s: no memory for %zu bytes", arrays->path,
                            header->bytes);
  arrays->items = items;
  arrays->blocks[arrays->count++] = block;
  return BURN_OK;
}

static BurnStatus npy_load(Arrays *arrays, const uint8_t *bytes, size_t count, const char *name) {
  BurnNpyHeader header;
  BurnStatus status = burn_status_annotate(burn_npy_header(bytes, count, &header), "numpy: %s", arrays->path);
  if (status == BURN_OK) status = column_add(arrays, name, &header);
  if (status == BURN_OK) burn_npy_values(&header, bytes, arrays->blocks[0]);
  return status;
}

static BurnStatus npz_load(Arrays *arrays, const BurnNpz *npz, const char *const *names, size_t name_count) {
  BurnStatus status = BURN_OK;
  const size_t count = names != NULL ? name_count : burn_npz_count(npz);
  for (size_t i = 0; status == BURN_OK && i < count; i++) {
    const size_t index = names != NULL ? burn_npz_find(npz, names[i]) : i;
    if (names != NULL && index == burn_npz_count(npz))
      return burn_status_make(BURN_STATUS_NOT_FOUND, "numpy: %s: no array \"%s\"", arrays->path, names[i]);
    status = column_add(arrays, burn_npz_name(npz, index), burn_npz_header(npz, index));
    if (status == BURN_OK) burn_npz_values(npz, index, arrays->blocks[i]);
  }
  return status;
}

static BurnDataset *arrays_end(Arrays *arrays, BurnStatus result, BurnStatus *status) {
  if (result == BURN_OK)
    return burn__dataset_of_blocks(arrays->columns, arrays->count, arrays->blocks, arrays->items, status);
  for (size_t i = 0; i < arrays->count; i++) free(arrays->blocks[i]);
  burn__store_status(status, result);
  return NULL;
}

static bool is_archive(const char *path) {
  const size_t length = strlen(path);
  return length >= 4 && strcmp(path + length - 4, ".npz") == 0;
}

BurnDataset *burn_dataset_numpy(const char *path, const char *const *names, size_t name_count, BurnStatus *status) {
  Arrays arrays = {.path = path};
  BurnStatus result = burn__entry_status(status);
  if (result == BURN_OK) result = burn__path_check("numpy", path);
  for (size_t i = 0; names != NULL && i < name_count && result == BURN_OK; i++)
    if (names[i] == NULL) result = burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "numpy: name %zu is NULL", i);
  if (result != BURN_OK) return arrays_end(&arrays, result, status);
  if (is_archive(path)) {
    BurnNpz *npz = burn_npz_open(path, &result);
    if (npz != NULL) result = npz_load(&arrays, npz, names, name_count);
    BurnDataset *dataset = arrays_end(&arrays, result, status);
    burn_npz_close(npz); /* the names of the columns were its own */
    return dataset;
  }
  uint8_t *bytes = NULL;
  size_t count = 0;
  result = burn_status_annotate(burn_file_read(path, PTRDIFF_MAX - 1, &bytes, &count), "numpy: %s", path);
  if (result == BURN_OK) result = npy_load(&arrays, bytes, count, names != NULL && name_count > 0 ? names[0] : "x");
  free(bytes);
  return arrays_end(&arrays, result, status);
}
