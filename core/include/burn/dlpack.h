/* dlpack.h - tensors to and from other libraries (NumPy, PyTorch, JAX, CuPy, TVM ..) without a copy, by DLPack.
 *
 * Include <dlpack/dlpack.h> of your DLPack for the struct's members, or <burn/plugin/dlpack.h> for the same layout
 * under our names. Tensors are values: what is shared is read-only. An exported tensor carries DLPack's read-only flag;
 * an imported one is never written into, and its producer must leave it alone while it is in use here. */
#ifndef BURN_DLPACK_H
#define BURN_DLPACK_H

#include <burn/tensor.h>

#if defined(__cplusplus)
extern "C" {
#endif

struct DLManagedTensorVersioned;
struct DLManagedTensor;

/* Takes x; *out is its elements where they lie, of the shape, dtype and strides of x, on DLPack's device (CPU, or CUDA
 * for backends over it), version 1.0, flag READ_ONLY. Waits for work on the device. Call out's deleter when done, from
 * any thread; the device stays open until then. Strides that are negative (a reversed slice) are packed first, with
 * flag IS_COPIED. Fails for a failed tensor, and with UNIMPLEMENTED where the backend's memory has no address
 * (vulkan): burn_to_device to a device of ndarray makes a copy that has one. */
BURN_API BURN_USE_RESULT BURN_TAKES(1) BurnStatus burn_to_dlpack(BurnTensor *x, struct DLManagedTensorVersioned **out);

/* The same for a consumer that goes on in a stream of the device: what it puts there afterwards comes after the work
 * that x needs, and the host does not wait. `stream` is the number of DLPack's Python protocol (__dlpack__(stream=..)):
 * for CUDA 1 is the legacy default stream, 2 the default stream of the thread, a larger one the address of a
 * cudaStream_t, -1 no order at all. INVALID_ARGUMENT for others. Memory of the CPU has no streams: then this is
 * burn_to_dlpack. */
BURN_API BURN_USE_RESULT BURN_TAKES(1) BurnStatus
    burn_to_dlpack_on(BurnTensor *x, int64_t stream, struct DLManagedTensorVersioned **out);

/* A tensor on `device` over the elements of `tensor`, which is taken: its deleter is called when the last use is gone,
 * or at once when this fails or copies. Shared where the device's backend can use the memory (ndarray and torch:cpu:
 * CPU memory; torch:cuda: of that GPU); otherwise, and where data is not aligned to its elements, CPU memory is copied;
 * other memory is an error. Rank 0 becomes [1]. Fails for a major version other than 1, more than BURN_MAX_RANK axes,
 * and dtypes that we lack. */
BURN_API BURN_GIVES BurnTensor *burn_from_dlpack(struct DLManagedTensorVersioned *tensor, BurnDevice *device);

/* The same for a producer that has put work on `tensor` into `stream` (as above) and has not waited for it: ours comes
 * after it, and the host does not wait. UNIMPLEMENTED for memory of a device whose backend here knows no streams. */
BURN_API BURN_GIVES BurnTensor *burn_from_dlpack_on(struct DLManagedTensorVersioned *tensor, int64_t stream,
                                                    BurnDevice *device);

/* The same for the struct of DLPack before 1.0. */
BURN_API BURN_GIVES BurnTensor *burn_from_dlpack_unversioned(struct DLManagedTensor *tensor, BurnDevice *device);

#if defined(__cplusplus)
}
#endif

#endif
