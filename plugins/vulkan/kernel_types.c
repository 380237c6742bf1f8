/* kernel_types.c - types: what their syntax means, sizes and places as in C, their ids in the module. */
#include "kernel_emit.h"

#include <stdio.h>
#include <string.h>

enum { MAX_TYPES = 4096, MAX_STRUCT_BYTES = 1 << 28 };

/* -- basic types ------------------------------------------------------------------------------ */

static const struct {
  const char *name;
  uint8_t kind, bits;
  bool is_signed;
} basics[] = {
    {"void", TYPE_VOID, 0, false},         {"bool", TYPE_BOOL, 8, false},         {"int8_t", TYPE_INTEGER, 8, true},
    {"uint8_t", TYPE_INTEGER, 8, false},   {"int16_t", TYPE_INTEGER, 16, true},   {"uint16_t", TYPE_INTEGER, 16, false},
    {"int32_t", TYPE_INTEGER, 32, true},   {"uint32_t", TYPE_INTEGER, 32, false}, {"int64_t", TYPE_INTEGER, 64, true},
    {"uint64_t", TYPE_INTEGER, 64, false}, {"float", TYPE_FLOAT, 32, true},       {"double", TYPE_FLOAT, 64, true},
    {"auto", TYPE_VOID, 1, false}};

static Type *new_type(Emitter *emitter, TypeKind kind, uint64_t size, uint64_t alignment) {
  if (emitter->type_count++ == MAX_TYPES) EMIT_FAIL(emitter, "more than %d types", MAX_TYPES);
  Type *type = burn__kernel_allocate(emitter->arena, sizeof *type);
  type->kind = (uint8_t)kind;
  type->size = size;
  type->alignment = alignment;
  type->next = emitter->types;
  emitter->types = type;
  return type;
}

static uint32_t log2_of_bytes(uint32_t bits) { return bits == 8 ? 0 : bits == 16 ? 1 : bits == 32 ? 2 : 3; }

void burn__emit_basic_types(Emitter *emitter) {
  for (size_t i = 0; i < sizeof basics / sizeof basics[0]; i++) {
    const uint64_t bytes = basics[i].bits / 8;
    Type *type = new_type(emitter, (TypeKind)basics[i].kind, bytes, bytes ? bytes : 1);
    type->bits = basics[i].bits;
    type->is_signed = basics[i].is_signed;
    if (type->kind == TYPE_BOOL) emitter->bool_type = type;
    if (type->kind == TYPE_INTEGER) emitter->integers[type->is_signed][log2_of_bytes(type->bits)] = type;
    if (type->kind == TYPE_FLOAT) emitter->floats[type->bits == 64] = type;
    if (type->kind == TYPE_VOID && type->bits == 0) emitter->void_type = type;
    if (type->kind == TYPE_VOID && type->bits == 1) emitter->auto_type = type;
  }
}

static const Type *basic_named(const Emitter *emitter, const char *name) {
  for (size_t i = 0; i < sizeof basics / sizeof basics[0]; i++) {
    if (strcmp(basics[i].name, name) != 0) continue;
    for (const Type *type = emitter->types; type; type = type->next)
      if (type->kind == basics[i].kind && type->bits == basics[i].bits && type->is_signed == basics[i].is_signed)
        return type;
  }
  return NULL;
}

const Type *burn__emit_pointer_to(Emitter *emitter, const Type *of) {
  burn__emit_work(emitter, emitter->type_count / 16);
  for (const Type *type = emitter->types; type; type = type->next)
    if (type->kind == TYPE_POINTER && type->of == of) return type;
  Type *type = new_type(emitter, TYPE_POINTER, 8, 8);
  type->of = of;
  type->bits = 64;
  return type;
}

/* What a variable, a member or an element can be. */
static void require_whole(Emitter *emitter, const Type *type) {
  if (type->kind == TYPE_VOID)
    EMIT_FAIL(emitter, "nothing has the type '%s' here", type == emitter->auto_type ? "auto" : "void");
  if (type->kind == TYPE_STRUCT && type->is_open) EMIT_FAIL(emitter, "'%s' contains itself", type->declaration->name);
}

