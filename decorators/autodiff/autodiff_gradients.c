/* autodiff_gradients.c - what a backward pass leaves behind: the gradients by leaf, as primitives of the decorator
 * below, or of this one where a graph was created.
 *
 * A hash table with open addressing that is filled once and never grows: the walk knows how many leaves it met. Taking
 * a gradient out leaves its key in place. A spin lock guards the few instructions between finding a gradient and
 * holding it, so that threads may share a set. */
#include "autodiff_internal.h"

typedef struct GradientSlot {
  uint64_t leaf; /* sequence number of the leaf; 0: free */
  BurnPrimitive *gradient;
} GradientSlot;

struct BurnGradientSet {
  AutodiffDecorator *decorator;
  const BurnBackend *level; /* of the gradients */
  atomic_flag lock;
  uint64_t slot_count; /* a power of two */
  GradientSlot slots[];
};

static uint64_t set_bytes(uint64_t slot_count) { return sizeof(BurnGradientSet) + slot_count * sizeof(GradientSlot); }

BurnGradientSet *burn__autodiff_gradients_create(AutodiffDecorator *decorator, const BurnBackend *level,
                                                 uint64_t leaf_count) {
  uint64_t slot_count = 4;
  while (slot_count < 2 * leaf_count) slot_count *= 2;
  BurnGradientSet *set = (BurnGradientSet *)decorator->host->allocate(set_bytes(slot_count));
  if (!set) return NULL;
  memset(set, 0, (size_t)set_bytes(slot_count));
  set->decorator = decorator;
  set->level = level;
  set->slot_count = slot_count;
  atomic_flag_clear_explicit(&set->lock, memory_order_relaxed);
  return set;
}

/* The slot of a leaf, or the free one where it would go: there is always a free one. */
static GradientSlot *find_slot(BurnGradientSet *set, uint64_t leaf) {
  uint64_t at = (leaf * UINT64_C(0x9e3779b97f4a7c15)) >> 32;
  while (1) {
    GradientSlot *slot = &set->slots[at & (set->slot_count - 1)];
    if (slot->leaf == leaf || slot->leaf == 0) return slot;
    at++;
  }
}

void burn__autodiff_gradients_put(BurnGradientSet *set, uint64_t leaf, BurnPrimitive *gradient) {
  GradientSlot *slot = find_slot(set, leaf);
  slot->leaf = leaf;
  slot->gradient = gradient;
}

BurnStatus BURN_API_CALL burn__autodiff_gradient(void *self, BurnGradientSet *set, BurnPrimitive *x, int32_t remove,
                                                 BurnPrimitive **out) {
  const AutodiffDecorator *decorator = self;
  const BurnStatus status = burn__autodiff_check_owner(decorator, x, "gradient");
  if (status != BURN_OK) return status;
  if (set->decorator != decorator)
    return AUTODIFF_FAIL(decorator, BAD_OWNER, "gradient: the gradients belong to another device");
  *out = NULL;
  if (!burn__autodiff_is_require_grad(self, x)) return BURN_OK;
  GradientSlot *slot = find_slot(set, autodiff_tensor(x)->node->sequence);
  while (atomic_flag_test_and_set_explicit(&set->lock, memory_order_acquire)) continue;
  BurnPrimitive *gradient = slot->gradient;
  if (gradient && remove) slot->gradient = NULL;
  if (gradient && !remove) set->level->retain(set->level->self, gradient);
  atomic_flag_clear_explicit(&set->lock, memory_order_release);
  *out = gradient;
  return BURN_OK;
}

void BURN_API_CALL burn__autodiff_gradients_release(void *self, BurnGradientSet *set) {
  const AutodiffDecorator *decorator = self;
  if (!set) return;
  for (uint64_t i = 0; i < set->slot_count; i++)
    if (set->slots[i].gradient) set->level->release(set->level->self, set->slots[i].gradient);
  decorator->host->free(set, set_bytes(set->slot_count));
}
