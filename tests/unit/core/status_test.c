/* status_test.c - statuses: codes, messages, the ring that keeps the newest, annotation, the hook, threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <burn/burn.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { RING = 1024 };

static void test_ok(void **state) {
  (void)state;
  assert_int_equal(BURN_OK, 0);
  assert_string_equal(burn_status_message(BURN_OK), "ok");
  assert_string_equal(burn_status_text(BURN_OK), "ok");
  assert_int_equal(burn_status_code(BURN_OK), 0);
}

static void test_make(void **state) {
  (void)state;
  const BurnStatus status = burn_status_make(BURN_STATUS_OUT_OF_RANGE, "row %d of %s is %.1f", 7, "x", 2.5);
  assert_int_equal(burn_status_code(status), BURN_STATUS_OUT_OF_RANGE);
  assert_string_equal(burn_status_message(status), "row 7 of x is 2.5");
  assert_string_equal(burn_status_text(status), "out of range");
  const BurnStatus nameless = burn_status_make(0, "no code"); /* a failure never looks like success */
  assert_int_equal(burn_status_code(nameless), BURN_STATUS_INTERNAL);
}

/* An error number of a driver, given as a code: it must not become part of the serial, which names the message. */
static void test_a_number_that_is_no_code(void **state) {
  (void)state;
  static const uint32_t numbers[] = {256, 700, 0x80000000u, UINT32_MAX};
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
    for (int k = 0; k < 4; k++) { /* with any bits of the serial */
      const BurnStatus status = burn_status_make(numbers[i], "launch %d failed", k);
      char expected[32];
      snprintf(expected, sizeof expected, "launch %d failed", k);
      assert_string_equal(burn_status_message(status), expected);
      assert_int_equal(burn_status_code(status), BURN_STATUS_INTERNAL);
    }
  }
}

/* A number that a plugin has made up: neither success nor somebody else's message. */
static void test_a_serial_without_a_code_is_a_failure(void **state) {
  (void)state;
  const BurnStatus known = burn_status_make(BURN_STATUS_IO, "of somebody else");
  const BurnStatus status = known & ~(BurnStatus)0xff;
  assert_int_equal(burn_status_code(status), BURN_STATUS_INTERNAL);
  assert_string_equal(burn_status_text(status), "internal error");
  assert_non_null(strstr(burn_status_message(status), "a serial number but without a code"));
  const BurnStatus annotated = burn_status_annotate(status, "open 'demo'");
  assert_int_equal(burn_status_code(annotated), BURN_STATUS_INTERNAL);
  assert_non_null(strstr(burn_status_message(annotated), "open 'demo': a plugin returned a status"));
}

/* An error number of a driver, say, has some serial, too; its message is not that of somebody else. */
static void test_a_made_up_number_has_no_message(void **state) {
  (void)state;
  const BurnStatus known = burn_status_make(BURN_STATUS_IO, "of somebody else");
  const BurnStatus status = (known & ~(BurnStatus)0xff) | BURN_STATUS_INTERNAL;
  assert_string_equal(burn_status_message(status), "internal error");
  assert_string_equal(burn_status_message(known), "of somebody else");
}

static void test_every_code_has_a_text(void **state) {
  (void)state;
  static const struct {
    uint32_t code;
    const char *text;
  } codes[] = {
#define BURN_STATUS(number, NAME, text) {BURN_STATUS_##NAME, text},
#include <burn/plugin/status.def>
#undef BURN_STATUS
  };
  for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
    assert_in_range(codes[i].code, 1, 255);
    const BurnStatus status = burn_status_make(codes[i].code, "x");
    assert_string_equal(burn_status_text(status), codes[i].text);
    assert_int_equal(burn_status_code(status), codes[i].code);
    for (size_t k = 0; k < i; k++) assert_int_not_equal(codes[i].code, codes[k].code);
  }
  assert_string_equal(burn_status_text((BurnStatus)200), "unknown failure");
}

static void test_the_ring_keeps_the_newest(void **state) {
  (void)state;
  static BurnStatus statuses[RING + 1];
  char expected[32];
  for (int i = 0; i <= RING; i++) statuses[i] = burn_status_make(BURN_STATUS_IO, "failure %d", i);
  assert_string_equal(burn_status_message(statuses[0]), "input or output failed");
  assert_int_equal(burn_status_code(statuses[0]), BURN_STATUS_IO);
  for (int i = 1; i <= RING; i++) {
    snprintf(expected, sizeof expected, "failure %d", i);
    assert_string_equal(burn_status_message(statuses[i]), expected);
  }
}

static void test_annotate(void **state) {
  (void)state;
  BurnStatus status = burn_status_make(BURN_STATUS_CORRUPT_DATA, "byte 3");
  status = burn_status_annotate(status, "field %s", "weight");
  status = burn_status_annotate(status, "mlp.mpk");
  assert_string_equal(burn_status_message(status), "mlp.mpk: field weight: byte 3");
  assert_int_equal(burn_status_code(status), BURN_STATUS_CORRUPT_DATA);
  assert_true(burn_status_annotate(BURN_OK, "nothing") == BURN_OK);
}

/* Too long texts are cut, not written beyond the end. */
static void test_long_messages(void **state) {
  (void)state;
  char text[3000];
  memset(text, 'a', sizeof text);
  text[sizeof text - 1] = '\0';
  BurnStatus status = burn_status_make(BURN_STATUS_IO, "%s", text);
  const size_t length = strlen(burn_status_message(status));
  assert_in_range(length, 500, 2000);
  status = burn_status_annotate(status, "%s", text);
  assert_in_range(strlen(burn_status_message(status)), 500, 2000);
  assert_int_equal(burn_status_code(status), BURN_STATUS_IO);
  status = burn_status_annotate(burn_status_make(BURN_STATUS_IO, "short"), "100%% of %s", "it");
  assert_string_equal(burn_status_message(status), "100% of it: short");
}