const Type *burn__emit_array_of(Emitter *emitter, const Type *of, uint64_t count) {
  burn__emit_work(emitter, emitter->type_count / 16);
  require_whole(emitter, of);
  if (count > (UINT64_C(1) << 24) || of->size * count > (UINT64_C(1) << 28))
    EMIT_FAIL(emitter, "an array of %llu elements is too large", (unsigned long long)count);
  for (const Type *type = emitter->types; type; type = type->next)
    if (type->kind == TYPE_ARRAY && type->of == of && type->count == count) return type;
  Type *type = new_type(emitter, TYPE_ARRAY, of->size * count, of->alignment);
  type->of = of;
  type->count = count;
  return type;
}

/* -- structs ---------------------------------------------------------------------------------- */

static bool same_symbol(const Symbol *a, const Symbol *b) {
  if (a->type || b->type) return a->type == b->type;
  return a->value.as.bits == b->value.as.bits;
}

static bool same_bindings(const Binding *a, const Binding *b) {
  for (; a && b; a = a->next, b = b->next)
    if (!same_symbol(&a->symbol, &b->symbol)) return false;
  return !a && !b;
}

static Symbol argument_symbol(Emitter *emitter, const Argument *argument) {
  Symbol symbol = {NULL, NULL, {0}};
  if (argument->type) {
    symbol.type = burn__emit_type(emitter, argument->type);
    return symbol;
  }
  const Value number = burn__emit_number(emitter, argument->value);
  (void)burn__emit_known(emitter, &number);
  symbol.value = number;
  return symbol;
}

/* As the type of its parameter: Line<sizeof(T)> has an int. */
Value burn__emit_parameter(Emitter *emitter, const TemplateParameter *parameter, const Value *value) {
  const Value converted = burn__emit_convert(emitter, value, burn__emit_type(emitter, parameter->type));
  return burn__emit_integer(converted.type, (uint64_t)burn__emit_known(emitter, &converted));
}

const Binding *burn__emit_bindings(Emitter *emitter, const TemplateParameter *parameters, const Argument *arguments) {
  Binding *first = NULL, **last = &first;
  for (; parameters && arguments; parameters = parameters->next, arguments = arguments->next) {
    Binding *binding = burn__kernel_allocate(emitter->arena, sizeof *binding);
    if (parameters->is_type != (arguments->type != NULL))
      EMIT_FAIL(emitter, "the parameter '%s' of a template is %s type", parameters->name,
                parameters->is_type ? "a" : "no");
    binding->symbol = argument_symbol(emitter, arguments);
    if (!parameters->is_type) binding->symbol.value = burn__emit_parameter(emitter, parameters, &binding->symbol.value);
    binding->symbol.name = parameters->name;
    *last = binding;
    last = &binding->next;
  }
  if (arguments) EMIT_FAIL(emitter, "a template has fewer parameters");
  return first;
}

/* What a specialisation is for, to be compared with the arguments. */
static bool fits(Emitter *emitter, const Declaration *declaration, const Binding *bindings) {
  const Argument *argument = declaration->specialised;
  for (; argument && bindings; argument = argument->next, bindings = bindings->next) {
    const Symbol wanted = argument_symbol(emitter, argument);
    if (!same_symbol(&wanted, &bindings->symbol)) return false;
  }
  return !argument && !bindings;
}

/* The primary template, the plain struct, or the specialisation for the arguments. */
static const Declaration *choose(Emitter *emitter, const char *name, const Binding *bindings) {
  const Declaration *found = NULL;
  for (const Declaration *d = burn__syntax_find(emitter->syntax, name); d; d = d->next) {
    if (d->kind != DECLARES_STRUCT) continue;
    if (d->specialised ? fits(emitter, d, bindings) : !found) found = d;
    if (found == d && d->specialised) return d;
  }
  return found;
}

static void add_member(Emitter *emitter, Type *type, const Node *node) {
  const Type *of = burn__emit_type(emitter, node->type);
  if (node->a) EMIT_FAIL(emitter, "the member '%s' cannot have a value in its struct", node->name);
  require_whole(emitter, of);
  const uint64_t at = (type->size + of->alignment - 1) / of->alignment * of->alignment;
  type->members[type->member_count++] = (Member){node->name, of, at};
  type->size = at + of->size;
  if (of->alignment > type->alignment) type->alignment = of->alignment;
  if (type->size > MAX_STRUCT_BYTES) EMIT_FAIL(emitter, "'%s' is too large", type->declaration->name);
}

