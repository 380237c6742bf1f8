/* fusion_run.c - the flush: find the plan, run its launches on the decorator below, hand the results to their tensors.
 *
 * A failure stops nothing but what depends on it: results of a failed op, and of every op that reads them, carry its
 * message. */
#include "fusion_internal.h"

#include <string.h>

/* Who is still wanted? A tensor that only the queue holds can never be asked for again. This is part of the key. */
static bool mark_dead(FusionQueue *queue) {
  const uint32_t count = queue->values.count;
  const uint32_t more = fusion_held_words(queue);
  if (!burn__fusion_list_reserve(queue->decorator, &queue->key, more, sizeof(uint32_t))) return false;
  uint32_t *words = (uint32_t *)queue->key.items + queue->key.count;
  memset(words, 0, more * sizeof *words);
  for (uint32_t i = 0; i < count; i++) {
    FusionValue *value = &fusion_values(queue)[i];
    value->dead = atomic_load_explicit(&value->tensor->references, memory_order_acquire) == 1u;
    if (value->producer != FUSION_NONE && value->dead) words[i / 32u] |= 1u << i % 32u;
  }
  queue->key.count += more;
  return true;
}

static void load_values(FusionQueue *queue) {
  for (uint32_t i = 0; i < queue->values.count; i++) {
    FusionValue *value = &fusion_values(queue)[i];
    if (value->producer != FUSION_NONE) continue;
    value->inner = value->tensor->inner;
    value->failure = value->tensor->failure;
  }
}

/* -- one call below --------------------------------------------------------------------------- */

enum { INLINE_INPUTS = 16 };

static FusionFailure *failure_among(const FusionQueue *queue, const uint32_t *slots, uint32_t count) {
  for (uint32_t i = 0; i < count; i++)
    if (slots[i] != FUSION_NONE && fusion_values(queue)[slots[i]].failure)
      return fusion_values(queue)[slots[i]].failure;
  return NULL;
}

/* Takes over one reference to the failure. */
static void set_failure(FusionQueue *queue, const uint32_t *slots, uint32_t count, FusionFailure *failure) {
  for (uint32_t i = 0; i < count; i++) {
    FusionValue *value = &fusion_values(queue)[slots[i]];
    if (!value->failure) value->failure = burn__fusion_failure_retain(failure);
  }
  burn__fusion_failure_release(queue->decorator, failure);
}

/* Remembers a failure for the next sync, unless there is one. */
static void report(FusionDecorator *decorator, FusionFailure *failure) {
  FusionFailure *none = NULL;
  (void)burn__fusion_failure_retain(failure);
  if (!atomic_compare_exchange_strong(&decorator->unreported, &none, failure))
    burn__fusion_failure_release(decorator, failure);
}

void burn__fusion_fail_value(FusionQueue *queue, uint32_t slot, BurnStatus status) {
  const FusionOp *op = &fusion_ops(queue)[fusion_values(queue)[slot].producer];
  FusionFailure *failure = burn__fusion_failure_new(queue->decorator, status, op->op);
  report(queue->decorator, failure);
  set_failure(queue, &slot, 1, failure);
}

static void fail_op(FusionQueue *queue, const FusionOp *op, FusionFailure *failure) {
  uint32_t outputs[BURN_MAX_OUTPUTS];
  for (uint32_t i = 0; i < op->output_count; i++) outputs[i] = fusion_output(queue, op, i);
  set_failure(queue, outputs, op->output_count, failure);
}

/* Bits of inputs whose tensors are dead, among those that the plan allows. */
static uint64_t donations(const FusionQueue *queue, const uint32_t *slots, uint32_t count, uint64_t allowed) {
  uint64_t donate = 0;
  for (uint32_t i = 0; allowed && i < count && i < 64u; i++)
    if ((allowed >> i & 1u) && fusion_values(queue)[slots[i]].dead) donate |= UINT64_C(1) << i;
  return donate;
}

