/* streams.h - the standard streams of a program, at its begin and end.
 *
 *   int main(void) {
 *     burn_streams_pin();
 *     ...
 *     return burn_streams_finish(status != BURN_OK);
 *   } */
#ifndef BURN_STREAMS_H
#define BURN_STREAMS_H

#include <burn/error.h>

BURN_EXTERN_C_BEGIN

/* Puts the null device in place of those of the descriptors 0, 1 and 2 that are closed, so that no file that is opened
 * later gets one of them and with it what is meant for the terminal. Devices, configs, records and the learner call it
 * before they open a file; call it first in main to cover the program's own files. */
BURN_API void burn_streams_pin(void);

/* Writes out stdout and closes it; call it last in main. Returns `exit_status`; where not all of the output could be
 * written, it says so on stderr and returns 1 in place of 0. */
BURN_API BURN_USE_RESULT int burn_streams_finish(int exit_status);

BURN_EXTERN_C_END

#endif
