/* fusion_plan.c - which ops run together, and in which order.
 *
 * Every op starts as a group of its own. An op that may be part of a body joins the groups of its inputs, if the shapes
 * suit, the body stays within the backend's limits, and nothing lies between: no third group that needs the one and is
 * needed by the other (fusion_needs.c). Groups with reductions have one axis along which all of them reduce, or reduce
 * everything to one number. Then bodies are compiled; where the backend refuses one, its ops are taken apart (first the
 * reductions, then all) and the grouping is done again. Results that nobody wants are not computed. Groups run in the
 * order in which their last ops were recorded, or earlier where another one needs them.
 *
 * A product whose result a group of element-wise ops reads is then put in front of that group, where the backend has
 * epilogues and takes both as one body (epilogue.h).
 *
 * Before that, casts that calls can do without are left out (fusion_casts.c).
 *
 * Ops whose calls the backend makes together (burn.calls) join the first group of the same op that they do not need. */
#include "fusion_planner.h"

#include <string.h>

/* -- which ops are needed --------------------------------------------------------------------- */

/* Does somebody want what this op makes? A cast that was left out makes nothing: another op has its slot. */
static bool is_wanted(const FusionPlanner *p, uint32_t i) {
  const FusionOp *op = fusion_op_at(p, i);
  for (uint32_t k = 0; k < op->output_count; k++) {
    const FusionValue *value = &fusion_values(p->queue)[fusion_output_of(p, op, k)];
    if (!value->dead && value->producer == i) return true;
  }
  return false;
}

static void find_needed(FusionPlanner *p) {
  memset(p->needed, 0, p->op_count);
  for (uint32_t i = p->op_count; i-- > 0;) {
    const FusionOp *op = fusion_op_at(p, i);
    p->needed[i] |= is_wanted(p, i);
    if (!p->needed[i]) continue;
    for (uint32_t k = 0; k < op->input_count; k++) {
      const uint32_t slot = fusion_inputs_of(p, op)[k];
      if (slot != FUSION_NONE && fusion_values(p->queue)[slot].producer != FUSION_NONE)
        p->needed[fusion_values(p->queue)[slot].producer] = 1;
    }
  }
}

/* -- groups ----------------------------------------------------------------------------------- */

static bool same_shape(const BurnTensorDesc *a, const BurnTensorDesc *b) {
  return a->rank == b->rank && memcmp(a->shape, b->shape, a->rank * sizeof a->shape[0]) == 0;
}

/* The axis along which `whole` becomes `part`; FUSION_ALL_AXES if `part` is one number; FUSION_NO_AXIS if that is not
 * all the difference. */
static int32_t reduced_axis(const BurnTensorDesc *whole, const BurnTensorDesc *part) {
  int32_t axis = FUSION_NO_AXIS;
  if (part->rank == 1 && part->shape[0] == 1 && (whole->rank > 1 || whole->shape[0] == 1)) return FUSION_ALL_AXES;
  if (whole->rank != part->rank) return FUSION_NO_AXIS;
  for (uint32_t i = 0; i < whole->rank; i++) {
    if (whole->shape[i] == part->shape[i]) continue;
    if (part->shape[i] != 1 || axis != FUSION_NO_AXIS) return FUSION_NO_AXIS;
    axis = (int32_t)i;
  }
  return axis;
}

/* The group of one op. */
static void start_group(FusionPlanner *p, uint32_t i) {
  const FusionOp *op = fusion_op_at(p, i);
  FusionGroup *group = &p->groups[i];
  p->group_of[i] = i;
  *group = (FusionGroup){.shape = op->output_count ? fusion_desc_of(p, fusion_output_of(p, op, 0)) : NULL,
                         .op_count = 1,
                         .input_slots = op->input_count,
                         .reduce_axis = FUSION_NO_AXIS,
                         .fusable = p->role[i] != BURN_FUSED_NO,
                         .joined = p->role[i] == BURN_FUSED_NO && fusion_joins(p->decorator->joins, op),
                         .product = FUSION_NONE};
  p->next_member[i] = FUSION_NONE;
  p->last_member[i] = i;
  for (uint32_t k = 0; k < op->input_count; k++) {
    const uint32_t from = fusion_maker(p, fusion_inputs_of(p, op)[k]);
    if (from != FUSION_NONE) p->groups[from].is_read = true;
  }
  if (p->role[i] != BURN_FUSED_REDUCE) return;
  group->shape = fusion_desc_of(p, fusion_inputs_of(p, op)[0]);
  group->reduce_axis = reduced_axis(group->shape, fusion_desc_of(p, fusion_output_of(p, op, 0)));
  group->fusable = group->reduce_axis != FUSION_NO_AXIS;
}

