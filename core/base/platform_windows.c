/* platform_windows.c - platform.h for Windows. */
#define _CRT_RAND_S /* rand_s: the system's generator */
#include "core_internal.h"
#include "platform.h"

#include <burn/streams.h>

#include <fcntl.h>
#include <io.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

bool burn__random_bytes(void *bytes, size_t count) {
  unsigned char *at = bytes;
  for (size_t done = 0; done < count;) {
    unsigned int word;
    if (rand_s(&word) != 0) return false;
    for (size_t i = 0; i < sizeof word && done < count; i++) at[done++] = (unsigned char)(word >> (8 * i));
  }
  return true;
}

void *burn__aligned_allocate(size_t bytes) { return _aligned_malloc(bytes, 64); }
void burn__aligned_free(void *memory) { _aligned_free(memory); }

bool burn__fence_threads_works(void) { return true; }
void burn__fence_threads(void) { FlushProcessWriteBuffers(); }

/* The system's own, as a condition of winpthreads takes many times as long to wake. */
void burn__sleep_while_equal(atomic_uint *word, unsigned value) {
  while (atomic_load(word) == value) (void)WaitOnAddress(word, &value, sizeof value, INFINITE);
}

void burn__wake_sleeper(atomic_uint *word) { WakeByAddressSingle(word); }

const char *burn__errno_text(int number, char *buffer, size_t bytes) {
  if (strerror_s(buffer, bytes, number) != 0) (void)snprintf(buffer, bytes, "error %d", number);
  return buffer;
}

void burn_streams_pin(void) {
  int file; /* the lowest number that is free */
  do file = _open("NUL", _O_RDWR);
  while (file >= 0 && file <= 2);
  if (file > 2) (void)_close(file);
}

/* -- paths ------------------------------------------------------------------------------------ */

static bool is_separator(char c) { return c == '/' || c == '\\'; }

/* C:\folder or \\server\share; "\folder" is that of the current drive, "C:folder" of the drive's current folder. */
bool burn__path_is_absolute(const char *path) {
  const bool has_drive = (path[0] >= 'a' && path[0] <= 'z') || (path[0] >= 'A' && path[0] <= 'Z');
  return (has_drive && path[1] == ':' && is_separator(path[2])) || (is_separator(path[0]) && is_separator(path[1]));
}

const char *burn__path_file_name(const char *path) {
  const char *name = path;
  for (const char *at = path; *at; at++) {
    if (is_separator(*at) || *at == ':') name = at + 1;
  }
  return name;
}

char burn__path_list_separator(void) { return ';'; }
const char *burn__plugin_suffix(void) { return ".dll"; }

char *burn__user_settings_path(void) {
  const char *folder = getenv("APPDATA");
  return folder && burn__path_is_absolute(folder) ? burn__text_format("%s\\burn\\burn.json", folder) : NULL;
}

/* Every user may write into ProgramData, and programs lie in folders of their own: the system has no place for all of
 * them. Plugins lie beside libburn.dll. */
const char *burn__system_settings_path(void) { return NULL; }
const char *burn__system_plugin_folder(void) { return NULL; }

/* -- programs --------------------------------------------------------------------------------- */

/* DLLs have no weak references: the program exports its list (BURN_EXPORT), and is asked for it. */
const BurnPluginQuery *burn__linked_plugins(void) {
  const FARPROC symbol = GetProcAddress(GetModuleHandleW(NULL), "burn_static_plugins");
  const BurnPluginQuery *list;
  memcpy(&list, &symbol, sizeof list);
  return list;
}
