/* kernel_builtins.c - what the compiler knows itself: threads and groups, barriers, bits of floats, roots and
 * roundings, shuffles within a warp. */
#include "kernel_emit.h"

/* Numbers of GLSL.std.450. */
enum {
  GLSL_ROUND_EVEN = 2,
  GLSL_TRUNC = 3,
  GLSL_FABS = 4,
  GLSL_FLOOR = 8,
  GLSL_CEIL = 9,
  GLSL_EXP2 = 29,
  GLSL_SQRT = 31
};
enum { GLSL_FMA = 50, GLSL_PACK_HALF = 58, GLSL_UNPACK_HALF = 62 };
/* BuiltIn, Scope and Memory Semantics of the specification. */
enum {
  LOCAL_INVOCATION_ID = 27,
  LOCAL_INVOCATION_INDEX = 29,
  WORKGROUP_ID = 26,
  NUM_WORKGROUPS = 24,
  SUBGROUP_ID = 40,
  SUBGROUP_INVOCATION = 41
};
enum { SCOPE_DEVICE = 1, SCOPE_WORKGROUP = 2, SCOPE_SUBGROUP = 3 };
enum { ACQUIRE_RELEASE = 0x8, OF_BUFFERS = 0x40, OF_SHARED = 0x100 };

static const Type *u32(const Emitter *emitter) { return emitter->integers[0][2]; }

/* -- threads and groups ----------------------------------------------------------------------- */

static uint32_t input_variable(Emitter *emitter, uint32_t type, uint32_t built_in) {
  const uint32_t pointer = SPIRV_GLOBAL(&emitter->spirv, SpirvTypePointer, 0, SPIRV_INPUT, type);
  const uint32_t id = SPIRV_RESULT(&emitter->spirv, SPIRV_GLOBALS, SpirvVariable, pointer, SPIRV_INPUT);
  SPIRV_PUT(&emitter->spirv, SPIRV_ANNOTATIONS, SpirvDecorate, id, SPIRV_BUILT_IN, built_in);
  emitter->inputs[emitter->input_count++] = id;
  return SPIRV_RESULT(&emitter->spirv, SPIRV_PROLOGUE, SpirvLoad, type, id);
}

static uint32_t vector_of_3(Emitter *emitter) {
  const uint32_t word = burn__emit_type_id(emitter, u32(emitter));
  return SPIRV_GLOBAL(&emitter->spirv, SpirvTypeVector, 0, word, 3);
}

static uint32_t group_counts(Emitter *emitter) {
  if (!emitter->group_counts) emitter->group_counts = input_variable(emitter, vector_of_3(emitter), NUM_WORKGROUPS);
  return emitter->group_counts;
}

/* y * the groups of a row + x */
static uint32_t number_of_group(Emitter *emitter) {
  const SpirvSection section = emitter->section;
  const Type *word = u32(emitter);
  emitter->section = SPIRV_PROLOGUE;
  const uint32_t at = input_variable(emitter, vector_of_3(emitter), WORKGROUP_ID), counts = group_counts(emitter);
  const uint32_t x = burn__emit_extract(emitter, word, at, 0), y = burn__emit_extract(emitter, word, at, 1);
  const uint32_t before = burn__emit_op(emitter, SpirvIMul, word, y, burn__emit_extract(emitter, word, counts, 0));
  const uint32_t number = burn__emit_op(emitter, SpirvIAdd, word, before, x);
  emitter->section = section;
  return number;
}

static uint32_t count_of_groups(Emitter *emitter) {
  Spirv *spirv = &emitter->spirv;
  const uint32_t pointer = SPIRV_RESULT(spirv, SPIRV_PROLOGUE, SpirvAccessChain,
                                        burn__emit_pointer_id(emitter, SPIRV_PUSH_CONSTANT, u32(emitter)),
                                        emitter->push, burn__emit_u32(emitter, 0), burn__emit_u32(emitter, 0));
  return SPIRV_RESULT(spirv, SPIRV_PROLOGUE, SpirvLoad, burn__emit_type_id(emitter, u32(emitter)), pointer);
}

static uint32_t thread_number(Emitter *emitter) {
  if (!emitter->thread)
    emitter->thread = input_variable(emitter, burn__emit_type_id(emitter, u32(emitter)), LOCAL_INVOCATION_INDEX);
  return emitter->thread;
}

