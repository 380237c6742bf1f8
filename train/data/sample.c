/* sample.c - items drawn at random: with or without replacement, by weights, or so that classes are balanced. The draw
 * is made once and kept as a list of indices, so which item comes where depends on nothing but the seed. */
#include "dataset_private.h"
#include "null_check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* -- drawing ---------------------------------------------------------------------------------- */

/* 64 random bits: those of number `draw`. */
static uint64_t word_of(uint64_t seed, size_t draw) {
  uint32_t words[4];
  burn_philox(seed, draw / 2, words);
  const size_t half = draw % 2 * 2;
  return (uint64_t)words[half] | (uint64_t)words[half + 1] << 32;
}

/* The top 53 bits of a word as a number in [0, 1). */
static double unit_of(uint64_t word) { return (double)(word >> 11) * 0x1p-53; }

static void draw_any(uint64_t seed, size_t items, size_t *order, size_t count) {
  for (size_t i = 0; i < count; i++) order[i] = (size_t)burn__scale_word(word_of(seed, i), items);
}

/* Passes over all items, each in an order of its own; the last may end early. */
static BurnStatus draw_passes(uint64_t seed, size_t items, size_t *order, size_t count) {
  const size_t rest = count % items;
  size_t *last = rest > 0 ? malloc(items * sizeof *last) : NULL;
  if (rest > 0 && last == NULL)
    return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "sample: no memory to shuffle %zu items", items);
  for (size_t pass = 0; pass < count / items; pass++)
    burn__permutation(burn__seed_of_part(seed, pass), order + pass * items, items);
  if (rest > 0) burn__permutation(burn__seed_of_part(seed, count / items), last, items);
  for (size_t i = 0; i < rest; i++) order[count - rest + i] = last[i];
  free(last);
  return BURN_OK;
}

/* -- by weight -------------------------------------------------------------------------------- */

/* With how many items there is a chance, into *possible. */
static BurnStatus weights_check(const double *weights, size_t items, size_t *possible) {
  double sum = 0;
  *possible = 0;
  for (size_t i = 0; i < items; i++) {
    if (!(weights[i] >= 0))
      return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "sample: weight %g of item %zu, 0 or more expected",
                              weights[i], i);
    sum += weights[i];
    *possible += weights[i] > 0;
  }
  if (sum > 0 && isfinite(sum)) return BURN_OK;
  return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "sample: the weights of %zu items add up to %g", items, sum);
}

/* The first item whose sum of weights is above `at`: so one of weight 0 never comes. `last` is one that may. */
static size_t item_at(const double *sums, size_t last, double at) {
  size_t low = 0, high = last;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (sums[middle] > at)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

static BurnStatus draw_weighted(uint64_t seed, const double *weights, size_t items, size_t *order, size_t count) {
  double *sums = malloc(items * sizeof *sums), sum = 0;
  size_t last = 0;
  if (sums == NULL) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "sample: no memory for %zu weights", items);
  for (size_t i = 0; i < items; i++) {
    sums[i] = sum += weights[i];
    if (weights[i] > 0) last = i;
  }
  for (size_t i = 0; i < count; i++) order[i] = item_at(sums, last, unit_of(word_of(seed, i)) * sum);
  free(sums);
  return BURN_OK;
}

typedef struct Arrival {
  double time;
  size_t item;
} Arrival;

static int compare_arrivals(const void *a, const void *b) {
  const Arrival *one = a, *other = b;
  if (one->time != other->time) return one->time < other->time ? -1 : 1;
  return one->item < other->item ? -1 : 1;
}

/* Each item arrives after an exponential time, with its weight as rate: the first to come is drawn by the weights, the
 * next by those of the others, and so on (Efraimidis and Spirakis). */
static BurnStatus draw_weighted_once(uint64_t seed, const double *weights, size_t items, size_t *order, size_t count) {
  Arrival *arrivals = malloc(items * sizeof *arrivals);
  if (arrivals == NULL) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "sample: no memory for %zu weights", items);
  for (size_t i = 0; i < items; i++) {
    const double time = -log(unit_of(word_of(seed, i)) + 0x1p-53);
    arrivals[i] = (Arrival){weights[i] > 0 ? time / weights[i] : (double)INFINITY, i};
  }
  qsort(arrivals, items, sizeof *arrivals, compare_arrivals);
  for (size_t i = 0; i < count; i++) order[i] = arrivals[i].item;
  free(arrivals);
  return BURN_OK;
}

/* -- balanced --------------------------------------------------------------------------------- */

/* The column's place; BURN_MAX_COLUMNS if it is not a column of single integers. */
static size_t label_column(const BurnDataset *source, const char *name) {
  for (size_t i = 0; i < burn_dataset_column_count(source); i++) {
    const BurnColumn *column = burn_dataset_column(source, i);
    if (strcmp(column->name, name) != 0) continue;
    const bool labels = column->shape.rank == 0 && burn_dtype_kind(column->dtype) != BURN_KIND_FLOAT;
    return labels ? i : BURN_MAX_COLUMNS;
  }
  return BURN_MAX_COLUMNS;
}

