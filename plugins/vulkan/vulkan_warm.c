/* vulkan_warm.c - pipelines that a program used before, compiled by a thread once the device is open. Who needs one
 * takes it, waits for it while it is being made, or makes it; nothing of a kernel's source is read again then.
 *
 * What was used is written down when the device is closed, a file for a program, a device and a build of the plugin. */
#include "vulkan_internal.h"
#include "vulkan_warm_file.h"

#include <burn/common/hash.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { MAX_UNUSED = 8, MAX_BYTES = 64 << 20 };

typedef enum State { WAITING, MAKING, READY, TAKEN } State;

typedef struct Kernel {
  State state;
  VkPipeline pipeline; /* of READY; NULL: the driver has refused it */
  bool is_used;        /* by this program, so far */
  bool is_new;         /* its words are ours, not the file's */
} Kernel;

struct VulkanWarm {
  pthread_mutex_t mutex;
  pthread_cond_t changed; /* a state has */
  pthread_t thread;
  bool has_thread, stops;
  uint64_t identity, file_bytes;
  void *file;
  size_t count, from_file, bytes; /* bytes: of all words */
  VulkanWarmKernel rows[VULKAN_WARM_MAX];
  Kernel kernels[VULKAN_WARM_MAX];
};

/* -- the thread ------------------------------------------------------------------------------- */

static void *make_pipelines(void *context) {
  Vulkan *vulkan = context;
  VulkanWarm *warm = vulkan->warm;
  (void)pthread_mutex_lock(&warm->mutex);
  for (size_t i = 0; i < warm->from_file && !warm->stops; i++) {
    VkPipeline made = VK_NULL_HANDLE;
    if (vulkan_broken(vulkan) != VK_SUCCESS || warm->kernels[i].state != WAITING) continue;
    warm->kernels[i].state = MAKING;
    (void)pthread_mutex_unlock(&warm->mutex);
    const bool is_made = burn__vulkan_try_pipeline(vulkan, &warm->rows[i].module, &made);
    (void)pthread_mutex_lock(&warm->mutex);
    warm->kernels[i].pipeline = is_made ? made : VK_NULL_HANDLE;
    warm->kernels[i].state = READY;
    (void)pthread_cond_broadcast(&warm->changed);
  }
  (void)pthread_mutex_unlock(&warm->mutex);
  return NULL;
}

/* -- what is needed --------------------------------------------------------------------------- */

uint64_t burn__vulkan_warm_source(const Vulkan *vulkan, const char *source) {
  const uint64_t hash = burn_common_hash_bytes(BURN_COMMON_HASH, &vulkan->target, sizeof vulkan->target);
  return burn_common_hash_bytes(hash, source, strlen(source));
}

static uint64_t key_of(uint64_t source, const VulkanEntry *entry) {
  const uint32_t none[3] = {0, 0, 0};
  const uint64_t hash = burn_common_hash_bytes(source, entry->name, strlen(entry->name) + 1);
  return burn_common_hash_bytes(hash, entry->threads ? entry->threads : none, sizeof none);
}

static size_t find(const VulkanWarm *warm, uint64_t key) {
  size_t i = 0;
  while (i < warm->count && warm->rows[i].key != key) i++;
  return i;
}

bool burn__vulkan_warm_take(Vulkan *vulkan, uint64_t source, const VulkanEntry *entry, KernelModule *made,
                            VkPipeline *out) {
  VulkanWarm *warm = vulkan->warm;
  *out = VK_NULL_HANDLE;
  if (!warm) return false;
  (void)pthread_mutex_lock(&warm->mutex);
  const size_t i = find(warm, key_of(source, entry));
  const bool is_known = i < warm->count;
  Kernel *kernel = &warm->kernels[is_known ? i : 0];
  while (is_known && kernel->state == MAKING) (void)pthread_cond_wait(&warm->changed, &warm->mutex);
  if (is_known) {
    *made = warm->rows[i].module;
    if (kernel->state == READY) *out = kernel->pipeline;
    kernel->pipeline = VK_NULL_HANDLE;
    kernel->state = TAKEN;
    kernel->is_used = true;
  }
  (void)pthread_mutex_unlock(&warm->mutex);
  return is_known;
}

