/* cuda_plugin.c - the CUDA backend as a plugin: descriptor, options, probe, open, the table. Start here. */
#include "cuda_internal.h"

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
  X(LAST, "channels_last", "never|auto|always", "auto", BURN_OPTION_HARMLESS,              \
    "which convolutions may leave channels last in memory, where that is timed as faster") \
  X(PRIMITIVES, "primitives", "true|false", "false", BURN_OPTION_HARMLESS,                 \
    "leave composite ops to their decompositions")
enum { CUDA_OPTIONS(BURN_OPTION_NUMBER) OPTION_COUNT };
static const BurnOptionInfo option_rows[] = {CUDA_OPTIONS(BURN_OPTION_ROW)};
static const BurnOptionsInterface options_interface = BURN_OPTIONS_INTERFACE(OPTION_COUNT, option_rows);

/* -- what plugins/gpu needs ------------------------------------------------------------------- */

static const GpuBackend gpu_backend = {.enter = burn__cuda_enter,
                                       .leave = burn__cuda_leave,
                                       .storage_new = burn__gpu_replay_storage_new,
                                       .storage_release = burn__cuda_storage_release,
                                       .load = burn__cuda_load,
                                       .function = burn__cuda_function,
                                       .unload = burn__cuda_unload,
                                       .launch = burn__cuda_launch,
                                       .launch_sharing = burn__cuda_launch_sharing,
                                       .finish = burn__cuda_finish,
                                       .complaint = burn__gpu_tell_complaint,
                                       .write = burn__cuda_write,
                                       .read = burn__cuda_read,
                                       .event_new = burn__cuda_event_new,
                                       .event_query = burn__cuda_event_query,
                                       .event_wait = burn__cuda_event_wait,
                                       .event_release = burn__cuda_event_release,
                                       .event_elapsed = burn__cuda_event_elapsed,
                                       .pack_start = burn__cuda_pack_start,
                                       .replay = &burn__cuda_replay_work};

static const GpuLibraries libraries = {.product = burn__cuda_blas_product,
                                       .conv = burn__cuda_dnn_conv,
                                       .takes_volumes = burn__cuda_dnn_takes_volumes,
                                       .attention = burn__cuda_dnn_attention,
                                       .attention_backward = burn__cuda_dnn_attention_backward};

/* -- slots of the table ----------------------------------------------------------------------- */

static BurnStatus BURN_API_CALL synchronise(void *self) {
  Cuda *cuda = self;
  BurnStatus status = burn__gpu_enter(&cuda->gpu);
  if (status != BURN_OK) return status;
  status = burn__gpu_wait(&cuda->gpu);
  burn__cuda_give_back(cuda, false);
  burn__gpu_leave(&cuda->gpu);
  return status;
}

static int32_t BURN_API_CALL get_interface(void *self, const char *name, uint32_t min_version, BurnInterface *out) {
  static const BurnCommonInterface rows[] = {
      {BURN_DEVICE_INTERFACE_NAME, &burn__cuda_device_interface}, {BURN_CALLS_INTERFACE, &burn__gpu_calls_interface},
      {BURN_FUSED_INTERFACE, &burn__gpu_fused_interface},         {BURN_MIXED_INTERFACE, &burn__gpu_mixed_interface},
      {BURN_DLPACK_INTERFACE, &burn__cuda_dlpack_interface},      {BURN_REPLAY_INTERFACE, &burn__gpu_replay_interface}};
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
    burn__gpu_end(&cuda->gpu);
    burn__cuda_give_back(cuda, true);
    burn__gpu_memory_destroy(&cuda->gpu);
    if (cuda->gpu.complaint) (void)d->cuMemFreeHost(cuda->gpu.complaint);
    if (cuda->pool) (void)d->cuMemPoolDestroy(cuda->pool);
    if (cuda->side_stream) (void)d->cuStreamDestroy_v2(cuda->side_stream);
    if (cuda->stream) (void)d->cuStreamDestroy_v2(cuda->stream);
    (void)d->cuCtxPopCurrent_v2(&popped);
  }
  burn__gpu_end(&cuda->gpu);
  burn__gpu_memory_destroy(&cuda->gpu);
  cuda->gpu.host->free(cuda, sizeof *cuda);
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
  BurnStatus status =
      burn__cuda_check(cuda, cuda->driver->cuMemHostAlloc(&memory, sizeof *cuda->gpu.complaint, CUDA_HOST_MAPPED),
                       "allocate pinned memory");
  if (status != BURN_OK) return status;
  cuda->gpu.complaint = memory;
  memset(cuda->gpu.complaint, 0, sizeof *cuda->gpu.complaint);
  return burn__cuda_check(cuda, cuda->driver->cuMemHostGetDevicePointer_v2(&cuda->gpu.complaint_address, memory, 0),
                          "map pinned memory");
}

/* In the context. */
static BurnStatus make_parts(Cuda *cuda) {
  const CudaDriver *d = cuda->driver;
  int major = 0, minor = 0, units = 0, shared = 0;
  (void)d->cuDeviceGetAttribute(&major, CUDA_MAJOR, cuda->device);
  (void)d->cuDeviceGetAttribute(&minor, CUDA_MINOR, cuda->device);
  (void)d->cuDeviceGetAttribute(&units, CUDA_UNIT_COUNT, cuda->device);
  (void)d->cuDeviceGetAttribute(&shared, CUDA_MAX_SHARED, cuda->device);
  cuda->architecture = 10 * major + minor;
  cuda->gpu.unit_count = (uint32_t)units;
  cuda->gpu.most_shared_bytes = (uint32_t)shared;
  cuda->gpu.most_threads = 1024;
  cuda->gpu.shared_bytes = 48 << 10; /* that a kernel has without asking for more */
  BurnStatus status =
      burn__cuda_check(cuda, d->cuStreamCreate(&cuda->stream, CUDA_STREAM_NON_BLOCKING), "make a stream");
  if (status == BURN_OK) status = make_pool(cuda);
  return status == BURN_OK ? make_complaint(cuda) : status;
}

