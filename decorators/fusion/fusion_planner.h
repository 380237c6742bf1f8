/* fusion_planner.h - a plan in the making: what fusion_plan.c and fusion_needs.c share. */
#ifndef BURN_FUSION_PLANNER_H
#define BURN_FUSION_PLANNER_H

#include "fusion_internal.h"

enum { FUSION_NO_AXIS = -1, FUSION_ALL_AXES = -2 };

typedef struct FusionGroup {
  const BurnTensorDesc *shape; /* of the loop */
  uint32_t op_count;
  uint32_t input_slots; /* at most, for the limit */
  int32_t reduce_axis;  /* along which all its reductions go; or FUSION_NO_AXIS, FUSION_ALL_AXES */
  bool fusable;
  bool joined;             /* calls of one op for burn.calls */
  bool is_read;            /* by an op recorded so far */
  uint32_t product;        /* the op that it begins with, or FUSION_NONE */
  BurnFusedKernel *kernel; /* with its product; NULL: not compiled yet */
} FusionGroup;

enum { FUSION_FAR = 512 }; /* ops, inputs and readers that a search looks at before it gives up */

/* Arrays have an entry per op, per slot, or per input of all ops. A group is named by its first op. */
typedef struct FusionPlanner {
  FusionQueue *queue;
  FusionDecorator *decorator;
  FusionPlan *plan;
  uint32_t op_count;
  uint8_t *role;          /* BURN_FUSED_* */
  uint8_t *needed;        /* of ops */
  uint8_t *product;       /* of ops: 1 for one that may begin a body */
  uint8_t *emitted;       /* of groups */
  uint32_t *group_of;     /* of ops; FUSION_NONE: it has none yet */
  uint32_t *next_member;  /* of ops: the next of the same group, in program order, or FUSION_NONE */
  uint32_t *last_member;  /* of groups */
  uint32_t *first_reader; /* of slots: the input that reads it, in queue->slots, or FUSION_NONE */
  uint32_t *next_reader;  /* of inputs: the next that reads the same slot */
  uint32_t *reader;       /* of inputs: the op */
  uint32_t *joined;       /* groups of calls for burn.calls */
  uint32_t joined_count;
  uint32_t *visited; /* of groups: the last search that met it */
  uint32_t search, stack[FUSION_FAR + 1];
  uint32_t *last_use; /* of slots: number of the launch that reads it last, + 1; FUSION_NONE for none */
  uint32_t *times;    /* of slots: how often the launch in hand reads it */
  uint32_t *released; /* of slots: number of the launch after which it is let go, + 1 */
  FusionGroup *groups;
  uint32_t *scratch; /* room for ops, inputs and outputs of one body */
  bool is_refused;   /* a body, in this round */
  void *memory;
  uint64_t bytes;
} FusionPlanner;

static inline const BurnTensorDesc *fusion_desc_of(const FusionPlanner *p, uint32_t slot) {
  return &fusion_values(p->queue)[slot].tensor->desc;
}
static inline const FusionOp *fusion_op_at(const FusionPlanner *p, uint32_t i) { return &fusion_ops(p->queue)[i]; }
static inline const uint32_t *fusion_inputs_of(const FusionPlanner *p, const FusionOp *op) {
  return fusion_inputs(p->queue, op);
}
static inline uint32_t fusion_output_of(const FusionPlanner *p, const FusionOp *op, uint32_t number) {
  return fusion_output(p->queue, op, number);
}

/* The group that makes a slot, or FUSION_NONE. */
static inline uint32_t fusion_maker(const FusionPlanner *p, uint32_t slot) {
  if (slot == FUSION_NONE) return FUSION_NONE;
  const uint32_t producer = fusion_values(p->queue)[slot].producer;
  return producer == FUSION_NONE ? FUSION_NONE : p->group_of[producer];
}

/* -- fusion_needs.c --------------------------------------------------------------------------- */

/* Notes who reads a slot, among the ops that are needed. */
void burn__fusion_list_readers(FusionPlanner *p);
/* Does group `to` need group `from`, directly or not, or, with `by_others`, through a third one? Where neither end is
 * near the other, it counts as yes. */
bool burn__fusion_leads_to(FusionPlanner *p, uint32_t from, uint32_t to, bool by_others);
/* Does a third group need the one and is needed by the other? */
bool burn__fusion_something_between(FusionPlanner *p, uint32_t a, uint32_t b);

#endif
