/* dataset_test.c - sources and transforms: what they give, what they refuse, and that nothing is lost or leaked.
 * Contexts of the test count how often they are destroyed. */
#include <burn/train/loader.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { COUNT = 10 };

/* Items "x" f32 [2] = {i, -i} and "y" i64 = 10 i. */
static BurnDataset *small_dataset(size_t count) {
  const BurnColumn columns[] = {{"x", BURN_DTYPE_F32, BURN_SHAPE(2)}, {"y", BURN_DTYPE_I64, {0, {0}}}};
  float x[COUNT * 2];
  int64_t y[COUNT];
  const void *const data[] = {x, y};
  for (size_t i = 0; i < COUNT; i++) {
    x[2 * i] = (float)i;
    x[2 * i + 1] = -(float)i;
    y[i] = 10 * (int64_t)i;
  }
  BurnStatus status = BURN_OK;
  BurnDataset *dataset = burn_dataset_memory(columns, 2, data, count, &status);
  assert_true(status == BURN_OK);
  assert_non_null(dataset);
  return dataset;
}

/* The "y" of an item of small_dataset, after checking its "x". */
static int64_t item_of(const BurnDataset *dataset, size_t index) {
  float x[2] = {0};
  int64_t y = -1;
  void *const columns[] = {x, &y};
  assert_true(burn_dataset_get(dataset, index, columns) == BURN_OK);
  assert_true(x[0] == (float)y / 10.0f && x[1] == -x[0]);
  return y / 10;
}

static void assert_out_of_range(const BurnDataset *dataset, size_t index, const char *message) {
  float x[2] = {0};
  int64_t y = 0;
  void *const columns[] = {x, &y};
  const BurnStatus status = burn_dataset_get(dataset, index, columns);
  assert_int_equal(burn_status_code(status), BURN_STATUS_OUT_OF_RANGE);
  assert_string_equal(burn_status_message(status), message);
}

static void memory_gives_its_items(void **state) {
  (void)state;
  BurnDataset *dataset = small_dataset(COUNT);
  assert_int_equal(burn_dataset_count(dataset), COUNT);
  assert_int_equal(burn_dataset_column_count(dataset), 2);
  assert_string_equal(burn_dataset_column(dataset, 0)->name, "x");
  assert_int_equal(burn_dataset_column(dataset, 0)->shape.dims[0], 2);
  assert_int_equal(burn_dataset_column(dataset, 1)->dtype, BURN_DTYPE_I64);
  assert_int_equal(burn_dataset_column_bytes(dataset, 0), 8);
  assert_int_equal(burn_dataset_column_bytes(dataset, 1), 8);
  assert_null(burn_dataset_column(dataset, 2));
  assert_int_equal(burn_dataset_column_bytes(dataset, 2), 0);
  for (size_t i = 0; i < COUNT; i++) assert_int_equal(item_of(dataset, i), i);
  assert_out_of_range(dataset, COUNT, "dataset: item 10 asked for, there are 10");
  assert_out_of_range(dataset, SIZE_MAX, "dataset: item 18446744073709551615 asked for, there are 10");
  burn_dataset_drop(dataset);
  burn_dataset_drop(NULL);
}

static void clones_keep_the_dataset(void **state) {
  (void)state;
  BurnDataset *dataset = small_dataset(COUNT);
  BurnDataset *clone = burn_dataset_clone(dataset);
  burn_dataset_drop(dataset);
  assert_int_equal(item_of(clone, 3), 3);
  burn_dataset_drop(clone);
}

static void empty_datasets_are_datasets(void **state) {
  (void)state;
  BurnStatus status = BURN_OK;
  BurnDataset *dataset = small_dataset(0);
  assert_out_of_range(dataset, 0, "dataset: item 0 asked for, there are 0");
  dataset = burn_dataset_cache(burn_dataset_shuffle(dataset, 1, &status), &status);
  assert_true(status == BURN_OK);
  assert_int_equal(burn_dataset_count(dataset), 0);
  burn_dataset_drop(dataset);
}

typedef struct Probe {
  size_t destroyed;
  size_t reads;
  size_t failing; /* index that fails */
} Probe;