/* A recorded op as a call below; fills inputs, outputs and descs. */
static BurnOpCall call_of(const FusionQueue *queue, const FusionOp *op, BurnPrimitive **inputs, BurnPrimitive **outputs,
                          BurnTensorDesc *descs, uint64_t donate) {
  const uint32_t *slots = fusion_inputs(queue, op);
  for (uint32_t i = 0; i < op->input_count; i++)
    inputs[i] = slots[i] == FUSION_NONE ? NULL : fusion_values(queue)[slots[i]].inner;
  for (uint32_t i = 0; i < op->output_count; i++) {
    outputs[i] = NULL;
    descs[i] = fusion_values(queue)[fusion_output(queue, op, i)].tensor->desc;
  }
  return (BurnOpCall){.struct_size = (uint32_t)sizeof(BurnOpCall),
                      .flags = op->flags,
                      .op = op->op,
                      .attr_count = op->attr_count,
                      .input_count = op->input_count,
                      .output_count = op->output_count,
                      .inputs = inputs,
                      .outputs = outputs,
                      .attrs = op->attrs,
                      .output_descs = descs,
                      .donate = donate};
}

static void take_outputs(FusionQueue *queue, const FusionOp *op, BurnPrimitive *const *outputs) {
  for (uint32_t i = 0; i < op->output_count; i++) fusion_values(queue)[fusion_output(queue, op, i)].inner = outputs[i];
}

static BurnStatus call_below(FusionQueue *queue, const FusionOp *op, BurnPrimitive **inputs, uint64_t donate) {
  const FusionDecorator *decorator = queue->decorator;
  BurnPrimitive *outputs[BURN_MAX_OUTPUTS];
  BurnTensorDesc descs[BURN_MAX_OUTPUTS];
  const BurnOpCall call = call_of(queue, op, inputs, outputs, descs, donate);
  BurnStatus status = decorator->host->invoke(decorator->next, &call);
  if (status == BURN_OK) status = burn_common_check_results(decorator->host, decorator->next, &call);
  if (status == BURN_OK) take_outputs(queue, op, outputs);
  return status;
}

/* A trial changes nothing but this. */
static void keep_reason(FusionQueue *queue, BurnStatus status) {
  if (status == BURN_OK || !queue->trial) return;
  queue->decorator->host->status_message(status, queue->trial_reason, sizeof queue->trial_reason);
}

/* A trial without a reason would pass for one that has made all that was asked for. */
static bool no_memory(FusionQueue *queue, const FusionLaunch *launch) {
  if (queue->trial)
    keep_reason(queue, FUSION_FAIL(queue->decorator, OUT_OF_MEMORY, "no memory for %u ops", launch->op_count));
  return false;
}

/* Recordings keep memory that a call may need more. */
static bool may_try_again(const FusionQueue *queue, BurnStatus status) {
  if (status == BURN_OK || queue->trial || burn_status_code(status) != BURN_STATUS_OUT_OF_MEMORY) return false;
  return burn__fusion_replay_drop_all(queue->decorator);
}

static void run_op(FusionQueue *queue, const FusionOp *op, uint64_t last_use) {
  FusionDecorator *decorator = queue->decorator;
  const uint32_t *slots = fusion_inputs(queue, op);
  BurnPrimitive *few[INLINE_INPUTS], **inputs = few;
  FusionFailure *failure = failure_among(queue, slots, op->input_count);
  if (failure) {
    fail_op(queue, op, burn__fusion_failure_retain(failure));
    return;
  }
  const uint64_t bytes = op->input_count * sizeof *inputs;
  if (op->input_count > INLINE_INPUTS) inputs = (BurnPrimitive **)decorator->host->allocate(bytes);
  const uint64_t donate = donations(queue, slots, op->input_count, last_use);
  BurnStatus status = inputs ? call_below(queue, op, inputs, donate)
                             : FUSION_FAIL(decorator, OUT_OF_MEMORY, "%s: no memory for %u inputs",
                                           burn__fusion_op_name(decorator, op->op), op->input_count);
  if (may_try_again(queue, status)) status = call_below(queue, op, inputs, donate);
  if (inputs != few) decorator->host->free(inputs, bytes);
  if (status == BURN_OK) return;
  keep_reason(queue, status);
  if (queue->trial) return;
  failure = burn__fusion_failure_new(decorator, status, op->op);
  report(decorator, failure);
  fail_op(queue, op, failure);
}

/* -- one kernel ------------------------------------------------------------------------------- */

/* Inputs of op i of a launch that may be given away. */
static uint64_t last_use_of(const FusionPlan *plan, const FusionLaunch *launch, uint32_t i) {
  if (launch->joined) return fusion_words(plan, launch->last_uses)[i];
  return launch->op_count == 1 ? launch->last_use : 0;
}

static void run_ops(FusionQueue *queue, const FusionPlan *plan, const FusionLaunch *launch) {
  const uint32_t *ops = fusion_words(plan, launch->ops);
  for (uint32_t i = 0; i < launch->op_count; i++)
    run_op(queue, &fusion_ops(queue)[ops[i]], last_use_of(plan, launch, i));
}

