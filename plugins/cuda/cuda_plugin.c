/* cuda_plugin.c - the CUDA backend as a plugin: descriptor, options, probe, open, the table. Start here. */
#include "cuda_internal.h"
#include "gpu_fused.h"

#include <burn/common/descriptor.h>
#include <burn/common/settings.h>
#include <burn/plugin/dlpack.h>

#include <stdio.h>
#include <string.h>

#define CUDA_OPTIONS(X)                                                                    \
  X(LIMIT, "memory_limit", "bytes, 64KiB, 512MiB, 2GiB", "", BURN_OPTION_HARMLESS,         \
    "what tensors may take; without it all memory of the device")                          \
  X(TF32, "tf32", "true|false", "false", BURN_OPTION_HARMLESS,                             \
    "convolutions of f32 in TF32, and products unless matmul_precision is given")          \
  X(PRECISION, "matmul_precision", "highest|high|medium", "highest", BURN_OPTION_HARMLESS, \
    "products of f32: in f32, in TF32, or large ones in bf16; their sums are f32")         \
  X(TIMING, "timing", "true|false", "true", BURN_OPTION_HARMLESS,                          \
    "choose the algorithm of a large product or convolution by time, once for a shape")    \
  X(PRIMITIVES, "primitives", "true|false", "false", BURN_OPTION_HARMLESS,                 \
    "leave composite ops to their decompositions")
enum { CUDA_OPTIONS(BURN_OPTION_NUMBER) OPTION_COUNT };
static const BurnOptionInfo option_rows[] = {CUDA_OPTIONS(BURN_OPTION_ROW)};
static const BurnOptionsInterface options_interface = BURN_OPTIONS_INTERFACE(OPTION_COUNT, option_rows);

/* -- calls ------------------------------------------------------------------------------------ */

static uint32_t BURN_API_CALL op_support(void *self, uint32_t op) {
  const Cuda *cuda = self;
  if (op >= BURN_OP_LIMIT || !cuda->rows[op]) return BURN_SUPPORT_NO;
  return op == BURN_OP_quantized_matmul ? BURN_SUPPORT_ASK : BURN_SUPPORT_YES;
}

static BurnStatus run_call(Cuda *cuda, const BurnOpCall *call) {
  BurnPrimitive *out[BURN_MAX_OUTPUTS] = {NULL};
  const GpuRun run = {cuda, cuda->rows[call->op], call, out};
  BurnStatus status = run.row->function(&run);
  if (status == BURN_OK && !cuda->recording) status = burn__gpu_complaint(cuda); /* of a kernel before this call */
  for (uint32_t i = 0; i < call->output_count; i++) {
    if (status == BURN_OK) call->outputs[i] = out[i];
    if (status != BURN_OK) burn__gpu_release(cuda, out[i]);
  }
  return status;
}

static BurnStatus BURN_API_CALL submit(void *self, const BurnOpCall *call) {
  Cuda *cuda = self;
  BurnStatus status = burn__gpu_enter(cuda);
  if (status != BURN_OK) return status;
  gpu_note_op(cuda, call->op);
  status = run_call(cuda, call);
  burn__gpu_leave(cuda);
  return status;
}

static void BURN_API_CALL retain(void *self, BurnPrimitive *x) {
  (void)self;
  burn__gpu_retain(x);
}

static void BURN_API_CALL release(void *self, BurnPrimitive *x) { burn__gpu_release(self, x); }

static BurnStatus BURN_API_CALL synchronise(void *self) {
  Cuda *cuda = self;
  BurnStatus status = burn__gpu_enter(cuda);
  if (status != BURN_OK) return status;
  status = burn__gpu_wait(cuda);
  burn__cuda_give_back(cuda, false);
  burn__gpu_leave(cuda);
  return status;
}

/* -- questions -------------------------------------------------------------------------------- */

static uint32_t BURN_API_CALL dtype_usage(void *self, BurnDType dtype) {
  (void)self;
  return burn_dtype_bytes(dtype) ? BURN_USAGE_STORE | BURN_USAGE_ARITHMETIC : 0;
}

