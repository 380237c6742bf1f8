/* kernel_places.c - where values lie: variables, shared memory, memory of the device, the parameters; members, elements
 * and pointers. */
#include "kernel_emit.h"

enum { MAX_LOCAL_BYTES = 1 << 19, MAX_SHARED_BYTES = 1 << 18 };

/* -- variables -------------------------------------------------------------------------------- */

static uint32_t storage_class(const Place *place) {
  return place->space == SPACE_SHARED ? SPIRV_WORKGROUP : SPIRV_FUNCTION;
}

/* What a struct is made of that shared memory has as a vector, so that it is one access: two or four numbers of 4 bytes
 * of a type, aligned as a whole; else NULL. */
static const Type *number_of_vector(const Type *type) {
  const bool fits = type->kind == TYPE_STRUCT && (type->size == 8 || type->size == 16) && type->alignment == type->size;
  if (!fits) return NULL;
  const Type *first = type->members[0].type;
  if (type->member_count == 1 && first->kind == TYPE_ARRAY) first = first->of;
  for (uint32_t i = 1; i < type->member_count; i++)
    if (type->members[i].type != first) return NULL;
  return type_is_number(first) && first->size == 4 ? first : NULL;
}

/* What a type is in shared memory where structs are vectors. */
static uint32_t shared_id(Emitter *emitter, const Type *type) {
  const Type *number = number_of_vector(type);
  if (type->kind == TYPE_ARRAY) {
    const uint32_t of = shared_id(emitter, type->of);
    return SPIRV_GLOBAL(&emitter->spirv, SpirvTypeArray, 0, of, burn__emit_u32(emitter, (uint32_t)type->count));
  }
  if (!number) return burn__emit_type_id(emitter, type);
  const uint32_t of = burn__emit_type_id(emitter, number);
  return SPIRV_GLOBAL(&emitter->spirv, SpirvTypeVector, 0, of, (uint32_t)type->size / 4);
}

static bool is_of_vectors(const Type *type) {
  while (type->kind == TYPE_ARRAY) type = type->of;
  return number_of_vector(type) != NULL;
}

static uint32_t index_id(Emitter *emitter, const Index *index) {
  const Type *type = emitter->integers[1][2];
  const Value number = burn__emit_integer(type, (uint64_t)index->number);
  const uint32_t constant = burn__emit_id_of(emitter, &number);
  if (!index->id) return constant;
  return index->number == 0 ? index->id : burn__emit_op(emitter, SpirvIAdd, type, index->id, constant);
}

static uint32_t variable_pointer(Emitter *emitter, const Type *type, const Place *place) {
  uint32_t operands[1 + MAX_INDICES] = {place->variable};
  if (place->depth == 0) return place->variable;
  for (uint32_t i = 0; i < place->depth; i++) operands[1 + i] = index_id(emitter, &place->indices[i]);
  const uint32_t of = place->of_vectors ? shared_id(emitter, type) : burn__emit_type_id(emitter, type);
  const uint32_t pointer = SPIRV_GLOBAL(&emitter->spirv, SpirvTypePointer, 0, storage_class(place), of);
  return burn__spirv_result(&emitter->spirv, emitter->section, SpirvAccessChain, pointer, operands, 1u + place->depth);
}

uint32_t burn__emit_shared_pointer(Emitter *emitter, const Value *pointer) {
  if (pointer->kind != VALUE_POINTER || pointer->place.space != SPACE_SHARED)
    EMIT_FAIL(emitter, "a pointer into shared memory is wanted");
  return variable_pointer(emitter, pointer->type->of, &pointer->place);
}

uint32_t burn__emit_local_pointer(Emitter *emitter, const Value *value) {
  if (value->kind != VALUE_PLACE || value->place.space != SPACE_LOCAL)
    EMIT_FAIL(emitter, "a variable of the thread is wanted");
  return variable_pointer(emitter, value->type, &value->place);
}

Value burn__emit_variable(Emitter *emitter, const Type *type) {
  if (type->kind == TYPE_VOID) EMIT_FAIL(emitter, "a variable of type '%s'", burn__emit_type_name(emitter, type));
  emitter->local_bytes += type->size;
  if (emitter->local_bytes > MAX_LOCAL_BYTES)
    EMIT_FAIL(emitter, "more than %d bytes of variables for a thread", MAX_LOCAL_BYTES);
  const uint32_t pointer = burn__emit_pointer_id(emitter, SPIRV_FUNCTION, type);
  Value value = {.kind = VALUE_PLACE, .type = type, .place = {.space = SPACE_LOCAL}};
  value.place.variable = SPIRV_RESULT(&emitter->spirv, SPIRV_LOCALS, SpirvVariable, pointer, SPIRV_FUNCTION);
  return value;
}

