/* loader_test.c - batches: the same for any number of workers, from any starting point, with early ends and failures,
 * and with nothing left behind. Runs under ThreadSanitizer too. */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <burn/train/loader.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sanitized.h"

/* Where the test can stand between the library and pthread_create. */
#if defined(__GLIBC__) && !defined(SANITIZED)
#define NO_THREADS 1
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#endif

enum { COUNT = 103, BATCH = 10, BATCHES = 11, NEVER = 1000000 };

static const size_t worker_counts[] = {0, 1, 3};

/* Items "id" i64 and "pair" f32 [2] = {id, -id}; item `failing` cannot be read. */
typedef struct Source {
  size_t failing;
  size_t destroyed;
  size_t damaged; /* 0, or every so many items are damaged: 6, 13, 20 .. for 7 */
} Source;

static BurnStatus source_get(void *context, size_t index, void *const *columns) {
  const Source *source = context;
  if (index == source->failing) return burn_status_make(BURN_STATUS_IO, "source: item %zu is unreadable", index);
  ((int64_t *)columns[0])[0] = -1; /* what a reader has written before it notices */
  if (source->damaged && index % source->damaged == source->damaged - 1)
    return burn_status_make(BURN_STATUS_CORRUPT_DATA, "source: item %zu is damaged", index);
  ((int64_t *)columns[0])[0] = (int64_t)index;
  ((float *)columns[1])[0] = (float)index;
  ((float *)columns[1])[1] = -(float)index;
  return BURN_OK;
}

static void source_destroy(void *context) { ((Source *)context)->destroyed++; }

static BurnDataset *source_dataset(Source *source, size_t count) {
  const BurnColumn columns[] = {{"id", BURN_DTYPE_I64, {0, {0}}}, {"pair", BURN_DTYPE_F32, BURN_SHAPE(2)}};
  const BurnDatasetInterface interface = {2, columns, count, source_get, source_destroy, source};
  BurnStatus status = BURN_OK;
  BurnDataset *dataset = burn_dataset_create(&interface, &status);
  assert_non_null(dataset);
  return dataset;
}

static BurnLoader *loader_of(Source *source, size_t count, const BurnLoaderConfig *config) {
  BurnStatus status = BURN_OK;
  BurnLoader *loader = burn_loader_create(source_dataset(source, count), config, &status);
  assert_true(status == BURN_OK);
  assert_non_null(loader);
  return loader;
}

typedef struct Fixture {
  BurnDevice *device;
  int64_t live;
} Fixture;

static int set_up(void **state) {
  Fixture *fixture = calloc(1, sizeof *fixture);
  assert_non_null(fixture);
  fixture->device = burn_device_open("ndarray");
  assert_true(burn_device_status(fixture->device) == BURN_OK);
  fixture->live = burn_device_memory(fixture->device).live_tensors;
  *state = fixture;
  return 0;
}

static int tear_down(void **state) {
  Fixture *fixture = *state;
  assert_int_equal(burn_device_memory(fixture->device).live_tensors, fixture->live);
  burn_device_close(fixture->device);
  free(fixture);
  return 0;
}

static BurnDevice *device_of(void **state) { return ((Fixture *)*state)->device; }

/* Reads the ids of a batch into ids[0 ..]; checks its tensors against each other and against the batch. */
static size_t batch_ids(BurnBatch *batch, int64_t *ids) {
  float pairs[2 * COUNT];
  BurnTensor *id = burn_batch_take(batch, "id"), *pair = burn_batch_take(batch, "pair");
  const size_t count = batch->item_count;
  const BurnShape shape = burn_shape(pair);
  assert_int_equal(burn_shape(id).rank, 1);
  assert_int_equal(burn_shape(id).dims[0], count);
  assert_true(shape.rank == 2 && shape.dims[0] == (int64_t)count && shape.dims[1] == 2);
  assert_int_equal(burn_dtype(id), BURN_DTYPE_I64);
  assert_true(burn_read(id, ids, count * sizeof *ids) == BURN_OK);
  assert_true(burn_read(pair, pairs, 2 * count * sizeof *pairs) == BURN_OK);
  for (size_t i = 0; i < count; i++) assert_true(pairs[2 * i] == (float)ids[i] && pairs[2 * i + 1] == -(float)ids[i]);
  return count;
}

