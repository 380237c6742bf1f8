/* ndarray_plugin.c - the CPU backend as a plugin: descriptor, options, probe, open, and the backend table over the
 * kernels. Threads are the host's. */
#include "fused/ndarray_fused.h"
#include "ndarray_internal.h"
#include "replay/ndarray_replay.h"

#include <burn/common/autotune.h>
#include <burn/common/descriptor.h>
#include <burn/common/settings.h>
#include <burn/common/widen.h>
#include <burn/plugin/dlpack.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(_WIN32)
#include <windows.h>
#else
#include <unistd.h>
#endif

#if !defined(BURN_NDARRAY_VERSION)
#define BURN_NDARRAY_VERSION "0.1.0"
#endif

/* -- instruction sets ------------------------------------------------------------------------- */

static const char *const isa_names[NDARRAY_ISA_COUNT] = {"baseline", "avx2", "avx512", "neon"};

/* The widest instruction set that the processor and the system support and that was built. */
static uint32_t isa_detect(void) {
#if defined(BURN_NDARRAY_X86_VARIANTS)
  const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                        __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  const bool has_avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                          __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                          __builtin_cpu_supports("avx512vl");
  if (has_avx2 && has_avx512) return NDARRAY_ISA_AVX512;
  if (has_avx2) return NDARRAY_ISA_AVX2;
#elif defined(__aarch64__)
  return NDARRAY_ISA_NEON;
#endif
  return NDARRAY_ISA_BASELINE;
}

/* NEON is wider than the baseline only; the others are numbered by width. */
static bool isa_is_within(uint32_t isa, uint32_t widest) {
  if (isa == NDARRAY_ISA_BASELINE || isa == widest) return true;
  return isa < widest && widest != NDARRAY_ISA_NEON;
}

/* -- calls ------------------------------------------------------------------------------------ */

static const NdKernelRow *const kernel_lists[] = {
    nd_create_kernels,  nd_elementwise_kernels, nd_reduce_kernels,       nd_linalg_kernels, nd_conv_kernels,
    nd_pooling_kernels, nd_view_kernels,        nd_index_kernels,        nd_move_kernels,   nd_scan_kernels,
    nd_sort_kernels,    nd_activation_kernels,  nd_norm_kernels,         nd_loss_kernels,   nd_optimizer_kernels,
    nd_lstm_kernels,    nd_attention_kernels,   nd_quantization_kernels,
};

static void fill_kernels(Ndarray *nd) {
  for (size_t list = 0; list < sizeof kernel_lists / sizeof *kernel_lists; list++) {
    for (const NdKernelRow *row = kernel_lists[list]; row->op != BURN_OP_INVALID; row++) {
      const BurnOpInfo *info = nd->host->op_info(row->op);
      if (nd->primitives_only && info && info->is_composite) continue;
      nd->kernels[row->op] = row->run;
    }
  }
}

static uint32_t BURN_API_CALL ndarray_op_support(void *self, uint32_t op) {
  const Ndarray *nd = self;
  if (op >= BURN_OP_LIMIT || !nd->kernels[op]) return BURN_SUPPORT_NO;
  return nd_is_quantized_op(op) ? BURN_SUPPORT_ASK : BURN_SUPPORT_YES;
}

/* Asked for the calls of quantized ops: of many kinds of scales and dtypes, the usual ones have kernels. */
static int32_t BURN_API_CALL ndarray_supports(void *self, const BurnOpCall *call, char *why, uint64_t why_bytes) {
  (void)self;
  if (nd_takes_quantized(call)) return 1;
  (void)snprintf(why, (size_t)why_bytes, "its dtypes or blocks have no kernel");
  return 0;
}

static uint32_t BURN_API_CALL ndarray_dtype_usage(void *self, BurnDType dtype) {
  (void)self;
  return burn_dtype_bytes(dtype) != 0 ? BURN_USAGE_STORE | BURN_USAGE_ARITHMETIC : 0; /* all of dtypes.def */
}

