/* kernel_emit.c - a kernel as a module: the entry, its parameters, what the module asks of a device. Start here; the
 * source is read by kernel_parse.c. */
#include "kernel_emit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct KernelProgram {
  KernelArena arena;
  KernelTarget target;
  Syntax syntax;
  bool uses_matrices;
};

/* -- reading ---------------------------------------------------------------------------------- */

static void list_definitions(const KernelTarget *target, const char **names) {
  size_t count = 0;
  names[count++] = "BURN_SPIRV";
  names[count++] = "__CUDACC_RTC__";
  if (target->has_warps) names[count++] = "BURN_HAS_WARPS";
  if (target->fused_f32) names[count++] = "BURN_FUSED_F32";
  if (target->fused_f64) names[count++] = "BURN_FUSED_F64";
  if (target->exact_halves) names[count++] = "BURN_EXACT_HALVES";
  if (target->keeps_halves) names[count++] = "BURN_KEEPS_HALVES";
  if (target->native_powers) names[count++] = "BURN_NATIVE_POWERS";
  names[count] = NULL;
}

/* A type burn_subgroup_matrix<..>, beside its declaration: then shared memory is used by the rules of another memory
 * model. */
static bool names_matrices(KernelTokens *tokens) {
  const char *name = burn__kernel_intern(tokens, "burn_subgroup_matrix");
  for (const KernelToken *at = burn__kernel_tokens_at(tokens); at->kind != KERNEL_TOKEN_END; at++)
    if (at->name == name && at[1].kind == KERNEL_TOKEN_PUNCTUATOR && at[1].punctuator == KERNEL_LESS) return true;
  return false;
}

KernelProgram *burn__kernel_parse(const char *source, const KernelTarget *target, char *why, size_t why_bytes) {
  const char *names[9];
  (void)snprintf(why, why_bytes, "no memory of the host for a kernel");
  KernelProgram *program = calloc(1, sizeof *program);
  if (!program) return NULL;
  program->target = *target;
  program->syntax.arena = &program->arena;
  program->arena.why = why;
  program->arena.why_bytes = why_bytes;
  list_definitions(target, names);
  program->syntax.tokens = burn__kernel_tokens(source, names, why, why_bytes);
  if (!program->syntax.tokens || setjmp(program->arena.escape) != 0) {
    burn__kernel_free(program);
    return NULL;
  }
  program->uses_matrices = names_matrices(program->syntax.tokens);
  burn__syntax_read(&program->syntax);
  return program;
}

void burn__kernel_free(KernelProgram *program) {
  if (!program) return;
  burn__kernel_arena_free(&program->arena);
  burn__kernel_tokens_free(program->syntax.tokens);
  free(program);
}

/* -- the entry -------------------------------------------------------------------------------- */

static void intern_words(Emitter *emitter) {
  static const char *const words[] = {
#define KERNEL_WORD(name) #name,
      KERNEL_WORDS(KERNEL_WORD)
#undef KERNEL_WORD
  };
  for (int i = 0; i < WORD_COUNT; i++) {
    emitter->words[i] = burn__kernel_intern(emitter->syntax->tokens, words[i]);
    if (!emitter->words[i]) EMIT_FAIL(emitter, "no memory of the host for a kernel");
  }
}

static const Declaration *find_kernel(Emitter *emitter, const char *entry) {
  const char *name = burn__kernel_intern(emitter->syntax->tokens, entry);
  const Declaration *kernel = name ? burn__syntax_find(emitter->syntax, name) : NULL;
  while (kernel && !(kernel->is_kernel && kernel->body)) kernel = kernel->next;
  if (!kernel) EMIT_FAIL(emitter, "there is no kernel '%s'", entry);
  return kernel;
}

