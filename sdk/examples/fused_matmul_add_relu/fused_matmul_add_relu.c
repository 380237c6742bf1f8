/* fused_matmul_add_relu.c - the custom kernel of the Burn Book as a kernel pack
 * of its own: relu(lhs x rhs + bias) in one op.
 *
 *   fused_matmul_add_relu.forward(lhs [.., m, k], rhs [.., k, n], bias)
 *     -> [.., m, n]
 *
 * All three have the same rank, 2 or more. Leading axes broadcast between lhs
 * and rhs, and every axis of bias to the result. A kernel runs f32 in host
 * memory, another (fused_matmul_add_relu_cuda.c) on CUDA devices; other dtypes
 * and backends use the decomposition; the gradient is written by hand. */
#include <burn/plugin/kernels.h>

#include <stdio.h>
#include <string.h>

#define OP "fused_matmul_add_relu.forward"

/* -- shape and dtype ------------------------------------------------------ */

static BurnStatus fail(const BurnHost *host, uint32_t code, const char *format,
                       long long first, long long second) {
  char message[256];
  snprintf(message, sizeof message, format, first, second);
  return host->fail(code, __FILE__, __LINE__, message);
}

/* Sizes of an axis that must broadcast; -1 if they do not. */
static int64_t broadcast(int64_t a, int64_t b) {
  return a == b || b == 1 ? a : a == 1 ? b : -1;
}

/* The size of one axis of the result; that of bias must be equal or 1. */
static BurnStatus infer_axis(const BurnHost *host, const BurnOpCall *call,
                             uint32_t axis, BurnTensorDesc *out) {
  const BurnPrimitive *lhs = call->inputs[0], *rhs = call->inputs[1];
  const int64_t bias = call->inputs[2]->shape[axis];
  if (axis < out->rank - 2) {
    out->shape[axis] = broadcast(lhs->shape[axis], rhs->shape[axis]);
  }
  if (out->shape[axis] < 0) {
    return fail(host, BURN_STATUS_INVALID_SHAPE,
                OP ": leading axes of sizes %lld and %lld do not broadcast",
                lhs->shape[axis], rhs->shape[axis]);
  }
  if (bias == out->shape[axis] || bias == 1) return BURN_OK;
  return fail(host, BURN_STATUS_INVALID_SHAPE,
              OP
              ": an axis of bias has size %lld, the result %lld; "
              "it must be that or 1",
              bias, out->shape[axis]);
}

static BurnStatus BURN_API_CALL infer(const BurnHost *host,
                                      const BurnOpCall *call,
                                      BurnTensorDesc *out) {
  const BurnPrimitive *lhs = call->inputs[0], *rhs = call->inputs[1];
  const BurnPrimitive *bias = call->inputs[2];
  const uint32_t rank = lhs->rank;
  if (lhs->dtype != rhs->dtype || lhs->dtype != bias->dtype) {
    return fail(host, BURN_STATUS_INVALID_DTYPE,
                OP ": lhs, rhs and bias must have one dtype; cast them", 0, 0);
  }
  if (rank < 2 || rhs->rank != rank || bias->rank != rank) {
    return fail(host, BURN_STATUS_INVALID_SHAPE,
                OP
                ": lhs, rhs and bias must have one rank of at least 2; "
                "lhs has %lld, rhs %lld",
                rank, rhs->rank);
  }
  const int64_t inner = lhs->shape[rank - 1];
  if (inner != rhs->shape[rank - 2]) {
    return fail(host, BURN_STATUS_INVALID_SHAPE,
                OP ": lhs has %lld columns, rhs %lld rows; they must be equal",
                inner, rhs->shape[rank - 2]);
  }
  *out = burn_primitive_desc(lhs);
  out->shape[rank - 1] = rhs->shape[rank - 1];
  BurnStatus status = BURN_OK;
  for (uint32_t axis = 0; status == BURN_OK && axis < rank; axis++) {
    status = infer_axis(host, call, axis, out);
  }
  return status;
}

/* -- with Burn's own ops -------------------------------------------------- */

