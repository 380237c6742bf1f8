/* cuda_driver.h - NVIDIA's libraries as they are found at run time: the driver, NVRTC, cuBLASLt, cuDNN. Nothing of them
 * is needed to build; types are those of cuda.h and nvrtc.h, handles as pointers, results as ints. */
#ifndef BURN_CUDA_DRIVER_H
#define BURN_CUDA_DRIVER_H

#include <stddef.h>
#include <stdint.h>

typedef uint64_t CudaAddress; /* CUdeviceptr */

/* Values of cuda.h's enums that are used here. */
enum {
  CUDA_OK = 0,
  CUDA_NOT_READY = 600,
  CUDA_OUT_OF_MEMORY = 2,
  CUDA_STREAM_NON_BLOCKING = 1,
  CUDA_EVENT_WITH_TIMING = 0,
  CUDA_EVENT_WITHOUT_TIMING = 2,
  CUDA_HOST_MAPPED = 2,
  CUDA_UNIT_COUNT = 16, /* CUdevice_attribute */
  CUDA_MAX_SHARED = 97, /* by a block that asks for it */
  CUDA_INTEGRATED = 18,
  CUDA_MAJOR = 75,
  CUDA_MINOR = 76,
  CUDA_POOL_RELEASE_THRESHOLD = 4, /* CUmemPool_attribute */
  CUDA_POOL_RESERVED_NOW = 5,
  CUDA_MAX_DYNAMIC_SHARED = 8 /* CUfunction_attribute */
};

/* CUmemPoolProps: a pool of the memory of one device. */
typedef struct CudaPoolProperties {
  int allocation_type; /* 1: pinned, as all device memory is */
  int handle_types;
  int location_type; /* 1: a device */
  int location;
  void *security_attributes;
  size_t max_bytes;
  unsigned char reserved[56];
} CudaPoolProperties;

/* CUmemAccessDesc: what a device may do with a pool. */
typedef struct CudaPoolAccess {
  int location_type, location;
  int flags; /* 3: read and write */
} CudaPoolAccess;

/* X(name, parameters): the functions of the driver. */
#define CUDA_DRIVER_FUNCTIONS(X)                                                                                      \
  X(cuInit, (unsigned flags))                                                                                         \
  X(cuDriverGetVersion, (int *version))                                                                               \
  X(cuDeviceGetCount, (int *count))                                                                                   \
  X(cuDeviceGet, (int *device, int ordinal))                                                                          \
  X(cuDeviceGetName, (char *name, int bytes, int device))                                                             \
  X(cuDeviceGetUuid_v2, (unsigned char *uuid, int device))                                                            \
  X(cuDeviceGetPCIBusId, (char *text, int bytes, int device))                                                         \
  X(cuDeviceGetAttribute, (int *value, int attribute, int device))                                                    \
  X(cuDeviceTotalMem_v2, (size_t * bytes, int device))                                                                \
  X(cuDeviceCanAccessPeer, (int *can, int device, int peer))                                                          \
  X(cuDevicePrimaryCtxRetain, (void **context, int device))                                                           \
  X(cuCtxGetCurrent, (void **context))                                                                                \
  X(cuCtxSetCurrent, (void *context))                                                                                 \
  X(cuCtxPushCurrent_v2, (void *context))                                                                             \
  X(cuCtxPopCurrent_v2, (void **context))                                                                             \
  X(cuMemGetInfo_v2, (size_t * free, size_t * total))                                                                 \
  X(cuMemPoolCreate, (void **pool, const CudaPoolProperties *properties))                                             \
  X(cuMemPoolDestroy, (void *pool))                                                                                   \
  X(cuMemPoolSetAttribute, (void *pool, int attribute, void *value))                                                  \
  X(cuMemPoolGetAttribute, (void *pool, int attribute, void *value))                                                  \
  X(cuMemPoolTrimTo, (void *pool, size_t keep))                                                                       \
  X(cuMemPoolSetAccess, (void *pool, const CudaPoolAccess *access, size_t count))                                     \
  X(cuMemAllocFromPoolAsync, (CudaAddress * out, size_t bytes, void *pool, void *stream))                             \
  X(cuMemFreeAsync, (CudaAddress memory, void *stream))                                                               \
  X(cuMemHostAlloc, (void **out, size_t bytes, unsigned flags))                                                       \
  X(cuMemFreeHost, (void *memory))                                                                                    \
  X(cuMemHostGetDevicePointer_v2, (CudaAddress * out, void *memory, unsigned flags))                                  \
  X(cuMemcpyHtoDAsync_v2, (CudaAddress to, const void *from, size_t bytes, void *stream))                             \
  X(cuMemcpyDtoHAsync_v2, (void *to, CudaAddress from, size_t bytes, void *stream))                                   \
  X(cuMemcpyDtoDAsync_v2, (CudaAddress to, CudaAddress from, size_t bytes, void *stream))                             \
  X(cuMemsetD8Async, (CudaAddress to, unsigned char value, size_t bytes, void *stream))                               \
  X(cuMemcpyPeerAsync,                                                                                                \
    (CudaAddress to, void *to_context, CudaAddress from, void *from_context, size_t bytes, void *stream))             \
  X(cuStreamCreate, (void **stream, unsigned flags))                                                                  \
  X(cuStreamDestroy_v2, (void *stream))                                                                               \
  X(cuStreamSynchronize, (void *stream))                                                                              \
  X(cuStreamWaitEvent, (void *stream, void *event, unsigned flags))                                                   \
  X(cuStreamIsCapturing, (void *stream, int *is_capturing))                                                           \
  X(cuStreamBeginCapture_v2, (void *stream, int mode))                                                                \
  X(cuStreamEndCapture, (void *stream, void **graph))                                                                 \
  X(cuStreamGetCaptureInfo_v2,                                                                                        \
    (void *stream, int *status, uint64_t *id, void **graph, void *const **dependencies, size_t *count))               \
  X(cuGraphGetNodes, (void *graph, void **nodes, size_t *count))                                                      \
  X(cuGraphInstantiateWithFlags, (void **executable, void *graph, uint64_t flags))                                    \
  X(cuGraphExecKernelNodeSetParams_v2, (void *executable, void *node, const void *parameters))                        \
  X(cuGraphLaunch, (void *executable, void *stream))                                                                  \
  X(cuGraphExecDestroy, (void *executable))                                                                           \
  X(cuGraphDestroy, (void *graph))                                                                                    \
  X(cuEventCreate, (void **event, unsigned flags))                                                                    \
  X(cuEventDestroy_v2, (void *event))                                                                                 \
  X(cuEventRecord, (void *event, void *stream))                                                                       \
  X(cuEventQuery, (void *event))                                                                                      \
  X(cuEventSynchronize, (void *event))                                                                                \
  X(cuEventElapsedTime, (float *milliseconds, void *begin, void *end))                                                \
  X(cuModuleLoadData, (void **module, const void *image))                                                             \
  X(cuModuleUnload, (void *module))                                                                                   \
  X(cuModuleGetFunction, (void **function, void *module, const char *name))                                           \
  X(cuFuncSetAttribute, (void *function, int attribute, int value))                                                   \
  X(cuLaunchKernel,                                                                                                   \
    (void *function, unsigned groups_x, unsigned groups_y, unsigned groups_z, unsigned threads_x, unsigned threads_y, \
     unsigned threads_z, unsigned shared_bytes, void *stream, void **parameters, void **extra))                       \
  X(cuGetErrorString, (int error, const char **text))

