/* mini_backend.c - a backend as a third party would start one: row-major memory, f32 and i64, one file, eighteen
 * kernels and one loop for all that work element by element. Everything else it leaves to the host's decompositions.
 *
 * NO_DEVICE builds it as for a machine without a device. LONG_TAIL builds it with structs that end in fields of a later
 * version; MISSING_FUNCTION leaves out a required function. */
#include <burn/plugin/plugin.h>

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Mini {
  const BurnHost *host;
  uint32_t owner;
  _Atomic int64_t live;
} Mini;

/* Header, shape and elements in one allocation. */
typedef struct MiniTensor {
  BurnPrimitive header;
  atomic_uint references;
  int64_t shape[BURN_MAX_RANK], strides[BURN_MAX_RANK];
  char data[];
} MiniTensor;

static BurnStatus failed(const Mini *mini, uint32_t code, const char *message) {
  return mini->host->fail(code, __FILE__, __LINE__, message);
}

/* -- tensors ---------------------------------------------------------------------------------- */

static BurnStatus BURN_API_CALL mini_create(void *self, const BurnTensorDesc *desc, const void *data,
                                            BurnPrimitive **out) {
  Mini *mini = self;
  const size_t bytes = (size_t)burn_desc_count(desc) * burn_dtype_bytes(desc->dtype);
  MiniTensor *x = calloc(1, sizeof *x + bytes);
  if (!x) return failed(mini, BURN_STATUS_OUT_OF_MEMORY, "mini: no memory for a tensor");
  atomic_init(&x->references, 1u);
  int64_t stride = 1;
  for (uint32_t i = desc->rank; i-- > 0;) {
    x->shape[i] = desc->shape[i];
    x->strides[i] = stride;
    stride *= desc->shape[i];
  }
  x->header = (BurnPrimitive){.struct_size = sizeof(BurnPrimitive),
                              .flags = BURN_PRIMITIVE_HOST_MEMORY,
                              .owner = mini->owner,
                              .dtype = desc->dtype,
                              .rank = desc->rank,
                              .shape = x->shape,
                              .strides = x->strides,
                              .buffer = x->data};
  if (data && bytes > 0) memcpy(x->data, data, bytes);
  atomic_fetch_add(&mini->live, 1);
  *out = &x->header;
  return BURN_OK;
}

static BurnStatus BURN_API_CALL mini_read(void *self, BurnPrimitive *x, void *data, uint64_t bytes) {
  (void)self;
  if (bytes > 0) memcpy(data, x->buffer, (size_t)bytes);
  return BURN_OK;
}

static void BURN_API_CALL mini_retain(void *self, BurnPrimitive *x) {
  (void)self;
  atomic_fetch_add(&((MiniTensor *)(void *)x)->references, 1u);
}

static void BURN_API_CALL mini_release(void *self, BurnPrimitive *x) {
  Mini *mini = self;
  if (!x || atomic_fetch_sub(&((MiniTensor *)(void *)x)->references, 1u) != 1) return;
  free(x);
  atomic_fetch_sub(&mini->live, 1);
}

/* -- kernels ---------------------------------------------------------------------------------- */

static double load(const BurnPrimitive *x, int64_t i) {
  return x->dtype == BURN_DTYPE_F32 ? (double)((const float *)x->buffer)[i] : (double)((const int64_t *)x->buffer)[i];
}

static void store(BurnPrimitive *x, int64_t i, double value) {
  if (x->dtype == BURN_DTYPE_F32) {
    ((float *)x->buffer)[i] = (float)value;
  } else {
    ((int64_t *)x->buffer)[i] = (int64_t)value;
  }
}

/* One element of an op that works element by element; `number` is the scalar, if there is one. */
static double element(uint32_t op, double a, double b, double number) {
  switch (op) {
    case BURN_OP_full:
      return number;
    case BURN_OP_neg:
      return -a;
    case BURN_OP_exp:
      return exp(a);
    case BURN_OP_log:
      return log(a);
    case BURN_OP_sqrt:
      return sqrt(a);
    case BURN_OP_recip:
      return 1 / a;
    case BURN_OP_add:
      return a + b;
    case BURN_OP_sub:
      return a - b;
    case BURN_OP_mul:
      return a * b;
    case BURN_OP_div:
      return a / b;
    case BURN_OP_add_scalar:
      return a + number;
    case BURN_OP_mul_scalar:
      return a * number;
    case BURN_OP_div_scalar:
      return a / number;
    case BURN_OP_clamp_min:
      return a < number ? number : a;
    default:
      return a; /* reshape: row-major elements as they are */
  }
}

