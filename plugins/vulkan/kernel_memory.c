/* kernel_memory.c - memory of the device: numbers at addresses, structs as one access where they are vectors. */
#include "kernel_emit.h"

/* -- parts ------------------------------------------------------------------------------------ */

static const Type *word_type(Emitter *emitter, uint32_t bits) {
  return emitter->integers[0][bits == 8 ? 0 : bits == 16 ? 1 : bits == 32 ? 2 : 3];
}

static uint32_t vector_type(Emitter *emitter, uint32_t words) {
  const uint32_t word = burn__emit_type_id(emitter, word_type(emitter, 32));
  return SPIRV_GLOBAL(&emitter->spirv, SpirvTypeVector, 0, word, words);
}

uint32_t burn__emit_extract(Emitter *emitter, const Type *type, uint32_t composite, uint32_t at) {
  return SPIRV_RESULT(&emitter->spirv, emitter->section, SpirvCompositeExtract, burn__emit_type_id(emitter, type),
                      composite, at);
}

static uint32_t bitcast(Emitter *emitter, uint32_t type, uint32_t id) {
  return SPIRV_RESULT(&emitter->spirv, emitter->section, SpirvBitcast, type, id);
}

/* What a type is in memory: bools are bytes. */
static const Type *stored(Emitter *emitter, const Type *type) {
  return type->kind == TYPE_BOOL ? word_type(emitter, 8) : type;
}

static uint32_t to_memory(Emitter *emitter, const Type *type, uint32_t id) {
  if (type->kind != TYPE_BOOL) return id;
  const Value value = burn__emit_id(type, id);
  const Value byte = burn__emit_convert(emitter, &value, word_type(emitter, 8));
  return byte.id;
}

static uint32_t from_memory(Emitter *emitter, const Type *type, uint32_t id) {
  if (type->kind != TYPE_BOOL) return id;
  const Value value = burn__emit_id(word_type(emitter, 8), id);
  return burn__emit_truth(emitter, &value).id;
}

static uint32_t part_count(const Type *type) {
  return type->kind == TYPE_ARRAY ? (uint32_t)type->count : type->member_count;
}
static const Type *part_type(const Type *type, uint32_t i) {
  return type->kind == TYPE_ARRAY ? type->of : type->members[i].type;
}
static uint64_t part_offset(const Type *type, uint32_t i) {
  return type->kind == TYPE_ARRAY ? i * type->of->size : type->members[i].offset;
}

static uint32_t construct(Emitter *emitter, const Type *type, const uint32_t *parts) {
  return burn__spirv_result(&emitter->spirv, emitter->section, SpirvCompositeConstruct,
                            burn__emit_type_id(emitter, type), parts, part_count(type));
}

/* -- from and to words of 32 bits ------------------------------------------------------------- */

static uint32_t shifted(Emitter *emitter, uint32_t word, uint64_t bits, SpirvOp op) {
  if (bits == 0) return word;
  return burn__emit_op(emitter, op, word_type(emitter, 32), word, burn__emit_u32(emitter, (uint32_t)bits));
}

static uint32_t leaf_from_words(Emitter *emitter, const Type *type, WordAt word, void *context, uint64_t byte) {
  const uint32_t low = word(context, byte / 4 * 4);
  if (type->size == 8) {
    const uint32_t pair = SPIRV_RESULT(&emitter->spirv, emitter->section, SpirvCompositeConstruct,
                                       vector_type(emitter, 2), low, word(context, byte / 4 * 4 + 4));
    return bitcast(emitter, burn__emit_type_id(emitter, type), pair);
  }
  if (type->size == 4 && type->kind == TYPE_FLOAT) return bitcast(emitter, burn__emit_type_id(emitter, type), low);
  if (type->size == 4) return low;
  const uint32_t at_bottom = shifted(emitter, low, byte % 4 * 8, SpirvShiftRightLogical);
  return from_memory(emitter, type, burn__emit_op(emitter, SpirvUConvert, stored(emitter, type), at_bottom, 0));
}

uint32_t burn__emit_from_words(Emitter *emitter, const Type *type, WordAt word, void *context, uint64_t byte) {
  if (type_is_scalar(type)) return leaf_from_words(emitter, type, word, context, byte);
  const uint32_t count = part_count(type);
  uint32_t *parts = burn__kernel_allocate(emitter->arena, (count + 1) * sizeof *parts);
  for (uint32_t i = 0; i < count; i++)
    parts[i] = burn__emit_from_words(emitter, part_type(type, i), word, context, byte + part_offset(type, i));
  return construct(emitter, type, parts);
}

