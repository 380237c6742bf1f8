/* autodiff_node.c - nodes of the graph: made when an op with a tracked input has run, gone when nobody can reach them.
 *
 * A node is one block of memory: the struct, then its arrays. Letting the last tensor of a long graph go must not recurse
 * (a chain of a million ops would overflow the stack), so nodes whose count reaches zero are put on a list and freed in a
 * loop that appends their parents. */
#include "autodiff_internal.h"

/* Reserves `bytes`, rounded up to whole words, at *used of the block that starts at `block` (NULL when only measuring). */
static void *carve(unsigned char *block, uint64_t *used, uint64_t bytes) {
  void *at = block ? block + *used : NULL;
  *used += (bytes + 7u) & ~(uint64_t)7u;
  return at;
}

/* Places the arrays of a node behind it and returns the bytes of the whole; with node NULL only the latter. */
static uint64_t lay_out(AutodiffNode *node, const BurnOpCall *call) {
  unsigned char *block = (unsigned char *)node;
  uint64_t used = (sizeof *node + 7u) & ~(uint64_t)7u;
  AutodiffNode unused, *target = node ? node : &unused;
  target->edges = carve(block, &used, call->input_count * sizeof *target->edges);
  target->saved_inputs = carve(block, &used, call->input_count * sizeof *target->saved_inputs);
  target->saved_outputs = carve(block, &used, call->output_count * sizeof *target->saved_outputs);
  target->input_gradients = carve(block, &used, call->input_count * sizeof *target->input_gradients);
  target->input_descs = carve(block, &used, call->input_count * sizeof *target->input_descs);
  target->output_descs = carve(block, &used, call->output_count * sizeof *target->output_descs);
  target->attrs = carve(block, &used, call->attr_count * sizeof *target->attrs);
  for (uint32_t i = 0; i < call->attr_count; i++) {
    const BurnAttr *attr = &call->attrs[i];
    const uint64_t bytes = attr->tag == BURN_ATTR_I64S ? attr->count * sizeof(int64_t) : 0;
    void *list = carve(block, &used, bytes);
    if (!node) continue;
    node->attrs[i] = *attr;
    if (bytes == 0) continue;
    memcpy(list, attr->value.i64s, (size_t)bytes);
    node->attrs[i].value.i64s = list;
  }
  return used;
}

static AutodiffNode *node_allocate(AutodiffLayer *layer, const BurnOpCall *call) {
  const uint64_t bytes = lay_out(NULL, call);
  AutodiffNode *node = (AutodiffNode *)layer->host->allocate(bytes);
  if (!node) return NULL;
  memset(node, 0, (size_t)bytes);
  lay_out(node, call);
  atomic_init(&node->references, 1u);
  atomic_init(&node->state, (uint32_t)AUTODIFF_NODE_LIVE);
  node->bytes = bytes;
  node->op = call->op;
  node->input_count = call->input_count;
  node->output_count = call->output_count;
  node->attr_count = call->attr_count;
  /* Parents took their number before anybody could see them, so this one is greater. */
  node->sequence = atomic_fetch_add_explicit(&layer->sequence, 1u, memory_order_relaxed) + 1u;
  return node;
}

AutodiffNode *burn__autodiff_leaf_create(AutodiffLayer *layer) {
  const BurnOpCall none = {.struct_size = (uint32_t)sizeof none, .output_count = 1};
  return node_allocate(layer, &none);
}

static uint32_t needs_of(const BurnOpCall *call, const GradientRow *row, uint32_t input) {
  if (call->op == BURN_OP_select_assign)
    return burn__gradient_update_needs(BURN_ATTRS(select_assign, call)->update.value.i64, input);
  if (call->op == BURN_OP_scatter) return burn__gradient_update_needs(BURN_ATTRS(scatter, call)->update.value.i64, input);
  return row->needs[input];
}

uint32_t burn__autodiff_saved_bits(const AutodiffLayer *layer, const BurnOpCall *call, const GradientRow *row) {
  if (row == &burn__gradient_pack_row) return burn__gradient_pack_needs(layer, call->op);
  uint32_t bits = 0;
  for (uint32_t i = 0; i < call->input_count && i < GRADIENT_NEED_COLUMNS; i++)
    if (call->inputs[i] && autodiff_tensor(call->inputs[i])->node) bits |= needs_of(call, row, i);
  return bits;
}

static BurnPrimitive *retained(const AutodiffLayer *layer, BurnPrimitive *x) {
  if (x) layer->next->retain(layer->next->self, x);
  return x;
}

AutodiffNode *burn__autodiff_node_create(AutodiffLayer *layer, const BurnOpCall *call, BurnPrimitive *const *inputs,
                                         BurnPrimitive *const *outputs, const GradientRow *row) {
  AutodiffNode *node = node_allocate(layer, call);
  if (!node) return NULL;
  const uint32_t bits = burn__autodiff_saved_bits(layer, call, row);
  node->row = row;
  for (uint32_t i = 0; i < call->input_count; i++) {
    if (!call->inputs[i]) continue;
    const AutodiffTensor *x = autodiff_tensor(call->inputs[i]);
    node->input_descs[i] = burn_primitive_desc(inputs[i]);
    node->edges[i] = (AutodiffEdge){x->node, x->output};
    if (x->node) burn__autodiff_node_retain(x->node);
    if (i < 16u && (bits & GRADIENT_INPUT(i))) node->saved_inputs[i] = retained(layer, inputs[i]);
  }
  for (uint32_t i = 0; i < call->output_count; i++) {
    node->output_descs[i] = burn_primitive_desc(outputs[i]);
    if (bits & GRADIENT_OUTPUT(i)) node->saved_outputs[i] = retained(layer, outputs[i]);
  }
  return node;
}

static void forget(const AutodiffLayer *layer, BurnPrimitive **list, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    if (list[i]) layer->next->release(layer->next->self, list[i]);
    list[i] = NULL;
  }
}

void burn__autodiff_node_forget(const AutodiffLayer *layer, AutodiffNode *node) {
  forget(layer, node->saved_inputs, node->input_count);
  forget(layer, node->saved_outputs, node->output_count);
}

void burn__autodiff_node_retain(AutodiffNode *node) { atomic_fetch_add_explicit(&node->references, 1u, memory_order_relaxed); }

/* Drops one reference; a node nobody holds any more goes to the front of the list. */
static void let_go(AutodiffNode *node, AutodiffNode **list) {
  if (!node || atomic_fetch_sub_explicit(&node->references, 1u, memory_order_acq_rel) != 1u) return;
  node->next_released = *list;
  *list = node;
}

void burn__autodiff_node_release(const AutodiffLayer *layer, AutodiffNode *node) {
  AutodiffNode *list = NULL;
  let_go(node, &list);
  while (list) {
    AutodiffNode *dead = list;
    list = dead->next_released;
    for (uint32_t i = 0; i < dead->input_count; i++) let_go(dead->edges[i].node, &list);
    burn__autodiff_node_forget(layer, dead);
    layer->host->free(dead, dead->bytes);
  }
}
