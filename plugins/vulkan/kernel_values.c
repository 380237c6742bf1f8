/* kernel_values.c - numbers: constants that are computed now, and instructions for the others. */
#include "kernel_emit.h"

#include <math.h>
#include <string.h>

/* -- values ----------------------------------------------------------------------------------- */

static uint64_t cut(const Type *type, uint64_t bits) {
  if (type->kind == TYPE_BOOL) return bits != 0;
  if (type->bits >= 64 || type->kind == TYPE_POINTER) return bits;
  const uint64_t mask = (UINT64_C(1) << type->bits) - 1, sign = UINT64_C(1) << (type->bits - 1);
  const uint64_t low = bits & mask;
  return type->is_signed && (low & sign) != 0 ? low | ~mask : low;
}

Value burn__emit_integer(const Type *type, uint64_t bits) {
  Value value = {.kind = VALUE_CONSTANT, .type = type};
  value.as.bits = cut(type, bits);
  return value;
}

Value burn__emit_real(const Type *type, double real) {
  Value value = {.kind = VALUE_CONSTANT, .type = type};
  value.as.real = type->bits == 32 ? (double)(float)real : real;
  return value;
}

Value burn__emit_id(const Type *type, uint32_t id) { return (Value){.kind = VALUE_ID, .type = type, .id = id}; }

uint32_t burn__emit_u32(Emitter *emitter, uint32_t number) {
  const uint32_t type = SPIRV_GLOBAL(&emitter->spirv, SpirvTypeInt, 0, 32, 0);
  return SPIRV_GLOBAL(&emitter->spirv, SpirvConstant, type, number);
}

static uint32_t constant_id(Emitter *emitter, const Value *value) {
  Spirv *spirv = &emitter->spirv;
  const Type *type = value->type;
  const uint32_t id = burn__emit_type_id(emitter, type);
  uint64_t bits = value->as.bits;
  if (type->kind == TYPE_BOOL)
    return burn__spirv_global(spirv, bits ? SpirvConstantTrue : SpirvConstantFalse, id, NULL, 0);
  if (type->kind == TYPE_FLOAT && type->bits == 32) {
    const float narrow = (float)value->as.real;
    uint32_t word;
    memcpy(&word, &narrow, sizeof word);
    bits = word;
  }
  if (type->bits < 32) bits &= (UINT64_C(1) << type->bits) - 1;
  if (type->bits <= 32) return SPIRV_GLOBAL(spirv, SpirvConstant, id, (uint32_t)bits);
  return SPIRV_GLOBAL(spirv, SpirvConstant, id, (uint32_t)bits, (uint32_t)(bits >> 32));
}

Value burn__emit_rvalue(Emitter *emitter, const Value *value) {
  if (value->kind != VALUE_PLACE) return *value;
  if (value->type->kind == TYPE_ARRAY) {
    const Value zero = burn__emit_integer(emitter->integers[1][2], 0);
    const Value first = burn__emit_index(emitter, value, &zero);
    Value pointer = burn__emit_address_of(emitter, &first);
    pointer.may_move = true;
    return pointer;
  }
  return burn__emit_load(emitter, value->type, &value->place);
}

uint32_t burn__emit_id_of(Emitter *emitter, const Value *given) {
  const Value value = burn__emit_rvalue(emitter, given);
  if (value.kind == VALUE_CONSTANT) return constant_id(emitter, &value);
  if (value.kind != VALUE_ID)
    EMIT_FAIL(emitter, "%s",
              value.kind == VALUE_POINTER ? "a pointer to a variable is not a number" : "there is no value");
  if (value.type->kind != TYPE_POINTER || value.offset == 0) return value.id;
  const Value offset = burn__emit_integer(emitter->integers[0][3], (uint64_t)value.offset);
  return burn__emit_op(emitter, SpirvIAdd, value.type, value.id, constant_id(emitter, &offset));
}

int64_t burn__emit_known(Emitter *emitter, const Value *value) {
  if (value->kind != VALUE_CONSTANT || value->type->kind == TYPE_FLOAT)
    EMIT_FAIL(emitter, "an integer is wanted that is known when the kernel is compiled");
  return (int64_t)value->as.bits;
}