/* A declaration in a function that is inlined twice is one variable, as its text says. */
typedef struct SharedVariable {
  struct SharedVariable *next;
  const Node *declared;
  const Type *type;
  uint32_t id;
} SharedVariable;

Value burn__emit_shared(Emitter *emitter, const Type *type, const Node *declared) {
  Value value = {
      .kind = VALUE_PLACE, .type = type, .place = {.space = SPACE_SHARED, .of_vectors = is_of_vectors(type)}};
  SharedVariable *known = emitter->shared;
  while (known && (known->declared != declared || known->type != type)) known = known->next;
  if (!known) {
    if (emitter->shared_count == sizeof emitter->shared_variables / sizeof emitter->shared_variables[0])
      EMIT_FAIL(emitter, "more than %u shared variables", emitter->shared_count);
    const uint32_t of = value.place.of_vectors ? shared_id(emitter, type) : burn__emit_type_id(emitter, type);
    const uint32_t pointer = SPIRV_GLOBAL(&emitter->spirv, SpirvTypePointer, 0, SPIRV_WORKGROUP, of);
    known = burn__kernel_allocate(emitter->arena, sizeof *known);
    known->declared = declared;
    known->type = type;
    known->id = SPIRV_RESULT(&emitter->spirv, SPIRV_GLOBALS, SpirvVariable, pointer, SPIRV_WORKGROUP);
    known->next = emitter->shared;
    emitter->shared = known;
    emitter->shared_variables[emitter->shared_count++] = known->id;
    emitter->shared_bytes += type->size;
    if (emitter->shared_bytes > MAX_SHARED_BYTES)
      EMIT_FAIL(emitter, "more than %d bytes of shared memory", MAX_SHARED_BYTES);
  }
  value.place.variable = known->id;
  return value;
}

/* -- parameters ------------------------------------------------------------------------------- */

typedef struct LoadedParameter {
  struct LoadedParameter *next;
  const Type *type;
  int64_t offset;
  uint32_t id;
} LoadedParameter;

typedef struct PushWords {
  Emitter *emitter;
  uint32_t dynamic;
} PushWords;

static uint32_t push_word(void *context, uint64_t byte) {
  const PushWords *words = context;
  Emitter *emitter = words->emitter;
  const Type *word = emitter->integers[0][2];
  const uint32_t at = (uint32_t)byte + KERNEL_PARAMETERS_AT;
  uint32_t index = burn__emit_u32(emitter, at / 4);
  if (words->dynamic) {
    const uint32_t fourth =
        burn__emit_op(emitter, SpirvShiftRightLogical, word, words->dynamic, burn__emit_u32(emitter, 2));
    index = burn__emit_op(emitter, SpirvIAdd, word, fourth, index);
  }
  const uint32_t pointer = SPIRV_RESULT(&emitter->spirv, emitter->section, SpirvAccessChain,
                                        burn__emit_pointer_id(emitter, SPIRV_PUSH_CONSTANT, word), emitter->push,
                                        burn__emit_u32(emitter, 0), index);
  return SPIRV_RESULT(&emitter->spirv, emitter->section, SpirvLoad, burn__emit_type_id(emitter, word), pointer);
}

static uint32_t load_parameter(Emitter *emitter, const Type *type, const Place *place) {
  if (emitter->in_push_constants) {
    PushWords words = {emitter, place->dynamic};
    return burn__emit_from_words(emitter, type, push_word, &words, (uint64_t)place->offset);
  }
  uint32_t address = emitter->parameters_address;
  if (place->dynamic) {
    const Type *word = emitter->integers[0][3];
    const uint32_t bytes = burn__emit_op(emitter, SpirvUConvert, word, place->dynamic, 0);
    address = burn__emit_op(emitter, SpirvIAdd, word, address, bytes);
  }
  return burn__emit_memory_load(emitter, type, address, place->offset);
}

/* What is at a place that is known now is loaded once, when the kernel begins. */
static uint32_t known_parameter(Emitter *emitter, const Type *type, const Place *place) {
  LoadedParameter *known = emitter->loaded;
  uint64_t looked_at = 0;
  for (; known && (known->offset != place->offset || known->type != type); looked_at++) known = known->next;
  burn__emit_work(emitter, looked_at / 16);
  if (known) return known->id;
  const SpirvSection section = emitter->section;
  emitter->section = SPIRV_PROLOGUE;
  known = burn__kernel_allocate(emitter->arena, sizeof *known);
  known->type = type;
  known->offset = place->offset;
  known->id = load_parameter(emitter, type, place);
  known->next = emitter->loaded;
  emitter->loaded = known;
  emitter->section = section;
  return known->id;
}

