/* parallel_memory_test.c - memory and devices that several threads share: small blocks that one thread allocates and
 * another frees, handles made and dropped everywhere, a device that is closed by a thread that did not open it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <burn/burn.h>
#include <burn/op_call.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* -- small blocks ----------------------------------------------------------------------------- */

enum { BLOCKS = 1200, ROUNDS = 20 };

typedef struct Blocks {
  unsigned char *blocks[BLOCKS];
  uint64_t bytes[BLOCKS];
} Blocks;

/* Sizes on both sides of the border between small blocks and others. */
static void fill(Blocks *all, unsigned seed) {
  for (unsigned i = 0; i < BLOCKS; i++) {
    all->bytes[i] = (i * 37u + seed) % BLOCKS;
    all->blocks[i] = burn_host()->allocate(all->bytes[i]);
    assert_non_null(all->blocks[i]);
    assert_int_equal((uintptr_t)all->blocks[i] % 64, 0);
    memset(all->blocks[i], (int)(i & 0xff), all->bytes[i]);
  }
}

static void *check_and_free(void *context) {
  Blocks *all = context;
  uintptr_t bad = 0;
  for (unsigned i = 0; i < BLOCKS; i++) {
    for (uint64_t k = 0; k < all->bytes[i]; k++) bad += all->blocks[i][k] != (i & 0xff);
    burn_host()->free(all->blocks[i], all->bytes[i]);
  }
  return (void *)bad;
}

static void test_blocks_do_not_overlap(void **state) {
  (void)state;
  static Blocks all;
  for (unsigned round = 0; round < ROUNDS; round++) {
    fill(&all, round);
    assert_null(check_and_free(&all));
  }
  burn_host()->free(NULL, 0);
  burn_host()->free(NULL, 64);
}

static void test_blocks_freed_by_another_thread(void **state) {
  (void)state;
  static Blocks all[2];
  for (unsigned round = 0; round < ROUNDS; round++) {
    pthread_t threads[2];
    void *bad = NULL;
    for (unsigned i = 0; i < 2; i++) {
      fill(&all[i], round + i);
      assert_int_equal(pthread_create(&threads[i], NULL, check_and_free, &all[i]), 0);
    }
    for (unsigned i = 0; i < 2; i++) {
      assert_int_equal(pthread_join(threads[i], &bad), 0);
      assert_null(bad);
    }
  }
}

/* -- numbers of next_id ----------------------------------------------------------------------- */

enum { IDS = 1000, THREADS = 4 };

static void *take_ids(void *context) {
  uint64_t *ids = context;
  for (int i = 0; i < IDS; i++) ids[i] = burn_host()->next_id();
  return NULL;
}

static int by_number(const void *a, const void *b) {
  const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

static void test_ids_are_unique(void **state) {
  (void)state;
  static uint64_t ids[THREADS * IDS];
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&threads[i], NULL, take_ids, ids + i * IDS), 0);
  for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_join(threads[i], NULL), 0);
  qsort(ids, THREADS * IDS, sizeof ids[0], by_number);
  assert_true(ids[0] > 0);
  for (int i = 1; i < THREADS * IDS; i++) assert_true(ids[i] != ids[i - 1]);
}

/* -- devices ---------------------------------------------------------------------------------- */

static atomic_llong bytes_held; /* by the plugins of a device with the host below */

static void *BURN_API_CALL counted_allocate(uint64_t bytes) {
  void *memory = burn_host()->allocate(bytes);
  if (memory) atomic_fetch_add(&bytes_held, (long long)bytes);
  return memory;
}
static void BURN_API_CALL counted_free(void *memory, uint64_t bytes) {
  if (memory) atomic_fetch_sub(&bytes_held, (long long)bytes);
  burn_host()->free(memory, bytes);
}

static BurnDevice *open_counted(const char *stack, BurnHost *host) {
  *host = *burn_host();
  host->allocate = counted_allocate;
  host->free = counted_free;
  BurnDevice *device = burn_device_open_with_host(stack, host);
  assert_int_equal(burn_device_status(device), BURN_OK);
  return device;
}

