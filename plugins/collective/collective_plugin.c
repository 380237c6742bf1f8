/* collective_plugin.c - the op collective.all_reduce: the sum of a tensor over threads that work on copies of a module,
 * each on a device of its own. It is written with read and create of the backend at hand, so that it runs on every
 * stack, and at once also where work is queued: the others wait for it. */
#include "collective.h"

#include <burn/common/descriptor.h>
#include <burn/common/failure.h>
#include <burn/plugin/kernels.h>

#include <stdbool.h>
#include <stdlib.h>

#define OP "collective.all_reduce"

static CollectiveMember member_of(const BurnAttr *attrs) {
  return (CollectiveMember){attrs[0].value.i64, attrs[1].value.i64, attrs[2].value.i64, attrs[3].value.f64};
}

static BurnStatus BURN_API_CALL infer_all_reduce(const BurnHost *host, const BurnOpCall *call, BurnTensorDesc *out) {
  const BurnTensorDesc x = burn_primitive_desc(call->inputs[0]);
  if (x.dtype != BURN_DTYPE_F32 && x.dtype != BURN_DTYPE_F64) {
    return BURN_COMMON_FAIL(host, INVALID_DTYPE, OP, "x is %s; cast it to f32", burn_dtype_name(x.dtype));
  }
  const CollectiveMember member = member_of(call->attrs);
  *out = x;
  return collective_check(host, &member);
}

static int64_t element_count(const BurnTensorDesc *desc) {
  int64_t count = 1;
  for (uint32_t i = 0; i < desc->rank; i++) count *= desc->shape[i];
  return count;
}

/* Floats in place of doubles, or back; from the end that is not overwritten. */
static void widen(void *data, int64_t count) {
  for (int64_t i = count; i-- > 0;) {
    float value;
    memcpy(&value, (const char *)data + (size_t)i * sizeof value, sizeof value);
    const double wide = (double)value;
    memcpy((char *)data + (size_t)i * sizeof wide, &wide, sizeof wide);
  }
}
static void narrow(void *data, int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    double value;
    memcpy(&value, (const char *)data + (size_t)i * sizeof value, sizeof value);
    const float small = (float)value;
    memcpy((char *)data + (size_t)i * sizeof small, &small, sizeof small);
  }
}

/* The sum of x over the group as a new primitive of the backend; with `data`, room for it in f64. */
static BurnStatus reduce_in(const BurnHost *host, const BurnBackend *backend, const CollectiveMember *member,
                            BurnPrimitive *x, double *data, BurnPrimitive **out) {
  const BurnTensorDesc desc = burn_primitive_desc(x);
  const int64_t count = element_count(&desc);
  const bool is_f32 = desc.dtype == BURN_DTYPE_F32;
  const BurnStatus read = backend->read(backend->self, x, data, (uint64_t)count * burn_dtype_bytes(desc.dtype));
  if (read == BURN_OK && is_f32) widen(data, count);
  const BurnStatus status = collective_sum(host, member, read == BURN_OK ? data : NULL, count);
  if (read != BURN_OK || status != BURN_OK) return read != BURN_OK ? read : status;
  if (is_f32) narrow(data, count);
  return backend->create(backend->self, &desc, data, out);
}

static BurnStatus reduce(const BurnHost *host, const BurnBackend *backend, const BurnAttr *attrs, BurnPrimitive *x,
                         BurnPrimitive **out) {
  const BurnTensorDesc desc = burn_primitive_desc(x);
  const CollectiveMember member = member_of(attrs);
  const size_t bytes = (size_t)element_count(&desc) * sizeof(double);
  double *data = malloc(bytes ? bytes : 1);
  if (!data) {
    (void)collective_sum(host, &member, NULL, 0);
    return BURN_COMMON_FAIL(host, OUT_OF_MEMORY, OP, "out of memory");
  }
  const BurnStatus status = reduce_in(host, backend, &member, x, data, out);
  free(data);
  return status;
}

static BurnStatus BURN_API_CALL decompose_all_reduce(const BurnHost *host, const BurnBackend *backend,
                                                     const BurnOpCall *call) {
  return reduce(host, backend, call->attrs, call->inputs[0], &call->outputs[0]);
}

/* Every member's loss depends on every member's x through the sum: the gradient of x is the sum of the gradients that
 * arrive at the members' results. */
static BurnStatus BURN_API_CALL backward_all_reduce(const BurnHost *host, const BurnBackend *backend,
                                                    const BurnBackwardCall *call) {
  return reduce(host, backend, call->attrs, call->output_grads[0], &call->input_grads[0]);
}

static const char *const input_names[] = {"x"};
static const char *const attr_names[] = {"group", "rank", "count", "timeout"};
static const uint32_t attr_tags[] = {BURN_ATTR_I64, BURN_ATTR_I64, BURN_ATTR_I64, BURN_ATTR_F64};
static const BurnAttr attr_defaults[] = {{.tag = BURN_ATTR_NONE},
                                         {.tag = BURN_ATTR_NONE},
                                         {.tag = BURN_ATTR_NONE},
                                         {.tag = BURN_ATTR_F64, .value = {.f64 = 600}}};

static const BurnOpInfo all_reduce_info = {
    .struct_size = sizeof(BurnOpInfo),
    .name = OP,
    .input_count = 1,
    .input_required = 1,
    .output_count = 1,
    .attr_count = 4,
    .kinds = BURN_KIND_FLOAT,
    .input_names = input_names,
    .attr_names = attr_names,
    .attr_defaults = attr_defaults,
    .attr_tags = attr_tags,
    .doc = "the sum of x over the threads of a group, which wait for each other; rank -1 ends the group",
};

static const BurnOpDefinition all_reduce = {
    .struct_size = sizeof(BurnOpDefinition),
    .info = &all_reduce_info,
    .infer = infer_all_reduce,
    .decompose = decompose_all_reduce,
    .backward = backward_all_reduce,
};

static const BurnOpDefinition *const ops[] = {&all_reduce};
static const BurnKernelsInterface pack = {
    .struct_size = sizeof(BurnKernelsInterface), .version = 1, .op_count = sizeof ops / sizeof ops[0], .ops = ops};

BURN_COMMON_PLUGIN(KERNELS, "collective", "0.1.0", "MIT OR Apache-2.0", "sums over threads: the op all_reduce",
                   {"burn.kernels", &pack})
