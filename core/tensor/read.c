/* read.c - where data leaves tensors: read, convert, write back, move to another device. */
#include "guard.h"
#include "transfer.h"

#include <stdlib.h>

/* Borrowed: copies the elements in the tensor's own dtype. A tensor without elements is read, too: a decorator that
 * queues ops knows only then that one has failed. */
static BurnStatus read_raw(const BurnTensor *x, void *data, size_t bytes) {
  const BurnBackend *backend = &x->device->top->backend;
  char nothing;
  if (!burn__work_enter()) return burn__fork_failure();
  const BurnStatus status = backend->read(backend->self, x->primitive, bytes ? data : &nothing, bytes);
  burn__work_leave();
  return status;
}

static size_t bytes_of(const BurnTensor *x) {
  return (size_t)burn_primitive_count(x->primitive) * burn_dtype_bytes(x->primitive->dtype);
}

BurnStatus burn__check_target(const void *data, size_t size, const char *user) {
  return data || size == 0 ? BURN_OK : BURN_FAIL(INVALID_ARGUMENT, "%s: the buffer is NULL", user);
}

static BurnStatus check_room(const BurnTensor *x, const void *data, size_t bytes, const char *user) {
  const BurnStatus status = burn__tensor_check(x, user);
  if (status == BURN_OK && bytes == bytes_of(x)) return burn__check_target(data, bytes, user);
  if (status != BURN_OK) return status;
  BurnShapeText text;
  return BURN_FAIL(INVALID_ARGUMENT, "%s: the buffer holds %zu bytes, a %s tensor of shape %s has %zu", user, bytes,
                   burn_dtype_name(x->primitive->dtype),
                   burn__shape_text(&text, x->primitive->rank, x->primitive->shape), bytes_of(x));
}

BurnStatus burn_read(BurnTensor *x, void *data, size_t bytes) {
  BurnStatus status = check_room(x, data, bytes, "read");
  if (status == BURN_OK) status = read_raw(x, data, bytes);
  burn__tensor_take(x, "read");
  return status;
}

BurnStatus burn_read_all(BurnTensor *const *tensors, void *const *data, const size_t *bytes, size_t count) {
  BurnStatus status = BURN_OK;
  if (count && !(tensors && data && bytes)) status = BURN_FAIL(INVALID_ARGUMENT, "read_all: a list is NULL");
  for (size_t i = 0; i < count && status == BURN_OK; i++)
    status = check_room(tensors[i], data[i], bytes[i], "read_all");
  if (status == BURN_OK && count == 1) {
    status = read_raw(tensors[0], data[0], bytes[0]);
  } else if (status == BURN_OK) {
    status = burn__read_all(tensors, data, bytes, count);
  }
  burn__tensor_take_all(tensors, count, "read_all");
  return status;
}

/* Borrowed: all elements as another dtype. */
static BurnStatus read_as(const BurnTensor *x, void *data, BurnDType dtype, size_t count) {
  const BurnPrimitive *primitive = x->primitive;
  if (count != (size_t)burn_primitive_count(primitive)) {
    BurnShapeText text;
    return BURN_FAIL(INVALID_ARGUMENT, "read: the buffer holds %zu elements, a tensor of shape %s has %lld", count,
                     burn__shape_text(&text, primitive->rank, primitive->shape),
                     (long long)burn_primitive_count(primitive));
  }
  if (primitive->dtype == dtype) return read_raw(x, data, bytes_of(x));
  void *raw = malloc(bytes_of(x) ? bytes_of(x) : 1);
  if (!raw) return BURN_FAIL(OUT_OF_MEMORY, "read: no memory for %zu bytes", bytes_of(x));
  BurnStatus status = read_raw(x, raw, bytes_of(x));
  if (status == BURN_OK) status = burn__convert(raw, primitive->dtype, data, dtype, count);
  free(raw);
  return status;
}

static BurnStatus take_as(BurnTensor *x, void *data, BurnDType dtype, size_t count) {
  BurnStatus status = burn__tensor_check(x, "read");
  if (status == BURN_OK) status = burn__check_target(data, count, "read");
  if (status == BURN_OK) status = read_as(x, data, dtype, count);
  burn__tensor_take(x, "read");
  return status;
}

BurnStatus burn_read_f32(BurnTensor *x, float *data, size_t count) { return take_as(x, data, BURN_DTYPE_F32, count); }
BurnStatus burn_read_f64(BurnTensor *x, double *data, size_t count) { return take_as(x, data, BURN_DTYPE_F64, count); }
BurnStatus burn_read_i64(BurnTensor *x, int64_t *data, size_t count) { return take_as(x, data, BURN_DTYPE_I64, count); }
BurnStatus burn_read_scalar(BurnTensor *x, double *value) { return take_as(x, value, BURN_DTYPE_F64, 1); }

BurnStatus burn_write(BurnTensor **x, const void *data, size_t bytes) {
  BurnStatus status = burn__tensor_check(x ? *x : NULL, "write");
  if (status != BURN_OK) return status;
  if (bytes != bytes_of(*x)) {
    return BURN_FAIL(INVALID_ARGUMENT, "write: %zu bytes given, the tensor has %zu", bytes, bytes_of(*x));
  }
  BurnTensor *fresh = burn_tensor_from((*x)->device, data, (*x)->primitive->dtype, burn_shape(*x));
  if (burn_is_require_grad(*x)) fresh = burn_require_grad(fresh);
  status = burn__tensor_check(fresh, "write");
  if (status != BURN_OK) {
    burn__tensor_take(fresh, "write");
    return status;
  }
  burn__scope_replace(fresh, *x);
  burn__tensor_take(*x, "write");
  *x = fresh;
  return BURN_OK;
}

/* Said once: a program that does this in a loop should know that it may be slow. */
static void note_detour(const BurnTensor *x, const BurnDevice *device) {
  static atomic_bool said;
  if (!atomic_exchange(&said, true))
    burn__log(BURN_LOG_INFO, "to_device", "from '%s' to '%s' through host memory; not said again",
              burn_device_name(x->device), burn_device_name(device));
}

/* Borrowed: a copy on `device`, through host memory unless the devices can do without. */
static BurnTensor *copy_to(const BurnTensor *x, BurnDevice *device) {
  BurnTensor *direct = burn__copy_between(x, device);
  if (direct) return direct;
  note_detour(x, device);
  void *raw = malloc(bytes_of(x) ? bytes_of(x) : 1);
  if (!raw) return burn__tensor_failed(BURN_FAIL(OUT_OF_MEMORY, "to_device: no memory for %zu bytes", bytes_of(x)));
  const BurnStatus status = read_raw(x, raw, bytes_of(x));
  BurnTensor *copy = status == BURN_OK ? burn_tensor_from(device, raw, x->primitive->dtype, burn_shape(x))
                                       : burn__tensor_failed(status);
  free(raw);
  return copy;
}

BurnTensor *burn_to_device(BurnTensor *x, BurnDevice *device) {
  BurnStatus status = burn__tensor_check(x, "to_device");
  if (status == BURN_OK) status = burn__device_status(device);
  if (status == BURN_OK) {
    if (x->device == device) return x;
    if (x->device->inner == device) return burn_inner(x);
    if (device->inner == x->device) return burn_from_inner(x, device);
  }
  BurnTensor *result = status == BURN_OK ? copy_to(x, device) : burn__tensor_failed(status);
  burn__tensor_take(x, "to_device");
  return result;
}