static inline BurnStatus resolve(Ndarray *nd, const BurnOpCall *call, NdKernel *kernel, bool *widens) {
  uint32_t dtypes = 0; /* those of the call, as bits */
  *kernel = call->op < BURN_OP_LIMIT ? nd->kernels[call->op] : NULL;
  if (!*kernel) return nd_fail(nd, BURN_STATUS_UNIMPLEMENTED, "ndarray: op %u has no kernel", call->op);
  for (uint32_t i = 0; i < call->input_count; i++) {
    const BurnPrimitive *x = call->inputs[i];
    if (!x) continue;
    if (x->owner != nd->owner) {
      return nd_fail(nd, BURN_STATUS_BAD_OWNER, "ndarray: input %u belongs to backend %u, this is %u", i, x->owner,
                     nd->owner);
    }
    dtypes |= 1u << (x->dtype % BURN_DTYPE_LIMIT);
  }
  for (uint32_t i = 0; i < call->output_count; i++) { /* loops write elements of the size they know */
    const BurnDType dtype = call->output_descs[i].dtype;
    dtypes |= 1u << (dtype % BURN_DTYPE_LIMIT);
    if (burn_dtype_bytes(dtype) != 0) continue;
    return nd_fail(nd, BURN_STATUS_INVALID_DTYPE, "%s: ndarray has no %s tensors", nd->host->op_info(call->op)->name,
                   burn_dtype_name(dtype));
  }
  *widens = (dtypes & BURN_COMMON_NARROW) && nd_needs_widening(nd, call);
  return BURN_OK;
}

BurnStatus nd_resolve_call(Ndarray *nd, const BurnOpCall *call, NdKernel *kernel, bool *widens) {
  return resolve(nd, call, kernel, widens);
}

static BurnStatus BURN_API_CALL ndarray_submit(void *self, const BurnOpCall *call) {
  Ndarray *nd = self;
  NdKernel kernel = NULL;
  bool widens = false;
  if (nd->replays && nd_is_recording(nd)) return nd_record_call(nd, call);
  const BurnStatus status = resolve(nd, call, &kernel, &widens);
  if (status != BURN_OK) return status;
  return widens ? nd_run_widened(nd, kernel, call) : kernel(nd, call);
}

/* -- tensors ---------------------------------------------------------------------------------- */

static BurnStatus BURN_API_CALL ndarray_create(void *self, const BurnTensorDesc *desc, const void *data,
                                               BurnPrimitive **out) {
  Ndarray *nd = self;
  if (ndarray_dtype_usage(self, desc->dtype) == 0) {
    return nd_fail(nd, BURN_STATUS_INVALID_DTYPE, "ndarray: %s tensors are not supported",
                   burn_dtype_name(desc->dtype));
  }
  if (nd->replays && nd_is_recording(nd)) return nd_refuse_recording(nd, "a tensor from the host");
  NdTensor *x = nd_new(nd, desc);
  if (!x) {
    char held[128];
    nd_describe_memory(nd, held, sizeof held);
    return nd_fail(nd, BURN_STATUS_OUT_OF_MEMORY, "ndarray: no memory for a tensor of rank %u of %s; %s", desc->rank,
                   burn_dtype_name(desc->dtype), held);
  }
  if (data && desc->dtype == BURN_DTYPE_BOOL) { /* kernels count on 0 and 1 */
    uint8_t *to = nd_data(x);
    for (uint64_t i = 0; i < x->storage->bytes; i++) to[i] = ((const uint8_t *)data)[i] != 0;
  } else if (data && x->storage->bytes > 0) {
    memcpy(nd_data(x), data, x->storage->bytes);
  }
  *out = &x->header;
  return BURN_OK;
}

static BurnStatus BURN_API_CALL ndarray_read(void *self, BurnPrimitive *x, void *data, uint64_t bytes) {
  Ndarray *nd = self;
  const uint64_t expected = (uint64_t)burn_primitive_count(x) * burn_dtype_bytes(x->dtype);
  if (x->owner != nd->owner) {
    return nd_fail(nd, BURN_STATUS_BAD_OWNER, "read: the tensor belongs to backend %u, this is %u", x->owner,
                   nd->owner);
  }
  if (bytes != expected) {
    return nd_fail(nd, BURN_STATUS_INVALID_ARGUMENT, "read: the buffer holds %llu bytes, the tensor has %llu",
                   (unsigned long long)bytes, (unsigned long long)expected);
  }
  if (nd->replays && nd_is_recording(nd)) return nd_refuse_recording(nd, "a read");
  if (bytes > 0) nd_pack(nd, nd_tensor(x), data);
  return BURN_OK;
}

static void BURN_API_CALL ndarray_retain(void *self, BurnPrimitive *x) {
  (void)self;
  nd_retain(nd_tensor(x));
}

