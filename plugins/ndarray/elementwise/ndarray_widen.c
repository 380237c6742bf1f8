/* ndarray_widen.c - ops on narrow dtypes that have no kernel for them: f16 and bf16 are computed in f32, i8 and i16 in
 * i32.
 *
 * The inputs of a narrow dtype are cast to the wide one, the op runs on those, and results of a narrow dtype are
 * rounded once (floats), or keep their lowest bits (integers): sums and products wrap as they would in the narrow
 * dtype. So a new kernel serves all dtypes from the start. A row here says that a kernel takes narrow dtypes as they
 * are. */
#include "support/ndarray_half.h"
#include "ndarray_kernels.h"

#include <math.h>
#include <string.h>

/* Ops whose kernels take narrow dtypes of these kinds. Those with a loop for the dtype in NdKernels need no row. What
 * adds several numbers in one place rounds halves once, in the end: select_assign and scatter are widened for them. */
typedef struct Native {
  uint32_t op, kinds;
} Native;

static const Native natives[] = {
    {BURN_OP_full, BURN_KIND_ANY},
    {BURN_OP_arange, BURN_KIND_ANY},
    {BURN_OP_random_uniform, BURN_KIND_ANY},
    {BURN_OP_random_normal, BURN_KIND_ANY},
    {BURN_OP_random_bernoulli, BURN_KIND_ANY},
    {BURN_OP_cast, BURN_KIND_ANY},
    {BURN_OP_reshape, BURN_KIND_ANY},
    {BURN_OP_permute, BURN_KIND_ANY},
    {BURN_OP_expand, BURN_KIND_ANY},
    {BURN_OP_slice, BURN_KIND_ANY},
    {BURN_OP_slice_assign, BURN_KIND_ANY},
    {BURN_OP_cat, BURN_KIND_ANY},
    {BURN_OP_repeat_dim, BURN_KIND_ANY},
    {BURN_OP_select, BURN_KIND_ANY},
    {BURN_OP_gather, BURN_KIND_ANY},
    {BURN_OP_embedding, BURN_KIND_ANY},
    {BURN_OP_triu, BURN_KIND_ANY},
    {BURN_OP_tril, BURN_KIND_ANY},
    {BURN_OP_mask_where, BURN_KIND_ANY},
    {BURN_OP_mask_fill, BURN_KIND_ANY},
    {BURN_OP_sum, BURN_KIND_NUMERIC},
    {BURN_OP_sum_dim, BURN_KIND_NUMERIC},
    {BURN_OP_mean, BURN_KIND_NUMERIC},
    {BURN_OP_mean_dim, BURN_KIND_NUMERIC},
    {BURN_OP_select_assign, BURN_KIND_INT},
    {BURN_OP_scatter, BURN_KIND_INT},
    {BURN_OP_unfold, BURN_KIND_ANY},
    {BURN_OP_argsort, BURN_KIND_NUMERIC},
    {BURN_OP_sort_range, BURN_KIND_NUMERIC},
};

static BurnDType wide_dtype(BurnDType dtype) {
  switch (dtype) {
    case BURN_DTYPE_F16:
    case BURN_DTYPE_BF16:
      return BURN_DTYPE_F32;
    case BURN_DTYPE_I8:
    case BURN_DTYPE_I16:
      return BURN_DTYPE_I32;
    default:
      return dtype;
  }
}

static bool is_narrow(BurnDType dtype) { return (ND_NARROW >> (dtype % BURN_DTYPE_LIMIT) & 1) != 0; }

/* The dtype that an op works in: that of its first input, or of its result if it has none. */
static BurnDType working_dtype(const BurnOpCall *call) {
  return call->input_count > 0 && call->inputs[0] ? call->inputs[0]->dtype : call->output_descs[0].dtype;
}

bool nd_needs_widening(const Ndarray *nd, const BurnOpCall *call) {
  const BurnDType dtype = working_dtype(call);
  const bool is_half = dtype == BURN_DTYPE_F16 || dtype == BURN_DTYPE_BF16;
  if (is_narrow(dtype) && nd_kernels(nd)->loops[call->op][dtype]) return false;
  if (call->op == BURN_OP_matmul || call->op == BURN_OP_linear) return dtype != BURN_DTYPE_BF16 || !nd->has_amx;
  if (is_half && nd_takes_halves(nd, call->op)) return false;
  for (size_t i = 0; i < sizeof natives / sizeof *natives; i++) {
    if (natives[i].op == call->op) return !(natives[i].kinds & burn_dtype_kind(dtype));
  }
  return true;
}

