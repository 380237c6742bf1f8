/* async_stack.c - cases of the check "async" on the whole stack, through burn/transfer.h: they hold for every backend,
 * with the interface "burn.device" and without. */
#include "async.h"

#include <burn/transfer.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { READS = 8, SLOTS = 2, BATCHES = 8 };

/* Takes read: its values are sign * (first + i). */
static const char *arrives(BurnPendingRead *read, int first, int sign, const char *what) {
  float values[ASYNC_COUNT];
  async_noise(values);
  const BurnStatus status = burn_read_finish_f32(read, values, ASYNC_COUNT);
  return status == BURN_OK ? async_compare(values, first, sign, what) : async_failed(status, what);
}

static const char *read_before_later_work(AsyncSubject *s) {
  BurnTensor *x = async_tensor(s->device, 1);
  BurnPendingRead *before = burn_read_start(burn_clone(x));
  x = burn_neg(x); /* in place where the stack can */
  BurnPendingRead *after = burn_read_start(x);
  const char *wrong = arrives(before, 1, 1, "a read that was started before neg of the same tensor");
  if (!wrong) return arrives(after, 1, -1, "the read after neg");
  burn_read_drop(after);
  return wrong;
}

/* Reads 0 .. 7 with work in between, finished in another order. */
static const char *reads_out_of_order(AsyncSubject *s) {
  BurnPendingRead *reads[READS];
  const char *wrong = NULL;
  for (int i = 0; i < READS; i++) reads[i] = burn_read_start(async_tensor(s->device, 1 + i * 1000));
  for (int i = 0; i < READS; i++) {
    const int one = (i * 5 + 6) % READS;
    if (wrong) {
      burn_read_drop(reads[one]);
      continue;
    }
    wrong = arrives(reads[one], 1 + one * 1000, 1, "one of several reads in flight");
    if (wrong) wrong = async_fault("read %d of %d, finished as number %d: %s", one, READS, i, wrong);
  }
  return wrong;
}

static const char *ready_means_no_wait(AsyncSubject *s) {
  BurnPendingRead *read = burn_read_start(async_tensor(s->device, 1));
  const double end = system_seconds() + (double)s->run->timeout / 2;
  bool ready = false;
  while (!ready && system_seconds() < end) ready = burn_read_ready(read);
  if (!ready) {
    burn_read_drop(read);
    return async_fault("a read is not ready after %.1f s, though nothing else runs", (double)s->run->timeout / 2);
  }
  const int64_t before = burn_device_host_waits(s->device);
  const char *wrong = arrives(read, 1, 1, "a read that said it is ready");
  const int64_t waits = burn_device_host_waits(s->device) - before;
  if (wrong || waits == 0) return wrong;
  return async_fault("a read that said it is ready waits %" PRId64 " times at the end", waits);
}

/* The read has the only reference; tensors made after it may get the memory. */
static const char *released_in_flight(AsyncSubject *s) {
  BurnPendingRead *read = burn_read_start(async_tensor(s->device, 1));
  for (int i = 0; i < READS; i++) burn_drop(async_tensor(s->device, 5000 + i));
  return arrives(read, 1, 1, "a read whose tensor was released, with eight tensors of its size made after it");
}

static const char *dropped_in_flight(AsyncSubject *s) {
  BurnTensor *x = async_tensor(s->device, 1);
  burn_read_drop(NULL);
  for (int i = 0; i < READS; i++) burn_read_drop(burn_read_start(burn_clone(x)));
  return arrives(burn_read_start(x), 1, 1, "a read after eight of the same tensor that were dropped");
}

/* Zeros and ones, which every dtype has. */
static const char *dtype_arrives(AsyncSubject *s, BurnDType dtype) {
  char data[64 * 16], found[sizeof data];
  const size_t bytes = 64 * burn_dtype_bytes(dtype);
  if (bytes > sizeof data) return NULL;
  for (int64_t i = 0; i < 64; i++) sample_store(dtype, data, i, (double)(i % 3 == 1));
  memset(found, 0xa5, sizeof found);
  BurnPendingRead *read = burn_read_start(burn_tensor_from(s->device, data, dtype, BURN_SHAPE(8, 8)));
  const BurnStatus status = burn_read_finish(read, found, bytes);
  if (status != BURN_OK) return async_fault("%s: %s", burn_dtype_name(dtype), burn_status_message(status));
  for (size_t i = 0; i < bytes; i++) {
    if (found[i] == data[i]) continue;
    return async_fault("a %s tensor that was read later: byte %zu is 0x%02x, not 0x%02x", burn_dtype_name(dtype), i,
                       (unsigned)(unsigned char)found[i], (unsigned)(unsigned char)data[i]);
  }
  return NULL;
}

