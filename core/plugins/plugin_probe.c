/* plugin_probe.c - what is to be known of a plugin before anybody asks for it by name: from a child process that loads
 * and probes it, or from this process where there is no child (Windows, linked in, BURN_PROBE=in-process).
 *
 * A plugin is code of others. Its constructors, its entry function and its probe may hang, crash, exit or print; in a
 * child that costs the plugin its place, and nobody else anything. */
#include "platform.h"
#include "plugin_internal.h"
#include "privileged.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- settings --------------------------------------------------------------------------------- */

enum { LIMIT_MILLISECONDS = 5000, LIMIT_SECONDS_MAX = 3600 };

/* BURN_PROBE_SECONDS, as "5" or "0.5" in any locale. */
static int64_t limit_milliseconds(void) {
  const char *text = burn__trusted_variable("BURN_PROBE_SECONDS");
  if (!text || !*text) return LIMIT_MILLISECONDS;
  char *end;
  const long seconds = strtol(text, &end, 10);
  int64_t value = seconds >= 0 && seconds <= LIMIT_SECONDS_MAX ? (int64_t)seconds * 1000 : 0;
  int64_t part = 100;
  if (*end == '.') end++;
  for (; *end >= '0' && *end <= '9'; end++, part /= 10) value += part * (*end - '0');
  if (*end == '\0' && value > 0) return value;
  burn__log(BURN_LOG_WARN, "plugins", "BURN_PROBE_SECONDS='%s' is not a number of seconds in 0.001..%d; ignored", text,
            LIMIT_SECONDS_MAX);
  return LIMIT_MILLISECONDS;
}

static bool wants_child(void) {
  const char *text = burn__trusted_variable("BURN_PROBE");
  if (!text || !*text || strcmp(text, "child") == 0) return true;
  if (strcmp(text, "in-process") == 0) return false;
  burn__log(BURN_LOG_WARN, "plugins", "BURN_PROBE='%s' is neither child nor in-process; child is taken", text);
  return true;
}

/* -- what became of a child ------------------------------------------------------------------- */

const char *burn__probe_stage_text(BurnProbeStage stage) {
  switch (stage) {
    case BURN__STAGE_LOAD:
      return "while it was loaded (by its constructors, or as its file is damaged)";
    case BURN__STAGE_QUERY:
      return "when it was asked what it is";
    case BURN__STAGE_PROBE:
      return "in its probe for devices";
    case BURN__STAGE_START:
    default:
      return "before it was loaded";
  }
}

/* The answer that a child has given, or the refusal that stands for its end. */
static cJSON *answer_of_child(const BurnPluginEntry *entry, const BurnChild *child, int64_t limit) {
  const char *stage = burn__probe_stage_text(child->stage);
  char reason[320] = "";
  BurnRefusal refusal = BURN_REFUSED_BAD_ANSWER;
  switch (child->end) {
    case BURN__CHILD_ANSWERED:
      return cJSON_Parse(child->text);
    case BURN__CHILD_CRASHED:
      refusal = BURN_REFUSED_CRASHED;
      (void)snprintf(reason, sizeof reason, "it crashed with signal %d%s%s%s %s", child->number,
                     child->signal_name[0] ? " (" : "", child->signal_name, child->signal_name[0] ? ")" : "", stage);
      break;
    case BURN__CHILD_EXITED:
      refusal = BURN_REFUSED_EXITED;
      (void)snprintf(reason, sizeof reason, "it ended its process with exit status %d %s", child->number, stage);
      break;
    case BURN__CHILD_HUNG:
      refusal = BURN_REFUSED_HUNG;
      (void)snprintf(reason, sizeof reason, "it had not come back after %lld.%03lld s %s", (long long)(limit / 1000),
                     (long long)(limit % 1000), stage);
      break;
    case BURN__CHILD_NOT_STARTED:
    case BURN__CHILD_GARBLED:
    default:
      (void)snprintf(reason, sizeof reason, "its process wrote something that is not an answer %s", stage);
      break;
  }
  return burn__answer_of_refusal(entry->file_name, refusal, reason);
}

/* -- verdicts --------------------------------------------------------------------------------- */

static const char *path_of(const BurnPluginEntry *entry) { return entry->path ? entry->path : "linked in"; }

/* Takes the answer. One that is none (then *whole is false) stands as a refusal; NULL: there is no memory. */
static BurnVerdict *verdict_of(const BurnPluginEntry *entry, cJSON *answer, bool *whole) {
  BurnVerdict *verdict = malloc(sizeof *verdict);
  *whole = false;
  if (!verdict) {
    cJSON_Delete(answer);
    return NULL;
  }
  *whole = burn__verdict_read(answer, path_of(entry), verdict);
  if (*whole) return verdict;
  answer = burn__answer_of_refusal(entry->file_name, BURN_REFUSED_BAD_ANSWER,
                                   "what it says of itself is incomplete, or there was no memory for it");
  if (burn__verdict_read(answer, path_of(entry), verdict)) return verdict;
  free(verdict);
  return NULL;
}

static BurnVerdict *probe_here(BurnPluginEntry *entry) {
  bool whole;
  burn__plugin_load(entry);
  return verdict_of(entry, burn__answer_of_entry(entry), &whole);
}

