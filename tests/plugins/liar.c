/* liar.c - a small backend that computes right, and tells lies of the results of `add`: liar:lie=shape. What is told of
 * one lies in the header; what is true lies beside it, and read() goes by that.
 *
 * What it is given by DLPack it takes and makes nothing of.
 *
 * For validate_test, conform_test and empty_handed_test: a lie must be named, and must not crash who looks. */
#include <burn/plugin/dlpack.h>
#include <burn/plugin/options.h>
#include <burn/plugin/plugin.h>

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Every lie, with what it says. */
#define LIES(LIE)                                             \
  LIE(shape, "one row more")                                  \
  LIE(shape_missing, "no shape")                              \
  LIE(shape_wild, "a shape where no memory is")               \
  LIE(dtype, "f64 for f32")                                   \
  LIE(dtype_unknown, "a dtype that there is not")             \
  LIE(owner, "the number of another instance")                \
  LIE(rank, "one axis less")                                  \
  LIE(rank_huge, "a billion axes")                            \
  LIE(header_small, "a header of 0 bytes")                    \
  LIE(header_short, "a header of 8 bytes")                    \
  LIE(header_wild, "a primitive where no memory is")          \
  LIE(tracked, "TRACKED, as only autodiff says it")           \
  LIE(buffer_missing, "no buffer")                            \
  LIE(buffer_wild, "a buffer where no memory is")             \
  LIE(strides_missing, "no strides")                          \
  LIE(strides_wild, "strides where no memory is")             \
  LIE(strides_past_end, "strides that leave the buffer")      \
  LIE(strides_absurd, "strides that leave the address space") \
  LIE(strides_before, "strides that begin before the buffer") \
  LIE(strides_other, "strides of other elements")             \
  LIE(offset_negative, "an offset before the buffer")         \
  LIE(offset_odd, "an offset between two elements")           \
  LIE(offset_other, "an offset one element on")               \
  LIE(offset_past_end, "an offset that leaves the buffer")    \
  LIE(alias, "the sum stored in the first input, although it was not given away")

enum {
#define LIE(name, what) LIE_##name,
  LIES(LIE)
#undef LIE
      LIE_COUNT
};
static const char *const lies[] = {
#define LIE(name, what) #name,
    LIES(LIE)
#undef LIE
};

typedef struct Liar {
  const BurnHost *host;
  uint32_t owner, lie; /* LIE_COUNT: none */
  _Atomic int64_t live;
} Liar;

/* One allocation: the header that everybody reads, what is true, the elements. */
typedef struct Tensor {
  BurnPrimitive header;
  atomic_uint references;
  uint64_t bytes;
  int64_t shape[BURN_MAX_RANK], strides[BURN_MAX_RANK];
  char data[];
} Tensor;

static const int64_t *wild_list(void) { return (const int64_t *)(uintptr_t)16; }

static Tensor *tensor_of(BurnPrimitive *x) { return (Tensor *)(void *)x; }

/* -- tensors ---------------------------------------------------------------------------------- */

static BurnStatus BURN_API_CALL liar_create(void *self, const BurnTensorDesc *desc, const void *data,
                                            BurnPrimitive **out) {
  Liar *liar = self;
  const uint64_t bytes = (uint64_t)burn_desc_count(desc) * burn_dtype_bytes(desc->dtype);
  Tensor *x = calloc(1, sizeof *x + (size_t)bytes);
  if (!x) return liar->host->fail(BURN_STATUS_OUT_OF_MEMORY, __FILE__, __LINE__, "liar: no memory for a tensor");
  atomic_init(&x->references, 1u);
  x->bytes = bytes;
  int64_t stride = 1;
  for (uint32_t i = desc->rank; i-- > 0; stride *= desc->shape[i]) {
    x->shape[i] = desc->shape[i];
    x->strides[i] = stride;
  }
  x->header = (BurnPrimitive){.struct_size = sizeof(BurnPrimitive),
                              .flags = BURN_PRIMITIVE_HOST_MEMORY,
                              .owner = liar->owner,
                              .dtype = desc->dtype,
                              .rank = desc->rank,
                              .shape = x->shape,
                              .strides = x->strides,
                              .buffer = x->data};
  if (data && bytes > 0) memcpy(x->data, data, (size_t)bytes);
  atomic_fetch_add(&liar->live, 1);
  *out = &x->header;
  return BURN_OK;
}

