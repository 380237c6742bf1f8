/* kernel_expressions.c - expressions: names, operators, choices, initializers. */
#include "kernel_emit.h"

/* -- numbers and names ------------------------------------------------------------------------ */

static Value integer_literal(Emitter *emitter, const Node *node) {
  const uint64_t n = node->integer;
  if (node->suffix & 0x80) return burn__emit_integer(emitter->bool_type, n);
  const bool is_long = (node->suffix & KERNEL_SUFFIX_LONG) != 0,
             is_unsigned = (node->suffix & KERNEL_SUFFIX_UNSIGNED) != 0;
  const bool may_be_unsigned = is_unsigned || (node->suffix & KERNEL_SUFFIX_OTHER_BASE) != 0;
  if (!is_long && !is_unsigned && n <= INT32_MAX) return burn__emit_integer(emitter->integers[1][2], n);
  if (!is_long && may_be_unsigned && n <= UINT32_MAX) return burn__emit_integer(emitter->integers[0][2], n);
  if (!is_unsigned && n <= INT64_MAX) return burn__emit_integer(emitter->integers[1][3], n);
  return burn__emit_integer(emitter->integers[0][3], n);
}

static Value named(Emitter *emitter, const Node *node) {
  if (node->type) {
    TypeSyntax of = *node->type;
    of.member = NULL;
    return burn__emit_static_member(emitter, burn__emit_type(emitter, &of), node->name);
  }
  const Symbol *symbol = burn__emit_find_symbol(emitter, node->name);
  if (symbol && !symbol->type) return symbol->value;
  const Declaration *declaration = burn__syntax_find(emitter->syntax, node->name);
  while (declaration && declaration->kind != DECLARES_CONSTANT) declaration = declaration->next;
  if (!declaration) EMIT_FAIL(emitter, "there is no '%s'", node->name);
  return burn__emit_constant_named(emitter, declaration);
}

/* -- places that are written ------------------------------------------------------------------ */

static Value target_of(Emitter *emitter, const Node *node) {
  const Value target = burn__emit_expression(emitter, node);
  if (target.kind != VALUE_PLACE) EMIT_FAIL(emitter, "what is written to has no place");
  return target;
}

static Value assignment(Emitter *emitter, const Node *node) {
  Value value;
  if (node->op != KERNEL_ASSIGN) {
    const Value by = burn__emit_number(emitter, node->b); /* first, as in C++17 */
    const Value target = target_of(emitter, node->a), before = burn__emit_rvalue(emitter, &target);
    value = burn__emit_binary(emitter, (KernelPunctuator)node->op, &before, &by);
    burn__emit_store(emitter, target.type, &target.place, &value);
    return target;
  }
  if (node->b->kind == NODE_LIST) {
    const Value target = target_of(emitter, node->a);
    value = burn__emit_initial(emitter, target.type, node->b);
    burn__emit_store(emitter, target.type, &target.place, &value);
    return target;
  }
  const Value given = burn__emit_expression(emitter, node->b); /* first, as it may call what ends blocks */
  value = burn__emit_rvalue(emitter, &given);
  const Value target = target_of(emitter, node->a);
  burn__emit_store(emitter, target.type, &target.place, &value);
  return target;
}

/* ++ and --; before: the result is the new value. */
static Value step(Emitter *emitter, const Node *node, bool before) {
  const Value target = target_of(emitter, node->a), old = burn__emit_rvalue(emitter, &target);
  const Value one = burn__emit_integer(emitter->integers[1][2], 1);
  const Value next = burn__emit_binary(emitter, node->op == KERNEL_INCREMENT ? KERNEL_PLUS : KERNEL_MINUS, &old, &one);
  burn__emit_store(emitter, target.type, &target.place, &next);
  return before ? target : old;
}

/* -- choices ---------------------------------------------------------------------------------- */

/* A name may be a reference to what lies in memory, or to an element. */
static bool is_value(Emitter *emitter, const Node *name) {
  const Symbol *symbol = name->type ? NULL : burn__emit_find_symbol(emitter, name->name);
  if (!symbol || symbol->type || symbol->value.kind != VALUE_PLACE) return true;
  const Place *place = &symbol->value.place;
  bool is_known = place->space != SPACE_MEMORY && !place->dynamic;
  for (uint32_t i = 0; i < place->depth; i++) is_known = is_known && !place->indices[i].id;
  return is_known;
}

