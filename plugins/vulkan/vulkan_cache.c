/* vulkan_cache.c - the driver's cache of pipelines on disk. A file: our head, the driver's data. It is written beside
 * its place and renamed, so that others see all of it or nothing.
 *
 * Drivers crash on data that are not theirs, so the head names the device and the driver, and has a checksum. */
#include "vulkan_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(_WIN32)
#include <direct.h>
#include <process.h>
#include <windows.h>
#else
#include <sys/stat.h>
#include <unistd.h>
#endif

enum { PATH_BYTES = 1024, LARGEST = 256 << 20 };

typedef struct Head {
  char magic[8];
  uint64_t bytes, checksum;
  uint8_t device_uuid[VK_UUID_SIZE], driver_uuid[VK_UUID_SIZE], cache_uuid[VK_UUID_SIZE];
  uint32_t vendor, device, driver_version, reserved;
} Head;

/* FNV-1a. */
static uint64_t hash_bytes(uint64_t hash, const void *data, size_t bytes) {
  const unsigned char *at = data;
  for (size_t i = 0; i < bytes; i++) hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
  return hash;
}

static Head head_of(const VulkanCaps *caps, const void *data, size_t bytes) {
  Head head = {.magic = {'B', 'U', 'R', 'N', 'V', 'K', 'P', '1'},
               .bytes = bytes,
               .checksum = hash_bytes(UINT64_C(0xcbf29ce484222325), data, bytes),
               .vendor = caps->vendor,
               .device = caps->device,
               .driver_version = caps->driver_version};
  memcpy(head.device_uuid, caps->device_uuid, sizeof head.device_uuid);
  memcpy(head.driver_uuid, caps->driver_uuid, sizeof head.driver_uuid);
  memcpy(head.cache_uuid, caps->cache_uuid, sizeof head.cache_uuid);
  return head;
}

/* -- where ------------------------------------------------------------------------------------ */

#if defined(_WIN32)
static const char *const roots[] = {"LOCALAPPDATA"};
static void make_folder(const char *path) { (void)_mkdir(path); }
static bool put_in_place(const char *from, const char *to) {
  return MoveFileExA(from, to, MOVEFILE_REPLACE_EXISTING) != 0;
}
static int process_number(void) { return _getpid(); }
#else
static const char *const roots[] = {"XDG_CACHE_HOME", "HOME"};
static void make_folder(const char *path) { (void)mkdir(path, 0700); }
static bool put_in_place(const char *from, const char *to) { return rename(from, to) == 0; }
static int process_number(void) { return (int)getpid(); }
#endif

/* The folder of the user's caches; false where there is none. */
static bool find_root(char path[PATH_BYTES]) {
  for (size_t i = 0; i < sizeof roots / sizeof roots[0]; i++) {
    const char *root = getenv(roots[i]);
    const bool is_absolute = root && (root[0] == '/' || (root[0] && root[1] == ':'));
    if (!is_absolute) continue;
    const int length = snprintf(path, PATH_BYTES, "%s%s", root, i == 1 ? "/.cache" : "");
    return length > 0 && length < PATH_BYTES - 120;
  }
  return false;
}

/* One file for a device, made of what identifies it and its driver. */
static bool find_path(const VulkanCaps *caps, char path[PATH_BYTES]) {
  static const char *const steps[] = {"", "/burn", "/vulkan"};
  const Head head = head_of(caps, "", 0);
  if (!find_root(path)) return false;
  for (size_t i = 0; i < 3; i++) {
    const size_t length = strlen(path);
    (void)snprintf(path + length, PATH_BYTES - length, "%s", steps[i]);
    make_folder(path);
  }
  const size_t length = strlen(path);
  (void)snprintf(path + length, PATH_BYTES - length, "/%016llx.pipelines",
                 (unsigned long long)hash_bytes(UINT64_C(0xcbf29ce484222325), &head, sizeof head));
  return true;
}

