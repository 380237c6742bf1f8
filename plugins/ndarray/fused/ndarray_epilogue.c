/* ndarray_epilogue.c - the interface "burn.epilogue", where the option epilogues=true asks for it: matmul and linear of
 * f32 whose results get element-wise steps part by part, while they are in a cache.
 *
 * What follows the product is a body of its own, with the product's result as its last input, so that all values keep
 * their numbers. A run makes the outputs, hands the product a function (NdAfter), and that runs the body's program over
 * each part of the result that is complete. A result that nobody wants but the body is overwritten by it. */
#include "ndarray_fused_run.h"

#include <stdio.h>
#include <string.h>

/* Matrices of a batch that are smaller are done faster by a call over all of them. */
enum { SMALLEST_PART = 256 };

static NdProductInto product_of(const Ndarray *nd, uint32_t op) {
  if (op != BURN_OP_matmul && op != BURN_OP_linear) return NULL;
  if (!nd->kernels[op]) return NULL; /* option primitives=true */
  return op == BURN_OP_matmul ? nd_matmul_into : nd_linear_into;
}

static uint32_t BURN_API_CALL epilogue_takes(void *self, const BurnFusedStep *product, const BurnTensorDesc *inputs,
                                             const BurnTensorDesc *output) {
  bool is_f32 = output->dtype == BURN_DTYPE_F32;
  for (uint32_t i = 0; i < product->input_count; i++)
    if (product->inputs[i] != BURN_FUSED_ABSENT) is_f32 = is_f32 && inputs[i].dtype == BURN_DTYPE_F32;
  return is_f32 && product_of(self, product->op);
}

/* -- compiling -------------------------------------------------------------------------------- */

/* The steps after the product as a body: its result is the last input, and no output. */
static BurnFusedBody rest_of(const BurnFusedBody *body, uint32_t *outputs, uint32_t *result_output) {
  BurnFusedBody rest = *body;
  rest.input_count = body->input_count + 1u;
  rest.step_count = body->step_count - 1u;
  rest.steps = body->steps + 1;
  rest.outputs = outputs;
  rest.output_count = 0;
  *result_output = ND_FUSED_OUTPUTS;
  for (uint32_t o = 0; o < body->output_count && o < ND_FUSED_OUTPUTS; o++) {
    if (body->outputs[o] == body->input_count)
      *result_output = o;
    else
      outputs[rest.output_count++] = body->outputs[o];
  }
  return rest;
}

/* What callers see of the whole body. */
static void describe_whole(BurnFusedKernel *kernel, const BurnFusedBody *body) {
  const BurnFusedStep *product = &body->steps[0];
  kernel->input_count = body->input_count;
  kernel->output_count = body->output_count;
  kernel->step_count = body->step_count;
  for (uint32_t i = 0; i < body->step_count; i++) {
    kernel->steps[i].op = body->steps[i].op;
    kernel->steps[i].attr_count = body->steps[i].attr_count;
  }
  for (uint32_t o = 0; o < body->output_count; o++) kernel->outputs[o] = body->values[body->outputs[o]];
  kernel->result = body->values[body->input_count];
  kernel->product_input_count = (uint8_t)product->input_count;
  for (uint32_t i = 0; i < product->input_count; i++)
    kernel->product_inputs[i] =
        (uint8_t)(product->inputs[i] == BURN_FUSED_ABSENT ? ND_FUSED_INPUTS : product->inputs[i]);
}

static const char *refusal_of(const BurnFusedBody *body) {
  const BurnTensorDesc *result = &body->values[body->input_count];
  const uint32_t rank = result->rank;
  if (body->step_count > ND_FUSED_STEPS || body->output_count > ND_FUSED_OUTPUTS) return "too many steps or outputs";
  if (body->input_count >= ND_FUSED_INPUTS) return "too many inputs";
  if (body->steps[0].op == BURN_OP_linear || rank == 2) return NULL;
  const bool is_small = result->shape[rank - 1] * result->shape[rank - 2] < SMALLEST_PART;
  return is_small ? "the matrices of the batch are too small" : NULL;
}