/* True if both sides of a choice may be computed: nothing is read, written or divided by. */
static bool is_harmless(Emitter *emitter, const Node *node) {
  burn__emit_work(emitter, 1);
  switch ((NodeKind)node->kind) {
    case NODE_INTEGER:
    case NODE_REAL:
    case NODE_SIZEOF:
      return true;
    case NODE_NAME:
      return is_value(emitter, node);
    case NODE_MEMBER:
    case NODE_CAST:
      return is_harmless(emitter, node->a);
    case NODE_UNARY:
      return node->op != KERNEL_STAR && node->op != KERNEL_AND && node->op != KERNEL_INCREMENT &&
             node->op != KERNEL_DECREMENT && is_harmless(emitter, node->a);
    case NODE_BINARY:
      return node->op != KERNEL_SLASH && node->op != KERNEL_PERCENT && is_harmless(emitter, node->a) &&
             is_harmless(emitter, node->b);
    case NODE_CONDITION:
      return is_harmless(emitter, node->a) && is_harmless(emitter, node->b) && is_harmless(emitter, node->c);
    default:
      return false;
  }
}

static bool is_null(const Value *value) {
  return value->kind == VALUE_CONSTANT && value->type->kind != TYPE_FLOAT && value->as.bits == 0;
}

static const Type *chosen_type(Emitter *emitter, const Value *yes, const Value *no) {
  if (yes->type == no->type) return yes->type;
  if (yes->type->kind == TYPE_POINTER && is_null(no)) return yes->type;
  if (no->type->kind == TYPE_POINTER && is_null(yes)) return no->type;
  if (!type_is_number(yes->type) || !type_is_number(no->type))
    EMIT_FAIL(emitter, "a choice between '%s' and '%s'", burn__emit_type_name(emitter, yes->type),
              burn__emit_type_name(emitter, no->type));
  return burn__emit_common_type(emitter, yes->type, no->type);
}

static Value selected(Emitter *emitter, const Value *truth, const Node *yes_node, const Node *no_node) {
  Value yes = burn__emit_number(emitter, yes_node), no = burn__emit_number(emitter, no_node);
  const Type *type = chosen_type(emitter, &yes, &no);
  yes = burn__emit_convert(emitter, &yes, type);
  no = burn__emit_convert(emitter, &no, type);
  const uint32_t a = burn__emit_id_of(emitter, &yes), b = burn__emit_id_of(emitter, &no);
  return burn__emit_id(type, SPIRV_RESULT(&emitter->spirv, emitter->section, SpirvSelect,
                                          burn__emit_type_id(emitter, type), truth->id, a, b));
}

static void branch_on(Emitter *emitter, uint32_t truth, uint32_t yes, uint32_t no, uint32_t merge) {
  SPIRV_PUT(&emitter->spirv, emitter->section, SpirvSelectionMerge, merge, 0);
  SPIRV_PUT(&emitter->spirv, emitter->section, SpirvBranchConditional, truth, yes, no);
  emitter->open = false;
}

/* A way of a choice: its value, in a block that goes on to `end`, where it gets the type of both. */
static Value way(Emitter *emitter, uint32_t label, const Node *node, uint32_t end) {
  burn__emit_block_begin(emitter, label);
  const Value value = burn__emit_number(emitter, node);
  burn__emit_branch(emitter, end);
  return value;
}

static uint32_t end_of_way(Emitter *emitter, uint32_t label, const Value *value, const Type *type, uint32_t merge) {
  burn__emit_block_begin(emitter, label);
  const Value converted = burn__emit_convert(emitter, value, type);
  const uint32_t id = burn__emit_id_of(emitter, &converted);
  burn__emit_branch(emitter, merge);
  return id;
}

static Value branched(Emitter *emitter, const Value *truth, const Node *yes_node, const Node *no_node) {
  Spirv *spirv = &emitter->spirv;
  const uint32_t labels[] = {spirv_id(spirv), spirv_id(spirv), spirv_id(spirv), spirv_id(spirv), spirv_id(spirv)};
  branch_on(emitter, truth->id, labels[0], labels[1], labels[4]);
  const Value yes = way(emitter, labels[0], yes_node, labels[2]), no = way(emitter, labels[1], no_node, labels[3]);
  const bool is_void = yes.kind == VALUE_NOTHING || no.kind == VALUE_NOTHING;
  const Type *type = is_void ? emitter->void_type : chosen_type(emitter, &yes, &no);
  if (is_void) EMIT_FAIL(emitter, "a choice without a value");
  const uint32_t a = end_of_way(emitter, labels[2], &yes, type, labels[4]);
  const uint32_t b = end_of_way(emitter, labels[3], &no, type, labels[4]);
  burn__emit_block_begin(emitter, labels[4]);
  return burn__emit_id(type, SPIRV_RESULT(spirv, emitter->section, SpirvPhi, burn__emit_type_id(emitter, type), a,
                                          labels[2], b, labels[3]));
}

