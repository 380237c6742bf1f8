/* transform_test.c - datasets made of others: by indices, in parts, joined, as windows, sampled, mapped with the index.
 * What they give, what they refuse, that a loader gives the same with any number of workers, and that nothing is left.
 */
#include <burn/train/loader.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { COUNT = 10, NEVER = 1000000, MANY = 6000 };

/* Items "id" i64 = index and "label" u8: 0 for the first seven, 1 for two, 2 for the last one. */
typedef struct Source {
  size_t failing;
  size_t destroyed;
} Source;

static BurnStatus source_get(void *context, size_t index, void *const *columns) {
  const Source *source = context;
  if (index == source->failing) return burn_status_make(BURN_STATUS_IO, "source: item %zu is unreadable", index);
  *(int64_t *)columns[0] = (int64_t)index;
  *(uint8_t *)columns[1] = index < 7 ? 0 : index < 9 ? 1 : 2;
  return BURN_OK;
}

static void source_destroy(void *context) { ((Source *)context)->destroyed++; }

static BurnDataset *dataset_of(Source *source, size_t count) {
  const BurnColumn columns[] = {{"id", BURN_DTYPE_I64, {0, {0}}}, {"label", BURN_DTYPE_U8, {0, {0}}}};
  const BurnDatasetInterface interface = {2, columns, count, source_get, source_destroy, source};
  BurnStatus status = BURN_OK;
  BurnDataset *dataset = burn_dataset_create(&interface, &status);
  assert_non_null(dataset);
  return dataset;
}

static int64_t id_of(const BurnDataset *dataset, size_t index) {
  int64_t id = -1;
  uint8_t label = 255;
  assert_true(burn_dataset_get(dataset, index, (void *const[]){&id, &label}) == BURN_OK);
  return id;
}

static void assert_ids(const BurnDataset *dataset, size_t count, const int64_t *ids) {
  assert_int_equal(burn_dataset_count(dataset), count);
  for (size_t i = 0; i < count; i++) assert_int_equal(id_of(dataset, i), ids[i]);
}
#define ASSERT_IDS(dataset, ...) \
  assert_ids(dataset, sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (const int64_t[]){__VA_ARGS__})

/* Drops the dataset, with which the source goes. */
static void end(BurnDataset *dataset, const Source *source) {
  assert_int_equal(source->destroyed, 0);
  burn_dataset_drop(dataset);
  assert_int_equal(source->destroyed, 1);
}

/* Nothing was made, the source is gone, and this is why. */
static void assert_refused(const BurnDataset *dataset, const Source *source, BurnStatus status, uint32_t code,
                           const char *message) {
  assert_null(dataset);
  assert_int_equal(source->destroyed, 1);
  assert_int_equal(burn_status_code(status), code);
  assert_string_equal(burn_status_message(status), message);
}

/* -- by indices ------------------------------------------------------------------------------- */

static void selection_has_its_indices(void **state) {
  (void)state;
  Source source = {5, 0};
  BurnStatus status = BURN_OK;
  size_t indices[] = {9, 0, 3, 3, 5};
  BurnDataset *dataset = burn_dataset_select(dataset_of(&source, COUNT), indices, 5, &status);
  indices[0] = 1; /* they are copied */
  assert_int_equal(burn_dataset_count(dataset), 5);
  for (size_t i = 0; i < 4; i++) assert_int_equal(id_of(dataset, i), ((const int64_t[]){9, 0, 3, 3})[i]);
  int64_t id;
  uint8_t label;
  status = burn_dataset_get(dataset, 4, (void *const[]){&id, &label});
  assert_string_equal(burn_status_message(status), "source: item 5 is unreadable");
  status = burn_dataset_get(dataset, 5, (void *const[]){&id, &label});
  assert_string_equal(burn_status_message(status), "dataset: item 5 asked for, there are 5");
  end(dataset, &source);

  Source other = {NEVER, 0};
  const size_t beyond[] = {0, 10};
  status = BURN_OK;
  dataset = burn_dataset_select(dataset_of(&other, COUNT), beyond, 2, &status);
  assert_refused(dataset, &other, status, BURN_STATUS_OUT_OF_RANGE,
                 "select: index 10 at place 1, the source has 10 items");
}

static void empty_selections_are_datasets(void **state) {
  (void)state;
  Source source = {NEVER, 0};
  BurnStatus status = BURN_OK;
  BurnDataset *dataset = burn_dataset_select(dataset_of(&source, COUNT), NULL, 0, &status);
  assert_int_equal(burn_dataset_count(dataset), 0);
  end(dataset, &source);
}

