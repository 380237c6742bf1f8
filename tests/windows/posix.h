/* posix.h - what the tests use of POSIX and mingw-w64 lacks. Included before every test on Windows (windows.cmake).
 *
 * forked() has no fork here: the program runs again and goes straight through to the same call (forked_windows.h).
 * Folders made by mkdtemp have the same names there, and exist already. */
#ifndef BURN_TESTS_POSIX_H
#define BURN_TESTS_POSIX_H

#define _CRT_RAND_S /* rand_s */
#include <direct.h>
#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <process.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Set in a child: the number of the call of forked() that it is for, and what its parent's names of folders are made
 * of. */
#define FORKED_CALL "BURN_TEST_FORKED_CALL"
#define FORKED_SEED "BURN_TEST_FORKED_SEED"

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

/* Random, the same in a process and its children. */
__attribute__((unused)) static unsigned posix_seed(void) {
  static unsigned seed;
  const char *text = getenv(FORKED_SEED);
  if (seed == 0 && text) seed = (unsigned)strtoll(text, NULL, 10);
  while (seed == 0 && rand_s(&seed) == 0) continue;
  return seed;
}

/* Six letters from the seed and the number of the call in place of XXXXXX. */
__attribute__((unused)) static char *mkdtemp(char *name) {
  static unsigned calls;
  unsigned number = posix_seed() + calls++ * 2654435761u;
  char *end = name + strlen(name) - 6;
  for (int i = 0; i < 6; i++, number >>= 5) end[i] = "abcdefghijklmnopqrstuvwxyz234567"[number & 31];
  return posix_mkdir(name) == 0 ? name : NULL;
}

#endif
