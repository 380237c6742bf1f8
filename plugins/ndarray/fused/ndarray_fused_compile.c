/* ndarray_fused_compile.c - from a body to programs of the machine.
 *
 * A body without reductions is one program. Each reduction ends a program: what needs its result comes in a later one,
 * and values that both need are left in a buffer, or computed again if that is a step or two. What there is one of per
 * row is computed by programs of its own, over the rows of a block. <burn/common/fused_plan.h> decides all that.
 *
 * Steps are translated in their order. The last result stays in the machine's running value; one that is wanted later
 * than by the next instruction waits in a slot, or, if it is an f32 input, where it lies anyway. Slots are given out as
 * in linear-scan register allocation: a slot is free again after the last use of what is in it. */
#include "ndarray_fused_compile.h"

#include <stdio.h>
#include <string.h>

#define ND_GRAIN_CHEAP 16384 /* elements per chunk at least, as in ndarray_elementwise.c */
#define ND_GRAIN_HEAVY 4096

/* A program is a loop of the plan; a reduction follows its program. */
static const BurnCommonFusedRules rules = {.max_inputs = ND_FUSED_INPUTS,
                                           .max_steps = ND_FUSED_STEPS,
                                           .max_outputs = ND_FUSED_OUTPUTS,
                                           .max_loops = ND_FUSED_PROGRAMS,
                                           .max_buffers = ND_FUSED_BUFFERS,
                                           .max_rows = ND_FUSED_ROWS,
                                           .longest_row = ND_FUSED_LONGEST_ROW,
                                           .reduces_memory = true};
static const BurnCommonFusedRules after_rules = {.max_inputs = ND_FUSED_INPUTS,
                                                 .max_steps = ND_FUSED_STEPS,
                                                 .max_outputs = ND_FUSED_OUTPUTS,
                                                 .max_loops = ND_FUSED_PROGRAMS,
                                                 .follows_product = true};

/* -- lines ------------------------------------------------------------------------------------ */

static NdFusedLine *add_line(NdFusedCompiler *c, uint32_t opcode) {
  if (c->kernel->line_count + 1 >= ND_FUSED_LINES) {
    burn_common_fused_refuse(&c->plan, "too many instructions");
    c->kernel->line_count = 0;
  }
  NdFusedLine *line = &c->lines[c->kernel->line_count++];
  memset(line, 0, sizeof *line);
  line->opcode = (uint16_t)opcode;
  return line;
}

static void set_operand(NdFusedCompiler *c, NdFusedLine *line, NdFusedOperand kind, uint32_t number, uint32_t bytes) {
  line->operand = (uint8_t)kind;
  line->number = (uint8_t)number;
  line->bytes = (uint8_t)bytes;
  if (kind == ND_FUSED_INPUT) {
    c->last_read[number] = (uint16_t)c->kernel->line_count;
    c->kernel->input_bytes[number] = (uint8_t)bytes;
    if (c->program % 2 == 0) c->kernel->input_is_reduced[number] = true;
    if (c->program % 2 == 1) c->kernel->input_is_element[number] = true;
  }
}

static void set_scalar(NdFusedLine *line, NdFusedScalar scalar, uint32_t step) {
  line->scalar = (uint8_t)scalar;
  line->step = (uint8_t)step;
}

/* -- where values are ------------------------------------------------------------------------- */

static bool in_memory(const NdFusedCompiler *c, uint32_t v) { return c->values[v].is_home || c->values[v].slot >= 0; }

static void set_value_operand(NdFusedCompiler *c, NdFusedLine *line, uint32_t v) {
  if (c->values[v].slot >= 0) {
    set_operand(c, line, ND_FUSED_SLOT, (uint32_t)c->values[v].slot, 4);
  } else {
    set_operand(c, line, (NdFusedOperand)c->values[v].home, c->values[v].number, 4);
  }
}

/* Puts the running value into a slot. */
static void save(NdFusedCompiler *c) {
  uint32_t slot = 0;
  while (slot < ND_FUSED_SLOTS && ((c->slots >> slot) & 1u)) slot++;
  if (slot == ND_FUSED_SLOTS) {
    burn_common_fused_refuse(&c->plan, "too many values live at once");
    return;
  }
  c->slots |= 1u << slot;
  if (slot >= c->kernel->slot_count) c->kernel->slot_count = slot + 1;
  c->values[c->running].slot = (int32_t)slot;
  set_operand(c, add_line(c, ND_FUSED_store_f32), ND_FUSED_SLOT, slot, 4);
}

