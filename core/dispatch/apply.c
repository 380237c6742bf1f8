/* apply.c - from a public op to a boxed call: checks of the handles, shape rule, call, and the results in their place.
 */
#include "guard.h"

#include <burn/plugin/calls.h>

#include <stdlib.h>
#include <string.h>

enum { INLINE_INPUTS = 8, INLINE_CALLS = 8 };

static BURN__COLD BurnStatus check_guards(uint32_t op, BurnTensor *const *inputs, uint32_t count) {
  BurnStatus status = BURN_OK;
  for (uint32_t i = 0; i < count && status == BURN_OK; i++) {
    if (inputs[i]) status = burn__guard_check(inputs[i], burn__op_name(op));
  }
  return status;
}

static BURN__COLD BurnStatus two_devices(uint32_t op, BurnDevice *one, BurnDevice *other) {
  const char *name = burn_device_name(one);
  BurnDevice *outer = burn_device_inner(one) == other ? one : other, *inner = outer == one ? other : one;
  if (burn_device_inner(outer) == inner) {
    return BURN_FAIL(INVALID_ARGUMENT,
                     "%s: tensors live on '%s' and on its inner device '%s'; take a module's valid copy there, or lift "
                     "a tensor with burn_from_inner",
                     burn__op_name(op), burn_device_name(outer), burn_device_name(inner));
  }
  if (strcmp(name, burn_device_name(other)) == 0) {
    return BURN_FAIL(INVALID_ARGUMENT,
                     "%s: tensors live on two devices, each opened as '%s'; open it once for both, or move one with "
                     "burn_to_device",
                     burn__op_name(op), name);
  }
  return BURN_FAIL(INVALID_ARGUMENT,
                   "%s: tensors live on different devices: '%s' and '%s'; move one with burn_to_device",
                   burn__op_name(op), name, burn_device_name(other));
}

static BURN__COLD BurnStatus no_device(uint32_t op, uint32_t input_count) {
  const BurnOpInfo *info = burn__op_info(op);
  if (input_count > 0 || !info) return BURN_FAIL(INVALID_ARGUMENT, "%s: a tensor is NULL", burn__op_name(op));
  if (info->takes_list) return BURN_FAIL(INVALID_ARGUMENT, "%s: 0 inputs given, 1 or more expected", info->name);
  if (info->input_count > 0)
    return BURN_FAIL(INVALID_ARGUMENT, "%s: 0 inputs given, %u expected", info->name, info->input_count);
  return BURN_FAIL(INVALID_ARGUMENT, "%s: it has no inputs, so it needs a device: give one to burn_op_call",
                   info->name);
}

/* All inputs are usable and live on one device: *device if it is given, else it is stored there. */
BURN__INLINE BurnStatus check_inputs(uint32_t op, BurnTensor *const *inputs, uint32_t count, BurnDevice **device) {
  if (burn__is_guarded()) {
    const BurnStatus status = check_guards(op, inputs, count);
    if (status != BURN_OK) return status;
  }
  for (uint32_t i = 0; i < count; i++) {
    if (!inputs[i]) continue;
    if (inputs[i]->status != BURN_OK) return burn__tensor_carried_status(inputs[i]);
    if (*device && *device != inputs[i]->device) return two_devices(op, *device, inputs[i]->device);
    *device = inputs[i]->device;
    for (uint32_t j = 0; j < i; j++) {
      if (inputs[j] != inputs[i]) continue;
      return BURN_FAIL(TENSOR_TAKEN, "%s: the same tensor is given twice; give a burn_clone of it", burn__op_name(op));
    }
  }
  return *device ? BURN_OK : no_device(op, count);
}

static BurnOpCall call_of(uint32_t op, BurnPrimitive *const *inputs, uint32_t input_count, const BurnAttr *attrs,
                          uint32_t attr_count, BurnPrimitive **outputs, uint32_t output_count, BurnTensorDesc *descs) {
  return (BurnOpCall){.struct_size = sizeof(BurnOpCall),
                      .op = op,
                      .attr_count = attr_count,
                      .input_count = input_count,
                      .output_count = output_count,
                      .inputs = inputs,
                      .outputs = outputs,
                      .attrs = attrs,
                      .output_descs = descs,
                      .donate = input_count >= 64 ? UINT64_MAX : ((uint64_t)1 << input_count) - 1};
}

/* The shape rule, and that the device has the dtypes. */
BURN__INLINE BurnStatus infer(const BurnDevice *device, const BurnOpInfo *info, const BurnOpCall *call,
                              BurnTensorDesc *descs) {
  BurnStatus status = info ? burn__infer_as(info, call, descs) : burn__infer(call, descs);
  for (uint32_t i = 0; status == BURN_OK && i < call->output_count; i++) {
    const bool known = call->input_count > 0 && call->inputs[0] && descs[i].dtype == call->inputs[0]->dtype;
    if (!known) status = burn__check_storable(device, descs[i].dtype, burn__op_name(call->op));
  }
  return status;
}

