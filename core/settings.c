/* settings.c - which stack to open when the program does not say: environment, then burn.json of the project, the user, the
 * system. A project's file may name a stack but no folders: entering a downloaded folder must not run its code. */
#include "core_internal.h"
#include "platform.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SETTINGS_BYTES_MAX = 1 << 20 };

/* The file's JSON object; NULL if there is no file. A file that is there but broken is an error: silence would pick another
 * backend than the user wrote down. */
static BurnStatus read_settings(const char *path, cJSON **out) {
  *out = NULL;
  FILE *file = fopen(path, "rb");
  if (!file) return errno == ENOENT || errno == ENOTDIR ? BURN_OK : BURN_FAIL(IO, "settings '%s': %s", path, strerror(errno));
  char *text = malloc(SETTINGS_BYTES_MAX);
  const size_t bytes = text ? fread(text, 1, SETTINGS_BYTES_MAX, file) : 0;
  fclose(file);
  if (!text) return BURN_FAIL(OUT_OF_MEMORY, "no memory to read '%s'", path);
  const char *end = NULL;
  if (bytes < SETTINGS_BYTES_MAX) *out = cJSON_ParseWithLengthOpts(text, bytes, &end, false);
  const size_t offset = end && end >= text ? (size_t)(end - text) : 0;
  free(text);
  if (*out && !cJSON_IsObject(*out)) {
    cJSON_Delete(*out);
    *out = NULL;
  }
  return *out ? BURN_OK : BURN_FAIL(CORRUPT_DATA, "settings '%s': no JSON object (at byte %zu)", path, offset);
}

static BurnStatus backend_in(const char *path, char **out) {
  cJSON *settings = NULL;
  BurnStatus status = path ? read_settings(path, &settings) : BURN_OK;
  const cJSON *backend = settings ? cJSON_GetObjectItemCaseSensitive(settings, "backend") : NULL;
  if (backend && !cJSON_IsString(backend)) {
    status = BURN_FAIL(CORRUPT_DATA, "settings '%s': \"backend\" must be a text such as \"ndarray\"", path);
  } else if (backend) {
    *out = burn__text_copy(backend->valuestring);
    if (!*out) status = BURN_FAIL(OUT_OF_MEMORY, "no memory for the backend named in '%s'", path);
  }
  cJSON_Delete(settings);
  return status;
}

/* The three files, the one with the first say first; malloc'd, NULL where there is no place for one. */
enum { PROJECT, USER, SYSTEM, FILE_COUNT };
static char *settings_path(int file) {
  if (file == PROJECT) return burn__text_copy("burn.json");
  if (file == SYSTEM) return burn__text_copy(burn__system_settings_path());
  return burn__process_is_privileged() ? NULL : burn__user_settings_path();
}
/* How the files are called in messages and by burn_stack_choice. */
static const char *settings_name(int file) {
  if (file == SYSTEM && burn__system_settings_path()) return burn__system_settings_path();
  return file == PROJECT ? "burn.json" : "burn.json of the user";
}

static BurnStatus backend_in_files(char **out, const char **source) {
  BurnStatus status = BURN_OK;
  for (int file = 0; file < FILE_COUNT && status == BURN_OK && !*out; file++) {
    char *path = settings_path(file);
    *source = settings_name(file);
    status = backend_in(path, out);
    free(path);
  }
  return status;
}

size_t burn_settings_files(BurnSettingsInfo *out, size_t capacity) {
  size_t count = 0;
  for (int file = 0; file < FILE_COUNT; file++) {
    char *path = settings_path(file), *backend = NULL;
    if (!path) continue;
    if (count < capacity) {
      BurnSettingsInfo *info = &out[count];
      *info = (BurnSettingsInfo){.exists = false};
      const BurnStatus status = backend_in(path, &backend);
      FILE *stream = fopen(path, "rb");
      info->exists = stream != NULL;
      if (stream) fclose(stream);
      (void)snprintf(info->path, sizeof info->path, "%s", path);
      (void)snprintf(info->backend, sizeof info->backend, "%s", backend ? backend : "");
      (void)snprintf(info->problem, sizeof info->problem, "%s", status == BURN_OK ? "" : burn_status_message(status));
    }
    free(backend);
    free(path);
    count++;
  }
  return count;
}

BurnStatus burn__settings_stack(const char *argument, char **out, const char **source) {
  *out = NULL;
  *source = NULL;
  const char *text = argument && *argument ? argument : NULL;
  if (!text && !burn__process_is_privileged()) {
    text = getenv("BURN_BACKEND");
    *source = "BURN_BACKEND";
  }
  if (text && *text) {
    *out = burn__text_copy(text);
    return *out ? BURN_OK : BURN_FAIL(OUT_OF_MEMORY, "no memory for the backend text '%s'", text);
  }
  BurnStatus status = backend_in_files(out, source);
  if (status != BURN_OK || *out) return status;
  *source = NULL;
  const char *best = NULL;
  status = burn__plugin_best_backend(&best);
  if (status != BURN_OK) return status;
  *out = burn__text_copy(best);
  return *out ? BURN_OK : BURN_FAIL(OUT_OF_MEMORY, "no memory for the backend text '%s'", best);
}

/* The folders that one file names under "plugin_path". */
static void folders_in(int file, void (*visit)(const char *folder, const char *source)) {
  char *path = settings_path(file);
  cJSON *settings = NULL;
  const BurnStatus status = path ? read_settings(path, &settings) : BURN_OK;
  if (status != BURN_OK) burn__log(BURN_LOG_WARN, "settings", "%s", burn_status_message(status));
  const cJSON *folders = settings ? cJSON_GetObjectItemCaseSensitive(settings, "plugin_path") : NULL;
  const cJSON *folder;
  cJSON_ArrayForEach(folder, folders) {
    if (cJSON_IsString(folder)) visit(folder->valuestring, settings_name(file));
  }
  cJSON_Delete(settings);
  free(path);
}

void burn__settings_plugin_path(void (*visit)(const char *folder, const char *source)) {
  folders_in(USER, visit);
  folders_in(SYSTEM, visit);
}

BurnStatus burn_stack_choice(const char *argument, char *stack, size_t bytes, const char **source) {
  char *text = NULL;
  BurnStatus status = burn__settings_stack(argument, &text, source);
  if (status == BURN_OK && strlen(text) >= bytes) {
    status = BURN_FAIL(INVALID_ARGUMENT, "stack_choice: '%s' needs %zu bytes, there are %zu", text, strlen(text) + 1, bytes);
  }
  if (status == BURN_OK) memcpy(stack, text, strlen(text) + 1);
  if (!*source) *source = argument && *argument ? "the argument" : "the highest score";
  free(text);
  return status;
}
