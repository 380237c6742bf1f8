/* invoke.c - how a call reaches a kernel: complete it, check owners, then the backend's own kernel or the
 * decomposition.
 *
 * Every step down a stack passes through here (layers call host->invoke), so a backend may lack any composite op at any
 * depth. */
#include "core_internal.h"

#include <burn/plugin/autodiff.h>
#include <burn/plugin/kernels.h>

#include <stdio.h>
#include <string.h>

/* Calls within calls, of one thread: decorators and decompositions nest, by far not so deep. More is a decomposition
 * that runs the op it stands for, or a decorator that runs a call on itself, and would end with the stack. */
enum { MAX_NESTED = 64 };
static BURN__THREAD_LOCAL uint32_t nested, outermost; /* how many, and the op of the first */

/* A call made complete. */
typedef struct CompleteCall {
  BurnOpCall call;
  BurnAttrStorage room;
  BurnTensorDesc descs[BURN_MAX_OUTPUTS];
} CompleteCall;

static bool attrs_are_complete(const BurnOpInfo *info, const BurnOpCall *call) {
  if (call->attr_count != info->attr_count) return false;
  for (uint32_t i = 0; i < call->attr_count; i++) {
    if (call->attrs[i].tag == BURN_ATTR_NONE) return false;
  }
  return true;
}

BurnStatus burn__complete_attrs(const BurnOpInfo *info, BurnOpCall *call, BurnAttrStorage *room) {
  if (attrs_are_complete(info, call)) return BURN_OK;
  if (call->attr_count > info->attr_count || info->attr_count > BURN_MAX_ATTRS) {
    return BURN_FAIL(INVALID_ARGUMENT, "%s: %u attributes given, %u known", info->name, call->attr_count,
                     info->attr_count);
  }
  for (uint32_t i = 0; i < info->attr_count; i++) {
    if (i < call->attr_count && call->attrs[i].tag != BURN_ATTR_NONE) {
      room->attrs[i] = call->attrs[i];
      continue;
    }
    const BurnAttr *fallback = &info->attr_defaults[i];
    if (fallback->tag == BURN_ATTR_NONE) {
      return BURN_FAIL(INVALID_ARGUMENT, "%s: attribute '%s' is required", info->name, info->attr_names[i]);
    }
    room->attrs[i] = *fallback;
    if (fallback->tag != BURN_ATTR_I64S) continue;
    for (uint32_t axis = 0; axis < BURN_MAX_RANK; axis++) room->repeated[i][axis] = fallback->value.i64;
    room->attrs[i] = burn_attr_i64s(room->repeated[i], BURN_MAX_RANK);
  }
  call->attrs = room->attrs;
  call->attr_count = info->attr_count;
  return BURN_OK;
}

static BURN__COLD BurnStatus missing_list(const BurnOpInfo *info, const BurnOpCall *call) {
  const bool inputs = call->input_count > 0 && !call->inputs, outputs = call->output_count > 0 && !call->outputs;
  return BURN_FAIL(INVALID_ARGUMENT, "%s: the call has %u %s, but the list of them is NULL", info->name,
                   inputs    ? call->input_count
                   : outputs ? call->output_count
                             : call->attr_count,
                   inputs    ? "inputs"
                   : outputs ? "outputs"
                             : "attributes");
}

/* What a plugin may have put into its call: lists that are not there, tensors of others. */
static BurnStatus check_call(const BurnBackend *backend, const BurnOpInfo *info, const BurnOpCall *call) {
  if ((call->input_count > 0 && !call->inputs) || (call->output_count > 0 && !call->outputs) ||
      (call->attr_count > 0 && !call->attrs))
    return missing_list(info, call);
  for (uint32_t i = 0; i < call->input_count; i++) {
    const BurnPrimitive *x = call->inputs[i];
    if (!x || x->owner == backend->owner) continue;
    return BURN_FAIL(BAD_OWNER, "%s: input %u belongs to backend instance %u, not to '%s' (instance %u)", info->name, i,
                     x->owner, backend->name, backend->owner);
  }
  return BURN_OK;
}

static uint32_t known_attrs(const BurnInstance *instance, const BurnOpInfo *info) {
  uint32_t count = info->attr_count;
  while (count > 0 && info->attr_since && info->attr_since[count - 1] > instance->target) count--;
  return count;
}