static void count_threads(Emitter *emitter, const Declaration *kernel, const uint32_t *wanted) {
  int64_t most = 1024, count = 1;
  if (!kernel->threads && !wanted) EMIT_FAIL(emitter, "the kernel '%s' has no __launch_bounds__", kernel->name);
  if (kernel->threads) {
    const Value threads = burn__emit_number(emitter, kernel->threads);
    most = burn__emit_known(emitter, &threads);
  }
  emitter->has_axes = wanted != NULL;
  for (int axis = 0; axis < 3; axis++) {
    const int64_t along = wanted ? (int64_t)wanted[axis] : axis == 0 ? most : 1;
    count = along < 1 || along > 1024 ? 0 : count * along;
    emitter->threads[axis] = (uint32_t)along;
  }
  if (count < 1 || count > most || count > 1024)
    EMIT_FAIL(emitter, "a group of %u x %u x %u threads is not one of 1 to %lld", emitter->threads[0],
              emitter->threads[1], emitter->threads[2], (long long)(most < 1024 ? most : 1024));
}

/* struct { uint words[32]; } */
static void declare_push_constants(Emitter *emitter) {
  Spirv *spirv = &emitter->spirv;
  const uint32_t word = burn__emit_type_id(emitter, emitter->integers[0][2]);
  const uint32_t count = burn__emit_u32(emitter, KERNEL_PUSH_BYTES / 4);
  const uint32_t array = SPIRV_RESULT(spirv, SPIRV_GLOBALS, SpirvTypeArray, 0, word, count);
  const uint32_t block = SPIRV_RESULT(spirv, SPIRV_GLOBALS, SpirvTypeStruct, 0, array);
  const uint32_t pointer = SPIRV_GLOBAL(spirv, SpirvTypePointer, 0, SPIRV_PUSH_CONSTANT, block);
  SPIRV_PUT(spirv, SPIRV_ANNOTATIONS, SpirvDecorate, array, SPIRV_ARRAY_STRIDE, 4);
  SPIRV_PUT(spirv, SPIRV_ANNOTATIONS, SpirvDecorate, block, SPIRV_BLOCK);
  SPIRV_PUT(spirv, SPIRV_ANNOTATIONS, SpirvMemberDecorate, block, 0, SPIRV_OFFSET, 0);
  emitter->push = SPIRV_RESULT(spirv, SPIRV_GLOBALS, SpirvVariable, pointer, SPIRV_PUSH_CONSTANT);
}

/* Where the inputs of a kernel lie; returns how many bytes they take. */
static uint64_t lay_out_inputs(Emitter *emitter, const Declaration *kernel, int64_t *offsets, uint32_t most) {
  uint64_t bytes = 0, alignment = 1;
  uint32_t count = 0;
  for (const Node *input = kernel->inputs; input; input = input->next) {
    const Type *type = burn__emit_type(emitter, input->type);
    if (count == most) EMIT_FAIL(emitter, "the kernel '%s' has more than %u inputs", kernel->name, most);
    bytes = (bytes + type->alignment - 1) / type->alignment * type->alignment;
    offsets[count++] = (int64_t)bytes;
    bytes += type->size;
    if (type->alignment > alignment) alignment = type->alignment;
  }
  return (bytes + alignment - 1) / alignment * alignment;
}

enum { MAX_KERNEL_INPUTS = 64 };

static void bind_parameters(Emitter *emitter, const Declaration *kernel) {
  int64_t offsets[MAX_KERNEL_INPUTS];
  uint32_t i = 0;
  const Place whole = {.space = SPACE_PARAMETERS};
  emitter->parameter_bytes = lay_out_inputs(emitter, kernel, offsets, MAX_KERNEL_INPUTS);
  emitter->in_push_constants = emitter->parameter_bytes + KERNEL_PARAMETERS_AT <= KERNEL_PUSH_BYTES;
  if (!emitter->in_push_constants) { /* the address is the first word of what would be parameters */
    emitter->in_push_constants = true;
    emitter->parameters_address = burn__emit_load(emitter, emitter->integers[0][3], &whole).id;
    emitter->in_push_constants = false;
    emitter->loaded = NULL;
  }
  for (const Node *input = kernel->inputs; input; input = input->next, i++) {
    const Type *type = burn__emit_type(emitter, input->type);
    Value value = {.kind = VALUE_PLACE, .type = type, .place = whole};
    value.place.offset = offsets[i];
    if (!input->name) continue;
    if (type_is_scalar(type) && burn__emit_writes(emitter, kernel->body, input->name, type))
      value = burn__emit_spill(emitter, &value);
    burn__emit_add_symbol(emitter, input->name, NULL, &value);
  }
}

