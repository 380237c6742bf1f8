/* folder.c - what taking a folder is on every system; folder_posix.c and folder_windows.c have the rest. */
#include "file_write.h"
#include "path_check.h"
#include "status_chain.h"

BurnFolderLock *burn_folder_lock(const char *folder, BurnStatus *status) {
  BurnStatus result = burn__entry_status(status);
  if (result == BURN_OK) result = burn__path_check("folder", folder);
  BurnFolderLock *lock = result == BURN_OK ? burn__folder_lock(folder, &result) : NULL;
  burn__store_status(status, result);
  return lock;
}
