/* empty_handed.c - a decorator that says that something succeeded and gives nothing, or something else:
 * empty_handed:of=create<ndarray>. For empty_handed_test. It has all functions of the table itself, so that interfaces
 * are its own.
 *
 *   create, create_shape, create_rank     no new tensor, one of another shape, one of a billion axes
 *   result, result_shape, result_rank     the same of an op's result
 *   tables                                every interface, without a table
 *   functions                             every interface, with a table of zeros
 *   fused, joined                         bodies that run, calls that are joined: no results
 *   recording                             a recording that is not there
 *   require_grad, detach, backward        of burn.autodiff
 *   end                                   that of the reason why it does not run mul */
#include "decorator_entry.h"

#include <burn/plugin/autodiff.h>
#include <burn/plugin/calls.h>
#include <burn/plugin/fused.h>
#include <burn/plugin/replay.h>

typedef struct Empty {
  const BurnHost *host;
  const BurnBackend *next;
  char of[32];
} Empty;

static int is(const Empty *empty, const char *of) { return strcmp(empty->of, of) == 0; }

/* Puts nothing, or another tensor, in the place of one, as `what` and its endings say. */
static BurnStatus spoil(const Empty *empty, const char *what, const BurnTensorDesc *desc, BurnPrimitive **x) {
  const BurnBackend *next = empty->next;
  const size_t length = strlen(what);
  BurnTensorDesc other = *desc;
  if (strncmp(empty->of, what, length) != 0) return BURN_OK;
  const char *ending = empty->of + length;
  if (strcmp(ending, "_rank") == 0) {
    (*x)->rank = 1000000000;
    return BURN_OK;
  }
  if (*ending && strcmp(ending, "_shape") != 0) return BURN_OK;
  next->release(next->self, *x);
  *x = NULL;
  other.shape[0]++;
  return *ending ? next->create(next->self, &other, NULL, x) : BURN_OK;
}

static BurnStatus BURN_API_CALL empty_create(void *self, const BurnTensorDesc *desc, const void *data,
                                             BurnPrimitive **out) {
  const Empty *empty = self;
  const BurnStatus status = empty->next->create(empty->next->self, desc, data, out);
  return status == BURN_OK ? spoil(empty, "create", desc, out) : status;
}

static BurnStatus BURN_API_CALL empty_submit(void *self, const BurnOpCall *call) {
  const Empty *empty = self;
  const BurnStatus status = empty->host->invoke(empty->next, call);
  return status == BURN_OK ? spoil(empty, "result", &call->output_descs[0], &call->outputs[0]) : status;
}

/* -- interfaces ------------------------------------------------------------------------------- */

static uint32_t BURN_API_CALL fused_role(void *self, const BurnFusedStep *step, const BurnTensorDesc *inputs,
                                         const BurnTensorDesc *output) {
  (void)self;
  (void)inputs;
  (void)output;
  return step->op == BURN_OP_add || step->op == BURN_OP_mul ? BURN_FUSED_ELEMENTWISE : BURN_FUSED_NO;
}
static BurnStatus BURN_API_CALL fused_compile(void *self, const BurnFusedBody *body, BurnFusedKernel **out, char *why,
                                              uint64_t why_bytes) {
  (void)body;
  (void)why;
  (void)why_bytes;
  *out = self;
  return BURN_OK;
}
static BurnStatus BURN_API_CALL fused_run(void *self, const BurnFusedCall *call) {
  (void)self;
  (void)call;
  return BURN_OK;
}
static void BURN_API_CALL fused_release(void *self, BurnFusedKernel *kernel) {
  (void)self;
  (void)kernel;
}
static void BURN_API_CALL fused_describe(void *self, const BurnFusedKernel *kernel, char *text, uint64_t bytes) {
  (void)self;
  (void)kernel;
  if (bytes > 0) text[0] = '\0';
}
static const BurnFusedInterface fused = {
    sizeof fused, 1, 64, 64, 64, 0, fused_role, fused_compile, fused_run, fused_release, fused_describe};

static uint32_t BURN_API_CALL calls_joins(void *self, uint32_t op) {
  (void)self;
  return op == BURN_OP_add;
}
static BurnStatus BURN_API_CALL calls_submit(void *self, const BurnOpCall *const *calls, uint64_t count) {
  (void)self;
  (void)calls;
  (void)count;
  return BURN_OK;
}
static const BurnCallsInterface joined = {sizeof joined, 1, calls_joins, calls_submit};

static BurnStatus BURN_API_CALL recording_begin(void *self, BurnRecording **out) {
  (void)self;
  (void)out;
  return BURN_OK;
}
static void BURN_API_CALL recording_where(void *self, BurnPrimitive *x, BurnReplayPlace *out) {
  (void)self;
  out->holders = 1;
  out->address = out->memory = (uint64_t)(uintptr_t)x;
  out->bytes = 1;
}
static const BurnReplayInterface recording = {
    .struct_size = sizeof recording, .version = 1, .begin = recording_begin, .where = recording_where};

