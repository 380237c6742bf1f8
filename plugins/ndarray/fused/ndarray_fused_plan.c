/* ndarray_fused_plan.c - what a body computes where: its space, which values there is one of per row (or column, or at
 * all), and the programs between the reductions.
 *
 * The stage of a value is the number of reductions that come before it one after the other. Values of stage k are
 * computed by program 2k + 1, or, if there is one per row, by program 2k before it. */
#include "ndarray_fused_compile.h"

#include <string.h>

#define CHEAP 2           /* steps that are rather done again than kept */
#define LONGEST_ROW 65536 /* elements that a block of rows has at most, if it has one row */

void nd_fused_refuse(NdFusedCompiler *c, const char *reason) {
  if (!c->refusal) c->refusal = reason;
}

static bool has_shape_of(const BurnTensorDesc *a, const BurnTensorDesc *b) {
  return a->rank == b->rank && memcmp(a->shape, b->shape, a->rank * sizeof *a->shape) == 0;
}

static const BurnFusedStep *step_of(const NdFusedCompiler *c, uint32_t v) {
  return &c->body->steps[v - c->body->input_count];
}
static bool is_step(const NdFusedCompiler *c, uint32_t v) { return v >= c->body->input_count; }
static bool is_random(NdFusedForm form) {
  return form == ND_FORM_DROPOUT || form == ND_FORM_UNIFORM || form == ND_FORM_BERNOULLI;
}
static NdFusedForm form_of(const NdFusedCompiler *c, uint32_t v) {
  return (NdFusedForm)nd_fused_op(step_of(c, v)->op).form;
}

/* -- the space -------------------------------------------------------------------------------- */

/* Marks the values that the outputs need. */
static void find_needed(const BurnFusedBody *body, bool *needed) {
  memset(needed, 0, ND_FUSED_VALUES * sizeof *needed);
  for (uint32_t o = 0; o < body->output_count; o++) needed[body->outputs[o]] = true;
  for (uint32_t v = body->input_count + body->step_count; v-- > body->input_count;) {
    const BurnFusedStep *step = &body->steps[v - body->input_count];
    for (uint32_t i = 0; i < step->input_count && needed[v]; i++) {
      if (step->inputs[i] < v) needed[step->inputs[i]] = true;
    }
  }
}

/* Sets the region by the first reduction that is needed. */
static void choose_region(NdFusedCompiler *c) {
  const BurnFusedBody *body = c->body;
  BurnFusedKernel *kernel = c->kernel;
  bool needed[ND_FUSED_VALUES];
  find_needed(body, needed);
  kernel->region = ND_FUSED_ELEMENTS;
  kernel->space = body->values[body->outputs[0]];
  for (uint32_t number = 0; number < body->step_count; number++) {
    const BurnFusedStep *step = &body->steps[number];
    const NdFusedForm form = (NdFusedForm)nd_fused_op(step->op).form;
    if ((form != ND_FORM_REDUCE && form != ND_FORM_REDUCE_ALL) || !needed[body->input_count + number]) continue;
    kernel->space = body->values[step->inputs[0]];
    kernel->region = ND_FUSED_ALL;
    if (form == ND_FORM_REDUCE_ALL) return;
    kernel->axis = (uint32_t)step->attrs[0].value.i64;
    kernel->region = kernel->axis + 1 == kernel->space.rank ? ND_FUSED_LAST : ND_FUSED_FIRST_AXIS;
    return;
  }
}

static int64_t size_before(const BurnTensorDesc *desc, uint32_t axis) {
  int64_t size = 1;
  for (uint32_t i = 0; i < axis; i++) size *= desc->shape[i];
  return size;
}

static void check_space(NdFusedCompiler *c) {
  const BurnFusedKernel *kernel = c->kernel;
  if (kernel->region == ND_FUSED_ELEMENTS) return;
  const int64_t count = burn_desc_count(&kernel->space);
  const int64_t reduced = kernel->region == ND_FUSED_ALL ? count : kernel->space.shape[kernel->axis];
  if (count == 0 || reduced < 2) nd_fused_refuse(c, "nothing to reduce");
  if (kernel->region == ND_FUSED_FIRST_AXIS && size_before(&kernel->space, kernel->axis) != 1) {
    nd_fused_refuse(c, "a reduction along a middle axis");
  }
  if (kernel->space.dtype == BURN_DTYPE_BOOL) nd_fused_refuse(c, "a reduction of bools");
}

