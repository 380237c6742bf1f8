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

BurnStatus burn__autocast_check_owner(const AutocastDecorator *decorator, const BurnPrimitive *x, const char *what) {
  if (x->owner == decorator->owner) return BURN_OK;
  return AUTOCAST_FAIL(decorator, BAD_OWNER, "%s: the tensor belongs to instance %u, this decorator is instance %u",
                       what, x->owner, decorator->owner);
}

BurnStatus burn__autocast_wrap(const AutocastDecorator *decorator, BurnPrimitive *held, BurnDType dtype,
                               BurnPrimitive **out) {
  AutocastTensor *x = decorator->host->allocate(sizeof *x);
  if (!x) {
    decorator->next->release(decorator->next->self, held);
    return AUTOCAST_FAIL(decorator, OUT_OF_MEMORY, "no memory for a tensor of %u bytes", (unsigned)sizeof *x);
  }
  x->header = (BurnPrimitive){.struct_size = (uint32_t)sizeof x->header,
                              .flags = held->flags & (uint32_t)BURN_PRIMITIVE_TRACKED,
                              .owner = decorator->owner,
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
static BurnStatus invoke(const AutocastDecorator *decorator, uint32_t op, BurnPrimitive *x, BurnAttr attr,
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
  return decorator->host->annotate(decorator->host->invoke(decorator->next, &call), "autocast");
}

static BurnStatus cast(AutocastDecorator *decorator, const AutocastTensor *x, BurnDType dtype, BurnPrimitive **out) {
  if (!x->turned) return invoke(decorator, BURN_OP_cast, x->held, burn_attr_dtype(dtype), out);
  BurnPrimitive *straight = NULL;
  BurnStatus status = burn__autocast_as(decorator, x->turned, dtype, true, &straight);
  if (status != BURN_OK) return status;
  status = invoke(decorator, BURN_OP_permute, straight, burn_attr_i64s(x->axes, x->header.rank), out);
  decorator->next->release(decorator->next->self, straight);
  return status;
}

/* The cast that is there, with a reference, or NULL. A tracked one is a node of a graph: it is for the thread that
 * records that graph, as two threads cannot walk back through one node at the same time. */
static BurnPrimitive *kept_cast(AutocastDecorator *decorator, const AutocastTensor *x, BurnDType dtype) {
  pthread_mutex_lock(&decorator->mutex);
  BurnPrimitive *found = x->cast;
  if (found && found->dtype != dtype) found = NULL;
  if (found && (found->flags & BURN_PRIMITIVE_TRACKED) && x->cast_by != this_thread()) found = NULL;
  if (found) decorator->next->retain(decorator->next->self, found);
  pthread_mutex_unlock(&decorator->mutex);
  return found;
}

static void keep_cast(AutocastDecorator *decorator, AutocastTensor *x, BurnPrimitive *made) {
  decorator->next->retain(decorator->next->self, made);
  pthread_mutex_lock(&decorator->mutex);
  BurnPrimitive *old = x->cast;
  x->cast = made;
  x->cast_by = this_thread();
  pthread_mutex_unlock(&decorator->mutex);
  if (!old) atomic_fetch_add_explicit(&decorator->kept, 1, memory_order_relaxed);
  if (old) decorator->next->release(decorator->next->self, old);
}

BurnStatus burn__autocast_as(AutocastDecorator *decorator, AutocastTensor *x, BurnDType dtype, bool keep,
                             BurnPrimitive **out) {
  if (x->held->dtype == dtype) {
    decorator->next->retain(decorator->next->self, x->held);
    *out = x->held;
    return BURN_OK;
  }
  *out = kept_cast(decorator, x, dtype);
  if (*out) return BURN_OK;
  const BurnStatus status = cast(decorator, x, dtype, out);
  if (status == BURN_OK && keep) keep_cast(decorator, x, *out);
  return status;
}

/* -- functions of the table ------------------------------------------------------------------- */

BurnStatus BURN_API_CALL burn__autocast_create(void *self, const BurnTensorDesc *desc, const void *data,
                                               BurnPrimitive **out) {
  AutocastDecorator *decorator = self;
  BurnPrimitive *held = NULL;
  BurnStatus status = decorator->next->create(decorator->next->self, desc, data, &held);
  if (status == BURN_OK) status = burn_common_check_given(decorator->host, decorator->next, "create", desc, &held);
  return status == BURN_OK ? burn__autocast_wrap(decorator, held, desc->dtype, out) : status;
}

BurnStatus BURN_API_CALL burn__autocast_read(void *self, BurnPrimitive *x, void *data, uint64_t bytes) {
  AutocastDecorator *decorator = self;
  BurnPrimitive *seen = NULL;
  BurnStatus status = burn__autocast_check_owner(decorator, x, "read");
  if (status == BURN_OK) status = burn__autocast_as(decorator, autocast_tensor(x), x->dtype, false, &seen);
  if (status != BURN_OK) return status;
  status = decorator->next->read(decorator->next->self, seen, data, bytes);
  decorator->next->release(decorator->next->self, seen);
  return status;
}

void BURN_API_CALL burn__autocast_retain(void *self, BurnPrimitive *x) {
  (void)self;
  atomic_fetch_add_explicit(&autocast_tensor(x)->references, 1u, memory_order_relaxed);
}

void BURN_API_CALL burn__autocast_release(void *self, BurnPrimitive *x) {
  AutocastDecorator *decorator = self;
  if (!x) return;
  AutocastTensor *tensor = autocast_tensor(x);
  if (atomic_fetch_sub_explicit(&tensor->references, 1u, memory_order_acq_rel) != 1u) return;
  if (tensor->cast) {
    atomic_fetch_sub_explicit(&decorator->kept, 1, memory_order_relaxed);
    decorator->next->release(decorator->next->self, tensor->cast);
  }
  if (tensor->turned) burn__autocast_release(decorator, &tensor->turned->header);
  decorator->next->release(decorator->next->self, tensor->held);
  decorator->host->free(tensor, sizeof *tensor);
}

/* What the level below sees has the dtype that the program sees, so a tensor that is held in halves is cast, and keeps
 * the cast: the result is borrowed. NULL when the cast fails. */
BurnPrimitive *BURN_API_CALL burn__autocast_unwrap(void *self, BurnPrimitive *x) {
  AutocastDecorator *decorator = self;
  AutocastTensor *tensor = autocast_tensor(x);
  BurnPrimitive *seen = NULL;
  if (tensor->held->dtype == x->dtype) return tensor->held;
  pthread_mutex_lock(&decorator->mutex);
  seen = tensor->cast; /* of a tensor held in halves there is one cast, and it is never replaced */
  pthread_mutex_unlock(&decorator->mutex);
  if (seen) return seen;
  if (cast(decorator, tensor, x->dtype, &seen) != BURN_OK) return NULL;
  pthread_mutex_lock(&decorator->mutex);
  BurnPrimitive *first = tensor->cast;
  if (!first) tensor->cast = seen;
  pthread_mutex_unlock(&decorator->mutex);
  if (!first) {
    atomic_fetch_add_explicit(&decorator->kept, 1, memory_order_relaxed);
    return seen;
  }
  decorator->next->release(decorator->next->self, seen); /* another thread was quicker */
  return first;
}

BurnStatus BURN_API_CALL burn__autocast_adopt(void *self, BurnPrimitive *inner, BurnPrimitive **out) {
  const AutocastDecorator *decorator = self;
  decorator->next->retain(decorator->next->self, inner);
  return burn__autocast_wrap(decorator, inner, inner->dtype, out);
}
