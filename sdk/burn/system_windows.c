/* system_windows.c - system.h on Windows. */
#include "system.h"

#include <direct.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <windows.h>

/* -- files ------------------------------------------------------------------------------------ */

bool system_prefix(char *out, size_t bytes) {
  char program[4096];
  const DWORD length = GetModuleFileNameA(NULL, program, sizeof program);
  if (length == 0 || length >= sizeof program) return false;
  for (int i = 0; i < 2; i++) {
    char *slash = strrchr(program, '\\');
    if (slash) *slash = '\0';
  }
  return (size_t)snprintf(out, bytes, "%s", program) < bytes;
}

long system_list_folder(const char *folder, bool (*visit)(void *context, const char *name), void *context) {
  DIR *stream = opendir(folder);
  if (!stream) return -1;
  long count = 0;
  for (struct dirent *entry; (entry = readdir(stream));) {
    if (entry->d_name[0] == '.') continue;
    count++;
    if (!visit(context, entry->d_name)) break;
  }
  closedir(stream);
  return count;
}

bool system_make_folder(const char *path) { return _mkdir(path) == 0; }

const SystemDriver system_drivers[] = {
    {"NVIDIA driver", "nvcuda.dll", "BURN_CUDA_DRIVER", "CUDA devices"},
    {"Vulkan loader", "vulkan-1.dll", "BURN_VULKAN_LOADER", "Vulkan devices"},
    {NULL, NULL, NULL, NULL},
};
const SystemVariable system_variables[] = {
    {"APPDATA", "where burn\\burn.json of the user lies"},
    {NULL, NULL},
};

char *const *system_environment(void) { return _environ; }

/* Looks in the system's folders only, as plugins do. */
SystemEnd system_run_apart(void (*body)(const void *context, void *result), const void *context, void *result,
                           size_t bytes, unsigned seconds, char *why, size_t why_bytes) {
  (void)bytes;
  (void)seconds;
  (void)why_bytes;
  why[0] = '\0';
  body(context, result);
  return SYSTEM_RETURNED;
}

bool system_has_library(const char *name, char *version, size_t bytes) {
  HMODULE library = LoadLibraryExA(name, NULL, LOAD_LIBRARY_SEARCH_SYSTEM32);
  const FARPROC tell = library ? GetProcAddress(library, "vkEnumerateInstanceVersion") : NULL;
  int32_t(WINAPI * tell_vulkan)(uint32_t * version);
  memcpy(&tell_vulkan, &tell, sizeof tell);
  uint32_t number = 0;
  version[0] = '\0';
  if (tell && tell_vulkan(&number) == 0)
    snprintf(version, bytes, "%u.%u.%u", number >> 22 & 0x7fu, number >> 12 & 0x3ffu, number & 0xfffu);
  if (library) (void)FreeLibrary(library);
  return library != NULL;
}

/* -- the machine ------------------------------------------------------------------------------ */

/* A text of the registry under HKEY_LOCAL_MACHINE; "" if it is not there. */
static const char *registry_text(const char *key, const char *name, char *text, DWORD bytes) {
  const LSTATUS status = RegGetValueA(HKEY_LOCAL_MACHINE, key, name, RRF_RT_REG_SZ, NULL, text, &bytes);
  return status == ERROR_SUCCESS ? text : "";
}

void system_describe(char *system, size_t system_bytes, char *processor, size_t processor_bytes) {
  static const char version_key[] = "SOFTWARE\\Microsoft\\Windows NT\\CurrentVersion";
  static const char processor_key[] = "HARDWARE\\DESCRIPTION\\System\\CentralProcessor\\0";
  char build[64], name[256];
  snprintf(system, system_bytes, "Windows build %s %s",
           registry_text(version_key, "CurrentBuildNumber", build, sizeof build),
           sizeof(void *) == 8 ? "64-bit" : "32-bit");
  snprintf(processor, processor_bytes, "%s", registry_text(processor_key, "ProcessorNameString", name, sizeof name));
}

unsigned system_processor_count(void) {
  const DWORD count = GetActiveProcessorCount(ALL_PROCESSOR_GROUPS);
  return count > 0 ? (unsigned)count : 1;
}

uint64_t system_memory_bytes(void) {
  MEMORYSTATUSEX memory = {.dwLength = sizeof memory};
  return GlobalMemoryStatusEx(&memory) ? memory.ullTotalPhys : 0;
}

bool system_has_feature(const char *name) {
#if defined(__x86_64__) || defined(__i386__)
#define FEATURE(linux_name, gcc_name) \
  if (strcmp(name, linux_name) == 0) return __builtin_cpu_supports(gcc_name) != 0
  FEATURE("sse4_2", "sse4.2");
  FEATURE("avx", "avx");
  FEATURE("avx2", "avx2");
  FEATURE("fma", "fma");
  FEATURE("avx512f", "avx512f");
  FEATURE("avx512bw", "avx512bw");
  FEATURE("avx512vl", "avx512vl");
  FEATURE("avx512_bf16", "avx512bf16");
#undef FEATURE
#endif
  (void)name;
  return false;
}

/* -- time ------------------------------------------------------------------------------------- */

double system_seconds(void) {
  struct timespec now;
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
