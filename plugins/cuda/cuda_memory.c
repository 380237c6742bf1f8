/* cuda_memory.c - segments and blocks: see cuda_memory.h.
 *
 * A segment is a chain of blocks that lie one behind the other. Small blocks, up to 1 MiB in steps of 512 bytes, come
 * from segments of 2 MiB; large ones, in steps of 128 KiB, from segments of 16 MiB, or from one of their own. A free
 * block stands in a list by its size, eight lists for each power of two: the best of the list where the size belongs is
 * taken, else one of the next list that has any. What is left over of it is a free block again, and free neighbours
 * become one. */
#include "cuda_internal.h"

#include <stdlib.h>
#include <string.h>

enum { SMALL, LARGE, KINDS };
enum { BINS = 256, BIN_WORDS = BINS / 64, NODES = 64, LOOKS = 32 };

static const uint64_t small_step = 512, small_most = 1 << 20, small_segment = 2 << 20;
static const uint64_t large_step = 128 << 10, large_rest = 1 << 20, large_shared = 8 << 20, large_segment = 16 << 20;

/* A part of a segment. Its storage is what is handed out, so it comes first. */
typedef struct Block {
  GpuStorage storage;
  uint64_t size;                  /* storage.bytes rounded up */
  CudaCache *cache;               /* NULL: the memory is somebody else's */
  struct Block *before, *after;   /* in the segment; the first block of one stays the first */
  struct Block *next, *previous;  /* in the list of free blocks, or of nodes */
  struct Block *segment, *behind; /* of first blocks: the list of segments */
  bool is_free, is_large;
} Block;

struct CudaCache {
  Block *bins[KINDS][BINS];
  uint64_t filled[KINDS][BIN_WORDS]; /* bit: the list has blocks */
  Block *segments;
};

typedef struct Nodes {
  struct Nodes *next;
  Block blocks[NODES];
} Nodes;

struct CudaMemory {
  pthread_mutex_t mutex;
  const BurnHost *host;
  uint64_t limit;
  int fill; /* BURN_CUDA_FILL: the byte that tensors begin with, as tests want; -1: whatever is there */
  CudaMemoryFigures figures;
  CudaCache main, *chosen;
  Nodes *nodes;
  Block *spare; /* nodes that describe nothing */
};

static Block *block_of(GpuStorage *storage) { return (Block *)(void *)storage; }

/* -- nodes ------------------------------------------------------------------------------------ */

static void put_spare(CudaMemory *memory, Block *node) {
  node->next = memory->spare;
  memory->spare = node;
}

static bool make_nodes(CudaMemory *memory) {
  Nodes *nodes = memory->host->allocate(sizeof *nodes);
  if (!nodes) return false;
  nodes->next = memory->nodes;
  memory->nodes = nodes;
  for (uint32_t i = 0; i < NODES; i++) put_spare(memory, &nodes->blocks[i]);
  return true;
}

/* A node with everything cleared; NULL without memory of the host. */
static Block *take_node(CudaMemory *memory) {
  if (!memory->spare && !make_nodes(memory)) return NULL;
  Block *node = memory->spare;
  memory->spare = node->next;
  memset(node, 0, sizeof *node);
  return node;
}

/* -- lists of free blocks --------------------------------------------------------------------- */

static uint32_t bin_of(uint64_t size) {
  const uint64_t steps = size / small_step;
  if (steps < 8) return (uint32_t)steps;
  const uint32_t power = 63u - (uint32_t)__builtin_clzll(steps);
  const uint32_t bin = (power - 2u) * 8u + (uint32_t)(steps >> (power - 3u) & 7u);
  return bin < BINS ? bin : BINS - 1;
}

static void put_free(CudaCache *cache, Block *block) {
  const uint32_t bin = bin_of(block->size);
  Block **head = &cache->bins[block->is_large][bin];
  block->is_free = true;
  block->previous = NULL;
  block->next = *head;
  if (*head) (*head)->previous = block;
  *head = block;
  cache->filled[block->is_large][bin / 64u] |= UINT64_C(1) << bin % 64u;
}

