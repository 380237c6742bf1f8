/* vulkan_cache.c - the driver's cache of pipelines on disk. A file: our head, the driver's data.
 *
 * Drivers crash on data that are not theirs, so the head names the device and the driver, and has a checksum. */
#define _GNU_SOURCE /* dladdr */
#include "gpu_cache_file.h"
#include "vulkan_internal.h"
#include "vulkan_warm_file.h"

#include <burn/common/environment.h>
#include <burn/common/hash.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(_WIN32)
#include <direct.h>
#include <windows.h>
#else
#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

static const char PIPELINES[] = ".pipelines";

enum { PATH_BYTES = 1024, LARGEST = 256 << 20, SAVE_AFTER = 64 /* pipelines */ };

typedef struct Head {
  char magic[8];
  uint64_t bytes, checksum;
  uint8_t device_uuid[VK_UUID_SIZE], driver_uuid[VK_UUID_SIZE], cache_uuid[VK_UUID_SIZE];
  uint32_t vendor, device, driver_version, reserved;
} Head;

static Head head_of(const VulkanCaps *caps, const void *data, size_t bytes) {
  Head head = {.magic = {'B', 'U', 'R', 'N', 'V', 'K', 'P', '1'},
               .bytes = bytes,
               .checksum = burn_common_hash_bytes(BURN_COMMON_HASH, data, bytes),
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

/* The file of the program. */
static void find_program(char path[PATH_BYTES]) {
  if (GetModuleFileNameA(NULL, path, PATH_BYTES) == PATH_BYTES) path[0] = '\0';
}

/* What tells this build of the plugin from others: the size and the time of its file. */
static void find_build(uint64_t numbers[2]) {
  char path[PATH_BYTES];
  HMODULE module = NULL;
  WIN32_FILE_ATTRIBUTE_DATA file;
  const DWORD flags = GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT;
  if (!GetModuleHandleExA(flags, (const char *)roots, &module)) return;
  const DWORD length = GetModuleFileNameA(module, path, PATH_BYTES);
  if (length == 0 || length == PATH_BYTES || !GetFileAttributesExA(path, GetFileExInfoStandard, &file)) return;
  numbers[0] = (uint64_t)file.nFileSizeHigh << 32 | file.nFileSizeLow;
  numbers[1] = (uint64_t)file.ftLastWriteTime.dwHighDateTime << 32 | file.ftLastWriteTime.dwLowDateTime;
}
#else
static const char *const roots[] = {"XDG_CACHE_HOME", "HOME"};
static void make_folder(const char *path) { (void)mkdir(path, 0700); }

/* The file of the program, where the system tells it. */
static void find_program(char path[PATH_BYTES]) {
  const ssize_t length = readlink("/proc/self/exe", path, PATH_BYTES - 1);
  path[length > 0 ? length : 0] = '\0';
}

/* What tells this build of the plugin from others: the size and the time of its file. */
static void find_build(uint64_t numbers[2]) {
  Dl_info place;
  struct stat file;
  if (dladdr(roots, &place) == 0 || !place.dli_fname || stat(place.dli_fname, &file) != 0) return;
  numbers[0] = (uint64_t)file.st_size;
  numbers[1] = (uint64_t)file.st_mtime;
}
#endif

/* The folder of the user's caches; false where there is none. */
static bool find_root(char path[PATH_BYTES]) {
  for (size_t i = 0; i < sizeof roots / sizeof roots[0]; i++) {
    const char *root = burn_common_trusted_variable(roots[i]);
    const bool is_absolute = root && (root[0] == '/' || (root[0] && root[1] == ':'));
    if (!is_absolute) continue;
    const int length = snprintf(path, PATH_BYTES, "%s%s", root, i == 1 ? "/.cache" : "");
    return length > 0 && length < PATH_BYTES - 120;
  }
  return false;
}

/* A file for a device, named by what identifies it and its driver, and by a number. */
static bool find_path(const VulkanCaps *caps, uint64_t number, const char *ending, char path[PATH_BYTES]) {
  static const char *const steps[] = {"", "/burn", "/vulkan"};
  const Head head = head_of(caps, "", 0);
  if (!find_root(path)) return false;
  for (size_t i = 0; i < 3; i++) {
    const size_t length = strlen(path);
    (void)snprintf(path + length, PATH_BYTES - length, "%s", steps[i]);
    make_folder(path);
  }
  const size_t length = strlen(path);
  (void)snprintf(path + length, PATH_BYTES - length, "/%016llx%s",
                 (unsigned long long)(burn_common_hash_bytes(BURN_COMMON_HASH, &head, sizeof head) ^ number), ending);
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
  FILE *file =
      vulkan->settings.cache && find_path(&vulkan->caps, 0, PIPELINES, path) ? burn__gpu_open_cached(path) : NULL;
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
  vulkan->save_after = SAVE_AFTER;
  return burn__vulkan_check(vulkan, result, "make a cache of pipelines");
}

/* -- writing ---------------------------------------------------------------------------------- */

/* A device that was lost is not asked. Each time the whole cache is written, and the next time comes after twice as
 * many new pipelines: otherwise a program that makes thousands would spend most of its time writing. */
void burn__vulkan_cache_save(Vulkan *vulkan) {
  const BurnHost *host = vulkan->gpu.host;
  const VulkanCalls *calls = &vulkan->calls;
  size_t bytes = 0;
  if (vulkan_broken(vulkan) != VK_SUCCESS || !vulkan->pipelines || !vulkan->settings.cache ||
      atomic_exchange(&vulkan->new_pipelines, 0u) == 0)
    return;
  vulkan->save_after *= 2u;
  if (calls->GetPipelineCacheData(vulkan->device, vulkan->pipelines, &bytes, NULL) != VK_SUCCESS) return;
  if (bytes == 0 || bytes == vulkan->cache_bytes || bytes > LARGEST) return;
  const size_t room = bytes;
  void *data = host->allocate(room);
  if (!data) return;
  if (calls->GetPipelineCacheData(vulkan->device, vulkan->pipelines, &bytes, data) == VK_SUCCESS && bytes <= room) {
    const Head head = head_of(&vulkan->caps, data, bytes);
    char path[PATH_BYTES];
    if (find_path(&vulkan->caps, 0, PIPELINES, path)) burn__gpu_write_cached(path, &head, sizeof head, data, bytes);
    vulkan->cache_bytes = bytes;
  }
  host->free(data, room);
}

/* -- other files ------------------------------------------------------------------------------ */

/* All of a file, which is not empty; NULL without one. */
static void *read_whole(const BurnHost *host, FILE *file, uint64_t *bytes) {
  const long end = fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
  if (end <= 0 || end > LARGEST || fseek(file, 0, SEEK_SET) != 0) return NULL;
  void *data = host->allocate((uint64_t)end);
  if (!data) return NULL;
  *bytes = (uint64_t)end;
  if (fread(data, 1, (size_t)end, file) == (size_t)end) return data;
  host->free(data, (uint64_t)end);
  return NULL;
}

void *burn__vulkan_cache_read(const Vulkan *vulkan, uint64_t number, const char *ending, uint64_t *bytes) {
  char path[PATH_BYTES];
  FILE *file = find_path(&vulkan->caps, number, ending, path) ? burn__gpu_open_cached(path) : NULL;
  if (!file) return NULL;
  void *data = read_whole(vulkan->gpu.host, file, bytes);
  (void)fclose(file);
  return data;
}

void burn__vulkan_cache_write(const Vulkan *vulkan, uint64_t number, const char *ending, const void *data,
                              size_t bytes) {
  char path[PATH_BYTES];
  if (find_path(&vulkan->caps, number, ending, path)) burn__gpu_write_cached(path, NULL, 0, data, bytes);
}

uint64_t burn__vulkan_cache_identity(const Vulkan *vulkan) {
  char program[PATH_BYTES] = "";
  uint64_t numbers[2] = {0, 0};
  find_program(program);
  find_build(numbers);
  uint64_t hash = burn_common_hash_bytes(BURN_COMMON_HASH, program, strlen(program));
  hash = burn_common_hash_bytes(hash, numbers, sizeof numbers);
  return burn_common_hash_bytes(hash, &vulkan->target, sizeof vulkan->target);
}
