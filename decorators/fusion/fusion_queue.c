/* fusion_queue.c - recording: from a call to an entry in the queue of the calling thread.
 *
 * A recording is also its own key: words that say everything a plan depends on (ops, slots, shapes and dtypes of what
 * comes from outside, attributes), and nothing that may differ from step to step: no F64 attribute, no seed, no
 * address.
 *
 * A queue is cut where its contents say so, not after a fixed number of ops: after the steps of an optimizer, and when
 * it is long enough and a hash of the last four ops has some zero bits. So a loop that never reads anything is cut at
 * the same places in every round, and finds its plans again. */
#include "fusion_internal.h"

#include <string.h>

/* -- queues ----------------------------------------------------------------------------------- */

static void flush(FusionQueue *queue, const char *why) {
  pthread_mutex_lock(&queue->mutex);
  if (queue->ops.count > 0) burn__fusion_region_split(queue, why);
  burn__fusion_flush_locked(queue);
  pthread_mutex_unlock(&queue->mutex);
}

void burn__fusion_queue_open(FusionDecorator *decorator, FusionQueue *queue) {
  pthread_mutex_init(&queue->mutex, NULL);
  queue->decorator = decorator;
  queue->serial = atomic_fetch_add(&decorator->serial, 1u) + 1u;
}

void burn__fusion_queue_close(FusionQueue *queue) {
  const FusionDecorator *decorator = queue->decorator;
  flush(queue, "the end of the device");
  burn__fusion_region_free(queue);
  burn__fusion_list_free(decorator, &queue->ops, sizeof(FusionOp));
  burn__fusion_list_free(decorator, &queue->slots, sizeof(uint32_t));
  burn__fusion_list_free(decorator, &queue->values, sizeof(FusionValue));
  burn__fusion_list_free(decorator, &queue->key, sizeof(uint32_t));
  burn__fusion_arena_free(decorator, &queue->arena);
  pthread_mutex_destroy(&queue->mutex);
}

void burn__fusion_queue_reset(FusionQueue *queue) {
  queue->ops.count = queue->slots.count = queue->values.count = queue->key.count = 0;
  atomic_store_explicit(&queue->is_filled, false, memory_order_release);
  burn__fusion_arena_reset(&queue->arena);
  queue->serial = atomic_fetch_add(&queue->decorator->serial, 1u) + 1u;
  queue->bytes = 0;
  queue->window = queue->joined = 0;
  queue->cut = false;
}

void burn__fusion_flush_all(FusionDecorator *decorator, const char *why) {
  for (uint32_t i = 0; i < FUSION_QUEUES; i++)
    if (atomic_load_explicit(&decorator->queues[i].is_filled, memory_order_acquire)) flush(&decorator->queues[i], why);
}

uint32_t burn__fusion_thread(void) {
  static _Atomic uint32_t threads;
  static _Thread_local uint32_t number;
  if (number == 0) number = atomic_fetch_add(&threads, 1u) + 1u;
  return number;
}

static uint32_t owner_of(const FusionQueue *queue) {
  return atomic_load_explicit(&queue->region.owner, memory_order_relaxed);
}

/* The queue of the thread's region, else one that nobody has a region in, else that of its number. */
static FusionQueue *queue_among_regions(FusionDecorator *decorator, uint32_t thread) {
  FusionQueue *unowned = NULL;
  for (uint32_t i = 0; i < FUSION_QUEUES; i++) {
    FusionQueue *queue = &decorator->queues[(thread + i) % FUSION_QUEUES];
    const uint32_t owner = owner_of(queue);
    if (owner == thread) return queue;
    if (owner == 0 && !unowned) unowned = queue;
  }
  return unowned ? unowned : &decorator->queues[thread % FUSION_QUEUES];
}

/* Threads are numbered as they come; with more threads than queues some share one, which is only slower. */
static FusionQueue *queue_of_thread(FusionDecorator *decorator) {
  const uint32_t thread = burn__fusion_thread();
  if (atomic_load_explicit(&decorator->open_regions, memory_order_relaxed) > 0)
    return queue_among_regions(decorator, thread);
  return &decorator->queues[thread % FUSION_QUEUES];
}

/* Locks the queue that a thread has chosen; false, and not locked, if another thread has opened a region there since
 * then. Where every queue has a region, the one in the thread's own ends: most likely its thread has ended, too. */