static uint32_t builtin(Emitter *emitter, KernelWord word) {
  Node of = {.kind = NODE_NAME, .name = emitter->words[word]};
  const Node node = {.kind = NODE_MEMBER, .a = &of, .name = emitter->words[WORD_x]};
  Value value = {.kind = VALUE_NOTHING};
  (void)burn__emit_builtin_member(emitter, &node, &value);
  return value.id;
}

/* Groups beyond the last one, which a launch of whole rows has, do nothing. */
static void leave_if_beyond(Emitter *emitter) {
  Spirv *spirv = &emitter->spirv;
  const uint32_t beyond = burn__emit_op(emitter, SpirvUGreaterThanEqual, emitter->bool_type,
                                        builtin(emitter, WORD_blockIdx), builtin(emitter, WORD_gridDim));
  const uint32_t leave = spirv_id(spirv), stay = spirv_id(spirv);
  SPIRV_PUT(spirv, SPIRV_BODY, SpirvSelectionMerge, stay, 0);
  SPIRV_PUT(spirv, SPIRV_BODY, SpirvBranchConditional, beyond, leave, stay);
  burn__emit_block_begin(emitter, leave);
  burn__spirv_put(spirv, SPIRV_BODY, SpirvReturn, NULL, 0);
  burn__emit_block_begin(emitter, stay);
}

static void emit_body(Emitter *emitter, const Declaration *kernel, const uint32_t *threads) {
  Frame frame;
  emitter->section = SPIRV_BODY;
  emitter->open = true;
  burn__emit_enter_scope(emitter, &frame, NULL);
  frame.function = kernel;
  count_threads(emitter, kernel, threads);
  declare_push_constants(emitter);
  bind_parameters(emitter, kernel);
  if (!emitter->has_axes) leave_if_beyond(emitter);
  burn__emit_statements(emitter, kernel->body->a);
  if (emitter->open) burn__spirv_put(&emitter->spirv, SPIRV_BODY, SpirvReturn, NULL, 0);
  burn__emit_leave_scope(emitter, &frame);
}

/* -- the module ------------------------------------------------------------------------------- */

/* Capabilities of the specification that every module has: addresses, numbers of all widths, in memory too. */
static const uint32_t capabilities[] = {1, 10, 11, 22, 39, 4433, 4448, 5347};
enum { FLOAT_16 = 9, BFLOAT_16 = 5116, BFLOAT_16_MATRIX = 5118, MEMORY_MODEL = 5345, MATRIX = 6022 };
enum { GROUP_NON_UNIFORM = 61, GROUP_BALLOT = 64, GROUP_SHUFFLE = 65 };
enum { DENORM_PRESERVE = 4464, KEEP_NAN = 4466, ROUND_TO_NEAREST = 4467 };
enum { MODE_DENORM_PRESERVE = 4459, MODE_KEEP_NAN = 4461, MODE_ROUND_TO_NEAREST = 4462, MODE_LOCAL_SIZE = 17 };

typedef struct Writer {
  uint32_t *at; /* NULL: only counts */
  size_t used;
} Writer;

static void put(Writer *writer, uint32_t word) {
  if (writer->at) writer->at[writer->used] = word;
  writer->used++;
}

static void put_op(Writer *writer, SpirvOp op, const uint32_t *operands, size_t count) {
  put(writer, (uint32_t)(count + 1) << 16 | (uint32_t)op);
  for (size_t i = 0; i < count; i++) put(writer, operands[i]);
}

static void put_capability(Writer *writer, uint32_t capability) { put_op(writer, SpirvCapability, &capability, 1); }

