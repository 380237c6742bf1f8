/* autocast_submit.c - what each call runs in: its inputs are cast as autocast_policy.def says, the call goes down, and
 * its results stay as they were computed. */
#include "autocast_internal.h"

enum { INPUTS_ON_STACK = 16 };

/* As autocast_policy.def names them. AS_SEEN: every input has the dtype that the program sees. */
typedef enum Policy { AS_SEEN, HALF, WIDE, KEEP } Policy;

static const uint8_t policies[BURN_OP_LIMIT] = {
#define AUTOCAST_OP(op, POLICY) [BURN_OP_##op] = POLICY,
#include "autocast_policy.def"
#undef AUTOCAST_OP
};

static Policy policy_of(uint32_t op) { return op < BURN_OP_LIMIT ? (Policy)policies[op] : AS_SEEN; }

/* A part of an op that runs in f32 does so, too: a level above that writes rfft with products has not been asked. */
static Policy policy_of_call(const BurnOpCall *call) {
  const Policy whole = call->origin ? policy_of(call->origin) : KEEP;
  return whole == WIDE || whole == AS_SEEN ? WIDE : policy_of(call->op);
}

/* What the inputs that the program sees as f32 are to be. Where it has asked for another float dtype beside them, it
 * gets what it sees. */
static BurnDType dtype_of_call(const AutocastDecorator *decorator, const BurnOpCall *call) {
  bool any_half = false, any_wide = false;
  for (uint32_t i = 0; i < call->input_count; i++) {
    if (!call->inputs[i] || burn_dtype_kind(call->inputs[i]->dtype) != BURN_KIND_FLOAT) continue;
    if (call->inputs[i]->dtype != BURN_DTYPE_F32) return BURN_DTYPE_F32;
    const bool is_wide = autocast_tensor(call->inputs[i])->held->dtype == BURN_DTYPE_F32;
    any_half = any_half || !is_wide;
    any_wide = any_wide || is_wide;
  }
  const Policy policy = policy_of_call(call);
  return policy == HALF || (policy == KEEP && any_half && !any_wide) ? decorator->half : BURN_DTYPE_F32;
}

static bool is_donated(const BurnOpCall *call, uint32_t i) {
  return i < 64u && (call->donate & (UINT64_C(1) << i)) != 0 && call->inputs[i] &&
         atomic_load_explicit(&autocast_tensor(call->inputs[i])->references, memory_order_acquire) == 1u;
}

/* Input i as the level below gets it. What is held is borrowed; a cast is the call's, and bit i of `owned`. */
static BurnStatus lower(AutocastDecorator *decorator, const BurnOpCall *call, uint32_t i, BurnDType dtype,
                        BurnPrimitive **out, bool *owned) {
  BurnPrimitive *x = call->inputs[i];
  *owned = false;
  *out = NULL;
  if (!x) return BURN_OK;
  const BurnStatus status = burn__autocast_check_owner(decorator, x, "submit");
  if (status != BURN_OK) return status;
  AutocastTensor *tensor = autocast_tensor(x);
  *out = tensor->held;
  if (x->dtype != BURN_DTYPE_F32 || tensor->held->dtype == dtype) return BURN_OK;
  *out = NULL;
  *owned = true;
  /* A tensor that ends with this call needs no cast afterwards, and one in f32 is rarely asked for twice. */
  return burn__autocast_as(decorator, tensor, dtype, dtype == decorator->half && !is_donated(call, i), out);
}

/* Wraps the results; takes over the references in `below`. */
static BurnStatus wrap_outputs(const AutocastDecorator *decorator, const BurnOpCall *call, BurnPrimitive **below) {
  BurnStatus status = BURN_OK;
  for (uint32_t i = 0; i < call->output_count; i++) {
    if (status == BURN_OK) {
      status = burn__autocast_wrap(decorator, below[i], call->output_descs[i].dtype, &call->outputs[i]);
    } else {
      decorator->next->release(decorator->next->self, below[i]);
    }
  }
  for (uint32_t i = 0; status != BURN_OK && i < call->output_count; i++) {
    burn__autocast_release((void *)(uintptr_t)decorator, call->outputs[i]);
    call->outputs[i] = NULL;
  }
  return status;
}