/* Where element i of the result lies in a broadcast input. */
static int64_t source(const BurnPrimitive *x, const BurnPrimitive *out, int64_t i) {
  int64_t at = 0;
  for (uint32_t axis = out->rank; axis-- > 0;) {
    const int64_t index = i % out->shape[axis];
    i /= out->shape[axis];
    if (x->shape[axis] != 1) at += index * x->strides[axis];
  }
  return at;
}

static void run_elements(const BurnOpCall *call, BurnPrimitive *out) {
  const BurnPrimitive *a = call->input_count > 0 ? call->inputs[0] : NULL,
                      *b = call->input_count > 1 ? call->inputs[1] : NULL;
  const int64_t count = burn_primitive_count(out);
  const BurnAttr *last = call->attr_count > 0 ? &call->attrs[call->attr_count - 1] : NULL;
  const double number = last ? burn_attr_to_f64(last) : 0;
  for (int64_t i = 0; i < count; i++) {
    const double x = a ? load(a, call->op == BURN_OP_reshape ? i : source(a, out, i)) : 0;
    store(out, i, element(call->op, x, b ? load(b, source(b, out, i)) : 0, number));
  }
}

static void run_along(const BurnOpCall *call, BurnPrimitive *out) {
  const BurnPrimitive *x = call->inputs[0];
  const int64_t dim = call->attrs[0].value.i64, size = x->shape[dim], step = x->strides[dim];
  for (int64_t i = 0; i < burn_primitive_count(out); i++) {
    const int64_t start = source(x, out, i);
    double result = call->op == BURN_OP_max_dim ? load(x, start) : 0;
    for (int64_t k = 0; k < size; k++) {
      const double value = load(x, start + k * step);
      result = call->op == BURN_OP_sum_dim ? result + value : value > result || isnan(value) ? value : result;
    }
    store(out, i, result);
  }
}

static void run_matmul(const BurnOpCall *call, BurnPrimitive *out) {
  const BurnPrimitive *a = call->inputs[0], *b = call->inputs[1];
  const int64_t inner = a->shape[1], columns = b->shape[1];
  for (int64_t i = 0; i < burn_primitive_count(out); i++) {
    double sum = 0;
    for (int64_t k = 0; k < inner; k++) sum += load(a, i / columns * inner + k) * load(b, k * columns + i % columns);
    store(out, i, sum);
  }
}

/* -- the table -------------------------------------------------------------------------------- */

static uint32_t BURN_API_CALL mini_op_support(void *self, uint32_t op) {
#if defined(ODD_SUPPORT)
  if (op == BURN_OP_add) return ODD_SUPPORT;
#endif
  static const uint32_t kernels[] = {
      BURN_OP_full,       BURN_OP_neg,       BURN_OP_exp,     BURN_OP_log,     BURN_OP_sqrt,       BURN_OP_recip,
      BURN_OP_add,        BURN_OP_sub,       BURN_OP_mul,     BURN_OP_div,     BURN_OP_add_scalar, BURN_OP_mul_scalar,
      BURN_OP_div_scalar, BURN_OP_clamp_min, BURN_OP_sum_dim, BURN_OP_max_dim, BURN_OP_reshape};
  (void)self;
  if (op == BURN_OP_matmul) return BURN_SUPPORT_ASK;
  for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++) {
    if (kernels[i] == op) return BURN_SUPPORT_YES;
  }
  return BURN_SUPPORT_NO;
}

static int32_t BURN_API_CALL mini_supports(void *self, const BurnOpCall *call, char *why, uint64_t why_bytes) {
  static const char reason[] = "only matrices, no batches";
  (void)self;
  if (call->inputs[0]->rank == 2) return 1;
  if (why_bytes >= sizeof reason) memcpy(why, reason, sizeof reason);
  return 0;
}

static BurnStatus BURN_API_CALL mini_submit(void *self, const BurnOpCall *call) {
  BurnPrimitive *out = NULL;
  const BurnStatus status = mini_create(self, &call->output_descs[0], NULL, &out);
  if (status != BURN_OK) return status;
  if (call->op == BURN_OP_matmul) {
    run_matmul(call, out);
  } else if (call->op == BURN_OP_sum_dim || call->op == BURN_OP_max_dim) {
    run_along(call, out);
  } else {
    run_elements(call, out);
  }
  call->outputs[0] = out;
  return BURN_OK;
}

