/* ndarray_fused.h - what the files behind "burn.fused" share: the compiled body. */
#ifndef BURN_NDARRAY_FUSED_H
#define BURN_NDARRAY_FUSED_H

#include <burn/common/fused_plan.h>
#include <burn/plugin/epilogue.h>

#include "ndarray_fused_machine.h"

#define ND_FUSED_INPUTS 16
#define ND_FUSED_OUTPUTS 8
#define ND_FUSED_STEPS 64
#define ND_FUSED_SLOTS 16  /* values that wait at once */
#define ND_FUSED_LINES 256 /* of a program */
#define ND_FUSED_RANDOM 8  /* steps that want random words */
#define ND_FUSED_PROGRAMS 16
#define ND_FUSED_BUFFERS 16        /* values that one program leaves for a later one */
#define ND_FUSED_ROWS 32           /* the same, of which there is one number per row */
#define ND_FUSED_LONGEST_ROW 65536 /* elements that a block of rows has at most, if it has one row */

/* What stands in the memory field of an instruction. */
typedef enum NdFusedOperand {
  ND_FUSED_NOTHING,
  ND_FUSED_INPUT,
  ND_FUSED_OUTPUT,
  ND_FUSED_SLOT,
  ND_FUSED_WORDS,  /* random words of a step */
  ND_FUSED_BUFFER, /* what an earlier program left, an f32 or mask per element */
  ND_FUSED_ROW     /* the same, one per row */
} NdFusedOperand;

/* Where the scalars of an instruction come from: the attributes of its step, for each run anew. */
typedef enum NdFusedScalar {
  ND_FUSED_NO_SCALAR,
  ND_FUSED_FIRST,        /* s is the first attribute */
  ND_FUSED_FIRST_SECOND, /* q the second too */
  ND_FUSED_DIVISOR,      /* a division by a power of 2 becomes a product */
  ND_FUSED_EXPONENT,     /* of powf_scalar: some have an instruction of their own */
  ND_FUSED_FILL,         /* of full */
  ND_FUSED_DROPOUT,
  ND_FUSED_BERNOULLI,
  ND_FUSED_WIDTH,   /* of random_uniform: high - low */
  ND_FUSED_LOW_HIGH /* of random_uniform */
} NdFusedScalar;

/* An instruction as compiled. */
typedef struct NdFusedLine {
  uint16_t opcode; /* NdFusedOpcode */
  uint8_t operand; /* NdFusedOperand */
  uint8_t scalar;  /* NdFusedScalar */
  uint8_t number;  /* of the operand */
  uint8_t bytes;   /* of an element of the operand */
  uint8_t step;    /* whose attributes are the scalars */
  uint8_t reserved;
} NdFusedLine;

/* What a run needs to know of a step. */
typedef struct NdFusedStepInfo {
  uint32_t op;
  BurnDType scalar_dtype; /* to which its scalars are rounded */
  BurnDType dtype;        /* of its result */
  uint32_t attr_count;    /* of its calls */
} NdFusedStepInfo;

/* A part of the lines, with ND_FUSED_end in the end. Programs run in their order, each over all elements of a block, or
 * over all numbers that are left of a block when it is reduced. */
typedef struct NdFusedProgram {
  uint16_t begin, end; /* lines */
  bool is_reduced;
  uint8_t reduction_count; /* after it */
} NdFusedProgram;

/* Numbers of one row (ND_FUSED_ROW) from a value of the program before. */
typedef struct NdFusedReduction {
  uint8_t family; /* ND_FOLD_* */
  uint8_t is_mean;
  uint8_t operand; /* ND_FUSED_INPUT of f32, or ND_FUSED_BUFFER */
  uint8_t number;
  uint8_t row;
  BurnDType dtype; /* of the result */
} NdFusedReduction;

struct BurnFusedKernel {
  uint64_t bytes; /* of this block */
  /* A product and what follows it (ndarray_epilogue.c): the first step, and the others as a kernel whose last input is
   * its result. Such a kernel has counts, outputs and steps as callers see them, and no programs. NULL: no product. */
  struct BurnFusedKernel *after;
  NdProductInto product;
  BurnTensorDesc result;                                              /* of the product */
  uint32_t result_output;                                             /* which output it is, or ND_FUSED_OUTPUTS */
  uint8_t product_inputs[BURN_MAX_FIXED_INPUTS], product_input_count; /* numbers of inputs, or ND_FUSED_INPUTS */
  uint32_t input_count, output_count, step_count, line_count, slot_count, words_count;
  uint32_t program_count, reduction_count, buffer_count, row_count;
  BurnCommonRegion region;
  uint32_t axis;        /* that is reduced, of the space, unless it is reduced as a whole */
  int64_t grain;        /* elements per chunk of parallel work at least */
  BurnTensorDesc space; /* over which programs run that are not reduced */
  BurnTensorDesc outputs[ND_FUSED_OUTPUTS];
  bool output_is_reduced[ND_FUSED_OUTPUTS];
  NdFusedProgram programs[ND_FUSED_PROGRAMS];
  NdFusedReduction reductions[ND_FUSED_ROWS];
  uint32_t reuse[ND_FUSED_OUTPUTS];     /* bit i: the output may take the memory of input i */
  uint8_t input_bytes[ND_FUSED_INPUTS]; /* of an element; 0: no program reads this input */
  bool input_is_element[ND_FUSED_INPUTS],
      input_is_reduced[ND_FUSED_INPUTS]; /* read by programs that are not, or are reduced */
  bool input_is_folded[ND_FUSED_INPUTS]; /* read by a reduction */
  uint8_t words_step[ND_FUSED_RANDOM];   /* the steps that want random words */
  NdFusedStepInfo steps[ND_FUSED_STEPS];
  NdFusedLine lines[]; /* [line_count] */
};

/* ndarray_fused_compile.c: as BurnFusedInterface.compile. */
BurnStatus nd_fused_compile(Ndarray *nd, const BurnFusedBody *body, BurnFusedKernel **out, char *why,
                            uint64_t why_bytes);
/* The same of what follows a product: one step is enough. */
BurnStatus nd_fused_compile_after(Ndarray *nd, const BurnFusedBody *body, BurnFusedKernel **out, char *why,
                                  uint64_t why_bytes);

/* ndarray_fused_run.c: as BurnFusedInterface.run. */
BurnStatus nd_fused_run(Ndarray *nd, const BurnFusedCall *call);

/* ndarray_fused.c: the table of "burn.fused"; its self is the Ndarray. */
extern const BurnFusedInterface nd_fused_interface;

/* ndarray_epilogue.c: the table of "burn.epilogue", and a run of such a kernel. */
extern const BurnEpilogueInterface nd_epilogue_interface;
BurnStatus nd_epilogue_run(Ndarray *nd, const BurnFusedCall *call);

#endif
