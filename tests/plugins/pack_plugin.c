/* pack_plugin.c - a kernel pack for kernel_pack_test: an op with everything, one with a decomposition alone, one with a
 * kernel alone, one whose shape rule is wrong, one whose backward rule is; one that is better fused, one with an input
 * that is constant, one that calls another of the pack by its number; kernels for the device of "lazy". */
#include <burn/plugin/kernels.h>

#include "lazy_kernel.h"

#ifndef PLUGIN_NAME
#define PLUGIN_NAME "pack"
#endif

/* -- scaled_add: x + factor * y, equal shapes ------------------------------------------------- */

static BurnStatus BURN_API_CALL infer_equal(const BurnHost *host, const BurnOpCall *call, BurnTensorDesc *out) {
  *out = burn_primitive_desc(call->inputs[0]);
  const BurnTensorDesc other = burn_primitive_desc(call->inputs[1]);
  if (memcmp(out, &other, sizeof other) == 0) return BURN_OK;
  return host->fail(BURN_STATUS_INVALID_SHAPE, __FILE__, __LINE__, PLUGIN_NAME ".scaled_add: x and y differ");
}

static BurnStatus BURN_API_CALL decompose_scaled_add(const BurnHost *host, const BurnBackend *backend,
                                                     const BurnOpCall *call) {
  BurnBuilder b = burn_builder_begin(host, backend);
  BurnPrimitive *scaled = burn_build_scalar(&b, BURN_OP_mul_scalar, call->inputs[1], call->attrs[0].value.f64);
  BurnPrimitive *result = burn_build_add(&b, call->inputs[0], scaled);
  return burn_builder_finish(&b, call, &result);
}

/* A gradient that tells itself from that of the decomposition: ten times too large for y. */
static BurnStatus BURN_API_CALL backward_scaled_add(const BurnHost *host, const BurnBackend *backend,
                                                    const BurnBackwardCall *call) {
  BurnBuilder b = burn_builder_begin(host, backend);
  BurnPrimitive *grad = call->output_grads[0];
  if (call->needed & 1u) call->input_grads[0] = burn_build_give(&b, grad);
  if (call->needed & 2u) {
    BurnPrimitive *scaled = burn_build_scalar(&b, BURN_OP_mul_scalar, grad, 10 * call->attrs[0].value.f64);
    call->input_grads[1] = burn_build_give(&b, scaled);
  }
  return burn_builder_end(&b);
}

static int64_t offset_of(const BurnTensorView *x, int64_t index) {
  int64_t offset = 0;
  for (uint32_t axis = x->rank; axis-- > 0;) {
    offset += index % x->shape[axis] * x->strides[axis];
    index /= x->shape[axis];
  }
  return offset;
}

static int32_t BURN_API_CALL accepts_f32(const BurnOpCall *call, char *why, uint64_t why_bytes) {
  if (call->inputs[0]->dtype == BURN_DTYPE_F32) return 1;
  if (why_bytes > 5) memcpy(why, "f32!", 5);
  return 0;
}

/* 1000 is added so that the test sees that the kernel ran. */
static BurnStatus BURN_API_CALL run_scaled_add(const BurnKernelCall *call) {
  const BurnTensorView *x = &call->inputs[0], *y = &call->inputs[1], *out = &call->outputs[0];
  int64_t count = 1;
  for (uint32_t axis = 0; axis < out->rank; axis++) count *= out->shape[axis];
  for (int64_t i = 0; i < count; i++) {
    const float value = ((const float *)x->data)[offset_of(x, i)] +
                        (float)call->attrs[0].value.f64 * ((const float *)y->data)[offset_of(y, i)];
    ((float *)out->data)[offset_of(out, i)] = value + 1000.0f;
  }
  return BURN_OK;
}

