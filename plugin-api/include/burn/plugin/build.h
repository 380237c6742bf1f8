/* build.h - write an op with other ops: for decompositions and gradient rules.
 *
 * A builder runs calls on one backend through host->invoke. Results are borrowed from the builder, which releases them
 * all at the end; burn_build_give hands one out with a reference of its own. The first failure sticks: later steps see
 * NULL inputs and do nothing, so a formula is written straight down and checked once, by burn_builder_end.
 *
 *   BurnBuilder b = burn_builder_begin(host, backend);
 *   BurnPrimitive *y = burn_build_mul(&b, x, burn_build_op1(&b, BURN_OP_sigmoid, x));
 *   outputs[0] = burn_build_give(&b, y);
 *   return burn_builder_end(&b);
 */
#ifndef BURN_PLUGIN_BUILD_H
#define BURN_PLUGIN_BUILD_H

#include <burn/plugin/backend.h>

/* The builder; by value, its members are for the functions below. */
#if !defined(BURN_NO_INLINE)
#include <string.h>

/* The state of a builder. Its layout is not part of the ABI: plugins and host each compile their own. */
typedef struct BurnBuilder {
  const BurnHost *host;
  const BurnBackend *backend;
  BurnStatus status;        /* the first failure */
  uint32_t count, capacity; /* of owned */
  BurnPrimitive **owned;    /* points at first until it is full */
  BurnPrimitive *first[24];
  uint32_t flags;  /* BURN_CALL_* of every call that it makes */
  uint32_t origin; /* the op that it writes with others; 0: none */
  uint32_t last_count;
  uint32_t reserved;
  BurnPrimitive *last[BURN_MAX_FIXED_INPUTS]; /* results whose next use is the last one: given away by it */
} BurnBuilder;

/* An empty builder for one backend. burn_builder_end releases what it holds. */
static inline BurnBuilder burn_builder_begin(const BurnHost *host, const BurnBackend *backend) {
  BurnBuilder b;
  b.host = host;
  b.backend = backend;
  b.status = BURN_OK;
  b.count = 0;
  b.capacity = 24;
  b.owned = NULL;
  b.flags = 0;
  b.origin = 0;
  b.last_count = 0;
  b.reserved = 0;
  return b;
}

/* For a decomposition, a gradient rule or a decorator that rewrites `call`: the calls it makes carry the flags of that
 * one, and say which op they are a part of. */
static inline BurnBuilder burn_builder_begin_for(const BurnHost *host, const BurnBackend *backend,
                                                 const BurnOpCall *call) {
  BurnBuilder b = burn_builder_begin(host, backend);
  b.flags = call->flags;
  b.origin = call->origin ? call->origin : call->op;
  return b;
}

/* Releases all results and returns the first failure. */
static inline BurnStatus burn_builder_end(BurnBuilder *b) {
  BurnPrimitive **owned = b->owned ? b->owned : b->first;
  uint32_t i;
  for (i = 0; i < b->count; i++) b->backend->release(b->backend->self, owned[i]);
  for (i = 0; i < b->last_count; i++) b->backend->release(b->backend->self, b->last[i]);
  b->last_count = 0;
  if (b->owned) b->host->free(b->owned, b->capacity * sizeof(BurnPrimitive *));
  b->owned = NULL;
  b->count = 0;
  return b->status;
}

/* Ends a decomposition: gives `results` [call->output_count] out as the outputs of the call, all or none, and releases
 * the rest. A result that is NULL without an earlier failure is a failure. */
static inline BurnStatus burn_builder_finish(BurnBuilder *b, const BurnOpCall *call, BurnPrimitive *const *results) {
  uint32_t i;
  for (i = 0; i < call->output_count && b->status == BURN_OK; i++) {
    if (!results[i])
      b->status = (b->host->fail)(BURN_STATUS_INTERNAL, __FILE__, __LINE__, "a decomposition gave no result");
  }
  for (i = 0; i < call->output_count && b->status == BURN_OK; i++) {
    b->backend->retain(b->backend->self, results[i]);
    call->outputs[i] = results[i];
  }
  return burn_builder_end(b);
}

/* Records a failure found by the caller; the first one wins. */
static inline void burn_builder_fail(BurnBuilder *b, BurnStatus status) {
  if (b->status == BURN_OK) b->status = status;
}

/* Makes the builder the owner of a reference. Returns x. */
static inline BurnPrimitive *burn_build_own(BurnBuilder *b, BurnPrimitive *x) {
  if (!x) return NULL;
  if (b->count == b->capacity) {
    const uint64_t bytes = b->capacity * sizeof(BurnPrimitive *);
    BurnPrimitive **more = (BurnPrimitive **)b->host->allocate(bytes * 2);
    if (!more) {
      b->backend->release(b->backend->self, x);
      burn_builder_fail(b, (BurnStatus)BURN_STATUS_OUT_OF_MEMORY);
      return NULL;
    }
    memcpy(more, b->owned ? b->owned : b->first, (size_t)bytes);
    if (b->owned) b->host->free(b->owned, bytes);
    b->owned = more;
    b->capacity *= 2;
  }
  (b->owned ? b->owned : b->first)[b->count++] = x;
  return x;
}