/* X(name, parameters): the functions of NVRTC. */
#define CUDA_NVRTC_FUNCTIONS(X)                                                             \
  X(nvrtcVersion, (int *major, int *minor))                                                 \
  X(nvrtcCreateProgram, (void **program, const char *source, const char *name, int headers, \
                         const char *const *header_texts, const char *const *header_names)) \
  X(nvrtcCompileProgram, (void *program, int count, const char *const *options))            \
  X(nvrtcGetCUBINSize, (void *program, size_t *bytes))                                      \
  X(nvrtcGetCUBIN, (void *program, char *image))                                            \
  X(nvrtcGetProgramLogSize, (void *program, size_t *bytes))                                 \
  X(nvrtcGetProgramLog, (void *program, char *log))                                         \
  X(nvrtcDestroyProgram, (void **program))

/* X(name, parameters): the functions of cuBLASLt; descriptors are pointers to what it keeps. */
#define CUDA_BLAS_FUNCTIONS(X)                                                                                       \
  X(cublasLtCreate, (void **handle))                                                                                 \
  X(cublasLtDestroy, (void *handle))                                                                                 \
  X(cublasLtGetProperty, (int which, int *value))                                                                    \
  X(cublasLtMatmulDescCreate, (void **desc, int compute_type, int scale_type))                                       \
  X(cublasLtMatmulDescDestroy, (void *desc))                                                                         \
  X(cublasLtMatmulDescSetAttribute, (void *desc, int attribute, const void *value, size_t bytes))                    \
  X(cublasLtMatrixLayoutCreate, (void **layout, int type, uint64_t rows, uint64_t columns, int64_t leading))         \
  X(cublasLtMatrixLayoutDestroy, (void *layout))                                                                     \
  X(cublasLtMatrixLayoutSetAttribute, (void *layout, int attribute, const void *value, size_t bytes))                \
  X(cublasLtMatmulPreferenceCreate, (void **preference))                                                             \
  X(cublasLtMatmulPreferenceDestroy, (void *preference))                                                             \
  X(cublasLtMatmulPreferenceSetAttribute, (void *preference, int attribute, const void *value, size_t bytes))        \
  X(cublasLtMatmulAlgoGetHeuristic, (void *handle, void *desc, void *a, void *b, void *c, void *d, void *preference, \
                                     int wanted, void *results, int *count))                                         \
  X(cublasLtMatmulAlgoCheck,                                                                                         \
    (void *handle, void *desc, void *a, void *b, void *c, void *d, const void *algorithm, void *result))             \
  X(cublasLtMatmul, (void *handle, void *desc, const void *alpha, CudaAddress a_data, void *a, CudaAddress b_data,   \
                     void *b, const void *beta, CudaAddress c_data, void *c, CudaAddress d_data, void *d,            \
                     const void *algorithm, CudaAddress workspace, size_t workspace_bytes, void *stream))