/* -- loads and stores ------------------------------------------------------------------------- */

/* Shared memory that other threads see belongs to the workgroup, which Vulkan's memory model wants to hear. */
enum { MAKE_AVAILABLE = 8, MAKE_VISIBLE = 16, NOT_PRIVATE = 32, SCOPE_WORKGROUP = 2 };

static uint32_t load_variable(Emitter *emitter, uint32_t type, uint32_t pointer, const Place *place) {
  Spirv *spirv = &emitter->spirv;
  if (!emitter->uses_matrices || place->space != SPACE_SHARED)
    return SPIRV_RESULT(spirv, emitter->section, SpirvLoad, type, pointer);
  return SPIRV_RESULT(spirv, emitter->section, SpirvLoad, type, pointer, MAKE_VISIBLE | NOT_PRIVATE,
                      burn__emit_u32(emitter, SCOPE_WORKGROUP));
}

static void store_variable(Emitter *emitter, uint32_t pointer, uint32_t value, const Place *place) {
  Spirv *spirv = &emitter->spirv;
  if (!emitter->uses_matrices || place->space != SPACE_SHARED)
    SPIRV_PUT(spirv, emitter->section, SpirvStore, pointer, value);
  else
    SPIRV_PUT(spirv, emitter->section, SpirvStore, pointer, value, MAKE_AVAILABLE | NOT_PRIVATE,
              burn__emit_u32(emitter, SCOPE_WORKGROUP));
}

/* A struct of an array has its numbers one level deeper. */
static uint32_t from_vector(Emitter *emitter, const Type *type, uint32_t vector) {
  Spirv *spirv = &emitter->spirv;
  const Type *number = number_of_vector(type), *inner = type->members[0].type;
  const uint32_t count = (uint32_t)type->size / 4, id = burn__emit_type_id(emitter, type);
  uint32_t parts[4];
  for (uint32_t i = 0; i < count; i++) parts[i] = burn__emit_extract(emitter, number, vector, i);
  if (inner == number) return burn__spirv_result(spirv, emitter->section, SpirvCompositeConstruct, id, parts, count);
  const uint32_t array = burn__spirv_result(spirv, emitter->section, SpirvCompositeConstruct,
                                            burn__emit_type_id(emitter, inner), parts, count);
  return SPIRV_RESULT(spirv, emitter->section, SpirvCompositeConstruct, id, array);
}

static uint32_t to_vector(Emitter *emitter, const Type *type, uint32_t value) {
  const Type *number = number_of_vector(type), *inner = type->members[0].type;
  const uint32_t count = (uint32_t)type->size / 4;
  uint32_t parts[4];
  if (inner != number) value = burn__emit_extract(emitter, inner, value, 0);
  for (uint32_t i = 0; i < count; i++) parts[i] = burn__emit_extract(emitter, number, value, i);
  return burn__spirv_result(&emitter->spirv, emitter->section, SpirvCompositeConstruct, shared_id(emitter, type), parts,
                            count);
}

static void check_variable(Emitter *emitter, const Type *type, const Place *place) {
  if (type->kind == TYPE_MATRIX && place->space != SPACE_LOCAL)
    EMIT_FAIL(emitter, "'%s' lies in variables of a thread only", burn__emit_type_name(emitter, type));
  if (place->of_vectors && type->kind == TYPE_ARRAY) EMIT_FAIL(emitter, "an array in shared memory is not a value");
}

Value burn__emit_load(Emitter *emitter, const Type *type, const Place *place) {
  uint32_t id = 0;
  check_variable(emitter, type, place);
  if (place->space == SPACE_MEMORY) {
    id = burn__emit_memory_load(emitter, type, place->address, place->offset);
  } else if (place->space == SPACE_PARAMETERS) {
    id = place->dynamic || emitter->reloads ? load_parameter(emitter, type, place)
                                            : known_parameter(emitter, type, place);
  } else {
    const bool is_vector = place->of_vectors && number_of_vector(type);
    const uint32_t pointer = variable_pointer(emitter, type, place);
    const uint32_t of = is_vector ? shared_id(emitter, type) : burn__emit_type_id(emitter, type);
    id = load_variable(emitter, of, pointer, place);
    if (is_vector) id = from_vector(emitter, type, id);
  }
  return burn__emit_id(type, id);
}