/* Before the running value changes: keeps it if it is still wanted. */
static void make_room(NdFusedCompiler *c) {
  const uint32_t v = c->running;
  if (v != ND_FUSED_NO_VALUE && c->plan.values[v].uses > 0 && !in_memory(c, v)) save(c);
  c->running = ND_FUSED_NO_VALUE;
}

static uint32_t load_of(BurnDType dtype) {
  switch (dtype) {
    case BURN_DTYPE_F16:
      return ND_FUSED_load_f16;
    case BURN_DTYPE_BF16:
      return ND_FUSED_load_bf16;
    case BURN_DTYPE_BOOL:
      return ND_FUSED_load_bool;
    case BURN_DTYPE_U8:
      return ND_FUSED_load_u8;
    case BURN_DTYPE_I8:
      return ND_FUSED_load_i8;
    case BURN_DTYPE_I16:
      return ND_FUSED_load_i16;
    case BURN_DTYPE_I32:
      return ND_FUSED_load_i32;
    case BURN_DTYPE_I64:
      return ND_FUSED_load_i64;
    default:
      return ND_FUSED_load_f32;
  }
}

static uint32_t store_of(BurnDType dtype) {
  switch (dtype) {
    case BURN_DTYPE_F16:
      return ND_FUSED_store_f16;
    case BURN_DTYPE_BF16:
      return ND_FUSED_store_bf16;
    case BURN_DTYPE_BOOL:
      return ND_FUSED_store_bool;
    default:
      return ND_FUSED_store_f32;
  }
}

/* Makes v the running value. */
static void bring(NdFusedCompiler *c, uint32_t v) {
  if (c->running == v) return;
  make_room(c);
  if (in_memory(c, v)) {
    set_value_operand(c, add_line(c, ND_FUSED_load_f32), v);
  } else {
    const BurnDType dtype = c->plan.values[v].dtype;
    set_operand(c, add_line(c, load_of(dtype)), ND_FUSED_INPUT, v, burn_dtype_bytes(dtype));
  }
  c->running = v;
}

/* Makes sure that v can be an operand; may change the running value. */
static void put_in_memory(NdFusedCompiler *c, uint32_t v) {
  if (in_memory(c, v)) return;
  bring(c, v);
  save(c);
}

/* Of two values makes one the running value and the other an operand; true if the running one is a. */
static bool bring_pair(NdFusedCompiler *c, uint32_t a, uint32_t b) {
  uint32_t first = a, other = b;
  if (c->running == b || (c->running != a && !in_memory(c, b))) {
    first = b;
    other = a;
  }
  if (in_memory(c, other) || first == other) {
    bring(c, first);
    return first == a;
  }
  put_in_memory(c, first); /* the other one has to be loaded, and then is the running value */
  bring(c, other);
  return other == a;
}

/* The instruction to come uses these values, of which the running one is lost then. */
static void begin_use(NdFusedCompiler *c, const uint32_t *values, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) c->plan.values[values[i]].uses--;
  make_room(c);
}

/* Frees the slots of what is not wanted any more: after the instruction that reads them. */
static void end_use(NdFusedCompiler *c, const uint32_t *values, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    NdFusedValue *value = &c->values[values[i]];
    if (c->plan.values[values[i]].uses > 0 || value->slot < 0) continue;
    c->slots &= ~(1u << value->slot);
    value->slot = -1;
  }
}

/* -- steps ------------------------------------------------------------------------------------ */

static NdFusedLine *unary(NdFusedCompiler *c, uint32_t a, uint32_t opcode) {
  bring(c, a);
  begin_use(c, &a, 1);
  end_use(c, &a, 1);
  return add_line(c, opcode);
}

static void binary(NdFusedCompiler *c, uint32_t a, uint32_t b, uint32_t opcode) {
  const uint32_t both[] = {a, b};
  const bool is_first = bring_pair(c, a, b);
  begin_use(c, both, 2);
  NdFusedLine *line = add_line(c, a == b ? opcode + 2 : is_first ? opcode : opcode + 1);
  if (a != b) set_value_operand(c, line, is_first ? b : a);
  end_use(c, both, 2);
}

