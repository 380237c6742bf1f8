/* interrupter.c - see interrupter.h. A handler may only do what is lock-free: it sets a flag, and the second time gives
 * the signal back to the system. */
#include <burn/train/interrupter.h>

#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>

#include "learner_internal.h"

/* The header is for C++ and C99 too, which have no _Atomic. */
_Static_assert(sizeof(atomic_int) == sizeof(int) && ATOMIC_INT_LOCK_FREE == 2, "an int is not lock-free here");
static atomic_int *state_of(BurnInterrupter *interrupter) { return (atomic_int *)&interrupter->state; }
static int state(const BurnInterrupter *interrupter) {
  return interrupter ? atomic_load(state_of((BurnInterrupter *)(uintptr_t)interrupter)) : 0;
}

static _Atomic(BurnInterrupter *) installed;

void burn_interrupter_stop(BurnInterrupter *interrupter) {
  int nobody = 0;
  (void)atomic_compare_exchange_strong(state_of(interrupter), &nobody, BURN_INTERRUPTED);
}

bool burn_interrupter_stopped(const BurnInterrupter *interrupter) { return state(interrupter) != 0; }

int burn_interrupter_signal(const BurnInterrupter *interrupter) {
  const int found = state(interrupter);
  return found > 0 ? found : 0;
}

static void on_signal(int number) {
  BurnInterrupter *interrupter = atomic_load(&installed);
  int nobody = 0;
  if (interrupter && atomic_compare_exchange_strong(state_of(interrupter), &nobody, number)) return;
  burn__signal_default(number);
  (void)raise(number);
}

BurnStatus burn_interrupter_on_signals(BurnInterrupter *interrupter) {
  atomic_store(&installed, interrupter);
  return burn__signals_catch(interrupter ? on_signal : NULL);
}