/* -- casts ------------------------------------------------------------------------------------ */

static BurnStatus run_cast(Ndarray *nd, NdTensor *x, BurnDType dtype, bool donate, NdTensor **out) {
  BurnPrimitive *input = &x->header, *output = NULL;
  const BurnAttr attr = burn_attr_dtype(dtype);
  BurnTensorDesc desc = burn_primitive_desc(input);
  desc.dtype = dtype;
  const BurnOpCall call = {.struct_size = (uint32_t)sizeof call,
                           .op = BURN_OP_cast,
                           .attr_count = 1,
                           .input_count = 1,
                           .output_count = 1,
                           .inputs = &input,
                           .outputs = &output,
                           .attrs = &attr,
                           .output_descs = &desc,
                           .donate = donate ? 1 : 0};
  const BurnStatus status = nd->kernels[BURN_OP_cast](nd, &call);
  *out = status == BURN_OK ? nd_tensor(output) : NULL;
  return status;
}

/* x in another dtype; elements that an expanded tensor repeats are cast once. */
static BurnStatus widen(Ndarray *nd, const BurnOpCall *call, NdTensor *x, BurnDType dtype, NdTensor **out) {
  int64_t shape[BURN_MAX_RANK] = {0}, strides[BURN_MAX_RANK] = {0};
  const uint32_t rank = x->header.rank;
  bool repeats = false;
  for (uint32_t i = 0; i < rank; i++) {
    const bool repeated = x->strides[i] == 0 && x->shape[i] > 1;
    shape[i] = repeated ? 1 : x->shape[i];
    repeats = repeats || repeated;
  }
  if (!repeats) return run_cast(nd, x, dtype, false, out);
  NdTensor *once = nd_view(nd, x, rank, shape, x->strides, 0), *cast = NULL;
  *out = NULL;
  if (!once) return nd_out_of_memory(nd, call);
  const BurnStatus status = run_cast(nd, once, dtype, false, &cast);
  nd_release(nd, once);
  if (status != BURN_OK) return status;
  for (uint32_t i = 0; i < rank; i++) strides[i] = shape[i] == x->shape[i] ? cast->strides[i] : 0;
  *out = nd_view(nd, cast, rank, x->shape, strides, 0);
  nd_release(nd, cast);
  return *out ? BURN_OK : nd_out_of_memory(nd, call);
}

/* -- attributes ------------------------------------------------------------------------------- */

static double to_half(BurnDType dtype, double value) {
  return dtype == BURN_DTYPE_F16 ? (double)nd_f16_to_f32(nd_f16_from_f64(value))
                                 : (double)nd_bf16_to_f32(nd_bf16_from_f64(value));
}

static BurnAttr saturated(BurnDType dtype, BurnAttr number) {
  const int64_t highest = dtype == BURN_DTYPE_I8 ? INT8_MAX : INT16_MAX, lowest = -highest - 1;
  const int64_t integer = burn_attr_to_i64(&number);
  return burn_attr_i64(integer > highest ? highest : integer < lowest ? lowest : integer);
}

/* Sums and products wrap, whatever the number; an integer compares with the number as it is; a NaN is no bound. */
static bool fits_first(const BurnOpCall *call, BurnAttr number) {
  if (call->op == BURN_OP_add_scalar || call->op == BURN_OP_mul_scalar) return false;
  return call->output_descs[0].dtype != BURN_DTYPE_BOOL &&
         (number.tag == BURN_ATTR_I64 || number.value.f64 == number.value.f64);
}

/* A scalar stands for a tensor of the narrow dtype, so it is converted to that first. Composite ops compute as a whole
 * in the wide dtype. */
static BurnAttr widen_attr(const BurnOpInfo *info, const BurnOpCall *call, BurnDType dtype, uint32_t i) {
  BurnAttr attr = call->attrs[i];
  if (attr.tag == BURN_ATTR_DTYPE && call->input_count == 0) attr.value.i64 = wide_dtype((BurnDType)attr.value.i64);
  if (!info || info->is_composite || !(info->traits & BURN_TRAIT_ELEMENTWISE) || !is_narrow(dtype)) return attr;
  if (info->attr_tags[i] != BURN_ATTR_NUMBER && info->attr_tags[i] != BURN_ATTR_F64) return attr;
  if (burn_dtype_kind(dtype) == BURN_KIND_FLOAT) return burn_attr_f64(to_half(dtype, burn_attr_to_f64(&attr)));
  return fits_first(call, attr) ? saturated(dtype, attr) : attr;
}

