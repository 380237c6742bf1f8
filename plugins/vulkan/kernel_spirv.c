/* kernel_spirv.c - a module of SPIR-V while it is written. */
#include "kernel_spirv.h"

#include <string.h>

struct SpirvKnown {
  SpirvKnown *next;
  uint32_t id, type, op;
  size_t count;
  uint32_t operands[];
};

/* An instruction has its length in 16 bits. */
enum { MAX_OPERANDS = 60000 };

static uint32_t *reserve(Spirv *spirv, SpirvWords *words, size_t count) {
  if (words->room - words->count < count) {
    const size_t room = (words->room + count) * 2 + 256;
    uint32_t *larger = burn__kernel_allocate(spirv->arena, room * sizeof *larger);
    if (words->count > 0) memcpy(larger, words->at, words->count * sizeof *larger);
    words->at = larger;
    words->room = room;
  }
  uint32_t *at = words->at + words->count;
  words->count += count;
  return at;
}

static uint32_t *begin(Spirv *spirv, SpirvSection section, SpirvOp op, size_t operands) {
  if (operands > MAX_OPERANDS)
    burn__kernel_escape(spirv->arena, 0, "an instruction of %zu operands: more than %d", operands, MAX_OPERANDS);
  uint32_t *at = reserve(spirv, &spirv->sections[section], operands + 1);
  at[0] = (uint32_t)(operands + 1) << 16 | (uint32_t)op;
  return at + 1;
}

void burn__spirv_put(Spirv *spirv, SpirvSection section, SpirvOp op, const uint32_t *operands, size_t count) {
  uint32_t *at = begin(spirv, section, op, count);
  if (count > 0) memcpy(at, operands, count * sizeof *at);
}

uint32_t burn__spirv_result(Spirv *spirv, SpirvSection section, SpirvOp op, uint32_t type, const uint32_t *operands,
                            size_t count) {
  const uint32_t id = spirv_id(spirv);
  uint32_t *at = begin(spirv, section, op, count + (type ? 2 : 1));
  if (type) *at++ = type;
  *at++ = id;
  if (count > 0) memcpy(at, operands, count * sizeof *at);
  return id;
}

static size_t slot_of(const Spirv *spirv, SpirvOp op, uint32_t type, const uint32_t *operands, size_t count) {
  uint64_t hash = (uint64_t)op * UINT64_C(0x9e3779b97f4a7c15) + type;
  for (size_t i = 0; i < count; i++) hash = (hash ^ operands[i]) * UINT64_C(0x100000001b3);
  return (size_t)((hash ^ hash >> 29) % (sizeof spirv->known / sizeof spirv->known[0]));
}

uint32_t burn__spirv_global(Spirv *spirv, SpirvOp op, uint32_t type, const uint32_t *operands, size_t count) {
  SpirvKnown **list = &spirv->known[slot_of(spirv, op, type, operands, count)];
  for (const SpirvKnown *known = *list; known; known = known->next)
    if (known->op == (uint32_t)op && known->type == type && known->count == count &&
        (count == 0 || memcmp(known->operands, operands, count * sizeof *operands) == 0))
      return known->id;
  SpirvKnown *known = burn__kernel_allocate(spirv->arena, sizeof *known + count * sizeof *operands);
  known->next = *list;
  known->op = (uint32_t)op;
  known->type = type;
  known->count = count;
  if (count > 0) memcpy(known->operands, operands, count * sizeof *operands);
  known->id = burn__spirv_result(spirv, SPIRV_GLOBALS, op, type, operands, count);
  *list = known;
  return known->id;
}
