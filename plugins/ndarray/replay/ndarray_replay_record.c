/* ndarray_replay_record.c - recording: calls become events, and their results tensors without contents ("ghosts"). When
 * the last reference to a ghost goes, that is an event, too: so a run has the memory that the calls would have had, and
 * a call may write over an input there exactly where it might have done so.
 *
 * A patch makes a call once more; it becomes no event, but the one that it was gets its attributes. */
#include "ndarray_recording.h"

#include <stdlib.h>
#include <string.h>

static _Thread_local NdRecording *current; /* of this thread: recorded, or patched */

bool nd_is_recording(const Ndarray *nd) { return current && current->nd == nd; }

BurnStatus nd_refuse_recording(Ndarray *nd, const char *what) {
  return nd_fail(nd, BURN_STATUS_FAILED_PRECONDITION, "ndarray: %s cannot be recorded", what);
}

static BurnStatus no_memory(Ndarray *nd) {
  return nd_fail(nd, BURN_STATUS_OUT_OF_MEMORY, "ndarray: no memory for a recording");
}

/* -- memory ----------------------------------------------------------------------------------- */

static bool reserve(void **items, uint32_t count, uint32_t *capacity, size_t item_bytes) {
  if (count < *capacity) return true;
  const uint32_t wanted = *capacity ? 2u * *capacity : 64u;
  void *grown = wanted > *capacity ? realloc(*items, wanted * item_bytes) : NULL;
  if (!grown) return false;
  *items = grown;
  *capacity = wanted;
  return true;
}
/* Room for one item more. */
#define RESERVE(list) reserve((void **)(void *)&(list).items, (list).count, &(list).capacity, sizeof *(list).items)

typedef struct NdBlock {
  struct NdBlock *next;
  uint64_t used, bytes; /* of what follows */
  uint64_t reserved;    /* so that it is aligned for everything that is recorded */
} NdBlock;

enum { BLOCK_BYTES = 65536, ALIGNMENT = 16 };

static NdBlock *block_new(NdRecording *r, uint64_t bytes) {
  if (bytes < BLOCK_BYTES) bytes = BLOCK_BYTES;
  NdBlock *block = calloc(1, sizeof *block + (size_t)bytes);
  if (!block) return NULL;
  block->next = r->blocks;
  block->bytes = bytes;
  r->blocks = block;
  return block;
}

/* Cleared memory that lives as long as the recording; NULL if there is none. */
static void *take_memory(NdRecording *r, uint64_t bytes) {
  NdBlock *block = r->blocks;
  bytes = (bytes + ALIGNMENT - 1u) / ALIGNMENT * ALIGNMENT;
  if (!block || block->bytes - block->used < bytes) block = block_new(r, bytes);
  if (!block) return NULL;
  block->used += bytes;
  return (char *)(block + 1) + (block->used - bytes);
}

void nd_recording_free(NdRecording *r) {
  for (NdBlock *block = r->blocks, *next = NULL; block; block = next) {
    next = block->next;
    free(block);
  }
  for (NdGhost *ghost = r->ghosts, *next = NULL; ghost; ghost = next) {
    next = ghost->next;
    free(ghost);
  }
  free(r->events.items);
  free(r->marks.items);
  free(r->inputs.items);
  free(r->slots.items);
  free(r->held.items);
  free(r->rest.items);
  free(r->now);
  free(r);
}

/* -- ghosts ----------------------------------------------------------------------------------- */

/* NULL without memory. Its strides are those that most results have. */
static NdGhost *ghost_new(NdRecording *r, const BurnTensorDesc *desc, uint32_t value) {
  NdGhost *ghost = calloc(1, sizeof *ghost);
  if (!ghost) return NULL;
  NdTensor *x = &ghost->tensor;
  x->header = (BurnPrimitive){.struct_size = (uint32_t)sizeof(BurnPrimitive),
                              .owner = r->nd->owner,
                              .dtype = desc->dtype,
                              .rank = desc->rank,
                              .shape = x->shape,
                              .strides = x->strides};
  memcpy(x->shape, desc->shape, sizeof x->shape);
  int64_t stride = 1;
  for (uint32_t i = desc->rank; i-- > 0; stride *= desc->shape[i]) x->strides[i] = stride;
  atomic_init(&x->references, 1);
  x->storage = &ghost->storage;
  atomic_init(&ghost->storage.references, 1);
  ghost->storage.kind = ND_STORAGE_GHOST;
  ghost->value = value;
  return ghost;
}