/* b 0: one operand. */
uint32_t burn__emit_op(Emitter *emitter, SpirvOp op, const Type *type, uint32_t a, uint32_t b) {
  const uint32_t operands[] = {a, b};
  const uint32_t id =
      burn__spirv_result(&emitter->spirv, emitter->section, op, burn__emit_type_id(emitter, type), operands, b ? 2 : 1);
  if (op == SpirvFAdd || op == SpirvFSub || op == SpirvFMul || op == SpirvFDiv)
    SPIRV_PUT(&emitter->spirv, SPIRV_ARITHMETIC, SpirvDecorate, id, SPIRV_NO_CONTRACTION);
  return id;
}

/* -- what is only tried ----------------------------------------------------------------------- */

Trial burn__emit_try(const Emitter *emitter) {
  const SpirvWords *sections = emitter->spirv.sections;
  return (Trial){sections[emitter->section].count, sections[SPIRV_ARITHMETIC].count, emitter->block,
                 emitter->symbol_count};
}

size_t burn__emit_take_back(Emitter *emitter, const Trial *trial) {
  SpirvWords *sections = emitter->spirv.sections;
  const size_t taken = sections[emitter->section].count - trial->words;
  sections[emitter->section].count = trial->words;
  sections[SPIRV_ARITHMETIC].count = trial->decorations;
  emitter->block = trial->block;
  emitter->symbol_count = trial->symbols;
  emitter->open = true;
  return taken;
}

/* -- conversions ------------------------------------------------------------------------------ */

static double as_real(const Value *value) {
  if (value->type->kind == TYPE_FLOAT) return value->as.real;
  return value->type->is_signed ? (double)(int64_t)value->as.bits : (double)value->as.bits;
}

static Value convert_constant(Emitter *emitter, const Value *value, const Type *type) {
  const bool from_float = value->type->kind == TYPE_FLOAT;
  if (type->kind == TYPE_FLOAT) {
    /* to f32 in one step, as f64 would round a large integer before */
    if (type->bits == 32 && !from_float)
      return burn__emit_real(
          type, value->type->is_signed ? (double)(float)(int64_t)value->as.bits : (double)(float)value->as.bits);
    return burn__emit_real(type, as_real(value));
  }
  if (!from_float) return burn__emit_integer(type, value->as.bits);
  if (type->kind == TYPE_BOOL) return burn__emit_integer(type, value->as.real != 0);
  if (!(fabs(value->as.real) < 9.2e18) && emitter->unevaluated) return burn__emit_integer(type, 0);
  if (!(fabs(value->as.real) < 9.2e18)) EMIT_FAIL(emitter, "%g is not an integer", value->as.real);
  return burn__emit_integer(type, (uint64_t)(int64_t)value->as.real);
}

static uint32_t select_id(Emitter *emitter, const Type *type, uint32_t chosen_by, uint32_t yes, uint32_t no) {
  return SPIRV_RESULT(&emitter->spirv, emitter->section, SpirvSelect, burn__emit_type_id(emitter, type), chosen_by, yes,
                      no);
}

static uint32_t from_bool(Emitter *emitter, uint32_t id, const Type *type) {
  const bool is_float = type->kind == TYPE_FLOAT;
  const Value one = is_float ? burn__emit_real(type, 1.0) : burn__emit_integer(type, 1);
  const Value zero = is_float ? burn__emit_real(type, 0.0) : burn__emit_integer(type, 0);
  return select_id(emitter, type, id, constant_id(emitter, &one), constant_id(emitter, &zero));
}

static uint32_t to_bool(Emitter *emitter, uint32_t id, const Type *from) {
  const bool is_float = from->kind == TYPE_FLOAT;
  const Value zero = is_float ? burn__emit_real(from, 0.0) : burn__emit_integer(from, 0);
  return burn__emit_op(emitter, is_float ? SpirvFUnordNotEqual : SpirvINotEqual, emitter->bool_type, id,
                       constant_id(emitter, &zero));
}

