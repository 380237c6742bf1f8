/* posix.h - what the tests use of POSIX and mingw-w64 lacks. Included before every test on Windows (windows.cmake).
 *
 * forked() has no fork here: the program runs again and goes straight through to the same call (forked_windows.h). Folders made
 * by mkdtemp have the same names there, and exist already. */
#ifndef BURN_TESTS_POSIX_H
#define BURN_TESTS_POSIX_H

#include <direct.h>
#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <process.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Set in a child: the number of the call of forked() that it is for, and its parent. */
#define FORKED_CALL "BURN_TEST_FORKED_CALL"
#define FORKED_PARENT "BURN_TEST_FORKED_PARENT"

__attribute__((unused)) static int setenv(const char *name, const char *value, int replace) {
  return replace || !getenv(name) ? _putenv_s(name, value) : 0;
}

__attribute__((unused)) static int unsetenv(const char *name) { return _putenv_s(name, ""); }

__attribute__((unused)) static int posix_mkdir(const char *path) {
  return _mkdir(path) == 0 || (errno == EEXIST && getenv(FORKED_CALL)) ? 0 : -1;
}
#define mkdir(path, mode) posix_mkdir(path)

__attribute__((unused)) static int pread(int file, void *bytes, size_t count, long offset) {
  return _lseek(file, offset, SEEK_SET) == offset ? _read(file, bytes, (unsigned)count) : -1;
}

/* The number of the process and of the call in place of XXXXXX. */
__attribute__((unused)) static char *mkdtemp(char *name) {
  static unsigned calls;
  const char *parent = getenv(FORKED_PARENT);
  const unsigned process = parent ? (unsigned)strtoul(parent, NULL, 10) : (unsigned)_getpid();
  char *end = name + strlen(name) - 6;
  (void)snprintf(end, 7, "%06x", (process * 256 + calls++) & 0xffffff);
  return posix_mkdir(name) == 0 ? name : NULL;
}

#endif