static BurnStatus probe_get(void *context, size_t index, void *const *columns) {
  Probe *probe = context;
  probe->reads++;
  if (index == probe->failing) return burn_status_make(BURN_STATUS_IO, "probe: item %zu is unreadable", index);
  *(int32_t *)columns[0] = (int32_t)index * 3;
  return BURN_OK;
}

static void probe_destroy(void *context) { ((Probe *)context)->destroyed++; }

static BurnDataset *probe_dataset(Probe *probe, const BurnColumn *columns, size_t column_count, BurnStatus *status) {
  const BurnDatasetInterface interface = {column_count, columns, COUNT, probe_get, probe_destroy, probe};
  return burn_dataset_create(&interface, status);
}

static void columns_are_checked(void **state) {
  (void)state;
  BurnShape deep = {8, {1, 1, 1, 1, 1, 1, 1, 1}};
  const struct {
    BurnColumn columns[2];
    size_t count;
    uint32_t code;
    const char *message;
  } cases[] = {
      {{{"a", BURN_DTYPE_I32, {0, {0}}}}, 0, BURN_STATUS_INVALID_ARGUMENT, "dataset: 0 columns, 1..8 expected"},
      {{{"", BURN_DTYPE_I32, {0, {0}}}}, 1, BURN_STATUS_INVALID_ARGUMENT, "dataset: column 0 has no name"},
      {{{NULL, BURN_DTYPE_I32, {0, {0}}}}, 1, BURN_STATUS_INVALID_ARGUMENT, "dataset: column 0 has no name"},
      {{{"a", 99, {0, {0}}}}, 1, BURN_STATUS_INVALID_DTYPE, "dataset: column \"a\" has the unknown dtype 99"},
      {{{"a", BURN_DTYPE_DEFAULT, {0, {0}}}},
       1,
       BURN_STATUS_INVALID_DTYPE,
       "dataset: column \"a\" has the unknown dtype 0"},
      {{{"a", BURN_DTYPE_I32, deep}},
       1,
       BURN_STATUS_INVALID_SHAPE,
       "dataset: column \"a\" has rank 8, at most 7 leaves room for a batch"},
      {{{"a", BURN_DTYPE_I32, {2, {3, 0}}}},
       1,
       BURN_STATUS_INVALID_SHAPE,
       "dataset: column \"a\" has size 0 on axis 1, at least 1 expected"},
      {{{"a", BURN_DTYPE_I32, {1, {-1}}}},
       1,
       BURN_STATUS_INVALID_SHAPE,
       "dataset: column \"a\" has size -1 on axis 0, at least 1 expected"},
      {{{"a", BURN_DTYPE_I32, {2, {INT64_MAX / 16, 16}}}},
       1,
       BURN_STATUS_INVALID_SHAPE,
       "dataset: column \"a\" is too large at axis 1 of size 16"},
      {{{"a", BURN_DTYPE_I32, {0, {0}}}, {"a", BURN_DTYPE_F32, {0, {0}}}},
       2,
       BURN_STATUS_INVALID_ARGUMENT,
       "dataset: columns 0 and 1 are both named \"a\""},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    Probe probe = {0, 0, SIZE_MAX};
    BurnStatus status = BURN_OK;
    assert_null(probe_dataset(&probe, cases[i].columns, cases[i].count, &status));
    assert_int_equal(burn_status_code(status), cases[i].code);
    assert_string_equal(burn_status_message(status), cases[i].message);
    assert_int_equal(probe.destroyed, 1);
  }
}

static void own_datasets_are_destroyed_once(void **state) {
  (void)state;
  Probe probe = {0, 0, SIZE_MAX};
  char name[] = "value";
  const BurnColumn column = {name, BURN_DTYPE_I32, {0, {0}}};
  BurnStatus status = BURN_OK;
  BurnDataset *dataset = probe_dataset(&probe, &column, 1, &status);
  name[0] = '?';
  assert_string_equal(burn_dataset_column(dataset, 0)->name, "value");
  BurnDataset *slice = burn_dataset_slice(burn_dataset_clone(dataset), 2, 5, &status);
  burn_dataset_drop(dataset);
  assert_int_equal(probe.destroyed, 0);
  int32_t value = 0;
  void *const columns[] = {&value};
  assert_true(burn_dataset_get(slice, 1, columns) == BURN_OK);
  assert_int_equal(value, 9);
  burn_dataset_drop(slice);
  assert_int_equal(probe.destroyed, 1);
}

