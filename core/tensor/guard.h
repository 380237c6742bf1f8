/* guard.h - what is noted about handles on request: guards (who took a handle, who forgot one) and scopes. tensor.c
 * tells of every handle that comes and goes, but only while burn__watch is not 0. */
#ifndef BURN_CORE_GUARD_H
#define BURN_CORE_GUARD_H

#include "core_internal.h"

/* The number of open scopes in the process, and a bit for guards. */
#define BURN__WATCH_GUARDS 0x80000000u
extern atomic_uint burn__watch;
static inline uint32_t burn__watching(void) { return atomic_load_explicit(&burn__watch, memory_order_relaxed); }

static inline bool burn__is_guarded(void) { return (burn__watching() & BURN__WATCH_GUARDS) != 0; }

/* -- guards (guard.c) ------------------------------------------------------------------------- */

/* Settles for the rest of the process whether there are guards; called before the first handle is made. */
void burn__guards_decide(void);

/* Why x, which is not NULL, is not a handle that `user` may use: it was taken, or is none; BURN_OK if it is one. */
BurnStatus burn__guard_check(const BurnTensor *x, const char *user);
bool burn__guard_is_live(const BurnTensor *x);
/* Says on the log that a handle is dropped which was taken; once for each. */
void burn__guard_report_drop(BurnTensor *x);

/* Handles made and taken until the end have this place in the program; else each looks for its own. */
void burn__guard_op_begin(void);
void burn__guard_op_end(void);

void burn__guard_made(BurnTensor *x);
void burn__guard_taken(BurnTensor *x, const char *user);
/* Keeps a taken handle for a while, so that a second use is seen. */
void burn__guard_retire(BurnTensor *x);
/* Lists on stderr what is alive on a device that is closed. */
void burn__guard_report_live(BurnDevice *device);

/* Appends "\n  at gpt_block (gpt.c:41)" for the program's frames to a message; nothing unless BURN_BACKTRACE is set. */
void burn__backtrace_append(char *text, size_t bytes);

/* -- scopes (scope.c) ------------------------------------------------------------------------- */

/* x was made, or has become another tensor: it belongs to the innermost scope of this thread, or to none. */
void burn__scope_enter(BurnTensor *x);
/* x belongs to no scope any more. */
void burn__scope_leave(BurnTensor *x);
/* x belongs where `old` does, instead of it. */
void burn__scope_replace(BurnTensor *x, BurnTensor *old);

#endif
