/* kernel_calls.c - calls: which of the functions of a name is meant, what its template's parameters are, and its body
 * in place of the call. */
#include "kernel_emit.h"

enum { MAX_INPUTS = 32, MAX_PARAMETERS = 16 };

typedef struct Given {
  uint32_t count;
  const Node *nodes[MAX_INPUTS];
  Value values[MAX_INPUTS]; /* VALUE_NOTHING: a list in braces */
} Given;

/* A function that might be meant. */
typedef struct Candidate {
  const Declaration *function;
  const Binding *bindings;
  uint32_t cost; /* UINT32_MAX: it is not */
} Candidate;

/* -- parameters of templates ------------------------------------------------------------------ */

typedef struct Deduced {
  Emitter *emitter;
  const Declaration *function;
  uint32_t count;
  Symbol symbols[MAX_PARAMETERS];
  bool is_known[MAX_PARAMETERS], is_given[MAX_PARAMETERS]; /* given: written in the call */
} Deduced;

static bool deduce_symbol(Deduced *deduced, const char *name, const Type *type, const Value *value) {
  uint32_t i = 0;
  for (const TemplateParameter *p = deduced->function->parameters; p && i < MAX_PARAMETERS; p = p->next, i++) {
    if (p->name != name) continue;
    if (deduced->is_given[i]) return true;
    if (p->is_type != (type != NULL)) return false;
    if (deduced->is_known[i])
      return type ? deduced->symbols[i].type == type : deduced->symbols[i].value.as.bits == value->as.bits;
    deduced->symbols[i] = (Symbol){name, type, {0}};
    if (value) deduced->symbols[i].value = burn__emit_parameter(deduced->emitter, p, value);
    deduced->is_known[i] = true;
    return true;
  }
  return true; /* no template parameter: a later check finds what it is */
}

static bool deduce(Deduced *deduced, const TypeSyntax *syntax, const Type *type);

static bool deduce_arguments(Deduced *deduced, const TypeSyntax *syntax, const Type *type) {
  const Binding *binding = type->bindings;
  if (type->kind != TYPE_STRUCT || type->declaration->name != syntax->name) return false;
  for (const Argument *argument = syntax->arguments; argument && binding;
       argument = argument->next, binding = binding->next) {
    if (argument->type && (!binding->symbol.type || !deduce(deduced, argument->type, binding->symbol.type)))
      return false;
    if (!argument->type && argument->value->kind == NODE_NAME &&
        !deduce_symbol(deduced, argument->value->name, NULL, &binding->symbol.value))
      return false;
  }
  return true;
}

/* Finds parameters where an input of that syntax is given a value of that type. */
static bool deduce(Deduced *deduced, const TypeSyntax *syntax, const Type *type) {
  if (syntax->form == FORM_REFERENCE) return deduce(deduced, syntax->of, type);
  if (syntax->form == FORM_POINTER)
    return (type->kind != TYPE_POINTER && type->kind != TYPE_ARRAY) || deduce(deduced, syntax->of, type->of);
  if (syntax->form == FORM_ARRAY) {
    if (type->kind != TYPE_ARRAY && type->kind != TYPE_POINTER) return false;
    if (type->kind == TYPE_ARRAY && syntax->count && syntax->count->kind == NODE_NAME) {
      const Value count = burn__emit_integer(deduced->emitter->integers[1][2], type->count);
      if (!deduce_symbol(deduced, syntax->count->name, NULL, &count)) return false;
    }
    return deduce(deduced, syntax->of, type->of);
  }
  if (syntax->arguments) return deduce_arguments(deduced, syntax, type);
  if (syntax->member) return true;
  return deduce_symbol(deduced, syntax->name, type, NULL);
}

static const Binding *bindings_of(Emitter *emitter, const Deduced *deduced) {
  Binding *first = NULL, **last = &first;
  uint32_t i = 0;
  for (const TemplateParameter *p = deduced->function->parameters; p; p = p->next, i++) {
    if (i == MAX_PARAMETERS || !deduced->is_known[i]) return NULL;
    Binding *binding = burn__kernel_allocate(emitter->arena, sizeof *binding);
    binding->symbol = deduced->symbols[i];
    *last = binding;
    last = &binding->next;
  }
  return first;
}

/* False if the parameters of a template do not follow from the call. */
static bool find_bindings(Emitter *emitter, const Declaration *function, const Node *call, const Given *given,
                          const Binding **out) {
  Deduced deduced = {.emitter = emitter, .function = function};
  uint32_t i = 0;
  *out = NULL;
  if (!function->is_template) return !call->a->arguments;
  for (const Binding *b = burn__emit_bindings(emitter, function->parameters, call->a->arguments); b; b = b->next) {
    const uint32_t at = deduced.count++;
    if (at == MAX_PARAMETERS ||
        !deduce_symbol(&deduced, b->symbol.name, b->symbol.type, b->symbol.type ? NULL : &b->symbol.value))
      return false;
    deduced.is_given[at] = true;
  }
  for (const Node *input = function->inputs; input; input = input->next, i++) {
    const Type *type = given->values[i].type;
    if (given->values[i].kind == VALUE_NOTHING) continue;
    if (type->kind == TYPE_ARRAY && input->type->form == FORM_NAME) type = burn__emit_pointer_to(emitter, type->of);
    if (!deduce(&deduced, input->type, type)) return false;
  }
  *out = bindings_of(emitter, &deduced);
  return *out != NULL;
}

