/* kernel_emit.h - one kernel on its way from syntax to SPIR-V: types, values, names, the function that is inlined.
 * Every call is inlined, so a pointer to a variable is known when it is used, and templates are no more than calls. */
#ifndef BURN_VULKAN_KERNEL_EMIT_H
#define BURN_VULKAN_KERNEL_EMIT_H

#include "kernel.h"
#include "kernel_spirv.h"
#include "kernel_syntax.h"

typedef struct Type Type;
typedef struct Value Value;
typedef struct Emitter Emitter;

/* -- types ------------------------------------------------------------------------------------ */

typedef enum TypeKind {
  TYPE_VOID,
  TYPE_BOOL,
  TYPE_INTEGER,
  TYPE_FLOAT,
  TYPE_POINTER,
  TYPE_ARRAY,
  TYPE_STRUCT,
  TYPE_MATRIX /* of the numbers of `of`, spread over the threads of a subgroup */
} TypeKind;

typedef struct Member {
  const char *name;
  const Type *type;
  uint64_t offset;
} Member;

/* Sizes and places are those of C. Equal types are the same pointer. */
struct Type {
  Type *next; /* of all */
  uint8_t kind;
  bool is_signed;
  uint8_t bits;                   /* of integers and floats */
  const Type *of;                 /* of pointers and arrays */
  uint64_t count;                 /* of an array */
  uint64_t size, alignment;       /* in bytes */
  const Declaration *declaration; /* of a struct */
  const struct Binding *bindings; /* what its template's parameters are */
  Member *members;
  uint32_t member_count;
  uint32_t rows, columns, use; /* of a matrix; use: as the specification numbers them */
  bool is_open;                /* its members are still being read */
  uint32_t id;                 /* in the module; 0: not there yet */
};

/* -- values ----------------------------------------------------------------------------------- */

enum { MAX_INDICES = 8 };

typedef enum Space {
  SPACE_LOCAL,
  SPACE_SHARED,
  SPACE_MEMORY,    /* of the device, at an address */
  SPACE_PARAMETERS /* in push constants */
} Space;

/* id + number, of type int; id 0: the number alone. */
typedef struct Index {
  uint32_t id;
  int64_t number;
} Index;

/* Where a value lies. */
typedef struct Place {
  uint8_t space;     /* Space */
  uint8_t depth;     /* of indices */
  bool of_vectors;   /* of shared memory: an array of structs that are vectors there */
  uint32_t variable; /* of the first two */
  Index indices[MAX_INDICES];
  uint32_t address; /* of memory: 64 bits; 0: none */
  uint32_t dynamic; /* of parameters: bytes to add, 32 bits; 0: none */
  int64_t offset;   /* bytes, of the last two */
} Place;

typedef enum ValueKind {
  VALUE_NOTHING,
  VALUE_CONSTANT,
  VALUE_ID,
  VALUE_PLACE,
  VALUE_POINTER /* to the place of a variable or parameter; into device memory it is a VALUE_ID */
} ValueKind;

struct Value {
  uint8_t kind;
  bool may_move; /* a pointer to an element of an array, which its last index tells */
  const Type *type;
  union {
    uint64_t bits; /* of a constant: integers extended to 64 bits */
    double real;   /* floats of either size */
  } as;
  uint32_t id;
  int64_t offset; /* of a pointer into device memory: bytes to add to id */
  Place place;
};

/* -- names ------------------------------------------------------------------------------------ */

/* What a name means: a type, or a value. */
typedef struct Symbol {
  const char *name;
  const Type *type; /* of a type; else NULL */
  Value value;
} Symbol;

typedef struct Binding {
  struct Binding *next;
  Symbol symbol;
} Binding;

enum { MAX_SYMBOLS = 4096, MAX_CALLS = 64, MAX_LOOPS = 64 };

typedef struct Loop {
  uint32_t merge, next; /* where break and continue go */
  bool has_return;      /* something leaves the function out of it */
} Loop;

/* A function that is being inlined. */
typedef struct Frame {
  struct Frame *outer;
  const Declaration *function; /* NULL: constants outside of functions */
  uint32_t first_symbol;       /* names before are not seen */
  uint32_t first_loop;
  uint32_t line;            /* where it is called */
  const Type *result;       /* NULL: not known yet */
  Value value;              /* of the result, or the variable that it lies in */
  uint32_t merge, returned; /* where returns go; whether one has happened, a variable; 0: not needed */
  bool is_tail;             /* each return is the last that happens without a jump */
} Frame;