static const char *const xy[] = {"x", "y"};
static const char *const factor_names[] = {"factor"};
static const uint32_t factor_tags[] = {BURN_ATTR_F64};
static const BurnAttr factor_defaults[] = {{.tag = BURN_ATTR_F64, .value = {.f64 = 2.0}}};
static const BurnOpInfo scaled_add_info = {.struct_size = sizeof(BurnOpInfo),
                                           .name = PLUGIN_NAME ".scaled_add",
                                           .input_count = 2,
                                           .input_required = 2,
                                           .output_count = 1,
                                           .attr_count = 1,
                                           .kinds = BURN_KIND_FLOAT,
                                           .traits = BURN_TRAIT_ELEMENTWISE,
                                           .input_names = xy,
                                           .attr_names = factor_names,
                                           .attr_defaults = factor_defaults,
                                           .attr_tags = factor_tags,
                                           .doc = "x + factor * y"};
static const BurnOpDefinition scaled_add = {.struct_size = sizeof(BurnOpDefinition),
                                            .info = &scaled_add_info,
                                            .infer = infer_equal,
                                            .decompose = decompose_scaled_add,
                                            .backward = backward_scaled_add};
static const BurnKernel scaled_add_kernel = {
    .struct_size = sizeof(BurnKernel), .op = PLUGIN_NAME ".scaled_add", .accept = accepts_f32, .run = run_scaled_add};

/* -- triple: a decomposition alone ------------------------------------------------------------ */

static BurnStatus BURN_API_CALL infer_same(const BurnHost *host, const BurnOpCall *call, BurnTensorDesc *out) {
  (void)host;
  *out = burn_primitive_desc(call->inputs[0]);
  return BURN_OK;
}

static BurnStatus BURN_API_CALL decompose_triple(const BurnHost *host, const BurnBackend *backend,
                                                 const BurnOpCall *call) {
  BurnBuilder b = burn_builder_begin(host, backend);
  BurnPrimitive *result = burn_build_scalar(&b, BURN_OP_mul_scalar, call->inputs[0], 3.0);
  return burn_builder_finish(&b, call, &result);
}

#define ONE_INPUT(label, text)                                                                                      \
  {                                                                                                                 \
    .struct_size = sizeof(BurnOpInfo), .name = PLUGIN_NAME "." label, .input_count = 1, .input_required = 1,        \
    .output_count = 1, .kinds = BURN_KIND_NUMERIC, .traits = BURN_TRAIT_ELEMENTWISE, .input_names = xy, .doc = text \
  }
static const BurnOpInfo triple_info = ONE_INPUT("triple", "3 * x");
static const BurnOpDefinition triple = {
    .struct_size = sizeof(BurnOpDefinition), .info = &triple_info, .infer = infer_same, .decompose = decompose_triple};

/* -- kernel_only, and a wrong shape rule ------------------------------------------------------ */

static const BurnOpInfo kernel_only_info = ONE_INPUT("kernel_only", "fails: no memory");
static const BurnOpDefinition kernel_only = {
    .struct_size = sizeof(BurnOpDefinition), .info = &kernel_only_info, .infer = infer_same};
static BurnStatus BURN_API_CALL run_kernel_only(const BurnKernelCall *call) {
  return call->host->fail(BURN_STATUS_OUT_OF_MEMORY, __FILE__, __LINE__, "the kernel failed on purpose");
}
static const BurnKernel kernel_only_kernel = {
    .struct_size = sizeof(BurnKernel), .op = PLUGIN_NAME ".kernel_only", .accept = accepts_f32, .run = run_kernel_only};

static BurnStatus BURN_API_CALL infer_nonsense(const BurnHost *host, const BurnOpCall *call, BurnTensorDesc *out) {
  (void)host;
  (void)call;
  out->rank = 77;
  return BURN_OK;
}
static const BurnOpInfo nonsense_info = ONE_INPUT("nonsense", "its shape rule lies");
static const BurnOpDefinition nonsense = {.struct_size = sizeof(BurnOpDefinition),
                                          .info = &nonsense_info,
                                          .infer = infer_nonsense,
                                          .decompose = decompose_triple};

/* -- bare_rule, bare_kernel: a code that no host->fail has made; typed: attributes whose values are looked at ----- */

