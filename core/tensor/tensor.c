/* tensor.c - handles: the only code that touches their life.
 *
 * A handle owns one reference to a primitive; burn_clone makes a second handle to the same primitive, so the reference
 * count that decides about writing in place is the primitive's own, kept by its backend. Ops take handles: core gives
 * every input away with the donate mask, and the backend overwrites it only if nobody else holds it.
 *
 * Guards and scopes (guard.h) are told of every handle that comes and goes; while there are neither, one look at
 * burn__watch is all that they cost. */
#include "guard.h"

#include <stdlib.h>
#include <string.h>

static _Alignas(64) BurnTensor out_of_memory = {.state = BURN__HANDLE_LIVE, .status = BURN_STATUS_OUT_OF_MEMORY};

bool burn__tensor_is_shared(const BurnTensor *x) { return x == &out_of_memory; }

static BURN__COLD void tell_made(BurnTensor *x) {
  if (burn__is_guarded()) burn__guard_made(x);
  burn__scope_enter(x);
}

static const char drop_name[] = "drop";

/* False if guards know that x is not a handle that could be taken. */
static BURN__COLD bool tell_taken(BurnTensor *x, const char *user) {
  if (burn__is_guarded() && !burn__guard_is_live(x)) {
    if (user == drop_name) burn__guard_report_drop(x); /* others have reported it when they checked x */
    return false;
  }
  if (burn__is_guarded()) burn__guard_taken(x, user);
  burn__scope_leave(x);
  return true;
}

/* Ops of packs have numbers far above the others, but are few. */
static inline uint16_t short_op(uint32_t op) {
  return (uint16_t)(op < BURN_OP_FIRST_OF_PACKS ? op : op - BURN_OP_FIRST_OF_PACKS + BURN_OP_LIMIT);
}

/* The guard and the ring are set where there are guards and scopes, and only looked at there. */
static inline void start(BurnTensor *x, uint32_t made_by, BurnStatus status) {
  x->state = BURN__HANDLE_LIVE;
  x->made_by = short_op(made_by);
  x->scope_depth = 0;
  x->status = status;
  x->message = NULL;
}

BurnTensor *burn__tensor_new(BurnDevice *device, BurnPrimitive *primitive, uint32_t made_by) {
  BurnTensor *x = burn__small_allocate(sizeof *x);
  if (!x) {
    device->top->backend.release(device->top->backend.self, primitive);
    return &out_of_memory;
  }
  start(x, made_by, BURN_OK);
  x->primitive = primitive;
  x->device = device;
  burn__device_retain(device);
  if (burn__watching()) tell_made(x);
  return x;
}

/* Another primitive for a handle, which stays where it is. */
BURN__INLINE void exchange_primitive(BurnTensor *x, BurnPrimitive *primitive) {
  const BurnBackend *backend = &x->device->top->backend;
  backend->release(backend->self, x->primitive);
  x->primitive = primitive;
  if (burn__watching()) burn__scope_enter(x);
}

BurnTensor *burn__tensor_become(BurnTensor *x, BurnPrimitive *primitive, uint32_t made_by) {
  x->made_by = short_op(made_by);
  exchange_primitive(x, primitive);
  return x;
}

BurnTensor *burn__tensor_replace(BurnTensor *x, BurnDevice *device, BurnPrimitive *primitive, const char *user) {
  BurnDevice *old = x->device;
  if (burn__is_guarded()) {
    BurnTensor *result = burn__tensor_new(device, primitive, burn__tensor_made_by(x));
    burn__tensor_take(x, user);
    return result;
  }
  exchange_primitive(x, primitive);
  if (device == old) return x;
  burn__device_retain(device);
  x->device = device;
  burn__device_release(old);
  return x;
}

BurnTensor *burn__tensor_failed(BurnStatus status) {
  if (burn_status_code(status) == BURN_STATUS_OUT_OF_MEMORY && status >> 8 == 0) return &out_of_memory;
  BurnTensor *x = burn__small_allocate(sizeof *x);
  if (!x) return &out_of_memory;
  start(x, 0, status);
  x->primitive = NULL;
  x->device = NULL;
  x->message = burn__text_copy(burn_status_message(status));
  burn__guards_decide();
  if (burn__watching()) tell_made(x);
  return x;
}

BurnTensor *burn_tensor_failed(BurnStatus status) {
  return burn__tensor_failed(
      status != BURN_OK ? status : BURN_FAIL(INTERNAL, "a failed tensor was asked for without a failure"));
}

BURN__COLD BurnStatus burn__tensor_carried_status(const BurnTensor *x) {
  return burn__status_again(burn_status_code(x->status), x->message ? x->message : burn_status_text(x->status));
}