static BurnStatus BURN_API_CALL decompose(const BurnHost *host,
                                          const BurnBackend *backend,
                                          const BurnOpCall *call) {
  BurnBuilder b = burn_builder_begin_for(host, backend, call);
  BurnPrimitive *product =
      burn_build_op2(&b, BURN_OP_matmul, call->inputs[0], call->inputs[1]);
  BurnPrimitive *sum = burn_build_add(&b, product, call->inputs[2]);
  BurnPrimitive *result = burn_build_op1(&b, BURN_OP_relu, sum);
  return burn_builder_finish(&b, call, &result);
}

/* x summed over the axes along which an input of shape `like` was stretched. */
static BurnPrimitive *reduce_to(BurnBuilder *b, BurnPrimitive *x,
                                const BurnTensorDesc *like) {
  for (uint32_t axis = 0; x && axis < like->rank; axis++) {
    if (like->shape[axis] == 1 && x->shape[axis] != 1) {
      x = burn_build_dim(b, BURN_OP_sum_dim, x, axis);
    }
  }
  return x;
}

/* With g the gradient where the result is above 0, else 0:
 * d lhs = g x rhs^T, d rhs = lhs^T x g, d bias = g, each summed over what was
 * broadcast. */
static BurnStatus BURN_API_CALL backward(const BurnHost *host,
                                         const BurnBackend *backend,
                                         const BurnBackwardCall *call) {
  BurnBuilder b = burn_builder_begin(host, backend);
  BurnPrimitive *lhs = call->inputs[0], *rhs = call->inputs[1];
  BurnPrimitive *g = burn_build_op2(&b, BURN_OP_relu_backward,
                                    call->output_grads[0], call->outputs[0]);
  BurnPrimitive *grads[3] = {NULL, NULL, NULL};
  if (call->needed & 1u) {
    BurnPrimitive *transposed = burn_build_transpose(&b, rhs);
    grads[0] = burn_build_op2(&b, BURN_OP_matmul, g, transposed);
  }
  if (call->needed & 2u) {
    BurnPrimitive *transposed = burn_build_transpose(&b, lhs);
    grads[1] = burn_build_op2(&b, BURN_OP_matmul, transposed, g);
  }
  if (call->needed & 4u) grads[2] = g;
  for (uint32_t i = 0; i < 3; i++) {
    grads[i] = reduce_to(&b, grads[i], &call->input_descs[i]);
  }
  /* Given out last, when nothing can fail any more. */
  for (uint32_t i = 0; i < 3; i++) {
    call->input_grads[i] = burn_build_give(&b, grads[i]);
  }
  return burn_builder_end(&b);
}

/* -- the kernel ----------------------------------------------------------- */

static int32_t BURN_API_CALL accept(const BurnOpCall *call, char *why,
                                    uint64_t why_bytes) {
  if (call->inputs[0]->dtype == BURN_DTYPE_F32) return 1;
  if (why_bytes > 0) snprintf(why, (size_t)why_bytes, "the kernel is for f32");
  return 0;
}

/* The first element of row `row` of the result in an input: along `keep` axes
 * from the front (and the row's own), where an axis of size 1 is stretched. */
static const float *row_of(const BurnTensorView *x, const BurnTensorView *out,
                           int64_t row, int has_row) {
  int64_t at = 0;
  for (uint32_t axis = out->rank - 1; axis-- > 0;) {
    const int64_t index = row % out->shape[axis];
    row /= out->shape[axis];
    if (x->shape[axis] == 1 || (axis == out->rank - 2 && !has_row)) continue;
    at += index * x->strides[axis];
  }
  return (const float *)x->data + at;
}

/* Rows begin .. end-1 of the result, over all leading axes. A row starts as
 * bias, gets lhs[k] times row k of rhs for every k, and is cut at 0 while it is
 * still in the cache. */
