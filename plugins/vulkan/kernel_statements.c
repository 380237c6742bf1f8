/* kernel_statements.c - statements: variables, branches, loops, and how they are left. */
#include "kernel_emit.h"

enum { MAX_UNROLLED = 64, MAX_UNROLLED_UNASKED = 8, MAX_WORDS_UNASKED = 400 };
enum { MAX_WORDS_UNROLLED = 160000, MAX_WORDS_ON_PROCESSORS = 12000 };

/* -- blocks of the module --------------------------------------------------------------------- */

void burn__emit_block_begin(Emitter *emitter, uint32_t label) {
  SPIRV_PUT(&emitter->spirv, emitter->section, SpirvLabel, label);
  emitter->block = label;
  emitter->open = true;
}

void burn__emit_branch(Emitter *emitter, uint32_t label) {
  if (!emitter->open) return;
  SPIRV_PUT(&emitter->spirv, emitter->section, SpirvBranch, label);
  emitter->open = false;
}

static void branch_conditional(Emitter *emitter, uint32_t truth, uint32_t yes, uint32_t no) {
  SPIRV_PUT(&emitter->spirv, emitter->section, SpirvBranchConditional, truth, yes, no);
  emitter->open = false;
}

/* Nothing comes here, but the specification wants the block. */
static void unreachable_block(Emitter *emitter, uint32_t label) {
  burn__emit_block_begin(emitter, label);
  burn__spirv_put(&emitter->spirv, emitter->section, SpirvUnreachable, NULL, 0);
  emitter->open = false;
}

/* -- variables -------------------------------------------------------------------------------- */

static bool has_arrays(const Type *type) {
  if (type->kind == TYPE_ARRAY) return true;
  for (uint32_t i = 0; type->kind == TYPE_STRUCT && i < type->member_count; i++)
    if (has_arrays(type->members[i].type)) return true;
  return false;
}

/* The name of a place, or of a value where there is none. */
static Value reference(Emitter *emitter, const Node *node, const Type *type) {
  if (!node->a) EMIT_FAIL(emitter, "the reference '%s' is to nothing", node->name);
  const Value value = burn__emit_expression(emitter, node->a);
  if (value.kind == VALUE_PLACE && (value.type == type || type == emitter->auto_type)) return value;
  return burn__emit_convert(emitter, &value, type);
}

static Value variable(Emitter *emitter, const Node *node, const Node *scope) {
  const bool is_auto = node->type->form == FORM_NAME && burn__emit_type(emitter, node->type) == emitter->auto_type;
  const Type *type = is_auto ? NULL : burn__emit_type(emitter, node->type);
  if (is_auto && (!node->a || node->is_shared)) EMIT_FAIL(emitter, "'%s' has no type", node->name);
  if (node->is_shared && node->a) EMIT_FAIL(emitter, "the shared variable '%s' cannot begin with a value", node->name);
  if (node->is_shared) return burn__emit_shared(emitter, type, node);
  if (!is_auto && node->type->form == FORM_REFERENCE) return reference(emitter, node, type);
  if (!node->a) return burn__emit_variable(emitter, type);
  const Value value = is_auto ? burn__emit_number(emitter, node->a) : burn__emit_initial(emitter, type, node->a);
  if (value.kind == VALUE_NOTHING) EMIT_FAIL(emitter, "'%s' begins with what is not a value", node->name);
  const bool is_written = burn__emit_writes(emitter, scope, node->name, value.type);
  if (value.kind == VALUE_POINTER) {
    if (is_written) EMIT_FAIL(emitter, "the pointer '%s' to a variable is set more than once", node->name);
    return value;
  }
  return is_written || has_arrays(value.type) ? burn__emit_spill(emitter, &value) : value;
}

/* Of an enum in a function; one without a value follows the one before. */
static Value local_constant(Emitter *emitter, const Node *node) {
  const Value zero = burn__emit_integer(emitter->integers[1][2], 0), one = burn__emit_integer(zero.type, 1);
  if (node->a) {
    const Value value = burn__emit_number(emitter, node->a);
    return burn__emit_integer(value.type, (uint64_t)burn__emit_known(emitter, &value));
  }
  const Symbol *before = node->b ? burn__emit_find_symbol(emitter, node->b->name) : NULL;
  return before ? burn__emit_binary(emitter, KERNEL_PLUS, &before->value, &one) : zero;
}