static BurnStatus BURN_API_CALL infer_bare(const BurnHost *host, const BurnOpCall *call, BurnTensorDesc *out) {
  (void)host;
  (void)call;
  (void)out;
  return BURN_STATUS_OUT_OF_MEMORY;
}
static const BurnOpInfo bare_rule_info = ONE_INPUT("bare_rule", "its shape rule returns a code");
static const BurnOpDefinition bare_rule = {.struct_size = sizeof(BurnOpDefinition),
                                           .info = &bare_rule_info,
                                           .infer = infer_bare,
                                           .decompose = decompose_triple};

static BurnStatus BURN_API_CALL run_bare(const BurnKernelCall *call) {
  (void)call;
  return BURN_STATUS_OUT_OF_MEMORY;
}
static const BurnOpInfo bare_kernel_info = ONE_INPUT("bare_kernel", "its kernel returns a code");
static const BurnOpDefinition bare_kernel = {
    .struct_size = sizeof(BurnOpDefinition), .info = &bare_kernel_info, .infer = infer_same};
static const BurnKernel bare_kernel_kernel = {
    .struct_size = sizeof(BurnKernel), .op = PLUGIN_NAME ".bare_kernel", .accept = accepts_f32, .run = run_bare};

static const char *const typed_names[] = {"exact", "dtype"};
static const uint32_t typed_tags[] = {BURN_ATTR_BOOL, BURN_ATTR_DTYPE};
static const BurnAttr typed_defaults[] = {{.tag = BURN_ATTR_BOOL}, {.tag = BURN_ATTR_DTYPE}};
static const BurnOpInfo typed_info = {.struct_size = sizeof(BurnOpInfo),
                                      .name = PLUGIN_NAME ".typed",
                                      .input_count = 1,
                                      .input_required = 1,
                                      .output_count = 1,
                                      .attr_count = 2,
                                      .kinds = BURN_KIND_FLOAT,
                                      .traits = BURN_TRAIT_ELEMENTWISE,
                                      .input_names = xy,
                                      .attr_names = typed_names,
                                      .attr_defaults = typed_defaults,
                                      .attr_tags = typed_tags,
                                      .doc = "3 * x, whatever the attributes are"};
static const BurnOpDefinition typed = {
    .struct_size = sizeof(BurnOpDefinition), .info = &typed_info, .infer = infer_same, .decompose = decompose_triple};

/* -- endless, misdescribed, cut: decompositions that run themselves, or give other results than the shape rule says -- */

static BurnStatus BURN_API_CALL decompose_endless(const BurnHost *host, const BurnBackend *backend,
                                                  const BurnOpCall *call) {
  BurnBuilder b = burn_builder_begin(host, backend);
  BurnPrimitive *result = burn_build_op1(&b, call->op, call->inputs[0]);
  return burn_builder_finish(&b, call, &result);
}
static const BurnOpInfo endless_info = ONE_INPUT("endless", "itself");
static const BurnOpDefinition endless = {.struct_size = sizeof(BurnOpDefinition),
                                         .info = &endless_info,
                                         .infer = infer_same,
                                         .decompose = decompose_endless};

static BurnStatus BURN_API_CALL decompose_endless_parts(const BurnHost *host, const BurnBackend *backend,
                                                        const BurnOpCall *call) {
  BurnBuilder b = burn_builder_begin_for(host, backend, call);
  BurnPrimitive *result = burn_build_op1(&b, call->op, burn_build_op1(&b, BURN_OP_neg, call->inputs[0]));
  return burn_builder_finish(&b, call, &result);
}
static const BurnOpInfo endless_parts_info = ONE_INPUT("endless_parts", "itself, of -x");
static const BurnOpDefinition endless_parts = {.struct_size = sizeof(BurnOpDefinition),
                                               .info = &endless_parts_info,
                                               .infer = infer_same,
                                               .decompose = decompose_endless_parts};