static const Type *make_struct(Emitter *emitter, const Declaration *declaration, const Binding *bindings) {
  Frame frame;
  uint32_t count = 0;
  Type *type = new_type(emitter, TYPE_STRUCT, 0, 1);
  type->declaration = declaration;
  type->bindings = bindings;
  type->is_open = true;
  for (const Node *node = declaration->members; node; node = node->next)
    count += node->kind == NODE_VARIABLE && !node->is_static;
  type->members = burn__kernel_allocate(emitter->arena, (count + 1) * sizeof *type->members);
  burn__emit_enter_scope(emitter, &frame, declaration->specialised ? NULL : bindings);
  for (const Node *node = declaration->members; node; node = node->next) {
    if (node->kind == NODE_TYPEDEF)
      burn__emit_add_symbol(emitter, node->name, burn__emit_type(emitter, node->type), NULL);
    if (node->kind == NODE_VARIABLE && !node->is_static) add_member(emitter, type, node);
    burn__emit_work(emitter, 1);
    if (node->kind == NODE_VARIABLE && node->is_static && node->a) {
      const Value value = burn__emit_initial(emitter, burn__emit_type(emitter, node->type), node->a);
      burn__emit_add_symbol(emitter, node->name, NULL, &value);
    }
  }
  if (declaration->alignment) {
    const Value wanted = burn__emit_number(emitter, declaration->alignment);
    const int64_t alignment = burn__emit_known(emitter, &wanted);
    if (alignment < 1 || alignment > 256 || (alignment & (alignment - 1)) != 0)
      EMIT_FAIL(emitter, "alignas(%lld) is not a power of two up to 256", (long long)alignment);
    if ((uint64_t)alignment > type->alignment) type->alignment = (uint64_t)alignment;
  }
  burn__emit_leave_scope(emitter, &frame);
  type->is_open = false;
  type->size = (type->size + type->alignment - 1) / type->alignment * type->alignment;
  return type;
}

/* burn_subgroup_matrix<element, rows, columns, use>: the struct of that name has no members, as the compiler knows it
 * itself. */
static const Type *make_matrix(Emitter *emitter, const Declaration *declaration, const Binding *bindings) {
  uint64_t numbers[3];
  const Binding *binding = bindings ? bindings->next : NULL;
  for (int i = 0; i < 3; i++, binding = binding->next) {
    if (!binding) EMIT_FAIL(emitter, "'%s' wants a type and three numbers", declaration->name);
    numbers[i] = binding->symbol.value.as.bits;
    if (numbers[i] > (i == 2 ? 2u : 1024u)) EMIT_FAIL(emitter, "a matrix of %llu", (unsigned long long)numbers[i]);
  }
  Type *type = new_type(emitter, TYPE_MATRIX, 16, 16);
  type->declaration = declaration;
  type->bindings = bindings;
  type->of = bindings->symbol.type;
  type->rows = (uint32_t)numbers[0];
  type->columns = (uint32_t)numbers[1];
  type->use = (uint32_t)numbers[2];
  return type;
}

const Type *burn__emit_struct(Emitter *emitter, const char *name, const Binding *bindings) {
  const Declaration *declaration = choose(emitter, name, bindings);
  if (!declaration) EMIT_FAIL(emitter, "there is no type '%s'", name);
  burn__emit_work(emitter, emitter->type_count / 16);
  for (const Type *type = emitter->types; type; type = type->next)
    if (type->declaration == declaration && same_bindings(type->bindings, bindings)) return type;
  if (name == emitter->words[WORD_burn_subgroup_matrix]) return make_matrix(emitter, declaration, bindings);
  return make_struct(emitter, declaration, bindings);
}

