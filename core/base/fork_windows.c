/* fork_windows.c - Windows has no fork: no mark of a thread at work is ever looked at. */
#include "core_internal.h"

BURN__THREAD_LOCAL BurnWork *burn__work;

BurnWork *burn__work_begin(void) {
  static BURN__THREAD_LOCAL BurnWork own;
  return burn__work = &own;
}

BurnStatus burn__fork_failure(void) { return BURN_FAIL(INTERNAL, "a child of fork, on a system without fork"); }