void burn__emit_store(Emitter *emitter, const Type *type, const Place *place, const Value *given) {
  const Value value = burn__emit_convert(emitter, given, type);
  uint32_t id = burn__emit_id_of(emitter, &value);
  check_variable(emitter, type, place);
  if (place->space == SPACE_PARAMETERS) EMIT_FAIL(emitter, "the parameters of a kernel cannot be written");
  if (place->space == SPACE_MEMORY) {
    burn__emit_memory_store(emitter, type, place->address, place->offset, id);
    return;
  }
  if (place->of_vectors && number_of_vector(type)) id = to_vector(emitter, type, id);
  store_variable(emitter, variable_pointer(emitter, type, place), id, place);
}

Value burn__emit_spill(Emitter *emitter, const Value *value) {
  Value variable = burn__emit_variable(emitter, value->type);
  burn__emit_store(emitter, value->type, &variable.place, value);
  return variable;
}

/* -- members and elements --------------------------------------------------------------------- */

static void push_index(Emitter *emitter, Place *place, Index index) {
  if (place->depth == MAX_INDICES) EMIT_FAIL(emitter, "more than %d members and elements", MAX_INDICES);
  place->indices[place->depth++] = index;
}

Value burn__emit_member(Emitter *emitter, const Value *value, const char *name) {
  const Member *member = burn__emit_member_of(emitter, value->type, name);
  const uint32_t at = (uint32_t)(member - value->type->members);
  if (value->kind == VALUE_ID)
    return burn__emit_id(member->type, burn__emit_extract(emitter, member->type, value->id, at));
  Value out = *value;
  out.type = member->type;
  if (out.place.space == SPACE_MEMORY || out.place.space == SPACE_PARAMETERS)
    out.place.offset += (int64_t)member->offset;
  else if (!(out.place.of_vectors && member->type->kind == TYPE_ARRAY)) /* an element of it is one of the vector */
    push_index(emitter, &out.place, (Index){0, at});
  return out;
}

/* Adds index * size bytes. */
static void move_bytes(Emitter *emitter, Place *place, const Value *index, uint64_t size) {
  if (index->kind == VALUE_CONSTANT) {
    place->offset = (int64_t)((uint64_t)place->offset + index->as.bits * size);
    return;
  }
  const bool is_memory = place->space == SPACE_MEMORY;
  const Type *word = emitter->integers[0][is_memory ? 3 : 2];
  const Value wide = burn__emit_convert(emitter, index, word), bytes = burn__emit_integer(word, size);
  const Value distance = burn__emit_binary(emitter, KERNEL_STAR, &wide, &bytes);
  uint32_t *base = is_memory ? &place->address : &place->dynamic;
  const uint32_t id = burn__emit_id_of(emitter, &distance);
  *base = *base ? burn__emit_op(emitter, SpirvIAdd, word, *base, id) : id;
}

static void move_index(Emitter *emitter, Index *at, const Value *by) {
  const Type *type = emitter->integers[1][2];
  const Value index = burn__emit_convert(emitter, by, type);
  if (index.kind == VALUE_CONSTANT) {
    at->number += (int64_t)index.as.bits;
    if (at->number != (int32_t)at->number) EMIT_FAIL(emitter, "an index of %lld", (long long)at->number);
    return;
  }
  const uint32_t id = burn__emit_id_of(emitter, &index);
  at->id = at->id ? burn__emit_op(emitter, SpirvIAdd, type, at->id, id) : id;
}

static bool is_by_bytes(const Place *place) { return place->space == SPACE_MEMORY || place->space == SPACE_PARAMETERS; }

/* Push constants are words, of which a chosen byte is not a whole one: such an array is copied before. */
static bool is_narrow(const Emitter *emitter, const Value *array) {
  return array->kind == VALUE_PLACE && array->place.space == SPACE_PARAMETERS && emitter->in_push_constants &&
         array->type->alignment < 4;
}

static Value element_of_array(Emitter *emitter, const Value *array, const Value *index) {
  const Type *type = array->type->of;
  if (index->kind == VALUE_CONSTANT && index->as.bits >= array->type->count && !is_by_bytes(&array->place)) {
    const Value zero = burn__emit_integer(index->type, 0);
    if (emitter->unevaluated) return element_of_array(emitter, array, &zero);
    EMIT_FAIL(emitter, "element %lld of %llu", (long long)index->as.bits, (unsigned long long)array->type->count);
  }
  if (array->kind == VALUE_ID && index->kind == VALUE_CONSTANT)
    return burn__emit_id(type, burn__emit_extract(emitter, type, array->id, (uint32_t)index->as.bits));
  Value out = *array;
  if (is_narrow(emitter, array) && index->kind != VALUE_CONSTANT)
    out = burn__emit_load(emitter, array->type, &array->place);
  if (out.kind == VALUE_ID) out = burn__emit_spill(emitter, &out);
  out.type = type;
  if (is_by_bytes(&out.place)) {
    move_bytes(emitter, &out.place, index, type->size);
    return out;
  }
  push_index(emitter, &out.place, (Index){0, 0});
  move_index(emitter, &out.place.indices[out.place.depth - 1], index);
  return out;
}