/* Results of a launch that succeeded: each has to be there. What a launch was given is gone, so it is not tried again
 * another way; in a trial, whose reason this becomes, all is thrown away anyhow. */
static void take_result(FusionQueue *queue, uint32_t slot, BurnPrimitive *given) {
  const FusionDecorator *decorator = queue->decorator;
  FusionValue *value = &fusion_values(queue)[slot];
  const FusionOp *op = &fusion_ops(queue)[value->producer];
  const BurnStatus status = burn_common_check_given(
      decorator->host, decorator->next, burn__fusion_op_name(decorator, op->op), &value->tensor->desc, &given);
  value->inner = given;
  keep_reason(queue, status);
  if (status != BURN_OK && !queue->trial) burn__fusion_fail_value(queue, slot, status);
}

/* False if the kernel did not run; then nothing has changed. */
static bool run_kernel(FusionQueue *queue, const FusionPlan *plan, const FusionLaunch *launch) {
  FusionDecorator *decorator = queue->decorator;
  const uint32_t *slots = fusion_words(plan, launch->inputs), *ops = fusion_words(plan, launch->ops);
  const uint32_t *results = fusion_words(plan, launch->outputs);
  BurnPrimitive *inputs[64], *outputs[64] = {NULL};
  const BurnAttr *few[64], **attrs = few;
  const uint64_t bytes = launch->op_count * sizeof *attrs;
  if (launch->op_count > 64u) attrs = (const BurnAttr **)decorator->host->allocate(bytes);
  if (!attrs) return no_memory(queue, launch);
  for (uint32_t i = 0; i < launch->input_count; i++) inputs[i] = fusion_values(queue)[slots[i]].inner;
  for (uint32_t i = 0; i < launch->op_count; i++) attrs[i] = fusion_ops(queue)[ops[i]].attrs;
  const BurnFusedCall call = {.struct_size = (uint32_t)sizeof call,
                              .kernel = launch->kernel,
                              .inputs = inputs,
                              .attrs = attrs,
                              .outputs = outputs,
                              .donate = donations(queue, slots, launch->input_count, launch->last_use)};
  const BurnStatus status = decorator->fused->run(decorator->fused_self, &call);
  if (attrs != few) decorator->host->free((void *)attrs, bytes);
  keep_reason(queue, status);
  if (status != BURN_OK) return false;
  for (uint32_t i = 0; i < launch->output_count; i++) take_result(queue, results[i], outputs[i]);
  return true;
}

/* -- calls of one op -------------------------------------------------------------------------- */

typedef struct Joined {
  BurnOpCall call;
  BurnPrimitive *inputs[BURN_MAX_FIXED_INPUTS], *outputs[BURN_MAX_OUTPUTS];
  BurnTensorDesc descs[BURN_MAX_OUTPUTS];
} Joined;

/* False if the calls were not made; then nothing has changed. */
static bool run_joined(FusionQueue *queue, const FusionPlan *plan, const FusionLaunch *launch) {
  const FusionDecorator *decorator = queue->decorator;
  const uint32_t *ops = fusion_words(plan, launch->ops);
  const uint64_t bytes = launch->op_count * (sizeof(Joined) + sizeof(BurnOpCall *));
  Joined *joined = (Joined *)decorator->host->allocate(bytes);
  if (!joined) return no_memory(queue, launch);
  const BurnOpCall **calls = (const BurnOpCall **)(void *)(joined + launch->op_count);
  for (uint32_t i = 0; i < launch->op_count; i++) {
    const FusionOp *op = &fusion_ops(queue)[ops[i]];
    Joined *one = &joined[i];
    const uint64_t donate = donations(queue, fusion_inputs(queue, op), op->input_count, last_use_of(plan, launch, i));
    one->call = call_of(queue, op, one->inputs, one->outputs, one->descs, donate);
    calls[i] = &one->call;
  }
  const BurnStatus status = decorator->calls->submit_many(decorator->next->self, calls, launch->op_count);
  keep_reason(queue, status);
  for (uint32_t i = 0; status == BURN_OK && i < launch->op_count; i++) {
    const FusionOp *op = &fusion_ops(queue)[ops[i]];
    for (uint32_t k = 0; k < op->output_count; k++)
      take_result(queue, fusion_output(queue, op, k), joined[i].outputs[k]);
  }
  decorator->host->free(joined, bytes);
  return status == BURN_OK;
}

