/* autodiff_internal.h - the three objects of the autodiff decorator and the functions its files share.
 *
 * A tensor wraps one primitive of the decorator below and, if it is tracked, points at the node that made it. A node is
 * one op of the forward pass: what its gradient rule will read, and edges to the nodes that made its inputs. There is
 * no list of nodes: tensors hold nodes and nodes hold their parents, so what nobody can reach any more frees itself.
 *
 * Threads: edges, attributes and descriptions of a node never change. Saved primitives and input_gradients belong to
 * the walk that claimed the node (state). Reference counts order the last access before the release. */
#ifndef BURN_AUTODIFF_INTERNAL_H
#define BURN_AUTODIFF_INTERNAL_H

#include <burn/common/failure.h>
#include <burn/common/given.h>
#include <burn/plugin/autodiff.h>

#include <stdatomic.h>
#include <stdbool.h>

#include "gradient.h"

/* Open checkpoint regions; autodiff_checkpoint.c. */
typedef struct AutodiffRegion AutodiffRegion;

/* An opened instance: self of the backend table and of "burn.autodiff". */
typedef struct AutodiffDecorator {
  const BurnHost *host;
  const BurnBackend *next;
  const BurnBackend *level; /* this instance as the host knows it */
  uint32_t owner;
  _Atomic uint64_t sequence; /* of the newest node */
  _Atomic(void *) spare;     /* memory of a walk that has ended, for the next one; NULL: none (autodiff_backward.c) */
  bool balanced;             /* checkpointing=balanced: memory-bound ops are computed again */
  _Atomic uint32_t open_regions;
  atomic_flag regions_lock; /* of the two below */
  AutodiffRegion *regions;  /* one per thread that has one open */
  uint64_t last_region;     /* number of the newest */
} AutodiffDecorator;

typedef struct AutodiffNode AutodiffNode;

/* The maker of an input; node is NULL where the input is not tracked. */
typedef struct AutodiffEdge {
  AutodiffNode *node; /* one reference */
  uint32_t output;    /* which of its outputs */
} AutodiffEdge;

/* What running a node's call again takes besides the node: per input its value, or of one that is computed again in
 * turn what that takes. Held by all who may ask for it: tensors that the node made, nodes whose rules read them, and
 * the same objects of nodes that recompute. So it is gone, values and all, once nobody can ask any more. */
typedef struct AutodiffKept AutodiffKept;

typedef struct AutodiffKeptInput {
  BurnPrimitive *value; /* of the decorator below, one reference; NULL for an absent input, too */
  AutodiffKept *maker;  /* one reference, where value is NULL */
} AutodiffKeptInput;

struct AutodiffKept {
  _Atomic uint32_t references;
  uint32_t input_count;
  AutodiffKept *next_released; /* used by release alone */
  AutodiffKeptInput inputs[];
};

/* What is remembered of a call, decided before it runs. */
typedef struct AutodiffRecord {
  uint32_t reads;  /* GRADIENT_INPUT and GRADIENT_OUTPUT of what the rule reads */
  bool recomputes; /* its results are not saved but computed again by the walk that needs them */
  uint64_t region; /* the checkpoint region in which it was called, which alone does without them; 0: everybody does */
} AutodiffRecord;

enum { AUTODIFF_NODE_LIVE = 0, AUTODIFF_NODE_CONSUMED = 1 };

/* One op of the forward pass, or a leaf (row is NULL, no inputs, one output, no arrays). All arrays live in the node's
 * allocation. */
struct AutodiffNode {
  _Atomic uint32_t references;
  _Atomic uint32_t state; /* AUTODIFF_NODE_*: who sets CONSUMED owns what is saved */
  uint64_t sequence;      /* greater than those of its parents; the name of a leaf */
  uint64_t bytes;         /* of the allocation */
  const GradientRow *row;
  AutodiffNode *next_listed; /* of those to be released, or to be run again */
  AutodiffKept *run_with;    /* borrowed from who waits for it, while it is on the list of those to be run again */
  uint32_t op;
  uint32_t flags; /* BURN_CALL_* */
  uint32_t input_count;
  uint32_t output_count;
  uint32_t attr_count;
  AutodiffRecord record;
  bool lacks;                      /* some of what its rule reads is held instead of saved */
  AutodiffEdge *edges;             /* [input_count] */
  BurnPrimitive **saved_inputs;    /* [input_count], of the decorator below; NULL where the rule does not look */
  BurnPrimitive **saved_outputs;   /* [output_count], likewise; of a node that recomputes: only during a walk */
  AutodiffKept **held_inputs;      /* [input_count]: instead of saved ones, of makers that recompute; else NULL */
  AutodiffKept *held_own;          /* instead of saved outputs, if the node recomputes and its rule reads them */
  BurnPrimitive **input_gradients; /* [input_count]: what the rule hands out; NULL outside a walk */
  BurnTensorDesc *input_descs;     /* [input_count]; zero for an absent optional input */
  BurnTensorDesc *output_descs;    /* [output_count] */
  BurnAttr *attrs;                 /* [attr_count]; lists point into the allocation */
};

