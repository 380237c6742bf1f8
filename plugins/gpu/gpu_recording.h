/* gpu_recording.h - what a recording is made of, for gpu_replay.c and gpu_patch.c. */
#ifndef BURN_GPU_RECORDING_H
#define BURN_GPU_RECORDING_H

#include "gpu_memory.h"
#include "gpu_replay.h"

enum { ALIGNMENT = 256 }; /* more than any kernel or library asks for */

typedef struct Started {
  void *node;
  GpuFunction *function;
  uint32_t groups, threads, shared_bytes;
  uint32_t first, bytes; /* of the parameters */
} Started;

typedef struct Taken {
  GpuAddress address;
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
  GpuPlace place;
  uint64_t bytes;
  uint32_t rank, reserved;
  int64_t strides[BURN_MAX_RANK];
} Slot;

typedef struct Held {
  BurnTensorDesc desc;
  int64_t strides[BURN_MAX_RANK];
  GpuAddress address;
  GpuStorage *storage; /* one reference; NULL: that of an input */
} Held;

/* An array that grows. */
#define LIST(Type)            \
  struct {                    \
    Type *items;              \
    uint32_t count, capacity; \
  }

struct GpuRecording {
  GpuCache *cache; /* of slots and results; what is used during a run only comes from gpu->replays.scratch */
  GpuWork *work;   /* NULL before it has begun */
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

static inline BurnRecording *outside(GpuRecording *recording) { return (BurnRecording *)(void *)recording; }
static inline GpuRecording *inside(BurnRecording *recording) { return (GpuRecording *)(void *)recording; }

BurnStatus burn__gpu_no_recording_memory(Gpu *gpu);

/* Room for `more` items after the last; false without memory. */
bool burn__gpu_recording_reserve(void **items, uint32_t count, uint32_t *capacity, uint64_t more, size_t item_bytes);
#define RESERVE(list, more)                                                                           \
  burn__gpu_recording_reserve((void **)(void *)&(list).items, (list).count, &(list).capacity, (more), \
                              sizeof *(list).items)

/* Outside of enter and leave: until burn__gpu_let_in no other thread enters, and none is inside. */
void burn__gpu_shut_out(Gpu *gpu);
void burn__gpu_let_in(Gpu *gpu);

/* -- gpu_patch.c: slots of the interface ------------------------------------------------------ */

/* In a patch, mark: what is asked for from now on is compared with what call `index` asked for. */
BurnStatus burn__gpu_patch_call(Gpu *gpu, GpuRecording *r, uint32_t index);
/* Where the recorded call took a storage of so many bytes. */
BurnStatus burn__gpu_patch_take_again(Gpu *gpu, uint64_t bytes, GpuAddress *out);
BurnStatus BURN_API_CALL burn__gpu_patch_begin(void *self, BurnRecording *recording);
BurnStatus BURN_API_CALL burn__gpu_patch_end(void *self, BurnRecording *recording);

#endif
