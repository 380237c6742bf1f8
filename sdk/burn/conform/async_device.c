/* async_device.c - cases of the check "async" on a backend alone, through its interface "burn.device": reads, uploads,
 * copies and events. async_describe.c has those about what the device says of itself. */
#include "async.h"

#include <stdlib.h>
#include <string.h>

enum { FLIGHTS = 8 };

/* -- reads in flight -------------------------------------------------------------------------- */

/* A read that was started: values arrive in `values`, which are noise before. */
typedef struct Flight {
  const AsyncSubject *subject;
  float *values;
  BurnEvent *done;
  BurnStatus status;
} Flight;

/* x stays. End the flight whatever became of it. */
static Flight flight_start(const AsyncSubject *s, const BurnTensor *x) {
  Flight flight = {.subject = s, .values = malloc(ASYNC_BYTES), .status = BURN_STATUS_OUT_OF_MEMORY};
  if (!flight.values) return flight;
  async_noise(flight.values);
  BurnPrimitive *primitive = burn_tensor_primitive(x);
  flight.status = primitive ? s->table->read_async(s->self, primitive, flight.values, ASYNC_BYTES, &flight.done)
                            : burn_tensor_status(x);
  return flight;
}

/* NULL if the read was started and its wait is good. */
static const char *flight_wait(const Flight *flight) {
  const AsyncSubject *s = flight->subject;
  if (flight->status != BURN_OK) return async_failed(flight->status, "read_async");
  if (!flight->done) return async_fault("read_async gives BURN_OK and no event");
  return async_failed(s->table->event_wait(s->self, flight->done), "event_wait");
}

static const char *flight_arrives(const Flight *flight, int first, int sign, const char *what) {
  const char *wrong = flight_wait(flight);
  return wrong ? wrong : async_compare(flight->values, first, sign, what);
}

/* Syncs, as the wait may be what is wrong: memory that the device may write is not freed. */
static void flight_end(Flight *flight) {
  const AsyncSubject *s = flight->subject;
  const BurnStatus ended = burn_device_sync(s->device);
  (void)ended;
  if (flight->done) s->table->event_release(s->self, flight->done);
  free(flight->values);
  *flight = (Flight){.subject = s};
}

/* The event is done within the patience of the run, by event_query alone. */
static const char *query_until_done(const AsyncSubject *s, BurnEvent *event) {
  const double patience = (double)s->run->timeout / 2, end = system_seconds() + patience;
  int32_t done = -77;
  do {
    const char *wrong = async_failed(s->table->event_query(s->self, event, &done), "event_query");
    if (wrong) return wrong;
    if (done != 0 && done != 1) return async_fault("event_query sets *done to %d, not to 0 or 1", done);
  } while (!done && system_seconds() < end);
  return done ? NULL : async_fault("event_query says not done for %.1f s, though nothing else runs", patience);
}

/* Done once is done for good. */
static const char *stays_done(const AsyncSubject *s, BurnEvent *event, const char *when) {
  int32_t done = -77;
  const char *wrong = async_failed(s->table->event_query(s->self, event, &done), "event_query");
  return wrong || done == 1 ? wrong : async_fault("event_query sets *done to %d %s, not to 1", done, when);
}

static const char *read_before_later_work(AsyncSubject *s) {
  BurnTensor *x = async_tensor(s->device, 1);
  Flight before = flight_start(s, x);
  x = burn_neg(x); /* in place where the backend can */
  Flight after = flight_start(s, x);
  burn_drop(x);
  const char *wrong = flight_arrives(&before, 1, 1, "a read_async that was called before neg of the same tensor");
  if (!wrong) wrong = flight_arrives(&after, 1, -1, "the read_async after neg");
  flight_end(&before);
  flight_end(&after);
  return wrong;
}