/* `scope`: the statements in which the names are seen, beside those after it in the same declaration. */
static void declare(Emitter *emitter, const Node *list, const Node *scope) {
  for (const Node *node = list; node; node = node->next) {
    emitter->line = node->line;
    Value value;
    if (node->kind == NODE_CONSTANT) {
      value = local_constant(emitter, node);
    } else {
      value = variable(emitter, node, scope);
    }
    burn__emit_add_symbol(emitter, node->name, NULL, &value);
  }
}

/* -- returns ---------------------------------------------------------------------------------- */

static void set_result(Emitter *emitter, const Node *node, bool is_only) {
  Frame *frame = emitter->frame;
  if (!node->a) return;
  if (node->a->kind == NODE_LIST && !frame->result) EMIT_FAIL(emitter, "a list is returned by a function without type");
  Value value =
      frame->result ? burn__emit_initial(emitter, frame->result, node->a) : burn__emit_number(emitter, node->a);
  if (!frame->result) frame->result = value.type;
  if (frame->result->kind == TYPE_VOID) return;
  if (is_only) {
    frame->value = value;
    return;
  }
  if (frame->value.kind == VALUE_NOTHING) frame->value = burn__emit_variable(emitter, frame->result);
  burn__emit_store(emitter, frame->result, &frame->value.place, &value);
}

/* Out of all loops of the function, one after the other; each then looks whether it goes on. */
static void leave_loops(Emitter *emitter) {
  const Frame *frame = emitter->frame;
  const Value yes = burn__emit_integer(emitter->bool_type, 1);
  SPIRV_PUT(&emitter->spirv, emitter->section, SpirvStore, frame->returned, burn__emit_id_of(emitter, &yes));
  for (uint32_t i = frame->first_loop; i < emitter->loop_count; i++) emitter->loops[i].has_return = true;
  burn__emit_branch(emitter, emitter->loops[emitter->loop_count - 1].merge);
}

/* True if a statement is the only one of its function that returns, and its last. */
static bool is_only_return(const Frame *frame, const Node *node) {
  uint32_t returns = 0;
  bool is_last = false;
  for (const Node *s = frame->function->body->a; s; s = s->next) {
    returns += burn__emit_has_kind(s, NODE_RETURN);
    is_last = is_last || s == node;
  }
  return frame->is_tail && is_last && returns == 1;
}

static void return_statement(Emitter *emitter, const Node *node) {
  const Frame *frame = emitter->frame;
  if (frame->function->is_kernel) {
    burn__spirv_put(&emitter->spirv, emitter->section, SpirvReturn, NULL, 0);
    emitter->open = false;
    return;
  }
  set_result(emitter, node, is_only_return(frame, node));
  if (frame->is_tail) return;
  if (emitter->loop_count > frame->first_loop)
    leave_loops(emitter);
  else
    burn__emit_branch(emitter, frame->merge);
}

/* Behind a loop that may have been left by a return: on to the next one, or to the end of the function. */
static void go_on_returning(Emitter *emitter) {
  Spirv *spirv = &emitter->spirv;
  const Frame *frame = emitter->frame;
  const uint32_t yes = spirv_id(spirv), no = spirv_id(spirv);
  const Place place = {.space = SPACE_LOCAL, .variable = frame->returned};
  const Value flag = burn__emit_load(emitter, emitter->bool_type, &place);
  SPIRV_PUT(spirv, emitter->section, SpirvSelectionMerge, no, 0);
  branch_conditional(emitter, flag.id, yes, no);
  burn__emit_block_begin(emitter, yes);
  const bool is_inner = emitter->loop_count > frame->first_loop;
  burn__emit_branch(emitter, is_inner ? emitter->loops[emitter->loop_count - 1].merge : frame->merge);
  burn__emit_block_begin(emitter, no);
}

/* -- if --------------------------------------------------------------------------------------- */

static void statement(Emitter *emitter, const Node *node);

/* Statements with names of their own, then the rest of the list that follows them. */
static void way(Emitter *emitter, const Node *node, const Node *rest) {
  const uint32_t symbols = emitter->symbol_count;
  if (node) statement(emitter, node);
  emitter->symbol_count = symbols;
  if (rest && emitter->open) burn__emit_statements(emitter, rest);
  emitter->symbol_count = symbols;
}