/* Works on a tensor that is its own, and drops it in the end. NULL if its elements are right then. */
static void *work(void *context) {
  static char wrong[] = "the sum is wrong";
  BurnTensor *x = context;
  for (int i = 0; i < 500; i++) {
    BurnTensor *y = burn_clone(x);
    x = burn_add_scalar(x, 1);
    burn_drop(burn_reshape(y, BURN_SHAPE(4, 1)));
  }
  double sum = 0;
  return burn_read_scalar(burn_sum(x), &sum) == BURN_OK && sum == 2000 ? NULL : wrong;
}

static void *close_it(void *device) {
  burn_device_close(device);
  return NULL;
}

/* This thread and another work on tensors while a third closes their device: it ends with the last tensor, and at once.
 */
static void check_closing(const char *stack, bool by_another_thread) {
  static BurnHost host; /* plugins keep it */
  const long long before = atomic_load(&bytes_held);
  BurnDevice *device = open_counted(stack, &host);
  pthread_t worker, closer;
  void *wrong = NULL;
  BurnTensor *mine = burn_zeros(device, BURN_SHAPE(4), BURN_DTYPE_F32),
             *others = burn_zeros(device, BURN_SHAPE(4), BURN_DTYPE_F32);
  assert_int_equal(pthread_create(&worker, NULL, work, others), 0);
  if (by_another_thread) {
    assert_int_equal(pthread_create(&closer, NULL, close_it, device), 0);
  } else {
    burn_device_close(device);
  }
  assert_null(work(mine));
  if (by_another_thread) assert_int_equal(pthread_join(closer, NULL), 0);
  assert_int_equal(pthread_join(worker, &wrong), 0);
  assert_null(wrong);
  assert_int_equal(atomic_load(&bytes_held), before);
}

static void test_devices_end_with_their_last_tensor(void **state) {
  (void)state;
  static const char *const stacks[] = {"ndarray", "autodiff<ndarray>"};
  for (int round = 0; round < 40; round++) {
    check_closing(stacks[round % 2], false);
    check_closing(stacks[round % 2], true);
  }
}

/* Opened by a thread that is gone: whoever is left counts and closes. */
static void *open_here(void *host) { return open_counted("ndarray", host); }

static void test_device_of_a_thread_that_ended(void **state) {
  (void)state;
  static BurnHost host;
  const long long before = atomic_load(&bytes_held);
  pthread_t opener;
  void *device = NULL;
  assert_int_equal(pthread_create(&opener, NULL, open_here, &host), 0);
  assert_int_equal(pthread_join(opener, &device), 0);
  BurnTensor *x = burn_zeros(device, BURN_SHAPE(4), BURN_DTYPE_F32);
  BurnTensor *y = burn_clone(x);
  burn_device_close(device);
  assert_null(work(x));
  assert_null(work(y));
  assert_int_equal(atomic_load(&bytes_held), before);
}

static void test_counts_of_several_threads(void **state) {
  (void)state;
  BurnDevice *device = burn_device_open("ndarray");
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++) {
    assert_int_equal(pthread_create(&threads[i], NULL, work, burn_zeros(device, BURN_SHAPE(4), BURN_DTYPE_F32)), 0);
  }
  for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_join(threads[i], NULL), 0);
  const BurnMemoryStats stats = burn_device_memory(device);
  assert_int_equal(stats.live_tensors, 0);
  assert_int_equal(stats.bytes_in_use, 0);
  assert_true(stats.bytes_peak >= 16);
  burn_device_close(device);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_blocks_do_not_overlap),
      cmocka_unit_test(test_blocks_freed_by_another_thread),
      cmocka_unit_test(test_ids_are_unique),
      cmocka_unit_test(test_devices_end_with_their_last_tensor),
      cmocka_unit_test(test_device_of_a_thread_that_ended),
      cmocka_unit_test(test_counts_of_several_threads),
  };
  return cmocka_run_group_tests_name("memory and devices of several threads", tests, NULL, NULL);
}