/* One that lives as long as the recording. */
static NdGhost *ghost_owned(NdRecording *r, const BurnPrimitive *x, uint32_t value) {
  const BurnTensorDesc desc = burn_primitive_desc(x);
  NdGhost *ghost = ghost_new(r, &desc, value);
  if (!ghost) return NULL;
  ghost->is_owned = true;
  ghost->next = r->ghosts;
  r->ghosts = ghost;
  return ghost;
}

void nd_ghost_release(Ndarray *nd, NdTensor *x) {
  NdGhost *ghost = nd_ghost(x);
  NdRecording *r = current;
  (void)nd;
  if (atomic_fetch_sub(&x->references, 1) != 1) return;
  if (r && !r->is_patching && !r->is_held) {
    if (RESERVE(r->events)) {
      r->events.items[r->events.count++] = (NdEvent){.value = ghost->value};
    } else {
      r->is_broken = true;
    }
  }
  if (!ghost->is_owned) free(ghost);
}

/* -- attributes ------------------------------------------------------------------------------- */

/* Copies attributes with their lists; false without memory. */
static bool copy_attrs(NdRecording *r, BurnAttr *to, const BurnAttr *from, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    to[i] = from[i];
    if (from[i].tag != BURN_ATTR_I64S || from[i].count == 0) continue;
    int64_t *numbers = take_memory(r, from[i].count * sizeof *numbers);
    if (!numbers) return false;
    memcpy(numbers, from[i].value.i64s, from[i].count * sizeof *numbers);
    to[i].value.i64s = numbers;
  }
  return true;
}

/* Those that may differ from run to run are numbers; lists stay. False if something else differs. */
static bool replace_attrs(BurnAttr *to, const BurnAttr *from, uint32_t count, bool *changes) {
  for (uint32_t i = 0; i < count; i++) {
    if (to[i].tag != from[i].tag || to[i].count != from[i].count) return false;
    if (to[i].tag == BURN_ATTR_I64S) continue;
    if (memcmp(&to[i], &from[i], sizeof to[i]) != 0) *changes = true;
    to[i] = from[i];
  }
  return true;
}

static uint32_t steps_attrs(const BurnFusedKernel *body) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < body->step_count; i++) count += body->steps[i].attr_count;
  return count;
}

/* -- calls ------------------------------------------------------------------------------------ */

static BurnStatus take_values(NdRecording *r, NdRecordedCall *c, BurnPrimitive *const *inputs, uint32_t count) {
  c->in = take_memory(r, (count + 1u) * sizeof *c->in);
  c->inputs = take_memory(r, (count + 1u) * sizeof *c->inputs);
  if (!c->in || !c->inputs) return no_memory(r->nd);
  for (uint32_t i = 0; i < count; i++) {
    if (inputs[i] && !nd_is_ghost(nd_tensor(inputs[i]))) return nd_refuse_recording(r->nd, "a tensor from outside");
    c->in[i] = inputs[i] ? nd_ghost(nd_tensor(inputs[i]))->value : ND_NO_VALUE;
  }
  return BURN_OK;
}

static void release_outputs(BurnPrimitive **outputs, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    free(nd_ghost(nd_tensor(outputs[i])));
    outputs[i] = NULL;
  }
}

/* Results as ghosts; c NULL: those of a patch, which stand for nothing. */
static BurnStatus make_outputs(NdRecording *r, NdRecordedCall *c, const BurnTensorDesc *descs, uint32_t count,
                               BurnPrimitive **outputs) {
  if (c) c->out = take_memory(r, (count + 1u) * sizeof *c->out);
  if (c) c->outputs = take_memory(r, (count + 1u) * sizeof *c->outputs);
  if (c && (!c->out || !c->outputs)) return no_memory(r->nd);
  for (uint32_t i = 0; i < count; i++) {
    NdGhost *ghost = ghost_new(r, &descs[i], c ? r->value_count : ND_NO_VALUE);
    if (!ghost) {
      release_outputs(outputs, i);
      return no_memory(r->nd);
    }
    if (c) c->out[i] = r->value_count++;
    outputs[i] = &ghost->tensor.header;
  }
  return BURN_OK;
}

