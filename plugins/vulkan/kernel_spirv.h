/* kernel_spirv.h - a module of SPIR-V while it is written: its sections, and types and constants once each. */
#ifndef BURN_VULKAN_KERNEL_SPIRV_H
#define BURN_VULKAN_KERNEL_SPIRV_H

#include "kernel_arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum SpirvOp {
#define SPIRV_OP(Name, number) Spirv##Name = number,
#include "spirv.def"
#undef SPIRV_OP
} SpirvOp;

/* Numbers of the specification: 3.7 Storage Class, 3.20 Decoration. */
enum { SPIRV_WORKGROUP = 4, SPIRV_FUNCTION = 7, SPIRV_PUSH_CONSTANT = 9, SPIRV_INPUT = 1, SPIRV_PHYSICAL = 5349 };
enum { SPIRV_BLOCK = 2, SPIRV_ARRAY_STRIDE = 6, SPIRV_BUILT_IN = 11, SPIRV_OFFSET = 35, SPIRV_NO_CONTRACTION = 42 };

/* Instructions in the order in which they lie in the module. */
typedef enum SpirvSection {
  SPIRV_ANNOTATIONS, /* decorations */
  SPIRV_ARITHMETIC,  /* those of instructions of the body */
  SPIRV_GLOBALS,     /* types, constants, variables outside of functions */
  SPIRV_LOCALS,      /* variables of the function */
  SPIRV_PROLOGUE,    /* what the function begins with */
  SPIRV_BODY,
  SPIRV_SECTIONS
} SpirvSection;

typedef struct SpirvWords {
  uint32_t *at;
  size_t count, room;
} SpirvWords;

typedef struct SpirvKnown SpirvKnown;

typedef struct Spirv {
  KernelArena *arena;
  uint32_t bound; /* the next id */
  SpirvWords sections[SPIRV_SECTIONS];
  SpirvKnown *known[1024]; /* types and constants by hash */
} Spirv;

static inline uint32_t spirv_id(Spirv *spirv) { return spirv->bound++; }

/* An instruction with `count` operands. */
void burn__spirv_put(Spirv *spirv, SpirvSection section, SpirvOp op, const uint32_t *operands, size_t count);

/* The same with a result; `type` 0: the result has none. */
uint32_t burn__spirv_result(Spirv *spirv, SpirvSection section, SpirvOp op, uint32_t type, const uint32_t *operands,
                            size_t count);

/* The same in SPIRV_GLOBALS, once: an equal one is the same id. */
uint32_t burn__spirv_global(Spirv *spirv, SpirvOp op, uint32_t type, const uint32_t *operands, size_t count);

/* Instructions written out in the call. */
#define SPIRV_PUT(spirv, section, op, ...)                                   \
  burn__spirv_put((spirv), (section), (op), (const uint32_t[]){__VA_ARGS__}, \
                  sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))
#define SPIRV_RESULT(spirv, section, op, type, ...)                                     \
  burn__spirv_result((spirv), (section), (op), (type), (const uint32_t[]){__VA_ARGS__}, \
                     sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))
#define SPIRV_GLOBAL(spirv, op, type, ...)                                   \
  burn__spirv_global((spirv), (op), (type), (const uint32_t[]){__VA_ARGS__}, \
                     sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

#endif