/* -- the hook --------------------------------------------------------------------------------- */

typedef struct Seen {
  int count;
  BurnStatus status;
  char file[256], message[256];
  int line;
} Seen;

static void note(void *context, BurnStatus status, const char *file, int line, const char *message) {
  Seen *seen = context;
  seen->count++;
  seen->status = status;
  seen->line = line;
  snprintf(seen->file, sizeof seen->file, "%s", file);
  snprintf(seen->message, sizeof seen->message, "%s", message);
}

static void test_hook(void **state) {
  (void)state;
  Seen seen = {0};
  BurnDevice *device = burn_device_open("ndarray");
  BurnTensor *x = burn_ones(device, BURN_SHAPE(2), BURN_DTYPE_I64);
  burn_error_hook(note, &seen);
  BurnTensor *y = burn_exp(x);
  assert_int_equal(seen.count, 1);
  assert_string_equal(seen.message, "exp: not defined for i64; it takes float tensors");
  assert_int_equal(burn_status_code(seen.status), BURN_STATUS_INVALID_DTYPE);
  assert_non_null(strstr(seen.file, "infer.c")); /* where the failure was made, not where it surfaced */
  assert_true(seen.line > 0);
  const BurnStatus own = burn_status_make(BURN_STATUS_CANCELLED, "own");
  const int line_of_own = __LINE__ - 1;
  assert_int_equal(seen.count, 2);
  assert_true(seen.status == own);
  assert_true(seen.line == line_of_own && strstr(seen.file, "status_test.c"));
  burn_error_hook(NULL, NULL);
  const BurnStatus unseen = burn_status_make(BURN_STATUS_CANCELLED, "unseen");
  assert_true(unseen != own);
  assert_int_equal(seen.count, 2);
  burn_drop(y);
  burn_device_close(device);
}

/* A failure travels through ops, clones, reads and prefixes, on a stack that keeps it until it is asked for, and from a
 * device that could not be opened: the hook hears of it once. */
static void hears_once(const char *stack) {
  Seen seen = {0};
  BurnDevice *device = burn_device_open(stack);
  double value = 0;
  burn_error_hook(note, &seen);
  BurnTensor *places =
      burn_tensor_i64(device, (int64_t[]){7}, BURN_SHAPE(1)); /* the kernel finds that, not the shape rules */
  BurnTensor *failed = burn_select(burn_ones(device, BURN_SHAPE(2), BURN_DTYPE_F32), 0, places);
  BurnTensor *twice = burn_relu(burn_add(failed, burn_ones(device, BURN_SHAPE(1), BURN_DTYPE_F32)));
  BurnTensor *copy = burn_clone(twice);
  const BurnStatus last = burn_status_annotate(burn_read_scalar(burn_clone(copy), &value), "step %d", 3);
  const BurnStatus first = burn_read_scalar(copy, &value);
  burn_drop(twice);
  burn_error_hook(NULL, NULL);
  assert_true(first != BURN_OK && last != BURN_OK);
  assert_int_equal(seen.count, 1);
  assert_true(seen.line > 0 && seen.file[0]);
  burn_device_close(device);
}

static void test_hook_hears_once(void **state) {
  (void)state;
  hears_once("ndarray");
  hears_once("autodiff<fusion<ndarray>>");
  BurnDevice *failed = burn_device_open("nosuch");
  Seen seen = {0};
  burn_error_hook(note, &seen);
  burn_drop(burn_relu(burn_ones(failed, BURN_SHAPE(2), BURN_DTYPE_F32)));
  burn_error_hook(NULL, NULL);
  assert_int_equal(seen.count, 0); /* it was made when the device was opened */
  burn_device_close(failed);
}

/* -- threads ---------------------------------------------------------------------------------- */

enum { THREADS = 4, EACH = 200 }; /* fewer than the ring holds, so that every message must be whole */

typedef struct Maker {
  int number;
  BurnStatus statuses[EACH];
} Maker;

static void *make_many(void *context) {
  Maker *maker = context;
  for (int i = 0; i < EACH; i++)
    maker->statuses[i] = burn_status_make(BURN_STATUS_IO, "thread %d, failure %d", maker->number, i);
  return NULL;
}

static void test_threads(void **state) {
  (void)state;
  static Maker makers[THREADS];
  pthread_t threads[THREADS];
  char expected[64];
  for (int i = 0; i < THREADS; i++) {
    makers[i].number = i;
    assert_int_equal(pthread_create(&threads[i], NULL, make_many, &makers[i]), 0);
  }
  for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_join(threads[i], NULL), 0);
  for (int t = 0; t < THREADS; t++) {
    for (int i = 0; i < EACH; i++) {
      snprintf(expected, sizeof expected, "thread %d, failure %d", t, i);
      assert_string_equal(burn_status_message(makers[t].statuses[i]), expected);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_ok),
      cmocka_unit_test(test_make),
      cmocka_unit_test(test_a_number_that_is_no_code),
      cmocka_unit_test(test_a_serial_without_a_code_is_a_failure),
      cmocka_unit_test(test_a_made_up_number_has_no_message),
      cmocka_unit_test(test_every_code_has_a_text),
      cmocka_unit_test(test_annotate),
      cmocka_unit_test(test_long_messages),
      cmocka_unit_test(test_the_ring_keeps_the_newest),
      cmocka_unit_test(test_hook),
      cmocka_unit_test(test_hook_hears_once),
      cmocka_unit_test(test_threads),
  };
  return cmocka_run_group_tests_name("status", tests, NULL, NULL);
}