static BurnStatus BURN_API_CALL query(void *self, uint32_t key, int64_t *out) {
  Cuda *cuda = self;
  const CudaMemoryFigures figures = burn__cuda_memory_figures(cuda);
  switch (key) {
    case BURN_QUERY_BYTES_IN_USE:
      *out = (int64_t)figures.in_use;
      return BURN_OK;
    case BURN_QUERY_BYTES_RESERVED:
      *out = (int64_t)figures.reserved;
      return BURN_OK;
    case BURN_QUERY_BYTES_PEAK:
      *out = (int64_t)figures.peak;
      return BURN_OK;
    case BURN_QUERY_LIVE_TENSORS:
      *out = atomic_load(&cuda->live_tensors);
      return BURN_OK;
    case BURN_QUERY_HOST_WAITS:
      *out = atomic_load(&cuda->host_waits);
      return BURN_OK;
    default:
      return CUDA_FAIL(cuda, NOT_FOUND, "unknown query");
  }
}

static BurnStatus BURN_API_CALL trim(void *self) {
  Cuda *cuda = self;
  BurnStatus status = burn__gpu_enter(cuda);
  if (status != BURN_OK) return status;
  status = burn__gpu_wait(cuda);
  if (status == BURN_OK) status = burn__cuda_memory_trim(cuda);
  burn__gpu_leave(cuda);
  return status;
}

static int32_t BURN_API_CALL get_interface(void *self, const char *name, uint32_t min_version, BurnInterface *out) {
  static const BurnCommonInterface rows[] = {{BURN_DEVICE_INTERFACE_NAME, &burn__cuda_device_interface},
                                             {BURN_CALLS_INTERFACE, &burn__gpu_calls_interface},
                                             {BURN_FUSED_INTERFACE, &burn__gpu_fused_interface},
                                             {BURN_DLPACK_INTERFACE, &burn__cuda_dlpack_interface},
                                             {BURN_REPLAY_INTERFACE, &burn__cuda_replay_interface}};
  return burn_common_offer(rows, sizeof rows / sizeof rows[0], name, min_version, self, out);
}

/* -- open and close --------------------------------------------------------------------------- */

/* Ends what open has made, as far as it got. */
static void BURN_API_CALL close_device(void *self) {
  Cuda *cuda = self;
  const CudaDriver *d = cuda->driver;
  void *popped = NULL;
  if (cuda->context && d->cuCtxPushCurrent_v2(cuda->context) == CUDA_OK) {
    if (cuda->stream) (void)d->cuStreamSynchronize(cuda->stream);
    burn__cuda_products_destroy(cuda);
    burn__cuda_dnn_destroy(cuda);
    burn__gpu_kernels_destroy(cuda, cuda->kernels);
    burn__gpu_fused_destroy(cuda);
    burn__cuda_give_back(cuda, true);
    burn__cuda_memory_destroy(cuda);
    if (cuda->complaint) (void)d->cuMemFreeHost(cuda->complaint);
    if (cuda->pool) (void)d->cuMemPoolDestroy(cuda->pool);
    if (cuda->side_stream) (void)d->cuStreamDestroy_v2(cuda->side_stream);
    if (cuda->stream) (void)d->cuStreamDestroy_v2(cuda->stream);
    (void)d->cuCtxPopCurrent_v2(&popped);
  }
  burn__cuda_memory_destroy(cuda);
  cuda->host->free(cuda, sizeof *cuda);
}

/* A pool of our own keeps what it has got until it is trimmed. */
static BurnStatus make_pool(Cuda *cuda) {
  const CudaPoolProperties properties = {.allocation_type = 1, .location_type = 1, .location = cuda->device};
  uint64_t keep = UINT64_MAX;
  BurnStatus status =
      burn__cuda_check(cuda, cuda->driver->cuMemPoolCreate(&cuda->pool, &properties), "make a pool of memory");
  if (status != BURN_OK) return status;
  return burn__cuda_check(cuda, cuda->driver->cuMemPoolSetAttribute(cuda->pool, CUDA_POOL_RELEASE_THRESHOLD, &keep),
                          "keep memory");
}

static BurnStatus make_complaint(Cuda *cuda) {
  void *memory = NULL;
  BurnStatus status = burn__cuda_check(
      cuda, cuda->driver->cuMemHostAlloc(&memory, sizeof *cuda->complaint, CUDA_HOST_MAPPED), "allocate pinned memory");
  if (status != BURN_OK) return status;
  cuda->complaint = memory;
  memset(cuda->complaint, 0, sizeof *cuda->complaint);
  return burn__cuda_check(cuda, cuda->driver->cuMemHostGetDevicePointer_v2(&cuda->complaint_address, memory, 0),
                          "map pinned memory");
}