static BurnStatus BURN_API_CALL decompose_misdescribed(const BurnHost *host, const BurnBackend *backend,
                                                       const BurnOpCall *call) {
  BurnBuilder b = burn_builder_begin(host, backend);
  BurnPrimitive *result = burn_build_cast(&b, call->inputs[0], BURN_DTYPE_F64);
  return burn_builder_finish(&b, call, &result);
}
static const BurnOpInfo misdescribed_info = ONE_INPUT("misdescribed", "x, as f64 though its shape rule says otherwise");
static const BurnOpDefinition misdescribed = {.struct_size = sizeof(BurnOpDefinition),
                                              .info = &misdescribed_info,
                                              .infer = infer_same,
                                              .decompose = decompose_misdescribed};

static BurnStatus BURN_API_CALL decompose_cut(const BurnHost *host, const BurnBackend *backend,
                                              const BurnOpCall *call) {
  BurnBuilder b = burn_builder_begin(host, backend);
  BurnPrimitive *result = burn_build_dim(&b, BURN_OP_sum_dim, call->inputs[0], 0);
  return burn_builder_finish(&b, call, &result);
}
static const BurnOpInfo cut_info = ONE_INPUT("cut", "the sum, though its shape rule says otherwise");
static const BurnOpDefinition cut = {
    .struct_size = sizeof(BurnOpDefinition), .info = &cut_info, .infer = infer_same, .decompose = decompose_cut};

/* -- misshapen: a backward rule that gives a gradient of another shape ------------------------ */

static BurnStatus BURN_API_CALL backward_misshapen(const BurnHost *host, const BurnBackend *backend,
                                                   const BurnBackwardCall *call) {
  BurnBuilder b = burn_builder_begin(host, backend);
  call->input_grads[0] = burn_build_give(&b, burn_build_dim(&b, BURN_OP_sum_dim, call->output_grads[0], 0));
  return burn_builder_end(&b);
}
static const BurnOpInfo misshapen_info = ONE_INPUT("misshapen", "3 * x, but its gradient has one element");
static const BurnOpDefinition misshapen = {.struct_size = sizeof(BurnOpDefinition),
                                           .info = &misshapen_info,
                                           .infer = infer_same,
                                           .decompose = decompose_triple,
                                           .backward = backward_misshapen};

/* -- distance: (x - target)^2, whose target is data: it gets no gradient ---------------------- */

static BurnStatus BURN_API_CALL decompose_distance(const BurnHost *host, const BurnBackend *backend,
                                                   const BurnOpCall *call) {
  BurnBuilder b = burn_builder_begin(host, backend);
  BurnPrimitive *difference = burn_build_sub(&b, call->inputs[0], call->inputs[1]);
  BurnPrimitive *result = burn_build_mul(&b, difference, difference);
  return burn_builder_finish(&b, call, &result);
}
static BurnStatus BURN_API_CALL backward_distance(const BurnHost *host, const BurnBackend *backend,
                                                  const BurnBackwardCall *call) {
  BurnBuilder b = burn_builder_begin(host, backend);
  if (call->needed & 1u) {
    BurnPrimitive *difference = burn_build_sub(&b, call->inputs[0], call->inputs[1]);
    BurnPrimitive *slope = burn_build_scalar(&b, BURN_OP_mul_scalar, difference, 2);
    call->input_grads[0] = burn_build_give(&b, burn_build_mul(&b, slope, call->output_grads[0]));
  }
  return burn_builder_end(&b);
}
static const BurnOpInfo distance_info = {.struct_size = sizeof(BurnOpInfo),
                                         .name = PLUGIN_NAME ".distance",
                                         .input_count = 2,
                                         .input_required = 2,
                                         .output_count = 1,
                                         .kinds = BURN_KIND_FLOAT,
                                         .traits = BURN_TRAIT_ELEMENTWISE,
                                         .input_names = xy,
                                         .doc = "(x - y)^2, without a gradient of y"};
static const BurnOpDefinition distance = {.struct_size = sizeof(BurnOpDefinition),
                                          .info = &distance_info,
                                          .infer = infer_equal,
                                          .decompose = decompose_distance,
                                          .backward = backward_distance,
                                          .saved_inputs = 3,
                                          .constant_inputs = 2};