/* The shape of the loop of both groups together, or NULL if they do not suit. */
static const BurnTensorDesc *common_shape(const FusionGroup *a, const FusionGroup *b) {
  const bool one = a->reduce_axis != FUSION_NO_AXIS, other = b->reduce_axis != FUSION_NO_AXIS;
  if (one && other && a->reduce_axis != b->reduce_axis) return NULL;
  if (same_shape(a->shape, b->shape)) return a->shape;
  if (one && !other && reduced_axis(a->shape, b->shape) == a->reduce_axis) return a->shape;
  if (other && !one && reduced_axis(b->shape, a->shape) == b->reduce_axis) return b->shape;
  return NULL;
}

/* -- groups grow ------------------------------------------------------------------------------- */

static bool may_merge(FusionPlanner *p, uint32_t a, uint32_t b) {
  const FusionGroup *one = &p->groups[a], *other = &p->groups[b];
  if (a == b || !one->fusable || !other->fusable) return false;
  if (one->op_count + other->op_count > p->decorator->fused->max_steps) return false;
  if (one->input_slots + other->input_slots > p->decorator->fused->max_inputs * 2u) return false;
  return common_shape(one, other) && !burn__fusion_something_between(p, a, b);
}

/* The group of ops recorded earlier that an op may join, or FUSION_NONE. Nothing needs the op yet, so it is enough that
 * it does not need that group. */
static uint32_t group_to_join(FusionPlanner *p, uint32_t i) {
  for (uint32_t k = 0; k < p->joined_count && p->groups[i].joined; k++)
    if (fusion_op_at(p, p->joined[k])->op == fusion_op_at(p, i)->op &&
        !burn__fusion_leads_to(p, p->joined[k], i, false))
      return p->joined[k];
  if (p->groups[i].joined) p->joined[p->joined_count++] = i;
  return FUSION_NONE;
}

/* The members of b, whose first comes after that of a, become members of a, in program order. */
static void merge_members(FusionPlanner *p, uint32_t a, uint32_t b) {
  const bool is_after = p->last_member[a] < b;
  uint32_t at = is_after ? p->last_member[a] : a, one = p->next_member[at], other = b;
  for (uint32_t i = b; i != FUSION_NONE; i = p->next_member[i]) p->group_of[i] = a;
  if (p->last_member[a] < p->last_member[b]) p->last_member[a] = p->last_member[b];
  while (one != FUSION_NONE && other != FUSION_NONE) {
    uint32_t *first = one < other ? &one : &other;
    p->next_member[at] = *first;
    at = *first;
    *first = p->next_member[at];
  }
  p->next_member[at] = one != FUSION_NONE ? one : other;
}

/* The groups become one, named by its first op. */
static void merge(FusionPlanner *p, uint32_t one_name, uint32_t other_name) {
  const uint32_t a = one_name < other_name ? one_name : other_name, b = one_name < other_name ? other_name : one_name;
  FusionGroup *one = &p->groups[a];
  const FusionGroup *other = &p->groups[b];
  if (!one->joined) one->shape = common_shape(one, other);
  if (one->reduce_axis == FUSION_NO_AXIS) one->reduce_axis = other->reduce_axis;
  one->op_count += other->op_count;
  one->input_slots += other->input_slots;
  one->is_read |= other->is_read;
  merge_members(p, a, b);
}

