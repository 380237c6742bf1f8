/* async.c - the check "async": its cases, what they share, and results of ops that are read while others run. */
#include "async.h"

#include <burn/transfer.h>

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { THREADS = 2, ROUNDS = 4, OP_SAMPLES = 2, OP_SAMPLES_FULL = 6 };
static const float noise = -777.25f;

/* -- what cases share ------------------------------------------------------------------------- */

static _Thread_local char fault[600];

const char *async_fault(const char *format, ...) {
  char text[sizeof fault]; /* a part of it may be the fault before */
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  memcpy(fault, text, sizeof fault);
  return fault;
}

const char *async_failed(BurnStatus status, const char *what) {
  return status == BURN_OK ? NULL : async_fault("%s fails: %s", what, burn_status_message(status));
}

void async_fill(float *values, int first, int sign) {
  for (int i = 0; i < ASYNC_COUNT; i++) values[i] = (float)(sign * (first + i));
}

void async_noise(float *values) {
  for (int i = 0; i < ASYNC_COUNT; i++) values[i] = noise;
}

BurnTensor *async_tensor(BurnDevice *device, int first) {
  float values[ASYNC_COUNT];
  async_fill(values, first, -1);
  return burn_neg(burn_tensor_f32(device, values, BURN_SHAPE(ASYNC_COUNT)));
}

const char *async_compare(const float *found, int first, int sign, const char *what) {
  for (int i = 0; i < ASYNC_COUNT; i++) {
    const float expected = (float)(sign * (first + i));
    if (found[i] == expected) continue;
    return async_fault("%s: element %d is %g, not %g%s", what, i, (double)found[i], (double)expected,
                       found[i] == noise ? " (nothing was written there yet)" : "");
  }
  return NULL;
}

/* -- subjects --------------------------------------------------------------------------------- */

const char *async_open(const Conform *run, const char *stack, AsyncSubject *out) {
  *out = (AsyncSubject){.run = run, .stack = stack, .device = burn_device_open(stack)};
  const BurnStatus status = burn_device_status(out->device);
  if (status != BURN_OK) return async_fault("'%s' cannot be opened: %s", stack, burn_status_message(status));
  const BurnBackend *below = burn_device_backend(out->device);
  while (below) {
    out->backend = below;
    below = burn_backend_below(below);
  }
  BurnInterface found = {NULL, NULL};
  if (!out->backend->get_interface(out->backend->self, BURN_DEVICE_INTERFACE_NAME, 1, &found)) return NULL;
  out->table = found.table;
  out->self = found.self;
  if (out->table && out->table->struct_size >= BURN_DEVICE_INTERFACE_MIN_BYTES) return NULL;
  return async_fault("the table of burn.device has a struct_size of %u, version 1 has %zu",
                     out->table ? out->table->struct_size : 0, (size_t)BURN_DEVICE_INTERFACE_MIN_BYTES);
}

void async_close(AsyncSubject *subject) {
  burn_device_close(subject->device);
  subject->device = NULL;
}

/* -- threads ---------------------------------------------------------------------------------- */

typedef struct Worker {
  AsyncSubject subject;
  const AsyncCase *cases;
  uint32_t count;
  pthread_t thread;
  bool started;
  char wrong[sizeof fault];
} Worker;

static void *work(void *context) {
  Worker *worker = context;
  for (uint32_t i = 0; i < ROUNDS * worker->count && !worker->wrong[0]; i++) {
    const AsyncCase *one = &worker->cases[i % worker->count];
    report_beat();
    const char *wrong = one->run(&worker->subject);
    if (wrong) snprintf(worker->wrong, sizeof worker->wrong, "with %d threads at once: %s", THREADS, wrong);
  }
  return NULL;
}

const char *async_on_threads(const AsyncSubject *subject, const AsyncCase *cases, uint32_t count) {
  Worker workers[THREADS];
  for (uint32_t i = 0; i < THREADS; i++) {
    workers[i] = (Worker){.subject = *subject, .cases = cases, .count = count};
    workers[i].started = pthread_create(&workers[i].thread, NULL, work, &workers[i]) == 0;
  }
  const char *wrong = NULL;
  for (uint32_t i = 0; i < THREADS; i++) {
    if (workers[i].started) pthread_join(workers[i].thread, NULL);
    if (!workers[i].started) wrong = async_fault("no thread could be started");
    if (workers[i].wrong[0]) wrong = async_fault("%s", workers[i].wrong);
  }
  return wrong;
}

