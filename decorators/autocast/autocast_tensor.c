/* autocast_tensor.c - tensors of the decorator, and the casts between what is seen and what is held.
 *
 * A cast to the half dtype is kept with its tensor: a parameter that several ops of a step use, or an input that goes
 * to three projections, is cast once. It goes with its tensor, whose values never change, so nothing is ever stale: an
 * optimizer's step makes new parameters. */
#include "autocast_internal.h"

/* An address of its own for every thread. */
static const void *this_thread(void) {
  static _Thread_local char here;
  return &here;
}

BurnStatus burn__autocast_check_owner(const AutocastLayer *layer, const BurnPrimitive *x, const char *what) {
  if (x->owner == layer->owner) return BURN_OK;
  return AUTOCAST_FAIL(layer, BAD_OWNER, "%s: the tensor belongs to instance %u, this decorator is instance %u", what,
                       x->owner, layer->owner);
}

BurnStatus burn__autocast_wrap(const AutocastLayer *layer, BurnPrimitive *held, BurnDType dtype, BurnPrimitive **out) {
  AutocastTensor *x = layer->host->allocate(sizeof *x);
  if (!x) {
    layer->next->release(layer->next->self, held);
    return AUTOCAST_FAIL(layer, OUT_OF_MEMORY, "no memory for a tensor of %u bytes", (unsigned)sizeof *x);
  }
  x->header = (BurnPrimitive){.struct_size = (uint32_t)sizeof x->header,
                              .flags = held->flags & (uint32_t)BURN_PRIMITIVE_TRACKED,
                              .owner = layer->owner,
                              .dtype = dtype,
                              .rank = held->rank,
                              .shape = held->shape};
  if (held->dtype == dtype) { /* else the memory is not what the header says */
    x->header.flags = held->flags;
    x->header.strides = held->strides;
    x->header.buffer = held->buffer;
    x->header.byte_offset = held->byte_offset;
  }
  atomic_init(&x->references, 1u);
  x->held = held;
  x->cast = NULL;
  x->cast_by = NULL;
  x->turned = NULL;
  *out = &x->header;
  return BURN_OK;
}

void burn__autocast_remember_turned(AutocastTensor *view, AutocastTensor *x, const int64_t *axes) {
  if (x->turned) return; /* no chains: the tensors of a loop would hold one another */
  atomic_fetch_add_explicit(&x->references, 1u, memory_order_relaxed);
  view->turned = x;
  for (uint32_t i = 0; i < x->header.rank; i++) view->axes[i] = axes[i];
}

/* -- casts ------------------------------------------------------------------------------------ */

/* cast and permute: ops of one input and one attribute. */
static BurnStatus invoke(const AutocastLayer *layer, uint32_t op, BurnPrimitive *x, BurnAttr attr,
                         BurnPrimitive **out) {
  const BurnOpCall call = {.struct_size = (uint32_t)sizeof call,
                           .op = op,
                           .attr_count = 1,
                           .input_count = 1,
                           .output_count = 1,
                           .inputs = &x,
                           .outputs = out,
                           .attrs = &attr};
  *out = NULL;
  return layer->host->annotate(layer->host->invoke(layer->next, &call), "autocast");
}

static BurnStatus cast(AutocastLayer *layer, const AutocastTensor *x, BurnDType dtype, BurnPrimitive **out) {
  if (!x->turned) return invoke(layer, BURN_OP_cast, x->held, burn_attr_dtype(dtype), out);
  BurnPrimitive *straight = NULL;
  BurnStatus status = burn__autocast_as(layer, x->turned, dtype, true, &straight);
  if (status != BURN_OK) return status;
  status = invoke(layer, BURN_OP_permute, straight, burn_attr_i64s(x->axes, x->header.rank), out);
  layer->next->release(layer->next->self, straight);
  return status;
}

/* The cast that is there, with a reference, or NULL. A tracked one is a node of a graph: it is for the thread that
 * records that graph, as two threads cannot walk back through one node at the same time. */
static BurnPrimitive *kept_cast(AutocastLayer *layer, const AutocastTensor *x, BurnDType dtype) {
  pthread_mutex_lock(&layer->mutex);
  BurnPrimitive *found = x->cast;
  if (found && found->dtype != dtype) found = NULL;
  if (found && (found->flags & BURN_PRIMITIVE_TRACKED) && x->cast_by != this_thread()) found = NULL;
  if (found) layer->next->retain(layer->next->self, found);
  pthread_mutex_unlock(&layer->mutex);
  return found;
}