/* True for a mask that instructions can read as bytes where it lies. */
static bool is_bytes(const NdFusedCompiler *c, uint32_t mask) {
  return mask < c->body->input_count && c->values[mask].slot < 0 && c->running != mask;
}

static NdFusedLine *fill(NdFusedCompiler *c, uint32_t x, uint32_t mask) {
  const uint32_t both[] = {x, mask};
  NdFusedLine *line;
  if (is_bytes(c, mask)) {
    bring(c, x);
    begin_use(c, both, 2);
    line = add_line(c, ND_FUSED_fill_bytes);
    set_operand(c, line, ND_FUSED_INPUT, mask, 1);
  } else {
    const bool x_runs = bring_pair(c, x, mask);
    begin_use(c, both, 2);
    line = add_line(c, x_runs ? ND_FUSED_fill : ND_FUSED_fill_into);
    set_value_operand(c, line, x_runs ? mask : x);
  }
  end_use(c, both, 2);
  return line;
}

static void where(NdFusedCompiler *c, uint32_t x, uint32_t mask, uint32_t value) {
  const uint32_t all[] = {x, mask, value};
  const bool bytes = is_bytes(c, mask);
  const bool mask_runs = c->running == mask && in_memory(c, x) && in_memory(c, value);
  const bool value_runs = !bytes && c->running == value && in_memory(c, x) && in_memory(c, mask) && x != value;
  if (!mask_runs && !value_runs) {
    if (!bytes) put_in_memory(c, mask);
    put_in_memory(c, value);
    bring(c, x);
  }
  begin_use(c, all, 3);
  NdFusedLine *line = add_line(c, mask_runs    ? ND_FUSED_where_mask
                                  : value_runs ? ND_FUSED_where_value
                                  : bytes      ? ND_FUSED_where_bytes
                                               : ND_FUSED_where);
  if (bytes && !mask_runs) {
    set_operand(c, line, ND_FUSED_INPUT, mask, 1);
  } else {
    set_value_operand(c, line, mask_runs ? x : mask);
  }
  set_value_operand(c, add_line(c, ND_FUSED_data), value_runs ? x : value);
  end_use(c, all, 3);
}

static void set_words(NdFusedCompiler *c, NdFusedLine *line, uint32_t step) {
  BurnFusedKernel *kernel = c->kernel;
  if (kernel->words_count == ND_FUSED_RANDOM) {
    burn_common_fused_refuse(&c->plan, "too many random steps");
    return;
  }
  kernel->words_step[kernel->words_count] = (uint8_t)step;
  set_operand(c, line, ND_FUSED_WORDS, kernel->words_count++, 4);
}

static void random_op(NdFusedCompiler *c, BurnCommonForm form, uint32_t step) {
  make_room(c);
  if (form == BURN_COMMON_FORM_BERNOULLI) {
    NdFusedLine *line = add_line(c, ND_FUSED_bernoulli);
    set_words(c, line, step);
    set_scalar(line, ND_FUSED_BERNOULLI, step);
  } else {
    set_words(c, add_line(c, ND_FUSED_load_unit), step);
    set_scalar(add_line(c, ND_FUSED_mul_scalar), ND_FUSED_WIDTH, step);
    set_scalar(add_line(c, ND_FUSED_uniform_end), ND_FUSED_LOW_HIGH, step);
  }
}

static void round_to(NdFusedCompiler *c, BurnDType dtype) {
  if (dtype == BURN_DTYPE_F16) (void)add_line(c, ND_FUSED_round_f16);
  if (dtype == BURN_DTYPE_BF16) (void)add_line(c, ND_FUSED_round_bf16);
}

static void cast(NdFusedCompiler *c, uint32_t x, BurnDType to) {
  if (to == BURN_DTYPE_BOOL) {
    (void)unary(c, x, ND_FUSED_not_equal_scalar); /* than 0 */
  } else if (c->plan.values[x].dtype == BURN_DTYPE_BOOL) {
    (void)unary(c, x, ND_FUSED_bool_to_float);
  } else {
    (void)unary(c, x, to == BURN_DTYPE_F16 ? ND_FUSED_round_f16 : ND_FUSED_round_bf16);
  }
}

