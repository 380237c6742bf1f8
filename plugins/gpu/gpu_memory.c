/* gpu_memory.c - segments and blocks: see gpu_memory.h.
 *
 * A segment is a chain of blocks that lie one after the other. Small blocks, up to 1 MiB in steps of 512 bytes, come
 * from segments of 2 MiB; large ones, in steps of 128 KiB, from segments of 16 MiB, or from one of their own. A free
 * block stands in a list by its size, eight lists for each power of two: the best of the list where the size belongs is
 * taken, else one of the next list that has any. What is left over of it is a free block again, and free neighbours
 * become one. */
#include "gpu_memory.h"

#include <burn/common/environment.h>
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
  bool is_counted;                /* among the bytes in use: what a recording keeps for itself is not */
  GpuCache *cache;                /* NULL: the memory is somebody else's */
  struct Block *before, *after;   /* in the segment; the first block of one stays the first */
  struct Block *next, *previous;  /* in the list of free blocks, or of nodes */
  struct Block *segment, *behind; /* of first blocks: the list of segments */
  bool is_free, is_large;
} Block;

struct GpuCache {
  Block *bins[KINDS][BINS];
  uint64_t filled[KINDS][BIN_WORDS]; /* bit: the list has blocks */
  Block *segments;
};

typedef struct Nodes {
  struct Nodes *next;
  Block blocks[NODES];
} Nodes;

struct GpuMemory {
  pthread_mutex_t mutex;
  const BurnHost *host;
  const GpuSegments *segments;
  uint64_t limit;
  int fill; /* a byte, or -1 */
  GpuMemoryFigures figures;
  GpuCache main, *chosen;
  Nodes *nodes;
  Block *spare; /* nodes that describe nothing */
};

static Block *block_of(GpuStorage *storage) { return (Block *)(void *)storage; }

/* -- nodes ------------------------------------------------------------------------------------ */

static void put_spare(GpuMemory *memory, Block *node) {
  node->next = memory->spare;
  memory->spare = node;
}

static bool make_nodes(GpuMemory *memory) {
  Nodes *nodes = memory->host->allocate(sizeof *nodes);
  if (!nodes) return false;
  nodes->next = memory->nodes;
  memory->nodes = nodes;
  for (uint32_t i = 0; i < NODES; i++) put_spare(memory, &nodes->blocks[i]);
  return true;
}