static BurnStatus sum_map(void *context, const void *const *in, void *const *out) {
  const float *x = in[0];
  *(double *)out[0] = (double)x[0] + *(const double *)context;
  memcpy(out[1], in[1], sizeof(int64_t));
  return *(const int64_t *)in[1] == 70 ? burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "sum: 70 is not liked")
                                       : BURN_OK;
}

static void map_writes_its_own_columns(void **state) {
  (void)state;
  double bias = 0.5;
  const BurnColumn columns[] = {{"sum", BURN_DTYPE_F64, {0, {0}}}, {"y", BURN_DTYPE_I64, {0, {0}}}};
  const BurnMapInterface map = {.column_count = 2, .columns = columns, .map = sum_map, .context = &bias};
  BurnStatus status = BURN_OK;
  BurnDataset *dataset = burn_dataset_map(small_dataset(COUNT), &map, &status);
  double sum = 0;
  int64_t y = 0;
  void *const out[] = {&sum, &y};
  assert_int_equal(burn_dataset_count(dataset), COUNT);
  assert_string_equal(burn_dataset_column(dataset, 0)->name, "sum");
  assert_true(burn_dataset_get(dataset, 4, out) == BURN_OK);
  assert_true(sum == 4.5 && y == 40);
  status = burn_dataset_get(dataset, 7, out);
  assert_string_equal(burn_status_message(status), "sum: 70 is not liked");
  burn_dataset_drop(dataset);

  const BurnMapInterface no_map = {.column_count = 2, .columns = columns};
  assert_null(burn_dataset_map(small_dataset(COUNT), &no_map, &status));
  assert_int_equal(burn_status_code(status), BURN_STATUS_INVALID_ARGUMENT);
  const BurnMapInterface no_columns = {.columns = columns, .map = sum_map, .context = &bias};
  assert_null(burn_dataset_map(small_dataset(COUNT), &no_columns, &status));
  assert_int_equal(burn_status_code(status), BURN_STATUS_INVALID_ARGUMENT);
}

enum { LARGE = 5000 };

static BurnStatus last_map(void *context, const void *const *in, void *const *out) {
  (void)context;
  *(float *)out[0] = ((const float *)in[0])[LARGE - 1];
  return BURN_OK;
}

/* Items too large for the room that map keeps on the stack. */
static void map_reads_large_items(void **state) {
  (void)state;
  float *values = calloc(2 * LARGE, sizeof *values);
  assert_non_null(values);
  values[LARGE - 1] = 1.5f;
  values[2 * LARGE - 1] = 2.5f;
  const BurnColumn large = {"x", BURN_DTYPE_F32, BURN_SHAPE(LARGE)}, last = {"last", BURN_DTYPE_F32, {0, {0}}};
  const BurnMapInterface map = {.column_count = 1, .columns = &last, .map = last_map};
  BurnStatus status = BURN_OK;
  BurnDataset *dataset =
      burn_dataset_map(burn_dataset_memory(&large, 1, (const void *const[]){values}, 2, &status), &map, &status);
  free(values);
  float value = 0;
  assert_true(burn_dataset_get(dataset, 1, (void *const[]){&value}) == BURN_OK);
  assert_true(value == 2.5f);
  burn_dataset_drop(dataset);
}

static void slice_is_clamped(void **state) {
  (void)state;
  BurnStatus status = BURN_OK;
  BurnDataset *dataset = burn_dataset_slice(small_dataset(COUNT), 7, SIZE_MAX, &status);
  assert_int_equal(burn_dataset_count(dataset), 3);
  assert_int_equal(item_of(dataset, 0), 7);
  assert_int_equal(item_of(dataset, 2), 9);
  assert_out_of_range(dataset, 3, "dataset: item 3 asked for, there are 3");
  burn_dataset_drop(dataset);
  dataset = burn_dataset_slice(small_dataset(COUNT), COUNT, COUNT, &status);
  assert_int_equal(burn_dataset_count(dataset), 0);
  burn_dataset_drop(dataset);
  assert_null(burn_dataset_slice(small_dataset(COUNT), 11, 20, &status));
  assert_int_equal(burn_status_code(status), BURN_STATUS_OUT_OF_RANGE);
  assert_string_equal(burn_status_message(status), "slice: start 11 is beyond the end 10 of 10 items");
}