static int64_t label_of(BurnDType dtype, const void *bytes) {
  switch (dtype) {
    case BURN_DTYPE_I64:
      return *(const int64_t *)bytes;
    case BURN_DTYPE_I32:
      return *(const int32_t *)bytes;
    case BURN_DTYPE_I16:
      return *(const int16_t *)bytes;
    case BURN_DTYPE_I8:
      return *(const int8_t *)bytes;
    default:
      return *(const uint8_t *)bytes;
  }
}

/* Reads the labels of all items. */
static BurnStatus labels_read(const BurnDataset *source, size_t column, int64_t *labels) {
  const BurnDType dtype = burn_dataset_column(source, column)->dtype;
  void *columns[BURN_MAX_COLUMNS] = {NULL};
  BurnStatus status = BURN_OK;
  for (size_t i = 0; i < burn_dataset_column_count(source); i++) {
    columns[i] = malloc(burn_dataset_column_bytes(source, i));
    if (columns[i] == NULL) status = burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "sample: no memory for an item");
  }
  for (size_t i = 0; i < burn_dataset_count(source) && status == BURN_OK; i++) {
    status = burn_status_annotate(burn_dataset_get(source, i, columns), "sample: the label of item %zu", i);
    if (status == BURN_OK) labels[i] = label_of(dtype, columns[column]);
  }
  for (size_t i = 0; i < BURN_MAX_COLUMNS; i++) free(columns[i]);
  return status;
}

static int compare_labels(const void *a, const void *b) {
  const int64_t one = *(const int64_t *)a, other = *(const int64_t *)b;
  return (one > other) - (one < other);
}

/* How many of the sorted labels are below the label, or not above it. */
static size_t labels_up_to(const int64_t *sorted, size_t count, int64_t label, bool with_equal) {
  size_t low = 0, high = count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (sorted[middle] < label || (with_equal && sorted[middle] == label))
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* Weights that give every label the same chance, from malloc. */
static BurnStatus weights_balance(const BurnDataset *source, const char *name, double **weights) {
  const size_t items = burn_dataset_count(source), column = label_column(source, name);
  if (column == BURN_MAX_COLUMNS)
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "sample: \"%s\" is not a column of single integers", name);
  int64_t *labels = malloc(items * sizeof *labels), *sorted = malloc(items * sizeof *sorted);
  *weights = malloc(items * sizeof **weights);
  BurnStatus status = labels != NULL && sorted != NULL && *weights != NULL
                          ? labels_read(source, column, labels)
                          : burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "sample: no memory for %zu labels", items);
  if (status == BURN_OK) {
    memcpy(sorted, labels, items * sizeof *labels);
    qsort(sorted, items, sizeof *sorted, compare_labels);
    for (size_t i = 0; i < items; i++)
      (*weights)[i] =
          1 / (double)(labels_up_to(sorted, items, labels[i], true) - labels_up_to(sorted, items, labels[i], false));
  }
  free(labels);
  free(sorted);
  return status;
}

/* -- the dataset ------------------------------------------------------------------------------ */

static BurnStatus draw(const BurnSampleConfig *config, const double *weights, size_t items, size_t *order,
                       size_t count) {
  size_t possible = 0;
  if (weights == NULL) {
    if (config->without_replacement) return draw_passes(config->seed, items, order, count);
    draw_any(config->seed, items, order, count);
    return BURN_OK;
  }
  const BurnStatus status = weights_check(weights, items, &possible);
  if (status != BURN_OK) return status;
  if (!config->without_replacement) return draw_weighted(config->seed, weights, items, order, count);
  if (count <= possible) return draw_weighted_once(config->seed, weights, items, order, count);
  return burn_status_make(BURN_STATUS_INVALID_ARGUMENT,
                          "sample: %zu items without replacement, of %zu with a weight above 0", count, possible);
}

static BurnStatus sample_check(const BurnDataset *source, const BurnSampleConfig *config) {
  const size_t items = burn_dataset_count(source);
  if (config->weights != NULL && config->balance != NULL)
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "sample: weights and balance, one of them expected");
  if (items == 0 && config->count > 0)
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "sample: %zu items of a source that has none", config->count);
  if (items <= (size_t)PTRDIFF_MAX / sizeof(Arrival)) return BURN_OK;
  return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "sample: no memory for %zu items", items);
}

BurnDataset *burn_dataset_sample(BurnDataset *source, const BurnSampleConfig *config, BurnStatus *status) {
  if (!burn__source_ready(source, "sample", status)) return NULL;
  if (config == NULL) return burn__source_refused(source, status, BURN_REQUIRED(config, "a BurnSampleConfig"));
  const size_t items = burn_dataset_count(source), count = config->count > 0 ? config->count : items;
  double *balanced = NULL;
  size_t *order = NULL;
  BurnStatus result = sample_check(source, config);
  if (result == BURN_OK && config->balance != NULL && items > 0)
    result = weights_balance(source, config->balance, &balanced);
  BurnDataset *dataset = NULL;
  if (result == BURN_OK)
    dataset = burn__dataset_ordered(source, count, "sample", &order, &result);
  else
    burn_dataset_drop(source);
  if (result == BURN_OK && items > 0)
    result = draw(config, balanced != NULL ? balanced : config->weights, items, order, count);
  free(balanced);
  burn__store_status(status, result);
  if (result == BURN_OK) return dataset;
  burn_dataset_drop(dataset);
  return NULL;
}
