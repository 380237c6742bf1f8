/* ndarray_pool.c - caching allocator over the host's memory.
 *
 * Sizes are rounded up to classes (steps of 64 bytes up to 512, then eight steps per doubling: at most 12.5 % are
 * wasted). A freed block goes to the list of its class, linked through its own first bytes, and is handed out again
 * from there. A spin lock guards the lists; it is held for a few instructions. When the cache would hold more than the
 * largest amount ever in use (and more than ND_POOL_KEEP), all of it goes back to the host, so changing shapes do not
 * pile up blocks. Under AddressSanitizer cached blocks and the rounded-up ends of blocks are poisoned. */
#include "ndarray_internal.h"

#include <sched.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
#define ND_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ND_ADDRESS_SANITIZER 1
#endif
#endif

#if defined(ND_ADDRESS_SANITIZER)
#include <sanitizer/asan_interface.h>
#define ND_POISON(memory, bytes) ASAN_POISON_MEMORY_REGION(memory, bytes)
#define ND_UNPOISON(memory, bytes) ASAN_UNPOISON_MEMORY_REGION(memory, bytes)
#else
#define ND_POISON(memory, bytes) ((void)(memory), (void)(bytes))
#define ND_UNPOISON(memory, bytes) ((void)(memory), (void)(bytes))
#endif

#define ND_POOL_CLASSES 256u
#define ND_POOL_LARGEST ((uint64_t)1 << 39) /* larger blocks are not cached */
#define ND_POOL_KEEP ((uint64_t)256 << 20)  /* bytes that may always stay cached */
#define ND_POOL_SPINS 64                    /* tries before the thread yields */

typedef struct NdFreeBlock {
  struct NdFreeBlock *next;
} NdFreeBlock;

struct NdPool {
  const BurnHost *host;
  atomic_flag locked;
  uint64_t in_use, peak, cached; /* bytes, rounded to classes */
  NdFreeBlock *lists[ND_POOL_CLASSES];
};

/* -- classes ------------------------------------------------------------------------------------------------------- */

static uint32_t highest_bit(uint64_t x) {
#if defined(__GNUC__)
  return 63u - (uint32_t)__builtin_clzll(x);
#else
  uint32_t bit = 0;
  while (x >>= 1) bit++;
  return bit;
#endif
}

/* Class of a size of 1 byte or more; ND_POOL_CLASSES if it is too large to be cached. */
static uint32_t class_of(uint64_t bytes) {
  if (bytes <= 512) return (uint32_t)((bytes - 1) >> 6);
  if (bytes > ND_POOL_LARGEST) return ND_POOL_CLASSES;
  const uint32_t bit = highest_bit(bytes - 1); /* 9 and up */
  return (bit - 9) * 8 + 8 + (uint32_t)(((bytes - 1) >> (bit - 3)) & 7u);
}

/* Size of the blocks of a class. */
static uint64_t class_bytes(uint32_t class) {
  if (class < 8) return ((uint64_t) class + 1) << 6;
  const uint32_t bit = (class - 8) / 8 + 9;
  return ((uint64_t)1 << bit) + ((uint64_t)((class - 8) % 8 + 1) << (bit - 3));
}

/* -- lock ---------------------------------------------------------------------------------------------------------- */

static void pool_lock(NdPool *pool) {
  int spins = 0;
  while (atomic_flag_test_and_set_explicit(&pool->locked, memory_order_acquire)) {
    if (++spins < ND_POOL_SPINS) continue;
    spins = 0;
    (void)sched_yield();
  }
}

static void pool_unlock(NdPool *pool) { atomic_flag_clear_explicit(&pool->locked, memory_order_release); }

/* -- life ---------------------------------------------------------------------------------------------------------- */

NdPool *nd_pool_create(const BurnHost *host) {
  NdPool *pool = host->allocate(sizeof *pool);
  if (!pool) return NULL;
  memset(pool, 0, sizeof *pool);
  pool->host = host;
  atomic_flag_clear_explicit(&pool->locked, memory_order_relaxed);
  return pool;
}

void nd_pool_destroy(NdPool *pool) {
  if (!pool) return;
  nd_pool_trim(pool);
  pool->host->free(pool, sizeof *pool);
}