/* Where no child can be had the plugin still has to be looked at; that it is done here is said, once. */
static BurnVerdict *probe_here_after_all(BurnPluginEntry *entry, const BurnChild *child) {
  static bool said;
  if (!said)
    burn__log(BURN_LOG_WARN, "plugins", "plugins are probed in this process, where a faulty one can harm it: %s",
              child->text ? child->text : "no memory for a child process");
  said = true;
  return probe_here(entry);
}

static void say_quarantine(const BurnVerdict *verdict) {
  if (!burn__refusal_is_quarantine(verdict->refusal)) return;
  burn__log(BURN_LOG_WARN, "plugins",
            "%s is in quarantine: %s. 'burn doctor' shows it, 'burn doctor --retry' tries again", verdict->info.path,
            verdict->info.reason);
}

/* What could not be read may have been for lack of memory here: it is not kept. */
static BurnVerdict *judge(const BurnPluginEntry *entry, cJSON *answer, const char *identity, BurnVerdicts *kept) {
  bool whole;
  BurnVerdict *verdict = verdict_of(entry, answer, &whole);
  if (!verdict || !whole) return verdict;
  if (burn__refusal_is_quarantine(verdict->refusal)) verdict->info.quarantined_since = burn__wall_seconds();
  say_quarantine(verdict);
  if (identity[0]) burn__verdicts_put(kept, entry->path, identity, verdict->answer);
  return verdict;
}

static BurnVerdict *probe_file(BurnPluginEntry *entry, BurnVerdicts *kept) {
  char identity[BURN__IDENTITY_BYTES] = ""; /* of the file before it is looked at */
  (void)burn__file_identity(entry->path, identity);
  const int64_t limit = limit_milliseconds();
  BurnChild child = burn__probe_in_child(entry->path, limit);
  BurnVerdict *verdict = child.end == BURN__CHILD_NOT_STARTED
                             ? probe_here_after_all(entry, &child)
                             : judge(entry, answer_of_child(entry, &child, limit), identity, kept);
  free(child.text);
  return verdict;
}

static BurnVerdict *kept_verdict(const BurnPluginEntry *entry, const BurnVerdicts *kept) {
  int64_t since = 0;
  cJSON *answer = burn__verdicts_find(kept, entry->path, &since);
  BurnVerdict *verdict = answer ? malloc(sizeof *verdict) : NULL;
  if (!verdict) {
    cJSON_Delete(answer);
    return NULL;
  }
  if (!burn__verdict_read(answer, entry->path, verdict)) { /* a file that was written by something else */
    free(verdict);
    return NULL;
  }
  if (burn__refusal_is_quarantine(verdict->refusal)) verdict->info.quarantined_since = since;
  return verdict;
}

BurnVerdict *burn__probe_entry(BurnPluginEntry *entry, BurnVerdicts *kept) {
  if (!entry->path || entry->reason || !burn__probe_has_children() || !wants_child()) return probe_here(entry);
  bool whole;
  BurnRefusal refusal = BURN_REFUSED_NONE;
  const BurnStatus status = burn__file_check(entry->path, &refusal);
  if (status != BURN_OK)
    return verdict_of(entry, burn__answer_of_refusal(entry->file_name, refusal, burn_status_message(status)), &whole);
  BurnVerdict *verdict = kept_verdict(entry, kept);
  return verdict ? verdict : probe_file(entry, kept);
}

BurnVerdict *burn__probe_condemn(const BurnPluginEntry *entry, BurnRefusal refusal, const char *reason,
                                 BurnVerdicts *kept) {
  char identity[BURN__IDENTITY_BYTES] = "";
  (void)burn__file_identity(entry->path, identity);
  return judge(entry, burn__answer_of_refusal(entry->file_name, refusal, reason), identity, kept);
}

/* -- the child's side ------------------------------------------------------------------------- */

static bool is_child; /* this process was started to probe one plugin */

static bool send(const void *bytes, size_t count) {
  return burn__descriptor_write(BURN__PROBE_DESCRIPTOR, bytes, count);
}

static bool send_frame(BurnProbeStage stage, const char *text) {
  BurnProbeFrame frame = {BURN__PROBE_MAGIC, (uint32_t)stage, (uint32_t)(text ? strlen(text) : 0)};
  return send(&frame, sizeof frame) && (!text || send(text, frame.bytes));
}

void burn__probe_stage(BurnProbeStage stage) {
  if (is_child) (void)send_frame(stage, NULL);
}

int burn_plugin_answer(const char *path) {
  if (!path) return 1;
  BurnPluginEntry entry = {.path = (char *)(uintptr_t)path, .file_name = burn__plugin_name_of_file(path)};
  if (!entry.file_name) return 1;
  is_child = true;
  burn__probe_stage(BURN__STAGE_LOAD);
  burn__plugin_load(&entry);
  cJSON *answer = burn__answer_of_entry(&entry);
  char *text = answer ? cJSON_PrintUnformatted(answer) : NULL;
  cJSON_Delete(answer);
  const bool sent = text && send_frame(BURN__STAGE_START, text);
  free(text);
  free(entry.file_name);
  return sent ? 0 : 1;
}
