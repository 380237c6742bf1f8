/* autodiff_node.c - nodes of the graph: made when an op with a tracked input has run, gone when nobody can reach them.
 *
 * A node is one block of memory: the struct, then its arrays. Letting the last tensor of a long graph go must not
 * recurse (a chain of a million ops would overflow the stack), so nodes whose count reaches zero are put on a list and
 * freed in a loop that appends their parents. */
#include "autodiff_internal.h"

/* Bytes of a node with its arrays; all of them are whole words. */
static uint64_t node_bytes(const BurnOpCall *call) {
  uint64_t bytes = sizeof(AutodiffNode);
  bytes += call->input_count * (sizeof(AutodiffEdge) + 3 * sizeof(BurnPrimitive *) + sizeof(BurnTensorDesc));
  bytes += call->output_count * (sizeof(BurnPrimitive *) + sizeof(BurnTensorDesc));
  bytes += call->attr_count * sizeof(BurnAttr);
  for (uint32_t i = 0; i < call->attr_count; i++)
    if (call->attrs[i].tag == BURN_ATTR_I64S) bytes += call->attrs[i].count * sizeof(int64_t);
  return bytes;
}

/* Copies the attributes of a call and after them their lists, to the end of a node. */
static void copy_attrs(BurnAttr *attrs, const BurnOpCall *call) {
  int64_t *list = (int64_t *)(void *)(attrs + call->attr_count);
  for (uint32_t i = 0; i < call->attr_count; i++) {
    attrs[i] = call->attrs[i];
    if (attrs[i].tag != BURN_ATTR_I64S || attrs[i].count == 0) continue;
    memcpy(list, attrs[i].value.i64s, attrs[i].count * sizeof *list);
    attrs[i].value.i64s = list;
    list += attrs[i].count;
  }
}

/* Places the arrays of a node after it. What they hold is the caller's to write. */
static void lay_out(AutodiffNode *node, const BurnOpCall *call) {
  node->edges = (AutodiffEdge *)(void *)(node + 1);
  node->saved_inputs = (BurnPrimitive **)(void *)(node->edges + call->input_count);
  node->input_gradients = node->saved_inputs + call->input_count;
  node->saved_outputs = node->input_gradients + call->input_count;
  node->held_inputs = (AutodiffKept **)(void *)(node->saved_outputs + call->output_count);
  node->input_descs = (BurnTensorDesc *)(void *)(node->held_inputs + call->input_count);
  node->output_descs = node->input_descs + call->input_count;
  node->attrs = (BurnAttr *)(void *)(node->output_descs + call->output_count);
  copy_attrs(node->attrs, call);
}

/* Parents took their number before anybody could see them, so this one is greater. */
static uint64_t next_number(AutodiffDecorator *decorator) {
  return atomic_fetch_add_explicit(&decorator->sequence, 1u, memory_order_relaxed) + 1u;
}

static AutodiffNode *node_allocate(AutodiffDecorator *decorator, const BurnOpCall *call) {
  const uint64_t bytes = node_bytes(call);
  AutodiffNode *node = (AutodiffNode *)decorator->host->allocate(bytes);
  if (!node) return NULL;
  lay_out(node, call);
  atomic_init(&node->references, 1u);
  atomic_init(&node->state, (uint32_t)AUTODIFF_NODE_LIVE);
  node->bytes = bytes;
  node->row = NULL;
  node->op = call->op;
  node->flags = call->flags;
  node->input_count = call->input_count;
  node->output_count = call->output_count;
  node->attr_count = call->attr_count;
  node->record = (AutodiffRecord){0};
  node->held_own = NULL;
  node->lacks = false;
  node->sequence = next_number(decorator);
  return node;
}

AutodiffNode *burn__autodiff_leaf_create(AutodiffDecorator *decorator) {
  AutodiffNode *leaf = (AutodiffNode *)decorator->host->allocate(sizeof *leaf);
  if (!leaf) return NULL;
  *leaf = (AutodiffNode){.references = 1u, .bytes = sizeof *leaf, .output_count = 1};
  leaf->sequence = next_number(decorator);
  return leaf;
}

static uint32_t needs_of(const BurnOpCall *call, const GradientRow *row, uint32_t input) {
  if (call->op == BURN_OP_select_assign)
    return burn__gradient_update_needs(BURN_ATTRS(select_assign, call)->update.value.i64, input);
  if (call->op == BURN_OP_scatter)
    return burn__gradient_update_needs(BURN_ATTRS(scatter, call)->update.value.i64, input);
  return row->needs[input < GRADIENT_NEED_COLUMNS ? input : GRADIENT_NEED_COLUMNS - 1];
}