static NdFusedScalar scalar_of(BurnCommonForm form) {
  switch (form) {
    case BURN_COMMON_FORM_SCALAR:
    case BURN_COMMON_FORM_COMPARE_SCALAR:
      return ND_FUSED_FIRST;
    case BURN_COMMON_FORM_CLAMP:
      return ND_FUSED_FIRST_SECOND;
    case BURN_COMMON_FORM_DIVIDE:
      return ND_FUSED_DIVISOR;
    case BURN_COMMON_FORM_POWER:
      return ND_FUSED_EXPONENT;
    default:
      return ND_FUSED_NO_SCALAR;
  }
}

/* Leaves the result of a step, value v, in the running value. */
static void translate(NdFusedCompiler *c, uint32_t number, uint32_t v) {
  const BurnFusedStep *step = &c->body->steps[number];
  const BurnCommonForm form = burn_common_fused_form(step->op);
  const uint32_t opcode = nd_fused_opcode(step->op);
  const uint32_t a = step->input_count > 0 ? burn_common_fused_input(&c->plan, step, 0) : ND_FUSED_NO_VALUE;
  const uint32_t b = step->input_count > 1 ? burn_common_fused_input(&c->plan, step, 1) : ND_FUSED_NO_VALUE;
  const BurnDType dtype = c->plan.values[v].dtype;
  switch (form) {
    case BURN_COMMON_FORM_BINARY:
    case BURN_COMMON_FORM_COMPARE:
    case BURN_COMMON_FORM_LOGIC:
      binary(c, a, b, opcode);
      break;
    case BURN_COMMON_FORM_WHERE:
      where(c, a, b, burn_common_fused_input(&c->plan, step, 2));
      break;
    case BURN_COMMON_FORM_FILL:
      set_scalar(fill(c, a, b), ND_FUSED_FIRST, number);
      break;
    case BURN_COMMON_FORM_CAST:
      cast(c, a, dtype);
      break;
    case BURN_COMMON_FORM_DROPOUT: {
      NdFusedLine *line = unary(c, a, opcode);
      set_words(c, line, number);
      set_scalar(line, ND_FUSED_DROPOUT, number);
      break;
    }
    case BURN_COMMON_FORM_UNIFORM:
    case BURN_COMMON_FORM_BERNOULLI:
      random_op(c, form, number);
      break;
    case BURN_COMMON_FORM_CREATE:
      make_room(c);
      set_scalar(add_line(c, opcode), ND_FUSED_FILL, number);
      break;
    default:
      set_scalar(unary(c, a, opcode), scalar_of(form), number);
      break;
  }
  if (step->op != BURN_OP_mask_where && step->op != BURN_OP_mask_fill && step->op != BURN_OP_cast) round_to(c, dtype);
  if (step->op == BURN_OP_cast && c->plan.values[a].dtype == BURN_DTYPE_BOOL) round_to(c, dtype);
  c->running = v;
}

/* Stores v, which may be an input, into the outputs of this program that want it as value `result`. */
static void store(NdFusedCompiler *c, uint32_t result, uint32_t v) {
  const BurnFusedBody *body = c->body;
  for (uint32_t o = 0; o < body->output_count; o++) {
    if (body->outputs[o] != result || burn_common_fused_loop_of_output(&c->plan, o) != c->program) continue;
    const BurnDType dtype = body->values[result].dtype;
    bring(c, v);
    set_operand(c, add_line(c, store_of(dtype)), ND_FUSED_OUTPUT, o, burn_dtype_bytes(dtype));
    c->stored[o] = (uint16_t)c->kernel->line_count;
    c->plan.values[v].uses--;
    end_use(c, &v, 1);
  }
}

/* Leaves the running value v in its home. */
static void store_home(NdFusedCompiler *c, uint32_t v) {
  NdFusedValue *value = &c->values[v];
  set_operand(c, add_line(c, ND_FUSED_store_f32), (NdFusedOperand)value->home, value->number, 4);
  value->is_home = true;
  c->plan.values[v].uses--;
}

/* -- programs --------------------------------------------------------------------------------- */

/* Copies value v for the reductions after this program, if they cannot read it where it is. */
static void copy_folded(NdFusedCompiler *c, uint32_t v) {
  const BurnFusedBody *body = c->body;
  if (c->plan.values[v].folded < 0 || !burn_common_fused_copies(&c->plan, v)) return;
  for (uint32_t k = body->input_count; k < body->input_count + body->step_count; k++) {
    if (!burn_common_fused_reduces(&c->plan, k, c->program)) continue;
    if (burn_common_fused_input(&c->plan, &body->steps[k - body->input_count], 0) != v) continue;
    bring(c, v);
    set_operand(c, add_line(c, ND_FUSED_store_f32), ND_FUSED_BUFFER, (uint32_t)c->plan.values[v].folded, 4);
    c->plan.values[v].uses--;
  }
  end_use(c, &v, 1);
}

