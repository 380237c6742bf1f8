/* pass_through.h - the generic part of a decorator that does not wrap tensors: every function forwards to the next
 * backend.
 *
 * A decorator's state starts with a BurnDecorator; burn_decorator_forward fills the whole table, then the decorator
 * replaces the functions it cares about (usually submit alone). Ops it has never heard of pass through by construction.
 * trace is the example. */
#ifndef BURN_PLUGIN_PASS_THROUGH_H
#define BURN_PLUGIN_PASS_THROUGH_H

#include <burn/plugin/backend.h>

/* First member of a decorator's state. */
typedef struct BurnDecorator {
  const BurnHost *host;
  const BurnBackend *next;
} BurnDecorator;

static inline uint32_t BURN_API_CALL burn_decorator_op_support(void *self, uint32_t op) {
  (void)self;
  (void)op;
  return BURN_SUPPORT_YES; /* submit goes through host->invoke, which decomposes for the decorator below */
}
static inline BurnStatus BURN_API_CALL burn_decorator_submit(void *self, const BurnOpCall *call) {
  const BurnDecorator *decorator = (const BurnDecorator *)self;
  return decorator->host->invoke(decorator->next, call);
}
static inline BurnStatus BURN_API_CALL burn_decorator_create(void *self, const BurnTensorDesc *desc, const void *data,
                                                             BurnPrimitive **out) {
  const BurnBackend *next = ((const BurnDecorator *)self)->next;
  return next->create(next->self, desc, data, out);
}
static inline BurnStatus BURN_API_CALL burn_decorator_read(void *self, BurnPrimitive *x, void *data, uint64_t bytes) {
  const BurnBackend *next = ((const BurnDecorator *)self)->next;
  return next->read(next->self, x, data, bytes);
}
static inline void BURN_API_CALL burn_decorator_retain(void *self, BurnPrimitive *x) {
  const BurnBackend *next = ((const BurnDecorator *)self)->next;
  next->retain(next->self, x);
}
static inline void BURN_API_CALL burn_decorator_release(void *self, BurnPrimitive *x) {
  const BurnBackend *next = ((const BurnDecorator *)self)->next;
  next->release(next->self, x);
}
static inline BurnStatus BURN_API_CALL burn_decorator_sync(void *self) {
  const BurnBackend *next = ((const BurnDecorator *)self)->next;
  return next->sync(next->self);
}
static inline uint32_t BURN_API_CALL burn_decorator_dtype_usage(void *self, BurnDType dtype) {
  const BurnBackend *next = ((const BurnDecorator *)self)->next;
  return next->dtype_usage(next->self, dtype);
}
static inline BurnStatus BURN_API_CALL burn_decorator_query(void *self, uint32_t key, int64_t *out) {
  const BurnBackend *next = ((const BurnDecorator *)self)->next;
  return next->query(next->self, key, out);
}
static inline BurnStatus BURN_API_CALL burn_decorator_trim(void *self) {
  const BurnBackend *next = ((const BurnDecorator *)self)->next;
  return next->trim(next->self);
}

/* Fills every slot of `out` that a decorator without wrapped tensors needs, except close and name. `decorator` is the
 * decorator's state and becomes `self`. */
static inline void burn_decorator_forward(BurnBackend *out, BurnDecorator *decorator) {
  out->self = decorator;
  out->op_support = burn_decorator_op_support;
  out->submit = burn_decorator_submit;
  out->create = burn_decorator_create;
  out->read = burn_decorator_read;
  out->retain = burn_decorator_retain;
  out->release = burn_decorator_release;
  out->sync = burn_decorator_sync;
  out->dtype_usage = burn_decorator_dtype_usage;
  out->query = burn_decorator_query;
  out->trim = burn_decorator_trim;
}

#endif