static bool is_default(const BurnAttr *attr, const BurnAttr *fallback) {
  if (attr->tag != BURN_ATTR_I64S)
    return attr->tag == fallback->tag && memcmp(&attr->value, &fallback->value, sizeof attr->value) == 0;
  for (uint32_t i = 0; i < attr->count; i++) {
    if (attr->value.i64s[i] != fallback->value.i64) return false;
  }
  return true;
}

/* A plugin gets the attributes that its version knows. *support becomes NO where it would miss something: a later
 * attribute that is not at its default. */
static void cut_attrs(const BurnInstance *instance, const BurnOpInfo *info, BurnOpCall *call, uint32_t *support,
                      char *why, size_t why_bytes) {
  const uint32_t known = known_attrs(instance, info);
  for (uint32_t i = known; i < call->attr_count; i++) {
    if (is_default(&call->attrs[i], &info->attr_defaults[i])) continue;
    snprintf(why, why_bytes, "its attribute '%s' came with plugin ABI %u.%u, '%s' is built for %u.%u",
             info->attr_names[i], BURN_ABI_MAJOR, info->attr_since[i], instance->plugin->name, BURN_ABI_MAJOR,
             instance->target);
    *support = BURN_SUPPORT_NO;
    return;
  }
  call->attr_count = known;
}

/* For ops that the backend does not always run itself. */
static BurnStatus route_by_asking(const BurnInstance *instance, const BurnOpInfo *info, const BurnOpCall *given) {
  const BurnBackend *backend = &instance->backend;
  BurnOpCall cut;
  const BurnOpCall *call = given;
  char why[256];
  why[0] = why[sizeof why - 1] = '\0'; /* the last byte stays, whatever a plugin puts there */
  if (call->op >= BURN_OP_FIRST_OF_PACKS && !instance->next) {
    bool ran = false;
    const BurnStatus status = burn__pack_run((BurnInstance *)(uintptr_t)instance, call, &ran, why, sizeof why - 1);
    if (ran || status != BURN_OK) return status;
  }
  uint32_t support =
      call->op < BURN_OP_LIMIT ? instance->support[call->op] : backend->op_support(backend->self, call->op);
  if (support & BURN__SUPPORT_OLDER) {
    support &= ~(uint32_t)BURN__SUPPORT_OLDER;
    cut = burn__call_copy(given);
    call = &cut;
    cut_attrs(instance, info, &cut, &support, why, sizeof why);
  }
  if (support == BURN_SUPPORT_ASK) {
    support = backend->supports(backend->self, call, why, sizeof why - 1) ? BURN_SUPPORT_YES : BURN_SUPPORT_NO;
  }
  if (support == BURN_SUPPORT_YES) return backend->submit(backend->self, call);
  if (info->is_composite) return burn__decompose(backend, given);
  return BURN_FAIL(UNIMPLEMENTED, "%s: backend '%s' has no kernel for it%s%s, and it has no decomposition", info->name,
                   backend->name, why[0] ? ": " : "", why);
}

static BurnStatus route(const BurnInstance *instance, const BurnOpInfo *info, const BurnOpCall *call) {
  const bool always = call->op < BURN_OP_LIMIT && instance->support[call->op] == BURN_SUPPORT_YES;
  return always ? instance->backend.submit(instance->backend.self, call) : route_by_asking(instance, info, call);
}

void burn__drop_outputs(const BurnBackend *backend, const BurnOpCall *call) {
  for (uint32_t i = 0; i < call->output_count; i++) {
    if (call->outputs[i]) backend->release(backend->self, call->outputs[i]);
    call->outputs[i] = NULL;
  }
}

/* A plugin that says it succeeded and left output i empty: what else it made goes. */
static BURN__COLD BurnStatus no_result(const BurnBackend *backend, const BurnOpInfo *info, const BurnOpCall *call,
                                       uint32_t i) {
  burn__drop_outputs(backend, call);
  return BURN_FAIL(INTERNAL, "%s: '%s' reports success, but gave no result %u", info->name, backend->name, i);
}

/* A plugin that made up a number, or returned a code without a message: by itself it would be told without a name. */
static BURN__COLD BurnStatus failed(const BurnBackend *backend, const BurnOpInfo *info, BurnStatus status) {
  if (burn__status_has_message(status)) return status;
  return burn_status_annotate(status, "%s: '%s'", info->name, backend->name);
}

