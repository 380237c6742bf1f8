/* pool.h - the policy of a caching allocator: which class a size belongs to, what is kept, what is given back and when.
 * How memory is got and where free blocks are listed is the caller's, so it serves memory of a device as well: blocks
 * are counted, never touched. Calls are made with the caller's lock held. C99 and C++11, nothing to link.
 *
 * Sizes are rounded up to classes: steps of 64 bytes up to 512, then eight steps per doubling, so at most 12.5 % are
 * wasted. What is cached never exceeds the largest amount that was ever in use, or `keep` if that is more: then the
 * classes that nobody has asked for the longest are given back, so that changing shapes do not pile up blocks. With a
 * limit, in use and cached together stay below it: the cache goes first, then allocations fail. */
#ifndef BURN_COMMON_POOL_H
#define BURN_COMMON_POOL_H

#include <stdbool.h>
#include <stdint.h>

/* Classes are numbered from 0. */
#define BURN_COMMON_POOL_CLASSES 256u
#define BURN_COMMON_POOL_LARGEST ((uint64_t)1 << 39) /* larger blocks have no class and are not cached */

/* The counts of a class. */
typedef struct BurnCommonPoolClass {
  uint64_t asked; /* by the clock: when it was last asked for */
  uint64_t count; /* cached blocks */
} BurnCommonPoolClass;

/* The counts of a pool. Start with zeros, then set `limit` and `keep`. Bytes are those of whole blocks. */
typedef struct BurnCommonPool {
  uint64_t in_use, peak, cached;
  uint64_t limit; /* of in_use + cached; UINT64_MAX for none */
  uint64_t keep;  /* bytes that may always stay cached */
  uint64_t clock; /* allocations so far */
  BurnCommonPoolClass classes[BURN_COMMON_POOL_CLASSES];
} BurnCommonPool;

/* Number of the highest bit of x, which is not 0. */
static inline uint32_t burn_common_highest_bit(uint64_t x) {
#if defined(__GNUC__)
  return 63u - (uint32_t)__builtin_clzll(x);
#else
  uint32_t bit = 0;
  while (x >>= 1) bit++;
  return bit;
#endif
}

/* Class of a size of 1 byte or more; BURN_COMMON_POOL_CLASSES if it is too large to be cached. */
static inline uint32_t burn_common_pool_class(uint64_t bytes) {
  uint32_t bit;
  if (bytes <= 512) return (uint32_t)((bytes - 1) >> 6);
  if (bytes > BURN_COMMON_POOL_LARGEST) return BURN_COMMON_POOL_CLASSES;
  bit = burn_common_highest_bit(bytes - 1); /* 9 and up */
  return (bit - 9) * 8 + 8 + (uint32_t)(((bytes - 1) >> (bit - 3)) & 7u);
}

/* Size of the blocks of a class. */
static inline uint64_t burn_common_pool_class_bytes(uint32_t number) {
  const uint32_t bit = number < 8 ? 0 : (number - 8) / 8 + 9;
  if (number < 8) return ((uint64_t)number + 1) << 6;
  return ((uint64_t)1 << bit) + ((uint64_t)((number - 8) % 8 + 1) << (bit - 3));
}

/* Counts a block of `bytes` that is in use now. */
static inline void burn_common_pool_use(BurnCommonPool *pool, uint64_t bytes) {
  pool->in_use += bytes;
  if (pool->in_use > pool->peak) pool->peak = pool->in_use;
}

/* For an allocation of this class: true if the caller is to take one of its cached blocks. That block counts as in use
 * from now on. */
static inline bool burn_common_pool_take(BurnCommonPool *pool, uint32_t number) {
  BurnCommonPoolClass *from = &pool->classes[number];
  from->asked = ++pool->clock;
  if (from->count == 0) return false;
  from->count--;
  pool->cached -= burn_common_pool_class_bytes(number);
  burn_common_pool_use(pool, burn_common_pool_class_bytes(number));
  return true;
}

/* For a block of this size that is not in the cache: true if the limit has room for it, *trims if only without the
 * cache, which is then to be dropped. Count it with burn_common_pool_use when it is there. */
static inline bool burn_common_pool_has_room(const BurnCommonPool *pool, uint64_t bytes, bool *trims) {
  const bool fits = pool->in_use <= pool->limit && bytes <= pool->limit - pool->in_use;
  *trims = fits && pool->cached > pool->limit - pool->in_use - bytes;
  return fits;
}

/* True if something has to be dropped before a block of `bytes`, no longer in use, is cached. */
static inline bool burn_common_pool_is_full(const BurnCommonPool *pool, uint64_t bytes) {
  return pool->cached + bytes > pool->keep && pool->cached + bytes > pool->peak;
}

/* The class to drop then: that which was asked for the longest ago. Ask again until it is BURN_COMMON_POOL_CLASSES:
 * there is room, or nothing is cached. */
static inline uint32_t burn_common_pool_stalest(const BurnCommonPool *pool, uint64_t bytes) {
  uint32_t stalest = BURN_COMMON_POOL_CLASSES, i;
  if (pool->cached == 0 || !burn_common_pool_is_full(pool, bytes)) return stalest;
  for (i = 0; i < BURN_COMMON_POOL_CLASSES; i++) {
    if (pool->classes[i].count == 0) continue;
    if (stalest == BURN_COMMON_POOL_CLASSES || pool->classes[i].asked < pool->classes[stalest].asked) stalest = i;
  }
  return stalest;
}

/* Counts a block of this class, no longer in use, as cached. */
static inline void burn_common_pool_cache(BurnCommonPool *pool, uint32_t number) {
  pool->classes[number].count++;
  pool->cached += burn_common_pool_class_bytes(number);
}

/* The cached blocks of a class are given back. */
static inline void burn_common_pool_drop(BurnCommonPool *pool, uint32_t number) {
  pool->cached -= pool->classes[number].count * burn_common_pool_class_bytes(number);
  pool->classes[number].count = 0;
}

/* So are all. */
static inline void burn_common_pool_drop_all(BurnCommonPool *pool) {
  uint32_t i;
  for (i = 0; i < BURN_COMMON_POOL_CLASSES; i++) pool->classes[i].count = 0;
  pool->cached = 0;
}

#endif
