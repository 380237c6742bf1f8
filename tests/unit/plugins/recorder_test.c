/* recorder_test.c - the decorator recorder: which calls it keeps, whole or as their parts, and that it keeps what they
 * compute with. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>

#include <burn/burn.h>
#include <burn/op_call.h>
#include <burn/plugin/recorder.h>

typedef struct Recording {
  BurnDevice *device;
  const BurnBackend *backend;
  const BurnRecorderInterface *table;
  void *self;
} Recording;

static Recording open_recorder(const char *stack) {
  Recording r = {.device = burn_device_open(stack)};
  BurnInterface found = {NULL, NULL};
  if (burn_device_status(r.device) != BURN_OK) fail_msg("%s", burn_status_message(burn_device_status(r.device)));
  r.backend = burn_device_backend(r.device);
  assert_true(r.backend->get_interface(r.backend->self, BURN_RECORDER_INTERFACE, 1, &found));
  r.table = found.table;
  r.self = found.self;
  return r;
}

static const BurnOpCall *call_of(const Recording *r, uint64_t i) { return r->table->call(r->self, i); }

static void drop_read(BurnTensor *x, float wanted) {
  float value = 0;
  assert_int_equal(burn_read_f32(x, &value, 1), BURN_OK);
  assert_true(value == wanted);
}

static BurnTensor *number(const Recording *r, float value) { return burn_tensor_f32(r->device, &value, BURN_SHAPE(1)); }

/* silu is one call where it is wanted, and x * sigmoid(x) where only sigmoid is. */
static void composite_ops_are_whole_if_wanted(void **state) {
  (void)state;
  const uint32_t whole[] = {BURN_OP_silu}, parts[] = {BURN_OP_sigmoid};
  Recording r = open_recorder("recorder<ndarray>");
  assert_int_equal(r.table->begin(r.self, whole, 1), BURN_OK);
  drop_read(burn_silu(number(&r, 0)), 0);
  assert_int_equal(r.table->end(r.self), BURN_OK);
  assert_int_equal(r.table->count(r.self), 1);
  assert_int_equal(call_of(&r, 0)->op, BURN_OP_silu);
  assert_null(call_of(&r, 1));
  assert_int_equal(r.table->begin(r.self, parts, 1), BURN_OK);
  drop_read(burn_silu(number(&r, 0)), 0);
  assert_int_equal(r.table->end(r.self), BURN_OK);
  assert_int_equal(r.table->count(r.self), 2);
  assert_int_equal(call_of(&r, 0)->op, BURN_OP_sigmoid);
  assert_int_equal(call_of(&r, 1)->op, BURN_OP_mul);
  assert_ptr_equal(call_of(&r, 0)->outputs[0], call_of(&r, 1)->inputs[1]);
  burn_device_close(r.device);
}

/* The program lets go of its tensors, whose memory the ops would have written into. */
static void tensors_stay_as_they_were(void **state) {
  (void)state;
  Recording r = open_recorder("recorder<ndarray>");
  assert_int_equal(r.table->begin(r.self, NULL, 0), BURN_OK);
  drop_read(burn_add_scalar(burn_mul_scalar(number(&r, 3), 2), 1), 7);
  assert_int_equal(r.table->end(r.self), BURN_OK);
  drop_read(burn_neg(number(&r, 1)), -1); /* comes after the end */
  assert_int_equal(r.table->count(r.self), 2);
  float value = 0;
  for (uint64_t i = 0; i < 2; i++) {
    assert_int_equal(call_of(&r, i)->donate, 0);
    assert_int_equal(r.backend->read(r.backend->self, call_of(&r, i)->inputs[0], &value, sizeof value), BURN_OK);
    assert_true(value == (i == 0 ? 3.0f : 6.0f));
  }
  assert_true(burn_attr_to_f64(&call_of(&r, 1)->attrs[0]) == 1);
  r.table->forget(r.self);
  assert_int_equal(r.table->count(r.self), 0);
  assert_int_equal(burn_device_memory(r.device).live_tensors, 0);
  burn_device_close(r.device);
}

/* Queued ops of fusion below come one by one, too. */
static void fusion_below_hides_nothing(void **state) {
  (void)state;
  Recording r = open_recorder("recorder<fusion<ndarray>>");
  assert_int_equal(r.table->begin(r.self, NULL, 0), BURN_OK);
  drop_read(burn_exp(burn_neg(number(&r, 0))), 1);
  assert_int_equal(r.table->end(r.self), BURN_OK);
  assert_int_equal(r.table->count(r.self), 2);
  burn_device_close(r.device);
}

static void begin_and_end_come_in_turn(void **state) {
  (void)state;
  Recording r = open_recorder("recorder<ndarray>");
  assert_int_equal(burn_status_code(r.table->end(r.self)), BURN_STATUS_FAILED_PRECONDITION);
  assert_int_equal(r.table->begin(r.self, NULL, 0), BURN_OK);
  assert_int_equal(burn_status_code(r.table->begin(r.self, NULL, 0)), BURN_STATUS_FAILED_PRECONDITION);
  assert_int_equal(r.table->end(r.self), BURN_OK);
  burn_device_close(r.device);
}

/* -- another thread --------------------------------------------------------------------------- */

enum { SIDE = 1500 };

typedef struct Slow {
  BurnTensor *x;
  atomic_bool begun;
} Slow;

static void *multiply(void *argument) {
  Slow *slow = argument;
  atomic_store(&slow->begun, true);
  burn_drop(burn_matmul(burn_clone(slow->x), slow->x));
  return NULL;
}

/* What was recorded is read after end, so a call that another thread is in the middle of then is not added to it. */
static void nothing_comes_after_the_end(void **state) {
  (void)state;
  Recording r = open_recorder("recorder<ndarray>");
  Slow slow = {.x = burn_ones(r.device, BURN_SHAPE(SIDE, SIDE), BURN_DTYPE_F32)};
  pthread_t thread;
  assert_int_equal(burn_device_sync(r.device), BURN_OK);
  assert_int_equal(r.table->begin(r.self, NULL, 0), BURN_OK);
  assert_int_equal(pthread_create(&thread, NULL, multiply, &slow), 0);
  while (!atomic_load(&slow.begun)) continue;
  drop_read(burn_exp(number(&r, 0)), 1);
  assert_int_equal(r.table->end(r.self), BURN_OK);
  const uint64_t count = r.table->count(r.self);
  pthread_join(thread, NULL);
  assert_true(count >= 1);
  assert_int_equal(r.table->count(r.self), count);
  burn_device_close(r.device);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(composite_ops_are_whole_if_wanted), cmocka_unit_test(tensors_stay_as_they_were),
      cmocka_unit_test(fusion_below_hides_nothing),        cmocka_unit_test(begin_and_end_come_in_turn),
      cmocka_unit_test(nothing_comes_after_the_end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
