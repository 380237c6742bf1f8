/* folder_windows.c - file.h for Windows: what killed writers left is swept, a folder is locked.
 *
 * Both rest on how files are shared: a file that a living process has open without sharing its removal cannot be
 * removed, and one that is open without sharing writes cannot be opened for writing; the system closes what a process
 * leaves. */
#include "file_write.h"

#include "core_internal.h"
#include "path_check.h"
#include "platform.h"

#include <stdio.h>
#include <stdlib.h>
#include <windows.h>

static BurnStatus failure(const char *what) {
  return burn_status_make(BURN_STATUS_IO, "%s: Windows error %lu", what, GetLastError());
}

/* -- temporary files of killed writers -------------------------------------------------------- */

/* One that somebody writes cannot be removed. Files of other users cannot, either, unless their owner said so. */
static void sweep_one(const char *folder, const WIN32_FIND_DATAA *entry) {
  const DWORD special = FILE_ATTRIBUTE_DIRECTORY | FILE_ATTRIBUTE_REPARSE_POINT | FILE_ATTRIBUTE_DEVICE;
  if ((entry->dwFileAttributes & special) != 0 || !burn__is_temporary_name(entry->cFileName)) return;
  char *path = burn__text_format("%s/%s", folder, entry->cFileName);
  if (path) (void)DeleteFileA(path);
  free(path);
}

bool burn__sweep(const char *folder) {
  WIN32_FIND_DATAA entry;
  char *pattern = burn__text_format("%s/.burn-*.tmp", folder);
  HANDLE search = pattern ? FindFirstFileA(pattern, &entry) : INVALID_HANDLE_VALUE;
  const DWORD error = pattern ? GetLastError() : ERROR_NOT_ENOUGH_MEMORY;
  free(pattern);
  SetLastError(error);
  if (search == INVALID_HANDLE_VALUE) return error == ERROR_FILE_NOT_FOUND || error == ERROR_PATH_NOT_FOUND;
  do sweep_one(folder, &entry);
  while (FindNextFileA(search, &entry));
  (void)FindClose(search);
  return true;
}

BurnStatus burn_file_sweep(const char *folder) {
  const BurnStatus given = burn__path_check("folder", folder);
  if (given != BURN_OK) return given;
  return burn__sweep(folder) ? BURN_OK : failure("cannot look for temporary files");
}

/* -- folders ---------------------------------------------------------------------------------- */

struct BurnFolderLock {
  HANDLE file; /* the system removes it when it is closed */
};

/* Whose the folder is, from the file that its owner keeps open. */
static BurnStatus taken(const char *path) {
  char owner[320] = "";
  DWORD got = 0;
  const DWORD share = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;
  HANDLE file = CreateFileA(path, GENERIC_READ, share, NULL, OPEN_EXISTING, 0, NULL);
  if (file != INVALID_HANDLE_VALUE) {
    if (!ReadFile(file, owner, sizeof owner - 1, &got, NULL)) got = 0;
    (void)CloseHandle(file);
  }
  owner[got] = '\0';
  owner[strcspn(owner, "\r\n")] = '\0';
  return burn_status_make(BURN_STATUS_FAILED_PRECONDITION,
                          "the folder is in use by %s: wait for it to end, stop it, or use another folder",
                          owner[0] ? owner : "a process that has just begun");
}

static BurnStatus write_owner(HANDLE file) {
  char host[MAX_COMPUTERNAME_LENGTH + 1] = "", owner[320];
  DWORD bytes = sizeof host, written = 0;
  if (!GetComputerNameA(host, &bytes)) (void)snprintf(host, sizeof host, "unknown");
  const int length = snprintf(owner, sizeof owner, "process %lu on %s\n", GetCurrentProcessId(), host);
  return WriteFile(file, owner, (DWORD)length, &written, NULL) ? BURN_OK : failure("cannot write .lock");
}

static BurnStatus open_and_take(const char *path, HANDLE *file) {
  *file = CreateFileA(path, GENERIC_WRITE | DELETE, FILE_SHARE_READ | FILE_SHARE_DELETE, NULL, CREATE_ALWAYS,
                      FILE_ATTRIBUTE_NORMAL | FILE_FLAG_DELETE_ON_CLOSE, NULL);
  if (*file != INVALID_HANDLE_VALUE) return write_owner(*file);
  return GetLastError() == ERROR_SHARING_VIOLATION ? taken(path) : failure("cannot make .lock");
}

BurnFolderLock *burn__folder_lock(const char *folder, BurnStatus *status) {
  BurnFolderLock *lock = malloc(sizeof *lock);
  char *path = burn__text_format("%s/.lock", folder);
  HANDLE file = INVALID_HANDLE_VALUE;
  *status = lock && path ? open_and_take(path, &file)
                         : burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory to lock a folder");
  free(path);
  if (*status == BURN_OK) {
    lock->file = file;
    return lock;
  }
  if (file != INVALID_HANDLE_VALUE) (void)CloseHandle(file);
  free(lock);
  return NULL;
}

void burn_folder_unlock(BurnFolderLock *lock) {
  if (!lock) return;
  (void)CloseHandle(lock->file);
  free(lock);
}
