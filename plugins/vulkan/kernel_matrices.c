/* kernel_matrices.c - matrices that a subgroup has together (SPV_KHR_cooperative_matrix): their types, reading them
 * from shared memory and writing them, multiply-add. */
#include "kernel_emit.h"

enum { SCOPE_WORKGROUP = 2, SCOPE_SUBGROUP = 3 };
enum { BFLOAT_16_ENCODING = 0, ALL_SIGNED = 15 };
/* Memory operands of the specification. */
enum { MAKE_AVAILABLE = 8, MAKE_VISIBLE = 16, NOT_PRIVATE = 32 };

/* -- types ------------------------------------------------------------------------------------ */

/* Halves are numbers in matrices only; i8 has a sign in its type, as devices tell the two kinds apart by it. */
static uint32_t number_id(Emitter *emitter, const Type *matrix) {
  Spirv *spirv = &emitter->spirv;
  const Type *type = matrix->of;
  const char *name = type && type->kind == TYPE_STRUCT ? type->declaration->name : NULL;
  if (name == emitter->words[WORD_f16_t]) {
    emitter->uses_f16 = true;
    return SPIRV_GLOBAL(spirv, SpirvTypeFloat, 0, 16);
  }
  if (name == emitter->words[WORD_bf16_t]) {
    emitter->uses_bf16 = true;
    return SPIRV_GLOBAL(spirv, SpirvTypeFloat, 0, 16, BFLOAT_16_ENCODING);
  }
  if (type == emitter->floats[0]) return burn__emit_type_id(emitter, type);
  if (type == emitter->integers[1][0] || type == emitter->integers[1][2])
    return SPIRV_GLOBAL(spirv, SpirvTypeInt, 0, type->bits, 1);
  EMIT_FAIL(emitter, "a matrix has no elements of type '%s'", type ? burn__emit_type_name(emitter, type) : "number");
}

uint32_t burn__emit_matrix_id(Emitter *emitter, const Type *type) {
  const uint32_t number = number_id(emitter, type), scope = burn__emit_u32(emitter, SCOPE_SUBGROUP);
  const uint32_t rows = burn__emit_u32(emitter, type->rows), columns = burn__emit_u32(emitter, type->columns);
  const uint32_t use = burn__emit_u32(emitter, type->use);
  return SPIRV_GLOBAL(&emitter->spirv, SpirvTypeCooperativeMatrixKHR, 0, number, scope, rows, columns, use);
}

/* The type that a call names: burn_matrix_load<M>(..). */
static const Type *named_type(Emitter *emitter, const Node *call) {
  const Argument *argument = call->a->arguments;
  const Type *type = argument && argument->type ? burn__emit_type(emitter, argument->type) : NULL;
  if (!type || type->kind != TYPE_MATRIX || argument->next)
    EMIT_FAIL(emitter, "'%s' wants the type of a matrix in <>", call->a->name);
  return type;
}

/* -- functions -------------------------------------------------------------------------------- */

static Value matrix_input(Emitter *emitter, const Node *call, uint32_t i) {
  const Node *node = call->b;
  for (; i > 0; i--) node = node->next;
  const Value value = burn__emit_number(emitter, node);
  if (value.type->kind != TYPE_MATRIX)
    EMIT_FAIL(emitter, "'%s' is given '%s', which is not a matrix", call->a->name,
              burn__emit_type_name(emitter, value.type));
  return value;
}

/* Where a call reads or writes, and how rows or columns lie there. */
typedef struct Lines {
  uint32_t pointer, layout, step;
} Lines;

static Lines lines_of(Emitter *emitter, const Node *call, uint32_t first_after_pointer) {
  const Value pointer = burn__emit_number(emitter, call->b);
  const Value step = burn__emit_input(emitter, call, first_after_pointer, emitter->integers[0][2]);
  const Value turned = burn__emit_input(emitter, call, first_after_pointer + 1, emitter->integers[0][2]);
  const uint32_t layout = burn__emit_u32(emitter, burn__emit_known(emitter, &turned) != 0);
  return (Lines){burn__emit_shared_pointer(emitter, &pointer), layout, burn__emit_id_of(emitter, &step)};
}

static Value load(Emitter *emitter, const Node *call) {
  const Type *type = named_type(emitter, call);
  const Lines lines = lines_of(emitter, call, 1);
  return burn__emit_id(type, SPIRV_RESULT(&emitter->spirv, emitter->section, SpirvCooperativeMatrixLoadKHR,
                                          burn__emit_type_id(emitter, type), lines.pointer, lines.layout, lines.step,
                                          MAKE_VISIBLE | NOT_PRIVATE, burn__emit_u32(emitter, SCOPE_WORKGROUP)));
}

static Value store(Emitter *emitter, const Node *call) {
  const Value matrix = matrix_input(emitter, call, 1);
  const Lines lines = lines_of(emitter, call, 2);
  SPIRV_PUT(&emitter->spirv, emitter->section, SpirvCooperativeMatrixStoreKHR, lines.pointer,
            burn__emit_id_of(emitter, &matrix), lines.layout, lines.step, MAKE_AVAILABLE | NOT_PRIVATE,
            burn__emit_u32(emitter, SCOPE_WORKGROUP));
  return (Value){.kind = VALUE_NOTHING, .type = emitter->void_type};
}

