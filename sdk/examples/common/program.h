/* program.h - what programs need of the system beside their model: an exit
 * status that covers what they print, paths below the artifact folder, time. */
#ifndef BURN_SDK_PROGRAM_H
#define BURN_SDK_PROGRAM_H

#include <burn/error.h>

BURN_EXTERN_C_BEGIN

/* First in main, so that output which cannot be written is a failure: however
 * the program ends, stdout is written out then; where that fails, a line on
 * stderr says why, and the exit status is 1 (burn/streams.h). */
void program_begin(void);

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

BURN_EXTERN_C_END

#endif
