/* file_write_posix.c - atomic writing and bounded reading of whole files (configs and records).
 *
 * A reader, or a crash at any point, meets the old file or the new one: the bytes go to a temporary name in the same folder,
 * reach the disk (fsync), and only then take the name (rename); the folder is flushed last, so that the name survives too. */
#define _XOPEN_SOURCE 700 /* realpath */
#include "file_write.h"

#include "module_internal.h"
#include "platform.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static BurnStatus io_failure(const char *what) {
  int error = errno;
  char reason[128];
  return burn_status_make(error == ENOENT ? BURN_STATUS_NOT_FOUND : BURN_STATUS_IO, "%s: %s", what,
                          burn__errno_text(error, reason, sizeof reason));
}

static BurnStatus write_all(int file, const uint8_t *bytes, size_t count) {
  while (count > 0) {
    ssize_t written = write(file, bytes, count < (1u << 30) ? count : (1u << 30));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return io_failure("cannot write");
    bytes += written;
    count -= (size_t)written;
  }
  return fsync(file) == 0 ? BURN_OK : io_failure("cannot flush to disk");
}

/* The folder of a path, malloc'd: "" before a plain name, else with its trailing slash. */
static char *folder_of(const char *path) {
  const char *slash = strrchr(path, '/');
  return strndup(path, slash ? (size_t)(slash - path) + 1 : 0);
}

static BurnStatus flush_folder(const char *folder) {
  int file = open(*folder ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0) return BURN_OK; /* a folder that may be written but not read: the rename stands */
  BurnStatus status = BURN_OK;
  /* Some file systems know no fsync of folders. */
  if (fsync(file) != 0 && errno != EINVAL && errno != ENOTSUP && errno != EROFS) {
    status = io_failure("cannot flush the folder");
  }
  (void)close(file);
  return status;
}

/* Writes to `temporary`, which must not exist, and renames it to `path`. */
static BurnStatus write_and_rename(const char *temporary, const char *path, const void *bytes, size_t count) {
  int file = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file < 0) return io_failure("cannot create a file in this folder");
  BurnStatus status = write_all(file, bytes, count);
  if (close(file) != 0 && status == BURN_OK) status = io_failure("cannot close");
  if (status == BURN_OK && rename(temporary, path) != 0) status = io_failure("cannot rename");
  if (status != BURN_OK) (void)unlink(temporary);
  return status;
}

static BurnStatus write_beside(const char *path, const void *bytes, size_t count) {
  char *folder = folder_of(path);
  size_t size = folder ? strlen(folder) + 48 : 0;
  char *temporary = folder ? malloc(size) : NULL;
  BurnStatus status = BURN_OK;
  if (!temporary) {
    status = burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for a file name");
  } else {
    (void)snprintf(temporary, size, "%s.burn-%016" PRIx64 ".tmp", folder, burn__param_id());
    status = write_and_rename(temporary, path, bytes, count);
    if (status == BURN_OK) status = flush_folder(folder);
  }
  free(temporary);
  free(folder);
  return status;
}

BurnStatus burn__file_write(const char *path, const void *bytes, size_t count) {
  struct stat found;
  if (stat(path, &found) != 0) return write_beside(path, bytes, count);
  if (!S_ISREG(found.st_mode)) return burn_status_make(BURN_STATUS_IO, "exists and is not a regular file");
  char *real = realpath(path, NULL);
  if (!real) return io_failure("cannot resolve");
  BurnStatus status = write_beside(real, bytes, count);
  free(real);
  return status;
}

static BurnStatus read_all(int file, uint8_t *bytes, size_t count) {
  size_t done = 0;
  while (done < count) {
    ssize_t got = read(file, bytes + done, count - done < (1u << 30) ? count - done : (1u << 30));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return io_failure("cannot read");
    if (got == 0) return burn_status_make(BURN_STATUS_IO, "file ended at byte %zu of %zu while it was read", done, count);
    done += (size_t)got;
  }
  bytes[count] = 0;
  return BURN_OK;
}

static BurnStatus read_open_file(int file, size_t limit, uint8_t **bytes, size_t *count) {
  struct stat found;
  if (fstat(file, &found) != 0) return io_failure("cannot inspect");
  if (!S_ISREG(found.st_mode)) return burn_status_make(BURN_STATUS_IO, "not a regular file");
  uintmax_t size = (uintmax_t)found.st_size;
  if (size > limit || size >= SIZE_MAX) {
    return burn_status_make(BURN_STATUS_OUT_OF_RANGE, "file of %ju bytes, at most %zu are read", size, limit);
  }
  uint8_t *data = malloc((size_t)size + 1);
  if (!data) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for a file of %ju bytes", size);
  BurnStatus status = read_all(file, data, (size_t)size);
  if (status != BURN_OK) {
    free(data);
    return status;
  }
  *bytes = data;
  *count = (size_t)size;
  return BURN_OK;
}

BurnStatus burn__file_read(const char *path, size_t limit, uint8_t **bytes, size_t *count) {
  int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* does not wait for the other end of a pipe */
  if (file < 0) return io_failure("cannot open");
  BurnStatus status = read_open_file(file, limit, bytes, count);
  (void)close(file);
  return status;
}