/* -- in parts --------------------------------------------------------------------------------- */

static void parts_follow_each_other(void **state) {
  (void)state;
  Source source = {NEVER, 0};
  BurnStatus status = BURN_OK;
  BurnDataset *parts[3];
  assert_true(burn_dataset_split(dataset_of(&source, COUNT), (const double[]){0.7, 0.2, 0.1}, 3, parts, &status));
  ASSERT_IDS(parts[0], 0, 1, 2, 3, 4, 5, 6);
  ASSERT_IDS(parts[1], 7, 8);
  ASSERT_IDS(parts[2], 9);
  for (size_t i = 0; i < 2; i++) burn_dataset_drop(parts[i]);
  end(parts[2], &source);

  Source equal = {NEVER, 0}; /* 10 = 3 + 3 + 4 */
  assert_true(burn_dataset_split(dataset_of(&equal, COUNT), NULL, 3, parts, &status));
  ASSERT_IDS(parts[0], 0, 1, 2);
  ASSERT_IDS(parts[1], 3, 4, 5);
  ASSERT_IDS(parts[2], 6, 7, 8, 9);
  for (size_t i = 0; i < 3; i++) burn_dataset_drop(parts[i]);
  assert_int_equal(equal.destroyed, 1);
}

/* Whatever the fractions: no item is in two parts, and none is left out if they add up to 1. */
static void parts_neither_overlap_nor_miss(void **state) {
  (void)state;
  const double fractions[] = {0.1, 0.2, 0.3, 0.15, 0.25};
  for (size_t count = 0; count < 50; count++) {
    Source source = {NEVER, 0};
    BurnStatus status = BURN_OK;
    BurnDataset *parts[5];
    int64_t next = 0;
    assert_true(burn_dataset_split(dataset_of(&source, count), fractions, 5, parts, &status));
    for (size_t i = 0; i < 5; i++) {
      const double wanted = fractions[i] * (double)count, got = (double)burn_dataset_count(parts[i]);
      assert_true(fabs(got - wanted) <= 1);
      for (size_t j = 0; j < burn_dataset_count(parts[i]); j++) assert_int_equal(id_of(parts[i], j), next++);
      burn_dataset_drop(parts[i]);
    }
    assert_int_equal(next, count);
  }
}

