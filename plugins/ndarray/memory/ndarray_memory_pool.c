/* ndarray_memory_pool.c - caching allocator over the host's memory, by the policy of burn/common/pool.h.
 *
 * A freed block goes to the list of its class, linked through its own first bytes, and is handed out again from there.
 * A spin lock guards the lists and all counts, those of tensors included; it is held for a few instructions, and taking
 * it is the only atomic operation of an allocation.
 *
 * Large blocks are aligned to huge pages and ask for them: their first touch is faster and they miss the TLB less.
 * Under AddressSanitizer cached blocks and the rounded-up ends of blocks are poisoned. */
#define _DEFAULT_SOURCE /* madvise */
#include "ndarray_internal.h"
#include "support/ndarray_compiler.h"

#include <burn/common/pool.h>

#include <sched.h>
#include <string.h>
#if defined(__linux__)
#include <sys/mman.h>
#endif

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

#define ND_POOL_CLASSES BURN_COMMON_POOL_CLASSES
#define ND_POOL_KEEP ((uint64_t)256 << 20) /* bytes that may always stay cached */
#define ND_POOL_SPINS 64                   /* tries before the thread yields */
#define ND_POOL_HUGE ((uint64_t)4 << 20)   /* blocks from here on want huge pages */
#define ND_HUGE_PAGE ((uint64_t)2 << 20)

typedef struct NdFreeBlock {
  struct NdFreeBlock *next;
} NdFreeBlock;

struct NdPool {
  const BurnHost *host;
  atomic_flag locked;
  NdPoolTensors tensors;
  BurnCommonPool policy;
  NdFreeBlock *lists[ND_POOL_CLASSES];
};

/* -- lock ------------------------------------------------------------------------------------- */

/* Another thread has it. What is rare in this file stands apart, so that the rest saves few registers. */
static ND_APART void lock_later(NdPool *pool) {
  int spins = 0;
  while (atomic_flag_test_and_set_explicit(&pool->locked, memory_order_acquire)) {
    if (++spins < ND_POOL_SPINS) continue;
    spins = 0;
    (void)sched_yield();
  }
}

static inline void pool_lock(NdPool *pool) {
  if (atomic_flag_test_and_set_explicit(&pool->locked, memory_order_acquire)) lock_later(pool);
}

static void pool_unlock(NdPool *pool) { atomic_flag_clear_explicit(&pool->locked, memory_order_release); }

/* -- the host's memory ------------------------------------------------------------------------ */

/* Large blocks start at a huge page; the word before them says where the host's block starts. */
static void *host_allocate(const NdPool *pool, uint64_t bytes) {
  if (bytes < ND_POOL_HUGE) return pool->host->allocate(bytes);
  char *memory = pool->host->allocate(bytes + ND_HUGE_PAGE + 64);
  if (!memory) return NULL;
  char *block = memory + 64;
  block += -(uintptr_t)block % ND_HUGE_PAGE;
  memcpy(block - sizeof memory, &memory, sizeof memory);
#if defined(MADV_HUGEPAGE)
  (void)madvise(block, bytes / 4096 * 4096, MADV_HUGEPAGE); /* a wish: without it all works too */
#endif
  return block;
}

static void host_free(const NdPool *pool, void *block, uint64_t bytes) {
  if (bytes < ND_POOL_HUGE) {
    pool->host->free(block, bytes);
    return;
  }
  char *memory;
  memcpy(&memory, (char *)block - sizeof memory, sizeof memory);
  pool->host->free(memory, bytes + ND_HUGE_PAGE + 64);
}

/* -- life ------------------------------------------------------------------------------------- */

NdPool *nd_pool_create(const BurnHost *host, uint64_t limit) {
  NdPool *pool = host->allocate(sizeof *pool);
  if (!pool) return NULL;
  memset(pool, 0, sizeof *pool);
  pool->host = host;
  pool->policy.limit = limit != 0 ? limit : UINT64_MAX;
  pool->policy.keep = ND_POOL_KEEP;
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
  burn_common_pool_drop_all(&pool->policy);
}