/* The call one level down, on inputs that are lowered. Those that are the call's own may be overwritten; what is held
 * if the wrapper was the last one. */
static BurnStatus run(AutocastDecorator *decorator, const BurnOpCall *call, BurnPrimitive *const *inputs,
                      uint64_t donate, bool as_described) {
  BurnPrimitive *outputs[BURN_MAX_OUTPUTS] = {NULL};
  BurnOpCall below = burn_call_copy(call);
  below.inputs = inputs;
  below.outputs = outputs;
  below.donate = donate;
  if (!as_described) below.output_descs = NULL; /* the host works them out again */
  BurnStatus status = decorator->host->invoke(decorator->next, &below);
  if (status == BURN_OK) status = burn_common_check_results(decorator->host, decorator->next, &below);
  return status == BURN_OK ? wrap_outputs(decorator, call, outputs) : status;
}

/* An f32 tensor that somebody else has, too, such as a parameter, seen with other axes. */
static void remember_view(const BurnOpCall *call) {
  if (call->op != BURN_OP_permute || is_donated(call, 0)) return;
  AutocastTensor *x = autocast_tensor(call->inputs[0]), *view = autocast_tensor(call->outputs[0]);
  if (x->header.dtype != BURN_DTYPE_F32 || x->held->dtype != BURN_DTYPE_F32) return;
  burn__autocast_remember_turned(view, x, BURN_ATTRS(permute, call)->axes.value.i64s);
}

static BurnStatus lower_and_run(AutocastDecorator *decorator, const BurnOpCall *call, BurnPrimitive **inputs,
                                bool *owned) {
  const BurnDType dtype = dtype_of_call(decorator, call);
  BurnStatus status = BURN_OK;
  uint64_t donate = 0;
  bool as_described = true;
  uint32_t count = 0;
  for (; count < call->input_count && status == BURN_OK; count++) {
    status = lower(decorator, call, count, dtype, &inputs[count], &owned[count]);
    if (status != BURN_OK || !inputs[count]) continue;
    if (inputs[count]->dtype != call->inputs[count]->dtype) as_described = false;
    if (count < 64u && (owned[count] || is_donated(call, count))) donate |= UINT64_C(1) << count;
  }
  if (status == BURN_OK) status = run(decorator, call, inputs, donate, as_described);
  if (status == BURN_OK) remember_view(call);
  for (uint32_t i = 0; i < count; i++) {
    if (owned[i]) decorator->next->release(decorator->next->self, inputs[i]);
  }
  return status;
}

BurnStatus BURN_API_CALL burn__autocast_submit(void *self, const BurnOpCall *call) {
  AutocastDecorator *decorator = self;
  const BurnHost *host = decorator->host;
  BurnPrimitive *few[INPUTS_ON_STACK];
  bool few_owned[INPUTS_ON_STACK];
  if (call->output_count > BURN_MAX_OUTPUTS)
    return AUTOCAST_FAIL(decorator, INVALID_ARGUMENT, "op %u has %u outputs, at most %u are possible", call->op,
                         call->output_count, BURN_MAX_OUTPUTS);
  if (call->input_count <= INPUTS_ON_STACK) return lower_and_run(decorator, call, few, few_owned);
  const uint64_t bytes = call->input_count * sizeof *few, owned_bytes = call->input_count * sizeof *few_owned;
  BurnPrimitive **inputs = host->allocate(bytes);
  bool *owned = host->allocate(owned_bytes);
  const BurnStatus status = inputs && owned
                                ? lower_and_run(decorator, call, inputs, owned)
                                : AUTOCAST_FAIL(decorator, OUT_OF_MEMORY, "no memory for %u inputs", call->input_count);
  host->free(owned, owned_bytes);
  host->free(inputs, bytes);
  return status;
}
