/* ndarray_fused_compile.c - from a body to a program of the machine.
 *
 * Steps are translated in their order. The last result stays in the machine's running value; one that is wanted later than by the
 * next instruction waits in a slot, or, if it is an f32 input, where it lies anyway. Slots are given out as in linear-scan register
 * allocation: a slot is free again after the last use of what is in it. */
#include "ndarray_fused.h"

#include <stdio.h>
#include <string.h>

#define ND_GRAIN_CHEAP 16384 /* elements per chunk at least, as in ndarray_elementwise.c */
#define ND_GRAIN_HEAVY 4096

/* -- the ops ------------------------------------------------------------------------------------------------------- */

/* How an op is translated. */
typedef enum Form {
  FORM_NONE,
  UNARY,    /* of a float */
  SCALAR,   /* with one attribute */
  CLAMP,    /* with two */
  BINARY,   /* of floats */
  TEST,     /* a float to a bool */
  COMPARE,  /* floats to a bool */
  COMPARE_SCALAR,
  LOGIC,     /* bools */
  LOGIC_NOT,
  DIVIDE,    /* by a scalar */
  POWER,     /* with a scalar exponent */
  CAST,
  EXPAND,
  WHERE,
  FILL,
  DROPOUT,
  UNIFORM,
  BERNOULLI,
  CREATE
} Form;

typedef struct Op {
  uint8_t form;
  uint8_t is_heavy;
  uint16_t opcode;
} Op;

static const Op ops[BURN_OP_LIMIT] = {
#define OP(form, name) [BURN_OP_##name] = {form, 0, ND_FUSED_##name}
#define HEAVY(form, name) [BURN_OP_##name] = {form, 1, ND_FUSED_##name}
    OP(UNARY, neg), OP(UNARY, abs), OP(UNARY, sign), OP(UNARY, sqrt), OP(UNARY, recip), OP(UNARY, floor), OP(UNARY, ceil),
    OP(UNARY, round), OP(UNARY, trunc), OP(UNARY, relu), HEAVY(UNARY, exp), HEAVY(UNARY, log), HEAVY(UNARY, log1p),
    HEAVY(UNARY, tanh), HEAVY(UNARY, erf), HEAVY(UNARY, sigmoid), HEAVY(UNARY, gelu), HEAVY(UNARY, sin), HEAVY(UNARY, cos), HEAVY(UNARY, silu),
    OP(SCALAR, leaky_relu), HEAVY(SCALAR, softplus), OP(SCALAR, add_scalar), OP(SCALAR, mul_scalar), OP(DIVIDE, div_scalar),
    [BURN_OP_powf_scalar] = {POWER, 1, ND_FUSED_power_any}, OP(SCALAR, clamp_min),
    OP(SCALAR, clamp_max), OP(CLAMP, clamp), OP(BINARY, add), OP(BINARY, sub), OP(BINARY, mul), OP(BINARY, div),
    OP(BINARY, max_pair), OP(BINARY, min_pair), HEAVY(BINARY, powf), OP(BINARY, relu_backward), OP(TEST, is_nan),
    OP(TEST, is_inf), OP(TEST, is_finite), OP(COMPARE, equal), OP(COMPARE, not_equal), OP(COMPARE, greater),
    OP(COMPARE, greater_equal), OP(COMPARE, lower), OP(COMPARE, lower_equal), OP(COMPARE_SCALAR, equal_scalar),
    OP(COMPARE_SCALAR, not_equal_scalar), OP(COMPARE_SCALAR, greater_scalar), OP(COMPARE_SCALAR, greater_equal_scalar),
    OP(COMPARE_SCALAR, lower_scalar), OP(COMPARE_SCALAR, lower_equal_scalar), OP(LOGIC, bool_and), OP(LOGIC, bool_or),
    OP(LOGIC, bool_xor), OP(LOGIC_NOT, bool_not),
#undef OP
#undef HEAVY
    [BURN_OP_cast] = {CAST, 0, 0},
    [BURN_OP_expand] = {EXPAND, 0, 0},
    [BURN_OP_mask_where] = {WHERE, 0, 0},
    [BURN_OP_mask_fill] = {FILL, 0, 0},
    [BURN_OP_dropout] = {DROPOUT, 1, ND_FUSED_dropout},
    [BURN_OP_random_uniform] = {UNIFORM, 1, 0},
    [BURN_OP_random_bernoulli] = {BERNOULLI, 1, ND_FUSED_bernoulli},
    [BURN_OP_full] = {CREATE, 0, ND_FUSED_splat},
};