static void make_groups(FusionPlanner *p) {
  for (uint32_t i = 0; i < p->op_count; i++) p->group_of[i] = FUSION_NONE;
  p->joined_count = 0;
  for (uint32_t i = 0; i < p->op_count; i++) {
    if (!p->needed[i]) continue;
    const FusionOp *op = fusion_op_at(p, i);
    start_group(p, i);
    for (uint32_t k = 0; k < op->input_count && p->role[i] != BURN_FUSED_NO; k++) {
      const uint32_t from = fusion_maker(p, fusion_inputs_of(p, op)[k]);
      if (from != FUSION_NONE && may_merge(p, from, p->group_of[i])) merge(p, from, p->group_of[i]);
    }
    const uint32_t joined = group_to_join(p, i);
    if (joined != FUSION_NONE) merge(p, joined, i);
  }
}

/* -- bodies ----------------------------------------------------------------------------------- */

static void add_unique(uint32_t *list, uint32_t *count, uint32_t slot) {
  for (uint32_t i = 0; i < *count; i++)
    if (list[i] == slot) return;
  list[(*count)++] = slot;
}

/* Is a slot read by an op of another group, or wanted outside? */
static bool leaves(const FusionPlanner *p, uint32_t group, uint32_t slot) {
  if (!fusion_values(p->queue)[slot].dead) return true;
  for (uint32_t at = p->first_reader[slot]; at != FUSION_NONE; at = p->next_reader[at])
    if (p->group_of[p->reader[at]] != group) return true;
  return false;
}

/* Everything that the calls of a group for burn.calls read and make, in their order. */
static void list_calls(const FusionPlanner *p, FusionBody *body) {
  for (uint32_t i = 0; i < body->op_count; i++) {
    const FusionOp *op = fusion_op_at(p, body->ops[i]);
    for (uint32_t k = 0; k < op->input_count; k++) body->inputs[body->input_count++] = fusion_inputs_of(p, op)[k];
    for (uint32_t k = 0; k < op->output_count; k++) body->outputs[body->output_count++] = fusion_output_of(p, op, k);
  }
}

static FusionBody body_of(const FusionPlanner *p, uint32_t group) {
  uint32_t *ops = p->scratch;
  FusionBody body = {.queue = p->queue, .ops = ops, .outputs = p->scratch + p->op_count};
  body.inputs = body.outputs + p->queue->values.count;
  const uint32_t product = p->groups[group].product;
  if (product != FUSION_NONE) ops[body.op_count++] = product;
  for (uint32_t i = group; i != FUSION_NONE; i = p->next_member[i])
    if (i != product) ops[body.op_count++] = i;
  body.has_product = product != FUSION_NONE;
  if (p->groups[group].joined) {
    list_calls(p, &body);
    return body;
  }
  for (uint32_t i = 0; i < body.op_count; i++) {
    const FusionOp *op = fusion_op_at(p, ops[i]);
    for (uint32_t k = 0; k < op->input_count; k++) {
      const uint32_t slot = fusion_inputs_of(p, op)[k];
      if (slot != FUSION_NONE && fusion_maker(p, slot) != group) add_unique(body.inputs, &body.input_count, slot);
    }
    for (uint32_t k = 0; k < op->output_count; k++)
      if (body.op_count == 1 || leaves(p, group, fusion_output_of(p, op, k)))
        body.outputs[body.output_count++] = fusion_output_of(p, op, k);
  }
  return body;
}

/* The ops of a refused body get other roles: its reductions none, or, if it has none, all of them none. */
static void take_apart(FusionPlanner *p, const FusionBody *body) {
  bool reductions = false;
  for (uint32_t i = 0; i < body->op_count; i++) reductions = reductions || p->role[body->ops[i]] == BURN_FUSED_REDUCE;
  for (uint32_t i = 0; i < body->op_count; i++)
    if (!reductions || p->role[body->ops[i]] == BURN_FUSED_REDUCE) p->role[body->ops[i]] = BURN_FUSED_NO;
}

/* -- launches --------------------------------------------------------------------------------- */

