/* plugin_verdicts.c - what children found out about plugins, kept on disk for the processes after this one:
 * $XDG_CACHE_HOME/burn/plugins.json, one object per plugin file.
 *
 * A verdict holds for one file (place, size, times), one libburn and processes with the same limits of memory. What
 * depends on more than that, devices and libraries, holds for an hour on an unchanged machine (burn__machine_stamp).
 * The file is the user's own, as plugins are; whatever in it is not as we write it is not there. */
#include "plugin_internal.h"

#include <burn/file.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_BYTES_MAX = 4 << 20, ENTRIES_MAX = 512, HOUR = 3600, DAY = 24 * HOUR };

struct BurnVerdicts {
  char *path;
  cJSON *root; /* {"burn": which libburn, "plugins": {path: {"file", "limits", "machine", "found", "answer"}}} */
  bool is_changed;
  char host[BURN__IDENTITY_BYTES + 64], machine[20], limits[BURN__LIMITS_BYTES];
};

static bool is_distrusted;

/* -- how long --------------------------------------------------------------------------------- */

static const struct {
  const char *word, *help;
} refusals[] = {
    {"", ""},
#define BURN_REFUSAL(NAME, word, help) {word, help},
#include <burn/refusals.def>
#undef BURN_REFUSAL
};

BurnRefusal burn__refusal_of_word(const char *word) {
  for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
    if (strcmp(refusals[i].word, word) == 0) return (BurnRefusal)i;
  }
  return BURN_REFUSED_NONE;
}
const char *burn__refusal_word(BurnRefusal refusal) { return refusals[refusal].word; }
const char *burn__refusal_help(BurnRefusal refusal) { return refusals[refusal].help; }

bool burn__refusal_is_quarantine(BurnRefusal refusal) {
  return refusal == BURN_REFUSED_CRASHED || refusal == BURN_REFUSED_HUNG || refusal == BURN_REFUSED_EXITED ||
         refusal == BURN_REFUSED_BAD_ANSWER;
}

/* Decorators and packs are what their file says; backends and what cannot be loaded depend on the machine. A hang may
 * have been the machine's, under load. */
static bool still_holds(const cJSON *answer, bool same_machine, int64_t age) {
  const char *word = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(answer, "refusal"));
  const char *kind = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(answer, "kind"));
  if (!word || !kind || age < 0) return false;
  const BurnRefusal refusal = burn__refusal_of_word(word);
  if (refusal == BURN_REFUSED_HUNG) return age < DAY;
  const bool asks_machine = refusal == BURN_REFUSED_NOT_LOADABLE || refusal == BURN_REFUSED_NO_DEVICE ||
                            strcmp(kind, burn__plugin_kind(BURN_PLUGIN_BACKEND)->name) == 0;
  return !asks_machine || (same_machine && age < HOUR);
}

/* -- reading ---------------------------------------------------------------------------------- */

void burn__verdicts_distrust(void) { is_distrusted = true; }

/* Which libburn this is: another one may see plugins otherwise. */
static void identify_host(BurnVerdicts *kept) {
  char file[BURN__IDENTITY_BYTES] = "";
  char *own = burn__own_file();
  if (own) (void)burn__file_identity(own, file);
  free(own);
  (void)snprintf(kept->host, sizeof kept->host, "%s %u.%u %s", burn_version(), BURN_ABI_MAJOR, BURN_ABI_MINOR, file);
  burn__process_limits(kept->limits);
  (void)snprintf(kept->machine, sizeof kept->machine, "%016llx", (unsigned long long)burn__machine_stamp());
}

static cJSON *fresh_root(const BurnVerdicts *kept) {
  cJSON *root = cJSON_CreateObject();
  cJSON_AddStringToObject(root, "burn", kept->host);
  cJSON_AddObjectToObject(root, "plugins");
  return root;
}

static const char *text_in(const cJSON *object, const char *key) {
  const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));
  return text ? text : "";
}

/* The file's tree, if it is ours and of this libburn; NULL else. */
static cJSON *read_root(const BurnVerdicts *kept) {
  uint8_t *text = NULL;
  size_t count = 0;
  BurnRefusal refusal;
  if (burn__file_presence(kept->path) != BURN__PRESENT) return NULL;
  BurnStatus status = burn__file_check(kept->path, &refusal);
  if (status == BURN_OK) status = burn_file_read(kept->path, FILE_BYTES_MAX, &text, &count);
  if (status != BURN_OK) burn__log(BURN_LOG_INFO, "plugins", "not read: %s", burn_status_message(status));
  cJSON *root = status == BURN_OK ? cJSON_ParseWithLength((const char *)text, count) : NULL;
  free(text);
  if (root && strcmp(text_in(root, "burn"), kept->host) == 0 &&
      cJSON_IsObject(cJSON_GetObjectItemCaseSensitive(root, "plugins")))
    return root;
  cJSON_Delete(root);
  return NULL;
}

