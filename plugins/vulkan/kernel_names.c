/* kernel_names.c - names and their scopes; what statements do to names, and how they leave a function. */
#include "kernel_emit.h"

/* -- symbols ---------------------------------------------------------------------------------- */

void burn__emit_add_symbol(Emitter *emitter, const char *name, const Type *type, const Value *value) {
  if (emitter->symbol_count == MAX_SYMBOLS) EMIT_FAIL(emitter, "more than %d names at once", MAX_SYMBOLS);
  Symbol *symbol = &emitter->symbols[emitter->symbol_count++];
  symbol->name = name;
  symbol->type = type;
  if (value) symbol->value = *value;
}

const Symbol *burn__emit_find_symbol(Emitter *emitter, const char *name) {
  const uint32_t first = emitter->frame ? emitter->frame->first_symbol : 0;
  burn__emit_work(emitter, (emitter->symbol_count - first) / 16);
  for (uint32_t i = emitter->symbol_count; i-- > first;)
    if (emitter->symbols[i].name == name) return &emitter->symbols[i];
  return NULL;
}

void burn__emit_enter_scope(Emitter *emitter, Frame *frame, const Binding *bindings) {
  *frame = (Frame){.outer = emitter->frame,
                   .first_symbol = emitter->symbol_count,
                   .first_loop = emitter->loop_count,
                   .line = emitter->line};
  if (++emitter->calls > MAX_CALLS) EMIT_FAIL(emitter, "more than %d calls within each other", MAX_CALLS);
  emitter->frame = frame;
  for (; bindings; bindings = bindings->next)
    burn__emit_add_symbol(emitter, bindings->symbol.name, bindings->symbol.type, &bindings->symbol.value);
}

void burn__emit_leave_scope(Emitter *emitter, const Frame *frame) {
  emitter->symbol_count = frame->first_symbol;
  emitter->frame = frame->outer;
  emitter->line = frame->line;
  emitter->calls--;
}

/* -- constants among the declarations --------------------------------------------------------- */

static Value enumerator(Emitter *emitter, const Node *node) {
  const Type *type = emitter->integers[1][2];
  int64_t after = 0;
  for (; node && !node->a; node = node->b) after++;
  burn__emit_work(emitter, (uint64_t)after);
  if (!node) return burn__emit_integer(type, (uint64_t)(after - 1));
  const Value begin = burn__emit_number(emitter, node->a);
  const uint64_t number = (uint64_t)burn__emit_known(emitter, &begin) + (uint64_t)after;
  if ((int64_t)number != (int32_t)number) type = emitter->integers[1][3];
  return burn__emit_integer(type, number);
}

Value burn__emit_constant_named(Emitter *emitter, const Declaration *declaration) {
  Frame frame;
  burn__emit_enter_scope(emitter, &frame, NULL);
  const Node *node = declaration->node;
  const Value value = node->kind == NODE_CONSTANT
                          ? enumerator(emitter, node)
                          : burn__emit_initial(emitter, burn__emit_type(emitter, node->type), node->a);
  burn__emit_leave_scope(emitter, &frame);
  return value;
}

/* -- what statements do ----------------------------------------------------------------------- */

/* What is looked for: a name that is written. What a pointer points to is not part of it. */
typedef struct Sought {
  const Emitter *emitter;
  const char *name;
  bool is_pointer;
} Sought;

/* True if an expression is the variable, or a part of it. */
static bool is_of(const Sought *sought, const Node *node) {
  while (node && !sought->is_pointer && (node->kind == NODE_MEMBER || node->kind == NODE_INDEX)) node = node->a;
  return node && node->kind == NODE_NAME && !node->type && node->name == sought->name;
}

/* May a function of that name write into its input `at`? */
static bool may_write_input(const Sought *sought, const char *function, uint32_t at) {
  for (const Declaration *d = burn__syntax_find(sought->emitter->syntax, function); d; d = d->next) {
    if (d->kind != DECLARES_FUNCTION) continue;
    const Node *input = d->inputs;
    for (uint32_t i = 0; input && i < at; i++) input = input->next;
    if (!input) continue;
    if (input->type->form == FORM_REFERENCE && !input->type->of->is_const) return true;
    if (!sought->is_pointer && (input->type->form == FORM_POINTER || input->type->form == FORM_ARRAY)) return true;
  }
  return false;
}

static bool call_writes(const Sought *sought, const Node *call) {
  uint32_t at = 0;
  if (call->a->kind != NODE_NAME) return false;
  for (const Node *input = call->b; input; input = input->next, at++)
    if (is_of(sought, input) && may_write_input(sought, call->a->name, at)) return true;
  return false;
}

