/* settings.c - which stack to open when the program does not say: environment, then burn.json of the project, the user, the
 * system. A project's file may name a stack but no folders: entering a downloaded folder must not run its code. */
#include "core_internal.h"

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

static char *user_settings_path(void) {
  const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
  if (config && config[0] == '/') return burn__text_format("%s/burn/burn.json", config);
  return home && home[0] == '/' ? burn__text_format("%s/.config/burn/burn.json", home) : NULL;
}

#define SYSTEM_SETTINGS "/etc/burn/burn.json"

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

static BurnStatus backend_in_files(char **out, const char **source) {
  *source = "burn.json";
  BurnStatus status = backend_in("burn.json", out);
  if (status == BURN_OK && !*out && !burn__process_is_privileged()) {
    char *user = user_settings_path();
    *source = "burn.json of the user";
    status = backend_in(user, out);
    free(user);
  }
  if (status != BURN_OK || *out) return status;
  *source = SYSTEM_SETTINGS;
  return backend_in(SYSTEM_SETTINGS, out);
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

/* Adds the absolute folders of one file to a NULL-terminated list. */
static char **folders_in(const char *path, char **list) {
  cJSON *settings = NULL;
  const BurnStatus status = path ? read_settings(path, &settings) : BURN_OK;
  if (status != BURN_OK) burn__log(BURN_LOG_WARN, "settings", "%s", burn_status_message(status));
  const cJSON *folders = settings ? cJSON_GetObjectItemCaseSensitive(settings, "plugin_path") : NULL;
  size_t count = 0;
  while (list && list[count]) count++;
  const cJSON *folder;
  cJSON_ArrayForEach(folder, folders) {
    if (!cJSON_IsString(folder)) continue;
    char **more = realloc(list, (count + 2) * sizeof *more);
    if (!more) break;
    list = more;
    list[count] = burn__text_copy(folder->valuestring);
    if (list[count]) count++;
    list[count] = NULL;
  }
  cJSON_Delete(settings);
  return list;
}

char **burn__settings_plugin_path(void) {
  char **list = NULL;
  if (!burn__process_is_privileged()) {
    char *user = user_settings_path();
    list = folders_in(user, list);
    free(user);
  }
  return folders_in(SYSTEM_SETTINGS, list);
}