static void BURN_API_CALL ndarray_release(void *self, BurnPrimitive *x) {
  Ndarray *nd = self;
  if (!x) return;
  if (nd->replays && nd_is_ghost(nd_tensor(x))) {
    nd_ghost_release(nd, nd_tensor(x));
  } else {
    nd_release(nd, nd_tensor(x));
  }
}

/* -- instance --------------------------------------------------------------------------------- */

/* Kernels run in the caller: when submit returns, the work is done. */
static BurnStatus BURN_API_CALL ndarray_sync(void *self) {
  (void)self;
  return BURN_OK;
}

static BurnStatus BURN_API_CALL ndarray_query(void *self, uint32_t key, int64_t *out) {
  Ndarray *nd = self;
  const NdPoolTensors tensors = nd_pool_tensors(nd->pool);
  switch (key) {
    case BURN_QUERY_BYTES_IN_USE:
      *out = (int64_t)tensors.bytes;
      return BURN_OK;
    case BURN_QUERY_BYTES_RESERVED:
      *out = (int64_t)tensors.reserved;
      return BURN_OK;
    case BURN_QUERY_BYTES_PEAK:
      *out = (int64_t)tensors.peak;
      return BURN_OK;
    case BURN_QUERY_LIVE_TENSORS:
      *out = (int64_t)tensors.count;
      return BURN_OK;
    default:
      return nd_fail(nd, BURN_STATUS_NOT_FOUND, "ndarray: query %u is unknown", key);
  }
}

static BurnStatus BURN_API_CALL ndarray_trim(void *self) {
  nd_pool_trim(((Ndarray *)self)->pool);
  return BURN_OK;
}

/* -- DLPack: host memory as it is ------------------------------------------------------------- */

/* bool kernels count on 0 and 1, which nobody promises for foreign bytes: these are copied. */
static BurnStatus BURN_API_CALL ndarray_import(void *self, struct DLManagedTensorVersioned *foreign,
                                               BurnPrimitive **out) {
  Ndarray *nd = self;
  const BurnDlpackTensor *tensor = &burn_dlpack_managed(foreign)->tensor;
  const bool is_host = tensor->device_type == BURN_DLPACK_CPU || tensor->device_type == BURN_DLPACK_CUDA_HOST;
  if (!is_host || burn_dlpack_dtype(tensor) == BURN_DTYPE_BOOL) {
    return nd_fail(nd, BURN_STATUS_UNIMPLEMENTED, "ndarray: memory of DLPack's device type %d is not shared",
                   tensor->device_type);
  }
  NdTensor *x = nd_new_foreign(nd, foreign);
  if (!x) return nd_fail(nd, BURN_STATUS_OUT_OF_MEMORY, "ndarray: no memory for a tensor");
  *out = &x->header;
  return BURN_OK;
}

static const BurnDlpackInterface dlpack_interface = {
    (uint32_t)sizeof(BurnDlpackInterface), 1, ndarray_import, NULL, NULL, NULL};

static int32_t BURN_API_CALL ndarray_get_interface(void *self, const char *name, uint32_t min_version,
                                                   BurnInterface *out) {
  static const BurnCommonInterface offered[] = {{BURN_FUSED_INTERFACE, &nd_fused_interface},
                                                {BURN_CALLS_INTERFACE, &nd_calls_interface},
                                                {BURN_DLPACK_INTERFACE, &dlpack_interface}};
  static const BurnCommonInterface replay[] = {{BURN_REPLAY_INTERFACE, &nd_replay_interface}};
  static const BurnCommonInterface epilogue[] = {{BURN_EPILOGUE_INTERFACE, &nd_epilogue_interface}};
  const Ndarray *nd = self;
  return burn_common_offer(offered, sizeof offered / sizeof offered[0], name, min_version, self, out) ||
         (nd->replays && burn_common_offer(replay, 1, name, min_version, self, out)) ||
         (nd->has_epilogues && burn_common_offer(epilogue, 1, name, min_version, self, out));
}

static void BURN_API_CALL ndarray_close(void *self) {
  Ndarray *nd = self;
  const BurnHost *host = nd->host;
  nd_pool_destroy(nd->pool);
  burn_common_tuner_destroy(nd->tuner);
  nd_kernels_destroy(nd, nd->elementwise);
  host->free(nd, sizeof *nd);
}

