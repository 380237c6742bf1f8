/* autodiff_backward.c - the backward pass, in four steps without recursion:
 *
 *   collect  every node that the root can reach; an array that is its own queue, and a hash table to meet each once
 *   order    by falling sequence number, so that a node comes after all that used its results
 *   claim    every node that has a rule; the walk that finds one claimed by another gives all back and fails. All walks
 *            claim in the same order, so of those that meet at least one gets through
 *   run      rule by rule: compute again what a checkpoint left out (autodiff_recompute.c), add the gradients of the
 *            inputs up at their makers, drop what was saved for the rule
 *
 * Gradients live from the rule that makes them to the rule that reads them; those of leaves end up in the set.
 *
 * A walk that creates a graph runs the rules on the decorator itself, whose ops record what they do. What was saved for
 * a rule then gets its history back, and nothing is dropped: the graph can be walked again, as it is by the gradient of
 * a gradient. */
#include "autodiff_walk.h"

#include <stdlib.h>

enum { FIRST_CAPACITY = 64, MAX_SPARE = 4096 };

/* What a walk leaves for the next one: its block, with the capacity at the start. */
typedef struct Spare {
  uint64_t capacity;
} Spare;

static BurnStatus out_of_memory(const Walk *walk) {
  return AUTODIFF_FAIL(walk->decorator, OUT_OF_MEMORY, "backward: no memory to walk a graph of %llu nodes",
                       (unsigned long long)walk->count);
}

/* -- collect ---------------------------------------------------------------------------------- */

/* The slot of a node, or the free one where it would go. */
static uint64_t *find_slot(const Walk *walk, const AutodiffNode *node) {
  uint64_t at = (node->sequence * UINT64_C(0x9e3779b97f4a7c15)) >> 32;
  while (1) {
    uint64_t *slot = &walk->slots[at & (2 * walk->capacity - 1)];
    if (*slot == 0 || walk->entries[*slot - 1].node == node) return slot;
    at++;
  }
}

static uint64_t block_bytes(uint64_t capacity) {
  return capacity * (sizeof(WalkEntry) + sizeof(WalkOrder) + 2 * sizeof(uint64_t));
}

/* Makes a block the walk's; all slots are free. */
static void use_block(Walk *walk, void *block, uint64_t capacity) {
  walk->capacity = capacity;
  walk->entries = block;
  walk->order = (WalkOrder *)(void *)(walk->entries + capacity);
  walk->slots = (uint64_t *)(void *)(walk->order + capacity);
  memset(walk->slots, 0, (size_t)(2 * capacity * sizeof *walk->slots));
}

static void free_block(AutodiffDecorator *decorator, void *block, uint64_t capacity) {
  if (block) decorator->host->free(block, block_bytes(capacity));
}

/* Doubles the room for entries. */
static BurnStatus grow(Walk *walk) {
  WalkEntry *old = walk->entries;
  const uint64_t old_capacity = walk->capacity, capacity = old_capacity ? 2 * old_capacity : FIRST_CAPACITY;
  void *block = walk->decorator->host->allocate(block_bytes(capacity));
  if (!block) return out_of_memory(walk);
  use_block(walk, block, capacity);
  if (walk->count) memcpy(walk->entries, old, (size_t)(walk->count * sizeof *old));
  for (uint64_t i = 0; i < walk->count; i++) *find_slot(walk, walk->entries[i].node) = i + 1;
  free_block(walk->decorator, old, old_capacity);
  return BURN_OK;
}

/* Begins with what an earlier walk has left, if anything. */
static Walk walk_begin(AutodiffDecorator *decorator, const BurnBackend *level) {
  Walk walk = {.decorator = decorator, .level = level};
  Spare *spare = atomic_exchange_explicit(&decorator->spare, NULL, memory_order_acquire);
  if (spare) use_block(&walk, spare, spare->capacity);
  return walk;
}

void burn__autodiff_spare_free(AutodiffDecorator *decorator) {
  Spare *spare = atomic_exchange_explicit(&decorator->spare, NULL, memory_order_acquire);
  if (spare) free_block(decorator, spare, spare->capacity);
}