/* Adds bits to a word; 0 is a word without any. */
static void put_bits(Emitter *emitter, uint32_t *word, uint32_t bits) {
  *word = *word ? burn__emit_op(emitter, SpirvBitwiseOr, word_type(emitter, 32), *word, bits) : bits;
}

static void leaf_to_words(Emitter *emitter, const Type *type, uint32_t id, uint64_t byte, uint32_t words[4]) {
  const Type *word = word_type(emitter, 32);
  if (type->size == 8) {
    const uint32_t pair = bitcast(emitter, vector_type(emitter, 2), id);
    words[byte / 4] = burn__emit_extract(emitter, word, pair, 0);
    words[byte / 4 + 1] = burn__emit_extract(emitter, word, pair, 1);
    return;
  }
  if (type->size == 4) {
    words[byte / 4] = type->kind == TYPE_FLOAT ? bitcast(emitter, burn__emit_type_id(emitter, word), id) : id;
    return;
  }
  const uint32_t wide = burn__emit_op(emitter, SpirvUConvert, word, to_memory(emitter, type, id), 0);
  put_bits(emitter, &words[byte / 4], shifted(emitter, wide, byte % 4 * 8, SpirvShiftLeftLogical));
}

static void to_words(Emitter *emitter, const Type *type, uint32_t id, uint64_t byte, uint32_t words[4]) {
  if (type_is_scalar(type)) {
    leaf_to_words(emitter, type, id, byte, words);
    return;
  }
  for (uint32_t i = 0; i < part_count(type); i++)
    to_words(emitter, part_type(type, i), burn__emit_extract(emitter, part_type(type, i), id, i),
             byte + part_offset(type, i), words);
}

/* -- addresses -------------------------------------------------------------------------------- */

/* An address as a pointer to what has this type in the module. */
static uint32_t pointer_at(Emitter *emitter, uint32_t type, uint32_t address, int64_t offset) {
  const uint32_t pointer = SPIRV_GLOBAL(&emitter->spirv, SpirvTypePointer, 0, SPIRV_PHYSICAL, type);
  const Value value = {
      .kind = VALUE_ID, .type = burn__emit_pointer_to(emitter, emitter->bool_type), .id = address, .offset = offset};
  return SPIRV_RESULT(&emitter->spirv, emitter->section, SpirvConvertUToPtr, pointer,
                      burn__emit_id_of(emitter, &value));
}

enum { ALIGNED = 2 }; /* memory operand */

static uint32_t load_at(Emitter *emitter, uint32_t type, uint32_t address, int64_t offset, uint64_t alignment) {
  const uint32_t pointer = pointer_at(emitter, type, address, offset);
  return SPIRV_RESULT(&emitter->spirv, emitter->section, SpirvLoad, type, pointer, ALIGNED, (uint32_t)alignment);
}

static void store_at(Emitter *emitter, uint32_t type, uint32_t address, int64_t offset, uint64_t alignment,
                     uint32_t value) {
  const uint32_t pointer = pointer_at(emitter, type, address, offset);
  SPIRV_PUT(&emitter->spirv, emitter->section, SpirvStore, pointer, value, ALIGNED, (uint32_t)alignment);
}

/* True if a struct is read and written as one word, or a vector of them. */
static bool is_vector(const Type *type) {
  const bool fits = type->size == 2 || type->size == 4 || type->size == 8 || type->size == 16;
  return type->kind == TYPE_STRUCT && fits && type->alignment == type->size;
}

static uint32_t vector_id(Emitter *emitter, const Type *type) {
  if (type->size <= 4) return burn__emit_type_id(emitter, word_type(emitter, (uint32_t)type->size * 8));
  return vector_type(emitter, (uint32_t)type->size / 4);
}

typedef struct LoadedVector {
  Emitter *emitter;
  uint32_t words[4];
} LoadedVector;

static uint32_t loaded_word(void *context, uint64_t byte) { return ((const LoadedVector *)context)->words[byte / 4]; }

/* -- as words of 64 bits, where vectors are slow ----------------------------------------------- */

static bool by_doublewords(const Emitter *emitter, const Type *type) {
  return type->size >= 8 && emitter->target.is_processor;
}