/* X(result, name, parameters): the functions of cuDNN 9; descriptors are pointers to what it keeps. */
#define CUDA_DNN_FUNCTIONS(X)                                                                                      \
  X(size_t, cudnnGetVersion, (void))                                                                               \
  X(size_t, cudnnGetCudartVersion, (void))                                                                         \
  X(int, cudnnCreate, (void **handle))                                                                             \
  X(int, cudnnDestroy, (void *handle))                                                                             \
  X(int, cudnnSetStream, (void *handle, void *stream))                                                             \
  X(void, cudnnGetLastErrorString, (char *text, size_t bytes))                                                     \
  X(int, cudnnBackendCreateDescriptor, (int type, void **descriptor))                                              \
  X(int, cudnnBackendDestroyDescriptor, (void *descriptor))                                                        \
  X(int, cudnnBackendFinalize, (void *descriptor))                                                                 \
  X(int, cudnnBackendSetAttribute, (void *descriptor, int attribute, int type, int64_t count, const void *values)) \
  X(int, cudnnBackendGetAttribute,                                                                                 \
    (void *descriptor, int attribute, int type, int64_t room, int64_t *count, void *values))                       \
  X(int, cudnnBackendExecute, (void *handle, void *plan, void *pack))

#define CUDA_FUNCTION_MEMBER(name, parameters) int(*name) parameters;
#define CUDA_RESULT_MEMBER(result, name, parameters) result(*name) parameters;
typedef struct CudaDriver {
  CUDA_DRIVER_FUNCTIONS(CUDA_FUNCTION_MEMBER)
} CudaDriver;
typedef struct CudaNvrtc {
  CUDA_NVRTC_FUNCTIONS(CUDA_FUNCTION_MEMBER)
} CudaNvrtc;
typedef struct CudaBlas {
  CUDA_BLAS_FUNCTIONS(CUDA_FUNCTION_MEMBER)
} CudaBlas;
typedef struct CudaDnnLibrary {
  CUDA_DNN_FUNCTIONS(CUDA_RESULT_MEMBER)
} CudaDnnLibrary;
#undef CUDA_FUNCTION_MEMBER
#undef CUDA_RESULT_MEMBER

/* The driver, opened and initialised once; NULL with the reason in `why` where there is none, or one too old. */
const CudaDriver *burn__cuda_driver(char *why, size_t why_bytes);

/* CUDA's other libraries are looked for in BURN_CUDA_LIBS, in the wheels of $VIRTUAL_ENV and $CONDA_PREFIX, in
 * $CUDA_HOME and /usr/local/cuda, in the folders of the system, then by the loader. */

/* True if there is a file of NVRTC where burn__cuda_nvrtc would find it: opens nothing. */
int burn__cuda_nvrtc_exists(void);

/* Which library, of which version, in which folder: by the names of files; opens nothing. False if it is in none of the
 * places. */
typedef enum CudaPart { CUDA_PART_NVRTC, CUDA_PART_BLAS, CUDA_PART_DNN } CudaPart;
typedef struct CudaFound {
  char version[32]; /* "13.0.88", or what is known of it */
  char folder[512];
} CudaFound;
int burn__cuda_look_for(CudaPart part, CudaFound *out);

/* "CUDA 13.0, driver 580.159". */
void burn__cuda_driver_text(const CudaDriver *driver, char *text, size_t bytes);
/* The same, then the libraries with versions and folders, and how to get those that are missing. Opens nothing. */
void burn__cuda_report(const CudaDriver *driver, char *text, size_t bytes);

/* NVRTC, opened once; NULL with the reason in `why`. */
const CudaNvrtc *burn__cuda_nvrtc(char *why, size_t why_bytes);

/* cuBLASLt, opened once, at the first large product; NULL where there is none: products then run by kernels of ours. */
const CudaBlas *burn__cuda_blas(void);

/* cuDNN 9 with all its parts, opened once, at the first convolution or attention; NULL where there is none, or where
 * the driver is another than the one that cuDNN opens itself (BURN_CUDA_DRIVER) and no cuDNN is named for it
 * (BURN_CUDA_DNN): kernels of ours do without it. */
const CudaDnnLibrary *burn__cuda_dnn_library(void);
/* The same whatever the driver is: for what needs no device. */
const CudaDnnLibrary *burn__cuda_dnn_library_alone(void);

/* The words of the driver for an error, "out of memory". */
const char *burn__cuda_error_text(int error);

#endif