/* The device's context, which is made once and kept as long as the process: making it takes 0.2 s. */
static BurnStatus take_context(Cuda *cuda) {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  static void *contexts[64];
  int error = CUDA_OK;
  if (cuda->gpu.index >= sizeof contexts / sizeof contexts[0])
    return CUDA_FAIL(cuda, NOT_FOUND, "devices from 64 on are not counted on");
  (void)pthread_mutex_lock(&mutex);
  if (!contexts[cuda->gpu.index])
    error = cuda->driver->cuDevicePrimaryCtxRetain(&contexts[cuda->gpu.index], cuda->device);
  cuda->context = contexts[cuda->gpu.index];
  (void)pthread_mutex_unlock(&mutex);
  return burn__cuda_check(cuda, error, "make a context");
}

static BurnStatus start(Cuda *cuda) {
  int count = 0;
  BurnStatus status = burn__cuda_check(cuda, cuda->driver->cuDeviceGetCount(&count), "count devices");
  if (status != BURN_OK) return status;
  if (cuda->gpu.index >= (uint32_t)count)
    return BURN_COMMON_FAIL(cuda->gpu.host, NOT_FOUND, "cuda", "there is no device %u: the driver has %d, from 0",
                            cuda->gpu.index, count);
  status = burn__cuda_check(cuda, cuda->driver->cuDeviceGet(&cuda->device, (int)cuda->gpu.index), "get the device");
  if (status == BURN_OK) status = take_context(cuda);
  if (status == BURN_OK) status = burn__gpu_enter(&cuda->gpu);
  if (status != BURN_OK) return status;
  status = make_parts(cuda);
  burn__gpu_leave(&cuda->gpu);
  return status;
}

static void fill_table(Cuda *cuda, BurnBackend *out) {
  burn__gpu_fill_table(&cuda->gpu, out);
  out->close = close_device;
  out->sync = synchronise;
  out->get_interface = get_interface;
}

/* What the user may say. */
typedef struct Settings {
  uint64_t limit;
  uint32_t precision; /* GpuPrecision */
  uint32_t last;      /* CudaChannelsLast */
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
  if (status == BURN_OK) status = burn_common_word(&given, OPTION_LAST, &settings->last);
  return status == BURN_OK ? burn_common_truth(&given, OPTION_PRIMITIVES, &settings->primitives) : status;
}

static BurnStatus make_memory(Cuda *cuda, uint64_t limit) {
  const int fill = burn__gpu_memory_fill("BURN_CUDA_FILL");
  cuda->gpu.memory = burn__gpu_memory_create(cuda->gpu.host, &burn__cuda_segments, limit, fill);
  return cuda->gpu.memory ? BURN_OK : CUDA_FAIL(cuda, OUT_OF_MEMORY, "no memory of the host for a list of tensors");
}

static BurnStatus BURN_API_CALL open_device(const BurnHost *host, uint32_t index, const BurnOptions *options,
                                            uint32_t owner, BurnBackend *out) {
  char why[400];
  Settings settings = {.limit = UINT64_MAX, .timing = true, .last = CUDA_LAST_AUTO};
  BurnStatus status = burn_plugin_check_open(host, out, "cuda");
  if (status == BURN_OK) status = read_settings(host, options, &settings);
  if (status != BURN_OK) return status;
  const CudaDriver *driver = burn__cuda_driver(why, sizeof why);
  const CudaNvrtc *nvrtc = driver ? burn__cuda_nvrtc(why, sizeof why) : NULL;
  if (!nvrtc) return BURN_COMMON_FAIL(host, FAILED_PRECONDITION, "cuda", "%s", why);
  Cuda *cuda = host->allocate(sizeof *cuda);
  if (!cuda) return BURN_COMMON_FAIL(host, OUT_OF_MEMORY, "cuda", "no memory of the host");
  *cuda = (Cuda){.gpu = {.host = host,
                         .backend = &gpu_backend,
                         .libraries = &libraries,
                         .owner = owner,
                         .index = index,
                         .tf32 = settings.tf32,
                         .precision = (GpuPrecision)settings.precision,
                         .timing = settings.timing,
                         .has_tensor_cores = true,
                         .has_shared_atomics = true,
                         .has_f64 = true},
                 .driver = driver,
                 .nvrtc = nvrtc,
                 .channels_last = (CudaChannelsLast)settings.last,
                 .products_mutex = PTHREAD_MUTEX_INITIALIZER,
                 .borrowed_mutex = PTHREAD_MUTEX_INITIALIZER,
                 .dnn_mutex = PTHREAD_MUTEX_INITIALIZER};
  (void)snprintf(cuda->gpu.name, sizeof cuda->gpu.name, "cuda:%u", index);
  status = burn__gpu_begin(&cuda->gpu, settings.primitives);
  if (status == BURN_OK) status = make_memory(cuda, settings.limit);
  if (status == BURN_OK) status = start(cuda);
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
