/* fused_plan.c - what a body computes where: its space, which values there is one of per row (column; at all), and the
 * loops between the reductions. */
#include <burn/common/fused_plan.h>

#include <string.h>

#define CHEAP 2 /* steps that are rather done again than kept */

typedef BurnCommonFusedPlan Plan;
typedef BurnCommonFusedValue Value;

/* -- the ops ---------------------------------------------------------------------------------- */

enum { LIGHT = 0, HEAVY = 1 };

static const struct {
  uint8_t form, weight;
} ops[BURN_OP_LIMIT] = {
#define BURN_FUSED_OP(form, weight, name) [BURN_OP_##name] = {BURN_COMMON_FORM_##form, weight},
#include "fused_ops.def"
};

BurnCommonForm burn_common_fused_form(uint32_t op) {
  return op < BURN_OP_LIMIT ? (BurnCommonForm)ops[op].form : BURN_COMMON_FORM_NONE;
}

bool burn_common_fused_is_heavy(uint32_t op) { return op < BURN_OP_LIMIT && ops[op].weight == HEAVY; }

static bool reduces(BurnCommonForm form) {
  return form == BURN_COMMON_FORM_REDUCE || form == BURN_COMMON_FORM_REDUCE_ALL;
}
static bool is_random(BurnCommonForm form) {
  return form == BURN_COMMON_FORM_DROPOUT || form == BURN_COMMON_FORM_UNIFORM || form == BURN_COMMON_FORM_BERNOULLI;
}

/* -- roles ------------------------------------------------------------------------------------ */

static bool is_half(BurnDType dtype) { return dtype == BURN_DTYPE_F16 || dtype == BURN_DTYPE_BF16; }
static bool is_float(BurnDType dtype) { return dtype == BURN_DTYPE_F32 || is_half(dtype); }
static bool is_integer(BurnDType dtype) { return burn_dtype_kind(dtype) == BURN_KIND_INT; }

/* A cast between dtypes that code has, or from an integer that fits into an f32 as the single op would put it there. */
static bool can_cast(BurnDType from, BurnDType to, bool has_f64, bool has_integers) {
  const bool is_small = from == BURN_DTYPE_BOOL || from == BURN_DTYPE_U8 || from == BURN_DTYPE_I8 ||
                        from == BURN_DTYPE_I16; /* each number of it is one of f32 */
  if (has_integers) return has_f64 || (from != BURN_DTYPE_F64 && to != BURN_DTYPE_F64);
  if (from == BURN_DTYPE_F64) return has_f64 && (is_float(to) || to == BURN_DTYPE_BOOL || to == BURN_DTYPE_F64);
  if (to == BURN_DTYPE_F64) return has_f64 && (is_float(from) || is_small);
  if (to == BURN_DTYPE_F32 || to == BURN_DTYPE_BOOL) return true;
  return is_half(to) && (is_float(from) || is_small);
}

static bool dtypes_fit(const BurnFusedStep *step, BurnCommonForm form, const BurnTensorDesc *inputs, BurnDType output,
                       const BurnCommonFusedRules *rules) {
  const BurnDType first = step->input_count > 0 ? inputs[0].dtype : output;
  const BurnDType second = step->input_count > 1 ? inputs[1].dtype : first;
  const bool is_computed =
      is_float(first) || (rules->has_f64 && first == BURN_DTYPE_F64) || (rules->has_integers && is_integer(first));
  const bool is_compared = is_computed || (rules->has_integers && first == BURN_DTYPE_BOOL);
  switch (form) {
    case BURN_COMMON_FORM_NONE:
      return false;
    case BURN_COMMON_FORM_LOGIC:
    case BURN_COMMON_FORM_LOGIC_NOT:
      return first == BURN_DTYPE_BOOL;
    case BURN_COMMON_FORM_CAST:
      return can_cast(first, output, rules->has_f64, rules->has_integers);
    case BURN_COMMON_FORM_EXPAND:
      return is_computed || first == BURN_DTYPE_BOOL;
    case BURN_COMMON_FORM_WHERE:
    case BURN_COMMON_FORM_FILL:
      return is_compared && second == BURN_DTYPE_BOOL;
    case BURN_COMMON_FORM_COMPARE:
    case BURN_COMMON_FORM_COMPARE_SCALAR:
      return is_compared && second == first;
    case BURN_COMMON_FORM_INTEGERS:
      return is_computed && is_integer(first) && second == first;
    case BURN_COMMON_FORM_UNIFORM:
      return output == BURN_DTYPE_F32;
    case BURN_COMMON_FORM_BERNOULLI:
      return output == BURN_DTYPE_F32 || output == BURN_DTYPE_BOOL;
    case BURN_COMMON_FORM_CREATE:
      return output == BURN_DTYPE_F32 || output == BURN_DTYPE_BOOL || (rules->has_integers && is_integer(output));
    case BURN_COMMON_FORM_DROPOUT:
      return is_float(first);
    default:
      return is_computed && second == first;
  }
}