/* The results are those that the shape rule promised: whoever reads them goes by their headers. */
BURN__INLINE BurnStatus check_results(const BurnBackend *top, const BurnOpCall *call) {
  for (uint32_t i = 0; i < call->output_count; i++) {
    if (burn__is_as(call->outputs[i], &call->output_descs[i])) continue;
    const BurnStatus status =
        burn__wrong_given(top, burn__op_name(call->op), &call->output_descs[i], &call->outputs[i]);
    burn__drop_outputs(top, call);
    return status;
  }
  return BURN_OK;
}

/* Runs the call on primitives; outputs are set only on success. */
BURN__INLINE BurnStatus run(BurnDevice *device, uint32_t op, BurnTensor *const *inputs, uint32_t input_count,
                            const BurnAttr *attrs, uint32_t attr_count, BurnPrimitive **outputs,
                            uint32_t output_count) {
  BurnPrimitive *few[INLINE_INPUTS];
  BurnPrimitive **primitives = input_count <= INLINE_INPUTS ? few : malloc(input_count * sizeof *primitives);
  if (!primitives) return BURN_FAIL(OUT_OF_MEMORY, "%s: no memory for %u inputs", burn__op_name(op), input_count);
  for (uint32_t i = 0; i < input_count; i++) primitives[i] = inputs[i] ? inputs[i]->primitive : NULL;
  BurnTensorDesc descs[BURN_MAX_OUTPUTS];
  const BurnOpCall call = call_of(op, primitives, input_count, attrs, attr_count, outputs, output_count, descs);
  const BurnOpInfo *info = burn__op_info(op);
  BurnStatus status = infer(device, info, &call, descs);
  if (status == BURN_OK) status = burn__invoke_complete(&device->top->backend, info, &call);
  if (status == BURN_OK) status = check_results(&device->top->backend, &call);
  if (primitives != few) free(primitives);
  return status;
}

/* Results for inputs: no handle becomes another, and all have one place. */
static BURN__COLD void exchange_guarded(BurnDevice *device, uint32_t op, BurnTensor *const *inputs,
                                        uint32_t input_count, BurnPrimitive **outputs, BurnTensor **out,
                                        uint32_t output_count) {
  burn__guard_op_begin();
  for (uint32_t i = 0; i < output_count; i++) out[i] = burn__tensor_new(device, outputs[i], op);
  for (uint32_t i = 0; i < input_count; i++) burn__tensor_take(inputs[i], burn__op_name(op));
  burn__guard_op_end();
}

BURN__INLINE void exchange(BurnDevice *device, uint32_t op, BurnTensor *const *inputs, uint32_t input_count,
                           BurnPrimitive **outputs, BurnTensor **out, uint32_t output_count) {
  if (burn__is_guarded()) {
    exchange_guarded(device, op, inputs, input_count, outputs, out, output_count);
    return;
  }
  for (uint32_t i = 1; i < output_count; i++) out[i] = burn__tensor_new(device, outputs[i], op);
  const bool becomes = input_count > 0 && inputs[0];
  out[0] = becomes ? burn__tensor_become(inputs[0], outputs[0], op) : burn__tensor_new(device, outputs[0], op);
  for (uint32_t i = becomes; i < input_count; i++) { /* none stands there twice: check_inputs */
    if (inputs[i]) burn__tensor_end(inputs[i], NULL);
  }
}

BURN__INLINE void apply_on(BurnDevice *device, uint32_t op, BurnTensor *const *inputs, uint32_t input_count,
                           const BurnAttr *attrs, uint32_t attr_count, BurnTensor **out, uint32_t output_count) {
  BurnPrimitive *outputs[BURN_MAX_OUTPUTS] = {NULL};
  const bool may_work = burn__work_enter();
  BurnStatus status = may_work ? check_inputs(op, inputs, input_count, &device) : burn__fork_failure();
  if (status == BURN_OK) status = run(device, op, inputs, input_count, attrs, attr_count, outputs, output_count);
  if (status != BURN_OK) {
    for (uint32_t i = 0; i < output_count; i++) out[i] = burn__tensor_failed(status);
    burn__tensor_take_all(inputs, input_count, burn__op_name(op));
    if (may_work) burn__work_leave();
    return;
  }
  exchange(device, op, inputs, input_count, outputs, out, output_count);
  burn__work_leave();
}