/* After the wait for the last read the ones before are done, too: there is one queue. Then waits in some order. */
static const char *check_order(const AsyncSubject *s, Flight *flights) {
  const char *wrong = flight_wait(&flights[FLIGHTS - 1]);
  for (int i = 0; i < FLIGHTS && !wrong; i++) {
    const int one = (i * 5 + 6) % FLIGHTS;
    if (flights[one].status != BURN_OK) return async_failed(flights[one].status, "read_async");
    wrong = stays_done(s, flights[one].done, "for an event before one that was waited for");
    if (!wrong && one < FLIGHTS - 1) wrong = flight_wait(&flights[one]);
    if (!wrong) wrong = async_compare(flights[one].values, 1 + one * 1000, 1, "one of several reads in flight");
    if (wrong) wrong = async_fault("read %d of %d, waited for as number %d: %s", one, FLIGHTS, i + 1, wrong);
  }
  return wrong;
}

static const char *waits_out_of_order(AsyncSubject *s) {
  Flight flights[FLIGHTS];
  for (int i = 0; i < FLIGHTS; i++) {
    BurnTensor *x = async_tensor(s->device, 1 + i * 1000);
    flights[i] = flight_start(s, x);
    burn_drop(x);
  }
  const char *wrong = check_order(s, flights);
  for (int i = 0; i < FLIGHTS; i++) flight_end(&flights[i]);
  return wrong;
}

static const char *query_until_there(AsyncSubject *s) {
  BurnTensor *x = async_tensor(s->device, 1);
  Flight flight = flight_start(s, x);
  burn_drop(x);
  const char *wrong = flight.status == BURN_OK ? query_until_done(s, flight.done) : flight_wait(&flight);
  if (!wrong) wrong = async_compare(flight.values, 1, 1, "event_query says that the read is done");
  if (!wrong) wrong = stays_done(s, flight.done, "the second time");
  flight_end(&flight);
  return wrong;
}

static const char *wait_twice(AsyncSubject *s) {
  BurnTensor *x = async_tensor(s->device, 1);
  Flight flight = flight_start(s, x);
  burn_drop(x);
  const char *wrong = flight_arrives(&flight, 1, 1, "after event_wait");
  if (!wrong) {
    wrong = flight_wait(&flight);
    if (wrong) wrong = async_fault("the second time %s", wrong);
  }
  if (!wrong) wrong = stays_done(s, flight.done, "after event_wait");
  flight_end(&flight);
  return wrong;
}

static const char *released_in_flight(AsyncSubject *s) {
  BurnTensor *x = async_tensor(s->device, 1);
  Flight flight = flight_start(s, x);
  burn_drop(x);
  for (int i = 0; i < FLIGHTS; i++) burn_drop(async_tensor(s->device, 5000 + i));
  const char *wrong = flight_arrives(&flight, 1, 1, "a read whose tensor was released, with eight more made after it");
  flight_end(&flight);
  return wrong;
}

/* -- events ----------------------------------------------------------------------------------- */

static const char *recorded_events(AsyncSubject *s) {
  BurnEvent *event = NULL;
  BurnTensor *x = async_tensor(s->device, 1);
  Flight flight = flight_start(s, x);
  burn_drop(x);
  const char *wrong = async_failed(s->table->event_record(s->self, &event), "event_record");
  if (!wrong && !event) wrong = async_fault("event_record gives BURN_OK and no event");
  if (!wrong) wrong = async_failed(s->table->event_wait(s->self, event), "event_wait");
  if (!wrong) wrong = async_compare(flight.values, 1, 1, "after the wait for an event recorded after the read");
  s->table->event_release(s->self, event);
  flight_end(&flight);
  return wrong;
}

/* Events that end before their work does: the work goes on. */
static const char *released_events(AsyncSubject *s) {
  float values[ASYNC_COUNT];
  s->table->event_release(s->self, NULL);
  BurnTensor *x = async_tensor(s->device, 1);
  Flight flight = flight_start(s, x);
  burn_drop(x);
  if (flight.status != BURN_OK) return flight_wait(&flight);
  s->table->event_release(s->self, flight.done);
  flight.done = NULL;
  const char *wrong = async_failed(burn_device_sync(s->device), "sync");
  memcpy(values, flight.values, sizeof values);
  flight_end(&flight);
  return wrong ? wrong : async_compare(values, 1, 1, "a read whose event was released at once, after sync");
}