static BurnStatus BURN_API_CALL liar_read(void *self, BurnPrimitive *x, void *data, uint64_t bytes) {
  (void)self;
  const uint64_t there = tensor_of(x)->bytes;
  memset(data, 0, (size_t)bytes);
  memcpy(data, tensor_of(x)->data, (size_t)(bytes < there ? bytes : there));
  return BURN_OK;
}

static void BURN_API_CALL liar_retain(void *self, BurnPrimitive *x) {
  (void)self;
  atomic_fetch_add(&tensor_of(x)->references, 1u);
}

static void BURN_API_CALL liar_release(void *self, BurnPrimitive *x) {
  Liar *liar = self;
  if (!x || atomic_fetch_sub(&tensor_of(x)->references, 1u) != 1) return;
  free(x);
  atomic_fetch_sub(&liar->live, 1);
}

/* -- lies ------------------------------------------------------------------------------------- */

static void lie_of_memory(uint32_t lie, BurnPrimitive *x, int64_t *strides) {
  switch (lie) {
    case LIE_buffer_missing:
      x->buffer = NULL;
      break;
    case LIE_buffer_wild:
      x->buffer = (void *)(uintptr_t)16;
      break;
    case LIE_strides_missing:
      x->strides = NULL;
      break;
    case LIE_strides_wild:
      x->strides = wild_list();
      break;
    case LIE_strides_past_end:
      strides[0] = INT64_C(1) << 40;
      break;
    case LIE_strides_absurd:
      strides[0] = INT64_MAX;
      break;
    case LIE_strides_before:
      strides[x->rank - 1] = -1;
      break;
    case LIE_strides_other:
      strides[x->rank - 1] = 0;
      break;
    case LIE_offset_negative:
      x->byte_offset = -4;
      break;
    case LIE_offset_odd:
      x->byte_offset = 2;
      break;
    case LIE_offset_other:
      x->byte_offset = 4;
      break;
    case LIE_offset_past_end:
      x->byte_offset = INT64_C(1) << 45;
      break;
    default:
      break;
  }
}

static void lie_of_tensor(uint32_t lie, BurnPrimitive *x, int64_t *shape) {
  switch (lie) {
    case LIE_shape:
      shape[0]++;
      break;
    case LIE_shape_missing:
      x->shape = NULL;
      break;
    case LIE_shape_wild:
      x->shape = wild_list();
      break;
    case LIE_dtype:
      x->dtype = BURN_DTYPE_F64;
      break;
    case LIE_dtype_unknown:
      x->dtype = 4711;
      break;
    case LIE_owner:
      x->owner += 1000;
      break;
    case LIE_rank:
      x->rank--;
      break;
    case LIE_rank_huge:
      x->rank = 1000000000;
      break;
    case LIE_header_small:
      x->struct_size = 0;
      break;
    case LIE_header_short:
      x->struct_size = 8;
      break;
    case LIE_tracked:
      x->flags |= BURN_PRIMITIVE_TRACKED;
      break;
    default:
      break;
  }
}

/* -- kernels ---------------------------------------------------------------------------------- */

/* Where element i of the result lies in a broadcast input. */
static int64_t source(const Tensor *x, const BurnTensorDesc *desc, int64_t i) {
  int64_t at = 0;
  for (uint32_t axis = desc->rank; axis-- > 0; i /= desc->shape[axis]) {
    if (x->shape[axis] != 1) at += i % desc->shape[axis] * x->strides[axis];
  }
  return at;
}

static void add(const BurnOpCall *call, Tensor *out) {
  const Tensor *a = tensor_of(call->inputs[0]), *b = tensor_of(call->inputs[1]);
  const BurnTensorDesc *desc = &call->output_descs[0];
  for (int64_t i = 0; i < burn_desc_count(desc); i++) {
    const int64_t at = source(a, desc, i), bt = source(b, desc, i);
    if (desc->dtype == BURN_DTYPE_F32) {
      ((float *)(void *)out->data)[i] =
          ((const float *)(const void *)a->data)[at] + ((const float *)(const void *)b->data)[bt];
    } else {
      ((int64_t *)(void *)out->data)[i] = (int64_t)((uint64_t)((const int64_t *)(const void *)a->data)[at] +
                                                    (uint64_t)((const int64_t *)(const void *)b->data)[bt]);
    }
  }
}

