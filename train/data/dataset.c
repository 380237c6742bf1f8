/* dataset.c - counted datasets and the sources and transforms that need nothing but memory.
 *
 * Every dataset is the user's interface plus checked copies of its columns. Those made here are written against the
 * same interface: a context with its own get and destroy, given to burn_dataset_create. Contexts are taken also when
 * that fails, so no caller has a second way to clean up. */
#include "dataset_private.h"
#include "null_check.h"

#include <stdalign.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct BurnDataset {
  atomic_size_t references;
  BurnDatasetInterface interface;
  BurnGetInEpoch get_in_epoch; /* NULL: items are the same in every epoch, interface.get */
  BurnColumn columns[BURN_MAX_COLUMNS];
  size_t bytes[BURN_MAX_COLUMNS]; /* of one item */
  char *names;                    /* texts of the columns' names, one allocation */
};

/* -- columns ---------------------------------------------------------------------------------- */

/* Bytes of one item of a column into *bytes. */
static BurnStatus column_check(const BurnColumn *column, size_t index, size_t *bytes) {
  if (column->name == NULL || column->name[0] == '\0')
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "dataset: column %zu has no name", index);
  size_t size = burn_dtype_bytes(column->dtype);
  if (size == 0)
    return burn_status_make(BURN_STATUS_INVALID_DTYPE, "dataset: column \"%s\" has the unknown dtype %u", column->name,
                            (unsigned)column->dtype);
  if (column->shape.rank >= BURN_MAX_RANK)
    return burn_status_make(BURN_STATUS_INVALID_SHAPE,
                            "dataset: column \"%s\" has rank %u, at most %u leaves room for a batch", column->name,
                            (unsigned)column->shape.rank, BURN_MAX_RANK - 1);
  for (uint32_t i = 0; i < column->shape.rank; i++) {
    const int64_t dim = column->shape.dims[i];
    if (dim < 1)
      return burn_status_make(BURN_STATUS_INVALID_SHAPE,
                              "dataset: column \"%s\" has size %lld on axis %u, at least 1 expected", column->name,
                              (long long)dim, (unsigned)i);
    if ((uint64_t)dim > (uint64_t)(PTRDIFF_MAX / 2) / size)
      return burn_status_make(BURN_STATUS_INVALID_SHAPE, "dataset: column \"%s\" is too large at axis %u of size %lld",
                              column->name, (unsigned)i, (long long)dim);
    size *= (size_t)dim;
  }
  *bytes = size;
  return BURN_OK;
}

BurnStatus burn__columns_check(const BurnColumn *columns, size_t count, size_t *bytes) {
  if (count < 1 || count > BURN_MAX_COLUMNS)
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "dataset: %zu columns, 1..%d expected", count,
                            BURN_MAX_COLUMNS);
  if (columns == NULL)
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "dataset: %zu columns, but the array of them is NULL", count);
  for (size_t i = 0; i < count; i++) {
    const BurnStatus status = column_check(&columns[i], i, &bytes[i]);
    if (status != BURN_OK) return status;
    for (size_t j = 0; j < i; j++)
      if (strcmp(columns[i].name, columns[j].name) == 0)
        return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "dataset: columns %zu and %zu are both named \"%s\"", j,
                                i, columns[i].name);
  }
  return BURN_OK;
}

/* Copies the columns with their names; false when out of memory. */
static bool columns_copy(BurnDataset *dataset, const BurnColumn *columns, size_t count) {
  size_t length = 0;
  for (size_t i = 0; i < count; i++) length += strlen(columns[i].name) + 1;
  dataset->names = malloc(length);
  if (dataset->names == NULL) return false;
  char *name = dataset->names;
  for (size_t i = 0; i < count; i++) {
    const size_t name_bytes = strlen(columns[i].name) + 1;
    dataset->columns[i] = columns[i];
    dataset->columns[i].name = memcpy(name, columns[i].name, name_bytes);
    name += name_bytes;
  }
  return true;
}

/* -- lifetime and access ---------------------------------------------------------------------- */

static void context_destroy(const BurnDatasetInterface *dataset) {
  if (dataset != NULL && dataset->destroy != NULL) dataset->destroy(dataset->context);
}