static void take_free(CudaCache *cache, Block *block) {
  const uint32_t bin = bin_of(block->size);
  Block **head = &cache->bins[block->is_large][bin];
  if (block->next) block->next->previous = block->previous;
  if (block->previous) block->previous->next = block->next;
  if (*head == block) *head = block->next;
  if (!*head) cache->filled[block->is_large][bin / 64u] &= ~(UINT64_C(1) << bin % 64u);
  block->is_free = false;
}

/* The smallest of a list that is large enough, among the first that are looked at. */
static Block *best_of(Block *list, uint64_t size) {
  Block *best = NULL;
  for (uint32_t looks = 0; list && looks < LOOKS; list = list->next, looks++) {
    if (list->size < size || (best && best->size <= list->size)) continue;
    best = list;
    if (best->size == size) break;
  }
  return best;
}

static Block *find_free(CudaCache *cache, bool is_large, uint64_t size) {
  const uint32_t bin = bin_of(size);
  Block *found = best_of(cache->bins[is_large][bin], size);
  for (uint32_t word = (bin + 1u) / 64u; !found && word < BIN_WORDS; word++) {
    uint64_t bits = cache->filled[is_large][word];
    if (word == (bin + 1u) / 64u) bits &= ~UINT64_C(0) << (bin + 1u) % 64u;
    if (bits) found = best_of(cache->bins[is_large][word * 64u + (uint32_t)__builtin_ctzll(bits)], size);
  }
  return found;
}

/* -- blocks ----------------------------------------------------------------------------------- */

/* The front of a block becomes `size` long where the rest is worth a block, which is then free. */
static void split(CudaMemory *memory, CudaCache *cache, Block *block, uint64_t size) {
  const uint64_t rest = block->size - size;
  if (rest < (block->is_large ? large_rest : small_step)) return;
  Block *behind = take_node(memory);
  if (!behind) return; /* the block is then longer than it need be */
  behind->storage.address = block->storage.address + size;
  behind->size = rest;
  behind->is_large = block->is_large;
  behind->cache = cache;
  behind->before = block;
  behind->after = block->after;
  if (block->after) block->after->before = behind;
  block->after = behind;
  block->size = size;
  put_free(cache, behind);
}

/* `behind` becomes a part of the block before it. */
static void join(CudaMemory *memory, Block *block, Block *behind) {
  block->size += behind->size;
  block->after = behind->after;
  if (behind->after) behind->after->before = block;
  put_spare(memory, behind);
}

static void give_back(CudaMemory *memory, Block *block) {
  CudaCache *cache = block->cache;
  if (block->after && block->after->is_free) {
    take_free(cache, block->after);
    join(memory, block, block->after);
  }
  if (block->before && block->before->is_free) {
    Block *before = block->before;
    take_free(cache, before);
    join(memory, before, block);
    block = before;
  }
  put_free(cache, block);
}

/* -- segments --------------------------------------------------------------------------------- */

static void list_segment(CudaCache *cache, Block *block) {
  block->behind = NULL;
  block->segment = cache->segments;
  if (cache->segments) cache->segments->behind = block;
  cache->segments = block;
}

static void unlist_segment(CudaCache *cache, Block *block) {
  if (block->segment) block->segment->behind = block->behind;
  if (block->behind) block->behind->segment = block->segment;
  if (cache->segments == block) cache->segments = block->segment;
}

static uint64_t segment_bytes(bool is_large, uint64_t size) {
  if (!is_large) return small_segment;
  return size < large_shared ? large_segment : (size + small_segment - 1) / small_segment * small_segment;
}

