/* interrupter.h - end a run from outside: Ctrl-C, another thread, a callback. The learner finishes the step that is
 * running and writes a checkpoint, so that the run can go on later bit for bit.
 *
 *   static BurnInterrupter interrupter;
 *   status = burn_interrupter_on_signals(&interrupter);
 *   status = burn_learner_fit(&(BurnLearnerConfig){.interrupter = &interrupter, ...}, ...);
 *   if (result.interrupted) return 128 + burn_interrupter_signal(&interrupter); */
#ifndef BURN_TRAIN_INTERRUPTER_H
#define BURN_TRAIN_INTERRUPTER_H

#include <burn/error.h>

BURN_EXTERN_C_BEGIN

/* Zero-initialised: nobody has asked for an end. It is read and written through the functions below only. */
typedef struct BurnInterrupter {
  int state; /* 0, the number of the signal, or BURN_INTERRUPTED */
} BurnInterrupter;

/* The state after burn_interrupter_stop. */
enum { BURN_INTERRUPTED = -1 };

/* Asks for the end of the run. Safe in a signal handler and from any thread. */
BURN_API void burn_interrupter_stop(BurnInterrupter *interrupter);
/* Whether somebody has asked; false where `interrupter` is NULL. */
BURN_API bool burn_interrupter_stopped(const BurnInterrupter *interrupter);
/* The signal that asked: SIGINT or SIGTERM; 0 if it was burn_interrupter_stop, or nobody. */
BURN_API int burn_interrupter_signal(const BurnInterrupter *interrupter);

/* From now on the first SIGINT (Ctrl-C) or SIGTERM asks the interrupter for the end; the second one ends the process as
 * if nobody caught it. A signal that the process ignores stays ignored. One interrupter per process has this: a later
 * call replaces it, and NULL puts back what was there before. It must live as long as it is installed. */
BURN_API BURN_USE_RESULT BurnStatus burn_interrupter_on_signals(BurnInterrupter *interrupter);

BURN_EXTERN_C_END

#endif
