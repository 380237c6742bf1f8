/* ndarray_replay.c - "burn.replay": running what was recorded (ndarray_replay_record.c). A run calls the kernels that
 * were found then, one after the other, and keeps what they return by the numbers of the values. Results are ordinary
 * tensors of their run: nobody has to wait until they are dropped, and slots hold the tensor instead of a copy.
 *
 * A failure stops only what depends on it, as one by one; take reports it. */
#include "ndarray_recording.h"

#include <string.h>

/* -- values ----------------------------------------------------------------------------------- */

/* One reference less to a value. That of an input is not freed with the last: the next run uses it again. */
static void let_go(Ndarray *nd, NdTensor *x) {
  const bool is_input = x->storage->kind == ND_STORAGE_STAND_IN && &nd_ghost(x)->storage == x->storage;
  if (!is_input || atomic_load_explicit(&x->references, memory_order_relaxed) > 1) nd_release(nd, x);
}

static void let_value_go(NdRecording *r, uint32_t value) {
  if (r->now[value]) let_go(r->nd, r->now[value]);
  r->now[value] = NULL;
}

/* Memory that somebody else has, too, looks so to kernels. */
static void place_inputs(NdRecording *r) {
  for (uint32_t i = 0; i < r->inputs.count; i++) {
    NdGhost *ghost = r->inputs.items[i];
    atomic_store_explicit(&ghost->tensor.references, 1, memory_order_relaxed);
    atomic_store_explicit(&ghost->storage.references, ghost->is_sole ? 1 : 2, memory_order_relaxed);
    r->now[ghost->value] = &ghost->tensor;
  }
}

/* -- running ---------------------------------------------------------------------------------- */

static void fail(NdRecording *r, BurnStatus status) {
  if (r->failure == BURN_OK) r->failure = status;
}

/* False if an input has failed. */
static bool load_inputs(const NdRecording *r, NdRecordedCall *c, uint32_t count) {
  bool all = true;
  for (uint32_t i = 0; i < count; i++) {
    NdTensor *x = c->in[i] == ND_NO_VALUE ? NULL : r->now[c->in[i]];
    c->inputs[i] = x ? &x->header : NULL;
    all = all && (x || c->in[i] == ND_NO_VALUE);
  }
  return all;
}

static void store_outputs(NdRecording *r, NdRecordedCall *c, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    r->now[c->out[i]] = c->outputs[i] ? nd_tensor(c->outputs[i]) : NULL;
    c->outputs[i] = NULL;
  }
}

static void run_one(NdRecording *r, NdRecordedCall *c) {
  BurnStatus status = BURN_OK;
  const uint32_t outputs = c->body ? c->body->output_count : c->call.output_count;
  if (!load_inputs(r, c, c->body ? c->body->input_count : c->call.input_count)) return;
  if (c->body) {
    status = nd_fused_run(r->nd, &c->fused);
  } else {
    status = c->widens ? nd_run_widened(r->nd, c->kernel, &c->call) : c->kernel(r->nd, &c->call);
  }
  if (status == BURN_OK) store_outputs(r, c, outputs);
  if (status != BURN_OK) fail(r, status);
}

/* False if nothing has changed. */
static bool run_together(NdRecording *r, const NdEvent *event) {
  for (uint32_t i = 0; i < event->count; i++)
    if (!load_inputs(r, &event->calls[i], event->calls[i].call.input_count)) return false;
  if (nd_calls_interface.submit_many(r->nd, event->together, event->count) != BURN_OK) return false;
  for (uint32_t i = 0; i < event->count; i++) store_outputs(r, &event->calls[i], event->calls[i].call.output_count);
  return true;
}

static BurnStatus BURN_API_CALL run(void *self, BurnRecording *recording) {
  Ndarray *nd = self;
  NdRecording *r = nd_inside(recording);
  r->failure = BURN_OK;
  place_inputs(r);
  for (uint32_t i = 0; i < r->events.count; i++) {
    const NdEvent *event = &r->events.items[i];
    if (event->count == 0) let_value_go(r, event->value);
    if (event->count > 1 && run_together(r, event)) continue;
    for (uint32_t k = 0; k < event->count; k++) run_one(r, &event->calls[k]);
  }
  for (uint32_t i = 0; i < r->rest.count; i++) let_value_go(r, r->rest.items[i]);
  atomic_fetch_add_explicit(&nd->replay.runs, 1, memory_order_relaxed);
  return BURN_OK;
}

