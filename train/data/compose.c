/* compose.c - several datasets one after the other. */
#include "dataset_private.h"

#include <stdlib.h>
#include <string.h>

typedef struct Part {
  BurnDataset *dataset;
  size_t end; /* items up to the end of this one */
} Part;

typedef struct ComposeContext {
  size_t count;
  Part parts[];
} ComposeContext;

/* The first part that ends after the item. */
static const Part *part_of(const ComposeContext *composed, size_t index) {
  size_t low = 0, high = composed->count - 1;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (index < composed->parts[middle].end)
      high = middle;
    else
      low = middle + 1;
  }
  return &composed->parts[low];
}

static BurnStatus compose_get(void *context, size_t epoch, size_t index, void *const *columns) {
  const ComposeContext *composed = context;
  const Part *part = part_of(composed, index);
  const size_t inside = index - (part->end - burn_dataset_count(part->dataset));
  return burn_status_annotate(burn_dataset_get_in_epoch(part->dataset, epoch, inside, columns),
                              "compose: item %zu of dataset %zu", inside, (size_t)(part - composed->parts));
}

static void compose_destroy(void *context) {
  ComposeContext *composed = context;
  for (size_t i = 0; i < composed->count; i++) burn_dataset_drop(composed->parts[i].dataset);
  free(composed);
}

static bool same_column(const BurnColumn *a, const BurnColumn *b) {
  return strcmp(a->name, b->name) == 0 && a->dtype == b->dtype && a->shape.rank == b->shape.rank &&
         memcmp(a->shape.dims, b->shape.dims, a->shape.rank * sizeof a->shape.dims[0]) == 0;
}

static BurnStatus columns_compare(const BurnDataset *first, const BurnDataset *other, size_t place) {
  const size_t count = burn_dataset_column_count(first);
  if (burn_dataset_column_count(other) != count)
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "compose: dataset %zu has %zu columns, the first has %zu",
                            place, burn_dataset_column_count(other), count);
  for (size_t i = 0; i < count; i++) {
    const BurnColumn *a = burn_dataset_column(first, i), *b = burn_dataset_column(other, i);
    if (!same_column(a, b))
      return burn_status_make(BURN_STATUS_INVALID_ARGUMENT,
                              "compose: column %zu of dataset %zu is \"%s\" %s %s, that of the first \"%s\" %s %s", i,
                              place, b->name, burn_dtype_name(b->dtype), burn_shape_text(b->shape).text, a->name,
                              burn_dtype_name(a->dtype), burn_shape_text(a->shape).text);
  }
  return BURN_OK;
}

/* The items of all together into *items. */
static BurnStatus compose_check(BurnDataset *const *sources, size_t count, size_t *items) {
  BurnStatus status = BURN_OK;
  *items = 0;
  if (count < 1) return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "compose: 0 datasets, at least 1 expected");
  if (sources == NULL)
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "compose: %zu datasets, but the array of them is NULL",
                            count);
  for (size_t i = 0; i < count && status == BURN_OK; i++) {
    if (sources[i] == NULL)
      return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "compose: no source dataset at place %zu", i);
    const size_t more = burn_dataset_count(sources[i]);
    if (more > SIZE_MAX - *items)
      return burn_status_make(BURN_STATUS_OUT_OF_RANGE, "compose: %zu and %zu items are too many", *items, more);
    *items += more;
    status = columns_compare(sources[0], sources[i], i);
  }
  return status;
}

/* The context, once all is checked. */
static ComposeContext *context_create(BurnDataset *const *sources, size_t count) {
  const bool fits = count <= ((size_t)PTRDIFF_MAX - sizeof(ComposeContext)) / sizeof(Part);
  ComposeContext *composed = fits ? malloc(sizeof *composed + count * sizeof(Part)) : NULL;
  if (composed == NULL) return NULL;
  composed->count = count;
  for (size_t i = 0, end = 0; i < count; i++) {
    end += burn_dataset_count(sources[i]);
    composed->parts[i] = (Part){sources[i], end};
  }
  return composed;
}

BurnDataset *burn_dataset_compose(BurnDataset *const *sources, size_t count, BurnStatus *status) {
  size_t items = 0;
  BurnStatus result = burn__entry_status(status);
  if (result == BURN_OK) result = compose_check(sources, count, &items);
  ComposeContext *composed = result == BURN_OK ? context_create(sources, count) : NULL;
  if (result == BURN_OK && composed == NULL)
    result = burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "compose: no memory for %zu datasets", count);
  if (composed == NULL) {
    for (size_t i = 0; sources != NULL && i < count; i++) burn_dataset_drop(sources[i]);
    burn__store_status(status, result);
    return NULL;
  }
  const BurnDatasetInterface interface = {burn_dataset_column_count(sources[0]),
                                          burn_dataset_column(sources[0], 0),
                                          items,
                                          NULL,
                                          compose_destroy,
                                          composed};
  return burn_dataset_create_by_epoch(&interface, compose_get, status);
}