/* The reductions of what the program has computed. */
static void add_reductions(NdFusedCompiler *c, NdFusedProgram *program) {
  const BurnFusedBody *body = c->body;
  for (uint32_t v = body->input_count; v < body->input_count + body->step_count; v++) {
    if (!burn_common_fused_reduces(&c->plan, v, c->program)) continue;
    const BurnFusedStep *step = &body->steps[v - body->input_count];
    const uint32_t operand = burn_common_fused_input(&c->plan, step, 0);
    NdFusedReduction *reduction = &c->kernel->reductions[c->kernel->reduction_count++];
    const bool is_input = c->plan.values[operand].folded < 0;
    reduction->family = (uint8_t)nd_fused_opcode(step->op);
    reduction->is_mean = step->op == BURN_OP_mean_dim || step->op == BURN_OP_mean;
    reduction->operand = is_input ? ND_FUSED_INPUT : ND_FUSED_BUFFER;
    reduction->number = (uint8_t)(is_input ? operand : (uint32_t)c->plan.values[operand].folded);
    reduction->row = c->plan.values[v].number;
    reduction->dtype = c->plan.values[v].dtype;
    program->reduction_count++;
    if (!is_input) continue;
    c->last_read[operand] = (uint16_t)c->kernel->line_count;
    c->kernel->input_bytes[operand] = 4;
    c->kernel->input_is_element[operand] = true;
    c->kernel->input_is_folded[operand] = true;
  }
}

static void translate_program(NdFusedCompiler *c, uint32_t number) {
  const BurnFusedBody *body = c->body;
  NdFusedProgram *program = &c->kernel->programs[number];
  c->program = number;
  c->running = ND_FUSED_NO_VALUE;
  c->slots = 0;
  program->begin = (uint16_t)c->kernel->line_count;
  program->is_reduced = number % 2 == 0;
  burn_common_fused_count_uses(&c->plan, number);
  for (uint32_t v = 0; v < body->input_count + body->step_count && !c->plan.refusal; v++) {
    if (!burn_common_fused_computes(&c->plan, v, number)) copy_folded(c, v);
  }
  for (uint32_t i = 0; i < body->step_count && !c->plan.refusal; i++) {
    const uint32_t v = body->input_count + i, same = c->plan.values[v].same_as;
    if (c->plan.values[same].uses == 0) continue;
    if (same == v && burn_common_fused_computes(&c->plan, v, number)) {
      translate(c, i, v);
      if (c->plan.values[v].is_kept && c->plan.values[v].loop == number) store_home(c, v);
      copy_folded(c, v);
    }
    store(c, v, same);
  }
  (void)add_line(c, ND_FUSED_end);
  program->end = (uint16_t)c->kernel->line_count;
  if (!program->is_reduced) add_reductions(c, program);
}

/* -- bodies ----------------------------------------------------------------------------------- */

static void describe_steps(NdFusedCompiler *c) {
  const BurnFusedBody *body = c->body;
  for (uint32_t number = 0; number < body->step_count; number++) {
    const BurnOpInfo *info = c->nd->host->op_info(body->steps[number].op);
    NdFusedStepInfo *step = &c->kernel->steps[number];
    step->op = body->steps[number].op;
    step->attr_count = body->steps[number].attr_count;
    step->dtype = body->values[body->input_count + number].dtype;
    step->scalar_dtype = step->dtype;
    if (body->steps[number].input_count > 0) step->scalar_dtype = body->values[body->steps[number].inputs[0]].dtype;
    if (info && info->is_composite) step->scalar_dtype = BURN_DTYPE_F32; /* computed as a whole in f32 */
  }
}

/* An output may take the memory of an input that is not read after the store. */
static void find_reuse(NdFusedCompiler *c) {
  for (uint32_t o = 0; o < c->body->output_count; o++) {
    c->kernel->reuse[o] = 0;
    for (uint32_t i = 0; i < c->body->input_count; i++) {
      if (c->last_read[i] < c->stored[o]) c->kernel->reuse[o] |= 1u << i;
    }
  }
}