/* Element of input 0 that lies at `axes` of a view of it. */
static int64_t viewed(const BurnOpCall *call, const Tensor *x, const int64_t *axes) {
  const uint32_t rank = call->output_descs[0].rank, more = rank - x->header.rank;
  int64_t at = 0;
  for (uint32_t i = 0; i < rank; i++) {
    if (call->op == BURN_OP_permute) {
      at += axes[i] * x->strides[BURN_ATTRS(permute, call)->axes.value.i64s[i]];
    } else if (call->op == BURN_OP_slice) {
      const BurnAttrs_slice *slice = BURN_ATTRS(slice, call);
      at += (slice->starts.value.i64s[i] + axes[i] * slice->steps.value.i64s[i]) * x->strides[i];
    } else if (i >= more && x->shape[i - more] != 1) { /* expand */
      at += axes[i] * x->strides[i - more];
    }
  }
  return at;
}

/* Views are copies here. */
static void copy_view(const BurnOpCall *call, Tensor *out) {
  const Tensor *x = tensor_of(call->inputs[0]);
  const BurnTensorDesc *desc = &call->output_descs[0];
  const size_t bytes = burn_dtype_bytes(desc->dtype);
  for (int64_t i = 0; i < burn_desc_count(desc); i++) {
    int64_t axes[BURN_MAX_RANK], rest = i;
    for (uint32_t axis = desc->rank; axis-- > 0; rest /= desc->shape[axis]) axes[axis] = rest % desc->shape[axis];
    const int64_t at = call->op == BURN_OP_reshape ? i : viewed(call, x, axes);
    memcpy(out->data + (size_t)i * bytes, x->data + (size_t)at * bytes, bytes);
  }
}

/* The lie of the instance about a sum; *out may become another primitive. */
static void tell_lie(Liar *liar, const BurnOpCall *call, BurnPrimitive **out) {
  Tensor *x = tensor_of(*out);
  if (liar->lie == LIE_alias) {
    Tensor *input = tensor_of(call->inputs[0]);
    if (input->bytes == x->bytes) memcpy(input->data, x->data, (size_t)x->bytes);
  } else if (liar->lie == LIE_header_wild) {
    liar_release(liar, *out);
    *out = (BurnPrimitive *)(uintptr_t)16;
  } else {
    lie_of_tensor(liar->lie, &x->header, x->shape);
    lie_of_memory(liar->lie, &x->header, x->strides);
  }
}

static BurnStatus BURN_API_CALL liar_submit(void *self, const BurnOpCall *call) {
  Liar *liar = self;
  BurnPrimitive *out = NULL;
  const BurnStatus status = liar_create(self, &call->output_descs[0], NULL, &out);
  if (status != BURN_OK) return status;
  if (call->op == BURN_OP_add) {
    add(call, tensor_of(out));
    tell_lie(liar, call, &out);
  } else {
    copy_view(call, tensor_of(out));
  }
  call->outputs[0] = out;
  return BURN_OK;
}

/* -- the table -------------------------------------------------------------------------------- */

static uint32_t BURN_API_CALL liar_op_support(void *self, uint32_t op) {
  static const uint32_t ops[] = {BURN_OP_add, BURN_OP_reshape, BURN_OP_permute, BURN_OP_expand, BURN_OP_slice};
  (void)self;
  for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++) {
    if (ops[i] == op) return BURN_SUPPORT_YES;
  }
  return BURN_SUPPORT_NO;
}

static uint32_t BURN_API_CALL liar_dtype_usage(void *self, BurnDType dtype) {
  (void)self;
  return dtype == BURN_DTYPE_F32 || dtype == BURN_DTYPE_I64 ? BURN_USAGE_STORE | BURN_USAGE_ARITHMETIC : 0;
}

static BurnStatus BURN_API_CALL liar_query(void *self, uint32_t key, int64_t *out) {
  Liar *liar = self;
  if (key != BURN_QUERY_LIVE_TENSORS)
    return liar->host->fail(BURN_STATUS_NOT_FOUND, __FILE__, __LINE__, "liar: unknown query");
  *out = atomic_load(&liar->live);
  return BURN_OK;
}