/* All ids of an epoch from `first` on; returns their number. */
static size_t epoch_ids(BurnLoader *loader, BurnDevice *device, size_t epoch, size_t first, int64_t *ids) {
  BurnBatches *batches = burn_loader_start(loader, device, epoch, first);
  size_t count = 0, expected = first;
  for (BurnBatch batch; burn_batches_next(batches, &batch);) {
    assert_int_equal(batch.index, expected++);
    assert_int_equal(batch.column_count, 2);
    count += batch_ids(&batch, ids + count);
  }
  assert_true(burn_batches_stop(batches) == BURN_OK);
  return count;
}

/* 10 batches of 10 of the 103 items; which 3 are left out differs between epochs, not with workers. */
static void a_short_last_batch_is_dropped(void **state) {
  int64_t first[COUNT], ids[2][COUNT];
  for (size_t i = 0; i < 3; i++) {
    Source source = {.failing = NEVER};
    BurnLoader *loader =
        loader_of(&source, COUNT, &(BurnLoaderConfig){BATCH, true, 7, worker_counts[i], 0, .drop_last = true});
    assert_int_equal(burn_loader_batch_count(loader), BATCHES - 1);
    assert_int_equal(burn_loader_item_count(loader), 100);
    assert_int_equal(epoch_ids(loader, device_of(state), 1, 0, ids[0]), 100);
    assert_int_equal(epoch_ids(loader, device_of(state), 2, 0, ids[1]), 100);
    assert_memory_not_equal(ids[0], ids[1], 100 * sizeof ids[0][0]);
    if (i == 0) memcpy(first, ids[0], sizeof first);
    assert_memory_equal(ids[0], first, 100 * sizeof first[0]);
    burn_loader_destroy(loader);
    loader = loader_of(&source, BATCH - 1, &(BurnLoaderConfig){BATCH, .workers = worker_counts[i], .drop_last = true});
    assert_int_equal(burn_loader_batch_count(loader), 0);
    assert_int_equal(epoch_ids(loader, device_of(state), 1, 0, ids[0]), 0);
    burn_loader_destroy(loader);
  }
}

/* "id" is 1000 times the epoch and the index: through transforms and workers, and 0 without an epoch. */
static BurnStatus epoch_get(void *context, size_t epoch, size_t index, void *const *columns) {
  (void)context;
  const float pair[] = {(float)(1000 * epoch + index), -(float)(1000 * epoch + index)};
  *(int64_t *)columns[0] = (int64_t)(1000 * epoch + index);
  memcpy(columns[1], pair, sizeof pair);
  return BURN_OK;
}

static void items_may_depend_on_the_epoch(void **state) {
  const BurnColumn columns[] = {{"id", BURN_DTYPE_I64, {0, {0}}}, {"pair", BURN_DTYPE_F32, BURN_SHAPE(2)}};
  for (size_t i = 0; i < 3; i++) {
    int64_t ids[COUNT], id = -1;
    float pair[2];
    BurnStatus status = BURN_OK;
    const BurnDatasetInterface interface = {.column_count = 2, .columns = columns, .count = COUNT};
    BurnDataset *source = burn_dataset_create_by_epoch(&interface, epoch_get, &status);
    assert_true(burn_dataset_get(source, 5, (void *const[]){&id, pair}) == BURN_OK && id == 5);
    BurnDataset *items = burn_dataset_slice(burn_dataset_shuffle(source, 3, &status), 1, 21, &status);
    items = burn_dataset_compose((BurnDataset *const[]){items}, 1, &status);
    BurnLoader *loader = burn_loader_create(items, &(BurnLoaderConfig){.batch_size = 7, .workers = i}, &status);
    assert_true(status == BURN_OK);
    for (size_t epoch = 1; epoch <= 2; epoch++) {
      assert_int_equal(epoch_ids(loader, device_of(state), epoch, 0, ids), 20);
      for (size_t j = 0; j < 20; j++) assert_int_equal(ids[j] / 1000, epoch);
    }
    burn_loader_destroy(loader);
  }
}