static int64_t grain_of(const NdFusedCompiler *c) {
  for (uint32_t v = c->body->input_count; v < c->body->input_count + c->body->step_count; v++) {
    const bool is_heavy = burn_common_fused_is_heavy(burn_common_fused_step(&c->plan, v)->op);
    if (is_heavy && c->plan.values[v].is_live) return ND_GRAIN_HEAVY;
  }
  return ND_GRAIN_CHEAP;
}

/* Where values are before the first program, and where what is kept will be. */
static void find_homes(NdFusedCompiler *c) {
  for (uint32_t v = 0; v < c->plan.value_count; v++) {
    const BurnCommonFusedValue *planned = &c->plan.values[v];
    NdFusedValue *value = &c->values[v];
    memset(value, 0, sizeof *value);
    value->slot = -1;
    value->number = planned->number;
    value->is_home = planned->is_reduction && planned->is_live;
    if (planned->is_kept || planned->is_reduction) value->home = planned->is_reduced ? ND_FUSED_ROW : ND_FUSED_BUFFER;
    if (burn_common_fused_is_step(&c->plan, v) || planned->dtype != BURN_DTYPE_F32) continue;
    value->home = ND_FUSED_INPUT;
    value->number = (uint8_t)v;
    value->is_home = true;
  }
}

/* What the kernel needs of the plan. */
static void take_plan(NdFusedCompiler *c) {
  const BurnCommonFusedPlan *plan = &c->plan;
  BurnFusedKernel *kernel = c->kernel;
  kernel->input_count = c->body->input_count;
  kernel->output_count = c->body->output_count;
  kernel->step_count = c->body->step_count;
  kernel->region = plan->region;
  kernel->axis = plan->axis;
  kernel->space = plan->space;
  kernel->program_count = plan->loop_count;
  kernel->buffer_count = plan->buffer_count;
  kernel->row_count = plan->row_count;
  for (uint32_t o = 0; o < kernel->output_count; o++) {
    kernel->outputs[o] = c->body->values[c->body->outputs[o]];
    kernel->output_is_reduced[o] = plan->output_is_reduced[o];
  }
}

static void compile(NdFusedCompiler *c, const BurnCommonFusedRules *with) {
  burn_common_fused_plan(&c->plan, with, c->body);
  if (c->plan.refusal) return;
  take_plan(c);
  find_homes(c);
  c->kernel->grain = grain_of(c);
  describe_steps(c);
  for (uint32_t program = 0; program < c->kernel->program_count && !c->plan.refusal; program++)
    translate_program(c, program);
  find_reuse(c);
}

static BurnStatus compile_with(Ndarray *nd, const BurnCommonFusedRules *with, const BurnFusedBody *body,
                               BurnFusedKernel **out, char *why, uint64_t why_bytes) {
  BurnFusedKernel header;
  NdFusedCompiler c;
  *out = NULL;
  memset(&header, 0, sizeof header);
  c.nd = nd;
  c.body = body;
  c.kernel = &header;
  memset(c.last_read, 0, sizeof c.last_read);
  memset(c.stored, 0, sizeof c.stored);
  compile(&c, with);
  if (c.plan.refusal) {
    if (why_bytes > 0) (void)snprintf(why, why_bytes, "%s", c.plan.refusal);
    return BURN_OK;
  }
  header.bytes = sizeof header + header.line_count * sizeof *c.lines;
  BurnFusedKernel *kernel = nd->host->allocate(header.bytes);
  if (!kernel)
    return nd_fail(nd, BURN_STATUS_OUT_OF_MEMORY, "compile: no memory for a kernel of %u instructions",
                   header.line_count);
  *kernel = header;
  memcpy(kernel->lines, c.lines, header.line_count * sizeof *c.lines);
  *out = kernel;
  return BURN_OK;
}

BurnStatus nd_fused_compile(Ndarray *nd, const BurnFusedBody *body, BurnFusedKernel **out, char *why,
                            uint64_t why_bytes) {
  return compile_with(nd, &rules, body, out, why, why_bytes);
}

BurnStatus nd_fused_compile_after(Ndarray *nd, const BurnFusedBody *body, BurnFusedKernel **out, char *why,
                                  uint64_t why_bytes) {
  return compile_with(nd, &after_rules, body, out, why, why_bytes);
}