/* All of a call but its results. */
static BurnStatus copy_call(NdRecording *r, NdRecordedCall *c, const BurnOpCall *call) {
  c->call = burn_call_copy(call);
  if (c->call.origin >= BURN_OP_FIRST_OF_PACKS) return nd_refuse_recording(r->nd, "an op of a pack");
  BurnStatus status = nd_resolve_call(r->nd, call, &c->kernel, &c->widens);
  if (status == BURN_OK) status = take_values(r, c, call->inputs, call->input_count);
  if (status != BURN_OK) return status;
  BurnTensorDesc *descs = take_memory(r, (call->output_count + 1u) * sizeof *descs);
  c->attrs = take_memory(r, (call->attr_count + 1u) * sizeof *c->attrs);
  c->attr_count = call->attr_count;
  if (!descs || !c->attrs || !copy_attrs(r, c->attrs, call->attrs, call->attr_count)) return no_memory(r->nd);
  memcpy(descs, call->output_descs, call->output_count * sizeof *descs);
  c->call.output_descs = descs;
  c->call.attrs = c->attrs;
  c->call.inputs = c->inputs;
  c->call.next = NULL;
  return BURN_OK;
}

static BurnStatus copy_body(NdRecording *r, NdRecordedCall *c, const BurnFusedCall *call) {
  const BurnFusedKernel *body = call->kernel;
  c->body = body;
  c->attr_count = steps_attrs(body);
  c->attrs = take_memory(r, (c->attr_count + 1u) * sizeof *c->attrs);
  const BurnAttr **steps = take_memory(r, (body->step_count + 1u) * sizeof *steps);
  if (!c->attrs || !steps) return no_memory(r->nd);
  BurnAttr *attrs = c->attrs;
  for (uint32_t i = 0; i < body->step_count; i++) {
    const uint32_t count = body->steps[i].attr_count;
    if (!copy_attrs(r, attrs, call->attrs[i], count)) return no_memory(r->nd);
    steps[i] = attrs;
    attrs += count;
  }
  const BurnStatus status = take_values(r, c, call->inputs, body->input_count);
  c->fused = (BurnFusedCall){.struct_size = (uint32_t)sizeof c->fused,
                             .kernel = body,
                             .inputs = c->inputs,
                             .attrs = steps,
                             .donate = call->donate};
  return status;
}

static NdEvent *event_new(NdRecording *r, uint32_t count) {
  NdEvent *event = RESERVE(r->events) ? &r->events.items[r->events.count] : NULL;
  if (!event) return NULL;
  *event = (NdEvent){.count = count};
  event->calls = take_memory(r, count * sizeof *event->calls);
  event->together = take_memory(r, count * sizeof *event->together);
  return event->calls && event->together ? event : NULL;
}

/* -- patches ---------------------------------------------------------------------------------- */

/* The next event with calls since the mark; NULL if it is none like this. */
static NdEvent *next_event(NdRecording *r, uint32_t count) {
  while (r->next < r->events.count && r->events.items[r->next].count == 0) r->next++;
  if (r->next >= r->events.count || r->events.items[r->next].count != count) return NULL;
  return &r->events.items[r->next++];
}

static BurnStatus differs(NdRecording *r) {
  r->differs = true;
  return nd_fail(r->nd, BURN_STATUS_FAILED_PRECONDITION, "ndarray: a patch asks for other work than was recorded");
}

static BurnStatus patch_call(NdRecording *r, NdRecordedCall *c, const BurnOpCall *call) {
  bool changes = false;
  if (!c || c->body || c->call.op != call->op || c->attr_count != call->attr_count ||
      !replace_attrs(c->attrs, call->attrs, call->attr_count, &changes))
    return differs(r);
  atomic_fetch_add_explicit(&r->nd->replay.patches, changes, memory_order_relaxed);
  return make_outputs(r, NULL, call->output_descs, call->output_count, call->outputs);
}

static BurnStatus patch_body(NdRecording *r, NdRecordedCall *c, const BurnFusedCall *call) {
  bool changes = false;
  if (!c || c->body != call->kernel) return differs(r);
  BurnAttr *attrs = c->attrs;
  for (uint32_t i = 0; i < c->body->step_count; i++) {
    if (!replace_attrs(attrs, call->attrs[i], c->body->steps[i].attr_count, &changes)) return differs(r);
    attrs += c->body->steps[i].attr_count;
  }
  atomic_fetch_add_explicit(&r->nd->replay.patches, changes, memory_order_relaxed);
  return make_outputs(r, NULL, c->body->outputs, c->body->output_count, call->outputs);
}

