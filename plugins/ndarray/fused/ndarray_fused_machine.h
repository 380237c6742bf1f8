/* ndarray_fused_machine.h - the machine behind "burn.fused": straight-line programs over elements.
 *
 * It has one running value of `width` lanes of 32 bits. An instruction changes it; a second operand comes from memory:
 * an input, or a slot of `width` lanes where an earlier value waits. ndarray_fused_instructions.def lists the
 * instructions; ndarray_fused_machine_isa.inc makes the code, which ndarray_fused_{baseline,avx2,avx512}.c include with
 * other compiler flags. */
#ifndef BURN_NDARRAY_FUSED_MACHINE_H
#define BURN_NDARRAY_FUSED_MACHINE_H

#include "ndarray_internal.h"

#define ND_FUSED_WIDEST 256 /* lanes of the widest machine; widths divide it */

/* Instructions that are not in ndarray_fused_instructions.def. stream_f32 is store_f32 past the caches, to an address
 * aligned to 64 bytes; data is none: the second operand of the pair before it. */
#define ND_FUSED_OTHERS(X) \
  X(load_f32) X(store_f32) X(stream_f32) X(load_f16) X(store_f16) X(round_f16) X(sin) X(cos) X(data) X(end)

/* Numbers of the instructions. */
typedef enum NdFusedOpcode {
#define ND_FUSED_UNARY(name, expression) ND_FUSED_##name,
#define ND_FUSED_BINARY(name, expression) ND_FUSED_##name, ND_FUSED_##name##_from, ND_FUSED_##name##_self,
#define ND_FUSED_TYPED(name, Y, expression) ND_FUSED_##name,
#define ND_FUSED_PAIR(name, Y, expression) ND_FUSED_##name,
#define ND_FUSED_LOAD(name, Y, expression) ND_FUSED_##name,
#define ND_FUSED_STORE(name, Y, expression) ND_FUSED_##name,
#include "ndarray_fused_instructions.def"
#define X(name) ND_FUSED_##name,
  ND_FUSED_OTHERS(X)
#undef X
      ND_FUSED_OPCODE_COUNT
} NdFusedOpcode;

/* One instruction of a program that can run. */
typedef void (*NdFusedCode)(void); /* of a type that only ndarray_fused_machine_isa.inc knows */
typedef struct NdFusedWord {
  NdFusedCode code;
  void *memory; /* the operand, or where to store: its element i if mask is -1, its first lanes for every i if mask is 0
                 */
  int64_t mask;
  float s, q;
} NdFusedWord;

/* The machine for one instruction set. */
typedef struct NdFusedMachine {
  int64_t width;
  NdFusedCode codes[ND_FUSED_OPCODE_COUNT];
  /* Runs a program, which ends with ND_FUSED_end, for elements 0 .. count-1; count is a multiple of width. */
  void (*run)(const NdFusedWord *program, int64_t count);
  /* `width` copies of a value, to an address aligned to 64 bytes. */
  void (*repeat)(float value, float *to);
  /* After stream_f32: what follows comes later for the other threads too. */
  void (*fence)(void);
} NdFusedMachine;

extern const NdFusedMachine nd_fused_machine_baseline;
#if defined(BURN_NDARRAY_X86_VARIANTS)
extern const NdFusedMachine nd_fused_machine_avx2, nd_fused_machine_avx512;
#endif

/* The machine for nd->isa. */
static inline const NdFusedMachine *nd_fused_machine(const Ndarray *nd) {
#if defined(BURN_NDARRAY_X86_VARIANTS)
  if (nd->isa == NDARRAY_ISA_AVX512) return &nd_fused_machine_avx512;
  if (nd->isa == NDARRAY_ISA_AVX2) return &nd_fused_machine_avx2;
#endif
  (void)nd;
  return &nd_fused_machine_baseline;
}

#endif