static BurnStatus BURN_API_CALL grad_none(void *self, BurnPrimitive *x, BurnPrimitive **out) {
  const Empty *empty = self;
  if (is(empty, "require_grad") || is(empty, "detach")) return BURN_OK;
  empty->next->retain(empty->next->self, x);
  *out = x;
  return BURN_OK;
}
static int32_t BURN_API_CALL grad_is(void *self, BurnPrimitive *x) {
  (void)self;
  (void)x;
  return 0;
}
static BurnStatus BURN_API_CALL grad_backward(void *self, BurnPrimitive *root, BurnGradientSet **out) {
  (void)self;
  (void)root;
  (void)out;
  return BURN_OK;
}
static BurnStatus BURN_API_CALL grad_of(void *self, BurnGradientSet *set, BurnPrimitive *x, int32_t remove,
                                        BurnPrimitive **out) {
  (void)self;
  (void)set;
  (void)x;
  (void)remove;
  (void)out;
  return BURN_OK;
}
static void BURN_API_CALL grad_release(void *self, BurnGradientSet *set) {
  (void)self;
  (void)set;
}
static const BurnAutodiffInterface autodiff = {.struct_size = sizeof autodiff,
                                               .version = 1,
                                               .require_grad = grad_none,
                                               .is_require_grad = grad_is,
                                               .detach = grad_none,
                                               .backward = grad_backward,
                                               .gradient = grad_of,
                                               .gradients_release = grad_release};

static int32_t BURN_API_CALL empty_get_interface(void *self, const char *name, uint32_t min_version,
                                                 BurnInterface *out) {
  static const uint32_t zeros[128] = {sizeof zeros, 1};
  const Empty *empty = self;
  const void *table = NULL;
  (void)min_version;
  if (is(empty, "functions")) table = zeros;
  if (is(empty, "fused") && strcmp(name, BURN_FUSED_INTERFACE) == 0) table = &fused;
  if (is(empty, "joined") && strcmp(name, BURN_CALLS_INTERFACE) == 0) table = &joined;
  if (is(empty, "recording") && strcmp(name, BURN_REPLAY_INTERFACE) == 0) table = &recording;
  const int grads = is(empty, "require_grad") || is(empty, "detach") || is(empty, "backward");
  if (grads && strcmp(name, "burn.autodiff") == 0) table = &autodiff;
  *out = (BurnInterface){table, self};
  return table || is(empty, "tables");
}

/* -- what is the level below's ---------------------------------------------------------------- */

static uint32_t BURN_API_CALL empty_op_support(void *self, uint32_t op) {
  const Empty *empty = self;
  if (is(empty, "end") && op == BURN_OP_mul) return BURN_SUPPORT_ASK;
  return empty->next->op_support(empty->next->self, op);
}
static int32_t BURN_API_CALL empty_supports(void *self, const BurnOpCall *call, char *why, uint64_t why_bytes) {
  const Empty *empty = self;
  if (!is(empty, "end")) return empty->next->supports(empty->next->self, call, why, why_bytes);
  memset(why, 'x', (size_t)why_bytes);
  return 0;
}
static BurnStatus BURN_API_CALL empty_read(void *self, BurnPrimitive *x, void *data, uint64_t bytes) {
  const BurnBackend *next = ((Empty *)self)->next;
  return next->read(next->self, x, data, bytes);
}
static void BURN_API_CALL empty_retain(void *self, BurnPrimitive *x) {
  const BurnBackend *next = ((Empty *)self)->next;
  next->retain(next->self, x);
}
static void BURN_API_CALL empty_release(void *self, BurnPrimitive *x) {
  const BurnBackend *next = ((Empty *)self)->next;
  if (x && x->rank > BURN_MAX_RANK) x->rank = 2; /* as it was */
  next->release(next->self, x);
}
static BurnStatus BURN_API_CALL empty_sync(void *self) {
  const BurnBackend *next = ((Empty *)self)->next;
  return next->sync(next->self);
}
static uint32_t BURN_API_CALL empty_dtype_usage(void *self, BurnDType dtype) {
  const BurnBackend *next = ((Empty *)self)->next;
  return next->dtype_usage(next->self, dtype);
}
static BurnStatus BURN_API_CALL empty_query(void *self, uint32_t key, int64_t *out) {
  const BurnBackend *next = ((Empty *)self)->next;
  return next->query(next->self, key, out);
}
static BurnStatus BURN_API_CALL empty_trim(void *self) {
  const BurnBackend *next = ((Empty *)self)->next;
  return next->trim(next->self);
}
static void BURN_API_CALL empty_close(void *self) {
  Empty *empty = self;
  empty->host->free(empty, sizeof *empty);
}

static BurnStatus BURN_API_CALL empty_open(const BurnHost *host, const BurnBackend *next, const BurnOptions *options,
                                           uint32_t owner, BurnBackend *out) {
  const BurnStatus checked = burn_plugin_check_open(host, out, PLUGIN_NAME);
  const char *of = host->option(options, "of");
  (void)owner;
  if (checked != BURN_OK) return checked;
  Empty *empty = host->allocate(sizeof *empty);
  if (!empty) return host->fail(BURN_STATUS_OUT_OF_MEMORY, __FILE__, __LINE__, PLUGIN_NAME ": no memory");
  *empty = (Empty){.host = host, .next = next};
  if (of) memcpy(empty->of, of, strlen(of) < sizeof empty->of ? strlen(of) : sizeof empty->of - 1);
  *out = (BurnBackend){.struct_size = out->struct_size,
                       .self = empty,
                       .name = PLUGIN_NAME,
                       .close = empty_close,
                       .op_support = empty_op_support,
                       .supports = empty_supports,
                       .submit = empty_submit,
                       .create = empty_create,
                       .read = empty_read,
                       .retain = empty_retain,
                       .release = empty_release,
                       .sync = empty_sync,
                       .dtype_usage = empty_dtype_usage,
                       .query = empty_query,
                       .trim = empty_trim,
                       .get_interface = empty_get_interface};
  return BURN_OK;
}

TEST_DECORATOR(empty_open, "says that it succeeded and gives nothing")
