/* ndarray_fused.h - what the files behind "burn.fused" share: the compiled body. */
#ifndef BURN_NDARRAY_FUSED_H
#define BURN_NDARRAY_FUSED_H

#include <burn/plugin/fused.h>

#include "ndarray_fused_machine.h"

#define ND_FUSED_INPUTS 16
#define ND_FUSED_OUTPUTS 8
#define ND_FUSED_STEPS 64
#define ND_FUSED_SLOTS 16  /* values that wait at once */
#define ND_FUSED_LINES 256 /* of a program */
#define ND_FUSED_RANDOM 8  /* steps that want random words */

/* What stands in the memory field of an instruction. */
typedef enum NdFusedOperand {
  ND_FUSED_NOTHING,
  ND_FUSED_INPUT,
  ND_FUSED_OUTPUT,
  ND_FUSED_SLOT,
  ND_FUSED_WORDS /* random words of a step */
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
} NdFusedStepInfo;

struct BurnFusedKernel {
  uint64_t bytes; /* of this block */
  uint32_t input_count, output_count, step_count, line_count, slot_count, words_count;
  int64_t grain; /* elements per chunk of parallel work at least */
  BurnTensorDesc outputs[ND_FUSED_OUTPUTS]; /* of one shape, over which the program runs */
  uint32_t reuse[ND_FUSED_OUTPUTS];     /* bit i: the output may take the memory of input i */
  uint8_t input_bytes[ND_FUSED_INPUTS]; /* of an element; 0: the program does not read this input */
  uint8_t words_step[ND_FUSED_RANDOM];  /* the steps that want random words */
  NdFusedStepInfo steps[ND_FUSED_STEPS];
  NdFusedLine lines[]; /* [line_count], with ND_FUSED_end in the end */
};

/* ndarray_fused_compile.c: as BurnFusedInterface.role and .compile. */
uint32_t nd_fused_role(const BurnFusedStep *step, const BurnTensorDesc *inputs, const BurnTensorDesc *output);
BurnStatus nd_fused_compile(Ndarray *nd, const BurnFusedBody *body, BurnFusedKernel **out, char *why, uint64_t why_bytes);

/* ndarray_fused_run.c: as BurnFusedInterface.run. */
BurnStatus nd_fused_run(Ndarray *nd, const BurnFusedCall *call);

/* ndarray_fused.c: the table of "burn.fused"; its self is the Ndarray. */
extern const BurnFusedInterface nd_fused_interface;

#endif
