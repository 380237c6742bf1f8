/* autodiff_recompute.c - values that a checkpoint did not keep, computed again when a rule of the walk is about to read
 * them.
 *
 * A node runs its call once more on the decorator below, and keeps the results as its saved outputs until the walk has
 * finished it: all who read them come before it in the walk's order, so nothing is computed twice. What the call takes
 * may be missing in turn; nodes that wait for their inputs form a list, as a chain of any length must not recurse. The
 * walk has claimed every node it can reach, so all of this is its own. */
#include "autodiff_walk.h"

static void drop(const Walk *walk, BurnPrimitive **value) {
  if (*value) walk->decorator->next->release(walk->decorator->next->self, *value);
  *value = NULL;
}

/* Gets the inputs of a node that are missing: those that its rule reads, or with `kept`, all. Returns the first node
 * that has to run before that is done; NULL: none. */
static AutodiffNode *fill_inputs(const Walk *walk, AutodiffNode *node, const AutodiffKept *kept) {
  for (uint32_t i = 0; i < node->input_count; i++) {
    AutodiffNode *maker = node->edges[i].node;
    AutodiffKept *asked = kept ? kept->inputs[i].maker : node->held_inputs[i];
    BurnPrimitive *value = kept ? kept->inputs[i].value : NULL;
    if (node->saved_inputs[i] || (!value && !asked)) continue;
    if (!value) value = maker->saved_outputs[node->edges[i].output];
    if (!value) {
      maker->run_with = asked;
      return maker;
    }
    walk->decorator->next->retain(walk->decorator->next->self, value);
    node->saved_inputs[i] = value;
  }
  return NULL;
}

/* Inputs that were there for the call alone. */
static void drop_unread_inputs(const Walk *walk, AutodiffNode *node) {
  for (uint32_t i = 0; i < node->input_count; i++)
    if (!autodiff_reads_input(&node->record, i)) drop(walk, &node->saved_inputs[i]);
}

/* Bits of the inputs that the call may overwrite: values that nobody but this node has asked for, so that nobody else
 * holds what their maker is run with. The walk lets go of them. */
static uint64_t give_away(const Walk *walk, const AutodiffNode *node) {
  uint64_t donate = 0;
  for (uint32_t i = 0; i < node->input_count && i < 64u; i++) {
    const AutodiffKept *maker = node->run_with->inputs[i].maker;
    if (!maker || atomic_load_explicit(&maker->references, memory_order_acquire) != 1u) continue;
    drop(walk, &node->edges[i].node->saved_outputs[node->edges[i].output]);
    donate |= UINT64_C(1) << i;
  }
  return donate;
}

static BurnStatus run_again(const Walk *walk, AutodiffNode *node) {
  BurnPrimitive *outputs[BURN_MAX_OUTPUTS] = {NULL};
  const BurnOpCall call = {.struct_size = (uint32_t)sizeof call,
                           .flags = node->flags,
                           .op = node->op,
                           .attr_count = node->attr_count,
                           .input_count = node->input_count,
                           .output_count = node->output_count,
                           .inputs = node->saved_inputs,
                           .outputs = outputs,
                           .attrs = node->attrs,
                           .output_descs = node->output_descs,
                           .donate = give_away(walk, node)};
  const BurnHost *host = walk->decorator->host;
  BurnStatus status = host->invoke(walk->decorator->next, &call);
  if (status == BURN_OK) status = burn_common_check_results(host, walk->decorator->next, &call);
  drop_unread_inputs(walk, node);
  if (status == BURN_OK) {
    for (uint32_t i = 0; i < node->output_count; i++) node->saved_outputs[i] = outputs[i];
    return BURN_OK;
  }
  char where[96] = "checkpoint, computing again ";
  strncat(where, burn__autodiff_op_name(walk->decorator, node->op), sizeof where - strlen(where) - 1);
  return host->annotate(status, where);
}

BurnStatus burn__autodiff_recompute(const Walk *walk, AutodiffNode *node) {
  AutodiffNode *waiting = NULL;
  if (node->held_own && !node->saved_outputs[0]) {
    node->run_with = node->held_own;
    node->next_listed = NULL;
    waiting = node;
  }
  while (1) {
    AutodiffNode *missing = waiting ? fill_inputs(walk, waiting, waiting->run_with) : fill_inputs(walk, node, NULL);
    if (missing) {
      missing->next_listed = waiting;
      waiting = missing;
      continue;
    }
    if (!waiting) return BURN_OK;
    const BurnStatus status = run_again(walk, waiting);
    if (status != BURN_OK) return status;
    waiting = waiting->next_listed;
  }
}

void burn__autodiff_drop_recomputed(const Walk *walk, AutodiffNode *node) {
  drop_unread_inputs(walk, node);
  for (uint32_t i = 0; i < node->input_count; i++)
    if (node->held_inputs[i]) drop(walk, &node->saved_inputs[i]);
  for (uint32_t i = 0; node->record.recomputes && i < node->output_count; i++) drop(walk, &node->saved_outputs[i]);
}
