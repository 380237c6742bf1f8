/* cuda_recording.h - what a recording is made of, for cuda_replay.c and cuda_patch.c. */
#ifndef BURN_CUDA_RECORDING_H
#define BURN_CUDA_RECORDING_H

#include "cuda_internal.h"

enum { CAPTURE_RELAXED = 2, ALIGNMENT = 256 }; /* more than any kernel or library asks for */

typedef struct Started {
  void *node, *function;
  uint32_t groups, threads;
  uint32_t first, bytes; /* of the parameters */
} Started;

typedef struct Taken {
  CudaAddress address;
  uint64_t bytes;
} Taken;

/* Where the parts of a call begin; those of the next one end them. */
typedef struct Mark {
  uint32_t index, started, taken;
} Mark;

/* References are those of the real storage when the stand-in was made. */
typedef struct StorageStandIn {
  GpuStorage storage; /* first: see input_of */
  struct StorageStandIn *next;
  const GpuStorage *real;
  uint32_t index, input;
} StorageStandIn;

typedef struct TensorStandIn {
  GpuTensor tensor;
  struct TensorStandIn *next;
} TensorStandIn;

typedef struct Slot {
  CudaAddress address;
  uint64_t bytes;
  uint32_t rank, reserved;
  int64_t strides[BURN_MAX_RANK];
} Slot;

typedef struct Held {
  BurnTensorDesc desc;
  int64_t strides[BURN_MAX_RANK];
  CudaAddress address;
  GpuStorage *storage; /* one reference; NULL: that of an input */
} Held;

/* An array that grows. */
#define LIST(Type)            \
  struct {                    \
    Type *items;              \
    uint32_t count, capacity; \
  }

struct CudaRecording {
  GpuCache *cache; /* of slots and results; what is used during a run only comes from cuda->scratch */
  void *graph, *executable;
  LIST(Started) started;
  LIST(char) parameters;
  LIST(Taken) taken;
  LIST(Mark) marks;
  LIST(Slot) slots;
  LIST(Held) held;
  StorageStandIn *storages;
  TensorStandIn *tensors;
  uint32_t next_started, last_started, next_taken, last_taken; /* of the call that is patched */
  bool differs;                                                /* a patch asked for something else */
};

static inline BurnRecording *outside(CudaRecording *recording) { return (BurnRecording *)(void *)recording; }
static inline CudaRecording *inside(BurnRecording *recording) { return (CudaRecording *)(void *)recording; }

BurnStatus burn__cuda_no_host_memory(Cuda *cuda);

/* Room for `more` items after the last; false without memory. */
bool burn__cuda_reserve(void **items, uint32_t count, uint32_t *capacity, uint64_t more, size_t item_bytes);
#define RESERVE(list, more) \
  burn__cuda_reserve((void **)(void *)&(list).items, (list).count, &(list).capacity, (more), sizeof *(list).items)

/* -- cuda_patch.c: slots of the interface ------------------------------------------------------ */

/* In a patch, mark: what is asked for from now on is compared with what call `index` asked for. */
BurnStatus burn__cuda_patch_call(Cuda *cuda, CudaRecording *r, uint32_t index);
BurnStatus BURN_API_CALL burn__cuda_patch_begin(void *self, BurnRecording *recording);
BurnStatus BURN_API_CALL burn__cuda_patch_end(void *self, BurnRecording *recording);

#endif