/* A table that is shorter has neither of the two. */
static bool has_times(const BurnDeviceInterface *table) {
  return BURN_HAS(table, BurnDeviceInterface, event_elapsed) && (table->timed_event_record || table->event_elapsed);
}

/* From an event to itself there is no time, to one behind work no more than the host has seen. */
static const char *timed_events(AsyncSubject *s) {
  BurnEvent *events[2] = {NULL, NULL};
  double seconds = -1, none = -1;
  if (!has_times(s->table)) s->skip = "the backend keeps no times of events";
  if (s->skip) return NULL;
  if (!s->table->timed_event_record || !s->table->event_elapsed)
    return async_fault("only one of timed_event_record and event_elapsed is there");
  const double begin = system_seconds();
  const char *wrong = async_failed(s->table->timed_event_record(s->self, &events[0]), "timed_event_record");
  burn_drop(async_tensor(s->device, 1));
  if (!wrong) wrong = async_failed(s->table->timed_event_record(s->self, &events[1]), "timed_event_record");
  if (!wrong && (!events[0] || !events[1])) wrong = async_fault("timed_event_record gives BURN_OK and no event");
  if (!wrong) wrong = async_failed(s->table->event_wait(s->self, events[1]), "event_wait");
  const double most = system_seconds() - begin;
  if (!wrong) wrong = async_failed(s->table->event_elapsed(s->self, events[0], events[1], &seconds), "event_elapsed");
  if (!wrong) wrong = async_failed(s->table->event_elapsed(s->self, events[0], events[0], &none), "event_elapsed");
  if (!wrong && !(seconds >= 0 && seconds < 2 * most + 0.01))
    wrong = async_fault("event_elapsed gives %g s; the host's clock %g", seconds, most);
  if (!wrong && none != 0) wrong = async_fault("event_elapsed of an event and itself gives %g s", none);
  for (int i = 0; i < 2; i++) s->table->event_release(s->self, events[i]);
  return wrong;
}

/* -- uploads ---------------------------------------------------------------------------------- */

/* Waits for an upload and overwrites its data. */
static const char *end_upload(const AsyncSubject *s, BurnEvent *done, float *data) {
  if (!done) return async_fault("it gives BURN_OK and no event");
  const char *wrong = async_failed(s->table->event_wait(s->self, done), "event_wait");
  s->table->event_release(s->self, done);
  async_noise(data);
  return wrong;
}

/* Takes x. */
static const char *has_values(BurnTensor *x, int first, int sign, const char *what) {
  float values[ASYNC_COUNT];
  async_noise(values);
  const BurnStatus status = burn_read_f32(x, values, ASYNC_COUNT);
  return status == BURN_OK ? async_compare(values, first, sign, what) : async_failed(status, what);
}

static const BurnTensorDesc desc = {.dtype = BURN_DTYPE_F32, .rank = 1, .shape = {ASYNC_COUNT}};

static const char *create_from(const AsyncSubject *s, float *data, int first) {
  BurnPrimitive *x = NULL;
  BurnEvent *done = NULL;
  async_fill(data, first, 1);
  const BurnStatus status = s->table->create_async(s->self, &desc, data, &x, &done);
  if (status != BURN_OK) return async_failed(status, "create_async");
  if (!x) return async_fault("create_async gives BURN_OK and no tensor");
  BurnTensor *tensor = burn_neg(burn_tensor_from_primitive(s->device, x)); /* used before the copy is done */
  const char *wrong = end_upload(s, done, data);
  if (!wrong) return has_values(tensor, first, -1, "neg of a create_async whose data was overwritten after its event");
  burn_drop(tensor);
  return wrong;
}

static const char *data_after_event(AsyncSubject *s) {
  float *data = malloc(ASYNC_BYTES);
  if (!data) return async_fault("no memory for the data");
  const char *wrong = NULL;
  for (int i = 0; i < 4 && !wrong; i++) wrong = create_from(s, data, 1 + i * 1000);
  const BurnStatus ended = burn_device_sync(s->device); /* the event may be what is wrong */
  (void)ended;
  free(data);
  return wrong;
}

