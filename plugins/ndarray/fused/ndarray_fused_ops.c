/* ndarray_fused_ops.c - the ops that may stand in a fused body, and their roles. */
#include "ndarray_fused_compile.h"

/* -- the ops ---------------------------------------------------------------------------------- */

static const NdFusedOp ops[BURN_OP_LIMIT] = {
#define OP(form, name) [BURN_OP_##name] = {form, 0, ND_FUSED_##name}
#define HEAVY(form, name) [BURN_OP_##name] = {form, 1, ND_FUSED_##name}
    OP(ND_FORM_UNARY, neg),
    OP(ND_FORM_UNARY, abs),
    OP(ND_FORM_UNARY, sign),
    OP(ND_FORM_UNARY, sqrt),
    OP(ND_FORM_UNARY, recip),
    OP(ND_FORM_UNARY, floor),
    OP(ND_FORM_UNARY, ceil),
    OP(ND_FORM_UNARY, round),
    OP(ND_FORM_UNARY, trunc),
    OP(ND_FORM_UNARY, relu),
    HEAVY(ND_FORM_UNARY, exp),
    HEAVY(ND_FORM_UNARY, log),
    HEAVY(ND_FORM_UNARY, log1p),
    HEAVY(ND_FORM_UNARY, tanh),
    HEAVY(ND_FORM_UNARY, erf),
    HEAVY(ND_FORM_UNARY, sigmoid),
    HEAVY(ND_FORM_UNARY, gelu),
    HEAVY(ND_FORM_UNARY, sin),
    HEAVY(ND_FORM_UNARY, cos),
    HEAVY(ND_FORM_UNARY, silu),
    OP(ND_FORM_SCALAR, leaky_relu),
    HEAVY(ND_FORM_SCALAR, softplus),
    OP(ND_FORM_SCALAR, add_scalar),
    OP(ND_FORM_SCALAR, mul_scalar),
    OP(ND_FORM_DIVIDE, div_scalar),
    [BURN_OP_powf_scalar] = {ND_FORM_POWER, 1, ND_FUSED_power_any},
    OP(ND_FORM_SCALAR, clamp_min),
    OP(ND_FORM_SCALAR, clamp_max),
    OP(ND_FORM_CLAMP, clamp),
    OP(ND_FORM_BINARY, add),
    OP(ND_FORM_BINARY, sub),
    OP(ND_FORM_BINARY, mul),
    OP(ND_FORM_BINARY, div),
    OP(ND_FORM_BINARY, max_pair),
    OP(ND_FORM_BINARY, min_pair),
    HEAVY(ND_FORM_BINARY, powf),
    OP(ND_FORM_BINARY, relu_backward),
    OP(ND_FORM_TEST, is_nan),
    OP(ND_FORM_TEST, is_inf),
    OP(ND_FORM_TEST, is_finite),
    OP(ND_FORM_COMPARE, equal),
    OP(ND_FORM_COMPARE, not_equal),
    OP(ND_FORM_COMPARE, greater),
    OP(ND_FORM_COMPARE, greater_equal),
    OP(ND_FORM_COMPARE, lower),
    OP(ND_FORM_COMPARE, lower_equal),
    OP(ND_FORM_COMPARE_SCALAR, equal_scalar),
    OP(ND_FORM_COMPARE_SCALAR, not_equal_scalar),
    OP(ND_FORM_COMPARE_SCALAR, greater_scalar),
    OP(ND_FORM_COMPARE_SCALAR, greater_equal_scalar),
    OP(ND_FORM_COMPARE_SCALAR, lower_scalar),
    OP(ND_FORM_COMPARE_SCALAR, lower_equal_scalar),
    OP(ND_FORM_LOGIC, bool_and),
    OP(ND_FORM_LOGIC, bool_or),
    OP(ND_FORM_LOGIC, bool_xor),
    OP(ND_FORM_LOGIC_NOT, bool_not),
#undef OP
#undef HEAVY
    [BURN_OP_cast] = {ND_FORM_CAST, 0, 0},
    [BURN_OP_expand] = {ND_FORM_EXPAND, 0, 0},
    [BURN_OP_mask_where] = {ND_FORM_WHERE, 0, 0},
    [BURN_OP_mask_fill] = {ND_FORM_FILL, 0, 0},
    [BURN_OP_dropout] = {ND_FORM_DROPOUT, 1, ND_FUSED_dropout},
    [BURN_OP_random_uniform] = {ND_FORM_UNIFORM, 1, 0},
    [BURN_OP_random_bernoulli] = {ND_FORM_BERNOULLI, 1, ND_FUSED_bernoulli},
    [BURN_OP_full] = {ND_FORM_CREATE, 0, ND_FUSED_splat},
    [BURN_OP_sum_dim] = {ND_FORM_REDUCE, 1, ND_FOLD_sum},
    [BURN_OP_mean_dim] = {ND_FORM_REDUCE, 1, ND_FOLD_sum},
    [BURN_OP_max_dim] = {ND_FORM_REDUCE, 1, ND_FOLD_max},
    [BURN_OP_min_dim] = {ND_FORM_REDUCE, 1, ND_FOLD_min},
    [BURN_OP_sum] = {ND_FORM_REDUCE_ALL, 1, ND_FOLD_sum},
    [BURN_OP_mean] = {ND_FORM_REDUCE_ALL, 1, ND_FOLD_sum},
    [BURN_OP_max] = {ND_FORM_REDUCE_ALL, 1, ND_FOLD_max},
    [BURN_OP_min] = {ND_FORM_REDUCE_ALL, 1, ND_FOLD_min},
};