/* -- what the table of functions gives here --------------------------------------------------- */

BurnStatus nd_record_calls(Ndarray *nd, const BurnOpCall *const *calls, uint64_t count) {
  NdRecording *r = current;
  if (count > UINT32_MAX) return no_memory(nd);
  NdEvent *event = r->is_patching ? next_event(r, (uint32_t)count) : event_new(r, (uint32_t)count);
  if (!event) return r->is_patching ? differs(r) : no_memory(nd);
  BurnStatus status = BURN_OK;
  for (uint32_t i = 0; i < count && status == BURN_OK && !r->is_patching; i++) {
    event->together[i] = &event->calls[i].call;
    status = copy_call(r, &event->calls[i], calls[i]);
  }
  uint32_t made = 0;
  for (; made < count && status == BURN_OK; made++) {
    NdRecordedCall *c = &event->calls[made];
    const BurnOpCall *call = calls[made];
    status = r->is_patching ? patch_call(r, c, call)
                            : make_outputs(r, c, call->output_descs, call->output_count, call->outputs);
    if (status != BURN_OK) break;
    c->call.outputs = c->outputs;
  }
  for (uint32_t i = 0; i < made && status != BURN_OK; i++) release_outputs(calls[i]->outputs, calls[i]->output_count);
  if (status == BURN_OK && !r->is_patching) r->events.count++;
  return status;
}

BurnStatus nd_record_call(Ndarray *nd, const BurnOpCall *call) { return nd_record_calls(nd, &call, 1); }

BurnStatus nd_record_body(Ndarray *nd, const BurnFusedCall *call) {
  NdRecording *r = current;
  if (r->is_patching) {
    NdEvent *event = next_event(r, 1);
    return patch_body(r, event ? event->calls : NULL, call);
  }
  NdEvent *event = event_new(r, 1);
  if (!event) return no_memory(nd);
  NdRecordedCall *c = event->calls;
  BurnStatus status = copy_body(r, c, call);
  if (status == BURN_OK) status = make_outputs(r, c, call->kernel->outputs, call->kernel->output_count, call->outputs);
  if (status != BURN_OK) return status;
  c->fused.outputs = c->outputs;
  r->events.count++;
  return BURN_OK;
}

/* -- the interface ---------------------------------------------------------------------------- */

/* Recordings share nothing, so those of other threads need not wait. */
BurnStatus BURN_API_CALL nd_replay_begin(void *self, BurnRecording **out) {
  Ndarray *nd = self;
  NdRecording *r = calloc(1, sizeof *r);
  if (!r) return no_memory(nd);
  r->nd = nd;
  current = r;
  *out = nd_outside(r);
  return BURN_OK;
}

BurnStatus BURN_API_CALL nd_replay_mark(void *self, BurnRecording *recording, uint32_t index, int32_t keeps) {
  NdRecording *r = nd_inside(recording);
  (void)keeps;
  if (r->is_patching) {
    uint32_t i = 0;
    while (i < r->marks.count && r->marks.items[i].index != index) i++;
    r->next = i < r->marks.count ? r->marks.items[i].event : r->events.count;
    return BURN_OK;
  }
  if (!RESERVE(r->marks)) return no_memory(self);
  r->marks.items[r->marks.count++] = (NdMark){index, r->events.count};
  return BURN_OK;
}

/* What the ghost of an input is in runs. A place where somebody else has the memory, too, is never written into. */
static void put_over(NdGhost *ghost, NdTensor *real) {
  NdTensor *x = &ghost->tensor;
  ghost->real = real;
  memcpy(x->strides, real->strides, sizeof x->strides);
  x->header.byte_offset = real->header.byte_offset;
  x->header.flags = real->header.flags;
  x->header.buffer = real->storage->data;
  ghost->storage.bytes = real->storage->bytes;
  ghost->storage.data = real->storage->data;
  ghost->storage.foreign = real->storage->foreign;
  ghost->is_sole = atomic_load(&real->references) == 1 && atomic_load(&real->storage->references) == 1;
}