/* What the decorator hands out. */
typedef struct AutodiffTensor {
  BurnPrimitive header; /* first, so that a BurnPrimitive pointer is a pointer to the tensor */
  _Atomic uint32_t references;
  uint32_t output;      /* which output of node */
  BurnPrimitive *inner; /* one reference */
  AutodiffNode *node;   /* one reference; NULL when not tracked */
  AutodiffKept *kept;   /* one reference, if node can be run again for its values; else NULL */
} AutodiffTensor;

/* One reference less; true if it was the last. A sole holder needs no atomic write. */
static inline int autodiff_drop_reference(_Atomic uint32_t *references) {
  if (atomic_load_explicit(references, memory_order_acquire) == 1u) return 1;
  return atomic_fetch_sub_explicit(references, 1u, memory_order_acq_rel) == 1u;
}

static inline AutodiffTensor *autodiff_tensor(BurnPrimitive *x) { return (AutodiffTensor *)(void *)x; }

/* -- autodiff_plugin.c ------------------------------------------------------------------------ */

/* A failed status with a formatted message. */
#define AUTODIFF_FAIL(decorator, CODE, ...) BURN_COMMON_FAIL((decorator)->host, CODE, NULL, __VA_ARGS__)

/* BAD_OWNER, with the name of the function that was called, unless x is a tensor of this decorator. */
BurnStatus burn__autodiff_check_owner(const AutodiffDecorator *decorator, const BurnPrimitive *x, const char *what);

/* The name of an op for messages. */
const char *burn__autodiff_op_name(const AutodiffDecorator *decorator, uint32_t op);

/* -- autodiff_tensor.c ------------------------------------------------------------------------ */

/* A new tensor with one reference around `inner`. The references to `inner` and to `node` become the tensor's, also
 * when it fails: then they are released. A `node` of NULL makes an untracked tensor. */
BurnStatus burn__autodiff_wrap(AutodiffDecorator *decorator, BurnPrimitive *inner, AutodiffNode *node, uint32_t output,
                               BurnPrimitive **out);

BurnStatus BURN_API_CALL burn__autodiff_create(void *self, const BurnTensorDesc *desc, const void *data,
                                               BurnPrimitive **out);
BurnStatus BURN_API_CALL burn__autodiff_read(void *self, BurnPrimitive *x, void *data, uint64_t bytes);
void BURN_API_CALL burn__autodiff_retain(void *self, BurnPrimitive *x);
void BURN_API_CALL burn__autodiff_release(void *self, BurnPrimitive *x);
BurnPrimitive *BURN_API_CALL burn__autodiff_unwrap(void *self, BurnPrimitive *x);
BurnStatus BURN_API_CALL burn__autodiff_adopt(void *self, BurnPrimitive *inner, BurnPrimitive **out);
BurnStatus BURN_API_CALL burn__autodiff_require_grad(void *self, BurnPrimitive *x, BurnPrimitive **out);
int32_t BURN_API_CALL burn__autodiff_is_require_grad(void *self, BurnPrimitive *x);
BurnStatus BURN_API_CALL burn__autodiff_detach(void *self, BurnPrimitive *x, BurnPrimitive **out);

/* -- autodiff_node.c -------------------------------------------------------------------------- */

/* A leaf with one reference; NULL when there is no memory. */
AutodiffNode *burn__autodiff_leaf_create(AutodiffDecorator *decorator);

/* A node for a call that has run, with one reference; NULL when there is no memory. `call` has the tensors of this
 * decorator as inputs; `inputs` and `outputs` are the primitives below, of which the node retains what `record` says;
 * `kept` (borrowed) is there if it recomputes. */
AutodiffNode *burn__autodiff_node_create(AutodiffDecorator *decorator, const BurnOpCall *call,
                                         BurnPrimitive *const *inputs, BurnPrimitive *const *outputs,
                                         const GradientRow *row, const AutodiffRecord *record, AutodiffKept *kept);

/* Bits of what the rule of `row` reads, given the tracked ones among the inputs of `call`. */
uint32_t burn__autodiff_reads(const AutodiffDecorator *decorator, const BurnOpCall *call, const GradientRow *row);

/* Drops all that is saved or held, and the record of it. For its walk, or its end. */
void burn__autodiff_node_forget_all(const AutodiffDecorator *decorator, AutodiffNode *node);
static inline void autodiff_node_forget(const AutodiffDecorator *decorator, AutodiffNode *node) {
  if (node->record.reads != 0 || node->record.recomputes) burn__autodiff_node_forget_all(decorator, node);
}