static BurnStatus dispatch(const BurnInstance *instance, const BurnOpInfo *info, const BurnOpCall *call) {
  const BurnStatus status = route(instance, info, call);
  if (status != BURN_OK) return failed(&instance->backend, info, status);
  for (uint32_t i = 0; i < call->output_count; i++) {
    if (!call->outputs[i]) return no_result(&instance->backend, info, call, i);
  }
  return BURN_OK;
}

/* Slow path: something is missing in the call. */
static BurnStatus invoke_incomplete(const BurnInstance *instance, const BurnOpInfo *info, const BurnOpCall *call) {
  CompleteCall complete;
  complete.call = burn__call_copy(call);
  BurnStatus status = burn__complete_attrs(info, &complete.call, &complete.room);
  if (status == BURN_OK) status = burn__infer(&complete.call, complete.descs);
  if (status != BURN_OK) return status;
  complete.call.output_descs = complete.descs;
  return dispatch(instance, info, &complete.call);
}

BurnStatus burn__invoke_complete(const BurnBackend *backend, const BurnOpInfo *info, const BurnOpCall *call) {
  return dispatch((const BurnInstance *)(const void *)backend, info, call);
}

/* The call that is one too many may be any part of a decomposition that calls itself. */
static BURN__COLD BurnStatus nested_too_deep(const BurnBackend *backend, const BurnOpCall *call) {
  const uint32_t first = call->origin ? call->origin : outermost;
  const bool is_last = first == call->op;
  return BURN_FAIL(
      INTERNAL,
      "%s: %d calls are nested on '%s'%s%s: a decomposition runs the op that it stands for, or a decorator "
      "the call that it got, again on the same level",
      burn__op_name(first), MAX_NESTED, backend->name, is_last ? "" : ", the last one of ",
      is_last ? "" : burn__op_name(call->op));
}

BurnStatus burn__invoke(const BurnBackend *backend, const BurnOpCall *call) {
  const BurnInstance *instance = (const BurnInstance *)(const void *)backend;
  const BurnOpInfo *info = burn__op_info(call->op);
  if (!info) return BURN_FAIL(NOT_FOUND, "there is no op number %u", call->op);
  BurnStatus status = check_call(backend, info, call);
  if (status != BURN_OK) return status;
  if (nested == MAX_NESTED) return nested_too_deep(backend, call);
  if (nested++ == 0) outermost = call->op;
  /* A call with output_descs was completed by an earlier invoke; one that a plugin of an older version passes on may
   * lack attributes, which the plugin was not given. */
  const bool complete = call->output_descs && call->attr_count == info->attr_count;
  status = complete ? dispatch(instance, info, call) : invoke_incomplete(instance, info, call);
  nested--;
  return status;
}

/* Composite ops that compute, on f16 or bf16, do so in f32: sums of squares would overflow, e^x - 1 lose its digits,
 * and every step round. Those that only move elements do not gain by it. */
static bool computes_in_halves(const BurnOpCall *call) {
  const BurnOpInfo *info = burn__op_info(call->op);
  bool any = false;
  if (!(info->traits & (BURN_TRAIT_ELEMENTWISE | BURN_TRAIT_REDUCE | BURN_TRAIT_COMPUTE))) return false;
  if (info->takes_list || call->input_count > BURN_MAX_FIXED_INPUTS) return false;
  for (uint32_t i = 0; i < call->input_count; i++)
    any = any || (call->inputs[i] && burn__is_half(call->inputs[i]->dtype));
  return any;
}

/* The decomposition on inputs that are cast to f32; its results are rounded once. Their casts are steps like others:
 * gradients flow through them. */
static void decompose_in_f32(BurnDecomposition decomposition, BurnBuilder *builder, const BurnOpCall *call,
                             BurnPrimitive **results) {
  BurnPrimitive *inputs[BURN_MAX_FIXED_INPUTS];
  BurnTensorDesc descs[BURN_MAX_OUTPUTS];
  BurnOpCall wide = burn__call_copy(call);
  for (uint32_t i = 0; i < call->input_count; i++) {
    BurnPrimitive *x = call->inputs[i];
    inputs[i] = x && burn__is_half(x->dtype) ? burn_build_cast(builder, x, BURN_DTYPE_F32) : x;
  }
  for (uint32_t i = 0; i < call->output_count; i++) {
    descs[i] = call->output_descs[i];
    if (burn__is_half(descs[i].dtype)) descs[i].dtype = BURN_DTYPE_F32;
  }
  wide.inputs = inputs;
  wide.output_descs = descs;
  if (builder->status == BURN_OK) decomposition(builder, &wide, results);
  for (uint32_t i = 0; i < call->output_count; i++) {
    const BurnDType dtype = call->output_descs[i].dtype;
    if (results[i] && results[i]->dtype != dtype) results[i] = burn_build_cast(builder, results[i], dtype);
  }
}