/* -- reading ---------------------------------------------------------------------------------- */

/* The driver's data of a file that is whole and of this device; NULL else. To be freed with host->free(.., *bytes). */
static void *read_data(Vulkan *vulkan, FILE *file, uint64_t *bytes) {
  const BurnHost *host = vulkan->gpu.host;
  Head head;
  if (fread(&head, sizeof head, 1, file) != 1 || head.bytes == 0 || head.bytes > LARGEST) return NULL;
  void *data = host->allocate(head.bytes);
  if (!data) return NULL;
  const bool is_whole = fread(data, 1, (size_t)head.bytes, file) == head.bytes && fgetc(file) == EOF;
  const Head expected = head_of(&vulkan->caps, data, is_whole ? (size_t)head.bytes : 0);
  *bytes = head.bytes;
  if (is_whole && memcmp(&head, &expected, sizeof head) == 0) return data;
  host->free(data, head.bytes);
  return NULL;
}

static void *read_file(Vulkan *vulkan, uint64_t *bytes) {
  char path[PATH_BYTES];
  FILE *file = vulkan->settings.cache && find_path(&vulkan->caps, path) ? fopen(path, "rb") : NULL;
  if (!file) return NULL;
  void *data = read_data(vulkan, file, bytes);
  (void)fclose(file);
  return data;
}

BurnStatus burn__vulkan_cache_open(Vulkan *vulkan) {
  uint64_t bytes = 0;
  void *data = read_file(vulkan, &bytes);
  const VkPipelineCacheCreateInfo info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO,
                                          .initialDataSize = data ? (size_t)bytes : 0,
                                          .pInitialData = data};
  const VkResult result = vulkan->calls.CreatePipelineCache(vulkan->device, &info, NULL, &vulkan->pipelines);
  if (data) vulkan->gpu.host->free(data, bytes);
  vulkan->cache_bytes = data ? bytes : 0;
  return burn__vulkan_check(vulkan, result, "make a cache of pipelines");
}

/* -- writing ---------------------------------------------------------------------------------- */

static void write_file(const Vulkan *vulkan, const void *data, size_t bytes) {
  char path[PATH_BYTES], beside[PATH_BYTES + 40];
  const Head head = head_of(&vulkan->caps, data, bytes);
  if (!find_path(&vulkan->caps, path)) return;
  (void)snprintf(beside, sizeof beside, "%s.%d.%llx", path, process_number(),
                 (unsigned long long)vulkan->gpu.host->next_id());
  FILE *file = fopen(beside, "wb");
  if (!file) return;
  bool is_whole = fwrite(&head, sizeof head, 1, file) == 1 && fwrite(data, 1, bytes, file) == bytes;
  is_whole = fclose(file) == 0 && is_whole;
  if (!is_whole || !put_in_place(beside, path)) (void)remove(beside);
}

/* A device that was lost is not asked. */
void burn__vulkan_cache_save(Vulkan *vulkan) {
  const BurnHost *host = vulkan->gpu.host;
  const VulkanCalls *calls = &vulkan->calls;
  size_t bytes = 0;
  if (atomic_load(&vulkan->broken) || !vulkan->pipelines || !vulkan->settings.cache ||
      atomic_exchange(&vulkan->new_pipelines, 0u) == 0)
    return;
  if (calls->GetPipelineCacheData(vulkan->device, vulkan->pipelines, &bytes, NULL) != VK_SUCCESS) return;
  if (bytes == 0 || bytes == vulkan->cache_bytes || bytes > LARGEST) return;
  const size_t room = bytes;
  void *data = host->allocate(room);
  if (!data) return;
  if (calls->GetPipelineCacheData(vulkan->device, vulkan->pipelines, &bytes, data) == VK_SUCCESS && bytes <= room) {
    write_file(vulkan, data, bytes);
    vulkan->cache_bytes = bytes;
  }
  host->free(data, room);
}