BurnDataset *burn_dataset_create_by_epoch(const BurnDatasetInterface *interface, BurnGetInEpoch get,
                                          BurnStatus *status) {
  size_t bytes[BURN_MAX_COLUMNS] = {0};
  BurnStatus result = burn__entry_status(status);
  if (result == BURN_OK && interface == NULL)
    result = burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "dataset: the interface is NULL");
  if (result == BURN_OK) result = burn__columns_check(interface->columns, interface->column_count, bytes);
  if (result == BURN_OK && interface->get == NULL && get == NULL)
    result = burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "dataset: no get function");
  BurnDataset *dataset = result == BURN_OK ? calloc(1, sizeof *dataset) : NULL;
  if (result == BURN_OK && (dataset == NULL || !columns_copy(dataset, interface->columns, interface->column_count)))
    result = burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "dataset: out of memory");
  burn__store_status(status, result);
  if (result != BURN_OK) {
    free(dataset);
    context_destroy(interface);
    return NULL;
  }
  atomic_init(&dataset->references, 1);
  dataset->interface = *interface;
  dataset->interface.columns = dataset->columns;
  dataset->get_in_epoch = get;
  memcpy(dataset->bytes, bytes, sizeof bytes);
  return dataset;
}

BurnDataset *burn_dataset_create(const BurnDatasetInterface *interface, BurnStatus *status) {
  return burn_dataset_create_by_epoch(interface, NULL, status);
}

BurnDataset *burn_dataset_clone(BurnDataset *dataset) {
  if (dataset != NULL) atomic_fetch_add_explicit(&dataset->references, 1, memory_order_relaxed);
  return dataset;
}

void burn_dataset_drop(BurnDataset *dataset) {
  if (dataset == NULL || atomic_fetch_sub_explicit(&dataset->references, 1, memory_order_acq_rel) != 1) return;
  context_destroy(&dataset->interface);
  free(dataset->names);
  free(dataset);
}

size_t burn_dataset_count(const BurnDataset *dataset) { return dataset != NULL ? dataset->interface.count : 0; }

size_t burn_dataset_column_count(const BurnDataset *dataset) {
  return dataset != NULL ? dataset->interface.column_count : 0;
}

const BurnColumn *burn_dataset_column(const BurnDataset *dataset, size_t index) {
  return index < burn_dataset_column_count(dataset) ? &dataset->columns[index] : NULL;
}

size_t burn_dataset_column_bytes(const BurnDataset *dataset, size_t index) {
  return index < burn_dataset_column_count(dataset) ? dataset->bytes[index] : 0;
}

BurnStatus burn_dataset_get(const BurnDataset *dataset, size_t index, void *const *columns) {
  return burn_dataset_get_in_epoch(dataset, 0, index, columns);
}

BurnStatus burn_dataset_get_in_epoch(const BurnDataset *dataset, size_t epoch, size_t index, void *const *columns) {
  if (index >= burn_dataset_count(dataset))
    return burn_status_make(BURN_STATUS_OUT_OF_RANGE, "dataset: item %zu asked for, there are %zu", index,
                            burn_dataset_count(dataset));
  if (columns == NULL) return BURN_REQUIRED_BY("dataset_get", columns, "a place for each column");
  void *context = dataset->interface.context;
  return dataset->get_in_epoch != NULL ? dataset->get_in_epoch(context, epoch, index, columns)
                                       : dataset->interface.get(context, index, columns);
}

/* -- in memory -------------------------------------------------------------------------------- */

typedef struct MemoryContext {
  size_t column_count;
  size_t bytes[BURN_MAX_COLUMNS];
  unsigned char *blocks[BURN_MAX_COLUMNS];
} MemoryContext;

static BurnStatus memory_get(void *context, size_t index, void *const *columns) {
  const MemoryContext *memory = context;
  for (size_t i = 0; i < memory->column_count; i++)
    memcpy(columns[i], memory->blocks[i] + index * memory->bytes[i], memory->bytes[i]);
  return BURN_OK;
}

static void memory_destroy(void *context) {
  MemoryContext *memory = context;
  for (size_t i = 0; i < memory->column_count; i++) free(memory->blocks[i]);
  free(memory);
}

