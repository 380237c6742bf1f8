/* gpu_memory.h - memory of the device: taken from the backend in segments, handed out in blocks.
 *
 * All work goes into one queue, so a block that is released may be handed out again at once: whoever gets it works
 * later. So neither taking nor releasing one asks the driver, unless no segment has room.
 *
 * A cache is a set of segments whose free blocks serve each other. An instance has one that all tensors come from;
 * each recording may have one of its own, so that the addresses that its kernels were recorded with belong to nobody
 * else as long as it lives. */
#ifndef BURN_GPU_MEMORY_H
#define BURN_GPU_MEMORY_H

#include "gpu.h"

/* Figures, in bytes. */
typedef struct GpuMemoryFigures {
  uint64_t in_use;   /* of tensors */
  uint64_t peak;     /* the highest in_use so far */
  uint64_t reserved; /* taken from the driver */
} GpuMemoryFigures;

/* What a backend does for it, between enter and leave and under a lock: it takes no storage meanwhile. */
typedef struct GpuSegments {
  /* A segment, at an address that is a multiple of 512, and what the storages in it get as their `memory`. Where the
   * device has no room for it *address stays 0, with BURN_OK; other failures are returned. */
  BurnStatus (*take)(Gpu *gpu, uint64_t bytes, GpuAddress *address, void **memory);
  /* It goes back. Work that uses it may be in the queue only after burn__gpu_memory_give_up and _destroy. */
  void (*give_back)(Gpu *gpu, GpuAddress address, void *memory);
  /* All that went back is to be free for other programs, too. NULL: it is. */
  BurnStatus (*trim)(Gpu *gpu);
  /* Bytes of the device that are free, and all. */
  void (*room)(Gpu *gpu, uint64_t *free_bytes, uint64_t *all_bytes);
  /* Sets bytes of memory that a storage has, in the queue; only where a fill is wanted. */
  BurnStatus (*fill)(Gpu *gpu, const GpuStorage *storage, uint64_t bytes, unsigned char byte);
} GpuSegments;

/* NULL without memory of the host. `limit`: the most bytes of tensors; UINT64_MAX for none. `fill`: the byte that
 * tensors begin with, as tests want; -1: whatever is there. It becomes gpu->memory. */
GpuMemory *burn__gpu_memory_create(const BurnHost *host, const GpuSegments *segments, uint64_t limit, int fill);
/* The `fill` that a backend's variable of the environment asks for. */
int burn__gpu_memory_fill(const char *variable);
/* Between enter and leave, or where no segment was taken; what is still handed out goes, too. NULL is allowed. */
void burn__gpu_memory_destroy(Gpu *gpu);

/* A storage with one reference and undefined contents, from the cache that is chosen. Between enter and leave. Without
 * room all work is waited for, segments without blocks in use go back, and it is tried once more. */
BurnStatus burn__gpu_memory_take(Gpu *gpu, uint64_t bytes, GpuStorage **out);
/* A storage with one reference over memory that belongs to somebody else. NULL without memory of the host. */
GpuStorage *burn__gpu_memory_over(Gpu *gpu, GpuAddress address, uint64_t bytes);
/* One reference less; true for the last one of a storage that is to be put back. */
bool burn__gpu_memory_drop(GpuStorage *storage);
/* The memory of a storage without references goes back to its cache. */
void burn__gpu_memory_put(Gpu *gpu, GpuStorage *storage);
/* Both: the backend's storage_release, unless it shares memory. */
void burn__gpu_memory_release(Gpu *gpu, GpuStorage *storage);

/* Between enter and leave: segments of the cache of all tensors that have no block in use go back. */
BurnStatus burn__gpu_memory_trim(Gpu *gpu);
/* The same without waiting, and without trim: where the backend keeps them for other caches. */
void burn__gpu_memory_give_up(Gpu *gpu);
GpuMemoryFigures burn__gpu_memory_figures(Gpu *gpu);

/* A further cache; NULL without memory of the host. */
GpuCache *burn__gpu_cache_create(Gpu *gpu);
/* Its blocks, also those in use, go over to the cache of all tensors. NULL is allowed. */
void burn__gpu_cache_end(Gpu *gpu, GpuCache *cache);
/* Storages come from this cache from now on; NULL: from that of all tensors. */
void burn__gpu_cache_choose(Gpu *gpu, GpuCache *cache);
/* True if the storage lies in this cache. */
bool burn__gpu_cache_has(const GpuCache *cache, const GpuStorage *storage);

#endif