/* Moves all lists to `lists`; the lock is held. */
static void take_lists(NdPool *pool, NdFreeBlock **lists) {
  memcpy(lists, pool->lists, sizeof pool->lists);
  memset(pool->lists, 0, sizeof pool->lists);
  pool->cached = 0;
}

/* Gives the blocks of taken lists to the host. */
static void free_lists(NdPool *pool, NdFreeBlock **lists) {
  for (uint32_t class = 0; class < ND_POOL_CLASSES; class ++) {
    NdFreeBlock *block = lists[class];
    while (block) {
      ND_UNPOISON(block, class_bytes(class));
      NdFreeBlock *next = block->next;
      pool->host->free(block, class_bytes(class));
      block = next;
    }
  }
}

void nd_pool_reserve(NdPool *pool, uint64_t bytes, uint32_t count) {
  void *blocks[64];
  uint32_t taken = 0;
  if (count > sizeof blocks / sizeof blocks[0]) count = sizeof blocks / sizeof blocks[0];
  while (taken < count && (blocks[taken] = nd_pool_allocate(pool, bytes)) != NULL) taken++;
  while (taken > 0) nd_pool_free(pool, blocks[--taken], bytes);
}

void nd_pool_trim(NdPool *pool) {
  NdFreeBlock *lists[ND_POOL_CLASSES];
  pool_lock(pool);
  take_lists(pool, lists);
  pool_unlock(pool);
  free_lists(pool, lists);
}

uint64_t nd_pool_reserved(NdPool *pool) {
  pool_lock(pool);
  const uint64_t bytes = pool->in_use + pool->cached;
  pool_unlock(pool);
  return bytes;
}

/* -- blocks -------------------------------------------------------------------------------------------------------- */

static void count_in_use(NdPool *pool, uint64_t bytes) {
  pool->in_use += bytes;
  if (pool->in_use > pool->peak) pool->peak = pool->in_use;
}

/* A new block from the host, with one more try after a trim. */
static void *allocate_new(NdPool *pool, uint64_t bytes) {
  void *memory = pool->host->allocate(bytes);
  if (!memory) {
    nd_pool_trim(pool);
    memory = pool->host->allocate(bytes);
    if (!memory) return NULL;
  }
  pool_lock(pool);
  count_in_use(pool, bytes);
  pool_unlock(pool);
  return memory;
}

void *nd_pool_allocate(NdPool *pool, uint64_t bytes) {
  if (bytes == 0) bytes = 1;
  const uint32_t class = class_of(bytes);
  if (class == ND_POOL_CLASSES) return allocate_new(pool, bytes);
  const uint64_t rounded = class_bytes(class);
  pool_lock(pool);
  NdFreeBlock *block = pool->lists[class];
  if (block) {
    ND_UNPOISON(block, sizeof *block); /* the link may be longer than what is asked for */
    pool->lists[class] = block->next;
    ND_POISON(block, rounded);
    ND_UNPOISON(block, bytes);
    pool->cached -= rounded;
    count_in_use(pool, rounded);
  }
  pool_unlock(pool);
  if (block) return block;
  char *memory = allocate_new(pool, rounded);
  if (memory) ND_POISON(memory + bytes, rounded - bytes);
  return memory;
}

void nd_pool_free(NdPool *pool, void *memory, uint64_t bytes) {
  if (!memory) return;
  if (bytes == 0) bytes = 1;
  const uint32_t class = class_of(bytes);
  const bool keep = class != ND_POOL_CLASSES;
  const uint64_t rounded = keep ? class_bytes(class) : bytes;
  NdFreeBlock *lists[ND_POOL_CLASSES];
  bool full = false;
  pool_lock(pool);
  pool->in_use -= rounded;
  if (keep) {
    full = pool->cached + rounded > ND_POOL_KEEP && pool->cached + rounded > pool->peak;
    if (full) take_lists(pool, lists);
    NdFreeBlock *block = memory;
    ND_UNPOISON(block, sizeof *block);
    block->next = pool->lists[class];
    pool->lists[class] = block;
    pool->cached += rounded;
    ND_POISON(memory, rounded);
  }
  pool_unlock(pool);
  if (full) free_lists(pool, lists);
  if (!keep) pool->host->free(memory, bytes);
}