/* Groups and threads by number. */
static uint32_t along_x(Emitter *emitter, KernelWord word) {
  if (word == WORD_threadIdx) return thread_number(emitter);
  if (word == WORD_gridDim) return count_of_groups(emitter);
  if (!emitter->group) emitter->group = number_of_group(emitter);
  return emitter->group;
}

/* Groups and threads by their three axes. */
static uint32_t along_axis(Emitter *emitter, KernelWord word, uint32_t axis) {
  uint32_t *known = word == WORD_threadIdx ? &emitter->thread : &emitter->group;
  if (word == WORD_gridDim) return burn__emit_extract(emitter, u32(emitter), group_counts(emitter), axis);
  if (!*known)
    *known = input_variable(emitter, vector_of_3(emitter), word == WORD_threadIdx ? LOCAL_INVOCATION_ID : WORKGROUP_ID);
  return burn__emit_extract(emitter, u32(emitter), *known, axis);
}

/* threadIdx.x and the like. */
bool burn__emit_builtin_member(Emitter *emitter, const Node *node, Value *out) {
  static const KernelWord words[] = {WORD_threadIdx, WORD_blockIdx, WORD_blockDim, WORD_gridDim};
  const Node *of = node->a;
  KernelWord word = WORD_COUNT;
  uint32_t axis = 0;
  if (of->kind != NODE_NAME || of->type) return false;
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
    if (of->name == emitter->words[words[i]]) word = words[i];
  if (word == WORD_COUNT) return false;
  while (axis < 3 && node->name != emitter->words[WORD_x + axis]) axis++;
  if (axis == 3) EMIT_FAIL(emitter, "'%s' has x, y and z, and no '%s'", of->name, node->name);
  if (word == WORD_blockDim)
    *out = burn__emit_integer(u32(emitter), emitter->threads[axis]);
  else if (emitter->has_axes)
    *out = burn__emit_id(u32(emitter), along_axis(emitter, word, axis));
  else if (axis == 0)
    *out = burn__emit_id(u32(emitter), along_x(emitter, word));
  else
    *out = burn__emit_integer(u32(emitter), word == WORD_gridDim);
  return true;
}

/* In Vulkan's memory model, which comes with matrices, threads do not see what others write into memory of the device
 * anyway. */
static Value barrier(Emitter *emitter) {
  const uint32_t scope = burn__emit_u32(emitter, SCOPE_WORKGROUP);
  const uint32_t semantics = ACQUIRE_RELEASE | OF_SHARED | (emitter->uses_matrices ? 0 : OF_BUFFERS);
  SPIRV_PUT(&emitter->spirv, emitter->section, SpirvControlBarrier, scope, scope, burn__emit_u32(emitter, semantics));
  return (Value){.kind = VALUE_NOTHING, .type = emitter->void_type};
}

/* A barrier that no thread waits at, but that drivers move no reads across: an H200's would read just before it needs
 * the number, after all that could be computed meanwhile. */
static Value read_first(Emitter *emitter) {
  const uint32_t scope = burn__emit_u32(emitter, SCOPE_SUBGROUP);
  SPIRV_PUT(&emitter->spirv, emitter->section, SpirvMemoryBarrier, scope,
            burn__emit_u32(emitter, ACQUIRE_RELEASE | OF_SHARED | OF_BUFFERS));
  return (Value){.kind = VALUE_NOTHING, .type = emitter->void_type};
}

/* -- functions of numbers --------------------------------------------------------------------- */

static uint32_t glsl(Emitter *emitter, const Type *type, uint32_t number, const uint32_t *inputs, uint32_t count) {
  uint32_t operands[5] = {emitter->glsl, number};
  for (uint32_t i = 0; i < count; i++) operands[2 + i] = inputs[i];
  return burn__spirv_result(&emitter->spirv, emitter->section, SpirvExtInst, burn__emit_type_id(emitter, type),
                            operands, 2 + count);
}

