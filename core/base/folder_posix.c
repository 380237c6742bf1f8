/* folder_posix.c - file.h for POSIX: what killed writers left is swept, a folder is locked.
 *
 * Both rest on flock: the system ends a lock with the process that held it, so whoever gets the lock of a file knows
 * that its owner is gone. */
#if !defined(__FreeBSD__) /* which then hides flock */
#define _XOPEN_SOURCE 700
#endif
#include "file_write.h"

#include "core_internal.h"
#include "path_check.h"
#include "platform.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static BurnStatus io_failure(const char *what) {
  const int error = errno;
  char reason[128];
  return burn_status_make(BURN_STATUS_IO, "%s: %s", what, burn__errno_text(error, reason, sizeof reason));
}

/* -- temporary files of killed writers -------------------------------------------------------- */

/* Removes the file if nobody writes it. Between the lock and unlink the name cannot pass to another file: who makes one
 * makes a new name, and who renames this one would hold its lock. */
static void sweep_one(int folder, const char *name) {
  const int file = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  struct stat opened, named;
  if (file < 0) return;
  if (fstat(file, &opened) == 0 && S_ISREG(opened.st_mode) && opened.st_uid == geteuid() &&
      flock(file, LOCK_EX | LOCK_NB) == 0 && fstatat(folder, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
      named.st_ino == opened.st_ino && named.st_dev == opened.st_dev) {
    (void)unlinkat(folder, name, 0);
  }
  (void)close(file);
}

bool burn__sweep(const char *folder) {
  DIR *stream = opendir(folder);
  if (!stream) return errno == ENOENT;
  for (const struct dirent *entry; (entry = readdir(stream));) {
    if (burn__is_temporary_name(entry->d_name)) sweep_one(dirfd(stream), entry->d_name);
  }
  (void)closedir(stream);
  return true;
}

BurnStatus burn_file_sweep(const char *folder) {
  const BurnStatus given = burn__path_check("folder", folder);
  if (given != BURN_OK) return given;
  return burn__sweep(folder) ? BURN_OK : io_failure("cannot look for temporary files");
}

/* -- folders ---------------------------------------------------------------------------------- */

struct BurnFolderLock {
  int file;
  pid_t owner;
  char *path;
};

/* "process 12 on host", as the owner wrote it. */
static BurnStatus taken(int file) {
  char owner[320];
  const ssize_t got = pread(file, owner, sizeof owner - 1, 0);
  owner[got > 0 ? got : 0] = '\0';
  owner[strcspn(owner, "\n")] = '\0';
  return burn_status_make(BURN_STATUS_FAILED_PRECONDITION,
                          "the folder is in use by %s: wait for it to end, stop it, or use another folder",
                          owner[0] ? owner : "a process that has just begun");
}

static BurnStatus write_owner(int file) {
  char host[256] = "", owner[320];
  if (gethostname(host, sizeof host - 1) != 0) (void)snprintf(host, sizeof host, "unknown");
  const int length = snprintf(owner, sizeof owner, "process %ld on %s\n", (long)getpid(), host);
  if (ftruncate(file, 0) != 0 || pwrite(file, owner, (size_t)length, 0) != length)
    return io_failure("cannot write .lock");
  return BURN_OK;
}

/* Takes the lock of an open `.lock`; *gone is true if its last owner removed it meanwhile. */
static BurnStatus take(int file, const char *path, bool *gone) {
  struct stat opened, named;
  if (fstat(file, &opened) != 0) return io_failure("cannot inspect .lock");
  if (!S_ISREG(opened.st_mode)) return burn_status_make(BURN_STATUS_IO, ".lock is not a regular file: remove it");
  int result;
  do result = flock(file, LOCK_EX | LOCK_NB);
  while (result != 0 && errno == EINTR);
  if (result != 0 && errno == EWOULDBLOCK) return taken(file);
  if (result != 0)
    burn__log(BURN_LOG_WARN, "files", "%s: this file system has no locks: two processes could use the folder", path);
  *gone = stat(path, &named) != 0 || named.st_ino != opened.st_ino || named.st_dev != opened.st_dev;
  return *gone ? BURN_OK : write_owner(file);
}

static BurnStatus open_and_take(const char *path, int *file) {
  for (bool gone = true; gone;) {
    gone = false;
    *file = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
    if (*file < 0) return io_failure("cannot make .lock");
    const BurnStatus status = take(*file, path, &gone);
    if (status != BURN_OK || gone) (void)close(*file);
    if (status != BURN_OK) return status;
  }
  return BURN_OK;
}

BurnFolderLock *burn__folder_lock(const char *folder, BurnStatus *status) {
  BurnFolderLock *lock = malloc(sizeof *lock);
  char *path = burn__text_format("%s/.lock", folder);
  int file = -1;
  *status = lock && path ? open_and_take(path, &file)
                         : burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory to lock a folder");
  if (*status == BURN_OK) {
    *lock = (BurnFolderLock){file, getpid(), path};
    return lock;
  }
  free(lock);
  free(path);
  return NULL;
}

void burn_folder_unlock(BurnFolderLock *lock) {
  if (!lock) return;
  if (lock->owner == getpid()) (void)unlink(lock->path); /* before the lock goes, so that nobody else's is removed */
  (void)close(lock->file);
  free(lock->path);
  free(lock);
}