/* What is being recorded must not contain an allocation: it is made in another stream, and waited for. */
static int ask_driver(Cuda *cuda, uint64_t bytes, CudaAddress *out) {
  const CudaDriver *d = cuda->driver;
  void *stream = cuda->is_recording ? cuda->side_stream : cuda->stream;
  const int error = d->cuMemAllocFromPoolAsync(out, bytes, cuda->pool, stream);
  return error == CUDA_OK && cuda->is_recording ? d->cuStreamSynchronize(stream) : error;
}

/* Segments of the cache without a block in use, to the driver. */
static void drop_segments(Cuda *cuda, CudaCache *cache) {
  CudaMemory *memory = cuda->memory;
  for (Block *block = cache->segments, *next = NULL; block; block = next) {
    next = block->segment;
    if (!block->is_free || block->after) continue;
    take_free(cache, block);
    unlist_segment(cache, block);
    memory->figures.reserved -= block->size;
    (void)cuda->driver->cuMemFreeAsync(block->storage.address, cuda->stream);
    put_spare(memory, block);
  }
}

/* All that is free goes back: the work that used it is done first, and the driver's pool keeps nothing. */
static int drop_all(Cuda *cuda) {
  const CudaDriver *d = cuda->driver;
  atomic_fetch_add(&cuda->host_waits, 1);
  int error = d->cuStreamSynchronize(cuda->stream);
  drop_segments(cuda, &cuda->memory->main);
  if (error == CUDA_OK) error = d->cuStreamSynchronize(cuda->stream);
  return error == CUDA_OK ? d->cuMemPoolTrimTo(cuda->pool, 0) : error;
}

static BurnStatus no_memory(Cuda *cuda, uint64_t bytes) {
  const CudaMemoryFigures *figures = &cuda->memory->figures;
  size_t free = 0, total = 0;
  (void)cuda->driver->cuMemGetInfo_v2(&free, &total);
  return CUDA_FAIL(cuda, OUT_OF_MEMORY,
                   "no memory for %llu bytes: %llu are in use by tensors, %llu reserved, %zu of %zu free on the device",
                   (unsigned long long)bytes, (unsigned long long)figures->in_use,
                   (unsigned long long)figures->reserved, free, total);
}

static BurnStatus add_segment(Cuda *cuda, CudaCache *cache, bool is_large, uint64_t size, Block **out) {
  CudaMemory *memory = cuda->memory;
  Block *block = take_node(memory);
  if (!block) return CUDA_FAIL(cuda, OUT_OF_MEMORY, "no memory of the host for a tensor");
  const uint64_t bytes = segment_bytes(is_large, size);
  int error = ask_driver(cuda, bytes, &block->storage.address);
  if (error == CUDA_OUT_OF_MEMORY && !cuda->is_recording) {
    (void)drop_all(cuda);
    error = ask_driver(cuda, bytes, &block->storage.address);
  }
  if (error != CUDA_OK) {
    put_spare(memory, block);
    return error == CUDA_OUT_OF_MEMORY ? no_memory(cuda, size) : burn__cuda_check(cuda, error, "allocate");
  }
  block->size = bytes;
  block->is_large = is_large;
  block->cache = cache;
  memory->figures.reserved += bytes;
  list_segment(cache, block);
  *out = block;
  return BURN_OK;
}

/* -- storages --------------------------------------------------------------------------------- */

static void count_bytes(CudaMemory *memory, GpuStorage *storage) {
  CudaMemoryFigures *figures = &memory->figures;
  storage->is_counted = memory->chosen == NULL;
  if (storage->is_counted) figures->in_use += storage->bytes;
  if (figures->in_use > figures->peak) figures->peak = figures->in_use;
}

