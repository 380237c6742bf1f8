/* kernel_fold.c - arithmetic of constants, and of the numbers that change nothing. */
#include "kernel_emit.h"

/* Both are of the type, or, for shifts, the second is a count. */
static bool fold_integers(KernelPunctuator op, const Type *type, uint64_t a, uint64_t b, uint64_t *out) {
  const bool is_signed = type->is_signed;
  const int64_t sa = (int64_t)a, sb = (int64_t)b;
  const uint64_t count = b & (type->bits - 1u);
  switch ((int)op) {
    case KERNEL_PLUS:
      *out = a + b;
      return true;
    case KERNEL_MINUS:
      *out = a - b;
      return true;
    case KERNEL_STAR:
      *out = a * b;
      return true;
    case KERNEL_SLASH:
    case KERNEL_PERCENT:
      if (b == 0 || (is_signed && sa == INT64_MIN && sb == -1)) return false;
      if (op == KERNEL_SLASH)
        *out = is_signed ? (uint64_t)(sa / sb) : a / b;
      else
        *out = is_signed ? (uint64_t)(sa % sb) : a % b;
      return true;
    case KERNEL_AND:
      *out = a & b;
      return true;
    case KERNEL_OR:
      *out = a | b;
      return true;
    case KERNEL_XOR:
      *out = a ^ b;
      return true;
    case KERNEL_SHIFT_LEFT:
      *out = a << count;
      return true;
    case KERNEL_SHIFT_RIGHT:
      *out = is_signed && sa < 0 ? ~(~a >> count) : a >> count;
      return true;
    default:
      return false;
  }
}

/* -1, 0 or 1; 2 where a NaN is among them. */
static int order_of(const Type *type, const Value *a, const Value *b) {
  if (type->kind == TYPE_FLOAT)
    return a->as.real < b->as.real ? -1 : a->as.real > b->as.real ? 1 : a->as.real == b->as.real ? 0 : 2;
  if (type->is_signed) return ((int64_t)a->as.bits > (int64_t)b->as.bits) - ((int64_t)a->as.bits < (int64_t)b->as.bits);
  return (a->as.bits > b->as.bits) - (a->as.bits < b->as.bits);
}

static bool fold_comparison(KernelPunctuator op, int order, bool *out) {
  switch ((int)op) {
    case KERNEL_EQUAL:
      *out = order == 0;
      return true;
    case KERNEL_NOT_EQUAL:
      *out = order != 0;
      return true;
    case KERNEL_LESS:
      *out = order == -1;
      return true;
    case KERNEL_LESS_EQUAL:
      *out = order == -1 || order == 0;
      return true;
    case KERNEL_GREATER:
      *out = order == 1;
      return true;
    case KERNEL_GREATER_EQUAL:
      *out = order == 1 || order == 0;
      return true;
    default:
      return false;
  }
}

static bool fold_floats(KernelPunctuator op, const Type *type, double a, double b, double *out) {
  const float na = (float)a, nb = (float)b;
  const bool is_f32 = type->bits == 32;
  switch ((int)op) {
    case KERNEL_PLUS:
      *out = is_f32 ? (double)(na + nb) : a + b;
      return true;
    case KERNEL_MINUS:
      *out = is_f32 ? (double)(na - nb) : a - b;
      return true;
    case KERNEL_STAR:
      *out = is_f32 ? (double)(na * nb) : a * b;
      return true;
    case KERNEL_SLASH:
      *out = is_f32 ? (double)(na / nb) : a / b;
      return true;
    default:
      return false;
  }
}

static bool is_number(const Value *value, uint64_t number) {
  return value->kind == VALUE_CONSTANT && value->as.bits == number;
}

/* Of integers: x + 0, x - 0, x * 1, x / 1, x << 0, and x * 0. */
static bool changes_nothing(KernelPunctuator op, const Type *type, const Value *a, const Value *b, Value *out) {
  const bool adds = op == KERNEL_PLUS || op == KERNEL_OR || op == KERNEL_XOR, multiplies = op == KERNEL_STAR;
  const bool shifts = op == KERNEL_SHIFT_LEFT || op == KERNEL_SHIFT_RIGHT || op == KERNEL_MINUS;
  if (((adds || shifts) && is_number(b, 0)) || ((multiplies || op == KERNEL_SLASH) && is_number(b, 1))) {
    *out = *a;
    return true;
  }
  if ((adds && is_number(a, 0)) || (multiplies && is_number(a, 1))) {
    *out = *b;
    return true;
  }
  if (!multiplies || (!is_number(a, 0) && !is_number(b, 0))) return false;
  *out = burn__emit_integer(type, 0);
  return true;
}

bool burn__emit_fold(Emitter *emitter, KernelPunctuator op, const Type *type, const Value *a, const Value *b,
                     Value *out) {
  bool truth = false;
  uint64_t bits = 0;
  double real = 0;
  if (a->kind != VALUE_CONSTANT || b->kind != VALUE_CONSTANT)
    return type->kind != TYPE_FLOAT && changes_nothing(op, type, a, b, out);
  if (fold_comparison(op, order_of(type, a, b), &truth)) {
    *out = burn__emit_integer(emitter->bool_type, truth);
    return true;
  }
  if (type->kind == TYPE_FLOAT) {
    if (!fold_floats(op, type, a->as.real, b->as.real, &real)) return false;
    *out = burn__emit_real(type, real);
    return true;
  }
  if (!fold_integers(op, type, a->as.bits, b->as.bits, &bits)) return false;
  *out = burn__emit_integer(type, bits);
  return true;
}