static BurnStatus BURN_API_CALL fill(void *self, BurnRecording *recording, uint32_t number, BurnPrimitive *x) {
  Ndarray *nd = self;
  NdRecording *r = nd_inside(recording);
  const NdSlot *slot = &r->slots.items[number];
  if (x->rank != slot->rank || memcmp(x->strides, slot->strides, x->rank * sizeof *slot->strides) != 0)
    return nd_fail(nd, BURN_STATUS_FAILED_PRECONDITION, "ndarray: fill: the tensor has other strides than the slot");
  nd_retain(nd_tensor(x));
  r->now[slot->value] = nd_tensor(x);
  return BURN_OK;
}

/* -- results ---------------------------------------------------------------------------------- */

/* x, which is an input that was written over, or lies in its memory, as a tensor of this round. */
static BurnStatus over_input(const NdRecording *r, NdTensor *x, BurnPrimitive **out) {
  const NdGhost *ghost = (const NdGhost *)(const void *)((char *)x->storage - offsetof(NdGhost, storage));
  NdTensor *real = ghost->real, *made = real;
  if (x == &ghost->tensor) {
    nd_retain(real);
  } else {
    made = nd_view(r->nd, real, x->header.rank, x->shape, x->strides, 0);
    if (!made) return nd_fail(r->nd, BURN_STATUS_OUT_OF_MEMORY, "ndarray: no memory for a result of a recording");
    made->header.dtype = x->header.dtype;
    made->header.byte_offset = (char *)nd_data(x) - (char *)real->storage->data;
  }
  *out = &made->header;
  return BURN_OK;
}

/* Results have memory of their own, or that of an input. */
static BurnStatus BURN_API_CALL take(void *self, BurnRecording *recording, uint32_t number, BurnPrimitive *input,
                                     int32_t copies, BurnPrimitive **out) {
  NdRecording *r = nd_inside(recording);
  NdTensor **value = &r->now[r->held.items[number]], *x = *value;
  (void)self, (void)input, (void)copies;
  if (!x) return r->failure;
  if (x->storage->kind != ND_STORAGE_STAND_IN) {
    *value = NULL;
    *out = &x->header;
    return BURN_OK;
  }
  const BurnStatus status = over_input(r, x, out);
  let_value_go(r, r->held.items[number]);
  return status;
}

static int32_t BURN_API_CALL is_free(void *self, BurnRecording *recording, uint32_t number) {
  (void)self, (void)recording, (void)number;
  return 1;
}

static void BURN_API_CALL drop(void *self, BurnRecording *recording) {
  NdRecording *r = nd_inside(recording);
  (void)self;
  if (!r) return;
  for (uint32_t i = 0; i < r->value_count; i++) let_value_go(r, i);
  nd_recording_free(r);
}

/* -- questions -------------------------------------------------------------------------------- */

/* An input is known by the tensor, which take hands out again: where it was written over it stays the same tensor from
 * round to round, as it does without a recording. */
static void BURN_API_CALL where(void *self, BurnPrimitive *x, BurnReplayPlace *out) {
  const NdTensor *tensor = nd_tensor(x);
  const NdStorage *storage = tensor->storage;
  BurnReplayPlace place = {.struct_size = out->struct_size};
  (void)self;
  place.holders = atomic_load_explicit(&tensor->references, memory_order_acquire) +
                  atomic_load_explicit(&storage->references, memory_order_acquire) - 1u;
  place.address = (uint64_t)(uintptr_t)nd_data(tensor);
  place.memory = (uint64_t)(uintptr_t)tensor;
  place.bytes = storage->bytes;
  memcpy(out, &place, out->struct_size < sizeof place ? out->struct_size : sizeof place);
}

static void BURN_API_CALL statistics(void *self, BurnReplayStatistics *out) {
  Ndarray *nd = self;
  BurnReplayStatistics all = {.struct_size = out->struct_size};
  all.recordings = atomic_load(&nd->replay.recordings);
  all.runs = atomic_load(&nd->replay.runs);
  all.patches = atomic_load(&nd->replay.patches);
  memcpy(out, &all, out->struct_size < sizeof all ? out->struct_size : sizeof all);
}

const BurnReplayInterface nd_replay_interface = {.struct_size = (uint32_t)sizeof(BurnReplayInterface),
                                                 .version = 1,
                                                 .begin = nd_replay_begin,
                                                 .mark = nd_replay_mark,
                                                 .stand_in = nd_replay_stand_in,
                                                 .slot = nd_replay_slot,
                                                 .hold = nd_replay_hold,
                                                 .end = nd_replay_end,
                                                 .patch_begin = nd_replay_patch_begin,
                                                 .patch_end = nd_replay_patch_end,
                                                 .fill = fill,
                                                 .run = run,
                                                 .take = take,
                                                 .is_free = is_free,
                                                 .drop = drop,
                                                 .where = where,
                                                 .statistics = statistics};