/* True if there is one number per row (column; one number) of a tensor of this shape. */
static bool is_reduced(const BurnFusedKernel *kernel, const BurnTensorDesc *desc) {
  if (kernel->region == ND_FUSED_ELEMENTS) return false;
  if (kernel->region == ND_FUSED_ALL) return burn_desc_count(desc) == 1;
  const uint32_t missing = kernel->space.rank - desc->rank;
  return kernel->axis < missing || desc->shape[kernel->axis - missing] == 1;
}

/* -- values ----------------------------------------------------------------------------------- */

static void check_reduction(NdFusedCompiler *c, const BurnFusedStep *step) {
  const BurnFusedKernel *kernel = c->kernel;
  const BurnTensorDesc *operand = &c->body->values[step->inputs[0]];
  const bool whole = nd_fused_op(step->op).form == ND_FORM_REDUCE_ALL;
  const bool of_axis = !whole && step->attrs[0].value.i64 == kernel->axis && kernel->space.shape[kernel->axis] > 1;
  const bool is_all = of_axis && burn_desc_count(operand) == operand->shape[kernel->axis];
  const bool fits = kernel->region == ND_FUSED_ALL ? whole || is_all : of_axis;
  if (!has_shape_of(operand, &kernel->space) || !fits) {
    nd_fused_refuse(c, "reductions of several shapes or along several axes");
  }
}

static void check_step(NdFusedCompiler *c, uint32_t v) {
  const BurnFusedBody *body = c->body;
  const BurnFusedStep *step = step_of(c, v);
  const NdFusedForm form = form_of(c, v);
  BurnTensorDesc inputs[3];
  if (form == ND_FORM_NONE || step->input_count > 3) {
    nd_fused_refuse(c, "a step that the machine has not");
    return;
  }
  for (uint32_t i = 0; i < step->input_count; i++) {
    if (step->inputs[i] >= v) {
      nd_fused_refuse(c, "a step that lacks an input");
      return;
    }
    inputs[i] = body->values[step->inputs[i]];
  }
  if (!nd_fused_dtypes_fit(step, form, inputs, body->values[v].dtype))
    nd_fused_refuse(c, "a dtype that the machine has not");
  if (body->values[v].rank > c->kernel->space.rank) nd_fused_refuse(c, "a value of higher rank than the result");
  if (form == ND_FORM_REDUCE || form == ND_FORM_REDUCE_ALL) check_reduction(c, step);
  if (is_random(form) && !has_shape_of(&body->values[v], &c->kernel->space))
    nd_fused_refuse(c, "random numbers of another shape");
}

/* Stage, program and cost of a step from those of its inputs. */
static void place_step(NdFusedCompiler *c, uint32_t v) {
  NdFusedValue *value = &c->values[v];
  const BurnFusedStep *step = step_of(c, v);
  const NdFusedForm form = form_of(c, v);
  uint32_t cost = nd_fused_op(step->op).is_heavy || is_random(form) ? 2 * CHEAP : 1;
  value->is_reduction = form == ND_FORM_REDUCE || form == ND_FORM_REDUCE_ALL;
  for (uint32_t i = 0; i < step->input_count; i++) {
    const NdFusedValue *input = &c->values[nd_fused_input(c, step, i)];
    const uint32_t stage = input->stage + (value->is_reduction ? 1u : 0u);
    if (stage > value->stage) value->stage = (uint8_t)stage;
    if (!input->is_reduced) cost += input->cost;
  }
  value->cost = (uint8_t)(cost > 2 * CHEAP ? 2 * CHEAP : cost);
  value->program = (uint8_t)(2 * value->stage + (value->is_reduced ? 0 : 1));
  if (form == ND_FORM_EXPAND ||
      (form == ND_FORM_CAST && nd_fused_cast_is_nothing(c->body->values[step->inputs[0]].dtype, value->dtype))) {
    value->same_as = nd_fused_input(c, step, 0);
  }
  if (2 * (uint32_t)value->stage + 2 > ND_FUSED_PROGRAMS) nd_fused_refuse(c, "too many reductions one after the other");
  if (!value->is_reduced && value->stage > 0 && c->kernel->region != ND_FUSED_LAST)
    nd_fused_refuse(c, "a result that is needed for all elements");
}

static void find_values(NdFusedCompiler *c) {
  const BurnFusedBody *body = c->body;
  for (uint32_t v = 0; v < body->input_count + body->step_count && !c->refusal; v++) {
    NdFusedValue *value = &c->values[v];
    memset(value, 0, sizeof *value);
    value->dtype = body->values[v].dtype;
    value->same_as = v;
    value->slot = -1;
    value->folded = -1;
    value->is_reduced = is_reduced(c->kernel, &body->values[v]);
    if (is_step(c, v)) {
      check_step(c, v);
      if (!c->refusal) place_step(c, v);
    } else if (value->dtype == BURN_DTYPE_F32) {
      value->home = ND_FUSED_INPUT;
      value->number = (uint8_t)v;
      value->is_home = true;
    }
  }
}