static BurnStatus BURN_API_CALL epilogue_compile(void *self, const BurnFusedBody *body, BurnFusedKernel **out,
                                                 char *why, uint64_t why_bytes) {
  Ndarray *nd = self;
  uint32_t outputs[ND_FUSED_OUTPUTS], result_output;
  BurnFusedKernel *after = NULL;
  const char *refusal = refusal_of(body);
  *out = NULL;
  if (refusal && why_bytes > 0) (void)snprintf(why, why_bytes, "%s", refusal);
  if (refusal) return BURN_OK;
  const BurnFusedBody rest = rest_of(body, outputs, &result_output);
  const BurnStatus status = nd_fused_compile_after(nd, &rest, &after, why, why_bytes);
  if (status != BURN_OK || !after) return status;
  if (!nd_fused_takes_short_rows(after)) {
    nd->host->free(after, after->bytes);
    if (why_bytes > 0) (void)snprintf(why, why_bytes, "too many operands for parts of a product");
    return BURN_OK;
  }
  BurnFusedKernel *kernel = nd->host->allocate(sizeof *kernel);
  if (!kernel) {
    nd->host->free(after, after->bytes);
    return nd_fail(nd, BURN_STATUS_OUT_OF_MEMORY, "compile: no memory for a product and what follows it");
  }
  memset(kernel, 0, sizeof *kernel);
  kernel->bytes = sizeof *kernel;
  kernel->after = after;
  kernel->product = product_of(nd, body->steps[0].op);
  kernel->result_output = result_output;
  describe_whole(kernel, body);
  *out = kernel;
  return BURN_OK;
}

/* -- running ---------------------------------------------------------------------------------- */

typedef struct Whole {
  NdFusedElements elements;
  const char *result;
} Whole;

static void run_part(void *context, void *part, int64_t rows, int64_t columns, int64_t row) {
  const Whole *whole = context;
  const int64_t first = ((const char *)part - whole->result) / (int64_t)sizeof(float);
  nd_fused_run_part(&whole->elements, first, rows, columns, row);
}

static bool run_product(Ndarray *nd, const BurnFusedCall *call, NdTensor *result, const NdAfter *after) {
  const BurnFusedKernel *kernel = call->kernel;
  BurnPrimitive *inputs[BURN_MAX_FIXED_INPUTS], *output = &result->header;
  for (uint32_t i = 0; i < kernel->product_input_count; i++)
    inputs[i] = kernel->product_inputs[i] < ND_FUSED_INPUTS ? call->inputs[kernel->product_inputs[i]] : NULL;
  const BurnOpCall product = {.struct_size = (uint32_t)sizeof product,
                              .op = kernel->steps[0].op,
                              .attr_count = kernel->steps[0].attr_count,
                              .input_count = kernel->product_input_count,
                              .output_count = 1,
                              .inputs = inputs,
                              .outputs = &output,
                              .attrs = call->attrs[0],
                              .output_descs = &kernel->result};
  return kernel->product(nd, &product, result, after);
}

/* Runs both with the result in a tensor that is there; `inner` is the call of what follows. */
static BurnStatus run_both(Ndarray *nd, const BurnFusedCall *call, const BurnFusedCall *inner, NdTensor *result) {
  NdFusedRun run;
  Whole whole;
  const BurnStatus status = nd_fused_open_run(&run, nd, inner);
  if (status != BURN_OK || run.count == 0) return status;
  nd_fused_plan_elements(&run, &whole.elements);
  whole.result = nd_data(result);
  const NdAfter after = {run_part, &whole};
  return nd_fused_close_run(&run, inner, run_product(nd, call, result, &after));
}

/* Inputs are never written over: other parts of the product may still read them. */
BurnStatus nd_epilogue_run(Ndarray *nd, const BurnFusedCall *call) {
  const BurnFusedKernel *kernel = call->kernel;
  const bool is_output = kernel->result_output < ND_FUSED_OUTPUTS;
  BurnPrimitive *inputs[ND_FUSED_INPUTS], *outputs[ND_FUSED_OUTPUTS];
  NdTensor *result = nd_new(nd, &kernel->result);
  if (!result) return nd_fail(nd, BURN_STATUS_OUT_OF_MEMORY, "fused: no memory for the result of a product");
  memcpy(inputs, call->inputs, kernel->input_count * sizeof *inputs);
  inputs[kernel->input_count] = &result->header;
  const BurnFusedCall inner = {.struct_size = (uint32_t)sizeof inner,
                               .kernel = kernel->after,
                               .inputs = inputs,
                               .attrs = call->attrs + 1,
                               .outputs = outputs,
                               .donate = is_output ? 0 : UINT64_C(1) << kernel->input_count};
  const BurnStatus status = run_both(nd, call, &inner, result);
  for (uint32_t o = 0, next = 0; o < kernel->output_count && status == BURN_OK; o++)
    call->outputs[o] = o == kernel->result_output ? &result->header : outputs[next++];
  if (status != BURN_OK || !is_output) nd_release(nd, result);
  return status;
}

const BurnEpilogueInterface nd_epilogue_interface = {.struct_size = (uint32_t)sizeof(BurnEpilogueInterface),
                                                     .version = 1,
                                                     .takes = epilogue_takes,
                                                     .compile = epilogue_compile};