static Op op_of(uint32_t op) {
  const Op none = {FORM_NONE, 0, 0};
  return op < BURN_OP_LIMIT ? ops[op] : none;
}

/* -- roles --------------------------------------------------------------------------------------------------------- */

static bool is_half(BurnDType dtype) { return dtype == BURN_DTYPE_F16 || dtype == BURN_DTYPE_BF16; }
static bool is_float(BurnDType dtype) { return dtype == BURN_DTYPE_F32 || is_half(dtype); }

/* A cast between dtypes that the machine has, or from an integer that fits into an f32 as the kernel would put it there. */
static bool can_cast(BurnDType from, BurnDType to) {
  if (to == BURN_DTYPE_F32 || to == BURN_DTYPE_BOOL) return from != BURN_DTYPE_F64;
  if (!is_half(to)) return false;
  return is_float(from) || from == BURN_DTYPE_BOOL || from == BURN_DTYPE_U8 || from == BURN_DTYPE_I8 || from == BURN_DTYPE_I16;
}

static bool dtypes_fit(const BurnFusedStep *step, Form form, const BurnTensorDesc *inputs, BurnDType output) {
  const BurnDType first = step->input_count > 0 ? inputs[0].dtype : output;
  const BurnDType second = step->input_count > 1 ? inputs[1].dtype : first;
  switch (form) {
    case FORM_NONE:
      return false;
    case LOGIC:
    case LOGIC_NOT:
      return first == BURN_DTYPE_BOOL;
    case CAST:
      return can_cast(first, output);
    case EXPAND:
      return is_float(first) || first == BURN_DTYPE_BOOL;
    case WHERE:
    case FILL:
      return is_float(first) && second == BURN_DTYPE_BOOL;
    case UNIFORM:
      return output == BURN_DTYPE_F32;
    case BERNOULLI:
    case CREATE:
      return output == BURN_DTYPE_F32 || output == BURN_DTYPE_BOOL;
    default:
      return is_float(first) && second == first;
  }
}

uint32_t nd_fused_role(const BurnFusedStep *step, const BurnTensorDesc *inputs, const BurnTensorDesc *output) {
  const Form form = (Form)op_of(step->op).form;
  if (!dtypes_fit(step, form, inputs, output->dtype)) return BURN_FUSED_NO;
  return form == EXPAND ? BURN_FUSED_EXPAND : BURN_FUSED_ELEMENTWISE;
}

/* -- the state of a translation ------------------------------------------------------------------------------------ */

#define NO_VALUE UINT32_MAX
#define VALUES (ND_FUSED_INPUTS + ND_FUSED_STEPS)

typedef struct Value {
  BurnDType dtype;
  uint32_t same_as;  /* the value that this one is in the machine: itself, or what it is an expansion of */
  uint32_t uses;     /* by instructions and outputs to come */
  int32_t slot;      /* where it waits, or -1 */
  bool is_operand;   /* an f32 input: instructions read it where it lies */
} Value;

typedef struct Compiler {
  Ndarray *nd;
  const BurnFusedBody *body;
  BurnFusedKernel *kernel;
  Value values[VALUES];
  uint32_t running; /* the value that is the running one, or NO_VALUE */
  uint32_t slots;   /* bit per slot in use */
  bool is_heavy;
  const char *refusal;
  uint16_t last_read[ND_FUSED_INPUTS]; /* line after that of the last read of an input */
  uint16_t stored[ND_FUSED_OUTPUTS];   /* line of the store */
  NdFusedLine lines[ND_FUSED_LINES];
} Compiler;

static void refuse(Compiler *c, const char *reason) {
  if (!c->refusal) c->refusal = reason;
}

static uint32_t input_of(const Compiler *c, const BurnFusedStep *step, uint32_t i) {
  return c->values[step->inputs[i]].same_as;
}

/* -- lines --------------------------------------------------------------------------------------------------------- */

