/* file_write_posix.c - file.h for POSIX: whole files (configs and records) written atomically and read with a limit.
 *
 * A reader, or a crash at any point, meets the old file or the new one: the bytes go to a temporary name in the same
 * folder, reach the disk (fsync), and only then take the name (rename); the folder is flushed last, so that the name
 * survives too. */
#if !defined(__FreeBSD__) /* which then hides flock */
#define _XOPEN_SOURCE 700 /* realpath */
#endif
#include "file_write.h"

#include "module_internal.h"
#include "null_check.h"
#include "path_check.h"
#include "platform.h"

#include <burn/streams.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
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

/* Makes a file of a new name in the folder and holds the lock that keeps it from being swept (burn_file_sweep) until it
 * is closed. A sweeper that was quicker has removed the file: then there is another name. Without locks in the file
 * system nobody sweeps. */
static int create_locked(const char *folder, char *temporary, size_t size) {
  for (;;) {
    (void)snprintf(temporary, size, "%s" BURN__TEMPORARY_FORMAT, folder, burn__param_id());
    const int file = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file < 0) return file;
    while (flock(file, LOCK_EX) != 0 && errno == EINTR) continue;
    struct stat found;
    if (fstat(file, &found) != 0 || found.st_nlink > 0) return file;
    (void)close(file);
  }
}

/* Writes to a temporary file of the folder and renames it to `path`; `temporary` has room for its name. The file is
 * closed, and its lock gone, after it has its name. */
static BurnStatus write_and_rename(const char *folder, char *temporary, size_t size, const char *path,
                                   const void *bytes, size_t count) {
  const int file = create_locked(folder, temporary, size);
  if (file < 0) return io_failure("cannot create a file in this folder");
  BurnStatus status = write_all(file, bytes, count);
  if (status == BURN_OK && rename(temporary, path) != 0) status = io_failure("cannot rename");
  if (status != BURN_OK) (void)unlink(temporary);
  (void)close(file); /* the disk has it all: fsync said so */
  return status;
}

static BurnStatus write_beside(const char *path, const void *bytes, size_t count) {
  char *folder = folder_of(path);
  size_t size = folder ? strlen(folder) + BURN__TEMPORARY_BYTES : 0;
  char *temporary = folder ? malloc(size) : NULL;
  BurnStatus status = BURN_OK;
  if (!temporary) {
    status = burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for a file name");
  } else {
    (void)burn__sweep(*folder ? folder : "."); /* what cannot be swept now stays for the next writer */
    status = write_and_rename(folder, temporary, size, path, bytes, count);
    if (status == BURN_OK) status = flush_folder(folder);
  }
  free(temporary);
  free(folder);
  return status;
}

BurnStatus burn_file_write(const char *path, const void *bytes, size_t count) {
  struct stat found;
  BurnStatus status = burn__path_check("file", path);
  if (status != BURN_OK) return status;
  burn_streams_pin();
  if (stat(path, &found) != 0) return write_beside(path, bytes, count);
  if (!S_ISREG(found.st_mode)) return burn_status_make(BURN_STATUS_IO, "exists and is not a regular file");
  char *real = realpath(path, NULL);
  if (!real) return io_failure("cannot resolve");
  status = write_beside(real, bytes, count);
  free(real);
  return status;
}

static BurnStatus read_all(int file, uint8_t *bytes, size_t count) {
  size_t done = 0;
  while (done < count) {
    ssize_t got = read(file, bytes + done, count - done < (1u << 30) ? count - done : (1u << 30));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return io_failure("cannot read");
    if (got == 0)
      return burn_status_make(BURN_STATUS_IO, "file ended at byte %zu of %zu while it was read", done, count);
    done += (size_t)got;
  }
  bytes[count] = 0;
  return BURN_OK;
}

static BurnStatus read_open_file(int file, uintmax_t size, size_t limit, uint8_t **bytes, size_t *count) {
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

/* A regular file for reading, and what is known of it. */
static BurnStatus open_regular(const char *path, int *file, struct stat *found) {
  BurnStatus status = burn__path_check("file", path);
  if (status != BURN_OK) return status;
  burn_streams_pin();
  *file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* does not wait for the other end of a pipe */
  if (*file < 0) return io_failure("cannot open");
  status = fstat(*file, found) == 0 ? BURN_OK : io_failure("cannot inspect");
  if (status == BURN_OK && !S_ISREG(found->st_mode)) status = burn_status_make(BURN_STATUS_IO, "not a regular file");
  if (status != BURN_OK) (void)close(*file);
  return status;
}

BurnStatus burn_file_read(const char *path, size_t limit, uint8_t **bytes, size_t *count) {
  struct stat found;
  int file = -1;
  BurnStatus status = BURN_REQUIRED(bytes, "a uint8_t *");
  if (status == BURN_OK) status = BURN_REQUIRED(count, "a size_t");
  if (status == BURN_OK) status = open_regular(path, &file, &found);
  if (status != BURN_OK) return status;
  status = read_open_file(file, (uintmax_t)found.st_size, limit, bytes, count);
  (void)close(file);
  return status;
}

BurnStatus burn_file_open(const char *path, FILE **file, uint64_t *bytes) {
  struct stat found;
  int number = -1;
  BurnStatus status = BURN_REQUIRED(file, "a FILE *");
  if (status != BURN_OK) return status;
  *file = NULL;
  status = open_regular(path, &number, &found);
  if (status != BURN_OK) return status;
  if (bytes) *bytes = (uint64_t)found.st_size;
  *file = fdopen(number, "rb");
  if (*file) return BURN_OK;
  status = io_failure("cannot open");
  (void)close(number);
  return status;
}