/* A cast that changes nothing in code, which has halves, and integers that it does not compute in, as the f32 that they
 * are. */
static bool cast_is_nothing(BurnDType from, BurnDType to, bool has_integers) {
  return from == to || (to == BURN_DTYPE_F32 && (is_half(from) || (is_integer(from) && !has_integers)));
}

/* Windows that lie beside each other and cover the plane, as large as their distance. */
static bool are_tiles(const BurnFusedStep *step, const BurnTensorDesc *windows, const BurnTensorDesc *plane) {
  const BurnAttrs_avg_pool2d_backward *mean = (const BurnAttrs_avg_pool2d_backward *)(const void *)step->attrs;
  bool fits = windows->rank == 4 && plane->rank == 4 && burn_desc_count(windows) > 0;
  for (uint32_t axis = 2; axis < 4 && fits; axis++) {
    const int64_t size = plane->shape[axis] / windows->shape[axis];
    fits = size * windows->shape[axis] == plane->shape[axis] && size > 0;
    if (step->op != BURN_OP_avg_pool2d_backward) continue;
    fits = fits && mean->kernel_size.value.i64s[axis - 2] == size && mean->stride.value.i64s[axis - 2] == size &&
           mean->padding.value.i64s[axis - 2] == 0;
  }
  return fits;
}

uint32_t burn_common_fused_role(const BurnFusedStep *step, const BurnTensorDesc *inputs, const BurnTensorDesc *output,
                                const BurnCommonFusedRules *rules) {
  const BurnCommonForm form = burn_common_fused_form(step->op);
  if (!dtypes_fit(step, form, inputs, output->dtype, rules)) return BURN_FUSED_NO;
  if (reduces(form)) return BURN_FUSED_REDUCE;
  if (form == BURN_COMMON_FORM_SPREAD)
    return rules->spreads && are_tiles(step, inputs, output) ? BURN_FUSED_EXPAND : BURN_FUSED_NO;
  return form == BURN_COMMON_FORM_EXPAND ? BURN_FUSED_EXPAND : BURN_FUSED_ELEMENTWISE;
}

/* -- values and shapes ------------------------------------------------------------------------ */

static bool has_shape_of(const BurnTensorDesc *a, const BurnTensorDesc *b) {
  return a->rank == b->rank && memcmp(a->shape, b->shape, a->rank * sizeof *a->shape) == 0;
}

static BurnCommonForm form_of(const Plan *plan, uint32_t v) { return (BurnCommonForm)plan->values[v].form; }

/* -- the space -------------------------------------------------------------------------------- */

/* Marks the values that the outputs need. */
static void find_needed(const BurnFusedBody *body, bool *needed) {
  memset(needed, 0, BURN_COMMON_FUSED_VALUES * sizeof *needed);
  for (uint32_t o = 0; o < body->output_count; o++) needed[body->outputs[o]] = true;
  for (uint32_t v = body->input_count + body->step_count; v-- > body->input_count;) {
    const BurnFusedStep *step = &body->steps[v - body->input_count];
    for (uint32_t i = 0; i < step->input_count && needed[v]; i++) {
      if (step->inputs[i] < v) needed[step->inputs[i]] = true;
    }
  }
}

