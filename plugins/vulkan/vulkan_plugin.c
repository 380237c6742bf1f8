/* vulkan_plugin.c - the Vulkan backend as a plugin: descriptor, options, probe, open, the table. Start here. */
#include "vulkan_internal.h"

#include <burn/common/descriptor.h>
#include <burn/common/settings.h>
#include <burn/plugin/fused.h>

#include <stdio.h>
#include <string.h>

#define VULKAN_OPTIONS(X)                                                                                          \
  X(LIMIT, "memory_limit", "bytes, 64KiB, 512MiB, 2GiB", "", BURN_OPTION_HARMLESS,                                 \
    "what tensors may take; without it all memory of the device")                                                  \
  X(PRIMITIVES, "primitives", "true|false", "false", BURN_OPTION_HARMLESS,                                         \
    "leave composite ops to their decompositions")                                                                 \
  X(WAIT, "wait_limit", "1..86400", "300", BURN_OPTION_HARMLESS,                                                   \
    "seconds after which a device that does not answer counts as lost")                                            \
  X(BARRIERS, "barriers", "needed|all", "needed", BURN_OPTION_HARMLESS,                                            \
    "all: no kernel begins before those before it have ended")                                                     \
  X(CACHE, "cache", "true|false", "true", 0, "keep the driver's compiled kernels on disk")                         \
  X(WARM_UP, "warm_up", "never|auto|always", "auto", BURN_OPTION_HARMLESS,                                         \
    "whether a thread compiles what the program used before, from when the device is opened on; auto: on GPUs")    \
  X(PROFILE, "profile", "true|false", "false", BURN_OPTION_HARMLESS,                                               \
    "tell at the end how long each kernel took; steps are not replayed meanwhile")                                 \
  X(DUMP, "dump", "path", "", 0, "a folder that gets each kernel: <hash>.spv and its source <hash>.cu")            \
  X(SUBGROUPS, "subgroups", "true|false", "true", BURN_OPTION_HARMLESS,                                            \
    "false: warps in shared memory, as on devices without subgroups of 32")                                        \
  X(CONTROLS, "float_controls", "true|false", "true", BURN_OPTION_HARMLESS,                                        \
    "false: as if the device could not be told how to round, or to keep subnormals")                               \
  X(SHARED, "shared_limit", "bytes, 16KiB, 48KiB", "", BURN_OPTION_HARMLESS,                                       \
    "as if a workgroup had no more shared memory")                                                                 \
  X(GROUPS, "group_limit", "1..4294967295", "", BURN_OPTION_HARMLESS,                                              \
    "as if a dispatch had no more workgroups along an axis")                                                       \
  X(THREADS, "thread_limit", "256..4294967295", "", BURN_OPTION_HARMLESS, "as if a workgroup had no more threads") \
  X(ALLOCATION, "allocation_limit", "bytes, 64MiB, 2GiB", "", BURN_OPTION_HARMLESS,                                \
    "as if the driver gave no more memory at once")                                                                \
  X(HALVES, "halves", "auto|round_trips|bits", "auto", BURN_OPTION_HARMLESS,                                       \
    "what goes by integers though the device may be right: round trips through f16, or all its conversions")       \
  X(KERNELS, "kernels", "auto|gpu", "auto", BURN_OPTION_HARMLESS,                                                  \
    "gpu: those of GPUs, also where the device is a processor")                                                    \
  X(MATRICES, "matrices", "never|auto|always", "auto", BURN_OPTION_HARMLESS,                                       \
    "which products of f16, bf16 and i8 the device's matrix units make")                                           \
  X(TILE, "matrix_tile", "auto|small|large", "auto", BURN_OPTION_HARMLESS,                                         \
    "the tile of products by matrix units: 64 x 64 or 128 x 128")                                                  \
  X(PRECISION, "matmul_precision", "highest|high|medium", "highest", BURN_OPTION_HARMLESS,                         \
    "medium: large products of f32 in bf16 with sums of f32")
enum { VULKAN_OPTIONS(BURN_OPTION_NUMBER) OPTION_COUNT };
static const BurnOptionInfo option_rows[] = {VULKAN_OPTIONS(BURN_OPTION_ROW)};
static const BurnOptionsInterface options_interface = BURN_OPTIONS_INTERFACE(OPTION_COUNT, option_rows);

