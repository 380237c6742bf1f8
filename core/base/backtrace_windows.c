/* backtrace_windows.c - backtrace.h for Windows: modules and offsets, no lines. */
#include "backtrace.h"
#include "core_internal.h"
#include "platform.h"

#include <stdio.h>
#include <string.h>
#include <windows.h>

static HMODULE module_of(const void *address) {
  HMODULE module = NULL;
  const DWORD flags = GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT;
  return GetModuleHandleExA(flags, (LPCSTR)address, &module) ? module : NULL;
}

static bool is_program(const void *address, HMODULE own) {
  char path[MAX_PATH];
  const HMODULE module = module_of(address);
  if (!module || module == own) return false;
  const DWORD length = GetModuleFileNameA(module, path, sizeof path);
  const char *name = length > 0 && length < sizeof path ? burn__path_file_name(path) : "";
  static const char *const others[] = {"libburn", "burn_", "ntdll", "kernel32", "KERNEL32", "msvcrt", "ucrtbase"};
  if (module == GetModuleHandleA(NULL)) return true;
  for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
    if (strncmp(name, others[i], strlen(others[i])) == 0) return false;
  }
  return true;
}

size_t burn__program_frames(const void **frames, size_t most) {
  static const char own_address;
  void *all[62]; /* as many as older systems give */
  const HMODULE own = module_of(&own_address);
  const unsigned count = CaptureStackBackTrace(0, sizeof all / sizeof all[0], all, NULL);
  size_t found = 0;
  for (unsigned i = 0; i < count && found < most; i++) {
    const void *address = (const char *)all[i] - 1; /* in the call, not after it */
    if (is_program(address, own)) frames[found++] = address;
  }
  return found;
}

void burn__place_find(const void *address, BurnPlace *place) {
  *place = (BurnPlace){.offset = (uint64_t)(uintptr_t)address, .missing = "ask addr2line"};
  const HMODULE module = module_of(address);
  if (!module) return;
  place->offset -= (uint64_t)(uintptr_t)module;
  const DWORD length = GetModuleFileNameA(module, place->module, sizeof place->module);
  if (length == 0 || length >= sizeof place->module) place->module[0] = '\0';
}