/* Sets the region by the first reduction that is needed. */
static void choose_region(Plan *plan) {
  const BurnFusedBody *body = plan->body;
  bool needed[BURN_COMMON_FUSED_VALUES];
  find_needed(body, needed);
  plan->region = BURN_COMMON_REGION_ELEMENTS;
  plan->space = body->values[body->outputs[0]];
  for (uint32_t number = 0; number < body->step_count; number++) {
    const BurnFusedStep *step = &body->steps[number];
    const BurnCommonForm form = burn_common_fused_form(step->op);
    if (!reduces(form) || !needed[body->input_count + number]) continue;
    plan->space = body->values[step->inputs[0]];
    plan->region = BURN_COMMON_REGION_ALL;
    if (form == BURN_COMMON_FORM_REDUCE_ALL) return;
    plan->axis = (uint32_t)step->attrs[0].value.i64;
    plan->region = plan->axis + 1 == plan->space.rank ? BURN_COMMON_REGION_LAST : BURN_COMMON_REGION_FIRST_AXIS;
    return;
  }
}

static int64_t size_before(const BurnTensorDesc *desc, uint32_t axis) {
  int64_t size = 1;
  for (uint32_t i = 0; i < axis; i++) size *= desc->shape[i];
  return size;
}

static void check_space(Plan *plan) {
  if (plan->region == BURN_COMMON_REGION_ELEMENTS) return;
  const int64_t count = burn_desc_count(&plan->space);
  const int64_t reduced = plan->region == BURN_COMMON_REGION_ALL ? count : plan->space.shape[plan->axis];
  if (count == 0 || reduced < 2) burn_common_fused_refuse(plan, "nothing to reduce");
  if (plan->region == BURN_COMMON_REGION_FIRST_AXIS && !plan->rules->has_middle_axis &&
      size_before(&plan->space, plan->axis) != 1) {
    burn_common_fused_refuse(plan, "a reduction along a middle axis");
  }
  if (plan->space.dtype == BURN_DTYPE_BOOL) burn_common_fused_refuse(plan, "a reduction of bools");
}

/* True if there is one number per row (column; one number) of a tensor of this shape. */
static bool is_reduced(const Plan *plan, const BurnTensorDesc *desc) {
  if (plan->region == BURN_COMMON_REGION_ELEMENTS) return false;
  if (plan->region == BURN_COMMON_REGION_ALL) return burn_desc_count(desc) == 1;
  const uint32_t missing = plan->space.rank - desc->rank;
  return plan->axis < missing || desc->shape[plan->axis - missing] == 1;
}

/* -- values ----------------------------------------------------------------------------------- */

static void check_reduction(Plan *plan, const BurnFusedStep *step) {
  const BurnTensorDesc *operand = &plan->body->values[step->inputs[0]];
  const bool whole = burn_common_fused_form(step->op) == BURN_COMMON_FORM_REDUCE_ALL;
  const bool of_axis = !whole && step->attrs[0].value.i64 == plan->axis && plan->space.shape[plan->axis] > 1;
  const bool is_all = of_axis && burn_desc_count(operand) == operand->shape[plan->axis];
  const bool fits = plan->region == BURN_COMMON_REGION_ALL ? whole || is_all : of_axis;
  if (!has_shape_of(operand, &plan->space) || !fits) {
    burn_common_fused_refuse(plan, "reductions of several shapes or along several axes");
  }
}

static void check_step(Plan *plan, uint32_t v) {
  const BurnFusedBody *body = plan->body;
  const BurnFusedStep *step = burn_common_fused_step(plan, v);
  const BurnCommonForm form = form_of(plan, v);
  BurnTensorDesc inputs[3];
  if (form == BURN_COMMON_FORM_NONE || step->input_count > 3 || step->output_count > 1) {
    burn_common_fused_refuse(plan, "a step that no code is made of");
    return;
  }
  for (uint32_t i = 0; i < step->input_count; i++) {
    if (step->inputs[i] >= v) {
      burn_common_fused_refuse(plan, "a step that lacks an input");
      return;
    }
    inputs[i] = body->values[step->inputs[i]];
  }
  if (!dtypes_fit(step, form, inputs, body->values[v].dtype, plan->rules))
    burn_common_fused_refuse(plan, "a dtype that code has not");
  if (body->values[v].rank > plan->space.rank) burn_common_fused_refuse(plan, "a value of higher rank than the result");
  if (reduces(form)) check_reduction(plan, step);
  if (form == BURN_COMMON_FORM_SPREAD &&
      (plan->region != BURN_COMMON_REGION_ELEMENTS || burn_common_fused_is_step(plan, step->inputs[0])))
    burn_common_fused_refuse(plan, "windows beside reductions, or whose gradients the body computes");
  if (is_random(form) && !has_shape_of(&body->values[v], &plan->space))
    burn_common_fused_refuse(plan, "random numbers of another shape");
}