/* Under the mutex. */
static BurnStatus take_block(Cuda *cuda, uint64_t bytes, Block **out) {
  CudaMemory *memory = cuda->memory;
  CudaCache *cache = memory->chosen ? memory->chosen : &memory->main;
  const bool is_large = bytes > small_most;
  const uint64_t step = is_large ? large_step : small_step;
  const uint64_t size = bytes == 0 ? step : (bytes + step - 1) / step * step;
  BurnStatus status = BURN_OK;
  if (bytes > memory->limit || memory->figures.in_use > memory->limit - bytes)
    return CUDA_FAIL(cuda, OUT_OF_MEMORY, "%llu bytes more than the %llu in use are above memory_limit=%llu",
                     (unsigned long long)bytes, (unsigned long long)memory->figures.in_use,
                     (unsigned long long)memory->limit);
  Block *block = find_free(cache, is_large, size);
  if (block) take_free(cache, block);
  if (!block) status = add_segment(cuda, cache, is_large, size, &block);
  if (status != BURN_OK) return status;
  split(memory, cache, block, size);
  *out = block;
  return BURN_OK;
}

static BurnStatus remember(Cuda *cuda, GpuStorage **storage) {
  const BurnStatus status = burn__cuda_replay_taken(cuda, *storage);
  if (status == BURN_OK) return BURN_OK;
  burn__gpu_storage_release(cuda, *storage);
  *storage = NULL;
  return status;
}

/* In a patch: what the recorded call took. */
static BurnStatus take_again(Cuda *cuda, uint64_t bytes, GpuStorage **out) {
  CudaAddress address = 0;
  const BurnStatus status = burn__cuda_replay_take_again(cuda, bytes, &address);
  if (status != BURN_OK) return status;
  *out = burn__cuda_storage_over(cuda, address, bytes);
  return *out ? BURN_OK : CUDA_FAIL(cuda, OUT_OF_MEMORY, "no memory of the host for a tensor");
}

/* With the byte 255 a kernel that reads what nobody has written gives no number. */
static BurnStatus fill_new(Cuda *cuda, GpuStorage **storage) {
  const unsigned char byte = (unsigned char)cuda->memory->fill;
  const BurnStatus status = burn__cuda_check(
      cuda, cuda->driver->cuMemsetD8Async((*storage)->address, byte, (size_t)block_of(*storage)->size, cuda->stream),
      "fill memory");
  if (status == BURN_OK) return BURN_OK;
  burn__gpu_storage_release(cuda, *storage);
  *storage = NULL;
  return status;
}

BurnStatus burn__gpu_storage_new(Cuda *cuda, uint64_t bytes, GpuStorage **out) {
  CudaMemory *memory = cuda->memory;
  Block *block = NULL;
  if (cuda->is_patching) return take_again(cuda, bytes, out);
  (void)pthread_mutex_lock(&memory->mutex);
  const BurnStatus status = take_block(cuda, bytes, &block);
  if (status == BURN_OK) {
    block->storage.bytes = bytes;
    atomic_init(&block->storage.references, 1u);
    count_bytes(memory, &block->storage);
    *out = &block->storage;
  }
  (void)pthread_mutex_unlock(&memory->mutex);
  if (status != BURN_OK) return status;
  if (cuda->is_recording) return remember(cuda, out);
  return memory->fill >= 0 ? fill_new(cuda, out) : BURN_OK;
}

GpuStorage *burn__cuda_storage_over(Cuda *cuda, CudaAddress address, uint64_t bytes) {
  CudaMemory *memory = cuda->memory;
  (void)pthread_mutex_lock(&memory->mutex);
  Block *block = take_node(memory);
  (void)pthread_mutex_unlock(&memory->mutex);
  if (!block) return NULL;
  block->storage.address = address;
  block->storage.bytes = bytes;
  atomic_init(&block->storage.references, 1u);
  return &block->storage;
}

void burn__gpu_storage_release(Cuda *cuda, GpuStorage *storage) {
  CudaMemory *memory = cuda->memory;
  if (atomic_fetch_sub(&storage->references, 1u) != 1 || storage->is_stand_in) return;
  Block *block = block_of(storage);
  if (storage->is_shared) burn__cuda_unshare(cuda, storage);
  (void)pthread_mutex_lock(&memory->mutex);
  if (storage->is_counted) memory->figures.in_use -= storage->bytes;
  if (block->cache) {
    give_back(memory, block);
  } else {
    put_spare(memory, block);
  }
  (void)pthread_mutex_unlock(&memory->mutex);
}

