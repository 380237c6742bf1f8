/* recorder_plugin.c - a decorator that keeps the calls that pass through it, with their tensors, for whoever asks for
 * its interface burn.recorder (burn/plugin/recorder.h). Until then it only passes them on. */
#include <burn/common/descriptor.h>
#include <burn/common/failure.h>
#include <burn/plugin/pass_on.h>
#include <burn/plugin/recorder.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* A call in a block of its own: this, then its arrays. */
typedef struct Recorded {
  BurnOpCall call;
  uint64_t bytes; /* of the block */
} Recorded;

typedef struct Recorder {
  const BurnHost *host;
  const BurnBackend *next; /* the level below */
  atomic_bool recording;
  pthread_mutex_t mutex; /* of all below */
  bool failed;           /* a call could not be kept */
  Recorded **calls;
  uint64_t count, capacity;
  bool wanted[BURN_OP_LIMIT]; /* composite ops that are recorded as one; written while nothing records */
  char name[64];
} Recorder;

/* -- a call as a block ------------------------------------------------------------------------- */

static uint64_t numbers_of(const BurnOpCall *call) {
  uint64_t count = 0;
  for (uint32_t i = 0; i < call->attr_count; i++) count += call->attrs[i].count;
  return count;
}

static uint64_t block_bytes(const BurnOpCall *call) {
  return sizeof(Recorded) + (call->input_count + call->output_count) * sizeof(BurnPrimitive *) +
         call->output_count * sizeof(BurnTensorDesc) + call->attr_count * sizeof(BurnAttr) +
         numbers_of(call) * sizeof(int64_t);
}

/* Attributes with the lists that they point to. */
static void copy_attrs(const BurnOpCall *call, BurnAttr *attrs, int64_t *numbers) {
  for (uint32_t i = 0; i < call->attr_count; i++) {
    attrs[i] = call->attrs[i];
    if (attrs[i].tag != BURN_ATTR_I64S || attrs[i].count == 0) continue;
    memcpy(numbers, call->attrs[i].value.i64s, attrs[i].count * sizeof *numbers);
    attrs[i].value.i64s = numbers;
    numbers += attrs[i].count;
  }
}

/* A copy of a call that has run, which holds its tensors; NULL without memory. All parts have the alignment of 8. */
static Recorded *recorded_of(const Recorder *recorder, const BurnOpCall *call) {
  const BurnBackend *next = recorder->next;
  const uint64_t bytes = block_bytes(call);
  Recorded *mine = recorder->host->allocate(bytes);
  if (!mine) return NULL;
  BurnPrimitive **inputs = (BurnPrimitive **)(void *)(mine + 1), **outputs = inputs + call->input_count;
  BurnTensorDesc *descs = (BurnTensorDesc *)(void *)(outputs + call->output_count);
  BurnAttr *attrs = (BurnAttr *)(void *)(descs + call->output_count);
  *mine = (Recorded){.call = burn_call_copy(call), .bytes = bytes};
  for (uint32_t i = 0; i < call->input_count; i++) {
    inputs[i] = call->inputs[i];
    if (inputs[i]) next->retain(next->self, inputs[i]);
  }
  for (uint32_t i = 0; i < call->output_count; i++) {
    outputs[i] = call->outputs[i];
    descs[i] = burn_primitive_desc(outputs[i]);
    next->retain(next->self, outputs[i]);
  }
  copy_attrs(call, attrs, (int64_t *)(void *)(attrs + call->attr_count));
  mine->call.inputs = inputs;
  mine->call.outputs = outputs;
  mine->call.output_descs = descs;
  mine->call.attrs = attrs;
  mine->call.donate = 0;
  mine->call.next = NULL;
  return mine;
}

static void recorded_release(const Recorder *recorder, Recorded *recorded) {
  const BurnBackend *next = recorder->next;
  const BurnOpCall *call = &recorded->call;
  for (uint32_t i = 0; i < call->input_count; i++) next->release(next->self, call->inputs[i]);
  for (uint32_t i = 0; i < call->output_count; i++) next->release(next->self, call->outputs[i]);
  recorder->host->free(recorded, recorded->bytes);
}