void burn__apply_on(BurnDevice *device, uint32_t op, BurnTensor *const *inputs, uint32_t input_count,
                    const BurnAttr *attrs, uint32_t attr_count, BurnTensor **out, uint32_t output_count) {
  apply_on(device, op, inputs, input_count, attrs, attr_count, out, output_count);
}

void burn__apply_outputs(uint32_t op, BurnTensor *const *inputs, uint32_t input_count, const BurnAttr *attrs,
                         uint32_t attr_count, BurnTensor **out, uint32_t output_count) {
  burn__apply_on(NULL, op, inputs, input_count, attrs, attr_count, out, output_count);
}

BurnTensor *burn__apply(uint32_t op, BurnTensor *const *inputs, uint32_t input_count, const BurnAttr *attrs,
                        uint32_t attr_count) {
  BurnTensor *out = NULL;
  apply_on(NULL, op, inputs, input_count, attrs, attr_count, &out, 1);
  return out;
}

/* For one and two inputs, which most calls have, loops over them are written out by the compiler. */
BurnTensor *burn__apply_unary(uint32_t op, BurnTensor *x) {
  BurnTensor *out = NULL;
  apply_on(NULL, op, &x, 1, NULL, 0, &out, 1);
  return out;
}

BurnTensor *burn__apply_binary(uint32_t op, BurnTensor *lhs, BurnTensor *rhs) {
  BurnTensor *const inputs[] = {lhs, rhs};
  BurnTensor *out = NULL;
  apply_on(NULL, op, inputs, 2, NULL, 0, &out, 1);
  return out;
}

/* -- many calls of one op --------------------------------------------------------------------- */

typedef struct Joined {
  BurnOpCall call;
  BurnPrimitive *inputs[INLINE_INPUTS], *outputs[BURN_MAX_OUTPUTS];
  BurnTensorDesc descs[BURN_MAX_OUTPUTS];
} Joined;

/* All of them, and the list that the backend gets. */
typedef struct JoinedCalls {
  Joined *each;
  const BurnOpCall **list;
} JoinedCalls;

/* "burn.calls" of the top of a stack, if calls of the op are to go there. A decorator that only passes the question on
 * has to see the calls itself. */
static const BurnCallsInterface *joiner(const BurnInstance *top, uint32_t op, void **self) {
  BurnInterface here, below;
  const BurnInstance *next = top->next;
  if (op >= BURN_OP_LIMIT || top->support[op] != BURN_SUPPORT_YES) return NULL;
  if (!burn__backend_ask(&top->backend, BURN_CALLS_INTERFACE, &here)) return NULL;
  if (next && burn__backend_ask(&next->backend, BURN_CALLS_INTERFACE, &below) && below.self == here.self) return NULL;
  const BurnCallsInterface *table = here.table;
  *self = here.self;
  const bool is_whole = table->struct_size >= BURN_CALLS_INTERFACE_MIN_BYTES && table->joins && table->submit_many;
  return is_whole && table->joins(here.self, op) ? table : NULL;
}

/* Fills in call `index`; false if it would fail. */
static bool join(const BurnOpInfo *op, BurnTensor *const *inputs, uint32_t input_count, const BurnAttr *attrs,
                 BurnDevice **device, Joined *one) {
  if (check_inputs(op->op, inputs, input_count, device) != BURN_OK) return false;
  for (uint32_t i = 0; i < input_count; i++) one->inputs[i] = inputs[i] ? inputs[i]->primitive : NULL;
  for (uint32_t i = 0; i < op->output_count; i++) one->outputs[i] = NULL;
  one->call =
      call_of(op->op, one->inputs, input_count, attrs, op->attr_count, one->outputs, op->output_count, one->descs);
  return infer(*device, op, &one->call, one->descs) == BURN_OK;
}

/* What was given away is gone, and what is missing cannot be made again: all of them fail. */
static BURN__COLD void fail_joined(const BurnBackend *top, const BurnOpInfo *op, size_t count,
                                   BurnTensor *const *inputs, uint32_t input_count, BurnTensor **outputs,
                                   JoinedCalls joined, BurnStatus status) {
  for (size_t i = 0; i < count; i++) {
    burn__drop_outputs(top, &joined.each[i].call);
    for (uint32_t k = 0; k < op->output_count; k++) outputs[i * op->output_count + k] = burn__tensor_failed(status);
  }
  burn__tensor_take_all(inputs, (uint32_t)count * input_count, op->name);
}

