/* autodiff_slices.c - the gradient of several slices of one tensor in one pass.
 *
 * Each slice by itself would make zeros of the whole tensor, write its part, and be added to the others: ten times the
 * traffic for the three parts of a fused query, key and value. So a slice along one axis waits at the maker of its
 * input until the walk gets there, which is after all its slices; if they tile the axis their gradients are joined,
 * otherwise each goes by the rule. */
#include "autodiff_walk.h"

/* The one axis along which a slice is shorter than its input, with steps of 1; -1: it is none such. */
static int32_t cut_axis(const AutodiffNode *node) {
  const BurnAttrs_slice *attrs = (const BurnAttrs_slice *)(const void *)node->attrs;
  const BurnTensorDesc *x = &node->input_descs[0], *y = &node->output_descs[0];
  int32_t cut = -1;
  for (uint32_t axis = 0; axis < x->rank; axis++) {
    if (attrs->steps.value.i64s[axis] != 1) return -1;
    if (x->shape[axis] == y->shape[axis]) continue;
    if (cut >= 0) return -1;
    cut = (int32_t)axis;
  }
  return cut;
}

static int64_t start_of(const AutodiffNode *node, int32_t axis) {
  return ((const BurnAttrs_slice *)(const void *)node->attrs)->starts.value.i64s[axis];
}

bool burn__autodiff_defer_slice(const Walk *walk, WalkEntry *entry) {
  const AutodiffNode *node = entry->node;
  if (node->op != BURN_OP_slice || !entry->gradients[0] || !node->edges[0].node || node->edges[0].output != 0)
    return false;
  if (cut_axis(node) < 0) return false;
  WalkEntry *maker = burn__autodiff_entry(walk, node->edges[0].node);
  burn__autodiff_drop_saved(walk, entry->node); /* all who read the slice have, and its rule reads nothing */
  entry->next_slice = maker->slices;
  maker->slices = (uint64_t)(entry - walk->entries) + 1;
  return true;
}

static WalkEntry *waiting(const Walk *walk, uint64_t number) { return number ? &walk->entries[number - 1] : NULL; }

static uint32_t count_waiting(const Walk *walk, const WalkEntry *entry) {
  uint32_t count = 0;
  for (const WalkEntry *at = waiting(walk, entry->slices); at; at = waiting(walk, at->next_slice)) count++;
  return count;
}

/* The slices by rising start, which is nearly the order of the list. */
static void sort_by_start(const Walk *walk, const WalkEntry *entry, int32_t axis, WalkEntry **sorted) {
  uint32_t count = 0;
  for (WalkEntry *slice = waiting(walk, entry->slices); slice; slice = waiting(walk, slice->next_slice)) {
    uint32_t at = count++;
    for (; at > 0 && start_of(sorted[at - 1]->node, axis) > start_of(slice->node, axis); at--)
      sorted[at] = sorted[at - 1];
    sorted[at] = slice;
  }
}

/* Do the slices, sorted, cover the axis from end to end, each place once? */
static bool are_tiles(WalkEntry *const *sorted, uint32_t count, int32_t axis) {
  int64_t end = 0;
  for (uint32_t i = 0; i < count; i++) {
    const AutodiffNode *node = sorted[i]->node;
    if (cut_axis(node) != axis || start_of(node, axis) != end) return false;
    end += node->output_descs[0].shape[axis];
  }
  return end == sorted[0]->node->input_descs[0].shape[axis];
}

static BurnStatus join(const Walk *walk, WalkEntry *entry, WalkEntry *const *sorted, BurnPrimitive **parts,
                       uint32_t count, int32_t axis) {
  const BurnAttr dim = burn_attr_i64(axis);
  BurnBuilder builder = burn_builder_begin(walk->decorator->host, walk->level);
  for (uint32_t i = 0; i < count; i++) parts[i] = sorted[i]->gradients[0];
  BurnPrimitive *whole = burn_build_give(&builder, burn_build(&builder, BURN_OP_cat, count, parts, 1, &dim));
  const BurnStatus status = burn_builder_end(&builder);
  return status == BURN_OK ? burn__autodiff_accumulate(walk, &entry->gradients[0], whole) : status;
}

static BurnStatus each_by_rule(const Walk *walk, const WalkEntry *entry) {
  BurnStatus status = BURN_OK;
  for (WalkEntry *at = waiting(walk, entry->slices); at && status == BURN_OK; at = waiting(walk, at->next_slice))
    status = burn__autodiff_step(walk, at);
  return status;
}

/* Joins tiles; *joined says whether they were any. */
static BurnStatus join_tiles(const Walk *walk, WalkEntry *entry, uint32_t count, bool *joined) {
  const uint64_t bytes = count * (sizeof(WalkEntry *) + sizeof(BurnPrimitive *));
  WalkEntry **sorted = (WalkEntry **)walk->decorator->host->allocate(bytes);
  if (!sorted) return BURN_OK; /* by the rule, then, which may find some */
  const int32_t axis = cut_axis(waiting(walk, entry->slices)->node);
  sort_by_start(walk, entry, axis, sorted);
  *joined = are_tiles(sorted, count, axis);
  BurnPrimitive **parts = (BurnPrimitive **)(void *)(sorted + count);
  const BurnStatus status = *joined ? join(walk, entry, sorted, parts, count, axis) : BURN_OK;
  walk->decorator->host->free(sorted, bytes);
  return status;
}

BurnStatus burn__autodiff_join_slices(const Walk *walk, WalkEntry *entry) {
  if (!entry->slices) return BURN_OK;
  const uint32_t count = count_waiting(walk, entry);
  bool joined = false;
  BurnStatus status = count > 1 ? join_tiles(walk, entry, count, &joined) : BURN_OK;
  if (status == BURN_OK && !joined) status = each_by_rule(walk, entry);
  for (WalkEntry *at = waiting(walk, entry->slices); at; at = waiting(walk, at->next_slice))
    burn__autodiff_finish(walk, at);
  entry->slices = 0;
  return status;
}
