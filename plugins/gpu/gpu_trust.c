/* gpu_trust.c - files of a cache: see gpu_trust.h. */
#include "gpu_trust.h"

#if defined(_WIN32)
FILE *burn__gpu_open_cached(const char *path) { return fopen(path, "rb"); }
#else
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

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