static void order_is_that_of_the_dataset(void **state) {
  for (size_t i = 0; i < 3; i++) {
    Source source = {.failing = NEVER};
    int64_t ids[COUNT];
    BurnLoader *loader =
        loader_of(&source, COUNT, &(BurnLoaderConfig){.batch_size = BATCH, .workers = worker_counts[i]});
    assert_int_equal(burn_loader_batch_count(loader), BATCHES);
    assert_int_equal(burn_loader_item_count(loader), COUNT);
    assert_int_equal(epoch_ids(loader, device_of(state), 1, 0, ids), COUNT);
    for (size_t j = 0; j < COUNT; j++) assert_int_equal(ids[j], j);
    burn_loader_destroy(loader);
    assert_int_equal(source.destroyed, 1);
  }
}

/* The last batch is short: 103 = 10 * 10 + 3; a batch may be larger than the dataset; sizes that divide leave none. */
static void last_batch_is_short(void **state) {
  const struct {
    size_t count, batch, batches, last;
  } cases[] = {{103, 10, 11, 3}, {100, 10, 10, 10}, {7, 50, 1, 7}, {1, 1, 1, 1}, {COUNT, SIZE_MAX, 1, COUNT}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    for (size_t workers = 0; workers < 3; workers += 2) {
      Source source = {.failing = NEVER};
      BurnLoader *loader =
          loader_of(&source, cases[i].count, &(BurnLoaderConfig){.batch_size = cases[i].batch, .workers = workers});
      assert_int_equal(burn_loader_batch_count(loader), cases[i].batches);
      BurnBatches *batches = burn_loader_start(loader, device_of(state), 1, 0);
      size_t seen = 0, last = 0;
      for (BurnBatch batch; burn_batches_next(batches, &batch); seen++) last = batch.item_count;
      assert_int_equal(seen, cases[i].batches);
      assert_int_equal(last, cases[i].last);
      BurnBatch none;
      assert_false(burn_batches_next(batches, &none));
      assert_int_equal(none.column_count, 0);
      assert_true(burn_batches_stop(batches) == BURN_OK);
      burn_loader_destroy(loader);
    }
  }
}

static void shuffled_epochs_are_permutations(void **state) {
  int64_t reference[3][COUNT], other_seed[COUNT];
  for (size_t i = 0; i < 3; i++) {
    Source source = {.failing = NEVER};
    const BurnLoaderConfig config = {BATCH, true, 42, worker_counts[i], 2, .drop_last = false};
    BurnLoader *loader = loader_of(&source, COUNT, &config);
    for (size_t epoch = 1; epoch <= 3; epoch++) {
      int64_t ids[COUNT];
      bool seen[COUNT] = {false};
      assert_int_equal(epoch_ids(loader, device_of(state), epoch, 0, ids), COUNT);
      for (size_t j = 0; j < COUNT; j++) {
        assert_in_range(ids[j], 0, COUNT - 1);
        assert_false(seen[ids[j]]);
        seen[ids[j]] = true;
      }
      if (i == 0) memcpy(reference[epoch - 1], ids, sizeof ids);
      assert_memory_equal(ids, reference[epoch - 1], sizeof ids);
    }
    burn_loader_destroy(loader);
  }
  assert_memory_not_equal(reference[0], reference[1], sizeof reference[0]);
  assert_memory_not_equal(reference[1], reference[2], sizeof reference[0]);
  Source source = {.failing = NEVER};
  BurnLoader *loader = loader_of(&source, COUNT, &(BurnLoaderConfig){.batch_size = BATCH, .shuffle = true, .seed = 43});
  assert_int_equal(epoch_ids(loader, device_of(state), 1, 0, other_seed), COUNT);
  assert_memory_not_equal(reference[0], other_seed, sizeof other_seed);
  burn_loader_destroy(loader);
}