BurnDataset *burn__dataset_of_blocks(const BurnColumn *columns, size_t column_count, void *const *blocks, size_t count,
                                     BurnStatus *status) {
  BurnStatus result = burn__entry_status(status);
  MemoryContext *memory = result == BURN_OK ? calloc(1, sizeof *memory) : NULL;
  if (result == BURN_OK && memory == NULL)
    result = burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "dataset: out of memory");
  if (result == BURN_OK) result = burn__columns_check(columns, column_count, memory->bytes);
  if (result != BURN_OK) {
    for (size_t i = 0; i < column_count; i++) free(blocks[i]);
    free(memory);
    burn__store_status(status, result);
    return NULL;
  }
  memory->column_count = column_count;
  for (size_t i = 0; i < column_count; i++) memory->blocks[i] = blocks[i];
  const BurnDatasetInterface interface = {column_count, columns, count, memory_get, memory_destroy, memory};
  return burn_dataset_create(&interface, status);
}

/* Room for `count` items of each column; on failure nothing is kept. */
static BurnStatus blocks_allocate(const size_t *bytes, size_t column_count, size_t count, void **blocks) {
  for (size_t i = 0; i < column_count; i++) {
    const bool fits = count <= (size_t)PTRDIFF_MAX / bytes[i];
    blocks[i] = fits ? malloc(count > 0 ? count * bytes[i] : 1) : NULL;
    if (blocks[i] != NULL) continue;
    while (i-- > 0) free(blocks[i]);
    return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "dataset: no memory for %zu items", count);
  }
  return BURN_OK;
}

/* That every column has values, if there are items. */
static BurnStatus data_check(const BurnColumn *columns, size_t column_count, const void *const *data, size_t count) {
  size_t i = 0;
  while (i < column_count && (count == 0 || (data && data[i]))) i++;
  if (i == column_count) return BURN_OK;
  return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "dataset: the data of column \"%s\" are NULL", columns[i].name);
}

BurnDataset *burn_dataset_memory(const BurnColumn *columns, size_t column_count, const void *const *data, size_t count,
                                 BurnStatus *status) {
  size_t bytes[BURN_MAX_COLUMNS] = {0};
  void *blocks[BURN_MAX_COLUMNS] = {NULL};
  BurnStatus result = burn__entry_status(status);
  if (result == BURN_OK) result = burn__columns_check(columns, column_count, bytes);
  if (result == BURN_OK) result = data_check(columns, column_count, data, count);
  if (result == BURN_OK) result = blocks_allocate(bytes, column_count, count, blocks);
  if (result != BURN_OK) {
    burn__store_status(status, result);
    return NULL;
  }
  for (size_t i = 0; i < column_count; i++)
    if (count > 0) memcpy(blocks[i], data[i], count * bytes[i]);
  return burn__dataset_of_blocks(columns, column_count, blocks, count, status);
}

/* -- transforms ------------------------------------------------------------------------------- */

bool burn__source_ready(BurnDataset *source, const char *transform, BurnStatus *status) {
  const BurnStatus before = burn__entry_status(status);
  if (source != NULL && before == BURN_OK) return true;
  if (before == BURN_OK)
    burn__store_status(status, burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%s: no source dataset", transform));
  burn_dataset_drop(source);
  return false;
}

BurnDataset *burn__source_refused(BurnDataset *source, BurnStatus *status, BurnStatus reason) {
  burn__store_status(status, reason);
  burn_dataset_drop(source);
  return NULL;
}

/* Every transform: a source, what to do with its items, and room for a list of indices. */
typedef struct TransformContext {
  BurnDataset *source;
  BurnMapInterface map; /* map: functions and context */
  size_t start;         /* slice */
  size_t order[];       /* of those that choose items */
} TransformContext;

static void map_destroy(const BurnMapInterface *map) {
  if (map != NULL && map->destroy != NULL) map->destroy(map->context);
}

static void transform_destroy(void *context) {
  TransformContext *transform = context;
  burn_dataset_drop(transform->source);
  map_destroy(&transform->map);
  free(transform);
}

/* A transform of `source` (taken, also on failure) with room for `order_count` indices; NULL with the reason in
 * *status. */
static TransformContext *transform_create(BurnDataset *source, size_t order_count, const char *name,
                                          BurnStatus *status) {
  const size_t limit = ((size_t)PTRDIFF_MAX - sizeof(TransformContext)) / sizeof(size_t);
  TransformContext *transform = NULL;
  if (order_count <= limit) transform = calloc(1, sizeof *transform + order_count * sizeof(size_t));
  if (transform == NULL) {
    burn__store_status(status,
                       burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "%s: no memory for %zu items", name, order_count));
    burn_dataset_drop(source);
    return NULL;
  }
  transform->source = source;
  return transform;
}