static BurnStatus meet(Walk *walk, AutodiffNode *node) {
  if (walk->count == walk->capacity) {
    const BurnStatus status = grow(walk);
    if (status != BURN_OK) return status;
  }
  uint64_t *slot = find_slot(walk, node);
  if (*slot) return BURN_OK;
  walk->entries[walk->count++] = (WalkEntry){.node = node};
  *slot = walk->count;
  return BURN_OK;
}

static BurnStatus collect(Walk *walk, AutodiffNode *root) {
  BurnStatus status = meet(walk, root);
  for (uint64_t i = 0; i < walk->count && status == BURN_OK; i++) {
    const AutodiffNode *node = walk->entries[i].node;
    for (uint32_t input = 0; input < node->input_count && status == BURN_OK; input++)
      if (node->edges[input].node) status = meet(walk, node->edges[input].node);
  }
  return status;
}

/* -- order and claim -------------------------------------------------------------------------- */

static int newest_first(const void *left, const void *right) {
  const uint64_t a = ((const WalkOrder *)left)->sequence, b = ((const WalkOrder *)right)->sequence;
  return (a < b) - (a > b);
}

/* What was collected is nearly in order: each node is put in its place among those before it, until that has cost more
 * than sorting would. */
static void order(Walk *walk) {
  uint64_t moves = 0;
  for (uint64_t i = 0; i < walk->count; i++) {
    const WalkOrder next = {walk->entries[i].node->sequence, i};
    uint64_t at = i;
    for (; at > 0 && walk->order[at - 1].sequence < next.sequence && moves <= 8 * walk->count; at--, moves++)
      walk->order[at] = walk->order[at - 1];
    walk->order[at] = next;
  }
  if (moves > 8 * walk->count) qsort(walk->order, (size_t)walk->count, sizeof *walk->order, newest_first);
}

static AutodiffNode *node_at(const Walk *walk, uint64_t position) {
  return walk->entries[walk->order[position].entry].node;
}

static void unclaim(Walk *walk, uint64_t end) {
  for (uint64_t i = 0; i < end; i++)
    if (node_at(walk, i)->row)
      atomic_store_explicit(&node_at(walk, i)->state, (uint32_t)AUTODIFF_NODE_LIVE, memory_order_release);
}

/* A cast saves nothing, so other walks may still pass it: one cast of a parameter serves several graphs (autocast). */
static void unclaim_casts(Walk *walk) {
  for (uint64_t i = 0; i < walk->count; i++) {
    AutodiffNode *node = walk->entries[i].node;
    if (node->op == BURN_OP_cast)
      atomic_store_explicit(&node->state, (uint32_t)AUTODIFF_NODE_LIVE, memory_order_release);
  }
}

static BurnStatus claim(Walk *walk) {
  for (uint64_t i = 0; i < walk->count; i++) {
    AutodiffNode *node = node_at(walk, i);
    uint32_t expected = AUTODIFF_NODE_LIVE;
    if (!node->row || atomic_compare_exchange_strong_explicit(&node->state, &expected, (uint32_t)AUTODIFF_NODE_CONSUMED,
                                                              memory_order_acq_rel, memory_order_relaxed))
      continue;
    unclaim(walk, i);
    return AUTODIFF_FAIL(walk->decorator, FAILED_PRECONDITION,
                         "backward: another backward has consumed this graph (met at %s); run the forward pass again",
                         burn__autodiff_op_name(walk->decorator, node->op));
  }
  return BURN_OK;
}

/* -- run -------------------------------------------------------------------------------------- */

BurnStatus burn__autodiff_accumulate(const Walk *walk, BurnPrimitive **sum, BurnPrimitive *gradient) {
  const BurnBackend *level = walk->level;
  if (!*sum) {
    *sum = gradient;
    return BURN_OK;
  }
  BurnPrimitive *inputs[2] = {*sum, gradient}, *result = NULL;
  const BurnOpCall add = {.struct_size = (uint32_t)sizeof add,
                          .op = BURN_OP_add,
                          .input_count = 2,
                          .output_count = 1,
                          .inputs = inputs,
                          .outputs = &result,
                          .donate = 3};
  const BurnStatus status = walk->decorator->host->invoke(level, &add);
  if (status == BURN_OK) {
    level->release(level->self, *sum);
    *sum = result;
  }
  level->release(level->self, gradient);
  return status;
}

