/* fusion_cache.c - plans by what was recorded: made once, found by hash and compared word by word, the oldest thrown
 * out. */
#include "fusion_internal.h"

#include <string.h>

void burn__fusion_cache_open(FusionCache *cache, uint32_t limit) {
  pthread_mutex_init(&cache->mutex, NULL);
  cache->limit = limit;
}

static void drop_oldest(FusionDecorator *decorator, FusionCache *cache) {
  FusionPlan **oldest = NULL;
  for (uint32_t i = 0; i < FUSION_BUCKETS; i++)
    for (FusionPlan **link = &cache->buckets[i]; *link; link = &(*link)->next)
      if (!oldest || (*link)->used < (*oldest)->used) oldest = link;
  if (!oldest) return;
  FusionPlan *plan = *oldest;
  *oldest = plan->next;
  cache->count--;
  burn__fusion_plan_release(decorator, plan);
}

void burn__fusion_cache_clear(FusionDecorator *decorator, FusionCache *cache) {
  pthread_mutex_lock(&cache->mutex);
  while (cache->count > 0) drop_oldest(decorator, cache);
  pthread_mutex_unlock(&cache->mutex);
}

void burn__fusion_cache_close(FusionDecorator *decorator, FusionCache *cache) {
  burn__fusion_cache_clear(decorator, cache);
  pthread_mutex_destroy(&cache->mutex);
}

/* Two words at a time; good enough to find a bucket, equality is checked. */
static uint64_t hash_words(const uint32_t *words, uint32_t count) {
  uint64_t hash = count * UINT64_C(0x9e3779b97f4a7c15);
  for (uint32_t i = 0; i + 1u < count; i += 2u) {
    hash = (hash ^ (words[i] | (uint64_t)words[i + 1u] << 32)) * UINT64_C(0xff51afd7ed558ccd);
    hash ^= hash >> 32;
  }
  if (count % 2u) hash = (hash ^ words[count - 1u]) * UINT64_C(0xff51afd7ed558ccd);
  return hash ^ hash >> 29;
}

static FusionPlan *find(FusionCache *cache, const FusionQueue *queue, uint64_t hash) {
  for (FusionPlan *plan = cache->buckets[hash % FUSION_BUCKETS]; plan; plan = plan->next) {
    if (plan->hash != hash || plan->key_count != queue->key.count) continue;
    if (memcmp(plan->key, queue->key.items, plan->key_count * sizeof *plan->key) != 0) continue;
    plan->used = ++cache->clock;
    atomic_fetch_add_explicit(&plan->references, 1u, memory_order_relaxed);
    return plan;
  }
  return NULL;
}

/* Takes no reference over. Two threads may have made the same plan: one copy too many does no harm. */
static void put(FusionDecorator *decorator, FusionCache *cache, FusionPlan *plan) {
  if (cache->count >= cache->limit) drop_oldest(decorator, cache);
  plan->used = ++cache->clock;
  plan->next = cache->buckets[plan->hash % FUSION_BUCKETS];
  cache->buckets[plan->hash % FUSION_BUCKETS] = plan;
  cache->count++;
  atomic_fetch_add_explicit(&plan->references, 1u, memory_order_relaxed);
}

FusionPlan *burn__fusion_cache_get(FusionDecorator *decorator, FusionQueue *queue) {
  FusionCache *cache = &decorator->cache;
  const uint64_t hash = hash_words((const uint32_t *)queue->key.items, queue->key.count);
  pthread_mutex_lock(&cache->mutex);
  FusionPlan *plan = find(cache, queue, hash);
  pthread_mutex_unlock(&cache->mutex);
  if (plan) return plan;
  plan = burn__fusion_plan_build(queue, hash);
  if (!plan) return NULL;
  atomic_fetch_add_explicit(&decorator->statistics.plans, 1u, memory_order_relaxed);
  if (decorator->log) burn__fusion_log_plan(decorator, queue, plan);
  pthread_mutex_lock(&cache->mutex);
  put(decorator, cache, plan);
  pthread_mutex_unlock(&cache->mutex);
  return plan;
}