enum { SMALL_ITEM_BYTES = 4096, ITEM_ALIGNMENT = 16 };

/* Where a column begins when the columns before it end at `offset`. */
static size_t aligned(size_t offset) { return (offset + ITEM_ALIGNMENT - 1) / ITEM_ALIGNMENT * ITEM_ALIGNMENT; }

static BurnStatus map_get(void *context, size_t epoch, size_t index, void *const *columns) {
  const TransformContext *transform = context;
  const BurnDataset *source = transform->source;
  alignas(ITEM_ALIGNMENT) unsigned char small[SMALL_ITEM_BYTES];
  size_t total = 0;
  for (size_t i = 0; i < source->interface.column_count; i++) total = aligned(total + source->bytes[i]);
  unsigned char *large = total > sizeof small ? malloc(total) : NULL;
  if (total > sizeof small && large == NULL)
    return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "map: no memory for an item of %zu bytes", total);
  void *in[BURN_MAX_COLUMNS] = {NULL};
  const void *constant[BURN_MAX_COLUMNS] = {NULL};
  size_t offset = 0;
  for (size_t i = 0; i < source->interface.column_count; i++) {
    constant[i] = in[i] = (large != NULL ? large : small) + offset;
    offset = aligned(offset + source->bytes[i]);
  }
  const BurnMapInterface *map = &transform->map;
  BurnStatus status = burn_dataset_get_in_epoch(source, epoch, index, in);
  if (status == BURN_OK)
    status = map->map != NULL ? map->map(map->context, constant, columns)
                              : map->map_item(map->context, index, constant, columns);
  free(large);
  return status;
}

static const char *map_problem(const BurnMapInterface *map) {
  if (map == NULL) return "the interface is NULL";
  if (map->map != NULL && map->map_item != NULL) return "two map functions";
  return map->map == NULL && map->map_item == NULL ? "no map function" : NULL;
}

BurnDataset *burn_dataset_map(BurnDataset *source, const BurnMapInterface *map, BurnStatus *status) {
  TransformContext *transform = NULL;
  if (burn__source_ready(source, "map", status)) {
    const char *problem = map_problem(map);
    if (problem != NULL) {
      burn__source_refused(source, status, burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "map: %s", problem));
    } else {
      transform = transform_create(source, 0, "map", status);
    }
  }
  if (transform == NULL) {
    map_destroy(map);
    return NULL;
  }
  transform->map = *map;
  const BurnDatasetInterface interface = {map->column_count, map->columns, burn_dataset_count(source), NULL,
                                          transform_destroy, transform};
  return burn_dataset_create_by_epoch(&interface, map_get, status);
}

static BurnStatus slice_get(void *context, size_t epoch, size_t index, void *const *columns) {
  const TransformContext *transform = context;
  return burn_dataset_get_in_epoch(transform->source, epoch, transform->start + index, columns);
}

BurnDataset *burn_dataset_slice(BurnDataset *source, size_t start, size_t end, BurnStatus *status) {
  if (!burn__source_ready(source, "slice", status)) return NULL;
  const size_t count = burn_dataset_count(source);
  const size_t stop = end < count ? end : count;
  if (start > stop)
    return burn__source_refused(
        source, status,
        burn_status_make(BURN_STATUS_OUT_OF_RANGE, "slice: start %zu is beyond the end %zu of %zu items", start, stop,
                         count));
  TransformContext *transform = transform_create(source, 0, "slice", status);
  if (transform == NULL) return NULL;
  transform->start = start;
  const BurnDatasetInterface interface = {
      source->interface.column_count, source->columns, stop - start, NULL, transform_destroy, transform};
  return burn_dataset_create_by_epoch(&interface, slice_get, status);
}

static BurnStatus ordered_get(void *context, size_t epoch, size_t index, void *const *columns) {
  const TransformContext *transform = context;
  return burn_dataset_get_in_epoch(transform->source, epoch, transform->order[index], columns);
}

BurnDataset *burn__dataset_ordered(BurnDataset *source, size_t count, const char *name, size_t **order,
                                   BurnStatus *status) {
  TransformContext *transform = transform_create(source, count, name, status);
  if (transform == NULL) return NULL;
  *order = transform->order;
  const BurnDatasetInterface interface = {
      source->interface.column_count, source->columns, count, NULL, transform_destroy, transform};
  return burn_dataset_create_by_epoch(&interface, ordered_get, status);
}