NdFusedOp nd_fused_op(uint32_t op) {
  const NdFusedOp none = {ND_FORM_NONE, 0, 0};
  return op < BURN_OP_LIMIT ? ops[op] : none;
}

/* -- roles ------------------------------------------------------------------------------------ */

static bool is_half(BurnDType dtype) { return dtype == BURN_DTYPE_F16 || dtype == BURN_DTYPE_BF16; }
static bool is_float(BurnDType dtype) { return dtype == BURN_DTYPE_F32 || is_half(dtype); }

/* A cast between dtypes that the machine has, or from an integer that fits into an f32 as the kernel would put it
 * there. */
static bool can_cast(BurnDType from, BurnDType to) {
  if (to == BURN_DTYPE_F32 || to == BURN_DTYPE_BOOL) return from != BURN_DTYPE_F64;
  if (!is_half(to)) return false;
  return is_float(from) || from == BURN_DTYPE_BOOL || from == BURN_DTYPE_U8 || from == BURN_DTYPE_I8 ||
         from == BURN_DTYPE_I16;
}

bool nd_fused_dtypes_fit(const BurnFusedStep *step, NdFusedForm form, const BurnTensorDesc *inputs, BurnDType output) {
  const BurnDType first = step->input_count > 0 ? inputs[0].dtype : output;
  const BurnDType second = step->input_count > 1 ? inputs[1].dtype : first;
  switch (form) {
    case ND_FORM_NONE:
      return false;
    case ND_FORM_LOGIC:
    case ND_FORM_LOGIC_NOT:
      return first == BURN_DTYPE_BOOL;
    case ND_FORM_CAST:
      return can_cast(first, output);
    case ND_FORM_EXPAND:
      return is_float(first) || first == BURN_DTYPE_BOOL;
    case ND_FORM_WHERE:
    case ND_FORM_FILL:
      return is_float(first) && second == BURN_DTYPE_BOOL;
    case ND_FORM_UNIFORM:
      return output == BURN_DTYPE_F32;
    case ND_FORM_BERNOULLI:
    case ND_FORM_CREATE:
      return output == BURN_DTYPE_F32 || output == BURN_DTYPE_BOOL;
    default:
      return is_float(first) && second == first;
  }
}

bool nd_fused_cast_is_nothing(BurnDType from, BurnDType to) {
  return from == to || (to == BURN_DTYPE_F32 && from != BURN_DTYPE_BOOL);
}

uint32_t nd_fused_role(const BurnFusedStep *step, const BurnTensorDesc *inputs, const BurnTensorDesc *output) {
  const NdFusedForm form = (NdFusedForm)nd_fused_op(step->op).form;
  if (!nd_fused_dtypes_fit(step, form, inputs, output->dtype)) return BURN_FUSED_NO;
  if (form == ND_FORM_REDUCE || form == ND_FORM_REDUCE_ALL) return BURN_FUSED_REDUCE;
  return form == ND_FORM_EXPAND ? BURN_FUSED_EXPAND : BURN_FUSED_ELEMENTWISE;
}
