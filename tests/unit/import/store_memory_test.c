/* store_memory_test.c - what a file may make a store ask for before its values are asked for: four times its size and 16
 * MB, whatever it claims; of a Burnpack no more than its header takes. And where an allocation fails. */
#include "sanitized.h"
#include "store_testing.h"

#if defined(SANITIZED) || !defined(__GLIBC__)
int main(void) {
  printf("store_memory_test: skipped, the sanitizer owns malloc\n");
  return 0;
}
#else

#include "counting_malloc.h"
#include "gguf_golden.h"
#include "pytorch_golden.h"

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

/* {"tensors": {"big": f32 [2^20] at 0, "odd": f32 [1] at 2^22 + 1}} in CBOR (RFC 8949): the second is not aligned. */
static const uint8_t burnpack_metadata[] =
    "\xa1\x67"
    "tensors\xa2"
    "\x63"
    "big\xa3\x65"
    "dtype\x63"
    "F32\x65"
    "shape\x81\x1a\0\x10\0\0\x6c"
    "data_offsets\x82\0\x1a\0\x40\0\0"
    "\x63"
    "odd\xa3\x65"
    "dtype\x63"
    "F32\x65"
    "shape\x81\1\x6c"
    "data_offsets\x82\x1a\0\x40\0\1\x1a\0\x40\0\5";
enum { BIG = 1 << 22, DATA = 256, BURNPACK_BYTES = DATA + BIG + 5 };

/* Values are read from the bytes when they are asked for: from those that are there then. */
static void test_a_burnpack_stays_in_its_file(void **state) {
  (void)state;
  _Static_assert(10 + sizeof burnpack_metadata - 1 < DATA, "the data begin at the first multiple of 256");
  uint8_t *file = calloc(1, BURNPACK_BYTES);
  assert_non_null(file);
  memcpy(file, "NRUB\1\0", 6);
  file[6] = sizeof burnpack_metadata - 1;
  memcpy(file + 10, burnpack_metadata, sizeof burnpack_metadata - 1);
  const long long held = held_by(file, BURNPACK_BYTES, "ok");
  if (held > 16384) fail_msg("%lld bytes for a header of %zu", held, sizeof burnpack_metadata);
  BurnStatus status = BURN_OK;
  BurnStore *store = burn_store_open_bytes(file, BURNPACK_BYTES, &status);
  assert_string_equal(burn_status_message(status), "ok");
  const float late = 2.5f;
  float *values = malloc(BIG);
  memcpy(file + DATA + BIG - sizeof late, &late, sizeof late);
  assert_int_equal(burn_store_read(store, burn_store_find(store, "big"), values, BIG), BURN_OK);
  assert_true(values[BIG / sizeof late - 1] == late);
  assert_int_equal(burn_store_read(store, burn_store_find(store, "odd"), values, sizeof late), BURN_OK);
  assert_true(values[0] == 0);
  free(values);
  burn_store_close(store);
  free(file);
}

/* What a store tells of a file, beside its tensors' values. */
typedef struct Seen {
  size_t tensors, left_out, metadata;
} Seen;

/* True if the file was opened; `number`: the allocation that fails, 0: none. */
static bool see(const uint8_t *bytes, size_t count, long long number, Seen *seen) {
  BurnStatus status = BURN_OK;
  atomic_store(&failed, 0);
  atomic_store(&countdown, number);
  atomic_store(&counting, number > 0);
  BurnStore *store = burn_store_open_bytes(bytes, count, &status);
  atomic_store(&counting, false);
  if (store != NULL)
    *seen =
        (Seen){burn_store_count(store), burn_store_left_out(store, NULL), burn_value_count(burn_store_metadata(store))};
  burn_store_close(store);
  assert_true((store != NULL) == (status == BURN_OK));
  if (status != BURN_OK && burn_status_code(status) != BURN_STATUS_OUT_OF_MEMORY)
    fail_msg("allocation %lld fails: %s", number, burn_status_message(status));
  return store != NULL;
}

/* Every allocation fails in turn: a file is opened whole, or there is no memory. */
static void assert_opened_whole(const char *what, const uint8_t *bytes, size_t count) {
  Seen whole, seen;
  assert_true(see(bytes, count, 0, &whole));
  for (long long number = 1;; number++) {
    const long long before = atomic_load(&bytes_held);
    const bool opened = see(bytes, count, number, &seen);
    assert_int_equal(atomic_load(&bytes_held), before);
    if (opened && memcmp(&seen, &whole, sizeof seen) != 0)
      fail_msg("%s, allocation %lld: %zu tensors of %zu, %zu left out instead of %zu, %zu metadata instead of %zu",
               what, number, seen.tensors, whole.tensors, seen.left_out, whole.left_out, seen.metadata, whole.metadata);
    if (atomic_load(&failed) == 0) return;
  }
}

static void test_every_allocation_fails(void **state) {
  (void)state;
#define OPENED_WHOLE(bytes) assert_opened_whole(#bytes, bytes, sizeof(bytes))
  OPENED_WHOLE(pytorch_state_dict);
  OPENED_WHOLE(pytorch_legacy);
  OPENED_WHOLE(pytorch_checkpoint);
  OPENED_WHOLE(pytorch_whole_module);
  OPENED_WHOLE(pytorch_left_out);
  OPENED_WHOLE(pytorch_tar);
  OPENED_WHOLE(gguf_file);
#undef OPENED_WHOLE
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_many_tensors), cmocka_unit_test(test_claims),
                                     cmocka_unit_test(test_every_allocation_fails),
                                     cmocka_unit_test(test_a_burnpack_stays_in_its_file)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