/* In the context. */
static BurnStatus make_parts(Cuda *cuda) {
  const CudaDriver *d = cuda->driver;
  int major = 0, minor = 0, units = 0;
  (void)d->cuDeviceGetAttribute(&major, CUDA_MAJOR, cuda->device);
  (void)d->cuDeviceGetAttribute(&minor, CUDA_MINOR, cuda->device);
  (void)d->cuDeviceGetAttribute(&units, CUDA_UNIT_COUNT, cuda->device);
  cuda->architecture = 10 * major + minor;
  cuda->unit_count = (uint32_t)units;
  BurnStatus status =
      burn__cuda_check(cuda, d->cuStreamCreate(&cuda->stream, CUDA_STREAM_NON_BLOCKING), "make a stream");
  if (status == BURN_OK) status = make_pool(cuda);
  if (status == BURN_OK) status = make_complaint(cuda);
  if (status != BURN_OK) return status;
  cuda->kernels = burn__gpu_kernels_create();
  return cuda->kernels ? BURN_OK : CUDA_FAIL(cuda, OUT_OF_MEMORY, "no memory of the host for the list of kernels");
}

/* The device's context, which is made once and kept as long as the process: making it takes 0.2 s. */
static BurnStatus take_context(Cuda *cuda) {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  static void *contexts[64];
  int error = CUDA_OK;
  if (cuda->index >= sizeof contexts / sizeof contexts[0])
    return CUDA_FAIL(cuda, NOT_FOUND, "devices from 64 on are not counted on");
  (void)pthread_mutex_lock(&mutex);
  if (!contexts[cuda->index]) error = cuda->driver->cuDevicePrimaryCtxRetain(&contexts[cuda->index], cuda->device);
  cuda->context = contexts[cuda->index];
  (void)pthread_mutex_unlock(&mutex);
  return burn__cuda_check(cuda, error, "make a context");
}

static BurnStatus start(Cuda *cuda) {
  int count = 0;
  BurnStatus status = burn__cuda_check(cuda, cuda->driver->cuDeviceGetCount(&count), "count devices");
  if (status != BURN_OK) return status;
  if (cuda->index >= (uint32_t)count)
    return BURN_COMMON_FAIL(cuda->host, NOT_FOUND, "cuda", "there is no device %u: the driver has %d, from 0",
                            cuda->index, count);
  status = burn__cuda_check(cuda, cuda->driver->cuDeviceGet(&cuda->device, (int)cuda->index), "get the device");
  if (status == BURN_OK) status = take_context(cuda);
  if (status == BURN_OK) status = burn__gpu_enter(cuda);
  if (status != BURN_OK) return status;
  status = make_parts(cuda);
  burn__gpu_leave(cuda);
  return status;
}

static void fill_rows(Cuda *cuda, bool primitives_only) {
  static const GpuRow *const lists[] = {
#define GPU_FAMILY(name) burn__gpu_##name##_rows,
#include "families.def"
#undef GPU_FAMILY
  };
  for (size_t list = 0; list < sizeof lists / sizeof lists[0]; list++)
    for (const GpuRow *row = lists[list]; row->op; row++)
      if (!primitives_only || !cuda->host->op_info(row->op)->is_composite) cuda->rows[row->op] = row;
}

static void fill_table(Cuda *cuda, BurnBackend *out) {
  out->self = cuda;
  out->name = cuda->name;
  out->close = close_device;
  out->op_support = op_support;
  out->supports = burn__gpu_supports;
  out->submit = submit;
  out->create = burn__cuda_create;
  out->read = burn__cuda_read;
  out->retain = retain;
  out->release = release;
  out->sync = synchronise;
  out->dtype_usage = dtype_usage;
  out->query = query;
  out->trim = trim;
  out->get_interface = get_interface;
}

/* What the user may say. */
typedef struct Settings {
  uint64_t limit;
  uint32_t precision; /* GpuPrecision */
  bool tf32, timing, primitives;
} Settings;

static BurnStatus read_settings(const BurnHost *host, const BurnOptions *options, Settings *settings) {
  const char *values[OPTION_COUNT];
  const BurnCommonSettings given = {host, "cuda", &options_interface, values};
  burn_options_ask(host, options, &options_interface, values);
  BurnStatus status = burn_common_bytes(&given, OPTION_LIMIT, &settings->limit);
  if (status == BURN_OK) status = burn_common_truth(&given, OPTION_TF32, &settings->tf32);
  settings->precision = settings->tf32 ? GPU_HIGH : GPU_HIGHEST;
  if (status == BURN_OK) status = burn_common_word(&given, OPTION_PRECISION, &settings->precision);
  if (status == BURN_OK) status = burn_common_truth(&given, OPTION_TIMING, &settings->timing);
  return status == BURN_OK ? burn_common_truth(&given, OPTION_PRIMITIVES, &settings->primitives) : status;
}

