/* common_pool_test.c - <burn/common/pool.h>: classes of sizes, and what a pool keeps and gives back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <burn/common/pool.h>

static uint64_t rounded(uint64_t bytes) { return burn_common_pool_class_bytes(burn_common_pool_class(bytes)); }

static void test_classes_hold_their_sizes(void **state) {
  uint64_t end = 0; /* of the class before */
  uint32_t class = 0;
  (void)state;
  for (; end < BURN_COMMON_POOL_LARGEST; class ++) {
    const uint64_t bytes = burn_common_pool_class_bytes(class);
    assert_true(class < BURN_COMMON_POOL_CLASSES && bytes > end && bytes % 64 == 0);
    assert_int_equal(burn_common_pool_class(end + 1), class);
    assert_int_equal(burn_common_pool_class(bytes), class);
    if (end >= 512) assert_true(bytes - end <= end / 8); /* at most 12.5 % are wasted */
    if (end < 512) assert_int_equal(bytes - end, 64);
    end = bytes;
  }
  assert_int_equal(end, BURN_COMMON_POOL_LARGEST);
  assert_int_equal(burn_common_pool_class(end + 1), BURN_COMMON_POOL_CLASSES);
}

/* What a caller does for a block of these bytes; true if it comes from the cache. */
static bool allocate(BurnCommonPool *pool, uint64_t bytes) {
  bool trims = false;
  if (burn_common_pool_take(pool, burn_common_pool_class(bytes))) return true;
  assert_true(burn_common_pool_has_room(pool, rounded(bytes), &trims));
  if (trims) burn_common_pool_drop_all(pool);
  burn_common_pool_use(pool, rounded(bytes));
  return false;
}

static void release(BurnCommonPool *pool, uint64_t bytes) {
  const uint32_t class = burn_common_pool_class(bytes);
  if (class == BURN_COMMON_POOL_CLASSES) return; /* none of the sizes here */
  pool->in_use -= rounded(bytes);
  for (;;) {
    const uint32_t stalest = burn_common_pool_stalest(pool, rounded(bytes));
    if (stalest == BURN_COMMON_POOL_CLASSES) break;
    burn_common_pool_drop(pool, stalest);
  }
  burn_common_pool_cache(pool, class);
}

static void test_blocks_come_back_from_their_class(void **state) {
  BurnCommonPool pool = {.limit = UINT64_MAX, .keep = 1 << 20};
  (void)state;
  assert_false(allocate(&pool, 1000));
  release(&pool, 1000);
  assert_int_equal(pool.cached, rounded(1000));
  assert_false(allocate(&pool, 2000)); /* another class */
  assert_true(allocate(&pool, 1001));
  assert_false(allocate(&pool, 1000)); /* there was one */
  assert_int_equal(pool.cached, 0);
  assert_int_equal(pool.in_use, 2 * rounded(1000) + rounded(2000));
  assert_int_equal(pool.peak, pool.in_use);
}

/* With more cached than `keep` and the peak, the class that was asked for the longest ago goes first. */
static void test_stale_classes_are_dropped(void **state) {
  BurnCommonPool pool = {.limit = UINT64_MAX, .keep = 0};
  (void)state;
  allocate(&pool, 64), release(&pool, 64);
  allocate(&pool, 128), release(&pool, 128);
  assert_int_equal(pool.cached, 128); /* the peak: 64 had to go */
  assert_false(allocate(&pool, 64));
  release(&pool, 64); /* 128 + 64 are more than the peak */
  assert_true(allocate(&pool, 64));
  assert_false(allocate(&pool, 128));
  pool.keep = 1024;
  release(&pool, 64);
  release(&pool, 128);
  assert_int_equal(pool.cached, 192);
  allocate(&pool, 64), release(&pool, 64); /* 128 is stale now */
  pool.keep = 64 + 256;
  allocate(&pool, 256), release(&pool, 256);
  assert_true(allocate(&pool, 64));
  assert_true(allocate(&pool, 256));
  assert_false(allocate(&pool, 128));
}

static void test_a_limit_holds_cached_blocks_too(void **state) {
  BurnCommonPool pool = {.limit = 1024, .keep = 4096};
  bool trims = true;
  (void)state;
  allocate(&pool, 512);
  allocate(&pool, 256);
  release(&pool, 256);
  assert_true(burn_common_pool_has_room(&pool, 256, &trims));
  assert_false(trims); /* 512 + 256 cached + 256 */
  assert_true(burn_common_pool_has_room(&pool, 257, &trims));
  assert_true(trims);
  assert_true(burn_common_pool_has_room(&pool, 512, &trims));
  assert_false(burn_common_pool_has_room(&pool, 513, &trims));
  assert_false(trims);
  allocate(&pool, 448); /* another class: the cache goes */
  assert_int_equal(pool.cached, 0);
  assert_int_equal(pool.classes[burn_common_pool_class(256)].count, 0);
}

/* Random work: the counts add up, and the cache is never larger than it may be. */
static void test_counts_add_up(void **state) {
  static uint64_t held[64];
  BurnCommonPool pool = {.limit = UINT64_MAX, .keep = 10000};
  uint32_t random = 1;
  (void)state;
  for (int step = 0; step < 100000; step++) {
    uint64_t in_use = 0, cached = 0;
    random = random * 1664525u + 1013904223u;
    uint64_t *block = &held[random >> 26];
    if (*block) release(&pool, *block);
    *block = *block ? 0 : 1 + (random >> 8) % 5000;
    if (*block) allocate(&pool, *block);
    for (int i = 0; i < 64; i++) in_use += held[i] ? rounded(held[i]) : 0;
    for (uint32_t i = 0; i < BURN_COMMON_POOL_CLASSES; i++)
      cached += pool.classes[i].count * burn_common_pool_class_bytes(i);
    assert_int_equal(pool.in_use, in_use);
    assert_int_equal(pool.cached, cached);
    assert_true(cached <= pool.keep || cached <= pool.peak);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_classes_hold_their_sizes),
      cmocka_unit_test(test_blocks_come_back_from_their_class),
      cmocka_unit_test(test_stale_classes_are_dropped),
      cmocka_unit_test(test_a_limit_holds_cached_blocks_too),
      cmocka_unit_test(test_counts_add_up),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