/* `yes_rest`, `no_rest`: what follows the `if`, where it belongs to one of its ways. */
static void if_statement(Emitter *emitter, const Node *node, const Node *yes_rest, const Node *no_rest) {
  Spirv *spirv = &emitter->spirv;
  const Value given = burn__emit_number(emitter, node->a), truth = burn__emit_truth(emitter, &given);
  if (truth.kind == VALUE_CONSTANT) {
    if (truth.as.bits)
      way(emitter, node->b, yes_rest);
    else
      way(emitter, node->c, no_rest);
    return;
  }
  const bool has_else = node->c || no_rest;
  const uint32_t yes = spirv_id(spirv), no = has_else ? spirv_id(spirv) : 0, merge = spirv_id(spirv);
  SPIRV_PUT(spirv, emitter->section, SpirvSelectionMerge, merge, 0);
  branch_conditional(emitter, truth.id, yes, has_else ? no : merge);
  burn__emit_block_begin(emitter, yes);
  way(emitter, node->b, yes_rest);
  bool is_reached = emitter->open || !has_else;
  burn__emit_branch(emitter, merge);
  if (has_else) {
    burn__emit_block_begin(emitter, no);
    way(emitter, node->c, no_rest);
    is_reached = is_reached || emitter->open;
    burn__emit_branch(emitter, merge);
  }
  if (is_reached)
    burn__emit_block_begin(emitter, merge);
  else
    unreachable_block(emitter, merge);
}

/* -- loops ------------------------------------------------------------------------------------ */

static Loop *push_loop(Emitter *emitter, uint32_t merge, uint32_t next) {
  if (emitter->loop_count == MAX_LOOPS) EMIT_FAIL(emitter, "more than %d loops within each other", MAX_LOOPS);
  Loop *loop = &emitter->loops[emitter->loop_count++];
  *loop = (Loop){merge, next, false};
  return loop;
}

static void end_loop(Emitter *emitter, const Loop *loop) {
  const Loop done = *loop;
  emitter->loop_count--;
  burn__emit_block_begin(emitter, done.merge);
  if (done.has_return) go_on_returning(emitter);
}

static void general_loop(Emitter *emitter, const Node *node) {
  Spirv *spirv = &emitter->spirv;
  const uint32_t header = spirv_id(spirv), test = spirv_id(spirv), body = spirv_id(spirv), next = spirv_id(spirv);
  Loop *loop = push_loop(emitter, spirv_id(spirv), next);
  burn__emit_branch(emitter, header);
  burn__emit_block_begin(emitter, header);
  SPIRV_PUT(spirv, emitter->section, SpirvLoopMerge, loop->merge, next, node->is_unrolled ? 1u : 0u);
  burn__emit_branch(emitter, test);
  burn__emit_block_begin(emitter, test);
  if (node->b) {
    const Value given = burn__emit_number(emitter, node->b), truth = burn__emit_truth(emitter, &given);
    branch_conditional(emitter, burn__emit_id_of(emitter, &truth), body, loop->merge);
  } else {
    burn__emit_branch(emitter, body);
  }
  burn__emit_block_begin(emitter, body);
  way(emitter, node->d, NULL);
  burn__emit_branch(emitter, next);
  burn__emit_block_begin(emitter, next);
  if (node->c) (void)burn__emit_expression(emitter, node->c);
  burn__emit_branch(emitter, header);
  end_loop(emitter, loop);
}

/* -- loops that are written out --------------------------------------------------------------- */

/* What a step makes of the number of a loop; false where that is not known. */
static bool stepped(Emitter *emitter, const Node *step, const char *name, Value *number) {
  const Value one = burn__emit_integer(emitter->integers[1][2], 1);
  const Type *type = number->type;
  const bool is_by_one = step && (step->op == KERNEL_INCREMENT || step->op == KERNEL_DECREMENT);
  if (!step || !step->a || step->a->kind != NODE_NAME || step->a->name != name) return false;
  if ((step->kind == NODE_POSTFIX || step->kind == NODE_UNARY) && is_by_one) {
    *number = burn__emit_binary(emitter, step->op == KERNEL_INCREMENT ? KERNEL_PLUS : KERNEL_MINUS, number, &one);
  } else if (step->kind == NODE_ASSIGN && step->op != KERNEL_ASSIGN) {
    const uint32_t symbols = emitter->symbol_count;
    burn__emit_add_symbol(emitter, name, NULL, number);
    const Value by = burn__emit_number(emitter, step->b);
    emitter->symbol_count = symbols;
    if (by.kind != VALUE_CONSTANT) return false;
    *number = burn__emit_binary(emitter, (KernelPunctuator)step->op, number, &by);
  } else {
    return false;
  }
  if (number->kind != VALUE_CONSTANT) return false;
  *number = burn__emit_convert(emitter, number, type);
  return true;
}