/* Says that the next call which has x among its inputs is the last use of it: the backend may write the result into its
 * storage. x is a result of this builder and no result of the op; others stay as they are. Returns x. */
static inline BurnPrimitive *burn_build_last_use(BurnBuilder *b, BurnPrimitive *x) {
  BurnPrimitive **owned = b->owned ? b->owned : b->first;
  uint32_t i = b->count;
  if (!x || b->last_count == BURN_MAX_FIXED_INPUTS) return x;
  while (i > 0 && owned[i - 1] != x) i--;
  if (i == 0) return x;
  owned[i - 1] = owned[--b->count];
  b->last[b->last_count++] = x;
  return x;
}

/* The inputs that are used for the last time, as the bits of `donate`. */
static inline uint64_t burn_builder_donate(const BurnBuilder *b, uint32_t input_count, BurnPrimitive *const *inputs) {
  uint64_t bits = 0;
  uint32_t i, k, uses;
  for (k = 0; k < b->last_count; k++) {
    uint32_t at = 0;
    for (i = 0, uses = 0; i < input_count; i++) {
      if (inputs[i] != b->last[k]) continue;
      at = i;
      uses++;
    }
    if (uses == 1 && at < 64) bits |= (uint64_t)1 << at;
  }
  return bits;
}

/* After a call: what it used for the last time is released. */
static inline void burn_builder_drop_used(BurnBuilder *b, uint32_t input_count, BurnPrimitive *const *inputs) {
  uint32_t i, k, kept = 0;
  for (k = 0; k < b->last_count; k++) {
    BurnPrimitive *x = b->last[k];
    for (i = 0; i < input_count && inputs[i] != x; i++) continue;
    if (i < input_count) {
      b->backend->release(b->backend->self, x);
    } else {
      b->last[kept++] = x;
    }
  }
  b->last_count = kept;
}

/* A reference to x for the caller, to be stored as a result; NULL after a failure. */
static inline BurnPrimitive *burn_build_give(BurnBuilder *b, BurnPrimitive *x) {
  if (b->status != BURN_OK || !x) return NULL;
  b->backend->retain(b->backend->self, x);
  return x;
}

/* One op with several results, which are written to out (NULL after a failure). An absent optional input is NULL;
 * required inputs that are NULL come from an earlier failure. */
static inline void burn_build_call(BurnBuilder *b, uint32_t op, uint32_t input_count, BurnPrimitive *const *inputs,
                                   uint32_t attr_count, const BurnAttr *attrs, uint32_t output_count,
                                   BurnPrimitive **out) {
  BurnOpCall call;
  BurnStatus status;
  uint32_t i;
  for (i = 0; i < output_count; i++) out[i] = NULL;
  if (b->status != BURN_OK) return;
  memset(&call, 0, sizeof call);
  call.struct_size = (uint32_t)sizeof call;
  call.op = op;
  call.attr_count = attr_count;
  call.input_count = input_count;
  call.output_count = output_count;
  call.inputs = inputs;
  call.outputs = out;
  call.attrs = attrs;
  call.flags = b->flags;
  call.origin = b->origin;
  if (b->last_count) call.donate = burn_builder_donate(b, input_count, inputs);
  status = b->host->invoke(b->backend, &call);
  if (b->last_count) burn_builder_drop_used(b, input_count, inputs);
  if (status != BURN_OK) {
    burn_builder_fail(b, status);
    return;
  }
  for (i = 0; i < output_count; i++) out[i] = burn_build_own(b, out[i]);
}

/* One op with one result. */
static inline BurnPrimitive *burn_build(BurnBuilder *b, uint32_t op, uint32_t input_count, BurnPrimitive *const *inputs,
                                        uint32_t attr_count, const BurnAttr *attrs) {
  BurnPrimitive *out = NULL;
  burn_build_call(b, op, input_count, inputs, attr_count, attrs, 1, &out);
  return out;
}

/* -- shorthands: the number in the name counts the inputs ------------------------------------- */

/* An op without attributes, with one result, which is borrowed; NULL after a failure. */
static inline BurnPrimitive *burn_build_op1(BurnBuilder *b, uint32_t op, BurnPrimitive *x) {
  return burn_build(b, op, 1, &x, 0, NULL);
}
static inline BurnPrimitive *burn_build_op2(BurnBuilder *b, uint32_t op, BurnPrimitive *x, BurnPrimitive *y) {
  BurnPrimitive *inputs[2];
  inputs[0] = x;
  inputs[1] = y;
  return burn_build(b, op, 2, inputs, 0, NULL);
}
static inline BurnPrimitive *burn_build_op3(BurnBuilder *b, uint32_t op, BurnPrimitive *x, BurnPrimitive *y,
                                            BurnPrimitive *z) {
  BurnPrimitive *inputs[3];
  inputs[0] = x;
  inputs[1] = y;
  inputs[2] = z;
  return burn_build(b, op, 3, inputs, 0, NULL);
}
/* An op with one number: add_scalar, powf_scalar, clamp_min, greater_scalar ... What reaches beyond 2^53 is given to
 * burn_build as burn_attr_i64. */