static bool lock_chosen(FusionDecorator *decorator, FusionQueue *queue) {
  pthread_mutex_lock(&queue->mutex);
  const uint32_t owner = owner_of(queue);
  if (owner == 0 || owner == burn__fusion_thread()) return true;
  if (queue_of_thread(decorator) == queue) {
    burn__fusion_flush_locked(queue);
    burn__fusion_region_close(queue);
    return true;
  }
  pthread_mutex_unlock(&queue->mutex);
  return false;
}

FusionQueue *burn__fusion_queue_lock(FusionDecorator *decorator) {
  FusionQueue *queue = queue_of_thread(decorator);
  while (!lock_chosen(decorator, queue)) queue = queue_of_thread(decorator);
  return queue;
}

/* -- the key ---------------------------------------------------------------------------------- */

static void put(FusionQueue *queue, uint32_t word) { ((uint32_t *)queue->key.items)[queue->key.count++] = word; }

static void put_i64(FusionQueue *queue, int64_t value) {
  put(queue, (uint32_t)(uint64_t)value);
  put(queue, (uint32_t)((uint64_t)value >> 32));
}

static void put_desc(FusionQueue *queue, const BurnTensorDesc *desc) {
  put(queue, desc->dtype << 8 | desc->rank);
  for (uint32_t i = 0; i < desc->rank; i++) put_i64(queue, desc->shape[i]);
}

bool burn__fusion_varies(const FusionDecorator *decorator, uint32_t op, uint32_t number, const BurnAttr *attr) {
  return op < BURN_OP_LIMIT ? (decorator->varying[op] >> number & 1u) != 0 : attr->tag == BURN_ATTR_F64;
}

static void put_attr(FusionQueue *queue, const BurnAttr *attr, bool varies) {
  put(queue, attr->tag << 24 | attr->count);
  if (varies) return;
  if (attr->tag != BURN_ATTR_I64S) put_i64(queue, attr->value.i64);
  for (uint32_t i = 0; attr->tag == BURN_ATTR_I64S && i < attr->count; i++) put_i64(queue, attr->value.i64s[i]);
}

/* What the key of a region begins with, and no other: no op has such a number. Each queue has regions of its own, so
 * that threads with the same step do not compete for one recording. */
static uint32_t region_word(const FusionQueue *queue) {
  return 1u << 31 | (uint32_t)(queue - queue->decorator->queues);
}

/* Words that a call adds at most. */
static uint32_t key_words(const BurnOpCall *call) {
  uint32_t words = 5u + call->input_count * (4u + 2u * BURN_MAX_RANK) + call->output_count * (1u + 2u * BURN_MAX_RANK);
  for (uint32_t i = 0; i < call->attr_count; i++) words += 3u + 2u * call->attrs[i].count;
  return words;
}

/* -- recording -------------------------------------------------------------------------------- */

static uint64_t attr_bytes(const BurnOpCall *call) {
  uint64_t bytes = call->attr_count * sizeof(BurnAttr);
  for (uint32_t i = 0; i < call->attr_count; i++) bytes += call->attrs[i].count * sizeof(int64_t);
  return bytes;
}

/* A copy of the attributes with their lists; NULL without memory, or if there are none. */
static const BurnAttr *copy_attrs(FusionQueue *queue, const BurnOpCall *call) {
  BurnAttr *attrs = (BurnAttr *)burn__fusion_arena_take(queue->decorator, &queue->arena, attr_bytes(call));
  if (!attrs) return NULL;
  int64_t *numbers = (int64_t *)(void *)(attrs + call->attr_count);
  for (uint32_t i = 0; i < call->attr_count; i++) {
    attrs[i] = call->attrs[i];
    if (attrs[i].tag != BURN_ATTR_I64S) continue;
    memcpy(numbers, call->attrs[i].value.i64s, attrs[i].count * sizeof *numbers);
    attrs[i].value.i64s = numbers;
    numbers += attrs[i].count;
  }
  return attrs;
}

static uint64_t bytes_of(const BurnTensorDesc *desc) {
  return (uint64_t)burn_desc_count(desc) * burn_dtype_bytes(desc->dtype);
}

/* A new slot for a tensor, one of whose references the queue takes over. There is room. */
static uint32_t add_value(FusionQueue *queue, FusionTensor *x, uint32_t producer) {
  const uint32_t slot = queue->values.count++;
  fusion_values(queue)[slot] = (FusionValue){.tensor = x, .producer = producer, .made_as = slot};
  atomic_store_explicit(&x->mark, queue->serial << FUSION_SLOT_BITS | slot, memory_order_relaxed);
  queue->bytes += bytes_of(&x->desc);
  return slot;
}

