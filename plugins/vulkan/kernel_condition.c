/* kernel_condition.c - the integers of #if: 64 bits, with a sign unless one side has none. A side that && or
 * || or ?: leaves out may divide by zero. */
#include "kernel_pieces.h"

#include <string.h>

typedef struct Value {
  uint64_t bits;
  bool is_unsigned;
} Value;

typedef struct Expression {
  KernelReader *reader;
  const KernelPiece *at;
  uint32_t depth, unused; /* unused: what is read does not count */
} Expression;

static Value conditional(Expression *e);

static Value fail(Expression *e, const char *words) {
  (void)burn__kernel_fail(e->reader, "%s in a condition", words);
  return (Value){0};
}

static bool accept(Expression *e, KernelPunctuator punctuator) {
  if (!burn__kernel_is(e->at, punctuator)) return false;
  e->at++;
  return true;
}

/* -- operands --------------------------------------------------------------------------------- */

static Value number(Expression *e) {
  KernelToken token = {0};
  if (!burn__kernel_number(e->reader, e->at++, &token)) return (Value){0};
  if (token.kind != KERNEL_TOKEN_INTEGER) return fail(e, "a number that is not an integer");
  return (Value){token.integer, (token.suffix & KERNEL_SUFFIX_UNSIGNED) != 0 || token.integer > INT64_MAX};
}

static Value operand(Expression *e) {
  if (e->at->kind == PIECE_NUMBER) return number(e);
  if (e->at->kind == PIECE_NAME) return (Value){strcmp(e->at++->name->text, "true") == 0, false};
  if (e->at->kind == PIECE_END) return fail(e, "the last value is missing");
  if (!accept(e, KERNEL_PAREN_OPEN)) return fail(e, "a word or sign that does not belong");
  const Value value = conditional(e);
  if (!accept(e, KERNEL_PAREN_CLOSE)) return fail(e, "a parenthesis that is not closed");
  return value;
}

static Value unary(Expression *e) {
  if (e->depth == KERNEL_DEPTH || e->reader->has_failed) return fail(e, "too many values within each other");
  e->depth++;
  Value value;
  if (accept(e, KERNEL_NOT)) {
    value = (Value){unary(e).bits == 0, false};
  } else if (accept(e, KERNEL_MINUS)) {
    value = unary(e);
    value.bits = 0 - value.bits;
  } else if (accept(e, KERNEL_COMPLEMENT)) {
    value = unary(e);
    value.bits = ~value.bits;
  } else if (accept(e, KERNEL_PLUS)) {
    value = unary(e);
  } else {
    value = operand(e);
  }
  e->depth--;
  return value;
}

/* -- operators -------------------------------------------------------------------------------- */

/* 0: no operator of two sides. */
static int level_of(const KernelPiece *piece) {
  static const uint8_t levels[KERNEL_PUNCTUATOR_COUNT] = {
      [KERNEL_LOGICAL_OR] = 1,  [KERNEL_LOGICAL_AND] = 2,   [KERNEL_OR] = 3,
      [KERNEL_XOR] = 4,         [KERNEL_AND] = 5,           [KERNEL_EQUAL] = 6,
      [KERNEL_NOT_EQUAL] = 6,   [KERNEL_LESS] = 7,          [KERNEL_GREATER] = 7,
      [KERNEL_LESS_EQUAL] = 7,  [KERNEL_GREATER_EQUAL] = 7, [KERNEL_SHIFT_LEFT] = 8,
      [KERNEL_SHIFT_RIGHT] = 8, [KERNEL_PLUS] = 9,          [KERNEL_MINUS] = 9,
      [KERNEL_STAR] = 10,       [KERNEL_SLASH] = 10,        [KERNEL_PERCENT] = 10,
  };
  return piece->kind == PIECE_PUNCTUATOR ? levels[piece->index] : 0;
}

/* By sizes alone: what is negative and where the signs differ the result is, too. */
static uint64_t size_of(Value x, bool has_sign) { return has_sign && x.bits > INT64_MAX ? 0 - x.bits : x.bits; }

static Value divide(Expression *e, bool wants_rest, Value a, Value b) {
  const bool has_sign = !a.is_unsigned && !b.is_unsigned;
  const bool a_is_negative = has_sign && a.bits > INT64_MAX, b_is_negative = has_sign && b.bits > INT64_MAX;
  if (b.bits == 0 && e->unused > 0) return (Value){0, !has_sign};
  if (b.bits == 0) return fail(e, "a division by zero");
  const uint64_t size_a = size_of(a, has_sign), size_b = size_of(b, has_sign);
  const uint64_t size = wants_rest ? size_a % size_b : size_a / size_b;
  const bool is_negative = wants_rest ? a_is_negative : a_is_negative != b_is_negative;
  return (Value){is_negative ? 0 - size : size, !has_sign};
}

static Value shift(Expression *e, bool is_left, Value a, Value by) {
  if (by.bits > 63 && e->unused > 0) return a;
  if (by.bits > 63) return fail(e, "a shift by less than 0 or more than 63 bits");
  const bool is_negative = !a.is_unsigned && a.bits > INT64_MAX;
  if (is_left) return (Value){a.bits << by.bits, a.is_unsigned};
  return (Value){is_negative ? ~(~a.bits >> by.bits) : a.bits >> by.bits, a.is_unsigned};
}