BurnVerdicts *burn__verdicts_open(void) {
  char *path = burn__verdicts_path();
  BurnVerdicts *kept = path ? calloc(1, sizeof *kept) : NULL;
  if (!kept) {
    free(path);
    return NULL;
  }
  kept->path = path;
  identify_host(kept);
  kept->root = read_root(kept);
  if (!kept->root) kept->root = fresh_root(kept);
  return kept;
}

static cJSON *plugins_of(const BurnVerdicts *kept) { return cJSON_GetObjectItemCaseSensitive(kept->root, "plugins"); }

/* Seconds as text, because a number of JSON is a double. 0 for what is none. */
static int64_t seconds_in(const cJSON *object, const char *key) {
  char *end;
  const char *text = text_in(object, key);
  const long long seconds = strtoll(text, &end, 10);
  return *text && *end == '\0' && seconds > 0 ? (int64_t)seconds : 0;
}

cJSON *burn__verdicts_find(const BurnVerdicts *kept, const char *path, int64_t *since) {
  char identity[BURN__IDENTITY_BYTES];
  if (!kept || is_distrusted || !burn__file_identity(path, identity)) return NULL;
  const cJSON *entry = cJSON_GetObjectItemCaseSensitive(plugins_of(kept), path);
  const cJSON *answer = cJSON_GetObjectItemCaseSensitive(entry, "answer");
  if (!cJSON_IsObject(answer) || strcmp(text_in(entry, "file"), identity) != 0 ||
      strcmp(text_in(entry, "limits"), kept->limits) != 0)
    return NULL;
  *since = seconds_in(entry, "found");
  const bool same_machine = strcmp(text_in(entry, "machine"), kept->machine) == 0;
  return still_holds(answer, same_machine, burn__wall_seconds() - *since) ? cJSON_Duplicate(answer, true) : NULL;
}

/* -- writing ---------------------------------------------------------------------------------- */

void burn__verdicts_put(BurnVerdicts *kept, const char *path, const char *identity, const cJSON *answer) {
  if (!kept) return;
  char found[24];
  (void)snprintf(found, sizeof found, "%lld", (long long)burn__wall_seconds());
  cJSON *plugins = plugins_of(kept), *entry = cJSON_CreateObject();
  cJSON_AddStringToObject(entry, "file", identity);
  cJSON_AddStringToObject(entry, "limits", kept->limits);
  cJSON_AddStringToObject(entry, "machine", kept->machine);
  cJSON_AddStringToObject(entry, "found", found);
  cJSON_AddItemToObject(entry, "answer", cJSON_Duplicate(answer, true));
  cJSON_DeleteItemFromObjectCaseSensitive(plugins, path);
  if (!cJSON_AddItemToObject(plugins, path, entry)) cJSON_Delete(entry);
  kept->is_changed = true;
}

/* Files that are gone have no place here; beyond the limit the oldest go. */
static void tidy(cJSON *plugins) {
  char identity[BURN__IDENTITY_BYTES];
  int excess = cJSON_GetArraySize(plugins) - ENTRIES_MAX;
  for (cJSON *entry = plugins ? plugins->child : NULL; entry;) {
    cJSON *next = entry->next;
    if (excess-- > 0 || !burn__file_identity(entry->string, identity))
      cJSON_Delete(cJSON_DetachItemViaPointer(plugins, entry));
    entry = next;
  }
}

void burn__verdicts_close(BurnVerdicts *kept) {
  if (!kept) return;
  if (kept->is_changed) {
    tidy(plugins_of(kept));
    char *text = cJSON_Print(kept->root);
    const BurnStatus status = text ? burn_file_write(kept->path, text, strlen(text)) : BURN_STATUS_OUT_OF_MEMORY;
    if (status != BURN_OK)
      burn__log(BURN_LOG_INFO, "plugins", "not kept for later: %s: %s", kept->path, burn_status_message(status));
    cJSON_free(text);
  }
  cJSON_Delete(kept->root);
  free(kept->path);
  free(kept);
}