static bool writes_here(const Sought *sought, const Node *node) {
  const bool is_step = node->op == KERNEL_INCREMENT || node->op == KERNEL_DECREMENT || node->op == KERNEL_AND;
  if (node->kind == NODE_ASSIGN || node->kind == NODE_POSTFIX) return is_of(sought, node->a);
  if (node->kind == NODE_UNARY && is_step) return is_of(sought, node->a);
  if (node->kind == NODE_CALL) return call_writes(sought, node);
  if (node->kind != NODE_VARIABLE || !node->a || node->type->form == FORM_NAME) return false;
  /* a reference, or a local pointer to it */
  return (!sought->is_pointer || node->type->form == FORM_REFERENCE) && is_of(sought, node->a);
}

static bool writes(const Sought *sought, const Node *node, uint64_t *looked_at) {
  for (; node; node = node->next) {
    ++*looked_at;
    if (writes_here(sought, node)) return true;
    if (writes(sought, node->a, looked_at) || writes(sought, node->c, looked_at) || writes(sought, node->d, looked_at))
      return true;
    if (node->kind != NODE_CONSTANT && writes(sought, node->b, looked_at)) return true;
  }
  return false;
}

bool burn__emit_writes(Emitter *emitter, const Node *node, const char *name, const Type *type) {
  const Sought sought = {emitter, name, type && type->kind == TYPE_POINTER};
  uint64_t looked_at = 0;
  const bool is_written = writes(&sought, node, &looked_at);
  burn__emit_work(emitter, looked_at);
  return is_written;
}

static bool is_statement(const Node *node) { return node && node->kind >= NODE_BLOCK; }

bool burn__emit_has_kind(const Node *node, NodeKind kind) {
  if (!is_statement(node)) return false;
  if (node->kind == kind) return true;
  if (node->kind == NODE_IF) return burn__emit_has_kind(node->b, kind) || burn__emit_has_kind(node->c, kind);
  if (node->kind == NODE_FOR) return burn__emit_has_kind(node->d, kind);
  if (node->kind != NODE_BLOCK) return false;
  for (const Node *inner = node->a; inner; inner = inner->next)
    if (burn__emit_has_kind(inner, kind)) return true;
  return false;
}

bool burn__emit_has_jump(const Node *node, NodeKind kind) {
  if (!is_statement(node) || node->kind == NODE_FOR) return false;
  if (node->kind == kind) return true;
  if (node->kind == NODE_IF) return burn__emit_has_jump(node->b, kind) || burn__emit_has_jump(node->c, kind);
  if (node->kind != NODE_BLOCK) return false;
  for (const Node *inner = node->a; inner; inner = inner->next)
    if (burn__emit_has_jump(inner, kind)) return true;
  return false;
}

bool burn__emit_always_returns(const Node *node) {
  if (!node) return false;
  if (node->kind == NODE_RETURN) return true;
  if (node->kind == NODE_IF) return burn__emit_always_returns(node->b) && burn__emit_always_returns(node->c);
  if (node->kind != NODE_BLOCK) return false;
  for (const Node *inner = node->a; inner; inner = inner->next)
    if (burn__emit_always_returns(inner)) return true;
  return false;
}

static bool is_tail_statement(const Node *node) {
  if (!node || !burn__emit_has_kind(node, NODE_RETURN) || node->kind == NODE_RETURN) return true;
  if (node->kind == NODE_BLOCK) return burn__emit_is_tail(node->a);
  return node->kind == NODE_IF && is_tail_statement(node->b) && is_tail_statement(node->c);
}

/* Returns are the last of the list, or of branches of an `if` whose other way is the rest of the list. */
bool burn__emit_is_tail(const Node *list) {
  for (const Node *node = list; node; node = node->next) {
    if (!burn__emit_has_kind(node, NODE_RETURN)) continue;
    if (node->kind == NODE_RETURN) return true;
    if (!is_tail_statement(node)) return false;
    if (!node->next || burn__emit_always_returns(node)) return true;
    if (node->kind != NODE_IF) return false;
    /* the rest goes on after the other way, which then must not have returned */
    const bool yes = burn__emit_always_returns(node->b) && !burn__emit_has_kind(node->c, NODE_RETURN);
    const bool no = burn__emit_always_returns(node->c) && !burn__emit_has_kind(node->b, NODE_RETURN);
    if (!yes && !no) return false;
  }
  return true;
}