/* Marks what the outputs need; returns how many steps do something. */
static uint32_t find_live(NdFusedCompiler *c) {
  const BurnFusedBody *body = c->body;
  uint32_t working = 0;
  for (uint32_t o = 0; o < body->output_count; o++) c->values[c->values[body->outputs[o]].same_as].is_live = true;
  for (uint32_t v = body->input_count + body->step_count; v-- > body->input_count;) {
    const BurnFusedStep *step = step_of(c, v);
    if (c->values[v].same_as != v || !c->values[v].is_live) continue;
    working++;
    for (uint32_t i = 0; i < step->input_count; i++) c->values[nd_fused_input(c, step, i)].is_live = true;
  }
  return working;
}

/* -- programs --------------------------------------------------------------------------------- */

uint32_t nd_fused_program_of_output(const NdFusedCompiler *c, uint32_t o) {
  const uint32_t v = c->body->outputs[o];
  const uint32_t stage = c->values[c->values[v].same_as].stage;
  return 2 * stage + (c->values[v].is_reduced ? 0 : 1);
}

bool nd_fused_copies_folded(const NdFusedCompiler *c, uint32_t operand) {
  if (is_step(c, operand)) return c->values[operand].is_reduced;
  return c->values[operand].dtype != BURN_DTYPE_F32 || !has_shape_of(&c->body->values[operand], &c->kernel->space);
}

/* A value from an earlier program that is not computed again. What there is little of and is not in a program of its
 * own (columns, one number) is computed wherever it is needed. */
static bool must_keep(const NdFusedCompiler *c, uint32_t v) {
  if (c->values[v].is_reduced) return c->kernel->region == ND_FUSED_LAST || c->values[v].stage > 0;
  return c->values[v].cost > CHEAP;
}

bool nd_fused_computes(const NdFusedCompiler *c, uint32_t v, uint32_t program) {
  if (!is_step(c, v) || c->values[v].is_reduction) return false;
  return c->values[v].program == program || !(c->values[v].is_kept || must_keep(c, v));
}

static void count_roots(NdFusedCompiler *c, uint32_t program) {
  const BurnFusedBody *body = c->body;
  for (uint32_t o = 0; o < body->output_count; o++) {
    if (nd_fused_program_of_output(c, o) == program) c->values[c->values[body->outputs[o]].same_as].uses++;
  }
  for (uint32_t v = body->input_count; v < body->input_count + body->step_count; v++) {
    const NdFusedValue *value = &c->values[v];
    if (value->is_kept && value->program == program) c->values[v].uses++;
    if (!value->is_reduction || !value->is_live || 2u * value->stage - 1u != program) continue;
    const uint32_t operand = nd_fused_input(c, step_of(c, v), 0);
    if (nd_fused_copies_folded(c, operand)) c->values[operand].uses++;
  }
}

void nd_fused_count_uses(NdFusedCompiler *c, uint32_t program) {
  const BurnFusedBody *body = c->body;
  const uint32_t count = body->input_count + body->step_count;
  for (uint32_t v = 0; v < count; v++) c->values[v].uses = 0;
  count_roots(c, program);
  for (uint32_t v = count; v-- > body->input_count;) {
    const BurnFusedStep *step = step_of(c, v);
    if (c->values[v].same_as != v || c->values[v].uses == 0 || !nd_fused_computes(c, v, program)) continue;
    for (uint32_t i = 0; i < step->input_count; i++) c->values[nd_fused_input(c, step, i)].uses++;
  }
}

static void keep(NdFusedCompiler *c, uint32_t v) {
  NdFusedValue *value = &c->values[v];
  BurnFusedKernel *kernel = c->kernel;
  if (value->is_kept) return;
  value->is_kept = true;
  value->home = value->is_reduced ? ND_FUSED_ROW : ND_FUSED_BUFFER;
  if (kernel->row_count == ND_FUSED_ROWS || kernel->buffer_count == ND_FUSED_BUFFERS) {
    nd_fused_refuse(c, "too many values wait for a reduction");
    return;
  }
  value->number = (uint8_t)(value->is_reduced ? kernel->row_count++ : kernel->buffer_count++);
}

/* Decides what is kept: from the last program to the first, as what is kept for a later one makes work in an earlier
 * one. */