static void BURN_API_CALL run_rows(void *context, int64_t begin, int64_t end) {
  const BurnKernelCall *call = (const BurnKernelCall *)context;
  const BurnTensorView *lhs = &call->inputs[0], *rhs = &call->inputs[1];
  const BurnTensorView *bias = &call->inputs[2], *out = &call->outputs[0];
  const uint32_t last = out->rank - 1;
  const int64_t columns = out->shape[last], inner = lhs->shape[last];
  const int64_t bias_step = bias->shape[last] == 1 ? 0 : bias->strides[last];
  for (int64_t row = begin; row < end; row++) {
    const float *left = row_of(lhs, out, row, 1);
    const float *right = row_of(rhs, out, row, 0);
    const float *start = row_of(bias, out, row, 1);
    float *to = (float *)out->data + row * columns;
    for (int64_t j = 0; j < columns; j++) to[j] = start[j * bias_step];
    for (int64_t k = 0; k < inner; k++) {
      const float factor = left[k * lhs->strides[last]];
      const float *from = right + k * rhs->strides[last - 1];
      for (int64_t j = 0; j < columns; j++) {
        to[j] += factor * from[j * rhs->strides[last]];
      }
    }
    for (int64_t j = 0; j < columns; j++) {
      to[j] = to[j] < 0 ? 0 : to[j]; /* NaN stays */
    }
  }
}

static BurnStatus BURN_API_CALL run(const BurnKernelCall *call) {
  const BurnTensorView *out = &call->outputs[0];
  int64_t rows = out->shape[out->rank - 1] > 0 ? 1 : 0;
  for (uint32_t axis = 0; axis + 1 < out->rank; axis++) {
    rows *= out->shape[axis];
  }
  if (rows > 0) {
    call->host->parallel_for(rows, 8, run_rows, (void *)(uintptr_t)call);
  }
  return BURN_OK;
}

/* -- the tables ----------------------------------------------------------- */

static const char *const input_names[] = {"lhs", "rhs", "bias"};

static const BurnOpInfo forward_info = {
    .struct_size = sizeof(BurnOpInfo),
    .name = OP,
    .input_count = 3,
    .input_required = 3,
    .output_count = 1,
    .kinds = BURN_KIND_FLOAT,
    .traits = BURN_TRAIT_COMPUTE,
    .input_names = input_names,
    .doc =
        "relu(lhs x rhs + bias); lhs [.., m, k], rhs [.., k, n], "
        "bias broadcast to the result [.., m, n]",
};

static const BurnOpDefinition forward = {
    .struct_size = sizeof(BurnOpDefinition),
    .info = &forward_info,
    .infer = infer,
    .decompose = decompose,
    .backward = backward,
    .saved_inputs = 1u | 2u, /* lhs and rhs */
    .saved_outputs = 1u,
};

static const BurnKernel forward_f32 = {
    .struct_size = sizeof(BurnKernel),
    .op = OP,
    .accept = accept,
    .run = run,
};

static const BurnOpDefinition *const ops[] = {&forward};
static const BurnKernel *const kernels[] = {&forward_f32};
extern const BurnDeviceKernel fused_matmul_add_relu_cuda;
static const BurnDeviceKernel *const device_kernels[] = {
    &fused_matmul_add_relu_cuda};
static const BurnKernelsInterface pack = {
    .struct_size = sizeof(BurnKernelsInterface),
    .version = 1,
    .op_count = 1,
    .kernel_count = 1,
    .ops = ops,
    .kernels = kernels,
    .device_kernels = device_kernels,
    .device_kernel_count = 1,
};

static const void *BURN_API_CALL plugin_interface(const char *name,
                                                  uint32_t min_version) {
  if (strcmp(name, "burn.kernels") != 0) return NULL;
  return min_version <= pack.version ? &pack : NULL;
}

static const BurnPlugin plugin = {
    .struct_size = sizeof(BurnPlugin),
    .abi_major = BURN_ABI_MAJOR,
    .abi_minor = BURN_ABI_MINOR,
    .min_host_minor = BURN_TARGET_MINOR,
    .kind = BURN_PLUGIN_KERNELS,
    .name = "fused_matmul_add_relu",
    .version = "1.0.0",
    .license = "MIT OR Apache-2.0",
    .description =
        "the custom kernel of the Burn Book: "
        "relu(lhs x rhs + bias) in one op",
    .get_interface = plugin_interface,
};

BURN_PLUGIN_ENTRY(plugin)
