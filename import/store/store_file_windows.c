/* store_file_windows.c - files in memory, for Windows. */
#include "store_format.h"

#include <burn/file.h>

#include <io.h>
#include <windows.h>

const bool burn__store_has_drives = true;

BurnStatus burn__store_map(const char *path, BurnStoreFile *file) {
  FILE *opened = NULL;
  uint64_t bytes = 0;
  BurnStatus status = burn_file_open(path, &opened, &bytes);
  if (status != BURN_OK) return status;
  if (bytes > SIZE_MAX / 2)
    status = burn_status_make(BURN_STATUS_OUT_OF_RANGE, "%llu bytes", (unsigned long long)bytes);
  if (status == BURN_OK && bytes > 0) {
    const HANDLE handle = (HANDLE)_get_osfhandle(_fileno(opened));
    const HANDLE section = CreateFileMappingA(handle, NULL, PAGE_READONLY, 0, 0, NULL);
    void *mapping = section ? MapViewOfFile(section, FILE_MAP_READ, 0, 0, (size_t)bytes) : NULL;
    if (!mapping)
      status = burn_status_make(BURN_STATUS_IO, "cannot map %llu bytes: Windows error %lu", (unsigned long long)bytes,
                                GetLastError());
    else
      *file = (BurnStoreFile){.path = file->path, .bytes = mapping, .count = (size_t)bytes, .mapping = mapping};
    if (section) (void)CloseHandle(section); /* the view keeps it */
  }
  (void)fclose(opened);
  return status;
}

void burn__store_unmap(BurnStoreFile *file) {
  if (file->mapping) (void)UnmapViewOfFile(file->mapping);
}

bool burn__store_is_folder(const char *path) {
  const DWORD attributes = GetFileAttributesA(path);
  return attributes != INVALID_FILE_ATTRIBUTES && (attributes & FILE_ATTRIBUTE_DIRECTORY) != 0;
}