static void load_doublewords(Emitter *emitter, const Type *type, uint32_t address, int64_t offset, uint32_t *words) {
  const Type *word = word_type(emitter, 32);
  const uint32_t id = burn__emit_type_id(emitter, word_type(emitter, 64));
  for (uint32_t i = 0; i < type->size / 4; i += 2) {
    const uint32_t two = load_at(emitter, id, address, offset + (int64_t)i * 4, 8);
    const uint32_t pair = bitcast(emitter, vector_type(emitter, 2), two);
    words[i] = burn__emit_extract(emitter, word, pair, 0);
    words[i + 1] = burn__emit_extract(emitter, word, pair, 1);
  }
}

static void store_doublewords(Emitter *emitter, const Type *type, uint32_t address, int64_t offset,
                              const uint32_t *words) {
  const uint32_t id = burn__emit_type_id(emitter, word_type(emitter, 64));
  for (uint32_t i = 0; i < type->size / 4; i += 2) {
    const uint32_t pair = SPIRV_RESULT(&emitter->spirv, emitter->section, SpirvCompositeConstruct,
                                       vector_type(emitter, 2), words[i], words[i + 1]);
    store_at(emitter, id, address, offset + (int64_t)i * 4, 8, bitcast(emitter, id, pair));
  }
}

/* -- structs as one access -------------------------------------------------------------------- */

static uint32_t load_vector(Emitter *emitter, const Type *type, uint32_t address, int64_t offset) {
  LoadedVector loaded = {emitter, {0}};
  const Type *word = word_type(emitter, 32);
  if (by_doublewords(emitter, type)) {
    load_doublewords(emitter, type, address, offset, loaded.words);
    return burn__emit_from_words(emitter, type, loaded_word, &loaded, 0);
  }
  const uint32_t id = load_at(emitter, vector_id(emitter, type), address, offset, type->size);
  if (type->size == 2) loaded.words[0] = burn__emit_op(emitter, SpirvUConvert, word, id, 0);
  if (type->size == 4) loaded.words[0] = id;
  for (uint32_t i = 0; type->size > 4 && i < type->size / 4; i++)
    loaded.words[i] = burn__emit_extract(emitter, word, id, i);
  return burn__emit_from_words(emitter, type, loaded_word, &loaded, 0);
}

static void store_vector(Emitter *emitter, const Type *type, uint32_t address, int64_t offset, uint32_t value) {
  uint32_t words[4] = {0};
  to_words(emitter, type, value, 0, words);
  for (size_t i = 0; i < 4; i++)
    if (!words[i]) words[i] = burn__emit_u32(emitter, 0);
  if (by_doublewords(emitter, type)) {
    store_doublewords(emitter, type, address, offset, words);
    return;
  }
  const uint32_t id = vector_id(emitter, type);
  uint32_t whole = words[0];
  if (type->size == 2) whole = burn__emit_op(emitter, SpirvUConvert, word_type(emitter, 16), words[0], 0);
  if (type->size > 4)
    whole = burn__spirv_result(&emitter->spirv, emitter->section, SpirvCompositeConstruct, id, words, type->size / 4);
  store_at(emitter, id, address, offset, type->size, whole);
}

uint32_t burn__emit_memory_load(Emitter *emitter, const Type *type, uint32_t address, int64_t offset) {
  if (is_vector(type)) return load_vector(emitter, type, address, offset);
  if (type_is_scalar(type)) {
    const uint32_t id = burn__emit_type_id(emitter, stored(emitter, type));
    return from_memory(emitter, type, load_at(emitter, id, address, offset, type->size));
  }
  const uint32_t count = part_count(type);
  uint32_t *parts = burn__kernel_allocate(emitter->arena, (count + 1) * sizeof *parts);
  for (uint32_t i = 0; i < count; i++)
    parts[i] = burn__emit_memory_load(emitter, part_type(type, i), address, offset + (int64_t)part_offset(type, i));
  return construct(emitter, type, parts);
}

void burn__emit_memory_store(Emitter *emitter, const Type *type, uint32_t address, int64_t offset, uint32_t value) {
  if (is_vector(type)) {
    store_vector(emitter, type, address, offset, value);
    return;
  }
  if (type_is_scalar(type)) {
    const uint32_t id = burn__emit_type_id(emitter, stored(emitter, type));
    store_at(emitter, id, address, offset, type->size, to_memory(emitter, type, value));
    return;
  }
  for (uint32_t i = 0; i < part_count(type); i++)
    burn__emit_memory_store(emitter, part_type(type, i), address, offset + (int64_t)part_offset(type, i),
                            burn__emit_extract(emitter, part_type(type, i), value, i));
}
