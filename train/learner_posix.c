/* learner_posix.c - what the learner needs of a POSIX system: clock, terminal, folders. */
#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "learner_internal.h"

double burn__seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

bool burn__stderr_is_terminal(void) { return isatty(STDERR_FILENO) == 1; }

static BurnStatus failed(const char *what, const char *path) {
  return burn_status_make(BURN_STATUS_IO, "%s %s: %s", what, path, strerror(errno));
}

static bool is_folder(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

BurnStatus burn_folder_make(const char *path) {
  char part[BURN_PATH_BYTES];
  const size_t length = strlen(path);
  size_t i;
  if (length >= sizeof part) return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "path of %zu bytes is too long", length);
  memcpy(part, path, length + 1);
  for (i = 1; i <= length; i++) {
    if (part[i] != '/' && part[i] != '\0') continue;
    part[i] = '\0';
    if (mkdir(part, 0777) != 0 && !is_folder(part)) return failed("cannot make folder", part);
    part[i] = path[i];
  }
  return BURN_OK;
}

BurnStatus burn__folder_list(const char *path, BurnStatus (*visit)(void *context, const char *name), void *context) {
  BurnStatus status = BURN_OK;
  DIR *folder = opendir(path);
  if (!folder) return errno == ENOENT ? BURN_OK : failed("cannot open folder", path);
  while (status == BURN_OK) {
    const struct dirent *entry;
    errno = 0;
    entry = readdir(folder);
    if (!entry) {
      if (errno) status = failed("cannot read folder", path);
      break;
    }
    status = visit(context, entry->d_name);
  }
  closedir(folder);
  return status;
}

const char *burn__train_errno_text(int number, char *buffer, size_t bytes) {
  if (strerror_r(number, buffer, bytes) != 0) (void)snprintf(buffer, bytes, "error %d", number);
  return buffer;
}

bool burn__file_exists(const char *path) { return access(path, F_OK) == 0; }

BurnStatus burn__file_remove(const char *path) {
  if (unlink(path) == 0 || errno == ENOENT) return BURN_OK;
  return failed("cannot remove", path);
}