/* -- options ---------------------------------------------------------------------------------- */

static BurnStatus read_folder(const BurnCommonSettings *given, VulkanSettings *settings) {
  const char *text = given->values[OPTION_DUMP];
  if (!text) return BURN_OK;
  if (strlen(text) >= sizeof settings->dump)
    return BURN_COMMON_FAIL(given->host, INVALID_ARGUMENT, "vulkan", "dump=%.40s.. is longer than %zu bytes", text,
                            sizeof settings->dump - 1);
  memcpy(settings->dump, text, strlen(text) + 1);
  return BURN_OK;
}

/* What smaller devices do. */
static BurnStatus read_limits(const BurnCommonSettings *given, VulkanSettings *settings) {
  BurnStatus status = burn_common_truth(given, OPTION_SUBGROUPS, &settings->subgroups);
  if (status == BURN_OK) status = burn_common_truth(given, OPTION_CONTROLS, &settings->float_controls);
  if (status == BURN_OK) status = burn_common_bytes(given, OPTION_SHARED, &settings->shared_limit);
  if (status == BURN_OK) status = burn_common_number(given, OPTION_GROUPS, &settings->group_limit);
  if (status == BURN_OK) status = burn_common_number(given, OPTION_THREADS, &settings->thread_limit);
  return status == BURN_OK ? burn_common_bytes(given, OPTION_ALLOCATION, &settings->allocation_limit) : status;
}

static BurnStatus read_settings(const BurnHost *host, const BurnOptions *options, VulkanSettings *settings) {
  const char *values[OPTION_COUNT];
  const BurnCommonSettings given = {host, "vulkan", &options_interface, values};
  uint32_t barriers = 0, kernels = 0;
  burn_options_ask(host, options, &options_interface, values);
  *settings = (VulkanSettings){.memory_limit = UINT64_MAX,
                               .wait_seconds = 300,
                               .shared_limit = UINT64_MAX,
                               .group_limit = UINT64_MAX,
                               .thread_limit = UINT64_MAX,
                               .allocation_limit = UINT64_MAX,
                               .subgroups = true,
                               .float_controls = true,
                               .cache = true,
                               .warm_up = VULKAN_WARM_UP_AUTO,
                               .matrices = VULKAN_MATRICES_AUTO};
  BurnStatus status = burn_common_bytes(&given, OPTION_LIMIT, &settings->memory_limit);
  if (status == BURN_OK) status = burn_common_truth(&given, OPTION_PRIMITIVES, &settings->primitives);
  if (status == BURN_OK) status = burn_common_number(&given, OPTION_WAIT, &settings->wait_seconds);
  if (status == BURN_OK) status = burn_common_truth(&given, OPTION_CACHE, &settings->cache);
  if (status == BURN_OK) status = burn_common_word(&given, OPTION_WARM_UP, &settings->warm_up);
  if (status == BURN_OK) status = burn_common_truth(&given, OPTION_PROFILE, &settings->profile);
  if (status == BURN_OK) status = burn_common_word(&given, OPTION_BARRIERS, &barriers);
  settings->all_barriers = barriers == 1;
  if (status == BURN_OK) status = burn_common_word(&given, OPTION_KERNELS, &kernels);
  settings->kernels_of_gpus = kernels == 1;
  if (status == BURN_OK) status = burn_common_word(&given, OPTION_HALVES, &settings->halves);
  if (status == BURN_OK) status = burn_common_word(&given, OPTION_MATRICES, &settings->matrices);
  if (status == BURN_OK) status = burn_common_word(&given, OPTION_TILE, &settings->matrix_tile);
  if (status == BURN_OK) status = burn_common_word(&given, OPTION_PRECISION, &settings->precision);
  if (status == BURN_OK) status = read_folder(&given, settings);
  return status == BURN_OK ? read_limits(&given, settings) : status;
}

static uint64_t less(uint64_t a, uint64_t b) { return a < b ? a : b; }