static void an_epoch_can_be_entered_at_any_batch(void **state) {
  int64_t whole[COUNT], rest[COUNT];
  for (size_t i = 0; i < 3; i++) {
    Source source = {.failing = NEVER};
    const BurnLoaderConfig config = {BATCH, true, 7, worker_counts[i], 0, .drop_last = false};
    BurnLoader *loader = loader_of(&source, COUNT, &config);
    assert_int_equal(epoch_ids(loader, device_of(state), 2, 0, whole), COUNT);
    for (size_t first = 0; first <= BATCHES; first++) {
      const size_t skipped = first * BATCH < COUNT ? first * BATCH : COUNT;
      assert_int_equal(epoch_ids(loader, device_of(state), 2, first, rest), COUNT - skipped);
      assert_memory_equal(rest, whole + skipped, (COUNT - skipped) * sizeof *rest);
    }
    burn_loader_destroy(loader);
  }
}

/* Stops after each number of batches, leaving tensors untaken, taken in part, or with the batch gone. */
static void early_stops_leave_nothing(void **state) {
  for (size_t i = 0; i < 3; i++) {
    Source source = {.failing = NEVER};
    const BurnLoaderConfig config = {BATCH, true, 7, worker_counts[i], 3, .drop_last = false};
    BurnLoader *loader = loader_of(&source, COUNT, &config);
    for (size_t stop_after = 0; stop_after <= BATCHES; stop_after++) {
      BurnBatches *batches = burn_loader_start(loader, device_of(state), 1, 0);
      size_t seen = 0;
      while (seen < stop_after) {
        BurnBatch batch;
        assert_true(burn_batches_next(batches, &batch));
        if (seen++ % 2 == 0) burn_drop(burn_batch_take(&batch, "pair"));
      }
      assert_true(burn_batches_stop(batches) == BURN_OK);
    }
    burn_loader_destroy(loader);
    assert_int_equal(source.destroyed, 1);
  }
}

/* A taken tensor is the caller's: it outlives the iteration. */
static void taken_tensors_stay(void **state) {
  Source source = {.failing = NEVER};
  BurnLoader *loader = loader_of(&source, COUNT, &(BurnLoaderConfig){.batch_size = 2, .workers = 2});
  BurnBatches *batches = burn_loader_start(loader, device_of(state), 1, 1);
  BurnBatch batch;
  int64_t ids[2] = {0};
  assert_true(burn_batches_next(batches, &batch));
  BurnTensor *kept = burn_batch_take(&batch, "id");
  assert_true(burn_batches_next(batches, &batch));
  assert_true(burn_batches_stop(batches) == BURN_OK);
  burn_loader_destroy(loader);
  assert_true(burn_read(kept, ids, sizeof ids) == BURN_OK);
  assert_true(ids[0] == 2 && ids[1] == 3);
}

static void assert_failed(BurnTensor *tensor, uint32_t code, const char *message) {
  const BurnStatus status = burn_tensor_status(tensor);
  assert_int_equal(burn_status_code(status), code);
  assert_string_equal(burn_status_message(status), message);
  burn_drop(tensor);
}

static void wrong_takes_give_failed_tensors(void **state) {
  Source source = {.failing = NEVER};
  BurnLoader *loader = loader_of(&source, COUNT, &(BurnLoaderConfig){.batch_size = 2});
  BurnBatches *batches = burn_loader_start(loader, device_of(state), 1, 0);
  BurnBatch batch;
  assert_true(burn_batches_next(batches, &batch));
  burn_drop(burn_batch_take(&batch, "id"));
  assert_failed(burn_batch_take(&batch, "id"), BURN_STATUS_TENSOR_TAKEN, "batch: column \"id\" was taken already");
  assert_failed(burn_batch_take(&batch, "image"), BURN_STATUS_NOT_FOUND,
                "batch: no column \"image\"; it has \"id\", \"pair\"");
  assert_true(burn_batches_stop(batches) == BURN_OK);
  BurnBatch empty = {0};
  assert_failed(burn_batch_take(&empty, "id"), BURN_STATUS_NOT_FOUND, "batch: no column \"id\"; it has none");
  burn_loader_destroy(loader);
}

