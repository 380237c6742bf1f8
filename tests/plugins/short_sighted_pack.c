/* short_sighted_pack.c - a kernel pack whose ops are right for plain calls and do not look at something else: an
 * attribute in the kernel or in the backward rule, an input that is left out, how inputs lie in memory, every call; one
 * is right, one takes bytes alone. What `burn conform` must find, for conform_test. */
#include <burn/common/descriptor.h>
#include <burn/common/failure.h>
#include <burn/plugin/kernels.h>

/* -- what they share: factor * x * weight, where the weight may be left out ------------------- */

static double factor_of(const BurnAttr *attrs, uint32_t count) {
  double product = 1;
  for (uint32_t i = 0; i < count; i++) product *= burn_attr_to_f64(&attrs[i]);
  return product;
}

static BurnStatus BURN_API_CALL infer(const BurnHost *host, const BurnOpCall *call, BurnTensorDesc *out) {
  *out = burn_primitive_desc(call->inputs[0]);
  if (call->input_count < 2 || !call->inputs[1]) return BURN_OK;
  const BurnTensorDesc weight = burn_primitive_desc(call->inputs[1]);
  return memcmp(out, &weight, sizeof weight) == 0
             ? BURN_OK
             : BURN_COMMON_FAIL(host, INVALID_SHAPE, "short_sighted", "x and weight differ");
}

static BurnStatus BURN_API_CALL decompose(const BurnHost *host, const BurnBackend *backend, const BurnOpCall *call) {
  BurnBuilder b = burn_builder_begin_for(host, backend, call);
  const double factor = factor_of(call->attrs, call->attr_count);
  BurnPrimitive *result = burn_build_scalar(&b, BURN_OP_mul_scalar, call->inputs[0], factor);
  if (call->input_count > 1 && call->inputs[1]) result = burn_build_mul(&b, result, call->inputs[1]);
  return burn_builder_finish(&b, call, &result);
}

static int64_t place(const BurnTensorView *x, int64_t i) {
  int64_t at = 0;
  for (uint32_t axis = x->rank; axis-- > 0; i /= x->shape[axis]) at += i % x->shape[axis] * x->strides[axis];
  return at;
}

static void run(const BurnKernelCall *call, double factor, const BurnTensorView *weight) {
  const BurnTensorView *x = &call->inputs[0], *out = &call->outputs[0];
  int64_t count = 1;
  for (uint32_t axis = 0; axis < out->rank; axis++) count *= out->shape[axis];
  for (int64_t i = 0; i < count; i++) {
    const float scale = weight ? ((const float *)weight->data)[place(weight, i)] : 1.0f;
    ((float *)out->data)[i] = (float)factor * ((const float *)x->data)[place(x, i)] * scale;
  }
}

static int32_t BURN_API_CALL accepts_f32(const BurnOpCall *call, char *why, uint64_t why_bytes) {
  if (call->inputs[0]->dtype == BURN_DTYPE_F32) return 1;
  if (why_bytes > 5) memcpy(why, "f32!", 5);
  return 0;
}

static const char *const input_names[] = {"x", "weight"};
static const char *const attr_names[] = {"factor", "n"};
static const uint32_t attr_tags[] = {BURN_ATTR_F64, BURN_ATTR_I64};
static const BurnAttr attr_defaults[] = {{.tag = BURN_ATTR_F64, .value = {.f64 = 1.0}}, {.tag = BURN_ATTR_NONE}};

#define INFO(label, inputs, attrs, kind)                                                                             \
  {                                                                                                                  \
    .struct_size = sizeof(BurnOpInfo), .name = "short_sighted." label, .input_count = (inputs), .input_required = 1, \
    .output_count = 1, .attr_count = (attrs), .kinds = (kind), .input_names = input_names, .attr_names = attr_names, \
    .attr_defaults = attr_defaults, .attr_tags = attr_tags, .doc = "factor * x * weight"                             \
  }
#define KERNEL(label, function) \
  { .struct_size = sizeof(BurnKernel), .op = "short_sighted." label, .accept = accepts_f32, .run = (function) }

/* -- scale: the kernel has a factor of its own ------------------------------------------------ */

static BurnStatus BURN_API_CALL run_scale(const BurnKernelCall *call) {
  run(call, 1.0, NULL);
  return BURN_OK;
}
static const BurnOpInfo scale_info = INFO("scale", 1, 1, BURN_KIND_FLOAT);
static const BurnOpDefinition scale = {
    .struct_size = sizeof(BurnOpDefinition), .info = &scale_info, .infer = infer, .decompose = decompose};
static const BurnKernel scale_kernel = KERNEL("scale", run_scale);

/* -- slope: the backward rule has ------------------------------------------------------------- */

static BurnStatus BURN_API_CALL backward_slope(const BurnHost *host, const BurnBackend *backend,
                                               const BurnBackwardCall *call) {
  BurnBuilder b = burn_builder_begin(host, backend);
  call->input_grads[0] = burn_build_give(&b, call->output_grads[0]);
  return burn_builder_end(&b);
}
static const BurnOpInfo slope_info = INFO("slope", 1, 1, BURN_KIND_FLOAT);
static const BurnOpDefinition slope = {.struct_size = sizeof(BurnOpDefinition),
                                       .info = &slope_info,
                                       .infer = infer,
                                       .decompose = decompose,
                                       .backward = backward_slope};

/* -- weigh: the kernel does not look whether there is a weight -------------------------------- */

