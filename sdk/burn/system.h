/* system.h - what the burn command needs of the operating system. One definition per system: system_posix.c,
 * system_windows.c. */
#ifndef BURN_SDK_SYSTEM_H
#define BURN_SDK_SYSTEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The folder above the one this program lies in, without a separator at the end; false if it is unknown or does not
 * fit. */
bool system_prefix(char *out, size_t bytes);

/* Visits the names in a folder, those with a dot in front left out, until `visit` returns false. Returns how many were
 * visited; -1 with errno set if the folder cannot be read. */
long system_list_folder(const char *folder, bool (*visit)(void *context, const char *name), void *context);

/* Makes a folder; false with errno set, EEXIST if it is there. */
bool system_make_folder(const char *path);

/* A library of others that plugins open when it is there, and the variable that names another file for it, if there is
 * one; or a variable of the environment that has a say; by system. */
typedef struct SystemDriver {
  const char *name, *library, *variable, *use;
} SystemDriver;
typedef struct SystemVariable {
  const char *name, *meaning;
} SystemVariable;
extern const SystemDriver system_drivers[]; /* these end with a NULL name */
extern const SystemVariable system_variables[];

/* All variables, "NAME=value"; ends with NULL. */
char *const *system_environment(void);

/* True if the system's loader finds a library. It is loaded for the question, and may stay: a question for
 * system_run_apart. `version` gets what it tells of itself, as Vulkan's loader does, else "". */
bool system_has_library(const char *name, char *version, size_t bytes);

/* How a process of its own has ended. */
typedef enum SystemEnd { SYSTEM_RETURNED, SYSTEM_CRASHED, SYSTEM_HUNG, SYSTEM_EXITED, SYSTEM_NOT_STARTED } SystemEnd;

/* Fills `result` (`bytes` long) by calling `body` in a process of its own, where there is fork, for at most `seconds`;
 * elsewhere in this one. What it prints to stdout goes to stderr. If it has not returned, `why` says so. */
SystemEnd system_run_apart(void (*body)(const void *context, void *result), const void *context, void *result,
                           size_t bytes, unsigned seconds, char *why, size_t why_bytes);

/* Copied into buffers of the caller: "Linux 6.1 x86_64", the processor's name ("" if unknown). */
void system_describe(char *system, size_t system_bytes, char *processor, size_t processor_bytes);
unsigned system_processor_count(void);
uint64_t system_memory_bytes(void); /* 0 if unknown */

/* True if the processor has an instruction set, by the name that Linux gives it: "avx2", "asimd". */
bool system_has_feature(const char *name);

/* Of a clock that is never set back. */
double system_seconds(void);

#endif