static void cut_down(VulkanCaps *caps, const VulkanSettings *settings) {
  caps->shared_bytes = (uint32_t)less(caps->shared_bytes, settings->shared_limit);
  for (int axis = 0; axis < 3; axis++) caps->groups[axis] = (uint32_t)less(caps->groups[axis], settings->group_limit);
  caps->threads = (uint32_t)less(caps->threads, settings->thread_limit);
  caps->allocation_bytes = less(caps->allocation_bytes, settings->allocation_limit);
  if (!settings->subgroups) caps->has_shuffle = false;
  if (!settings->float_controls) memset(caps->controls, 0, sizeof caps->controls);
}

/* -- open and close --------------------------------------------------------------------------- */

static const GpuBackend functions = {.enter = burn__vulkan_enter,
                                     .leave = burn__vulkan_leave,
                                     .storage_new = burn__gpu_replay_storage_new,
                                     .storage_release = burn__gpu_memory_release,
                                     .load = burn__vulkan_load,
                                     .function = burn__vulkan_function,
                                     .settle = burn__vulkan_settle,
                                     .unload = burn__vulkan_unload,
                                     .launch = burn__vulkan_launch,
                                     .finish = burn__vulkan_finish,
                                     .complaint = burn__gpu_tell_complaint,
                                     .write = burn__vulkan_write,
                                     .read = burn__vulkan_read,
                                     .event_new = burn__vulkan_event_new,
                                     .event_query = burn__vulkan_event_query,
                                     .event_wait = burn__vulkan_event_wait,
                                     .event_release = burn__vulkan_event_release,
                                     .event_elapsed = burn__vulkan_event_elapsed,
                                     .pack_start = burn__vulkan_pack_start,
                                     .replay = &burn__vulkan_replay_work};

static int32_t BURN_API_CALL get_interface(void *self, const char *name, uint32_t min_version, BurnInterface *out) {
  static const BurnCommonInterface rows[] = {{BURN_DEVICE_INTERFACE_NAME, &burn__vulkan_device_interface},
                                             {BURN_CALLS_INTERFACE, &burn__gpu_calls_interface},
                                             {BURN_FUSED_INTERFACE, &burn__gpu_fused_interface},
                                             {BURN_MIXED_INTERFACE, &burn__gpu_mixed_interface},
                                             {BURN_REPLAY_INTERFACE, &burn__gpu_replay_interface}};
  const Vulkan *vulkan = self;
  const size_t count = sizeof rows / sizeof rows[0] - (vulkan->settings.profile ? 1 : 0); /* without replay */
  return burn_common_offer(rows, count, name, min_version, self, out);
}

/* Ends what open has made, as far as it got. */
static void BURN_API_CALL close_device(void *self) {
  Vulkan *vulkan = self;
  if (vulkan_is_beyond_reach(vulkan)) return;
  if (vulkan->device) (void)vulkan->calls.DeviceWaitIdle(vulkan->device);
  burn__vulkan_warm_close(vulkan);
  burn__vulkan_profile_close(vulkan);
  burn__gpu_end(&vulkan->gpu);
  burn__vulkan_device_close(vulkan);
  vulkan->gpu.host->free(vulkan, sizeof *vulkan);
}

/* How much work is worth a launch; devices that tell nothing count as middling. */
static uint32_t units_of(const BurnHost *host, const VulkanCaps *caps) {
  if (caps->unit_count != 0) return caps->unit_count;
  return caps->is_cpu ? host->thread_count() : 32;
}

static BurnStatus start(Vulkan *vulkan) {
  const VulkanInstance *instance = vulkan->instance;
  const uint32_t index = vulkan->gpu.index;
  char why[512];
  if (index >= instance->device_count)
    return BURN_COMMON_FAIL(vulkan->gpu.host, NOT_FOUND, "vulkan", "there is no device %u: Vulkan knows %u, from 0",
                            index, instance->device_count);
  vulkan->physical = instance->devices[index];
  if (!burn__vulkan_caps(instance, vulkan->physical, &vulkan->caps, why, sizeof why))
    return VULKAN_FAIL(vulkan, FAILED_PRECONDITION, "%s", why);
  cut_down(&vulkan->caps, &vulkan->settings);
  vulkan->gpu.most_threads = vulkan->caps.threads;
  vulkan->gpu.shared_bytes = vulkan->caps.shared_bytes;
  vulkan->gpu.is_processor = vulkan->caps.is_cpu && !vulkan->settings.kernels_of_gpus;
  vulkan->gpu.is_generous = true;
  vulkan->gpu.tracks_memory = !vulkan->settings.all_barriers;
  vulkan->gpu.unit_count = units_of(vulkan->gpu.host, &vulkan->caps);
  vulkan->gpu.precision = (GpuPrecision)vulkan->settings.precision;
  BurnStatus status = burn__gpu_begin(&vulkan->gpu, vulkan->settings.primitives);
  if (status == BURN_OK) status = burn__vulkan_device_open(vulkan);
  if (status == BURN_OK) status = burn__vulkan_selftest(vulkan);
  vulkan->gpu.emulates_warps = !vulkan->target.has_warps;
  if (status == BURN_OK) status = burn__vulkan_try_matrices(vulkan);
  if (status == BURN_OK) status = burn__vulkan_profile_open(vulkan);
  if (status == BURN_OK) burn__vulkan_warm_open(vulkan);
  return status;
}