/* Names that the compiler knows. */
#define KERNEL_WORDS(X)           \
  X(threadIdx)                    \
  X(blockIdx)                     \
  X(blockDim)                     \
  X(gridDim)                      \
  X(__syncthreads)                \
  X(burn_read_first)              \
  X(burn_bitcast_u32)             \
  X(burn_bitcast_f32)             \
  X(burn_bitcast_u64)             \
  X(burn_bitcast_f64)             \
  X(sqrt)                         \
  X(sqrtf)                        \
  X(floor)                        \
  X(floorf)                       \
  X(ceil)                         \
  X(ceilf)                        \
  X(rint)                         \
  X(rintf)                        \
  X(trunc)                        \
  X(truncf)                       \
  X(fabs)                         \
  X(fabsf)                        \
  X(burn_native_fma)              \
  X(burn_native_exp2)             \
  X(burn_native_quotient)         \
  X(burn_native_half_to_float)    \
  X(burn_native_float_to_half)    \
  X(burn_shuffle)                 \
  X(burn_ballot)                  \
  X(burn_popcount)                \
  X(burn_atomic_compare_exchange) \
  X(burn_subgroup)                \
  X(burn_may_flush_subnormals)    \
  X(burn_reload_parameters)       \
  X(burn_matrix_load)             \
  X(burn_matrix_store)            \
  X(burn_matrix_fill)             \
  X(burn_matrix_multiply_add)     \
  X(burn_matrix_get)              \
  X(burn_matrix_set)              \
  X(x)                            \
  X(y)                            \
  X(z)                            \
  X(burn_subgroup_matrix)         \
  X(f16_t)                        \
  X(bf16_t)
typedef enum KernelWord {
#define KERNEL_WORD(name) WORD_##name,
  KERNEL_WORDS(KERNEL_WORD)
#undef KERNEL_WORD
      WORD_COUNT
} KernelWord;

struct Emitter {
  KernelArena *arena;
  Syntax *syntax;
  KernelTarget target;
  Spirv spirv;
  const char *words[WORD_COUNT];
  uint32_t line; /* of what is being emitted */
  Type *types;
  uint32_t type_count;
  const Type *void_type, *bool_type, *integers[2][4], *floats[2], *auto_type; /* by sign and log2 of bytes; f32, f64 */
  Frame *frame;
  uint32_t calls; /* that are open */
  Loop loops[MAX_LOOPS];
  uint32_t loop_count;
  Symbol symbols[MAX_SYMBOLS];
  uint32_t symbol_count;
  SpirvSection section;            /* where instructions go */
  bool open;                       /* the block has no end yet; nothing is emitted otherwise */
  uint32_t block;                  /* its label */
  bool is_trial;                   /* what is emitted goes again */
  uint64_t steps;                  /* of the compiler itself, which end somewhere */
  uint32_t depth;                  /* of statements, expressions and types within each other */
  uint32_t unevaluated;            /* only types are asked for */
  uint32_t glsl;                   /* the set of instructions GLSL.std.450 */
  uint32_t push;                   /* the push constants */
  uint32_t thread, group;          /* their numbers, loaded once; with axes, vectors */
  uint32_t group_counts;           /* a vector */
  uint32_t lane;                   /* within the subgroup; 0: not asked for */
  uint32_t subgroup;               /* its number in the group; 0: not asked for */
  uint32_t inputs[8], input_count; /* variables of builtins, for the entry */
  uint32_t shared_variables[256], shared_count;
  uint64_t shared_bytes, local_bytes;
  struct SharedVariable *shared; /* by declaration */
  struct LoadedParameter *loaded;
  uint64_t parameter_bytes;
  bool may_flush;                  /* subnormal numbers of f32 */
  bool in_push_constants, reloads; /* reloads: parameters in memory, where they are used */
  uint32_t parameters_address;
  uint32_t threads[3];
  bool has_axes; /* groups and threads have three, and are not numbered */
  bool uses_subgroups, uses_ballot;
  bool uses_matrices;       /* and with them Vulkan's memory model */
  bool uses_f16, uses_bf16; /* as types of numbers, in matrices */
};

#define EMIT_FAIL(emitter, ...) burn__kernel_escape((emitter)->arena, (emitter)->line, __VA_ARGS__)

/* What a compilation may take, so that each one ends. The largest kernels take a ninth of it. */
enum { MAX_STEPS = 10000000, MAX_EMIT_DEPTH = 500 };