/* Moves the lists that were asked for the longest ago, until the cache has room for `bytes`; the lock is held. */
static void take_stale_lists(NdPool *pool, uint64_t bytes, NdFreeBlock **lists) {
  memset(lists, 0, sizeof pool->lists);
  for (;;) {
    const uint32_t stalest = burn_common_pool_stalest(&pool->policy, bytes);
    if (stalest == ND_POOL_CLASSES) return;
    lists[stalest] = pool->lists[stalest];
    pool->lists[stalest] = NULL;
    burn_common_pool_drop(&pool->policy, stalest);
  }
}

/* Gives the blocks of taken lists to the host. */
static void free_lists(const NdPool *pool, NdFreeBlock **lists) {
  for (uint32_t class = 0; class < ND_POOL_CLASSES; class ++) {
    NdFreeBlock *block = lists[class];
    while (block) {
      ND_UNPOISON(block, burn_common_pool_class_bytes(class));
      NdFreeBlock *next = block->next;
      host_free(pool, block, burn_common_pool_class_bytes(class));
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

NdPoolTensors nd_pool_tensors(NdPool *pool) {
  pool_lock(pool);
  NdPoolTensors tensors = pool->tensors;
  tensors.reserved = pool->policy.in_use + pool->policy.cached;
  pool_unlock(pool);
  return tensors;
}

/* -- blocks ----------------------------------------------------------------------------------- */

static void count_tensor(NdPool *pool, uint64_t bytes) {
  pool->tensors.count++;
  pool->tensors.bytes += bytes;
  if (pool->tensors.bytes > pool->tensors.peak) pool->tensors.peak = pool->tensors.bytes;
}

/* Counts `bytes` as in use if the limit allows that; where it does only without the cache, the cache goes. */
static bool claim(NdPool *pool, uint64_t bytes) {
  NdFreeBlock *lists[ND_POOL_CLASSES];
  pool_lock(pool);
  bool trims = false;
  const bool fits = burn_common_pool_has_room(&pool->policy, bytes, &trims);
  if (trims) take_lists(pool, lists);
  if (fits) pool->policy.in_use += bytes;
  pool_unlock(pool);
  if (trims) free_lists(pool, lists);
  return fits;
}

/* A new block from the host, with one more try after a trim. */
static void *allocate_new(NdPool *pool, uint64_t bytes) {
  if (!claim(pool, bytes)) return NULL;
  void *memory = host_allocate(pool, bytes);
  if (!memory) {
    nd_pool_trim(pool);
    memory = host_allocate(pool, bytes);
  }
  pool_lock(pool);
  pool->policy.in_use -= bytes;
  if (memory) burn_common_pool_use(&pool->policy, bytes);
  pool_unlock(pool);
  return memory;
}

/* The block of a class that was freed last, or NULL; the lock is held. */
static NdFreeBlock *take_cached(NdPool *pool, uint32_t class, uint64_t bytes) {
  if (!burn_common_pool_take(&pool->policy, class)) return NULL;
  NdFreeBlock *block = pool->lists[class];
  ND_UNPOISON(block, sizeof *block); /* the link may be longer than what is asked for */
  pool->lists[class] = block->next;
  ND_POISON(block, burn_common_pool_class_bytes(class));
  ND_UNPOISON(block, bytes);
  return block;
}

/* A block that is not in the cache, as allocate_counted. */
static ND_APART void *allocate_uncached(NdPool *pool, uint32_t class, uint64_t bytes, uint64_t tensor_bytes) {
  const uint64_t rounded = class != ND_POOL_CLASSES ? burn_common_pool_class_bytes(class) : bytes;
  char *memory = allocate_new(pool, rounded);
  if (!memory) return NULL;
  ND_POISON(memory + bytes, rounded - bytes);
  if (tensor_bytes != UINT64_MAX) {
    pool_lock(pool);
    count_tensor(pool, tensor_bytes);
    pool_unlock(pool);
  }
  return memory;
}

/* With a tensor's bytes to count, or UINT64_MAX for none. */
static inline void *allocate_counted(NdPool *pool, uint64_t bytes, uint64_t tensor_bytes) {
  if (bytes == 0) bytes = 1;
  const uint32_t class = burn_common_pool_class(bytes);
  pool_lock(pool);
  NdFreeBlock *block = class != ND_POOL_CLASSES ? take_cached(pool, class, bytes) : NULL;
  if (block && tensor_bytes != UINT64_MAX) count_tensor(pool, tensor_bytes);
  pool_unlock(pool);
  return block ? block : allocate_uncached(pool, class, bytes, tensor_bytes);
}

void *nd_pool_allocate(NdPool *pool, uint64_t bytes) { return allocate_counted(pool, bytes, UINT64_MAX); }

void *nd_pool_allocate_tensor(NdPool *pool, uint64_t bytes, uint64_t tensor_bytes) {
  return allocate_counted(pool, bytes, tensor_bytes);
}

/* Counts a block as no longer in use. */
static void count_free(NdPool *pool, uint64_t rounded, uint64_t tensors, uint64_t tensor_bytes) {
  pool->tensors.count -= tensors;
  pool->tensors.bytes -= tensor_bytes;
  pool->policy.in_use -= rounded;
}

/* Puts a block that is no longer in use into the cache; the lock is held. */
static void cache_block(NdPool *pool, NdFreeBlock *block, uint32_t class) {
  ND_UNPOISON(block, sizeof *block);
  block->next = pool->lists[class];
  pool->lists[class] = block;
  burn_common_pool_cache(&pool->policy, class);
  ND_POISON(block, burn_common_pool_class_bytes(class));
}

/* Makes room in the cache and puts a block there that is no longer in use. The lock is held when this begins, and
 * released. */
static ND_APART void cache_block_instead(NdPool *pool, NdFreeBlock *block, uint32_t class) {
  NdFreeBlock *lists[ND_POOL_CLASSES];
  take_stale_lists(pool, burn_common_pool_class_bytes(class), lists);
  cache_block(pool, block, class);
  pool_unlock(pool);
  free_lists(pool, lists);
}

/* A block that is too large for the cache. */
static ND_APART void free_uncached(NdPool *pool, void *memory, uint64_t bytes, uint64_t tensors,
                                   uint64_t tensor_bytes) {
  pool_lock(pool);
  count_free(pool, bytes, tensors, tensor_bytes);
  pool_unlock(pool);
  host_free(pool, memory, bytes);
}

/* With what to take off the counts of tensors. */
static inline void free_counted(NdPool *pool, void *memory, uint64_t bytes, uint64_t tensors, uint64_t tensor_bytes) {
  if (bytes == 0) bytes = 1;
  const uint32_t class = burn_common_pool_class(bytes);
  if (class == ND_POOL_CLASSES) {
    free_uncached(pool, memory, bytes, tensors, tensor_bytes);
    return;
  }
  const uint64_t rounded = burn_common_pool_class_bytes(class);
  pool_lock(pool);
  count_free(pool, rounded, tensors, tensor_bytes);
  if (burn_common_pool_is_full(&pool->policy, rounded)) {
    cache_block_instead(pool, memory, class);
    return;
  }
  cache_block(pool, memory, class);
  pool_unlock(pool);
}

void nd_pool_free(NdPool *pool, void *memory, uint64_t bytes) {
  if (memory) free_counted(pool, memory, bytes, 0, 0);
}

void nd_pool_free_tensor(NdPool *pool, void *memory, uint64_t bytes, uint64_t tensors, uint64_t tensor_bytes) {
  free_counted(pool, memory, bytes, tensors, tensor_bytes);
}

void nd_pool_forget_tensor(NdPool *pool) {
  pool_lock(pool);
  pool->tensors.count--;
  pool_unlock(pool);
}