static BurnStatus BURN_API_CALL run_weigh(const BurnKernelCall *call) {
  run(call, factor_of(call->attrs, call->attr_count), &call->inputs[1]);
  return BURN_OK;
}
static const BurnOpInfo weigh_info = INFO("weigh", 2, 1, BURN_KIND_FLOAT);
static const BurnOpDefinition weigh = {
    .struct_size = sizeof(BurnOpDefinition), .info = &weigh_info, .infer = infer, .decompose = decompose};
static const BurnKernel weigh_kernel = KERNEL("weigh", run_weigh);

/* -- stretched: rows of one element; turned: columns that lie side by side in both inputs ----- */

static int32_t is_matrix(const BurnTensorView *x) { return x->rank == 2 && x->shape[0] > 1 && x->shape[1] > 1; }

static BurnStatus BURN_API_CALL run_stretched(const BurnKernelCall *call) {
  const BurnTensorView *x = &call->inputs[0];
  run(call, is_matrix(x) && x->strides[1] == 0 ? 3.0 : 1.0, NULL);
  return BURN_OK;
}
static const BurnOpInfo stretched_info = INFO("stretched", 1, 0, BURN_KIND_FLOAT);
static const BurnOpDefinition stretched = {
    .struct_size = sizeof(BurnOpDefinition), .info = &stretched_info, .infer = infer, .decompose = decompose};
static const BurnKernel stretched_kernel = KERNEL("stretched", run_stretched);

static int32_t is_turned(const BurnTensorView *x) { return is_matrix(x) && x->strides[0] == 1 && x->strides[1] > 1; }

static BurnStatus BURN_API_CALL run_turned(const BurnKernelCall *call) {
  const BurnTensorView *weight = call->inputs[1].data ? &call->inputs[1] : NULL;
  run(call, weight && is_turned(&call->inputs[0]) && is_turned(weight) ? 3.0 : 1.0, weight);
  return BURN_OK;
}
static const BurnOpInfo turned_info = INFO("turned", 2, 0, BURN_KIND_FLOAT);
static const BurnOpDefinition turned = {
    .struct_size = sizeof(BurnOpDefinition), .info = &turned_info, .infer = infer, .decompose = decompose};
static const BurnKernel turned_kernel = KERNEL("turned", run_turned);

/* -- never: the shape rule refuses everything ------------------------------------------------- */

static BurnStatus BURN_API_CALL infer_never(const BurnHost *host, const BurnOpCall *call, BurnTensorDesc *out) {
  (void)call;
  (void)out;
  return BURN_COMMON_FAIL(host, INVALID_SHAPE, "short_sighted.never", "x has no seven axes");
}
static const BurnOpInfo never_info = INFO("never", 1, 0, BURN_KIND_FLOAT);
static const BurnOpDefinition never = {
    .struct_size = sizeof(BurnOpDefinition), .info = &never_info, .infer = infer_never, .decompose = decompose};

/* -- right: n, which is required, is 3 or more; bytes: no other dtype ------------------------- */

static BurnStatus BURN_API_CALL infer_right(const BurnHost *host, const BurnOpCall *call, BurnTensorDesc *out) {
  const long long n = (long long)call->attrs[1].value.i64;
  if (n < 3) return BURN_COMMON_FAIL(host, INVALID_ARGUMENT, "short_sighted.right", "n is %lld, 3 or more expected", n);
  return infer(host, call, out);
}
static BurnStatus BURN_API_CALL run_right(const BurnKernelCall *call) {
  run(call, factor_of(call->attrs, call->attr_count), call->inputs[1].data ? &call->inputs[1] : NULL);
  return BURN_OK;
}
static const BurnOpInfo right_info = INFO("right", 2, 2, BURN_KIND_FLOAT);
static const BurnOpDefinition right = {
    .struct_size = sizeof(BurnOpDefinition), .info = &right_info, .infer = infer_right, .decompose = decompose};
static const BurnKernel right_kernel = KERNEL("right", run_right);

static BurnStatus BURN_API_CALL infer_bytes(const BurnHost *host, const BurnOpCall *call, BurnTensorDesc *out) {
  if (call->inputs[0]->dtype == BURN_DTYPE_U8) return infer(host, call, out);
  return BURN_COMMON_FAIL(host, INVALID_DTYPE, "short_sighted.bytes", "x is not u8");
}
static const BurnOpInfo bytes_info = INFO("bytes", 1, 0, BURN_KIND_INT);
static const BurnOpDefinition bytes = {
    .struct_size = sizeof(BurnOpDefinition), .info = &bytes_info, .infer = infer_bytes, .decompose = decompose};

/* -- the tables ------------------------------------------------------------------------------- */

static const BurnOpDefinition *const ops[] = {&scale, &slope, &weigh, &stretched, &turned, &never, &right, &bytes};
static const BurnKernel *const kernels[] = {&scale_kernel, &weigh_kernel, &stretched_kernel, &turned_kernel,
                                            &right_kernel};
static const BurnKernelsInterface pack = {.struct_size = sizeof pack,
                                          .version = 1,
                                          .op_count = sizeof ops / sizeof ops[0],
                                          .kernel_count = sizeof kernels / sizeof kernels[0],
                                          .ops = ops,
                                          .kernels = kernels};

BURN_COMMON_PLUGIN(KERNELS, PLUGIN_NAME, "1.0.0", "MIT OR Apache-2.0", "ops for a test", {"burn.kernels", &pack})
