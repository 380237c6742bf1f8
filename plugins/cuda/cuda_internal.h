/* cuda_internal.h - what the files of the CUDA backend share beyond plugins/gpu: the driver, memory, recordings, NVRTC
 * and NVIDIA's libraries. */
#ifndef BURN_CUDA_INTERNAL_H
#define BURN_CUDA_INTERNAL_H

#include "cuda_driver.h"
#include "cuda_memory.h"
#include "cuda_replay.h"
#include "gpu.h"

#include <burn/plugin/device.h>

typedef Gpu Cuda;
typedef struct CudaProducts CudaProducts; /* cuda_blas.c: cuBLASLt's plans, by shape */
typedef struct CudaDnn CudaDnn;           /* cuda_dnn.c: cuDNN's plans, by shape */

/* -- cuda_device.c ---------------------------------------------------------------------------- */

/* Entering makes the context of the instance this thread's current one, and leaving what was there before. A thread
 * that had none keeps it, as with CUDA's own runtime: asking for the current one costs a tenth of changing it. While a
 * thread records, others wait. */

extern const BurnDeviceInterface burn__cuda_device_interface;

/* Outside of enter and leave: until let_in no other thread enters, and none is inside. */
void burn__cuda_shut_out(Cuda *cuda);
void burn__cuda_let_in(Cuda *cuda);

/* BURN_OK, or the failure of a call of the driver: "what: error 2, out of memory". An error that the context does not
 * survive marks the instance, whose later calls then fail with it. */
BurnStatus burn__cuda_check(Cuda *cuda, int error, const char *what);

/* Slots of the table. */
BurnStatus BURN_API_CALL burn__cuda_create(void *self, const BurnTensorDesc *desc, const void *data,
                                           BurnPrimitive **out);
BurnStatus BURN_API_CALL burn__cuda_read(void *self, BurnPrimitive *x, void *data, uint64_t bytes);

/* -- cuda_pack.c: kernels of packs, slots of "burn.device" ------------------------------------ */

int32_t BURN_API_CALL burn__cuda_pack_takes_code(void *self, const BurnDeviceCode *code);
BurnStatus BURN_API_CALL burn__cuda_pack_load(void *self, const BurnDeviceCode *code, const char *entry,
                                              BurnLoadedKernel **out);
void BURN_API_CALL burn__cuda_pack_unload(void *self, BurnLoadedKernel *kernel);
BurnStatus BURN_API_CALL burn__cuda_pack_launch(void *self, BurnLoadedKernel *kernel, const BurnOpCall *call,
                                                const BurnDeviceLaunch *launch);

/* -- cuda_dlpack.c ---------------------------------------------------------------------------- */

struct BurnDlpackInterface;
extern const struct BurnDlpackInterface burn__cuda_dlpack_interface;

/* Ends the sharing of a storage whose last reference is gone. */
void burn__cuda_unshare(Cuda *cuda, GpuStorage *storage);
/* Gives back what was borrowed and is done with, or all of it. In the context. */
void burn__cuda_give_back(Cuda *cuda, bool all);

/* -- cuda_compile.c --------------------------------------------------------------------------- */

/* Compiles a source for sm_<architecture> into an image, to be freed with host->free(.., *bytes). */
BurnStatus burn__cuda_compile(const BurnHost *host, const CudaNvrtc *nvrtc, int architecture, const char *source,
                              char **image, uint64_t *bytes);

/* -- cuda_blas.c ------------------------------------------------------------------------------ */

/* Runs a product by cuBLASLt, in the stream. False where it is not there, or cannot: strides, alignment. */
bool burn__cuda_blas_product(Cuda *cuda, const GpuProductKind *kind, const GpuMatmul *p);
void burn__cuda_products_destroy(Cuda *cuda);

/* -- cuda_dnn.c ------------------------------------------------------------------------------- */

void burn__cuda_dnn_destroy(Cuda *cuda);

/* One of several ways to compute the same, by number. */
typedef BurnStatus (*GpuWay)(void *context, uint32_t way);
/* The way that takes the least time on the device; the lower number where two are as fast. Each runs a few times. */
uint32_t burn__cuda_fastest(Cuda *cuda, GpuWay way, void *context, uint32_t count);

/* -- failures --------------------------------------------------------------------------------- */

#define CUDA_FAIL(cuda, CODE, ...) BURN_COMMON_FAIL((cuda)->host, CODE, (cuda)->name, __VA_ARGS__)

#endif