static BURN__COLD BurnStatus check_closely(const BurnTensor *x, const char *user) {
  if (!x) return BURN_FAIL(INVALID_ARGUMENT, "%s: a tensor is NULL", user);
  const BurnStatus status = burn__is_guarded() ? burn__guard_check(x, user) : BURN_OK;
  return status == BURN_OK && x->status != BURN_OK ? burn__tensor_carried_status(x) : status;
}

BurnStatus burn__tensor_check(const BurnTensor *x, const char *user) {
  return !burn__is_guarded() && x && x->status == BURN_OK ? BURN_OK : check_closely(x, user);
}

/* Gives back what the handle holds; returns the device, whose reference is left. */
static inline BurnDevice *empty(BurnTensor *x) {
  BurnDevice *device = x->device;
  if (x->primitive) device->top->backend.release(device->top->backend.self, x->primitive);
  if (x->message) free(x->message);
  x->message = NULL;
  x->primitive = NULL;
  x->device = NULL;
  return device;
}

static BURN__COLD void take_watched(BurnTensor *x, const char *user) {
  if (!tell_taken(x, user)) return;
  BurnDevice *device = empty(x);
  if (burn__is_guarded() && x->guard) {
    burn__guard_retire(x);
  } else {
    burn__small_free(x, sizeof *x);
  }
  burn__device_release(device);
}

void burn__tensor_end(BurnTensor *x, const char *user) {
  if (burn__watching()) {
    take_watched(x, user);
    return;
  }
  BurnDevice *device = empty(x);
  burn__small_free(x, sizeof *x);
  burn__device_release(device);
}

void burn__tensor_take(BurnTensor *x, const char *user) {
  if (!x || x == &out_of_memory || !burn__work_enter()) return;
  burn__tensor_end(x, user);
  burn__work_leave();
}

void burn__tensor_take_all(BurnTensor *const *tensors, size_t count, const char *user) {
  for (size_t i = 0; tensors && i < count; i++) {
    bool again = false;
    for (size_t j = 0; j < i && !again; j++) again = tensors[j] == tensors[i];
    if (!again) burn__tensor_take(tensors[i], user);
  }
}

BurnTensor *burn_clone(const BurnTensor *x) {
  if (!x) return NULL;
  const BurnStatus status = burn__tensor_check(x, "clone");
  if (status != BURN_OK) return burn__tensor_failed(status);
  if (!burn__work_enter()) return burn__tensor_failed(burn__fork_failure());
  const BurnBackend *backend = &x->device->top->backend;
  backend->retain(backend->self, x->primitive);
  BurnTensor *result = burn__tensor_new(x->device, x->primitive, burn__tensor_made_by(x));
  burn__work_leave();
  return result;
}

void burn_drop(BurnTensor *x) { burn__tensor_take(x, drop_name); }

/* -- from host memory ------------------------------------------------------------------------- */

BurnStatus burn__check_storable(const BurnDevice *device, BurnDType dtype, const char *user) {
  const BurnBackend *backend = &device->top->backend;
  if (backend->dtype_usage(backend->self, dtype) & BURN_USAGE_STORE) return BURN_OK;
  return BURN_FAIL(INVALID_DTYPE, "%s: backend '%s' has no %s tensors", user, backend->name, burn_dtype_name(dtype));
}

BurnStatus burn__tensor_desc(const BurnDevice *device, BurnDType dtype, BurnShape shape, BurnTensorDesc *out) {
  if (burn_dtype_bytes(dtype) == 0) return BURN_FAIL(INVALID_DTYPE, "tensor: there is no dtype number %u", dtype);
  if (shape.rank < 1 || shape.rank > BURN_MAX_RANK)
    return BURN_FAIL(INVALID_SHAPE, "tensor: rank %u is not in 1..%u", shape.rank, BURN_MAX_RANK);
  *out = (BurnTensorDesc){.dtype = dtype, .rank = shape.rank};
  int64_t count = 1;
  for (uint32_t i = 0; i < shape.rank; i++) {
    if (shape.dims[i] < 0 || (shape.dims[i] > 0 && count > INT64_MAX / 16 / shape.dims[i])) {
      BurnShapeText text;
      return BURN_FAIL(INVALID_SHAPE, "tensor: shape %s is not possible",
                       burn__shape_text(&text, shape.rank, shape.dims));
    }
    out->shape[i] = shape.dims[i];
    count *= shape.dims[i] ? shape.dims[i] : 1;
  }
  return burn__check_storable(device, dtype, "tensor");
}

