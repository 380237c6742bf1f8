/* settings.c - which stack to open when the program does not say: environment, then burn.json of the project, the user,
 * the system. A project's file may name a stack, with options that are declared harmless, but no folders: entering a
 * downloaded folder must neither run its code nor write what it says. */
#include "null_check.h"
#include "platform.h"
#include "plugin_internal.h"
#include "privileged.h"

#include <burn/file.h>
#include <burn/guess.h>
#include <cjson/cJSON.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SETTINGS_BYTES_MAX = 1 << 20 };

/* The three files, the one with the first say first; malloc'd, NULL where there is no place for one. What the caller of
 * a privileged program can choose, its environment and its working directory, has no say there. */
enum { PROJECT, USER, SYSTEM, FILE_COUNT };
static char *settings_path(int file) {
  if (file == SYSTEM) return burn__text_copy(burn__system_settings_path());
  if (burn__process_is_privileged()) return NULL;
  return file == PROJECT ? burn__text_copy("burn.json") : burn__user_settings_path();
}
/* How the files are called in messages and by burn_stack_choice. */
static const char *settings_name(int file) {
  if (file == SYSTEM && burn__system_settings_path()) return burn__system_settings_path();
  return file == PROJECT ? "burn.json" : "burn.json of the user";
}

/* The bytes as a JSON object, with nothing after it. */
static BurnStatus parse_settings(const char *path, const char *text, size_t count, cJSON **out) {
  const char *end = NULL;
  *out = cJSON_ParseWithLengthOpts(text, count, &end, false);
  while (*out && end < text + count && strchr(" \t\r\n", *end) && *end) end++;
  const size_t offset = end && end >= text ? (size_t)(end - text) : 0;
  if (cJSON_IsObject(*out) && offset == count) return BURN_OK;
  const char *what = cJSON_IsObject(*out) ? "something after the JSON object" : "no JSON object";
  cJSON_Delete(*out);
  *out = NULL;
  return BURN_FAIL(CORRUPT_DATA, "settings '%s': %s (at byte %zu)", path, what, offset);
}

/* Of a key that stands twice either value could be what is meant. */
static BurnStatus refuse_doubled(const char *path, const cJSON *settings) {
  const cJSON *entry;
  cJSON_ArrayForEach(entry, settings) {
    if (cJSON_GetObjectItemCaseSensitive(settings, entry->string) != entry)
      return BURN_FAIL(CORRUPT_DATA, "settings '%s': \"%s\" stands twice", path, entry->string);
  }
  return BURN_OK;
}

/* Warns of what is in a file and has no effect, once per file: misspelt, it would pick another backend in silence. It
 * is not an error, as a later version of Burn may know more keys. */
static void tell_ignored(int file, const char *path, const cJSON *settings) {
  static atomic_bool told[FILE_COUNT];
  const cJSON *entry;
  if (atomic_exchange(&told[file], true)) return;
  cJSON_ArrayForEach(entry, settings) {
    if (strcmp(entry->string, "backend") == 0) continue;
    BurnGuess guess = burn_guess(entry->string);
    burn_guess_add(&guess, "backend");
    burn_guess_add(&guess, "plugin_path");
    if (strcmp(entry->string, "plugin_path") != 0) {
      burn__log(BURN_LOG_WARN, "settings", "'%s': there is no \"%s\" in settings, it is ignored.%s", path,
                entry->string, burn_guess_text(&guess));
    } else if (file == PROJECT) {
      burn__log(
          BURN_LOG_WARN, "settings",
          "'%s': \"plugin_path\" is ignored in a file of the working directory, which may come from anybody. Write "
          "it in your own burn.json, or set BURN_PLUGIN_PATH",
          path);
    }
  }
}

/* The file's JSON object; NULL if there is no file. A file that is there but broken is an error: silence would pick
 * another backend than the user wrote down; so is one of the user or the system that others could have written, as it
 * names plugins and their options. A home that this process may not enter (another user's, as a service has it) has
 * none. */
static BurnStatus read_settings(int file, const char *path, cJSON **out) {
  uint8_t *text = NULL;
  size_t count = 0;
  BurnRefusal refusal;
  *out = NULL;
  const BurnPresence presence = burn__file_presence(path);
  if (presence == BURN__ABSENT) return BURN_OK;
  if (presence == BURN__FORBIDDEN && file == USER) {
    burn__log(BURN_LOG_DEBUG, "settings", "'%s' may not be read; taken as not there", path);
    return BURN_OK;
  }
  BurnStatus status = burn_file_read(path, SETTINGS_BYTES_MAX, &text, &count);
  if (status != BURN_OK) return burn_status_annotate(status, "settings '%s'", path);
  if (file != PROJECT) status = burn_status_annotate(burn__file_check(path, &refusal), "settings '%s'", path);
  if (status == BURN_OK) status = parse_settings(path, (const char *)text, count, out);
  free(text);
  if (status == BURN_OK) status = refuse_doubled(path, *out);
  if (status == BURN_OK) {
    tell_ignored(file, path, *out);
    return BURN_OK;
  }
  cJSON_Delete(*out);
  *out = NULL;
  return status;
}

