/* store_file_posix.c - files in memory, for POSIX. */
#include "store_format.h"

#include <burn/file.h>

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

const bool burn__store_has_drives = false;

BurnStatus burn__store_map(const char *path, BurnStoreFile *file) {
  FILE *opened = NULL;
  uint64_t bytes = 0;
  BurnStatus status = burn_file_open(path, &opened, &bytes);
  if (status != BURN_OK) return status;
  if (bytes > SIZE_MAX / 2)
    status = burn_status_make(BURN_STATUS_OUT_OF_RANGE, "%llu bytes", (unsigned long long)bytes);
  if (status == BURN_OK && bytes > 0) {
    void *mapping = mmap(NULL, (size_t)bytes, PROT_READ, MAP_PRIVATE, fileno(opened), 0);
    if (mapping == MAP_FAILED)
      status =
          burn_status_make(BURN_STATUS_IO, "cannot map %llu bytes: %s", (unsigned long long)bytes, strerror(errno));
    else
      *file = (BurnStoreFile){.path = file->path, .bytes = mapping, .count = (size_t)bytes, .mapping = mapping};
  }
  (void)fclose(opened);
  return status;
}

void burn__store_unmap(BurnStoreFile *file) {
  if (file->mapping) (void)munmap(file->mapping, file->count);
}

bool burn__store_is_folder(const char *path) {
  struct stat found;
  return stat(path, &found) == 0 && S_ISDIR(found.st_mode);
}