/* -- the list of them -------------------------------------------------------------------------- */

/* The mutex is held. */
static bool make_room(Recorder *recorder) {
  if (recorder->count < recorder->capacity) return true;
  const uint64_t capacity = recorder->capacity ? 2 * recorder->capacity : 256;
  Recorded **calls = recorder->host->allocate(capacity * sizeof *calls);
  if (!calls) return false;
  if (recorder->count) memcpy(calls, recorder->calls, recorder->count * sizeof *calls);
  recorder->host->free(recorder->calls, recorder->capacity * sizeof *calls);
  recorder->calls = calls;
  recorder->capacity = capacity;
  return true;
}

/* A call of another thread may return when the recording has ended: nobody expects it any more. */
static void keep(Recorder *recorder, const BurnOpCall *call) {
  pthread_mutex_lock(&recorder->mutex);
  const bool expected = atomic_load(&recorder->recording);
  Recorded *recorded = expected && make_room(recorder) ? recorded_of(recorder, call) : NULL;
  if (recorded) recorder->calls[recorder->count++] = recorded;
  if (expected && !recorded) recorder->failed = true;
  pthread_mutex_unlock(&recorder->mutex);
}

/* The mutex is held. */
static void forget_all(Recorder *recorder) {
  for (uint64_t i = 0; i < recorder->count; i++) recorded_release(recorder, recorder->calls[i]);
  recorder->count = 0;
  recorder->failed = false;
}

/* -- burn.recorder ----------------------------------------------------------------------------- */

static BurnStatus BURN_API_CALL recorder_begin(void *self, const uint32_t *ops, uint64_t op_count) {
  Recorder *recorder = self;
  if (atomic_load(&recorder->recording))
    return BURN_COMMON_FAIL(recorder->host, FAILED_PRECONDITION, "recorder", "it records already; end that first");
  pthread_mutex_lock(&recorder->mutex);
  forget_all(recorder);
  memset(recorder->wanted, 0, sizeof recorder->wanted);
  for (uint64_t i = 0; i < op_count; i++) {
    if (ops[i] < BURN_OP_LIMIT) recorder->wanted[ops[i]] = true;
  }
  pthread_mutex_unlock(&recorder->mutex);
  atomic_store(&recorder->recording, true);
  return BURN_OK;
}

static BurnStatus BURN_API_CALL recorder_end(void *self) {
  Recorder *recorder = self;
  pthread_mutex_lock(&recorder->mutex); /* no call is being kept then, or will be */
  const bool was_recording = atomic_exchange(&recorder->recording, false), failed = recorder->failed;
  pthread_mutex_unlock(&recorder->mutex);
  if (!was_recording)
    return BURN_COMMON_FAIL(recorder->host, FAILED_PRECONDITION, "recorder", "nothing was begun that could be ended");
  if (failed) return BURN_COMMON_FAIL(recorder->host, OUT_OF_MEMORY, "recorder", "no memory for a call");
  return BURN_OK;
}

static uint64_t BURN_API_CALL recorder_count(void *self) { return ((const Recorder *)self)->count; }

static const BurnOpCall *BURN_API_CALL recorder_call(void *self, uint64_t index) {
  const Recorder *recorder = self;
  return index < recorder->count ? &recorder->calls[index]->call : NULL;
}

static void BURN_API_CALL recorder_forget(void *self) {
  Recorder *recorder = self;
  pthread_mutex_lock(&recorder->mutex);
  forget_all(recorder);
  pthread_mutex_unlock(&recorder->mutex);
}

static const BurnRecorderInterface recorder_interface = {
    .struct_size = sizeof(BurnRecorderInterface),
    .version = 1,
    .begin = recorder_begin,
    .end = recorder_end,
    .count = recorder_count,
    .call = recorder_call,
    .forget = recorder_forget,
};

/* -- the table --------------------------------------------------------------------------------- */