/* Whether a loop goes on with this number: 1, 0; -1 where that is not known. */
static int goes_on(Emitter *emitter, const Node *node, const char *name, const Value *number) {
  const uint32_t symbols = emitter->symbol_count;
  burn__emit_add_symbol(emitter, name, NULL, number);
  const Value given = burn__emit_number(emitter, node->b), truth = burn__emit_truth(emitter, &given);
  emitter->symbol_count = symbols;
  return truth.kind == VALUE_CONSTANT ? truth.as.bits != 0 : -1;
}

/* How often a loop runs from a number on; -1: not known, or too often to be written out. */
static int count_times(Emitter *emitter, const Node *node, const char *name, Value number) {
  const int most = node->is_unrolled ? MAX_UNROLLED : MAX_UNROLLED_UNASKED;
  for (int times = 0; times <= most; times++) {
    const int more = goes_on(emitter, node, name, &number);
    if (more < 0) return -1;
    if (more == 0) return times;
    if (!stepped(emitter, node->c, name, &number)) return -1;
  }
  return -1;
}

static int known_times(Emitter *emitter, const Node *node, const Node *first, const Value *begin) {
  const Trial trial = burn__emit_try(emitter);
  const int times = count_times(emitter, node, first->name, *begin);
  (void)burn__emit_take_back(emitter, &trial);
  return times;
}

/* Arrays stay in registers only where their indices are known, so loops that ask for it are written out; not beyond
 * what drivers take in a second, of which a processor's takes less. */
static size_t most_words(const Emitter *emitter) {
  return emitter->target.is_processor ? MAX_WORDS_ON_PROCESSORS : MAX_WORDS_UNROLLED;
}

static bool may_unroll(Emitter *emitter, const Node *node) {
  if (!node->a || node->a->kind != NODE_DECLARE || !node->b || !node->c) return false;
  const Node *first = node->a->a;
  if (first->next || !first->a || first->kind != NODE_VARIABLE || first->type->form != FORM_NAME) return false;
  if (emitter->spirv.sections[SPIRV_BODY].count > most_words(emitter)) return false;
  if (node->b->kind == NODE_CALL || node->b->kind == NODE_INDEX) return false;
  if (burn__emit_writes(emitter, node->b, first->name, NULL)) return false;
  return !burn__emit_has_jump(node->d, NODE_CONTINUE) && !burn__emit_writes(emitter, node->d, first->name, NULL);
}

static void write_out(Emitter *emitter, const Node *node, const char *name, Value number, int times) {
  for (int i = 0; i < times && emitter->open; i++) {
    const uint32_t symbols = emitter->symbol_count;
    burn__emit_add_symbol(emitter, name, NULL, &number);
    way(emitter, node->d, NULL);
    emitter->symbol_count = symbols;
    if (!stepped(emitter, node->c, name, &number)) EMIT_FAIL(emitter, "a loop lost count");
  }
}

/* In a loop that ends after the first time, so that break is a jump to its end. */
static void write_out_with_break(Emitter *emitter, const Node *node, const char *name, Value number, int times) {
  Spirv *spirv = &emitter->spirv;
  const uint32_t header = spirv_id(spirv), body = spirv_id(spirv), next = spirv_id(spirv);
  Loop *loop = push_loop(emitter, spirv_id(spirv), next);
  burn__emit_branch(emitter, header);
  burn__emit_block_begin(emitter, header);
  SPIRV_PUT(spirv, emitter->section, SpirvLoopMerge, loop->merge, next, 0);
  burn__emit_branch(emitter, body);
  burn__emit_block_begin(emitter, body);
  write_out(emitter, node, name, number, times);
  burn__emit_branch(emitter, loop->merge);
  burn__emit_block_begin(emitter, next);
  burn__emit_branch(emitter, header);
  end_loop(emitter, loop);
}

/* How many words one time takes. Within it no further loop is tried, or the time would double with each level. */
static size_t words_of_one(Emitter *emitter, const Node *node, const char *name, const Value *number) {
  const Trial trial = burn__emit_try(emitter);
  emitter->is_trial = true;
  burn__emit_add_symbol(emitter, name, NULL, number);
  way(emitter, node->d, NULL);
  emitter->is_trial = false;
  return burn__emit_take_back(emitter, &trial);
}