/* -- fusable: its parts, fused with their neighbours, are the better choice ------------------- */

/* 1000 is added so that the test sees that the kernel ran. */
static BurnStatus BURN_API_CALL run_fusable(const BurnKernelCall *call) {
  const BurnTensorView *x = &call->inputs[0], *out = &call->outputs[0];
  for (int64_t i = 0; i < out->shape[0]; i++)
    ((float *)out->data)[i] = 3 * ((const float *)x->data)[i * x->strides[0]] + 1000.0f;
  return BURN_OK;
}
static const BurnOpInfo fusable_info = ONE_INPUT("fusable", "3 * x");
static const BurnOpDefinition fusable = {
    .struct_size = sizeof(BurnOpDefinition), .info = &fusable_info, .infer = infer_same, .decompose = decompose_triple};
static const BurnKernel fusable_kernel = {.struct_size = sizeof(BurnKernel),
                                          .priority = -1,
                                          .op = PLUGIN_NAME ".fusable",
                                          .accept = accepts_f32,
                                          .run = run_fusable};

/* -- masked: x * mask, where nothing flows to the mask; the rule fails if it is asked for that - */

static BurnStatus BURN_API_CALL decompose_masked(const BurnHost *host, const BurnBackend *backend,
                                                 const BurnOpCall *call) {
  BurnBuilder b = burn_builder_begin_for(host, backend, call);
  BurnPrimitive *result = burn_build_mul(&b, call->inputs[0], call->inputs[1]);
  return burn_builder_finish(&b, call, &result);
}
static BurnStatus BURN_API_CALL backward_masked(const BurnHost *host, const BurnBackend *backend,
                                                const BurnBackwardCall *call) {
  if (call->needed != 1) return host->fail(BURN_STATUS_INTERNAL, __FILE__, __LINE__, "the mask is asked for");
  BurnBuilder b = burn_builder_begin(host, backend);
  call->input_grads[0] = burn_build_give(&b, burn_build_mul(&b, call->output_grads[0], call->inputs[1]));
  return burn_builder_end(&b);
}
static const BurnOpInfo masked_info = {.struct_size = sizeof(BurnOpInfo),
                                       .name = PLUGIN_NAME ".masked",
                                       .input_count = 2,
                                       .input_required = 2,
                                       .output_count = 1,
                                       .kinds = BURN_KIND_FLOAT,
                                       .traits = BURN_TRAIT_ELEMENTWISE,
                                       .input_names = xy,
                                       .doc = "x * y, constant in y"};
static const BurnOpDefinition masked = {.struct_size = sizeof(BurnOpDefinition),
                                        .info = &masked_info,
                                        .infer = infer_equal,
                                        .decompose = decompose_masked,
                                        .backward = backward_masked,
                                        .saved_inputs = 2,
                                        .constant_inputs = 2};

/* The same without a rule: nothing flows there through its parts either. */
static const BurnOpInfo masked_parts_info = {.struct_size = sizeof(BurnOpInfo),
                                             .name = PLUGIN_NAME ".masked_parts",
                                             .input_count = 2,
                                             .input_required = 2,
                                             .output_count = 1,
                                             .kinds = BURN_KIND_FLOAT,
                                             .traits = BURN_TRAIT_ELEMENTWISE,
                                             .input_names = xy,
                                             .doc = "x * y, constant in y"};
static const BurnOpDefinition masked_parts = {.struct_size = sizeof(BurnOpDefinition),
                                              .info = &masked_parts_info,
                                              .infer = infer_equal,
                                              .decompose = decompose_masked,
                                              .constant_inputs = 2};

/* -- nine_times: calls triple twice, by the number that the host gave to it ------------------- */

static uint32_t number_of_triple;
static void BURN_API_CALL registered(const uint32_t *numbers) { number_of_triple = numbers[1]; }