/* -- failures of late work -------------------------------------------------------------------- */

static void call_on_values(BurnDevice *device, const Sample *sample, void *const *data, BurnTensor **outputs) {
  BurnTensor *inputs[SAMPLE_MAX_INPUTS] = {NULL};
  for (uint32_t i = 0; i < sample->input_count; i++) inputs[i] = sample_tensor(device, sample, i, data[i]);
  sample_call(device, sample, inputs, outputs);
}

const char *async_run_failing(const AsyncSubject *subject, BurnTensor **out) {
  const Conform *run = subject->run;
  const SamplePlan plan = {SAMPLE_CORE, SAMPLE_BRIEF, run->seed, conform_dtypes(subject->device)};
  const BurnOpInfo *op = NULL;
  SampleIterator iterator;
  Sample sample;
  char why[256] = "there is no such op";
  void *data[SAMPLE_MAX_INPUTS] = {NULL};
  BurnTensor *outputs[BURN_MAX_OUTPUTS] = {NULL};
  if (burn_op_find(run->fails, &op) != BURN_OK) return async_fault("%s: %s", run->fails, why);
  samples_begin(&iterator, op, &plan);
  if (samples_next(&iterator, &sample, why, sizeof why) != SAMPLE_MADE || !sample_inputs(&sample, data))
    return async_fault("%s has no sample to run", run->fails);
  call_on_values(subject->device, &sample, data, outputs);
  sample_inputs_end(&sample, data);
  for (uint32_t i = 1; i < op->output_count; i++) burn_drop(outputs[i]);
  *out = outputs[0];
  return NULL;
}

const char *async_names_op(const AsyncSubject *subject, BurnStatus status, const char *verb) {
  const char *op = subject->run->fails;
  if (status == BURN_OK)
    return async_fault("the work of %s fails, but %s after it reports BURN_OK: the failure is lost", op, verb);
  const char *message = burn_status_message(status);
  return strstr(message, op) ? NULL
                             : async_fault("the work of %s fails, but the message of %s after it does not name it: %s",
                                           op, verb, message);
}

/* -- ops -------------------------------------------------------------------------------------- */

/* Takes outputs: all reads are started before the first one is finished. */
static const char *read_late(const Sample *sample, BurnTensor **outputs, Results *results) {
  BurnPendingRead *reads[BURN_MAX_OUTPUTS] = {NULL};
  const char *wrong = NULL;
  *results = (Results){.count = sample->op->output_count};
  for (uint32_t i = 0; i < results->count; i++) reads[i] = burn_read_start(outputs[i]);
  for (uint32_t i = results->count; i-- > 0;) {
    const BurnTensorDesc *desc = &sample->outputs[i];
    const size_t bytes = (size_t)burn_desc_count(desc) * burn_dtype_bytes(desc->dtype);
    results->descs[i] = *desc;
    results->data[i] = calloc(bytes + 1, 1);
    const BurnStatus status = results->data[i] ? burn_read_finish(reads[i], results->data[i], bytes) : BURN_OK;
    if (!results->data[i]) burn_read_drop(reads[i]);
    if (!results->data[i]) wrong = async_fault("no memory to read result %u", i);
    if (status != BURN_OK) wrong = async_fault("reading result %u later fails: %s", i, burn_status_message(status));
  }
  return wrong;
}

