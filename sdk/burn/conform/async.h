/* async.h - what the files of the check "async" share: work that is still under way while the program goes on.
 *
 * A case runs on the stack under test through burn/transfer.h, where it also holds for core's own way on backends
 * without the interface "burn.device"; or on the backend alone through that interface. */
#ifndef BURN_SDK_CONFORM_ASYNC_H
#define BURN_SDK_CONFORM_ASYNC_H

#include "conform.h"

#include <burn/plugin/device.h>

/* Elements of the tensors that move: enough that a copy takes a while. */
enum { ASYNC_COUNT = 4096, ASYNC_BYTES = ASYNC_COUNT * 4 };

/* What a case runs on. */
typedef struct AsyncSubject {
  const Conform *run;
  const char *stack; /* the whole one, or its backend alone */
  BurnDevice *device;
  const BurnBackend *backend;       /* at the bottom of the device */
  const BurnDeviceInterface *table; /* its "burn.device"; NULL: it has none */
  void *self;                       /* of the table */
  const char *skip;                 /* a case that has nothing to check says why */
} AsyncSubject;

/* Opens `stack`, which outlives the subject. NULL, or what is wrong; close whatever it returns. */
const char *async_open(const Conform *run, const char *stack, AsyncSubject *out);
void async_close(AsyncSubject *subject);

/* One case: NULL, or what is wrong, in a text that lasts until the thread's next async_fault. */
typedef struct AsyncCase {
  const char *what;
  const char *(*run)(AsyncSubject *subject);
} AsyncCase;
extern const AsyncCase async_stack_cases[], async_device_cases[];
extern const uint32_t async_stack_case_count, async_device_case_count;

/* Cases of async_describe.c. */
const char *async_table_is_complete(AsyncSubject *subject);
const char *async_describes_itself(AsyncSubject *subject);

const char *async_fault(const char *format, ...) BURN_PRINTF(1, 2);
/* NULL for BURN_OK, else a fault that says what failed. */
const char *async_failed(BurnStatus status, const char *what);

/* ASYNC_COUNT floats sign * first, sign * (first + 1), ..; async_tensor makes them as the result of an op. */
void async_fill(float *values, int first, int sign);
BurnTensor *async_tensor(BurnDevice *device, int first);
/* NULL, or a fault that names the first element that is another one. */
const char *async_compare(const float *found, int first, int sign, const char *what);
/* Fills a place for values with what nobody computes. */
void async_noise(float *values);

/* Runs the cases on some threads at once, each several times. */
const char *async_on_threads(const AsyncSubject *subject, const AsyncCase *cases, uint32_t count);

/* The op that fails late (Conform.fails): runs a sample of it on the device; its first result in `out`. NULL, or what
 * is wrong: it has no sample, or it is refused at once. */
const char *async_run_failing(const AsyncSubject *subject, BurnTensor **out);
/* NULL if the status is a failure whose message names the op that failed late. */
const char *async_names_op(const AsyncSubject *subject, BurnStatus status, const char *verb);

#endif
