/* ndarray_widen.c - ops on narrow dtypes that have no kernel for them, by <burn/common/widen.h>: so a new kernel serves
 * all dtypes from the start. */
#include "gemm/ndarray_gemm.h"
#include "ndarray_kernels.h"

#include <burn/common/widen.h>

/* Kernels that take narrow dtypes as they are: loops of their own, products of bf16 where the processor multiplies
 * them, and what common says. */
bool nd_needs_widening(const Ndarray *nd, const BurnOpCall *call) {
  const BurnDType dtype = burn_common_working_dtype(call);
  const bool is_half = dtype == BURN_DTYPE_F16 || dtype == BURN_DTYPE_BF16;
  if (nd_is_quantized_op(call->op)) return false;
  if (burn_common_is_narrow(dtype) && nd_kernels(nd)->loops[call->op][dtype]) return false;
  if (call->op == BURN_OP_matmul || call->op == BURN_OP_linear) return dtype != BURN_DTYPE_BF16 || !nd->multiplies_bf16;
  if (is_half && nd_takes_halves(nd, call->op)) return false;
  return !(burn_common_narrow_kinds(call->op) & burn_dtype_kind(dtype));
}

/* -- casts ------------------------------------------------------------------------------------ */

BurnStatus nd_cast(Ndarray *nd, NdTensor *x, BurnDType dtype, bool donate, NdTensor **out) {
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
  if (!repeats) return nd_cast(nd, x, dtype, false, out);
  NdTensor *once = nd_view(nd, x, rank, shape, x->strides, 0), *cast = NULL;
  *out = NULL;
  if (!once) return nd_out_of_memory(nd, call);
  const BurnStatus status = nd_cast(nd, once, dtype, false, &cast);
  nd_release(nd, once);
  if (status != BURN_OK) return status;
  for (uint32_t i = 0; i < rank; i++) strides[i] = shape[i] == x->shape[i] ? cast->strides[i] : 0;
  *out = nd_view(nd, cast, rank, x->shape, strides, 0);
  nd_release(nd, cast);
  return *out ? BURN_OK : nd_out_of_memory(nd, call);
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

/* True for an input that the kernel takes as it is though the call is widened: the weight of few rows. */
static bool stays_narrow(const Ndarray *nd, const BurnOpCall *call, uint32_t input) {
  const bool is_product = call->op == BURN_OP_matmul || call->op == BURN_OP_linear;
  return is_product && input == 1 && nd_reads_halves(nd, call);
}

static BurnStatus widen_inputs(Ndarray *nd, const BurnOpCall *call, Widened *wide) {
  for (uint32_t i = 0; i < call->input_count; i++) {
    BurnPrimitive *x = call->inputs[i];
    wide->inputs[i] = x;
    if (!x || !burn_common_is_narrow(x->dtype) || stays_narrow(nd, call, i)) continue;
    NdTensor *cast = NULL;
    const BurnStatus status = widen(nd, call, nd_tensor(x), burn_common_wide_dtype(x->dtype), &cast);
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
    if (burn_common_is_narrow(dtype)) {
      result = NULL;
      if (status == BURN_OK) status = nd_cast(nd, x, dtype, true, &result);
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
    wide->descs[i].dtype = burn_common_wide_dtype(wide->descs[i].dtype);
    wide->outputs[i] = NULL;
  }
  for (uint32_t i = 0; i < call->attr_count; i++) wide->attrs[i] = burn_common_widen_attr(info, call, i);
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
