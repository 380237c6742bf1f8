/* fusion_casts.c - casts that calls can do without, because they read and write halves (burn/plugin/mixed.h).
 *
 * A call whose input is cast from a half to f32 reads the half, whoever else reads what has been cast. A call whose
 * result nobody wants but a cast to a half makes the half. Casts that nobody reads any more are then not needed.
 *
 * All this is found when a plan is made, and done to the queue of each flush that has the plan: slots of inputs are
 * changed, results are sent to other slots. */
#include "fusion_internal.h"

static const FusionOp *op_at(const FusionQueue *queue, uint32_t number) { return &fusion_ops(queue)[number]; }

/* FUSION_HALVES for other dtypes. */
static uint32_t half_of(BurnDType dtype) {
  return dtype == BURN_DTYPE_F16 ? FUSION_F16 : dtype == BURN_DTYPE_BF16 ? FUSION_BF16 : FUSION_HALVES;
}

static BurnDType dtype_of(const FusionQueue *queue, uint32_t slot) {
  return fusion_values(queue)[slot].tensor->desc.dtype;
}

void burn__fusion_find_mixed(FusionDecorator *decorator) {
  static const BurnDType halves[FUSION_HALVES] = {BURN_DTYPE_F16, BURN_DTYPE_BF16};
  const BurnBackend *next = decorator->next;
  BurnInterface found;
  BurnMixedInterface table;
  if (!burn_common_ask(next, BURN_MIXED_INTERFACE, &found) || found.self != next->self) return;
  burn_struct_copy(&table, sizeof table, found.table);
  if (table.struct_size < BURN_MIXED_INTERFACE_MIN_BYTES || !table.takes) return;
  for (uint32_t op = 1; op < BURN_OP_LIMIT; op++)
    for (uint32_t i = 0; i < FUSION_HALVES && next->op_support(next->self, op) == BURN_SUPPORT_YES; i++)
      (void)table.takes(next->self, op, halves[i], &decorator->mixed[op].inputs[i], &decorator->mixed[op].outputs[i]);
}

/* -- finding them ----------------------------------------------------------------------------- */

typedef struct Folding {
  FusionQueue *queue;
  FusionPlan *plan;
  const uint32_t *only_reader; /* of slots */
} Folding;

/* The number of the cast that makes a slot, or FUSION_NONE. */
static uint32_t cast_to(const Folding *f, uint32_t slot) {
  const uint32_t producer = slot == FUSION_NONE ? FUSION_NONE : fusion_values(f->queue)[slot].producer;
  return producer != FUSION_NONE && op_at(f->queue, producer)->op == BURN_OP_cast ? producer : FUSION_NONE;
}

static const uint32_t READ_TWICE = FUSION_NONE - 1u;

/* Of each slot the one op that reads it, once; FUSION_NONE where nobody does, READ_TWICE where more than that. NULL
 * without memory. */
static uint32_t *only_readers(const FusionQueue *queue, const uint8_t *needed) {
  const uint32_t count = queue->values.count;
  uint32_t *readers = queue->decorator->host->allocate(((uint64_t)count + 1u) * sizeof *readers);
  for (uint32_t i = 0; readers && i < count; i++) readers[i] = FUSION_NONE;
  for (uint32_t i = 0; readers && i < queue->ops.count; i++) {
    const FusionOp *op = op_at(queue, i);
    for (uint32_t k = 0; needed[i] && k < op->input_count; k++) {
      const uint32_t slot = fusion_inputs(queue, op)[k];
      if (slot != FUSION_NONE) readers[slot] = readers[slot] == FUSION_NONE ? i : READ_TWICE;
    }
  }
  return readers;
}

static bool note(const Folding *f, FusionFold fold) {
  FusionList *folds = &f->plan->folds;
  if (!burn__fusion_list_reserve(f->queue->decorator, folds, 1, sizeof fold)) return false;
  ((FusionFold *)folds->items)[folds->count++] = fold;
  return true;
}

static bool fold_input(const Folding *f, uint32_t number, uint32_t k) {
  const FusionOp *op = op_at(f->queue, number);
  const uint32_t slot = fusion_inputs(f->queue, op)[k], cast = cast_to(f, slot);
  if (cast == FUSION_NONE || dtype_of(f->queue, slot) != BURN_DTYPE_F32) return true;
  const uint32_t half_slot = fusion_inputs(f->queue, op_at(f->queue, cast))[0];
  const uint32_t half = half_of(dtype_of(f->queue, half_slot));
  if (half == FUSION_HALVES || !(f->queue->decorator->mixed[op->op].inputs[half] >> k & 1u)) return true;
  return note(f, (FusionFold){.op = number, .at = op->first_input + k, .was = slot, .becomes = half_slot});
}

