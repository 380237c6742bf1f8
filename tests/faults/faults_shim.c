/* faults_shim.c - loaded with LD_PRELOAD: counts the file operations of a program on paths that contain
 * $BURN_FAULTS_MARK, and before the n-th ($BURN_FAULTS_AT, from 1) kills the process or lets the operation fail.
 *
 *   BURN_FAULTS_DO=kill|NUMBER     SIGKILL, or the errno to fail with
 *   BURN_FAULTS_LASTING=1          all operations from the n-th on fail
 *   BURN_FAULTS_LOG=FILE           gets a line per operation, "rename path"
 *
 * What stdio does inside is not seen; a stream fails when it is opened or closed, and then loses what it had not
 * written. Of the system calls those are taken that newer processors have, too: there is no rename or mkdir on 64-bit
 * ARM. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

int flock(int file, int operation); /* sys/file.h brings a macro with its name */

enum { MAX_FILES = 1024, KILL = -1 };
static const char *mark;
static long at;
static int action;
static bool lasting;
static int log_file = -1;
static atomic_long operations;
static char paths[MAX_FILES][128]; /* of open files under the mark; "" for others */

__attribute__((constructor)) static void read_environment(void) {
  const char *text = getenv("BURN_FAULTS_AT"), *what = getenv("BURN_FAULTS_DO"), *name = getenv("BURN_FAULTS_LOG");
  mark = getenv("BURN_FAULTS_MARK");
  lasting = getenv("BURN_FAULTS_LASTING") != NULL;
  at = text ? atol(text) : 0;
  action = what && strcmp(what, "kill") == 0 ? KILL : what ? atoi(what) : 0;
  if (name) log_file = (int)syscall(SYS_openat, AT_FDCWD, name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
}

static bool is_ours(const char *path) { return mark && path && strstr(path, mark); }
static bool is_our_file(int file) { return file >= 0 && file < MAX_FILES && paths[file][0]; }

static void remember(int file, const char *path) {
  if (file >= 0 && file < MAX_FILES) snprintf(paths[file], sizeof paths[file], "%s", path);
}

/* Counts one operation; true if it is to fail, with errno. */
static bool fails(const char *operation, const char *path) {
  const long number = atomic_fetch_add(&operations, 1) + 1;
  char line[256];
  if (log_file >= 0) {
    const int length = snprintf(line, sizeof line, "%s %s\n", operation, path);
    (void)!syscall(SYS_write, log_file, line, (size_t)length);
  }
  if (at == 0 || number < at || (number > at && !lasting)) return false;
  if (action == KILL) (void)raise(SIGKILL);
  errno = action;
  return true;
}

static int opened(int folder, const char *path, int flags, mode_t mode) {
  const bool ours = is_ours(path) || is_our_file(folder);
  if (ours && fails(flags & O_CREAT ? "create" : "open", path)) return -1;
  const int file = (int)syscall(SYS_openat, folder, path, flags, mode);
  if (ours) remember(file, path);
  return file;
}

#define MODE_OF(flags)                   \
  mode_t mode = 0;                       \
  if ((flags) & (O_CREAT | O_TMPFILE)) { \
    va_list arguments;                   \
    va_start(arguments, flags);          \
    mode = va_arg(arguments, mode_t);    \
    va_end(arguments);                   \
  }

int open(const char *path, int flags, ...) {
  MODE_OF(flags)
  return opened(AT_FDCWD, path, flags, mode);
}
int open64(const char *path, int flags, ...) {
  MODE_OF(flags)
  return opened(AT_FDCWD, path, flags, mode);
}
int openat(int folder, const char *path, int flags, ...) {
  MODE_OF(flags)
  return opened(folder, path, flags, mode);
}
int openat64(int folder, const char *path, int flags, ...) {
  MODE_OF(flags)
  return opened(folder, path, flags, mode);
}

ssize_t read(int file, void *data, size_t bytes) {
  if (is_our_file(file) && fails("read", paths[file])) return -1;
  return syscall(SYS_read, file, data, bytes);
}
ssize_t write(int file, const void *data, size_t bytes) {
  if (is_our_file(file) && fails("write", paths[file])) return -1;
  return syscall(SYS_write, file, data, bytes);
}
int fsync(int file) { return is_our_file(file) && fails("fsync", paths[file]) ? -1 : (int)syscall(SYS_fsync, file); }
int fdatasync(int file) {
  return is_our_file(file) && fails("fdatasync", paths[file]) ? -1 : (int)syscall(SYS_fdatasync, file);
}
int ftruncate(int file, off_t size) {
  return is_our_file(file) && fails("ftruncate", paths[file]) ? -1 : (int)syscall(SYS_ftruncate, file, size);
}
int flock(int file, int operation) {
  return is_our_file(file) && fails("flock", paths[file]) ? -1 : (int)syscall(SYS_flock, file, operation);
}

/* The file is closed all the same, as Linux does. */
int close(int file) {
  const bool failed = is_our_file(file) && fails("close", paths[file]);
  const int error = errno;
  remember(file, "");
  const int status = (int)syscall(SYS_close, file);
  if (!failed) return status;
  errno = error;
  return -1;
}

int rename(const char *from, const char *to) {
  if ((is_ours(from) || is_ours(to)) && fails("rename", to)) return -1;
  return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}
int mkdir(const char *path, mode_t mode) {
  return is_ours(path) && fails("mkdir", path) ? -1 : (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode);
}
int unlink(const char *path) {
  return is_ours(path) && fails("unlink", path) ? -1 : (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
}
int rmdir(const char *path) {
  return is_ours(path) && fails("rmdir", path) ? -1 : (int)syscall(SYS_unlinkat, AT_FDCWD, path, AT_REMOVEDIR);
}
int unlinkat(int folder, const char *path, int flags) {
  if ((is_ours(path) || is_our_file(folder)) && fails("unlink", path)) return -1;
  return (int)syscall(SYS_unlinkat, folder, path, flags);
}

/* -- stdio ------------------------------------------------------------------------------------ */

/* The next function of this name; a data pointer is not a function pointer in ISO C. */
#define NEXT(result, arguments, name)       \
  static result(*real) arguments;           \
  if (!real) {                              \
    void *found = dlsym(RTLD_NEXT, (name)); \
    memcpy(&real, &found, sizeof real);     \
  }

FILE *fopen(const char *path, const char *mode) {
  NEXT(FILE *, (const char *, const char *), "fopen")
  if (is_ours(path) && fails(mode[0] == 'r' ? "fopen" : "fopen to write", path)) return NULL;
  FILE *stream = real(path, mode);
  if (stream && is_ours(path)) remember(fileno(stream), path);
  return stream;
}
FILE *fopen64(const char *path, const char *mode) { return fopen(path, mode); }

int fclose(FILE *stream) {
  NEXT(int, (FILE *), "fclose")
  const int file = fileno(stream);
  const bool failed = is_our_file(file) && fails("fclose", paths[file]);
  const int error = errno;
  if (failed) __fpurge(stream);
  remember(file, "");
  const int status = real(stream);
  if (!failed) return status;
  errno = error;
  return EOF;
}

int fflush(FILE *stream) {
  NEXT(int, (FILE *), "fflush")
  const int file = stream ? fileno(stream) : -1;
  return is_our_file(file) && fails("fflush", paths[file]) ? EOF : real(stream);
}

DIR *opendir(const char *path) {
  NEXT(DIR *, (const char *), "opendir")
  return is_ours(path) && fails("opendir", path) ? NULL : real(path);
}