/* -- the call --------------------------------------------------------------------------------- */

enum { MAX_ATTRS = 32 };

/* A call with the wide dtypes. */
typedef struct Widened {
  BurnOpCall call;
  BurnPrimitive *inline_inputs[8];
  BurnPrimitive **inputs; /* few, or allocated: list ops take any number */
  BurnPrimitive *outputs[BURN_MAX_OUTPUTS];
  BurnTensorDesc descs[BURN_MAX_OUTPUTS];
  BurnAttr attrs[MAX_ATTRS];
} Widened;

static BurnStatus widen_inputs(Ndarray *nd, const BurnOpCall *call, Widened *wide) {
  for (uint32_t i = 0; i < call->input_count; i++) {
    BurnPrimitive *x = call->inputs[i];
    wide->inputs[i] = x;
    if (!x || !is_narrow(x->dtype)) continue;
    NdTensor *cast = NULL;
    const BurnStatus status = widen(nd, call, nd_tensor(x), wide_dtype(x->dtype), &cast);
    if (status != BURN_OK) {
      wide->call.input_count = i; /* these have to be released */
      return status;
    }
    wide->inputs[i] = &cast->header;
    if (i < 64) wide->call.donate |= UINT64_C(1) << i;
  }
  return BURN_OK;
}

/* The results in the dtypes of the call; after a failure there are none. */
static BurnStatus narrow_outputs(Ndarray *nd, const BurnOpCall *call, Widened *wide) {
  BurnStatus status = BURN_OK;
  for (uint32_t i = 0; i < call->output_count; i++) {
    const BurnDType dtype = call->output_descs[i].dtype;
    NdTensor *x = nd_tensor(wide->outputs[i]), *result = x;
    if (is_narrow(dtype)) {
      result = NULL;
      if (status == BURN_OK) status = run_cast(nd, x, dtype, true, &result);
      nd_release(nd, x);
    }
    call->outputs[i] = result ? &result->header : NULL;
  }
  for (uint32_t i = 0; i < call->output_count && status != BURN_OK; i++) {
    if (call->outputs[i]) nd_release(nd, nd_tensor(call->outputs[i]));
    call->outputs[i] = NULL;
  }
  return status;
}

static BurnStatus run_widened(Ndarray *nd, NdKernel kernel, const BurnOpCall *call, Widened *wide) {
  const BurnOpInfo *info = nd->host->op_info(call->op);
  wide->call = *call;
  wide->call.inputs = wide->inputs;
  wide->call.outputs = wide->outputs;
  wide->call.output_descs = wide->descs;
  wide->call.attrs = wide->attrs;
  for (uint32_t i = 0; i < call->output_count; i++) {
    wide->descs[i] = call->output_descs[i];
    wide->descs[i].dtype = wide_dtype(wide->descs[i].dtype);
    wide->outputs[i] = NULL;
  }
  for (uint32_t i = 0; i < call->attr_count; i++) wide->attrs[i] = widen_attr(info, call, working_dtype(call), i);
  BurnStatus status = widen_inputs(nd, call, wide);
  if (status == BURN_OK) status = kernel(nd, &wide->call);
  for (uint32_t i = 0; i < wide->call.input_count; i++) {
    if (wide->inputs[i] != call->inputs[i]) nd_release(nd, nd_tensor(wide->inputs[i]));
  }
  return status == BURN_OK ? narrow_outputs(nd, call, wide) : status;
}

BurnStatus nd_run_widened(Ndarray *nd, NdKernel kernel, const BurnOpCall *call) {
  Widened wide;
  const uint64_t bytes = (uint64_t)call->input_count * sizeof *wide.inputs;
  const bool is_inline = call->input_count <= sizeof wide.inline_inputs / sizeof *wide.inline_inputs;
  if (call->attr_count > MAX_ATTRS || call->output_count > BURN_MAX_OUTPUTS) {
    return nd_fail(nd, BURN_STATUS_INTERNAL,
                   "ndarray: op %u has %u attributes and %u results, at most %d and %d are possible", call->op,
                   call->attr_count, call->output_count, (int)MAX_ATTRS, (int)BURN_MAX_OUTPUTS);
  }
  wide.inputs = is_inline ? wide.inline_inputs : (BurnPrimitive **)nd->host->allocate(bytes);
  if (!wide.inputs) return nd_out_of_memory(nd, call);
  const BurnStatus status = run_widened(nd, kernel, call, &wide);
  if (!is_inline) nd->host->free(wide.inputs, bytes);
  return status;
}
