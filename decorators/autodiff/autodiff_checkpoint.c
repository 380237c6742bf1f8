/* autodiff_checkpoint.c - what is recorded of a call: which values its node keeps, and which a walk computes again.
 *
 * Two ways to have fewer values kept, with one mechanism below them (autodiff_recompute.c):
 *
 *   regions    everything that a thread calls between begin and end is computed again. Users of a result inside the
 *              region do not keep it; those outside do, so that the values of one region at a time are needed
 *   balanced   an option: ops bound by memory are computed again, wherever their results go
 *
 * A call that will be run again keeps those of its inputs that are not computed again themselves: leaves, what is not
 * tracked (a mask that was drawn), results that are kept, and what comes from outside the region; and it keeps them
 * only as long as somebody may ask for its results (autodiff_kept.c). */
#include "autodiff_internal.h"

/* One that is open. Threads have numbers of their own, as the system gives those of ended threads away again, and an
 * open region that a thread has left behind must not become another's. */
struct AutodiffRegion {
  AutodiffRegion *next;
  uint64_t thread;
  uint64_t number; /* of the region, never used again */
  uint32_t depth;  /* how many are open, one inside the other: they are one region */
};

static uint64_t thread_number(void) {
  static _Atomic uint64_t threads;
  static _Thread_local uint64_t number;
  if (number == 0) number = atomic_fetch_add_explicit(&threads, 1u, memory_order_relaxed) + 1u;
  return number;
}

static void lock(AutodiffDecorator *decorator) {
  while (atomic_flag_test_and_set_explicit(&decorator->regions_lock, memory_order_acquire)) continue;
}

static void unlock(AutodiffDecorator *decorator) {
  atomic_flag_clear_explicit(&decorator->regions_lock, memory_order_release);
}

void burn__autodiff_regions_init(AutodiffDecorator *decorator) {
  atomic_init(&decorator->open_regions, 0u);
  atomic_flag_clear_explicit(&decorator->regions_lock, memory_order_relaxed);
  decorator->regions = NULL;
  decorator->last_region = 0;
}

/* Where this thread's region hangs; where one would if there is none. Under the lock. */
static AutodiffRegion **find(AutodiffDecorator *decorator) {
  AutodiffRegion **at = &decorator->regions;
  while (*at && (*at)->thread != thread_number()) at = &(*at)->next;
  return at;
}

/* The number of the region that this thread has open; 0: none. */
static uint64_t region_of_thread(AutodiffDecorator *decorator) {
  if (atomic_load_explicit(&decorator->open_regions, memory_order_relaxed) == 0) return 0;
  lock(decorator);
  const AutodiffRegion *region = *find(decorator);
  const uint64_t number = region ? region->number : 0;
  unlock(decorator);
  return number;
}

BurnStatus BURN_API_CALL burn__autodiff_checkpoint_begin(void *self) {
  AutodiffDecorator *decorator = self;
  AutodiffRegion *fresh = (AutodiffRegion *)decorator->host->allocate(sizeof *fresh);
  if (!fresh) return AUTODIFF_FAIL(decorator, OUT_OF_MEMORY, "checkpoint_begin: no memory for a region");
  lock(decorator);
  AutodiffRegion **at = find(decorator);
  const bool is_inside = *at != NULL;
  if (!is_inside) {
    *fresh = (AutodiffRegion){.thread = thread_number(), .number = ++decorator->last_region};
    *at = fresh;
    atomic_fetch_add_explicit(&decorator->open_regions, 1u, memory_order_relaxed);
  }
  (*at)->depth++;
  unlock(decorator);
  if (is_inside) decorator->host->free(fresh, sizeof *fresh);
  return BURN_OK;
}

BurnStatus BURN_API_CALL burn__autodiff_checkpoint_end(void *self) {
  AutodiffDecorator *decorator = self;
  lock(decorator);
  AutodiffRegion **at = find(decorator), *region = *at;
  const bool is_open = region != NULL, is_last = region && --region->depth == 0;
  if (is_last) {
    *at = region->next;
    atomic_fetch_sub_explicit(&decorator->open_regions, 1u, memory_order_relaxed);
  }
  unlock(decorator);
  if (is_last) decorator->host->free(region, sizeof *region);
  if (is_open) return BURN_OK;
  return AUTODIFF_FAIL(decorator, FAILED_PRECONDITION,
                       "checkpoint_end: this thread has no region open on the device; call checkpoint_begin before");
}

void burn__autodiff_regions_free(AutodiffDecorator *decorator) {
  while (decorator->regions) {
    AutodiffRegion *region = decorator->regions;
    decorator->regions = region->next;
    decorator->host->free(region, sizeof *region);
  }
}

AutodiffRecord burn__autodiff_record(AutodiffDecorator *decorator, const BurnOpCall *call, const GradientRow *row) {
  const uint64_t region = region_of_thread(decorator);
  return (AutodiffRecord){.reads = burn__autodiff_reads(decorator, call, row),
                          .recomputes = region != 0 || (decorator->balanced && row->memory_bound),
                          .region = region};
}