static void order_of(size_t count, uint64_t seed, size_t *order) {
  BurnStatus status = BURN_OK;
  BurnDataset *dataset = burn_dataset_shuffle(small_dataset(count), seed, &status);
  assert_int_equal(burn_dataset_count(dataset), count);
  for (size_t i = 0; i < count; i++) order[i] = (size_t)item_of(dataset, i);
  burn_dataset_drop(dataset);
}

static void shuffle_is_a_permutation_of_the_seed(void **state) {
  (void)state;
  size_t first[COUNT], again[COUNT], other[COUNT];
  for (size_t count = 0; count <= COUNT; count++) {
    bool seen[COUNT] = {false};
    order_of(count, 7, first);
    for (size_t i = 0; i < count; i++) {
      assert_true(first[i] < count && !seen[first[i]]);
      seen[first[i]] = true;
    }
  }
  order_of(COUNT, 7, again);
  order_of(COUNT, 8, other);
  assert_memory_equal(first, again, sizeof first);
  assert_memory_not_equal(first, other, sizeof first);
}

/* Each of three items lands on each place about equally often: six orders, 6000 seeds, 1000 expected for each. */
static void shuffle_is_fair(void **state) {
  (void)state;
  unsigned counts[27] = {0};
  for (uint64_t seed = 0; seed < 6000; seed++) {
    size_t order[COUNT];
    order_of(3, seed, order);
    counts[order[0] * 9 + order[1] * 3 + order[2]]++;
  }
  unsigned orders = 0;
  for (size_t i = 0; i < 27; i++) {
    if (counts[i] == 0) continue;
    orders++;
    assert_in_range(counts[i], 850, 1150);
  }
  assert_int_equal(orders, 6);
}

static void cache_reads_once(void **state) {
  (void)state;
  Probe probe = {0, 0, SIZE_MAX};
  const BurnColumn column = {"value", BURN_DTYPE_I32, {0, {0}}};
  BurnStatus status = BURN_OK;
  BurnDataset *dataset = burn_dataset_cache(probe_dataset(&probe, &column, 1, &status), &status);
  assert_int_equal(probe.reads, COUNT);
  assert_int_equal(probe.destroyed, 1);
  for (size_t i = 0; i < COUNT; i++) {
    int32_t value = -1;
    assert_true(burn_dataset_get(dataset, i, (void *const[]){&value}) == BURN_OK);
    assert_int_equal(value, i * 3);
  }
  assert_int_equal(probe.reads, COUNT);
  burn_dataset_drop(dataset);

  Probe failing = {0, 0, 4};
  assert_null(burn_dataset_cache(probe_dataset(&failing, &column, 1, &status), &status));
  assert_int_equal(burn_status_code(status), BURN_STATUS_IO);
  assert_string_equal(burn_status_message(status), "cache: item 4: probe: item 4 is unreadable");
  assert_int_equal(failing.reads, 5);
  assert_int_equal(failing.destroyed, 1);
}

/* Calls can be nested: the failure of the innermost one arrives. */
static void nested_failures_arrive(void **state) {
  (void)state;
  BurnStatus status = BURN_OK;
  BurnDataset *dataset = burn_dataset_cache(
      burn_dataset_shuffle(burn_dataset_slice(small_dataset(COUNT), 9, 3, &status), 1, &status), &status);
  assert_null(dataset);
  assert_string_equal(burn_status_message(status), "slice: start 9 is beyond the end 3 of 10 items");
  status = BURN_OK;
  assert_null(burn_dataset_slice(NULL, 0, 1, &status));
  assert_int_equal(burn_status_code(status), BURN_STATUS_INVALID_ARGUMENT);
}

/* A failure of another chain, or of the program's own, is in `status` already: nothing is made, what is taken ends, it
 * stays. */
