/* autotune.h - which of several ways to do the same work is the fastest here: timed once in a process, remembered in
 * memory and on disk, and not timed any more when two processes have found the same. C99 and C++11; link
 * Burn::plugin_autotune.
 *
 * Candidates must give the same bits: a choice depends on the hour of the day, and results must not. Ways that round
 * differently are chosen by rule, from shapes alone. */
#ifndef BURN_COMMON_AUTOTUNE_H
#define BURN_COMMON_AUTOTUNE_H

#include <burn/plugin/host.h>
#include <stdbool.h>

/* Modes: nothing is timed; each way a few times; each way ten times. */
enum { BURN_COMMON_TUNE_OFF = 0, BURN_COMMON_TUNE_QUICK = 1, BURN_COMMON_TUNE_FULL = 2 };
/* How many numbers and ways a choice may have. */
enum { BURN_COMMON_TUNE_NUMBERS = 12, BURN_COMMON_TUNE_CANDIDATES = 8 };

typedef struct BurnCommonTuner BurnCommonTuner;

/* A choice to be made: what is done (a static string, letters and underscores), on which shapes, and the names of the
 * ways (static strings without spaces). `fallback` is what is taken without timing. Unused numbers are 0. */
typedef struct BurnCommonTuneChoice {
  const char *work;
  int64_t numbers[BURN_COMMON_TUNE_NUMBERS];
  const char *const *names;
  uint32_t count, fallback;
  /* Does the work in one of the ways and returns when it is done; may be called many times, from the thread that asked.
   */
  void(BURN_API_CALL *run)(void *context, uint32_t candidate);
  void *context;
} BurnCommonTuneChoice;

#if defined(__cplusplus)
extern "C" {
#endif

/* `machine` names what times depend on: processor and instruction set, or device and driver. `path` is the file of
 * remembered choices, or NULL for none. Both are copied. NULL without memory. */
BurnCommonTuner *burn_common_tuner_create(const BurnHost *host, uint32_t mode, const char *machine, const char *path);
void burn_common_tuner_destroy(BurnCommonTuner *tuner); /* NULL is allowed */

/* The number of the way to take. A NULL tuner, and mode off, give the fallback. Runs every way a few times when the
 * choice is met for the first time in this process, unless two measurements in a row are known to agree. */
uint32_t burn_common_tune(BurnCommonTuner *tuner, const BurnCommonTuneChoice *choice);

/* The processor by its own name and `variant`, such as its instruction set, as `machine`. */
void burn_common_tune_machine(char *machine, uint64_t bytes, const char *variant);

/* off, quick or full as a number; false for another word. */
bool burn_common_tune_parse(const char *text, uint32_t *mode);

/* The mode that BURN_AUTOTUNE=off|quick|full asks for (default quick; *known is false for another word). */
uint32_t burn_common_tune_mode(bool *known);

/* The file <user's cache directory>/burn/autotune-<plugin>-<version>.txt; an empty path where there is no such
 * directory. `version` is that of the plugin: what another release measured is not trusted. */
void burn_common_tune_path(char *path, uint64_t bytes, const char *plugin, const char *version);

#if defined(__cplusplus)
}
#endif

#endif