static inline void burn__emit_work(Emitter *emitter, uint64_t steps) {
  emitter->steps += steps;
  if (emitter->steps > MAX_STEPS) EMIT_FAIL(emitter, "the kernel takes more than %d steps to compile", MAX_STEPS);
}

/* One level deeper; the way back is emitter->depth--. */
static inline void burn__emit_deeper(Emitter *emitter) {
  burn__emit_work(emitter, 1);
  if (++emitter->depth > MAX_EMIT_DEPTH)
    EMIT_FAIL(emitter, "more than %d statements, calls and expressions within each other", MAX_EMIT_DEPTH);
}

/* -- kernel_types.c --------------------------------------------------------------------------- */

void burn__emit_basic_types(Emitter *emitter);
const Type *burn__emit_type(Emitter *emitter, const TypeSyntax *syntax);
const Type *burn__emit_pointer_to(Emitter *emitter, const Type *type);
const Type *burn__emit_array_of(Emitter *emitter, const Type *type, uint64_t count);
/* A struct, or an instance of a template. */
const Type *burn__emit_struct(Emitter *emitter, const char *name, const Binding *bindings);
uint32_t burn__emit_type_id(Emitter *emitter, const Type *type);
uint32_t burn__emit_pointer_id(Emitter *emitter, uint32_t storage_class, const Type *type);
const Member *burn__emit_member_of(Emitter *emitter, const Type *type, const char *name);
/* "float", "GpuReduce *": for messages. */
const char *burn__emit_type_name(Emitter *emitter, const Type *type);
/* A static constant of a struct. */
Value burn__emit_static_member(Emitter *emitter, const Type *type, const char *name);
/* A value as that of a template's parameter. */
Value burn__emit_parameter(Emitter *emitter, const TemplateParameter *parameter, const Value *value);
/* The arguments of a template as bindings. */
const Binding *burn__emit_bindings(Emitter *emitter, const TemplateParameter *parameters, const Argument *arguments);

static inline bool type_is_scalar(const Type *type) {
  return type->kind == TYPE_BOOL || type->kind == TYPE_INTEGER || type->kind == TYPE_FLOAT ||
         type->kind == TYPE_POINTER;
}
static inline bool type_is_number(const Type *type) {
  return type->kind == TYPE_BOOL || type->kind == TYPE_INTEGER || type->kind == TYPE_FLOAT;
}

/* -- kernel_names.c --------------------------------------------------------------------------- */

void burn__emit_add_symbol(Emitter *emitter, const char *name, const Type *type, const Value *value);
const Symbol *burn__emit_find_symbol(Emitter *emitter, const char *name);
/* A frame that sees bindings and declarations only; and its end. */
void burn__emit_enter_scope(Emitter *emitter, Frame *frame, const Binding *bindings);
void burn__emit_leave_scope(Emitter *emitter, const Frame *frame);
/* A constant among the declarations. */
Value burn__emit_constant_named(Emitter *emitter, const Declaration *declaration);
/* True if a statement, or what follows it in its list, may write into a variable of that name and type. */
bool burn__emit_writes(Emitter *emitter, const Node *node, const char *name, const Type *type);
bool burn__emit_has_kind(const Node *node, NodeKind kind); /* anywhere within a statement */
bool burn__emit_has_jump(const Node *node, NodeKind kind); /* break or continue of this loop itself */
bool burn__emit_always_returns(const Node *node);
bool burn__emit_is_tail(const Node *list);

/* -- kernel_values.c -------------------------------------------------------------------------- */

Value burn__emit_integer(const Type *type, uint64_t bits); /* cut to the type */
Value burn__emit_real(const Type *type, double real);
Value burn__emit_id(const Type *type, uint32_t id);
/* What lies at a place is loaded; arrays become pointers. */
Value burn__emit_rvalue(Emitter *emitter, const Value *value);
uint32_t burn__emit_id_of(Emitter *emitter, const Value *value);
Value burn__emit_convert(Emitter *emitter, const Value *value, const Type *type);
Value burn__emit_truth(Emitter *emitter, const Value *value);
/* A number that must be known now. */
int64_t burn__emit_known(Emitter *emitter, const Value *value);
Value burn__emit_binary(Emitter *emitter, KernelPunctuator op, const Value *a, const Value *b);
Value burn__emit_unary(Emitter *emitter, KernelPunctuator op, const Value *a);
uint32_t burn__emit_u32(Emitter *emitter, uint32_t number); /* a constant's id */
/* An instruction in the body. */
uint32_t burn__emit_op(Emitter *emitter, SpirvOp op, const Type *type, uint32_t a, uint32_t b);
bool burn__emit_fold(Emitter *emitter, KernelPunctuator op, const Type *type, const Value *a, const Value *b,
                     Value *out);
