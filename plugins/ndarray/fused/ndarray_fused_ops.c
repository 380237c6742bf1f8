/* ndarray_fused_ops.c - which instruction an op of a fused body is. */
#include "ndarray_fused_compile.h"

/* What the forms make of an op's name. Forms that are several instructions have none here. */
#define CODE_UNARY(op) ND_FUSED_##op
#define CODE_SCALAR(op) ND_FUSED_##op
#define CODE_CLAMP(op) ND_FUSED_##op
#define CODE_BINARY(op) ND_FUSED_##op
#define CODE_TEST(op) ND_FUSED_##op
#define CODE_COMPARE(op) ND_FUSED_##op
#define CODE_COMPARE_SCALAR(op) ND_FUSED_##op
#define CODE_LOGIC(op) ND_FUSED_##op
#define CODE_LOGIC_NOT(op) ND_FUSED_##op
#define CODE_DIVIDE(op) ND_FUSED_##op
#define CODE_POWER(op) ND_FUSED_power_any
#define CODE_INTEGERS(op) 0
#define CODE_CAST(op) 0
#define CODE_EXPAND(op) 0
#define CODE_SPREAD(op) 0
#define CODE_WHERE(op) 0
#define CODE_FILL(op) 0
#define CODE_DROPOUT(op) ND_FUSED_##op
#define CODE_UNIFORM(op) 0
#define CODE_BERNOULLI(op) 0
#define CODE_CREATE(op) ND_FUSED_splat
#define CODE_REDUCE(op) FOLD_##op
#define CODE_REDUCE_ALL(op) FOLD_##op

/* A mean is a sum, divided in the end. */
enum {
  FOLD_sum_dim = ND_FOLD_sum,
  FOLD_mean_dim = ND_FOLD_sum,
  FOLD_max_dim = ND_FOLD_max,
  FOLD_min_dim = ND_FOLD_min,
  FOLD_sum = ND_FOLD_sum,
  FOLD_mean = ND_FOLD_sum,
  FOLD_max = ND_FOLD_max,
  FOLD_min = ND_FOLD_min
};

static const uint16_t opcodes[BURN_OP_LIMIT] = {
#define BURN_FUSED_OP(form, weight, op) [BURN_OP_##op] = CODE_##form(op),
#include "common/fused_ops.def"
};

uint32_t nd_fused_opcode(uint32_t op) { return opcodes[op]; }
