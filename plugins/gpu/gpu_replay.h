/* gpu_replay.h - "burn.replay" of GPU backends: recordings, and what a backend does for them. What is taken and started
 * goes through here while one is made or patched. */
#ifndef BURN_GPU_REPLAY_H
#define BURN_GPU_REPLAY_H

#include "gpu.h"

#include <burn/plugin/replay.h>

typedef struct GpuWork GpuWork; /* the backend's: what a recording starts */

/* One start of a kernel, in one dimension. */
typedef struct GpuStart {
  GpuFunction *function;
  uint32_t groups, threads, shared_bytes;
  const void *parameters;
  size_t bytes;
} GpuStart;

/* Where bytes lie, with the `memory` of their storage. */
typedef struct GpuPlace {
  GpuAddress address;
  void *memory;
} GpuPlace;

/* What a backend does, between enter and leave unless it is said. While one thread records or patches, no other one is
 * inside. */
typedef struct GpuReplayWork {
  /* All that is started and copied from now on goes into *out, and does not run. Calls burn__gpu_memory_give_up where
   * memory that goes back may be in use: what the same work has used so far is free to be taken by the recording. */
  BurnStatus (*begin)(Gpu *gpu, GpuWork **out);
  /* No longer. ok: makes it runnable. */
  BurnStatus (*end)(Gpu *gpu, GpuWork *work, bool ok);
  /* Nothing of it is in the queue. Also outside of enter and leave; NULL is allowed. */
  void (*drop)(Gpu *gpu, GpuWork *work);
  /* Puts all of it into the queue. */
  BurnStatus (*run)(Gpu *gpu, GpuWork *work);

  /* What was started last, for change. */
  BurnStatus (*last)(Gpu *gpu, const GpuWork *work, void **node);
  /* Later runs start it with other parameters, as many bytes. */
  BurnStatus (*change)(Gpu *gpu, GpuWork *work, void *node, const GpuStart *start);
  /* Between the two nothing is run, either; *is_empty: nothing was asked for. */
  BurnStatus (*patch_begin)(Gpu *gpu, GpuWork *work);
  BurnStatus (*patch_end)(Gpu *gpu, GpuWork *work, bool *is_empty);

  /* A copy in the queue, or in what is recorded. */
  BurnStatus (*copy)(Gpu *gpu, const GpuPlace *to, const GpuPlace *from, uint64_t bytes);
} GpuReplayWork;

/* Of a backend with a GpuReplayWork. */
extern const BurnReplayInterface burn__gpu_replay_interface;

/* For the backend's enter and leave: counts a thread in, and out again. While another one records, it waits. */
void burn__gpu_call_begin(Gpu *gpu);
void burn__gpu_call_end(Gpu *gpu);

/* The backend's storage_new: while one records, the storage is remembered; in a patch it lies where that of the
 * recorded call lay. */
BurnStatus burn__gpu_replay_storage_new(Gpu *gpu, uint64_t bytes, GpuStorage **out);

/* For burn__gpu_launch. A kernel was started while one records: remembers it with its parameters. */
BurnStatus burn__gpu_replay_started(Gpu *gpu, const GpuStart *start);
/* In a patch, instead of starting: the recorded kernel gets these parameters. */
BurnStatus burn__gpu_replay_change(Gpu *gpu, const GpuStart *start);

/* For burn__gpu_begin and _end. */
bool burn__gpu_replays_begin(GpuReplays *replays);
void burn__gpu_replays_end(GpuReplays *replays);

#endif