/* What a composite op becomes depends on whether somebody records. */
static uint32_t BURN_API_CALL recorder_op_support(void *self, uint32_t op) {
  const Recorder *recorder = self;
  const BurnOpInfo *info = recorder->host->op_info(op);
  if (info && info->is_composite && op < BURN_OP_LIMIT) return BURN_SUPPORT_ASK;
  return recorder->next->op_support(recorder->next->self, op);
}

static int32_t BURN_API_CALL recorder_supports(void *self, const BurnOpCall *call, char *why, uint64_t why_bytes) {
  const Recorder *recorder = self;
  const BurnBackend *next = recorder->next;
  if (call->op < BURN_OP_LIMIT && atomic_load(&recorder->recording)) {
    if (recorder->wanted[call->op]) return 1;
    const BurnOpInfo *info = recorder->host->op_info(call->op);
    if (info && info->is_composite) {
      (void)snprintf(why, (size_t)why_bytes, "it is recorded as its parts");
      return 0;
    }
  }
  const uint32_t support = next->op_support(next->self, call->op);
  if (support != BURN_SUPPORT_ASK) return support == BURN_SUPPORT_YES;
  return next->supports(next->self, call, why, why_bytes);
}

static BurnStatus BURN_API_CALL recorder_submit(void *self, const BurnOpCall *call) {
  Recorder *recorder = self;
  if (!atomic_load(&recorder->recording)) return recorder->host->invoke(recorder->next, call);
  BurnOpCall kept = burn_call_copy(call);
  kept.donate = 0; /* its inputs stay as they are */
  const BurnStatus status = recorder->host->invoke(recorder->next, &kept);
  if (status == BURN_OK) keep(recorder, &kept);
  return status;
}

/* Ops that run past submit would not be recorded. Every other name is the level below's to answer. */
static int32_t BURN_API_CALL recorder_get_interface(void *self, const char *name, uint32_t min_version,
                                                    BurnInterface *out) {
  const BurnBackend *next = ((Recorder *)self)->next;
  if (burn_runs_ops(name)) return 0;
  if (strcmp(name, BURN_RECORDER_INTERFACE) != 0) return next->get_interface(next->self, name, min_version, out);
  if (min_version > recorder_interface.version) return 0;
  *out = (BurnInterface){&recorder_interface, self};
  return 1;
}

static void BURN_API_CALL recorder_close(void *self) {
  Recorder *recorder = self;
  forget_all(recorder);
  recorder->host->free(recorder->calls, recorder->capacity * sizeof *recorder->calls);
  pthread_mutex_destroy(&recorder->mutex);
  recorder->host->free(recorder, sizeof *recorder);
}

static BurnStatus BURN_API_CALL recorder_open(const BurnHost *host, const BurnBackend *next, const BurnOptions *options,
                                              uint32_t owner, BurnBackend *out) {
  (void)options; /* there are none */
  (void)owner;   /* tensors stay those of the decorator below */
  const BurnStatus checked = burn_plugin_check_open(host, out, "recorder");
  if (checked != BURN_OK) return checked;
  Recorder *recorder = host->allocate(sizeof *recorder);
  if (!recorder) return BURN_COMMON_FAIL(host, OUT_OF_MEMORY, "recorder", "no memory");
  memset(recorder, 0, sizeof *recorder);
  recorder->host = host;
  recorder->next = next;
  atomic_init(&recorder->recording, false);
  pthread_mutex_init(&recorder->mutex, NULL);
  (void)snprintf(recorder->name, sizeof recorder->name, "recorder on %s", next->name);
  out->self = recorder; /* what is left out here is done by the level below */
  out->name = recorder->name;
  out->close = recorder_close;
  out->op_support = recorder_op_support;
  out->supports = recorder_supports;
  out->submit = recorder_submit;
  out->get_interface = recorder_get_interface;
  return BURN_OK;
}

static const BurnDecoratorInterface decorator = {
    .struct_size = sizeof(BurnDecoratorInterface),
    .version = 1,
    .wraps_tensors = 0,
    .open = recorder_open,
};

BURN_COMMON_PLUGIN(DECORATOR, "recorder", "0.1.0", "MIT OR Apache-2.0",
                   "keeps the calls that pass, with their tensors, for whoever writes them down",
                   {"burn.decorator", &decorator})