/* The working directory may be a folder from elsewhere: it may choose among plugins and devices, not what they write or
 * load. */
static BurnStatus check_project(const char *text) {
  BurnStackText stack = {0};
  BurnStatus status = burn__stack_parse(text, &stack);
  if (status == BURN_OK) status = burn__stack_check_harmless(&stack);
  burn__stack_release(&stack);
  return status;
}

/* The stack that a file names, malloc'd; NULL if none. */
static BurnStatus backend_in(int file, const char *path, char **out) {
  cJSON *settings = NULL;
  BurnStatus status = path ? read_settings(file, path, &settings) : BURN_OK;
  const cJSON *backend = settings ? cJSON_GetObjectItemCaseSensitive(settings, "backend") : NULL;
  *out = NULL;
  if (backend && !cJSON_IsString(backend)) {
    status = BURN_FAIL(CORRUPT_DATA, "settings '%s': \"backend\" must be a text such as \"ndarray\"", path);
  } else if (backend) {
    if (file == PROJECT) status = burn_status_annotate(check_project(backend->valuestring), "%s", settings_name(file));
    *out = burn__text_copy(backend->valuestring);
    if (!*out) status = BURN_FAIL(OUT_OF_MEMORY, "no memory for the backend named in '%s'", path);
  }
  cJSON_Delete(settings);
  return status;
}

static BurnStatus backend_in_files(char **out, const char **source) {
  BurnStatus status = BURN_OK;
  for (int file = 0; file < FILE_COUNT && status == BURN_OK && !*out; file++) {
    char *path = settings_path(file);
    *source = settings_name(file);
    status = backend_in(file, path, out);
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
      const BurnStatus status = backend_in(file, path, &backend);
      info->exists = burn__file_presence(path) != BURN__ABSENT;
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
  const BurnStatus status = backend_in_files(out, source);
  if (status == BURN_OK && !*out) *source = NULL;
  return status;
}

/* The name of the backend that the automatic choice tries first; malloc'd. */
static BurnStatus best_backend(char **out) {
  const BurnPluginInfo **list;
  size_t count;
  BurnStatus status = burn__plugin_candidates(&list, &count);
  if (status == BURN_OK && count == 0) status = burn__plugin_no_backend("");
  if (status == BURN_OK) *out = burn__text_copy(list[0]->name);
  free((void *)list);
  return status != BURN_OK || *out ? status : BURN_FAIL(OUT_OF_MEMORY, "no memory for the name of a backend");
}

/* The folders that one file names under "plugin_path". */
static void folders_in(int file, void (*visit)(const char *folder, const char *source)) {
  char *path = settings_path(file);
  cJSON *settings = NULL;
  const BurnStatus status = path ? read_settings(file, path, &settings) : BURN_OK;
  if (status != BURN_OK) burn__log(BURN_LOG_WARN, "settings", "%s", burn_status_message(status));
  const cJSON *folders = settings ? cJSON_GetObjectItemCaseSensitive(settings, "plugin_path") : NULL;
  const cJSON *folder;
  bool are_texts = !folders || cJSON_IsArray(folders);
  cJSON_ArrayForEach(folder, folders) {
    are_texts = are_texts && cJSON_IsString(folder);
    if (cJSON_IsString(folder)) visit(folder->valuestring, settings_name(file));
  }
  if (!are_texts) {
    burn__log(BURN_LOG_WARN, "settings", "'%s': \"plugin_path\" must be a list of folders such as [\"/opt/plugins\"]",
              path);
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
  const char *chosen_by = NULL;
  BurnStatus status = BURN_REQUIRED(stack, "room for the text");
  if (status != BURN_OK) return status;
  status = burn__settings_stack(argument, &text, &chosen_by);
  const bool is_automatic = status == BURN_OK && !text;
  if (is_automatic) status = best_backend(&text);
  if (status == BURN_OK && strlen(text) >= bytes) {
    status =
        BURN_FAIL(INVALID_ARGUMENT, "stack_choice: '%s' needs %zu bytes, there are %zu", text, strlen(text) + 1, bytes);
  }
  if (status == BURN_OK) memcpy(stack, text, strlen(text) + 1);
  if (!chosen_by) chosen_by = is_automatic ? "the highest score" : "the argument";
  if (source) *source = chosen_by;
  free(text);
  return status;
}