static const char *staging_memory(AsyncSubject *s) {
  static const uint64_t sizes[] = {1, 4097, ASYNC_BYTES};
  if (!s->table->staging_allocate && !s->table->staging_free) s->skip = "the backend has no staging memory of its own";
  if (s->skip) return NULL;
  if (!s->table->staging_allocate || !s->table->staging_free)
    return async_fault("only one of staging_allocate and staging_free is there");
  const char *wrong = NULL;
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0] && !wrong; i++) {
    void *memory = NULL;
    wrong = async_failed(s->table->staging_allocate(s->self, sizes[i], &memory), "staging_allocate");
    if (!wrong && !memory) wrong = async_fault("staging_allocate gives BURN_OK and no memory");
    if (wrong) return wrong;
    memset(memory, 0x5a, (size_t)sizes[i]);
    if (sizes[i] == ASYNC_BYTES) wrong = create_from(s, memory, 1);
    s->table->staging_free(s->self, memory, sizes[i]);
  }
  return wrong;
}

/* -- write_async ------------------------------------------------------------------------------ */

static const void *address_of(const AsyncSubject *s, const BurnTensor *x) {
  BurnNativeMemory memory = {.struct_size = sizeof memory};
  if (!s->table->native_memory || s->table->native_memory(s->self, burn_tensor_primitive(x), &memory) != BURN_OK)
    return NULL;
  return (const char *)memory.handle + memory.byte_offset;
}

static BurnStatus write_values(const AsyncSubject *s, const BurnTensor *x, int first, const char **wrong) {
  float *data = malloc(ASYNC_BYTES);
  BurnEvent *done = NULL;
  if (!data) return BURN_STATUS_OUT_OF_MEMORY;
  async_fill(data, first, 1);
  const BurnStatus status = s->table->write_async(s->self, burn_tensor_primitive(x), data, ASYNC_BYTES, &done);
  if (status == BURN_OK) *wrong = end_upload(s, done, data);
  free(data);
  return status;
}

/* Somebody else has a reference of the very tensor: refused, and nothing is written. */
static const char *write_shared(const AsyncSubject *s) {
  const char *wrong = NULL;
  BurnTensor *x = async_tensor(s->device, 1);
  BurnPrimitive *primitive = burn_tensor_primitive(x);
  if (!primitive) return async_failed(burn_tensor_status(x), "neg");
  s->backend->retain(s->backend->self, primitive);
  const BurnStatus status = write_values(s, x, 7000, &wrong);
  if (!wrong && burn_status_code(status) != BURN_STATUS_FAILED_PRECONDITION)
    wrong = async_fault("write_async into a tensor with two references gives %u, not FAILED_PRECONDITION (%u)",
                        burn_status_code(status), BURN_STATUS_FAILED_PRECONDITION);
  s->backend->release(s->backend->self, primitive);
  if (!wrong) return has_values(x, 1, 1, "a tensor after a write_async that was refused");
  burn_drop(x);
  return wrong;
}

/* A view may have storage of its own; its values stay in any case. */
static const char *write_under_view(const AsyncSubject *s) {
  const char *wrong = NULL;
  BurnTensor *x = async_tensor(s->device, 1), *view = burn_reshape(burn_clone(x), BURN_SHAPE(2, ASYNC_COUNT / 2));
  const BurnStatus status = write_values(s, x, 7000, &wrong);
  burn_drop(x);
  if (!wrong && status != BURN_OK && burn_status_code(status) != BURN_STATUS_FAILED_PRECONDITION)
    wrong = async_failed(status, "write_async into a tensor with a view");
  if (!wrong) return has_values(view, 1, 1, "a view of a tensor that write_async was called for");
  burn_drop(view);
  return wrong;
}

static const char *write_alone(const AsyncSubject *s) {
  const char *wrong = NULL;
  BurnTensor *x = async_tensor(s->device, 1);
  const void *before = address_of(s, x);
  const BurnStatus status = write_values(s, x, 7000, &wrong);
  if (status != BURN_OK) wrong = async_failed(status, "write_async into a tensor with one reference");
  const void *after = address_of(s, x);
  if (!wrong && before != after)
    wrong = async_fault("write_async moves the elements from %p to %p: the address must stay", before, after);
  if (!wrong) return has_values(x, 7000, 1, "a tensor after write_async, its data overwritten after the event");
  burn_drop(x);
  return wrong;
}

