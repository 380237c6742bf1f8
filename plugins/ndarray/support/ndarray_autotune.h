/* ndarray_autotune.h - which of several ways to do the same work is the fastest here: timed once, remembered in memory
 * and on disk.
 *
 * Candidates must give the same bits: a choice depends on the hour of the day, and results must not. Ways that round
 * differently are chosen by rule, from shapes alone. */
#ifndef BURN_NDARRAY_AUTOTUNE_H
#define BURN_NDARRAY_AUTOTUNE_H

#include <burn/plugin/host.h>
#include <stdbool.h>

enum { ND_TUNE_OFF = 0, ND_TUNE_QUICK = 1, ND_TUNE_FULL = 2 };
enum { ND_TUNE_NUMBERS = 12, ND_TUNE_CANDIDATES = 8 };

typedef struct NdTuner NdTuner;

/* A choice to be made: what is done (a static string, letters and underscores), on which shapes, and the names of the
 * ways (static strings without spaces). `fallback` is what is taken without timing. Unused numbers are 0. */
typedef struct NdTuneChoice {
  const char *work;
  int64_t numbers[ND_TUNE_NUMBERS];
  const char *const *names;
  uint32_t count, fallback;
  /* Does the work in one of the ways; may be called many times, from the thread that asked. */
  void(BURN_API_CALL *run)(void *context, uint32_t candidate);
  void *context;
} NdTuneChoice;

/* `machine` names what times depend on (processor and instruction set); `path` is the file of remembered
 * choices, or NULL for none. Both are copied. NULL without memory. */
NdTuner *nd_tuner_create(const BurnHost *host, uint32_t mode, const char *machine, const char *path);
void nd_tuner_destroy(NdTuner *tuner); /* NULL is allowed */

/* The number of the way to take. A NULL tuner, and mode off, give the fallback. Runs every way a few times when the
 * choice is met for the first time on this machine. */
uint32_t nd_tune(NdTuner *tuner, const NdTuneChoice *choice);

/* The processor by its own name and `isa`, as `machine`. */
void nd_tune_machine(char *machine, uint64_t bytes, const char *isa);

/* off, quick or full as a number; false for another word. */
bool nd_tune_parse(const char *text, uint32_t *mode);

/* The mode that BURN_AUTOTUNE=off|quick|full asks for (default quick; *known is false for another word), and the file
 * <user's cache directory>/burn/autotune-ndarray-<version>.txt; an empty path where there is no such directory. */
uint32_t nd_tune_mode(bool *known);
void nd_tune_path(char *path, uint64_t bytes, const char *version);

#endif