static uint32_t BURN_API_CALL mini_dtype_usage(void *self, BurnDType dtype) {
  (void)self;
  return dtype == BURN_DTYPE_F32 || dtype == BURN_DTYPE_I64 ? BURN_USAGE_STORE | BURN_USAGE_ARITHMETIC : 0;
}

static BurnStatus BURN_API_CALL mini_query(void *self, uint32_t key, int64_t *out) {
  Mini *mini = self;
  if (key != BURN_QUERY_LIVE_TENSORS) return failed(mini, BURN_STATUS_NOT_FOUND, "mini: unknown query");
  *out = atomic_load(&mini->live);
  return BURN_OK;
}

static void BURN_API_CALL mini_close(void *self) { free(self); }

static BurnStatus BURN_API_CALL mini_open(const BurnHost *host, uint32_t index, const BurnOptions *options,
                                          uint32_t owner, BurnBackend *out) {
  const BurnStatus checked = burn_plugin_check_open(host, out, PLUGIN_NAME);
  (void)options;
  if (checked != BURN_OK) return checked;
  Mini *mini = calloc(1, sizeof *mini);
  if (!mini) return host->fail(BURN_STATUS_OUT_OF_MEMORY, __FILE__, __LINE__, "mini: no memory");
  mini->host = host;
  mini->owner = owner;
#if defined(NO_DEVICE)
  free(mini);
  return host->fail(BURN_STATUS_FAILED_PRECONDITION, __FILE__, __LINE__, "no device is here");
#endif
  if (index != 0) {
    char message[64];
    snprintf(message, sizeof message, "mini: there is no device %u, only 0", index);
    free(mini);
    return host->fail(BURN_STATUS_NOT_FOUND, __FILE__, __LINE__, message);
  }
  out->self = mini;
  out->name = PLUGIN_NAME;
  out->close = mini_close;
  out->op_support = mini_op_support;
  out->supports = mini_supports;
  out->submit = mini_submit;
  out->create = mini_create;
  out->read = mini_read;
  out->retain = mini_retain;
#if !defined(MISSING_FUNCTION)
  out->release = mini_release;
#else
  (void)mini_release;
#endif
  out->dtype_usage = mini_dtype_usage;
  out->query = mini_query;
  return BURN_OK;
}

static void BURN_API_CALL mini_probe(const BurnHost *host, BurnProbe *out) {
  static const char reason[] = "always here";
  (void)host;
  out->score = 1;
  memcpy(out->reason, reason, sizeof reason);
  burn_probe_add(out, 0, "mini device", 0);
}

/* What a later version of the headers might add at the end. */
typedef struct LaterInterface {
  BurnBackendInterface known;
  void (*unknown[4])(void);
} LaterInterface;
typedef struct LaterPlugin {
  BurnPlugin known;
  const char *unknown[4];
} LaterPlugin;

#if defined(LONG_TAIL)
#define INTERFACE_BYTES sizeof(LaterInterface)
#define DESCRIPTOR_BYTES sizeof(LaterPlugin)
#define MINOR (BURN_ABI_MINOR + 7u)
#else
#define INTERFACE_BYTES sizeof(BurnBackendInterface)
#define DESCRIPTOR_BYTES sizeof(BurnPlugin)
#define MINOR BURN_ABI_MINOR
#endif

static const LaterInterface interface = {.known = {(uint32_t)INTERFACE_BYTES, 1, mini_probe, mini_open}};

static const void *BURN_API_CALL mini_get_interface(const char *name, uint32_t min_version) {
  return strcmp(name, "burn.backend") == 0 && min_version <= 1 ? &interface : NULL;
}

static const LaterPlugin plugin = {.known = {.struct_size = (uint32_t)DESCRIPTOR_BYTES,
                                             .abi_major = BURN_ABI_MAJOR,
                                             .abi_minor = MINOR,
                                             .min_host_minor = BURN_TARGET_MINOR,
                                             .kind = BURN_PLUGIN_BACKEND,
                                             .name = PLUGIN_NAME,
                                             .version = "3.1.4",
                                             .license = "MIT OR Apache-2.0",
                                             .description = "a small backend of a third party",
                                             .get_interface = mini_get_interface}};

BURN_PLUGIN_ENTRY(plugin.known)