/* Stage, loop and cost of a step from those of its inputs. */
static void place_step(Plan *plan, uint32_t v) {
  Value *value = &plan->values[v];
  const BurnFusedStep *step = burn_common_fused_step(plan, v);
  const BurnCommonForm form = form_of(plan, v);
  uint32_t cost = burn_common_fused_is_heavy(step->op) || is_random(form) ? 2 * CHEAP : 1;
  value->is_reduction = reduces(form);
  for (uint32_t i = 0; i < step->input_count; i++) {
    const Value *input = &plan->values[burn_common_fused_input(plan, step, i)];
    const uint32_t stage = input->stage + (value->is_reduction ? 1u : 0u);
    if (stage > value->stage) value->stage = (uint8_t)stage;
    if (!input->is_reduced) cost += input->cost;
  }
  value->cost = (uint8_t)(cost > 2 * CHEAP ? 2 * CHEAP : cost);
  value->loop = (uint8_t)(2 * value->stage + (value->is_reduced ? 0 : 1));
  if (form == BURN_COMMON_FORM_EXPAND ||
      (form == BURN_COMMON_FORM_CAST &&
       cast_is_nothing(plan->body->values[step->inputs[0]].dtype, value->dtype, plan->rules->has_integers))) {
    value->same_as = burn_common_fused_input(plan, step, 0);
  }
  if (2 * (uint32_t)value->stage + 2 > plan->rules->max_loops)
    burn_common_fused_refuse(plan, "too many reductions one after the other");
  if (!value->is_reduced && value->stage > 0 && plan->region != BURN_COMMON_REGION_LAST)
    burn_common_fused_refuse(plan, "a result that is needed for all elements");
}

static void find_values(Plan *plan) {
  const BurnFusedBody *body = plan->body;
  for (uint32_t v = 0; v < plan->value_count && !plan->refusal; v++) {
    Value *value = &plan->values[v];
    memset(value, 0, sizeof *value);
    value->dtype = body->values[v].dtype;
    value->same_as = v;
    value->folded = -1;
    value->is_reduced = is_reduced(plan, &body->values[v]);
    if (!burn_common_fused_is_step(plan, v)) continue;
    value->form = (uint8_t)burn_common_fused_form(burn_common_fused_step(plan, v)->op);
    check_step(plan, v);
    if (!plan->refusal) place_step(plan, v);
  }
}

/* Steps that are nothing in code and yet save a call of their own, which reads and writes memory. */
static uint32_t count_casts(const Plan *plan) {
  bool needed[BURN_COMMON_FUSED_VALUES];
  uint32_t count = 0;
  find_needed(plan->body, needed);
  for (uint32_t v = plan->body->input_count; v < plan->value_count && plan->rules->counts_casts; v++) {
    if (!needed[v] || form_of(plan, v) != BURN_COMMON_FORM_CAST || plan->values[v].same_as == v) continue;
    count += plan->body->values[burn_common_fused_step(plan, v)->inputs[0]].dtype != plan->values[v].dtype;
  }
  return count;
}

/* Marks what the outputs need; returns how many steps do something. */
static uint32_t find_live(Plan *plan) {
  const BurnFusedBody *body = plan->body;
  uint32_t working = 0;
  for (uint32_t o = 0; o < body->output_count; o++) plan->values[plan->values[body->outputs[o]].same_as].is_live = true;
  for (uint32_t v = plan->value_count; v-- > body->input_count;) {
    const BurnFusedStep *step = burn_common_fused_step(plan, v);
    if (plan->values[v].same_as != v || !plan->values[v].is_live) continue;
    working++;
    for (uint32_t i = 0; i < step->input_count; i++)
      plan->values[burn_common_fused_input(plan, step, i)].is_live = true;
  }
  return working;
}

/* -- loops --------------------------------------------------------------------------------- */