/* The batches before the failure arrive, whatever the number of workers; then the failure is told by stop. */
static void failures_arrive_in_order(void **state) {
  static const size_t failing[] = {0, 37, COUNT - 1};
  for (size_t i = 0; i < 9; i++) {
    Source source = {.failing = failing[i / 3]};
    int64_t ids[COUNT];
    char message[100];
    const BurnLoaderConfig config = {BATCH, false, 0, worker_counts[i % 3], 2, .drop_last = false};
    BurnLoader *loader = loader_of(&source, COUNT, &config);
    BurnBatches *batches = burn_loader_start(loader, device_of(state), 1, 0);
    size_t seen = 0;
    for (BurnBatch batch; burn_batches_next(batches, &batch); seen++) batch_ids(&batch, ids);
    assert_int_equal(seen, failing[i / 3] / BATCH);
    BurnBatch none;
    assert_false(burn_batches_next(batches, &none));
    const BurnStatus status = burn_batches_stop(batches);
    assert_int_equal(burn_status_code(status), BURN_STATUS_IO);
    assert_true(snprintf(message, sizeof message, "loader: item %zu, in batch %zu: source: item %zu is unreadable",
                         failing[i / 3], failing[i / 3] / BATCH, failing[i / 3]) < 100);
    assert_string_equal(burn_status_message(status), message);
    burn_loader_destroy(loader);
  }
}

/* Damaged items are left out, whatever the number of workers, and counted as far as their batches were handed out. */
static void damaged_items_are_skipped(void **state) {
  for (size_t i = 0; i < 3; i++) {
    Source source = {.failing = NEVER, .damaged = 7};
    int64_t ids[COUNT];
    size_t skipped = NEVER, expected = 0;
    const BurnLoaderConfig config = {
        .batch_size = BATCH, .workers = worker_counts[i], .read = {.skip_bad = true, .skipped = &skipped}};
    BurnLoader *loader = loader_of(&source, COUNT, &config);
    const size_t count = epoch_ids(loader, device_of(state), 1, 0, ids);
    assert_int_equal(count, COUNT - COUNT / 7);
    assert_int_equal(skipped, COUNT / 7);
    for (size_t k = 0; k < count; k++, expected++) {
      if (expected % 7 == 6) expected++;
      assert_int_equal(ids[k], expected);
    }
    BurnBatches *batches = burn_loader_start(loader, device_of(state), 1, 0);
    BurnBatch batch;
    assert_true(burn_batches_next(batches, &batch));
    assert_int_equal(batch.item_count, BATCH - 1);
    assert_true(burn_batches_stop(batches) == BURN_OK);
    assert_int_equal(skipped, 1);
    burn_loader_destroy(loader);
  }
}

/* A batch of which nothing is left ends the iteration, as does a failure that is no damage. */
static void skipping_has_an_end(void **state) {
  static const char *const messages[] = {
      "loader: batch 3: none of its 1 items can be read, the first: loader: item 6, in batch 3: source: item 6 is "
      "damaged",
      "loader: item 1, in batch 0: source: item 1 is unreadable"};
  for (size_t i = 0; i < 2; i++) {
    Source source = {.failing = i == 0 ? NEVER : 1, .damaged = 7};
    const BurnLoaderConfig config = {.batch_size = i == 0 ? 2 : BATCH, .read = {.skip_bad = true}};
    BurnLoader *loader = loader_of(&source, 7 + i, &config);
    BurnBatches *batches = burn_loader_start(loader, device_of(state), 1, 0);
    for (BurnBatch batch; burn_batches_next(batches, &batch);) assert_int_equal(batch.item_count, 2);
    assert_string_equal(burn_status_message(burn_batches_stop(batches)), messages[i]);
    burn_loader_destroy(loader);
  }
}

/* A failure that the consumer has not reached is not told, so that the outcome does not depend on how far workers got.
 */
static void failures_beyond_an_early_stop_are_not_told(void **state) {
  for (size_t i = 0; i < 3; i++) {
    Source source = {.failing = 15};
    BurnLoader *loader =
        loader_of(&source, COUNT, &(BurnLoaderConfig){.batch_size = BATCH, .workers = worker_counts[i]});
    BurnBatches *batches = burn_loader_start(loader, device_of(state), 1, 0);
    BurnBatch batch;
    assert_true(burn_batches_next(batches, &batch));
    assert_true(burn_batches_stop(batches) == BURN_OK);
    burn_loader_destroy(loader);
  }
}

