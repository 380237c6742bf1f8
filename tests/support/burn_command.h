/* burn_command.h - runs the burn command of the build and reads the JSON that it prints. Included by one file of a
 * program. */
#ifndef BURN_TEST_BURN_COMMAND_H
#define BURN_TEST_BURN_COMMAND_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

static const char burn[] = BURN_BUILD_DIR "/bin/burn";

/* The document that a shell command prints, and its exit status. The caller deletes the document. */
static inline cJSON *run_json(const char *command, int *exit_status) {
  FILE *pipe = popen(command, "r");
  assert_non_null(pipe);
  size_t capacity = 1 << 22, used = 0;
  char *text = malloc(capacity);
  assert_non_null(text);
  for (size_t got; used + 1 < capacity && (got = fread(text + used, 1, capacity - 1 - used, pipe)) > 0;) used += got;
  text[used] = '\0';
  const int status = pclose(pipe);
  *exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  cJSON *root = cJSON_Parse(text);
  if (!root) fail_msg("no JSON from %s: %.300s", command, text);
  free(text);
  return root;
}

static inline int number(const cJSON *object, const char *name) {
  const cJSON *item = cJSON_GetObjectItem(object, name);
  assert_true(cJSON_IsNumber(item));
  return item->valueint;
}

static inline const char *text_of(const cJSON *object, const char *name) {
  const char *text = cJSON_GetStringValue(cJSON_GetObjectItem(object, name));
  assert_non_null(text);
  return text;
}

#endif