uint32_t burn_common_fused_loop_of_output(const Plan *plan, uint32_t o) {
  const uint32_t v = plan->body->outputs[o];
  const uint32_t stage = plan->values[plan->values[v].same_as].stage;
  return 2 * stage + (plan->values[v].is_reduced ? 0 : 1);
}

bool burn_common_fused_copies(const Plan *plan, uint32_t operand) {
  if (burn_common_fused_is_step(plan, operand)) return plan->values[operand].is_reduced;
  return plan->values[operand].dtype != BURN_DTYPE_F32 || !has_shape_of(&plan->body->values[operand], &plan->space);
}

bool burn_common_fused_reduces(const Plan *plan, uint32_t v, uint32_t loop) {
  const Value *value = &plan->values[v];
  return value->is_reduction && value->is_live && 2u * value->stage - 1u == loop;
}

/* A value from an earlier loop that is not computed again. What there is little of and is not in a loop of its
 * own (columns, one number) is computed wherever it is needed. */
static bool must_keep(const Plan *plan, uint32_t v) {
  if (plan->values[v].is_reduced) return plan->region == BURN_COMMON_REGION_LAST || plan->values[v].stage > 0;
  return plan->values[v].cost > CHEAP;
}

bool burn_common_fused_computes(const Plan *plan, uint32_t v, uint32_t loop) {
  if (!burn_common_fused_is_step(plan, v) || plan->values[v].is_reduction) return false;
  return plan->values[v].loop == loop || !(plan->values[v].is_kept || must_keep(plan, v));
}

static void count_roots(Plan *plan, uint32_t loop) {
  const BurnFusedBody *body = plan->body;
  for (uint32_t o = 0; o < body->output_count; o++) {
    if (burn_common_fused_loop_of_output(plan, o) == loop) plan->values[plan->values[body->outputs[o]].same_as].uses++;
  }
  for (uint32_t v = body->input_count; v < plan->value_count; v++) {
    if (plan->values[v].is_kept && plan->values[v].loop == loop) plan->values[v].uses++;
    if (!burn_common_fused_reduces(plan, v, loop)) continue;
    const uint32_t operand = burn_common_fused_input(plan, burn_common_fused_step(plan, v), 0);
    if (!plan->rules->reduces_memory || burn_common_fused_copies(plan, operand)) plan->values[operand].uses++;
  }
}

void burn_common_fused_count_uses(Plan *plan, uint32_t loop) {
  for (uint32_t v = 0; v < plan->value_count; v++) plan->values[v].uses = 0;
  count_roots(plan, loop);
  for (uint32_t v = plan->value_count; v-- > plan->body->input_count;) {
    const BurnFusedStep *step = burn_common_fused_step(plan, v);
    if (plan->values[v].same_as != v || plan->values[v].uses == 0 || !burn_common_fused_computes(plan, v, loop))
      continue;
    for (uint32_t i = 0; i < step->input_count; i++) plan->values[burn_common_fused_input(plan, step, i)].uses++;
  }
}

static uint32_t take(Plan *plan, uint32_t *count, uint32_t most) {
  if (*count == most) {
    burn_common_fused_refuse(plan, "too many values wait for a reduction");
    return 0;
  }
  return (*count)++;
}

static void give_place(Plan *plan, uint32_t v) {
  Value *value = &plan->values[v];
  value->number = (uint8_t)(value->is_reduced ? take(plan, &plan->row_count, plan->rules->max_rows)
                                              : take(plan, &plan->buffer_count, plan->rules->max_buffers));
}

static void keep(Plan *plan, uint32_t v) {
  if (plan->values[v].is_kept) return;
  plan->values[v].is_kept = true;
  give_place(plan, v);
}

/* Gives the operand of a reduction a buffer, unless it is read from an input. */
static void fold_from_memory(Plan *plan, uint32_t operand) {
  Value *value = &plan->values[operand];
  if (burn_common_fused_copies(plan, operand)) {
    if (value->folded < 0) value->folded = (int32_t)take(plan, &plan->buffer_count, plan->rules->max_buffers);
  } else if (burn_common_fused_is_step(plan, operand)) {
    keep(plan, operand);
    value->folded = value->number;
  }
}

/* Decides what is kept: from the last loop to the first, as what is kept for a later one makes work in an earlier one.
 */