static BurnStatus BURN_API_CALL open_device(const BurnHost *host, uint32_t index, const BurnOptions *options,
                                            uint32_t owner, BurnBackend *out) {
  char why[400];
  VulkanSettings settings;
  BurnStatus status = burn_plugin_check_open(host, out, "vulkan");
  if (status == BURN_OK) status = read_settings(host, options, &settings);
  if (status != BURN_OK) return status;
  const VulkanInstance *instance = burn__vulkan_instance(why, sizeof why);
  if (!instance) return BURN_COMMON_FAIL(host, FAILED_PRECONDITION, "vulkan", "%s", why);
  Vulkan *vulkan = host->allocate(sizeof *vulkan);
  if (!vulkan) return BURN_COMMON_FAIL(host, OUT_OF_MEMORY, "vulkan", "no memory of the host");
  *vulkan = (Vulkan){.gpu = {.host = host,
                             .backend = &functions,
                             .owner = owner,
                             .index = index,
                             .has_f64 = true,
                             .composes_f64_attention = true},
                     .instance = instance,
                     .settings = settings};
  (void)snprintf(vulkan->gpu.name, sizeof vulkan->gpu.name, "vulkan:%u", index);
  status = start(vulkan);
  if (status != BURN_OK) {
    close_device(vulkan);
    return status;
  }
  burn__gpu_fill_table(&vulkan->gpu, out);
  out->close = close_device;
  out->get_interface = get_interface;
  return BURN_OK;
}

/* -- the plugin ------------------------------------------------------------------------------- */

/* Below CUDA, and a processor below the backends that are made for processors. */
static int32_t score_of(VkPhysicalDeviceType type) {
  switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
      return 900;
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
      return 870;
    case VK_PHYSICAL_DEVICE_TYPE_CPU:
      return 20;
    default:
      return 850;
  }
}

/* The backend counts as its first device that will do, which is opened where none is named. */
static void add_device(const VulkanInstance *instance, uint32_t index, BurnProbe *out) {
  VulkanCaps caps;
  char why[sizeof out->reason];
  if (!burn__vulkan_caps(instance, instance->devices[index], &caps, why, sizeof why)) {
    if (out->score == 0) (void)snprintf(out->reason, sizeof out->reason, "%s", why);
    return;
  }
  burn_probe_add(out, index, caps.name, (int64_t)caps.heap_bytes);
  if (out->score != 0) return;
  out->score = score_of(caps.type);
  (void)snprintf(out->reason, sizeof out->reason, "%.*s", (int)sizeof out->reason - 1, caps.driver);
}

static void BURN_API_CALL probe(const BurnHost *host, BurnProbe *out) {
  const VulkanInstance *instance = burn__vulkan_instance(out->reason, sizeof out->reason);
  (void)host;
  for (uint32_t i = 0; instance && i < instance->device_count; i++) add_device(instance, i, out);
}

static const BurnBackendInterface backend = {(uint32_t)sizeof(BurnBackendInterface), 1, probe, open_device};

BURN_COMMON_PLUGIN(BACKEND, "vulkan", "0.1.0", "MIT OR Apache-2.0", "tensors on GPUs of any make, by Vulkan",
                   {"burn.backend", &backend}, {BURN_OPTIONS_INTERFACE_NAME, &options_interface})