static Value fill(Emitter *emitter, const Node *call) {
  const Type *type = named_type(emitter, call);
  const bool is_integer = type->of && type->of->kind == TYPE_INTEGER;
  if (!type->of || !type_is_number(type->of)) EMIT_FAIL(emitter, "a matrix of halves is not filled");
  const Value x = burn__emit_input(emitter, call, 0, type->of);
  uint32_t id = burn__emit_id_of(emitter, &x);
  if (is_integer) /* to the type with a sign */
    id = SPIRV_RESULT(&emitter->spirv, emitter->section, SpirvBitcast, number_id(emitter, type), id);
  return burn__emit_id(type, SPIRV_RESULT(&emitter->spirv, emitter->section, SpirvCompositeConstruct,
                                          burn__emit_type_id(emitter, type), id));
}

static Value multiply_add(Emitter *emitter, const Node *call) {
  const Value a = matrix_input(emitter, call, 0), b = matrix_input(emitter, call, 1),
              c = matrix_input(emitter, call, 2);
  const bool fits = a.type->use == 0 && b.type->use == 1 && c.type->use == 2 && a.type->rows == c.type->rows &&
                    b.type->columns == c.type->columns && a.type->columns == b.type->rows;
  const uint32_t id = burn__emit_type_id(emitter, c.type),
                 operands[] = {burn__emit_id_of(emitter, &a), burn__emit_id_of(emitter, &b),
                               burn__emit_id_of(emitter, &c), ALL_SIGNED};
  const bool has_signs = c.type->of->kind == TYPE_INTEGER;
  if (!fits) EMIT_FAIL(emitter, "'%s' of matrices that do not fit", call->a->name);
  return burn__emit_id(c.type, burn__spirv_result(&emitter->spirv, emitter->section, SpirvCooperativeMatrixMulAddKHR,
                                                  id, operands, has_signs ? 4 : 3));
}

/* The element of a matrix that a call names: a pointer to it, and the number that it is. */
static uint32_t element_pointer(Emitter *emitter, const Node *call, const Type **matrix) {
  Value value = burn__emit_expression(emitter, call->b);
  const Value at = burn__emit_input(emitter, call, 1, emitter->integers[0][2]);
  if (value.type->kind != TYPE_MATRIX)
    EMIT_FAIL(emitter, "'%s' is given '%s', which is not a matrix", call->a->name,
              burn__emit_type_name(emitter, value.type));
  const uint32_t pointer =
      SPIRV_GLOBAL(&emitter->spirv, SpirvTypePointer, 0, SPIRV_FUNCTION, number_id(emitter, value.type));
  *matrix = value.type;
  return SPIRV_RESULT(&emitter->spirv, emitter->section, SpirvAccessChain, pointer,
                      burn__emit_local_pointer(emitter, &value), burn__emit_id_of(emitter, &at));
}

/* Halves are f32 for the text. */
static bool is_half(const Type *matrix) { return matrix->of->kind == TYPE_STRUCT; }

static Value get(Emitter *emitter, const Node *call) {
  const Type *matrix = NULL, *real = emitter->floats[0];
  const uint32_t pointer = element_pointer(emitter, call, &matrix);
  uint32_t id = SPIRV_RESULT(&emitter->spirv, emitter->section, SpirvLoad, number_id(emitter, matrix), pointer);
  if (!is_half(matrix) && matrix->of != real) EMIT_FAIL(emitter, "elements of integers are not read");
  if (is_half(matrix))
    id = SPIRV_RESULT(&emitter->spirv, emitter->section, SpirvFConvert, burn__emit_type_id(emitter, real), id);
  return burn__emit_id(real, id);
}

static Value set(Emitter *emitter, const Node *call) {
  const Type *matrix = NULL, *real = emitter->floats[0];
  const uint32_t pointer = element_pointer(emitter, call, &matrix);
  const Value x = burn__emit_input(emitter, call, 2, real);
  uint32_t id = burn__emit_id_of(emitter, &x);
  if (!is_half(matrix) && matrix->of != real) EMIT_FAIL(emitter, "elements of integers are not written");
  if (is_half(matrix))
    id = SPIRV_RESULT(&emitter->spirv, emitter->section, SpirvFConvert, number_id(emitter, matrix), id);
  SPIRV_PUT(&emitter->spirv, emitter->section, SpirvStore, pointer, id);
  return (Value){.kind = VALUE_NOTHING, .type = emitter->void_type};
}

bool burn__emit_matrix_function(Emitter *emitter, KernelWord word, const Node *call, Value *out) {
  if (word == WORD_burn_matrix_load)
    *out = load(emitter, call);
  else if (word == WORD_burn_matrix_store)
    *out = store(emitter, call);
  else if (word == WORD_burn_matrix_fill)
    *out = fill(emitter, call);
  else if (word == WORD_burn_matrix_multiply_add)
    *out = multiply_add(emitter, call);
  else if (word == WORD_burn_matrix_get)
    *out = get(emitter, call);
  else if (word == WORD_burn_matrix_set)
    *out = set(emitter, call);
  else
    return false;
  return true;
}