/* A rule that hands out a wrong shape would spoil every gradient after it in silence. */
static BurnStatus check_gradient(const Walk *walk, const AutodiffNode *node, uint32_t input) {
  const BurnTensorDesc *want = &node->input_descs[input];
  const BurnPrimitive *have = node->input_gradients[input];
  int same = have->dtype == want->dtype && have->rank == want->rank;
  for (uint32_t axis = 0; same && axis < want->rank; axis++) same = have->shape[axis] == want->shape[axis];
  if (same) return BURN_OK;
  return AUTODIFF_FAIL(
      walk->decorator, INTERNAL,
      "the rule gave input %u a gradient of %s, rank %u, first axis %lld, for %s, rank %u, first axis %lld", input,
      burn_dtype_name(have->dtype), have->rank, (long long)have->shape[0], burn_dtype_name(want->dtype), want->rank,
      (long long)want->shape[0]);
}

/* Hands what the rule has made to the makers of the inputs; after a failure it is only released. */
static BurnStatus deliver(const Walk *walk, AutodiffNode *node, BurnStatus status) {
  for (uint32_t input = 0; input < node->input_count; input++) {
    BurnPrimitive *gradient = node->input_gradients[input];
    if (!gradient) continue;
    if (status == BURN_OK) status = check_gradient(walk, node, input);
    node->input_gradients[input] = NULL;
    if (status != BURN_OK) {
      walk->level->release(walk->level->self, gradient);
      continue;
    }
    const AutodiffEdge *edge = &node->edges[input];
    WalkEntry *maker = burn__autodiff_entry(walk, edge->node);
    status = burn__autodiff_accumulate(walk, &maker->gradients[edge->output], gradient);
  }
  return status;
}

/* What is saved with a node, as its rule is to see it: what the row does not name is NULL. */
typedef struct Saved {
  BurnPrimitive *inputs[BURN_MAX_FIXED_INPUTS], *outputs[BURN_MAX_OUTPUTS];
} Saved;

/* x of the level below with its history: output number `output` of its maker, a node, or of nobody; `kept` (borrowed)
 * if the maker recomputes. */
static BurnStatus with_history(const Walk *walk, BurnPrimitive *x, AutodiffNode *maker, uint32_t output,
                               AutodiffKept *kept, BurnPrimitive **out) {
  if (!x) return BURN_OK;
  walk->decorator->next->retain(walk->decorator->next->self, x);
  if (maker) burn__autodiff_node_retain(maker);
  const BurnStatus status = burn__autodiff_wrap(walk->decorator, x, maker, output, out);
  if (status == BURN_OK) autodiff_tensor(*out)->kept = burn__autodiff_kept_retain(kept);
  return status;
}

/* Lists have more inputs than there is room for, of which no rule looks at any. */
static BurnStatus give_history(const Walk *walk, AutodiffNode *node, Saved *saved) {
  BurnStatus status = BURN_OK;
  const uint32_t inputs = node->input_count <= BURN_MAX_FIXED_INPUTS ? node->input_count : 0;
  for (uint32_t i = 0; i < inputs && status == BURN_OK; i++) {
    const AutodiffEdge *edge = &node->edges[i];
    status =
        with_history(walk, node->saved_inputs[i], edge->node, edge->output, node->held_inputs[i], &saved->inputs[i]);
  }
  for (uint32_t i = 0; i < node->output_count && status == BURN_OK; i++) {
    if (!(node->record.reads & GRADIENT_OUTPUT(i))) continue;
    const bool is_float = burn_dtype_kind(node->output_descs[i].dtype) == BURN_KIND_FLOAT;
    status = with_history(walk, node->saved_outputs[i], is_float ? node : NULL, i, is_float ? node->held_own : NULL,
                          &saved->outputs[i]);
  }
  return status;
}

static void end_history(const Walk *walk, Saved *saved) {
  for (uint32_t i = 0; i < BURN_MAX_FIXED_INPUTS; i++) burn__autodiff_release(walk->decorator, saved->inputs[i]);
  for (uint32_t i = 0; i < BURN_MAX_OUTPUTS; i++) burn__autodiff_release(walk->decorator, saved->outputs[i]);
}

