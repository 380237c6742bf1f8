/* plugin_load_posix.c - what discovery needs from the system: folders, permissions, dlopen, our own place. */
#define _GNU_SOURCE /* dladdr, getauxval */
#include "core_internal.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

static const char prefix[] = "burn_", suffix[] = ".so";

bool burn__process_is_privileged(void) { return getauxval(AT_SECURE) != 0; }

/* A file or folder that others may write could be swapped under us: it must be ours or root's, and not world-writable. */
static BurnStatus check_owner(const char *path, const char *what, BurnWhyNot *why_not) {
  struct stat info;
  *why_not = BURN_WHY_NOT_UNREADABLE;
  if (stat(path, &info) != 0) return BURN_FAIL(IO, "%s '%s': %s", what, path, strerror(errno));
  *why_not = BURN_WHY_NOT_UNSAFE;
  if (info.st_uid != 0 && info.st_uid != geteuid()) {
    return BURN_FAIL(FAILED_PRECONDITION, "%s '%s' belongs to user %u, neither to root nor to you", what, path, (unsigned)info.st_uid);
  }
  if (info.st_mode & S_IWOTH) {
    return BURN_FAIL(FAILED_PRECONDITION, "%s '%s' can be written by anybody (chmod o-w it)", what, path);
  }
  return BURN_OK;
}

BurnStatus burn__plugin_file_check(const char *path, BurnWhyNot *why_not) {
  BurnStatus status = check_owner(path, "file", why_not);
  const char *slash = strrchr(path, '/');
  if (status != BURN_OK || !slash) return status;
  char *folder = burn__text_format("%.*s", (int)(slash - path), path);
  if (!folder) return BURN_FAIL(OUT_OF_MEMORY, "no memory to check '%s'", path);
  status = check_owner(folder[0] ? folder : "/", "folder", why_not);
  free(folder);
  return status;
}

BurnStatus burn__plugin_open_file(const char *path, BurnPluginQuery *out, BurnWhyNot *why_not) {
  /* NOW: a missing symbol shows here. LOCAL: plugins never see each other's symbols. Never closed: code of a plugin may still be
   * on some thread's stack, and statuses and primitives may outlive their device. */
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  *why_not = library ? BURN_WHY_NOT_NO_ENTRY : BURN_WHY_NOT_NOT_LOADABLE;
  if (!library) {
    const char *reason = dlerror();
    return BURN_FAIL(INCOMPATIBLE, "cannot be loaded: %s", reason ? reason : "unknown reason");
  }
  void *symbol = dlsym(library, BURN_PLUGIN_SYMBOL);
  if (!symbol) {
    dlclose(library);
    return BURN_FAIL(INCOMPATIBLE, "has no symbol " BURN_PLUGIN_SYMBOL ": not a Burn plugin, or one of another major version (this is %u)",
                     BURN_ABI_MAJOR);
  }
  memcpy(out, &symbol, sizeof *out); /* ISO C has no cast from object to function pointer */
  return BURN_OK;
}

char *burn__own_folder(void) {
  Dl_info info;
  /* The address of a static object of this library, so no function pointer has to be cast. */
  if (dladdr(prefix, &info) == 0 || !info.dli_fname) return NULL;
  char *path = realpath(info.dli_fname, NULL);
  char *slash = path ? strrchr(path, '/') : NULL;
  if (slash) *slash = '\0';
  return path;
}

char *burn__absolute_path(const char *path) {
  if (path[0] == '/') return burn__text_copy(path);
  char *here = getcwd(NULL, 0);
  char *whole = here ? burn__text_format("%s/%s", here, path) : NULL;
  free(here);
  return whole;
}

static int compare_names(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static bool is_plugin_name(const char *name) {
  const size_t length = strlen(name);
  return length > sizeof prefix - 1 + sizeof suffix - 1 && strncmp(name, prefix, sizeof prefix - 1) == 0 &&
         strcmp(name + length - (sizeof suffix - 1), suffix) == 0;
}

BurnStatus burn__plugin_list_folder(const char *folder, char ***names, size_t *count, bool *exists) {
  *names = NULL;
  *count = 0;
  DIR *stream = opendir(folder);
  *exists = stream || (errno != ENOENT && errno != ENOTDIR);
  if (!stream) return *exists ? BURN_FAIL(IO, "folder '%s': %s", folder, strerror(errno)) : BURN_OK;
  size_t capacity = 0;
  for (struct dirent *entry; (entry = readdir(stream));) {
    if (!is_plugin_name(entry->d_name)) continue;
    if (*count == capacity) {
      char **more = realloc(*names, (capacity ? capacity * 2 : 8) * sizeof *more);
      if (!more) break;
      *names = more;
      capacity = capacity ? capacity * 2 : 8;
    }
    char *name = burn__text_copy(entry->d_name);
    if (!name) break;
    (*names)[(*count)++] = name;
  }
  closedir(stream);
  if (*count > 1) qsort(*names, *count, sizeof **names, compare_names);
  return BURN_OK;
}