static const char *writes(AsyncSubject *s) {
  s->skip = s->table->write_async ? NULL : "the backend has no write_async";
  if (s->skip) return NULL;
  const char *wrong = write_shared(s);
  if (!wrong) wrong = write_under_view(s);
  return wrong ? wrong : write_alone(s);
}

/* -- copy_from -------------------------------------------------------------------------------- */

/* A tensor of s on the other instance, while the work that makes it is in the queue of s. */
static const char *copy_to(AsyncSubject *s, const AsyncSubject *other) {
  BurnPrimitive *out = NULL;
  BurnTensor *x = async_tensor(s->device, 1);
  if (!burn_tensor_primitive(x)) return async_failed(burn_tensor_status(x), "neg");
  const BurnStatus status = other->table->copy_from(other->self, s->backend, burn_tensor_primitive(x), &out);
  burn_drop(burn_neg(x)); /* in place where the backend can */
  if (burn_status_code(status) == BURN_STATUS_UNIMPLEMENTED)
    s->skip = "copy_from answers UNIMPLEMENTED for two instances of this device";
  if (status != BURN_OK) return s->skip ? NULL : async_failed(status, "copy_from");
  if (!out) return async_fault("copy_from gives BURN_OK and no tensor");
  return has_values(burn_tensor_from_primitive(other->device, out), 1, 1, "copy_from, with neg of its source after it");
}

static const char *copies(AsyncSubject *s) {
  AsyncSubject other;
  s->skip = s->table->copy_from ? NULL : "the backend has no copy_from";
  if (s->skip) return NULL;
  const char *wrong = async_open(s->run, s->stack, &other);
  if (!wrong) wrong = copy_to(s, &other);
  async_close(&other);
  return wrong;
}

/* -- threads, failures ------------------------------------------------------------------------ */

static const AsyncCase threaded[] = {
    {"", read_before_later_work}, {"", waits_out_of_order}, {"", query_until_there}, {"", data_after_event}};

static const char *two_threads(AsyncSubject *s) {
  return async_on_threads(s, threaded, sizeof threaded / sizeof threaded[0]);
}

static const char *failure_at_event(AsyncSubject *s) {
  BurnTensor *x = NULL;
  BurnEvent *event = NULL;
  s->skip = s->run->fails ? NULL : "no op is known whose work fails late; --fails names one";
  const char *wrong = s->skip ? NULL : async_run_failing(s, &x);
  if (s->skip || wrong) return wrong;
  BurnStatus status = s->table->event_record(s->self, &event); /* may tell already */
  if (status == BURN_OK) status = s->table->event_wait(s->self, event);
  wrong = async_names_op(s, status, "event_wait");
  s->table->event_release(s->self, event);
  burn_drop(x);
  const BurnStatus again = burn_device_sync(s->device); /* may tell the same cause */
  (void)again;
  return wrong;
}

const AsyncCase async_device_cases[] = {
    {"the table is complete", async_table_is_complete},
    {"the device describes itself", async_describes_itself},
    {"read_async sees the values of its moment", read_before_later_work},
    {"several reads, waited for out of order", waits_out_of_order},
    {"event_query until the read is done", query_until_there},
    {"event_wait twice", wait_twice},
    {"a tensor is released while its read is in flight", released_in_flight},
    {"event_record after a read", recorded_events},
    {"event_release of NULL and of events that are not done", released_events},
    {"the time between two events", timed_events},
    {"create_async needs its data until its event, not longer", data_after_event},
    {"staging memory", staging_memory},
    {"write_async into shared and into own storage", writes},
    {"copy_from another instance", copies},
    {"two threads", two_threads},
    {"a failure of late work comes at an event", failure_at_event},
};
const uint32_t async_device_case_count = sizeof async_device_cases / sizeof async_device_cases[0];