/* With `empty` there is no data, and the values are undefined. */
static BurnTensor *create(BurnDevice *device, const void *data, BurnDType dtype, BurnShape shape, bool empty) {
  BurnTensorDesc desc;
  BurnStatus status = burn__device_status(device);
  if (status == BURN_OK) status = burn__tensor_desc(device, dtype, shape, &desc);
  if (status != BURN_OK) return burn__tensor_failed(status);
  if (!data && !empty && burn_desc_count(&desc) > 0) {
    return burn__tensor_failed(BURN_FAIL(INVALID_ARGUMENT, "tensor: the data is NULL"));
  }
  if (!burn__work_enter()) return burn__tensor_failed(burn__fork_failure());
  const BurnBackend *backend = &device->top->backend;
  BurnPrimitive *primitive = NULL;
  status = burn__backend_create(backend, &desc, data, &primitive);
  BurnTensor *result = status == BURN_OK ? burn__tensor_new(device, primitive, 0) : burn__tensor_failed(status);
  burn__work_leave();
  return result;
}

static BurnTensor *from_host(BurnDevice *device, const void *data, BurnDType dtype, BurnShape shape) {
  return create(device, data, dtype, shape, false);
}

/* Kernels count on bools being 0 or 1, so those are cleared. */
BurnTensor *burn_empty(BurnDevice *device, BurnShape shape, BurnDType dtype) {
  const BurnStatus status = burn__device_status(device);
  if (status != BURN_OK) return burn__tensor_failed(status);
  if (dtype == BURN_DTYPE_BOOL) return burn_zeros(device, shape, dtype);
  return create(device, NULL, dtype ? dtype : device->float_dtype, shape, true);
}

BurnTensor *burn_tensor_from(BurnDevice *device, const void *data, BurnDType dtype, BurnShape shape) {
  return from_host(device, data, dtype, shape);
}
BurnTensor *burn_tensor_f32(BurnDevice *device, const float *data, BurnShape shape) {
  return from_host(device, data, BURN_DTYPE_F32, shape);
}
BurnTensor *burn_tensor_f64(BurnDevice *device, const double *data, BurnShape shape) {
  return from_host(device, data, BURN_DTYPE_F64, shape);
}
BurnTensor *burn_tensor_i32(BurnDevice *device, const int32_t *data, BurnShape shape) {
  return from_host(device, data, BURN_DTYPE_I32, shape);
}
BurnTensor *burn_tensor_i64(BurnDevice *device, const int64_t *data, BurnShape shape) {
  return from_host(device, data, BURN_DTYPE_I64, shape);
}
BurnTensor *burn_tensor_u8(BurnDevice *device, const uint8_t *data, BurnShape shape) {
  return from_host(device, data, BURN_DTYPE_U8, shape);
}
BurnTensor *burn_tensor_bool(BurnDevice *device, const bool *data, BurnShape shape) {
  return from_host(device, data, BURN_DTYPE_BOOL, shape);
}

/* -- look at a tensor ------------------------------------------------------------------------- */

BURN__INLINE const BurnPrimitive *peek(const BurnTensor *x) {
  if (!x || (burn__is_guarded() && !burn__guard_is_live(x))) return NULL;
  return x->state == BURN__HANDLE_LIVE && x->status == BURN_OK ? x->primitive : NULL;
}

BurnStatus burn_tensor_status(const BurnTensor *x) { return burn__tensor_check(x, "status"); }

BurnShape burn_shape(const BurnTensor *x) {
  const BurnPrimitive *primitive = peek(x);
  BurnShape shape = {0, {0}};
  if (!primitive) return shape;
  shape.rank = primitive->rank;
  memcpy(shape.dims, primitive->shape, primitive->rank * sizeof shape.dims[0]);
  return shape;
}

uint32_t burn_rank(const BurnTensor *x) {
  const BurnPrimitive *primitive = peek(x);
  return primitive ? primitive->rank : 0;
}

int64_t burn_dim(const BurnTensor *x, int dim) {
  const BurnPrimitive *primitive = peek(x);
  if (!primitive) return -1;
  const int64_t axis = dim < 0 ? dim + (int64_t)primitive->rank : dim;
  return axis >= 0 && axis < (int64_t)primitive->rank ? primitive->shape[axis] : -1;
}

int64_t burn_element_count(const BurnTensor *x) {
  const BurnPrimitive *primitive = peek(x);
  return primitive ? burn_primitive_count(primitive) : 0;
}

BurnDType burn_dtype(const BurnTensor *x) {
  const BurnPrimitive *primitive = peek(x);
  return primitive ? primitive->dtype : BURN_DTYPE_DEFAULT;
}

BurnDevice *burn_tensor_device(const BurnTensor *x) { return peek(x) ? x->device : NULL; }
