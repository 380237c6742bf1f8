/* ndarray_recording.h - what a recording is made of, for the two files beside this one. */
#ifndef BURN_NDARRAY_RECORDING_H
#define BURN_NDARRAY_RECORDING_H

#include "fused/ndarray_fused.h"
#include "ndarray_replay.h"

#define ND_NO_VALUE UINT32_MAX

/* An array that grows. */
#define ND_LIST(Type)         \
  struct {                    \
    Type *items;              \
    uint32_t count, capacity; \
  }

/* A tensor that stands for a value: without contents while calls are recorded; that of an input is, when the recording
 * runs, a tensor over the input's memory. */
typedef struct NdGhost {
  NdTensor tensor; /* first */
  NdStorage storage;
  struct NdGhost *next; /* of those that belong to the recording */
  NdTensor *real;       /* of an input: the tensor, which is the same in every run, see where */
  uint32_t value;
  bool is_owned;
  bool is_sole; /* of an input: nobody else has its memory, so it may be written over */
} NdGhost;

static inline NdGhost *nd_ghost(NdTensor *x) { return (NdGhost *)(void *)x; }

/* A call, or a body if there is a `body`; all it points at is the recording's. */
typedef struct NdRecordedCall {
  BurnOpCall call;
  BurnFusedCall fused;
  const BurnFusedKernel *body;
  NdKernel kernel;
  bool widens;
  BurnAttr *attrs; /* of the call, or of all steps of the body */
  uint32_t attr_count;
  uint32_t *in, *out;                /* values; ND_NO_VALUE for an absent input */
  BurnPrimitive **inputs, **outputs; /* of a run */
} NdRecordedCall;

/* Calls that are made together, or the end of a value. */
typedef struct NdEvent {
  uint32_t count; /* of calls; 0: the value is released */
  uint32_t value;
  NdRecordedCall *calls;
  const BurnOpCall **together; /* [count] where there are several */
} NdEvent;

typedef struct NdMark {
  uint32_t index, event;
} NdMark;

/* An input that lies elsewhere in each run. */
typedef struct NdSlot {
  uint32_t value, rank;
  int64_t strides[BURN_MAX_RANK];
} NdSlot;

typedef struct NdRecording {
  Ndarray *nd;
  ND_LIST(NdEvent) events;
  ND_LIST(NdMark) marks;
  ND_LIST(NdGhost *) inputs;
  ND_LIST(NdSlot) slots;
  ND_LIST(uint32_t) held; /* values */
  ND_LIST(uint32_t) rest; /* values that are neither held nor released by an event */
  struct NdBlock *blocks; /* memory of what events point at */
  NdGhost *ghosts;        /* that belong to the recording */
  NdTensor **now;         /* by value: the tensor of this run, with one reference */
  uint32_t value_count;
  uint32_t next;  /* event of the call that is patched */
  bool is_held;   /* results are chosen: what is released from now on is so after a run */
  bool is_broken; /* there was no memory */
  bool is_patching;
  bool differs;       /* a patch asked for something else */
  BurnStatus failure; /* of a call of the last run */
} NdRecording;

static inline BurnRecording *nd_outside(NdRecording *recording) { return (BurnRecording *)(void *)recording; }
static inline NdRecording *nd_inside(BurnRecording *recording) { return (NdRecording *)(void *)recording; }

/* -- ndarray_replay_record.c: slots of the interface ------------------------------------------ */

BurnStatus BURN_API_CALL nd_replay_begin(void *self, BurnRecording **out);
BurnStatus BURN_API_CALL nd_replay_mark(void *self, BurnRecording *recording, uint32_t index, int32_t keeps);
BurnStatus BURN_API_CALL nd_replay_stand_in(void *self, BurnRecording *recording, uint32_t index, uint32_t input,
                                            BurnPrimitive *x, BurnPrimitive **out);
BurnStatus BURN_API_CALL nd_replay_slot(void *self, BurnRecording *recording, BurnPrimitive *x, BurnPrimitive **out,
                                        uint32_t *number);
BurnStatus BURN_API_CALL nd_replay_hold(void *self, BurnRecording *recording, BurnPrimitive *x, uint32_t *number,
                                        uint32_t *input);
BurnStatus BURN_API_CALL nd_replay_end(void *self, BurnRecording *recording, int32_t ok);
BurnStatus BURN_API_CALL nd_replay_patch_begin(void *self, BurnRecording *recording);
BurnStatus BURN_API_CALL nd_replay_patch_end(void *self, BurnRecording *recording);
/* Frees it; nothing of a run is left. */
void nd_recording_free(NdRecording *r);

#endif