void burn__vulkan_warm_add(Vulkan *vulkan, uint64_t source, const VulkanEntry *entry, const KernelModule *made) {
  VulkanWarm *warm = vulkan->warm;
  const size_t bytes = made->word_count * sizeof *made->words;
  if (!warm) return;
  (void)pthread_mutex_lock(&warm->mutex);
  const size_t i = warm->count;
  const bool has_room = i < VULKAN_WARM_MAX && warm->bytes + bytes <= MAX_BYTES;
  uint32_t *words = has_room ? vulkan->gpu.host->allocate(bytes) : NULL;
  if (words) {
    memcpy(words, made->words, bytes);
    warm->rows[i] = (VulkanWarmKernel){.key = key_of(source, entry), .module = *made};
    warm->rows[i].module.words = words;
    warm->kernels[i] = (Kernel){.state = TAKEN, .is_used = true, .is_new = true};
    warm->bytes += bytes;
    warm->count++;
  }
  (void)pthread_mutex_unlock(&warm->mutex);
}

/* -- begin and end ---------------------------------------------------------------------------- */

static void read_file(Vulkan *vulkan) {
  VulkanWarm *warm = vulkan->warm;
  warm->file = burn__vulkan_cache_read(vulkan, warm->identity, ".kernels", &warm->file_bytes);
  if (!warm->file) return;
  warm->count = burn__vulkan_warm_read(warm->file, (size_t)warm->file_bytes, warm->identity, warm->rows);
  warm->from_file = warm->count;
  for (size_t i = 0; i < warm->count; i++) warm->bytes += warm->rows[i].module.word_count * sizeof(uint32_t);
}

static bool is_wanted(const Vulkan *vulkan) {
  const VulkanSettings *settings = &vulkan->settings;
  if (!settings->cache || settings->dump[0] || settings->warm_up == VULKAN_WARM_UP_NEVER) return false;
  return settings->warm_up == VULKAN_WARM_UP_ALWAYS || !vulkan->caps.is_cpu;
}

void burn__vulkan_warm_open(Vulkan *vulkan) {
  const BurnHost *host = vulkan->gpu.host;
  char line[100];
  if (!is_wanted(vulkan)) return;
  VulkanWarm *warm = host->allocate(sizeof *warm);
  if (!warm) return; /* kernels are compiled when they are needed, as without it */
  memset(warm, 0, sizeof *warm);
  if (pthread_mutex_init(&warm->mutex, NULL) != 0) {
    host->free(warm, sizeof *warm);
    return;
  }
  (void)pthread_cond_init(&warm->changed, NULL);
  vulkan->warm = warm;
  warm->identity = burn__vulkan_cache_identity(vulkan);
  read_file(vulkan);
  if (warm->from_file == 0) return;
  (void)snprintf(line, sizeof line, "compiles %zu kernels of an earlier run in a thread", warm->from_file);
  host->log(BURN_LOG_INFO, vulkan->gpu.name, line);
  warm->has_thread = pthread_create(&warm->thread, NULL, make_pipelines, vulkan) == 0;
}

/* Those that programs have not used for long go. */
static void save(Vulkan *vulkan) {
  const VulkanWarm *warm = vulkan->warm;
  const BurnHost *host = vulkan->gpu.host;
  VulkanWarmKernel kept[VULKAN_WARM_MAX];
  size_t count = 0;
  if (warm->count == warm->from_file || vulkan_broken(vulkan) != VK_SUCCESS) return;
  for (size_t i = 0; i < warm->count; i++) {
    kept[count] = warm->rows[i];
    kept[count].unused = warm->kernels[i].is_used ? 0 : kept[count].unused + 1;
    if (kept[count].unused <= MAX_UNUSED) count++;
  }
  const size_t bytes = burn__vulkan_warm_bytes(kept, count);
  void *data = host->allocate(bytes);
  if (!data) return;
  burn__vulkan_warm_write(kept, count, warm->identity, data);
  burn__vulkan_cache_write(vulkan, warm->identity, ".kernels", data, bytes);
  host->free(data, bytes);
}

void burn__vulkan_warm_close(Vulkan *vulkan) {
  VulkanWarm *warm = vulkan->warm;
  const BurnHost *host = vulkan->gpu.host;
  if (!warm) return;
  (void)pthread_mutex_lock(&warm->mutex);
  warm->stops = true;
  (void)pthread_mutex_unlock(&warm->mutex);
  if (warm->has_thread) (void)pthread_join(warm->thread, NULL);
  save(vulkan);
  for (size_t i = 0; i < warm->count; i++) {
    if (warm->kernels[i].pipeline) vulkan->calls.DestroyPipeline(vulkan->device, warm->kernels[i].pipeline, NULL);
    const KernelModule *made = &warm->rows[i].module;
    if (warm->kernels[i].is_new) host->free(made->words, made->word_count * sizeof *made->words);
  }
  if (warm->file) host->free(warm->file, warm->file_bytes);
  (void)pthread_cond_destroy(&warm->changed);
  (void)pthread_mutex_destroy(&warm->mutex);
  host->free(warm, sizeof *warm);
  vulkan->warm = NULL;
}