static bool is_less(Value a, Value b) {
  const uint64_t sign = a.is_unsigned || b.is_unsigned ? 0 : UINT64_C(1) << 63;
  return (a.bits ^ sign) < (b.bits ^ sign);
}

static Value combine(Expression *e, uint16_t operator, Value a, Value b) {
  const bool is_unsigned = a.is_unsigned || b.is_unsigned;
  switch (operator) {
    case KERNEL_LOGICAL_OR:
      return (Value){a.bits != 0 || b.bits != 0, false};
    case KERNEL_LOGICAL_AND:
      return (Value){a.bits != 0 && b.bits != 0, false};
    case KERNEL_OR:
      return (Value){a.bits | b.bits, is_unsigned};
    case KERNEL_XOR:
      return (Value){a.bits ^ b.bits, is_unsigned};
    case KERNEL_AND:
      return (Value){a.bits & b.bits, is_unsigned};
    case KERNEL_EQUAL:
      return (Value){a.bits == b.bits, false};
    case KERNEL_NOT_EQUAL:
      return (Value){a.bits != b.bits, false};
    case KERNEL_LESS:
      return (Value){is_less(a, b), false};
    case KERNEL_GREATER:
      return (Value){is_less(b, a), false};
    case KERNEL_LESS_EQUAL:
      return (Value){!is_less(b, a), false};
    case KERNEL_GREATER_EQUAL:
      return (Value){!is_less(a, b), false};
    case KERNEL_SHIFT_LEFT:
    case KERNEL_SHIFT_RIGHT:
      return shift(e, operator== KERNEL_SHIFT_LEFT, a, b);
    case KERNEL_PLUS:
      return (Value){a.bits + b.bits, is_unsigned};
    case KERNEL_MINUS:
      return (Value){a.bits - b.bits, is_unsigned};
    case KERNEL_STAR:
      return (Value){a.bits * b.bits, is_unsigned};
    default:
      return divide(e, operator== KERNEL_PERCENT, a, b);
  }
}

/* What binds at least as tightly as `least`. */
static Value binary(Expression *e, int least) {
  Value left = unary(e);
  for (;;) {
    const int level = level_of(e->at);
    if (level < least) return left;
    const uint16_t operator= e->at++->index;
    const bool is_decided = operator== KERNEL_LOGICAL_OR  ? left.bits != 0 :
                            operator== KERNEL_LOGICAL_AND ? left.bits == 0
                                                          : false;
    e->unused += is_decided;
    const Value right = binary(e, level + 1);
    e->unused -= is_decided;
    left = combine(e, operator, left, right);
  }
}

static Value conditional(Expression *e) {
  if (e->depth == KERNEL_DEPTH || e->reader->has_failed) return fail(e, "too many values within each other");
  e->depth++;
  Value value = binary(e, 1);
  if (accept(e, KERNEL_QUESTION)) {
    const bool is_true = value.bits != 0;
    e->unused += !is_true;
    const Value yes = conditional(e);
    e->unused -= !is_true;
    if (!accept(e, KERNEL_COLON)) (void)fail(e, "a ? without a :");
    e->unused += is_true;
    const Value no = conditional(e);
    e->unused -= is_true;
    value = (Value){is_true ? yes.bits : no.bits, yes.is_unsigned || no.is_unsigned};
  }
  e->depth--;
  return value;
}

/* -- a line ----------------------------------------------------------------------------------- */

uint64_t burn__kernel_evaluate(KernelReader *reader, const KernelPieces *pieces) {
  Expression e = {.reader = reader, .at = pieces->at};
  const Value value = conditional(&e);
  if (!reader->has_failed && e.at->kind != PIECE_END) (void)fail(&e, "a word or sign that does not belong");
  return value.bits;
}

/* `defined` has been read: NAME or (NAME) follows, which no macro expands. */
static void read_defined(KernelReader *reader, KernelPiece *out) {
  KernelPiece name, close;
  burn__kernel_next_raw(reader, &name);
  const bool is_open = burn__kernel_is(&name, KERNEL_PAREN_OPEN);
  if (is_open) burn__kernel_next_raw(reader, &name);
  if (name.kind != PIECE_NAME) (void)burn__kernel_fail(reader, "`defined` needs a name");
  if (is_open) {
    burn__kernel_next_raw(reader, &close);
    if (!burn__kernel_is(&close, KERNEL_PAREN_CLOSE))
      (void)burn__kernel_fail(reader, "a parenthesis after `defined` is not closed");
  }
  out->kind = PIECE_NUMBER;
  out->text = !reader->has_failed && name.name->macro ? "1" : "0";
  out->length = 1;
}

bool burn__kernel_condition(KernelReader *reader) {
  KernelPieces pieces = {0};
  KernelPiece piece;
  do {
    burn__kernel_next(reader, &piece);
    if (piece.kind == PIECE_NAME && piece.name->text == reader->defined) read_defined(reader, &piece);
    if (!burn__kernel_append(reader, &pieces, &piece)) return false;
  } while (piece.kind != PIECE_END);
  return burn__kernel_evaluate(reader, &pieces) != 0 && !reader->has_failed;
}
