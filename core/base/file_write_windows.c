/* file_write_windows.c - file.h for Windows: whole files.
 *
 * As on POSIX a reader meets the old file or the new one: the bytes go to a temporary name in the same folder, are
 * flushed to disk, and MoveFileEx puts them in place of the old file and flushes the folder. */
#define _CRT_RAND_S
#include "file_write.h"

#include "module_internal.h"
#include "null_check.h"
#include "path_check.h"
#include "platform.h"

#include <burn/streams.h>

#include <errno.h>
#include <io.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <windows.h>

static BurnStatus io_failure(const char *what) {
  const int error = errno;
  char reason[128];
  return burn_status_make(error == ENOENT ? BURN_STATUS_NOT_FOUND : BURN_STATUS_IO, "%s: %s", what,
                          burn__errno_text(error, reason, sizeof reason));
}

/* Bytes before the file's name: those of the folder with its separator. */
static size_t folder_length(const char *path) {
  size_t length = strlen(path);
  while (length > 0 && path[length - 1] != '/' && path[length - 1] != '\\' && path[length - 1] != ':') length--;
  return length;
}

static BurnStatus write_new(const char *path, const void *bytes, size_t count) {
  FILE *file = fopen(path, "wbx");
  if (!file) return io_failure("cannot create a file in this folder");
  BurnStatus status = fwrite(bytes, 1, count, file) == count ? BURN_OK : io_failure("cannot write");
  if (status == BURN_OK && (fflush(file) != 0 || _commit(_fileno(file)) != 0))
    status = io_failure("cannot flush to disk");
  if (fclose(file) != 0 && status == BURN_OK) status = io_failure("cannot close");
  return status;
}

/* Between closing and renaming the file is nobody's, and may be swept: then it is written again, which is not endless,
 * as the sweeper has to meet that moment each time. */
static BurnStatus write_and_rename(char *temporary, size_t size, const char *path, const void *bytes, size_t count) {
  for (int tries = 1;; tries++) {
    (void)snprintf(temporary, size, "%.*s" BURN__TEMPORARY_FORMAT, (int)folder_length(path), path, burn__param_id());
    BurnStatus status = write_new(temporary, bytes, count);
    if (status == BURN_OK && MoveFileExA(temporary, path, MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH))
      return BURN_OK;
    const DWORD error = GetLastError();
    if (status == BURN_OK && error == ERROR_FILE_NOT_FOUND && tries < 8) continue;
    if (status == BURN_OK) status = burn_status_make(BURN_STATUS_IO, "cannot rename: Windows error %lu", error);
    (void)remove(temporary);
    return status;
  }
}

BurnStatus burn_file_write(const char *path, const void *bytes, size_t count) {
  BurnStatus status = burn__path_check("file", path);
  if (status != BURN_OK) return status;
  burn_streams_pin();
  struct _stat64 found;
  if (_stat64(path, &found) == 0 && !S_ISREG(found.st_mode))
    return burn_status_make(BURN_STATUS_IO, "exists and is not a regular file");
  const size_t folder = folder_length(path), size = folder + BURN__TEMPORARY_BYTES;
  char *temporary = malloc(size);
  if (!temporary) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for a file name");
  (void)snprintf(temporary, size, "%.*s.", (int)folder, path); /* "C:" alone and "C:/" are different folders */
  (void)burn__sweep(temporary);                                /* what cannot be swept now stays for the next writer */
  status = write_and_rename(temporary, size, path, bytes, count);
  free(temporary);
  return status;
}

static BurnStatus read_open_file(FILE *file, uint64_t size, size_t limit, uint8_t **bytes, size_t *count) {
  if (size > limit || size >= SIZE_MAX) {
    return burn_status_make(BURN_STATUS_OUT_OF_RANGE, "file of %" PRIu64 " bytes, at most %zu are read", size, limit);
  }
  uint8_t *data = malloc((size_t)size + 1);
  if (!data) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for a file of %" PRIu64 " bytes", size);
  const size_t got = fread(data, 1, (size_t)size, file);
  if (got != (size_t)size) {
    free(data);
    return burn_status_make(BURN_STATUS_IO, "file ended at byte %zu of %" PRIu64 " while it was read", got, size);
  }
  data[size] = 0;
  *bytes = data;
  *count = (size_t)size;
  return BURN_OK;
}

/* A regular file for reading, and what is known of it. */
static BurnStatus open_regular(const char *path, FILE **file, struct _stat64 *found) {
  BurnStatus status = burn__path_check("file", path);
  *file = NULL;
  if (status != BURN_OK) return status;
  burn_streams_pin();
  *file = fopen(path, "rb");
  if (!*file) return io_failure("cannot open");
  status = _fstat64(_fileno(*file), found) == 0 ? BURN_OK : io_failure("cannot inspect");
  if (status == BURN_OK && !S_ISREG(found->st_mode)) status = burn_status_make(BURN_STATUS_IO, "not a regular file");
  if (status == BURN_OK) return BURN_OK;
  (void)fclose(*file);
  *file = NULL;
  return status;
}

BurnStatus burn_file_read(const char *path, size_t limit, uint8_t **bytes, size_t *count) {
  struct _stat64 found;
  FILE *file = NULL;
  BurnStatus status = BURN_REQUIRED(bytes, "a uint8_t *");
  if (status == BURN_OK) status = BURN_REQUIRED(count, "a size_t");
  if (status == BURN_OK) status = open_regular(path, &file, &found);
  if (status != BURN_OK) return status;
  status = read_open_file(file, (uint64_t)found.st_size, limit, bytes, count);
  (void)fclose(file);
  return status;
}

BurnStatus burn_file_open(const char *path, FILE **file, uint64_t *bytes) {
  struct _stat64 found;
  BurnStatus status = BURN_REQUIRED(file, "a FILE *");
  if (status == BURN_OK) status = open_regular(path, file, &found);
  if (bytes) *bytes = status == BURN_OK ? (uint64_t)found.st_size : 0;
  return status;
}