static bool any_of(const bool flags[3]) { return flags[0] || flags[1] || flags[2]; }

static void put_capabilities(Writer *writer, const Emitter *emitter) {
  const KernelTarget *target = &emitter->target;
  for (size_t i = 0; i < sizeof capabilities / sizeof capabilities[0]; i++) put_capability(writer, capabilities[i]);
  if (emitter->uses_subgroups || emitter->subgroup) put_capability(writer, GROUP_NON_UNIFORM);
  if (emitter->uses_subgroups) put_capability(writer, GROUP_SHUFFLE);
  if (emitter->uses_ballot) put_capability(writer, GROUP_BALLOT);
  if (any_of(target->keeps_subnormals)) put_capability(writer, DENORM_PRESERVE);
  if (any_of(target->keeps_nan)) put_capability(writer, KEEP_NAN);
  if (any_of(target->rounds_to_nearest)) put_capability(writer, ROUND_TO_NEAREST);
  if (emitter->uses_f16) put_capability(writer, FLOAT_16);
  if (emitter->uses_bf16) put_capability(writer, BFLOAT_16);
  if (emitter->uses_bf16) put_capability(writer, BFLOAT_16_MATRIX);
  if (emitter->uses_matrices) put_capability(writer, MEMORY_MODEL);
  if (emitter->uses_matrices) put_capability(writer, MATRIX);
}

static void put_text(Writer *writer, const char *text) {
  const size_t bytes = strlen(text) + 1;
  for (size_t i = 0; i < (bytes + 3) / 4; i++) {
    uint32_t word = 0;
    memcpy(&word, text + 4 * i, bytes - 4 * i < 4 ? bytes - 4 * i : 4);
    put(writer, word);
  }
}

static void put_extension(Writer *writer, const char *name) {
  put(writer, (uint32_t)(1 + strlen(name) / 4 + 1) << 16 | (uint32_t)SpirvExtension);
  put_text(writer, name);
}

static void put_entry(Writer *writer, const Emitter *emitter, uint32_t function) {
  const size_t count = emitter->input_count + emitter->shared_count + 1u;
  put(writer, (uint32_t)(5 + count) << 16 | (uint32_t)SpirvEntryPoint);
  put(writer, 5); /* GLCompute */
  put(writer, function);
  put_text(writer, "main");
  for (uint32_t i = 0; i < emitter->input_count; i++) put(writer, emitter->inputs[i]);
  for (uint32_t i = 0; i < emitter->shared_count; i++) put(writer, emitter->shared_variables[i]);
  put(writer, emitter->push);
}

static void put_modes(Writer *writer, const Emitter *emitter, uint32_t function) {
  const KernelTarget *target = &emitter->target;
  put_op(writer, SpirvExecutionMode,
         (const uint32_t[]){function, MODE_LOCAL_SIZE, emitter->threads[0], emitter->threads[1], emitter->threads[2]},
         5);
  for (uint32_t i = 0; i < 3; i++) {
    const uint32_t bits = 16u << i;
    if (target->keeps_subnormals[i] && !(emitter->may_flush && i == 1))
      put_op(writer, SpirvExecutionMode, (const uint32_t[]){function, MODE_DENORM_PRESERVE, bits}, 3);
    if (target->keeps_nan[i]) put_op(writer, SpirvExecutionMode, (const uint32_t[]){function, MODE_KEEP_NAN, bits}, 3);
    if (target->rounds_to_nearest[i])
      put_op(writer, SpirvExecutionMode, (const uint32_t[]){function, MODE_ROUND_TO_NEAREST, bits}, 3);
  }
}

typedef struct Ids {
  uint32_t function, function_type, void_type, entry;
} Ids;

static void put_section(Writer *writer, const Emitter *emitter, SpirvSection section) {
  const SpirvWords *words = &emitter->spirv.sections[section];
  if (writer->at && words->count > 0) memcpy(writer->at + writer->used, words->at, words->count * sizeof *words->at);
  writer->used += words->count;
}

