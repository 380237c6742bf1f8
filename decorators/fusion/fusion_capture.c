/* fusion_capture.c - regions that a program marks (burn/capture.h): their calls are one recording of the queue, and
 * what became of them is told.
 *
 * The queue of a region is flushed at its end only, unless somebody asks for results before: then the region is in
 * parts, each of which is planned and replayed like a region. All functions but begin and end run under the queue's
 * mutex. */
#include "fusion_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void burn__fusion_region_why(FusionQueue *queue, const char *format, ...) {
  BurnFusionRegion *found = &queue->region.found;
  if (!fusion_in_region(queue) || found->reason[0]) return;
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(found->reason, sizeof found->reason, format, arguments);
  va_end(arguments);
}

/* Before the flush: this reason counts more than what became of parts. */
void burn__fusion_region_split(FusionQueue *queue, const char *why) {
  FusionRegion *region = &queue->region;
  if (!fusion_in_region(queue) || region->is_split) return;
  region->is_split = true;
  region->found.reason[0] = '\0';
  burn__fusion_region_why(queue, "%s inside the region splits it: move it after burn_capture_end", why);
}

const char *burn__fusion_reader_name(const FusionQueue *queue, uint32_t value) {
  for (uint32_t i = 0; i < queue->ops.count; i++) {
    const FusionOp *op = &fusion_ops(queue)[i];
    for (uint32_t k = 0; k < op->input_count; k++)
      if (fusion_inputs(queue, op)[k] == value) return burn__fusion_op_name(queue->decorator, op->op);
  }
  return "nothing";
}

/* -- what is new in a region ------------------------------------------------------------------ */

static uint32_t first_difference(const FusionQueue *queue) {
  const uint32_t *now = (const uint32_t *)queue->key.items, *last = (const uint32_t *)queue->region.last_key.items;
  const uint32_t last_count = queue->region.last_key.count;
  uint32_t i = 0;
  while (i < queue->key.count && i < last_count && now[i] == last[i]) i++;
  return i;
}

static bool is_last_key(const FusionQueue *queue) {
  const FusionList *key = &queue->key, *last = &queue->region.last_key;
  return key->count == last->count && memcmp(key->items, last->items, key->count * sizeof(uint32_t)) == 0;
}

/* The call that a word of the key belongs to; the number of calls for what comes after them. */
static uint32_t call_of_word(const FusionQueue *queue, uint32_t word) {
  const uint32_t words_of_calls = queue->key.count - fusion_held_words(queue);
  uint32_t call = queue->ops.count;
  if (word >= words_of_calls) return call;
  while (call > 0 && fusion_ops(queue)[call - 1u].first_word > word) call--;
  return call > 0 ? call - 1u : 0;
}

/* Nothing was in the way of replaying but that the plan is new. */
static void explain_new(FusionQueue *queue) {
  if (queue->region.last_key.count == 0) {
    burn__fusion_region_why(queue, "it is the first region of this thread");
    return;
  }
  if (is_last_key(queue)) {
    burn__fusion_region_why(queue, "what was known of it went with a trim of memory");
    return;
  }
  const uint32_t call = call_of_word(queue, first_difference(queue));
  if (call < queue->ops.count) {
    burn__fusion_region_why(queue, "the region differs from the last one from call %u on (%.60s)", call,
                            burn__fusion_op_name(queue->decorator, fusion_ops(queue)[call].op));
  } else {
    burn__fusion_region_why(queue, "the region differs from the last one in what is held of its results");
  }
}

static void remember_key(FusionQueue *queue) {
  FusionList *last = &queue->region.last_key;
  if (is_last_key(queue)) return;
  last->count = 0;
  if (!burn__fusion_list_reserve(queue->decorator, last, queue->key.count, sizeof(uint32_t))) return;
  memcpy(last->items, queue->key.items, queue->key.count * sizeof(uint32_t));
  last->count = queue->key.count;
}

void burn__fusion_region_count(FusionQueue *queue, const FusionPlan *plan, uint32_t outcome) {
  BurnFusionRegion *found = &queue->region.found;
  if (!fusion_in_region(queue)) return;
  if (found->parts++ == 0 || outcome < found->outcome) found->outcome = outcome;
  found->calls += queue->ops.count;
  found->launches += plan ? plan->launches.count : queue->ops.count;
  found->replays = plan ? burn__fusion_replay_count(plan) : 0;
  if (outcome == BURN_FUSION_SINGLE && plan) {
    explain_new(queue);
  } else if (outcome == BURN_FUSION_RECORDED) {
    burn__fusion_region_why(queue, "the region has been recorded now");
  }
  remember_key(queue);
}

/* -- begin and end ---------------------------------------------------------------------------- */

void burn__fusion_region_close(FusionQueue *queue) {
  atomic_store_explicit(&queue->region.owner, 0u, memory_order_relaxed);
  atomic_fetch_sub_explicit(&queue->decorator->open_regions, 1u, memory_order_relaxed);
}

void burn__fusion_region_free(FusionQueue *queue) {
  burn__fusion_list_free(queue->decorator, &queue->region.last_key, sizeof(uint32_t));
}

BurnStatus BURN_API_CALL burn__fusion_capture_begin(void *self) {
  FusionDecorator *decorator = self;
  FusionQueue *queue = burn__fusion_queue_lock(decorator);
  const bool is_inside = fusion_in_region(queue);
  if (!is_inside) {
    burn__fusion_flush_locked(queue);
    queue->region.found = (BurnFusionRegion){.struct_size = (uint32_t)sizeof queue->region.found};
    queue->region.is_split = false;
    atomic_store_explicit(&queue->region.owner, burn__fusion_thread(), memory_order_relaxed);
    atomic_fetch_add_explicit(&decorator->open_regions, 1u, memory_order_relaxed);
  }
  pthread_mutex_unlock(&queue->mutex);
  if (!is_inside) return BURN_OK;
  return FUSION_FAIL(decorator, FAILED_PRECONDITION,
                     "capture_begin: this thread has a region open on the device; regions do not nest");
}

BurnStatus BURN_API_CALL burn__fusion_capture_end(void *self, BurnFusionRegion *out) {
  FusionDecorator *decorator = self;
  FusionQueue *queue = burn__fusion_queue_lock(decorator);
  const bool is_inside = fusion_in_region(queue);
  if (is_inside) {
    burn__fusion_flush_locked(queue);
    if (queue->region.found.parts == 0) burn__fusion_region_why(queue, "nothing was called in the region");
    if (out) {
      const uint32_t bytes = out->struct_size;
      burn_struct_copy(out, bytes, &queue->region.found);
      out->struct_size = bytes;
    }
    burn__fusion_region_close(queue);
  }
  pthread_mutex_unlock(&queue->mutex);
  if (is_inside) return BURN_OK;
  return FUSION_FAIL(decorator, FAILED_PRECONDITION,
                     "capture_end: this thread has no region open on the device; call capture_begin before");
}