/* By way of 32 bits where a float meets a narrower integer. */
static uint32_t convert_number(Emitter *emitter, uint32_t id, const Type *from, const Type *type) {
  if (from->kind == TYPE_FLOAT && type->kind == TYPE_FLOAT) return burn__emit_op(emitter, SpirvFConvert, type, id, 0);
  if (from->kind == TYPE_FLOAT) {
    const bool is_narrow = type->bits < 32;
    const Type *wide = is_narrow ? emitter->integers[1][2] : type;
    const uint32_t whole = burn__emit_op(emitter, wide->is_signed ? SpirvConvertFToS : SpirvConvertFToU, wide, id, 0);
    return is_narrow ? burn__emit_op(emitter, SpirvUConvert, type, whole, 0) : whole;
  }
  if (type->kind == TYPE_FLOAT) {
    if (from->bits < 32) {
      const Type *wide = emitter->integers[1][2];
      id = burn__emit_op(emitter, from->is_signed ? SpirvSConvert : SpirvUConvert, wide, id, 0);
      return burn__emit_op(emitter, SpirvConvertSToF, type, id, 0);
    }
    return burn__emit_op(emitter, from->is_signed ? SpirvConvertSToF : SpirvConvertUToF, type, id, 0);
  }
  if (from->bits == type->bits) return id;
  return burn__emit_op(emitter, from->is_signed ? SpirvSConvert : SpirvUConvert, type, id, 0);
}

Value burn__emit_convert(Emitter *emitter, const Value *given, const Type *type) {
  Value value = burn__emit_rvalue(emitter, given);
  if (value.type == type) return value;
  if (value.kind == VALUE_NOTHING)
    EMIT_FAIL(emitter, "there is no value that could become '%s'", burn__emit_type_name(emitter, type));
  if (type->kind == TYPE_BOOL && value.kind == VALUE_POINTER) return burn__emit_integer(type, 1);
  if (type->kind == TYPE_POINTER && value.kind == VALUE_POINTER) {
    if (value.type->of == type->of || type->of->kind == TYPE_VOID) return value;
    EMIT_FAIL(emitter, "a pointer to a variable of type '%s' cannot be one to '%s'",
              burn__emit_type_name(emitter, value.type->of), burn__emit_type_name(emitter, type->of));
  }
  if (!type_is_scalar(type) || !type_is_scalar(value.type))
    EMIT_FAIL(emitter, "'%s' cannot become '%s'", burn__emit_type_name(emitter, value.type),
              burn__emit_type_name(emitter, type));
  if (type->kind == TYPE_POINTER && value.type->kind == TYPE_POINTER) {
    value.type = type;
    return value;
  }
  if (value.kind == VALUE_CONSTANT) return convert_constant(emitter, &value, type);
  const uint32_t id = burn__emit_id_of(emitter, &value);
  if (value.type->kind == TYPE_BOOL) return burn__emit_id(type, from_bool(emitter, id, type));
  if (type->kind == TYPE_BOOL) return burn__emit_id(type, to_bool(emitter, id, value.type));
  return burn__emit_id(type, convert_number(emitter, id, value.type, type));
}

Value burn__emit_truth(Emitter *emitter, const Value *value) {
  return burn__emit_convert(emitter, value, emitter->bool_type);
}

/* -- arithmetic ------------------------------------------------------------------------------- */

static const Type *promoted(Emitter *emitter, const Type *type) {
  const bool is_small = type->kind == TYPE_BOOL || (type->kind == TYPE_INTEGER && type->bits < 32);
  return is_small ? emitter->integers[1][2] : type;
}

/* The usual arithmetic conversions of C. */
const Type *burn__emit_common_type(Emitter *emitter, const Type *a, const Type *b) {
  if (a->kind == TYPE_FLOAT || b->kind == TYPE_FLOAT) {
    const bool is_double = (a->kind == TYPE_FLOAT && a->bits == 64) || (b->kind == TYPE_FLOAT && b->bits == 64);
    return emitter->floats[is_double];
  }
  a = promoted(emitter, a);
  b = promoted(emitter, b);
  if (a->bits != b->bits) return a->bits > b->bits ? a : b;
  return a->is_signed ? b : a;
}

typedef struct Operation {
  KernelPunctuator op;
  SpirvOp of_signed, of_unsigned, of_floats;
  bool is_comparison;
} Operation;

