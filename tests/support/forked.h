/* forked.h - tests in a process of their own: for what is decided once per process (discovery, threads) or comes from
 * the environment. forked(body, context) runs body in a child; CHECK in it ends the child and fails the test with its
 * text. */
#ifndef BURN_FORKED_H
#define BURN_FORKED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <burn/burn.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What is called otherwise on another system. */
#if defined(_WIN32)
#define LIST_SEPARATOR ";"
#define SETTINGS_VARIABLE "APPDATA" /* burn/burn.json of the user lies in this folder */
#define NO_FOLDER "C:/nonexistent"
#else
#define LIST_SEPARATOR ":"
#define SETTINGS_VARIABLE "XDG_CONFIG_HOME"
#define NO_FOLDER "/nonexistent"
#endif

static int forked_pipe;

BURN_UNUSED BURN_PRINTF(3, 4) static void forked_fail(const char *file, int line, const char *format, ...) {
  char text[2048];
  const int used = snprintf(text, sizeof text, "%s:%d: ", file, line);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text + used, sizeof text - (size_t)used, format, arguments);
  va_end(arguments);
  const ssize_t written = write(forked_pipe, text, (unsigned)strlen(text));
  _exit(written > 0 ? 1 : 2);
}

/* In a child: ends it with a message unless the condition holds. */
#define CHECK(condition, ...)                                       \
  do {                                                              \
    if (!(condition)) forked_fail(__FILE__, __LINE__, __VA_ARGS__); \
  } while (0)

/* In a child: `text` must contain `part`. */
BURN_UNUSED static void check_contains(const char *text, const char *part) {
  CHECK(text && strstr(text, part), "'%s' does not contain '%s'", text ? text : "(null)", part);
}

#if defined(_WIN32)
#include "../windows/forked_windows.h"
#else
#include <sys/stat.h>
#include <sys/wait.h>

BURN_UNUSED static void forked(void (*body)(void *context), void *context) {
  int ends[2];
  assert_int_equal(pipe(ends), 0);
  fflush(NULL);
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    close(ends[0]);
    forked_pipe = ends[1];
    body(context);
    _exit(0);
  }
  close(ends[1]);
  char text[2048];
  size_t used = 0;
  for (ssize_t got; used + 1 < sizeof text && (got = read(ends[0], text + used, sizeof text - 1 - used)) > 0;)
    used += (size_t)got;
  text[used] = '\0';
  close(ends[0]);
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  if (WIFSIGNALED(status)) fail_msg("the child died of signal %d; %s", WTERMSIG(status), text);
  if (WEXITSTATUS(status) != 0) fail_msg("exit status %d: %s", WEXITSTATUS(status), text);
}

/* A fresh folder of the caller's under /tmp; remove_folder ends it with its plain files. */
BURN_UNUSED static void make_folder(char path[64]) {
  snprintf(path, 64, "/tmp/burn-test-XXXXXX");
  assert_non_null(mkdtemp(path));
}
/* And its end; for a group's tear down. */
BURN_UNUSED static int remove_folder(const char *path) {
  char command[128];
  (void)snprintf(command, sizeof command, "rm -r '%s'", path);
  return system(command) == 0 ? 0 : -1;
}

/* Gives everybody the right to write. */
BURN_UNUSED static void let_anybody_write(const char *path) { assert_int_equal(chmod(path, 0777), 0); }
#endif

/* Copies a file; in the parent. */
BURN_UNUSED static void copy_file(const char *from, const char *folder, const char *name) {
  char to[512], block[65536];
  snprintf(to, sizeof to, "%s/%s", folder, name);
  FILE *source = fopen(from, "rb"), *target = fopen(to, "wb");
  if (!source || !target) fail_msg("cannot copy %s to %s", from, to);
  for (size_t got; (got = fread(block, 1, sizeof block, source)) > 0;)
    assert_int_equal(fwrite(block, 1, got, target), got);
  assert_int_equal(fclose(target), 0);
  fclose(source);
}

BURN_UNUSED static void write_file(const char *folder, const char *name, const char *text) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_true(fputs(text, file) >= 0);
  assert_int_equal(fclose(file), 0);
}

BURN_UNUSED static void remove_file(const char *folder, const char *name) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  unlink(path);
}

#endif
