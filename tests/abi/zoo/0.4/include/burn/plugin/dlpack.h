/* dlpack.h - tensors that cross to other libraries without a copy: DLPack's structs, and the interface "burn.dlpack" of
 * a backend.
 *
 * The layout is that of DLPack 1.x (https://dmlc.github.io/dlpack/latest/c_api.html), under names of ours, so that this
 * header and <dlpack/dlpack.h> may be included together; a pointer is cast from one to the other. Public functions take
 * `struct DLManagedTensorVersioned`, the tag of DLPack's own header. */
#ifndef BURN_PLUGIN_DLPACK_H
#define BURN_PLUGIN_DLPACK_H

#include <burn/plugin/types.h>

struct DLManagedTensorVersioned;
struct DLManagedTensor;

/* DLDeviceType: what a backend of ours may meet. */
enum BurnDlpackDevice { BURN_DLPACK_CPU = 1, BURN_DLPACK_CUDA = 2, BURN_DLPACK_CUDA_HOST = 3, BURN_DLPACK_METAL = 8 };
/* DLDataTypeCode. */
enum BurnDlpackCode {
  BURN_DLPACK_INT = 0,
  BURN_DLPACK_UINT = 1,
  BURN_DLPACK_FLOAT = 2,
  BURN_DLPACK_BFLOAT = 4,
  BURN_DLPACK_BOOL = 6
};
/* Bits of flags. */
enum BurnDlpackFlag { BURN_DLPACK_READ_ONLY = 1, BURN_DLPACK_IS_COPIED = 2 };
#define BURN_DLPACK_MAJOR 1u

/* DLTensor. */
typedef struct BurnDlpackTensor {
  void *data; /* NULL when there are no elements */
  int32_t device_type;
  int32_t device_id;
  int32_t ndim;
  uint8_t code, bits; /* of DLDataType */
  uint16_t lanes;
  int64_t *shape;       /* [ndim] */
  int64_t *strides;     /* [ndim], in elements; NULL: row-major */
  uint64_t byte_offset; /* of the first element from data */
} BurnDlpackTensor;

/* DLManagedTensorVersioned. Whoever gets one calls `deleter` once, from any thread, when the data is no longer needed.
 */
typedef struct BurnDlpackManaged {
  uint32_t major, minor;
  void *manager_ctx;
  void (*deleter)(struct DLManagedTensorVersioned *self); /* may be NULL */
  uint64_t flags;
  BurnDlpackTensor tensor;
} BurnDlpackManaged;

/* DLManagedTensor of DLPack before 1.0. */
typedef struct BurnDlpackUnversioned {
  BurnDlpackTensor tensor;
  void *manager_ctx;
  void (*deleter)(struct DLManagedTensor *self);
} BurnDlpackUnversioned;

#if !defined(BURN_NO_INLINE)
/* The library's struct by its layout here. */
static inline BurnDlpackManaged *burn_dlpack_managed(struct DLManagedTensorVersioned *tensor) {
  return (BurnDlpackManaged *)(void *)tensor;
}

/* The dtype of ours for a DLDataType; BURN_DTYPE_DEFAULT if there is none. */
static inline BurnDType burn_dlpack_dtype(const BurnDlpackTensor *tensor) {
  if (tensor->lanes != 1) return BURN_DTYPE_DEFAULT;
  switch (tensor->code << 8 | tensor->bits) {
    case BURN_DLPACK_BOOL << 8 | 8:
      return BURN_DTYPE_BOOL;
    case BURN_DLPACK_UINT << 8 | 8:
      return BURN_DTYPE_U8;
    case BURN_DLPACK_INT << 8 | 8:
      return BURN_DTYPE_I8;
    case BURN_DLPACK_INT << 8 | 16:
      return BURN_DTYPE_I16;
    case BURN_DLPACK_INT << 8 | 32:
      return BURN_DTYPE_I32;
    case BURN_DLPACK_INT << 8 | 64:
      return BURN_DTYPE_I64;
    case BURN_DLPACK_FLOAT << 8 | 16:
      return BURN_DTYPE_F16;
    case BURN_DLPACK_BFLOAT << 8 | 16:
      return BURN_DTYPE_BF16;
    case BURN_DLPACK_FLOAT << 8 | 32:
      return BURN_DTYPE_F32;
    case BURN_DLPACK_FLOAT << 8 | 64:
      return BURN_DTYPE_F64;
    default:
      return BURN_DTYPE_DEFAULT;
  }
}

/* The other way round: fills code, bits and lanes. */
static inline void burn_dlpack_set_dtype(BurnDlpackTensor *tensor, BurnDType dtype) {
  const uint32_t kind = burn_dtype_kind(dtype);
  tensor->bits = (uint8_t)(8u * burn_dtype_bytes(dtype));
  tensor->lanes = 1;
  tensor->code = kind == BURN_KIND_FLOAT ? BURN_DLPACK_FLOAT : BURN_DLPACK_INT;
  if (dtype == BURN_DTYPE_BF16) tensor->code = BURN_DLPACK_BFLOAT;
  if (dtype == BURN_DTYPE_BOOL) tensor->code = BURN_DLPACK_BOOL;
  if (dtype == BURN_DTYPE_U8) tensor->code = BURN_DLPACK_UINT;
}
#endif

/* Interface "burn.dlpack" of a backend, version 1. The host has checked every tensor that it hands over: version, rank
 * 1 .. BURN_MAX_RANK, a dtype of ours, strides present, data that is aligned to its elements. */
#define BURN_DLPACK_INTERFACE "burn.dlpack"
typedef struct BurnDlpackInterface {
  uint32_t struct_size;
  uint32_t version;
  /* A new primitive over the memory of `tensor`, which stays as it is: it is never written into. On success the backend
   * calls the deleter when the last use is gone; on failure the tensor is the caller's still. UNIMPLEMENTED: memory of
   * that device cannot be used. */
  BurnStatus(BURN_API_CALL *import)(void *self, struct DLManagedTensorVersioned *tensor, BurnPrimitive **out);
  /* Optional, for primitives without BURN_PRIMITIVE_HOST_MEMORY (others the host exports itself): fills device_type,
   * device_id, data and byte_offset. Work on x that was submitted is done when this returns. */
  BurnStatus(BURN_API_CALL *locate)(void *self, BurnPrimitive *x, BurnDlpackTensor *out);

  /* Optional, appended: the same two with the stream of the other library, so that the host waits for nothing. `stream`
   * is DLPack's number of the Python protocol: for CUDA 1 is the legacy default stream, 2 that of the thread, a larger
   * one the address of a cudaStream_t; -1: the caller takes care of the order. Others are INVALID_ARGUMENT. import_on:
   * what is in the producer's stream comes before whatever this instance does with the tensor. locate_on: work on x
   * that was submitted comes before what is put into the consumer's stream afterwards. */
  BurnStatus(BURN_API_CALL *import_on)(void *self, struct DLManagedTensorVersioned *tensor, int64_t stream,
                                       BurnPrimitive **out);
  BurnStatus(BURN_API_CALL *locate_on)(void *self, BurnPrimitive *x, int64_t stream, BurnDlpackTensor *out);
} BurnDlpackInterface;

#endif