/* The type in which two numbers are computed. */
const Type *burn__emit_common_type(Emitter *emitter, const Type *a, const Type *b);

/* What is emitted from a trial on goes again when it is taken back, which returns how many words it was. */
typedef struct Trial {
  size_t words, decorations;
  uint32_t block, symbols;
} Trial;
Trial burn__emit_try(const Emitter *emitter);
size_t burn__emit_take_back(Emitter *emitter, const Trial *trial);

/* -- kernel_memory.c -------------------------------------------------------------------------- */

/* What lies at an address, 64 bits + offset: leaf by leaf, or at once where a struct has the size of a vector. */
uint32_t burn__emit_memory_load(Emitter *emitter, const Type *type, uint32_t address, int64_t offset);
void burn__emit_memory_store(Emitter *emitter, const Type *type, uint32_t address, int64_t offset, uint32_t value);
/* From 32-bit words: what a type needs of them is made by `word`. */
typedef uint32_t (*WordAt)(void *context, uint64_t byte);
uint32_t burn__emit_from_words(Emitter *emitter, const Type *type, WordAt word, void *context, uint64_t byte);
uint32_t burn__emit_extract(Emitter *emitter, const Type *type, uint32_t composite, uint32_t at);

/* -- kernel_places.c -------------------------------------------------------------------------- */

Value burn__emit_load(Emitter *emitter, const Type *type, const Place *place);
void burn__emit_store(Emitter *emitter, const Type *type, const Place *place, const Value *value);
/* What a pointer into shared memory points to, as a pointer of the module. */
uint32_t burn__emit_shared_pointer(Emitter *emitter, const Value *pointer);
/* The same for what lies in a variable of the thread. */
uint32_t burn__emit_local_pointer(Emitter *emitter, const Value *value);
Value burn__emit_variable(Emitter *emitter, const Type *type); /* undefined contents */
Value burn__emit_shared(Emitter *emitter, const Type *type, const Node *declared);
Value burn__emit_member(Emitter *emitter, const Value *value, const char *name);
Value burn__emit_index(Emitter *emitter, const Value *value, const Value *index);
Value burn__emit_address_of(Emitter *emitter, const Value *value);
Value burn__emit_dereference(Emitter *emitter, const Value *value);
/* A pointer moved by so many elements. */
Value burn__emit_moved(Emitter *emitter, const Value *pointer, const Value *by, bool backwards);
/* A value in a variable of its own, so that it has a place. */
Value burn__emit_spill(Emitter *emitter, const Value *value);

/* -- kernel_expressions.c --------------------------------------------------------------------- */

Value burn__emit_expression(Emitter *emitter, const Node *node); /* a place where it has one */
Value burn__emit_number(Emitter *emitter, const Node *node);     /* its value */
/* Only what type it has; what it takes to compute it goes again. */
const Type *burn__emit_type_of(Emitter *emitter, const Node *node);
/* An initializer, also a list, as a value of a type. */
Value burn__emit_initial(Emitter *emitter, const Type *type, const Node *node);

/* -- kernel_calls.c --------------------------------------------------------------------------- */

Value burn__emit_call(Emitter *emitter, const Node *node);
/* -- kernel_builtins.c ------------------------------------------------------------------------ */
/* False if the name is none that the compiler knows. */
bool burn__emit_builtin(Emitter *emitter, const Node *node, Value *out);
bool burn__emit_builtin_member(Emitter *emitter, const Node *node, Value *out);
/* Input i of a call, of a type. */
Value burn__emit_input(Emitter *emitter, const Node *call, uint32_t i, const Type *type);

/* -- kernel_matrices.c ------------------------------------------------------------------------ */

uint32_t burn__emit_matrix_id(Emitter *emitter, const Type *type);
/* False if it is not a function of matrices. */
bool burn__emit_matrix_function(Emitter *emitter, KernelWord word, const Node *call, Value *out);

/* -- kernel_statements.c ---------------------------------------------------------------------- */

void burn__emit_statements(Emitter *emitter, const Node *list);
void burn__emit_block_begin(Emitter *emitter, uint32_t label);
void burn__emit_branch(Emitter *emitter, uint32_t label);

#endif