static void bad_fractions_are_refused(void **state) {
  (void)state;
  const struct {
    double fractions[2];
    size_t count;
    const char *message;
  } cases[] = {
      {{0.7, 0.4}, 2, "split: the fractions add up to 1.1, at most 1 expected"},
      {{0.7, -0.1}, 2, "split: fraction 1 is -0.1, 0 to 1 expected"},
      {{0.7, 0.2}, 0, "split: 0 parts, at least 1 expected"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    Source source = {NEVER, 0};
    BurnStatus status = BURN_OK;
    BurnDataset *parts[2] = {NULL, NULL};
    assert_false(burn_dataset_split(dataset_of(&source, COUNT), cases[i].fractions, cases[i].count, parts, &status));
    assert_null(parts[1]);
    assert_refused(parts[0], &source, status, BURN_STATUS_INVALID_ARGUMENT, cases[i].message);
  }
}

/* -- joined ----------------------------------------------------------------------------------- */

static void composed_datasets_follow_each_other(void **state) {
  (void)state;
  Source first = {NEVER, 0}, second = {1, 0};
  BurnStatus status = BURN_OK;
  BurnDataset *sources[] = {dataset_of(&first, 3), burn_dataset_slice(dataset_of(&first, COUNT), 5, 5, &status),
                            dataset_of(&second, 2), dataset_of(&first, 1)};
  BurnDataset *dataset = burn_dataset_compose(sources, 4, &status);
  assert_int_equal(burn_dataset_count(dataset), 6);
  const int64_t ids[] = {0, 1, 2, 0, -1, 0};
  for (size_t i = 0; i < 6; i++)
    if (i != 4) assert_int_equal(id_of(dataset, i), ids[i]);
  int64_t id;
  uint8_t label;
  status = burn_dataset_get(dataset, 4, (void *const[]){&id, &label});
  assert_string_equal(burn_status_message(status), "compose: item 1 of dataset 2: source: item 1 is unreadable");
  end(dataset, &second);
  assert_int_equal(first.destroyed, 3);
}

static void only_like_columns_are_composed(void **state) {
  (void)state;
  const int32_t data[2] = {1, 2};
  const BurnColumn other[] = {{"id", BURN_DTYPE_I32, {0, {0}}}, {"label", BURN_DTYPE_I32, {0, {0}}}};
  const struct {
    size_t columns;
    const char *message;
  } cases[] = {
      {1, "compose: dataset 1 has 1 columns, the first has 2"},
      {2, "compose: column 0 of dataset 1 is \"id\" i32 [], that of the first \"id\" i64 []"},
  };
  for (size_t i = 0; i < 2; i++) {
    Source source = {NEVER, 0};
    BurnStatus status = BURN_OK;
    BurnDataset *ints = burn_dataset_memory(other, cases[i].columns, (const void *const[]){data, data}, 2, &status);
    BurnDataset *dataset = burn_dataset_compose((BurnDataset *const[]){dataset_of(&source, COUNT), ints}, 2, &status);
    assert_refused(dataset, &source, status, BURN_STATUS_INVALID_ARGUMENT, cases[i].message);
  }
  Source source = {NEVER, 0};
  BurnStatus status = BURN_OK;
  BurnDataset *dataset = burn_dataset_compose((BurnDataset *const[]){dataset_of(&source, COUNT), NULL}, 2, &status);
  assert_refused(dataset, &source, status, BURN_STATUS_INVALID_ARGUMENT, "compose: no source dataset at place 1");
  status = BURN_OK;
  assert_null(burn_dataset_compose(NULL, 0, &status));
  assert_string_equal(burn_status_message(status), "compose: 0 datasets, at least 1 expected");
}

/* -- windows ---------------------------------------------------------------------------------- */

static void windows_overlap(void **state) {
  (void)state;
  Source source = {7, 0};
  BurnStatus status = BURN_OK;
  BurnDataset *dataset = burn_dataset_windows(dataset_of(&source, COUNT), 4, &status);
  int64_t ids[4] = {-1, -1, -1, -1};
  uint8_t labels[4];
  assert_int_equal(burn_dataset_count(dataset), 7);
  assert_true(burn_dataset_column(dataset, 0)->shape.rank == 1 && burn_dataset_column(dataset, 0)->shape.dims[0] == 4);
  assert_int_equal(burn_dataset_column_bytes(dataset, 0), 32);
  assert_true(burn_dataset_get(dataset, 3, (void *const[]){ids, labels}) == BURN_OK);
  for (int64_t i = 0; i < 4; i++) assert_int_equal(ids[i], 3 + i);
  status = burn_dataset_get(dataset, 5, (void *const[]){ids, labels});
  assert_string_equal(burn_status_message(status), "windows: item 7, in window 5: source: item 7 is unreadable");
  end(dataset, &source);

  const struct { size_t items, size, count; } cases[] = {{10, 10, 1}, {10, 11, 0}, {0, 1, 0}, {10, 1, 10}};
  for (size_t i = 0; i < 4; i++) {
    Source other = {NEVER, 0};
    status = BURN_OK;
    dataset = burn_dataset_windows(dataset_of(&other, cases[i].items), cases[i].size, &status);
    assert_int_equal(burn_dataset_count(dataset), cases[i].count);
    end(dataset, &other);
  }
  Source none = {NEVER, 0};
  dataset = burn_dataset_windows(dataset_of(&none, COUNT), 0, &status);
  assert_refused(dataset, &none, status, BURN_STATUS_INVALID_ARGUMENT, "windows: size 0, at least 1 expected");
}

/* A column that already has as many axes as fit beside a batch has no room for one more. */
static void windows_need_an_axis(void **state) {
  (void)state;
  const BurnColumn deep = {"x", BURN_DTYPE_U8, {7, {1, 1, 1, 1, 1, 1, 1}}};
  const uint8_t value = 1;
  BurnStatus status = BURN_OK;
  BurnDataset *dataset = burn_dataset_memory(&deep, 1, (const void *const[]){&value}, 1, &status);
  assert_null(burn_dataset_windows(dataset, 1, &status));
  assert_string_equal(burn_status_message(status),
                      "dataset: column \"x\" has rank 8, at most 7 leaves room for a batch");
}

/* -- sampled ---------------------------------------------------------------------------------- */

static BurnDataset *sample_of(Source *source, const BurnSampleConfig *config) {
  BurnStatus status = BURN_OK;
  BurnDataset *dataset = burn_dataset_sample(dataset_of(source, COUNT), config, &status);
  if (status != BURN_OK) fail_msg("%s", burn_status_message(status));
  return dataset;
}

/* How often each item comes in MANY draws. */
static void count_draws(const BurnSampleConfig *config, unsigned counts[COUNT]) {
  Source source = {NEVER, 0};
  BurnDataset *dataset = sample_of(&source, config);
  assert_int_equal(burn_dataset_count(dataset), MANY);
  memset(counts, 0, COUNT * sizeof counts[0]);
  for (size_t i = 0; i < MANY; i++) counts[id_of(dataset, i)]++;
  end(dataset, &source);
}

/* Bounds are six standard deviations of a binomial. */
static void assert_share(unsigned count, double share) {
  const double expected = share * (double)MANY, bound = 6 * sqrt(expected * (1 - share));
  if (fabs(count - expected) > bound) fail_msg("%u draws, %g expected", count, expected);
}

static void samples_are_fair(void **state) {
  (void)state;
  unsigned counts[COUNT];
  count_draws(&(BurnSampleConfig){.count = MANY, .seed = 3}, counts);
  for (size_t i = 0; i < COUNT; i++) assert_share(counts[i], 0.1);
  const double weights[COUNT] = {0, 1, 2, 3, 0, 0, 0, 4, 0, 0};
  count_draws(&(BurnSampleConfig){.count = MANY, .seed = 4, .weights = weights}, counts);
  for (size_t i = 0; i < COUNT; i++) assert_share(counts[i], weights[i] / 10);
  count_draws(&(BurnSampleConfig){.count = MANY, .seed = 5, .balance = "label"}, counts);
  for (size_t i = 0; i < 7; i++) assert_share(counts[i], 1.0 / 21);
  for (size_t i = 7; i < 9; i++) assert_share(counts[i], 1.0 / 6);
  assert_share(counts[9], 1.0 / 3);
}

/* 25 of 10: every item twice, in two passes that are whole, and five of them once more. */
static void passes_have_every_item_once(void **state) {
  (void)state;
  Source source = {NEVER, 0};
  BurnDataset *dataset = sample_of(&source, &(BurnSampleConfig){.count = 25, .seed = 1, .without_replacement = true});
  int64_t ids[25];
  for (size_t i = 0; i < 25; i++) ids[i] = id_of(dataset, i);
  for (size_t pass = 0; pass < 3; pass++) {
    unsigned counts[COUNT] = {0};
    for (size_t i = 10 * pass; i < 25 && i < 10 * pass + 10; i++) assert_true(counts[ids[i]]++ == 0);
  }
  assert_memory_not_equal(ids, ids + 10, 10 * sizeof ids[0]);
  end(dataset, &source);
}

/* Of weights 1 and 3, two are drawn: the first is the second item in three of four draws; nothing comes twice. */
static void weighted_draws_without_replacement(void **state) {
  (void)state;
  const double weights[COUNT] = {0, 0, 1, 0, 0, 3};
  unsigned first = 0;
  for (uint64_t seed = 0; seed < MANY; seed++) {
    Source source = {NEVER, 0};
    BurnDataset *dataset = sample_of(
        &source, &(BurnSampleConfig){.count = 2, .seed = seed, .without_replacement = true, .weights = weights});
    const int64_t one = id_of(dataset, 0), other = id_of(dataset, 1);
    assert_true((one == 2 && other == 5) || (one == 5 && other == 2));
    first += one == 5;
    end(dataset, &source);
  }
  assert_share(first, 0.75);
}

static void samples_are_functions_of_the_seed(void **state) {
  (void)state;
  const double weights[COUNT] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  const BurnSampleConfig configs[] = {{0, 7, false, NULL, NULL},
                                      {0, 7, true, NULL, NULL},
                                      {0, 7, false, weights, NULL},
                                      {0, 7, true, weights, NULL},
                                      {0, 7, false, NULL, "label"}};
  for (size_t i = 0; i < sizeof configs / sizeof configs[0]; i++) {
    Source sources[3] = {{NEVER, 0}, {NEVER, 0}, {NEVER, 0}};
    BurnSampleConfig changed = configs[i];
    changed.seed = 8;
    BurnDataset *one = sample_of(&sources[0], &configs[i]), *same = sample_of(&sources[1], &configs[i]);
    BurnDataset *other = sample_of(&sources[2], &changed);
    unsigned different = 0;
    assert_int_equal(burn_dataset_count(one), COUNT);
    for (size_t j = 0; j < COUNT; j++) {
      assert_int_equal(id_of(one, j), id_of(same, j));
      different += id_of(one, j) != id_of(other, j);
    }
    assert_true(different > 0);
    end(one, &sources[0]), end(same, &sources[1]), end(other, &sources[2]);
  }
}

static void bad_samples_are_refused(void **state) {
  (void)state;
  const double negative[COUNT] = {1, -1}, zero[COUNT] = {0}, two[COUNT] = {1, 1};
  const struct {
    size_t items;
    BurnSampleConfig config;
    uint32_t code;
    const char *message;
  } cases[] = {
      {COUNT, {.weights = negative}, BURN_STATUS_INVALID_ARGUMENT, "sample: weight -1 of item 1, 0 or more expected"},
      {COUNT, {.weights = zero}, BURN_STATUS_INVALID_ARGUMENT, "sample: the weights of 10 items add up to 0"},
      {COUNT,
       {.count = 3, .without_replacement = true, .weights = two},
       BURN_STATUS_INVALID_ARGUMENT,
       "sample: 3 items without replacement, of 2 with a weight above 0"},
      {COUNT,
       {.weights = two, .balance = "label"},
       BURN_STATUS_INVALID_ARGUMENT,
       "sample: weights and balance, one of them expected"},
      {COUNT,
       {.balance = "labels"},
       BURN_STATUS_INVALID_ARGUMENT,
       "sample: \"labels\" is not a column of single integers"},
      {0, {.count = 3}, BURN_STATUS_INVALID_ARGUMENT, "sample: 3 items of a source that has none"},
      {COUNT, {.balance = "label"}, BURN_STATUS_IO, "sample: the label of item 4: source: item 4 is unreadable"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    Source source = {4, 0};
    BurnStatus status = BURN_OK;
    BurnDataset *dataset = burn_dataset_sample(dataset_of(&source, cases[i].items), &cases[i].config, &status);
    assert_refused(dataset, &source, status, cases[i].code, cases[i].message);
  }
  Source empty = {NEVER, 0};
  BurnStatus status = BURN_OK;
  BurnDataset *dataset = burn_dataset_sample(dataset_of(&empty, 0), &(BurnSampleConfig){.balance = "label"}, &status);
  assert_int_equal(burn_dataset_count(dataset), 0);
  end(dataset, &empty);
}

/* -- mapped ----------------------------------------------------------------------------------- */

static BurnStatus add_index(void *context, size_t index, const void *const *in, void *const *out) {
  (void)context;
  *(int64_t *)out[0] = *(const int64_t *)in[0] + 100 * (int64_t)index;
  return BURN_OK;
}

static BurnStatus take_first(void *context, const void *const *in, void *const *out) {
  (void)context;
  memcpy(out[0], in[0], sizeof(int64_t));
  return BURN_OK;
}

static void maps_see_the_index(void **state) {
  (void)state;
  const BurnColumn column = {"id", BURN_DTYPE_I64, {0, {0}}};
  Source source = {NEVER, 0}, context = {NEVER, 0};
  BurnMapInterface map = {
      .column_count = 1, .columns = &column, .map_item = add_index, .context = &context, .destroy = source_destroy};
  BurnStatus status = BURN_OK;
  BurnDataset *dataset = burn_dataset_map(
      burn_dataset_select(dataset_of(&source, COUNT), (const size_t[]){9, 4}, 2, &status), &map, &status);
  ASSERT_IDS(dataset, 9, 104); /* the index is that of the item in the dataset that is mapped */
  end(dataset, &source);
  assert_int_equal(context.destroyed, 1);

  map.map = take_first;
  dataset = burn_dataset_map(dataset_of(&source, COUNT), &map, &status);
  assert_null(dataset);
  assert_string_equal(burn_status_message(status), "map: two map functions");
  assert_int_equal(context.destroyed, 2);
  map.map = NULL;
  assert_null(burn_dataset_map(dataset_of(&source, COUNT), &map, &status)); /* an earlier failure */
  assert_int_equal(context.destroyed, 3);
  assert_int_equal(source.destroyed, 3);
}

/* -- all of them ------------------------------------------------------------------------------ */

/* A failure of another chain is in `status` already: nothing is made, what is taken ends, it stays. */
static void earlier_failures_stay(void **state) {
  (void)state;
  Source source = {NEVER, 0};
  BurnDataset *parts[2];
  const size_t index = 0;
  const BurnStatus earlier = burn_status_make(BURN_STATUS_IO, "weights: file not found");
  BurnStatus status = earlier;
  assert_null(burn_dataset_select(dataset_of(&source, COUNT), &index, 1, &status));
  assert_null(burn_dataset_compose((BurnDataset *const[]){dataset_of(&source, COUNT)}, 1, &status));
  assert_null(burn_dataset_windows(dataset_of(&source, COUNT), 2, &status));
  assert_null(burn_dataset_sample(dataset_of(&source, COUNT), &(BurnSampleConfig){.count = 2}, &status));
  assert_false(burn_dataset_split(dataset_of(&source, COUNT), NULL, 2, parts, &status));
  assert_true(parts[0] == NULL && parts[1] == NULL && status == earlier);
  assert_int_equal(source.destroyed, 5);
  status = BURN_OK;
  assert_null(burn_dataset_sample(NULL, &(BurnSampleConfig){.count = 2}, &status));
  assert_string_equal(burn_status_message(status), "sample: no source dataset");
}

/* Two composed parts of a sample, shuffled, as windows. */
static BurnDataset *everything(Source *source) {
  BurnStatus status = BURN_OK;
  BurnDataset *parts[2];
  BurnDataset *sample = burn_dataset_sample(dataset_of(source, COUNT),
                                            &(BurnSampleConfig){.count = 60, .seed = 2, .balance = "label"}, &status);
  assert_true(burn_dataset_split(sample, (const double[]){0.5, 0.5}, 2, parts, &status));
  BurnDataset *swapped = burn_dataset_compose((BurnDataset *const[]){parts[1], parts[0]}, 2, &status);
  BurnDataset *dataset = burn_dataset_windows(burn_dataset_shuffle(swapped, 3, &status), 5, &status);
  assert_int_equal(burn_dataset_count(dataset), 56);
  return dataset;
}

/* The ids of an epoch from a batch on, with so many workers. */
static size_t epoch_ids(BurnDevice *device, size_t workers, size_t first, int64_t *ids) {
  Source source = {NEVER, 0};
  BurnStatus status = BURN_OK;
  const BurnLoaderConfig config = {.batch_size = 6, .shuffle = true, .seed = 1, .workers = workers};
  BurnLoader *loader = burn_loader_create(everything(&source), &config, &status);
  BurnBatches *batches = burn_loader_start(loader, device, 2, first);
  size_t count = 0;
  for (BurnBatch batch; burn_batches_next(batches, &batch); count += 5 * batch.item_count)
    assert_true(burn_read(burn_batch_take(&batch, "id"), ids + count, 5 * batch.item_count * sizeof *ids) == BURN_OK);
  assert_true(burn_batches_stop(batches) == BURN_OK);
  burn_loader_destroy(loader);
  assert_int_equal(source.destroyed, 1);
  return count;
}

static void order_does_not_depend_on_workers(void **state) {
  (void)state;
  enum { ALL = 56 * 5, FIRST = 4 };
  int64_t ids[ALL], again[ALL];
  BurnDevice *device = burn_device_open("ndarray");
  assert_true(burn_device_status(device) == BURN_OK);
  assert_int_equal(epoch_ids(device, 0, 0, ids), ALL);
  for (size_t workers = 0; workers < 5; workers += 2) {
    assert_int_equal(epoch_ids(device, workers, 0, again), ALL);
    assert_memory_equal(ids, again, sizeof ids);
    assert_int_equal(epoch_ids(device, workers, FIRST, again), ALL - FIRST * 6 * 5);
    assert_memory_equal(ids + FIRST * 6 * 5, again, sizeof ids - FIRST * 6 * 5 * sizeof *ids);
  }
  burn_device_close(device);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(selection_has_its_indices),
      cmocka_unit_test(empty_selections_are_datasets),
      cmocka_unit_test(parts_follow_each_other),
      cmocka_unit_test(parts_neither_overlap_nor_miss),
      cmocka_unit_test(bad_fractions_are_refused),
      cmocka_unit_test(composed_datasets_follow_each_other),
      cmocka_unit_test(only_like_columns_are_composed),
      cmocka_unit_test(windows_overlap),
      cmocka_unit_test(windows_need_an_axis),
      cmocka_unit_test(samples_are_fair),
      cmocka_unit_test(passes_have_every_item_once),
      cmocka_unit_test(weighted_draws_without_replacement),
      cmocka_unit_test(samples_are_functions_of_the_seed),
      cmocka_unit_test(bad_samples_are_refused),
      cmocka_unit_test(maps_see_the_index),
      cmocka_unit_test(earlier_failures_stay),
      cmocka_unit_test(order_does_not_depend_on_workers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
