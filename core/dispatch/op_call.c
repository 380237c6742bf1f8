/* op_call.c - ops by name or number, and the entry points of tools that work below the tensors. */
#include "core_internal.h"
#include "null_check.h"

#include <burn/op_call.h>

const BurnOpInfo *burn_op_info(uint32_t op) { return burn__op_info(op); }
BurnStatus burn_op_find(const char *name, const BurnOpInfo **out) {
  const BurnStatus status = BURN_REQUIRED(out, "a const BurnOpInfo *");
  return status == BURN_OK ? burn__op_lookup(name, out) : status;
}

static void fail_outputs(BurnTensor **outputs, uint32_t count, BurnStatus status) {
  for (uint32_t i = 0; i < count; i++) outputs[i] = burn__tensor_failed(status);
}

static BurnStatus check_lists(BurnTensor *const *inputs, size_t input_count, const BurnAttr *attrs, size_t attr_count) {
  if (input_count > 0 && !inputs) return BURN_REQUIRED_BY("op_call", inputs, "a list of input_count tensors");
  return attr_count > 0 ? BURN_REQUIRED_BY("op_call", attrs, "a list of attr_count attributes") : BURN_OK;
}

void burn_op_call(BurnDevice *device, const BurnOpInfo *op, BurnTensor *const *inputs, size_t input_count,
                  const BurnAttr *attrs, size_t attr_count, BurnTensor **outputs) {
  const uint32_t inputs_given = input_count > UINT32_MAX ? UINT32_MAX : (uint32_t)input_count;
  BurnOpCall call = {.attrs = attrs, .attr_count = attr_count > UINT32_MAX ? UINT32_MAX : (uint32_t)attr_count};
  BurnAttrStorage room;
  if (!op) {
    fail_outputs(outputs, 1, BURN_REQUIRED(op, "what burn_op_find gives"));
    burn__tensor_take_all(inputs, inputs_given, "op_call");
    return;
  }
  BurnStatus status = device ? burn__device_status(device) : BURN_OK;
  if (status == BURN_OK) status = check_lists(inputs, input_count, attrs, attr_count);
  if (status == BURN_OK) status = burn__complete_attrs(op, &call, &room);
  if (status != BURN_OK) {
    fail_outputs(outputs, op->output_count, status);
    burn__tensor_take_all(inputs, inputs_given, op->name);
    return;
  }
  burn__apply_on(device, op->op, inputs, inputs_given, call.attrs, call.attr_count, outputs, op->output_count);
}

void burn_op_calls(const BurnOpInfo *op, size_t count, BurnTensor *const *inputs, size_t input_count,
                   const BurnAttr *attrs, BurnTensor **outputs) {
  const size_t attr_count = op ? op->attr_count : 0, output_count = op ? op->output_count : 1;
  if (op && input_count <= BURN_MAX_FIXED_INPUTS &&
      burn__apply_joined(op, count, inputs, (uint32_t)input_count, attrs, outputs))
    return;
  for (size_t i = 0; i < count; i++) {
    burn_op_call(NULL, op, inputs + i * input_count, input_count, attrs + i * attr_count, attr_count,
                 outputs + i * output_count);
  }
}

BurnTensor *burn_op(const char *name, BurnTensor *const *inputs, size_t input_count, const BurnAttr *attrs,
                    size_t attr_count) {
  const BurnOpInfo *op = NULL;
  BurnStatus status = burn__op_lookup(name, &op);
  if (status == BURN_OK && op->output_count != 1) {
    status = BURN_FAIL(INVALID_ARGUMENT, "%s has %u outputs; call it with burn_op_call", name, op->output_count);
  }
  BurnTensor *output = NULL;
  if (status == BURN_OK) {
    burn_op_call(NULL, op, inputs, input_count, attrs, attr_count, &output);
    return output;
  }
  burn__tensor_take_all(inputs, input_count, "op");
  return burn__tensor_failed(status);
}

const BurnHost *burn_host(void) { return burn__host(); }
const BurnBackend *burn_device_backend(const BurnDevice *device) {
  return device && device->top ? &device->top->backend : NULL;
}
BurnPrimitive *burn_tensor_primitive(const BurnTensor *x) {
  return burn__tensor_check(x, "primitive") == BURN_OK ? x->primitive : NULL;
}
BurnTensor *burn_tensor_from_primitive(BurnDevice *device, BurnPrimitive *primitive) {
  const BurnStatus status = burn__device_status(device);
  if (status != BURN_OK) return burn__tensor_failed(burn_status_annotate(status, "tensor_from_primitive"));
  if (!primitive) return burn__tensor_failed(BURN_REQUIRED(primitive, "one of the device"));
  return burn__tensor_new(device, primitive, 0);
}

/* -- levels of a stack ------------------------------------------------------------------------ */

static const BurnInstance *instance_of(const BurnBackend *level) { return (const BurnInstance *)(const void *)level; }

const BurnBackend *burn_backend_below(const BurnBackend *level) {
  const BurnInstance *next = level ? instance_of(level)->next : NULL;
  return next ? &next->backend : NULL;
}

const char *burn_backend_label(const BurnBackend *level) {
  return level && instance_of(level)->label ? instance_of(level)->label : "?";
}

uint32_t burn_backend_op_routes(const BurnBackend *level, uint32_t op) {
  const BurnOpInfo *info = burn__op_info(op);
  if (!level || !info) return 0;
  const uint32_t support = level->op_support(level->self, op);
  const bool has_kernel =
      !instance_of(level)->next && burn__pack_runs_kernel((BurnInstance *)(uintptr_t)level, op, INT32_MIN);
  uint32_t routes = has_kernel ? BURN_ROUTE_KERNEL_PACK : 0;
  if (support == BURN_SUPPORT_YES) routes |= BURN_ROUTE_NATIVE;
  if (support == BURN_SUPPORT_ASK) routes |= BURN_ROUTE_SOMETIMES;
  if (info->is_composite && support != BURN_SUPPORT_YES) routes |= BURN_ROUTE_DECOMPOSITION;
  return routes;
}
