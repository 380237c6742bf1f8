/* fusion_tensor.c - tensors of the decorator: a shape at once, contents when they are needed, or the failure that
 * prevented them. */
#include "fusion_internal.h"

#include <stdio.h>
#include <string.h>

FusionTensor *burn__fusion_tensor_new(FusionDecorator *decorator, const BurnTensorDesc *desc) {
  FusionTensor *x = (FusionTensor *)decorator->host->allocate(sizeof *x);
  if (!x) return NULL;
  x->desc = *desc;
  x->header = (BurnPrimitive){.struct_size = (uint32_t)sizeof x->header,
                              .owner = decorator->owner,
                              .dtype = desc->dtype,
                              .rank = desc->rank,
                              .shape = x->desc.shape};
  atomic_init(&x->references, 1u);
  atomic_init(&x->mark, 0u);
  atomic_init(&x->queue, NULL);
  x->inner = NULL;
  x->failure = NULL;
  return x;
}

/* -- failures --------------------------------------------------------------------------------- */

FusionFailure *burn__fusion_failure_new(FusionDecorator *decorator, BurnStatus status, uint32_t op) {
  FusionFailure *failure = (FusionFailure *)decorator->host->allocate(sizeof *failure);
  if (!failure) return burn__fusion_failure_retain(&decorator->out_of_memory);
  const char *name = burn__fusion_op_name(decorator, op);
  char message[sizeof failure->message];
  decorator->host->status_message(status, message, sizeof message);
  atomic_init(&failure->references, 1u);
  failure->code = burn_status_code(status);
  failure->bytes = sizeof *failure;
  const bool named = strncmp(message, name, strlen(name)) == 0;
  (void)snprintf(failure->message, sizeof failure->message, "%s%s%.440s", named ? "" : name, named ? "" : ": ",
                 message);
  return failure;
}

FusionFailure *burn__fusion_failure_retain(FusionFailure *failure) {
  if (failure) atomic_fetch_add_explicit(&failure->references, 1u, memory_order_relaxed);
  return failure;
}

void burn__fusion_failure_release(const FusionDecorator *decorator, FusionFailure *failure) {
  if (!failure || atomic_fetch_sub_explicit(&failure->references, 1u, memory_order_acq_rel) != 1u) return;
  if (failure->bytes) decorator->host->free(failure, failure->bytes);
}

BurnStatus burn__fusion_failure_status(const FusionDecorator *decorator, const FusionFailure *failure) {
  if (!failure) return BURN_OK;
  return (decorator->host->fail)(failure->code, NULL, 0, failure->message);
}

BurnStatus burn__fusion_check_owner(const FusionDecorator *decorator, const BurnPrimitive *x, const char *what) {
  if (x->owner == decorator->owner) return BURN_OK;
  return FUSION_FAIL(decorator, BAD_OWNER,
                     "%s: the tensor belongs to instance %u, this fusion decorator is instance %u", what, x->owner,
                     decorator->owner);
}

/* Says, before a flush in the middle of a region, which result is asked for. */
static void name_use(FusionQueue *queue, const FusionTensor *x, const char *how) {
  const uint64_t mark = atomic_load_explicit(&x->mark, memory_order_relaxed);
  const char *name = "a call";
  if (mark >> FUSION_SLOT_BITS == queue->serial) {
    const uint32_t producer = fusion_values(queue)[mark & ((UINT64_C(1) << FUSION_SLOT_BITS) - 1u)].producer;
    name = burn__fusion_op_name(queue->decorator, fusion_ops(queue)[producer].op);
  }
  char why[128];
  (void)snprintf(why, sizeof why, "%s of the result of %.40s", how, name);
  burn__fusion_region_split(queue, why);
}

BurnStatus burn__fusion_settle(FusionDecorator *decorator, FusionTensor *x, const char *how) {
  FusionQueue *queue = atomic_load_explicit(&x->queue, memory_order_acquire);
  if (queue) {
    pthread_mutex_lock(&queue->mutex);
    const bool is_queued = atomic_load_explicit(&x->queue, memory_order_acquire) != NULL;
    if (is_queued && fusion_in_region(queue)) name_use(queue, x, how);
    if (is_queued) burn__fusion_flush_locked(queue);
    pthread_mutex_unlock(&queue->mutex);
  }
  return burn__fusion_failure_status(decorator, x->failure);
}

/* -- the table's functions -------------------------------------------------------------------- */

/* A tensor around `inner`, whose reference it takes over, also when it fails: then inner is released. */
static BurnStatus wrap(FusionDecorator *decorator, BurnPrimitive *inner, BurnPrimitive **out) {
  const BurnTensorDesc desc = burn_primitive_desc(inner);
  FusionTensor *x = burn__fusion_tensor_new(decorator, &desc);
  if (!x) {
    decorator->next->release(decorator->next->self, inner);
    return FUSION_FAIL(decorator, OUT_OF_MEMORY, "fusion: no memory for a tensor of %u bytes", (unsigned)sizeof *x);
  }
  x->inner = inner;
  *out = &x->header;
  return BURN_OK;
}

BurnStatus BURN_API_CALL burn__fusion_create(void *self, const BurnTensorDesc *desc, const void *data,
                                             BurnPrimitive **out) {
  FusionDecorator *decorator = self;
  BurnPrimitive *inner = NULL;
  BurnStatus status = decorator->next->create(decorator->next->self, desc, data, &inner);
  if (status == BURN_OK) status = burn_common_check_given(decorator->host, decorator->next, "create", desc, &inner);
  return status == BURN_OK ? wrap(decorator, inner, out) : status;
}

BurnStatus BURN_API_CALL burn__fusion_read(void *self, BurnPrimitive *x, void *data, uint64_t bytes) {
  FusionDecorator *decorator = self;
  BurnStatus status = burn__fusion_check_owner(decorator, x, "read");
  if (status == BURN_OK) status = burn__fusion_settle(decorator, fusion_tensor(x), "a read");
  return status == BURN_OK ? decorator->next->read(decorator->next->self, fusion_tensor(x)->inner, data, bytes)
                           : status;
}

void BURN_API_CALL burn__fusion_retain(void *self, BurnPrimitive *x) {
  (void)self;
  atomic_fetch_add_explicit(&fusion_tensor(x)->references, 1u, memory_order_relaxed);
}

/* A queue that knows the tensor holds a reference, so the last one to go finds it settled. */
void BURN_API_CALL burn__fusion_release(void *self, BurnPrimitive *x) {
  const FusionDecorator *decorator = self;
  if (!x) return;
  FusionTensor *tensor = fusion_tensor(x);
  if (atomic_fetch_sub_explicit(&tensor->references, 1u, memory_order_acq_rel) != 1u) return;
  if (tensor->inner) decorator->next->release(decorator->next->self, tensor->inner);
  burn__fusion_failure_release(decorator, tensor->failure);
  decorator->host->free(tensor, sizeof *tensor);
}

/* NULL for a tensor that failed: it has no primitive below. */
BurnPrimitive *BURN_API_CALL burn__fusion_unwrap(void *self, BurnPrimitive *x) {
  const BurnStatus status = burn__fusion_settle(self, fusion_tensor(x), "a hand-over to the backend");
  return status == BURN_OK ? fusion_tensor(x)->inner : NULL;
}

BurnStatus BURN_API_CALL burn__fusion_adopt(void *self, BurnPrimitive *inner, BurnPrimitive **out) {
  FusionDecorator *decorator = self;
  decorator->next->retain(decorator->next->self, inner);
  return wrap(decorator, inner, out);
}