static BurnStatus BURN_API_CALL decompose_nine_times(const BurnHost *host, const BurnBackend *backend,
                                                     const BurnOpCall *call) {
  BurnBuilder b = burn_builder_begin_for(host, backend, call);
  BurnPrimitive *result = burn_build_op1(&b, number_of_triple, call->inputs[0]);
  result = burn_build_op1(&b, number_of_triple, result);
  return burn_builder_finish(&b, call, &result);
}
static const BurnOpInfo nine_times_info = ONE_INPUT("nine_times", "9 * x");
static const BurnOpDefinition nine_times = {.struct_size = sizeof(BurnOpDefinition),
                                            .info = &nine_times_info,
                                            .infer = infer_same,
                                            .decompose = decompose_nine_times};

/* -- kernels for the device of "lazy": 2000 is added so that the test sees that they ran -------- */

typedef struct ScaledAddParameters {
  int64_t count;
  double factor;
} ScaledAddParameters;

static void scaled_add_on_device(const unsigned char *arguments, const BurnDeviceLaunch *launch) {
  const float *x = lazy_kernel_address(arguments, 0), *y = lazy_kernel_address(arguments, 1);
  float *out = lazy_kernel_address(arguments, 2);
  ScaledAddParameters parameters;
  memcpy(&parameters, arguments + 24, sizeof parameters);
  for (int64_t i = 0; i < parameters.count && i < (int64_t)launch->groups[0] * launch->threads[0]; i++)
    out[i] = x[i] + (float)parameters.factor * y[i] + 2000.0f;
}

static BurnStatus BURN_API_CALL plan_scaled_add(const BurnHost *host, const BurnOpCall *call,
                                                const BurnTensorView *views, BurnDeviceLaunch *out) {
  const ScaledAddParameters parameters = {burn_desc_count(&call->output_descs[0]), call->attrs[0].value.f64};
  if (views[0].strides[views[0].rank - 1] != 1)
    return host->fail(BURN_STATUS_INTERNAL, __FILE__, __LINE__, "the views are not row-major");
  for (uint32_t i = 0; i < 3; i++) out->groups[i] = out->threads[i] = 1;
  out->threads[0] = 4;
  out->groups[0] = (uint32_t)((parameters.count + 3) / 4);
  out->parameter_bytes = sizeof parameters;
  memcpy(out->parameters, &parameters, sizeof parameters);
  return BURN_OK;
}

static const LazyKernelText scaled_add_text = {"scaled_add", scaled_add_on_device};
static const BurnDeviceCode scaled_add_foreign = {.struct_size = sizeof(BurnDeviceCode),
                                                  .format = BURN_CODE_SPIRV,
                                                  .data = &scaled_add_text,
                                                  .bytes = sizeof scaled_add_text};
static const BurnDeviceCode scaled_add_other = {.struct_size = sizeof(BurnDeviceCode),
                                                .format = LAZY_CODE,
                                                .architecture = "industrious",
                                                .data = &scaled_add_text,
                                                .bytes = sizeof scaled_add_text};
static const BurnDeviceCode scaled_add_code = {.struct_size = sizeof(BurnDeviceCode),
                                               .format = LAZY_CODE,
                                               .architecture = "lazy",
                                               .data = &scaled_add_text,
                                               .bytes = sizeof scaled_add_text};
static const BurnDeviceCode *const scaled_add_codes[] = {&scaled_add_foreign, &scaled_add_other, &scaled_add_code};
static const BurnDeviceKernel scaled_add_device = {.struct_size = sizeof(BurnDeviceKernel),
                                                   .op = PLUGIN_NAME ".scaled_add",
                                                   .entry = "scaled_add",
                                                   .codes = scaled_add_codes,
                                                   .code_count = 3,
                                                   .row_major = 3,
                                                   .accept = accepts_f32,
                                                   .plan = plan_scaled_add};

/* Its code has no such function: the decomposition runs. */
static const BurnDeviceKernel triple_device = {.struct_size = sizeof(BurnDeviceKernel),
                                               .op = PLUGIN_NAME ".triple",
                                               .entry = "nowhere",
                                               .codes = scaled_add_codes,
                                               .code_count = 3,
                                               .row_major = 1,
                                               .plan = plan_scaled_add};