/* The slot of an input. Another thread may have put its own mark there meanwhile: then the tensor gets a second slot,
 * which costs nothing but the chance to write into it. */
static uint32_t slot_of(FusionQueue *queue, BurnPrimitive *x) {
  if (!x) {
    put(queue, FUSION_NONE);
    return FUSION_NONE;
  }
  FusionTensor *tensor = fusion_tensor(x);
  const uint64_t mark = atomic_load_explicit(&tensor->mark, memory_order_relaxed);
  if (mark >> FUSION_SLOT_BITS == queue->serial) {
    const uint32_t known = (uint32_t)(mark & ((UINT64_C(1) << FUSION_SLOT_BITS) - 1u));
    put(queue, known);
    return known;
  }
  atomic_fetch_add_explicit(&tensor->references, 1u, memory_order_relaxed);
  const uint32_t slot = add_value(queue, tensor, FUSION_NONE);
  put(queue, slot);
  put_desc(queue, &tensor->desc);
  return slot;
}

static bool reserve(FusionQueue *queue, const BurnOpCall *call) {
  const FusionDecorator *decorator = queue->decorator;
  return fusion_reserve(decorator, &queue->ops, 1, sizeof(FusionOp)) &&
         fusion_reserve(decorator, &queue->slots, call->input_count, sizeof(uint32_t)) &&
         fusion_reserve(decorator, &queue->values, call->input_count + call->output_count, sizeof(FusionValue)) &&
         fusion_reserve(decorator, &queue->key, key_words(call), sizeof(uint32_t));
}

/* The results as tensors without contents, with one reference for the caller and one for the queue; false without
 * memory, then there are none. */
static bool make_outputs(FusionDecorator *decorator, const BurnOpCall *call, FusionTensor **outputs) {
  for (uint32_t i = 0; i < call->output_count; i++) {
    outputs[i] = burn__fusion_tensor_new(decorator, &call->output_descs[i]);
    if (outputs[i]) {
      atomic_init(&outputs[i]->references, 2u);
      continue;
    }
    while (i-- > 0) decorator->host->free(outputs[i], sizeof *outputs[i]);
    return false;
  }
  return true;
}

/* A number for what kind of op this is, for cutting the queue. */
static uint32_t kind_of(const BurnOpCall *call) {
  uint32_t kind = call->op * 0x9e3779b1u;
  for (uint32_t i = 0; i < call->output_count; i++) {
    const BurnTensorDesc *desc = &call->output_descs[i];
    for (uint32_t axis = 0; axis < desc->rank; axis++) kind = (kind ^ (uint32_t)desc->shape[axis]) * 0x85ebca6bu;
  }
  return kind >> 24;
}

/* Of a region: when slots get scarce. */
static bool is_full(const FusionQueue *queue) { return queue->values.count >= 1u << (FUSION_SLOT_BITS - 1); }

static bool is_cut(FusionQueue *queue, const BurnOpCall *call) {
  const FusionDecorator *decorator = queue->decorator;
  if (fusion_in_region(queue)) return is_full(queue);
  queue->window = queue->window << 8 | kind_of(call);
  if (queue->ops.count >= decorator->max_ops || queue->bytes >= decorator->max_bytes) return true;
  if (call->op < BURN_OP_LIMIT && decorator->joins[call->op]) return false; /* those after it may join it */
  return queue->ops.count >= decorator->min_ops && (queue->window * 0xc2b2ae35u) >> 25 == 0;
}

/* What follows several steps of an optimizer is the next round of a loop: cut there, each round is the same plans. */
static bool ends_round(const FusionQueue *queue, const BurnOpCall *call) {
  const FusionDecorator *decorator = queue->decorator;
  if (fusion_in_region(queue)) return false;
  return queue->joined >= 2 && (call->op >= BURN_OP_LIMIT || !decorator->joins[call->op]);
}

static void count_joined(FusionQueue *queue, const BurnOpCall *call) {
  const bool joins = call->op < BURN_OP_LIMIT && queue->decorator->joins[call->op];
  queue->joined = joins ? queue->joined + 1u : 0;
}

