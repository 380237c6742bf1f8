/* plugin_load_windows.c - what discovery needs from Windows: folders, LoadLibraryExW, our own place.
 *
 * Paths are texts in the code page of the process, as the C library has them (UTF-8 where the program's manifest says
 * so), and UTF-16 towards the system; those made here have /, as all of core joins them. A plugin finds the DLLs that
 * it needs in its own folder, the program's and the system's, never in the current folder or PATH. */
#include "platform.h"
#include "trust_windows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const WCHAR own_place[] = L""; /* an address in this module */

/* Worker threads and plugins go on using this library when the program frees it. */
__attribute__((constructor)) static void stay_loaded(void) {
  HMODULE pinned;
  (void)GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_PIN | GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS, own_place, &pinned);
}

static char *forward_slashes(char *path) {
  for (char *at = path ? strchr(path, '\\') : NULL; at; at = strchr(at, '\\')) *at = '/';
  return path;
}

/* -- loading ---------------------------------------------------------------------------------- */

enum { PLUGIN_SEARCH = LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR | LOAD_LIBRARY_SEARCH_DEFAULT_DIRS };

/* True if `name` lies in the folder of `file`. */
static bool is_beside(const WCHAR *file, const WCHAR *name) {
  WCHAR folder[4096];
  const WCHAR *slash = wcsrchr(file, L'\\');
  const size_t length = slash ? (size_t)(slash + 1 - file) : 0;
  if (length == 0 || length >= sizeof folder / sizeof folder[0]) return false;
  memcpy(folder, file, length * sizeof *folder);
  folder[length] = L'\0';
  return SearchPathW(folder, name, NULL, 0, NULL, NULL) > 0;
}

/* True if the loader would find a DLL that the plugin at `path` needs: one that is loaded, or lies beside the plugin,
 * in the system's folder or in the program's. Names of interfaces of the system (api-ms-..) are not files. */
static bool finds_library(const char *name, const WCHAR *path) {
  WCHAR system[MAX_PATH], program[4096];
  if (GetModuleHandleA(name) || _strnicmp(name, "api-ms-", 7) == 0 || _strnicmp(name, "ext-ms-", 7) == 0) return true;
  WCHAR *wide = burn__wide_text(name);
  if (!wide) return true; /* do not blame a DLL for lack of memory */
  const UINT length = GetSystemDirectoryW(system, MAX_PATH);
  const DWORD program_length = GetModuleFileNameW(NULL, program, sizeof program / sizeof program[0]);
  const bool found =
      is_beside(path, wide) ||
      (length > 0 && length < MAX_PATH && SearchPathW(system, wide, NULL, 0, NULL, NULL) > 0) ||
      (program_length > 0 && program_length < sizeof program / sizeof program[0] && is_beside(program, wide));
  free(wide);
  return found;
}

/* The first DLL of an image's import table that the loader does not find, into `name`; false if all are there. */
static bool first_missing(const BYTE *image, const WCHAR *path, char *name, size_t bytes) {
  const IMAGE_DOS_HEADER *dos = (const void *)image;
  const IMAGE_NT_HEADERS *headers = (const void *)(image + dos->e_lfanew);
  const IMAGE_DATA_DIRECTORY *imports = &headers->OptionalHeader.DataDirectory[IMAGE_DIRECTORY_ENTRY_IMPORT];
  const DWORD end = headers->OptionalHeader.SizeOfImage;
  const DWORD step = (DWORD)sizeof(IMAGE_IMPORT_DESCRIPTOR);
  for (DWORD at = imports->VirtualAddress; at != 0 && at < end - step; at += step) {
    const IMAGE_IMPORT_DESCRIPTOR *entry = (const void *)(image + at);
    if (entry->Name == 0 || entry->Name >= end) return false;
    const DWORD room = end - entry->Name < 200 ? end - entry->Name : 200;
    (void)snprintf(name, bytes, "%.*s", (int)room, (const char *)image + entry->Name);
    if (!finds_library(name, path)) return true;
  }
  return false;
}

/* "cannot be loaded: ...", with the DLL's name where one is missing, which the system does not say. */
static BurnStatus load_failure(DWORD error, const WCHAR *path) {
  ErrorText text;
  char name[256];
  if (error == ERROR_BAD_EXE_FORMAT) {
    return BURN_FAIL(INCOMPATIBLE, "cannot be loaded: it is not a DLL, or one for another processor (error %lu)",
                     error);
  }
  if (error != ERROR_MOD_NOT_FOUND) {
    return BURN_FAIL(INCOMPATIBLE, "cannot be loaded: %s (error %lu)", burn__error_text(error, &text), error);
  }
  HMODULE image = LoadLibraryExW(path, NULL, LOAD_LIBRARY_AS_IMAGE_RESOURCE);
  /* The handle's low bits say how it was mapped; its sections lie where the headers say. */
  const BYTE *bytes = (const BYTE *)((uintptr_t)image & ~(uintptr_t)3);
  const bool missing = image && first_missing(bytes, path, name, sizeof name);
  if (image) (void)FreeLibrary(image);
  if (!missing)
    return BURN_FAIL(INCOMPATIBLE, "cannot be loaded: the file, or a DLL that it needs, is missing (error %lu)", error);
  return BURN_FAIL(INCOMPATIBLE, "cannot be loaded: it needs %s, which is neither in its folder nor in the system's",
                   name);
}