/* Its plan has more parameters than there is room for. */
static BurnStatus BURN_API_CALL plan_too_much(const BurnHost *host, const BurnOpCall *call, const BurnTensorView *views,
                                              BurnDeviceLaunch *out) {
  (void)host;
  (void)call;
  (void)views;
  out->parameter_bytes = BURN_MAX_PARAMETER_BYTES + 8;
  return BURN_OK;
}
static const BurnDeviceKernel masked_device = {.struct_size = sizeof(BurnDeviceKernel),
                                               .op = PLUGIN_NAME ".masked",
                                               .entry = "scaled_add",
                                               .codes = scaled_add_codes,
                                               .code_count = 3,
                                               .row_major = 3,
                                               .plan = plan_too_much};
#if defined(FAULT_NO_PLAN)
static const BurnDeviceKernel planless = {.struct_size = sizeof(BurnDeviceKernel),
                                          .op = PLUGIN_NAME ".masked",
                                          .entry = "",
                                          .codes = scaled_add_codes,
                                          .code_count = 3};
static const BurnDeviceKernel *const device_kernels[] = {&scaled_add_device, &triple_device, &masked_device, &planless};
#else
static const BurnDeviceKernel *const device_kernels[] = {&scaled_add_device, &triple_device, &masked_device};
#endif

#define ALL_OPS                                                                                                   \
  &scaled_add, &triple, &kernel_only, &nonsense, &misshapen, &fusable, &masked, &nine_times, &distance, &endless, \
      &misdescribed, &cut, &bare_rule, &bare_kernel, &typed, &endless_parts, &masked_parts
#if defined(FAULT_TWICE)
static const BurnOpDefinition *const ops[] = {ALL_OPS, &triple};
#elif defined(FAULT_FOREIGN_NAME)
static const BurnOpInfo foreign_info = {.struct_size = sizeof(BurnOpInfo),
                                        .name = "other.op",
                                        .input_count = 1,
                                        .input_required = 1,
                                        .output_count = 1,
                                        .kinds = BURN_KIND_NUMERIC,
                                        .input_names = xy,
                                        .doc = ""};
static const BurnOpDefinition foreign = {
    .struct_size = sizeof(BurnOpDefinition), .info = &foreign_info, .infer = infer_same, .decompose = decompose_triple};
static const BurnOpDefinition *const ops[] = {ALL_OPS, &foreign};
#else
static const BurnOpDefinition *const ops[] = {ALL_OPS};
#endif
static const BurnKernel *const kernels[] = {&scaled_add_kernel, &kernel_only_kernel, &fusable_kernel,
                                            &bare_kernel_kernel};
static const BurnKernelsInterface interface = {.struct_size = sizeof interface,
                                               .version = 1,
                                               .op_count = sizeof ops / sizeof ops[0],
                                               .kernel_count = sizeof kernels / sizeof kernels[0],
                                               .ops = ops,
                                               .kernels = kernels,
                                               .registered = registered,
                                               .device_kernels = device_kernels,
                                               .device_kernel_count = sizeof device_kernels / sizeof device_kernels[0]};

static const void *BURN_API_CALL get_interface(const char *name, uint32_t min_version) {
  return strcmp(name, "burn.kernels") == 0 && min_version <= 1 ? &interface : NULL;
}
static const BurnPlugin plugin = {.struct_size = sizeof plugin,
                                  .abi_major = BURN_ABI_MAJOR,
                                  .abi_minor = BURN_ABI_MINOR,
                                  .min_host_minor = BURN_TARGET_MINOR,
                                  .kind = BURN_PLUGIN_KERNELS,
                                  .name = PLUGIN_NAME,
                                  .version = "1.0.0",
                                  .license = "MIT OR Apache-2.0",
                                  .description = "ops for a test",
                                  .get_interface = get_interface};
BURN_PLUGIN_ENTRY(plugin)
