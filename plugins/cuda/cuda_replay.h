/* cuda_replay.h - recordings as the other files see them: what is taken and started goes through here while one is made
 * or patched. */
#ifndef BURN_CUDA_REPLAY_H
#define BURN_CUDA_REPLAY_H

#include "cuda_driver.h"

#include <burn/plugin/replay.h>

struct Cuda;
struct GpuStorage;

typedef struct CudaRecording CudaRecording;

/* One start of a kernel, in one dimension. */
typedef struct CudaStart {
  void *function;
  uint32_t groups, threads;
  const void *parameters;
  size_t bytes;
} CudaStart;

extern const BurnReplayInterface burn__cuda_replay_interface;

/* Of the recording that this thread makes or patches (cuda->recording): */

/* A kernel was started: remembers it with its parameters. */
BurnStatus burn__cuda_replay_started(struct Cuda *cuda, const CudaStart *start);
/* In a patch, instead of starting: the recorded kernel gets these parameters. */
BurnStatus burn__cuda_replay_change(struct Cuda *cuda, const CudaStart *start);
/* A storage was taken. */
BurnStatus burn__cuda_replay_taken(struct Cuda *cuda, const struct GpuStorage *storage);
/* In a patch, instead of taking one: where the recorded call had it. */
BurnStatus burn__cuda_replay_take_again(struct Cuda *cuda, uint64_t bytes, CudaAddress *out);

#endif