static void bad_starts_are_told_by_stop(void **state) {
  Source source = {.failing = NEVER};
  BurnBatch batch;
  BurnLoader *loader = loader_of(&source, COUNT, &(BurnLoaderConfig){.batch_size = BATCH, .workers = 2});
  BurnBatches *batches = burn_loader_start(loader, device_of(state), 1, BATCHES + 1);
  assert_false(burn_batches_next(batches, &batch));
  BurnStatus status = burn_batches_stop(batches);
  assert_int_equal(burn_status_code(status), BURN_STATUS_OUT_OF_RANGE);
  assert_string_equal(burn_status_message(status), "loader: first batch 12 asked for, the epoch has 11");
  batches = burn_loader_start(loader, device_of(state), 0, 0);
  assert_false(burn_batches_next(batches, &batch));
  assert_int_equal(burn_status_code(burn_batches_stop(batches)), BURN_STATUS_INVALID_ARGUMENT);
  burn_loader_destroy(loader);
  burn_loader_destroy(NULL);
}

/* A chain that has failed leaves NULL, and who looks at its status only at the end goes on with that. */
static void no_loader_is_told_by_stop(void **state) {
  BurnBatch batch;
  BurnStatus made = BURN_OK;
  const BurnLoaderConfig config = {.batch_size = BATCH, .workers = 2};
  BurnDataset *dataset = burn_dataset_mnist("/nonexistent", BURN_MNIST_TRAIN, &made);
  assert_int_equal(burn_dataset_count(dataset), 0);
  assert_int_equal(burn_dataset_column_count(dataset), 0);
  assert_null(burn_dataset_column(dataset, 0));
  assert_int_equal(burn_dataset_column_bytes(dataset, 0), 0);
  assert_int_equal(burn_status_code(burn_dataset_get(dataset, 0, NULL)), BURN_STATUS_OUT_OF_RANGE);
  BurnLoader *loader = burn_loader_create(dataset, &config, &made);
  assert_int_equal(burn_loader_batch_count(loader), 0);
  assert_int_equal(burn_loader_item_count(loader), 0);
  BurnBatches *batches = burn_loader_start(loader, device_of(state), 1, 0);
  assert_false(burn_batches_next(batches, &batch));
  const BurnStatus status = burn_batches_stop(batches);
  assert_int_equal(burn_status_code(status), BURN_STATUS_INVALID_ARGUMENT);
  assert_string_equal(burn_status_message(status),
                      "loader: there is none; the status of the call that should have made it says why");
  assert_int_equal(burn_status_code(made), BURN_STATUS_NOT_FOUND);
}

#if defined(NO_THREADS)
/* In front of the C library's, for burn_train, too. */
static _Thread_local bool no_threads;

__attribute__((visibility("default"))) int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                                                          void *(*run)(void *), void *argument) {
  if (no_threads) return EAGAIN;
  void *next = dlsym(RTLD_NEXT, "pthread_create");
  int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
  memcpy(&create, &next, sizeof create);
  return create(thread, attributes, run, argument);
}

static void workers_that_do_not_start_say_why(void **state) {
  Source source = {.failing = NEVER};
  BurnLoader *loader = loader_of(&source, COUNT, &(BurnLoaderConfig){.batch_size = BATCH, .workers = 2});
  BurnBatch batch;
  no_threads = true;
  BurnBatches *batches = burn_loader_start(loader, device_of(state), 1, 0);
  const bool more = burn_batches_next(batches, &batch);
  no_threads = false;
  assert_false(more);
  assert_string_equal(burn_status_message(burn_batches_stop(batches)),
                      "loader: worker 1 of 2 could not be started: Resource temporarily unavailable; fewer workers need"
                      " fewer threads and less memory");
  burn_loader_destroy(loader);
}
#else
static void workers_that_do_not_start_say_why(void **state) {
  (void)state;
  print_message("skipped: pthread_create is the sanitizer's or the system's\n");
}
#endif