static bool put_words(FusionPlanner *p, const uint32_t *words, uint32_t count, uint32_t *first) {
  FusionList *list = &p->plan->words;
  if (!burn__fusion_list_reserve(p->decorator, list, count, sizeof *words)) return false;
  *first = list->count;
  if (count > 0) memcpy((uint32_t *)list->items + list->count, words, count * sizeof *words);
  list->count += count;
  return true;
}

/* Inputs of calls stand as they are, also twice; those of a body once each. */
static bool put_launch(FusionPlanner *p, const FusionBody *body, BurnFusedKernel *kernel) {
  FusionLaunch launch = {.kernel = kernel,
                         .joined = body->op_count > 1 && !kernel,
                         .op_count = body->op_count,
                         .output_count = body->output_count};
  const FusionOp *op = fusion_op_at(p, body->ops[0]);
  launch.input_count = body->op_count == 1 ? op->input_count : body->input_count;
  const uint32_t *inputs = body->op_count == 1 ? fusion_inputs_of(p, op) : body->inputs;
  if (!put_words(p, body->ops, body->op_count, &launch.ops) ||
      !put_words(p, inputs, launch.input_count, &launch.inputs) ||
      !put_words(p, body->outputs, body->output_count, &launch.outputs) ||
      !burn__fusion_list_reserve(p->decorator, &p->plan->launches, 1, sizeof launch))
    return false;
  ((FusionLaunch *)p->plan->launches.items)[p->plan->launches.count++] = launch;
  for (uint32_t i = 0; i < launch.input_count; i++)
    if (inputs[i] != FUSION_NONE) p->last_use[inputs[i]] = p->plan->launches.count;
  for (uint32_t i = 0; i < body->output_count; i++)
    if (p->last_use[body->outputs[i]] == FUSION_NONE) p->last_use[body->outputs[i]] = p->plan->launches.count;
  return true;
}

typedef enum Outcome { DONE, AGAIN, NO_MEMORY } Outcome;

static bool is_within_limits(const FusionPlanner *p, const FusionBody *body) {
  const BurnFusedInterface *fused = p->decorator->fused;
  return body->input_count <= fused->max_inputs && body->input_count <= 64u &&
         body->output_count <= fused->max_outputs && body->output_count <= 64u && body->op_count <= fused->max_steps;
}

/* The kernel of a group of several ops. AGAIN: it was refused, and its ops have other roles now. */
static Outcome compile_group(FusionPlanner *p, const FusionBody *body, BurnFusedKernel **kernel) {
  char why[256] = "more inputs or results than the backend takes";
  if (is_within_limits(p, body) &&
      burn__fusion_body_compile(p->decorator, body, kernel, why, sizeof why - 1) != BURN_OK)
    return NO_MEMORY;
  if (*kernel) return DONE;
  if (p->decorator->log) burn__fusion_log_refusal(p->decorator, body, why);
  take_apart(p, body);
  return AGAIN;
}

static Outcome emit_group(FusionPlanner *p, uint32_t group) {
  const FusionBody body = body_of(p, group);
  BurnFusedKernel *kernel = p->groups[group].kernel;
  p->groups[group].kernel = NULL; /* the launch's from here on */
  if (body.op_count > 1 && !p->groups[group].joined && !kernel) {
    const Outcome outcome = compile_group(p, &body, &kernel);
    if (outcome != DONE) return outcome;
  }
  if (put_launch(p, &body, kernel)) return DONE;
  if (kernel) p->decorator->fused->release(p->decorator->fused_self, kernel);
  return NO_MEMORY;
}

/* The groups that `group` needs, then itself; a group is pushed once all it needs stands before it. */
static Outcome emit(FusionPlanner *p, uint32_t group) {
  if (p->emitted[group]) return DONE;
  p->emitted[group] = 1;
  for (uint32_t i = group; i != FUSION_NONE; i = p->next_member[i]) {
    const FusionOp *op = fusion_op_at(p, i);
    for (uint32_t k = 0; k < op->input_count; k++) {
      const uint32_t from = fusion_maker(p, fusion_inputs_of(p, op)[k]);
      if (from != FUSION_NONE && emit(p, from) == NO_MEMORY) return NO_MEMORY;
    }
  }
  const Outcome outcome = emit_group(p, group);
  p->is_refused |= outcome == AGAIN;
  return outcome;
}

