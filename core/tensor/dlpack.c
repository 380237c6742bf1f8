/* dlpack.c - tensors to and from DLPack: checks of foreign structs, the way down the stack and up again. */
#include "null_check.h"
#include "platform.h"
#include "transfer.h"

#include <burn/dlpack.h>
#include <burn/plugin/dlpack.h>

#include <stdlib.h>
#include <string.h>

static void delete_managed(BurnDlpackManaged *managed) {
  if (managed->deleter) managed->deleter((struct DLManagedTensorVersioned *)(void *)managed);
}

/* -- out -------------------------------------------------------------------------------------- */

/* What an exported tensor keeps alive. */
typedef struct Export {
  BurnDlpackManaged managed;
  BurnDevice *device;
  BurnInstance *bottom;     /* of the device's stack */
  BurnPrimitive *primitive; /* of the bottom; NULL if the elements were packed */
  int64_t shape[BURN_MAX_RANK], strides[BURN_MAX_RANK];
  void *packed;
} Export;

static void export_free(Export *export) {
  if (!burn__work_enter()) return;
  if (export->primitive) export->bottom->backend.release(export->bottom->backend.self, export->primitive);
  if (export->device) burn__device_release(export->device);
  burn__aligned_free(export->packed);
  free(export);
  burn__work_leave();
}

static void export_delete(struct DLManagedTensorVersioned *managed) {
  export_free(burn_dlpack_managed(managed)->manager_ctx);
}

static bool has_negative_stride(const BurnPrimitive *x) {
  for (uint32_t i = 0; i < x->rank; i++) {
    if (x->strides[i] < 0 && x->shape[i] > 1) return true;
  }
  return false;
}

/* The elements in memory of the export's own. */
static BurnStatus pack(Export *export, BurnPrimitive *x) {
  const BurnBackend *backend = &export->bottom->backend;
  const size_t bytes = (size_t)burn_primitive_count(x) * burn_dtype_bytes(x->dtype);
  export->packed = burn__aligned_allocate(bytes ? bytes : 1);
  if (!export->packed) return BURN_FAIL(OUT_OF_MEMORY, "to_dlpack: no memory for %zu bytes", bytes);
  export->managed.flags |= BURN_DLPACK_IS_COPIED;
  export->managed.tensor.data = export->packed;
  return bytes == 0 ? BURN_OK : backend->read(backend->self, x, export->packed, bytes);
}

/* The interface of a backend; NULL if it has none. */
static const BurnDlpackInterface *dlpack_interface(const BurnBackend *backend, void **self) {
  BurnInterface found;
  if (!burn__backend_ask(backend, BURN_DLPACK_INTERFACE, &found)) return NULL;
  const BurnDlpackInterface *table = found.table;
  if (table->struct_size < BURN_BYTES_THROUGH(BurnDlpackInterface, locate) || !table->import) return NULL;
  *self = found.self;
  return table;
}

/* The slots that were appended are there. */
static bool knows_streams(const BurnDlpackInterface *dlpack) {
  return dlpack && BURN_HAS(dlpack, BurnDlpackInterface, locate_on) && dlpack->import_on && dlpack->locate_on;
}

/* Where the elements lie: by the header, or as the backend says. With a stream (NULL: without) the work on them comes
 * before what follows there; otherwise it is done. */
static BurnStatus locate(Export *export, BurnPrimitive *x, const int64_t *stream) {
  const BurnBackend *backend = &export->bottom->backend;
  BurnDlpackTensor *tensor = &export->managed.tensor;
  void *self = NULL;
  const BurnDlpackInterface *dlpack = dlpack_interface(backend, &self);
  backend->retain(backend->self, x);
  export->primitive = x;
  if (stream && knows_streams(dlpack) && !(x->flags & BURN_PRIMITIVE_HOST_MEMORY))
    return dlpack->locate_on(self, x, *stream, tensor);
  const BurnStatus status = backend->sync(backend->self);
  if (status != BURN_OK) return status;
  if (x->flags & BURN_PRIMITIVE_HOST_MEMORY) {
    tensor->data = x->buffer ? (char *)x->buffer + x->byte_offset : NULL; /* NULL: no elements */
    return BURN_OK;
  }
  if (!dlpack || !dlpack->locate)
    return BURN_FAIL(
        UNIMPLEMENTED,
        "to_dlpack: memory of '%s' has no address; burn_to_device to a device of ndarray makes a copy that has one",
        backend->name);
  return dlpack->locate(self, x, tensor);
}