static BurnStatus BURN_API_CALL open_device(const BurnHost *host, uint32_t index, const BurnOptions *options,
                                            uint32_t owner, BurnBackend *out) {
  char why[400];
  Settings settings = {.limit = UINT64_MAX, .timing = true};
  BurnStatus status = burn_plugin_check_open(host, out, "cuda");
  if (status == BURN_OK) status = read_settings(host, options, &settings);
  if (status != BURN_OK) return status;
  const CudaDriver *driver = burn__cuda_driver(why, sizeof why);
  const CudaNvrtc *nvrtc = driver ? burn__cuda_nvrtc(why, sizeof why) : NULL;
  if (!nvrtc) return BURN_COMMON_FAIL(host, FAILED_PRECONDITION, "cuda", "%s", why);
  Cuda *cuda = host->allocate(sizeof *cuda);
  if (!cuda) return BURN_COMMON_FAIL(host, OUT_OF_MEMORY, "cuda", "no memory of the host");
  *cuda = (Cuda){.host = host,
                 .driver = driver,
                 .nvrtc = nvrtc,
                 .owner = owner,
                 .index = index,
                 .tf32 = settings.tf32,
                 .fused = {.mutex = PTHREAD_MUTEX_INITIALIZER},
                 .timing = settings.timing,
                 .precision = (GpuPrecision)settings.precision,
                 .products_mutex = PTHREAD_MUTEX_INITIALIZER,
                 .borrowed_mutex = PTHREAD_MUTEX_INITIALIZER,
                 .dnn_mutex = PTHREAD_MUTEX_INITIALIZER,
                 .recorder_mutex = PTHREAD_MUTEX_INITIALIZER,
                 .scratch_mutex = PTHREAD_MUTEX_INITIALIZER};
  (void)snprintf(cuda->name, sizeof cuda->name, "cuda:%u", index);
  fill_rows(cuda, settings.primitives);
  cuda->memory = burn__cuda_memory_create(host, settings.limit);
  status = cuda->memory ? start(cuda) : CUDA_FAIL(cuda, OUT_OF_MEMORY, "no memory of the host for a list of tensors");
  if (status == BURN_OK) fill_table(cuda, out);
  if (status != BURN_OK) close_device(cuda);
  return status;
}

/* -- the plugin ------------------------------------------------------------------------------- */

static void add_device(const CudaDriver *driver, int ordinal, BurnProbe *out) {
  char name[128] = "a device without a name";
  size_t bytes = 0;
  int device = 0;
  if (driver->cuDeviceGet(&device, ordinal) != CUDA_OK) return;
  (void)driver->cuDeviceGetName(name, (int)sizeof name, device);
  (void)driver->cuDeviceTotalMem_v2(&bytes, device);
  burn_probe_add(out, (uint32_t)ordinal, name, (int64_t)bytes);
}

/* NVRTC is only looked for: opening it takes as long as all else. */
static void BURN_API_CALL probe(const BurnHost *host, BurnProbe *out) {
  int count = 0;
  const CudaDriver *driver = burn__cuda_driver(out->reason, sizeof out->reason);
  (void)host;
  if (!driver) return;
  if (driver->cuDeviceGetCount(&count) != CUDA_OK || count == 0) {
    (void)snprintf(out->reason, sizeof out->reason, "the NVIDIA driver knows no device");
    return;
  }
  burn__cuda_report(driver, out->reason, sizeof out->reason);
  if (!burn__cuda_nvrtc_exists()) return;
  for (int i = 0; i < count; i++) add_device(driver, i, out);
  out->score = 1000;
}

static const BurnBackendInterface backend = {(uint32_t)sizeof(BurnBackendInterface), 1, probe, open_device};

BURN_COMMON_PLUGIN(BACKEND, "cuda", "0.1.0", "MIT OR Apache-2.0", "tensors on NVIDIA GPUs", {"burn.backend", &backend},
                   {BURN_OPTIONS_INTERFACE_NAME, &options_interface})