Value burn__emit_input(Emitter *emitter, const Node *call, uint32_t i, const Type *type) {
  const Node *node = call->b;
  for (; node && i > 0; i--) node = node->next;
  if (!node) EMIT_FAIL(emitter, "'%s' wants more inputs", call->a->name);
  const Value value = burn__emit_number(emitter, node);
  return burn__emit_convert(emitter, &value, type);
}

static Value bitcast(Emitter *emitter, const Node *call, const Type *from, const Type *to) {
  const Value x = burn__emit_input(emitter, call, 0, from);
  const uint32_t id = burn__emit_id_of(emitter, &x);
  return burn__emit_id(to, burn__emit_op(emitter, SpirvBitcast, to, id, 0));
}

static Value of_one_number(Emitter *emitter, const Node *call, uint32_t number, const Type *type) {
  const Value x = burn__emit_input(emitter, call, 0, type);
  const uint32_t id = burn__emit_id_of(emitter, &x);
  return burn__emit_id(type, glsl(emitter, type, number, &id, 1));
}

/* rint and trunc of f64 by additions, which are right everywhere: llvmpipe makes rint(-7.5) -7 and loses the sign of -0
 * on processors without AVX-512. From 2^52 on all numbers are integers. */
static Value rounding_f64(Emitter *emitter, const Node *call, bool is_trunc) {
  const Type *f64 = emitter->floats[1], *w64 = emitter->integers[0][3], *is = emitter->bool_type;
  const Value x = burn__emit_input(emitter, call, 0, f64), shift = burn__emit_real(f64, 0x1p52);
  const Value one = burn__emit_real(f64, 1), zero = burn__emit_real(f64, 0);
  const Value sign_bit = burn__emit_integer(w64, UINT64_C(1) << 63);
  const uint32_t number = burn__emit_id_of(emitter, &x), large = burn__emit_id_of(emitter, &shift);
  const uint32_t size = glsl(emitter, f64, GLSL_FABS, &number, 1);
  const uint32_t shifted = burn__emit_op(emitter, SpirvFAdd, f64, size, large);
  uint32_t rounded = burn__emit_op(emitter, SpirvFSub, f64, shifted, large);
  if (is_trunc) {
    const uint32_t is_above = burn__emit_op(emitter, SpirvFOrdLessThan, is, size, rounded);
    const uint32_t above =
        SPIRV_RESULT(&emitter->spirv, emitter->section, SpirvSelect, burn__emit_type_id(emitter, f64), is_above,
                     burn__emit_id_of(emitter, &one), burn__emit_id_of(emitter, &zero));
    rounded = burn__emit_op(emitter, SpirvFSub, f64, rounded, above);
  }
  const uint32_t is_small = burn__emit_op(emitter, SpirvFOrdLessThan, is, size, large); /* NaN is not */
  const uint32_t result = SPIRV_RESULT(&emitter->spirv, emitter->section, SpirvSelect, burn__emit_type_id(emitter, f64),
                                       is_small, rounded, size);
  const uint32_t sign =
      burn__emit_op(emitter, SpirvBitwiseAnd, w64, burn__emit_op(emitter, SpirvBitcast, w64, number, 0),
                    burn__emit_id_of(emitter, &sign_bit));
  const uint32_t bits =
      burn__emit_op(emitter, SpirvBitwiseOr, w64, burn__emit_op(emitter, SpirvBitcast, w64, result, 0), sign);
  return burn__emit_id(f64, burn__emit_op(emitter, SpirvBitcast, f64, bits, 0));
}

/* A root that is rounded right: of f32 by way of f64 where the device's own is not. */
static Value root(Emitter *emitter, const Node *call, const Type *type) {
  const Type *within = type->bits == 32 && !emitter->target.exact_f32 ? emitter->floats[1] : type;
  Value x = burn__emit_input(emitter, call, 0, type);
  x = burn__emit_convert(emitter, &x, within);
  const uint32_t id = burn__emit_id_of(emitter, &x);
  const Value result = burn__emit_id(within, glsl(emitter, within, GLSL_SQRT, &id, 1));
  return burn__emit_convert(emitter, &result, type);
}