static void keep_cast(AutocastLayer *layer, AutocastTensor *x, BurnPrimitive *made) {
  layer->next->retain(layer->next->self, made);
  pthread_mutex_lock(&layer->mutex);
  BurnPrimitive *old = x->cast;
  x->cast = made;
  x->cast_by = this_thread();
  pthread_mutex_unlock(&layer->mutex);
  if (!old) atomic_fetch_add_explicit(&layer->kept, 1, memory_order_relaxed);
  if (old) layer->next->release(layer->next->self, old);
}

BurnStatus burn__autocast_as(AutocastLayer *layer, AutocastTensor *x, BurnDType dtype, bool keep, BurnPrimitive **out) {
  if (x->held->dtype == dtype) {
    layer->next->retain(layer->next->self, x->held);
    *out = x->held;
    return BURN_OK;
  }
  *out = kept_cast(layer, x, dtype);
  if (*out) return BURN_OK;
  const BurnStatus status = cast(layer, x, dtype, out);
  if (status == BURN_OK && keep) keep_cast(layer, x, *out);
  return status;
}

/* -- functions of the table ------------------------------------------------------------------- */

BurnStatus BURN_API_CALL burn__autocast_create(void *self, const BurnTensorDesc *desc, const void *data,
                                               BurnPrimitive **out) {
  AutocastLayer *layer = self;
  BurnPrimitive *held = NULL;
  BurnStatus status = layer->next->create(layer->next->self, desc, data, &held);
  if (status == BURN_OK) status = burn_common_check_given(layer->host, layer->next, "create", desc, &held);
  return status == BURN_OK ? burn__autocast_wrap(layer, held, desc->dtype, out) : status;
}

BurnStatus BURN_API_CALL burn__autocast_read(void *self, BurnPrimitive *x, void *data, uint64_t bytes) {
  AutocastLayer *layer = self;
  BurnPrimitive *seen = NULL;
  BurnStatus status = burn__autocast_check_owner(layer, x, "read");
  if (status == BURN_OK) status = burn__autocast_as(layer, autocast_tensor(x), x->dtype, false, &seen);
  if (status != BURN_OK) return status;
  status = layer->next->read(layer->next->self, seen, data, bytes);
  layer->next->release(layer->next->self, seen);
  return status;
}

void BURN_API_CALL burn__autocast_retain(void *self, BurnPrimitive *x) {
  (void)self;
  atomic_fetch_add_explicit(&autocast_tensor(x)->references, 1u, memory_order_relaxed);
}

void BURN_API_CALL burn__autocast_release(void *self, BurnPrimitive *x) {
  AutocastLayer *layer = self;
  if (!x) return;
  AutocastTensor *tensor = autocast_tensor(x);
  if (atomic_fetch_sub_explicit(&tensor->references, 1u, memory_order_acq_rel) != 1u) return;
  if (tensor->cast) {
    atomic_fetch_sub_explicit(&layer->kept, 1, memory_order_relaxed);
    layer->next->release(layer->next->self, tensor->cast);
  }
  if (tensor->turned) burn__autocast_release(layer, &tensor->turned->header);
  layer->next->release(layer->next->self, tensor->held);
  layer->host->free(tensor, sizeof *tensor);
}

/* What the level below sees has the dtype that the program sees, so a tensor that is held in halves is cast, and keeps
 * the cast: the result is borrowed. NULL when the cast fails. */
BurnPrimitive *BURN_API_CALL burn__autocast_unwrap(void *self, BurnPrimitive *x) {
  AutocastLayer *layer = self;
  AutocastTensor *tensor = autocast_tensor(x);
  BurnPrimitive *seen = NULL;
  if (tensor->held->dtype == x->dtype) return tensor->held;
  pthread_mutex_lock(&layer->mutex);
  seen = tensor->cast; /* of a tensor held in halves there is one cast, and it is never replaced */
  pthread_mutex_unlock(&layer->mutex);
  if (seen) return seen;
  if (cast(layer, tensor, x->dtype, &seen) != BURN_OK) return NULL;
  pthread_mutex_lock(&layer->mutex);
  BurnPrimitive *first = tensor->cast;
  if (!first) tensor->cast = seen;
  pthread_mutex_unlock(&layer->mutex);
  if (!first) {
    atomic_fetch_add_explicit(&layer->kept, 1, memory_order_relaxed);
    return seen;
  }
  layer->next->release(layer->next->self, seen); /* another thread was quicker */
  return first;
}

BurnStatus BURN_API_CALL burn__autocast_adopt(void *self, BurnPrimitive *inner, BurnPrimitive **out) {
  const AutocastLayer *layer = self;
  layer->next->retain(layer->next->self, inner);
  return burn__autocast_wrap(layer, inner, inner->dtype, out);
}