static inline BurnPrimitive *burn_build_scalar(BurnBuilder *b, uint32_t op, BurnPrimitive *x, double value) {
  const BurnAttr attr = burn_attr_f64(value);
  return burn_build(b, op, 1, &x, 1, &attr);
}
/* An op with a dim as its first attribute: sum_dim, max_dim, argmax ... */
static inline BurnPrimitive *burn_build_dim(BurnBuilder *b, uint32_t op, BurnPrimitive *x, int64_t dim) {
  const BurnAttr attr = burn_attr_i64(dim);
  return burn_build(b, op, 1, &x, 1, &attr);
}
/* The same with two inputs: select, gather. */
static inline BurnPrimitive *burn_build_dim2(BurnBuilder *b, uint32_t op, BurnPrimitive *x, BurnPrimitive *y,
                                             int64_t dim) {
  const BurnAttr attr = burn_attr_i64(dim);
  BurnPrimitive *inputs[2];
  inputs[0] = x;
  inputs[1] = y;
  return burn_build(b, op, 2, inputs, 1, &attr);
}
/* The same with three: select_assign and scatter, which then add. */
static inline BurnPrimitive *burn_build_dim3(BurnBuilder *b, uint32_t op, BurnPrimitive *x, BurnPrimitive *y,
                                             BurnPrimitive *z, int64_t dim) {
  const BurnAttr attr = burn_attr_i64(dim);
  BurnPrimitive *inputs[3];
  inputs[0] = x;
  inputs[1] = y;
  inputs[2] = z;
  return burn_build(b, op, 3, inputs, 1, &attr);
}
/* An op whose one attribute is a list of integers: reshape, permute, expand. */
static inline BurnPrimitive *burn_build_i64s(BurnBuilder *b, uint32_t op, BurnPrimitive *x, const int64_t *values,
                                             uint32_t count) {
  const BurnAttr attr = burn_attr_i64s(values, count);
  return burn_build(b, op, 1, &x, 1, &attr);
}
static inline BurnPrimitive *burn_build_reshape(BurnBuilder *b, BurnPrimitive *x, const int64_t *shape, uint32_t rank) {
  return burn_build_i64s(b, BURN_OP_reshape, x, shape, rank);
}
static inline BurnPrimitive *burn_build_permute(BurnBuilder *b, BurnPrimitive *x, const int64_t *axes, uint32_t rank) {
  return burn_build_i64s(b, BURN_OP_permute, x, axes, rank);
}
static inline BurnPrimitive *burn_build_expand(BurnBuilder *b, BurnPrimitive *x, const int64_t *shape, uint32_t rank) {
  return burn_build_i64s(b, BURN_OP_expand, x, shape, rank);
}
static inline BurnPrimitive *burn_build_cast(BurnBuilder *b, BurnPrimitive *x, BurnDType dtype) {
  const BurnAttr attr = burn_attr_dtype(dtype);
  return burn_build(b, BURN_OP_cast, 1, &x, 1, &attr);
}
/* A tensor of one value. */
static inline BurnPrimitive *burn_build_full(BurnBuilder *b, const int64_t *shape, uint32_t rank, BurnDType dtype,
                                             double value) {
  BurnAttr attrs[3];
  attrs[0] = burn_attr_i64s(shape, rank);
  attrs[1] = burn_attr_dtype(dtype);
  attrs[2] = burn_attr_f64(value);
  return burn_build(b, BURN_OP_full, 0, NULL, 3, attrs);
}
/* The last two axes swapped. */
static inline BurnPrimitive *burn_build_transpose(BurnBuilder *b, BurnPrimitive *x) {
  int64_t axes[BURN_MAX_RANK];
  uint32_t i;
  if (!x || x->rank < 2) return NULL;
  for (i = 0; i < x->rank; i++) axes[i] = (int64_t)i;
  axes[x->rank - 1] = (int64_t)x->rank - 2;
  axes[x->rank - 2] = (int64_t)x->rank - 1;
  return burn_build_permute(b, x, axes, x->rank);
}

/* Arithmetic of two tensors, broadcast. */
#define burn_build_add(b, x, y) burn_build_op2(b, BURN_OP_add, x, y)
#define burn_build_sub(b, x, y) burn_build_op2(b, BURN_OP_sub, x, y)
#define burn_build_mul(b, x, y) burn_build_op2(b, BURN_OP_mul, x, y)
#define burn_build_div(b, x, y) burn_build_op2(b, BURN_OP_div, x, y)

#endif

#endif