/* For a patch any tensor of the same shape will do: its calls are known by their order. */
BurnStatus BURN_API_CALL nd_replay_stand_in(void *self, BurnRecording *recording, uint32_t index, uint32_t input,
                                            BurnPrimitive *x, BurnPrimitive **out) {
  NdRecording *r = nd_inside(recording);
  const bool is_input = index == BURN_REPLAY_INPUT;
  (void)input;
  if (is_input && !RESERVE(r->inputs)) return no_memory(self);
  NdGhost *ghost = ghost_owned(r, x, is_input ? r->value_count : nd_ghost(nd_tensor(x))->value);
  if (!ghost) return no_memory(self);
  *out = &ghost->tensor.header;
  if (!is_input) return BURN_OK;
  put_over(ghost, nd_tensor(x));
  r->value_count++;
  r->inputs.items[r->inputs.count++] = ghost;
  return BURN_OK;
}

BurnStatus BURN_API_CALL nd_replay_slot(void *self, BurnRecording *recording, BurnPrimitive *x, BurnPrimitive **out,
                                        uint32_t *number) {
  NdRecording *r = nd_inside(recording);
  if (!RESERVE(r->slots)) return no_memory(self);
  const BurnTensorDesc desc = burn_primitive_desc(x);
  NdGhost *ghost = ghost_new(r, &desc, r->value_count);
  if (!ghost) return no_memory(self);
  NdSlot *slot = &r->slots.items[r->slots.count];
  *slot = (NdSlot){.value = r->value_count++, .rank = x->rank};
  memcpy(slot->strides, x->strides, x->rank * sizeof *slot->strides);
  *number = r->slots.count++;
  *out = &ghost->tensor.header;
  return BURN_OK;
}

BurnStatus BURN_API_CALL nd_replay_hold(void *self, BurnRecording *recording, BurnPrimitive *x, uint32_t *number,
                                        uint32_t *input) {
  NdRecording *r = nd_inside(recording);
  if (!RESERVE(r->held)) return no_memory(self);
  r->is_held = true;
  r->held.items[r->held.count] = nd_ghost(nd_tensor(x))->value;
  *number = r->held.count++;
  *input = BURN_REPLAY_NONE; /* whose memory it is shows in a run, and take knows */
  return BURN_OK;
}

/* Results that nobody reads, of calls with several. */
static bool find_rest(NdRecording *r) {
  uint8_t *known = calloc(1, r->value_count + 1u);
  bool ok = known != NULL;
  for (uint32_t i = 0; ok && i < r->events.count; i++)
    if (r->events.items[i].count == 0) known[r->events.items[i].value] = 1;
  for (uint32_t i = 0; ok && i < r->held.count; i++) known[r->held.items[i]] = 1;
  for (uint32_t i = 0; ok && i < r->value_count; i++) {
    if (known[i]) continue;
    ok = RESERVE(r->rest);
    if (ok) r->rest.items[r->rest.count++] = i;
  }
  free(known);
  return ok;
}

/* The ghosts of inputs become tensors. */
BurnStatus BURN_API_CALL nd_replay_end(void *self, BurnRecording *recording, int32_t ok) {
  Ndarray *nd = self;
  NdRecording *r = nd_inside(recording);
  current = NULL;
  r->now = calloc(r->value_count + 1u, sizeof *r->now);
  if (!ok || r->is_broken || !r->now || !find_rest(r)) {
    nd_recording_free(r);
    return ok ? no_memory(nd) : BURN_OK;
  }
  for (uint32_t i = 0; i < r->inputs.count; i++) r->inputs.items[i]->storage.kind = ND_STORAGE_STAND_IN;
  atomic_fetch_add_explicit(&nd->replay.recordings, 1, memory_order_relaxed);
  return BURN_OK;
}

BurnStatus BURN_API_CALL nd_replay_patch_begin(void *self, BurnRecording *recording) {
  NdRecording *r = nd_inside(recording);
  (void)self;
  r->is_patching = true;
  r->differs = false;
  r->next = r->events.count;
  current = r;
  return BURN_OK;
}

BurnStatus BURN_API_CALL nd_replay_patch_end(void *self, BurnRecording *recording) {
  NdRecording *r = nd_inside(recording);
  (void)self;
  current = NULL;
  r->is_patching = false;
  return r->differs ? differs(r) : BURN_OK;
}
