/* pass_through.h - the generic part of a decorator that does not wrap tensors: every function forwards to the next
 * backend.
 *
 * A layer's state starts with a BurnLayer; burn_layer_forward fills the whole table, then the layer replaces the
 * functions it cares about (usually submit alone). Ops it has never heard of pass through by construction. trace is the
 * example. */
#ifndef BURN_PLUGIN_PASS_THROUGH_H
#define BURN_PLUGIN_PASS_THROUGH_H

#include <burn/plugin/backend.h>

/* First member of a layer's state. */
typedef struct BurnLayer {
  const BurnHost *host;
  const BurnBackend *next;
} BurnLayer;

static inline uint32_t BURN_CALL burn_layer_op_support(void *self, uint32_t op) {
  (void)self;
  (void)op;
  return BURN_SUPPORT_YES; /* submit goes through host->invoke, which decomposes for the layer below */
}
static inline BurnStatus BURN_CALL burn_layer_submit(void *self, const BurnOpCall *call) {
  const BurnLayer *layer = (const BurnLayer *)self;
  return layer->host->invoke(layer->next, call);
}
static inline BurnStatus BURN_CALL burn_layer_create(void *self, const BurnTensorDesc *desc, const void *data,
                                                     BurnPrimitive **out) {
  const BurnBackend *next = ((const BurnLayer *)self)->next;
  return next->create(next->self, desc, data, out);
}
static inline BurnStatus BURN_CALL burn_layer_read(void *self, BurnPrimitive *x, void *data, uint64_t bytes) {
  const BurnBackend *next = ((const BurnLayer *)self)->next;
  return next->read(next->self, x, data, bytes);
}
static inline void BURN_CALL burn_layer_retain(void *self, BurnPrimitive *x) {
  const BurnBackend *next = ((const BurnLayer *)self)->next;
  next->retain(next->self, x);
}
static inline void BURN_CALL burn_layer_release(void *self, BurnPrimitive *x) {
  const BurnBackend *next = ((const BurnLayer *)self)->next;
  next->release(next->self, x);
}
static inline BurnStatus BURN_CALL burn_layer_sync(void *self) {
  const BurnBackend *next = ((const BurnLayer *)self)->next;
  return next->sync(next->self);
}
static inline uint32_t BURN_CALL burn_layer_dtype_usage(void *self, BurnDType dtype) {
  const BurnBackend *next = ((const BurnLayer *)self)->next;
  return next->dtype_usage(next->self, dtype);
}
static inline BurnStatus BURN_CALL burn_layer_query(void *self, uint32_t key, int64_t *out) {
  const BurnBackend *next = ((const BurnLayer *)self)->next;
  return next->query(next->self, key, out);
}
static inline BurnStatus BURN_CALL burn_layer_trim(void *self) {
  const BurnBackend *next = ((const BurnLayer *)self)->next;
  return next->trim(next->self);
}

/* Fills every slot of `out` that a layer without wrapped tensors needs, except close and name. `layer` is the layer's
 * state and becomes `self`. */
static inline void burn_layer_forward(BurnBackend *out, BurnLayer *layer) {
  out->self = layer;
  out->op_support = burn_layer_op_support;
  out->submit = burn_layer_submit;
  out->create = burn_layer_create;
  out->read = burn_layer_read;
  out->retain = burn_layer_retain;
  out->release = burn_layer_release;
  out->sync = burn_layer_sync;
  out->dtype_usage = burn_layer_dtype_usage;
  out->query = burn_layer_query;
  out->trim = burn_layer_trim;
}

#endif