static Value native_fma(Emitter *emitter, const Node *call) {
  uint32_t ids[3];
  const Value first = burn__emit_number(emitter, call->b);
  const Type *type = first.type->kind == TYPE_FLOAT ? first.type : emitter->floats[0];
  for (uint32_t i = 0; i < 3; i++) {
    const Value x = i == 0 ? burn__emit_convert(emitter, &first, type) : burn__emit_input(emitter, call, i, type);
    ids[i] = burn__emit_id_of(emitter, &x);
  }
  return burn__emit_id(type, glsl(emitter, type, GLSL_FMA, ids, 3));
}

/* As the device divides: by Vulkan's word off by 2.5 units of the last place at most. */
static Value native_quotient(Emitter *emitter, const Node *call) {
  const Type *f32 = emitter->floats[0];
  const Value a = burn__emit_input(emitter, call, 0, f32), b = burn__emit_input(emitter, call, 1, f32);
  return burn__emit_id(
      f32, burn__emit_op(emitter, SpirvFDiv, f32, burn__emit_id_of(emitter, &a), burn__emit_id_of(emitter, &b)));
}

static uint32_t pair_type(Emitter *emitter, const Type *of) {
  return SPIRV_GLOBAL(&emitter->spirv, SpirvTypeVector, 0, burn__emit_type_id(emitter, of), 2);
}

static Value half_to_float(Emitter *emitter, const Node *call) {
  const Value bits = burn__emit_input(emitter, call, 0, emitter->integers[0][1]);
  const Value wide = burn__emit_convert(emitter, &bits, u32(emitter));
  const uint32_t id = burn__emit_id_of(emitter, &wide);
  const uint32_t both = SPIRV_RESULT(&emitter->spirv, emitter->section, SpirvExtInst,
                                     pair_type(emitter, emitter->floats[0]), emitter->glsl, GLSL_UNPACK_HALF, id);
  return burn__emit_id(emitter->floats[0], burn__emit_extract(emitter, emitter->floats[0], both, 0));
}

static Value float_to_half(Emitter *emitter, const Node *call) {
  const Value x = burn__emit_input(emitter, call, 0, emitter->floats[0]),
              zero = burn__emit_real(emitter->floats[0], 0.0);
  const uint32_t both =
      SPIRV_RESULT(&emitter->spirv, emitter->section, SpirvCompositeConstruct, pair_type(emitter, emitter->floats[0]),
                   burn__emit_id_of(emitter, &x), burn__emit_id_of(emitter, &zero));
  const Value bits = burn__emit_id(u32(emitter), glsl(emitter, u32(emitter), GLSL_PACK_HALF, &both, 1));
  return burn__emit_convert(emitter, &bits, emitter->integers[0][1]);
}

static Value bit_count(Emitter *emitter, const Node *call) {
  const Value x = burn__emit_input(emitter, call, 0, u32(emitter));
  const Type *type = emitter->integers[1][2];
  return burn__emit_id(type, burn__emit_op(emitter, SpirvBitCount, type, burn__emit_id_of(emitter, &x), 0));
}

/* -- warps ------------------------------------------------------------------------------------ */

static Value may_flush(Emitter *emitter) {
  emitter->may_flush = true;
  return (Value){.kind = VALUE_NOTHING, .type = emitter->void_type};
}

/* What is loaded when a kernel begins takes registers until it is used. */
static Value reload_parameters(Emitter *emitter) {
  emitter->reloads = !emitter->in_push_constants;
  return (Value){.kind = VALUE_NOTHING, .type = emitter->void_type};
}

static Value subgroup_number(Emitter *emitter) {
  if (!emitter->subgroup)
    emitter->subgroup = input_variable(emitter, burn__emit_type_id(emitter, u32(emitter)), SUBGROUP_ID);
  return burn__emit_id(u32(emitter), emitter->subgroup);
}

/* The thread's lane in its subgroup, which holds one warp or more, one after the other. */
static uint32_t subgroup_lane(Emitter *emitter) {
  emitter->uses_subgroups = true;
  if (!emitter->lane)
    emitter->lane = input_variable(emitter, burn__emit_type_id(emitter, u32(emitter)), SUBGROUP_INVOCATION);
  return emitter->lane;
}

static uint32_t first_of_warp(Emitter *emitter) {
  return burn__emit_op(emitter, SpirvBitwiseAnd, u32(emitter), subgroup_lane(emitter),
                       burn__emit_u32(emitter, 0xffffffe0u));
}