static void choose_kept(Plan *plan) {
  for (uint32_t v = plan->body->input_count; v < plan->value_count; v++) {
    if (!plan->values[v].is_reduction || !plan->values[v].is_live) continue;
    give_place(plan, v);
    if (plan->rules->reduces_memory) {
      fold_from_memory(plan, burn_common_fused_input(plan, burn_common_fused_step(plan, v), 0));
    }
  }
  for (uint32_t loop = plan->loop_count; loop-- > 0 && !plan->refusal;) {
    burn_common_fused_count_uses(plan, loop);
    for (uint32_t v = plan->body->input_count; v < plan->value_count; v++) {
      const Value *value = &plan->values[v];
      if (value->uses > 0 && !value->is_reduction && !burn_common_fused_computes(plan, v, loop)) keep(plan, v);
    }
  }
}

static uint32_t count_loops(const Plan *plan) {
  uint32_t count = 0;
  for (uint32_t v = 0; v < plan->value_count; v++) {
    if (plan->values[v].is_live && plan->values[v].loop + 1u > count) count = plan->values[v].loop + 1u;
  }
  for (uint32_t o = 0; o < plan->body->output_count; o++) {
    const uint32_t loop = burn_common_fused_loop_of_output(plan, o);
    if (loop + 1 > count) count = loop + 1;
  }
  return count;
}

/* -- the body --------------------------------------------------------------------------------- */

static void check_outputs(Plan *plan) {
  const BurnFusedBody *body = plan->body;
  BurnTensorDesc reduced = plan->space;
  if (plan->region == BURN_COMMON_REGION_ALL) {
    for (uint32_t i = 0; i < reduced.rank; i++) reduced.shape[i] = 1;
  } else if (plan->region != BURN_COMMON_REGION_ELEMENTS) {
    reduced.shape[plan->axis] = 1;
  }
  for (uint32_t o = 0; o < body->output_count; o++) {
    const BurnTensorDesc *desc = &body->values[body->outputs[o]];
    const bool of_one = plan->region == BURN_COMMON_REGION_ALL && burn_desc_count(desc) == 1;
    plan->output_is_reduced[o] = plan->values[body->outputs[o]].is_reduced;
    if (!of_one && !has_shape_of(desc, plan->output_is_reduced[o] ? &reduced : &plan->space)) {
      burn_common_fused_refuse(plan, "outputs of several shapes");
    }
  }
}

/* A single row is reduced by many threads, if nothing but its total is wanted of it. */
static void find_values_of_row(Plan *plan) {
  const int64_t length = plan->space.shape[plan->axis];
  if (burn_desc_count(&plan->space) == length) {
    plan->region = BURN_COMMON_REGION_ALL;
    find_values(plan);
    if (!plan->refusal) return;
    plan->refusal = NULL;
    plan->region = BURN_COMMON_REGION_LAST;
  }
  if (length > plan->rules->longest_row) burn_common_fused_refuse(plan, "rows that are too long");
  find_values(plan);
}

static void plan_loops(Plan *plan) {
  choose_region(plan);
  check_space(plan);
  if (!plan->refusal && plan->region == BURN_COMMON_REGION_LAST) {
    find_values_of_row(plan);
  } else if (!plan->refusal) {
    find_values(plan);
  }
  if (!plan->refusal) check_outputs(plan);
  if (!plan->refusal && find_live(plan) + count_casts(plan) < (plan->rules->follows_product ? 1u : 2u))
    burn_common_fused_refuse(plan, plan->rules->follows_product ? "no step" : "less than two steps");
  if (plan->refusal) return;
  plan->loop_count = count_loops(plan);
  choose_kept(plan);
}

void burn_common_fused_plan(Plan *plan, const BurnCommonFusedRules *rules, const BurnFusedBody *body) {
  plan->body = body;
  plan->rules = rules;
  plan->refusal = NULL;
  plan->axis = 0;
  plan->value_count = body->input_count + body->step_count;
  plan->loop_count = plan->buffer_count = plan->row_count = 0;
  if (body->input_count > rules->max_inputs || body->step_count > rules->max_steps ||
      body->output_count > rules->max_outputs) {
    burn_common_fused_refuse(plan, "too many inputs, steps or outputs");
  } else if (body->output_count == 0) {
    burn_common_fused_refuse(plan, "no outputs");
  } else {
    plan_loops(plan);
  }
}
