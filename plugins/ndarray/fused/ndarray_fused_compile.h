/* ndarray_fused_compile.h - what the files that compile a body share: what is known of its ops and values. */
#ifndef BURN_NDARRAY_FUSED_COMPILE_H
#define BURN_NDARRAY_FUSED_COMPILE_H

#include "ndarray_fused.h"
#include "reduce/ndarray_rows.h"

/* ndarray_fused_ops.c: the instruction of an op (of a binary one the first of its three), or ND_FOLD_* of a reduction;
 * 0 where the form alone says what is done. */
uint32_t nd_fused_opcode(uint32_t op);

#define ND_FUSED_NO_VALUE UINT32_MAX
#define ND_FUSED_VALUES (ND_FUSED_INPUTS + ND_FUSED_STEPS)

/* Where a value is. */
typedef struct NdFusedValue {
  int32_t slot;   /* where it waits, or -1 */
  uint8_t home;   /* ND_FUSED_INPUT: an f32 input, read where it lies; _BUFFER, _ROW: kept; or ND_FUSED_NOTHING */
  uint8_t number; /* of the home */
  bool is_home;   /* its home has it */
} NdFusedValue;

typedef struct NdFusedCompiler {
  Ndarray *nd;
  const BurnFusedBody *body;
  BurnFusedKernel *kernel;
  BurnCommonFusedPlan plan;
  NdFusedValue values[ND_FUSED_VALUES];
  uint32_t program;                    /* that is translated */
  uint32_t running;                    /* the value that is the running one, or ND_FUSED_NO_VALUE */
  uint32_t slots;                      /* bit per slot in use */
  uint16_t last_read[ND_FUSED_INPUTS]; /* lines until after the last read of an input */
  uint16_t stored[ND_FUSED_OUTPUTS];   /* lines until after the store */
  NdFusedLine lines[ND_FUSED_LINES];
} NdFusedCompiler;

#endif
