/* plugin_list.c - what lists and the automatic choice know of plugins: a verdict on each that was found, without any of
 * them being loaded into this process. */
#include "plugin_internal.h"

#include <burn/guess.h>
#include <burn/streams.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Taken before the registry's, and apart from it: who opens a plugin by name does not wait for children. */
pthread_mutex_t burn__verdict_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct {
  BurnVerdict **verdicts; /* [count], as the registry's entries; NULL where there was no memory */
  size_t count;
  BurnPluginInfo *infos; /* of burn_plugin_info, sorted */
  size_t info_count;
} known;

/* The mutex is held: a verdict on every entry. */
static void know_all(void) {
  if (known.verdicts) return;
  burn_streams_pin(); /* children get all three */
  BurnPluginEntry *entries;
  const size_t count = burn__plugin_entries(&entries);
  known.verdicts = calloc(count ? count : 1, sizeof *known.verdicts);
  if (!known.verdicts) return;
  BurnVerdicts *kept = burn__verdicts_open();
  for (size_t i = 0; i < count; i++) known.verdicts[i] = burn__probe_entry(&entries[i], kept);
  burn__verdicts_close(kept);
  known.count = count;
}

static int compare_infos(const void *a, const void *b) {
  const BurnPluginInfo *left = a, *right = b;
  if (left->usable != right->usable) return left->usable ? -1 : 1;
  return strcmp(left->name, right->name);
}

/* Fills the list once; it stays for the life of the process, as its texts are handed out. */
static void list_plugins(void) {
  know_all();
  if (known.infos || !known.verdicts) return;
  known.infos = calloc(known.count ? known.count : 1, sizeof *known.infos);
  for (size_t i = 0; known.infos && i < known.count; i++) {
    if (known.verdicts[i]) known.infos[known.info_count++] = known.verdicts[i]->info;
  }
  if (known.info_count > 1) qsort(known.infos, known.info_count, sizeof *known.infos, compare_infos);
}

size_t burn_plugin_count(void) {
  if (burn__plugin_may_load() != BURN_OK) return 0;
  pthread_mutex_lock(&burn__verdict_mutex);
  list_plugins();
  const size_t count = known.info_count;
  pthread_mutex_unlock(&burn__verdict_mutex);
  return count;
}

const BurnPluginInfo *burn_plugin_info(size_t index) {
  return index < burn_plugin_count() ? &known.infos[index] : NULL;
}

BurnStatus burn_plugin_retry(void) {
  pthread_mutex_lock(&burn__verdict_mutex);
  const bool is_late = known.verdicts != NULL;
  if (!is_late) burn__verdicts_distrust();
  pthread_mutex_unlock(&burn__verdict_mutex);
  return is_late ? BURN_FAIL(FAILED_PRECONDITION, "plugin_retry: comes too late, the plugins were listed") : BURN_OK;
}

/* -- quarantine after the list was made ------------------------------------------------------- */

/* Its place among the entries; known.count if there is none. */
static size_t usable_file(const BurnPluginEntry *entries, const char *name) {
  for (size_t i = 0; i < known.count; i++) {
    const bool is_usable = known.verdicts[i] && known.verdicts[i]->info.usable;
    if (is_usable && entries[i].path && strcmp(entries[i].file_name, name) == 0) return i;
  }
  return known.count;
}

/* The list with another verdict on one plugin. */
static void replace_info(const char *name, const BurnPluginInfo *by) {
  for (size_t i = 0; i < known.info_count; i++) {
    BurnPluginInfo *info = &known.infos[i];
    if (info->usable && strcmp(info->name, name) == 0) *info = *by;
  }
  if (known.info_count > 1) qsort(known.infos, known.info_count, sizeof *known.infos, compare_infos);
}

/* The mutex is held. */
static BurnStatus put_into_quarantine(const char *name, BurnRefusal refusal, const char *reason) {
  BurnPluginEntry *entries;
  list_plugins();
  (void)burn__plugin_entries(&entries);
  const size_t index = usable_file(entries, name);
  if (index == known.count)
    return BURN_FAIL(NOT_FOUND, "plugin_quarantine: there is no usable plugin '%s' in a file", name);
  BurnVerdicts *kept = burn__verdicts_open();
  BurnVerdict *verdict = burn__probe_condemn(&entries[index], refusal, reason, kept);
  burn__verdicts_close(kept);
  if (!verdict) return BURN_FAIL(OUT_OF_MEMORY, "plugin_quarantine: no memory for '%s'", name);
  verdict->former = known.verdicts[index];
  known.verdicts[index] = verdict;
  replace_info(name, &verdict->info);
  return BURN_OK;
}

