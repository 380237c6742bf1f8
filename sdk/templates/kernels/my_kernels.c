/* my_kernels.c - a kernel pack: the op my_kernels.scaled_add, with everything an op can have.
 *
 *   scaled_add(x, y; factor = 1) = x + factor * y, equal shapes, float
 *
 * - a shape rule, which also tells users what they did wrong
 * - a decomposition into Burn's own ops, so that it runs on every backend and in every float dtype
 * - a kernel for f32 in host memory, which is why one writes a pack
 * - a backward rule, so that it works under autodiff in one step
 *
 * Programs call it with burn_op("my_kernels.scaled_add", ...), which loads this plugin. */
#include <burn/common/descriptor.h>
#include <burn/common/failure.h>
#include <burn/plugin/kernels.h>

#include <string.h>

/* -- shape and dtype -------------------------------------------------------------------------- */

static BurnStatus BURN_API_CALL infer_scaled_add(const BurnHost *host, const BurnOpCall *call, BurnTensorDesc *out) {
  const BurnTensorDesc x = burn_primitive_desc(call->inputs[0]), y = burn_primitive_desc(call->inputs[1]);
  if (x.dtype != y.dtype) {
    return BURN_COMMON_FAIL(host, INVALID_DTYPE, "my_kernels.scaled_add", "x is %s and y is %s; cast one of them",
                            burn_dtype_name(x.dtype), burn_dtype_name(y.dtype));
  }
  for (uint32_t i = 0; i < x.rank || i < y.rank; i++) {
    if (x.rank == y.rank && x.shape[i] == y.shape[i]) continue;
    return BURN_COMMON_FAIL(host, INVALID_SHAPE, "my_kernels.scaled_add",
                            "the shapes of x (rank %u) and y (rank %u) differ at axis %u", x.rank, y.rank, i);
  }
  *out = x;
  return BURN_OK;
}

/* -- with Burn's own ops ---------------------------------------------------------------------- */

/* attrs stand in the order of factor_names below, with defaults filled in. */
static BurnStatus BURN_API_CALL decompose_scaled_add(const BurnHost *host, const BurnBackend *backend,
                                                     const BurnOpCall *call) {
  BurnBuilder b = burn_builder_begin_for(host, backend, call);
  BurnPrimitive *scaled = burn_build_scalar(&b, BURN_OP_mul_scalar, call->inputs[1], call->attrs[0].value.f64);
  BurnPrimitive *result = burn_build_add(&b, call->inputs[0], scaled);
  return burn_builder_finish(&b, call, &result);
}

/* The gradient of x is that of the result, the gradient of y is factor times that. Without this rule autodiff would use
 * the decomposition. A rule that reads values names them in saved_inputs and saved_outputs of the definition. */
static BurnStatus BURN_API_CALL backward_scaled_add(const BurnHost *host, const BurnBackend *backend,
                                                    const BurnBackwardCall *call) {
  BurnBuilder b = burn_builder_begin(host, backend);
  BurnPrimitive *grad = call->output_grads[0];
  BurnPrimitive *scaled = NULL;
  if (call->needed & 2u) scaled = burn_build_scalar(&b, BURN_OP_mul_scalar, grad, call->attrs[0].value.f64);
  /* Given out last, when nothing can fail any more: a rule gives all or nothing. */
  if (call->needed & 1u) call->input_grads[0] = burn_build_give(&b, grad);
  call->input_grads[1] = burn_build_give(&b, scaled);
  return burn_builder_end(&b);
}

/* -- the kernel ------------------------------------------------------------------------------- */

/* Says no to what it cannot run; the decomposition does that. */
static int32_t BURN_API_CALL accept_f32(const BurnOpCall *call, char *why, uint64_t why_bytes) {
  if (call->inputs[0]->dtype == BURN_DTYPE_F32) return 1;
  if (why_bytes > 0) snprintf(why, (size_t)why_bytes, "the kernel is for f32");
  return 0;
}

/* Where element i, counted in row-major order, lies in a view. Views may be transposed, stretched (stride 0) or
 * reversed. */
static int64_t place(const BurnTensorView *x, int64_t i) {
  int64_t at = 0;
  for (uint32_t axis = x->rank; axis-- > 0;) {
    at += i % x->shape[axis] * x->strides[axis];
    i /= x->shape[axis];
  }
  return at;
}

/* Elements begin .. end-1, on some thread of the pool. Outputs are row-major, so element i is number i. */
static void BURN_API_CALL run_part(void *context, int64_t begin, int64_t end) {
  const BurnKernelCall *call = (const BurnKernelCall *)context;
  const BurnTensorView *x = &call->inputs[0], *y = &call->inputs[1];
  const float *xs = (const float *)x->data, *ys = (const float *)y->data;
  float *out = (float *)call->outputs[0].data;
  const float factor = (float)call->attrs[0].value.f64;
  for (int64_t i = begin; i < end; i++) out[i] = xs[place(x, i)] + factor * ys[place(y, i)];
}

static BurnStatus BURN_API_CALL run_scaled_add(const BurnKernelCall *call) {
  int64_t count = 1;
  for (uint32_t axis = 0; axis < call->outputs[0].rank; axis++) count *= call->outputs[0].shape[axis];
  call->host->parallel_for(count, 16384, run_part, (void *)(uintptr_t)call);
  return BURN_OK;
}

/* -- the tables ------------------------------------------------------------------------------- */

static const char *const input_names[] = {"x", "y"};
static const char *const factor_names[] = {"factor"};
static const uint32_t factor_tags[] = {BURN_ATTR_F64};
static const BurnAttr factor_defaults[] = {{.tag = BURN_ATTR_F64, .value = {.f64 = 1.0}}}; /* tag NONE: required */

static const BurnOpInfo scaled_add_info = {
    .struct_size = sizeof(BurnOpInfo),
    .name = "my_kernels.scaled_add",
    .input_count = 2,
    .input_required = 2,
    .output_count = 1,
    .attr_count = 1,
    .kinds = BURN_KIND_FLOAT,
    .traits = BURN_TRAIT_ELEMENTWISE,
    .input_names = input_names,
    .attr_names = factor_names,
    .attr_defaults = factor_defaults,
    .attr_tags = factor_tags,
    .doc = "x + factor * y, equal shapes",
};

static const BurnOpDefinition scaled_add = {
    .struct_size = sizeof(BurnOpDefinition),
    .info = &scaled_add_info,
    .infer = infer_scaled_add,
    .decompose = decompose_scaled_add,
    .backward = backward_scaled_add,
};

static const BurnKernel scaled_add_f32 = {
    .struct_size = sizeof(BurnKernel),
    .op = "my_kernels.scaled_add",
    .accept = accept_f32,
    .run = run_scaled_add,
};

static const BurnOpDefinition *const ops[] = {&scaled_add};
static const BurnKernel *const kernels[] = {&scaled_add_f32};

static const BurnKernelsInterface pack = {
    .struct_size = sizeof(BurnKernelsInterface),
    .version = 1,
    .op_count = sizeof ops / sizeof ops[0],
    .kernel_count = sizeof kernels / sizeof kernels[0],
    .ops = ops,
    .kernels = kernels,
};

/* The name must be that of the file, burn_my_kernels.so. */
BURN_COMMON_PLUGIN(KERNELS, "my_kernels", "0.1.0", "MIT OR Apache-2.0", "the op scaled_add: x + factor * y in one pass",
                   {"burn.kernels", &pack})