static void earlier_failures_stay(void **state) {
  (void)state;
  Probe probe = {0, 0, SIZE_MAX};
  const BurnColumn column = {"value", BURN_DTYPE_I32, {0, {0}}};
  const int32_t value = 1;
  const BurnMapInterface map = {.column_count = 1, .columns = &column};
  const BurnStatus earlier = burn_status_make(BURN_STATUS_IO, "weights: file not found");
  BurnStatus status = earlier, fine = BURN_OK;
  assert_null(probe_dataset(&probe, &column, 1, &status));
  assert_int_equal(probe.destroyed, 1);
  assert_null(burn_dataset_memory(&column, 1, (const void *const[]){&value}, 1, &status));
  assert_null(burn_dataset_digits(&(BurnDigitsConfig){10, 1}, &status));
  assert_null(burn_dataset_mnist("no-such-folder", BURN_MNIST_TRAIN, &status));
  assert_null(burn_dataset_map(probe_dataset(&probe, &column, 1, &fine), &map, &status));
  assert_null(burn_dataset_slice(probe_dataset(&probe, &column, 1, &fine), 0, 1, &status));
  assert_null(burn_dataset_shuffle(probe_dataset(&probe, &column, 1, &fine), 1, &status));
  assert_null(burn_dataset_cache(probe_dataset(&probe, &column, 1, &fine), &status));
  assert_null(burn_dataset_mnist_normalize(probe_dataset(&probe, &column, 1, &fine), &status));
  assert_null(
      burn_loader_create(probe_dataset(&probe, &column, 1, &fine), &(BurnLoaderConfig){.batch_size = 1}, &status));
  assert_int_equal(probe.destroyed, 7);
  assert_int_equal(probe.reads, 0);
  assert_true(fine == BURN_OK && status == earlier);

  status = BURN_OK; /* two chains with one status: the second works, the first's failure stays */
  BurnDataset *first = burn_dataset_mnist("no-such-folder", BURN_MNIST_TRAIN, &status);
  const BurnStatus of_first = status;
  BurnDataset *second = burn_dataset_memory(&column, 1, (const void *const[]){&value}, 1, &status);
  assert_true(first == NULL && second == NULL && of_first != BURN_OK && status == of_first);
}

static void normalize_is_the_guides(void **state) {
  (void)state;
  const BurnColumn columns[] = {{"image", BURN_DTYPE_U8, BURN_SHAPE(28, 28)}, {"label", BURN_DTYPE_U8, {0, {0}}}};
  uint8_t pixels[2 * 784] = {0}, labels[2] = {3, 9};
  pixels[784] = 255;
  pixels[785] = 33;
  BurnStatus status = BURN_OK;
  BurnDataset *source = burn_dataset_memory(columns, 2, (const void *const[]){pixels, labels}, 2, &status);
  BurnDataset *dataset = burn_dataset_mnist_normalize(source, &status);
  float image[784] = {0};
  int64_t label = 0;
  assert_true(burn_dataset_get(dataset, 1, (void *const[]){image, &label}) == BURN_OK);
  assert_int_equal(label, 9);
  assert_true(image[0] > 2.82148f && image[0] < 2.82150f);   /* (1 - 0.1307) / 0.3081 */
  assert_true(image[1] > -0.00419f && image[1] < -0.00417f); /* (33 / 255 - 0.1307) / 0.3081 */
  assert_true(image[2] > -0.42422f && image[2] < -0.42421f); /* -0.1307 / 0.3081 */
  const BurnShape shape = burn_dataset_column(dataset, 0)->shape;
  assert_true(shape.rank == 3 && shape.dims[0] == 1 && shape.dims[1] == 28 && shape.dims[2] == 28);
  assert_int_equal(burn_dataset_column(dataset, 1)->dtype, BURN_DTYPE_I64);
  burn_dataset_drop(dataset);
  assert_null(burn_dataset_mnist_normalize(small_dataset(COUNT), &status));
  assert_int_equal(burn_status_code(status), BURN_STATUS_INVALID_ARGUMENT);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(memory_gives_its_items),
      cmocka_unit_test(clones_keep_the_dataset),
      cmocka_unit_test(empty_datasets_are_datasets),
      cmocka_unit_test(columns_are_checked),
      cmocka_unit_test(own_datasets_are_destroyed_once),
      cmocka_unit_test(map_writes_its_own_columns),
      cmocka_unit_test(map_reads_large_items),
      cmocka_unit_test(slice_is_clamped),
      cmocka_unit_test(shuffle_is_a_permutation_of_the_seed),
      cmocka_unit_test(shuffle_is_fair),
      cmocka_unit_test(cache_reads_once),
      cmocka_unit_test(nested_failures_arrive),
      cmocka_unit_test(earlier_failures_stay),
      cmocka_unit_test(normalize_is_the_guides),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