/* -- which function --------------------------------------------------------------------------- */

static const Type *input_type(Emitter *emitter, const Node *input) {
  if (input->type->form == FORM_ARRAY) return burn__emit_pointer_to(emitter, burn__emit_type(emitter, input->type->of));
  return burn__emit_type(emitter, input->type);
}

static bool is_written_reference(const Node *input) {
  return input->type->form == FORM_REFERENCE && !(input->type->of->form == FORM_NAME && input->type->of->is_const);
}

/* Of a number that becomes another one; UINT32_MAX: it cannot. */
static uint32_t cost_of(const Type *from, const Type *to) {
  if (from == to) return 0;
  if (to->kind == TYPE_POINTER) {
    if (from->kind == TYPE_POINTER || from->kind == TYPE_ARRAY)
      return from->of == to->of ? 0 : to->of->kind == TYPE_VOID ? 2 : UINT32_MAX;
    return UINT32_MAX;
  }
  if (!type_is_number(from) || !type_is_number(to)) return UINT32_MAX;
  const bool is_promotion = (from->kind == TYPE_FLOAT && to->kind == TYPE_FLOAT && to->bits == 64) ||
                            (from->kind != TYPE_FLOAT && to->kind == TYPE_INTEGER && to->bits == 32 && to->is_signed &&
                             (from->kind == TYPE_BOOL || from->bits < 32));
  return is_promotion ? 1 : 3;
}

static uint32_t cost_of_input(Emitter *emitter, const Node *input, const Value *value) {
  if (value->kind == VALUE_NOTHING) return 0;
  const Type *type = input_type(emitter, input);
  if (is_written_reference(input)) return value->kind == VALUE_PLACE && value->type == type ? 0 : UINT32_MAX;
  if (type->kind == TYPE_POINTER && value->kind == VALUE_CONSTANT && value->type->kind == TYPE_INTEGER)
    return value->as.bits == 0 ? 2 : UINT32_MAX;
  return cost_of(value->type, type);
}

static uint32_t cost_of_call(Emitter *emitter, const Declaration *function, const Binding *bindings,
                             const Given *given) {
  Frame frame;
  uint32_t cost = 0, i = 0;
  burn__emit_enter_scope(emitter, &frame, bindings);
  for (const Node *input = function->inputs; input; input = input->next, i++) {
    const uint32_t here = cost_of_input(emitter, input, &given->values[i]);
    if (here == UINT32_MAX) {
      cost = here;
      break;
    }
    cost += 4 * here;
  }
  burn__emit_leave_scope(emitter, &frame);
  return cost == UINT32_MAX ? cost : cost + function->is_template;
}

static Candidate choose(Emitter *emitter, const Node *call, const Given *given) {
  Candidate best = {NULL, NULL, UINT32_MAX};
  for (const Declaration *d = burn__syntax_find(emitter->syntax, call->a->name); d; d = d->next) {
    uint32_t inputs = 0;
    const Binding *bindings = NULL;
    if (d->kind != DECLARES_FUNCTION || !d->body) continue;
    for (const Node *input = d->inputs; input; input = input->next) inputs++;
    burn__emit_work(emitter, inputs + 1u);
    if (inputs != given->count || !find_bindings(emitter, d, call, given, &bindings)) continue;
    const uint32_t cost = cost_of_call(emitter, d, bindings, given);
    if (cost < best.cost) best = (Candidate){d, bindings, cost};
  }
  if (!best.function) {
    const Type *first = given->count > 0 ? given->values[0].type : NULL;
    EMIT_FAIL(emitter, "no function '%s' takes these %u inputs (the first is '%s')", call->a->name, given->count,
              first ? burn__emit_type_name(emitter, first) : "none");
  }
  return best;
}

/* -- its body --------------------------------------------------------------------------------- */

static bool is_by_reference(const Node *input, const Value *value) {
  if (value->kind != VALUE_PLACE) return false;
  return input->type->form == FORM_REFERENCE ||
         (value->place.space == SPACE_PARAMETERS && value->type->kind == TYPE_STRUCT);
}