Value burn__emit_index(Emitter *emitter, const Value *value, const Value *given) {
  const Value index = burn__emit_rvalue(emitter, given);
  if (index.type->kind != TYPE_INTEGER && index.type->kind != TYPE_BOOL)
    EMIT_FAIL(emitter, "an index of type '%s'", burn__emit_type_name(emitter, index.type));
  if (value->type->kind == TYPE_ARRAY) return element_of_array(emitter, value, &index);
  const Value pointer = burn__emit_rvalue(emitter, value);
  const Value moved = burn__emit_moved(emitter, &pointer, &index, false);
  return burn__emit_dereference(emitter, &moved);
}

/* -- pointers --------------------------------------------------------------------------------- */

Value burn__emit_address_of(Emitter *emitter, const Value *value) {
  if (value->kind != VALUE_PLACE) EMIT_FAIL(emitter, "'&' of what has no place");
  Value out = {.kind = VALUE_POINTER, .type = burn__emit_pointer_to(emitter, value->type), .place = value->place};
  out.may_move = is_by_bytes(&value->place);
  if (value->place.space != SPACE_MEMORY) return out;
  out.kind = VALUE_ID;
  out.id = value->place.address;
  out.offset = value->place.offset;
  return out;
}

Value burn__emit_dereference(Emitter *emitter, const Value *given) {
  const Value pointer = burn__emit_rvalue(emitter, given);
  if (pointer.type->kind != TYPE_POINTER)
    EMIT_FAIL(emitter, "'*' of '%s', which is not a pointer", burn__emit_type_name(emitter, pointer.type));
  Value out = {.kind = VALUE_PLACE, .type = pointer.type->of, .place = pointer.place};
  if (pointer.kind == VALUE_POINTER) return out;
  out.place = (Place){.space = SPACE_MEMORY, .offset = pointer.offset};
  if (pointer.kind == VALUE_CONSTANT) {
    const Value address = burn__emit_integer(emitter->integers[0][3], pointer.as.bits);
    out.place.address = burn__emit_id_of(emitter, &address);
  } else {
    out.place.address = pointer.id;
  }
  return out;
}

Value burn__emit_moved(Emitter *emitter, const Value *given, const Value *by, bool backwards) {
  Value out = burn__emit_rvalue(emitter, given);
  const Value steps = burn__emit_rvalue(emitter, by);
  if (steps.type->kind != TYPE_INTEGER && steps.type->kind != TYPE_BOOL)
    EMIT_FAIL(emitter, "an index of type '%s'", burn__emit_type_name(emitter, steps.type));
  const Value wide = backwards ? burn__emit_convert(emitter, &steps, emitter->integers[1][3]) : steps;
  const Value distance = backwards ? burn__emit_unary(emitter, KERNEL_MINUS, &wide) : steps;
  if (out.type->kind != TYPE_POINTER || distance.type->kind == TYPE_POINTER)
    EMIT_FAIL(emitter, "an index into '%s'", burn__emit_type_name(emitter, out.type));
  if (distance.kind == VALUE_CONSTANT && distance.as.bits == 0) return out;
  if (out.kind == VALUE_POINTER && is_by_bytes(&out.place)) {
    move_bytes(emitter, &out.place, &distance, out.type->of->size);
    return out;
  }
  if (out.kind == VALUE_POINTER) {
    if (!out.may_move) EMIT_FAIL(emitter, "a pointer to a single variable is moved");
    move_index(emitter, &out.place.indices[out.place.depth - 1], &distance);
    return out;
  }
  Place place = {.space = SPACE_MEMORY, .address = out.kind == VALUE_ID ? out.id : 0, .offset = out.offset};
  if (out.kind == VALUE_CONSTANT) place.offset = (int64_t)out.as.bits;
  move_bytes(emitter, &place, &distance, out.type->of->size);
  out = (Value){.kind = VALUE_ID, .type = out.type, .id = place.address, .offset = place.offset};
  if (!place.address) EMIT_FAIL(emitter, "a pointer from a constant");
  return out;
}