void burn__autodiff_node_retain(AutodiffNode *node);
/* NULL is allowed. Never recursive: a chain of any length is let go in a loop. */
void burn__autodiff_node_release(const AutodiffDecorator *decorator, AutodiffNode *node);

/* -- gradient_pack.c -------------------------------------------------------------------------- */

/* The row of an op, of ops.def or of a kernel pack, or NULL. */
const GradientRow *burn__autodiff_row(const AutodiffDecorator *decorator, uint32_t op);
/* What the backward rule of a pack's op reads: bits as in GradientRow.needs. */
uint32_t burn__gradient_pack_needs(const AutodiffDecorator *decorator, uint32_t op);

/* -- autodiff_checkpoint.c -------------------------------------------------------------------- */

/* How a call is to be recorded that has a rule. */
AutodiffRecord burn__autodiff_record(AutodiffDecorator *decorator, const BurnOpCall *call, const GradientRow *row);
BurnStatus BURN_API_CALL burn__autodiff_checkpoint_begin(void *self);
BurnStatus BURN_API_CALL burn__autodiff_checkpoint_end(void *self);
void burn__autodiff_regions_init(AutodiffDecorator *decorator);
/* Ends the regions that nobody has ended. */
void burn__autodiff_regions_free(AutodiffDecorator *decorator);

/* 1 if a node recorded as `record` need not keep the values of x, but what its maker can be run again with. */
static inline int autodiff_is_recomputed(const AutodiffTensor *x, const AutodiffRecord *record) {
  return x->kept && (x->node->record.region == 0 || x->node->record.region == record->region);
}

/* 1 if the rule of a node recorded as `record` reads input i. */
static inline int autodiff_reads_input(const AutodiffRecord *record, uint32_t i) {
  return i < BURN_MAX_FIXED_INPUTS && (record->reads & GRADIENT_INPUT(i)) != 0;
}

/* 1 if input i of a call so recorded stays; x is a tensor of this decorator or NULL. */
static inline int autodiff_keeps_input(const AutodiffRecord *record, uint32_t i, BurnPrimitive *x) {
  if (!record->recomputes && !autodiff_reads_input(record, i)) return 0;
  return x && !autodiff_is_recomputed(autodiff_tensor(x), record);
}

/* -- autodiff_kept.c -------------------------------------------------------------------------- */

/* What running `call` again takes, with one reference; NULL when there is no memory. */
AutodiffKept *burn__autodiff_kept_create(AutodiffDecorator *decorator, const BurnOpCall *call,
                                         BurnPrimitive *const *inputs, const AutodiffRecord *record);
/* Returns what it got; NULL is allowed. */
AutodiffKept *burn__autodiff_kept_retain(AutodiffKept *kept);
/* NULL is allowed. Never recursive. */
void burn__autodiff_kept_release(const AutodiffDecorator *decorator, AutodiffKept *kept);

/* -- autodiff_submit.c ------------------------------------------------------------------------ */

uint32_t BURN_API_CALL burn__autodiff_op_support(void *self, uint32_t op);
int32_t BURN_API_CALL burn__autodiff_supports(void *self, const BurnOpCall *call, char *why, uint64_t why_bytes);
BurnStatus BURN_API_CALL burn__autodiff_submit(void *self, const BurnOpCall *call);

/* -- autodiff_backward.c ---------------------------------------------------------------------- */

/* Frees what the last walk left for the next one. */
void burn__autodiff_spare_free(AutodiffDecorator *decorator);
BurnStatus BURN_API_CALL burn__autodiff_backward(void *self, BurnPrimitive *root, BurnGradientSet **out);
BurnStatus BURN_API_CALL burn__autodiff_backward_create_graph(void *self, BurnPrimitive *root, BurnGradientSet **out);

/* -- autodiff_gradients.c --------------------------------------------------------------------- */

/* A set with room for `leaf_count` gradients, primitives of `level`; NULL when there is no memory. */
BurnGradientSet *burn__autodiff_gradients_create(AutodiffDecorator *decorator, const BurnBackend *level,
                                                 uint64_t leaf_count);
/* Puts the gradient of a leaf into the set, which takes over its reference. Once per leaf, no more than there is room.
 */
void burn__autodiff_gradients_put(BurnGradientSet *set, uint64_t leaf, BurnPrimitive *gradient);
BurnStatus BURN_API_CALL burn__autodiff_gradient(void *self, BurnGradientSet *set, BurnPrimitive *x, int32_t remove,
                                                 BurnPrimitive **out);
void BURN_API_CALL burn__autodiff_gradients_release(void *self, BurnGradientSet *set);

#endif