static void describe(Export *export, const BurnPrimitive *x) {
  BurnDlpackManaged *managed = &export->managed;
  int64_t stride = 1;
  for (uint32_t i = x->rank; i-- > 0;) {
    export->shape[i] = x->shape[i];
    export->strides[i] = export->packed || !x->strides ? stride : x->strides[i];
    stride *= x->shape[i];
  }
  managed->tensor.ndim = (int32_t)x->rank;
  managed->tensor.shape = export->shape;
  managed->tensor.strides = export->strides;
  burn_dlpack_set_dtype(&managed->tensor, x->dtype);
}

static BurnStatus fill_export(Export *export, const BurnTensor *x, const int64_t *stream) {
  BurnDlpackManaged *managed = &export->managed;
  managed->major = BURN_DLPACK_MAJOR;
  managed->manager_ctx = export;
  managed->deleter = export_delete;
  managed->flags = BURN_DLPACK_READ_ONLY;
  managed->tensor.device_type = BURN_DLPACK_CPU;
  export->device = x->device;
  burn__device_retain(x->device);
  export->bottom = burn__bottom(x->device);
  BurnPrimitive *primitive = burn__lowered(x);
  if (!primitive)
    return BURN_FAIL(INTERNAL, "to_dlpack: an op that the tensor needs has failed; burn_read tells which");
  const bool must_pack = !primitive->strides || has_negative_stride(primitive);
  BurnStatus status = must_pack ? pack(export, primitive) : locate(export, primitive, stream);
  if (status == BURN_OK && !managed->tensor.data && burn_primitive_count(primitive) > 0)
    status = BURN_FAIL(INTERNAL, "to_dlpack: '%s' gave no address of the elements", export->bottom->backend.name);
  if (status == BURN_OK) describe(export, primitive);
  return status;
}

static BurnStatus to_dlpack(BurnTensor *x, const int64_t *stream, struct DLManagedTensorVersioned **out) {
  BurnStatus status = BURN_REQUIRED_BY("to_dlpack", out, "a DLManagedTensorVersioned *");
  if (out) *out = NULL;
  if (status == BURN_OK) status = burn__tensor_check(x, "to_dlpack");
  Export *export = status == BURN_OK ? calloc(1, sizeof *export) : NULL;
  if (status == BURN_OK && !export) status = BURN_FAIL(OUT_OF_MEMORY, "to_dlpack: no memory");
  const bool entered = status == BURN_OK && burn__work_enter();
  if (status == BURN_OK) status = entered ? fill_export(export, x, stream) : burn__fork_failure();
  if (entered) burn__work_leave();
  if (status == BURN_OK) {
    *out = (struct DLManagedTensorVersioned *)(void *)&export->managed;
  } else if (export) {
    export_free(export);
  }
  burn__tensor_take(x, "to_dlpack");
  return status;
}

BurnStatus burn_to_dlpack(BurnTensor *x, struct DLManagedTensorVersioned **out) { return to_dlpack(x, NULL, out); }
BurnStatus burn_to_dlpack_on(BurnTensor *x, int64_t stream, struct DLManagedTensorVersioned **out) {
  return to_dlpack(x, &stream, out);
}

/* -- in --------------------------------------------------------------------------------------- */

/* A foreign tensor with what a backend may rely on: it deletes the foreign one when it is deleted itself. */
typedef struct Import {
  BurnDlpackManaged managed;
  BurnDlpackManaged *foreign;
  int64_t shape[BURN_MAX_RANK], strides[BURN_MAX_RANK];
} Import;

static void import_delete(struct DLManagedTensorVersioned *managed) {
  Import *import = burn_dlpack_managed(managed)->manager_ctx;
  delete_managed(import->foreign);
  free(import);
}

static BurnStatus check_foreign(const BurnDlpackManaged *managed, BurnDType *dtype) {
  const BurnDlpackTensor *tensor = &managed->tensor;
  if (managed->major != BURN_DLPACK_MAJOR) {
    return BURN_FAIL(INCOMPATIBLE, "from_dlpack: version %u.%u, only major %u is known", managed->major, managed->minor,
                     BURN_DLPACK_MAJOR);
  }
  *dtype = burn_dlpack_dtype(tensor);
  if (*dtype == BURN_DTYPE_DEFAULT) {
    return BURN_FAIL(INVALID_DTYPE, "from_dlpack: there is no dtype for DLPack's code %u with %u bits and %u lanes",
                     tensor->code, tensor->bits, tensor->lanes);
  }
  if (tensor->ndim < 0 || tensor->ndim > (int32_t)BURN_MAX_RANK || (tensor->ndim > 0 && !tensor->shape)) {
    return BURN_FAIL(INVALID_SHAPE, "from_dlpack: rank %d is not within 0 .. %u, or the shape is missing", tensor->ndim,
                     BURN_MAX_RANK);
  }
  return BURN_OK;
}

