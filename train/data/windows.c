/* windows.c - runs of items that overlap. */
#include "dataset_private.h"

#include <stdlib.h>

typedef struct WindowsContext {
  BurnDataset *source;
  size_t size;
} WindowsContext;

static BurnStatus windows_get(void *context, size_t epoch, size_t index, void *const *columns) {
  const WindowsContext *windows = context;
  const size_t column_count = burn_dataset_column_count(windows->source);
  for (size_t item = 0; item < windows->size; item++) {
    void *out[BURN_MAX_COLUMNS] = {NULL};
    for (size_t i = 0; i < column_count; i++)
      out[i] = (unsigned char *)columns[i] + item * burn_dataset_column_bytes(windows->source, i);
    const BurnStatus status = burn_dataset_get_in_epoch(windows->source, epoch, index + item, out);
    if (status != BURN_OK) return burn_status_annotate(status, "windows: item %zu, in window %zu", index + item, index);
  }
  return BURN_OK;
}

static void windows_destroy(void *context) {
  WindowsContext *windows = context;
  burn_dataset_drop(windows->source);
  free(windows);
}

/* The columns of the source with `size` as a first axis. An item of the source has one axis less than a tensor can
 * have, so there is room for it; whether the rank leaves room for a batch is checked as for any dataset. */
static void columns_of_windows(const BurnDataset *source, size_t size, BurnColumn *columns) {
  for (size_t i = 0; i < burn_dataset_column_count(source); i++) {
    const BurnColumn *column = burn_dataset_column(source, i);
    columns[i] = (BurnColumn){column->name, column->dtype, {column->shape.rank + 1, {(int64_t)size}}};
    for (uint32_t axis = 0; axis < column->shape.rank; axis++)
      columns[i].shape.dims[axis + 1] = column->shape.dims[axis];
  }
}

BurnDataset *burn_dataset_windows(BurnDataset *source, size_t size, BurnStatus *status) {
  if (!burn__source_ready(source, "windows", status)) return NULL;
  if (size < 1 || size > (size_t)INT64_MAX)
    return burn__source_refused(
        source, status, burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "windows: size %zu, at least 1 expected", size));
  WindowsContext *windows = malloc(sizeof *windows);
  if (windows == NULL)
    return burn__source_refused(source, status, burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "windows: out of memory"));
  *windows = (WindowsContext){source, size};
  BurnColumn columns[BURN_MAX_COLUMNS];
  columns_of_windows(source, size, columns);
  const size_t items = burn_dataset_count(source);
  const BurnDatasetInterface interface = {
      burn_dataset_column_count(source), columns, items < size ? 0 : items - size + 1, NULL, windows_destroy, windows};
  return burn_dataset_create_by_epoch(&interface, windows_get, status);
}