/* The way that is not taken counts for the type: (true ? 1 : 2.0f) is a float. */
static Value taken(Emitter *emitter, const Node *node, const Node *other) {
  const Value value = burn__emit_expression(emitter, node);
  if (value.kind == VALUE_NOTHING || !type_is_number(value.type)) return value;
  const Type *type = burn__emit_type_of(emitter, other);
  if (type == value.type || !type_is_number(type)) return value;
  return burn__emit_convert(emitter, &value, burn__emit_common_type(emitter, value.type, type));
}

static Value choice(Emitter *emitter, const Node *node) {
  const Value given = burn__emit_number(emitter, node->a), truth = burn__emit_truth(emitter, &given);
  if (truth.kind == VALUE_CONSTANT)
    return truth.as.bits ? taken(emitter, node->b, node->c) : taken(emitter, node->c, node->b);
  if (is_harmless(emitter, node->b) && is_harmless(emitter, node->c))
    return selected(emitter, &truth, node->b, node->c);
  return branched(emitter, &truth, node->b, node->c);
}

/* a && b, a || b: b only if a does not decide. */
static Value logical(Emitter *emitter, const Node *node) {
  Spirv *spirv = &emitter->spirv;
  const Type *type = emitter->bool_type;
  const bool is_and = node->op == KERNEL_LOGICAL_AND;
  const Value left = burn__emit_number(emitter, node->a), a = burn__emit_truth(emitter, &left);
  if (a.kind == VALUE_CONSTANT && (a.as.bits != 0) != is_and) return a;
  if (a.kind == VALUE_CONSTANT || is_harmless(emitter, node->b)) {
    const Value right = burn__emit_number(emitter, node->b), b = burn__emit_truth(emitter, &right);
    if (a.kind == VALUE_CONSTANT) return b;
    if (b.kind == VALUE_CONSTANT) return (b.as.bits != 0) == is_and ? a : b;
    return burn__emit_id(type, burn__emit_op(emitter, is_and ? SpirvLogicalAnd : SpirvLogicalOr, type, a.id, b.id));
  }
  const uint32_t more = spirv_id(spirv), merge = spirv_id(spirv), before = emitter->block;
  branch_on(emitter, a.id, is_and ? more : merge, is_and ? merge : more, merge);
  burn__emit_block_begin(emitter, more);
  const Value right = burn__emit_number(emitter, node->b), b = burn__emit_truth(emitter, &right);
  const uint32_t id = burn__emit_id_of(emitter, &b), after = emitter->block;
  burn__emit_branch(emitter, merge);
  burn__emit_block_begin(emitter, merge);
  return burn__emit_id(type, SPIRV_RESULT(spirv, emitter->section, SpirvPhi, burn__emit_type_id(emitter, type), a.id,
                                          before, id, after));
}

/* -- operators -------------------------------------------------------------------------------- */

static Value unary(Emitter *emitter, const Node *node) {
  if (node->op == KERNEL_INCREMENT || node->op == KERNEL_DECREMENT) return step(emitter, node, true);
  Value a = burn__emit_expression(emitter, node->a);
  if (node->op == KERNEL_STAR) return burn__emit_dereference(emitter, &a);
  if (node->op != KERNEL_AND) return burn__emit_unary(emitter, (KernelPunctuator)node->op, &a);
  if (a.kind == VALUE_ID || a.kind == VALUE_CONSTANT) a = burn__emit_spill(emitter, &a); /* it is never written to */
  Value pointer = burn__emit_address_of(emitter, &a);
  if (pointer.kind == VALUE_POINTER && node->a->kind == NODE_INDEX) pointer.may_move = true;
  return pointer;
}

static Value binary(Emitter *emitter, const Node *node) {
  if (node->op == KERNEL_LOGICAL_AND || node->op == KERNEL_LOGICAL_OR) return logical(emitter, node);
  if (node->op == KERNEL_COMMA) {
    (void)burn__emit_expression(emitter, node->a);
    return burn__emit_expression(emitter, node->b);
  }
  const Value a = burn__emit_number(emitter, node->a), b = burn__emit_number(emitter, node->b);
  return burn__emit_binary(emitter, (KernelPunctuator)node->op, &a, &b);
}

static Value cast(Emitter *emitter, const Node *node) {
  const Type *type = burn__emit_type(emitter, node->type);
  if (node->a->kind == NODE_LIST) return burn__emit_initial(emitter, type, node->a);
  const Value value = burn__emit_number(emitter, node->a);
  if (type->kind == TYPE_VOID) return (Value){.kind = VALUE_NOTHING, .type = type};
  return burn__emit_convert(emitter, &value, type);
}

const Type *burn__emit_type_of(Emitter *emitter, const Node *node) {
  const Trial trial = burn__emit_try(emitter);
  emitter->unevaluated++;
  const Type *type = burn__emit_expression(emitter, node).type;
  emitter->unevaluated--;
  (void)burn__emit_take_back(emitter, &trial);
  return type;
}