/* Copies the shape, with [1] for rank 0, and the strides, row-major where there are none. */
static BurnStatus import_shape(Import *import) {
  BurnDlpackTensor *tensor = &import->managed.tensor;
  const BurnDlpackTensor *foreign = &import->foreign->tensor;
  const int64_t most = INT64_MAX / 16;
  int64_t count = 1;
  tensor->ndim = foreign->ndim > 0 ? foreign->ndim : 1;
  import->shape[0] = import->strides[0] = 1;
  for (int32_t i = foreign->ndim; i-- > 0;) {
    const int64_t size = foreign->shape[i];
    if (size < 0 || (size > 0 && count > most / size)) {
      return BURN_FAIL(INVALID_SHAPE,
                       "from_dlpack: axis %d of size %lld: negative, or more elements than can be addressed", i,
                       (long long)size);
    }
    import->shape[i] = size;
    import->strides[i] = foreign->strides ? foreign->strides[i] : count;
    if (size > 0) count *= size;
  }
  tensor->shape = import->shape;
  tensor->strides = import->strides;
  for (int32_t i = 0; i < tensor->ndim; i++) count = import->shape[i] == 0 ? 0 : count;
  if (count > 0 && !foreign->data)
    return BURN_FAIL(INVALID_ARGUMENT, "from_dlpack: there are elements, but data is NULL");
  return BURN_OK;
}

/* The elements of host memory in row-major order. */
static void pack_foreign(const BurnDlpackTensor *tensor, uint32_t element_bytes, char *to) {
  if (!tensor->data) return; /* there are no elements */
  const char *data = (const char *)tensor->data + tensor->byte_offset;
  int64_t at[BURN_MAX_RANK] = {0}, count = 1;
  for (int32_t i = 0; i < tensor->ndim; i++) count *= tensor->shape[i];
  for (int64_t n = 0; n < count; n++, to += element_bytes) {
    int64_t place = 0;
    for (int32_t i = 0; i < tensor->ndim; i++) place += at[i] * tensor->strides[i];
    memcpy(to, data + place * (int64_t)element_bytes, element_bytes);
    for (int32_t i = tensor->ndim; i-- > 0 && ++at[i] == tensor->shape[i];) at[i] = 0;
  }
}

static BurnTensor *copied(const Import *import, BurnDType dtype, BurnDevice *device) {
  const BurnDlpackTensor *tensor = &import->managed.tensor;
  if (tensor->device_type != BURN_DLPACK_CPU && tensor->device_type != BURN_DLPACK_CUDA_HOST) {
    return burn__tensor_failed(BURN_FAIL(UNIMPLEMENTED,
                                         "from_dlpack: '%s' can use no memory of DLPack's device type %d, id %d",
                                         burn_device_name(device), tensor->device_type, tensor->device_id));
  }
  BurnShape shape = {.rank = (uint32_t)tensor->ndim};
  size_t bytes = burn_dtype_bytes(dtype);
  for (int32_t i = 0; i < tensor->ndim; i++) {
    shape.dims[i] = tensor->shape[i];
    bytes *= (size_t)tensor->shape[i];
  }
  char *packed = malloc(bytes ? bytes : 1);
  if (!packed) return burn__tensor_failed(BURN_FAIL(OUT_OF_MEMORY, "from_dlpack: no memory for %zu bytes", bytes));
  pack_foreign(tensor, burn_dtype_bytes(dtype), packed);
  BurnTensor *x = burn_tensor_from(device, packed, dtype, shape);
  free(packed);
  return x;
}

/* The backend's primitive over the memory. */
static BurnStatus import_bottom(const BurnBackend *bottom, Import *import, BurnDType dtype, const int64_t *stream,
                                BurnPrimitive **out) {
  const BurnDlpackTensor *tensor = &import->managed.tensor;
  const bool is_aligned = ((uintptr_t)tensor->data + tensor->byte_offset) % burn_dtype_bytes(dtype) == 0;
  struct DLManagedTensorVersioned *managed = (struct DLManagedTensorVersioned *)(void *)&import->managed;
  void *self = NULL;
  const BurnDlpackInterface *dlpack = dlpack_interface(bottom, &self);
  if (!dlpack || !is_aligned) return BURN_STATUS_UNIMPLEMENTED;
  if (!stream || tensor->device_type == BURN_DLPACK_CPU) return dlpack->import(self, managed, out);
  if (!knows_streams(dlpack)) return BURN_STATUS_UNIMPLEMENTED;
  return dlpack->import_on(self, managed, *stream, out);
}

