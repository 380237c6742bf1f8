/* file.h - whole files and folders of runs: written so that nobody ever sees half of a file, read only where there is a
 * regular file, with limits.
 *
 * Messages say what failed and why, but not the path: put it in front with burn_status_annotate. */
#ifndef BURN_FILE_H
#define BURN_FILE_H

#include <burn/error.h>

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

BURN_EXTERN_C_BEGIN

/* Reads a regular file of at most `limit` bytes into malloc'd memory, with a zero byte after the last; *bytes is the
 * caller's to free, and untouched on failure. Pipes, sockets, devices and folders are refused at once, without waiting
 * for their other end. INVALID_ARGUMENT: the path is NULL; NOT_FOUND: no such file; OUT_OF_RANGE: it is larger; IO:
 * everything else. */
BURN_API BURN_USE_RESULT BurnStatus burn_file_read(const char *path, size_t limit, uint8_t **bytes, size_t *count);

/* Opens a regular file for reading, for data too large to read as a whole; *file is the caller's to fclose, NULL on
 * failure; *bytes is its size (`bytes` may be NULL). What is refused and the codes are those of burn_file_read.
 */
BURN_API BURN_USE_RESULT BurnStatus burn_file_open(const char *path, FILE **file, uint64_t *bytes);

/* Writes the bytes to a temporary file (.burn-<16 hex digits>.tmp) beside `path`, flushes it to disk, renames it to
 * `path` and flushes the folder. On failure the temporary file is gone and an existing file at `path` is as it was,
 * unless flushing the folder is what failed: then the new one is there. A symbolic link is followed; anything but a
 * regular file at `path` is refused. What killed processes left in the folder is swept before. */
BURN_API BURN_USE_RESULT BurnStatus burn_file_write(const char *path, const void *bytes, size_t count);

/* Whether a file may be written to `path`, to be asked before long work. BURN_OK if `overwrite` is set or there is
 * nothing; FAILED_PRECONDITION if there is a file; what burn_file_open says of anything else that is there. */
BURN_API BURN_USE_RESULT BurnStatus burn_file_check_new(const char *path, bool overwrite);

/* Removes the temporary files of burn_file_write that killed processes left in a folder: regular files with exactly
 * such a name, of this user, that no living process is writing. A folder that does not exist has none. */
BURN_API BURN_USE_RESULT BurnStatus burn_file_sweep(const char *folder);

/* -- a folder for one process ----------------------------------------------------------------- */

/* A folder that is taken; made by burn_folder_lock, ended by burn_folder_unlock. */
typedef struct BurnFolderLock BurnFolderLock;

/* Takes an existing folder for this lock: until it is released, or the process has ended in whatever way, nobody else
 * who asks gets the folder (this process neither). The file `.lock` in it says whose it is. NULL on failure, with the
 * reason in *status: FAILED_PRECONDITION with the owner's process number and host where the folder is taken. On file
 * systems without locks it succeeds with a warning in the log. */
BURN_API BURN_CHAINS(2) BURN_USE_RESULT BurnFolderLock *burn_folder_lock(const char *folder, BurnStatus *status);

/* Releases the folder and removes `.lock`. NULL is fine. A child of fork only forgets the lock, which stays its
 * parent's. */
BURN_API void burn_folder_unlock(BurnFolderLock *lock);

/* -- compressed files ------------------------------------------------------------------------- */

/* What compressed data may unpack to: 1 GiB, or eight times their own size where that is more. Real data hardly shrink
 * to an eighth; deflate can make a thousand bytes of one, so a file from elsewhere could otherwise ask for any amount
 * of memory. Whoever unpacks refuses what goes beyond: records (burn_record_load), IDX files (burn_dataset_mnist). */
enum { BURN_UNPACK_RATIO = 8, BURN_UNPACK_LEAST = 1 << 30 };

/* The most bytes that `packed` bytes may unpack to. */
BURN_API size_t burn_unpack_limit(size_t packed);

BURN_EXTERN_C_END

#endif