static void BURN_API_CALL liar_close(void *self) { free(self); }

#define LIAR_OPTIONS(X) X(LIE, "lie", "name", "", 0, "which lie is told of the results of add; else none")

/* It takes memory of others and makes no tensor of it. */
static BurnStatus BURN_API_CALL liar_import(void *self, struct DLManagedTensorVersioned *tensor, BurnPrimitive **out) {
  (void)self;
  (void)tensor;
  (void)out;
  return BURN_OK;
}
static const BurnDlpackInterface dlpack = {.struct_size = sizeof dlpack, .version = 1, .import = liar_import};

static int32_t BURN_API_CALL liar_interface(void *self, const char *name, uint32_t min_version, BurnInterface *out) {
  if (strcmp(name, BURN_DLPACK_INTERFACE) != 0 || min_version > dlpack.version) return 0;
  *out = (BurnInterface){&dlpack, self};
  return 1;
}

enum { LIAR_OPTIONS(BURN_OPTION_NUMBER) OPTION_COUNT };
static const BurnOptionInfo option_rows[] = {LIAR_OPTIONS(BURN_OPTION_ROW)};
static const BurnOptionsInterface options_interface = BURN_OPTIONS_INTERFACE(OPTION_COUNT, option_rows);

static BurnStatus BURN_API_CALL liar_open(const BurnHost *host, uint32_t index, const BurnOptions *options,
                                          uint32_t owner, BurnBackend *out) {
  const BurnStatus checked = burn_plugin_check_open(host, out, PLUGIN_NAME);
  if (checked != BURN_OK) return checked;
  if (index != 0) return host->fail(BURN_STATUS_NOT_FOUND, __FILE__, __LINE__, "liar: there is only device 0");
  const char *values[OPTION_COUNT];
  burn_options_ask(host, options, &options_interface, values);
  Liar *liar = calloc(1, sizeof *liar);
  if (!liar) return host->fail(BURN_STATUS_OUT_OF_MEMORY, __FILE__, __LINE__, "liar: no memory");
  liar->host = host;
  liar->owner = owner;
  liar->lie = 0;
  while (liar->lie < LIE_COUNT && values[OPTION_LIE] && strcmp(lies[liar->lie], values[OPTION_LIE]) != 0) liar->lie++;
  if (!values[OPTION_LIE] || !values[OPTION_LIE][0]) liar->lie = LIE_COUNT;
  if (liar->lie == LIE_COUNT && values[OPTION_LIE] && values[OPTION_LIE][0]) {
    free(liar);
    return host->fail(BURN_STATUS_INVALID_ARGUMENT, __FILE__, __LINE__, "liar: there is no such lie");
  }
  out->self = liar;
  out->name = PLUGIN_NAME;
  out->close = liar_close;
  out->op_support = liar_op_support;
  out->submit = liar_submit;
  out->create = liar_create;
  out->read = liar_read;
  out->retain = liar_retain;
  out->release = liar_release;
  out->dtype_usage = liar_dtype_usage;
  out->query = liar_query;
  out->get_interface = liar_interface;
  return BURN_OK;
}

static void BURN_API_CALL liar_probe(const BurnHost *host, BurnProbe *out) {
  (void)host;
  (void)options_interface;
  out->score = 1;
  out->device_count = 0;
}

static const BurnBackendInterface backend = {
    .struct_size = sizeof(BurnBackendInterface), .version = 1, .probe = liar_probe, .open = liar_open};

static const void *BURN_API_CALL get_interface(const char *name, uint32_t min_version) {
  if (strcmp(name, BURN_OPTIONS_INTERFACE_NAME) == 0 && min_version <= options_interface.version)
    return &options_interface;
  return strcmp(name, "burn.backend") == 0 && min_version <= 1 ? &backend : NULL;
}

static const BurnPlugin plugin = {.struct_size = sizeof(BurnPlugin),
                                  .abi_major = BURN_ABI_MAJOR,
                                  .abi_minor = BURN_ABI_MINOR,
                                  .kind = BURN_PLUGIN_BACKEND,
                                  .name = PLUGIN_NAME,
                                  .version = "1.0",
                                  .license = "MIT OR Apache-2.0",
                                  .description = "computes right and tells lies of its results",
                                  .get_interface = get_interface};

BURN_PLUGIN_ENTRY(plugin)
