/* onnx_external_posix.c - data that a model keeps in files beside it. */
#include "onnx_program.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* A model may name any path. Only names below its folder are followed, one by one, none of them a symbolic link: what
 * openat2 with RESOLVE_BENEATH does, on every kernel. */
static int open_below(const char *folder, const char *location) {
  char path[4096];
  int at = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (at < 0 || strlen(location) >= sizeof path) return at;
  memcpy(path, location, strlen(location) + 1);
  char *rest = path, *part = NULL;
  while (at >= 0 && (part = strtok_r(rest, "/", &rest)) != NULL) {
    const bool last = !rest || rest[strspn(rest, "/")] == 0;
    const int flags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | (last ? 0 : O_DIRECTORY);
    const int next = strcmp(part, "..") == 0 ? -1 : openat(at, part, flags);
    close(at);
    at = next;
  }
  return at;
}

static bool stays_below(const char *location) {
  const size_t bytes = strlen(location);
  if (bytes == 0 || bytes >= 4096 || location[0] == '/') return false;
  for (const char *part = location; part; part = strchr(part, '/') ? strchr(part, '/') + 1 : NULL) {
    if (strncmp(part, "..", 2) == 0 && (part[2] == '/' || part[2] == 0)) return false;
  }
  return true;
}

static BurnStatus map(int file, const char *location, uint64_t offset, uint64_t length, OnnxMapping *mapping) {
  struct stat stat;
  if (fstat(file, &stat) != 0 || !S_ISREG(stat.st_mode)) {
    return burn_status_make(BURN_STATUS_IO, "external data '%s' is not a regular file", location);
  }
  const uint64_t bytes = (uint64_t)stat.st_size;
  if (offset > bytes || length > bytes - offset) {
    return burn_status_make(BURN_STATUS_OUT_OF_RANGE,
                            "external data '%s' has %llu bytes, but %llu are wanted from %llu on", location,
                            (unsigned long long)bytes, (unsigned long long)length, (unsigned long long)offset);
  }
  const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), before = offset % page;
  if (length == 0) return BURN_OK;
  mapping->bytes = (size_t)(length + before);
  mapping->base = mmap(NULL, mapping->bytes, PROT_READ, MAP_PRIVATE, file, (off_t)(offset - before));
  if (mapping->base == MAP_FAILED) {
    mapping->base = NULL;
    return burn_status_make(BURN_STATUS_IO, "external data '%s' cannot be mapped: %s", location, strerror(errno));
  }
  mapping->data = (const uint8_t *)mapping->base + before;
  return BURN_OK;
}

BurnStatus onnx_external(const char *folder, const char *location, uint64_t offset, uint64_t length,
                         OnnxMapping *mapping) {
  *mapping = (OnnxMapping){NULL, NULL, 0};
  if (!stays_below(location)) {
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT,
                            "external data '%s' is refused: only files below the model's own folder are read",
                            location);
  }
  const int file = open_below(folder, location);
  if (file < 0) {
    return burn_status_make(errno == ENOENT ? BURN_STATUS_NOT_FOUND : BURN_STATUS_IO,
                            "external data '%s' cannot be opened in '%s': %s", location, folder, strerror(errno));
  }
  const BurnStatus status = map(file, location, offset, length, mapping);
  close(file);
  return status;
}

void onnx_external_release(OnnxMapping *mapping) {
  if (mapping->base) munmap(mapping->base, mapping->bytes);
  *mapping = (OnnxMapping){NULL, NULL, 0};
}
