/* wrapping_decorator.c - a decorator by somebody else that hands out tensors of its own, and leaves to the level below
 * what has no tensors in it: for decorator_forward_test. */
#include <burn/common/descriptor.h>
#include <burn/common/failure.h>
#include <burn/plugin/plugin.h>

#include <stdatomic.h>

typedef struct Wrapping {
  const BurnHost *host;
  const BurnBackend *next;
  uint32_t owner;
} Wrapping;

/* The header that everybody reads, whose lists are those of `inner`. */
typedef struct Tensor {
  BurnPrimitive header;
  atomic_uint references;
  BurnPrimitive *inner;
} Tensor;

static Tensor *tensor_of(BurnPrimitive *x) { return (Tensor *)(void *)x; }

/* Takes inner. */
static BurnStatus wrap(const Wrapping *wrapping, BurnPrimitive *inner, BurnPrimitive **out) {
  Tensor *x = wrapping->host->allocate(sizeof *x);
  if (!x) {
    wrapping->next->release(wrapping->next->self, inner);
    return BURN_COMMON_FAIL(wrapping->host, OUT_OF_MEMORY, PLUGIN_NAME, "no memory for a tensor");
  }
  *x = (Tensor){.header = *inner, .inner = inner};
  x->header.struct_size = sizeof(BurnPrimitive);
  x->header.owner = wrapping->owner;
  atomic_init(&x->references, 1u);
  *out = &x->header;
  return BURN_OK;
}

static void BURN_API_CALL wrapping_retain(void *self, BurnPrimitive *x) {
  (void)self;
  atomic_fetch_add(&tensor_of(x)->references, 1u);
}

static void BURN_API_CALL wrapping_release(void *self, BurnPrimitive *x) {
  const Wrapping *wrapping = self;
  if (!x || atomic_fetch_sub(&tensor_of(x)->references, 1u) != 1) return;
  wrapping->next->release(wrapping->next->self, tensor_of(x)->inner);
  wrapping->host->free(x, sizeof(Tensor));
}

/* -- the table -------------------------------------------------------------------------------- */

static uint32_t BURN_API_CALL wrapping_op_support(void *self, uint32_t op) {
  (void)self;
  (void)op;
  return BURN_SUPPORT_YES; /* invoke finds a way below */
}

/* Wraps inner[0 .. count-1], all or none. */
static BurnStatus give_out(Wrapping *wrapping, BurnPrimitive **inner, uint32_t count, BurnPrimitive **out) {
  BurnStatus status = BURN_OK;
  for (uint32_t i = 0; i < count; i++) {
    if (status == BURN_OK) {
      status = wrap(wrapping, inner[i], &out[i]);
    } else {
      wrapping->next->release(wrapping->next->self, inner[i]);
    }
  }
  for (uint32_t i = 0; i < count && status != BURN_OK; i++) {
    wrapping_release(wrapping, out[i]);
    out[i] = NULL;
  }
  return status;
}

static BurnStatus BURN_API_CALL wrapping_submit(void *self, const BurnOpCall *call) {
  Wrapping *wrapping = self;
  BurnPrimitive *inputs[BURN_MAX_FIXED_INPUTS] = {NULL}, *outputs[BURN_MAX_OUTPUTS] = {NULL};
  if (call->input_count > BURN_MAX_FIXED_INPUTS)
    return BURN_COMMON_FAIL(wrapping->host, UNIMPLEMENTED, PLUGIN_NAME, "a list of %u inputs", call->input_count);
  for (uint32_t i = 0; i < call->input_count; i++)
    inputs[i] = call->inputs[i] ? tensor_of(call->inputs[i])->inner : NULL;
  BurnOpCall below = burn_call_copy(call);
  below.inputs = inputs;
  below.outputs = outputs;
  below.donate = 0; /* the wrapper holds the inner tensor until it is released itself */
  const BurnStatus status = wrapping->host->invoke(wrapping->next, &below);
  return status == BURN_OK ? give_out(wrapping, outputs, call->output_count, call->outputs) : status;
}

static BurnStatus BURN_API_CALL wrapping_create(void *self, const BurnTensorDesc *desc, const void *data,
                                                BurnPrimitive **out) {
  const Wrapping *wrapping = self;
  BurnPrimitive *inner = NULL;
  const BurnStatus status = wrapping->next->create(wrapping->next->self, desc, data, &inner);
  return status == BURN_OK ? wrap(wrapping, inner, out) : status;
}

static BurnStatus BURN_API_CALL wrapping_read(void *self, BurnPrimitive *x, void *data, uint64_t bytes) {
  const BurnBackend *next = ((Wrapping *)self)->next;
  return next->read(next->self, tensor_of(x)->inner, data, bytes);
}

static uint32_t BURN_API_CALL wrapping_dtype_usage(void *self, BurnDType dtype) {
  const BurnBackend *next = ((Wrapping *)self)->next;
  return next->dtype_usage(next->self, dtype);
}

static BurnPrimitive *BURN_API_CALL wrapping_unwrap(void *self, BurnPrimitive *x) {
  (void)self;
  return tensor_of(x)->inner;
}

static BurnStatus BURN_API_CALL wrapping_adopt(void *self, BurnPrimitive *inner, BurnPrimitive **out) {
  const Wrapping *wrapping = self;
  wrapping->next->retain(wrapping->next->self, inner);
  return wrap(wrapping, inner, out);
}

static void BURN_API_CALL wrapping_close(void *self) {
  Wrapping *wrapping = self;
  wrapping->host->free(wrapping, sizeof *wrapping);
}

static BurnStatus BURN_API_CALL wrapping_open(const BurnHost *host, const BurnBackend *next, const BurnOptions *options,
                                              uint32_t owner, BurnBackend *out) {
  const BurnStatus checked = burn_plugin_check_open(host, out, PLUGIN_NAME);
  (void)options;
  if (checked != BURN_OK) return checked;
  Wrapping *wrapping = host->allocate(sizeof *wrapping);
  if (!wrapping) return BURN_COMMON_FAIL(host, OUT_OF_MEMORY, PLUGIN_NAME, "no memory to open the decorator");
  *wrapping = (Wrapping){host, next, owner};
  out->self = wrapping;
  out->name = PLUGIN_NAME;
  out->close = wrapping_close;
  out->op_support = wrapping_op_support;
  out->submit = wrapping_submit;
  out->create = wrapping_create;
  out->read = wrapping_read;
  out->retain = wrapping_retain;
  out->release = wrapping_release;
  out->dtype_usage = wrapping_dtype_usage;
  out->unwrap = wrapping_unwrap;
  out->adopt = wrapping_adopt;
  return BURN_OK;
}

static const BurnDecoratorInterface decorator = {
    .struct_size = sizeof decorator, .version = 1, .wraps_tensors = 1, .open = wrapping_open};

BURN_COMMON_PLUGIN(DECORATOR, PLUGIN_NAME, "1.0.0", "MIT OR Apache-2.0", "wraps tensors",
                   {"burn.decorator", &decorator})