/* -- the instance's memory -------------------------------------------------------------------- */

CudaMemory *burn__cuda_memory_create(const BurnHost *host, uint64_t limit) {
  CudaMemory *memory = host->allocate(sizeof *memory);
  if (!memory) return NULL;
  memset(memory, 0, sizeof *memory);
  memory->host = host;
  memory->limit = limit;
  const char *fill = getenv("BURN_CUDA_FILL");
  memory->fill = fill && fill[0] ? atoi(fill) & 0xff : -1;
  if (pthread_mutex_init(&memory->mutex, NULL) == 0) return memory;
  host->free(memory, sizeof *memory);
  return NULL;
}

void burn__cuda_memory_destroy(Cuda *cuda) {
  CudaMemory *memory = cuda->memory;
  if (!memory) return;
  for (Block *block = memory->main.segments; block; block = block->segment)
    (void)cuda->driver->cuMemFreeAsync(block->storage.address, cuda->stream);
  for (Nodes *nodes = memory->nodes, *next = NULL; nodes; nodes = next) {
    next = nodes->next;
    memory->host->free(nodes, sizeof *nodes);
  }
  (void)pthread_mutex_destroy(&memory->mutex);
  memory->host->free(memory, sizeof *memory);
  cuda->memory = NULL;
}

BurnStatus burn__cuda_memory_trim(Cuda *cuda) {
  (void)pthread_mutex_lock(&cuda->memory->mutex);
  const int error = drop_all(cuda);
  (void)pthread_mutex_unlock(&cuda->memory->mutex);
  return burn__cuda_check(cuda, error, "trim");
}

void burn__cuda_memory_give_up(Cuda *cuda) {
  (void)pthread_mutex_lock(&cuda->memory->mutex);
  drop_segments(cuda, &cuda->memory->main);
  (void)pthread_mutex_unlock(&cuda->memory->mutex);
}

CudaMemoryFigures burn__cuda_memory_figures(Cuda *cuda) {
  (void)pthread_mutex_lock(&cuda->memory->mutex);
  const CudaMemoryFigures figures = cuda->memory->figures;
  (void)pthread_mutex_unlock(&cuda->memory->mutex);
  return figures;
}

/* -- further caches --------------------------------------------------------------------------- */

CudaCache *burn__cuda_cache_create(Cuda *cuda) {
  CudaCache *cache = cuda->host->allocate(sizeof *cache);
  if (cache) memset(cache, 0, sizeof *cache);
  return cache;
}

static void move_segment(CudaCache *from, CudaCache *to, Block *first) {
  for (Block *block = first; block; block = block->after) {
    const bool is_free = block->is_free;
    if (is_free) take_free(from, block);
    block->cache = to;
    if (is_free) put_free(to, block);
  }
}

void burn__cuda_cache_end(Cuda *cuda, CudaCache *cache) {
  CudaMemory *memory = cuda->memory;
  if (!cache) return;
  (void)pthread_mutex_lock(&memory->mutex);
  while (cache->segments) {
    Block *first = cache->segments;
    unlist_segment(cache, first);
    move_segment(cache, &memory->main, first);
    list_segment(&memory->main, first);
  }
  (void)pthread_mutex_unlock(&memory->mutex);
  cuda->host->free(cache, sizeof *cache);
}

void burn__cuda_cache_choose(Cuda *cuda, CudaCache *cache) {
  (void)pthread_mutex_lock(&cuda->memory->mutex);
  cuda->memory->chosen = cache;
  (void)pthread_mutex_unlock(&cuda->memory->mutex);
}

bool burn__cuda_cache_has(const CudaCache *cache, const GpuStorage *storage) {
  return ((const Block *)(const void *)storage)->cache == cache;
}