static NdFusedLine *add_line(Compiler *c, uint32_t opcode) {
  if (c->kernel->line_count + 1 >= ND_FUSED_LINES) {
    refuse(c, "too many instructions");
    c->kernel->line_count = 0;
  }
  NdFusedLine *line = &c->lines[c->kernel->line_count++];
  memset(line, 0, sizeof *line);
  line->opcode = (uint16_t)opcode;
  return line;
}

static void set_operand(Compiler *c, NdFusedLine *line, NdFusedOperand kind, uint32_t number, uint32_t bytes) {
  line->operand = (uint8_t)kind;
  line->number = (uint8_t)number;
  line->bytes = (uint8_t)bytes;
  if (kind == ND_FUSED_INPUT) {
    c->last_read[number] = (uint16_t)c->kernel->line_count;
    c->kernel->input_bytes[number] = (uint8_t)bytes;
  }
}

static void set_scalar(NdFusedLine *line, NdFusedScalar scalar, uint32_t step) {
  line->scalar = (uint8_t)scalar;
  line->step = (uint8_t)step;
}

/* -- where values are ---------------------------------------------------------------------------------------------- */

static bool in_memory(const Compiler *c, uint32_t v) { return c->values[v].is_operand || c->values[v].slot >= 0; }

static void set_value_operand(Compiler *c, NdFusedLine *line, uint32_t v) {
  if (c->values[v].slot >= 0) {
    set_operand(c, line, ND_FUSED_SLOT, (uint32_t)c->values[v].slot, 4);
  } else {
    set_operand(c, line, ND_FUSED_INPUT, v, 4);
  }
}

/* Puts the running value into a slot. */
static void save(Compiler *c) {
  uint32_t slot = 0;
  while (slot < ND_FUSED_SLOTS && ((c->slots >> slot) & 1u)) slot++;
  if (slot == ND_FUSED_SLOTS) {
    refuse(c, "too many values live at once");
    return;
  }
  c->slots |= 1u << slot;
  if (slot >= c->kernel->slot_count) c->kernel->slot_count = slot + 1;
  c->values[c->running].slot = (int32_t)slot;
  set_operand(c, add_line(c, ND_FUSED_store_f32), ND_FUSED_SLOT, slot, 4);
}

/* Before the running value changes: keeps it if it is still wanted. */
static void make_room(Compiler *c) {
  const uint32_t v = c->running;
  if (v != NO_VALUE && c->values[v].uses > 0 && !in_memory(c, v)) save(c);
  c->running = NO_VALUE;
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
static void bring(Compiler *c, uint32_t v) {
  if (c->running == v) return;
  make_room(c);
  if (in_memory(c, v)) {
    set_value_operand(c, add_line(c, ND_FUSED_load_f32), v);
  } else {
    const BurnDType dtype = c->values[v].dtype;
    set_operand(c, add_line(c, load_of(dtype)), ND_FUSED_INPUT, v, burn_dtype_bytes(dtype));
  }
  c->running = v;
}

/* Makes sure that v can be an operand; may change the running value. */
static void put_in_memory(Compiler *c, uint32_t v) {
  if (in_memory(c, v)) return;
  bring(c, v);
  save(c);
}

/* Of two values makes one the running value and the other an operand; true if the running one is a. */
static bool bring_pair(Compiler *c, uint32_t a, uint32_t b) {
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
static void begin_use(Compiler *c, const uint32_t *values, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) c->values[values[i]].uses--;
  make_room(c);
}

/* Frees the slots of what is not wanted any more: after the instruction that reads them. */
static void end_use(Compiler *c, const uint32_t *values, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    Value *value = &c->values[values[i]];
    if (value->uses > 0 || value->slot < 0) continue;
    c->slots &= ~(1u << value->slot);
    value->slot = -1;
  }
}

/* -- steps --------------------------------------------------------------------------------------------------------- */

static NdFusedLine *unary(Compiler *c, uint32_t a, uint32_t opcode) {
  bring(c, a);
  begin_use(c, &a, 1);
  end_use(c, &a, 1);
  return add_line(c, opcode);
}