/* Results that are read later have the bits of those that are read at once. */
static void check_sample(Conform *run, const Sample *sample, void *const *data) {
  BurnTensor *outputs[BURN_MAX_OUTPUTS] = {NULL};
  Results plain = {0}, late = {0};
  char why[640] = "";
  if (!sample_run(conform_device(run), sample, data, RUN_SHARED, &plain, why, sizeof why)) {
    report_fail(run->report, "%s", why);
    return;
  }
  call_on_values(conform_device(run), sample, data, outputs);
  const char *wrong = read_late(sample, outputs, &late);
  if (!wrong && !results_are_same(&late, &plain, why, sizeof why))
    wrong = async_fault("read later, the result is another one than read at once: %s", why);
  if (wrong) {
    report_fail(run->report, "%s", wrong);
  } else {
    report_pass(run->report);
  }
  results_end(&plain);
  results_end(&late);
}

static void check_op(Conform *run, const BurnOpInfo *op) {
  const bool full = run->level == SAMPLE_FULL;
  const SamplePlan plan = {full ? SAMPLE_TRAIN : SAMPLE_CORE, SAMPLE_BRIEF, run->seed,
                           conform_dtypes(conform_device(run))};
  SampleIterator iterator;
  Sample sample;
  uint32_t taken = 0;
  samples_begin(&iterator, op, &plan);
  while (taken < (full ? OP_SAMPLES_FULL : OP_SAMPLES) && conform_next(run, CHECK_ASYNC, &iterator, &sample)) {
    if (sample.index % 5 != 0 && run->index < 0) continue; /* not only the tiniest */
    taken++;
    void *data[SAMPLE_MAX_INPUTS] = {NULL};
    report_begin_sample(run->report, CHECK_ASYNC, &sample);
    if (sample_inputs(&sample, data)) {
      check_sample(run, &sample, data);
    } else {
      report_fail(run->report, "no memory for the inputs");
    }
    sample_inputs_end(&sample, data);
  }
}

/* -- the check -------------------------------------------------------------------------------- */

/* The backend of a stack text, with its options. */
static const char *backend_text(const Conform *run) {
  static StackPart part;
  for (uint32_t i = 0; stack_part(run->stack, i, &part); i++) continue;
  return part.text;
}

/* Says in the report whether the interface or core's own way is tested. */
static void note_way(Conform *run, const AsyncSubject *subject) {
  snprintf(run->report->async_way, sizeof run->report->async_way,
           subject->table ? "the interface burn.device of %s" : "core's own way, as %s has no burn.device",
           subject->backend->name);
}

static const char *run_case(Conform *run, AsyncSubject *subject, const AsyncCase *one) {
  note_way(run, subject);
  const char *early = async_failed(burn_device_sync(subject->device), "sync before the case"); /* opening may run ops */
  if (early) return early;
  const int64_t before = burn_device_memory(subject->device).live_tensors;
  const char *wrong = one->run(subject);
  if (wrong || subject->skip) return wrong;
  wrong = async_failed(burn_device_sync(subject->device), "sync after the case");
  const int64_t left = burn_device_memory(subject->device).live_tensors;
  if (wrong || left == before) return wrong;
  return async_fault("%lld tensors of the backend are left over after everything was released",
                     (long long)(left - before));
}

static void check_case(Conform *run, uint32_t step) {
  const bool is_stack = step < async_stack_case_count;
  const AsyncCase *one = is_stack ? &async_stack_cases[step] : &async_device_cases[step - async_stack_case_count];
  char text[384];
  AsyncSubject subject;
  snprintf(text, sizeof text, "%s%s", is_stack ? "" : "burn.device: ", one->what);
  report_begin(run->report, CHECK_ASYNC, NULL, step, text);
  const char *wrong = async_open(run, is_stack ? run->stack : backend_text(run), &subject);
  if (!wrong && !is_stack && !subject.table) subject.skip = "the backend has no interface burn.device";
  if (!wrong && !subject.skip) wrong = run_case(run, &subject, one);
  if (wrong) {
    report_fail(run->report, "%s", wrong);
  } else if (subject.skip) {
    report_skip(run->report, "%s", subject.skip);
  } else {
    report_pass(run->report);
  }
  async_close(&subject);
}

uint32_t async_step_count(void) { return async_stack_case_count + async_device_case_count; }

void check_async(Conform *run, uint32_t part) {
  if (part < async_step_count()) {
    check_case(run, part);
  } else {
    check_op(run, conform_op(part - async_step_count()));
  }
}