static BurnStatus run_rule(const Walk *walk, const WalkEntry *entry, BurnPrimitive *const *inputs,
                           BurnPrimitive *const *outputs) {
  AutodiffNode *node = entry->node;
  GradientContext context;
  context.builder = burn_builder_begin(walk->decorator->host, walk->level);
  context.grad = entry->gradients[0];
  context.grads = entry->gradients;
  context.inputs = inputs;
  context.outputs = outputs;
  context.input_descs = node->input_descs;
  context.output_descs = node->output_descs;
  context.attrs = node->attrs;
  context.input_count = node->input_count;
  context.node = node;
  context.op = node->op;
  burn__gradient_run(&context, node->row);
  return burn_builder_end(&context.builder);
}

/* The results are there if any rule reads them, which need not be this one. */
static BurnStatus run_rule_of_recomputed(const Walk *walk, const WalkEntry *entry) {
  const AutodiffNode *node = entry->node;
  BurnPrimitive *outputs[BURN_MAX_OUTPUTS] = {NULL};
  for (uint32_t i = 0; i < node->output_count; i++)
    if (node->record.reads & GRADIENT_OUTPUT(i)) outputs[i] = node->saved_outputs[i];
  return run_rule(walk, entry, node->saved_inputs, outputs);
}

static BurnStatus run_rule_with_history(const Walk *walk, const WalkEntry *entry) {
  AutodiffNode *node = entry->node;
  Saved saved = {{NULL}, {NULL}};
  BurnStatus status = give_history(walk, node, &saved);
  const bool is_list = node->input_count > BURN_MAX_FIXED_INPUTS;
  if (status == BURN_OK) status = run_rule(walk, entry, is_list ? node->saved_inputs : saved.inputs, saved.outputs);
  end_history(walk, &saved);
  return status;
}

static BurnStatus run_rule_of(const Walk *walk, const WalkEntry *entry) {
  const AutodiffNode *node = entry->node;
  if (autodiff_creates_graph(walk)) return run_rule_with_history(walk, entry);
  if (node->record.recomputes) return run_rule_of_recomputed(walk, entry);
  return run_rule(walk, entry, node->saved_inputs, node->saved_outputs);
}

BurnStatus burn__autodiff_step(const Walk *walk, const WalkEntry *entry) {
  AutodiffNode *node = entry->node;
  int arrived = 0;
  for (uint32_t i = 0; i < node->output_count; i++) arrived |= entry->gradients[i] != NULL;
  if (!arrived) return BURN_OK;
  BurnStatus status = node->lacks ? burn__autodiff_recompute(walk, node) : BURN_OK;
  if (status == BURN_OK) status = run_rule_of(walk, entry);
  status = deliver(walk, node, status);
  if (status == BURN_OK) return BURN_OK;
  char where[96] = "backward of ";
  strncat(where, burn__autodiff_op_name(walk->decorator, node->op), sizeof where - strlen(where) - 1);
  return walk->decorator->host->annotate(status, where);
}

void burn__autodiff_drop_gradients(const Walk *walk, WalkEntry *entry) {
  for (uint32_t i = 0; i < entry->node->output_count; i++) {
    if (entry->gradients[i]) walk->level->release(walk->level->self, entry->gradients[i]);
    entry->gradients[i] = NULL;
  }
}

void burn__autodiff_drop_saved(const Walk *walk, AutodiffNode *node) {
  if (autodiff_creates_graph(walk)) {
    burn__autodiff_drop_recomputed(walk, node);
  } else {
    autodiff_node_forget(walk->decorator, node);
  }
}

void burn__autodiff_finish(const Walk *walk, WalkEntry *entry) {
  burn__autodiff_drop_gradients(walk, entry);
  burn__autodiff_drop_saved(walk, entry->node);
}

WalkEntry *burn__autodiff_entry(const Walk *walk, const AutodiffNode *node) {
  return &walk->entries[*find_slot(walk, node) - 1];
}