/* A node with everything cleared; NULL without memory of the host. */
static Block *take_node(GpuMemory *memory) {
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

static void put_free(GpuCache *cache, Block *block) {
  const uint32_t bin = bin_of(block->size);
  Block **head = &cache->bins[block->is_large][bin];
  block->is_free = true;
  block->previous = NULL;
  block->next = *head;
  if (*head) (*head)->previous = block;
  *head = block;
  cache->filled[block->is_large][bin / 64u] |= UINT64_C(1) << bin % 64u;
}

static void take_free(GpuCache *cache, Block *block) {
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

static Block *find_free(GpuCache *cache, bool is_large, uint64_t size) {
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

static void take_later(_Atomic uint64_t *use, const _Atomic uint64_t *other) {
  const uint64_t number = atomic_load_explicit(other, memory_order_relaxed);
  if (number > atomic_load_explicit(use, memory_order_relaxed))
    atomic_store_explicit(use, number, memory_order_relaxed);
}

/* Memory keeps what was done there last, whatever block it belongs to. */
static void remember_use(Block *block, const Block *other) {
  take_later(&block->storage.read_after, &other->storage.read_after);
  take_later(&block->storage.written_after, &other->storage.written_after);
}

/* The front of a block becomes `size` long where the rest is worth a block, which is then free. */
static void split(GpuMemory *memory, GpuCache *cache, Block *block, uint64_t size) {
  const uint64_t rest = block->size - size;
  if (rest < (block->is_large ? large_rest : small_step)) return;
  Block *behind = take_node(memory);
  if (!behind) return; /* the block is then longer than it need be */
  behind->storage.address = block->storage.address + size;
  behind->storage.memory = block->storage.memory;
  behind->size = rest;
  behind->is_large = block->is_large;
  behind->cache = cache;
  remember_use(behind, block);
  behind->before = block;
  behind->after = block->after;
  if (block->after) block->after->before = behind;
  block->after = behind;
  block->size = size;
  put_free(cache, behind);
}

/* `behind` becomes a part of the block before it. */
static void join(GpuMemory *memory, Block *block, Block *behind) {
  block->size += behind->size;
  remember_use(block, behind);
  block->after = behind->after;
  if (behind->after) behind->after->before = block;
  put_spare(memory, behind);
}

static void give_back(GpuMemory *memory, Block *block) {
  GpuCache *cache = block->cache;
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

static void list_segment(GpuCache *cache, Block *block) {
  block->behind = NULL;
  block->segment = cache->segments;
  if (cache->segments) cache->segments->behind = block;
  cache->segments = block;
}

static void unlist_segment(GpuCache *cache, Block *block) {
  if (block->segment) block->segment->behind = block->behind;
  if (block->behind) block->behind->segment = block->segment;
  if (cache->segments == block) cache->segments = block->segment;
}

static uint64_t segment_bytes(bool is_large, uint64_t size) {
  if (!is_large) return small_segment;
  return size < large_shared ? large_segment : (size + small_segment - 1) / small_segment * small_segment;
}

/* Segments of the cache without a block in use, to the backend. */
static void drop_segments(Gpu *gpu, GpuCache *cache) {
  GpuMemory *memory = gpu->memory;
  for (Block *block = cache->segments, *next = NULL; block; block = next) {
    next = block->segment;
    if (!block->is_free || block->after) continue;
    take_free(cache, block);
    unlist_segment(cache, block);
    memory->figures.reserved -= block->size;
    memory->segments->give_back(gpu, block->storage.address, block->storage.memory);
    put_spare(memory, block);
  }
}

/* All that is free goes back: the work that used it is done first. */
static BurnStatus drop_all(Gpu *gpu) {
  GpuMemory *memory = gpu->memory;
  atomic_fetch_add(&gpu->host_waits, 1);
  const BurnStatus status = gpu->backend->finish(gpu);
  if (status != BURN_OK) return status; /* it may still be in use */
  drop_segments(gpu, &memory->main);
  return memory->segments->trim ? memory->segments->trim(gpu) : BURN_OK;
}

static BurnStatus no_memory(Gpu *gpu, uint64_t bytes) {
  const GpuMemoryFigures *figures = &gpu->memory->figures;
  uint64_t free_bytes = 0, all_bytes = 0;
  gpu->memory->segments->room(gpu, &free_bytes, &all_bytes);
  return GPU_FAIL(
      gpu, OUT_OF_MEMORY,
      "no memory for %llu bytes: %llu are in use by tensors, %llu reserved, %llu of %llu free on the device",
      (unsigned long long)bytes, (unsigned long long)figures->in_use, (unsigned long long)figures->reserved,
      (unsigned long long)free_bytes, (unsigned long long)all_bytes);
}

static BurnStatus take_segment(Gpu *gpu, uint64_t bytes, GpuStorage *storage) {
  return gpu->memory->segments->take(gpu, bytes, &storage->address, &storage->memory);
}

static BurnStatus add_segment(Gpu *gpu, GpuCache *cache, bool is_large, uint64_t size, Block **out) {
  GpuMemory *memory = gpu->memory;
  Block *block = take_node(memory);
  if (!block) return GPU_FAIL(gpu, OUT_OF_MEMORY, "no memory of the host for a tensor");
  const uint64_t bytes = segment_bytes(is_large, size);
  BurnStatus status = take_segment(gpu, bytes, &block->storage);
  if (status == BURN_OK && !block->storage.address && !gpu->is_recorded) {
    status = drop_all(gpu);
    if (status == BURN_OK) status = take_segment(gpu, bytes, &block->storage);
  }
  if (status == BURN_OK && !block->storage.address) status = no_memory(gpu, size);
  if (status != BURN_OK) {
    put_spare(memory, block);
    return status;
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

static void count_bytes(GpuMemory *memory, Block *block) {
  GpuMemoryFigures *figures = &memory->figures;
  block->is_counted = memory->chosen == NULL;
  if (block->is_counted) figures->in_use += block->storage.bytes;
  if (figures->in_use > figures->peak) figures->peak = figures->in_use;
}

/* Under the mutex. */
static BurnStatus take_block(Gpu *gpu, uint64_t bytes, Block **out) {
  GpuMemory *memory = gpu->memory;
  GpuCache *cache = memory->chosen ? memory->chosen : &memory->main;
  const bool is_large = bytes > small_most;
  const uint64_t step = is_large ? large_step : small_step;
  const uint64_t size = bytes == 0 ? step : (bytes + step - 1) / step * step;
  BurnStatus status = BURN_OK;
  if (bytes > memory->limit || memory->figures.in_use > memory->limit - bytes)
    return GPU_FAIL(gpu, OUT_OF_MEMORY, "%llu bytes more than the %llu in use are above memory_limit=%llu",
                    (unsigned long long)bytes, (unsigned long long)memory->figures.in_use,
                    (unsigned long long)memory->limit);
  Block *block = find_free(cache, is_large, size);
  if (block) take_free(cache, block);
  if (!block) status = add_segment(gpu, cache, is_large, size, &block);
  if (status != BURN_OK) return status;
  split(memory, cache, block, size);
  *out = block;
  return BURN_OK;
}

/* With the byte 255 a kernel that reads what nobody has written gives no number. */
static BurnStatus fill_new(Gpu *gpu, GpuStorage **storage) {
  const GpuMemory *memory = gpu->memory;
  const BurnStatus status =
      memory->segments->fill(gpu, *storage, block_of(*storage)->size, (unsigned char)memory->fill);
  if (status == BURN_OK) return BURN_OK;
  burn__gpu_memory_put(gpu, *storage);
  *storage = NULL;
  return status;
}

BurnStatus burn__gpu_memory_take(Gpu *gpu, uint64_t bytes, GpuStorage **out) {
  GpuMemory *memory = gpu->memory;
  Block *block = NULL;
  (void)pthread_mutex_lock(&memory->mutex);
  const BurnStatus status = take_block(gpu, bytes, &block);
  if (status == BURN_OK) {
    block->storage.bytes = bytes;
    atomic_init(&block->storage.references, 1u);
    count_bytes(memory, block);
    *out = &block->storage;
  }
  (void)pthread_mutex_unlock(&memory->mutex);
  if (status != BURN_OK || memory->fill < 0 || gpu->is_recorded) return status;
  return fill_new(gpu, out);
}

GpuStorage *burn__gpu_memory_over(Gpu *gpu, GpuAddress address, uint64_t bytes) {
  GpuMemory *memory = gpu->memory;
  (void)pthread_mutex_lock(&memory->mutex);
  Block *block = take_node(memory);
  (void)pthread_mutex_unlock(&memory->mutex);
  if (!block) return NULL;
  block->storage.address = address;
  block->storage.bytes = bytes;
  atomic_init(&block->storage.references, 1u);
  return &block->storage;
}

bool burn__gpu_memory_drop(GpuStorage *storage) {
  return atomic_fetch_sub(&storage->references, 1u) == 1 && !storage->is_stand_in;
}

void burn__gpu_memory_put(Gpu *gpu, GpuStorage *storage) {
  GpuMemory *memory = gpu->memory;
  Block *block = block_of(storage);
  burn__gpu_touch_gone(storage);
  (void)pthread_mutex_lock(&memory->mutex);
  if (block->is_counted) memory->figures.in_use -= storage->bytes;
  if (block->cache) {
    give_back(memory, block);
  } else {
    put_spare(memory, block);
  }
  (void)pthread_mutex_unlock(&memory->mutex);
}

void burn__gpu_memory_release(Gpu *gpu, GpuStorage *storage) {
  if (burn__gpu_memory_drop(storage)) burn__gpu_memory_put(gpu, storage);
}

/* -- the instance's memory -------------------------------------------------------------------- */

GpuMemory *burn__gpu_memory_create(const BurnHost *host, const GpuSegments *segments, uint64_t limit, int fill) {
  GpuMemory *memory = host->allocate(sizeof *memory);
  if (!memory) return NULL;
  memset(memory, 0, sizeof *memory);
  memory->host = host;
  memory->segments = segments;
  memory->limit = limit;
  memory->fill = fill;
  if (pthread_mutex_init(&memory->mutex, NULL) == 0) return memory;
  host->free(memory, sizeof *memory);
  return NULL;
}

int burn__gpu_memory_fill(const char *variable) {
  const char *text = burn_common_trusted_variable(variable);
  return text && text[0] ? atoi(text) & 0xff : -1;
}

void burn__gpu_memory_destroy(Gpu *gpu) {
  GpuMemory *memory = gpu->memory;
  if (!memory) return;
  for (Block *block = memory->main.segments; block; block = block->segment)
    memory->segments->give_back(gpu, block->storage.address, block->storage.memory);
  for (Nodes *nodes = memory->nodes, *next = NULL; nodes; nodes = next) {
    next = nodes->next;
    memory->host->free(nodes, sizeof *nodes);
  }
  (void)pthread_mutex_destroy(&memory->mutex);
  memory->host->free(memory, sizeof *memory);
  gpu->memory = NULL;
}

BurnStatus burn__gpu_memory_trim(Gpu *gpu) {
  (void)pthread_mutex_lock(&gpu->memory->mutex);
  const BurnStatus status = drop_all(gpu);
  (void)pthread_mutex_unlock(&gpu->memory->mutex);
  return status;
}

void burn__gpu_memory_give_up(Gpu *gpu) {
  (void)pthread_mutex_lock(&gpu->memory->mutex);
  drop_segments(gpu, &gpu->memory->main);
  (void)pthread_mutex_unlock(&gpu->memory->mutex);
}

GpuMemoryFigures burn__gpu_memory_figures(Gpu *gpu) {
  (void)pthread_mutex_lock(&gpu->memory->mutex);
  const GpuMemoryFigures figures = gpu->memory->figures;
  (void)pthread_mutex_unlock(&gpu->memory->mutex);
  return figures;
}

/* -- further caches --------------------------------------------------------------------------- */

GpuCache *burn__gpu_cache_create(Gpu *gpu) {
  GpuCache *cache = gpu->host->allocate(sizeof *cache);
  if (cache) memset(cache, 0, sizeof *cache);
  return cache;
}

static void move_segment(GpuCache *from, GpuCache *to, Block *first) {
  for (Block *block = first; block; block = block->after) {
    const bool is_free = block->is_free;
    if (is_free) take_free(from, block);
    block->cache = to;
    if (is_free) put_free(to, block);
  }
}

void burn__gpu_cache_end(Gpu *gpu, GpuCache *cache) {
  GpuMemory *memory = gpu->memory;
  if (!cache) return;
  (void)pthread_mutex_lock(&memory->mutex);
  while (cache->segments) {
    Block *first = cache->segments;
    unlist_segment(cache, first);
    move_segment(cache, &memory->main, first);
    list_segment(&memory->main, first);
  }
  (void)pthread_mutex_unlock(&memory->mutex);
  gpu->host->free(cache, sizeof *cache);
}

void burn__gpu_cache_choose(Gpu *gpu, GpuCache *cache) {
  (void)pthread_mutex_lock(&gpu->memory->mutex);
  gpu->memory->chosen = cache;
  (void)pthread_mutex_unlock(&gpu->memory->mutex);
}

bool burn__gpu_cache_has(const GpuCache *cache, const GpuStorage *storage) {
  return ((const Block *)(const void *)storage)->cache == cache;
}