/* After a failure, of an input or of the launch, the ops run one by one: so it is known which of them fails, and what
 * does not depend on it succeeds. */
void burn__fusion_run_launch(FusionQueue *queue, const FusionPlan *plan, const FusionLaunch *launch) {
  const bool is_one = launch->kernel || launch->joined;
  bool whole = is_one && !failure_among(queue, fusion_words(plan, launch->inputs), launch->input_count);
  if (whole) whole = launch->kernel ? run_kernel(queue, plan, launch) : run_joined(queue, plan, launch);
  if (!whole && (!is_one || !queue->trial)) run_ops(queue, plan, launch);
}

void burn__fusion_release_dead(FusionQueue *queue, const uint32_t *slots, uint32_t count) {
  const FusionDecorator *decorator = queue->decorator;
  for (uint32_t i = 0; i < count; i++) {
    FusionValue *value = &fusion_values(queue)[slots[i]];
    if (!value->dead || !value->inner) continue;
    decorator->next->release(decorator->next->self, value->inner);
    value->inner = NULL;
    if (!queue->trial) value->tensor->inner = NULL;
  }
}

static void add(_Atomic uint64_t *counter, uint64_t count) {
  atomic_fetch_add_explicit(counter, count, memory_order_relaxed);
}

static void count_launches(FusionQueue *queue, const FusionPlan *plan) {
  FusionStatistics *statistics = &queue->decorator->statistics;
  uint64_t kernels = 0, fused = 0, calls = 0;
  for (uint32_t i = 0; i < plan->launches.count; i++) {
    const FusionLaunch *launch = &fusion_launches(plan)[i];
    kernels += launch->kernel != NULL;
    fused += launch->kernel ? launch->op_count : 0;
    calls += launch->kernel ? 0 : launch->op_count;
  }
  add(&statistics->kernels, kernels);
  add(&statistics->fused_ops, fused);
  add(&statistics->calls, calls);
  add(&statistics->dead_ops, queue->ops.count - fused - calls);
}

static void run_launches(FusionQueue *queue, const FusionPlan *plan) {
  for (uint32_t i = 0; i < plan->launches.count; i++) {
    const FusionLaunch *launch = &fusion_launches(plan)[i];
    burn__fusion_run_launch(queue, plan, launch);
    burn__fusion_release_dead(queue, fusion_words(plan, launch->releases), launch->release_count);
  }
}

static void run_plan(FusionQueue *queue, FusionPlan *plan) {
  const uint32_t outcome = burn__fusion_replay(queue, plan);
  if (outcome == BURN_FUSION_SINGLE) run_launches(queue, plan);
  add(&queue->decorator->statistics.replays, outcome != BURN_FUSION_SINGLE);
  count_launches(queue, plan);
  burn__fusion_region_count(queue, plan, outcome);
}

/* Without memory for a plan: everything in the order of recording. */
static void run_unplanned(FusionQueue *queue) {
  for (uint32_t i = 0; i < queue->ops.count; i++) run_op(queue, &fusion_ops(queue)[i], 0);
}

/* -- the flush -------------------------------------------------------------------------------- */

/* Results to their tensors, which are from now on like any other. */
static void settle_values(FusionQueue *queue) {
  FusionDecorator *decorator = queue->decorator;
  for (uint32_t i = 0; i < queue->values.count; i++) {
    FusionValue *value = &fusion_values(queue)[i];
    if (value->producer != FUSION_NONE) {
      value->tensor->inner = value->inner;
      value->tensor->failure = value->failure;
      atomic_store_explicit(&value->tensor->queue, NULL, memory_order_release);
    }
    burn__fusion_release(decorator, &value->tensor->header);
  }
}

void burn__fusion_flush_locked(FusionQueue *queue) {
  FusionDecorator *decorator = queue->decorator;
  if (queue->ops.count == 0) return;
  load_values(queue);
  FusionPlan *plan = mark_dead(queue) ? burn__fusion_cache_get(decorator, queue) : NULL;
  if (plan) {
    burn__fusion_apply_folds(queue, plan);
    run_plan(queue, plan);
  } else {
    run_unplanned(queue);
    burn__fusion_region_count(queue, NULL, BURN_FUSION_SINGLE);
  }
  burn__fusion_plan_release(decorator, plan);
  add(&decorator->statistics.ops, queue->ops.count);
  add(&decorator->statistics.flushes, 1u);
  settle_values(queue);
  burn__fusion_queue_reset(queue);
}
