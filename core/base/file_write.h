/* file_write.h - what the parts of file.h share: the names of temporary files, which burn_file_write makes and
 * burn_file_sweep knows; what each system does for folders. */
#ifndef BURN_CORE_FILE_WRITE_H
#define BURN_CORE_FILE_WRITE_H

#include <burn/file.h>

#include <inttypes.h>
#include <string.h>

#define BURN__TEMPORARY_FORMAT ".burn-%016" PRIx64 ".tmp"
enum { BURN__TEMPORARY_BYTES = 48 }; /* room for such a name */

/* Is it a name of that format, no byte more or less? */
static inline bool burn__is_temporary_name(const char *name) {
  enum { PREFIX = 6, DIGITS = 16 };
  return strncmp(name, ".burn-", PREFIX) == 0 && strspn(name + PREFIX, "0123456789abcdef") == DIGITS &&
         strcmp(name + PREFIX + DIGITS, ".tmp") == 0;
}

/* burn_file_sweep without a status: false if the folder cannot be read, with the system's error. */
bool burn__sweep(const char *folder);

/* burn_folder_lock of a path that is one, with the status of this call alone. */
BurnFolderLock *burn__folder_lock(const char *folder, BurnStatus *status);

#endif