/* Loops that are not marked are written out if they are short, and what they do takes few words. */
static bool pays(Emitter *emitter, const Node *node, const char *name, const Value *begin) {
  if (node->is_unrolled || emitter->is_trial) return true;
  if (burn__emit_has_kind(node->d, NODE_BREAK) || burn__emit_has_kind(node->d, NODE_RETURN)) return true;
  return words_of_one(emitter, node, name, begin) <= MAX_WORDS_UNASKED;
}

static bool unrolled(Emitter *emitter, const Node *node) {
  if (!may_unroll(emitter, node)) return false;
  const Node *first = node->a->a;
  const Type *type = burn__emit_type(emitter, first->type);
  if (type->kind != TYPE_INTEGER) return false;
  const Trial trial = burn__emit_try(emitter);
  const Value begin = burn__emit_initial(emitter, type, first->a);
  const int times = begin.kind == VALUE_CONSTANT ? known_times(emitter, node, first, &begin) : -1;
  (void)burn__emit_take_back(emitter, &trial);
  if (times < 0 || (times > 1 && !pays(emitter, node, first->name, &begin))) return false;
  if (burn__emit_has_jump(node->d, NODE_BREAK) || burn__emit_has_kind(node->d, NODE_RETURN))
    write_out_with_break(emitter, node, first->name, begin, times);
  else
    write_out(emitter, node, first->name, begin, times);
  return true;
}

static void for_statement(Emitter *emitter, const Node *node) {
  const uint32_t symbols = emitter->symbol_count;
  if (unrolled(emitter, node)) return;
  if (node->a && node->a->kind == NODE_DECLARE)
    declare(emitter, node->a->a, node);
  else if (node->a)
    statement(emitter, node->a);
  general_loop(emitter, node);
  emitter->symbol_count = symbols;
}

/* -- statements ------------------------------------------------------------------------------- */

static void jump(Emitter *emitter, const Node *node) {
  if (emitter->loop_count <= emitter->frame->first_loop)
    EMIT_FAIL(emitter, "%s without a loop", node->kind == NODE_BREAK ? "break" : "continue");
  const Loop *loop = &emitter->loops[emitter->loop_count - 1];
  burn__emit_branch(emitter, node->kind == NODE_BREAK ? loop->merge : loop->next);
}

static void statement(Emitter *emitter, const Node *node) {
  const uint32_t symbols = emitter->symbol_count;
  if (!emitter->open) return;
  burn__emit_deeper(emitter);
  emitter->line = node->line;
  switch ((NodeKind)node->kind) {
    case NODE_BLOCK:
      burn__emit_statements(emitter, node->a);
      emitter->symbol_count = symbols;
      break;
    case NODE_DECLARE:
      declare(emitter, node->a, node);
      break;
    case NODE_TYPEDEF:
      burn__emit_add_symbol(emitter, node->name, burn__emit_type(emitter, node->type), NULL);
      break;
    case NODE_IF:
      if_statement(emitter, node, NULL, NULL);
      break;
    case NODE_FOR:
      for_statement(emitter, node);
      break;
    case NODE_RETURN:
      return_statement(emitter, node);
      break;
    case NODE_BREAK:
    case NODE_CONTINUE:
      jump(emitter, node);
      break;
    case NODE_EXPRESSION:
      (void)burn__emit_expression(emitter, node->a);
      break;
    default:
      break;
  }
  emitter->depth--;
}

/* In a function whose returns need no jumps, what follows an `if` with a return belongs to its other way. */
void burn__emit_statements(Emitter *emitter, const Node *list) {
  for (const Node *node = list; node && emitter->open; node = node->next) {
    const bool is_tail = emitter->frame->is_tail && node->kind == NODE_IF && burn__emit_has_kind(node, NODE_RETURN);
    if (!is_tail) {
      statement(emitter, node);
      if (emitter->frame->is_tail && burn__emit_always_returns(node)) return;
      continue;
    }
    emitter->line = node->line;
    const bool yes_returns = burn__emit_always_returns(node->b);
    const Node *rest = burn__emit_always_returns(node) ? NULL : node->next;
    if_statement(emitter, node, yes_returns ? NULL : rest, yes_returns ? rest : NULL);
    return;
  }
}