static void bad_configs_are_refused(void **state) {
  (void)state;
  const BurnLoaderConfig configs[] = {
      {.batch_size = 0}, {.batch_size = 1, .workers = 1025}, {.batch_size = 1, .workers = 1, .prefetch = SIZE_MAX}};
  for (size_t i = 0; i < 3; i++) {
    Source source = {.failing = NEVER};
    BurnStatus status = BURN_OK;
    assert_null(burn_loader_create(source_dataset(&source, COUNT), &configs[i], &status));
    assert_int_equal(burn_status_code(status), BURN_STATUS_INVALID_ARGUMENT);
    assert_int_equal(source.destroyed, 1);
  }
  BurnStatus status = burn_status_make(BURN_STATUS_IO, "earlier");
  assert_null(burn_loader_create(NULL, &configs[0], &status));
  assert_string_equal(burn_status_message(status), "earlier");
  status = BURN_OK;
  assert_null(burn_loader_create(NULL, &configs[0], &status));
  assert_int_equal(burn_status_code(status), BURN_STATUS_INVALID_ARGUMENT);
}

static void empty_datasets_have_no_batches(void **state) {
  for (size_t i = 0; i < 3; i++) {
    Source source = {.failing = NEVER};
    int64_t ids[1];
    const BurnLoaderConfig config = {BATCH, true, 1, worker_counts[i], 0, .drop_last = false};
    BurnLoader *loader = loader_of(&source, 0, &config);
    assert_int_equal(burn_loader_batch_count(loader), 0);
    assert_int_equal(epoch_ids(loader, device_of(state), 1, 0, ids), 0);
    burn_loader_destroy(loader);
  }
}

/* Two iterations of one loader at the same time, with more workers than batches. */
static void iterations_are_independent(void **state) {
  Source source = {.failing = NEVER};
  int64_t one[COUNT], two[COUNT];
  const BurnLoaderConfig config = {BATCH, true, 3, 16, 1, .drop_last = false};
  BurnLoader *loader = loader_of(&source, COUNT, &config);
  BurnBatches *first = burn_loader_start(loader, device_of(state), 1, 0);
  BurnBatches *second = burn_loader_start(loader, device_of(state), 1, 0);
  for (size_t i = 0; i < BATCHES; i++) {
    BurnBatch a, b;
    assert_true(burn_batches_next(first, &a) && burn_batches_next(second, &b));
    assert_int_equal(batch_ids(&a, one), batch_ids(&b, two));
    assert_memory_equal(one, two, a.item_count * sizeof *one);
  }
  assert_true(burn_batches_stop(first) == BURN_OK);
  assert_true(burn_batches_stop(second) == BURN_OK);
  burn_loader_destroy(loader);
}

int main(void) {
#define WITH_DEVICE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      WITH_DEVICE(a_short_last_batch_is_dropped),
      WITH_DEVICE(items_may_depend_on_the_epoch),
      WITH_DEVICE(order_is_that_of_the_dataset),
      WITH_DEVICE(last_batch_is_short),
      WITH_DEVICE(shuffled_epochs_are_permutations),
      WITH_DEVICE(an_epoch_can_be_entered_at_any_batch),
      WITH_DEVICE(early_stops_leave_nothing),
      WITH_DEVICE(taken_tensors_stay),
      WITH_DEVICE(wrong_takes_give_failed_tensors),
      WITH_DEVICE(failures_arrive_in_order),
      WITH_DEVICE(damaged_items_are_skipped),
      WITH_DEVICE(skipping_has_an_end),
      WITH_DEVICE(failures_beyond_an_early_stop_are_not_told),
      WITH_DEVICE(bad_starts_are_told_by_stop),
      WITH_DEVICE(no_loader_is_told_by_stop),
      WITH_DEVICE(workers_that_do_not_start_say_why),
      WITH_DEVICE(empty_datasets_have_no_batches),
      WITH_DEVICE(iterations_are_independent),
      cmocka_unit_test(bad_configs_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