#define NDARRAY_OPTIONS(X)                                                                     \
  X(GEMM, "gemm", "builtin|openblas", "builtin", BURN_OPTION_HARMLESS, "which matrix product") \
  X(ISA, "isa", "baseline|avx2|avx512|neon", "", BURN_OPTION_HARMLESS,                         \
    "the widest instruction set to use; else the processor's")                                 \
  X(PRIMITIVES, "primitives", "true|false", "false", BURN_OPTION_HARMLESS,                     \
    "true leaves composite ops to the host's decompositions")                                  \
  X(LIMIT, "memory_limit", "bytes, 64KiB, 512MiB, 2GiB", "", BURN_OPTION_HARMLESS,             \
    "most memory for tensors, work space and freed blocks; else there is no limit")            \
  X(AUTOTUNE, "autotune", "off|quick|full", "quick", BURN_OPTION_HARMLESS,                     \
    "is the fastest of several ways measured? BURN_AUTOTUNE says the default")                 \
  X(REPLAY, "replay", "true|false", "false", BURN_OPTION_HARMLESS,                             \
    "steps that repeat are recorded and replayed under fusion; not faster here")               \
  X(EPILOGUES, "epilogues", "true|false", "false", BURN_OPTION_HARMLESS,                       \
    "element-wise ops run with the product before them under fusion; not faster here")

enum { NDARRAY_OPTIONS(BURN_OPTION_NUMBER) OPTION_COUNT };
static const BurnOptionInfo option_rows[] = {NDARRAY_OPTIONS(BURN_OPTION_ROW)};
static const BurnOptionsInterface options_interface = BURN_OPTIONS_INTERFACE(OPTION_COUNT, option_rows);

/* nd->isa: that of the option, else the processor's. */
static BurnStatus choose_isa(Ndarray *nd, const BurnCommonSettings *given) {
  const uint32_t widest = isa_detect();
  const char *text = given->values[OPTION_ISA];
  const uint32_t isa = text ? burn_common_word_index(option_rows[OPTION_ISA].values, text) : widest;
  if (isa == NDARRAY_ISA_COUNT) {
    return nd_fail(nd, BURN_STATUS_INVALID_ARGUMENT,
                   "ndarray: isa=%s is unknown; there are baseline, avx2, avx512, neon", text);
  }
  if (!isa_is_within(isa, widest)) {
    return nd_fail(nd, BURN_STATUS_FAILED_PRECONDITION, "ndarray: isa=%s is not available here; the widest is %s", text,
                   isa_names[widest]);
  }
  nd->isa = isa;
  return BURN_OK;
}

static BurnStatus choose_gemm(Ndarray *nd, const BurnCommonSettings *given) {
  uint32_t gemm = 0; /* builtin */
  const BurnStatus status = burn_common_word(given, OPTION_GEMM, &gemm);
  return status == BURN_OK ? nd_gemm_open(nd, gemm == 1) : status;
}

/* Opens the tuner: option autotune=, else BURN_AUTOTUNE. Without memory nothing is tuned. */
static BurnStatus open_tuner(Ndarray *nd, const BurnCommonSettings *given) {
  bool known = true;
  uint32_t mode = burn_common_tune_mode(&known); /* numbered as the option's words */
  if (!known) {
    char text[128];
    const char *value = getenv("BURN_AUTOTUNE");
    (void)snprintf(text, sizeof text, "BURN_AUTOTUNE='%.32s' is none of off, quick, full; quick is taken",
                   value ? value : "");
    nd->host->log(BURN_LOG_WARN, "autotune", text);
  }
  const BurnStatus status = burn_common_word(given, OPTION_AUTOTUNE, &mode);
  if (status != BURN_OK || mode == BURN_COMMON_TUNE_OFF) return status;
  char path[1024], machine[128];
  burn_common_tune_path(path, sizeof path, "ndarray", BURN_NDARRAY_VERSION);
  burn_common_tune_machine(machine, sizeof machine, isa_names[nd->isa]);
  nd->tuner = burn_common_tuner_create(nd->host, mode, machine, path);
  return BURN_OK;
}

