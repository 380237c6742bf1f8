/* plugin_internal.h - what is known of a plugin without its being loaded into this process: answers, verdicts, and who
 * finds them. Files: plugin_describe.c, plugin_probe.c, plugin_probe_*.c, plugin_verdicts.c, plugin_list.c. */
#ifndef BURN_CORE_PLUGIN_INTERNAL_H
#define BURN_CORE_PLUGIN_INTERNAL_H

#include "core_internal.h"

#include <burn/plugins.h>

#include <cjson/cJSON.h>

/* What discovery knows of one plugin. Made once per process and entry; lives until the process ends. */
typedef struct BurnVerdict {
  struct BurnVerdict *former; /* which this one replaces: its texts were handed out */
  BurnPluginInfo info;        /* its texts are those of `answer`, or static */
  BurnRefusal refusal;
  uint32_t roles; /* BURN_ROLE_* of a decorator */
  cJSON *answer;
} BurnVerdict;

/* -- answers: a plugin as JSON (plugin_describe.c) --------------------------------------------- */

/* Everything a list shows of a loaded or refused plugin; runs its probe. NULL: no memory. */
cJSON *burn__answer_of_entry(const BurnPluginEntry *entry);
/* The answer that stands for a refusal. */
cJSON *burn__answer_of_refusal(const char *name, BurnRefusal refusal, const char *reason);
/* Takes the answer, also when it fails: false if it is not one, so that nothing of it may be used. `path` is kept. */
bool burn__verdict_read(cJSON *answer, const char *path, BurnVerdict *out);
/* Does a table have the functions that its interface must have? The name of the first one missing, or NULL. */
const char *burn__interface_lacks(uint32_t kind, const void *table);

/* -- probing (plugin_probe.c, plugin_probe_*.c) ------------------------------------------------ */

/* How far a plugin in a child has come: "still in its constructor after 5 s". */
typedef enum BurnProbeStage {
  BURN__STAGE_START,
  BURN__STAGE_LOAD,
  BURN__STAGE_QUERY,
  BURN__STAGE_PROBE
} BurnProbeStage;
const char *burn__probe_stage_text(BurnProbeStage stage);
/* Tells the parent; does nothing in a process that was not started for a probe. */
void burn__probe_stage(BurnProbeStage stage);

/* A frame on the pipe between both: stages have no bytes, the answer has its text after the frame. */
typedef struct BurnProbeFrame {
  uint64_t magic;
  uint32_t stage;
  uint32_t bytes;
} BurnProbeFrame;
#define BURN__PROBE_MAGIC 0x4275726e50726f62u
enum { BURN__ANSWER_BYTES_MAX = 1 << 20, BURN__PROBE_DESCRIPTOR = 3 };

/* What became of a child. */
typedef enum BurnChildEnd {
  BURN__CHILD_ANSWERED,
  BURN__CHILD_NOT_STARTED, /* nothing is known of the plugin */
  BURN__CHILD_CRASHED,     /* `number` is the signal */
  BURN__CHILD_EXITED,      /* `number` is the exit status */
  BURN__CHILD_HUNG,
  BURN__CHILD_GARBLED /* what came is not an answer */
} BurnChildEnd;
typedef struct BurnChild {
  BurnChildEnd end;
  int number;
  BurnProbeStage stage;
  char *text;           /* of the answer, or why it could not be started; malloc'd, may be NULL */
  char signal_name[16]; /* "SIGSEGV" */
} BurnChild;
/* False where plugins are always looked at in this process. */
bool burn__probe_has_children(void);
/* Loads, asks and probes a plugin in a child process, which is ended after `milliseconds`. */
BurnChild burn__probe_in_child(const char *path, int64_t milliseconds);

/* What is to be known of an entry, from this process, a child, or what an earlier process has kept. */
struct BurnVerdicts;
BurnVerdict *burn__probe_entry(BurnPluginEntry *entry, struct BurnVerdicts *kept);
/* The verdict of quarantine on one that was opened; NULL: no memory. */
BurnVerdict *burn__probe_condemn(const BurnPluginEntry *entry, BurnRefusal refusal, const char *reason,
                                 struct BurnVerdicts *kept);

/* Writes all of it; false if that failed. */
bool burn__descriptor_write(int descriptor, const void *bytes, size_t count);
/* The time of day, in seconds since 1970. */
int64_t burn__wall_seconds(void);

/* -- verdicts on disk (plugin_verdicts.c) ------------------------------------------------------ */

/* The user's file of verdicts. NULL is one that knows and keeps nothing. */
typedef struct BurnVerdicts BurnVerdicts;
BurnVerdicts *burn__verdicts_open(void);
/* The answer kept for a file that is as it was, malloc'd; *since is when it was found, in seconds since 1970. NULL:
 * there is none, or it is too old. */
cJSON *burn__verdicts_find(const BurnVerdicts *kept, const char *path, int64_t *since);
/* Keeps a copy. `identity` is of the file before it was looked at. */
void burn__verdicts_put(BurnVerdicts *kept, const char *path, const char *identity, const cJSON *answer);
/* Writes what is new, and ends `kept`. */
void burn__verdicts_close(BurnVerdicts *kept);
/* From here on nothing that was kept before is believed. */
void burn__verdicts_distrust(void);
/* Offenders are kept until their file changes (hangs for a day); they are not tried by anybody meanwhile. */
bool burn__refusal_is_quarantine(BurnRefusal refusal);
BurnRefusal burn__refusal_of_word(const char *word); /* BURN_REFUSED_NONE for "" and unknown words */
const char *burn__refusal_word(BurnRefusal refusal);
const char *burn__refusal_help(BurnRefusal refusal);

/* Which file this is, as text: where it lies on disk, size and times. False if there is none. plugin_probe_*.c */
enum { BURN__IDENTITY_BYTES = 160 };
bool burn__file_identity(const char *path, char text[BURN__IDENTITY_BYTES]);
/* What drivers and the loader see of this machine, as a number: boot, libraries, device files, variables. */
uint64_t burn__machine_stamp(void);
/* How much memory and stack this process may have, as text: a plugin that is short of them fails by no fault of its
 * own. */
enum { BURN__LIMITS_BYTES = 80 };
void burn__process_limits(char text[BURN__LIMITS_BYTES]);
/* The file of verdicts, malloc'd, with its folder made; NULL where the user has no place for it. */
char *burn__verdicts_path(void);

/* -- the registry (plugin_registry.c) ---------------------------------------------------------- */

/* Everything that was found; nothing is loaded for it. The array and its order stay as they are. */
size_t burn__plugin_entries(BurnPluginEntry **entries);
/* "ndarray" of "/x/burn_ndarray.so", malloc'd. */
char *burn__plugin_name_of_file(const char *path);
/* Loads one into this process, if it was not tried before. */
void burn__plugin_load(BurnPluginEntry *entry);

/* -- lists (plugin_list.c) --------------------------------------------------------------------- */

/* Backends that can be used, the best first, ties by name: a malloc'd array of borrowed infos. */
BurnStatus burn__plugin_candidates(const BurnPluginInfo ***list, size_t *count);
/* The name of the first decorator with a role, or NULL. It is not loaded for the question. */
const char *burn__plugin_known_role(uint32_t role);
/* A failure that lists why none of the backends can be used; `tried` is what opening gave, "" if nothing was opened. */
BurnStatus burn__plugin_no_backend(const char *tried);
/* A failure about a name that does not exist, with what exists and where was looked. */
BurnStatus burn__plugin_not_found(const char *name, uint32_t kind);

#endif
