/* gpu_memory_test.c - blocks in segments (plugins/gpu/gpu_memory.c): what is used again, what is joined, what goes back,
 * what is told where there is no room. */
#include "gpu_testing.h"

static const uint64_t PLENTY = UINT64_C(1) << 40, MIB = 1 << 20;

static GpuStorage *take(TestGpu *test, uint64_t bytes) {
  GpuStorage *storage = NULL;
  (void)burn__gpu_enter(&test->gpu);
  const BurnStatus status = burn__gpu_storage_new(&test->gpu, bytes, &storage);
  burn__gpu_leave(&test->gpu);
  if (status != BURN_OK) fail_msg("%s", burn_status_message(status));
  return storage;
}

static BurnStatus refused(TestGpu *test, uint64_t bytes) {
  GpuStorage *storage = NULL;
  (void)burn__gpu_enter(&test->gpu);
  const BurnStatus status = burn__gpu_storage_new(&test->gpu, bytes, &storage);
  burn__gpu_leave(&test->gpu);
  return status;
}

static void test_blocks_are_used_again(void **state) {
  TestGpu *test = open_test_gpu(PLENTY, UINT64_MAX, -1);
  (void)state;
  GpuStorage *first = take(test, 1000), *second = take(test, 1000);
  const GpuAddress address = first->address;
  assert_int_equal(test->segments, 1);
  assert_true(second->address >= address + 1000 || address >= second->address + 1000);
  assert_int_equal(address % SEGMENT_ALIGNMENT, 0);
  assert_ptr_equal(second->memory, first->memory);
  burn__gpu_storage_release(&test->gpu, first);
  GpuStorage *third = take(test, 900);
  assert_int_equal(third->address, address);
  burn__gpu_storage_release(&test->gpu, third);
  burn__gpu_storage_release(&test->gpu, second);
  close_test_gpu(test);
}

/* The parts of a segment make room for what none of them has. */
static void test_neighbours_are_joined(void **state) {
  TestGpu *test = open_test_gpu(PLENTY, UINT64_MAX, -1);
  GpuStorage *parts[3];
  (void)state;
  for (int i = 0; i < 3; i++) parts[i] = take(test, 5 * MIB);
  const GpuAddress address = parts[0]->address;
  assert_int_equal(test->segments, 1);
  for (int i = 0; i < 3; i++) burn__gpu_storage_release(&test->gpu, parts[i == 0 ? 0 : 3 - i]);
  GpuStorage *whole = take(test, 15 * MIB);
  assert_int_equal(test->segments, 1);
  assert_int_equal(whole->address, address);
  burn__gpu_storage_release(&test->gpu, whole);
  (void)burn__gpu_enter(&test->gpu);
  assert_true(burn__gpu_memory_trim(&test->gpu) == BURN_OK);
  burn__gpu_leave(&test->gpu);
  assert_int_equal(test->segments, 0);
  assert_int_equal(burn__gpu_memory_figures(&test->gpu).reserved, 0);
  close_test_gpu(test);
}

static void test_figures(void **state) {
  TestGpu *test = open_test_gpu(PLENTY, UINT64_MAX, -1);
  (void)state;
  GpuStorage *first = take(test, 1000), *second = take(test, 3 * MIB);
  atomic_fetch_add(&first->references, 1u);
  assert_int_equal(burn__gpu_memory_figures(&test->gpu).in_use, 1000 + 3 * MIB);
  burn__gpu_storage_release(&test->gpu, second);
  burn__gpu_storage_release(&test->gpu, first);
  assert_int_equal(burn__gpu_memory_figures(&test->gpu).in_use, 1000);
  burn__gpu_storage_release(&test->gpu, first);
  assert_int_equal(burn__gpu_memory_figures(&test->gpu).in_use, 0);
  assert_int_equal(burn__gpu_memory_figures(&test->gpu).peak, 1000 + 3 * MIB);
  close_test_gpu(test);
}

/* What is free goes back before a failure is told; and with it there may be room. */
static void test_a_full_device(void **state) {
  TestGpu *test = open_test_gpu(20 * MIB, UINT64_MAX, -1);
  (void)state;
  GpuStorage *first = take(test, 9 * MIB), *kept = take(test, 4096);
  burn__gpu_storage_release(&test->gpu, first);
  GpuStorage *second = take(test, 12 * MIB);
  assert_int_equal(test->finishes, 1);
  assert_int_equal(test->segments, 2);
  test->room = 0;
  expect_failure(refused(test, UINT64_C(2) << 40), BURN_STATUS_OUT_OF_MEMORY,
                 "test:0: no memory for 2199023255552 bytes: 12587008 are in use");
  burn__gpu_storage_release(&test->gpu, second);
  burn__gpu_storage_release(&test->gpu, kept);
  close_test_gpu(test);
}

static void test_a_limit(void **state) {
  TestGpu *test = open_test_gpu(PLENTY, MIB, -1);
  (void)state;
  GpuStorage *first = take(test, MIB - 100);
  expect_failure(refused(test, 101), BURN_STATUS_OUT_OF_MEMORY, "above memory_limit=1048576");
  burn__gpu_storage_release(&test->gpu, first);
  burn__gpu_storage_release(&test->gpu, take(test, MIB));
  close_test_gpu(test);
}

static void test_new_memory_is_filled(void **state) {
  TestGpu *test = open_test_gpu(PLENTY, UINT64_MAX, 255);
  (void)state;
  GpuStorage *storage = take(test, 3);
  const unsigned char *bytes = (const unsigned char *)(uintptr_t)storage->address;
  for (int i = 0; i < 3; i++) assert_int_equal(bytes[i], 255);
  burn__gpu_storage_release(&test->gpu, storage);
  close_test_gpu(test);
}

/* The memory of a cache belongs to it until it ends; then to that of all tensors. */
static void test_caches(void **state) {
  TestGpu *test = open_test_gpu(PLENTY, UINT64_MAX, -1);
  (void)state;
  burn__gpu_storage_release(&test->gpu, take(test, 1000));
  GpuCache *cache = burn__gpu_cache_create(&test->gpu);
  burn__gpu_cache_choose(&test->gpu, cache);
  GpuStorage *inside = take(test, 1000);
  assert_int_equal(test->segments, 2);
  assert_true(burn__gpu_cache_has(cache, inside));
  assert_int_equal(burn__gpu_memory_figures(&test->gpu).in_use, 0);
  burn__gpu_cache_choose(&test->gpu, NULL);
  burn__gpu_cache_end(&test->gpu, cache);
  burn__gpu_storage_release(&test->gpu, inside);
  GpuStorage *outside = burn__gpu_memory_over(&test->gpu, 4096, 100);
  assert_int_equal(outside->address, 4096);
  burn__gpu_storage_release(&test->gpu, outside);
  assert_int_equal(test->segments, 2);
  close_test_gpu(test);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_blocks_are_used_again),
      cmocka_unit_test(test_neighbours_are_joined),
      cmocka_unit_test(test_figures),
      cmocka_unit_test(test_a_full_device),
      cmocka_unit_test(test_a_limit),
      cmocka_unit_test(test_new_memory_is_filled),
      cmocka_unit_test(test_caches),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
