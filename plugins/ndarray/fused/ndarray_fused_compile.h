/* ndarray_fused_compile.h - what the files that compile a body share: what is known of its ops and values. */
#ifndef BURN_NDARRAY_FUSED_COMPILE_H
#define BURN_NDARRAY_FUSED_COMPILE_H

#include "ndarray_fused.h"
#include "reduce/ndarray_rows.h"

/* How an op is translated. */
typedef enum NdFusedForm {
  ND_FORM_NONE,
  ND_FORM_UNARY,   /* of a float */
  ND_FORM_SCALAR,  /* with one attribute */
  ND_FORM_CLAMP,   /* with two */
  ND_FORM_BINARY,  /* of floats */
  ND_FORM_TEST,    /* a float to a bool */
  ND_FORM_COMPARE, /* floats to a bool */
  ND_FORM_COMPARE_SCALAR,
  ND_FORM_LOGIC, /* bools */
  ND_FORM_LOGIC_NOT,
  ND_FORM_DIVIDE, /* by a scalar */
  ND_FORM_POWER,  /* with a scalar exponent */
  ND_FORM_CAST,
  ND_FORM_EXPAND,
  ND_FORM_WHERE,
  ND_FORM_FILL,
  ND_FORM_REDUCE, /* along an axis */
  ND_FORM_REDUCE_ALL,
  ND_FORM_DROPOUT,
  ND_FORM_UNIFORM,
  ND_FORM_BERNOULLI,
  ND_FORM_CREATE
} NdFusedForm;

typedef struct NdFusedOp {
  uint8_t form; /* NdFusedForm */
  uint8_t is_heavy;
  uint16_t opcode; /* for reductions ND_FOLD_* */
} NdFusedOp;

/* ndarray_fused_ops.c */
NdFusedOp nd_fused_op(uint32_t op);
bool nd_fused_dtypes_fit(const BurnFusedStep *step, NdFusedForm form, const BurnTensorDesc *inputs, BurnDType output);
/* A cast that changes nothing in the machine, which has integers and halves as the f32 that they are. */
bool nd_fused_cast_is_nothing(BurnDType from, BurnDType to);

#define ND_FUSED_NO_VALUE UINT32_MAX
#define ND_FUSED_VALUES (ND_FUSED_INPUTS + ND_FUSED_STEPS)

typedef struct NdFusedValue {
  BurnDType dtype;
  uint32_t same_as; /* the value that this one is in the machine: itself, or what it is an expansion of */
  /* The plan. */
  uint8_t stage;   /* so many reductions come before it, one after the other */
  uint8_t program; /* in which it is computed: 2 * stage if it is reduced, else 2 * stage + 1 */
  uint8_t cost;    /* in steps, to compute it again in another program */
  bool is_live, is_reduced, is_reduction;
  bool is_kept; /* left in its home for later programs, which else compute it again */
  /* The translation. */
  uint32_t uses;  /* in the program, by instructions to come, outputs and its home */
  int32_t slot;   /* where it waits, or -1 */
  uint8_t home;   /* ND_FUSED_INPUT: an f32 input, read where it lies; _BUFFER, _ROW: kept; or ND_FUSED_NOTHING */
  uint8_t number; /* of the home */
  bool is_home;   /* its home has it */
  int32_t folded; /* the buffer from which a reduction takes it, or -1 */
} NdFusedValue;

typedef struct NdFusedCompiler {
  Ndarray *nd;
  const BurnFusedBody *body;
  BurnFusedKernel *kernel;
  NdFusedValue values[ND_FUSED_VALUES];
  uint32_t program; /* that is translated */
  uint32_t running; /* the value that is the running one, or ND_FUSED_NO_VALUE */
  uint32_t slots;   /* bit per slot in use */
  const char *refusal;
  uint16_t last_read[ND_FUSED_INPUTS]; /* lines until after the last read of an input */
  uint16_t stored[ND_FUSED_OUTPUTS];   /* lines until after the store */
  NdFusedLine lines[ND_FUSED_LINES];
} NdFusedCompiler;

void nd_fused_refuse(NdFusedCompiler *c, const char *reason);

/* The value in the machine that is input `i` of a step. */
static inline uint32_t nd_fused_input(const NdFusedCompiler *c, const BurnFusedStep *step, uint32_t i) {
  return c->values[step->inputs[i]].same_as;
}

/* ndarray_fused_plan.c: checks the body and decides region and programs. */
void nd_fused_plan(NdFusedCompiler *c);
/* Counts the uses of all values in a program. */
void nd_fused_count_uses(NdFusedCompiler *c, uint32_t program);
/* The program that stores an output. */
uint32_t nd_fused_program_of_output(const NdFusedCompiler *c, uint32_t o);
/* True if the program computes v, rather than find it somewhere. */
bool nd_fused_computes(const NdFusedCompiler *c, uint32_t v, uint32_t program);
/* True if a reduction cannot read the operand where it is: an input of another dtype or shape, or what there is one of
 * per row. */
bool nd_fused_copies_folded(const NdFusedCompiler *c, uint32_t operand);

#endif