/* The module at a full path, or NULL with the error; without dialogs for the user. */
static HMODULE load_quietly(const WCHAR *path, DWORD *error) {
  DWORD mode = 0;
  const BOOL changed = SetThreadErrorMode(SEM_FAILCRITICALERRORS | SEM_NOOPENFILEERRORBOX, &mode);
  HMODULE library = LoadLibraryExW(path, NULL, PLUGIN_SEARCH);
  *error = library ? ERROR_SUCCESS : GetLastError();
  if (changed) (void)SetThreadErrorMode(mode, NULL);
  return library;
}

static BurnStatus find_entry(HMODULE library, BurnPluginQuery *out) {
  const FARPROC symbol = GetProcAddress(library, BURN_PLUGIN_SYMBOL);
  HMODULE pinned;
  if (!symbol) { /* not unloaded either: threads that it started may be in its code */
    return BURN_FAIL(INCOMPATIBLE,
                     "has no symbol " BURN_PLUGIN_SYMBOL
                     ": not a Burn plugin, or one of another major version (this is %u)",
                     BURN_ABI_MAJOR);
  }
  memcpy(out, &symbol, sizeof *out); /* from one function type to another, without a warning */
  /* Never unloaded: code of a plugin may still be on some thread's stack, and statuses and primitives may outlive their
   * device. */
  LPCWSTR address;
  memcpy(&address, &symbol, sizeof address);
  (void)GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_PIN | GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS, address, &pinned);
  return BURN_OK;
}

BurnStatus burn__plugin_open_file(const char *path, BurnPluginQuery *out, BurnRefusal *refusal) {
  const BurnStatus checked = burn__file_check(path, refusal);
  if (checked != BURN_OK) return checked;
  *refusal = BURN_REFUSED_NOT_LOADABLE;
  WCHAR *full = burn__full_path(path);
  if (!full) return BURN_FAIL(IO, "'%s' is not a path, or there is no memory for it", path);
  DWORD error;
  HMODULE library = load_quietly(full, &error);
  BurnStatus status = library ? BURN_OK : load_failure(error, full);
  free(full);
  if (status != BURN_OK) return status;
  *refusal = BURN_REFUSED_NO_ENTRY;
  return find_entry(library, out);
}

/* -- folders ---------------------------------------------------------------------------------- */

/* The file of the module that holds this code; malloc'd, NULL on failure. */
static WCHAR *own_file(void) {
  HMODULE module;
  const DWORD how = GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT;
  if (!GetModuleHandleExW(how, own_place, &module)) return NULL;
  for (DWORD count = 260; count <= 32768; count *= 2) {
    WCHAR *file = malloc(count * sizeof *file);
    const DWORD length = file ? GetModuleFileNameW(module, file, count) : 0;
    if (length > 0 && length < count) return file;
    free(file);
    if (length == 0) return NULL;
  }
  return NULL;
}

char *burn__own_file(void) {
  WCHAR *file = own_file();
  char *path = file ? forward_slashes(burn__narrow_text(file)) : NULL;
  free(file);
  return path;
}

/* DLLs lie in bin, beside the programs; what belongs to them in lib beside that. A program that brings its own
 * libburn.dll has no bin: then it is the folder of the DLL. */
char *burn__own_folder(void) {
  char *path = burn__own_file();
  char *slash = path ? strrchr(path, '/') : NULL;
  if (slash) *slash = '\0';
  char *last = path ? strrchr(path, '/') : NULL;
  if (last && _stricmp(last, "/bin") == 0) memcpy(last, "/lib", sizeof "/lib");
  return path;
}

char *burn__absolute_path(const char *path) {
  if (burn__path_is_absolute(path)) return burn__text_copy(path);
  WCHAR *full = burn__full_path(path);
  char *text = full ? forward_slashes(burn__narrow_text(full)) : NULL;
  free(full);
  return text;
}

static int compare_names(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* Appends the narrow form of a name; false when out of memory. A name that the code page cannot say is left out. */
static bool add_name(const WCHAR *wide, char ***names, size_t *count) {
  const size_t length = wcslen(wide), suffix = wcslen(L".dll");
  if (length < suffix || _wcsicmp(wide + length - suffix, L".dll") != 0)
    return true; /* the pattern knows short names, too */
  char *name = burn__narrow_text(wide);
  if (!name) return true;
  char **more = realloc(*names, (*count + 1) * sizeof *more);
  if (!more) {
    free(name);
    return false;
  }
  *names = more;
  more[(*count)++] = name;
  return true;
}

BurnStatus burn__plugin_list_folder(const char *folder, char ***names, size_t *count, bool *exists) {
  *names = NULL;
  *count = 0;
  char *text = burn__text_format("%s/burn_*.dll", folder);
  WCHAR *pattern = text ? burn__full_path(text) : NULL;
  WIN32_FIND_DATAW entry;
  HANDLE search = pattern ? FindFirstFileW(pattern, &entry) : INVALID_HANDLE_VALUE;
  const DWORD error = search == INVALID_HANDLE_VALUE ? GetLastError() : ERROR_SUCCESS;
  free(pattern);
  free(text);
  *exists = error != ERROR_PATH_NOT_FOUND && error != ERROR_DIRECTORY;
  if (search == INVALID_HANDLE_VALUE) {
    ErrorText why;
    if (!*exists || error == ERROR_FILE_NOT_FOUND) return BURN_OK; /* no folder, or nothing in it */
    return BURN_FAIL(IO, "folder '%s': %s", folder, burn__error_text(error, &why));
  }
  bool goes_on = true;
  while (goes_on) goes_on = add_name(entry.cFileName, names, count) && FindNextFileW(search, &entry);
  (void)FindClose(search);
  if (*count > 1) qsort(*names, *count, sizeof **names, compare_names);
  return BURN_OK;
}