static void binary(Compiler *c, uint32_t a, uint32_t b, uint32_t opcode) {
  const uint32_t both[] = {a, b};
  const bool is_first = bring_pair(c, a, b);
  begin_use(c, both, 2);
  NdFusedLine *line = add_line(c, a == b ? opcode + 2 : is_first ? opcode : opcode + 1);
  if (a != b) set_value_operand(c, line, is_first ? b : a);
  end_use(c, both, 2);
}

/* True for a mask that instructions can read as bytes where it lies. */
static bool is_bytes(const Compiler *c, uint32_t mask) {
  return mask < c->body->input_count && c->values[mask].slot < 0 && c->running != mask;
}

static NdFusedLine *fill(Compiler *c, uint32_t x, uint32_t mask) {
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

static void where(Compiler *c, uint32_t x, uint32_t mask, uint32_t value) {
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

static void set_words(Compiler *c, NdFusedLine *line, uint32_t step) {
  BurnFusedKernel *kernel = c->kernel;
  if (kernel->words_count == ND_FUSED_RANDOM) {
    refuse(c, "too many random steps");
    return;
  }
  kernel->words_step[kernel->words_count] = (uint8_t)step;
  set_operand(c, line, ND_FUSED_WORDS, kernel->words_count++, 4);
}

static void random_op(Compiler *c, Form form, uint32_t step) {
  make_room(c);
  if (form == BERNOULLI) {
    NdFusedLine *line = add_line(c, ND_FUSED_bernoulli);
    set_words(c, line, step);
    set_scalar(line, ND_FUSED_BERNOULLI, step);
  } else {
    set_words(c, add_line(c, ND_FUSED_load_unit), step);
    set_scalar(add_line(c, ND_FUSED_mul_scalar), ND_FUSED_WIDTH, step);
    set_scalar(add_line(c, ND_FUSED_uniform_end), ND_FUSED_LOW_HIGH, step);
  }
}

static void round_to(Compiler *c, BurnDType dtype) {
  if (dtype == BURN_DTYPE_F16) (void)add_line(c, ND_FUSED_round_f16);
  if (dtype == BURN_DTYPE_BF16) (void)add_line(c, ND_FUSED_round_bf16);
}

static void cast(Compiler *c, uint32_t x, BurnDType to) {
  if (to == BURN_DTYPE_BOOL) {
    (void)unary(c, x, ND_FUSED_not_equal_scalar); /* than 0 */
  } else if (c->values[x].dtype == BURN_DTYPE_BOOL) {
    (void)unary(c, x, ND_FUSED_bool_to_float);
  } else {
    (void)unary(c, x, to == BURN_DTYPE_F16 ? ND_FUSED_round_f16 : ND_FUSED_round_bf16);
  }
}

/* A cast that changes nothing in the machine, which has integers and halves as the f32 that they are. */
static bool cast_is_nothing(BurnDType from, BurnDType to) {
  return from == to || (to == BURN_DTYPE_F32 && from != BURN_DTYPE_BOOL);
}

static NdFusedScalar scalar_of(Form form) {
  switch (form) {
    case SCALAR:
    case COMPARE_SCALAR:
      return ND_FUSED_FIRST;
    case CLAMP:
      return ND_FUSED_FIRST_SECOND;
    case DIVIDE:
      return ND_FUSED_DIVISOR;
    case POWER:
      return ND_FUSED_EXPONENT;
    default:
      return ND_FUSED_NO_SCALAR;
  }
}

/* Leaves the result of a step, value v, in the running value. */
static void translate(Compiler *c, uint32_t number, uint32_t v) {
  const BurnFusedStep *step = &c->body->steps[number];
  const Op op = op_of(step->op);
  const uint32_t a = step->input_count > 0 ? input_of(c, step, 0) : NO_VALUE;
  const uint32_t b = step->input_count > 1 ? input_of(c, step, 1) : NO_VALUE;
  const BurnDType dtype = c->values[v].dtype;
  switch ((Form)op.form) {
    case BINARY:
    case COMPARE:
    case LOGIC:
      binary(c, a, b, op.opcode);
      break;
    case WHERE:
      where(c, a, b, input_of(c, step, 2));
      break;
    case FILL:
      set_scalar(fill(c, a, b), ND_FUSED_FIRST, number);
      break;
    case CAST:
      cast(c, a, dtype);
      break;
    case DROPOUT: {
      NdFusedLine *line = unary(c, a, op.opcode);
      set_words(c, line, number);
      set_scalar(line, ND_FUSED_DROPOUT, number);
      break;
    }
    case UNIFORM:
    case BERNOULLI:
      random_op(c, (Form)op.form, number);
      break;
    case CREATE:
      make_room(c);
      set_scalar(add_line(c, op.opcode), ND_FUSED_FILL, number);
      break;
    default:
      set_scalar(unary(c, a, op.opcode), scalar_of((Form)op.form), number);
      break;
  }
  if (step->op != BURN_OP_mask_where && step->op != BURN_OP_mask_fill && step->op != BURN_OP_cast) round_to(c, dtype);
  if (step->op == BURN_OP_cast && c->values[a].dtype == BURN_DTYPE_BOOL) round_to(c, dtype);
  c->running = v;
}

/* Stores v, which may be an input, into the outputs that want it as value `result`. */
static void store(Compiler *c, uint32_t result, uint32_t v) {
  const BurnFusedBody *body = c->body;
  for (uint32_t o = 0; o < body->output_count; o++) {
    if (body->outputs[o] != result) continue;
    const BurnDType dtype = body->values[result].dtype;
    bring(c, v);
    set_operand(c, add_line(c, store_of(dtype)), ND_FUSED_OUTPUT, o, burn_dtype_bytes(dtype));
    c->stored[o] = (uint16_t)c->kernel->line_count;
    c->values[v].uses--;
    end_use(c, &v, 1);
  }
}

/* -- bodies -------------------------------------------------------------------------------------------------------- */

static bool has_shape_of(const BurnTensorDesc *a, const BurnTensorDesc *b) {
  return a->rank == b->rank && memcmp(a->shape, b->shape, a->rank * sizeof *a->shape) == 0;
}

/* Looks at a step before anything is translated. */
static void check_step(Compiler *c, uint32_t number, uint32_t v) {
  const BurnFusedBody *body = c->body;
  const BurnFusedStep *step = &body->steps[number];
  const BurnTensorDesc *space = &body->values[body->outputs[0]];
  BurnTensorDesc inputs[3];
  const Form form = (Form)op_of(step->op).form;
  if (form == FORM_NONE || step->input_count > 3) {
    refuse(c, "a step that the machine has not");
    return;
  }
  for (uint32_t i = 0; i < step->input_count; i++) {
    if (step->inputs[i] >= v) {
      refuse(c, "a step that lacks an input");
      return;
    }
    inputs[i] = body->values[step->inputs[i]];
  }
  if (!dtypes_fit(step, form, inputs, body->values[v].dtype)) refuse(c, "a dtype that the machine has not");
  const bool is_random = form == DROPOUT || form == UNIFORM || form == BERNOULLI;
  if (is_random && !has_shape_of(&body->values[v], space)) refuse(c, "random numbers of another shape");
  if (form == EXPAND || (form == CAST && cast_is_nothing(inputs[0].dtype, body->values[v].dtype))) {
    c->values[v].same_as = input_of(c, step, 0);
  }
}

static void find_values(Compiler *c) {
  const BurnFusedBody *body = c->body;
  for (uint32_t v = 0; v < body->input_count + body->step_count; v++) {
    Value *value = &c->values[v];
    value->dtype = body->values[v].dtype;
    value->same_as = v;
    value->uses = 0;
    value->slot = -1;
    value->is_operand = v < body->input_count && value->dtype == BURN_DTYPE_F32;
    if (v >= body->input_count) check_step(c, v - body->input_count, v);
    if (c->refusal) return;
  }
}

/* Counts uses; returns how many steps do something. */
static uint32_t count_uses(Compiler *c) {
  const BurnFusedBody *body = c->body;
  uint32_t working = 0;
  for (uint32_t o = 0; o < body->output_count; o++) c->values[c->values[body->outputs[o]].same_as].uses++;
  for (uint32_t number = body->step_count; number-- > 0;) {
    const uint32_t v = body->input_count + number;
    const BurnFusedStep *step = &body->steps[number];
    if (c->values[v].same_as != v || c->values[v].uses == 0) continue;
    working++;
    c->is_heavy = c->is_heavy || op_of(step->op).is_heavy;
    for (uint32_t i = 0; i < step->input_count; i++) c->values[input_of(c, step, i)].uses++;
  }
  return working;
}

static void describe_steps(Compiler *c) {
  const BurnFusedBody *body = c->body;
  for (uint32_t number = 0; number < body->step_count; number++) {
    const BurnOpInfo *info = c->nd->host->op_info(body->steps[number].op);
    NdFusedStepInfo *step = &c->kernel->steps[number];
    step->op = body->steps[number].op;
    step->dtype = body->values[body->input_count + number].dtype;
    step->scalar_dtype = step->dtype;
    if (body->steps[number].input_count > 0) step->scalar_dtype = body->values[body->steps[number].inputs[0]].dtype;
    if (info && info->is_composite) step->scalar_dtype = BURN_DTYPE_F32; /* computed as a whole in f32 */
  }
}

static void translate_all(Compiler *c) {
  const BurnFusedBody *body = c->body;
  c->running = NO_VALUE;
  for (uint32_t number = 0; number < body->step_count && !c->refusal; number++) {
    const uint32_t v = body->input_count + number, same = c->values[v].same_as;
    if (c->values[same].uses == 0) continue;
    if (same == v) translate(c, number, v);
    store(c, v, same);
  }
  (void)add_line(c, ND_FUSED_end);
}

/* An output may take the memory of an input that is not read after the store. */
static void find_reuse(Compiler *c) {
  for (uint32_t o = 0; o < c->body->output_count; o++) {
    c->kernel->reuse[o] = 0;
    for (uint32_t i = 0; i < c->body->input_count; i++) {
      if (c->last_read[i] < c->stored[o]) c->kernel->reuse[o] |= 1u << i;
    }
  }
}

static void check_body(Compiler *c) {
  const BurnFusedBody *body = c->body;
  if (body->input_count > ND_FUSED_INPUTS || body->step_count > ND_FUSED_STEPS || body->output_count > ND_FUSED_OUTPUTS) {
    refuse(c, "too many inputs, steps or outputs");
    return;
  }
  if (body->output_count == 0) refuse(c, "no outputs");
  for (uint32_t o = 1; o < body->output_count; o++) {
    if (!has_shape_of(&body->values[body->outputs[o]], &body->values[body->outputs[0]])) refuse(c, "outputs of several shapes");
  }
}

static void compile(Compiler *c) {
  const BurnFusedBody *body = c->body;
  check_body(c);
  if (!c->refusal) find_values(c);
  if (!c->refusal && count_uses(c) < 2) refuse(c, "less than two steps");
  if (c->refusal) return;
  c->kernel->input_count = body->input_count;
  c->kernel->output_count = body->output_count;
  c->kernel->step_count = body->step_count;
  c->kernel->grain = c->is_heavy ? ND_GRAIN_HEAVY : ND_GRAIN_CHEAP;
  for (uint32_t o = 0; o < body->output_count; o++) c->kernel->outputs[o] = body->values[body->outputs[o]];
  describe_steps(c);
  translate_all(c);
  find_reuse(c);
}

BurnStatus nd_fused_compile(Ndarray *nd, const BurnFusedBody *body, BurnFusedKernel **out, char *why, uint64_t why_bytes) {
  BurnFusedKernel header;
  Compiler c;
  *out = NULL;
  memset(&header, 0, sizeof header);
  c.nd = nd;
  c.body = body;
  c.kernel = &header;
  c.slots = 0;
  c.is_heavy = false;
  c.refusal = NULL;
  memset(c.last_read, 0, sizeof c.last_read);
  memset(c.stored, 0, sizeof c.stored);
  compile(&c);
  if (c.refusal) {
    if (why_bytes > 0) (void)snprintf(why, why_bytes, "%s", c.refusal);
    return BURN_OK;
  }
  header.bytes = sizeof header + header.line_count * sizeof *c.lines;
  BurnFusedKernel *kernel = nd->host->allocate(header.bytes);
  if (!kernel) return nd_fail(nd, BURN_STATUS_OUT_OF_MEMORY, "compile: no memory for a kernel of %u instructions", header.line_count);
  *kernel = header;
  memcpy(kernel->lines, c.lines, header.line_count * sizeof *c.lines);
  *out = kernel;
  return BURN_OK;
}