BurnStatus burn_plugin_quarantine(const char *name, const char *refusal, const char *reason) {
  const BurnRefusal why = burn__refusal_of_word(refusal ? refusal : "");
  if (!name || !reason || !burn__refusal_is_quarantine(why)) {
    return BURN_FAIL(INVALID_ARGUMENT, "plugin_quarantine: '%s' is not a reason for it; crashed, hung and exited are",
                     refusal ? refusal : "(null)");
  }
  pthread_mutex_lock(&burn__verdict_mutex);
  const BurnStatus status = put_into_quarantine(name, why, reason);
  pthread_mutex_unlock(&burn__verdict_mutex);
  return status;
}

/* -- the automatic choice --------------------------------------------------------------------- */

static bool is_backend(const BurnPluginInfo *info) {
  return strcmp(info->kind, burn__plugin_kind(BURN_PLUGIN_BACKEND)->name) == 0;
}

static int compare_scores(const void *a, const void *b) {
  const BurnPluginInfo *left = *(const BurnPluginInfo *const *)a, *right = *(const BurnPluginInfo *const *)b;
  if (left->score != right->score) return left->score > right->score ? -1 : 1;
  return strcmp(left->name, right->name);
}

BurnStatus burn__plugin_candidates(const BurnPluginInfo ***list, size_t *count) {
  const size_t all = burn_plugin_count();
  *list = calloc(all ? all : 1, sizeof(const BurnPluginInfo *));
  *count = 0;
  if (!*list) return BURN_FAIL(OUT_OF_MEMORY, "no memory to choose among %zu plugins", all);
  for (size_t i = 0; i < all; i++) {
    if (known.infos[i].usable && is_backend(&known.infos[i])) (*list)[(*count)++] = &known.infos[i];
  }
  if (*count > 1) qsort((void *)*list, *count, sizeof **list, compare_scores);
  return BURN_OK;
}

const char *burn__plugin_known_role(uint32_t role) {
  (void)burn_plugin_count();
  for (size_t i = 0; i < known.count; i++) {
    const BurnVerdict *verdict = known.verdicts[i];
    if (verdict && verdict->info.usable && (verdict->roles & role)) return verdict->info.name;
  }
  return NULL;
}

/* -- messages --------------------------------------------------------------------------------- */

/* Appends formatted text to a fixed buffer. */
static void append(char *buffer, size_t bytes, const char *separator, const char *text) {
  const size_t used = strlen(buffer);
  if (used + 1 < bytes) snprintf(buffer + used, bytes - used, "%s%s", used ? separator : "", text);
}

static void append_places(char *buffer, size_t bytes) {
  for (const char *const *folder = burn_plugin_search_path(); *folder; folder++) append(buffer, bytes, ", ", *folder);
  if (!buffer[0]) append(buffer, bytes, "", "nowhere");
}

/* What might be a backend: nobody knows of a file that was refused. */
static bool explains_no_backend(const BurnPluginInfo *info) {
  return !info->usable && (is_backend(info) || !info->kind[0]) && strcmp(info->refusal, "hidden") != 0;
}

BurnStatus burn__plugin_no_backend(const char *tried) {
  char reasons[400] = "", places[200] = "";
  append(reasons, sizeof reasons, "", tried);
  for (size_t i = 0; i < burn_plugin_count(); i++) {
    if (!explains_no_backend(&known.infos[i])) continue;
    append(reasons, sizeof reasons, "; ", known.infos[i].name);
    append(reasons, sizeof reasons, ": ", known.infos[i].reason);
  }
  append_places(places, sizeof places);
  return BURN_FAIL(NOT_FOUND, "there is no backend that can be used%s%s. Searched: %s. 'burn doctor' explains",
                   reasons[0] ? ". " : "", reasons, places);
}

BurnStatus burn__plugin_not_found(const char *name, uint32_t kind) {
  char names[256] = "", places[320] = "";
  const char *kind_name = burn__plugin_kind(kind)->name;
  BurnGuess guess = burn_guess(name);
  for (size_t i = 0; i < burn_plugin_count(); i++) {
    const BurnPluginInfo *info = &known.infos[i];
    if (strcmp(info->kind, kind_name) != 0) continue;
    append(names, sizeof names, ", ", info->name);
    burn_guess_add(&guess, info->name);
  }
  append_places(places, sizeof places);
  return BURN_FAIL(NOT_FOUND, "there is no %s '%s'.%s There are: %s. Searched: %s. 'burn backends' shows details",
                   kind_name, name, burn_guess_text(&guess), names[0] ? names : "none", places);
}
