/* store_memory_test.c - what a file may make a store ask for before its values are asked for: four times its size and 16
 * MB, whatever it claims. */
#include "sanitized.h"
#include "store_testing.h"

#if defined(SANITIZED) || !defined(__GLIBC__)
int main(void) {
  printf("store_memory_test: skipped, the sanitizer owns malloc\n");
  return 0;
}
#else

#include "counting_malloc.h"

enum { TENSORS = 120000, MEGABYTES_16 = 16 << 20 };

/* Opens the bytes and says how much memory the store holds. */
static long long held_by(const uint8_t *bytes, size_t count, const char *message) {
  BurnStatus status = BURN_OK;
  const long long before = atomic_load(&bytes_held);
  BurnStore *store = burn_store_open_bytes(bytes, count, &status);
  const long long held = atomic_load(&bytes_held) - before;
  assert_string_equal(burn_status_message(status), message);
  burn_store_close(store);
  assert_int_equal(atomic_load(&bytes_held), before); /* and nothing stays */
  return held;
}

/* The shortest descriptions of tensors that there can be, as many of them as are taken. */
static void test_many_tensors(void **state) {
  (void)state;
  const size_t room = 80 * (size_t)TENSORS;
  uint8_t *file = malloc(room);
  size_t used = 8;
  file[used++] = '{';
  for (int i = 0; i < TENSORS; i++) {
    used += (size_t)snprintf((char *)file + used, room - used,
                             "%s\"%x\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}", i ? "," : "", i);
  }
  file[used++] = '}';
  const uint64_t length = used - 8;
  memcpy(file, &length, 8);
  const long long held = held_by(file, used, "ok");
  if (held > 4 * (long long)used + MEGABYTES_16) fail_msg("%lld bytes for a file of %zu", held, used);
  free(file);
}

/* An archive whose array claims four thousand million bytes, with a bit turned anywhere. */
static void test_claims(void **state) {
  (void)state;
  static const uint8_t bomb[] = {
#include "npz_bomb.def"
  };
  uint8_t small[sizeof bomb];
  memcpy(small, bomb, sizeof bomb);
  const long long before = atomic_load(&bytes_held);
  for (size_t cut = 0; cut < sizeof bomb; cut++) {
    small[cut] ^= 0x40;
    BurnStatus status = BURN_OK;
    BurnStore *store = burn_store_open_bytes(small, sizeof small, &status);
    assert_true(atomic_load(&bytes_held) - before < MEGABYTES_16);
    burn_store_close(store);
    small[cut] ^= 0x40;
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_many_tensors), cmocka_unit_test(test_claims)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