static BurnStatus run(Walk *walk, const BurnPrimitive *root) {
  const BurnTensorDesc desc = burn_primitive_desc(root);
  BurnBuilder builder = burn_builder_begin(walk->decorator->host, walk->level);
  BurnPrimitive *ones = burn_build_full(&builder, desc.shape, desc.rank, desc.dtype, 1.0);
  const AutodiffTensor *tensor = (const AutodiffTensor *)(const void *)root;
  walk->entries[*find_slot(walk, tensor->node) - 1].gradients[tensor->output] = burn_build_give(&builder, ones);
  BurnStatus status = burn_builder_end(&builder);
  for (uint64_t i = 0; i < walk->count && status == BURN_OK; i++) {
    WalkEntry *entry = &walk->entries[walk->order[i].entry];
    status = burn__autodiff_join_slices(walk, entry);
    if (!entry->node->row || burn__autodiff_defer_slice(walk, entry)) continue;
    if (status == BURN_OK) status = burn__autodiff_step(walk, entry);
    burn__autodiff_finish(walk, entry);
  }
  return status;
}

/* -- the pass --------------------------------------------------------------------------------- */

/* Moves the gradients of the leaves, all that is left after the run, into a new set. */
static BurnStatus gather_leaves(Walk *walk, BurnGradientSet **out) {
  uint64_t leaf_count = 0;
  for (uint64_t i = 0; i < walk->count; i++) leaf_count += walk->entries[i].gradients[0] != NULL;
  BurnGradientSet *set = burn__autodiff_gradients_create(walk->decorator, walk->level, leaf_count);
  if (!set) return out_of_memory(walk);
  for (uint64_t i = 0; i < walk->count; i++) {
    WalkEntry *entry = &walk->entries[i];
    if (!entry->gradients[0]) continue;
    burn__autodiff_gradients_put(set, entry->node->sequence, entry->gradients[0]);
    entry->gradients[0] = NULL;
  }
  *out = set;
  return BURN_OK;
}

/* What a walk that has failed still holds. */
static void drop_all_gradients(const Walk *walk) {
  for (uint64_t i = 0; i < walk->count; i++) burn__autodiff_drop_gradients(walk, &walk->entries[i]);
}

/* Leaves the block to the next walk, unless it is large or another walk has left one. */
static void walk_end(const Walk *walk) {
  AutodiffDecorator *decorator = walk->decorator;
  if (walk->capacity == 0 || walk->capacity > MAX_SPARE) {
    free_block(decorator, walk->entries, walk->capacity);
    return;
  }
  Spare *spare = (Spare *)(void *)walk->entries, *other;
  spare->capacity = walk->capacity;
  other = atomic_exchange_explicit(&decorator->spare, spare, memory_order_acq_rel);
  if (other) free_block(decorator, other, other->capacity);
}

static BurnStatus backward(AutodiffDecorator *decorator, const BurnBackend *level, BurnPrimitive *root,
                           BurnGradientSet **out) {
  BurnStatus status = burn__autodiff_check_owner(decorator, root, "backward");
  if (status != BURN_OK) return status;
  if (!autodiff_tensor(root)->node)
    return AUTODIFF_FAIL(decorator, FAILED_PRECONDITION,
                         "backward: the tensor is not tracked; call burn_require_grad on a leaf it is computed from");
  Walk walk = walk_begin(decorator, level);
  status = collect(&walk, autodiff_tensor(root)->node);
  if (status == BURN_OK) order(&walk);
  if (status == BURN_OK) status = claim(&walk);
  const bool claimed = status == BURN_OK;
  if (claimed) status = run(&walk, root);
  for (uint64_t i = 0; claimed && status != BURN_OK && i < walk.count; i++)
    burn__autodiff_drop_recomputed(&walk, walk.entries[i].node);
  if (claimed && autodiff_creates_graph(&walk)) unclaim(&walk, walk.count);
  if (claimed) unclaim_casts(&walk);
  if (status == BURN_OK) status = gather_leaves(&walk, out);
  if (status != BURN_OK) drop_all_gradients(&walk);
  walk_end(&walk);
  return status;
}

BurnStatus BURN_API_CALL burn__autodiff_backward(void *self, BurnPrimitive *root, BurnGradientSet **out) {
  AutodiffDecorator *decorator = self;
  return backward(decorator, decorator->next, root, out);
}

BurnStatus BURN_API_CALL burn__autodiff_backward_create_graph(void *self, BurnPrimitive *root, BurnGradientSet **out) {
  AutodiffDecorator *decorator = self;
  return backward(decorator, decorator->level, root, out);
}
