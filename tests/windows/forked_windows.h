/* forked_windows.h - forked() of support/forked.h without fork: the n-th call starts the program again with n in the
 * environment; there the calls before are passed over, the n-th runs its body and ends the process. Tests do the same
 * each time, so body and context are the same. What a child prints is dropped; a failed CHECK reaches the parent
 * through a pipe. */
#ifndef BURN_FORKED_WINDOWS_H
#define BURN_FORKED_WINDOWS_H

#include <aclapi.h>

enum { FORKED_DONE = 42 }; /* exit status of a child whose body came to its end */
#define FORKED_PIPE "BURN_TEST_FORKED_PIPE"

/* The program again, its standard output dropped; its process, or -1. */
BURN_UNUSED static intptr_t forked_start(void) {
  const char *program = _pgmptr;
  fflush(NULL);
  const int output = _dup(1), nowhere = _open("NUL", _O_WRONLY);
  (void)_dup2(nowhere, 1);
  const char *const arguments[] = {program, NULL};
  const intptr_t process = _spawnv(_P_NOWAIT, program, arguments);
  (void)_dup2(output, 1);
  (void)_close(output);
  (void)_close(nowhere);
  return process;
}

BURN_UNUSED static void forked(void (*body)(void *context), void *context) {
  static int calls;
  char number[24], text[2048];
  const char *wanted = getenv(FORKED_CALL);
  if (wanted && ++calls < atoi(wanted)) return;
  if (wanted) {
    forked_pipe = atoi(getenv(FORKED_PIPE));
    body(context);
    _exit(FORKED_DONE);
  }
  int ends[2], status = 0;
  assert_int_equal(_pipe(ends, 4096, _O_BINARY), 0);
  const struct {
    const char *name;
    int value;
  } variables[] = {{FORKED_CALL, ++calls}, {FORKED_PIPE, ends[1]}, {FORKED_SEED, (int)posix_seed()}};
  for (int i = 0; i < 3; i++) {
    (void)snprintf(number, sizeof number, "%d", variables[i].value);
    (void)_putenv_s(variables[i].name, number);
  }
  const intptr_t process = forked_start();
  for (int i = 0; i < 3; i++) (void)_putenv_s(variables[i].name, "");
  (void)_close(ends[1]);
  assert_true(process != -1);
  size_t used = 0;
  for (int got; used + 1 < sizeof text && (got = _read(ends[0], text + used, (unsigned)(sizeof text - 1 - used))) > 0;)
    used += (size_t)got;
  text[used] = '\0';
  (void)_close(ends[0]);
  assert_true(_cwait(&status, process, 0) == process);
  if (status != FORKED_DONE) fail_msg("exit status %#x: %s", (unsigned)status, text);
}

/* A fresh folder of the caller's; remove_folder ends it with its plain files. */
BURN_UNUSED static void make_folder(char path[64]) {
  const char *temporary = getenv("TEMP");
  snprintf(path, 64, "%s/burn-test-XXXXXX", temporary ? temporary : "C:");
  for (char *at = path; *at; at++) {
    if (*at == '\\') *at = '/'; /* as everywhere in Burn */
  }
  assert_non_null(mkdtemp(path));
}

/* And its end; for a group's tear down. */
BURN_UNUSED static int remove_folder(const char *path) {
  char command[128];
  (void)snprintf(command, sizeof command, "rmdir /s /q \"%s\"", path);
  for (char *at = strchr(command, '"'); at && *at; at++) {
    if (*at == '/') *at = '\\'; /* which are options to cmd.exe */
  }
  return system(command) == 0 ? 0 : -1;
}

/* Gives everybody the right to write. */
BURN_UNUSED static void let_anybody_write(const char *path) {
  char copy[512];
  snprintf(copy, sizeof copy, "%s", path);
  for (char *at = copy; *at; at++) {
    if (*at == '/') *at = '\\';
  }
  EXPLICIT_ACCESSA everybody = {.grfAccessPermissions = GENERIC_ALL, .grfAccessMode = GRANT_ACCESS};
  char name[] = "EVERYONE";
  PACL list = NULL;
  everybody.Trustee =
      (TRUSTEEA){.TrusteeForm = TRUSTEE_IS_NAME, .TrusteeType = TRUSTEE_IS_WELL_KNOWN_GROUP, .ptstrName = name};
  assert_int_equal(SetEntriesInAclA(1, &everybody, NULL, &list), ERROR_SUCCESS);
  const DWORD error = SetNamedSecurityInfoA(copy, SE_FILE_OBJECT, DACL_SECURITY_INFORMATION, NULL, NULL, list, NULL);
  assert_int_equal(error, ERROR_SUCCESS);
  LocalFree(list);
}

#endif