/* -- products --------------------------------------------------------------------------------- */

/* May a group of element-wise ops, which reads the result of product i, be run with it? */
static bool may_follow(FusionPlanner *p, uint32_t i, uint32_t group) {
  const FusionGroup *body = &p->groups[group];
  return body->fusable && body->product == FUSION_NONE && body->reduce_axis == FUSION_NO_AXIS &&
         same_shape(body->shape, fusion_desc_of(p, fusion_op_at(p, i)->first_output)) &&
         !burn__fusion_leads_to(p, group, i, false) && !burn__fusion_something_between(p, i, group);
}

/* Puts product i in front of the group. False where the backend refuses that; then nothing has changed. */
static bool put_in_front(FusionPlanner *p, uint32_t i, uint32_t group) {
  char why[256] = "more steps, inputs or results than the backend takes";
  BurnFusedKernel *kernel = NULL;
  p->group_of[i] = group;
  p->groups[group].product = i;
  const FusionBody body = body_of(p, group);
  const bool fits = is_within_limits(p, &body);
  if (fits && burn__fusion_body_compile(p->decorator, &body, &kernel, why, sizeof why - 1) != BURN_OK) kernel = NULL;
  if (!kernel && p->decorator->log) burn__fusion_log_refusal(p->decorator, &body, why);
  p->group_of[i] = i;
  p->groups[group].product = FUSION_NONE;
  if (!kernel) return false;
  merge(p, i, group);
  p->groups[p->group_of[i]].product = i;
  p->groups[p->group_of[i]].kernel = kernel;
  return true;
}

/* Gives product i to a group that reads its result, the first that takes it. */
static void find_epilogue(FusionPlanner *p, uint32_t i) {
  uint32_t refused = FUSION_NONE, at = p->first_reader[fusion_op_at(p, i)->first_output];
  for (; at != FUSION_NONE; at = p->next_reader[at]) {
    const uint32_t group = p->group_of[p->reader[at]];
    if (group == refused || !may_follow(p, i, group)) continue;
    if (put_in_front(p, i, group)) return;
    refused = group;
  }
}

static void find_epilogues(FusionPlanner *p) {
  for (uint32_t i = 0; i < p->op_count; i++)
    if (p->needed[i] && p->product[i]) find_epilogue(p, i);
}

static void release_kernels(FusionPlanner *p) {
  for (uint32_t i = 0; i < p->op_count; i++) {
    if (p->groups[i].kernel) p->decorator->fused->release(p->decorator->fused_self, p->groups[i].kernel);
    p->groups[i].kernel = NULL;
  }
}

/* -- all launches ----------------------------------------------------------------------------- */

static void forget_launches(FusionPlanner *p) {
  FusionPlan *plan = p->plan;
  for (uint32_t i = 0; i < plan->launches.count; i++) {
    BurnFusedKernel *kernel = fusion_launches(plan)[i].kernel;
    if (kernel) p->decorator->fused->release(p->decorator->fused_self, kernel);
  }
  plan->launches.count = plan->words.count = 0;
}

/* All bodies that the backend refuses are found in one round. */
static Outcome emit_all(FusionPlanner *p) {
  forget_launches(p);
  memset(p->emitted, 0, p->op_count);
  p->is_refused = false;
  for (uint32_t i = 0; i < p->queue->values.count; i++) p->last_use[i] = FUSION_NONE;
  for (uint32_t i = 0; i < p->op_count; i++) {
    const bool is_last = p->needed[i] && p->last_member[p->group_of[i]] == i;
    if (is_last && emit(p, p->group_of[i]) == NO_MEMORY) return NO_MEMORY;
  }
  return p->is_refused ? AGAIN : DONE;
}

