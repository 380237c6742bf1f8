/* stack_forward.c - a decorator's table where it leaves functions to the level below: one that wraps tensors leaves
 * those that get none.
 *
 * A table has one `self`, and a function of the level below needs another one. So the table that others see has the
 * instance as its self and functions of this file, which call the decorator's or those below. Only decorators that
 * leave something out pay for it. */
#include "core_internal.h"

#include <burn/plugin/pass_on.h>

static BurnInstance *instance_of(void *self) { return self; }

/* Calls the slot of the decorator, or the one below with the arguments that follow self. */
#define FORWARD(slot, ...)                                                                        \
  do {                                                                                            \
    const BurnBackend *const own = &instance_of(self)->own;                                       \
    const BurnBackend *const below = &instance_of(self)->next->backend;                           \
    return own->slot ? own->slot(own->self, __VA_ARGS__) : below->slot(below->self, __VA_ARGS__); \
  } while (0)
#define FORWARD_ALONE(slot)                                             \
  do {                                                                  \
    const BurnBackend *const own = &instance_of(self)->own;             \
    const BurnBackend *const below = &instance_of(self)->next->backend; \
    return own->slot ? own->slot(own->self) : below->slot(below->self); \
  } while (0)

static void BURN_API_CALL forward_close(void *self) {
  const BurnBackend *own = &instance_of(self)->own;
  own->close(own->self);
}
/* The level below has been asked already for what its version knows. Ops of packs have kernels that the host runs for
 * a backend that knows nothing of them: they arrive there whole. */
static uint32_t BURN_API_CALL forward_op_support(void *self, uint32_t op) {
  const BurnBackend *own = &instance_of(self)->own;
  BurnInstance *below = instance_of(self)->next;
  if (own->op_support) return own->op_support(own->self, op);
  if (op < BURN_OP_LIMIT) return below->support[op] & ~(uint32_t)BURN__SUPPORT_OLDER;
  if (!below->next && burn__pack_runs_kernel(below, op, 0)) return BURN_SUPPORT_YES;
  return below->backend.op_support(below->backend.self, op);
}
static int32_t BURN_API_CALL forward_supports(void *self, const BurnOpCall *call, char *why, uint64_t why_bytes) {
  FORWARD(supports, call, why, why_bytes);
}
/* The level below may have to be left out of the op: it is invoked, not submitted to. */
static BurnStatus BURN_API_CALL forward_submit(void *self, const BurnOpCall *call) {
  const BurnBackend *own = &instance_of(self)->own;
  return own->submit ? own->submit(own->self, call) : burn__invoke(&instance_of(self)->next->backend, call);
}
static BurnStatus BURN_API_CALL forward_create(void *self, const BurnTensorDesc *desc, const void *data,
                                               BurnPrimitive **out) {
  FORWARD(create, desc, data, out);
}
static BurnStatus BURN_API_CALL forward_read(void *self, BurnPrimitive *x, void *data, uint64_t bytes) {
  FORWARD(read, x, data, bytes);
}
static void BURN_API_CALL forward_retain(void *self, BurnPrimitive *x) {
  const BurnBackend *own = &instance_of(self)->own, *from = own->retain ? own : &instance_of(self)->next->backend;
  from->retain(from->self, x);
}
static void BURN_API_CALL forward_release(void *self, BurnPrimitive *x) {
  const BurnBackend *own = &instance_of(self)->own, *from = own->release ? own : &instance_of(self)->next->backend;
  from->release(from->self, x);
}
static BurnStatus BURN_API_CALL forward_sync(void *self) { FORWARD_ALONE(sync); }
static uint32_t BURN_API_CALL forward_dtype_usage(void *self, BurnDType dtype) { FORWARD(dtype_usage, dtype); }
static BurnStatus BURN_API_CALL forward_query(void *self, uint32_t key, int64_t *out) { FORWARD(query, key, out); }
static BurnStatus BURN_API_CALL forward_trim(void *self) { FORWARD_ALONE(trim); }
/* A decorator that has a submit sees every op, unless it says itself that it may miss some. */
static int32_t BURN_API_CALL forward_get_interface(void *self, const char *name, uint32_t min_version,
                                                   BurnInterface *out) {
  const BurnBackend *given = &instance_of(self)->own;
  if (given->submit && !given->get_interface && burn_runs_ops(name)) return 0;
  FORWARD(get_interface, name, min_version, out);
}

static BurnPrimitive *BURN_API_CALL forward_unwrap(void *self, BurnPrimitive *x) {
  const BurnBackend *own = &instance_of(self)->own;
  return own->unwrap(own->self, x);
}
static BurnStatus BURN_API_CALL forward_adopt(void *self, BurnPrimitive *inner, BurnPrimitive **out) {
  const BurnBackend *own = &instance_of(self)->own;
  return own->adopt(own->self, inner, out);
}

static bool is_full(const BurnBackend *b) {
  return b->op_support && b->supports && b->submit && b->create && b->read && b->retain && b->release && b->sync &&
         b->dtype_usage && b->query && b->trim && b->get_interface;
}

void burn__instance_forward(BurnInstance *instance) {
  BurnBackend *table = &instance->backend;
  if (is_full(table) || !table->close) return;
  instance->own = *table;
  *table = (BurnBackend){.struct_size = sizeof *table,
                         .owner = instance->own.owner,
                         .self = instance,
                         .name = instance->own.name,
                         .close = forward_close,
                         .op_support = forward_op_support,
                         .supports = forward_supports,
                         .submit = forward_submit,
                         .create = forward_create,
                         .read = forward_read,
                         .retain = forward_retain,
                         .release = forward_release,
                         .sync = forward_sync,
                         .dtype_usage = forward_dtype_usage,
                         .query = forward_query,
                         .trim = forward_trim,
                         .get_interface = forward_get_interface,
                         .unwrap = instance->wraps_tensors ? forward_unwrap : NULL,
                         .adopt = instance->wraps_tensors ? forward_adopt : NULL};
}