/* NULL if the backend cannot use the memory; then the import is the caller's still. */
static BurnTensor *shared(Import *import, BurnDType dtype, const int64_t *stream, BurnDevice *device) {
  BurnPrimitive *primitive = NULL, *top = NULL;
  const BurnBackend *bottom = &burn__bottom(device)->backend;
  BurnStatus status = import_bottom(bottom, import, dtype, stream, &primitive);
  if (burn_status_code(status) == BURN_STATUS_UNIMPLEMENTED) return NULL;
  if (status == BURN_OK) {
    /* A backend that gave no tensor may still use the memory, which is therefore not given back. */
    status = burn__check_given(bottom, "from_dlpack", NULL, &primitive);
    if (status == BURN_OK) status = burn__raised(device->top, primitive, &top);
  } else {
    import_delete((struct DLManagedTensorVersioned *)(void *)&import->managed);
  }
  return status == BURN_OK ? burn__tensor_new(device, top, BURN_OP_INVALID) : burn__tensor_failed(status);
}

static BurnTensor *refused(BurnDlpackManaged *foreign, Import *import, BurnStatus status) {
  free(import);
  delete_managed(foreign);
  return burn__tensor_failed(status);
}

static BurnTensor *from_dlpack(struct DLManagedTensorVersioned *tensor, const int64_t *stream, BurnDevice *device) {
  if (!tensor) return burn__tensor_failed(BURN_FAIL(INVALID_ARGUMENT, "from_dlpack: the tensor is NULL"));
  BurnDlpackManaged *foreign = burn_dlpack_managed(tensor);
  BurnDType dtype = BURN_DTYPE_DEFAULT;
  BurnStatus status = burn__device_status(device);
  if (status == BURN_OK) status = check_foreign(foreign, &dtype);
  Import *import = status == BURN_OK ? calloc(1, sizeof *import) : NULL;
  if (status == BURN_OK && !import) status = BURN_FAIL(OUT_OF_MEMORY, "from_dlpack: no memory");
  if (status != BURN_OK) return refused(foreign, import, status);
  import->managed = *foreign;
  import->managed.manager_ctx = import;
  import->managed.deleter = import_delete;
  import->foreign = foreign;
  status = import_shape(import);
  if (status != BURN_OK) return refused(foreign, import, status);
  if (!burn__work_enter()) return refused(foreign, import, burn__fork_failure());
  BurnTensor *x = shared(import, dtype, stream, device);
  burn__work_leave();
  if (x) return x;
  x = copied(import, dtype, device);
  import_delete((struct DLManagedTensorVersioned *)(void *)&import->managed);
  return x;
}

BurnTensor *burn_from_dlpack(struct DLManagedTensorVersioned *tensor, BurnDevice *device) {
  return from_dlpack(tensor, NULL, device);
}
BurnTensor *burn_from_dlpack_on(struct DLManagedTensorVersioned *tensor, int64_t stream, BurnDevice *device) {
  return from_dlpack(tensor, &stream, device);
}

/* -- before version 1 ------------------------------------------------------------------------- */

/* The versioned struct around an unversioned one. */
typedef struct Envelope {
  BurnDlpackManaged managed;
  struct DLManagedTensor *inner;
} Envelope;

static void delete_unversioned(struct DLManagedTensor *tensor) {
  BurnDlpackUnversioned *unversioned = (BurnDlpackUnversioned *)(void *)tensor;
  if (unversioned->deleter) unversioned->deleter(tensor);
}

static void envelope_delete(struct DLManagedTensorVersioned *managed) {
  Envelope *envelope = burn_dlpack_managed(managed)->manager_ctx;
  delete_unversioned(envelope->inner);
  free(envelope);
}

BurnTensor *burn_from_dlpack_unversioned(struct DLManagedTensor *tensor, BurnDevice *device) {
  if (!tensor) return burn__tensor_failed(BURN_FAIL(INVALID_ARGUMENT, "from_dlpack: the tensor is NULL"));
  Envelope *envelope = calloc(1, sizeof *envelope);
  if (!envelope) {
    delete_unversioned(tensor);
    return burn__tensor_failed(BURN_FAIL(OUT_OF_MEMORY, "from_dlpack: no memory"));
  }
  envelope->inner = tensor;
  envelope->managed.major = BURN_DLPACK_MAJOR;
  envelope->managed.manager_ctx = envelope;
  envelope->managed.deleter = envelope_delete;
  envelope->managed.tensor = ((BurnDlpackUnversioned *)(void *)tensor)->tensor;
  return burn_from_dlpack((struct DLManagedTensorVersioned *)(void *)&envelope->managed, device);
}
