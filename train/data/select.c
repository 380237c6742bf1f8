/* select.c - the items at given indices. */
#include "dataset_private.h"
#include "null_check.h"

BurnDataset *burn_dataset_select(BurnDataset *source, const size_t *indices, size_t count, BurnStatus *status) {
  if (!burn__source_ready(source, "select", status)) return NULL;
  const size_t items = burn_dataset_count(source);
  size_t *order = NULL;
  if (indices == NULL && count > 0)
    return burn__source_refused(source, status, BURN_REQUIRED(indices, "a list of indices"));
  for (size_t i = 0; i < count; i++) {
    if (indices[i] < items) continue;
    return burn__source_refused(
        source, status,
        burn_status_make(BURN_STATUS_OUT_OF_RANGE, "select: index %zu at place %zu, the source has %zu items",
                         indices[i], i, items));
  }
  BurnDataset *dataset = burn__dataset_ordered(source, count, "select", &order, status);
  for (size_t i = 0; dataset != NULL && i < count; i++) order[i] = indices[i];
  return dataset;
}
