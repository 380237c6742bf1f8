/* pass_on.h - which interfaces a decorator must not pass on unseen. C99 and C++11, nothing to link.
 *
 * What asks a level for one of these runs ops by it from then on, past that level's submit. A decorator that has a
 * submit and no get_interface offers none of them; the host sees to that. One that has a get_interface answers 0,
 *
 *   if (burn_runs_ops(name)) return 0;
 *   return next->get_interface(next->self, name, min_version, out);
 *
 * or passes them on, where it may miss ops, or gives a table of its own whose functions call those below, as the
 * decorator trace does with "burn.fused". */
#ifndef BURN_PLUGIN_PASS_ON_H
#define BURN_PLUGIN_PASS_ON_H

#include <burn/plugin/calls.h>
#include <burn/plugin/epilogue.h>
#include <burn/plugin/fused.h>
#include <burn/plugin/mixed.h>
#include <burn/plugin/replay.h>

#if !defined(BURN_NO_INLINE)

#include <stdbool.h>
#include <string.h>

/* True for the name of an interface by which ops run. */
static inline bool burn_runs_ops(const char *name) {
  static const char *const names[] = {BURN_FUSED_INTERFACE, BURN_EPILOGUE_INTERFACE, BURN_CALLS_INTERFACE,
                                      BURN_MIXED_INTERFACE, BURN_REPLAY_INTERFACE};
  size_t i;
  for (i = 0; i < sizeof names / sizeof names[0]; i++) {
    if (strcmp(name, names[i]) == 0) return true;
  }
  return false;
}

#endif

#endif