/* The results of a pack's decomposition are those that the pack's shape rule promised: whoever computes with them goes
 * by the description. */
static BurnStatus check_results(const BurnBackend *backend, const BurnOpCall *call) {
  for (uint32_t i = 0; call->output_descs && i < call->output_count; i++) {
    const BurnPrimitive *x = call->outputs[i];
    const BurnTensorDesc *desc = &call->output_descs[i];
    const bool as_promised = !x || (x->dtype == desc->dtype && x->rank == desc->rank &&
                                    memcmp(x->shape, desc->shape, x->rank * sizeof x->shape[0]) == 0);
    if (as_promised) continue;
    BurnShapeText made, promised;
    const BurnStatus status =
        BURN_FAIL(INTERNAL, "%s: its decomposition made result %u %s %s, its shape rule said %s %s",
                  burn__op_name(call->op), i, burn_dtype_name(x->dtype), burn__shape_of(&made, x),
                  burn_dtype_name(desc->dtype), burn__shape_text(&promised, desc->rank, desc->shape));
    burn__drop_outputs(backend, call);
    return status;
  }
  return BURN_OK;
}

/* x without its history, as a reference of the caller's. */
static BurnStatus detach(const BurnBackend *backend, BurnPrimitive *x, BurnPrimitive **out) {
  BurnInterface found;
  if (!burn__backend_ask(backend, "burn.autodiff", &found))
    return BURN_FAIL(INTERNAL, "'%s' has a tracked tensor, but no burn.autodiff", backend->name);
  const BurnAutodiffInterface *autodiff = found.table;
  const BurnStatus status = autodiff->detach(found.self, x, out);
  return status == BURN_OK ? burn__check_given(backend, "detach", NULL, out) : status;
}

/* What a pack declares constant has no history in its decomposition, so that no gradient flows there. */
static BurnStatus decompose_of_pack(const BurnBackend *backend, const BurnOpCall *call,
                                    const BurnOpDefinition *definition) {
  BurnPrimitive *inputs[BURN_MAX_FIXED_INPUTS], *detached[BURN_MAX_FIXED_INPUTS] = {NULL};
  BurnOpCall own = burn__call_copy(call);
  BurnStatus status = BURN_OK;
  own.inputs = inputs;
  for (uint32_t i = 0; i < call->input_count && status == BURN_OK; i++) {
    const bool is_constant = (definition->constant_inputs & (1u << i)) != 0;
    inputs[i] = call->inputs[i];
    if (!is_constant || !inputs[i] || !(inputs[i]->flags & BURN_PRIMITIVE_TRACKED)) continue;
    status = detach(backend, inputs[i], &detached[i]);
    inputs[i] = detached[i];
  }
  if (status == BURN_OK) status = definition->decompose(burn__host(), backend, &own);
  if (status == BURN_OK) status = check_results(backend, &own);
  for (uint32_t i = 0; i < call->input_count; i++)
    if (detached[i]) backend->release(backend->self, detached[i]);
  return status;
}

BurnStatus burn__decompose(const BurnBackend *backend, const BurnOpCall *call) {
  const BurnOpDefinition *definition = burn__op_definition(call->op);
  if (definition && definition->decompose) return decompose_of_pack(backend, call, definition);
  const BurnDecomposition decomposition = burn__op_decomposition(call->op);
  if (!decomposition) return BURN_FAIL(UNIMPLEMENTED, "%s: the op has no decomposition", burn__op_name(call->op));
  BurnPrimitive *results[BURN_MAX_OUTPUTS] = {NULL};
  BurnBuilder builder = burn_builder_begin_for(burn__host(), backend, call);
  if (computes_in_halves(call)) {
    decompose_in_f32(decomposition, &builder, call, results);
  } else {
    decomposition(&builder, call, results);
  }
  return burn_builder_finish(&builder, call, results);
}