static Value shuffle(Emitter *emitter, const Node *call) {
  const Value x = burn__emit_input(emitter, call, 0, u32(emitter)),
              lane = burn__emit_input(emitter, call, 1, u32(emitter));
  const uint32_t from =
      burn__emit_op(emitter, SpirvBitwiseOr, u32(emitter), first_of_warp(emitter), burn__emit_id_of(emitter, &lane));
  return burn__emit_id(u32(emitter),
                       SPIRV_RESULT(&emitter->spirv, emitter->section, SpirvGroupNonUniformShuffle,
                                    burn__emit_type_id(emitter, u32(emitter)), burn__emit_u32(emitter, SCOPE_SUBGROUP),
                                    burn__emit_id_of(emitter, &x), from));
}

/* Of up to 128 lanes, the word of this thread's warp. */
static Value ballot(Emitter *emitter, const Node *call) {
  Spirv *spirv = &emitter->spirv;
  const Type *word = u32(emitter), *type = emitter->bool_type;
  const Value x = burn__emit_input(emitter, call, 0, type);
  const uint32_t vector = SPIRV_GLOBAL(spirv, SpirvTypeVector, 0, burn__emit_type_id(emitter, word), 4);
  emitter->uses_ballot = true;
  const uint32_t all = SPIRV_RESULT(spirv, emitter->section, SpirvGroupNonUniformBallot, vector,
                                    burn__emit_u32(emitter, SCOPE_SUBGROUP), burn__emit_id_of(emitter, &x));
  uint32_t mine = burn__emit_extract(emitter, word, all, 0);
  const uint32_t first = first_of_warp(emitter);
  for (uint32_t i = 1; i < 4; i++) {
    const uint32_t is_it = burn__emit_op(emitter, SpirvIEqual, type, first, burn__emit_u32(emitter, 32 * i));
    const uint32_t other = burn__emit_extract(emitter, word, all, i);
    mine = SPIRV_RESULT(spirv, emitter->section, SpirvSelect, burn__emit_type_id(emitter, word), is_it, other, mine);
  }
  return burn__emit_id(word, mine);
}

/* -- memory ----------------------------------------------------------------------------------- */

static Value compare_exchange(Emitter *emitter, const Node *call) {
  const Type *word = u32(emitter);
  const Value pointer = burn__emit_input(emitter, call, 0, burn__emit_pointer_to(emitter, word));
  const Value expected = burn__emit_input(emitter, call, 1, word), next = burn__emit_input(emitter, call, 2, word);
  const uint32_t type =
      SPIRV_GLOBAL(&emitter->spirv, SpirvTypePointer, 0, SPIRV_PHYSICAL, burn__emit_type_id(emitter, word));
  const uint32_t at =
      SPIRV_RESULT(&emitter->spirv, emitter->section, SpirvConvertUToPtr, type, burn__emit_id_of(emitter, &pointer));
  const uint32_t relaxed = burn__emit_u32(emitter, 0);
  return burn__emit_id(
      word, SPIRV_RESULT(&emitter->spirv, emitter->section, SpirvAtomicCompareExchange,
                         burn__emit_type_id(emitter, word), at, burn__emit_u32(emitter, SCOPE_DEVICE), relaxed, relaxed,
                         burn__emit_id_of(emitter, &next), burn__emit_id_of(emitter, &expected)));
}