static const char *every_dtype(AsyncSubject *s) {
  const uint32_t dtypes = conform_dtypes(s->device);
  const char *wrong = NULL;
  for (BurnDType dtype = 1; dtype < BURN_DTYPE_LIMIT && !wrong; dtype++) {
    if (dtypes >> dtype & 1) wrong = dtype_arrives(s, dtype);
  }
  return wrong;
}

/* Batches through a ring of two slots: each slot is filled again while tensors made of it live. */
static const char *upload(BurnStaging *staging, BurnTensor **batches) {
  for (int i = 0; i < BATCHES; i++) {
    BurnStagingSlot *slot = NULL;
    const BurnStatus status = burn_staging_take(staging, &slot);
    if (status != BURN_OK) return async_failed(status, "burn_staging_take");
    async_fill(burn_staging_memory(slot), 1 + i * 1000, 1);
    batches[i] = burn_staging_tensor(slot, 0, BURN_DTYPE_F32, BURN_SHAPE(ASYNC_COUNT));
    burn_staging_give(slot);
  }
  for (int i = 0; i < BATCHES; i++) {
    const char *wrong = arrives(burn_read_start(burn_clone(batches[i])), 1 + i * 1000, 1, "its values");
    if (wrong)
      return async_fault("batch %d through a ring of %d slots, read after all %d: %s", i, SLOTS, BATCHES, wrong);
  }
  return NULL;
}

static const char *staging_ring(AsyncSubject *s) {
  BurnStaging *staging = NULL;
  BurnTensor *batches[BATCHES] = {NULL};
  const char *wrong = async_failed(burn_staging_open(s->device, ASYNC_BYTES, SLOTS, &staging), "burn_staging_open");
  if (wrong) return wrong;
  wrong = upload(staging, batches);
  for (int i = 0; i < BATCHES; i++) {
    if (batches[i]) burn_drop(batches[i]);
  }
  burn_staging_close(staging);
  return wrong;
}

static const AsyncCase threaded[] = {{"", read_before_later_work}, {"", reads_out_of_order}, {"", released_in_flight}};

static const char *two_threads(AsyncSubject *s) {
  return async_on_threads(s, threaded, sizeof threaded / sizeof threaded[0]);
}

/* -- failures of late work -------------------------------------------------------------------- */

static BurnStatus fail_at_sync(AsyncSubject *s, BurnTensor *x) {
  const BurnStatus status = burn_device_sync(s->device);
  (void)x;
  return status;
}

static BurnStatus fail_at_read(AsyncSubject *s, BurnTensor *x) {
  char data[4096];
  const size_t bytes = (size_t)burn_element_count(x) * burn_dtype_bytes(burn_dtype(x));
  (void)s;
  return bytes <= sizeof data ? burn_read(burn_clone(x), data, bytes) : burn_device_sync(s->device);
}

static BurnStatus fail_at_finish(AsyncSubject *s, BurnTensor *x) {
  char data[4096];
  const size_t bytes = (size_t)burn_element_count(x) * burn_dtype_bytes(burn_dtype(x));
  (void)s;
  return bytes <= sizeof data ? burn_read_finish(burn_read_start(burn_clone(x)), data, bytes)
                              : burn_device_sync(s->device);
}

/* The op on an instance of its own, then the verb, which must tell; a second instance goes on. */
static const char *tells(AsyncSubject *s, BurnStatus (*verb)(AsyncSubject *s, BurnTensor *x), const char *name) {
  AsyncSubject own;
  BurnTensor *x = NULL;
  const char *wrong = async_open(s->run, s->stack, &own);
  if (!wrong) wrong = async_run_failing(&own, &x);
  if (!wrong) wrong = async_names_op(&own, verb(&own, x), name);
  if (x) burn_drop(x);
  if (!wrong) wrong = arrives(burn_read_start(async_tensor(s->device, 1)), 1, 1, "another instance after the failure");
  async_close(&own);
  return wrong;
}

static const char *late_failures(AsyncSubject *s) {
  s->skip = s->run->fails ? NULL : "no op is known whose work fails late; --fails names one";
  if (s->skip) return NULL;
  const char *wrong = tells(s, fail_at_sync, "sync");
  if (!wrong) wrong = tells(s, fail_at_read, "burn_read of its result");
  if (!wrong) wrong = tells(s, fail_at_finish, "burn_read_finish of its result");
  return wrong;
}

const AsyncCase async_stack_cases[] = {
    {"a read sees the values of the moment when it was started", read_before_later_work},
    {"several reads in flight, finished out of order", reads_out_of_order},
    {"a read that says it is ready does not wait", ready_means_no_wait},
    {"a tensor is released while its read is in flight", released_in_flight},
    {"reads are dropped in flight", dropped_in_flight},
    {"reads of every dtype", every_dtype},
    {"uploads through a ring of staging memory", staging_ring},
    {"two threads that read and compute", two_threads},
    {"failures of late work come at the next verb", late_failures},
};
const uint32_t async_stack_case_count = sizeof async_stack_cases / sizeof async_stack_cases[0];