const Member *burn__emit_member_of(Emitter *emitter, const Type *type, const char *name) {
  burn__emit_work(emitter, type->member_count / 16);
  for (uint32_t i = 0; type->kind == TYPE_STRUCT && i < type->member_count; i++)
    if (type->members[i].name == name) return &type->members[i];
  EMIT_FAIL(emitter, "'%s' has no member '%s'", burn__emit_type_name(emitter, type), name);
}

/* In the scope of a struct, whose typedefs come first. */
static const Node *enter_struct(Emitter *emitter, const Type *type, const char *name, Frame *frame) {
  burn__emit_enter_scope(emitter, frame, type->declaration->specialised ? NULL : type->bindings);
  for (const Node *node = type->declaration->members; node; node = node->next) {
    if (node->name == name) return node;
    if (node->kind == NODE_TYPEDEF)
      burn__emit_add_symbol(emitter, node->name, burn__emit_type(emitter, node->type), NULL);
    burn__emit_work(emitter, 1);
    if (node->kind == NODE_VARIABLE && node->is_static && node->a) {
      const Type *of = burn__emit_type(emitter, node->type);
      const Value value = burn__emit_initial(emitter, of, node->a);
      burn__emit_add_symbol(emitter, node->name, NULL, &value);
    }
    emitter->line = frame->line;
  }
  EMIT_FAIL(emitter, "'%s' has no member '%s'", burn__emit_type_name(emitter, type), name);
}

Value burn__emit_static_member(Emitter *emitter, const Type *type, const char *name) {
  Frame frame;
  if (type->kind != TYPE_STRUCT)
    EMIT_FAIL(emitter, "'%s' has no member '%s'", burn__emit_type_name(emitter, type), name);
  const Node *node = enter_struct(emitter, type, name, &frame);
  if (node->kind != NODE_VARIABLE || !node->is_static || !node->a)
    EMIT_FAIL(emitter, "'%s' is not a constant of its struct", name);
  const Value value = burn__emit_initial(emitter, burn__emit_type(emitter, node->type), node->a);
  burn__emit_leave_scope(emitter, &frame);
  return value;
}

static const Type *member_type(Emitter *emitter, const Type *type, const char *name) {
  Frame frame;
  if (type->kind != TYPE_STRUCT) EMIT_FAIL(emitter, "'%s' has no type '%s'", burn__emit_type_name(emitter, type), name);
  const Node *node = enter_struct(emitter, type, name, &frame);
  if (node->kind != NODE_TYPEDEF) EMIT_FAIL(emitter, "'%s' is not a type of its struct", name);
  const Type *found = burn__emit_type(emitter, node->type);
  burn__emit_leave_scope(emitter, &frame);
  return found;
}

/* -- from syntax ------------------------------------------------------------------------------ */

static const Type *declared_type(Emitter *emitter, const TypeSyntax *syntax) {
  Frame frame;
  const Declaration *declaration = burn__syntax_find(emitter->syntax, syntax->name);
  while (declaration && declaration->kind != DECLARES_TYPE && declaration->kind != DECLARES_STRUCT)
    declaration = declaration->next;
  if (!declaration) EMIT_FAIL(emitter, "there is no type '%s'", syntax->name);
  if (declaration->kind == DECLARES_STRUCT) {
    const Binding *bindings = burn__emit_bindings(emitter, declaration->parameters, syntax->arguments);
    return burn__emit_struct(emitter, syntax->name, bindings);
  }
  burn__emit_enter_scope(emitter, &frame, NULL);
  const Type *type = burn__emit_type(emitter, declaration->type);
  burn__emit_leave_scope(emitter, &frame);
  return type;
}

static const Type *named_type(Emitter *emitter, const TypeSyntax *syntax) {
  const Symbol *symbol = burn__emit_find_symbol(emitter, syntax->name);
  if (symbol && symbol->type) return symbol->type;
  const Type *basic = basic_named(emitter, syntax->name);
  return basic ? basic : declared_type(emitter, syntax);
}