uint32_t burn__autodiff_reads(const AutodiffDecorator *decorator, const BurnOpCall *call, const GradientRow *row) {
  if (row == &burn__gradient_pack_row) return burn__gradient_pack_needs(decorator, call->op);
  uint32_t bits = 0;
  for (uint32_t i = 0; i < call->input_count; i++)
    if (call->inputs[i] && autodiff_tensor(call->inputs[i])->node) bits |= needs_of(call, row, i);
  return bits;
}

static BurnPrimitive *retained(const AutodiffDecorator *decorator, BurnPrimitive *x) {
  if (x) decorator->next->retain(decorator->next->self, x);
  return x;
}

static void describe(BurnTensorDesc *desc, const BurnPrimitive *x) {
  *desc = (BurnTensorDesc){.dtype = x->dtype, .rank = x->rank};
  for (uint32_t i = 0; i < x->rank; i++) desc->shape[i] = x->shape[i];
}

static void note_input(const AutodiffDecorator *decorator, AutodiffNode *node, uint32_t i, BurnPrimitive *outer,
                       BurnPrimitive *x) {
  node->saved_inputs[i] = node->input_gradients[i] = NULL;
  node->held_inputs[i] = NULL;
  node->edges[i] = (AutodiffEdge){NULL, 0};
  if (!outer) {
    node->input_descs[i] = (BurnTensorDesc){0};
    return;
  }
  const AutodiffTensor *tensor = autodiff_tensor(outer);
  describe(&node->input_descs[i], x);
  if (autodiff_reads_input(&node->record, i)) {
    if (autodiff_is_recomputed(tensor, &node->record)) {
      node->held_inputs[i] = burn__autodiff_kept_retain(tensor->kept);
      node->lacks = true;
    } else {
      node->saved_inputs[i] = retained(decorator, x);
    }
  }
  if (!tensor->node) return;
  node->edges[i] = (AutodiffEdge){tensor->node, tensor->output};
  burn__autodiff_node_retain(tensor->node);
}

AutodiffNode *burn__autodiff_node_create(AutodiffDecorator *decorator, const BurnOpCall *call,
                                         BurnPrimitive *const *inputs, BurnPrimitive *const *outputs,
                                         const GradientRow *row, const AutodiffRecord *record, AutodiffKept *kept) {
  AutodiffNode *node = node_allocate(decorator, call);
  if (!node) return NULL;
  node->row = row;
  node->record = *record;
  node->lacks = record->recomputes && record->reads >= GRADIENT_OUTPUT(0);
  if (node->lacks) node->held_own = burn__autodiff_kept_retain(kept);
  for (uint32_t i = 0; i < call->input_count; i++) note_input(decorator, node, i, call->inputs[i], inputs[i]);
  for (uint32_t i = 0; i < call->output_count; i++) {
    describe(&node->output_descs[i], outputs[i]);
    const bool keeps = !record->recomputes && (record->reads & GRADIENT_OUTPUT(i));
    node->saved_outputs[i] = keeps ? retained(decorator, outputs[i]) : NULL;
  }
  return node;
}

static void forget(const AutodiffDecorator *decorator, BurnPrimitive **list, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    if (list[i]) decorator->next->release(decorator->next->self, list[i]);
    list[i] = NULL;
  }
}

static void drop_held(const AutodiffDecorator *decorator, AutodiffKept **held) {
  if (*held) burn__autodiff_kept_release(decorator, *held);
  *held = NULL;
}

void burn__autodiff_node_forget_all(const AutodiffDecorator *decorator, AutodiffNode *node) {
  forget(decorator, node->saved_inputs, node->input_count);
  forget(decorator, node->saved_outputs, node->output_count);
  for (uint32_t i = 0; node->lacks && i < node->input_count; i++) drop_held(decorator, &node->held_inputs[i]);
  drop_held(decorator, &node->held_own);
  node->record.reads = 0;
  node->record.recomputes = false;
}

void burn__autodiff_node_retain(AutodiffNode *node) {
  atomic_fetch_add_explicit(&node->references, 1u, memory_order_relaxed);
}

/* Drops one reference; a node nobody holds any more goes to the front of the list. */
static void let_go(AutodiffNode *node, AutodiffNode **list) {
  if (!node || !autodiff_drop_reference(&node->references)) return;
  node->next_listed = *list;
  *list = node;
}

void burn__autodiff_node_release(const AutodiffDecorator *decorator, AutodiffNode *node) {
  AutodiffNode *list = NULL;
  let_go(node, &list);
  while (list) {
    AutodiffNode *dead = list;
    list = dead->next_listed;
    for (uint32_t i = 0; i < dead->input_count; i++) let_go(dead->edges[i].node, &list);
    autodiff_node_forget(decorator, dead);
    decorator->host->free(dead, dead->bytes);
  }
}