static void choose_kept(NdFusedCompiler *c, uint32_t program_count) {
  const BurnFusedBody *body = c->body;
  for (uint32_t v = body->input_count; v < body->input_count + body->step_count; v++) {
    if (!c->values[v].is_reduction || !c->values[v].is_live) continue;
    const uint32_t operand = nd_fused_input(c, step_of(c, v), 0);
    keep(c, v);
    c->values[v].is_kept = false; /* no program computes it */
    c->values[v].is_home = true;
    const bool is_copied = nd_fused_copies_folded(c, operand);
    if (!is_copied && is_step(c, operand)) {
      keep(c, operand);
      c->values[operand].folded = c->values[operand].number;
    } else if (is_copied && c->values[operand].folded < 0) {
      if (c->kernel->buffer_count == ND_FUSED_BUFFERS) nd_fused_refuse(c, "too many values wait for a reduction");
      c->values[operand].folded = (int32_t)c->kernel->buffer_count++;
    }
  }
  for (uint32_t program = program_count; program-- > 0 && !c->refusal;) {
    nd_fused_count_uses(c, program);
    for (uint32_t v = body->input_count; v < body->input_count + body->step_count; v++) {
      const NdFusedValue *value = &c->values[v];
      if (value->uses > 0 && !value->is_reduction && !nd_fused_computes(c, v, program)) keep(c, v);
    }
  }
}

static uint32_t count_programs(const NdFusedCompiler *c) {
  uint32_t count = 0;
  for (uint32_t v = 0; v < c->body->input_count + c->body->step_count; v++) {
    if (c->values[v].is_live && c->values[v].program + 1u > count) count = c->values[v].program + 1u;
  }
  for (uint32_t o = 0; o < c->body->output_count; o++) {
    const uint32_t program = nd_fused_program_of_output(c, o);
    if (program + 1 > count) count = program + 1;
  }
  return count;
}

/* -- the body --------------------------------------------------------------------------------- */

static void check_outputs(NdFusedCompiler *c) {
  const BurnFusedBody *body = c->body;
  BurnTensorDesc reduced = c->kernel->space;
  if (c->kernel->region == ND_FUSED_ALL) {
    for (uint32_t i = 0; i < reduced.rank; i++) reduced.shape[i] = 1;
  } else if (c->kernel->region != ND_FUSED_ELEMENTS) {
    reduced.shape[c->kernel->axis] = 1;
  }
  for (uint32_t o = 0; o < body->output_count; o++) {
    const BurnTensorDesc *desc = &body->values[body->outputs[o]];
    const bool of_one = c->kernel->region == ND_FUSED_ALL && burn_desc_count(desc) == 1;
    c->kernel->output_is_reduced[o] = c->values[body->outputs[o]].is_reduced;
    c->kernel->outputs[o] = *desc;
    if (!of_one && !has_shape_of(desc, c->kernel->output_is_reduced[o] ? &reduced : &c->kernel->space)) {
      nd_fused_refuse(c, "outputs of several shapes");
    }
  }
}

/* A single row is reduced by many threads, if nothing but its total is wanted of it. */
static void find_values_of_row(NdFusedCompiler *c) {
  BurnFusedKernel *kernel = c->kernel;
  const int64_t length = kernel->space.shape[kernel->axis];
  if (burn_desc_count(&kernel->space) == length) {
    kernel->region = ND_FUSED_ALL;
    find_values(c);
    if (!c->refusal) return;
    c->refusal = NULL;
    kernel->region = ND_FUSED_LAST;
  }
  if (length > LONGEST_ROW) nd_fused_refuse(c, "rows that are too long");
  find_values(c);
}

void nd_fused_plan(NdFusedCompiler *c) {
  const BurnFusedBody *body = c->body;
  if (body->input_count > ND_FUSED_INPUTS || body->step_count > ND_FUSED_STEPS ||
      body->output_count > ND_FUSED_OUTPUTS) {
    nd_fused_refuse(c, "too many inputs, steps or outputs");
    return;
  }
  if (body->output_count == 0) {
    nd_fused_refuse(c, "no outputs");
    return;
  }
  choose_region(c);
  check_space(c);
  if (!c->refusal && c->kernel->region == ND_FUSED_LAST) {
    find_values_of_row(c);
  } else if (!c->refusal) {
    find_values(c);
  }
  if (!c->refusal) check_outputs(c);
  if (!c->refusal && find_live(c) < 2) nd_fused_refuse(c, "less than two steps");
  if (c->refusal) return;
  c->kernel->program_count = count_programs(c);
  choose_kept(c, c->kernel->program_count);
}
