/* table_pack.c - a kernel pack with one op, whose table of attributes is wrong in the way that ATTR_NAME, ATTR_TAG,
 * ATTR_DEFAULT, INPUT_NAME or CONSTANT_INPUTS says: for kernel_pack_test. Without them it is right, and its op is 2 * x, where x is the
 * one of two inputs that is given. */
#include <burn/common/descriptor.h>
#include <burn/plugin/kernels.h>

#ifndef ATTR_NAME
#define ATTR_NAME "factors"
#endif
#ifndef ATTR_TAG
#define ATTR_TAG BURN_ATTR_I64S
#endif
#ifndef ATTR_DEFAULT
#define ATTR_DEFAULT                            \
  {                                             \
    .tag = BURN_ATTR_I64S, .value = {.i64 = 2 } \
  }
#endif
#ifndef INPUT_NAME
#define INPUT_NAME "y"
#endif
#ifndef CONSTANT_INPUTS
#define CONSTANT_INPUTS 0
#endif

static BurnPrimitive *given(const BurnOpCall *call) { return call->inputs[0] ? call->inputs[0] : call->inputs[1]; }

static BurnStatus BURN_API_CALL infer(const BurnHost *host, const BurnOpCall *call, BurnTensorDesc *out) {
  if (!given(call)) return host->fail(BURN_STATUS_INVALID_ARGUMENT, __FILE__, __LINE__, "neither x nor y is given");
  *out = burn_primitive_desc(given(call));
  return BURN_OK;
}

static BurnStatus BURN_API_CALL decompose(const BurnHost *host, const BurnBackend *backend, const BurnOpCall *call) {
  BurnBuilder b = burn_builder_begin_for(host, backend, call);
  const double factor = (double)call->attrs[0].value.i64s[0];
  BurnPrimitive *result = burn_build_scalar(&b, BURN_OP_mul_scalar, given(call), factor);
  return burn_builder_finish(&b, call, &result);
}

static const char *const input_names[] = {"x", INPUT_NAME};
static const char *const attr_names[] = {ATTR_NAME};
static const uint32_t attr_tags[] = {ATTR_TAG};
#if defined(ATTR_LIST)
static const int64_t list[] = {2, 3};
#endif
static const BurnAttr attr_defaults[] = {ATTR_DEFAULT};
static const BurnOpInfo info = {.struct_size = sizeof(BurnOpInfo),
                                .name = PLUGIN_NAME ".twice",
                                .input_count = 2,
                                .output_count = 1,
                                .attr_count = 1,
                                .kinds = BURN_KIND_FLOAT,
                                .traits = BURN_TRAIT_ELEMENTWISE,
                                .input_names = input_names,
                                .attr_names = attr_names,
                                .attr_defaults = attr_defaults,
                                .attr_tags = attr_tags};
static const BurnOpDefinition twice = {.struct_size = sizeof(BurnOpDefinition),
                                       .info = &info,
                                       .infer = infer,
                                       .decompose = decompose,
                                       .constant_inputs = CONSTANT_INPUTS};
static const BurnOpDefinition *const ops[] = {&twice};
static const BurnKernelsInterface pack = {.struct_size = sizeof pack, .version = 1, .op_count = 1, .ops = ops};

BURN_COMMON_PLUGIN(KERNELS, PLUGIN_NAME, "1.0.0", "MIT OR Apache-2.0", "an op for a test", {"burn.kernels", &pack})
