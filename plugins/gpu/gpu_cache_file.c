/* gpu_cache_file.c - files of a cache: see gpu_cache_file.h. The file beside is locked from its making until it has its
 * name, and the system ends a lock with the process that held it: what can be locked was left. On Windows nothing is
 * swept. */
#include "gpu_cache_file.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

enum { PATH_BYTES = 1100 };

#if defined(_WIN32)
#include <windows.h>

FILE *burn__gpu_open_cached(const char *path) { return fopen(path, "rb"); }

void burn__gpu_write_cached(const char *path, const void *head, size_t head_bytes, const void *data, size_t bytes) {
  static atomic_uint number;
  char beside[PATH_BYTES];
  const int length =
      snprintf(beside, sizeof beside, "%s.%lu.%x", path, GetCurrentProcessId(), atomic_fetch_add(&number, 1u));
  FILE *file = length > 0 && length < PATH_BYTES ? fopen(beside, "wb") : NULL;
  if (!file) return;
  bool is_whole = head_bytes == 0 || fwrite(head, head_bytes, 1, file) == 1;
  is_whole = is_whole && fwrite(data, 1, bytes, file) == bytes;
  is_whole = fclose(file) == 0 && is_whole;
  if (!is_whole || !MoveFileExA(beside, path, MOVEFILE_REPLACE_EXISTING)) (void)remove(beside);
}
#else
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_ours(const struct stat *found) {
  return S_ISREG(found->st_mode) && (found->st_uid == geteuid() || found->st_uid == 0) && !(found->st_mode & S_IWOTH);
}

FILE *burn__gpu_open_cached(const char *path) {
  struct stat found;
  const int number = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  FILE *file = number >= 0 && fstat(number, &found) == 0 && is_ours(&found) ? fdopen(number, "rb") : NULL;
  if (!file && number >= 0) (void)close(number);
  return file;
}

/* -- what killed writers left ----------------------------------------------------------------- */

/* Of files beside: ".burn-", 16 digits, ".tmp", as burn_file_write (burn/file.h) has them. */
enum { PREFIX = 6, DIGITS = 16, NAME_BYTES = 32 };

static bool is_beside(const char *name) {
  return strncmp(name, ".burn-", PREFIX) == 0 && strspn(name + PREFIX, "0123456789abcdef") == DIGITS &&
         strcmp(name + PREFIX + DIGITS, ".tmp") == 0;
}

/* Removes the file if nobody writes it. Between the lock and unlink the name cannot pass to another file: who makes one
 * does not take a name that is there, and who renames this one would hold its lock. */
static void sweep_one(int folder, const char *name) {
  const int file = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  struct stat opened, named;
  if (file < 0) return;
  if (fstat(file, &opened) == 0 && S_ISREG(opened.st_mode) && opened.st_uid == geteuid() &&
      flock(file, LOCK_EX | LOCK_NB) == 0 && fstatat(folder, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
      named.st_ino == opened.st_ino && named.st_dev == opened.st_dev)
    (void)unlinkat(folder, name, 0);
  (void)close(file);
}

static void sweep(const char *folder) {
  DIR *stream = opendir(folder);
  if (!stream) return;
  for (const struct dirent *entry; (entry = readdir(stream));) {
    if (is_beside(entry->d_name)) sweep_one(dirfd(stream), entry->d_name);
  }
  (void)closedir(stream);
}

/* -- writing ---------------------------------------------------------------------------------- */

/* Makes a file in the folder whose path `beside` has, adds its name there, and locks it. A name that is there was left
 * by a process of this number; a sweeper that was quicker has removed the file: then there is another. Without locks in
 * the file system nobody sweeps. */
static int create_locked(char beside[PATH_BYTES]) {
  static atomic_uint number;
  const size_t length = strlen(beside);
  for (;;) {
    struct stat found;
    (void)snprintf(beside + length, PATH_BYTES - length, "/.burn-%08x%08x.tmp", (unsigned)getpid(),
                   atomic_fetch_add(&number, 1u));
    const int file = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (file < 0 && errno == EEXIST) continue;
    if (file < 0) return file;
    while (flock(file, LOCK_EX) != 0 && errno == EINTR) continue;
    if (fstat(file, &found) != 0 || found.st_nlink > 0) return file;
    (void)close(file);
  }
}

static bool write_all(int file, const void *data, size_t bytes) {
  for (const char *at = data; bytes > 0;) {
    const ssize_t written = write(file, at, bytes);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    at += written;
    bytes -= (size_t)written;
  }
  return true;
}

void burn__gpu_write_cached(const char *path, const void *head, size_t head_bytes, const void *data, size_t bytes) {
  static atomic_flag has_swept = ATOMIC_FLAG_INIT;
  char beside[PATH_BYTES];
  const char *slash = strrchr(path, '/');
  const size_t length = slash ? (size_t)(slash - path) : 0;
  if (length == 0 || length + NAME_BYTES > sizeof beside) return;
  (void)snprintf(beside, sizeof beside, "%.*s", (int)length, path);
  if (!atomic_flag_test_and_set(&has_swept)) sweep(beside);
  const int file = create_locked(beside);
  if (file < 0) return;
  const bool is_whole = write_all(file, head, head_bytes) && write_all(file, data, bytes);
  if (!is_whole || rename(beside, path) != 0) (void)unlink(beside);
  (void)close(file); /* after it has its name; what a disk loses now, whoever reads it finds out */
}
#endif