static bool fold_result(const Folding *f, uint32_t number, uint32_t k) {
  const FusionOp *op = op_at(f->queue, number);
  const uint32_t slot = op->first_output + k;
  if (!fusion_values(f->queue)[slot].dead || dtype_of(f->queue, slot) != BURN_DTYPE_F32) return true;
  const uint32_t cast = f->only_reader[slot];
  if (cast == FUSION_NONE || cast == READ_TWICE || op_at(f->queue, cast)->op != BURN_OP_cast) return true;
  const uint32_t half_slot = op_at(f->queue, cast)->first_output;
  const uint32_t half = half_of(dtype_of(f->queue, half_slot));
  if (half == FUSION_HALVES || !(f->queue->decorator->mixed[op->op].outputs[half] >> k & 1u)) return true;
  return note(f, (FusionFold){.is_result = 1, .op = number, .at = slot, .was = cast, .becomes = half_slot});
}

/* Do all halves among what the call would read and write have one dtype? Else none of the notes from `first` on is
 * kept: a backend promises a mix of f32 and one other. */
static void keep_if_alike(const Folding *f, uint32_t first) {
  FusionList *folds = &f->plan->folds;
  const FusionFold *fold = (const FusionFold *)folds->items;
  for (uint32_t i = first; i < folds->count; i++)
    if (dtype_of(f->queue, fold[i].becomes) != dtype_of(f->queue, fold[first].becomes)) folds->count = first;
}

/* Only calls whose floats are all f32 as they were recorded: others are in a half, or wider, throughout. */
static bool fold_call(const Folding *f, uint32_t number) {
  const FusionOp *op = op_at(f->queue, number);
  const uint32_t first = f->plan->folds.count;
  bool ok = true;
  for (uint32_t k = 0; k < op->input_count && ok; k++) ok = fold_input(f, number, k);
  for (uint32_t k = 0; k < op->output_count && ok; k++) ok = fold_result(f, number, k);
  keep_if_alike(f, first);
  return ok;
}

static bool is_mixed(const FusionDecorator *decorator, uint32_t op) {
  if (op >= BURN_OP_LIMIT) return false;
  const FusionMixed *mixed = &decorator->mixed[op];
  return (mixed->inputs[FUSION_F16] | mixed->inputs[FUSION_BF16] | mixed->outputs[FUSION_F16] |
          mixed->outputs[FUSION_BF16]) != 0;
}

bool burn__fusion_fold_casts(FusionQueue *queue, FusionPlan *plan, const uint8_t *needed, const uint8_t *role) {
  uint32_t *only_reader = only_readers(queue, needed);
  const Folding f = {queue, plan, only_reader};
  bool ok = only_reader != NULL;
  for (uint32_t i = 0; i < queue->ops.count && ok; i++)
    if (needed[i] && role[i] == BURN_FUSED_NO && is_mixed(queue->decorator, op_at(queue, i)->op)) ok = fold_call(&f, i);
  queue->decorator->host->free(only_reader, ((uint64_t)queue->values.count + 1u) * sizeof *only_reader);
  if (ok) burn__fusion_apply_folds(queue, plan);
  return ok;
}

/* -- changing the queue ----------------------------------------------------------------------- */

static void change(FusionQueue *queue, const FusionFold *fold, bool back) {
  FusionValue *values = fusion_values(queue);
  if (!fold->is_result) {
    fusion_slots(queue)[fold->at] = back ? fold->was : fold->becomes;
    return;
  }
  values[fold->at].made_as = back ? fold->at : fold->becomes;
  values[fold->becomes].producer = back ? fold->was : fold->op;
}

static void change_all(FusionQueue *queue, const FusionPlan *plan, bool back) {
  for (uint32_t i = 0; i < plan->folds.count; i++) change(queue, &((const FusionFold *)plan->folds.items)[i], back);
}

void burn__fusion_apply_folds(FusionQueue *queue, const FusionPlan *plan) { change_all(queue, plan, false); }
void burn__fusion_undo_folds(FusionQueue *queue, const FusionPlan *plan) { change_all(queue, plan, true); }
