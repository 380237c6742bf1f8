/* program.h - what programs need of the system beside their model: paths below
 * the artifact folder, and the time. */
#ifndef BURN_SDK_PROGRAM_H
#define BURN_SDK_PROGRAM_H

#include <burn/error.h>

/* folder/name; cut where it is longer, which no file system allows. */
typedef struct ProgramPath {
  char text[4096];
} ProgramPath;
ProgramPath program_path(const char *folder, const char *name);

/* Of a clock that only goes forward. */
double program_seconds(void);
/* Used by all threads of this process so far. */
double program_processor_seconds(void);

/* "name: message" on stderr; returns the exit status, 0 for BURN_OK. */
int program_end(const char *name, BurnStatus status);

#endif