static const Operation operations[] = {
    {KERNEL_PLUS, SpirvIAdd, SpirvIAdd, SpirvFAdd, false},
    {KERNEL_MINUS, SpirvISub, SpirvISub, SpirvFSub, false},
    {KERNEL_STAR, SpirvIMul, SpirvIMul, SpirvFMul, false},
    {KERNEL_SLASH, SpirvSDiv, SpirvUDiv, SpirvFDiv, false},
    {KERNEL_PERCENT, SpirvSDiv, SpirvUMod, SpirvUndef, false}, /* signed: see signed_rest */
    {KERNEL_AND, SpirvBitwiseAnd, SpirvBitwiseAnd, SpirvUndef, false},
    {KERNEL_OR, SpirvBitwiseOr, SpirvBitwiseOr, SpirvUndef, false},
    {KERNEL_XOR, SpirvBitwiseXor, SpirvBitwiseXor, SpirvUndef, false},
    {KERNEL_SHIFT_LEFT, SpirvShiftLeftLogical, SpirvShiftLeftLogical, SpirvUndef, false},
    {KERNEL_SHIFT_RIGHT, SpirvShiftRightArithmetic, SpirvShiftRightLogical, SpirvUndef, false},
    {KERNEL_EQUAL, SpirvIEqual, SpirvIEqual, SpirvFOrdEqual, true},
    {KERNEL_NOT_EQUAL, SpirvINotEqual, SpirvINotEqual, SpirvFUnordNotEqual, true},
    {KERNEL_LESS, SpirvSLessThan, SpirvULessThan, SpirvFOrdLessThan, true},
    {KERNEL_LESS_EQUAL, SpirvSLessThanEqual, SpirvULessThanEqual, SpirvFOrdLessThanEqual, true},
    {KERNEL_GREATER, SpirvSGreaterThan, SpirvUGreaterThan, SpirvFOrdGreaterThan, true},
    {KERNEL_GREATER_EQUAL, SpirvSGreaterThanEqual, SpirvUGreaterThanEqual, SpirvFOrdGreaterThanEqual, true}};

static const Operation *find_operation(Emitter *emitter, KernelPunctuator op) {
  for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++)
    if (operations[i].op == op) return &operations[i];
  EMIT_FAIL(emitter, "'%s' is not an operator here", burn__kernel_spelling(op));
}

/* Division of f32 by way of f64, whose second rounding changes nothing. */
static Value divide_f32(Emitter *emitter, const Value *a, const Value *b) {
  const Type *wide = emitter->floats[1];
  const Value left = burn__emit_convert(emitter, a, wide), right = burn__emit_convert(emitter, b, wide);
  const uint32_t quotient =
      burn__emit_op(emitter, SpirvFDiv, wide, burn__emit_id_of(emitter, &left), burn__emit_id_of(emitter, &right));
  const Value result = burn__emit_id(wide, quotient);
  return burn__emit_convert(emitter, &result, emitter->floats[0]);
}

/* a - a / b * b: Vulkan leaves OpSRem of negative numbers open, and an H200 gives other ones. */
static Value signed_rest(Emitter *emitter, const Type *type, const Value *a, const Value *b) {
  const uint32_t left = burn__emit_id_of(emitter, a), right = burn__emit_id_of(emitter, b);
  const uint32_t quotient = burn__emit_op(emitter, SpirvSDiv, type, left, right);
  const uint32_t whole = burn__emit_op(emitter, SpirvIMul, type, quotient, right);
  return burn__emit_id(type, burn__emit_op(emitter, SpirvISub, type, left, whole));
}

static Value compute(Emitter *emitter, const Operation *operation, const Type *type, const Value *a, const Value *b) {
  const bool is_float = type->kind == TYPE_FLOAT;
  const SpirvOp op = is_float ? operation->of_floats : type->is_signed ? operation->of_signed : operation->of_unsigned;
  if (op == SpirvUndef) EMIT_FAIL(emitter, "'%s' takes integers", burn__kernel_spelling(operation->op));
  if (operation->op == KERNEL_PERCENT && type->is_signed) return signed_rest(emitter, type, a, b);
  if (op == SpirvFDiv && type->bits == 32 && !emitter->target.exact_f32) return divide_f32(emitter, a, b);
  const Type *result = operation->is_comparison ? emitter->bool_type : type;
  return burn__emit_id(result,
                       burn__emit_op(emitter, op, result, burn__emit_id_of(emitter, a), burn__emit_id_of(emitter, b)));
}