static void write_module(Writer *writer, const Emitter *emitter, const Ids *ids) {
  const uint32_t header[] = {0x07230203, 0x00010500, 0, emitter->spirv.bound, 0};
  for (size_t i = 0; i < sizeof header / sizeof header[0]; i++) put(writer, header[i]);
  put_capabilities(writer, emitter);
  if (emitter->uses_matrices) put_extension(writer, "SPV_KHR_cooperative_matrix");
  if (emitter->uses_bf16) put_extension(writer, "SPV_KHR_bfloat16");
  put(writer, 6u << 16 | (uint32_t)SpirvExtInstImport);
  put(writer, emitter->glsl);
  put_text(writer, "GLSL.std.450");
  put_op(writer, SpirvMemoryModel, (const uint32_t[]){5348, emitter->uses_matrices ? 3 : 1}, 2);
  put_entry(writer, emitter, ids->function);
  put_modes(writer, emitter, ids->function);
  put_section(writer, emitter, SPIRV_ANNOTATIONS);
  put_section(writer, emitter, SPIRV_ARITHMETIC);
  put_section(writer, emitter, SPIRV_GLOBALS);
  put_op(writer, SpirvFunction, (const uint32_t[]){ids->void_type, ids->function, 0, ids->function_type}, 4);
  put_op(writer, SpirvLabel, &ids->entry, 1);
  put_section(writer, emitter, SPIRV_LOCALS);
  put_section(writer, emitter, SPIRV_PROLOGUE);
  put_section(writer, emitter, SPIRV_BODY);
  put_op(writer, SpirvFunctionEnd, NULL, 0);
}

static void emit_module(Emitter *emitter, const char *entry, const uint32_t *threads, KernelModule *out) {
  Writer writer = {NULL, 0};
  emitter->spirv.arena = emitter->arena;
  emitter->spirv.bound = 1;
  emitter->glsl = spirv_id(&emitter->spirv);
  intern_words(emitter);
  burn__emit_basic_types(emitter);
  const uint32_t void_type = burn__emit_type_id(emitter, emitter->void_type);
  const Ids ids = {spirv_id(&emitter->spirv), SPIRV_GLOBAL(&emitter->spirv, SpirvTypeFunction, 0, void_type), void_type,
                   spirv_id(&emitter->spirv)};
  emitter->block = ids.entry;
  emit_body(emitter, find_kernel(emitter, entry), threads);
  write_module(&writer, emitter, &ids);
  out->words = malloc(writer.used * sizeof *out->words);
  if (!out->words) EMIT_FAIL(emitter, "no memory of the host for a kernel of %zu words", writer.used);
  out->word_count = writer.used;
  writer = (Writer){out->words, 0};
  write_module(&writer, emitter, &ids);
}

bool burn__kernel_emit(KernelProgram *program, const char *entry, const uint32_t *threads, KernelModule *out, char *why,
                       size_t why_bytes) {
  KernelArena arena = {.why = why, .why_bytes = why_bytes};
  *out = (KernelModule){.words = NULL};
  (void)snprintf(why, why_bytes, "no memory of the host for a kernel");
  Emitter *emitter = calloc(1, sizeof *emitter);
  if (!emitter) return false;
  emitter->arena = &arena;
  emitter->syntax = &program->syntax;
  emitter->target = program->target;
  emitter->uses_matrices = program->uses_matrices;
  const bool done = setjmp(arena.escape) == 0;
  if (done) {
    emit_module(emitter, entry, threads, out);
    memcpy(out->threads, emitter->threads, sizeof out->threads);
    out->parameter_bytes = (uint32_t)emitter->parameter_bytes;
    out->in_push_constants = emitter->in_push_constants;
    out->shared_bytes = (uint32_t)emitter->shared_bytes;
    out->needs_subgroups = emitter->uses_matrices;
  }
  burn__kernel_arena_free(&arena);
  free(emitter);
  return done;
}

void burn__kernel_module_free(KernelModule *module) {
  free(module->words);
  module->words = NULL;
}
