/* cuda_internal.h - what the files of the CUDA backend share beyond plugins/gpu: the driver, memory, recordings, NVRTC
 * and NVIDIA's libraries. */
#ifndef BURN_CUDA_INTERNAL_H
#define BURN_CUDA_INTERNAL_H

#include "cuda_driver.h"
#include "gpu_backend.h"
#include "gpu_memory.h"
#include "gpu_replay.h"

typedef struct CudaProducts CudaProducts; /* cuda_blas.c: cuBLASLt's plans, by shape */
typedef struct CudaDnn CudaDnn;           /* cuda_dnn.c: cuDNN's plans, by shape */

/* An opened instance. */
/* Which convolutions may leave their channels last in memory: none, those of large tensors, all that engines take. */
typedef enum CudaChannelsLast { CUDA_LAST_NEVER, CUDA_LAST_AUTO, CUDA_LAST_ALWAYS } CudaChannelsLast;

typedef struct Cuda {
  Gpu gpu; /* first: see cuda_of */
  const CudaDriver *driver;
  const CudaNvrtc *nvrtc;
  CudaChannelsLast channels_last;
  int device;
  int architecture; /* 90 for sm_90 */
  void *context, *stream, *pool;
  _Atomic uint64_t asked_peers;   /* bit n: whether device n can read the pool was asked, and allowed if it can */
  pthread_mutex_t products_mutex; /* around what follows, and cuBLASLt */
  bool has_asked_products;
  CudaProducts *products;    /* NULL: no product has asked yet, or cuBLASLt is not there */
  pthread_mutex_t dnn_mutex; /* around what follows, and cuDNN */
  bool has_asked_dnn;
  CudaDnn *dnn;            /* NULL: nothing has asked yet, or cuDNN is not there */
  _Atomic uint32_t broken; /* the driver's error that ended this instance; 0: it works */
  pthread_mutex_t borrowed_mutex;
  struct CudaBorrowed *borrowed; /* memory of other libraries that goes back when our work on it is done */
  void *side_stream;             /* for what must not be captured; NULL: nothing was recorded yet */
} Cuda;

static inline Cuda *cuda_of(Gpu *gpu) { return (Cuda *)(void *)gpu; }

/* -- cuda_device.c ---------------------------------------------------------------------------- */

extern const BurnDeviceInterface burn__cuda_device_interface;

/* Functions of the GpuBackend. Entering makes the context of the instance this thread's current one, and leaving what
 * was there before. A thread that had none keeps it, as with CUDA's own runtime: asking for the current one costs a
 * tenth of changing it. While a thread records, others wait. */
BurnStatus burn__cuda_enter(Gpu *gpu);
void burn__cuda_leave(Gpu *gpu);
BurnStatus burn__cuda_finish(Gpu *gpu);
BurnStatus burn__cuda_write(Gpu *gpu, const BurnPrimitive *to, const void *data, uint64_t bytes);
BurnStatus burn__cuda_read(Gpu *gpu, void *data, const BurnPrimitive *from, uint64_t bytes);
BurnStatus burn__cuda_event_new(Gpu *gpu, bool is_timed, BurnEvent **out);
BurnStatus burn__cuda_event_query(Gpu *gpu, BurnEvent *event, bool *done);
BurnStatus burn__cuda_event_wait(Gpu *gpu, BurnEvent *event);
void burn__cuda_event_release(Gpu *gpu, BurnEvent *event);
BurnStatus burn__cuda_event_elapsed(Gpu *gpu, BurnEvent *first, BurnEvent *second, double *seconds);

/* BURN_OK, or the failure of a call of the driver: "what: error 2, out of memory". An error that the context does not
 * survive marks the instance, whose later calls then fail with it. */
BurnStatus burn__cuda_check(Cuda *cuda, int error, const char *what);

/* -- cuda_memory.c ---------------------------------------------------------------------------- */

extern const GpuSegments burn__cuda_segments;
void burn__cuda_storage_release(Gpu *gpu, GpuStorage *storage);

/* -- cuda_replay.c ---------------------------------------------------------------------------- */

extern const GpuReplayWork burn__cuda_replay_work;
/* True in a recording: the stream is captured. */
static inline bool burn__cuda_is_recording(const Cuda *cuda) {
  return cuda->gpu.is_recorded && !cuda->gpu.replays.is_patching;
}

/* -- cuda_pack.c: kernels of packs, slots of "burn.device" ------------------------------------ */

int32_t BURN_API_CALL burn__cuda_pack_takes_code(void *self, const BurnDeviceCode *code);
BurnStatus BURN_API_CALL burn__cuda_pack_load(void *self, const BurnDeviceCode *code, const char *entry,
                                              BurnLoadedKernel **out);
void BURN_API_CALL burn__cuda_pack_unload(void *self, BurnLoadedKernel *kernel);
/* Of the GpuBackend. */
BurnStatus burn__cuda_pack_start(Gpu *gpu, BurnLoadedKernel *kernel, const BurnDeviceLaunch *launch,
                                 const uint64_t *words, size_t bytes);

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

/* Functions of the GpuBackend. */
BurnStatus burn__cuda_load(Gpu *gpu, const char *source, GpuModule **out);
BurnStatus burn__cuda_function(Gpu *gpu, GpuModule *module, const char *name, GpuFunction **out);
void burn__cuda_unload(Gpu *gpu, GpuModule *module);
BurnStatus burn__cuda_launch(Gpu *gpu, GpuFunction *function, uint32_t groups, uint32_t threads, const void *parameters,
                             size_t bytes);
BurnStatus burn__cuda_launch_sharing(Gpu *gpu, GpuFunction *function, const GpuLaunch *how, const void *parameters,
                                     size_t bytes);

/* -- cuda_blas.c ------------------------------------------------------------------------------ */

/* Runs a product by cuBLASLt, in the stream. False where it is not there, or cannot: strides, alignment. */
bool burn__cuda_blas_product(Gpu *gpu, const GpuProductKind *kind, const GpuMatmul *p);
void burn__cuda_products_destroy(Cuda *cuda);

/* -- cuda_dnn.c ------------------------------------------------------------------------------- */

void burn__cuda_dnn_destroy(Cuda *cuda);

/* Of the GpuLibraries (cuda_dnn_conv.c, cuda_dnn_attention.c). */
BurnStatus burn__cuda_dnn_conv(Gpu *gpu, const GpuConvWork *work);
bool burn__cuda_dnn_takes_volumes(Gpu *gpu, const GpuConvWork *work);
bool burn__cuda_dnn_attention(const GpuRun *run, const GpuAttention *p);
bool burn__cuda_dnn_attention_backward(const GpuRun *run, const GpuAttention *p);

/* One of several ways to compute the same, by number. */
typedef BurnStatus (*CudaWay)(void *context, uint32_t way);
/* The way that takes the least time on the device; the lower number where two are as fast. Each runs a few times. */
uint32_t burn__cuda_fastest(Cuda *cuda, CudaWay way, void *context, uint32_t count);

/* -- failures --------------------------------------------------------------------------------- */

#define CUDA_FAIL(cuda, CODE, ...) BURN_COMMON_FAIL((cuda)->gpu.host, CODE, (cuda)->gpu.name, __VA_ARGS__)

#endif