/* All calls as one; false, and nothing done, where that cannot be. */
static bool submit_joined(const BurnCallsInterface *table, void *self, const BurnOpInfo *op, size_t count,
                          BurnTensor *const *inputs, uint32_t input_count, const BurnAttr *attrs, BurnTensor **outputs,
                          JoinedCalls joined) {
  BurnDevice *device = NULL;
  for (size_t i = 0; i < count; i++) {
    Joined *one = &joined.each[i];
    if (!join(op, inputs + i * input_count, input_count, attrs + i * op->attr_count, &device, one)) return false;
    joined.list[i] = &one->call;
  }
  if (table->submit_many(self, joined.list, count) != BURN_OK) return false;
  const BurnBackend *top = &device->top->backend;
  BurnStatus status = BURN_OK;
  for (size_t i = 0; i < count && status == BURN_OK; i++) status = check_results(top, &joined.each[i].call);
  if (status != BURN_OK) {
    fail_joined(top, op, count, inputs, input_count, outputs, joined, status);
    return true;
  }
  for (size_t i = 0; i < count; i++) {
    exchange(device, op->op, inputs + i * input_count, input_count, joined.each[i].outputs,
             outputs + i * op->output_count, op->output_count);
  }
  return true;
}

bool burn__apply_joined(const BurnOpInfo *op, size_t count, BurnTensor *const *inputs, uint32_t input_count,
                        const BurnAttr *attrs, BurnTensor **outputs) {
  Joined few[INLINE_CALLS]; /* a small model's */
  const BurnOpCall *short_list[INLINE_CALLS];
  if (count < 2 || input_count > INLINE_INPUTS || !inputs[0] || inputs[0]->status != BURN_OK || !burn__work_enter())
    return false;
  void *self = NULL;
  const BurnCallsInterface *table = joiner(inputs[0]->device->top, op->op, &self);
  Joined *many = table && count > INLINE_CALLS ? malloc(count * (sizeof *many + sizeof(BurnOpCall *))) : NULL;
  const JoinedCalls joined =
      many ? (JoinedCalls){many, (const BurnOpCall **)(void *)(many + count)} : (JoinedCalls){few, short_list};
  const bool has_room = many || count <= INLINE_CALLS;
  const bool done =
      table && has_room && submit_joined(table, self, op, count, inputs, input_count, attrs, outputs, joined);
  free(many);
  burn__work_leave();
  return done;
}

/* -- ops that make tensors, and those along a dim --------------------------------------------- */

BurnTensor *burn__create(BurnDevice *device, uint32_t op, BurnShape shape, BurnDType dtype, const BurnAttr *more,
                         uint32_t more_count) {
  const BurnStatus failed = burn__device_status(device);
  if (failed != BURN_OK) return burn__tensor_failed(failed);
  if (shape.rank > BURN_MAX_RANK) {
    return burn__tensor_failed(
        BURN_FAIL(INVALID_SHAPE, "%s: rank %u; at most %u is possible", burn__op_name(op), shape.rank, BURN_MAX_RANK));
  }
  BurnAttr attrs[12];
  attrs[0] = burn_attr_i64s(shape.dims, shape.rank);
  attrs[1] = burn_attr_dtype(dtype ? dtype : device->float_dtype);
  for (uint32_t i = 0; i < more_count; i++) attrs[2 + i] = more[i];
  if (!burn__work_enter()) return burn__tensor_failed(burn__fork_failure());
  BurnPrimitive *output = NULL;
  const BurnStatus status = run(device, op, NULL, 0, attrs, 2 + more_count, &output, 1);
  BurnTensor *result = status == BURN_OK ? burn__tensor_new(device, output, op) : burn__tensor_failed(status);
  burn__work_leave();
  return result;
}

BurnStatus burn__resolve_dim(const BurnTensor *x, const char *user, int dim, uint32_t rank, int64_t *out) {
  const BurnStatus status = burn__tensor_check(x, user);
  if (status != BURN_OK) return status;
  const int64_t axis = dim < 0 ? (int64_t)dim + rank : dim;
  if (axis < 0 || axis >= (int64_t)rank) {
    BurnShapeText text;
    return BURN_FAIL(OUT_OF_RANGE, "%s: dim %d is outside -%u..%d of shape %s", user, dim, rank, (int)rank - 1,
                     burn__shape_text(&text, x->primitive->rank, x->primitive->shape));
  }
  *out = axis;
  return BURN_OK;
}

BurnTensor *burn__apply_dim(uint32_t op, BurnTensor *x, int dim) {
  int64_t axis = 0;
  const char *name = burn__op_name(op);
  const BurnStatus status = burn__resolve_dim(x, name, dim, burn_rank(x), &axis);
  if (status != BURN_OK) {
    burn__tensor_take(x, name);
    return burn__tensor_failed(status);
  }
  const BurnAttr attr = burn_attr_i64(axis);
  return burn__apply(op, &x, 1, &attr, 1);
}