static const Type *type_of(Emitter *emitter, const TypeSyntax *syntax) {
  if (syntax->form == FORM_POINTER) {
    const Type *of = burn__emit_type(emitter, syntax->of);
    if (of == emitter->auto_type) EMIT_FAIL(emitter, "a pointer to 'auto': write the type of what it points to");
    return burn__emit_pointer_to(emitter, of);
  }
  if (syntax->form == FORM_REFERENCE) return burn__emit_type(emitter, syntax->of);
  if (syntax->form == FORM_ARRAY) {
    const Type *of = burn__emit_type(emitter, syntax->of);
    if (!syntax->count) EMIT_FAIL(emitter, "an array has no size");
    const Value count = burn__emit_number(emitter, syntax->count);
    const int64_t number = burn__emit_known(emitter, &count);
    if (number < 1) EMIT_FAIL(emitter, "an array of %lld elements", (long long)number);
    return burn__emit_array_of(emitter, of, (uint64_t)number);
  }
  const Type *type = named_type(emitter, syntax);
  return syntax->member ? member_type(emitter, type, syntax->member) : type;
}

const Type *burn__emit_type(Emitter *emitter, const TypeSyntax *syntax) {
  burn__emit_deeper(emitter);
  const Type *type = type_of(emitter, syntax);
  emitter->depth--;
  return type;
}

const char *burn__emit_type_name(Emitter *emitter, const Type *type) {
  char text[160];
  if (type->declaration) return type->declaration->name;
  if (type->kind == TYPE_POINTER) {
    (void)snprintf(text, sizeof text, "%.100s *", burn__emit_type_name(emitter, type->of));
  } else if (type->kind == TYPE_ARRAY) {
    (void)snprintf(text, sizeof text, "%.100s [%llu]", burn__emit_type_name(emitter, type->of),
                   (unsigned long long)type->count);
  } else {
    for (size_t i = 0; i < sizeof basics / sizeof basics[0]; i++)
      if (type->kind == basics[i].kind && type->bits == basics[i].bits && type->is_signed == basics[i].is_signed)
        return basics[i].name;
    return "a type";
  }
  char *copy = burn__kernel_allocate(emitter->arena, strlen(text) + 1);
  return memcpy(copy, text, strlen(text) + 1);
}

/* -- in the module ---------------------------------------------------------------------------- */

static uint32_t struct_id(Emitter *emitter, const Type *type) {
  uint32_t *ids = burn__kernel_allocate(emitter->arena, (type->member_count + 1) * sizeof *ids);
  for (uint32_t i = 0; i < type->member_count; i++) ids[i] = burn__emit_type_id(emitter, type->members[i].type);
  return burn__spirv_global(&emitter->spirv, SpirvTypeStruct, 0, ids, type->member_count);
}

static uint32_t make_id(Emitter *emitter, const Type *type) {
  Spirv *spirv = &emitter->spirv;
  switch ((TypeKind)type->kind) {
    case TYPE_VOID:
      return burn__spirv_global(spirv, SpirvTypeVoid, 0, NULL, 0);
    case TYPE_BOOL:
      return burn__spirv_global(spirv, SpirvTypeBool, 0, NULL, 0);
    case TYPE_INTEGER:
    case TYPE_POINTER:
      return SPIRV_GLOBAL(spirv, SpirvTypeInt, 0, type->bits, 0);
    case TYPE_FLOAT:
      return SPIRV_GLOBAL(spirv, SpirvTypeFloat, 0, type->bits);
    case TYPE_ARRAY: {
      const uint32_t of = burn__emit_type_id(emitter, type->of);
      return SPIRV_GLOBAL(spirv, SpirvTypeArray, 0, of, burn__emit_u32(emitter, (uint32_t)type->count));
    }
    case TYPE_MATRIX:
      return burn__emit_matrix_id(emitter, type);
    case TYPE_STRUCT:
      break;
  }
  return struct_id(emitter, type);
}

uint32_t burn__emit_type_id(Emitter *emitter, const Type *type) {
  Type *known = (Type *)(uintptr_t)type; /* an id is not part of what a type is */
  if (known->id == 0) known->id = make_id(emitter, type);
  return known->id;
}

uint32_t burn__emit_pointer_id(Emitter *emitter, uint32_t storage_class, const Type *type) {
  return SPIRV_GLOBAL(&emitter->spirv, SpirvTypePointer, 0, storage_class, burn__emit_type_id(emitter, type));
}