static void bind_input(Emitter *emitter, const Declaration *function, const Node *input, const Value *given) {
  const Type *type = input_type(emitter, input);
  if (!input->name) return;
  const bool is_written = burn__emit_writes(emitter, function->body, input->name, type);
  if (is_by_reference(input, given) && given->type == type && (input->type->form == FORM_REFERENCE || !is_written)) {
    burn__emit_add_symbol(emitter, input->name, NULL, given);
    return;
  }
  if (given->kind == VALUE_NOTHING) EMIT_FAIL(emitter, "'%s' is given what is not a value", input->name);
  Value value = burn__emit_convert(emitter, given, type);
  if (value.kind == VALUE_POINTER && is_written)
    EMIT_FAIL(emitter, "the pointer '%s' to a variable is set more than once", input->name);
  if (is_written) value = burn__emit_spill(emitter, &value);
  burn__emit_add_symbol(emitter, input->name, NULL, &value);
}

/* Whether a loop was left by a return: set here, as the whole call may be in a loop. */
static void set_flag(Emitter *emitter, Frame *frame) {
  const Value no = burn__emit_integer(emitter->bool_type, 0), flag = burn__emit_variable(emitter, emitter->bool_type);
  frame->returned = flag.place.variable;
  burn__emit_store(emitter, flag.type, &flag.place, &no);
}

/* The body in a loop that ends after the first time, so that a return is a jump to its end. */
static void emit_with_jumps(Emitter *emitter, Frame *frame) {
  Spirv *spirv = &emitter->spirv;
  const uint32_t header = spirv_id(spirv), body = spirv_id(spirv), next = spirv_id(spirv);
  frame->merge = spirv_id(spirv);
  burn__emit_branch(emitter, header);
  burn__emit_block_begin(emitter, header);
  SPIRV_PUT(spirv, emitter->section, SpirvLoopMerge, frame->merge, next, 0);
  burn__emit_branch(emitter, body);
  burn__emit_block_begin(emitter, body);
  set_flag(emitter, frame);
  burn__emit_statements(emitter, frame->function->body->a);
  burn__emit_branch(emitter, frame->merge);
  burn__emit_block_begin(emitter, next);
  burn__emit_branch(emitter, header);
  burn__emit_block_begin(emitter, frame->merge);
}

/* Lists in braces get the type of their input, but name what the caller sees. */
static void compute_lists(Emitter *emitter, const Candidate *candidate, Given *given) {
  uint32_t i = 0;
  for (const Node *input = candidate->function->inputs; input; input = input->next, i++) {
    Frame frame;
    if (given->nodes[i]->kind != NODE_LIST) continue;
    burn__emit_enter_scope(emitter, &frame, candidate->bindings);
    const Type *type = input_type(emitter, input);
    burn__emit_leave_scope(emitter, &frame);
    given->values[i] = burn__emit_initial(emitter, type, given->nodes[i]);
  }
}

static Value call_function(Emitter *emitter, const Candidate *candidate, Given *given) {
  Frame frame;
  const Declaration *function = candidate->function;
  uint32_t i = 0;
  if (function->is_kernel) EMIT_FAIL(emitter, "the kernel '%s' is called", function->name);
  burn__emit_work(emitter, function->nodes);
  compute_lists(emitter, candidate, given);
  burn__emit_enter_scope(emitter, &frame, candidate->bindings);
  /* the values were computed before, and are bound in the scope of the function */
  for (const Node *input = function->inputs; input; input = input->next, i++)
    bind_input(emitter, function, input, &given->values[i]);
  frame.function = function;
  frame.result = burn__emit_type(emitter, function->type);
  if (frame.result == emitter->auto_type) frame.result = NULL;
  frame.value = (Value){.kind = VALUE_NOTHING, .type = emitter->void_type};
  frame.is_tail = burn__emit_is_tail(function->body->a);
  if (frame.is_tail)
    burn__emit_statements(emitter, function->body->a);
  else
    emit_with_jumps(emitter, &frame);
  const Value result = frame.value;
  burn__emit_leave_scope(emitter, &frame);
  return result.kind == VALUE_PLACE ? burn__emit_rvalue(emitter, &result) : result;
}

Value burn__emit_call(Emitter *emitter, const Node *call) {
  Value result;
  if (call->a->kind != NODE_NAME || call->a->type) EMIT_FAIL(emitter, "what is called is not a function");
  if (burn__emit_builtin(emitter, call, &result)) return result;
  Given *given = burn__kernel_allocate(emitter->arena, sizeof *given);
  const uint32_t line = call->line;
  for (const Node *input = call->b; input; input = input->next) {
    if (given->count == MAX_INPUTS) EMIT_FAIL(emitter, "a call with more than %d inputs", MAX_INPUTS);
    if (input->kind != NODE_LIST) given->values[given->count] = burn__emit_expression(emitter, input);
    given->nodes[given->count++] = input;
  }
  emitter->line = line;
  const Candidate candidate = choose(emitter, call, given);
  return call_function(emitter, &candidate, given);
}