/* All the memory is there. */
static void commit(FusionQueue *queue, const BurnOpCall *call, const BurnAttr *attrs, FusionTensor **outputs) {
  FusionDecorator *decorator = queue->decorator;
  const bool in_table = call->op < BURN_OP_LIMIT;
  if (queue->ops.count == 0) {
    atomic_store_explicit(&queue->is_filled, true, memory_order_release);
    if (fusion_in_region(queue)) put(queue, region_word(queue));
  }
  const uint32_t number = queue->ops.count++;
  FusionOp *op = &fusion_ops(queue)[number];
  *op = (FusionOp){.op = call->op,
                   .flags = call->flags,
                   .input_count = call->input_count,
                   .output_count = call->output_count,
                   .attr_count = call->attr_count,
                   .first_input = queue->slots.count,
                   .first_word = queue->key.count,
                   .attrs = attrs};
  put(queue, call->op);
  put(queue, call->flags);
  put(queue, call->input_count);
  for (uint32_t i = 0; i < call->input_count; i++)
    fusion_slots(queue)[queue->slots.count++] = slot_of(queue, call->inputs[i]);
  for (uint32_t i = 0; i < call->attr_count; i++)
    put_attr(queue, &attrs[i], burn__fusion_varies(decorator, call->op, i, &attrs[i]));
  /* Shapes of results follow from the rest where the rule is ours. */
  for (uint32_t i = 0; !in_table && i < call->output_count; i++) put_desc(queue, &call->output_descs[i]);
  op->first_output = queue->values.count;
  for (uint32_t i = 0; i < call->output_count; i++) {
    (void)add_value(queue, outputs[i], number);
    atomic_store_explicit(&outputs[i]->queue, queue, memory_order_relaxed);
    call->outputs[i] = &outputs[i]->header;
  }
  queue->cut = is_cut(queue, call);
  count_joined(queue, call);
}

static BurnStatus record(FusionQueue *queue, const BurnOpCall *call) {
  FusionDecorator *decorator = queue->decorator;
  FusionTensor *outputs[BURN_MAX_OUTPUTS];
  const BurnAttr *attrs = NULL;
  bool ready = reserve(queue, call);
  if (ready && call->attr_count > 0) ready = (attrs = copy_attrs(queue, call)) != NULL;
  if (ready) ready = make_outputs(decorator, call, outputs);
  if (!ready)
    return FUSION_FAIL(decorator, OUT_OF_MEMORY, "%s: no memory to queue the call",
                       burn__fusion_op_name(decorator, call->op));
  commit(queue, call, attrs, outputs);
  return BURN_OK;
}

/* Inputs that belong to other queues are computed first; failed ones are the result. */
static BurnStatus prepare_inputs(FusionDecorator *decorator, const FusionQueue *mine, const BurnOpCall *call) {
  for (uint32_t i = 0; i < call->input_count; i++) {
    if (!call->inputs[i]) continue;
    FusionTensor *x = fusion_tensor(call->inputs[i]);
    const FusionQueue *queue = atomic_load_explicit(&x->queue, memory_order_acquire);
    if (queue == mine) continue;
    const BurnStatus status = burn__fusion_settle(decorator, x, "a use by another thread");
    if (status != BURN_OK) return status;
  }
  return BURN_OK;
}

/* The thread's queue, locked, and the call's inputs in it or computed. */
static BurnStatus lock_prepared(FusionDecorator *decorator, const BurnOpCall *call, FusionQueue **out) {
  for (;;) {
    *out = queue_of_thread(decorator);
    const BurnStatus status = prepare_inputs(decorator, *out, call);
    if (status != BURN_OK || lock_chosen(decorator, *out)) return status;
  }
}

BurnStatus BURN_API_CALL burn__fusion_submit(void *self, const BurnOpCall *call) {
  FusionDecorator *decorator = self;
  if (call->output_count > BURN_MAX_OUTPUTS)
    return FUSION_FAIL(decorator, INVALID_ARGUMENT, "%s: %u outputs, at most %u are possible",
                       burn__fusion_op_name(decorator, call->op), call->output_count, BURN_MAX_OUTPUTS);
  for (uint32_t i = 0; i < call->input_count; i++) {
    if (!call->inputs[i] || call->inputs[i]->owner == decorator->owner) continue;
    return burn__fusion_check_owner(decorator, call->inputs[i], burn__fusion_op_name(decorator, call->op));
  }
  FusionQueue *queue = NULL;
  BurnStatus status = lock_prepared(decorator, call, &queue);
  if (status != BURN_OK) return status;
  if (queue->cut && fusion_in_region(queue)) burn__fusion_region_split(queue, "the number of its tensors");
  if (queue->cut || ends_round(queue, call)) burn__fusion_flush_locked(queue);
  status = record(queue, call);
  pthread_mutex_unlock(&queue->mutex);
  return status;
}