BurnDataset *burn_dataset_shuffle(BurnDataset *source, uint64_t seed, BurnStatus *status) {
  if (!burn__source_ready(source, "shuffle", status)) return NULL;
  const size_t count = burn_dataset_count(source);
  size_t *order = NULL;
  BurnDataset *dataset = burn__dataset_ordered(source, count, "shuffle", &order, status);
  if (dataset != NULL) burn__permutation(seed, order, count);
  return dataset;
}

/* Reads every item of the source into the blocks. */
static BurnStatus cache_fill(const BurnDataset *source, void *const *blocks) {
  for (size_t item = 0; item < source->interface.count; item++) {
    void *columns[BURN_MAX_COLUMNS] = {NULL};
    for (size_t i = 0; i < source->interface.column_count; i++)
      columns[i] = (unsigned char *)blocks[i] + item * source->bytes[i];
    const BurnStatus status = burn_dataset_get(source, item, columns);
    if (status != BURN_OK) return burn_status_annotate(status, "cache: item %zu", item);
  }
  return BURN_OK;
}

BurnDataset *burn_dataset_cache(BurnDataset *source, BurnStatus *status) {
  if (!burn__source_ready(source, "cache", status)) return NULL;
  const size_t column_count = source->interface.column_count, count = source->interface.count;
  void *blocks[BURN_MAX_COLUMNS] = {NULL};
  BurnDataset *dataset = NULL;
  BurnStatus result = blocks_allocate(source->bytes, column_count, count, blocks);
  const bool allocated = result == BURN_OK;
  if (allocated) result = cache_fill(source, blocks);
  if (result == BURN_OK) {
    dataset = burn__dataset_of_blocks(source->columns, column_count, blocks, count, &result);
  } else if (allocated) {
    for (size_t i = 0; i < column_count; i++) free(blocks[i]);
  }
  burn_dataset_drop(source);
  burn__store_status(status, result);
  return dataset;
}

/* -- MNIST as the guide feeds it -------------------------------------------------------------- */

enum { MNIST_SIDE = 28, MNIST_PIXELS = MNIST_SIDE * MNIST_SIDE };

static BurnStatus normalize_map(void *context, const void *const *in, void *const *out) {
  (void)context;
  const uint8_t *pixels = in[0];
  float *image = out[0];
  for (size_t i = 0; i < MNIST_PIXELS; i++) image[i] = ((float)pixels[i] / 255.0f - 0.1307f) / 0.3081f;
  const int64_t label = *(const uint8_t *)in[1];
  memcpy(out[1], &label, sizeof label);
  return BURN_OK;
}

static bool is_mnist(const BurnDataset *dataset) {
  if (dataset->interface.column_count != 2) return false;
  const BurnColumn *image = &dataset->columns[0], *label = &dataset->columns[1];
  return strcmp(image->name, "image") == 0 && image->dtype == BURN_DTYPE_U8 && image->shape.rank == 2 &&
         image->shape.dims[0] == MNIST_SIDE && image->shape.dims[1] == MNIST_SIDE &&
         strcmp(label->name, "label") == 0 && label->dtype == BURN_DTYPE_U8 && label->shape.rank == 0;
}

BurnDataset *burn_dataset_mnist_normalize(BurnDataset *source, BurnStatus *status) {
  if (!burn__source_ready(source, "mnist_normalize", status)) return NULL;
  if (!is_mnist(source))
    return burn__source_refused(
        source, status,
        burn_status_make(BURN_STATUS_INVALID_ARGUMENT,
                         "mnist_normalize: columns \"image\" u8 [28, 28] and \"label\" u8 expected; "
                         "the source has %zu columns, the first is \"%s\" %s of rank %u",
                         source->interface.column_count, source->columns[0].name,
                         burn_dtype_name(source->columns[0].dtype), (unsigned)source->columns[0].shape.rank));
  const BurnColumn columns[] = {{"image", BURN_DTYPE_F32, BURN_SHAPE(1, MNIST_SIDE, MNIST_SIDE)},
                                {"label", BURN_DTYPE_I64, {0, {0}}}};
  const BurnMapInterface map = {.column_count = 2, .columns = columns, .map = normalize_map};
  return burn_dataset_map(source, &map, status);
}