/* A pointer and an integer, or two pointers into the memory of the device. */
static Value with_pointer(Emitter *emitter, KernelPunctuator op, const Value *a, const Value *b) {
  const bool a_is = a->type->kind == TYPE_POINTER, b_is = b->type->kind == TYPE_POINTER;
  if (op == KERNEL_PLUS && a_is != b_is) return burn__emit_moved(emitter, a_is ? a : b, a_is ? b : a, false);
  if (op == KERNEL_MINUS && a_is && !b_is) return burn__emit_moved(emitter, a, b, true);
  const bool is_difference = op == KERNEL_MINUS && a_is && b_is && a->type->of->size > 0;
  const bool has_null = (!a_is && a->kind == VALUE_CONSTANT) || (!b_is && b->kind == VALUE_CONSTANT);
  if (!is_difference && !(find_operation(emitter, op)->is_comparison && ((a_is && b_is) || has_null)))
    EMIT_FAIL(emitter, "'%s' between '%s' and '%s'", burn__kernel_spelling(op), burn__emit_type_name(emitter, a->type),
              burn__emit_type_name(emitter, b->type));
  const Type *word = emitter->integers[0][3];
  Value left = burn__emit_convert(emitter, a, word), right = burn__emit_convert(emitter, b, word);
  left = left.kind == VALUE_CONSTANT ? left : burn__emit_id(word, burn__emit_id_of(emitter, &left));
  right = right.kind == VALUE_CONSTANT ? right : burn__emit_id(word, burn__emit_id_of(emitter, &right));
  if (op != KERNEL_MINUS) return burn__emit_binary(emitter, op, &left, &right);
  const Value bytes = burn__emit_binary(emitter, KERNEL_MINUS, &left, &right);
  const Value distance = burn__emit_convert(emitter, &bytes, emitter->integers[1][3]);
  const Value size = burn__emit_integer(emitter->integers[1][3], a->type->of->size);
  return burn__emit_binary(emitter, KERNEL_SLASH, &distance, &size);
}

Value burn__emit_binary(Emitter *emitter, KernelPunctuator op, const Value *left, const Value *right) {
  Value a = burn__emit_rvalue(emitter, left), b = burn__emit_rvalue(emitter, right), folded;
  if (a.type->kind == TYPE_POINTER || b.type->kind == TYPE_POINTER) return with_pointer(emitter, op, &a, &b);
  if (!type_is_number(a.type) || !type_is_number(b.type))
    EMIT_FAIL(emitter, "'%s' between '%s' and '%s'", burn__kernel_spelling(op), burn__emit_type_name(emitter, a.type),
              burn__emit_type_name(emitter, b.type));
  const bool is_shift = op == KERNEL_SHIFT_LEFT || op == KERNEL_SHIFT_RIGHT;
  const Operation *operation = find_operation(emitter, op);
  const Type *type = is_shift ? promoted(emitter, a.type) : burn__emit_common_type(emitter, a.type, b.type);
  a = burn__emit_convert(emitter, &a, type);
  b = burn__emit_convert(emitter, &b, is_shift ? emitter->integers[0][2] : type);
  if (burn__emit_fold(emitter, op, type, &a, &b, &folded)) return folded;
  return compute(emitter, operation, type, &a, &b);
}

static Value negate(Emitter *emitter, const Value *a, const Type *type) {
  const bool is_float = type->kind == TYPE_FLOAT;
  if (a->kind == VALUE_CONSTANT && is_float) return burn__emit_real(type, -a->as.real);
  if (a->kind == VALUE_CONSTANT) return burn__emit_integer(type, UINT64_C(0) - a->as.bits);
  return burn__emit_id(
      type, burn__emit_op(emitter, is_float ? SpirvFNegate : SpirvSNegate, type, burn__emit_id_of(emitter, a), 0));
}

Value burn__emit_unary(Emitter *emitter, KernelPunctuator op, const Value *given) {
  if (op == KERNEL_NOT) {
    const Value truth = burn__emit_truth(emitter, given);
    if (truth.kind == VALUE_CONSTANT) return burn__emit_integer(emitter->bool_type, !truth.as.bits);
    return burn__emit_id(emitter->bool_type, burn__emit_op(emitter, SpirvLogicalNot, emitter->bool_type, truth.id, 0));
  }
  Value a = burn__emit_rvalue(emitter, given);
  if (!type_is_number(a.type))
    EMIT_FAIL(emitter, "'%s' of '%s'", burn__kernel_spelling(op), burn__emit_type_name(emitter, a.type));
  const Type *type = promoted(emitter, a.type);
  a = burn__emit_convert(emitter, &a, type);
  if (op == KERNEL_PLUS) return a;
  if (op == KERNEL_MINUS) return negate(emitter, &a, type);
  if (type->kind == TYPE_FLOAT) EMIT_FAIL(emitter, "'~' takes integers");
  if (a.kind == VALUE_CONSTANT) return burn__emit_integer(type, ~a.as.bits);
  return burn__emit_id(type, burn__emit_op(emitter, SpirvNot, type, burn__emit_id_of(emitter, &a), 0));
}