static void count_reads(const FusionPlanner *p, const FusionLaunch *launch) {
  const uint32_t *inputs = fusion_words(p->plan, launch->inputs);
  for (uint32_t i = 0; i < launch->input_count; i++)
    if (inputs[i] != FUSION_NONE) p->times[inputs[i]] = 0;
  for (uint32_t i = 0; i < launch->input_count; i++)
    if (inputs[i] != FUSION_NONE) p->times[inputs[i]]++;
}

/* Is input k of the launch whose reads are counted read there for the last time, and nowhere else in it? */
static bool is_last_use(const FusionPlanner *p, const FusionLaunch *launch, uint32_t number, uint32_t k) {
  const uint32_t slot = fusion_words(p->plan, launch->inputs)[k];
  return slot != FUSION_NONE && p->last_use[slot] == number && p->times[slot] == 1u;
}

/* What each call of a joined launch may be given. */
static bool put_last_uses(FusionPlanner *p, FusionLaunch *launch, uint32_t number) {
  uint32_t input = 0, *uses = p->scratch;
  for (uint32_t i = 0; i < launch->op_count; i++) {
    const FusionOp *op = fusion_op_at(p, fusion_words(p->plan, launch->ops)[i]);
    uses[i] = 0;
    for (uint32_t k = 0; k < op->input_count; k++, input++)
      if (is_last_use(p, launch, number, input)) uses[i] |= 1u << k;
  }
  return put_words(p, uses, launch->op_count, &launch->last_uses);
}

/* Puts a slot into the list of those that nobody reads after launch `number`, once. */
static void let_go(const FusionPlanner *p, uint32_t slot, uint32_t number, uint32_t *count) {
  if (p->last_use[slot] != number || p->released[slot] == number) return;
  p->released[slot] = number;
  p->scratch[(*count)++] = slot;
}

/* What each launch reads for the last time: to be donated, and released after it. */
static bool put_releases(FusionPlanner *p) {
  FusionPlan *plan = p->plan;
  for (uint32_t i = 0; i < plan->launches.count; i++) {
    FusionLaunch *launch = &((FusionLaunch *)plan->launches.items)[i];
    const uint32_t inputs = launch->inputs, outputs = launch->outputs;
    uint32_t count = 0;
    count_reads(p, launch);
    if (launch->joined && !put_last_uses(p, launch, i + 1u)) return false;
    for (uint32_t k = 0; k < launch->input_count; k++) {
      const uint32_t slot = fusion_words(plan, inputs)[k];
      if (slot == FUSION_NONE) continue;
      if (k < 64u && is_last_use(p, launch, i + 1u, k)) launch->last_use |= UINT64_C(1) << k;
      let_go(p, slot, i + 1u, &count);
    }
    for (uint32_t k = 0; k < launch->output_count; k++) let_go(p, fusion_words(plan, outputs)[k], i + 1u, &count);
    launch->release_count = count;
    if (!put_words(p, p->scratch, count, &launch->releases)) return false;
  }
  return true;
}

/* -- the plan --------------------------------------------------------------------------------- */

static void *part(char **at, uint64_t bytes) {
  void *memory = *at;
  *at += (bytes + 15u) / 16u * 16u;
  return memory;
}

static bool take_memory(FusionPlanner *p) {
  const uint64_t n = p->op_count, values = p->queue->values.count, slots = p->queue->slots.count;
  const uint64_t words = 5u * n + 4u * values + 2u * slots + (2u * n + slots + values);
  p->bytes = n * sizeof(FusionGroup) + words * 4u + 4u * n + 17u * 16u;
  p->memory = p->decorator->host->allocate(p->bytes);
  if (!p->memory) return false;
  memset(p->memory, 0, p->bytes);
  char *at = (char *)p->memory;
  p->groups = (FusionGroup *)part(&at, n * sizeof(FusionGroup));
  p->group_of = (uint32_t *)part(&at, n * 4u);
  p->next_member = (uint32_t *)part(&at, n * 4u);
  p->last_member = (uint32_t *)part(&at, n * 4u);
  p->joined = (uint32_t *)part(&at, n * 4u);
  p->visited = (uint32_t *)part(&at, n * 4u);
  p->first_reader = (uint32_t *)part(&at, values * 4u);
  p->last_use = (uint32_t *)part(&at, values * 4u);
  p->times = (uint32_t *)part(&at, values * 4u);
  p->released = (uint32_t *)part(&at, values * 4u);
  p->next_reader = (uint32_t *)part(&at, slots * 4u);
  p->reader = (uint32_t *)part(&at, slots * 4u);
  p->scratch = (uint32_t *)part(&at, (2u * n + slots + values) * 4u);
  p->role = (uint8_t *)part(&at, n);
  p->needed = (uint8_t *)part(&at, n);
  p->product = (uint8_t *)part(&at, n);
  p->emitted = (uint8_t *)part(&at, n);
  return true;
}

