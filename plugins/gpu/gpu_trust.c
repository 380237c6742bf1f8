/* gpu_trust.c - the environment of programs that may not trust it; files that are files. */
#define _GNU_SOURCE
#include "gpu_trust.h"

#include <stdbool.h>
#include <stdlib.h>

#if defined(_WIN32)
static bool is_privileged(void) { return false; }

FILE *burn__gpu_open_cached(const char *path) { return fopen(path, "rb"); }
#else
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__linux__)
#include <sys/auxv.h>
static bool is_privileged(void) { return getauxval(AT_SECURE) != 0; }
#else
static bool is_privileged(void) { return issetugid() != 0; }
#endif

static bool is_ours(const struct stat *found) {
  return S_ISREG(found->st_mode) && (found->st_uid == geteuid() || found->st_uid == 0) && !(found->st_mode & S_IWOTH);
}

FILE *burn__gpu_open_cached(const char *path) {
  struct stat found;
  const int number = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  FILE *file = number >= 0 && fstat(number, &found) == 0 && is_ours(&found) ? fdopen(number, "rb") : NULL;
  if (!file && number >= 0) (void)close(number);
  return file;
}
#endif

const char *burn__gpu_trusted_variable(const char *name) { return is_privileged() ? NULL : getenv(name); }