static bool numbers(Emitter *emitter, KernelWord word, const Node *call, Value *out) {
  const Type *f32 = emitter->floats[0], *f64 = emitter->floats[1], *w32 = u32(emitter), *w64 = emitter->integers[0][3];
  static const struct {
    KernelWord f64, f32;
    uint32_t number;
  } instructions[] = {{WORD_floor, WORD_floorf, GLSL_FLOOR},          {WORD_ceil, WORD_ceilf, GLSL_CEIL},
                      {WORD_COUNT, WORD_rintf, GLSL_ROUND_EVEN},      {WORD_COUNT, WORD_truncf, GLSL_TRUNC},
                      {WORD_COUNT, WORD_burn_native_exp2, GLSL_EXP2}, {WORD_fabs, WORD_fabsf, GLSL_FABS}};
  for (size_t i = 0; i < sizeof instructions / sizeof instructions[0]; i++) {
    if (word != instructions[i].f64 && word != instructions[i].f32) continue;
    *out = of_one_number(emitter, call, instructions[i].number, word == instructions[i].f64 ? f64 : f32);
    return true;
  }
  if (word == WORD_rint || word == WORD_trunc)
    *out = rounding_f64(emitter, call, word == WORD_trunc);
  else if (word == WORD_burn_bitcast_u32)
    *out = bitcast(emitter, call, f32, w32);
  else if (word == WORD_burn_bitcast_f32)
    *out = bitcast(emitter, call, w32, f32);
  else if (word == WORD_burn_bitcast_u64)
    *out = bitcast(emitter, call, f64, w64);
  else if (word == WORD_burn_bitcast_f64)
    *out = bitcast(emitter, call, w64, f64);
  else if (word == WORD_sqrt)
    *out = root(emitter, call, f64);
  else if (word == WORD_sqrtf)
    *out = root(emitter, call, f32);
  else if (word == WORD_burn_native_fma)
    *out = native_fma(emitter, call);
  else if (word == WORD_burn_native_quotient)
    *out = native_quotient(emitter, call);
  else
    return false;
  return true;
}

static void check_inputs(Emitter *emitter, const Node *call, KernelWord word) {
  static const struct {
    KernelWord word;
    uint32_t count;
  } counts[] = {
      {WORD___syncthreads, 0},          {WORD_burn_read_first, 0},           {WORD_burn_subgroup, 0},
      {WORD_burn_reload_parameters, 0}, {WORD_burn_may_flush_subnormals, 0}, {WORD_burn_shuffle, 2},
      {WORD_burn_native_fma, 3},        {WORD_burn_native_quotient, 2},      {WORD_burn_atomic_compare_exchange, 3},
      {WORD_burn_matrix_load, 3},       {WORD_burn_matrix_multiply_add, 3},  {WORD_burn_matrix_get, 2},
      {WORD_burn_matrix_set, 3},        {WORD_burn_matrix_store, 4}};
  uint32_t wanted = 1;
  for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
    if (counts[i].word == word) wanted = counts[i].count;
  uint32_t given = 0;
  for (const Node *node = call->b; node; node = node->next) given++;
  const bool is_function = word > WORD_gridDim && word < WORD_x;
  if (is_function && given != wanted)
    EMIT_FAIL(emitter, "'%s' has %u inputs and is given %u", call->a->name, wanted, given);
  const bool is_of_warps = word == WORD_burn_shuffle || word == WORD_burn_ballot;
  if (is_of_warps && !emitter->target.has_warps)
    EMIT_FAIL(emitter, "'%s' on a device whose warps are emulated", call->a->name);
}

bool burn__emit_builtin(Emitter *emitter, const Node *call, Value *out) {
  KernelWord word = WORD_COUNT;
  for (int i = 0; i < WORD_COUNT && word == WORD_COUNT; i++)
    if (call->a->name == emitter->words[i]) word = (KernelWord)i;
  if (word == WORD_COUNT) return false;
  check_inputs(emitter, call, word);
  if (numbers(emitter, word, call, out) || burn__emit_matrix_function(emitter, word, call, out)) return true;
  if (word == WORD___syncthreads)
    *out = barrier(emitter);
  else if (word == WORD_burn_read_first)
    *out = read_first(emitter);
  else if (word == WORD_burn_native_half_to_float)
    *out = half_to_float(emitter, call);
  else if (word == WORD_burn_native_float_to_half)
    *out = float_to_half(emitter, call);
  else if (word == WORD_burn_shuffle)
    *out = shuffle(emitter, call);
  else if (word == WORD_burn_ballot)
    *out = ballot(emitter, call);
  else if (word == WORD_burn_reload_parameters)
    *out = reload_parameters(emitter);
  else if (word == WORD_burn_may_flush_subnormals)
    *out = may_flush(emitter);
  else if (word == WORD_burn_subgroup)
    *out = subgroup_number(emitter);
  else if (word == WORD_burn_popcount)
    *out = bit_count(emitter, call);
  else if (word == WORD_burn_atomic_compare_exchange)
    *out = compare_exchange(emitter, call);
  else
    return false;
  return true;
}