static FusionPlan *plan_new(const FusionQueue *queue, uint64_t hash) {
  const BurnHost *host = queue->decorator->host;
  FusionPlan *plan = (FusionPlan *)host->allocate(sizeof *plan);
  if (!plan) return NULL;
  *plan = (FusionPlan){.key_count = queue->key.count, .hash = hash};
  atomic_init(&plan->references, 1u);
  atomic_init(&plan->is_busy, 0u);
  plan->key = (uint32_t *)host->allocate(queue->key.count * sizeof *plan->key);
  if (!plan->key) {
    host->free(plan, sizeof *plan);
    return NULL;
  }
  memcpy(plan->key, queue->key.items, queue->key.count * sizeof *plan->key);
  return plan;
}

void burn__fusion_plan_release(FusionDecorator *decorator, FusionPlan *plan) {
  if (!plan || atomic_fetch_sub_explicit(&plan->references, 1u, memory_order_acq_rel) != 1u) return;
  burn__fusion_replay_free(decorator, plan);
  for (uint32_t i = 0; i < plan->launches.count; i++)
    if (fusion_launches(plan)[i].kernel)
      decorator->fused->release(decorator->fused_self, fusion_launches(plan)[i].kernel);
  burn__fusion_list_free(decorator, &plan->launches, sizeof(FusionLaunch));
  burn__fusion_list_free(decorator, &plan->words, sizeof(uint32_t));
  burn__fusion_list_free(decorator, &plan->folds, sizeof(FusionFold));
  decorator->host->free(plan->key, plan->key_count * sizeof *plan->key);
  decorator->host->free(plan, sizeof *plan);
}

/* Every refusal takes at least one role away, so this ends. */
static bool make_launches(FusionPlanner *p) {
  find_needed(p);
  for (uint32_t i = 0; i < p->op_count; i++)
    if (p->needed[i]) p->role[i] = (uint8_t)burn__fusion_role(p->decorator, p->queue, fusion_op_at(p, i));
  if (!burn__fusion_fold_casts(p->queue, p->plan, p->needed, p->role)) return false;
  if (p->plan->folds.count > 0) find_needed(p);
  burn__fusion_list_readers(p);
  for (uint32_t i = 0; i < p->op_count; i++)
    if (p->needed[i] && p->role[i] == BURN_FUSED_NO)
      p->product[i] = burn__fusion_takes_epilogue(p->decorator, p->queue, fusion_op_at(p, i));
  Outcome outcome = AGAIN;
  while (outcome == AGAIN) {
    make_groups(p);
    find_epilogues(p);
    outcome = emit_all(p);
    release_kernels(p);
  }
  return outcome == DONE && put_releases(p);
}

FusionPlan *burn__fusion_plan_build(FusionQueue *queue, uint64_t hash) {
  FusionPlanner p = {.queue = queue, .decorator = queue->decorator, .op_count = queue->ops.count};
  p.plan = plan_new(queue, hash);
  if (!p.plan) return NULL;
  const bool ready = take_memory(&p) && make_launches(&p);
  queue->decorator->host->free(p.memory, p.bytes);
  if (ready) return p.plan;
  burn__fusion_undo_folds(queue, p.plan);
  burn__fusion_plan_release(queue->decorator, p.plan);
  return NULL;
}