static BurnStatus read_options(Ndarray *nd, const BurnOptions *options) {
  const char *values[OPTION_COUNT];
  burn_options_ask(nd->host, options, &options_interface, values);
  const BurnCommonSettings given = {nd->host, "ndarray", &options_interface, values};
  BurnStatus status = burn_common_bytes(&given, OPTION_LIMIT, &nd->memory_limit);
  if (status == BURN_OK) status = burn_common_truth(&given, OPTION_PRIMITIVES, &nd->primitives_only);
  if (status == BURN_OK) status = burn_common_truth(&given, OPTION_REPLAY, &nd->replays);
  if (status == BURN_OK) status = burn_common_truth(&given, OPTION_EPILOGUES, &nd->has_epilogues);
  if (status == BURN_OK) status = choose_isa(nd, &given);
  if (status == BURN_OK) status = choose_gemm(nd, &given);
  return status == BURN_OK ? open_tuner(nd, &given) : status;
}

static BurnStatus BURN_API_CALL ndarray_open(const BurnHost *host, uint32_t index, const BurnOptions *options,
                                             uint32_t owner, BurnBackend *out) {
  const BurnStatus checked = burn_plugin_check_open(host, out, "ndarray");
  if (checked != BURN_OK) return checked;
  Ndarray *nd = host->allocate(sizeof *nd);
  if (!nd) return host->fail(BURN_STATUS_OUT_OF_MEMORY, __FILE__, __LINE__, "ndarray: no memory to open the backend");
  memset(nd, 0, sizeof *nd);
  nd->host = host;
  nd->owner = owner;
  (void)snprintf(nd->name, sizeof nd->name, "ndarray");
  BurnStatus status = read_options(nd, options);
  if (status == BURN_OK && index != 0) {
    status = nd_fail(nd, BURN_STATUS_NOT_FOUND, "ndarray: device %u does not exist, there is only 0", index);
  }
  if (status == BURN_OK) {
    nd->elementwise = nd_kernels_create(nd);
    nd->pool = nd->elementwise ? nd_pool_create(host, nd->memory_limit) : NULL;
    if (!nd->pool) status = nd_fail(nd, BURN_STATUS_OUT_OF_MEMORY, "ndarray: no memory to open the backend");
  }
  if (status != BURN_OK) {
    nd_kernels_destroy(nd, nd->elementwise);
    burn_common_tuner_destroy(nd->tuner);
    host->free(nd, sizeof *nd);
    return status;
  }
  nd->int8 = nd_int8_loops(nd);
  fill_kernels(nd);
  out->owner = owner;
  out->self = nd;
  out->name = nd->name;
  out->close = ndarray_close;
  out->op_support = ndarray_op_support;
  out->supports = ndarray_supports;
  out->submit = ndarray_submit;
  out->create = ndarray_create;
  out->read = ndarray_read;
  out->retain = ndarray_retain;
  out->release = ndarray_release;
  out->sync = ndarray_sync;
  out->dtype_usage = ndarray_dtype_usage;
  out->query = ndarray_query;
  out->trim = ndarray_trim;
  out->get_interface = ndarray_get_interface;
  return BURN_OK;
}

/* -- descriptor ------------------------------------------------------------------------------- */

static int64_t memory_bytes(void) {
#if defined(_WIN32)
  MEMORYSTATUSEX memory = {.dwLength = sizeof memory};
  if (GlobalMemoryStatusEx(&memory)) return (int64_t)memory.ullTotalPhys;
#elif defined(_SC_PHYS_PAGES) && defined(_SC_PAGESIZE)
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  if (pages > 0 && page > 0) return (int64_t)pages * page;
#endif
  return 0;
}

static void BURN_API_CALL ndarray_probe(const BurnHost *host, BurnProbe *out) {
  const uint32_t threads = host->thread_count();
  out->score = 100;
  (void)snprintf(out->reason, sizeof out->reason, "CPU, %u thread%s, %s", threads, threads == 1 ? "" : "s",
                 isa_names[isa_detect()]);
  burn_probe_add(out, 0, out->reason, memory_bytes());
}

static const BurnBackendInterface backend_interface = {
    (uint32_t)sizeof(BurnBackendInterface),
    1,
    ndarray_probe,
    ndarray_open,
};

BURN_COMMON_PLUGIN(BACKEND, "ndarray", BURN_NDARRAY_VERSION, "MIT OR Apache-2.0",
                   "CPU tensors with strides; vector kernels for the CPU at hand", {"burn.backend", &backend_interface},
                   {BURN_OPTIONS_INTERFACE_NAME, &options_interface})