static Value size_of(Emitter *emitter, const Node *node) {
  const Type *type = node->type ? burn__emit_type(emitter, node->type) : burn__emit_type_of(emitter, node->a);
  return burn__emit_integer(emitter->integers[0][3], type->size);
}

static Value member(Emitter *emitter, const Node *node) {
  Value value;
  if (burn__emit_builtin_member(emitter, node, &value)) return value;
  value = burn__emit_expression(emitter, node->a);
  return burn__emit_member(emitter, &value, node->name);
}

static Value element(Emitter *emitter, const Node *node) {
  const Value index = burn__emit_number(emitter, node->b);
  const Value value = burn__emit_expression(emitter, node->a);
  return burn__emit_index(emitter, &value, &index);
}

static Value expression(Emitter *emitter, const Node *node) {
  emitter->line = node->line;
  switch ((NodeKind)node->kind) {
    case NODE_INTEGER:
      return integer_literal(emitter, node);
    case NODE_REAL:
      return burn__emit_real(emitter->floats[(node->suffix & KERNEL_SUFFIX_FLOAT) == 0], node->real);
    case NODE_NAME:
      return named(emitter, node);
    case NODE_MEMBER:
      return member(emitter, node);
    case NODE_INDEX:
      return element(emitter, node);
    case NODE_CALL:
      return burn__emit_call(emitter, node);
    case NODE_UNARY:
      return unary(emitter, node);
    case NODE_POSTFIX:
      return step(emitter, node, false);
    case NODE_BINARY:
      return binary(emitter, node);
    case NODE_ASSIGN:
      return assignment(emitter, node);
    case NODE_CONDITION:
      return choice(emitter, node);
    case NODE_CAST:
      return cast(emitter, node);
    case NODE_SIZEOF:
      return size_of(emitter, node);
    default:
      EMIT_FAIL(emitter, "this is not an expression");
  }
}

Value burn__emit_expression(Emitter *emitter, const Node *node) {
  burn__emit_deeper(emitter);
  const Value value = expression(emitter, node);
  emitter->depth--;
  return value;
}

Value burn__emit_number(Emitter *emitter, const Node *node) {
  const Value value = burn__emit_expression(emitter, node);
  return burn__emit_rvalue(emitter, &value);
}

/* -- initializers ----------------------------------------------------------------------------- */

static Value zero_of(Emitter *emitter, const Type *type) {
  if (type->kind == TYPE_FLOAT) return burn__emit_real(type, 0.0);
  if (type_is_scalar(type)) return burn__emit_integer(type, 0);
  return burn__emit_id(
      type, burn__spirv_global(&emitter->spirv, SpirvConstantNull, burn__emit_type_id(emitter, type), NULL, 0));
}

static Value from_list(Emitter *emitter, const Type *type, const Node *list) {
  const uint32_t count = type->kind == TYPE_ARRAY ? (uint32_t)type->count : type->member_count;
  uint32_t *parts = burn__kernel_allocate(emitter->arena, (count + UINT64_C(1)) * sizeof *parts);
  const Node *node = list->a;
  burn__emit_work(emitter, count);
  if (type->kind == TYPE_VOID) EMIT_FAIL(emitter, "a list for '%s'", burn__emit_type_name(emitter, type));
  if (!node) return zero_of(emitter, type);
  for (uint32_t i = 0; i < count; i++) {
    const Type *of = type->kind == TYPE_ARRAY ? type->of : type->members[i].type;
    const Value part = node ? burn__emit_initial(emitter, of, node) : zero_of(emitter, of);
    parts[i] = burn__emit_id_of(emitter, &part);
    if (node) node = node->next;
  }
  if (node) EMIT_FAIL(emitter, "more than %u values for '%s'", count, burn__emit_type_name(emitter, type));
  return burn__emit_id(type, burn__spirv_result(&emitter->spirv, emitter->section, SpirvCompositeConstruct,
                                                burn__emit_type_id(emitter, type), parts, count));
}

static Value initial(Emitter *emitter, const Type *type, const Node *node) {
  emitter->line = node->line;
  if (node->kind != NODE_LIST) {
    const Value value = burn__emit_number(emitter, node);
    return burn__emit_convert(emitter, &value, type);
  }
  if (!type_is_scalar(type)) return from_list(emitter, type, node);
  if (!node->a) return zero_of(emitter, type);
  if (node->a->next) EMIT_FAIL(emitter, "more than one value for '%s'", burn__emit_type_name(emitter, type));
  return burn__emit_initial(emitter, type, node->a);
}

Value burn__emit_initial(Emitter *emitter, const Type *type, const Node *node) {
  burn__emit_deeper(emitter);
  const Value value = initial(emitter, type, node);
  emitter->depth--;
  return value;
}
