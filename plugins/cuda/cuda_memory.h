/* cuda_memory.h - memory of the device: taken from the driver in segments, handed out in blocks.
 *
 * All work goes into one stream, so a block that is released may be handed out again at once: whoever gets it works
 * later. So neither taking nor releasing one asks the driver, unless no segment has room.
 *
 * A cache is a set of segments whose free blocks serve each other. An instance has one that all tensors come from;
 * each recording (cuda_replay.c) has one of its own, so that the addresses that its kernels were recorded with belong
 * to nobody else as long as it lives. */
#ifndef BURN_CUDA_MEMORY_H
#define BURN_CUDA_MEMORY_H

#include "gpu.h"

#include <burn/plugin/plugin.h>

#include <stdatomic.h>
#include <stdbool.h>

typedef struct CudaMemory CudaMemory; /* of an instance */
typedef struct CudaCache CudaCache;

/* Figures, in bytes. */
typedef struct CudaMemoryFigures {
  uint64_t in_use;   /* of tensors */
  uint64_t peak;     /* the highest in_use so far */
  uint64_t reserved; /* taken from the driver */
} CudaMemoryFigures;

/* NULL without memory of the host. `limit`: the most bytes of tensors; UINT64_MAX for none. */
CudaMemory *burn__cuda_memory_create(const BurnHost *host, uint64_t limit);
/* In the context, with all work done. What is still handed out goes, too. NULL is allowed. */
void burn__cuda_memory_destroy(struct Gpu *cuda);

/* A storage with one reference over memory that belongs to somebody else. NULL without memory of the host. */
GpuStorage *burn__cuda_storage_over(struct Gpu *cuda, CudaAddress address, uint64_t bytes);
/* In the context: segments of the cache of all tensors that have no block in use go back to the driver. */
BurnStatus burn__cuda_memory_trim(struct Gpu *cuda);
/* The same without waiting; the driver's pool keeps them, for other caches. */
void burn__cuda_memory_give_up(struct Gpu *cuda);
CudaMemoryFigures burn__cuda_memory_figures(struct Gpu *cuda);

/* A further cache; NULL without memory of the host. */
CudaCache *burn__cuda_cache_create(struct Gpu *cuda);
/* Its blocks, also those in use, go over to the cache of all tensors. NULL is allowed. */
void burn__cuda_cache_end(struct Gpu *cuda, CudaCache *cache);
/* Storages come from this cache from now on; NULL: from that of all tensors. */
void burn__cuda_cache_choose(struct Gpu *cuda, CudaCache *cache);
/* True if the storage lies in this cache. */
bool burn__cuda_cache_has(const CudaCache *cache, const GpuStorage *storage);

#endif
